"""Is a parameter that an operation does not know refused everywhere, with the nearest known name?

The operations are those of the OpenAPI document: a new one is held to the same rule on the day it is added. A filter that
is mistyped and ignored gives away every row.
"""

from collections.abc import Mapping
from typing import Any

import httpx
import pytest
from structlog.testing import capture_logs

from adapters.http.document.examples import EXAMPLES, NUMBER, SCHEDULE_TOKEN, Example
from adapters.http.document.openapi import openapi
from adapters.http.exchange.binding import FIELDS_SHOWN_MAX
from adapters.http.exchange.exchange import Exchange, Operation, ignored_sentence
from adapters.http.exchange.headers import WARNING
from adapters.http.operations import documented_operations
from tests.api.world import make_places, placed, send

pytestmark = pytest.mark.asyncio(loop_scope="session")

UNKNOWN = "mc_cid"
"""What no operation knows, and a mail tracker appends."""

ROWS: tuple[tuple[str, str, Operation], ...] = tuple(
    (operation.path + suffix, method, operation)
    for operation in documented_operations()
    for suffix in operation.suffixes
    for method in operation.methods
)
REFUSING = [row for row in ROWS if row[2].extra in {"refused", "checked_by_handler"}]


def filled(path: str, operation: Operation) -> str:
    """Return a path with the ids of the documented example: nobody's, as the names are checked before anything is read."""
    for name, value in EXAMPLES.get(operation.name, Example()).path.items():
        path = path.replace(f"{{{name}}}", value)
    return path


async def test_the_table_holds_every_operation_of_the_document() -> None:
    documented_rows = {
        (path, method.upper()) for path, entry in openapi()["paths"].items() for method in entry if method != "parameters"
    }
    assert {(path, method) for path, method, _ in ROWS} == documented_rows
    others = {operation.name for operation in documented_operations()} - {operation.name for _, _, operation in REFUSING}
    assert others == {
        *("submit_lead", "create_or_update_lead", "update_lead"),  # any further field is a token of the lead
        *("caller_opt_out", "caller_remove", "caller_move_to_end_of_schedule"),  # a person's own links
    }


async def test_an_unknown_parameter_is_refused_on_every_operation_with_the_nearest_known_name(company: Any) -> None:
    wrong = []
    for path, method, operation in REFUSING:
        mistyped = {f"{name}z": name for name in operation.known()}
        answer = await company.send(method, filled(path, operation), params={UNKNOWN: "x", **mistyped})
        if not names_the_unknown(answer, mistyped):
            wrong.append(f"{method} {path}: {answer.status_code} {answer.text}")

    assert len(REFUSING) > 300
    assert wrong == []


def names_the_unknown(answer: httpx.Response, mistyped: Mapping[str, str]) -> bool:
    """Return whether an answer names all unknown parameters at once, as many as are shown, with the nearest known names."""
    if (answer.status_code, answer.json()["code"]) != (422, "validation_failed"):
        return False
    errors = answer.json()["errors"]
    if list(errors) != [UNKNOWN, *mistyped][:FIELDS_SHOWN_MAX]:
        return False
    shown = list(mistyped.items())[: FIELDS_SHOWN_MAX - 1]
    return errors[UNKNOWN][0].startswith("is not a parameter of this request") and all(
        errors[wrong] == [f"is not a parameter of this request (did you mean {name}?)"] for wrong, name in shown
    )


async def test_a_mistyped_filter_gives_away_nobody_in_an_export(company: Any, town: Any) -> None:
    token = (await company.schedule())["lead_token"]
    lead = await town.client.post("/api/v1/leads", json={"lead_token": token, "caller_id": "+19175550166"})
    assert lead.status_code == 201
    for path in ("/api/v1/leads.csv", "/api/v1/leads.json", "/api/v1/leads"):
        assert "+19175550166" in (await company.send("GET", path, params={"status": "scheduled"})).text
        answer = await company.send("GET", path, params={"statuss": "opt_out"})
        assert answer.status_code == 422
        assert answer.json()["errors"] == {"statuss": ["is not a parameter of this request (did you mean status?)"]}
        assert "+19175550166" not in answer.text


async def test_unknown_columns_and_orders_are_refused_with_the_nearest_known_name(company: Any) -> None:
    answer = await company.send("GET", "/api/v1/leads", params={"columns": "id,calller_id", "order": "creatd_at"})
    assert answer.status_code == 422
    assert "calller_id (did you mean caller_id?)" in answer.json()["errors"]["columns"][0]
    assert "(did you mean created_at?)" in answer.json()["errors"]["order"][0]


