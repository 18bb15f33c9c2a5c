"""What does every adapter of `adapters.roles.context.RoleAssignment` promise? Partitions, and checkpoints that last.

It covers the narrower ports too: `adapters.partitions.host.Assignment` and `adapters.intake.adopted.Checkpoints`.
"""

import asyncio
from collections.abc import Awaitable, Callable

from adapters.partitions.checkpoint import Checkpoint
from adapters.roles.context import RoleAssignment
from tests.pace import bound

PARTITIONS = frozenset({0, 1, 2, 3})
WAIT_SECONDS = bound(25.0)

Join = Callable[[], Awaitable[RoleAssignment]]
"""Start another member of the same role, as a process does that starts; the fixture closes it."""


async def has_all(member: RoleAssignment) -> RoleAssignment:
    async with asyncio.timeout(WAIT_SECONDS):
        async for partitions in member.changes():
            if partitions == PARTITIONS:
                return member
    raise AssertionError("the changes ended")


class AssignmentContract:
    """Inherit from this and provide a fixture `join` over a topic of four partitions."""

    async def test_the_only_member_is_assigned_every_partition(self, join: Join) -> None:
        member = await has_all(await join())

        assert [await member.confirm(partition) for partition in sorted(PARTITIONS)] == [True] * 4

    async def test_a_partition_that_the_topic_has_not_is_not_confirmed(self, join: Join) -> None:
        member = await has_all(await join())

        assert not await member.confirm(4)

    async def test_without_a_checkpoint_none_is_loaded(self, join: Join) -> None:
        member = await has_all(await join())

        assert await member.load_checkpoint(1) is None

    async def test_a_saved_checkpoint_lasts_and_is_of_its_partition(self, join: Join) -> None:
        first = await has_all(await join())
        await first.save_checkpoint(1, Checkpoint(7, "note"))
        assert await first.load_checkpoint(1) == Checkpoint(7, "note")
        await first.close()

        second = await has_all(await join())

        assert await second.load_checkpoint(1) == Checkpoint(7, "note")
        assert await second.load_checkpoint(2) is None

    async def test_a_reported_offset_is_stored_at_the_end_with_the_note_before_it(self, join: Join) -> None:
        first = await has_all(await join())
        await first.save_checkpoint(1, Checkpoint(7, "note"))
        first.report(1, 9)
        first.report(2, 5)
        await first.close()

        second = await has_all(await join())

        assert await second.load_checkpoint(1) == Checkpoint(9, "note")
        assert await second.load_checkpoint(2) == Checkpoint(5)
