"""Is a password refused that a guesser tries first, wherever a user gets one, and no other?"""

from typing import Any

import httpx
import pytest

from adapters.http.exchange.frequent_passwords import DIGEST_BYTES, FREQUENT, LIST, OWN, fault_of
from tests.adapters.http.conftest import basic
from tests.adapters.http.test_sign_in import ADA, PASSWORD, USERS, session, user

pytestmark = pytest.mark.asyncio(loop_scope="session")

KNOWN = ("ada.lovelace@example.com", "Sunny Solar")

TABLE: dict[str, str | None] = {
    "Password1234!": FREQUENT,
    "P@ssw0rd2024!!": FREQUENT,
    "PASSWORDPASSWORD": FREQUENT,
    "1qaz2wsx3edc": FREQUENT,
    "sunshine2024!": FREQUENT,
    "!!!letmein!!!": FREQUENT,
    "drowssap1234": FREQUENT,
    "123456789012": FREQUENT,
    "098765432109": FREQUENT,
    "aaaaaaaaaaaa": FREQUENT,
    "abcabcabcabc": FREQUENT,
    "abcdefghijklm": FREQUENT,
    "qwertyuiopas": FREQUENT,
    "poiuytrewqpo": FREQUENT,
    "\uff50\uff41\uff53\uff53\uff57\uff4f\uff52\uff441234": FREQUENT,
    "ada.lovelace@example.com": OWN,
    "AdaLovelace!!1": OWN,
    "Lovelace-2024": OWN,
    "sunnysolar2024": OWN,
    "Sunny Solar!!": OWN,
    "correct horse battery staple": None,
    "blue-kettle-in-the-rain": None,
    "a sunny day and seven ducks": None,
    "gT7#kk2-pQz9": None,
}


@pytest.mark.parametrize("password", sorted(TABLE))
async def test_a_password_that_is_guessed_first_is_refused_and_no_other(password: str) -> None:
    assert fault_of(password, KNOWN) == TABLE[password]


async def test_the_list_holds_ten_thousand_digests_in_order() -> None:
    content = LIST.read_bytes()
    digests = [content[start : start + DIGEST_BYTES] for start in range(0, len(content), DIGEST_BYTES)]
    assert len(digests) > 10_000
    assert digests == sorted(set(digests))


@pytest.mark.parametrize("password", ["Password1234!", "grace.hopper!1"])
async def test_no_user_gets_such_a_password_in_any_way(town: Any, company: Any, password: str) -> None:
    grace = {"name": "Grace", "email": "grace.hopper@example.com"}
    refused = await company.send("POST", USERS, json={**grace, "password": password})
    assert (refused.status_code, list(refused.json()["errors"])) == (422, ["password"]), refused.text
    made = await company.record("users", grace)
    changed = await company.send("PUT", f"{USERS}/{made['id']}", json={"password": password})
    assert (changed.status_code, list(changed.json()["errors"])) == (422, ["password"]), changed.text
    await company.send("PUT", f"{USERS}/{made['id']}", json={"password": PASSWORD})
    headers = await session(town, company, email=grace["email"])
    given = {"current_password": PASSWORD, "password": password}
    own = await town.client.put("/api/v1/sessions/current/password", headers=headers, json=given)
    assert (own.status_code, list(own.json()["errors"])) == (422, ["password"]), own.text


async def test_a_stranger_who_errs_on_purpose_does_not_keep_the_user_out(town: Any, company: Any) -> None:
    """Wrong passwords are counted for a user and an address together, and for an address."""
    await user(company)
    wrong = {"email": ADA, "password": "wrong horse battery staple", "company_id": company.id}
    tried = [(await town.client.post("/api/v1/sessions", json=wrong)).status_code for _ in range(7)]
    assert tried == [401] * 5 + [429] * 2
    elsewhere = httpx.ASGITransport(app=town.app, client=("203.0.113.77", 4711))
    async with httpx.AsyncClient(transport=elsewhere, base_url="http://leadclock.test") as client:
        answer = await client.post("/api/v1/sessions", json={**wrong, "password": PASSWORD})
    own = await town.client.post("/api/v1/sessions", json={**wrong, "password": PASSWORD})
    assert (answer.status_code, own.status_code) == (201, 429)


async def test_who_may_not_make_a_key_may_not_change_or_delete_it(town: Any, company: Any) -> None:
    strong = await company.record("keys", {"name": "all"})
    weak = await company.record("keys", {"name": "few", "scopes": ["api_key:*", "lead:read"]})
    equal = await company.record("keys", {"name": "less", "scopes": ["lead:read"]})
    await town.context.rules.refresh()
    headers = basic(weak["public_key"], weak["private_key"])
    changes: list[tuple[str, dict[str, Any] | None]] = [("DELETE", None), ("PUT", {"name": "mine"})]
    changes += [("PUT", {"revoked_at": "2026-01-01"}), ("PUT", {"scopes": ["lead:read"]})]
    for method, body in changes:
        answer = await town.client.request(method, f"/api/v1/keys/{strong['id']}", headers=headers, json=body)
        assert answer.status_code == 403, (method, body, answer.text)
        assert (await company.send("GET", f"/api/v1/keys/{strong['id']}")).status_code == 200
    assert (await town.client.delete(f"/api/v1/keys/{equal['id']}", headers=headers)).status_code == 200
    assert (await company.send("DELETE", f"/api/v1/keys/{weak['id']}")).status_code == 200
