"""Which blocks does an unblock contact job lift? All of its company in its span, once, and nothing else."""

import pytest

from engine.contact.facts.person import LEADS_AT_ONCE_MAX, Person
from engine.contact.lifecycle import stop
from engine.contact.lifecycle.unblocking import CONTACTS_SCANNED_MAX
from engine.partition.state import State
from schemas.contact import Head, UnblockSweep
from schemas.instant import EPOCH, HOUR, MINUTE, Instant
from schemas.records import UnblockContactJob
from schemas.requests import LeadSubmitted, UnblockSweepEnded
from schemas.state import head_key, unblock_key
from schemas.wire import from_builtins, from_json, to_pack
from tests.engine.contact.world import NEW_YORK, NOON, World

CALL = {"id": "call", "kind": "call"}
ALL = UnblockContactJob(confirm_all=True)
JOB = 7


def number(place: int) -> str:
    return f"+1305555{place:04d}"


def blocked_world(*moments: Instant) -> World:
    """Return a world with a lead of a contact that was blocked at each moment."""
    world = World(now=min(moments))
    world.schedule(CALL)
    for place, moment in enumerate(moments):
        world.wait_until(moment)
        submit(world, place, blocked=True)
    return world


def submit(world: World, place: int, **fields: bool) -> None:
    caller_id = number(place)
    given = {
        "company_id": 1,
        "contact_key": f"1|{caller_id}",
        "caller_id": caller_id,
        "zones": (NEW_YORK,),
        "with_key": True,
    }
    world.ask(from_builtins({**given, "schedule_id": 1, **fields}, LeadSubmitted))


def start(world: World, body: UnblockContactJob = ALL) -> None:
    """Let the partition adopt the job, made now."""
    world.add("unblock_contact_job", JOB, body, made_at=world.now)


def blocked(world: World) -> list[int]:
    """Return the places of the contacts that are blocked."""
    heads = [world.head(key.removeprefix("head/")) for key, _ in world.state.items() if key.startswith("head/")]
    return sorted(int(head.contact_key[-4:]) for head in heads if head.blocked_at is not None)


def sweep(world: World) -> UnblockSweep:
    found = world.state.get(unblock_key(JOB), UnblockSweep)
    assert found is not None
    return found


def put_blocked(world: World, count: int, company_id: int = 1) -> None:
    """Store heads of blocked contacts without leads."""
    for place in range(count):
        key = f"{company_id}|{number(place)}"
        head = Head(company_id=company_id, contact_key=key, blocked_at=world.now - MINUTE)
        world.state.set(head_key(key), to_pack(head))
    world.state.commit()


def test_a_lead_that_is_submitted_while_a_job_is_pending_is_decided_after_it() -> None:
    world = blocked_world(NOON)
    world.wait(60)
    start(world)
    assert blocked(world) == [0]
    submit(world, 0)
    assert (blocked(world), world.lead().status, world.steps()) == ([], "running", ["call"])
    assert sweep(world).unblock_count == 1
    world.wait(60)
    assert (sweep(world).unblock_count, sweep(world).due_at, world.steps()) == (1, None, ["call"])


def test_a_lead_that_is_submitted_before_its_partition_knows_of_the_job_begins_once_it_does() -> None:
    world = blocked_world(NOON)
    world.wait(60)
    made_at = world.now
    submit(world, 0)
    assert (world.lead().status, world.steps()) == ("blocked", [])
    world.wait(1)
    world.add("unblock_contact_job", JOB, ALL, made_at=made_at)
    world.wait(60)
    assert (blocked(world), world.lead().status, world.steps()) == ([], "running", ["call"])


def test_a_lead_that_was_submitted_before_the_job_was_made_stays_ended() -> None:
    world = blocked_world(NOON)
    world.wait(60)
    submit(world, 0)
    world.wait(60)
    start(world)
    world.wait(60)
    assert (blocked(world), world.lead().status, world.steps()) == ([], "blocked", [])


def test_a_block_after_the_job_was_made_holds_for_a_submission() -> None:
    world = blocked_world(NOON)
    world.wait(60)
    start(world, UnblockContactJob(blocked_at_to=NOON))
    submit(world, 0)
    assert (blocked(world), world.lead().status) == ([0], "blocked")


