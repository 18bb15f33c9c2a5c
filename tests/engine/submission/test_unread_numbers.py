"""Whose number is meant by what an opt-out was sent with, and is none refused for its form?"""

from typing import Any

import pytest
from msgspec import structs

from engine.partition.draft import RefusedError
from engine.rules import Rules
from engine.submission.unread_numbers import key_of_number, raw_key, spellings_of, unread_text
from schemas.records import Company, Offer
from schemas.requests import UnreadNumber
from tests.engine.submission.conftest import OFFER_ID, Submit, record

US, US_GB, GB_US, EU = ("US",), ("US", "GB"), ("GB", "US"), ("DE", "FR", "IT")

# What is sent, the countries that the company knows, and whom it may mean. Sources: E.123, the national plans.
MEANT: list[tuple[str, tuple[str, ...], tuple[str, ...]]] = [
    ("305-555-0123", US, ("+13055550123",)),
    ("305-555-0123 home", US, ("+13055550123",)),
    ("cell: (305) 555-0123", US, ("+13055550123",)),
    ("Ada 305.555.0123", US, ("+13055550123",)),
    ("(305)555-O123", US, ("+13055550123",)),
    ("3O5 555 OI23", US, ("+13055550123",)),
    ("305555o123", US, ("+13055550123",)),
    ("3055550l23", US, ("+13055550123",)),
    ("3055550123 / 3055550124", US, ("+13055550123", "+13055550124")),
    ("3055550123; 3055550124", US, ("+13055550123", "+13055550124")),
    ("305-555-0123 or 305-555-0124", US, ("+13055550123", "+13055550124")),
    ("020 7946 0958", US_GB, ("+442079460958",)),
    ("020 7946 0958", GB_US, ("+442079460958",)),
    ("020 7946 0958 office", US_GB, ("+442079460958",)),
    ("030 123456", EU, ("+4930123456",)),
    ("01 42 68 53 00", ("US", "FR"), ("+33142685300",)),
    ("442079460958", US, ("+442079460958",)),
    ("447400123456 mobile", US, ()),  # with a word beside it, digits are of the country alone
    ("+44 7400 123456 mobile", US, ("+447400123456",)),
    ("305-555-XXXX", US, ()),
    ("305-555-01??", US, ()),
    ("305*555*0123", US, ()),
    ("***-***-0123", US, ()),
    ("12345", US, ()),
    ("STOPNOW", US, ()),
    ("n/a", US, ()),
    ("-", US, ()),
    ("555-0123", US, ()),
]


@pytest.mark.parametrize(("text", "countries", "meant"), MEANT)
def test_whom_a_number_may_mean(text: str, countries: tuple[str, ...], meant: tuple[str, ...]) -> None:
    assert spellings_of(text, countries) == meant


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("12345", "1|raw:12345"),
        ("  STOP   now ", "1|raw:stop now"),
        ("305-555-XXXX", "1|raw:305-555-xxxx"),
        ("a\u0007b", "1|raw:ab"),
        ("9" * 300, f"1|raw:{'9' * 64}"),
    ],
)
def test_what_stays_unread_names_a_contact_of_its_own(text: str, key: str) -> None:
    assert raw_key(1, text) == key
    assert unread_text(key) == key.removeprefix("1|raw:")
    assert unread_text("1|+13055550123") is None
    assert unread_text("1|email:ada@example.com") is None


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("305-555-0123", ("1|+13055550123", None)),
        ("305-555-0123 home", ("1|+13055550123", None)),
        ("020 7946 0958", ("1|+442079460958", None)),
        ("12345", ("1|raw:12345", UnreadNumber("12345"))),
        (
            "3055550123 / 3055550124",
            (
                "1|raw:3055550123 / 3055550124",
                UnreadNumber("3055550123 / 3055550124", ("1|+13055550123", "1|+13055550124")),
            ),
        ),
    ],
)
def test_one_number_that_is_meant_is_read_and_several_are_all_meant(text: str, found: tuple[str, Any]) -> None:
    assert key_of_number(1, text, US_GB) == found


@pytest.mark.parametrize(
    ("fields", "key", "keys", "warns"),
    [
        ({"caller_id": "305-555-0123 home"}, "1|+13055550123", None, False),
        ({"caller_id": "+13055550123"}, "1|+13055550123", None, False),
        ({"caller_id": "020 7946 0958"}, "1|+442079460958", None, False),
        ({"caller_id": "030 123456", "country": "DE"}, "1|+4930123456", None, False),
        ({"caller_id": "12345"}, "1|raw:12345", (), True),
        ({"caller_id": 12345}, "1|raw:12345", (), True),
        ({"caller_id": "305-555-XXXX"}, "1|raw:305-555-xxxx", (), True),
        (
            {"caller_id": "305-555-XXXX", "email": "ada@example.com"},
            "1|raw:305-555-xxxx",
            ("1|email:ada@example.com",),
            True,
        ),
        (
            {"caller_id": "3055550123;3055550124"},
            "1|raw:3055550123;3055550124",
            ("1|+13055550123", "1|+13055550124"),
            True,
        ),
    ],
)
def test_a_submission_that_opts_out_is_taken_with_any_number(
    rules: Rules, submit: Submit, fields: dict[str, Any], key: str, keys: tuple[str, ...] | None, *, warns: bool
) -> None:
    rules.apply(0, structs.replace(record("company", 1, Company(name="Sunny", dial_countries=("US", "GB"))), version=2))
    rules.apply(0, structs.replace(record("offer", OFFER_ID, Offer(name="Solar", lead_token="offer-token")), version=2))

    found = submit({**fields, "opt_out": "true"}, api_company_id=1)

    assert found.request.contact_key == key
    assert (None if found.request.unread is None else found.request.unread.keys) == keys
    assert any("cannot be read as one number" in warning for warning in found.warnings) is warns


def test_a_submission_that_does_not_opt_out_is_refused_as_before(submit: Submit) -> None:
    with pytest.raises(RefusedError) as refused:
        submit({"caller_id": "12345"})

    assert list(refused.value.errors) == ["caller_id"]
