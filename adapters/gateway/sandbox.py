"""What does the sandbox do with a call or a text? The last two digits of the number choose; see sandbox.md.

Only a number that is reserved for fiction behaves by its digits. Any other may belong to a person, who must not be opted out
by chance: it gets the good outcome, as does every ending that is not in a table. Nothing leaves the machine.
Delays are in domain seconds and constant, so a demonstration can run fast, and the same each time.
What was given to it is written down, so that it goes on where its gateway ends, and the next gateway can ask.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from decimal import Decimal
from typing import Literal

from msgspec import Struct, structs

from adapters.errors import StoreError
from adapters.gateway.domain_sleep import sleep_until
from adapters.gateway.fictional_numbers import is_fictional
from adapters.gateway.leases import check_lease, current_claim_id
from adapters.gateway.ports import (
    CallProgress,
    DeliveryResult,
    LeaseLostError,
    NotPlacedError,
    PersonCallsBack,
    Report,
    SandboxOrders,
    UnwrittenOrderError,
)
from engine.partition.ports import Clock
from schemas.commands import BuyerLeg, Command, HangUp, PlaceCall, PressKeys, SendSms
from schemas.instant import SECOND, Instant
from schemas.money import NOTHING, amount

ENDING_DIGITS = 2
NO_ENDING = ""
"""Of a number that is not reserved for fiction: no table has it."""


class CallScript(Struct, frozen=True, kw_only=True):
    """How a call goes: it rings, is answered or not, and ends. Seconds are domain time; `None` means never.

    `outcome` None: the call is answered and no outcome is reported. `connects`: a buyer is put through if there is one.
    `holds_for`: after the answer it is on hold for so long. `cause` and `ended_by` say how it ends. `calls_back`: the person
    rings the number that they were called from. `buyer_id` is the one of several buyers that answers, after the hold.
    """

    outcome: str | None
    rings_for: float | None = 4.0
    answered_by: Literal["human", "machine"] | None = None
    holds_for: int = 0
    talks_for: int = 0
    connects: bool = False
    cause: str = "normal clearing"
    ended_by: Literal["caller", "us"] | None = None
    calls_back: PersonCallsBack | None = None
    detail: str
    buyer_id: int | None = None


class SmsScript(Struct, frozen=True, kw_only=True):
    """What becomes of a text; `outcome` None: no receipt is reported; `reply`: what the person answers."""

    outcome: str | None
    after: float = 2.0
    detail: str
    reply: str | None = None


ANSWERED = CallScript(
    outcome="connected_human", answered_by="human", talks_for=30, connects=True, ended_by="caller", detail="answered"
)
DELIVERED = SmsScript(outcome="delivered", detail="delivered")
RINGS_OUT = float("inf")
"""It rings for as long as the command lets it."""

REFUSED = "11"

BUYER_IS_AWAY = "02"
"""Ending of a buyer's number: no answer until the buyer's own timeout; any other buyer answers."""

BUYER_IS_SLOW = "03"
BUYER_SLOW_SECONDS = 8
"""Ending of a buyer's number that answers after so long, where several are rung at once; the others answer at once."""

CALLS: dict[str, CallScript] = {
    "00": ANSWERED,
    "01": CallScript(outcome="busy", rings_for=None, cause="user busy", detail="busy tone"),
    "02": CallScript(outcome="no_answer", rings_for=RINGS_OUT, cause="no answer", ended_by="us", detail="nobody answered"),
    "03": CallScript(
        outcome="voicemail", rings_for=20.0, answered_by="machine", talks_for=5, ended_by="us", detail="a machine answered"
    ),
    "04": CallScript(outcome="declined", rings_for=6.0, cause="call rejected", ended_by="caller", detail="603 declined"),
    "05": CallScript(outcome="invalid_number", rings_for=None, cause="unallocated number", detail="404 no such number"),
    "06": CallScript(outcome="congestion", rings_for=None, cause="no circuit", detail="503 no circuit"),
    "07": CallScript(outcome=None, answered_by="human", detail="answered, and nothing more is heard"),
    "08": CallScript(
        outcome="opted_out", answered_by="human", talks_for=12, ended_by="caller", detail="said: do not call me again"
    ),
    "09": CallScript(
        outcome="abandoned_by_us", answered_by="human", talks_for=8, ended_by="caller", detail="nobody of ours was free"
    ),
    "10": CallScript(
        outcome="caller_hung_up", answered_by="human", talks_for=3, ended_by="caller", detail="hung up at once"
    ),
    "12": CallScript(
        outcome="connected_human", answered_by="human", holds_for=10, talks_for=20, connects=True, ended_by="caller",
        detail="answered, and was on hold",
    ),
    "15": CallScript(
        outcome="no_answer", rings_for=8.0, cause="no answer", ended_by="us", detail="nobody answered, and they call back",
        calls_back=PersonCallsBack(after_seconds=10, rings_seconds=4, talks_seconds=20),
    ),
}  # fmt: skip

