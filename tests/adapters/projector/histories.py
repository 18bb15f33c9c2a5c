"""What may happen to a handful of leads, contacts and slots over two partitions? A world that writes true decisions.

`World.tables` is the fold of what it wrote, computed from values and not from batches.
"""

from collections.abc import Sequence
from hashlib import blake2b
from typing import Any

import msgspec

from adapters.postgres.tables import CALLS, CONTACTS, LEADS, SLOT_QUEUES, SLOTS, TABLES, Table
from adapters.projector.rows import (
    CountedQueue,
    CountedSlots,
    RawCall,
    RawHead,
    RawLead,
    call_row,
    contact_row,
    lead_row,
    slot_queue_row,
    slots_row,
)
from engine.identity import uuid_of
from engine.partition.ports import LogRecord
from schemas.account import Slots
from schemas.contact import Attempt, Call, Head, Lead, OpenSlotRequest, OpenSlotRequests
from schemas.decisions import REMOVED, Answer, Cause, Change, Decision, Fact, Sent
from schemas.instant import Instant
from schemas.requests import LeadMoved
from schemas.wire import Entity, to_json
from tests.adapters.projector.tables import HISTORY, Tables, named, removed_from_its_queue, show_waiting
from tests.contact_ids import CONTACT_IDS

TOPIC = "contacts.decisions"
PARTITIONS = 2
COMPANY = 7
START = Instant(1_790_000_000_000)


class World:
    """Two partitions; each step is one decision in one of them."""

    def __init__(self) -> None:
        self.records: dict[int, list[LogRecord]] = {number: [] for number in range(PARTITIONS)}
        self.leads: dict[int, Lead | None] = {}
        self.home: dict[int, int] = {}
        self.tables: Tables = {table.name: {} for table in TABLES}
        self.tables |= {"history": {}, "request_results": {}, "faults": {}, "impressions": {}}
        self.steps = 0

    def step(self, action: str, number: int) -> None:
        """Do one thing about lead `number` (or the slots of that number); impossible things are left undone."""
        self.steps += 1
        lead = self.leads.get(number)
        if action == "put":
            self._put(number, lead)
        elif action == "remove" and lead is not None:
            self._decide(self.home[number], number, {f"lead/{number}": None})
            self.leads[number] = None
        elif action == "move" and lead is not None:
            self._move(number, lead)
        elif action == "call":
            self._decide(number % PARTITIONS, number, {f"call/{number}": _call(number, self.steps)})
        elif action == "slots":
            self._slots(number)
        elif action == "queue":
            self._queue(number)
        elif action == "result":
            self._decide(number % PARTITIONS, number, {}, answer=Answer(status=200, record_id=self.steps), id=f"r{number}")
        elif action == "repeat":
            self._decide(number % PARTITIONS, number, {}, id=f"r{number}", verdict="repeated", answer=Answer(status=500))

    def _put(self, number: int, lead: Lead | None) -> None:
        if lead is None and number in self.leads:
            return  # an id is never used again
        home = self.home.setdefault(number, number % PARTITIONS)
        self.leads[number] = lead = _lead(number, self.steps, 1 if lead is None else lead.version + 1)
        self._decide(home, number, {f"lead/{number}": lead, f"head/{lead.contact_key}": _head(number, self.steps)})

    def _move(self, number: int, lead: Lead) -> None:
        """The old partition lets the lead go and writes to the new one, which takes it in; both in their own order."""
        old, new = self.home[number], self.steps % PARTITIONS
        moved = LeadMoved(company_id=COMPANY, contact_key="7|x", lead=msgspec.Raw(to_json(lead)), from_contact_key="7|y")
        self._decide(old, number, {f"lead/{number}": None}, moved=moved)
        self.steps += 1
        arrived = _lead(number, self.steps, lead.version + 1)
        self.leads[number] = arrived
        self.home[number] = new
        self._decide(new, number, {f"lead/{number}": arrived})

    def _slots(self, number: int) -> None:
        """Slots come and go at home; their versions begin again every time."""
        key = (COMPANY, f"buyer/{number}")
        known = self.tables["slots"].get(key)
        slots = None
        if known is None or known["version"] < 2:
            slots = Slots(resource=key[1], company_id=COMPANY, version=0 if known is None else known["version"] + 1)
        self._decide(number % PARTITIONS, number, {f"slots/{COMPANY}/buyer/{number}": slots})

    def _queue(self, number: int) -> None:
        """A queue for slots asks, closes, opens and is removed in one of the partitions."""
        partition, name = self.steps % PARTITIONS, queue_name(number)
        known = self.tables["slot_queues"].get((COMPANY, name, partition))
        queue = OpenSlotRequests(company_id=COMPANY, queue=name)
        closed_at = START + self.steps if self.steps % 3 else None
        if closed_at is not None:
            resets_at = None if self.steps % 5 == 0 else START + 100 * self.steps
            reason = "buyer_cap" if self.steps % 4 else "no_buyer_available"
            queue.closed_at, queue.closed_reason, queue.resets_at = closed_at, reason, resets_at
        else:
            queue.open = (OpenSlotRequest(2, 1.0, START, number),)
        is_removed = known is not None and self.steps % 7 == 0
        self._decide(partition, number, {f"asking/{COMPANY}/{name}": None if is_removed else queue})

    def _decide(
        self,
        partition: int,
        number: int,
        changes: dict[str, Entity | None],
        *,
        id: str | None = None,  # noqa: A002 - as the field is called
        answer: Answer | None = None,
        verdict: Any = "done",
        moved: LeadMoved | None = None,
    ) -> None:
        sequence = len(self.records[partition]) + 1
        decision = Decision(
            sequence=sequence,
            decided_at=START + self.steps,
            prev="",
            cause=Cause(kind="request", id=id or f"only-{partition}-{sequence}", key=f"{COMPANY}|+1305555010{number}"),
            verdict=verdict,
            answer=answer,
            facts=(Fact(type="lead.stepped", lead_id=number, data={"step": self.steps}),),
            changes=tuple(
                Change(key=key, value=REMOVED if entity is None else msgspec.Raw(to_json(entity)))
                for key, entity in changes.items()
            ),
            messages=()
            if moved is None
            else (Sent(number=1, topic="t", key="k", type="lead.moved", body=msgspec.Raw(to_json(moved))),),
        )
        # Offsets have gaps, as a transactional log's do.
        self.records[partition].append(
            LogRecord(TOPIC, partition, 3 * sequence, None, to_json(decision), (), START + self.steps)
        )
        self._fold(partition, decision, changes, moved=moved is not None)

    def _fold(self, partition: int, decision: Decision, changes: dict[str, Entity | None], *, moved: bool) -> None:
        for key, entity in changes.items():
            if entity is not None:
                table, row = _row(entity, partition, decision.sequence)
                shown = named(table.columns, row)
                self.tables[table.name][row[: table.key]] = shown | ({"deleted_at": None} if table.marks else {})
            elif key.startswith("slots/"):
                self.tables["slots"].pop((COMPANY, key.removeprefix(f"slots/{COMPANY}/")), None)
            elif key.startswith("asking/"):
                self.tables["slot_queues"].pop((COMPANY, key.removeprefix(f"asking/{COMPANY}/"), partition), None)
            elif not moved:
                row_of = self.tables["leads"][COMPANY, int(key.removeprefix("lead/"))]
                row_of |= removed_from_its_queue(row_of)
                row_of |= {"deleted_at": decision.decided_at, "sequence": decision.sequence}
        show_waiting(self.tables)
        cause, record_digest = decision.cause, blake2b(to_json(decision), digest_size=16).digest()
        for ordinal, fact in enumerate(decision.facts):
            at = (TOPIC, partition, decision.sequence, ordinal)
            values = (*at, decision.decided_at, fact.type, COMPANY, cause.key, fact.lead_id, None, fact.data, record_digest)
            self.tables["history"][at] = dict(zip(HISTORY, values, strict=True))
        if decision.answer is not None and decision.verdict != "repeated":
            answer = msgspec.json.decode(to_json(decision.answer))
            result = {"request_id": cause.id, "company_id": COMPANY, "verdict": decision.verdict, "answer": answer}
            self.tables["request_results"].setdefault((cause.id,), result | {"decided_at": decision.decided_at})


