"""How does a schedule react when the person replies, calls or converts? By a word, or an object with details."""

from collections.abc import Mapping
from typing import Any

import msgspec

from engine.calendar.waits import parse_duration
from engine.calendar.wall import CalendarError
from engine.submission.fields import FieldError
from schemas.instant import DAY
from schemas.schedule import OnConversion, OnInboundConnected, OnReply

PAUSE_MAX = 30 * DAY
"""Longer than a month is no pause but an end."""


def on_reply(value: Any) -> OnReply:
    """Return what a text does: `pause`, `continue`, `exit`, or `{"action": "pause", "duration": "24h"}`."""
    reaction: OnReply = _read(value, OnReply, "pause, continue or exit", '{"action": "pause", "duration": "24h"}')
    _check_pause("duration", reaction.duration)
    return reaction


def on_inbound_connected(value: Any) -> OnInboundConnected:
    """Return what a call of the person does: `continue`, `exit`, or `{"action": "move", "schedule_id": 7}`."""
    example = '{"action": "continue", "delay": "4h"} or {"action": "move", "schedule_id": 7}'
    reaction: OnInboundConnected = _read(value, OnInboundConnected, "continue or exit", example)
    _check_pause("delay", reaction.delay)
    if (reaction.action == "move") != (reaction.schedule_id is not None):
        raise FieldError("must name a schedule_id with the action move, and only then")
    return reaction


def on_conversion(value: Any) -> str | OnConversion:
    """Return what a conversion does: `exit`, `continue`, or `{"action": "move", "schedule_id": 7}`."""
    word = value.get("action") if isinstance(value, Mapping) and len(value) == 1 else value
    if isinstance(word, str) and word in {"exit", "continue"}:
        return word
    reaction: OnConversion = _read(value, OnConversion, "exit or continue", '{"action": "move", "schedule_id": 7}')
    return reaction


def _read(value: Any, kind: Any, words: str, example: str) -> Any:
    if isinstance(value, kind):
        return value
    try:
        return msgspec.convert({"action": value} if isinstance(value, str) else value, kind)
    except msgspec.ValidationError:
        raise FieldError(f"must be {words}, or an object such as {example}") from None


def _check_pause(name: str, text: str) -> None:
    try:
        long = parse_duration(text)
    except CalendarError as error:
        raise FieldError(f"has a {name} that {error}") from None
    if long.elapsed > PAUSE_MAX:
        raise FieldError(f"has a {name} of more than 30 days; exit says that it ends")
