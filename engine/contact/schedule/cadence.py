"""Which step follows which in one version of a schedule? Its body, indexed once and cached."""

from collections.abc import Iterable
from datetime import date
from functools import lru_cache

from engine.calendar import Duration, WindowSet, parse_duration, window_set, zones_of_people
from engine.calendar.wall import dates_from
from engine.contact.facts.person import Person
from engine.contact.schedule.step_graph import reachable
from schemas.contact import Lead
from schemas.records import Offer, Schedule
from schemas.schedule import KIND_OF_STEP, CallStep, EmailStep, Pause, SmsStep, Step

CADENCES_MAX = 4_096
"""Schedule versions in the cache: those that live leads are pinned to. The oldest is evicted first."""

COUNTED = (CallStep, SmsStep)
"""Steps that count as contact attempts: outbound calls and texts."""

CONTACTS = (CallStep, SmsStep, EmailStep)
"""Steps that reach a person."""


class Cadence:
    """The steps and end steps of a schedule by id, each with what follows it."""

    __slots__ = ("_places", "end_steps", "is_plain", "paused_dates", "schedule", "spacing", "steps", "triggers", "windows")

    def __init__(self, schedule: Schedule) -> None:
        self.schedule = schedule
        self.steps = schedule.steps
        self.end_steps = schedule.end_steps
        self.triggers = schedule.triggers
        self.windows: dict[str, WindowSet] = {channel: window_set(rows) for channel, rows in schedule.windows.items()}
        self.paused_dates = paused_dates(schedule.pauses)
        self.spacing = {name: duration(text).elapsed for name, text in schedule.min_spacing.items()}
        self.is_plain = _is_plain(schedule)
        # Where an id is used twice the step wins over the end step, and the earlier over the later.
        places = [(step.id, (self.end_steps, index)) for index, step in enumerate(self.end_steps)]
        places += [(step.id, (self.steps, index)) for index, step in enumerate(self.steps)]
        self._places = dict(reversed(places))

    def first(self, *, ending: bool) -> Step | None:
        """Return the step to begin with."""
        steps = self.end_steps if ending else self.steps
        return steps[0] if steps else None

    def step(self, step_id: str) -> Step:
        """Return a step or end step. Raises `KeyError` for an id of neither."""
        steps, index = self._places[step_id]
        return steps[index]

    def has(self, step_id: str) -> bool:
        """Return whether there is a step or end step of this id."""
        return step_id in self._places

    def after(self, step_id: str) -> Step | None:
        """Return the step that follows, or None behind the last one of its list."""
        steps, index = self._places[step_id]
        return steps[index + 1] if index + 1 < len(steps) else None

    def contacts_from(self, step_id: str | None) -> list[Step]:
        """Return the contact steps that can still follow in the list of this one, which comes first."""
        if step_id is None:
            return []
        return [step for step in reachable(*self._places[step_id]) if isinstance(step, CONTACTS)]

    def is_counted_to_come(self, step_id: str) -> bool:
        """Return whether this step or one that may come after it counts as a contact attempt."""
        return any(isinstance(step, COUNTED) for step in reachable(*self._places[step_id]))


def _is_plain(schedule: Schedule) -> bool:
    """Return whether every step runs at its next opening: no jitter, no skipping, no fixed time of day."""
    steps = [step for step in (*schedule.steps, *schedule.end_steps) if isinstance(step, CONTACTS)]
    missed = {step.window_miss or schedule.window_miss for step in steps}
    return missed <= {"next_open"} and not schedule.jitter_seconds and not any(step.jitter_seconds for step in steps)


def paused_dates(pauses: Iterable[Pause]) -> frozenset[date]:
    """Return every date of the pauses. Raises `CalendarError`."""
    return frozenset(day for pause in pauses for day in dates_from(pause.first, pause.last))


_CADENCES: dict[int, tuple[Schedule, Cadence]] = {}


def cadence_of(schedule: Schedule) -> Cadence:
    """Return the cadence of a schedule body from the cache."""
    known = _CADENCES.get(id(schedule))
    if known is not None and known[0] is schedule:
        return known[1]
    cadence = Cadence(schedule)
    if len(_CADENCES) >= CADENCES_MAX:
        del _CADENCES[next(iter(_CADENCES))]
    _CADENCES[id(schedule)] = schedule, cadence
    return cadence


@lru_cache(maxsize=1_024)
def duration(text: str) -> Duration:
    """Return the duration of a text such as `15m`. Raises `CalendarError`."""
    return parse_duration(text)


def channel_of(step: Step) -> str:
    """Return the kind of a step: its channel, where it reaches a person."""
    return KIND_OF_STEP[type(step)]  # a lookup: several times a decision, the struct would compute its tag again


def cadence_for(person: Person, lead: Lead) -> Cadence:
    """Return the steps of the schedule version that a lead is pinned to; a lead without a schedule has none."""
    schedule = person.rules.schedule(lead.schedule_id, lead.schedule_version)
    if schedule is not None:
        return cadence_of(schedule)
    offer = person.rules.body(Offer, "offer", lead.offer_id)
    return Cadence(Schedule(name="", lead_token="", time_zone=offer.time_zone if offer else "UTC"))


def home_zone(lead: Lead, cadence: Cadence) -> str:
    """Return the zone in which waits are read: the stated or first candidate, else the schedule's."""
    return zones_of_people(lead.zones)[0] if lead.zones else cadence.schedule.time_zone
