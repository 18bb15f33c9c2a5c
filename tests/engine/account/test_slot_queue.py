"""Is the queue of a resource what a naive list of its requests would be, at any rate of aging, and does it cost nothing?"""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.account import slot_queue
from engine.partition.draft import Draft
from engine.partition.state import State
from engine.rules import Rules
from schemas.account import QueuedRequest, Slots
from schemas.instant import HOUR, MINUTE, Instant
from schemas.requests import SlotAnswered, SlotRequested
from schemas.state import kind_of, slots_key
from schemas.wire import from_json
from tests.engine.account.conftest import NOW, AccountWorld

DECISION_BYTES_MAX = 2_000


def urgency(now: Instant, asked: SlotRequested, arrival: int) -> tuple[int, float, Instant, int]:
    aged = asked.priority - asked.aging * (now - asked.due_at) / HOUR
    return asked.urgency_class, round(aged, 6), asked.due_at, arrival


requests = st.tuples(
    st.sampled_from([-1, 1, 2, 3]),
    st.sampled_from([-1e9, -2.5, -0.0, 0.0, 1.0, 99.5, 100.0, 1e9]),
    st.integers(0, 300),
    st.sampled_from([0.0, 0.5, 10.0]),
)
steps = st.lists(
    st.one_of(
        st.tuples(st.just("want"), requests),
        st.tuples(st.just("withdraw"), st.integers(0, 50)),
        st.tuples(st.just("end"), st.none()),
        st.tuples(st.just("time"), st.integers(1, 600)),
        st.tuples(st.just("restore"), st.none()),
    ),
    max_size=50,
)


@settings(max_examples=150, deadline=None)
@given(steps)
def test_the_queue_is_that_of_a_naive_model(acts: list[tuple[str, Any]]) -> None:
    account = AccountWorld()
    buyer_id = account.buyer(concurrency_cap_limit=1)
    account.want("held", buyer_ids=(buyer_id,))
    held, model = "held", dict[str, tuple[SlotRequested, int]]()
    for number, (act, what) in enumerate(acts):
        if act == "want":
            urgency_class, priority, minutes, aging = what
            fields = {"urgency_class": urgency_class, "priority": priority, "aging": aging}
            due_at = account.now - minutes * MINUTE
            sent = account.want(f"r{number}", buyer_ids=(buyer_id,), due_at=due_at, **fields)
            if not held:
                held = sent[0].request_id
                continue
            assert sent == []
            asked = SlotRequested(company_id=1, contact_key="", lead_id=7, request_id=f"r{number}", due_at=due_at, **fields)
            model[f"r{number}"] = asked, number
        elif act == "withdraw" and model:
            request_id = sorted(model)[what % len(model)]
            del model[request_id]
            assert account.release(request_id) == []
        elif act == "end" and held:
            sent = account.release(held)
            best = min((urgency(account.now, asked, at) for asked, at in model.values()), default=None)
            assert len(sent) == (best is not None)
            held = ""
            if sent:
                held = sent[0].request_id
                assert urgency(account.now, *model.pop(held)) == best
        elif act == "time":
            account.now += what * MINUTE
        elif act == "restore":
            account.restore()
    line = account.state.get(slots_key(1, f"buyers/{buyer_id}"), Slots)
    assert line is not None
    assert line.waiting == len(model)
    assert {entity.request_id for entity in queued(account.state)} == set(model)


def queued(state: State) -> list[QueuedRequest]:
    found = [state.get(key, QueuedRequest) for key, _ in state.items() if kind_of(key) is QueuedRequest]
    return [entity for entity in found if entity is not None]


@pytest.mark.parametrize("waiting", [10, 3_000])
def test_a_decision_carries_its_change_and_never_the_queue(account: AccountWorld, waiting: int) -> None:
    group_id = account.group(account.buyer(), concurrency_cap_limit=1)
    for number in range(waiting + 1):
        account.want(f"r{number}", buyer_group_id=group_id, due_at=number)
    asked = SlotRequested(company_id=1, contact_key="1|x", lead_id=7, request_id="x", buyer_group_id=group_id)
    decided = [account.ask(asked), account.ask(account.released("r0"))]
    assert [from_json(entry.body, SlotAnswered).request_id for entry in decided[1].entries] == ["x"]
    assert [len(one.value) < DECISION_BYTES_MAX for one in decided] == [True, True], [len(one.value) for one in decided]


def test_a_draft_sees_what_it_has_added_and_removed_itself(account: AccountWorld) -> None:
    group_id = account.group(account.buyer(), concurrency_cap_limit=1)
    for number in range(4):
        account.want(f"r{number}", buyer_group_id=group_id, due_at=number)
    draft = Draft(account.state, now=account.now, rules=Rules(), partition=0, ids=0)
    line = draft.get(slots_key(1, f"buyer_group/{group_id}"), Slots)
    assert line is not None
    claims = {name: account.claim(name) for name in ("r1", "r2", "r3")}
    slot_queue.remove(draft, line, claims["r1"])
    assert first(draft, line) == "r2"
    asked = SlotRequested(company_id=1, contact_key="", lead_id=7, request_id="r1", due_at=NOW, priority=1.0)
    slot_queue.add(draft, line, claims["r1"], asked)
    assert first(draft, line) == "r1"
    for claim in claims.values():
        slot_queue.remove(draft, line, claim)
    assert (first(draft, line), line.waiting) == (None, 0)


def first(draft: Draft, line: Slots) -> str | None:
    found = slot_queue.first(draft, line)
    return None if found is None else found.request_id


def test_what_a_rollback_takes_back_is_in_no_queue(account: AccountWorld) -> None:
    group_id = account.group(account.buyer(), concurrency_cap_limit=1)
    for number in range(2):
        account.want(f"r{number}", buyer_group_id=group_id, due_at=10)
    account.release("nobody")
    account.want_undone("urgent", buyer_group_id=group_id, urgency_class=0)
    assert [answer.request_id for answer in account.release("r0")] == ["r1"]
