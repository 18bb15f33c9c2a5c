"""What does a submission do where the person is new, known, ended, opted out or blocked?"""

from collections import Counter
from typing import Any

import pytest

from engine.partition.draft import RefusedError, RepeatedError
from schemas.account import Seen
from schemas.commands import PlaceCall, SendSms
from schemas.instant import DAY, HOUR
from schemas.records import Number, Offer, Schedule
from schemas.requests import LeadSubmitted
from schemas.wire import from_pack
from tests.engine.contact.world import KEY, NEW_YORK, NOON, NUMBER, World

CALL = {"id": "call", "kind": "call"}
REST = {"id": "rest", "kind": "wait", "duration": "1h"}
OTHER = "+13055550199"


@pytest.fixture
def world() -> World:
    made = World()
    made.schedule(REST, CALL)
    return made


def asked(**fields: Any) -> LeadSubmitted:
    given = {
        "company_id": 1,
        "contact_key": KEY,
        "caller_id": NUMBER,
        "zones": (NEW_YORK,),
        "schedule_id": 1,
        "with_key": True,
    }
    return LeadSubmitted(**{**given, **fields})


def answer_of(world: World) -> tuple[int, str | None]:
    assert world.answer is not None
    return world.answer.status, world.answer.dedupe_action


def test_a_lead_of_a_schedule_is_created_and_planned(world: World) -> None:
    lead = world.submit(data={"first_name": "Ann"}, columns={"country": "US"})
    assert answer_of(world) == (201, "created")
    assert (lead.status, lead.next_action_at, lead.first_queued_at) == ("scheduled", NOON + HOUR, NOON)
    assert (lead.offer_id, lead.schedule_id, lead.schedule_version) == (1, 1, 1)
    assert (lead.data, lead.columns, lead.version) == ({"first_name": "Ann"}, {"country": "US"}, 1)


def test_a_lead_of_an_offer_is_captured_and_waits_for_its_expiry_alone(world: World) -> None:
    world.add("offer", 1, Offer(name="Solar", lead_token="offer", hours_to_expire=2), version=2)
    lead = world.submit(offer_id=1)
    assert (lead.status, lead.next_action_at, lead.wake_at) == ("captured", None, NOON + 2 * HOUR)
    world.wait(2 * 3600)
    assert (world.lead().status, world.commands) == ("expired", [])


def test_the_first_schedule_version_is_kept_when_a_newer_one_comes(world: World) -> None:
    world.submit()
    world.schedule({"id": "text", "kind": "sms", "template": "Hi"}, version=2)
    world.wait(3600)
    assert world.steps() == ["call"]


def test_the_same_request_is_decided_once(world: World) -> None:
    world.ask(asked(), id="r1")
    with pytest.raises(RepeatedError):
        world.ask(asked(), id="r1")
    world.now += DAY
    world.ask(asked(), id="r1")
    assert len(world.lead_ids()) == 1


def test_a_number_of_a_stream_is_the_runners_to_refuse_and_takes_no_room_here(world: World) -> None:
    world.ask(asked(), id="inbox/0/1", stream="inbox/0")
    world.ask(asked(), id="inbox/0/1", stream="inbox/0")
    assert world.head().seen == {}


def test_a_producers_own_id_is_taken_once_whatever_its_place_in_the_inbox(world: World) -> None:
    world.ask(asked(), id="crm-7", stream="inbox/0")
    with pytest.raises(RepeatedError):
        world.ask(asked(), id="crm-7", stream="inbox/1")
    assert len(world.lead_ids()) == 1


def test_a_person_with_many_requests_has_a_small_head_and_repeats_are_still_known(world: World) -> None:
    for number in range(700):
        world.ask(asked(), id=f"r{number}")
    assert len(world.head().seen) == 32
    for number in range(0, 700, 7):
        with pytest.raises(RepeatedError):
            world.ask(asked(), id=f"r{number}")
    for number in range(1_500):
        world.ask(asked(), id=f"s{number}")
    apart = [value for key, value in world.state.items() if key.startswith("seen/")]
    assert (len(apart), max(len(from_pack(value, Seen).ids) for value in apart)) == (16, 64)


def test_requests_are_forgotten_after_a_day_wherever_they_are_kept(world: World) -> None:
    for number in range(100):
        world.ask(asked(), id=f"r{number}")
    world.now += DAY
    for number in range(100):
        world.ask(asked(), id=f"r{number}")
    assert world.answer is not None
    assert (len(world.lead_ids()), world.answer.dedupe_action) == (1, "updated")


