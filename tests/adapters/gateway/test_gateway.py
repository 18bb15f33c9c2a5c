"""Is every order carried out once, in order, and not at all where it must not be? On the embedded log."""

import asyncio
import contextlib
from decimal import Decimal
from typing import Any

import pytest
from msgspec import structs

from adapters.errors import StoreError
from adapters.gateway import delivery
from adapters.gateway.channels import Channel, call_channel, email_channel, sms_channel, webhook_channel
from adapters.gateway.gateway import READING_PROGRESS
from adapters.gateway.ports import DeliveryResult, NotPlacedError, Report, SavedProgress
from adapters.gateway.priority_semaphore import PrioritySemaphore
from adapters.observability.metrics import Metrics
from engine.partition.ports import Outgoing
from schemas.commands import Command
from schemas.envelope import from_headers
from schemas.instant import EPOCH, HOUR, Instant
from schemas.outcomes import OUTCOME_TIMEOUT
from schemas.requests import CallProgressed, OutcomeRecorded
from schemas.topics import DEADLETTER
from schemas.wire import to_json
from tests.adapters.gateway.providers import Email, Sms, Voice, Webhook, good
from tests.adapters.gateway.world import (
    NOON,
    WAIT_SECONDS,
    AbsentDeliveries,
    FarEndLog,
    LateDeliveries,
    MemoryDeliveries,
    MortalDeliveries,
    QuickClock,
    SilentLog,
    StillClock,
    body,
    command_of,
    fence_of,
    keys_of,
    running,
    town,
    until,
)


async def test_a_call_is_placed_once_and_reported_as_it_goes() -> None:
    voice = Voice(
        lambda _: DeliveryResult(outcome="connected_human", provider_ref="ref", answered_by="human", talk_seconds=30)
    )

    async with town("call") as place, running(place, call_channel(voice), MemoryDeliveries()):
        await place.append(command_of("call"))
        await place.outcome()
        initiated, outcome = await place.said()

    assert voice.asked == ["command-1"]
    assert isinstance(initiated, CallProgressed)
    assert (initiated.state, initiated.provider, initiated.contact_key) == ("initiated", "test voice", "1|+13055550001")
    assert isinstance(outcome, OutcomeRecorded)
    assert (outcome.kind, outcome.outcome, outcome.talk_seconds, outcome.lead_id) == ("call", "connected_human", 30, 1)
    assert (outcome.provider_ref, outcome.answered_by, outcome.occurred_at) == ("ref", "human", NOON)


async def test_a_provider_may_say_who_and_what_handled_a_call() -> None:
    handled = {"agent_id": 9, "provider_configuration_id": 2, "transcription_status": "pending", "cost": Decimal("0.02")}
    voice = Voice(lambda _: DeliveryResult(outcome="connected_human", **handled))  # type: ignore[arg-type]

    async with town("call") as place, running(place, call_channel(voice), MemoryDeliveries()):
        await place.append(command_of("call"))
        await place.outcome()
        _, outcome = await place.said()

    assert {name: getattr(outcome, name) for name in handled} == handled


async def test_a_report_is_recognised_by_an_id_that_is_derived() -> None:
    async with town("call") as place, running(place, call_channel(Voice()), MemoryDeliveries()):
        await place.append(command_of("call"))
        await place.outcome()
        envelopes = [from_headers(record.headers) for record in await place.records()]
        keys = {record.key for record in await place.records()}

    assert [(envelope.type, envelope.id, envelope.source) for envelope in envelopes] == [
        ("call.progressed", "command-1/initiated", "/gateway/call"),
        ("outcome.recorded", "command-1/connected_human", "/gateway/call"),
    ]
    assert keys == {b"1|+13055550001"}


@pytest.mark.parametrize(
    ("channel", "outcome"),
    [
        pytest.param(sms_channel(Sms()), "delivered", id="sms"),
        pytest.param(email_channel(Email()), "accepted", id="email"),
        pytest.param(webhook_channel(Webhook()), "accepted", id="webhook"),
    ],
)
async def test_every_channel_goes_the_same_way(channel: Channel, outcome: str) -> None:
    async with town(channel.kind) as place, running(place, channel, MemoryDeliveries()):
        await place.append(command_of(channel.kind))

        assert await place.outcome() == [("command-1", outcome)]


async def test_an_order_before_a_fence_of_its_contact_is_dropped() -> None:
    voice, command = Voice(), command_of("call")

    async with town("call") as place:
        await place.append(command, fence_of(command))
        async with running(place, call_channel(voice), MemoryDeliveries()):
            assert await place.outcome() == [("command-1", "rejected_at_gate")]

    assert voice.asked == []


async def test_a_fence_written_before_the_claim_is_seen_although_it_is_read_later() -> None:
    voice, command = Voice(), command_of("call")
    others = [command_of("call", number) for number in range(2, 1500)]

    async with town("call") as place:
        await place.append(command, *others, fence_of(command))
        async with running(place, call_channel(voice), MemoryDeliveries()):
            outcomes = dict(await place.outcome(count=1499))

    assert outcomes["command-1"] == "rejected_at_gate"
    assert sorted(voice.asked) == sorted(other.command_id for other in others)


