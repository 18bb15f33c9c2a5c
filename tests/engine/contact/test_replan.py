"""Which leads are planned again when a rule changes? Every lead that depends on it, at once, and no other."""

from itertools import count
from typing import Any

import pytest

from engine.contact.lifecycle.replan import LEADS_SCANNED_MAX
from engine.partition.aggregate import Adoption
from engine.partition.state import State
from schemas.instant import EPOCH, HOUR, MINUTE
from schemas.records import Company, Offer, RulePack, plain
from schemas.state import lead_key
from schemas.wire import from_builtins, to_pack
from tests.engine.contact.world import NEW_YORK, NOON, World, at

EVERY_DAY = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
CALL = {"id": "call-1", "kind": "call"}
WAIT = {"id": "wait", "kind": "wait", "duration": "1h"}
EVENING = at("2026-07-15 22:00")


def pack(*rows: dict[str, Any], name: str = "Counsel") -> RulePack:
    """Return a company's own rules, of a source that everybody can read."""
    known = {"country": "US", "purposes": ["telemarketing"], "channels": ["call", "sms"], "reviewed_at": "2026-11-01"}
    rules = [
        {"id": f"own-{number}", "source_url": "https://example.com/memo", **known, **row} for number, row in enumerate(rows)
    ]
    return from_builtins({"name": name, "rules": rules}, RulePack)


TEN_TO_SIX = pack({"windows": [{"days": EVERY_DAY, "open": "10:00", "close": "18:00"}]})


def replanned(world: World) -> list[int]:
    return [fact.lead_id or 0 for fact in world.facts if fact.type == "lead.replanned"]


def test_a_rule_of_the_company_holds_beside_the_shipped_ones() -> None:
    world = World(now=EVENING)
    world.add("rule_pack", 5, TEN_TO_SIX)
    world.schedule(CALL)

    lead = world.submit()

    assert lead.next_action_at == at("2026-07-16 10:00")


def test_another_company_is_not_bound_by_it() -> None:
    world = World(now=EVENING)
    world.schedule(CALL)
    world.submit()

    assert world.lead().next_action_at == at("2026-07-16 08:00")


def test_a_stricter_rule_moves_the_leads_that_wait() -> None:
    world = World(now=EVENING)
    world.schedule(CALL)
    world.submit()

    world.add("rule_pack", 5, TEN_TO_SIX)
    world.wait(1)

    assert world.lead().next_action_at == at("2026-07-16 10:00")
    (fact,) = [fact for fact in world.facts if fact.type == "lead.replanned"]
    assert fact.data["cause"] == "rule_pack/5@1"
    assert fact.data["law"].split("+")[1] == "Counsel"
    world.wait_until(at("2026-07-16 10:00"))
    assert world.steps() == ["call-1"]


def test_a_rule_that_goes_lets_the_leads_go_earlier() -> None:
    world = World(now=EVENING)
    world.add("rule_pack", 5, TEN_TO_SIX)
    world.schedule(CALL)
    world.submit()

    world.add("rule_pack", 5, TEN_TO_SIX, version=2, deleted=True)
    world.wait(1)

    assert world.lead().next_action_at == at("2026-07-16 08:00")


def test_a_due_lead_is_checked_against_a_rule_that_was_adopted_this_instant() -> None:
    world = World(now=at("2026-07-16 07:59"))
    world.schedule(CALL)
    world.submit()
    world.add("rule_pack", 5, TEN_TO_SIX)

    world.wait_until(at("2026-07-16 09:59"))

    assert world.steps() == []


def test_who_is_not_touched_is_left_as_it_was() -> None:
    world = World(now=EVENING)
    world.schedule(CALL)
    before = world.submit()

    world.add("rule_pack", 5, pack({"state": "CA", "windows": [{"days": EVERY_DAY, "open": "10:00", "close": "18:00"}]}))
    world.wait(1)

    assert world.lead() == before
    assert replanned(world) == []


def test_a_cap_of_the_company_holds_at_once() -> None:
    world = World()
    world.schedule(CALL, {**CALL, "id": "call-2"})
    world.submit()
    world.outcome("no_answer")

    world.add("rule_pack", 5, pack({"cap": {"count": 1, "period": "6h", "unit": "number", "counts": ["call"]}}))
    world.wait(60)

    assert world.lead().next_action_at == NOON + 6 * HOUR
    assert world.lead().status_wait == "frequency_cap"


def test_a_new_name_of_a_pack_moves_nobody() -> None:
    world = World(now=EVENING)
    world.add("rule_pack", 5, TEN_TO_SIX)
    world.wait(1)
    world.schedule(CALL)
    world.submit()

    world.add("rule_pack", 5, from_builtins({**plain(TEN_TO_SIX), "name": "Renamed"}, RulePack), version=2)

    assert not any(key.startswith("replan/") for key in world.timers)


