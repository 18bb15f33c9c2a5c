"""Can promised calls be listed, made, moved and cancelled over HTTP, each by its id, and only those of one's own leads?"""

from typing import Any

import httpx
import pytest

from engine.submission.fields import parse_moment
from schemas.instant import HOUR
from tests.adapters.http.conftest import DAYTIME_ZONE, Company, Town
from tests.adapters.http.test_agents import agent
from tests.adapters.http.test_teams import ADA, divide, person, team

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
    for method in ("PUT", "DELETE"):
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
        ({"lead_id": lead["id"], **soon, "callback_agent_id": 99}, {"callback_agent_id"}),
        ({"lead_id": lead["id"], **soon, "callback_agent_id": 99, "callback_buyer_id": 98}, {"callback_agent_id"}),
        ({"lead_id": lead["id"], **soon, "callback_grace_minutes": 5}, {"callback_grace_minutes"}),
        ({"lead_id": lead["id"], **soon, "callback_team_grace_minutes": 5}, {"callback_team_grace_minutes"}),
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
    assert await listed(other) == await listed(other, callback_status="all") == []
    assert [row["id"] for row in await listed(company)] == [made["id"]]


# -- records -----------------------------------------------------------------------------------------------------------


async def shown_state(company: Any, made: dict[str, Any]) -> tuple[str, str | None]:
    found = (await company.send("GET", f"{PATH}/{made['id']}")).json()["scheduled_callback"]
    return found["callback_status"], found["end_reason"]


async def test_the_record_of_a_callback_stays_when_it_is_over(town: Town, company: Company) -> None:
    buyer = (await company.record("buyers", {"name": "Ann", "number": "+12125550160"}))["id"]
    cancelled, deleted, pending = [
        await promised(company, await lead_of(town, company), callback_buyer_id=buyer) for _ in range(3)
    ]
    await company.send("DELETE", f"{PATH}/{cancelled['id']}")
    await company.send("DELETE", f"/api/v1/leads/{deleted['lead_id']}/id")

    assert await shown_state(company, cancelled) == ("cancelled", "requested")
    assert await shown_state(company, deleted) == ("cancelled", "deleted")
    record = (await company.send("GET", f"{PATH}/{cancelled['id']}")).json()["scheduled_callback"]
    over = {"callback_status": "cancelled", "end_reason": "requested", "callback_at": None, "tries_count": None}
    assert record == {**cancelled, **over}
    gone = (await company.send("GET", f"{PATH}/{deleted['id']}")).json()["scheduled_callback"]
    assert (gone["caller_id"], gone["lead_id"], gone["callback_buyer_id"]) == (None, deleted["lead_id"], buyer)
    assert [row["id"] for row in await listed(company)] == [pending["id"]]
    assert {row["id"] for row in await listed(company, callback_status="all")} == {
        cancelled["id"],
        deleted["id"],
        pending["id"],
    }
    assert await listed(company, callback_status="pending") == [pending]
    assert [row["id"] for row in await listed(company, callback_status="cancelled", lead_id=deleted["lead_id"])] == [
        deleted["id"]
    ]
    assert await listed(company, callback_status="missed") == []
    csv = await company.send("GET", f"{PATH}.csv", params={"callback_status": "all", "columns": "id"})
    assert len(csv.text.split()) == 4


