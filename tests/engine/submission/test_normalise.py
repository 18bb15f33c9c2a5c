"""Does a submission become the request that its sender meant, with every error reported at once and nothing half applied?"""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.partition.draft import RefusedError
from engine.rules import Rules
from engine.submission.columns import SHOWN_COLUMNS
from engine.submission.normalise import normalise
from engine.views.lead_columns import LEAD_COLUMNS
from schemas.instant import DAY, Instant
from schemas.problems import PROBLEMS
from schemas.requests import LeadSubmitted
from schemas.wire import from_json, to_json
from tests.engine.submission.conftest import (
    OFFER_ID,
    PAUSED_SOURCE_ID,
    RECEIVED_AT,
    SCHEDULE_ID,
    SOURCE_ID,
    STRANGER_ID,
    Submit,
    folded,
)


def refusal(submit: Submit, raw: dict[str, Any], **options: Any) -> RefusedError:
    with pytest.raises(RefusedError) as caught:
        submit(raw, **options)
    assert caught.value.code in PROBLEMS
    return caught.value


def test_a_schedule_token_names_the_schedule_and_its_offer(submit: Submit) -> None:
    request, warnings = submit()
    assert request == LeadSubmitted(
        company_id=1,
        contact_key="1|+13055550123",
        offer_id=OFFER_ID,
        schedule_id=SCHEDULE_ID,
        caller_id="+13055550123",
        zones=("America/New_York",),
        zone_source="number",
        states=("FL",),
        received_at=RECEIVED_AT,
        with_key=True,
    )
    assert warnings == ()


def test_an_offer_token_names_the_offer_alone(submit: Submit) -> None:
    request, _ = submit({"lead_token": " offer-token "})
    assert (request.offer_id, request.schedule_id) == (OFFER_ID, None)


def test_a_lead_without_a_number_is_keyed_by_its_address(submit: Submit) -> None:
    request, _ = submit({"caller_id": "", "email": "Ada@Example.com"})
    assert (request.contact_key, request.caller_id, request.email) == ("1|email:ada@example.com", None, "Ada@Example.com")


@pytest.mark.parametrize("token", ["nobody", "schedule-token2", 7, ["schedule-token"], "x" * 5000])
def test_an_unknown_token_is_not_found(submit: Submit, token: Any) -> None:
    assert refusal(submit, {"lead_token": token}).code == "unknown_lead_token"


def test_another_companys_token_is_as_unknown_as_a_missing_one(submit: Submit) -> None:
    theirs, nobodys = refusal(submit, {}, api_company_id=2), refusal(submit, {"lead_token": "nobody"}, api_company_id=2)
    assert (theirs.code, theirs.detail, theirs.errors) == (nobodys.code, nobodys.detail, nobodys.errors)


@pytest.mark.parametrize("token", [None, "", "  "])
def test_a_missing_token_is_said(submit: Submit, token: Any) -> None:
    error = refusal(submit, {"lead_token": token})
    assert error.code == "validation_failed"
    assert list(error.errors) == ["lead_token"]


def test_a_callback_without_a_number_is_reported_together_with_a_missing_token(submit: Submit) -> None:
    raw = {"lead_token": None, "caller_id": None, "email": "ann@example.com", "schedule_callback_in_seconds": "60"}
    assert list(refusal(submit, raw).errors) == ["lead_token", "schedule_callback_in_seconds"]


def test_a_guarded_token_needs_keys(submit: Submit) -> None:
    raw = {"lead_token": "guarded-token", "caller_id": "020 7183 8750"}
    assert refusal(submit, raw).code == "unauthenticated"
    assert submit(raw, api_company_id=1).request.caller_id == "+442071838750"


def test_a_national_number_is_of_the_country_that_is_said_else_of_the_offers_else_of_the_companys(submit: Submit) -> None:
    said = submit({"caller_id": "020 7183 8750", "country": "GB"}).request
    of_offer = submit({"caller_id": "020 7183 8750", "lead_token": "guarded-token"}, api_company_id=1).request
    of_company = submit({"caller_id": "020 7183 8750", "lead_token": "british-token"}).request
    assert {one.caller_id for one in (said, of_offer, of_company)} == {"+442071838750"}
    assert list(refusal(submit, {"caller_id": "020 7183 8750"}).errors) == ["caller_id"]


