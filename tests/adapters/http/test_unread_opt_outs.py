"""Is no opt-out refused for the form of its number, however it comes, and is it reviewed where nobody is known?"""

import asyncio
from typing import Any
from urllib.parse import quote

import pytest
from prometheus_client.parser import text_string_to_metric_families

from adapters.observability.metrics import Metrics
from adapters.postgres.opt_out_reviews import OptOutReviews
from tests.adapters.http.conftest import Company, Town

pytestmark = pytest.mark.asyncio(loop_scope="session")

QUEUE = "/api/v1/opt_out_reviews"


async def known(town: Town, company: Company) -> tuple[str, dict[str, Any]]:
    """Return the number of somebody with a lead, and its schedule."""
    town.numbers += 1
    number, schedule = f"+1917555{town.numbers:04d}", await company.schedule()
    made = await company.send("POST", "/api/v1/leads", json={"lead_token": schedule["lead_token"], "caller_id": number})
    assert made.status_code == 201, made.text
    return number, schedule


async def waiting(company: Company) -> list[str]:
    answer = await company.send("GET", QUEUE)
    assert answer.status_code == 200, answer.text
    return [row["unread_number"] for row in answer.json()["opt_out_reviews"]]


async def opted_out(company: Company, number: str) -> bool:
    """Return whether somebody has opted out, once what the opt-out led to has had the time to be decided."""
    for _ in range(50):
        shown = (await company.send("GET", f"/api/v1/contacts/{number}")).json()["contact"]
        if shown["opted_out"]:
            return True
        await asyncio.sleep(0.1)
    return False


def spoilt(number: str) -> str:
    """Return a number as a person writes it: with a word behind it, and an O among its digits."""
    return f"({number[2:5]}) {number[5:8]}-{number[8:].replace('0', 'O')} cell"


async def by_submission(company: Company, token: str, number: str) -> Any:
    fields = {"lead_token": token, "caller_id": number, "opt_out": "true"}
    return await company.send("POST", "/api/v1/leads", json=fields)


async def by_stranger(company: Company, token: str, number: str) -> Any:
    fields = {"lead_token": token, "caller_id": number, "opt_out": "true"}
    return await company.town.client.post("/api/v1/leads", json=fields)


async def by_link(company: Company, token: str, number: str) -> Any:
    path = f"/api/v1/leads/{quote(number, safe='')}/caller_opt_out"
    return await company.town.client.get(path, params={"lead_token": token})


async def by_text(company: Company, token: str, number: str) -> Any:
    text = {"from": number, "to": "+12125550188", "text_ref": f"{token}/{number}", "body": "STOP"}
    return await company.send("POST", "/api/v1/texts/received", json=text)


WAYS = [by_submission, by_stranger, by_link, by_text]


@pytest.mark.parametrize("way", WAYS)
async def test_who_is_meant_is_opted_out(town: Town, company: Company, way: Any) -> None:
    number, schedule = await known(town, company)

    answer = await way(company, schedule["lead_token"], spoilt(number))

    assert answer.status_code < 300, answer.text
    assert await opted_out(company, number)
    assert await waiting(company) == []


@pytest.mark.parametrize("way", [by_submission, by_stranger, by_text])
async def test_of_two_numbers_in_one_field_both_are_opted_out(town: Town, company: Company, way: Any) -> None:
    number, schedule = await known(town, company)
    other, _ = await known(town, company)

    answer = await way(company, schedule["lead_token"], f"{number[2:]} / {other[2:]}")

    assert answer.status_code < 300, answer.text
    assert await opted_out(company, number)
    assert await opted_out(company, other)
    assert await waiting(company) == []


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("number", ["305-555-XXXX", "72345", "ADA-ENERGY"])
async def test_one_that_nobody_can_read_waits_until_somebody_says_whose_it_is(
    town: Town, company: Company, way: Any, number: str
) -> None:
    meant, schedule = await known(town, company)

    answer = await way(company, schedule["lead_token"], number)

    assert answer.status_code < 300 or "stored all the same" in answer.json()["detail"], answer.text
    (row,) = (await company.send("GET", QUEUE)).json()["opt_out_reviews"]
    assert (row["unread_number"], row["caller_id"]) == (number, None)
    assert row["received_at"] is not None
    contacts = (await company.send("GET", "/api/v1/contacts", params={"opted_out": "true"})).json()["contacts"]
    (contact,) = [one for one in contacts if one["id"] == row["id"]]
    path = f"/api/v1/contacts/{contact['uuid']}/opt_out_review"
    wrong = await company.send("POST", path, json={"opt_out": True, "numbers": "none"})
    assert (wrong.status_code, list(wrong.json()["errors"])) == (422, ["numbers"])
    decided = await company.send("POST", path, json={"opt_out": True, "numbers": [meant]})
    assert decided.status_code == 200, decided.text
    assert await opted_out(company, meant)
    assert await waiting(company) == []
    assert (await company.send("POST", path, json={"opt_out": True})).status_code == 404


