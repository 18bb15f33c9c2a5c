"""Does a lead go on as if a known outcome had come first, where it comes after `unknown`?"""

import re
from itertools import product
from pathlib import Path
from typing import Any

import msgspec
import pytest

from schemas.commands import HangUp, PlaceCall
from schemas.instant import HOUR, SECOND
from schemas.outcomes import CALL_OUTCOMES, GATE_OUTCOMES, HELD, OUTCOMES, standing
from schemas.records import Buyer, BuyerGroup, OutgoingWebhook
from schemas.requests import CallProgressed, ReachWithdrawn, SlotAnswered, SlotReleased
from tests.engine.contact.world import KEY, World

PAGE = Path(__file__).parents[3] / "deploy" / "docs" / "producers.md"
CALL = {"id": "call", "kind": "call", "retry": {"unknown": {"delay": "24s"}, "no_answer": {"delay": "2h"}}}
TEXT = {"id": "text", "kind": "sms", "template": "Hi", "retry": {"unknown": {"delay": "24s"}}}
MAIL = {"id": "mail", "kind": "email", "subject": "S", "template": "B", "retry": {"unknown": {"delay": "24s"}}}
REST = {"id": "rest", "kind": "wait", "duration": "5h"}
LAST = {"id": "last", "kind": "sms", "template": "Bye"}
RETRY_SECONDS = 24


def after_unknown(*steps: dict[str, Any], **schedule: Any) -> World:
    """Return a world whose lead has one attempt, of which nothing is known."""
    world = World()
    world.add("outgoing_webhook", 3, OutgoingWebhook(name="crm", url="https://example.com"))
    world.schedule(*(steps or (CALL, REST, LAST)), **schedule)
    world.submit(email="ann@example.com")
    world.wait(40)
    world.outcome("unknown")
    return world


def facts(world: World, type_: str) -> list[dict[str, Any]]:
    return [fact.data for fact in world.facts if fact.type == type_]


def ring(world: World, state: str) -> None:
    command = world.commands[-1]
    assert isinstance(command, PlaceCall)
    world.ask(
        CallProgressed(
            company_id=1,
            contact_key=KEY,
            lead_id=command.lead_id,
            command_id=command.command_id,
            call_id=command.call_id,
            state=state,  # type: ignore[arg-type]
            occurred_at=world.now,
        )
    )


REACHED = {"call": "connected_buyer", "sms": "delivered", "email": "delivered"}
STEPS = {"call": CALL, "sms": TEXT, "email": MAIL}


RETRIED = {"id": "text", "kind": "sms", "template": "Hi", "retry": {"undelivered": {"delay": "1h"}}}


def test_a_text_that_was_delivered_after_all_is_not_sent_again() -> None:
    world = World()
    world.schedule(RETRIED, REST, LAST)
    world.submit()
    world.outcome("undelivered")
    assert world.lead().step == "text"
    world.outcome("delivered")
    world.wait(2 * 3600)
    assert (world.steps(), world.lead().step) == (["text"], "last"), "it was sent again"
    assert facts(world, "outcome.recorded")[-1]["corrects"] == "undelivered"


@pytest.mark.parametrize("late", ["undelivered", "failed", "unknown", "sent"])
def test_a_text_that_was_delivered_stays_so_whatever_is_reported_later(late: str) -> None:
    world = World()
    world.schedule(RETRIED, REST, LAST)
    world.submit()
    world.outcome("delivered")
    planned_at = world.lead().next_action_at
    world.outcome(late)
    assert (world.lead().step, world.lead().next_action_at) == ("last", planned_at)
    world.wait(3 * 3600)
    assert world.steps() == ["text"]


@pytest.mark.parametrize("late", ["failed", "unknown", "sent", "accepted"])
def test_a_text_that_was_not_delivered_is_sent_again_whatever_else_is_reported(late: str) -> None:
    world = World()
    world.schedule(RETRIED, REST, LAST)
    world.submit()
    world.outcome("undelivered")
    world.outcome(late)
    world.wait(3601)
    assert world.steps() == ["text", "text"]


