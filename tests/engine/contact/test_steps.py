"""In which sequence, and when, are the steps of a schedule carried out?"""

from typing import Any

import pytest

from engine.limits import SPEECH_LENGTH_MAX
from schemas.commands import UNSUBSCRIBE_URL, PlaceCall, PostWebhook, SendEmail, SendSms
from schemas.instant import DAY, HOUR, MINUTE, SECOND, Instant
from schemas.records import Company, Number, Offer, OutgoingWebhook
from schemas.requests import CallStartRequested
from tests.engine.contact.world import KEY, NOON, NUMBER, World, at

CALL = {"id": "call", "kind": "call"}
TEXT = {"id": "text", "kind": "sms", "template": "Hi {{first_name}}, this is {{svc_number}}.{{nothing}}"}
MAIL = {"id": "mail", "kind": "email", "subject": "For {{first_name}}", "template": "Hello"}
HOOK = {"id": "hook", "kind": "webhook", "outgoing_webhook_id": 3}


@pytest.fixture
def world() -> World:
    made = World()
    made.add("number", 5, Number(number="+12125550100"))
    made.add("outgoing_webhook", 3, OutgoingWebhook(name="crm", url="https://example.com"))
    return made


def test_a_submitted_lead_is_called_in_the_same_decision(world: World) -> None:
    world.schedule(CALL)
    lead = world.submit()
    (command,) = world.commands
    assert isinstance(command, PlaceCall)
    assert (command.to, command.from_number, command.call_id) == ("+13055550123", "+12125550100", lead.attempted_call_id)
    assert (lead.status, lead.status_wait, lead.next_action_at) == ("running", "awaiting_outcome", NOON)
    assert world.call(lead.attempted_call_id).status == "initiated"


def test_a_schedule_is_walked_to_its_end_and_its_end_steps(world: World) -> None:
    world.schedule(CALL, TEXT, MAIL, end_steps=[HOOK])
    world.submit(email="ann@example.com")
    for outcome in ("connected_human", "delivered", "accepted", "accepted"):
        world.outcome(outcome)
        world.wait(1)
    assert world.steps() == ["call", "text", "mail", "hook"]
    assert (world.lead().status, world.lead().wake_at) == ("completed_connected", None)


def test_a_text_says_what_the_lead_is_and_what_is_missing_reads_as_nothing(world: World) -> None:
    world.schedule(TEXT)
    world.submit(data={"first_name": "Ann"})
    (command,) = world.commands
    assert isinstance(command, SendSms)
    assert command.body == "Hi Ann, this is +12125550100."
    assert next(fact for fact in world.facts if fact.type == "template.token_missing").data["tokens"] == ["nothing"]


def test_a_buyer_hears_whom_they_get_in_one_line(world: World) -> None:
    world.schedule({**CALL, "connect": {"whisper": "{{first_name}} from {{city}}:\n{{nothing}} {{age}}"}})
    world.submit(data={"first_name": "Ann", "city": "St.\tPetersburg\x07", "age": 41.0})
    (command,) = world.commands
    assert isinstance(command, PlaceCall)
    assert command.whisper == "Ann from St. Petersburg : 41"
    assert next(fact for fact in world.facts if fact.type == "template.token_missing").data["tokens"] == ["nothing"]


def test_a_long_token_costs_no_call_and_a_whisper_of_nothing_is_none(world: World) -> None:
    world.schedule({**CALL, "connect": {"whisper": "{{about}}"}, "retry": {"busy": {"delay": "10m"}}})
    world.submit(data={"about": "x" * 4_000})
    world.update(data={"about": "\n"})
    world.outcome("busy")
    world.wait(600)
    first, second = world.commands
    assert isinstance(first, PlaceCall)
    assert isinstance(second, PlaceCall)
    assert (first.whisper, second.whisper) == ("x" * SPEECH_LENGTH_MAX, None)


def test_a_call_by_hand_and_a_promised_call_have_no_whisper(world: World) -> None:
    world.schedule({**CALL, "connect": {"whisper": "Ann"}})
    lead = world.submit()
    world.outcome("connected_human")
    world.wait(60)
    world.ask(CallStartRequested(company_id=1, contact_key=KEY, caller_id=NUMBER, lead_id=lead.id))
    assert [command.whisper for command in world.commands if isinstance(command, PlaceCall)] == ["Ann", None]


