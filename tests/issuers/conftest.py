"""What do people sign in by? A provider that others wrote, beside a deployment that is served on a port of loopback."""

import asyncio
import datetime as dt
import ipaddress
import json
import socket
import ssl
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from msgspec.structs import replace
from playwright.async_api import Browser, async_playwright, expect

from adapters.gateway.addresses import networks
from adapters.gateway.resolver import Resolver
from adapters.http.server import serving
from adapters.http.sign_in.issuer_sign_in import CALLBACK_PATH
from adapters.providers.provider_http import GuardedProviderHttp
from tests.adapters.http.browser.conftest import ARGUMENTS, WAIT_MILLISECONDS, find_browser
from tests.adapters.http.conftest import UNLIMITED, Town, company, deployed
from tests.databases import migrated

__all__ = ["company"]

HERE = Path(__file__).parent
PROGRAMS = HERE.parents[1] / ".venv" / "issuers" / "node_modules"
CLIENT, SECRET = "leadclock", "the secret of a client: 100 %"
HOST = "id.test"
"""The host of the issuer: the resolver of the tests and the browser know it."""


class Names(Resolver):
    """Gives the addresses that a test says, as a name server that an attacker owns."""

    def __init__(self) -> None:
        super().__init__()
        self.found = ["127.0.0.1"]

    async def addresses(self, host: str) -> list[str]:
        """Return the addresses of the issuer, whatever the name."""
        return self.found


class Provider:
    """The provider, as a process of its own."""

    def __init__(self, port: int, process: asyncio.subprocess.Process) -> None:
        self.issuer = f"https://{HOST}:{port}"
        self._process = process

    async def rotate(self) -> None:
        """Give it other keys."""
        assert self._process.stdin is not None
        self._process.stdin.write(b"rotate\n")
        await self.says("rotated")

    async def says(self, word: str) -> None:
        """Wait until it says a word; what it warns of is passed over."""
        assert self._process.stdout is not None
        async for line in self._process.stdout:
            if line.decode().strip() == word:
                return
        pytest.fail("the identity provider has ended")


class Place:
    """A deployment on a port, with the names that it resolves."""

    def __init__(self, town: Town, base: str, names: Names) -> None:
        self.town = town
        self.base = base
        self.names = names


def free_port() -> int:
    """Return a port that no one listens on."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A key and a certificate of the issuer's host that it signs itself."""
    folder = tmp_path_factory.mktemp("issuer")
    key, name = generate_private_key(SECP256R1()), x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, HOST)])
    now = dt.datetime.now(dt.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(days=1))
        .not_valid_after(now + dt.timedelta(days=1))
        .add_extension(
            x509.SubjectAlternativeName([x509.DNSName(HOST), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]),
            critical=False,
        )
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, SHA256())
    )
    (folder / "key.pem").write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    (folder / "certificate.pem").write_bytes(made.public_bytes(Encoding.PEM))
    return folder / "key.pem", folder / "certificate.pem"


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def place(postgres_dsn: str, certificate: tuple[Path, Path]) -> AsyncIterator[Place]:
    """A deployment that is reached where its settings say, and takes the certificate of the issuer."""
    port, names = free_port(), Names()
    base = f"http://127.0.0.1:{port}"
    async with (
        migrated(postgres_dsn) as dsn,
        deployed(dsn, replace(UNLIMITED, public_url=base)) as town,
        serving(town.app, host="127.0.0.1", port=port),
    ):
        tls = ssl.create_default_context(cafile=certificate[1])
        http = GuardedProviderHttp(allowed=networks(["127.0.0.1"]), tls=tls, resolver=names)
        town.issuers._http = http
        yield Place(town, base, names)
        await http.close()


@pytest.fixture(scope="module")
def town(place: Place) -> Town:
    """The deployment of the company of a test."""
    return place.town


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def chromium() -> AsyncIterator[Browser]:
    """The system's Chromium, which knows the host of the issuer."""
    known = f"--host-resolver-rules=MAP {HOST} 127.0.0.1"
    expect.set_options(timeout=WAIT_MILLISECONDS)
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=find_browser(), args=[*ARGUMENTS, known])
        yield browser
        await browser.close()


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def provider(place: Place, certificate: tuple[Path, Path]) -> AsyncIterator[Provider]:
    """The provider, which knows the deployment as a client."""
    port = free_port()
    settings = {
        "programs": str(PROGRAMS),
        "issuer": f"https://{HOST}:{port}",
        "port": port,
        "key": str(certificate[0]),
        "certificate": str(certificate[1]),
        "client_id": CLIENT,
        "client_secret": SECRET,
        "redirect_uri": f"{place.base}{CALLBACK_PATH}",
    }
    if not PROGRAMS.is_dir():
        pytest.fail("The identity provider is not installed: run `make test-issuers`, which installs it.", pytrace=False)
    process = await asyncio.create_subprocess_exec(
        "node", str(HERE / "provider.mjs"), env={"SETTINGS": json.dumps(settings), "PATH": "/usr/local/bin:/usr/bin:/bin"},
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip
    found = Provider(port, process)
    await found.says("ready")
    yield found
    process.kill()
    await process.wait()
