"""Are events stored once, sent in order, and kept within bounds? In a real PostgreSQL."""

from collections.abc import Sequence
from typing import Any

import pytest

from adapters.errors import StoreError
from adapters.postgres.pool import Pool
from adapters.postgres.subscriptions import PostgresSubscriptionReads, PostgresSubscriptionStore
from adapters.reads.ports import DeliveryFilter, Paging
from adapters.subscriptions.ports import DeliveryPlaces, DueDelivery, NewDelivery, PostAttempt
from engine.partition.continuity import ReadMark
from schemas.instant import HOUR, Instant

NOON = Instant(1_781_697_600_000)
TOPIC, TOPIC_ID = "contacts.decisions", "an id"
DELIVERED = PostAttempt(is_delivered=True, status=200, detail="thanks", milliseconds=5, retry_in_seconds=None)
GIVEN_UP = PostAttempt(is_delivered=False, status=500, detail="500", milliseconds=5, retry_in_seconds=None)
RETRIED = PostAttempt(is_delivered=False, status=500, detail="500", milliseconds=5, retry_in_seconds=3_600.0)
AGAIN_NOW = PostAttempt(is_delivered=False, status=500, detail="500", milliseconds=5, retry_in_seconds=0.0)


class World:
    def __init__(self, pool: Pool, *, waiting_max: int = 1_000) -> None:
        self.pool = pool
        self.store = PostgresSubscriptionStore(pool, waiting_max=waiting_max)
        self.reads = PostgresSubscriptionReads(pool)

    async def add(self, *deliveries: NewDelivery, offset: int = 1) -> None:
        await self.store.store(TOPIC, {0: ReadMark(TOPIC_ID, offset, offset - 1, "d")}, deliveries)

    async def claim(self, *places: DeliveryPlaces, most: int = 100, claimant: str = "a") -> list[DueDelivery]:
        return await self.store.claim(places or (place(),), most=most, claimant=claimant, lease_seconds=30)

    async def states(self, company_id: int = 1, subscription_id: int = 5) -> dict[str, str]:
        wanted = DeliveryFilter(subscription_id=subscription_id)
        page = await self.reads.deliveries(company_id, wanted, Paging(per_page=100))
        return {row["webhook_id"]: row["state"] for row in page.rows}

    async def shift(self, column: str, seconds: float, table: str = "subscription_deliveries") -> None:
        """Let time pass for what stands in a column."""
        text = f"UPDATE work.{table} SET {column} = {column} - {seconds} * interval '1 second'"  # noqa: S608 - our own names
        await self.pool.execute(text)


@pytest.fixture
def world(pool: Pool) -> World:
    return World(pool)


def event(name: str, *, lead_id: int | None = None, **more: Any) -> NewDelivery:
    given = {"company_id": 1, "subscription_id": 5, "event": "lead_ended", "call_id": None, "occurred_at": NOON}
    return NewDelivery(**{**given, "webhook_id": name, "lead_id": lead_id, "body": b'{"name":"%s"}' % name.encode(), **more})


def place(
    subscription_id: int = 5, company_id: int = 1, of_subscription: int = 100, of_company: int = 100
) -> DeliveryPlaces:
    return DeliveryPlaces(
        subscription_id=subscription_id, company_id=company_id, of_subscription=of_subscription, of_company=of_company
    )


def names(claimed: Sequence[DueDelivery]) -> list[str]:
    return [one.webhook_id for one in claimed]


async def test_an_event_that_is_read_twice_is_stored_once_as_it_was_first(world: World) -> None:
    await world.add(event("a"))
    await world.add(event("a", body=b"{}"), event("b"))

    claimed = await world.claim()

    assert [(one.webhook_id, one.body) for one in claimed] == [("a", '{"name":"a"}'), ("b", '{"name":"b"}')]


async def test_the_position_is_stored_with_the_events_and_never_goes_back(world: World) -> None:
    assert await world.store.progress(TOPIC, 0) is None
    await world.add(event("a"), offset=9)
    await world.add(offset=4)

    assert await world.store.progress(TOPIC, 0) == ReadMark(TOPIC_ID, 9, 8, "d")


