"""How is a template rendered for one lead? `{{token}}` is looked up; a missing one renders empty and is reported.

What came without a key and holds a link or a telephone number renders empty, unless the template says `{{token|link}}`.

Rendering stops as soon as the text exceeds its limit: one large token named many times would exhaust memory.
"""

import re
from collections.abc import Callable, Collection
from functools import lru_cache
from typing import Any

from engine.contact.schedule.sms_parts import GSM_PART, segments
from engine.limits import RENDERED_BYTES_MAX, SMS_SEGMENTS_MAX, SPEECH_LENGTH_MAX
from schemas.errors import SenderError
from schemas.wire import to_json

TOKEN = re.compile(r"\{\{\s*([\w.-]{1,100}(?:\s*\|\s*link)?)\s*\}\}")
TAKES_LINK = "|link"
"""Behind the name of a token: its value may hold a link or a telephone number of somebody without a key."""

Lookup = Callable[[str], Any]


JSON_BYTES_PER_CHARACTER = 6
"""The most that JSON takes: a control character is six bytes."""

TEMPLATES_MAX = 1_024
"""Parsed templates in the cache: a campaign sends the same one to all its leads."""


class TextTooLongError(SenderError):
    """The rendered text exceeds its limit."""

    def __init__(self, most: int, unit: str) -> None:
        super().__init__(f"the text would have more than {most} {unit}")


def render(template: str, lookup: Lookup, *, length_max: int, withheld: Collection[str] = ()) -> tuple[str, tuple[str, ...]]:
    """Return the text, and the tokens that had no value, each once, in order. Tokens that are `withheld` render empty.

    Raises `TextTooLongError` where the text has more than `length_max` characters; it never holds more than that in memory.
    """
    parts = list(_parts(template))
    missing: dict[str, None] = {}
    length = len(parts[0])
    for place in range(1, len(parts), 2):
        name, _, takes_link = parts[place].partition("|")
        value = "" if name in withheld and not takes_link else lookup(name)
        if value is None:
            missing[name] = None
        text = parts[place] = _as_text(value)
        length += len(text) + len(parts[place + 1])
        if length > length_max:
            break
    if length > length_max:
        raise TextTooLongError(length_max, "characters")
    return "".join(parts), tuple(missing)


def render_sms(template: str, lookup: Lookup, withheld: Collection[str] = ()) -> tuple[str, tuple[str, ...]]:
    """Render a text message. Raises `TextTooLongError` where carriers would not join its segments."""
    text, missing = render(template, lookup, length_max=SMS_SEGMENTS_MAX * GSM_PART, withheld=withheld)
    if segments(text) > SMS_SEGMENTS_MAX:
        raise TextTooLongError(SMS_SEGMENTS_MAX, "segments")
    return text, missing


def render_body(
    template: str, lookup: Lookup, *, is_recorded: bool, withheld: Collection[str] = ()
) -> tuple[str, tuple[str, ...]]:
    """Render the body of an e-mail or webhook. Raises `TextTooLongError`.

    One that is recorded is measured as JSON holds it: a control character takes six bytes there.
    """
    text, missing = render(template, lookup, length_max=RENDERED_BYTES_MAX, withheld=withheld)
    if len(text) * JSON_BYTES_PER_CHARACTER > RENDERED_BYTES_MAX:
        size = len(to_json(text)) - len('""') if is_recorded else len(text.encode(errors="replace"))
        if size > RENDERED_BYTES_MAX:
            raise TextTooLongError(RENDERED_BYTES_MAX, "bytes")
    return text, missing


def render_speech(template: str, lookup: Lookup) -> tuple[str, tuple[str, ...]]:
    """Render what a machine says to a buyer or agent, as one line without control characters.

    What is longer than `SPEECH_LENGTH_MAX` is cut: a person waits meanwhile, and one long token must not cost the call.
    """
    parts = list(_parts(template))
    missing: dict[str, None] = {}
    for place in range(1, len(parts), 2):
        name = parts[place].partition("|")[0]
        value = lookup(name)
        if value is None:
            missing[name] = None
        parts[place] = _as_text(value)[:SPEECH_LENGTH_MAX]
    text = "".join(character if character.isprintable() else " " for character in "".join(parts))
    return " ".join(text.split())[:SPEECH_LENGTH_MAX], tuple(missing)


def literal_text(template: str) -> str:
    """Return the text of a template without its tokens."""
    return "".join(_parts(template)[::2])


def withheld_from(template: str, withheld: Collection[str]) -> tuple[str, ...]:
    """Return the tokens that a template names whose values are withheld from it."""
    return tuple(dict.fromkeys(name for name in _parts(template)[1::2] if name in withheld))


@lru_cache(maxsize=TEMPLATES_MAX)
def _parts(template: str) -> tuple[str, ...]:
    """Return literal texts and token names in turn, these as `name` or `name|link`; a text comes first and last."""
    parts = TOKEN.split(template)
    parts[1::2] = [name.partition("|")[0].rstrip() + TAKES_LINK if "|" in name else name for name in parts[1::2]]
    return tuple(parts)


def _as_text(value: Any) -> str:
    match value:
        case None:
            return ""
        case str():
            return value
        case float() if value.is_integer():
            return str(int(value))
        case _:
            return to_json(value).decode()
