"""Do separate processes make one deployment? Kills of each role, bad bytes on the topics, broken snapshots; all on one log.

The tests of this file share the deployment and its load: after each, everything that was accepted is counted again.
"""

import asyncio
import contextlib
import os
import shutil
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import httpx
import msgspec
import pytest

from adapters.partitions.routing import partition_of
from adapters.roles.context import Context, open_context
from adapters.settings import Settings
from deploy.proof.evidence import committed, gather, projection_differences
from deploy.proof.processes import ProcessGroup
from deploy.proof.rest import stop_and_show
from engine.partition.ports import Outgoing
from schemas.envelope import Envelope, Headers, to_headers
from schemas.topics import CONTACTS_REQUESTS, DEADLETTER, LEADS_INBOX
from tests.system.town import REST_SECONDS, Town, settled

pytestmark = pytest.mark.system

KILL_SECONDS = 0.5
"""After a load came: some of it is decided, some is not, some is being carried out."""


@pytest.fixture(scope="module")
def town(settings: Settings, folder: Path) -> Iterator[Town]:
    deployment = ProcessGroup(folder, settings)
    try:
        yield asyncio.run(settled(deployment, schedulers=2))
        statuses = deployment.stop()
    finally:
        deployment.kill()
    assert set(statuses.values()) == {0}, statuses


@pytest.fixture
async def context(settings: Settings) -> AsyncIterator[Context]:
    async with open_context(settings) as opened:
        yield opened


async def test_two_schedulers_share_the_partitions(town: Town, context: Context) -> None:
    await town.load(context, 100)
    await town.at_rest(context)
    assert await decided_by(town, "scheduler-1") > 0
    assert await decided_by(town, "scheduler-2") > 0


async def test_the_partitions_of_a_dead_scheduler_move_to_the_other_within_its_session(town: Town, context: Context) -> None:
    town.deployment["scheduler-1"].kill()
    try:
        await town.load(context, 100)
        async with asyncio.timeout(4 * town.settings.kafka_session_seconds):
            await town.at_rest(context)
    finally:
        town.deployment["scheduler-1"].start()
        await town.deployment["scheduler-1"].until_ready()


async def test_each_role_is_killed_in_turn_under_load_and_nothing_is_lost_or_doubled(town: Town, context: Context) -> None:
    for role in ("accounts", "intake", "projector", "gateway", "scheduler-2"):
        await town.load(context, 60)
        await asyncio.sleep(KILL_SECONDS)
        town.deployment[role].kill()
        await town.load(context, 20)
        town.deployment[role].start()
    await town.deployment.until_ready()
    await town.at_rest(context)


async def test_an_api_that_is_killed_has_kept_what_it_acknowledged_and_a_repeat_makes_no_second_lead(
    town: Town, context: Context
) -> None:
    api = town.deployment["api"]

    async def submit(client: httpx.AsyncClient, index: int) -> None:
        """As a careful producer: again, with the same key, until there is an answer."""
        submission = town.submission()
        while True:
            with contextlib.suppress(httpx.HTTPError):
                headers = {"Idempotency-Key": f"{role_key}-{index}"}
                answer = await client.post(f"{api.url}/api/v1/leads", json=submission, headers=headers)
                if answer.status_code in {200, 201, 202}:
                    return
                assert answer.status_code in {409, 503}, answer.text
            await asyncio.sleep(0.2)

    role_key = "kill"
    async with httpx.AsyncClient(timeout=5.0) as client, asyncio.timeout(60.0):
        sending = [asyncio.create_task(submit(client, index)) for index in range(40)]
        await asyncio.sleep(0.3)
        api.kill()
        api.start()
        await asyncio.gather(*sending)
    town.posted_over_http += 40
    await town.at_rest(context)


async def test_broken_snapshots_and_a_folder_that_is_gone_cost_nothing(town: Town, context: Context) -> None:
    scheduler = town.deployment["scheduler-1"]
    folder = Path(town.settings.state_dir or "")
    for make in (break_snapshots, lambda where: shutil.rmtree(where, ignore_errors=True)):
        scheduler.kill()
        make(folder)
        await town.load(context, 20)
        scheduler.start()
        await scheduler.until_ready()
        await town.at_rest(context)


def break_snapshots(folder: Path) -> None:
    folder.mkdir(exist_ok=True)
    for partition, garbage in enumerate((b"", b"\0" * 100, os.urandom(5_000), b"{}")):
        (folder / f"scheduler-{partition}.snapshot").write_bytes(garbage)


