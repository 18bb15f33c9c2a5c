"""Does a holiday that was made over HTTP keep the company's leads, and nobody else's, from being contacted?"""

from datetime import date
from typing import Any

import pytest

from tests.adapters.http.conftest import DAYTIME_ZONE, Company, Town

PATH = "/api/v1/holidays"
TEXT = [{"id": "text-1", "kind": "sms", "template": "Hi"}]

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def planned(town: Town, company: Company) -> dict[str, Any]:
    """Return a lead whose first text waits for the hours, on a schedule that is closed today."""
    schedule = await company.schedule(steps=[{"id": "pause", "kind": "wait", "duration": "1d"}, *TEXT])
    town.numbers += 1
    body = {"lead_token": schedule["lead_token"], "caller_id": f"+1212555{town.numbers:04d}", "time_zone": DAYTIME_ZONE}
    found: dict[str, Any] = (await company.send("POST", "/api/v1/leads", json=body)).json()["lead"]
    return found


async def test_a_lead_goes_after_the_holiday_and_that_of_another_company_on_it(
    town: Town, company: Company, other: Company
) -> None:
    made = await company.record("holidays", {"name": "Fair", "first_date": "2026-06-17", "last_date": "2026-07-31"})
    assert (made["type"], made["schedule_ids"]) == ("Holiday", [])

    ours, theirs = await planned(town, company), await planned(town, other)

    assert date.fromisoformat(ours["next_action_at"][:10]) >= date(2026, 7, 31)
    assert "a holiday of the company" in ours["human_status"] or "law allows" in ours["human_status"]
    assert date.fromisoformat(theirs["next_action_at"][:10]) <= date(2026, 6, 19)
    assert (await other.send("GET", f"{PATH}/{made['id']}")).status_code == 404
    assert (await other.send("DELETE", f"{PATH}/{made['id']}")).status_code == 404


async def test_a_form_names_schedules_of_a_holiday_and_a_foreign_one_is_refused(company: Company, other: Company) -> None:
    ours, theirs = (await company.schedule())["id"], (await other.schedule())["id"]

    made = await company.send("POST", PATH, data={"name": "Fair", "first_date": "2026-12-25", "schedule_ids": str(ours)})
    assert made.json()["holiday"]["schedule_ids"] == [ours], made.text
    refused = await company.send("POST", PATH, json={"name": "Fair", "first_date": "2026-12-25", "schedule_ids": [theirs]})
    assert (refused.status_code, set(refused.json()["errors"])) == (422, {"schedule_ids"})
    both = await company.send("POST", PATH, json={"first_date": "soon", "last_date": "2026-13-01"})
    assert (both.status_code, set(both.json()["errors"])) == (422, {"name", "first_date", "last_date"})
