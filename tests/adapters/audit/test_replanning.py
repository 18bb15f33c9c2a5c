"""Does replanning after a change of rules survive its process, reach every lead once, and hold in an audit?"""

from collections.abc import AsyncIterator

import msgspec
import pytest

from adapters.audit.verify import verify
from engine.contact.aggregate import ContactAggregate
from engine.partition.runner import TopicNames
from schemas.commands import PlaceCall
from schemas.contact import Lead
from schemas.decisions import Decision
from schemas.requests import LeadSubmitted, RecordChangeRequested
from tests.adapters.audit.test_verify import AT, RecordedRun

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


class Quarter(RecordedRun):
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
                zone_source="number",
                states=("FL",),
                received_at=AT,
                with_key=True,
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
    verified = await verify(quarter.log, TopicNames(), ContactAggregate(), 0, quarter.rules)
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


# -- in which order ----------------------------------------------------------------------------------------------------


class Sorted(RecordedRun):
    """People of a paused schedule, the last to come with the highest priority; of two companies where that is said."""

    async def live(self) -> None:
        """Wait for `come`."""

    async def publish(self, record_id: int | None = None, **fields: object) -> int:
        """Create the schedule, or change it; return its id."""
        request = RecordChangeRequested(
            company_id=1,
            type="schedule",
            operation="create" if record_id is None else "update",
            id=record_id,
            fields={"name": "sorted", "steps": STEPS, **fields},
        )
        await self.ask("accounts.requests", "1", request)
        await self.accounts.cycle()
        await self.rules.refresh()
        return record_id or max(record.id for _, record in self.rules.entries if record.type == "schedule")

    async def come(self, schedule_id: int, count: int = LEADS) -> None:
        for number in range(count):
            caller_id = f"+1305556{number:04d}"
            lead = LeadSubmitted(
                company_id=1,
                contact_key=f"1|{caller_id}",
                schedule_id=schedule_id,
                caller_id=caller_id,
                lead_priority=float(count - number),
                zones=("America/New_York",),
                received_at=AT,
                with_key=True,
            )
            await self.ask("contacts.requests", lead.contact_key, lead)
        await self.contacts.cycle()

    async def work(self) -> None:
        """Let cycles go by until every lead was called."""
        for _ in range(40):
            await self.contacts.cycle()
            self.clock.time += 1
            if len(self.priorities()) >= LEADS:
                return
        raise AssertionError("it never comes to its end")

    def priorities(self) -> list[float]:
        """Return the priorities of the commands, in the order of the log."""
        records = self.log.partition("commands.call", 0).records
        return [msgspec.json.decode(record.value or b"", type=PlaceCall).priority for record in records]


@pytest.fixture
async def queue() -> AsyncIterator[Sorted]:
    queue = Sorted()
    await queue.build()
    yield queue
    await queue.close()


async def test_leads_of_a_lifted_pause_go_by_priority_though_the_sweep_goes_by_id(queue: Sorted) -> None:
    """The sweep takes several ticks: no lead is called before those of higher priority were found."""
    offer_id = (await queue.records())["offer"]
    schedule_id = await queue.publish(offer_id=offer_id, lead_token="sorted-token-0001", paused=True)
    await queue.come(schedule_id)
    assert queue.priorities() == []

    await queue.publish(schedule_id, paused=False)
    await queue.work()

    assert queue.priorities() == sorted(queue.priorities())
    assert len(queue.priorities()) == LEADS
    verified = await verify(queue.log, TopicNames(), ContactAggregate(), 0, queue.rules)
    assert verified.difference is None


async def test_leads_of_a_rule_that_goes_are_called_by_priority(queue: Sorted) -> None:
    """The counsel's hours begin at five; without them it is time for everybody at once."""
    await queue.change("rule_pack", {"name": "Counsel", "rules": [OWN]})
    offer_id = (await queue.records())["offer"]
    schedule_id = await queue.publish(offer_id=offer_id, lead_token="sorted-token-0001")
    await queue.come(schedule_id)
    assert queue.priorities() == []

    pack_id = (await queue.records())["rule_pack"]
    await queue.ask(
        "accounts.requests", "1", RecordChangeRequested(company_id=1, type="rule_pack", operation="delete", id=pack_id)
    )
    await queue.accounts.cycle()
    await queue.rules.refresh()
    await queue.work()

    assert queue.priorities() == sorted(queue.priorities())
    assert len(queue.priorities()) == LEADS


async def test_leads_wait_for_the_rest_of_a_sweep_in_another_process_too(queue: Sorted) -> None:
    offer_id = (await queue.records())["offer"]
    schedule_id = await queue.publish(offer_id=offer_id, lead_token="sorted-token-0001", paused=True)
    await queue.come(schedule_id)
    await queue.publish(schedule_id, paused=False)
    await queue.contacts.cycle()
    queue.clock.time += 1
    await queue.contacts.cycle()
    await queue.contacts.close()
    queue.contacts = queue.runner(ContactAggregate(), queue.rules)
    await queue.contacts.open()

    await queue.work()

    assert queue.priorities() == sorted(queue.priorities())
