"""Which callers have a number, and how do carriers say that one has none?"""

import pytest

from engine.identity import is_withheld
from engine.submission.callers import SAID_LENGTH_MAX, caller_key, caller_of, said_by_carrier

WITHHELD = {
    "anonymous": "RFC 3323, 4.1.1.3",
    "Anonymous": "RFC 3323, 4.1.1.3",
    "sip:anonymous@anonymous.invalid": "RFC 3323, 4.1.1.3",
    "<sip:anonymous@anonymous.invalid>;tag=1": "RFC 3323, 4.1.1.3",
    "Restricted": "Twilio, caller id of blocked calls",
    "unavailable": "Asterisk, CALLERPRES",
    "private": "Asterisk, CALLERPRES",
    "unknown": "Asterisk, CALLERPRES",
    "": "an empty caller id",
    "  ": "an empty caller id",
    "+266696687": "ANONYMOUS on the keys",
    "266696687": "ANONYMOUS on the keys",
    "+7378742833": "RESTRICTED on the keys",
    "7378742833": "RESTRICTED on the keys",
    "+2562533": "BLOCKED on the keys",
    "+8656696": "UNKNOWN on the keys",
    "+86282452253": "UNAVAILABLE on the keys",
    "sip:alice@example.com": "RFC 3261, an address without a number",
    "sip:100@pbx.example.com": "an extension of a switchboard",
    "+0": "no number begins so",
    "911": "an emergency number calls nobody",
}

NUMBERS = {
    "+12125550123": "+12125550123",
    "2125550123": "+12125550123",
    "(212) 555-0123": "+12125550123",
    "sip:+12125550123@carrier.example.com": "+12125550123",
    "sips:+12125550123@carrier.example.com;transport=tls": "+12125550123",
    "<sip:+12125550123@carrier.example.com;user=phone>": "+12125550123",
    "sip:2125550123@pbx.example.com": "+12125550123",
    "tel:+1-212-555-0123": "+12125550123",
    "TEL:+442071838750": "+442071838750",
    "+17378742833": "+17378742833",
    "(737) 874-2833": "+17378742833",
}


@pytest.mark.parametrize("said", WITHHELD)
def test_a_caller_of_whom_the_carrier_says_no_number_is_somebody_of_their_own(said: str) -> None:
    assert caller_of(said_by_carrier(said), "US") is None
    assert is_withheld(caller_key(1, None, "pbx-1"))


@pytest.mark.parametrize(("said", "number"), NUMBERS.items())
def test_a_number_is_read_in_every_form_in_which_carriers_say_it(said: str, number: str) -> None:
    found = caller_of(said_by_carrier(said), "US")
    assert found is not None
    assert (found.e164, caller_key(1, found, "pbx-1")) == (number, f"1|{number}")


def test_calls_without_a_number_differ_by_their_reference_and_company() -> None:
    keys = {caller_key(company_id, None, ref) for company_id in (1, 2) for ref in ("pbx-1", "pbx-2")}
    assert len(keys) == 4


LINES: list[tuple[str | None, str]] = [
    ("a\n  b\t", "a b"),
    (None, ""),
    ("x" * 900, "x" * SAID_LENGTH_MAX),
]


@pytest.mark.parametrize(("value", "said"), LINES)
def test_what_a_carrier_says_is_one_bounded_line(value: str | None, said: str) -> None:
    assert said_by_carrier(value) == said
