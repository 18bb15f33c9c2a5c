"""Does a filter hold for a lead? `key:value`, `key:!=x`, `key:>=10`.

What only leadclock knows goes before a token of that name: anybody with the lead token of a form could claim it. A column
that a submission may set comes from a token first. `token.key` is the token alone.

All filters of a list must hold; `|` inside a value means either. A missing value equals nothing and compares as false.
`fleet:vip` holds where the buyer that the lead is or was connected to belongs to the buyer fleet `vip`; a lead without a
buyer belongs to none.
"""

import re
from collections.abc import Callable, Iterable
from decimal import Decimal
from functools import lru_cache, partial
from typing import Any

from msgspec import Struct

from engine.calendar import local_datetime
from engine.contact.facts.ledger import attempts_of
from engine.contact.facts.person import Person
from engine.contact.schedule.cadence import Cadence, home_zone
from engine.submission.columns import ALIASES, COLUMNS, RESERVED
from schemas.contact import Lead
from schemas.errors import SenderError
from schemas.instant import DAY, Instant, Millis

FILTER_LENGTH_MAX = 500
FILTERS_CACHED = 4_096
"""Parsed filters in the cache: those of the schedules in use."""

KNOWN_OF_A_LEAD = (
    "id",
    "uuid",
    "status",
    "offer_id",
    "schedule_id",
    "revenue",
    "payout",
    "caller_id",
    "email",
    "attempts",
    "outbound_calls_count",
    "sms_count",
    "emails_count",
    "connected",
    "buyer_converted",
    "offer_converted",
    "buyer_id",
    "lead_priority",
    "enrolment",
)

_FILTER = re.compile(r"\s*([\w.-]{1,100})\s*:\s*(!=|>=|<=|>|<|=)?\s*(.*?)\s*", re.DOTALL)
_OPERATORS = ("!=", ">=", "<=", ">", "<", "=")
_DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")

CONTACT_COUNT_SPANS: dict[str, Millis] = {"contact_24h": DAY, "contact_7d": 7 * DAY}
"""Filter key -> span in which contacts of the number are counted, over all its leads."""

FLEET = "fleet"
"""Filter key of the buyer fleets. Where a company has any, it is never a token of the lead: its sender could claim one."""

COUNTERS = {"enrolment_attempts": "attempts", "lifetime_calls": "outbound_calls_count", "lifetime_sms": "sms_count"}
"""Filter key -> counter of the lead."""

NOT_OF_THE_LEAD_ALONE: frozenset[str] = frozenset({FLEET, *CONTACT_COUNT_SPANS, "weekday", "time", "outcome", "disposition"})
"""Filter keys that ask for more than a lead's own data: for the clock, the buyer, or what happened. A buyer's filters must
not change while nothing about the lead does, so that the API can say which buyers take its call."""

ZONES, STATES = ("zone", "time_zone"), ("state", "state_province")

OF_TOKENS = "token."
"""In front of a key: the token of that name, and nothing else."""

NOT_OF_TOKENS: frozenset[str] = frozenset(
    {*KNOWN_OF_A_LEAD, *COUNTERS, *NOT_OF_THE_LEAD_ALONE, "zone", *(RESERVED - COLUMNS.keys() - ALIASES.keys())} - {FLEET}
)
"""Filter keys that no token answers: counters, what happened, and columns that no submission sets."""

Lookup = Callable[[str], Any]


class FilterError(SenderError, ValueError):
    """The text is not a filter; the message completes "<field> ..."."""


class Filter(Struct, frozen=True):
    """A key, an operator, and the values: any of them may match."""

    key: str
    operator: str
    values: tuple[str, ...]

    def holds(self, lookup: Lookup) -> bool:
        """Return whether any value of the key (a list has many) matches; for `!=`, whether none equals."""
        found = lookup(self.key)
        if isinstance(found, frozenset):  # names that are compared letter by letter
            return self.operator in {"=", "!="} and found.isdisjoint(self.values) == (self.operator == "!=")
        present = list(found) if isinstance(found, list | tuple) else [found]
        texts = [text_of(value) for value in present] or [""]
        if self.operator in {"=", "!="}:
            is_among = any(_equal(text, value) for text in texts for value in self.values)
            return is_among == (self.operator == "=")
        return any(_in_order(text, self.operator, value) for text in texts for value in self.values)


