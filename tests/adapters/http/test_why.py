"""Can a company ask why a lead is, was, or will not be contacted, for any instant, and about its own leads alone?"""

import asyncio
from datetime import datetime, timedelta
from typing import Any

import pytest

from adapters.http.exchange import report_slots
from adapters.http.leads import why as handlers
from adapters.why import outlook
from tests.adapters.http.conftest import DAYTIME_ZONE
from tests.adapters.http.test_teams import lead_of, person, team

pytestmark = pytest.mark.asyncio(loop_scope="session")

NUMBER = "+12125550123"
READS = {"lead": {"actions": ["read"]}}


async def submitted(company: Any, steps: list[dict[str, Any]], **fields: Any) -> dict[str, Any]:
    schedule = await company.schedule(steps=steps, **fields)
    lead = {"lead_token": schedule["lead_token"], "caller_id": NUMBER, "email": "ada@example.com", "zip": "10001"}
    answer = await company.send("POST", "/api/v1/leads", json={**lead, "time_zone": "America/New_York"})
    assert answer.status_code == 201, answer.text
    found: dict[str, Any] = answer.json()["lead"]
    return found


FAR_AWAY = {"call": [{"days": ["sat"], "open": "12:00", "close": "13:00"}]}
"""Hours that open in three days for the first time."""


async def why(company: Any, lead: dict[str, Any], **query: str) -> dict[str, Any]:
    answer = await company.send("GET", f"/api/v1/leads/{lead['id']}/why", params=query)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()["why"]
    return found


WAIT = [
    {"id": "pause", "kind": "wait", "duration": "2h"},
    {"id": "tell-crm", "kind": "email", "subject": "Hi", "template": "x"},
]


async def test_a_lead_that_waits_says_for_what_and_which_decision_said_so(company: Any) -> None:
    lead = await submitted(company, WAIT)

    found = await why(company, lead)

    assert found["verdict"] == "not_due"
    assert found["sentence"].startswith("Nothing is due: an e-mail (step tell-crm) comes at ")
    assert found["next_action_at"] == lead["next_action_at"]
    assert (found["lead_id"], found["uuid"], found["time_zone"]) == (lead["id"], lead["uuid"], "America/New_York")
    decision = found["decision"]
    assert (decision["topic"], decision["fact"]) == ("contacts.decisions", "lead.scheduled")
    assert decision["data"]["source"] == "schedule_step"
    assert found["assumed"] == []


async def test_a_lead_that_waits_for_a_line_says_how_many_wait_before_it(town: Any, company: Any) -> None:
    buyer = await company.record("buyers", {"name": "Closer", "number": "+12125550140", "concurrency_cap_limit": 1})
    call = {"id": "call", "kind": "call", "connect": {"buyer_ids": [buyer["id"]]}}
    schedule = await company.schedule(steps=[call])
    leads = [
        await lead_of(company, schedule, f"+1305555014{number}", time_zone=DAYTIME_ZONE, data={"vip": "1"})
        for number in range(4)
    ]
    last = {"id": leads[-1]}
    async with asyncio.timeout(20):
        while (found := await why(company, last))["queue"] is None:
            await asyncio.sleep(0.1)
    assert (found["verdict"], found["reasons"][0]["code"]) == ("held", "concurrency_cap")
    waiting = {name: found["queue"][name] for name in ("before", "waiting", "lines")}
    assert waiting == {"before": 2, "waiting": 3, "lines": 1}, "one is called, one asks, two wait"
    assert "About 2 leads wait before it for one line" in found["sentence"]

    report = (await company.send("GET", "/api/v1/leads/queues")).json()["queue_report"]["queues"]
    shown = [{name: one[name] for name in ("schedule_id", "step", "status_wait", "waiting", "lines")} for one in report]
    about = {"schedule_id": schedule["id"], "step": "call", "status_wait": "concurrency_cap"}
    assert shown == [{**about, "waiting": 3, "lines": 1}]
    assert (report[0]["calls_last_hour"], report[0]["minutes_left"]) == (1, 180)

    await team(company, lead_filters={"token_filters": [{"key": "vip", "value": "1"}]}, permissions=READS)
    ada = await person(town, company)
    answer = await ada.get(f"/api/v1/leads/{leads[-1]}/why")
    assert answer.status_code == 200, answer.text
    assert answer.json()["why"]["queue"] is None, "it would say how many leads wait that the team does not show"
    assert (await ada.get("/api/v1/leads/queues")).status_code == 403


