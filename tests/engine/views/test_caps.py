"""Which caps of a group are hit, until when, and which buyers can take a call meanwhile?"""

from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal
from typing import Any

import msgspec
import pytest
from msgspec import structs

from engine.account.bodies import read_body
from engine.account.caps import RESERVED, blocking_caps, first_reset, period_of, used_now
from engine.account.groups import METRICS, PERIODS
from engine.rules import Rules
from engine.views.buyers import Capacity, availability, resources, ways
from engine.views.caps import caps_hit, is_maxed_out, order_key, used_of
from schemas.account import CapUsage
from schemas.instant import EPOCH, HOUR, MINUTE, SECOND, Instant, from_datetime
from schemas.records import Body, Buyer, BuyerGroup, Number, Offer, Record, Schedule, TrafficSource, plain
from schemas.schedule import CallStep, Connect, Window
from tests.engine.contact.world import NEW_YORK, at

NOW = at("2026-07-15 14:20")


def _group(**fields: Any) -> BuyerGroup:
    return BuyerGroup(**{"name": "Solar", "buyer_ids": (70,), "time_zone": NEW_YORK, **fields})


def _tallies(
    used: Mapping[str, float | Decimal], group: BuyerGroup, now: Instant = NOW, *, is_open: bool = False
) -> dict[str, CapUsage]:
    """Return the counters of an account in which so much is used: confirmed, or reserved by calls under way."""
    found: dict[str, CapUsage] = {}
    for cap, amount in used.items():
        metric, _, period = cap.rpartition("_")
        begins, ends = period_of(period, now, group)
        tally = found.setdefault(period, CapUsage(began_at=begins or EPOCH, ends_at=ends))
        if is_open and metric in RESERVED:
            tally.open[metric] = int(amount)
        else:
            tally.used[metric] = Decimal(amount)
    return found


@pytest.mark.parametrize(
    ("period", "now", "begins", "ends"),
    [
        ("hourly", "2026-07-15 14:20", "2026-07-15 14:00", "2026-07-15 15:00"),
        ("daily", "2026-07-15 14:20", "2026-07-15 00:00", "2026-07-16 00:00"),
        ("monthly", "2026-07-15 14:20", "2026-07-01 00:00", "2026-08-01 00:00"),
        ("monthly", "2026-12-31 23:59", "2026-12-01 00:00", "2027-01-01 00:00"),
        ("daily", "2026-03-08 12:00", "2026-03-08 00:00", "2026-03-09 00:00"),
        ("daily", "2026-11-01 12:00", "2026-11-01 00:00", "2026-11-02 00:00"),
    ],
)
def test_a_period_is_of_the_groups_own_clock(period: str, now: str, begins: str, ends: str) -> None:
    assert period_of(period, at(now), _group()) == (at(begins), at(ends))


def test_a_day_on_which_the_clock_changes_is_shorter_or_longer() -> None:
    lengths = []
    for now in ("2026-03-08 12:00", "2026-11-01 12:00"):
        begins, ends = period_of("daily", at(now), _group())
        assert begins is not None
        assert ends is not None
        lengths.append(ends - begins)
    assert lengths == [23 * HOUR, 25 * HOUR]


def test_what_is_used_in_total_counts_from_its_reset_and_is_never_reset_by_time() -> None:
    assert period_of("total", NOW, _group()) == (None, None)
    assert period_of("total", NOW, _group(total_caps_reset_at=7)) == (Instant(7), None)


def test_each_metric_is_a_sum_of_the_groups_calls() -> None:
    sums = {
        "calls_count": 5,
        "no_buyer_count": 2,
        "buyer_converted_count": 1,
        "revenue": Decimal("40.3"),
        "payout": Decimal("0.1"),
    }
    assert used_of("daily", sums) == {
        "attempt_daily": 5,
        "buyer_conversion_daily": 1,
        "connection_daily": 3,
        "earned_revenue_daily": Decimal("40.2"),
        "revenue_daily": Decimal("40.3"),
    }
    assert set(used_of("total", None).values()) == {0}


