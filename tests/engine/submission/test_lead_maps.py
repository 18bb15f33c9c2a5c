"""Does a lead map find each field where the posts of its sender have it, and is a wrong one refused by name?"""

from typing import Any

import msgspec
import pytest

from engine.account.bodies import read_body
from engine.partition.draft import RefusedError
from engine.rules import Rules
from engine.submission.lead_maps import map_fields
from engine.submission.map_preview import preview_map
from engine.submission.normalise import TEST_IS_CONTACTED, normalise
from schemas.instant import EPOCH
from schemas.records import LeadMap, Schedule, TrafficSource
from tests.engine.submission.conftest import SCHEDULE_ID, folded, record

LEAD_TOKEN = "schedule-token"
NUMBER = "+13055550123"

# As https://developers.google.com/google-ads/webhook/docs/implementation has it
GOOGLE = {
    "lead_id": "TeSter-123-ABCDEFGHIJ",
    "user_column_data": [
        {"column_name": "Full Name", "string_value": "Ada Lovelace", "column_id": "FULL_NAME"},
        {"column_name": "User Phone", "string_value": NUMBER, "column_id": "PHONE_NUMBER"},
    ],
    "api_version": "1.0",
    "google_key": "k",
    "is_test": True,
}
# As https://www.typeform.com/developers/webhooks/example-payload/ has it
TYPEFORM = {
    "event_id": "LtWXD3crgy",
    "form_response": {
        "token": "a3a12ec67a1365927098a606107fac15",
        "answers": [
            {"type": "text", "text": "Miami", "field": {"id": "1", "ref": "city"}},
            {"type": "phone_number", "phone_number": NUMBER, "field": {"id": "2", "ref": "tel"}},
        ],
    },
}


@pytest.mark.parametrize(
    ("path", "body", "value"),
    [
        ("phone", {"phone": NUMBER}, NUMBER),
        ("lead.phone", {"lead": {"phone": NUMBER}}, NUMBER),
        ("phones[0]", {"phones": [NUMBER, "x"]}, NUMBER),
        ("phones[1].number", {"phones": [{}, {"number": NUMBER}]}, NUMBER),
        ("phones", {"phones": [NUMBER]}, NUMBER),  # a list of one is its value
        ("lead.phone", {"lead": [{"phone": NUMBER}]}, NUMBER),
        ("user_column_data[column_id=PHONE_NUMBER].string_value", GOOGLE, NUMBER),
        ("user_column_data[column_id=phone_number].string_value", GOOGLE, NUMBER),
        ("form_response.answers[field.ref=tel].phone_number", TYPEFORM, NUMBER),
        ("rawRequest.q4_phone", {"rawRequest": '{"q4_phone": "%s"}' % NUMBER}, NUMBER),  # noqa: UP031 - braces of JSON
        (r"your\.phone", {"your.phone": NUMBER}, NUMBER),
        ("Phone Number", {"Phone Number": NUMBER}, NUMBER),
        ("answers[0][id=7].v", {"answers": [[{"id": 7, "v": NUMBER}]]}, NUMBER),
        ("phone", {"Phone": NUMBER}, None),
        ("phones[2]", {"phones": [NUMBER]}, None),
        ("phone.number", {"phone": NUMBER}, None),
        ("list[name=x].v", {"list": [{"name": "y", "v": NUMBER}]}, None),
        ("list[name=x].v", {"list": "text"}, None),
    ],
)
def test_a_path_finds_its_value(path: str, body: dict[str, Any], value: Any) -> None:
    mapped = map_fields(LeadMap(fields={"caller_id": path}), body)
    assert mapped.raw.get("caller_id") == value
    assert mapped.not_found == (() if value else ("caller_id",))


