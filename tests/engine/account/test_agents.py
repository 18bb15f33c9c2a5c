"""Is a change of an agent's status logged once, and does a message reach those whom it is for?"""

from typing import Any

import pytest

from engine.account.agents import ACKNOWLEDGED_MAX, is_addressed
from schemas.account import AgentState
from schemas.records import Agent, AgentMessage
from schemas.requests import AgentMessageAcknowledged, AgentSilenceReported, AgentStatusChangeRequested
from schemas.state import agent_key
from schemas.wire import to_pack
from tests.engine.account.conftest import AccountWorld


def set_status(account: AccountWorld, agent: int, status: int, *, widget: int | None = None, company_id: int = 1) -> Any:
    request = AgentStatusChangeRequested(
        company_id=company_id, agent_id=agent, agent_status_id=status, agent_widget_id=widget
    )
    return account.ask(request).decision


def acknowledge(account: AccountWorld, agent: int, message: int) -> Any:
    return account.ask(AgentMessageAcknowledged(company_id=1, agent_id=agent, agent_message_id=message)).decision


def facts(decision: Any) -> list[dict[str, Any]]:
    return [{"type": fact.type, **fact.data} for fact in decision.facts]


@pytest.fixture
def statuses(account: AccountWorld) -> dict[str, int]:
    return {key: account.create("agent_status", name=key, key=key) for key in ("available", "lunch")}


def test_a_status_is_logged_with_its_key_and_a_repeat_is_not(account: AccountWorld, statuses: dict[str, int]) -> None:
    agent = account.create("agent", name="Ada")

    first = facts(set_status(account, agent, statuses["available"], widget=7))
    repeated = facts(set_status(account, agent, statuses["available"], widget=7))
    elsewhere = facts(set_status(account, agent, statuses["available"], widget=8))
    second = facts(set_status(account, agent, statuses["lunch"], widget=8))

    assert repeated == []
    assert [(fact["type"], fact["key"], fact["agent_widget_id"]) for (fact,) in (first, elsewhere, second)] == [
        ("agent.status_changed", "available", 7),
        ("agent.status_changed", "available", 8),
        ("agent.status_changed", "lunch", 8),
    ]
    numbers = [fact["timestamp_id"] for (fact,) in (first, elsewhere, second)]
    assert numbers == sorted(set(numbers))


def test_who_and_what_is_not_there_is_refused(account: AccountWorld, statuses: dict[str, int]) -> None:
    account.create("company", company_id=2, name="Other")
    agent, theirs = account.create("agent", name="Ada"), account.create("agent", company_id=2, name="Eve")
    gone = account.create("agent_status", name="Gone", key="break")
    account.delete("agent_status", gone)
    for agent_id, status_id, field in (
        (theirs, statuses["available"], "agent_id"),
        (999, statuses["available"], "agent_id"),
        (agent, gone, "agent_status_id"),
        (agent, agent, "agent_status_id"),
    ):
        answer = set_status(account, agent_id, status_id).answer
        assert (answer.code, list(answer.errors)) == ("not_found", [field])
    assert acknowledge(account, agent, 999).answer.code == "not_found"


def test_the_status_of_a_deleted_agent_is_forgotten(account: AccountWorld, statuses: dict[str, int]) -> None:
    agent = account.create("agent", name="Ada")
    set_status(account, agent, statuses["available"])
    assert account.state.get(agent_key(agent), AgentState) is not None

    account.delete("agent", agent)

    assert account.state.get(agent_key(agent), AgentState) is None


def test_a_message_is_acknowledged_once_by_each_agent(account: AccountWorld) -> None:
    ada, grace = account.create("agent", name="Ada"), account.create("agent", name="Grace")
    message = account.create("agent_message", content="Hello")

    found = [facts(acknowledge(account, agent, message)) for agent in (ada, ada, grace)]

    assert found == [
        [{"type": "agent_message.acknowledged", "agent_message_id": message, "agent_id": ada}],
        [],
        [{"type": "agent_message.acknowledged", "agent_message_id": message, "agent_id": grace}],
    ]


def test_the_state_of_an_agent_stays_small(account: AccountWorld) -> None:
    agent = account.create("agent", name="Ada")
    messages = [account.create("agent_message", content=f"No. {number}") for number in range(ACKNOWLEDGED_MAX + 5)]
    for message in messages:
        acknowledge(account, agent, message)

    state = account.state.get(agent_key(agent), AgentState)

    assert state is not None
    assert state.acknowledged == tuple(messages[-ACKNOWLEDGED_MAX:])


