"""Do curl and fetch mean the same by JSON, form, multipart and query, and are words, dates and zones read as said?

curl and node are asked as an integrator has them (`tests.api.clients`).
"""

import csv
import io
import json
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
import pytest_asyncio

from adapters.http.document.examples import EXAMPLES, PAGE_ORIGIN
from adapters.http.exchange.exchange import BODY_METHODS
from adapters.http.operations import documented_operations
from adapters.http.server import serving
from engine.calendar.rails_names import RAILS_NAMES
from tests.adapters.http.conftest import Town
from tests.api.clients import FORMS, Ask, curl, fetching, run
from tests.api.fuzz import MANY, examples_wanted
from tests.api.world import as_user, is_of_user, make_places, placed, with_own

pytestmark = pytest.mark.asyncio(loop_scope="session")


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def address(town: Town) -> AsyncIterator[str]:
    """The application on a socket."""
    async with serving(town.app, host="127.0.0.1", port=0) as port:
        yield f"http://127.0.0.1:{port}"


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def fetch() -> AsyncIterator[Ask]:
    """node's fetch."""
    async with fetching() as ask:
        yield ask


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("client", ["curl", "fetch"])
async def test_a_lead_goes_in_is_changed_and_gets_out_by_each_client_and_form(
    company: Any, address: str, fetch: Ask, client: str, form: str
) -> None:
    ask = fetch if client == "fetch" else curl
    schedule = await company.schedule()
    key = f"{company.public_key}.{company.private_key}"
    number = "+12125550123"
    fields = {
        "lead_token": schedule["lead_token"],
        "caller_id": number,
        "full_name": "Ann O'Neil & Söhne + 50%",
        "data": {"roof": "flat = tin", "emoji": "🏠"},
        "note": "a b+c&d",
    }
    made = await ask(f"{address}/api/v1/leads", "POST", form, {**fields, "auth_token": key}, {})
    assert made["status"] == 201, made
    lead = made["body"]["lead"]
    assert (lead["caller_id"], lead["full_name"]) == (number, fields["full_name"])
    assert lead["data"] == {"roof": "flat = tin", "emoji": "🏠", "note": "a b+c&d"}
    changed = await ask(
        f"{address}/api/v1/leads/{lead['uuid']}", "PUT", form, {"email": "ann@example.com", "auth_token": key}, {}
    )
    assert (changed["status"], changed["body"]["lead"]["email"]) == (200, "ann@example.com"), changed
    out = await ask(
        f"{address}/api/v1/leads/{number}/caller_opt_out", "PUT", form, {"lead_token": schedule["lead_token"]}, {}
    )
    assert (out["status"], out["body"]) == (200, {"status": "accepted"}), out
    refused = await ask(f"{address}/api/v1/leads", "POST", form, {**fields, "caller_id": "12", "blocked": "perhaps"}, {})
    assert (refused["status"], set(refused["body"]["errors"])) == (422, {"caller_id", "blocked"}), refused


WRITING = tuple(
    (operation, method)
    for operation in documented_operations()
    for method in operation.methods
    if method in BODY_METHODS and (operation.body is not None or not operation.safe)
)


def _tried(place: int) -> list[tuple[str, str]]:
    """Return by which client and in which form an operation is asked: all in `make test-api`, else one of them in turn."""
    every = [(client, form) for form in FORMS for client in ("curl", "fetch")]
    return every if examples_wanted() >= MANY else [every[place % len(every)]]


async def test_every_operation_that_writes_is_understood_by_curl_and_by_fetch(town: Any, address: str, fetch: Ask) -> None:
    company = await town.company()
    for place, (operation, method) in enumerate(WRITING):
        for client, form in _tried(place):
            if operation.path.startswith("/api/v1/rule_packs"):  # a company has ten at most
                company = await town.company()
            example = EXAMPLES[operation.name]
            example = placed(example, await make_places(town, company, example))
            path = operation.path
            for name, value in example.path.items():
                path = path.replace(f"{{{name}}}", value)
            headers, body = {} if operation.access == "token" else company.headers, dict(example.body)
            if is_of_user(operation):
                headers, body = await as_user(town, company, operation, body)
                path = await with_own(town, operation, path, headers)
            if form == "query" and {"password", "current_password", "code", "token"} & body.keys():  # addresses are logged
                form = "form"  # noqa: PLW2901 - the next best
            headers = {"Origin": PAGE_ORIGIN, **headers}
            ask = fetch if client == "fetch" else curl
            answered = await ask(f"{address}{path}", method, form, {**example.query, **body}, headers)
            assert answered["status"] in {200, 201}, (operation.name, method, client, form, answered["text"])
            shown = "accepted" if operation.access == "token" else answered["status"]
            assert answered["body"]["status"] == shown, (operation.name, client, form)


