"""Does an agent's page hear of each change once, in order, also after a break, and of nothing that is not for it?"""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import httpx
import pytest

from adapters.http.agents import events
from adapters.http.exchange import event_streams
from adapters.http.server import serving
from tests.adapters.http.conftest import UNLIMITED, WAIT_SECONDS, deployed
from tests.adapters.http.test_agents import SET, agent, message, status
from tests.adapters.http.test_teams import ADA, person, team

pytestmark = pytest.mark.asyncio(loop_scope="session")

STREAM = {"Accept": "text/event-stream"}


class Heard:
    """The events of an open stream, read one by one."""

    def __init__(self, answer: httpx.Response) -> None:
        self.answer = answer
        self._lines = answer.aiter_lines()

    async def next(self) -> tuple[int, str, Any]:
        """Return id, name and data of the next event; comments are skipped."""
        fields: dict[str, str] = {}
        async with asyncio.timeout(WAIT_SECONDS):
            async for line in self._lines:
                if not line and "event" in fields:
                    return int(fields["id"]), fields["event"], json.loads(fields["data"])
                name, _, value = line.partition(": ")
                fields[name] = value
        raise EOFError

    async def comment(self) -> str:
        async with asyncio.timeout(WAIT_SECONDS):
            async for line in self._lines:
                if line.startswith(":"):
                    return line
        raise EOFError

    async def end(self) -> None:
        """Read until the server ends the stream."""
        async with asyncio.timeout(WAIT_SECONDS):
            async for _ in self._lines:
                pass


@asynccontextmanager
async def heard(town: Any, sender: Any, agent_id: int, after: int | None = None) -> AsyncIterator[Heard]:
    await town.context.rules.refresh()
    given = {**STREAM, **sender.headers, **({} if after is None else {"Last-Event-ID": str(after)})}
    async with (
        streaming(town) as port,
        httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", headers=given, timeout=WAIT_SECONDS) as client,
        client.stream("GET", f"/api/v1/agents/{agent_id}/events") as answer,
    ):
        assert answer.status_code == 200, (await answer.aread(), answer.status_code)
        yield Heard(answer)


@asynccontextmanager
async def streaming(town: Any) -> AsyncIterator[int]:
    """Serve the town for the block; no stream is left when it ends, as a server that stops does not see clients go."""
    async with serving(town.app, host="127.0.0.1", port=0) as port:
        yield port
        await all_closed(town)


async def all_closed(town: Any) -> None:
    """Wait until the server has noticed that the clients are gone."""
    async with asyncio.timeout(WAIT_SECONDS):
        while town.metrics.registry.get_sample_value("leadclock_http_event_streams"):
            await asyncio.sleep(0.01)


def path_of(agent_id: int) -> str:
    return f"/api/v1/agents/{agent_id}/events"


async def set_status(company: Any, agent_id: int, status_id: int) -> None:
    answer = await company.send("POST", SET, json={"collaborator_id": agent_id, "agent_status_id": status_id})
    assert answer.status_code == 200, answer.text


async def acknowledge(company: Any, agent_id: int, message_id: int) -> None:
    path = f"/api/v1/agent_messages/{message_id}/acknowledge"
    assert (await company.send("POST", path, json={"collaborator_id": agent_id})).status_code == 200


