"""Are slots granted by urgency across queues, and is each slot released?"""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from schemas.account import Slots
from schemas.instant import MINUTE, Instant
from schemas.requests import SlotAnswered
from tests.engine.account.conftest import AccountWorld

Urgency = tuple[int, float, int]
"""Class, priority, due time: the lowest goes first."""

urgencies = st.tuples(st.integers(0, 3), st.sampled_from([-1.0, 1.0, 100.0]), st.integers(0, 2))
things = st.lists(
    st.one_of(
        st.tuples(st.just("want"), st.booleans(), urgencies),
        st.tuples(st.just("want"), st.booleans(), urgencies),
        st.tuples(st.just("end"), st.integers(0, 20)),
        st.tuples(st.just("take back"), st.integers(0, 20)),
        st.tuples(st.just("limit"), st.integers(1, 3)),
    ),
    max_size=60,
)


class WaitingLine:
    """One buyer, asked for by name or through a group; who waits, and who holds a slot."""

    def __init__(self) -> None:
        self.account = AccountWorld()
        self.buyer_id = self.account.buyer(concurrency_cap_limit=1)
        self.group_id = self.account.group(self.buyer_id)
        self.waiting: dict[str, tuple[int, float, Instant]] = {}
        self.held: list[str] = []

    def want(self, request_id: str, *, by_name: bool, urgency: Urgency) -> None:
        urgency_class, priority, due = urgency
        due_at = self.account.now + due * MINUTE
        self.waiting[request_id] = urgency_class, priority, due_at
        whom: dict[str, Any] = {"buyer_ids": (self.buyer_id,)} if by_name else {"buyer_group_id": self.group_id}
        asked = {"urgency_class": urgency_class, "priority": priority, "due_at": due_at}
        self.take(self.account.want(request_id, **asked, **whom))

    def take(self, sent: list[SlotAnswered]) -> None:
        """Enter the grants of one decision, in their order: each must be the most urgent of those who waited until then."""
        for answer in sent:
            assert answer.granted, answer
            mine = self.waiting.pop(answer.request_id)
            assert mine <= min(self.waiting.values(), default=mine), f"{answer.request_id} passes {self.waiting}"
            self.held.append(answer.request_id)

    def end(self, place: int) -> None:
        if self.held:
            self.take(self.account.release(self.held.pop(place % len(self.held)), ended="connected"))

    def take_back(self, place: int) -> None:
        if self.waiting:
            request_id = list(self.waiting)[place % len(self.waiting)]
            del self.waiting[request_id]
            self.take(self.account.release(request_id))

    def left(self) -> list[str]:
        """Return what the account still holds or has waiting."""
        keys = [key for key, _ in self.account.state.items()]
        queues = [(key, self.account.state.get(key, Slots)) for key in keys if key.startswith("slots/")]
        found = [key for key in keys if key.startswith("claim/")]
        found += [key for key, slots in queues if slots is not None and (slots.in_use or slots.waiting)]
        return found


@settings(max_examples=100, deadline=None)
@given(things)
def test_every_slot_goes_to_the_most_urgent_who_waits_for_it_and_ends(steps: list[tuple[Any, ...]]) -> None:
    line = WaitingLine()
    for number, (what, *how) in enumerate(steps):
        match what:
            case "want":
                line.want(f"r{number}", by_name=how[0], urgency=how[1])
            case "end":
                line.end(how[0])
            case "take back":
                line.take_back(how[0])
            case "limit":
                line.take(line.account.changed("buyer", line.buyer_id, concurrency_cap_limit=how[0]))
    while line.held:
        line.end(0)
    assert not line.waiting
    assert line.left() == []