async def test_records_that_one_company_exported_another_imports_as_they_are(company: Any, other: Any) -> None:
    for collection, fields in (
        ("buyers", {"name": "=Sunny", "number": "+12125550140", "timeout_seconds": 25, "user_buyer_id": "-7"}),
        ("traffic_sources", {"name": "Ads", "first_name": "Ada", "user_traffic_source_id": "+4"}),
        ("call_dispositions", {"name": "Call me later", "category": "callback", "retry_delay_seconds": 60}),
    ):
        made = await company.record(collection, fields)
        exported = await company.send("GET", f"/api/v1/{collection}.csv", params={"ids": str(made["id"])})
        (row,) = csv.DictReader(io.StringIO(exported.text))
        again = await other.record(collection, row)
        # What a spreadsheet would run keeps its apostrophe: it was text before, and is text now.
        assert {name: again[name] for name in fields} == {**fields, "name": row["name"]}, collection


async def test_lists_are_read_by_curl_and_by_fetch_in_both_formats(company: Any, address: str) -> None:
    schedule = await company.schedule()
    await company.send("POST", "/api/v1/leads", json={"lead_token": schedule["lead_token"], "caller_id": "+12125550123"})
    listed = f"{address}/api/v1/leads?columns=caller_id,status&auth_token={company.public_key}.{company.private_key}"
    assert json.loads(await run("curl", "-sS", listed))["leads"] == [{"caller_id": "+12125550123", "status": "scheduled"}]
    basic = ("-u", f"{company.public_key}:{company.private_key}", f"{address}/api/v1/leads.csv?columns=caller_id,status")
    assert await run("curl", "-sS", *basic) == b'"caller_id","status"\r\n"+12125550123","scheduled"\r\n'
    script = "const a = await fetch(process.argv[1]); console.log(JSON.stringify((await a.json()).metadata));"
    answered = json.loads(await run("node", "--input-type=module", "-e", script, "--", listed))
    assert (answered["total_count"], answered["root"]) == (1, "leads")


TRUE = ("1", "true", "yes", "on", "TRUE", "Yes", " on ")
FALSE = ("0", "false", "no", "off", "FALSE", "No", " off ")
NEITHER = ("2", "t", "f", "y", "n", "-1", "01", "1.0", "enabled", "null", "truefalse", "１")  # noqa: RUF001 - that is the point


async def test_booleans_are_these_eight_words_and_no_others(company: Any) -> None:
    schedule = await company.schedule()
    await company.send("POST", "/api/v1/leads", json={"lead_token": schedule["lead_token"], "caller_id": "+12125550123"})
    for words, count in ((TRUE, 1), (FALSE, 0)):
        for word in words:
            answer = await company.send("GET", "/api/v1/leads", params={"has_next_action": word})
            assert (answer.status_code, len(answer.json()["leads"])) == (200, count), word
    for word in NEITHER:
        answer = await company.send("GET", "/api/v1/leads", params={"has_next_action": word})
        assert (answer.status_code, list(answer.json()["errors"])) == (422, ["has_next_action"]), word
    fields = {"lead_token": schedule["lead_token"], "caller_id": "+12125550124"}
    for value, status in ((True, 201), (False, 200), (1, 200), (0, 200), (1.0, 422), ([True], 422), ({}, 422), (2, 422)):
        answer = await company.send("POST", "/api/v1/leads", json={**fields, "assign_sms_number": value})
        assert answer.status_code == status, (value, answer.text)


MOMENTS: list[tuple[str, str | None]] = [
    ("2026-03-07 21:30:00 -0500", "2026-03-08T02:30:00Z"),
    ("2026-03-07 21:30:00 +0000", "2026-03-07T21:30:00Z"),
    ("2026-03-07T21:30:00-05:00", "2026-03-08T02:30:00Z"),
    ("2026-03-07T21:30:00Z", "2026-03-07T21:30:00Z"),
    ("2026-03-07t21:30:00.250z", "2026-03-07T21:30:00.250Z"),
    ("2026-03-07 21:30:00", None),
    ("2026-02-29 00:00:00 +0000", None),
    ("2026-03-07 24:00:00 +0000", None),
    ("2026-03-07 21:30:00 -0560", None),
    ("1772919000", None),
    ("07/03/2026", None),
]


