"""Can a company ask what other hours or limits of a schedule would change for its leads that wait, and for its own alone?"""

from typing import Any

import pytest

from adapters.why import what_if
from tests.adapters.http.test_teams import person, team

pytestmark = pytest.mark.asyncio(loop_scope="session")

PATH = "/api/v1/leads/forecast/what_if"
WEEK = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
CALL = [{"id": "call-1", "kind": "call"}]
FAR_AWAY = {"call": [{"days": ["sat"], "open": "12:00", "close": "13:00"}]}
"""Hours that open in three days for the first time."""

WIDE = {"call": [{"days": WEEK, "open": "08:00", "close": "21:00"}]}


async def waiting(company: Any, count: int, **fields: Any) -> tuple[dict[str, Any], list[int]]:
    """Return a schedule whose hours are far away, and leads that wait for them."""
    schedule = await company.schedule(**{"steps": CALL, "windows": FAR_AWAY, **fields})
    ids = []
    for number in range(count):
        lead = {"lead_token": schedule["lead_token"], "caller_id": f"+1212555010{number}", "time_zone": "America/New_York"}
        answer = await company.send("POST", "/api/v1/leads", json=lead)
        assert answer.status_code == 201, answer.text
        ids.append(int(answer.json()["lead"]["id"]))
    return schedule, sorted(ids)


async def asked(company: Any, **change: Any) -> dict[str, Any]:
    answer = await company.send("POST", PATH, json=change)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()["what_if"]
    return found


async def test_wider_windows_bring_the_leads_forward_and_nothing_is_stored(company: Any) -> None:
    schedule, ids = await waiting(company, 3)
    before = (await company.send("GET", f"/api/v1/leads/{ids[0]}")).json()["lead"]

    found = await asked(company, schedule_id=schedule["id"], windows=WIDE)

    assert (found["schedule_id"], found["waiting"], found["judged"], found["left_out"]) == (schedule["id"], 3, 3, 0)
    assert (found["earlier"]["leads"], found["later"]["leads"], found["expiring"]["now"]) == (3, 0, 0)
    assert found["earlier"]["hours_max"] > 24
    assert [(one["hours"], one["now"], one["changed"]) for one in found["within"]] == [(1, 0, 3), (24, 0, 3), (168, 3, 3)]
    assert [one["lead_id"] for one in found["leads"]] == ids
    assert {one["now"] for one in found["leads"]} == {before["next_action_at"]}
    assert (await company.send("GET", f"/api/v1/leads/{ids[0]}")).json()["lead"] == before
    kept = (await company.send("GET", f"/api/v1/schedules/{schedule['id']}")).json()["schedule"]
    assert kept["windows"] == schedule["windows"]


async def test_what_holds_the_others_is_counted_by_its_rule(company: Any) -> None:
    schedule, _ = await waiting(company, 2)
    found = await asked(company, schedule_id=schedule["uuid"], min_spacing={"call": "1h"}, max_contact_attempts=9)
    assert found["earlier"]["leads"] == 0
    assert found["held"] == [{"status_wait": "preferred_window", "leads": 2}]


async def test_leads_that_would_expire_first_no_longer_do(company: Any) -> None:
    schedule, _ = await waiting(company, 1, hours_to_expire=2)
    found = await asked(company, schedule_id=schedule["id"], windows=WIDE)
    assert found["expiring"] == {"now": 1, "changed": 0, "no_longer": 1}


