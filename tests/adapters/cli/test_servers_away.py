"""What does a person see of each command while Kafka or PostgreSQL is down? One sentence with the cure, and status 69."""

import asyncio
import os
import sys
import uuid
from collections.abc import AsyncIterator, Iterator, Mapping
from pathlib import Path

import click
import pytest
import pytest_asyncio
from msgspec import structs

from adapters.cli.failures import UNAVAILABLE
from adapters.cli.main import cli
from adapters.local.process import free_port
from adapters.roles.table import ROLES
from adapters.settings import Settings, to_environment
from deploy.proof.processes import ProcessGroup
from tests.databases import administer, drop_database, dsn_of
from tests.pace import bound

pytestmark = pytest.mark.asyncio(loop_scope="session")

KAFKA, POSTGRES = "Kafka", "PostgreSQL"
VARIABLES = {KAFKA: "LEADCLOCK_KAFKA_BOOTSTRAP", POSTGRES: "LEADCLOCK_POSTGRES_DSN"}
COMMAND_SECONDS = bound(120.0)
"""Longer than a busy machine takes for anything."""

SUBMISSION = '{"lead_token": "x", "caller_id": "+13055550123"}'

ONE_LEAD = Path(__file__).with_name("one_lead.csv")
ONE_PREVIEW = Path(__file__).with_name("one_preview.json")

NEEDS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "topics create": ("", (KAFKA,)),
    "topics check": ("", (KAFKA,)),
    "topics acls": ("--apply", (KAFKA,)),
    "topics set-offset": ("--partition 0 --offset 0", (KAFKA,)),
    "topics adopt": ("", (KAFKA, POSTGRES)),
    "site": ("--accept", (KAFKA, POSTGRES)),
    "db migrate": ("", (KAFKA, POSTGRES)),
    "db status": ("", (POSTGRES,)),
    "keys create": ("--company 1", (KAFKA,)),
    "keys list": ("--company 1", (KAFKA,)),
    "keys revoke": ("--operator op_x", (POSTGRES,)),
    "leads list": ("", (POSTGRES,)),
    "leads show": ("1", (POSTGRES,)),
    "leads forecast": ("", (KAFKA, POSTGRES)),
    "leads tail": ("--once", (KAFKA,)),
    "leads send": (SUBMISSION, (KAFKA,)),
    "leads map": (f"{ONE_LEAD} --type application/x-www-form-urlencoded --lead-token lt_solar", (KAFKA,)),
    "leads import": (f"{ONE_LEAD} --lead-token lt_solar", (KAFKA,)),
    "schedules list": ("", (KAFKA,)),
    "schedules show": ("1", (KAFKA,)),
    "schedules preview": (f"1 {ONE_PREVIEW}", (KAFKA,)),
    "offers list": ("", (KAFKA,)),
    "offers show": ("1", (KAFKA,)),
    "buyers list": ("", (KAFKA,)),
    "buyers show": ("1", (KAFKA,)),
    "explain": ("1", (KAFKA, POSTGRES)),
    "audit heads": ("", (KAFKA,)),
    "audit verify": ("", (KAFKA,)),
    "projection status": ("", (KAFKA, POSTGRES)),
    "projection verify": ("", (KAFKA, POSTGRES)),
    "projection rebuild": ("", (KAFKA, POSTGRES)),
    "deadletter list": ("", (KAFKA,)),
    "deadletter redrive": ("0:0", (KAFKA,)),
    "providers test": ("twilio", (KAFKA,)),
    "hold": ("--all --reason stop", (POSTGRES,)),
    "recover": ("", (KAFKA, POSTGRES)),
    "release": ("1", (KAFKA, POSTGRES)),
}
"""Command -> its arguments, and the servers that it cannot do without.

A hold without Kafka has more to say, and a test of its own.
"""