# -- a retry that waits ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", STEPS)
def test_who_was_reached_is_not_contacted_again(kind: str) -> None:
    world = after_unknown(STEPS[kind], REST, LAST)
    world.wait(RETRY_SECONDS - 1)
    world.outcome(REACHED[kind])
    world.wait(3600)
    assert (world.steps(), world.lead().step) == ([STEPS[kind]["id"]], "last")
    assert world.lead().next_action_at == world.now - 3600 * SECOND + 5 * HOUR


@pytest.mark.parametrize("kind", STEPS)
def test_a_timed_out_attempt_is_taken_back_in_the_same_way(kind: str) -> None:
    step = {**STEPS[kind], "outcome_timeout": "10m", "retry": {"unknown": {"delay": "1h"}}}
    world = World()
    world.schedule(step, REST, LAST)
    world.submit(email="ann@example.com")
    world.wait(600)
    assert world.lead().retries == {"unknown": 1}
    world.outcome(REACHED[kind])
    world.wait(2 * 3600)
    assert (world.steps(), world.lead().step) == ([step["id"]], "last")


def test_a_known_outcome_that_is_retried_is_retried_by_its_own_delay() -> None:
    world = after_unknown()
    known_at = world.now
    world.outcome("no_answer")
    lead = world.lead()
    assert (lead.retries, lead.next_action_at, lead.attempts) == ({"no_answer": 1}, known_at + 2 * HOUR, 1)
    world.wait(2 * 3600)
    assert world.steps() == ["call", "call"]


@pytest.mark.parametrize("dropped", sorted(GATE_OUTCOMES - {HELD}))
def test_what_never_went_out_is_planned_again_and_counts_nothing(dropped: str) -> None:
    world = after_unknown({**CALL, "retry": {}}, REST, LAST)
    assert world.lead().step == "last"
    world.outcome(dropped)
    lead = world.lead()
    assert (lead.step, lead.attempts, lead.outbound_calls_count, world.head().ledger) == ("call", 0, 0, ())
    world.wait(30)
    assert world.steps() == ["call", "call"]
    assert len({command.command_id for command in world.commands}) == 2


def test_what_was_returned_for_a_hold_is_planned_again_at_once_where_that_is_over() -> None:
    world = after_unknown({**CALL, "retry": {}}, REST, LAST)
    world.outcome("held")
    assert (world.steps(), world.lead().attempts, len(world.head().ledger)) == (["call", "call"], 1, 1)


# -- a lead that went on ---------------------------------------------------------------------------------------------------


def test_a_lead_that_would_have_gone_the_same_way_stays_where_it_is() -> None:
    world = after_unknown({**CALL, "retry": {}}, {"id": "hook", "kind": "webhook", "outgoing_webhook_id": 3}, REST, LAST)
    world.outcome("accepted")
    before = world.lead()
    world.outcome("connected_human", world.commands[0])
    lead = world.lead()
    assert (lead.step, lead.next_action_at, world.steps()) == (before.step, before.next_action_at, ["call", "hook"])
    assert lead.connected


@pytest.mark.parametrize(("known", "step"), [("connected_human", "thanks"), ("no_answer", "last")])
def test_a_branch_is_chosen_again_by_what_is_known(known: str, step: str) -> None:
    branch = {"id": "branch", "kind": "branch", "rules": [{"if": ["outcome:connected_human"], "goto": "thanks"}]}
    world = after_unknown({**CALL, "retry": {}}, branch, REST, LAST, {"id": "thanks", "kind": "wait", "duration": "9h"})
    assert world.lead().step == "last"
    world.outcome(known)
    assert world.lead().step == step
    assert len(facts(world, "step.chose")) == 2


@pytest.mark.parametrize(("known", "moves"), [("connected_buyer", True), ("connected_human", False), ("no_answer", False)])
def test_a_trigger_fires_once_and_by_what_is_known(known: str, moves: bool) -> None:
    dial = {"on": "exit", "type": "dial", "goto": "rest"}
    connected = {"on": "exit", "type": "buyer_connected", "end_result": "success"}
    world = after_unknown({**CALL, "retry": {}}, REST, LAST, triggers=[dial, connected])
    world.outcome(known)
    fired = [fact["trigger"] for fact in facts(world, "trigger.fired")]
    assert fired == (["dial", "buyer_connected"] if moves else ["dial"])
    assert world.lead().status == ("success" if moves else "scheduled")


