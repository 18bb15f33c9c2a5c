"""What must every transcriber do? Give the words of a file, within bounds, and say whether a failure may pass."""

from collections.abc import AsyncIterator
from typing import Protocol

import pytest

from adapters.recordings.ports import MissingFileError
from adapters.recordings.transcriber import (
    TEXT_LENGTH_MAX,
    Audio,
    NotTranscribableError,
    Transcriber,
    TranscriberUnavailableError,
)

SOUND = b"RIFF\x24\x10\x00\x00WAVEfmt " + bytes(range(256)) * 1_000


class Recogniser(Protocol):
    """What stands behind the transcriber, so that the contract can say what it hears.

    No contract suite: it is a part of one.
    """

    heard: list[bytes]

    def says(self, text: str) -> None:
        """Let it hear these words in every file."""
        ...

    def refuses(self) -> None:
        """Let it refuse every file."""
        ...

    def is_overloaded(self) -> None:
        """Let it refuse to work now."""
        ...


async def parts_of(content: bytes, size: int = 50_000) -> AsyncIterator[bytes]:
    for start in range(0, len(content), size):
        yield content[start : start + size]


def audio(content: bytes = SOUND, media_type: str = "audio/wav") -> Audio:
    return Audio(media_type=media_type, size=len(content), parts=parts_of(content))


class TranscriberContract:
    """Run it on a transcriber: give the fixtures `transcriber` and `recogniser`."""

    async def test_the_whole_file_is_heard_and_its_words_are_given(
        self, transcriber: Transcriber, recogniser: Recogniser
    ) -> None:
        recogniser.says("  Good morning, ¿cómo está?\n")

        assert await transcriber.transcribe(audio()) == "Good morning, ¿cómo está?"
        assert recogniser.heard == [SOUND]

    async def test_silence_has_no_words(self, transcriber: Transcriber, recogniser: Recogniser) -> None:
        recogniser.says("")

        assert await transcriber.transcribe(audio()) == ""

    async def test_a_text_is_bounded_and_can_be_stored(self, transcriber: Transcriber, recogniser: Recogniser) -> None:
        recogniser.says("a\0b" + "c" * TEXT_LENGTH_MAX)

        text = await transcriber.transcribe(audio())

        assert (len(text), text[:3]) == (TEXT_LENGTH_MAX, "abc")

    async def test_a_file_that_is_refused_is_refused_for_good(
        self, transcriber: Transcriber, recogniser: Recogniser
    ) -> None:
        recogniser.refuses()

        with pytest.raises(NotTranscribableError):
            await transcriber.transcribe(audio())

    async def test_an_overload_may_pass(self, transcriber: Transcriber, recogniser: Recogniser) -> None:
        recogniser.is_overloaded()
        with pytest.raises(TranscriberUnavailableError):
            await transcriber.transcribe(audio())

        recogniser.says("hello")
        assert await transcriber.transcribe(audio()) == "hello"

    async def test_a_file_that_cannot_be_read_is_no_fault_of_the_transcriber(self, transcriber: Transcriber) -> None:
        async def missing() -> AsyncIterator[bytes]:
            raise MissingFileError("the file of the recording is not there")
            yield b""

        with pytest.raises(MissingFileError):
            await transcriber.transcribe(Audio(media_type="audio/wav", size=9, parts=missing()))