@pytest.mark.parametrize(
    "case", ["fence before the command", "fence of another contact", "fence of another lead", "fence of another command"]
)
async def test_other_fences_stop_nothing(case: str) -> None:
    command = command_of("call")
    messages: dict[str, list[Any]] = {
        "fence before the command": [fence_of(command), command],
        "fence of another contact": [command, fence_of(command_of("call", 2))],
        "fence of another lead": [command, fence_of(command, 99)],
        "fence of another command": [command, fence_of(command, command_ids=("command-9",))],
    }

    async with town("call") as place:
        await place.append(*messages[case])
        async with running(place, call_channel(Voice()), MemoryDeliveries()):
            assert await place.outcome() == [("command-1", "connected_human")]


async def test_a_fence_of_one_command_stops_that_command_only() -> None:
    first, second = command_of("call"), command_of("call", 2, contact_key="1|+13055550001")

    async with town("call") as place:
        await place.append(first, second, fence_of(first, command_ids=(second.command_id,)))
        async with running(place, call_channel(Voice()), MemoryDeliveries()):
            outcomes = await place.outcome(2)

    assert outcomes == [("command-1", "connected_human"), ("command-2", "rejected_at_gate")]


async def test_a_fence_of_one_lead_stops_that_lead_only() -> None:
    first, second = command_of("call"), command_of("call", 2, contact_key="1|+13055550001")

    async with town("call") as place:
        await place.append(first, second, fence_of(first, first.lead_id))
        async with running(place, call_channel(Voice()), MemoryDeliveries()):
            outcomes = await place.outcome(2)

    assert outcomes == [("command-1", "rejected_at_gate"), ("command-2", "connected_human")]


@pytest.mark.parametrize(
    ("not_after", "outcome"),
    [
        pytest.param(None, "connected_human", id="no bound"),
        pytest.param(NOON + 1, "connected_human", id="just before"),
        pytest.param(NOON, "connected_human", id="at the instant"),
        pytest.param(NOON - 1, "expired", id="just after"),
    ],
)
async def test_an_order_is_dropped_once_it_is_too_late(not_after: int | None, outcome: str) -> None:
    voice = Voice()

    async with town("call") as place, running(place, call_channel(voice), MemoryDeliveries()):
        await place.append(command_of("call", not_after=not_after))

        assert await place.outcome() == [("command-1", outcome)]

    assert bool(voice.asked) == (outcome != "expired")


async def test_an_order_waits_for_its_not_before() -> None:
    voice, clock = Voice(), StillClock()

    async with town("call") as place, running(place, call_channel(voice), MemoryDeliveries(), clock=clock):
        await place.append(command_of("call", not_before=NOON + 60_000), command_of("call", 2))
        await place.outcome()
        early = list(voice.asked)
        clock.instant += 60_000
        await place.outcome(2)

    assert (early, voice.asked) == (["command-2"], ["command-2", "command-1"])


async def test_a_slow_call_holds_up_nobody_but_its_contact() -> None:
    voice = Voice()
    voice.gates["command-1"] = asyncio.Event()
    slow, next_of_same, other = (
        command_of("call"),
        command_of("call", 2, contact_key="1|+13055550001"),
        command_of("call", 3),
    )

    async with town("call") as place, running(place, call_channel(voice), MemoryDeliveries()):
        await place.append(slow, next_of_same, other)
        meanwhile = await place.outcome()
        voice.gates["command-1"].set()
        await place.outcome(3)

    assert meanwhile == [("command-3", "connected_human")]
    assert voice.asked.index("command-1") < voice.asked.index("command-2")


async def test_keys_reach_a_call_under_way_past_the_next_order_of_its_contact_and_late_ones_reach_none() -> None:
    voice = Voice()
    voice.gates["command-1"] = asyncio.Event()
    first = command_of("call")
    behind = command_of("call", 2, contact_key=first.contact_key)

    async with town("call") as place, running(place, call_channel(voice), MemoryDeliveries()):
        await place.append(first)
        await until(lambda: voice.asked)
        await place.append(keys_of(first, "9", not_after=NOON - 1), behind, keys_of(first, "12#", not_after=NOON + 10_000))
        await until(lambda: voice.pressed)
        voice.gates["command-1"].set()
        outcomes = await place.outcome(2)

    assert voice.pressed == [("command-1", "12#")]
    assert [command_id for command_id, _ in outcomes] == ["command-1", "command-2"]


async def test_no_more_orders_are_under_way_than_the_channel_has_slots() -> None:
    under_way, most = 0, 0

    class Counting(Sms):
        async def send(self, command: Any) -> DeliveryResult | None:
            nonlocal under_way, most
            under_way += 1
            most = max(most, under_way)
            await asyncio.sleep(0.005)
            under_way -= 1
            return await super().send(command)

    async with town("sms") as place:
        await place.append(*(command_of("sms", number, company_id=number % 5 + 1) for number in range(1, 21)))
        async with running(place, sms_channel(Counting(), concurrent_max=3), MemoryDeliveries()):
            assert len(await place.outcome(20)) == 20

    assert most == 3


