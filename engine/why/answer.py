"""Why is this lead contacted, or not, at an instant? The answer as a sentence and as data.

The past comes from the recorded decisions. Now and the future come from a simulation with the engine's own code.
"""

from typing import Any

import msgspec

from engine.contact.schedule.cadence import channel_of
from engine.why import reason_texts
from engine.why.answer_builder import AnswerBuilder, join_sentences, lower_first
from engine.why.history import ANSWER_SPAN, LeadFact, LeadState, first_action_within, next_action_after, state_at
from engine.why.model import Explanation, LeadHistory, NextContact
from engine.why.simulation import ASSUMPTIONS, SIMULATED, LeadSimulation, lacks_room
from schemas.contact import LIVE_STATUSES, Lead, waits_in_queue
from schemas.instant import DAY, EPOCH, SECOND, Instant

AHEAD_MAX = 400 * DAY
"""How far ahead a question may lie: as far as an opening is searched."""

ASKED_FROM: Instant = EPOCH
"""No lead is older than 1970, and the first days of the calendar have no local time."""


def out_of_range(at: Instant, now: Instant) -> str | None:
    """Return what is wrong with an instant that is asked about, or None."""
    if ASKED_FROM <= at <= now + AHEAD_MAX:
        return None
    return f"must be between 1970 and {AHEAD_MAX // DAY} days from now"


LATE_AFTER = 10 * SECOND
"""A healthy scheduler acts on a due lead within a second; a longer delay is mentioned."""


def explain(case: LeadHistory, at: Instant, now: Instant) -> Explanation:
    """Return the answer for an instant: before `now` from decisions, from then on from a simulation."""
    return _Past(case, at, now).answer() if at < now else _Ahead(case, at, now).answer()


class _Past(AnswerBuilder):
    """An answer about the past: read from facts, not computed again."""

    def answer(self) -> Explanation:
        facts = self.case.facts
        action_answer = first_action_within(facts, self.at)
        if action_answer is not None:
            return self.action_answer(action_answer, "acted")
        found = state_at(facts, self.at)
        lead = self.case.known.lead
        answer = self.state_answer(found, lead if lead.updated_at <= self.at else None)
        later = next_action_after(facts, self.at) if answer.verdict in {"due", "held"} else None
        if later is None:
            return answer
        sentence = f"{answer.sentence} It was acted on at {self.clock(later.at)}."
        return msgspec.structs.replace(answer, sentence=sentence, acts_at=later.at)


class _Ahead(AnswerBuilder):
    """An answer about now or the future: simulated with the engine's own code."""

    def answer(self) -> Explanation:
        lead = self.case.known.lead
        decided = state_at(self.case.facts, self.now)
        if decided.kind == "gone" and decided.status == "deleted":
            return self.state_answer(decided, None)
        present = _as_it_is(lead, decided)
        is_now = self.at < self.now + ANSWER_SPAN
        if lead.status not in LIVE_STATUSES or (is_now and (lead.flight is not None or self._is_kept_waiting(lead))):
            return self.state_answer(present, lead)
        course = LeadSimulation(self.case.known, self.now)
        course.run(self.at + 1)
        if course.was_cut:
            return self.answer_of("cut", "What would happen before that instant cannot be tried out to its end.")
        then, facts, contact = course.lead, [*self.case.facts, *course.facts], self._contact(course)
        acting = first_action_within(course.facts, self.at) or self._acts_within(course)
        if acting is not None:
            return self._overdue(self.action_answer(acting, "would_act"), present)
        found = present if not course.facts else state_at(facts, self.at)
        answer = self.state_answer(found if then is None else _as_it_is(then, found), then)
        answer = msgspec.structs.replace(answer, assumed=ASSUMPTIONS) if course.facts else answer
        return answer if contact is None else self._with_contact(answer, contact)

    def _is_kept_waiting(self, lead: Lead) -> bool:
        """Return whether a lead lacks room, and not only until its question for it is answered."""
        return waits_in_queue(lead) or (lacks_room(lead) and (lead.planned_at or self.now) < self.now - LATE_AFTER)

    def _with_contact(self, answer: Explanation, contact: NextContact) -> Explanation:
        """Add whether a contact would be allowed, where nothing is due."""
        if answer.verdict != "not_due":
            return answer
        sentence = answer.sentence
        if contact.reasons:
            action = reason_texts.ACTIONS.get(contact.kind, "a contact")
            sentence = f"{sentence} Nor would {action} be allowed then: {lower_first(join_sentences(contact.reasons))}."
        return msgspec.structs.replace(answer, sentence=sentence, contact=contact)

    def _contact(self, course: LeadSimulation) -> NextContact | None:
        """Return what the rules say about a contact at the requested instant."""
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
        return NextContact(step_id=step.id, kind=channel, reasons=moved)

    def _overdue(self, answer: Explanation, present: LeadState) -> Explanation:
        """Mention a lead that is overdue: no rule forbids the action, but the scheduler has not acted."""
        due_at = None if present.plan is None else present.plan.data.get("at")
        if present.kind != "planned" or due_at is None or due_at > self.now - LATE_AFTER or answer.acts_at != self.now:
            return answer
        sentence = f"{answer.sentence} It has been due since {self.clock(due_at)}: the scheduler has not acted on it yet."
        return msgspec.structs.replace(answer, sentence=sentence)

    def _acts_within(self, course: LeadSimulation) -> LeadFact | None:
        """Return the action in the rest of the minute, in the continued simulation."""
        course.run(self.at + ANSWER_SPAN)
        return first_action_within(course.facts, self.at)


def _as_it_is(lead: Lead, found: LeadState) -> LeadState:
    """Return the state of a lead from its entity; the facts say what it rests on."""
    about = {name: getattr(found, name) for name in ("fact", "plan", "flight", "denied", "failed")}
    if lead.status not in LIVE_STATUSES:
        return LeadState(kind="ended", status=lead.status, **about)
    if lead.flight is not None and lead.flight.asks is not None:
        return LeadState(kind="held", reason="veto_asked", **about)
    if lead.flight is not None:
        flight = found.flight or LeadFact(
            at=lead.flight.emitted_at,
            type="command.emitted",
            data={"command_id": lead.flight.command_id, "kind": lead.flight.kind, "step_id": lead.flight.step_id},
            topic=SIMULATED,
            partition=0,
            sequence=0,
        )
        return LeadState(kind="running", **{**about, "flight": flight})
    if lacks_room(lead) or lead.held_at is not None or (found.kind == "held" and found.reason == lead.status_wait):
        return LeadState(kind="held", reason=lead.status_wait, **about)
    if lead.status not in {"scheduled", "waiting"}:
        return LeadState(kind="queued", **about)
    return LeadState(kind="planned", **{**about, "plan": _plan_of(lead, found.plan)})


def _plan_of(lead: Lead, recorded: LeadFact | None) -> LeadFact:
    """Return the recorded plan where it is current, else a plan from the lead itself."""
    if recorded is not None and recorded.data.get("at") == lead.next_action_at:
        return recorded
    data: dict[str, Any] = {"step_id": lead.step, "at": lead.next_action_at, "reasons": list(lead.reasons)}
    if lead.base_at is not None:
        data["base"] = lead.base_at
    if not lead.reasons and lead.status_wait is not None:
        data["waits_for"] = lead.status_wait
    return LeadFact(at=lead.updated_at, type=f"lead.{lead.status}", data=data, topic=SIMULATED, partition=0, sequence=0)
