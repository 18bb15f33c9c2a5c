"""Is one available agent reserved for each dial, given back by its outcome, and never taken by two?"""

import pytest

from schemas.account import AgentState
from schemas.instant import SECOND
from schemas.requests import AgentStatusChangeRequested, SlotAnswered, SlotRequested
from schemas.state import agent_key
from tests.engine.account.conftest import AccountWorld, answers
from tests.engine.account.test_agents import facts, report_silence, set_status


@pytest.fixture
def statuses(account: AccountWorld) -> dict[str, int]:
    return {key: account.create("agent_status", name=key, key=key) for key in ("available", "lunch")}


@pytest.fixture
def center(account: AccountWorld) -> int:
    return account.create("call_center", name="Tampa")


def state_of(account: AccountWorld, agent: int) -> AgentState:
    state = account.state.get(agent_key(agent), AgentState)
    assert state is not None
    return state


def key_of(account: AccountWorld, agent: int) -> str | None:
    return state_of(account, agent).key


def agent_of(answers: list[SlotAnswered]) -> int | None:
    (answer,) = answers
    assert answer.granted
    return answer.agent_id


def available(account: AccountWorld, statuses: dict[str, int], *agents: int) -> None:
    for agent in agents:
        set_status(account, agent, statuses["available"])


def test_the_agent_who_is_available_longest_is_reserved_and_reads_on_call(
    account: AccountWorld, statuses: dict[str, int], center: int
) -> None:
    ada, grace, away = (account.create("agent", name=name, call_center_id=center) for name in ("Ada", "Grace", "Eve"))
    elsewhere = account.create("agent", name="Bob")
    available(account, statuses, elsewhere, grace, ada)
    set_status(account, away, statuses["lunch"])

    assert agent_of(account.want("a", call_center_ids=(center,))) == grace
    assert [key_of(account, one) for one in (grace, ada)] == ["on_call", "available"]
    assert agent_of(account.want("b", call_center_ids=(center,))) == ada
    assert account.want("c", call_center_ids=(center,)) == [], "nobody is free: it waits"
    assert agent_of(account.want("d", agent_ids=(elsewhere,))) == elsewhere


@pytest.mark.parametrize(
    ("ended", "key"),
    [("connected", "wrap_up"), ("unknown", "wrap_up"), ("attempted", "available"), ("unused", "available")],
)
def test_the_outcome_gives_the_agent_back(account: AccountWorld, statuses: dict[str, int], ended: str, key: str) -> None:
    ada = account.create("agent", name="Ada")
    available(account, statuses, ada)
    account.want("a", agent_ids=(ada,))
    account.release("a", ended=ended)
    account.release("a", ended=ended)  # a repeat

    state = state_of(account, ada)
    assert (state.key, state.slot_id) == (key, None)
    assert state.agent_status_id == (statuses["available"] if key == "available" else None)


def test_a_waiting_lead_gets_the_agent_who_comes_free_the_most_urgent_first(
    account: AccountWorld, statuses: dict[str, int], center: int
) -> None:
    ada = account.create("agent", name="Ada", call_center_id=center)
    assert account.want("a", call_center_ids=(center,)) == []
    assert account.want("b", agent_ids=(ada,), urgency_class=0) == []

    assert granted(comes_back(account, ada, statuses)) == [("b", ada)]
    assert granted(account.release("b", ended="attempted")) == [("a", ada)]
    assert granted(account.release("a", ended="connected")) == []
    assert account.want("c", call_center_ids=(center,)) == [], "who wraps up takes no call"
    assert granted(comes_back(account, ada, statuses)) == [("c", ada)]


def comes_back(account: AccountWorld, agent: int, statuses: dict[str, int]) -> list[SlotAnswered]:
    request = AgentStatusChangeRequested(company_id=1, agent_id=agent, agent_status_id=statuses["available"])
    return answers(account.ask(request))


def granted(found: list[SlotAnswered]) -> list[tuple[str, int | None]]:
    return [(answer.request_id, answer.agent_id) for answer in found if answer.granted]


def test_an_agent_who_comes_to_a_call_center_takes_what_waits_there(
    account: AccountWorld, statuses: dict[str, int], center: int
) -> None:
    ada = account.create("agent", name="Ada")
    available(account, statuses, ada)
    assert account.want("a", call_center_ids=(center,)) == []
    account.update("agent", ada, call_center_id=center)
    assert key_of(account, ada) == "on_call"