@lru_cache(maxsize=FILTERS_CACHED)
def parse_filter(text: str) -> Filter:
    """Return the filter of a text. Raises `FilterError`."""
    found = _FILTER.fullmatch(text) if len(text) <= FILTER_LENGTH_MAX else None
    if found is None:
        raise FilterError(f"must be key:value, such as state:CA|NY, of at most {FILTER_LENGTH_MAX} characters")
    key, operator, rest = found[1], found[2] or "=", found[3]
    values = tuple(value.strip() for value in rest.split("|"))
    if any(value.startswith(_OPERATORS) for value in values):
        raise FilterError("must have one comparison, before the first value; make two filters or two rules of it")
    if operator not in {"=", "!="} and not all(values):
        raise FilterError(f"must say what {key} is compared with, such as {key}:{operator}10")
    return Filter(key, operator, values)


def all_hold(filters: Iterable[str], lookup: Lookup) -> bool:
    """Return whether every filter of a list holds."""
    return all(parse_filter(text).holds(lookup) for text in filters)


def lookup_for(person: Person, lead: Lead, cadence: Cadence) -> Lookup:
    """Return the lookup of filter keys: of the lead, of the ledger of its number, of its local time."""
    now = person.now
    of_lead = lookup_of_lead(partial(getattr, lead))

    def value_of(key: str) -> Any:
        if key == FLEET and person.rules.has_any(person.company_id, "buyer_fleet"):
            return person.rules.fleets_of(person.company_id, lead.buyer_id)
        found = of_lead(key)
        if found is not None:
            return found
        if key in CONTACT_COUNT_SPANS:
            return sum(entry.at > now - CONTACT_COUNT_SPANS[key] for entry in attempts_of(person.head))
        return _happened(lead, cadence, now, key)

    return value_of


def lookup_of_lead(field: Callable[[str], Any]) -> Lookup:
    """Return the lookup of what a lead alone tells; `field` gives a field of it by name."""

    def value_of(key: str) -> Any:
        if key in NOT_OF_TOKENS:
            return _known(field, key)
        if key.startswith(OF_TOKENS):
            return field("data").get(key.removeprefix(OF_TOKENS))
        for values in (field("data"), field("columns")):
            if values.get(key) is not None:
                return values[key]
        return _known(field, key)

    return value_of


def _known(field: Callable[[str], Any], key: str) -> Any:
    """Return what leadclock itself knows of a lead by this key."""
    if key in STATES:
        return field("states")
    if key in ZONES:
        return field("zones")
    if key in COUNTERS:
        return field(COUNTERS[key])
    return field(key) if key in KNOWN_OF_A_LEAD else None


def _happened(lead: Lead, cadence: Cadence, now: Instant, key: str) -> Any:
    match key:
        case "outcome":
            return lead.last_outcome
        case "weekday":
            return _DAYS[local_datetime(now, home_zone(lead, cadence)).weekday()]
        case "time":
            return local_datetime(now, home_zone(lead, cadence)).strftime("%H:%M")
        case "disposition":
            return lead.disposition
        case _:
            return None


def text_of(value: Any) -> str:
    """Return a value as a form would send it: what filters compare, and by which a value sent back is known as the same."""
    match value:
        case None:
            return ""
        case bool():
            return "true" if value else "false"
        case float() if value.is_integer():
            return str(int(value))
        case Decimal():
            return f"{value.normalize():f}"
        case _:
            return str(value).strip()


def _equal(text: str, wanted: str) -> bool:
    if text.casefold() == wanted.casefold():
        return True
    numbers = _number(text), _number(wanted)
    return numbers[0] is not None and numbers[0] == numbers[1]


def _in_order(text: str, operator: str, wanted: str) -> bool:
    """Compare as numbers where both are, else as text where neither is: `17:00`, `2026-07-15`."""
    left, right = _number(text), _number(wanted)
    if not text or (left is None) != (right is None):
        return False
    order = _compare(left, right) if left is not None and right is not None else _compare(text.casefold(), wanted.casefold())
    return {">": order > 0, "<": order < 0, ">=": order >= 0, "<=": order <= 0}[operator]


def _compare(left: Any, right: Any) -> int:
    return int(left > right) - int(left < right)


_NUMBER = re.compile(r"[+-]?[0-9]{1,18}(?:\.[0-9]{1,18})?", re.ASCII)
_GROUPED = re.compile(r"([+-]?)[$\u20ac\u00a3]? ?([0-9]{1,3}(?:,[0-9]{3}){1,5}|[0-9]{1,18})(\.[0-9]{1,18})?", re.ASCII)
"""A number as people write amounts, in filters and in forms: `5,000`, `$5,000.50`."""


def _number(text: str) -> Decimal | None:
    if _NUMBER.fullmatch(text):
        return Decimal(text)
    grouped = _GROUPED.fullmatch(text)
    return None if grouped is None else Decimal(f"{grouped[1]}{grouped[2].replace(',', '')}{grouped[3] or ''}")
