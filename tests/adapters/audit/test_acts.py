"""Does the auditor find what acts and was never decided, with the right cause? On real partitions of the embedded log."""

from collections.abc import Callable

import msgspec
import pytest

from adapters.audit.difference import Checked, Difference, first_cause
from adapters.audit.heads import ChainHead, read_heads
from adapters.audit.outcomes import SeenOutcomes
from adapters.audit.verify import Verified, verify
from engine.account.aggregate import AccountAggregate
from engine.contact.aggregate import ContactAggregate
from engine.partition.aggregate import Aggregate
from engine.partition.ports import LogRecord
from engine.partition.runner import TopicNames
from schemas.envelope import emitted_by
from schemas.requests import OutcomeRecorded
from schemas.topics import COMMAND_TOPICS
from tests.adapters.audit.test_verify import AT, KEY, RecordedRun

AGGREGATES: tuple[Aggregate, ...] = (AccountAggregate(), ContactAggregate())


@pytest.fixture
async def run() -> RecordedRun:
    run = await RecordedRun().build()
    await run.close()
    return run


async def verified(run: RecordedRun, heads: tuple[ChainHead, ...] = ()) -> tuple[list[Verified], Checked]:
    seen = SeenOutcomes()
    results = []
    for aggregate in AGGREGATES:
        is_contact = isinstance(aggregate, ContactAggregate)
        own = [one for one in heads if one.topic == aggregate.decisions_topic.name]
        feed = run.rules if is_contact else None
        results.append(await verify(run.log, TopicNames(), aggregate, 0, feed, seen=seen if is_contact else None, heads=own))
    return results, seen.check()


async def cause_in(run: RecordedRun, heads: tuple[ChainHead, ...] = ()) -> Difference:
    results, outcomes = await verified(run, heads)
    found = first_cause(*(one.difference for one in results), outcomes.difference)
    assert found is not None
    return found


def records(run: RecordedRun, topic: str) -> list[LogRecord]:
    return run.log.partition(topic, 0).records


def place(run: RecordedRun, topic: str, key: bytes) -> int:
    """Return the place of the newest record of a key."""
    return max(place for place, one in enumerate(records(run, topic)) if (one.key or b"").startswith(key))


def change(run: RecordedRun, topic: str, where: int, edit: Callable[[bytes], bytes | None]) -> None:
    """Alter a record where it is, as somebody with the disks of a broker can."""
    one = records(run, topic)[where]
    value = edit(one.value or b"")
    assert value != one.value
    records(run, topic)[where] = msgspec.structs.replace(one, value=value)


def append(run: RecordedRun, topic: str, like: LogRecord, **fields: object) -> None:
    """Append a record, as anybody with a login of the broker can."""
    some = records(run, topic)
    some.append(msgspec.structs.replace(like, offset=some[-1].offset + 1, **fields))


async def test_an_honest_log_has_no_difference_and_says_what_was_looked_at(run: RecordedRun) -> None:
    (accounts, contacts), outcomes = await verified(run)
    assert (accounts.difference, contacts.difference, outcomes.difference) == (None, None, None)
    rules = [one for one in records(run, "accounts.rules") if not (one.key or b"").startswith(b"deployment/")]
    assert accounts.acts == Checked(looked_at=len(rules))
    assert contacts.acts.looked_at == sum(len(records(run, topic.name)) for topic in COMMAND_TOPICS.values()) > 0
    assert accounts.state.looked_at >= accounts.keys > 0
    assert contacts.state.looked_at >= contacts.keys > 0


def a_schedule_nobody_published(run: RecordedRun) -> None:
    one = records(run, "accounts.rules")[place(run, "accounts.rules", b"schedule/")]
    key = (one.key or b"").replace(b"@1", b"@2")
    value = (one.value or b"").replace(b"Hello", b"FORGED").replace(b'"version":1', b'"version":2')
    append(run, "accounts.rules", one, key=key, value=value)


def a_second_body_of_a_version(run: RecordedRun) -> None:
    one = records(run, "accounts.rules")[place(run, "accounts.rules", b"schedule/")]
    append(run, "accounts.rules", one, value=(one.value or b"").replace(b"Hello", b"FORGED"))


def a_rule_altered_where_it_is(run: RecordedRun) -> None:
    change(run, "accounts.rules", place(run, "accounts.rules", b"schedule/"), lambda v: v.replace(b"Hello", b"FORGED"))


