"""How does an explanation read? A sentence with its reasons, for each state that a lead can be in."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from engine.calendar import constraint, is_open, window_set
from engine.contact.commands.buyers import ANY_BUYER, BuyerChoice, choice_of_offer, choice_of_step
from engine.contact.commands.emission import CALL_NOW
from engine.contact.commands.slots import WAITS_FOR_SLOT
from engine.contact.lifecycle.callback_turns import turn_at
from engine.contact.lifecycle.callbacks import OWNER_UNAVAILABLE
from engine.contact.schedule.cadence import Cadence, cadence_of, channel_of, home_zone
from engine.contact.timing.plan import CALLBACK
from engine.law.company import law_of
from engine.law.pack import CompiledRulePack
from engine.why import reason_texts
from engine.why.history import ANSWER_SPAN, LeadFact, LeadState
from engine.why.model import Explanation, LeadHistory, QueuePlace, Reason, Verdict
from engine.why.simulation import ASSUMPTIONS, SIMULATED
from schemas.contact import HEADS_MAX, Lead, waits_in_queue
from schemas.instant import Instant
from schemas.law import RuleRow
from schemas.records import Offer, Schedule
from schemas.schedule import CallStep, Step, Window

STOPS = frozenset({"opt_out", "dnc", "blocked"})
"""Suppressions: ends of the person, not of the schedule."""


class EndText(Struct, frozen=True):
    """Why nothing follows: said of now, of an instant that is past, and of an end that a simulation foresees."""

    sentence: str
    past: str
    foreseen: str


def _came(sentence: str, foreseen: str) -> EndText:
    """Return the text of an end that reads alike for now and for the past."""
    return EndText(sentence, sentence, foreseen)


ENDS: dict[str, EndText] = {
    "success": _came("The schedule reached its goal", "The schedule will have reached its goal"),
    "completed_converted": _came("The lead converted", "The lead will have converted"),
    "completed_connected": _came(
        "The schedule came to its end; the lead was connected",
        "The schedule will have come to its end; the lead is connected",
    ),
    "completed_attempted": _came(
        "The schedule came to its end; every step was tried, nobody was connected",
        "The schedule will have come to its end; every step is tried, nobody is connected",
    ),
    "completed": _came("The schedule came to its end", "The schedule will have come to its end"),
    "expired": _came(
        "The lead expired: the time to reach it was over", "The lead will have expired: the time to reach it is over then"
    ),
    "exceeded_max_calls": _came(
        "The most attempts that the schedule allows were made",
        "The most attempts that the schedule allows will have been made",
    ),
    "exceeded_short_calls": _came(
        "The most short calls that the schedule allows were made",
        "The most short calls that the schedule allows will have been made",
    ),
    "removed": _came("The lead was removed from the schedule", "The lead will have been removed from the schedule"),
    "opt_out": EndText(
        "This person opted out and must not be contacted",
        "This person had opted out and was not to be contacted",
        "This person will have opted out and must not be contacted",
    ),
    "dnc": EndText(
        "This person is on a do-not-call list and must not be contacted",
        "This person was on a do-not-call list and was not to be contacted",
        "This person will be on a do-not-call list and must not be contacted",
    ),
    "blocked": EndText(
        "This person is blocked: no action is taken",
        "This person was blocked: no action was taken",
        "This person will be blocked: no action is taken",
    ),
    "failure": _came("No usable way to reach this lead was left", "No usable way to reach this lead will be left"),
    "disabled": EndText(
        "The schedule or offer is no longer there, or the lead is a test",
        "The schedule or offer was no longer there, or the lead was a test",
        "The schedule or offer will no longer be there, or the lead is a test",
    ),
    "too_large": EndText(
        "What was due is too large to be written; a dead letter says what",
        "What was due was too large to be written; a dead letter says what",
        "What is due will be too large to be written",
    ),
    "decision_failed": _came(
        "Deciding on the lead failed for a day; dead letters say why", "Deciding on the lead will have failed for a day"
    ),
    "deleted": _came("The lead was deleted", "The lead will have been deleted"),
    "sent_away": EndText(
        "The number of the lead was changed: it goes on under the new one",
        "The number of the lead had been changed: it went on under the new one",
        "The number of the lead will have been changed: it goes on under the new one",
    ),
}
"""Why nothing follows, by the status of the end."""

OTHER_END = _came("The lead has ended", "The lead will have ended")


class AnswerBuilder:
    """Builds the explanations of one lead at one instant."""

    def __init__(self, case: LeadHistory, at: Instant, now: Instant) -> None:
        known = case.known
        self.case, self.at, self.now = case, at, now
        self.law: CompiledRulePack = law_of(known.rules, known.lead.company_id)
        schedule = None
        if known.lead.schedule_id is not None:
            schedule = known.rules.schedule(known.lead.schedule_id, known.lead.schedule_version or 0)
        self.cadence: Cadence = cadence_of(schedule or Schedule(name="", lead_token="", time_zone="UTC"))
        self.home = home_zone(known.lead, self.cadence)

    # -- emitted ----------------------------------------------------------------------------------------------

    def action_answer(self, fact: LeadFact, verdict: Verdict) -> Explanation:
        """Return the explanation of an action that is emitted in the requested minute."""
        kind = reason_texts.ACTIONS.get("callback" if _is_callback(fact) else str(fact.data.get("kind")), "an action")
        verb = "was ordered" if verdict == "acted" else "would be ordered"
        why = self._of_then("", "it is due, and every rule allows it", "it is due then, and every rule allows it")
        if verdict == "acted":
            why = "it was due, and every rule allowed it"
        if verdict == "acted" and fact.data.get("source") == CALL_NOW:
            why = "somebody asked for it, and every rule allowed it"
        sentence = f"{kind.capitalize()} {verb} at {self.clock(fact.at)}{_of_step(fact)}: {why}."
        return self.answer_of(verdict, sentence, fact=fact, acts_at=fact.at, kind=fact.data.get("kind"))

    # -- not emitted --------------------------------------------------------------------------------------------------

    def state_answer(self, found: LeadState, lead: Lead | None) -> Explanation:
        """Return the explanation where nothing is emitted; `lead` is its state at that instant, where known."""
        answer = self._state_answer(found, lead)
        if found.denied is None:
            return answer
        text = lower_first(reason_texts.REASON_TEXTS["veto_denied"].sentence)
        step_id, skipped_at = found.denied.data.get("step_id"), self.clock(found.denied.at)
        sentence = f"{answer.sentence} Step {step_id} was skipped at {skipped_at}: {text}."
        return msgspec.structs.replace(answer, sentence=sentence)

    def _state_answer(self, found: LeadState, lead: Lead | None) -> Explanation:
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

    def _absent(self) -> Explanation:
        created = self.case.known.lead.created_at
        when = reason_texts.clock(created, self.at, self.home)
        return self.answer_of("absent", f"The lead was not there yet: it came at {when} (lead's time).")

    def _over(self, found: LeadState) -> Explanation:
        status = found.status or "completed"
        since = "" if found.fact is None else f" ({self.clock(found.fact.at)})"
        ended = ENDS.get(found.reason or "") or ENDS.get(status, OTHER_END)
        is_foreseen = found.fact is not None and found.fact.topic == SIMULATED
        text = ended.foreseen if is_foreseen else self._of_then(ended.past, ended.sentence)
        follows = self._of_then("nothing followed", "nothing follows", "nothing will follow")
        sentence = f"{text}{since}; {follows}.{self._failed_step(found)}"
        return self.answer_of("stopped" if status in STOPS else "ended", sentence, fact=found.fact, status=status)

    def _failed_step(self, found: LeadState) -> str:
        """Return which step could not be taken, where no way to reach the lead was left."""
        failed = found.failed
        if found.status != "failure" or failed is None:
            return ""
        why = reason_texts.FAILURES.get(str(failed.data.get("reason")), str(failed.data.get("reason")))
        return f" Step {failed.data.get('step_id')} failed at {self.clock(failed.at)}: {why}."

    def _running(self, found: LeadState) -> Explanation:
        flight = found.flight
        assert flight is not None  # noqa: S101 - a lead runs by an order
        kind = reason_texts.ACTIONS.get(str(flight.data.get("kind")), "an action")
        reason = Reason(code="awaiting_outcome", sentence=f"{self._described('awaiting_outcome')}.")
        begun = f"{kind.capitalize()}{_of_step(flight)} {self._of_then('had', 'has')} been on its way"
        is_open = self._of_then("was not known yet", "is not known yet")
        sentence = f"{begun} since {self.clock(flight.at)}, and its outcome {is_open}."
        return self.answer_of("running", sentence, (reason,), fact=flight, kind=flight.data.get("kind"))

    def _held_back(self, found: LeadState, lead: Lead | None) -> Explanation:
        reason = Reason(
            code=found.reason or "manual_hold",
            sentence=f"{self._lacking(found, lead) or self._described(found.reason or '')}.",
        )
        again = None if lead is None else _looked_at_again(lead)
        looks = ""
        if again is not None and again > self.at and found.reason == OWNER_UNAVAILABLE:
            looks = f" {self._of_then('Others could', 'Others may', 'Others may')} make the call from {self.clock(again)}."
        elif again is not None and again > self.at:
            looks = f" {self._of_then('It was to be', 'It is', 'It will be')} looked at again at {self.clock(again)}."
        lasts = self._of_then("", "", ", which is assumed to last")
        sentence = f"{reason.sentence[:-1]}{lasts}; {self._it_is(self.home)}.{looks}"
        answer = self.answer_of(
            "held", sentence, (reason,), fact=found.fact, next_action_at=again, step_id=_step_of(found, lead)
        )
        return answer if lead is None else self._with_queue(answer, lead)

    def _lacking(self, found: LeadState, lead: Lead | None) -> str:
        """Return who is not available: the owner of a callback, or an agent for the step; else nothing."""
        if found.reason == OWNER_UNAVAILABLE and lead is not None:
            return self._owner_away(lead)
        step = self._step(_step_of(found, lead))
        if found.reason != WAITS_FOR_SLOT or not isinstance(step, CallStep):
            return ""
        known = self.case.known
        choice = choice_of_step(step.connect)
        offer = known.rules.body(Offer, "offer", known.lead.offer_id or self.cadence.schedule.offer_id)
        if choice == ANY_BUYER and step.connect.stream is None and offer is not None:
            choice = choice_of_offer(offer)
        was, now = "No agent who could take this call was available", "No agent who may take this call is available"
        return self._of_then(was, now) if choice.is_for_agents else ""

    def _owner_away(self, lead: Lead) -> str:
        """Return whose turn the callback is, by id: a name may be hidden from who asks. Nothing where that is not known."""
        if lead.callback_due_at is None:
            return ""
        turn = turn_at(self.case.known.rules, lead, lead.callback_due_at, self.at, ANY_BUYER)
        name = owner_text(turn.choice)
        is_away = self._of_then("was not available", "is not available")
        return f"The callback {self._of_then('belonged', 'belongs')} to {name}, who {is_away}" if name else ""

    def _with_queue(self, answer: Explanation, lead: Lead) -> Explanation:
        """Add the place in the queue for a line, which is known as it is now."""
        place = self.case.queue
        if place is None or lead.slot_queue is None or self.at != self.now:
            return answer
        return msgspec.structs.replace(answer, sentence=f"{answer.sentence} {describe_place(place)}", queue=place)

    def _between(self, found: LeadState, lead: Lead | None) -> Explanation:
        if lead is not None and lead.status == "captured":
            sentence = self._of_then(
                "was captured on an offer without a schedule: it waited for a call, and nothing was planned for it",
                "is captured on an offer without a schedule: it waits for a call, and nothing is planned for it",
            )
            return self.answer_of("captured", f"The lead {sentence}.", fact=found.fact, status="captured")
        planned = self._of_then("was being planned", "is being planned", "will be planned")
        return self.answer_of("not_due", f"The next step {planned}; {self._it_is(self.home)}.", fact=found.fact)

    def _planned(self, plan: LeadFact, lead: Lead | None) -> Explanation:
        """Return the explanation of a plan: not due yet, held by rules, or due."""
        data = plan.data
        next_at = data.get("at")
        base = data.get("base", next_at)
        step = self._step(data.get("step_id"))
        channel = "call" if data.get("source") == CALLBACK else None if step is None else channel_of(step)
        about: dict[str, Any] = {
            "fact": plan if plan.topic != SIMULATED else None,
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
        action = f"{reason_texts.ACTIONS.get(name, 'the next step')}{_of_step(plan)}"
        if next_at is not None and self.at >= next_at:
            since = self.clock(next_at)
            due = self._of_then("had been due", "has been due", "will have been due")
            acted = self._of_then("had not acted on it yet", "has not acted on it yet")
            sentence = f"{action.capitalize()} {due} since {since}; the scheduler {acted}; {self._it_is(zone)}."
            return self.answer_of("due", sentence, zone=zone, **about)
        if base is not None and self.at < base:
            coming = f"{self._coming(action, next_at, base, reasons, zone)}; {self._it_is(zone)}."
            sentence = coming if next_at is not None else f"{coming} {self._next_try(None, zone, data, lead)}"
            return self.answer_of("not_due", sentence, reasons, zone=zone, **about)
        holding = tuple(reason for reason in reasons if reason.until is None or reason.until > self.at) or reasons
        sentence = f"{join_sentences(holding)}; {self._it_is(zone)}. {self._next_try(next_at, zone, data, lead)}"
        return self.answer_of("held", sentence, holding, zone=zone, **about)

    def _coming(self, action: str, next_at: Instant | None, base: Instant, reasons: Sequence[Reason], zone: str) -> str:
        nothing = self._of_then("Nothing was due", "Nothing is due", "Nothing will be due")
        if next_at is None:
            meant = self._of_then("was planned for", "is planned for")
            return f"{nothing}: {action} {meant} {self.clock(base, zone)}, but {lower_first(join_sentences(reasons))}"
        moved = f", because {lower_first(join_sentences(reasons))}" if reasons else ""
        comes = self._of_then("was planned for", "comes at", "will come at")
        return f"{nothing}: {action} {comes} {self.clock(next_at, zone)}{moved}"

    def _next_try(self, next_at: Instant | None, zone: str, data: Mapping[str, Any], lead: Lead | None) -> str:
        if next_at is not None:
            return f"{self._of_then('The next try was planned for', 'Next try:')} {self.clock(next_at, zone)}."
        lead = lead or self.case.known.lead
        earliest = data.get("earliest")
        if earliest is not None and lead.expires_at is not None:
            expires = self.clock(lead.expires_at, zone)
            ends = self._of_then("It was to expire at", "It expires at", "It will expire at")
            return f"{ends} {expires}, before the next allowed time, {self.clock(earliest, zone)}."
        return self._of_then("No next try was known.", "No next try is known.")

    def _reasons(self, data: Mapping[str, Any], channel: str | None) -> tuple[Reason, ...]:
        """Return the rules that moved a plan, as its decision recorded them, in that order."""
        constraints: Sequence[Mapping[str, Any]] = data.get("constraints", ())
        if not constraints:
            codes = data.get("reasons") or ([data["waits_for"]] if data.get("waits_for") else [])
            return tuple(Reason(code=code, sentence=f"{self._described(code, channel=channel)}.") for code in codes)
        return tuple(self.reason_of(found, channel) for found in constraints)

    def reason_of(self, found: Mapping[str, Any], channel: str | None) -> Reason:
        """Return a constraint of a plan as a reason: with the row of the law, or the hours of the schedule, behind it."""
        code, until, zone = found["code"], found.get("until"), found.get("zone")
        row = self._row(found.get("rules", ()), until, zone)
        windows = self.cadence.schedule.windows.get(channel or "", ()) if code == "preferred_window" else ()
        sentence = self._described(code, row, row.windows if row is not None else windows, channel)
        return Reason(
            code=code,
            sentence=f"{sentence}.",
            until=until,
            zone=zone,
            rule=None if row is None else row.id,
            source_url=None if row is None else row.source_url,
        )

    def _row(self, rule_ids: Sequence[str], until: Instant | None, zone: str | None) -> RuleRow | None:
        """Return the deciding row: of several the one whose own hours open at that edge."""
        rows = [self.law.rules[rule_id] for rule_id in rule_ids if rule_id in self.law.rules]
        if until is not None and zone is not None and len(rows) > 1:
            for row in rows:
                if row.windows and not is_open(until - 1, [constraint("", window_set(row.windows), (zone,))]):
                    return row
        return rows[0] if rows else None

    def _step(self, step_id: str | None) -> Step | None:
        steps = (*self.cadence.steps, *self.cadence.end_steps)
        return next((step for step in steps if step.id == step_id), None)

    # -- wording ------------------------------------------------------------------------------------------------

    def clock(self, at: Instant, zone: str | None = None) -> str:
        """Return an instant as text, seen from the requested day, in the lead's zone or another."""
        return reason_texts.clock(at, self.at, zone or self.home)

    def _of_then(self, past: str, present: str, future: str | None = None) -> str:
        """Return the words for the requested instant: before now, within this minute, or later."""
        if self.at < self.now:
            return past
        return present if future is None or self.at < self.now + ANSWER_SPAN else future

    def _described(
        self, code: str, row: RuleRow | None = None, windows: Sequence[Window] = (), channel: str | None = None
    ) -> str:
        """Return the sentence of a reason, of the past where the requested instant is."""
        return reason_texts.describe_reason(code, row, windows, channel, is_past=self.at < self.now)

    def _it_is(self, zone: str) -> str:
        time_is = self._of_then("it was", "it is", "it will be")
        return f"{time_is} {reason_texts.time_of_day(self.at, zone)} for this lead ({zone})"

    def answer_of(
        self,
        verdict: Verdict,
        sentence: str,
        reasons: tuple[Reason, ...] = (),
        *,
        fact: LeadFact | None = None,
        zone: str | None = None,
        next_action_at: Instant | None = None,
        acts_at: Instant | None = None,
        step_id: str | None = None,
        kind: str | None = None,
        source: str | None = None,
        base: Instant | None = None,
        status: str | None = None,
    ) -> Explanation:
        """Return an explanation that rests on a fact; a simulated fact is no decision."""
        data: Mapping[str, Any] = {} if fact is None else fact.data
        return Explanation(
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
            decision=None if fact is None or fact.topic == SIMULATED else fact,
            assumed=ASSUMPTIONS if fact is not None and fact.topic == SIMULATED else (),
        )