def test_a_schedule_without_steps_takes_no_lead(submit: Submit) -> None:
    assert refusal(submit, {"lead_token": "empty-token"}).code == "schedule_inactive"


def test_unblocking_needs_keys_that_may_update(submit: Submit) -> None:
    assert refusal(submit, {"unblock_contact": "yes"}).code == "forbidden"
    assert submit({"unblock_contact": "yes"}, api_company_id=1, may_update=True).request.unblock_contact


def test_all_faults_are_reported_at_once(submit: Submit) -> None:
    error = refusal(
        submit,
        {
            "caller_id": "12",
            "email": "nobody",
            "blocked": "perhaps",
            "hours_to_expire": "0",
            "max_contact_attempts": 1.5,
            "lead_priority": "high",
            "next_action_at": "tomorrow",
            "apply_to": "self",
            "time_zone": "Mars",
            "traffic_source_id": 99,
            "remote_ip": "1.2.3",
            "data": {"status": "queue", "note": "x" * 5000},
        },
    )
    assert error.code == "validation_failed"
    assert set(error.errors) == {
        "caller_id",
        "email",
        "blocked",
        "hours_to_expire",
        "max_contact_attempts",
        "lead_priority",
        "next_action_at",
        "apply_to",
        "time_zone",
        "traffic_source_id",
        "remote_ip",
        "data.status",
        "data.note",
    }
    assert all(sentence for sentences in error.errors.values() for sentence in sentences)


def test_neither_number_nor_address_is_refused(submit: Submit) -> None:
    assert refusal(submit, {"caller_id": None}).errors == {"caller_id": ["must be given, or an email"]}


def test_extra_fields_are_tokens_and_the_top_level_wins(submit: Submit) -> None:
    request, _ = submit({"roof": "tile", "full_name": "Ada", "data": {"roof": "slate", "bill": 120, "full_name": "Bob"}})
    assert request.data == {"roof": "tile", "bill": 120}
    assert request.columns == {"full_name": "Ada"}


def test_columns_are_taken_from_both_places_and_under_both_names(submit: Submit) -> None:
    request, _ = submit({"state": "florida", "data": {"zip": 33101, "country": "us", "sub_id": 7}})
    assert request.columns == {"state_province": "FL", "zip_postal_code": "33101", "country": "US", "sub_id": "7"}
    assert request.zone_source == "zip"


def test_a_column_wins_over_its_alias(submit: Submit) -> None:
    request, _ = submit({"state": "TX", "state_province": "FL", "data": {"zip_postal_code": "33101", "zip": "10001"}})
    assert request.columns == {"state_province": "FL", "zip_postal_code": "33101"}


@pytest.mark.parametrize(
    "name", ["id", "uuid", "status", "caller_id", "email", "opt_out", "svc_number", "type", "next_action_at"]
)
def test_the_name_of_any_other_column_is_no_token(submit: Submit, name: str) -> None:
    assert list(refusal(submit, {"data": {name: "x"}}).errors) == [f"data.{name}"]


@pytest.mark.parametrize("name", ["status", "callback_at", "expires_at", "sms_count", "svc_number", "planned_at"])
def test_a_column_that_cannot_be_submitted_is_a_token_and_the_answer_says_so(submit: Submit, name: str) -> None:
    request, warnings = submit({name: "x"})
    assert request.data == {name: "x"}
    assert f"{name} is set by leadclock: what was sent is the token token.{name} alone." in warnings


def test_every_column_of_a_lead_is_known_as_one() -> None:
    assert {*SHOWN_COLUMNS, "data"} == set(LEAD_COLUMNS)


def test_a_secret_is_never_a_token(submit: Submit) -> None:
    assert submit({"auth_token": "secret"}).request.data == {}


def test_blank_fields_are_as_good_as_left_out(submit: Submit) -> None:
    fields = ["blocked", "email", "next_action_at", "hours_to_expire", "time_zone", "lead_priority", "data", "apply_to"]
    blank = dict.fromkeys(fields, "")
    assert submit(blank).request == submit().request