def a_rule_that_is_gone(run: RecordedRun) -> None:
    del records(run, "accounts.rules")[place(run, "accounts.rules", b"offer/")]


def a_command_altered(run: RecordedRun) -> None:
    change(run, "commands.sms", 0, lambda value: value.replace(b"Hello", b"You owe us money"))


def a_command_nobody_emitted(run: RecordedRun) -> None:
    one = records(run, "commands.sms")[-1]
    headers = tuple((name, b"another" if name == "ce_id" else value) for name, value in one.headers)
    append(run, "commands.sms", one, headers=headers)


def a_command_without_a_decision(run: RecordedRun) -> None:
    append(run, "commands.sms", records(run, "commands.sms")[0], headers=())


def a_command_sent_again(run: RecordedRun) -> None:
    append(run, "commands.sms", records(run, "commands.sms")[-1])


def a_command_that_is_gone(run: RecordedRun) -> None:
    del records(run, "commands.sms")[0]


def an_older_head_put_back(run: RecordedRun) -> None:
    some = [one for one in records(run, "contacts.state") if (one.key or b"").startswith(b"head/")]
    assert some[0].value != some[-1].value
    append(run, "contacts.state", some[0])


def a_value_removed(run: RecordedRun) -> None:
    append(run, "contacts.state", records(run, "contacts.state")[place(run, "contacts.state", b"lead/")], value=None)


def a_value_added(run: RecordedRun) -> None:
    one = records(run, "contacts.state")[place(run, "contacts.state", b"lead/")]
    append(run, "contacts.state", one, key=b"lead/4711")


def a_message_nobody_sent(run: RecordedRun) -> None:
    value = msgspec.msgpack.encode({"number": 9, "topic": "contacts.requests", "key": KEY, "type": "t", "body": b"{}"})
    append(run, "contacts.state", records(run, "contacts.state")[-1], key=b"__outbox__/9", value=value)


def a_message_without_a_number(run: RecordedRun) -> None:
    append(run, "contacts.state", records(run, "contacts.state")[-1], key=b"__outbox__/x", value=b"{}")


def a_position_that_gives_ids_again(run: RecordedRun) -> None:
    one = records(run, "contacts.state")[place(run, "contacts.state", b"__position__")]
    position = msgspec.msgpack.decode(one.value or b"")
    append(run, "contacts.state", one, value=msgspec.msgpack.encode({**position, "ids": 0}))


def a_request_altered(run: RecordedRun) -> None:
    change(run, "contacts.requests", 0, lambda value: value.replace(b"York", b"Pork"))


@pytest.mark.parametrize(
    ("alter", "cause", "topic", "what"),
    [
        (a_schedule_nobody_published, "rule", "accounts.rules", "no decision has published this rule"),
        (a_second_body_of_a_version, "rule", "accounts.rules", "this is not the version that was decided"),
        (a_rule_altered_where_it_is, "rule", "accounts.rules", "this is not the version that was decided"),
        (a_rule_that_is_gone, "rule", "accounts.rules", "what was decided is not on the topic: the rule is missing"),
        (a_command_altered, "command", "commands.sms", "this is not the command that was decided"),
        (a_command_nobody_emitted, "command", "commands.sms", "no decision has emitted this command"),
        (a_command_without_a_decision, "command", "commands.sms", "no decision has emitted this command: the record has"),
        (a_command_sent_again, "command", "commands.sms", "this command is there more often than it was decided"),
        (an_older_head_put_back, "state", "contacts.state", "this is not the value that was decided"),
        (a_value_removed, "state", "contacts.state", "a value that was decided is missing"),
        (a_value_added, "state", "contacts.state", "no decision has set this value"),
        (a_message_nobody_sent, "state", "contacts.state", "no decision has sent this message"),
        (a_message_without_a_number, "state", "contacts.state", "no decision has set this value"),
        (a_position_that_gives_ids_again, "state", "contacts.state", "the position differs from the fold at ids"),
        (a_request_altered, "request", "contacts.decisions", "the input was changed"),
    ],
    ids=lambda value: value.__name__ if callable(value) else "",
)
async def test_what_was_not_decided_is_found_with_its_cause(
    run: RecordedRun, alter: Callable[[RecordedRun], None], cause: str, topic: str, what: str
) -> None:
    alter(run)
    found = await cause_in(run)
    assert (found.cause, found.topic, found.what[: len(what)]) == (cause, topic, what)


