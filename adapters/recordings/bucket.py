"""How are recordings stored in a bucket, of S3 or of a server that speaks its API? An object for each, under its name.

An object appears once all of it was uploaded: a reader finds all of it, or none. What the parts of an upload leave behind
whose process was killed is deleted by a rule of the bucket, which deploy/docs/providers.md names.
"""

import asyncio
import re
import uuid
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from datetime import timedelta
from enum import Enum
from typing import Any

from msgspec import Struct
from obstore.exceptions import BaseError
from obstore.store import S3Store

from adapters.recordings.ports import MissingFileError, RecordingsUnavailableError, require_name
from schemas.errors import DependencyError

PART_BYTES = 5_242_880
"""Uploaded at once: S3 takes no smaller part but the last."""

PARTS_AT_ONCE = 1
"""Of one upload, so that none is under way while it is aborted: a server may store that one after it deleted the others.
With those that are being filled, four downloads hold 40 MB at most."""

READ_BYTES = 1_048_576
"""Asked for at once: a minute of a telephone call. A listener who is slow holds no connection to the server."""

CONNECT_SECONDS, REQUEST_SECONDS = 5, 60
"""Of one request: a part at 100 kB a second."""

RETRIES_MAX, RETRY_SECONDS = 3, 60
"""Of one request that the server failed; a recording that cannot be stored is fetched again later."""

ABORT_SECONDS = 30.0
"""How long an upload that breaks off may take to delete its parts."""

TRIAL = "leadclock-trial"
"""Where an object is stored that is no recording: companies have numbers."""

MISSING_KEY = "NoSuchKey"
"""What a server says of an object that is not there; of a bucket that is not there it says something else."""

REASON_LENGTH_MAX = 300

_CODE = re.compile(r"<Code>(\w{1,60})</Code>")
_BODY = re.compile(r"\s*:?\s*<(\?xml|Error)\b.*", re.DOTALL)


class BucketPlace(Struct, frozen=True, kw_only=True):
    """Where a bucket is. Without `endpoint` it is at AWS; without keys these are found as programs of AWS find theirs."""

    name: str
    prefix: str = ""
    endpoint: str = ""
    region: str = ""
    access_key: str = ""
    secret_key: str = ""


class _End(Enum):
    """What follows the last part of a file."""

    COMPLETE = 1
    BROKEN_OFF = 2


class _BrokenOffError(DependencyError):
    """The file broke off, so its upload is aborted."""


class BucketRecordings:
    """A `RecordingFiles`."""

    def __init__(self, bucket: BucketPlace) -> None:
        given = {
            "endpoint": bucket.endpoint,
            "region": bucket.region,
            "access_key_id": bucket.access_key,
            "secret_access_key": bucket.secret_key,
        }
        config: Any = {name: value for name, value in given.items() if value}
        self._store = S3Store(
            bucket.name,
            prefix=bucket.prefix or None,
            config=config,
            client_options={
                "allow_http": bucket.endpoint.startswith("http://"),
                "connect_timeout": f"{CONNECT_SECONDS}s",
                "timeout": f"{REQUEST_SECONDS}s",
            },
            retry_config={"max_retries": RETRIES_MAX, "retry_timeout": timedelta(seconds=RETRY_SECONDS)},
        )

    async def put(self, name: str, parts: AsyncIterator[bytes]) -> int:
        """Store a file; see the port."""
        feed = _UploadParts()
        upload = asyncio.ensure_future(self._upload(require_name(name), feed))
        size = 0
        try:
            async for part in parts:
                await feed.give(part, upload)
                size += len(part)
            await feed.give(_End.COMPLETE, upload)
            await asyncio.wait([upload])  # not cancelled with us: it would leave its parts behind
            upload.result()
        finally:
            await feed.close(upload)
        return size

    async def read(self, name: str, start: int, length: int) -> AsyncIterator[bytes]:
        """Yield a part of a file; see the port."""
        require_name(name)
        end = start + length
        while start < end:
            with _unavailable():
                part = bytes(await self._store.get_range_async(name, start=start, length=min(READ_BYTES, end - start)))
            if not part:
                raise RecordingsUnavailableError("the file of the recording ends too early")
            yield part
            start += len(part)

    async def delete(self, name: str) -> None:
        """Delete a file; see the port."""
        require_name(name)
        try:
            with _unavailable():
                await self._store.delete_async(name)
        except MissingFileError:  # S3 itself does not say so
            return

    async def try_out(self) -> bool:
        """Store, read and delete a small object; return whether it stays as an earlier version.

        Raises `RecordingsUnavailableError`.
        """
        name = f"{TRIAL}/{uuid.uuid4().hex}"
        with _unavailable():
            stored = await self._store.put_async(name, TRIAL.encode())
            read = bytes(await self._store.get_range_async(name, start=0, length=len(TRIAL)))
            await self._store.delete_async(name)
        if read != TRIAL.encode():
            raise RecordingsUnavailableError("the bucket of recordings gives back something else than was stored")
        return stored["version"] not in {None, "null"}

    async def _upload(self, name: str, feed: "_UploadParts") -> None:
        with _unavailable():
            await self._store.put_async(name, feed.taken(), chunk_size=PART_BYTES, max_concurrency=PARTS_AT_ONCE)


class _UploadParts:
    """Hands parts from the task that reads them to the upload, one at a time.

    The parts are read in their own task, so that its bounds of time hold, and are not read by the library's.
    """

    def __init__(self) -> None:
        self._parts: asyncio.Queue[bytes | _End] = asyncio.Queue(1)

    async def give(self, part: bytes | _End, upload: asyncio.Future[None]) -> None:
        """Hand over a part. Raises what the upload raised, if it has failed."""
        giving = asyncio.ensure_future(self._parts.put(part))
        try:
            await asyncio.wait([giving, upload], return_when=asyncio.FIRST_COMPLETED)
        finally:
            giving.cancel()
        if upload.done():
            upload.result()

    async def taken(self) -> AsyncIterator[bytes]:
        """Yield the parts to the upload."""
        while not isinstance(part := await self._parts.get(), _End):
            yield part
        if part is _End.BROKEN_OFF:
            yield b""  # the library takes it once no part is under way
            raise _BrokenOffError

    async def close(self, upload: asyncio.Future[None]) -> None:
        """Let an upload that has not ended delete what it stored."""
        if not upload.done():
            while not self._parts.empty():
                self._parts.get_nowait()
            self._parts.put_nowait(_End.BROKEN_OFF)
            await asyncio.wait([upload], timeout=ABORT_SECONDS)
            upload.cancel()
        if not upload.cancelled() and upload.done():
            upload.exception()  # it was looked at


@contextmanager
def _unavailable() -> Iterator[None]:
    """Raise what the library says as an error of the port."""
    try:
        yield
    except FileNotFoundError as error:
        if MISSING_KEY in str(error):
            raise MissingFileError("the file of the recording is not there") from error
        raise RecordingsUnavailableError(f"the bucket of recordings: {describe(error)}") from error
    except (BaseError, OSError) as error:
        raise RecordingsUnavailableError(f"the bucket of recordings: {describe(error)}") from error


def describe(error: Exception) -> str:
    """Return what the library says in a line: it quotes whole answers, and where in its source it failed."""
    text = str(error).partition("\n\nDebug source")[0]
    code = _CODE.search(text)
    line = " ".join(_BODY.sub("", text).split())[:REASON_LENGTH_MAX]
    return f"{line} ({code[1]})" if code else line