def _looked_at_again(lead: Lead) -> Instant | None:
    """Return when a held lead is looked at again: of a queue for slots the projection shows when it opens."""
    if waits_in_queue(lead) or lead.status_wait == OWNER_UNAVAILABLE:
        return lead.next_action_at
    return lead.recheck_at or lead.disposition_due_at


def owner_text(choice: BuyerChoice) -> str:
    """Return whose turn a callback is: `agent 70024`, `the agents of call center 70022`; nothing where it is anyone's."""
    named = (
        ("agent", choice.agent_ids),
        ("the agents of call center", choice.call_center_ids),
        ("buyer", choice.buyer_ids),
        ("buyer group", choice.buyer_group_ids),
    )
    return next((f"{kind} {ids[0]}" for kind, ids in named if ids), "")


def describe_place(place: QueuePlace) -> str:
    """Return a sentence: how many go before the lead, for how many lines, and how long that takes."""
    before = "No lead waits" if place.before == 0 else f"About {place.before:,} leads wait"
    before = "One lead waits" if place.before == 1 else before
    several = "" if place.lines is None else f" for {_count_lines(place.lines)}"
    if place.minutes_left is None:
        return f"{before} before it{several}; no call of this step began in the last hour."
    calls = f"{place.calls_last_hour:,} call{'s' * (place.calls_last_hour > 1)} of this step in the last hour"
    return f"{before} before it{several}: about {duration_text(place.minutes_left)} at the pace of {calls}."