def test_an_e_mail_leaves_the_link_to_unsubscribe_to_its_gateway_and_a_text_has_none(world: World) -> None:
    named = "No more: {{ unsubscribe_url }}"
    world.schedule({**MAIL, "template": named}, {**TEXT, "template": named})
    world.submit(email="ann@example.com", data={"first_name": "Ann"})
    world.outcome("accepted")
    mail, text = world.commands
    assert isinstance(mail, SendEmail)
    assert isinstance(text, SendSms)
    assert (mail.body, text.body) == (f"No more: {UNSUBSCRIBE_URL}", "No more: ")
    missing = [fact.data["tokens"] for fact in world.facts if fact.type == "template.token_missing"]
    assert missing == [["unsubscribe_url"]]


def test_a_senders_own_unsubscribe_url_comes_first(world: World) -> None:
    world.schedule({**MAIL, "template": "{{unsubscribe_url}}"})
    world.submit(email="ann@example.com", data={"unsubscribe_url": "https://sender.example/stop"})
    (mail,) = world.commands
    assert isinstance(mail, SendEmail)
    assert mail.body == "https://sender.example/stop"


def test_a_webhook_carries_the_lead_and_the_version_that_it_was_decided_on(world: World) -> None:
    world.add("outgoing_webhook", 3, OutgoingWebhook(name="crm", url="https://example.com/2"), version=2)
    world.schedule(HOOK)
    lead = world.submit(data={"plan": "gold"}, columns={"country": "US"})
    (command,) = world.commands
    assert isinstance(command, PostWebhook)
    assert (command.outgoing_webhook_id, command.webhook_version) == (3, 2)
    reported = command.payload["data"]["lead"]
    assert (reported["id"], reported["country"], reported["data"]) == (lead.id, "US", {"plan": "gold"})


@pytest.mark.parametrize(
    ("wait", "until"),
    [
        ({"duration": "90s"}, NOON + 90 * SECOND),
        ({"duration": "2h"}, NOON + 2 * HOUR),
        ({"duration": "1d"}, NOON + DAY),
        ({"until": {"time": "10:00"}}, at("2026-07-16 10:00")),
        ({"until": {"time": "10:00", "days": ["mon"]}}, at("2026-07-20 10:00")),
        ({"until": {"time": "19:00", "zone": "schedule"}}, at("2026-07-15 19:00")),
        ({"until": {"time": "11:00", "if_passed": "now"}}, NOON),
    ],
)
def test_what_follows_a_wait_is_planned_from_its_end(world: World, wait: dict[str, Any], until: Instant) -> None:
    world.schedule({"id": "wait", "kind": "wait", **wait}, CALL)
    lead = world.submit()
    assert lead.next_action_at == until
    world.wait_until(until)
    assert [command.decided_at for command in world.commands] == [until]


def test_a_day_of_waiting_keeps_the_wall_clock_over_a_change_of_the_clock(world: World) -> None:
    world.now = at("2026-03-07 10:00")
    world.schedule({"id": "wait", "kind": "wait", "duration": "1d"}, CALL)
    assert world.submit().next_action_at == at("2026-03-08 10:00")


def test_a_wait_behind_the_last_step_delays_the_end(world: World) -> None:
    world.schedule(TEXT, {"id": "rest", "kind": "wait", "duration": "3h"}, end_steps=[HOOK])
    world.submit()
    world.outcome("delivered")
    world.wait(3 * 3600 - 1)
    assert world.steps() == ["text"]
    world.wait(1)
    assert world.steps() == ["text", "hook"]


@pytest.mark.parametrize(
    ("ready", "call_at", "reasons"),
    [
        ("2026-03-07 21:30", "2026-03-08 08:00", ("quiet_hours_federal",)),  # E1
        ("2026-10-31 21:30", "2026-11-01 08:00", ("quiet_hours_federal",)),  # E2
        ("2026-07-15 20:59", "2026-07-15 20:59", ()),
        ("2026-07-15 21:00", "2026-07-16 08:00", ("quiet_hours_federal",)),
        ("2026-07-15 05:00", "2026-07-15 08:00", ("quiet_hours_federal",)),
    ],
)
def test_no_telephone_rings_outside_the_legal_hours(
    world: World, ready: str, call_at: str, reasons: tuple[str, ...]
) -> None:
    world.now = at(ready)
    world.schedule(CALL)
    lead = world.submit()
    assert (lead.next_action_at, lead.reasons) == (at(call_at), reasons)
    world.wait_until(at(call_at))
    assert [command.decided_at for command in world.commands] == [at(call_at)]


