"""What will a lead do from now on? A simulation of its state, contact and rules by the engine's code on a virtual clock.

It assumes what a preview assumes: every command succeeds at once, and no capacity is limited.
"""

from typing import TypeVar

import msgspec
from msgspec import Struct

from engine.account.caps import Capped
from engine.contact.facts.person import wake_at
from engine.contact.schedule.cadence import cadence_for, cadence_of
from engine.contact.timing.earliest import Earliest, first_allowed
from engine.partition.decider import Sealed
from engine.partition.draft import RefusedError
from engine.preview.forecast import good_outcome
from engine.preview.partition import VirtualPartition, commands_of
from engine.preview.trial import GOOD
from engine.rules import Rules
from engine.why.history import LeadFact
from schemas.commands import COMMAND_KINDS, Command, PlaceCall, PostWebhook
from schemas.contact import LIVE_STATUSES, Flight, Head, Lead
from schemas.decisions import Decision, Fact
from schemas.instant import Instant
from schemas.records import Body, Offer
from schemas.requests import OutcomeRecorded
from schemas.schedule import CallStep, Step
from schemas.state import head_key, lead_key
from schemas.wire import to_json

DECISIONS_MAX = 2_000
"""Of one lead and its siblings: a schedule of fifty steps over a year takes some two hundred."""

SIMULATED = ""
"""The topic of a simulated fact: no decision has stated it."""

ASSUMPTIONS = (
    "every outcome is the good one and comes at once",
    "there is room wherever lines, calls or open commands are limited",
)
"""The assumptions behind an answer about the future."""

B = TypeVar("B", bound=Body)


class UncappedRules(Rules):
    """Rules without concurrency limits and caps: a simulation of one lead knows of no other calls."""

    def __init__(self, rules: Rules) -> None:
        self.__dict__.update(rules.__dict__)

    def body(self, kind: type[B], record_type: str, record_id: int | None) -> B | None:
        """Return the newest body of a live record, without its limit on calls at a time and its caps."""
        found = super().body(kind, record_type, record_id)
        if not isinstance(found, Capped):
            return found
        if found.concurrency_cap_limit is not None or found.caps:
            return msgspec.structs.replace(found, concurrency_cap_limit=None, caps={})
        return found


class LeadContext(Struct, frozen=True, kw_only=True):
    """A lead with its context: its contact, the contact's other live leads, the company's records."""

    lead: Lead
    head: Head
    siblings: tuple[Lead, ...] = ()
    rules: Rules


class LeadSimulation:
    """The simulation of one lead. `facts` are the simulated facts, `lead` is its simulated state."""

    def __init__(self, known: LeadContext, now: Instant) -> None:
        self.facts: list[LeadFact] = []
        self.lead: Lead | None = known.lead
        self.was_cut = False
        self._id = known.lead.id
        self._moved = False
        self._partition = VirtualPartition(UncappedRules(known.rules), now)
        leads = (known.lead, *known.siblings)
        for lead in leads:
            self._partition.seed_entity(lead_key(lead.id), _with_place_granted(lead, now))
        self._partition.seed_entity(head_key(known.head.contact_key), known.head)
        for lead in leads:
            if lead.flight is not None:
                self._partition.enqueue(_good_outcome_in_flight(lead, lead.flight, known.rules, now))

    @property
    def now(self) -> Instant:
        """The present instant of the simulation."""
        return self._partition.now

    def run(self, until: Instant) -> None:
        """Simulate until an instant (exclusive), or until nothing follows by itself.

        `was_cut` says that the simulation stopped early: too many decisions, or inconsistent input (a row and the rules
        may be a moment apart).
        """
        while self.advance(until):
            pass

    def advance(self, until: Instant) -> bool:
        """Simulate the next decision before an instant; False where none follows by itself, or the simulation was cut."""
        partition = self._partition
        if self.was_cut:
            return False
        try:
            sealed = partition.decide() or (None if self._is_at_rest() else partition.fire(until))
        except RefusedError:
            self.was_cut = True
            return False
        if sealed is None:
            return False
        self._apply(sealed)
        self.was_cut = partition.decisions >= DECISIONS_MAX
        return True

    def allowed(self, at: Instant) -> tuple[Step, Earliest] | None:
        """Return the next contact step, and when it would be allowed if it were due at an instant; None without one."""
        lead = self.lead
        if lead is None or lead.status not in LIVE_STATUSES or lead.schedule_id is None or lead.step is None or lead.ending:
            return None
        person = self._partition.person(lead.contact_key)
        cadence = cadence_for(person, lead)
        step = next(iter(cadence.contacts_from(lead.step)), None) if cadence.has(lead.step) else None
        return None if step is None else (step, first_allowed(person, lead, cadence, step, at))

    def _is_at_rest(self) -> bool:
        """Return whether the lead no longer moves by time alone: it has ended, or was just held."""
        lead = self.lead
        return lead is None or lead.status not in LIVE_STATUSES or (self._moved and lead.held_at is not None)

    def _apply(self, sealed: Sealed) -> None:
        decision = sealed.decision
        self.lead = self._partition.lead(self._id)
        self._moved = self._moved or any(change.key == lead_key(self._id) for change in decision.changes)
        for fact in decision.facts:
            if fact.lead_id == self._id:
                self.facts.append(_simulated_fact(fact, decision))
        for command in commands_of(sealed):
            self._partition.enqueue(_good_outcome_of(command, self._partition.now))


