"""Is the documentation complete, and does every example in it work as it stands?"""

import re
from typing import Any

import jsonschema_rs
import pytest

from adapters.http.document import descriptions
from adapters.http.document.examples import EXAMPLES, RECORDED, find_recorded_answer, read_recorded_answers
from adapters.http.document.openapi import openapi, parameter_schema
from adapters.http.document.refusals import problem_codes
from adapters.http.document.type_descriptions import TypeDescriber
from adapters.http.exchange.exchange import Operation
from adapters.http.operations import OPERATIONS, documented_operations
from adapters.http.schema.shapes import LEAD_TYPES, view_name
from engine.views.lead_columns import LEAD_COLUMNS
from schemas.problems import PROBLEMS
from schemas.records import RECORD_BODIES
from tests.adapters.http.test_client_document import client_schema_of_answer
from tests.api.record import as_lines, asked
from tests.api.world import make_places, placed, send, show_impression

pytestmark = pytest.mark.asyncio(loop_scope="session")


def _fields(operation: Operation) -> list[str]:
    return [*(operation.body or {}).get("properties", ()), *operation.parameters]


async def test_every_operation_has_types_an_answer_and_an_example() -> None:
    for operation in documented_operations():
        assert operation.answer is not None or operation.file, f"{operation.name}: say what it answers (answer=)"
        untyped = [name for name in _fields(operation) if not parameter_schema(operation, name)]
        assert untyped == [], f"{operation.name}: give these a type in adapters/http/schema/inputs.py"
        assert operation.name in EXAMPLES, f"{operation.name}: give an example in adapters/http/document/examples.py"
        named = {*EXAMPLES[operation.name].query, *EXAMPLES[operation.name].body}
        assert named <= {*_fields(operation)}, f"{operation.name}: the example has fields that are not documented"
    assert EXAMPLES.keys() == {operation.name for operation in documented_operations()}


async def test_every_operation_is_described_in_one_to_three_sentences() -> None:
    for path, item in openapi()["paths"].items():
        for method, operation in item.items():
            if method == "parameters":
                continue
            sentences = re.split(r"(?<=[a-z0-9`)])\.(?:\s|$)", operation["description"])
            assert operation["description"].endswith("."), f"{method} {path}"
            assert 1 <= len([one for one in sentences if one]) <= 3, f"{method} {path}: {operation['description']}"
            assert operation["description"].rstrip(".") != operation["summary"], f"{method} {path}"


async def test_every_description_is_of_an_operation_that_exists() -> None:
    assert descriptions.BY_NAME.keys() <= {operation.name for operation in OPERATIONS}


async def test_every_column_of_a_lead_has_a_type() -> None:
    assert set(LEAD_COLUMNS) <= LEAD_TYPES.keys()


async def test_every_problem_is_the_answer_of_some_operation_or_of_a_record_on_a_topic() -> None:
    documented = {code for operation in documented_operations() for code in problem_codes(operation)}
    of_operators = {code for operation in OPERATIONS if operation.access == "operator" for code in operation.problems}
    only_on_topics = {"unknown_type", "malformed_envelope", "wrong_partition"}
    of_the_server = {"method_not_allowed"}
    assert documented | of_operators | only_on_topics | of_the_server == PROBLEMS.keys()


async def test_the_document_has_a_response_for_every_status_of_its_codes() -> None:
    for path, entry in openapi()["paths"].items():
        for method, described in entry.items():
            assert re.fullmatch(r"[a-z_]+", described["operationId"]), path
            assert method == "head" or {"200", "500"} <= described["responses"].keys(), (path, method)
            for field in described["parameters"]:
                assert field["schema"], (path, field["name"])


async def test_every_field_is_described_in_a_sentence() -> None:
    components = openapi()["components"]["schemas"]
    for path, entry in openapi()["paths"].items():
        for method, described in entry.items():
            for field in described["parameters"]:
                assert field["description"], (path, method, field["name"])
            for name, kept in components.get(_fields_of(described), {}).get("properties", {}).items():
                assert kept.get("description"), (path, method, name)
    for record_type in RECORD_BODIES:
        for name, shown in components[view_name(record_type)]["properties"].items():
            assert shown["description"], (record_type, name)
    person = openapi()["paths"]["/api/v1/leads/{id}/caller_opt_out"]["put"]["parameters"][0]
    assert person["description"].startswith("a telephone number")
    assert components["CreateActionGroupFields"]["required"] == ["name", "steps"]


def _fields_of(described: Any) -> str:
    content = described.get("requestBody", {}).get("content", {}).get("application/json", {})
    return str(content.get("schema", {}).get("$ref", "")).rpartition("/")[2]


async def test_a_name_is_text_in_words_and_a_number_is_not_described_twice() -> None:
    reader = TypeDescriber(openapi())
    fields = reader.schemas["CreateBuyerFields"]["properties"]
    assert reader.describe(fields["name"]).startswith("text <")
    assert reader.describe(reader.schemas["PhoneInput"]).startswith("text <")
    assert reader.describe(fields["weight"]) == "whole number <span class='bound'>0 to 1,000</span>"


