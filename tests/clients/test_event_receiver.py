"""Does the stock library of another language verify our events? npm's `standardwebhooks` in a server on Node.js."""

import asyncio
import json
import os
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from tests.adapters.http.conftest import Company, Town
from tests.adapters.http.test_subscriptions import PATH, company, lead_of, town
from tests.clients.generators import HERE, SECONDS, TOOLS

__all__ = ["company", "town"]

pytestmark = pytest.mark.asyncio(loop_scope="session")

LIBRARY = TOOLS / "node_modules" / "standardwebhooks"


@pytest_asyncio.fixture(loop_scope="session")
async def receiver() -> AsyncIterator[Process]:
    if not LIBRARY.exists():
        pytest.fail("standardwebhooks is not installed: run `make test-clients`, which installs it", pytrace=False)
    environ = {**os.environ, "NODE_PATH": str(LIBRARY.parent)}
    process = await asyncio.create_subprocess_exec(
        "node", str(HERE / "receive_events.cjs"), stdin=PIPE, stdout=PIPE, env=environ
    )
    yield process
    process.kill()
    await process.wait()


async def line_of(receiver: Process) -> Any:
    assert receiver.stdout is not None
    async with asyncio.timeout(SECONDS):
        return json.loads(await receiver.stdout.readline())


async def test_a_receiver_in_javascript_verifies_events_and_refuses_what_was_changed_or_is_old(
    town: Town,
    company: Company,
    receiver: Process,
) -> None:
    url = f"http://127.0.0.1:{await line_of(receiver)}/events"
    made = await company.record("subscriptions", {"name": "CRM", "url": url, "events": ["lead_ended"]})
    assert receiver.stdin is not None
    receiver.stdin.write(f"{made['secret']}\n".encode())

    async def end_lead() -> Any:
        lead_id = await lead_of(town, company)
        stopped = await company.send("PUT", f"/api/v1/leads/{lead_id}", json={"schedule_stop": True})
        assert stopped.status_code == 200, stopped.text
        return await line_of(receiver)

    verified = {"type": "lead_ended", "verified": True, "changed": False}
    assert await end_lead() == verified
    rotated = await company.send("PUT", f"{PATH}/{made['id']}", json={"rotate_secret": True})
    assert rotated.status_code == 200, rotated.text
    assert await end_lead() == verified, "for a day the secret before signs too"