@pytest.mark.parametrize(
    ("lead_map", "named"),
    [
        ({"fields": {"phone": "lead.phone"}}, "lead_map.fields.phone"),  # the field is caller_id
        ({"fields": {"caller_idd": "lead.phone"}}, "lead_map.fields.caller_idd"),
        ({"fields": {"lead_token": "token"}}, "lead_map.fields.lead_token"),
        ({"fields": {"traffic_source_id": "source"}}, "lead_map.fields.traffic_source_id"),
        ({"fields": {"data": "lead"}}, "lead_map.fields.data"),
        ({"fields": {"status": "lead.status"}}, "lead_map.fields.status"),
        ({"fields": {"": "lead.status"}}, "lead_map.fields."),
        ({"fields": {"caller_id": ""}}, "lead_map.fields.caller_id"),
        ({"fields": {"caller_id": "lead..phone"}}, "lead_map.fields.caller_id"),
        ({"fields": {"caller_id": "lead.phone."}}, "lead_map.fields.caller_id"),
        ({"fields": {"caller_id": ".phone"}}, "lead_map.fields.caller_id"),
        ({"fields": {"caller_id": "phones["}}, "lead_map.fields.caller_id"),
        ({"fields": {"caller_id": "phones[x]"}}, "lead_map.fields.caller_id"),
        ({"fields": {"caller_id": "phones[=x]"}}, "lead_map.fields.caller_id"),
        ({"fields": {"caller_id": "phones[-1]"}}, "lead_map.fields.caller_id"),
        ({"fields": {"caller_id": ".".join("abcdefghij")}}, "lead_map.fields.caller_id"),
        ({"fields": {"caller_id": "a" * 301}}, "lead_map.fields.caller_id"),
        ({"fields": {}}, "lead_map.fields"),
        ({"fields": {"caller_id": "phone"}, "idempotency_key": "a..b"}, "lead_map.idempotency_key"),
        ({"fields": {"caller_id": "phone"}, "is_test": "["}, "lead_map.is_test"),
        ({"fields": {"caller_id": "phone"}, "test": "x"}, "lead_map"),
        ({"fields": {"caller_id": 7}}, "lead_map"),
        ({}, "lead_map"),
        ("phone", "lead_map"),
    ],
)
@pytest.mark.parametrize("record_type", ["traffic_source", "schedule"])
def test_a_wrong_map_is_refused_when_it_is_saved_under_its_field(record_type: str, lead_map: Any, named: str) -> None:
    given = {"name": "Ads", "lead_token": "lt-0123456789abcdef", "lead_map": lead_map}
    given = given if record_type == "schedule" else {"name": "Ads", "lead_map": lead_map}
    with pytest.raises(RefusedError) as refused:
        read_body(record_type, given, None, now=EPOCH, exists=None)
    assert (refused.value.code, list(refused.value.errors)) == ("validation_failed", [named])


def test_a_map_is_saved_kept_by_other_changes_and_emptied() -> None:
    given = {"name": "Ads", "lead_map": {"fields": {"caller_id": "lead.phone", "data.plan": "plan"}}}
    made = read_body("traffic_source", given, None, now=EPOCH, exists=None).body
    assert isinstance(made, TrafficSource)
    assert made.lead_map == LeadMap(fields={"caller_id": "lead.phone", "data.plan": "plan"})
    renamed = read_body("traffic_source", {"name": "Other"}, made, now=EPOCH, exists=None).body
    assert isinstance(renamed, TrafficSource)
    assert renamed.lead_map == made.lead_map
    emptied = read_body("traffic_source", {"lead_map": None}, made, now=EPOCH, exists=None).body
    assert isinstance(emptied, TrafficSource)
    assert emptied.lead_map is None


OF_GOOGLE = LeadMap(
    fields={
        "caller_id": "user_column_data[column_id=PHONE_NUMBER].string_value",
        "full_name": "user_column_data[column_id=FULL_NAME].string_value",
        "zip_postal_code": "user_column_data[column_id=POSTAL_CODE].string_value",
    },
    idempotency_key="lead_id",
    is_test="is_test",
)


def rules_of(*, source: LeadMap | None = None, schedule: LeadMap | None = None) -> Rules:
    rules = folded()
    rules.apply(0, record("traffic_source", 7, TrafficSource(name="Ads", lead_map=source)))
    body = rules.body(Schedule, "schedule", SCHEDULE_ID)
    assert body is not None
    changed = record("schedule", SCHEDULE_ID, msgspec.structs.replace(body, lead_map=schedule))
    rules.apply(0, msgspec.structs.replace(changed, version=2, sequence=1_000))
    return rules