async def test_at_most_the_limit_is_judged_and_how_many_were_left_out_is_said(
    company: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    schedule, ids = await waiting(company, 3)
    found = await asked(company, schedule_id=schedule["id"], windows=WIDE, limit=2)
    assert (found["waiting"], found["limit"], found["judged"], found["left_out"]) == (3, 2, 2, 1)
    assert [one["lead_id"] for one in found["leads"]] == ids[:2]

    monkeypatch.setattr(what_if, "SLICE", 1)
    monkeypatch.setattr(what_if, "SECONDS_MAX", -1.0)
    stopped = await asked(company, schedule_id=schedule["id"], windows=WIDE)
    assert (stopped["judged"], stopped["left_out"]) == (0, 3), "no slice begins after the time is over"


async def test_leads_of_other_schedules_and_those_that_ended_are_not_judged(company: Any) -> None:
    schedule, ids = await waiting(company, 2)
    await waiting(company, 1)
    assert (await company.send("DELETE", f"/api/v1/leads/{ids[1]}/id")).status_code == 200
    found = await asked(company, schedule_id=schedule["id"], windows=WIDE)
    assert (found["waiting"], [one["lead_id"] for one in found["leads"]]) == (1, ids[:1])


async def test_a_schedule_of_another_company_is_not_there(company: Any, other: Any) -> None:
    schedule, _ = await waiting(company, 1)
    for reference in (schedule["id"], schedule["uuid"]):
        answer = await other.send("POST", PATH, json={"schedule_id": reference, "windows": WIDE})
        assert (answer.status_code, answer.json()["code"]) == (404, "not_found")


async def test_a_form_sends_its_structures_as_json(company: Any) -> None:
    schedule, _ = await waiting(company, 1)
    form = {"schedule_id": str(schedule["id"]), "limit": "10", "windows": '{"call": []}', "min_spacing": '{"call": "1h"}'}
    answer = await company.send("POST", PATH, data={**form, "max_contact_attempts": "3"})
    assert answer.status_code == 200, answer.text
    assert answer.json()["what_if"]["limit"] == 10


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"schedule_id": None}, "schedule_id"),
        ({"schedule_id": "x"}, "schedule_id"),
        ({}, "windows"),
        ({"windows": {"call": [{"days": ["mon"], "open": "9", "close": "10:00"}]}}, "windows.call[0].open"),
        ({"windows": {"fax": []}}, "windows.fax"),
        ({"windows": "soon"}, "windows"),
        ({"min_spacing": {"call": "soon"}}, "min_spacing"),
        ({"max_contact_attempts": 0}, "max_contact_attempts"),
        ({"windows": WIDE, "limit": 1_001}, "limit"),
        ({"windows": WIDE, "caps": {}}, "caps"),
    ],
)
async def test_a_bad_field_is_named(company: Any, change: dict[str, Any], field: str) -> None:
    schedule = await company.schedule(steps=CALL)
    answer = await company.send("POST", PATH, json={"schedule_id": schedule["id"], **change})
    assert (answer.status_code, list(answer.json()["errors"])) == (422, [field]), answer.text


async def test_it_needs_leads_and_the_schedule_that_a_team_shows(town: Any, company: Any) -> None:
    schedule, _ = await waiting(company, 1)
    hidden, _ = await waiting(company, 1)
    reading: dict[str, Any] = {"actions": ["read"]}
    made = await team(company, permissions={"lead": reading})
    ada = await person(town, company)
    body = {"schedule_id": schedule["id"], "windows": WIDE}
    refused = await ada.send("POST", PATH, json=body)
    assert (refused.status_code, "schedule:read" in refused.json()["detail"]) == (403, True)

    permissions: dict[str, Any] = {"lead": reading, "schedule": {**reading, "scope": [schedule["id"]]}}
    await company.send("PUT", f"/api/v1/access_control_lists/{made['id']}", json={"permissions": permissions})
    await town.context.rules.refresh()
    assert (await ada.send("POST", PATH, json=body)).status_code == 200
    assert (await ada.send("POST", PATH, json={**body, "schedule_id": hidden["id"]})).status_code == 404

    permissions["schedule"] = {**reading, "fields": {"windows": "none"}}
    await company.send("PUT", f"/api/v1/access_control_lists/{made['id']}", json={"permissions": permissions})
    await town.context.rules.refresh()
    unseen = await ada.send("POST", PATH, json=body)
    assert (unseen.status_code, list(unseen.json()["errors"])) == (403, ["windows"])
