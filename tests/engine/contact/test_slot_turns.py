"""Which slot requests are open? Of each queue the most urgent, as many as it has lines; the others wait, none is lost."""

from itertools import count
from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.partition.aggregate import Timer
from engine.partition.gates import gate_of
from engine.partition.timers import TimerQueue
from schemas.contact import LIVE_STATUSES, PROMISED_CLASS, Lead, OpenSlotRequest, OpenSlotRequests, waits_in_queue
from schemas.instant import EPOCH, HOUR, MINUTE, SECOND
from schemas.records import Buyer, BuyerGroup, Offer
from schemas.requests import SlotAnswered, SlotReleased, SlotRequested
from schemas.state import ASKING_PREFIX, kind_of
from tests.engine.contact.world import NEW_YORK, World

LINES = 3
CALL = {"id": "call", "kind": "call", "connect": {"buyer_group_id": 7}}


class TurnsTown(World):
    """Many people of one company behind three lines; the account's answers come when the test says so."""

    def __init__(self, **schedule: Any) -> None:
        super().__init__()
        self.deliver = False
        self.people = count(100)
        self.add("buyer", 3, Buyer(name="Closer", number="+12125550140"))
        self.add("buyer_group", 7, BuyerGroup(name="Closers", buyer_ids=(3,), concurrency_cap_limit=LINES))
        self.schedule(CALL, **schedule)
        self.queue = TimerQueue(self._timer, lambda key: gate_of(self.state, key))

    def come(self, priority: float = 100.0, **fields: object) -> Lead:
        number = f"+1305555{next(self.people):04}"
        lead = self.submit(contact_key=f"1|{number}", caller_id=number, lead_priority=priority, **fields)
        return self.lead(lead.id)

    def come_later(self, priority: float, minutes: int) -> Lead:
        """Let a lead come that is due some minutes after the others."""
        return self.come(priority, next_action_at=self.now + minutes * MINUTE)

    def fire(self, limit: int = 1_000) -> list[int]:
        """Fire what is due once, as a cycle does; return the leads."""
        due: list[Timer] = self.queue.pop_due(self.now, limit)
        for timer in due:
            draft = self._draft()
            self.aggregate.wake(draft, timer.key, timer.due_at)
            self._apply(draft)
        return [timer.id for timer in due]

    def answer_slot(self, lead_id: int, *, granted: bool = True, request_id: str | None = None, **fields: object) -> None:
        lead = self.lead(lead_id)
        given = {
            "company_id": 1,
            "contact_key": lead.contact_key,
            "lead_id": lead_id,
            "granted": granted,
            "buyer_group_id": 7,
        }
        given |= {"request_id": request_id or lead.slot_id, "buyer_id": 3 if granted else None}
        given |= fields
        self.ask(msgspec.convert(given, SlotAnswered))

    @property
    def open(self) -> set[int]:
        return {asked.lead_id for asking in self.asking for asked in asking.open}

    @property
    def asking(self) -> list[OpenSlotRequests]:
        """Return the queues that somebody asks from, or that are closed."""
        keys = [key for key, _ in self.state.items() if key.startswith(ASKING_PREFIX)]
        return [found for key in keys if (found := self.state.get(key, OpenSlotRequests)) is not None]

    @property
    def asked(self) -> set[int]:
        return {lead_id for lead_id in self.lead_ids() if self.lead(lead_id).slot_id is not None}

    @property
    def in_line(self) -> list[int]:
        return [lead_id for lead_id in self.lead_ids() if waits_in_queue(self.lead(lead_id))]

    def requests(self) -> list[str]:
        """Return the ids of requests that the account got and that were not withdrawn, in sequence."""
        found: dict[str, None] = {}
        for letter in self.messages:
            if letter.type == "slot.requested":
                found[msgspec.json.decode(letter.body, type=SlotRequested).request_id] = None
            elif letter.type == "slot.released":
                found.pop(msgspec.json.decode(letter.body, type=SlotReleased).request_id, None)
        return list(found)

    def _apply(self, draft: object) -> None:
        super()._apply(draft)  # type: ignore[arg-type]
        for key in draft.changed:  # type: ignore[attr-defined]
            timer = self._timer(key)
            if timer is not None and hasattr(self, "queue"):
                self.queue.push(timer)

    def _timer(self, key: str) -> Timer | None:
        packed = self.state.packed(key)
        return None if packed is None else self.aggregate.timer(key, self.state.get(key, kind_of(key)))  # type: ignore[arg-type]


