"""What does the read API see? Real queries on rows that came from decisions."""

from collections.abc import AsyncIterator
from itertools import product
from typing import Any

import msgspec
import pytest

from adapters.postgres import fulltext, lists
from adapters.postgres.pool import open_pool
from adapters.postgres.reads import PostgresReads
from adapters.postgres.tables import LEADS
from adapters.reads.ports import CallFilter, LeadFilter, Page, Paging, ReadsUnavailableError, RecordFilter
from engine.identity import uuid_of
from engine.views.lead import lead_view
from schemas.contact import Attempt, Call, Head
from schemas.decisions import Fact
from schemas.instant import DAY, EPOCH, from_datetime
from schemas.records import LeadFilters, TokenFilter
from tests.adapters.postgres.projected_rows import START, Shown, call, lead, record
from tests.contact_ids import CONTACT_IDS


@pytest.fixture
async def shown(migrated_database: str) -> AsyncIterator[Shown]:
    shown = await Shown.on(migrated_database)
    yield shown
    await shown.close()


def ids(page: Page) -> list[int]:
    return [row["id"] for row in page.rows]


async def test_a_lead_is_found_by_id_and_by_uuid_in_its_own_company_only(shown: Shown) -> None:
    await shown.decide(lead(5, data={"first_name": "Ann"}, zones=("America/New_York", "UTC"), next_action_at=START + 1))
    found = PostgresReads(shown.pool)
    by_id, by_uuid = await found.lead(1, 5), await found.lead(1, uuid_of("lead", 5))
    assert by_id is not None
    assert by_id == by_uuid
    assert (by_id["data"], by_id["zones"]) == ({"first_name": "Ann"}, ["America/New_York", "UTC"])
    assert (by_id["uuid"], from_datetime(by_id["next_action_at"])) == (uuid_of("lead", 5), START + 1)
    assert await found.lead(2, 5) is None
    assert await found.lead(2, uuid_of("lead", 5)) is None
    shown_row = await found.shown_lead(1, 5)
    assert shown_row is not None
    assert shown_row["contact_key"] == "1|+13055550005"
    assert await found.shown_lead(2, 5) is None


async def test_the_buyers_of_fleets_are_live_ones_of_the_company(shown: Shown) -> None:
    await shown.decide(record(1, "buyer", buyer_fleet_ids=[70, 71]), record(3, "buyer", buyer_fleet_ids=[70]))
    await shown.decide(record(2, "buyer", buyer_fleet_ids=[70]), record(4, "buyer"), record(5, "buyer_group"))
    await shown.decide(record(6, "buyer", company=2, buyer_fleet_ids=[70]))
    gone = record(7, "buyer", buyer_fleet_ids=[70])
    await shown.decide(msgspec.structs.replace(gone, deleted_at=START))
    found = PostgresReads(shown.pool)
    assert await found.fleet_members(1, [70, 71, 72]) == {70: [1, 2, 3], 71: [1]}
    assert await found.fleet_members(1, [71]) == {71: [1]}
    assert await found.fleet_members(2, [70, 71]) == {70: [6]}
    assert await found.fleet_members(1, []) == {}


async def test_what_is_no_lead_is_not_found(shown: Shown) -> None:
    await shown.decide(lead(5))
    for reference in (6, -1, 2**63, 2**80, "", "5", "not-a-uuid", "\0", uuid_of("lead", 6)):
        assert await PostgresReads(shown.pool).lead(1, reference) is None, reference


@pytest.mark.parametrize("more", [{}, {"user_updated_at": START, "rule_deciding": "us-fl", "offer_conversion_id": 7}])
async def test_what_is_read_to_show_a_lead_shows_the_same_as_its_whole_row(shown: Shown, more: dict[str, Any]) -> None:
    await shown.decide(lead(5, data={"first_name": "Ann"}, columns={"name": "Ann"}, step_entered=3, **more))
    found = PostgresReads(shown.pool)
    whole, part = await found.lead(1, 5), await found.shown_lead(1, uuid_of("lead", 5))
    assert whole is not None
    assert part is not None
    assert lead_view(part, START) == lead_view(whole, START)
    assert len(part) < len(whole)
    assert (part["rest"] is None) == (not more)


