"""Does a lead wait for the disposition of its call, and does the disposition move it on?"""

from decimal import Decimal
from typing import Any

import msgspec
import pytest

from engine.contact.facts.person import Person
from engine.contact.requests import reactions
from engine.partition.draft import RefusedError
from schemas.commands import PostWebhook
from schemas.contact import Call, Lead
from schemas.instant import DAY, HOUR, MINUTE
from schemas.records import ActionGroup, CallDisposition, OutgoingWebhook
from schemas.requests import CallUpdateRequested
from tests.engine.contact.world import KEY, NOON, World

CALL = {"id": "call", "kind": "call", "await_disposition": "30m"}
TEXT = {"id": "text", "kind": "sms", "template": "Hi"}
REST = {"id": "rest", "kind": "wait", "duration": "1h"}
EXIT = {"id": "exit", "kind": "exit"}


def disposition(**fields: Any) -> CallDisposition:
    return msgspec.convert({"name": "Said", "code": "SAID", **fields}, CallDisposition)


def judge(world: World, found: CallDisposition | None, **fields: Any) -> Lead:
    """Give the last call of the last lead a disposition, as the update of a call does."""
    draft = world._draft()
    person = Person(draft, 1, KEY)
    lead = person.lead(world.lead().id)
    call = person.call(world.lead().attempted_call_id)
    assert call is not None
    world.add("call_disposition", 9, found or disposition(), version=world.lead().version)
    call.call_disposition_id = None if found is None else 9
    person.save_call(call)
    reactions.apply_disposition(person, lead, call, found, **fields)
    person.put()
    world._apply(draft)
    return world.lead()


def spoken(*steps: dict[str, Any], outcome: str = "connected_human", **fields: Any) -> World:
    world = World()
    world.schedule(*(steps or (CALL, REST, TEXT, EXIT)), **fields)
    world.submit()
    world.wait(40)
    world.outcome(outcome)
    return world


@pytest.mark.parametrize("outcome", ["connected_human", "connected_buyer", "caller_hung_up"])
def test_after_a_talk_the_lead_waits_for_a_disposition_and_then_goes_on(outcome: str) -> None:
    world = spoken(outcome=outcome)
    lead = world.lead()
    assert (lead.status, lead.status_wait, lead.next_action_at) == ("waiting", "awaiting_disposition", None)
    assert lead.step == "call"
    world.wait(600)
    lead = judge(world, disposition())
    assert (lead.step, lead.next_action_at, lead.disposition) == ("text", world.now + HOUR, "SAID")


@pytest.mark.parametrize("outcome", ["no_answer", "busy", "voicemail", "not_placed", "unknown"])
def test_where_nobody_spoke_nobody_is_waited_for(outcome: str) -> None:
    assert spoken(outcome=outcome).lead().step == "text"


def test_a_step_that_does_not_ask_for_one_waits_for_none() -> None:
    world = spoken({"id": "call", "kind": "call"}, REST, TEXT)
    assert world.lead().step == "text"
    assert judge(world, disposition()).step == "text"


def test_when_nobody_says_anything_in_time_the_outcome_moves_the_lead_on() -> None:
    world = spoken({**CALL, "retry": {"caller_hung_up": {"delay": "5m"}}}, TEXT, outcome="caller_hung_up")
    world.wait(1799)
    assert world.lead().status_wait == "awaiting_disposition"
    world.wait(1)
    assert (world.lead().step, world.lead().next_action_at) == ("call", world.now + 5 * MINUTE)
    assert "disposition.timed_out" in world.fact_types()
    other = spoken()
    other.wait(1800)
    assert (other.lead().step, other.lead().next_action_at) == ("text", other.now + HOUR)


def test_a_retry_is_made_as_often_as_the_disposition_allows() -> None:
    world = spoken()
    again = disposition(retry_delay_seconds=600, retry_max=2)
    for times in (1, 2):
        lead = judge(world, again)
        assert (lead.step, lead.next_action_at, lead.retries["(disposition)"]) == ("call", world.now + 10 * MINUTE, times)
        world.wait(600)
        world.outcome("connected_human")
    assert world.steps() == ["call"] * 3
    assert judge(world, again).step == "text"


def test_a_later_disposition_replaces_the_one_before_and_counts_no_second_try() -> None:
    world = spoken()
    judge(world, disposition(retry_delay_seconds=600))
    lead = judge(world, disposition(retry_delay_seconds=1200))
    assert (lead.next_action_at, lead.retries["(disposition)"]) == (world.now + 20 * MINUTE, 1)
    assert judge(world, disposition()).step == "text"  # not again after all
    lead = judge(world, disposition(retry_delay_seconds=60))  # after all
    assert (lead.step, lead.next_action_at) == ("call", world.now + MINUTE)
    world.wait(60)
    assert world.steps() == ["call", "call"]


