"""Does a text from the person opt them out, wait for review, or trigger `on_reply`?"""

from typing import Any

import pytest

from engine.contact.consent.opt_out import meaning_of
from engine.partition.draft import RefusedError
from schemas.commands import PostWebhook, SendSms
from schemas.decisions import Answer
from schemas.instant import DAY, HOUR, MINUTE
from schemas.records import Company
from schemas.requests import CallStartRequested, SmsReceived
from tests.engine.contact.world import KEY, NEW_YORK, NOON, NUMBER, World, at

CALL = {"id": "call", "kind": "call"}
TEXT = {"id": "text", "kind": "sms", "template": "Hi"}
REST = {"id": "rest", "kind": "wait", "duration": "1h"}
EXIT = {"id": "exit", "kind": "exit"}


def text(world: World, body: str, **fields: Any) -> Answer:
    given = {"company_id": 1, "contact_key": KEY, "body": body, "received_at": world.now, **fields}
    world.ask(SmsReceived(**given))
    assert world.answer is not None
    return world.answer


@pytest.mark.parametrize(
    ("body", "meaning"),
    [
        *((word, "opt_out") for word in ("STOP", "stop.", "Quit", "END", "revoke", "opt out", "Opt-out", "cancel")),
        ("Unsubscribe", "opt_out"),
        ("STOP PLEASE", "opt_out"),
        ("no mas", "opt_out"),
        ("No más!", "opt_out"),
        ("stop texting me", "opt_out"),
        ("Please take me off your list", "opt_out"),
        ("don\u2019t text me", "opt_out"),
        ("Stop by tomorrow?", "unclear"),
        ("Don't stop texting me", "unclear"),
        ("do not call before 5", "unclear"),
        ("cancel my appointment", "unclear"),
        ("START", "opt_in"),
        ("unstop", "opt_in"),
        ("yes", "reply"),
        ("Call me at the end of the week", "reply"),
        ("", "reply"),
        ("👍", "reply"),
    ],
)
def test_a_text_is_read_as_a_reasonable_person_would(body: str, meaning: str) -> None:
    assert meaning_of(body) == meaning


def test_a_word_of_opt_out_ends_every_lead_and_is_answered_by_silence() -> None:
    world = World()
    world.schedule(REST, CALL)
    world.submit()
    text(world, "STOP PLEASE")
    lead = world.lead()
    assert (lead.status, lead.opt_out, world.head().opted_out_at) == ("opt_out", True, world.now)
    assert (len(world.fences), world.commands) == (4, [])


def test_a_company_may_confirm_an_opt_out_once_and_within_five_minutes() -> None:
    world = World()
    world.add(
        "company", 1, Company(name="Sunny", time_zone=NEW_YORK, optout_confirmation="You will hear no more."), version=2
    )
    world.schedule(REST, CALL)
    world.submit()
    world.now = at("2026-07-15 23:30")  # an answer to a text of the same minute keeps no hours
    text(world, "stop", to_number="+13055550100")
    order = world.commands[-1]
    assert isinstance(order, SendSms)
    assert (order.body, order.from_number, order.not_after) == (
        "You will hear no more.", "+13055550100", world.now + 5 * MINUTE,
    )  # fmt: skip
    text(world, "STOP")
    world.outcome("delivered", order)
    world.wait(30 * 86400)
    assert (len(world.commands), len(world.head().ledger), world.lead().status) == (1, 1, "opt_out")


@pytest.mark.parametrize("word", ["HELP", "info", "Help please", "AYUDA", "aide", "Ajuda", "HILFE!"])
def test_help_is_answered_at_any_hour_and_the_plan_goes_on(word: str) -> None:
    world = World()
    world.schedule(TEXT, REST, CALL)
    world.submit()
    world.outcome("delivered")
    planned_at = world.lead().next_action_at
    world.now = at("2026-07-15 23:30")
    text(world, word, to_number="+13055550100")
    answer = world.commands[-1]
    assert isinstance(answer, SendSms)
    assert (answer.step_id, answer.from_number, answer.not_after) == (
        "(help-answer)",
        "+13055550100",
        world.now + 10 * MINUTE,
    )
    assert "+13055550100" in answer.body
    assert "STOP" in answer.body
    assert (world.lead().next_action_at, len(world.head().ledger)) == (planned_at, 1), "it is no contact, and no reply"


