"""Do the documents show the table of what a submission without a key may do, and does a request of such a sender obey it?"""

from pathlib import Path
from typing import Any

import pytest

from engine.law.floor import UNKNOWN_US_ZONES
from engine.partition.draft import RefusedError
from engine.submission.numbers import ParsedNumber
from engine.submission.place import locate
from engine.submission.public_rights import (
    ACTIONS,
    FIELD_ALIASES,
    FIELDS,
    PUBLIC_PARAMETERS,
    STEERING,
    New,
    Right,
    Stored,
    is_fillable,
)
from tests.engine.submission.conftest import Submit

PAGE = Path(__file__).parents[3] / "deploy" / "docs" / "producers.md"
NEW_YORK = "America/New_York"


def rows_of(rights: dict[str, Right], *, plain: tuple[str, ...] = ()) -> list[str]:
    rows: dict[Right, list[str]] = {}
    for name, right in rights.items():
        rows.setdefault(right, []).append(name if name in plain else f"`{name}`")
    return [f"| {', '.join(names)} | {right.new.value} | {right.stored.value} |" for right, names in rows.items()]


def test_the_documents_show_the_table_of_the_code() -> None:
    section = PAGE.read_text().partition("### Without a key\n")[2].partition("\n### ")[0]
    shown = [line for line in section.splitlines() if line.startswith("| ")][2:]
    assert shown == [*rows_of(FIELDS, plain=("any other field",)), *rows_of(ACTIONS)]


def test_a_field_that_needs_a_key_on_a_new_lead_needs_one_on_a_stored_one_too() -> None:
    for name, right in FIELDS.items():
        assert (right.new in {New.KEY, New.OFFER}) is (right.stored is Stored.KEY), name
    assert set(PUBLIC_PARAMETERS) < STEERING
    assert set(FIELD_ALIASES.values()) <= set(FIELDS)


@pytest.mark.parametrize(
    "name", ["email", "caller_id", "time_zone", "state", "zip", "country", "lead_priority", "my_consent"]
)
def test_no_form_fills_an_address_a_place_or_a_consent(name: str) -> None:
    assert not is_fillable(name)
    assert is_fillable("roof")


STEERED: list[dict[str, Any]] = [
    {"restart_schedule": True}, {"expire_existing": "yes"}, {"delete_existing": 1}, {"update_only": True},
    {"update_all_matching_leads": True}, {"unblock_contact": True}, {"blocked": True}, {"blocked": "false"},
    {"lead_priority": -1000}, {"next_action_at": "2026-03-08 21:30:00 -0500"}, {"hours_to_expire": 1},
    {"max_contact_attempts": 1}, {"remote_ip": "192.0.2.1"}, {"data": {"remote_ip": "192.0.2.1"}},
    {"external_record_id": "crm-1"}, {"data": {"external_record_id": "crm-1"}}, {"lead_import_id": 3},
    {"apply_to": "calls"}, {"opt_out": "no"}, {"opt_in": True}, {"data": {"opt_in": "yes"}}, {"schedule_stop": True},
    {"move_to_another_schedule_id": 3}, {"revenue": 5}, {"payout": 5}, {"buyer_converted": 1}, {"offer_converted": 1},
]  # fmt: skip


@pytest.mark.parametrize("given", STEERED, ids=str)
def test_what_steers_is_not_applied_without_a_key_and_is_named(submit: Submit, given: dict[str, Any]) -> None:
    name = next(iter(given.get("data", given)))
    plain = submit({}, is_trusted=False)
    found = submit(given, is_trusted=False)
    assert found.request == plain.request
    assert [name in warning for warning in found.warnings] == [True]


@pytest.mark.parametrize("given", [{"restart_schedule": "no"}, {"update_only": False}, {"lead_priority": ""}])
def test_a_flag_that_asks_for_nothing_is_not_named(submit: Submit, given: dict[str, Any]) -> None:
    assert submit(given, is_trusted=False).warnings == ()


def test_a_faulty_steering_field_is_a_fault_as_ever(submit: Submit) -> None:
    with pytest.raises(RefusedError) as refused:
        submit({"lead_priority": "high"}, is_trusted=False)
    assert set(refused.value.errors) == {"lead_priority"}


@pytest.mark.parametrize(
    ("given", "zones"),
    [
        ({"caller_id": "+12125550142", "time_zone": "Asia/Tokyo"}, (NEW_YORK, "Asia/Tokyo")),
        ({"caller_id": "+12125550142", "time_zone": NEW_YORK}, (NEW_YORK,)),
        (
            {"caller_id": "+12125550142", "zip": "79901", "time_zone": "Asia/Tokyo"},
            ("America/Denver", NEW_YORK, "Asia/Tokyo"),
        ),
    ],
)
def test_the_zone_of_a_stranger_is_one_candidate_more(submit: Submit, given: dict[str, Any], zones: tuple[str, ...]) -> None:
    assert submit(given, is_trusted=False).request.zones == zones
    assert submit(given).request.zones == (given["time_zone"],)


@pytest.mark.parametrize(
    ("number", "others"),
    [
        (ParsedNumber("+15665550123", "US"), UNKNOWN_US_ZONES),
        (ParsedNumber("+445600123456", "GB"), ("Europe/London",)),
        (None, ()),
    ],
)
def test_the_zone_of_a_stranger_is_never_trusted_alone(number: ParsedNumber | None, others: tuple[str, ...]) -> None:
    """A number that tells no place may be anywhere in its country; who has none is not called."""
    found = locate(country="US", stated_zone="Asia/Tokyo", zip_code=None, state=None, number=number, trusts_stated=False)
    assert found.zones == (*others, "Asia/Tokyo")
