"""Is everything about a call recorded, changed only as requested, and passed on to its lead?"""

from decimal import Decimal
from typing import Any

import msgspec
import pytest
from msgspec import UNSET

from adapters.postgres.tables import CALLS
from adapters.projector.rows import RawCall, call_row
from engine.contact.requests.update import CONVERSIONS
from engine.partition.draft import RefusedError
from schemas.commands import PostWebhook, PressKeys
from schemas.contact import LIVE_STATUSES, Call
from schemas.instant import DAY, HOUR, SECOND
from schemas.records import Buyer, CallDisposition, Number, OutgoingWebhook, TrafficSource
from schemas.requests import (
    CallDeleteRequested,
    CallKeysRequested,
    CallProgressed,
    CallStartRequested,
    CallUpdateRequested,
    LeadDeleteRequested,
    OutcomeRecorded,
)
from schemas.wire import to_json
from tests.contact_ids import CONTACT_IDS
from tests.engine.contact.test_inbound_routing import rings
from tests.engine.contact.world import KEY, NOON, NUMBER, World

CALL: dict[str, Any] = {"id": "call", "kind": "call"}
REST = {"id": "rest", "kind": "wait", "duration": "1d"}
TEXT = {"id": "text", "kind": "sms", "template": "Hi"}
LATE = {"id": "late", "kind": "wait", "duration": "5d"}


@pytest.fixture
def world() -> World:
    made = World()
    made.schedule(CALL, REST, CALL | {"id": "again"}, LATE)
    made.add("number", 5, Number(number="+12125550150", offer_id=1))
    made.add("buyer", 6, Buyer(name="Roofs", number="+12125550160"))
    made.add("buyer", 7, Buyer(name="Homes", number="+12125550161"))
    made.add("traffic_source", 8, TrafficSource(name="Ads"))
    made.add("outgoing_webhook", 9, OutgoingWebhook(name="CRM", url="https://crm.example.com"))
    made.add("call_disposition", 10, CallDisposition(name="Sold", code="SOLD"))
    return made


def _called(world: World, **fields: Any) -> Call:
    world.submit(**fields)
    return world.call(world.lead().attempted_call_id)


def _change(world: World, call: Call, **fields: Any) -> Call:
    world.ask(CallUpdateRequested(company_id=1, contact_key=call.contact_key, call_id=call.id, **fields))
    return world.call(call.id)


def _progress(world: World, state: Any, after: int = 0) -> None:
    world.now += after
    command = world.commands[-1]
    call_id = getattr(command, "call_id", None)
    fields: dict[str, Any] = {
        "company_id": 1,
        "contact_key": KEY,
        "lead_id": command.lead_id,
        "command_id": command.command_id,
    }
    world.ask(CallProgressed(state=state, occurred_at=world.now, call_id=call_id, **fields))


def _row(call: Call) -> dict[str, Any]:
    return dict(
        zip(CALLS.columns, call_row(CONTACT_IDS, msgspec.json.decode(to_json(call), type=RawCall), 0, 1), strict=True)
    )


# -- the record --------------------------------------------------------------------------------------------------------


def test_a_call_takes_over_what_is_true_of_its_lead_when_it_begins(world: World) -> None:
    columns = {"country": "US", "state_province": "FL", "zip_postal_code": "33101", "traffic_source_id": 8}
    columns |= {"time_zone": "America/New_York", "contact_field_type": "4"}
    call = _called(world, columns=columns, data={"roof": "flat", "city": "Miami"})
    assert (call.country, call.state, call.zip, call.city) == ("US", "FL", "33101", "Miami")
    assert (call.time_zone, call.traffic_source_id, call.contact_field_type) == ("America/New_York", 8, "4")
    assert (call.token_values, call.number_id, call.from_number) == ({"roof": "flat", "city": "Miami"}, 5, "+12125550150")
    assert (call.direction, call.origin, call.attempt_number, call.status) == ("outbound", "schedule", 1, "initiated")
    world.update(data={"roof": "steep"})
    assert world.call(call.id).token_values["roof"] == "flat"


def test_the_data_of_a_lead_goes_to_its_calls_as_well_where_that_is_asked_for(world: World) -> None:
    call = _called(world, data={"roof": "flat", "color": "red"})
    world.update(data={"roof": "steep", "color": None}, apply_to="calls")
    assert world.call(call.id).token_values == {"roof": "steep"}
    world.update(data={"roof": "green"}, apply_to="self")
    assert world.call(call.id).token_values == {"roof": "steep"}
    world.submit(data={"roof": "blue"}, apply_to="calls")
    assert world.call(call.id).token_values == {"roof": "blue"}


