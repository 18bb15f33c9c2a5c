"""Where in a non-standard post are the contact's fields? `auto_format_nested_fields` reads the shapes that vendors send.

| shape | for example |
| --- | --- |
| a name anywhere in the body | `{"lead": {"contact": {"phone": "..."}}}` |
| a path as a name | `mortgage.property.postal_code=...`, `name.first=...` |
| a pair of name and value | `{"column_id": "PHONE_NUMBER", "string_value": "..."}`, `{"name": "email", "values": ["..."]}` |
| an answer to a question | `{"type": "email", "email": "...", "field": {"ref": "..."}}`; the form says the titles |
| a field in parts | `{"q3_name": {"first": "...", "last": "..."}}`, `{"q4_phone": {"area": "...", "phone": "..."}}` |
| JSON in a text | a form with the field `rawRequest` or `data.json` |

What is about an agent, dealer or vendor, or about the form itself, gives no field of the contact.
"""

import re
from collections import deque
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from engine.submission.columns import ALIASES, COLUMNS, RESERVED
from engine.submission.fields import DEPTH_MAX, is_blank
from engine.submission.near_names import field_of
from engine.submission.person_names import split_name

VALUES_MAX = 2_000
"""Values that are looked at: more than any contact has; the body itself is bounded by the edge."""

_HOLDERS = ("value", "values", "string_value", "answer")
_TITLES = ("column_id", "name", "key", "field", "label", "question", "title", "ref")
"""How forms say a field as an object: `{"name": "phone", "value": ...}` in a list, or `"phone": {"value": ...}`."""

_OF_OTHERS = frozenset(
    {
        *("agent", "dealer", "dealership", "vendor", "seller", "provider", "broker", "salesperson", "assignee", "store"),
        *("office", "referrer", "referral", "emergency_contact", "spouse", "co_applicant", "coapplicant", "coborrower"),
        *("owner", "owner_id", "assigned_to", "business", "merchant", "organizer", "event_memberships"),
        *("schema", "metadata", "meta", "context", "definition", "page", "tracking", "device", "headers", "settings"),
    }
)
"""Parts of a body that are about somebody else, or about the form."""

_PREFIX = re.compile(
    r"^(?:raw_|(?:what_s|what_is|whats)_your_|(?:please_)?(?:enter|provide|type)_(?:your_)?|your_|my_|q[0-9]+_|(?:field|input|form)_"
    r"|(?:contact|lead|customer|client|applicant|borrower|consumer|prospect|user)_)"
)
"""What forms write before the name of a field: `your-tel`, `q4_phoneNumber`, `What is your e-mail?`."""

_NAMES_OF_OTHERS = frozenset({"form_name", "field_name", "input_name", "lead_name", "page_name"})
"""Names of the form, which are nobody's."""

_ANSWER = "answer"
"""Part of the names of objects that hold a value further inside: `answerDetails.textQuestionAnswer.answer`."""

_PLAIN_FIELDS = frozenset({*COLUMNS, *ALIASES, "caller_id", "email"})
"""Fields at top level that hold a text: an object or list there is the vendor's."""

_NAME_PARTS = {"first": "first_name", "given": "first_name", "last": "last_name", "family": "last_name"}
_NUMBER_PARTS = frozenset({"area", "phone"})
_REACHED_BY = frozenset({"caller_id", "email"})
_TOP_LEVEL_ALIASES = {"state_province": "state", "zip_postal_code": "zip"}
_BETWEEN_WORDS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|[^A-Za-z0-9]+")


def lifted(raw: Mapping[str, Any]) -> dict[str, Any]:
    """Return the body with the contact fields that were found inside it; what stands at top level is never replaced.

    The number and the address leave `data`, where they could not stay: they are no tokens.
    """
    found = {name: _alone(value) if field_of(str(name)) is not None else value for name, value in raw.items()}
    found = {
        name: value for name, value in found.items() if name not in _PLAIN_FIELDS or not isinstance(value, Mapping | list)
    }
    titles = dict(_titles(raw))
    for name, value in _leaves(raw, titles):
        field = _field_of(name)
        if field is None or is_blank(value):
            continue
        if is_blank(found.get(field)) and is_blank(found.get(_TOP_LEVEL_ALIASES.get(field, field))):
            found[field] = value
    _add_names(found)
    data = _unpacked(raw["data"]) if isinstance(raw.get("data"), str) else raw.get("data")
    if isinstance(data, Mapping):
        found["data"] = {name: value for name, value in data.items() if _may_be_token(str(name), value)}
    elif "data" in found:
        del found["data"]
    return found


def _may_be_token(name: str, value: Any) -> bool:
    """Return whether a part of `data` may stay there: no name of a column that a vendor uses for something else."""
    if name in _PLAIN_FIELDS:
        return name not in _REACHED_BY and not isinstance(value, Mapping | list)
    return name not in RESERVED


def _alone(value: Any) -> Any:
    """Return the value of a list of one: some forms send each field so."""
    return value[0] if isinstance(value, list) and len(value) == 1 else value


def _add_names(found: dict[str, Any]) -> None:
    """Add first and last name where only the full one was sent; that stays."""
    full = found.get("full_name")
    if not isinstance(full, str) or not (is_blank(found.get("first_name")) and is_blank(found.get("last_name"))):
        return
    first, last = split_name(full)
    found |= {name: part for name, part in (("first_name", first), ("last_name", last)) if part}


def _plain(name: str) -> str:
    return _BETWEEN_WORDS.sub("_", name).strip("_").lower()


