"""Are the steps of an action group copied into the schedule that names it, as they were when it was published?"""

from typing import Any

import pytest

from engine.account.bodies import read_schedule
from engine.partition.draft import RefusedError
from engine.preview import preview, read_trial
from schemas.instant import EPOCH
from schemas.records import ActionGroup, Schedule
from schemas.schedule import BranchStep, OnConversion, OnInboundConnected, OnReply, SmsStep, WaitForStep, WaitStep
from tests.engine.account.conftest import TOKEN, AccountWorld

TEXT = {"id": "text", "kind": "sms", "template": "Hi"}
ASK = {"id": "ask", "kind": "wait_for", "event": "sms.received", "timeout": "1d", "on_match": "tag"}
TAG = {"id": "tag", "kind": "tag", "add": ["warm"]}
STEPS = [TEXT, ASK, TAG]


def group(account: AccountWorld, steps: Any = STEPS) -> int:
    return account.create("action_group", name="Text and ask", steps=steps)


def schedule(account: AccountWorld, *steps: dict[str, Any], **fields: Any) -> Any:
    return account.change("create", "schedule", name="Days", lead_token=TOKEN, steps=list(steps), **fields)


def published(account: AccountWorld, answer: Any) -> Schedule:
    assert answer.status == 201, answer
    body = account.body("schedule", answer.record_id)
    assert isinstance(body, Schedule)
    return body


def test_publishing_puts_the_steps_of_a_group_in_its_place_under_its_name(account: AccountWorld) -> None:
    group_id = group(account)
    where = {"id": "where", "kind": "branch", "rules": [{"if": ["plan:gold"], "goto": "first"}], "else": "second"}
    named = [{"id": name, "kind": "action_group", "action_group_id": group_id} for name in ("first", "second")]
    row = {"on": "exit", "type": "buyer_converted", "goto": "second"}
    body = published(account, schedule(account, where, *named, triggers=[row]))
    ids = ["where", "first/text", "first/ask", "first/tag", "second/text", "second/ask", "second/tag"]
    assert [step.id for step in body.steps] == ids
    branch, ask = body.steps[0], body.steps[2]
    assert isinstance(branch, BranchStep)
    assert isinstance(ask, WaitForStep)
    assert (branch.rules[0].goto, branch.otherwise, ask.on_match) == ("first/text", "second/text", "first/tag")
    assert body.triggers[0].goto == "second/text"


def test_a_later_change_of_the_group_changes_only_what_is_published_after_it(account: AccountWorld) -> None:
    group_id = group(account)
    step = {"id": "hello", "kind": "action_group", "action_group_id": group_id}
    answer = schedule(account, step)
    account.update("action_group", group_id, steps=[{**TEXT, "template": "Hello"}])
    assert [part.id for part in published(account, answer).steps] == ["hello/text", "hello/ask", "hello/tag"]
    account.update("schedule", answer.record_id, steps=[step])
    again = account.body("schedule", answer.record_id)
    assert isinstance(again, Schedule)
    assert again.steps == (SmsStep(id="hello/text", template="Hello"),)
    assert account.delete("action_group", group_id).status == 200


@pytest.mark.parametrize("publish", [("publish", {}), ("update", {"hours_to_expire": 5})], ids=["publish", "update"])
def test_a_draft_that_was_never_published_gets_the_steps_that_the_group_has_when_it_is(
    account: AccountWorld, publish: tuple[Any, dict[str, Any]]
) -> None:
    group_id = group(account)
    step = {"id": "hello", "kind": "action_group", "action_group_id": group_id}
    row = {"on": "exit", "type": "buyer_converted", "goto": "hello"}
    record_id = schedule(account, step, draft=True).record_id
    account.update("schedule", record_id, triggers=[row], draft=True)
    account.update("action_group", group_id, steps=[{**TEXT, "id": "other"}])
    operation, fields = publish

    assert account.change(operation, "schedule", record_id, **fields).status == 200

    body = account.body("schedule", record_id)
    assert isinstance(body, Schedule)
    assert ([part.id for part in body.steps], body.triggers[0].goto) == (["hello/other"], "hello/other")
    assert (body.draft_fields, body.unpublished) == ({}, False)


def test_a_draft_without_groups_stands_in_the_schedule_that_was_never_published(account: AccountWorld) -> None:
    record_id = schedule(account, {**TEXT}, draft=True).record_id
    body = account.body("schedule", record_id)
    assert isinstance(body, Schedule)
    assert ([part.id for part in body.steps], body.draft_fields) == (["text"], {})


def test_steps_that_were_read_back_are_published_as_they_are(account: AccountWorld) -> None:
    step = {"id": "hello", "kind": "action_group", "action_group_id": group(account)}
    answer = schedule(account, step)
    shown = account.record("schedule", answer.record_id).body["steps"]
    assert account.update("schedule", answer.record_id, steps=shown).extra["version"] == 1


@pytest.mark.parametrize(
    ("steps", "place", "cure"),
    [
        ([], "steps", "1 to 50 steps"),
        ([{"id": "x", "kind": "action_group", "action_group_id": 5}], "steps[0].kind", "groups hold no groups"),
        ([{**ASK, "on_match": "gone"}], "steps[0].on_match", "names no step of this list"),
        ([{**TEXT, "template": " "}], "steps[0].template", "must not be blank"),
    ],
)
def test_a_group_is_refused_as_a_schedule_would_be(account: AccountWorld, steps: Any, place: str, cure: str) -> None:
    answer = account.change("create", "action_group", name="Bad", steps=steps)
    assert answer.status == 422
    assert cure in answer.errors[place][0]


