"""What have accounts with vendors of e-mail in common? SMTP carries an e-mail; a webhook says later what became of it.

The webhook returns our token (`adapters.gateway.bounce_tokens`), so nothing is stored and a report is understood however
late it comes. An account may send e-mails of other programs, too: reports without a token of ours are passed over, as are
those about another company.
"""

from collections.abc import Sequence
from typing import Any

import msgspec

from adapters.gateway.bounce_tokens import BounceTokens, SentMail
from adapters.gateway.bounces import FOR_NOW, PERMANENT, MailReport
from adapters.gateway.smtp import bounce
from adapters.providers.ports import Callback, ForgedCallbackError, MailReports, ProviderAccount, Reading
from adapters.providers.smtp.provider import SmtpConnection
from schemas.instant import SECOND, Instant

AHEAD_SECONDS_MAX = 300.0
"""How far the clock of a vendor may be ahead of ours."""

VARIABLE = "leadclock_delivery"
"""The name that our token has among the variables of an e-mail, at vendors that return no headers."""


class MailVendorConnection(SmtpConnection):
    """An account with a vendor of e-mail. A subclass says how a webhook is signed, and what it says."""

    def __init__(self, account: ProviderAccount) -> None:
        super().__init__(account, account.sockets)  # none in the API, which takes the webhooks
        if account.bounces is None:
            raise ValueError("no tokens are made here that a report would return")
        self._tokens: BounceTokens = account.bounces

    def read_callback(self, callback: Callback) -> Reading | None:
        """Return the reports of a webhook about e-mails of ours. Raises `ForgedCallbackError`."""
        reports = [report for report in self._reports(callback) if report.sent.company_id == self._account.company_id]
        return MailReports(tuple(reports)) if reports else None

    def _reports(self, callback: Callback) -> Sequence[MailReport]:
        """Return what a webhook says about e-mails of this deployment. Raises `ForgedCallbackError`."""
        raise NotImplementedError

    def _sent(self, token: Any) -> SentMail | None:
        """Return the e-mail that a token names; None for one that this deployment did not send."""
        return self._tokens.read(token) if isinstance(token, str) else None

    def _report(self, sent: SentMail, outcome: str | None, *words: Any) -> MailReport:
        detail = ": ".join(" ".join(str(word).split()) for word in words if word)
        return MailReport(
            sent=sent,
            outcome=outcome,
            detail=detail,
            provider=self.name,
            provider_configuration_id=self._account.configuration_id,
        )


def read_object(content: bytes | str) -> dict[str, Any]:
    """Return a JSON object. Raises `ForgedCallbackError` where it is none: no vendor would send it."""
    try:
        found = msgspec.json.decode(content)
    except msgspec.DecodeError as error:
        raise ForgedCallbackError(f"this is no webhook of the vendor: {error}") from error
    if not isinstance(found, dict):
        raise ForgedCallbackError("this is no webhook of the vendor: no object")
    return found


def part(found: dict[str, Any], name: str) -> dict[str, Any]:
    """Return an object within an object; an empty one where there is none."""
    value = found.get(name)
    return value if isinstance(value, dict) else {}


def is_recent(timestamp: str, *, now: Instant, age_seconds_max: float) -> bool:
    """Return whether a time in seconds since 1970, as text, is at most so long ago; our clock may be a little behind."""
    if not (timestamp.isascii() and timestamp.isdigit()):
        return False
    return -AHEAD_SECONDS_MAX <= now / SECOND - int(timestamp) <= age_seconds_max


def outcome_of_failure(*, is_permanent: bool, status: str, says: str) -> str:
    """Return the outcome of a failed delivery, as `leadclock mail bounce` has it of a delivery status.

    `status` is an enhanced code (RFC 3463) or empty. X.0.0 says nothing; then the vendor's word alone counts.
    """
    known = "" if status.endswith(".0.0") else status
    return bounce(PERMANENT if is_permanent else FOR_NOW, f"{known} {says}".strip(), is_recipient=True)
