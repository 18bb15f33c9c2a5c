"""Is the size of a decision bounded by what it changes, however many tokens a lead or call has?"""

from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.contact.aggregate import ContactAggregate
from engine.partition.decider import Decider, Sealed
from engine.partition.draft import Draft
from engine.partition.ports import LogRecord
from engine.partition.state import State
from schemas.contact import Call, Lead, Part
from schemas.decisions import REMOVED, Decision, Position
from schemas.envelope import Envelope, to_headers
from schemas.requests import (
    REQUEST_TYPES,
    ContactRequest,
    LeadDeleteRequested,
    LeadMoved,
    LeadSubmitted,
    LeadUpdateRequested,
)
from schemas.state import kind_of
from schemas.wire import from_json, to_json, to_pack
from tests.engine.contact.world import KEY, NEW_YORK, NOON, NUMBER, World

REST = {"id": "rest", "kind": "wait", "duration": "1h"}
CALL = {"id": "call", "kind": "call"}
OTHER = "+13055550199"


class PartsPartition:
    """One partition of contacts that decides through the real `Decider`; the fold of its decisions is kept beside it."""

    def __init__(self, *steps: dict[str, Any]) -> None:
        world = World()
        world.schedule(*(steps or (REST, CALL)))
        self.now = NOON
        self.state = State()
        self.decider = Decider(ContactAggregate(), 0, self.state, world.rules, Position())
        self.fold: dict[str, bytes] = {}
        self.values: list[bytes] = []
        self.offset = 0

    def ask(self, request: ContactRequest, key: str = KEY) -> Sealed:
        name = REQUEST_TYPES[type(request)]
        headers = to_headers(Envelope(id=f"r{self.offset}", type=name, source="/test"))
        record = LogRecord("contacts.requests", 0, self.offset, key.encode(), to_json(request), headers, self.now)
        self.offset += 1
        sealed = self.decider.request(record, self.now)
        assert sealed.decision.verdict == "done", sealed.decision.error
        self.state.commit()
        self.values.append(sealed.value)
        for change in msgspec.json.decode(sealed.value, type=Decision).changes:
            if change.value == REMOVED:
                self.fold.pop(change.key, None)
            else:
                self.fold[change.key] = to_pack(from_json(bytes(change.value), kind_of(change.key)))
        assert self.fold == dict(self.state.items())
        return sealed

    def submit(self, **data: Any) -> int:
        request = LeadSubmitted(
            company_id=1, contact_key=KEY, schedule_id=1, caller_id=NUMBER, zones=(NEW_YORK,), data=data, with_key=True
        )
        answer = self.ask(request).decision.answer
        assert answer is not None
        return answer.record_id or 0

    def update(self, lead_id: int, **fields: Any) -> Sealed:
        return self.ask(LeadUpdateRequested(company_id=1, contact_key=KEY, lead_id=lead_id, **fields))

    def whole(self, key: str, kind: type[Any]) -> Any:
        rules = self.decider.rules
        return Draft(self.state, now=self.now, rules=rules, partition=0, ids=0).get(key, kind)

    def parts(self) -> list[str]:
        return [key for key, _ in self.state.items() if key.startswith("part/")]


def test_an_update_of_one_token_of_a_large_lead_writes_little_and_the_fold_is_the_state() -> None:
    partition = PartsPartition()
    data = {f"t{number}": "x" * 2_000 for number in range(100)}
    lead_id = partition.submit(**data)
    sealed = partition.update(lead_id, data={"t7": "changed"})
    assert (len(sealed.value) < 12_000, sealed.size_bytes < 30_000) == (True, True)
    assert partition.whole(f"lead/{lead_id}", Lead).data == {**data, "t7": "changed"}
    touched = partition.update(lead_id, lead_priority=3.0)
    assert len(touched.value) < 2_500


