"""Is a snapshot that cannot be trusted passed over, whatever happened to its file? The changelog is read instead."""

import asyncio
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from adapters.embedded.log import EmbeddedLog
from adapters.partitions.snapshots import FORMAT, FileSnapshots
from adapters.partitions.worker import RunnerWorker
from engine.partition.ports import LogError, LogRecord, Reader, Snapshot
from engine.partition.runner import Runner
from schemas.contact import Head
from schemas.instant import EPOCH, Instant
from schemas.requests import CallerActed
from schemas.state import head_key
from schemas.topics import TOMBSTONE_RETENTION_MS, TOPICS
from tests.engine.partition.runner_world import KEY, RunnerWorld

BEGUN_AT = Instant(1_000)
SLICES = [
    Snapshot(BEGUN_AT, 42, [("__position__", b"p")], 7, "head"),
    Snapshot(BEGUN_AT, 42, [(f"lead/{number}", bytes([number]) * 50) for number in range(100)], 7, "head"),
    Snapshot(BEGUN_AT, 42, [], 7, "head"),
]


def loaded(snapshots: FileSnapshots, *, topic_id: str = "id", begun_after: Instant = EPOCH) -> list[Snapshot] | None:
    found = snapshots.load(3, topic_id, begun_after=begun_after)
    return None if found is None else list(found)


def kept_in(
    folder: Path, name: str = "scheduler", *, topic: str = "contacts.state", deployment: str = "d1"
) -> FileSnapshots:
    return FileSnapshots(folder, name, topic=topic, deployment=lambda: deployment)


@pytest.fixture
def snapshots(tmp_path: Path) -> FileSnapshots:
    return kept_in(tmp_path / "state")


async def saved(snapshots: FileSnapshots, slices: list[Snapshot] | None = None) -> Path:
    await snapshots.save(3, "id", iter(SLICES if slices is None else slices))
    return snapshots._path(3)


async def test_what_was_saved_is_loaded(snapshots: FileSnapshots) -> None:
    await saved(snapshots)

    assert loaded(snapshots) == SLICES


async def test_nobody_but_its_owner_looks_into_the_folder(snapshots: FileSnapshots) -> None:
    path = await saved(snapshots)
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


async def test_the_newest_replaces_the_former(snapshots: FileSnapshots) -> None:
    await saved(snapshots)
    newer = [Snapshot(Instant(2_000), 50, [("__position__", b"q")])]
    await saved(snapshots, newer)

    assert loaded(snapshots) == newer


def test_where_there_is_none_there_is_none(snapshots: FileSnapshots) -> None:
    assert loaded(snapshots) is None


async def test_one_of_another_topic_is_passed_over(snapshots: FileSnapshots) -> None:
    await saved(snapshots)

    assert loaded(snapshots, topic_id="the topic was created again") is None


@pytest.mark.parametrize(("begun_after", "is_taken"), [(BEGUN_AT - 1, True), (BEGUN_AT, True), (BEGUN_AT + 1, False)])
async def test_one_that_may_miss_a_tombstone_is_passed_over(
    snapshots: FileSnapshots, begun_after: Instant, is_taken: bool
) -> None:
    await saved(snapshots)

    assert (loaded(snapshots, begun_after=begun_after) is not None) is is_taken


@pytest.mark.parametrize("of", [{"deployment": "d2"}, {"topic": "test.contacts.state"}], ids=["deployment", "topic"])
async def test_one_of_another_deployment_or_topic_is_passed_over(tmp_path: Path, of: dict[str, str]) -> None:
    await saved(kept_in(tmp_path))

    assert loaded(kept_in(tmp_path, **of)) is None
    assert loaded(kept_in(tmp_path)) == SLICES


async def test_one_of_another_partition_is_passed_over_and_reported(
    snapshots: FileSnapshots, capsys: pytest.CaptureFixture[str]
) -> None:
    (await saved(snapshots)).rename(snapshots._path(4))

    assert snapshots.load(4, "id", begun_after=EPOCH) is None
    assert "it is of contacts.state[3] (id) of deployment d1" in "".join(capsys.readouterr())


