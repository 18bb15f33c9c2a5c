"""Is a file known by what is in it?"""

import pytest

from adapters.recordings.media_types import read_media_type


@pytest.mark.parametrize(
    ("head", "media_type"),
    [
        (b"RIFF\x24\x10\x00\x00WAVEfmt ", "audio/wav"),
        (b"ID3\x04\x00\x00\x00\x00\x00\x00TS", "audio/mpeg"),
        (b"\xff\xfb\x90\x64" + bytes(8), "audio/mpeg"),
        (b"OggS\x00\x02" + bytes(6), "audio/ogg"),
        (b"RIFF\x24\x10\x00\x00AVI LIST", None),
        (b"<html><body>", None),
        (b'{"message":', None),
        (b"\xff", None),
        (b"", None),
    ],
)
def test_audio_is_known_by_its_first_bytes_and_nothing_else_is(head: bytes, media_type: str | None) -> None:
    assert read_media_type(head) == media_type
