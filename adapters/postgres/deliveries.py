"""Where are claims of commands stored? One row each in `work.deliveries`; `adapters.gateway.ports` says what they promise.

Claims, records and posts of simultaneous deliveries share a commit (`GroupCommit`): a commit costs more than its rows.
"""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import datetime
from typing import Any

from msgspec import Struct, structs

from adapters.gateway.ports import ClaimState, CommandClaim, Kind, SavedProgress
from adapters.postgres.database_errors import run_statement
from adapters.postgres.group_commit import GroupCommit
from adapters.postgres.old_rows import delete_in_steps
from adapters.postgres.pool import Pool
from adapters.postgres.sql import Schemas, queries
from schemas.envelope import DecisionNumber
from schemas.instant import Instant, from_datetime, to_datetime
from schemas.outcomes import GATE_OUTCOMES
from schemas.requests import OutcomeRecorded
from schemas.wire import from_json

FORGET_ROWS = 2_000
"""Rows deleted in one statement, so that it holds its locks for milliseconds."""

FORGET_STATEMENTS_MAX = 5_000
"""Statements of one purge: ten days of a million commands each; the next purge deletes the rest."""


_HELD = CommandClaim(state="held")


class _ClaimRow(Struct, frozen=True):
    """A claim to make; its fields are columns of the query."""

    command_id: str
    company_id: int
    channel: str
    claimant: str
    claim_id: str
    claimed_at: datetime
    lease_seconds: float


class _OutcomeRow(Struct, frozen=True):
    """An outcome to record; its fields are columns of the query."""

    command_id: str
    claimant: str
    claim_id: str
    state: str
    outcome: bytes
    recorded_at: datetime
    provider: str | None
    provider_ref: str | None


class _PostedRow(Struct, frozen=True):
    """A command whose outcome was posted; its fields are columns of the query."""

    command_id: str
    posted_at: datetime


