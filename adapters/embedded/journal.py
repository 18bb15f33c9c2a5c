"""How does the embedded log survive a restart? It appends frames to files, each with its length and checksum.

A frame is one whole change (a transaction over many topics, or one append), so it is there or it is not. Opening the file
truncates a frame that a crash left half-written at the end.
"""

import asyncio
import fcntl
import os
import zlib
from collections.abc import Callable, Generator, Iterator, Sequence
from pathlib import Path
from struct import Struct as Layout

import msgspec

from engine.partition.ports import Headers, LogError
from schemas.instant import Instant

FILE_NAME = "embedded.log"
"""The first segment; later ones have a number behind it."""

IMAGE_NAME = "embedded.image"
DRAFT_NAME = "embedded.draft"
LOCK_NAME = "embedded.lock"

IMAGE_CHUNK_BYTES = 256 * 1024
"""Bytes of an image that are encoded before other tasks may run: about a millisecond."""

FRAME_BYTES_MAX = 256 * 1024 * 1024
"""A length above this is damage, not a frame."""

_HEAD = Layout(">II")
"""Length and CRC-32 of the body."""


class TopicCreated(msgspec.Struct, frozen=True, array_like=True, tag=1):
    """A topic exists from here on; its `topic_id` never changes."""

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


class RecordsWritten(msgspec.Struct, frozen=True, array_like=True, tag=3):
    """Records that became visible together; an aborted transaction has slices without records."""

    at: Instant
    slices: list[Slice]


class RecordsDeleted(msgspec.Struct, frozen=True, array_like=True, tag=4):
    """Everything before `start` is gone from one partition."""

    topic: str
    partition: int
    start: int


ImageRecord = tuple[int, bytes | None, bytes | None, Headers, Instant]
"""Offset, key, value, headers, append time."""


class ImageSlice(msgspec.Struct, frozen=True, array_like=True, tag=5):
    """Records of one partition that an image holds, in order; the partition reaches from `start` to `end`."""

    topic: str
    partition: int
    start: int
    end: int
    records: list[ImageRecord]


Frame = TopicCreated | TopicDeleted | RecordsWritten | RecordsDeleted | ImageSlice

_ENCODER = msgspec.msgpack.Encoder()
_DECODER: msgspec.msgpack.Decoder[Frame] = msgspec.msgpack.Decoder(Frame)


