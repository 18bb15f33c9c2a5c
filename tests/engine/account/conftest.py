"""How do these tests send requests to an account? Through the runner's decider, on a real state."""

from decimal import Decimal
from typing import Any

import pytest

from engine.account.aggregate import AccountAggregate
from engine.partition.decider import Decider, Sealed
from engine.partition.ports import LogRecord
from engine.partition.state import State
from engine.rules import Rules
from schemas.account import Claim, Slots
from schemas.decisions import Answer, Fact, Position
from schemas.envelope import Envelope, to_headers
from schemas.instant import Instant
from schemas.records import Body, Record, body_of
from schemas.requests import (
    REQUEST_TYPES,
    AccountRequest,
    CallEarned,
    RecordChangeRequested,
    SlotAnswered,
    SlotReleased,
    SlotRequested,
)
from schemas.state import claim_key, record_key, slots_key
from schemas.wire import from_json, to_json

NOW = Instant(1_773_000_000_000)
TOKEN = "0123456789abcdef"


class AccountWorld:
    """One partition of accounts, with company 1 in it."""

    def __init__(self) -> None:
        self.state = State()
        self.now = NOW
        self.asked = 0
        self.facts: list[Fact] = []
        self.decider = Decider(AccountAggregate(), 0, self.state, Rules(), Position())
        self.create("company", company_id=1, name="Sunny")

    def ask(self, request: AccountRequest, *, request_id: str | None = None, actor: str | None = None) -> Sealed:
        sealed = self._decide(request, request_id=request_id, actor=actor)
        self.state.commit()
        self.facts += sealed.decision.facts
        return sealed

    def _decide(self, request: AccountRequest, *, request_id: str | None = None, actor: str | None = None) -> Sealed:
        self.asked += 1
        name = request_id or f"request-{self.asked}"
        envelope = Envelope(id=name, type=REQUEST_TYPES[type(request)], source="/test", actor=actor)
        key = request.partition_key.encode()
        record = LogRecord("accounts.requests", 0, self.asked, key, to_json(request), to_headers(envelope), self.now)
        return self.decider.request(record, self.now)

    def restore(self) -> None:
        """Go on from the committed values alone, as a new owner of the partition does."""
        state = State()
        for key, packed in self.state.items():
            state.restore(key, packed)
        self.state = state
        self.decider = Decider(AccountAggregate(), 0, state, Rules(), self.decider.position)

    def change(
        self,
        operation: Any,
        record_type: str,
        record_id: int | None = None,
        *,
        company_id: int = 1,
        request_id: str | None = None,
        **fields: Any,
    ) -> Answer:
        request = RecordChangeRequested(
            company_id=company_id, type=record_type, operation=operation, id=record_id, fields=fields
        )
        sealed = self.ask(request, request_id=request_id)
        assert sealed.decision.error is None, sealed.decision.error
        assert sealed.decision.answer is not None
        return sealed.decision.answer

    def create(self, record_type: str, *, company_id: int = 1, **fields: Any) -> int:
        """Create a record and return its id."""
        answer = self.change("create", record_type, company_id=company_id, **fields)
        assert answer.status == 201, answer
        assert answer.record_id is not None
        return answer.record_id

    def update(self, record_type: str, record_id: int, **fields: Any) -> Answer:
        return self.change("update", record_type, record_id, **fields)

    def deletion(self, record_type: str, record_id: int) -> Sealed:
        """Delete a record and return the decision."""
        return self.ask(RecordChangeRequested(company_id=1, type=record_type, operation="delete", id=record_id))

    def delete(self, record_type: str, record_id: int) -> Answer:
        return self.change("delete", record_type, record_id)

    def record(self, record_type: str, record_id: int) -> Record:
        record = self.state.get(record_key(record_type, record_id), Record)
        assert record is not None
        return record

    def body(self, record_type: str, record_id: int) -> Body:
        return body_of(self.record(record_type, record_id))

    def buyer(self, number: int = 0, **fields: Any) -> int:
        return self.create("buyer", name="Buyer", number=f"+1305555{100 + number:04}", **fields)

    def group(self, *buyer_ids: int, **fields: Any) -> int:
        return self.create("buyer_group", name="Closers", buyer_ids=list(buyer_ids), **fields)

    def slots(self, resource: str) -> Slots:
        slots = self.state.get(slots_key(1, resource), Slots)
        assert slots is not None
        return slots

    def want(self, request_id: str, **asked: Any) -> list[SlotAnswered]:
        """Ask for a slot and return the answers that were sent, to whomever."""
        request = SlotRequested(company_id=1, contact_key=f"1|{request_id}", lead_id=7, request_id=request_id, **asked)
        return answers(self.ask(request))

    def want_undone(self, request_id: str, **asked: Any) -> None:
        """Ask for a slot in a transaction that fails."""
        request = SlotRequested(company_id=1, contact_key=f"1|{request_id}", lead_id=7, request_id=request_id, **asked)
        position = self.decider.position
        self._decide(request)
        self.state.rollback()
        self.decider.position = position

    def claim(self, request_id: str) -> Claim:
        claim = self.state.get(claim_key(1, request_id), Claim)
        assert claim is not None
        return claim

    def released(self, request_id: str, **fields: Any) -> SlotReleased:
        return SlotReleased(company_id=1, contact_key=f"1|{request_id}", lead_id=7, request_id=request_id, **fields)

    def release(self, request_id: str, **fields: Any) -> list[SlotAnswered]:
        return answers(self.ask(self.released(request_id, **fields)))

    def earned(self, at: Instant, **amounts: dict[str, Any]) -> list[SlotAnswered]:
        """Tell what a call brought; `buyer_group_7` stands for the resource `buyer_group/7`."""
        brought = {name: {metric: Decimal(str(of)) for metric, of in given.items()} for name, given in amounts.items()}
        found = {"/".join(name.rsplit("_", 1)): of for name, of in brought.items()}
        return answers(self.ask(CallEarned(company_id=1, call_id=1, at=at, amounts=found)))

    def tick(self, key: str) -> list[SlotAnswered]:
        """Let the timer of a key be due."""
        sealed = self.decider.tick(key, self.now, self.now)
        self.state.commit()
        return answers(sealed)

    def changed(self, record_type: str, record_id: int, **fields: Any) -> list[SlotAnswered]:
        """Update a record and return the answers to those who waited."""
        request = RecordChangeRequested(company_id=1, type=record_type, operation="update", id=record_id, fields=fields)
        sealed = self.ask(request)
        assert sealed.decision.verdict == "done", sealed.decision
        return answers(sealed)


def answers(sealed: Sealed) -> list[SlotAnswered]:
    assert sealed.decision.error is None, sealed.decision.error
    return [from_json(entry.body, SlotAnswered) for entry in sealed.entries]


@pytest.fixture
def account() -> AccountWorld:
    return AccountWorld()