def test_preferred_hours_hold_in_every_zone_where_the_lead_may_be(world: World) -> None:
    weekdays = {"days": ["mon", "tue", "wed", "thu", "fri"], "open": "09:00", "close": "17:00"}
    world.now = at("2026-07-17 16:30")  # a Friday
    world.schedule(TEXT, windows={"sms": [weekdays]})
    lead = world.submit(zones=("America/New_York", "America/Denver"))
    assert world.steps() == ["text"]
    world.now = at("2026-07-17 17:00")
    lead = world.submit(contact_key="1|+13055550124", caller_id="+13055550124", zones=("America/New_York", "America/Denver"))
    assert lead.next_action_at == at("2026-07-20 11:00")
    assert (lead.status, lead.status_wait, lead.zone_deciding) == ("waiting", "preferred_window", "America/Denver")


def test_what_moved_an_action_last_is_what_its_lead_waits_for(world: World) -> None:
    weekdays = {"days": ["mon", "tue", "wed", "thu", "fri"], "open": "06:00", "close": "17:00"}
    world.now = at("2026-07-17 22:00")  # a Friday; the legal hours, then the preferred ones, then the legal ones again
    world.schedule(TEXT, windows={"sms": [weekdays]})
    lead = world.submit()
    assert (lead.next_action_at, lead.reasons) == (at("2026-07-20 08:00"), ("quiet_hours_federal", "preferred_window"))
    assert lead.status_wait == "quiet_hours_federal"


def test_a_lead_of_an_unknown_american_zone_is_called_where_every_zone_allows_it(world: World) -> None:
    world.now = at("2026-07-15 06:00")
    world.schedule(CALL)
    assert world.submit(zones=()).next_action_at == at("2026-07-15 14:00")  # E8


def test_mail_has_no_legal_hours(world: World) -> None:
    world.now = at("2026-07-15 03:00")
    world.schedule(MAIL)
    world.submit(email="ann@example.com")
    assert world.steps() == ["mail"]


def test_windows_that_never_open_are_said_to_be_so(world: World) -> None:
    hours = {"days": ["mon"], "open": "09:00", "close": "12:00"}
    world.schedule(TEXT, windows={"sms": [hours]}, hours_to_expire=24)
    lead = world.submit(zones=("America/New_York", "Asia/Tokyo"))  # E10
    assert (lead.status, lead.status_wait, lead.next_action_at) == ("waiting", "window_never_open", None)
    assert lead.wake_at == lead.expires_at


def test_a_command_must_not_be_carried_out_after_its_window_has_closed(world: World) -> None:
    world.now = at("2026-07-15 20:58")
    world.schedule(CALL)
    world.submit()
    assert world.commands[0].not_after == at("2026-07-15 21:00")


def test_the_close_margin_shortens_the_window(world: World) -> None:
    world.now = at("2026-07-15 20:59")
    world.schedule(CALL, close_margin_seconds=60)
    assert world.submit().next_action_at == at("2026-07-16 08:00")


def test_a_step_that_cannot_be_reached_is_passed_over(world: World) -> None:
    world.schedule(MAIL, {**HOOK, "outgoing_webhook_id": 99}, TEXT)
    world.submit()
    assert world.steps() == ["text"]
    skipped = [(fact.data["step_id"], fact.data["reason"]) for fact in world.facts if fact.type == "step.skipped"]
    assert skipped == [("mail", "no_address"), ("hook", "no_webhook")]


@pytest.mark.parametrize(
    ("step", "steps_after"),
    [
        ({**CALL}, ["call"]),
        ({**CALL, "on_late": "skip"}, ["hook"]),
        ({**CALL, "on_late": "skip", "max_lateness": "6h"}, ["call"]),
        ({**CALL, "on_late": "exit"}, []),
        ({**TEXT}, ["hook"]),
        ({**TEXT, "max_lateness": "2d"}, ["text"]),
        ({**TEXT, "on_late": "run"}, ["text"]),
    ],
)
def test_what_is_late_is_run_skipped_or_ends_the_schedule(
    world: World, step: dict[str, Any], steps_after: list[str]
) -> None:
    world.schedule({"id": "wait", "kind": "wait", "duration": "1h"}, step, HOOK, paused=True)
    world.submit()
    world.wait(6 * 3600)
    assert world.steps() == []
    world.schedule({"id": "wait", "kind": "wait", "duration": "1h"}, step, HOOK, version=2)
    world.wait(1)
    # The lead stays on the version that it entered; only the pause is read from the newest.
    assert world.steps() == steps_after


