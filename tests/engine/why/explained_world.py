"""How do these tests ask for an answer? In the world of the contact's tests, which stores when every fact was stated."""

from dataclasses import dataclass, field

import msgspec

from engine.partition.draft import Draft
from engine.why.answer import explain
from engine.why.history import LeadFact
from engine.why.model import Explanation, LeadHistory
from engine.why.simulation import LeadContext
from schemas.contact import LIVE_STATUSES, Lead
from schemas.instant import Instant
from tests.engine.contact.world import World

TOPIC = "contacts.decisions"


@dataclass
class ExplainedWorld(World):
    """A world that can be asked why."""

    lead_facts: list[tuple[int, LeadFact]] = field(default_factory=list)
    sequence: int = 0

    def _apply(self, draft: Draft) -> None:
        self.sequence += 1
        place = self.sequence
        for fact in draft.facts:
            data = msgspec.json.decode(msgspec.json.encode(fact.data))
            stated = LeadFact(at=self.now, type=fact.type, data=data, topic=TOPIC, partition=0, sequence=place)
            self.lead_facts.append((fact.lead_id or 0, stated))
        super()._apply(draft)

    def case(self, lead: Lead | None = None) -> LeadHistory:
        """Return everything that is known of a lead now."""
        lead = lead or self.lead()
        head = self.head(lead.contact_key)
        others = [self.lead(lead_id) for lead_id in head.lead_ids if lead_id != lead.id]
        siblings = tuple(other for other in others if other.status in LIVE_STATUSES)
        facts = tuple(fact for lead_id, fact in self.lead_facts if lead_id == lead.id)
        return LeadHistory(known=LeadContext(lead=lead, head=head, siblings=siblings, rules=self.rules), facts=facts)

    def why(self, at: Instant | None = None, lead: Lead | None = None) -> Explanation:
        """Return the answer for an instant, by default now."""
        return explain(self.case(lead), self.now if at is None else at, self.now)
