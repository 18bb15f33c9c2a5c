"""How long do a page of a list and a report take on a large company? In milliseconds over HTTP, and against bare SELECTs.

Pages are requested with every filter in turn, newest first and by cursor; reports by every category in turn, over the last
month and over all time. The figure is the 95th percentile of all requests; each is repeated, and pages are first requested
once without counting, so that their rows are in memory as on a busy server. The baseline reads or sums the same rows by one
bare statement on an open connection.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any
from urllib.parse import urlencode

import asyncpg

from adapters.observability.metrics import Metrics
from adapters.roles.api import ApiRole
from adapters.roles.context import Context
from deploy.bench.dataset_cache import count_other_leads, open_data_set
from deploy.bench.large import COMPANY_ID
from deploy.bench.latency import serving_roles
from deploy.bench.row import BenchError, Row, Runs, quantile, row
from deploy.bench.stage import Stage, deployment
from deploy.bench.submissions import PRIVATE_KEY, PUBLIC_KEY
from deploy.bench.wire import KeptConnection, get
from deploy.bench.writing import SUBMISSIONS_PER_SECOND, Submitted, background_submissions
from engine.views.report import CALL_CATEGORIES, LEAD_CATEGORIES

PAGE_RUNS = 5
REPORT_RUNS = 2
ANSWER_SECONDS = 60.0
P95 = 0.95
PROJECTED_MIN = 0.8
"""Share of the background submissions; the others may not be projected yet when the bench ends."""

MONTH = {"created_at_from": "2026-06-15 16:00:00 +0000", "created_at_to": "2026-07-15 16:00:00 +0000"}
YEAR = {"created_at_from": "2025-07-15 16:00:00 +0000", "created_at_to": "2026-07-15 16:00:00 +0000"}
OLD = {"created_at_from": "2023-12-10 00:00:00 +0000", "created_at_to": "2024-01-09 00:00:00 +0000"}
DAYS = {"created_at_from": "2026-07-08 16:00:00 +0000", "created_at_to": "2026-07-15 16:00:00 +0000"}

LEAD_PAGES: tuple[dict[str, str], ...] = (
    {}, {"page": "300"}, {"cursor": "-1", "per_page": "100"}, {"cursor": "100000000"}, {"status": "scheduled"},
    {"status": "removed"}, {"status": "waiting_to_dial"}, {"status": "completed_with_one_call"},
    {"status_wait": "quiet_hours_state"}, {"offer_id": "3"}, {"schedule_id": "7"}, {"buyer_id": "6"},
    {"traffic_source_id": "9"}, {"contact_id": "77"}, {"number": "+12120000077"}, {"email": "Person300@example.com"},
    {"has_next_action": "true"}, {"has_next_action": "false"}, {"buyer_converted": "true"}, {"offer_converted": "true"},
    {"either_converted": "true"}, {"either_converted": "false"}, {"opt_out": "true"}, MONTH,
    {"next_action_at_from": "2026-07-16 00:00:00 +0000", "next_action_at_to": "2026-07-16 06:00:00 +0000"},
    {"fulltext": "lee1999"}, {"fulltext": "ann77 lee"}, {"fulltext": "0000077"}, {"fulltext": "nobody"},
    {"status": "expired", "offer_id": "5"}, {"opt_out": "true", "cursor": "-1", "per_page": "100"},
    {"serializer": "lead_grid", "per_page": "100"}, OLD, {"cursor": "-1", **OLD}, {"created_at_label": "Last Year"},
    {"order": "updated_at"}, {"order": "last_call_at"}, {"order": "revenue"}, {"order": "email", "order_dir": "asc"},
    {"order": "next_action_at", "order_dir": "asc"}, {"order": "status", "page": "200"}, {"fulltext": "steep"},
)  # fmt: skip
CALL_PAGES: tuple[dict[str, str], ...] = (
    {}, {"page": "1"}, {"per_page": "1000"}, {"cursor": "200000000"}, {"status": "busy"}, {"offer_id": "2"},
    {"buyer_id": "6"}, {"buyer_group_ids": "4"}, {"number_id": "3"}, {"contact_id": "88"}, {"buyer_converted": "true"},
    {"in_progress": "true"}, {"no_buyer": "false"}, {"has_recording": "true"}, {"ring_pool_id": "3"},
    {"token_value": "first_name:Ann77"}, {"fulltext": "ann77"}, {"traffic_source_id": "9", **MONTH}, {"order": "ended_at"},
    {"order": "talk_duration"}, {"order": "attempt_number", "order_dir": "asc"}, {"no_buyer": "true"}, OLD,
    {"buyer_repeat_caller": "true"}, {"ended_at_to": "2024-01-09 00:00:00 +0000", "page": "1"},
)  # fmt: skip


async def measure(stage: Stage, say: Callable[[str], None]) -> list[Row]:
    """Measure `list_page` and `reports`, also against bare statements, during background submissions."""
    async with open_data_set(stage, say) as (dsn, calls):
        return await _measured(stage, dsn, calls, say)


async def _measured(stage: Stage, dsn: str, calls: int, say: Callable[[str], None]) -> list[Row]:
    size = f"of {stage.leads:,} leads and {calls:,} calls, {SUBMISSIONS_PER_SECOND} submissions/s beside"
    async with deployment(stage, dsn) as context:
        api = ApiRole(context, Metrics())
        async with serving_roles(api), _client(api.port) as client, _beside(stage, context) as beside:
            bare = await asyncpg.connect(dsn, server_settings={"jit": "off"})
            try:
                say(f"list_page: {size}")
                pages, page_rows = await _pages(client, bare)
                say(f"reports: {size}")
                reports, report_rows = await _reports(client, bare)
            finally:
                await bare.close()
    if await count_other_leads(dsn) < PROJECTED_MIN * beside.submitted:
        raise BenchError(f"of {beside.submitted} submissions beside, few were projected")
    return [
        row("list_page", Runs(ours=[quantile(pages.ours, P95)]), goal="<= 50", unit=f"ms p95 {size}"),
        row("list_page_select", page_rows, goal="<= 5", unit=f"ms at the median {size}"),
        row("reports", Runs(ours=[quantile(reports.ours, P95)]), goal="<= 2000", unit=f"ms p95 {size}"),
        row("reports_select", report_rows, goal="<= 3", unit=f"ms at the median {size}"),
    ]


def _beside(stage: Stage, context: Context) -> AbstractAsyncContextManager[Submitted]:
    return background_submissions(context.settings, stage.folder / "submissions.log")


async def _pages(client: KeptConnection, bare: Any) -> tuple[Runs, Runs]:
    measured, against = Runs(), Runs()
    asked = [("leads", query) for query in LEAD_PAGES] + [("calls", query) for query in CALL_PAGES]
    for table, query in asked:  # not counted: the disk of this machine is not what is measured
        await _get(client, f"/api/v1/{table}", query)
    for _ in range(PAGE_RUNS):
        for table, query in asked:
            measured.ours.append(await _get(client, f"/api/v1/{table}", query))
            if not query:
                against.ours.append(measured.ours[-1])
                against.baseline.append(await _select(bare, NEWEST[table]))
    return measured, against


async def _reports(client: KeptConnection, bare: Any) -> tuple[Runs, Runs]:
    measured, against = Runs(), Runs()
    for _ in range(REPORT_RUNS):
        for table, query in REPORTS:
            measured.ours.append(await _get(client, f"/api/v1/{table}/reports", query))
            if query == {"category": "status"}:
                against.ours.append(measured.ours[-1])
                against.baseline.append(await _select(bare, SUMS[table]))
    return measured, against


def _spans(category: str) -> list[dict[str, str]]:
    """Return the periods to request a category for: a month and all time; shorter ones for short units of time."""
    return {"created_at_five_minutes": [DAYS], "created_at_hour": [MONTH, YEAR]}.get(category, [MONTH, {}])


REPORTS: tuple[tuple[str, dict[str, str]], ...] = (
    *(("leads", {"category": category, **span}) for category in LEAD_CATEGORIES for span in _spans(category)),
    *(("calls", {"category": category, **span}) for category in CALL_CATEGORIES for span in _spans(category)),
    ("leads", {"category": "created_at_day", "time_zone": "Asia/Kathmandu", **YEAR}),
    ("calls", {"category": "created_at_week", "time_zone": "Australia/Adelaide"}),
    ("leads", {"category": "status", "pivot": "offer_id"}),
    ("leads", {"category": "status", "pivot": "offer_id", **YEAR}),
    ("leads", {"category": "schedule_id", "pivot": "traffic_source_id"}),
    ("leads", {"category": "state", "pivot": "buyer_id", **YEAR}),
    ("leads", {"category": "traffic_source_id", "pivot": "created_at_day", **MONTH}),
    ("leads", {"category": "created_at_month", "pivot": "status"}),
    ("leads", {"category": "offer_id", "pivot": "created_at_week", **YEAR}),
    ("leads", {"category": "status", "fulltext": "lee1999"}),
    ("calls", {"category": "outcome", "buyer_id": "6"}),
    ("calls", {"category": "outcome", "offer_id": "3", **YEAR}),
    ("calls", {"category": "status", "schedule_id": "7"}),
    ("calls", {"category": "state", "traffic_source_id": "1"}),
    ("calls", {"category": "disposition_id", "buyer_group_ids": "1,2"}),
    ("calls", {"category": "hour_of_day", "buyer_converted": "false"}),
    ("calls", {"category": "created_at_month", "offer_id": "1"}),
    ("calls", {"category": "created_at_week", "buyer_id": "6", **YEAR}),
    ("calls", {"category": "created_at_day", "status": "busy", **MONTH}),
    ("calls", {"category": "traffic_source_id", "buyer_converted": "true"}),
    ("calls", {"category": "created_at_week", "offer_id": "1", "time_zone": "America/New_York"}),
    ("calls", {"category": "created_at_day", "offer_id": "1", "time_zone": "America/New_York", **YEAR}),
    ("leads", {"category": "created_at_day", "pivot": "status", "time_zone": "America/New_York", **YEAR}),
    ("leads", {"category": "created_at_day", "pivot": "recent_call_disposition_id", "time_zone": "Asia/Kolkata", **YEAR}),
    ("leads", {"category": "recent_call_disposition_id", "pivot": "schedule_action_id"}),
    ("calls", {"category": "outcome", "offer_id": "1", "traffic_source_id": "1"}),
)
"""Every category, time zones with fractional offsets, pivots, and filters with and without rollups."""


NEWEST = {
    "leads": """
