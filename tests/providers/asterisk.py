"""How is a real Asterisk run for a test? With the files of our page, but for its ports and its carrier."""

import asyncio
import re
import shutil
import signal
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
from msgspec import Struct

from tests.providers.telephones import Sipp, free_port

ROOT = Path.home() / ".cache/leadclock/asterisk-22/root"
PAGE = Path(__file__).parents[2] / "deploy/docs/providers.md"

PASSWORD = "a-long-password"
FILES = ("http.conf", "ari.conf", "pjsip.conf", "extensions.conf")

START_SECONDS = 120

RTP_PORTS = 400


class RealAsterisk(Struct, frozen=True):
    """An Asterisk that runs."""

    url: str
    sipp: Sipp
    carrier_port: int
    """Where the telephone of each number is: the carrier's."""
    folder: Path

    @property
    def log(self) -> str:
        """What it has written."""
        return (self.folder / "log.txt").read_text(errors="replace")

    def recording(self, name: str) -> bytes:
        """A recording."""
        return (self.folder / "spool/recording" / f"{name}.wav").read_bytes()


@asynccontextmanager
async def run_asterisk() -> AsyncIterator[RealAsterisk]:
    """Run an Asterisk until the end of the block."""
    if not (ROOT.parent / "complete").exists():
        raise RuntimeError("Asterisk is not unpacked: run `make test-providers`, which does it")
    folder = Path(tempfile.mkdtemp(prefix="leadclock-", dir=ROOT / "tmp"))
    sip_port, carrier_port, http_port = free_port(), free_port(), free_port()
    _configure(folder, sip_port=sip_port, carrier_port=carrier_port, http_port=http_port)
    inside = f"/{folder.relative_to(ROOT)}"
    with (folder / "log.txt").open("wb") as log:
        program = await asyncio.create_subprocess_exec(
            "chroot", str(ROOT), "/usr/sbin/asterisk", "-f", "-C", f"{inside}/etc/asterisk.conf", stdout=log, stderr=log
        )
    found = RealAsterisk(f"http://127.0.0.1:{http_port}", Sipp(ROOT, inside, sip_port), carrier_port, folder)
    try:
        await _is_ready(found, program)
        yield found
    finally:
        if program.returncode is None:
            program.send_signal(signal.SIGKILL)
        await program.wait()
        shutil.rmtree(folder, ignore_errors=True)


def _configure(folder: Path, *, sip_port: int, carrier_port: int, http_port: int) -> None:
    """Write the files of the page over those of the package, with ports of this machine."""
    etc, inside = folder / "etc", f"/{folder.relative_to(ROOT)}"
    shutil.copytree(ROOT / "etc/asterisk", etc)
    for name in ("run", "lib", "spool/recording", "log"):
        (folder / name).mkdir(parents=True)
    main = (etc / "asterisk.conf").read_text().replace("[directories](!)", "[directories]")  # else they do not count
    for name, place in {
        "astetcdir": "etc", "astrundir": "run", "astdbdir": "lib", "astspooldir": "spool", "astlogdir": "log",
    }.items():  # fmt: skip
        main = re.sub(rf"^{name} => .*$", f"{name} => {inside}/{place}", main, flags=re.MULTILINE)
    (etc / "asterisk.conf").write_text(main)
    first = free_port() // 2 * 2
    (etc / "rtp.conf").write_text(f"[general]\nrtpstart={first}\nrtpend={min(65_534, first + RTP_PORTS)}\n")
    changes = {
        "8088": str(http_port),
        "CHANGE-ME": PASSWORD,
        "0.0.0.0:5060": f"127.0.0.1:{sip_port}",
        "sip:sip.carrier.example:5060": f"sip:127.0.0.1:{carrier_port}",
        "match = sip.carrier.example": "match = 127.0.0.1",
    }
    for name, text in page_files().items():
        for old, new in changes.items():
            text = text.replace(old, new)  # noqa: PLW2901 - one change after the other
        (etc / name).write_text(text)


def page_files() -> dict[str, str]:
    """The files that the page shows, without the indent of its list."""
    blocks = re.findall(r"^   ```ini\n   ; (\w+\.conf)\n(.*?)^   ```$", PAGE.read_text(), re.DOTALL | re.MULTILINE)
    found = {name: re.sub(r"^   ", "", text, flags=re.MULTILINE) for name, text in blocks}
    assert tuple(found) == FILES
    return found


async def _is_ready(asterisk: RealAsterisk, program: Any) -> None:
    async with asyncio.timeout(START_SECONDS), httpx.AsyncClient(auth=("leadclock", PASSWORD)) as client:
        while "Asterisk Ready" not in asterisk.log or not await _answers(client, asterisk.url):
            assert program.returncode is None, asterisk.log
            await asyncio.sleep(0.1)


async def _answers(client: httpx.AsyncClient, url: str) -> bool:
    try:
        return (await client.get(f"{url}/ari/asterisk/info")).is_success
    except httpx.TransportError:
        return False