NEEDS_NEITHER = {
    "topics list": "it prints a table of this release",
    "providers list": "it reads which packages are installed",
    "preview": "it tries a schedule on paper",
    "mail bounce": "it ends with 75, by which a mail server repeats it (tests/adapters/gateway/test_bounces.py)",
    "schedules publish": "it speaks with the API",
    **dict.fromkeys(("company export", "company diff", "company apply"), "it speaks with the API"),
    "leads call-in": "it speaks with the API of an `up`",
    "leads text-in": "it speaks with the API of an `up`",
    "law check": "it reads the rows of this release",
    "doctor": "it reports a server that is away as one of its findings",
    "config show": "it reads settings only",
    "completion": "it prints a script",
    "up": "it starts its own servers",
    "bench": "it starts its own servers",
}

CASES = [(command, server) for command, (_, servers) in NEEDS.items() for server in servers]


def leaves(command: click.Command, path: tuple[str, ...] = ()) -> Iterator[str]:
    if not isinstance(command, click.Group):
        yield " ".join(path)
        return
    context = click.Context(command)
    for name in command.list_commands(context):
        found = command.get_command(context, name)
        assert found is not None
        yield from leaves(found, (*path, name))


async def test_every_command_is_tried_with_its_servers_down_or_needs_none() -> None:
    assert set(leaves(cli)) == {*NEEDS, *NEEDS_NEITHER, *ROLES}


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def settings(
    kafka_bootstrap: str, postgres_dsn: str, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Settings]:
    """A deployment whose topics and tables are there."""
    name = f"test_{uuid.uuid4().hex}"
    await administer(postgres_dsn, f"CREATE DATABASE {name}")
    made = Settings(
        kafka_bootstrap=kafka_bootstrap,
        topic_prefix=f"t{uuid.uuid4().hex[:12]}.",
        postgres_dsn=dsn_of(postgres_dsn, name),
        secret_key="a secret of thirty-two characters",
        partitions=1,
        sandbox=("call", "sms"),
        channels=("call", "sms"),
    )
    await ProcessGroup(tmp_path_factory.mktemp("prepared"), made).prepare()
    yield made
    await drop_database(postgres_dsn, name)


def without(settings: Settings, server: str) -> tuple[Settings, str]:
    """Return settings in which one server is down, and its address."""
    address = f"127.0.0.1:{free_port()}"
    if server == KAFKA:
        return structs.replace(settings, kafka_bootstrap=address), address
    return structs.replace(settings, postgres_dsn=f"postgresql://leadclock:secret-word@{address}/leadclock"), address


async def run(settings: Settings, *arguments: str) -> tuple[int | None, str, str]:
    own = {name: value for name, value in os.environ.items() if not name.startswith("LEADCLOCK_")}
    child = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        "import sys; from adapters.cli.main import main; sys.exit(main())",
        *arguments,
        env=own | to_environment(settings),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, err = await asyncio.wait_for(child.communicate(), COMMAND_SECONDS)
    return child.returncode, out.decode(), err.decode()


@pytest.mark.parametrize(("command", "server"), CASES, ids=[f"{command}, {server} down" for command, server in CASES])
async def test_a_server_that_is_down_is_one_sentence_with_the_cure(settings: Settings, command: str, server: str) -> None:
    arguments, _ = NEEDS[command]
    broken, address = without(settings, server)
    status, out, err = await run(broken, *command.split(), *([arguments] if arguments[:1] == "{" else arguments.split()))
    assert (status, out) == (UNAVAILABLE, ""), (out, err)
    [sentence] = err.splitlines()
    assert sentence.startswith(f"Error: {server} at {address}")
    assert "does not answer" in sentence
    assert sentence.endswith(f"start it, or correct {VARIABLES[server]}")
    assert "secret-word" not in sentence


async def test_a_hold_without_kafka_says_what_to_stop_by_hand(settings: Settings) -> None:
    broken, address = without(settings, KAFKA)
    status, out, err = await run(broken, "hold", "--all", "--reason", "stop")
    assert (status, out) == (UNAVAILABLE, ""), (out, err)
    [sentence] = err.splitlines()
    assert sentence.startswith(f"Error: Kafka at {address} does not answer")
    assert sentence.endswith("Stop these gateways by hand: none is registered; look at your machines")
