"""Where are recordings, and which are still to be fetched or deleted? Files in a private store, and a row for each.

The row is written before the report that names the recording is appended, so a process that ends in between loses none.
"""

import re
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from typing import Literal, Protocol

from msgspec import Struct

from schemas.errors import DependencyError
from schemas.instant import Instant

RecordingState = Literal["owed", "stored", "failed", "deleting", "deleted"]

TranscriptionState = Literal["pending", "completed", "failed"]

_NAME = re.compile(r"[1-9][0-9]{0,15}/[0-9a-f]{32}")


class RecordingsUnavailableError(DependencyError):
    """The store of the files cannot be reached, or has no room."""


class MissingFileError(DependencyError):
    """The store has no such file: it was deleted by hand, or this process has another store."""


def require_name(name: str) -> str:
    """Return the name of a file. Raises `ValueError` for what is none: a store must not leave its place."""
    if _NAME.fullmatch(name) is None:
        raise ValueError(f"{name!r} is no name of a recording")
    return name


class RecordingFiles(Protocol):
    """A private store of files, each named `<company>/<32 hexadecimal digits>`.

    Contract: tests/adapters/recordings/files_contract.py.
    """

    async def put(self, name: str, parts: AsyncIterator[bytes]) -> int:
        """Store a file as a whole or not at all, in place of an earlier one; return its bytes.

        Raises `RecordingsUnavailableError`, and what `parts` raises.
        """
        ...

    def read(self, name: str, start: int, length: int) -> AsyncIterator[bytes]:
        """Yield so many bytes from an offset. Raises `MissingFileError` or `RecordingsUnavailableError`."""
        ...

    async def delete(self, name: str) -> None:
        """Delete a file, if it is there. Raises `RecordingsUnavailableError`."""
        ...


class Recording(Struct, frozen=True, kw_only=True):
    """One recording. `recording_url` names it at its vendor, as the call does; `name` is that of its file."""

    id: str
    company_id: int
    configuration_id: int
    contact_key: str
    call_id: int | None
    recording_url: str
    state: RecordingState
    attempts: int
    owed_at: Instant
    reason: str | None = None
    size: int = 0
    media_type: str = ""

    @property
    def name(self) -> str:
        """Return the name of its file, which says nothing of the person."""
        return f"{self.company_id}/{self.id.replace('-', '')}"


class Recordings(Protocol):
    """Stores which recordings there are, in the `work` schema. Every method raises `StoreError` and nothing else.

    No contract suite: one adapter (`adapters.postgres.recordings.PostgresRecordings`), tested on a real database in
    tests/adapters/recordings/test_rows.py.
    """

    async def owe(
        self, *, company_id: int, configuration_id: int, contact_key: str, call_id: int | None, recording_url: str
    ) -> None:
        """Store that a recording is to be fetched; nothing where it is known, or was deleted."""
        ...

    async def find(self, company_id: int, recording_url: str) -> Recording | None:
        """Return a recording of a company by its name at the vendor."""
        ...

    async def take_owed(self, limit: int, lease_seconds: float, *, without: Collection[int] = ()) -> Sequence[Recording]:
        """Take recordings that are due to be fetched; nobody else takes them while the lease lasts.

        Companies take turns; those in `without` are left out.
        """
        ...

    async def retry(self, recording_id: str, reason: str, after_seconds: float) -> None:
        """Store that a recording could not be fetched, and when to try again."""
        ...

    async def give_up(self, recording_id: str, reason: str) -> None:
        """Store that a recording is not fetched any more."""
        ...

    async def stored(self, recording_id: str, size: int, media_type: str) -> bool:
        """Store that the file is complete; False where it is to be deleted instead."""
        ...

    async def begin_delete(self, company_id: int, recording_url: str) -> None:
        """Store that a recording is to be deleted."""
        ...

    async def expire(self, days: Mapping[int, int], default_days: int, limit: int) -> int:
        """Store of recordings older than their company's `days` that they are to be deleted; return how many."""
        ...

    async def take_deletions(self, limit: int, lease_seconds: float) -> Sequence[Recording]:
        """Take recordings that are to be deleted and that nobody fetches; companies take turns."""
        ...

    async def deleted(self, recording_id: str) -> None:
        """Store that the file of a recording is deleted."""
        ...

    async def forget(self, after_seconds: float) -> int:
        """Forget recordings that were deleted so long ago, in small steps; return how many."""
        ...


class Transcription(Struct, frozen=True, kw_only=True):
    """What somebody asked to have written down of a recording. `text` may be there before the call says that it is."""

    recording: Recording
    state: TranscriptionState
    attempts: int
    asked_at: Instant
    text: str | None = None
    reason: str | None = None

    @property
    def company_id(self) -> int:
        """Return the company of the recording."""
        return self.recording.company_id


class Transcriptions(Protocol):
    """Stores which transcriptions there are, in the `work` schema. Every method raises `StoreError` and nothing else.

    One is deleted with its recording, at once: with a request to delete that, or by its retention.

    No contract suite: one adapter (`adapters.postgres.transcriptions.PostgresTranscriptions`), tested on a real database in
    tests/adapters/recordings/test_transcription_rows.py.
    """

    async def ask(self, recording_id: str) -> None:
        """Store that a recording is to be transcribed, again where that failed; nothing where it is done or pending."""
        ...

    async def find(self, recording_id: str) -> Transcription | None:
        """Return the transcription of a recording, None where nobody asked for one."""
        ...

    async def take(self, lease_seconds: float, *, without: Collection[int] = ()) -> Transcription | None:
        """Take one whose recording is stored or given up; nobody else takes it while the lease lasts.

        Companies take turns; those in `without` are left out.
        """
        ...

    async def retry(self, recording_id: str, reason: str, after_seconds: float) -> None:
        """Store that a recording could not be transcribed, and when to try again."""
        ...

    async def add_text(self, recording_id: str, text: str) -> bool:
        """Store the text; False where the recording is deleted, so that nothing of it is kept."""
        ...

    async def complete(self, recording_id: str) -> None:
        """Store that the call says that the text is there."""
        ...

    async def fail(self, recording_id: str, reason: str) -> None:
        """Store that a recording is not transcribed, and why."""
        ...
