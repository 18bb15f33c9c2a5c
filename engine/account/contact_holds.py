"""What may a hold say? Why nobody is contacted, and on which channels."""

from typing import Any, get_args

from engine.submission.fields import FieldError, is_blank, parse_text
from schemas.records import HeldChannel

REASON_LENGTH_MAX = 500
"""In characters: everybody whose leads wait reads it."""

CHANNELS = get_args(HeldChannel)


def hold_reason(value: Any) -> str:
    """Return why nobody may be contacted."""
    if is_blank(value):
        raise FieldError("must not be blank")
    return parse_text(value, most=REASON_LENGTH_MAX)


def held_channels(value: Any) -> tuple[str, ...]:
    """Return the channels of a hold, each once; blank: none is named."""
    if is_blank(value):
        return ()
    if isinstance(value, str | bytes) or not isinstance(value, list | tuple):
        raise FieldError(f"must be a list of channels; those are {', '.join(CHANNELS)}")
    for name in value:
        if name not in CHANNELS:
            raise FieldError(f"names {str(name)[:100]!r}; the channels are {', '.join(CHANNELS)}")
    return tuple(dict.fromkeys(value))