def test_durations_follow_from_what_was_reported(world: World) -> None:
    call = _called(world)
    for state, after in (
        ("initiated", 1000),
        ("ringing", 1000),
        ("established", 4500),
        ("on-hold", 3000),
        ("resumed", 10_000),
    ):
        _progress(world, state, after)
    assert (world.call(call.id).status, world.call(call.id).placed_on_hold) == ("established", True)
    world.now += 20 * SECOND
    world.outcome("connected_human", hung_up_by="caller", hangup_cause="normal clearing", cost=0.02, detail="done")
    shown = _row(world.call(call.id))
    assert (shown["ring_duration"], shown["hold_duration"], shown["talk_duration"], shown["total_duration"]) == (
        4,
        10,
        23,
        39,
    )
    assert (shown["in_progress"], shown["no_buyer"], shown["hung_up_by"], shown["cost"]) == (
        False,
        True,
        "caller",
        Decimal("0.02"),
    )
    assert (shown["status"], shown["outcome"], shown["profit"]) == ("finished", "connected_human", Decimal("-0.02"))
    assert [kind for kind in world.fact_types() if kind.startswith("call.")] == [
        *("call.initiated", "call.ringing", "call.established", "call.on-hold", "call.resumed", "call.ended")
    ]


def test_a_recording_that_is_reported_after_the_end_does_not_end_the_call_again(world: World) -> None:
    call = _called(world)
    world.now += 30 * SECOND
    world.outcome("connected_human", talk_seconds=20, detail="done")
    ended_at = world.call(call.id).ended_at
    world.now += 60 * SECOND
    later: dict[str, Any] = {"recording_url": "https://pbx.test/1.mp3", "talk_seconds": 20, "detail": "done"}
    for _ in range(2):
        world.outcome("connected_human", call_id=call.id, **later)

    found = world.call(call.id)
    assert (found.recording_url, found.ended_at) == ("https://pbx.test/1.mp3", ended_at)
    about = [fact for fact in world.facts if fact.call_id == call.id]
    assert [fact.type for fact in about].count("call.ended") == 1
    assert [fact.data["fields"] for fact in about if fact.type == "call.updated"] == [["recording_url"]]


def test_that_it_rang_may_be_reported_after_its_answer_and_takes_nothing_back(world: World) -> None:
    call = _called(world)
    rang_at = world.now
    _progress(world, "established", 4000)
    answered_at, world.now = world.now, rang_at
    _progress(world, "ringing")
    reported = world.call(call.id)
    assert (reported.status, reported.ringing_at, reported.answered_at) == ("established", rang_at, answered_at)
    world.now = answered_at
    _progress(world, "ringing", 1000)
    assert world.call(call.id).ringing_at == rang_at


def test_a_call_that_ends_on_hold_was_on_hold_until_then(world: World) -> None:
    call = _called(world)
    _progress(world, "established")
    _progress(world, "on-hold")
    world.now += 5 * SECOND
    world.outcome("abandoned_by_us")
    found = world.call(call.id)
    assert (found.hold_seconds, found.held_at, found.status, found.hangup_cause) == (5, None, "no-buyer", "abandoned_by_us")


@pytest.mark.parametrize(
    ("outcome", "fields", "sub_status"),
    [
        ("voicemail", {"answered_by": "machine"}, "machine"),
        ("rejected_at_gate", {}, "rejected_at_gate"),
        ("expired", {}, "expired"),
        ("not_placed", {}, "not_placed"),
        ("busy", {}, None),
    ],
)
def test_a_sub_status_says_what_the_outcome_does_not(
    world: World, outcome: str, fields: dict[str, Any], sub_status: str | None
) -> None:
    call = _called(world)
    world.outcome(outcome, **fields)
    assert world.call(call.id).sub_status == sub_status


def test_a_call_that_nothing_is_heard_of_timed_out(world: World) -> None:
    call = _called(world)
    _progress(world, "established", 4000)
    world.wait_until(NOON + 4 * HOUR)
    found = world.call(call.id)
    assert (found.outcome, found.sub_status, found.ended_at) == ("unknown", "timed_out", NOON + 4 * HOUR)
    assert (found.hangup_cause, _row(found)["talk_duration"]) == ("unknown", 0)
    world.outcome("connected_human", talk_seconds=50)
    assert _row(world.call(call.id))["talk_duration"] == 50


