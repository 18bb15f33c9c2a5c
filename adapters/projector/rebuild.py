"""How is the projection rebuilt while it is being read? In a second schema, from the first decision; then swap both.

The rebuild never passes the positions of the read schema: new and old rows are compared at the same decisions, in one
snapshot, and swapped at the same decisions, so a reader never sees older rows than before. Only the projectors wait, for the
last few decisions. After an interruption the next run resumes.

Rows whose decisions retention has deleted are copied: they are not verified, and not lost.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from importlib.metadata import version
from typing import Any, Self

import asyncpg
from msgspec import Struct

from adapters.postgres.migrate import MigrationError
from adapters.postgres.pool import FAILURES, Pool
from adapters.postgres.rollups import Rollups
from adapters.postgres.sql import Schemas
from adapters.postgres.tables import IMPRESSION_COLUMNS
from adapters.projector.batch import ProjectionBatch
from adapters.projector.catch_up import (
    TOPICS,
    BoundedProjector,
    RebuildLimits,
    TopicPartition,
    list_partitions,
    read_end_offsets,
    retry_store,
)
from adapters.projector.checksums import CHECKSUM_SECONDS, CHECKSUMMED_TABLES, TableDifference, compare_tables
from adapters.projector.log_start import LogStart, carry_over_statements, find_log_starts
from adapters.projector.postgres import PostgresStore
from adapters.projector.rebuild_schema import DROP_ATTEMPTS, RebuildError, RebuildRightsError, RebuildSchema
from adapters.reads.ports import RESULT_RETENTION, ReadsUnavailableError
from engine.identity import ContactIds
from engine.partition.ports import Clock, Log
from engine.partition.runner import TopicNames
from schemas.instant import Instant
from schemas.topics import IMPRESSION_RETENTION_MS

TURN_PAUSE_SECONDS = 0.1
"""Between two runs of the rollups, so that the projectors get the lock too."""

QUIET_TURNS = 3
"""Runs in a row without work, after which rollups are done: in one of them a projector may have held the lock."""

Progress = Callable[[str, int, int], None]
"""Called with the progress of a stage: its name, how much is done, of how much."""


class RebuildResult(Struct, frozen=True, kw_only=True):
    """The result of a rebuild or a verification.

    `differences` is null if there was nothing to compare with (the topics were created again). `gaps` counts gaps between
    the decisions that the log holds. `former_kept`: the former schema is still read and was not dropped. `begins` lists the
    partitions whose first decisions the log has deleted: their earlier rows are not verified, and `carried` of them were
    copied in this run.
    """

    decisions: int
    rows: int
    gaps: int
    faults: int
    resumed: bool
    swapped: bool
    differences: list[TableDifference] | None
    former_kept: bool = False
    begins: list[LogStart] = []
    carried: int = 0


_CREATED_AT = IMPRESSION_COLUMNS.index("created_at")


class _RebuildStore(PostgresStore):
    """Writes a schema that has no readers yet: without expired rows, and without NOTIFY."""

    def __init__(self, pool: Pool, schemas: Schemas, now: Instant) -> None:
        super().__init__(pool, schemas=schemas)
        self._results_after = now - RESULT_RETENTION
        self._impressions_after = now - IMPRESSION_RETENTION_MS

    async def write(self, batch: ProjectionBatch) -> None:
        batch.results = {key: row for key, row in batch.results.items() if row[-1] > self._results_after}
        batch.impressions = [row for row in batch.impressions if row[_CREATED_AT] > self._impressions_after]
        await super().write(batch)

    async def announce(self) -> None:
        """Do nothing: no request waits for these results."""


class Rebuild:
    """Builds a second projection. Within `async with`: `catch_up`, `compare`, `swap`. Raises `RebuildError`, `LogError`."""

    def __init__(
        self,
        log: Log,
        pool: Pool,
        clock: Clock,
        dsn: str,
        *,
        contact_ids: ContactIds,
        names: TopicNames = TopicNames(),  # noqa: B008 - frozen
        schemas: Schemas = Schemas(),  # noqa: B008 - frozen
        limits: RebuildLimits = RebuildLimits(),  # noqa: B008 - frozen
        progress: Progress = lambda _stage, _done, _total: None,
        afresh: bool = False,
        begun: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        """`begun` is called once the rebuild schema is there: from then on the next run resumes this one."""
        self._log = log
        self._pool = pool
        self._names = names
        self._schemas = schemas
        self._dsn = dsn
        self._limits = limits
        self._progress = progress
        self._afresh = afresh
        self._begun = begun
        self._target = RebuildSchema(dsn, schemas)
        self._shown = PostgresStore(pool, schemas=schemas)
        self._clock = clock
        self._store = _RebuildStore(pool, self._target.schemas, clock.now())
        self.projector = BoundedProjector(
            log,
            self._store,
            contact_ids=contact_ids,
            names=names,
            limits=limits,
            progress=partial(progress, "projecting"),
        )
        self._topic_ids: dict[str, str] = {}
        self._places: list[TopicPartition] = []
        self.begins: list[LogStart] = []
        self.carried = 0
        self.resumed = False
        self.comparable = True

    async def __aenter__(self) -> Self:
        try:
            await self._target.open()
            self._places = await list_partitions(self._log, self._names)
            self._topic_ids = {topic: await self._log.topic_id(self._names.of(topic)) for topic in TOPICS}
            self.begins = await find_log_starts(self._log, self._names, self._places)
            # The note names the starts of the log: an earlier rebuild may lack decisions that retention deleted since.
            starts = [f"{one.topic}[{one.partition}]@{one.offset}" for one in self.begins]
            note = " ".join(["leadclock", version("leadclock"), *self._topic_ids.values(), *starts])
            self.resumed = await self._target.begin(note, afresh=self._afresh)
            await self._target.raise_epochs([(topic, number, self._topic_ids[topic]) for topic, number in self._places])
            await self._carry_over()
            if self._begun is not None:
                await self._begun()
        except BaseException:
            await self._target.close()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._store.close()
        await self._shown.close()
        await self._target.close()

    async def _carry_over(self) -> None:
        """Copy rows that the log no longer holds, of partitions that the rebuild schema does not have yet."""
        shown = {(one.topic, one.partition): one for one in await retry_store(self._shown.positions, self._limits)}
        built = {
            (one.topic, one.partition): one.next_offset for one in await retry_store(self._store.positions, self._limits)
        }
        for one in self.begins:
            place = one.topic, one.partition
            position = shown.get(place)
            if position is not None and position.topic_id == self._topic_ids[one.topic] and built[place] == 0:
                now = self._clock.now()
                statements = carry_over_statements(one, position, self._schemas.read, self._target.schema, now)
                self.carried += await self._target.fill(statements, CHECKSUM_SECONDS)

    async def is_overtaken_by_retention(self) -> bool:
        """Return whether retention deleted decisions before they were read; the next run then starts from scratch."""
        if not self.projector.gaps:
            return False
        noted = {(one.topic, one.partition): one.offset for one in self.begins}
        now = await find_log_starts(self._log, self._names, self._places)
        return any(one.offset > noted.get((one.topic, one.partition), 0) for one in now)

    async def check_rights(self) -> None:
        """Raise `RebuildRightsError` where the role may not swap the schemas: before the work, not after it."""
        if not await self._target.may_swap():
            raise RebuildRightsError(f"must be owner of schema {self._schemas.read}")

    async def catch_up(self) -> None:
        """Project until it is nearly as far as the read schema, which moves on meanwhile."""
        for _ in range(self._limits.rounds_max):
            await self.projector.project_to(await self._bounds())
            if self.projector.count_remaining(await self._bounds()) <= self._limits.near_offsets:
                return

    async def finish(self) -> None:
        """Make rollups, table statistics and visibility maps, which the first readers need."""
        await self._roll_up()
        tables = await self._target.tables()
        for done, table in enumerate(tables):
            self._progress("tidying", done, len(tables))
            await self._target.vacuum(table, CHECKSUM_SECONDS)
        self._progress("tidying", len(tables), len(tables))

    async def compare(self) -> list[TableDifference] | None:
        """Compare both at the same decisions; return None if the topics were created again since."""
        async with self._snapshot() as connection:
            if not self.comparable:
                return None
            done = 0

            def compared(_table: str) -> None:
                nonlocal done
                done += 1
                self._progress("comparing", done, 2 * len(CHECKSUMMED_TABLES))

            return await compare_tables(
                connection, self._schemas, self._target.schema, now=self._clock.now(), progress=compared
            )

    async def swap(self, note: Callable[[Any], Awaitable[None]] | None = None) -> bool:
        """Replace the read schema and drop the former; return False if that is still being read, and stays.

        `note` writes down the swap in its transaction, and may refuse it by raising.
        """
        async with self._at_same_decisions():
            await self._target.swap(note)
        return await self._target.drop_former(DROP_ATTEMPTS)

    async def drop(self) -> None:
        """Drop the rebuild schema."""
        await self._target.drop()

    # -- both at the same decisions ------------------------------------------------------------------------------------

    @asynccontextmanager
    async def _snapshot(self) -> AsyncIterator[Any]:
        """Connect with a snapshot that sees both at the same decisions, while the projectors continue."""
        connection = await asyncpg.connect(self._dsn, timeout=CHECKSUM_SECONDS)
        try:
            transaction = connection.transaction(isolation="repeatable_read", readonly=True)
            async with self._at_same_decisions():
                await transaction.start()
                await connection.fetchval("SELECT 1")  # from here on it sees nothing newer
            yield connection
        finally:
            connection.terminate()

    @asynccontextmanager
    async def _at_same_decisions(self) -> AsyncIterator[None]:
        """Freeze the projectors and catch up with them; retry if that takes too long."""
        for _ in range(self._limits.freezes_max):
            await self.catch_up()
            async with self._target.frozen():
                if await self._catch_up_while_frozen():
                    yield
                    return
        raise RebuildError("the projectors write faster than the rebuild can follow: run it again at a quieter time")

    async def _catch_up_while_frozen(self) -> bool:
        bounds = await self._bounds()
        try:
            async with asyncio.timeout(self._limits.freeze_seconds):
                await self.projector.project_to(bounds, rests=False)
        except TimeoutError:
            self.projector.forget_positions()  # a cancelled write may have been committed: read the positions again
            return False
        return not self.comparable or not await self._target.list_unequal_positions()

    # -- how far --------------------------------------------------------------------------------------------------------

    async def _bounds(self) -> dict[TopicPartition, int]:
        """Return the positions of the read schema; if it is of other topics, the end offsets of the present ones."""
        positions = {(one.topic, one.partition): one for one in await retry_store(self._shown.positions, self._limits)}
        self.comparable = all(one.topic_id == self._topic_ids.get(one.topic) for one in positions.values())
        if self.comparable:
            return {place: positions[place].next_offset if place in positions else 0 for place in self._places}
        return await read_end_offsets(self._log, self._names, self._places)

    async def _roll_up(self) -> None:
        """Make the rollups; the projectors hold their lock for a short time only."""
        rollups, rolled, quiet = Rollups(self._pool, self._target.schemas), 0, 0
        try:
            async with asyncio.timeout(self._limits.roll_up_seconds):
                while quiet < QUIET_TURNS:
                    found = await rollups.run()
                    rolled, quiet = rolled + found, 0 if found else quiet + 1
                    self._progress("adding up", rolled, rolled)
                    await asyncio.sleep(TURN_PAUSE_SECONDS)
        except (TimeoutError, ReadsUnavailableError):
            return


NoteSwap = Callable[[Any, RebuildResult], Awaitable[None]]
"""Called in the transaction that swaps, with its connection and the result; where it raises, nothing is swapped."""


async def rebuild(work: Rebuild, *, accept: bool, note_swap: NoteSwap | None = None) -> RebuildResult:
    """Build, compare, and swap if nothing differs or differences are accepted. Otherwise the rebuild schema stays.

    Raises `RebuildError`, `LogError`; the next run resumes.
    """
    with _convert_errors():
        async with work:
            await work.check_rights()
            await work.catch_up()
            await work.finish()
            found = await work.compare()
            if await work.is_overtaken_by_retention():
                raise RebuildError("retention deleted decisions that were still to be read: run it again")
            if not accept and found != []:
                return _build_result(work, found)

            async def note(connection: Any) -> None:
                if note_swap is not None:
                    await note_swap(connection, _build_result(work, found, swapped=True))

            dropped = await work.swap(note)
            return _build_result(work, found, swapped=True, former_kept=not dropped)


async def verify(work: Rebuild) -> RebuildResult:
    """Build and compare; drop the rebuild schema if nothing differs, else leave it for `rebuild` to resume."""
    with _convert_errors():
        async with work:
            await work.catch_up()
            found = await work.compare()
            if await work.is_overtaken_by_retention():
                raise RebuildError("retention deleted decisions that were still to be read: run it again")
            if found == []:
                await work.drop()
            return _build_result(work, found)


def _build_result(
    work: Rebuild, found: list[TableDifference] | None, *, swapped: bool = False, former_kept: bool = False
) -> RebuildResult:
    return RebuildResult(
        decisions=work.projector.decisions,
        rows=work.projector.rows,
        gaps=work.projector.gaps,
        faults=work.projector.faults,
        resumed=work.resumed,
        swapped=swapped,
        differences=found,
        former_kept=former_kept,
        begins=work.begins,
        carried=work.carried,
    )


@contextmanager
def _convert_errors() -> Iterator[None]:
    """Convert errors of the database to `RebuildError`, which says what to do."""
    try:
        yield
    except (*FAILURES, MigrationError) as error:
        if isinstance(error.__cause__ or error, asyncpg.InsufficientPrivilegeError):
            raise RebuildRightsError(str(error)) from error
        raise RebuildError(f"{type(error).__name__}: {error}; run it again, it goes on from there") from error
