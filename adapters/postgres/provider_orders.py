"""Where are orders to providers stored? One row each in `work.provider_orders`; see `adapters.providers.orders`."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

import msgspec

from adapters.gateway.ports import DeliveryResult
from adapters.postgres.database_errors import run_statement
from adapters.postgres.old_rows import delete_in_steps
from adapters.postgres.pool import Pool
from adapters.postgres.sql import Schemas, queries
from adapters.providers.orders import StoredOrder, spellings_of
from adapters.providers.ports import OrderCommand
from schemas.instant import HOUR, MINUTE, SECOND, from_datetime, to_datetime
from schemas.outcomes import OUTCOME_TIMEOUT
from schemas.records import ProviderChannel
from schemas.wire import to_json

FIRST_CHECK_SECONDS: Mapping[str, float] = {"call": 180.0, "sms": 120.0, "email": 120.0}
"""Callbacks come within seconds, but for a call that is talked on. A text is waited for ten minutes at most."""

CHECK_SECONDS_MAX = 1_800.0

ABANDONED_AFTER = {channel: (OUTCOME_TIMEOUT[channel] + HOUR) / SECOND for channel in FIRST_CHECK_SECONDS}
"""In seconds. The contact has given up by then; an hour more lets a late outcome be recorded."""

SKEW = timedelta(milliseconds=10 * MINUTE)
"""How long before an order another one may have been given that still has a reference which fits."""

FORGET_ROWS = 2_000
FORGET_STATEMENTS_MAX = 5_000


class PostgresOrders:
    """Keeps the promises of `adapters.providers.orders.Orders`."""

    def __init__(self, pool: Pool, schemas: Schemas = Schemas()) -> None:  # noqa: B008 - frozen
        self._pool = pool
        self._sql = queries("provider_orders", schemas)

    async def begin(
        self, command: OrderCommand, channel: ProviderChannel, configuration_id: int, *, claim_id: str | None = None
    ) -> bool:
        """Store that a configuration is about to be asked, while the command is claimed so; return whether it is."""
        values = command.command_id, command.company_id, configuration_id, channel, to_json(command)
        asked = self._pool.fetchval(self._sql["begin"], *values, FIRST_CHECK_SECONDS[channel], claim_id)
        return bool(await run_statement(asked))

    async def placed(self, command_id: str, configuration_id: int, provider_ref: str, parts: Sequence[str] = ()) -> None:
        """Store the vendor's reference of an order, and those of its parts."""
        if parts:
            values = configuration_id, command_id, list(parts)
            await run_statement(self._pool.execute(self._sql["placed_parts"], *values))
        await run_statement(self._pool.execute(self._sql["placed"], command_id, configuration_id, provider_ref))

    async def find_part(self, company_id: int, configuration_id: int, reference: str) -> tuple[str, int] | None:
        """Return the command whose part has this reference, and the number of the part."""
        row = await run_statement(self._pool.fetchrow(self._sql["find_part"], company_id, configuration_id, reference))
        return None if row is None else (row["command_id"], row["part"])

    async def find_alike(self, company_id: int, configuration_id: int, reference: str) -> tuple[str, int] | None:
        """Return the one command that waits for a receipt and whose part has this reference in another spelling."""
        values = company_id, configuration_id, spellings_of(reference)
        rows = await run_statement(self._pool.fetch(self._sql["find_alike"], *values))
        return (rows[0]["command_id"], rows[0]["part"]) if len(rows) == 1 else None

    async def find(self, company_id: int, command_id: str) -> StoredOrder | None:
        """Return an order of a company."""
        row = await run_statement(self._pool.fetchrow(self._sql["find"], company_id, command_id))
        return None if row is None else _order(row)

    async def add_facts(
        self,
        company_id: int,
        configuration_id: int,
        command_id: str,
        *,
        facts: Mapping[str, str],
        provider_ref: str | None = None,
        check_after_seconds: float | None = None,
    ) -> StoredOrder | None:
        """Add facts and return the order with them."""
        values = company_id, configuration_id, command_id, provider_ref, dict(facts), check_after_seconds
        row = await run_statement(self._pool.fetchrow(self._sql["add_facts"], *values))
        return None if row is None else _order(row)

    async def end(self, company_id: int, command_id: str, result: DeliveryResult) -> None:
        """Store what came of an order."""
        await run_statement(self._pool.execute(self._sql["end"], company_id, command_id, msgspec.json.encode(result)))

    async def due(self, channel: ProviderChannel, limit: int) -> Sequence[StoredOrder]:
        """Take open orders that are due for a look-up, and abandon those that nobody waits for."""
        await run_statement(self._pool.execute(self._sql["abandon"], channel, ABANDONED_AFTER[channel]))
        values = channel, limit, FIRST_CHECK_SECONDS[channel], CHECK_SECONDS_MAX
        return [_order(row) for row in await run_statement(self._pool.fetch(self._sql["due"], *values))]

    async def references(self, order: StoredOrder) -> frozenset[str]:
        """Return the references of the other orders of its configuration since it was given."""
        since = to_datetime(order.asked_at) - SKEW
        values = order.configuration_id, since, order.command.command_id
        rows = await run_statement(self._pool.fetch(self._sql["references"], *values))
        return frozenset(row["provider_ref"] for row in rows)

    async def forget(self, after_seconds: float) -> int:
        """Delete orders that were given so long ago, in small steps; return how many."""
        await self._forget("forget_parts", after_seconds)
        return await self._forget("forget", after_seconds)

    async def _forget(self, query: str, after_seconds: float) -> int:
        return await delete_in_steps(
            lambda: run_statement(self._pool.execute(self._sql[query], after_seconds, FORGET_ROWS)),
            FORGET_ROWS,
            statements_max=FORGET_STATEMENTS_MAX,
        )


def _order(row: Mapping[str, Any]) -> StoredOrder:
    return StoredOrder(
        command=msgspec.json.decode(row["command"], type=OrderCommand),
        company_id=row["company_id"],
        configuration_id=row["provider_configuration_id"],
        channel=row["channel"],
        asked_at=from_datetime(row["asked_at"]),
        provider_ref=row["provider_ref"],
        facts=row["facts"],
        result=None if row["outcome"] is None else msgspec.json.decode(row["outcome"], type=DeliveryResult),
        has_ended=row["ended_at"] is not None,
    )
