"""Does the link of an invitation set a password once, in time and for its user alone?"""

import asyncio
import re
from typing import Any

import pytest
from msgspec.structs import replace

from adapters.http.sign_in.invitations import ACCEPT_PATH, HOURS_MAX, PATH
from engine.submission.fields import parse_moment
from schemas.instant import HOUR
from tests.adapters.http.conftest import UNLIMITED, deployed
from tests.adapters.http.test_sign_in import ADA, PASSWORD, USERS, sign_in, superusers
from tests.adapters.http.test_teams import person, team

pytestmark = pytest.mark.asyncio(loop_scope="session")


@pytest.fixture(autouse=True)
def mail(town: Any) -> Any:
    """The mail server, which is not set up before a test says so."""
    town.mail.is_set_up, town.mail.is_away = False, False
    town.mail.sent.clear()
    return town.mail


async def invited(company: Any, **fields: Any) -> dict[str, Any]:
    answer = await company.send("POST", PATH, json={"email": ADA, **fields})
    assert answer.status_code == 201, answer.text
    assert answer.headers["Cache-Control"] == "no-store"
    made: dict[str, Any] = answer.json()["invitation"]
    return made


async def accept(town: Any, token: str, password: str = PASSWORD) -> Any:
    await town.pool.execute("DELETE FROM work.sign_in_attempts")  # all tests come from one address
    return await town.client.post(ACCEPT_PATH, json={"token": token, "password": password})


async def test_a_link_is_shown_once_and_sets_the_password_once(town: Any, company: Any) -> None:
    made = await invited(company, name="Ada")
    assert made["sent"] is False
    assert made["url"] == f"https://leads.example.com/invitation#{made['token']}"
    shown = (await company.send("GET", f"{USERS}/{made['user_id']}")).json()["user"]
    assert (shown["name"], shown["email"], shown["state"]) == ("Ada", ADA, "invited")
    assert parse_moment(shown["invitation_expires_at"]) == parse_moment(made["expires_at"])
    listed = await company.send("GET", USERS)
    assert made["token"].partition(".")[2] not in listed.text
    assert "sha256" not in listed.text
    answer = await accept(town, made["token"])
    assert (answer.status_code, answer.json()["user"]["state"]) == (200, "active"), answer.text
    assert answer.json()["user"]["invitation_expires_at"] is None
    assert (await sign_in(town, company)).status_code == 201
    again = await accept(town, made["token"], "another good password")
    assert (again.status_code, again.json()["code"]) == (403, "forbidden")
    assert (await sign_in(town, company)).status_code == 201  # the first one holds
    (logged, *_) = (await company.send("GET", "/api/v1/audit_logs")).json()["audit_logs"]
    assert (logged["actor"], logged["user_email"], logged["record_id"]) == ("invitation", ADA, made["user_id"])


async def test_a_link_is_emailed_and_not_shown_where_there_is_a_mail_server(town: Any, company: Any, mail: Any) -> None:
    mail.is_set_up = True
    made = await invited(company)
    assert (made["sent"], made["token"], made["url"]) == (True, None, None)
    ((to, subject, body),) = mail.sent
    assert (to, subject) == (ADA, f"Invitation to Company {company.id}")
    (token,) = re.findall(r"https://leads\.example\.com/invitation#(\S+)", body)
    assert (await accept(town, token)).status_code == 200
    assert (await sign_in(town, company)).status_code == 201


async def test_a_mail_server_that_is_away_leaves_the_link_to_who_invites(town: Any, company: Any, mail: Any) -> None:
    mail.is_set_up, mail.is_away = True, True
    made = await invited(company)
    assert made["sent"] is False
    assert (await accept(town, made["token"])).status_code == 200


async def test_a_user_who_is_there_sets_another_password(town: Any, company: Any) -> None:
    made = await company.record("users", {"name": "Ada", "email": ADA, "password": PASSWORD})
    first = await invited(company)
    assert first["user_id"] == made["id"]
    assert (await sign_in(town, company)).status_code == 201  # the password holds until the link is used
    second = await invited(company)
    assert (await accept(town, first["token"])).status_code == 403  # replaced
    assert (await accept(town, second["token"], "a better one, and longer")).status_code == 200
    assert (await sign_in(town, company)).status_code == 401
    assert (await sign_in(town, company, password="a better one, and longer")).status_code == 201


async def test_of_two_who_use_a_link_at_once_one_sets_the_password(town: Any, company: Any) -> None:
    made = await invited(company)
    passwords = ["the first of two passwords", "the second of two passwords"]
    answers = await asyncio.gather(*(accept(town, made["token"], password) for password in passwords))
    codes = sorted(answer.status_code for answer in answers)
    assert codes[0] == 200
    assert codes[1] in {403, 409}
    found = [(await sign_in(town, company, password=password)).status_code for password in passwords]
    assert sorted(found) == [201, 401]


