"""Are impressions taken alone and in batches, listed, bounded, and only their own company's?"""

import asyncio
import csv
import io
from collections.abc import Sequence
from typing import Any

import httpx
import pytest

from adapters.http.exchange import impression_log
from adapters.http.exchange.settings import HttpSettings, Rate
from adapters.http.impressions.impressions import BATCH_BYTES_MAX
from engine.views.impression import IMPRESSION_COLUMNS
from schemas.topics import IMPRESSIONS
from tests.adapters.http.conftest import SECRET_KEY, Company, Town, deployed
from tests.adapters.http.test_faults import Held
from tests.pace import bound

pytestmark = pytest.mark.asyncio(loop_scope="session")

PATH = "/api/v1/impressions"
UUID = "0190a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b"
SHOWN_SECONDS = bound(30.0)


async def post(company: Company, body: Any, **more: Any) -> httpx.Response:
    return await company.send("POST", PATH, json=body, **more)


async def stored(company: Company, body: Any, **more: Any) -> list[str]:
    """Post impressions and return their uuids."""
    answer = await post(company, body, **more)
    assert answer.status_code == 201, answer.text
    return [one["uuid"] for one in answer.json()["impressions"]]


async def shown(company: Company, count: int, **query: Any) -> list[dict[str, Any]]:
    """Return the impressions of a company, as soon as so many are shown."""
    async with asyncio.timeout(SHOWN_SECONDS):
        while True:
            answer = await company.send("GET", PATH, params={"per_page": "1000", **query})
            assert answer.status_code == 200, answer.text
            found: list[dict[str, Any]] = answer.json()["impressions"]
            if len(found) >= count:
                return found
            await asyncio.sleep(0.02)


def batch(count: int, visitor: str = "v") -> dict[str, Any]:
    return {"impressions": [{"visitor_id": f"{visitor}{number}", "sub_id": str(number)} for number in range(count)]}


async def test_an_impression_is_shown_as_it_was_posted_and_its_address_cut_to_its_network(company: Company) -> None:
    offer = await company.record("offers", {"name": "O"})
    source = await company.record("traffic_sources", {"name": "T"})
    given = {
        "visitor_id": "v-1", "uuid": UUID, "session_id": "s-1", "offer_id": offer["id"], "traffic_source_id": source["id"],
        "page_url": "https://e.com/a", "referrer": "https://e.com/r", "landing_url": "https://e.com/l",
        "utm_source": "a", "utm_medium": "b", "utm_campaign": "c", "utm_term": "d", "utm_content": "e", "gclid": "g",
        "fbclid": "f", "sub_id": "7", "ip": "203.0.113.77", "user_agent": "Mozilla", "device": "mobile", "country": "US",
        "state": "FL", "city": "Miami", "tokens": {"variant": "b", "n": 1e20},
    }  # fmt: skip
    answer = await post(company, given)
    assert (answer.status_code, answer.json()) == (
        201,
        {"status": 201, "errors": {}, "impressions": [{"uuid": UUID}], "metadata": {"root": "impressions"}},
    )
    (row,) = await shown(company, 1)
    assert tuple(row) == IMPRESSION_COLUMNS
    assert {name: row[name] for name in given} == given | {"ip": "203.0.113.0/24"}
    assert row["created_at"].startswith("2026-06-17T17:")
    assert [row[name] for name in ("ring_pool_id", "number_id", "number_shown", "held_until")] == [None] * 4


async def test_the_same_is_posted_as_a_form_and_with_tokens_as_json(company: Company) -> None:
    fields = {"visitor_id": "v-1", "tokens[variant]": "b", "ip": "2001:db8::7"}
    assert (await company.send("POST", PATH, data=fields)).status_code == 201
    assert (await company.send("POST", PATH, data={"visitor_id": "v-2", "tokens": '{"n":2}'})).status_code == 201
    found = {row["visitor_id"]: row for row in await shown(company, 2)}
    assert (found["v-1"]["tokens"], found["v-1"]["ip"]) == ({"variant": "b"}, "2001:db8::/48")
    assert found["v-2"]["tokens"] == {"n": 2}


