"""What happens where a template renders to nothing, and how many segments has a text?"""

from typing import Any

import pytest

from engine.contact.schedule.sms_parts import segments, sms_parts
from schemas.commands import SendSms
from schemas.instant import MINUTE
from schemas.records import Number
from tests.engine.contact.world import NOON, World

TEXT: dict[str, Any] = {"id": "text", "kind": "sms", "template": "Hi {{first_name}}"}
MAIL: dict[str, Any] = {"id": "mail", "kind": "email", "subject": "For {{first_name}}", "template": "Hello"}
CALL = {"id": "call", "kind": "call"}
REST = {"id": "rest", "kind": "wait", "duration": "10m"}


@pytest.mark.parametrize("step", [TEXT, MAIL])
@pytest.mark.parametrize(
    ("option", "data", "steps", "status"),
    [
        ("empty", {}, ["said"], "running"),
        ("skip_step", {}, ["call"], "running"),
        ("skip_step", {"first_name": "Ann"}, ["said"], "running"),
        ("fail", {}, [], "failure"),
        ("fail", {"first_name": "Ann"}, ["said"], "running"),
    ],
)
def test_a_step_says_what_is_done_where_a_token_is_missing(
    step: dict[str, Any], option: str, data: dict[str, Any], steps: list[str], status: str
) -> None:
    world = World()
    world.schedule({**step, "missing_token": option}, CALL)
    lead = world.submit(email="ann@example.com", data=data)
    assert (world.steps(), lead.status) == ([step["id"] if name == "said" else name for name in steps], status)


def test_a_token_that_comes_in_time_is_not_missing() -> None:
    world = World()
    world.schedule(REST, {**TEXT, "missing_token": "fail"})
    world.submit()
    world.update(data={"first_name": "Ann"})
    world.wait(600)
    assert world.steps() == ["text"]


def test_an_end_step_with_nothing_to_say_is_passed_over() -> None:
    world = World()
    world.schedule(CALL, end_steps=[{**TEXT, "missing_token": "fail"}])
    world.submit()
    world.outcome("connected_human")
    assert (world.steps(), world.lead().status) == (["call"], "completed_connected")


LARGE: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "a token of 4,000 letters, 320 times": ({**TEXT, "template": "{{a}}" * 320}, {"a": "x" * 4_000}),
    "11 segments of plain letters": ({**TEXT, "template": "{{a}}"}, {"a": "x" * 1_531}),
    "11 segments of others": ({**TEXT, "template": "{{a}}!"}, {"a": "ж" * 670}),
    "an e-mail of half a megabyte": ({**MAIL, "template": "{{a}}" * 6}, {"a": "x" * 100_000}),
    "an e-mail that only JSON makes large": ({**MAIL, "template": "{{a}}" * 3}, {"a": "\x01" * 30_000}),
    "a subject": ({**MAIL, "subject": "{{a}}"}, {"a": "x" * 999}),
}


@pytest.mark.parametrize("name", LARGE)
@pytest.mark.parametrize(("option", "steps", "status"), [("empty", ["call"], "running"), ("fail", [], "failure")])
def test_a_message_that_is_too_large_is_passed_over_or_fails_the_lead_as_its_step_says(
    name: str, option: str, steps: list[str], status: str
) -> None:
    step, data = LARGE[name]
    world = World()
    world.schedule({**step, "missing_token": option}, CALL)
    lead = world.submit(email="ann@example.com", data=data)
    found = [(fact.type, fact.data["reason"]) for fact in world.facts if fact.type.startswith("step.")]
    assert (world.steps(), lead.status) == (steps, status)
    assert found == [("step.failed" if option == "fail" else "step.skipped", "too_large")]


@pytest.mark.parametrize("name", LARGE)
def test_a_lead_of_which_every_message_was_too_large_ends_as_failure(name: str) -> None:
    step, data = LARGE[name]
    world = World()
    world.schedule(step, {**step, "id": "again"})
    lead = world.submit(email="ann@example.com", data=data)
    found = [(fact.type, fact.data["reason"]) for fact in world.facts if fact.type.startswith("step.")]
    assert (world.steps(), lead.status) == ([], "failure")
    assert found == [("step.skipped", "too_large"), ("step.failed", "too_large")]


def test_a_last_end_step_whose_message_is_too_large_is_passed_over() -> None:
    step, data = LARGE["11 segments of plain letters"]
    world = World()
    rest = {"id": "rest", "kind": "wait", "duration": "1m"}
    world.schedule({"id": "exit", "kind": "exit"}, end_steps=[rest, {**step, "missing_token": "fail"}])
    world.submit(data=data)
    world.wait(60)
    found = [(fact.type, fact.data["reason"]) for fact in world.facts if fact.type.startswith("step.")]
    assert (found, world.commands, world.lead().wake_at) == ([("step.skipped", "too_large")], [], None)


