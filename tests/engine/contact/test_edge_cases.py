"""The edge cases E11, E16 to E30 and E32 to E37 of `tests/engine/rules.md`, by name, on the contact that decides them.

E1 to E15 are also tests/engine/calendar/test_edge_cases.py; E17's 409 is answered before anything is asked of a contact
(tests/adapters/http/test_submissions.py), and what is asked of one twice is refused here.
"""

from typing import Any

import pytest

from engine.contact.facts.person import Person
from engine.contact.requests import reactions
from engine.partition.draft import RefusedError, RepeatedError
from schemas.contact import Call, Lead
from schemas.envelope import Envelope
from schemas.instant import DAY, HOUR, MINUTE, SECOND
from schemas.records import Offer, OutgoingWebhook
from schemas.requests import CallerActed, CallProgressed, CallStartRequested, LeadSubmitted, SmsReceived
from tests.engine.contact.world import KEY, NEW_YORK, NOON, NUMBER, World, at

CALL = {"id": "call", "kind": "call"}
TEXT = {"id": "text", "kind": "sms", "template": "Hi"}
REST = {"id": "rest", "kind": "wait", "duration": "1h"}
MAIL = {"id": "mail", "kind": "email", "subject": "S", "template": "B"}


def called(*more: dict[str, Any], **step: Any) -> World:
    """A world whose lead is being called since 40 s."""
    world = World()
    world.schedule({**CALL, **step}, *(more or (REST, TEXT)))
    world.submit(email="ann@example.com")
    world.wait(40)
    return world


def progress(world: World, state: str) -> None:
    lead, order = world.lead(), world.commands[0]
    given = {"lead_id": lead.id, "command_id": order.command_id, "call_id": lead.attempted_call_id}
    world.ask(CallProgressed(company_id=1, contact_key=KEY, state=state, occurred_at=world.now, **given))  # type: ignore[arg-type]


def text(world: World, body: str) -> None:
    world.ask(SmsReceived(company_id=1, contact_key=KEY, body=body, received_at=world.now))


def inbound(world: World, *, connected: bool, seconds: int = 20) -> None:
    """Let the person call us, and hang up."""
    for ends in (False, True):
        draft = world._draft()
        person = Person(draft, 1, KEY)
        call = Call(id=7, uuid="c", company_id=1, contact_key=KEY, created_at=NOON, updated_at=NOON, number_called=NUMBER)
        if ends:
            reactions.end_inbound(person, call, connected=connected)
        else:
            reactions.start_inbound(person, call)
        person.put()
        world._apply(draft)
        if not ends:
            world.wait(seconds)


@pytest.mark.parametrize("may_contact", [False, True])
def test_e11_who_expires_at_night_is_texted_in_the_morning_only_where_the_schedule_says_so(may_contact: bool) -> None:
    world = World()
    world.add("outgoing_webhook", 3, OutgoingWebhook(name="crm", url="https://example.com"))
    hook = {"id": "hook", "kind": "webhook", "outgoing_webhook_id": 3}
    ends = [hook, {**TEXT, "id": "last"}]
    world.schedule({**REST, "duration": "20h"}, CALL, end_steps=ends, hours_to_expire=15, end_steps_may_contact=may_contact)
    world.submit()  # expires at 03:00
    world.wait_until(at("2026-07-16 03:00"))
    assert world.steps() == ["hook"]
    world.outcome("accepted")
    if not may_contact:
        assert world.lead().status == "expired"
        return
    assert world.lead().next_action_at == at("2026-07-16 08:00")
    world.wait_until(at("2026-07-16 08:00"))
    world.outcome("delivered")
    assert (world.steps(), world.lead().status) == (["hook", "last"], "expired")


def test_e16_two_submissions_of_one_second_are_one_lead_and_one_first_call() -> None:
    world = World()
    world.schedule(CALL)
    first = world.submit()
    world.now += 300
    second = world.submit()
    assert world.answer is not None
    assert (second.id, world.answer.dedupe_action) == (first.id, "updated")
    assert (world.lead_ids(), world.steps()) == ([first.id], ["call"])