async def test_a_deleted_lead_is_still_known_but_in_no_list(shown: Shown) -> None:
    await shown.decide(lead(5), lead(6))
    await shown.decide(removed=("lead/5",), at=START + 7)
    row = await PostgresReads(shown.pool).lead(1, 5)
    assert row is not None
    assert from_datetime(row["deleted_at"]) == START + 7
    assert ids(await PostgresReads(shown.pool).leads(1, LeadFilter(), Paging())) == [6]


FILTERED: list[tuple[LeadFilter, list[int]]] = [
    (LeadFilter(), [9, 8, 7, 6, 5, 4, 3, 2, 1, 12, 11]),
    (LeadFilter(ids=(3, 5, 77, 2**70 % 1000)), [5, 3]),
    (LeadFilter(ids=()), []),
    (LeadFilter(created_from=START + 3000, created_to=START + 5000), [4, 3]),
    (LeadFilter(next_action_from=START + DAY + 2, next_action_to=START + DAY + 4), [3, 2]),
    (LeadFilter(offer_id=70), [7]),
    (LeadFilter(schedule_id=8), [9, 8]),
    (LeadFilter(traffic_source_id=12), [4]),
    (LeadFilter(buyer_id=3), [3]),
    (LeadFilter(status="opt_out"), [6]),
    (LeadFilter(status_wait="quiet_hours_state"), [5]),
    (LeadFilter(caller_id="+13055550002"), [2]),
    (LeadFilter(email="ann@example.org"), [9]),
    (LeadFilter(email="ANN@Example.ORG"), [9]),
    (LeadFilter(has_next_action=True), [4, 3, 2, 1]),
    (LeadFilter(has_next_action=False), [9, 8, 7, 6, 5, 12, 11]),
    (LeadFilter(buyer_converted=True), [1]),
    (LeadFilter(offer_converted=True), [2]),
    (LeadFilter(either_converted=True), [2, 1]),
    (LeadFilter(either_converted=False), [9, 8, 7, 6, 5, 4, 3, 12, 11]),
    (LeadFilter(opt_out=True), [6]),
    (LeadFilter(completed_calls=1), [11]),
    (LeadFilter(completed_calls=2), [12]),
    (LeadFilter(contact_id=CONTACT_IDS.id_of("1|+13055550002")), [2]),
    (LeadFilter(contact_id=77), []),
    (LeadFilter(fulltext="EXAMPLE.org"), [9]),
    (LeadFilter(fulltext="ann"), [9, 4]),
    (LeadFilter(fulltext="ann smi"), [4]),
    (LeadFilter(fulltext="(305) 555-0007"), [7]),
    (LeadFilter(fulltext="0007"), [7]),
    (LeadFilter(fulltext="O'Bri"), [1]),
    (LeadFilter(fulltext="%"), []),
    (LeadFilter(fulltext="<z>'&|!:*\\"), []),
    (LeadFilter(fulltext="Smith"), [4]),
    (LeadFilter(fulltext="Smith", ids=(4, 9)), [4]),
    (LeadFilter(fulltext="Smith", ids=(9,)), []),
    (LeadFilter(offer_id=2**70), []),
    (LeadFilter(fulltext="\0"), []),
    (LeadFilter(email="\ud800"), []),
    (LeadFilter(schedule_id=8, status="scheduled", buyer_converted=False, created_from=START), [9, 8]),
    (LeadFilter(visible=(LeadFilters(token_filters=(TokenFilter("stars", "1e20"),)),)), [9]),
    (LeadFilter(visible=(LeadFilters(token_filters=(TokenFilter("stars", "1e21"),)), LeadFilters(buyer_ids=(3,)))), [3]),
    (LeadFilter(visible=()), []),
]