async def test_both_shapes_of_dates_are_read_and_no_other(company: Any) -> None:
    steps = [{"id": "pause", "kind": "wait", "duration": "1h"}, {"id": "text", "kind": "sms", "template": "Hi"}]
    fields = {"schedule": {"steps": steps}, "lead": {"caller_id": "+12125550123"}}
    for text, expected in MOMENTS:
        answer = await company.send("POST", "/api/v1/schedules/preview", json={**fields, "at": text})
        if expected is None:
            assert answer.status_code in {400, 422}, text
            assert list(answer.json()["errors"]) == ["at"], answer.text
        else:
            assert answer.status_code == 200, (text, answer.text)
            begun = await company.send("POST", "/api/v1/schedules/preview", json={**fields, "at": expected})
            assert answer.json()["preview"]["actions"] == begun.json()["preview"]["actions"], text


async def test_a_date_without_an_offset_is_of_the_zone_of_the_list(company: Any) -> None:
    for text in ("2026-03-08 02:30:00", "2026-03-08", "2026-03-08T10:00"):
        answer = await company.send(
            "GET", "/api/v1/leads", params={"created_at_from": text, "time_zone": "America/New_York"}
        )
        assert answer.status_code == 200, (text, answer.text)


async def test_every_zone_of_the_collection_is_taken_and_shown_under_its_iana_name(town: Any, company: Any) -> None:
    offer = await company.record("offers", {"name": "Solar"})
    listed: httpx.Response = await town.client.get("/api/v1/collections/time_zone")
    names = {zone["name"]: zone["iana"] for zone in listed.json()["time_zones"]}
    assert names.keys() >= RAILS_NAMES.keys()
    made = await company.send("POST", "/api/v1/leads", json={"lead_token": offer["lead_token"], "caller_id": "+12125550123"})
    path = f"/api/v1/leads/{made.json()['lead']['id']}"
    for name in (*sorted(RAILS_NAMES)[::5], "America/New_York", "Asia/Kolkata"):
        answer = await company.send("PUT", path, json={"time_zone": name})
        if name == "UTC":
            assert "Europe/London" in answer.json()["errors"]["time_zone"][0], "no person has it on a clock"
        else:
            assert answer.json()["lead"]["time_zone"] == names[name], answer.text
    for name in sorted(names)[::9]:
        answer = await company.send("GET", "/api/v1/leads", params={"time_zone": name, "created_at_label": "Today"})
        assert answer.status_code == 200, name
    for name in ("Mars/Olympus", "EST", "Etc/GMT+5", "EST5", "+05:00", "../etc/passwd", "america/new york"):
        answer = await company.send("PUT", path, json={"time_zone": name})
        assert (answer.status_code, list(answer.json()["errors"])) == (422, ["time_zone"]), name


async def test_a_form_carries_what_a_schedule_does_when_somebody_answers(company: Any) -> None:
    steps = [{"id": "pause", "kind": "wait", "duration": "1h"}, {"id": "text", "kind": "sms", "template": "Hi"}]
    said = {"on_reply": {"action": "pause", "duration": "2h"}, "on_inbound_connected": {"action": "exit"}}
    form = {"name": "Solar", "steps": json.dumps(steps), **{name: json.dumps(value) for name, value in said.items()}}
    made = await company.send("POST", "/api/v1/schedules", data={**form, "on_conversion": "continue"})
    assert made.status_code == 201, made.text
    schedule = made.json()["schedule"]
    assert (schedule["on_reply"], schedule["on_conversion"]) == (said["on_reply"], "continue")
    assert schedule["on_inbound_connected"]["action"] == "exit"


@pytest.mark.parametrize(
    ("path", "more"),
    [("/api/v1/leads.csv", {}), ("/api/v1/buyers.csv", {}), ("/api/v1/calls/reports.csv", {"category": "status"})],
)
async def test_a_root_that_is_no_boolean_is_refused_in_files_as_well(company: Any, path: str, more: dict[str, str]) -> None:
    answer = await company.send("GET", path, params={"root": "1.5", **more})
    assert (answer.status_code, list(answer.json()["errors"])) == (422, ["root"])
