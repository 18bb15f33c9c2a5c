"""Which invariants hold? Everything is read from the log, and from state that is left, at the end of a run."""

from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import TYPE_CHECKING

import msgspec

from adapters.audit.verify import verify
from adapters.partitions.feed import RulesTopic
from adapters.postgres.tables import TABLES
from adapters.projector.batch import OffsetRange, build_batch
from engine import limits
from engine.account.aggregate import AccountAggregate
from engine.contact.aggregate import ContactAggregate
from engine.limits import DEAD_LETTER_BYTES_MAX, RECORD_BYTES_MAX
from engine.partition.deadletters import record_bytes
from engine.partition.runner import Runner, TopicNames
from engine.partition.state import unpack_any
from schemas.contact import Lead, Part
from schemas.decisions import REMOVED, Decision, Position
from schemas.instant import EPOCH
from schemas.state import ENTITIES, OWN_PREFIX, POSITION_KEY, part_key
from schemas.topics import CONTACTS_REQUESTS, DEADLETTER, LEADS_INBOX, TOPICS
from schemas.wire import digest, from_json, from_pack, to_json, to_pack
from tests.adapters.projector.memory import MemoryStore
from tests.adapters.projector.tables import of_memory
from tests.contact_ids import SHAPES
from tests.simulation.caps import caps_in
from tests.simulation.decided import Decided, all_records_of, decided_in, envelope_of, records_of
from tests.simulation.ends import ends_in, flights_in, leases_in
from tests.simulation.holds import holds_in
from tests.simulation.late_outcomes import corrections_in, last_outcomes_in, plans_in
from tests.simulation.people import (
    attempts_in,
    commands_in,
    hours_in,
    opt_outs_in,
    outcomes_that_opt_out_in,
    recalls_in,
    slots_in,
    stops_in,
    timers_in,
    turns_in,
)

if TYPE_CHECKING:
    from tests.simulation.run import World

FINDINGS_MAX = 20

AHEAD_SECONDS_MAX = 90.0
"""Of wall time: one clock may be wrong by 30 s, a partition 30 s ahead of the next clock, and to ask a broker for its time
takes as long as a process may stand still."""


