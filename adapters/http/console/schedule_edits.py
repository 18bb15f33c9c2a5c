"""What does the browser of somebody who edits a schedule hold? The fields, which steps are open, and the first version.

Nothing of it is stored here: each request brings all of it, so that an outage, an ended session or a restart loses nothing.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct, field

from adapters.http.console.schedule_form import CHANNELS, EDITED, STEP_LISTS, fold_schedule, normalise
from schemas.records import Schedule
from schemas.schedule import STEP_KINDS
from schemas.wire import digest

DIGEST_SHOWN = 16
"""Hexadecimal digits: two values of one field never share 64 bits by chance."""

LISTS = frozenset({*STEP_LISTS, "triggers", *(f"windows.{channel}" for channel in CHANNELS)})
"""Lists of the form, beside those inside of an open step."""

_IN_STEP = re.compile(r"(?:end_)?steps\.\d{1,3}\.(?:rules|paths)", re.ASCII)

VERSION_MAX = 2**53


class Edit(Struct, kw_only=True):
    """A schedule in the hands of somebody.

    `began` has a digest of each field as it was when the edit began: what differs from it was changed here.
    """

    fields: dict[str, Any]
    version: int
    began: dict[str, str]
    opened: set[str] = field(default_factory=set)
    focus: str = ""

    @property
    def changed(self) -> dict[str, Any]:
        """Return the fields that were changed here, None for one that was emptied."""
        now = digests(self.fields)
        return {name: self.fields.get(name) for name in self.began if now[name] != self.began[name]}

    def continue_from(self, version: int) -> None:
        """Count what is typed as saved in a version, so that only what is changed after it is sent again."""
        now = digests(self.fields)
        self.version, self.began = version, {name: now[name] for name in self.began}


def begin(shown: Mapping[str, Any]) -> Edit:
    """Return the edit of a schedule as the API shows it; where a draft waits, of the draft."""
    fields = fields_of(shown)
    began = {name: value for name, value in digests(fields).items() if name in shown}
    return Edit(fields=fields, version=int(shown["version"]), began=began)


def fields_of(shown: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the form shows of a schedule, with its draft over it."""
    return normalise({**shown, **(shown.get("draft_fields") or {})})


