"""Is the document for programs small and true? Whatever it says, the reference says as well, and answers fit it.

tests/clients generates clients from it. tests/adapters/http/test_documents.py holds the answer to every example to it.
"""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

import jsonschema_rs
import pytest

from adapters.http.document.areas import AREAS
from adapters.http.document.client_document import client_document
from adapters.http.document.client_schemas import ALIASES, camel, singular, unite
from adapters.http.document.examples import EXAMPLES, find_recorded_answer
from adapters.http.document.openapi import names_of, openapi, tag_of, takes_body
from adapters.http.exchange.exchange import BODY_METHODS, JSON, ROOT, Operation
from adapters.http.operations import documented_operations
from engine.calendar.rails_names import RAILS_NAMES
from engine.calendar.zones import zone_names
from schemas.problems import PROBLEMS

BYTES_MAX = 455_000
"""What a generator reads, and a person pastes into a tool, without a wait: about 1,600 for each operation."""


def _described(operation: Operation) -> Any:
    return client_document()["paths"][operation.path][operation.methods[0].lower()]


def _at(reference: str) -> Any:
    place: Any = client_document()
    for step in reference.removeprefix("#/").split("/"):
        place = place[step]
    return place


def _resolved(part: Any) -> Any:
    return _at(part["$ref"]) if "$ref" in part else part


def client_schema_of_answer(operation: Operation) -> Any:
    """Return what checks an answer of an operation."""
    response = _resolved(_described(operation)["responses"]["200"])
    schema = response["content"]["application/json"]["schema"]
    return jsonschema_rs.validator_for({"components": client_document()["components"], **schema})


def _body_fields(schema: Mapping[str, Any]) -> set[str]:
    schema = _resolved(schema)
    parts = [_body_fields(part) for part in schema.get("allOf", ())]
    return {*schema.get("properties", ()), *(name for part in parts for name in part)}


def _body_schema(operation: Operation) -> Any:
    return _described(operation)["requestBody"]["content"]["application/json"]["schema"]


def _with_body() -> Iterator[Operation]:
    for operation in documented_operations():
        if operation.methods[0] in BODY_METHODS and takes_body(operation):
            yield operation


def test_the_document_stays_small() -> None:
    size = len(JSON.encode(client_document()))
    assert size < BYTES_MAX, f"{size} bytes: which text or type is described twice?"


def test_the_document_says_of_each_operation_what_the_reference_says() -> None:
    reference = openapi()["paths"]
    for operation in documented_operations():
        described = _described(operation)
        full = reference[operation.path][operation.methods[0].lower()]
        for place in ("path", "query", "header"):
            ours = {field["name"]: field.get("required", False) for field in _parameters(operation, place)}
            theirs = {field["name"]: field["required"] for field in full["parameters"] if field["in"] == place}
            for in_prose in (ROOT, "Prefer"):
                theirs.pop(in_prose, None)
            assert ours == theirs, (operation.name, place)
        assert {"200", "201", "202"} & described["responses"].keys() == {"200", "201", "202"} & full["responses"].keys()
        assert described.get("security", client_document()["security"]) == full["security"]
    for operation in _with_body():
        assert _body_fields(_body_schema(operation)) == {*names_of(operation)} - {ROOT}, operation.name


def _parameters(operation: Operation, place: str) -> list[Any]:
    fields = (
        *client_document()["paths"][operation.path].get("parameters", ()),
        *_described(operation).get("parameters", ()),
    )
    return [field for field in map(_resolved, fields) if field["in"] == place]


def test_the_body_of_every_example_fits_and_each_required_field_is_needed() -> None:
    for operation in _with_body():
        validator = jsonschema_rs.validator_for({"components": client_document()["components"], **_body_schema(operation)})
        body = {**EXAMPLES[operation.name].query, **EXAMPLES[operation.name].body}
        if "true" in body.values():
            continue  # shows that a boolean may be text
        texts = [name for name, value in body.items() if isinstance(value, str) and value.replace(".", "").isdigit()]
        if not set(texts) <= {"code", "digits", "number"}:
            continue  # shows that a number may be text
        assert [error.message for error in validator.iter_errors(body)] == [], operation.name
        for name in operation.required:
            without = {key: value for key, value in body.items() if key != name}
            assert name not in body or not validator.is_valid(without), (operation.name, name)


def test_every_recorded_answer_fits() -> None:
    for operation in documented_operations():
        if operation.file:
            continue
        recorded = find_recorded_answer(operation.name, operation.methods[0])
        validator = client_schema_of_answer(operation)
        assert [error.message for error in validator.iter_errors(recorded.body)] == [], operation.name