def test_a_person_has_a_bounded_number_of_live_leads_and_the_next_is_refused(world: World) -> None:
    world.schedule(REST, CALL, record_id=7, duplicate_policy="create")
    leads = [world.submit(schedule_id=7) for _ in range(200)]
    with pytest.raises(RefusedError, match="200 live leads") as refused:
        world.submit(schedule_id=7)
    assert refused.value.code == "too_many_leads"
    world.update(leads[3], schedule_stop=True)
    newest = world.submit(schedule_id=7)
    assert (len(world.head().lead_ids), world.head().lead_ids[-1]) == (200, newest.id)
    assert (leads[3].id in world.head().lead_ids, world.lead(leads[3].id).status) == (False, "removed")
    assert world.update(leads[3], lead_priority=5).lead_priority == 5


def test_a_lead_that_moves_to_a_person_with_too_many_ends_there_and_is_found_by_its_id(world: World) -> None:
    world.schedule(REST, CALL, record_id=7, duplicate_policy="create")
    for _ in range(200):
        world.submit(schedule_id=7)
    other = world.submit(contact_key=f"1|{OTHER}", caller_id=OTHER)
    moved = world.update(other, caller_id=NUMBER)
    assert (moved.contact_key, moved.status, len(world.head().lead_ids)) == (KEY, "failure", 200)
    ended = [fact.data for fact in world.facts if fact.type == "lead.ended"]
    assert ended == [{"status": "failure", "reason": "too_many_leads"}]


@pytest.mark.parametrize(
    ("fields", "status", "action", "leads"),
    [
        ({}, 200, "updated", 1),
        ({"create_or_update": True}, 200, "updated", 1),
        ({"update_only": True}, 200, "updated", 1),
        ({"expire_existing": True}, 201, "expired_existing", 2),
        ({"delete_existing": True}, 201, "deleted_existing", 1),
        ({"delete_existing": True, "expire_existing": True}, 201, "deleted_existing", 1),
        ({"restart_schedule": True}, 200, "restarted", 1),
        ({"update_only": True, "restart_schedule": True}, 200, "restarted", 1),
    ],
)
def test_what_a_second_submission_does_to_a_live_lead(
    world: World, fields: dict[str, Any], status: int, action: str, leads: int
) -> None:
    first = world.submit(data={"a": 1, "b": 2, "c": 3})
    world.wait(60)
    lead = world.submit(data={"b": None, "c": 4}, **fields)
    assert answer_of(world) == (status, action)
    assert (len(world.lead_ids()), lead.step) == (leads, "call")
    if action == "updated":
        assert (lead.id, lead.data, lead.next_action_at) == (first.id, {"a": 1, "c": 4}, first.next_action_at)
    elif action == "restarted":
        assert (lead.id, lead.enrolment, lead.next_action_at) == (first.id, 2, world.now + HOUR)
    else:
        assert lead.id != first.id


def test_who_creates_or_updates_makes_a_new_lead_where_none_is_live_even_if_it_is_to_begin_again(world: World) -> None:
    first = world.submit()
    world.update(schedule_stop=True)
    second = world.submit(create_or_update=True, restart_schedule=True)
    assert (answer_of(world), second.id != first.id, second.enrolment) == ((201, "created"), True, 1)
    third = world.submit(create_or_update=True, restart_schedule=True)
    assert (answer_of(world), third.id, third.enrolment) == ((200, "restarted"), second.id, 2)


def test_who_creates_or_updates_finds_the_live_lead_on_another_schedule_of_the_offer(world: World) -> None:
    world.schedule(REST, CALL, record_id=2)
    first = world.submit()
    waiting = world.submit(offer_id=1, data={"a": 1}, create_or_update=True)
    again = world.submit(schedule_id=2, data={"b": 2}, create_or_update=True)
    assert (answer_of(world), waiting.id, again.id, again.data) == ((200, "updated"), first.id, first.id, {"a": 1, "b": 2})
    assert (again.schedule_id, again.next_action_at) == (1, first.next_action_at)
    restarted = world.submit(schedule_id=2, create_or_update=True, restart_schedule=True)
    assert (answer_of(world), restarted.schedule_id, restarted.enrolment) == ((200, "restarted"), 1, 2)
    assert world.submit(schedule_id=2).id != first.id  # who only submits starts the schedule of the token
    assert world.submit(schedule_id=2, create_or_update=True).schedule_id == 2  # its own comes first


