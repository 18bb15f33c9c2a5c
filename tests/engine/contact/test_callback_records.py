"""Does the record of a callback say whether it was made on time, late or never, and stay as the lead goes on?"""

from collections.abc import Callable
from typing import Any

import pytest

from schemas.commands import PlaceCall
from schemas.contact import CallbackOwner
from schemas.instant import DAY, HOUR, MINUTE
from schemas.records import Buyer
from schemas.requests import LeadDeleteRequested
from tests.engine.contact.test_inbound import hang_up, ring
from tests.engine.contact.test_inbound_routing import rings, routed
from tests.engine.contact.test_ledger import progress
from tests.engine.contact.world import KEY, NOON, World

ONE = NOON + HOUR
"""When the call is promised for."""

CALL = {"id": "call", "kind": "call"}
REST = {"id": "rest", "kind": "wait", "duration": "5d"}

AWAY = CallbackOwner(buyer_id=1, grace_minutes=0)
"""An owner who never comes, and whom nobody follows."""


def promised(owner: CallbackOwner | None = None, **fields: Any) -> World:
    world = World()
    world.add("buyer", 1, Buyer(name="Ada", number="+13055550171", paused=True))
    world.schedule(REST, CALL)
    world.submit(**fields)
    world.update(schedule_callback_at=ONE, callback_owner=owner)
    return world


def records(world: World) -> dict[int, dict[str, Any]]:
    """Return the newest record of each callback: the one of the highest revision."""
    found: dict[int, dict[str, Any]] = {}
    for fact in world.facts:
        if fact.type == "callback.recorded":
            known = found.get(fact.data["callback_id"])
            assert known is None or fact.data["revision"] > known["revision"], "revisions rise"
            found[fact.data["callback_id"]] = {**fact.data, "call_id": fact.call_id}
    return found


def said(world: World) -> list[tuple[str, str | None]]:
    """Return the state of each callback, and why it ended without a call."""
    return [(record["state"], record.get("reason")) for record in records(world).values()]


def at_one(do: Callable[[World], None]) -> Callable[[World], None]:
    """Return what happens to the call that is placed at one o'clock."""

    def happens(world: World) -> None:
        world.wait_until(ONE)
        do(world)

    return happens


def overdue(do: Callable[[World], None]) -> Callable[[World], None]:
    """Return what happens six minutes after one o'clock, with no call placed."""

    def happens(world: World) -> None:
        world.wait_until(ONE + 6 * MINUTE)
        assert world.commands == []
        do(world)

    return happens


def opts_out(world: World) -> None:
    world.act("opt_out")


def cancels(world: World) -> None:
    world.update(schedule_callback_at=None)


def replaces(world: World) -> None:
    world.update(schedule_callback_at=world.now + DAY)


def moves(world: World) -> None:
    world.update(schedule_callback_at=world.now + DAY, scheduled_callback_id=world.lead().scheduled_callback_id)


def leaves(world: World) -> None:
    world.update(schedule_stop=True)


def deletes(world: World) -> None:
    world.ask(LeadDeleteRequested(company_id=1, contact_key=KEY, lead_id=world.lead().id))


PENDING = ("pending", None)

WITHOUT_A_CALL: dict[str, tuple[Callable[[World], None], str, list[tuple[str, str | None]]]] = {
    "the person opts out": (opts_out, "opt_out", []),
    "somebody cancels it": (cancels, "requested", []),
    "another one replaces it": (replaces, "replaced", [PENDING]),
    "the lead is removed": (leaves, "removed", []),
    "the lead is deleted": (deletes, "deleted", []),
}
"""What ends a callback for which no call was placed -> what does it, the reason, and the callbacks after it."""


@pytest.mark.parametrize("name", WITHOUT_A_CALL)
def test_a_callback_that_ends_before_its_time_is_cancelled(name: str) -> None:
    do, reason, after = WITHOUT_A_CALL[name]
    world = promised(AWAY)
    world.wait_until(ONE - MINUTE)
    do(world)

    assert said(world) == [("cancelled", reason), *after]


@pytest.mark.parametrize("name", WITHOUT_A_CALL)
def test_a_callback_that_ends_after_its_time_without_a_call_is_missed(name: str) -> None:
    do, reason, after = WITHOUT_A_CALL[name]
    world = promised(AWAY)
    overdue(do)(world)

    assert said(world) == [("missed", reason), *after]


