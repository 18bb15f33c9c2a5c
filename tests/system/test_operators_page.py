"""Do the commands of the operators' page work, word for word and in its own order, on real servers and processes?"""

import asyncio
import contextlib
import os
import re
import shlex
import signal
import sys
import time
from pathlib import Path

import httpx
import msgspec
import pytest

from adapters.local.process import LOCALHOST, free_port
from adapters.settings import Settings
from tests.pace import bound

pytestmark = pytest.mark.system

PAGE = Path(__file__).parents[2] / "deploy" / "docs" / "operators.md"
BLOCK = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)
EXPORT = re.compile(r"^export (LEADCLOCK_\w+)=\S+", re.MULTILINE)

ELSEWHERE = ("leadclock topics acls --apply",)
"""Needs a cluster with an authorizer: tests/system/test_acls.py has one."""

ADDRESS = "http://127.0.0.1:8080"
FIRST_LEAD = "leadclock company apply"
SERVED = "until leadclock doctor | grep 'served by real providers: email'; do sleep 1; done"
"""The page says to go on from there then."""

HOLD = "5120"
FIRST_ID = "import json, sys; print(json.load(sys.stdin)[0]['id'])"
"""The page's number of a hold, and how the one that it makes here is found."""

DONE_SECONDS = bound(300.0)
READY_SECONDS = bound(60.0)
STOP_SECONDS = bound(60.0)
LOOK_SECONDS = 0.2


def script(exports: dict[str, str], done: Path, port: int) -> str:
    """Return every line of every block, with the values of this deployment in the place of the page's."""
    text = "".join(BLOCK.findall(PAGE.read_text()))
    named = set(EXPORT.findall(text))
    assert named == set(exports), "the page exports other settings than the test knows"
    lines = [line for line in text.splitlines() if not line.startswith(ELSEWHERE)]
    replaced = [EXPORT.sub(lambda found: f"export {found[1]}={exports[found[1]]}", line) for line in lines]
    page = "\n".join(replaced).replace(ADDRESS, f"http://{LOCALHOST}:{port}").replace(FIRST_LEAD, f"{SERVED}; {FIRST_LEAD}")
    page = page.replace(HOLD, f'"$(leadclock hold --json | {sys.executable} -c {shlex.quote(FIRST_ID)})"')
    return "\n".join(["set -eux", page, f"touch {done}", "wait"])


async def test_the_commands_of_the_operators_page_work_as_they_stand_there(settings: Settings, tmp_path: Path) -> None:
    secret, done, out = tmp_path / "secret", tmp_path / "done", tmp_path / "out"
    secret.write_text(settings.secret_key)
    exports = {
        "LEADCLOCK_KAFKA_BOOTSTRAP": settings.kafka_bootstrap,
        "LEADCLOCK_POSTGRES_DSN": settings.postgres_dsn,
        "LEADCLOCK_SECRET_KEY_FILE": str(secret),
        "LEADCLOCK_STATE_DIR": str(tmp_path),
        "LEADCLOCK_SMTP_HOST": LOCALHOST,
        "LEADCLOCK_EMAIL_FROM": "leads@example.com",
        "LEADCLOCK_PUBLIC_URL": "https://leads.example.com",
    }
    port = free_port()
    # Names of its own on servers that other tests use too, and a free port: nothing else differs from the page.
    own = {
        "LEADCLOCK_TOPIC_PREFIX": settings.topic_prefix,
        "LEADCLOCK_APP": settings.app,
        "LEADCLOCK_HTTP_PORT": str(port),
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
    }
    shell = {name: value for name, value in os.environ.items() if not name.startswith("LEADCLOCK_")}
    with out.open("wb") as log:
        child = await asyncio.create_subprocess_exec(
            "bash",
            "-c",
            script(exports, done, port),
            cwd=tmp_path,
            env=shell | own,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    try:
        deadline = time.monotonic() + DONE_SECONDS
        while not done.exists():
            assert child.returncode is None, out.read_text()
            assert time.monotonic() < deadline, out.read_text()
            await asyncio.sleep(LOOK_SECONDS)
        said = out.read_text()
        assert "Traceback" not in said, said
        assert re.search(r"^lead \d+: created", said, re.MULTILINE), said
        key = msgspec.json.decode((tmp_path / "key.json").read_bytes())
        await assert_keys_work(port, [key["public_key"], key["private_key"]])
    finally:
        with contextlib.suppress(ProcessLookupError):  # it ended by itself, and the roles with it
            os.killpg(child.pid, signal.SIGTERM)
        await asyncio.wait_for(child.wait(), STOP_SECONDS)


async def assert_keys_work(port: int, keys: list[str]) -> None:
    public, private = keys
    deadline = time.monotonic() + READY_SECONDS
    async with httpx.AsyncClient(base_url=f"http://{LOCALHOST}:{port}", auth=(public, private), timeout=30.0) as client:
        while True:
            try:
                answer = await client.post("/api/v1/offers", json={"name": "Roofs"})
            except httpx.ConnectError:
                assert time.monotonic() < deadline
                await asyncio.sleep(LOOK_SECONDS)
            else:
                assert answer.status_code in {201, 202}, answer.text
                [lead] = (await client.get("/api/v1/leads")).json()["leads"]
                assert lead["caller_id"] == "+12125550100"
                return
