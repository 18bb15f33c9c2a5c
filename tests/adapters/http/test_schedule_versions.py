"""Is a draft kept from leads until it is published, and can every version be read?"""

from typing import Any

import pytest

from tests.adapters.http.conftest import STEPS

pytestmark = pytest.mark.asyncio(loop_scope="session")

LATER = [{"id": "text-9", "kind": "sms", "template": "Later"}]


async def shown(company: Any, schedule: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = (await company.send("GET", f"/api/v1/schedules/{schedule['id']}")).json()["schedule"]
    return found


async def versions(company: Any, schedule: dict[str, Any], **query: Any) -> list[dict[str, Any]]:
    answer = await company.send("GET", f"/api/v1/schedules/{schedule['id']}/versions", params=query)
    assert answer.status_code == 200, answer.text
    found: list[dict[str, Any]] = answer.json()["versions"]
    return found


async def test_a_change_is_published_at_once_unless_it_is_a_draft(company: Any) -> None:
    schedule = await company.record("schedules", {"name": "Solar", "steps": STEPS})
    path = f"/api/v1/schedules/{schedule['id']}"
    assert (schedule["draft_fields"], schedule["unpublished"]) == ({}, False)
    assert schedule["published_at"] is not None

    saved = await company.send("PUT", path, json={"draft": True, "steps": LATER})

    assert saved.status_code == 200, saved.text
    assert saved.json()["schedule"]["draft_fields"] == {"steps": LATER}
    assert [step["id"] for step in saved.json()["schedule"]["steps"]] == ["pause", "text-1"]
    published = await company.send("POST", f"{path}/publish", json={"migrate": "by_step_id"})
    assert published.status_code == 200, published.text
    now = published.json()["schedule"]
    assert ([step["id"] for step in now["steps"]], now["draft_fields"], now["migrate"]) == (["text-9"], {}, "by_step_id")
    listed = await versions(company, schedule)
    assert [[step["id"] for step in version["steps"]] for version in listed] == [["text-9"], ["pause", "text-1"]]
    assert listed[0]["version"] > listed[1]["version"]


async def submit(company: Any, token: str, count: int, **fields: Any) -> None:
    for number in range(count):
        given = {"lead_token": token, "caller_id": f"+1305555{number + 4000}", **fields}
        answer = await company.send("POST", "/api/v1/leads", json=given)
        assert answer.status_code == 201, answer.text


KEPT = [STEPS[1], *LATER]
"""The step at which the leads are, and another one."""


@pytest.mark.parametrize(
    ("steps", "staying"), [(LATER, [{"step_id": "text-1", "live_leads_count": 3, "reason": "step_gone"}]), (KEPT, [])]
)
@pytest.mark.parametrize("by", ["update", "publish"])
async def test_who_stays_behind_is_said_where_leads_are_taken_along(
    company: Any, by: str, steps: list[dict[str, Any]], staying: list[dict[str, Any]]
) -> None:
    schedule = await company.record("schedules", {"name": "Solar", "steps": STEPS})
    path = f"/api/v1/schedules/{schedule['id']}"
    await submit(company, schedule["lead_token"], 3)

    if by == "update":
        answer = await company.send("PUT", path, json={"steps": steps, "migrate": "by_step_id"})
    else:
        await company.send("PUT", path, json={"steps": steps, "draft": True})
        answer = await company.send("POST", f"{path}/publish", json={"migrate": "by_step_id"})

    assert answer.status_code == 200, answer.text
    body = answer.json()
    count = sum(one["live_leads_count"] for one in staying)
    shown = {"live_leads_count": 3, "staying_count": count, "staying": staying, "counted_from": "read_schema"}
    assert body["migration"] == shown
    said = "3 live leads stay on an earlier version, because this one has no step of their id: 3 at text-1."
    assert (said in body.get("warnings", ())) is bool(staying)


async def test_what_takes_no_leads_along_says_nothing_of_them(company: Any) -> None:
    schedule = await company.record("schedules", {"name": "Solar", "steps": STEPS})
    path = f"/api/v1/schedules/{schedule['id']}"
    await submit(company, schedule["lead_token"], 1)
    assert "migration" not in (await company.send("PUT", path, json={"steps": LATER})).json()
    again = await company.send("POST", f"{path}/publish", json={"migrate": "by_step_id"})
    assert ("migration" in again.json()) == (again.json()["schedule"]["version"] == 3)


async def test_the_deletion_of_a_schedule_or_offer_says_how_many_leads_and_callbacks_it_ends(company: Any) -> None:
    schedule = await company.record("schedules", {"name": "Solar", "steps": STEPS})
    offer = await company.record("offers", {"name": "Solar"})
    for path, token in (
        (f"/api/v1/schedules/{schedule['id']}", schedule["lead_token"]),
        (f"/api/v1/offers/{offer['id']}", offer["lead_token"]),
    ):
        await submit(company, token, 3)
        await submit(company, token, 1, caller_id="+13055554009", schedule_callback_in_seconds=3600)
        answer = await company.send("DELETE", path)
        assert answer.status_code == 200, answer.text
        ends = {"live_leads_count": 4, "scheduled_callbacks_count": 1, "counted_from": "read_schema"}
        assert answer.json()["ends"] == ends, path
    buyer = await company.record("buyers", {"name": "B", "number": "+12125550141"})
    assert "ends" not in (await company.send("DELETE", f"/api/v1/buyers/{buyer['id']}")).json()


async def test_versions_are_paged_and_cut_to_columns(company: Any) -> None:
    schedule = await company.record("schedules", {"name": "Solar", "steps": STEPS})
    for hours in (10, 20):
        await company.send("PUT", f"/api/v1/schedules/{schedule['id']}", json={"hours_to_expire": hours})

    by_page = await company.send("GET", f"/api/v1/schedules/{schedule['id']}/versions", params={"per_page": 1})
    assert by_page.json()["metadata"]["next_cursor"] is None
    ordered = await company.send("GET", f"/api/v1/schedules/{schedule['id']}/versions", params={"order": "version"})
    assert (ordered.status_code, list(ordered.json()["errors"])) == (422, ["order"])
    newest = await versions(company, schedule, per_page=1, cursor=-1, columns="version,hours_to_expire")
    rest = await versions(company, schedule, cursor=newest[0]["version"], columns="version,hours_to_expire")

    assert newest == [{"version": 3, "hours_to_expire": 20}]
    assert rest == [{"version": 2, "hours_to_expire": 10}, {"version": 1, "hours_to_expire": None}]


async def test_a_schedule_that_was_never_published_takes_no_leads(company: Any) -> None:
    schedule = await company.record("schedules", {"name": "Idea", "steps": STEPS, "draft": True})
    lead = {"lead_token": schedule["lead_token"], "caller_id": "+13055550123", "time_zone": "America/New_York"}
    refused = await company.send("POST", "/api/v1/leads", json=lead)
    assert (refused.status_code, refused.json()["code"]) == (404, "unknown_lead_token")

    answer = await company.send("POST", f"/api/v1/schedules/{schedule['id']}/publish")

    assert answer.json()["schedule"]["unpublished"] is False
    taken = await company.send("POST", "/api/v1/leads", json=lead)
    assert taken.status_code == 201, taken.text
    assert len(await versions(company, schedule)) == 1


async def test_a_bad_draft_is_refused_in_the_words_of_publishing_it(company: Any) -> None:
    schedule = await company.record("schedules", {"name": "Solar", "steps": STEPS})

    answer = await company.send(
        "PUT", f"/api/v1/schedules/{schedule['id']}", json={"draft": True, "steps": [{"id": "x", "kind": "fax"}]}
    )

    assert (answer.status_code, answer.json()["code"]) == (422, "invalid_schedule")
    assert list(answer.json()["errors"]) == ["steps[0].kind"]
    assert (await shown(company, schedule))["draft_fields"] == {}


async def test_publishing_nothing_changes_nothing(company: Any) -> None:
    schedule = await company.record("schedules", {"name": "Solar", "steps": STEPS})

    answer = await company.send("POST", f"/api/v1/schedules/{schedule['id']}/publish")

    assert answer.status_code == 200
    assert answer.json()["schedule"]["version"] == 1


async def test_a_rule_pack_is_kept_like_every_record_and_its_faults_are_named_by_row(company: Any) -> None:
    row = {
        "id": "counsel-fl",
        "country": "US",
        "state": "FL",
        "purposes": ["telemarketing"],
        "channels": ["call"],
        "windows": [{"days": ["mon"], "open": "10:00", "close": "17:00"}],
        "source_url": "https://example.com/memo",
        "reviewed_at": "2026-11-01",
    }
    made = await company.record("rule_packs", {"name": "Counsel", "rules": [row]})
    assert made["rules"][0]["id"] == "counsel-fl"

    faults = {"windows": [{"days": ["mon"], "open": "17:00", "close": "17:00"}], "state": "ZZ"}
    answer = await company.send(
        "PUT", f"/api/v1/rule_packs/{made['id']}", json={"rules": [row, {**row, "id": "b", **faults}]}
    )

    assert (answer.status_code, answer.json()["code"]) == (422, "validation_failed")
    assert "rules[1].state" in answer.json()["errors"]
