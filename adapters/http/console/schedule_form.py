"""Which fields has the form of a schedule, and for which JSON do they stand? The types of `schemas/schedule.py` say so.

A field of the form is named by its path in the JSON with dots, `steps.2.retry.busy.delay`. So a fault that the API names by
its path is shown beside its field. What is typed stays as it is: the API judges it, not the form.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, Literal, get_args

import msgspec
from msgspec import NODEFAULT, Struct, inspect

from engine.account.plans import STEPS_MAX, TRIGGERS_MAX
from engine.calendar.windows import WINDOW_ROWS_MAX
from schemas.outcomes import OUTCOMES
from schemas.records import Schedule
from schemas.schedule import STEP_KINDS, Channel, Day, Retry, Trigger, Window

SETTINGS = ("name", "time_zone", "hours_to_expire", "max_contact_attempts", "close_margin_seconds", "window_miss")
"""Fields of the schedule itself that the form has, beside its windows, steps and triggers."""

STEP_LISTS = ("steps", "end_steps")
EDITED = (*SETTINGS, "windows", *STEP_LISTS, "triggers")
"""Fields of the schedule that the form changes; it sends no other."""

CHANNELS: tuple[str, ...] = get_args(Channel)
DAYS: tuple[str, ...] = get_args(Day)

LONG = frozenset({"template"})
"""Texts of several lines."""

SUGGESTED = {
    "buyer_id": "buyers",
    "buyer_group_id": "buyer_groups",
    "outgoing_webhook_id": "outgoing_webhooks",
    "action_group_id": "action_groups",
    "schedule_id": "schedules",
    "traffic_source_id": "traffic_sources",
    "goto": "step-ids",
    "else": "step-ids",
    "on_match": "step-ids",
    "on_timeout": "step-ids",
}
"""Field -> the list of what it may name."""

ROWS_MAX = {"windows": WINDOW_ROWS_MAX, "triggers": TRIGGERS_MAX}
"""FieldRows that the form takes; lists inside a step take as many as a plan has steps."""

_STRUCTURED = frozenset({"lines", "ids", "json", "days"})

_WHOLE = re.compile(r"-?\d{1,15}", re.ASCII)
_DECIMAL = re.compile(r"-?\d{1,15}\.\d{1,10}", re.ASCII)

Control = Literal["text", "area", "number", "flag", "choice", "lines", "ids", "days", "json"]
Posted = Mapping[str, Any]


class Field(Struct, frozen=True, kw_only=True):
    """One field of the form."""

    path: str
    label: str
    control: Control
    value: Any
    options: tuple[str, ...] = ()
    default: str = ""
    suggested: str = ""


class RetryRow(Struct, frozen=True, kw_only=True):
    """Whether a step is retried after an outcome, and how."""

    path: str
    outcome: str
    is_on: bool
    delay: str
    most: str


class FieldRows(Struct, frozen=True, kw_only=True):
    """A list of parts, each with fields; rows are added and taken away."""

    path: str
    label: str
    rows: tuple["FieldGroup", ...]


class FieldGroup(Struct, frozen=True, kw_only=True):
    """The fields of one part of a schedule."""

    path: str
    fields: tuple[Field, ...] = ()
    lists: tuple[FieldRows, ...] = ()
    retries: tuple[RetryRow, ...] = ()


class _Member(Struct, frozen=True, kw_only=True):
    """A field of a type, as far as the form knows it."""

    name: str
    control: Control | Literal["part", "rows", "retry"]
    default: Any = NODEFAULT
    options: tuple[str, ...] = ()
    part: Any = None


def unfold(kind: Any, value: Any, path: str) -> FieldGroup:
    """Return the fields of a part that has a value."""
    known = value if isinstance(value, Mapping) else {}
    fields: list[Field] = []
    lists: list[FieldRows] = []
    retries: list[RetryRow] = []
    for member in _members(kind):
        given, at = known.get(member.name), f"{path}.{member.name}" if path else member.name
        if member.control == "part":
            inner = unfold(member.part, given, at)
            fields += inner.fields
        elif member.control == "rows":
            rows = tuple(unfold(member.part, row, f"{at}.{place}") for place, row in enumerate(_listed(given)))
            lists.append(FieldRows(path=at, label=_label(member.name), rows=rows))
        elif member.control == "retry":
            retries += _retry_rows(given, at, known.get("kind"))
        else:
            fields.append(_field(member, given, at, path))
    return FieldGroup(path=path, fields=tuple(fields), lists=tuple(lists), retries=tuple(retries))


def fold(kind: Any, posted: Posted, path: str) -> dict[str, Any]:
    """Return the value that a part has as it was posted, without what is as its default is."""
    found: dict[str, Any] = {}
    for member in _members(kind):
        at = f"{path}.{member.name}" if path else member.name
        value = _folded(member, posted, at)
        if value not in (None, "", [], {}) and value != member.default:
            found[member.name] = value
        elif member.control == "days" and member.default is NODEFAULT:
            found[member.name] = []
    return found


def unfold_step(value: Any, path: str) -> FieldGroup:
    """Return the fields of a step."""
    return unfold(kind_of(value), value, path)


def fold_step(posted: Posted, path: str) -> dict[str, Any]:
    """Return a step as it was posted: the fields of an open one, the JSON of one that is closed."""
    closed = posted.get(f"{path}.json")
    if closed is not None:
        value = _decoded(str(closed))
        return value if isinstance(value, dict) else {}
    name = str(posted.get(f"{path}.kind", ""))
    found = fold(STEP_KINDS.get(name, Struct), posted, path)
    return {"id": found.pop("id", ""), "kind": name, **found}


def kind_of(step: Any) -> Any:
    """Return the type of a step, one without fields where its kind is unknown."""
    return STEP_KINDS.get(str(step.get("kind", "")) if isinstance(step, Mapping) else "", Struct)


def settings_group(fields: Mapping[str, Any], shown: Sequence[str]) -> FieldGroup:
    """Return the fields of the schedule itself that the visitor may see."""
    made = [_field(member, fields.get(member.name), member.name, "") for member in _settings() if member.name in shown]
    return FieldGroup(path="", fields=tuple(made))


def fold_schedule(posted: Posted) -> dict[str, Any]:
    """Return the fields of a schedule as they were posted."""
    found: dict[str, Any] = {}
    for member in _settings():
        value = _folded(member, posted, member.name)
        if value not in (None, "") and value != member.default:
            found[member.name] = value
    windows = {channel: _fold_rows(Window, posted, f"windows.{channel}", WINDOW_ROWS_MAX) for channel in CHANNELS}
    found["windows"] = {channel: rows for channel, rows in windows.items() if rows}
    for name in STEP_LISTS:
        places = _places(posted, name, STEPS_MAX)
        found[name] = [fold_step(posted, f"{name}.{place}") for place in places]
    found["triggers"] = _fold_rows(Trigger, posted, "triggers", TRIGGERS_MAX)
    return found


def normalise(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return a schedule as the form would send it back untouched, so that two of them can be compared."""
    posted: dict[str, str] = {}
    group = settings_group(fields, SETTINGS)
    windows = fields.get("windows")
    for channel in CHANNELS if isinstance(windows, Mapping) else ():
        for place, row in enumerate(_listed(windows.get(channel))):  # type: ignore[union-attr]
            posted |= _sent(unfold(Window, row, f"windows.{channel}.{place}"))
    for name in STEP_LISTS:
        for place, step in enumerate(_listed(fields.get(name))):
            path = f"{name}.{place}"
            kind = step.get("kind", "") if isinstance(step, Mapping) else ""
            posted |= {f"{path}.kind": str(kind), **_sent(unfold_step(step, path))}
    for place, row in enumerate(_listed(fields.get("triggers"))):
        posted |= _sent(unfold(Trigger, row, f"triggers.{place}"))
    return fold_schedule({**posted, **_sent(group)})