def test_what_a_disposition_did_is_not_undone_by_the_next() -> None:
    world = spoken()
    assert judge(world, disposition(sets_opt_out=True)).status == "opt_out"
    lead = judge(world, disposition(retry_delay_seconds=60))
    assert (lead.status, lead.opt_out, lead.disposition) == ("opt_out", True, "SAID")
    world.wait(86400)
    assert world.steps() == ["call"]


@pytest.mark.parametrize(
    ("fields", "status"),
    [
        ({"is_final": True}, "completed_connected"),
        ({"is_final": True, "category": "final_positive"}, "success"),
        ({"is_final": True, "category": "final_negative"}, "completed_connected"),
        ({"is_final": True, "counts_as_contact": False}, "completed_attempted"),
        ({"sets_opt_out": True}, "opt_out"),
        ({"sets_suppression": True}, "dnc"),
        ({"category": "dnc"}, "dnc"),
    ],
)
def test_a_final_word_ends_the_lead(fields: dict[str, Any], status: str) -> None:
    assert judge(spoken(), disposition(**fields)).status == status


def test_a_final_word_is_said_at_any_time() -> None:
    world = spoken()
    judge(world, disposition())
    assert judge(world, disposition(is_final=True)).status == "completed_connected"


def test_a_wrong_number_closes_the_telephone_and_the_schedule_goes_on_by_mail() -> None:
    mail = {"id": "mail", "kind": "email", "subject": "S", "template": "B"}
    world = World()
    world.schedule(CALL, TEXT, mail)
    world.submit(email="ann@example.com")
    world.outcome("connected_human")
    judge(world, disposition(category="wrong_number"))
    assert (world.steps(), set(world.head().disabled_until)) == (["call", "mail"], {"call", "sms"})
    alone = spoken()
    assert judge(alone, disposition(category="wrong_number")).status == "failure"


def test_a_callback_is_promised_by_a_disposition_and_holds_the_next_contact() -> None:
    world = spoken(CALL, TEXT, EXIT)
    lead = judge(world, disposition(category="callback"), callback_at=world.now + 2 * HOUR)
    assert (lead.step, lead.status_wait, lead.callback_at) == ("text", "callback_pending", world.now + 2 * HOUR)
    world.wait(2 * 3600)
    world.outcome("connected_human")
    assert world.steps() == ["call", "(callback)", "text"]
    later = spoken(CALL, TEXT, EXIT)
    assert judge(later, disposition(category="callback", retry_delay_seconds=900)).callback_at == later.now + 15 * MINUTE


def test_a_disposition_that_needs_a_time_is_refused_without_one() -> None:
    world = spoken()
    needs = disposition(category="callback", requires_callback_time=True)
    with pytest.raises(RefusedError) as refused:
        judge(world, needs)
    assert list(refused.value.errors) == ["call_disposition_id"]
    world.update(schedule_callback_at=world.now + HOUR)
    assert judge(world, needs).step == "text"


def test_a_promised_call_is_kept_while_a_disposition_is_awaited() -> None:
    world = spoken({**CALL, "await_disposition": "6h"}, TEXT)
    world.update(schedule_callback_at=world.now + HOUR)
    world.wait(3600)
    world.outcome("caller_hung_up")
    assert (world.steps(), world.lead().status_wait) == (["call", "(callback)"], "awaiting_disposition")


def test_what_is_said_before_the_call_is_over_counts_when_it_is() -> None:
    world = World()
    world.schedule(CALL, REST, TEXT)
    world.submit()
    judge(world, disposition(retry_delay_seconds=600))
    assert world.lead().status == "running"
    world.outcome("connected_human")
    assert (world.lead().step, world.lead().next_action_at) == ("call", world.now + 10 * MINUTE)


def test_a_call_of_an_earlier_run_leads_the_new_one_nowhere() -> None:
    world = spoken(CALL, REST, TEXT)
    world.schedule({**REST, "duration": "5h"}, CALL, TEXT, version=2)
    lead = world.submit(restart_schedule=True)
    assert lead.step == "call"
    judged = judge(world, disposition(retry_delay_seconds=60))
    assert (judged.next_action_at, judged.step) == (lead.next_action_at, "call")


def test_expiry_does_not_wait_for_a_disposition() -> None:
    world = spoken({**CALL, "await_disposition": "6h"}, TEXT, hours_to_expire=1)
    world.wait(3600)
    assert world.lead().status == "expired"