@pytest.mark.parametrize(
    ("record_type", "body", "reason"),
    [
        ("company", Company(name="Sunny", paused=True), "company_paused"),
        ("offer", Offer(name="Solar", lead_token="offer", paused=True), "offer_paused"),
    ],
)
def test_a_paused_company_or_offer_holds_its_due_leads(world: World, record_type: str, body: Any, reason: str) -> None:
    world.schedule(TEXT)
    world.add(record_type, 1, body, version=2)
    lead = world.submit()
    assert (lead.status, lead.status_wait) == ("waiting", reason)
    world.wait(3600)
    waits = [fact for fact in world.facts if fact.type == "lead.waiting"]
    assert len(waits) == 1
    resumed = type(body)(**{name: getattr(body, name) for name in ("name", "lead_token") if hasattr(body, name)})
    world.add(record_type, 1, resumed, version=3)
    world.wait(15 * 60)
    assert world.steps() == ["text"]


def test_a_lead_of_a_deleted_schedule_is_disabled(world: World) -> None:
    world.schedule({"id": "wait", "kind": "wait", "duration": "1h"}, CALL)
    world.submit()
    body = world.rules.record("schedule", 1)
    assert body is not None
    body.deleted_at, body.version = Instant(1), 2
    fresh = type(body)(**{name: getattr(body, name) for name in body.__struct_fields__})
    body.version = 1
    world.rules.apply(0, fresh)
    world.wait(3600)
    assert (world.lead().status, world.steps()) == ("disabled", [])


def test_nobody_is_contacted_while_requests_are_unread(world: World) -> None:
    world.behind = True
    world.schedule(CALL)
    lead = world.submit()
    assert (world.commands, lead.status, lead.next_action_at) == ([], "scheduled", NOON)
    world.behind = False
    world.wait(1)
    assert world.steps() == ["call"]


def test_a_webhook_is_ordered_even_while_requests_are_unread(world: World) -> None:
    world.behind = True
    world.schedule(HOOK)
    world.submit()
    assert world.steps() == ["hook"]


def test_the_attempt_limit_ends_a_lead_that_still_had_contacts_to_come(world: World) -> None:
    world.schedule(CALL, TEXT, {"id": "again", "kind": "call"}, MAIL, end_steps=[HOOK], max_contact_attempts=2)
    world.submit(email="ann@example.com")
    world.outcome("no_answer")
    world.outcome("delivered")
    assert world.steps() == ["call", "text", "hook"]
    world.outcome("accepted")
    assert world.lead().status == "exceeded_max_calls"


def test_the_attempt_limit_does_not_matter_where_no_counted_contact_is_to_come(world: World) -> None:
    world.schedule(CALL, MAIL, max_contact_attempts=1)
    world.submit(email="ann@example.com")
    world.outcome("no_answer")
    world.outcome("accepted")
    assert (world.steps(), world.lead().status) == (["call", "mail"], "completed_attempted")


def test_a_lead_expires_and_its_webhooks_are_posted_but_nobody_is_contacted(world: World) -> None:
    wait = {"id": "wait", "kind": "wait", "duration": "2d"}
    world.schedule(wait, CALL, end_steps=[{**TEXT, "id": "bye"}, HOOK], hours_to_expire=24)
    lead = world.submit()
    assert (lead.status, lead.status_wait, lead.next_action_at) == ("waiting", "expires_first", None)
    world.wait(24 * 3600 - 1)
    assert world.steps() == []
    world.wait(1)
    assert world.steps() == ["hook"]
    world.outcome("accepted")
    assert world.lead().status == "expired"


def test_expiry_waits_for_the_outcome_of_what_is_on_its_way(world: World) -> None:
    world.schedule({"id": "wait", "kind": "wait", "duration": "3599s"}, CALL, TEXT, hours_to_expire=1)
    world.submit()
    world.wait(3600 + 60)
    assert (world.steps(), world.lead().status) == (["call"], "running")
    world.outcome("connected_human")
    assert world.lead().status == "expired"


def test_an_exit_step_ends_with_its_result(world: World) -> None:
    world.schedule({"id": "out", "kind": "exit", "result": "success"}, CALL, end_steps=[HOOK])
    world.submit()
    world.outcome("accepted")
    assert (world.steps(), world.lead().status) == (["hook"], "success")


def test_a_schedule_without_steps_is_complete_at_once(world: World) -> None:
    world.schedule()
    assert world.submit().status == "completed"


def test_two_calls_to_one_number_are_thirty_seconds_apart(world: World) -> None:
    world.schedule(CALL, {"id": "again", "kind": "call"})
    world.submit()
    world.wait(5)
    world.outcome("no_answer")
    assert (world.lead().next_action_at, world.lead().reasons) == (NOON + 30 * SECOND, ("min_spacing",))
    world.wait(25)
    assert world.steps() == ["call", "again"]


