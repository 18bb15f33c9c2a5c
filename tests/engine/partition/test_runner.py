"""Does a partition decide every input once through any fault? A small aggregate on the embedded log."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import msgspec
import pytest

from adapters.embedded.faults import FaultPoint
from engine.decision_rules import VERSION
from engine.partition.broker_clock import BrokerTime, ahead_seconds
from engine.partition.draft import Draft
from engine.partition.ports import FencedError, LogError, LogRecord, Outgoing, Reader
from engine.partition.runner import CycleLimits, Runner, StateUnreadableError
from schemas.contact import Head
from schemas.envelope import Envelope
from schemas.instant import Instant, to_rfc3339
from schemas.requests import CallerActed, LeadDeleteRequested
from schemas.state import head_key
from schemas.wire import Message, packed_name, to_json
from tests.engine.partition.runner_world import ACT, KEY, Counting, HandClock, RunnerWorld


class PrefetchingReader:
    """Fetches once ahead, as aiokafka does: again only when that was taken. A fetch takes `FETCH_SECONDS` of the clock."""

    FETCH_SECONDS = 0.015

    def __init__(self, reader: Reader, clock: HandClock) -> None:
        self._reader = reader
        self._clock = clock
        self._fetched: list[LogRecord] = []
        self._ready_at = 0.0

    async def fetch(self) -> None:
        """Have fetched what the log holds now."""
        self._fetched += await self._reader.poll(limit=1_000, timeout_seconds=0)

    async def poll(self, *, limit: int, timeout_seconds: float) -> list[LogRecord]:
        if not self._fetched:
            left_seconds = self._ready_at - self._clock.monotonic()
            if left_seconds > timeout_seconds:
                await self._clock.sleep(timeout_seconds)
                return []
            await self._clock.sleep(max(0.0, left_seconds))
            await self.fetch()
        self._ready_at = self._clock.monotonic() + self.FETCH_SECONDS
        found, self._fetched = self._fetched, []
        return found

    def position(self, partition: int) -> int:
        return self._fetched[0].offset if self._fetched else self._reader.position(partition)

    async def seek(self, partition: int, offset: int) -> None:
        self._fetched.clear()
        await self._reader.seek(partition, offset)

    async def end(self, partition: int) -> int:
        return await self._reader.end(partition)

    async def start(self, partition: int) -> int:
        return await self._reader.start(partition)

    async def close(self) -> None:
        await self._reader.close()


@pytest.fixture
async def world() -> RunnerWorld:
    return await RunnerWorld().build()


async def head_of(runner: Runner) -> Head:
    head = runner.state.get(head_key(KEY), Head)
    assert head is not None
    return head


async def test_every_request_gets_one_decision_in_the_order_of_the_log(world: RunnerWorld) -> None:
    runner = world.runner()
    await runner.open()
    for _ in range(3):
        await world.ask(ACT)
    await runner.cycle()

    decisions = await world.decisions()

    assert [one.cause.kind for one in decisions] == ["adoption", "request", "request", "request"]
    assert [one.sequence for one in decisions] == [1, 2, 3, 4]
    assert (await head_of(runner)).version == 3


@pytest.fixture
def readers(world: RunnerWorld, monkeypatch: pytest.MonkeyPatch) -> list[PrefetchingReader]:
    """The readers of requests that were opened, each of which fetches ahead."""
    opened: list[PrefetchingReader] = []
    plain = world.log.reader

    async def prefetching(topic: str, partitions: Sequence[int], *, start: int | None = 0) -> Reader:
        found = await plain(topic, partitions, start=start)
        if topic == "contacts.requests":
            opened.append(PrefetchingReader(found, world.clock))
            return opened[-1]
        return found

    monkeypatch.setattr(world.log, "reader", prefetching)
    return opened


async def test_what_comes_behind_a_prefetched_request_is_decided_with_it(
    world: RunnerWorld, readers: list[PrefetchingReader]
) -> None:
    runner = world.runner()
    await runner.open()
    await world.ask(ACT)
    await runner.cycle()
    await world.ask(ACT)
    await readers[-1].fetch()  # while the commit was under way
    await world.ask(ACT)

    report = await runner.cycle()

    assert report.inputs == 2


async def test_what_comes_behind_a_prefetched_request_during_the_wait_for_a_turn_is_decided_with_it(
    world: RunnerWorld, readers: list[PrefetchingReader], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(PrefetchingReader, "FETCH_SECONDS", 0.002)

    @asynccontextmanager
    async def turn() -> AsyncIterator[bool]:
        await world.ask(ACT)
        await readers[-1].fetch()
        await world.ask(ACT)
        yield True

    runner = world.runner(turn=turn)
    await runner.open()
    for _ in range(4):
        await world.ask(ACT)

    report = await runner.cycle()

    assert report.inputs == 6


class Slow(Counting):
    """Takes some milliseconds for each request."""

    def __init__(self, clock: HandClock, milliseconds: int) -> None:
        super().__init__()
        self._clock = clock
        self._milliseconds = milliseconds

    def decide(self, draft: Draft, request: Message, envelope: Envelope) -> None:
        super().decide(draft, request, envelope)
        self._clock.time += self._milliseconds


@pytest.mark.parametrize(("takes_ms", "gap_ms"), [(1, 30), (20, 30), (25, 33), (100, 108)])
async def test_a_cycle_begins_a_while_after_the_last_one_began_and_soon_after_a_long_one_has_committed(
    world: RunnerWorld, takes_ms: int, gap_ms: int
) -> None:
    runner = world.runner(Slow(world.clock, takes_ms))
    await runner.open()
    for _ in range(2):
        await world.ask(ACT)
        await runner.cycle()

    first, second = (await world.decisions())[-2:]

    assert 0 <= second.decided_at - first.decided_at - gap_ms <= 2, "the clock of the test counts milliseconds"


async def test_a_new_owner_knows_everything_that_was_committed(world: RunnerWorld) -> None:
    first, second = world.runner(), world.runner()
    await first.open()
    await world.ask(ACT)
    await first.cycle()

    await second.open()

    assert (await head_of(second)).version == 1
    assert second.position == first.position
    assert second.next_due_at == first.next_due_at


async def test_a_fenced_owner_cannot_commit_and_nothing_is_decided_twice(world: RunnerWorld) -> None:
    first, second = world.runner(), world.runner()
    await first.open()
    await second.open()
    await world.ask(ACT)

    with pytest.raises(FencedError):
        await first.cycle()
    await second.cycle()

    assert [one.cause.offset for one in await world.decisions() if one.cause.kind == "request"] == [0]


@pytest.mark.parametrize("point", [FaultPoint.BEFORE_COMMIT, FaultPoint.AFTER_COMMIT])
async def test_a_commit_in_doubt_is_settled_by_the_changelog(world: RunnerWorld, point: FaultPoint) -> None:
    runner = world.runner()
    await runner.open()
    await world.ask(ACT)
    world.faults.point = point

    with pytest.raises(LogError):
        await runner.cycle()
    await runner.open()
    await runner.cycle()

    assert [one.cause.offset for one in await world.decisions() if one.cause.kind == "request"] == [0]
    assert (await head_of(runner)).version == 1


async def test_a_timer_fires_once_when_it_is_due_and_survives_a_new_owner(world: RunnerWorld) -> None:
    runner = world.runner()
    await runner.open()
    await world.ask(ACT)
    await runner.cycle()
    await runner.open()
    await runner.cycle()
    assert (await head_of(runner)).opted_out_at is None

    world.clock.time += 5000
    report = await runner.cycle()
    again = await runner.cycle()

    assert (report.ticks, again.ticks) == (1, 0)
    assert (await head_of(runner)).opted_out_at == (await world.decisions())[-1].decided_at


async def test_a_message_waits_in_the_outbox_until_it_is_acknowledged_under_any_owner(
    world: RunnerWorld,
) -> None:
    runner = world.runner()
    await runner.open()
    await world.ask(CallerActed(company_id=1, contact_key=KEY, action="opt_out"))
    await runner.cycle()
    successor = world.runner()
    await successor.open()
    assert list(world.outboxes[-1].entries) == [1]

    world.outboxes[-1].acknowledged = [1]
    await world.ask(ACT)
    await successor.cycle()
    third = world.runner()
    await third.open()

    assert world.outboxes[-1].entries == {}
    assert third.outbox_pending == 0


async def test_a_number_of_a_stream_is_decided_once_and_later_numbers_go_on(world: RunnerWorld) -> None:
    runner = world.runner()
    await runner.open()
    for number in (1, 2, 2, 1, 3):
        await world.ask(ACT, stream="s", number=number)
    await runner.cycle()

    verdicts = [one.verdict for one in await world.decisions() if one.cause.kind == "request"]

    assert verdicts == ["done", "done", "repeated", "repeated", "done"]


BAD_RECORDS = [
    pytest.param(b"{", "caller.acted", "malformed_json", id="not JSON"),
    pytest.param(b"", "caller.acted", "malformed_json", id="empty"),
    pytest.param(b"[1]", "caller.acted", "validation_failed", id="another shape"),
    pytest.param(b'{"company_id":1}', "caller.acted", "validation_failed", id="fields missing"),
    pytest.param(b"[" * 100_000, "caller.acted", "validation_failed", id="deeply nested"),
    pytest.param(b"{}", "no.such.type", "unknown_type", id="unknown type"),
    pytest.param(
        to_json(CallerActed(company_id=1, contact_key="1|+1", action="remove")),
        "caller.acted",
        "wrong_partition",
        id="wrong key",
    ),
]


@pytest.mark.parametrize(("value", "kind", "code"), BAD_RECORDS)
async def test_a_bad_record_is_refused_and_kept_and_the_partition_goes_on(
    world: RunnerWorld, value: bytes, kind: str, code: str
) -> None:
    runner = world.runner()
    await runner.open()
    await world.ask(value, kind)
    await world.ask(ACT)
    await runner.cycle()

    refused, done = (await world.decisions())[1:]
    [letter] = await world.dead_letters()

    assert (refused.verdict, done.verdict) == ("refused", "done")
    assert refused.answer is not None
    assert refused.answer.code == code
    assert (letter["dl_code"], letter["dl_offset"]) == (code.encode(), b"0")


async def test_when_deciding_raises_the_input_is_recorded_as_failed_and_kept(world: RunnerWorld) -> None:
    runner = world.runner()
    await runner.open()
    await world.ask(LeadDeleteRequested(company_id=1, contact_key=KEY, lead_id=13), "lead.delete_requested")
    await world.ask(LeadDeleteRequested(company_id=1, contact_key=KEY, lead_id=1), "lead.delete_requested")
    await runner.cycle()

    failed, refused = (await world.decisions())[1:]

    assert (failed.verdict, failed.error) == ("failed", "ZeroDivisionError: thirteen")
    assert (refused.verdict, refused.answer and refused.answer.status) == ("refused", 404)
    assert [letter["dl_code"] for letter in await world.dead_letters()] == [b"decision_failed"]


class Padding(Counting):
    """A request or timer about contact n puts a value of n kilobytes; the contact has a timer a second later."""

    def key_of(self, request: Message) -> str:
        assert isinstance(request, CallerActed)
        return request.contact_key

    def decide(self, draft: Draft, request: Message, envelope: Envelope) -> None:
        assert isinstance(request, CallerActed)
        company_id, _, size = request.contact_key.partition("|")
        padding = {"x" * 1_000 * int(size): "y"} if request.action == "opt_out" else {}
        head = Head(
            company_id=int(company_id), contact_key=request.contact_key, moved=padding, last_call_at=draft.now + 1000
        )
        draft.put(head_key(request.contact_key), head)

    def wake(self, draft: Draft, key: str, due_at: Instant) -> None:
        head = draft.get(key, Head)
        assert head is not None
        head.moved, head.last_call_at = {"x" * 1_000 * int(key.partition("|")[2]): "y"}, None
        draft.put(key, head)

    def give_up(self, draft: Draft, key: str, reason: str) -> None:
        head = draft.get(key, Head)
        assert head is not None
        head.last_call_at, head.blocked_at = None, draft.now
        draft.put(key, head)


async def cycles(runner: Runner, times: int) -> list[str]:
    """Let a partition run as a host does, and return what it said between cycles that failed."""
    found = []
    for _ in range(times):
        try:
            await runner.cycle()
        except LogError:
            found.append(runner.problem or "")
            await runner.open()
    return found


@pytest.mark.parametrize("action", ["opt_out", "remove"], ids=["a request", "a timer"])
async def test_an_input_whose_records_the_log_refuses_is_found_recorded_and_left_behind(
    world: RunnerWorld, action: str
) -> None:
    await world.log.delete_topic("contacts.state")
    await world.log.create_topic("contacts.state", 1, record_bytes_max=20_000)
    runner = world.runner(Padding())
    await runner.open()
    keys = [f"1|{size}" for size in (1, 2, 50, 3, 60, 4)]
    for key in keys:
        await world.ask(CallerActed(company_id=1, contact_key=key, action=action), key=key)  # type: ignore[arg-type]
    problems = await cycles(runner, 3)
    world.clock.time += 2_000
    problems += await cycles(runner, 40)

    decisions = await world.decisions()
    failed = [one for one in decisions if one.verdict == "failed"]
    letters = await world.dead_letters()
    heads = {key: runner.state.get(head_key(key), Head) for key in keys}
    kind = "request" if action == "opt_out" else "tick"
    assert [(one.cause.kind, one.cause.refusal is not None) for one in failed] == [(kind, True)] * 2
    assert [one.sequence for one in decisions] == list(range(1, len(decisions) + 1))
    assert [letter["dl_code"] for letter in letters] == [b"too_large"] * 2
    assert [key for key, head in heads.items() if head is None or head.blocked_at] == ["1|50", "1|60"]
    assert len(problems) == 3  # the whole, then each of the two alone
    assert "is over the 20000 of contacts.state" in problems[0]
    assert runner.problem is None


class Stubborn(Padding):
    """Fails at one timer, and fails again where that timer is to be given up."""

    def wake(self, draft: Draft, key: str, due_at: Instant) -> None:
        if key.endswith("|50"):
            raise ValueError("its turn fails")
        super().wake(draft, key, due_at)

    def give_up(self, draft: Draft, key: str, reason: str) -> None:
        raise ValueError("and so does giving it up")


async def test_a_timer_that_cannot_even_be_given_up_holds_up_nobody_and_is_tried_again_in_an_hour(
    world: RunnerWorld,
) -> None:
    runner = world.runner(Stubborn())
    await runner.open()
    for key in ("1|1", "1|50", "1|2"):
        await world.ask(CallerActed(company_id=1, contact_key=key, action="remove"), key=key)
    await runner.cycle()
    world.clock.time += 2_000
    for _ in range(10):
        await runner.cycle()
        world.clock.time += 60_000

    failed = [one for one in await world.decisions() if one.verdict == "failed"]
    letters = await world.dead_letters()
    heads = {key: runner.state.get(head_key(key), Head) for key in ("1|1", "1|50", "1|2")}
    assert len(failed) == len(letters) == 1
    assert "its turn fails" in (failed[0].error or "")
    assert "giving it up: " in (failed[0].error or "")
    assert failed[0].changes == ()
    assert [head is not None and head.last_call_at is None for head in heads.values()] == [True, False, True]

    world.clock.time += 3_600_000
    await runner.cycle()
    assert sum(one.verdict == "failed" for one in await world.decisions()) == 2


async def test_a_limit_that_was_raised_meanwhile_refuses_nothing(world: RunnerWorld) -> None:
    await world.log.delete_topic("contacts.state")
    await world.log.create_topic("contacts.state", 1, record_bytes_max=20_000)
    runner = world.runner(Padding())
    await runner.open()
    await world.ask(CallerActed(company_id=1, contact_key="1|50", action="opt_out"), key="1|50")
    await cycles(runner, 1)
    world.log._topics["contacts.state"] = msgspec.structs.replace(
        world.log._topics["contacts.state"], record_bytes_max=1_000_000
    )
    await cycles(runner, 3)

    assert [one.verdict for one in await world.decisions()][1:] == ["done"]


async def test_a_dead_letter_that_the_log_refuses_as_well_is_left_out(world: RunnerWorld) -> None:
    await world.log.delete_topic("deadletter")
    await world.log.create_topic("deadletter", 1, record_bytes_max=300)
    runner = world.runner()
    await runner.open()
    await world.ask(b"{")
    await world.ask(ACT)
    await cycles(runner, 8)

    assert [one.verdict for one in await world.decisions()][1:] == ["refused", "done"]
    assert await world.dead_letters() == []


async def test_large_timers_are_divided_among_transactions(world: RunnerWorld) -> None:
    runner = world.runner(Padding(), CycleLimits(records_bytes_max=100_000, idle_poll_seconds=0.0))
    await runner.open()
    for number in range(30):
        await world.ask(CallerActed(company_id=number, contact_key=f"{number}|30", action="remove"), key=f"{number}|30")
    await runner.cycle()
    world.clock.time += 2_000
    sizes = [sum(one.size_bytes for one in (await runner.cycle()).decisions) for _ in range(40)]

    assert max(sizes) < 200_000
    assert len([one for one in await world.decisions() if one.cause.kind == "tick"]) == 30


async def test_nothing_fires_while_old_requests_are_unread(world: RunnerWorld) -> None:
    runner = world.runner()
    await runner.open()
    await world.ask(ACT)
    await runner.cycle()
    for _ in range(2001):
        await world.ask(ACT)
    successor = world.runner()
    await successor.open()
    world.clock.time += 60_000

    first, second = await successor.cycle(), await successor.cycle()

    assert (first.behind, first.ticks) == (True, 0)
    assert second.behind is False


async def test_nothing_fires_while_a_request_that_came_since_the_take_over_is_unread(world: RunnerWorld) -> None:
    """It may be an opt-out: a partition that lags behind its requests contacts nobody."""
    runner = world.runner(limits=CycleLimits(inputs_max=1, idle_poll_seconds=0.0))
    await runner.open()
    for _ in range(20):
        await world.ask(ACT)
    reports = [await runner.cycle()]
    world.clock.time += 60_000  # the heads' timers are due, and what is unread is older than `behind_seconds`
    reports += [await runner.cycle() for _ in range(10)]

    assert [report.behind for report in reports[1:]] == [True] * 10
    assert sum(report.ticks for report in reports[1:]) == 0


async def test_the_chain_of_decisions_has_no_gap(world: RunnerWorld) -> None:
    runner = world.runner()
    await runner.open()
    for _ in range(3):
        await world.ask(ACT)
        await runner.cycle()

    decisions = await world.decisions()

    assert decisions[0].prev == ""
    assert len({one.prev for one in decisions}) == len(decisions)
    await asyncio.sleep(0)


async def test_time_stands_still_while_the_clock_cannot_be_trusted_and_nothing_spins(world: RunnerWorld) -> None:
    runner = world.runner()
    await runner.open()
    await world.ask(ACT)
    await runner.cycle()
    decided_at = runner.position.decided_at
    world.clock.ahead = 86_400_000
    await world.ask(ACT)
    await runner.cycle()
    await world.ask(ACT)  # the third one has a timer that is due
    await runner.cycle()

    assert runner.position.decided_at == decided_at
    assert runner._poll_timeout_seconds() > 0

    world.clock.ahead = 0
    world.clock.time += 86_400_000
    await runner.cycle()
    await runner.cycle()
    assert runner.position.decided_at >= decided_at + 86_400_000


@pytest.mark.parametrize(("ahead", "words"), [(86_400_000, "86400 s ahead of"), (-86_400_000, "86400 s behind")])
async def test_a_partition_that_is_opened_with_a_wrong_clock_dispatches_nothing_until_it_is_right(
    world: RunnerWorld, ahead: int, words: str
) -> None:
    """A scheduler that was restarted a day ahead contacted a day early, and took its partitions there for a day."""
    former = world.runner()
    await former.open()
    await world.ask(ACT)  # sets a timer, a second from now
    await former.cycle()
    decided_at = former.position.decided_at
    world.clock.time += 60_000
    world.clock.ahead = ahead

    for _ in range(2):  # also where the process is started again
        runner = world.runner()
        await runner.open()
        await world.ask(CallerActed(company_id=2, contact_key="2|1", action="opt_out"), key="2|1")
        for _ in range(3):
            report = await runner.cycle()
            assert (report.behind, report.ticks) == (True, 0)
        assert words in str(runner.problem)
    assert (await world.decisions())[-1].cause.kind == "request"  # it is decided, at a time that stands still
    assert runner.position.decided_at == decided_at

    world.clock.ahead = 0
    assert (await runner.cycle()).ticks == 1
    assert runner.problem is None
    assert runner.position.decided_at == world.clock.time


async def test_a_partition_on_which_nothing_was_decided_yet_does_not_begin_with_a_wrong_clock(world: RunnerWorld) -> None:
    world.clock.ahead = 86_400_000
    runner = world.runner()
    await runner.open()
    await world.ask(ACT)
    for _ in range(3):
        assert (await runner.cycle()).behind

    assert await world.decisions() == []
    assert "86400 s ahead of" in str(runner.problem)
    world.clock.ahead = 0
    await runner.cycle()
    assert (await world.decisions())[-1].decided_at <= world.clock.time


async def test_a_partition_goes_on_when_it_was_the_brokers_clock_that_is_put_right(world: RunnerWorld) -> None:
    world.log_ahead = -86_400_000
    former = world.runner()
    world.clock.ahead = -86_400_000
    await former.open()
    await world.ask(ACT)
    await former.cycle()
    world.clock.ahead = 0
    assert (await former.cycle()).behind

    world.log_ahead = 0
    world.clock.time += 31_000  # it asks again that often
    for _ in range(2):
        report = await former.cycle()
    assert former.problem is None
    assert not report.behind


async def test_clocks_may_be_thirty_seconds_apart_and_a_slow_commit_makes_none_wrong(world: RunnerWorld) -> None:
    world.clock.ahead = 30_000
    runner = world.runner()
    await runner.open()
    await runner.cycle()

    assert runner.problem is None
    heard = BrokerTime(Instant(1_000_000), 100.0, 160.0)  # the answer took a minute: the broker's time is no better known
    assert ahead_seconds(heard.appended_at + 60_000, 160.0, heard, None) == 0
    assert ahead_seconds(heard.appended_at, 160.0, heard, None) == 0
    assert ahead_seconds(heard.appended_at + 61_000, 160.0, heard, None) == 1
    assert ahead_seconds(heard.appended_at - 1_000, 160.0, heard, None) == -1
    assert ahead_seconds(heard.appended_at + 61_000, 160.0, heard, heard.appended_at + 71_000) == -10


async def test_a_partition_that_another_clock_took_into_the_future_waits_for_its_own(world: RunnerWorld) -> None:
    """As `up --speed 600` did on a deployment that it joined: what is due then is not due now."""
    runner = world.runner()
    await runner.open()
    world.clock.time += 18_000_000
    await world.ask(ACT)
    await runner.cycle()
    ahead = runner.position.decided_at
    world.clock.time -= 18_000_000
    began = world.clock.time
    successor = world.runner()
    await successor.open()
    await world.ask(CallerActed(company_id=1, contact_key=KEY, action="opt_out"))
    await successor.cycle()
    decided = (await world.decisions())[-1]
    await world.ask(ACT)  # the third one has a timer, due a second after the future
    waiting = await successor.cycle()

    assert (decided.verdict, decided.cause.behind) == ("done", True)
    assert (waiting.behind, waiting.ticks) == (True, 0)
    assert successor.ahead_since is not None
    assert began <= successor.ahead_since < began + 5_000
    assert successor.problem is not None
    assert f"goes on at {to_rfc3339(ahead)}" in successor.problem
    assert f"Since {to_rfc3339(successor.ahead_since)}" in successor.problem

    world.clock.time = ahead - 31_000
    assert (await successor.cycle()).behind
    world.clock.time = ahead + 2_000
    assert (await successor.cycle()).ticks == 1
    problem: str | None = successor.problem
    assert problem is None


async def test_a_partition_adopts_the_version_of_the_decision_rules_beside_those_of_its_process(world: RunnerWorld) -> None:
    runner = world.runner()
    await runner.open()
    await runner.cycle()

    assert runner.position.versions == {"engine": "1", "decision_rules": str(VERSION)}


async def test_another_version_of_the_decision_rules_is_adopted_by_a_decision(
    world: RunnerWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    former = world.runner()
    await former.open()
    await former.cycle()
    await former.close()
    monkeypatch.setattr("engine.decision_rules.VERSION", VERSION + 1)

    runner = world.runner()
    await runner.open()
    await runner.cycle()

    causes = [decision.cause for decision in await world.decisions()]
    assert [cause.kind for cause in causes] == ["adoption", "adoption"]
    assert [cause.versions["decision_rules"] for cause in causes] == [str(VERSION), str(VERSION + 1)]


# -- records of the changelog that nobody of ours wrote ----------------------------------------------------------------


async def restored(world: RunnerWorld, key: bytes | None, value: bytes | None) -> tuple[Runner, list[str]]:
    """Return a runner that has been decided with, and what its successor skips; the changelog has one record more."""
    former = world.runner()
    await former.open()
    await world.ask(ACT)
    await former.cycle()
    await former.close()
    await world.appender.append(0, [Outgoing("contacts.state", key, value)])
    skipped: list[str] = []
    runner = world.runner()
    runner._skip = lambda topic, partition, _offset, reason: skipped.append(f"{topic}[{partition}] {reason}")
    return runner, skipped


@pytest.mark.parametrize("key", [None, b"", b"\xff\xfe", b"nonsense", b"unknown/7"])
async def test_a_foreign_record_in_the_changelog_is_skipped_and_said(world: RunnerWorld, key: bytes | None) -> None:
    runner, skipped = await restored(world, key, b"\xc1 no MessagePack")
    await runner.open()
    await world.ask(ACT)
    await runner.cycle()

    assert (await head_of(runner)).version == 2
    assert len(skipped) == 1
    assert skipped[0].startswith("contacts.state[0] its key ")


@pytest.mark.parametrize("key", [b"__position__", b"__outbox__/7", b"__outbox__/x"])
@pytest.mark.parametrize("value", [b"", b"\xc1", b"\x81\xa1x", b"null"])
async def test_a_value_of_the_runner_that_cannot_be_read_stops_the_partition_with_a_sentence(
    world: RunnerWorld, key: bytes, value: bytes
) -> None:
    """To go on without its position would be to decide inputs twice."""
    runner, _ = await restored(world, key, value)

    with pytest.raises(StateUnreadableError, match=r"contacts.state\[0\] offset \d+ cannot be read .*operators.md"):
        await runner.open()


async def test_a_partition_goes_on_when_its_last_good_value_is_written_again(world: RunnerWorld) -> None:
    runner, _ = await restored(world, b"__position__", b"\xc1")
    good = [one for one in world.log.partition("contacts.state", 0).records if one.key == b"__position__"][-2]
    with pytest.raises(StateUnreadableError):
        await runner.open()

    await world.appender.append(0, [Outgoing("contacts.state", good.key, good.value)])
    await runner.open()
    await world.ask(ACT)
    await runner.cycle()

    assert (await head_of(runner)).version == 2
    assert [one.sequence for one in await world.decisions()] == [1, 2, 3]


async def test_a_value_with_a_timer_that_cannot_be_read_stops_the_partition_with_a_sentence(world: RunnerWorld) -> None:
    runner, _ = await restored(world, b"head/1|+1", packed_name("last_call_at") + b"\xc1")

    with pytest.raises(StateUnreadableError, match=r"the value of head/1\|\+1 in contacts.state\[0\] cannot be read"):
        await runner.open()


class CountedTurns:
    """Turns of which only the first is waited for; meanwhile a request comes."""

    def __init__(self, world: RunnerWorld) -> None:
        self.taken = 0
        self._world = world

    @asynccontextmanager
    async def take(self) -> AsyncIterator[bool]:
        self.taken += 1
        has_waited = self.taken == 1
        if has_waited:
            await self._world.ask(CallerActed(company_id=1, contact_key=KEY, action="remove"))
        yield has_waited


@pytest.mark.parametrize(("count", "taken"), [(1, 0), (3, 0), (4, 1), (9, 1)])
async def test_a_cycle_waits_for_its_turn_where_it_has_much_to_decide(world: RunnerWorld, count: int, taken: int) -> None:
    turns = CountedTurns(world)
    runner = world.runner(turn=turns.take)
    await runner.open()
    for _ in range(count):
        await world.ask(CallerActed(company_id=1, contact_key=KEY, action="remove"))

    report = await runner.cycle()

    assert turns.taken == taken
    assert report.inputs == count + taken, "what came while it waited is decided with the rest"
    await runner.close()


async def test_due_timers_count_as_much_to_decide(world: RunnerWorld) -> None:
    turns = CountedTurns(world)
    turns.taken = 1  # nothing comes meanwhile
    runner = world.runner(Sleepy(), turn=turns.take)
    await runner.open()
    for number in range(4):
        key = f"1|+1305555010{number}"
        await world.ask(CallerActed(company_id=1, contact_key=key, action="remove"), key=key)
        await runner.cycle()
    assert turns.taken == 1, "no cycle was large so far"

    world.clock.time += 1_000
    report = await runner.cycle()

    assert (report.ticks, turns.taken) == (4, 2)
    await runner.close()


class Sleepy(Counting):
    """Wants to be woken for each contact."""

    def decide(self, draft: Draft, request: Message, envelope: Envelope) -> None:
        assert isinstance(request, CallerActed)
        head = Head(company_id=1, contact_key=request.contact_key, last_call_at=draft.now + 1_000)
        draft.put(head_key(request.contact_key), head)