def test_a_disposition_is_an_event_and_a_trigger_and_known_to_branches() -> None:
    where = {"id": "where", "kind": "branch", "rules": [{"if": ["disposition:SAID"], "goto": "text"}], "else": "exit"}
    world = spoken(CALL, where, EXIT, TEXT)
    judge(world, disposition())
    assert world.steps() == ["call", "text"]
    hot = spoken(CALL, EXIT, TEXT, triggers=[
        {"on": "exit", "type": "disposition", "filters": ["disposition:HOT"], "goto": "text"}])  # fmt: skip
    judge(hot, disposition(code="HOT", is_final=True))
    assert (hot.steps(), hot.lead().schedule_trigger_type) == (["call", "text"], "disposition")
    ask = {"id": "ask", "kind": "wait_for", "event": "disposition", "timeout": "1d", "on_timeout": "exit"}
    waiting = spoken({"id": "call", "kind": "call"}, ask, TEXT, EXIT)
    assert waiting.lead().status_wait == "awaiting_event"
    judge(waiting, disposition())
    assert waiting.steps() == ["call", "text"]


GROUP: list[dict[str, Any]] = [
    {"id": "mark", "kind": "tag", "add": ["hot"]},
    {"id": "set", "kind": "update_lead", "set": {"said": "yes"}, "lead_priority": 3},
    {"id": "hook", "kind": "webhook", "outgoing_webhook_id": 3},
    TEXT,
]


def grouped(world: World, *steps: dict[str, Any]) -> CallDisposition:
    world.add("outgoing_webhook", 3, OutgoingWebhook(name="crm", url="https://example.com"))
    world.add("action_group", 5, msgspec.convert({"name": "Hot", "steps": steps}, ActionGroup))
    return disposition(action_group_id=5)


def test_the_action_group_of_a_disposition_is_done_at_once_as_far_as_it_reaches_nobody() -> None:
    world = spoken()
    lead = judge(world, grouped(world, *GROUP))
    assert (lead.data, lead.lead_priority, lead.step) == ({"tags": ["hot"], "said": "yes"}, 3, "text")
    assert world.steps() == ["call", "hook"]
    reported = world.commands[-1]
    assert isinstance(reported, PostWebhook)
    assert (reported.payload["type"], reported.payload["data"]["lead"]["data"]["said"]) == ("call.dispositioned", "yes")
    assert [fact.data["step_id"] for fact in world.facts if fact.type == "step.skipped"] == ["text"]


def test_an_action_group_may_move_the_lead_and_what_has_ended_is_not_begun_again() -> None:
    world = spoken()
    world.schedule({**REST, "duration": "2h"}, {**TEXT, "id": "other"}, record_id=2)
    go = {"id": "go", "kind": "move_to_schedule", "schedule_id": 2}
    lead = judge(world, grouped(world, go))
    assert (lead.schedule_id, lead.step, lead.next_action_at) == (2, "other", world.now + 2 * HOUR)
    ended = spoken()
    ended.schedule(TEXT, record_id=2)
    ended.act("remove")
    lead = judge(ended, grouped(ended, go, GROUP[0]))
    assert (lead.status, lead.schedule_id, lead.data) == ("removed", 1, {"tags": ["hot"]})


def test_what_is_written_to_a_call_over_the_interface_moves_its_lead() -> None:
    world = spoken(CALL, TEXT, EXIT)
    call_id = world.lead().attempted_call_id
    for record_id, found in ((8, disposition(code="TALKED")), (9, disposition(code="LATER", category="callback",
            requires_callback_time=True))):  # fmt: skip
        world.add("call_disposition", record_id, found)
    asked = {"company_id": 1, "contact_key": KEY, "call_id": call_id}
    with pytest.raises(RefusedError, match="send schedule_callback_at with it"):
        world.ask(CallUpdateRequested(**asked, call_disposition_id=9))  # type: ignore[arg-type]
    assert (world.lead().status_wait, world.call(call_id).call_disposition_id) == ("awaiting_disposition", None)
    world.ask(CallUpdateRequested(**asked, call_disposition_id=9, callback_at=world.now + HOUR))  # type: ignore[arg-type]
    assert (world.lead().disposition, world.lead().status_wait) == ("LATER", "callback_pending")
    world.ask(CallUpdateRequested(**asked, call_disposition_id=8))  # type: ignore[arg-type]
    assert (world.lead().disposition, world.lead().callback_at) == ("TALKED", world.now + HOUR)
    world.ask(CallUpdateRequested(**asked, call_disposition_id=None))  # type: ignore[arg-type]
    assert (world.lead().disposition, world.call(call_id).call_disposition_id) == (None, None)


def test_a_later_word_says_that_the_lead_was_spoken_to_after_all() -> None:
    world = spoken()
    assert not judge(world, disposition(counts_as_contact=False)).connected
    assert judge(world, disposition()).connected
    assert not judge(world, disposition(counts_as_contact=False)).connected
    assert judge(world, None).connected


def test_a_word_said_during_the_call_tells_whether_it_was_a_contact() -> None:
    world = World()
    world.schedule({"id": "call", "kind": "call"}, EXIT)
    world.submit()
    judge(world, disposition(counts_as_contact=False))
    world.outcome("connected_human")
    assert (world.lead().connected, world.lead().status) == (False, "completed_attempted")


