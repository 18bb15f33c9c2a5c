"""How is a template rendered for one lead? `{{token}}` is looked up; a missing one renders empty and is reported.

Filters behind a token change its value (`template_filters`). What came without a key and holds a link or a telephone number
renders empty, unless the template says `{{token|link}}`.

Rendering stops as soon as the text exceeds its limit: one large token named many times would exhaust memory.
"""

import re
from collections.abc import Callable, Collection, Iterator
from functools import lru_cache
from typing import Any

from msgspec import Struct

from engine.contact.schedule.sms_parts import GSM_PART, segments
from engine.contact.schedule.template_filters import DEFAULT, FILTERS, LINK, ValueFilter, read_filters
from engine.limits import RENDERED_BYTES_MAX, SMS_SEGMENTS_MAX, SPEECH_LENGTH_MAX
from schemas.errors import SenderError
from schemas.wire import to_json

TOKEN = re.compile(rf"\{{\{{\s*([\w.-]{{1,100}})\s*({FILTERS})\}}\}}")

Lookup = Callable[[str], Any]


JSON_BYTES_PER_CHARACTER = 6
"""The most that JSON takes: a control character is six bytes."""

TEMPLATES_MAX = 1_024
"""Parsed templates in the cache: a campaign sends the same one to all its leads."""


class TextTooLongError(SenderError):
    """The rendered text exceeds its limit."""

    def __init__(self, most: int, unit: str) -> None:
        super().__init__(f"the text would have more than {most} {unit}")


class Placeholder(Struct, frozen=True):
    """A token of a template, and the filters behind it."""

    name: str
    filters: tuple[ValueFilter, ...] = ()

    @property
    def has_default(self) -> bool:
        """Whether it renders to something where there is no value."""
        return any(one.name == DEFAULT for one in self.filters)

    def is_withheld(self, withheld: Collection[str]) -> bool:
        """Return whether the value may not be shown here."""
        return self.name in withheld and all(one.name != LINK for one in self.filters)

    def text(self, value: Any) -> str:
        """Return a value as the template wants it."""
        text = _as_text(value)
        for one in self.filters:
            text = one.apply(text)
        return text


def render(template: str, lookup: Lookup, *, length_max: int, withheld: Collection[str] = ()) -> tuple[str, tuple[str, ...]]:
    """Return the text, and the tokens that had no value, each once, in order. Tokens that are `withheld` render empty.

    Raises `TextTooLongError` where the text has more than `length_max` characters; it never holds more than that in memory.
    """
    found, missing, length = list[str](), dict[str, None](), 0
    for piece in _pieces(template, lookup, missing, withheld):
        length += len(piece)
        if length > length_max:
            raise TextTooLongError(length_max, "characters")
        found.append(piece)
    return "".join(found), tuple(missing)


def _pieces(template: str, lookup: Lookup, missing: dict[str, None], withheld: Collection[str] = ()) -> Iterator[str]:
    """Yield literal texts and values in turn, and add the tokens without a value to `missing`."""
    texts, placeholders = _parts(template)
    yield texts[0]
    for placeholder, literal in zip(placeholders, texts[1:], strict=True):
        value = "" if placeholder.is_withheld(withheld) else lookup(placeholder.name)
        if value is None and not placeholder.has_default:
            missing[placeholder.name] = None
        yield placeholder.text(value)
        yield literal


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
    missing = dict[str, None]()
    found = [
        piece[:SPEECH_LENGTH_MAX] if place % 2 else piece  # every second one is a value
        for place, piece in enumerate(_pieces(template, lookup, missing))
    ]
    text = "".join(character if character.isprintable() else " " for character in "".join(found))
    return " ".join(text.split())[:SPEECH_LENGTH_MAX], tuple(missing)


def literal_text(template: str) -> str:
    """Return the text of a template without its tokens."""
    return "".join(_parts(template)[0])


def withheld_from(template: str, withheld: Collection[str]) -> tuple[str, ...]:
    """Return the tokens that a template names whose values are withheld from it."""
    return tuple(dict.fromkeys(one.name for one in _parts(template)[1] if one.is_withheld(withheld)))


def template_faults(template: str) -> list[str]:
    """Return what is wrong with the filters of a template, as sentences without a subject."""
    faults = []
    for match in TOKEN.finditer(template):
        try:
            read_filters(match[2])
        except ValueError as error:
            faults.append(str(error))
    return faults


@lru_cache(maxsize=TEMPLATES_MAX)
def _parts(template: str) -> tuple[tuple[str, ...], tuple[Placeholder, ...]]:
    """Return the literal texts of a template, and the tokens between them. What has no known filter stays as it is."""
    texts, placeholders, end = [], list[Placeholder](), 0
    for match in TOKEN.finditer(template):
        try:
            placeholder = Placeholder(match[1], read_filters(match[2]))
        except ValueError:
            continue
        texts.append(template[end : match.start()])
        placeholders.append(placeholder)
        end = match.end()
    return (*texts, template[end:]), tuple(placeholders)


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
