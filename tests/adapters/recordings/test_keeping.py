"""Does a company whose vendor is slow, or that has much to fetch, hold up no other? On a real PostgreSQL."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

import pytest

from adapters.postgres.recordings import PostgresRecordings
from adapters.providers.ports import RecordingSource
from adapters.recordings import keeping
from adapters.recordings.download import DOWNLOADS_MAX
from adapters.recordings.keeping import RecordingKeeper
from adapters.recordings.ports import Recording
from tests.pace import bound

SLOW, QUICK = 1, 2
WAIT_SECONDS = bound(60.0)


class Vendors:
    """Stands for downloads: those of one company do not end."""

    def __init__(self) -> None:
        self.under_way: list[str] = []

    @asynccontextmanager
    async def open(self, source: RecordingSource) -> AsyncIterator[tuple[str, AsyncIterator[bytes]]]:
        self.under_way.append(source.url)
        if source.url.startswith(f"https://{SLOW}."):
            await asyncio.Event().wait()
        yield "audio/wav", self._parts()

    async def _parts(self) -> AsyncIterator[bytes]:
        yield b"RIFF"


class Files:
    """Stands for a store of files."""

    def __init__(self) -> None:
        self.names: set[str] = set()

    async def put(self, name: str, parts: AsyncIterator[bytes]) -> int:
        self.names.add(name)
        return len(b"".join([part async for part in parts]))

    async def delete(self, name: str) -> None:
        self.names.discard(name)


class Requests:
    """Stands for the log of requests."""

    async def submit(self, *_given: Any, **_more: Any) -> None:
        return


class Keeper(RecordingKeeper):
    """A keeper whose vendors need no accounts."""

    async def _source(self, recording: Recording) -> RecordingSource:
        return RecordingSource(url=recording.recording_url)


async def until(holds: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(WAIT_SECONDS):
        while not await holds():
            await asyncio.sleep(0.01)


async def test_a_slow_vendor_of_one_company_holds_up_neither_downloads_nor_deletions_of_another(
    pool: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keeping, "ROUND_SECONDS", 0.02)
    rows, vendors, files = PostgresRecordings(pool), Vendors(), Files()

    async def owe(company_id: int, number: int) -> str:
        url = f"https://{company_id}.example.com/{number}"
        key = f"{company_id}|+13055550123"
        await rows.owe(company_id=company_id, configuration_id=7, contact_key=key, call_id=9, recording_url=url)
        return url

    for number in range(3 * DOWNLOADS_MAX):
        await owe(SLOW, number)
    keeper = Keeper(
        rows,
        files,  # type: ignore[arg-type]
        downloads=vendors,  # type: ignore[arg-type]
        connections=None,  # type: ignore[arg-type]
        requests=Requests(),
        rules=None,  # type: ignore[arg-type]
    )
    monkeypatch.setattr(keeper, "sweep", _nothing)
    running = asyncio.create_task(keeper.run())
    try:
        await until(lambda: _is(len(vendors.under_way) == DOWNLOADS_MAX // 2))
        for number in range(5):
            url = await owe(QUICK, number)
            await until(lambda url=url: _has_state(rows, url, "stored"))  # type: ignore[misc]
        assert len([one for one in vendors.under_way if one.startswith(f"https://{SLOW}.")]) == DOWNLOADS_MAX // 2

        assert len(files.names) == 5
        await rows.begin_delete(QUICK, url)
        await until(lambda: _has_state(rows, url, "deleted"))
        assert len(files.names) == 4
    finally:
        running.cancel()
        with suppress(asyncio.CancelledError):
            await running


async def _has_state(rows: PostgresRecordings, url: str, state: str) -> bool:
    found = await rows.find(QUICK, url)
    return found is not None and found.state == state


async def _is(value: bool) -> bool:
    return value


async def _nothing() -> int:
    return 0