async def test_a_batch_of_five_hundred_is_taken_whole_and_listed_by_cursor_and_by_page(company: Company) -> None:
    uuids = await stored(company, batch(500))
    assert len(set(uuids)) == 500
    every = await shown(company, 500)
    assert {row["uuid"] for row in every} == set(uuids)
    ids = [row["id"] for row in every]
    assert ids == sorted(ids, reverse=True)
    assert all(0 < number < 2**53 for number in ids)

    seen: list[int] = []
    cursor = -1
    while cursor:
        answer = (await company.send("GET", PATH, params={"cursor": cursor, "per_page": 77})).json()
        seen += [row["id"] for row in answer["impressions"]]
        cursor = answer["metadata"]["next_cursor"]
    assert seen == ids
    first = (await company.send("GET", PATH)).json()
    assert first["metadata"] == {"root": "impressions", "per_page": 25, "next_cursor": ids[24]}
    page = (await company.send("GET", PATH, params={"page": 5, "per_page": 100})).json()
    assert (len(page["impressions"]), page["metadata"]["total_count"], page["metadata"]["total_pages"]) == (100, 500, 5)
    bare = await company.send("GET", PATH, params={"root": "false", "columns": "visitor_id,id", "per_page": 1})
    assert (list(bare.json()[0]), bare.headers["x-next-cursor"]) == (["visitor_id", "id"], str(bare.json()[0]["id"]))
    assert (await company.send("GET", f"{PATH}.json", params={"page": 9, "per_page": 100})).json()["impressions"] == []


async def test_spans_of_creation_narrow_the_list_in_the_zone_asked_for(company: Company) -> None:
    await stored(company, batch(3))
    created = (await shown(company, 3))[0]["created_at"]
    for query, count in (
        ({"created_at_from": created, "time_zone": "UTC"}, 3),
        ({"created_at_to": f"{created[:10]} 00:00", "time_zone": "UTC"}, 0),
        ({"created_at_to": created[:10], "time_zone": "UTC"}, 3),
        ({"created_at_from": created[:10], "time_zone": "America/New_York"}, 3),
        ({"created_at_from": f"{created[:10]} 17:00:00", "time_zone": "America/New_York"}, 0),
        ({"created_at_from": f"{created[:10]} 16:00:00", "created_at_to": f"{created[:10]} 23:00:00", "page": 1}, 3),
        ({"created_at_to": f"{created[:10]} 16:00:00", "time_zone": "UTC", "cursor": -1}, 0),
    ):
        answer = await company.send("GET", PATH, params=query)
        assert (answer.status_code, len(answer.json()["impressions"])) == (200, count), (query, answer.text)


@pytest.mark.parametrize(
    ("query", "status", "code", "bad"),
    [
        ({"cursor": "-2"}, 400, "bad_cursor", {"cursor"}),
        ({"cursor": "x"}, 400, "bad_cursor", {"cursor"}),
        ({"per_page": "1001"}, 422, "validation_failed", {"per_page"}),
        ({"page": "1", "per_page": "101"}, 422, "validation_failed", {"per_page"}),
        ({"page": "0"}, 422, "validation_failed", {"page"}),
        ({"created_at_from": "noon"}, 400, "bad_date", {"created_at_from"}),
        ({"created_at_to": "2026-02-30", "time_zone": "Mars"}, 422, "validation_failed", {"created_at_to", "time_zone"}),
        ({"columns": "number_seen"}, 422, "validation_failed", {"columns"}),
        ({"order": "id"}, 422, "validation_failed", {"order"}),
        ({"visitor_id": "v"}, 422, "validation_failed", {"visitor_id"}),
    ],
)
async def test_a_bad_parameter_of_the_list_is_named(
    company: Company, query: dict[str, str], status: int, code: str, bad: set[str]
) -> None:
    answer = await company.send("GET", PATH, params=query)
    assert (answer.status_code, answer.json()["code"], set(answer.json()["errors"])) == (status, code, bad), answer.text


GOOD = {"visitor_id": "v"}