def test_the_fourth_waits_in_the_partition_and_is_asked_for_when_one_ends() -> None:
    town = TurnsTown()
    leads = [town.come() for _ in range(5)]
    assert town.open == town.asked == {lead.id for lead in leads[:3]}
    assert town.in_line == [leads[3].id, leads[4].id]
    assert (leads[3].status, leads[3].status_wait) == ("waiting", "concurrency_cap")
    assert town.fire() == []
    assert town.queue.next_due_at() != EPOCH
    town.answer_slot(leads[1].id)
    assert town.commands[-1].lead_id == leads[1].id
    assert town.queue.next_due_at() == EPOCH
    assert town.fire() == [leads[3].id]
    assert town.open == town.asked == {leads[0].id, leads[2].id, leads[3].id}
    assert len(town.requests()) == 4  # three open, and the slot of the call


def test_a_more_urgent_lead_takes_the_place_of_the_least_urgent() -> None:
    town = TurnsTown()
    ordinary = [town.come(100), town.come(90), town.come(110)]
    urgent = town.come(10)
    assert town.open == town.asked == {ordinary[0].id, ordinary[1].id, urgent.id}
    sent_back = town.lead(ordinary[2].id)
    assert (sent_back.slot_id, sent_back.slot_due_at, waits_in_queue(sent_back)) == (None, None, True)
    assert len(town.requests()) == 3
    assert waits_in_queue(town.come(200))
    town.answer_slot(urgent.id)
    assert town.fire() == [sent_back.id]
    assert (
        town.lead(sent_back.id).slot_id != ordinary[2].slot_id
    )  # requested again: an answer to the old request does not count


def test_a_slot_that_was_granted_to_who_was_sent_back_is_given_back() -> None:
    town = TurnsTown()
    first = [town.come(100) for _ in range(3)]
    old = town.lead(first[2].id).slot_id
    assert old is not None
    town.come(1)
    before = len(town.messages)
    town.answer_slot(first[2].id, request_id=old)
    assert [letter.type for letter in town.messages[before:]] == ["slot.released"]
    assert waits_in_queue(town.lead(first[2].id))
    assert town.commands == []


def test_two_leads_of_one_person_may_take_each_others_place() -> None:
    town = TurnsTown()
    town.add("offer", 2, Offer(name="Roofs", lead_token="offer-2", time_zone=NEW_YORK))
    town.schedule(CALL, record_id=2, offer_id=2)
    first = town.come(100)
    others = [town.come(50), town.come(50)]
    number = first.caller_id
    second = town.submit(contact_key=first.contact_key, caller_id=number, schedule_id=2, lead_priority=1.0)
    assert second.id != first.id
    assert town.open == town.asked == {second.id, *(lead.id for lead in others)}
    assert waits_in_queue(town.lead(first.id))


def test_who_waits_expires_on_time() -> None:
    town = TurnsTown(hours_to_expire=1)
    for _ in range(4):
        town.come()
    waiting = town.in_line[0]
    town.now += HOUR
    assert waiting in town.fire()
    assert town.lead(waiting).status == "expired"


def test_a_refusal_closes_the_queue_and_one_lead_tries_ever_less_often() -> None:
    town = TurnsTown()
    leads = [town.come() for _ in range(60)]
    for lead in leads[:LINES]:
        town.answer_slot(lead.id, granted=False)
    assert town.fire() == []  # what waits decides nothing; the projection shows why it waits
    assert {town.lead(lead.id).status_wait for lead in leads[:LINES]} == {"no_buyer_available"}
    assert [asking.closed_reason for asking in town.asking] == ["no_buyer_available"]
    late = town.come()
    assert (late.slot_id, late.status_wait, waits_in_queue(late)) == (None, "no_buyer_available", True)
    asked = 0
    for _ in range(4 * 60 * 12):
        town.now += 5 * SECOND
        town.fire()
        assert len(town.asked) <= 1
        asked += len(town.asked)
        for lead_id in town.asked:
            town.answer_slot(lead_id, granted=False)
    assert 10 <= asked <= 30


def test_a_lead_that_gets_a_slot_opens_its_queue_for_all() -> None:
    town = TurnsTown()
    leads = [town.come() for _ in range(8)]
    for lead in leads[:LINES]:
        town.answer_slot(lead.id, granted=False)
    town.now += 5 * SECOND
    town.fire()
    town.fire()
    assert len(town.asked) == 1
    town.answer_slot(*town.asked)
    town.fire()
    town.fire()
    assert len(town.asked) == LINES


