"""When does a call, text or e-mail step act, and what follows? A plain model that knows no engine.

For a lead of New York on a schedule of such a step and an e-mail that follows it, with hours from Monday to Friday, 9 to 20.
The model walks along what was observed: where a time is spread by chance it says the span, and goes on from the instant that
was taken.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, time, timedelta
from typing import Any
from zoneinfo import ZoneInfo

HERE = ZoneInfo("America/New_York")
OPENS, CLOSES, WORKDAYS = time(9), time(20), range(5)

LATENESS = {"call": "4h", "sms": "2h", "email": "24h"}
TIMEOUTS = {"call": "4h", "sms": "10m", "email": "10m"}
ON_LATE = {"call": "run", "sms": "skip", "email": "run"}
UNITS = {"s": "seconds", "m": "minutes", "h": "hours"}
AWAITED = {"call": "busy", "sms": "undelivered", "email": "bounced_soft"}
"""Kind -> the outcome that is bad here, and may be tried again."""

Said = dict[str, Any]


@dataclass(frozen=True)
class Scene:
    """When the lead comes, what comes of each attempt (bad, silent, good), and when everything stands still before one."""

    comes_at: datetime
    outcomes: tuple[str, ...] = ("good",)
    stands_still: Mapping[int, timedelta] = field(default_factory=dict)
    data: Mapping[str, Any] = field(default_factory=dict)
    consents_at: datetime | None = None

    def outcome(self, attempt: int) -> str:
        return self.outcomes[attempt] if attempt < len(self.outcomes) else "good"


@dataclass(frozen=True)
class Expected:
    """A contact, from when to when it may be made, and what it says."""

    step_id: str
    first: datetime
    last: datetime
    said: Said


class Walk:
    """One live lead; `status` is how it ended."""

    def __init__(self, scene: Scene, step: Mapping[str, Any]) -> None:
        self.scene, self.step, self.kind = scene, step, step["kind"]
        self.status = "completed"
        self.goes_on_at = scene.comes_at
        self.spread = timedelta()

    def contacts(self, observed: list[datetime]) -> Iterator[Expected]:
        """Yield what is to be seen, one contact after the other; each goes on from the instant that was observed."""
        base = now = self.scene.comes_at
        attempt, tried = 0, Counter[str]()
        while True:
            found = self._attempt(base, now, attempt)
            if not isinstance(found, Expected):
                if found is None:
                    return
                base = found
                break
            yield found
            now = observed[attempt]
            attempt += 1
            outcome, now = self._outcome(attempt - 1, now)
            row = self.step.get("retry", {}).get(outcome)
            if row is None or tried[outcome] >= row.get("max", 3 if outcome == "busy" else 1):
                base = now + self._disposition(outcome)
                break
            tried[outcome] += 1
            base = now + span(row["delay"])
        self.status = self._ended(attempt)
        at = first_open(max(base, self.goes_on_at))
        yield Expected("after", at, at + self.spread, {})

    def _attempt(  # noqa: PLR0911 - rule by rule
        self, base: datetime, now: datetime, attempt: int
    ) -> Expected | datetime | None:
        """Return the contact, or the end of the step where it is passed over, or None where the lead goes no further."""
        step, miss = self.step, self.step.get("window_miss", "next_open")
        self.goes_on_at = now + self.scene.stands_still.get(attempt, timedelta())
        is_missed = not is_open(base) or (self.goes_on_at > base and not is_open(self.goes_on_at))
        if miss == "skip_step" and is_missed:
            return base
        planned = next_same_time(base) if miss == "same_time_next_allowed_day" else first_open(base)
        awake_at = max(planned, first_open(self.goes_on_at))
        if step.get("require_opt_in") and not self.scene.data.get("opt_in"):
            if self.scene.consents_at is None:
                self.status = "expired"
                return None
            if self.scene.consents_at > awake_at:  # lateness is measured from then
                if miss == "skip_step" and not is_open(self.scene.consents_at):
                    return self.scene.consents_at
                planned = awake_at = first_open(self.scene.consents_at)
        if awake_at - planned > span(step.get("max_lateness", LATENESS[self.kind])):
            match step.get("on_late", ON_LATE[self.kind]):
                case "skip":
                    return awake_at
                case "exit":
                    self.status = self._ended(attempt)
                    return None
        latest = max(awake_at, min(planned + timedelta(seconds=step.get("jitter_seconds", 0)), close_of(planned)))
        if self._lacks_token() and step.get("missing_token", "empty") != "empty":
            self.status, self.spread = "failure", latest - awake_at
            return None if step["missing_token"] == "fail" else awake_at
        return Expected("it", awake_at, latest, self._said())

    def _outcome(self, attempt: int, at: datetime) -> tuple[str, datetime]:
        match self.scene.outcome(attempt):
            case "silent":
                return "unknown", at + span(self.step.get("outcome_timeout", TIMEOUTS[self.kind]))
            case "bad":
                return AWAITED[self.kind], at
            case outcome:
                return outcome, at

    def _disposition(self, outcome: str) -> timedelta:
        """Wait for the disposition of an answered call; in these cases none ever comes."""
        return (
            span(self.step["await_disposition"]) if outcome == "good" and "await_disposition" in self.step else timedelta()
        )

    def _ended(self, attempt: int) -> str:
        """Return the strongest fact: somebody was spoken to, was called or texted, or neither; mail is no attempt."""
        if self.kind == "email" or not attempt:
            return "completed"
        is_reached = self.kind == "call" and "good" in [self.scene.outcome(number) for number in range(attempt)]
        return "completed_connected" if is_reached else "completed_attempted"

    def _lacks_token(self) -> bool:
        texts = self.step.get("template", "") + self.step.get("subject", "")
        return "{{name}}" in texts and "name" not in self.scene.data

    def _said(self) -> Said:
        step, name = self.step, self.scene.data.get("name", "")
        match self.kind:
            case "call":
                (buyer_id,) = step.get("connect", {}).get("buyer_ids", [None])
                return {
                    "buyer_id": buyer_id,
                    "from_number": step.get("from_number", OURS),
                    "ring_timeout_seconds": step.get("ring_timeout_seconds", 30),
                    "machine": step.get("machine", "hangup"),
                    "voicemail_message": step.get("voicemail_message"),
                    "stream": step.get("connect", {}).get("stream"),
                    "whisper": step.get("connect", {}).get("whisper", "").replace("{{name}}", name).strip() or None,
                }
            case "sms":
                return {"body": step["template"].replace("{{name}}", name), "from_number": step.get("from_number", OURS)}
        return {
            "subject": step["subject"].replace("{{name}}", name),
            "body": step["template"].replace("{{name}}", name),
            "from_address": step.get("from_address"),
        }


OURS = "+12125550100"
"""The only number that the company has."""


def span(text: str) -> timedelta:
    return timedelta(**{UNITS[text[-1]]: int(text[:-1])})


def is_open(at: datetime) -> bool:
    local = at.astimezone(HERE)
    return local.weekday() in WORKDAYS and OPENS <= local.time() < CLOSES


def first_open(at: datetime) -> datetime:
    """Return the first instant from then on that lies within the hours."""
    if is_open(at):
        return at
    local = at.astimezone(HERE)
    day = local.date() if local.time() < OPENS else local.date() + timedelta(days=1)
    while day.weekday() not in WORKDAYS:
        day += timedelta(days=1)
    return datetime.combine(day, OPENS, HERE).astimezone(at.tzinfo)


def next_same_time(at: datetime) -> datetime:
    """Return the same time of the first day on which it lies within the hours."""
    local = at.astimezone(HERE)
    while not is_open(local):
        local = datetime.combine(local.date() + timedelta(days=1), local.time(), HERE)
    return local.astimezone(at.tzinfo)


def close_of(at: datetime) -> datetime:
    return datetime.combine(at.astimezone(HERE).date(), CLOSES, HERE).astimezone(at.tzinfo)
