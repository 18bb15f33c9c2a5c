"""Are callbacks read by their newest record, with what their leads say while they are pending, and added up by group?"""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from adapters.postgres.pool import open_pool
from adapters.postgres.reads import PostgresReads
from adapters.reads.ports import CallbackFilter, Paging
from engine.views.report import grouping
from engine.views.scheduled_callback import callback_record_view
from schemas.decisions import Fact
from schemas.instant import DAY, HOUR, Instant, to_rfc3339
from schemas.records import LeadFilters
from tests.adapters.postgres.projected_rows import START, Shown, lead

ONE_PAGE = Paging(per_page=100)


@pytest.fixture
async def shown(migrated_database: str) -> AsyncIterator[Shown]:
    shown = Shown(await open_pool(migrated_database, size=6))
    yield shown
    await shown.close()


def recorded(number: int, revision: int = 1, *, lead_id: int = 5, **data: Any) -> Fact:
    """Return a record of a callback, promised for an hour after START."""
    known = {"callback_id": number, "revision": revision, "state": "pending", "made_at": START, "is_reached": False}
    known |= {"promised_at": START + HOUR, "promised_by": "api"}
    return Fact(type="callback.recorded", lead_id=lead_id, data={**known, **data})


async def rows(shown: Shown, company_id: int = 1, **wanted: Any) -> list[dict[str, Any]]:
    page = await PostgresReads(shown.pool).callbacks(company_id, CallbackFilter(**wanted), ONE_PAGE)
    assert page.total_count == len(page.rows)
    return [callback_record_view(row) for row in page.rows]


async def test_the_record_of_the_highest_revision_counts_in_whatever_order_they_came(shown: Shown) -> None:
    late: dict[str, Any] = {"state": "late", "called_at": START + 2 * HOUR, "called_agent_id": 70, "late_seconds": 3600}
    await shown.decide(lead(5), facts=(recorded(9, 3, **late), recorded(9, 1), recorded(9, 2)))

    (row,) = await rows(shown)

    assert (row["id"], row["callback_status"], row["late_seconds"], row["called_agent_id"]) == (9, "late", 3600, 70)
    assert (row["promised_at"], row["called_at"]) == (to_rfc3339(START + HOUR), to_rfc3339(START + 2 * HOUR))
    assert await rows(shown, 2) == []


async def test_a_pending_callback_says_when_it_is_due_and_one_that_is_over_does_not(shown: Shown) -> None:
    due: dict[str, Any] = {"callback_at": START + 2 * HOUR, "scheduled_callback_id": 9, "callback_tries": 1}
    owner = {"agent_id": 70, "grace_minutes": 5}
    await shown.decide(lead(5, **due), facts=(recorded(9, owner=owner), recorded(8, state="missed", reason="replaced")))

    pending, over = sorted(await rows(shown), key=lambda row: -row["id"])

    assert (pending["callback_at"], pending["tries_count"]) == (to_rfc3339(START + 2 * HOUR), 1)
    assert (pending["callback_agent_id"], pending["callback_grace_minutes"]) == (70, 5)
    assert (over["callback_at"], over["tries_count"], over["end_reason"]) == (None, None, "replaced")
    assert (over["caller_id"], over["callback_agent_id"]) == (pending["caller_id"], None)


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ({"callback_status": "late"}, {2}),
        ({"agent_id": 70}, {1, 2}),
        ({"agent_id": 71}, {3}),
        ({"promised_by": "form"}, {4}),
        ({"lead_id": 6}, {4}),
        ({"ids": (1, 4)}, {1, 4}),
        ({"promised_from": START + HOUR, "promised_to": START + DAY}, {1, 2, 3}),
        ({"promised_from": START + DAY}, {4}),
        ({"visible": (LeadFilters(offer_ids=(3,)),)}, {4}),
        ({"visible": ()}, set()),
    ],
)
async def test_callbacks_are_found_by_what_their_records_say(shown: Shown, wanted: dict[str, Any], found: set[int]) -> None:
    facts = (
        recorded(1, owner={"agent_id": 70}, promised_agent_id=71),
        recorded(2, state="late", promised_agent_id=70),
        recorded(3, promised_agent_id=71),
        recorded(4, lead_id=6, promised_by="form", promised_at=START + DAY),
    )
    await shown.decide(lead(5), lead(6, offer_id=3), facts=facts)

    assert {row["id"] for row in await rows(shown, **wanted)} == found


async def test_they_are_added_up_by_agent_and_by_the_day_of_a_zone(shown: Shown) -> None:
    facts = [
        recorded(number, state=state, promised_at=START + days * DAY, promised_agent_id=70 + number % 2, late_seconds=60)
        for number, (state, days) in enumerate([("kept", 0), ("late", 0), ("missed", 1), ("late", 1), ("pending", 9_999)])
    ]
    await shown.decide(lead(5), facts=tuple(facts))
    by_agent = grouping("agent_id", None, None, "America/New_York")
    by_day = grouping("promised_at_day", None, None, "America/New_York")

    found = await PostgresReads(shown.pool).sums(1, CallbackFilter(), by_agent, by_day)

    assert found is not None
    counted = {
        (group.category, group.sums["kept_count"], group.sums["kept_late_count"], group.sums["missed_count"])
        for group in found
    }
    assert counted == {(70, 1, 0, 0), (71, 0, 1, 0), (70, 0, 0, 1), (70, 0, 0, 0)}
    assert {group.sums["overdue_count"] for group in found} == {0}
    (total,) = await PostgresReads(shown.pool).sums(1, CallbackFilter(), None, None) or []
    assert (total.sums["promised_count"], total.sums["judged_count"], total.sums["late_seconds"]) == (5, 4, 120)


@pytest.mark.parametrize(("before", "overdue"), [(START + HOUR, 0), (START + HOUR + 1, 1), (START + DAY, 2), (None, 0)])
async def test_what_is_pending_and_was_promised_for_before_an_instant_is_overdue(
    shown: Shown, before: Instant | None, overdue: int
) -> None:
    facts = (recorded(1), recorded(2, promised_at=START + 2 * HOUR), recorded(3, state="missed"))
    await shown.decide(lead(5), facts=facts)

    (total,) = await PostgresReads(shown.pool).sums(1, CallbackFilter(overdue_before=before), None, None) or []

    assert (total.sums["pending_count"], total.sums["overdue_count"]) == (2, overdue)
