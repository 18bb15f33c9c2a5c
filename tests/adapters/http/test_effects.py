"""Does what a company sets at its records have its effect where leads come in and lists go out?"""

from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from tests.adapters.http.conftest import STEPS

pytestmark = pytest.mark.asyncio(loop_scope="session")

TOKYO = "Asia/Tokyo"
"""It is the next day there while the deployment begins."""

OURS = "+12125550150"
PERSON = "+13055550123"


def of_tokyo(shown: str) -> str:
    """Return a moment of an answer as somebody in Tokyo reads it off the clock, to the second before."""
    return datetime.fromisoformat(shown).astimezone(ZoneInfo(TOKYO)).strftime("%Y-%m-%d %H:%M:%S")


async def submit(company: Any, token: str, **fields: Any) -> Any:
    return await company.send("POST", "/api/v1/leads", json={"lead_token": token, "caller_id": PERSON, **fields})


async def one_of_each(company: Any) -> dict[str, dict[str, Any]]:
    """Let a company of Tokyo have a lead, a call and a buyer; return each under the path of its list."""
    changed = await company.send("PUT", "/api/v1/company", json={"time_zone": TOKYO})
    assert changed.status_code == 200, changed.text
    offer = await company.record("offers", {"name": "Solar"})
    await company.record("numbers", {"number": OURS, "offer_id": offer["id"]})
    lead = (await submit(company, offer["lead_token"])).json()["lead"]
    report = {"from": PERSON, "to": OURS, "call_ref": "pbx-1", "state": "ringing"}
    call = (await company.send("POST", "/api/v1/calls/received", json=report)).json()["call"]
    buyer = await company.record("buyers", {"name": "Sunny", "number": "+12125550140"})
    return {"/api/v1/leads": lead, "/api/v1/calls": call, "/api/v1/buyers": buyer}


async def test_dates_that_name_no_zone_are_of_the_companys(company: Any) -> None:
    for path, row in (await one_of_each(company)).items():
        for bound, expected in (("created_at_from", 1), ("created_at_to", 0)):
            for query, count in (({}, expected), ({"time_zone": "UTC"}, 1 - expected)):
                asked = {bound: of_tokyo(row["created_at"]), **query}
                found = (await company.send("GET", path, params=asked)).json()
                assert len(found[found["metadata"]["root"]]) == count, (path, asked)


@pytest.mark.parametrize("path", ["/api/v1/leads/reports", "/api/v1/calls/reports"])
async def test_the_days_of_a_report_are_of_the_companys_zone(company: Any, path: str) -> None:
    row = (await one_of_each(company))[path.removesuffix("/reports")]
    answer = (await company.send("GET", path, params={"category": "created_at_day"})).json()
    assert answer["metadata"]["time_zone"] == TOKYO
    assert [found["category"] for found in answer["reports"]] == [of_tokyo(row["created_at"])[:10]]
    of_utc = (await company.send("GET", path, params={"category": "created_at_day", "time_zone": "UTC"})).json()
    assert of_utc["metadata"]["time_zone"] == "UTC"
    assert [found["category"] for found in of_utc["reports"]] == [row["created_at"][:10]]


async def test_the_days_of_statistics_and_labels_are_of_the_companys_zone(company: Any) -> None:
    row = (await one_of_each(company))["/api/v1/calls"]
    day = of_tokyo(row["created_at"])[:10]
    query = {"group_by": "created_at_day", "stat": "count", "created_at_from": day, "created_at_to": f"{day} 23:59:59"}
    found = (await company.send("GET", "/api/v1/calls/stats/", params=query)).json()
    assert found["metadata"]["time_zone"] == TOKYO
    assert {(one["key"], one["value"]) for one in found["stats"]} == {(day, 1)}
    for label, count in (("Today", 1), ("Yesterday", 0)):
        listed = (await company.send("GET", "/api/v1/calls", params={"created_at_label": label})).json()
        assert len(listed["calls"]) == count, label


async def test_why_reads_an_instant_on_the_companys_clock(company: Any) -> None:
    lead = (await one_of_each(company))["/api/v1/leads"]
    asked = {"at": of_tokyo(lead["created_at"])}
    found = (await company.send("GET", f"/api/v1/leads/{lead['id']}/why", params=asked)).json()["why"]
    assert of_tokyo(found["at"]) == asked["at"]


async def test_a_paused_traffic_source_sends_no_more_leads(company: Any) -> None:
    schedule = await company.schedule(steps=STEPS)
    source = await company.record("traffic_sources", {"name": "Search ads"})
    named = {"traffic_source_id": source["id"]}
    first = (await submit(company, schedule["lead_token"], **named)).json()["lead"]
    path = f"/api/v1/traffic_sources/{source['id']}"
    assert (await company.send("PUT", path, json={"paused": True})).status_code == 200

    for sent in (named, {"data": named}):
        refused = await submit(company, schedule["lead_token"], **sent)
        assert (refused.status_code, refused.json()["code"]) == (422, "validation_failed")
        assert refused.json()["errors"] == {"traffic_source_id": [f"names a paused traffic source: {source['id']}"]}
    kept = (await company.send("GET", f"/api/v1/leads/{first['id']}")).json()["lead"]
    assert (kept["traffic_source_id"], kept["is_live"], kept["data"]) == (source["id"], True, {})
    assert (await submit(company, schedule["lead_token"])).json()["dedupe_action"] == "updated"
    corrected = await company.send("PUT", f"/api/v1/leads/{first['uuid']}", json=named)
    assert corrected.json()["lead"]["traffic_source_id"] == source["id"]

    assert (await company.send("PUT", path, json={"paused": False})).status_code == 200
    assert (await submit(company, schedule["lead_token"], **named)).status_code == 200
