"""Which branch does a lead take, and what do the steps do that change a lead, wait or restart?"""

from collections import Counter
from typing import Any

import pytest

from engine.contact.schedule.filters import FilterError, parse_filter
from schemas.instant import DAY, HOUR, MINUTE
from schemas.records import OutgoingWebhook
from tests.engine.contact.world import NOON, NUMBER, World, at

CALL = {"id": "call", "kind": "call"}
TEXT = {"id": "text", "kind": "sms", "template": "Hi"}
HOOK = {"id": "hook", "kind": "webhook", "outgoing_webhook_id": 3}
PAUSE = {"id": "pause", "kind": "wait", "duration": "1h"}


@pytest.fixture
def world() -> World:
    made = World()
    made.add("outgoing_webhook", 3, OutgoingWebhook(name="crm", url="https://example.com"))
    return made


def branch(*filters: str, goto: str = "text", **fields: Any) -> dict[str, Any]:
    return {"id": "where", "kind": "branch", "rules": [{"if": filters, "goto": goto}], **fields}


@pytest.mark.parametrize(
    ("filters", "holds"),
    [
        (["plan:gold"], True),
        (["plan:GOLD"], True),
        (["plan:silver|gold"], True),
        (["plan:!=silver|bronze"], True),
        (["plan:!=silver|gold"], False),
        (["age:>=40"], True),
        (["age:>40"], False),
        (["age:40.0"], True),
        (["age:<9"], False),
        (["age:<=old"], False),
        (["born:>=1986-01-01"], True),
        # amounts as people write them, in a filter and in a form
        (["asks:5000"], True),
        (["asks:5,000"], True),
        (["asks:$5,000.00"], True),
        (["asks:>4,999"], True),
        (["asks:>=$5,001"], False),
        (["age:<$1,000"], True),
        (["asks:50,00"], False),
        (["nothing:x"], False),
        (["nothing:!=x"], True),
        (["nothing:"], True),
        (["plan:!="], True),
        (["nothing:<9"], False),
        (["country:US"], True),
        (["sub_id:token"], True),
        (["state:CA|FL"], True),
        (["state:NY"], False),
        (["connected:false", "attempts:0"], True),
        (["plan:gold", "age:<40"], False),
        (["weekday:wed", "time:>=12:00", "time:<12:01"], True),
        (["caller_id:" + NUMBER], True),
        (["tags:hot"], True),
        (["tags:!=hot"], False),
        (["url:https://a.example/?a=1"], True),
    ],
)
def test_a_filter_is_of_tokens_first_then_columns_then_what_is_known(world: World, filters: list[str], holds: bool) -> None:
    world.schedule(branch(*filters), {"id": "else", "kind": "exit"}, TEXT)
    data = {"plan": "gold", "age": 40, "asks": "$5,000", "born": "1986-05-01", "sub_id": "token", "tags": ["new", "hot"]}
    columns = {"country": "US", "sub_id": "column"}
    world.submit(data=data | {"url": "https://a.example/?a=1"}, columns=columns, states=("FL",))
    assert (world.steps() == ["text"]) == holds


FORGED = {
    **dict.fromkeys(("attempts", "outbound_calls_count", "sms_count", "emails_count", "lifetime_calls"), "99"),
    **dict.fromkeys(("enrolment_attempts", "lifetime_sms", "enrolment", "contact_24h", "contact_7d"), "99"),
    **dict.fromkeys(("connected", "buyer_converted", "offer_converted"), "true"),
    **dict.fromkeys(("id", "uuid", "status", "offer_id", "schedule_id", "buyer_id", "revenue", "payout"), "99"),
    **dict.fromkeys(("weekday", "time", "outcome", "disposition", "zone", "lead_import_id", "dial_tier"), "forged"),
}


@pytest.mark.parametrize(("key", "value"), FORGED.items())
def test_no_token_claims_what_only_leadclock_knows(world: World, key: str, value: str) -> None:
    world.schedule(branch(f"{key}:{value}"), {"id": "else", "kind": "exit"}, TEXT)
    world.submit(data={key: value})
    assert world.steps() == [], "a token claimed it"


@pytest.mark.parametrize(("key", "value"), [*FORGED.items(), ("plan", "gold")])
def test_the_token_of_any_name_can_be_asked_for(world: World, key: str, value: str) -> None:
    world.schedule(branch(f"token.{key}:{value}"), {"id": "else", "kind": "exit"}, TEXT)
    world.submit(data={key: value})
    assert world.steps() == ["text"]