async def test_a_page_hears_statuses_messages_and_acknowledgements_of_its_agent_alone(
    town: Any, company: Any, other: Any
) -> None:
    available, ada, grace = await status(company), await agent(company), await agent(company, name="Grace")
    center = (await company.record("call_centers", {"name": "Tampa"}))["id"]
    theirs = await agent(other)
    async with heard(town, company, ada) as page:
        assert page.answer.headers["content-type"].startswith("text/event-stream")
        assert page.answer.headers["cache-control"] == "no-store"
        assert (await page.next())[1] == "ready"
        await set_status(company, grace, available)
        await set_status(other, theirs, await status(other))
        await set_status(company, ada, available)
        await message(company, call_center_ids=[center])
        hello = await message(company)
        await acknowledge(company, grace, hello)
        await acknowledge(company, ada, hello)
        assert (await company.send("DELETE", f"/api/v1/agent_messages/{hello}")).status_code == 200
        found = [await page.next() for _ in range(4)]
    numbers = [number for number, _, _ in found]
    assert numbers == sorted(set(numbers))
    heard_events = [(name, data["id"] == number, data["data"]) for number, name, data in found]
    assert [(name, same) for name, same, _ in heard_events] == [
        ("agent_status", True),
        ("agent_message", True),
        ("agent_message_acknowledged", True),
        ("agent_message_removed", True),
    ]
    first = heard_events[0][2]
    assert (first["collaborator_id"], first["agent_status_id"], first["key"]) == (ada, available, "available")
    assert (heard_events[1][2]["id"], heard_events[1][2]["content"]) == (hello, "Hello")
    assert heard_events[2][2] == {"id": hello, "collaborator_id": ada}
    assert heard_events[3][2] == {"id": hello}


async def test_a_stream_resumes_behind_the_last_event_without_a_gap_or_a_repeat(town: Any, company: Any) -> None:
    available, lunch, ada = await status(company), await status(company, "lunch"), await agent(company)
    async with heard(town, company, ada) as page:
        start = (await page.next())[0]
        await set_status(company, ada, available)
        first = (await page.next())[0]
    assert first > start
    await set_status(company, ada, lunch)
    await set_status(company, ada, available)
    async with heard(town, company, ada, first) as page:
        missed = [await page.next() for _ in range(2)]
        assert [data["data"]["key"] for _, _, data in missed] == ["lunch", "available"]
        number, name, _ = await page.next()
        assert (name, number) == ("ready", missed[1][0])
        await set_status(company, ada, lunch)
        number, name, data = await page.next()
        assert (name, data["data"]["key"], number > missed[1][0]) == ("agent_status", "lunch", True)


async def test_who_missed_too_much_is_asked_to_read_again(town: Any, company: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "READ_MAX", 2)
    available, lunch, ada = await status(company), await status(company, "lunch"), await agent(company)
    for status_id in (available, lunch, available):
        await set_status(company, ada, status_id)
    async with heard(town, company, ada, 0) as page:
        assert (await page.next())[1] == "reset"
        await set_status(company, ada, lunch)
        assert (await page.next())[2]["data"]["key"] == "lunch"


async def test_without_a_stream_the_events_behind_one_are_listed(town: Any, company: Any) -> None:
    available, ada = await status(company), await agent(company)
    await town.context.rules.refresh()
    begun = (await company.send("GET", path_of(ada))).json()
    assert begun["agent_events"] == []
    await set_status(company, ada, available)
    since = (await company.send("GET", path_of(ada), params={"last_event_id": begun["last_event_id"]})).json()
    (event,) = since["agent_events"]
    assert (event["event"], event["data"]["key"], str(event["id"])) == ("agent_status", "available", since["last_event_id"])
    bare = await company.send("GET", path_of(ada), params={"last_event_id": begun["last_event_id"], "root": "false"})
    assert (bare.json(), bare.headers["x-last-event-id"]) == ([event], since["last_event_id"])


@pytest.mark.parametrize("bad", ["x", "-1", "1.5", "9" * 30])
async def test_a_position_that_no_stream_has_sent_is_refused_by_name(town: Any, company: Any, bad: str) -> None:
    ada = await agent(company)
    await town.context.rules.refresh()
    header = await company.send("GET", path_of(ada), headers={**STREAM, "Last-Event-ID": bad})
    assert (header.status_code, list(header.json()["errors"])) == (422, ["Last-Event-ID"])
    field = await company.send("GET", path_of(ada), params={"last_event_id": bad})
    assert (field.status_code, list(field.json()["errors"])) == (422, ["last_event_id"])


async def test_another_company_finds_no_stream(town: Any, company: Any, other: Any) -> None:
    ada = await agent(company)
    await town.context.rules.refresh()
    assert (await other.send("GET", path_of(ada), headers=STREAM)).status_code == 404
    assert (await company.send("GET", path_of(999_999), headers=STREAM)).status_code == 404