@pytest.mark.parametrize(
    ("body", "bad"),
    [
        ({}, {"visitor_id"}),
        ({"visitor_id": "v", "number_shown": "+13055550100"}, {"number_shown"}),
        ({"visitor_id": "v", "held_until": 1, "ip": "x", "utm_sorce": "a"}, {"held_until", "ip", "utm_sorce"}),
        ({"impressions": []}, {"impressions"}),
        ({"impressions": [GOOD] * 501}, {"impressions"}),
        ({"impressions": GOOD}, {"impressions"}),
        ({"impressions": "[]"}, {"impressions"}),
        ({"impressions": [GOOD], "visitor_id": "v"}, {"impressions"}),
        ({"impressions": [GOOD, 7, None, [], "v"]}, {f"impressions[{place}]" for place in (1, 2, 3, 4)}),
        (
            {"impressions": [GOOD, {"ip": "x"}, {**GOOD, "offer_id": 999_999}, {**GOOD, "converted_call_id": 1}]},
            {
                "impressions[1].ip",
                "impressions[1].visitor_id",
                "impressions[2].offer_id",
                "impressions[3].converted_call_id",
            },
        ),
        ({"impressions": [{**GOOD, "uuid": UUID}, {**GOOD, "uuid": UUID.upper()}]}, {"impressions[1].uuid"}),
        ({"impressions": [GOOD, {**GOOD, "city": "a\x00b"}]}, {"impressions[1].city"}),
        ({"impressions": [{**GOOD, "sub_id": 2**70}]}, {"impressions[0].sub_id"}),
        ({"impressions": [{**GOOD, "tokens": {"a": "x" * 5_000}}]}, {"impressions[0].tokens"}),
    ],
)
async def test_every_bad_field_is_named_by_its_index_and_nothing_is_stored(
    company: Company, body: dict[str, Any], bad: set[str]
) -> None:
    answer = await post(company, body)
    assert (answer.status_code, answer.json()["code"], set(answer.json()["errors"])) == (422, "validation_failed", bad)
    await stored(company, GOOD)
    assert len(await shown(company, 1)) == 1


@pytest.mark.parametrize(
    ("content", "kind", "status", "code"),
    [
        (b"[{}]", "application/json", 400, "malformed_body"),
        (b'{"impressions":[', "application/json", 400, "malformed_json"),
        (b'{"impressions":' + b"[" * 100_000, "application/json", 400, "malformed_body"),
        (b"\xff", "application/json", 400, "malformed_json"),
        (b"visitor_id=v", "text/plain", 415, "unsupported_media_type"),
        (b'{"visitor_id":"' + b"v" * BATCH_BYTES_MAX + b'"}', "application/json", 413, "too_large"),
    ],
)
async def test_a_body_that_cannot_be_read_is_refused(
    company: Company, content: bytes, kind: str, status: int, code: str
) -> None:
    answer = await company.send("POST", PATH, content=content, headers={"Content-Type": kind})
    assert (answer.status_code, answer.json()["code"]) == (status, code), answer.text[:300]


async def test_no_other_company_is_seen_or_named(company: Company, other: Company) -> None:
    await stored(company, {"visitor_id": "same", "uuid": UUID})
    await stored(other, {"visitor_id": "same", "uuid": UUID, "sub_id": "other's"})
    ((mine,), (theirs,)) = (await shown(company, 1), await shown(other, 1))
    assert (mine["sub_id"], theirs["sub_id"]) == (None, "other's")
    offer = await other.record("offers", {"name": "O"})
    source = await other.record("traffic_sources", {"name": "T"})
    answer = await post(company, {"impressions": [{**GOOD, "offer_id": offer["id"], "traffic_source_id": source["id"]}]})
    assert set(answer.json()["errors"]) == {"impressions[0].offer_id", "impressions[0].traffic_source_id"}
    found = await company.send("GET", PATH, params={"cursor": theirs["id"] + 1})
    assert {row["uuid"] for row in found.json()["impressions"]} <= {UUID}
    assert all(row["id"] == mine["id"] for row in found.json()["impressions"])


async def test_a_repeat_is_the_same_row_by_its_uuid_and_by_its_idempotency_key(company: Company) -> None:
    for _ in range(2):
        assert await stored(company, {"visitor_id": "v", "uuid": UUID}) == [UUID]
    first = await stored(company, batch(5), headers={"Idempotency-Key": "k"})
    assert await stored(company, batch(5), headers={"Idempotency-Key": "k"}) == first
    conflict = await post(company, batch(4), headers={"Idempotency-Key": "k"})
    assert (conflict.status_code, conflict.json()["code"]) == (409, "idempotency_conflict")
    bad = {"impressions": [{"visitor_id": ""}]}
    assert (await post(company, bad, headers={"Idempotency-Key": "corrected"})).status_code == 422
    again = await stored(company, batch(1, "w"), headers={"Idempotency-Key": "corrected"})
    assert await stored(company, batch(1, "w")) != again
    assert {row["uuid"] for row in await shown(company, 8)} > {UUID, *first, *again}
    await asyncio.sleep(0.3)
    assert len(await shown(company, 8)) == 8


