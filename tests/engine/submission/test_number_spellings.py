"""Is one person found however a number is written, and is a mask, a slip or somebody abroad never dialled?"""

import random
from typing import Any

import pytest

from engine.identity import contact_key, identity_number
from engine.submission.numbers import find_number, holds_two, read_number
from engine.submission.place import locate
from engine.submission.reading import Reading
from engine.submission.states import ANY_STATE
from schemas.instant import EPOCH

# What is written, in which country, and what it is; None: refused. Sources: the national numbering plans (ITU-T E.164 and
# operational bulletins), NANPA's rules of area codes, E.123 for 00 and 011.
VIETNAMESE_UNTIL_2018 = (
    *("120", "121", "122", "126", "128"),  # MobiFone
    *("123", "124", "125", "127", "129"),  # VinaPhone
    *("162", "163", "164", "165", "166", "167", "168", "169"),  # Viettel
    *("186", "188", "199"),  # Vietnamobile, Gmobile
)
VIETNAMESE = (
    *("70", "79", "77", "76", "78"),
    *("83", "84", "85", "81", "82"),
    *("32", "33", "34", "35", "36", "37", "38", "39"),
    *("56", "58", "59"),
)
"""As the newspaper SGGP and an address book list them; `engine.submission.numbers` names the pages."""

