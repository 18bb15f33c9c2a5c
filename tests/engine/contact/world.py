"""How is the contact aggregate tested? In one partition with a manual clock, whose commands are collected."""

from dataclasses import dataclass, field
from datetime import datetime
from itertools import count
from typing import Any
from zoneinfo import ZoneInfo

import msgspec

from engine.contact.aggregate import ContactAggregate
from engine.partition.aggregate import Adoption, RuleChange, Timer
from engine.partition.draft import Draft, OutboxMessage
from engine.partition.gates import gate_of
from engine.partition.state import State
from engine.rules import Rules
from schemas.commands import Command, Fence, HangUp
from schemas.contact import Call, Head, Lead
from schemas.decisions import Answer, Fact
from schemas.envelope import Envelope
from schemas.instant import EPOCH, Instant, from_datetime
from schemas.records import Body, Company, Offer, Record, Schedule, plain
from schemas.requests import (
    CONTACT_REQUESTS,
    REQUEST_TYPES,
    CallerActed,
    ContactRequest,
    LeadSubmitted,
    LeadUpdateRequested,
    OutcomeRecorded,
)
from schemas.state import ASKING_PREFIX, call_key, head_key, kind_of, lead_key
from schemas.wire import Entity, to_json, to_pack
from tests.contact_ids import CONTACT_IDS

NUMBER = "+13055550123"
KEY = f"1|{NUMBER}"
NEW_YORK = "America/New_York"


def at(text: str, zone: str = NEW_YORK) -> Instant:
    """Return the instant of `2026-07-15 13:00` on the wall clock of a zone."""
    return from_datetime(datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(zone)))


NOON = at("2026-07-15 12:00")
"""A Wednesday in New York, well inside all hours."""


GATES = ("replan/", ASKING_PREFIX)