async def test_who_is_on_a_suppression_list_is_so_in_any_form(town: Town, company: Company) -> None:
    number, _ = await known(town, company)
    one = (await company.send("POST", "/api/v1/suppression_lists", json={"name": "Not these"})).json()["suppression_list"]
    path = f"/api/v1/suppression_lists/{one['id']}/entries"

    added = await company.send(
        "POST", path, json={"entries": [{"caller_id": spoilt(number)}, {"caller_id": "212-555-XXXX"}]}
    )
    file = await company.send("POST", f"{path}/import", json={"content": "caller_id\n72345\n"})

    assert added.json()["suppression_batch"]["decided_count"] == 2, added.text
    assert (file.json()["suppression_import"]["bad_lines_count"], file.json()["suppression_import"]["decided_count"]) == (
        0,
        1,
    )
    assert set(await waiting(company)) == {"212-555-XXXX", "72345"}
    rows = (await company.send("GET", path)).json()["suppression_entries"]
    assert sorted(row["caller_id"] or "" for row in rows) == ["", "", number]
    gone = await company.send("POST", f"{path}/remove", json={"entries": [{"caller_id": "212-555-XXXX"}]})
    assert gone.json()["suppression_batch"]["decided_count"] == 1


async def test_numbers_go_with_an_opt_out_that_nobody_could_read_alone(town: Town, company: Company) -> None:
    number, _ = await known(town, company)

    refused = await company.send(
        "POST", f"/api/v1/contacts/{number}/opt_out_review", json={"opt_out": True, "numbers": number}
    )

    assert (refused.status_code, list(refused.json()["errors"])) == (422, ["numbers"])


async def test_those_that_wait_are_counted_by_reason_for_the_alert_and_those_decided_no_more(
    town: Town, company: Company
) -> None:
    meant, schedule = await known(town, company)
    before = await counted(town)

    await by_text(company, schedule["lead_token"], "72345")
    words = {"from": meant, "to": "+12125550188", "text_ref": f"unclear-{company.id}", "body": "do not text me so often"}
    assert (await company.send("POST", "/api/v1/texts/received", json=words)).status_code < 300
    rows = (await company.send("GET", QUEUE)).json()["opt_out_reviews"]
    assert [row["unread_number"] for row in rows].count(None) == 1, "the words are unclear"
    assert await counted(town) == {reason: count + 1 for reason, count in before.items()}

    contacts = (await company.send("GET", "/api/v1/contacts", params={"opted_out": "true"})).json()["contacts"]
    (unread,) = [one for one in contacts if one["unread_number"] == "72345"]
    path = f"/api/v1/contacts/{unread['uuid']}/opt_out_review"
    assert (await company.send("POST", path, json={"opt_out": True, "numbers": [meant]})).status_code == 200
    assert (await counted(town))["unread_number"] == before["unread_number"]


async def counted(town: Town) -> dict[str, float]:
    """Return the series as a projector shows it."""
    metrics = Metrics()
    reviews = metrics.opt_out_reviews
    await OptOutReviews(town.pool, lambda reason, waiting: reviews.labels(reason).set(waiting)).run()
    families = {family.name: family for family in text_string_to_metric_families(metrics.text().decode())}
    return {sample.labels["reason"]: sample.value for sample in families["leadclock_opt_out_reviews"].samples}
