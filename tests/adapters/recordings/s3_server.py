"""Which S3 server do tests store in? Versity's gateway over a folder, with a bucket for each test.

It keeps an object's attributes in a folder beside, since not every file system has extended attributes.
"""

import signal
import subprocess
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from msgspec import Struct

from adapters.local.process import LOCALHOST, free_port, tied_to_parent
from adapters.recordings.bucket import BucketPlace
from tests.pace import bound

PROGRAM = Path(__file__).parents[3] / ".venv" / "s3-server" / "versitygw"
NO_SERVER = "Run `make object-store`, which builds the S3 server that this test needs."

ACCESS_KEY, SECRET_KEY, REGION = "the-access-key", "the secret of the access key", "eu-central-1"

START_SECONDS = bound(60.0)
STOP_SECONDS = bound(10.0)


class S3Server(Struct, frozen=True):
    """A server that runs, and its folders."""

    endpoint: str
    objects: Path
    attributes: Path

    def bucket(self, prefix: str = "leadclock", **more: str) -> BucketPlace:
        """Return a new bucket."""
        name = f"b{uuid.uuid4().hex[:20]}"
        (self.objects / name).mkdir()
        given = {"endpoint": self.endpoint, "region": REGION, "access_key": ACCESS_KEY, "secret_key": SECRET_KEY}
        return BucketPlace(name=name, prefix=prefix, **{**given, **more})

    def files(self, name: str) -> list[Path]:
        """Return every file that a bucket takes up, also parts of uploads that have not ended."""
        return [path for path in (self.objects / name).rglob("*") if path.is_file()]

    def keep_versions(self, name: str) -> None:
        """Let a bucket keep earlier versions, as its owner would by PutBucketVersioning."""
        folder = self.attributes / name / "meta"
        folder.mkdir(parents=True)
        (folder / "versioning").write_bytes(bytes([1]))


@contextmanager
def serving(folder: Path) -> Iterator[S3Server]:
    """Run a server over a folder; it ends with this process."""
    if not PROGRAM.exists():
        pytest.fail(NO_SERVER, pytrace=False)
    port = free_port()
    server = S3Server(f"http://{LOCALHOST}:{port}", folder / "objects", folder / "attributes")
    versions = folder / "versions"
    for path in (server.objects, server.attributes, versions):
        path.mkdir()
    keys = ["--access", ACCESS_KEY, "--secret", SECRET_KEY, "--region", REGION]
    listening = ["--port", f"{LOCALHOST}:{port}", "--health", "/health", "--quiet"]
    kept = ["posix", "--sidecar", str(server.attributes), "--versioning-dir", str(versions), str(server.objects)]
    log = folder / "server.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            tied_to_parent([str(PROGRAM), *keys, *listening, *kept], signal.SIGKILL), stdout=output, stderr=output
        )
    try:
        _wait(process, server, log)
        yield server
    finally:
        process.terminate()
        process.wait(STOP_SECONDS)


def _wait(process: "subprocess.Popen[bytes]", server: S3Server, log: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while True:
        assert process.poll() is None, log.read_text()
        assert time.monotonic() < deadline, log.read_text()
        try:
            if httpx.get(f"{server.endpoint}/health").status_code == httpx.codes.OK:
                return
        except httpx.TransportError:
            time.sleep(0.05)
