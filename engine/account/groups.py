"""Which inputs does a buyer group take beside its fields? Buyers to add and remove, caps by name, pausing.

Buyers, traffic sources and numbers have caps under the same names. Adding and removing are idempotent and commute, so
concurrent callers need no coordination.
"""

from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from typing import Any

from engine.account.group_team import TEAM_INPUTS, check_team
from engine.account.plans import Errors, Exists
from engine.account.values import REFERENCES_MAX, ids, texts
from engine.submission.fields import FieldError, is_blank, parse_amount, parse_boolean
from schemas.instant import Instant
from schemas.records import Body, BuyerGroup

METRICS = ("attempt", "buyer_conversion", "connection", "earned_revenue", "revenue")
PERIODS = ("hourly", "daily", "monthly", "total")

METRICS_OF: Mapping[str, tuple[str, ...]] = {
    "buyer": METRICS,
    "buyer_group": METRICS,
    "traffic_source": ("connection", "offer_conversion"),
    "number": ("attempt",),
}
"""What the caps of each type of record limit; each metric has a field for each period, such as `attempt_daily_limit`."""

CAPS_OF: Mapping[str, dict[str, str]] = {
    record_type: {f"{metric}_{period}_limit": f"{metric}_{period}" for metric in metrics for period in PERIODS}
    for record_type, metrics in METRICS_OF.items()
}
"""Type of record -> name in the interface -> name in its `caps`."""

CAPS = CAPS_OF["buyer_group"]

CAP_MAX = 10**15
"""The largest cap: of calls as of what they earned."""

CAP_INPUTS_OF: Mapping[str, frozenset[str]] = {
    record_type: frozenset({*names, "reset_total_caps"}) for record_type, names in CAPS_OF.items()
}
"""Inputs about caps that are not stored under their own names."""

CAP_FIELDS = frozenset({"caps", "total_caps_reset_at"})
"""Stored fields that these inputs write."""

GROUP_INPUTS: frozenset[str] = frozenset(
    {
        *CAPS,
        *TEAM_INPUTS,
        *("add_buyer_ids", "remove_buyer_ids", "add_user_buyer_ids", "remove_user_buyer_ids", "reset_total_caps"),
    }
)
"""Inputs that are not stored under their own names."""

BuyerLookup = Callable[[str], int | None]
"""Gives the id of a live buyer of this company by its `user_buyer_id`."""


def no_buyer_named(_: str) -> int | None:
    """Return None: references are not looked up."""
    return None


def change_group(
    given: Mapping[str, Any],
    values: dict[str, Any],
    current: Body | None,
    errors: Errors,
    *,
    now: Instant,
    exists: Exists | None,
    buyer_named: BuyerLookup,
) -> tuple[str, ...]:
    """Lay what was asked for over the values of a group and return the facts that follow; faults go to the errors."""
    values["buyer_ids"] = _buyers(given, values.get("buyer_ids", ()), errors, buyer_named)
    if exists is not None:
        _check_buyers(given, errors, exists)
    if len(values["buyer_ids"]) > REFERENCES_MAX:
        errors.setdefault("buyer_ids", []).append(f"must have at most {REFERENCES_MAX} entries")
    check_team(given, values["buyer_ids"], errors, exists, is_new=current is None)
    was_paused = isinstance(current, BuyerGroup) and current.paused
    if values.get("paused", False) != was_paused:
        values["unpaused_at" if was_paused else "paused_at"] = now
    return change_caps("buyer_group", given, values, errors, now=now)


def change_caps(
    record_type: str, given: Mapping[str, Any], values: dict[str, Any], errors: Errors, *, now: Instant
) -> tuple[str, ...]:
    """Lay the caps that were asked for over the values of a record and return the facts that follow."""
    values["caps"] = _caps(record_type, given, values.get("caps", {}), errors)
    if not _asked_to_reset(given, errors):
        return ()
    values["total_caps_reset_at"] = now
    return (f"{record_type}.total_caps_reset",)


def _caps(record_type: str, given: Mapping[str, Any], caps: Mapping[str, Decimal], errors: Errors) -> dict[str, Decimal]:
    changed = dict(caps)
    for name, cap in CAPS_OF[record_type].items():
        if name not in given:
            continue
        if is_blank(given[name]):
            changed.pop(cap, None)  # no cap; 0 would be closed
            continue
        try:
            changed[cap] = parse_amount(given[name], least=0, most=CAP_MAX)
        except FieldError as error:
            errors.setdefault(name, []).append(str(error))
    return {cap: changed[cap] for cap in CAPS_OF[record_type].values() if cap in changed}


def _buyers(given: Mapping[str, Any], buyer_ids: Iterable[int], errors: Errors, named: BuyerLookup) -> tuple[int, ...]:
    added = (*_ids(given, "add_buyer_ids", errors), *_named(given, "add_user_buyer_ids", errors, named))
    removed = {*_ids(given, "remove_buyer_ids", errors), *_named(given, "remove_user_buyer_ids", errors, named)}
    return tuple(buyer_id for buyer_id in dict.fromkeys((*buyer_ids, *added)) if buyer_id not in removed)


def _check_buyers(given: Mapping[str, Any], errors: Errors, exists: Exists) -> None:
    for field in ("add_buyer_ids", "remove_buyer_ids"):
        for buyer_id in _ids(given, field, {}):
            if not exists("buyer", buyer_id):
                errors.setdefault(field, []).append(f"{buyer_id} is no buyer of this company")


def _ids(given: Mapping[str, Any], field: str, errors: Errors) -> tuple[int, ...]:
    try:
        return ids(given.get(field))
    except FieldError as error:
        errors.setdefault(field, []).append(str(error))
        return ()


def _named(given: Mapping[str, Any], field: str, errors: Errors, named: BuyerLookup) -> tuple[int, ...]:
    try:
        names = texts(given.get(field))
    except FieldError as error:
        errors.setdefault(field, []).append(str(error))
        return ()
    found = {name: named(name) for name in names}
    for name, buyer_id in found.items():
        if buyer_id is None:
            errors.setdefault(field, []).append(f"no buyer has the user_buyer_id {name!r}")
    return tuple(buyer_id for buyer_id in found.values() if buyer_id is not None)


def _asked_to_reset(given: Mapping[str, Any], errors: Errors) -> bool:
    if is_blank(given.get("reset_total_caps")):
        return False
    try:
        return parse_boolean(given["reset_total_caps"])
    except FieldError as error:
        errors.setdefault("reset_total_caps", []).append(str(error))
        return False
