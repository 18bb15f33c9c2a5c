"""May a page post impressions with the public half of a key, if the key has its origin, and do nothing else with it?"""

import asyncio
from typing import Any

import pytest

from adapters.clock import wall_now
from schemas.instant import to_rfc3339
from tests.adapters.http.conftest import WAIT_SECONDS

pytestmark = pytest.mark.asyncio(loop_scope="session")

PATH = "/api/v1/impressions/from_page"
ORIGIN = "https://www.example.com"


async def key_of(company: Any, **fields: Any) -> Any:
    given = {"name": "page", "scopes": ["impression:create"], "origins": [ORIGIN], **fields}
    made = await company.record("keys", given)
    await company.town.context.rules.refresh()
    return made


async def post(town: Any, public: str, body: Any, *, origin: str | None = ORIGIN, **headers: str) -> Any:
    given = {**({} if origin is None else {"Origin": origin}), "User-Agent": "Browser/1", **headers}
    return await town.client.post(PATH, params={"publishable_key": public}, json=body, headers=given)


async def listed(company: Any, count: int) -> list[dict[str, Any]]:
    async with asyncio.timeout(WAIT_SECONDS):
        while True:
            rows: list[dict[str, Any]] = (await company.send("GET", "/api/v1/impressions")).json()["impressions"]
            if len(rows) >= count:
                return rows
            await asyncio.sleep(0.02)


async def test_a_page_of_the_origin_posts_and_reads_the_answer(town: Any, company: Any) -> None:
    public = (await key_of(company))["public_key"]
    stored = await post(town, public, {"visitor_id": "v-1", "page_url": f"{ORIGIN}/a"})
    assert stored.status_code == 201, stored.text
    assert (stored.headers["access-control-allow-origin"], stored.headers["vary"]) == (ORIGIN, "Origin")
    several = await post(town, public, {"impressions": [{"visitor_id": "v-2"}, {"visitor_id": "v-3"}]})
    assert len(several.json()["impressions"]) == 2
    rows = await listed(company, 3)
    assert {row["visitor_id"] for row in rows} == {"v-1", "v-2", "v-3"}
    assert {(row["ip"], row["user_agent"]) for row in rows} == {("127.0.0.0/24", "Browser/1")}


async def test_a_form_has_no_preflight_and_may_have_the_key_beside_its_fields(town: Any, company: Any) -> None:
    form = {"publishable_key": (await key_of(company))["public_key"], "visitor_id": "v-1"}
    stored = await town.client.post(PATH, data=form, headers={"Origin": ORIGIN})
    assert (stored.status_code, stored.headers["access-control-allow-origin"]) == (201, ORIGIN)
    assert (await town.client.post(PATH, data=form, headers={"Origin": "https://evil.example"})).status_code == 422


async def test_the_preflight_is_answered_for_the_origins_of_the_key_alone(town: Any, company: Any) -> None:
    public = (await key_of(company))["public_key"]
    asked = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "content-type"}
    yes = await town.client.options(PATH, params={"publishable_key": public}, headers={**asked, "Origin": ORIGIN})
    assert yes.status_code == 204
    assert yes.headers["access-control-allow-origin"] == ORIGIN
    assert yes.headers["access-control-allow-methods"] == "POST"
    assert yes.headers["access-control-allow-headers"] == "Content-Type"
    for path, key, origin in (
        (PATH, public, "https://evil.example"),
        (PATH, public, "null"),
        (PATH, "pk_unknown", ORIGIN),
        (PATH, "", ORIGIN),
        ("/api/v1/impressions", public, ORIGIN),
        ("/api/v1/leads", public, ORIGIN),
    ):
        no = await town.client.options(path, params={"publishable_key": key}, headers={**asked, "Origin": origin})
        assert "access-control-allow-origin" not in no.headers, (path, key, origin)


