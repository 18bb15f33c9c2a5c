"""How many commands may be open at once? Companies share the capacity fairly, the most urgent lead first."""

from itertools import count
from typing import Any

import pytest

from engine import limits
from engine.contact.commands.backpressure import WAITS_FOR_PLACE
from engine.partition.places import PlaceClaim, Places, gate_key
from engine.partition.timers import TimerQueue
from schemas.contact import Lead
from schemas.instant import EPOCH, HOUR, MINUTE
from schemas.records import Company, Offer
from tests.engine.contact.world import NEW_YORK, World

TEXT = {"id": "text", "kind": "sms", "template": "Hi"}
CALL = {"id": "call", "kind": "call"}
REST = {"id": "rest", "kind": "wait", "duration": "5h"}


class PlacesTown(World):
    """People of two companies, whose due timers go through the gates of a running partition."""

    def __init__(self, *steps: dict[str, Any]) -> None:
        super().__init__()
        self.people = count(100)
        self.queue = TimerQueue(self._timer, self.state.places.gate)
        self.schedule(*(steps or (TEXT, REST)))
        self.company_id = 2
        self.add("company", 2, Company(name="Cloudy", time_zone=NEW_YORK))
        self.add("offer", 2, Offer(name="Wind", lead_token="offer-2", time_zone=NEW_YORK))
        self.schedule(*(steps or (TEXT, REST)), record_id=2, offer_id=2)

    def come(self, company_id: int = 1, priority: float = 100.0, **fields: object) -> Lead:
        number = f"+1305555{next(self.people):04}"
        about = {"company_id": company_id, "contact_key": f"{company_id}|{number}", "schedule_id": company_id}
        return self.submit(caller_id=number, lead_priority=priority, **about, **fields)

    def fire(self) -> list[int]:
        """Fire what is due until nothing passes a gate; return the leads."""
        fired = []
        while due := self.queue.pop_due(self.now, 1_000):
            for timer in due:
                fired.append(timer.id)
                draft = self._draft()
                self.aggregate.wake(draft, timer.key, timer.due_at)
                self._apply(draft)
        return fired

    def emitted(self) -> list[int]:
        return [command.lead_id for command in self.commands]

    def end(self, lead: Lead, outcome: str = "delivered") -> None:
        command = next(command for command in reversed(self.commands) if command.lead_id == lead.id)
        self.outcome(outcome, command, company_id=lead.company_id)

    def _apply(self, draft: Any) -> None:
        super()._apply(draft)
        for key in draft.changed:
            timer = self._timer(key)
            if timer is not None and hasattr(self, "queue"):
                self.queue.push(timer)


@pytest.fixture(autouse=True)
def _four_places(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "OPEN_COMMANDS_MAX", 4)


@pytest.mark.parametrize("step", [TEXT, CALL])
def test_one_company_has_half_of_the_places_and_the_rest_wait_due(step: dict[str, Any]) -> None:
    town = PlacesTown(step, REST)
    leads = [town.come() for _ in range(5)]

    assert town.emitted() == [lead.id for lead in leads[:2]]
    for lead in map(town.lead, (lead.id for lead in leads[2:])):
        assert (lead.status, lead.status_wait, lead.awaits_place) == ("waiting", WAITS_FOR_PLACE, step["kind"])
        assert lead.wake_at is not None
        assert lead.wake_at <= town.now
    assert town.fire() == [], "nothing is polled while no place is free"
    assert town.queue.next_due_at() != EPOCH


def test_an_outcome_frees_a_place_for_the_most_urgent_lead_and_newcomers_line_up() -> None:
    town = PlacesTown()
    first, _, low, high = town.come(), town.come(), town.come(priority=100), town.come(priority=1)

    town.end(first)
    newcomer = town.come(priority=50)

    assert town.lead(newcomer.id).awaits_place == "sms", "a place is free, but others have waited for it"
    assert town.fire() == [high.id]
    assert town.emitted()[2:] == [high.id]
    assert town.lead(low.id).awaits_place == "sms"


def test_an_outcome_that_never_comes_frees_its_place_when_it_times_out() -> None:
    town = PlacesTown()
    leads = [town.come() for _ in range(4)]
    town.now += 10 * MINUTE

    town.fire()

    assert town.emitted() == [lead.id for lead in leads]


def test_another_company_orders_at_once_while_a_burst_waits() -> None:
    town = PlacesTown()
    for _ in range(30):
        town.come()
    other = town.come(company_id=2)

    assert town.emitted()[2:] == [other.id]


def test_of_two_companies_that_wait_each_gets_its_share() -> None:
    town = PlacesTown()
    burst = [town.come() for _ in range(20)]
    others = [town.come(company_id=2) for _ in range(10)]

    for _ in range(18):
        town.end(next(lead for lead in map(town.lead, town.emitted()) if lead.flight is not None))
        town.fire()
        assert town.state.places.used("sms") <= 4

    mine = [lead_id for lead_id in town.emitted() if lead_id in {lead.id for lead in others}]
    assert len(mine) >= 6, "at least half of what it would get where the two took turns"
    assert mine == [lead.id for lead in others][: len(mine)]
    assert len(town.emitted()) - len(mine) < len(burst)


def test_a_lead_that_waits_for_a_place_still_expires() -> None:
    town = PlacesTown()
    for _ in range(2):
        town.come()
    lead = town.come(hours_to_expire=1)
    town.now += 61 * MINUTE
    town.fire()
    assert town.lead(lead.id).status == "expired"
    assert not town.state.places.are_awaited("sms", 1)


def test_a_lead_that_waited_too_long_for_a_place_is_as_late_as_it_is() -> None:
    town = PlacesTown({**TEXT, "outcome_timeout": "4h"}, REST)
    leads = [town.come() for _ in range(3)]
    town.now += 3 * HOUR
    town.end(leads[0])
    town.fire()
    assert "too_late" in [fact.data.get("reason") for fact in town.facts if fact.lead_id == leads[2].id]


def test_what_is_rolled_back_gives_its_places_back() -> None:
    places = Places()
    places.put("lead/1", PlaceClaim("sms", 1, holds=True))
    places.commit()
    places.put("lead/1", None)
    places.put("lead/2", PlaceClaim("sms", 1, holds=False))
    places.rollback()
    assert (places.used("sms"), places.are_awaited("sms", 1)) == (1, False)
    assert (places.gate(gate_key("sms", 1)).held, places.gate(gate_key("sms", 1)).room) == (1, 1)


def test_the_places_after_a_restore_are_those_that_the_leads_claim() -> None:
    town = PlacesTown()
    leads = [town.come() for _ in range(4)]
    town.end(leads[0])
    again = Places()
    for key in dict(town.state.items()):
        again.put(key, town.aggregate.claim(town._entity(key)))
    assert again._claims == town.state.places._claims
    assert again.used("sms") == town.state.places.used("sms") == 1
