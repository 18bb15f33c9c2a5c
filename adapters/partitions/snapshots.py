"""Where is a snapshot of a partition's state? In a local file per partition; every file may be deleted at any time.

The changelog is authoritative. A file that is torn, too old, or of another deployment, topic or partition is ignored with a
warning, and the changelog read instead; the runner does the same where the changelog goes on from another decision.
Layout: a header frame, then frames of packed values, then an end frame with the digest of all; each frame has its length.
"""

import asyncio
import hashlib
import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from typing import BinaryIO

import msgspec
import structlog
from msgspec import Struct

from engine.partition.ports import Snapshot
from schemas.instant import Instant

FORMAT = 3
"""Of the values too: 2 has entities under short names (`schemas.short`), 3 names what the snapshot is of.

It alone decides whether the snapshot of another release is used; the release is stored for people who read the file.
"""

LENGTH_BYTES = 4
DIGEST_BYTES = 16

logger = structlog.get_logger(__name__)


class _Format(Struct, frozen=True):
    format: int


class _Header(Struct, frozen=True, kw_only=True):
    """What a snapshot is of: `sequence` and `chain` are those of its last decision, `code` is the release that wrote it."""

    format: int = FORMAT
    deployment: str
    topic: str
    topic_id: str
    partition: int
    begun_at: Instant
    offset: int
    sequence: int
    chain: str
    code: str

    def fits(self, deployment: str, topic: str, topic_id: str, partition: int) -> bool:
        return (self.deployment, self.topic, self.topic_id, self.partition) == (deployment, topic, topic_id, partition)


class FileSnapshots:
    """One folder of snapshots; implements `engine.partition.ports.Snapshots`.

    `topic` is the changelog that they are of, `deployment` returns the id of the deployment once that is known.
    """

    def __init__(self, folder: Path, name: str, *, topic: str, deployment: Callable[[], str]) -> None:
        self._folder = folder
        self._name = name
        self._topic = topic
        self._deployment = deployment

    def load(self, partition: int, topic_id: str, *, begun_after: Instant) -> Iterator[Snapshot] | None:
        """Return the slices of the snapshot if it is whole, of this topic, and young enough; else None."""
        path = self._path(partition)
        try:
            frames = _frames(path.read_bytes())
            header = _header_of(frames[0])
        except FileNotFoundError:
            return None
        except (OSError, ValueError, IndexError) as error:
            logger.warning("snapshot.ignored", path=str(path), error=str(error))
            return None
        if not header.fits(self._deployment(), self._topic, topic_id, partition):
            found = f"{header.topic}[{header.partition}] ({header.topic_id}) of deployment {header.deployment}"
            logger.warning("snapshot.ignored", path=str(path), error=f"it is of {found}")
            return None
        if header.begun_at < begun_after:
            return None
        about = header.sequence, header.chain
        return (
            Snapshot(header.begun_at, header.offset, msgspec.msgpack.decode(frame, type=list[tuple[str, bytes]]), *about)
            for frame in frames[1:]
        )

    async def save(self, partition: int, topic_id: str, slices: Iterator[Snapshot]) -> None:
        """Write the slices beside the former snapshot and put the file in its place when it is whole.

        A full disk costs the snapshot and nothing else: it is logged, and the next one is due in time.
        """
        path = self._path(partition)
        draft = path.with_suffix(".draft")
        try:
            self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)  # it holds persons and lead tokens
            with draft.open("wb") as file:
                state = hashlib.blake2b(digest_size=DIGEST_BYTES)
                for index, one in enumerate(slices):
                    if index == 0:
                        _write(file, state, msgspec.msgpack.encode(self._header(partition, topic_id, one)))
                    _write(file, state, msgspec.msgpack.encode(one.items))
                    await asyncio.sleep(0)
                file.write(state.digest())
                file.flush()
                os.fsync(file.fileno())
            draft.replace(path)
        except OSError as error:
            await logger.awarning("snapshot.failed", path=str(path), error=str(error))
            with suppress(OSError):
                draft.unlink(missing_ok=True)

    def _header(self, partition: int, topic_id: str, one: Snapshot) -> _Header:
        return _Header(
            deployment=self._deployment(),
            topic=self._topic,
            topic_id=topic_id,
            partition=partition,
            begun_at=one.begun_at,
            offset=one.offset,
            sequence=one.sequence,
            chain=one.chain,
            code=version("leadclock"),
        )

    def _path(self, partition: int) -> Path:
        return self._folder / f"{self._name}-{partition}.snapshot"


def _header_of(frame: bytes) -> _Header:
    """Return the first frame of a file. Raises `ValueError` where the file is of another format."""
    written = msgspec.msgpack.decode(frame, type=_Format).format
    if written != FORMAT:
        raise ValueError(f"it is of format {written}, not {FORMAT}")
    return msgspec.msgpack.decode(frame, type=_Header)


def _write(file: BinaryIO, state: "hashlib.blake2b", frame: bytes) -> None:
    framed = len(frame).to_bytes(LENGTH_BYTES, "big") + frame
    state.update(framed)
    file.write(framed)


def _frames(data: bytes) -> list[bytes]:
    """Split a file into its frames. Raises `ValueError` where it is torn or its digest is not that of its bytes."""
    body, found = data[:-DIGEST_BYTES], data[-DIGEST_BYTES:]
    if hashlib.blake2b(body, digest_size=DIGEST_BYTES).digest() != found:
        raise ValueError("the digest does not match")
    frames = []
    at = 0
    while at < len(body):
        length = int.from_bytes(body[at : at + LENGTH_BYTES], "big")
        frames.append(body[at + LENGTH_BYTES : at + LENGTH_BYTES + length])
        at += LENGTH_BYTES + length
    return frames
