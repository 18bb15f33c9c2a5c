"""What is the input of a preview? A schedule, a lead, a start, the outcomes, and the history of contacts.

Publishing reads the schedule in the same way, with the same refusals. All other bad fields are reported at once.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from msgspec import Struct

from engine.account.action_groups import GroupOf, no_group
from engine.account.bodies import read_schedule
from engine.account.publishing import WRITTEN_BY_PUBLISHING
from engine.contact.facts.ledger import row_of
from engine.contact.schedule.cadence import channel_of
from engine.partition.draft import RefusedError
from engine.preview.preview_rules import UNPUBLISHED_ID
from engine.submission.fields import FieldError, is_blank, parse_boolean, parse_id, parse_integer, parse_moment
from engine.views.record import record_columns
from schemas.instant import DAY, EPOCH, Instant
from schemas.outcomes import OUTCOMES
from schemas.records import Schedule

T = TypeVar("T")

FIELDS = ("schedule", "lead", "at", "outcomes", "history", "limit", "closed_hours")

LIMIT_DEFAULT = 20
LIMIT_MAX = 1_000
"""Actions of one preview."""

HISTORY_MAX = 1_000
"""Contacts of one history: as many as the ledger of a number holds."""

AT_MIN = EPOCH
AT_MAX = EPOCH + 230 * 365 * DAY
"""From 1970 until about 2199: covered by time zone data, and within the calendar."""

CALLBACK = "callback"
"""The kind of a callback."""

COUNTED = ("call", "sms")

GOOD: dict[str, str] = {kind: next(name for name, row in rows.items() if row.good) for kind, rows in OUTCOMES.items()}
"""The outcome of every kind where none is given."""

_SHOWN_ONLY = frozenset(record_columns("schedule")) - frozenset(Schedule.__struct_fields__) | WRITTEN_BY_PUBLISHING
_HISTORY_FIELDS = ("kind", "at", "outcome")

Errors = dict[str, list[str]]


class Past(Struct, frozen=True):
    """An earlier contact of this number."""

    kind: str
    at: Instant
    outcome: str


class Trial(Struct, frozen=True, kw_only=True):
    """The input of a preview. `outcomes` are by step id or by kind; the id wins."""

    schedule: Schedule
    schedule_id: int = UNPUBLISHED_ID
    lead: Mapping[str, Any]
    at: Instant
    outcomes: Mapping[str, str] = {}
    history: tuple[Past, ...] = ()
    limit: int = LIMIT_DEFAULT
    closed_hours: bool = False

    def outcome_of(self, step_id: str | None, kind: str) -> str | None:
        """Return the given outcome of an action, or None; `kind` is `callback` for a callback."""
        names = (step_id or kind, kind, "call" if kind == CALLBACK else kind)
        return next((self.outcomes[name] for name in names if name in self.outcomes), None)


def read_trial(
    raw: Any, *, now: Instant, published: tuple[int, Schedule] | None = None, group_of: GroupOf = no_group
) -> Trial:
    """Read a request for a preview; `now` is used where it says no `at`.

    `published` is a schedule that has an id already; it takes the place of the field. `group_of` knows the action groups
    that its steps may name. Raises `RefusedError`:
    `malformed_body`, the problem of publishing where the schedule is at fault, else `validation_failed`.
    """
    if not isinstance(raw, Mapping):
        raise RefusedError("malformed_body", "A preview is asked for with an object of schedule and lead.")
    errors: Errors = {}
    for name in raw:
        if name not in FIELDS:
            _add(errors, str(name)[:100], f"is no field of a preview; those are {', '.join(FIELDS)}")
    lead = _read_lead(raw.get("lead"), errors)
    at = _parsed("at", raw.get("at"), _parse_at, errors, now)
    history = _read_history(raw.get("history"), at, errors)
    limit = _parsed("limit", raw.get("limit"), _parse_limit, errors, LIMIT_DEFAULT)
    closed = _parsed("closed_hours", raw.get("closed_hours"), parse_boolean, errors, False)
    schedule_id, schedule = published or _read_schedule(raw.get("schedule"), errors, group_of)
    if published is not None and not is_blank(raw.get("schedule")):
        _add(errors, "schedule", "must be left out where schedule_id is given")
    outcomes = {} if schedule is None else _read_outcomes(raw.get("outcomes"), schedule, errors)
    if errors or schedule is None:
        raise _refusal(errors)
    return Trial(
        schedule=schedule,
        schedule_id=schedule_id,
        lead=lead,
        at=at,
        outcomes=outcomes,
        history=history,
        limit=limit,
        closed_hours=closed,
    )


def _refusal(errors: Errors) -> RefusedError:
    named = ", ".join(list(errors)[:5])
    return RefusedError("validation_failed", f"Correct {named} and resend.", errors)


def _read_schedule(value: Any, errors: Errors, group_of: GroupOf) -> tuple[int, Schedule | None]:
    """Return the schedule and its id, or None and an error where none is given. Raises `RefusedError` as publishing does."""
    if not isinstance(value, Mapping):
        _add(errors, "schedule", "must be given: the object that would be published")
        return UNPUBLISHED_ID, None
    # A schedule that was read back can be tried as it is; what is only shown says nothing.
    given = {name: part for name, part in value.items() if name not in _SHOWN_ONLY}
    try:
        return _id_of(value), read_schedule(given, group_of)
    except RefusedError as refusal:
        if not errors:
            raise
        errors.update(refusal.errors)
        return UNPUBLISHED_ID, None


def _id_of(value: Mapping[str, Any]) -> int:
    try:
        return parse_id(value.get("id"))
    except FieldError:
        return UNPUBLISHED_ID


def _read_lead(value: Any, errors: Errors) -> Mapping[str, Any]:
    if isinstance(value, Mapping):
        return value
    _add(errors, "lead", "must be given: an object as it is submitted, with a caller_id or an email")
    return {}


def _read_outcomes(value: Any, schedule: Schedule, errors: Errors) -> dict[str, str]:
    """Read what comes of the steps; every name must be a kind or a step of this schedule, every outcome one of it."""
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        _add(errors, "outcomes", "must be an object of step ids or kinds, each with an outcome")
        return {}
    channels = {step.id: channel_of(step) for step in (*schedule.steps, *schedule.end_steps)}
    known = {**{kind: kind for kind in OUTCOMES}, CALLBACK: "call", **channels}
    found = {}
    for name, outcome in value.items():
        channel = known.get(name)
        if channel is None or channel not in OUTCOMES:
            about = (
                "is no step of this schedule and no kind" if channel is None else f"is a {channel} step: nothing comes of it"
            )
            _add(errors, f"outcomes.{name}"[:100], f"{about}; the kinds are {', '.join(OUTCOMES)}")
        elif not isinstance(outcome, str) or row_of(channel, outcome) is None:
            _add(errors, f"outcomes.{name}"[:100], _no_outcome(channel))
        else:
            found[name] = outcome
    return found


def _read_history(value: Any, at: Instant, errors: Errors) -> tuple[Past, ...]:
    if value is None:
        return ()
    if isinstance(value, str | bytes) or not isinstance(value, Sequence):
        _add(errors, "history", "must be a list of earlier contacts, each with kind, at and outcome")
        return ()
    if len(value) > HISTORY_MAX:
        _add(errors, "history", f"must have at most {HISTORY_MAX} contacts")
        return ()
    rows = [_read_past(row, f"history[{place}]", at, errors) for place, row in enumerate(value)]
    return tuple(sorted((row for row in rows if row is not None), key=lambda past: past.at))


def _read_past(row: Any, place: str, at: Instant, errors: Errors) -> Past | None:
    if not isinstance(row, Mapping):
        _add(errors, place, "must be an object with kind, at and outcome")
        return None
    faults: Errors = {}
    for name in row:
        if name not in _HISTORY_FIELDS:
            _add(faults, f"{place}.{name}"[:100], f"is no field of a contact; those are {', '.join(_HISTORY_FIELDS)}")
    kind = row.get("kind")
    if kind not in COUNTED:
        _add(faults, f"{place}.kind", "must be call or sms: nothing else is counted for a number")
        kind = "call"
    outcome = row.get("outcome", GOOD[kind])
    if not isinstance(outcome, str) or row_of(kind, outcome) is None:
        _add(faults, f"{place}.outcome", _no_outcome(kind))
    moment = AT_MIN
    if is_blank(row.get("at")):
        _add(faults, f"{place}.at", "must be given")
    else:
        moment = _parsed(f"{place}.at", row["at"], _parse_at, faults, AT_MIN)
    if moment > at:
        _add(faults, f"{place}.at", "must not be later than the at of the preview")
    errors.update(faults)
    return None if faults else Past(kind, moment, outcome)


def _no_outcome(kind: str) -> str:
    return f"must be an outcome of a {kind}: {', '.join(OUTCOMES[kind])}"


def _parse_at(value: Any) -> Instant:
    moment = parse_moment(value)
    if not AT_MIN <= moment <= AT_MAX:
        raise FieldError("must be in the years 1970 to 2199")
    return moment


def _parse_limit(value: Any) -> int:
    return parse_integer(value, least=1, most=LIMIT_MAX)


def _parsed(field: str, value: Any, parse: Callable[[Any], T], errors: Errors, default: T) -> T:
    if is_blank(value):
        return default
    try:
        return parse(value)
    except FieldError as error:
        _add(errors, field, str(error))
        return default


def _add(errors: Errors, field: str, fault: str) -> None:
    errors.setdefault(field, []).append(fault)
