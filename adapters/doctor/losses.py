"""Are the topics those that were read so far? The same look as `leadclock recover`, in lines of `leadclock doctor`."""

from collections.abc import Sequence

from adapters.doctor.findings import Finding, failure, ok
from adapters.postgres.pool import open_pool
from adapters.postgres.recovery import PostgresReadMarks
from adapters.recovery.losses import find_losses
from adapters.recovery.readers import find_reader_losses
from adapters.roles.context import Context

CURE = "stop every process and run `leadclock recover`: it says what was lost, and settles it"

SHOWN_MAX = 10
"""Losses that are listed; `leadclock recover` lists all."""


async def check_losses(context: Context, *, with_database: bool) -> list[Finding]:
    """Compare each partition with what was read and written, and the readers with what the database remembers of them.

    Raises `LogError`, `StoreError`.
    """
    found = [words for one in await find_losses(context) for words in one.sentences]
    if with_database:
        found += await _reader_losses(context)
    if not found:
        return [ok("continuity", "every topic is the one that was read so far")]
    return [failure("continuity", words, CURE) for words in _shown(found)]


async def _reader_losses(context: Context) -> list[str]:
    pool = await open_pool(context.settings.postgres_dsn, size=1)
    try:
        losses = await find_reader_losses(context, PostgresReadMarks(pool))
    finally:
        await pool.close()
    return [one.sentence for one in losses]


def _shown(found: Sequence[str]) -> list[str]:
    more = len(found) - SHOWN_MAX
    return [*found[:SHOWN_MAX], *([f"and {more} more"] if more > 0 else [])]
