"""Does the server answer on a socket, in the loop that started it, and let go of the port at the end?"""

import asyncio
import socket
from pathlib import Path
from typing import Any

import httpx
import pytest

from adapters.http import console, server
from adapters.http.exchange import binding
from adapters.http.server import ServerError, serving
from tests.adapters.http.conftest import WAIT_SECONDS

pytestmark = pytest.mark.asyncio(loop_scope="session")

TEMPLATES = Path(console.__file__).parent / "templates"


NUMBER = "+13055550142"


async def test_requests_over_a_socket_share_the_loop_of_their_producer(town: Any, company: Any) -> None:
    schedule = await company.schedule()
    async with (
        serving(town.app, host="127.0.0.1", port=0) as port,
        httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", headers=company.headers, timeout=WAIT_SECONDS) as client,
    ):
        fields = [{"lead_token": schedule["lead_token"], "caller_id": f"+1305555{place:04d}"} for place in range(100, 120)]
        answers = await asyncio.gather(*(client.post("/api/v1/leads", json=body) for body in fields))
        assert {answer.status_code for answer in answers} == {201}, answers[0].text
        listed = await client.get("/api/v1/leads", params={"per_page": "5"})
        assert listed.json()["metadata"]["total_count"] == 20
        large = await client.post("/api/v1/leads", content=b"x" * 300_000)
        assert (large.status_code, large.json()["code"]) == (413, "too_large")
        plus = await client.get(f"/api/v1/leads/{schedule['lead_token']}/+13055550100/by_caller_number")
        escaped = await client.get(f"/api/v1/leads/{schedule['lead_token']}/%2B13055550100/by_caller_number")
        assert plus.json()["lead"]["id"] == escaped.json()["lead"]["id"]
    with socket.create_server(("127.0.0.1", port)):
        pass


def post_at_once(port: int, body: bytes) -> bytes:
    """Send the whole of a body before reading, as simple clients do; return the first line of the answer."""
    head = f"POST /api/v1/leads HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    with socket.create_connection(("127.0.0.1", port), timeout=WAIT_SECONDS) as connection:
        connection.sendall(head.encode() + body)
        return connection.recv(1_000).partition(b"\r\n")[0]


async def test_a_sender_of_megabytes_sees_why_its_body_is_refused(town: Any) -> None:
    async with serving(town.app, host="127.0.0.1", port=0) as port:
        answers = await asyncio.gather(*(asyncio.to_thread(post_at_once, port, b"x" * 4_000_000) for _ in range(8)))
    assert set(answers) == {b"HTTP/1.1 413 Payload Too Large"}, answers


async def test_head_gets_the_headers_of_get_and_nothing_else(town: Any, company: Any) -> None:
    async with (
        serving(town.app, host="127.0.0.1", port=0) as port,
        httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", headers=company.headers, timeout=WAIT_SECONDS) as client,
    ):
        for path in ("/api/v1/leads", "/api/v1/leads.csv", "/api/v1/leads/1", "/nowhere", "/livez"):
            whole, head = await client.get(path), await client.head(path)
            assert (head.status_code, head.content) == (whole.status_code, b""), path
            names = ("content-type", "content-length", "x-total-count")
            assert [head.headers.get(name) for name in names] == [whole.headers.get(name) for name in names], path


async def test_a_client_that_goes_away_leaves_nothing_behind(town: Any, company: Any) -> None:
    async with serving(town.app, host="127.0.0.1", port=0) as port:
        _, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(
            b"POST /api/v1/leads HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{"
        )
        await writer.drain()
        writer.close()
        await asyncio.sleep(0.1)
        async with httpx.AsyncClient(
            base_url=f"http://127.0.0.1:{port}", headers=company.headers, timeout=WAIT_SECONDS
        ) as client:
            assert (await client.get("/livez")).status_code == 200


@pytest.mark.parametrize("sent", [b"", b"GET /livez HTTP/1.1\r\nHo", b"GET /livez HTTP/1.1\r\nHost: x\r\n\r\n"])
async def test_who_says_nothing_keeps_no_place(town: Any, monkeypatch: pytest.MonkeyPatch, sent: bytes) -> None:
    monkeypatch.setattr(server, "HEADER_READ_MILLISECONDS", 300)
    async with serving(town.app, host="127.0.0.1", port=0) as port, asyncio.timeout(60):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(sent)
        await reader.read()  # to its end: the connection is closed
        writer.close()


async def test_who_trickles_a_body_is_sent_away_and_keeps_no_place(town: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(binding, "BODY_SECONDS", 0.3)
    async with serving(town.app, host="127.0.0.1", port=0) as port, asyncio.timeout(60):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        head = b"POST /api/v1/leads HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n"
        writer.write(head + b"{")
        received = await reader.read()  # to its end: the connection is closed
        writer.close()
    assert received.startswith(b"HTTP/1.1 400 ")
    assert b"send it within 0.3 s, plus a second for each 10000 bytes" in received


async def test_a_very_long_path_and_methods_that_nobody_has_cost_others_nothing(town: Any) -> None:
    async with (
        serving(town.app, host="127.0.0.1", port=0) as port,
        httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=WAIT_SECONDS) as client,
    ):
        for path in ("a" * 60_000, "a@" * 30_000, "1" * 60_000, "lt_" * 20_000):
            assert (await client.get(f"/api/v1/leads/{path}")).status_code in {401, 431}
        for place in range(20):
            assert (await client.request(f"MADE{place}", "/livez")).status_code == 405
    figures = town.metrics.text().decode()
    assert 'method="other"' in figures
    assert "MADE" not in figures


async def test_a_request_with_two_host_lines_is_refused_whatever_they_say(town: Any) -> None:
    async with serving(town.app, host="127.0.0.1", port=0) as port, asyncio.timeout(60):
        for path in ("/api/v1/leads", "/console", "/livez", "/nowhere"):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(f"GET {path} HTTP/1.1\r\nHost: a\r\nHost: b\r\nConnection: close\r\n\r\n".encode())
            received = await reader.read()
            writer.close()
            assert received.split(b" ", 2)[1] in {b"421", b"400"}, (path, received)


async def test_each_page_has_a_policy_and_lets_no_script_in_what_it_loads(town: Any) -> None:
    """People paste keys into the pages of the documentation."""
    docs = "/api/docs/1.0"
    for path in (docs, f"{docs}/events", f"{docs}/guides", f"{docs}/guides/producers", "/console/sign-in"):
        answer = await town.client.get(path, headers={"Accept": "text/html"})
        policy = answer.headers["content-security-policy"]
        assert (answer.status_code, answer.headers["content-type"][:9]) == (200, "text/html"), path
        assert "default-src 'none'" in policy, path
        assert "unsafe" not in policy, path
        assert "frame-ancestors 'none'" in policy, path
        assert answer.headers["x-content-type-options"] == "nosniff", path
    loading = [page for page in TEMPLATES.glob("*.html") if "htmx-config" in page.read_text("utf-8")]
    assert loading
    assert all('"allowEval":false,"allowScriptTags":false' in page.read_text("utf-8") for page in loading)


async def test_a_taken_port_is_an_error_that_names_it(town: Any) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(ServerError, match=str(port)):
            async with serving(town.app, host="127.0.0.1", port=port):
                pass