@pytest.mark.parametrize(
    ("caps", "used", "hit", "opens"),
    [
        ({}, {}, (), None),
        ({"attempt_daily": 3}, {"attempt_daily": 2}, (), None),
        ({"attempt_daily": 3}, {"attempt_daily": 3}, ("attempt_daily",), "2026-07-16 00:00"),
        ({"attempt_hourly": 1, "revenue_monthly": 50}, {"attempt_hourly": 1, "revenue_monthly": 50.5},
         ("attempt_hourly", "revenue_monthly"), "2026-08-01 00:00"),
        ({"attempt_hourly": 1, "attempt_total": 9}, {"attempt_hourly": 1, "attempt_total": 9},
         ("attempt_hourly", "attempt_total"), None),
        ({"attempt_daily": 0}, {}, ("attempt_daily",), None),
    ],
)  # fmt: skip
def test_a_group_opens_when_the_last_of_its_caps_is_reset(
    caps: dict[str, Any], used: dict[str, Any], hit: tuple[str, ...], opens: str | None
) -> None:
    group = _group(caps=caps)
    assert caps_hit(group, used) == hit
    assert is_maxed_out(group, used, 0) == bool(hit)
    tallies = _tallies(used, group)
    assert {cap: amount for cap, amount in used_now(tallies, group, NOW).items() if amount} == used
    found = blocking_caps(tallies, group, NOW)
    assert (found.caps if found else ()) == hit
    assert (found.until if found else None) == (None if opens is None else at(opens))


def test_a_list_is_ordered_by_the_earliest_reset_by_use_and_by_what_is_in_progress() -> None:
    group = _group(caps={"attempt_hourly": 1, "attempt_daily": 1}, concurrency_cap_limit=2)
    used = {"attempt_hourly": 1, "attempt_daily": 4}
    tallies = _tallies(used, group)
    assert first_reset(tallies, group, caps_hit(group, used), NOW) == at("2026-07-15 15:00")
    assert order_key("cap_reset_at", group, used, 0, NOW, tallies) == at("2026-07-15 15:00")
    assert order_key("cap_reset_at", group, {}, 0, NOW, {}) is None
    assert order_key("call_limits.attempt_daily_used", group, used, 0, NOW, tallies) == 4
    assert order_key("call_limits.in_progress_count", group, used, 2, NOW, tallies) == 2
    assert order_key("maxed_out", group, {}, 2, NOW, {}) is True


# -- which buyers could take a call ------------------------------------------------------------------------------------


def _rules(**bodies: Body) -> Rules:
    rules = Rules()
    for place, (name, body) in enumerate(bodies.items(), 1):
        kind, _, number = name.rpartition("_")
        record = Record(
            type=kind, id=int(number), uuid=name, company_id=1, version=1, sequence=place, created_at=EPOCH,
            updated_at=EPOCH, body=plain(body),
        )  # fmt: skip
        rules.apply(0, record)
    return rules


ROW: dict[str, Any] = {
    "schedule_id": None, "schedule_version": None, "company_id": 1, "offer_id": 9,
    "status": "captured", "opt_out": False, "blocked": False,
}  # fmt: skip