SPELLINGS: list[tuple[str, str, str | None]] = [
    # Digits without a plus are of the country, or of none: 6591234567 is no Singaporean.
    ("6591234567", "US", None),
    ("4930123456", "US", None),
    ("442071838750", "US", None),
    ("525512345678", "US", None),
    ("4930123456", "DE", "+4930123456"),
    ("91234567", "SG", "+6591234567"),
    ("2079460958", "GB", "+442079460958"),
    ("00442079460958", "US", "+442079460958"),
    ("011442079460958", "US", "+442079460958"),
    ("011 44 20 7946 0958", "CA", "+442079460958"),
    ("0113 496 0123", "GB", "+441134960123"),
    (" 442079460958", "US", "+442079460958"),
    ("+44 (0)20 7946 0958", "US", "+442079460958"),
    # Masks and slips.
    ("212-555-XXXX", "US", None),
    ("212-555-xxxx", "US", None),
    ("(212)555-O1OO", "US", None),
    ("2l25550100", "US", None),
    ("5305551212a", "US", None),
    ("a5305551212", "US", None),
    ("212*555*0100", "US", None),
    ("212-555-01__", "US", None),
    ("212-555-01??", "US", None),
    ("305 555 0123 home", "US", None),
    ("+1-212-FLOWERS", "US", None),
    ("212-555-HOME", "US", None),
    ("1-800-FLOWERS", "US", "+18003569377"),
    ("(888) flowers", "US", "+18883569377"),
    ("1-800-FLOWER", "US", None),
    ("1-800-GOFLOWERS", "US", None),
    # New area codes are in service before the metadata knows them; codes reserved for other uses are refused.
    ("+18615550123", "US", "+18615550123"),
    ("(436) 555-0123", "US", "+14365550123"),
    ("16245550123", "US", "+16245550123"),
    ("+12905550123", "US", None),
    ("+13905550123", "US", None),
    ("+13715550123", "US", None),
    ("+13795550123", "US", None),
    ("+19605550123", "US", None),
    ("+19695550123", "US", None),
    ("+12115550123", "US", None),
    ("+19115550123", "US", None),
    ("+18611550123", "US", None),
    ("+18619110123", "US", None),
    ("+12645550123", "US", None),  # Anguilla has no such exchange
    # Mexico's 1 is abolished, and its trunk digits are.
    ("+5215512345678", "US", "+525512345678"),
    ("+52 1 55 1234 5678", "MX", "+525512345678"),
    ("044 55 1234 5678", "MX", "+525512345678"),
    ("045 55 1234 5678", "MX", "+525512345678"),
    ("01 55 1234 5678", "MX", "+525512345678"),
    ("1 55 1234 5678", "MX", "+525512345678"),
    ("55 1234 5678", "MX", "+525512345678"),
    # Brazilian mobiles have nine digits since 2016; landlines have eight.
    ("+551187654321", "US", "+5511987654321"),
    ("11 8765-4321", "BR", "+5511987654321"),
    ("+5511987654321", "US", "+5511987654321"),
    ("+551133334444", "US", "+551133334444"),
    ("(11) 3333-4444", "BR", "+551133334444"),
    # Argentina: dialled as it was sent.
    ("+541123456789", "US", "+541123456789"),
    ("+5491123456789", "US", "+5491123456789"),
    ("011 15 2345 6789", "AR", "+5491123456789"),
    ("011 2345 6789", "AR", "+541123456789"),
    # Italy's landlines keep their zero, and get it back.
    ("06 12345678", "IT", "+390612345678"),
    ("+39 06 12345678", "US", "+390612345678"),
    ("+39612345678", "US", "+390612345678"),
    ("612345678", "IT", "+390612345678"),
    ("+393471234567", "US", "+393471234567"),
    ("347 123 4567", "IT", "+393471234567"),
    # Trunk zeros.
    ("030 123456", "DE", "+4930123456"),
    ("01 42 68 53 00", "FR", "+33142685300"),
    ("0412 345 678", "AU", "+61412345678"),
    # Trunk digits that are written behind another prefix (E.123 and the national plans).
    ("+44 (0)7400 123456", "US", "+447400123456"),
    ("07400 123456", "GB", "+447400123456"),
    ("00 44 (0) 7400 123456", "FR", "+447400123456"),
    ("+4407400123456", "US", "+447400123456"),
    ("+49 (0)30 123456", "US", "+4930123456"),
    ("0049 (0)30 123456", "DE", "+4930123456"),
    ("030/123456", "DE", "+4930123456"),
    ("00 33 (0)1 42 68 53 00", "FR", "+33142685300"),
    ("0033 01 42 68 53 00", "FR", "+33142685300"),
    ("+330142685300", "US", "+33142685300"),
    ("8 (495) 123-45-67", "RU", "+74951234567"),
    ("89161234567", "RU", "+79161234567"),
    ("+7 916 123-45-67", "US", "+79161234567"),
    ("8 701 123 4567", "KZ", "+77011234567"),
    ("06 30 123 4567", "HU", "+36301234567"),
    ("+36 06 30 123 4567", "HU", "+36301234567"),
    ("8 612 34567", "LT", "+37061234567"),
    ("0 612 34567", "LT", "+37061234567"),
    ("+370 8 612 34567", "LT", "+37061234567"),
    ("80 29 123 45 67", "BY", "+375291234567"),
    ("8 029 123-45-67", "BY", "+375291234567"),
    ("80501234567", "UA", "+380501234567"),
    ("050 123 45 67", "UA", "+380501234567"),
    ("+31 (0)6 12345678", "US", "+31612345678"),
    ("+353 (0)87 123 4567", "US", "+353871234567"),
    ("+81 (0)90-1234-5678", "US", "+819012345678"),
    ("+61 (0)412 345 678", "US", "+61412345678"),
    ("0 15 11 98765-4321", "BR", "+5511987654321"),
    ("011 98765-4321", "BR", "+5511987654321"),
    ("+90 0532 123 45 67", "TR", "+905321234567"),
    ("098765 43210", "IN", "+919876543210"),
    ("+54 9 011 2345 6789", "AR", "+5491123456789"),
    ("+54 011 15 2345 6789", "AR", "+5491123456789"),
    ("0351 15 234 5678", "AR", "+5493512345678"),
    ("+52 044 55 1234 5678", "MX", "+525512345678"),
    ("+5201 55 1234 5678", "MX", "+525512345678"),
    ("52 1 55 1234 5678", "MX", "+525512345678"),
    ("+39 0347 1234567", "IT", "+393471234567"),
    ("+39 0331 123456", "IT", "+390331123456"),
    # What is dialled in place of the plus elsewhere.
    ("0011 44 20 7946 0958", "AU", "+442079460958"),
    ("010 1 212 555 0171", "JP", "+12125550171"),
    ("8 10 49 30 123456", "RU", "+4930123456"),
    ("001 65 9123 4567", "SG", "+6591234567"),
    ("0012125550171", "MX", "+12125550171"),
    ("0086 138 0013 8000", "CN", "+8613800138000"),
    # Plans that are over: Côte d'Ivoire 2021, Benin 2024, Viet Nam 2018, Colombia 2021.
    ("+225 07 12 34 56", "US", "+2250707123456"),
    ("44123456", "CI", "+2250544123456"),
    ("01234567", "CI", "+2250101234567"),
    ("+2250707123456", "US", "+2250707123456"),
    ("03123456", "CI", "+2250103123456"),  # Moov
    ("87123456", "CI", "+2250787123456"),  # Orange
    ("22412345", "CI", "+2252722412345"),  # a landline of Orange
    ("+225 20 00 12 34", "US", "+2252520001234"),  # of MTN, by the 0 behind the area
    ("21812345", "CI", "+2252121812345"),  # of Moov, by the 8
    ("+229 97 12 34 56", "US", "+2290197123456"),
    ("0197123456", "BJ", "+2290197123456"),
    ("0123 456 7890", "VN", "+84834567890"),
    ("+84 168 123 4567", "US", "+84381234567"),
    *((f"0{old} 123 4567", "VN", f"+84{new}1234567") for old, new in zip(VIETNAMESE_UNTIL_2018, VIETNAMESE, strict=True)),
    ("0838 123 456", "VN", "+84838123456"),
    ("(1) 234 5678", "CO", "+576012345678"),
    ("031 2345678", "CO", "+576012345678"),
    ("+57 601 2345678", "US", "+576012345678"),
    ("03 310 123 4567", "CO", "+573101234567"),
    ("22345678", "CR", "+50622345678"),
    # Emergency and short numbers are nobody's.
    ("911", "US", None),
    ("411", "US", None),
    ("988", "US", None),
    ("12345", "US", None),
    ("+1911", "US", None),
    ("112", "DE", None),
    ("999", "GB", None),
    ("000", "AU", None),
    ("5550171", "US", None),
    # Codes of North America that are no area codes (NANPA: easily recognizable codes, 456, 710), and exchanges like 911.
    ("+17005550171", "US", None),
    ("+18225550171", "US", None),
    ("+13335550171", "US", None),
    ("+15555550171", "US", None),
    ("+12225550171", "US", None),
    ("+14565550171", "US", None),
    ("+17105550171", "US", None),
    ("+19765550171", "US", None),
    ("+13705550171", "US", None),
    ("+19625550171", "US", None),
    ("+12129110171", "US", None),
    ("2124110171", "US", None),
    ("+12121550171", "US", None),
    ("+12120550171", "US", None),
    ("800-411-0171", "US", "+18004110171"),
    ("+1 (1)2125550171", "US", "+12125550171"),
    ("011 1 212 555 0171", "US", "+12125550171"),
    # Two in one cell.
    ("3055550123; 3055550124", "US", None),
    ("3055550123 / 3055550124", "US", None),
]


