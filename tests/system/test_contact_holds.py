"""Can an operator stop all contacting, and let it go on with nothing lost or doubled? With two gateways and a witness.

The witness is what the sandbox was given (`work.sandbox_orders`): it writes down each order before it carries it out.
"""

import asyncio
import json
import os
import signal
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from adapters.operator.contact_holds import HoldRequests
from adapters.partitions.routing import partition_of
from adapters.postgres.pool import Pool, open_pool
from adapters.roles.context import open_context
from adapters.settings import Settings
from adapters.up.demo_time_zone import zone_at_daytime
from deploy.proof.company import ProofCompany, make_company
from deploy.proof.processes import ProcessGroup
from engine.partition.ports import Outgoing
from schemas.envelope import Envelope, to_headers
from schemas.records import EVERY_COMPANY
from schemas.topics import LEADS_INBOX
from schemas.wire import to_json
from tests.pace import bound

pytestmark = [pytest.mark.system, pytest.mark.asyncio(loop_scope="module")]

TEXTS, CALLS = 300, 60
SHOWN_SECONDS = bound(120.0)
SILENCE_SECONDS = 3.0

HELD = "SELECT count(*) FROM read.leads WHERE status_wait = 'on_hold'"
GIVEN = "SELECT count(*) FROM work.sandbox_orders"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def deployment(settings: Settings, folder: Path) -> AsyncIterator[ProcessGroup]:
    """A deployment without gateways."""
    group = ProcessGroup(folder, settings)
    try:
        await group.prepare()
        for role in ("accounts", "scheduler", "intake", "projector"):
            group.add(role)
        await group.until_ready()
        yield group
    finally:
        group.kill()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def pool(deployment: ProcessGroup) -> AsyncIterator[Pool]:
    opened = await open_pool(deployment.settings.postgres_dsn, size=1)
    yield opened
    await opened.close()


async def submit(settings: Settings, company: ProofCompany, kind: str, count: int) -> None:
    """Put leads on the inbox, each with a number of its own."""
    area = {"text": "312", "call": "773"}[kind]
    zone = zone_at_daytime()
    async with open_context(settings) as context:
        topic = context.names.of(LEADS_INBOX.name)
        partitions = await context.log.partition_count(topic)
        appender = await context.log.appender()
        for index in range(count):
            name = f"{kind}-{index}".encode()
            body = {"lead_token": company.tokens[kind], "caller_id": f"+1{area}{2_000_000 + index}", "time_zone": zone}
            headers = to_headers(Envelope(id=name.decode(), type="lead.submitted", source="/holds"))
            record = Outgoing(topic, name, to_json(body), headers)
            await appender.append(partition_of(name, partitions), [record])
        await appender.close()


async def until(pool: Pool, query: str, wanted: int) -> None:
    """Wait until a query says so many."""
    found = None
    try:
        async with asyncio.timeout(SHOWN_SECONDS):
            while (found := await pool.fetchval(query)) != wanted:
                await asyncio.sleep(0.2)
    except TimeoutError:
        pytest.fail(f"{query} is {found}, not {wanted}")


async def typed(deployment: ProcessGroup, *arguments: str, status: int = 0) -> Any:
    """Run a command, and return what it printed as JSON, or as text where it failed."""
    found, output = await deployment.command(*arguments, "--deployment", "env", "--json")
    assert found == status, output
    return json.loads(output) if status == 0 else output


async def test_what_is_queued_is_returned_and_goes_on_after_the_release_once(deployment: ProcessGroup, pool: Pool) -> None:
    company = await make_company(deployment.settings)
    await submit(deployment.settings, company, "text", TEXTS)
    await until(pool, "SELECT count(*) FROM read.leads WHERE status = 'running'", TEXTS)

    everybody = await typed(deployment, "hold", "--all", "--reason", "wrong prices")
    assert (everybody["hold"]["company_id"], everybody["obeying"], everybody["silent"]) == (None, [], [])
    for name in ("gateway-1", "gateway-2"):
        deployment.add("gateway", name)
    await deployment.until_ready()

    await until(pool, HELD, TEXTS)
    assert await pool.fetchval(GIVEN) == 0
    counts = await pool.fetchrow("SELECT sum(sms_count) AS texts, count(*) FILTER (WHERE NOT opt_out) FROM read.leads")
    assert counts["texts"] == 0
    assert await typed(deployment, "release", str(everybody["hold"]["id"]), "--dry-run") == {
        "waiting_count": TEXTS,
        "expired_count": 0,
    }

    calls = await typed(deployment, "hold", "--company", "1", "--channel", "call", "--reason", "no lines")
    assert len(calls["obeying"]) == 2
    assert [one["reason"] for one in await typed(deployment, "hold")] == ["wrong prices", "no lines"]
    await typed(deployment, "release", str(everybody["hold"]["id"]))

    await until(pool, GIVEN, TEXTS)
    await until(
        pool,
        "SELECT count(*) FROM read.leads WHERE sms_count = 1",
        TEXTS,
    )
    await submit(deployment.settings, company, "call", CALLS)
    await until(pool, HELD, CALLS)
    assert await pool.fetchval(GIVEN) == TEXTS


async def test_gateways_obey_while_no_scheduler_decides_and_one_that_hangs_is_named(
    deployment: ProcessGroup, pool: Pool
) -> None:
    deployment["scheduler"].kill()
    hanging = deployment["gateway-2"]
    os.kill(hanging.pid, signal.SIGSTOP)
    try:
        said = await typed(deployment, "hold", "--company", "1", "--channel", "sms", "--reason", "again", status=1)
        _, _, named = said.partition("Error: 1 gateways have not confirmed; stop them by hand: ")
        assert (f"/{hanging.pid}/" in named, f"/{deployment['gateway-1'].pid}/" in named) == (True, False), said
    finally:
        os.kill(hanging.pid, signal.SIGCONT)
    for held in await typed(deployment, "hold"):
        released = await typed(deployment, "release", str(held["id"]))
        assert released["released"]["id"] == held["id"]
    deployment["scheduler"].start()
    await deployment.until_ready()

    await until(pool, GIVEN, TEXTS + CALLS)
    await asyncio.sleep(SILENCE_SECONDS)
    assert await pool.fetchval(GIVEN) == TEXTS + CALLS, "each was called or texted once"
    assert await typed(deployment, "hold") == []


async def test_a_hold_of_a_company_that_is_not_there_is_refused_at_once(deployment: ProcessGroup) -> None:
    said = await typed(deployment, "hold", "--company", "99", "--reason", "a slip", status=1)
    assert said.rstrip().endswith("Error: company_id is not a company of this deployment")
    assert "Traceback" not in said


async def test_two_operators_who_hold_at_once_get_each_their_own_hold(deployment: ProcessGroup) -> None:
    async with open_context(deployment.settings) as context:
        reasons = [f"operator {number}" for number in range(4)]
        made = await asyncio.gather(*(HoldRequests(context).create(EVERY_COMPANY, {"reason": reason}) for reason in reasons))
        assert [record.body["reason"] for record in made] == reasons
        assert len({record.id for record in made}) == len(reasons)
        for record in made:
            await HoldRequests(context).release(record)


async def test_a_hold_that_no_account_decides_says_which_gateways_to_stop(deployment: ProcessGroup) -> None:
    deployment["accounts"].kill()
    said = await typed(deployment, "hold", "--all", "--reason", "stop", status=1)
    assert "no `leadclock accounts` decides for it. Stop these gateways by hand: " in said
    assert "Traceback" not in said
    assert all(f"/{deployment[name].pid}/" in said for name in ("gateway-1", "gateway-2"))