def test_a_lead_that_has_ended_is_corrected_and_not_revived() -> None:
    world = after_unknown({**CALL, "retry": {"no_answer": {"delay": "2h"}}})
    assert world.lead().status == "completed_attempted"
    command = world.commands[0]
    world.outcome("no_answer", command)
    assert (world.lead().status, world.lead().next_action_at) == ("completed_attempted", None)
    other = after_unknown({**CALL, "retry": {}})
    other.outcome("connected_human")
    assert other.lead().status == "completed_connected"
    assert facts(other, "lead.status_corrected") == [{"status": "completed_connected", "was": "completed_attempted"}]
    third = after_unknown({**CALL, "retry": {}})
    third.outcome("not_placed")
    assert (third.lead().status, third.lead().attempts) == ("completed", 0)


def test_a_disposition_says_more_than_a_late_outcome() -> None:
    from tests.engine.contact.test_dispositions import disposition, judge  # noqa: PLC0415 - its helpers alone

    world = after_unknown()
    judge(world, disposition(retry_delay_seconds=900))
    planned = world.lead().next_action_at
    world.outcome("no_answer", world.commands[0])
    assert world.lead().next_action_at == planned


def test_of_an_attempt_that_is_not_the_newest_counts_and_records_change_alone() -> None:
    world = after_unknown()
    world.wait(RETRY_SECONDS)
    first, second = world.commands
    world.outcome("no_answer", second)
    before = world.lead()
    world.outcome("not_placed", first)
    lead = world.lead()
    assert (lead.step, lead.next_action_at, lead.retries) == (before.step, before.next_action_at, before.retries)
    assert (lead.attempts, lead.outbound_calls_count, len(world.head().ledger)) == (1, 1, 1)
    assert isinstance(first, PlaceCall)
    assert world.call(first.call_id).outcome == "not_placed", "found by its command: a report need not name the call"


# -- a command that is open ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["call", "sms"])
def test_a_command_that_no_provider_has_is_fenced_alone_and_its_drop_plans_nothing(kind: str) -> None:
    world = after_unknown(STEPS[kind], REST, LAST)
    world.wait(RETRY_SECONDS)
    first, second = world.commands
    world.outcome(REACHED[kind], first)
    assert [fence.command_ids for fence in world.fences] == [(second.command_id,)]
    assert world.fences[0].lead_ids == ()

    world.outcome("rejected_at_gate", second)

    lead = world.lead()
    assert (lead.step, lead.attempts, lead.unknown) == ("last", 1, None)
    world.wait(3600)
    assert [command for command in world.commands if not isinstance(command, HangUp)] == [first, second]


def test_a_command_that_another_contact_has_emitted_is_withdrawn_by_message() -> None:
    world = after_unknown(MAIL, REST, LAST)
    world.wait(RETRY_SECONDS)
    first, second = world.commands
    world.outcome("delivered", first)
    withdrawn = [letter for letter in world.messages if letter.type == "reach.withdrawn"]
    assert [msgspec.json.decode(one.body, type=ReachWithdrawn).command_id for one in withdrawn] == [second.command_id]
    world.outcome("rejected_at_gate", second)
    world.wait(3600)
    assert (world.lead().step, world.lead().emails_count, len(world.commands)) == ("last", 1, 2)


@pytest.mark.parametrize(("state", "hangs_up"), [("initiated", True), ("ringing", True), ("established", False)])
def test_a_call_that_rings_is_ended_and_one_that_was_answered_goes_on(state: str, hangs_up: bool) -> None:
    world = after_unknown()
    world.wait(RETRY_SECONDS)
    first, second = world.commands
    ring(world, state)
    world.outcome("connected_buyer", first)
    orders = [(one.call_command_id, one.only_unanswered) for one in world.commands if isinstance(one, HangUp)]
    assert orders == ([(second.command_id, True)] if hangs_up else [])
    world.outcome("canceled" if hangs_up else "connected_human", second)
    lead = world.lead()
    assert (lead.step, lead.connected) == ("last", True)
    assert lead.attempts == (1 if hangs_up else 2)


