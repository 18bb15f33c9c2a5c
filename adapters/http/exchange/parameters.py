"""Does each parameter have the right type? Parses the fields of a request and reports all bad ones together.

- Booleans: 1, true, yes, on, 0, false, no, off.
- Dates: `YYYY-MM-DD HH:MM:SS +ZZZZ` or RFC 3339; without an offset, in `time_zone`. An upper bound without a time includes
  its day.
- Lists: repeated `name[]`, JSON arrays, or text with commas.
- A blank field counts as not sent.
"""

import contextlib
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import date, datetime, timedelta
from typing import Any, TypeVar

import msgspec

from adapters.body_fields import PATH_LENGTH_MAX
from adapters.http.exchange.binding import FIELDS_SHOWN_MAX
from adapters.http.exchange.problems import ProblemError
from engine.account.did_you_mean import did_you_mean
from engine.calendar.wall import CalendarError
from engine.calendar.zones import resolve_local
from engine.submission.fields import (
    INTEGER_MAX,
    FieldError,
    is_blank,
    parse_boolean,
    parse_id,
    parse_integer,
    parse_moment,
    parse_text,
    parse_zone,
)
from engine.submission.states import state_code
from engine.views.periods import LABELS, span_of
from schemas.instant import Instant, to_datetime

T = TypeVar("T")

LIST_LENGTH_MAX = 1_000
"""As many ids as the longest page has rows."""

_UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
UPPER_BOUND = "_to"
"""Parameters whose names end so exclude their instant."""

_LOCAL = re.compile(r"\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2})?)?", re.ASCII)


def read_id(text: str) -> int | str | None:
    """Return the internal id (int) or UUID (lower-case str) in a path segment, or None if it is neither."""
    if text.isascii() and text.isdigit():
        number = int(text[:17])
        return number if len(text) <= len(str(INTEGER_MAX)) and 0 < number <= INTEGER_MAX else None
    return text.lower() if _UUID.fullmatch(text) else None


def parse_local_moment(value: Any, zone_name: str) -> Instant:
    """Return the instant of a date and time; one without an offset is read in the zone. Raises `FieldError`."""
    text = value.strip() if isinstance(value, str) else ""
    if _LOCAL.fullmatch(text) is None:
        return parse_moment(value)
    try:
        instant = resolve_local(datetime.fromisoformat(text), zone_name)
        to_datetime(instant)  # refuses a year outside of 1 to 9999 in UTC
    except (ValueError, OverflowError, CalendarError):
        raise FieldError("must be a date and time that exists") from None
    return instant


def parse_upper_bound(value: Any, zone_name: str) -> Instant:
    """Return the instant before which something is: a date without a time includes its day. Raises `FieldError`."""
    text = value.strip() if isinstance(value, str) else ""
    if _DAY.fullmatch(text) is None:
        return parse_local_moment(value, zone_name)
    parse_local_moment(text, zone_name)
    try:
        return parse_local_moment((date.fromisoformat(text) + timedelta(days=1)).isoformat(), zone_name)
    except OverflowError:
        raise FieldError("must be a date and time that exists") from None


class Parameters:
    """Reads the fields of one request one by one; `finish` raises all their faults."""

    def __init__(self, fields: Mapping[str, Any]) -> None:
        self.fields = fields
        self._errors: dict[str, list[str]] = {}
        self._codes: set[str] = set()

    @property
    def errors(self) -> Mapping[str, list[str]]:
        """Return the faults found so far."""
        return self._errors

    def refuse(self, name: str, sentence: str, *, code: str = "validation_failed") -> None:
        """Record a fault of a field."""
        self._errors.setdefault(name, []).append(sentence)
        self._codes.add(code)

    def require(self, *names: str, sentence: str = "must be given") -> None:
        """Refuse each of these fields that is missing or blank."""
        for name in names:
            if is_blank(self.fields.get(name)):
                self.refuse(name, sentence)

    def finish(self) -> None:
        """Raise `ProblemError` if any field is bad: with their code if all have the same, else validation_failed."""
        if self._errors:
            code = self._codes.pop() if len(self._codes) == 1 else "validation_failed"
            raise ProblemError(code, "Correct the fields listed in errors and resend.", self._errors)

    def read(self, name: str, parse: Callable[[Any], T], *, code: str = "validation_failed") -> T | None:
        """Return a parsed field, or None if it is missing, blank or bad; record a bad one."""
        value = self.fields.get(name)
        if is_blank(value):
            return None
        try:
            return parse(value)
        except FieldError as error:
            self.refuse(name, str(error), code=code)
            return None

    def text(self, name: str) -> str | None:
        """Return a short text."""
        return self.read(name, parse_text)

    def flag(self, name: str) -> bool | None:
        """Return a boolean."""
        return self.read(name, parse_boolean)

    def whole(self, name: str, *, least: int, most: int, code: str = "validation_failed") -> int | None:
        """Return an integer within its bounds."""
        return self.read(name, lambda value: parse_integer(value, least=least, most=most), code=code)

    def id(self, name: str) -> int | None:
        """Return an internal id."""
        return self.read(name, parse_id)

    def reference(self, name: str, what: str) -> int | str | None:
        """Return the internal id (int) or UUID (str) of a record; faults call the record `what`."""
        return self.read(name, lambda value: _reference(value, what))

    def instant(self, name: str, zone_name: str) -> Instant | None:
        """Return an instant; a date without an offset is read in the time zone, and as an upper bound includes its day."""
        parse = parse_upper_bound if name.endswith(UPPER_BOUND) else parse_local_moment
        return self.read(name, lambda value: parse(value, zone_name), code="bad_date")

    def zone(self, name: str, default: str) -> str:
        """Return the IANA name of a time zone, or the default if none is given."""
        return self.read(name, parse_zone) or default

    def choice(self, name: str, options: Collection[str]) -> str | None:
        """Return one of the options."""
        return self.read(name, lambda value: _one_of(value, options))

    def words(self, name: str) -> tuple[str, ...] | None:
        """Return a list of texts, from an array or a text with commas."""
        return self.read(name, _words)

    def ids(self, name: str) -> tuple[int, ...] | None:
        """Return a list of internal ids."""
        return self.read(name, lambda value: tuple(parse_id(word) for word in _words(value)))