@pytest.mark.parametrize(("text", "country", "e164"), SPELLINGS)
def test_a_number_is_what_its_plan_says_or_refused(text: str, country: str, e164: str | None) -> None:
    found = read_number(text, country)

    assert (None if found is None else found.e164) == e164


def test_no_ten_digits_without_a_plus_are_somebody_abroad() -> None:
    chance = random.Random(51)
    for _ in range(2_000):
        text = str(chance.randrange(10**9, 10**10))
        found = read_number(text, "US")
        assert found is None or found.e164 == f"+1{text}", text


@pytest.mark.parametrize(
    ("text", "e164"),
    [
        ("442071838750", "+442071838750"),
        ("6591234567", "+6591234567"),
        ("3055550123", "+13055550123"),
        ("212-555-XXXX", None),
    ],
)
def test_who_is_looked_up_or_opts_out_is_found_by_digits_with_a_country_code(text: str, e164: str | None) -> None:
    found = find_number(text, "US")

    assert (None if found is None else found.e164) == e164


@pytest.mark.parametrize(
    ("text", "extension"),
    [
        ("+1 (305) 555-0123 ext. 9", "9"),
        ("305-555-0123x45", "45"),
        ("305 555 0123 x45", "45"),
        ("3055550123 #7", "7"),
        ("305-555-0123, extension 1234", "1234"),
        ("tel:+1-305-555-0123;ext=12", "12"),
        ("+44 20 7946 0958 Ext 3", "3"),
        ("305-555-0123 X 7", "7"),
        ("305-555-0123 extn 12", "12"),
        ("305-555-0123 (ext. 12)", "12"),
        ("305-555-0123 ext no. 12", "12"),
        ("tel:+1-305-555-0123;ext=1-23", "123"),
        ("+1-305-555-0123;ext=0", "0"),
        ("+33 1 42 68 53 00 poste 12", "12"),
        ("+49 30 123456 Durchwahl 12", "12"),
        ("+49 30 123456 Apparat: 9", "9"),
        ("+43 1 58858 DW 12", "12"),
        ("+43 1 58858 Klappe 12", "12"),
        ("+39 06 12345678 int. 5", "5"),
        ("+54 11 2345 6789 interno 44", "44"),
        ("+55 11 3333-4444 ramal 21", "21"),
        ("+34 911 23 45 67 extensión 8", "8"),
        ("+31 20 123 4567 tst. 12", "12"),
        ("+46 8 123 456 78 ankn. 5", "5"),
        ("+7 495 123-45-67 доб. 12", "12"),
        ("+81 3-1234-5678 内線 12", "12"),
        ("305-555-0123,,123", "123"),
        ("3055550123p123", "123"),
        ("3055550123w123", "123"),
        ("1-800-FLOWERS x12", "12"),
        ("305-555-0123", None),
        ("+49 30 123456-12", None),
    ],
)
def test_an_extension_is_kept_beside_the_number(text: str, extension: str | None) -> None:
    found = read_number(text, "US")

    assert found is not None
    assert found.extension == extension