def test_a_changed_record_opens_the_queues_that_it_may_have_closed() -> None:
    town = TurnsTown()
    leads = [town.come() for _ in range(8)]
    town.now += 10
    for lead in leads[:LINES]:
        town.answer_slot(lead.id, granted=False, reason="buyer_cap", until=town.now + 12 * HOUR)
    town.now += SECOND
    town.fire()
    assert town.asked == set()
    town.add("buyer_group", 7, BuyerGroup(name="Closers", buyer_ids=(3,), concurrency_cap_limit=LINES, tier=2), version=2)
    town.fire()
    town.fire()
    assert len(town.asked) == 1


def test_a_queue_whose_cap_resets_opens_at_that_time() -> None:
    town = TurnsTown(hours_to_expire=48)
    leads = [town.come() for _ in range(40)]
    until = town.now + 6 * HOUR
    while town.now < until - MINUTE:
        for lead_id in town.asked:
            town.answer_slot(lead_id, granted=False, reason="buyer_cap", until=until)
        town.now += 20 * SECOND
        town.fire()
    assert len(leads) - 3 > len(town.in_line) > 0
    town.now = until - 1
    town.fire()
    assert town.asked == set()
    town.now = until
    town.fire()
    town.fire()
    assert len(town.asked) == 1


def test_a_closed_queue_that_nobody_waits_in_is_forgotten() -> None:
    town = TurnsTown()
    lead = town.come()
    town.answer_slot(lead.id, granted=False)
    town.act("remove", contact_key=lead.contact_key)
    assert len(town.asking) == 1
    for _ in range(3):
        town.now += 61 * MINUTE
        town.fire()
    assert town.asking == []


def test_a_queue_that_nobody_asks_from_admits_one_lead() -> None:
    town = TurnsTown()
    leads = [town.come() for _ in range(20)]
    for lead in leads[:LINES]:
        town.answer_slot(lead.id)
    assert town.asking == []
    assert len(town.fire()) == 1
    assert len(town.fire()) == LINES - 1
    assert town.fire() == []


def test_a_waiting_lead_of_a_changed_step_waits_for_the_buyers_of_the_new_one() -> None:
    town = TurnsTown()
    leads = [town.come() for _ in range(6)]
    town.add("buyer", 4, Buyer(name="Other", number="+12125550141", concurrency_cap_limit=1))
    town.schedule({**CALL, "connect": {"buyer_ids": [4]}}, version=2, migrate="by_step_id")
    town.now += SECOND
    for _ in range(6):
        town.fire()
    assert {waits_in_queue(town.lead(lead.id)) for lead in leads} == {True, False}
    assert len({town.lead(lead.id).slot_queue for lead in leads}) == 1
    (asking,) = town.asking
    assert (asking.heads_max, len(asking.open)) == (1, 1)


def test_a_callback_asks_though_its_queue_is_full_or_closed() -> None:
    asking = OpenSlotRequests(company_id=1, heads_max=1)
    asking.open = (OpenSlotRequest(PROMISED_CLASS, 1.0, EPOCH, 1), OpenSlotRequest(PROMISED_CLASS, 1.0, EPOCH, 2))
    assert (asking.room, asking.least_urgent(EPOCH)) == (1, [])
    asking.open = (*asking.open, OpenSlotRequest(2, 1.0, EPOCH, 3))
    assert (asking.room, [one.lead_id for one in asking.least_urgent(EPOCH)]) == (0, [3])


def test_leads_that_could_be_given_different_slots_do_not_wait_for_each_other() -> None:
    town = TurnsTown()
    for _ in range(LINES + 2):
        town.come()
    town.add("buyer_group", 8, BuyerGroup(name="Others", buyer_ids=(3,), concurrency_cap_limit=1))
    town.schedule({**CALL, "connect": {"buyer_group_id": 8}}, record_id=2)
    others = [town.come(500, schedule_id=2) for _ in range(3)]
    assert [lead.id in town.asked for lead in others] == [True, False, False]
    assert len(town.asked) == LINES + 1


def test_who_is_stopped_makes_room() -> None:
    town = TurnsTown()
    leads = [town.come() for _ in range(4)]
    town.act("remove", contact_key=leads[0].contact_key)
    assert leads[0].id not in town.open
    assert town.fire() == [leads[3].id]
    assert town.open == town.asked