def test_a_fault_behind_a_group_is_reported_at_its_place_in_the_input(account: AccountWorld) -> None:
    named = {"id": "hello", "kind": "action_group", "action_group_id": group(account)}
    answer = schedule(account, named, {"id": "bye", "kind": "exit"}, {**TEXT, "id": "never"})
    assert list(answer.errors) == ["steps[2]"]
    missing = schedule(account, {**named, "action_group_id": 99})
    assert list(missing.errors) == ["steps[0].action_group_id"]
    twice = schedule(account, named, {**TEXT, "id": "hello/text"})
    assert list(twice.errors) == ["steps[1].id"]


def test_what_a_group_refers_to_cannot_be_deleted(account: AccountWorld) -> None:
    hook_id = account.create("outgoing_webhook", name="CRM", url="https://crm.example.com")
    group_id = group(account, [{"id": "hook", "kind": "webhook", "outgoing_webhook_id": hook_id}])
    assert account.delete("outgoing_webhook", hook_id).code == "record_in_use"
    account.delete("action_group", group_id)
    assert account.delete("outgoing_webhook", hook_id).status == 200


def test_a_preview_knows_the_groups_that_it_is_given() -> None:
    raw = {
        "schedule": {"steps": [{"id": "hello", "kind": "action_group", "action_group_id": 5}]},
        "lead": {"caller_id": "+13055550123"},
        "at": "2026-07-15 12:00:00 -0400",
    }
    known = ActionGroup(name="Text", steps=(SmsStep(id="text", template="Hi"), WaitStep(id="rest", duration="1d")))
    found = preview(read_trial(raw, now=EPOCH, group_of=lambda group_id: known if group_id == 5 else None))
    assert [action.step_id for action in found.actions] == ["hello/text"]
    with pytest.raises(RefusedError) as refused:
        read_trial(raw, now=EPOCH)
    assert list(refused.value.errors) == ["steps[0].action_group_id"]


@pytest.mark.parametrize(
    ("field", "value", "read"),
    [
        ("on_reply", "continue", OnReply(action="continue")),
        ("on_reply", {"action": "pause", "duration": "2d"}, OnReply(duration="2d")),
        ("on_reply", None, OnReply()),
        ("on_inbound_connected", "exit", OnInboundConnected(action="exit")),
        ("on_inbound_connected", {"delay": "30m"}, OnInboundConnected(delay="30m")),
        ("on_conversion", "continue", "continue"),
        ("on_conversion", {"action": "exit"}, "exit"),
        ("on_conversion", {"action": "move", "schedule_id": 7}, OnConversion(schedule_id=7)),
    ],
)
def test_a_reaction_is_a_word_or_says_the_particulars(field: str, value: Any, read: Any) -> None:
    assert getattr(read_schedule({field: value}), field) == read


@pytest.mark.parametrize(
    ("field", "value", "cure"),
    [
        ("on_reply", "move", "pause, continue or exit"),
        ("on_reply", {"action": "pause", "duration": "soon"}, "duration"),
        ("on_reply", {"action": "pause", "duration": "31d"}, "more than 30 days"),
        ("on_reply", {"action": "pause", "for": "1d"}, "such as"),
        ("on_reply", 5, "such as"),
        ("on_inbound_connected", {"action": "move"}, "must name a schedule_id"),
        ("on_inbound_connected", {"action": "exit", "schedule_id": 7}, "only then"),
        ("on_inbound_connected", "pause", "continue or exit"),
        ("on_conversion", "move", "exit or continue"),
        ("on_conversion", {"action": "move"}, "schedule_id"),
        ("on_conversion", [], "exit or continue"),
    ],
)
def test_a_reaction_that_is_none_is_refused_with_an_example(field: str, value: Any, cure: str) -> None:
    with pytest.raises(RefusedError) as refused:
        read_schedule({field: value})
    assert cure in refused.value.errors[field][0]


def test_a_reaction_moves_to_a_schedule_that_is_there_and_stays(account: AccountWorld) -> None:
    other = published(account, schedule(account, TEXT))
    assert other.on_reply == OnReply()
    reaction = {"action": "move", "schedule_id": 99}
    refused = account.change(
        "create",
        "schedule",
        name="B",
        lead_token=f"{TOKEN}b",
        steps=[TEXT],
        on_conversion=reaction,
        on_inbound_connected=reaction,
    )
    assert sorted(refused.errors) == ["on_conversion.schedule_id", "on_inbound_connected.schedule_id"]
    target = account.create("schedule", name="C", lead_token=f"{TOKEN}c", steps=[TEXT])
    account.create(
        "schedule", name="D", lead_token=f"{TOKEN}d", steps=[TEXT], on_conversion={**reaction, "schedule_id": target}
    )
    assert account.delete("schedule", target).code == "record_in_use"


def test_a_company_says_how_an_opt_out_is_confirmed(account: AccountWorld) -> None:
    assert account.update("company", 1, optout_confirmation="You will hear no more.").status == 200
    assert list(account.update("company", 1, optout_confirmation="x" * 321).errors) == ["optout_confirmation"]


def test_a_disposition_names_an_action_group_that_is_there_and_stays(account: AccountWorld) -> None:
    refused = account.change("create", "call_disposition", name="Hot", action_group_id=99)
    assert list(refused.errors) == ["action_group_id"]
    group_id = group(account)
    account.create("call_disposition", name="Hot", action_group_id=group_id)
    assert account.delete("action_group", group_id).code == "record_in_use"
