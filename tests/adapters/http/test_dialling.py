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


async def warnings_after(company: Any, method: str, path: str, **fields: Any) -> list[str]:
    answer = await company.send(method, f"/api/v1/{path}", json=fields)
    assert answer.status_code in {200, 201}, answer.text
    found: list[str] = answer.json().get("warnings", [])
    return found


async def test_publishing_says_that_every_country_is_dialled_and_whose_law_is_not_kept(company: Any) -> None:
    offer = await company.record("offers", {"name": "Solar"})
    steps = [{"id": "call", "kind": "call"}]
    made = await company.send("POST", "/api/v1/schedules", json={"name": "A", "offer_id": offer["id"], "steps": steps})
    path = f"schedules/{made.json()['schedule']['id']}"

    assert "dial_countries names none" in made.json()["warnings"][0]
    (floor,) = await warnings_after(company, "PUT", "company", dial_countries=["IS"], unreviewed_countries="floor")
    assert "No law of IS is kept: telemarketing has 08:00-21:00 there" in floor
    assert await warnings_after(company, "PUT", path, description="again") == [floor]
    assert await warnings_after(company, "PUT", path, name="B", draft=True) == [floor]
    assert await warnings_after(company, "POST", f"{path}/publish") == [floor]
    assert await warnings_after(company, "GET", path) == [floor]
    assert await warnings_after(company, "PUT", f"offers/{offer['id']}", dial_countries=["US"]) == []
    assert await warnings_after(company, "GET", path) == []
    (held,) = await warnings_after(company, "PUT", "company", unreviewed_countries="hold")
    assert "No law of IS is kept: telemarketing there waits (unreviewed_countries: hold)" in held


async def test_publishing_says_that_a_law_asks_what_is_sold(company: Any) -> None:
    offer = await company.record("offers", {"name": "Baths", "dial_countries": ["FR"]})
    fields = {"name": "A", "offer_id": offer["id"], "steps": [{"id": "call", "kind": "call"}]}

    (asked,) = await warnings_after(company, "POST", "schedules", **fields)
    await warnings_after(company, "PUT", f"offers/{offer['id']}", sector="home_adaptation")
    (barred,) = await warnings_after(company, "POST", "schedules", **fields)
    await warnings_after(company, "PUT", f"offers/{offer['id']}", sector="other")

    assert "energy_renovation in FR, home_adaptation in FR, training_account in FR" in asked
    assert barred == "The law of FR bars contact about home_adaptation: leads there wait (sector_barred)."
    assert await warnings_after(company, "POST", "schedules", **fields) == []
    wrong = await company.send("PUT", f"/api/v1/offers/{offer['id']}", json={"sector": "baths"})
    assert (wrong.status_code, list(wrong.json()["errors"])) == (422, ["sector"])


async def test_an_answer_that_is_repeated_has_the_warnings_too(company: Any) -> None:
    fields = {"name": "A", "steps": [{"id": "call", "kind": "call"}]}
    headers = {"Idempotency-Key": "publish-once"}

    answers = [await company.send("POST", "/api/v1/schedules", json=fields, headers=headers) for _ in range(2)]

    assert answers[0].json()["warnings"] == answers[1].json()["warnings"]
    assert len(answers[0].json()["warnings"]) == 1