def test_who_creates_or_updates_starts_a_lead_that_waited_for_a_call_on_the_schedule_of_the_token(world: World) -> None:
    waiting = world.submit(offer_id=1, data={"a": 1})
    lead = world.submit(data={"b": 2}, create_or_update=True)
    assert (answer_of(world), lead.id, lead.data) == ((200, "updated"), waiting.id, {"a": 1, "b": 2})
    assert (lead.schedule_id, lead.status, lead.next_action_at) == (1, "scheduled", NOON + HOUR)


@pytest.mark.parametrize("fields", [{"expire_existing": True}, {"delete_existing": True}])
def test_who_creates_or_updates_clears_what_is_of_the_token_alone(world: World, fields: dict[str, Any]) -> None:
    world.schedule(REST, CALL, record_id=2)
    first = world.submit()
    lead = world.submit(schedule_id=2, create_or_update=True, **fields)
    assert (answer_of(world), lead.schedule_id, world.lead(first.id).status) == ((201, "created"), 2, "scheduled")


def test_who_creates_or_updates_passes_over_a_lead_whose_schedule_is_gone(world: World) -> None:
    world.schedule(REST, CALL, record_id=2)
    first = world.submit()
    body = world.rules.body(Schedule, "schedule", 1)
    assert body is not None
    world.add("schedule", 1, body, version=2, deleted=True)
    assert world.submit(schedule_id=2, create_or_update=True).id != first.id


def test_a_lead_that_waited_for_a_call_expires_by_the_schedule_that_it_is_put_on() -> None:
    world = World()
    world.schedule(REST, CALL, hours_to_expire=5)
    assert world.submit(offer_id=1).expires_at is None
    assert world.update(schedule_start=True).expires_at == NOON + 5 * HOUR
    own = world.submit(offer_id=1, update_all_matching_leads=False, expire_existing=True, hours_to_expire=9)
    assert world.update(own, schedule_start=True).expires_at == NOON + 9 * HOUR


@pytest.mark.parametrize("offer_id", [1, 2])
def test_a_lead_on_another_offers_schedule_is_found_by_the_tokens_of_both(world: World, offer_id: int) -> None:
    world.add("offer", 2, Offer(name="Roofs", lead_token="roofs"))
    world.schedule(REST, CALL, record_id=2, offer_id=2)
    lead = world.submit()
    world.update(move_to_another_schedule_id=2)
    assert world.submit(offer_id=offer_id, data={"a": 1}).id == lead.id
    world.act("remove", schedule_id=None, offer_id=offer_id)
    assert world.lead(lead.id).status == "removed"
    with pytest.raises(RefusedError, match="no lead of this token"):
        world.act("remove", schedule_id=1)


LARGE = {f"essay-{place}": "x" * 4_000 for place in range(60)}
"""As much as one body carries."""


@pytest.mark.parametrize("change", ["submit", "update"])
def test_the_tokens_of_a_lead_stay_bounded_so_that_its_opt_out_can_be_written(world: World, change: str) -> None:
    lead = world.submit(data=LARGE)
    for data in ({f"more-{place}": "x" * 4_000 for place in range(30)}, {f"t{place}": 1 for place in range(1_000)}):
        with pytest.raises(RefusedError, match="with null") as refused:
            getattr(world, change)(data=data)
        assert (refused.value.code, list(refused.value.errors)) == ("too_large", ["data"])
    assert world.lead(lead.id).data == LARGE
    getattr(world, change)(data={**dict.fromkeys(LARGE), "roof": "flat"})
    assert world.lead(lead.id).data == {"roof": "flat"}


def test_a_new_lead_has_the_same_bound_of_stored_tokens_as_a_changed_one(world: World) -> None:
    with pytest.raises(RefusedError, match="262144 bytes") as refused:
        world.submit(data={f"list-{place}": [1e15] * 200 for place in range(100)})
    assert (refused.value.code, list(refused.value.errors)) == ("too_large", ["data"])
    assert world.lead_ids() == []


