"""Are attempts to post webhooks listed, narrowed and shown, and named by the firing that ordered them?"""

from typing import Any

import pytest

from adapters.gateway.ports import WebhookAttempt
from adapters.postgres.webhook_logs import PostgresWebhookLog
from schemas.instant import Instant
from tests.adapters.gateway.world import command_of
from tests.adapters.http.conftest import Company, Town, unquoted
from tests.adapters.http.test_manual_fires import fired, lead_of, webhook

PATH = "/api/v1/webhook_logs"
NOON = Instant(1_781_697_600_000)  # 2026-06-17 12:00 UTC

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def log(
    town: Town, company: Company, number: int = 1, *, at: int = 0, status: int | None = 200, **command: Any
) -> None:
    """Write an attempt down, as the gateway does."""
    given = WebhookAttempt(
        command=command_of("webhook", company_id=company.id, **command),
        number=number,
        at=NOON + at * 1_000,
        milliseconds=7,
        method="POST",
        host="crm.example.com",
        status=status,
        is_accepted=status == 200,
        detail="thanks" if status == 200 else "no",
    )
    await PostgresWebhookLog(town.pool).add(given)


async def listed(company: Company, **query: str) -> list[dict[str, Any]]:
    answer = await company.send("GET", PATH, params=query)
    assert answer.status_code == 200, answer.text
    found: list[dict[str, Any]] = answer.json()["webhook_logs"]
    return found


async def test_every_parameter_of_the_list_takes_effect(town: Town, company: Company) -> None:
    await log(town, company, outgoing_webhook_id=7, fire_id=70, call_id=30, lead_id=20)
    await log(town, company, at=60, status=None, outgoing_webhook_id=7, lead_id=21)
    await log(town, company, at=120, status=500, outgoing_webhook_id=8, lead_id=21)
    rows = await listed(company)
    third, second, first = (row["id"] for row in rows)
    assert [row["status"] for row in rows] == [500, None, 200]
    for query, expected in [
        ({"ids": f"{first},{third}"}, [third, first]),
        ({"outgoing_webhook_id": "7"}, [second, first]),
        ({"webhook_manual_fire_id": "70"}, [first]),
        ({"lead_id": "21"}, [third, second]),
        ({"call_id": "30"}, [first]),
        ({"accepted": "true"}, [first]),
        ({"accepted": "false", "lead_id": "21"}, [third, second]),
        ({"created_at_from": "2026-06-17 12:01:00 +0000"}, [third, second]),
        ({"created_at_to": "2026-06-17 12:01:00", "time_zone": "UTC"}, [first]),
        ({"page": "2", "per_page": "2"}, [first]),
        ({"cursor": str(third)}, [second, first]),
    ]:
        found = await listed(company, columns="id", **query)
        assert [row["id"] for row in found] == expected, query
        assert all(list(row) == ["id"] for row in found)
    bare = await company.send("GET", PATH, params={"root": "false"})
    assert bare.json() == rows
    table = await company.send("GET", f"{PATH}.csv", params={"columns": "id,status"})
    assert unquoted(table.text).splitlines() == ["id,status", f"{third},500", f"{second},", f"{first},200"]
    shown = await company.send("GET", f"{PATH}/{first}")
    assert shown.json()["webhook_log"] == rows[2]


async def test_a_firing_names_its_attempts(town: Town, company: Company) -> None:
    made = await fired(company, outgoing_webhook_id=await webhook(company), lead_id=await lead_of(town, company))
    assert made["webhook_log_ids"] == []
    for number in (1, 2):
        await log(town, company, number, at=number, fire_id=made["id"])
    ids = [row["id"] for row in await listed(company, webhook_manual_fire_id=str(made["id"]))][::-1]
    path = "/api/v1/webhook_manual_fires"
    shown = await company.send("GET", f"{path}/{made['id']}")
    assert shown.json()["webhook_manual_fire"]["webhook_log_ids"] == ids
    table = await company.send("GET", path, params={"columns": "id,webhook_log_ids"})
    assert table.json()["webhook_manual_fires"] == [{"id": made["id"], "webhook_log_ids": ids}]


async def test_an_attempt_of_another_company_is_unknown(town: Town, company: Company, other: Company) -> None:
    await log(town, other)
    (theirs,) = await listed(other)
    assert await listed(company) == []
    for reference in (theirs["id"], "0192a1b2-0000-8000-8000-00000000000a"):
        assert (await company.send("GET", f"{PATH}/{reference}")).status_code == 404