def test_a_callback_for_which_nobody_comes_in_a_week_is_given_up_as_missed() -> None:
    world = promised(AWAY, hours_to_expire=2)
    world.wait_until(ONE + 7 * DAY - HOUR)
    assert said(world) == [PENDING]

    world.wait_until(ONE + 7 * DAY + HOUR)

    assert said(world) == [("missed", "nobody_came")]
    assert (world.lead().status, world.lead().callback_at, world.commands) == ("expired", None, [])


def test_a_callback_that_is_moved_in_time_is_the_same_one() -> None:
    world = promised(AWAY)
    world.wait_until(ONE - MINUTE)
    moves(world)

    (record,) = records(world).values()
    assert (record["state"], record["promised_at"]) == ("pending", ONE - MINUTE + DAY)


def test_a_callback_that_is_moved_too_late_is_missed_and_promised_again() -> None:
    world = promised(AWAY)
    overdue(moves)(world)

    assert said(world) == [("missed", "replaced"), PENDING]
    assert world.lead().scheduled_callback_id == list(records(world))[1]


@pytest.mark.parametrize(
    ("outcome", "is_reached"),
    [
        ("connected_human", True),
        ("connected_buyer", True),
        ("caller_hung_up", True),
        ("no_answer", False),
        ("busy", False),
        ("voicemail", False),
        ("abandoned_by_us", False),
        ("unknown", False),
    ],
)
def test_a_call_that_rang_at_its_time_keeps_the_promise(outcome: str, is_reached: bool) -> None:
    world = promised()
    world.wait_until(ONE)
    call_id = world.lead().attempted_call_id
    world.outcome(outcome)

    (record,) = records(world).values()
    assert (record["state"], record["late_seconds"], record["is_reached"]) == ("kept", 0, is_reached)
    assert (record["call_id"], record["called_at"]) == (call_id, ONE)


