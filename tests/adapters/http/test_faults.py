"""What does a sender hear while the log or the database is away, and is everything as before when they are back?"""

import asyncio
from collections.abc import AsyncIterator, Sequence

import httpx
import msgspec
import pytest

from adapters.embedded.log import EmbeddedLog
from adapters.http.exchange import requests
from adapters.postgres.reads import PostgresReads
from adapters.reads.ports import ReadsUnavailableError
from engine.partition.ports import Appender, Outgoing
from tests.adapters.http.conftest import UNLIMITED, Town, deployed

NUMBER = "+13055550142"


@pytest.fixture
async def town(migrated_database: str) -> AsyncIterator[Town]:
    """A deployment that a test may break."""
    async with deployed(migrated_database, UNLIMITED) as place:
        yield place


async def test_while_the_log_is_away_nothing_is_taken_and_reading_goes_on(town: Town) -> None:
    company = await town.company()
    schedule = await company.schedule()
    fields = {"lead_token": schedule["lead_token"], "caller_id": NUMBER}
    headers = {"Idempotency-Key": "again-and-again"}
    town.outage.topics = {"contacts.requests", "accounts.requests"}
    for method, path in (("POST", "/api/v1/leads"), ("POST", "/api/v1/leads"), ("POST", "/api/v1/buyers")):
        body = fields if path.endswith("leads") else {"name": "a", "number": NUMBER}
        answer = await company.send(method, path, json=body, headers=headers if path.endswith("leads") else {})
        assert (answer.status_code, answer.json()["code"]) == (503, "events_unavailable"), answer.text
        assert answer.json()["retryable"] is True
        assert "may be stored" in answer.json()["detail"], "the log was given it, and did not say what became of it"
        assert "retry-after" in answer.headers
    assert (await company.send("GET", "/api/v1/leads")).json()["leads"] == []
    town.outage.topics = set()
    again = await company.send("POST", "/api/v1/leads", json=fields, headers=headers)
    assert again.status_code == 201, again.text
    assert len((await company.send("GET", "/api/v1/leads")).json()["leads"]) == 1


async def test_while_the_database_is_away_reads_are_refused_and_readiness_says_so(town: Town) -> None:
    company = await town.company()
    schedule = await company.schedule()
    await town.results.close()
    await town.pool.close()
    for path in ("leads", "leads/1", "offers", "requests/01a1fe05-3740-83d4-a15b-86e5615588cd"):
        answer = await company.send("GET", f"/api/v1/{path}")
        assert (answer.status_code, answer.json()["code"]) == (503, "reads_unavailable"), answer.text
    ready = await town.client.get("/readyz")
    assert ready.status_code == 503
    assert "database" in ready.json()["waits_for"]
    assert (await town.client.get("/livez")).status_code == 200
    taken = await town.client.post(
        "/api/v1/leads",
        json={"lead_token": schedule["lead_token"], "caller_id": NUMBER},
        headers={"Prefer": "respond-async"},
    )
    assert taken.status_code == 202, taken.text
    assert taken.headers["preference-applied"] == "respond-async"


async def test_what_is_stored_is_202_where_the_database_goes_away_before_it_is_shown(
    town: Town, monkeypatch: pytest.MonkeyPatch
) -> None:
    company = await town.company()
    schedule = await company.schedule()
    fields = {"lead_token": schedule["lead_token"], "caller_id": NUMBER}

    async def away(*_: object) -> None:
        raise ReadsUnavailableError("the database is gone")

    with monkeypatch.context() as outage:
        outage.setattr(PostgresReads, "shown_lead", away)
        stored = await company.send("POST", "/api/v1/leads", json=fields)
    assert stored.status_code == 202, stored.text
    assert (await company.send("GET", stored.headers["location"])).status_code == 201
    await town.results.close()
    await town.pool.close()
    stored = await company.send("POST", "/api/v1/leads", json=fields, headers={"Prefer": "wait=0"})
    assert stored.status_code == 202, stored.text


async def test_what_the_database_gives_up_after_its_time_may_be_asked_again(town: Town) -> None:
    company = await town.company()
    async with town.pool.acquire() as asking, town.pool.acquire() as locking, locking.transaction():
        await asking.execute("SET statement_timeout = 100")
        await locking.execute("LOCK TABLE read.leads IN ACCESS EXCLUSIVE MODE")
        await town.pool.release(asking)  # the next to be used
        answer = await company.send("GET", "/api/v1/leads")
    assert (answer.status_code, answer.json()["code"]) == (503, "reads_too_slow"), answer.text
    assert answer.json()["retryable"] is True
    async with town.pool.acquire() as asking:
        await asking.execute("RESET statement_timeout")