def test_e17_what_is_asked_again_under_its_name_changes_nothing() -> None:
    world = World()
    world.schedule(REST, CALL)
    asked = LeadSubmitted(company_id=1, contact_key=KEY, caller_id=NUMBER, schedule_id=1, zones=(NEW_YORK,), with_key=True)
    world.ask(asked, id="key-1")
    before = world.lead()
    with pytest.raises(RepeatedError):
        world.ask(asked, id="key-1")
    assert world.lead() == before


def test_e18_an_outcome_before_its_call_was_seen_to_begin_is_taken_and_not_taken_back() -> None:
    world = called()
    world.outcome("no_answer")
    call_id = world.lead().attempted_call_id
    progress(world, "initiated")
    progress(world, "ringing")
    assert (world.call(call_id).status, world.lead().step) == ("no-answer", "text")


def test_e19_of_two_outcomes_the_later_holds_and_a_planned_retry_is_planned_again() -> None:
    retry = {"no_answer": {"delay": "2h", "max": 2}, "voicemail": {"delay": "4h", "max": 2}}
    world = called(retry=retry)
    first = world.commands[0]
    world.outcome("no_answer")
    base = world.now
    world.wait(5)
    world.outcome("voicemail", first, call_id=world.lead().attempted_call_id)
    lead = world.lead()
    assert (lead.next_action_at, lead.retries, lead.attempts) == (
        base + 5 * SECOND + 4 * HOUR,
        {"no_answer": 0, "voicemail": 1},
        1,
    )
    world.outcome("no_answer", first, call_id=lead.attempted_call_id, occurred_at=base)  # the older one comes again
    assert world.lead().next_action_at == lead.next_action_at
    world.wait(4 * 3600)
    assert (world.steps(), world.lead().attempts, world.lead().outbound_calls_count) == (["call", "call"], 2, 2)


def test_e19_an_outcome_that_is_not_tried_again_takes_the_planned_retry_away() -> None:
    world = called(retry={"no_answer": {"delay": "2h"}})
    first = world.commands[0]
    world.outcome("no_answer")
    world.wait(5)
    world.outcome("connected_human", first, call_id=world.lead().attempted_call_id)
    assert (world.lead().step, world.lead().connected) == ("text", True)
    world.wait(3 * 3600)
    assert world.steps() == ["call", "text"]


def test_e20_an_outcome_after_an_opt_out_is_recorded_and_moves_nothing() -> None:
    world = called()
    world.act("opt_out")
    world.outcome("connected_human", world.commands[0])
    lead = world.update(buyer_converted=True)
    assert (lead.status, lead.connected, lead.buyer_converted) == ("opt_out", True, True)
    world.wait(30 * 86400)
    assert world.steps() == ["call"]


def test_e21_an_opt_out_between_order_and_gate_gives_the_attempt_back() -> None:
    world = called()
    text(world, "STOP")
    assert [(fence.reason, fence.lead_ids) for fence in world.fences] == [("opt_out", ())] * 4
    world.outcome("rejected_at_gate", world.commands[0])
    lead = world.lead()
    assert (lead.status, lead.attempts, lead.outbound_calls_count, world.head().ledger) == ("opt_out", 0, 0, ())


def test_e22_a_text_that_was_accepted_before_the_opt_out_counts_and_the_next_is_not_sent() -> None:
    world = World()
    world.schedule(TEXT, REST, {**TEXT, "id": "more"})
    world.submit()
    text(world, "stop")
    world.outcome("delivered", world.commands[0])
    world.wait(30 * 86400)
    assert (world.steps(), world.lead().attempts) == (["text"], 1)
    assert world.lead().sms_count == 1


@pytest.mark.parametrize("body", ["STOP PLEASE", "no mas"])
def test_e23_reasonable_words_are_a_revocation(body: str) -> None:
    world = World()
    world.schedule(REST, CALL)
    world.submit()
    text(world, body)
    assert (world.lead().status, world.head().opted_out_at) == ("opt_out", world.now)


def test_e23_a_doubtful_text_is_for_people_to_read_and_holds_everything_for_a_day() -> None:
    world = World()
    world.schedule(REST, CALL)
    world.submit()
    text(world, "Stop by tomorrow?")
    assert "contact.optout_review" in world.fact_types()
    lead = world.lead()
    assert (lead.status, lead.status_wait, lead.next_action_at) == ("waiting", "optout_review", NOON + DAY)
    world.wait(86400)
    assert world.steps() == ["call"]


