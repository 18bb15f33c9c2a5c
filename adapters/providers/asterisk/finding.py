"""What became of a leg that is over? Asterisk's dialplan has written it down, and tells it to a channel that asks.

Asterisk forgets a channel when it ends, and its REST interface must not read its database (that needs `live_dangerously`).
So each leg has a hangup handler, which runs before the channel is gone and writes a row (extension `ended`); another
extension (`find`) reads one into a variable of the channel that runs it. See the page for the dialplan.
"""

import secrets
from datetime import datetime
from typing import Any

from msgspec import Struct

from adapters.providers.asterisk.ari import Ari
from adapters.providers.ports import ProviderFailedError
from schemas.instant import MINUTE, SECOND, Instant, from_datetime, to_datetime

PLACE, FOUND = "LEADCLOCK_FIND", "LEADCLOCK_FOUND"

READS_MAX = 5
"""The extension runs at once; a busy Asterisk may need some requests' time."""

CLOCKS = MINUTE
"""How far the clocks of Asterisk and of our database may differ."""

ROW_WORDS = 3


class EndedLeg(Struct, frozen=True):
    """How a leg ended: whether it had been answered, its Q.850 cause, and when, in milliseconds."""

    was_up: bool
    cause: str
    at: str


def place_of(name: str, decided_at: Instant) -> str:
    """Return the key of a leg's row, below the day of its order: so old days can be deleted."""
    return f"{to_datetime(decided_at):%Y-%m-%d}/{name}"


def remembered(context: str, name: str, decided_at: Instant) -> dict[str, str]:
    """Return the variables by which Asterisk writes down how a leg ends."""
    return {"CHANNEL(hangup_handler_push)": f"{context},ended,1({place_of(name, decided_at)})"}


async def ended_leg(ari: Ari, app: str, context: str, place: str) -> EndedLeg | None:
    """Return how a leg ended, None where no row says so. Raises `ProviderFailedError` where the dialplan does not answer."""
    asking = f"lcf.{secrets.token_hex(8)}"
    body = {
        "endpoint": f"Local/find@{context}/n",
        "app": app,
        "appArgs": "find",
        "otherChannelId": f"{asking}.2",
        "variables": {f"__{PLACE}": place},
    }
    if not await ari.act("POST", "channels", asking, body=body):
        raise ProviderFailedError(f"Asterisk cannot run the extension find of its context {context}")
    try:
        row = await _answer(ari, f"{asking}.2")
    finally:
        await ari.act("DELETE", "channels", asking)
    if row is None:
        raise ProviderFailedError(f"Asterisk has no extension find in its context {context}: see the page on providers")
    words = row.split()
    if len(words) < ROW_WORDS or not words[2].isdigit():
        return None
    return EndedLeg(was_up=words[0] == "Up", cause=words[1], at=str(int(words[2]) * SECOND))


async def _answer(ari: Ari, channel: str) -> str | None:
    """Return the row, "" where there is none; None where nothing answers. The dialplan writes `row` before it."""
    for _ in range(READS_MAX):
        found = await ari.read("channels", channel, "variable", variable=FOUND)
        value = "" if found is None else str(found.get("value") or "")
        if value.startswith("row"):
            return value.removeprefix("row").strip()
    return None


async def has_restarted(ari: Ari, since: Instant) -> bool:
    """Return whether Asterisk may have started after an instant: then it does not know every call of that time."""
    about: Any = await ari.read("asterisk", "info", only="status") or {}
    try:
        started_at = from_datetime(datetime.fromisoformat(about["status"]["startup_time"]))
    except (KeyError, TypeError, ValueError):
        return True
    return started_at > since - CLOCKS