@pytest.mark.parametrize("name", ["", " ", "a\0b", "x" * 101])
def test_a_token_has_a_name_that_can_be_stored_and_written_down(submit: Submit, name: str) -> None:
    assert len(refusal(submit, {name: "x"}).errors) == 1
    assert len(refusal(submit, {"data": {name: "x"}}).errors) == 1
    assert submit({"x" * 100: "x"}).request.data == {"x" * 100: "x"}


def test_an_empty_or_null_token_is_kept(submit: Submit) -> None:
    assert submit({"a": "", "data": {"b": None}}).request.data == {"b": None, "a": ""}


def test_data_may_be_the_text_of_an_object(submit: Submit) -> None:
    assert submit({"data": '{"roof": "tile"}'}).request.data == {"roof": "tile"}
    assert list(refusal(submit, {"data": "[1]"}).errors) == ["data"]
    assert list(refusal(submit, {"data": "{"}).errors) == ["data"]


GROWING = {f"list-{place}": [1e15] * 200 for place in range(100)}
"""100 kB as it is sent, 380 kB as it is stored."""


def test_tokens_that_grow_beyond_the_bound_when_stored_are_refused_as_too_large(submit: Submit) -> None:
    with pytest.raises(RefusedError, match="262144 bytes") as refused:
        submit({"data": GROWING})
    assert (refused.value.code, list(refused.value.errors)) == ("too_large", ["data"])


def test_at_most_200_tokens(submit: Submit) -> None:
    tokens = {f"t{number}": number for number in range(200)}
    assert len(submit({"data": tokens}).request.data) == 200
    assert list(refusal(submit, {"data": tokens, "one_more": 1}).errors) == ["data"]


def test_a_callback_has_one_time(submit: Submit) -> None:
    moment = "2026-03-09 12:00:00 -0500"
    assert submit({"schedule_callback_in_seconds": "90"}).request.schedule_callback_at == RECEIVED_AT + 90_000
    assert submit({"schedule_callback_at": moment}).request.schedule_callback_at == Instant(1_773_075_600_000)
    both = refusal(submit, {"schedule_callback_at": moment, "schedule_callback_in_seconds": "90"})
    assert list(both.errors) == ["schedule_callback_in_seconds"]


@pytest.mark.parametrize(
    ("field", "taken", "refused"),
    [
        ("hours_to_expire", [1, 87_600], [0, 87_601]),
        ("max_contact_attempts", [1, 1_000], [0, 1_001]),
        ("zip", ["1" * 32], ["1" * 33]),
        ("schedule_callback_in_seconds", [0, 366 * 24 * 3600], [-1, 366 * 24 * 3600 + 1]),
        ("next_action_at", ["2027-03-09T20:00:00Z"], ["2027-03-09T20:00:00.001Z"]),
        ("schedule_callback_at", ["2027-03-09T20:00:00Z"], ["2027-03-09T20:00:00.001Z"]),
    ],
)
def test_the_last_value_within_a_bound_is_taken_and_the_next_one_is_not(
    submit: Submit, field: str, taken: list[Any], refused: list[Any]
) -> None:
    for value in taken:
        submit({field: value})
    for value in refused:
        assert list(refusal(submit, {field: value}).errors) == [field]


@pytest.mark.parametrize(
    ("moment", "is_taken"),
    [
        ("2026-03-08T16:00:00-04:00", True),
        ("2026-03-08T19:55:00Z", True),
        ("2026-03-08T19:54:59.999Z", False),
        ("2026-03-08 15:54:59 -0400", False),
        ("2026-03-07T20:00:00Z", False),
        ("1999-12-31T00:00:00Z", False),
    ],
)
def test_a_callback_more_than_five_minutes_past_is_a_mistake(submit: Submit, moment: str, is_taken: bool) -> None:
    """The person would be called at once: nobody promises that with a date of yesterday."""
    if is_taken:
        assert submit({"schedule_callback_at": moment}).request.schedule_callback_at is not None
        return
    problem = refusal(submit, {"schedule_callback_at": moment})
    assert submit({"schedule_callback_at": moment}, waited_ms=60 * 365 * DAY), "it was ahead when it came"
    assert problem.errors == {"schedule_callback_at": ["must not be more than 5 minutes in the past"]}