def test_the_buyer_who_was_put_through_has_answered(world: World) -> None:
    call = _called(world)
    world.outcome("connected_buyer", buyer_id=6, answered_at=NOON + 5, recording_url="https://pbx.example.com/1.wav")
    shown = _row(world.call(call.id))
    assert (shown["no_buyer"], shown["buyer_id"], shown["has_recording"]) == (False, 6, True)
    assert shown["buyer_answered_at"] == NOON + 5


def test_a_call_keeps_who_and_what_handled_it_and_the_country_of_its_number(world: World) -> None:
    call = _called(world)
    world.outcome("connected_human", agent_id=9, provider_configuration_id=2, transcription_status="completed")
    shown = _row(world.call(call.id))
    assert (shown["agent_id"], shown["provider_configuration_id"], shown["transcription_status"]) == (9, 2, "completed")
    assert (world.call(call.id).country, shown["country"]) == (None, "US")


def test_a_second_call_for_the_same_offer_or_buyer_is_a_repeat_and_a_duplicate_where_the_first_converted(
    world: World,
) -> None:
    first = _called(world)
    world.outcome("connected_buyer", buyer_id=6)
    assert not first.offer_repeat_caller
    world.wait(26 * 3600)
    second = world.call(world.lead().attempted_call_id)
    assert (second.offer_repeat_caller, second.buyer_repeat_caller) == (True, False)
    assert not second.offer_conversion_duplicated_call
    world.outcome("connected_buyer", buyer_id=6)
    assert world.call(second.id).buyer_repeat_caller
    _change(world, first, buyer_converted=True, offer_converted=True)
    found = _change(world, second, buyer_converted=True)
    assert (found.buyer_conversion_duplicated_call, found.offer_conversion_duplicated_call) == (True, True)
    other = _change(world, second, traffic_source_id=8, buyer_id=7)
    assert (other.offer_repeat_caller, other.buyer_conversion_duplicated_call) == (False, False)


# -- updates -----------------------------------------------------------------------------------------------------------


def test_money_is_set_and_added_and_the_lead_earns_the_difference(world: World) -> None:
    call = _called(world)
    found = _change(world, call, revenue=40.0, add_revenue=2.5, payout=10.0)
    assert (found.revenue, found.payout, found.user_updated_at) == (Decimal("42.5"), Decimal("10.0"), world.now)
    assert _row(found)["profit"] == Decimal("32.5")
    _change(world, call, add_revenue=0.1, add_payout=-3.0)
    found = _change(world, call, add_revenue=0.2)
    assert (found.revenue, found.payout) == (Decimal("42.8"), Decimal("7.0"))
    assert (world.lead().revenue, world.lead().payout) == (Decimal("42.8"), Decimal("7.0"))
    _change(world, call, revenue=0.0, payout=0.0)
    assert (world.lead().revenue, world.lead().payout) == (Decimal("0.0"), Decimal("0.0"))


def test_a_conversion_of_a_call_is_one_of_its_lead_and_ends_its_schedule(world: World) -> None:
    call = _called(world)
    world.outcome("connected_human")
    found = _change(world, call, buyer_converted=True, buyer_id=7)
    lead = world.lead()
    assert (found.buyer_converted, lead.buyer_converted, lead.buyer_id) == (True, True, 7)
    assert lead.status == "completed_converted"
    _change(world, call, buyer_converted=False, offer_converted=False)
    assert (world.lead().buyer_converted, world.lead().status) == (False, "completed_converted")


def test_a_conversion_is_taken_back_from_the_lead_only_where_no_other_call_converted(world: World) -> None:
    world.schedule(CALL, REST, CALL | {"id": "again"}, LATE, on_conversion="continue", version=2)
    first = _called(world)
    world.outcome("connected_human")
    world.wait(26 * 3600)
    second = world.call(world.lead().attempted_call_id)
    for call in (first, second):
        _change(world, call, offer_converted=True)
    _change(world, first, offer_converted=False)
    assert world.lead().offer_converted
    _change(world, second, offer_converted=False)
    assert not world.lead().offer_converted