def test_answers_and_problems_are_described_once_each_with_one_content_type() -> None:
    for operation in documented_operations():
        for status, answer in _described(operation)["responses"].items():
            assert list(answer) == ["$ref"], (operation.name, status)
            assert len(_resolved(answer)["content"]) == 1, (operation.name, status)
    problem = _resolved(_described(documented_operations()[0])["responses"]["default"])
    assert list(problem["content"]) == ["application/problem+json"]
    codes = _at("#/components/schemas/Problem")["properties"]["code"]
    assert set(_resolved(codes)["enum"]) == PROBLEMS.keys()


def test_what_is_described_once_has_a_noun_for_a_name_and_is_used() -> None:
    document = client_document()
    text = json.dumps(document)
    for kind in ("parameters", "responses", "schemas", "headers"):
        for name, part in document["components"][kind].items():
            assert re.fullmatch(r"[A-Z][A-Za-z-]*", name), name
            assert "title" not in part, name
            assert f'"#/components/{kind}/{name}"' in text, f"{name} is described and never used"
    assert "/properties/" not in "".join(re.findall(r'"\$ref": "([^"]*)"', text))


ALIKE = (
    {"CallCenterFields", "SuppressionListFields"},  # of two records, which today have the same fields
    {"Data", "Tokens", "RecordDraft"},
    {"OptionalTexts", "Secret"},  # only what is sent has bounds
    {"Texts", "OutgoingWebhookHeader", "Field"},  # names of a lead map, headers
)
"""Types that say the same and are two things for a reader."""


def test_no_two_types_say_the_same() -> None:
    alike: dict[str, set[str]] = {}
    for name, schema in client_document()["components"]["schemas"].items():
        alike.setdefault(json.dumps(_without_words(schema), sort_keys=True), set()).add(name)
    assert [names for names in alike.values() if len(names) > 1 and names not in ALIKE] == []


def _without_words(part: Any) -> Any:
    if isinstance(part, list):
        return [_without_words(inner) for inner in part]
    if not isinstance(part, dict):
        return part
    words = {"description", "maxLength", "maxItems", "minimum", "maximum"}
    return {name: _without_words(inner) for name, inner in part.items() if name not in words or isinstance(inner, dict)}


def test_each_collection_is_in_one_area_and_each_area_has_operations() -> None:
    collections = [collection for _, found in AREAS.values() for collection in found]
    assert sorted(collections) == sorted({tag_of(operation) for operation in documented_operations()})
    named = [tag["name"] for tag in client_document()["tags"]]
    assert named == list(AREAS)
    assert {tag for operation in documented_operations() for tag in _described(operation)["tags"]} == {*named}


def test_a_type_with_several_names_says_under_each_the_same() -> None:
    schemas: dict[str, Any] = {alias: {"type": "object"} for alias in ALIASES}
    schemas["Total"] = {"type": "object", "properties": {"leads_count": {"type": "integer"}}}
    with pytest.raises(ValueError, match="Total says something else"):
        unite({"paths": {}, "components": {"schemas": schemas}})


def test_a_parameter_of_several_operations_is_described_once() -> None:
    written = [
        json.dumps(field, sort_keys=True)
        for operation in documented_operations()
        for field in _described(operation).get("parameters", ())
        if "$ref" not in field
    ]
    assert sorted(written) == sorted(set(written))


def test_an_id_is_a_long_number_everywhere() -> None:
    schemas = client_document()["components"]["schemas"]
    assert schemas["Lead"]["properties"]["schedule_id"] == {"type": ["integer", "null"], "format": "int64"}
    assert _at("#/components/parameters/OfferId")["schema"] == {"type": "integer", "format": "int64"}
    for name, schema in schemas.items():
        for field, shown in schema.get("properties", {}).items():
            if field == "id" and shown.get("type") in ("integer", ["integer", "null"]):
                assert shown["format"] == "int64", name


def test_a_zone_is_text_whose_description_says_where_the_names_are() -> None:
    zone = _at("#/components/schemas/TimeZone")
    assert (zone["type"], zone["format"]) == ("string", "time-zone")
    assert "/collections/time_zone" in zone["description"]
    assert {*zone["examples"]} <= {*zone_names(), *RAILS_NAMES}


def test_names_of_types_are_made_from_those_of_fields() -> None:
    assert [camel(name) for name in ("lead_imports", "order dir", "Lead")] == ["LeadImports", "OrderDir", "Lead"]
    assert [singular(name) for name in ("entries", "statuses", "buyers", "status", "window_miss", "access")] == [
        "entry", "status", "buyer", "status", "window_miss", "access",
    ]  # fmt: skip