def places_of(group: FieldGroup) -> Iterator[str]:
    """Yield every path of a group beside which a fault can be shown."""
    yield group.path
    yield from (field.path for field in group.fields)
    yield from (row.path for row in group.retries)
    for rows in group.lists:
        yield rows.path
        for inner in rows.rows:
            yield from places_of(inner)


def _sent(group: FieldGroup) -> dict[str, str]:
    """Return what a browser sends for the fields of a group that nobody touches."""
    found: dict[str, str] = {}
    for field in group.fields:
        if field.control == "days":
            found |= {f"{field.path}.{day}": "1" for day in field.value}
        elif field.control == "flag":
            found |= {field.path: "1"} if field.value else {}
        else:
            found[field.path] = field.value
    for row in group.retries:
        if row.is_on:
            found |= {f"{row.path}.on": "1", f"{row.path}.delay": row.delay, f"{row.path}.max": row.most}
    for rows in group.lists:
        for inner in rows.rows:
            found |= _sent(inner)
    return found


def _field(member: _Member, given: Any, at: str, path: str) -> Field:
    missing = given is None
    default = (
        "" if member.default in (NODEFAULT, None) or member.control in {"lines", "ids", "json", "days"} else member.default
    )
    value: Any
    if member.control == "flag":
        value = bool(default) if missing else bool(given)
    elif member.control == "days":
        value = tuple(day for day in DAYS if day in _listed(given))
    else:
        value = _text_of(member.control, default if missing else given)
    within = re.sub(r"^(steps|end_steps|triggers|windows\.\w+)\.\d+\.", "", at)
    return Field(
        path=at,
        label=_label(within if path else member.name),
        control=member.control,  # type: ignore[arg-type]
        value=value,
        options=member.options,
        default=str(default),
        suggested=SUGGESTED.get(member.name, ""),
    )


