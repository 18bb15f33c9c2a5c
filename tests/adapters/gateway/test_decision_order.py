"""Is a command refused that was decided below one before it, and no other, however often and in which order it is read?"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.gateway.channels import call_channel, email_channel, webhook_channel
from adapters.gateway.decision_order import DecisionOrder
from adapters.gateway.ports import SavedProgress
from adapters.observability.metrics import Metrics
from engine.partition.deadletters import ORIGIN
from engine.partition.ports import Outgoing
from schemas.envelope import DecisionNumber, EnvelopeError, emitted_by
from schemas.topics import DEADLETTER
from schemas.wire import to_json
from tests.adapters.gateway.providers import Email, Voice, Webhook
from tests.adapters.gateway.world import MemoryDeliveries, command_of, fence_of, keys_of, running, town, until

NUMBERS = st.lists(st.builds(DecisionNumber, st.integers(1, 3), st.integers(1, 6)), max_size=30)


def judged(numbers: list[DecisionNumber]) -> list[bool]:
    """The plain model: nothing before it is higher."""
    return [all(number >= before for before in numbers[:index]) for index, number in enumerate(numbers)]


@given(numbers=NUMBERS, data=st.data())
def test_a_record_is_judged_by_its_offset_alone_also_when_it_is_read_again_after_a_restart(
    numbers: list[DecisionNumber], data: st.DataObject
) -> None:
    wanted, order, saved_offset, seen = judged(numbers), DecisionOrder(SavedProgress()), 0, 0
    for _ in range(data.draw(st.integers(1, 4))):
        end = data.draw(st.integers(seen, len(numbers)))
        for offset in range(data.draw(st.integers(saved_offset, seen)), end):  # sought back, then on
            assert order.admit(offset, numbers[offset]) == wanted[offset]
        seen = max(seen, end)
        saved_offset = data.draw(st.integers(saved_offset, seen))
        saved = order.saved_at(saved_offset)
        assert saved.newest == max(numbers[:saved_offset], default=DecisionNumber())
        if data.draw(st.booleans()):  # a take-over knows what was saved, and reads from there
            order, seen = DecisionOrder(saved), saved_offset


def test_what_was_refused_is_counted_until_a_new_epoch_begins() -> None:
    order = DecisionOrder(SavedProgress())
    for offset, number in enumerate([(1, 9), (1, 2), (1, 3), (1, 9), (1, 4)]):
        order.admit(offset, DecisionNumber(*number))
    assert [order.saved_at(watermark).refused for watermark in (1, 2, 3, 5)] == [0, 1, 2, 3]
    assert order.admit(5, DecisionNumber(2, 1))
    assert order.saved_at(6) == SavedProgress(6, DecisionNumber(2, 1), 0)


@pytest.mark.parametrize("headers", [(), (("ce_decision", b"7"),), (("ce_decision", b"1:x"),), (("ce_id", b"1:7"),)])
def test_a_record_that_does_not_say_which_decision_emitted_it_is_none_of_ours(
    headers: tuple[tuple[str, bytes], ...],
) -> None:
    with pytest.raises(EnvelopeError, match="ce_decision"):
        emitted_by(headers)
    assert emitted_by((("ce_decision", b"2:71"),)) == DecisionNumber(2, 71)


async def test_a_call_that_was_decided_again_by_a_lost_state_is_unknown_and_counted_and_a_new_epoch_goes_on() -> None:
    voice, deliveries, metrics = Voice(), MemoryDeliveries(), Metrics()
    async with town("call") as place, running(place, call_channel(voice), deliveries, metrics=metrics):
        await place.append(command_of("call", 1), number=DecisionNumber(1, 50))
        await place.append(command_of("call", 2), number=DecisionNumber(1, 3))
        await place.append(command_of("call", 3), number=DecisionNumber(1, 4))
        await place.append(command_of("call", 4), number=DecisionNumber(2, 1))
        outcomes = dict(await place.outcome(4))
        await until(lambda: deliveries.saved.get((place.topic, 0), ("", SavedProgress()))[1].offset > 3)

    assert sorted(voice.asked) == ["command-1", "command-4"]
    assert {outcomes["command-2"], outcomes["command-3"]} == {"unknown"}
    assert 'leadclock_commands_out_of_order_total{kind="call"} 2.0' in metrics.text().decode()
    assert deliveries.saved[place.topic, 0][1].newest == DecisionNumber(2, 1)


@pytest.mark.parametrize("kind", ["email", "webhook"])
async def test_what_may_be_repeated_after_a_crash_is_refused_as_well_where_it_was_decided_again(kind: str) -> None:
    provider = Email() if kind == "email" else Webhook()
    channel = email_channel(provider) if kind == "email" else webhook_channel(provider)  # type: ignore[arg-type]
    async with town(kind) as place, running(place, channel, MemoryDeliveries()):  # type: ignore[arg-type]
        await place.append(command_of(kind, 1), number=DecisionNumber(1, 50))  # type: ignore[arg-type]
        await place.append(command_of(kind, 2), number=DecisionNumber(1, 3))  # type: ignore[arg-type]
        assert ("command-2", "unknown") in await place.outcome(2)


async def test_a_restart_remembers_the_highest_decision_and_reads_the_rest_again() -> None:
    voice, deliveries = Voice(), MemoryDeliveries()
    async with town("call") as place:
        async with running(place, call_channel(voice), deliveries):
            await place.append(command_of("call", 1), number=DecisionNumber(1, 50))
            await until(lambda: deliveries.saved.get((place.topic, 0), ("", SavedProgress()))[1].newest.sequence == 50)
        async with running(place, call_channel(voice), deliveries):
            await place.append(command_of("call", 2), number=DecisionNumber(1, 49))
            await place.append(command_of("call", 3), number=DecisionNumber(1, 51))
            outcomes = dict(await place.outcome(3))
    assert outcomes["command-2"] == "unknown"
    assert sorted(voice.asked) == ["command-1", "command-3"]


async def test_what_only_stops_is_obeyed_and_keys_of_a_lost_state_are_not_pressed() -> None:
    voice, call = Voice(), command_of("call", 1)
    async with town("call") as place:
        await place.append(command_of("call", 9), number=DecisionNumber(1, 50))
        await place.append(keys_of(call, "1"), number=DecisionNumber(1, 2))
        await place.append(command_of("call", 2), number=DecisionNumber(1, 50))
        await place.append(fence_of(command_of("call", 2)), number=DecisionNumber(1, 3))
        async with running(place, call_channel(voice), MemoryDeliveries()):
            outcomes = dict(await place.outcome(2))
    assert outcomes["command-2"] == "rejected_at_gate"
    assert voice.pressed == []


async def test_a_command_without_a_decision_is_a_dead_letter_and_one_that_an_operator_sent_again_is_carried_out() -> None:
    voice = Voice()
    async with town("call") as place, running(place, call_channel(voice), MemoryDeliveries()):
        await place.append(command_of("call", 1), number=DecisionNumber(1, 50))
        owner = await place.log.own("contacts.requests", 0)
        bare, again = command_of("call", 2), command_of("call", 3)
        await owner.commit(
            [
                Outgoing(place.topic, bare.contact_key.encode(), to_json(bare)),
                Outgoing(
                    place.topic, again.contact_key.encode(), to_json(again), ((ORIGIN, b"0:7"), ("ce_decision", b"1:3"))
                ),
            ]
        )
        await place.outcome(2)
        (letter,) = await place.records(DEADLETTER.name)
    assert dict(letter.headers)["dl_code"] == b"malformed_envelope"
    assert sorted(voice.asked) == ["command-1", "command-3"]
