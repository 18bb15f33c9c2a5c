"""What does a schedule do, by a plain model that steps through time and shares no code with the engine?

Written apart from the engine, and slow on purpose: steps in a row (call, sms, email, webhook, wait), retries, hours in every
zone, state rules, caps, spacing, pauses, margins, attempts and expiry. All instants lie on half minutes, all hours open on
quarters, so that none is missed. Only the zone data is shared.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from holidays import country_holidays

from engine.calendar import zone

TICK = timedelta(seconds=30)
QUARTER = timedelta(minutes=15)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
DAYS = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
SEARCHED = timedelta(days=40)

DEFAULT_DELAYS = {
    "no_answer": "2h",
    "busy": "15m",
    "voicemail": "4h",
    "declined": "4h",
    "congestion": "1h",
    "undelivered": "1h",
}
DEFAULT_TIMES = {"busy": 3}
NOT_COUNTED = {"congestion"}
"""No attempt of the lead; for the law it was a call, as nobody says that the telephone stayed silent."""

EVERY_DAY: dict[str, tuple[str, str]] = dict.fromkeys(DAYS, ("08:00", "21:00"))
STATE_HOURS: dict[str, dict[str, tuple[str, str]]] = {
    "FL": dict.fromkeys(DAYS, ("08:00", "20:00")),
    "OK": dict.fromkeys(DAYS, ("08:00", "20:00")),
    "MS": dict.fromkeys(DAYS[:6], ("08:00", "20:00")),
    "CT": dict.fromkeys(DAYS, ("09:00", "20:00")),
    "KY": dict.fromkeys(DAYS, ("10:00", "21:00")),
    "TX": dict.fromkeys(DAYS[:6], ("09:00", "21:00")) | {"sun": ("12:00", "21:00")},
    "GB": dict.fromkeys(DAYS[:5], ("08:00", "21:00")) | dict.fromkeys(DAYS[5:], ("09:00", "21:00")),
}
CALL_HOURS: dict[str, dict[str, tuple[str, str]]] = {"ME": dict.fromkeys(DAYS[:5], ("09:00", "17:00"))}
HOLIDAYS = {"MS": country_holidays("US", subdiv="MS")}
CAPS = {
    "FL": (3, timedelta(hours=24), {"call", "sms"}),
    "OK": (3, timedelta(hours=24), {"call", "sms"}),
    "ME": (1, timedelta(hours=8), {"call"}),
}


@dataclass
class Oracle:
    """One lead in some zones and states, which begins at an instant."""

    at: datetime
    zones: Sequence[str]
    states: Sequence[str]
    schedule: Mapping[str, Any]
    outcomes: Mapping[str, str]
    done: list[tuple[str, datetime]] = field(default_factory=list)
    contacts: list[tuple[str, datetime]] = field(default_factory=list)
    keeps_distance: bool = True

    def run(self) -> tuple[list[tuple[str, datetime]], str, datetime]:  # noqa: C901 - one step after the other, as it is read
        """Return what is done and when, how it ends, and when that is."""
        hours = self.schedule.get("hours_to_expire")
        expires = self.at + timedelta(hours=hours) if hours else datetime.max.replace(tzinfo=UTC)
        steps, now, connected, attempts = self.schedule["steps"], self.at, False, 0
        most = self.schedule.get("max_contact_attempts") or 10**6
        for place, step in enumerate(steps):
            if step["kind"] == "wait":
                now = self._later(now, step["duration"])
                if now >= expires:
                    return self.done, "expired", expires
                continue
            tried: dict[str, int] = {}
            self.keeps_distance = True
            while True:
                if step["kind"] in {"call", "sms"} and attempts >= most:
                    return self.done, "exceeded_max_calls", self.done[-1][1]
                now = self._first(now, step["kind"])
                if now >= expires:
                    return self.done, "expired", expires
                self.done.append((step["id"], now))
                outcome = self.outcomes.get(step["kind"], "good")
                if step["kind"] != "webhook":
                    self.contacts.append((step["kind"], now))
                    attempts += step["kind"] != "email" and outcome not in NOT_COUNTED
                connected = connected or (step["kind"] == "call" and outcome == "good")
                rule = step.get("retry", {}).get(outcome)
                tried[outcome] = tried.get(outcome, 0) + 1
                if rule is None or tried[outcome] > rule.get("max", DEFAULT_TIMES.get(outcome, 1)):
                    break
                if attempts >= most and step["kind"] in {"call", "sms"}:
                    return self.done, "exceeded_max_calls", now
                self.keeps_distance = "delay" not in rule
                now = self._later(now, rule.get("delay", DEFAULT_DELAYS[outcome]))
            if attempts >= most and any(later["kind"] in {"call", "sms"} for later in steps[place + 1 :]):
                return self.done, "exceeded_max_calls", now
        return self.done, "completed_connected" if connected else "completed_attempted" if attempts else "completed", now

    def _later(self, now: datetime, wait: str) -> datetime:
        """Seconds, minutes and hours elapse; days and weeks keep the wall clock of the first zone."""
        span = timedelta(**{UNITS[wait[-1]]: int(wait[:-1])})
        if wait[-1] in "smh":
            return now + span
        reading = now.astimezone(zone(self.zones[0])).replace(tzinfo=None) + span
        return reading.replace(tzinfo=zone(self.zones[0]), fold=0).astimezone(UTC)

    def _first(self, now: datetime, kind: str) -> datetime:
        end = now + SEARCHED
        while kind != "webhook":
            if self._rests(now, kind):
                now += TICK
            elif not all(self._is_open(now.astimezone(zone(name)), kind) for name in self.zones):
                now += QUARTER - (now - EPOCH) % QUARTER
            else:
                break
            assert now < end, "nothing opens"
        return now

    def _rests(self, now: datetime, kind: str) -> bool:
        if kind == "call" and any(now - when < TICK for what, when in self.contacts if what == "call"):
            return True
        spacing = self.schedule.get("min_spacing", {}) if self.keeps_distance else {}
        for name, length in spacing.items():
            if name in {kind, "any"} and any(
                now < self._later(when, length) for what, when in self.contacts if name in {what, "any"}
            ):
                return True
        return kind != "email" and any(self._is_capped(now, kind, state) for state in self.states)

    def _is_capped(self, now: datetime, kind: str, state: str) -> bool:
        if state not in CAPS or kind not in CAPS[state][2]:
            return False
        most, span, kinds = CAPS[state]
        return sum(what in kinds and now - when < span for what, when in self.contacts) >= most

    def _is_open(self, local: datetime, kind: str) -> bool:
        rows = self.schedule.get("windows", {}).get(kind)
        day, clock = DAYS[local.weekday()], f"{local:%H:%M}"
        if any(pause["from"] <= f"{local:%Y-%m-%d}" <= pause["to"] for pause in self.schedule.get("pauses", ())):
            return False
        then = local.replace(tzinfo=None) + timedelta(seconds=self.schedule.get("close_margin_seconds", 0))
        close = f"{then:%H:%M:%S}" if then.day == local.day else "24"
        if rows is not None and not any(
            day in row["days"] and row["open"] <= clock and close < row["close"] for row in rows
        ):
            return False
        if kind == "email":
            return True
        if any(local.date() in HOLIDAYS[state] for state in self.states if state in HOLIDAYS):
            return False
        own = {**STATE_HOURS, **(CALL_HOURS if kind == "call" else {})}
        laws = [EVERY_DAY, *(own[state] for state in self.states if state in own)]
        return all(day in law and law[day][0] <= clock and close < law[day][1] for law in laws)