@pytest.mark.parametrize("flag", ["buyer_converted", "offer_converted"])
def test_a_lead_names_the_call_that_its_conversion_is_of_and_another_where_that_is_taken_back(
    world: World, flag: str
) -> None:
    world.schedule(CALL, REST, CALL | {"id": "again"}, LATE, on_conversion="continue", version=2)
    named = CONVERSIONS[flag]
    first = _called(world)
    world.outcome("connected_human")
    world.wait(26 * 3600)
    second = world.call(world.lead().attempted_call_id)
    for call in (first, second):
        _change(world, call, **{flag: True})
        assert getattr(world.lead(), named) == call.id
    _change(world, second, **{flag: False})
    assert (getattr(world.lead(), flag), getattr(world.lead(), named)) == (True, first.id)
    _change(world, first, **{flag: False})
    assert (getattr(world.lead(), flag), getattr(world.lead(), named)) == (False, None)


def test_a_conversion_that_is_reported_again_moves_no_lead_on_once_more(world: World) -> None:
    call = _called(world)
    world.outcome("connected_human")
    _change(world, call, buyer_converted=True)
    world.submit(restart_schedule=True)
    assert world.lead().status in LIVE_STATUSES
    _change(world, call, buyer_converted=True, add_revenue=5.0)
    assert world.lead().status in LIVE_STATUSES
    assert (world.lead().buyer_converted, world.lead().revenue) == (True, Decimal("5.0"))


def test_a_call_has_the_id_that_the_sender_gave_its_lead(world: World) -> None:
    call = _called(world, columns={"external_record_id": "crm-7"}, data={"first_name": "Ada"})

    assert call.token_values == {"external_record_id": "crm-7", "first_name": "Ada"}


def test_a_change_of_a_call_that_changes_nothing_is_reported_nowhere(world: World) -> None:
    call = _called(world)
    changed = _change(world, call, revenue=4.0, buyer_converted=True, data={"a": 1})
    reported = len(world.facts)

    for fields in ({}, {"revenue": 4.0}, {"buyer_converted": True, "data": {"a": 1}, "add_payout": 0.0}):
        assert _change(world, call, **fields) == changed
    assert world.facts[reported:] == []
    _change(world, call, revenue=5.0, buyer_converted=True)
    assert [fact.data["fields"] for fact in world.facts[reported:] if fact.type == "call.updated"] == [["revenue"]]


def test_a_webhook_that_was_fired_by_hand_is_not_late_when_it_is_delivered(world: World) -> None:
    call = _called(world)
    _change(world, call, outgoing_webhook_ids=(9,))
    world.now += 60 * SECOND

    world.outcome("accepted", call_id=call.id)

    (fact,) = [fact for fact in world.facts if fact.type == "outcome.recorded" and fact.data["kind"] == "webhook"]
    assert "late" not in fact.data


def test_late_facts_never_revive_a_lead_that_has_ended(world: World) -> None:
    call = _called(world)
    world.act("remove")
    _change(world, call, revenue=5.0, offer_converted=True, data={"late": "yes"})
    assert (world.lead().status, world.lead().revenue, world.lead().offer_converted) == ("removed", Decimal("5.0"), True)
    world.outcome("no_answer")
    assert world.lead().status == "removed"


def test_tokens_notes_and_field_type_are_written_and_null_takes_a_token_away(world: World) -> None:
    call = _called(world, data={"roof": "flat"})
    found = _change(
        world, call, data={"roof": None, "budget": 900}, agent_call_disposition_notes="nice", contact_field_type="12"
    )
    assert (found.token_values, found.agent_call_disposition_notes, found.contact_field_type) == (
        {"budget": 900},
        "nice",
        "12",
    )
    assert world.lead().data == {"roof": "flat"}


def test_a_disposition_is_reported_once_and_again_when_it_changes(world: World) -> None:
    call = _called(world)
    world.add("call_disposition", 11, CallDisposition(name="No interest"))
    for disposition_id in (10, 10, 11, None):
        _change(world, call, call_disposition_id=disposition_id)
    reported = [fact.data["disposition"] for fact in world.facts if fact.type == "call.dispositioned"]
    assert reported == ["SOLD", "No interest", None]


