"""How is a row of the table of previews written? A case in words, what is asked, and the answer worked out by hand.

An answer is a list of lines, one for each action and one for the end:

    "c 2026-03-08 08:00 -0400 quiet_hours_federal"      step, local time, reasons; "#2" is the attempt
    "= completed_connected 2026-03-08 08:00 -0400"      the end; its instant where it matters
    "= waiting window_never_open"                       no end: what holds the lead
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

Json = dict[str, Any]

NEW_YORK = "+12125550100"
"""No state rule."""

WEEK = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
WEEKDAYS = WEEK[:5]


class PreviewRow(NamedTuple):
    """`zone` is stated by the lead; None leaves it to zip, state and number. `asked` is the rest of the request."""

    case: str
    at: str
    steps: Sequence[Json]
    answer: Sequence[str]
    zone: str | None = "America/New_York"
    lead: Mapping[str, Any] = {}
    fields: Mapping[str, Any] = {}
    asked: Mapping[str, Any] = {}

    def request(self) -> Json:
        """What is sent to be previewed."""
        lead = {"caller_id": NEW_YORK, **({} if self.zone is None else {"time_zone": self.zone}), **self.lead}
        at = self.at if self.at.count(":") > 1 else f"{self.at[:16]}:00{self.at[16:]}"
        return {"schedule": {"steps": list(self.steps), **self.fields}, "lead": lead, "at": at, **self.asked}


def call(name: str = "c", **fields: Any) -> Json:
    return {"id": name, "kind": "call", **fields}


def sms(name: str = "s", **fields: Any) -> Json:
    return {"id": name, "kind": "sms", "template": "Hello", **fields}


def email(name: str = "m", **fields: Any) -> Json:
    return {"id": name, "kind": "email", "subject": "Hello", "template": "Hello", **fields}


def webhook(name: str = "w", **fields: Any) -> Json:
    return {"id": name, "kind": "webhook", "outgoing_webhook_id": 3, **fields}


def wait(duration: str, name: str = "pause", **fields: Any) -> Json:
    return {"id": name, "kind": "wait", "duration": duration, **fields}


def until(time: str, name: str = "until", **fields: Any) -> Json:
    return {"id": name, "kind": "wait", "until": {"time": time, **fields}}


def step(kind: str, name: str, **fields: Any) -> Json:
    return {"id": name, "kind": kind, **fields}


def hours(channel: str, opens: str, closes: str, days: Sequence[str] = WEEK) -> Json:
    """The fields of a schedule whose channel is open then."""
    return {"windows": {channel: [{"days": list(days), "open": opens, "close": closes}]}}


def lines(shown: Json, wanted: Sequence[str]) -> list[str]:
    """The answer of the product as the table writes it; attempts and the end's instant only where `wanted` has them."""
    attempts = any("#" in line for line in wanted)
    found = [_line(action, with_attempt=attempts) for action in shown["actions"]]
    if shown["end_status"] is None:
        return [*found, f"= waiting {shown['status_wait']}"]
    timed = bool(wanted) and len(wanted[-1].split()) > 2
    zone = shown["actions"][-1]["local_at"][-6:] if shown["actions"] else "+00:00"
    end = f" {_local(_moved(shown['ended_at'], zone))}" if timed else ""
    return [*found, f"= {shown['end_status']}{end}"]


def _moved(at: str, offset: str) -> str:
    return datetime.fromisoformat(at).astimezone(datetime.fromisoformat(f"2000-01-01T00:00:00{offset}").tzinfo).isoformat()


def _line(action: Json, *, with_attempt: bool) -> str:
    attempt = f" #{action['attempt']}" if with_attempt and action["attempt"] is not None else ""
    reasons = "".join(f" {reason}" for reason in action["reasons"])
    return f"{action['step_id'] or action['kind']} {_local(action['local_at'])}{attempt}{reasons}"


def _local(at: str) -> str:
    moment = datetime.fromisoformat(at)
    seconds = f":{moment:%S}" if moment.second or moment.microsecond else ""
    return f"{moment:%Y-%m-%d %H:%M}{seconds} {moment:%z}"