def published_fields_of(shown: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the form would show of a schedule without its draft."""
    return normalise(shown)


def read_edit(posted: Mapping[str, Any]) -> Edit:
    """Return what a browser sent."""
    fields = fold_schedule(posted)
    given = str(posted.get("version", ""))
    began = {name: str(posted[f"began.{name}"]) for name in EDITED if f"began.{name}" in posted}
    opened = {
        f"{name}.{place}"
        for name in STEP_LISTS
        for place in range(len(fields[name]))
        if any(key.startswith(f"{name}.{place}.") and not key.endswith(".json") for key in posted)
    }
    version = int(given) if given.isascii() and given.isdigit() and len(given) < len(str(VERSION_MAX)) else 0
    return Edit(fields=fields, version=version, began=began, opened=opened)


def digests(fields: Mapping[str, Any]) -> dict[str, str]:
    """Return a digest of each field that can be edited."""
    return {name: digest(msgspec.json.encode(fields.get(name)))[:DIGEST_SHOWN] for name in EDITED}


def merge(mine: Edit, shown: Mapping[str, Any]) -> tuple[Edit, dict[str, str]]:
    """Return an edit that begins from the schedule as it is now, with what was changed here; and what was changed there.

    A field that was changed in both places stays as it is here, and is named `both`: the person decides.
    """
    theirs = begin(shown)
    moved = {name for name, value in theirs.began.items() if mine.began.get(name, value) != value}
    own = {name: value for name, value in mine.changed.items() if name in theirs.began}
    fields = {name: value for name, value in {**theirs.fields, **own}.items() if value is not None}
    there = {name: "both" if name in own else "there" for name in EDITED if name in moved}
    opened = mine.opened if not moved & set(STEP_LISTS) or set(own) & set(STEP_LISTS) else set()
    return Edit(fields=fields, version=theirs.version, began=theirs.began, opened=opened), there


def act(edit: Edit, verb: str, path: str, posted: Mapping[str, Any]) -> None:
    """Do what a button of the form says: open or close a step, add, take away or move a row."""
    if verb == "add" and (path in LISTS or _IN_STEP.fullmatch(path)):
        _add(edit, path, posted)
        return
    parent, _, last = path.rpartition(".")
    rows = _rows_at(edit, parent)
    if rows is None or not (last.isascii() and last.isdigit() and int(last[:4]) < len(rows)):
        return
    place = int(last)
    if verb in {"open", "close"} and parent in STEP_LISTS:
        (edit.opened.add if verb == "open" else edit.opened.discard)(path)
        edit.focus = f"{path}.id" if verb == "open" else path
    elif verb == "remove":
        _rearrange(edit, parent, rows, [one for one in range(len(rows)) if one != place])
        edit.focus = f"add:{parent}"
    elif verb in {"up", "down"}:
        other = place + (1 if verb == "down" else -1)
        if 0 <= other < len(rows):
            order = list(range(len(rows)))
            order[place], order[other] = order[other], order[place]
            _rearrange(edit, parent, rows, order)
            edit.focus = f"{parent}.{other}"


def _add(edit: Edit, path: str, posted: Mapping[str, Any]) -> None:
    rows = _rows_at(edit, path, make=True)
    if rows is None:
        return
    if path not in STEP_LISTS:
        rows.append({})
        edit.focus = f"{path}.{len(rows) - 1}"
        return
    kind = str(posted.get(f"add.{path}.kind", ""))
    if kind not in STEP_KINDS:
        return
    before = str(posted.get(f"add.{path}.before", ""))
    place = int(before) if before.isascii() and before.isdigit() and int(before[:4]) < len(rows) else len(rows)
    rows.append({"id": _new_id(edit, kind), "kind": kind})
    order = list(range(len(rows) - 1))
    order.insert(place, len(rows) - 1)
    _rearrange(edit, path, rows, order)
    edit.opened.add(f"{path}.{place}")
    edit.focus = f"{path}.{place}.id"


def _rearrange(edit: Edit, path: str, rows: list[Any], order: Sequence[int]) -> None:
    """Put rows into another order; steps that are open stay open."""
    open_ones = [f"{path}.{place}" in edit.opened for place in range(len(rows))]
    rows[:] = [rows[place] for place in order]
    if path in STEP_LISTS:
        edit.opened = {one for one in edit.opened if one.rpartition(".")[0] != path}
        edit.opened |= {f"{path}.{place}" for place, before in enumerate(order) if open_ones[before]}


def _rows_at(edit: Edit, path: str, *, make: bool = False) -> list[Any] | None:
    """Return the rows of a list of the form; None where there is no such list."""
    value: Any = edit.fields
    parts = path.split(".")
    if not (path in LISTS or _IN_STEP.fullmatch(path)):
        return None
    for place, part in enumerate(parts):
        if isinstance(value, list):
            value = value[int(part)] if part.isdigit() and int(part) < len(value) else None
        elif isinstance(value, dict):
            if make and part not in value:
                value[part] = [] if place == len(parts) - 1 else {}
            value = value.get(part)
    return value if isinstance(value, list) else None


def _new_id(edit: Edit, kind: str) -> str:
    """Return an id that no step has: `sms-2`."""
    taken = {step.get("id") for name in STEP_LISTS for step in edit.fields[name] if isinstance(step, dict)}
    stem = kind.replace("_", "-")
    return next(f"{stem}-{number}" for number in range(1, len(taken) + 2) if f"{stem}-{number}" not in taken)


def read_json(text: str, edit: Edit) -> str:
    """Take the fields of an edit from JSON; return what is wrong with it, or an empty string."""
    try:
        given = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError) as error:
        return f"This is no JSON: {error}."
    if not isinstance(given, dict):
        return "The JSON must be an object with the fields of the schedule."
    unknown = sorted(given.keys() - set(EDITED))
    if unknown:
        return f"{', '.join(unknown)[:200]} cannot be changed here; those are {', '.join(EDITED)}."
    try:
        msgspec.convert({"name": "", "lead_token": "", **given}, Schedule)
    except msgspec.ValidationError as error:
        return f"{error}."
    edit.fields = normalise(given)
    edit.opened = set()
    return ""