async def test_where_more_wait_than_there_are_slots_the_most_urgent_goes_next() -> None:
    voice = Voice()
    voice.gates["command-1"] = asyncio.Event()
    ranks: list[dict[str, Any]] = [
        {},
        {"urgency_class": 4},
        {"priority": 50.0},
        {"not_before": NOON - 1},
        {"urgency_class": 1, "priority": 900.0},
        {},
    ]
    commands = [command_of("call", number, **rank) for number, rank in enumerate(ranks, start=1)]

    async with town("call") as place, running(place, call_channel(voice, concurrent_max=1), MemoryDeliveries()):
        await place.append(*commands)
        await until(lambda: voice.asked == ["command-1"])
        await asyncio.sleep(0.1)  # until the others stand behind it
        voice.gates["command-1"].set()
        await place.outcome(6)

    assert voice.asked == [f"command-{number}" for number in (1, 5, 3, 4, 6, 2)]


async def test_of_equal_priority_who_has_been_due_the_longest_goes_next_and_then_the_lower_id() -> None:
    """Whatever partition an order was read from, and in which order."""
    slots, went, ended = PrioritySemaphore(sms_channel(Sms(), concurrent_max=1)), list[int](), asyncio.Event()

    async def act(number: int, due_at: Instant | None) -> None:
        async with slots.acquire(command_of("sms", number, due_at=due_at)):
            went.append(number)
            await ended.wait()

    tasks = []
    for number, due_at in [(1, None), (5, None), (3, NOON - 1), (4, None), (2, NOON - HOUR)]:
        tasks.append(asyncio.create_task(act(number, due_at)))
        await asyncio.sleep(0)
    ended.set()
    await asyncio.gather(*tasks)

    assert went == [1, 2, 3, 4, 5]


async def test_a_slot_given_to_one_who_was_cancelled_goes_to_the_next() -> None:
    slots, held = PrioritySemaphore(sms_channel(Sms(), concurrent_max=1)), asyncio.Event()

    async def hold(number: int, until_released: asyncio.Event) -> int:
        async with slots.acquire(command_of("sms", number)):
            await until_released.wait()
            return number

    first = asyncio.create_task(hold(1, held))
    await asyncio.sleep(0)
    second, third = asyncio.create_task(hold(2, held)), asyncio.create_task(hold(3, held))
    await asyncio.sleep(0)
    held.set()
    await asyncio.sleep(0)
    second.cancel()

    with contextlib.suppress(asyncio.CancelledError):
        await second
    assert [await first, await third] == [1, 3]


async def test_what_there_is_no_room_for_is_read_again_in_order() -> None:
    sms = Sms()
    # 40 contacts with 5 commands each, and room for 8: the queue is cut and refilled many times.
    commands = [command_of("sms", n * 40 + c, contact_key=f"1|{c}") for n in range(5) for c in range(40)]
    fenced = commands[-1]

    async with town("sms") as place:
        await place.append(*commands, fence_of(fenced, fenced.lead_id))
        async with running(place, sms_channel(sms), MemoryDeliveries(), queued_max=8):
            outcomes = await place.outcome(200)

    assert len(outcomes) == 200
    assert dict(outcomes)[fenced.command_id] == "rejected_at_gate"
    assert len(sms.asked) == len(set(sms.asked)) == 199
    for contact in range(40):
        own = [command.command_id for command in commands[contact::40] if command is not fenced]
        assert [asked for asked in sms.asked if asked in own] == own


async def test_a_record_that_nobody_can_read_goes_to_the_dead_letters_and_the_rest_goes_on() -> None:
    unreadable = [b"\xff", b'{"type":"sms.send"}', b"", b'{"type":"\xff"}', b'{"type":"call.place","x":' + b"[" * 100_000]
    async with town("call") as place, running(place, call_channel(Voice()), MemoryDeliveries()):
        await place.append(*unreadable, command_of("call"))
        outcomes = await place.outcome()
        letters = await until(lambda: place.records(DEADLETTER.name), lambda found: len(found) >= len(unreadable))

    assert outcomes == [("command-1", "connected_human")]
    assert [letter.value for letter in letters] == unreadable
    assert {dict(letter.headers)["dl_code"] for letter in letters} == {b"malformed_body"}


async def test_an_order_under_the_key_of_another_contact_is_not_carried_out() -> None:
    """Its fences are written under its own key, perhaps to another partition, where this gateway does not look."""
    voice = Voice()
    async with town("call") as place, running(place, call_channel(voice), MemoryDeliveries()):
        await place.append(to_json(command_of("call", 7)), command_of("call"))
        await place.outcome()
        (letter,) = await until(lambda: place.records(DEADLETTER.name), bool)

    assert voice.asked == ["command-1"]
    assert dict(letter.headers)["dl_code"] == b"wrong_partition"


