"""How does a template change a value? A few words behind its token: `{{first_name|default:'there'|capitalize}}`.

| filter | what it makes of the value |
| --- | --- |
| `default:'text'` | the text where there is no value, or a blank one |
| `capitalize` | `ada LOVELACE` as `Ada Lovelace` |
| `upper`, `lower` | capital or small letters |
| `date` | `2026-03-07T21:30:00-05:00` as `March 7, 2026` |
| `money` | `250000` as `$250,000`, `12.5` as `$12.50`; `money:'€'` writes another sign |
| `link` | the value itself, also where it holds a link or a telephone number of somebody without a key |

A value that a filter cannot read stays as it is: a text goes out with what the sender wrote.
"""

import re
from collections.abc import Callable, Mapping
from datetime import date
from decimal import Decimal, InvalidOperation

from msgspec import Struct

LINK = "link"
DEFAULT = "default"

ARGUMENT_LENGTH_MAX = 100
"""Characters of what stands in quotes behind a filter."""

FILTERS = rf"(?:\|\s*[a-z]+\s*(?::\s*'[^'{{}}]{{0,{ARGUMENT_LENGTH_MAX}}}')?\s*){{0,8}}"
"""A pattern of what may stand behind the name of a token."""

_FILTER = re.compile(r"\|\s*([a-z]+)\s*(?::\s*'([^']*)')?")

_DAY = re.compile(r"(\d{4}-\d{2}-\d{2})(?:[T ].*)?", re.ASCII | re.DOTALL)
_AMOUNT = re.compile(r"[$€£]?\s*(-?[0-9][0-9,]{0,20}(?:\.[0-9]{1,10})?)", re.ASCII)
_WORD = re.compile(r"[^\W\d_]+(?:['\u2019][^\W\d_]+)?")

MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)


class ValueFilter(Struct, frozen=True):
    """A filter of a token, and what stands in quotes behind it."""

    name: str
    argument: str | None = None

    def apply(self, text: str) -> str:
        """Return what the filter makes of a value."""
        return _FILTERS[self.name](text, self.argument)


def read_filters(text: str) -> tuple[ValueFilter, ...]:
    """Return the filters behind a token. Raises `ValueError` with a sentence that names what is wrong."""
    found = tuple(ValueFilter(match[1], match[2]) for match in _FILTER.finditer(text))
    for one in found:
        if one.name not in _FILTERS:
            raise ValueError(f"has the filter {one.name}, which is none of {', '.join(_FILTERS)}")
        if one.name == DEFAULT and one.argument is None:
            raise ValueError("must say the default in quotes, such as default:'there'")
        if one.argument is not None and one.name not in _TAKES_WORDS:
            raise ValueError(f"has words behind the filter {one.name}, which takes none")
    return found


def _default(text: str, argument: str | None) -> str:
    return text if text.strip() else argument or ""


def _capitalize(text: str, _: str | None) -> str:
    """Names as they are written: `McDonald` stays, `ada` and `ADA` become `Ada`."""
    return _WORD.sub(lambda word: word[0] if _is_mixed(word[0]) else word[0][:1].upper() + word[0][1:].lower(), text)


def _is_mixed(word: str) -> bool:
    return not (word.islower() or word.isupper()) and not word[1:].islower()


def _date(text: str, _: str | None) -> str:
    found = _DAY.fullmatch(text.strip())
    try:
        day = None if found is None else date.fromisoformat(found[1])
    except ValueError:
        day = None
    return text if day is None else f"{MONTHS[day.month - 1]} {day.day}, {day.year}"


def _money(text: str, argument: str | None) -> str:
    found = _AMOUNT.fullmatch(text.strip())
    try:
        amount = None if found is None else Decimal(found[1].replace(",", ""))
    except InvalidOperation:
        amount = None
    if amount is None:
        return text
    digits = f"{abs(amount):,.0f}" if amount == amount.to_integral_value() else f"{abs(amount):,.2f}"
    return f"{'-' if amount < 0 else ''}{argument or '$'}{digits}"


_FILTERS: Mapping[str, Callable[[str, str | None], str]] = {
    DEFAULT: _default,
    "capitalize": _capitalize,
    "upper": lambda text, _: text.upper(),
    "lower": lambda text, _: text.lower(),
    "date": _date,
    "money": _money,
    LINK: lambda text, _: text,
}
_TAKES_WORDS = frozenset({DEFAULT, "money"})
