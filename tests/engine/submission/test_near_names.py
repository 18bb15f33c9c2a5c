"""Is a field understood under the names that forms give it, and a cell as the spreadsheet meant it?

The names are those of WordPress forms, Gravity Forms, Jotform, HubSpot, Meta and Google lead forms, as their pages have
them.
"""

import re
from pathlib import Path
from typing import Any

import pytest

from engine.partition.draft import RefusedError
from engine.submission.near_names import NEAR_NAMES, NESTED_ONLY, TOKENS, field_of
from engine.submission.nested import lifted
from engine.submission.spreadsheet import has_lost_digits, read_cell
from tests.engine.submission.conftest import Submit

NUMBER = "+13055550123"

BY_NAME: tuple[tuple[str, Any, str, Any], ...] = (
    *((name, "(305) 555-0123", "caller_id", NUMBER) for name in ("phone", "Phone Number", "phone_number", "mobile", "Cell")),
    *(
        (name, "3055550123", "caller_id", NUMBER)
        for name in ("MobilePhone", "telephone", "tel", "Home-Phone", "phoneNumber")
    ),
    *((name, "ada@example.com", "email", "ada@example.com") for name in ("e-mail", "Email Address", "emailAddress", "mail")),
    *(
        (name, "33101", "zip_postal_code", "33101")
        for name in ("zip_code", "ZIP Code", "zipcode", "postal_code", "Postcode")
    ),
    *((name, "FL", "state_province", "FL") for name in ("State", "province", "Region")),
    *((name, "America/Denver", "time_zone", "America/Denver") for name in ("timezone", "timeZone")),
    ("Country Code", "US", "country", "US"),
    ("fullname", "Ada Lovelace", "full_name", "Ada Lovelace"),
    ("subid", "a7", "sub_id", "a7"),
)


@pytest.mark.parametrize(("name", "value", "field", "meant"), BY_NAME)
def test_a_near_name_fills_the_field_and_the_token_stays(
    submit: Submit, name: str, value: Any, field: str, meant: Any
) -> None:
    reached = {} if field in {"caller_id", "email"} else {"caller_id": NUMBER}
    request, warnings = submit({"caller_id": "", **reached, name: value})
    found = getattr(request, field) if field in {"caller_id", "email"} else request.columns.get(field)
    assert found == meant
    assert request.data[name] == value
    assert f"{name} as {field}" in warnings[-1]


@pytest.mark.parametrize(
    ("name", "token"),
    [("firstname", "first_name"), ("fname", "first_name"), ("Surname", "last_name"), ("street", "address")],
)
def test_a_token_that_templates_name_is_filled(submit: Submit, name: str, token: str) -> None:
    assert submit({name: "Ada"}).request.data == {name: "Ada", token: "Ada"}


def test_what_is_sent_under_its_own_name_is_never_replaced(submit: Submit) -> None:
    sent = {"zip": "10001", "phone": "+12125550100", "first_name": "Ada", "firstname": "Eve", "zip_code": "33101"}
    request, warnings = submit(sent)
    assert (request.caller_id, request.columns["zip_postal_code"], request.data["first_name"]) == (NUMBER, "10001", "Ada")
    assert warnings == ()


def test_the_first_of_several_near_names_counts_and_the_others_are_named(submit: Submit) -> None:
    request, warnings = submit({"caller_id": "", "mobile": NUMBER, "phone": "+12125550100"})
    assert request.caller_id == NUMBER
    assert "phone was not taken as caller_id: mobile was." in warnings


def test_a_value_that_cannot_be_read_leaves_the_field_unknown(submit: Submit) -> None:
    request, warnings = submit({"timezone": "somewhere", "country_code": "1", "phone": ""})
    assert request.columns == {}
    assert [warning.partition(":")[0] for warning in warnings] == [
        "timezone was not taken as time_zone",
        "country_code was not taken as country",
    ]


def test_a_number_under_a_near_name_that_cannot_be_read_loses_no_lead_that_has_an_address(submit: Submit) -> None:
    request, warnings = submit({"caller_id": "", "phone": "n/a", "email": "ada@example.com"})
    assert (request.caller_id, request.email) == (None, "ada@example.com")
    assert "phone was not taken as caller_id" in warnings[-1]
    with pytest.raises(RefusedError) as refused:
        submit({"caller_id": "", "phone": "n/a"})
    assert "phone" in refused.value.errors


def test_the_address_of_a_form_is_none_of_the_person(submit: Submit) -> None:
    assert "remote_ip" not in submit({"ip": "203.0.113.7"}).request.columns


def test_the_page_for_producers_has_the_table() -> None:
    page = (Path(__file__).parents[3] / "deploy/docs/producers.md").read_text()
    rows = dict(re.findall(r"^\| `(\w+)` \| ((?:`\w+`(?:, )?)+) \|$", page, re.MULTILINE))
    for field in NEAR_NAMES.keys() - NESTED_ONLY:
        assert rows[field] == ", ".join(f"`{name}`" for name in NEAR_NAMES[field])


def test_nested_posts_use_the_same_names() -> None:
    for field, names in NEAR_NAMES.items():
        for name in names:
            assert lifted({"answers": {name: "x"}})[field] == "x", name
            assert field_of(name.upper()) == field
    assert NEAR_NAMES.keys() > TOKENS


@pytest.mark.parametrize(
    ("cell", "meant"),
    [
        ("13055550123.0", "13055550123"),
        ("+13055550123.00", "+13055550123"),
        ('="+13055550123"', "+13055550123"),
        ("\u202a+13055550123\u202c", "+13055550123"),
        ("\ufeff3055550123", "3055550123"),
        ("\u200b305 555 0123\u00a0", "305 555 0123"),
        ("\uff13\uff10\uff15\uff15\uff15\uff15\uff10\uff11\uff12\uff13", "3055550123"),
        ("\uff0b1 305 555 0123", "+1 305 555 0123"),
        ("33101.0", "33101"),
        ('="02134"', "02134"),
        ("305.555.0123", "305.555.0123"),
        ("3.5", "3.5"),
        ("12", "12"),
    ],
)
def test_a_cell_is_read_as_it_was_meant(cell: str, meant: str) -> None:
    assert read_cell(cell) == meant


@pytest.mark.parametrize(
    "cell", ["13055550123.0", '="+13055550123"', "\u202a+13055550123\u202c", 13055550123.0, 13055550123]
)
def test_a_number_that_a_spreadsheet_wrote_is_taken(submit: Submit, cell: Any) -> None:
    assert submit({"caller_id": cell}).request.caller_id == NUMBER


@pytest.mark.parametrize("cell", ["1.21255E+10", "1.21255e+10", "1,21255E+10", "2E10", " 1.3E+10 "])
def test_a_number_whose_digits_are_lost_is_refused_as_that(submit: Submit, cell: str) -> None:
    assert has_lost_digits(cell)
    with pytest.raises(RefusedError) as refused:
        submit({"caller_id": cell})
    assert "lost its digits" in refused.value.errors["caller_id"][0]


def test_a_column_that_leadclock_fills_stays_a_token_and_the_answer_says_so(submit: Submit) -> None:
    request, warnings = submit({"status": "hot", "id": 7})
    assert request.data == {"status": "hot", "id": 7}
    assert [warning.partition(" ")[0] for warning in warnings] == ["id", "status"]