def test_every_block_of_the_company_is_lifted_and_each_is_a_fact_that_names_the_job() -> None:
    world = blocked_world(NOON, NOON + HOUR)
    world.wait(1)
    facts = len(world.facts)

    start(world)
    assert blocked(world) == [0, 1]  # the adoption itself changes no contact
    world.wait(1)

    assert blocked(world) == []
    unblocked, other, ended = world.facts[facts:]
    assert unblocked.type == other.type == "contact.unblocked"
    assert unblocked.data == {"cause": "unblock_contact_job/7", "contact_key": f"1|{number(0)}"}
    assert (ended.type, ended.data["unblock_count"]) == ("unblock_sweep.ended", 2)
    found = sweep(world)
    assert (found.unblock_count, found.failed_count, found.last_contact_key) == (2, 0, f"1|{number(1)}")
    assert found.ended_at is not None
    assert found.due_at is None


@pytest.mark.parametrize(
    ("since", "until", "still"),
    [
        (NOON + HOUR, None, [0]),
        (None, NOON + HOUR, [1, 2]),
        (NOON + HOUR, NOON + 2 * HOUR, [0, 2]),
        (NOON + 1, NOON + HOUR, [0, 1, 2]),
    ],
)
def test_the_lower_bound_is_included_and_the_upper_one_excluded(
    since: Instant | None, until: Instant | None, still: list[int]
) -> None:
    world = blocked_world(NOON, NOON + HOUR, NOON + 2 * HOUR)
    world.wait(60)

    start(world, UnblockContactJob(blocked_at_from=since, blocked_at_to=until))
    world.wait(1)

    assert blocked(world) == still


def test_a_block_that_was_set_after_the_job_was_made_stays() -> None:
    world = blocked_world(NOON, NOON + HOUR)

    world.add("unblock_contact_job", JOB, UnblockContactJob(blocked_at_to=NOON + 9 * HOUR), made_at=NOON + MINUTE)
    world.wait(1)

    assert blocked(world) == [1]


def test_an_opt_out_and_the_do_not_call_list_stay() -> None:
    world = World()
    world.schedule(CALL)
    submit(world, 0, blocked=True)
    key = f"1|{number(0)}"
    head = world.head(key)
    head.opted_out_at, head.suppressed_at, head.opt_outs = NOON, NOON, {"offer/1": NOON}
    world.state.set(head_key(key), to_pack(head))
    world.wait(60)

    start(world)
    world.wait(1)

    after = world.head(key)
    assert after.blocked_at is None
    assert (after.opted_out_at, after.suppressed_at, after.opt_outs) == (NOON, NOON, {"offer/1": NOON})
    assert sweep(world).unblock_count == 1


def test_leads_that_the_block_ended_are_marked_as_free_and_resume_nothing() -> None:
    world = blocked_world(NOON)
    world.wait(60)

    start(world)
    world.wait(3600)

    assert (world.lead().status, world.lead().blocked, world.commands) == ("blocked", False, [])
    submit(world, 0)
    assert world.lead().status != "blocked"


def test_contacts_of_another_company_stay_blocked() -> None:
    world = World()
    put_blocked(world, 2)
    put_blocked(world, 3, company_id=12)

    start(world)
    world.wait(1)

    assert blocked(world) == [0, 1, 2]
    assert sweep(world).unblock_count == 2


def test_a_partition_without_contacts_of_the_company_is_done_with_its_first_tick() -> None:
    world = World()

    start(world)
    world.wait(1)

    assert (sweep(world).unblock_count, sweep(world).ended_at) == (0, NOON)