class Findings:
    """What was found, in words, and some numbers about the run."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.decisions = 0
        self.commands = 0
        self.digest = ""

    def add(self, *texts: str) -> None:
        self.texts += texts[: max(0, FINDINGS_MAX - len(self.texts))]


async def check(world: "World", findings: Findings) -> None:
    """Check everything."""
    contacts = [decided_in(world, ContactAggregate(), partition) for partition in range(world.partitions)]
    accounts = [decided_in(world, AccountAggregate(), partition) for partition in range(world.partitions)]
    everything = contacts + accounts
    findings.decisions = sum(len(one.decisions) for one in everything)
    findings.commands = sum(len(decision.commands) for one in contacts for decision in one.decisions)
    findings.add(*world.cluster.faults())
    if not findings.texts:  # else something is still under way
        for decided in everything:
            findings.add(*_memory(world, decided))
        if world.is_shown_whole:
            findings.add(*await _projection(world, everything))
        findings.add(*ends_in(world))
    for decided in everything:
        findings.add(*_verdicts(decided))
        findings.add(*_inputs(world, decided))
        findings.add(*await _audit(world, decided))
    findings.add(*_requests(world, everything))
    findings.add(*_messages(world, everything))
    findings.add(*commands_in(world, contacts))
    if world.has_all_requests:
        findings.add(*_dead_letters(world, everything))
    findings.add(*_sizes(world))
    findings.add(*_bookmarks(world))
    findings.add(*leases_in(world))
    findings.add(*flights_in(contacts))
    findings.add(*attempts_in(world, contacts))
    findings.add(*opt_outs_in(world, contacts))
    findings.add(*stops_in(world, contacts))
    findings.add(*outcomes_that_opt_out_in(world, contacts))
    findings.add(*recalls_in(contacts))
    findings.add(*slots_in(accounts))
    findings.add(*caps_in(world, accounts))
    findings.add(*hours_in(contacts, world))
    findings.add(*holds_in(world, contacts))
    findings.add(*last_outcomes_in(contacts))
    findings.add(*corrections_in(contacts))
    findings.add(*plans_in(contacts))
    for decided in contacts:
        findings.add(*_dispatches(world, decided))
    findings.add(*timers_in(contacts))
    findings.add(*places_in(contacts))
    findings.add(*turns_in(contacts))
    findings.digest = digest(b"".join(record.value or b"" for one in everything for record in one.records))


def places_in(contacts: list[Decided]) -> Iterator[str]:
    """On no channel of a partition are more commands open than may be."""
    for decided in contacts:
        channel_of: dict[str, str] = {}
        open_on: Counter[str] = Counter()
        for decision in decided.decisions:
            for change in decision.changes:
                if not change.key.startswith("lead/"):
                    continue
                lead = None if change.value == REMOVED else from_json(bytes(change.value), Lead)
                before = channel_of.pop(change.key, None)
                if before is not None:
                    open_on[before] -= 1
                if lead is not None and lead.flight is not None:
                    channel_of[change.key] = lead.flight.kind
                    open_on[lead.flight.kind] += 1
            for channel, count in open_on.items():
                if count > limits.OPEN_COMMANDS_MAX:
                    yield f"{decided.name} #{decision.sequence} has {count} commands open on {channel}"


# -- one decision per input --------------------------------------------------------------------------------------------


def _verdicts(decided: Decided) -> Iterator[str]:
    """No decision fails, and time does not go back."""
    before = EPOCH
    for decision in decided.decisions:
        if decision.verdict == "failed":
            yield f"{decided.name} #{decision.sequence} failed: {decision.error} on {decision.cause}"
        if decision.decided_at < before:
            yield f"{decided.name} #{decision.sequence} was decided before the one before it"
        before = decision.decided_at


def _dispatches(world: "World", decided: Decided) -> Iterator[str]:
    """Nothing is dispatched while domain time is ahead: by a wrong clock, or after one took the partition there."""
    for record, decision in zip(decided.records, decided.decisions, strict=True):
        ahead = decision.decided_at - world.era.was_at(record.appended_at + 1)  # milliseconds are cut off
        if ahead > AHEAD_SECONDS_MAX * 1000 * world.era.speed_max and _orders(decision):
            yield f"{decided.name} #{decision.sequence} dispatches {ahead / 1000:.0f} s ahead of the right domain time"


def _orders(decision: Decision) -> bool:
    return any(not emitted.id.startswith("fence/") for emitted in decision.commands)


def _inputs(world: "World", decided: Decided) -> Iterator[str]:
    """Every record of the requests topic has one decision, in the order of the log."""
    offsets = [one.cause.offset or 0 for one in decided.decisions if one.cause.kind == "request"]
    there = [record.offset for record in records_of(world, decided.aggregate.requests_topic.name, decided.partition)]
    if offsets != there:
        missing, extra = Counter(there) - Counter(offsets), Counter(offsets) - Counter(there)
        yield f"{decided.name}: inputs without decision {sorted(missing)}, decided too often {sorted(extra)}"


def _requests(world: "World", everything: list[Decided]) -> Iterator[str]:
    """However often a request was sent, it is carried out once; and nothing that was accepted is without a decision."""
    verdicts: dict[str, list[str]] = defaultdict(list)
    for decided in everything:
        for decision in decided.decisions:
            if decision.cause.id is not None:
                # What is asked again may be answered again, as it was, and changes nothing.
                extra = {} if decision.answer is None else decision.answer.extra
                is_repeat = bool(extra.get("repeated")) and not decision.changes
                verdicts[decision.cause.id].append("repeated" if is_repeat else decision.verdict)
    for request_id in world.traffic.accepted:
        if not verdicts[request_id]:
            yield f"{request_id} was accepted and never decided"
        if verdicts[request_id].count("done") > 1:
            yield f"{request_id} was carried out more than once: {verdicts[request_id]}"


def _messages(world: "World", everything: list[Decided]) -> Iterator[str]:
    """Every message that was decided arrives, and is carried out once, in the order of its stream."""
    taken = list(_taken(world, everything))
    times = Counter((stream, number) for stream, number, _ in taken)
    for decided in everything:
        topic_id = world.first_ids[decided.aggregate.state_topic.name]
        stream = f"{decided.aggregate.state_topic.name}/{topic_id}/{decided.partition}"
        for sent in (sent for decision in decided.decisions for sent in decision.messages):
            found = times[stream, sent.number]
            if found != 1:
                yield f"{decided.name}: message {sent.number} ({sent.type}) was carried out {found} times"
    numbers: dict[tuple[str, str], list[int]] = defaultdict(list)
    for stream, number, where in taken:
        numbers[stream, where].append(number)
    for (stream, where), in_order in numbers.items():
        if in_order != sorted(set(in_order)):
            yield f"{stream} was taken out of order in {where}: {in_order}"


def _taken(world: "World", everything: list[Decided]) -> Iterator[tuple[str, int, str]]:
    """Iterate over the numbered requests that were not repeats: stream, number, and where."""
    for decided in everything:
        records = records_of(world, decided.aggregate.requests_topic.name, decided.partition)
        envelopes = {record.offset: envelope_of(record) for record in records}
        for decision in decided.decisions:
            envelope = None if decision.cause.offset is None else envelopes.get(decision.cause.offset)
            if envelope is not None and envelope.stream is not None and decision.verdict != "repeated":
                yield envelope.stream, envelope.number or 0, decided.name


def _dead_letters(world: "World", everything: list[Decided]) -> Iterator[str]:
    """What cannot be read is kept, once, as is what is refused of the inbox, whose sender sees no answer; nothing else."""
    kept = Counter(
        (headers["dl_topic"].decode(), int(headers["dl_partition"]), int(headers.get("dl_offset", b"-1")))
        for record in all_records_of(world, DEADLETTER.name)
        for headers in [dict(record.headers)]
    )
    unreadable = {"malformed_envelope", "unknown_type", "validation_failed", "malformed_json", "wrong_partition"}
    refused = {
        (decided.aggregate.requests_topic.name, decided.partition, decision.cause.offset or 0): decision.answer.code
        for decided in everything
        for decision in decided.decisions
        if decision.answer is not None and decision.verdict == "refused"
    }
    unanswered = {place for place in refused if _is_of_the_inbox(world, *place)}
    of_junk = {place for place, code in refused.items() if code in unreadable}
    if any(times > 1 for times in kept.values()) or not set(kept) <= of_junk | unanswered:
        yield f"dead letters {sorted(kept.items())} are not those of {sorted(of_junk | unanswered)}"
    if len(set(kept) - unanswered) != world.traffic.poison:
        yield f"{world.traffic.poison} records of junk left {len(set(kept) - unanswered)} dead letters"
    if not unanswered <= set(kept):
        yield f"submissions of the inbox were refused and left no dead letters: {sorted(unanswered - set(kept))}"


def _is_of_the_inbox(world: "World", topic: str, partition: int, offset: int) -> bool:
    record = next(record for record in records_of(world, topic, partition) if record.offset == offset)
    envelope = envelope_of(record)
    return envelope is not None and envelope.stream is not None and envelope.stream.startswith(f"{LEADS_INBOX.name}/")


def _bookmarks(world: "World") -> Iterator[str]:
    """No committed offset goes back, whichever members own a partition or believe to own it."""
    for role, group in world.cluster.groups.items():
        yield from (f"the bookmark of {role} {what}" for what in group.went_back)


def _sizes(world: "World") -> Iterator[str]:
    """No record is larger than what may be written, whatever leads and templates hold."""
    for topic in TOPICS:
        most = DEAD_LETTER_BYTES_MAX if topic == DEADLETTER else RECORD_BYTES_MAX
        for record in all_records_of(world, topic.name):
            size = record_bytes(record.key, record.value, record.headers)
            if size > most:
                yield f"{topic.name}[{record.partition}] holds a record of {size} bytes at {record.offset}"


# -- memory ------------------------------------------------------------------------------------------------------------


def _memory(world: "World", decided: Decided) -> Iterator[str]:
    """The runner's memory, the fold of its decisions and the changelog are the same."""
    role = "scheduler" if decided.aggregate.requests_topic is CONTACTS_REQUESTS else "accounts"
    runner = world.cluster.runners(role).get(decided.partition)
    if runner is None:
        yield f"{decided.name} is not open"
        return
    changelog: dict[str, bytes] = {}
    for record in world.log.partition(decided.aggregate.state_topic.name, decided.partition).records:
        key = (record.key or b"").decode(errors="replace")
        if key.partition("/")[0] not in ENTITIES and not key.startswith(OWN_PREFIX):
            continue  # junk
        if record.value is None:
            changelog.pop(key, None)
        else:
            changelog[key] = record.value
    yield from _compared(
        decided, "the fold of the changelog", {k: v for k, v in changelog.items() if not k.startswith("__")}
    )
    yield from _compared(decided, "the memory of the runner", dict(runner.state.items()))
    yield from _positions(decided, runner, changelog.get(POSITION_KEY, to_pack(Position())))


