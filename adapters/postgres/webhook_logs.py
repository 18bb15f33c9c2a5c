"""Which attempts to post outgoing webhooks were made? One row each in `work.webhook_logs`, for 30 days.

A rebuild of the projection does not touch them. They are no part of decisions: what a receiver answers may hold anything.
"""

from collections.abc import Mapping, Sequence

from adapters.gateway.ports import WebhookAttempt
from adapters.postgres.conditions import Statement, add_webhook_log_conditions
from adapters.postgres.database_errors import convert_read_errors, run_statement
from adapters.postgres.lists import Lists
from adapters.postgres.old_rows import delete_in_steps
from adapters.postgres.pool import Pool
from adapters.postgres.sql import Schemas, queries
from adapters.reads.ports import Page, Paging, WebhookLogFilter
from schemas.instant import DAY, Instant, to_datetime

RETENTION = 30 * DAY
"""As long as the deliveries of subscriptions, of which it is the counterpart."""

PURGE_ROWS = 5_000
"""Rows of one statement, so that it holds its locks for milliseconds."""

IDS_OF_FIRE_MAX = 100
"""Newest attempts that one firing names: a gateway makes three, and as many again each time another one takes over."""


class PostgresWebhookLog:
    """Keeps the promises of `adapters.gateway.ports.WebhookLog`."""

    def __init__(self, pool: Pool, schemas: Schemas = Schemas()) -> None:  # noqa: B008 - frozen
        self._pool = pool
        self._sql = queries("webhook_logs", schemas)

    async def add(self, attempt: WebhookAttempt) -> None:
        """Insert an attempt."""
        command = attempt.command
        about = command.outgoing_webhook_id, command.fire_id, command.lead_id or None, command.call_id, command.step_id
        sent = command.command_id, attempt.number, attempt.method, attempt.host
        answered = attempt.status, attempt.milliseconds, attempt.is_accepted, attempt.detail.replace("\0", "\ufffd")
        values = command.company_id, to_datetime(attempt.at), *about, *sent, *answered
        await run_statement(self._pool.execute(self._sql["add"], *values))

    async def purge(self, now: Instant) -> int:
        """Delete old attempts and return their number."""
        async with convert_read_errors():
            return await delete_in_steps(
                lambda: self._pool.execute(self._sql["purge"], to_datetime(now - RETENTION), PURGE_ROWS), PURGE_ROWS
            )


class PostgresWebhookLogReads:
    """Keeps the promises of `adapters.reads.ports.WebhookLogReads`."""

    def __init__(self, pool: Pool, schemas: Schemas = Schemas()) -> None:  # noqa: B008 - frozen
        self._pool = pool
        self._sql = queries("webhook_logs", schemas)
        self._lists = Lists(pool, schemas, self._sql)

    async def logs(self, company_id: int, wanted: WebhookLogFilter, paging: Paging) -> Page:
        """Return attempts, newest first."""
        statement = Statement(company_id)
        add_webhook_log_conditions(wanted, statement)
        return await self._lists.page("webhook_logs", statement, paging, "created_at")

    async def ids_of_fires(self, company_id: int, fire_ids: Sequence[int]) -> Mapping[int, Sequence[int]]:
        """Return the newest attempts of each firing."""
        if not fire_ids:
            return {}
        async with convert_read_errors():
            rows = await self._pool.fetch(self._sql["ids_of_fires"], company_id, list(fire_ids), IDS_OF_FIRE_MAX)
        return {row["fire_id"]: row["ids"] for row in rows}