def test_a_post_is_read_by_the_map_of_its_source_and_the_parts_it_reads_are_no_tokens() -> None:
    body = {**GOOGLE, "lead_token": LEAD_TOKEN, "traffic_source_id": "7"}
    request = normalise(body, rules_of(source=OF_GOOGLE), received_at=EPOCH).request
    assert (request.caller_id, request.columns["full_name"]) == (NUMBER, "Ada Lovelace")
    assert (request.vendor_key, request.is_test) == ("traffic_source/7/TeSter-123-ABCDEFGHIJ", True)
    assert request.data == {"lead_id": "TeSter-123-ABCDEFGHIJ", "api_version": "1.0", "google_key": "k", "is_test": True}


def test_the_map_of_the_schedule_reads_what_no_source_does_and_that_of_the_source_goes_before() -> None:
    rules = rules_of(source=OF_GOOGLE, schedule=LeadMap(fields={"caller_id": "tel"}, idempotency_key="id"))
    of_schedule = normalise({"lead_token": LEAD_TOKEN, "tel": NUMBER, "lead_id": "7"}, rules, received_at=EPOCH).request
    assert (of_schedule.caller_id, of_schedule.vendor_key) == (NUMBER, None)
    body = {**GOOGLE, "lead_token": LEAD_TOKEN, "traffic_source_id": 7}
    assert normalise(body, rules, received_at=EPOCH).request.vendor_key == "traffic_source/7/TeSter-123-ABCDEFGHIJ"


def test_what_the_map_does_not_find_stays_as_it_was_sent_and_other_shapes_are_read_where_that_is_asked_for() -> None:
    rules = rules_of(schedule=LeadMap(fields={"caller_id": "lead.tel", "plan": "lead.plan"}))
    sent = {"lead_token": LEAD_TOKEN, "caller_id": NUMBER, "lead": {"plan": "gold"}}
    request = normalise(sent, rules, received_at=EPOCH).request
    assert (request.caller_id, request.data) == (NUMBER, {"plan": "gold"})
    nested = {"lead_token": LEAD_TOKEN, "auto_format_nested_fields": True, "person": {"phone": NUMBER, "zip": "33101"}}
    request = normalise(nested, rules, received_at=EPOCH).request
    assert (request.caller_id, request.columns["zip_postal_code"]) == (NUMBER, "33101")


@pytest.mark.parametrize(("said", "is_test"), [(True, True), ("true", True), ("1", True), (False, False), ("", False)])
def test_a_test_is_one_by_the_words_for_yes(said: Any, is_test: bool) -> None:
    rules = rules_of(schedule=LeadMap(fields={"caller_id": "tel"}, is_test="test"))
    request = normalise({"lead_token": LEAD_TOKEN, "tel": NUMBER, "test": said}, rules, received_at=EPOCH).request
    assert request.is_test is is_test


def test_a_word_that_is_neither_yes_nor_no_refuses_the_post_and_without_a_map_a_test_is_warned_of() -> None:
    rules = rules_of(schedule=LeadMap(fields={"caller_id": "tel"}, is_test="test"))
    with pytest.raises(RefusedError) as refused:
        normalise({"lead_token": LEAD_TOKEN, "tel": NUMBER, "test": "perhaps"}, rules, received_at=EPOCH)
    assert list(refused.value.errors) == ["lead_map.is_test"]
    found = normalise({"lead_token": LEAD_TOKEN, "caller_id": NUMBER, "is_test": True}, folded(), received_at=EPOCH)
    assert TEST_IS_CONTACTED in found.warnings


def test_a_preview_shows_what_a_post_would_become_by_a_map_that_is_not_saved() -> None:
    body = {**GOOGLE, "lead_token": LEAD_TOKEN}
    shown = preview_map(body, folded(), company_id=1, received_at=EPOCH, lead_map=OF_GOOGLE)
    assert (shown["caller_id"], shown["is_test"], shown["not_found"]) == (NUMBER, True, ["zip_postal_code"])
    assert shown["idempotency_key"] == "TeSter-123-ABCDEFGHIJ"
    without = preview_map(body, folded(), company_id=1, received_at=EPOCH)
    assert (without["is_mapped"], list(without["errors"])) == (False, ["caller_id"])