async def test_a_file_has_every_impression_and_runs_no_formula(company: Company) -> None:
    evil = ["=1+1", "@SUM(1)", "+cmd|' /C calc'!A0", "-2+3", "\t=1", '"a",b']
    await stored(company, {"impressions": [{"visitor_id": text, "utm_source": f"x{text}", "city": text} for text in evil]})
    await shown(company, len(evil))
    answer = await company.send("GET", f"{PATH}.csv", params={"columns": "visitor_id,utm_source,city,tokens"})
    assert (answer.status_code, answer.headers["content-type"]) == (200, "text/csv; charset=utf-8")
    rows = list(csv.reader(io.StringIO(answer.text)))
    assert rows[0] == ["visitor_id", "utm_source", "city", "tokens"]
    # Blanks around a text are no part of it.
    assert sorted(row[0] for row in rows[1:]) == sorted(f"'{text.strip()}" if text[0] != '"' else text for text in evil)
    behind = [f"x{text}" if text[0] != "\t" else "x\t'=1" for text in evil]  # a tab ends a cell where text is pasted
    assert sorted(row[1] for row in rows[1:]) == sorted(behind)
    assert {row[3] for row in rows[1:]} == {"{}"}
    few = await company.send("GET", PATH, params={"per_page": "2"}, headers={"Accept": "text/csv"})
    assert len(few.text.splitlines()) == 3


async def test_a_key_needs_the_scope_and_a_visitor_has_none(company: Company, town: Town) -> None:
    assert (await town.client.post(PATH, json=GOOD)).status_code == 401
    assert (await town.client.get(PATH)).status_code == 401
    answer = await post(company, GOOD, headers={"Authorization": "Bearer pk_publishable"})
    assert answer.status_code == 401


async def test_while_the_log_is_away_nothing_is_taken_and_a_repeat_is_stored_once(company: Company, town: Town) -> None:
    town.outage.topics = {IMPRESSIONS.name}
    try:
        for headers in ({}, {"Idempotency-Key": "outage"}):
            answer = await post(company, batch(3), headers=headers)
            assert (answer.status_code, answer.json()["code"]) == (503, "events_unavailable"), answer.text
            assert "retry-after" in answer.headers
            assert "same Idempotency-Key" in answer.json()["detail"]
    finally:
        town.outage.topics = set()
    uuids = await stored(company, batch(3), headers={"Idempotency-Key": "outage"})
    assert {row["uuid"] for row in await shown(company, 3)} == set(uuids)


async def test_a_company_is_limited_by_impressions_and_not_by_requests(migrated_database: str) -> None:
    rates = {"impression": Rate(0.01, 600)}
    async with deployed(migrated_database, HttpSettings(secret_key=SECRET_KEY, wait_seconds=10.0, rates=rates)) as town:
        company, other = await town.company(), await town.company()
        assert (await post(company, batch(500))).headers["ratelimit-remaining"] == "100"
        over = await post(company, batch(101))
        assert (over.status_code, over.json()["code"]) == (429, "rate_limited")
        assert int(over.headers["retry-after"]) >= 100
        assert (await post(company, batch(90))).status_code == 201
        assert (await post(other, batch(500))).status_code == 201
        assert (await company.send("GET", PATH)).status_code == 200
        assert len(await shown(company, 590)) == 590


async def test_one_company_does_not_fill_the_queue_of_the_log_and_requests_have_their_own(
    company: Company, other: Company, town: Town, monkeypatch: pytest.MonkeyPatch
) -> None:
    schedule = await company.schedule()
    queue: Any = town.app._services.impressions
    held = Held(queue._appender)
    monkeypatch.setattr(queue, "_appender", held)
    monkeypatch.setattr(impression_log, "COMPANY_WAITING_MAX", 40)
    monkeypatch.setattr(impression_log, "WAITING_MAX", 50)
    first = asyncio.create_task(post(company, batch(40)))
    await held.asked.wait()
    refused = await post(company, batch(1))
    assert (refused.status_code, refused.json()["code"], refused.headers["retry-after"]) == (429, "rate_limited", "1")
    second = asyncio.create_task(post(other, batch(10)))
    async with asyncio.timeout(SHOWN_SECONDS):
        while queue._unanswered.total() < 50:
            await asyncio.sleep(0.01)
    full = await post(other, batch(1))
    assert (full.status_code, full.json()["code"]) == (503, "events_unavailable")
    lead = {"lead_token": schedule["lead_token"], "caller_id": "+12125550123"}
    assert (await company.send("POST", "/api/v1/leads", json=lead)).status_code == 201
    held.goes_on.set()
    answers: Sequence[httpx.Response] = await asyncio.gather(first, second)
    assert [answer.status_code for answer in answers] == [201, 201]
    assert (await post(company, batch(1))).status_code == 201
    assert (len(await shown(company, 41)), len(await shown(other, 10))) == (41, 10)
