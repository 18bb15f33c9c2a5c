"""Does planning anew after a change of rules survive its process, reach every lead once, and hold in an audit?"""

from collections.abc import AsyncIterator

import msgspec
import pytest

from adapters.audit.verify import verify
from engine.contact.aggregate import ContactAggregate
from engine.partition.runner import Names
from schemas.contact import Lead
from schemas.decisions import Decision
from schemas.requests import LeadSubmitted
from tests.adapters.audit.test_verify import AT, House

LEADS = 250
"""More than two ticks of a hundred."""

STEPS = [{"kind": "call", "id": "call-1"}]
WINDOWS = {"call": [{"days": ["mon", "tue", "wed", "thu", "fri"], "open": "15:00", "close": "20:00"}]}
OWN = {
    "id": "own",
    "country": "US",
    "purposes": ["telemarketing"],
    "channels": ["call"],
    "windows": [{"days": ["wed", "thu"], "open": "17:00", "close": "20:00"}],
    "source_url": "https://example.com/memo",
    "reviewed_at": "2026-11-01",
}
FIVE_O_CLOCK = AT + 4 * 3_600_000


class Quarter(House):
    """Many people who wait for three o'clock."""

    async def live(self) -> None:
        token, offer_id = "schedule-token-0002", (await self.records())["offer"]
        fields = {"name": "later", "lead_token": token, "offer_id": offer_id, "steps": STEPS, "windows": WINDOWS}
        await self.change("schedule", fields)
        schedule_id = (await self.records())["schedule"]
        for number in range(LEADS):
            caller_id = f"+1305556{number:04d}"
            lead = LeadSubmitted(
                company_id=1,
                contact_key=f"1|{caller_id}",
                schedule_id=schedule_id,
                caller_id=caller_id,
                zones=("America/New_York",),
                received_at=AT,
            )
            await self.ask("contacts.requests", lead.contact_key, lead)
        await self.contacts.cycle()

    async def restart(self) -> None:
        """Let another process go on, from the changelog alone."""
        await self.contacts.close()
        self.contacts = self.runner(ContactAggregate(), self.rules)
        await self.contacts.open()

    def replanned(self) -> list[int]:
        decided = [msgspec.json.decode(record.value or b"", type=Decision) for record in self.decisions().records]
        facts = [fact for decision in decided for fact in decision.facts]
        return [fact.lead_id or 0 for fact in facts if fact.type == "lead.replanned"]

    def leads(self) -> list[Lead]:
        keys = [key for key, _ in self.contacts.state.items() if key.startswith("lead/")]
        return [lead for lead in (self.contacts.state.get(key, Lead) for key in keys) if lead is not None]

    def is_sweeping(self) -> bool:
        return any(key.startswith("replan/") for key, _ in self.contacts.state.items())


@pytest.fixture
async def quarter() -> AsyncIterator[Quarter]:
    quarter = Quarter()
    await quarter.build()
    yield quarter
    await quarter.close()


async def test_a_rule_that_comes_is_planned_for_across_restarts_and_verified(quarter: Quarter) -> None:
    await quarter.change("rule_pack", {"name": "Counsel", "rules": [OWN]})
    await quarter.rules.refresh()
    cycles = 0
    while quarter.is_sweeping() or not quarter.replanned():
        await quarter.contacts.cycle()
        quarter.clock.time += 1
        await quarter.restart()
        cycles += 1
        assert cycles < 20, "it comes to its end"

    assert cycles > 2
    replanned = quarter.replanned()
    assert len(replanned) == len(set(replanned)) == LEADS
    assert {lead.next_action_at for lead in quarter.leads()} == {FIVE_O_CLOCK}
    verified = await verify(quarter.log, Names(), ContactAggregate(), 0, quarter.rules.entries)
    assert verified.difference is None


async def test_newer_time_zones_look_at_everybody_and_change_nobody_whose_plan_is_the_same(quarter: Quarter) -> None:
    """E31: the plans are right already, so nothing is written about them."""
    before = {lead.id: lead for lead in quarter.leads()}
    await quarter.contacts.close()
    quarter.contacts = quarter.runner(ContactAggregate(), quarter.rules)
    quarter.contacts._versions = {"leadclock": "1", "tzdata": "2099z"}
    await quarter.contacts.open()
    for _ in range(4):
        await quarter.contacts.cycle()
        quarter.clock.time += 1

    assert not quarter.is_sweeping()
    assert {lead.id: lead for lead in quarter.leads()} == before
    assert quarter.replanned() == []
