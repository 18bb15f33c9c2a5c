"""How are doubtful texts reviewed over HTTP? They are listed with what the person wrote, and decided once."""

from typing import Any

import pytest

from tests.adapters.http.conftest import Company, Town, unquoted

QUEUE = "/api/v1/opt_out_reviews"

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def doubted(town: Town, company: Company, body: str = "Stop by tomorrow?") -> tuple[str, dict[str, Any]]:
    """Return the number of somebody with a lead who sent a text, and the lead."""
    town.numbers += 1
    number, schedule = f"+1917554{town.numbers:04d}", await company.schedule()
    made = await company.send("POST", "/api/v1/leads", json={"lead_token": schedule["lead_token"], "caller_id": number})
    text = {"from": number, "to": "+12125550188", "text_ref": f"doubt-{town.numbers}", "body": body}
    received = await company.send("POST", "/api/v1/texts/received", json=text)
    assert received.status_code == 200, received.text
    return number, made.json()["lead"]


async def queue(company: Company, **query: Any) -> list[dict[str, Any]]:
    answer = await company.send("GET", QUEUE, params=query)
    assert answer.status_code == 200, answer.text
    found: list[dict[str, Any]] = answer.json()["opt_out_reviews"]
    return found


async def test_a_doubtful_text_waits_until_somebody_has_decided(town: Town, company: Company) -> None:
    await company.record("numbers", {"number": "+12125550188", "sms": True})
    await doubted(town, company, "Yes, call me")
    number, lead = await doubted(town, company)
    (waiting,) = await queue(company)
    assert waiting.items() >= {"caller_id": number, "body": "Stop by tomorrow?", "lead_id": lead["id"]}.items()
    assert waiting["received_at"] < waiting["review_until"]
    path = f"/api/v1/contacts/{number}/opt_out_review"
    missing = await company.send("POST", path)
    assert (missing.status_code, set(missing.json()["errors"])) == (422, {"opt_out"})
    decided = await company.send("POST", path, json={"opt_out": True})
    assert decided.status_code == 200, decided.text
    shown = decided.json()["contact"]
    assert (shown["opted_out"], shown["opted_out_source"], shown["review_until"]) == (True, "review", None)
    (fact,) = [fact for fact in shown["history"] if fact["type"] == "contact.optout_reviewed"]
    assert (fact["data"]["opted_out"], fact["data"]["by"][:4]) == (True, "key/")
    assert (await company.send("GET", f"/api/v1/leads/{lead['id']}")).json()["lead"]["status"] == "opt_out"
    assert await queue(company) == []
    assert (await company.send("POST", path, json={"opt_out": False})).status_code == 404


async def test_no_opt_out_lets_the_lead_go_on(town: Town, company: Company) -> None:
    number, lead = await doubted(town, company)
    decided = await company.send("POST", f"/api/v1/contacts/{number}/opt_out_review", json={"opt_out": "no"})
    assert (decided.json()["contact"]["opted_out"], decided.json()["contact"]["review_until"]) == (False, None)
    assert (await company.send("GET", f"/api/v1/leads/{lead['id']}")).json()["lead"]["status"] != "opt_out"


async def test_the_queue_is_read_by_page_cursor_and_file_and_is_its_companys_own(
    town: Town, company: Company, other: Company
) -> None:
    numbers = {(await doubted(town, company))[0] for _ in range(3)}
    every = await queue(company)
    assert {row["caller_id"] for row in every} == numbers
    assert await queue(company, per_page=2, page=2) == every[2:]
    assert await queue(company, cursor=str(every[0]["id"])) == every[1:]
    assert await queue(other) == []
    table = await company.send("GET", f"{QUEUE}.csv", params={"columns": "caller_id"})
    assert set(unquoted(table.text).split()[1:]) == numbers
    answer = await other.send("POST", f"/api/v1/contacts/{every[0]['caller_id']}/opt_out_review", json={"opt_out": True})
    assert answer.status_code == 404
    assert len(await queue(company)) == 3
