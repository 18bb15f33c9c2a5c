"""How do tests get rows to read? Through decisions, as everything does."""

from typing import Any

import msgspec

from adapters.postgres.pool import open_pool
from adapters.projector.batch import OffsetRange, build_batch
from adapters.projector.postgres import PostgresStore
from engine.identity import uuid_of
from engine.partition.ports import LogRecord
from schemas.contact import Call, Head, Lead
from schemas.decisions import REMOVED, Answer, Cause, Change, Decision, Fact
from schemas.instant import Instant
from schemas.records import Record
from schemas.state import call_key, head_key, lead_key, record_key
from schemas.wire import Entity, to_json
from tests.contact_ids import SHAPES

TOPIC = "contacts.decisions"
START = Instant(1_790_000_000_000)


class Shown:
    """A database and what is decided about it, one decision at a time."""

    def __init__(self, pool: Any, topic: str = TOPIC, partition: int = 0) -> None:
        self.pool = pool
        self.topic = topic
        self.partition = partition
        self.store = PostgresStore(pool)
        self.sequence = 0

    @classmethod
    async def on(cls, dsn: str) -> "Shown":
        return cls(await open_pool(dsn, size=6))

    async def decide(
        self,
        *entities: Entity,
        removed: tuple[str, ...] = (),
        facts: tuple[Fact, ...] = (),
        cause: Cause | None = None,
        answer: Answer | None = None,
        at: Instant = START,
        announce: bool = False,
    ) -> None:
        """Project one decision."""
        self.sequence += 1
        changes = [Change(key=key_of(entity), value=msgspec.Raw(to_json(entity))) for entity in entities]
        changes += [Change(key=key, value=REMOVED) for key in removed]
        decision = Decision(
            sequence=self.sequence,
            decided_at=at,
            prev="",
            cause=cause or Cause(kind="request", id=f"only-{self.sequence}", key="1|+13055550100"),
            answer=answer,
            facts=facts,
            changes=tuple(changes),
        )
        owned = await self.store.take(self.topic, "id", self.partition)
        record = LogRecord(self.topic, self.partition, self.sequence, None, to_json(decision), (), at)
        offset_range = OffsetRange(self.topic, self.partition, owned.epoch, owned.next_offset, self.sequence + 1)
        await self.store.write(build_batch([record], offset_range, owned.sequence, topic=self.topic, shapes=SHAPES))
        if announce:
            await self.store.announce()

    async def close(self) -> None:
        await self.store.close()
        await self.pool.close()


def key_of(entity: Entity) -> str:
    if isinstance(entity, Lead):
        return lead_key(entity.id)
    if isinstance(entity, Call):
        return call_key(entity.id)
    if isinstance(entity, Head):
        return head_key(entity.contact_key)
    assert isinstance(entity, Record)
    return record_key(entity.type, entity.id)


def lead(number: int, company: int = 1, **fields: Any) -> Lead:
    """Return a lead; number n was created n seconds after START."""
    known: dict[str, Any] = {
        "id": number,
        "uuid": uuid_of("lead", number),
        "company_id": company,
        "contact_key": f"{company}|+1305555{number:04}",
        "caller_id": f"+1305555{number:04}",
        "created_at": START + 1000 * number,
        "updated_at": START + 1000 * number,
        "status": "scheduled",
    }
    return Lead(**(known | fields))


def call(number: int, company: int = 1, **fields: Any) -> Call:
    """Return an ended call; number n was created n seconds after START."""
    known: dict[str, Any] = {
        "id": number,
        "uuid": uuid_of("call", number),
        "company_id": company,
        "contact_key": f"{company}|+1305555{number:04}",
        "number_called": f"+1305555{number:04}",
        "from_number": "+13055550000",
        "created_at": START + 1000 * number,
        "updated_at": START + 1000 * number,
        "ended_at": START + 1000 * number + 500,
        "status": "no-answer",
    }
    return Call(**(known | fields))


def record(internal_id: int, kind: str = "buyer_group", company: int = 1, **body: Any) -> Record:
    """Return an account record; id n was created n seconds after START."""
    return Record(
        type=kind,
        id=internal_id,
        uuid=uuid_of(kind, internal_id),
        company_id=company,
        version=1,
        created_at=START + 1000 * internal_id,
        updated_at=START + 1000 * internal_id,
        body=body,
    )
