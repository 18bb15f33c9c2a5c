"""Is a key in the address taken, where senders cannot set headers, said nowhere again, and warned of in each answer?"""

from typing import Any

import pytest

from adapters.http.exchange.exchange import KEY_IN_ADDRESS
from adapters.http.exchange.headers import WARNING
from tests.adapters.http.conftest import Company, Town
from tests.adapters.http.test_teams import lead_of

pytestmark = pytest.mark.asyncio(loop_scope="session")

LEADS = "/api/v1/leads"


def key_of(company: Company) -> str:
    return f"{company.public_key}.{company.private_key}"


async def asked(company: Company, method: str, path: str, key: str, **more: Any) -> Any:
    """Send a request with the key in its address alone; hold that the answer says nothing of it but the warning."""
    answer = await company.town.client.request(method, f"{path}{'&' if '?' in path else '?'}auth_token={key}", **more)
    said = answer.text + str(answer.headers.raw)
    assert company.private_key not in said, answer.text
    assert answer.headers[WARNING] == KEY_IN_ADDRESS
    return answer


async def test_a_key_in_the_address_is_taken_and_warned_of_in_header_and_body(company: Company) -> None:
    schedule = await company.schedule()
    body = {"lead_token": schedule["lead_token"], "caller_id": "+13055550142", "lead_priority": "3"}
    made = await asked(company, "POST", LEADS, key_of(company), json=body)
    assert (made.status_code, made.json()["warnings"]) == (201, [KEY_IN_ADDRESS])
    lead_id = made.json()["lead"]["id"]
    assert made.json()["lead"]["lead_priority"] == 3.0  # counted as sent with a key
    changed = await asked(company, "PUT", f"{LEADS}/{lead_id}", key_of(company), data={"full_name": "Ann"})
    assert (changed.status_code, changed.json()["lead"]["full_name"]) == (200, "Ann")
    for path in (f"{LEADS}/{lead_id}", LEADS, f"{LEADS}.csv", f"{LEADS}?root=false", f"{LEADS}?per_page=1&page=1"):
        assert (await asked(company, "GET", path, key_of(company))).status_code == 200, path


@pytest.mark.parametrize("name", ["Auth_Token", "AUTH_TOKEN"])
async def test_a_key_under_a_name_in_capitals_is_a_key_and_no_token_of_the_lead(
    town: Town, company: Company, name: str
) -> None:
    schedule = await company.schedule()
    body = {"lead_token": schedule["lead_token"], "caller_id": "+13055550142"}
    in_address = await town.client.post(f"{LEADS}?{name}={key_of(company)}", json=body)
    in_body = await town.client.post(LEADS, json={**body, "caller_id": "+13055550143", name: key_of(company)})
    for answer in (in_address, in_body):
        assert (answer.status_code, answer.json()["lead"]["data"]) == (201, {}), answer.text
        assert company.private_key not in answer.text
    assert (WARNING in in_address.headers, WARNING in in_body.headers) == (True, False)


@pytest.mark.parametrize(
    ("path", "status"),
    [(f"{LEADS}?per_page=0", 422), (f"{LEADS}?nonsense=1", 422), (f"{LEADS}/1", 404), ("/api/v1/buyers", 401)],
)
async def test_a_refusal_warns_as_well_and_repeats_no_key(company: Company, path: str, status: int) -> None:
    assert (await asked(company, "GET", path, key_of(company))).status_code == status


async def test_a_wrong_key_in_the_address_is_refused_and_warned_of(company: Company) -> None:
    assert (await asked(company, "GET", LEADS, f"{key_of(company)}x")).status_code == 401


async def test_a_company_may_refuse_keys_outside_the_header(company: Company) -> None:
    changed = await company.send("PUT", "/api/v1/company", json={"allow_auth_token": False})
    assert changed.status_code == 200, changed.text
    refused = await asked(company, "GET", LEADS, key_of(company))
    assert (refused.status_code, "Authorization header only" in refused.json()["detail"]) == (401, True)


async def test_a_link_to_the_next_page_has_no_key(company: Company) -> None:
    schedule = await company.schedule()
    for number in ("+13055550142", "+13055550143"):
        await lead_of(company, schedule, number)
    answer = await asked(company, "GET", f"{LEADS}?per_page=1&page=1&root=false", key_of(company))
    assert "auth_token" not in answer.headers["Link"]


async def test_a_key_in_the_header_or_the_body_is_not_warned_of(town: Town, company: Company) -> None:
    schedule = await company.schedule()
    assert WARNING not in (await company.send("GET", f"{LEADS}?fulltext=auth_token")).headers
    body = {"lead_token": schedule["lead_token"], "caller_id": "+13055550142", "auth_token": key_of(company)}
    made = await town.client.post(LEADS, json=body)
    assert (made.status_code, WARNING in made.headers, "warnings" in made.json()) == (201, False, False), made.text
