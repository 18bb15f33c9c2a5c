"""Does a wrong optional field cost the lead where the company wants it without? Not one that says whom, when or whether."""

from typing import Any

import pytest
from msgspec import structs

from engine.partition.draft import RefusedError
from engine.rules import Rules
from engine.submission.normalise import Normalised, normalise
from schemas.records import Company
from tests.engine.submission.conftest import RECEIVED_AT, folded, record

NUMBER = "+13055550123"


@pytest.fixture
def lenient() -> Rules:
    rules = folded()
    changed = record("company", 1, Company(name="Sunny", on_invalid="warn"))
    rules.apply(0, structs.replace(changed, version=2, sequence=99))
    return rules


def sent(rules: Rules, **fields: Any) -> Normalised:
    body = {"lead_token": "schedule-token", "caller_id": NUMBER, **fields}
    return normalise(body, rules, received_at=RECEIVED_AT, is_trusted=True)


DROPPED: tuple[tuple[str, Any], ...] = (
    ("email", "jos\u00e9@example.com"),
    ("email", "nobody"),
    ("country", "Narnia"),
    ("time_zone", "somewhere"),
    ("traffic_source_id", "x"),
    ("remote_ip", "here"),
    ("lead_priority", "high"),
    ("hours_to_expire", "soon"),
    ("max_contact_attempts", 0),
)


@pytest.mark.parametrize(("field", "value"), DROPPED)
def test_a_wrong_field_is_dropped_with_a_warning_and_kept_to_be_corrected(lenient: Rules, field: str, value: Any) -> None:
    request, warnings = sent(lenient, **{field: value})
    assert request.caller_id == NUMBER
    assert request.data == {"invalid_fields": {field: value}}
    assert warnings[0].startswith(f"{field} ")
    assert warnings[0].endswith("; the lead was stored without it.")


@pytest.mark.parametrize(("field", "value"), DROPPED)
def test_it_costs_the_lead_unless_the_company_says_so(rules: Rules, field: str, value: Any) -> None:
    with pytest.raises(RefusedError) as refused:
        sent(rules, **{field: value})
    assert list(refused.value.errors) == [field]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("caller_id", "12"),
        ("opt_out", "perhaps"),
        ("blocked", "perhaps"),
        ("lead_token", "lt_unknown_token_of_nobody"),
        ("schedule_callback_at", "noon"),
        ("next_action_at", "noon"),
        ("update_only", "perhaps"),
        ("delete_existing", "perhaps"),
        ("data", "not an object"),
    ],
)
def test_what_says_whom_when_or_whether_is_never_dropped(lenient: Rules, field: str, value: Any) -> None:
    with pytest.raises(RefusedError):
        sent(lenient, **{field: value})


def test_a_person_who_is_reached_by_the_wrong_address_alone_is_refused(lenient: Rules) -> None:
    with pytest.raises(RefusedError):
        sent(lenient, caller_id="", email="nobody")


def test_a_wrong_zone_is_unknown_and_not_as_if_none_had_been_sent(lenient: Rules) -> None:
    assert sent(lenient).request.zones == ("America/New_York",)
    assert sent(lenient, time_zone="somewhere").request.zones == (), "an hour that every zone allows"