# -- pauses ------------------------------------------------------------------------------------------------------------


def lift_schedule(world: World) -> None:
    world.schedule(CALL, version=2)


def lift_offer(world: World) -> None:
    world.add("offer", 1, Offer(name="Solar", lead_token="offer", time_zone=NEW_YORK), version=3)


def lift_company(world: World) -> None:
    world.add("company", 1, Company(name="Sunny", time_zone=NEW_YORK), version=3)


@pytest.mark.parametrize("what", ["schedule", "offer", "company"])
def test_a_held_lead_polls_nothing_and_goes_on_the_moment_the_pause_is_lifted(what: str) -> None:
    world = World()
    world.schedule(CALL, paused=what == "schedule")
    if what == "offer":
        world.add("offer", 1, Offer(name="Solar", lead_token="offer", time_zone=NEW_YORK, paused=True), version=2)
    if what == "company":
        world.add("company", 1, Company(name="Sunny", time_zone=NEW_YORK, paused=True), version=2)
    lead = world.submit()
    assert (lead.status_wait, lead.wake_at) == (f"{what}_paused", None)
    world.wait(3 * 3600)
    version = world.lead().version

    {"schedule": lift_schedule, "offer": lift_offer, "company": lift_company}[what](world)
    world.wait(0.001)

    assert world.steps() == ["call-1"]
    assert world.lead().version == version + 2, "the sweep makes it due, its turn has it called"


def test_a_held_lead_still_expires() -> None:
    world = World()
    world.schedule(CALL, paused=True, hours_to_expire=2)
    world.submit()

    world.wait(2 * 3600)

    assert world.lead().status == "expired"


def test_leads_of_a_deleted_schedule_end_at_once() -> None:
    world = World(now=EVENING)
    world.schedule(CALL)
    world.submit()
    body = world.rules.schedule(1, 1)
    assert body is not None

    world.add("schedule", 1, body, version=2, deleted=True)
    world.wait(1)

    assert world.lead().status == "disabled"


@pytest.mark.parametrize("callback", [False, True])
def test_captured_leads_of_a_deleted_offer_end_with_their_callbacks(*, callback: bool) -> None:
    world = World()
    promised = {"schedule_callback_at": world.now + 5 * HOUR} if callback else {}
    world.submit(schedule_id=None, offer_id=1, **promised)
    assert (world.lead().status != "captured") is callback
    body = world.rules.body(Offer, "offer", 1)
    assert body is not None

    world.add("offer", 1, body, version=2, deleted=True)
    world.wait(1)

    lead = world.lead()
    assert (lead.status, lead.callback_at) == ("disabled", None)
    ended = next(fact for fact in world.facts if fact.type == "lead.ended")
    assert ended.data["reason"] == "offer_deleted"
    assert ("callback.cancelled" in world.fact_types()) is callback


def test_a_deleted_offer_ends_no_captured_lead_of_another_one_and_no_lead_on_a_schedule() -> None:
    world = World()
    world.schedule(WAIT, CALL)
    world.add("offer", 2, Offer(name="Roofs", lead_token="other"))
    world.submit(schedule_id=None, offer_id=2)
    world.submit(offer_id=1, schedule_id=1)
    body = world.rules.body(Offer, "offer", 1)
    assert body is not None

    world.add("offer", 1, body, version=2, deleted=True)
    world.wait(1)

    assert [(lead.offer_id, lead.schedule_id, lead.status) for lead in map(world.lead, world.lead_ids())] == [
        (2, None, "captured"),
        (1, 1, "scheduled"),
    ]


# -- versions of a schedule --------------------------------------------------------------------------------------------


def test_a_lead_keeps_to_the_version_that_it_entered() -> None:
    world = World()
    world.schedule(WAIT, CALL)
    world.submit()

    world.schedule(WAIT, {**CALL, "id": "call-9"}, version=2)
    world.wait(3600)

    assert world.steps() == ["call-1"]


def test_a_lead_goes_over_to_a_version_that_takes_it_along() -> None:
    world = World()
    world.schedule({**CALL, "id": "call-0"}, {**WAIT, "duration": "5h"}, CALL)
    world.submit()
    world.outcome("no_answer")

    windows = {"call": [{"days": EVERY_DAY, "open": "19:00", "close": "20:00"}]}
    world.schedule({**CALL, "id": "call-0"}, CALL, migrate="by_step_id", windows=windows, version=2)
    world.wait(1)
    stays = world.lead()
    world.wait(5 * 3600 + 60)

    assert stays.schedule_version == 2
    assert stays.next_action_at == at("2026-07-15 19:00")
    assert "call-1" not in world.steps()