@pytest.mark.parametrize("matches_max", [10_000, 0])
async def test_every_filter_narrows_the_list(shown: Shown, monkeypatch: pytest.MonkeyPatch, matches_max: int) -> None:
    monkeypatch.setattr(fulltext, "MATCHES_MAX", matches_max)
    fields: dict[int, dict[str, Any]] = {
        1: {"buyer_converted": True, "outbound_calls_count": 1, "data": {"who": "Sean O'Brien"}},
        2: {"offer_converted": True},
        3: {"buyer_id": 3},
        4: {"columns": {"traffic_source_id": "12", "full_name": "Ann Smith"}},
        5: {"status": "waiting", "status_wait": "quiet_hours_state"},
        6: {"status": "opt_out", "opt_out": True},
        7: {"offer_id": 70, "outbound_calls_count": 2},
        8: {"schedule_id": 8, "outbound_calls_count": 3},
        9: {"schedule_id": 8, "email": "Ann@example.org", "data": {"stars": 1e20}},
        11: {"status": "completed", "outbound_calls_count": 1, "created_at": START - DAY},
        12: {"status": "completed_connected", "outbound_calls_count": 3, "created_at": START - DAY},
    }
    moments: dict[int, dict[str, Any]] = {number: {"next_action_at": START + DAY + number} for number in range(1, 5)}
    await shown.decide(*(lead(number, **fields[number], **moments.get(number, {})) for number in fields))
    await shown.decide(lead(10, company=2, **fields[9]))
    await shown.decide(Head(company_id=1, contact_key="1|+13055550002"))
    for wanted, expected in FILTERED:
        page = await PostgresReads(shown.pool).leads(1, wanted, Paging())
        assert ids(page) == expected, wanted
        assert page.total_count == len(expected), wanted


async def test_every_field_of_a_filter_has_its_piece_of_sql(shown: Shown) -> None:
    everything = LeadFilter(
        ids=(1,), created_from=EPOCH, created_to=EPOCH + 1, next_action_from=EPOCH, next_action_to=EPOCH + 1,
        offer_id=1, schedule_id=1, traffic_source_id=1, buyer_id=1, status="queue", status_wait="x",
        caller_id="x", email="x",
        has_next_action=False, buyer_converted=True, offer_converted=True, either_converted=True, opt_out=True,
        fulltext="x", completed_calls=1, contact_id=1, states=("CA",), recent_call_disposition_id=1, lead_import_id=1,
        tag="x", token_key="x", token_value=("x", "y"), has_callback=True, scheduled_callback_id=1,
        is_test=True, has_invalid_fields=True,
        visible=(
            LeadFilters(offer_ids=(1,), schedule_ids=(1,), buyer_ids=(1,), traffic_source_ids=(1,)),
            LeadFilters(token_filters=(TokenFilter("x", "y"),)),
        ),
    )  # fmt: skip
    assert None not in msgspec.structs.astuple(everything)
    assert ids(await PostgresReads(shown.pool).leads(1, everything, Paging())) == []


