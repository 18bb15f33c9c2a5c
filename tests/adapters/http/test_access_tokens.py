"""Does a token of a user do what the user may, for as long as the user may, and is it the user's alone?"""

from typing import Any

import pytest

from adapters.http.exchange.key_uses import KeyUses
from adapters.http.sign_in.access_tokens import TOKENS_MAX
from adapters.postgres.sign_ins import PostgresSignIns
from adapters.reads.ports import ReadsUnavailableError
from tests.adapters.http.test_sign_in import ADA, USERS, get, session, superusers, user

pytestmark = pytest.mark.asyncio(loop_scope="session")

PATH = "/api/v1/access_tokens"
GRACE = "grace@example.com"
FIELDS = {"name": "Laptop", "expires_at": "2026-12-31 00:00:00 +0000"}


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


async def made(town: Any, headers: dict[str, str], **fields: Any) -> dict[str, Any]:
    answer = await town.client.post(PATH, headers=headers, json={**FIELDS, **fields})
    assert answer.status_code == 201, answer.text
    found: dict[str, Any] = answer.json()["access_token"]
    return found


async def listed(town: Any, headers: dict[str, str]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = (await get(town, headers, PATH)).json()["access_tokens"]
    return found


async def test_a_token_does_what_the_teams_of_its_user_grant_and_no_more(town: Any, company: Any) -> None:
    await user(company)
    headers = await session(town, company)
    token = bearer((await made(town, headers))["token"])
    assert (await get(town, token)).json()["detail"] == f"No team of {ADA} grants lead:read."
    fields = {"name": "Readers", "users_emails": [ADA], "permissions": {"lead": {"actions": ["read"]}}}
    await company.record("access_control_lists", fields)
    assert [(await get(town, token, path)).status_code for path in ("/api/v1/leads", "/api/v1/calls")] == [200, 403]
    assert (await town.client.post(PATH, headers=token, json=FIELDS)).json()["code"] == "forbidden"


async def test_a_token_is_shown_once_and_says_when_it_was_used(town: Any, company: Any) -> None:
    await user(company)
    await superusers(company, ADA)
    headers = await session(town, company)
    token = await made(town, headers)
    (shown,) = await listed(town, headers)
    assert (shown["id"], shown["last_used_at"], "token" in shown) == (token["id"], None, False)
    assert (await get(town, bearer(token["token"]))).status_code == 200
    (shown,) = await listed(town, headers)
    assert shown["last_used_at"] is not None
    private_key = token["token"].partition(".")[2]
    stored = [list(row.values()) for row in await town.pool.fetch("SELECT * FROM read.records")]
    assert private_key not in str(stored)


async def test_a_token_is_its_users_alone_and_is_out_of_use_when_deleted(town: Any, company: Any, other: Any) -> None:
    await user(company)
    await user(company, GRACE)
    await user(other)
    headers = await session(town, company)
    token = await made(town, headers)
    for stranger in (await session(town, company, email=GRACE), await session(town, other)):
        assert await listed(town, stranger) == []
        refused = await town.client.delete(f"{PATH}/{token['id']}", headers=stranger)
        assert (refused.status_code, refused.json()["code"]) == (404, "not_found")
    assert (await get(town, bearer(token["token"]))).status_code == 403
    assert (await town.client.delete(f"{PATH}/{token['uuid']}", headers=headers)).status_code == 200
    assert (await get(town, bearer(token["token"]))).status_code == 401
    assert await listed(town, headers) == []


async def test_a_token_ends_with_its_user(town: Any, company: Any) -> None:
    ada = await user(company)
    await company.record(
        "access_control_lists", {"name": "R", "users_emails": [ADA], "permissions": {"lead": {"actions": ["read"]}}}
    )
    token = bearer((await made(town, await session(town, company)))["token"])
    assert (await get(town, token)).status_code == 200
    assert (await company.send("PUT", f"{USERS}/{ada['id']}", json={"state": "disabled"})).status_code == 200
    assert (await get(town, token)).status_code == 401


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"name": ""}, "name"),
        ({"expires_at": None}, "expires_at"),
        ({"expires_at": "2026-06-01 00:00:00 +0000"}, "expires_at"),
        ({"expires_at": "2028-01-01 00:00:00 +0000"}, "expires_at"),
        ({"scopes": ["lead:read"]}, "scopes"),
    ],
)
async def test_a_bad_token_is_refused_by_the_name_of_its_field(
    town: Any, company: Any, fields: dict[str, Any], field: str
) -> None:
    await user(company)
    headers = await session(town, company)
    answer = await town.client.post(PATH, headers=headers, json={**FIELDS, **fields})
    assert (answer.status_code, list(answer.json()["errors"])) == (422, [field]), answer.text


async def test_tokens_of_a_user_are_bounded(town: Any, company: Any) -> None:
    await user(company)
    headers = await session(town, company)
    for number in range(TOKENS_MAX):
        await made(town, headers, name=f"Token {number}")
    assert (await town.client.post(PATH, headers=headers, json=FIELDS)).status_code == 422


async def test_use_is_noted_once_a_minute_and_a_database_that_is_away_keeps_no_one_out(town: Any) -> None:
    noted: list[int] = []

    class SignIns(PostgresSignIns):
        async def note_use(self, company_id: int, key_id: int) -> None:
            noted.append(key_id)
            if company_id == 2:
                raise ReadsUnavailableError("away")

    now = [0.0]
    uses = KeyUses(SignIns(town.pool), lambda: now[0])
    for at in (0.0, 59.0, 60.0):
        now[0] = at
        await uses.note(1, 7)
    await uses.note(2, 8)
    assert noted == [7, 7, 8]
