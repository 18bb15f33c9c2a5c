"""Which fields may agents be asked to fill in, and which values fit them?"""

from typing import Any

import pytest

from engine.account.contact_fields import FIELDS_MAX, OPTIONS_MAX, check_value
from engine.submission.fields import FieldError
from schemas.records import ContactField, ContactFieldType
from tests.engine.account.conftest import AccountWorld

TYPE = "contact_field_type"
ROOF = {"key": "roof", "label": "Kind of roof", "kind": "choice", "options": ["flat", "steep"]}


def test_a_type_has_a_script_and_fields(account: AccountWorld) -> None:
    made = account.create(TYPE, name="Roofs", script="Hello {{first_name}}.", fields=[ROOF, {"key": "note"}])

    assert account.body(TYPE, made) == ContactFieldType(
        name="Roofs",
        script="Hello {{first_name}}.",
        fields=(
            ContactField(key="roof", label="Kind of roof", kind="choice", options=("flat", "steep")),
            ContactField(key="note"),
        ),
    )
    assert account.update(TYPE, made, fields=[], script="").status == 200
    assert account.body(TYPE, made) == ContactFieldType(name="Roofs")


@pytest.mark.parametrize(
    ("fields", "word"),
    [
        ("roof", "list"),
        ([{"label": "Roof"}], "[0]"),
        ([{"key": "Roof!"}], "lowercase"),
        ([{"key": "roof"}, {"key": "roof"}], "roof is there twice"),
        ([{"key": "roof", "kind": "colour"}], "[0]"),
        ([{"key": "roof", "kind": "choice"}], "options with the kind choice"),
        ([{"key": "roof", "options": ["flat"]}], "options with the kind choice"),
        ([{**ROOF, "options": [" "]}], "at most 100 options"),
        ([{**ROOF, "options": ["x"] * (OPTIONS_MAX + 1)}], "at most 100 options"),
        ([{"key": "roof", "label": "x" * 101}], "characters"),
        ([{"key": "roof", "shape": "round"}], "[0]"),
        ([{"key": f"roof_{number}"} for number in range(FIELDS_MAX + 1)], "at most 50 fields"),
    ],
)
def test_fields_that_are_wrong_are_refused(account: AccountWorld, fields: Any, word: str) -> None:
    errors = account.change("create", TYPE, name="Roofs", fields=fields).errors

    assert list(errors) == ["fields"]
    assert word in errors["fields"][0]


@pytest.mark.parametrize(
    ("kind", "good", "bad"),
    [
        ("text", ["anything", 7], [["list"]]),
        ("number", ["7.5", 7, "-1"], ["seven", True]),
        ("date", ["2026-12-25"], ["Christmas", "2026-02-30", 7]),
        ("boolean", [True, "no", "1"], ["maybe"]),
        ("choice", ["flat"], ["round", "Flat", 7]),
    ],
)
def test_a_value_fits_its_field(kind: Any, good: list[Any], bad: list[Any]) -> None:
    field = ContactField(key="roof", kind=kind, options=("flat", "steep") if kind == "choice" else ())
    for value in (*good, None, ""):
        check_value(field, value)
    for value in bad:
        with pytest.raises(FieldError):
            check_value(field, value)