FILTERED_CALLS: list[tuple[CallFilter, list[int]]] = [
    (CallFilter(), [9, 8, 7, 6, 5, 4, 3, 2, 1]),
    (CallFilter(ids=(3, 5, 77)), [5, 3]),
    (CallFilter(created_from=START + 3000, created_to=START + 5000), [4, 3]),
    (CallFilter(ended_from=START + 3500, ended_to=START + 4501), [4, 3]),
    (CallFilter(lead_id=50), [1]),
    (CallFilter(lead_import_id=7), [2, 1]),
    (CallFilter(lead_import_id=7, lead_id=50), [1]),
    (CallFilter(lead_import_id=8), []),
    (CallFilter(lead_import_id=2**70), []),
    (CallFilter(tag="vip"), [3, 1]),
    (CallFilter(tag="vi"), []),
    (CallFilter(tag="vip", lead_import_id=7), [1]),
    (CallFilter(tag="\0"), []),
    (CallFilter(states=("CA",), call_disposition_id=7), []),
    (CallFilter(offer_id=70), [1]),
    (CallFilter(schedule_id=80), [2]),
    (CallFilter(traffic_source_id=12), [2]),
    (CallFilter(buyer_id=3), [3]),
    (CallFilter(buyer_group_ids=(6, 7)), [4, 3]),
    (CallFilter(number_id=4), [4]),
    (CallFilter(ring_pool_id=1), []),
    (CallFilter(agent_id=1), []),
    (CallFilter(provider_configuration_id=1), []),
    (CallFilter(contact_id=CONTACT_IDS.id_of("1|+13055550002")), [2]),
    (CallFilter(caller_number="+13055550002"), [2]),
    (CallFilter(caller_number="+12125550100"), [9]),
    (CallFilter(status="busy"), [5]),
    (CallFilter(buyer_converted=True), [5]),
    (CallFilter(offer_converted=True), [6]),
    (CallFilter(either_converted=True), [6, 5]),
    (CallFilter(either_converted=False, buyer_group_ids=(6,)), [3]),
    (CallFilter(buyer_conversion_duplicated_call=True), [7]),
    (CallFilter(offer_conversion_duplicated_call=True), [8]),
    (CallFilter(buyer_repeat_caller=True), [8]),
    (CallFilter(offer_repeat_caller=True), [7]),
    (CallFilter(in_progress=True), [9]),
    (CallFilter(placed_on_hold=True), [4]),
    (CallFilter(has_recording=True), [6]),
    (CallFilter(no_buyer=False), [3]),
    (CallFilter(token_key="roof"), [2, 1]),
    (CallFilter(token_key="o'no:"), [3]),
    (CallFilter(token_key="ROOF"), []),
    (CallFilter(token_key="roof", status="no-answer", lead_id=50), [1]),
    (CallFilter(token_value=("roof", "flat")), [1]),
    (CallFilter(token_value=("roof", "fla")), []),
    (CallFilter(token_value=("floors", "12")), [2]),
    (CallFilter(token_value=("o'no:", "a\\b'c")), [3]),
    (CallFilter(token_value=("long", "x" * 500)), [4]),
    (CallFilter(token_value=("long", "x" * 499)), []),
    (CallFilter(fulltext="fla"), [1]),
    (CallFilter(fulltext="roof"), []),
    (CallFilter(fulltext="called back"), [5]),
    (CallFilter(fulltext="0007"), [7]),
    (CallFilter(fulltext="flat", token_key="roof"), [1]),
]


@pytest.mark.parametrize("matches_max", [10_000, 0])
async def test_every_filter_narrows_the_list_of_calls(
    shown: Shown, monkeypatch: pytest.MonkeyPatch, matches_max: int
) -> None:
    monkeypatch.setattr(fulltext, "MATCHES_MAX", matches_max)  # 0: as where a search matches more rows than are looked up
    fields: dict[int, dict[str, Any]] = {
        1: {"lead_id": 50, "offer_id": 70, "token_values": {"roof": "flat"}},
        2: {"lead_id": 51, "schedule_id": 80, "traffic_source_id": 12, "token_values": {"roof": "steep", "floors": 12}},
        3: {
            "lead_id": 52,
            "buyer_id": 3,
            "buyer_group_id": 6,
            "buyer_answered_at": START,
            "token_values": {"o'no:": "a\\b'c"},
        },
        4: {"buyer_group_id": 7, "number_id": 4, "placed_on_hold": True, "token_values": {"long": "x" * 500}},
        5: {"status": "busy", "buyer_converted": True, "agent_call_disposition_notes": "wants to be called back"},
        6: {"offer_converted": True, "recording_url": "https://example.com/1"},
        7: {"lead_id": 53, "buyer_conversion_duplicated_call": True, "offer_repeat_caller": True},
        8: {"offer_conversion_duplicated_call": True, "buyer_repeat_caller": True},
        9: {"ended_at": None, "status": "ringing", "direction": "inbound", "from_number": "+12125550100"},
    }
    await shown.decide(lead(50, lead_import_id=7, data={"tags": ["new", "vip"]}), lead(51, lead_import_id=7))
    await shown.decide(lead(52, data={"tags": "new , vip"}), lead(53, lead_import_id=7, data={"tags": ["vip"]}))
    await shown.decide(removed=("lead/53",))
    await shown.decide(lead(50, company=2, lead_import_id=8, data={"tags": ["vip"]}))
    await shown.decide(*(call(number, **fields[number]) for number in fields))
    await shown.decide(call(10, company=2, **fields[1]), call(11))
    await shown.decide(removed=("call/11",))
    for wanted, expected in FILTERED_CALLS:
        page = await PostgresReads(shown.pool).calls(1, wanted, Paging())
        assert ids(page) == expected, wanted
        assert page.total_count == len(expected), wanted


