"""Do reports say what a recount in plain Python says, to the row, on random data and across a change of the clock?"""

import csv
import io
import random
import threading
from collections import defaultdict
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any
from zoneinfo import ZoneInfo

import msgspec
import pytest
import pytest_asyncio

from adapters.http.reports import reports
from adapters.postgres.rollups import Rollups
from engine.views.report import ACTIVITY_DAYS, CALL_CATEGORIES, CALL_GROUPS, LEAD_CATEGORIES, STATS, grouping
from schemas.contact import Call, Lead
from schemas.decisions import Cause
from schemas.instant import HOUR, Instant, from_datetime, to_datetime
from tests.adapters.http.conftest import unquoted
from tests.adapters.postgres.projected_rows import Shown, call, lead

pytestmark = pytest.mark.asyncio(loop_scope="session")

NEW_YORK = ZoneInfo("America/New_York")
SPRING = datetime(2026, 3, 6, tzinfo=NEW_YORK)  # the clock loses an hour on the 8th
AUTUMN = datetime(2026, 10, 30, tzinfo=NEW_YORK)  # and shows one twice on the 1st of November
DAYS = 5
COUNT = 150
CONNECTED = {"connected_human", "connected_buyer"}


class World:
    """A company with random leads and calls around a change of the clock."""

    def __init__(self, company: Any, leads: list[Lead], calls: list[Call], begin: datetime) -> None:
        self.company = company
        self.leads = leads
        self.calls = calls
        self.begin = begin
        self.span = {
            "created_at_from": begin.strftime("%Y-%m-%d 00:00:00"),
            "created_at_to": (begin + timedelta(days=DAYS)).strftime("%Y-%m-%d 00:00:00"),
            "time_zone": "America/New_York",
        }

    @property
    def imports(self) -> dict[int, int | None]:
        """Lead -> the import that made it."""
        return {one.id: one.lead_import_id for one in self.leads}

    async def get(self, path: str, **query: str) -> Any:
        answer = await self.company.send("GET", path, params={**self.span, "per_page": "100", **query})
        assert answer.status_code == 200, answer.text
        return answer.json()


@pytest_asyncio.fixture(
    scope="module",
    loop_scope="session",
    params=[(SPRING, "no"), (SPRING, "some"), (AUTUMN, "all")],
    ids=["spring-from-rows", "spring-from-rows-and-sums", "autumn-from-sums"],
)
async def world(town: Any, request: pytest.FixtureRequest) -> AsyncIterator[World]:
    company = await town.company()
    dice = random.Random(company.id)
    shown = Shown(town.pool, topic=f"reports.{company.id}")
    begin: datetime = request.param[0]
    rolled: str = request.param[1]
    first = company.id * 100_000
    leads = [_lead(dice, first + place, company.id, begin) for place in range(COUNT)]
    calls = [_call(dice, first + place, company.id, begin, dice.choice(leads)) for place in range(COUNT)]
    await shown.decide(*leads, *calls)
    gone = lead(first + COUNT, company=company.id, created_at=leads[0].created_at)
    await shown.decide(gone)
    await shown.decide(
        removed=(f"lead/{gone.id}",), cause=Cause(kind="request", id=f"gone-{company.id}", key=gone.contact_key)
    )
    if rolled != "no":
        rollups = Rollups(town.pool)
        assert await rollups.run() > 0
        assert await rollups.run() == 0
    if rolled == "some":
        leads[::9] = [_changed(dice, one) for one in leads[::9]]
        calls[::9] = [_changed(dice, one) for one in calls[::9]]
        calls.append(_call(dice, first + COUNT, company.id, begin, leads[0]))
        await shown.decide(*leads[::9], *calls[::9], calls[-1])
    yield World(company, leads, calls, begin)
    await shown.store.close()


def _changed(dice: random.Random, one: Any) -> Any:
    status = "expired" if isinstance(one, Lead) else "busy"
    return msgspec.structs.replace(one, status=status, revenue=dice.choice([1.0, 2.0]), version=one.version + 1)


def _moment(dice: random.Random, begin: datetime) -> Instant:
    """Within the span, and often within the hours around the change."""
    start, hours = from_datetime(begin.astimezone(UTC)), dice.choice([24 * DAYS - 2, 60])
    return start + dice.randrange(hours * 3_600_000)