@pytest.mark.parametrize(
    ("channel", "raised", "outcome"),
    [
        pytest.param(call_channel, NotPlacedError("no line"), "not_placed", id="surely not asked"),
        pytest.param(call_channel, RuntimeError("bug"), "unknown", id="who knows"),
        pytest.param(call_channel, TimeoutError(), "unknown", id="no answer in time"),
    ],
)
async def test_a_call_that_goes_wrong_has_an_outcome(channel: Any, raised: Exception, outcome: str) -> None:
    def fail(_: Command) -> DeliveryResult | None:
        raise raised

    async with town("call") as place, running(place, channel(Voice(fail)), MemoryDeliveries()):
        await place.append(command_of("call"))

        assert await place.outcome() == [("command-1", outcome)]


async def test_an_email_whose_provider_fails_has_failed_and_may_be_sent_again_by_its_step() -> None:
    def fail(_: Command) -> DeliveryResult | None:
        raise RuntimeError("bug")

    async with town("email") as place, running(place, email_channel(Email(fail)), MemoryDeliveries()):
        await place.append(command_of("email"))

        assert await place.outcome() == [("command-1", "failed")]


async def test_a_word_that_is_no_outcome_is_unknown() -> None:
    async with town("call") as place, running(place, call_channel(Voice(good("hooray"))), MemoryDeliveries()):
        await place.append(command_of("call"))

        assert await place.outcome() == [("command-1", "unknown")]


async def test_an_order_that_the_provider_keeps_to_itself_is_done_without_an_outcome() -> None:
    deliveries = MemoryDeliveries()

    async with town("call") as place, running(place, call_channel(Voice(lambda _: None)), deliveries):
        await place.append(command_of("call"), command_of("call", 2))
        await until(lambda: [row["posted"] for row in deliveries.rows.values()] == [True, True])

        assert await place.outcomes() == []


async def test_a_gateway_that_starts_again_goes_on_where_it_was() -> None:
    voice, deliveries = Voice(), MemoryDeliveries()

    async with town("call") as place:
        await place.append(*(command_of("call", number) for number in range(1, 6)))
        async with running(place, call_channel(voice), deliveries):
            await place.outcome(5)
            await until(lambda: deliveries.saved.get(("commands.call", 0), ("", SavedProgress()))[1].offset >= 5)
        deliveries.rows.clear()  # nothing but the progress can keep them from being asked again
        async with running(place, call_channel(voice), deliveries):
            await place.append(command_of("call", 6))
            await place.outcome(6)

    assert sorted(voice.asked) == [f"command-{number}" for number in range(1, 7)]


async def test_a_call_is_not_repeated_when_its_gateway_was_killed_before_the_record() -> None:
    voice, deliveries = Voice(), MemoryDeliveries()

    async with town("call") as place:
        dying = MortalDeliveries(deliveries, "record")
        async with running(place, call_channel(voice), dying):
            await place.append(command_of("call"))
            await asyncio.wait_for(dying.dead.wait(), 60)
        assert await place.outcomes() == []
        deliveries.wall += 31
        async with running(place, call_channel(voice), deliveries):
            assert await place.outcome() == [("command-1", "unknown")]

    assert voice.asked == ["command-1"]


@pytest.mark.parametrize("kind", ["email", "webhook"])
async def test_an_email_or_webhook_is_sent_again_with_its_id_when_its_gateway_was_killed(kind: Any) -> None:
    provider: Any = Email() if kind == "email" else Webhook()
    channel = email_channel(provider) if kind == "email" else webhook_channel(provider)
    deliveries = MemoryDeliveries()

    async with town(kind) as place:
        dying = MortalDeliveries(deliveries, "record")
        async with running(place, channel, dying):
            await place.append(command_of(kind))
            await asyncio.wait_for(dying.dead.wait(), 60)
        deliveries.wall += 31
        async with running(place, channel, deliveries):
            assert await place.outcome() == [("command-1", "accepted")]

    assert provider.asked == ["command-1", "command-1"]


async def test_an_outcome_that_was_recorded_and_not_posted_is_posted_without_asking_again() -> None:
    voice, deliveries = Voice(good("busy")), MemoryDeliveries()

    async with town("call") as place:
        dying = MortalDeliveries(deliveries, "record", after=True)
        async with running(place, call_channel(voice), dying):
            await place.append(command_of("call"))
            await asyncio.wait_for(dying.dead.wait(), 60)
        deliveries.wall += 31
        async with running(place, call_channel(voice), deliveries):
            assert await place.outcome() == [("command-1", "busy")]

    assert voice.asked == ["command-1"]