def test_a_lead_whose_step_is_gone_stays_on_its_version_and_says_so() -> None:
    world = World()
    world.schedule(WAIT, CALL)
    world.submit()

    world.schedule({**WAIT, "id": "another"}, {**CALL, "id": "other"}, migrate="by_step_id", version=2)
    world.wait(1)

    assert world.lead().schedule_version == 1
    assert "lead.not_migrated" in world.fact_types()


# -- versions of the data ----------------------------------------------------------------------------------------------


def test_e31_new_rules_of_a_zone_replan_its_leads() -> None:
    world = World(now=EVENING)
    world.schedule(CALL)
    lead = world.submit()
    # As the zone was before: an hour off.
    lead.next_action_at = lead.planned_at = lead.wake_at = (lead.next_action_at or EPOCH) + HOUR
    world.state.set(lead_key(lead.id), to_pack(lead))
    world.state.commit()
    world.timers[lead_key(lead.id)] = EPOCH

    world.adopt(Adoption(versions_before={"tzdata": "2026a"}, versions={"tzdata": "2026b"}))
    world.wait(1)

    assert world.lead().next_action_at == at("2026-07-16 08:00")
    (fact,) = [fact for fact in world.facts if fact.type == "lead.replanned"]
    assert fact.data["cause"] == "versions tzdata 2026a -> 2026b"


def test_a_newer_version_of_the_decision_rules_plans_every_lead_again() -> None:
    world = World(now=EVENING)
    world.schedule(CALL)
    lead = world.submit()
    lead.next_action_at = lead.planned_at = lead.wake_at = (lead.next_action_at or EPOCH) + HOUR
    world.state.set(lead_key(lead.id), to_pack(lead))
    world.state.commit()
    world.timers[lead_key(lead.id)] = EPOCH

    before = {"tzdata": "2026a", "decision_rules": "1"}
    world.adopt(Adoption(versions_before=before, versions={**before, "decision_rules": "2"}))
    world.wait(1)

    (fact,) = [fact for fact in world.facts if fact.type == "lead.replanned"]
    assert fact.data["cause"] == "versions decision_rules 1 -> 2"


@pytest.mark.parametrize("name", ["phonenumbers", "places", "cldr"])
def test_newer_tables_of_places_find_again_where_a_waiting_lead_is(name: str) -> None:
    world = World(now=at("2026-12-01 11:00", "UTC"))
    world.schedule(CALL)
    # As a former release had it: Alberta with the clock of Denver, an hour behind.
    lead = world.submit(
        caller_id="+14035550123",
        contact_key="1|+14035550123",
        columns={"country": "CA", "state_province": "AB"},
        zones=("America/Denver",),
        zone_source="state",
        states=("AB",),
    )
    assert lead.next_action_at == at("2026-12-01 16:00", "UTC"), "9:00 in Denver"

    world.adopt(Adoption(versions_before={name: "1"}, versions={name: "2"}))
    world.wait(1)

    found = world.lead(lead.id)
    assert (found.zones, found.zone_source, found.states) == (("America/Edmonton",), "state", ("AB",))
    assert found.next_action_at == at("2026-12-01 15:00", "UTC"), "9:00 in Edmonton"
    (fact,) = [fact for fact in world.facts if fact.type == "lead.replanned"]
    assert fact.data["cause"] == f"versions {name} 1 -> 2"


def test_a_zone_that_was_trusted_alone_stays_whatever_the_tables_say() -> None:
    world = World(now=EVENING)
    world.schedule(CALL)
    lead = world.submit(zones=("America/Denver",), zone_source="stated", states=("FL",))

    world.adopt(Adoption(versions_before={"places": "1"}, versions={"places": "2"}))
    world.wait(1)

    assert world.lead(lead.id).zones == ("America/Denver",)


def test_the_first_versions_of_a_partition_replan_no_lead() -> None:
    world = World()
    world.adopt(Adoption(versions={"tzdata": "2026b"}))

    assert world.timers == {}


# -- how many at once --------------------------------------------------------------------------------------------------


def test_many_leads_are_gone_through_by_bounded_ticks_and_each_once() -> None:
    world = World(now=EVENING)
    world.schedule(CALL)
    numbers = count(1)
    for _ in range(350):
        number = f"+1305556{next(numbers):04d}"
        world.submit(caller_id=number, contact_key=f"1|{number}")
    reported = len(world.facts)

    world.add("rule_pack", 5, TEN_TO_SIX)
    ticks = _ticks(world)

    assert ticks == 4
    assert sorted(replanned(world)) == world.lead_ids()
    assert {world.lead(lead_id).next_action_at for lead_id in world.lead_ids()} == {at("2026-07-16 10:00")}
    assert len(world.facts) > reported


