"""What writes down the words of a recording? A speech recogniser: audio in, text out. The operator chooses which."""

from collections.abc import AsyncIterator
from typing import Protocol

from msgspec import Struct

from schemas.errors import DependencyError

TEXT_LENGTH_MAX = 400_000
"""In characters: four hours, the longest call that is recorded, at 200 words a minute with seven characters each."""


class Audio(Struct, frozen=True, kw_only=True):
    """One file of a recording. `parts` yields its `size` bytes, once."""

    media_type: str
    size: int
    parts: AsyncIterator[bytes]


class TranscriberUnavailableError(DependencyError):
    """The transcriber did not answer, or cannot work now; it may later."""


class NotTranscribableError(DependencyError):
    """The transcriber refuses this file, however often it is tried."""


class Transcriber(Protocol):
    """Writes down the words of a recording.

    Contract: tests/adapters/recordings/transcriber_contract.py.
    """

    async def transcribe(self, audio: Audio) -> str:
        """Return what was said, empty where nothing was: at most `TEXT_LENGTH_MAX` characters, and no NUL.

        Raises `TranscriberUnavailableError`, `NotTranscribableError`, and what `audio.parts` raises.
        """
        ...