async def test_a_killed_gateway_that_had_only_claimed_leaves_unknown_because_nobody_can_tell() -> None:
    voice, deliveries = Voice(), MemoryDeliveries()

    async with town("call") as place:
        dying = MortalDeliveries(deliveries, "claim", after=True)
        async with running(place, call_channel(voice), dying):
            await place.append(command_of("call"))
            await asyncio.wait_for(dying.dead.wait(), 60)
        deliveries.wall += 31
        async with running(place, call_channel(voice), deliveries):
            assert await place.outcome() == [("command-1", "unknown")]

    assert voice.asked == []


@pytest.mark.parametrize(
    ("was_given", "remembered", "expected", "asked"),
    [
        (True, DeliveryResult(outcome="busy"), [("command-1", "busy")], []),
        (False, None, [("command-1", "connected_human")], ["command-1"]),
    ],
    ids=["the provider remembers it", "it was never given to a provider"],
)
async def test_a_gateway_that_takes_over_asks_a_provider_that_remembers(
    was_given: bool, remembered: DeliveryResult | None, expected: list[tuple[str, str]], asked: list[str]
) -> None:
    voice, deliveries = Voice(), MemoryDeliveries()

    async def given(_: Command) -> bool:
        return was_given

    async def resume(_: Command) -> DeliveryResult | None:
        return remembered

    channel = structs.replace(call_channel(voice), was_given=given, resume=resume)
    async with town("call") as place:
        dying = MortalDeliveries(deliveries, "claim", after=True)
        async with running(place, channel, dying):
            await place.append(command_of("call"))
            await asyncio.wait_for(dying.dead.wait(), 60)
        deliveries.wall += 31
        async with running(place, channel, deliveries):
            assert await place.outcome() == expected

    assert voice.asked == asked


@pytest.mark.parametrize("fault", [RuntimeError("broken"), None], ids=["the provider fails", "the provider says nothing"])
@pytest.mark.parametrize(
    ("was_given", "remembered", "expected"),
    [(True, DeliveryResult(outcome="busy"), "busy"), (True, StoreError("away"), "unknown")],
    ids=["it remembers", "it cannot be asked"],
)
async def test_a_provider_whose_answer_failed_is_asked_before_the_outcome_is_unknown(
    monkeypatch: pytest.MonkeyPatch, fault: Exception | None, was_given: bool, remembered: Any, expected: str
) -> None:
    monkeypatch.setattr(delivery, "PROVIDER_SECONDS_MIN", 0.01)
    monkeypatch.setattr(delivery, "ASK_SECONDS", 0.05)
    monkeypatch.setitem(OUTCOME_TIMEOUT, "call", 0)

    async def act(_: Command, __: Report) -> DeliveryResult | None:
        if fault is not None:
            raise fault
        await asyncio.Event().wait()
        raise AssertionError

    async def given(_: Command) -> bool:
        return was_given

    async def resume(_: Command) -> Any:
        if isinstance(remembered, Exception):
            raise remembered
        return remembered

    channel = structs.replace(call_channel(Voice()), act=act, was_given=given, resume=resume)
    async with town("call") as place:
        await place.append(command_of("call"))
        async with running(place, channel, MemoryDeliveries()):
            assert await place.outcome() == [("command-1", expected)]


@pytest.mark.parametrize(
    ("fault", "expected"),
    [(RuntimeError("broken"), [("command-1", "unknown")]), (None, [("command-1", "connected_human")])],
    ids=["a fault of ours, once", "the time before the order was written down ran out"],
)
async def test_a_provider_that_was_never_asked_is_asked_again_where_time_ran_out(
    monkeypatch: pytest.MonkeyPatch, fault: Exception | None, expected: list[tuple[str, str]]
) -> None:
    monkeypatch.setattr(delivery, "PROVIDER_SECONDS_MIN", 0.05)
    monkeypatch.setitem(OUTCOME_TIMEOUT, "call", 0)
    voice, attempts = Voice(), 0

    async def act(command: Command, report: Report) -> DeliveryResult | None:
        nonlocal attempts
        attempts += 1
        if attempts > 1:
            return await voice.place(command, report)  # type: ignore[arg-type]
        if fault is not None:
            raise fault
        await asyncio.Event().wait()
        raise AssertionError

    async def never(_: Command) -> Any:
        return False

    channel = structs.replace(call_channel(voice), act=act, was_given=never, resume=never)
    async with town("call") as place:
        await place.append(command_of("call"))
        async with running(place, channel, MemoryDeliveries()):
            assert await place.outcome() == expected


async def test_a_taken_over_command_that_is_under_way_is_left_to_its_reports() -> None:
    voice, deliveries = Voice(), MemoryDeliveries()

    async def given(_: Command) -> bool:
        return True

    async def resume(_: Command) -> DeliveryResult | None:
        return None

    channel = structs.replace(call_channel(voice), was_given=given, resume=resume)
    async with town("call") as place:
        dying = MortalDeliveries(deliveries, "claim", after=True)
        async with running(place, channel, dying):
            await place.append(command_of("call"))
            await asyncio.wait_for(dying.dead.wait(), 60)
        deliveries.wall += 31
        async with running(place, channel, deliveries):
            await place.append(command_of("call", 2))
            assert await place.outcome() == [("command-2", "connected_human")]

    assert voice.asked == ["command-2"]