@pytest.mark.parametrize(
    ("group", "used", "held", "reason", "opens"),
    [
        ({}, {}, {}, None, None),
        ({"paused": True}, {}, {}, "paused", None),
        ({"caps": {"attempt_hourly": 2}}, {"attempt_hourly": 2}, {}, "hourly_cap", "2026-07-15T19:00:00Z"),
        ({"caps": {"attempt_hourly": 2}}, {"attempt_hourly": 1}, {}, None, None),
        ({"caps": {"attempt_total": 2}}, {"attempt_total": 2}, {}, "total_cap", None),
        ({"caps": {"attempt_hourly": 2, "revenue_daily": 5}}, {"attempt_hourly": 2, "revenue_daily": 5}, {}, "hourly_cap",
         "2026-07-16T04:00:00Z"),
        ({"concurrency_cap_limit": 2}, {}, {"buyer_group/7": (1, 5)}, None, None),
        ({"concurrency_cap_limit": 2}, {}, {"buyer/70": (3, 0), "buyer_group/7": (1, 0)}, "concurrency", None),
        ({"concurrency_cap_limit": 1}, {}, {"buyer_group/7": (1, 0)}, "concurrency", None),
        ({"caps": {"attempt_hourly": 2}, "concurrency_cap_limit": 1}, {"attempt_hourly": 2}, {"buyer_group/7": (1, 0)},
         "hourly_cap", None),
    ],
)  # fmt: skip
def test_a_buyer_is_free_again_when_the_caps_in_its_way_are_reset_and_nothing_else_is(
    group: dict[str, Any], used: dict[str, float], held: dict[str, tuple[int, int]], reason: str | None, opens: str | None
) -> None:
    rules = _rules(
        buyer_70=Buyer(name="Ann", number="+12125550140", concurrency_cap_limit=3),
        buyer_group_7=_group(**group),
        offer_9=Offer(name="Solar", lead_token="lt", buyer_group_ids=(7,)),
    )
    tallies = {"buyer_group/7": _tallies(used, _group(**group))}
    capacity_shown = availability(ROW, ways(ROW, rules), Capacity(rules, held, tallies, NOW))
    assert capacity_shown == {
        "available": reason is None,
        "buyer_ids": [70] if reason is None else [],
        "next_available_at": opens,
        "reasons": {} if reason is None else {"70": reason},
    }


def test_it_is_unknown_when_an_open_call_releases_what_it_reserved() -> None:
    group = _group(caps={"attempt_hourly": Decimal(2)})
    rules = _rules(
        buyer_70=Buyer(name="Ann", number="+12125550140", caps={"connection_daily": Decimal(1)}, time_zone=NEW_YORK),
        buyer_group_7=group,
        offer_9=Offer(name="Solar", lead_token="lt", buyer_group_ids=(7,)),
    )
    reserved = {"buyer_group/7": _tallies({"attempt_hourly": 2}, group, is_open=True)}
    capacity_shown = availability(ROW, ways(ROW, rules), Capacity(rules, {}, reserved, NOW))
    assert (capacity_shown["reasons"], capacity_shown["next_available_at"]) == ({"70": "hourly_cap"}, None)
    confirmed = {"buyer/70": _tallies({"connection_daily": 1}, group)}
    capacity_shown = availability(ROW, ways(ROW, rules), Capacity(rules, {}, confirmed, NOW))
    assert (capacity_shown["reasons"], capacity_shown["next_available_at"]) == ({"70": "daily_cap"}, "2026-07-16T04:00:00Z")


def test_no_buyer_can_take_a_call_of_a_lead_whose_traffic_source_has_used_up_its_caps() -> None:
    source = TrafficSource(name="Ads", caps={"connection_daily": Decimal(1)}, time_zone=NEW_YORK)
    rules = _rules(
        buyer_70=Buyer(name="Ann", number="+12125550140"),
        offer_9=Offer(name="Solar", lead_token="lt", buyer_ids=(70,)),
        traffic_source_5=source,
    )
    row = {**ROW, "traffic_source_id": 5}
    found = ways(row, rules)
    assert resources(row, found, rules) == ["buyer/70", "traffic_source/5"]
    tallies = {"traffic_source/5": _tallies({"connection_daily": 1}, _group())}
    capacity_shown = availability(row, found, Capacity(rules, {}, tallies, NOW))
    assert (capacity_shown["reasons"], capacity_shown["next_available_at"]) == (
        {"70": "traffic_source_daily_cap"},
        "2026-07-16T04:00:00Z",
    )