async def test_what_an_agent_promises_belongs_to_that_agent(town: Town, company: Company) -> None:
    ada_id, bob_id = await agent(company, user_email=ADA), await agent(company, name="Bob")
    company_graces = {"callback_grace_minutes": 7, "callback_team_grace_minutes": 0}
    assert (await company.send("PUT", "/api/v1/company", json=company_graces)).status_code == 200
    await team(company, permissions={"lead": {"actions": ["read", "update"]}})
    ada: Any = await person(town, company)
    lead = await lead_of(town, company)

    own = await promised(ada, lead)
    bobs = await promised(ada, lead, callback_agent_id=bob_id, callback_team_grace_minutes=9)
    nobodys = await promised(ada, lead, callback_agent_id="")
    program = await promised(company, lead)

    wanted = ("promised_by", "promised_agent_id", "callback_agent_id")
    assert [tuple(one[name] for name in wanted) for one in (own, bobs, nobodys, program)] == [
        ("agent", ada_id, ada_id),
        ("agent", ada_id, bob_id),
        ("agent", ada_id, None),
        ("api", None, None),
    ]
    graces = ("callback_grace_minutes", "callback_team_grace_minutes")
    assert [tuple(one[name] for name in graces) for one in (own, bobs, nobodys)] == [(7, 0), (7, 9), (None, None)]
    assert {row["id"] for row in await listed(company, callback_status="all", agent_id=ada_id)} == {own["id"], nobodys["id"]}
    assert [row["id"] for row in await listed(company, promised_by="api")] == [program["id"]]
    assert await shown_state(company, own) == ("cancelled", "replaced")


async def test_a_callback_of_a_call_belongs_to_who_judges_it(town: Town, company: Company) -> None:
    ada_id = await agent(company, user_email=ADA)
    permissions = {"lead": {"actions": ["read"]}, "call": {"actions": ["read", "update"]}}
    await team(company, permissions=permissions)
    ada: Any = await person(town, company)
    lead = await lead_of(town, company)
    called = await company.send("POST", "/api/v1/schedules/make_call", json={"lead_id": lead["id"]})
    call = called.json()["call"]["id"]

    later: dict[str, Any] = {"schedule_callback_in_seconds": "3600"}
    cases: tuple[tuple[Any, dict[str, Any], int | None], ...] = (
        (ada, {}, ada_id),
        (ada, {"callback_agent_id": ""}, None),
        (company, {}, None),
        (company, {"callback_agent_id": ada_id, "callback_grace_minutes": 3}, ada_id),
    )
    for sender, fields, owner in cases:
        answer = await sender.send("POST", f"/api/v1/calls/{call}", json={**later, **fields})
        assert answer.status_code == 200, answer.text
        (pending,) = await listed(company)
        assert pending["callback_agent_id"] == owner, fields
    assert pending["callback_grace_minutes"] == 3
    for wrong in ({**later, "callback_agent_id": 99}, {"callback_agent_id": ada_id}):
        refused = await company.send("POST", f"/api/v1/calls/{call}", json=wrong)
        assert (refused.status_code, list(refused.json()["errors"])) == (422, ["callback_agent_id"])


async def test_the_owner_of_a_callback_may_be_gone_when_it_is_moved(town: Town, company: Company) -> None:
    bob = await agent(company, name="Bob")
    made = await promised(company, await lead_of(town, company), callback_agent_id=bob)
    assert (await company.send("DELETE", f"/api/v1/agents/{bob}")).status_code == 200

    moved = await company.send("PUT", f"{PATH}/{made['id']}", json={"schedule_callback_in_seconds": "7200"})

    assert moved.status_code == 200, moved.text
    assert moved.json()["scheduled_callback"]["callback_agent_id"] == bob


async def test_a_person_finds_the_records_of_visible_leads_alone(town: Town, company: Company) -> None:
    parts = await divide(town, company)
    seen, unseen = [await promised(company, {"id": lead_id}) for lead_id in parts["leads"]]
    for made in (seen, unseen):
        await company.send("DELETE", f"{PATH}/{made['id']}")

    assert [row["id"] for row in await listed(parts["ada"], callback_status="all")] == [seen["id"]]
    assert (await parts["ada"].send("GET", f"{PATH}/{unseen['id']}")).status_code == 404
    counted = (await parts["ada"].send("GET", f"{PATH}/reports")).json()["totals"]
    assert (counted["promised_count"], counted["cancelled_count"]) == (1, 1)
