"""What does every memory of deliveries promise? One suite for PostgreSQL and for the dictionary that tests use."""

import asyncio
from typing import Protocol

from msgspec import structs

from adapters.gateway.ports import CommandClaim, Deliveries, SavedProgress
from schemas.envelope import DecisionNumber
from schemas.instant import EPOCH
from schemas.requests import OutcomeRecorded
from schemas.wire import to_json
from tests.adapters.gateway.world import NOON

OUTCOME = to_json(
    OutcomeRecorded(
        company_id=1,
        contact_key="1|+13055550101",
        lead_id=1,
        command_id="c1",
        kind="call",
        outcome="busy",
        occurred_at=NOON,
        provider="sandbox",
        provider_ref="ref",
    )
)


class Memory(Protocol):
    """Deliveries under test, and a way to let leases run out."""

    deliveries: Deliveries

    async def let_leases_end(self) -> None:
        """Make every lease end."""
        ...


async def claim(memory: Memory, command_id: str = "c1", *, claimant: str = "a", attempt: str = "a1") -> CommandClaim:
    found = await memory.deliveries.claim(
        command_id,
        company_id=1,
        kind="call",
        claimant=claimant,
        claim_id=attempt,
        claimed_at=NOON,
        lease_seconds=30,
    )
    return structs.replace(found, work_born_at=EPOCH)  # of its own time; a test of its own asks for it