async def test_a_forged_rule_is_blamed_and_not_the_decisions_that_adopted_it(run: RecordedRun) -> None:
    a_rule_altered_where_it_is(run)
    run.rules._entries = [
        (number, msgspec.structs.replace(one, body={**one.body, "name": "forged"}) if one.type == "schedule" else one)
        for number, one in run.rules._entries
    ]
    assert (await cause_in(run)).cause == "rule"


async def test_records_that_nobody_acts_on_are_counted_and_are_no_difference(run: RecordedRun) -> None:
    append(run, "accounts.rules", records(run, "accounts.rules")[-1], key=b"company/1@9", value=b"{")
    append(run, "contacts.state", records(run, "contacts.state")[-1], key=b"company/1@9", value=b"{")
    (accounts, contacts), _ = await verified(run)
    assert (accounts.difference, accounts.acts.foreign) == (None, 1)
    assert (contacts.difference, contacts.state.foreign) == (None, 1)


async def test_a_command_that_is_gone_is_named_and_the_log_is_not_whole(run: RecordedRun) -> None:
    a_command_that_is_gone(run)
    (_, contacts), _ = await verified(run)
    assert (contacts.difference, contacts.is_whole, contacts.acts.missing) == (None, False, 1)
    assert contacts.acts.first_missing.startswith("commands.sms[0] ")


async def test_commands_that_retention_deleted_are_counted_as_not_looked_at(run: RecordedRun) -> None:
    count = len(records(run, "commands.sms"))
    await run.log.delete_records("commands.sms", 0, before=records(run, "commands.sms")[-1].offset + 1)
    (_, contacts), _ = await verified(run)
    assert contacts.difference is None
    assert contacts.acts.not_looked_at == count


async def test_a_log_that_was_rewritten_to_an_earlier_end_is_found_by_a_head_that_was_kept(run: RecordedRun) -> None:
    heads = await read_heads(run.log, TopicNames(), AGGREGATES)
    (_, contacts), _ = await verified(run, heads)
    assert (contacts.difference, contacts.heads) == (None, Checked(looked_at=1))

    decisions = records(run, "contacts.decisions")
    kept = records(run, "contacts.state")[-1]
    positions = [place for place, one in enumerate(records(run, "contacts.state")) if one.key == kept.key]
    del records(run, "contacts.state")[positions[-2] + 1 :]
    position = msgspec.msgpack.decode(records(run, "contacts.state")[-1].value or b"")
    del decisions[position["sequence"] :]
    del records(run, "contacts.requests")[position["input_offset"] :]
    for topic in COMMAND_TOPICS.values():
        some = records(run, topic.name)
        some[:] = [one for one in some if emitted_by(one.headers).sequence <= position["sequence"]]

    (_, contacts), _ = await verified(run)
    assert contacts.difference is None, "nothing inside the log shows that its tail was cut"
    found = await cause_in(run, heads)
    assert (found.topic, found.what) == ("contacts.decisions", "the log ends before a head that was kept")

    other = tuple(msgspec.structs.replace(one, sequence=1, digest="0" * 64) for one in heads)
    assert (await cause_in(run, other)).what == "a head that was kept is not on the chain"


@pytest.mark.parametrize("is_forged", [False, True])
async def test_an_outcome_of_a_command_that_nobody_emitted_is_found(*, is_forged: bool) -> None:
    run = await RecordedRun().build()
    key = records(run, "contacts.state")[place(run, "contacts.state", b"lead/")].key or b""
    emitted = next(value.decode() for name, value in records(run, "commands.sms")[0].headers if name == "ce_id")
    outcome = OutcomeRecorded(
        company_id=1,
        contact_key=KEY,
        lead_id=int(key.split(b"/")[1]),
        command_id="forged" if is_forged else emitted,
        kind="sms",
        outcome="delivered",
        occurred_at=AT,
    )
    await run.ask("contacts.requests", KEY, outcome)
    await run.contacts.cycle()
    await run.close()
    _, outcomes = await verified(run)
    assert outcomes.looked_at == 1
    if is_forged:
        found = await cause_in(run)
        assert (found.cause, found.topic, found.key) == ("outcome", "contacts.requests", "forged")
    else:
        assert outcomes.difference is None
