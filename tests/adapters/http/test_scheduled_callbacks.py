"""Can promised calls be listed, made, moved and cancelled over HTTP, each by its id, and only those of one's own leads?"""

from typing import Any

import httpx
import pytest

from engine.submission.fields import parse_moment
from schemas.instant import HOUR
from tests.adapters.http.conftest import DAYTIME_ZONE, Company, Town

PATH = "/api/v1/scheduled_callbacks"

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def lead_of(town: Town, company: Company, **more: Any) -> dict[str, Any]:
    town.numbers += 1
    token = (await company.schedule())["lead_token"]
    fields = {"lead_token": token, "caller_id": f"+1917555{town.numbers:04d}", "time_zone": DAYTIME_ZONE, **more}
    found: dict[str, Any] = (await company.send("POST", "/api/v1/leads", json=fields)).json()["lead"]
    return found


async def promised(company: Company, lead: dict[str, Any], **fields: Any) -> dict[str, Any]:
    given = {"lead_id": lead["id"], "schedule_callback_in_seconds": "3600", **fields}
    answer = await company.send("POST", PATH, json={name: value for name, value in given.items() if value is not None})
    assert answer.status_code == 201, answer.text
    found: dict[str, Any] = answer.json()["scheduled_callback"]
    return found


async def listed(company: Company, **query: Any) -> list[dict[str, Any]]:
    answer = await company.send("GET", PATH, params=query)
    assert answer.status_code == 200, answer.text
    found: list[dict[str, Any]] = answer.json()["scheduled_callbacks"]
    return found


async def test_a_promise_is_made_shown_and_listed_as_its_lead_has_it(town: Town, company: Company) -> None:
    buyer = (await company.record("buyers", {"name": "Ann", "number": "+12125550160"}))["id"]
    lead = await lead_of(town, company, full_name="Ada")
    before = town.context.clock.now()

    made = await promised(company, lead, callback_buyer_id=buyer, callback_grace_minutes=5)

    after = town.context.clock.now()
    assert before + HOUR <= parse_moment(made["callback_at"]) <= after + HOUR
    assert (made["lead_id"], made["caller_id"], made["full_name"]) == (lead["id"], lead["caller_id"], "Ada")
    assert (made["callback_buyer_id"], made["callback_buyer_group_id"], made["callback_grace_minutes"]) == (buyer, None, 5)
    assert (made["promised_at"], made["tries_count"]) == (made["callback_at"], 0)
    shown = (await company.send("GET", f"/api/v1/leads/{lead['id']}")).json()["lead"]
    assert (shown["scheduled_callback_id"], shown["callback_at"]) == (made["id"], made["callback_at"])
    assert (await company.send("GET", f"{PATH}/{made['id']}")).json()["scheduled_callback"] == made
    assert await listed(company) == [made]


async def test_lists_are_narrowed_and_paged_and_become_files(town: Town, company: Company) -> None:
    leads = [await lead_of(town, company) for _ in range(3)]
    for lead in leads[:2]:
        await promised(company, lead)

    by_lead = [row["lead_id"] for row in await listed(company)]
    assert sorted(by_lead) == sorted(lead["id"] for lead in leads[:2])
    chosen = await listed(company, schedule_id=leads[1]["schedule_id"], columns="lead_id")
    assert chosen == [{"lead_id": leads[1]["id"]}]
    assert await listed(company, offer_id=1) == []
    assert len(await listed(company, per_page=1, cursor=-1)) == 1
    table = await company.send("GET", f"{PATH}.csv", params={"columns": "lead_id"})
    assert sorted(table.text.split()[1:]) == sorted(str(lead_id) for lead_id in by_lead)
    unknown = await company.send("GET", PATH, params={"agent": "7"})
    assert set(unknown.json()["errors"]) == {"agent"}