def _lead(dice: random.Random, number: int, company: int, begin: datetime) -> Lead:
    at = _moment(dice, begin)
    connected = dice.random() < 0.3
    columns = {"state_province": dice.choice(["CA", "NY"]), "zip_postal_code": dice.choice(["90001", "10001", "60601"])}
    return lead(
        number,
        company=company,
        created_at=at,
        status=dice.choice(["scheduled", "completed", "expired", "opt_out"]),
        offer_id=dice.choice([None, 1, 2]),
        schedule_id=dice.choice([11, 12]),
        step=dice.choice([None, "call-1", "text-1"]),
        columns=columns if dice.random() < 0.8 else {},
        states=dice.choice([(), ("TX", "CA")]),
        data=dice.choice([{}, {"roof": "flat"}, {"roof": "steep", "floors": 2}]),
        connected=connected,
        buyer_converted=dice.random() < 0.2,
        offer_converted=dice.random() < 0.2,
        outbound_calls_count=dice.randrange(4),
        inbound_calls_count=dice.randrange(2),
        sms_count=dice.randrange(2),
        revenue=dice.choice([0.0, 10.1, 7.2]),
        cost=dice.choice([0.0, 0.0125]),
        payout=dice.choice([0.0, 3.3]),
        opt_out=dice.random() < 0.1,
        first_action_at=dice.choice([None, at + 90_000]),
        last_action_at=dice.choice([None, at + 20 * HOUR]),
        schedule_trigger_type=dice.choice([None, "api"]),
        dial_tier=dice.choice([None, -1, 2]),
        lead_import_id=dice.choice([None, 7, 8]),
    )


def _call(dice: random.Random, number: int, company: int, begin: datetime, of: Lead) -> Call:
    at = _moment(dice, begin)
    outcome = dice.choice(["no_answer", "busy", "connected_human", "connected_buyer", "abandoned_by_us", "voicemail", None])
    return call(
        number,
        company=company,
        created_at=at,
        lead_id=of.id,
        outcome=outcome,
        status=dice.choice(["no-answer", "busy", "finished"]),
        direction=dice.choice(["outbound", "inbound"]),
        from_number="+13055550009",
        origin=dice.choice(["schedule", "inbound"]),
        time_zone=dice.choice([None, "America/New_York", "Asia/Kolkata", "Mars/Olympus"]),
        state=dice.choice([None, "CA"]),
        offer_id=dice.choice([None, 1]),
        schedule_id=dice.choice([11, 12]),
        traffic_source_id=dice.choice([None, 8, 9]),
        buyer_id=dice.choice([None, 5]),
        buyer_group_id=dice.choice([None, 3, 4]),
        attempt_number=dice.randrange(4),
        schedule_action_id=dice.choice(["call-1", "call-2"]),
        call_disposition_id=dice.choice([None, 3, 4]),
        buyer_converted=dice.random() < 0.2,
        offer_converted=dice.random() < 0.1,
        talk_seconds=dice.randrange(1, 200),
        ended_at=at + 1000 * dice.randrange(300),
        revenue=dice.choice([0.0, 10.1]),
        payout=dice.choice([0.0, 3.3]),
        cost=0.01,
    )


# -- the recount ------------------------------------------------------------------------------------------------------------


def _time(name: str, at: Instant, zone: ZoneInfo = NEW_YORK) -> str:
    local = to_datetime(at).astimezone(zone)
    if name == "created_at_day":
        return local.strftime("%Y-%m-%d")
    if name == "created_at_week":
        return (local.date() - timedelta(days=local.weekday())).isoformat()
    if name == "created_at_month":
        return local.strftime("%Y-%m")
    minute = 0 if name == "created_at_hour" else local.minute // 5 * 5
    return local.replace(minute=minute, second=0, microsecond=0).isoformat(timespec="minutes")


def _day(at: Instant | None) -> str | None:
    return None if at is None else _time("created_at_day", at)


def _lead_keys(name: str, one: Lead, calls: list[Call]) -> list[Any]:
    if name.startswith("created_at_"):
        return [_time(name, one.created_at)]
    if name == "token_values_map":
        return [f"{key}:{value}" for key, value in one.data.items()] or [None]
    own = sorted((c for c in calls if c.lead_id == one.id), key=lambda c: (c.created_at, c.id))
    converted = [c for c in own if c.buyer_converted] if one.buyer_converted else []
    disposed = [c.call_disposition_id for c in own if c.call_disposition_id is not None]
    special: dict[str, Callable[[], Any]] = {
        "schedule_action_id": lambda: one.step,
        "buyer_converted_schedule_action_id": lambda: converted[-1].schedule_action_id if converted else None,
        "buyer_converted_days": lambda: (converted[-1].created_at - one.created_at) // 86_400_000 if converted else None,
        "recent_call_disposition_id": lambda: disposed[-1] if disposed else None,
        "state": lambda: one.columns.get("state_province") or (one.states[0] if one.states else None),
        "first_action_at_day": lambda: _day(one.first_action_at),
        "last_action_at_day": lambda: _day(one.last_action_at),
    }
    if name in special:
        return [special[name]()]
    return [one.columns.get(name, getattr(one, name, None))]


