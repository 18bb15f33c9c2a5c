"""Does an opt-out, a block or a removal stop everything, at once and for good?"""

from typing import Any

import pytest

from engine.limits import RECORD_BYTES_MAX
from engine.partition.draft import RefusedError
from schemas.commands import HangUp, PostWebhook
from schemas.contact import Lead
from schemas.envelope import Envelope
from schemas.instant import EPOCH
from schemas.records import OutgoingWebhook
from schemas.requests import CallerActed, LeadDeleteRequested
from schemas.wire import to_json
from tests.engine.contact.world import KEY, World

CALL = {"id": "call", "kind": "call"}
TEXT = {"id": "text", "kind": "sms", "template": "Hi"}
REST = {"id": "rest", "kind": "wait", "duration": "1h"}
HOOK = {"id": "hook", "kind": "webhook", "outgoing_webhook_id": 3}


@pytest.fixture
def world() -> World:
    made = World()
    made.add("outgoing_webhook", 3, OutgoingWebhook(name="crm", url="https://example.com"))
    made.schedule(REST, CALL, end_steps=[{**TEXT, "id": "bye"}, HOOK])
    made.schedule(CALL, REST, TEXT, record_id=2)
    return made


def opt_out_by_caller(world: World) -> None:
    world.act("opt_out")


def opt_out_by_update(world: World) -> None:
    world.update(world.lead(world.lead_ids()[0]), opt_out=True)


def opt_out_by_outcome(world: World) -> None:
    world.outcome("opted_out")


@pytest.mark.parametrize("opt_out", [opt_out_by_caller, opt_out_by_update])
def test_a_lead_that_ended_by_an_opt_out_reads_the_next_one_as_well(world: World, opt_out: Any) -> None:
    world.submit()
    opt_out(world)
    lifted = world.update(opt_out=False)
    assert (lifted.status, lifted.opt_out) == ("opt_out", False)
    opt_out(world)
    assert (world.lead().opt_out, world.head().opted_out_at) == (True, world.now)


def test_a_new_lead_of_somebody_who_opted_out_and_is_blocked_reads_both(world: World) -> None:
    world.update(world.submit(), opt_out=True, blocked=True)
    lead = world.submit()
    assert (lead.status, lead.opt_out, lead.blocked) == ("opt_out", True, True)
    assert world.update(lead, opt_out=False).blocked
    assert not world.update(lead, blocked=False).blocked


@pytest.mark.parametrize("opt_out", [opt_out_by_caller, opt_out_by_update, opt_out_by_outcome])
def test_an_opt_out_ends_every_lead_of_the_person_and_fences_what_was_ordered(world: World, opt_out: Any) -> None:
    world.submit()
    world.submit(schedule_id=2)
    opt_out(world)
    assert [(world.lead(one).status, world.lead(one).opt_out) for one in world.lead_ids()] == [("opt_out", True)] * 2
    assert world.head().opted_out_at == world.now
    assert [(fence.reason, fence.lead_ids) for fence in world.fences] == [("opt_out", ())] * 4
    world.wait(30 * 86400)
    assert [command.step_id for command in world.commands if not isinstance(command, PostWebhook | HangUp)] == ["call"]


def test_the_webhooks_of_the_end_are_posted_on_an_opt_out_and_nobody_is_contacted(world: World) -> None:
    world.submit()
    world.act("opt_out")
    assert world.steps() == ["hook"]


def test_an_opt_out_of_many_leads_is_true_at_once_and_written_in_parts() -> None:
    world = World()
    world.schedule(REST, CALL, duplicate_policy="create")
    for _ in range(200):
        world.submit()
    world.act("opt_out")
    opted = [world.lead(lead_id).status == "opt_out" for lead_id in world.lead_ids()]
    assert 100 <= sum(opted) <= 101
    world.wait(1)
    assert {world.lead(lead_id).status for lead_id in world.lead_ids()} == {"opt_out"}
    assert (world.head().sweep_at, world.head().sweep_from, world.commands) == (None, 0, [])


def test_an_opt_out_of_leads_with_much_data_still_fits_into_one_record() -> None:
    world = World()
    world.schedule(REST, CALL, duplicate_policy="create")
    for _ in range(30):
        world.submit(data={"essay": "x" * 60_000})
    draft = world._draft()
    asked = CallerActed(company_id=1, contact_key=KEY, schedule_id=1, action="opt_out")
    world.aggregate.decide(draft, asked, Envelope(id="r", type="caller.acted", source="/test"))
    assert sum(len(to_json(entity)) for entity in draft.changed.values()) < RECORD_BYTES_MAX // 2
    world.act("opt_out")
    world.wait(1)
    assert {world.lead(lead_id).status for lead_id in world.lead_ids()} == {"opt_out"}