def world_of(steps: Sequence[tuple[str, int]]) -> World:
    """Return the world after some steps."""
    world = World()
    for action, number in steps:
        world.step(action, number)
    return world


def _row(entity: Entity, partition: int, sequence: int) -> tuple[Table, tuple[Any, ...]]:
    if isinstance(entity, Lead):
        return LEADS, lead_row(msgspec.json.decode(to_json(entity), type=RawLead), partition, sequence)
    if isinstance(entity, Call):
        return CALLS, call_row(CONTACT_IDS, msgspec.json.decode(to_json(entity), type=RawCall), partition, sequence)
    if isinstance(entity, Slots):
        return SLOTS, slots_row(CountedSlots(entity.company_id, entity.resource, entity.version), partition, sequence)
    if isinstance(entity, OpenSlotRequests):
        counted = msgspec.json.decode(to_json(entity), type=CountedQueue)
        return SLOT_QUEUES, slot_queue_row(counted, partition, sequence)
    assert isinstance(entity, Head)
    return CONTACTS, contact_row(CONTACT_IDS, msgspec.json.decode(to_json(entity), type=RawHead), partition, sequence)


def queue_name(number: int) -> str:
    """Return the queue that a lead waits in, if it does."""
    return f"q{number % 2}"


def _lead(number: int, step: int, version: int) -> Lead:
    in_queue = step % 4 != 0
    return Lead(
        slot_queue=queue_name(number) if in_queue else None,
        slot_id=f"s{step}" if in_queue and step % 8 == 3 else None,
        planned_at=START + 9 * step,
        expires_at=START + 1_000 if step % 3 == 0 else None,
        ending=step % 6 == 0,
        id=number,
        uuid=uuid_of("lead", number),
        company_id=COMPANY,
        contact_key=f"{COMPANY}|+1305555010{number}",
        version=version,
        created_at=START,
        updated_at=START + step,
        status="scheduled" if step % 2 else "opt_out",
        caller_id=f"+1305555010{number}",
        columns={"country": "US", "traffic_source_id": "12", "odd": [step]} if step % 3 else {},
        data={"first_name": "Ann", "n": step},
        zones=("America/New_York", "America/Chicago")[: step % 3],
        reasons=("quiet_hours_state",) * (step % 2),
        next_action_at=START + 10 * step if step % 2 else None,
        lead_priority=float(step),
    )


def _head(number: int, step: int) -> Head:
    key = f"{COMPANY}|+1305555010{number}"
    ledger = tuple(Attempt(START + at, "call", f"c{at}") for at in range(step % 3))
    return Head(company_id=COMPANY, contact_key=key, version=step, lead_ids=(number,), ledger=ledger)


def _call(number: int, step: int) -> Call:
    return Call(
        id=number,
        uuid=uuid_of("call", number),
        company_id=COMPANY,
        contact_key=f"{COMPANY}|+1305555010{number}",
        version=step,
        created_at=START,
        updated_at=START + step,
        lead_id=number,
        command_id=f"c{number}",
        number_called=f"+1305555010{number}",
        talk_seconds=step,
    )
