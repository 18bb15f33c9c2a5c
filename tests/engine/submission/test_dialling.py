"""Which numbers may be dialled, by which list, and what does a refusal say?"""

import pytest

from engine.submission.dialling import (
    COUNTRY_NOT_DIALLED,
    NUMBER_NOT_DIALLED,
    is_listed,
    listed_countries,
    undialled_sentence,
    why_stored_undialled,
    why_undialled,
)
from engine.submission.numbers import read_number
from schemas.records import Company, Offer

# Examples of each type by the metadata of phonenumbers (ITU-T E.164 and the national plans).
TYPES = {
    "+13055550123": None,
    "+442079460958": None,
    "+447911123456": None,
    "+18005550123": None,  # toll-free: a company's, which a key may bring
    "+525512345678": None,
    "+19005550123": NUMBER_NOT_DIALLED,  # premium, North America
    "+449012345678": NUMBER_NOT_DIALLED,  # premium, United Kingdom
    "+33891123456": NUMBER_NOT_DIALLED,  # premium, France
    "+39899123456": NUMBER_NOT_DIALLED,  # premium, Italy: audiotext
    "+34803123456": NUMBER_NOT_DIALLED,  # premium, Spain
    "+4918012345678": NUMBER_NOT_DIALLED,  # shared cost, Germany
    "+447012345678": NUMBER_NOT_DIALLED,  # personal, United Kingdom
    "+15005550123": NUMBER_NOT_DIALLED,  # personal, North America
    "+881612345678": NUMBER_NOT_DIALLED,  # Globalstar
    "+88216123456": NUMBER_NOT_DIALLED,  # Thuraya
    "+870773111632": NUMBER_NOT_DIALLED,  # Inmarsat
    "+979123456789": NUMBER_NOT_DIALLED,  # international premium rate
    "+80012345678": None,  # international freephone
    "+12129760123": NUMBER_NOT_DIALLED,  # pay-per-call within a state (47 CFR 64.1501)
    "(312) 976-0123": NUMBER_NOT_DIALLED,
    "+18009760123": None,  # toll-free has that exchange as well
    "+16005550123": NUMBER_NOT_DIALLED,  # Canada, paid by the caller
    "+16225550123": NUMBER_NOT_DIALLED,  # personal, Canada
    "+15215550123": NUMBER_NOT_DIALLED,  # personal, North America
    "+611900123456": NUMBER_NOT_DIALLED,  # premium, Australia
    "+31900123456": NUMBER_NOT_DIALLED,  # premium, the Netherlands
    "+41900123456": NUMBER_NOT_DIALLED,  # premium, Switzerland
}


@pytest.mark.parametrize("text", TYPES)
def test_what_costs_its_caller_is_never_dialled(text: str) -> None:
    number = read_number(text, "US")

    assert number is not None
    assert why_undialled(number, ()) == why_stored_undialled(text, ()) == TYPES[text]


@pytest.mark.parametrize(
    ("text", "listed", "code"),
    [
        ("+13055550123", ("US",), None),
        ("+14165550123", ("US",), COUNTRY_NOT_DIALLED),
        ("+14165550123", ("US", "CA"), None),
        ("+17875550123", ("US",), None),  # Puerto Rico, and the other territories
        ("+13405550123", ("US",), None),
        ("+16715550123", ("US",), None),
        ("+18765550123", ("US",), COUNTRY_NOT_DIALLED),  # Jamaica
        ("+252612345678", ("US",), COUNTRY_NOT_DIALLED),  # Somalia
        ("+442079460958", ("GB", "IE"), None),
        ("+442079460958", (), None),
    ],
)
def test_a_country_is_dialled_where_it_is_listed(text: str, listed: tuple[str, ...], code: str | None) -> None:
    number = read_number(text, "US")

    assert number is not None
    assert why_undialled(number, listed) == code
    if code is not None:
        assert f"add {number.country} to dial_countries" in undialled_sentence(code, number, listed)


def test_the_list_of_the_offer_takes_the_place_of_that_of_the_company() -> None:
    company = Company(name="C", dial_countries=("US",))

    assert listed_countries(Offer(name="O", lead_token="t"), company) == ("US",)
    assert listed_countries(Offer(name="O", lead_token="t", dial_countries=("GB",)), company) == ("GB",)
    assert listed_countries(None, company) == ("US",)
    assert listed_countries(None, Company(name="C")) == listed_countries(None, None) == ()
    assert is_listed(None, ())
    assert not is_listed(None, ("US",))


def test_a_stored_number_that_no_metadata_knows_is_dialled_as_it_was() -> None:
    assert why_stored_undialled("+19995550123", ("US",)) is None