def test_a_due_lead_is_stopped_though_its_row_was_not_written_yet() -> None:
    world = World()
    world.schedule(REST, CALL, duplicate_policy="create")
    for _ in range(200):
        world.submit()
    world.act("opt_out")
    world.now += 3_600_000
    late = next(lead_id for lead_id in world.lead_ids() if world.lead(lead_id).status != "opt_out")
    draft = world._draft()
    world.aggregate.wake(draft, f"lead/{late}", EPOCH)
    stopped = draft.changed[f"lead/{late}"]
    assert isinstance(stopped, Lead)
    assert (stopped.status, draft.commands) == ("opt_out", [])


def test_opting_in_resumes_nothing_and_lets_new_submissions_through(world: World) -> None:
    world.submit()
    world.act("opt_out")
    lead = world.update(opt_out=False)
    assert (lead.status, lead.opt_out, world.head().opted_out_at) == ("opt_out", False, None)
    world.wait(86400)
    assert world.steps() == ["hook"]
    assert world.submit().status == "scheduled"


def test_an_outcome_after_an_opt_out_is_recorded_and_moves_nothing(world: World) -> None:
    world.submit(schedule_id=2)
    world.act("opt_out", schedule_id=2)
    world.outcome("connected_human", world.commands[0])  # E20
    lead = world.lead()
    assert (lead.status, lead.connected, lead.flight) == ("opt_out", True, None)
    world.wait(30 * 86400)
    assert world.steps() == ["call"]


def test_a_block_stops_like_an_opt_out(world: World) -> None:
    world.submit()
    lead = world.update(blocked=True)
    assert (lead.status, lead.blocked, world.head().blocked_at) == ("blocked", True, world.now)
    lifted = world.update(blocked=False)
    assert (lifted.status, lifted.blocked, world.head().blocked_at) == ("blocked", False, None)


def test_who_opted_out_can_be_blocked_as_well_and_reads_both(world: World) -> None:
    world.submit()
    world.act("opt_out")
    lead = world.update(blocked=True)
    assert (lead.status, lead.opt_out, lead.blocked) == ("opt_out", True, True)
    lead = world.update(opt_out=False)
    assert (lead.opt_out, lead.blocked) == (False, True)


def test_a_removed_lead_does_nothing_more_not_even_its_end_steps(world: World) -> None:
    world.submit()
    world.act("remove")
    world.act("remove")
    assert world.answer is not None
    assert (world.answer.status, world.lead().status) == (200, "removed")
    world.wait(86400)
    assert (world.commands, len(world.fences)) == ([], 4)
    assert world.fences[0].lead_ids == (world.lead().id,)


def test_moving_to_the_end_runs_the_end_steps(world: World) -> None:
    world.submit()
    world.act("move_to_end")
    assert world.steps() == ["bye"]
    world.outcome("delivered")
    world.outcome("accepted")
    assert world.lead().status == "completed_attempted"
    with pytest.raises(RefusedError) as refused:
        world.act("move_to_end")
    assert refused.value.code == "lead_not_live"


def test_moving_to_the_end_waits_for_the_call_that_is_on_its_way(world: World) -> None:
    world.schedule(CALL, REST, TEXT, end_steps=[HOOK], version=2)
    world.submit()
    world.act("move_to_end")
    assert (world.steps(), world.lead().status) == (["call"], "running")
    world.outcome("connected_human")
    assert world.steps() == ["call", "hook"]


@pytest.mark.parametrize("action", ["remove", "move_to_end"])
def test_an_action_for_nobody_finds_nobody(world: World, action: str) -> None:
    world.submit()
    with pytest.raises(RefusedError) as refused:
        world.act(action, schedule_id=2)
    assert refused.value.code == "not_found"


def test_an_action_takes_the_newest_live_lead_and_an_offer_stands_for_its_schedules(world: World) -> None:
    first = world.submit()
    second = world.submit(schedule_id=2)
    world.act("remove", schedule_id=None, offer_id=1)
    assert (world.lead(first.id).status, world.lead(second.id).status) == ("scheduled", "removed")
    world.act("remove", schedule_id=None, offer_id=1, update_all_matching_leads=True)
    assert world.lead(first.id).status == "removed"


def test_a_deleted_lead_is_gone_and_the_ledger_of_its_number_stays(world: World) -> None:
    lead = world.submit(schedule_id=2)
    world.ask(LeadDeleteRequested(company_id=1, contact_key=KEY, lead_id=lead.id))
    assert world.lead_ids() == []
    assert (len(world.head().ledger), world.head().lead_ids) == (1, ())
    assert world.fences[0].lead_ids == (lead.id,)
    with pytest.raises(RefusedError):
        world.ask(LeadDeleteRequested(company_id=1, contact_key=KEY, lead_id=lead.id))
    world.outcome("no_answer", world.commands[0])
    assert world.call(lead.attempted_call_id).lead_id == lead.id
