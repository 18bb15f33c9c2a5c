"""Does a deployment work whose broker wants TLS and SCRAM, and whose database TLS and a client certificate?"""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner

from adapters.cli.main import cli, main
from adapters.doctor.findings import Finding
from adapters.kafka.cluster_metadata import ClusterMetadata
from adapters.roles.broker import connection_of
from adapters.settings import database_location, load
from deploy.proof.processes import ProcessGroup
from engine.partition.ports import LogError
from tests.system.certificates import DAYS, Authority, Issued
from tests.system.secure_kafka import PASSWORD, USER, secure_kafka
from tests.system.secure_postgres import USER as DATABASE_USER
from tests.system.secure_postgres import SecurePostgres, secure_postgres

pytestmark = pytest.mark.system


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path / "certificates")


@pytest.fixture
def server(authority: Authority) -> Issued:
    return authority.issue("server")


@pytest.fixture
async def broker(tmp_path: Path, authority: Authority, server: Issued) -> AsyncIterator[str]:
    async with secure_kafka(tmp_path / "kafka", authority, server) as kafka:
        yield kafka.bootstrap


@pytest.fixture
async def secure_database(open_folder: Path, authority: Authority, server: Issued) -> AsyncIterator[SecurePostgres]:
    async with secure_postgres(open_folder / "postgres", authority, server) as running:
        yield running


async def examined() -> tuple[int, dict[str, Finding]]:
    result = await asyncio.to_thread(CliRunner().invoke, cli, ["doctor", "--json"])
    findings = msgspec.convert(msgspec.json.decode(result.stdout)["findings"], list[Finding])
    return result.exit_code, {finding.check: finding for finding in findings}


async def test_a_deployment_runs_where_broker_and_database_want_tls_and_a_login(
    broker: str, secure_database: SecurePostgres, authority: Authority, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = authority.issue(DATABASE_USER)
    values = {
        "KAFKA_BOOTSTRAP": broker,
        "KAFKA_SECURITY": "SASL_SSL",
        "KAFKA_MECHANISM": "SCRAM-SHA-512",
        "KAFKA_USERNAME": USER,
        "KAFKA_PASSWORD": PASSWORD,
        "KAFKA_CA_FILE": str(authority.certificate),
        "POSTGRES_DSN": secure_database.address,
        "POSTGRES_CA_FILE": str(authority.certificate),
        "POSTGRES_CERTIFICATE_FILE": str(client.certificate),
        "POSTGRES_KEY_FILE": str(client.key),
        "SECRET_KEY": "0123456789abcdef0123456789abcdef",
        "PARTITIONS": "1",
        "STATE_DIR": str(tmp_path),
        "CHANNELS": "webhook",
    }
    for name, value in values.items():
        monkeypatch.setenv(f"LEADCLOCK_{name}", value)
    assert await asyncio.to_thread(main, ["topics", "create"]) == 0
    assert await asyncio.to_thread(main, ["db", "migrate"]) == 0
    group = ProcessGroup(tmp_path, load())
    roles = [group.add(role) for role in ("accounts", "scheduler", "intake", "projector", "deliverer", "gateway", "api")]
    try:
        for role in roles:
            await role.until_ready()
        status, found = await examined()
    finally:
        for role in roles:
            role.stop()
    assert status == 0, found
    holds = f"TLSv1.3, its certificate holds for {DAYS - 1} days"
    assert found["Kafka TLS"].found == f"{broker}: {holds}"
    assert found["database TLS"].found == f"{database_location(secure_database.dsn)}: {holds}"
    assert "the same in 3 running processes and of these settings" in found["secret keys"].found

    monkeypatch.setenv("LEADCLOCK_KAFKA_PASSWORD", "wrong")
    metadata = ClusterMetadata(connection_of(load()))
    with pytest.raises(LogError):
        await metadata.brokers()
    await metadata.close()
    status, found = await examined()
    assert (status, found["broker"].level) == (1, "failure")
