r"""Where in the posts of one sender is each field of a lead? As the lead map of its traffic source or schedule says.

| path | means |
| --- | --- |
| `lead.phone` | `phone` in `lead` |
| `phones[0]` | the first of a list |
| `user_column_data[column_id=EMAIL].string_value` | `string_value` of the object of a list whose `column_id` is `EMAIL` |
| `answers[field.ref=tel].phone_number` | the same, by a value further inside |
| `your\.name` | the field `your.name`: a backslash takes the meaning of `.`, `[` and `]` away |

A text that holds JSON is read as that. A list of one is its value. What a path does not find is left as it was sent.
"""

import re
from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Struct

from engine.account.did_you_mean import did_you_mean
from engine.submission.columns import RESERVED
from engine.submission.fields import DEPTH_MAX, FieldError, is_blank, parse_boolean
from engine.submission.near_names import TOKENS, field_of
from schemas.records import LeadMap

FIELDS_MAX = 200
"""As many as a lead has tokens."""

NAME_LENGTH_MAX = 100
PATH_LENGTH_MAX = 300

VENDOR_ID_LENGTH_MAX = 200
"""Of the id by which a vendor knows a lead: theirs have some 40 characters."""

_NEVER = frozenset({"lead_token", "auth_token", "lead_import_id", "traffic_source_id", "data", "auto_format_nested_fields"})
"""Fields that say which map is used, how, or by whom, before it is."""

_PART = re.compile(r"(?P<name>(?:\\.|[^.\[\]\\])+)(?P<selectors>(?:\[[^\[\]]*\])*)(?:\.|\Z)")
_SELECTOR = re.compile(r"\[([^\[\]]*)\]")
_ESCAPED = re.compile(r"\\(.)")


class Mapped(Struct, frozen=True):
    """A submission by a map: its fields, the vendor's id of it, whether it is a test, and the paths that found nothing."""

    raw: Mapping[str, Any]
    vendor_id: str | None = None
    is_test: bool = False
    not_found: tuple[str, ...] = ()
    faults: Mapping[str, str] = {}


class _Step(Struct, frozen=True):
    """One step of a path: into a field, then into the objects of lists that its selectors choose."""

    name: str
    selectors: tuple[str, ...]


def read_map(value: Any, named: frozenset[str], errors: dict[str, list[str]]) -> LeadMap | None:
    """Return a map; every fault is added under the name of its field. `named` are the fields of a submission."""
    try:
        found = value if isinstance(value, LeadMap) else msgspec.convert(value, LeadMap)
    except msgspec.ValidationError as error:
        errors.setdefault("lead_map", []).append(f"must be such as {_EXAMPLE}: {error}")
        return None
    before = len(errors)
    if not 1 <= len(found.fields) <= FIELDS_MAX:
        errors.setdefault("lead_map.fields", []).append(f"must have 1 to {FIELDS_MAX} fields with a path each")
    for name, path in list(found.fields.items())[:FIELDS_MAX]:
        for sentence in (_fault_of_name(name, named), _fault_of_path(path)):
            if sentence is not None:
                errors.setdefault(f"lead_map.fields.{name}"[:NAME_LENGTH_MAX], []).append(sentence)
    for name, own_path in (("idempotency_key", found.idempotency_key), ("is_test", found.is_test)):
        sentence = None if own_path is None else _fault_of_path(own_path)
        if sentence is not None:
            errors.setdefault(f"lead_map.{name}", []).append(sentence)
    return found if len(errors) == before else None


_EXAMPLE = '{"fields": {"caller_id": "lead.phone"}, "idempotency_key": "lead.id", "is_test": "test"}'


def _fault_of_name(name: str, named: frozenset[str]) -> str | None:
    """Return why a map may not fill a field of this name: one that we know by another name is a mistake."""
    token = name.removeprefix("data.")
    if not token.strip() or len(token) > NAME_LENGTH_MAX:
        return f"must be the name of a field or token, of 1 to {NAME_LENGTH_MAX} characters"
    if name in _NEVER:
        return "is not taken from a map; send it in the query, or as a field"
    if token in named and token == name:
        return None
    if token in RESERVED:
        return "is set by leadclock, and no token; choose another name"
    meant = field_of(token)
    if meant is not None and meant != token and meant not in TOKENS:
        return f"is no field; the field is {meant}"
    hint = "" if meant is not None or name != token else did_you_mean(token, named)
    return f"is no field{hint}; for a token of that name, write data.{token}" if hint else None


def _fault_of_path(path: str) -> str | None:
    if not path.strip() or len(path) > PATH_LENGTH_MAX:
        return f"must be a path of 1 to {PATH_LENGTH_MAX} characters, such as lead.phone"
    steps = _steps(path)
    if steps is None:
        return f"is no path: {path!r}; write names with dots between them, such as lead.phones[0] or list[name=phone].value"
    return None if len(steps) <= DEPTH_MAX else f"must have at most {DEPTH_MAX} steps"


