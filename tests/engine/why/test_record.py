"""Does a decision record every reason of its plan, and none where nothing moved it?"""

from typing import Any

import pytest

from engine.why.record import plan_record
from schemas.instant import HOUR, to_rfc3339
from tests.engine.contact.world import NEW_YORK, NOON, at
from tests.engine.why.explained_world import ExplainedWorld
from tests.engine.why.test_answer import AGAIN, CALL, OFFICE, TEXT, asked, wait

EIGHT = at("2026-07-16 08:00")


def planned(world: ExplainedWorld) -> dict[str, Any]:
    """The data of the last plan that was stated."""
    return dict(next(fact.data for _, fact in reversed(world.lead_facts) if "at" in fact.data and "reasons" in fact.data))


def test_a_plan_that_nothing_moved_says_only_where_it_came_from() -> None:
    world = asked(wait("3h"), TEXT)
    world.submit()
    assert planned(world) == {"step_id": "text-1", "at": NOON + 3 * HOUR, "reasons": [], "source": "schedule_step"}


def test_what_is_ordered_at_once_has_its_source_with_the_order() -> None:
    world = asked(CALL)
    world.submit()
    assert world.lead_facts[-1][1].type == "command.emitted"
    assert world.lead_facts[-1][1].data["source"] == "schedule_step"


def test_each_rule_that_moved_a_plan_stands_with_its_row_its_zone_and_until_when_it_did() -> None:
    world = asked(CALL, now="2026-07-15 20:30", windows=OFFICE)
    world.submit(states=("FL",))
    nine = at("2026-07-16 09:00")
    assert planned(world) == {
        "step_id": "call-1",
        "at": nine,
        "reasons": ["quiet_hours_state", "preferred_window"],
        "source": "schedule_step",
        "base": world.now,
        "constraints": [
            {"code": "quiet_hours_state", "until": EIGHT, "zone": NEW_YORK, "rules": ["us-fl"]},
            {"code": "preferred_window", "until": nine, "zone": NEW_YORK},
        ],
    }
    assert world.lead().rule_deciding is None, "the schedule, not the law, moved it last"


@pytest.mark.parametrize(
    ("fields", "source", "base"),
    [
        ({"next_action_at": at("2026-07-15 22:00")}, "explicit", at("2026-07-15 22:00")),
        ({"schedule_callback_at": at("2026-07-15 23:00")}, "callback", at("2026-07-15 23:00")),
    ],
)
def test_the_candidate_that_was_passed_over_stands_beside_the_chosen_one(
    fields: dict[str, int], source: str, base: int
) -> None:
    world = asked(CALL)
    world.submit(**fields)
    found = planned(world)
    assert (found["source"], found["base"], found["at"]) == (source, base, EIGHT)
    assert found["passed_over"] == [{"source": "schedule_step", "base": NOON}]


def test_a_retry_says_that_it_is_one() -> None:
    world = asked(AGAIN)
    world.submit()
    world.outcome("no_answer")
    assert (planned(world)["source"], planned(world)["at"]) == ("retry", NOON + 2 * HOUR)


def test_an_instant_that_comes_after_the_expiry_is_recorded_as_the_earliest() -> None:
    world = asked(CALL, now="2026-07-15 22:00", hours_to_expire=5)
    world.submit()
    assert (planned(world)["at"], planned(world)["earliest"]) == (None, EIGHT)


def test_what_a_step_waits_for_is_recorded() -> None:
    world = asked({"id": "hope", "kind": "wait_for", "event": "converted", "timeout": "2h"}, CALL)
    world.submit()
    assert (planned(world)["waits_for"], planned(world)["at"]) == ("awaiting_event", NOON + 2 * HOUR)


def test_the_whole_record_holds_zones_states_counters_and_versions() -> None:
    world = asked({**AGAIN, "id": "call-1"}, now="2026-07-15 19:30", max_contact_attempts=6)
    lead = world.submit(states=("FL",), zone_source="stated")
    world.outcome("no_answer")
    fact = world.case().facts[-1]
    record = plan_record(
        fact, world.lead(), world.head(), world.rules, adopted={"0": 7}, versions={"tzdata": "2026a", "law": "x"}
    )
    assert record["candidates"] == [
        {
            "source": "retry",
            "base": to_rfc3339(at("2026-07-15 21:30")),
            "constraints": [
                {"code": "quiet_hours_federal", "until": to_rfc3339(EIGHT), "zone": NEW_YORK, "rules": ["us-federal"]}
            ],
            "earliest": to_rfc3339(EIGHT),
        }
    ]
    assert (record["chosen"], record["next_action_at"], record["step_id"]) == ("retry", to_rfc3339(EIGHT), "call-1")
    assert (record["zones"], record["zone_source"], record["states"]) == ([NEW_YORK], lead.zone_source, ["FL"])
    assert (record["schedule_id"], record["schedule_version"]) == (1, 1)
    assert (record["rules"], record["versions"]) == ({"0": 7}, {"tzdata": "2026a", "law": "x"})
    assert record["counters"] == {
        "enrolment_attempts": 1,
        "limit": 6,
        "lifetime_calls": 1,
        "lifetime_sms": 0,
        "contact_24h": 1,
        "contact_7d": 1,
    }