async def test_many_at_once_are_appended_together_and_each_is_answered(town: Town) -> None:
    company = await town.company()
    schedule = await company.schedule()
    fields = [{"lead_token": schedule["lead_token"], "caller_id": f"+1212555{place:04d}"} for place in range(300)]
    answers = await asyncio.gather(*(town.client.post("/api/v1/leads", json=body) for body in fields))
    assert {answer.status_code for answer in answers} == {201}
    listed = (await company.send("GET", "/api/v1/leads", params={"per_page": 1})).json()
    assert listed["metadata"]["total_count"] == 300


async def test_a_sender_that_goes_away_in_the_middle_of_many_harms_nobody(town: Town) -> None:
    company = await town.company()
    schedule = await company.schedule()
    fields = [{"lead_token": schedule["lead_token"], "caller_id": f"+1212555{place:04d}"} for place in range(60)]
    tasks = [asyncio.create_task(town.client.post("/api/v1/leads", json=body)) for body in fields]
    await asyncio.sleep(0.01)
    for task in tasks[::3]:
        task.cancel()
    done = await asyncio.gather(*tasks, return_exceptions=True)
    stayed = [answer for place, answer in enumerate(done) if place % 3]
    assert {getattr(answer, "status_code", answer) for answer in stayed} == {201}


GROWING = "\x01" * 200_000
"""As a form 200 kB, as JSON 1.2 MB: what is measured is the record, not the body."""


async def test_a_request_whose_record_would_be_too_large_is_413_and_its_neighbours_are_stored(town: Town) -> None:
    company = await town.company()
    offers = [{"name": f"Offer {place}"} for place in range(20)]
    offers[7]["name"] = GROWING
    # Form and multipart fields reach the same append as the JSON of their neighbours.
    answers = await asyncio.gather(
        *(company.send("POST", "/api/v1/offers", files={"name": (None, body["name"])}) for body in offers)
    )
    assert [answer.status_code for answer in answers] == [413 if place == 7 else 201 for place in range(20)]
    refused = answers[7]
    assert (refused.json()["code"], refused.json()["retryable"]) == ("too_large", False)
    assert "retry-after" not in refused.headers


async def test_a_record_that_only_the_broker_finds_too_large_is_413_and_its_neighbours_are_stored(town: Town) -> None:
    company = await town.company()
    log = town.context.log
    assert isinstance(log, EmbeddedLog)
    topic = "accounts.requests"
    log._topics[topic] = msgspec.structs.replace(log._topics[topic], record_bytes_max=5_000)  # an operator lowered it
    offers = [{"name": f"Offer {place}"} for place in range(20)]
    for place in (3, 4, 19):
        offers[place]["name"] = "x" * 10_000
    answers = await asyncio.gather(*(company.send("POST", "/api/v1/offers", json=body) for body in offers))
    assert [answer.status_code for answer in answers] == [413 if place in {3, 4, 19} else 201 for place in range(20)]


class Held:
    """An appender that waits, as a broker does that is paused."""

    def __init__(self, appender: Appender) -> None:
        self._appender = appender
        self.asked = asyncio.Event()
        self.goes_on = asyncio.Event()

    async def append(self, partition: int, records: Sequence[Outgoing]) -> list[int]:
        self.asked.set()
        await self.goes_on.wait()
        return await self._appender.append(partition, records)

    async def close(self) -> None:
        await self._appender.close()


async def test_what_was_answered_as_not_stored_is_not_stored_later_and_what_may_be_is_said_so(
    town: Town, monkeypatch: pytest.MonkeyPatch
) -> None:
    company = await town.company()
    token = (await company.schedule())["lead_token"]

    async def submit(token_name: str) -> httpx.Response:
        fields = {"lead_token": token, "caller_id": NUMBER, token_name: "sent"}
        return await company.send("POST", "/api/v1/leads", json=fields)

    held = Held(town.requests._appender)
    monkeypatch.setattr(town.requests, "_appender", held)
    monkeypatch.setattr(requests, "SUBMIT_SECONDS", 0.2)
    on_its_way = asyncio.create_task(submit("on_its_way"))
    await held.asked.wait()
    behind_it, sent = await submit("behind_it"), await on_its_way
    assert {answer.json()["code"] for answer in (behind_it, sent)} == {"events_unavailable"}
    assert behind_it.json()["detail"].startswith("Nothing was stored.")
    assert sent.json()["detail"].startswith("The request may be stored.")
    held.goes_on.set()
    monkeypatch.setattr(requests, "SUBMIT_SECONDS", 10.0)
    assert (await submit("later")).status_code in {200, 201}
    lead = (await company.send("GET", "/api/v1/leads")).json()["leads"][0]
    assert "behind_it" not in str(lead)
    assert "on_its_way" in str(lead)
    assert "later" in str(lead)