def test_a_time_to_call_back_is_kept_whatever_the_disposition_is(world: World) -> None:
    call = _called(world)
    world.outcome("connected_human")
    world.add("call_disposition", 11, CallDisposition(name="Later", category="callback", requires_callback_time=True))
    for fields, hours in (({}, 2), ({"call_disposition_id": 11}, 3), ({"call_disposition_id": 11}, 4), ({}, 5)):
        _change(world, call, callback_at=world.now + hours * HOUR, **fields)
        assert (world.lead().callback_at, world.lead().status_wait) == (world.now + hours * HOUR, "callback_pending")
    promised = [fact for fact in world.facts if fact.type == "callback.scheduled"]
    assert len(promised) == 4


def test_a_callback_outlives_the_conversion_that_is_reported_with_it(world: World) -> None:
    call = _called(world)
    world.outcome("connected_human")
    _change(world, call, buyer_converted=True, callback_at=world.now + HOUR, call_disposition_id=10)
    assert (world.lead().callback_at, world.lead().buyer_converted) == (world.now + HOUR, True)
    world.wait(3600)
    assert world.call(world.lead().attempted_call_id).origin == "callback"
    world.outcome("connected_human")
    assert world.lead().status == "completed_converted"


def test_a_lead_that_only_waits_for_calls_is_promised_one_too(world: World) -> None:
    world.submit(offer_id=1)
    world.ask(CallStartRequested(company_id=1, contact_key=KEY, caller_id=NUMBER, lead_id=world.lead().id))
    call = world.call(world.lead().attempted_call_id)
    world.outcome("connected_human")
    _change(world, call, call_disposition_id=10, callback_at=world.now + HOUR)
    assert (world.lead().schedule_id, world.lead().callback_at) == (None, world.now + HOUR)


def test_no_call_back_is_promised_of_a_lead_that_has_ended_and_then_nothing_is_changed(world: World) -> None:
    call = _called(world)
    world.act("remove")
    with pytest.raises(RefusedError) as refused:
        _change(world, call, revenue=5.0, callback_at=world.now + HOUR)
    assert refused.value.code == "lead_not_live"
    assert world.call(call.id).revenue == Decimal("0.0")


def test_of_several_calls_the_newest_has_its_lead_called_back_once(world: World) -> None:
    world.submit(offer_id=1)
    lead_id = world.lead().id
    for _ in range(2):
        world.wait(60)
        world.ask(CallStartRequested(company_id=1, contact_key=KEY, caller_id=NUMBER, lead_id=lead_id))
        world.outcome("connected_human")
    asked = {"company_id": 1, "contact_key": KEY, "offer_id": 1, "call_disposition_id": 10}
    world.ask(CallUpdateRequested(callback_at=world.now + HOUR, **asked))  # type: ignore[arg-type]
    assert world.fact_types().count("callback.scheduled") == 1
    assert world.lead().callback_at == world.now + HOUR


def test_the_outcome_of_a_webhook_fired_by_hand_is_recorded_with_its_call(world: World) -> None:
    call = _called(world)
    _change(world, call, outgoing_webhook_ids=(9,))
    order = world.commands[-1]
    assert isinstance(order, PostWebhook)
    assert order.call_id == call.id
    about: dict[str, Any] = {"company_id": 1, "contact_key": KEY, "lead_id": order.lead_id, "call_id": order.call_id}
    about |= {"command_id": order.command_id, "kind": "webhook", "outcome": "accepted", "occurred_at": world.now}
    world.ask(OutcomeRecorded(**about))
    world.ask(OutcomeRecorded(**{**about, "lead_id": 0, "outcome": "failed"}))
    reported = [
        (fact.type, fact.data.get("outgoing_webhook_id"), fact.data.get("outcome"))
        for fact in world.facts
        if fact.call_id == call.id and fact.data.get("kind") == "webhook"
    ]
    assert reported == [
        ("command.emitted", 9, None),
        ("outcome.recorded", None, "accepted"),
        ("outcome.recorded", None, "failed"),
    ]


def test_webhooks_are_fired_again_for_a_call_each_time_under_another_id(world: World) -> None:
    call = _called(world)
    before = len(world.commands)
    _change(world, call, outgoing_webhook_ids=(9,))
    _change(world, call, outgoing_webhook_ids=(9,))
    first, second = world.commands[before:]
    assert isinstance(first, PostWebhook)
    assert (first.outgoing_webhook_id, first.payload["type"], first.payload["data"]["call"]["id"]) == (
        9,
        "call.fired",
        call.id,
    )
    assert first.payload["data"]["lead"]["id"] == call.lead_id
    assert first.command_id != second.command_id