def _compared(decided: Decided, what: str, found: dict[str, bytes]) -> Iterator[str]:
    differing = sorted(key for key in {*found, *decided.fold} if found.get(key) != decided.fold.get(key))
    if differing:
        yield f"{decided.name}: {what} is not the fold of the decisions at {differing[:3]}"


def _positions(decided: Decided, runner: Runner, packed: bytes) -> Iterator[str]:
    position = msgspec.msgpack.decode(packed, type=Position)
    last = decided.decisions[-1].sequence if decided.decisions else 0
    if position.sequence != last or [one.sequence for one in decided.decisions] != list(range(1, last + 1)):
        yield f"{decided.name}: {len(decided.decisions)} decisions up to #{last}, but the position says #{position.sequence}"
    if runner.position != position:
        yield f"{decided.name}: the runner stands at {runner.position}, its changelog at {position}"


async def _audit(world: "World", decided: Decided) -> list[str]:
    """Deciding everything again gives the same bytes, along an unbroken chain."""
    rules = RulesTopic(world.log, TopicNames())
    await rules.refresh()
    feed = rules if decided.aggregate.requests_topic is CONTACTS_REQUESTS else None
    verified = await verify(world.log, TopicNames(), decided.aggregate, decided.partition, feed)
    await rules.close()
    difference = verified.difference
    if difference is None:
        is_whole = world.is_shown_whole and world.has_all_requests
        folded = sum(kind.decisions for kind in verified.folded) if is_whole else 0
        return [f"{decided.name}: {folded} decisions of this code are only folded"] if folded else []
    both = f"{difference.recorded!r} was recorded, {difference.decided!r} is decided"
    return [f"{decided.name} #{difference.sequence} is not verified: {difference.what}: {both}"]


