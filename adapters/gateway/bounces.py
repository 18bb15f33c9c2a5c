"""What does a mail server report about an e-mail that was accepted? That it was delivered or not, or that it is called spam.

A delivery status notification (RFC 3464) and a feedback report (RFC 5965) have the headers of the e-mail with them, and so
its token. What has none was sent by somebody else, or is no report; the error says so and nothing is recorded.
"""

import email.policy
from email.message import Message
from email.parser import BytesParser, HeaderParser
from typing import cast

from msgspec import Struct

from adapters.gateway.bounce_tokens import HEADER, BounceTokens, SentMail
from adapters.gateway.outcome_requests import DETAIL_LENGTH_MAX
from adapters.gateway.smtp import bounce
from schemas.errors import SenderError
from schemas.instant import Instant
from schemas.requests import OutcomeRecorded

REPORT_BYTES_MAX = 1_048_576
"""Of a report with the e-mail in it; ours are texts of at most some hundred kilobytes."""

PERMANENT, FOR_NOW = 550, 450
"""The reply codes that a status of class 5 and 4 stands for."""

ABUSE = "abuse"


class ForeignMailError(SenderError):
    """What came in is no report about an e-mail of this deployment."""


class MailReport(Struct, frozen=True, kw_only=True):
    """A report: which e-mail, and its outcome; None while a server goes on trying."""

    sent: SentMail
    outcome: str | None
    detail: str
    provider: str = "smtp"
    provider_configuration_id: int | None = None

    def request(self, *, occurred_at: Instant) -> OutcomeRecorded:
        """Return the request that records the outcome."""
        return OutcomeRecorded(
            company_id=self.sent.company_id,
            contact_key=self.sent.contact_key,
            lead_id=self.sent.lead_id,
            command_id=self.sent.command_id,
            kind="email",
            outcome=self.outcome or "unknown",
            occurred_at=occurred_at,
            rang=False,
            provider=self.provider,
            detail=self.detail[:DETAIL_LENGTH_MAX],
            provider_configuration_id=self.provider_configuration_id,
        )

    @property
    def request_id(self) -> str:
        """Return the id of that request, as a gateway gives it to the outcome of a command."""
        return f"{self.sent.command_id}/{self.outcome}"


def read_report(content: bytes, tokens: BounceTokens) -> MailReport:
    """Return what a report says. Raises `ForeignMailError`."""
    if len(content) > REPORT_BYTES_MAX:
        raise ForeignMailError(f"a report has at most {REPORT_BYTES_MAX} bytes")
    message = BytesParser(policy=email.policy.default).parsebytes(content)
    if message.get_content_type() != "multipart/report":
        raise ForeignMailError("this is no report of a mail server (multipart/report)")
    parts: dict[str, Message] = {part.get_content_type(): part for part in message.iter_parts()}
    sent = _sent(parts, tokens)
    if "message/feedback-report" in parts:
        return _complaint(parts["message/feedback-report"], sent)
    if "message/delivery-status" in parts:
        return _status(parts["message/delivery-status"], sent)
    raise ForeignMailError("the report has neither a delivery status nor feedback")


def _sent(parts: dict[str, Message], tokens: BounceTokens) -> SentMail:
    """Return the e-mail that a report has the headers of. Raises `ForeignMailError`."""
    for kind in ("message/rfc822", "text/rfc822-headers", "message/rfc822-headers"):
        part = parts.get(kind)
        if part is not None:
            found = tokens.read(str(_headers(part).get(HEADER, "")).strip())
            if found is None:
                raise ForeignMailError(f"the returned e-mail has no {HEADER} of this deployment")
            return found
    raise ForeignMailError("the report has not the headers of the e-mail with it")


def _headers(part: Message) -> Message:
    """Return the headers of the e-mail in a part."""
    inner = part.get_payload()
    if isinstance(inner, list) and inner:
        return cast("Message", inner[0])
    text = part.get_payload(decode=True) or b""
    return HeaderParser(policy=email.policy.default).parsestr(cast("bytes", text).decode("utf-8", "replace"))


def _complaint(part: Message, sent: SentMail) -> MailReport:
    """Return that the person called the e-mail spam. Raises `ForeignMailError` for another kind of feedback."""
    kind = str(_headers(part).get("Feedback-Type", "")).strip().lower()
    if kind != ABUSE:
        raise ForeignMailError(f"feedback of the type {kind or 'none'} is no complaint")
    return MailReport(sent=sent, outcome="complained", detail="a feedback report: abuse")


def _status(part: Message, sent: SentMail) -> MailReport:
    """Return what a delivery status says of its recipient: ours have one each."""
    blocks = part.get_payload()
    for block in blocks if isinstance(blocks, list) else []:
        fields = cast("Message", block)
        action = str(fields.get("Action", "")).strip().lower()
        if action:
            status = str(fields.get("Status", "")).split(" ", 1)[0].strip()
            says = str(fields.get("Diagnostic-Code", "")).partition(";")[2].strip() or "no diagnostic code"
            outcome = _outcome(action, status, says)
            return MailReport(sent=sent, outcome=outcome, detail=f"{action} {status}: {' '.join(says.split())}")
    raise ForeignMailError("the delivery status names no recipient")


def _outcome(action: str, status: str, says: str) -> str | None:
    """Return the outcome of an action and an enhanced status code (RFC 3463); None where nothing has ended."""
    if action == "delivered":
        return "delivered"
    if action != "failed":  # delayed, relayed, expanded
        return None
    code = PERMANENT if status.startswith("5") else FOR_NOW
    return bounce(code, f"{status} {says}", is_recipient=True)
