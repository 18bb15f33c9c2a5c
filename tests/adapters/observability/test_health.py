"""Does a role answer the three questions, and its scraper, over real HTTP?"""

import asyncio
from collections.abc import AsyncIterator

import httpx
import msgspec
import pytest

from adapters.cli.failures import is_expected
from adapters.http.server import ServerError
from adapters.observability import health
from adapters.observability.health import HealthPortError, HealthServer
from adapters.observability.metrics import Metrics
from adapters.observability.skipped import SkippedRecords
from schemas.instant import Instant

BEGUN_AT = Instant(1_781_715_600_000)
"""17 June 2026, 17:00 UTC."""


class Role:
    """A role with problems, and its server."""

    def __init__(self) -> None:
        self.problems = {"log": "no broker answers at localhost:9092"}
        self.metrics = Metrics()
        self.now = BEGUN_AT
        self.server = HealthServer(lambda: self.problems, self.metrics, now=lambda: self.now)

    async def get(self, path: str, method: str = "GET") -> httpx.Response:
        async with httpx.AsyncClient(trust_env=False) as client:
            return await client.request(method, f"http://127.0.0.1:{self.server.port}{path}")


@pytest.fixture
async def role() -> AsyncIterator[Role]:
    role = Role()
    await role.server.start()
    yield role
    await role.server.stop()


async def test_a_role_that_waits_for_the_broker_lives_and_is_not_ready(role: Role) -> None:
    live, ready, started = [await role.get(path) for path in ("/livez", "/readyz", "/startupz")]

    assert (live.status_code, live.json()) == (200, {"live": True})
    since = {"log": "2026-06-17T17:00:00Z"}
    assert (ready.status_code, ready.json()) == (503, {"ready": False, "problems": role.problems, "since": since})
    assert (started.status_code, started.json()) == (503, {"started": False})


async def test_a_role_that_was_ready_once_has_started(role: Role) -> None:
    role.problems = {}
    assert (await role.get("/readyz")).json() == {"ready": True, "problems": {}}
    role.problems = {"database": "away"}

    assert [(await role.get(path)).status_code for path in ("/livez", "/readyz", "/startupz")] == [200, 503, 200]


async def test_each_problem_says_since_when_it_lasts_also_where_nobody_asked_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(health, "POLL_SECONDS", 0.001)
    role = Role()
    role.problems = {}
    await role.server.start()
    role.problems = {"partition 1": "its state is being restored"}
    async with asyncio.timeout(60):
        while "partition 1" not in role.server._since:
            await asyncio.sleep(0.001)
    role.now += 60_000
    role.problems = {"partition 1": "no broker answers", "partition 2": "its state is being restored"}
    found = (await role.get("/readyz")).json()
    role.problems = {}
    later = (await role.get("/readyz")).json()
    await role.server.stop()

    assert found["since"] == {"partition 1": "2026-06-17T17:00:00Z", "partition 2": "2026-06-17T17:01:00Z"}
    assert later == {"ready": True, "problems": {}}


async def test_what_was_skipped_is_noted_and_no_reason_to_be_restarted() -> None:
    skipped = SkippedRecords()
    skipped.skip("accounts.rules", 1, 7, "not a record: JSON is malformed")
    server = HealthServer(dict, Metrics(), notes=skipped.notes)

    status, _, body = server.answer("GET", "/readyz")

    note = "1 record was skipped, the last at accounts.rules[1] offset 7: not a record: JSON is malformed"
    assert status == 200
    assert msgspec.json.decode(body) == {"ready": True, "problems": {}, "notes": {"accounts.rules": note}}


async def test_what_a_process_is_stands_beside_its_problems() -> None:
    server = HealthServer(dict, Metrics(), {"sandbox": ("call", "sms")})

    _, _, body = server.answer("GET", "/readyz")

    assert msgspec.json.decode(body) == {"ready": True, "problems": {}, "sandbox": ["call", "sms"]}


async def test_metrics_can_be_scraped(role: Role) -> None:
    role.metrics.received.labels("sms").inc()

    answer = await role.get("/metrics?x=1")

    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    assert 'leadclock_commands_received_total{kind="sms"} 1.0' in answer.text


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("HEAD", "/livez", 200),
        ("HEAD", "/readyz", 503),
        ("POST", "/livez", 405),
        ("GET", "/", 404),
        ("GET", "/livez/x", 404),
    ],
)
async def test_other_questions_are_answered_briefly(role: Role, method: str, path: str, status: int) -> None:
    answer = await role.get(path, method)

    assert answer.status_code == status
    assert bool(answer.content) == (method != "HEAD")


@pytest.mark.parametrize("bytes_", [b"\x00\xff\xfe\r\n\r\n", b"GET /livez HTTP/1.1\r\nHost: x\r\nA: " + b"x" * 20_000, b""])
async def test_what_is_not_http_is_cut_off_and_the_next_is_served(role: Role, bytes_: bytes) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", role.server.port)
    writer.write(bytes_)
    writer.write_eof()
    answer = await asyncio.wait_for(reader.read(), 60)
    writer.close()

    assert b"200 OK" not in answer
    assert (await role.get("/livez")).status_code == 200


async def test_who_says_nothing_is_cut_off(role: Role, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health, "REQUEST_SECONDS_MAX", 0.05)
    reader, writer = await asyncio.open_connection("127.0.0.1", role.server.port)

    assert await asyncio.wait_for(reader.read(), 60) == b""
    writer.close()


async def test_a_port_that_is_taken_is_reported_in_one_sentence_with_the_flag_that_helps() -> None:
    first, second = HealthServer(dict, Metrics()), HealthServer(dict, Metrics())
    await first.start()
    try:
        with pytest.raises(HealthPortError, match=rf"port {first.port} of 127.0.0.1 .*--health-port"):
            await second.start(port=first.port)
    finally:
        await first.stop()
    assert is_expected(HealthPortError("127.0.0.1", 1, OSError()))
    assert is_expected(ServerError())
