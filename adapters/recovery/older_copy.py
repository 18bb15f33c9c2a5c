"""Whom does an older copy of the log not know about? The database does: those people are blocked until somebody has looked.

Since the copy they may have been contacted, or have asked for an end. A block is an ordinary one: lifted singly, or for
many by an unblock contact job. Requests are decided before anything that is due, so nobody is contacted before the block.
"""

from msgspec import Struct

from adapters.audit.recorded import committed_position
from adapters.partitions.routing import partition_of
from adapters.postgres.recovery import PostgresReadMarks
from adapters.recovery.folding import NotRecoverableError
from adapters.roles.context import Context
from engine.partition.ports import Outgoing
from schemas.envelope import Envelope, to_headers
from schemas.requests import REQUEST_TYPES, ContactBlockRequested
from schemas.topics import CONTACTS_DECISIONS, CONTACTS_REQUESTS, CONTACTS_STATE
from schemas.wire import to_json

PEOPLE_MAX = 1_000_000
"""People of a lost span: beyond it the copy is too old to go on from."""

BATCH = 1_000

SOURCE = "/recover"


class Touched(Struct, frozen=True, kw_only=True):
    """A person of whom the database knows decisions that the log does not hold."""

    company_id: int
    contact_key: str


async def find_touched(context: Context, marks: PostgresReadMarks) -> list[Touched]:
    """Return the people of the lost span, as far as the projection knows them. Raises `LogError`, `StoreError`."""
    state = context.names.of(CONTACTS_STATE.name)
    held = {}
    for partition in range(await context.log.partition_count(state)):
        position = await committed_position(context.log, state, partition)
        held[partition] = 0 if position is None else position.sequence
    found = await marks.touched(CONTACTS_DECISIONS.name, held, PEOPLE_MAX + 1)
    if len(found) > PEOPLE_MAX:
        raise NotRecoverableError(f"the copy lacks decisions on more than {PEOPLE_MAX} people: restore a newer one")
    return [Touched(company_id=company_id, contact_key=contact_key) for company_id, contact_key in found]


async def block_touched(context: Context, people: list[Touched], by: str) -> None:
    """Ask for a block of each person. Raises `LogError`; what is asked for twice is one block."""
    topic = context.names.of(CONTACTS_REQUESTS.name)
    count = await context.log.partition_count(topic)
    by_partition: dict[int, list[Outgoing]] = {}
    for person in people:
        asked = ContactBlockRequested(company_id=person.company_id, contact_key=person.contact_key, blocked=True)
        envelope = Envelope(id=f"recover/{person.contact_key}", type=REQUEST_TYPES[type(asked)], source=SOURCE, actor=by)
        record = Outgoing(topic, person.contact_key.encode(), to_json(asked), to_headers(envelope))
        by_partition.setdefault(partition_of(record.key or b"", count), []).append(record)
    appender = await context.log.appender()
    try:
        for partition, records in by_partition.items():
            for start in range(0, len(records), BATCH):
                await appender.append(partition, records[start : start + BATCH])
    finally:
        await appender.close()