@pytest.mark.parametrize(
    ("path", "fields"),
    [
        ("/api/v1/calls/70010", {"serialiser": "call_grid"}),
        ("/api/v1/calls", {"froce": "true"}),
        ("/api/v1/texts/received", {"boddy": "STOP"}),
        ("/api/v1/schedules/70002/publish", {"migrat": "true"}),
    ],
)
@pytest.mark.parametrize("form", ["json", "data"])
async def test_an_unknown_field_of_a_body_is_refused_where_it_would_have_no_effect(
    company: Any, path: str, fields: dict[str, str], form: str
) -> None:
    answer = await company.send("POST", path, **{form: fields})
    assert answer.status_code == 422, answer.text
    assert all("did you mean" in answer.json()["errors"][name][0] for name in fields), answer.text


async def test_names_of_forms_and_of_authentication_are_known(company: Any, town: Any) -> None:
    key = f"{company.public_key}.{company.private_key}"
    query = {"columns[]": ["id", "status"], "ids[]": ["1", "2"], "ids[0]": "3", "root": "false", "auth_token": key}
    assert (await town.client.get("/api/v1/leads", params=query)).status_code == 200
    # Also where the key stands in the header already.
    assert (await company.send("GET", "/api/v1/buyers", params={"auth_token": key, "ids": "1"})).status_code == 200


async def test_a_company_that_asks_for_it_has_unknown_parameters_ignored(company: Any, other: Any) -> None:
    refused = await company.send("PUT", "/api/v1/company", json={"unknown_parameters": "ignor"})
    assert (refused.status_code, set(refused.json()["errors"])) == (422, {"unknown_parameters"})
    changed = await company.send("PUT", "/api/v1/company", json={"unknown_parameters": "ignore"})
    assert (changed.status_code, changed.json()["company"]["unknown_parameters"]) == (200, "ignore")
    offer = await company.record("offers", {"name": "O"})
    for method, path, more in (
        ("GET", "/api/v1/leads.csv", {}),
        ("GET", f"/api/v1/offers/{offer['id']}", {}),
        ("PUT", f"/api/v1/offers/{offer['id']}", {"json": {"name": "P"}}),
    ):
        taken = await company.send(method, path, params={UNKNOWN: "x"}, **more)
        assert taken.status_code == 200, path
        assert taken.headers[WARNING] == f"Ignored, because this operation does not know them: {UNKNOWN}."
        assert (await other.send(method, path, params={UNKNOWN: "x"}, **more)).status_code == 422, path
    # A misspelt field of a record is none the less a mistake: it would be lost.
    assert (await company.send("PUT", f"/api/v1/offers/{offer['id']}", json={"nam": "P"})).status_code == 422
    again = await company.send("PUT", "/api/v1/company", json={"unknown_parameters": "refuse"})
    assert again.json()["company"]["unknown_parameters"] == "refuse"
    assert (await company.send("GET", "/api/v1/leads.csv", params={UNKNOWN: "x"})).status_code == 422


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (["status"], "status"),
        (["status", "a\r\nSet-Cookie: x", "l\u00e4nge"], "status and 2 more"),
        (["a\nb"], "1"),
        (list("abcdefg"), "a, b, c, d, e and 2 more"),
    ],
)
async def test_a_warning_of_ignored_parameters_names_those_that_a_header_can_hold(names: list[str], said: str) -> None:
    assert ignored_sentence(names) == f"Ignored, because this operation does not know them: {said}."


TRACKED = {"utm_source": "newsletter", "utm_campaign": "june", "fbclid": "x" * 300, "mc_eid": "", "lead[tokens]": "1"}


@pytest.mark.parametrize(
    ("method", "action", "status"),
    [
        ("GET", "caller_opt_out", "opt_out"),
        ("PUT", "caller_opt_out", "opt_out"),
        ("GET", "caller_remove", "removed"),
        ("POST", "caller_remove", "removed"),
        ("DELETE", "caller_remove", "removed"),
        ("PUT", "caller_move_to_end_of_schedule", ""),
        ("POST", "caller_move_to_end_of_schedule", ""),
    ],
)
async def test_a_persons_own_link_works_with_whatever_a_mail_tracker_appends(
    company: Any, town: Any, method: str, action: str, status: str
) -> None:
    places = await make_places(town, company, EXAMPLES["caller_opt_out"])
    example = placed(EXAMPLES["caller_opt_out"], places)
    path, token = f"/api/v1/leads/{example.path['id']}/{action}", {**example.query, **example.body}["lead_token"]
    posted = {"data": {"List-Unsubscribe": "One-Click"}} if method == "POST" else {}
    with capture_logs() as logged:
        answer = await town.client.request(method, path, params={"lead_token": token, **TRACKED}, **posted)
    assert (answer.status_code, answer.json()["status"]) == (200, "accepted"), answer.text
    assert await _status_of(company, places) == status or not status
    lines = [line for line in logged if line["event"] == "parameters.ignored"]
    assert {line["operation"] for line in lines} == {action}
    names = [name for line in lines for name in line["names"]]
    assert names == [*TRACKED, *posted.get("data", {})]
    assert "newsletter" not in str(lines), "names are logged, values may be secrets"


