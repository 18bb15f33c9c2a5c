"""Is an amount read by the digits that were sent, and refused beyond its bounds and places?"""

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.submission.fields import FieldError, parse_amount

DECIMALS = "must have at most 4 decimals"
BOUNDS = "must be from -1000000000 to 1000000000"
NO_NUMBER = "must be an amount such as 12.5"


@pytest.mark.parametrize(
    ("sent", "read"),
    [
        (12.5, "12.5"), ("12.50", "12.5"), (" 45 ", "45"), ("+0.1", "0.1"), (".5", "0.5"), (0.1, "0.1"), (-3, "-3"),
        (999_999_999.9999, "999999999.9999"), ("-1000000000", "-1000000000"), (1e9, "1000000000"), (1e-4, "0.0001"),
        (True, NO_NUMBER), (None, NO_NUMBER), ("5,000", NO_NUMBER), ("nan", NO_NUMBER), ("1e3", NO_NUMBER), ([1], NO_NUMBER),
        (float("inf"), NO_NUMBER), (float("nan"), NO_NUMBER),
        (0.00001, DECIMALS), ("12.34567", DECIMALS), (0.1 + 0.2, DECIMALS),
        (1_000_000_000.0001, BOUNDS), (-2e9, BOUNDS), ("1000000000.0001", BOUNDS), (10**30, BOUNDS),
    ],
)  # fmt: skip
def test_what_is_sent_is_an_amount_or_said_not_to_be_one(sent: Any, read: str) -> None:
    try:
        found = str(parse_amount(sent))
    except FieldError as error:
        found = str(error)
    assert found == read


@given(st.decimals(-1_000_000_000, 1_000_000_000, places=4))
def test_a_number_of_json_and_its_text_are_the_same_amount(amount: Decimal) -> None:
    assert parse_amount(float(amount)) == parse_amount(str(amount)) == amount