@pytest.mark.parametrize(("known", "step"), [("connected_buyer", "last"), ("busy", "call")])
def test_what_was_sent_stays_and_decides_unless_the_attempt_before_had_reached_the_person(known: str, step: str) -> None:
    world = after_unknown()
    world.wait(RETRY_SECONDS)
    first, second = world.commands[:2]
    world.outcome(known, first)
    world.outcome("no_answer", second)
    assert (world.lead().attempts, world.lead().step) == (2, step)


def test_the_report_of_a_drop_that_comes_before_changes_nothing_of_a_command_of_today() -> None:
    world = after_unknown()
    world.wait(RETRY_SECONDS)
    second = world.commands[1]
    world.outcome("unknown", world.commands[0])
    assert (world.lead().flight is not None, world.fences) == (True, [])
    world.outcome("unknown", second)
    world.outcome("connected_human", second)
    assert world.lead().step == "last"


# -- slots -----------------------------------------------------------------------------------------------------------------


def limited() -> World:
    world = World()
    world.add("buyer", 70, Buyer(name="Bob", number="+12125550170"))
    world.add("buyer_group", 7, BuyerGroup(name="Solar", buyer_ids=(70,), concurrency_cap_limit=2))
    world.schedule({**CALL, "connect": {"buyer_group_id": 7}}, REST, LAST)
    world.submit()
    grant(world)
    world.wait(40)
    world.outcome("unknown")
    world.wait(RETRY_SECONDS)
    return world


def grant(world: World) -> None:
    asked = [letter for letter in world.messages if letter.type == "slot.requested"][-1]
    request_id = msgspec.json.decode(asked.body)["request_id"]
    answer: dict[str, Any] = {"lead_id": world.lead().id, "request_id": request_id, "buyer_id": 70, "buyer_group_id": 7}
    world.ask(SlotAnswered(company_id=1, contact_key=KEY, granted=True, **answer), stream="accounts/0")


def released(world: World) -> list[tuple[str, str]]:
    sent = [letter for letter in world.messages if letter.type == "slot.released"]
    return [(one.request_id, one.ended) for one in (msgspec.json.decode(letter.body, type=SlotReleased) for letter in sent)]


def test_a_request_for_a_slot_is_withdrawn_and_the_use_of_the_first_one_corrected() -> None:
    world = limited()
    first = world.commands[0]
    asked = world.lead().slot_id
    assert asked is not None
    world.outcome("no_answer", first)
    assert released(world) == [(first.command_id, "unknown"), (first.command_id, "attempted"), (asked, "unused")]
    assert world.lead().slot_id is None


def test_a_slot_of_a_command_that_is_taken_back_is_given_back_unused() -> None:
    world = limited()
    grant(world)
    first, second = world.commands
    world.outcome("connected_buyer", first)
    world.outcome("rejected_at_gate", second)
    assert released(world) == [
        (first.command_id, "unknown"),
        (first.command_id, "connected"),
        (second.command_id, "unused"),
    ]


# -- callbacks -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("known", "again"), [("no_answer", True), ("connected_human", False)])
def test_a_callback_that_reached_nobody_after_all_is_promised_again(known: str, again: bool) -> None:
    world = World()
    world.schedule({"id": "first", "kind": "wait", "duration": "2d"}, LAST)
    world.submit(schedule_callback_at=world.now + HOUR)
    world.wait(3600)
    world.outcome("unknown")
    assert world.lead().callback_at is None
    world.outcome(known)
    world.outcome(known)
    assert (world.lead().callback_at == world.now + 2 * HOUR) == again
    assert len(facts(world, "callback.retried")) == again


# -- which outcome stands --------------------------------------------------------------------------------------------------


def test_known_beats_unknown_in_whatever_order_they_come() -> None:
    for first, second in (("connected_human", "unknown"), ("unknown", "connected_human")):
        world = World()
        world.schedule(CALL, REST, LAST)
        world.submit()
        for outcome in (first, second):
            seconds = 30 if outcome == "connected_human" else 0
            world.wait(1)
            world.outcome(outcome, world.commands[0], talk_seconds=seconds)
        call = world.call(world.lead().attempted_call_id)
        assert (call.outcome, call.talk_seconds, call.status) == ("connected_human", 30, "finished")


