"""Does an operator come from empty servers with TLS to a lead's end, and through an upgrade, by the pages word for word?

Three brokers with SCRAM and TLS, a PostgreSQL with TLS and client certificates, a mail server; separate processes.
"""

import asyncio
import contextlib
import os
import re
import signal
import sys
import time
from collections.abc import AsyncIterator, Callable
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest

from adapters.gateway.mailbox import Mailbox, read_mail
from adapters.local.cluster import managed_cluster
from adapters.local.process import LOCALHOST, free_port
from adapters.settings import load
from deploy.proof.processes import ProcessGroup
from tests.pace import bound
from tests.system.certificates import Authority
from tests.system.secure_kafka import PASSWORD, USER, SecureNode
from tests.system.secure_postgres import USER as DATABASE_USER
from tests.system.secure_postgres import secure_postgres

pytestmark = pytest.mark.system

DOCS = Path(__file__).parents[2] / "deploy" / "docs"
BLOCK = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)
EXPORT = re.compile(r"^export (LEADCLOCK_\w+)=(\S+)", re.MULTILINE)
JOB = re.compile(r"^leadclock (\w+)([^&\n]*)&", re.MULTILINE)
UPGRADE_STEP = re.compile(r"^\| \d\. [^|]+\| ([^|]+) \|", re.MULTILINE)
ADDRESS = "http://127.0.0.1:8080"

STEP_SECONDS = bound(180.0)
STOP_SECONDS = bound(30.0)
LOOK_SECONDS = 0.2
COMMAND_GAP_SECONDS = 2.0
"""Between two looks by a command: each takes a second of a core, which the roles need for what is waited for."""


def blocks(page: str, section: str) -> str:
    """Return what is typed in a section of a page."""
    [found] = re.findall(rf"^##+ {section}\n(.*?)(?=^##|\Z)", (DOCS / page).read_text(), re.MULTILINE | re.DOTALL)
    return "".join(BLOCK.findall(found))


class Operator:
    """Somebody at a shell in an empty folder, who types what the pages say and watches until it is done."""

    def __init__(self, folder: Path, values: dict[str, str], port: int) -> None:
        self.folder = folder
        self._values = values
        self._port = port
        own = {name: value for name, value in os.environ.items() if not name.startswith("LEADCLOCK_")}
        self.environment = own | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
        self._shells: list[asyncio.subprocess.Process] = []

    async def paste(self, text: str) -> str:
        """Type lines, with the values of these servers in the place of the page's; return what they print.

        A role that a line starts goes on; its process id is in a file that has its name.
        """
        text = EXPORT.sub(lambda found: f"export {found[1]}={self._values[found[1]]}", text)
        text = JOB.sub(r"leadclock \1\2 > \1.log 2>&1 & echo $! > \1.pid", text).replace(
            ADDRESS, f"http://{LOCALHOST}:{self._port}"
        )
        done = self.folder / f"done-{len(self._shells)}"
        with done.with_suffix(".out").open("wb") as out:
            shell = await asyncio.create_subprocess_exec(
                "bash",
                "-c",
                f"set -eux\n{text}\ntouch {done}\nwait",
                cwd=self.folder,
                env=self.environment,
                stdout=out,
                stderr=out,
                start_new_session=True,
            )
        self._shells.append(shell)
        await until(lambda: done.exists() or shell.returncode is not None)
        said = done.with_suffix(".out").read_text()
        assert done.exists(), said
        return said

    def stop_role(self, role: str) -> Callable[[], bool]:
        """Stop a role that a pasted line started; return how to see that it has ended."""
        pid = int((self.folder / f"{role}.pid").read_text())
        os.kill(pid, signal.SIGTERM)
        return lambda: not Path(f"/proc/{pid}").exists()

    async def leave(self) -> None:
        """End what is left of everything that was typed."""
        for shell in self._shells:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(shell.pid, signal.SIGTERM)
        for shell in self._shells:
            await asyncio.wait_for(shell.wait(), STOP_SECONDS)