@pytest.mark.parametrize("seconds", ["-1", "1.5", str(366 * 24 * 3600 + 1)])
def test_a_callback_is_neither_past_nor_a_year_away(submit: Submit, seconds: str) -> None:
    assert list(refusal(submit, {"schedule_callback_in_seconds": seconds}).errors) == ["schedule_callback_in_seconds"]


def test_the_next_action_is_at_most_366_days_ahead(submit: Submit) -> None:
    assert submit({"next_action_at": "2020-01-01 00:00:00 +0000"}).request.next_action_at == Instant(1_577_836_800_000)
    assert submit({"next_action_at": "2027-03-08 00:00:00 +0000"}).request.next_action_at is not None
    assert list(refusal(submit, {"next_action_at": "2027-03-10 00:00:00 +0000"}).errors) == ["next_action_at"]


def test_a_traffic_source_is_ones_own(submit: Submit) -> None:
    assert submit({"traffic_source_id": str(SOURCE_ID)}).request.columns == {"traffic_source_id": SOURCE_ID}
    unknown = refusal(submit, {"traffic_source_id": STRANGER_ID}).errors
    assert unknown == {"traffic_source_id": [f"names no traffic source: {STRANGER_ID}"]}


def test_nothing_is_taken_from_a_paused_traffic_source(submit: Submit) -> None:
    paused = refusal(submit, {"traffic_source_id": PAUSED_SOURCE_ID}).errors
    assert paused == {"traffic_source_id": [f"names a paused traffic source: {PAUSED_SOURCE_ID}"]}
    in_data = refusal(submit, {"data": {"traffic_source_id": PAUSED_SOURCE_ID}}).errors
    assert in_data == paused


def test_a_number_that_says_no_zone_is_warned_of(submit: Submit) -> None:
    request, warnings = submit({"caller_id": "+18005551212"})
    assert (request.zones, request.zone_source) == ((), "default")
    assert len(warnings) == 1
    assert submit({"caller_id": "", "email": "ada@example.com"}).warnings == (), "an e-mail waits for no zone"
    assert "update_only" in submit({"update_only": "1"}, create_or_update=True).warnings[0]


def test_delete_wins_over_expire(submit: Submit) -> None:
    assert "delete_existing" in submit({"delete_existing": "1", "expire_existing": "1"}).warnings[0]


def test_a_priority_is_a_decimal(submit: Submit) -> None:
    assert submit({"lead_priority": "2.5"}).request.lead_priority == 2.5
    assert submit({"lead_priority": -1}).request.lead_priority == -1.0


def test_flags_are_taken(submit: Submit) -> None:
    flags = ["update_only", "update_all_matching_leads", "restart_schedule", "assign_svc_number", "assign_sms_number"]
    request, _ = submit(dict.fromkeys(flags, "on"), create_or_update=True, idempotency_key="k")
    assert all(getattr(request, flag) for flag in flags)
    declined, _ = submit(dict.fromkeys(flags, "off"))
    assert not any(getattr(declined, flag) for flag in flags)
    assert (request.create_or_update, request.idempotency_key) == (True, "k")


def test_nested_contact_fields_are_found_where_asked_for(submit: Submit) -> None:
    raw = {"caller_id": "", "contact": {"Phone": "305-555-0123", "firstName": "Ada", "Address": [{"zipCode": "33101"}]}}
    assert list(refusal(submit, raw).errors) == ["caller_id"]
    request, _ = submit(raw | {"auto_format_nested_fields": "true"})
    assert request.caller_id == "+13055550123"
    assert request.columns == {"zip_postal_code": "33101"}
    assert request.data["first_name"] == "Ada"


def test_of_several_nested_fields_of_one_name_the_one_nearest_to_the_top_counts(submit: Submit) -> None:
    raw = {
        "caller_id": "", "auto_format_nested_fields": "true",
        "lead": {"phone": "+13055550123", "history": [{"phone": "+12125550199", "zip": "10001"}]},
        "zip_code": "33101", "state": "FL", "more": {"state": "TX"},
    }  # fmt: skip
    request, _ = submit(raw)
    assert request.caller_id == "+13055550123"
    assert (request.columns["zip_postal_code"], request.columns["state_province"]) == ("33101", "FL")