def _call_key(name: str, one: Call, imports: dict[int, int | None]) -> Any:
    if name.startswith("created_at_"):
        return _time(name, one.created_at)
    if name == "disposition_id":
        return one.call_disposition_id
    if name == "ended_at_day":
        return _day(one.ended_at)
    if name == "hour_of_day":
        known = one.time_zone in {"America/New_York", "Asia/Kolkata"}
        return to_datetime(one.created_at).astimezone(ZoneInfo(one.time_zone or "")).hour if known else None
    if name == "lead_import_id":
        return None if one.lead_id is None else imports[one.lead_id]
    return getattr(one, name, None)  # no agent has these calls: tests/adapters/http/test_agent_calls.py has call centers


def _rate(part: float, whole: float) -> float | None:
    return round(part / whole, 4) if whole else None


def _lead_figures(leads: list[Lead]) -> dict[str, float | None]:
    attempted = [one for one in leads if one.outbound_calls_count + one.sms_count + one.emails_count]
    connected = [one for one in leads if one.connected]
    converted = [one for one in leads if one.buyer_converted or one.offer_converted]
    waits = [(one.first_action_at - one.created_at) / 1000 for one in leads if one.first_action_at is not None]
    revenue, payout, cost = (sum(getattr(one, name) for one in leads) for name in ("revenue", "payout", "cost"))
    return {
        "leads_count": len(leads),
        "live_count": sum(one.status == "scheduled" for one in leads),
        "attempted_count": len(attempted),
        "connected_count": len(connected),
        "converted_count": len(converted),
        "opt_out_count": sum(one.opt_out for one in leads),
        "outbound_calls_count": sum(one.outbound_calls_count for one in leads),
        "sms_count": sum(one.sms_count for one in leads),
        "emails_count": 0,
        "revenue": round(revenue, 4),
        "payout": round(payout, 4),
        "cost": round(cost, 4),
        "profit": round(revenue - payout - cost, 4),
        "conversion_rate": _rate(len(converted), len(leads)),
        "connect_rate": _rate(len(connected), len(attempted)),
        "avg_attempts_to_connect": _rate(sum(one.outbound_calls_count for one in connected), len(connected)),
        "avg_speed_to_first_attempt_seconds": _rate(sum(waits), len(waits)),
    }