def unknown_parameters(unknown: Sequence[str], known: Collection[str]) -> ProblemError:
    """Return the refusal of unknown parameters, each with the nearest known name, or with all known names."""
    errors: dict[str, list[str]] = {}
    for name in unknown[:FIELDS_SHOWN_MAX]:
        hint = did_you_mean(name, known) or (f"; it takes {', '.join(known)}" if known else "; it takes none")
        errors.setdefault(name[:PATH_LENGTH_MAX], []).append(f"is not a parameter of this request{hint}")
    return ProblemError("validation_failed", "Correct or remove the parameters listed in errors.", errors)


def read_span(parameters: Parameters, now: Instant, zone_name: str) -> tuple[Instant | None, Instant | None]:
    """Return the interval in which rows were created: the intersection of the label's period and both bounds."""
    label = parameters.choice("created_at_label", LABELS)
    starts, ends = span_of(label, now, zone_name) if label else (None, None)
    first, last = parameters.instant("created_at_from", zone_name), parameters.instant("created_at_to", zone_name)
    lower = [bound for bound in (starts, first) if bound is not None]
    upper = [bound for bound in (ends, last) if bound is not None]
    return max(lower, default=None), min(upper, default=None)


def read_token(parameters: Parameters) -> tuple[str | None, tuple[str, str] | None]:
    """Read the filters by token: the name of one, or the name and value that rows must have."""
    key, given = parameters.text("token_key"), parameters.text("token_value")
    if given is None:
        return key, None
    if key is not None:
        return None, (key, given.removeprefix(f"{key}:"))
    name, colon, value = given.partition(":")
    if not colon or not name:
        parameters.refuse("token_value", "must be token:value, such as roof:flat, where there is no token_key")
    return None, (name, value)


def read_states(parameters: Parameters) -> tuple[str, ...] | None:
    """Read the states to filter by: a known name or code is its code, as leads store it."""
    words = parameters.words("states")
    return None if words is None else tuple(state_code(word) or word for word in words)


def _reference(value: Any, what: str) -> int | str:
    found = read_id(str(value)) if isinstance(value, str | int) and not isinstance(value, bool) else None
    if found is None:
        raise FieldError(f"must be the id or uuid of a {what}")
    return found


def _one_of(value: Any, options: Collection[str]) -> str:
    if not options:
        raise FieldError("cannot be chosen here")
    if not isinstance(value, str) or value not in options:
        raise FieldError(f"must be one of {', '.join(options)}{did_you_mean(value, options)}")
    return value


def _words(value: Any) -> tuple[str, ...]:
    items = _listed(value) if isinstance(value, str) else value if isinstance(value, list) else [value]
    if len(items) > LIST_LENGTH_MAX:
        raise FieldError(f"must be a list of at most {LIST_LENGTH_MAX} values")
    return tuple(text for text in (parse_text(item) for item in items) if text)


def _listed(text: str) -> list[Any]:
    """Return the values of a list in a query: `1,2`, or as JSON, `[1,2]`."""
    if text.startswith("[") and text.endswith("]"):
        with contextlib.suppress(msgspec.DecodeError):
            return msgspec.json.decode(text, type=list[Any])
    return text.split(",")