async def test_a_promise_is_moved_and_what_is_left_out_stays(town: Town, company: Company) -> None:
    group = (await company.record("buyer_groups", {"name": "Roofers"}))["id"]
    made = await promised(company, await lead_of(town, company), callback_buyer_group_id=group)

    moved = await company.send("PUT", f"{PATH}/{made['id']}", json={"schedule_callback_in_seconds": "7200"})

    assert moved.status_code == 200, moved.text
    found = moved.json()["scheduled_callback"]
    assert found["id"] == made["id"]
    assert parse_moment(found["callback_at"]) > parse_moment(made["callback_at"])
    assert found["callback_buyer_group_id"] == group
    owned = await company.send("PUT", f"{PATH}/{found['id']}", json={"callback_buyer_group_id": ""})
    assert owned.json()["scheduled_callback"]["promised_at"] == found["promised_at"]
    assert owned.json()["scheduled_callback"]["callback_buyer_group_id"] is None
    other_one = await promised(company, {"id": made["lead_id"]})
    assert other_one["id"] != made["id"]
    assert (
        await company.send("PUT", f"{PATH}/{made['id']}", json={"schedule_callback_in_seconds": "60"})
    ).status_code == 404


async def test_a_cancelled_promise_is_gone_and_its_lead_goes_on(town: Town, company: Company) -> None:
    lead = await lead_of(town, company)
    made = await promised(company, lead)

    gone = await company.send("DELETE", f"{PATH}/{made['id']}")

    assert (gone.status_code, gone.json()["scheduled_callback"]["id"]) == (200, made["id"])
    assert await listed(company) == []
    for method in ("GET", "PUT", "DELETE"):
        assert (await company.send(method, f"{PATH}/{made['id']}")).status_code == 404
    shown = (await company.send("GET", f"/api/v1/leads/{lead['id']}")).json()["lead"]
    assert (shown["callback_at"], shown["scheduled_callback_id"]) == (None, None)
    assert shown["next_action_at"] == lead["next_action_at"]


def fields_of(answer: httpx.Response) -> tuple[int, set[str]]:
    return answer.status_code, set(answer.json().get("errors", {}))


async def test_a_promise_that_cannot_be_kept_is_refused_by_field(town: Town, company: Company, other: Company) -> None:
    lead, theirs = await lead_of(town, company), await lead_of(town, other)
    soon = {"schedule_callback_in_seconds": "60"}
    for fields, named in [
        ({}, {"lead_id", "schedule_callback_at"}),
        ({"lead_id": lead["id"]}, {"schedule_callback_at"}),
        ({"lead_id": theirs["id"], **soon}, {"lead_id"}),
        ({"lead_id": "x", "schedule_callback_at": "soon"}, {"lead_id", "schedule_callback_at"}),
        ({"lead_id": lead["id"], "schedule_callback_at": ""}, {"schedule_callback_at"}),
        ({"lead_id": lead["id"], **soon, "callback_buyer_id": 99}, {"callback_buyer_id"}),
        ({"lead_id": lead["id"], **soon, "callback_grace_minutes": 5}, {"callback_grace_minutes"}),
        ({"lead_id": lead["id"], **soon, "next_action_at": "2030-01-01T00:00:00Z"}, {"next_action_at"}),
    ]:
        assert fields_of(await company.send("POST", PATH, json=fields)) == (422, named), fields
    stopped = await company.send("PUT", f"/api/v1/leads/{lead['id']}", json={"schedule_stop": True})
    assert stopped.status_code == 200
    ended = await company.send("POST", PATH, json={"lead_id": lead["id"], **soon})
    assert ended.json()["code"] == "lead_not_live"


async def test_a_promise_of_another_company_is_not_found(town: Town, company: Company, other: Company) -> None:
    made = await promised(company, await lead_of(town, company))

    for method in ("GET", "PUT", "DELETE"):
        assert (await other.send(method, f"{PATH}/{made['id']}")).status_code == 404
    assert await listed(other) == []
    assert [row["id"] for row in await listed(company)] == [made["id"]]