def test_a_status_that_the_agent_sets_during_a_call_stands_after_it(account: AccountWorld, statuses: dict[str, int]) -> None:
    ada = account.create("agent", name="Ada")
    available(account, statuses, ada)
    account.want("a", agent_ids=(ada,))
    available(account, statuses, ada)
    assert account.want("b", agent_ids=(ada,)) == [], "reserved all the same"
    set_status(account, ada, statuses["lunch"])
    account.release("a", ended="connected")
    assert key_of(account, ada) == "lunch"


def test_who_went_offline_by_silence_during_a_call_stays_so(account: AccountWorld, statuses: dict[str, int]) -> None:
    ada = account.create("agent", name="Ada")
    available(account, statuses, ada)
    account.want("a", agent_ids=(ada,))
    report_silence(account, ada, state_of(account, ada).status_timestamp_id)
    account.release("a", ended="connected")
    assert key_of(account, ada) == "offline"


def test_a_deleted_agent_takes_no_call_and_its_slot_ends(account: AccountWorld, statuses: dict[str, int]) -> None:
    ada = account.create("agent", name="Ada")
    available(account, statuses, ada)
    account.want("a", agent_ids=(ada,))
    account.delete("agent", ada)
    account.release("a", ended="connected")
    assert account.state.get(agent_key(ada), AgentState) is None
    assert account.want("b", agent_ids=(ada,)) == []


def test_another_companys_agent_takes_no_call(account: AccountWorld) -> None:
    account.create("company", company_id=2, name="Other")
    theirs = account.create("agent", company_id=2, name="Eve")
    status = account.create("agent_status", company_id=2, name="available", key="available")
    set_status(account, theirs, status, company_id=2)
    assert account.want("a", agent_ids=(theirs,)) == []


def test_each_change_of_status_says_of_which_call_it_is(account: AccountWorld, statuses: dict[str, int]) -> None:
    ada = account.create("agent", name="Ada")
    set_status(account, ada, statuses["available"], widget=7)
    request = SlotRequested(company_id=1, contact_key="1|a", lead_id=7, request_id="a", agent_ids=(ada,))
    (reserved,) = facts(account.ask(request).decision)
    assert reserved["key"] == "on_call"
    assert (reserved["agent_widget_id"], reserved["reason"], reserved["command_id"]) == (7, "call", "a")
    assert reserved["for_lead_id"] == 7


def wrapped_up(account: AccountWorld, statuses: dict[str, int], center: int, *, seconds: int | None) -> int:
    """Return an agent after a call, in a company that lets wrap-up end after some seconds."""
    account.update("company", 1, wrap_up_seconds=seconds)
    agent = account.create("agent", name="Ada", call_center_id=center)
    available(account, statuses, agent)
    assert agent_of(account.want("a", call_center_ids=(center,))) == agent
    account.release("a", ended="connected")
    assert key_of(account, agent) == "wrap_up"
    return agent


def test_a_wrap_up_ends_by_itself_and_the_next_call_comes(
    account: AccountWorld, statuses: dict[str, int], center: int
) -> None:
    ada = wrapped_up(account, statuses, center, seconds=30)
    assert state_of(account, ada).wake_at == account.now + 30 * SECOND
    assert account.want("b", call_center_ids=(center,)) == []
    account.now += 30 * SECOND
    assert agent_of(account.tick(agent_key(ada))) == ada
    assert key_of(account, ada) == "on_call"
    account.release("b", ended="attempted")
    assert (key_of(account, ada), state_of(account, ada).agent_status_id) == ("available", statuses["available"])


def test_a_wrap_up_without_a_limit_lasts_until_a_status_is_set(
    account: AccountWorld, statuses: dict[str, int], center: int
) -> None:
    ada = wrapped_up(account, statuses, center, seconds=None)
    assert state_of(account, ada).wake_at is None


@pytest.mark.parametrize("key", ["lunch", "available"])
def test_a_status_that_is_set_in_wrap_up_stands(
    account: AccountWorld, statuses: dict[str, int], center: int, key: str
) -> None:
    ada = wrapped_up(account, statuses, center, seconds=30)
    set_status(account, ada, statuses[key])
    assert (state_of(account, ada).wake_at, key_of(account, ada)) == (None, key)


def test_an_agent_whose_page_falls_silent_in_wrap_up_is_not_made_available(
    account: AccountWorld, statuses: dict[str, int], center: int
) -> None:
    ada = wrapped_up(account, statuses, center, seconds=30)
    report_silence(account, ada, state_of(account, ada).status_timestamp_id)
    assert (state_of(account, ada).wake_at, key_of(account, ada)) == (None, "offline")


