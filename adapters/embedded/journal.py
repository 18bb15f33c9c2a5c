"""How does the embedded log survive a restart? One file of frames, each with its length and checksum, added to at the end.

A frame is one whole change (a transaction over many topics, or one append), so it is there or it is not. What a crash
left half-written at the end is cut off when the file is opened.
"""

import asyncio
import fcntl
import os
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from struct import Struct as Layout

import msgspec

from engine.partition.ports import Headers, LogError
from schemas.instant import Instant

FILE_NAME = "embedded.log"

FRAME_BYTES_MAX = 256 * 1024 * 1024
"""A length above this is damage, not a frame."""

_HEAD = Layout(">II")
"""Length and CRC-32 of the body."""


class TopicCreated(msgspec.Struct, frozen=True, array_like=True, tag=1):
    """A topic exists from here on; `topic_id` is its for life."""

    name: str
    topic_id: str
    partitions: int
    record_bytes_max: int


class TopicDeleted(msgspec.Struct, frozen=True, array_like=True, tag=2):
    """A topic and its records are gone."""

    name: str


StoredRecord = tuple[int, bytes | None, bytes | None, Headers]
"""Offset, key, value, headers."""


class Slice(msgspec.Struct, frozen=True, array_like=True):
    """What one change wrote to one partition; `end` is the offset behind it, control record included."""

    topic: str
    partition: int
    records: list[StoredRecord]
    end: int


class Written(msgspec.Struct, frozen=True, array_like=True, tag=3):
    """Records that became visible together; an aborted transaction has slices without records."""

    at: Instant
    slices: list[Slice]


class RecordsDeleted(msgspec.Struct, frozen=True, array_like=True, tag=4):
    """Everything before `start` is gone from one partition."""

    topic: str
    partition: int
    start: int


Frame = TopicCreated | TopicDeleted | Written | RecordsDeleted

_ENCODER = msgspec.msgpack.Encoder()
_DECODER: msgspec.msgpack.Decoder[Frame] = msgspec.msgpack.Decoder(Frame)


class Journal:
    """The file. One process at a time has it open; writers share the calls to fsync."""

    def __init__(self, folder: Path, *, fsync: bool = True) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._path = folder / FILE_NAME
        self._fsync = fsync
        self._descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        self._broken: LogError | None = None
        self._syncing = asyncio.Lock()
        self._bytes_written = 0
        self._bytes_synced = 0
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(self._descriptor)
            raise LogError(f"{self._path} is in use by another process", retryable=False) from error
        _sync_folder(folder)

    def load(self) -> Iterator[Frame]:
        """Yield every whole frame from the start, then cut off a torn end. To be read to the end before `add`."""
        with os.fdopen(os.dup(self._descriptor), "rb") as file:
            size = os.fstat(self._descriptor).st_size
            file.seek(0)
            whole_bytes = 0
            while (body := _read_frame(file.read(_HEAD.size), file.read, size - whole_bytes)) is not None:
                whole_bytes += _HEAD.size + len(body)
                yield _DECODER.decode(body)
        if whole_bytes < size:
            os.ftruncate(self._descriptor, whole_bytes)
            os.fsync(self._descriptor)
        os.lseek(self._descriptor, whole_bytes, os.SEEK_SET)
        self._bytes_written = self._bytes_synced = whole_bytes

    async def add(self, frame: Frame) -> None:
        """Write one frame; returns once it is on the disk. Raises `LogError`, after which nothing more is taken.

        Frames are in the file in the order of the calls. Not to be cancelled: the caller shields it.
        """
        if self._broken is not None:
            raise self._broken
        body = _ENCODER.encode(frame)
        try:
            self._write(_HEAD.pack(len(body), zlib.crc32(body)) + body)
            await self._sync(self._bytes_written)
        except OSError as error:
            # What is on the disk is unknown now; only reading it again, at the next start, tells.
            self._broken = LogError(f"{self._path} cannot be written: {error}", retryable=False)
            raise self._broken from error

    def close(self) -> None:
        """Close the file, which gives up the lock."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1
            self._broken = LogError("the embedded log is closed", retryable=False)

    def _write(self, data: bytes) -> None:
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(self._descriptor, rest) :]
        self._bytes_written += len(data)

    async def _sync(self, upto_bytes: int) -> None:
        if not self._fsync:
            return
        async with self._syncing:
            if self._bytes_synced < upto_bytes:
                covered_bytes = self._bytes_written
                await asyncio.to_thread(os.fsync, self._descriptor)
                self._bytes_synced = covered_bytes


def _read_frame(head: bytes, read: Callable[[int], bytes], left_bytes: int) -> bytes | None:
    """Return the body of the next frame, or None where the file ends or its last frame is torn.

    Raises `LogError` where more follows behind a damaged frame: that is not the end of an interrupted write.
    """
    if len(head) < _HEAD.size:
        return None
    length, checksum = _HEAD.unpack(head)
    room_bytes = left_bytes - _HEAD.size
    if not 0 < length <= min(FRAME_BYTES_MAX, room_bytes):
        return None
    body = read(length)
    if zlib.crc32(body) == checksum:
        return body
    if length < room_bytes:
        raise LogError(f"{FILE_NAME} is damaged {left_bytes} bytes before its end", retryable=False)
    return None


def _sync_folder(folder: Path) -> None:
    """Make the file's name durable too."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