def _text_of(control: str, given: Any) -> str:
    if control in {"lines", "ids"} and isinstance(given, Sequence) and not isinstance(given, str):
        return ("\n" if control == "lines" else ", ").join(str(one) for one in given)
    if isinstance(given, str):
        return given.replace("\r\n", "\n")
    return msgspec.json.encode(given).decode() if given != "" else ""


def _folded(member: _Member, posted: Posted, at: str) -> Any:
    match member.control:
        case "part":
            return fold(member.part, posted, at)
        case "rows":
            return _fold_rows(member.part, posted, at, STEPS_MAX)
        case "retry":
            return dict(_fold_retries(posted, at))
        case "flag":
            return bool(posted.get(at))
        case "days":
            return [day for day in DAYS if posted.get(f"{at}.{day}")]
        case control:
            return _READ[control](str(posted.get(at, "")).replace("\r\n", "\n"))


def _lines(text: str) -> list[str]:
    return [line.strip() for line in text.split("\n") if line.strip()]


def _ids(text: str) -> list[Any]:
    return [_number(one.strip()) for one in text.split(",") if one.strip()]


def _area(text: str) -> str:
    return text if text.strip() else ""


def _fold_rows(kind: Any, posted: Posted, path: str, most: int) -> list[Any]:
    return [fold(kind, posted, f"{path}.{place}") for place in _places(posted, path, most)]


def _places(posted: Posted, path: str, most: int) -> list[int]:
    """Return the numbers of the rows that were posted, in their order; those above what a plan may have are left out."""
    pattern = re.compile(rf"{re.escape(path)}\.(\d{{1,4}})\.", re.ASCII)
    found = {int(match[1]) for match in map(pattern.match, posted) if match}
    return sorted(found)[: most + 1]  # one too many is refused by the API, in its own words