@pytest.mark.parametrize("text", ["305-555-0123 x", "305-555-0123 ext", "305-555-0123 x12345678901", "305-555-XXX1 x2"])
def test_what_is_no_extension_is_a_slip(text: str) -> None:
    assert read_number(text, "US") is None


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("+5215512345678", "+525512345678"),
        ("+551187654321", "+5511987654321"),
        ("+5491123456789", "+541123456789"),
    ],
)
def test_two_forms_of_a_number_are_one_person(one: str, other: str) -> None:
    assert contact_key(1, one, None) == contact_key(1, other, None)


@pytest.mark.parametrize(
    "e164", ["+13055550123", "+551133334444", "+390612345678", "+442079460958", "+5211234567", "+5491123"]
)
def test_other_numbers_are_themselves(e164: str) -> None:
    assert identity_number(e164) == e164


@pytest.mark.parametrize(
    ("text", "two"),
    [
        ("3055550123; 3055550124", True),
        ("305-555-0123 / 305-555-0124", True),
        ("3055550123 or 3055550124", True),
        ("3055550123,3055550124", True),
        ("305-555-0123, ext 9", False),
        ("+1 305 555 0123", False),
        ("01/42685300", False),
    ],
)
def test_two_numbers_in_one_cell_are_seen(text: str, *, two: bool) -> None:
    assert holds_two(text) is two


def read(**fields: Any) -> Reading:
    reading = Reading(fields, EPOCH)
    reading.number("US")
    return reading


def test_the_reason_of_a_refusal_is_said() -> None:
    assert "holds two numbers" in read(caller_id="3055550123; 3055550124").errors["caller_id"][0]
    assert "is not a valid telephone number of US" in read(caller_id="6591234567").errors["caller_id"][0]
    assert read(caller_id="305-555-0123 x9").data == {"extension": "9"}


def test_a_new_area_code_may_be_in_any_state_unless_an_address_says_which() -> None:
    number = read_number("+18615550123", "US")
    (warning,) = read(caller_id="+18615550123").warnings

    anywhere = locate(country="US", stated_zone=None, zip_code=None, state=None, number=number)
    in_texas = locate(country="US", stated_zone=None, zip_code="75201", state=None, number=number)
    assert (anywhere.zones, anywhere.states) == ((), ANY_STATE)
    assert (in_texas.zones, in_texas.states) == (("America/Chicago",), ("TX",))
    assert "861" in warning
    assert len(ANY_STATE) == 51