def test_help_is_answered_once_a_day_also_after_an_opt_out_with_the_words_of_the_company() -> None:
    world = World()
    world.add(
        "company", 1, Company(name="Sunny", time_zone=NEW_YORK, help_answer="Sunny Roofs: call 305-555-0100."), version=2
    )
    world.schedule(REST, CALL)
    world.submit()
    text(world, "STOP")
    text(world, "HELP")
    text(world, "HELP")
    assert [order.body for order in world.commands if isinstance(order, SendSms)] == ["Sunny Roofs: call 305-555-0100."]
    world.outcome("delivered")
    assert world.lead().status == "opt_out"
    world.now += DAY
    text(world, "HELP")
    assert len(world.commands) == 2


@pytest.mark.parametrize(
    ("body", "carrier", "meaning"),
    [
        ("Arrete ca", "opt_out", "opt_out"),
        ("JOIN", "opt_in", "opt_in"),
        ("What is this?", "help", "help"),
        ("Liked \u201cReply STOP\u201d", "opt_out", "opt_out"),
    ],
)
def test_what_the_carrier_took_a_text_for_goes_before_its_words(body: str, carrier: str, meaning: str) -> None:
    world = World()
    world.schedule(REST, CALL)
    world.submit()
    assert text(world, body, carrier_meaning=carrier).extra["meaning"] == meaning
    assert world.commands == [], "the carrier has answered by itself"
    assert (world.lead().status == "opt_out") == (carrier == "opt_out")


def test_a_reaction_to_our_text_is_a_reply_and_what_quotes_it_keeps_the_persons_words() -> None:
    world = World()
    world.schedule({"id": "text", "kind": "sms", "template": "Hi Ada, the quote is ready. Reply STOP to end"}, REST, CALL)
    world.submit()
    world.outcome("delivered")
    sent = "Hi Ada, the quote is ready. Reply STOP to end"
    assert text(world, f"Loved \u201c{sent}\u201d").extra["meaning"] == "reply"
    assert text(world, f"> {sent}\ncall me").extra["meaning"] == "reply"
    assert text(world, f"> {sent}\nSTOP").extra["meaning"] == "opt_out"


def test_the_same_text_reported_twice_is_one() -> None:
    world = World()
    world.schedule(REST, CALL)
    world.submit()
    reported = [text(world, "yes", provider="twilio", provider_ref=name).extra for name in ("SM1", "SM1", "SM2")]
    assert [(one["meaning"], one["repeated"]) for one in reported] == [("reply", False), (None, True), ("reply", False)]
    assert world.fact_types().count("sms.received") == 2


def test_a_text_that_may_be_an_opt_out_holds_everything_for_a_day_and_somebody_can_lift_that() -> None:
    world = World()
    world.schedule(REST, CALL)
    world.submit(schedule_callback_at=NOON + 2 * HOUR)
    text(world, "Stop by tomorrow?")
    assert "contact.optout_review" in world.fact_types()
    lead = world.lead()
    assert (lead.status_wait, lead.next_action_at) == ("callback_pending", NOON + DAY)
    world.update(opt_out=False)
    assert world.lead().next_action_at == NOON + 2 * HOUR
    world.wait(2 * 3600)
    assert world.steps() == ["(callback)"]


def test_what_was_ordered_is_called_off_when_it_may_have_been_an_opt_out_and_comes_a_day_later() -> None:
    world = World()
    world.schedule(TEXT)
    world.submit()
    text(world, "Stop by tomorrow?")
    assert [(fence.reason, fence.lead_ids) for fence in world.fences] == [("optout_review", (world.lead().id,))] * 4
    world.outcome("rejected_at_gate")
    assert (world.lead().attempts, world.lead().next_action_at, world.head().ledger) == (0, NOON + DAY, ())


