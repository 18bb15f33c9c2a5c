"""Can agents set a status, and read and acknowledge the messages that are for them?"""

import asyncio
from typing import Any

import pytest
import pytest_asyncio

from adapters.http.agents import silence
from adapters.http.agents.silence import SilenceReports
from adapters.postgres.heartbeats import PostgresHeartbeats
from tests.adapters.http.conftest import Town
from tests.adapters.http.test_teams import ADA, person, team

pytestmark = pytest.mark.asyncio(loop_scope="session")

MESSAGES = "/api/v1/agent_messages"
LOG = "/api/v1/agent_status_timestamps"
SET = "/api/v1/agent_statuses/set"


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def town(own_town: Town) -> Town:
    """Alone: the report of silent agents is of all companies."""
    return own_town


async def status(company: Any, key: str = "available") -> int:
    return int((await company.record("agent_statuses", {"name": key, "key": key}))["id"])


async def agent(company: Any, **fields: Any) -> int:
    return int((await company.record("agents", {"name": "Ada", **fields}))["id"])


async def message(company: Any, **fields: Any) -> int:
    return int((await company.record("agent_messages", {"content": "Hello", **fields}))["id"])


async def unread(company: Any, agent_id: int) -> list[int]:
    answer = await company.send("GET", f"/api/v1/agents/{agent_id}/messages")
    assert answer.status_code == 200, answer.text
    return [one["id"] for one in answer.json()["agent_messages"]]


async def test_a_message_is_built_made_shown_changed_and_deleted(company: Any, other: Any) -> None:
    lunch = await status(company, "lunch")
    built = await company.send("GET", f"{MESSAGES}/new", params={"content": "Hi", "agent_status_id": lunch})
    shown = built.json()["agent_message"]
    assert (shown["id"], shown["content"], shown["agent_status_id"], shown["agent_widget_count"]) == (
        None,
        "Hi",
        lunch,
        None,
    )
    made = await company.record("agent_messages", {"content": "Hello"})
    assert made.items() >= {"type": "AgentMessage", "content": "Hello", "user_id": None, "agent_widget_count": 0}.items()
    path = f"{MESSAGES}/{made['id']}"
    assert (await company.send("GET", path)).json()["agent_message"] == made
    assert (await other.send("GET", path)).status_code == 404
    for content in ("Hello again", ""):
        changed = await company.send("PUT", path, json={"content": content})
        assert (changed.status_code, changed.json()["agent_message"]["content"]) == (200, content)
    for bad in ({}, {"content": ""}, {"content": "x" * 2_001}):
        refused = await company.send("POST", MESSAGES, json=bad)
        assert (refused.status_code, list(refused.json()["errors"])) == (422, ["content"])
    assert (await company.send("DELETE", path)).status_code == 200
    assert (await company.send("GET", path)).json()["code"] == "deleted"


async def test_messages_are_listed_by_page_filter_and_column(company: Any) -> None:
    first, second = await message(company), await message(company)
    cases: list[tuple[dict[str, Any], list[int]]] = [
        ({"ids": first}, [first]),
        ({"per_page": 1, "page": 2}, [first]),
        ({"created_at_from": "2000-01-01", "created_at_to": "2999-01-01"}, [second, first]),
        ({"created_at_to": "2000-01-01 00:00", "time_zone": "America/New_York"}, []),
        ({"fulltext": "nothing"}, []),
        ({"fulltext": "HELL"}, [second, first]),
    ]
    for params, expected in cases:
        answer = await company.send("GET", MESSAGES, params=params)
        assert [one["id"] for one in answer.json()["agent_messages"]] == expected, params
    bare = await company.send("GET", MESSAGES, params={"root": "false", "columns": "content", "ids": first})
    assert bare.json() == [{"content": "Hello"}]


async def test_a_status_is_set_shown_with_the_agent_and_logged(company: Any, other: Any) -> None:
    available, lunch, ada = await status(company), await status(company, "lunch"), await agent(company)
    assert (await company.send("GET", f"/api/v1/agents/{ada}")).json()["agent"]["agent_status_id"] is None
    for status_id, widget in ((available, 7), (available, 7), (lunch, None)):
        fields = {"collaborator_id": ada, "agent_status_id": status_id, "agent_widget_id": widget}
        answer = await company.send("POST", SET, json=fields)
        assert answer.status_code == 200, answer.text
        shown = answer.json()["agent"]
        assert (shown["id"], shown["agent_status_id"], shown["agent_widget_id"]) == (ada, status_id, widget)
    listed = await company.send("GET", LOG)
    rows = listed.json()["agent_status_timestamps"]
    assert [(row["key"], row["agent_status_id"], row["agent_widget_id"]) for row in rows] == [
        ("lunch", lunch, None),
        ("available", available, 7),
    ]
    assert {(row["collaborator_id"], row["user_id"], row["company_id"]) for row in rows} == {(ada, None, company.id)}
    assert all(row["created_at"] == row["updated_at"] for row in rows)
    assert shown["status_changed_at"] == rows[0]["created_at"]
    assert (await other.send("GET", LOG)).json()["agent_status_timestamps"] == []