def test_a_lead_that_was_called_before_a_message_was_too_large_is_completed() -> None:
    step, data = LARGE["11 segments of plain letters"]
    world = World()
    world.schedule(CALL, step)
    world.submit(data=data)
    world.outcome("no_answer")
    assert world.lead().status == "completed_attempted"


@pytest.mark.parametrize(
    ("step", "data"),
    [
        ({**TEXT, "template": "{{a}}"}, {"a": "x" * 1_530}),
        ({**TEXT, "template": "{{a}}"}, {"a": "ж" * 670}),
        ({**MAIL, "template": "{{a}}" * 5}, {"a": "x" * 100_000}),
    ],
)
def test_the_largest_message_is_sent(step: dict[str, Any], data: dict[str, Any]) -> None:
    world = World()
    world.schedule(step)
    world.submit(email="ann@example.com", data=data)
    assert world.steps() == [step["id"]]


def test_a_large_e_mail_is_ordered_by_a_decision_of_its_own_so_that_the_outcome_before_it_fits() -> None:
    world = World()
    world.schedule(CALL, {**MAIL, "template": "{{a}}" * 4})
    world.submit(email="ann@example.com", data={"a": "x" * 100_000})
    world.outcome("no_answer")
    assert (world.steps(), world.lead().status) == (["call"], "scheduled")
    world.wait(1)
    assert world.steps() == ["call", "mail"]


def test_a_late_message_that_lacks_a_token_is_passed_over_as_one_in_time_is() -> None:
    world = World()
    world.schedule(REST, {**TEXT, "missing_token": "skip_step", "on_late": "run"}, CALL)
    world.submit()
    world.wait(5 * 3_600)
    assert world.steps() == ["call"]


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("", 1),
        ("a" * 160, 1),
        ("a" * 161, 2),
        ("a" * 306, 2),
        ("a" * 307, 3),
        ("€" * 80, 1),
        ("€" * 81, 2),
        ("ж" * 70, 1),
        ("ж" * 71, 2),
        ("👍" * 35, 1),
        ("👍" * 36, 2),
        ("]" * 80, 1),
        ("]" * 152, 2),
        ("]" * 153, 3),  # a part holds 76 of them: 153 septets are an odd number
        ("€" * 153, 3),
        ("a" * 152 + "]" * 76, 2),
        ("a" + "]" * 152, 2),
        ("😀" * 66, 2),
        ("😀" * 67, 3),  # a part holds 33 of them
        ("a" * 66 + "😀" * 34, 3),
    ],
)
def test_a_text_is_counted_as_carriers_count(text: str, count: int) -> None:
    assert segments(text) == count
    assert "".join(sms_parts(text)) == text


def test_a_template_says_what_leadclock_knows_and_the_token_where_it_asks_for_that() -> None:
    world = World()
    world.schedule({**TEXT, "template": "{{id}} {{token.id}} {{caller_id}} {{token.plan}} {{plan}}"})
    lead = world.submit(data={"id": "forged", "caller_id": "+19005550000", "plan": "gold"})
    command = world.commands[-1]
    assert isinstance(command, SendSms)
    assert command.body == f"{lead.id} forged {lead.caller_id} gold gold"


def test_the_number_that_calls_come_from_is_shown_whatever_a_sender_wrote_under_its_name() -> None:
    world = World()
    world.add("number", 1, Number(number="+12125550101"))
    world.schedule({**TEXT, "template": "Call {{svc_number}}"})
    world.submit(data={"svc_number": "+19005550000"})
    command = world.commands[0]
    assert isinstance(command, SendSms)
    assert command.body == "Call +12125550101"


def test_an_order_says_of_how_many_messages_it_consists() -> None:
    world = World()
    world.schedule({**TEXT, "template": "{{essay}}"})
    world.submit(data={"essay": "a" * 400})
    command = world.commands[0]
    assert isinstance(command, SendSms)
    assert command.segments == 3
    assert next(fact for fact in world.facts if fact.type == "command.emitted").data["segments"] == 3


def test_a_step_changes_the_source_of_a_lead_and_which_number_is_used() -> None:
    world = World()
    world.schedule({"id": "set", "kind": "update_lead", "traffic_source_id": 5, "contact_field_type": "9"}, REST, CALL)
    lead = world.submit()
    assert (lead.columns["traffic_source_id"], lead.columns["contact_field_type"]) == (5, "9")
    assert lead.next_action_at == NOON + 10 * MINUTE
