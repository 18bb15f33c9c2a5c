"""What would other hours or limits of a schedule change for the leads that wait now? The next contact of each, twice.

Each lead is simulated alone to its next contact, by the rules as they are and by the changed ones: by the code that decides.
"""

from collections import Counter
from collections.abc import Mapping
from statistics import median
from typing import Any

import msgspec
from msgspec import Struct

from engine.account.bodies import parser_of
from engine.account.plans import Errors, check_margin, read_windows
from engine.contact.facts.person import wake_at
from engine.partition.draft import RefusedError
from engine.rules import Rules
from engine.submission.fields import FieldError, is_blank
from engine.why.simulation import ASSUMPTIONS, LeadContext, LeadSimulation
from schemas.contact import LIVE_STATUSES, Lead
from schemas.instant import HOUR, Instant, to_rfc3339
from schemas.law import CHANNELS
from schemas.records import Schedule
from schemas.schedule import Window

WINDOWS = "windows"
LIMITS = ("min_spacing", "max_contact_attempts")
CHANGED = (WINDOWS, *LIMITS)
"""Fields whose effect is in the state of a lead and its contact. A cap of buyers has none: other leads use it up too."""

AHEAD_HOURS = 168
"""A week ahead, as the longest forecast; a contact after that counts as none."""

WITHIN_HOURS = (1, 24, AHEAD_HOURS)

SHOWN_MAX = 20
"""Leads that are named, those that gain most first; all are counted."""

NOT_DUE = "not_due"
"""The reason of a lead that no rule holds back: its next step is not due yet."""

ASSUMED = (
    *ASSUMPTIONS,
    "leads stay at their step: publish the change with migrate=by_step_id to take them along",
    "each lead is simulated alone: what other leads use up of the caps of buyers, groups and numbers is not judged",
)
"""The assumptions behind the answer, for a person to read."""


class ScheduleChange(Struct, frozen=True, kw_only=True):
    """Other values for some fields of a schedule. Of the `windows` those channels are replaced that it names."""

    windows: Mapping[str, tuple[Window, ...]] = {}
    limits: Mapping[str, Any] = {}

    def apply_to(self, schedule: Schedule) -> Schedule:
        """Return a version of the schedule with the change; a channel without rows is left to the law."""
        windows = {channel: rows for channel, rows in {**schedule.windows, **self.windows}.items() if rows}
        return msgspec.structs.replace(schedule, windows=windows, **self.limits)


def read_change(raw: Mapping[str, Any], schedule: Schedule) -> ScheduleChange:
    """Read the fields of a change to a schedule, as publishing reads them; an empty limit is no limit.

    Raises `RefusedError` validation_failed with every bad field.
    """
    errors: Errors = {}
    if is_blank(raw.get(WINDOWS)) and not any(name in raw for name in LIMITS):
        errors[WINDOWS] = [f"must be given, or another limit: {', '.join(LIMITS)}"]
    windows = _read_windows(raw.get(WINDOWS), schedule, errors)
    limits = {}
    for name in LIMITS:
        if name in raw:
            try:
                limits[name] = parser_of("schedule", name)(raw[name])
            except FieldError as error:
                errors[name] = [str(error)]
    if errors:
        raise RefusedError("validation_failed", f"Correct {', '.join(list(errors)[:5])} and resend.", errors)
    return ScheduleChange(windows=windows, limits=limits)


def _read_windows(raw: Any, schedule: Schedule, errors: Errors) -> dict[str, tuple[Window, ...]]:
    if not isinstance(raw, Mapping):
        return read_windows(None if is_blank(raw) else raw, errors)
    emptied = {name: () for name, rows in raw.items() if name in CHANNELS and rows in ((), [], None)}
    found = read_windows({name: rows for name, rows in raw.items() if name not in emptied}, errors)
    check_margin(found, schedule.close_margin_seconds, errors)
    return {**found, **emptied}


class Course(Struct, frozen=True, kw_only=True):
    """How a lead goes on: its next contact, None where none comes in time; whether it expires before; why it waits.

    `waits_for` is the code of the rule that decides the time, or the status with which the lead ends; None: it is due.
    """

    contact_at: Instant | None = None
    expires: bool = False
    waits_for: str | None = None
    was_cut: bool = False


def course_of(known: LeadContext, now: Instant, until: Instant) -> Course:
    """Return how a lead goes on until an instant (exclusive), planned by these rules from now on."""
    planned = msgspec.structs.replace(known, lead=_planned_now(known.lead, now))
    simulation, seen, waits_for = LeadSimulation(planned, now), 0, known.lead.status_wait or NOT_DUE
    while simulation.advance(until):
        for fact in simulation.facts[seen:]:
            if fact.type == "command.emitted" and fact.data.get("kind") in CHANNELS:
                return Course(contact_at=fact.at, waits_for=None if fact.at == now else waits_for)
            if fact.type == "lead.ending" and fact.data.get("status") == "expired":
                return Course(expires=True, waits_for=waits_for)
        seen, waits_for = len(simulation.facts), _waits_for(simulation.lead, waits_for)
    return Course(waits_for=waits_for, was_cut=simulation.was_cut)