def test_a_person_is_not_called_for_one_lead_while_called_for_another(world: World) -> None:
    world.schedule(CALL)
    world.schedule({"id": "other", "kind": "call"}, record_id=2)
    world.submit()
    second = world.submit(schedule_id=2)
    world.wait(60)
    assert (world.steps(), world.lead(second.id).status_wait) == (["call"], "awaiting_outcome")
    world.outcome("no_answer")
    assert world.steps() == ["call", "other"]


def test_leads_of_one_person_are_called_one_after_the_other_though_no_outcome_comes(world: World) -> None:
    world.schedule(CALL, duplicate_policy="create")
    for _ in range(3):
        world.submit()
    world.wait(12 * 3600 - 4 * 3600)
    assert [command.decided_at for command in world.commands[:2]] == [NOON, NOON + 4 * HOUR]
    assert len({command.lead_id for command in world.commands}) == len(world.commands) == 3


def test_more_steps_that_take_no_time_than_one_decision_takes_are_gone_through_later(world: World) -> None:
    world.schedule(*({**HOOK, "id": f"h{number}", "outgoing_webhook_id": 9} for number in range(150)), CALL)
    assert world.submit().status_wait == "move_loop_guard"
    world.wait(5)
    assert world.steps() == ["call"]


def test_the_next_action_can_be_asked_for_once(world: World) -> None:
    world.schedule(
        {"id": "wait", "kind": "wait", "duration": "5h"}, CALL, {"id": "wait-2", "kind": "wait", "duration": "1h"}, TEXT
    )
    lead = world.submit(next_action_at=NOON + 10 * MINUTE)
    assert (lead.next_action_at, lead.requested_next_action_at) == (NOON + 10 * MINUTE, NOON + 10 * MINUTE)
    world.wait(600)
    world.outcome("no_answer")
    assert (world.lead().next_action_at, world.lead().requested_next_action_at) == (world.now + HOUR, None)


def test_an_asked_for_moment_is_moved_into_the_hours(world: World) -> None:
    world.schedule(CALL)
    lead = world.submit(next_action_at=at("2026-07-15 22:00"))  # E35
    assert (lead.requested_next_action_at, lead.next_action_at) == (at("2026-07-15 22:00"), at("2026-07-16 08:00"))


def test_an_order_says_what_its_step_says(world: World) -> None:
    call = {**CALL, "from_number": "+12125550177", "ring_timeout_seconds": 45, "machine": "continue"}
    world.schedule(call, {**TEXT, "from_number": "+12125550178"}, {**MAIL, "from_address": "solar@example.com"})
    world.submit(email="ann@example.com")
    for outcome in ("no_answer", "delivered"):
        world.outcome(outcome)
    called, texted, mailed = world.commands
    assert isinstance(called, PlaceCall)
    assert isinstance(texted, SendSms)
    assert isinstance(mailed, SendEmail)
    assert (called.from_number, called.ring_timeout_seconds, called.machine) == ("+12125550177", 45, "continue")
    assert texted.from_number == "+12125550178"
    assert mailed.from_address == "solar@example.com"


@pytest.mark.parametrize(
    ("until", "planned"),
    [
        ({"time": "19:00", "zone": "schedule"}, "2026-07-15 22:00"),
        ({"time": "19:00", "zone": "America/Chicago"}, "2026-07-15 20:00"),
        ({"time": "19:00", "date": "2026-07-20"}, "2026-07-20 19:00"),
        ({"time": "19:00"}, "2026-07-15 19:00"),
    ],
)
def test_a_local_time_is_of_the_clock_and_date_that_are_meant(world: World, until: dict[str, Any], planned: str) -> None:
    world.schedule({"id": "wait", "kind": "wait", "until": until}, HOOK, time_zone="America/Los_Angeles")
    assert world.submit().next_action_at == at(planned)


def test_a_contact_step_that_cannot_be_done_is_judged_when_it_is_reached_and_fails_the_lead_where_none_can() -> None:
    world = World()
    world.schedule({"id": "rest", "kind": "wait", "duration": "2h"}, {"id": "call", "kind": "call"})
    lead = world.submit(contact_key="1|email:a@example.com", caller_id=None, email="a@example.com")
    assert lead.status in {"scheduled", "waiting"}
    world.wait(2 * 3600)
    assert world.lead(lead.id).status == "failure"