def _fold_retries(posted: Posted, path: str) -> Iterator[tuple[str, dict[str, Any]]]:
    for outcome in sorted({outcome for known in OUTCOMES.values() for outcome in known}):
        at = f"{path}.{outcome}"
        if posted.get(f"{at}.on"):
            delay, most = str(posted.get(f"{at}.delay", "")).strip(), str(posted.get(f"{at}.max", "")).strip()
            yield outcome, {**({"delay": delay} if delay else {}), **({"max": _number(most)} if most else {})}


def _retry_rows(given: Any, path: str, kind: Any) -> Iterator[RetryRow]:
    known = given if isinstance(given, Mapping) else {}
    outcomes = OUTCOMES.get(str(kind), {})
    for outcome, row in outcomes.items():
        if row.opts_out or row.disables_channel:
            continue
        one = known.get(outcome)
        inner = one if isinstance(one, Mapping) else {}
        yield RetryRow(
            path=f"{path}.{outcome}",
            outcome=outcome,
            is_on=one is not None,
            delay=_text_of("text", inner.get("delay") or ""),
            most=_text_of("number", "" if inner.get("max") is None else inner["max"]),
        )


def _number(text: str) -> Any:
    if _WHOLE.fullmatch(text):
        return int(text)
    return float(text) if _DECIMAL.fullmatch(text) else text


def _decoded(text: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return text


_READ: Mapping[str, Callable[[str], Any]] = {
    "text": str.strip,
    "choice": str.strip,
    "area": _area,
    "number": lambda text: _number(text.strip()),
    "lines": _lines,
    "ids": _ids,
    "json": lambda text: _decoded(text) if text.strip() else None,
}
"""Control -> the value that its text stands for."""


def _listed(value: Any) -> Sequence[Any]:
    return value if isinstance(value, Sequence) and not isinstance(value, str) else ()


def _label(name: str) -> str:
    words = [part for part in name.replace("_", " ").split(".") if not part.isdigit()]
    return " ".join(words[-2:])


@cache
def _members(kind: Any) -> tuple[_Member, ...]:
    """Return the fields of a type."""
    if kind is Struct:
        return ()
    shape = inspect.type_info(kind)
    assert isinstance(shape, inspect.StructType)  # noqa: S101 - every part of a schedule is one
    return tuple(_member(field) for field in shape.fields)


@cache
def _settings() -> tuple[_Member, ...]:
    found = {member.name: member for member in _members(Schedule)}
    return tuple(found[name] for name in SETTINGS)


def _member(field: inspect.Field) -> _Member:
    default = field.default
    if field.default_factory is not NODEFAULT:
        default = field.default_factory()
    name = field.encode_name
    shape = field.type
    if isinstance(shape, inspect.UnionType):
        shape = next(one for one in shape.types if not isinstance(one, inspect.NoneType))
    control, options, part = _control(name, shape)
    return _Member(name=name, control=control, default=default, options=options, part=part)


def _control(name: str, shape: inspect.Type) -> tuple[Any, tuple[str, ...], Any]:  # noqa: PLR0911 - a line for each type
    match shape:
        case inspect.BoolType():
            return "flag", (), None
        case inspect.LiteralType(values=values):
            return "choice", tuple(str(one) for one in values), None
        case inspect.IntType() | inspect.FloatType():
            return "number", (), None
        case inspect.StructType(cls=cls):
            return "part", (), cls
        case inspect.VarTupleType(item_type=inspect.StructType(cls=cls)):
            return "rows", (), cls
        case inspect.VarTupleType(item_type=inspect.IntType()):
            return "ids", (), None
        case inspect.VarTupleType():
            return ("days", DAYS, None) if name == "days" else ("lines", (), None)
        case inspect.DictType(value_type=inspect.StructType(cls=cls)) if cls is Retry:
            return "retry", (), None
        case inspect.DictType():
            return "json", (), None
        case _:
            return ("area" if name in LONG else "text"), (), None
