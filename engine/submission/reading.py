"""How are the fields of one submission parsed? Each once; faults are collected until all are known."""

import re
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import msgspec

from engine.partition.draft import RefusedError
from engine.rules import Rules
from engine.submission.columns import ALIASES, COLUMNS, RESERVED
from engine.submission.consents import CONSENT, parse_consents
from engine.submission.dialling import undialled_sentence, why_undialled
from engine.submission.fields import FieldError, check_token, is_blank, parse_email, parse_moment, sound_text
from engine.submission.near_names import NESTED_ONLY, TOKENS, field_of
from engine.submission.numbers import EXTENSION, ParsedNumber, find_number, holds_two, read_number
from engine.submission.place import Location, locate
from engine.submission.public_rights import CONSENTS
from engine.submission.spreadsheet import DIGITS_LOST, has_lost_digits, read_cell
from engine.tokens import LEAD_BYTES_MAX, check_tokens
from schemas.instant import DAY, MINUTE, SECOND, Instant, Millis
from schemas.records import TrafficSource

T = TypeVar("T")

TOKENS_MAX = 200
"""Tokens in one submission."""

TOKEN_NAME_LENGTH_MAX = 100
"""Of a token's name: it is written into templates and filters by hand."""

FIELDS_SHOWN_MAX = 50
"""Fields named in one answer, however many are bad."""

FIELDS_NAMED_MAX = 5
"""Fields that the sentence itself names; `errors` has them all."""

CALLBACK_PAST_MAX = 5 * MINUTE
"""How long ago a promised instant may lie: clocks differ, and somebody types the present minute. An older one is a mistake,
such as a wrong time zone or day: the person would be called at once."""

AHEAD_MAX = 366 * DAY
"""How far ahead a contact may be planned: a leap year."""


ZIP_DIGITS = 5
_SHORT_ZIP = re.compile(r"[0-9]{3,4}")
"""Zip codes of New England and New Jersey begin with a zero, those of Puerto Rico with two."""

INVALID_FIELDS = "invalid_fields"
"""The token that holds what was dropped, so that people find these leads and correct them."""

DROPPED_LENGTH_MAX = 200
"""Characters of a dropped value that is no plain one."""

_DROPPABLE = frozenset(
    {*COLUMNS, *ALIASES, "email", "contact_field_type", "lead_priority", "hours_to_expire", "max_contact_attempts"}
)
"""Fields that a lead can do without. What says whom to contact, when, or whether is none of them."""


_NEVER_DROPPED = frozenset({"", *RESERVED, "lead_token", "consent", *CONSENTS})
"""Names of tokens whose loss would change what may be done with the person."""