SELECT * FROM read.leads WHERE company_id = $1 AND deleted_at IS NULL ORDER BY created_at DESC, id DESC LIMIT 25
""",
    "calls": """
SELECT * FROM read.calls WHERE company_id = $1 AND deleted_at IS NULL ORDER BY created_at DESC, id DESC LIMIT 25
""",
}
SUMS = {
    "leads": """
SELECT status, count(*), sum(outbound_calls_count), sum(sms_count), sum(emails_count), sum(revenue), sum(payout)
FROM read.leads WHERE company_id = $1 AND deleted_at IS NULL GROUP BY 1
""",
    "calls": """
SELECT status, count(*), sum(talk_duration), sum(total_duration), sum(revenue), sum(payout), sum(cost)
FROM read.calls WHERE company_id = $1 AND deleted_at IS NULL GROUP BY 1
""",
}


@asynccontextmanager
async def _client(port: int) -> AsyncIterator[KeptConnection]:
    client = KeptConnection("127.0.0.1", port)
    try:
        yield client
    finally:
        await client.close()


async def _get(client: KeptConnection, path: str, query: dict[str, str]) -> float:
    """Return the milliseconds until the whole answer was there."""
    request = get(f"{path}?{urlencode(query)}", PUBLIC_KEY, PRIVATE_KEY)
    started = time.perf_counter()
    async with asyncio.timeout(ANSWER_SECONDS):
        await client.ask(request)
    return (time.perf_counter() - started) * 1000


async def _select(bare: Any, statement: str) -> float:
    started = time.perf_counter()
    found: Sequence[Any] = await bare.fetch(statement, COMPANY_ID)
    if not found:
        raise BenchError("the bare statement found nothing")
    return (time.perf_counter() - started) * 1000
