"""What must every store of recordings do? Keep whole files under their names, give parts of them, and delete them."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from adapters.recordings.ports import MissingFileError, RecordingFiles

NAME = "7/0123456789abcdef0123456789abcdef"
OTHER = "8/0123456789abcdef0123456789abcdef"
CONTENT = bytes(range(256)) * 4_000
"""A megabyte: more than one part of any store."""


async def parts_of(content: bytes, size: int = 100_000) -> AsyncIterator[bytes]:
    for start in range(0, len(content), size):
        yield content[start : start + size]


async def read(files: RecordingFiles, name: str, start: int, length: int) -> bytes:
    return b"".join([part async for part in files.read(name, start, length)])


class FilesContract:
    """Run it on a store: give the fixture `files`."""

    async def test_a_file_is_given_back_whole_and_in_parts(self, files: RecordingFiles) -> None:
        assert await files.put(NAME, parts_of(CONTENT)) == len(CONTENT)

        assert await read(files, NAME, 0, len(CONTENT)) == CONTENT
        assert await read(files, NAME, 300_001, 10) == CONTENT[300_001:300_011]
        assert await read(files, NAME, len(CONTENT) - 1, 1) == CONTENT[-1:]

    async def test_a_file_that_is_stored_again_replaces_the_first(self, files: RecordingFiles) -> None:
        await files.put(NAME, parts_of(CONTENT))
        await files.put(NAME, parts_of(b"new"))

        assert await read(files, NAME, 0, 3) == b"new"

    async def test_a_file_that_breaks_off_is_not_stored(self, files: RecordingFiles) -> None:
        async def broken() -> AsyncIterator[bytes]:
            yield CONTENT
            raise ConnectionError

        with pytest.raises(ConnectionError):
            await files.put(NAME, broken())

        with pytest.raises(MissingFileError):
            await read(files, NAME, 0, 1)

    async def test_a_file_that_breaks_off_leaves_the_one_before(self, files: RecordingFiles) -> None:
        await files.put(NAME, parts_of(b"first"))

        async def broken() -> AsyncIterator[bytes]:
            yield CONTENT
            raise ConnectionError

        with pytest.raises(ConnectionError):
            await files.put(NAME, broken())

        assert await read(files, NAME, 0, 5) == b"first"

    async def test_a_deleted_file_is_gone_and_may_be_deleted_again(self, files: RecordingFiles) -> None:
        await files.put(NAME, parts_of(CONTENT))

        await files.delete(NAME)
        await files.delete(NAME)

        with pytest.raises(MissingFileError):
            await read(files, NAME, 0, 1)

    async def test_files_of_two_companies_are_two(self, files: RecordingFiles) -> None:
        await files.put(NAME, parts_of(b"one"))
        await files.put(OTHER, parts_of(b"two"))
        await files.delete(NAME)

        assert await read(files, OTHER, 0, 3) == b"two"

    async def test_of_two_that_store_a_file_at_once_one_is_kept_whole(self, files: RecordingFiles) -> None:
        contents = [bytes([number]) * 500_000 for number in range(4)]

        await asyncio.gather(*(files.put(NAME, parts_of(content)) for content in contents))

        assert await read(files, NAME, 0, 500_000) in contents

    @pytest.mark.parametrize("name", ["", "7", "7/../8/x", "/etc/passwd", "0/0123456789abcdef0123456789abcdef", f"{NAME}/x"])
    async def test_what_is_no_name_of_a_recording_is_refused(self, files: RecordingFiles, name: Any) -> None:
        with pytest.raises(ValueError, match="no name"):
            await files.put(name, parts_of(b"x"))
        with pytest.raises(ValueError, match="no name"):
            await read(files, name, 0, 1)
        with pytest.raises(ValueError, match="no name"):
            await files.delete(name)
