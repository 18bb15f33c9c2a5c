"""Can leads be read, listed, changed and destroyed by their company, and by nobody else?"""

import asyncio
from typing import Any

import pytest

from engine.views.lead_columns import LEAD_COLUMNS
from schemas.instant import DAY, HOUR, to_datetime, to_rfc3339

pytestmark = pytest.mark.asyncio(loop_scope="session")


SEED_COLUMNS = """
id legacy_id type uuid created_at updated_at deleted_at user_updated_at routes_show_path routes_edit_path
external_record_id context_menu_name name caller_id email full_name contact_field_type expires_in country state_province
zip_postal_code time_zone sub_id offer_id schedule_id status human_status css_status has_next_action opt_out revenue payout
offer_converted buyer_converted traffic_source_id buyer_id lead_import_id remote_ip attempted_call_id connected_call_id
scheduled_callback_id call_buyer_conversion_id call_offer_conversion_id sms_number_id dial_number_id dial_tier
last_action_at first_action_at first_queued_at schedule_ended_at next_action_at last_call_at is_live schedule_trigger_type
blocked data
"""


async def _leads(company: Any, count: int, **fields: Any) -> list[dict[str, Any]]:
    schedule = await company.schedule()
    made = await asyncio.gather(
        *(
            company.send(
                "POST",
                "/api/v1/leads",
                json={"lead_token": schedule["lead_token"], "caller_id": f"+130555501{place:02d}", **fields},
            )
            for place in range(count)
        )
    )
    return [answer.json()["lead"] for answer in made]


async def test_a_lead_has_every_column_of_the_interface(company: Any) -> None:
    (made,) = await _leads(company, 1, email="ann@example.com", full_name="Ann Lee", hours_to_expire=2, roof="flat")
    lead = (await company.send("GET", f"/api/v1/leads/{made['id']}")).json()["lead"]
    assert list(lead) == list(LEAD_COLUMNS)
    assert list(lead)[: len(SEED_COLUMNS.split())] == SEED_COLUMNS.split()
    assert lead["type"] == "Lead"
    assert lead["full_name"] == lead["name"] == "Ann Lee"
    assert lead["data"] == {"roof": "flat"}
    assert (lead["status"], lead["is_live"], lead["has_next_action"]) == ("scheduled", True, True)
    assert 7_000 < lead["expires_in"] <= 7_200
    assert lead["human_status"].startswith("Scheduled, next action ")
    assert lead["css_status"] == "info"
    assert lead["created_at"].endswith("Z")


async def test_columns_give_exactly_those_in_that_order(company: Any) -> None:
    (made,) = await _leads(company, 1)
    for path, root in ((f"/api/v1/leads/{made['id']}", "lead"), ("/api/v1/leads", "leads")):
        found = (await company.send("GET", path, params={"columns": "status,id,caller_id"})).json()[root]
        assert list(found if root == "lead" else found[0]) == ["status", "id", "caller_id"]
        refused = await company.send("GET", path, params={"columns": "status,shoe_size"})
        assert (refused.status_code, list(refused.json()["errors"])) == (422, ["columns"])


async def test_lists_go_by_page_and_by_cursor(company: Any) -> None:
    made = await _leads(company, 7)
    newest_first = sorted((lead["id"] for lead in made), reverse=True)
    pages = [
        (await company.send("GET", "/api/v1/leads", params={"page": page, "per_page": 3})).json() for page in (1, 2, 3, 4)
    ]
    assert [len(page["leads"]) for page in pages] == [3, 3, 1, 0]
    assert pages[0]["metadata"] == {
        "root": "leads", "page": 1, "per_page": 3, "total_count": 7, "total_pages": 3, "next_cursor": None,
    }  # fmt: skip
    assert sorted(lead["id"] for page in pages for lead in page["leads"]) == sorted(newest_first)
    far = await company.send("GET", "/api/v1/leads", params={"page": 1_000_000})
    assert (far.status_code, far.json()["leads"]) == (200, [])
    seen, cursor = [], -1
    while cursor != 0:
        found = (await company.send("GET", "/api/v1/leads", params={"cursor": cursor, "per_page": 3})).json()
        seen += [lead["id"] for lead in found["leads"]]
        cursor = found["metadata"]["next_cursor"]
    assert seen == newest_first
    bare = await company.send("GET", "/api/v1/leads", params={"root": "false", "per_page": 3})
    assert len(bare.json()) == 3
    assert bare.headers["x-total-count"] == "7"
    assert "page=2" in bare.headers["link"]
    scroll = await company.send("GET", "/api/v1/leads", params={"root": "0", "per_page": 3, "cursor": -1})
    assert scroll.headers["x-next-cursor"] == str(newest_first[2])