UNKNOWN: list[tuple[dict[str, Any], str]] = [
    ({"buyer_id": 99}, "svc_buyer_id"),
    ({"traffic_source_id": 6}, "svc_traffic_source_id"),
    ({"call_disposition_id": 8}, "call_disposition_id"),
    ({"outgoing_webhook_ids": (9, 1)}, "fire_outgoing_webhook_ids"),
]


@pytest.mark.parametrize(("fields", "field"), UNKNOWN)
def test_an_update_that_names_what_is_not_there_changes_nothing(world: World, fields: dict[str, Any], field: str) -> None:
    call = _called(world)
    with pytest.raises(RefusedError) as refused:
        _change(world, call, revenue=5.0, **fields)
    assert (refused.value.code, list(refused.value.errors)) == ("validation_failed", [field])
    assert world.call(call.id).revenue == 0


def test_an_update_of_no_call_or_of_another_persons_is_not_found(world: World) -> None:
    call = _called(world)
    for key, call_id in ((KEY, 4711), ("1|+13055550124", call.id)):
        with pytest.raises(RefusedError, match="no such call"):
            world.ask(CallUpdateRequested(company_id=1, contact_key=key, call_id=call_id))


def test_the_calls_of_a_person_and_offer_are_changed_together_within_the_time(world: World) -> None:
    first = _called(world)
    world.outcome("no_answer")
    world.wait(26 * 3600)
    second = world.call(world.lead().attempted_call_id)
    about: dict[str, Any] = {"company_id": 1, "contact_key": KEY, "offer_id": 1}
    world.ask(CallUpdateRequested(**about, since=world.now - 4 * HOUR, add_revenue=Decimal("3.0")))
    assert [world.call(call.id).revenue for call in (first, second)] == [Decimal("0.0"), Decimal("3.0")]
    world.ask(CallUpdateRequested(**about, add_revenue=Decimal("3.0")))
    assert [world.call(call.id).revenue for call in (first, second)] == [Decimal("3.0"), Decimal("6.0")]
    assert world.answer is not None
    assert (world.answer.record_id, world.answer.record_ids) == (second.id, (second.id, first.id))
    assert world.lead().revenue == Decimal("9.0")
    others: tuple[dict[str, Any], ...] = ({"offer_id": 2}, {"since": world.now + 1})
    for other in others:
        with pytest.raises(RefusedError, match="no call of this number"):
            world.ask(CallUpdateRequested(**{**about, **other}, add_revenue=Decimal("1.0")))


def test_what_a_call_earns_reaches_its_lead_where_it_has_moved_to(world: World) -> None:
    call = _called(world)
    world.outcome("no_answer")
    world.update(caller_id="+13055550199")
    _change(world, call, revenue=7.0, buyer_converted=True)
    lead = world.lead()
    assert (lead.contact_key, lead.revenue, lead.buyer_converted) == ("1|+13055550199", Decimal("7.0"), True)


# -- keys and deletion -------------------------------------------------------------------------------------------------


def test_keys_are_ordered_for_a_call_in_progress_and_refused_afterwards(world: World) -> None:
    call = _called(world)
    request = CallKeysRequested(company_id=1, contact_key=KEY, call_id=call.id, digits="1#", data={"chose": "1"})
    world.ask(request)
    (_, first) = world.commands
    world.ask(request)
    assert isinstance(first, PressKeys)
    assert (first.digits, first.call_command_id, first.not_after) == ("1#", call.command_id, NOON + 10 * SECOND)
    assert len({command.command_id for command in world.commands}) == 3
    assert world.call(call.id).token_values == {"chose": "1"}
    world.outcome("connected_human", world.commands[0])
    with pytest.raises(RefusedError) as refused:
        world.ask(request)
    assert refused.value.code == "call_ended"


INBOUND_LEG: dict[str, Any] = {"provider": "telnyx", "provider_ref": "v3:in", "provider_configuration_id": 7}


def test_keys_are_ordered_for_a_persons_call_by_the_account_that_it_came_by(world: World) -> None:
    call = rings(world, **INBOUND_LEG)
    request = CallKeysRequested(company_id=1, contact_key=KEY, call_id=call.id, digits="1#")
    world.ask(request)
    (order,) = world.commands

    assert isinstance(order, PressKeys)
    assert (order.call_command_id, order.provider_configuration_id, order.provider_ref) == (None, 7, "v3:in")
    assert (order.digits, order.call_id, order.not_after) == ("1#", call.id, world.now + 10 * SECOND)
    rings(world, "ended", **INBOUND_LEG)
    with pytest.raises(RefusedError) as refused:
        world.ask(request)
    assert refused.value.code == "call_ended"


