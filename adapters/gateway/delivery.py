"""How is one command carried out at most once? Claim it, check fences and time, call the provider, record, post.

Nothing is awaited between the last check of the lease and the provider. A crash leaves a claim without a record. The gateway
that takes it over asks whether the provider was called: a call or text of which nobody knows is `unknown` and not repeated;
an e-mail or webhook goes again with the same id. Where it may not go again, it is `unknown` as well: it may have gone. Where
the claims themselves are lost or old, no e-mail is repeated either: that would be all of them, not the few that one gateway
had in hand. Receivers of webhooks know their ids.
"""

import asyncio
import uuid
from collections.abc import Callable, Mapping

import structlog
from msgspec import Struct

from adapters.gateway.channels import Channel
from adapters.gateway.contact_holds import ContactHolds, NoHolds
from adapters.gateway.domain_sleep import sleep_domain_seconds
from adapters.gateway.leases import LEASE_SECONDS, Lease, Leases, under
from adapters.gateway.outages import Outages
from adapters.gateway.outcome_reports import LOG, CallBackState, OutcomeReports
from adapters.gateway.partition_progress import PartitionLostError, PartitionProgress
from adapters.gateway.ports import (
    CallProgress,
    CommandClaim,
    Deliveries,
    DeliveryResult,
    LeaseLostError,
    NotPlacedError,
    UnwrittenOrderError,
)
from adapters.observability.event_counter import EventCounter
from adapters.observability.metrics import Metrics
from adapters.observability.traces import Traces, with_parent
from engine.partition.ports import Clock, LogError, LogRecord
from schemas.commands import Command, PlaceCall, PostWebhook, SendSms
from schemas.errors import DependencyError
from schemas.instant import SECOND, Instant
from schemas.outcomes import GATE_OUTCOMES, HELD, OUTCOME_TIMEOUT, OUTCOMES
from schemas.requests import OutcomeRecorded
from schemas.wire import from_json, to_json

PROVIDER_SECONDS_MIN = 60.0
"""In wall time: where domain time runs faster, a mail server does not."""

SHUTDOWN_SECONDS = 2.0
"""How long releasing claims may take at shutdown; after that, the leases run out."""

DATABASE = "database"
NOTHING_TO_POST = b""
"""Recorded where the provider took the command and reports the outcome by another way."""

OUT_OF_ORDER = "decided again by a state that was lost or is old: it may have been carried out before"
"""Of a command whose decision is lower than that of one before it: `unknown`, so that the step is not planned again."""

NOT_GIVEN = GATE_OUTCOMES | {"not_placed"}
"""Outcomes that say that nobody was reached: what they end is planned again, under another id."""

ASK_SECONDS = 60.0
"""How long a provider may take to say what became of a command whose answer has failed: it is asked a few times."""

logger = structlog.get_logger(__name__)


class TakenCommand:
    """A command that was read from a partition; one that is not in order was decided below one before it."""

    __slots__ = ("command", "is_in_order", "progress", "record")

    def __init__(
        self, progress: PartitionProgress, record: LogRecord, command: Command, *, is_in_order: bool = True
    ) -> None:
        self.progress = progress
        self.record = record
        self.command = command
        self.is_in_order = is_in_order


class ClaimedCommand(Struct, frozen=True, kw_only=True):
    """A claim with its lease, and why the command must not go to the provider, if so."""

    claim: CommandClaim
    lease: Lease
    refusal: DeliveryResult | None = None
    is_resumed: bool = False
    """An earlier gateway may have given it to a provider: that is asked what became of it."""


class WrongClockError(DependencyError):
    """This machine's clock is not the database's: nobody knows what is late, or may go already."""


GIVEN_UP: Mapping[type[DependencyError], str] = {
    LeaseLostError: "lease.lost",
    UnwrittenOrderError: "order.unwritten",
    WrongClockError: "clock.wrong",
}
"""Why a claim is released under which no provider was called -> its event in the log."""


class FinishedCommand(Struct, frozen=True, kw_only=True):
    """A claim whose command is finished; `result` is the outcome where it is not recorded yet."""

    claim: CommandClaim
    lease: Lease
    result: DeliveryResult | None = None


