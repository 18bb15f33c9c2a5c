"""Which counts change where a known outcome of a call takes the place of another one? Those of its newer outcome hold.

The slot of the call has ended by the outcome before, so the difference is reported to the account as earnings are: for the
instant of the call, so that a period that has been reset stays as it is. `late_outcomes` does the same after `unknown`.
"""

from engine.contact.facts import ledger
from engine.contact.facts.earnings import report_amounts
from engine.contact.facts.person import Person
from engine.contact.requests.settling import NOT_ATTEMPTED, slot_use
from schemas.contact import Call, Lead
from schemas.outcomes import Outcome

USED = {"unused": (), "attempted": ("attempt",), "connected": ("attempt", "connection")}
"""How far a call used its slot -> what that counts of the caps of its records."""

Counts = dict[str, dict[str, float]]
"""Resource (`buyer_group/7`) -> metric -> how often."""


def count_again(person: Person, lead: Lead, before: Call, after: Call, rows: tuple[Outcome, Outcome], *, rang: bool) -> None:
    """Count a call by its newer outcome; `rows` are the effects of the outcome before and of the newer one."""
    was_made, is_made = (call.outcome not in NOT_ATTEMPTED for call in (before, after))
    lead.outbound_calls_count = max(0, lead.outbound_calls_count + is_made - was_made)
    if lead.attempted_call_id == after.id:
        lead.attempts = max(0, lead.attempts + rows[1].counts_attempt - rows[0].counts_attempt)
    person.save(lead)
    if ledger.counts_legally(rows[1], rang=rang):
        ledger.put_back(person, "call", after.command_id or "", after.created_at)
    report_amounts(person, after, _counts_of(before), _counts_of(after))


def _counts_of(call: Call) -> Counts:
    """Return what a call counts by its outcome against the caps of its records."""
    used = USED[slot_use(call.outcome or "", has_agent=call.agent_id is not None)]
    records = {
        "buyer": call.buyer_id,
        "buyer_group": call.buyer_group_id,
        "traffic_source": call.traffic_source_id,
        "number": call.number_id,
    }
    counted = {f"{name}/{number}": dict.fromkeys(used, 1.0) for name, number in records.items() if number is not None}
    return {resource: amounts for resource, amounts in counted.items() if amounts}
