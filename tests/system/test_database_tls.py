"""Which database with TLS is refused, and does the sentence say what to correct? On a real PostgreSQL, by `db migrate`."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from adapters.cli.main import cli
from adapters.database_tls import add_tls_parameters
from adapters.postgres.pool import READ_BYTES, open_pool
from tests.system.certificates import Authority, Issued
from tests.system.secure_postgres import USER, SecurePostgres, secure_postgres

pytestmark = pytest.mark.system


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path / "certificates")


@pytest.fixture
def client(authority: Authority) -> Issued:
    return authority.issue(USER)


@pytest.fixture
async def server(open_folder: Path, authority: Authority) -> AsyncIterator[SecurePostgres]:
    """Its certificate is for localhost, and for no address."""
    issued = authority.issue("server", name="DNS:localhost")
    async with secure_postgres(open_folder / "postgres", authority, issued) as running:
        yield running


def asked(address: str, **settings: str | Path) -> tuple[int, str]:
    """Run `db migrate` with these settings, and return its exit status and what it says."""
    given = {f"LEADCLOCK_{name.upper()}": str(value) for name, value in settings.items()}
    result = CliRunner().invoke(cli, ["db", "migrate"], env={"LEADCLOCK_POSTGRES_DSN": address, **given})
    return result.exit_code, result.output


async def test_a_connection_with_tls_reads_a_long_answer_in_pieces(
    server: SecurePostgres, authority: Authority, client: Issued
) -> None:
    files = {
        "postgres_ca_file": authority.certificate,
        "postgres_certificate_file": client.certificate,
        "postgres_key_file": client.key,
    }
    by_name = server.address.replace("127.0.0.1", "localhost")
    pool = await open_pool(add_tls_parameters(by_name, {name: str(value) for name, value in files.items()}), size=1)
    async with pool.acquire() as connection:
        assert connection._transport._ssl_protocol.max_size == READ_BYTES
        rows = await connection.fetch("SELECT n, repeat('x', 100) FROM generate_series(1, 20000) AS n")
    assert [row["n"] for row in rows] == list(range(1, 20_001))
    await pool.close()


def test_each_wrong_file_or_name_has_its_sentence(
    server: SecurePostgres, authority: Authority, client: Issued, tmp_path: Path
) -> None:
    by_name = server.address.replace("127.0.0.1", "localhost")
    login = {"postgres_certificate_file": client.certificate, "postgres_key_file": client.key}
    right = {"postgres_ca_file": authority.certificate, **login}
    status, said = asked(by_name, **right)
    assert status == 0, said

    other = Authority(tmp_path / "other")
    status, said = asked(by_name, **right | {"postgres_ca_file": other.certificate})
    assert (status, "shows a certificate that is not trusted" in said) == (69, True), said
    assert "give LEADCLOCK_POSTGRES_CA_FILE the certificate that signs it" in said

    status, said = asked(server.address, **right)
    assert (status, "IP address mismatch" in said, "name the server as its certificate does" in said) == (69, True, True)
    status, said = asked(server.address, **right, postgres_sslmode="verify-ca")
    assert status == 0, said

    status, said = asked(by_name, postgres_ca_file=authority.certificate)
    assert (status, "connection requires a valid client certificate" in said) == (69, True), said
    stranger = other.issue(USER)
    status, said = asked(
        by_name, **right | {"postgres_certificate_file": stranger.certificate, "postgres_key_file": stranger.key}
    )
    assert status == 69, said

    status, said = asked(by_name, **right | {"postgres_ca_file": "/no/such.pem"})
    unreadable = "/no/such.pem cannot be read (No such file or directory); correct LEADCLOCK_POSTGRES_CA_FILE"
    assert (status, unreadable in said) == (69, True), said
    status, said = asked(by_name, **login, postgres_sslmode="verify-full")
    assert (status, "set LEADCLOCK_POSTGRES_CA_FILE" in said) == (69, True), said


def test_a_server_without_tls_is_refused_where_it_is_demanded(database: str, authority: Authority) -> None:
    status, said = asked(database, postgres_ca_file=authority.certificate)
    assert (status, "makes no TLS connection with us" in said) == (69, True), said