def test_no_buyer_can_take_a_call_of_a_lead_whose_number_has_used_up_its_caps() -> None:
    rules = _rules(
        buyer_70=Buyer(name="Ann", number="+12125550140"),
        offer_9=Offer(name="Solar", lead_token="lt", buyer_ids=(70,)),
        number_6=Number(number="+12125550150", caps={"attempt_daily": Decimal(1)}, time_zone=NEW_YORK),
    )
    row = {**ROW, "svc_number": "+12125550150"}
    found = ways(row, rules)
    assert resources(row, found, rules) == ["buyer/70", "number/6"]
    tallies = {"number/6": _tallies({"attempt_daily": 1}, _group())}
    shown = availability(row, found, Capacity(rules, {}, tallies, NOW))
    assert (shown["reasons"], shown["next_available_at"]) == ({"70": "number_daily_cap"}, "2026-07-16T04:00:00Z")


DAY_OF_WORK = msgspec.convert(
    [{"days": ["mon", "tue", "wed", "thu", "fri"], "open": "09:00", "close": "14:00"}], tuple[Window, ...]
)


@pytest.mark.parametrize("period", PERIODS)
@pytest.mark.parametrize("metric", METRICS)
def test_each_cap_that_can_be_set_closes_the_group_where_its_own_metric_has_reached_it(metric: str, period: str) -> None:
    asked = {"name": "Solar", "buyer_ids": [70], f"{metric}_{period}_limit": 2}
    group = read_body("buyer_group", asked, None, now=NOW, exists=None).body
    assert isinstance(group, BuyerGroup)
    rules = _rules(
        buyer_70=Buyer(name="Ann", number="+12125550140"),
        buyer_group_7=group,
        offer_9=Offer(name="Solar", lead_token="lt", buyer_group_ids=(7,)),
    )
    reached: dict[str, Decimal | int] = {f"{other}_{span}": 2 for other in METRICS for span in PERIODS}
    cap = f"{metric}_{period}"
    for used, is_hit in ((reached, True), ({**reached, cap: Decimal("1.99")}, False), ({cap: 2}, True), ({}, False)):
        tallies = {"buyer_group/7": _tallies(used, group)}
        capacity_shown = availability(ROW, ways(ROW, rules), Capacity(rules, {}, tallies, NOW))
        assert capacity_shown["reasons"] == ({"70": f"{period}_cap"} if is_hit else {}), used
        assert is_maxed_out(group, used, 0) is is_hit


@pytest.mark.parametrize(
    ("now", "used", "reason", "opens"),
    [
        ("2026-07-15 13:59", {}, None, None),
        ("2026-07-15 14:00", {}, "hours", "2026-07-16T13:00:00Z"),
        ("2026-07-17 14:00", {}, "hours", "2026-07-20T13:00:00Z"),
        ("2026-07-15 13:30", {"attempt_hourly": 9}, "hourly_cap", "2026-07-16T13:00:00Z"),
        ("2026-07-15 12:30", {"attempt_hourly": 9}, "hourly_cap", "2026-07-15T17:00:00Z"),
        ("2026-07-15 14:30", {"attempt_hourly": 9}, "hours", "2026-07-16T13:00:00Z"),
    ],
)
@pytest.mark.parametrize("whose", ["buyer", "group"])
def test_a_buyer_is_free_again_within_its_hours_and_those_of_its_group(
    whose: str, now: str, used: dict[str, float], reason: str | None, opens: str | None
) -> None:
    hours: dict[str, Any] = {"business_hours": DAY_OF_WORK, "time_zone": NEW_YORK}
    rules = _rules(
        buyer_70=Buyer(name="Ann", number="+12125550140", **(hours if whose == "buyer" else {})),
        buyer_group_7=_group(caps={"attempt_hourly": Decimal(2)}, **(hours if whose == "group" else {})),
        offer_9=Offer(name="Solar", lead_token="lt", buyer_group_ids=(7,)),
    )
    tallies = {"buyer_group/7": _tallies(used, _group(caps={"attempt_hourly": Decimal(2)}), at(now))}
    capacity_shown = availability(ROW, ways(ROW, rules), Capacity(rules, {}, tallies, at(now)))
    assert (capacity_shown["reasons"].get("70"), capacity_shown["next_available_at"]) == (reason, opens)