def _ticks(world: World) -> int:
    """Let what is to be gone through be gone through; return in how many ticks."""
    for ticks in range(100):
        if not any(key.startswith("replan/") for key in world.timers):
            return ticks
        world.wait(0)
        world.now += 1
    raise AssertionError("it never comes to its end")


def test_a_lead_that_cannot_be_planned_does_not_keep_the_others_waiting() -> None:
    world = World()
    world.schedule(CALL, paused=True)
    for number in range(3):
        world.submit(caller_id=f"+1305556000{number}", contact_key=f"1|+1305556000{number}")
    broken = world.lead(world.lead_ids()[0])
    broken.step = "a step that is not there"
    world.state.set(lead_key(broken.id), to_pack(broken))
    world.state.commit()

    lift_schedule(world)
    world.wait(0.001)

    assert [command.lead_id for command in world.commands] == world.lead_ids()[1:]
    (fact,) = [fact for fact in world.facts if fact.type == "lead.replan_failed"]
    assert (fact.lead_id, fact.data["error"]) == (broken.id, "KeyError")
    assert world.lead(broken.id) == broken


def test_a_lead_that_is_due_already_keeps_its_place_in_a_sweep() -> None:
    """It is planned by the newest rules when its turn comes; a sweep must not call it before one of higher priority."""
    world = World()
    world.schedule(CALL)
    lead = world.submit(next_action_at=NOON + HOUR, zone_source="stated")
    world.now = NOON + HOUR

    world.adopt(Adoption(versions_before={"tzdata": "2026a"}, versions={"tzdata": "2026b"}))
    (key,) = [key for key in world.timers if key.startswith("replan/")]
    draft = world._draft()
    world.aggregate.wake(draft, key, world.now)
    world._apply(draft)

    assert world.lead() == lead
    assert world.steps() == []
    world.wait(0)
    assert world.steps() == ["call-1"]


def test_who_waits_for_a_sweep_goes_first_by_priority_and_then_by_since_when_it_is_due() -> None:
    world = World()
    world.schedule(CALL, paused=True)
    for number, (priority, minutes) in enumerate([(5.0, 1), (5.0, 0), (1.0, 2)]):
        key = f"+1305556000{number}"
        at_minute = NOON + minutes * MINUTE
        world.submit(caller_id=key, contact_key=f"1|{key}", lead_priority=priority, next_action_at=at_minute)
    late, early, first = world.lead_ids()
    world.wait(600)

    lift_schedule(world)
    (key,) = [key for key in world.timers if key.startswith("replan/")]
    draft = world._draft()
    world.aggregate.wake(draft, key, world.now)
    timers = [world.aggregate.timer(key, lead) for key, lead in draft.changed.items() if lead is not None]

    due = sorted((timer for timer in timers if timer is not None), key=lambda timer: (timer.priority, timer.due_at))
    assert [timer.id for timer in due] == [first, early, late]
    assert {timer.gate for timer in due} == {key}


def test_two_changes_at_once_leave_no_lead_out() -> None:
    world = World(now=EVENING)
    world.schedule(WAIT, CALL)
    world.submit()
    world.schedule(WAIT, CALL, migrate="by_step_id", paused=True, version=2)
    world.schedule(WAIT, CALL, version=3)

    world.wait(1)

    assert world.lead().schedule_version == 2


@pytest.mark.parametrize("is_listed_before", [True, False])
def test_the_leads_of_a_partition_are_found_in_order_whenever_they_came(is_listed_before: bool) -> None:
    state = State()
    for number in (9, 3, 2000):
        state.set(lead_key(number), b"x")
    state.commit()
    if is_listed_before:
        state.sorted_ids_after("lead", 0, 10)
    state.set(lead_key(7), b"x")
    state.set(lead_key(3), None)
    state.set("head/1|+1", b"x")

    assert state.sorted_ids_after("lead", 0, 10) == [7, 9, 2000]
    assert state.sorted_ids_after("lead", 7, 1) == [9]
    state.rollback()
    assert state.sorted_ids_after("lead", 0, 10) == [3, 9, 2000]
    state.drop_sorted_ids("lead")
    assert state.sorted_ids_after("lead", 3, LEADS_SCANNED_MAX) == [9, 2000]


def test_a_rule_that_came_and_went_leaves_the_plan_as_it_was() -> None:
    world = World(now=EVENING)
    world.schedule(CALL)
    first = world.submit()
    world.add("rule_pack", 5, TEN_TO_SIX)
    world.add("rule_pack", 5, TEN_TO_SIX, version=2, deleted=True)
    world.wait(1)

    assert world.lead() == first