@pytest.mark.parametrize("text", ["plan", ":x", "a b:x", "n:>=", "n:>=1|", "n:>1|<0", "n:" + "x" * 500])
def test_what_is_no_filter_is_refused(text: str) -> None:
    with pytest.raises(FilterError):
        parse_filter(text)


def test_the_first_rule_that_holds_decides_and_else_where_none_does(world: World) -> None:
    rules = [{"if": ["state:TX"], "goto": "call"}, {"if": ["state:FL"], "goto": "hook"}, {"if": ["a:"], "goto": "call"}]
    world.schedule({"id": "where", "kind": "branch", "rules": rules, "else": "text"}, CALL, HOOK, TEXT)
    world.submit(states=("FL",))
    assert world.steps() == ["hook"]
    world.schedule({"id": "where", "kind": "branch", "rules": rules[:2], "else": "text"}, CALL, HOOK, TEXT, record_id=2)
    world.submit(schedule_id=2)
    assert world.steps() == ["hook", "text"]


def test_a_branch_behind_a_wait_is_decided_when_the_wait_is_over(world: World) -> None:
    world.schedule(PAUSE, branch("plan:gold"), CALL, TEXT)
    lead = world.submit()
    assert (lead.step, lead.next_action_at) == ("where", NOON + HOUR)
    world.update(data={"plan": "gold"})
    world.wait(3600)
    assert world.steps() == ["text"]


def test_a_branch_knows_what_came_of_the_last_action(world: World) -> None:
    world.schedule(CALL, branch("outcome:busy|no_answer", "attempts:1"), HOOK, TEXT)
    world.submit()
    world.outcome("busy")
    assert world.steps() == ["call", "text"]


def test_a_way_back_meets_the_same_step_again_under_a_new_command(world: World) -> None:
    world.schedule(CALL, {"id": "wait", "kind": "wait", "duration": "1h"}, branch("attempts:<3", goto="call"))
    world.submit()
    for _ in range(3):
        world.outcome("no_answer")
        world.wait(3600)
    assert world.steps() == ["call"] * 3
    assert len({command.command_id for command in world.commands}) == 3
    assert world.lead().status == "completed_attempted"


def test_a_way_back_to_a_text_still_counts_as_a_contact_to_come(world: World) -> None:
    world.schedule(TEXT, PAUSE, {**branch("x:", goto="text"), "id": "back"}, max_contact_attempts=1)
    world.submit()
    world.outcome("delivered")
    world.wait(3600)
    assert (world.steps(), world.lead().status) == (["text"], "exceeded_max_calls")


def test_a_lead_is_always_sent_the_same_way_by_a_split_and_the_shares_are_kept(world: World) -> None:
    paths = [{"goto": "text", "weight": 3}, {"goto": "call"}]
    world.schedule({"id": "ab", "kind": "split", "paths": paths}, CALL, {"id": "x", "kind": "exit"}, TEXT)
    for number in range(200):
        caller = f"+1305555{number:04}"
        world.submit(contact_key=f"1|{caller}", caller_id=caller)
    assert 120 < Counter(world.steps())["text"] < 180
    before = world.steps()[-1]
    world.submit(contact_key=f"1|{caller}", caller_id=caller, restart_schedule=True)
    world.outcome("not_placed")
    assert world.steps()[-1] == before


WAIT_FOR = {"id": "reply", "kind": "wait_for", "event": "tokens_match", "filters": ["quote:!="], "timeout": "2d"}


def test_a_lead_waits_for_a_token_and_goes_on_when_it_comes(world: World) -> None:
    world.schedule({**WAIT_FOR, "on_match": "text", "on_timeout": "call"}, CALL, TEXT)
    lead = world.submit()
    assert (lead.status, lead.status_wait, lead.next_action_at) == ("waiting", "awaiting_event", NOON + 2 * DAY)
    world.wait(3600)
    world.update(data={"other": 1})
    assert world.steps() == []
    world.update(data={"quote": 900})
    assert world.steps() == ["text"]


def test_a_lead_that_waits_in_vain_goes_on_when_the_time_is_up(world: World) -> None:
    world.schedule({**WAIT_FOR, "on_match": "text", "on_timeout": "call"}, CALL, TEXT)
    world.submit()
    world.wait(2 * 86400)
    assert (world.steps(), world.now) == (["call"], NOON + 2 * DAY)


