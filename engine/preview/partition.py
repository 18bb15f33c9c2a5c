"""How does a partition run without a log and a clock? A virtual partition delivers every message at once.

Requests and timers use the same `Decider`, `State` and `TimerQueue` as in production. Each decision is committed at once.
The caller supplies the outcomes of commands.
"""

from collections import deque

import msgspec

from engine.contact.aggregate import ContactAggregate
from engine.contact.facts import ledger
from engine.contact.facts.person import Person
from engine.partition.aggregate import Timer
from engine.partition.decider import Decider, Sealed
from engine.partition.draft import Draft, RefusedError
from engine.partition.ports import LogRecord
from engine.partition.state import State, unpack_any
from engine.partition.timers import TimerQueue
from engine.rules import Rules
from schemas.commands import Command, PlaceCall, PostWebhook, SendEmail, SendSms
from schemas.contact import Lead
from schemas.decisions import Position
from schemas.envelope import Envelope, to_headers
from schemas.instant import Instant
from schemas.requests import REQUEST_TYPES, ContactRequest
from schemas.state import lead_key
from schemas.topics import COMMAND_TOPICS, CONTACTS_REQUESTS
from schemas.wire import Entity, to_json, to_pack

_COMMAND_TOPICS = frozenset(topic.name for topic in COMMAND_TOPICS.values())
_COMMANDS: dict[str, type[Command]] = {
    str(kind.__struct_config__.tag): kind for kind in (PlaceCall, SendSms, SendEmail, PostWebhook)
}


class VirtualPartition:
    """One partition that holds every contact; the caller moves `now`.

    `ids` is the last id given out before: the branch of a split depends on the id of a lead.
    """

    def __init__(self, rules: Rules, now: Instant, ids: int = 0) -> None:
        self.now = now
        self.decisions = 0
        self._state = State()
        self._aggregate = ContactAggregate()
        self._decider = Decider(self._aggregate, 0, self._state, rules, Position(ids=ids))
        self._timers = TimerQueue(self._timer_of)
        self._requests: deque[tuple[str, str, bytes]] = deque()
        self._offset = 0

    def lead(self, lead_id: int) -> Lead | None:
        """Return a lead as it is now."""
        return self._state.get(lead_key(lead_id), Lead)

    def reserve(self, contact_key: str, kind: str, command_id: str) -> None:
        """Enter an earlier contact into the ledger of a number, as if its command were emitted now."""
        person = self.person(contact_key)
        ledger.reserve(person, kind, command_id)
        person.put()
        for key, entity in person.draft.changed.items():
            self._state.set(key, None if entity is None else to_pack(entity))
        self._state.commit()

    def person(self, contact_key: str) -> Person:
        """Return a contact as it is now; changes to it are dropped."""
        draft = Draft(self._state, now=self.now, rules=self._decider.rules, partition=0, ids=0)
        return Person(draft, int(contact_key.partition("|")[0]), contact_key)

    def seed_entity(self, key: str, entity: Entity) -> None:
        """Set an initial entity, with its timer."""
        self._state.set(key, to_pack(entity))
        self._state.commit()
        timer = self._aggregate.timer(key, entity)
        if timer is not None:
            self._timers.push(timer)

    def enqueue(self, request: ContactRequest) -> None:
        """Append a request to the queue."""
        self._requests.append((request.contact_key, REQUEST_TYPES[type(request)], to_json(request)))

    def decide(self) -> Sealed | None:
        """Decide the next request; return None without one. Raises `RefusedError` where it is refused or fails."""
        if not self._requests:
            return None
        key, kind, body = self._requests.popleft()
        headers = to_headers(Envelope(id=f"preview/{self._offset}", type=kind, source="/preview"))
        record = LogRecord(CONTACTS_REQUESTS.name, 0, self._offset, key.encode(), body, headers, self.now)
        self._offset += 1
        return self._apply_decision(self._decider.request(record, self.now))

    def fire(self, until: Instant | None = None) -> Sealed | None:
        """Advance to the next due instant and decide its most urgent timer.

        Return None where no timer is set, or none before `until`.
        """
        while (due_at := self._timers.next_due_at()) is not None:
            moment = max(self.now, due_at)
            if until is not None and moment >= until:
                return None
            for timer in self._timers.pop_due(moment, 1):
                self.now = moment
                return self._apply_decision(self._decider.tick(timer.key, timer.due_at, moment))
        return None

    def _apply_decision(self, sealed: Sealed) -> Sealed:
        """Commit a decision and deliver its messages; drop those to the account."""
        self._state.commit()
        self.decisions += 1
        decision = sealed.decision
        if decision.verdict in {"refused", "failed"} and decision.answer is not None:
            answer = decision.answer
            raise RefusedError(answer.code or "decision_failed", answer.detail or "", answer.errors)
        if decision.verdict == "failed" and not any(fact.type == "lead.ended" for fact in decision.facts):
            raise RefusedError("decision_failed", decision.error or "")
        for key, entity in sealed.changes:
            timer = None if entity is None else self._aggregate.timer(key, entity)
            if timer is not None:
                self._timers.push(timer)
        for entry in sealed.entries:
            if entry.topic == CONTACTS_REQUESTS.name:
                self._requests.append((entry.key, entry.type, entry.body))
        return sealed

    def _timer_of(self, key: str) -> Timer | None:
        packed = self._state.packed(key)
        return None if packed is None else self._aggregate.timer(key, unpack_any(key, packed))


def commands_of(sealed: Sealed) -> list[Command]:
    """Return the commands of a decision; fences are dropped, since no gateway runs."""
    found = []
    for outgoing in sealed.records:
        if outgoing.topic in _COMMAND_TOPICS and outgoing.value is not None:
            kind = _COMMANDS.get(dict(outgoing.headers)["ce_type"].decode())
            if kind is not None:
                found.append(msgspec.json.decode(outgoing.value, type=kind))
    return found