async def test_an_invitation_ends_in_time_with_its_user_and_with_another_address(town: Any, company: Any) -> None:
    for change in ({"state": "disabled"}, {"email": "other@example.com"}):
        made = await invited(company)
        path = f"{USERS}/{made['user_id']}"
        assert (await company.send("PUT", path, json=change)).status_code == 200
        assert (await accept(town, made["token"])).status_code == 403, change
        await company.send("DELETE", path)
    made = await invited(company, expires_in_hours=1)
    now = town.context.clock.now()
    assert now < parse_moment(made["expires_at"]) <= now + HOUR
    await company.send("DELETE", f"{USERS}/{made['user_id']}")
    assert (await accept(town, made["token"])).status_code == 403


@pytest.mark.parametrize("token", ["", "iv_1.short", "iv_0.x", f"iv_1.{'A' * 43}", f"iv_{'9' * 16}.{'A' * 43}", "ss_1.x"])
async def test_a_token_of_no_invitation_is_refused(town: Any, company: Any, token: str) -> None:
    await invited(company)
    answer = await accept(town, token)
    assert answer.status_code == (403 if token else 422), answer.text


async def test_bad_fields_are_refused_together(town: Any, company: Any) -> None:
    given = {"email": "ada", "expires_in_hours": HOURS_MAX + 1}
    answer = await company.send("POST", PATH, json=given)
    assert (answer.status_code, sorted(answer.json()["errors"])) == (422, sorted(given))
    user = await company.record("users", {"name": "Ada", "email": ADA, "state": "disabled"})
    refused = await company.send("POST", PATH, json={"email": ADA.upper()})
    assert (refused.status_code, list(refused.json()["errors"])) == (422, ["email"]), user
    made = await invited(company, email="grace@example.com")
    bad = await accept(town, made["token"], "short")
    assert (bad.status_code, list(bad.json()["errors"])) == (422, ["password"])
    in_query = await town.client.post(ACCEPT_PATH, params={"token": made["token"]}, json={"password": PASSWORD})
    assert (in_query.status_code, list(in_query.json()["errors"])) == (422, ["token"])


async def test_superusers_and_the_company_alone_invite(town: Any, company: Any) -> None:
    permissions = {"user": {"actions": ["read"]}, "lead": {"actions": ["read"]}}
    await team(company, permissions=permissions)
    ada = await person(town, company)
    assert (await ada.send("POST", PATH, json={"email": "grace@example.com"})).status_code == 403
    await superusers(company, ADA)
    await town.context.rules.refresh()
    assert (await ada.send("POST", PATH, json={"email": "grace@example.com"})).status_code == 201


async def test_an_invitation_is_for_its_company_alone(town: Any, company: Any, other: Any) -> None:
    mine, theirs = await invited(company), await invited(other)
    assert mine["user_id"] != theirs["user_id"]
    assert (await accept(town, mine["token"])).status_code == 200
    assert (await sign_in(town, other)).status_code == 401
    assert (await sign_in(town, company)).status_code == 201


async def test_a_repeat_of_the_request_makes_no_further_link(company: Any, mail: Any) -> None:
    mail.is_set_up = True
    headers = {"Idempotency-Key": f"invite-{company.id}"}
    for _ in range(2):
        answer = await company.send("POST", PATH, json={"email": ADA}, headers=headers)
        assert answer.status_code == 201, answer.text
        assert answer.json()["invitation"]["token"] is None
    assert len(mail.sent) == 1


async def test_the_page_of_a_link_loads_its_own_files_alone(town: Any) -> None:
    page = await town.client.get("/invitation")
    assert page.status_code == 200
    assert "default-src 'none'" in page.headers["Content-Security-Policy"]
    assert "frame-ancestors 'none'" in page.headers["Content-Security-Policy"]
    named = re.findall(r'(?:src|href)="([^"]+)"', page.text)
    assert len(named) == 2
    for path in named:
        assert (await town.client.get(path)).status_code == 200, path
    assert ACCEPT_PATH in (await town.client.get("/invitation/page.js")).text


async def test_a_link_leads_to_the_host_of_its_company_and_is_good_there_alone(migrated_database: str) -> None:
    hosts = {"leadclock.test": 1, "sunny.example.com": 1, "shady.example.com": 2}
    async with deployed(migrated_database, replace(UNLIMITED, hosts=hosts, public_url="")) as town:
        ours, _ = await town.company(), await town.company()
        made = await invited(ours)
        assert made["url"] == f"https://leadclock.test/invitation#{made['token']}"
        body = {"token": made["token"], "password": PASSWORD}
        for host, status in (("shady.example.com", 403), ("sunny.example.com", 200)):
            answer = await town.client.post(ACCEPT_PATH, json=body, headers={"Host": host})
            assert answer.status_code == status, answer.text


async def test_without_a_public_address_the_token_alone_is_shown(migrated_database: str) -> None:
    async with deployed(migrated_database, replace(UNLIMITED, public_url="")) as town:
        town.mail.is_set_up = True
        made = await invited(await town.company())
        assert (made["sent"], made["url"]) == (False, None)
        assert made["token"].startswith("iv_")
