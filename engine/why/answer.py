"""Was, or will, this lead be acted on at an instant, and if not, which rule? In a sentence and in data.

The past is read off the decisions of that time; now and the future are tried out with the engine's own code.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import msgspec
from msgspec import Struct

from engine.calendar import constraint, is_open, local_datetime, window_set
from engine.contact.cadence import Cadence, cadence_of
from engine.contact.hours import home_zone
from engine.contact.orders import CALL_NOW
from engine.contact.plan import CALLBACK, channel_of
from engine.law.company import law_of
from engine.law.pack import RulePack
from engine.why import words
from engine.why.course import ASSUMED, FORESEEN, Course, Known
from engine.why.history import ASKED_SPAN, Standing, Told, next_ordered, ordered_within, standing_at
from schemas.contact import LIVE_STATUSES, Lead
from schemas.instant import DAY, SECOND, Instant, to_rfc3339
from schemas.law import RuleRow
from schemas.records import Schedule
from schemas.schedule import Step

Verdict = Literal["acted", "would_act", "running", "due", "not_due", "held", "captured", "stopped", "ended", "absent", "cut"]

VERDICTS: tuple[str, ...] = Verdict.__args__  # type: ignore[attr-defined]

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

STOPS = frozenset({"opt_out", "dnc", "blocked"})
"""Ends of the person, not of the schedule: nobody may contact them."""

ENDS: dict[str, str] = {
    "success": "The schedule reached its goal",
    "completed_converted": "The lead converted",
    "completed_connected": "The schedule came to its end; the lead was connected",
    "completed_attempted": "The schedule came to its end; every step was tried, nobody was connected",
    "completed": "The schedule came to its end",
    "expired": "The lead expired: the time to reach it was over",
    "exceeded_max_calls": "The most attempts that the schedule allows were made",
    "exceeded_short_calls": "The most short calls that the schedule allows were made",
    "removed": "The lead was removed from the schedule",
    "opt_out": "This person opted out and must not be contacted",
    "dnc": "This person is on a do-not-call list and must not be contacted",
    "blocked": "This person is blocked: no action is taken",
    "failure": "No usable way to reach this lead was left",
    "disabled": "The schedule is no longer there",
    "deleted": "The lead was deleted",
    "sent_away": "The number of the lead was changed: it goes on under the new one",
}
"""Why nothing follows any more, by the status of the end."""


class Reason(Struct, frozen=True, kw_only=True):
    """One rule that keeps an action back: until when, on whose clock, and the row of the rule pack and its source."""

    code: str
    sentence: str
    until: Instant | None = None
    zone: str | None = None
    rule: str | None = None
    source_url: str | None = None


class Contact(Struct, frozen=True, kw_only=True):
    """The contact step that comes next, and why the rules would not allow it at the instant if it were due, if so."""

    step_id: str
    kind: str
    reasons: tuple[Reason, ...] = ()


class Answer(Struct, frozen=True, kw_only=True):
    """The answer for the minute that begins at `at`.

    `acted` and `would_act`: an action is ordered at `acts_at`. `running`: the outcome of one is awaited. `due`: nothing
    forbids the next one, and nobody has come to it yet. `not_due`: its time has not come. `held`: `reasons` keep it back.
    `captured`: no schedule. `stopped`: the person must not be contacted. `ended`, `absent`: no more, or not yet there.
    `cut`: too much would happen before. `decision` is the record that it rests on, none where it is only foreseen.
    """

    at: Instant
    verdict: Verdict
    sentence: str
    zone: str
    reasons: tuple[Reason, ...] = ()
    next_action_at: Instant | None = None
    acts_at: Instant | None = None
    step_id: str | None = None
    kind: str | None = None
    source: str | None = None
    base: Instant | None = None
    status: str | None = None
    decision: Told | None = None
    assumed: tuple[str, ...] = ()
    contact: Contact | None = None


class Case(Struct, frozen=True, kw_only=True):
    """What is asked about: the lead as it is now, with what it rests on, and its facts in the order of decisions."""

    known: Known
    facts: Sequence[Told]


def explain(case: Case, at: Instant, now: Instant) -> Answer:
    """Return the answer for an instant: before `now` from what was decided, from then on from what would be."""
    return _Past(case, at, now).answer() if at < now else _Ahead(case, at, now).answer()


def shown(answer: Answer, lead: Lead) -> dict[str, Any]:
    """Return an answer as the interface shows it: moments as RFC 3339 in UTC, local ones with the offset of the zone."""
    decision = answer.decision
    return {
        "lead_id": lead.id,
        "uuid": lead.uuid,
        "at": to_rfc3339(answer.at),
        "local_at": _local(answer.at, answer.zone),
        "time_zone": answer.zone,
        "verdict": answer.verdict,
        "sentence": answer.sentence,
        "reasons": [_reason(reason) for reason in answer.reasons],
        "next_action_at": _moment(answer.next_action_at),
        "acts_at": _moment(answer.acts_at),
        "step_id": answer.step_id,
        "kind": answer.kind,
        "source": answer.source,
        "base_at": _moment(answer.base),
        "status": answer.status,
        "decision": None if decision is None else _evidence(decision),
        "assumed": list(answer.assumed),
        "contact": None if answer.contact is None else _contact(answer.contact),
    }


def _reason(reason: Reason) -> dict[str, Any]:
    return {**msgspec.structs.asdict(reason), "until": _moment(reason.until)}


def _contact(contact: Contact) -> dict[str, Any]:
    """Return whether a contact would be allowed, and what forbids it."""
    reasons = [_reason(reason) for reason in contact.reasons]
    return {"step_id": contact.step_id, "kind": contact.kind, "allowed": not reasons, "reasons": reasons}


def _evidence(fact: Told) -> dict[str, Any]:
    """Return where the record is, and what it says."""
    place = {"topic": fact.topic, "partition": fact.partition, "sequence": fact.sequence, "offset": fact.offset}
    return {**place, "decided_at": to_rfc3339(fact.at), "fact": fact.type, "data": dict(fact.data)}


def _moment(at: Instant | None) -> str | None:
    return None if at is None else to_rfc3339(at)


def _local(at: Instant, zone: str) -> str:
    return local_datetime(at, zone).isoformat(timespec="milliseconds" if at % SECOND else "seconds")


class _Teller:
    """What every answer about one lead and one instant is put together from."""

    def __init__(self, case: Case, at: Instant, now: Instant) -> None:
        known = case.known
        self.case, self.at, self.now = case, at, now
        self.law: RulePack = law_of(known.rules, known.lead.company_id)
        schedule = None
        if known.lead.schedule_id is not None:
            schedule = known.rules.schedule(known.lead.schedule_id, known.lead.schedule_version or 0)
        self.cadence: Cadence = cadence_of(schedule or Schedule(name="", lead_token="", time_zone="UTC"))
        self.home = home_zone(known.lead, self.cadence)

    # -- what was ordered ----------------------------------------------------------------------------------------------

    def ordered(self, fact: Told, verdict: Verdict) -> Answer:
        """Return the answer where an action is ordered in the minute that is asked about."""
        kind = words.ACTIONS.get("callback" if _is_callback(fact) else str(fact.data.get("kind")), "an action")
        verb = "was ordered" if verdict == "acted" else "would be ordered"
        sentence = (
            f"{kind.capitalize()} {verb} at {self._clock(fact.at)}{_of_step(fact)}: it is due, and every rule allows it."
        )
        if verdict == "acted":
            sentence = sentence.replace("it is due, and every rule allows it", "it was due, and every rule allowed it")
        if fact.data.get("source") == CALL_NOW:
            sentence = sentence.replace("it was due", "somebody asked for it")
        return self._answer(verdict, sentence, fact=fact, acts_at=fact.at, kind=fact.data.get("kind"))

    # -- what was not --------------------------------------------------------------------------------------------------

    def standing(self, found: Standing, lead: Lead | None) -> Answer:
        """Return the answer where nothing is ordered; `lead` is given where its state at that instant is known."""
        match found.kind:
            case "absent":
                return self._absent()
            case "ended" | "gone":
                return self._over(found)
            case "running":
                return self._running(found)
            case "held":
                return self._held_back(found, lead)
            case "planned" if found.plan is not None:
                return self._planned(found.plan, lead)
            case _:
                return self._between(found, lead)

    def _absent(self) -> Answer:
        created = self.case.known.lead.created_at
        when = words.clock(created, self.at, self.home)
        return self._answer("absent", f"The lead was not there yet: it came at {when} (lead's time).")

    def _over(self, found: Standing) -> Answer:
        status = found.status or "completed"
        since = "" if found.fact is None else f" ({self._clock(found.fact.at)})"
        sentence = f"{ENDS.get(status, 'The lead has ended')}{since}; nothing follows."
        return self._answer("stopped" if status in STOPS else "ended", sentence, fact=found.fact, status=status)

    def _running(self, found: Standing) -> Answer:
        flight = found.flight
        assert flight is not None  # noqa: S101 - a lead runs by an order
        kind = words.ACTIONS.get(str(flight.data.get("kind")), "an action")
        reason = Reason(code="awaiting_outcome", sentence=f"{words.WORDS['awaiting_outcome'].told}.")
        begun = f"{kind.capitalize()}{_of_step(flight)} has been on its way since {self._clock(flight.at)}"
        sentence = f"{begun}, and its outcome is not known yet."
        if self.at < self.now:
            sentence = sentence.replace("has been", "had been").replace("is not known", "was not known")
        return self._answer("running", sentence, (reason,), fact=flight, kind=flight.data.get("kind"))

    def _held_back(self, found: Standing, lead: Lead | None) -> Answer:
        reason = Reason(code=found.reason or "manual_hold", sentence=f"{words.told(found.reason or '', None, (), None)}.")
        again = None if lead is None else lead.recheck_at or lead.disposition_due_at
        looks = f" It is looked at again at {self._clock(again)}." if again is not None and again > self.at else ""
        sentence = f"{reason.sentence[:-1]}; {self._it_is(self.home)}.{looks}"
        return self._answer(
            "held", sentence, (reason,), fact=found.fact, next_action_at=again, step_id=_step_of(found, lead)
        )

    def _between(self, found: Standing, lead: Lead | None) -> Answer:
        if lead is not None and lead.status == "captured":
            sentence = (
                "The lead is captured on an offer without a schedule: it waits for a call, and nothing is planned for it."
            )
            return self._answer("captured", sentence, fact=found.fact, status="captured")
        return self._answer("not_due", f"The next step was being planned; {self._it_is(self.home)}.", fact=found.fact)

    def _planned(self, plan: Told, lead: Lead | None) -> Answer:
        """Return the answer of a plan: its time has not come, or rules keep it back, or it is due."""
        data = plan.data
        next_at = data.get("at")
        base = data.get("base", next_at)
        step = self._step(data.get("step_id"))
        channel = "call" if data.get("source") == CALLBACK else None if step is None else channel_of(step)
        about: dict[str, Any] = {
            "fact": plan if plan.topic != FORESEEN else None,
            "next_action_at": next_at,
            "step_id": data.get("step_id"),
            "kind": channel,
            "source": data.get("source"),
            "base": base,
            "status": None if lead is None else lead.status,
        }
        reasons = self._reasons(data, channel)
        zone = next((reason.zone for reason in reversed(reasons) if reason.zone), self.home)
        name = "callback" if _is_callback(plan) else channel or ""
        action = f"{words.ACTIONS.get(name, 'the next step')}{_of_step(plan)}"
        if next_at is not None and self.at >= next_at:
            since = self._clock(next_at)
            sentence = f"{action.capitalize()} was due since {since}; nobody had come to it yet; {self._it_is(zone)}."
            return self._answer("due", sentence, zone=zone, **about)
        if base is not None and self.at < base:
            moved = f", because {_inner(_joined(reasons))}" if reasons else ""
            sentence = f"Nothing is due: {action} comes at {self._clock(next_at or base, zone)}{moved}; {self._it_is(zone)}."
            if next_at is None:
                meant = f"Nothing is due: {action} is meant for {self._clock(base, zone)}, but {_inner(_joined(reasons))}"
                sentence = f"{meant}; {self._it_is(zone)}. {self._next_try(None, zone, data, lead)}"
            return self._answer("not_due", self._tense(sentence), reasons, zone=zone, **about)
        holding = tuple(reason for reason in reasons if reason.until is None or reason.until > self.at) or reasons
        sentence = f"{_joined(holding)}; {self._it_is(zone)}. {self._next_try(next_at, zone, data, lead)}"
        return self._answer("held", sentence, holding, zone=zone, **about)

    def _next_try(self, next_at: Instant | None, zone: str, data: Mapping[str, Any], lead: Lead | None) -> str:
        if next_at is not None:
            return f"Next try: {self._clock(next_at, zone)}."
        lead = lead or self.case.known.lead
        earliest = data.get("earliest")
        if earliest is not None and lead.expires_at is not None:
            expires = self._clock(lead.expires_at, zone)
            return f"It expires at {expires}, before the next allowed time, {self._clock(earliest, zone)}."
        return "No next try is known."

    def _reasons(self, data: Mapping[str, Any], channel: str | None) -> tuple[Reason, ...]:
        """Return the rules that moved a plan, as its decision recorded them, in the order in which each first did."""
        constraints: Sequence[Mapping[str, Any]] = data.get("constraints", ())
        if not constraints:
            codes = data.get("reasons") or ([data["waits_for"]] if data.get("waits_for") else [])
            return tuple(Reason(code=code, sentence=f"{words.told(code, None, (), channel)}.") for code in codes)
        return tuple(self._reason(found, channel) for found in constraints)

    def _reason(self, found: Mapping[str, Any], channel: str | None) -> Reason:
        code, until, zone = found["code"], found.get("until"), found.get("zone")
        row = self._row(found.get("rules", ()), until, zone)
        windows = self.cadence.schedule.windows.get(channel or "", ()) if code == "preferred_window" else ()
        sentence = words.told(code, row, row.windows if row is not None else windows, channel)
        return Reason(
            code=code,
            sentence=f"{sentence}.",
            until=until,
            zone=zone,
            rule=None if row is None else row.id,
            source_url=None if row is None else row.source_url,
        )

    def _row(self, rule_ids: Sequence[str], until: Instant | None, zone: str | None) -> RuleRow | None:
        """Return the row that decided: of several the one whose own hours open at that edge."""
        rows = [self.law.rules[rule_id] for rule_id in rule_ids if rule_id in self.law.rules]
        if until is not None and zone is not None and len(rows) > 1:
            for row in rows:
                if row.windows and not is_open(until - 1, [constraint("", window_set(row.windows), (zone,))]):
                    return row
        return rows[0] if rows else None

    def _step(self, step_id: str | None) -> Step | None:
        steps = (*self.cadence.steps, *self.cadence.end_steps)
        return next((step for step in steps if step.id == step_id), None)

    # -- how it is said ------------------------------------------------------------------------------------------------

    def _clock(self, at: Instant, zone: str | None = None) -> str:
        return words.clock(at, self.at, zone or self.home)

    def _it_is(self, zone: str) -> str:
        verb = "it was" if self.at < self.now else "it is" if self.at < self.now + ASKED_SPAN else "it will be"
        return f"{verb} {words.time_of_day(self.at, zone)} for this lead ({zone})"

    def _tense(self, sentence: str) -> str:
        if self.at >= self.now:
            return sentence
        return sentence.replace("Nothing is due:", "Nothing was due:").replace(" comes ", " came ")

    def _answer(
        self,
        verdict: Verdict,
        sentence: str,
        reasons: tuple[Reason, ...] = (),
        *,
        fact: Told | None = None,
        zone: str | None = None,
        next_action_at: Instant | None = None,
        acts_at: Instant | None = None,
        step_id: str | None = None,
        kind: str | None = None,
        source: str | None = None,
        base: Instant | None = None,
        status: str | None = None,
    ) -> Answer:
        data: Mapping[str, Any] = {} if fact is None else fact.data
        return Answer(
            at=self.at,
            verdict=verdict,
            sentence=sentence,
            zone=zone or self.home,
            reasons=reasons,
            next_action_at=next_action_at,
            acts_at=acts_at,
            step_id=step_id or data.get("step_id"),
            kind=kind,
            source=source or data.get("source"),
            base=base,
            status=status,
            decision=None if fact is None or fact.topic == FORESEEN else fact,
            assumed=ASSUMED if fact is not None and fact.topic == FORESEEN else (),
        )


class _Past(_Teller):
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
        told = f"{answer.sentence} It was acted on at {self._clock(later.at)}."
        return msgspec.structs.replace(answer, sentence=told, acts_at=later.at)


class _Ahead(_Teller):
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
            return self._answer("cut", "What would happen before that instant cannot be tried out to its end.")
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
            told = f"{told} Nor would {action} be allowed then: {_inner(_joined(contact.reasons))}."
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
            else tuple(self._reason(msgspec.to_builtins(rule), channel) for rule in earliest.constraints)
        )
        return Contact(step_id=step.id, kind=channel, reasons=moved)

    def _overdue(self, answer: Answer, present: Standing) -> Answer:
        """Say so where a lead should have been acted on before: nothing forbids it, nobody came to it."""
        due_at = None if present.plan is None else present.plan.data.get("at")
        if present.kind != "planned" or due_at is None or due_at > self.now - LATE_AFTER or answer.acts_at != self.now:
            return answer
        told = f"{answer.sentence} It has been due since {self._clock(due_at)}: the scheduler has not come to it yet."
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
    is_held = lead.slot_id is not None or lead.slot_waits or lead.held_at is not None
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


def _step_of(found: Standing, lead: Lead | None) -> str | None:
    if lead is not None:
        return lead.step
    return None if found.plan is None else found.plan.data.get("step_id")


def _is_callback(fact: Told) -> bool:
    return fact.data.get("source") == CALLBACK


def _of_step(fact: Told) -> str:
    step_id = fact.data.get("step_id")
    # What stands in brackets is no step: a promised call, or one that somebody asked for.
    return "" if step_id is None or _is_callback(fact) or step_id.startswith("(") else f" (step {step_id})"


def _joined(reasons: Sequence[Reason]) -> str:
    """Return the sentences of reasons as one without its stop; each is said once."""
    told = list(dict.fromkeys(reason.sentence.removesuffix(".") for reason in reasons))
    return ", and ".join([told[0], *map(_inner, told[1:])]) if told else "The schedule spreads its contacts"


def _inner(sentence: str) -> str:
    """Return a sentence as it stands within another one: small at its beginning, unless that is a name."""
    return sentence[0].lower() + sentence[1:] if sentence.partition(" ")[0] in _SMALL else sentence


_SMALL = frozenset(sentence.told.partition(" ")[0] for sentence in words.WORDS.values())
"""How the sentences of the table begin: with common words; those of a rule begin with a place."""
