"""What does SendGrid report? Events of many e-mails in one post, signed by ECDSA over a time and the body.

https://www.twilio.com/docs/sendgrid/for-developers/tracking-events/getting-started-event-webhook-security-features
"""

import base64
import binascii
from collections.abc import Mapping, Sequence
from email.message import EmailMessage
from typing import Annotated, Any

import msgspec
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from msgspec import Meta, Struct

from adapters.gateway.bounces import MailReport
from adapters.gateway.unsubscribe_links import OneLineHeader
from adapters.providers.mail_vendors.connection import VARIABLE, MailVendorConnection, is_recent, outcome_of_failure
from adapters.providers.ports import Callback, ForgedCallbackError, ProviderAccount, ResumeKind
from adapters.providers.smtp.provider import SmtpAccount
from schemas.commands import SendEmail
from schemas.instant import Instant

HEADER = "X-SMTPAPI"
SIGNATURE, TIMESTAMP = "x-twilio-email-event-webhook-signature", "x-twilio-email-event-webhook-timestamp"

AGE_SECONDS_MAX = 25 * 3_600
"""Of a signature: SendGrid posts events that were not taken again for a day."""

OUTCOMES = {
    "delivered": "delivered",
    "spamreport": "complained",
    "unsubscribe": "unsubscribed",
    "group_unsubscribe": "unsubscribed",
}
DROPPED = {
    "Bounced Address": "bounced_hard",
    "Invalid": "bounced_hard",
    "Spam Reporting Address": "complained",
    "Unsubscribed Address": "unsubscribed",
}
"""Why SendGrid did not try; what is not named here is about the account or the e-mail."""

BLOCKED = "blocked"
"""The type of a bounce whose address SendGrid goes on to try."""


class SendGridAccount(SmtpAccount, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Settings of an account; `webhook_public_key` is the verification key of its signed event webhook."""

    webhook_public_key: Annotated[
        str, Meta(pattern=r"^[A-Za-z0-9+/]{100,200}={0,2}$", description="the verification key, as the settings show it")
    ]


class SendGridProvider:
    """The provider `sendgrid`."""

    name = "sendgrid"
    channels = frozenset({"email"})
    settings: type[Struct] = SendGridAccount
    secrets = ("password",)
    resume: ResumeKind = "none"
    presses_keys = False

    def connect(self, account: ProviderAccount) -> "SendGridConnection":
        """Return a connection. Raises `ValueError` where the verification key is none."""
        return SendGridConnection(account)


class SendGridConnection(MailVendorConnection):
    """An account with SendGrid."""

    name = "sendgrid"

    def __init__(self, account: ProviderAccount) -> None:
        super().__init__(account)
        settings: SendGridAccount = account.settings
        self._key = read_key(settings.webhook_public_key)

    def _add_header(self, message: EmailMessage, command: SendEmail) -> None:
        arguments = msgspec.json.encode({"unique_args": {VARIABLE: self._tokens.token(command)}}).decode()
        message[HEADER] = OneLineHeader(HEADER, arguments)

    def _reports(self, callback: Callback) -> Sequence[MailReport]:
        if not is_signed(self._key, callback.headers, callback.body, now=self._account.now()):
            raise ForgedCallbackError("the signature is not SendGrid's")
        try:
            events = msgspec.json.decode(callback.body, type=list[dict[str, Any]])
        except msgspec.DecodeError as error:
            raise ForgedCallbackError(f"this is no webhook of SendGrid: {error}") from error
        named = ((self._sent(event.get(VARIABLE)), event) for event in events)
        return [
            self._report(sent, outcome_of(event), event.get("event"), event.get("status"), event.get("reason"))
            for sent, event in named
            if sent is not None
        ]


def read_key(text: str) -> ec.EllipticCurvePublicKey:
    """Return a verification key. Raises `ValueError`."""
    try:
        key = serialization.load_der_public_key(base64.b64decode(text, validate=True))
    except (binascii.Error, ValueError) as error:
        raise ValueError("webhook_public_key is no verification key") from error
    if not isinstance(key, ec.EllipticCurvePublicKey):
        raise ValueError("webhook_public_key is no key of ECDSA")  # noqa: TRY004 - of the sender
    return key


def is_signed(key: ec.EllipticCurvePublicKey, headers: Mapping[str, str], body: bytes, *, now: Instant) -> bool:
    """Return whether a body was signed with the key, a day ago at most."""
    timestamp = headers.get(TIMESTAMP, "")
    if not is_recent(timestamp, now=now, age_seconds_max=AGE_SECONDS_MAX):
        return False
    try:
        signature = base64.b64decode(headers.get(SIGNATURE, ""), validate=True)
        key.verify(signature, timestamp.encode() + body, ec.ECDSA(hashes.SHA256()))
    except (InvalidSignature, binascii.Error, ValueError):
        return False
    return True


def outcome_of(event: Mapping[str, Any]) -> str | None:
    """Return the outcome of an event; None while SendGrid goes on trying, and for opens and clicks."""
    match event.get("event"):
        case "bounce":
            status, says = str(event.get("status") or ""), str(event.get("reason") or "")
            is_permanent = event.get("type") != BLOCKED and not status.startswith("4")
            return outcome_of_failure(is_permanent=is_permanent, status=status, says=says)
        case "dropped":
            return DROPPED.get(str(event.get("reason")), "failed")
        case kind:
            return OUTCOMES.get(str(kind))


PROVIDER = SendGridProvider()
