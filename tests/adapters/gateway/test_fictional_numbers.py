"""Which numbers are reserved for fiction? The first and the last of each range, and not their neighbours."""

import pytest

from adapters.gateway.fictional_numbers import is_fictional

RANGES = [
    ("NANP", "+12125550100", "+12125550199"),
    ("NANP", "+19075550100", "+19075550199"),
    ("Leeds", "+441134960000", "+441134960999"),
    ("London", "+442079460000", "+442079460999"),
    ("Northern Ireland", "+442896496000", "+442896496999"),
    ("United Kingdom, mobile", "+447700900000", "+447700900999"),
    ("United Kingdom, no area", "+441632960000", "+441632960999"),
    ("Sydney", "+61255500000", "+61255509999"),
    ("Australia, mobile", "+61491570006", "+61491570006"),
    ("Australia, mobile", "+61491570156", "+61491570159"),
    ("Ireland", "+353209100000", "+353209199999"),
    ("Paris", "+33199000000", "+33199009999"),
    ("France, mobile", "+33639980000", "+33639989999"),
    ("Berlin", "+493023125000", "+493023125999"),
    ("Germany, mobile", "+4917604069000", "+4917604069099"),
    ("Stockholm", "+46846500400", "+46846500499"),
    ("Sweden, mobile", "+46701740605", "+46701740699"),
]


@pytest.mark.parametrize(("name", "first", "last"), RANGES)
def test_a_range_that_a_regulator_reserves_is_fictional_from_its_first_to_its_last_number(
    name: str, first: str, last: str
) -> None:
    assert is_fictional(first), name
    assert is_fictional(last), name
    assert not is_fictional(f"+{int(first) - 1}")
    assert not is_fictional(f"+{int(last) + 1}")


@pytest.mark.parametrize(
    "number",
    [
        "", "+", "+1", "55501", "+1212555010", "+121255501000", "+12125551100", "+12121550100", "+18005550100",
        "+18885550199", "+4477009000000", "+44770090000", "+520155501005", "sip:+12125550101@example.com", "+81312345608",
    ],
)  # fmt: skip
def test_a_number_that_looks_like_a_reserved_one_is_not(number: str) -> None:
    assert not is_fictional(number)
