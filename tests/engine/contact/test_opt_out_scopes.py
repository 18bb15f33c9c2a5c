"""How far does an opt-out reach, and which leads wait for consent? As far as the company sets; never less."""

from typing import Any

import pytest

from engine.partition.draft import RefusedError
from schemas.instant import HOUR
from schemas.records import Company, Number
from schemas.requests import CallStartRequested, SmsReceived
from tests.engine.contact.world import KEY, NEW_YORK, NOON, World

CALL = {"id": "call", "kind": "call"}
TEXT = {"id": "text", "kind": "sms", "template": "Hi"}
MAIL = {"id": "mail", "kind": "email", "subject": "S", "template": "B"}
REST = {"id": "rest", "kind": "wait", "duration": "1h"}
OUR_NUMBER = "+13055550177"


def world_of(scope: str, *steps: dict[str, Any]) -> World:
    """Return a world whose company has opt-outs of this scope, with the same steps for two offers."""
    world = World()
    world.add("company", 1, Company(name="Sunny", time_zone=NEW_YORK, optout_scope=scope), version=2)  # type: ignore[arg-type]
    world.schedule(*steps)
    world.schedule(*steps, record_id=2, offer_id=2)
    return world


def text(world: World, body: str, **fields: Any) -> None:
    world.ask(SmsReceived(company_id=1, contact_key=KEY, body=body, received_at=world.now, **fields))


@pytest.mark.parametrize(("scope", "other"), [("company", "opt_out"), ("offer", "scheduled")])
def test_an_opt_out_ends_the_leads_of_its_scope_and_no_others(scope: str, other: str) -> None:
    world = world_of(scope, REST, CALL)
    first, second = world.submit(), world.submit(schedule_id=2)

    world.update(world.lead(first.id), opt_out=True)

    assert (world.lead(first.id).status, world.lead(first.id).opt_out) == ("opt_out", True)
    assert (world.lead(second.id).status, world.lead(second.id).opt_out) == (other, other == "opt_out")


def test_within_its_scope_a_later_submission_is_stored_as_opted_out_and_never_contacted() -> None:
    world = world_of("offer", TEXT)
    world.update(world.submit(), opt_out=True)
    before = len(world.commands)

    again, other = world.submit(), world.submit(schedule_id=2)

    assert (again.status, again.opt_out, other.status) == ("opt_out", True, "running")
    assert [command.lead_id for command in world.commands[before:]] == [other.id]


def test_what_is_on_its_way_for_the_offer_is_fenced_and_nothing_else() -> None:
    world = world_of("offer", TEXT)
    first, second = world.submit(), world.submit(schedule_id=2)

    world.act("opt_out", schedule_id=1)

    assert {lead_id for fence in world.fences for lead_id in fence.lead_ids} == {first.id}
    assert world.lead(second.id).status == "running"


def test_an_opt_out_is_lifted_for_the_scope_that_it_had() -> None:
    world = world_of("offer", REST, CALL)
    first, second = world.submit(), world.submit(schedule_id=2)
    for lead in (first, second):
        world.update(world.lead(lead.id), opt_out=True)

    world.update(world.lead(first.id), opt_out=False)

    assert (world.lead(first.id).opt_out, world.lead(second.id).opt_out) == (False, True)
    assert world.submit().status == "scheduled"
    assert world.submit(schedule_id=2).status == "opt_out"


@pytest.mark.parametrize(
    ("number", "opted_out"),
    [(None, [2]), (OUR_NUMBER, [1])],
    ids=["of no offer: the lead that was made last", "of an offer: that one"],
)
def test_a_text_is_about_the_offer_of_the_number_it_was_sent_to(number: str | None, opted_out: list[int]) -> None:
    world = world_of("offer", REST, CALL)
    world.add("number", 5, Number(number=OUR_NUMBER, offer_id=1))
    leads = [world.submit(), world.submit(schedule_id=2)]

    text(world, "STOP", to_number=number)

    assert [
        lead.schedule_id for lead in map(world.lead, [lead.id for lead in leads]) if lead.status == "opt_out"
    ] == opted_out


def test_where_nothing_says_what_it_is_about_an_opt_out_reaches_the_company() -> None:
    world = world_of("offer", REST, CALL)
    world.schedule(REST, CALL, record_id=3, offer_id=None)
    first = world.submit()

    world.update(world.submit(schedule_id=3), opt_out=True)

    assert world.head().opted_out_at == NOON
    assert world.lead(first.id).status == "opt_out"


def test_who_opts_out_of_texts_is_still_called_and_mailed() -> None:
    world = world_of("channel", REST, TEXT, CALL, MAIL)
    world.submit(email="ann@example.com")
    text(world, "STOP")

    world.wait(3600)
    world.outcome("no_answer")

    assert world.steps() == ["call", "mail"]
    assert world.lead().opt_out is False
    skipped = [fact.data["reason"] for fact in world.facts if fact.type == "step.skipped"]
    assert skipped == ["opted_out_of_channel"]


