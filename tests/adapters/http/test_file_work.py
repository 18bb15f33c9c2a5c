"""Does a file of one company keep others waiting? Real uploads, over a real server where a client hangs up."""

import asyncio
import io
import os
import resource
import time
import zipfile
from base64 import b64encode
from pathlib import Path
from typing import Any

import pytest
from openpyxl import Workbook

from adapters.http.exchange import file_work
from adapters.http.exchange.file_work import FileWork
from adapters.http.exchange.problems import ProblemError
from tests.adapters.http.conftest import Company

pytestmark = pytest.mark.asyncio(loop_scope="session")

PATH = "/api/v1/lead_imports"


def packed(rows: int) -> str:
    """Return a sheet whose few bytes take long to read."""
    data = io.BytesIO()
    Workbook().save(data)
    cells = b"".join(b'<c t="inlineStr"><is><t>x</t></is></c>' for _ in range(20))
    body = b'<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>'
    body += (b"<row>" + cells + b"</row>") * rows + b"</sheetData></worksheet>"
    changed = io.BytesIO()
    with zipfile.ZipFile(data) as source, zipfile.ZipFile(changed, "w", zipfile.ZIP_DEFLATED) as target:
        for entry in source.infolist():
            is_sheet = entry.filename == "xl/worksheets/sheet1.xml"
            target.writestr(entry.filename, body if is_sheet else source.read(entry))
        target.writestr("padding", os.urandom(len(body) // 90), zipfile.ZIP_STORED)
    return b64encode(changed.getvalue()).decode()


async def preview(company: Company, token: str, content: dict[str, Any]) -> tuple[int, float]:
    began = time.monotonic()
    answer = await company.send("POST", PATH, json={"lead_token": token, "dry_run": True, **content})
    return answer.status_code, time.monotonic() - began


async def test_twelve_large_sheets_of_one_company_delay_neither_the_import_nor_the_reads_of_another(
    company: Company, other: Company
) -> None:
    large = {"format": "xlsx", "content_base64": packed(20_000)}
    small = {"content": "caller_id,name\n+12125550114,Zoë\n"}
    own, theirs = (await company.schedule())["lead_token"], (await other.schedule())["lead_token"]
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    flood = [asyncio.create_task(preview(company, own, large)) for _ in range(12)]
    await asyncio.sleep(0.3)
    reads = []
    for _ in range(5):
        status, seconds = await preview(other, theirs, small)
        assert status == 201
        reads.append(seconds)
    assert sorted(reads)[2] < 1.0, reads
    for task in flood[1:]:
        task.cancel()
    answers = [status for status, _ in await asyncio.gather(*flood[:1])]
    await asyncio.gather(*flood, return_exceptions=True)
    assert set(answers) <= {201, 413, 422, 429}  # 413: on a busy machine it had no turn within its 30 s
    assert (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - memory) / 1024 < 300


async def test_one_company_has_one_file_read_at_a_time_and_the_next_waits_or_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("adapters.http.exchange.report_slots.WAIT_SECONDS", 0.05)
    files, running, most = FileWork(), 0, 0

    async def work() -> None:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0.3)
        running -= 1

    tasks = [asyncio.create_task(files.run(1, Connected().receive, work())) for _ in range(6)]
    await asyncio.sleep(0)
    await files.run(2, Connected().receive, asyncio.sleep(0))  # another company's goes on beside it
    results = await asyncio.gather(*tasks, return_exceptions=True)
    assert most == 1
    refused = [one for one in results if isinstance(one, ProblemError)]
    assert (len(refused), {one.code for one in refused}) == (5, {"rate_limited"})


class Connected:
    """A request whose client stays, until it hangs up."""

    def __init__(self) -> None:
        self.gone = asyncio.Event()

    async def receive(self) -> Any:
        await self.gone.wait()
        return {"type": "http.disconnect"}


async def test_work_ends_when_the_client_hangs_up_and_when_it_takes_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    files, ended = FileWork(), []

    async def work() -> None:
        try:
            await asyncio.sleep(60)
        finally:
            ended.append(time.monotonic())

    client = Connected()
    asyncio.get_running_loop().call_later(0.05, client.gone.set)
    with pytest.raises(ProblemError, match="hung up"):
        await files.run(1, client.receive, work())
    monkeypatch.setattr(file_work, "SECONDS_MAX", 0.05)
    with pytest.raises(ProblemError, match="split it"):
        await files.run(1, Connected().receive, work())
    assert len(ended) == 2


async def test_nothing_that_a_stranger_starts_uses_the_default_threads() -> None:
    """Those look up host names, too: a full pool delays every request."""
    folder = Path(file_work.__file__).parents[1]
    using = {path.name for path in folder.rglob("*.py") if "to_thread(" in path.read_text("utf-8")}
    assert using == set()