def _field_of(name: str) -> str | None:
    """Return the field that a name means, also behind what a form writes before it, or at the end of a path."""
    if "." in name.strip(". "):
        return _field_at(name)
    plain = _plain(name)
    if plain in _NAMES_OF_OTHERS:
        return None
    for _ in range(3):
        found = field_of(plain)
        if found is not None or not _PREFIX.match(plain):
            return "full_name" if found is None and plain == "name" and plain != _plain(name) else found
        plain = _PREFIX.sub("", plain, count=1)
    return field_of(plain)


def _field_at(path: str) -> str | None:
    """Return the field at the end of a path such as `name.first`; None where a part of it is about somebody else."""
    *before, last = (part for part in map(str.strip, path.split(".")) if part)
    if not before or any(map(_is_of_others, before)):
        return None if before else _field_of(last)
    part = _plain(last)
    if part in _NAME_PARTS and _plain(before[-1]).endswith("name"):
        return _NAME_PARTS[part]
    return _field_of(before[-1] if part == "full" else last)


def _titles(raw: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield id and title of each question that a body describes: answers name it by the id."""
    waiting: deque[tuple[Any, int]] = deque([(raw, 0)])
    for _ in range(VALUES_MAX):
        if not waiting:
            return
        value, depth = waiting.popleft()
        if isinstance(value, Mapping):
            title = next((value[key] for key in ("title", "label", "question") if isinstance(value.get(key), str)), None)
            if title is not None:
                yield from ((value[key], title) for key in ("id", "ref") if isinstance(value.get(key), str))
        if depth < DEPTH_MAX and isinstance(value, Mapping | list):
            waiting.extend((inner, depth + 1) for inner in (value.values() if isinstance(value, Mapping) else value))


def _held(name: str, value: Mapping[str, Any], titles: Mapping[str, str]) -> Iterator[tuple[str, Any]]:
    """Yield what an object says of one field: a pair, an answer to a question, or a field in parts."""
    question = value.get("field")
    if isinstance(question, Mapping):
        kind = value.get("type")
        answer = value.get(kind) if isinstance(kind, str) else None
        ids = [question[key] for key in ("id", "ref") if isinstance(question.get(key), str)]
        yield from ((known, answer) for known in (*(titles[one] for one in ids if one in titles), *ids))
    said = [_of_pair(value[key]) for key in _TITLES if isinstance(value.get(key), str)]
    title = next((one for one in (*said, name) if _field_of(one) is not None), None)
    if title is not None:
        yield from ((title, one) for one in _values_of(value))
    yield from _of_parts(name, {_plain(str(key)): part for key, part in value.items()})


def _values_of(pair: Mapping[str, Any]) -> Iterator[Any]:
    """Yield the values of a pair, which an answer may hold further inside."""
    yield from (pair[key] for key in _HOLDERS if key in pair and not isinstance(pair[key], Mapping))
    for key, inner in pair.items():
        if isinstance(inner, Mapping) and _ANSWER in str(key).lower():
            yield from _values_of(inner)


def _of_pair(title: str) -> str:
    """Return the title of a pair: a form that asks for a name means the person's."""
    return "full_name" if _plain(title) == "name" else title


def _of_parts(name: str, parts: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield a field that is written in parts: a name, a number with its area code, a person with a name."""
    if "full" in parts:
        yield name, parts["full"]
    if _plain(name).endswith("name"):
        yield from ((_NAME_PARTS[key], part) for key, part in parts.items() if key in _NAME_PARTS)
    if parts.keys() >= _NUMBER_PARTS:
        yield name, f"{parts['area']}{parts['phone']}"
    is_person = any(_field_of(key) in _REACHED_BY for key in parts) and parts.keys().isdisjoint(_HOLDERS)
    if is_person and "name" in parts:
        yield "full_name", parts["name"]


def _is_of_others(part: str) -> bool:
    """Return whether a part of a body is about somebody else, or several: `agent`, `agents`."""
    plain = _plain(part)
    return plain in _OF_OTHERS or plain.removesuffix("s") in _OF_OTHERS


def _inside(value: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the parts of an object, without those that are about others; the two parts of a number are one."""
    parts = {str(part): inner for part, inner in value.items() if not _is_of_others(str(part))}
    if parts.keys() >= _NUMBER_PARTS:
        parts = {part: inner for part, inner in parts.items() if part not in _NUMBER_PARTS}
    yield from parts.items()


def _leaves(raw: Mapping[str, Any], titles: Mapping[str, str]) -> Iterator[tuple[str, Any]]:
    """Yield name and value of every plain value, the nearest to the top first."""
    waiting: deque[tuple[str, Any, int]] = deque(
        (name, value, 0) for name, value in (*_inside(raw), *_held("", raw, titles))
    )
    for _ in range(VALUES_MAX):
        if not waiting:
            return
        name, value, depth = waiting.popleft()
        if isinstance(value, str) and value[:1] in {"{", "["}:
            value = _unpacked(value)
        if isinstance(value, Mapping) and depth < DEPTH_MAX:
            waiting.extend((part, inner, depth + 1) for part, inner in _inside(value))
            waiting.extend((title, inner, depth + 1) for title, inner in _held(name, value, titles))
        elif isinstance(value, list) and depth < DEPTH_MAX:
            waiting.extend((name, inner, depth + 1) for inner in value)
        elif isinstance(value, str | int | float):
            yield name, value


def _unpacked(text: str) -> Any:
    """Return the value of JSON that stands in a text, else the text."""
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return text
