"""From whom is a text of a provider taken? From a number, and from a sender of any form where it may be an opt-out."""

import pytest

from adapters.providers.ports import TextReport
from adapters.providers.reports import is_taken
from schemas.requests import CarrierMeaning

US_GB = ("US", "GB")


@pytest.mark.parametrize(
    ("sender", "body", "carrier_meaning", "taken"),
    [
        ("+13055550123", "Who is this?", None, True),
        ("+13055550123", "STOP", None, True),
        ("72345", "Your code is 1234", None, False),
        ("72345", "STOP", None, True),
        ("72345", "Stop by tomorrow?", None, True),
        ("72345", "ok", "opt_out", True),
        ("ADAENERGY", "Your code is 1234", None, False),
        ("ADAENERGY", "stop texting me", None, True),
        ("ada@example.com", "ya no me llamen", None, True),
        ("", "STOP", None, False),
        (" ", "STOP", None, False),
    ],
)
def test_a_text_is_taken_from_whom_it_may_opt_out(
    sender: str, body: str, carrier_meaning: CarrierMeaning | None, *, taken: bool
) -> None:
    report = TextReport(
        event_id="e1", from_number=sender, to_number="+12125550150", body=body, carrier_meaning=carrier_meaning
    )

    assert is_taken(report, US_GB) is taken