def test_no_buyer_takes_a_suppressed_person_nor_does_a_paused_deleted_or_foreign_buyer() -> None:
    rules = _rules(
        buyer_70=Buyer(name="Ann", number="+12125550140"),
        buyer_71=Buyer(name="Bob", number="+12125550141", paused=True),
        offer_9=Offer(name="Solar", lead_token="lt", buyer_ids=(70, 71, 72, 73)),
    )
    theirs = Buyer(name="Eve", number="+12125550142")
    for number, company_id, deleted_at in ((72, 2, None), (73, 1, Instant(5))):
        record = Record(
            type="buyer", id=number, uuid=str(number), company_id=company_id, version=1, sequence=number, created_at=EPOCH,
            updated_at=EPOCH, deleted_at=deleted_at, body=plain(theirs),
        )  # fmt: skip
        rules.apply(0, record)
    capacity = Capacity(rules, {}, {}, NOW)
    capacity_shown = availability(ROW, ways(ROW, rules), capacity)
    assert (capacity_shown["buyer_ids"], capacity_shown["reasons"]) == ([70], {"71": "paused"})
    for name, value in (("opt_out", True), ("blocked", True), ("status", "dnc")):
        row = {**ROW, name: value}
        assert availability(row, ways(row, rules), capacity)["reasons"] == {"70": "suppressed", "71": "suppressed"}


def test_a_buyer_that_one_way_leads_to_is_free_whatever_stands_in_the_others() -> None:
    rules = _rules(
        buyer_70=Buyer(name="Ann", number="+12125550140"),
        buyer_group_7=_group(),
        buyer_group_8=_group(paused=True),
        offer_9=Offer(name="Solar", lead_token="lt", buyer_group_ids=(7, 8)),
        offer_10=Offer(name="Roofs", lead_token="lt2", buyer_group_ids=(8, 7)),
    )
    for offer_id in (9, 10):
        row = {**ROW, "offer_id": offer_id}
        capacity_shown = availability(row, ways(row, rules), Capacity(rules, {}, {}, NOW))
        assert (capacity_shown["buyer_ids"], capacity_shown["reasons"]) == ([70], {})


def test_a_lead_asks_the_buyers_of_the_version_of_its_schedule_that_it_is_on() -> None:
    def schedule(buyer_id: int) -> Schedule:
        return Schedule(
            name="S", lead_token="lt_s", offer_id=9, steps=(CallStep(id="call", connect=Connect(buyer_ids=(buyer_id,))),)
        )

    rules = _rules(
        buyer_70=Buyer(name="Ann", number="+12125550140"),
        buyer_71=Buyer(name="Bob", number="+12125550141"),
        buyer_72=Buyer(name="Cid", number="+12125550142"),
        schedule_5=schedule(70),
        offer_9=Offer(name="Solar", lead_token="lt", buyer_ids=(72,)),
    )
    former = rules.record("schedule", 5)
    assert former is not None
    rules.apply(0, structs.replace(former, version=2, sequence=99, body=plain(schedule(71))))
    row = {**ROW, "schedule_id": 5, "offer_id": None}
    assert ways({**row, "schedule_version": 1}, rules) == [(None, 70), (None, 72)]
    assert ways({**row, "schedule_version": 2}, rules) == [(None, 71), (None, 72)]
    assert ways({**row, "schedule_version": None}, rules) == [(None, 71), (None, 72)]