def test_what_is_true_already_is_not_waited_for_and_a_wait_before_comes_first(world: World) -> None:
    world.schedule(PAUSE, WAIT_FOR, TEXT)
    lead = world.submit(data={"quote": 1})
    assert lead.next_action_at == NOON + HOUR
    world.wait(3600)
    assert world.steps() == ["text"]


def test_a_conversion_is_waited_for_where_the_schedule_goes_on_after_it(world: World) -> None:
    step = {"id": "sold", "kind": "wait_for", "event": "converted", "timeout": "1d"}
    world.schedule(step, TEXT, on_conversion="continue")
    world.submit()
    world.update(buyer_converted=True)
    assert world.steps() == ["text"]


def test_a_lead_that_waits_is_removed_expired_and_moved_on_as_usual(world: World) -> None:
    world.schedule(WAIT_FOR, TEXT, hours_to_expire=5, duplicate_policy="create")
    world.submit()
    world.update(next_action_at=NOON)
    assert world.steps() == ["text"]
    world.submit()
    world.wait(5 * 3600)
    assert world.lead().status == "expired"


def test_tokens_tags_and_priority_are_changed(world: World) -> None:
    world.schedule(
        {"id": "set", "kind": "update_lead", "set": {"stage": "two"}, "unset": ["old"], "lead_priority": -1},
        {"id": "tag", "kind": "tag", "add": ["warm", "solar"], "remove": ["cold"]},
        branch("tags:warm", "stage:two"),
        CALL,
        TEXT,
    )
    lead = world.submit(data={"old": 1, "tags": "cold, new"})
    assert (lead.data, lead.lead_priority) == ({"tags": ["new", "warm", "solar"], "stage": "two"}, -1)
    assert world.steps() == ["text"]
    assert [fact.data["kind"] for fact in world.facts if fact.type == "step.applied"] == ["update_lead", "tag"]


def test_a_step_changes_nothing_while_the_schedule_is_paused(world: World) -> None:
    world.schedule({"id": "set", "kind": "update_lead", "set": {"a": 1}}, paused=True)
    lead = world.submit()
    assert (lead.data, lead.status_wait) == ({}, "schedule_paused")


def test_a_promised_call_is_placed_at_its_time_and_holds_what_follows(world: World) -> None:
    world.schedule({"id": "promise", "kind": "schedule_callback", "at": {"time": "10:00"}}, TEXT)
    lead = world.submit()
    assert (lead.callback_at, lead.status_wait) == (at("2026-07-16 10:00"), "callback_pending")
    world.wait(22 * 3600)
    assert world.steps() == ["(callback)"]


def test_a_call_is_not_promised_to_nobody(world: World) -> None:
    world.schedule({"id": "promise", "kind": "schedule_callback", "in": "2h"}, HOOK)
    world.submit(contact_key="1|email:ann@example.com", caller_id=None, email="ann@example.com")
    assert (world.steps(), world.lead().callback_at) == (["hook"], None)


@pytest.mark.parametrize(("kind", "status"), [("opt_out", "opt_out"), ("block", "blocked")])
def test_a_step_that_stops_the_person_ends_all_their_leads_and_tells_webhooks(world: World, kind: str, status: str) -> None:
    world.schedule(PAUSE, TEXT, record_id=2)
    other = world.submit(schedule_id=2)
    world.schedule({"id": "stop", "kind": kind}, end_steps=[HOOK, {**TEXT, "id": "bye"}])
    world.submit()
    assert (world.lead().status, world.lead(other.id).status) == (status, status)
    assert world.steps() == ["hook"]
    assert world.head().opted_out_at == (NOON if kind == "opt_out" else None)


def test_a_schedule_restarts_as_often_as_its_step_says_and_counts_from_zero_for_a_new_submission(world: World) -> None:
    again = {"id": "again", "kind": "restart", "max_restarts": 2}
    world.schedule(HOOK, PAUSE, again, TEXT)
    world.submit()
    for _ in range(3):
        world.outcome("accepted")
        world.wait(3600)
    assert (world.steps(), world.lead().enrolment) == (["hook", "hook", "hook", "text"], 3)
    world.outcome("delivered")
    world.submit(restart_schedule=True)
    assert world.lead().restarts == 0