def _call_figures(calls: list[Call]) -> dict[str, float | None]:
    connected = [one for one in calls if one.outcome in CONNECTED]
    outbound = [one for one in calls if one.direction == "outbound"]
    answered = [one for one in outbound if one.outcome in {*CONNECTED, "abandoned_by_us"}]
    abandoned = sum(one.outcome == "abandoned_by_us" for one in outbound)
    revenue, payout, cost = (sum(getattr(one, name) for one in calls) for name in ("revenue", "payout", "cost"))
    converted = sum(one.buyer_converted or one.offer_converted for one in calls)
    return {
        "calls_count": len(calls),
        "inbound_count": sum(one.direction == "inbound" for one in calls),
        "connected_count": len(connected),
        "converted_count": converted,
        "buyer_converted_count": sum(one.buyer_converted for one in calls),
        "offer_converted_count": sum(one.offer_converted for one in calls),
        "no_buyer_count": sum(one.outcome != "connected_buyer" for one in calls),
        "answered_count": len(answered),
        "abandoned_count": abandoned,
        "talk_duration": sum(one.talk_seconds for one in calls),
        "total_duration": sum((one.ended_at - one.created_at) // 1000 for one in calls if one.ended_at is not None),
        "revenue": round(revenue, 4),
        "payout": round(payout, 4),
        "cost": round(cost, 4),
        "profit": round(revenue - payout - cost, 4),
        "conversion_rate": _rate(converted, len(calls)),
        "connect_rate": _rate(len(connected), len(calls)),
        "answer_rate": _rate(len(answered), len(outbound)),
        "abandoned_rate": _rate(abandoned, len(answered)),
        "avg_talk_duration": _rate(sum(one.talk_seconds for one in connected), len(connected)),
    }


def _grouped(keys: Callable[[Any], list[Any]], rows: list[Any]) -> dict[Any, list[Any]]:
    found: dict[Any, list[Any]] = defaultdict(list)
    for row in rows:
        for key in keys(row):
            found[key].append(row)
    return found


def _all_buckets(name: str, begin: datetime) -> list[str]:
    """Every bucket of the span, found by walking it five minutes at a time."""
    start = from_datetime(begin.astimezone(UTC))
    end = from_datetime((begin + timedelta(days=DAYS)).astimezone(UTC))
    return list(dict.fromkeys(_time(name, at) for at in map(Instant, range(start, end, 300_000))))


async def _everything(world: World, path: str, **query: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    while True:
        found = await world.get(path, page=str(len(rows) // 100 + 1), **query)
        rows += found["reports"]
        if len(rows) >= found["metadata"]["total_count"]:
            return rows


@pytest.mark.parametrize("category", LEAD_CATEGORIES)
async def test_a_report_of_leads_is_what_a_recount_gives(world: World, category: str) -> None:
    groups = _grouped(lambda one: _lead_keys(category, one, world.calls), world.leads)
    rows = await _everything(world, "/api/v1/leads/reports", category=category)
    figures = {row["category"]: {k: v for k, v in row.items() if not k.startswith("category")} for row in rows}
    assert len(figures) == len(rows)
    if category.startswith("created_at_"):
        assert [row["category"] for row in rows] == _all_buckets(category, world.begin)
        assert all(figures[key]["conversion_rate"] is None for key in figures if key not in groups)
    else:
        assert set(figures) == set(groups)
        counts = [row["leads_count"] for row in rows]
        days = [row["category"] for row in rows if row["category"] is not None]
        assert days == sorted(days) if category in ACTIVITY_DAYS else counts == sorted(counts, reverse=True)
    for key, figure in figures.items():
        assert figure == pytest.approx(_lead_figures(groups.get(key, [])), abs=1e-4), key


@pytest.mark.parametrize("category", CALL_CATEGORIES)
async def test_a_report_of_calls_is_what_a_recount_gives(world: World, category: str) -> None:
    groups = _grouped(lambda one: [_call_key(category, one, world.imports)], world.calls)
    rows = await _everything(world, "/api/v1/calls/reports", category=category)
    figures = {row["category"]: {k: v for k, v in row.items() if not k.startswith("category")} for row in rows}
    wanted = _all_buckets(category, world.begin) if category.startswith("created_at_") else list(groups)
    assert set(figures) == set(wanted)
    for key, figure in figures.items():
        assert figure == pytest.approx(_call_figures(groups.get(key, [])), abs=1e-4), key


@pytest.mark.parametrize("category", [name for name in LEAD_CATEGORIES if not name.startswith("created_at_")])
async def test_a_report_of_all_there_is_adds_up_months_and_years(world: World, category: str) -> None:
    groups = _grouped(lambda one: _lead_keys(category, one, world.calls), world.leads)
    rows = await _everything(world, "/api/v1/leads/reports", category=category, created_at_from="", created_at_to="")
    assert {row["category"]: row["leads_count"] for row in rows} == {key: len(group) for key, group in groups.items()}
    for row in rows:
        figures = {name: value for name, value in row.items() if not name.startswith("category")}
        assert figures == pytest.approx(_lead_figures(groups[row["category"]]), abs=1e-4), row["category"]


@pytest.mark.parametrize("unit", ["created_at_day", "created_at_hour", "created_at_week"])
@pytest.mark.parametrize("zone_name", ["Asia/Kathmandu", "Asia/Kolkata", "Australia/Lord_Howe", "America/St_Johns"])
async def test_a_clock_that_is_half_an_hour_or_a_quarter_apart_has_its_own_days(
    world: World, zone_name: str, unit: str
) -> None:
    zone = ZoneInfo(zone_name)
    groups = _grouped(lambda one: [_time(unit, one.created_at, zone)], world.calls)
    dates = {name: (world.begin + timedelta(days=days)).isoformat() for name, days in (("from", -2), ("to", DAYS + 2))}
    query = {"created_at_from": dates["from"], "created_at_to": dates["to"], "time_zone": zone_name}
    rows = await _everything(world, "/api/v1/calls/reports", category=unit, **query)
    assert {row["category"]: row["calls_count"] for row in rows if row["calls_count"]} == {
        key: len(group) for key, group in groups.items()
    }
    assert sum(row["revenue"] for row in rows) == pytest.approx(sum(one.revenue for one in world.calls), abs=1e-4)


@pytest.mark.parametrize("unit", ["created_at_day", "created_at_hour", "created_at_week", "created_at_month"])
@pytest.mark.parametrize("zone_name", ["UTC", "Asia/Kathmandu", "Australia/Lord_Howe", "America/Los_Angeles"])
async def test_one_value_is_counted_by_the_days_of_any_clock(world: World, zone_name: str, unit: str) -> None:
    zone = ZoneInfo(zone_name)
    dates = {name: (world.begin + timedelta(days=days)).isoformat() for name, days in (("from", -2), ("to", DAYS + 2))}
    query = {"created_at_from": dates["from"], "created_at_to": dates["to"], "time_zone": zone_name}
    for filters, matches in (CALL_FILTERS["offer"], CALL_FILTERS["not-converted"]):
        groups = _grouped(lambda one: [_time(unit, one.created_at, zone)], [one for one in world.calls if matches(one)])
        rows = await _everything(world, "/api/v1/calls/reports", category=unit, **query, **filters)
        assert {row["category"] for row in rows if row["calls_count"]} == set(groups)
        for row in rows:
            figures = {name: value for name, value in row.items() if not name.startswith("category")}
            assert figures == pytest.approx(_call_figures(groups.get(row["category"], [])), abs=1e-4), row["category"]
    pivot = random.Random(zone_name + unit).choice(["status", "recent_call_disposition_id", "offer_id"])
    cells = _grouped(
        lambda one: [(_time(unit, one.created_at, zone), key) for key in _lead_keys(pivot, one, world.calls)], world.leads
    )
    named = {(day, "(none)" if key is None else str(key)): group for (day, key), group in cells.items()}
    rows = await _everything(world, "/api/v1/leads/reports", category=unit, pivot=pivot, **query)
    for row in rows:
        for key, figures in row["pivots"].items():
            expected = _lead_figures(named.get((row["category"], key), []))
            assert figures == pytest.approx(expected, abs=1e-4), (row["category"], key)
    assert sum(row["total"]["leads_count"] for row in rows) == COUNT


@pytest.mark.parametrize("dates", ["of-the-span", "of-months", "of-all"])
@pytest.mark.parametrize(
    ("category", "pivot"),
    [
        ("state_province", "created_at_day"), ("created_at_day", "status"), ("created_at_day", ""), ("", "created_at_month"),
        ("token_values_map", "offer_id"), ("", "status"), ("status", "status"),
        ("status", "offer_id"), ("offer_id", "status"), ("recent_call_disposition_id", "schedule_id"),
        ("buyer_converted_days", "traffic_source_id"), ("schedule_action_id", "buyer_id"), ("state", "dial_tier"),
        ("zip_postal_code", "offer_id"), ("call_center_id", "status"), ("schedule_id", "lead_import_id"),
        ("outbound_calls_count", "created_at_month"), ("created_at_month", "offer_id"), ("created_at_week", "status"),
        ("created_at_month", "created_at_week"), ("zip_postal_code", "created_at_month"),
        ("recent_call_disposition_id", "schedule_action_id"), ("outbound_calls_count", "state"),
        ("country", "state_province"), ("buyer_converted_schedule_action_id", "buyer_converted_days"),
        ("inbound_calls_count", "schedule_trigger_type"),
    ],
)  # fmt: skip
async def test_a_pivot_cuts_each_row_once_more(world: World, category: str, pivot: str, dates: str) -> None:
    found = await world.get("/api/v1/leads/reports", category=category, pivot=pivot, **_dates(world, dates))
    if not pivot:
        assert sum(row["leads_count"] for row in found["reports"]) == COUNT
        return
    for row in found["reports"]:
        own = [one for one in world.leads if not category or row["category"] in _lead_keys(category, one, world.calls)]
        groups = _grouped(lambda one: _lead_keys(pivot, one, world.calls), own)
        by_key = {("(none)" if key is None else str(key)): _lead_figures(group) for key, group in groups.items()}
        for key, figures in row["pivots"].items():
            assert figures == pytest.approx(by_key.get(key, _lead_figures([])), abs=1e-4), (row["category"], key)
        assert set(by_key) <= set(row["pivots"])
        assert row["total"] == pytest.approx(_lead_figures(own), abs=1e-4)
    assert found["totals"] == pytest.approx(_lead_figures(world.leads), abs=1e-4)


def _dates(world: World, dates: str) -> dict[str, str]:
    """Return five days, the months around them, or all there is."""
    if dates == "of-the-span":
        return {}
    ends = ("from", -40), ("to", DAYS + 40)
    around = {f"created_at_{name}": (world.begin + timedelta(days=days)).strftime("%Y-%m-%d") for name, days in ends}
    return around if dates == "of-months" else dict.fromkeys(around, "")


CALL_FILTERS: dict[str, tuple[dict[str, str], Callable[[Call], bool]]] = {
    "status": ({"status": "busy"}, lambda one: one.status == "busy"),
    "offer": ({"offer_id": "1"}, lambda one: one.offer_id == 1),
    "schedule": ({"schedule_id": "12"}, lambda one: one.schedule_id == 12),
    "source": ({"traffic_source_id": "9"}, lambda one: one.traffic_source_id == 9),
    "buyer": ({"buyer_id": "5"}, lambda one: one.buyer_id == 5),
    "groups": ({"buyer_group_ids": "3,4"}, lambda one: one.buyer_group_id is not None),
    "converted": ({"buyer_converted": "true"}, lambda one: one.buyer_converted),
    "not-converted": ({"buyer_converted": "false"}, lambda one: not one.buyer_converted),
    "offer-converted": ({"offer_converted": "true"}, lambda one: one.offer_converted),
    "two": ({"status": "busy", "offer_id": "1"}, lambda one: one.status == "busy" and one.offer_id == 1),
    "kept-and-not": (
        {"status": "busy", "no_buyer": "true"},
        lambda one: one.status == "busy" and one.outcome != "connected_buyer",
    ),
    "disposition": ({"call_disposition_id": "3"}, lambda one: one.call_disposition_id == 3),
    "states": ({"states": "CA,NY"}, lambda one: one.state == "CA"),
    "nothing": ({"offer_id": "77"}, lambda one: one.offer_id == 77),
}  # fmt: skip


def _lead_key(world: World, one: Lead, name: str) -> Any:
    return _lead_keys(name, one, world.calls)[0]


LEAD_FILTERS: dict[str, tuple[dict[str, str], Callable[[Callable[[str], Any]], bool]]] = {
    "status": ({"status": "expired"}, lambda get: get("status") == "expired"),
    "offer": ({"offer_id": "1"}, lambda get: get("offer_id") == 1),
    "schedule": ({"schedule_id": "12"}, lambda get: get("schedule_id") == 12),
    "states": ({"states": "CA,TX"}, lambda get: get("state") in {"CA", "TX"}),
    "disposition": ({"recent_call_disposition_id": "3"}, lambda get: get("recent_call_disposition_id") == 3),
    "converted": ({"buyer_converted": "true"}, lambda get: get("buyer_converted")),
    "import": ({"lead_import_id": "7"}, lambda get: get("lead_import_id") == 7),
    "token": ({"token_value": "floors:2"}, lambda get: get("data").get("floors") == 2),
    "kept-and-not": ({"status": "expired", "opt_out": "0"}, lambda get: get("status") == "expired" and not get("opt_out")),
    "two": ({"status": "expired", "states": "CA"}, lambda get: get("status") == "expired" and get("state") == "CA"),
    "nothing": ({"offer_id": "77"}, lambda get: get("offer_id") == 77),
}  # fmt: skip
"""Query, and whether a lead is meant; `get` gives what reports group it by, or a field of it."""


@pytest.mark.parametrize("dates", ["of-the-span", "of-months", "of-all"])
@pytest.mark.parametrize("name", LEAD_FILTERS)
async def test_a_filter_narrows_every_report_of_leads(world: World, name: str, dates: str) -> None:
    query, matches = LEAD_FILTERS[name]
    wanted = [one for one in world.leads if matches(partial(_lead_key, world, one))]
    short = ("created_at_five_minutes", "created_at_hour")
    others = [category for category in LEAD_CATEGORIES if category not in short]
    for category in others if dates == "of-all" else random.Random(name).sample(others, 5):
        groups = _grouped(lambda one, by=category: _lead_keys(by, one, world.calls), wanted)  # type: ignore[misc]
        rows = await _everything(world, "/api/v1/leads/reports", category=category, **query, **_dates(world, dates))
        figures = {row["category"]: {k: v for k, v in row.items() if not k.startswith("category")} for row in rows}
        assert {key for key, sums in figures.items() if sums["leads_count"]} == set(groups), category
        for key, group in groups.items():
            assert figures[key] == pytest.approx(_lead_figures(group), abs=1e-4), (category, key)


@pytest.mark.parametrize("dates", ["of-the-span", "of-months", "of-all"])
async def test_calls_are_reported_and_counted_by_the_import_of_their_leads(world: World, dates: str) -> None:
    wanted = [one for one in world.calls if one.lead_id is not None and world.imports[one.lead_id] == 7]
    groups = _grouped(lambda one: [one.status], wanted)
    query = {"lead_import_id": "7", **_dates(world, dates)}
    rows = await _everything(world, "/api/v1/calls/reports", category="status", **query)
    assert {row["category"]: row["calls_count"] for row in rows} == {key: len(group) for key, group in groups.items()}
    listed = await world.get("/api/v1/calls", **query)
    assert {one["id"] for one in listed["calls"]} == {one.id for one in wanted}
    if dates == "of-the-span":
        counted = await world.get("/api/v1/calls/stats", group_by="lead_import_id", stat="count")
        by_import = _grouped(lambda one: [_call_key("lead_import_id", one, world.imports)], world.calls)
        assert {row["key"]: row["value"] for row in counted["stats"]} == {key: len(some) for key, some in by_import.items()}


@pytest.mark.parametrize("dates", ["of-the-span", "of-months", "of-all"])
@pytest.mark.parametrize("name", CALL_FILTERS)
async def test_a_filter_narrows_every_report_of_calls(world: World, name: str, dates: str) -> None:
    query, matches = CALL_FILTERS[name]
    wanted = [one for one in world.calls if matches(one)]
    short = ("created_at_five_minutes", "created_at_hour")
    others = [category for category in CALL_CATEGORIES if category not in short]
    for category in others if dates == "of-all" else random.Random(name).sample(others, 5):
        groups = _grouped(lambda one, by=category: [_call_key(by, one, world.imports)], wanted)  # type: ignore[misc]
        rows = await _everything(world, "/api/v1/calls/reports", category=category, **query, **_dates(world, dates))
        figures = {row["category"]: {k: v for k, v in row.items() if not k.startswith("category")} for row in rows}
        assert {key for key, sums in figures.items() if sums["calls_count"]} == set(groups), category
        for key, group in groups.items():
            assert figures[key] == pytest.approx(_call_figures(group), abs=1e-4), (category, key)


@pytest.mark.parametrize("stat", STATS)
async def test_a_statistic_is_a_column_of_the_report(world: World, stat: str) -> None:
    groups = _grouped(lambda one: [one.status], world.calls)
    found = await world.get("/api/v1/calls/stats/", group_by="status", stat=stat)
    assert {one["key"]: one["value"] for one in found["stats"]} == pytest.approx(
        {key: _call_figures(group)[STATS[stat]] for key, group in groups.items()}, abs=1e-4
    )
    assert found["metadata"]["group_by"] == "status"
    assert found["metadata"]["stat"] == stat
    assert found["metadata"]["time_zone"] == "America/New_York"


async def test_a_short_day_is_one_bucket_and_a_repeated_hour_two(world: World) -> None:
    hours = await _everything(world, "/api/v1/leads/reports", category="created_at_hour")
    changed = [row["category"] for row in hours if row["category"].startswith(("2026-03-08", "2026-11-01"))]
    assert len(changed) == (23 if world.begin is SPRING else 25)
    days = await _everything(world, "/api/v1/leads/reports", category="created_at_day")
    assert len(days) == DAYS
    assert sum(row["leads_count"] for row in days) == COUNT


async def test_filters_of_calls_narrow_reports_and_statistics(world: World) -> None:
    wanted = [one for one in world.calls if one.status == "busy" and one.buyer_converted]
    query = {"status": "busy", "buyer_converted": "true"}
    found = await world.get("/api/v1/calls/reports", category="status", **query)
    assert found["totals"] == pytest.approx(_call_figures(wanted), abs=1e-4)
    stats = await world.get("/api/v1/calls/stats", group_by="origin", stat="count", **query)
    assert sum(one["value"] for one in stats["stats"]) == len(wanted)


async def test_a_report_is_a_file_too(world: World) -> None:
    answer = await world.company.send(
        "GET",
        "/api/v1/leads/reports.csv",
        params={**world.span, "category": "status", "pivot": "offer_id", "columns": "leads_count,revenue"},
    )
    rows = list(csv.DictReader(io.StringIO(answer.text)))
    assert list(rows[0]) == [
        "category", "category_label", "1.leads_count", "1.revenue", "2.leads_count", "2.revenue", "(none).leads_count",
        "(none).revenue", "total.leads_count", "total.revenue",
    ]  # fmt: skip
    assert sum(int(row["total.leads_count"]) for row in rows) == COUNT
    flat = await world.company.send(
        "GET", "/api/v1/calls/reports", params={**world.span, "category": "created_at_hour"}, headers={"Accept": "text/csv"}
    )
    assert len(flat.text.splitlines()) == 1 + len(_all_buckets("created_at_hour", world.begin))
    page = {**world.span, "category": "created_at_hour", "page": "2"}
    assert len((await world.company.send("GET", "/api/v1/calls/reports.csv", params=page)).text.splitlines()) == 1 + 25
    stats = await world.company.send(
        "GET", "/api/v1/calls/stats.csv", params={**world.span, "group_by": "outcome", "stat": "count"}
    )
    assert unquoted(stats.text).startswith("key,label,value\r\n")


async def test_pages_columns_and_bare_lists_are_those_of_every_list(world: World) -> None:
    found = await world.get("/api/v1/leads/reports", category="created_at_hour", per_page="10", page="2")
    assert len(found["reports"]) == 10
    assert found["metadata"]["total_pages"] == -(-found["metadata"]["total_count"] // 10)
    bare = await world.get("/api/v1/leads/reports", category="status", root="false", columns="leads_count,category")
    assert list(bare[0]) == ["leads_count", "category"]
    alone = await world.get("/api/v1/leads/reports")
    assert [row["category_label"] for row in alone["reports"]] == ["all"]


async def test_text_narrows_a_report_of_leads(world: World) -> None:
    found = await world.get("/api/v1/leads/reports", category="status", fulltext="steep")
    assert found["totals"]["leads_count"] == sum("floors" in one.data for one in world.leads)


@pytest.mark.parametrize(
    ("path", "query", "bad"),
    [
        ("/api/v1/leads/reports", {"category": "shoe"}, {"category"}),
        ("/api/v1/leads/reports", {"pivot": "shoe", "per_page": "101"}, {"pivot", "per_page"}),
        ("/api/v1/leads/reports", {"category": "created_at_five_minutes", "created_at_from": "2020-01-01"}, {"category"}),
        ("/api/v1/leads/reports", {"columns": "category,shoe"}, {"columns"}),
        ("/api/v1/calls/reports", {}, {"category"}),
        ("/api/v1/calls/reports", {"category": "zip_postal_code"}, {"category"}),
        ("/api/v1/calls/reports", {"category": "status", "no_buyer": "perhaps"}, {"no_buyer"}),
        ("/api/v1/calls/stats/", {}, {"group_by", "stat"}),
        ("/api/v1/calls/stats/", {"group_by": "hour_of_day", "stat": "mean"}, {"group_by", "stat"}),
    ],
)
async def test_what_a_report_cannot_do_is_refused(world: World, path: str, query: dict[str, str], bad: set[str]) -> None:
    answer = await world.company.send("GET", path, params={**world.span, **query})
    assert (answer.status_code, set(answer.json()["errors"])) == (422, bad), answer.text


async def test_a_table_that_nobody_could_read_is_refused_with_the_field_that_makes_it_so_large(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("adapters.http.reports.reports.CELLS_MAX", 3)
    await _is_refused(world, {"category": "status", "pivot": "created_at_day"}, "pivot")
    assert (await world.get("/api/v1/leads/reports", category="status"))["reports"]
    monkeypatch.undo()
    for module in ("reads", "reports"):
        monkeypatch.setattr(f"adapters.postgres.{module}.GROUPS_MAX", 1)
    await _is_refused(world, {"category": "status"}, "category")
    await _is_refused(world, {"category": "status", "fulltext": "1"}, "category")
    await _is_refused(world, {"category": "status", "pivot": "offer_id"}, "pivot")


async def _is_refused(world: World, query: dict[str, str], bad: str) -> None:
    answer = await world.company.send("GET", "/api/v1/leads/reports", params={**world.span, **query})
    assert (answer.status_code, list(answer.json()["errors"])) == (422, [bad]), answer.text


async def test_statistics_need_both_dates(world: World) -> None:
    answer = await world.company.send("GET", "/api/v1/calls/stats/", params={"group_by": "status", "stat": "count"})
    assert (answer.status_code, set(answer.json()["errors"])) == (422, {"created_at_from", "created_at_to"})
    params = {"group_by": "status", "stat": "count", **world.span, "created_at_from": "soon"}
    answer = await world.company.send("GET", "/api/v1/calls/stats/", params=params)
    assert (answer.status_code, len(answer.json()["errors"]["created_at_from"])) == (400, 1)


async def test_a_company_without_leads_gets_an_empty_report(town: Any) -> None:
    company = await town.company()
    for category, count in (("status", 0), ("created_at_day", 0), ("", 0)):
        answer = await company.send("GET", "/api/v1/leads/reports", params={"category": category})
        assert (answer.status_code, len(answer.json()["reports"])) == (200, count), answer.text
        assert answer.json()["totals"]["leads_count"] == 0


async def test_a_group_that_is_a_record_is_called_by_its_name(town: Any) -> None:
    company = await town.company()
    offer = await company.record("offers", {"name": "Solar"})
    fields = {"lead_token": offer["lead_token"], "caller_id": "+13055550142"}
    assert (await company.send("POST", "/api/v1/leads", json=fields)).status_code == 201
    (row,) = (await company.send("GET", "/api/v1/leads/reports", params={"category": "offer_id"})).json()["reports"]
    assert (row["category"], row["category_label"], row["leads_count"]) == (offer["id"], "Solar", 1)
    (row,) = (await company.send("GET", "/api/v1/leads/reports", params={"category": "buyer_id"})).json()["reports"]
    assert (row["category"], row["category_label"]) == (None, "(none)")


async def test_every_group_of_a_statistic_is_a_category() -> None:
    assert {*CALL_GROUPS} < {*CALL_CATEGORIES}


async def test_the_buckets_of_a_report_are_made_off_the_event_loop(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    threads: list[int] = []

    def noted(*arguments: Any) -> Any:
        threads.append(threading.get_ident())
        return grouping(*arguments)

    monkeypatch.setattr(reports, "grouping", noted)
    await world.get("/api/v1/leads/reports", category="created_at_hour")
    assert len(threads) == 2  # of the category and of the pivot
    assert threading.get_ident() not in threads
