"""What does every adapter of `engine.partition.ports.Snapshots` promise? Whole snapshots, by partition and topic."""

from collections.abc import Iterator
from contextlib import suppress

import pytest

from engine.partition.ports import Snapshot, Snapshots
from schemas.instant import EPOCH, Instant

BEGUN_AT = Instant(1_000)
SLICES = [
    Snapshot(BEGUN_AT, 42, [("__position__", b"p")], 7, "head"),
    Snapshot(BEGUN_AT, 42, [("lead/1", b"a"), ("lead/2", b"b")], 7, "head"),
]
NEWER = [Snapshot(Instant(2_000), 50, [("__position__", b"q")], 9, "newer")]


def loaded(
    snapshots: Snapshots, *, partition: int = 3, topic_id: str = "id", begun_after: Instant = EPOCH
) -> list[Snapshot] | None:
    found = snapshots.load(partition, topic_id, begun_after=begun_after)
    return None if found is None else list(found)


def cut_off() -> Iterator[Snapshot]:
    yield NEWER[0]
    raise InterruptedError("the process ended")


class SnapshotsContract:
    """Inherit from this and provide a fixture `snapshots`."""

    async def test_a_saved_snapshot_is_loaded(self, snapshots: Snapshots) -> None:
        await snapshots.save(3, "id", iter(SLICES))

        assert loaded(snapshots) == SLICES
        assert loaded(snapshots) == SLICES

    def test_without_a_snapshot_none_is_loaded(self, snapshots: Snapshots) -> None:
        assert loaded(snapshots) is None

    async def test_a_newer_snapshot_replaces_the_former(self, snapshots: Snapshots) -> None:
        await snapshots.save(3, "id", iter(SLICES))
        await snapshots.save(3, "id", iter(NEWER))

        assert loaded(snapshots) == NEWER

    async def test_an_interrupted_save_leaves_the_former(self, snapshots: Snapshots) -> None:
        await snapshots.save(3, "id", iter(SLICES))
        with suppress(InterruptedError):  # an adapter may raise it or log it
            await snapshots.save(3, "id", cut_off())

        assert loaded(snapshots) == SLICES

    async def test_partitions_have_snapshots_of_their_own(self, snapshots: Snapshots) -> None:
        await snapshots.save(3, "id", iter(SLICES))
        await snapshots.save(4, "id", iter(NEWER))

        assert (loaded(snapshots), loaded(snapshots, partition=4)) == (SLICES, NEWER)
        assert loaded(snapshots, partition=5) is None

    async def test_a_snapshot_of_a_topic_that_was_created_again_is_not_loaded(self, snapshots: Snapshots) -> None:
        await snapshots.save(3, "id", iter(SLICES))

        assert loaded(snapshots, topic_id="another id") is None

    @pytest.mark.parametrize(("begun_after", "is_loaded"), [(BEGUN_AT - 1, True), (BEGUN_AT, True), (BEGUN_AT + 1, False)])
    async def test_a_snapshot_begun_too_early_is_not_loaded(
        self, snapshots: Snapshots, begun_after: Instant, is_loaded: bool
    ) -> None:
        await snapshots.save(3, "id", iter(SLICES))

        assert (loaded(snapshots, begun_after=begun_after) is not None) is is_loaded