MACHINES: dict[str, CallScript] = {
    "voicemail_drop": structs.replace(CALLS["03"], talks_for=20, detail="a machine answered, and was left a message"),
    "continue": structs.replace(CALLS["03"], talks_for=30, connects=True, detail="a machine answered, and was talked to"),
}
"""What a step says about machines (`machine`) -> the call, where it is not hung up at once."""

COST_A_MINUTE = Decimal("0.01")
"""What the sandbox charges for each minute begun of an answered call, so that there is a cost to see."""

SECONDS_A_MINUTE = 60

TEXTS: dict[str, SmsScript] = {
    "00": DELIVERED,
    "04": SmsScript(outcome="undelivered", after=5.0, detail="the telephone did not take it"),
    "05": SmsScript(outcome="invalid_number", after=1.0, detail="no such number"),
    "06": SmsScript(outcome="failed", after=1.0, detail="the carrier failed"),
    "07": SmsScript(outcome=None, detail="accepted, and nothing more is heard"),
    "08": SmsScript(outcome="opted_out", after=1.0, detail="this person has answered STOP"),
    "13": SmsScript(outcome="delivered", detail="delivered, and answered", reply="yes"),
    "14": SmsScript(outcome="delivered", detail="delivered, and answered", reply="STOP"),
}


class MemoryOrders:
    """Keeps the promises of `SandboxOrders` for as long as this process lives."""

    def __init__(self) -> None:
        self._given: dict[str, Instant] = {}

    async def begin(self, command_id: str, given_at: Instant, claim_id: str | None) -> bool:  # noqa: ARG002
        """Note an order; one that is noted again keeps its instant."""
        self._given.setdefault(command_id, given_at)
        return True

    async def find(self, command_id: str) -> Instant | None:
        """Return when an order was given."""
        return self._given.get(command_id)


class _SandboxProvider:
    """What calls and texts share: orders are written down before they are carried out, and can be asked about."""

    name = "sandbox"

    def __init__(self, clock: Clock, orders: SandboxOrders | None = None) -> None:
        self._clock = clock
        self._orders = orders or MemoryOrders()

    async def was_given(self, command: Command) -> bool:
        """Return whether a command was given to the sandbox. Raises `StoreError`."""
        return await self._orders.find(command.command_id) is not None

    async def _take(self, command: PlaceCall | SendSms) -> Instant:
        """Take an order and return when it was given.

        Raises `NotPlacedError`, `UnwrittenOrderError` and `LeaseLostError`.
        """
        if ending_of(command.to) == REFUSED:
            raise NotPlacedError("the sandbox takes no orders for this number")
        check_lease()
        given_at = self._clock.now()
        try:
            is_ours = await self._orders.begin(command.command_id, given_at, current_claim_id())
        except StoreError as error:
            raise UnwrittenOrderError(f"the order could not be written down: {error}") from error
        if not is_ours:
            raise LeaseLostError(f"{command.command_id} was taken over before its order was written down")
        check_lease()
        return given_at