def test_nobody_calls_by_hand_who_may_have_opted_out() -> None:
    world = World()
    world.schedule(REST, CALL)
    lead = world.submit()
    text(world, "Stop by tomorrow?")
    with pytest.raises(RefusedError) as refused:
        world.ask(CallStartRequested(company_id=1, contact_key=KEY, caller_id=NUMBER, lead_id=lead.id, force=True))
    assert (refused.value.code, refused.value.extra["reason"]) == ("suppressed_contact", "optout_review")


def test_a_word_of_opt_in_is_written_down_and_begins_nothing() -> None:
    world = World()
    world.schedule(REST, CALL)
    world.submit()
    world.act("opt_out")
    text(world, "START")
    assert "contact.optin_word" in world.fact_types()
    assert (world.lead().status, world.head().opted_out_at) == ("opt_out", NOON)


def test_an_answer_holds_contacts_for_a_day_and_not_what_contacts_nobody() -> None:
    world = World()
    world.schedule(REST, {"id": "tag", "kind": "tag", "add": ["warm"]}, CALL)
    world.submit()
    text(world, "yes please")
    lead = world.lead()
    assert (lead.status, lead.next_action_at) == ("scheduled", NOON + HOUR)  # a tag reaches no one
    world.wait(3600)
    lead = world.lead()
    assert (lead.data["tags"], lead.status, lead.status_wait) == (["warm"], "waiting", "reply_pause")
    assert (lead.next_action_at, lead.reasons) == (NOON + DAY, ("reply_pause",))
    world.wait(23 * 3600)
    assert (world.steps(), world.lead().pause) == (["call"], None)


def test_the_pause_of_an_answer_ends_early_on_an_explicit_next_action() -> None:
    world = World()
    world.schedule(REST, CALL)
    world.submit()
    text(world, "yes")
    assert world.lead().status_wait == "reply_pause"
    lead = world.update(next_action_at=NOON + 10 * MINUTE)
    assert (lead.status, lead.next_action_at) == ("scheduled", NOON + 10 * MINUTE)
    world.wait(600)
    assert world.steps() == ["call"]


def test_a_promised_call_is_kept_through_the_pause_of_an_answer() -> None:
    world = World()
    world.schedule(REST, TEXT)
    world.submit(schedule_callback_at=NOON + 2 * HOUR)
    text(world, "ok")
    world.wait(2 * 3600)
    assert world.steps() == ["(callback)"]


@pytest.mark.parametrize(
    ("reaction", "status", "next_action_at"),
    [("continue", "scheduled", NOON + HOUR), ("exit", "completed", None)],
)
def test_a_schedule_says_what_an_answer_does(reaction: str, status: str, next_action_at: int | None) -> None:
    world = World()
    world.schedule(REST, CALL, on_reply={"action": reaction})
    world.submit()
    text(world, "hello")
    assert (world.lead().status, world.lead().next_action_at) == (status, next_action_at)


def test_the_pause_is_as_long_as_the_schedule_says_and_reaches_no_other_person() -> None:
    world = World()
    world.schedule(REST, CALL, on_reply={"duration": "3h"})
    world.submit()
    other = world.submit(contact_key="1|+13055550199", caller_id="+13055550199")
    text(world, "hello")
    lead = world.lead(world.lead_ids()[0])
    assert (lead.next_action_at, world.lead(other.id).next_action_at) == (NOON + 3 * HOUR, NOON + HOUR)