FILTERS: list[tuple[dict[str, str], int]] = [
    ({"status": "scheduled"}, 3),
    ({"status": "waiting_to_dial"}, 0),
    ({"status": "completed_with_one_call"}, 0),
    ({"number": "(305) 555-0101"}, 1),
    ({"number": " 13055550101"}, 1),
    ({"number": "nobody"}, 0),
    ({"has_next_action": "yes"}, 3),
    ({"has_next_action": "off"}, 0),
    ({"opt_out": "false", "either_converted": "0"}, 3),
    ({"created_at_label": "Last Hour"}, 3),
    ({"created_at_label": "Yesterday", "time_zone": "Hawaii"}, 0),
    ({"created_at_from": "2020-01-01 00:00:00 +0000", "created_at_to": "2020-01-02"}, 0),
    ({"next_action_at_from": "2020-01-01 00:00:00 -0500"}, 3),
    ({"fulltext": "5550102"}, 1),
    ({"order": "caller_id", "order_dir": "asc"}, 3),
    ({"status": "", "number": ""}, 3),
]


async def test_filters_choose(company: Any) -> None:
    await _leads(company, 3)
    for query, count in FILTERS:
        answer = await company.send("GET", "/api/v1/leads", params=query)
        assert answer.status_code == 200, answer.text
        assert len(answer.json()["leads"]) == count, query


async def test_what_a_list_cannot_do_is_refused_with_the_parameter_named(company: Any) -> None:
    for query, status, code, bad in [
        ({"per_page": "101"}, 422, "validation_failed", {"per_page"}),
        ({"per_page": "0", "order": "shoe_size"}, 422, "validation_failed", {"per_page", "order"}),
        ({"cursor": "abc"}, 400, "bad_cursor", {"cursor"}),
        ({"cursor": "-1", "order": "id"}, 422, "validation_failed", {"order"}),
        ({"cursor": "-1", "order_dir": "asc"}, 422, "validation_failed", {"order_dir"}),
        ({"cursor": "-1", "per_page": "1001"}, 422, "validation_failed", {"per_page"}),
        ({"created_at_from": "yesterday"}, 400, "bad_date", {"created_at_from"}),
        ({"created_at_from": "yesterday", "opt_out": "perhaps"}, 422, "validation_failed", {"created_at_from", "opt_out"}),
        ({"time_zone": "Mars/Olympus"}, 422, "validation_failed", {"time_zone"}),
        ({"status": "asleep"}, 422, "validation_failed", {"status"}),
        ({"offer_id": "-4"}, 422, "validation_failed", {"offer_id"}),
        ({"created_at_label": "Last Blue Moon"}, 422, "validation_failed", {"created_at_label"}),
        ({"root": "perhaps"}, 422, "validation_failed", {"root"}),
        ({"unheard_of": "x", "statuss": "queue"}, 422, "validation_failed", {"unheard_of", "statuss"}),
    ]:
        answer = await company.send("GET", "/api/v1/leads", params=query)
        body = answer.json()
        assert (answer.status_code, body["code"], set(body["errors"])) == (status, code, bad), answer.text