async def test_pages_are_cut_and_counted(shown: Shown) -> None:
    await shown.decide(*(lead(number) for number in range(1, 8)))
    found = PostgresReads(shown.pool)
    pages = [await found.leads(1, LeadFilter(), Paging(page=page, per_page=3)) for page in (1, 2, 3, 4)]
    assert [ids(page) for page in pages] == [[7, 6, 5], [4, 3, 2], [1], []]
    assert [page.total_count for page in pages] == [7, 7, 7, 7]
    assert (await found.leads(1, LeadFilter(), Paging(counted=False))).total_count is None


async def test_a_total_over_the_bound_is_not_given(shown: Shown, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lists, "COUNT_MAX", 4)
    await shown.decide(*(lead(number) for number in range(1, 6)))
    found = PostgresReads(shown.pool)
    assert (await found.leads(1, LeadFilter(), Paging(per_page=2))).total_count is None
    assert (await found.leads(1, LeadFilter(created_from=START + 2000), Paging(per_page=2))).total_count == 4
    assert (await found.leads(1, LeadFilter(), Paging(per_page=100))).total_count is None


async def test_a_cursor_walks_down_the_ids_to_the_end(shown: Shown) -> None:
    await shown.decide(*(lead(number, created_at=START - number) for number in range(1, 8)))
    found, seen, cursor = PostgresReads(shown.pool), [], -1
    while cursor != 0:
        page = await found.leads(1, LeadFilter(), Paging(cursor=cursor, per_page=3))
        seen.append(ids(page))
        assert page.total_count == 7
        assert page.next_cursor is not None
        cursor = page.next_cursor
    assert seen == [[7, 6, 5], [4, 3, 2], [1]]
    assert ids(await found.leads(1, LeadFilter(), Paging(cursor=2**70))) == []


@pytest.mark.parametrize("descending", [True, False])
@pytest.mark.parametrize("order", ["revenue", "buyer_id", "email", "lead_priority", "last_call_at", "status"])
async def test_pages_of_a_sorted_list_go_on_where_the_last_one_ended(shown: Shown, order: str, descending: bool) -> None:
    known: dict[str, list[Any]] = {
        "revenue": [0.0, 5.5, 0.0, -2.0, 5.5, 0.0, 9.0], "buyer_id": [None, 3, None, 3, 8, None, 1],
        "email": ["b@x.org", None, "A@x.org", "a@x.org", None, None, "C@x.org"],
        "lead_priority": [100, 1, 100, 500, 1, 100, 99], "status": ["expired", "queue", "queue"] * 2 + ["queue"],
        "last_call_at": [None, START + 9, None, START + 3, START + 9, None, START],
    }  # fmt: skip
    values = dict(enumerate(known[order], 1))
    await shown.decide(*(lead(number, **{order: value}) for number, value in values.items()))
    compared = {number: value.lower() if isinstance(value, str) else value for number, value in values.items()}
    numbers = [number for number in values if values[number] is not None]
    expected = sorted(numbers, key=lambda number: (compared[number], number), reverse=descending)
    expected += sorted(set(values) - set(numbers), reverse=descending)
    found = PostgresReads(shown.pool)
    pages = [
        ids(await found.leads(1, LeadFilter(), Paging(order=order, descending=descending, page=page, per_page=2)))
        for page in (1, 2, 3, 4, 5)
    ]
    assert [number for page in pages for number in page] == expected
    read: list[int] = []
    after: Any = None
    while len(read) == 0 or after is not None:
        page = await found.leads(1, LeadFilter(), Paging(order=order, descending=descending, per_page=2, after=after))
        read, after = read + ids(page), page.after
    assert read == expected