async def test_a_stream_ends_soon_after_its_key_is_revoked(town: Any, company: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "KEY_CHECK_SECONDS", 0.05)
    ada = await agent(company)
    listed = await company.send("GET", "/api/v1/keys", params={"root": "false"})
    (key_id,) = [key["id"] for key in listed.json() if key["public_key"] == company.public_key]
    async with heard(town, company, ada) as page:
        assert (await page.next())[1] == "ready"
        assert (await company.send("DELETE", f"/api/v1/keys/{key_id}")).status_code == 200
        await page.end()


async def test_a_stream_ends_when_its_agent_is_deleted(town: Any, company: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "KEY_CHECK_SECONDS", 0.05)
    ada = await agent(company)
    async with heard(town, company, ada) as page:
        assert (await page.next())[1] == "ready"
        assert (await company.send("DELETE", f"/api/v1/agents/{ada}")).status_code == 200
        await page.end()


async def test_a_person_follows_the_own_agent_and_hears_what_the_teams_show(
    town: Any, company: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(events, "KEY_CHECK_SECONDS", 0.05)
    available, shown, hidden = await status(company), await message(company), await message(company)
    mine, theirs = await agent(company, user_email=ADA), await agent(company, name="Grace")
    granted = {"agent_message": {"actions": ["read"], "scope": [shown]}, "agent_status": {"actions": ["read"]}}
    made = await team(company, permissions=granted)
    ada = await person(town, company)
    assert (await ada.send("GET", path_of(theirs), headers=STREAM)).status_code == 403
    async with heard(town, ada, mine) as page:
        assert (await page.next())[1] == "ready"
        for one in (hidden, shown):
            await company.send("PUT", f"/api/v1/agent_messages/{one}", json={"content": "Changed"})
        await set_status(company, mine, available)
        heard_events = [await page.next() for _ in range(2)]
        assert [(name, data["data"]["id"]) for _, name, data in heard_events[:1]] == [("agent_message", shown)]
        assert heard_events[1][1] == "agent_status"
        less = {"permissions": {"agent_message": granted["agent_message"]}}
        assert (await company.send("PUT", f"/api/v1/access_control_lists/{made['id']}", json=less)).status_code == 200
        await town.context.rules.refresh()
        await set_status(company, mine, await status(company, "lunch"))
        await company.send("PUT", f"/api/v1/agent_messages/{shown}", json={"content": "Again"})
        assert (await page.next())[1] == "agent_message"
        none = {"permissions": {"lead": {"actions": ["read"]}}}
        assert (await company.send("PUT", f"/api/v1/access_control_lists/{made['id']}", json=none)).status_code == 200
        await page.end()


async def test_a_quiet_stream_has_comments(town: Any, company: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "KEY_CHECK_SECONDS", 0.02)
    monkeypatch.setattr(events, "HEARTBEAT_SECONDS", 0.05)
    ada = await agent(company)
    async with heard(town, company, ada) as page:
        assert await page.comment() == ": still here"


async def test_a_stream_ends_after_a_time_so_that_clients_spread(
    town: Any, company: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(events, "KEY_CHECK_SECONDS", 0.02)
    monkeypatch.setattr(events, "STREAM_SECONDS", 0.1)
    ada = await agent(company)
    async with heard(town, company, ada) as page:
        await page.end()


async def test_streams_are_limited_by_company_and_in_all(
    town: Any, company: Any, other: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_streams, "COMPANY_STREAMS_MAX", 1)
    monkeypatch.setattr(event_streams, "STREAMS_MAX", 2)
    ada, theirs, third = await agent(company), await agent(other), await town.company()
    hers = await agent(third)
    await town.context.rules.refresh()
    async with (
        streaming(town) as port,
        httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", headers=STREAM, timeout=WAIT_SECONDS) as client,
    ):
        async with client.stream("GET", path_of(ada), headers=company.headers) as first:
            page = Heard(first)  # held: an iterator that is forgotten closes its answer
            await page.next()
            refused = await company.send("GET", path_of(ada), headers=STREAM)
            assert (refused.status_code, refused.json()["code"]) == (429, "rate_limited")
            assert refused.headers["retry-after"] == "10"
            async with client.stream("GET", path_of(theirs), headers=other.headers) as second:
                another = Heard(second)
                await another.next()
                full = await third.send("GET", path_of(hers), headers=STREAM)
                assert (full.status_code, full.json()["code"], full.headers["retry-after"]) == (503, "streams_busy", "10")
        await all_closed(town)
        async with client.stream("GET", path_of(ada), headers=company.headers) as again:  # a closed one is free again
            await Heard(again).next()


async def test_a_client_that_goes_away_frees_its_stream(town: Any, company: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_streams, "COMPANY_STREAMS_MAX", 1)
    ada = await agent(company)
    await town.context.rules.refresh()
    async with streaming(town) as port, asyncio.timeout(WAIT_SECONDS):
        lines = "".join(f"{name}: {value}\r\n" for name, value in {**company.headers, **STREAM}.items())
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(f"GET {path_of(ada)} HTTP/1.1\r\nHost: x\r\n{lines}\r\n".encode())
        await reader.readuntil(b"ready")
        writer.close()
        await all_closed(town)


async def test_all_streams_cost_one_query_for_a_change(town: Any, company: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    available, agents = await status(company), [await agent(company) for _ in range(5)]
    streams = town.app._services.streams
    asked: list[int] = []
    read = streams.reads.agent_events

    async def counted(after: Any, limit: int) -> Any:
        rows = await read(after, limit)
        asked.append(len(rows))
        return rows

    monkeypatch.setattr(streams.reads, "agent_events", counted)
    await town.context.rules.refresh()
    async with (
        streaming(town) as port,
        httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", headers={**company.headers, **STREAM}) as client,
        AsyncExitStack() as stack,
    ):
        opened = [client.stream("GET", path_of(one)) for one in agents for _ in range(2)]
        pages = [Heard(await stack.enter_async_context(one)) for one in opened]
        for page in pages:
            await page.next()
        for agent_id in agents:
            await set_status(company, agent_id, available)
        for page in pages:
            assert (await page.next())[1] == "agent_status"
    assert sum(asked) == len(agents), "each change was read once, for ten streams"


async def test_a_slow_reader_is_closed_and_holds_no_more_than_its_queue(
    town: Any, company: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_streams, "WAITING_ROWS_MAX", 3)
    monkeypatch.setattr(events, "KEY_CHECK_SECONDS", WAIT_SECONDS)
    streams = town.app._services.streams
    async with streams.open(company.id) as stream:
        for number in range(1, 5):
            assert not stream.is_closed
            stream.put({"id": number, "company_id": company.id})
        assert stream.is_closed
        assert await stream.take(WAIT_SECONDS) == ()


async def test_open_streams_end_when_the_process_stops(migrated_database: str) -> None:
    async with deployed(migrated_database, UNLIMITED) as town:
        company = await town.company()
        ada = await agent(company)
        async with heard(town, company, ada) as page:
            await page.next()
            town.app.end_streams()
            await page.end()
        late = await company.send("GET", path_of(ada), headers=STREAM)
        assert (late.status_code, late.json()["code"], late.headers["retry-after"]) == (503, "streams_busy", "10")


async def test_a_stream_that_opens_while_the_process_stops_is_refused(
    migrated_database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with deployed(migrated_database, UNLIMITED) as town:
        company = await town.company()
        ada = await agent(company)
        reads = town.app._services.streams.reads
        read = reads.newest_agent_event

        async def stopped_meanwhile(company_id: int) -> Any:
            town.app.end_streams()
            return await read(company_id)

        monkeypatch.setattr(reads, "newest_agent_event", stopped_meanwhile)
        async with asyncio.timeout(WAIT_SECONDS):
            late = await company.send("GET", path_of(ada), headers=STREAM)
        assert (late.status_code, late.json()["code"], late.headers["retry-after"]) == (503, "streams_busy", "10")
        await all_closed(town)


async def test_an_open_stream_slows_no_report_down(town: Any, company: Any) -> None:
    async with heard(town, company, await agent(company)) as page:
        assert (await page.next())[1] == "ready"
        assert not town.app._services.short_requests.are_in_progress
