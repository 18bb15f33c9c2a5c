"""Is a number that may not be dialled refused with the field, with a key too, while an opt-out is taken from any?"""

from typing import Any

import pytest

pytestmark = pytest.mark.asyncio(loop_scope="session")

COSTLY = ("+19005550123", "+881612345678", "+449012345678", "+447012345678", "+4918012345678")


async def submit(company: Any, token: str, number: str, **fields: Any) -> Any:
    return await company.send("POST", "/api/v1/leads", json={"lead_token": token, "caller_id": number, **fields})


@pytest.mark.parametrize("number", COSTLY)
async def test_what_costs_its_caller_is_refused_with_a_key_too(company: Any, number: str) -> None:
    schedule = await company.schedule()

    refused = await submit(company, schedule["lead_token"], number)

    assert (refused.status_code, list(refused.json()["errors"])) == (422, ["caller_id"])
    assert "never dialled" in refused.json()["errors"]["caller_id"][0]


async def test_a_country_that_is_not_listed_is_refused_until_it_is(company: Any) -> None:
    schedule = await company.schedule()
    await company.send("PUT", "/api/v1/company", json={"dial_countries": ["us"]})

    refused = await submit(company, schedule["lead_token"], "+252612345678")
    at_home = await submit(company, schedule["lead_token"], "+12125550171")
    await company.send("PUT", "/api/v1/company", json={"dial_countries": ["US", "SO"]})
    taken = await submit(company, schedule["lead_token"], "+252612345678")

    assert (refused.status_code, list(refused.json()["errors"])) == (422, ["caller_id"])
    assert "add SO to dial_countries of the offer or company and resend" in refused.json()["errors"]["caller_id"][0]
    assert (at_home.status_code, taken.status_code) == (201, 201)


async def test_an_opt_out_is_taken_from_any_number(company: Any) -> None:
    offer = await company.record("offers", {"name": "Solar"})
    await company.send("PUT", "/api/v1/company", json={"dial_countries": ["US"]})

    for number in ("+252612345678", "+19005550123"):
        answer = await submit(company, offer["lead_token"], number, opt_out="true")
        assert answer.status_code == 201, answer.text
        assert answer.json()["lead"]["status"] == "opt_out"


async def test_a_call_is_not_started_to_a_number_that_is_never_dialled(company: Any) -> None:
    schedule = await company.schedule()

    refused = await company.send(
        "POST", "/api/v1/calls", json={"schedule_id": schedule["id"], "to": "+19005550123", "from": "+12125550160"}
    )

    assert refused.status_code == 422, refused.text
    assert "to" in refused.json()["errors"]


async def test_telemarketing_to_a_country_without_law_is_taken_with_a_warning(company: Any) -> None:
    schedule = await company.schedule()

    floor = await submit(company, schedule["lead_token"], "+81312345678")
    await company.send("PUT", "/api/v1/company", json={"unreviewed_countries": "hold"})
    held = await submit(company, schedule["lead_token"], "+81312345679")

    (said,) = floor.json()["warnings"]
    assert said.startswith("No law of JP is kept: it has 08:00-21:00 there.")
    assert any("telemarketing there waits" in warning for warning in held.json()["warnings"])
    assert held.json()["lead"]["status_wait"] == "unreviewed_country"


async def test_a_consent_is_stored_shown_and_found_and_comes_from_the_offer_too(company: Any) -> None:
    schedule = await company.schedule()
    form = {"kind": "form", "url": "https://example.com/form", "at": "2026-11-30T12:00:00Z"}

    made = await submit(company, schedule["lead_token"], "+12125550172", consent=form)
    bad = await submit(company, schedule["lead_token"], "+12125550173", consent={"kind": "form"})
    offer = await company.record("offers", {"name": "Forms", "consent_text": "I agree to be called."})
    by_offer = await submit(company, offer["lead_token"], "+12125550174")
    changed = await company.send("PUT", f"/api/v1/leads/{by_offer.json()['lead']['id']}", json={"consent": form})

    assert made.json()["lead"]["data"]["consent"] == [form]
    assert (bad.status_code, list(bad.json()["errors"])) == (422, ["consent"])
    (stated,) = by_offer.json()["lead"]["data"]["consent"]
    assert (stated["kind"], stated["text"]) == ("form of the offer", "I agree to be called.")
    assert changed.json()["lead"]["data"]["consent"] == [form]
