"""Is nobody contacted again who was reached, and do the counts of each lead equal a recount of its commands?

Folded from the facts of decisions in their order: which commands were emitted, and which outcomes were recorded of each.
"""

from collections import Counter
from collections.abc import Iterator, Mapping

from msgspec import Struct, field

from schemas.contact import Lead
from schemas.decisions import Decision, Fact
from schemas.outcomes import GATE_OUTCOMES, OUTCOMES, standing

REACHED: Mapping[str, frozenset[str]] = {
    "call": frozenset({"connected_human", "connected_buyer"}),
    "sms": frozenset({"delivered"}),
    "email": frozenset({"delivered"}),
}
"""Kind of a command -> outcomes that say that the person was reached."""

COUNTED = ("call", "sms")
"""Kinds that count as attempts of a lead."""

NOT_ATTEMPTED = GATE_OUTCOMES | {"not_placed"}


class StepCommand(Struct):
    """One command of a step: whose, at which step, and the outcome that stands."""

    lead_id: int
    kind: str
    step_id: str
    outcome: str | None = None


class Attempts(Struct):
    """The commands of steps, and who was contacted again although an earlier command of the same step had reached them."""

    commands: dict[str, StepCommand] = field(default_factory=dict)
    again: list[str] = field(default_factory=list)
    _reached: set[tuple[int, str]] = field(default_factory=set)

    def take(self, decision: Decision) -> None:
        """Take in the facts of a decision."""
        for fact in decision.facts:
            if fact.type == "command.emitted" and fact.lead_id is not None and fact.data.get("kind") in OUTCOMES:
                self._emit(fact, fact.lead_id)
            elif fact.type == "outcome.recorded":
                self._record(fact)

    def _emit(self, fact: Fact, lead_id: int) -> None:
        command_id, step = fact.data["command_id"], (lead_id, str(fact.data.get("step_id")))
        if command_id in self.commands:
            return  # emitted by another contact for this lead: both say so
        self.commands[command_id] = StepCommand(lead_id, fact.data["kind"], step[1])
        if step in self._reached:
            self.again.append(f"{command_id} of lead {lead_id}, at step {step[1]}")

    def _record(self, fact: Fact) -> None:
        command = self.commands.get(fact.data["command_id"])
        if command is None:
            return
        outcome = fact.data["outcome"]
        if command.outcome is None or standing(command.kind, command.outcome, outcome) in {"replaces", "later"}:
            command.outcome = outcome
        if outcome in REACHED.get(command.kind, ()):
            self._reached.add((command.lead_id, command.step_id))

    def without_outcome(self) -> Iterator[str]:
        """Yield the commands of which no outcome was recorded."""
        yield from (id_ for id_, command in self.commands.items() if command.outcome is None)

    def differences(self, leads: Mapping[int, Lead]) -> Iterator[str]:
        """Yield the leads whose counts are not those of their commands."""
        made: dict[int, Counter[str]] = {}
        for command in self.commands.values():
            counts = made.setdefault(command.lead_id, Counter())
            is_made = command.outcome not in NOT_ATTEMPTED
            counts[command.kind] += is_made
            row = OUTCOMES[command.kind].get(command.outcome or "unknown")
            counts["attempts"] += command.kind in COUNTED and is_made and (row is None or row.counts_attempt)
        for lead_id, counts in made.items():
            lead = leads.get(lead_id)
            if lead is None or lead.enrolment > 1:
                continue
            shown = {"attempts": lead.attempts, "call": lead.outbound_calls_count, "sms": lead.sms_count}
            wanted = {name: counts[name] for name in shown}
            if shown != wanted:
                yield f"lead {lead_id} has {shown}, its commands say {wanted}"