def test_steps_of_a_schedule_cannot_make_the_tokens_too_large(world: World) -> None:
    tokens = {f"t{place}": "x" * 4_000 for place in range(6)}
    world.schedule({"id": "note", "kind": "update_lead", "set": tokens}, record_id=7)
    lead = world.submit(data=LARGE, schedule_id=7)
    assert world.lead(lead.id).data == LARGE
    skipped = [fact.data for fact in world.facts if fact.type == "step.skipped"]
    assert skipped == [{"step_id": "note", "reason": "too_large"}]


def test_what_is_applied_to_many_leads_fits_into_one_decision(world: World) -> None:
    for _ in range(6):
        world.submit(expire_existing=True)
    world.submit(update_all_matching_leads=True, data=LARGE)
    assert world.answer is not None
    assert len(world.answer.record_ids) == 1
    world.submit(update_all_matching_leads=True, data={"roof": "flat"})
    assert len(world.answer.record_ids) > 1


@pytest.mark.parametrize("policy", ["create", "reject"])
def test_the_senders_own_id_finds_the_lead_to_update_whatever_becomes_of_duplicates(policy: str) -> None:
    world = World()
    world.schedule(REST, CALL, duplicate_policy=policy)
    lead = world.submit(columns={"external_record_id": "crm-1"})
    assert world.submit(columns={"external_record_id": "crm-1"}, data={"a": 1}).id == lead.id
    assert (answer_of(world), len(world.lead_ids())) == ((200, "updated"), 1)


def test_what_is_expired_by_a_new_submission_ends_as_expired(world: World) -> None:
    first = world.submit()
    world.submit(expire_existing=True)
    assert world.lead(first.id).status == "expired"


@pytest.mark.parametrize(
    ("policy", "action", "leads"), [("update", "updated", 1), ("create", "created", 2), ("restart", "restarted", 1)]
)
def test_a_schedule_says_what_happens_to_duplicates(policy: str, action: str, leads: int) -> None:
    world = World()
    world.schedule(REST, CALL, duplicate_policy=policy)
    world.submit()
    world.submit()
    assert (answer_of(world)[1], len(world.lead_ids())) == (action, leads)


def test_a_schedule_may_reject_duplicates_but_not_updates() -> None:
    world = World()
    world.schedule(REST, CALL, duplicate_policy="reject")
    world.submit()
    with pytest.raises(RefusedError) as refused:
        world.submit()
    assert refused.value.code == "duplicate_lead"
    world.submit(create_or_update=True)
    assert answer_of(world) == (200, "updated")


@pytest.mark.parametrize("fields", [{"update_only": True}, {"update_only": True, "restart_schedule": True}])
def test_an_update_alone_creates_nothing_and_revives_nothing(world: World, fields: dict[str, Any]) -> None:
    with pytest.raises(RefusedError) as refused:
        world.submit(**fields)
    assert refused.value.code == "lead_not_live"
    world.submit()
    world.act("remove")
    with pytest.raises(RefusedError):
        world.submit(**fields)
    assert world.lead().status == "removed"


def test_a_lead_that_has_ended_makes_room_for_a_new_one(world: World) -> None:
    first = world.submit()
    world.act("remove")
    second = world.submit()
    assert (answer_of(world), first.id != second.id) == ((201, "created"), True)


def test_a_restart_revives_a_lead_that_has_ended(world: World) -> None:
    first = world.submit()
    world.act("remove")
    lead = world.submit(restart_schedule=True)
    assert (lead.id, lead.status, lead.enrolment) == (first.id, "scheduled", 2)


def test_all_matching_leads_can_be_updated(world: World) -> None:
    world.schedule(REST, CALL, record_id=2)
    world.submit()
    world.submit(schedule_id=2)
    world.submit(offer_id=1, update_all_matching_leads=True, data={"plan": "gold"})
    assert world.answer is not None
    assert sorted(world.answer.record_ids) == world.lead_ids()
    assert [world.lead(lead_id).data for lead_id in world.lead_ids()] == [{"plan": "gold"}] * 2


@pytest.mark.parametrize(
    ("fields", "action"),
    [({"restart_schedule": True}, "restarted"), ({"expire_existing": True}, "expired_existing"), ({}, "updated")],
)
def test_the_data_is_for_all_matching_leads_whatever_else_is_done(world: World, fields: dict[str, Any], action: str) -> None:
    world.schedule(REST, CALL, record_id=2)
    live = world.submit()
    world.update(world.submit(schedule_id=2), schedule_stop=True)
    lead = world.submit(offer_id=1, update_all_matching_leads=True, data={"plan": "gold"}, **fields)
    assert (answer_of(world)[1], lead.id == live.id) == (action, action != "expired_existing")
    assert [world.lead(lead_id).data for lead_id in world.lead_ids()] == [{"plan": "gold"}] * len(world.lead_ids())


