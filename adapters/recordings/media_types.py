"""What is in a file? Its first bytes say so: a vendor's header may say anything, and a browser must not be given a page."""

AUDIO_WAV, AUDIO_MPEG, AUDIO_OGG = "audio/wav", "audio/mpeg", "audio/ogg"

SUFFIXES = {AUDIO_WAV: "wav", AUDIO_MPEG: "mp3", AUDIO_OGG: "ogg"}

HEAD_BYTES = 12
"""As many as a WAV file needs to be known (RIFF, its size, WAVE)."""

MPEG_SYNC = 0xE0
"""The upper bits of the second byte of an MPEG frame."""


def read_media_type(head: bytes) -> str | None:
    """Return the type of a file by its first bytes, None for what is no audio of a telephone call."""
    if head[:4] == b"RIFF" and head[8:12] == b"WAVE":
        return AUDIO_WAV
    if head[:4] == b"OggS":
        return AUDIO_OGG
    has_frame = len(head) > 1 and head[0] == 0xFF and head[1] & MPEG_SYNC == MPEG_SYNC  # noqa: PLR2004 - the first sync byte
    return AUDIO_MPEG if head[:3] == b"ID3" or has_frame else None
