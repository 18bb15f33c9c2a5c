"""What does the API answer to an operator? One question at a time, as each reads the log, and within a bounded time."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import msgspec

from adapters.errors import StoreError
from adapters.http.exchange.ports import HoldAnswer, RedriveRefusedError, Unshown
from adapters.operator.contact_holds import (
    HoldNotDecidedError,
    HoldRequests,
    confirm,
    find_hold,
    gateway_name,
    hold_row,
    holds_in_force,
    to_stop_by_hand,
)
from adapters.operator.dead_letters import DeadLetters, RedriveError, encode_value, redrive_record, whole_row_of
from adapters.operator.partitions import NO_GROUPS, RESTORE, list_work, sum_lags
from adapters.operator.unshown import UnshownDecisions
from adapters.postgres.database_errors import DatabaseAwayError
from adapters.postgres.gateways import running_gateways
from adapters.postgres.migrate import MigrationError
from adapters.postgres.operators import PostgresOperators
from adapters.postgres.pool import Pool
from adapters.projector.postgres import PostgresStore
from adapters.projector.status import status_of
from adapters.projector.store import PartitionPosition
from adapters.reads.ports import ReadsTooSlowError, ReadsUnavailableError
from adapters.roles.context import Context
from schemas.instant import to_rfc3339
from schemas.records import EVERY_COMPANY, Record
from schemas.topics import ACCOUNTS_REQUESTS, CONTACTS_REQUESTS, DEADLETTER, INBOXES

QUESTION_SECONDS = 60.0
"""For one question, and for those before it. Kafka answers in a second; the checksums of a large projection take longer, and
are asked for by `leadclock projection status`."""

REDRIVEN = (*INBOXES, CONTACTS_REQUESTS, ACCOUNTS_REQUESTS)
"""Topics that the API sends dead letters to. It may not write commands: that would let it ring a phone by itself."""


class LogDeployment:
    """Keeps the promises of `adapters.http.exchange.ports.DeploymentReads`."""

    def __init__(self, context: Context, pool: Pool, *, seconds: float = QUESTION_SECONDS) -> None:
        self._context = context
        self._pool = pool
        self._seconds = seconds
        self._store = PostgresStore(pool)
        self._operators = PostgresOperators(pool)
        self._letters = DeadLetters(context.log, context.names.of(DEADLETTER.name))
        self._asking = asyncio.Lock()
        self._unshown = UnshownDecisions(context.log, context.names, context.clock, self._store)

    async def worked(self) -> Mapping[tuple[str, str, int], int]:
        """Return the next offset of each (role, topic, partition) of gateways and deliverers."""
        return await self._operators.offsets()

    async def projected(self) -> list[PartitionPosition]:
        """Return the positions of the projection."""
        return await self._store.positions()

    async def partitions(self) -> Mapping[str, Any]:
        """Return each partition of each role."""
        async with self._one_at_a_time():
            rows, _ = await list_work(self._context, self)
        return {"partitions": [_shown(row) for row in rows], "not_known_here": {"restore": RESTORE, **self._unknown()}}

    async def lags(self) -> Mapping[str, Any]:
        """Return how far each role is behind."""
        async with self._one_at_a_time():
            rows, members = await list_work(self._context, self)
        lags = [msgspec.to_builtins(row) for row in sum_lags(rows, members)]
        return {"lags": lags, "not_known_here": self._unknown()}

    async def projection(self, *, with_checksums: bool) -> Mapping[str, Any]:
        """Return how far each partition is projected."""
        context = self._context
        async with self._one_at_a_time():
            found = await status_of(
                context.log,
                self._pool,
                context.clock,
                context.settings.postgres_dsn,
                names=context.names,
                with_checksums=with_checksums,
            )
        shown: dict[str, Any] = msgspec.to_builtins(found)
        return {**shown, "partitions": [_shown(one) for one in found.partitions]}

    async def unshown(self) -> Unshown | None:
        """Return which decisions every page lacks; asked beside the questions of operators, which take longer."""
        try:
            return await self._unshown.first()
        except (StoreError, DatabaseAwayError) as error:
            raise ReadsUnavailableError(str(error)) from error

    async def dead_letters(
        self, limit: int, *, partition: int | None, before: int | None
    ) -> tuple[Sequence[Mapping[str, Any]], Mapping[int, int]]:
        """Return the newest dead letters."""
        async with self._one_at_a_time():
            return await self._letters.newest(limit, partition=partition, before=before)

    async def dead_letter(self, partition: int, offset: int) -> Mapping[str, Any] | None:
        """Return one dead letter in full."""
        async with self._one_at_a_time():
            found = await self._letters.one(partition, offset)
        return None if found is None else whole_row_of(found)

    async def redrive(self, partition: int, offset: int, value: Any) -> tuple[str, int] | None:
        """Send a dead letter again."""
        allowed = {self._context.names.of(topic.name) for topic in REDRIVEN}
        try:
            edited = None if value is None else encode_value(value)
            async with self._one_at_a_time():
                found = await self._letters.one(partition, offset)
                return None if found is None else await redrive_record(self._context.log, found, value=edited, to=allowed)
        except RedriveError as error:
            raise RedriveRefusedError(str(error)) from error

    async def contact_holds(self) -> Sequence[Mapping[str, Any]]:
        """Return the holds in force."""
        return [hold_row(record) for record in await holds_in_force(self._context)]

    async def hold(self, company_id: int | None, fields: Mapping[str, Any], *, actor: str) -> HoldAnswer:
        """Hold contacting. It waits for no question about the log: those may take a minute."""
        requests = self._holds(actor)
        return await self._decided(requests, partial(requests.create, company_id or EVERY_COMPANY, dict(fields)))

    async def release(self, hold_id: int, *, actor: str) -> HoldAnswer | None:
        """Release a hold."""
        found = find_hold(await holds_in_force(self._context), hold_id)
        requests = self._holds(actor)
        return None if found is None else await self._decided(requests, partial(requests.release, found))

    def _holds(self, actor: str) -> HoldRequests:
        return HoldRequests(self._context, source="/api/v1/operator", actor=actor)

    async def _decided(self, requests: HoldRequests, decide: Callable[[], Awaitable[Record]]) -> HoldAnswer:
        """Wait until a hold or release is decided and gateways obey it, each within its bound."""
        known = await running_gateways(self._pool)
        try:
            record = await decide()
        except HoldNotDecidedError as error:
            detail = f"{error}. Stop these gateways by hand: {await to_stop_by_hand(self._pool)}"
            return HoldAnswer(hold=None, detail=detail)
        said = await confirm(self._pool, self._context, requests.place_of(record), known)
        return HoldAnswer(
            hold=hold_row(record),
            obeying=tuple(gateway_name(one) for one in said.obeying),
            silent=tuple(gateway_name(one) for one in said.silent),
        )

    def _unknown(self) -> dict[str, str]:
        return {} if self._context.has_groups else {"owner": NO_GROUPS}

    @asynccontextmanager
    async def _one_at_a_time(self) -> AsyncIterator[None]:
        """Wait for the questions before, and bound the time. Raises `ReadsTooSlowError`, `ReadsUnavailableError`."""
        try:
            async with asyncio.timeout(self._seconds), self._asking:
                yield
        except TimeoutError as error:
            raise ReadsTooSlowError(f"no answer within {self._seconds:g} s") from error
        except (StoreError, MigrationError, DatabaseAwayError) as error:
            raise ReadsUnavailableError(str(error)) from error


def _shown(row: Any) -> dict[str, Any]:
    shown: dict[str, Any] = msgspec.to_builtins(row)
    return {**shown, "decided_at": None if row.decided_at is None else to_rfc3339(row.decided_at)}