@pytest.mark.parametrize("missing", INBOUND_LEG)
def test_keys_of_a_persons_call_are_refused_where_no_account_carries_it(world: World, missing: str) -> None:
    call = rings(world, **{name: value for name, value in INBOUND_LEG.items() if name != missing})
    request = CallKeysRequested(company_id=1, contact_key=KEY, call_id=call.id, digits="1")
    if missing == "provider":  # only a name of what carries it
        world.ask(request)
        return

    with pytest.raises(RefusedError) as refused:
        world.ask(request)
    assert refused.value.code == "not_supported"
    assert world.commands == []


def test_a_deleted_call_is_gone_and_its_attempt_stays_counted(world: World) -> None:
    call = _called(world)
    request = CallDeleteRequested(company_id=1, contact_key=KEY, call_id=call.id)
    world.ask(request)
    assert (world.head().call_ids, len(world.head().ledger), world.lead().attempts) == ((), 1, 1)
    with pytest.raises(RefusedError, match="no such call"):
        world.ask(request)
    world.outcome("connected_human", cost=0.02)
    assert world.lead().status == "scheduled"
    (reported,) = [fact for fact in world.facts if fact.type == "outcome.recorded"]
    assert (reported.call_id, reported.data["cost"]) == (call.id, Decimal("0.02"))


def test_a_deleted_call_takes_its_money_and_conversion_from_its_lead_so_that_reports_agree(world: World) -> None:
    first = _called(world)
    world.outcome("no_answer")
    _change(world, first, revenue=40.0, payout=10.0, buyer_converted=True)
    lead = world.lead()
    assert (lead.revenue, lead.payout) == (Decimal("40.0"), Decimal("10.0"))

    world.ask(CallDeleteRequested(company_id=1, contact_key=KEY, call_id=first.id))

    assert world.answer is not None
    assert (world.answer.record_type, world.answer.record_id) == ("call", first.id)
    lead = world.lead()
    assert (lead.revenue, lead.payout, lead.buyer_converted) == (Decimal("0.0"), Decimal("0.0"), False)


