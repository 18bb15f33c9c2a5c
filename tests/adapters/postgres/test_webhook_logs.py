"""Are attempts to post webhooks stored, found by company, and deleted after 30 days? In a real PostgreSQL."""

from typing import Any

from adapters.gateway.ports import WebhookAttempt
from adapters.postgres.pool import Pool
from adapters.postgres.webhook_logs import RETENTION, PostgresWebhookLog, PostgresWebhookLogReads
from adapters.reads.ports import Paging, WebhookLogFilter
from schemas.instant import DAY, Instant
from tests.adapters.gateway.world import NOON, command_of


def attempt(number: int = 1, *, at: Instant = NOON, detail: str = "no", **command: Any) -> WebhookAttempt:
    return WebhookAttempt(
        command=command_of("webhook", **command),
        number=number,
        at=at,
        milliseconds=7,
        method="POST",
        host="crm.example.com",
        status=500,
        is_accepted=False,
        detail=detail,
    )


async def details(pool: Pool, company_id: int = 1) -> list[str]:
    page = await PostgresWebhookLogReads(pool).logs(company_id, WebhookLogFilter(), Paging())
    return [row["detail"] for row in page.rows]


async def test_attempts_are_found_by_their_own_company_alone_newest_first(pool: Pool) -> None:
    log = PostgresWebhookLog(pool)
    await log.add(attempt(detail="first"))
    await log.add(attempt(2, at=NOON + 1_000, detail="second \0"))
    await log.add(attempt(detail="theirs", company_id=2))
    assert await details(pool) == ["second \ufffd", "first"]
    assert await details(pool, 2) == ["theirs"]


async def test_a_firing_names_its_attempts_in_their_order(pool: Pool) -> None:
    log = PostgresWebhookLog(pool)
    for number, fire_id in ((1, 5), (1, 6), (2, 5), (1, None)):
        await log.add(attempt(number, fire_id=fire_id))
    await log.add(attempt(fire_id=5, company_id=2))
    reads = PostgresWebhookLogReads(pool)
    found = await reads.ids_of_fires(1, [5, 6, 7])
    assert {fire_id: len(ids) for fire_id, ids in found.items()} == {5: 2, 6: 1}
    assert list(found[5]) == sorted(found[5])
    assert await reads.ids_of_fires(1, []) == {}


async def test_attempts_older_than_the_retention_are_deleted(pool: Pool) -> None:
    log = PostgresWebhookLog(pool)
    await log.add(attempt(detail="old", at=NOON - RETENTION - 1))
    await log.add(attempt(detail="new", at=NOON - RETENTION + DAY))
    assert (await log.purge(NOON), await details(pool)) == (1, ["new"])
