"""Does the reader of a file see that it is not whole, and is a reader that takes nothing let go?"""

import asyncio
import socket
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from adapters.http import app
from adapters.http.exchange import exports
from adapters.http.server import serving
from adapters.reads.ports import ReadsUnavailableError

pytestmark = pytest.mark.asyncio(loop_scope="session")


PIECE = b"1,2\r\n" * 20_000


async def test_a_file_that_cannot_be_read_to_its_end_is_not_taken_for_a_whole_one(
    town: Any, company: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    async def half_of_it(*_: Any) -> AsyncIterator[bytes]:
        yield PIECE
        raise ReadsUnavailableError("the database is gone")

    async with (
        serving(town.app, host="127.0.0.1", port=0) as port,
        httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", headers=company.headers) as client,
    ):
        assert (await client.get("/api/v1/leads.csv")).status_code == 200
        monkeypatch.setattr(exports, "_batches", half_of_it)
        with pytest.raises(httpx.RemoteProtocolError, match="incomplete"):
            await client.get("/api/v1/leads.csv")
    logged = "".join(capsys.readouterr())
    assert "response.aborted" in logged
    assert "the database is gone" in logged


async def test_a_reader_that_takes_nothing_is_let_go(
    town: Any, company: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    async def without_end(*_: Any) -> AsyncIterator[bytes]:
        while True:
            yield PIECE

    monkeypatch.setattr(app, "STALL_SECONDS", 0.2)
    monkeypatch.setattr(exports, "_batches", without_end)
    headers = "".join(f"{name}: {value}\r\n" for name, value in company.headers.items())
    async with serving(town.app, host="127.0.0.1", port=0) as port, asyncio.timeout(30):
        with socket.socket() as stalled:
            stalled.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            stalled.setblocking(False)
            await asyncio.get_running_loop().sock_connect(stalled, ("127.0.0.1", port))
            stalled.sendall(f"GET /api/v1/leads.csv HTTP/1.1\r\nHost: x\r\n{headers}\r\n".encode())
            logged = ""
            while "response.aborted" not in logged:
                await asyncio.sleep(0.01)
                logged += "".join(capsys.readouterr())
    assert "response.aborted" in logged
    assert "TimeoutError" in logged
