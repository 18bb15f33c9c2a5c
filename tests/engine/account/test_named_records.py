"""Does a file of a company find every reference of a record, and nothing else?"""

from typing import Any

import pytest

from engine.account.named_records import NAMING_FIELDS, replace_references
from engine.account.references import references_of
from schemas.records import RECORD_BODIES, Body, plain
from tests.schemas.corpus import sample

NOT_INDEXED = {"access_control_list"}
"""A team's offers and buyers may be deleted while it names them."""


def found_in(fields: Any) -> set[tuple[str, int]]:
    found: set[tuple[str, int]] = set()

    def note(record_type: str, record_id: Any, place: str) -> Any:
        del place
        found.add((record_type, record_id))
        return record_id

    replace_references(fields, note)
    return found


@pytest.mark.parametrize("record_type", sorted(RECORD_BODIES.keys() - NOT_INDEXED))
def test_every_reference_that_the_account_knows_is_found_and_no_other(record_type: str) -> None:
    body = sample(RECORD_BODIES[record_type])
    assert isinstance(body, Body)
    fields = {name: value for name, value in plain(body).items() if name != "draft_fields"}
    # What is published has the steps of its action groups, which drafts alone name.
    groups = {one for one in found_in(fields) if one[0] == "action_group" and record_type in {"schedule", "action_group"}}
    assert found_in(fields) - groups == references_of(body)


def test_a_team_names_the_records_of_its_filters_and_scopes() -> None:
    fields = {
        "permissions": {"buyer": {"actions": ["read"], "scope": [3]}, "lead": {"actions": ["read"], "scope": "all"}},
        "lead_filters": {"offer_ids": [1], "token_filters": [{"key": "offer_id", "value": "9"}]},
    }
    assert found_in(fields) == {("buyer", 3), ("offer", 1)}


def test_what_senders_name_themselves_is_left_alone() -> None:
    fields = {
        "steps": [{"kind": "update_lead", "set": {"offer_id": 5}, "traffic_source_id": 7}],
        "headers": {"buyer_id": "x"},
    }
    assert found_in(fields) == {("traffic_source", 7)}


def test_a_place_says_where_a_reference_stands() -> None:
    places = []

    def note(record_type: str, record_id: Any, place: str) -> str:
        places.append(place)
        return f"{record_type} {record_id}"

    fields = {"steps": [{"connect": {"buyer_ids": [4]}}], "offer_id": 5, "call_center_id": None}
    replaced = replace_references(fields, note)

    assert places == ["steps[0].connect.buyer_ids[0]", "offer_id"]
    assert replaced == {"steps": [{"connect": {"buyer_ids": ["buyer 4"]}}], "offer_id": "offer 5", "call_center_id": None}


def test_each_naming_field_names_a_type_that_exists() -> None:
    assert set(NAMING_FIELDS.values()) <= RECORD_BODIES.keys()