async def test_every_parameter_of_the_log_of_statuses_takes_effect(company: Any) -> None:
    available, lunch = await status(company), await status(company, "lunch")
    ada, grace = await agent(company), await agent(company, name="Grace")
    for agent_id, status_id in ((ada, available), (grace, lunch)):
        answer = await company.send("POST", SET, json={"collaborator_id": agent_id, "agent_status_id": status_id})
        assert answer.status_code == 200, answer.text
    cases: list[tuple[dict[str, Any], list[int]]] = [
        ({}, [grace, ada]),
        ({"per_page": 1, "page": 2}, [ada]),
        ({"cursor": -1}, [grace, ada]),
        ({"fulltext": "AVAIL"}, [ada]),
        ({"fulltext": "grac"}, [grace]),
        ({"created_at_from": "2000-01-01", "created_at_to": "2999-01-01"}, [grace, ada]),
        ({"created_at_from": "2999-01-01 00:00", "time_zone": "America/New_York"}, []),
    ]
    for params, expected in cases:
        rows = (await company.send("GET", LOG, params=params)).json()["agent_status_timestamps"]
        assert [row["collaborator_id"] for row in rows] == expected, params
    bare = await company.send("GET", LOG, params={"root": "false", "columns": "key", "per_page": 1})
    assert bare.json() == [{"key": "lunch"}]
    assert (await company.send("GET", f"{LOG}.csv", params={"columns": "key"})).text == '"key"\r\n"lunch"\r\n"available"\r\n'


async def test_what_cannot_be_set_is_refused_with_its_field(company: Any, other: Any) -> None:
    available, ada = await status(company), await agent(company)
    theirs = {"collaborator_id": await agent(other), "agent_status_id": await status(other)}
    mine = {"collaborator_id": ada, "agent_status_id": available}
    for fields, field in (
        ({**mine, "collaborator_id": theirs["collaborator_id"]}, "collaborator_id"),
        ({**mine, "agent_status_id": theirs["agent_status_id"]}, "agent_status_id"),
        ({"agent_status_id": available}, "collaborator_id"),
        ({"collaborator_id": ada}, "agent_status_id"),
        ({**mine, "agent_widget_id": "x"}, "agent_widget_id"),
    ):
        answer = await company.send("POST", SET, json=fields)
        assert (answer.status_code, list(answer.json()["errors"])) == (422, [field]), fields
    assert (await company.send("GET", LOG)).json()["agent_status_timestamps"] == []


async def test_a_message_reaches_the_agents_that_it_is_for(town: Any, company: Any) -> None:
    buyer = (await company.record("buyers", {"name": "B", "number": "+12125550140"}))["id"]
    group = (await company.record("buyer_groups", {"name": "G", "buyer_ids": [buyer]}))["id"]
    center = (await company.record("call_centers", {"name": "Tampa"}))["id"]
    available, lunch = await status(company), await status(company, "lunch")
    seller, home = await agent(company, buyer_ids=[buyer]), await agent(company, call_center_id=center)
    await company.send("POST", SET, json={"collaborator_id": home, "agent_status_id": available})
    expected = {
        await message(company): {seller, home},
        await message(company, buyer_ids=[buyer]): {seller},
        await message(company, buyer_group_ids=[group]): {seller},
        await message(company, call_center_ids=[center]): {home},
        await message(company, agent_status_id=available): {home},
        await message(company, agent_status_id=lunch, call_center_ids=[center]): set(),
    }
    await town.context.rules.refresh()
    for agent_id in (seller, home):
        assert await unread(company, agent_id) == sorted(
            (one for one, to in expected.items() if agent_id in to), reverse=True
        )
    (last,) = (one for one, to in expected.items() if not to)
    changes: dict[str, Any] = {"agent_status_id": None, "call_center_ids": [], "buyer_ids": [buyer], "buyer_group_ids": []}
    assert (await company.send("PUT", f"{MESSAGES}/{last}", json=changes)).status_code == 200
    await town.context.rules.refresh()
    assert (await unread(company, seller))[0] == last


async def test_an_acknowledged_message_is_counted_and_not_shown_again(town: Any, company: Any) -> None:
    ada, grace, hello = await agent(company), await agent(company), await message(company)
    await town.context.rules.refresh()
    assert await unread(company, ada) == await unread(company, grace) == [hello]
    for agent_id, count in ((ada, 1), (ada, 1), (grace, 2)):
        answer = await company.send("POST", f"{MESSAGES}/{hello}/acknowledge", json={"collaborator_id": agent_id})
        assert (answer.status_code, answer.json()["agent_message"]["agent_widget_count"]) == (200, count), answer.text
    assert await unread(company, ada) == await unread(company, grace) == []
    listed = await company.send("GET", MESSAGES, params={"columns": "agent_widget_count"})
    assert listed.json()["agent_messages"] == [{"agent_widget_count": 2}]