async def test_the_position_of_a_topic_that_was_made_again_does_not_replace_that_of_the_former_one(world: World) -> None:
    await world.add(offset=9)
    await world.store.store(TOPIC, {0: ReadMark("another", 12, 11, "e")}, ())

    assert await world.store.progress(TOPIC, 0) == ReadMark(TOPIC_ID, 9, 8, "d")


async def test_nothing_is_stored_where_the_position_cannot_be(world: World) -> None:
    with pytest.raises(StoreError):
        await world.store.store(TOPIC, {0: ReadMark(TOPIC_ID, 2**70)}, [event("a")])

    assert await world.states() == {}


async def test_a_claimed_event_is_claimed_again_only_after_its_lease(world: World) -> None:
    await world.add(event("a"))
    assert names(await world.claim()) == ["a"]
    assert await world.claim(claimant="b") == []

    await world.shift("leased_until", 31)

    assert names(await world.claim(claimant="b")) == ["a"]


async def test_what_a_former_claimant_records_does_not_count(world: World) -> None:
    await world.add(event("a"))
    [first] = await world.claim(claimant="a")
    await world.shift("leased_until", 31)
    await world.claim(claimant="b")

    await world.store.record(first.id, GIVEN_UP, claimant="a")

    assert await world.states() == {"a": "waiting"}
    assert await world.reads.attempts(first.id) == []


async def test_places_are_divided_by_subscription_by_company_and_in_all(world: World) -> None:
    other = {"company_id": 2, "subscription_id": 7}
    await world.add(*(event(f"a{number}") for number in range(9)))
    await world.add(*(event(f"b{number}", subscription_id=6) for number in range(9)))
    await world.add(*(event(f"c{number}", **other) for number in range(9)))

    claimed = await world.claim(
        place(5, of_subscription=3, of_company=4), place(6, of_subscription=3, of_company=4), place(7, 2, of_subscription=2)
    )

    assert names(claimed) == ["a0", "a1", "a2", "b0", "c0", "c1"]
    assert len(await world.claim(place(5), place(7, 2), most=5)) == 5


async def test_events_of_a_lead_wait_for_the_one_before_and_other_leads_do_not(world: World) -> None:
    await world.add(event("a1", lead_id=1), event("a2", lead_id=1), event("b1", lead_id=2), event("none"), event("none 2"))

    claimed = await world.claim()
    assert names(claimed) == ["a1", "b1", "none", "none 2"]

    await world.store.record(claimed[0].id, DELIVERED, claimant="a")
    assert names(await world.claim()) == ["a2"]


async def test_a_failing_event_holds_back_its_lead_for_five_minutes_and_no_longer(world: World) -> None:
    await world.add(event("a1", lead_id=1), event("a2", lead_id=1))
    [first] = await world.claim()
    await world.store.record(first.id, RETRIED, claimant="a")
    assert await world.claim() == []

    await world.shift("failing_since", 299)
    assert await world.claim() == []
    await world.shift("failing_since", 2)

    assert names(await world.claim()) == ["a2"]


async def test_two_claimants_at_once_never_get_one_event_both(world: World) -> None:
    await world.add(*(event(f"e{number}") for number in range(40)))

    both = [await world.claim(most=25, claimant="a"), await world.claim(most=25, claimant="b")]

    claimed = [name for part in both for name in names(part)]
    assert (len(claimed), len(set(claimed))) == (40, 40)


async def test_a_failed_attempt_is_due_again_after_its_wait_and_both_are_logged(world: World) -> None:
    await world.add(event("a"))
    [first] = await world.claim()
    await world.store.record(first.id, RETRIED, claimant="a")
    assert await world.claim() == []
    await world.shift("next_attempt_at", 3_600)

    [again] = await world.claim()
    await world.store.record(again.id, DELIVERED, claimant="a")

    assert again.tries == 1
    log = await world.reads.attempts(first.id)
    assert [(row["number"], row["status"], row["detail"]) for row in log] == [(2, 200, "thanks"), (1, 500, "500")]
    assert await world.states() == {"a": "delivered"}


async def test_a_receiver_is_hopeless_when_it_accepted_nothing_while_an_event_was_tried(world: World) -> None:
    await world.add(event("a"), event("b"))
    first, second = await world.claim()

    assert await world.store.record(first.id, AGAIN_NOW, claimant="a")
    await world.store.record(second.id, DELIVERED, claimant="a")
    [again] = await world.claim()

    assert not await world.store.record(again.id, GIVEN_UP, claimant="a")


