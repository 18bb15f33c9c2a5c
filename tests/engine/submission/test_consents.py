"""Is a consent kept as it was stated, refused where it says nothing, and required where the law asks for it first?"""

from typing import Any

import pytest
from msgspec import structs

from engine.rules import Rules
from engine.submission.consents import CONSENTS_MAX, has_consent, parse_consents
from engine.submission.fields import FieldError
from schemas.records import Offer, TrafficSource
from tests.engine.contact.test_replan import CALL
from tests.engine.contact.world import World, at
from tests.engine.submission.conftest import OFFER_ID, SOURCE_ID, Submit, record

FORM = {"kind": "web form", "text": "I agree to be called.", "url": "https://example.com/form"}
WHOLE = {
    **FORM,
    "certificate": "https://cert.trustedform.com/0123",
    "at": "2026-11-30T12:00:00Z",
    "address": "192.0.2.1",
    "page": "/solar",
}


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (FORM, [FORM]),
        ([FORM, {"certificate": "0123-leadid"}], [FORM, {"certificate": "0123-leadid"}]),
        ('{"text": "I agree."}', [{"text": "I agree."}]),
        ({**WHOLE, "at": "2026-11-30 07:00:00 -0500"}, [WHOLE]),
        ({**FORM, "page": ""}, [FORM]),
    ],
)
def test_consents_are_kept_as_they_were_stated(value: Any, expected: list[dict[str, str]]) -> None:
    assert parse_consents(value) == expected
    assert has_consent(expected)


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        ("yes", "must be one object of kind, text"),
        ([], "or 1 to 10 of them"),
        ([FORM] * (CONSENTS_MAX + 1), "or 1 to 10 of them"),
        (["yes"], "must be one object"),
        (7, "must be one object"),
        ({"kind": "form"}, "must say what was consented to, by text, url or certificate"),
        ({**FORM, "colour": "red"}, "has the field 'colour', which no consent has"),
        ({**FORM, "url": "example.com"}, "has a field url that must be an address that begins with https://"),
        ({**FORM, "at": "noon"}, "has a field at that"),
        ({**FORM, "address": "nowhere"}, "has a field address that must be an IP address"),
        ({**FORM, "text": "x" * 4_001}, "has a field text that"),
    ],
)
def test_what_says_nothing_is_refused(value: Any, sentence: str) -> None:
    with pytest.raises(FieldError) as refused:
        parse_consents(value)

    assert sentence in str(refused.value)


STATED = [{"kind": "form of the offer", "text": "I agree."}]
OF_THE_SOURCE = [{"kind": "form of the source", "url": "https://example.com/form"}]


@pytest.mark.parametrize(
    ("stated", "lead", "expected"),
    [
        (({}, {}), {}, None),
        (({"consent_text": "I agree."}, {}), {}, STATED),
        (({"consent_text": "I agree."}, {"consent_url": "https://example.com/form"}), {}, OF_THE_SOURCE),
        (({}, {"consent_url": "https://example.com/form"}), {}, OF_THE_SOURCE),
        (({"consent_text": "I agree."}, {"consent_text": "Yes."}), {"consent": [FORM]}, [FORM]),
        (({"consent_text": "I agree."}, {"consent_text": "Yes."}), {"traffic_source_id": None}, STATED),
    ],
)
def test_an_offer_or_a_source_states_the_words_of_its_forms_once(
    rules: Rules,
    submit: Submit,
    stated: tuple[dict[str, Any], dict[str, Any]],
    lead: dict[str, Any],
    expected: list[dict[str, str]] | None,
) -> None:
    offer, source = stated
    body = Offer(name="Solar", lead_token="offer-token", country="US", **offer)
    rules.apply(0, structs.replace(record("offer", OFFER_ID, body), version=2))
    rules.apply(0, structs.replace(record("traffic_source", SOURCE_ID, TrafficSource(name="Ads", **source)), version=2))

    found = submit({"traffic_source_id": SOURCE_ID, **lead}, api_company_id=1).request

    assert found.data.get("consent") == expected


BERLIN = {"caller_id": "+49301234567", "contact_key": "1|+49301234567", "zones": ("Europe/Berlin",), "zone_source": "stated"}


@pytest.mark.parametrize(
    ("data", "steps"),
    [
        ({}, []),
        ({"consent": [FORM]}, ["call-1"]),
        ({"opt_in": "yes"}, ["call-1"]),
        ({"opt_in": "no"}, []),
        ({"consent": []}, []),
    ],
)
def test_the_law_asks_for_consent_before_a_call(data: dict[str, Any], steps: list[str]) -> None:
    world = World(now=at("2026-12-04 15:00", "Europe/Berlin"))
    world.schedule(CALL)

    lead = world.submit(**BERLIN, data=data)

    assert world.steps() == steps
    assert steps or (lead.status_wait, lead.next_action_at) == ("consent_missing", None)


def test_consent_that_comes_later_lets_the_lead_go_on() -> None:
    world = World(now=at("2026-12-04 15:00", "Europe/Berlin"))
    world.schedule(CALL)
    world.submit(**BERLIN)

    world.update(data={"consent": [FORM]})

    assert world.steps() == ["call-1"]
