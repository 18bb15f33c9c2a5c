"""What do many waiting leads cost in memory, in time to restore, and in time per event?

The leads are copies of one decided lead, each of another person, written to the changelog as a scheduler does.
"""

import gc
import sys
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack
from pathlib import Path

import msgspec

from adapters.roles.context import Context
from deploy.bench.decisions import running, until_decided
from deploy.bench.peers import run_program
from deploy.bench.row import Row, Runs, row
from deploy.bench.stage import Stage, append_all, deployment, timed
from deploy.bench.submissions import NOON, requests, rule_records
from engine.contact.aggregate import ContactAggregate
from engine.identity import numbered, uuid_of
from engine.partition.decider import Decider
from engine.partition.ports import LogRecord, Outgoing
from engine.partition.runner import RESTORE_BATCH
from engine.partition.state import State, unpack_any
from engine.partition.timers import TimerQueue
from engine.rules import Rules
from schemas.contact import Head, Lead
from schemas.decisions import Position
from schemas.state import POSITION_KEY, head_key, lead_key
from schemas.topics import CONTACTS_REQUESTS, CONTACTS_STATE
from schemas.wire import to_pack

FEW, MANY = 10_000, 300_000
EVENTS = 4_000
RUNS = 2
MEMORY_SECONDS = 120.0
MEMORY_LEADS = 200_000


async def measure(stage: Stage, say: Callable[[str], None]) -> list[Row]:
    """Measure `growth` and `restore`."""
    growth, restore = Runs(), Runs()
    for number in range(RUNS):
        say(f"growth, restore: run {number + 1} of {RUNS}")
        growth.baseline.append(await _measure_with(stage, FEW, Runs()))
        growth.ours.append(await _measure_with(stage, MANY, restore))
    return [
        row("growth", growth, goal="<= 1.3", unit="us/event"),
        row("restore", restore, goal=">= 0.7", unit="leads/s"),
    ]


async def measure_memory(stage: Stage, say: Callable[[str], None]) -> list[Row]:
    """Measure `memory`, in a process of its own."""
    say("memory")
    command = [sys.executable, "-m", "deploy.bench.pending", str(MEMORY_LEADS)]
    del stage
    found = await run_program(command, seconds=MEMORY_SECONDS)
    return [row("memory", Runs(ours=[float(found)]), goal="<= 600", unit="bytes/lead")]


async def _measure_with(stage: Stage, leads: int, restored: Runs) -> float:
    """Return the microseconds per event with so many leads waiting; note the rates of restoring and of only reading them."""
    async with deployment(stage) as context:
        changelog = [Outgoing(CONTACTS_STATE.name, key.encode(), packed) for key, packed in waiting_leads(leads)]
        await append_all(context, CONTACTS_STATE.name, {0: changelog})
        fresh = requests(EVENTS * 5, context.settings.partitions)[0][:EVENTS]
        await append_all(context, CONTACTS_REQUESTS.name, {0: fresh})
        del changelog
        with timed() as watch:
            await _consume(context)
        restored.baseline.append(leads / watch.seconds)
        async with AsyncExitStack() as stack:
            with timed() as watch:
                runners = await stack.enter_async_context(running(context, [0]))
            restored.ours.append(leads / watch.seconds)
            with timed() as watch:
                await until_decided(runners[0], EVENTS)
        return 1e6 * watch.seconds / EVENTS


async def _consume(context: Context) -> int:
    """Read and decode every value of the changelog, and keep none; return how many there were."""
    reader = await context.log.reader(context.names.of(CONTACTS_STATE.name), [0])
    count = 0
    try:
        end = await reader.end(0)
        while reader.position(0) < end:
            for record in await reader.poll(limit=RESTORE_BATCH, timeout_seconds=1.0):
                key = (record.key or b"").decode()
                if key != POSITION_KEY:
                    unpack_any(key, record.value or b"")
                    count += 1
    finally:
        await reader.close()
    return count


def waiting_leads(leads: int) -> Iterator[tuple[str, bytes]]:
    """Yield the entities of so many waiting leads, one per contact, as the changelog holds them; the position last."""
    lead, head = _pattern()
    for number in range(leads):
        lead_id, contact_key = numbered(number + 1, 0), f"1|+1646{number:07d}"
        yield (
            lead_key(lead_id),
            to_pack(
                msgspec.structs.replace(
                    lead,
                    id=lead_id,
                    uuid=uuid_of("lead", lead_id),
                    contact_key=contact_key,
                    caller_id=contact_key.removeprefix("1|"),
                    email=f"ada.lovelace.{number}@example.com",
                )
            ),
        )
        yield head_key(contact_key), to_pack(msgspec.structs.replace(head, contact_key=contact_key, lead_ids=(lead_id,)))
    yield POSITION_KEY, to_pack(Position(sequence=leads, ids=leads, decided_at=NOON))


def _pattern() -> tuple[Lead, Head]:
    """Return a lead and its contact as one submission leaves them."""
    rules, state = Rules(), State()
    for rule in rule_records():
        rules.apply(0, rule)
    one = requests(1, 1)[0][0]
    record = LogRecord(one.topic, 0, 0, one.key, one.value, one.headers, NOON)
    Decider(ContactAggregate(), 0, state, rules, Position()).request(record, NOON)
    found = {
        type(entity): entity for key, packed in state.pending().items() if packed for entity in [unpack_any(key, packed)]
    }
    lead, head = found[Lead], found[Head]
    assert isinstance(lead, Lead)  # noqa: S101 - both were just decided
    assert isinstance(head, Head)  # noqa: S101
    return lead, head


# -- memory ------------------------------------------------------------------------------------------------------------


def bytes_per_lead(leads: int) -> float:
    """Return the resident memory of a waiting lead, its contact and its timer, beyond what was submitted."""
    aggregate = ContactAggregate()
    values = waiting_leads(leads)
    lead, _ = _pattern()
    submitted = sum(len(to_pack(part)) for part in (lead.caller_id, lead.email, lead.columns, lead.data))
    gc.collect()
    before = _resident_bytes()
    state = State()
    for key, packed in values:
        if key != POSITION_KEY:
            state.restore(key, packed)
    timers = TimerQueue(lambda _: None)
    found = (aggregate.timer(key, unpack_any(key, packed)) for key, packed in state.items())
    timers.rebuild(timer for timer in found if timer is not None)
    gc.collect()
    return (_resident_bytes() - before) / leads - submitted


def _resident_bytes() -> int:
    pages = int(Path("/proc/self/statm").read_text("ascii").split()[1])
    return pages * 4_096


if __name__ == "__main__":
    sys.stdout.write(f"{bytes_per_lead(int(sys.argv[1]))}\n")
