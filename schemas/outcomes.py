"""Which outcomes can a contact have? A small closed set per channel, and what each one counts for.

Scheduling never reads free text: a gateway maps its provider's status to one of these.
"""

from typing import Literal

from msgspec import Struct

from schemas.instant import HOUR, MINUTE, Millis


class Outcome(Struct, frozen=True, kw_only=True):
    """`counts_attempt`: to `max_contact_attempts`. `counts_legal`: to the ledger of the number (`if_rang`: only if it rang).

    `retry_delay` and `retry_max` are the defaults of a `retry` row that leaves them out, in milliseconds and times.
    """

    good: bool = False
    connected: bool = False
    counts_attempt: bool = True
    counts_legal: bool | None = True
    retry_delay: Millis = HOUR
    retry_max: int = 1
    disables_channel: bool = False
    opts_out: bool = False
    call_status: str | None = None


NOT_REACHED = Outcome(counts_attempt=False, counts_legal=False)

CALL_OUTCOMES: dict[str, Outcome] = {
    "connected_human": Outcome(good=True, connected=True, call_status="finished"),
    "connected_buyer": Outcome(good=True, connected=True, call_status="forwarded"),
    "voicemail": Outcome(retry_delay=4 * HOUR, call_status="voicemail"),
    "no_answer": Outcome(retry_delay=2 * HOUR, call_status="no-answer"),
    "busy": Outcome(retry_delay=15 * MINUTE, retry_max=3, call_status="busy"),
    "declined": Outcome(retry_delay=4 * HOUR, call_status="rejected"),
    "abandoned_by_us": Outcome(retry_delay=72 * HOUR, call_status="no-buyer"),
    "caller_hung_up": Outcome(call_status="caller-hung-up"),
    "congestion": Outcome(counts_attempt=False, counts_legal=None, retry_delay=HOUR, call_status="failed"),
    "invalid_number": Outcome(counts_attempt=False, counts_legal=False, disables_channel=True, call_status="invalid-number"),
    "canceled": Outcome(counts_attempt=False, counts_legal=None, call_status="canceled"),
    "not_placed": Outcome(counts_attempt=False, counts_legal=False, call_status="failed"),
    "opted_out": Outcome(opts_out=True, call_status="opt-out"),
    "unknown": Outcome(call_status="finished"),
}
SMS_OUTCOMES: dict[str, Outcome] = {
    "accepted": Outcome(good=True),
    "sent": Outcome(good=True),
    "delivered": Outcome(good=True),
    "undelivered": Outcome(retry_delay=HOUR),
    "failed": Outcome(counts_attempt=False, counts_legal=False, retry_delay=HOUR),
    "invalid_number": Outcome(counts_attempt=False, counts_legal=False, disables_channel=True),
    "opted_out": Outcome(counts_attempt=False, counts_legal=False, opts_out=True),
    "not_placed": NOT_REACHED,
    "unknown": Outcome(),
}
EMAIL_OUTCOMES: dict[str, Outcome] = {
    "accepted": Outcome(good=True),
    "delivered": Outcome(good=True),
    "bounced_hard": Outcome(disables_channel=True),
    "bounced_soft": Outcome(retry_delay=HOUR),
    "complained": Outcome(opts_out=True),
    "unsubscribed": Outcome(opts_out=True),
    "failed": Outcome(retry_delay=HOUR),
    "not_placed": NOT_REACHED,
    "unknown": Outcome(),
}
WEBHOOK_OUTCOMES: dict[str, Outcome] = {
    "accepted": Outcome(good=True),
    "failed": Outcome(retry_delay=15 * MINUTE),
    "not_placed": NOT_REACHED,
    "unknown": Outcome(),
}
OUTCOMES: dict[str, dict[str, Outcome]] = {
    "call": CALL_OUTCOMES,
    "sms": SMS_OUTCOMES,
    "email": EMAIL_OUTCOMES,
    "webhook": WEBHOOK_OUTCOMES,
}

EXPIRED = "expired"
"""The gateway came to the command after its `not_after`: the delay is our own."""

HELD = "held"
"""The gateway returned the command for a hold: it counts nothing, and its step is planned again once that is released."""

GATE_OUTCOMES = frozenset({"rejected_at_gate", EXPIRED, HELD})
"""Reported instead of an outcome: the gateway dropped the command (fence, `not_after` passed, hold); nobody was reached."""

Standing = Literal["replaces", "kept", "repeated", "later"]
"""What a second outcome of a command does to the first: `later` replaces it where it occurred later, or at the same time."""

_NOBODY_ASKED = 1
_EVIDENCE: dict[str, dict[str, int]] = {
    "call": {
        **dict.fromkeys(("no_answer", "busy", "declined", "congestion", "invalid_number", "canceled"), 2),
        **dict.fromkeys(("connected_human", "voicemail", "abandoned_by_us", "caller_hung_up", "opted_out"), 3),
        "connected_buyer": 4,
    },
    "sms": {
        "accepted": 2,
        "sent": 3,
        **dict.fromkeys(("undelivered", "failed", "invalid_number", "opted_out"), 4),
        "delivered": 5,
    },
    "email": {
        "accepted": 2,
        **dict.fromkeys(("bounced_soft", "bounced_hard", "failed"), 3),
        "delivered": 4,
        **dict.fromkeys(("complained", "unsubscribed"), 5),
    },
    "webhook": {"failed": 2, "accepted": 3},
}
"""How much an outcome proves, beyond those below. A telephone that was answered did not ring in vain, what was delivered was
not lost, and who complains of an e-mail has it: no later report takes that back."""

for _evidence in _EVIDENCE.values():
    _evidence |= {"unknown": 0, "not_placed": _NOBODY_ASKED, **dict.fromkeys(GATE_OUTCOMES, _NOBODY_ASKED)}


def standing(kind: str, before: str, after: str) -> Standing:
    """Return what a further outcome of a command does to the one before, both of that kind. Raises `KeyError` for others.

    Known beats `unknown`, and what a provider did beats that a gateway dropped it, in whatever order they come. Stops and
    closed channels follow from each outcome of its own, whatever stands.
    """
    if before == after:
        return "repeated"
    proves = _EVIDENCE[kind]
    if proves[after] == proves[before]:
        return "later"
    return "replaces" if proves[after] > proves[before] else "kept"


TIMED_OUT = "timed_out"
"""The sub-status of a call whose end was never reported."""

OUTCOME_TIMEOUT: dict[str, Millis] = {
    "call": 4 * HOUR,
    "sms": 10 * MINUTE,
    "email": 10 * MINUTE,
    "webhook": 2 * MINUTE,
}
"""How long a lead stays `running` without an outcome before the outcome is `unknown`."""
