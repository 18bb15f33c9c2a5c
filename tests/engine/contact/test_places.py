"""Does a telephone wait where its country, its law or its type says that it is not called, and only while they do?"""

from typing import Any

import pytest

from schemas.records import Company, Offer
from tests.engine.contact.test_replan import CALL, pack
from tests.engine.contact.world import NOON, World

JAPAN = {
    "caller_id": "+81312345678",
    "contact_key": "1|+81312345678",
    "zones": ("America/New_York",),
    "zone_source": "stated",
}
"""A number of a country without rows, where it is noon on the clock that was stated."""


def world(**fields: Any) -> World:
    found = World()
    found.schedule(CALL)
    found.add("company", 1, Company(name="Solar", **fields), version=2)
    return found


@pytest.mark.parametrize(
    ("fields", "lead", "waits"),
    [
        ({}, JAPAN, None),
        ({"unreviewed_countries": "hold"}, JAPAN, "unreviewed_country"),
        ({"unreviewed_countries": "hold"}, {}, None),
        ({"unreviewed_countries": "hold"}, {"columns": {"country": "JP"}}, "unreviewed_country"),
        ({"dial_countries": ("US",)}, JAPAN, "country_not_dialled"),
        ({"dial_countries": ("US", "JP")}, JAPAN, None),
        ({"dial_countries": ("CA",)}, {}, "country_not_dialled"),
        ({"dial_countries": ("US",)}, {"caller_id": "+19005550123", "contact_key": "1|+19005550123"}, "number_not_dialled"),
        ({}, {"caller_id": "+88216123456", "contact_key": "1|+88216123456"}, "number_not_dialled"),
    ],
)
def test_a_due_call_is_held_by_the_country_or_type_of_its_number(
    fields: dict[str, Any], lead: dict[str, Any], waits: str | None
) -> None:
    found = world(**fields)

    made = found.submit(**lead)

    assert (made.status_wait, made.next_action_at is None) == ((waits, True) if waits else (made.status_wait, False))
    assert found.steps() == ([] if waits else ["call-1"])


def test_other_purposes_are_not_telemarketing_and_have_the_floor() -> None:
    found = World()
    found.schedule(CALL, purpose="informational")
    found.add("company", 1, Company(name="Solar", unreviewed_countries="hold"), version=2)

    found.submit(**JAPAN)

    assert found.steps() == ["call-1"]


def test_an_email_is_sent_wherever_the_telephone_is() -> None:
    found = World()
    found.schedule({"id": "mail", "kind": "email", "subject": "Hi", "template": "Hi"}, CALL)
    found.add("company", 1, Company(name="Solar", unreviewed_countries="hold", dial_countries=("US",)), version=2)

    lead = found.submit(**JAPAN, email="ada@example.com")

    assert [command.step_id for command in found.commands] == ["mail"]
    assert lead.caller_id == JAPAN["caller_id"]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({"unreviewed_countries": "hold"}, {"unreviewed_countries": "floor"}),
        ({"dial_countries": ("US",)}, {"dial_countries": ("US", "JP")}),
    ],
)
def test_a_company_that_dials_more_wakes_what_waits(before: dict[str, Any], after: dict[str, Any]) -> None:
    found = world(**before)
    found.submit(**JAPAN)

    found.add("company", 1, Company(name="Solar", **after), version=3)
    found.wait(1)

    assert found.steps() == ["call-1"]


def test_a_company_that_dials_less_is_obeyed_by_a_lead_that_waits() -> None:
    found = World()
    found.schedule({"id": "pause", "kind": "wait", "duration": "1h"}, CALL)
    lead = found.submit(**JAPAN)

    found.add("company", 1, Company(name="Solar", dial_countries=("US",)), version=2)
    found.wait(1)
    found.wait_until(NOON + 7_200_000)

    assert (found.lead(lead.id).status_wait, found.steps()) == ("country_not_dialled", [])


def test_rows_of_the_company_review_a_country() -> None:
    found = world(unreviewed_countries="hold")
    windows = [{"days": ["mon", "tue", "wed", "thu", "fri"], "open": "09:00", "close": "18:00"}]
    found.add("rule_pack", 5, pack({"country": "JP", "windows": windows}))

    found.submit(**JAPAN)

    assert found.steps() == ["call-1"]


def test_the_list_of_the_offer_takes_the_place_of_that_of_the_company() -> None:
    found = world(dial_countries=("US",))
    found.add("offer", 1, Offer(name="Abroad", lead_token="lt_abroad", dial_countries=("JP",)), version=2)

    lead = found.submit(**JAPAN, offer_id=1, schedule_id=1)

    assert lead.offer_id == 1
    assert found.steps() == ["call-1"]