class Journal:
    """The files. One process at a time has them open; writers share the calls to fsync.

    Frames are added to the newest segment. An image replaces all segments before its number, without what was deleted since;
    it appears whole, by renaming, and only then are these segments deleted.
    """

    def __init__(self, folder: Path, *, fsync: bool = True) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._fsync = fsync
        self._broken: LogError | None = None
        self._syncing = asyncio.Lock()
        self._bytes_written = 0
        self._bytes_synced = 0
        self._lock = os.open(folder / LOCK_NAME, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(self._lock)
            raise LogError(f"{folder / FILE_NAME} is in use by another process", retryable=False) from error
        self._number = max(self._numbers(FILE_NAME), default=max(self._numbers(IMAGE_NAME), default=0))
        self._descriptor = self._open(self._number)
        self.sync_folder()

    @property
    def size_bytes(self) -> int:
        """The size of all files."""
        return sum(path.stat().st_size for path in self._folder.iterdir() if path.is_file())

    @property
    def is_whole(self) -> bool:
        """Whether every write is known to have succeeded; the files must not be compacted where it is not."""
        return self._broken is None

    def check(self) -> None:
        """Raise `LogError`, with the reason, where no more frames are accepted."""
        if self._broken is not None:
            raise self._broken

    def load(self) -> Iterator[Frame]:
        """Yield every whole frame from the start, then truncate a torn end. Read it to the end before `add`.

        A segment is on the disk before a frame of the next one is acknowledged, so what follows a torn one never was.
        """
        image = max(self._numbers(IMAGE_NAME), default=0)
        self._delete_before(image)
        if image:
            size = self._path(IMAGE_NAME, image).stat().st_size
            if (yield from self._frames(self._path(IMAGE_NAME, image))) < size:
                raise LogError(f"{self._path(IMAGE_NAME, image)} is damaged", retryable=False)
        segments = sorted(number for number in self._numbers(FILE_NAME) if number >= image)
        whole_bytes = 0
        for place, number in enumerate(segments):
            path = self._path(FILE_NAME, number)
            size = path.stat().st_size
            whole_bytes = yield from self._frames(path)
            if whole_bytes < size:
                self._cut(number, whole_bytes, segments[place + 1 :])
                break
        os.lseek(self._descriptor, whole_bytes, os.SEEK_SET)
        self._bytes_written = self._bytes_synced = whole_bytes

    async def add(self, frame: Frame) -> None:
        """Write one frame; return once it is on the disk. Raises `LogError`, after which no more frames are accepted.

        Frames are in the file in the order of the calls. Do not cancel it: the caller shields it.
        """
        self.check()
        try:
            self._write(_framed(frame))
            await self._sync(self._bytes_written)
        except OSError as error:
            # What is on the disk is unknown until the next start reads it.
            self._broken = LogError(f"{self._folder / FILE_NAME} cannot be written: {error}", retryable=False)
            raise self._broken from error

    async def rotate(self) -> int:
        """Add to a new segment from here on; return its number, once all before it is on the disk. Raises `OSError`."""
        async with self._syncing:
            fresh = self._open(self._number + 1)
            former, self._descriptor = self._descriptor, fresh
            self._number += 1
            covered_bytes = self._bytes_written
            try:
                if self._fsync:
                    await asyncio.to_thread(os.fsync, former)
                    await asyncio.to_thread(self.sync_folder)
                self._bytes_synced = covered_bytes
            except OSError as error:
                self._broken = LogError(f"{self._folder / FILE_NAME} cannot be written: {error}", retryable=False)
                raise
            finally:
                os.close(former)
        return self._number

    async def write_image(self, number: int, frames: Iterator[Frame]) -> None:
        """Replace all segments before `number` by frames. Raises `OSError`, and then nothing has changed."""
        draft = self._folder / DRAFT_NAME
        try:
            with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600), "wb") as file:
                for chunk in _chunks(frames):
                    await asyncio.to_thread(file.write, chunk)
                file.flush()
                if self._fsync:
                    await asyncio.to_thread(os.fsync, file.fileno())
            draft.rename(self._path(IMAGE_NAME, number))
            self.sync_folder()
        finally:
            draft.unlink(missing_ok=True)
        self._delete_before(number)

    def close(self) -> None:
        """Close the files, which releases the lock."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            os.close(self._lock)
            self._descriptor = -1
            self._broken = LogError("the embedded log is closed", retryable=False)

    def sync_folder(self) -> None:
        """Make the names of the files durable too."""
        descriptor = os.open(self._folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def _path(self, name: str, number: int) -> Path:
        return self._folder / (f"{name}.{number}" if number else name)

    def _numbers(self, name: str) -> list[int]:
        """Return the numbers of the files of a kind that are there; the first segment has none in its name."""
        found = [path.name.removeprefix(name) for path in self._folder.glob(f"{name}*")]
        return [int(rest[1:] or 0) for rest in found if not rest or (rest[0] == "." and rest[1:].isdigit())]

    def _open(self, number: int) -> int:
        return os.open(self._path(FILE_NAME, number), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)

    def _frames(self, path: Path) -> Generator[Frame, None, int]:
        """Yield the whole frames of a file; return how many bytes they are."""
        whole_bytes = 0
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            while (body := _read_frame(file.read(_HEAD.size), file.read, size - whole_bytes)) is not None:
                whole_bytes += _HEAD.size + len(body)
                yield _DECODER.decode(body)
        return whole_bytes

    def _cut(self, number: int, whole_bytes: int, later: Sequence[int]) -> None:
        """Truncate a torn end, and delete later segments, which were never acknowledged."""
        if number != self._number:
            os.close(self._descriptor)
            self._descriptor = self._open(number)
            self._number = number
        os.ftruncate(self._descriptor, whole_bytes)
        os.fsync(self._descriptor)
        for one in later:
            self._path(FILE_NAME, one).unlink()

    def _delete_before(self, image: int) -> None:
        """Delete the files that an image replaces."""
        stale = [(FILE_NAME, number) for number in self._numbers(FILE_NAME)]
        stale += [(IMAGE_NAME, number) for number in self._numbers(IMAGE_NAME)]
        for name, number in stale:
            if number < image:
                self._path(name, number).unlink()

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


def _framed(frame: Frame) -> bytes:
    body = _ENCODER.encode(frame)
    return _HEAD.pack(len(body), zlib.crc32(body)) + body


def _chunks(frames: Iterator[Frame]) -> Iterator[bytes]:
    """Yield frames in chunks of about `IMAGE_CHUNK_BYTES`."""
    chunk = bytearray()
    for frame in frames:
        chunk += _framed(frame)
        if len(chunk) >= IMAGE_CHUNK_BYTES:
            yield bytes(chunk)
            chunk.clear()
    yield bytes(chunk)


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