@pytest.mark.parametrize("outcome", ["rejected_at_gate", "expired", "congestion"])
def test_a_call_that_no_gate_let_through_keeps_no_promise(outcome: str) -> None:
    world = promised()
    world.wait_until(ONE)
    world.outcome(outcome)
    assert said(world) == [PENDING]

    world.wait(HOUR // 1000)
    world.outcome("connected_human")

    (record,) = records(world).values()
    assert (record["state"] == "kept") == (record["late_seconds"] <= 300)
    assert record["call_id"] == world.lead().connected_call_id


def test_a_promise_that_no_gate_lets_through_for_two_days_is_missed() -> None:
    world = promised()
    world.wait_until(ONE)
    for _ in range(200):
        if world.lead().flight is not None:
            world.outcome("rejected_at_gate")
        world.wait(HOUR // 1000)

    assert said(world) == [("missed", "given_up")]


def test_a_call_that_rings_when_the_person_opts_out_is_no_kept_promise() -> None:
    world = promised()
    world.wait_until(ONE)
    opts_out(world)
    world.outcome("canceled")

    assert said(world) == [("cancelled", "opt_out")]


def test_a_further_try_says_who_was_reached_and_not_when_the_promise_was_kept() -> None:
    world = promised()
    world.wait_until(ONE)
    first = world.lead().attempted_call_id
    world.outcome("no_answer")
    world.wait(5 * HOUR // 1000)
    world.outcome("connected_human")

    (record,) = records(world).values()
    assert (record["state"], record["call_id"], record["late_seconds"]) == ("kept", first, 0)
    assert record["is_reached"]


def test_a_call_that_is_known_later_not_to_have_been_placed_keeps_no_promise() -> None:
    world = promised()
    world.wait_until(ONE)
    (order,) = world.commands
    world.outcome("unknown")
    assert said(world) == [("kept", None)]

    world.outcome("rejected_at_gate", order)

    assert said(world) == [PENDING]
    assert world.lead().callback_at is not None


def test_what_is_promised_during_the_call_is_another_callback() -> None:
    world = promised()
    world.wait_until(ONE)
    world.update(schedule_callback_at=ONE + DAY)
    world.outcome("connected_human")

    assert said(world) == [("kept", None), PENDING]
    world.wait_until(ONE + DAY)
    world.outcome("no_answer")
    assert said(world) == [("kept", None), ("kept", None)]


def test_a_call_that_was_not_placed_after_its_callback_was_replaced_is_missed_or_cancelled() -> None:
    world = promised()
    world.wait_until(ONE)
    world.update(schedule_callback_at=ONE + DAY)
    world.outcome("rejected_at_gate")

    assert said(world) == [("cancelled", "replaced"), PENDING]


def test_a_lead_that_is_deleted_while_its_promised_call_rings_leaves_a_kept_promise() -> None:
    world = promised()
    world.wait_until(ONE)
    deletes(world)

    assert said(world) == [("kept", None)]


CORRECTED = "+13055550177"


@pytest.mark.parametrize(
    ("outcome", "is_answered", "again", "is_reached"),
    [("canceled", False, True, False), ("connected_human", False, False, True), ("connected_human", True, False, False)],
    ids=["ends while it rings", "is answered before it ends", "was answered before"],
)
def test_a_number_that_is_corrected_during_the_callback_is_called_once_at_one_of_both(
    outcome: str,
    is_answered: bool,
    again: bool,
    is_reached: bool,
) -> None:
    world = promised()
    world.wait_until(ONE)
    (order,) = world.commands
    assert isinstance(order, PlaceCall)
    if is_answered:
        progress(world, order, "established")
    world.update(caller_id=CORRECTED)
    world.wait(60)
    world.outcome(outcome, order, call_id=order.call_id)
    world.wait(60)

    made = [command for command in world.commands if isinstance(command, PlaceCall)]
    assert [command.to for command in made[1:]] == ([CORRECTED] if again else [])
    (record,) = records(world).values()
    assert (record["state"], record["is_reached"]) == ("pending" if again else "kept", is_reached)
    if again:
        world.outcome("connected_human")
        (record,) = records(world).values()
        assert (record["state"], record["is_reached"], record["late_seconds"]) == ("kept", True, 60)


@pytest.mark.parametrize("minutes", [30, 90])
def test_a_person_who_called_us_was_called_back(minutes: int) -> None:
    world = promised(AWAY)
    world.wait_until(NOON + minutes * MINUTE)
    ring(world)
    hang_up(world, connected=True)

    (record,) = records(world).values()
    assert (record["state"], record["is_reached"]) == ("kept" if minutes == 30 else "late", True)


def test_a_callback_that_comes_back_with_its_lead_is_pending_again() -> None:
    world = promised()
    opts_out(world)
    assert said(world) == [("cancelled", "opt_out")]

    world.update(opt_out=False, resume_on_unblock=True)

    assert said(world) == [PENDING]
    world.wait_until(ONE)
    world.outcome("connected_human")
    assert said(world) == [("kept", None)]


def test_the_hours_of_the_law_make_a_callback_late() -> None:
    world = promised()
    world.update(schedule_callback_at=NOON + 10 * HOUR)
    world.wait_until(NOON + 20 * HOUR)
    world.outcome("connected_human")

    assert said(world) == [("cancelled", "replaced"), ("late", None)]
    assert list(records(world).values())[-1]["late_seconds"] == 10 * 3600


# -- who promised it ---------------------------------------------------------------------------------------------------


def by_key(world: World) -> None:
    world.submit(schedule_callback_at=ONE)


def by_form(world: World) -> None:
    world.submit(schedule_callback_at=ONE, with_key=False)


def by_step(world: World) -> None:
    world.schedule({"id": "promise", "kind": "schedule_callback", "in": "1h"}, REST, version=2)
    world.submit()


def by_update(world: World) -> None:
    world.submit()
    world.update(schedule_callback_at=ONE)


@pytest.mark.parametrize(("do", "by"), [(by_key, "api"), (by_form, "form"), (by_step, "schedule"), (by_update, "api")])
def test_the_record_says_who_promised_the_call(do: Callable[[World], None], by: str) -> None:
    world = World()
    world.schedule(REST, CALL)
    do(world)

    (record,) = records(world).values()
    assert (record["promised_by"], record["promised_at"]) == (by, ONE)
    assert "promised_agent_id" not in record


def test_a_caller_for_whom_nobody_was_free_was_promised_a_call() -> None:
    world = routed(buyer={"paused": True}, no_buyer_action="callback")
    world.submit(offer_id=1)
    rings(world)

    (record,) = records(world).values()
    assert (record["promised_by"], record["owner"]["buyer_group_id"]) == ("caller", 7)
