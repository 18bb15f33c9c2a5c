"""What does Mailgun report? What became of each e-mail, signed by HMAC-SHA256 with the account's signing key.

The signature is over a time and a random token, and not over the event: it proves that Mailgun signed something recently.
https://documentation.mailgun.com/docs/mailgun/user-manual/webhooks/securing-webhooks
"""

import hmac
from collections.abc import Sequence
from email.message import EmailMessage
from hmac import compare_digest
from typing import Any

import msgspec
from msgspec import Struct

from adapters.gateway.bounces import MailReport
from adapters.gateway.unsubscribe_links import OneLineHeader
from adapters.providers.mail_vendors.connection import (
    VARIABLE,
    MailVendorConnection,
    is_recent,
    outcome_of_failure,
    part,
    read_object,
)
from adapters.providers.ports import Callback, ForgedCallbackError, ProviderAccount, ResumeKind
from adapters.providers.smtp.provider import SmtpAccount
from schemas.commands import SendEmail
from schemas.instant import Instant

HEADER = "X-Mailgun-Variables"

AGE_SECONDS_MAX = 9 * 3_600
"""Of a signature: Mailgun posts a webhook that was not taken again for eight hours."""

SUPPRESSED = {"suppress-bounce": "bounced_hard", "suppress-complaint": "complained", "suppress-unsubscribe": "unsubscribed"}
"""Why Mailgun did not try: the address is on one of the account's own lists."""

OUTCOMES = {"delivered": "delivered", "complained": "complained", "unsubscribed": "unsubscribed"}


class MailgunProvider:
    """The provider `mailgun`."""

    name = "mailgun"
    channels = frozenset({"email"})
    settings: type[Struct] = SmtpAccount
    secrets = ("password", "webhook_signing_key")
    resume: ResumeKind = "none"
    presses_keys = False

    def connect(self, account: ProviderAccount) -> "MailgunConnection":
        """Return a connection."""
        return MailgunConnection(account)


class MailgunConnection(MailVendorConnection):
    """An account with Mailgun."""

    name = "mailgun"

    def _add_header(self, message: EmailMessage, command: SendEmail) -> None:
        variables = msgspec.json.encode({VARIABLE: self._tokens.token(command)}).decode()
        message[HEADER] = OneLineHeader(HEADER, variables)

    def _reports(self, callback: Callback) -> Sequence[MailReport]:
        found = read_object(callback.body)
        if not is_signed(self._account.secrets["webhook_signing_key"], part(found, "signature"), now=self._account.now()):
            raise ForgedCallbackError("the signature is not Mailgun's")
        event = part(found, "event-data")
        sent = self._sent(part(event, "user-variables").get(VARIABLE))
        return [] if sent is None else [self._report(sent, outcome_of(event), event.get("event"), *_words(event))]


def is_signed(key: str, signature: dict[str, Any], *, now: Instant) -> bool:
    """Return whether a signature was made with the key, some hours ago at most."""
    timestamp, token = str(signature.get("timestamp", "")), str(signature.get("token", ""))
    if not is_recent(timestamp, now=now, age_seconds_max=AGE_SECONDS_MAX):
        return False
    expected = hmac.digest(key.encode(), f"{timestamp}{token}".encode(), "sha256").hex()
    return compare_digest(expected.encode(), str(signature.get("signature", "")).encode())


def outcome_of(event: dict[str, Any]) -> str | None:
    """Return the outcome of an event; None while Mailgun goes on trying, and for opens and clicks."""
    kind = str(event.get("event"))
    if kind != "failed":
        return OUTCOMES.get(kind)
    if event.get("severity") != "permanent":
        return None
    suppressed = SUPPRESSED.get(str(event.get("reason")))
    if suppressed is not None:
        return suppressed
    status = part(event, "delivery-status")
    code = status.get("code")
    return outcome_of_failure(
        # A permanent failure with a code of 4xx is one that was tried for long enough.
        is_permanent=isinstance(code, int) and 500 <= code < 600,  # noqa: PLR2004 - RFC 5321
        status=str(status.get("enhanced-code") or ""),
        says=str(status.get("message") or ""),
    )


def _words(event: dict[str, Any]) -> Sequence[Any]:
    status = part(event, "delivery-status")
    code = " ".join(str(one) for one in (status.get("code"), status.get("enhanced-code")) if one)
    return event.get("reason"), code, status.get("message") or status.get("description")


PROVIDER = MailgunProvider()