async def test_every_example_works_as_it_stands_and_is_answered_as_the_document_shows(town: Any, company: Any) -> None:
    await make_places(town, company, *EXAMPLES.values())  # lists have something to show
    await show_impression(company)
    for operation, method in asked():
        example = EXAMPLES[operation.name]
        places = await make_places(town, company, example)
        answer = await send(town, company, operation, method, placed(example, places))
        assert answer.status_code < 300, (operation.name, method, answer.text)
        validator = _validator(operation, method)
        assert validator.is_valid(answer.json()), (operation.name, method, answer.text)
        if method == operation.methods[0]:
            assert client_schema_of_answer(operation).is_valid(answer.json()), (operation.name, answer.text)
        shown = find_recorded_answer(operation.name, method)
        cure = f"{operation.name} {method}: ask it again, with `python -m tests.api.record`"
        assert shown.body is not None, cure
        assert validator.is_valid(shown.body), cure
        assert shown.body.keys() == answer.json().keys(), cure
        for root, value in shown.body.items():
            # Which keys a map has, by id or by day, is the company's; a record always has the same.
            # A column that came since is shown when the answers are recorded next; one that went must not be.
            assert root == "reasons" or _members(value) <= _members(answer.json()[root]), cure
        assert bool(shown.csv) == (".csv" in operation.suffixes), cure


async def test_recorded_answers_are_stored_an_answer_a_line() -> None:
    answers = read_recorded_answers()
    stored = RECORDED.read_bytes()
    assert stored == as_lines(answers), "record them again, with `python -m tests.api.record`"
    assert len(stored.splitlines()) == len(answers) + len("{}")


def _members(shown: Any) -> set[str]:
    """Return the names in a record, or in the first of a list."""
    row = shown[0] if isinstance(shown, list) and shown else shown
    return set(row) if isinstance(row, dict) else set()


def _validator(operation: Operation, method: str) -> Any:
    document = openapi()
    content = document["paths"][operation.path][method.lower()]["responses"]["200"]["content"]
    return jsonschema_rs.validator_for({"components": document["components"], **content["application/json"]["schema"]})


async def test_every_refusal_has_an_example_that_fits_its_schema_and_tells_its_headers() -> None:
    document = openapi()
    components = document["components"]
    for name, refusal in components["responses"].items():
        media = refusal["content"]["application/problem+json"]
        validator = jsonschema_rs.validator_for({"components": components, **media["schema"]})
        assert media["examples"], name
        for code in media["examples"]:
            assert validator.is_valid(components["examples"][code]["value"]), (name, code)
        status = components["examples"][next(iter(media["examples"]))]["value"]["status"]
        must = {401: "WWW-Authenticate", 429: "Retry-After", 503: "Retry-After"}.get(status, "X-Request-Id")
        assert must in refusal["headers"], name


async def test_every_link_leads_to_an_operation_and_gives_it_its_id() -> None:
    document = openapi()
    named = {described["operationId"]: described for entry in document["paths"].values() for described in entry.values()}
    linked = set()
    for described in list(named.values()):
        for answer in described["responses"].values():
            for link in answer.get("links", {}).values():
                linked.add(link["operationId"])
                in_path = {field["name"] for field in named[link["operationId"]]["parameters"] if field["in"] == "path"}
                assert set(link["parameters"]) == in_path == {"id"}
    by_id = {
        name
        for name, one in named.items()
        if any(field["name"] == "id" for field in one["parameters"] if field["in"] == "path")
    }
    assert {name for name in by_id - linked if not name.endswith(("_csv", "_json"))} <= {
        "show_request",
        "show_subscription_delivery",
        "update_calls_by_caller_id",
        *("play_recording", "delete_recording", "show_recording_link", "show_transcription"),  # of a call that was recorded
    }


async def test_headers_that_answers_have_are_documented_and_those_documented_are_there(town: Any, company: Any) -> None:
    schedule = await company.schedule()
    fields = {"lead_token": schedule["lead_token"], "caller_id": "+12125550123"}
    made = await company.send("POST", "/api/v1/leads", json=fields)
    later = await company.send("POST", "/api/v1/leads", json=fields, headers={"Prefer": "respond-async"})
    listed = await company.send("GET", "/api/v1/leads", params={"root": "false", "per_page": "1", "cursor": "-1"})
    nobody = await town.client.get("/api/v1/leads")
    operations = openapi()["paths"]["/api/v1/leads"]
    for answer, method, status, names in (
        (made, "post", "201", {"ETag", "X-Request-Id"}),
        (later, "post", "202", {"Location", "Retry-After", "Preference-Applied"}),
        (listed, "get", "200", {"X-Per-Page", "X-Next-Cursor"}),
        (nobody, "get", "401", {"WWW-Authenticate"}),
    ):
        assert answer.status_code == int(status)
        described = operations[method]["responses"][status]
        described = described if "headers" in described else openapi()["components"]["responses"][_named(described)]
        assert names <= described["headers"].keys(), (method, status)
        assert {name.lower() for name in names} <= {name.lower() for name in answer.headers}, (method, status)
        ours = {name for name in answer.headers if name not in {"content-type", "content-length"}}
        assert ours <= {name.lower() for name in described["headers"]}, (method, status)


def _named(reference: Any) -> str:
    return str(reference["$ref"]).rpartition("/")[2]


async def test_the_page_needs_nothing_from_elsewhere_and_shows_every_operation_with_its_example(town: Any) -> None:
    page = (await town.client.get("/api/docs/1.0", headers={"Accept": "text/html"})).text
    assert re.findall(r"""(?:src|href)=['"](?!#|/api/docs/1\.0)[^'"]*""", page) == []
    assert "import(" not in page
    assert page.count("fetch(`") == page.count("curl -s &quot;$LEADCLOCK") > 100
    for described in (one for path, entry in openapi()["paths"].items() if "." not in path for one in entry.values()):
        assert f"id='{described['operationId']}'" in page, described["operationId"]
    ids = re.findall(r" id='([^']+)'", page)
    assert len(ids) == len(set(ids))
    assert all(f"href='#{code}'" in page or f"id='{code}'" in page for code in PROBLEMS)