def _count_lines(lines: int) -> str:
    return "one line" if lines == 1 else f"{lines} or more lines" if lines == HEADS_MAX else f"{lines} lines"


def duration_text(minutes: int) -> str:
    """Return `40 minutes`, `12 hours` or `3 days`, whichever has at least two of its units."""
    for size, unit in ((24 * 60, "days"), (60, "hours")):
        if minutes >= 2 * size:
            return f"{minutes // size} {unit}"
    return "a minute" if minutes <= 1 else f"{minutes} minutes"


def _step_of(found: LeadState, lead: Lead | None) -> str | None:
    if lead is not None:
        return lead.step
    return None if found.plan is None else found.plan.data.get("step_id")


def _is_callback(fact: LeadFact) -> bool:
    return fact.data.get("source") == CALLBACK


def _of_step(fact: LeadFact) -> str:
    step_id = fact.data.get("step_id")
    # An id in brackets is no step: a callback, or a call by hand.
    return "" if step_id is None or _is_callback(fact) or step_id.startswith("(") else f" (step {step_id})"


def join_sentences(reasons: Sequence[Reason]) -> str:
    """Join the sentences of reasons, each once, without the full stop."""
    sentences = list(dict.fromkeys(reason.sentence.removesuffix(".") for reason in reasons))
    return (
        ", and ".join([sentences[0], *map(lower_first, sentences[1:])]) if sentences else "The schedule spreads its contacts"
    )


def lower_first(sentence: str) -> str:
    """Return a sentence with a small first letter, unless it begins with a name."""
    return sentence[0].lower() + sentence[1:] if sentence.partition(" ")[0] in _SMALL else sentence


_SMALL = frozenset(
    sentence.partition(" ")[0] for text in reason_texts.REASON_TEXTS.values() for sentence in (text.sentence, text.past)
)
"""The first words of the table's sentences, all common words; a sentence of a rule begins with a place."""