def test_a_move_begins_the_other_schedule_and_keeps_what_it_says(world: World) -> None:
    world.schedule(CALL, record_id=2, hours_to_expire=10)
    world.schedule(TEXT, {"id": "on", "kind": "move_to_schedule", "schedule_id": 2}, hours_to_expire=50)
    world.submit()
    world.outcome("delivered")
    lead = world.lead()
    assert (lead.schedule_id, lead.attempts, lead.expires_at) == (2, 1, NOON + 50 * HOUR)
    assert world.steps() == ["text", "call"]
    move = {"id": "on", "kind": "move_to_schedule", "schedule_id": 2, "keep_expiry": False, "keep_attempts": True}
    world.schedule(TEXT, move, version=2, hours_to_expire=50)
    caller = "+13055550199"
    world.submit(contact_key=f"1|{caller}", caller_id=caller)
    world.outcome("delivered")
    assert (world.lead().attempts, world.lead().expires_at) == (2, NOON + 10 * HOUR)


def test_a_move_to_a_schedule_that_is_gone_goes_on(world: World) -> None:
    world.schedule({"id": "on", "kind": "move_to_schedule", "schedule_id": 9}, TEXT)
    world.submit()
    assert world.steps() == ["text"]


def test_the_eleventh_move_within_a_day_waits(world: World) -> None:  # E30
    for here, there in ((1, 2), (2, 1)):
        step = {"id": "on", "kind": "move_to_schedule", "schedule_id": there}
        world.schedule({"id": "wait", "kind": "wait", "duration": "10m"}, step, record_id=here)
    world.submit()
    world.wait(20 * 3600)
    assert (len(world.lead().moves), world.lead().status_wait) == (10, "move_loop_guard")
    assert world.lead().enrolment == 11
    world.wait(4 * 3600 + 30 * 60)
    assert world.lead().enrolment > 11


def test_end_steps_may_move_an_expired_lead_on_with_a_new_time(world: World) -> None:
    world.schedule(PAUSE, TEXT, record_id=2, hours_to_expire=10)
    move = {"id": "on", "kind": "move_to_schedule", "schedule_id": 2}
    world.schedule({"id": "wait", "kind": "wait", "duration": "2d"}, CALL, hours_to_expire=1, end_steps=[move])
    world.submit()
    world.wait(3600)
    lead = world.lead()
    assert (lead.schedule_id, lead.ending, lead.expires_at) == (2, False, NOON + 11 * HOUR)
    world.wait(3600)
    assert world.steps() == ["text"]


def test_a_loop_that_was_late_does_not_make_up_for_what_it_missed(world: World) -> None:
    world.schedule(
        {"id": "wait", "kind": "wait", "duration": "1m"},
        {"id": "t", "kind": "tag", "add": ["a"]},
        branch("x:y"),
        {**branch("x:", goto="wait"), "id": "back"},
        TEXT,
    )
    world.submit()
    world.now += 3 * DAY
    world.wait(1)
    assert world.lead().next_action_at == world.now - 1000 + MINUTE


def test_a_branch_knows_how_often_the_number_was_contacted_of_late_whichever_lead_it_was_for() -> None:
    where = {"id": "where", "kind": "branch", "rules": [{"if": ["contact_24h:>=2", "contact_7d:>=3"], "goto": "text"}]}
    texts = [{"id": f"text-{number}", "kind": "sms", "template": "Hi"} for number in range(2)]
    world = World()
    world.schedule(texts[0], record_id=2)
    world.schedule(*texts, where, {"id": "out", "kind": "exit"}, {"id": "text", "kind": "sms", "template": "Bye"})
    world.submit(schedule_id=2)
    world.outcome("delivered")
    world.wait(3 * 86400)
    world.submit()
    for _ in range(2):
        world.outcome("delivered")
    assert world.steps() == ["text-0", "text-0", "text-1", "text"]
    counted = {
        "id": "where",
        "kind": "branch",
        "rules": [{"if": ["lifetime_sms:1", "enrolment_attempts:1"], "goto": "text"}],
    }
    other = World()
    other.schedule(texts[0], counted, {"id": "out", "kind": "exit"}, {"id": "text", "kind": "sms", "template": "Bye"})
    other.submit()
    other.outcome("delivered")
    assert other.steps() == ["text-0", "text"]