def test_e24_the_last_allowed_attempt_ends_the_steps_after_its_outcome() -> None:
    world = World()
    hook = {"id": "more", "kind": "call"}
    world.schedule(CALL, {**CALL, "id": "again"}, TEXT, hook, max_contact_attempts=3)
    world.submit()
    for outcome in ("no_answer", "no_answer"):
        world.outcome(outcome)
        world.wait(60)
    assert world.lead().status == "running"
    world.outcome("delivered")
    assert (world.steps(), world.lead().status) == (["call", "again", "text"], "exceeded_max_calls")


def test_e25_an_attempt_that_was_not_placed_is_free_again() -> None:
    world = World()
    world.schedule(CALL, {**CALL, "id": "again"}, max_contact_attempts=1)
    world.submit()
    world.outcome("not_placed")
    world.wait(60)
    assert (world.steps(), world.lead().attempts) == (["call", "again"], 1)


def test_e26_an_outcome_that_never_comes_is_unknown_and_a_known_one_takes_its_place() -> None:
    world = called(retry={"no_answer": {"delay": "2h"}})
    order, call_id = world.commands[0], world.lead().attempted_call_id
    world.wait(4 * 3600)
    lead = world.lead()
    assert (lead.attempts, lead.step, world.call(call_id).outcome) == (1, "text", "unknown")
    world.outcome("no_answer", order, call_id=call_id)
    assert (world.call(call_id).outcome, world.lead().step, world.lead().attempts) == ("no_answer", "call", 1)
    assert world.lead().next_action_at == world.now + 2 * HOUR


def test_e27_an_input_that_is_decided_again_orders_under_the_same_name() -> None:
    world = World()
    world.schedule(CALL)
    asked = LeadSubmitted(company_id=1, contact_key=KEY, caller_id=NUMBER, schedule_id=1, zones=(NEW_YORK,), with_key=True)
    commands = []
    for _ in range(2):
        draft = world._draft()
        world.aggregate.decide(draft, asked, Envelope(id="r", type="lead.submitted", source="/test"))
        commands.append([(order.id, order.value) for order in draft.commands])
    assert commands[0] == commands[1]
    assert len(commands[0]) == 1


@pytest.mark.parametrize(("ahead", "marked"), [(5 * MINUTE, False), (5 * MINUTE + 1, True), (DAY, True)])
def test_e28_an_event_of_the_future_is_taken_as_of_now_and_marked(ahead: int, marked: bool) -> None:
    world = called()
    world.outcome("no_answer", occurred_at=world.now + ahead)
    assert world.lead().next_action_at == world.now + HOUR
    fact = next(fact for fact in world.facts if fact.type == "outcome.recorded")
    assert fact.data.get("clock_skew", False) is marked


def test_e29_an_event_of_before_the_lead_is_counted_and_makes_no_contact_sooner() -> None:
    world = called(retry={"no_answer": {"delay": "2h"}})
    world.outcome("no_answer", occurred_at=NOON - 30 * DAY)
    assert (world.lead().next_action_at, len(world.head().ledger)) == (NOON + 2 * HOUR, 1)


def test_e30_the_eleventh_move_of_a_day_waits() -> None:
    world = World()
    world.add("offer", 2, Offer(name="Roofs", lead_token="roofs", time_zone=NEW_YORK))
    for here, there in ((1, 2), (2, 1)):
        pause = {"id": "pause", "kind": "wait", "duration": "1m"}
        world.schedule(pause, {"id": "go", "kind": "move_to_schedule", "schedule_id": there}, record_id=here)
    world.submit()
    world.wait(3600)
    lead = world.lead()
    assert (len(lead.moves), lead.status, lead.status_wait) == (10, "waiting", "move_loop_guard")