@pytest.mark.parametrize(
    "post",
    [
        {
            "field_data": [
                {"name": "phone_number", "values": ["305-555-0123"]},
                {"name": "email", "values": ["ada@example.com"]},
            ]
        },
        {
            "columns_of_user": [
                {"column_id": "PHONE_NUMBER", "string_value": "3055550123"},
                {"column_id": "EMAIL", "string_value": "ada@example.com"},
            ]
        },
        {"properties": {"phone": {"value": "+13055550123"}, "email": {"value": "ada@example.com"}}},
        {"answers": {"items": [{"field": "Phone", "value": "3055550123"}, {"key": "e-mail", "value": "ada@example.com"}]}},
    ],
)
def test_nested_fields_are_found_as_forms_tell_them_by_name_and_value(submit: Submit, post: dict[str, Any]) -> None:
    request, _ = submit(post | {"caller_id": "", "auto_format_nested_fields": "true"})
    assert (request.caller_id, request.email) == ("+13055550123", "ada@example.com")
    assert request.data == post


def test_nested_contact_fields_are_found_in_data_too_and_leave_it_where_they_are_no_tokens(submit: Submit) -> None:
    raw = {"caller_id": "", "data": {"caller_id": "3055550123", "lead": {"EMail": "ada@example.com"}, "roof": "flat"}}
    assert list(refusal(submit, raw).errors) == ["data.caller_id", "caller_id"]
    request, _ = submit(raw | {"auto_format_nested_fields": "true"})
    assert (request.caller_id, request.email) == ("+13055550123", "ada@example.com")
    assert request.data == {"lead": {"EMail": "ada@example.com"}, "roof": "flat"}


@pytest.mark.parametrize("name", ["assign_svc_number", "svc_assign_number", "assign_trackdrive_number"])
def test_a_number_to_call_from_is_asked_for_by_each_of_its_names(submit: Submit, name: str) -> None:
    request, _ = submit({name: "yes"})
    assert (request.assign_svc_number, request.data) == (True, {})
    assert not submit({name: "no"}).request.assign_svc_number
    assert submit({"assign_svc_number": "yes", "assign_trackdrive_number": "no"}).request.assign_svc_number
    assert list(refusal(submit, {name: "perhaps"}).errors) == [name]


@pytest.mark.parametrize(
    ("flag", "other"),
    [("update_only", "expire_existing"), ("update_only", "delete_existing"), ("unblock_contact", "blocked")],
)
def test_flags_that_contradict_each_other_are_refused(submit: Submit, flag: str, other: str) -> None:
    assert list(refusal(submit, {flag: "1", other: "1"}).errors) == [other]


@pytest.mark.parametrize("raw", [None, [], "x", 7])
def test_a_body_that_is_no_object_is_refused(rules: Rules, raw: Any) -> None:
    with pytest.raises(RefusedError, match="object of fields"):
        normalise(raw, rules, received_at=RECEIVED_AT)


def test_a_thousand_faults_make_no_answer_of_a_thousand_sentences(submit: Submit) -> None:
    assert len(refusal(submit, {f"t{number}": "\x00" for number in range(1000)}).errors) == 50


RULES = folded()
_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
_known = """
caller_id email data state zip time_zone next_action_at blocked hours_to_expire country lead_priority traffic_source_id
schedule_callback_in_seconds auto_format_nested_fields apply_to
"""
_names = st.sampled_from(_known.split()) | st.text(max_size=10)


@given(raw=st.dictionaries(_names, _values, max_size=8))
def test_whatever_is_sent_is_taken_or_refused_and_what_is_taken_can_be_written(raw: dict[str, Any]) -> None:
    body = {"caller_id": "+13055550123"} | raw | {"lead_token": "offer-token"}
    refused = None
    try:
        request, _ = normalise(body, RULES, received_at=RECEIVED_AT)
    except RefusedError as error:
        refused = error
    if refused is None:
        assert from_json(to_json(request), LeadSubmitted) == request
    else:
        assert (refused.code, bool(refused.errors)) == ("validation_failed", True)
