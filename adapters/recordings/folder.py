"""How are recordings stored in a folder? A file for each, in a folder for each company, which their owner alone may read.

A file is written beside its place and moved there once it is on the disk: a reader finds all of it, or none.
"""

import asyncio
import os
import time
import uuid
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from adapters.recordings.ports import MissingFileError, RecordingsUnavailableError, require_name

PART_BYTES = 262_144
"""Read at once: some seconds of a telephone call."""

UNFINISHED_SECONDS = 86_400.0
"""How old a file is that no process writes any more: a download ends within minutes."""

_UNFINISHED = ".unfinished"
"""The folder of files that are being written."""


class FolderRecordings:
    """A `RecordingFiles`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    async def put(self, name: str, parts: AsyncIterator[bytes]) -> int:
        """Store a file; see the port."""
        path = self._path(name)
        unfinished = self._folder / _UNFINISHED / uuid.uuid4().hex
        size = 0
        with _unavailable():
            file = await asyncio.to_thread(_create, unfinished, (self._folder, unfinished.parent, path.parent))
        try:
            try:
                async for part in parts:  # what it raises is no failure of the folder
                    with _unavailable():
                        await asyncio.to_thread(_write, file, part)
                    size += len(part)
                with _unavailable():
                    await asyncio.to_thread(os.fsync, file)
            finally:
                os.close(file)
            with _unavailable():
                await asyncio.to_thread(_move, unfinished, path)
        finally:
            unfinished.unlink(missing_ok=True)
        return size

    async def read(self, name: str, start: int, length: int) -> AsyncIterator[bytes]:
        """Yield a part of a file; see the port."""
        path = self._path(name)
        with _unavailable():
            try:
                file = await asyncio.to_thread(os.open, path, os.O_RDONLY)
            except FileNotFoundError as error:
                raise MissingFileError("the file of the recording is not there") from error
        try:
            end = start + length
            while start < end:
                with _unavailable():
                    part = await asyncio.to_thread(os.pread, file, min(PART_BYTES, end - start), start)
                if not part:
                    raise RecordingsUnavailableError("the file of the recording ends too early")
                yield part
                start += len(part)
        finally:
            os.close(file)

    async def delete(self, name: str) -> None:
        """Delete a file, and what processes that were killed have left unfinished; see the port."""
        path = self._path(name)
        with _unavailable():
            await asyncio.to_thread(path.unlink, missing_ok=True)
            await asyncio.to_thread(_delete_unfinished, self._folder / _UNFINISHED)

    def _path(self, name: str) -> Path:
        return self._folder / require_name(name)


def _create(path: Path, folders: Sequence[Path]) -> int:
    """Create a file, and each of these folders with the rights of its owner alone."""
    for folder in folders:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)


def _write(file: int, part: bytes) -> None:
    rest = memoryview(part)
    while rest:
        rest = rest[os.write(file, rest) :]


def _move(unfinished: Path, path: Path) -> None:
    """Move a file to its place, and have the disk remember that."""
    unfinished.replace(path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _delete_unfinished(folder: Path) -> None:
    """Delete unfinished files that nobody writes any more."""
    found = {}
    with suppress(FileNotFoundError):
        for path in folder.iterdir():
            with suppress(FileNotFoundError):
                found[path] = path.stat().st_mtime
    for path, written_at in found.items():
        if written_at < time.time() - UNFINISHED_SECONDS:
            path.unlink(missing_ok=True)


@contextmanager
def _unavailable() -> Iterator[None]:
    """Raise what the operating system says as an error of the port."""
    try:
        yield
    except OSError as error:
        raise RecordingsUnavailableError(f"the folder of recordings: {error.strerror or error}") from error