def test_e32_outbound_is_held_while_the_person_calls_and_goes_first_after_a_missed_call() -> None:
    world = World()
    world.schedule(REST, CALL)
    world.submit()
    world.wait(3590)
    inbound(world, connected=False)
    assert (world.steps(), world.lead().next_action_at) == ([], world.now + MINUTE)
    world.wait(60)
    assert (world.steps(), world.commands[0].urgency_class) == (["call"], 1)


def test_e32_a_talk_is_treated_as_the_schedule_says() -> None:
    world = World()
    world.schedule(REST, CALL)
    world.submit()
    world.wait(3590)
    inbound(world, connected=True)
    assert (world.lead().status_wait, world.lead().next_action_at) == ("inbound_pause", world.now + 4 * HOUR)


def test_e33_an_opted_out_person_may_call_and_nothing_goes_out() -> None:
    world = World()
    world.schedule(REST, CALL)
    world.submit()
    world.act("opt_out")
    inbound(world, connected=True)
    world.wait(30 * 86400)
    assert (world.lead().status, world.commands, world.head().opted_out_at) == ("opt_out", [], NOON)


def test_e34_a_blocked_lead_stays_so_when_the_block_is_lifted_and_a_submission_enrols_again() -> None:
    world = World()
    world.schedule(REST, CALL)
    lead = world.submit()
    world.update(blocked=True)
    world.update(blocked=False)
    assert world.lead().status == "blocked"
    world.update(blocked=True)
    again = world.submit(unblock_contact=True)
    assert (again.status, world.lead(lead.id).status, world.head().blocked_at) == ("scheduled", "blocked", None)


def test_e35_an_explicit_time_at_night_is_kept_as_asked_and_planned_for_the_morning() -> None:
    world = World()
    world.schedule(REST, CALL)
    world.submit()
    lead = world.update(next_action_at=at("2026-07-15 22:00"))
    assert (lead.requested_next_action_at, lead.next_action_at) == (at("2026-07-15 22:00"), at("2026-07-16 08:00"))


def test_e36_an_opt_out_by_the_token_of_another_offer_finds_no_lead_and_is_stored_all_the_same() -> None:
    world = World()
    world.add("offer", 2, Offer(name="Roofs", lead_token="roofs", time_zone=NEW_YORK))
    world.schedule(REST, CALL)
    world.submit()
    world.ask(CallerActed(company_id=1, contact_key=KEY, action="opt_out", offer_id=2))
    assert world.answer is not None
    assert (world.answer.status, world.answer.code) == (404, "not_found")
    assert "stored all the same" in (world.answer.detail or "")
    assert (world.head().opted_out_at, world.lead().status) == (NOON, "opt_out")


def test_e37_a_hard_bounce_closes_the_mailbox_and_the_telephone_goes_on() -> None:
    world = World()
    world.schedule(MAIL, {**MAIL, "id": "more"}, CALL)
    lead: Lead = world.submit(email="ann@example.com")
    world.outcome("bounced_hard")
    assert (world.steps(), world.lead(lead.id).failed_channels) == (["mail", "call"], ("email",))


@pytest.mark.parametrize(
    "step",
    [
        {"kind": "call"},
        {"kind": "sms", "template": "Hi"},
        {"kind": "email", "subject": "S", "template": "B"},
    ],
    ids=lambda step: step["kind"],
)
def test_e39_while_an_opt_out_may_be_unread_no_contact_goes_out_by_any_way(step: dict[str, Any]) -> None:
    """Suppression is our own state and no service is asked: what can fail is that requests are unread, for however long."""
    world = World(behind=True)
    world.schedule({"id": "step", **step}, {"id": "rest", "kind": "wait", "duration": "1h"})
    lead = world.submit(email="ann@example.com")
    promised = world.submit(schedule_callback_at=NOON + MINUTE, contact_key="1|+13055550177", caller_id="+13055550177")
    world.wait(600)

    assert (world.commands, world.lead(lead.id).status) == ([], "scheduled")
    assert world.lead(promised.id).callback_at is not None
    with pytest.raises(RefusedError) as refused:
        world.ask(CallStartRequested(company_id=1, contact_key=KEY, lead_id=lead.id))
    assert refused.value.code == "requests_unread"

    world.behind = False
    world.wait(120)
    assert sorted({command.step_id for command in world.commands}) == ["(callback)", "step"]