@pytest.mark.parametrize(
    "appended",
    [
        "utm_campaign=caf%E9",  # Latin-1
        "fbclid=%00",
        "x[]=1&x[a]=2&x[[[=3&=&&",
        "&".join(f"utm_{number}=x" for number in range(1_200)),
        "x" + "[a]" * 30 + "=1",
    ],
)
async def test_an_opt_out_does_not_fail_for_what_is_appended_to_its_link(company: Any, town: Any, appended: str) -> None:
    places = await make_places(town, company, EXAMPLES["caller_opt_out"])
    number, token = places[NUMBER], places[SCHEDULE_TOKEN]
    query = f"lead_token={token}&{appended}".encode()
    answer = await town.client.get(httpx.URL(f"/api/v1/leads/{number}/caller_opt_out", query=query))
    assert (answer.status_code, answer.json()["status"]) == (200, "accepted"), answer.text
    assert await _status_of(company, places) == "opt_out"


async def _status_of(company: Any, places: Any) -> str:
    """Return the status of the lead of the places, as its company sees it: who has a link alone is not shown it."""
    shown = await company.send("GET", f"/api/v1/leads/{places[SCHEDULE_TOKEN]}/{places[NUMBER]}/by_caller_number")
    return str(shown.json()["lead"]["status"])


async def test_further_fields_of_a_lead_are_tokens_as_ever(company: Any) -> None:
    token = (await company.schedule())["lead_token"]
    fields = {"lead_token": token, "caller_id": "+19175550167", "utm_source": "ads"}
    made = await company.send("POST", "/api/v1/leads", params={"gclid": "7"}, json=fields)
    assert made.status_code == 201, made.text
    path = f"/api/v1/leads/{made.json()['lead']['id']}"
    changed = await company.send("PUT", path, params={"statuss": "x"}, json={"roof": "flat"})
    assert changed.status_code == 200
    assert changed.json()["lead"]["data"] == {"utm_source": "ads", "gclid": "7", "statuss": "x", "roof": "flat"}


class Watched(dict[str, Any]):
    """Fields that remember which names were asked for."""

    def __init__(self, fields: Mapping[str, Any]) -> None:
        super().__init__(fields)
        self.asked: set[str] = set()

    def get(self, name: str, default: Any = None) -> Any:
        self.asked.add(name)
        return super().get(name, default)

    def __getitem__(self, name: str) -> Any:
        self.asked.add(name)
        return super().__getitem__(name)

    def __contains__(self, name: object) -> bool:
        self.asked.add(str(name))
        return super().__contains__(name)


async def test_an_operation_reads_no_parameter_that_it_does_not_name(town: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    company = await town.company()
    watched: list[Watched] = []
    read = Exchange.read

    async def watching(exchange: Exchange) -> None:
        await read(exchange)
        if exchange.operation.name != operation.name:
            return  # what prepares it: a session, say
        exchange.query, exchange.fields = Watched(exchange.query), Watched(exchange.fields)
        watched.extend((exchange.query, exchange.fields))

    undeclared: dict[str, set[str]] = {}
    for operation in documented_operations():
        # What is changed by number is read as of one call; what cannot be changed so is left out afterwards.
        if operation.extra not in {"refused", "ignored"} or operation.name == "update_calls_by_caller_id":
            continue
        example = EXAMPLES.get(operation.name, Example())
        example = placed(example, await make_places(town, company, example))
        with monkeypatch.context() as patched:
            patched.setattr(Exchange, "read", watching)
            watched.clear()
            await send(town, company, operation, operation.methods[0], example)
        asked = {name for fields in watched for name in fields.asked}
        if extra := asked - set(operation.known()):
            undeclared[operation.name] = extra
    assert undeclared == {}