async def test_a_gateway_that_is_stopped_finishes_the_call_that_it_is_in() -> None:
    voice, deliveries = Voice(), MemoryDeliveries()
    voice.gates["command-1"] = asyncio.Event()

    async with town("call") as place:
        async with running(place, call_channel(voice), deliveries, drain_seconds=WAIT_SECONDS) as gateway:
            await place.append(command_of("call"))
            await until(lambda: voice.asked)
            gateway.stop()
            stopping = gateway.problems()
            voice.gates["command-1"].set()

        assert await place.outcomes() == [("command-1", "connected_human")]
        assert stopping == {"stop": "stopping: 1 deliveries are under way"}


async def test_a_gateway_that_is_stopped_keeps_the_lease_of_a_call_that_lasts() -> None:
    voice, deliveries = Voice(), MemoryDeliveries()
    voice.gates["command-1"] = asyncio.Event()

    async with town("call") as place:
        lasting = running(place, call_channel(voice), deliveries, clock=QuickClock(), drain_seconds=WAIT_SECONDS)
        async with lasting as gateway:
            await place.append(command_of("call"))
            await until(lambda: voice.asked)
            gateway.stop()
            for _ in range(10):  # ten times two thirds of a lease
                deliveries.wall += 20
                renewed = await until(lambda: deliveries.rows["command-1"]["until"] >= deliveries.wall + 30)
                assert renewed, "a lease ended while its call lasted"
            found = await deliveries.claim(
                "command-1",
                company_id=1,
                kind="call",
                claimant="another",
                claim_id="another",
                claimed_at=NOON,
                lease_seconds=30,
            )
            voice.gates["command-1"].set()

        assert found.state == "held"
        assert await place.outcomes() == [("command-1", "connected_human")]


async def test_a_gateway_that_is_stopped_leaves_what_waits_for_its_time_or_a_slot_to_others_at_once() -> None:
    voice, deliveries = Voice(), MemoryDeliveries()
    voice.gates["command-1"] = asyncio.Event()

    async with town("call") as place:
        one_slot = call_channel(voice, concurrent_max=1)
        async with running(place, one_slot, deliveries, drain_seconds=WAIT_SECONDS) as gateway:
            await place.append(command_of("call"), command_of("call", 2), command_of("call", 3, not_before=NOON + HOUR))
            await until(lambda: voice.asked)
            gateway.stop()
            async with running(place, call_channel(voice), deliveries, clock=StillClock(NOON + HOUR)):
                others = await place.outcome(2)
            voice.gates["command-1"].set()

        assert sorted(others) == [("command-2", "connected_human"), ("command-3", "connected_human")]
        assert len(await place.outcomes()) == 3


async def test_an_order_older_than_the_memory_of_deliveries_is_unknown_where_it_must_not_be_repeated() -> None:
    voice, sms, email, webhook = Voice(), Sms(), Email(), Webhook()
    channels = [(call_channel(voice), "unknown"), (sms_channel(sms), "unknown"), (email_channel(email), "unknown")]
    channels += [(webhook_channel(webhook), "accepted")]

    for channel, outcome in channels:
        async with town(channel.kind) as place, running(place, channel, MemoryDeliveries(born_at=NOON + 1)):
            await place.append(command_of(channel.kind), command_of(channel.kind, 2, decided_at=NOON + 1))
            outcomes = dict(await place.outcome(2))

        assert outcomes["command-1"] == outcome
        assert outcomes["command-2"] != "unknown"

    assert [provider.asked for provider in (voice, sms, email)] == [["command-2"]] * 3
    assert sorted(webhook.asked) == ["command-1", "command-2"]


class OwnerThatGoesOn(MemoryDeliveries):
    """Another gateway saves its progress, and reports it to the group, right after this one has read what was saved."""

    def __init__(self) -> None:
        super().__init__()
        self.reported: int | None = None

    async def progress(self, topic: str, topic_id: str, partition: int) -> SavedProgress | None:
        found = await super().progress(topic, topic_id, partition)
        if self.reported is None:
            await self.save_progress(topic, topic_id, partition, SavedProgress(1))
            self.reported = 1
        return found

    async def reached(self, partition: int) -> int | None:
        assert partition == 0
        return self.reported

    def report(self, partition: int, offset: int) -> None:
        assert partition == 0
        self.reported = max(offset, self.reported or 0)


async def test_what_the_owner_before_saves_while_a_partition_is_taken_over_makes_no_database_older() -> None:
    voice, deliveries = Voice(), OwnerThatGoesOn()

    async with town("call") as place:
        await place.append(*(command_of("call", number) for number in range(1, 4)))
        async with running(place, call_channel(voice), deliveries, reached=deliveries):
            outcomes = dict(await place.outcome(3))

    assert deliveries.born_at == EPOCH, "no new incarnation: nobody restored an older copy"
    assert outcomes == {f"command-{number}": "connected_human" for number in range(1, 4)}


