"""Where in a non-standard post are the contact's fields? `auto_format_nested_fields` finds them by their usual names."""

from collections import deque
from collections.abc import Iterator, Mapping
from typing import Any

from engine.submission.fields import DEPTH_MAX, is_blank
from engine.submission.near_names import field_of

VALUES_MAX = 2_000
"""Values that are looked at: more than any contact has; the body itself is bounded by the edge."""

_HOLDERS = ("value", "values", "string_value")
_TITLES = ("column_id", "name", "key", "field")
"""How forms say a field as an object: `{"name": "phone", "value": ...}` in a list, or `"phone": {"value": ...}`."""

_REACHED_BY = frozenset({"caller_id", "email"})
_TOP_LEVEL_ALIASES = {"state_province": "state", "zip_postal_code": "zip"}


def lifted(raw: Mapping[str, Any]) -> dict[str, Any]:
    """Return the body with the contact fields that were found inside it; what stands at top level is never replaced.

    The number and the address leave `data`, where they could not stay: they are no tokens.
    """
    found = dict(raw)
    for name, value in _leaves(raw):
        field = field_of(name)
        if field is None or is_blank(value):
            continue
        if is_blank(found.get(field)) and is_blank(found.get(_TOP_LEVEL_ALIASES.get(field, field))):
            found[field] = value
    data = raw.get("data")
    if isinstance(data, Mapping):
        found["data"] = {name: value for name, value in data.items() if name not in _REACHED_BY}
    return found


def _held(name: str, value: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the value that an object of one field holds, under its title, or that of the object itself."""
    title = next((value[key] for key in _TITLES if isinstance(value.get(key), str)), name)
    yield from ((title, value[key]) for key in _HOLDERS if key in value)


def _leaves(raw: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield name and value of every plain value, the nearest to the top first."""
    waiting: deque[tuple[str, Any, int]] = deque((str(name), value, 0) for name, value in raw.items())
    for _ in range(VALUES_MAX):
        if not waiting:
            return
        name, value, depth = waiting.popleft()
        if isinstance(value, Mapping) and depth < DEPTH_MAX:
            waiting.extend((str(part), inner, depth + 1) for part, inner in value.items())
            waiting.extend((title, inner, depth + 1) for title, inner in _held(name, value))
        elif isinstance(value, list) and depth < DEPTH_MAX:
            waiting.extend((name, inner, depth + 1) for inner in value)
        elif isinstance(value, str | int | float):
            yield name, value