async def test_a_disabled_subscription_says_so_until_it_is_enabled(world: World) -> None:
    await world.add(event("a"))
    [one] = await world.claim()
    await world.store.record(one.id, RETRIED, claimant="a")
    await world.store.disable(5, "gone")
    assert await world.store.disabled() == {5}
    [standing] = (await world.reads.standings(1, [5])).values()
    assert (standing["disabled_reason"], standing["waiting_count"]) == ("gone", 1)

    await world.reads.enable(2, 5)
    assert await world.store.disabled() == {5}
    await world.reads.enable(1, 5)

    assert await world.store.disabled() == frozenset()
    assert names(await world.claim()) == ["a"]


async def test_events_beyond_the_bound_are_counted_and_not_stored(pool: Pool) -> None:
    world = World(pool, waiting_max=2)
    await world.add(*(event(f"e{number}") for number in range(5)), event("x", subscription_id=6), offset=8)

    assert len(await world.states()) == 2
    assert len(await world.states(subscription_id=6)) == 1
    [standing] = (await world.reads.standings(1, [5])).values()
    assert (standing["dropped_count"], standing["dropped_since"] is None) == (3, False)
    assert await world.store.progress(TOPIC, 0) == ReadMark(TOPIC_ID, 8, 7, "d")


async def test_a_released_event_can_be_claimed_at_once(world: World) -> None:
    await world.add(event("a"))
    [one] = await world.claim()
    await world.store.release([one.id], claimant="b")
    assert await world.claim() == []

    await world.store.release([one.id], claimant="a")

    assert names(await world.claim()) == ["a"]


async def test_a_replay_sends_the_events_of_its_span_and_company_again(world: World) -> None:
    moments = {"early": NOON - HOUR, "first": NOON, "last": NOON + HOUR, "late": NOON + 2 * HOUR}
    await world.add(*(event(name, occurred_at=at) for name, at in moments.items()))
    for one in await world.claim():
        await world.store.record(one.id, GIVEN_UP if one.webhook_id == "last" else DELIVERED, claimant="a")
    since, until = NOON, NOON + 2 * HOUR

    assert await world.reads.replay(2, 5, since=since, until=until, states=("delivered", "failed")) == 0
    assert await world.reads.replay(1, 5, since=since, until=until, states=("failed",)) == 1
    assert names(await world.claim(claimant="b")) == ["last"]
    assert await world.reads.replay(1, 5, since=since, until=until, states=("delivered", "failed")) == 1

    [again] = await world.claim()
    assert (again.webhook_id, again.tries) == ("first", 0)


async def test_deliveries_are_listed_by_every_filter_for_their_company_alone(world: World) -> None:
    await world.add(event("a", lead_id=1), event("b", event="call_ended"), event("c", subscription_id=6), event("d"))
    [first, *_] = await world.claim()
    await world.store.record(first.id, DELIVERED, claimant="a")

    async def listed(company_id: int = 1, **wanted: Any) -> list[str]:
        page = await world.reads.deliveries(company_id, DeliveryFilter(subscription_id=5, **wanted), Paging(cursor=-1))
        return [row["webhook_id"] for row in page.rows]

    assert await listed() == ["d", "b", "a"]
    assert await listed(company_id=2) == []
    assert await listed(state="delivered") == ["a"]
    assert await listed(event="call_ended") == ["b"]
    assert await listed(lead_id=1) == ["a"]
    assert await listed(ids=(first.id,)) == ["a"]
    assert await world.reads.body(1, first.id) == '{"name":"a"}'
    assert await world.reads.body(2, first.id) is None


async def test_what_is_older_than_thirty_days_is_deleted_with_its_attempts(world: World) -> None:
    await world.add(event("old"))
    [old] = await world.claim()
    await world.store.record(old.id, DELIVERED, claimant="a")
    await world.shift("created_at", 31 * 86_400)
    await world.shift("at", 31 * 86_400, "subscription_attempts")
    await world.add(event("new"))

    assert await world.store.purge() == 2

    assert await world.states() == {"new": "waiting"}
    assert await world.reads.attempts(old.id) == []