async def test_another_origin_or_key_is_refused_with_one_text(town: Any, company: Any) -> None:
    page = (await key_of(company))["public_key"]
    server = (await key_of(company, origins=[]))["public_key"]
    reader = (await key_of(company, scopes=["impression:read"]))["public_key"]
    over = (await key_of(company, expires_at="2026-01-01T00:00:00Z"))["public_key"]
    revoked = (await key_of(company, revoked_at="2026-01-01T00:00:00Z"))["public_key"]
    answers = [
        await post(town, public, {"visitor_id": "v"}, origin=origin)
        for public, origin in (
            (page, "https://evil.example"),
            (page, "http://www.example.com"),
            (page, f"{ORIGIN}.evil.example"),
            (page, None),
            (server, ORIGIN),
            (reader, ORIGIN),
            (over, ORIGIN),
            (revoked, ORIGIN),
            ("pk_unknown", ORIGIN),
        )
    ]
    assert {answer.status_code for answer in answers} == {422}
    assert len({str(answer.json()["errors"]) for answer in answers}) == 1
    assert list(answers[0].json()["errors"]) == ["publishable_key"]
    assert not any("access-control-allow-origin" in answer.headers for answer in answers)


async def test_the_public_half_opens_nothing_else(town: Any, company: Any) -> None:
    public = (await key_of(company, scopes=["*"]))["public_key"]
    for method, path in (("GET", "/api/v1/impressions"), ("GET", "/api/v1/leads"), ("POST", "/api/v1/impressions")):
        for given in ({"publishable_key": public}, {"auth_token": public}, {"auth_token": f"{public}."}):
            answer = await town.client.request(method, path, params=given, headers={"Origin": ORIGIN})
            assert answer.status_code == 401, (method, path, given)
    assert (await town.client.get(PATH, params={"publishable_key": public}, headers={"Origin": ORIGIN})).status_code == 405


async def test_a_page_reads_what_is_wrong_and_does_not_say_who_it_is(town: Any, company: Any, other: Any) -> None:
    public = (await key_of(company))["public_key"]
    theirs = (await other.record("offers", {"name": "O"}))["id"]
    for body, field in (
        ({}, "visitor_id"),
        ({"visitor_id": "v", "ip": "192.0.2.1"}, "ip"),
        ({"visitor_id": "v", "user_agent": "x"}, "user_agent"),
        ({"impressions": [{"visitor_id": "v"}, {"visitor_id": "v", "ip": "192.0.2.1"}]}, "impressions[1].ip"),
        ({"visitor_id": "v", "offer_id": theirs}, "offer_id"),
        ({"visitor_id": "v", "publishable_key": "x"}, "publishable_key"),
        ({"visitor_id": "v", "unknown": 1}, "unknown"),
    ):
        refused = await post(town, public, body)
        assert (refused.status_code, list(refused.json()["errors"])) == (422, [field]), body
    no_offer = await post(town, public, {"visitor_id": "v", "offer_id": theirs})
    assert no_offer.headers["access-control-allow-origin"] == ORIGIN


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        (["https://WWW.example.com/", "https://www.example.com:443"], ["https://www.example.com"]),
        (
            ["https://shop.example.com:8443", "http://localhost:3000"],
            ["https://shop.example.com:8443", "http://localhost:3000"],
        ),
    ],
)
async def test_origins_are_stored_as_browsers_send_them(company: Any, given: list[str], kept: list[str]) -> None:
    assert (await key_of(company, origins=given))["origins"] == kept


async def test_a_form_that_repeats_origins_loses_none_of_them(company: Any) -> None:
    given = ["https://a.example.com", "https://b.example.com"]
    made = await company.send("POST", "/api/v1/keys", data={"name": "page", "origins": given})
    assert (made.status_code, made.json()["key"]["origins"]) == (201, given)


@pytest.mark.parametrize(
    "bad",
    [
        "*",
        "null",
        "www.example.com",
        "http://www.example.com",
        "https://www.example.com/a",
        "https://a b",
        "https://x@y",
        "file://x",
    ],
)
async def test_what_is_no_origin_of_a_page_is_refused(company: Any, bad: str) -> None:
    given = {"name": "page", "scopes": ["impression:create"], "origins": [bad]}
    refused = await company.send("POST", "/api/v1/keys", json=given)
    assert (refused.status_code, list(refused.json()["errors"])) == (422, ["origins"])


async def test_a_revoked_key_is_refused_at_once(town: Any, company: Any) -> None:
    made = await key_of(company)
    assert (await post(town, made["public_key"], {"visitor_id": "v"})).status_code == 201
    gone = await company.send("PUT", f"/api/v1/keys/{made['id']}", json={"revoked_at": to_rfc3339(wall_now())})
    assert gone.status_code == 200
    await town.context.rules.refresh()
    # The deployment's clock is its own: revoked at any moment means out of use.
    assert (await post(town, made["public_key"], {"visitor_id": "v"})).status_code == 422
