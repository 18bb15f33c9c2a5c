"""Does a user get in with what the user set up, and nobody else, for as long as the user may?"""

import asyncio
import time
from datetime import timedelta
from typing import Any

import pytest
from pyotp import TOTP

from adapters.http.exchange.passwords import HASH_OF_NO_PASSWORD, PASSWORD_LENGTH_MAX, Passwords
from adapters.http.exchange.problems import ProblemError
from adapters.http.exchange.settings import HttpSettings
from adapters.reads.ports import SIGN_IN_LIMITS
from schemas.wire import digest
from tests.adapters.http.conftest import SECRET_KEY, basic, deployed

pytestmark = pytest.mark.asyncio(loop_scope="session")

PATH = "/api/v1/sessions"
USERS = "/api/v1/users"
ADA = "ada@example.com"
PASSWORD = "correct horse battery staple"


async def user(company: Any, email: str = ADA, **fields: Any) -> dict[str, Any]:
    made: dict[str, Any] = await company.record("users", {"name": "Ada", "email": email, "password": PASSWORD, **fields})
    return made


async def sign_in(town: Any, company: Any, **fields: Any) -> Any:
    """Sign in, from an address of this company's own: attempts are counted by address, too."""
    given = {"email": ADA, "password": PASSWORD, "company_id": company.id, **fields}
    return await town.client.post(PATH, json=given)


async def session(town: Any, company: Any, **fields: Any) -> dict[str, str]:
    answer = await sign_in(town, company, **fields)
    assert answer.status_code == 201, answer.text
    return {"Authorization": f"Bearer {answer.json()['session']['token']}"}


async def superusers(company: Any, *emails: str) -> None:
    await company.record("access_control_lists", {"name": "Owners", "users_emails": list(emails), "superuser": True})


async def get(town: Any, headers: dict[str, str], path: str = "/api/v1/leads") -> Any:
    return await town.client.get(path, headers=headers)


async def test_a_user_is_invited_becomes_active_with_a_password_and_never_shows_it(company: Any, other: Any) -> None:
    made = await company.record("users", {"name": "Ada", "email": "Ada@Example.com", "time_zone": "America/New_York"})
    assert made.items() >= {"email": ADA, "state": "invited", "has_password": False, "has_second_factor": False}.items()
    path = f"{USERS}/{made['id']}"
    changed = await company.send("PUT", path, json={"password": PASSWORD})
    assert (changed.json()["user"]["state"], changed.json()["user"]["has_password"]) == ("active", True)
    for answer in (changed, await company.send("GET", path), await company.send("GET", USERS)):
        assert "argon2" not in answer.text
        assert "hash" not in answer.text
        assert PASSWORD not in answer.text
    assert (await other.send("GET", path)).status_code == 404
    found = await company.send("GET", USERS, params={"fulltext": "ada@ex", "columns": "email"})
    assert found.json()["users"] == [{"email": ADA}]
    hidden = await company.send("GET", USERS, params={"columns": "password_hash"})
    assert hidden.json()["code"] == "validation_failed"
    assert (await company.send("GET", USERS, params={"order": "password_hash"})).json()["code"] == "validation_failed"
    assert (await company.send("GET", USERS, params={"fulltext": "argon2id"})).json()["users"] == []


@pytest.mark.parametrize("given", [{"password": "short"}, {"password": "x" * 129}, {"password": 123456789012}])
async def test_a_bad_password_is_reported_with_all_other_faults(company: Any, given: dict[str, Any]) -> None:
    answer = await company.send("POST", USERS, json={"name": "Ada", "email": "nobody", "state": "active", **given})
    assert (answer.status_code, sorted(answer.json()["errors"])) == (422, ["email", "password"]), answer.text


async def test_no_password_is_taken_from_the_address_of_a_request(town: Any, company: Any) -> None:
    made = await company.send("POST", USERS, params={"password": PASSWORD}, json={"name": "Ada", "email": ADA})
    assert (made.status_code, list(made.json()["errors"])) == (422, ["password"])
    await user(company)
    asked = await town.client.post(PATH, params={"password": PASSWORD}, json={"email": ADA, "company_id": company.id})
    assert (asked.status_code, list(asked.json()["errors"])) == (422, ["password"])