def test_who_only_updates_leaves_all_matching_leads_alone_that_have_ended(world: World) -> None:
    world.schedule(REST, CALL, record_id=2)
    ended = world.submit()
    world.act("remove")
    lead = world.submit(schedule_id=2)
    world.submit(offer_id=1, update_all_matching_leads=True, update_only=True, data={"plan": "gold"})
    assert (world.lead(lead.id).data, world.lead(ended.id).data) == ({"plan": "gold"}, {})


def test_the_senders_own_id_finds_the_lead_to_update() -> None:
    world = World()
    world.schedule(REST, CALL, duplicate_policy="create")
    first = world.submit(columns={"external_record_id": "x1"})
    world.submit(columns={"external_record_id": "x2"})
    lead = world.submit(columns={"external_record_id": "x1"}, create_or_update=True)
    assert lead.id == first.id


@pytest.mark.parametrize(
    ("fields", "expires_after"),
    [({}, 120 * HOUR), ({"hours_to_expire": 1}, HOUR), ({"hours_to_expire": 1, "received_at": NOON - HOUR // 2}, HOUR // 2)],
)
def test_a_lead_expires_by_its_own_hours_else_by_its_schedules(fields: dict[str, Any], expires_after: int) -> None:
    world = World()
    world.schedule({**REST, "duration": "2h"}, CALL, hours_to_expire=120)
    lead = world.submit(**fields)
    assert lead.expires_at == NOON + expires_after


def test_a_submission_may_limit_its_attempts_itself() -> None:
    world = World()
    world.schedule(CALL, {"id": "again", "kind": "call"}, max_contact_attempts=5)
    world.submit(max_contact_attempts=1)
    world.outcome("no_answer")
    assert (world.steps(), world.lead().status) == (["call"], "exceeded_max_calls")


def test_a_changed_priority_is_in_the_timer_at_once(world: World) -> None:
    world.submit(lead_priority=7.5)
    lead = world.submit(lead_priority=-1.0)
    timer = world.aggregate.timer(f"lead/{lead.id}", lead)
    assert timer is not None
    assert (timer.due_at, timer.urgency_class, timer.priority) == (NOON + HOUR, 2, -1.0)


@pytest.mark.parametrize("field", ["next_action_at", "schedule_callback_at"])
def test_more_than_a_year_ahead_is_refused(world: World, field: str) -> None:
    with pytest.raises(RefusedError) as refused:
        world.submit(**{field: NOON + 367 * DAY})
    assert (refused.value.code, list(refused.value.errors)) == ("validation_failed", [field])


def test_a_moment_in_the_past_is_now(world: World) -> None:
    world.submit(next_action_at=NOON - DAY)
    assert world.steps() == ["call"]


@pytest.mark.parametrize("target", [{"schedule_id": 9}, {"offer_id": 9}])
def test_a_token_whose_record_is_gone_is_unknown(world: World, target: dict[str, int]) -> None:
    with pytest.raises(RefusedError) as refused:
        world.submit(**target)
    assert refused.value.code == "unknown_lead_token"


@pytest.mark.parametrize(("fields", "status"), [({"opt_out": True}, "opt_out"), ({"blocked": True}, "blocked")])
def test_who_must_not_be_contacted_is_stored_and_left_alone(world: World, fields: dict[str, bool], status: str) -> None:
    world.submit()
    world.update(None, **fields)
    lead = world.submit()
    assert answer_of(world) == (201, "created")
    assert (lead.status, lead.wake_at, lead.opt_out, lead.blocked) == (
        status,
        None,
        status == "opt_out",
        status == "blocked",
    )
    world.wait(10 * 86400)
    assert world.commands == []


def test_a_block_can_be_lifted_with_a_submission(world: World) -> None:
    world.submit()
    world.update(blocked=True)
    assert world.submit(unblock_contact=True).status == "scheduled"
    assert world.head().blocked_at is None


def test_a_submission_may_block_and_then_updates_the_lead_that_is_there(world: World) -> None:
    first = world.submit()
    lead = world.submit(blocked=True, data={"why": "rude"})
    assert (lead.id, lead.status, lead.data) == (first.id, "blocked", {"why": "rude"})


def test_numbers_are_given_in_turn_the_offers_own_first() -> None:
    world = World()
    world.schedule(REST, CALL)
    world.add("number", 1, Number(number="+12125550101"))
    world.add("number", 2, Number(number="+12125550102", offer_id=1))
    world.add("number", 3, Number(number="+12125550103", offer_id=1, sms=False))
    world.add("number", 4, Number(number="+12125550104", offer_id=1, paused=True))
    given = [
        world.submit(
            contact_key=f"1|+1305555{n:04}", caller_id=f"+1305555{n:04}", assign_svc_number=True, assign_sms_number=True
        )
        for n in range(4)
    ]
    assert sorted({lead.svc_number or "" for lead in given}) == ["+12125550102", "+12125550103"]
    assert {lead.sms_number for lead in given} == {"+12125550102"}


@pytest.mark.parametrize("steps", [(CALL,), (REST, CALL)])
def test_each_number_gets_its_share_of_the_leads_whether_or_not_calls_take_ids_between_them(steps: tuple[Any, ...]) -> None:
    world = World()
    world.schedule(*steps)
    for record_id in range(1, 5):
        world.add("number", record_id, Number(number=f"+1212555010{record_id}"))
    given = Counter(
        world.submit(contact_key=f"1|+1305555{n:04}", caller_id=f"+1305555{n:04}", assign_svc_number=True).svc_number
        for n in range(40)
    )
    assert sorted(given.values()) == pytest.approx([10, 10, 10, 10], abs=2)


@pytest.mark.parametrize(
    "change", [{"fields": {"paused": True}}, {"fields": {"voice": False, "sms": False}}, {"deleted": True}]
)
def test_a_number_that_is_out_of_use_calls_and_texts_nobody_any_more(change: dict[str, Any]) -> None:
    world = World()
    world.schedule(REST, CALL, {"id": "text", "kind": "sms", "template": "Call {{svc_number}}"})
    for record_id in (1, 2):
        world.add("number", record_id, Number(number=f"+1212555010{record_id}"))
    lead = world.submit(assign_svc_number=True, assign_sms_number=True)
    kept, other = sorted(("+12125550101", "+12125550102"), key=lambda number: number != lead.svc_number)
    body = Number(number=kept, **change.get("fields", {}))
    world.add("number", int(kept[-1]), body, version=2, deleted=change.get("deleted", False))

    world.wait(3600)
    world.outcome("no_answer")
    call, text = world.commands
    assert isinstance(call, PlaceCall)
    assert isinstance(text, SendSms)
    assert (call.from_number, text.from_number, text.body) == (other, other, f"Call {other}")
    assert (world.lead().svc_number, world.lead().sms_number) == (other, other)


def test_a_lead_without_a_number_is_kept_under_its_address() -> None:
    world = World()
    world.schedule(CALL, {"id": "mail", "kind": "email", "subject": "Hello", "template": "B"})
    world.submit(contact_key="1|email:ann@example.com", caller_id=None, email="Ann@example.com", zones=())
    assert [(command.step_id, command.contact_key) for command in world.commands] == [("mail", "1|email:ann@example.com")]
    assert world.messages == []


def test_a_submission_that_says_not_blocked_of_who_is_blocked_is_refused_and_stores_nothing() -> None:
    """`blocked=false` was silently without effect: a lead token is no right to lift a block."""
    world = World()
    world.schedule(CALL)
    world.submit(blocked=True)
    before = world.lead_ids()

    with pytest.raises(RefusedError) as refused:
        world.submit(blocked=False)

    assert (refused.value.code, list(refused.value.errors)) == ("validation_failed", ["blocked"])
    assert world.lead_ids() == before
    assert world.submit(blocked=False, unblock_contact=True).status == "running"
    assert world.submit(blocked=False, contact_key="1|+13055550188", caller_id="+13055550188").status == "running"


def test_a_lead_that_is_moved_to_another_offers_schedule_is_that_offers(world: World) -> None:
    world.add("offer", 2, Offer(name="Roofs", lead_token="roofs"))
    world.schedule(REST, CALL, record_id=2, offer_id=2)
    lead = world.submit()

    assert world.update(lead, move_to_another_schedule_id=2).offer_id == 2
    assert world.update(lead, move_to_another_schedule_id=1).offer_id == 1
