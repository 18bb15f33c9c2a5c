"""When does the pause of a buyer or buyer group end? When somebody says so, and by itself at its `unpause_at`."""

from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import structs

from engine.account.plans import Errors
from schemas.instant import Instant
from schemas.records import Body, Buyer, BuyerGroup


def change_unpause(given: Mapping[str, Any], values: dict[str, Any], errors: Errors, *, now: Instant) -> None:
    """Check when a pause is to end; without a pause there is no such instant."""
    until = values.get("unpause_at")
    if not values.get("paused", False):
        values.pop("unpause_at", None)
        if until is not None and "unpause_at" in given:
            errors.setdefault("unpause_at", []).append("must be sent together with paused=true")
    elif until is not None and until <= now and "unpause_at" in given:
        errors.setdefault("unpause_at", []).append("must be after now")


def ends_at(body: Body) -> Instant | None:
    """Return when the pause of a record ends by itself, or None."""
    return body.unpause_at if isinstance(body, Buyer | BuyerGroup) and body.paused else None


def unpaused(body: Body, now: Instant) -> Body:
    """Return a buyer or group whose pause has ended; any other record as it is."""
    if isinstance(body, BuyerGroup):
        return structs.replace(body, paused=False, unpause_at=None, unpaused_at=now)
    return structs.replace(body, paused=False, unpause_at=None) if isinstance(body, Buyer) else body


def pauses_end_at(bodies: Iterable[Buyer | BuyerGroup], now: Instant) -> Instant | None:
    """Return from when on none of these is paused: `now`, later, or None where nobody knows when a pause ends."""
    ends = [body.unpause_at for body in bodies if body.paused]
    known = [end for end in ends if end is not None]
    return max([now, *known]) if len(known) == len(ends) else None