@pytest.mark.parametrize("kind", OUTCOMES)
def test_the_page_for_producers_has_the_table_of_outcomes(kind: str) -> None:
    (row,) = re.findall(rf"^\| {kind} \| (`unknown`, then .*) \|$", PAGE.read_text("utf-8"), re.MULTILINE)
    groups = [re.findall(r"`(\w+)`", group) for group in row.split(", then ")]
    places = {outcome: place for place, group in enumerate(groups) for outcome in group}
    assert places.keys() == OUTCOMES[kind].keys() | GATE_OUTCOMES
    for before, after in product(places, places):
        wanted = "replaces" if places[after] > places[before] else "kept" if places[after] < places[before] else "later"
        assert standing(kind, before, after) == ("repeated" if before == after else wanted), (before, after)


@pytest.mark.parametrize("kind", OUTCOMES)
def test_of_two_outcomes_the_same_one_stands_in_whatever_order_they_come(kind: str) -> None:
    every = [*OUTCOMES[kind], *GATE_OUTCOMES]
    for before, after in product(every, every):
        forth, back = standing(kind, before, after), standing(kind, after, before)
        assert {forth, back} in ({"replaces", "kept"}, {"later"}, {"repeated"}), (before, after)
        assert (forth == "repeated") == (before == after)
        if before == "unknown" and after != "unknown":
            assert forth == "replaces"
        if before in {"delivered", "connected_buyer"}:
            assert forth != "replaces" or after in {"complained", "unsubscribed"}
        if before in GATE_OUTCOMES and after not in GATE_OUTCOMES | {"not_placed", "unknown"}:
            assert forth == "replaces"


def test_a_call_has_the_outcome_that_the_table_says() -> None:
    for first, second in product(CALL_OUTCOMES, CALL_OUTCOMES):
        world = World()
        world.schedule(CALL, REST, LAST)
        world.submit()
        command = world.commands[0]
        assert isinstance(command, PlaceCall)
        world.outcome(first, command)
        world.wait(1)
        world.outcome(second, command, call_id=command.call_id)
        is_replaced = standing("call", first, second) in {"replaces", "later"}
        assert world.call(command.call_id).outcome == (second if is_replaced else first), (first, second)
        ends = [fact.type for fact in world.facts if fact.type in {"call.ended", "call.corrected"}]
        assert ends == ["call.ended", *(["call.corrected"] if is_replaced else [])], (first, second)


def test_a_correction_names_what_it_corrects() -> None:
    world = after_unknown()
    ended_at = world.now
    world.wait(5)
    world.outcome("connected_human")
    assert facts(world, "call.corrected") == [
        {"outcome": "connected_human", "corrects": {"outcome": "unknown", "ended_at": ended_at}}
    ]
    recorded = facts(world, "outcome.recorded")
    assert [(one["outcome"], one.get("corrects"), one.get("late", False)) for one in recorded] == [
        ("unknown", None, False),
        ("connected_human", "unknown", True),
    ]
    world.outcome("connected_human")
    assert facts(world, "outcome.recorded")[-1]["standing"] == "repeated"
    world.outcome("unknown")
    assert facts(world, "outcome.recorded")[-1]["standing"] == "kept"


@pytest.mark.parametrize("before", sorted(OUTCOMES["sms"].keys() - {"opted_out"}))
def test_a_stop_counts_whatever_came_before(before: str) -> None:
    world = World()
    world.schedule(TEXT, REST, LAST)
    world.submit()
    command = world.commands[0]
    world.outcome(before, command)
    world.outcome("opted_out", command)
    assert world.head().opted_out_at == world.now
    assert world.lead().status == ("failure" if before == "invalid_number" else "opt_out")


def test_a_relay_is_kept_while_nothing_is_known_of_its_command() -> None:
    world = after_unknown(MAIL, REST, LAST, max_contact_attempts=3)
    address = "1|email:ann@example.com"
    assert world.head(address).relays == 1
    world.outcome("delivered")
    assert (world.head(address).relays, world.lead().step) == (0, "last")