async def test_two_gateways_on_one_partition_never_both_act() -> None:
    voice, deliveries = Voice(), MemoryDeliveries()

    async with (
        town("call") as place,
        running(place, call_channel(voice), deliveries),
        running(place, call_channel(voice), deliveries),
    ):
        await place.append(*(command_of("call", number) for number in range(1, 101)))
        outcomes = await place.outcome(100)

    assert len(voice.asked) == len(set(voice.asked)) == 100
    assert {command for command, _ in outcomes} == set(voice.asked)


async def test_a_partition_that_is_taken_away_is_left_and_one_that_is_given_is_begun() -> None:
    voice = Voice()

    async with town("call", partitions=2) as place, running(place, call_channel(voice), MemoryDeliveries()) as gateway:
        gateway.assign({1})
        await asyncio.sleep(0.2)
        await place.append(command_of("call", 1), partition=0)
        await place.append(command_of("call", 2), partition=1)
        await place.outcome()
        meanwhile = list(voice.asked)
        gateway.assign({0, 1})
        await place.outcome(2)

    assert (meanwhile, voice.asked) == (["command-2"], ["command-2", "command-1"])


async def test_an_order_that_waits_at_the_gate_when_its_partition_goes_is_given_back() -> None:
    voice, deliveries = Voice(), MemoryDeliveries()

    async with town("call") as place:
        far = FarEndLog(place.log)
        async with running(place, call_channel(voice), deliveries, log=far) as gateway:
            await place.append(command_of("call"))
            claimed = len(await until(lambda: dict(deliveries.rows)))
            gateway.assign(())
            left = await until(lambda: len(deliveries.rows), lambda count: count == 0)
        async with running(place, call_channel(voice), deliveries):
            outcomes = await place.outcome()

    assert (claimed, left, outcomes) == (1, 0, [("command-1", "connected_human")])


async def test_an_order_whose_partition_moves_while_the_database_is_away_is_carried_out_by_the_next_owner() -> None:
    voice, memory = Voice(), MemoryDeliveries()
    deliveries = AbsentDeliveries(memory)
    deliveries.away = False

    async with town("call") as place:
        far = FarEndLog(place.log)
        async with running(place, call_channel(voice), deliveries, log=far) as gateway:
            await place.append(command_of("call"))
            await until(lambda: memory.rows)
            deliveries.away = True
            gateway.assign(())
            await until(lambda: "release" in deliveries.refused)
            deliveries.away = False
            async with running(place, call_channel(voice), memory):
                outcomes = await place.outcome()

    assert outcomes == [("command-1", "connected_human")]


async def test_a_claim_that_nobody_works_on_is_not_renewed() -> None:
    memory = MemoryDeliveries()
    memory.rows["left"] = {"claimant": "?", "claim_id": "left", "until": 30, "taken_over": False, "outcome": None}
    memory.rows["left"]["posted"] = False
    voice = Voice()
    voice.gates["command-1"] = asyncio.Event()

    async with town("call") as place, running(place, call_channel(voice), memory, clock=QuickClock()):
        await place.append(command_of("call"))
        await until(lambda: voice.asked)
        memory.rows["left"]["claimant"] = memory.rows["command-1"]["claimant"]
        memory.wall += 20
        await until(lambda: memory.rows["command-1"]["until"] >= 50)
        voice.gates["command-1"].set()
        await place.outcome()

    assert memory.rows["left"]["until"] == 30


async def test_a_claim_that_is_being_made_when_its_gateway_stops_is_taken_back() -> None:
    voice, memory = Voice(), MemoryDeliveries()
    deliveries = LateDeliveries(memory, "claim")
    deliveries.after.set()

    async with town("call") as place:
        async with running(place, call_channel(voice), deliveries, drain_seconds=WAIT_SECONDS) as gateway:
            await place.append(command_of("call"))
            await deliveries.asked.wait()
            gateway.stop()
            await asyncio.sleep(0)
            deliveries.before.set()

        assert memory.rows == {}
        assert voice.asked == []


async def test_a_gateway_that_stops_while_the_database_is_away_waits_a_moment_for_its_claims_and_no_longer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("adapters.gateway.gateway.SHUTDOWN_SECONDS", 0.05)
    voice, deliveries = Voice(), LateDeliveries(MemoryDeliveries(), "claim")

    async with town("call") as place, asyncio.timeout(WAIT_SECONDS):
        async with running(place, call_channel(voice), deliveries, drain_seconds=10 * WAIT_SECONDS) as gateway:
            await place.append(command_of("call"))
            await deliveries.asked.wait()
            gateway.stop()

        assert voice.asked == []


