"""Which field does each column become? By what is typed, by its name, and never what leadclock gives itself."""

from typing import Any

import pytest

from adapters.imports.mapping import FileMapping, read_typed
from adapters.imports.rows import ImportFileError

TOKEN = "lt_solar"


def mapped(columns: tuple[str, ...], cells: dict[str, Any], *pairs: str) -> dict[str, Any]:
    submission = FileMapping(columns, read_typed(pairs)).submission(cells, TOKEN)
    assert submission.pop("lead_token") == TOKEN
    return submission


@pytest.mark.parametrize(
    ("column", "pairs", "expected"),
    [
        ("email", (), {"email": "x"}),
        ("E-Mail", ("E-Mail=email",), {"email": "x"}),
        ("Full Name", (), {"full_name": "x"}),
        ("zip", (), {"zip": "x"}),
        ("roof", (), {"data": {"roof": "x"}}),
        ("roofType", (), {"data": {"roofType": "x"}}),
        ("First Name", (), {"data": {"first_name": "x"}}),
        ("a=b", ("a=b=roof",), {"data": {"roof": "x"}}),
        ("note", ("note=data.roof",), {"data": {"roof": "x"}}),
        ("note", ("note=-",), {}),
        ("uuid", (), {}),
        ("auth_token", (), {}),
        ("lead_token", (), {}),
        ("lead_import_id", (), {}),
        ("lead_priority", (), {"lead_priority": "x"}),
    ],
)
def test_a_column_becomes_what_is_typed_else_the_field_of_its_name_else_a_token(
    column: str, pairs: tuple[str, ...], expected: dict[str, Any]
) -> None:
    assert mapped(("caller_id", column), {"caller_id": "+13055550123", column: "x"}, *pairs) == {
        "caller_id": "+13055550123",
        **expected,
    }


def test_blank_cells_are_left_out() -> None:
    assert mapped(("caller_id", "email", "roof"), {"caller_id": "1", "email": " ", "roof": ""}) == {"caller_id": "1"}


def test_data_is_an_object_under_whose_tokens_columns_go() -> None:
    cells = {"caller_id": "1", "data": '{"roof": "flat", "n": 2}', "roof": "steep"}

    assert mapped(("caller_id", "data", "roof"), cells)["data"] == {"roof": "steep", "n": 2}
    with pytest.raises(ValueError, match="data must be a JSON object"):
        mapped(("caller_id", "data"), {"caller_id": "1", "data": "[1]"})


def test_an_exported_row_leaves_out_where_the_lead_stood() -> None:
    exported = {
        "id": "2048", "uuid": "u", "created_at": "2026-07-15T16:00:00Z", "status": "scheduled", "name": "+13055550123",
        "caller_id": "+13055550123", "state_province": "FL", "next_action_at": "2026-07-15T16:00:00Z", "blocked": "false",
        "planned_at": "2026-07-15T16:00:00Z", "attempts": "2", "data": '{"roof":"flat"}',
    }  # fmt: skip

    assert mapped(tuple(exported), exported) == {
        "caller_id": "+13055550123",
        "state_province": "FL",
        "data": {"attempts": "2", "roof": "flat"},
    }
    assert mapped(tuple(exported), exported | {"name": "Ann"})["name"] == "Ann"
    assert "name" not in mapped(tuple(exported), exported | {"name": ""})


@pytest.mark.parametrize(
    ("columns", "pairs", "sentence"),
    [
        (("fon", "name"), (), r"type --map COLUMN=caller_id .* the columns are 'fon', 'name'"),
        (("phone",), ("phon=caller_id",), r"names the column phon, .*did you mean phone\?"),
        (("phone",), ("phone",), r"--map phone must be COLUMN=FIELD"),
        (("phone",), ("phone=caller_id", "phone=email"), r"names the column phone twice"),
        (("phone",), ("phone=uuid",), r"leads get their uuid from leadclock"),
        (("phone",), ("phone=lead_token",), r"leads get their lead_token"),
        (("caller_id", "phone"), ("phone=caller_id",), r"'caller_id' and 'phone' both become caller_id"),
    ],
)
def test_a_mapping_that_cannot_be_meant_is_refused(columns: tuple[str, ...], pairs: tuple[str, ...], sentence: str) -> None:
    with pytest.raises(ImportFileError, match=sentence):
        FileMapping(columns, read_typed(pairs))


STATED = {"text": "I agree to be called.", "url": ""}
OF_THE_IMPORT = [{"kind": "form of the import", "text": "I agree to be called."}]


@pytest.mark.parametrize(
    ("stated", "cells", "expected"),
    [
        ({}, {}, {}),
        (None, {}, {}),
        ({"text": "", "url": ""}, {}, {}),
        (STATED, {}, {"consent": OF_THE_IMPORT}),
        (STATED, {"consent": ""}, {"consent": OF_THE_IMPORT}),
        (STATED, {"consent": '{"text": "Yes."}'}, {"data": {"consent": '{"text": "Yes."}'}}),
        (STATED, {"roof": "flat"}, {"consent": OF_THE_IMPORT, "data": {"roof": "flat"}}),
    ],
)
def test_an_import_states_the_consent_of_each_lead_that_states_none(
    stated: dict[str, str] | None, cells: dict[str, Any], expected: dict[str, Any]
) -> None:
    mapping = FileMapping(("caller_id", *cells), {}, stated)

    found = mapping.submission({"caller_id": "+13055550123", **cells}, TOKEN)

    assert found == {"lead_token": TOKEN, "caller_id": "+13055550123", **expected}