HEADERS = to_headers(Envelope(id="bad", type="lead.submitted", source="/test"))
UNKNOWN = to_headers(Envelope(id="bad", type="lead.praised", source="/test"))
BAD: list[tuple[str, bytes | None, Headers]] = [
    ("not JSON", b"{nothing", HEADERS),
    ("bytes of no text", b"\xff\xfe\x00\x80", HEADERS),
    ("empty", b"", HEADERS),
    ("null", None, HEADERS),
    ("a list", b"[1, 2]", HEADERS),
    ("wrong schema", b'{"lead_token": 5, "caller_id": {}}', HEADERS),
    ("unknown type", b"{}", UNKNOWN),
    ("deeply nested", b'{"a":' * 5_000 + b"1" + b"}" * 5_000, HEADERS),
    ("huge", b'{"first_name": "' + b"x" * 1_047_000 + b'"}', HEADERS),
    ("huge and random", os.urandom(1_047_500), HEADERS),
]


async def test_bad_bytes_end_as_dead_letters_with_their_reason_and_nothing_waits_for_them(
    town: Town, context: Context
) -> None:
    sent = {}
    for topic in (LEADS_INBOX, CONTACTS_REQUESTS):
        name = context.names.of(topic.name)
        for what, value, headers in [*BAD, ("no headers", b"\x01", ())]:
            key = f"bad {what}".encode()
            partition = partition_of(key, town.settings.partitions)
            offset = await put(context, partition, Outgoing(name, key, value, headers))
            sent[name, partition, offset] = (what, value)
    inbox = context.names.of(LEADS_INBOX.name)
    town.accepted.bad |= {(partition, at): value for (topic, partition, at), (_, value) in sent.items() if topic == inbox}
    town.accepted.records += sum(topic == inbox for topic, _, _ in sent)
    await town.load(context, 40)
    await town.at_rest(context)

    found = {}
    async for record in committed(context.log, context.names.of(DEADLETTER.name)):
        letter = {name: value.decode() for name, value in record.headers if name.startswith("dl_")}
        place = letter["dl_topic"], int(letter["dl_partition"]), int(letter["dl_offset"])
        assert letter["dl_code"]
        assert letter["dl_detail"]
        found[place] = record.value
    assert {place: found.get(place, b"missing") for place in sent} == {place: value for place, (_, value) in sent.items()}


async def put(context: Context, partition: int, record: Outgoing) -> int:
    appender = await context.log.appender()
    try:
        [offset] = await appender.append(partition, [record])
        return offset
    finally:
        await appender.close()


async def test_what_operators_watch_is_reported_by_the_roles_as_it_is(town: Town, context: Context) -> None:
    await town.load(context, 40)
    await town.at_rest(context)
    schedulers = [await town.deployment[name].figures() for name in ("scheduler-1", "scheduler-2")]
    intake = await town.deployment["intake"].figures()
    assert {found.get("leadclock_fences_total") for found in (*schedulers, intake)} == {None}, "a name of a former release"
    assert {found["leadclock_partitions_fenced_total"] for found in schedulers} == {0}

    assert all(found["leadclock_restores_total"] > 0 for found in schedulers)
    assert all(found["leadclock_restore_seconds_count"] > 0 for found in schedulers)
    assert {found["leadclock_lag_records"] for found in (*schedulers, intake)} == {0}
    assert sum(found["leadclock_timers_pending"] for found in schedulers) > 0
    emitted = sum(found["leadclock_commands_emitted_total"] for found in schedulers)
    late = sum(found["leadclock_lateness_seconds_count"] for found in schedulers)
    assert 0 < late <= emitted
    at_once = sum(found["leadclock_submit_to_command_seconds_count"] for found in schedulers)
    assert 0 < at_once <= late


async def test_the_operators_commands_find_everything_in_order(town: Town) -> None:
    for arguments in (("topics", "check"), ("db", "status"), ("audit", "verify")):
        status, output = await town.deployment.command(*arguments)
        assert status == 0, output
    status, output = await town.deployment.command("deadletter", "list", "--json")
    assert status == 0, output
    assert len(msgspec.json.decode(output)) == 2 * (len(BAD) + 1)


async def test_a_deployment_that_stops_in_order_shows_all_that_was_decided_on_the_way_down(
    town: Town, context: Context
) -> None:
    town.deployment["projector"].stop()
    await town.load(context, 100)
    await until_decided(town, context)
    town.deployment["projector"].start()

    statuses = await stop_and_show(town.deployment, context, seconds=REST_SECONDS)

    assert set(statuses.values()) == {0}, statuses
    found = await gather(context)
    assert await projection_differences(town.settings.postgres_dsn, found.contacts) == []


async def until_decided(town: Town, context: Context) -> None:
    """Wait until every lead that was accepted is in the log of decisions, shown or not."""
    async with asyncio.timeout(REST_SECONDS):
        while len((await gather(context)).contacts.leads()) < town.leads:
            await asyncio.sleep(KILL_SECONDS)


async def decided_by(town: Town, name: str) -> float:
    """Return how many decisions a process says that it has made."""
    return (await town.deployment[name].figures())["leadclock_decisions_total"]