async def test_a_gateway_that_stood_still_behind_its_claim_does_not_act_on_what_others_took_over() -> None:
    voice, memory, clock = Voice(), MemoryDeliveries(), QuickClock()
    deliveries = LateDeliveries(memory, "claim")
    deliveries.before.set()

    async with town("call") as place:
        async with running(place, call_channel(voice), deliveries, clock=clock):
            await place.append(command_of("call"))
            await deliveries.answered.wait()
            clock.goes.clear()
            memory.wall += 40
            clock.seconds += 40
            async with running(place, call_channel(Voice()), memory):
                await place.outcome()
            clock.goes.set()
            deliveries.after.set()
            await until(lambda: deliveries.answers >= 2)
        outcomes = await place.outcomes()

    assert voice.asked == []
    assert outcomes == [("command-1", "unknown")]


async def test_a_gateway_that_stood_still_behind_its_claim_goes_on_where_nobody_took_it_over() -> None:
    voice, memory, clock = Voice(), MemoryDeliveries(), QuickClock()
    deliveries = LateDeliveries(memory, "claim")
    deliveries.before.set()

    async with town("call") as place, running(place, call_channel(voice), deliveries, clock=clock):
        await place.append(command_of("call"))
        await deliveries.answered.wait()
        clock.goes.clear()
        memory.wall += 40
        clock.seconds += 40
        clock.goes.set()
        deliveries.after.set()
        outcomes = await place.outcome()

    assert voice.asked == ["command-1"]
    assert outcomes == [("command-1", "connected_human")]


async def test_a_database_that_is_away_is_waited_for_and_named() -> None:
    voice, deliveries = Voice(), AbsentDeliveries(MemoryDeliveries())

    async with town("call") as place, running(place, call_channel(voice), deliveries) as gateway:
        await place.append(command_of("call"))
        problems = await until(gateway.problems, lambda found: "database" in found)
        deliveries.away = False
        await place.outcome()
        healed = await until(gateway.problems, lambda found: not found)

        assert problems == {"database": "the database is away", "partition 0": READING_PROGRESS}
        assert healed == {}

    assert voice.asked == ["command-1"]


async def test_an_outage_is_described_in_the_words_of_the_process() -> None:
    deliveries = AbsentDeliveries(MemoryDeliveries())

    async with (
        town("call") as place,
        running(place, call_channel(Voice()), deliveries, describe="described: {}".format) as gateway,
    ):
        await place.append(command_of("call"))
        problems = await until(gateway.problems, lambda found: "database" in found)
        deliveries.away = False
        await place.outcome()

    assert problems["database"] == "described: the database is away"


async def test_commands_of_a_topic_that_was_made_again_are_given_to_nobody_until_that_is_settled() -> None:
    voice, made = Voice(), {"commands.call": "the id of the lost one"}

    async with (
        town("call") as place,
        running(place, call_channel(voice), MemoryDeliveries(), made_topics=lambda: made) as gateway,
    ):
        await place.append(command_of("call"))
        problems = await until(gateway.problems, lambda found: "made again" in " ".join(found.values()))
        given_meanwhile = len(voice.asked)
        made["commands.call"] = await place.log.topic_id(place.topic)
        await place.outcome()

    assert "leadclock recover" in " ".join(problems.values())
    assert given_meanwhile == 0


async def test_each_partition_whose_orders_wait_for_the_database_is_named() -> None:
    voice, deliveries = Voice(), AbsentDeliveries(MemoryDeliveries())
    deliveries.away = False

    async with town("call", 3) as place, running(place, call_channel(voice), deliveries) as gateway:
        assert await until(gateway.problems, lambda found: not found) == {}
        deliveries.away = True
        await place.append(command_of("call"), partition=1)
        problems = await until(gateway.problems, lambda found: "partition 1" in found)
        deliveries.away = False
        await place.outcome()

    assert sorted(problems) == ["database", "partition 1"]
    assert problems["partition 1"].startswith("waits for the database, with ")


async def test_the_lag_of_a_gateway_counts_what_was_not_fetched() -> None:
    metrics = Metrics()

    async with town("call") as place:
        await place.append(*(command_of("call", number) for number in range(1, 8)))
        end = len(await place.records(place.topic)) + 1  # the end of their transaction is a record, too
        silent = running(place, call_channel(Voice()), MemoryDeliveries(), metrics=metrics, log=SilentLog(place.log))
        async with silent:
            await until(lambda: f'partition="0",topic="{place.topic}"}} {end}.0' in metrics.text().decode())
            exposed = metrics.text().decode()

    assert f'leadclock_lag_records{{partition="0",topic="{place.topic}"}} {end}.0' in exposed


async def test_the_trace_of_an_order_goes_on_in_its_outcome() -> None:
    trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

    async with town("sms") as place, running(place, sms_channel(Sms()), MemoryDeliveries()):
        owner = await place.log.own("contacts.requests", 0)
        await owner.commit(
            [
                Outgoing(
                    place.topic,
                    command_of("sms").contact_key.encode(),
                    to_json(command_of("sms")),
                    (("traceparent", trace.encode()), ("ce_decision", b"1:1")),
                )
            ]
        )
        await place.outcome()
        records = await place.records()

    assert from_headers(records[0].headers).traceparent == trace
    assert body(records[0])["outcome"] == "delivered"