def _steps(path: str) -> list[_Step] | None:
    """Return the steps of a path, None where it is none."""
    found, place = [], 0
    while place < len(path):
        part = _PART.match(path, place)
        if part is None:
            return None
        selectors = tuple(_SELECTOR.findall(part["selectors"]))
        if any(not _is_selector(one) for one in selectors):
            return None
        found.append(_Step(_ESCAPED.sub(r"\1", part["name"]), selectors))
        place = part.end()
        if path[place - 1] == "." and place == len(path):
            return None
    return found


def _is_selector(text: str) -> bool:
    name, separator, _ = text.partition("=")
    return bool(name.strip()) if separator else text.isascii() and text.isdigit()


def names_read(lead_map: LeadMap) -> frozenset[str]:
    """Return the fields at the top of a post that a map reads."""
    paths = (*lead_map.fields.values(), lead_map.idempotency_key, lead_map.is_test)
    return frozenset(steps[0].name for path in paths if path is not None and (steps := _steps(path)))


def map_fields(lead_map: LeadMap, raw: Mapping[str, Any]) -> Mapped:
    """Return a submission as a map reads it.

    The parts of the post that it reads are no tokens of their own, but plain values stay as such.
    """
    read = names_read(lead_map)
    rest = {name: value for name, value in raw.items() if name not in read or _is_plain(_unpacked(value))}
    found: dict[str, Any] = {}
    not_found: list[str] = []
    for name, path in lead_map.fields.items():
        value = _find(raw, path)
        if is_blank(value):
            not_found.append(name)
        else:
            found[name.removeprefix("data.")] = value
    faults: dict[str, str] = {}
    vendor_id = _vendor_id(raw, lead_map, faults, not_found)
    return Mapped({**rest, **found}, vendor_id, _is_test(raw, lead_map, faults), tuple(not_found), faults)


def _vendor_id(raw: Mapping[str, Any], lead_map: LeadMap, faults: dict[str, str], not_found: list[str]) -> str | None:
    value = None if lead_map.idempotency_key is None else _find(raw, lead_map.idempotency_key)
    if lead_map.idempotency_key is None or is_blank(value):
        not_found += [] if lead_map.idempotency_key is None else ["idempotency_key"]
        return None
    text = str(value).strip()
    if isinstance(value, Mapping | list | bool) or len(text) > VENDOR_ID_LENGTH_MAX or not text.isprintable():
        faults["lead_map.idempotency_key"] = f"must find an id of at most {VENDOR_ID_LENGTH_MAX} printable characters"
        return None
    return text


def _is_test(raw: Mapping[str, Any], lead_map: LeadMap, faults: dict[str, str]) -> bool:
    """Return whether a submission is a test; a word that is neither yes nor no is a fault: a person must not be missed."""
    value = None if lead_map.is_test is None else _find(raw, lead_map.is_test)
    if is_blank(value):
        return False
    try:
        return parse_boolean(value)
    except FieldError as error:
        faults["lead_map.is_test"] = f"found {str(value)[:NAME_LENGTH_MAX]!r}, which {error}"
        return False


def _find(raw: Mapping[str, Any], path: str) -> Any:
    """Return what a path finds, None for nothing."""
    value: Any = raw
    for step in _steps(path) or ():
        value = _alone(value)
        if not isinstance(value, Mapping) or step.name not in value:
            return None
        value = _unpacked(value[step.name])
        for selector in step.selectors:
            value = _select(value, selector)
    return _alone(value)


def _select(value: Any, selector: str) -> Any:
    among = value if isinstance(value, list) else [value]
    name, separator, wanted = selector.partition("=")
    if not separator:
        place = int(name)
        return _unpacked(among[place]) if place < len(among) else None
    return next((one for one in among if _has(one, name.strip(), wanted.strip())), None)


def _has(value: Any, name: str, wanted: str) -> bool:
    """Return whether an object has a value under a name, which may have dots; capital letters do not matter."""
    for step in name.split("."):
        if not isinstance(value, Mapping):
            return False
        value = value.get(step)
    return isinstance(value, str | int) and str(value).strip().casefold() == wanted.casefold()


def _alone(value: Any) -> Any:
    return value[0] if isinstance(value, list) and len(value) == 1 else value


def _is_plain(value: Any) -> bool:
    return not isinstance(value, Mapping | list)


def _unpacked(value: Any) -> Any:
    """Return the value of JSON that stands in a text, else the value."""
    if not isinstance(value, str) or value[:1] not in {"{", "["}:
        return value
    try:
        return msgspec.json.decode(value)
    except (msgspec.DecodeError, RecursionError):
        return value