async def test_a_lead_can_be_changed_in_many_ways_at_once(company: Any) -> None:
    (made,) = await _leads(company, 1, roof="flat", color="red")
    path = f"/api/v1/leads/{made['uuid']}"
    due = company.town.context.clock.now() // DAY * DAY + 40 * DAY
    change = {
        "email": "ann@example.com",
        "time_zone": "Pacific Time (US & Canada)",
        "next_action_at": to_datetime(due - 8 * HOUR).strftime("%Y-%m-%d %H:%M:%S -0800"),
        "data": {"roof": "steep", "color": None},
        "floors": 2,
    }
    answer = await company.send("PUT", path, json=change)
    assert answer.status_code == 200, answer.text
    lead = answer.json()["lead"]
    assert lead["email"] == "ann@example.com"
    assert lead["time_zone"] == "America/Los_Angeles"
    assert lead["data"] == {"roof": "steep", "floors": 2}
    assert lead["next_action_at"] == to_rfc3339(due)


async def test_a_column_that_cannot_be_set_is_not_changed_and_the_answer_says_so(company: Any) -> None:
    (lead,) = await _leads(company, 1)
    path = f"/api/v1/leads/{lead['id']}"

    answer = await company.send("PUT", path, json={"status": "completed", "revenue": 5, "uuid": "x", "sub_id": "s-1"})

    body = answer.json()
    assert answer.status_code == 200
    assert body["warnings"] == [f"{name} is set by leadclock: it was not changed." for name in ("revenue", "status", "uuid")]
    changed = body["lead"]
    assert (changed["revenue"], changed["sub_id"]) == (0.0, "s-1")
    fixed = {name: changed[name] for name in ("id", "uuid", "status", "revenue", "created_at", "is_live", "human_status")}
    assert "warnings" not in (await company.send("PUT", path, json=fixed)).json(), "a lead that is sent back as it was read"


@pytest.mark.parametrize(
    ("change", "warning"),
    [
        (
            {"callback_at": "2027-01-01T00:00:00Z"},
            "callback_at is set by leadclock: it was not changed. Send schedule_callback_at.",
        ),
        ({"schedule_id": 7}, "schedule_id is set by leadclock: it was not changed. Send move_to_another_schedule_id."),
        ({"sms_count": 9}, "sms_count is set by leadclock: it was not changed."),
        ({"apply_to": "calls"}, "apply_to was sent without tokens: no call was changed."),
        (
            {"schedule_start": True},
            "schedule_start changed nothing: the lead is on its schedule. Send move_to_another_schedule_id to restart it.",
        ),
        (
            {"lead_token": "of-nobody"},
            "lead_token is not that of the lead: it was not moved. Send move_to_another_schedule_id to move it.",
        ),
    ],
)
async def test_a_field_that_changes_nothing_is_warned_of_and_is_no_token(
    company: Any, change: dict[str, Any], warning: str
) -> None:
    (lead,) = await _leads(company, 1)
    answer = await company.send("PUT", f"/api/v1/leads/{lead['id']}", json=change)
    assert (answer.status_code, answer.json()["warnings"]) == (200, [warning])
    assert answer.json()["lead"]["data"] == lead["data"]


async def test_a_lead_that_is_sent_back_whole_warns_of_nothing_and_has_no_more_tokens(company: Any) -> None:
    (lead,) = await _leads(company, 1, roof="flat")
    path = f"/api/v1/leads/{lead['id']}"
    read = (await company.send("GET", path)).json()["lead"]
    moving = ("expires_in", "human_status")  # by the clock

    answer = await company.send("PUT", path, json={name: value for name, value in read.items() if name not in moving})

    assert answer.status_code == 200, answer.text
    assert ("warnings" in answer.json(), answer.json()["lead"]["data"]) == (False, {"roof": "flat"})


