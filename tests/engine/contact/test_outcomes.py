"""What follows from each outcome: for the lead, for its attempts, for the number?"""

from typing import Any

import pytest

from engine.partition.draft import RefusedError
from schemas.instant import DAY, EPOCH, HOUR, MINUTE, SECOND
from schemas.outcomes import CALL_OUTCOMES
from schemas.requests import CallProgressed
from tests.engine.contact.world import KEY, NOON, World

CALL = {"id": "call", "kind": "call"}
TEXT = {"id": "text", "kind": "sms", "template": "Hi"}
MAIL = {"id": "mail", "kind": "email", "subject": "S", "template": "B"}
REST = {"id": "rest", "kind": "wait", "duration": "1h"}


@pytest.fixture
def world() -> World:
    return World()


def called(world: World, *more: dict[str, Any], **step: Any) -> None:
    world.schedule({**CALL, **step}, *(more or (REST, TEXT)))
    world.submit(email="ann@example.com")
    world.wait(40)


@pytest.mark.parametrize(
    ("outcome", "rang", "attempts", "in_ledger", "call_status"),
    [
        ("connected_human", True, 1, True, "finished"),
        ("connected_buyer", True, 1, True, "forwarded"),
        ("voicemail", True, 1, True, "voicemail"),
        ("no_answer", True, 1, True, "no-answer"),
        ("busy", True, 1, True, "busy"),
        ("declined", True, 1, True, "rejected"),
        ("abandoned_by_us", True, 1, True, "no-buyer"),
        ("caller_hung_up", True, 1, True, "caller-hung-up"),
        ("congestion", True, 0, True, "failed"),
        ("congestion", False, 0, False, "failed"),
        ("invalid_number", True, 0, False, "invalid-number"),
        ("canceled", True, 0, True, "canceled"),
        ("canceled", False, 0, False, "canceled"),
        ("not_placed", True, 0, False, "failed"),
        ("opted_out", True, 1, True, "opt-out"),
        ("unknown", True, 1, True, "finished"),
        ("rejected_at_gate", True, 0, False, "canceled"),
        ("expired", True, 0, False, "canceled"),
    ],
)
def test_each_outcome_of_a_call_counts_as_the_table_says(
    outcome: str, rang: bool, attempts: int, in_ledger: bool, call_status: str
) -> None:
    world = World()
    called(world)
    world.outcome(outcome, rang=rang)
    assert world.lead().attempts == attempts
    assert bool(world.head().ledger) == in_ledger
    call = world.call(world.lead().attempted_call_id)
    assert (call.outcome, call.status, call.ended_at) == (outcome, call_status, world.now)


@pytest.mark.parametrize(
    ("outcome", "minutes", "times"),
    [
        ("voicemail", 240, 1),
        ("no_answer", 120, 1),
        ("busy", 15, 3),
        ("declined", 240, 1),
        ("abandoned_by_us", 72 * 60, 1),
        ("congestion", 60, 1),
        ("not_placed", 60, 1),
    ],
)
def test_a_named_outcome_is_tried_again_by_its_defaults(world: World, outcome: str, minutes: int, times: int) -> None:
    called(world, retry={outcome: {}})
    for _ in range(times):
        world.outcome(outcome)
        planned = world.lead().base_at
        assert planned == world.now + minutes * MINUTE
        world.wait_until(world.lead().next_action_at or EPOCH)
    assert world.steps()[: times + 1] == ["call"] * (times + 1)
    world.outcome(outcome)
    assert world.lead().step == "text"


def test_a_retry_may_say_its_own_delay_and_number(world: World) -> None:
    called(world, retry={"no_answer": {"delay": "20m", "max": 2}})
    for _ in range(2):
        world.outcome("no_answer")
        assert world.lead().next_action_at == world.now + 20 * MINUTE
        world.wait(20 * 60)
    world.outcome("no_answer")
    assert (world.steps(), world.lead().step) == (["call"] * 3, "text")


@pytest.mark.parametrize("outcome", sorted(CALL_OUTCOMES.keys() - {"opted_out"}))
def test_an_outcome_that_the_step_does_not_name_leads_to_the_next_step(world: World, outcome: str) -> None:
    called(world, retry={"left_a_note": {}})
    world.outcome(outcome)
    assert (world.lead().step, world.lead().base_at) == ("text", world.now + HOUR)