def test_a_step_may_wait_for_an_answer_and_then_goes_on_at_once() -> None:
    steps = [TEXT, {"id": "ask", "kind": "wait_for", "event": "sms.received", "timeout": "1d", "on_timeout": "exit"}, CALL]
    world = World()
    world.schedule(*steps, EXIT)
    world.submit()
    text(world, "yes")  # before the receipt of the text: it is an answer to it all the same
    world.outcome("delivered")
    assert world.steps() == ["text", "call"]
    again = World()
    again.schedule(*steps, EXIT)
    again.submit()
    again.outcome("delivered")
    assert again.lead().status_wait == "awaiting_event"
    again.wait(3600)
    text(again, "yes")
    assert (again.steps(), again.lead().heard) == (["text", "call"], ())
    never = World()
    never.schedule(*steps, EXIT)
    never.submit()
    never.outcome("delivered")
    never.wait(2 * 86400)
    assert (never.steps(), never.lead().status) == (["text"], "completed_attempted")


def test_a_trigger_leads_elsewhere_when_the_person_answers() -> None:
    row = {"on": "exit", "type": "replied", "goto": "call"}
    world = World()
    world.schedule({**REST, "duration": "2d"}, EXIT, CALL, triggers=[row])
    world.submit()
    text(world, "yes")
    assert (world.steps(), world.lead().schedule_trigger_type) == (["call"], "replied")


def test_an_answer_to_a_text_on_its_way_moves_nothing_that_is_in_flight() -> None:
    row = {"on": "exit", "type": "replied", "goto": "text"}
    world = World()
    world.schedule(TEXT, REST, CALL, triggers=[row])
    world.submit()
    text(world, "who?")
    world.outcome("delivered", world.commands[0])
    assert world.steps() == ["text", "text"]


def test_a_text_is_kept_as_databases_can_keep_it() -> None:
    world = World()
    text(world, "hel\0lo" + "x" * 9_000)
    assert world.facts[0].data["body"] == ("hello" + "x" * 9_000)[:1_600]


def test_a_text_of_nobody_known_is_kept_as_a_fact() -> None:
    world = World()
    text(world, "hello")
    assert world.fact_types() == ["sms.received"]
    text(world, "stop")
    assert world.head().opted_out_at == world.now
    world.schedule(CALL)
    assert world.submit().status == "opt_out"
    assert [command for command in world.commands if not isinstance(command, PostWebhook)] == []


def test_start_lets_a_later_submission_be_texted_again_and_neither_called_nor_resumed() -> None:
    world = World()
    world.schedule(TEXT, CALL)
    first = world.submit()
    text(world, "STOP")
    text(world, "START")
    assert (world.lead(first.id).status, world.lead(first.id).opt_out) == ("opt_out", False)
    assert (world.head().opted_out_at, set(world.head().opt_outs)) == (None, {"channel/call", "channel/email"})
    emitted = len(world.commands)
    world.wait(2 * 86400)
    assert len(world.commands) == emitted
    world.now = NOON + 3 * DAY
    again = world.submit()
    assert isinstance(world.commands[-1], SendSms)
    world.outcome("delivered")
    assert (world.lead(again.id).status, len(world.commands)) == ("opt_out", emitted + 1)


def test_start_lifts_an_opt_out_of_the_channel_that_a_text_made() -> None:
    world = World()
    world.add("company", 1, Company(name="Sunny", time_zone=NEW_YORK, optout_scope="channel"), version=2)
    world.schedule(REST, TEXT)
    world.submit()
    text(world, "STOP")
    assert set(world.head().opt_outs) == {"channel/sms"}
    text(world, "START")
    assert world.head().opt_outs == {}
    assert world.submit().status == "scheduled"


def test_start_lifts_no_opt_out_that_was_made_in_another_way_as_well_nor_a_block() -> None:
    world = World()
    world.schedule(REST, TEXT)
    world.submit()
    text(world, "STOP")
    world.act("opt_out")
    text(world, "START")
    assert (world.head().opted_out_at, world.submit().status) == (NOON, "opt_out")
    blocked = World()
    blocked.schedule(REST, TEXT)
    blocked.submit(blocked=True)
    text(blocked, "STOP")
    text(blocked, "START")
    assert (blocked.head().opted_out_at, blocked.submit().status) == (None, "blocked")