async def test_a_person_acts_for_the_agent_with_that_address_and_for_no_other(town: Any, company: Any) -> None:
    available, hello = await status(company), await message(company)
    mine, theirs = await agent(company, user_email=ADA), await agent(company, name="Grace")
    granted = {"agent_status": {"actions": ["set"]}, "agent_message": {"actions": ["read", "acknowledge"]}}
    made = await team(company, permissions=granted)
    ada = await person(town, company)
    assert (await ada.send("POST", SET, json={"agent_status_id": available})).json()["agent"]["id"] == mine
    assert await unread(ada, mine) == [hello]
    read = await ada.send("POST", f"{MESSAGES}/{hello}/acknowledge")
    assert read.json()["agent_message"]["agent_widget_count"] == 1
    refusals = [
        await ada.send("POST", SET, json={"agent_status_id": available, "collaborator_id": theirs}),
        await ada.send("POST", f"{MESSAGES}/{hello}/acknowledge", json={"collaborator_id": theirs}),
        await ada.get(f"/api/v1/agents/{theirs}/messages"),
    ]
    assert [answer.status_code for answer in refusals] == [403, 403, 403]
    wider = {"permissions": {**granted, "agent": {"actions": ["update"]}}}
    assert (await company.send("PUT", f"/api/v1/access_control_lists/{made['id']}", json=wider)).status_code == 200
    await town.context.rules.refresh()
    set_for_another = await ada.send("POST", SET, json={"agent_status_id": available, "collaborator_id": theirs})
    assert set_for_another.json()["agent"]["id"] == theirs


def beat(agent_id: int) -> str:
    return f"/api/v1/agents/{agent_id}/heartbeat"


def reports(town: Any) -> SilenceReports:
    return SilenceReports(PostgresHeartbeats(town.pool), town.app._services.reads, town.requests)


async def shown_status(company: Any, agent_id: int) -> tuple[str | None, int | None]:
    shown = (await company.send("GET", f"/api/v1/agents/{agent_id}")).json()["agent"]
    return shown["agent_status_key"], shown["agent_status_id"]


async def test_an_agent_whose_page_is_silent_goes_offline_and_heartbeats_set_nothing(
    town: Any, company: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    available, ada, grace = await status(company), await agent(company), await agent(company, name="Grace")
    for agent_id in (ada, grace):
        await company.send("POST", SET, json={"collaborator_id": agent_id, "agent_status_id": available})
    heard = await company.send("POST", beat(ada))
    assert heard.json()["agent_heartbeat"] == {"collaborator_id": ada, "offline_after_seconds": 30}
    assert await reports(town).report_once() == 0
    monkeypatch.setattr(silence, "OFFLINE_AFTER_SECONDS", 0.0)
    assert await reports(town).report_once() == 1
    assert await shown_status(company, ada) == ("offline", None)
    assert await shown_status(company, grace) == ("available", available), "no heartbeat is expected of her page"
    assert (await company.send("POST", beat(ada))).status_code == 200
    assert await shown_status(company, ada) == ("offline", None)
    assert await reports(town).report_once() == 1
    rows = (await company.send("GET", LOG)).json()["agent_status_timestamps"]
    assert [(row["collaborator_id"], row["key"]) for row in rows] == [
        (ada, "offline"),
        (grace, "available"),
        (ada, "available"),
    ]
    await company.send("POST", SET, json={"collaborator_id": ada, "agent_status_id": available})
    assert await shown_status(company, ada) == ("available", available)


async def test_two_processes_report_a_silent_agent_once(town: Any, company: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(silence, "OFFLINE_AFTER_SECONDS", 0.0)
    monkeypatch.setattr(silence, "LEASE_SECONDS", 0.0)  # the first process is slower than its lease
    available, ada = await status(company), await agent(company)
    await company.send("POST", SET, json={"collaborator_id": ada, "agent_status_id": available})
    await company.send("POST", beat(ada))
    await asyncio.gather(*(reports(town).report_once() for _ in range(4)))
    rows = (await company.send("GET", LOG)).json()["agent_status_timestamps"]
    assert [row["key"] for row in rows] == ["offline", "available"]


async def test_only_the_own_agent_has_a_heartbeat(town: Any, company: Any, other: Any) -> None:
    mine, theirs = await agent(company, user_email=ADA), await agent(company, name="Grace")
    await team(company, permissions={"agent_status": {"actions": ["set"]}})
    ada = await person(town, company)
    assert (await ada.send("POST", beat(mine))).status_code == 200
    assert (await ada.send("POST", beat(theirs))).status_code == 403
    assert (await other.send("POST", beat(mine))).status_code == 404
    assert (await company.send("POST", beat(mine), json={"agent_status_id": 1})).status_code == 422