async def test_an_old_span_is_listed_by_cursor_as_a_new_one(shown: Shown) -> None:
    moments = {number: START + number * DAY for number in range(1, 21)}
    await shown.decide(*(lead(number, created_at=at) for number, at in moments.items()))
    await shown.decide(*(call(number, created_at=at, ended_at=at) for number, at in moments.items()))
    found = PostgresReads(shown.pool)
    old = LeadFilter(created_from=START + 2 * DAY, created_to=START + 6 * DAY)
    first = await found.leads(1, old, Paging(cursor=-1, per_page=3))
    assert (ids(first), first.total_count, first.next_cursor) == ([5, 4, 3], 4, 3)
    last = await found.leads(1, old, Paging(cursor=3, per_page=3))
    assert (ids(last), last.next_cursor) == ([2], 0)
    ended = CallFilter(ended_from=START + 2 * DAY, ended_to=START + 6 * DAY)
    assert ids(await found.calls(1, ended, Paging(cursor=-1))) == [5, 4, 3, 2]
    assert ids(await found.calls(1, ended, Paging(page=1, per_page=10))) == [5, 4, 3, 2]


@pytest.mark.parametrize("common", [0, 10, 1_000])
async def test_a_search_of_a_large_table_begins_with_a_sample(
    shown: Shown, monkeypatch: pytest.MonkeyPatch, common: int
) -> None:
    for name, value in {"SAMPLED": 50, "SAMPLED_MIN": 1, "SAMPLED_ERROR": 0, "COMMON_MATCHES": common}.items():
        monkeypatch.setattr(fulltext, name, value)
    await shown.decide(
        *(lead(number, columns={"full_name": f"Ann {'Lee' if number % 5 else 'Poe'}{number}"}) for number in range(1, 21))
    )
    await shown.pool.execute("ANALYZE")
    found = PostgresReads(shown.pool)
    assert ids(await found.leads(1, LeadFilter(fulltext="ann poe"), Paging())) == [20, 15, 10, 5]
    assert ids(await found.leads(1, LeadFilter(fulltext="ann lee7"), Paging())) == [7]
    assert len(ids(await found.leads(1, LeadFilter(fulltext="ann"), Paging()))) == 20


async def test_every_column_can_order_a_list(shown: Shown) -> None:
    await shown.decide(lead(1), lead(2))
    for column, descending in product(LEADS.columns, (True, False)):
        page = await PostgresReads(shown.pool).leads(1, LeadFilter(), Paging(order=column, descending=descending))
        assert sorted(ids(page)) == [1, 2], column


async def test_equal_rows_are_ordered_by_id_and_empty_ones_come_last(shown: Shown) -> None:
    await shown.decide(lead(1, buyer_id=7), lead(2), lead(3, buyer_id=7), lead(4, buyer_id=9))
    found = PostgresReads(shown.pool)
    down = await found.leads(1, LeadFilter(), Paging(order="buyer_id"))
    up = await found.leads(1, LeadFilter(), Paging(order="buyer_id", descending=False))
    assert (ids(down), ids(up)) == ([4, 3, 1, 2], [1, 3, 4, 2])


async def test_an_order_that_is_no_column_never_reaches_the_database(shown: Shown) -> None:
    with pytest.raises(ValueError, match="is not a column"):
        await PostgresReads(shown.pool).leads(1, LeadFilter(), Paging(order="id; DROP TABLE read.leads"))
    with pytest.raises(ValueError, match="is not a field"):
        await PostgresReads(shown.pool).records(1, "buyer", RecordFilter(), Paging(order="name'"))