async def test_where_the_person_may_be_follows_from_the_number_still_when_another_place_is_named(
    town: Any, company: Any
) -> None:
    schedule = await company.schedule()
    fields = {"lead_token": schedule["lead_token"], "caller_id": "+13055550177"}
    made = (await company.send("POST", "/api/v1/leads", json=fields)).json()["lead"]
    for change, zones, states in [
        ({"zip": "80014"}, ["America/Denver", "America/New_York"], ["CO", "FL"]),
        ({"time_zone": "America/Chicago"}, ["America/Chicago"], ["CO", "FL"]),
        ({"time_zone": "", "zip": ""}, ["America/New_York"], ["FL"]),
    ]:
        answer = await company.send("PUT", f"/api/v1/leads/{made['id']}", json=change)
        assert answer.status_code == 200, answer.text
        row = await town.pool.fetchrow("SELECT zones, states FROM read.leads WHERE id = $1", made["id"])
        assert (row["zones"], row["states"]) == (zones, states), change


async def test_a_lead_can_be_opted_out_stopped_and_destroyed(company: Any) -> None:
    first, second, third = await _leads(company, 3)
    out = await company.send("PUT", f"/api/v1/leads/{first['id']}", data={"opt_out": "yes"})
    assert out.json()["lead"]["status"] == "opt_out"
    assert out.json()["lead"]["opt_out"] is True
    stopped = await company.send("PUT", f"/api/v1/leads/{second['id']}?schedule_stop=1")
    assert stopped.json()["lead"]["status"] == "removed", stopped.text
    gone = await company.send("DELETE", f"/api/v1/leads/{third['id']}/id")
    assert gone.status_code == 200, gone.text
    assert gone.json()["lead"]["deleted_at"] is not None
    assert (await company.send("GET", f"/api/v1/leads/{third['id']}")).json()["code"] == "deleted"
    assert (await company.send("GET", "/api/v1/leads")).json()["metadata"]["total_count"] == 2


async def test_a_changed_number_takes_the_lead_along(company: Any) -> None:
    made, stopped = await _leads(company, 2)
    path = f"/api/v1/leads/{made['id']}"
    answer = await company.send("PUT", path, json={"caller_id": "+12125550177"})
    assert (answer.status_code, answer.json()["lead"]["caller_id"]) == (200, "+12125550177"), answer.text
    assert answer.json()["lead"]["is_live"] is True
    assert (await company.send("GET", path)).json()["lead"]["caller_id"] == "+12125550177"
    await company.send("PUT", f"/api/v1/leads/{stopped['id']}", json={"opt_out": True})
    moved = (await company.send("PUT", path, json={"caller_id": stopped["caller_id"]})).json()["lead"]
    assert (moved["caller_id"], moved["status"], moved["opt_out"]) == (stopped["caller_id"], "opt_out", True)


async def test_a_changed_number_that_takes_long_is_answered_later(company: Any) -> None:
    (made,) = await _leads(company, 1)
    path = f"/api/v1/leads/{made['id']}"
    async with company.town.pool.acquire() as connection, connection.transaction():
        await connection.execute(
            "SELECT FROM read.leads WHERE id = $1 FOR UPDATE", made["id"]
        )  # the new row cannot be written
        answer = await company.send("PUT", path, json={"caller_id": "+12125550178"}, headers={"Prefer": "wait=1"})
    assert answer.status_code == 202, answer.text
    async with asyncio.timeout(60):
        while (await company.send("GET", path)).json()["lead"]["caller_id"] == made["caller_id"]:
            await asyncio.sleep(0.02)
    later = await company.send("GET", answer.headers["location"])
    assert (later.status_code, later.json()["lead"]["caller_id"]) == (200, "+12125550178"), later.text