def test_many_updates_write_in_proportion_to_what_they_change() -> None:
    partition = PartsPartition()
    lead_id = partition.submit()
    written = changed = 0
    for number in range(150):
        data = {f"t{(number * 4 + place) % 60}": f"{number}" + "x" * 3_600 for place in range(4)}
        written += len(partition.update(lead_id, data=data).value)
        changed += len(to_json(data))
    assert written < 3 * changed


def test_a_small_lead_is_kept_in_one_value() -> None:
    partition = PartsPartition()
    partition.submit(first_name="Ann", plan="gold")
    assert partition.parts() == []


def test_a_lead_that_was_kept_inline_at_any_size_is_read_and_kept_in_parts_from_its_next_change_on() -> None:
    partition = PartsPartition()
    lead_id = partition.submit(plan="gold")
    old = partition.whole(f"lead/{lead_id}", Lead)
    old.data = {f"t{number}": "x" * 1_000 for number in range(50)}
    partition.state.set(f"lead/{lead_id}", to_pack(old))
    partition.state.commit()
    partition.fold[f"lead/{lead_id}"] = to_pack(old)
    partition.update(lead_id, data={"t1": "y"})
    assert partition.whole(f"lead/{lead_id}", Lead).data == {**old.data, "t1": "y"}
    assert partition.parts()


def test_the_parts_go_with_the_lead() -> None:
    partition = PartsPartition()
    lead_id = partition.submit(**{f"t{number}": "x" * 1_000 for number in range(50)})
    assert partition.parts()
    partition.ask(LeadDeleteRequested(company_id=1, contact_key=KEY, lead_id=lead_id))
    assert partition.parts() == []


def test_a_lead_that_moves_takes_its_tokens_along() -> None:
    partition = PartsPartition()
    data = {f"t{number}": "x" * 1_000 for number in range(50)}
    lead_id = partition.submit(**data)
    (entry,) = [one for one in partition.update(lead_id, caller_id=OTHER).entries if one.type == "lead.moved"]
    assert partition.parts() == []
    partition.ask(from_json(entry.body, LeadMoved), key=f"1|{OTHER}")
    moved = partition.whole(f"lead/{lead_id}", Lead)
    assert (moved.data == data, moved.contact_key, bool(partition.parts())) == (True, f"1|{OTHER}", True)


def test_a_call_keeps_a_copy_of_large_tokens_and_its_progress_writes_none_of_them() -> None:
    partition = PartsPartition(CALL)
    data = {f"t{number}": "x" * 1_000 for number in range(100)}
    lead_id = partition.submit(**data)
    lead = partition.whole(f"lead/{lead_id}", Lead)
    call = partition.whole(f"call/{lead.attempted_call_id}", Call)
    assert call.token_values == data
    assert len(partition.update(lead_id, data={"plan": "gold"}).value) < 8_000


names = st.sampled_from([f"t{number}" for number in range(30)])
values = st.one_of(st.text(max_size=30), st.integers(0, 9), st.just("x" * 1_500), st.lists(st.integers(0, 9), max_size=300))


@settings(deadline=None, max_examples=60)
@given(st.lists(st.dictionaries(names, st.none() | values, max_size=12), max_size=12))
def test_whatever_is_set_and_taken_away_the_tokens_are_those_that_were_set(updates: list[dict[str, Any]]) -> None:
    partition = PartsPartition()
    lead_id = partition.submit(start="here")
    data: dict[str, Any] = {"start": "here"}
    for update in updates:
        partition.update(lead_id, data=update)
        data = {name: value for name, value in {**data, **update}.items() if value is not None}
        lead = partition.whole(f"lead/{lead_id}", Lead)
        assert lead.data == data
        assert len(partition.parts()) <= max(0, lead.data_parts)
        stored = partition.state.get(f"lead/{lead_id}", Lead)
        assert stored is not None
        assert (stored.data == {}) == (bool(lead.data_parts) or not data)
    assert all(isinstance(partition.state.get(key, Part), Part) for key in partition.parts())