class CommandDelivery:
    """Carries out the commands of one channel, many at a time; `claimant` is unique to this process."""

    def __init__(
        self,
        channel: Channel,
        *,
        claimant: str,
        deliveries: Deliveries,
        reports: OutcomeReports,
        outages: Outages,
        clock: Clock,
        metrics: Metrics,
        clock_problem: Callable[[], str | None] = lambda: None,
        traces: Traces | None = None,
        holds: ContactHolds | None = None,
    ) -> None:
        self._channel = channel
        self._holds = holds or NoHolds()
        self._traces = traces
        self._claimant = claimant
        self._deliveries = deliveries
        self._reports = reports
        self._outages = outages
        self._clock = clock
        self._clock_problem = clock_problem
        self._metrics = metrics
        self._tally = EventCounter("commands.ended", kind=channel.kind)
        self.leases = Leases(claimant, deliveries, clock)
        self._releasing: dict[str, asyncio.Task[None]] = {}
        """By command: the release of a claim, retried while the database is away."""

    @property
    def releasing(self) -> set[asyncio.Task[None]]:
        """Return the releases in progress."""
        return set(self._releasing.values())

    def close(self) -> None:
        """Log the last counts; deliveries may still end."""
        self._tally.flush()

    async def claim_and_check(self, taken: TakenCommand) -> ClaimedCommand | None:
        """Claim a command and check whether it may still go; None where another gateway holds it.

        Waits while the log or the database is away. Raises `PartitionLostError`, and releases the claim.
        """
        command_id = taken.command.command_id
        if (earlier := self._releasing.get(command_id)) is not None:
            await asyncio.shield(earlier)
        lease = self.leases.begin(command_id, str(uuid.uuid4()))
        claiming = asyncio.create_task(self._claim(taken.command, lease))
        try:
            claim = await asyncio.shield(claiming)
            if claim.state == "held":
                self.leases.end(lease)
                return None
            if claim.state in {"recorded", "posted"}:
                return ClaimedCommand(claim=claim, lease=lease)
            if await self._was_given(taken.command, claim):
                return ClaimedCommand(claim=claim, lease=lease, is_resumed=True)
            return ClaimedCommand(claim=claim, lease=lease, refusal=await self._refusal(taken, claim))
        except WrongClockError as error:
            self._give_up(taken, lease, error)
            return None
        except (PartitionLostError, asyncio.CancelledError):
            self._release_soon(lease, claiming)
            raise

    async def execute(
        self, taken: TakenCommand, claim_and_check: ClaimedCommand, skip_reason: str | None = None
    ) -> FinishedCommand | None:
        """Call the provider where that is left to do; record nothing. Return None where the command must be claimed again.

        `skip_reason` says why the provider is not called: the command fails, and its step may retry it.
        """
        claim, lease = claim_and_check.claim, claim_and_check.lease
        if claim.state in {"recorded", "posted"}:
            return FinishedCommand(claim=claim, lease=lease)
        if claim_and_check.is_resumed:
            return FinishedCommand(claim=claim, lease=lease, result=await self._resume(taken.command))
        skipped = None if skip_reason is None else DeliveryResult(outcome="failed", rang=False, detail=skip_reason)
        refusal = claim_and_check.refusal or skipped or self._held(taken.command)
        if refusal is not None:
            return FinishedCommand(claim=claim, lease=lease, result=self._or_unknown(claim, refusal))
        return await self._give(taken, claim, lease)

    async def _give(self, taken: TakenCommand, claim: CommandClaim, lease: Lease) -> FinishedCommand | None:
        """Give a command to its provider; None where it must be claimed again."""
        try:
            self._check_clock()
            lease.check()
            self._holds.check()
        except (WrongClockError, LeaseLostError) as error:  # this process was suspended: the window may have closed too
            self._give_up(taken, lease, error)
            return None
        try:
            result = self._or_unknown(claim, await self._carry_out(taken, lease))
            return FinishedCommand(claim=claim, lease=lease, result=result)
        except UnwrittenOrderError as error:  # no provider was asked: the database was away, or this process was suspended
            self._give_up(taken, lease, error)
            return None
        except LeaseLostError as error:  # the provider may have been called before: do not report that it was not
            logger.warning("lease.lost", kind=self._channel.kind, command_id=taken.command.command_id, reason=str(error))
            self.leases.end(lease)
            return None
        except BaseException:
            self.leases.end(lease)
            raise

    async def record_and_post(self, taken: TakenCommand, finished: FinishedCommand) -> None:
        """Record the outcome and post it, as far as that is left to do."""
        claim = finished.claim
        try:
            if claim.state == "recorded":
                await self._post(taken, claim.outcome or NOTHING_TO_POST)
            elif claim.state != "posted":
                await self._record(taken, finished)
        finally:
            self.leases.end(finished.lease)

    def _check_clock(self) -> None:
        if (problem := self._clock_problem()) is not None:
            raise WrongClockError(f"the clock of this machine {problem}")

    def _give_up(
        self, taken: TakenCommand, lease: Lease, error: LeaseLostError | UnwrittenOrderError | WrongClockError
    ) -> None:
        """Release a claim under which the provider was not called: the command is claimed again."""
        logger.warning(
            GIVEN_UP[type(error)], kind=self._channel.kind, command_id=taken.command.command_id, reason=str(error)
        )
        self._release_soon(lease)

    async def _claim(self, command: Command, lease: Lease) -> CommandClaim:
        async def claim() -> CommandClaim:
            asked_at = self._clock.monotonic()
            found = await self._deliveries.claim(
                command.command_id,
                company_id=command.company_id,
                kind=self._channel.kind,
                claimant=self._claimant,
                claim_id=lease.claim_id,
                claimed_at=self._clock.now(),
                lease_seconds=LEASE_SECONDS,
            )
            lease.ends_at = max(lease.ends_at, asked_at + LEASE_SECONDS)  # it may have been renewed since then
            return found

        return await self._outages.retry(DATABASE, claim)

    def _release_soon(self, lease: Lease, claiming: "asyncio.Task[CommandClaim] | None" = None) -> None:
        """Release a claim under which the provider was not called, however long the database is away.

        Wait first for a claim that is still being made: made after its release, it would have no worker, and the gateway
        that takes it over would report `unknown`.
        """

        async def release() -> None:
            if claiming is not None:
                await claiming
            await self._outages.retry(
                DATABASE,
                lambda: self._deliveries.release(lease.command_id, claimant=self._claimant, claim_id=lease.claim_id),
            )

        def forget(_: object) -> None:
            self.leases.end(lease)
            del self._releasing[lease.command_id]

        task = self._releasing[lease.command_id] = asyncio.create_task(release())
        task.add_done_callback(forget)

    async def _refusal(self, taken: TakenCommand, claim: CommandClaim) -> DeliveryResult | None:
        """Return why a claimed command must not be given to the provider, or None where it may."""
        command = taken.command
        if (doubt := self._doubt(taken, claim)) is not None:
            return DeliveryResult(outcome="unknown", detail=doubt)
        await self._outages.retry(LOG, self._holds.refresh)
        await taken.progress.wait_for_end()
        self._check_clock()  # with nothing awaited before `now` is taken: a clock may be set at any moment
        now = self._clock.now()
        if taken.progress.fences.blocks(command, taken.record.offset):
            return DeliveryResult(outcome="rejected_at_gate", rang=False, detail="a later fence recalls this command")
        if command.not_after is not None and now > command.not_after:
            return DeliveryResult(outcome="expired", rang=False, detail="not_after has passed")
        if (held := self._held(command)) is not None:
            return held
        self._metrics.dispatch_lateness.labels(self._channel.kind).observe((now - command.not_before) / SECOND)
        return None

    def _doubt(self, taken: TakenCommand, claim: CommandClaim) -> str | None:
        """Return why a command may have been carried out already, so that it is not carried out now; else None."""
        if not taken.is_in_order:
            return OUT_OF_ORDER
        if self._channel.never_twice and claim.state == "taken_over" and self._channel.was_given is None:
            return "a gateway ended between asking the provider and recording the answer"
        if not isinstance(taken.command, PostWebhook) and taken.command.decided_at < claim.work_born_at:
            return "sent before the record of deliveries was lost, or restored from an older copy"
        return None

    def _held(self, command: Command) -> DeliveryResult | None:
        """Return that a hold covers a command, by the rules as they were read last; None where none does.

        A webhook that was emitted is posted: it reaches no person, and many are awaited by nobody who could send them again.
        """
        hold = None if isinstance(command, PostWebhook) else self._holds.find(command.company_id, self._channel.kind)
        if hold is None:
            return None
        return DeliveryResult(outcome=HELD, rang=False, detail=hold.reason, hold=hold.place)

    def _or_unknown(self, claim: CommandClaim, result: DeliveryResult | None) -> DeliveryResult | None:
        """Return `unknown` for a command that this gateway did not give to a provider, and an earlier one may have given.

        Where a channel can say whether it was given, an order that is not written down by the take-over never is.
        """
        if claim.state != "taken_over" or self._channel.was_given is not None:
            return result
        if result is None or result.outcome not in NOT_GIVEN:
            return result
        detail = f"an earlier gateway may have given it to its provider; this one did not: {result.detail}"
        return DeliveryResult(outcome="unknown", rang=False, detail=detail)

    async def _was_given(self, command: Command, claim: CommandClaim) -> bool:
        """Return whether an earlier gateway may have given a command to a provider that can say what became of it."""
        ask = self._channel.was_given
        if ask is None or claim.state != "taken_over":
            return False
        return await self._outages.retry(DATABASE, lambda: ask(command))

    async def _resume(self, command: Command) -> DeliveryResult | None:
        resume = self._channel.resume
        assert resume is not None  # noqa: S101 - a channel has both or none
        return await self._outages.retry(DATABASE, lambda: resume(command))

    async def _carry_out(self, taken: TakenCommand, lease: Lease) -> DeliveryResult | None:
        """Call the provider, in a span where this process traces; what is reported of the command then names the span."""
        if self._traces is None:
            return await self._call_provider(taken, lease)
        with self._traces.delivery(taken.command, self._channel.kind, self._channel.provider) as span:
            taken.record = with_parent(taken.record, span)
            result = await self._call_provider(taken, lease)
            span.end_as(None if result is None else result.outcome)
            return result

    async def _call_provider(self, taken: TakenCommand, lease: Lease) -> DeliveryResult | None:
        async def report(progress: CallProgress) -> None:
            await self._post_progress(taken, progress)

        try:
            with under(lease):
                async with asyncio.timeout(self._provider_seconds()):
                    result = await self._channel.act(taken.command, report)
        except (LeaseLostError, UnwrittenOrderError):
            raise
        except NotPlacedError as error:
            return DeliveryResult(outcome="not_placed", rang=False, detail=str(error))
        except TimeoutError:
            return await self._ask_provider(taken.command, "the provider said nothing in time")
        except Exception as error:
            logger.exception("provider.failed", kind=self._channel.kind, command_id=taken.command.command_id)
            return await self._after_fault(taken.command, type(error).__name__)
        if result is not None and result.outcome not in OUTCOMES[self._channel.kind]:
            return DeliveryResult(outcome="unknown", detail=f"the provider said {result.outcome!r}, which is no outcome")
        return result

    async def _after_fault(self, command: Command, fault: str) -> DeliveryResult | None:
        """Return the outcome of a command after a fault of ours, which would be the same the next time."""
        if not self._channel.never_twice:
            return DeliveryResult(outcome="failed", detail=fault)
        try:
            return await self._ask_provider(command, fault)
        except UnwrittenOrderError:
            return DeliveryResult(outcome="unknown", detail=fault)

    async def _record(self, taken: TakenCommand, finished: FinishedCommand) -> None:
        """Record, then post. What is recorded and not posted, the next gateway that claims it posts."""
        now, result = self._clock.now(), finished.result
        outcome = NOTHING_TO_POST
        if result is not None:
            outcome = to_json(self._reports.outcome(taken.command, result, occurred_at=now))
        is_ours = await self._outages.retry(
            DATABASE,
            lambda: self._deliveries.record(
                taken.command.command_id,
                claimant=self._claimant,
                claim_id=finished.lease.claim_id,
                outcome=outcome,
                recorded_at=now,
            ),
        )
        self._observe(taken, result)
        if is_ours:
            await self._post(taken, outcome)
            if result is not None:
                await self._post_reactions(taken, result, now)
        elif outcome:
            # Another gateway took the claim over and reported `unknown`; post what we know all the same (an opt-out!).
            await self._reports.post(taken.record, from_json(outcome, OutcomeRecorded))

    async def _ask_provider(self, command: Command, fault: str) -> DeliveryResult | None:
        """Return what the provider can say of a command after a fault of its answer, else that it is `unknown`.

        Raises `UnwrittenOrderError` where no order was written down: then the provider was not asked.
        """
        unknown = DeliveryResult(outcome="unknown", detail=fault)
        was_given, resume = self._channel.was_given, self._channel.resume
        if was_given is None or resume is None:
            return unknown
        try:
            async with asyncio.timeout(ASK_SECONDS):
                if not await self._outages.retry(DATABASE, lambda: was_given(command)):
                    raise UnwrittenOrderError(f"{fault}, and no order was written down")
                return await self._outages.retry(DATABASE, lambda: resume(command))
        except (NotPlacedError, TimeoutError) as error:
            logger.warning("provider.not_asked", command_id=command.command_id, reason=str(error))
            return unknown

    async def _post_reactions(self, taken: TakenCommand, result: DeliveryResult, now: Instant) -> None:
        """Post what the person does at once, where the sandbox plays the person as well."""
        command, back = taken.command, result.calls_back
        if result.reply is not None and isinstance(command, SendSms):
            await self._reports.post_reply(taken.record, command, result, received_at=now)
        if back is None or not isinstance(command, PlaceCall):
            return
        steps: tuple[tuple[CallBackState, float], ...] = (
            ("ringing", back.after_seconds),
            ("connected", back.rings_seconds),
            ("ended", back.talks_seconds),
        )
        for state, seconds in steps:
            await sleep_domain_seconds(self._clock, seconds)
            await self._reports.post_call_back(taken.record, command, result, state=state, at=self._clock.now())

    async def _post(self, taken: TakenCommand, outcome: bytes) -> None:
        if outcome:
            await self._reports.post(taken.record, from_json(outcome, OutcomeRecorded))
        await self._outages.retry(
            DATABASE, lambda: self._deliveries.mark_posted(taken.command.command_id, posted_at=self._clock.now())
        )

    async def _post_progress(self, taken: TakenCommand, progress: CallProgress) -> None:
        try:
            await self._reports.post_progress(taken.record, taken.command, progress, occurred_at=self._clock.now())
        except LogError as error:
            logger.warning("progress.lost", command_id=taken.command.command_id, state=progress.state, reason=str(error))

    def _provider_seconds(self) -> float:
        """Return how long a provider may take, in wall seconds: the contact waits no longer for an outcome."""
        ends_at = self._clock.now() + OUTCOME_TIMEOUT[self._channel.kind]
        return max(PROVIDER_SECONDS_MIN, self._clock.seconds_until(ends_at))

    def _observe(self, taken: TakenCommand, result: DeliveryResult | None) -> None:
        outcome = "handed_over" if result is None else result.outcome
        self._metrics.outcomes.labels(self._channel.kind, outcome).inc()
        self._tally.note(outcome)
        logger.debug(
            "command.dropped" if outcome in GATE_OUTCOMES else "command.carried_out",
            kind=self._channel.kind,
            outcome=outcome,
            command_id=taken.command.command_id,
            company_id=taken.command.company_id,
            lead_id=taken.command.lead_id,
            partition=taken.record.partition,
            offset=taken.record.offset,
            detail=None if result is None else result.detail,
        )