@pytest.mark.parametrize("scanned_max", [CONTACTS_SCANNED_MAX, 7])
def test_a_tick_lifts_a_bounded_number_and_the_next_goes_on_behind_it(
    scanned_max: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("engine.contact.lifecycle.unblocking.CONTACTS_SCANNED_MAX", scanned_max)
    world = World()
    put_blocked(world, 2 * LEADS_AT_ONCE_MAX + 1)

    start(world)
    counts = []
    while sweep(world).due_at is not None:
        world.wait_until(sweep(world).due_at or EPOCH)
        counts.append(sweep(world).unblock_count)

    steps = [after - before for before, after in zip([0, *counts], counts, strict=False)]
    assert max(steps) == min(scanned_max, LEADS_AT_ONCE_MAX)
    assert (blocked(world), counts[-1]) == ([], 2 * LEADS_AT_ONCE_MAX + 1)


def test_deleting_the_job_cancels_the_sweep_and_blocks_nobody_again() -> None:
    world = World()
    put_blocked(world, LEADS_AT_ONCE_MAX + 5)
    start(world)
    world.wait_until(world.now)
    assert sweep(world).unblock_count == LEADS_AT_ONCE_MAX

    world.add("unblock_contact_job", JOB, ALL, version=2, deleted=True)
    world.wait(60)

    assert len(blocked(world)) == 5
    found = sweep(world)
    assert (found.canceled_at, found.ended_at, found.due_at) == (NOON, None, None)
    assert world.facts[-1].type == "unblock_sweep.canceled"


def test_deleting_a_job_that_is_done_changes_nothing() -> None:
    world = World()
    put_blocked(world, 1)
    start(world)
    world.wait(1)
    before, facts = sweep(world), len(world.facts)

    world.add("unblock_contact_job", JOB, ALL, version=2, deleted=True)

    assert (sweep(world), len(world.facts)) == (before, facts)


def test_a_job_that_was_deleted_before_it_was_adopted_lifts_nothing() -> None:
    world = World()
    put_blocked(world, 1)

    start(world)
    world.add("unblock_contact_job", JOB, ALL, version=2, deleted=True)
    world.wait(60)

    assert blocked(world) == [0]


def test_a_contact_that_fails_is_counted_and_stops_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World()
    put_blocked(world, 3)
    lift = stop.unblock

    def broken(person: Person, **about: str) -> None:
        lift(person, **about)
        if person.key.endswith("0001"):
            raise ValueError

    monkeypatch.setattr(stop, "unblock", broken)
    start(world)
    world.wait(1)

    assert blocked(world) == [1]
    found = sweep(world)
    assert (found.unblock_count, found.failed_count, found.last_contact_key) == (2, 1, f"1|{number(2)}")
    (fact,) = [fact for fact in world.facts if fact.type == "contact.unblock_failed"]
    assert fact.data == {"cause": "unblock_contact_job/7", "contact_key": f"1|{number(1)}", "error": "ValueError"}


@pytest.mark.parametrize("is_listed_before", [True, False])
def test_the_contacts_of_a_company_are_found_in_order_whenever_they_came(is_listed_before: bool) -> None:
    state = State()
    for key in ("head/1|c", "head/1|a", "head/12|b", "lead/1"):
        state.set(key, b"x")
    state.commit()
    if is_listed_before:
        state.sorted_keys_after("head/1|", "head/", 10)
    state.set("head/1|b", b"x")
    state.set("head/1|a", None)
    state.set("head/2|a", b"x")

    assert state.sorted_keys_after("head/1|", "head/", 10) == ["head/1|b", "head/1|c"]
    assert state.sorted_keys_after("head/1|", "head/1|b", 1) == ["head/1|c"]
    state.rollback()
    assert state.sorted_keys_after("head/1|", "head/", 10) == ["head/1|a", "head/1|c"]
    state.restore("head/1|d", b"x")
    assert state.sorted_keys_after("head/1|", "head/1|c", 10) == ["head/1|d"]
    state.drop_sorted_keys("head/1|")
    assert state.sorted_keys_after("head/1|", "head/", 10) == ["head/1|a", "head/1|c", "head/1|d"]


def test_a_partition_that_is_done_reports_to_the_account_where_the_job_knows_how_many_are_to_be() -> None:
    world = World()
    put_blocked(world, 3)

    start(world, UnblockContactJob(confirm_all=True, contact_partitions=2))
    world.wait(1)

    (message,) = [
        from_json(entry.body, UnblockSweepEnded) for entry in world.messages if entry.type == "unblock_sweep.ended"
    ]
    assert message == UnblockSweepEnded(company_id=1, job_id=JOB, contact_partitions=2, unblock_count=3)
    assert sweep(world).ended_at is not None


def test_of_an_older_job_and_of_a_canceled_one_nothing_is_reported() -> None:
    world = World()
    put_blocked(world, 2 * CONTACTS_SCANNED_MAX)
    start(world)
    world.wait(60)
    world.add("unblock_contact_job", JOB + 1, UnblockContactJob(confirm_all=True, contact_partitions=1), made_at=world.now)
    world.add(
        "unblock_contact_job", JOB + 1, UnblockContactJob(confirm_all=True, contact_partitions=1), version=2, deleted=True
    )
    world.wait(60)

    assert [entry.type for entry in world.messages if entry.type == "unblock_sweep.ended"] == []
