"""Does a hold stop every contact, and does its release let exactly that go on?"""

from typing import Any

import pytest

from engine.contact.requests.settling import GATE_DROPS_MAX, RETURNED_MAX
from engine.partition.draft import RefusedError
from schemas.commands import HangUp, PlaceCall
from schemas.contact import LIVE_STATUSES, Replan
from schemas.instant import DAY, HOUR, MINUTE
from schemas.records import EVERY_COMPANY, Company, ContactHold, OutgoingWebhook
from schemas.requests import CallProgressed, CallStartRequested, RulesPlace
from tests.engine.contact.world import KEY, NOON, NUMBER, World

CALL = {"id": "call", "kind": "call"}
TEXT = {"id": "text", "kind": "sms", "template": "Hi"}
MAIL = {"id": "mail", "kind": "email", "subject": "S", "template": "B"}
HOOK = {"id": "hook", "kind": "webhook", "outgoing_webhook_id": 3}
REST = {"id": "rest", "kind": "wait", "duration": "2h"}
STEPS: dict[str, dict[str, Any]] = {"call": CALL, "sms": TEXT, "email": MAIL, "webhook": HOOK}


@pytest.fixture
def world() -> World:
    made = World()
    made.add("outgoing_webhook", 3, OutgoingWebhook(name="crm", url="https://example.com"))
    return made


def hold(world: World, record_id: int = 50, *, company_id: int = 1, **fields: Any) -> None:
    """Adopt a hold of a company, or of all."""
    world.company_id = company_id
    world.add("contact_hold", record_id, ContactHold(reason="wrong prices", **fields))
    world.company_id = 1


def release(world: World, record_id: int = 50, *, company_id: int = 1, **fields: Any) -> None:
    """Adopt the release of a hold, and let its sweep run."""
    world.company_id = company_id
    world.add("contact_hold", record_id, ContactHold(reason="wrong prices", **fields), version=2, deleted=True)
    world.company_id = 1
    world.wait(1)


def submit(world: World, *steps: dict[str, Any], **fields: Any) -> None:
    world.schedule(*(steps or (CALL, REST, TEXT)), **fields)
    world.submit(email="ann@example.com")


# -- what waits ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("company_id", [1, EVERY_COMPANY])
@pytest.mark.parametrize(
    ("channels", "held"),
    [
        ((), {"call", "sms", "email"}),
        (("sms",), {"sms"}),
        (("call", "email"), {"call", "email"}),
        (("webhook",), {"webhook"}),
    ],
)
def test_a_hold_covers_its_channels_and_without_any_all_that_reach_a_person(
    company_id: int, channels: Any, held: set[str]
) -> None:
    for kind, step in STEPS.items():
        world = World()
        world.add("outgoing_webhook", 3, OutgoingWebhook(name="crm", url="https://example.com"))
        hold(world, company_id=company_id, channels=channels)
        submit(world, step, REST)
        lead = world.lead()
        assert (lead.status_wait == "on_hold", world.commands == []) == (kind in held, kind in held), kind
        if kind in held:
            assert (lead.recheck_at, lead.attempts) == (None, 0)


def test_a_hold_of_another_company_holds_nobody_else(world: World) -> None:
    hold(world, company_id=2)
    submit(world)
    assert world.steps() == ["call"]


def test_steps_that_reach_nobody_go_on(world: World) -> None:
    hold(world)
    submit(world, {"id": "tag", "kind": "tag", "add": ["seen"]}, HOOK, CALL)
    assert world.steps() == ["hook"]
    world.outcome("accepted")
    assert (world.lead().step, world.lead().status_wait) == ("call", "on_hold")


def test_a_call_by_hand_is_refused_with_the_reason_and_a_callback_waits(world: World) -> None:
    submit(world, {"id": "first", "kind": "wait", "duration": "2d"}, TEXT)
    hold(world)
    with pytest.raises(RefusedError, match="wrong prices") as refused:
        world.ask(CallStartRequested(company_id=1, contact_key=KEY, lead_id=world.lead().id, caller_id=NUMBER))
    assert refused.value.code == "on_hold"
    world.update(schedule_callback_at=world.now + HOUR)
    world.wait(2 * 3600)
    assert (world.commands, world.lead().status_wait) == ([], "on_hold")
    release(world)
    assert world.steps() == ["(callback)"]


# -- what gateways return --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["call", "sms", "email"])
def test_a_returned_command_counts_nothing_and_is_planned_under_another_id_once_released(world: World, kind: str) -> None:
    submit(world, {**STEPS[kind], "on_late": "skip", "max_lateness": "5m"}, REST)
    hold(world)
    world.outcome("held", hold=RulesPlace(0, world.rules.positions[0]))
    world.wait(40)  # a call is followed by none for half a minute
    lead = world.lead()
    counts = (lead.attempts, lead.outbound_calls_count, lead.sms_count, lead.emails_count, len(world.head().ledger))
    assert (lead.status_wait, counts, lead.retries) == ("on_hold", (0,) * 5, {})

    world.wait(3 * 3600)
    release(world)

    assert world.steps() == [STEPS[kind]["id"]] * 2, "three hours on hold are no lateness"
    assert len({command.command_id for command in world.commands}) == 2


