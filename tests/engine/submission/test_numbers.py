"""Is a number parsed as libphonenumber parses it, with and without the cache of exchanges?"""

import phonenumbers
import pytest
from hypothesis import given
from hypothesis import strategies as st
from phonenumbers import timezone
from phonenumbers.geocoder import description_for_number

from engine.calendar import country_zones
from engine.submission.area_codes import AREA_CODE_STATES
from engine.submission.calling_codes import countries_of_number
from engine.submission.numbers import country_of_number, read_number
from engine.submission.states import STATES


@pytest.mark.parametrize(
    "text",
    [
        "+13055550123",
        "13055550123",
        "(305) 555-0123",
        "305.555.0123",
        "305 555 0123",
        "+1 305 555 0123",
        " 13055550123",
        "  +13055550123 ",
        "+1 (305) 555-0123 ext. 9",
        "tel:+1-305-555-0123",
    ],
)
def test_one_number_has_many_spellings(text: str) -> None:
    number = read_number(text, "US")
    assert number is not None
    assert (number.e164, number.zones, number.states) == ("+13055550123", ("America/New_York",), ("FL",))


@pytest.mark.parametrize(
    ("text", "country", "e164"),
    [
        ("020 7183 8750", "GB", "+442071838750"),
        ("442071838750", "GB", "+442071838750"),
        (" 442071838750", "US", "+442071838750"),
        ("0091 44 2345 6789", "GB", "+914423456789"),
        ("305 555 0123", "CA", "+13055550123"),
    ],
)
def test_the_country_says_how_national_numbers_are_meant(text: str, country: str, e164: str) -> None:
    number = read_number(text, country)
    assert number is not None
    assert number.e164 == e164


@pytest.mark.parametrize(
    "text",
    ["", "123", "555-0123", "+1 105 555 0123", "+1 305 155 0123", "+1305555012", "+130555501234", "abc", "+", "1" * 65],
)
def test_what_is_no_number_is_none(text: str) -> None:
    assert read_number(text, "US") is None


@pytest.mark.parametrize("text", ["+18005551212", "+80012345678", "+15005550006", "+79161234567"])
def test_a_number_without_a_place_says_nothing_about_zones(text: str) -> None:
    number = read_number(text, "US")
    assert number is not None
    assert (number.zones, number.states) == ((), ())


@pytest.mark.parametrize(
    ("text", "country", "states"),
    [
        ("+17875550123", "PR", ("PR",)),
        ("+16715550123", "GU", ("GU",)),
        ("+13405550123", "VI", ("VI",)),
        ("+14165550123", "CA", ("ON",)),
    ],
)
def test_a_number_of_a_territory_or_a_province_speaks_for_it(text: str, country: str, states: tuple[str, ...]) -> None:
    number = read_number(text, "US")
    assert number is not None
    assert (number.country, number.states) == (country, states)


def test_a_text_longer_than_any_number_is_not_even_looked_at() -> None:
    assert read_number("(305) 555-0123".ljust(64), "US") is not None
    assert read_number("(305) 555-0123".ljust(65), "US") is None


@given(
    area=st.sampled_from(sorted(AREA_CODE_STATES)),
    exchange=st.integers(200, 999),
    line=st.integers(0, 9999),
)
def test_the_memory_of_exchanges_changes_no_answer(area: str, exchange: int, line: int) -> None:
    text = f"+1{area}{exchange}{line:04}"
    number = read_number(text, "US")
    oracle = phonenumbers.parse(text, None)
    is_dialled = exchange % 100 != 11 and exchange != 976  # N11 is no exchange, 976 is paid for by the caller
    assert (number is not None) == (is_dialled and phonenumbers.is_valid_number(oracle))
    if number is not None:
        assert number.e164 == text
        assert number.country == phonenumbers.region_code_for_number(oracle)
        named = timezone.time_zones_for_geographical_number(oracle)
        # The metadata lends places in Canada the clock of a bigger one.
        assert number.zones == named or (number.country == "CA" and set(number.zones) <= set(country_zones("CA")))


@pytest.mark.parametrize(
    ("e164", "country"),
    [
        ("+13055550123", "US"),
        ("+14165550123", "CA"),
        ("+18765550123", "JM"),
        ("+442079460958", "GB"),
        ("+4930123456", "DE"),
        ("+80012345678", None),
        ("+1305", None),
        ("nobody", None),
    ],
)
def test_a_number_says_which_country_it_is_of(e164: str, country: str | None) -> None:
    assert country_of_number(e164) == country


@pytest.mark.parametrize("region", sorted(phonenumbers.SUPPORTED_REGIONS))
def test_the_country_of_a_number_is_the_main_one_of_its_calling_code(region: str) -> None:
    example = phonenumbers.example_number(region)
    if example is None:
        assert region in {"AC", "TA"}  # islands without an example
        return
    e164 = phonenumbers.format_number(example, phonenumbers.PhoneNumberFormat.E164)
    main = phonenumbers.region_code_for_country_code(example.country_code or 0)
    expected = region if region in {"CA", "KZ"} else main

    assert countries_of_number(e164) == (expected,)


def test_a_satellite_is_in_no_country() -> None:
    assert countries_of_number("+88216123456") == ()


def test_area_codes_are_those_of_the_number_plan() -> None:
    """The oracle is asked for a number of each code: its own tables know some codes by their exchanges alone."""
    described = {}
    for area in range(200, 1000):
        some = phonenumbers.PhoneNumber(country_code=1, national_number=int(f"{area}2345678"))
        place = description_for_number(some, "en")
        if phonenumbers.region_code_for_number(some) in {"US", "CA"} and place not in {"", "Canada"}:
            described[str(area)] = place
    assert AREA_CODE_STATES.keys() == described.keys()
    for code, states in AREA_CODE_STATES.items():
        words = described[code].replace("D.C.", "DC").replace("Colombia", "Columbia")
        assert all(STATES[state].split()[-1] in words or state in words for state in states), (code, states, words)
