"""Do the warnings of a valid record name the countries that nothing limits, and the laws that are not kept?"""

from typing import Any

import msgspec
import pytest

from engine.account.record_warnings import NAMED_MAX, warnings_of
from engine.rules import Rules
from schemas.records import Buyer, Company, Offer, Schedule, plain
from schemas.records import Record as AccountRecord
from tests.contact_ids import CONTACT_IDS
from tests.engine.contact.world import at

NOW = at("2026-12-01 12:00")
CALL = {"id": "call", "kind": "call"}
MAIL = {"id": "mail", "kind": "email", "subject": "Hi", "template": "Hi"}
WAIT = {"id": "wait", "kind": "wait", "duration": "1h"}

UNSET = "dial_countries names none"
FLOOR = "No law of {} is kept: telemarketing has 08:00-21:00 there"
HELD = "No law of {} is kept: telemarketing there waits (unreviewed_countries: hold)"
ASKED = "set the sector of the offer"
BARRED = "The law of FR bars contact about home_adaptation"


def known(company: dict[str, Any], offer: dict[str, Any]) -> Rules:
    rules = Rules(CONTACT_IDS)
    bodies = {
        "company": msgspec.convert({"name": "Sunny", **company}, Company),
        "offer": msgspec.convert({"name": "Solar", "lead_token": "t", **offer}, Offer),
    }
    for record_type, body in bodies.items():
        common: dict[str, Any] = {"id": 1, "uuid": record_type, "company_id": 1, "version": 1, "sequence": 1}
        rules.apply(
            0, AccountRecord(type=record_type, created_at=NOW, updated_at=NOW, deleted_at=None, body=plain(body), **common)
        )
    return rules


US, FR, IS = {"dial_countries": ["US"]}, {"dial_countries": ["US", "FR"]}, {"dial_countries": ["IS"]}


@pytest.mark.parametrize(
    ("company", "offer", "schedule", "expected"),
    [
        (US, {}, {}, []),
        ({}, US, {}, []),
        ({}, {}, {}, [UNSET]),
        ({"country": "IS"}, {"country": "IS"}, {}, [UNSET, FLOOR.format("IS")]),
        (IS, {}, {}, [FLOOR.format("IS")]),
        ({**IS, "unreviewed_countries": "hold"}, {}, {}, [HELD.format("IS")]),
        (US, IS, {}, [FLOOR.format("IS")]),
        ({"dial_countries": ["US", "IS", "SE"]}, {}, {}, [FLOOR.format("IS, SE")]),
        (IS, {}, {"purpose": "informational"}, []),
        (IS, {}, {"purpose": "collections"}, []),
        ({}, {}, {"purpose": "informational"}, [UNSET]),
        (IS, {}, {"steps": [MAIL]}, []),
        ({}, {}, {"steps": [WAIT, MAIL]}, []),
        ({}, {}, {"steps": [WAIT, {"id": "text", "kind": "sms", "template": "Hi"}]}, [UNSET]),
        (IS, {}, {"unpublished": True}, []),
        (FR, {}, {}, [ASKED]),
        (FR, {"sector": "other"}, {}, []),
        (FR, {"sector": "home_adaptation"}, {}, [BARRED]),
        (FR, {"sector": "claims_management"}, {}, []),
        (FR, {}, {"purpose": "informational"}, []),
        (FR, {}, {"offer_id": None}, [ASKED]),
        ({"dial_countries": ["GB"]}, {}, {}, [ASKED]),
        ({"dial_countries": ["DE", "AT"]}, {}, {}, []),
        ({"dial_countries": ["US", "PR", "CA"]}, {}, {}, []),
    ],
)
def test_a_schedule_that_is_published_says_what_nothing_limits(
    company: dict[str, Any], offer: dict[str, Any], schedule: dict[str, Any], expected: list[str]
) -> None:
    given = {"name": "Five days", "lead_token": "s", "offer_id": 1, "steps": [CALL], **schedule}

    found = warnings_of(known(company, offer), 1, msgspec.convert(given, Schedule), NOW)

    assert len(found) == len(expected), found
    assert all(part in sentence for part, sentence in zip(expected, found, strict=True)), found


@pytest.mark.parametrize(
    ("company", "expected"),
    [
        ({}, [UNSET]),
        (US, []),
        (IS, [FLOOR.format("IS")]),
        ({**IS, "unreviewed_countries": "hold"}, [HELD.format("IS")]),
        ({"country": "SE"}, [UNSET, FLOOR.format("SE")]),
    ],
)
def test_the_company_says_it_of_its_own_list(company: dict[str, Any], expected: list[str]) -> None:
    body = msgspec.convert({"name": "Sunny", **company}, Company)

    found = warnings_of(known(company, {}), 1, body, NOW)

    assert [part in sentence for part, sentence in zip(expected, found, strict=True)] == [True] * len(expected)


def test_an_offer_says_it_of_the_countries_that_it_names() -> None:
    found = warnings_of(known({}, {}), 1, Offer(name="Solar", lead_token="t", dial_countries=("US", "IS")), NOW)

    assert found == (f"{FLOOR.format('IS')}. Add rows of your own with a rule pack.",)
    assert warnings_of(known({}, {}), 1, Offer(name="Solar", lead_token="t"), NOW) == ()
    assert warnings_of(known({}, {}), 1, Buyer(name="Ada", number="+12125550100"), NOW) == ()


def test_a_long_list_of_countries_is_cut() -> None:
    many = ["IS", "SE", "NO", "FI", "DK", "PL", "CZ", "HU", "RO", "BG", "GR", "HR"]

    (found,) = warnings_of(known({}, {}), 1, msgspec.convert({"name": "A", "dial_countries": many}, Company), NOW)

    assert f"{many[NAMED_MAX - 1]} and 2 more" in found


def test_a_rule_pack_of_the_company_reviews_a_country() -> None:
    rules = known(IS, {})
    row = {"id": "is", "country": "IS", "purposes": ["telemarketing"], "channels": ["call"]}
    hours = {"windows": [{"days": ["mon"], "open": "09:00", "close": "20:00"}], "source_url": "https://example.com"}
    body = {"name": "Iceland", "rules": [{**row, **hours, "reviewed_at": "2026-11-01"}]}
    common: dict[str, Any] = {"id": 5, "uuid": "pack", "company_id": 1, "version": 1, "sequence": 2, "body": body}
    rules.apply(0, AccountRecord(type="rule_pack", created_at=NOW, updated_at=NOW, deleted_at=None, **common))

    assert warnings_of(rules, 1, msgspec.convert({"name": "Sunny", **IS}, Company), NOW) == ()