async def test_the_future_is_tried_out_and_the_past_was_not_there(company: Any) -> None:
    lead = await submitted(company, WAIT)
    due = datetime.fromisoformat(lead["next_action_at"])

    then = await why(company, lead, at=lead["next_action_at"])
    assert (then["verdict"], then["acts_at"], then["decision"]) == ("would_act", lead["next_action_at"], None)
    assert then["assumed"]
    assert (await why(company, lead, at=(due - timedelta(minutes=2)).isoformat()))["verdict"] == "not_due"
    assert (await why(company, lead, at=(due + timedelta(hours=1)).isoformat()))["verdict"] == "ended"
    assert (await why(company, lead, at=(due - timedelta(days=1)).isoformat()))["verdict"] == "absent"


async def test_both_shapes_of_dates_and_local_ones_in_a_zone_are_the_same_instant(company: Any) -> None:
    lead = await submitted(company, WAIT)
    shapes = [
        {"at": "2026-01-05T14:00:00Z"},
        {"at": "2026-01-05 09:00:00 -0500"},
        {"at": "2026-01-05 09:00:00", "time_zone": "America/New_York"},
    ]
    for query in shapes:
        assert (await why(company, lead, **query))["at"] == "2026-01-05T14:00:00Z"


async def test_a_call_outside_the_hours_of_its_schedule_is_held_with_their_words(company: Any) -> None:
    lead = await submitted(company, [{"id": "call-1", "kind": "call"}], windows=FAR_AWAY)

    found = await why(company, lead)

    assert found["verdict"] == "held"
    assert found["reasons"][-1]["code"] == "preferred_window"
    assert found["reasons"][-1]["sentence"].startswith("The schedule allows calls ")
    assert found["sentence"].endswith(".")


async def test_after_an_opt_out_the_answer_is_that(company: Any) -> None:
    lead = await submitted(company, WAIT)
    path = f"/api/v1/leads/{NUMBER}/caller_opt_out"
    token = (await company.send("GET", f"/api/v1/schedules/{lead['schedule_id']}")).json()["schedule"]["lead_token"]
    assert (await company.send("PUT", path, json={"lead_token": token})).status_code == 200

    found = await why(company, lead)

    assert (found["verdict"], found["status"]) == ("stopped", "opt_out")
    assert found["decision"]["fact"] == "lead.ended"


async def test_a_deleted_lead_can_still_be_asked_about(company: Any) -> None:
    lead = await submitted(company, WAIT)
    assert (await company.send("DELETE", f"/api/v1/leads/{lead['id']}/id")).status_code == 200

    assert (await why(company, lead, at=lead["updated_at"]))["verdict"] == "not_due"
    assert (await why(company, lead))["verdict"] == "ended"


async def test_a_lead_is_found_by_id_and_uuid_by_its_company_alone(company: Any, other: Any) -> None:
    lead = await submitted(company, WAIT)

    for reference in (lead["id"], lead["uuid"]):
        assert (await company.send("GET", f"/api/v1/leads/{reference}/why")).status_code == 200
        assert (await other.send("GET", f"/api/v1/leads/{reference}/why")).status_code == 404
    bare = await company.send("GET", f"/api/v1/leads/{lead['id']}/why", params={"root": "false"})
    assert bare.json()["lead_id"] == lead["id"]