async def test_bad_changes_change_nothing(company: Any) -> None:
    (made,) = await _leads(company, 1, email="ann@example.com")
    path = f"/api/v1/leads/{made['id']}"
    for change, bad in [
        ({"caller_id": "12"}, {"caller_id"}),
        ({"email": "nobody", "blocked": "perhaps"}, {"email", "blocked"}),
        ({"move_to_another_schedule_id": 999_999}, {"move_to_another_schedule_id"}),
        ({"next_action_at": "soon"}, {"next_action_at"}),
        ({"schedule_callback_at": "2027-01-01 10:00:00 +0000", "schedule_callback_in_seconds": "60"},
         {"schedule_callback_in_seconds"}),
        ({"data": "flat"}, {"data"}),
        ({"data": {"status": "x"}}, {"data.status"}),
        ({"caller_id": "", "email": ""}, {"caller_id"}),
        ({"schedule_callback_at": "", "schedule_callback_in_seconds": None},
         {"schedule_callback_at", "schedule_callback_in_seconds"}),
        ({"schedule_stop": True, "next_action_at": "2027-01-01 10:00:00 +0000"}, {"next_action_at"}),
        ({"opt_out": True, "schedule_callback_in_seconds": "60"}, {"schedule_callback_in_seconds"}),
        ({"blocked": True, "schedule_callback_at": "2027-01-01 10:00:00 +0000"}, {"schedule_callback_at"}),
        ({"hours_to_expire": 5, "restart_schedule": False}, {"hours_to_expire", "restart_schedule"}),
    ]:  # fmt: skip
        answer = await company.send("PUT", path, json=change)
        assert (answer.status_code, set(answer.json()["errors"])) == (422, bad), answer.text
    lead = (await company.send("GET", path)).json()["lead"]
    assert (lead["email"], lead["caller_id"]) == ("ann@example.com", made["caller_id"])


async def test_how_to_answer_is_no_token_and_is_refused_before_anything_is_done(company: Any) -> None:
    (made,) = await _leads(company, 1)
    path = f"/api/v1/leads/{made['id']}"
    fields = {"lead_token": (await company.schedule())["lead_token"], "caller_id": made["caller_id"]}
    bare = (await company.send("POST", "/api/v1/leads", json=fields, params={"root": "false"})).json()
    assert (bare["caller_id"], bare["data"]) == (made["caller_id"], {})
    for method, asked, body in [
        ("POST", "/api/v1/leads", fields | {"expire_existing": True}),
        ("PUT", path, {"opt_out": True}),
        ("PUT", f"/api/v1/leads/{made['caller_id']}/caller_opt_out", {"lead_token": fields["lead_token"]}),
        ("DELETE", f"{path}/id", None),
        ("POST", "/api/v1/offers", {"name": "Solar"}),
    ]:
        refused = await company.send(method, asked, json=body, params={"root": "perhaps"})
        assert (refused.status_code, list(refused.json()["errors"])) == (422, ["root"]), refused.text
    leads = (await company.send("GET", "/api/v1/leads")).json()["leads"]
    assert {lead["id"]: lead["status"] for lead in leads} == {bare["id"]: bare["status"], made["id"]: made["status"]}
    assert all(lead["opt_out"] is False for lead in leads)
    assert (await company.send("GET", "/api/v1/offers")).json()["offers"] == []


async def test_another_company_never_learns_of_a_lead(company: Any, other: Any) -> None:
    (made,) = await _leads(company, 1)
    for method, path in [
        ("GET", f"/api/v1/leads/{made['id']}"),
        ("GET", f"/api/v1/leads/{made['uuid']}"),
        ("PUT", f"/api/v1/leads/{made['uuid']}"),
        ("DELETE", f"/api/v1/leads/{made['id']}/id"),
        ("GET", "/api/v1/leads/999999999999"),
        ("GET", "/api/v1/leads/0"),
        ("GET", "/api/v1/leads/99999999999999999999999"),
        ("GET", "/api/v1/leads/some-lead"),
    ]:
        answer = await other.send(method, path)
        assert (answer.status_code, answer.json()["code"]) == (404, "not_found"), answer.text
    assert (await other.send("GET", "/api/v1/leads")).json()["leads"] == []
    assert (await company.send("GET", f"/api/v1/leads/{made['id']}")).status_code == 200


async def test_a_new_lead_has_the_defaults_of_the_company(company: Any) -> None:
    built = (await company.send("GET", "/api/v1/leads/new")).json()["lead"]
    assert list(built) == list(LEAD_COLUMNS)
    assert (built["id"], built["country"], built["lead_priority"]) == (None, "US", 100.0)