def test_a_partition_that_has_not_adopted_the_hold_yet_looks_again_and_orders_nothing(world: World) -> None:
    submit(world)
    place = RulesPlace(0, world.rules.positions[0] + 1)
    world.outcome("held", hold=place)
    assert (len(world.commands), world.lead().recheck_at) == (1, world.now + 1000)
    hold(world)
    world.wait(40)
    assert (len(world.commands), world.lead().status_wait) == (1, "on_hold")
    release(world)
    assert world.steps() == ["call", "call"]


@pytest.mark.parametrize("ahead", [None, 1_000])
@pytest.mark.parametrize("kind", ["call", "sms"])
def test_a_gateway_that_returns_everything_for_a_hold_that_is_nowhere_neither_spins_a_lead_nor_keeps_it(
    world: World, kind: str, ahead: int | None
) -> None:
    submit(world, STEPS[kind])
    place = None if ahead is None else RulesPlace(0, world.rules.positions[0] + ahead)
    for _ in range(10 * RETURNED_MAX):
        if world.lead().status not in LIVE_STATUSES:
            break
        if world.lead().flight is not None:
            world.outcome("held", hold=place)
        else:
            world.wait_until(max(world.now, world.lead().wake_at or world.now))
    assert world.lead().status == "completed"
    assert RETURNED_MAX < len(world.commands) <= RETURNED_MAX + GATE_DROPS_MAX + 1


def test_a_callback_that_is_returned_for_ever_is_given_up(world: World) -> None:
    submit(world, {"id": "first", "kind": "wait", "duration": "9d"}, TEXT)
    world.update(schedule_callback_at=world.now + HOUR)
    world.wait(3600)
    while world.lead().flight is not None:
        world.outcome("held")
        world.wait_until(min(world.lead().wake_at or world.now, world.now + DAY))
    assert (world.now - NOON < 4 * DAY, 20 < len(world.commands) < 100) == (True, True), len(world.commands)


def test_a_callback_that_was_returned_waits_for_the_release_however_long_that_takes(world: World) -> None:
    submit(world, {"id": "first", "kind": "wait", "duration": "9d"}, TEXT)
    world.update(schedule_callback_at=world.now + HOUR)
    world.wait(3600)
    hold(world)
    world.outcome("held", hold=RulesPlace(0, world.rules.positions[0]))
    world.wait_until(NOON + 3 * DAY + 2 * HOUR)
    assert world.steps() == ["(callback)"]
    release(world)
    assert world.steps() == ["(callback)", "(callback)"]


# -- release ---------------------------------------------------------------------------------------------------------------


def test_holds_stack_and_a_release_lifts_one_and_no_pause(world: World) -> None:
    submit(world, {"id": "first", "kind": "wait", "duration": "1h"}, CALL)
    hold(world, 50)
    hold(world, 51, company_id=EVERY_COMPANY)
    world.add("company", 1, Company(name="Sunny", paused=True), version=2)
    world.wait(3600)
    assert world.lead().status_wait == "company_paused"
    release(world, 50)
    world.add("company", 1, Company(name="Sunny"), version=3)
    world.wait(1)
    assert (world.commands, world.lead().status_wait) == ([], "on_hold")
    release(world, 51, company_id=EVERY_COMPANY)
    assert world.steps() == ["call"]


def test_a_release_of_all_wakes_the_leads_of_every_company(world: World) -> None:
    hold(world, company_id=EVERY_COMPANY)
    submit(world)
    release(world, company_id=EVERY_COMPANY)
    assert world.steps() == ["call"]
    assert not [key for key, _ in world.state.items() if key.startswith("replan/")]


def test_expiry_holds_as_ever(world: World) -> None:
    hold(world)
    submit(world, hours_to_expire=1)
    world.wait(3600)
    assert world.lead().status == "expired"


# -- calls under way -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("hang_up", [True, False])
def test_a_call_under_way_goes_on_unless_the_hold_ends_it(world: World, hang_up: bool) -> None:
    submit(world)
    command = world.commands[0]
    assert isinstance(command, PlaceCall)
    about: dict[str, Any] = {"company_id": 1, "contact_key": KEY, "lead_id": command.lead_id, "call_id": command.call_id}
    world.ask(CallProgressed(**about, command_id=command.command_id, state="established", occurred_at=world.now))
    hold(world, hang_up=hang_up)
    world.wait(1)
    ended = [one.call_command_id for one in world.commands if isinstance(one, HangUp)]
    assert ended == ([command.command_id] if hang_up else [])
    world.outcome("connected_human", command)
    world.wait(2 * 3600 + 60)
    assert world.lead().status_wait == "on_hold"


def test_a_sweep_of_hang_ups_says_so(world: World) -> None:
    world.company_id = EVERY_COMPANY
    world.add("contact_hold", 50, ContactHold(reason="r", hang_up=True))
    (sweep,) = [world.state.get(key, Replan) for key, _ in world.state.items() if key.startswith("replan/")]
    assert sweep is not None
    assert (sweep.hangs_up, sweep.company_id, sweep.due_at) == (True, None, world.now)
    assert world.now + MINUTE > sweep.due_at