async def test_a_session_acts_with_the_teams_of_its_user_until_it_is_ended(town: Any, company: Any) -> None:
    await user(company)
    headers = await session(town, company)
    assert (await get(town, headers)).json()["detail"] == f"No team of {ADA} grants lead:read."
    fields = {"name": "Readers", "users_emails": [ADA], "permissions": {"lead": {"actions": ["read"]}}}
    await company.record("access_control_lists", fields)
    assert (await get(town, headers)).status_code == 200
    assert (await get(town, headers, "/api/v1/calls")).status_code == 403
    shown = (await get(town, headers, f"{PATH}/current")).json()["session"]
    assert (shown["email"], shown["company_id"], "token" in shown) == (ADA, company.id, False)
    assert (await town.client.delete(f"{PATH}/current", headers=headers)).status_code == 200
    assert (await get(town, headers)).json()["code"] == "unauthenticated"


async def test_changes_of_a_session_are_logged_under_the_name_of_its_user(town: Any, company: Any) -> None:
    await user(company)
    await superusers(company, ADA)
    headers = await session(town, company)
    made = await town.client.post("/api/v1/offers", headers=headers, json={"name": "Roofs"})
    assert made.status_code == 201, made.text
    logged = (await company.send("GET", "/api/v1/audit_logs", params={"record_type": "offer"})).json()["audit_logs"]
    assert [(one["actor"], one["key_id"], one["user_email"]) for one in logged] == [("session", None, ADA)]


async def test_a_token_is_only_taken_as_bearer_and_only_whole(town: Any, company: Any) -> None:
    await user(company)
    await superusers(company, ADA)
    headers = await session(town, company)
    session_id, _, secret = headers["Authorization"].removeprefix("Bearer ").partition(".")
    for refused in (
        basic(session_id, secret),
        {"Authorization": f"Bearer {session_id}.{secret[:-1]}"},
        {"Authorization": f"Bearer {session_id}."},
        {"Cookie": f"session={session_id}.{secret}"},
    ):
        assert (await get(town, refused)).status_code == 401, refused
    as_field = await town.client.get("/api/v1/leads", params={"auth_token": f"{session_id}.{secret}"})
    assert as_field.status_code == 401
    assert (await get(town, headers)).status_code == 200
    stored = str([list(row.values()) for row in await town.pool.fetch("SELECT * FROM work.sessions")])
    assert session_id in stored
    assert secret not in stored


async def test_whatever_is_wrong_the_answer_is_the_same(town: Any, company: Any, other: Any) -> None:
    await user(company)
    disabled = "grace@example.com"
    await user(company, disabled, state="disabled")
    await company.record("users", {"name": "I", "email": "invited@example.com"})
    wrong: list[dict[str, Any]] = [
        {"password": "wrong"},
        {"password": PASSWORD.upper()},
        {"email": "nobody@example.com"},
        {"email": disabled},
        {"email": "invited@example.com"},
        {"company_id": other.id},
        {"company_id": 999_999},
    ]
    answers = [await sign_in(town, company, **fields) for fields in wrong]
    assert {answer.status_code for answer in answers} == {401}
    problems = [{**answer.json(), "request_id": ""} for answer in answers]
    assert all(problem == problems[0] for problem in problems), problems
    missing = await town.client.post(PATH, json={})
    assert (missing.status_code, sorted(missing.json()["errors"])) == (422, ["company_id", "email", "password"])


