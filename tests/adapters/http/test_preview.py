"""Can a company try a schedule on paper over HTTP, its own published ones included?"""

from typing import Any

import msgspec
import pytest

from engine.preview import preview, read_trial, shown
from schemas.instant import EPOCH, HOUR, to_rfc3339
from tests.adapters.http.conftest import STEPS

pytestmark = pytest.mark.asyncio(loop_scope="session")

PATH = "/api/v1/schedules/preview"
LEAD = {"caller_id": "+13055550123"}
AT = "2026-03-07 21:30:00 -0500"


async def test_a_preview_is_the_engines_own_and_stores_nothing(company: Any) -> None:
    asked = {"schedule": {"steps": STEPS}, "lead": LEAD, "at": AT, "outcomes": {"sms": "undelivered"}}

    answer = await company.send("POST", PATH, json=asked)

    assert answer.status_code == 200, answer.text
    assert answer.json()["preview"] == shown(preview(read_trial(asked, now=EPOCH)))
    assert [action["at"] for action in answer.json()["preview"]["actions"]] == ["2026-03-08T12:00:00Z"]
    assert (await company.send("GET", "/api/v1/leads")).json()["leads"] == []
    assert (await company.send("GET", "/api/v1/schedules")).json()["schedules"] == []


async def test_a_published_schedule_is_tried_by_its_id_or_uuid_by_its_company_alone(company: Any, other: Any) -> None:
    schedule = await company.schedule()
    for reference in (schedule["id"], schedule["uuid"]):
        answer = await company.send("POST", PATH, json={"schedule_id": reference, "lead": LEAD, "at": AT})
        assert [action["step_id"] for action in answer.json()["preview"]["actions"]] == ["text-1"], answer.text
        assert (await other.send("POST", PATH, json={"schedule_id": reference, "lead": LEAD})).status_code == 404
    both = await company.send("POST", PATH, json={"schedule_id": schedule["id"], "schedule": schedule, "lead": LEAD})
    assert (both.status_code, list(both.json()["errors"])) == (422, ["schedule"])
    again = await company.send("POST", PATH, json={"schedule": schedule, "lead": LEAD, "at": AT})
    assert again.json()["preview"]["actions"], "a schedule can be tried as it was read"
    await company.send("DELETE", f"/api/v1/schedules/{schedule['id']}")
    assert (await company.send("POST", PATH, json={"schedule_id": schedule["id"], "lead": LEAD})).status_code == 410


async def test_the_companys_choice_for_countries_without_kept_law_holds_in_previews(company: Any) -> None:
    asked = {"schedule": {"steps": STEPS}, "lead": {"caller_id": "+3545551234"}, "at": AT}
    found = (await company.send("POST", PATH, json=asked)).json()["preview"]
    assert found["actions"]
    assert found["warnings"][0].startswith("No law of IS is kept")
    await company.send("PUT", "/api/v1/company", json={"unreviewed_countries": "hold"})

    held = (await company.send("POST", PATH, json=asked)).json()["preview"]

    assert (held["actions"], held["status_wait"]) == ([], "unreviewed_country")


async def test_where_no_instant_is_named_the_lead_is_submitted_now(company: Any) -> None:
    before = company.town.context.clock.now()
    asked = {"schedule": {"steps": STEPS}, "lead": LEAD}
    answer = await company.send("POST", PATH, json=asked)
    (action,) = answer.json()["preview"]["actions"]
    assert action["at"] >= to_rfc3339(before + HOUR)[:19]


async def test_a_bad_schedule_gives_the_problem_of_publishing_it(company: Any) -> None:
    bad = {"name": "Solar", "steps": [{"id": "pause", "kind": "wait", "duration": "soon"}]}

    published = (await company.send("POST", "/api/v1/schedules", json=bad)).json()
    tried = (await company.send("POST", PATH, json={"schedule": bad, "lead": LEAD})).json()

    assert {**tried, "request_id": ""} == {**published, "request_id": ""}


async def test_a_form_is_read_as_json_is(company: Any) -> None:
    form = {"schedule": msgspec.json.encode({"steps": STEPS}).decode(), "lead[caller_id]": LEAD["caller_id"], "at": AT}

    answer = await company.send("POST", PATH, data=form)

    assert len(answer.json()["preview"]["actions"]) == 1, answer.text


@pytest.mark.parametrize(
    ("asked", "field"),
    [
        ({"schedule_id": "x", "lead": LEAD}, "schedule_id"),
        ({"schedule_id": [], "lead": LEAD}, "schedule_id"),
        ({"schedule": {"steps": STEPS}, "lead": {}}, "lead.caller_id"),
        ({"schedule": {"steps": STEPS}, "lead": LEAD, "limits": 2}, "limits"),
    ],
)
async def test_a_bad_field_is_named(company: Any, asked: dict[str, Any], field: str) -> None:
    answer = await company.send("POST", PATH, json=asked)

    assert (answer.status_code, list(answer.json()["errors"])) == (422, [field])
