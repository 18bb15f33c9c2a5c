"""Was, or will, this lead be acted on at an instant, and if not, which rule? In a sentence and in data.

The past is read off the decisions of that time; now and the future are tried out with the engine's own code.
"""

from typing import Any

import msgspec

from engine.contact.schedule.cadence import channel_of
from engine.why import words
from engine.why.course import ASSUMED, FORESEEN, Course
from engine.why.history import ASKED_SPAN, Standing, Told, next_ordered, ordered_within, standing_at
from engine.why.shape import Answer, Case, Contact
from engine.why.telling import Teller, inner, joined
from schemas.contact import LIVE_STATUSES, Lead
from schemas.instant import DAY, SECOND, Instant

AHEAD_MAX = 400 * DAY
"""How far ahead somebody may ask: as far as an opening is looked for."""

ASKED_FROM: Instant = 0
"""No lead is older than 1970, and where calendars begin there is no local time."""


def out_of_range(at: Instant, now: Instant) -> str | None:
    """Return what is wrong with an instant that is asked about, or None."""
    if ASKED_FROM <= at <= now + AHEAD_MAX:
        return None
    return f"must be between 1970 and {AHEAD_MAX // DAY} days from now"


LATE_AFTER = 10 * SECOND
"""A scheduler that is well comes to a due lead within a second; what is not done after this long is worth a word."""


def explain(case: Case, at: Instant, now: Instant) -> Answer:
    """Return the answer for an instant: before `now` from what was decided, from then on from what would be."""
    return _Past(case, at, now).answer() if at < now else _Ahead(case, at, now).answer()


class _Past(Teller):
    """An answer about an instant that is over: nothing is worked out again."""

    def answer(self) -> Answer:
        facts = self.case.facts
        ordered = ordered_within(facts, self.at)
        if ordered is not None:
            return self.ordered(ordered, "acted")
        found = standing_at(facts, self.at)
        lead = self.case.known.lead
        answer = self.standing(found, lead if lead.updated_at <= self.at else None)
        later = next_ordered(facts, self.at) if answer.verdict in {"due", "held"} else None
        if later is None:
            return answer
        told = f"{answer.sentence} It was acted on at {self.clock(later.at)}."
        return msgspec.structs.replace(answer, sentence=told, acts_at=later.at)


class _Ahead(Teller):
    """An answer about now or an instant to come: the engine's own code is run up to it."""

    def answer(self) -> Answer:
        lead = self.case.known.lead
        decided = standing_at(self.case.facts, self.now)
        if decided.kind == "gone" and decided.status == "deleted":
            return self.standing(decided, None)
        present = _as_it_is(lead, decided)
        if lead.status not in LIVE_STATUSES or (lead.flight is not None and self.at < self.now + ASKED_SPAN):
            return self.standing(present, lead)
        course = Course(self.case.known, self.now)
        course.run(self.at + 1)
        if course.was_cut:
            return self.answer_of("cut", "What would happen before that instant cannot be tried out to its end.")
        then, facts, contact = course.lead, [*self.case.facts, *course.facts], self._contact(course)
        acting = ordered_within(course.facts, self.at) or self._acts_within(course)
        if acting is not None:
            return self._overdue(self.ordered(acting, "would_act"), present)
        found = present if not course.facts else standing_at(facts, self.at)
        answer = self.standing(found if then is None else _as_it_is(then, found), then)
        answer = msgspec.structs.replace(answer, assumed=ASSUMED) if course.facts else answer
        return answer if contact is None else self._with_contact(answer, contact)

    def _with_contact(self, answer: Answer, contact: Contact) -> Answer:
        """Say of a lead for which nothing is due whether a contact would be allowed then."""
        if answer.verdict != "not_due":
            return answer
        told = answer.sentence
        if contact.reasons:
            action = words.ACTIONS.get(contact.kind, "a contact")
            told = f"{told} Nor would {action} be allowed then: {inner(joined(contact.reasons))}."
        return msgspec.structs.replace(answer, sentence=told, contact=contact)

    def _contact(self, course: Course) -> Contact | None:
        """Return what the rules would say of a contact at the instant that is asked about."""
        found = course.allowed(self.at)
        if found is None:
            return None
        step, earliest = found
        channel = channel_of(step)
        moved = (
            ()
            if earliest.at == self.at
            else tuple(self.reason_of(msgspec.to_builtins(rule), channel) for rule in earliest.constraints)
        )
        return Contact(step_id=step.id, kind=channel, reasons=moved)

    def _overdue(self, answer: Answer, present: Standing) -> Answer:
        """Say so where a lead should have been acted on before: nothing forbids it, nobody came to it."""
        due_at = None if present.plan is None else present.plan.data.get("at")
        if present.kind != "planned" or due_at is None or due_at > self.now - LATE_AFTER or answer.acts_at != self.now:
            return answer
        told = f"{answer.sentence} It has been due since {self.clock(due_at)}: the scheduler has not come to it yet."
        return msgspec.structs.replace(answer, sentence=told)

    def _acts_within(self, course: Course) -> Told | None:
        """Return what is ordered in the rest of the minute, on a course that goes on."""
        course.run(self.at + ASKED_SPAN)
        return ordered_within(course.facts, self.at)


def _as_it_is(lead: Lead, found: Standing) -> Standing:
    """Return where a lead stands by its own state; the facts say what it rests on."""
    about: dict[str, Any] = {"fact": found.fact, "plan": found.plan, "flight": found.flight}
    if lead.status not in LIVE_STATUSES:
        return Standing(kind="ended", status=lead.status, **about)
    if lead.flight is not None:
        flight = found.flight or Told(
            at=lead.flight.emitted_at,
            type="command.emitted",
            data={"command_id": lead.flight.command_id, "kind": lead.flight.kind, "step_id": lead.flight.step_id},
            topic=FORESEEN,
            partition=0,
            sequence=0,
        )
        return Standing(kind="running", **{**about, "flight": flight})
    is_held = lead.slot_id is not None or lead.slot_waits or lead.held_at is not None or lead.awaits_place is not None
    if is_held or (found.kind == "held" and found.reason == lead.status_wait):
        return Standing(kind="held", reason=lead.status_wait, **about)
    if lead.status not in {"scheduled", "waiting"}:
        return Standing(kind="queued", **about)
    return Standing(kind="planned", **{**about, "plan": _plan_of(lead, found.plan)})


def _plan_of(lead: Lead, recorded: Told | None) -> Told:
    """Return the recorded plan where it is the present one, else what the lead itself says of it."""
    if recorded is not None and recorded.data.get("at") == lead.next_action_at:
        return recorded
    data: dict[str, Any] = {"step_id": lead.step, "at": lead.next_action_at, "reasons": list(lead.reasons)}
    if lead.base_at is not None:
        data["base"] = lead.base_at
    if not lead.reasons and lead.status_wait is not None:
        data["waits_for"] = lead.status_wait
    return Told(at=lead.updated_at, type=f"lead.{lead.status}", data=data, topic=FORESEEN, partition=0, sequence=0)
