"""Can a schedule run as written? Read every step and name every fault by its place: `steps[2].duration`.

Publishing and the preview share this; only publishing looks up what the steps refer to.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, get_args, get_origin

import msgspec
from msgspec.structs import FieldInfo
from msgspec.structs import fields as fields_of

from engine.account.did_you_mean import did_you_mean
from engine.account.fleets import FleetNamed, fleet_faults, step_fleet_faults
from engine.account.flow import flow_faults, shown_ids
from engine.account.steps import step_faults, trigger_faults
from engine.calendar.windows import window_errors, window_set
from engine.contact.timing.contact_hours import TELEPHONE
from engine.law.floor import TELEPHONE_FLOOR
from schemas.instant import SECOND
from schemas.schedule import STEP_KINDS, TRIGGER_TYPES, Channel, Step, Trigger, Window

STEPS_MAX = 200
"""Steps and end steps of one schedule: it is copied into every decision that changes it."""

STEP_ID_LENGTH_MAX = 64

TRIGGERS_MAX = 20
"""Of one schedule: every decision on a lead checks them all."""

Errors = dict[str, list[str]]
Steps = Sequence[Step | None]
Exists = Callable[[str, int], bool]
"""Returns whether a live record of a type exists."""

CHANNELS: tuple[str, ...] = get_args(Channel)

_KNOWN_KINDS = ", ".join(STEP_KINDS)


def read_steps(value: Any, field: str, errors: Errors) -> tuple[Step | None, ...]:
    """Return the steps, with None for each that could not be read; add the faults to the errors."""
    if value is None:
        return ()
    if isinstance(value, str | bytes) or not isinstance(value, Sequence):
        _add(errors, field, "must be a list of steps")
        return ()
    if len(value) > STEPS_MAX:
        _add(errors, field, f"must have at most {STEPS_MAX} steps")
        return ()
    return tuple(_read_step(raw, f"{field}[{place}]", errors) for place, raw in enumerate(value))


def read_windows(value: Any, errors: Errors) -> dict[str, tuple[Window, ...]]:
    """Return the windows of each channel that could be read."""
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        _add(errors, "windows", f"must be an object of {', '.join(CHANNELS)}, each with a list of windows")
        return {}
    found = {}
    for channel, raw in value.items():
        rows = _read_rows(str(channel), raw, errors)
        if rows is not None:
            found[str(channel)] = rows
    return found


def check_margin(windows: Mapping[str, Sequence[Window]], margin_seconds: int, errors: Errors) -> None:
    """Add an error for each channel whose hours are no longer than the close margin; faults of the hours come first."""
    if not margin_seconds or any(place.startswith("windows") for place in errors):
        return
    for channel, rows in windows.items():
        hours = window_set(tuple(rows))
        if not hours.meets(TELEPHONE_FLOOR if channel in TELEPHONE else hours, margin_seconds * SECOND):
            fault = f"is never open for longer than the {margin_seconds} close_margin_seconds that are taken off its end"
            _add(errors, f"windows.{channel}", f"{fault}; open it longer, or make the margin smaller")


def read_triggers(value: Any, errors: Errors) -> tuple[Trigger, ...]:
    """Return the triggers that could be read."""
    if value is None:
        return ()
    if isinstance(value, str | bytes) or not isinstance(value, Sequence) or len(value) > TRIGGERS_MAX:
        _add(errors, "triggers", f"must be a list of at most {TRIGGERS_MAX} triggers")
        return ()
    read = [_read_trigger(raw, f"triggers[{place}]", errors) for place, raw in enumerate(value)]
    return tuple(trigger for trigger in read if trigger is not None)


def _read_trigger(raw: Any, place: str, errors: Errors) -> Trigger | None:
    if isinstance(raw, Mapping):
        on, kind = raw.get("on"), raw.get("type")
        known = TRIGGER_TYPES.get(on) if isinstance(on, str) else None
        if known is None:
            _add(errors, f"{place}.on", f"must be one of {', '.join(TRIGGER_TYPES)}")
            return None
        if kind not in known:
            _add(errors, f"{place}.type", f"is nothing that happens on {on}; the types are {', '.join(known)}")
            return None
    try:
        trigger = msgspec.convert(raw, Trigger)
    except msgspec.ValidationError as error:
        path, fault = sentence("", error, Trigger)
        _add(errors, f"{place}{path}", fault)
        return None
    for name, fault in trigger_faults(trigger):
        _add(errors, f"{place}.{name}", fault)
    return trigger


def check_steps(
    steps: Steps,
    end_steps: Steps,
    errors: Errors,
    exists: Exists | None = None,
    triggers: Sequence[Trigger] = (),
    *,
    fleet_named: FleetNamed | None = None,
) -> None:
    """Add the faults of the steps that could be read; with `exists` and `fleet_named` also references to missing records."""
    if len(steps) + len(end_steps) > STEPS_MAX:
        _add(errors, "end_steps", f"must have at most {STEPS_MAX} steps together with steps")
    _check_ids([("steps", steps), ("end_steps", end_steps)], errors)
    for field, listed in (("steps", steps), ("end_steps", end_steps)):
        for place, step in _read_ones(listed):
            _collect(errors, f"{field}[{place}]", step, step_faults(step, ending=field == "end_steps", exists=exists))
            _collect(errors, f"{field}[{place}]", step, step_fleet_faults(step, fleet_named))
        _check_flow(field, listed, errors, triggers if field == "steps" else ())
    for place, trigger in enumerate(triggers):
        for name, fault in fleet_faults("filters", trigger.filters, fleet_named):
            _add(errors, f"triggers[{place}].{name}", fault)


def _check_flow(field: str, listed: Steps, errors: Errors, triggers: Sequence[Trigger]) -> None:
    """Check the step graph where the steps have no faults: report one fault once."""
    if any(place.startswith(f"{field}[") for place in errors):
        return
    steps = [step for _, step in _read_ones(listed)]
    ids = [step.id for step in steps]
    for place, trigger in enumerate(triggers):
        if trigger.goto is not None and trigger.goto not in ids:
            _add(errors, f"triggers[{place}].goto", f"names none of the steps; those are {shown_ids(ids)}")
            return
    for place, name, fault in flow_faults(steps, triggers):
        _collect(errors, f"{field}[{place}]", steps[place], [(name, fault)])


def _read_step(raw: Any, place: str, errors: Errors) -> Step | None:
    if not isinstance(raw, Mapping):
        _add(errors, place, "must be an object with an id and a kind")
        return None
    kind = STEP_KINDS.get(raw["kind"]) if isinstance(raw.get("kind"), str) else None
    if kind is None:
        said = "is missing" if raw.get("kind") is None else f"{raw['kind']!r} is not known here"[:80]
        said += did_you_mean(raw.get("kind"), STEP_KINDS)
        _add(errors, f"{place}.kind", f"{said}; the kinds are {_KNOWN_KINDS}")
        return None
    known = {field.encode_name: field for field in fields_of(kind)}
    faults = [*_unknown_fields(raw, known), *_missing_fields(raw, known)]
    values = {}
    for name, field in known.items():
        if name in raw:
            try:
                values[field.name] = msgspec.convert(raw[name], field.type)
            except msgspec.ValidationError as error:
                faults.append(sentence(name, error, field.type))
    for name, fault in faults:
        _add(errors, f"{place}.{name}", _of(raw.get("id"), fault))
    return None if faults else kind(**values)  # type: ignore[return-value]  # one of the union's own structs


def _unknown_fields(raw: Mapping[Any, Any], known: Mapping[str, FieldInfo]) -> Iterator[tuple[str, str]]:
    for name in raw:
        if name not in known and name != "kind":
            said = f"is no field of a {raw['kind']} step{did_you_mean(name, known)}; those are {', '.join(known)}"
            yield str(name)[:STEP_ID_LENGTH_MAX], said


def _missing_fields(raw: Mapping[Any, Any], known: Mapping[str, FieldInfo]) -> Iterator[tuple[str, str]]:
    for name, field in known.items():
        if field.required and name not in raw:
            yield name, "must be given"


def _read_rows(channel: str, raw: Any, errors: Errors) -> tuple[Window, ...] | None:
    field = f"windows.{channel}"[:STEP_ID_LENGTH_MAX]
    if channel not in CHANNELS:
        _add(errors, field, f"is no channel; they are {', '.join(CHANNELS)}")
        return None
    if isinstance(raw, str | bytes) or not isinstance(raw, Sequence):
        _add(errors, field, "must be a list of windows with days, open and close")
        return None
    rows = [_read_row(row, f"{field}[{place}]", errors) for place, row in enumerate(raw)]
    found = tuple(row for row in rows if row is not None)
    if len(found) < len(rows):
        return None
    faults = window_errors(found)
    for spot, sentences in faults.items():
        place, _, name = spot.partition(".")
        errors.setdefault(f"{field}[{place}].{name}" if name else field, []).extend(sentences)
    if not faults and channel in TELEPHONE and not window_set(found).meets(TELEPHONE_FLOOR):
        _add(
            errors, field, "is never open between 08:00 and 21:00, when the law lets a telephone ring; open it within these"
        )
    return found


def _read_row(raw: Any, place: str, errors: Errors) -> Window | None:
    try:
        return msgspec.convert(raw, Window)
    except msgspec.ValidationError as error:
        path, fault = sentence("", error, Window)
        _add(errors, f"{place}{path}", fault)
        return None


def _read_ones(steps: Steps) -> Iterator[tuple[int, Step]]:
    return ((place, step) for place, step in enumerate(steps) if step is not None)


def _check_ids(lists: Iterable[tuple[str, Steps]], errors: Errors) -> None:
    seen: dict[str, str] = {}
    for field, steps in lists:
        for place, step in _read_ones(steps):
            where = f"{field}[{place}]"
            if not step.id.strip() or len(step.id) > STEP_ID_LENGTH_MAX or not step.id.isprintable():
                _add(errors, f"{where}.id", f"must be 1 to {STEP_ID_LENGTH_MAX} printable characters")
            elif step.id in seen:
                _add(errors, f"{where}.id", f"{step.id!r} is the id of {seen[step.id]} too; give each step its own")
            else:
                seen[step.id] = where


def _collect(errors: Errors, place: str, step: Step, faults: Iterable[tuple[str, str]]) -> None:
    for name, fault in faults:
        _add(errors, f"{place}.{name}" if name else place, _of(step.id, fault))


def _of(step_id: Any, fault: str) -> str:
    return f"(step {step_id[:STEP_ID_LENGTH_MAX]!r}) {fault}" if isinstance(step_id, str) and step_id else fault


def _add(errors: Errors, field: str, fault: str) -> None:
    errors.setdefault(field, []).append(fault)


_DAYS = "must be one of mon, tue, wed, thu, fri, sat, sun"
_WANTED = {
    "int": "a whole number",
    "float": "a number",
    "str": "text",
    "bool": "true or false",
    "array": "a list",
    "object": "an object",
    "null": "null",
}
_SUCH_AS = {
    **dict.fromkeys(("duration", "delay", "in", "outcome_timeout", "max_lateness", "await_disposition"), '"15m"'),
    **dict.fromkeys(("until", "at"), '{"time": "10:00"}'),
    **dict.fromkeys(("time", "open", "close"), '"09:00"'),
    **dict.fromkeys(("if", "filters"), '["state:CA"]'),
    **dict.fromkeys(("add", "remove"), '["warm"]'),
    "timeout": '"1d"',
    "retry": '{"busy": {"delay": "15m", "max": 3}}',
    "connect": '{"buyer_group_id": 7}',
    "rules": '[{"if": ["state:CA"], "goto": "call-2"}]',
    "paths": '[{"goto": "call-2", "weight": 1}, {"goto": "text-2", "weight": 1}]',
    "days": '["mon", "tue"]',
    "set": '{"plan": "gold"}',
    "unset": '["plan"]',
}
"""Examples for fields with a value of the wrong type: an example helps more than the name of a type."""


def _fields_within(kind: Any) -> tuple[str, ...]:
    """Return the fields of the part that a type holds: itself, or what its list, mapping or choice is made of."""
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        return tuple(field.encode_name for field in fields_of(kind))
    return next((found for part in get_args(kind) if (found := _fields_within(part))), ())


def sentence(name: str, error: msgspec.ValidationError, kind: Any) -> tuple[str, str]:
    """Return the place (`name` and the path behind it) and a sentence for what msgspec found wrong."""
    text, _, path = str(error).partition(" - at `")
    # The path of a mapping's values is written `[...]`: which value it was is not said.
    place = name + path.removeprefix("key in `").rstrip("`").removeprefix("$").replace("[...]", "")
    words = text.split("`")
    if text.startswith("Expected `"):
        names = [word.strip() for word in words[1].split("|")]
        wanted = " or ".join(_WANTED.get(word, word) for word in names if word != "null" or len(names) == 1)
        such_as = _SUCH_AS.get(place.rpartition(".")[2])
        return place, f"must be {wanted}, such as {such_as}" if such_as else f"must be {wanted}"
    if text.startswith("Invalid enum value"):
        return place, _DAYS if "days[" in place else _known_words(kind)
    if text.startswith("Object contains unknown field"):
        return f"{place}.{words[1]}", f"is no field here; those are {', '.join(_fields_within(kind))}"
    if text.startswith("Object missing required field"):
        return f"{place}.{words[1]}", "must be given"
    return place, f"is not valid: {text}"


def _known_words(kind: Any) -> str:
    words = [word for part in (kind, *get_args(kind)) if get_origin(part) is not None for word in get_args(part)]
    texts = [word for word in words if isinstance(word, str)]
    return f"must be one of {', '.join(texts)}" if texts else "is not one of the known words"
