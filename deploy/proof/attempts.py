"""Is nobody contacted again who was reached, and do the counts of each lead equal a recount of its commands?

Folded from the facts of decisions: which commands were emitted, and which outcomes were recorded of each.
"""

from collections import Counter
from collections.abc import Iterator, Mapping

from msgspec import Struct, field

from schemas.contact import Lead
from schemas.decisions import Decision
from schemas.instant import Instant
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


class StepCommand(Struct, frozen=True):
    """One command of a step: whose, of which kind, at which step, and when it was decided."""

    lead_id: int
    kind: str
    step_id: str
    emitted_at: Instant


class Attempts(Struct):
    """The commands of steps and their outcomes, in whatever order the partitions are read.

    Of a command that another contact emits for a lead (an e-mail to an address that is a contact), emission and outcome are
    facts of two partitions.
    """

    commands: dict[str, StepCommand] = field(default_factory=dict)
    _outcomes: dict[str, list[tuple[Instant, str]]] = field(default_factory=dict)

    def take(self, decision: Decision) -> None:
        """Take in the facts of a decision."""
        for fact in decision.facts:
            if fact.type == "command.emitted" and fact.lead_id is not None and fact.data.get("kind") in OUTCOMES:
                command = StepCommand(fact.lead_id, fact.data["kind"], str(fact.data.get("step_id")), decision.decided_at)
                self.commands.setdefault(fact.data["command_id"], command)  # the lead and the other contact may both say so
            elif fact.type == "outcome.recorded":
                said = decision.decided_at, fact.data["outcome"]
                self._outcomes.setdefault(fact.data["command_id"], []).append(said)

    def outcome(self, command_id: str) -> str | None:
        """Return the outcome of a command that stands, or None."""
        found: str | None = None
        kind = self.commands[command_id].kind
        for _, outcome in self._outcomes.get(command_id, ()):
            if found is None or standing(kind, found, outcome) in {"replaces", "later"}:
                found = outcome
        return found

    def again(self) -> Iterator[str]:
        """Yield the commands of a step that were emitted after an earlier one was known to have reached somebody."""
        reached: dict[tuple[int, str], Instant] = {}
        for command_id, command in self.commands.items():
            step = command.lead_id, command.step_id
            for at, outcome in self._outcomes.get(command_id, ()):
                if outcome in REACHED.get(command.kind, ()):
                    reached[step] = min(at, reached.get(step, at))
        for command_id, command in self.commands.items():
            reached_at = reached.get((command.lead_id, command.step_id))
            if reached_at is not None and command.emitted_at > reached_at:
                yield f"{command_id} of lead {command.lead_id}, at step {command.step_id}"

    def without_outcome(self) -> Iterator[str]:
        """Yield the commands of which no outcome was recorded."""
        yield from (command_id for command_id in self.commands if self.outcome(command_id) is None)

    def differences(self, leads: Mapping[int, Lead]) -> Iterator[str]:
        """Yield the leads whose counts are not those of their commands."""
        made: dict[int, Counter[str]] = {}
        for command_id, command in self.commands.items():
            counts, outcome = made.setdefault(command.lead_id, Counter()), self.outcome(command_id)
            is_made = outcome not in NOT_ATTEMPTED
            counts[command.kind] += is_made
            row = OUTCOMES[command.kind].get(outcome or "unknown")
            counts["attempts"] += command.kind in COUNTED and is_made and (row is None or row.counts_attempt)
        for lead_id, counts in made.items():
            lead = leads.get(lead_id)
            if lead is None or lead.enrolment > 1:
                continue
            shown = {"attempts": lead.attempts, "call": lead.outbound_calls_count, "sms": lead.sms_count}
            wanted = {name: counts[name] for name in shown}
            if shown != wanted:
                yield f"lead {lead_id} has {shown}, its commands say {wanted}"