async def test_a_disabled_user_loses_sessions_and_keys_at_once_and_a_deleted_one_for_good(town: Any, company: Any) -> None:
    made = await user(company)
    await superusers(company, ADA)
    key = await company.record("keys", {"name": "Ada's", "user_email": ADA})
    by_key = basic(key["public_key"], key["private_key"])
    headers = await session(town, company)
    assert [(await get(town, one)).status_code for one in (headers, by_key)] == [200, 200]
    await user(company, "grace@example.com")
    await superusers(company, "grace@example.com")
    path = f"{USERS}/{made['id']}"
    assert (await company.send("PUT", path, json={"state": "disabled"})).status_code == 200
    assert [(await get(town, one)).status_code for one in (headers, by_key)] == [401, 401]
    assert (await company.send("PUT", path, json={"state": "active"})).status_code == 200
    assert [(await get(town, one)).status_code for one in (headers, by_key)] == [401, 200], "the session was ended"
    headers = await session(town, company)
    assert (await company.send("DELETE", path)).status_code == 200
    assert [(await get(town, one)).status_code for one in (headers, by_key)] == [401, 401]


async def test_the_last_superuser_stays(town: Any, company: Any) -> None:
    made = await user(company)
    await superusers(company, ADA)
    headers = await session(town, company)
    for method, fields in (("DELETE", None), ("PUT", {"state": "disabled"})):
        answer = await town.client.request(method, f"{USERS}/{made['id']}", headers=headers, json=fields)
        assert (answer.status_code, answer.json()["code"]) == (409, "last_superuser"), answer.text


async def test_a_user_who_is_no_superuser_changes_no_user(town: Any, company: Any) -> None:
    made = await user(company)
    fields = {"name": "All", "users_emails": [ADA], "permissions": {"user": {"actions": ["read"]}}}
    await company.record("access_control_lists", fields)
    headers = await session(town, company)
    path = f"{USERS}/{made['id']}"
    assert (await get(town, headers, path)).status_code == 200
    for method, at in (("PUT", path), ("DELETE", path), ("POST", USERS)):
        answer = await town.client.request(method, at, headers=headers, json={"name": "x", "email": "x@example.com"})
        assert answer.json()["code"] == "forbidden", answer.text


async def test_a_new_password_ends_every_session_and_needs_the_old_one(town: Any, company: Any) -> None:
    await user(company)
    first, second = await session(town, company), await session(town, company)
    path, better = f"{PATH}/current/password", "a better one, and longer"
    wrong = await town.client.put(path, headers=first, json={"current_password": "wrong", "password": better})
    assert (wrong.status_code, list(wrong.json()["errors"])) == (422, ["current_password"])
    short = await town.client.put(path, headers=first, json={"current_password": PASSWORD, "password": "short"})
    assert (short.status_code, list(short.json()["errors"])) == (422, ["password"])
    changed = await town.client.put(path, headers=first, json={"current_password": PASSWORD, "password": better})
    assert changed.status_code == 200, changed.text
    assert better not in changed.text
    assert [(await get(town, one, f"{PATH}/current")).status_code for one in (first, second)] == [401, 401]
    assert (await sign_in(town, company)).status_code == 401
    assert (await sign_in(town, company, password=better)).status_code == 201
    assert (await company.send("PUT", path, json={})).json()["code"] == "forbidden"


async def test_a_second_factor_is_set_up_with_its_first_code_and_each_code_is_good_once(town: Any, company: Any) -> None:
    made = await user(company)
    headers, path = await session(town, company), f"{PATH}/current/second_factor"
    early = await town.client.put(path, headers=headers, json={"code": "123456"})
    assert (early.status_code, list(early.json()["errors"])) == (422, ["code"])
    assert (await town.client.post(path, headers=headers, json={"current_password": "wrong"})).status_code == 422
    begun = await town.client.post(path, headers=headers, json={"current_password": PASSWORD})
    factor = begun.json()["second_factor"]
    assert factor["seed"] in factor["uri"]
    wrong = await town.client.put(path, headers=headers, json={"code": "12345"})
    assert (wrong.status_code, list(wrong.json()["errors"])) == (422, ["code"])
    totp = TOTP(factor["seed"])
    code = totp.now()
    done = await town.client.put(path, headers=headers, json={"code": code})
    assert (done.status_code, done.json()["user"]["has_second_factor"]) == (200, True), done.text
    assert (await sign_in(town, company)).status_code == 401
    assert (await sign_in(town, company, code="000000")).status_code == 401
    assert (await sign_in(town, company, code=code)).status_code == 401, "the code was used to set the factor up"
    later = totp.at(int(time.time()), counter_offset=1)
    tries = await asyncio.gather(*(sign_in(town, company, code=later) for _ in range(2)))
    assert sorted(answer.status_code for answer in tries) == [201, 401], [answer.text for answer in tries]
    for place in ("users", "audit_logs"):
        assert factor["seed"] not in (await company.send("GET", f"/api/v1/{place}")).text
    removed = await company.send("PUT", f"{USERS}/{made['id']}", json={"remove_second_factor": True})
    assert removed.json()["user"]["has_second_factor"] is False
    assert (await sign_in(town, company)).status_code == 201


