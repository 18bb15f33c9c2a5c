"""Does an open page hear that what it shows has changed, as long as its visitor may see it, and at the cost of one page?"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import httpx
import pytest
from msgspec.structs import replace

from adapters.http.console import change_streams
from adapters.http.exchange import page_changes
from adapters.http.exchange.running import run_operation
from adapters.http.exchange.settings import Rate
from adapters.http.server import serving
from tests.adapters.http.conftest import UNLIMITED, WAIT_SECONDS, deployed
from tests.adapters.http.console_browser import PASSWORD, READER, invite
from tests.adapters.http.furnished import submit
from tests.adapters.http.test_agents import SET, agent, status
from tests.adapters.http.test_console_agent import TALKER

pytestmark = pytest.mark.asyncio(loop_scope="session")

STREAM = {"Accept": "text/event-stream"}
PART = {"HX-Request": "true"}
TODAY, OF_TODAY = "/console/today", "/console/today/changes"
ADA = "ada@example.com"
REPORTED = ("By channel", "Calls of the last 24 hours", "Leads of the last 24 hours")


class Heard:
    """The events of an open stream, read one by one."""

    def __init__(self, answer: httpx.Response) -> None:
        self._lines = answer.aiter_lines()

    async def next(self) -> str:
        """Return the name of the next event; empty once the server has ended the stream."""
        async with asyncio.timeout(WAIT_SECONDS):
            async for line in self._lines:
                if line.startswith("event: "):
                    return line.removeprefix("event: ")
        return ""

    async def until(self, name: str) -> None:
        """Read until an event of a name; an empty one is the end of the stream."""
        while (found := await self.next()) != name:
            assert found, f"the stream ended before {name}"


class Reader:
    """A browser that is signed in: cookies over a connection of its own."""

    def __init__(self, client: httpx.AsyncClient) -> None:
        self.client = client

    async def get(self, path: str, **more: Any) -> httpx.Response:
        return await self.client.get(path, **more)

    @asynccontextmanager
    async def follow(self, path: str) -> AsyncIterator[Heard]:
        """Open a stream, whose first event is that it is open."""
        async with self.client.stream("GET", path, headers=STREAM) as answer:
            assert answer.status_code == 200, await answer.aread()
            assert answer.headers["content-type"].startswith("text/event-stream")
            assert (answer.headers["cache-control"], answer.headers["x-accel-buffering"]) == ("no-store", "no")
            heard = Heard(answer)
            assert await heard.next() == "ready"
            yield heard


@asynccontextmanager
async def served(town: Any) -> AsyncIterator[str]:
    """Serve the town for the block; no stream is left when it ends, as a server that stops does not see clients go."""
    async with serving(town.app, host="127.0.0.1", port=0) as port:
        yield f"http://127.0.0.1:{port}"
        await all_closed(town)


async def all_closed(town: Any) -> None:
    """Wait until the server has noticed that the clients are gone."""
    async with asyncio.timeout(WAIT_SECONDS):
        while town.metrics.registry.get_sample_value("leadclock_http_page_streams"):
            await asyncio.sleep(0.01)


@asynccontextmanager
async def signed_in(base: str, company: Any, email: str = ADA) -> AsyncIterator[Reader]:
    """A browser in which a user of a company is signed in."""
    async with httpx.AsyncClient(base_url=base, timeout=WAIT_SECONDS) as client:
        fields = {"company_id": company.id, "email": email, "password": PASSWORD}
        answer = await client.post("/console/sign-in", data=fields, headers={"Origin": base})
        assert answer.status_code == 303, answer.text
        yield Reader(client)


@asynccontextmanager
async def reading(town: Any, company: Any, **team: Any) -> AsyncIterator[Reader]:
    """Serve the console to a new user of a company, in a team of its own."""
    await invite(company, ADA, **team)
    await town.context.rules.refresh()
    async with served(town) as base, signed_in(base, company) as reader:
        yield reader


async def test_the_page_of_a_lead_hears_of_its_change_and_its_part_shows_it(town: Any, company: Any) -> None:
    lead = await submit(company, await company.schedule(), "+12125550131")
    part = f"/console/leads/{lead['id']}/part"
    async with reading(town, company) as ada, ada.follow(f"{part}/changes") as heard:
        await heard.until("changed")
        assert 'Opted out</dt><dd class="any">no' in (await ada.get(part, headers=PART)).text
        changed = await company.send("PATCH", f"/api/v1/leads/{lead['id']}", json={"opt_out": True})
        assert changed.status_code == 200, changed.text
        async with asyncio.timeout(WAIT_SECONDS):
            while '<span class="tag bad">yes</span>' not in (await ada.get(part, headers=PART)).text:
                await heard.until("changed")


async def test_a_page_of_the_company_hears_of_a_change(town: Any, company: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page_changes, "COMPANY_SECONDS", 0.0)
    monkeypatch.setattr(page_changes, "TICK_SECONDS", 2 * WAIT_SECONDS)
    async with reading(town, company) as ada, ada.follow(OF_TODAY) as heard:
        assert "Winter" not in (await ada.get(TODAY, headers=PART)).text
        made = await company.schedule(name="Winter")
        paused = await company.send("PATCH", f"/api/v1/schedules/{made['id']}", json={"paused": True})
        assert paused.status_code == 200, paused.text
        async with asyncio.timeout(WAIT_SECONDS):
            while "Paused: Winter" not in (await ada.get(TODAY, headers=PART)).text:
                await heard.until("changed")


async def test_the_page_of_an_agent_hears_of_a_status(town: Any, company: Any) -> None:
    available, agent_id = await status(company), await agent(company, user_email=ADA)
    part = "/console/agent/part"
    async with reading(town, company, permissions=TALKER) as ada, ada.follow(f"{part}/changes") as heard:
        await heard.until("changed")
        assert (await company.send("POST", SET, json={"collaborator_id": agent_id, "agent_status_id": available})).is_success
        async with asyncio.timeout(WAIT_SECONDS):
            while '<span class="tag good">available' not in (await ada.get(part, headers=PART)).text:
                await heard.until("changed")


async def test_a_quiet_stream_says_that_it_is_there(town: Any, company: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(change_streams, "CHECK_SECONDS", 0.05)
    monkeypatch.setattr(change_streams, "STILL_SECONDS", 0.1)
    async with reading(town, company) as ada, ada.follow(OF_TODAY) as heard:
        await heard.until("still")
        await heard.until("still")


async def test_who_may_not_see_a_part_hears_nothing_of_it(town: Any, company: Any, other: Any) -> None:
    theirs = await submit(other, await other.schedule(), "+12125550132")
    mine = await submit(company, await company.schedule(), "+12125550133")
    grace = await agent(company, name="Grace")
    async with reading(town, company, permissions=READER) as ada:
        paths = {
            f"/console/leads/{theirs['id']}/part/changes": 404,
            "/console/leads/1e9/part/changes": 404,
            "/console/buyers/part/changes": 404,
            f"/console/agent/part/changes?agent={grace}": 404,
            f"/console/leads/{mine['id']}/part/changes?at=%00": 422,
        }
        for path, code in paths.items():
            assert (await ada.get(path, headers=STREAM)).status_code == code, path
        ada.client.cookies.clear()
        assert (await ada.get(OF_TODAY, headers=STREAM)).status_code == 401


@pytest.mark.parametrize("end", ["the session", "the user", "the team"])
async def test_a_stream_ends_with_what_let_it_in(town: Any, company: Any, monkeypatch: pytest.MonkeyPatch, end: str) -> None:
    monkeypatch.setattr(change_streams, "CHECK_SECONDS", 0.05)
    lead = await submit(company, await company.schedule(), "+12125550134")
    await invite(company, "root@example.com")  # the last superuser stays
    async with reading(town, company) as ada, ada.follow(f"/console/leads/{lead['id']}/part/changes") as heard:
        await heard.until("changed")
        if end == "the session":
            await town.pool.execute("DELETE FROM work.sessions WHERE company_id = $1", company.id)
        elif end == "the user":
            users = (await company.send("GET", "/api/v1/users")).json()["users"]
            user = next(one for one in users if one["email"] == ADA)
            assert (await company.send("DELETE", f"/api/v1/users/{user['id']}")).is_success
        else:
            teams = (await company.send("GET", "/api/v1/access_control_lists")).json()["access_control_lists"]
            team = next(one for one in teams if one["users_emails"] == [ADA])
            fields = {"superuser": False, "permissions": {"schedule": {"actions": ["read"]}}}
            changed = await company.send("PUT", f"/api/v1/access_control_lists/{team['id']}", json=fields)
            assert changed.is_success, changed.text
        await town.context.rules.refresh()
        while await heard.next():
            pass
        refused = await ada.get(f"/console/leads/{lead['id']}/part", headers=PART)
        assert refused.status_code == (404 if end == "the team" else 401)


async def test_open_pages_ask_once_for_a_change_and_set_of_rights(
    town: Any, company: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(page_changes, "TICK_SECONDS", 2 * WAIT_SECONDS)
    asked: Counter[str] = Counter()

    async def counted(exchange: Any) -> Any:
        asked[exchange.operation.name] += 1
        return await run_operation(exchange)

    readers_emails = [f"reader{number}@example.com" for number in range(3)]
    for email in readers_emails:
        await company.record("users", {"name": "Reader", "email": email, "password": PASSWORD})
    await company.record("access_control_lists", {"name": "Readers", "users_emails": readers_emails, "permissions": READER})
    await invite(company, ADA)
    await town.context.rules.refresh()
    lead = await submit(company, await company.schedule(), "+12125550135")
    part = f"/console/leads/{lead['id']}/part"
    emails = [*readers_emails, *[ADA] * 3]
    async with served(town) as base, AsyncExitStack() as stack:
        readers = [await stack.enter_async_context(signed_in(base, company, email)) for email in emails]
        streams = [await stack.enter_async_context(reader.follow(f"{part}/changes")) for reader in readers]
        await asyncio.gather(*(heard.until("changed") for heard in streams))
        await company.send("PATCH", f"/api/v1/leads/{lead['id']}", json={"schedule_stop": True})
        # What was announced before may be heard of meanwhile: only a change after the stop counts.
        async with asyncio.timeout(WAIT_SECONDS):
            while (await readers[-1].get(part, headers=PART)).text.count("Removed") == 0:
                await streams[-1].until("changed")
        monkeypatch.setattr("adapters.http.console.api_calls.run_operation", counted)
        changes = town.app._services.page_changes
        (source,) = changes._watched
        changes._watched[source].change(changes._monotonic())
        answers = await asyncio.gather(*(reader.get(part, headers=PART) for reader in readers for _ in range(2)))
        assert {answer.status_code for answer in answers} == {200}
    # Readers see no contacts and no calls. Each set of rights has asked for the lead once, however many pages are open.
    assert asked["show_lead"] == asked["list_lead_events"] == asked["why_lead"] == 2, asked
    assert asked["show_contact"] == asked["list_calls"] == 1, asked


async def test_streams_of_a_user_are_limited_and_one_that_goes_away_is_free_again(
    town: Any, company: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(page_changes, "USER_STREAMS_MAX", 1)
    async with reading(town, company) as ada:
        async with ada.follow(OF_TODAY):
            refused = await ada.get(OF_TODAY, headers=STREAM)
            assert (refused.status_code, refused.headers["retry-after"]) == (429, "30")
        await all_closed(town)
        async with ada.follow(OF_TODAY):
            pass


async def test_an_open_page_slows_no_report_down(town: Any, company: Any) -> None:
    async with reading(town, company) as ada, ada.follow(OF_TODAY):
        assert not town.app._services.short_requests.are_in_progress


async def test_the_time_that_a_page_is_open_is_no_time_of_an_answer(town: Any, company: Any) -> None:
    def value(name: str, **labels: str) -> float:
        labels |= {"method": "GET", "operation": "console_changes"}
        return town.metrics.registry.get_sample_value(f"leadclock_http_{name}", labels) or 0.0

    opened, timed = value("requests_total", status="200"), value("request_duration_seconds_count")
    async with reading(town, company) as ada:
        async with ada.follow(OF_TODAY):
            pass
        async with asyncio.timeout(WAIT_SECONDS):
            while value("requests_total", status="200") == opened:
                await asyncio.sleep(0.01)
    assert value("request_duration_seconds_count") == timed


async def test_a_page_waits_for_the_rates_of_its_company_before_it_leaves_a_part_out(migrated_database: str) -> None:
    async with deployed(migrated_database, replace(UNLIMITED, rates={"report": Rate(2.0, 1)})) as town:
        company = await town.company()
        await submit(company, await company.schedule(), "+12125550177")
        async with reading(town, company) as ada:
            page = await ada.get("/console")  # it asks for three reports at once
            assert [heading for heading in REPORTED if f"<h2>{heading}</h2>" not in page.text] == []


async def test_streams_end_at_once_when_the_process_stops(migrated_database: str) -> None:
    async with deployed(migrated_database, UNLIMITED) as town:
        company = await town.company()
        async with reading(town, company) as ada, ada.follow(OF_TODAY) as heard:
            town.app.end_streams()
            while await heard.next():
                pass
            late = await ada.get(OF_TODAY, headers=STREAM)
            assert (late.status_code, late.headers["retry-after"]) == (503, "30")