class SandboxVoice(_SandboxProvider):
    """A `VoiceProvider` that reaches no person."""

    def __init__(self, clock: Clock, orders: SandboxOrders | None = None) -> None:
        super().__init__(clock, orders)
        self._keys: dict[str, str] = {}
        self._ended: dict[str, asyncio.Event] = {}
        self._answered: set[str] = set()

    async def hang_up(self, command: HangUp) -> bool:
        """End a call that is ringing or talked on."""
        ended = self._ended.get(command.call_command_id)
        if ended is None or (command.only_unanswered and command.call_command_id in self._answered):
            return False
        ended.set()
        return True

    async def press(self, command: PressKeys) -> bool:
        """Note the keys: the outcome of the call lists them."""
        if command.call_command_id is None or command.call_command_id not in self._keys:
            return False
        self._keys[command.call_command_id] += command.digits
        return True

    async def place(self, command: PlaceCall, report: Report) -> DeliveryResult | None:
        """Play the script of the number's ending."""
        given_at = await self._take(command)
        await report(CallProgress(state="initiated", provider_ref=_reference(command.command_id)))
        return await self._play(command, report, given_at)

    async def resume(self, command: PlaceCall) -> DeliveryResult | None:
        """Play on what an earlier gateway has begun, and return how it ends. Raises `StoreError`."""
        given_at = await self._orders.find(command.command_id)
        if given_at is None:
            return DeliveryResult(outcome="unknown", detail="the sandbox knows no such order")
        return await self._play(command, _report_nothing, given_at)

    async def _play(self, command: PlaceCall, report: Report, given_at: Instant) -> DeliveryResult | None:
        script, reference = _script(command), _reference(command.command_id)
        rings_for = 0.0 if script.rings_for is None else min(script.rings_for, command.ring_timeout_seconds)
        ringing_at = None if script.rings_for is None else given_at
        answered_at = given_at + int(rings_for * SECOND)
        connected_at = answered_at + script.holds_for * SECOND
        async with self._in_progress(command.command_id) as ended:
            if ringing_at is not None:
                await report(CallProgress(state="ringing", provider_ref=reference))
                await self._until(ended, answered_at)
            was_answered = script.answered_by is not None and not ended.is_set()
            if was_answered:
                self._answered.add(command.command_id)
                await report(CallProgress(state="established", provider_ref=reference))
                await self._hold(script, report, reference, ended, connected_at)
                if script.buyer_id is not None and not ended.is_set():
                    await report(CallProgress(state="established", provider_ref=reference, buyer_id=script.buyer_id))
                await self._until(ended, connected_at + script.talks_for * SECOND)
            said = DeliveryResult(
                outcome="canceled",
                provider_ref=reference,
                rang=ringing_at is not None,
                answered_by=script.answered_by if was_answered else None,
                ringing_at=ringing_at,
                answered_at=answered_at if was_answered else None,
            )
            if ended.is_set():
                return _hung_up(script, said, was_answered=was_answered)
            if script.outcome is None:
                return None
            return _played(command, script, said, connected_at, self._keys[command.command_id])

    @asynccontextmanager
    async def _in_progress(self, command_id: str) -> AsyncIterator[asyncio.Event]:
        """Let keys be pressed on a call, and let it be ended, meanwhile."""
        self._keys[command_id], self._ended[command_id] = "", asyncio.Event()
        try:
            yield self._ended[command_id]
        finally:
            del self._keys[command_id], self._ended[command_id]
            self._answered.discard(command_id)

    async def _until(self, ended: asyncio.Event, instant: Instant) -> None:
        """Wait for a domain instant, or until we hang up."""
        ending = asyncio.create_task(ended.wait())
        passing = asyncio.create_task(sleep_until(self._clock, instant))
        try:
            await asyncio.wait({ending, passing}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            ending.cancel()
            passing.cancel()

    async def _hold(self, script: CallScript, report: Report, reference: str, ended: asyncio.Event, until: Instant) -> None:
        if not script.holds_for:
            return
        await report(CallProgress(state="on-hold", provider_ref=reference))
        await self._until(ended, until)
        await report(CallProgress(state="resumed", provider_ref=reference))


class SandboxSms(_SandboxProvider):
    """An `SmsProvider` that reaches no person."""

    async def send(self, command: SendSms) -> DeliveryResult | None:
        """Play the script of the number's ending."""
        return await self._play(command, await self._take(command))

    async def resume(self, command: SendSms) -> DeliveryResult | None:
        """Return what becomes of a text that an earlier gateway has given. Raises `StoreError`."""
        given_at = await self._orders.find(command.command_id)
        if given_at is None:
            return DeliveryResult(outcome="unknown", rang=False, detail="the sandbox knows no such order")
        return await self._play(command, given_at)

    async def _play(self, command: SendSms, given_at: Instant) -> DeliveryResult | None:
        script = TEXTS.get(ending_of(command.to), DELIVERED)
        if script.outcome is None:
            return None
        await sleep_until(self._clock, given_at + int(script.after * SECOND))
        reference = _reference(command.command_id)
        return DeliveryResult(
            outcome=script.outcome, provider_ref=reference, rang=False, detail=script.detail, reply=script.reply
        )


async def _report_nothing(_: CallProgress) -> None:
    """Report no progress: that of a call which is played on was reported before."""


def _played(
    command: PlaceCall, script: CallScript, said: DeliveryResult, connected_at: Instant, keys: str
) -> DeliveryResult:
    """Return the outcome of a call that ended by itself."""
    is_connected = script.connects and command.buyer_number is not None and command.agent_id is None
    heard = f"; heard before: {command.whisper}" if command.whisper and script.connects else ""
    talked_to = f"; talked to {command.stream}" if command.stream and script.connects else ""
    return structs.replace(
        said,
        outcome="connected_buyer" if is_connected else script.outcome or "unknown",
        buyer_answered_at=connected_at if script.buyer_id is not None else None,
        talk_seconds=script.talks_for,
        hung_up_by=script.ended_by,
        hangup_cause=script.cause,
        cost=_cost(script),
        calls_back=script.calls_back,
        buyer_id=script.buyer_id,
        detail=script.detail + (f"; keys {keys}" if keys else "") + heard + talked_to,
    )


def _hung_up(script: CallScript, said: DeliveryResult, *, was_answered: bool) -> DeliveryResult:
    """Return the outcome of a call that we ended: connected where a person had answered, else canceled."""
    outcome = (script.outcome or "connected_human") if was_answered else "canceled"
    return structs.replace(said, outcome=outcome, hung_up_by="us", hangup_cause="hung up", detail="we hung up")


def ending_of(number: str) -> str:
    """Return the digits that choose what a number does, `NO_ENDING` for a number that may be real."""
    return number[-ENDING_DIGITS:] if is_fictional(number) else NO_ENDING


def _script(command: PlaceCall) -> CallScript:
    """Return what happens on a call; the person waits on hold while the telephone of an absent buyer rings."""
    script = CALLS.get(ending_of(command.to), ANSWERED)
    if script.answered_by == "machine":
        script = MACHINES.get(command.machine, script)
    if command.buyer_legs and script.connects:
        return _ring_together(script, command.buyer_legs)
    rings_for = command.buyer_timeout_seconds
    if not script.connects or rings_for is None or ending_of(command.buyer_number or "") != BUYER_IS_AWAY:
        return script
    return _unanswered(script, rings_for, "answered, and the buyer did not answer")


def _ring_together(script: CallScript, legs: tuple[BuyerLeg, ...]) -> CallScript:
    """Let the first buyer that answers have the call; the person is on hold until then."""
    present = [leg for leg in legs if ending_of(leg.number) != BUYER_IS_AWAY]
    if not present:
        return _unanswered(script, max(leg.timeout_seconds for leg in legs), "answered, and none of the buyers did")
    first = min(present, key=_answers_after)
    return structs.replace(
        script,
        holds_for=script.holds_for + _answers_after(first),
        buyer_id=first.buyer_id,
        detail=f"{script.detail}; {len(legs)} buyers rung, {first.buyer_id} answered first, the other legs ended",
    )


def _answers_after(leg: BuyerLeg) -> int:
    return BUYER_SLOW_SECONDS if ending_of(leg.number) == BUYER_IS_SLOW else 0


def _unanswered(script: CallScript, rings_for: int, detail: str) -> CallScript:
    return structs.replace(
        script, outcome="abandoned_by_us", connects=False, holds_for=rings_for, talks_for=0, ended_by="us", detail=detail
    )


def _cost(script: CallScript) -> Decimal:
    """Return what a call costs: nothing without an answer."""
    if script.answered_by is None:
        return NOTHING
    minutes = -(-(script.holds_for + script.talks_for) // SECONDS_A_MINUTE)
    return amount(minutes * COST_A_MINUTE)


def _reference(command_id: str) -> str:
    return f"sandbox-{command_id}"