async def test_attempts_in_a_row_have_to_wait_known_user_or_not_and_a_good_one_forgets_them(town: Any, company: Any) -> None:
    await user(company)
    free = SIGN_IN_LIMITS["user"].free
    for email in (ADA, "nobody@example.com"):
        tries = [await sign_in(town, company, email=email, password="wrong") for _ in range(free + 1)]
        assert [answer.status_code for answer in tries] == [401] * free + [429]
        assert int(tries[-1].headers["retry-after"]) >= 1
    assert (await sign_in(town, company)).status_code == 429, "a guesser learns nothing by being right too early"
    await town.pool.execute("UPDATE work.sign_in_attempts SET last_at = last_at - interval '1 hour'")
    assert (await sign_in(town, company)).status_code == 201
    assert (await sign_in(town, company, password="wrong")).status_code == 401
    assert (await sign_in(town, company)).status_code == 201


async def test_many_attempts_at_once_are_all_counted(town: Any, company: Any) -> None:
    await user(company)
    tries = await asyncio.gather(*(sign_in(town, company, password="wrong") for _ in range(20)))
    codes = [answer.status_code for answer in tries]
    assert codes.count(401) == SIGN_IN_LIMITS["user"].free, codes
    await town.pool.execute("DELETE FROM work.sign_in_attempts")


async def test_a_session_ends_unused_after_an_hour_and_in_use_after_twelve(town: Any, company: Any) -> None:
    await user(company)
    idle, old = await session(town, company), await session(town, company)
    for headers, column in ((idle, "seen_at"), (old, "created_at")):
        session_id = headers["Authorization"].removeprefix("Bearer ").partition(".")[0]
        span = {"seen_at": timedelta(hours=1), "created_at": timedelta(hours=12)}[column]
        moved = f"UPDATE work.sessions SET {column} = clock_timestamp() - $2::interval WHERE id = $1"  # noqa: S608 - ours
        await town.pool.execute(moved, session_id, span - timedelta(minutes=5))
        assert (await get(town, headers, f"{PATH}/current")).status_code == 200
        await town.pool.execute(moved, session_id, span)
        assert (await get(town, headers, f"{PATH}/current")).status_code == 401


async def test_a_host_names_the_company_and_no_other_can_be_asked_for(migrated_database: str) -> None:
    settings = HttpSettings(secret_key=SECRET_KEY, wait_seconds=30.0, rates={}, hosts={"leadclock.test": 1, "b.test": 2})
    async with deployed(migrated_database, settings) as town:
        first = await town.company()
        second = await town.company()
        await user(first)
        given = {"email": ADA, "password": PASSWORD}
        answer = await town.client.post(PATH, json=given)
        assert (answer.status_code, answer.json()["session"]["company_id"]) == (201, first.id)
        headers = {"Authorization": f"Bearer {answer.json()['session']['token']}"}
        assert (await get(town, headers, f"{PATH}/current")).status_code == 200
        assert (await get(town, {**headers, "Host": "b.test"}, f"{PATH}/current")).status_code == 401
        assert (await town.client.post(PATH, json={**given, "company_id": second.id})).status_code == 401
        assert (await town.client.post(PATH, json=given, headers={"Host": "b.test"})).status_code == 401