class Reading:
    """What was found in one body so far: columns, tokens, faults and warnings."""

    def __init__(self, raw: Mapping[str, Any], received_at: Instant, waited_ms: Millis = 0) -> None:
        """`waited_ms` is how long it waited for us before: a time that has passed meanwhile is no mistake of its sender."""
        self.raw = raw
        self.received_at = received_at
        self._waited_ms = waited_ms
        self.columns: dict[str, Any] = {}
        self.data: dict[str, Any] = {}
        self.errors: dict[str, list[str]] = {}
        self.warnings: list[str] = []
        self.is_lenient = False
        """Whether a wrong value of a field that a lead can do without is dropped with a warning."""
        self.dropped: dict[str, Any] = {}
        """Such values by their fields."""
        self.number_name: str | None = None
        """The near name that `caller_id` was taken from."""
        self.misread: dict[str, str] = {}
        """Fields that another name was taken for and whose value cannot be read: name -> why."""

    def fault(self, field: str, sentence: str) -> None:
        """Add one fault."""
        self.errors.setdefault(field, []).append(sentence)

    def parsed(self, field: str, parse: Callable[[Any], T], value: Any) -> T | None:
        """Return a value read by its parser, or None and a fault."""
        try:
            return parse(value)
        except FieldError as error:
            self._refuse(field, str(error), value, may_drop=field.removeprefix("data.") in _DROPPABLE)
            return None

    def _refuse(self, field: str, sentence: str, value: Any, *, may_drop: bool) -> None:
        """Add a fault, or where the company takes leads without such a field, drop it with a warning."""
        if not (self.is_lenient and may_drop):
            self.fault(field, sentence)
            return
        self.warnings.append(f"{field} {sentence}; the lead was stored without it.")
        self.dropped[field] = value if isinstance(value, str | int | float | bool) else str(value)[:DROPPED_LENGTH_MAX]

    def optional(self, field: str, parse: Callable[[Any], T]) -> T | None:
        """Return a named field, or None where it was left out, blank, or faulty."""
        value = self.raw.get(field)
        return None if is_blank(value) else self.parsed(field, parse, value)

    def flag(self, field: str, parse: Callable[[Any], bool]) -> bool:
        """Return a named boolean; left out is false."""
        return field in self.raw and self.optional(field, parse) is True

    def column(self, name: str, value: Any, *, field: str) -> None:
        """Take a value for a column of the lead; a blank one says nothing."""
        if is_blank(value):
            return
        found = self.parsed(field, COLUMNS[name], value)
        if found is not None:
            self.columns[name] = found

    def token(self, name: Any, value: Any, *, field: str) -> None:
        """Take a token."""
        if not isinstance(name, str) or not name.strip() or len(name) > TOKEN_NAME_LENGTH_MAX:
            self.fault(field, f"has a token whose name is not text of 1 to {TOKEN_NAME_LENGTH_MAX} characters")
            return
        try:
            sound_text(name)
            self.data[name] = check_token(value)
        except FieldError as error:
            self._refuse(field, str(error), value, may_drop=name not in _NEVER_DROPPED)

    def take_data(self) -> None:
        """Take `data` apart: columns, then tokens. The top level is read later, and wins."""
        data = self.raw.get("data")
        if is_blank(data):
            return
        if isinstance(data, str):
            data = self.parsed("data", json_object, data)
        if not isinstance(data, Mapping):
            self.fault("data", "must be an object of tokens")
            return
        for name, value in data.items():
            self._take_data(name, value)

    def _take_data(self, name: Any, value: Any) -> None:
        column = ALIASES.get(name, name) if isinstance(name, str) else ""
        if column in COLUMNS:
            if name == column or column not in self.columns:  # an alias says less than the name
                self.column(column, value, field=f"data.{name}")
        elif column in RESERVED:
            self.fault(f"data.{name}"[:TOKEN_NAME_LENGTH_MAX], "is the name of a column and cannot be a token")
        else:
            self.token(name, value, field=f"data.{name}"[:TOKEN_NAME_LENGTH_MAX])

    def take_columns(self) -> None:
        """Take the columns of the top level."""
        for alias, name in ALIASES.items():
            if alias in self.raw and is_blank(self.raw.get(name)):
                self.column(name, self.raw[alias], field=alias)
        for name in COLUMNS:
            if name in self.raw:
                self.column(name, self.raw[name], field=name)

    def take_tokens(self, known: frozenset[str]) -> None:
        """Take every field of the top level that is not known as a token."""
        for name, value in self.raw.items():
            if name not in known:
                self.token(name, value, field=name[:TOKEN_NAME_LENGTH_MAX] if isinstance(name, str) else "")
        if not is_blank(self.data.get(CONSENT)):
            self.data[CONSENT] = self.parsed(CONSENT, parse_consents, self.data[CONSENT])
        if len(self.data) > TOKENS_MAX:
            self.fault("data", f"must have at most {TOKENS_MAX} tokens, those of the top level included")

    def take_near_names(self, known: frozenset[str]) -> None:
        """Fill fields that were not sent from what was sent under a near name; the token stays as well.

        A value that cannot be read leaves the field unknown: a sender who used another name has promised nothing.
        """
        taken: dict[str, str] = {}
        for name in [name for name in self.data if name not in known]:
            field = field_of(name)
            if field is None or field == name or field in NESTED_ONLY or is_blank(self.data[name]):
                continue
            if field in taken:
                self.warnings.append(f"{name} was not taken as {field}: {taken[field]} was.")
            elif self._is_open(field) and self._take_near(field, name, self.data[name]):
                taken[field] = name
        if taken:
            pairs = ", ".join(f"{name} as {field}" for field, name in taken.items())
            self.warnings.append(f"Other names were taken: {pairs}.")

    def _is_open(self, field: str) -> bool:
        if field in TOKENS:
            return is_blank(self.data.get(field))
        return field not in self.columns and is_blank(self.raw.get(field)) and field not in self.errors

    def _take_near(self, field: str, name: str, value: Any) -> bool:
        try:
            if field in TOKENS:
                self.data[field] = value
            elif field in COLUMNS:
                self.columns[field] = COLUMNS[field](value)
            elif field == "email":
                self.raw = {**self.raw, field: parse_email(value)}
            else:
                self.raw = {**self.raw, field: value}
                self.number_name = name
        except FieldError as error:
            self.misread[name] = str(error)
            self.warnings.append(f"{name} was not taken as {field}: it {error}.")
            return False
        return True

    def restore_zip(self, country: str) -> None:
        """Put the zeros back in front of a ZIP Code that a spreadsheet took for a number: 2134 is 02134 in Boston."""
        found = self.columns.get("zip_postal_code")
        if country == "US" and found is not None and _SHORT_ZIP.fullmatch(found):
            self.columns["zip_postal_code"] = found.zfill(ZIP_DIGITS)
            self.warnings.append(f"The zip {found} was read as {found.zfill(ZIP_DIGITS)}.")

    def number_text(self) -> str | None:
        """Return what was sent as `caller_id`, None where nothing was, or what is no text."""
        value = self.raw.get("caller_id")
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if is_blank(value) or isinstance(value, bool) or not isinstance(value, str | int):
            return None
        return _number_text(value)

    def number(self, country: str, *, is_dialled: bool = True) -> ParsedNumber | None:
        """Read `caller_id`, national numbers being of `country`; one that opts out is dialled by nobody."""
        text = self.number_text()
        if text is None:
            if not is_blank(self.raw.get("caller_id")):
                self.fault("caller_id", "must be text")
            return None
        number = read_number(text, country) if is_dialled else find_number(text, country)
        if holds_two(text):
            self._refuse_number("holds two numbers; send one, and others as phone2 or alternate_numbers")
        elif number is None:
            self._refuse_number(
                DIGITS_LOST
                if has_lost_digits(text)
                else f"is not a valid telephone number of {country}; write it as +13055550123"
            )
        elif number.extension is not None:
            self.data.setdefault(EXTENSION, number.extension)
        if number is not None and number.is_unplaced:
            self.warnings.append(
                f"The area code {number.e164[2:5]} is newer than the telephone metadata of this release: calls keep to "
                "every zone and state, unless a zone, zip or state is sent."
            )
        return number

    def _refuse_number(self, sentence: str) -> None:
        """Add a fault; of a number under a near name only where nothing else reaches the person."""
        if self.number_name is None or is_blank(self.raw.get("email")):
            self.fault(self.number_name or "caller_id", sentence)
        else:
            self.warnings.append(f"{self.number_name} was not taken as caller_id: it {sentence}.")

    def check_dialled(self, number: ParsedNumber, listed: tuple[str, ...], own: frozenset[str]) -> None:
        """Check a number that came without a key, which must be of a type that a person has.

        Its country must be listed, or where nothing is listed be the offer's `own`.
        """
        if not number.is_ordinary:
            self.fault(
                "caller_id",
                "is no ordinary fixed or mobile number; those of premium, shared-cost, toll-free, satellite, international "
                "and personal services are taken only with a key",
            )
        elif listed:
            self.check_dialling(number, listed)
        elif number.country not in own:
            self.fault(
                "caller_id",
                f"is a number of {number.country}, which this offer does not dial; add {number.country} to dial_countries "
                "of the offer, or send a key",
            )

    def check_dialling(self, number: ParsedNumber, listed: tuple[str, ...]) -> None:
        """Check a number that came with a key: one that is never dialled or of a country that is not listed is a fault."""
        code = why_undialled(number, listed)
        if code is not None:
            self.fault("caller_id", undialled_sentence(code, number, listed))

    def place(self, country: str, number: ParsedNumber | None, *, trusts_stated: bool = True) -> Location:
        """Return the zones and states that the columns and the number speak for."""
        columns = self.columns
        return locate(
            country=country,
            stated_zone=columns.get("time_zone"),
            zip_code=columns.get("zip_postal_code"),
            state=columns.get("state_province"),
            number=number,
            trusts_stated=trusts_stated,
        )

    def moment_ahead(self, field: str) -> Instant | None:
        """Return a moment that is at most a year ahead; a past one is due now."""
        moment = self.optional(field, parse_moment)
        if moment is not None and moment > self.received_at + AHEAD_MAX:
            self.fault(field, "must be at most 366 days ahead")
        return moment

    def callback(self, seconds: Callable[[Any], int]) -> Instant | None:
        """Return the moment of `schedule_callback_at` or `_in_seconds`; both at once is a fault, and one that has passed."""
        moment = self.moment_ahead("schedule_callback_at")
        if moment is not None and moment < self.received_at - self._waited_ms - CALLBACK_PAST_MAX:
            self.fault("schedule_callback_at", "must not be more than 5 minutes in the past")
        delay = self.optional("schedule_callback_in_seconds", seconds)
        if not is_blank(self.raw.get("schedule_callback_at")) and not is_blank(self.raw.get("schedule_callback_in_seconds")):
            self.fault("schedule_callback_in_seconds", "must be left out where schedule_callback_at is given")
        return moment if delay is None else self.received_at + delay * SECOND

    def refuse_callback(self) -> None:
        """Add a fault for a callback without a number, under the field that was sent."""
        for field in ("schedule_callback_at", "schedule_callback_in_seconds"):
            if not is_blank(self.raw.get(field)) and not ({field, "caller_id"} & self.errors.keys()):
                self.fault(field, "needs a caller_id to call")

    def check_traffic_source(self, rules: Rules, company_id: int, *, is_sender: bool = False) -> None:
        """Check that the traffic source is one of the company's own; of a paused one no submission is taken."""
        source_id = self.columns.get("traffic_source_id")
        if source_id is not None and not rules.owns(company_id, "traffic_source", source_id):
            self.fault("traffic_source_id", f"names no traffic source: {source_id}")
            return
        source = rules.body(TrafficSource, "traffic_source", source_id)
        if is_sender and source is not None and source.paused:
            self.fault("traffic_source_id", f"names a paused traffic source: {source_id}")

    def close(self) -> None:
        """Raise `RefusedError`: `validation_failed` with every fault, else `too_large` for tokens that no lead may have."""
        if not self.errors:
            check_tokens(self.data, "lead", LEAD_BYTES_MAX)
            return
        shown = dict(list(self.errors.items())[:FIELDS_SHOWN_MAX])
        fields = ", ".join(field or "a field without a name" for field in list(shown)[:FIELDS_NAMED_MAX])
        rest = len(self.errors) - FIELDS_NAMED_MAX
        more = f" and {rest} more" if rest > 0 else ""
        raise RefusedError("validation_failed", f"Correct {fields}{more} and resend; nothing was stored.", shown)


def json_object(text: str) -> Any:
    """Return the value of JSON that a form carries as text. Raises `FieldError`."""
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        raise FieldError("must be an object, or the JSON of one") from None


def _number_text(value: str | int) -> str:
    """Return the text of a number as it was meant; a blank before digits stays, as it may have been a plus sign."""
    text = str(value)
    return text if text.startswith(" ") and text[1:2].isdigit() else read_cell(text)