def _waits_for(lead: Lead | None, before: str) -> str:
    """Return why a lead waits after a decision, or as what it ended."""
    if lead is None or lead.status not in LIVE_STATUSES:
        return before if lead is None else lead.status
    return before if lead.flight is not None else lead.status_wait or NOT_DUE


def _planned_now(lead: Lead, now: Instant) -> Lead:
    """Return a lead that is planned again now, as a replan does; one that is held is due already: no hours hold it."""
    if lead.flight is not None or lead.held_at is not None:
        return lead
    found = msgspec.structs.replace(lead, recheck_at=now)
    found.wake_at = wake_at(found)
    return found


class Gain(Struct, frozen=True):
    """A lead whose next contact moves: from `before` to `after`; None where none comes in time."""

    lead_id: int
    before: Instant | None
    after: Instant | None

    @property
    def hours(self) -> float | None:
        """Return by how many hours it comes earlier; None where one of both is not known."""
        return None if self.before is None or self.after is None else (self.before - self.after) / HOUR


class WhatIf:
    """The sums over the leads that were added; `changed` are the rules with the change."""

    def __init__(self, now: Instant, changed: Rules) -> None:
        self.now = now
        self.until = now + AHEAD_HOURS * HOUR
        self.leads = 0
        self.was_cut = 0
        self._changed = changed
        self._courses: list[tuple[int, Course, Course]] = []

    def add(self, known: LeadContext) -> None:
        """Simulate a lead by both rules and add what differs; add nothing where that raises."""
        before = course_of(known, self.now, self.until)
        after = course_of(msgspec.structs.replace(known, rules=self._changed), self.now, self.until)
        self.leads += 1
        if before.was_cut or after.was_cut:
            self.was_cut += 1
        else:
            self._courses.append((known.lead.id, before, after))

    def leave_out(self) -> None:
        """Count a lead that cannot be simulated."""
        self.leads += 1
        self.was_cut += 1

    def shown(self) -> dict[str, Any]:
        """Return the sums as the API shows them."""
        moved = [Gain(lead_id, before.contact_at, after.contact_at) for lead_id, before, after in self._courses]
        earlier = [gain for gain in moved if _comes_first(gain.after, gain.before)]
        later = [gain for gain in moved if _comes_first(gain.before, gain.after)]
        named = sorted(earlier, key=lambda gain: (gain.hours is not None, -(gain.hours or 0.0), gain.lead_id))
        return {
            "from": to_rfc3339(self.now),
            "to": to_rfc3339(self.until),
            "judged": len(self._courses),
            "cut": self.was_cut,
            "due": sum(before.contact_at == after.contact_at == self.now for _, before, after in self._courses),
            "earlier": _sums(earlier),
            "later": _sums(later),
            "within": [self._within(hours) for hours in WITHIN_HOURS],
            "expiring": self._expiring(),
            "held": self._held(),
            "leads": [_shown(gain) for gain in named[:SHOWN_MAX]],
            "assumed": list(ASSUMED),
        }

    def _within(self, hours: int) -> dict[str, int]:
        until = self.now + hours * HOUR
        found = {"hours": hours, "now": 0, "changed": 0}
        for _, before, after in self._courses:
            found["now"] += before.contact_at is not None and before.contact_at < until
            found["changed"] += after.contact_at is not None and after.contact_at < until
        return found

    def _expiring(self) -> dict[str, int]:
        return {
            "now": sum(before.expires for _, before, _ in self._courses),
            "changed": sum(after.expires for _, _, after in self._courses),
            "no_longer": sum(before.expires and not after.expires for _, before, after in self._courses),
        }

    def _held(self) -> list[dict[str, Any]]:
        """Return what still decides the time of leads that gain nothing, most leads first."""
        reasons = Counter(
            after.waits_for
            for _, before, after in self._courses
            if after.waits_for is not None and not _comes_first(after.contact_at, before.contact_at)
        )
        ordered = sorted(reasons.items(), key=lambda one: (-one[1], one[0]))
        return [{"status_wait": code, "leads": count} for code, count in ordered]


def _comes_first(first: Instant | None, second: Instant | None) -> bool:
    """Return whether a contact comes before another; one that does not come is the last."""
    return first is not None and (second is None or first < second)


def _sums(gains: list[Gain]) -> dict[str, Any]:
    """Return how many leads move, and by how many hours; `unmeasured` have a contact in time on one side alone."""
    hours = [abs(found) for gain in gains if (found := gain.hours) is not None]
    return {
        "leads": len(gains),
        "hours_median": round(median(hours), 2) if hours else None,
        "hours_max": round(max(hours), 2) if hours else None,
        "unmeasured": len(gains) - len(hours),
    }


def _shown(gain: Gain) -> dict[str, Any]:
    now, changed = (None if at is None else to_rfc3339(at) for at in (gain.before, gain.after))
    return {"lead_id": gain.lead_id, "now": now, "changed": changed}