@dataclass
class World:
    """One partition that decides at `now`; messages to other contacts are delivered at once where `deliver` says so."""

    now: Instant = NOON
    behind: bool = False
    deliver: bool = True
    company_id: int = 1
    """Whose the records are that are added."""
    rules: Rules = field(default_factory=lambda: Rules(CONTACT_IDS))
    state: State = field(default_factory=State)
    commands: list[Command] = field(default_factory=list)
    fences: list[Fence] = field(default_factory=list)
    facts: list[Fact] = field(default_factory=list)
    messages: list[OutboxMessage] = field(default_factory=list)
    answer: Answer | None = None

    def __post_init__(self) -> None:
        self.aggregate = ContactAggregate()
        self._ids = 0
        self._numbers = count(1)
        self.timers: dict[str, Instant] = {}
        self.add("company", 1, Company(name="Sunny", time_zone=NEW_YORK))
        self.add("offer", 1, Offer(name="Solar", lead_token="offer", time_zone=NEW_YORK))

    # -- what there is -------------------------------------------------------------------------------------------------

    def add(
        self,
        record_type: str,
        record_id: int,
        body: Body,
        *,
        version: int = 1,
        deleted: bool = False,
        made_at: Instant = EPOCH,
    ) -> None:
        """Adopt a version of an account record."""
        record = Record(
            type=record_type,
            id=record_id,
            uuid=f"{record_type}-{record_id}",
            company_id=self.company_id,
            version=version,
            sequence=next(self._numbers),
            created_at=made_at,
            updated_at=made_at,
            deleted_at=Instant(1) if deleted else None,
            body=plain(body),
        )
        change = RuleChange(self.rules.record(record_type, record_id), record)
        self.rules.apply(0, record)
        self.adopt(Adoption(rule_changes=[change]))

    def adopt(self, adoption: Adoption) -> None:
        """Let follow what follows from newer rules or versions."""
        draft = self._draft()
        self.aggregate.adopt(draft, adoption)
        self._apply(draft)

    def schedule(self, *steps: dict[str, Any], record_id: int = 1, version: int = 1, **fields: Any) -> None:
        """Adopt a schedule of the offer, its steps as JSON."""
        given = {"name": "Five days", "lead_token": f"schedule-{record_id}", "offer_id": 1, "time_zone": NEW_YORK}
        body = msgspec.convert({**given, "steps": steps, **fields}, Schedule)
        self.add("schedule", record_id, body, version=version)

    def lead(self, lead_id: int | None = None) -> Lead:
        """Return a lead, by default the last one that was made."""
        found = self.state.get(lead_key(lead_id or self.lead_ids()[-1]), Lead)
        assert found is not None
        return found

    def lead_ids(self) -> list[int]:
        """Return the ids of all leads, oldest first."""
        return sorted(int(key.split("/")[1]) for key, _ in self.state.items() if key.startswith("lead/"))

    def head(self, key: str = KEY) -> Head:
        """Return the head of a contact."""
        found = self.state.get(head_key(key), Head)
        assert found is not None
        return found

    def call(self, call_id: int | None) -> Call:
        """Return a call."""
        assert call_id is not None
        found = self.state.get(call_key(call_id), Call)
        assert found is not None
        return found

    # -- what happens --------------------------------------------------------------------------------------------------

    def submit(self, **fields: Any) -> Lead:
        """Submit a lead to schedule 1, or to what is said; return the lead that the answer names."""
        target = {} if {"offer_id", "schedule_id"} & fields.keys() else {"schedule_id": 1}
        given = {
            "company_id": 1,
            "contact_key": KEY,
            "caller_id": NUMBER,
            "zones": (NEW_YORK,),
            "with_key": True,
            **target,
            **fields,
        }
        self.ask(LeadSubmitted(**given))
        assert self.answer is not None
        assert self.answer.record_id is not None
        return self.lead(self.answer.record_id)

    def outcome(self, outcome: str, command: Command | None = None, **fields: Any) -> None:
        """Report what came of a command, by default of the last one."""
        command = command or next(one for one in reversed(self.commands) if not isinstance(one, HangUp))
        kind = str(command.__struct_config__.tag).partition(".")[0]
        given = {"company_id": 1, "contact_key": command.contact_key, "lead_id": command.lead_id, "occurred_at": self.now}
        given |= {"command_id": command.command_id, "kind": kind, "outcome": outcome}
        self.ask(msgspec.convert({**given, **fields}, OutcomeRecorded))

    def act(self, action: str, **fields: Any) -> None:
        """Let the caller act on schedule 1."""
        given = {"company_id": 1, "contact_key": KEY, "schedule_id": 1, "action": action}
        self.ask(msgspec.convert({**given, **fields}, CallerActed))

    def update(self, lead: Lead | None = None, **fields: Any) -> Lead:
        """Change a lead, by default the last one; return it as it is then."""
        lead = lead or self.lead()
        self.ask(LeadUpdateRequested(company_id=1, contact_key=lead.contact_key, lead_id=lead.id, **fields))
        return self.lead(lead.id)

    def ask(self, request: ContactRequest, *, id: str | None = None, stream: str | None = None) -> None:  # noqa: A002
        """Decide a request, through its bytes."""
        name = REQUEST_TYPES[type(request)]
        copy = msgspec.json.decode(to_json(request), type=CONTACT_REQUESTS[name])
        envelope = Envelope(id=id or f"request-{next(self._numbers)}", type=name, source="/test", stream=stream, number=1)
        draft = self._draft()
        self.aggregate.decide(draft, copy, envelope)
        self.answer = draft.answer
        self._apply(draft)

    def wait(self, seconds: float) -> None:
        """Let time pass; every timer is fired when it is due, most urgent first."""
        self.wait_until(self.now + int(seconds * 1000))

    def wait_until(self, moment: Instant) -> None:
        """Let time pass up to an instant."""
        for _ in range(10_000):
            timers = [timer for timer in map(self._timer, list(self.timers)) if timer is not None]
            due = [(at, timer) for timer in timers if (at := self._fires_at(timer)) is not None and at <= moment]
            if not due:
                self.now = moment
                return
            at, timer = min(due)
            self.now = max(self.now, at)
            draft = self._draft()
            self.aggregate.wake(draft, timer.key, timer.due_at)
            self._apply(draft)
            again = self._timer(timer.key)
            is_stuck = again is not None and self._fires_at(again) == at and again.due_at <= timer.due_at
            assert not is_stuck, f"{timer.key} is stuck at {timer.due_at}"
        raise AssertionError("timers never come to rest")

    # -- what came of it -----------------------------------------------------------------------------------------------

    def steps(self) -> list[str]:
        """Return the steps whose commands were emitted, in sequence; the end of a call is none."""
        return [command.step_id for command in self.commands if not isinstance(command, HangUp)]

    def hung_up(self) -> list[str]:
        """Return the commands of the calls that were to end, in sequence."""
        return [command.call_command_id for command in self.commands if isinstance(command, HangUp)]

    def fact_types(self) -> list[str]:
        """Return the types of all facts, in sequence."""
        return [fact.type for fact in self.facts]

    def _draft(self) -> Draft:
        return Draft(self.state, now=self.now, rules=self.rules, partition=0, ids=self._ids, behind=self.behind)

    def _timer(self, key: str) -> Any:
        packed = self.state.packed(key)
        return None if packed is None else self.aggregate.timer(key, self._entity(key))

    def _fires_at(self, timer: Timer) -> Instant | None:
        """Return when a timer fires; one that waits for a sweep or in a queue for slots fires when it opens anyway."""
        gate = gate_of(self.state, timer.gate) if timer.gate.startswith(GATES) else None
        is_shut = gate is not None and not gate.room
        return (timer.opens_at or None) if is_shut else timer.due_at

    def _entity(self, key: str) -> Entity:
        found = self.state.get(key, kind_of(key))
        assert found is not None
        return found

    def _apply(self, draft: Draft) -> None:
        self._ids = draft.ids
        for key, entity in draft.changed.items():
            self.state.set(key, None if entity is None else to_pack(entity))
            self.state.places.put(key, None if entity is None else self.aggregate.claim(entity))
            if entity is None:
                self.timers.pop(key, None)
            else:
                self.timers[key] = EPOCH
        self.state.commit()
        self.facts += draft.facts
        for order in draft.commands:
            match order.value:
                case Fence() as fence:
                    self.fences.append(fence)
                case Command() as command:
                    self.commands.append(command)
        letters = list(draft.messages)
        self.messages += letters
        for letter in letters if self.deliver else ():
            if letter.topic == "contacts.requests":
                answer = self.answer
                self.ask(msgspec.json.decode(letter.body, type=CONTACT_REQUESTS[letter.type]), stream="outbox")
                self.answer = answer
