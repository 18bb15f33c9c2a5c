"""Which blocks may an unblock contact job name? Those of a span that has begun; all of them only where that is confirmed."""

from collections.abc import Mapping
from typing import Any

from engine.account.plans import Errors
from schemas.instant import Instant

BOUNDS = ("blocked_at_from", "blocked_at_to")


def check_bounds(values: Mapping[str, Any], errors: Errors, *, now: Instant) -> None:
    """Check the span of a job that is made now."""
    since, until = (values.get(name) for name in BOUNDS)
    if errors.keys() & {*BOUNDS, "confirm_all"}:
        return
    if since is None and until is None:
        if not values.get("confirm_all", False):
            for name in BOUNDS:
                errors[name] = ["must be given, or its counterpart, or confirm_all=true to lift every block of the company"]
    elif since is not None and until is not None and since >= until:
        errors["blocked_at_to"] = ["must be after blocked_at_from"]
    elif since is not None and since >= now:
        errors["blocked_at_from"] = ["must be in the past: blocks set after the job is made stay"]
