"""What does the built-in carrier do with a call or a text? The last two digits of the number choose; see sandbox.md.

Nothing leaves the machine. Delays are in domain seconds and always the same, so a demonstration can run fast, and twice
alike. Any ending that is not in a table is the good one.
"""

from typing import Literal

from msgspec import Struct

from adapters.gateway.ports import NotPlacedError, Progress, Report, Result
from adapters.gateway.waits import pass_seconds
from engine.partition.ports import Clock
from schemas.commands import PlaceCall, SendSms

ENDING_DIGITS = 2


class CallScript(Struct, frozen=True, kw_only=True):
    """A call as it goes: it rings, is answered or not, and ends. Seconds are domain time; `None` means never.

    `outcome` None: the call is answered and nothing more is heard of it. `connects`: a buyer is put through if there is one.
    """

    outcome: str | None
    rings_for: float | None = 4.0
    answered_by: Literal["human", "machine"] | None = None
    talks_for: int = 0
    connects: bool = False
    detail: str


class SmsScript(Struct, frozen=True, kw_only=True):
    """A text as it goes; `outcome` None: it is accepted and nothing more is heard of it."""

    outcome: str | None
    after: float = 2.0
    detail: str


ANSWERED = CallScript(outcome="connected_human", answered_by="human", talks_for=30, connects=True, detail="answered")
DELIVERED = SmsScript(outcome="delivered", detail="delivered")
RINGS_OUT = float("inf")
"""It rings for as long as the order lets it."""

NOT_TAKEN = "11"

CALLS: dict[str, CallScript] = {
    "00": ANSWERED,
    "01": CallScript(outcome="busy", rings_for=None, detail="busy tone"),
    "02": CallScript(outcome="no_answer", rings_for=RINGS_OUT, detail="nobody answered"),
    "03": CallScript(outcome="voicemail", rings_for=20.0, answered_by="machine", talks_for=5, detail="a machine answered"),
    "04": CallScript(outcome="declined", rings_for=6.0, detail="603 declined"),
    "05": CallScript(outcome="invalid_number", rings_for=None, detail="404 no such number"),
    "06": CallScript(outcome="congestion", rings_for=None, detail="503 no circuit"),
    "07": CallScript(outcome=None, answered_by="human", detail="answered, and nothing more is heard"),
    "08": CallScript(outcome="opted_out", answered_by="human", talks_for=12, detail="said: do not call me again"),
    "09": CallScript(outcome="abandoned_by_us", answered_by="human", talks_for=8, detail="nobody of ours was free"),
    "10": CallScript(outcome="caller_hung_up", answered_by="human", talks_for=3, detail="hung up at once"),
}

TEXTS: dict[str, SmsScript] = {
    "00": DELIVERED,
    "04": SmsScript(outcome="undelivered", after=5.0, detail="the telephone did not take it"),
    "05": SmsScript(outcome="invalid_number", after=1.0, detail="no such number"),
    "06": SmsScript(outcome="failed", after=1.0, detail="the carrier failed"),
    "07": SmsScript(outcome=None, detail="accepted, and nothing more is heard"),
    "08": SmsScript(outcome="opted_out", after=1.0, detail="this person has answered STOP"),
}


class SandboxVoice:
    """A `VoiceProvider` that calls nobody."""

    name = "sandbox"

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    async def place(self, order: PlaceCall, report: Report) -> Result | None:
        """Play the script of the number's ending."""
        _refuse_if_not_taken(order.to)
        script = CALLS.get(order.to[-ENDING_DIGITS:], ANSWERED)
        reference = _reference(order.command_id)
        await report(Progress(state="initiated", provider_ref=reference))
        ringing_at = await self._ring(order, script, report, reference)
        answered_at = None
        if script.answered_by is not None:
            answered_at = self._clock.now()
            await report(Progress(state="established", provider_ref=reference))
            await pass_seconds(self._clock, script.talks_for)
        if script.outcome is None:
            return None
        is_connected = script.connects and order.buyer_number is not None
        return Result(
            outcome="connected_buyer" if is_connected else script.outcome,
            provider_ref=reference,
            rang=script.rings_for is not None,
            answered_by=script.answered_by,
            ringing_at=ringing_at,
            answered_at=answered_at,
            talk_seconds=script.talks_for,
            detail=script.detail,
        )

    async def _ring(self, order: PlaceCall, script: CallScript, report: Report, reference: str) -> int | None:
        if script.rings_for is None:
            return None
        ringing_at = self._clock.now()
        await report(Progress(state="ringing", provider_ref=reference))
        await pass_seconds(self._clock, min(script.rings_for, order.ring_timeout_seconds))
        return ringing_at


class SandboxSms:
    """An `SmsProvider` that texts nobody."""

    name = "sandbox"

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    async def send(self, order: SendSms) -> Result | None:
        """Play the script of the number's ending."""
        _refuse_if_not_taken(order.to)
        script = TEXTS.get(order.to[-ENDING_DIGITS:], DELIVERED)
        if script.outcome is None:
            return None
        await pass_seconds(self._clock, script.after)
        return Result(outcome=script.outcome, provider_ref=_reference(order.command_id), rang=False, detail=script.detail)


def _refuse_if_not_taken(number: str) -> None:
    if number.endswith(NOT_TAKEN):
        raise NotPlacedError("the sandbox takes no orders for this number")


def _reference(command_id: str) -> str:
    return f"sandbox-{command_id}"
