"""Who logs in to brokers by a certificate (mTLS) or a token (OAUTHBEARER), and who is refused? On a real Kafka."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner

from adapters.cli.main import cli, main
from adapters.doctor.findings import Finding
from adapters.settings import load
from deploy.proof.processes import ProcessGroup
from tests.pace import bound
from tests.system.certificates import DAYS, Authority, Issued
from tests.system.secure_kafka import SecureKafka, secure_kafka
from tests.system.token_endpoint import CLIENT, SECRET, TokenServer, token_server

pytestmark = pytest.mark.system

SHORT_SECONDS = 5
"""How long tokens hold in the test that outlives several of them."""

WAIT_SECONDS = bound(120.0)


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path / "certificates")


@pytest.fixture
def server(authority: Authority) -> Issued:
    return authority.issue("server")


@pytest.fixture
def tokens(server: Issued) -> Iterator[TokenServer]:
    with token_server(server) as running:
        yield running


@pytest.fixture
async def kafka(tmp_path: Path, authority: Authority, server: Issued, tokens: TokenServer) -> AsyncIterator[SecureKafka]:
    keys = tmp_path / "keys.json"
    tokens.write_key_set(keys)
    async with secure_kafka(tmp_path / "kafka", authority, server, keys) as running:
        yield running


class Shell:
    """The settings of a shell: what is set stays, until it is set to nothing."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._monkeypatch = monkeypatch

    def set(self, **settings: object) -> None:
        for name, value in settings.items():
            if value is None:
                self._monkeypatch.delenv(f"LEADCLOCK_{name.upper()}", raising=False)
            else:
                self._monkeypatch.setenv(f"LEADCLOCK_{name.upper()}", str(value))

    async def examine(self) -> dict[str, Finding]:
        result = await asyncio.to_thread(CliRunner().invoke, cli, ["doctor", "--json"])
        findings = msgspec.convert(msgspec.json.decode(result.stdout)["findings"], list[Finding])
        return {finding.check: finding for finding in findings}


@pytest.fixture
def shell(monkeypatch: pytest.MonkeyPatch, authority: Authority) -> Shell:
    shell = Shell(monkeypatch)
    shell.set(kafka_ca_file=authority.certificate, partitions=1)
    return shell


async def test_brokers_take_the_certificate_of_their_authority_and_no_other(
    kafka: SecureKafka, shell: Shell, authority: Authority, tmp_path: Path
) -> None:
    own = authority.issue("leadclock")
    shell.set(kafka_bootstrap=kafka.by_certificate, kafka_security="SSL")
    shell.set(kafka_certificate_file=own.certificate, kafka_key_file=own.key)
    assert await asyncio.to_thread(main, ["topics", "create"]) == 0
    found = await shell.examine()
    assert (found["Kafka TLS"].level, found["topics"].level) == ("ok", "ok"), found
    assert found["Kafka client certificate"].found.endswith(f"its certificate holds for {DAYS - 1} days")

    stranger = Authority(tmp_path / "stranger").issue("leadclock")
    shell.set(kafka_certificate_file=stranger.certificate, kafka_key_file=stranger.key)
    found = await shell.examine()
    assert (found["Kafka TLS"].level, "refuses our certificate" in found["Kafka TLS"].found) == ("failure", True), found
    shell.set(kafka_certificate_file=None, kafka_key_file=None)
    found = await shell.examine()
    assert (found["Kafka TLS"].level, "or that there is none" in found["Kafka TLS"].found) == ("failure", True), found


async def test_brokers_take_a_token_of_the_endpoint_or_of_a_file_and_no_other(
    kafka: SecureKafka, shell: Shell, authority: Authority, tokens: TokenServer, tmp_path: Path
) -> None:
    shell.set(kafka_bootstrap=kafka.by_token, kafka_security="SASL_SSL", kafka_mechanism="OAUTHBEARER")
    shell.set(kafka_token_url=tokens.url, kafka_token_ca_file=authority.certificate)
    shell.set(kafka_username=CLIENT, kafka_password=SECRET)
    assert await asyncio.to_thread(main, ["topics", "create"]) == 0
    found = await shell.examine()
    assert found["Kafka token"].found == f"{tokens.url} gives one to {CLIENT}, which holds for 3600 s"
    assert found["topics"].level == "ok"

    shell.set(kafka_password="wrong")
    found = await shell.examine()
    assert (found["Kafka token"].level, "answers 401" in found["Kafka token"].found) == ("failure", True), found
    assert "topics" not in found

    file = tmp_path / "token"
    file.write_text(tokens.token(CLIENT) + "\n")
    shell.set(kafka_token_url=None, kafka_token_ca_file=None, kafka_username=None, kafka_password=None)
    shell.set(kafka_token_file=file)
    found = await shell.examine()
    assert (found["Kafka token"].level, found["topics"].level) == ("ok", "ok")
    file.write_text(TokenServer(held_seconds=3600).token(CLIENT))
    found = await shell.examine()
    assert found["broker"].level == "failure", found


async def test_a_role_goes_on_after_its_tokens_have_ended(
    kafka: SecureKafka, shell: Shell, authority: Authority, tokens: TokenServer, tmp_path: Path
) -> None:
    """The broker closes each connection when its token ends."""
    tokens.held_seconds = SHORT_SECONDS
    shell.set(kafka_bootstrap=kafka.by_token, kafka_security="SASL_SSL", kafka_mechanism="OAUTHBEARER")
    shell.set(kafka_token_url=tokens.url, kafka_token_ca_file=authority.certificate)
    shell.set(kafka_username=CLIENT, kafka_password=SECRET, state_dir=tmp_path)
    assert await asyncio.to_thread(main, ["topics", "create"]) == 0
    group = ProcessGroup(tmp_path, load())
    scheduler = group.add("scheduler")
    try:
        await scheduler.until_ready()
        given = tokens.given
        async with asyncio.timeout(WAIT_SECONDS):
            while tokens.given < given + 5:
                await asyncio.sleep(0.2)
        await scheduler.until_ready()
    finally:
        scheduler.stop()