def test_a_call_whose_end_was_never_reported_makes_nobody_available(
    account: AccountWorld, statuses: dict[str, int], center: int
) -> None:
    account.update("company", 1, wrap_up_seconds=30)
    ada = account.create("agent", name="Ada", call_center_id=center)
    available(account, statuses, ada)
    account.want("a", call_center_ids=(center,))
    account.release("a", ended="unknown")
    assert (key_of(account, ada), state_of(account, ada).wake_at) == ("wrap_up", None)


def test_a_deleted_agent_has_no_wrap_up_left(account: AccountWorld, statuses: dict[str, int], center: int) -> None:
    ada = wrapped_up(account, statuses, center, seconds=30)
    account.delete("agent", ada)
    assert account.state.get(agent_key(ada), AgentState) is None


@pytest.mark.parametrize("seconds", [0, -1, 3_601, "soon"])
def test_a_wrap_up_is_a_second_to_an_hour(account: AccountWorld, seconds: object) -> None:
    answer = account.update("company", 1, wrap_up_seconds=seconds)
    assert (answer.code, list(answer.errors)) == ("validation_failed", ["wrap_up_seconds"])


def call_by_hand(account: AccountWorld, agent: int, request_id: str = "a") -> None:
    assert account.want(request_id, agent_ids=(agent,), is_placed=True) == []


@pytest.mark.parametrize(
    ("before", "ended", "after"),
    [
        ("available", "connected", "wrap_up"),
        ("available", "attempted", "available"),
        ("lunch", "attempted", "lunch"),
        ("lunch", "connected", "wrap_up"),
        ("lunch", "unknown", "wrap_up"),
        (None, "attempted", "offline"),
    ],
)
def test_an_agent_who_calls_by_hand_is_on_call_until_the_outcome(
    account: AccountWorld, statuses: dict[str, int], before: str | None, ended: str, after: str
) -> None:
    ada = account.create("agent", name="Ada")
    if before is not None:
        set_status(account, ada, statuses[before], widget=7)
    call_by_hand(account, ada)
    assert (key_of(account, ada), state_of(account, ada).slot_id) == ("on_call", "a")
    assert account.want("b", agent_ids=(ada,)) == [], "no other call comes meanwhile"

    answers_of_end = account.release("a", ended=ended)
    assert granted(answers_of_end) == ([("b", ada)] if after == "available" else [])
    assert key_of(account, ada) == ("on_call" if after == "available" else after)
    if before == after == "lunch":
        assert state_of(account, ada).agent_status_id == statuses["lunch"]
    assert state_of(account, ada).agent_widget_id == (None if before is None else 7)


def test_after_the_wrap_up_of_a_call_by_hand_the_agent_is_what_they_were_before(
    account: AccountWorld, statuses: dict[str, int]
) -> None:
    account.update("company", 1, wrap_up_seconds=30)
    ada = account.create("agent", name="Ada")
    set_status(account, ada, statuses["lunch"])
    for request_id in "ab":  # the second one cuts the first one's wrap-up short
        call_by_hand(account, ada, request_id)
        account.release(request_id, ended="connected")
        assert key_of(account, ada) == "wrap_up"
    account.now += 30 * SECOND
    account.tick(agent_key(ada))
    assert (key_of(account, ada), state_of(account, ada).agent_status_id) == ("lunch", statuses["lunch"])


def test_a_call_by_hand_does_not_take_an_agent_from_another_call(account: AccountWorld, statuses: dict[str, int]) -> None:
    ada = account.create("agent", name="Ada")
    available(account, statuses, ada)
    account.want("a", agent_ids=(ada,))
    call_by_hand(account, ada, "b")
    account.release("b", ended="connected")
    assert (key_of(account, ada), state_of(account, ada).slot_id) == ("on_call", "a")
    account.release("a", ended="attempted")
    assert key_of(account, ada) == "available"


def test_an_agent_who_was_rung_in_vain_is_left_out_of_the_next_try(
    account: AccountWorld, statuses: dict[str, int], center: int
) -> None:
    ada, grace = (account.create("agent", name=name, call_center_id=center) for name in ("Ada", "Grace"))
    available(account, statuses, ada, grace)
    asked = {"call_center_ids": (center,), "call_id": 9}
    assert agent_of(account.want("1", **asked)) == ada
    account.release("1", ended="attempted")
    assert agent_of(account.want("2", excluded_agent_ids=(ada,), **asked)) == grace
    account.release("2", ended="attempted")
    (refused,) = account.want("3", excluded_agent_ids=(ada, grace), **asked)
    assert (refused.granted, refused.reason) == (False, "concurrency_cap")
    assert not [key for key, _ in account.state.items() if "without_agents" in key], "no queue is left behind"