class DeliveriesContract:
    """Run by the test class of every implementation, with its fixture `memory`."""

    async def test_the_first_claim_is_fresh_and_the_next_claimant_finds_it_held(self, memory: Memory) -> None:
        assert await claim(memory) == CommandClaim(state="fresh")
        assert await claim(memory, claimant="b", attempt="b1") == CommandClaim(state="held")

    async def test_of_many_claimants_one_gets_it(self, memory: Memory) -> None:
        claims = await asyncio.gather(*(claim(memory, claimant=str(n), attempt=str(n)) for n in range(20)))

        assert sorted(found.state for found in claims) == ["fresh"] + ["held"] * 19

    async def test_a_claim_asked_again_because_its_answer_was_lost_gets_the_same_answer(self, memory: Memory) -> None:
        assert [await claim(memory), await claim(memory)] == [CommandClaim(state="fresh"), CommandClaim(state="fresh")]

    async def test_what_an_earlier_attempt_of_the_same_claimant_left_is_taken_over(self, memory: Memory) -> None:
        await claim(memory, attempt="a1")

        assert await claim(memory, attempt="a2") == CommandClaim(state="taken_over")
        assert await claim(memory, attempt="a2") == CommandClaim(state="taken_over")

    async def test_a_claim_whose_lease_ran_out_is_taken_over_by_one(self, memory: Memory) -> None:
        await claim(memory)
        await memory.let_leases_end()

        claims = await asyncio.gather(*(claim(memory, claimant=str(n), attempt=str(n)) for n in range(10)))
        assert sorted(found.state for found in claims) == ["held"] * 9 + ["taken_over"]

    async def test_a_renewed_claim_is_not_taken_over(self, memory: Memory) -> None:
        await claim(memory)
        await memory.let_leases_end()
        await memory.deliveries.renew({"c1": "a1"}, claimant="a", lease_seconds=30)

        assert await claim(memory, claimant="b", attempt="b1") == CommandClaim(state="held")

    async def test_a_claim_that_is_given_up_is_taken_over_at_once(self, memory: Memory) -> None:
        await claim(memory)
        await memory.deliveries.renew({"c1": "a1"}, claimant="a", lease_seconds=-1)

        assert await claim(memory, claimant="b", attempt="b1") == CommandClaim(state="taken_over")

    async def test_a_recorded_outcome_is_found_until_it_was_posted(self, memory: Memory) -> None:
        await claim(memory)
        assert await memory.deliveries.record("c1", claimant="a", claim_id="a1", outcome=OUTCOME, recorded_at=NOON)
        await memory.let_leases_end()

        assert await claim(memory, claimant="b", attempt="b1") == CommandClaim(state="recorded", outcome=OUTCOME)
        await memory.deliveries.mark_posted("c1", posted_at=NOON)
        assert await claim(memory, claimant="b", attempt="b2") == CommandClaim(state="posted")

    async def test_who_recorded_an_outcome_has_time_to_post_it(self, memory: Memory) -> None:
        await claim(memory)
        await memory.deliveries.record("c1", claimant="a", claim_id="a1", outcome=OUTCOME, recorded_at=NOON)

        assert await claim(memory, claimant="b", attempt="b1") == CommandClaim(state="held")

    async def test_nothing_to_post_is_recorded_too(self, memory: Memory) -> None:
        await claim(memory)
        assert await memory.deliveries.record("c1", claimant="a", claim_id="a1", outcome=b"", recorded_at=NOON)

        assert await claim(memory, attempt="a2") == CommandClaim(state="recorded", outcome=b"")

    async def test_a_record_may_be_made_again_and_not_by_another(self, memory: Memory) -> None:
        await claim(memory)

        assert not await memory.deliveries.record("c1", claimant="b", claim_id="b1", outcome=OUTCOME, recorded_at=NOON)
        assert await memory.deliveries.record("c1", claimant="a", claim_id="a1", outcome=OUTCOME, recorded_at=NOON)
        assert await memory.deliveries.record("c1", claimant="a", claim_id="a1", outcome=OUTCOME, recorded_at=NOON)
        assert not await memory.deliveries.record("c1", claimant="a", claim_id="a1", outcome=b"", recorded_at=NOON)

    async def test_a_released_claim_has_never_been(self, memory: Memory) -> None:
        await claim(memory)
        await memory.deliveries.release("c1", claimant="b", claim_id="a1")
        assert (await claim(memory, claimant="b", attempt="b1")).state == "held"

        await memory.deliveries.release("c1", claimant="a", claim_id="a1")
        assert (await claim(memory, claimant="b", attempt="b2")).state == "fresh"

    async def test_what_was_taken_over_is_given_up_where_it_is_released(self, memory: Memory) -> None:
        await claim(memory, attempt="a1")
        await claim(memory, attempt="a2")
        await memory.deliveries.release("c1", claimant="a", claim_id="a2")

        assert (await claim(memory, claimant="b", attempt="b1")).state == "taken_over"

    async def test_what_was_recorded_is_not_released(self, memory: Memory) -> None:
        await claim(memory)
        await memory.deliveries.record("c1", claimant="a", claim_id="a1", outcome=OUTCOME, recorded_at=NOON)
        await memory.deliveries.release("c1", claimant="a", claim_id="a1")

        assert (await claim(memory, attempt="a2")).state == "recorded"

    async def test_only_the_claims_that_are_named_are_renewed(self, memory: Memory) -> None:
        for name in ("c1", "c2", "c3"):
            await claim(memory, name, attempt=name)
        await memory.deliveries.record("c3", claimant="a", claim_id="c3", outcome=OUTCOME, recorded_at=NOON)
        await memory.deliveries.mark_posted("c3", posted_at=NOON)
        await memory.let_leases_end()

        named = {"c1": "c1", "c3": "c3", "another": "another"}
        assert await memory.deliveries.renew(named, claimant="a", lease_seconds=30) == {"c1"}
        assert (await claim(memory, "c1", claimant="b", attempt="b1")).state == "held"
        assert (await claim(memory, "c2", claimant="b", attempt="b2")).state == "taken_over"

    async def test_an_older_generation_of_a_claim_renews_records_and_releases_nothing(self, memory: Memory) -> None:
        await claim(memory, attempt="a1")
        await claim(memory, attempt="a2")

        assert await memory.deliveries.renew({"c1": "a1"}, claimant="a", lease_seconds=-1) == set()
        assert not await memory.deliveries.record("c1", claimant="a", claim_id="a1", outcome=OUTCOME, recorded_at=NOON)
        await memory.deliveries.release("c1", claimant="a", claim_id="a1")
        assert (await claim(memory, claimant="b", attempt="b1")).state == "held"

    async def test_progress_goes_forward_for_as_long_as_the_topic_is_the_same(self, memory: Memory) -> None:
        deliveries = memory.deliveries
        assert await deliveries.progress("commands.call", "id-1", 0) is None

        await deliveries.save_progress("commands.call", "id-1", 0, SavedProgress(10, DecisionNumber(2, 7), 3))
        await deliveries.save_progress("commands.call", "id-1", 0, SavedProgress(7))
        assert await deliveries.progress("commands.call", "id-1", 0) == SavedProgress(10, DecisionNumber(2, 7), 3)
        assert await deliveries.progress("commands.call", "id-1", 1) is None

        await deliveries.save_progress("commands.call", "id-2", 0, SavedProgress(3))
        assert await deliveries.progress("commands.call", "id-1", 0) is None
        assert await deliveries.progress("commands.call", "id-2", 0) == SavedProgress(3)