def test_buyers_stand_by_the_tier_and_weight_of_their_group_then_by_their_own() -> None:
    rules = _rules(
        buyer_70=Buyer(name="Ann", number="+12125550140", tier=2),
        buyer_71=Buyer(name="Bob", number="+12125550141", weight=5),
        buyer_72=Buyer(name="Cid", number="+12125550142", weight=9),
        buyer_73=Buyer(name="Dan", number="+12125550143", tier=-2),
        buyer_74=Buyer(name="Eve", number="+12125550144"),
        buyer_75=Buyer(name="Fay", number="+12125550145", tier=9),
        buyer_group_7=_group(buyer_ids=(70, 71, 72)),
        buyer_group_8=_group(buyer_ids=(75,), tier=1, weight=3),
        buyer_group_9=_group(buyer_ids=(74,), tier=-1),
        offer_9=Offer(name="Solar", lead_token="lt", buyer_group_ids=(7, 8, 9), buyer_ids=(73,)),
    )
    assert ways(ROW, rules) == [(None, 73), (9, 74), (8, 75), (7, 72), (7, 71), (7, 70)]
    capacity_shown = availability(ROW, ways(ROW, rules), Capacity(rules, {}, {}, NOW))
    assert capacity_shown["buyer_ids"] == [73, 74, 75, 72, 71, 70]


def test_the_first_of_several_buyers_counts() -> None:
    rules = _rules(
        buyer_70=Buyer(name="Ann", number="+12125550140"),
        buyer_71=Buyer(name="Bob", number="+12125550141"),
        buyer_group_7=_group(caps={"attempt_daily": 1}),
        buyer_group_8=_group(caps={"attempt_hourly": 1}, buyer_ids=(71,)),
        offer_9=Offer(name="Solar", lead_token="lt", buyer_group_ids=(7, 8)),
    )
    used = {
        "buyer_group/7": _tallies({"attempt_daily": 1.0}, _group()),
        "buyer_group/8": _tallies({"attempt_hourly": 1.0}, _group()),
    }
    capacity_shown = availability(ROW, ways(ROW, rules), Capacity(rules, {}, used, NOW + MINUTE))
    assert (capacity_shown["next_available_at"], capacity_shown["reasons"]) == (
        "2026-07-15T19:00:00Z",
        {"70": "daily_cap", "71": "hourly_cap"},
    )


def test_the_spacing_of_a_group_and_of_its_buyer_ends_at_a_known_second() -> None:
    rules = _rules(
        buyer_70=Buyer(name="Ann", number="+12125550140", spacing_seconds=45),
        buyer_71=Buyer(name="Bob", number="+12125550141"),
        buyer_group_7=_group(buyer_ids=(70, 71), spacing_seconds=20),
        offer_9=Offer(name="Solar", lead_token="lt", buyer_group_ids=(7,)),
    )
    granted = {"buyer/70": NOW, "buyer_group/7": NOW}
    found = availability(ROW, ways(ROW, rules), Capacity(rules, {}, {}, NOW, granted))
    assert found["reasons"] == {"70": "spacing", "71": "spacing"}
    assert _instant(found["next_available_at"]) == NOW + 20 * SECOND
    later = availability(ROW, ways(ROW, rules), Capacity(rules, {}, {}, NOW + 20 * SECOND, granted))
    assert (later["buyer_ids"], later["reasons"]) == ([71], {"70": "spacing"})
    assert availability(ROW, ways(ROW, rules), Capacity(rules, {}, {}, NOW + 45 * SECOND, granted))["reasons"] == {}


def test_where_hours_close_before_a_spacing_is_over_the_next_opening_counts() -> None:
    day = Window(days=("wed", "thu"), open="09:00", close="17:00")
    buyer = Buyer(
        name="Ann", number="+12125550140", spacing_seconds=3_600, business_hours=(day,), time_zone="America/New_York"
    )
    rules = _rules(buyer_70=buyer, offer_9=Offer(name="Solar", lead_token="lt", buyer_ids=(70,)))
    now = at("2026-07-15 16:30")
    found = availability(ROW, ways(ROW, rules), Capacity(rules, {}, {}, now, {"buyer/70": now}))
    assert (found["reasons"], _instant(found["next_available_at"])) == ({"70": "spacing"}, at("2026-07-16 09:00"))


def _instant(text: str) -> Instant:
    return from_datetime(datetime.fromisoformat(text))