async def test_the_newest_live_lead_of_a_number_comes_before_newer_ones_that_ended(shown: Shown) -> None:
    mine: dict[str, Any] = {"contact_key": "1|+13055550100", "caller_id": "+13055550100"}
    await shown.decide(
        lead(1, schedule_id=3, **mine), lead(2, schedule_id=3, **mine), lead(3, schedule_id=3, status="expired", **mine)
    )
    await shown.decide(lead(4, schedule_id=4, **mine), lead(5, offer_id=9, **mine), lead(6, schedule_id=3))
    found = PostgresReads(shown.pool)
    key = "1|+13055550100"

    async def newest(offer_id: int | None, *schedule_ids: int) -> int | None:
        row = await found.newest_lead(1, key, offer_id=offer_id, schedule_ids=schedule_ids)
        return None if row is None else int(row["id"])

    assert [await newest(None, 3), await newest(None, 4), await newest(9), await newest(9, 3, 4)] == [2, 4, 5, 5]
    await shown.decide(removed=("lead/1", "lead/2"))
    assert await newest(None, 3) == 3
    assert await newest(8, 5) is None
    assert await found.newest_lead(2, key, offer_id=9, schedule_ids=[3]) is None
    assert await found.newest_lead(1, "\0", offer_id=9, schedule_ids=[3]) is None


async def test_the_history_of_a_lead_is_read_newest_first_and_outlives_it(shown: Shown) -> None:
    await shown.decide(lead(5), facts=(Fact(type="lead.submitted", lead_id=5), Fact(type="lead.planned", lead_id=5)))
    waited = Fact(type="lead.held", lead_id=5, call_id=9, data={"reasons": ["quiet_hours_state"], "n": 1})
    await shown.decide(removed=("lead/5",), facts=(waited, Fact(type="lead.submitted", lead_id=6)), at=START + 5)
    rows = await PostgresReads(shown.pool).lead_history(1, 5)
    assert [(row["type"], row["reasons"]) for row in rows] == [
        ("lead.held", ["quiet_hours_state"]),
        ("lead.planned", None),
        ("lead.submitted", None),
    ]
    assert (rows[0]["call_id"], rows[0]["data"]["n"], from_datetime(rows[0]["at"])) == (9, 1, START + 5)
    assert await PostgresReads(shown.pool).lead_history(2, 5) == []


async def test_calls_and_contacts_are_shown(shown: Shown) -> None:
    call = Call(
        id=4, uuid=uuid_of("call", 4), company_id=1, contact_key="1|+13055550100", created_at=START, updated_at=START,
        lead_id=5, command_id="c", number_called="+13055550100", ended_at=START + 9,
    )  # fmt: skip
    head = Head(
        company_id=1, contact_key="1|+13055550100", version=3, lead_ids=(5,), opted_out_at=START + 1,
        ledger=(Attempt(START, "call", "c"), Attempt(START + 2, "sms", "d")), disabled_until={"sms": START + 3},
    )  # fmt: skip
    await shown.decide(call, head)
    found = PostgresReads(shown.pool)
    row, same = await found.call(1, 4), await found.call(1, uuid_of("call", 4))
    assert row is not None
    assert row == same
    assert from_datetime(row["ended_at"]) == START + 9
    contact = await found.contact(1, "1|+13055550100")
    assert contact is not None
    assert (contact["attempts_count"], from_datetime(contact["last_attempt_at"])) == (2, START + 2)
    assert (contact["lead_ids"], contact["disabled_until"]) == ([5], {"sms": START + 3})
    assert await found.contact(2, "1|+13055550100") is None