@pytest.mark.parametrize(
    ("query", "field", "status"),
    [
        ({"at": "soon"}, "at", 400),
        ({"at": "2300-01-01T00:00:00Z"}, "at", 422),
        ({"at": "0001-01-01T00:00:00Z"}, "at", 422),
        ({"at": "2026-01-05 09:00:00", "time_zone": "Mars"}, "time_zone", 422),
    ],
)
async def test_a_bad_field_is_named(company: Any, query: dict[str, str], field: str, status: int) -> None:
    lead = await submitted(company, WAIT)

    answer = await company.send("GET", f"/api/v1/leads/{lead['id']}/why", params=query)

    assert (answer.status_code, list(answer.json()["errors"])) == (status, [field]), answer.text


# -- the forecast ------------------------------------------------------------------------------------------------------

FORECAST = "/api/v1/leads/forecast"


async def test_a_forecast_counts_what_each_lead_will_do_and_says_what_was_left_out(company: Any, other: Any) -> None:
    schedule = await company.schedule(steps=WAIT)
    for number in range(5):
        lead = {"lead_token": schedule["lead_token"], "email": f"ada-{number}@example.com"}
        assert (await company.send("POST", "/api/v1/leads", json=lead)).status_code == 201

    whole = (await company.send("GET", FORECAST)).json()["forecast"]
    assert (whole["leads"], whole["left_out"], sum(hour["email"] for hour in whole["hours"])) == (5, 0, 5)
    part = (await company.send("GET", FORECAST, params={"hours": "3", "limit": "2"})).json()["forecast"]
    assert (part["leads"], part["left_out"], sum(hour["email"] for hour in part["hours"])) == (2, 3, 2)
    soon = (await company.send("GET", FORECAST, params={"hours": "1"})).json()["forecast"]
    assert (soon["leads"], soon["hours"]) == (0, [])
    assert (await other.send("GET", FORECAST)).json()["forecast"]["leads"] == 0


async def test_a_lead_that_will_expire_unreached_is_named(company: Any) -> None:
    steps = [{"id": "pause", "kind": "wait", "duration": "2m"}, {"id": "call-1", "kind": "call"}]
    lead = await submitted(company, steps, windows=FAR_AWAY, hours_to_expire=1)

    found = (await company.send("GET", FORECAST)).json()["forecast"]

    assert [one["lead_id"] for one in found["expiring"]["leads"]] == [lead["id"]]
    waiting = await company.send(
        "GET", "/api/v1/leads", params={"status_wait": "preferred_window", "has_next_action": "false"}
    )
    assert [row["id"] for row in waiting.json()["leads"]] == [lead["id"]], "the list of leads that wait without a time"


@pytest.mark.parametrize("query", [{"hours": "0"}, {"hours": "169"}, {"limit": "x"}])
async def test_a_bad_bound_of_a_forecast_is_named(company: Any, query: dict[str, str]) -> None:
    answer = await company.send("GET", FORECAST, params=query)

    assert (answer.status_code, list(answer.json()["errors"])) == (422, list(query))


async def test_forecasts_of_one_company_leave_room_for_those_of_another(
    company: Any, other: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(report_slots, "WAIT_SECONDS", 0.2)
    begun, go_on = 0, asyncio.Event()
    real = outlook.outlook_of

    async def hanging(reads: Any, rules: Any, company_id: int, **given: Any) -> Any:
        nonlocal begun
        if company_id == company.id:
            begun += 1
            await go_on.wait()
        return await real(reads, rules, company_id, **given)

    monkeypatch.setattr(handlers, "outlook_of", hanging)
    first = asyncio.create_task(company.send("GET", FORECAST))
    while begun < 1:
        await asyncio.sleep(0.01)

    more = await asyncio.gather(*(company.send("GET", FORECAST) for _ in range(4)))
    monkeypatch.setattr(report_slots, "WAIT_SECONDS", 60.0)  # a slot rests as long as its report took
    answers = [await other.send("GET", path) for path in (FORECAST, "/api/v1/leads/reports")]
    go_on.set()

    assert {(answer.status_code, answer.json()["code"], answer.headers["retry-after"]) for answer in more} == {
        (429, "rate_limited", "5")
    }
    assert [answer.status_code for answer in answers] == [200, 200]
    assert begun == 1
    assert (await first).status_code == 200