def test_a_lead_with_nothing_left_but_a_channel_that_was_opted_out_of_ends_as_opted_out_at_once() -> None:
    world = world_of("channel", REST, TEXT)
    world.submit()
    text(world, "STOP")

    world.wait(1)

    assert (world.lead().status, world.lead().opt_out) == ("opt_out", True)


def test_a_text_on_its_way_is_fenced_when_its_channel_is_opted_out_of() -> None:
    world = world_of("channel", TEXT, CALL)
    lead = world.submit()
    text(world, "STOP")

    assert world.fences[-1].lead_ids == (lead.id,)
    world.outcome("rejected_at_gate")
    world.wait(60)
    assert world.steps() == ["text", "call"]


@pytest.mark.parametrize(
    ("outcome", "channel", "steps", "left"),
    [
        ("unsubscribed", "email", (MAIL, CALL, TEXT, {**MAIL, "id": "mail-2"}), ["call", "text"]),
        ("opted_out", "call", (CALL, MAIL, TEXT, {**CALL, "id": "call-2"}), ["mail", "text"]),
    ],
)
def test_an_outcome_opts_out_of_the_channel_that_it_came_on(
    outcome: str, channel: str, steps: tuple[dict[str, Any], ...], left: list[str]
) -> None:
    world = world_of("channel", *steps)
    world.submit(email="ann@example.com")
    world.outcome(outcome)
    for _ in left:
        world.outcome("no_answer" if world.commands[-1].step_id == "call" else "accepted")

    assert list(world.head().opt_outs) == [f"channel/{channel}"]
    assert world.steps()[1:] == left


def test_a_call_by_hand_is_refused_where_calls_were_opted_out_of() -> None:
    world = world_of("channel", CALL, TEXT)
    world.submit()
    world.outcome("opted_out")
    world.outcome("delivered")
    world.wait(60)

    with pytest.raises(RefusedError, match="opted out"):
        world.ask(CallStartRequested(company_id=1, contact_key=KEY, lead_id=world.lead().id))


def test_a_step_opts_out_of_one_channel_and_the_schedule_goes_on() -> None:
    world = World()
    world.schedule({"id": "no-texts", "kind": "opt_out", "scope": "channel", "channel": "sms"}, TEXT, CALL)

    world.submit()

    assert world.steps() == ["call"]


def test_a_step_may_reach_less_than_the_company_says() -> None:
    world = world_of("company", {"id": "out", "kind": "opt_out", "scope": "offer"})
    other = world.submit(schedule_id=2, next_action_at=NOON + HOUR)
    world.schedule({"id": "out", "kind": "opt_out", "scope": "offer"}, REST)

    assert world.submit().status == "opt_out"
    assert world.lead(other.id).status != "opt_out"
    assert list(world.head().opt_outs) == ["offer/1"]


# -- consent -----------------------------------------------------------------------------------------------------------

ASKED = {**TEXT, "require_opt_in": True}


@pytest.mark.parametrize("given", [True, "true", "Yes", 1])
def test_who_has_consented_is_texted(given: Any) -> None:
    world = World()
    world.schedule(ASKED)

    world.submit(data={"opt_in": given})

    assert world.steps() == ["text"]


@pytest.mark.parametrize("given", [{}, {"opt_in": False}, {"opt_in": "no"}, {"opt_in": ""}])
def test_who_has_not_consented_waits_before_the_text(given: dict[str, Any]) -> None:
    world = World()
    world.schedule(ASKED, hours_to_expire=5)

    lead = world.submit(data=given)

    assert (lead.status, lead.status_wait, lead.next_action_at) == ("waiting", "consent_missing", None)
    world.wait(5 * 3600)
    assert (world.commands, world.lead().status) == ([], "expired")


def test_a_lead_that_is_ending_waits_for_no_consent() -> None:
    world = World()
    world.schedule(CALL, end_steps=[ASKED])
    world.submit()
    world.outcome("no_answer")

    assert (world.steps(), world.lead().status) == (["call"], "completed_attempted")


@pytest.mark.parametrize("how", ["token", "text"])
def test_consent_wakes_who_waits_for_it_and_is_never_too_late(how: str) -> None:
    world = World()
    world.schedule(ASKED)
    world.submit()
    world.wait(5 * 3600)

    if how == "token":
        world.update(data={"opt_in": True})
    else:
        text(world, "START")

    assert world.steps() == ["text"]


def test_an_opt_out_takes_consent_back() -> None:
    world = World()
    world.schedule(ASKED)
    world.submit()
    text(world, "START")
    world.outcome("delivered")
    text(world, "STOP")
    world.update(opt_out=False)

    assert (world.submit().status_wait, world.head().opted_in_at) == ("consent_missing", None)


def test_a_word_of_consent_after_an_opt_out_by_text_is_consent_to_texts_again() -> None:
    world = World()
    world.schedule(ASKED)
    world.submit()
    text(world, "STOP")
    text(world, "START")

    assert (world.head().opted_in_at, world.submit().status) == (world.now, "running")
