"""Do exports and reports leave the interface to the others? On a whole deployment, with readers that take nothing."""

import asyncio
import csv
import io
import threading
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest

from adapters.http import app
from adapters.http.exchange import answers, exports, report_slots
from adapters.http.exchange.active_companies import ActiveCompanies
from adapters.http.exchange.export_slots import EXPORTS_MAX, ExportSlots
from adapters.http.reports import reports
from tests.adapters.http.conftest import Company, Town

pytestmark = pytest.mark.asyncio(loop_scope="session")

HANG_SECONDS = 60.0
"""Longer than a busy machine takes for anything."""


@pytest.fixture(autouse=True)
def _patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let nobody be cut off because the machine is busy."""
    monkeypatch.setattr(app, "STALL_SECONDS", 10 * HANG_SECONDS)


class Reader:
    """Asks for a file and takes its first batch; the rest only when `takes_more` is set."""

    def __init__(self, town: Town, company: Company) -> None:
        self._town = town
        self._headers = [(name.lower().encode(), value.encode()) for name, value in company.headers.items()]
        self.began = asyncio.Event()
        self.takes_more = asyncio.Event()
        self._ended = asyncio.Event()
        self.status = 0
        self.body = b""

    async def read(self) -> None:
        scope = {
            "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": "GET", "scheme": "http",
            "path": "/api/v1/leads.csv", "raw_path": b"/api/v1/leads.csv", "query_string": b"columns=id", "root_path": "",
            "headers": self._headers, "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 80), "state": {},
        }  # fmt: skip
        await self._town.app(scope, self._receive, self._send)  # type: ignore[arg-type]

    async def _receive(self) -> dict[str, Any]:
        await self._ended.wait()  # hangs up after the answer alone
        return {"type": "http.disconnect"}

    async def _send(self, message: Any) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            return
        self.body += message.get("body", b"")
        if self.body:
            self.began.set()
            await self.takes_more.wait()
        if not message.get("more_body"):
            self._ended.set()


@asynccontextmanager
async def slow_readers(town: Town, companies: Sequence[Company]) -> AsyncIterator[list[Reader]]:
    """One reader for each company given, each in the middle of its file."""
    readers = [Reader(town, company) for company in companies]
    tasks = [asyncio.create_task(reader.read()) for reader in readers]
    try:
        async with asyncio.timeout(HANG_SECONDS):
            await asyncio.gather(*(reader.began.wait() for reader in readers))
        yield readers
        for reader in readers:
            reader.takes_more.set()
        async with asyncio.timeout(HANG_SECONDS):
            await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def with_leads(company: Company, count: int = 3) -> None:
    token = (await company.schedule())["lead_token"]
    for number in range(count):
        body = {"lead_token": token, "caller_id": f"+1212555010{number}"}
        answer = await company.send("POST", "/api/v1/leads", json=body)
        assert answer.status_code == 201, answer.text


async def whole(company: Company) -> list[dict[str, str]]:
    answer = await company.send("GET", "/api/v1/leads.csv", params={"columns": "id"})
    assert answer.status_code == 200, answer.text
    return list(csv.DictReader(io.StringIO(answer.text)))


async def test_slow_readers_keep_no_connection_and_no_turn_from_others(
    town: Town, company: Company, other: Company, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exports, "BATCH_ROWS", 1)
    await with_leads(company)
    await with_leads(other)
    async with slow_readers(town, [company, other] * 6) as readers:  # more than the pool has connections
        async with asyncio.timeout(HANG_SECONDS):
            assert len(await whole(company)) == 3
    assert [reader.status for reader in readers] == [200] * 12
    assert all(reader.body.count(b"\r\n") == 4 for reader in readers)


async def test_a_company_is_sent_half_of_all_files_at_once_and_another_is_still_sent_one(
    town: Town, company: Company, other: Company, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exports, "BATCH_ROWS", 1)
    await with_leads(company)
    await with_leads(other)
    async with slow_readers(town, [company] * (EXPORTS_MAX // 2)):
        monkeypatch.setattr(report_slots, "WAIT_SECONDS", 0.05)
        refused = await company.send("GET", "/api/v1/leads.csv")
        monkeypatch.setattr(report_slots, "WAIT_SECONDS", HANG_SECONDS)
        assert (refused.status_code, refused.json()["code"], refused.headers["Retry-After"]) == (429, "rate_limited", "5")
        assert len(await whole(other)) == 3
        assert (await company.send("GET", "/api/v1/leads")).status_code == 200
    assert len(await whole(company)) == 3


async def test_a_file_that_is_only_looked_at_gives_its_place_back(company: Company) -> None:
    for _ in range(EXPORTS_MAX + 1):
        assert (await company.send("HEAD", "/api/v1/leads.csv")).status_code == 200


async def test_a_file_whose_reader_hangs_up_gives_its_place_back(
    town: Town, company: Company, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exports, "BATCH_ROWS", 1)
    await with_leads(company)
    for _ in range(3):
        readers = [Reader(town, company) for _ in range(EXPORTS_MAX // 2)]
        tasks = [asyncio.create_task(reader.read()) for reader in readers]
        async with asyncio.timeout(HANG_SECONDS):
            await asyncio.gather(*(reader.began.wait() for reader in readers))
        for task in tasks:
            task.cancel()  # as the server does
        await asyncio.gather(*tasks, return_exceptions=True)
    assert len(await whole(company)) == 3


async def test_batches_are_worked_on_one_at_a_time_and_companies_take_turns() -> None:
    active = ActiveCompanies(lambda: 0.0)
    for company_id in (1, 2):
        active.record_request(company_id)
    slots, order, until = ExportSlots(active), list[int](), asyncio.Event()

    async def work(company_id: int) -> None:
        async with slots.acquire_batch(company_id):
            order.append(company_id)
            await until.wait()

    flood = [asyncio.create_task(work(1)) for _ in range(10)]
    await asyncio.sleep(0)
    late = asyncio.create_task(work(2))
    await asyncio.sleep(0)
    assert order == [1]
    until.set()
    async with asyncio.timeout(HANG_SECONDS):
        await asyncio.gather(*flood, late)
    assert order.index(2) <= 2


@pytest.mark.parametrize(
    ("path", "module", "name"),
    [
        ("/api/v1/leads.csv", exports, "write_csv"),
        ("/api/v1/leads?cursor=-1&per_page=1000", answers, "show_rows"),
        ("/api/v1/leads/reports.csv?category=status", answers, "write_csv"),
        ("/api/v1/leads/reports?category=status", reports, "report"),
        ("/api/v1/leads/reports?category=status", reports, "row_of"),
        (
            "/api/v1/calls/stats?group_by=status&stat=count&created_at_from=2026-06-01&created_at_to=2026-07-01",
            reports,
            "report",
        ),
    ],
)
async def test_files_and_reports_are_written_out_beside_the_loop(
    company: Company, monkeypatch: pytest.MonkeyPatch, path: str, module: Any, name: str
) -> None:
    await with_leads(company, 1)
    threads: list[threading.Thread] = []
    real: Callable[..., Any] = getattr(module, name)

    def noted(*arguments: Any, **more: Any) -> Any:
        threads.append(threading.current_thread())
        return real(*arguments, **more)

    monkeypatch.setattr(module, name, noted)
    answer = await company.send("GET", path)
    assert answer.status_code == 200, answer.text
    assert threads
    assert threading.main_thread() not in threads


async def test_a_report_with_too_many_groups_is_refused_before_it_is_computed(
    town: Town, company: Company, monkeypatch: pytest.MonkeyPatch
) -> None:
    await with_leads(company, 2)
    sql: dict[str, str] = town.app._services.reads._sql  # type: ignore[attr-defined]
    monkeypatch.setitem(sql, "leads_grouped", "SELECT 1 / 0")  # computing it fails
    monkeypatch.setattr("adapters.postgres.reports.CELLS_MAX", 1)
    for query, field in (
        ({"category": "zip_postal_code", "pivot": "created_at_day", "created_at_label": "This Week"}, "pivot"),
        ({"category": "created_at_hour", "pivot": "created_at_day", "created_at_label": "This Week"}, "pivot"),
    ):
        refused = await company.send("GET", "/api/v1/leads/reports", params=query)
        assert (refused.status_code, list(refused.json()["errors"])) == (422, [field]), refused.text
    monkeypatch.setattr("adapters.postgres.reports.GROUPS_MAX", 0)
    refused = await company.send("GET", "/api/v1/leads/reports", params={"category": "zip_postal_code"})
    assert (refused.status_code, list(refused.json()["errors"])) == (422, ["category"]), refused.text


async def test_a_report_of_fewer_rows_than_groups_are_allowed_is_computed_without_a_sample(
    town: Town, company: Company, monkeypatch: pytest.MonkeyPatch
) -> None:
    await with_leads(company, 2)
    sql: dict[str, str] = town.app._services.reads._sql  # type: ignore[attr-defined]
    monkeypatch.setitem(sql, "rows_sampled", "SELECT 1 / 0")  # reading it fails
    query = {"category": "zip_postal_code", "created_at_label": "This Week"}
    answer = await company.send("GET", "/api/v1/leads/reports", params=query)
    assert answer.status_code == 200, answer.text
    monkeypatch.setattr("adapters.postgres.reports.GROUPS_MAX", 0)
    answer = await company.send("GET", "/api/v1/leads/reports", params=query)
    assert answer.status_code == 503, answer.text  # more rows than groups are allowed: the sample was read


@pytest.mark.parametrize(
    ("path", "is_short"),
    [
        ("/api/v1/leads", True),
        ("/api/v1/leads?cursor=-1&per_page=100", True),
        ("/api/v1/leads?cursor=-1&per_page=1000", False),
        ("/api/v1/leads.csv", False),
        ("/api/v1/leads/reports?category=status", False),
    ],
)
async def test_the_thread_that_computes_pauses_for_pages_but_not_for_reports_and_exports(
    town: Town, company: Company, monkeypatch: pytest.MonkeyPatch, path: str, is_short: bool
) -> None:
    await with_leads(company, 1)
    services = town.app._services
    seen: list[bool] = []

    def look(name: str) -> None:
        real = getattr(services.reads, name)

        async def read(*arguments: Any, **more: Any) -> Any:
            seen.append(services.short_requests.are_in_progress)
            return await real(*arguments, **more)

        monkeypatch.setattr(services.reads, name, read)

    look("leads")
    look("sums")
    assert (await company.send("GET", path)).status_code == 200
    assert seen
    assert set(seen) == {is_short}
    assert not services.short_requests.are_in_progress


async def test_a_request_that_failed_is_no_longer_in_progress(town: Town, company: Company) -> None:
    assert (await company.send("GET", "/api/v1/leads?no_such=1")).status_code == 422
    assert (await company.send("GET", "/no/such/path")).status_code == 404
    assert not town.app._services.short_requests.are_in_progress