GROUP_THAT_BLOCKS = {"name": "Stop", "steps": [{"id": "b", "kind": "block"}]}


@pytest.mark.parametrize(
    ("fields", "group", "steps"),
    [
        ({"sets_opt_out": True}, None, ["call"]),
        ({"sets_suppression": True}, None, ["call"]),
        ({"category": "dnc"}, None, ["call"]),
        ({"category": "wrong_number"}, None, ["call"]),
        ({"action_group_id": 3}, GROUP_THAT_BLOCKS, ["call"]),
        ({"is_final": True}, None, ["call", "text"]),
    ],
)
def test_a_disposition_that_ends_contact_holds_before_a_contact_that_was_due_when_it_came(
    fields: dict[str, Any], group: dict[str, Any] | None, steps: list[str]
) -> None:
    """An update of a call may come late: its lead is due by then, and its money has the lead go on."""
    world = spoken({"id": "call", "kind": "call"}, REST, TEXT, EXIT)
    if group is not None:
        world.add("action_group", 3, msgspec.convert(group, ActionGroup))
    world.add("call_disposition", 9, disposition(**fields))
    call_id = world.lead().attempted_call_id
    world.now = world.now + 2 * HOUR  # the text is due; its timer has not fired

    world.ask(
        CallUpdateRequested(
            company_id=1, contact_key=KEY, call_id=call_id, call_disposition_id=9, add_revenue=Decimal("5.0")
        )
    )

    assert world.steps() == steps
    assert world.lead().revenue == 5.0


def test_a_disposition_that_is_taken_back_moves_nothing() -> None:
    world = spoken()
    lead = judge(world, None)
    assert (lead.status_wait, lead.disposition) == ("awaiting_disposition", None)


def test_a_call_of_nobody_still_ends_the_contact() -> None:
    world = spoken()
    draft = world._draft()
    person = Person(draft, 1, KEY)
    call = Call(id=1, uuid="c", company_id=1, contact_key=KEY, created_at=NOON, updated_at=NOON, number_called="+1")
    reactions.apply_disposition(person, None, call, disposition(sets_opt_out=True))
    person.put()
    world._apply(draft)
    assert world.lead().status == "opt_out"


def test_a_wait_for_a_disposition_may_last_a_day() -> None:
    world = spoken({**CALL, "await_disposition": "1d"}, TEXT)
    world.wait_until(NOON + DAY + HOUR)
    assert world.steps() == ["call", "text"]


# -- without waiting for it --------------------------------------------------------------------------------------------

UNASKED = {"id": "call", "kind": "call"}


def test_a_disposition_that_nobody_waited_for_has_the_call_tried_again() -> None:
    world = spoken(UNASKED, REST, TEXT, EXIT)
    assert world.lead().step == "text"
    lead = judge(world, disposition(retry_delay_seconds=600))
    assert (lead.step, lead.next_action_at) == ("call", world.now + 10 * MINUTE)
    world.wait(600)
    assert world.steps() == ["call", "call"]


def test_it_is_tried_again_as_often_as_the_disposition_allows_and_no_more() -> None:
    world = spoken(UNASKED, REST, TEXT, EXIT)
    for delay in (600, 1200):  # said again of one call, it counts once
        assert judge(world, disposition(retry_delay_seconds=delay)).next_action_at == world.now + delay * 1000
    world.wait(1200)
    world.outcome("connected_human")
    lead = judge(world, disposition(retry_delay_seconds=600))
    assert (lead.step, lead.judged["call"]) == ("text", (world.commands[0].call_id,))  # type: ignore[attr-defined]


def test_what_was_said_before_the_call_was_over_holds_when_it_is() -> None:
    world = World()
    world.schedule(UNASKED, REST, TEXT)
    world.submit()
    judge(world, disposition(retry_delay_seconds=600))
    assert world.lead().status == "running"
    world.wait(60)
    world.outcome("connected_human")
    assert (world.lead().step, world.lead().next_action_at) == ("call", world.now + 10 * MINUTE)


def test_a_lead_that_has_done_something_since_is_not_taken_back() -> None:
    world = spoken(UNASKED, TEXT, REST, EXIT)
    world.outcome("delivered")
    assert judge(world, disposition(retry_delay_seconds=600)).step == "exit"


@pytest.mark.parametrize("fields", [{}, {"category": "no_contact"}, {"category": "callback"}], ids=str)
def test_other_dispositions_leave_a_lead_that_waited_for_none_where_it_is(fields: dict[str, Any]) -> None:
    world = spoken(UNASKED, REST, TEXT, EXIT)
    before = world.lead()
    lead = judge(world, disposition(**fields))
    assert (lead.step, lead.base_at) == (before.step, before.base_at)