def test_the_next_step_counts_from_the_outcome_and_a_clock_that_runs_ahead_is_not_believed(world: World) -> None:
    called(world)
    world.outcome("no_answer", occurred_at=world.now - 30 * SECOND)
    assert world.lead().next_action_at == world.now + HOUR - 30 * SECOND
    other = World()
    called(other)
    other.outcome("no_answer", occurred_at=other.now + DAY)
    assert other.lead().next_action_at == other.now + HOUR


@pytest.mark.parametrize("outcome", ["rejected_at_gate", "expired"])
def test_a_command_that_a_gate_dropped_is_planned_again(world: World, outcome: str) -> None:
    called(world)
    first = world.commands[0]
    world.outcome(outcome)
    lead = world.lead()
    assert (lead.step, lead.attempts, lead.outbound_calls_count) == ("call", 0, 0)
    world.wait(30)
    assert world.steps() == ["call", "call"]
    assert world.commands[1].command_id != first.command_id


@pytest.mark.parametrize(("step", "count"), [(CALL, "outbound_calls_count"), (TEXT, "sms_count")])
def test_a_command_that_our_own_delay_dropped_counts_no_attempt_and_its_step_is_planned_again(
    world: World, step: dict[str, Any], count: str
) -> None:
    world.schedule({**step, "on_late": "skip", "max_lateness": "5m", "outcome_timeout": "10m"}, REST)
    world.submit()
    command = world.commands[0]
    world.wait_until((command.not_after or EPOCH) + SECOND)
    lead = world.lead()
    assert (lead.flight is not None, getattr(lead, count)) == (True, 1), "the lead still waits for the gateway's word"

    world.outcome("expired")

    lead = world.lead()
    assert (lead.attempts, getattr(lead, count), lead.step) == (0, 0, command.step_id)
    world.wait(30)
    assert world.steps() == [command.step_id] * 2, "8 minutes late, but by our own delay: lateness is measured again"

    world.wait(8 * 60 + 1)
    world.outcome("expired")
    world.wait(60)

    assert world.steps() == [command.step_id] * 2
    assert [fact.data["reason"] for fact in world.facts if fact.type == "step.skipped"] == ["too_late"]
    assert (world.lead().attempts, getattr(world.lead(), count)) == (0, 0)


def test_a_text_that_was_dropped_for_a_fence_is_as_late_as_it_is(world: World) -> None:
    world.schedule({**TEXT, "on_late": "skip", "max_lateness": "5m"}, REST)
    world.submit()
    world.wait(6 * 60)
    world.outcome("rejected_at_gate")
    world.wait(60)
    assert world.steps() == ["text"]


def test_a_text_that_was_dropped_at_the_end_of_its_hours_goes_out_the_next_day(world: World) -> None:
    world.now = NOON + 9 * HOUR - MINUTE  # a minute before the law ends the day
    world.schedule(TEXT, REST)
    world.submit()
    world.wait_until((world.commands[0].not_after or EPOCH) + SECOND)
    world.outcome("expired")
    world.wait_until(NOON + DAY)
    assert [command.decided_at for command in world.commands][1:] == [NOON + 20 * HOUR]


@pytest.mark.parametrize("outcome", ["expired", "rejected_at_gate"])
@pytest.mark.parametrize(("step", "count"), [(CALL, "outbound_calls_count"), (TEXT, "sms_count"), (MAIL, "emails_count")])
def test_a_command_that_a_gateway_drops_after_it_timed_out_is_counted_no_more_and_planned_again(
    world: World, step: dict[str, Any], count: str, outcome: str
) -> None:
    world.schedule(
        {**step, "outcome_timeout": "10m"}, {"id": "rest", "kind": "wait", "duration": "5h"}, {**TEXT, "id": "later"}
    )
    world.submit(email="ann@example.com")
    world.wait(11 * 60)
    lead = world.lead()
    assert (lead.step, getattr(lead, count)) == ("later", 1)

    for _ in range(2):
        world.outcome(outcome, world.commands[0])

        lead = world.lead()
        assert (lead.step, lead.attempts, getattr(lead, count), lead.last_email_at) == (step["id"], 0, 0, None)
    assert not world.head().ledger


def test_a_step_that_the_gate_never_lets_through_is_left(world: World) -> None:
    world.schedule({"id": "mail", "kind": "email", "subject": "S", "template": "B"}, TEXT)
    world.submit(email="ann@example.com")
    for _ in range(20):
        world.outcome("rejected_at_gate")
        world.wait_until(world.lead().next_action_at or EPOCH)
    assert set(world.steps()) == {"mail"}
    world.outcome("rejected_at_gate")
    assert world.lead().step == "text"