async def test_one_of_another_release_is_taken_and_one_of_another_format_is_not(
    snapshots: FileSnapshots, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("adapters.partitions.snapshots.version", lambda _: "99.0")
    await saved(snapshots)
    monkeypatch.undo()
    assert loaded(snapshots) == SLICES

    monkeypatch.setattr("adapters.partitions.snapshots.FORMAT", FORMAT + 1)
    assert loaded(snapshots) is None


async def test_partitions_and_roles_have_files_of_their_own(tmp_path: Path) -> None:
    contacts, accounts = kept_in(tmp_path), kept_in(tmp_path, "accounts")
    await contacts.save(3, "id", iter(SLICES))

    assert accounts.load(3, "id", begun_after=EPOCH) is None
    assert contacts.load(4, "id", begun_after=EPOCH) is None


@given(cut=st.integers(min_value=0, max_value=6_000), flip=st.none() | st.integers(min_value=1, max_value=255))
@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
async def test_a_file_that_is_torn_or_changed_anywhere_is_passed_over(
    snapshots: FileSnapshots, cut: int, flip: int | None
) -> None:
    path = await saved(snapshots)
    whole = path.read_bytes()
    at = cut % len(whole)
    damaged = whole[:at] if flip is None else whole[:at] + bytes([whole[at] ^ flip]) + whole[at + 1 :]
    path.write_bytes(damaged)

    assert loaded(snapshots) is None


async def test_garbage_is_passed_over(snapshots: FileSnapshots) -> None:
    path = await saved(snapshots)
    for garbage in (b"", b"x", b"\0" * 15, b"\0" * 16, b"\0" * 100, b"\xff" * 1_000):
        path.write_bytes(garbage)
        assert loaded(snapshots) is None


async def test_a_file_that_cannot_be_read_is_passed_over(snapshots: FileSnapshots) -> None:
    path = await saved(snapshots)
    path.unlink()
    path.mkdir()

    assert loaded(snapshots) is None


async def test_a_full_disk_costs_the_new_snapshot_only(snapshots: FileSnapshots) -> None:
    path = await saved(snapshots)
    path.with_suffix(".draft").symlink_to("/dev/full")  # a real ENOSPC
    await snapshots.save(3, "id", iter([Snapshot(Instant(9_000), 99, [("lead/1", b"x" * 100_000)])]))

    assert loaded(snapshots) == SLICES
    assert not path.with_suffix(".draft").exists()


async def test_a_folder_that_cannot_be_made_costs_the_snapshot_only(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("a file is in the way")
    snapshots = kept_in(tmp_path / "state")
    await snapshots.save(3, "id", iter(SLICES))

    assert loaded(snapshots) is None


async def test_the_end_of_the_process_between_two_slices_leaves_the_former_one(snapshots: FileSnapshots) -> None:
    await saved(snapshots)

    def slices() -> Iterator[Snapshot]:
        while True:
            yield Snapshot(Instant(9_000), 99, [("lead/1", b"half")])

    saving = asyncio.ensure_future(snapshots.save(3, "id", slices()))
    await asyncio.sleep(0.01)
    saving.cancel()
    await asyncio.wait([saving])
    assert loaded(snapshots) == SLICES

    newer = [Snapshot(Instant(10_000), 100, [("lead/1", b"whole")])]
    await saved(snapshots, newer)
    assert loaded(snapshots) == newer


# -- with the runner that they are for ---------------------------------------------------------------------------------


async def written(runner: Runner, snapshots: FileSnapshots) -> None:
    await snapshots.save(0, runner.topic_id, await runner.begin_snapshot())


async def restarted(world: RunnerWorld, snapshots: FileSnapshots) -> Runner:
    runner = world.runner()
    runner._snapshots = snapshots
    await runner.open()
    return runner


ACT = CallerActed(company_id=1, contact_key=KEY, action="remove")
SENDS = CallerActed(company_id=1, contact_key=KEY, action="opt_out")


async def test_a_restart_from_a_snapshot_is_the_same_as_one_from_the_changelog(snapshots: FileSnapshots) -> None:
    world = await RunnerWorld().build()
    runner = world.runner()
    await runner.open()
    await world.ask(SENDS)
    await runner.cycle()
    await written(runner, snapshots)
    await world.ask(ACT)
    await runner.cycle()

    warm, cold = await restarted(world, snapshots), world.runner()
    assert warm._changelog_offset > 0
    await cold.open()

    assert dict(warm.state.items()) == dict(cold.state.items())
    assert (warm.position, warm.outbox_pending, warm.next_due_at) == (cold.position, 1, cold.next_due_at)


async def test_what_was_removed_since_the_snapshot_stays_removed(snapshots: FileSnapshots) -> None:
    world = await RunnerWorld().build()
    runner = world.runner()
    await runner.open()
    await world.ask(SENDS)
    await runner.cycle()
    await written(runner, snapshots)
    world.outboxes[-1].acknowledged = [1]
    await world.ask(ACT)
    await runner.cycle()

    assert (await restarted(world, snapshots)).outbox_pending == 0


async def test_what_a_failed_restore_has_read_does_not_outlive_a_newer_snapshot(snapshots: FileSnapshots) -> None:
    world = await RunnerWorld().build()
    owner, other = world.runner(), world.runner()
    other._snapshots = snapshots
    await owner.open()
    await world.ask(SENDS)
    await owner.cycle()
    with fails_after_polls(other, 4), pytest.raises(LogError):
        await other.open()
    assert other.outbox_pending == 1
    await owner.open()
    world.outboxes[-1].acknowledged = [1]
    await world.ask(ACT)
    await owner.cycle()
    await written(owner, snapshots)

    await other.open()

    assert other.restored_from == "snapshot"
    assert other.outbox_pending == 0
    assert dict(other.state.items()) == dict(owner.state.items())


@contextmanager
def fails_after_polls(runner: Runner, count: int) -> Iterator[None]:
    """Let the runner read so many single records of its changelog, then lose the log."""
    opened = runner._changelog

    async def opened_weak(*, start: int | None) -> Reader:
        reader = await opened(start=start)
        polls = iter(range(count))
        poll = reader.poll

        async def poll_one(*, limit: int, timeout_seconds: float) -> Sequence[LogRecord]:
            if next(polls, None) is None:
                raise LogError("the log went away")
            return await poll(limit=min(limit, 1), timeout_seconds=timeout_seconds)

        reader.poll = poll_one  # type: ignore[method-assign,assignment]
        return reader

    runner._changelog = opened_weak  # type: ignore[method-assign]
    yield
    runner._changelog = opened  # type: ignore[method-assign]


async def test_a_partition_that_closes_while_a_snapshot_begins_writes_none() -> None:
    world = await RunnerWorld().build()
    runner = world.runner()
    await runner.open()
    await world.ask(ACT)
    await runner.cycle()
    opened = runner._changelog

    async def opened_late(*, start: int | None) -> Reader:
        reader = await opened(start=start)
        await runner.close()
        return reader

    runner._changelog = opened_late  # type: ignore[method-assign]
    with pytest.raises(LogError, match="closed meanwhile"):
        await runner.begin_snapshot()


async def test_a_former_owner_cannot_begin_a_snapshot() -> None:
    world = await RunnerWorld().build()
    former, owner = world.runner(), world.runner()
    await former.open()
    await owner.open()
    await world.ask(ACT)
    await owner.cycle()
    with pytest.raises(Exception, match="another owner"):
        await former.begin_snapshot()

    await former.open()  # it is given the partition back, and knows what was done meanwhile

    assert former.position == owner.position
    assert former.state.get(head_key(KEY), Head) == owner.state.get(head_key(KEY), Head)


async def test_a_snapshot_of_a_topic_that_was_created_again_is_not_used(snapshots: FileSnapshots) -> None:
    world = await RunnerWorld().build()
    runner = world.runner()
    await runner.open()
    await world.ask(ACT)
    await runner.cycle()
    await written(runner, snapshots)
    log = EmbeddedLog(None, now=lambda: world.clock.time)
    for topic in TOPICS:
        await log.create_topic(topic.name, 1)
    world.log = log

    assert len((await restarted(world, snapshots)).state) == 0


@pytest.mark.parametrize(
    ("age_ms", "restored_from"), [(TOMBSTONE_RETENTION_MS // 2, "snapshot"), (TOMBSTONE_RETENTION_MS, "changelog")]
)
async def test_a_snapshot_as_old_as_tombstones_are_kept_is_not_used(
    snapshots: FileSnapshots, age_ms: int, restored_from: str
) -> None:
    """What was removed since may have left no trace in the changelog: it would come back."""
    world = await RunnerWorld().build()
    runner = world.runner()
    await runner.open()
    await world.ask(ACT)
    await runner.cycle()
    begun_at = world.clock.time
    await written(runner, snapshots)
    world.clock.time = begun_at + age_ms

    assert (await restarted(world, snapshots)).restored_from == restored_from


async def test_a_snapshot_behind_which_the_changelog_goes_on_otherwise_is_not_used(snapshots: FileSnapshots) -> None:
    """Everything in its header fits, but it holds decisions that this changelog never had."""
    world, other = await RunnerWorld().build(), await RunnerWorld().build()
    ours, theirs = world.runner(), other.runner()
    await ours.open()
    await theirs.open()
    await world.ask(SENDS)
    await other.ask(ACT)
    await ours.cycle()
    await theirs.cycle()
    await snapshots.save(0, ours.topic_id, await theirs.begin_snapshot())
    expected = ours.position
    assert (theirs.position.sequence, theirs.position.chain) != (expected.sequence, expected.chain)
    await ours.close()
    await theirs.close()

    runner = await restarted(world, snapshots)

    assert runner.restored_from == "changelog"
    assert runner.position == expected
    await runner.close()


class Unwatched:
    def restored(self, runner: Runner, seconds: float) -> None: ...

    def cycled(self, runner: Runner, report: object) -> None: ...

    def fenced(self, runner: Runner) -> None: ...


async def test_a_graceful_stop_leaves_a_snapshot_of_everything(snapshots: FileSnapshots) -> None:
    world = await RunnerWorld().build()
    runner = world.runner()
    worker = RunnerWorker(runner, observer=Unwatched(), snapshots=snapshots)
    await worker.open()
    await world.ask(SENDS)
    await worker.cycle()
    expected = runner.position
    await worker.close()
    await worker.close()  # as a host does, which stops

    runner = await restarted(world, snapshots)

    assert runner.restored_from == "snapshot"
    assert runner.position == expected
    await runner.close()


async def test_a_partition_that_is_opened_again_and_again_gets_its_snapshot_in_time(snapshots: FileSnapshots) -> None:
    world = await RunnerWorld().build()
    worker = RunnerWorker(world.runner(), observer=Unwatched(), snapshots=snapshots, snapshot_seconds=0.05)
    loop = asyncio.get_running_loop()
    began = loop.time()
    while loop.time() < began + 0.05:  # each time before a cycle came to its end
        await worker.open()
        await asyncio.sleep(0.01)
    await worker.open()
    await worker.cycle()

    assert worker._writing is not None
    await worker._writing
    assert snapshots._path(0).exists()
    await worker.close()
