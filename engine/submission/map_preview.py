"""What would a post become by a lead map? What its submission would say, and what the map does not find."""

from collections.abc import Mapping
from typing import Any

from engine.partition.draft import RefusedError
from engine.rules import Rules
from engine.submission.lead_maps import map_fields, read_map
from engine.submission.normalise import NAMED_FIELDS, find_map, normalise
from schemas.instant import Instant
from schemas.records import LeadMap

SHOWN = ("caller_id", "email", "columns", "data", "is_test")
"""Fields of the request that a preview shows."""


def read_given_map(value: Any) -> LeadMap:
    """Return a map that is tried before it is saved. Raises `RefusedError` with every fault, under its field."""
    errors: dict[str, list[str]] = {}
    found = read_map(value, NAMED_FIELDS, errors)
    if found is None or errors:
        raise RefusedError("validation_failed", "Correct the map and try it again.", errors)
    return found


def preview_map(
    raw: Mapping[str, Any], rules: Rules, *, company_id: int, received_at: Instant, lead_map: LeadMap | None = None
) -> dict[str, Any]:
    """Return what a post with its lead token would become, by a given map or by that of its traffic source or schedule.

    A post that would be refused shows why. Raises `RefusedError` where its lead token is not one of the company.
    """
    used = lead_map or find_map(raw, rules, company_id)
    mapped = None if used is None else map_fields(used, raw)
    not_found = [] if mapped is None else list(mapped.not_found)
    shown: dict[str, Any] = {"is_mapped": used is not None, "not_found": not_found, "warnings": [], "errors": {}}
    shown |= dict.fromkeys((*SHOWN, "idempotency_key"))
    try:
        found = normalise(raw, rules, received_at=received_at, api_company_id=company_id, may_update=True, lead_map=lead_map)
    except RefusedError as refusal:
        if refusal.code != "validation_failed":
            raise
        return {**shown, "errors": refusal.errors or {"": [refusal.detail]}}
    return {
        **shown,
        **{name: getattr(found.request, name) for name in SHOWN},
        "idempotency_key": None if mapped is None else mapped.vendor_id,
        "warnings": list(found.warnings),
    }