@pytest.mark.parametrize(
    ("step", "minutes"),
    [(CALL, 240), (TEXT, 10), (MAIL, 10), ({**CALL, "outcome_timeout": "5m"}, 5)],
)
def test_an_outcome_that_stays_out_is_unknown_and_the_attempt_stays_counted(
    world: World, step: dict[str, Any], minutes: int
) -> None:
    world.schedule(step, {"id": "rest", "kind": "wait", "duration": "5h"}, {**TEXT, "id": "later"})
    world.submit(email="ann@example.com")
    attempts = world.lead().attempts
    world.wait(minutes * 60 - 1)
    assert world.lead().status == "running"
    world.wait(1)
    assert (world.lead().step, world.lead().attempts) == ("later", attempts)


def test_a_late_outcome_after_which_the_lead_would_stand_where_it_does_corrects_the_records_alone(world: World) -> None:
    called(world)
    world.wait(4 * 3600)
    before = world.lead()
    world.outcome("connected_human", world.commands[0], talk_seconds=61)
    lead = world.lead()
    assert (lead.step, lead.next_action_at, lead.attempts) == (before.step, before.next_action_at, before.attempts)
    assert (lead.connected, lead.connected_call_id) == (True, lead.attempted_call_id)
    assert world.call(lead.attempted_call_id).talk_seconds == 61


def test_the_same_outcome_twice_counts_once(world: World) -> None:
    called(world)
    world.outcome("not_placed")
    world.outcome("not_placed", world.commands[0])
    assert (world.lead().attempts, world.lead().step) == (0, "text")


def test_of_two_outcomes_of_a_call_the_later_one_holds(world: World) -> None:
    called(world)
    world.outcome("voicemail", occurred_at=world.now)
    world.outcome("no_answer", world.commands[0], occurred_at=world.now - 5)
    assert world.call(world.lead().attempted_call_id).outcome == "voicemail"


def test_an_outcome_that_is_none_is_refused_by_name(world: World) -> None:
    called(world)
    with pytest.raises(RefusedError) as refused:
        world.outcome("happy")
    assert refused.value.code == "validation_failed"
    assert list(refused.value.errors) == ["outcome"]


def test_an_outcome_for_a_lead_that_is_not_there_changes_nothing_of_it(world: World) -> None:
    called(world)
    world.outcome("no_answer", lead_id=777)
    assert world.lead().status == "running"


def test_an_invalid_number_closes_calls_and_the_schedule_goes_on_with_texts(world: World) -> None:
    called(world)
    world.outcome("invalid_number")
    assert (world.lead().status, world.lead().step) == ("scheduled", "text")
    assert "call" in world.head().disabled_until
    assert "sms" not in world.head().disabled_until


@pytest.mark.parametrize(
    ("later", "status"),
    [((), "failure"), (({"id": "again", "kind": "call"},), "failure"), ((REST, TEXT), "scheduled")],
)
def test_a_lead_fails_only_where_no_channel_is_left(world: World, later: tuple[dict[str, Any], ...], status: str) -> None:
    world.schedule(CALL, *later)
    world.submit()
    world.outcome("invalid_number")
    assert world.lead().status == status


def test_a_lead_that_was_reached_before_does_not_fail_at_its_last_step(world: World) -> None:
    world.schedule(TEXT, CALL)
    world.submit()
    world.outcome("delivered")
    world.outcome("invalid_number")
    assert world.lead().status == "completed_attempted"


def test_a_closed_channel_opens_again_after_fifteen_days(world: World) -> None:
    called(world)
    world.outcome("invalid_number")
    world.schedule(CALL, TEXT, record_id=2)
    world.now = NOON + 14 * DAY
    world.submit(schedule_id=2)
    assert world.steps()[-1] == "text"
    world.now = NOON + 16 * DAY
    world.schedule(CALL, TEXT, record_id=3)
    world.submit(schedule_id=3)
    assert world.steps()[-1] == "call"


def test_progress_of_a_call_is_seen_and_never_taken_back(world: World) -> None:
    called(world)
    command = world.commands[0]
    for state in ("ringing", "established", "ringing"):
        request = CallProgressed(
            company_id=1,
            contact_key=KEY,
            lead_id=command.lead_id,
            command_id=command.command_id,
            state=state,
            occurred_at=world.now,
            provider="sandbox",
        )
        world.ask(request)
        world.wait(2)
    call = world.call(world.lead().attempted_call_id)
    assert (call.status, call.ringing_at, call.answered_at) == ("established", NOON + 40_000, NOON + 42_000)
    world.outcome("connected_human")
    world.ask(request)
    assert world.call(call.id).status == "finished"