# -- the projection ----------------------------------------------------------------------------------------------------


async def _projection(world: "World", everything: list[Decided]) -> list[str]:
    """The tables are the fold of the decisions, however they were cut, and each row is the value of state."""
    texts = []
    whole = MemoryStore()
    for decided in everything:
        topic = decided.aggregate.decisions_topic.name
        owned = await whole.take(topic, "id", decided.partition)
        if decided.records:
            offset_range = OffsetRange(topic, decided.partition, owned.epoch, 0, decided.records[-1].offset + 1)
            await whole.write(build_batch(decided.records, offset_range, 0, topic=topic, shapes=SHAPES))
    found, wanted = of_memory(world.cluster.store), of_memory(whole)
    for table, rows in wanted.items():
        differing = [key for key in {*rows, *found[table]} if rows.get(key) != found[table].get(key)]
        texts += [f"the projection of {table} is not the fold of the decisions at {sorted(differing)[:3]}"] * bool(differing)
    if world.cluster.store.faults:
        texts.append(f"the projector could not read {list(world.cluster.store.faults.values())[:2]}")
    return texts + list(_rows(world, everything))


def _rows(world: "World", everything: list[Decided]) -> Iterator[str]:
    store = world.cluster.store
    live: dict[str, set[tuple[int | str, ...]]] = {table.name: set() for table in TABLES}
    for decided in everything:
        for key, packed in decided.fold.items():
            shape = SHAPES.get(key.partition("/")[0])
            if shape is None:
                continue
            value = shape.decoder.decode(to_json(unpack_any(key, packed)))
            for field, count in (("data", "data_parts"), ("token_values", "token_parts")):
                if getattr(value, count, 0):
                    setattr(value, field, msgspec.Raw(_joined(decided, key, getattr(value, count))))
            row = shape.row(value, decided.partition, decided.changed_by[key])
            live[shape.table.name].add(row[: shape.table.key])
            if store.tables[shape.table.name].get(row[: shape.table.key]) != row:
                yield f"the row of {key} is not its value"
    for table in TABLES:
        marked = store.deleted_at.get(table.name, {})
        extra = set(store.tables[table.name]) - live[table.name] - set(marked)
        if extra:
            yield f"{table.name} has rows of what is gone: {sorted(extra)[:3]}"


def _joined(decided: Decided, key: str, count: int) -> bytes:
    """Return the tokens of a lead or call that are kept in parts."""
    joined: dict[str, object] = {}
    for number in range(count):
        packed = decided.fold.get(part_key(key, number))
        joined |= {} if packed is None else from_pack(packed, Part).tokens
    return to_json(joined)