def test_a_status_or_call_center_that_is_in_use_is_not_deleted(account: AccountWorld, statuses: dict[str, int]) -> None:
    center = account.create("call_center", name="Tampa")
    account.create("agent", name="Ada", call_center_id=center)
    account.create("agent_message", content="Hello", agent_status_id=statuses["lunch"])
    for record_type, record_id in (("call_center", center), ("agent_status", statuses["lunch"])):
        assert account.delete(record_type, record_id).code == "record_in_use"
    assert account.delete("agent_status", statuses["available"]).status == 200


def test_two_agents_have_two_addresses(account: AccountWorld) -> None:
    first = account.create("agent", name="Ada", user_email="Ada@example.com")
    taken = account.change("create", "agent", name="Eve", user_email="ada@EXAMPLE.com")
    assert (taken.code, list(taken.errors)) == ("duplicate_value", ["user_email"])
    account.update("agent", first, user_email=None)
    account.create("agent", name="Eve", user_email="ada@example.com")


GROUPS = {70: (3, 4), 71: ()}


@pytest.mark.parametrize(
    ("message", "is_for_ada"),
    [
        ({}, True),
        ({"content": ""}, False),
        ({"buyer_ids": (1,)}, True),
        ({"buyer_ids": (2,)}, False),
        ({"buyer_group_ids": (70,)}, True),
        ({"buyer_group_ids": (71, 72)}, False),
        ({"call_center_ids": (9,)}, True),
        ({"call_center_ids": (8,)}, False),
        ({"buyer_ids": (2,), "call_center_ids": (9,)}, True),
        ({"agent_status_id": 5}, True),
        ({"agent_status_id": 6}, False),
        ({"agent_status_id": 6, "buyer_ids": (1,)}, False),
        ({"agent_status_id": 5, "buyer_ids": (2,)}, False),
    ],
)
def test_a_message_is_for_agents_of_any_target_in_its_status(message: dict[str, Any], *, is_for_ada: bool) -> None:
    ada = Agent(name="Ada", buyer_ids=(1, 3), call_center_id=9)
    sent = AgentMessage(**{"content": "Hello", **message})
    assert is_addressed(sent, ada, 5, lambda group_id: GROUPS.get(group_id, ())) is is_for_ada


def test_an_agent_without_call_center_and_buyers_gets_what_is_for_all(account: AccountWorld) -> None:
    del account
    alone = Agent(name="Ada")
    for fields, is_for in (({}, True), ({"call_center_ids": (9,)}, False), ({"agent_status_id": 5}, False)):
        assert is_addressed(AgentMessage(content="Hello", **fields), alone, None, lambda _: ()) is is_for


def report_silence(account: AccountWorld, agent: int, timestamp_id: int | None, *, company_id: int = 1) -> Any:
    request = AgentSilenceReported(company_id=company_id, agent_id=agent, status_timestamp_id=timestamp_id)
    return account.ask(request).decision


def test_a_silent_agent_goes_offline_once(account: AccountWorld, statuses: dict[str, int]) -> None:
    agent = account.create("agent", name="Ada")
    (fact,) = facts(set_status(account, agent, statuses["available"], widget=7))

    (silent,) = facts(report_silence(account, agent, fact["timestamp_id"]))
    again = facts(report_silence(account, agent, fact["timestamp_id"]))

    assert (silent["key"], silent["agent_status_id"], silent["agent_widget_id"]) == ("offline", None, 7)
    assert silent["reason"] == "silence"
    assert silent["timestamp_id"] > fact["timestamp_id"]
    assert again == []
    assert facts(report_silence(account, agent, silent["timestamp_id"])) == [], "who is offline stays so"


def test_a_status_that_was_set_meanwhile_stands(account: AccountWorld, statuses: dict[str, int]) -> None:
    agent = account.create("agent", name="Ada")
    (before,) = facts(set_status(account, agent, statuses["lunch"]))
    set_status(account, agent, statuses["available"])

    assert facts(report_silence(account, agent, before["timestamp_id"])) == []
    state = account.state.get(agent_key(agent), AgentState)
    assert state is not None
    assert state.key == "available"


def test_silence_of_who_had_no_status_or_is_gone_or_elsewhere_says_nothing(account: AccountWorld) -> None:
    account.create("company", company_id=2, name="Other")
    agent, gone = account.create("agent", name="Ada"), account.create("agent", name="Grace")
    account.delete("agent", gone)
    for agent_id, company_id in ((agent, 1), (gone, 1), (agent, 2), (999, 1)):
        decision = report_silence(account, agent_id, None, company_id=company_id)
        assert (facts(decision), decision.answer.status) == ([], 200)


def test_a_status_of_before_keys_were_stored_goes_offline_too(account: AccountWorld, statuses: dict[str, int]) -> None:
    agent = account.create("agent", name="Ada")
    before = AgentState(company_id=1, agent_status_id=statuses["available"])
    account.state.set(agent_key(agent), to_pack(before))
    account.state.commit()

    (silent,) = facts(report_silence(account, agent, 3))

    assert silent["key"] == "offline"