def test_after_a_restore_those_that_wait_still_wait() -> None:
    town = TurnsTown()
    leads = [town.come(100 - number) for number in range(6)]
    waiting = list(town.in_line)
    town.queue.rebuild(timer for key, _ in town.state.items() if (timer := town._timer(key)) is not None)
    assert town.fire() == []
    assert town.in_line == waiting
    town.answer_slot(leads[5].id)
    assert town.fire() == [leads[2].id]


def test_a_partition_that_nobody_asks_from_keeps_nothing_of_it() -> None:
    town = TurnsTown()
    lead = town.come()
    town.answer_slot(lead.id)
    assert town.asking == []


ACTS = st.lists(
    st.one_of(
        st.tuples(st.just("come"), st.sampled_from([1.0, 50.0, 100.0, 100.0, 200.0])),
        st.tuples(st.just("later"), st.sampled_from([1.0, 100.0, 200.0])),
        st.tuples(st.sampled_from(["grant", "refuse", "fire", "fire", "time", "stop", "late"]), st.just(0.0)),
    ),
    max_size=40,
)


@given(acts=ACTS)
@settings(max_examples=150, deadline=None)
def test_the_most_urgent_are_open_and_nothing_is_lost(acts: list[tuple[str, float]]) -> None:
    town = TurnsTown()
    old: list[tuple[int, str]] = []
    for act, priority in acts:
        before = {lead_id: town.lead(lead_id).slot_id for lead_id in town.asked}
        _do(town, act, priority, old)
        old += [(lead_id, slot) for lead_id, slot in before.items() if slot is not None and lead_id not in town.asked]
        _holds(town, at_turn=act == "fire")
    for _ in range(300):  # in the end everybody is called
        while town.fire():
            _holds(town)
        for lead_id in sorted(town.asked):
            town.answer_slot(lead_id)
        town.now += 6 * MINUTE
        if not town.asked and not town.in_line and town.queue.next_due_at() is None:
            break
    called = {command.lead_id for command in town.commands}
    stopped = {lead_id for lead_id in town.lead_ids() if town.lead(lead_id).status not in LIVE_STATUSES}
    assert called | stopped >= set(town.lead_ids())


def _do(town: TurnsTown, act: str, priority: float, old: list[tuple[int, str]]) -> None:
    asked = sorted(town.asked)
    if act == "come":
        town.come(priority)
    elif act == "later":
        town.come_later(priority, 3)
    elif act == "fire":
        while town.fire():  # a queue opens one lead a cycle, and the next cycle follows at once
            pass
    elif act == "time":
        town.now += 2 * MINUTE
    elif act == "late" and old:
        town.answer_slot(old[0][0], request_id=old[0][1])
    elif act in {"grant", "refuse"} and asked:
        town.answer_slot(asked[len(asked) // 2], granted=act == "grant")
    elif act == "stop" and asked:
        town.act("remove", contact_key=town.lead(asked[0]).contact_key)


def _holds(town: TurnsTown, *, at_turn: bool = False) -> None:
    """Check what is always true, and what is true once nothing is due: until then any lead takes free capacity."""
    assert town.open == town.asked
    assert len(town.open) <= LINES
    leads = {lead_id: town.lead(lead_id) for lead_id in town.lead_ids()}
    in_line = [leads[lead_id] for lead_id in town.in_line]
    for lead in in_line:
        assert lead.wake_at is not None
        assert lead.slot_id is None
        assert lead.status == "waiting"
    if at_turn and in_line and not any(asking.closed_at for asking in town.asking):
        assert len(town.open) == LINES
        ranks = [(leads[one].urgency_class, leads[one].lead_priority) for one in town.open]
        assert max(ranks) <= min((lead.urgency_class, lead.lead_priority) for lead in in_line)


def test_with_aging_none_is_passed_over_for_ever() -> None:
    """More urgent leads come all the time; one that gets more urgent by ten an hour has its turn in time."""
    town = TurnsTown(priority_aging=10.0, hours_to_expire=240)
    poor = town.come(100)
    for _ in range(3):
        town.come(50)
    assert waits_in_queue(town.lead(poor.id))
    hours = 0
    while waits_in_queue(town.lead(poor.id)) and hours < 24:
        hours += 1
        town.now += HOUR
        town.answer_slot(min(town.open))
        town.come(50)
        town.fire()
    assert 4 <= hours <= 7