class PostgresDeliveries:
    """Keeps the promises of `adapters.gateway.ports.Deliveries`."""

    def __init__(self, pool: Pool, schemas: Schemas = Schemas()) -> None:  # noqa: B008 - frozen
        self._pool = pool
        self._sql = queries("deliveries", schemas)
        self._claims = GroupCommit(self._claim, key=lambda asked: asked.command_id)
        self._records = GroupCommit(self._record, key=lambda said: said.command_id)
        self._posts = GroupCommit(self._mark_posted, key=lambda posted: posted.command_id)

    async def renew_incarnation(self, newest: Instant) -> bool:
        """Begin a new incarnation now, if the present one is not younger than an instant."""
        return bool(await run_statement(self._pool.fetchval(self._sql["renew_incarnation"], to_datetime(newest))))

    async def claim(
        self,
        command_id: str,
        *,
        company_id: int,
        kind: Kind,
        claimant: str,
        claim_id: str,
        claimed_at: Instant,
        lease_seconds: float,
    ) -> CommandClaim:
        """Claim a command; the claim is committed when this returns."""
        at = to_datetime(claimed_at)
        return await self._claims.submit(_ClaimRow(command_id, company_id, kind, claimant, claim_id, at, lease_seconds))

    async def renew(self, claims: Mapping[str, str], *, claimant: str, lease_seconds: float) -> AbstractSet[str]:
        """Extend leases to `lease_seconds` from now; return the commands whose claim still belongs to the claimant."""
        given = list(claims), list(claims.values()), claimant, lease_seconds
        return {row["command_id"] for row in await run_statement(self._pool.fetch(self._sql["renew"], *given))}

    async def record(self, command_id: str, *, claimant: str, claim_id: str, outcome: bytes, recorded_at: Instant) -> bool:
        """Record the outcome of a command; return False if another process has the claim."""
        recorded_outcome = from_json(outcome, OutcomeRecorded) if outcome else None
        provider, reference = (
            (None, None) if recorded_outcome is None else (recorded_outcome.provider, recorded_outcome.provider_ref)
        )
        at = to_datetime(recorded_at)
        said = _OutcomeRow(command_id, claimant, claim_id, _state(recorded_outcome), outcome, at, provider, reference)
        return await self._records.submit(said)

    async def release(self, command_id: str, *, claimant: str, claim_id: str) -> None:
        """Release a claim under which no provider was called."""
        await run_statement(self._pool.execute(self._sql["release"], command_id, claimant, claim_id))

    async def mark_posted(self, command_id: str, *, posted_at: Instant) -> None:
        """Store that the recorded outcome is on `contacts.requests`."""
        await self._posts.submit(_PostedRow(command_id, to_datetime(posted_at)))

    async def progress(self, topic: str, topic_id: str, partition: int) -> SavedProgress | None:
        """Return how far a partition is done."""
        row = await run_statement(self._pool.fetchrow(self._sql["progress"], topic, topic_id, partition))
        if row is None:
            return None
        return SavedProgress(row["next_offset"], DecisionNumber(row["epoch"], row["sequence"]), row["refused"])

    async def save_progress(self, topic: str, topic_id: str, partition: int, saved: SavedProgress) -> None:
        """Save how far a partition is done."""
        newest = saved.newest
        values = (topic, topic_id, partition, saved.offset, newest.epoch, newest.sequence, saved.refused)
        await run_statement(self._pool.execute(self._sql["save_progress"], *values))

    async def forget(self, before: Instant) -> int:
        """Delete claims made before an instant, in small steps, and return how many.

        `before` must be older than the retention of the commands topics, or a command could be carried out twice.
        """
        return await delete_in_steps(
            lambda: run_statement(self._pool.execute(self._sql["forget"], to_datetime(before), FORGET_ROWS)),
            FORGET_ROWS,
            statements_max=FORGET_STATEMENTS_MAX,
        )

    async def _claim(self, group: Sequence[_ClaimRow]) -> list[CommandClaim]:
        rows = await run_statement(self._pool.fetch(self._sql["claim"], *_columns(group)))
        got = {row["command_id"]: _claim_taken(row) for row in rows}
        left = [asked for asked in group if asked.command_id not in got]
        if left:
            columns = [[getattr(asked, name) for asked in left] for name in ("command_id", "company_id", "claimant")]
            rows = await run_statement(self._pool.fetch(self._sql["find"], *columns))
            got |= {row["command_id"]: _claim_of_row(row) for row in rows}
        return [got.get(asked.command_id, _HELD) for asked in group]

    async def _record(self, group: Sequence[_OutcomeRow]) -> list[bool]:
        rows = await run_statement(self._pool.fetch(self._sql["record"], *_columns(group)))
        recorded = {row["command_id"] for row in rows}
        return [said.command_id in recorded for said in group]

    async def _mark_posted(self, group: Sequence[_PostedRow]) -> list[None]:
        await run_statement(self._pool.execute(self._sql["mark_posted"], *_columns(group)))
        return [None] * len(group)


def _columns(rows: Sequence[Struct]) -> list[list[Any]]:
    """Return the values of rows column by column, as `unnest` takes them."""
    return [list(column) for column in zip(*(structs.astuple(row) for row in rows), strict=True)]


def _claim_taken(row: Mapping[str, Any]) -> CommandClaim:
    state: ClaimState = "taken_over" if row["taken_over"] else "fresh"
    return CommandClaim(state=state, work_born_at=from_datetime(row["born_at"]))


def _claim_of_row(row: Mapping[str, Any]) -> CommandClaim:
    if row["posted_at"] is not None:
        return CommandClaim(state="posted")
    if row["state"] == "claimed" or row["is_leased"]:
        return _HELD
    return CommandClaim(state="recorded", outcome=row["outcome"])


def _state(said: OutcomeRecorded | None) -> str:
    if said is None:
        return "sent"
    if said.outcome in GATE_OUTCOMES:
        return "dropped"
    return "unknown" if said.outcome == "unknown" else "done"