def test_a_call_whose_lead_was_deleted_is_given_up_when_the_lead_would_have(world: World) -> None:
    call = _called(world)
    due_at = world.lead().flight.due_at  # type: ignore[union-attr]  # it is being called
    world.ask(LeadDeleteRequested(company_id=1, contact_key=KEY, lead_id=call.lead_id or 0))
    world.wait((due_at - world.now) // SECOND - 1)
    assert world.call(call.id).ended_at is None
    world.wait(2)
    lost = world.call(call.id)
    assert (lost.outcome, lost.sub_status, lost.ended_at) == ("unknown", "timed_out", due_at)
    world.outcome("connected_human", cost=0.02, call_id=call.id)
    assert (world.call(call.id).outcome, world.call(call.id).cost) == ("connected_human", Decimal("0.02"))


def test_what_a_call_cost_is_reported_also_where_it_and_its_lead_were_deleted_meanwhile(world: World) -> None:
    call = _called(world)
    world.ask(CallDeleteRequested(company_id=1, contact_key=KEY, call_id=call.id))
    world.ask(LeadDeleteRequested(company_id=1, contact_key=KEY, lead_id=call.lead_id or 0))
    world.outcome("connected_human", cost=0.02, call_id=call.id)
    (reported,) = [fact for fact in world.facts if fact.type == "outcome.recorded"]
    assert (reported.lead_id, reported.call_id, reported.data["cost"]) == (None, call.id, Decimal("0.02"))


def test_a_person_lists_a_bounded_number_of_calls(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.contact.facts.call_record.CALLS_LISTED_MAX", 2)
    world.schedule(*({"id": f"call-{place}", "kind": "call"} for place in range(4)), LATE, version=2)
    _called(world)
    for _ in range(3):
        world.outcome("no_answer")
        world.wait(60)
    assert len(world.head().call_ids) == 2


# -- what is shown -----------------------------------------------------------------------------------------------------


def test_the_number_of_a_person_is_theirs_for_ever_and_below_two_to_the_53(world: World) -> None:
    call = _called(world)
    first = _row(call)["contact_id"]
    assert first == _row(msgspec.structs.replace(call, id=2, lead_id=None))["contact_id"]
    assert 0 < first < 2**53
    assert first != _row(msgspec.structs.replace(call, contact_key="2|" + NUMBER))["contact_id"]


def test_the_tokens_of_a_call_stay_bounded(world: World) -> None:
    call = _called(world)
    for step in range(5):
        _change(world, call, data={f"token-{step}-{place}": 1 for place in range(200)})
    more = {"one more": 1}
    pressed = CallKeysRequested(company_id=1, contact_key=KEY, call_id=call.id, digits="1", data=more)
    for ask, field in ((lambda: _change(world, call, data=more), "data"), (lambda: world.ask(pressed), "post_call_tokens")):
        with pytest.raises(RefusedError) as refused:
            ask()
        assert (refused.value.code, list(refused.value.errors)) == ("too_large", [field])
    assert len(_change(world, call, data={"token-0-0": None, "one more": 1}).token_values) == 1000


TALK = {"id": "call", "kind": "call", "retry": {}}
BYE = {"id": "bye", "kind": "email", "subject": "Bye", "template": "x"}
JUDGED = {"call_disposition_id": 10, "agent_call_disposition_notes": "asked for a quote"}


def _completed(world: World, outcome: str = "connected_human", **schedule: Any) -> Call:
    """Return the call of a lead that was called at its last step, and has ended as completed."""
    world.schedule(TALK, end_steps=[BYE], version=2, **schedule)
    world.submit(email="ann@example.com")
    world.outcome(outcome)
    call = world.call(world.lead().attempted_call_id)
    world.outcome("delivered")
    assert (world.lead().status, world.steps()) == ("completed_connected", ["call", "bye"])
    return call


def test_call_me_tomorrow_after_the_last_step_is_promised_and_kept(world: World) -> None:
    call = _completed(world)
    tomorrow = world.now + DAY
    _change(world, call, callback_at=tomorrow, **JUDGED)
    lead = world.lead()
    assert (lead.status, lead.status_wait, lead.next_action_at) == ("waiting", "callback_pending", tomorrow)
    assert (lead.callback_at, lead.disposition) == (tomorrow, "SOLD")
    assert world.call(call.id).agent_call_disposition_notes == "asked for a quote"
    world.wait_until(tomorrow)
    assert world.steps() == ["call", "bye", "(callback)"]
    world.outcome("connected_human")
    assert (world.lead().status, world.lead().callback_at) == ("completed_connected", None)
    assert world.steps() == ["call", "bye", "(callback)"], "the end steps have run"

    second = world.call(world.lead().attempted_call_id)
    _change(world, second, callback_at=world.now + DAY, **JUDGED)
    assert world.lead().callback_at == world.now + DAY, "the same after a kept callback"


def test_a_revived_lead_whose_callback_is_cancelled_ends_again(world: World) -> None:
    call = _completed(world)
    _change(world, call, callback_at=world.now + DAY, **JUDGED)
    world.update(schedule_callback_at=None)
    assert (world.lead().status, world.steps()) == ("completed_connected", ["call", "bye"])


def test_a_revived_lead_that_is_restarted_runs_its_schedule_with_the_end_steps(world: World) -> None:
    call = _completed(world)
    _change(world, call, callback_at=world.now + DAY, **JUDGED)
    world.update(schedule_callback_at=None, move_to_another_schedule_id=1)
    world.wait(60)
    world.outcome("connected_human")
    world.outcome("delivered")
    assert world.steps() == ["call", "bye", "call", "bye"]


@pytest.mark.parametrize("stopped", ["opt_out", "blocked"])
def test_who_stopped_is_not_called_back_and_what_was_noted_is_stored(world: World, stopped: str) -> None:
    call = _completed(world)
    world.update(world.lead(), opt_out=stopped == "opt_out" or UNSET, blocked=stopped == "blocked" or UNSET)
    _change(world, call, callback_at=world.now + DAY, **JUDGED)
    lead, stored = world.lead(), world.call(call.id)
    assert (lead.callback_at, lead.status) == (None, stopped)
    assert (stored.call_disposition_id, stored.agent_call_disposition_notes) == (10, "asked for a quote")
    assert world.answer is not None
    assert (world.answer.status, world.answer.code) == (200, None)
    assert (world.answer.detail or "").startswith("No callback is made. The lead has ended")
    world.wait_until(world.now + 2 * DAY)
    assert world.steps() == ["call", "bye"]