def _simulated_fact(fact: Fact, decision: Decision) -> LeadFact:
    """Return a simulated fact, with its data as the log would hold it."""
    data = msgspec.json.decode(to_json(fact.data))
    return LeadFact(
        at=decision.decided_at, type=fact.type, data=data, topic=SIMULATED, partition=0, sequence=decision.sequence
    )


def lacks_room(lead: Lead) -> bool:
    """Return whether a lead waits for a slot or a place, which a simulation of one lead assumes to be there."""
    return lead.slot_id is not None or lead.slot_queue is not None or lead.awaits_place is not None


def _with_place_granted(lead: Lead, now: Instant) -> Lead:
    """Return a lead that is due now, where it waits for a slot or a place that the simulation cannot grant."""
    if not lacks_room(lead):
        return lead
    free = msgspec.structs.replace(lead, slot_id=None, slot_due_at=None, slot_queue=None, awaits_place=None, recheck_at=now)
    free.wake_at = wake_at(free)
    return free


def _good_outcome_of(command: Command, now: Instant) -> OutcomeRecorded:
    return OutcomeRecorded(
        company_id=command.company_id,
        contact_key=command.contact_key,
        lead_id=command.lead_id,
        command_id=command.command_id,
        kind=COMMAND_KINDS[type(command)],  # type: ignore[arg-type]  # the kinds of commands
        outcome=good_outcome(command),
        occurred_at=now,
        buyer_id=command.buyer_id if isinstance(command, PlaceCall) else None,
        allows=True if isinstance(command, PostWebhook) and command.subscription_id is not None else None,
    )


def _good_outcome_in_flight(lead: Lead, flight: Flight, rules: Rules, now: Instant) -> OutcomeRecorded:
    """Return the good outcome of the command in flight."""
    return OutcomeRecorded(
        company_id=lead.company_id,
        contact_key=lead.contact_key,
        lead_id=lead.id,
        command_id=flight.command_id,
        kind=flight.kind,  # type: ignore[arg-type]  # as it was emitted
        outcome="connected_buyer" if _has_buyers(lead, flight, rules) else GOOD[flight.kind],
        occurred_at=now,
        reached=flight.reached_by,
        allows=None if flight.asks is None else True,
    )


def _has_buyers(lead: Lead, flight: Flight, rules: Rules) -> bool:
    schedule = None
    if flight.kind == "call" and not flight.callback and lead.schedule_id is not None:
        schedule = rules.schedule(lead.schedule_id, lead.schedule_version or 0)
    if schedule is None:
        return False
    steps = {step.id: step for step in (*cadence_of(schedule).end_steps, *cadence_of(schedule).steps)}
    step = steps.get(flight.step_id)
    if not isinstance(step, CallStep) or step.connect.stream is not None:
        return False
    offer = rules.body(Offer, "offer", lead.offer_id)
    named = step.connect.group_ids or step.connect.buyer_ids
    return bool(named or (offer is not None and (offer.buyer_group_ids or offer.buyer_ids)))