async def test_dates_are_of_the_users_own_zone(town: Any, company: Any) -> None:
    await user(company, time_zone="Pacific/Auckland")
    await superusers(company, ADA)
    headers = await session(town, company)
    made = await company.schedule()
    fields = {"lead_token": made["lead_token"], "caller_id": "+13055550142"}
    await company.send("POST", "/api/v1/leads", json=fields)
    # 17:00 UTC of 17 June is 05:00 of the 18th in Auckland.
    found = {"created_at_from": "2026-06-18", "created_at_to": "2026-06-19"}
    theirs = await town.client.get("/api/v1/leads", headers=headers, params=found)
    assert [len(one.json()["leads"]) for one in (theirs, await company.send("GET", "/api/v1/leads", params=found))] == [1, 0]


async def test_a_repeated_request_with_a_password_keeps_no_hash_that_could_be_guessed(town: Any, company: Any) -> None:
    for _ in range(2):
        headers = {"Idempotency-Key": "one user"}
        answer = await company.send("POST", USERS, headers=headers, json={"name": "Ada", "email": ADA, "password": PASSWORD})
        assert answer.status_code == 201, answer.text
    other_password = {"name": "Ada", "email": ADA, "password": PASSWORD + "x"}
    conflict = await company.send("POST", USERS, headers={"Idempotency-Key": "one user"}, json=other_password)
    assert conflict.json()["code"] == "idempotency_conflict"
    sent = answer.request
    plain = digest(b"POST", USERS.encode(), b"", sent.content)
    kept = await town.pool.fetchval("SELECT digest FROM work.idempotency_keys WHERE company_id = $1", company.id)
    assert kept != plain


async def test_passwords_in_line_are_bounded_and_spelt_in_one_way() -> None:
    passwords = Passwords()
    hashed = await passwords.hash("caf\u00e9 au lait, s'il vous pla\u00eet")
    assert await passwords.is_right("cafe\u0301 au lait, s'il vous plai\u0302t", hashed)
    assert not await passwords.is_right("cafe au lait, s'il vous plait", hashed)
    assert not await passwords.is_right("x" * PASSWORD_LENGTH_MAX, None)
    assert hashed.split("$")[1:4] == HASH_OF_NO_PASSWORD.split("$")[1:4], "nobody's hash costs as much as anybody's"
    found = await asyncio.gather(*(passwords.is_right("x", None) for _ in range(60)), return_exceptions=True)
    refused = [one for one in found if isinstance(one, ProblemError)]
    assert {one.code for one in refused} == {"rate_limited"}
    assert 0 < len(refused) < len(found)


async def test_answers_name_the_user_who_asked(town: Any, company: Any) -> None:
    ada = await user(company)
    await superusers(company, ADA)
    headers = await session(town, company)

    async def made(collection: str, root: str, **fields: Any) -> dict[str, Any]:
        answer = await town.client.post(f"/api/v1/{collection}", headers=headers, json=fields)
        assert answer.status_code in {200, 201}, answer.text
        shown: dict[str, Any] = answer.json()[root]
        return shown

    assert (await made("agent_messages", "agent_message", content="Hello"))["user_id"] == ada["id"]
    assert (await made("unblock_contact_jobs", "unblock_contact_job", confirm_all=True))["user_id"] == ada["id"]
    assert (await made("buyer_groups", "buyer_group", name="Closers", paused=True))["paused_by_user_id"] == ada["id"]
    agent = await made("agents", "agent", name="Grace")
    status = await made("agent_statuses", "agent_status", name="Available", key="available")
    await made("agent_statuses/set", "agent", collaborator_id=agent["id"], agent_status_id=status["id"])
    listed = await get(town, headers, "/api/v1/agent_status_timestamps")
    assert [row["user_id"] for row in listed.json()["agent_status_timestamps"]] == [ada["id"]]
    logged = await get(town, headers, "/api/v1/audit_logs?per_page=1")
    assert logged.json()["audit_logs"][0]["user_email"] == ADA