async def test_the_history_of_a_call_is_its_companys_own(shown: Shown) -> None:
    await shown.decide(call(4), facts=(Fact(type="call.ringing", lead_id=5, call_id=4),))
    found = PostgresReads(shown.pool)
    assert [row["type"] for row in await found.call_history(1, 4)] == ["call.ringing"]
    assert await found.call_history(2, 4) == []


async def test_a_record_that_leaves_a_field_out_stands_where_its_default_does(shown: Shown) -> None:
    gone = record(5, name="Gone")
    gone.deleted_at = START + 9
    await shown.decide(
        record(1, name="a", tier=-1), record(2, name="b"), record(3, name="c", tier=0), record(4, name="d", tier=2), gone
    )
    found = PostgresReads(shown.pool)
    page = await found.records(1, "buyer_group", RecordFilter(), Paging(order="tier", per_page=4))
    assert (ids(page), page.total_count) == ([4, 2, 3, 1], 4)


async def test_equal_rows_stand_by_creation_before_id(shown: Shown) -> None:
    await shown.decide(
        lead(1, buyer_id=7, created_at=START + 9), lead(2, buyer_id=7, created_at=START + 5), lead(3, created_at=START + 8),
        lead(4, created_at=START + 7),
    )  # fmt: skip
    found = PostgresReads(shown.pool)
    for order, expected in (("buyer_id", [1, 2, 3, 4]), ("revenue", [1, 3, 4, 2]), ("status", [1, 3, 4, 2])):
        assert ids(await found.leads(1, LeadFilter(), Paging(order=order))) == expected, order
        reverse = ids(await found.leads(1, LeadFilter(), Paging(order=order, descending=False)))
        assert reverse == (expected[::-1] if order != "buyer_id" else [2, 1, 4, 3]), order


async def test_records_are_found_and_listed_by_type(shown: Shown) -> None:
    gone = record(4, name="Gone")
    gone.deleted_at = START + 9
    await shown.decide(
        record(1, name="West", weight=3), record(2, name="East", paused=True), record(3, name="North", weight=2), gone
    )
    await shown.decide(record(1, "buyer", name="Ben", number="+13055550111"), record(9, company=2, name="Theirs"))
    found = PostgresReads(shown.pool)

    async def listed(wanted: RecordFilter, **paging: Any) -> list[int]:
        return ids(await found.records(1, "buyer_group", wanted, Paging(**paging)))

    assert await listed(RecordFilter()) == [3, 2, 1]
    assert await listed(RecordFilter(paused=True)) == [2]
    assert await listed(RecordFilter(paused=False)) == [3, 1]
    assert await listed(RecordFilter(fulltext="NOR")) == [3]
    assert await listed(RecordFilter(ids=(1, 2))) == [2, 1]
    assert await listed(RecordFilter(created_from=START + 2000, created_to=START + 3000)) == [2]
    assert await listed(RecordFilter(), order="name", descending=False) == [2, 3, 1]
    assert await listed(RecordFilter(), order="weight") == [1, 3, 2]  # the default weight is 1
    assert await listed(RecordFilter(), cursor=-1, per_page=2) == [3, 2]
    row = await found.record(1, "buyer_group", 4)
    assert row is not None
    assert (row["body"], from_datetime(row["deleted_at"])) == ({"name": "Gone"}, START + 9)
    assert await found.record(1, "buyer_group", uuid_of("buyer_group", 4)) == row
    assert await found.record(1, "buyer", 4) is None
    assert await found.record(1, "buyer_group", 9) is None


async def test_a_ping_tells_whether_the_schema_is_there(shown: Shown) -> None:
    await PostgresReads(shown.pool).ping()
    async with shown.pool.acquire() as connection:
        await connection.execute("DELETE FROM read.migrations WHERE number = (SELECT max(number) FROM read.migrations)")
    with pytest.raises(ReadsUnavailableError, match="older"):
        await PostgresReads(shown.pool).ping()
    away = await open_pool("postgresql://nobody@127.0.0.1:1/nothing")
    with pytest.raises(ReadsUnavailableError):
        await PostgresReads(away).ping()
    await away.close()