async def until(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + STEP_SECONDS
    while not is_so():
        assert time.monotonic() < deadline
        await asyncio.sleep(LOOK_SECONDS)


@pytest.fixture
async def servers(tmp_path: Path, open_folder: Path) -> AsyncIterator[dict[str, str]]:
    """The settings of the servers, by the names that the pages export."""
    authority = Authority(tmp_path / "certificates")
    server, client = authority.issue("server"), authority.issue(DATABASE_USER)
    mailbox = Mailbox(tmp_path / "mail")
    await mailbox.start()
    password, secret = tmp_path / "kafka_password", tmp_path / "secret"
    password.write_text(PASSWORD)
    secret.write_text("0123456789abcdef0123456789abcdef")
    make_node = partial(SecureNode, authority=authority, server=server)
    try:
        async with (
            managed_cluster(tmp_path, make_node=make_node) as nodes,
            secure_postgres(open_folder / "postgres", authority, server) as database,
        ):
            values = {
                "KAFKA_BOOTSTRAP": ",".join(node.bootstrap for node in nodes),
                "KAFKA_SECURITY": "SASL_SSL",
                "KAFKA_MECHANISM": "SCRAM-SHA-512",
                "KAFKA_USERNAME": USER,
                "KAFKA_PASSWORD_FILE": str(password),
                "KAFKA_CA_FILE": str(authority.certificate),
                "POSTGRES_DSN": database.address,
                "POSTGRES_CA_FILE": str(authority.certificate),
                "POSTGRES_CERTIFICATE_FILE": str(client.certificate),
                "POSTGRES_KEY_FILE": str(client.key),
                "SECRET_KEY_FILE": str(secret),
                "STATE_DIR": str(tmp_path / "state"),
                "SMTP_HOST": LOCALHOST,
                "EMAIL_FROM": "leads@example.com",
                "PUBLIC_URL": "https://leads.example.com",
            }
            (tmp_path / "state").mkdir()
            yield {f"LEADCLOCK_{name}": value for name, value in values.items()} | {
                "LEADCLOCK_SMTP_PORT": str(mailbox.port),
                "LEADCLOCK_PARTITIONS": "2",
            }
    finally:
        await mailbox.stop()


async def test_the_pages_lead_from_empty_servers_with_tls_to_a_leads_end_and_through_an_upgrade(
    servers: dict[str, str], tmp_path: Path
) -> None:
    port = free_port()
    (tmp_path / "shell").mkdir()
    operator = Operator(tmp_path / "shell", servers, port)
    # What the pages leave at its default; everything else is typed as they say.
    operator.environment |= {name: servers[name] for name in ("LEADCLOCK_SMTP_PORT", "LEADCLOCK_PARTITIONS")}
    operator.environment["LEADCLOCK_HTTP_PORT"] = str(port)
    tls = "".join(
        line
        for line in (blocks("tls.md", "Kafka") + blocks("tls.md", "PostgreSQL")).splitlines(keepends=True)
        if line.startswith("export")
    )
    exports = tls + "".join(
        line for line in blocks("operators.md", "Start it").splitlines(keepends=True) if line.startswith("export")
    )
    group = ProcessGroup(tmp_path, load(environ=servers))
    try:
        before = await operator.paste(f"{exports}leadclock doctor || echo refused")
        assert "-> leadclock topics create" in before
        assert "refused" in before
        await operator.paste(tls + blocks("operators.md", "Start it"))
        await until_all_is_well(operator, exports)
        said = await operator.paste(exports + blocks("operators.md", "Send the first lead"))
        assert re.search(r"^lead \d+: created", said, re.MULTILINE), said
        await until_ended(operator, exports, "+12125550100")

        await upgrade(operator, exports, group)
        await until_ended(operator, exports, "+12125550100")
        token = (await listed(operator, exports))["schedules"][0]["lead_token"]
        body = msgspec.json.encode({"lead_token": token, "caller_id": "+12125550101", "email": "ben@example.com"}).decode()
        await operator.paste(f"{exports}leadclock leads send '{body}'")
        await until_ended(operator, exports, "+12125550101")
        assert [mail.recipients for mail in read_mail(tmp_path / "mail", limit=10)] == [
            ("ada@example.com",),
            ("ben@example.com",),
        ]
    finally:
        group.kill()
        await operator.leave()


async def upgrade(operator: Operator, exports: str, group: ProcessGroup) -> None:
    """Do what the table of the page about upgrading says, step by step; without ACLs, which only some clusters have."""
    steps = UPGRADE_STEP.findall((DOCS / "upgrading.md").read_text())
    assert len(steps) == 7
    for step in steps:
        if step.startswith("replace one process after the other"):
            for role in re.findall(r"`(\w+)`", step):
                await until(operator.stop_role(role))
                channels = {"channels": ("email", "webhook")} if role == "gateway" else {}
                await group.add(role, f"{role} (new)", **channels).until_ready()
            continue
        for command in re.findall(r"`(leadclock [^`]+)`", step):
            if "acls" not in command:
                await operator.paste(f"{exports}{command}")
    await until_all_is_well(operator, exports)


async def until_all_is_well(operator: Operator, exports: str) -> None:
    """Look by the doctor until every line is ok: roles need a moment to be ready."""
    deadline = time.monotonic() + STEP_SECONDS
    while True:
        said = await operator.paste(f"{exports}leadclock doctor --json > doctor.json || true")
        findings = msgspec.json.decode((operator.folder / "doctor.json").read_bytes())["findings"]
        wrong = [found for found in findings if found["level"] != "ok"]
        served = [found for found in findings if found["check"] == "channels" and "email, webhook" in found["found"]]
        if not wrong and served:
            return
        assert time.monotonic() < deadline, (wrong, said)
        await asyncio.sleep(COMMAND_GAP_SECONDS)


async def until_ended(operator: Operator, exports: str, number: str) -> None:
    deadline = time.monotonic() + STEP_SECONDS
    while True:
        said = await operator.paste(f"{exports}leadclock explain {number}")
        if "The schedule came to its end" in said:
            return
        assert time.monotonic() < deadline, said
        await asyncio.sleep(COMMAND_GAP_SECONDS)


async def listed(operator: Operator, exports: str) -> dict[str, Any]:
    await operator.paste(f"{exports}leadclock schedules list --json > schedules.json")
    found: dict[str, Any] = msgspec.json.decode((operator.folder / "schedules.json").read_bytes())
    return found
