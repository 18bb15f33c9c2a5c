"""Does each filter of leads and calls find the one record that it means, in the list, the report and the statistic alike?"""

from typing import Any

import pytest
import pytest_asyncio

from schemas.instant import DAY, HOUR, MINUTE, Instant, to_datetime
from tests.adapters.http.conftest import Company, Town
from tests.adapters.postgres.projected_rows import Shown, call, lead
from tests.contact_ids import CONTACT_IDS

pytestmark = pytest.mark.asyncio(loop_scope="session")

SAID = "%Y-%m-%d %H:%M:%S +0000"


@pytest_asyncio.fixture(loop_scope="session")
async def shown(town: Town, company: Company) -> Shown:
    """Rows as the projector would write them, for cases that would take days to come about."""
    return Shown(town.pool, topic=f"list.parameters.{company.id}")


def _said(at: Instant) -> str:
    return to_datetime(at).strftime(SAID)


async def test_each_filter_of_leads_finds_the_one_lead_that_it_means(company: Any, shown: Shown) -> None:
    now = company.town.context.clock.now()
    first = company.id * 10_000
    source = {"traffic_source_id": 31}
    cases: list[tuple[dict[str, Any], dict[str, str]]] = [
        ({"offer_id": 11}, {"offer_id": "11"}),
        ({"schedule_id": 12}, {"schedule_id": "12"}),
        ({"columns": source}, {"traffic_source_id": "31"}),
        ({"buyer_id": 13}, {"buyer_id": "13"}),
        ({"status": "waiting", "status_wait": "quiet_hours_state"}, {"status_wait": "quiet_hours_state"}),
        ({"status": "expired"}, {"status": "expired"}),
        ({"caller_id": "+12125550177"}, {"number": "(212) 555-0177"}),
        ({"email": "ann@example.com"}, {"email": "ANN@example.com"}),
        ({"opt_out": True}, {"opt_out": "on"}),
        ({"buyer_converted": True}, {"buyer_converted": "1"}),
        ({"offer_converted": True}, {"offer_converted": "yes"}),
        ({"next_action_at": now + 5 * DAY}, {"next_action_at_from": _said(now + 4 * DAY)}),
        ({"created_at": now - 9 * DAY}, {"created_at_to": _said(now - 8 * DAY)}),
        ({"created_at": now + MINUTE}, {"created_at_from": _said(now + MINUTE)}),
        ({"data": {"pet": "zebra"}}, {"fulltext": "zebra"}),
        ({"columns": {"state_province": "NV"}, "states": ("CA",)}, {"states": "Nevada,ZZ"}),
        ({"states": ("WY", "UT")}, {"states": "wy"}),
        ({"data": {"tags": ["vip", "two words"]}}, {"tag": "two words"}),
        ({"data": {"tags": "warm , cold"}}, {"tag": "cold"}),
        ({"data": {"roof": "Flat-1"}}, {"token_value": "roof:Flat-1"}),
        ({"data": {"floors": 2}}, {"token_value": "2", "token_key": "floors"}),
        ({"data": {"mark": "--"}}, {"token_value": "mark:--"}),
        ({"data": {"stars": 1e20}}, {"token_value": "stars:1e20"}),
        ({"data": {"depth": -2.5e-7}}, {"token_value": "depth:-2.5e-7"}),
        ({"data": {"code": "7e3"}}, {"token_value": "code:7e3"}),
        ({"data": {"wall": "brick"}}, {"token_key": "wall"}),
        ({"lead_import_id": 77}, {"lead_import_id": "77"}),
    ]
    for place, (fields, _) in enumerate(cases):
        ordinary = {"created_at": now - HOUR, "next_action_at": now + HOUR, "status": "scheduled"}
        await shown.decide(lead(first + place, company=company.id, **{**ordinary, **fields}))
    for place, (_, query) in enumerate(cases):
        answer = await company.send("GET", "/api/v1/leads", params=query)
        assert [found["id"] - first for found in answer.json()["leads"]] == [place], (query, answer.text[:300])
    either = await company.send(
        "GET", "/api/v1/leads", params={"either_converted": "true", "order": "id", "order_dir": "asc"}
    )
    converted = [place for place, (fields, _) in enumerate(cases) if {"buyer_converted", "offer_converted"} & fields.keys()]
    assert [found["id"] - first for found in either.json()["leads"]] == converted
    for query, count in [
        ({"next_action_at_to": _said(now + 2 * DAY)}, len(cases) - 1),
        ({"has_next_action": "true"}, len(cases) - 1),
        ({"has_next_action": "false"}, 1),
        ({"opt_out": "off"}, len(cases) - 1),
        # A part of a value or tag, another case, another token: none of them is the one that was asked for.
        ({"token_value": "roof:flat-1"}, 0),
        ({"token_value": "roof:Flat"}, 0),
        ({"token_value": "pet:Flat-1"}, 0),
        ({"tag": "two"}, 0),
        ({"tag": '["vip"'}, 0),
        ({"tag": "two words", "token_value": "pet:zebra"}, 0),
        ({"states": "UT"}, 0),
    ]:
        answer = await company.send("GET", "/api/v1/leads", params=query)
        assert answer.json()["metadata"]["total_count"] == count, (query, answer.text[:300])


async def test_a_lead_is_found_by_its_newest_disposition_in_list_file_and_report(company: Any, shown: Shown) -> None:
    now = company.town.context.clock.now()
    first = company.id * 10_000
    calls_of_leads: dict[int, list[int | None]] = {0: [3, 4], 1: [4, None], 2: [3], 3: [None], 4: []}
    for place, dispositions in calls_of_leads.items():
        await shown.decide(lead(first + place, company=company.id, created_at=now - HOUR))
        for turn, disposition in enumerate(dispositions):
            number = first + 100 * place + turn
            fields = {"lead_id": first + place, "created_at": now - HOUR + turn, "call_disposition_id": disposition}
            await shown.decide(call(number, company=company.id, **fields))
    for wanted, places in [(4, [0, 1]), (3, [2]), (5, [])]:
        query = {"recent_call_disposition_id": str(wanted)}
        listed = await company.send("GET", "/api/v1/leads", params={**query, "order": "id", "order_dir": "asc"})
        assert [found["id"] - first for found in listed.json()["leads"]] == places
        filed = await company.send("GET", "/api/v1/leads.csv", params={**query, "columns": "id"})
        assert len(filed.text.splitlines()) == 1 + len(places), filed.text
        report = await company.send("GET", "/api/v1/leads/reports", params={**query, "category": "status"})
        assert report.json()["totals"]["leads_count"] == len(places), report.text[:300]


async def test_every_filter_of_leads_narrows_reports_as_it_does_the_list(company: Any, shown: Shown) -> None:
    now = company.town.context.clock.now()
    first = company.id * 10_000
    for place in range(8):
        fields = {
            "created_at": now - HOUR * place - MINUTE,
            "next_action_at": now + HOUR * place,
            "status": ["scheduled", "waiting", "expired", "completed"][place % 4],
            "status_wait": ["quiet_hours_state", None][place % 2],
            "offer_id": 11 + place % 2,
            "schedule_id": 12 + place % 3,
            "buyer_id": [None, 13][place % 2],
            "columns": {"traffic_source_id": 31, "state_province": ["NV", "CA"][place % 2]},
            "opt_out": place == 3,
            "buyer_converted": place == 4,
            "offer_converted": place == 5,
            "outbound_calls_count": place % 3,
            "email": f"{'ab'[place % 2]}@example.com",
            "data": {"roof": ["flat", "steep"][place % 2], "tags": [f"t{place % 3}"]},
            "lead_import_id": [None, 77, 78, 77][place % 4],
        }
        await shown.decide(lead(first + place, company=company.id, **fields))
    for query, count in [
        ({"ids": f"{first},{first + 1}"}, 2),
        ({"created_at_label": "Last 4 Hours"}, 4),
        ({"next_action_at_from": _said(now + 6 * HOUR)}, 2),
        ({"next_action_at_to": _said(now + 2 * HOUR)}, 2),
        ({"offer_id": "11"}, 4),
        ({"schedule_id": "12"}, 3),
        ({"traffic_source_id": "31"}, 8),
        ({"buyer_id": "13"}, 4),
        ({"contact_id": str(CONTACT_IDS.id_of(f"{company.id}|+1305555{first:04}"))}, 0),  # there is no row of the contact
        ({"status": "expired"}, 2),
        ({"status": "completed_with_many_calls"}, 0),
        ({"status": "completed_with_one_call"}, 1),
        ({"status_wait": "quiet_hours_state"}, 4),
        ({"number": f"+1305555{first + 2:04}"}, 1),
        ({"email": "A@example.com"}, 4),
        ({"has_next_action": "true"}, 4),
        ({"buyer_converted": "true"}, 1),
        ({"offer_converted": "true"}, 1),
        ({"either_converted": "true"}, 2),
        ({"opt_out": "true"}, 1),
        ({"states": "NV,WY"}, 4),
        ({"tag": "t2"}, 2),
        ({"lead_import_id": "77"}, 4),
        ({"token_key": "roof"}, 8),
        ({"token_value": "roof:flat"}, 4),
        ({"fulltext": "steep"}, 4),
        ({"states": "NV", "token_value": "roof:flat", "status": "scheduled"}, 2),
    ]:
        listed = await company.send("GET", "/api/v1/leads", params=query)
        assert listed.json()["metadata"]["total_count"] == count, (query, listed.text[:300])
        for more in ({"category": "state"}, {"category": "created_at_day", "pivot": "status"}, {}):
            report = await company.send("GET", "/api/v1/leads/reports", params={**query, **more})
            assert report.json()["totals"]["leads_count"] == count, (query, more, report.text[:300])


CALLS: list[tuple[dict[str, Any], dict[str, str]]] = [
    ({"offer_id": 11}, {"offer_id": "11"}),
    ({"schedule_id": 12}, {"schedule_id": "12"}),
    ({"traffic_source_id": 31}, {"traffic_source_id": "31"}),
    ({"buyer_id": 13}, {"buyer_id": "13"}),
    ({"buyer_group_id": 14}, {"buyer_group_ids": "14,999"}),
    ({"buyer_answered_at": None}, {"no_buyer": "true"}),
    ({"number_id": 15}, {"number_id": "15"}),
    ({}, {"contact_id": "this person"}),
    ({"status": "busy"}, {"status": "busy"}),
    ({"status": "ringing", "ended_at": None}, {"in_progress": "yes"}),
    ({"buyer_converted": True}, {"buyer_converted": "1"}),
    ({"offer_converted": True}, {"offer_converted": "1"}),
    ({"offer_repeat_caller": True}, {"offer_repeat_caller": "true"}),
    ({"buyer_repeat_caller": True}, {"buyer_repeat_caller": "true"}),
    ({"placed_on_hold": True}, {"placed_on_hold": "true"}),
    ({"recording_url": "https://pbx.example.com/1.wav"}, {"has_recording": "true"}),
    ({"buyer_conversion_duplicated_call": True}, {"buyer_conversion_duplicated_call": "true"}),
    ({"offer_conversion_duplicated_call": True}, {"offer_conversion_duplicated_call": "true"}),
    ({"token_values": {"roof": "flat"}}, {"token_key": "roof"}),
    ({"token_values": {"pet": "zebra"}}, {"token_value": "pet:zebra"}),
    ({"token_values": {"stars": 1e20}}, {"token_value": "stars:1e20"}),
    ({"token_values": {"plant": "oak"}}, {"fulltext": "oak"}),
    ({"created_at": "long ago"}, {"created_at_to": "long ago"}),
    # No call ends before it began.
    ({"created_at": "a month ago", "ended_at": "a month ago"}, {"ended_at_to": "a month ago"}),
    ({"ended_at": "to come"}, {"ended_at_from": "to come"}),
    ({"ring_pool_id": 4}, {"ring_pool_id": "4"}),
    ({"provider_configuration_id": 2}, {"provider_configuration_id": "2"}),
    ({"call_disposition_id": 21}, {"call_disposition_id": "21"}),
    ({"agent_id": 22}, {"agent_id": "22"}),
    ({"state": "NV"}, {"states": "nevada"}),
    ({}, {"id": "this one"}),
]
OLD_CALLS = 2
"""Of the above: those that were made long ago, or a month ago."""


async def _calls(company: Any, shown: Shown) -> list[dict[str, str]]:
    """Make one call for each case, and return the queries."""
    now = company.town.context.clock.now()
    first = company.id * 10_000
    moments = {"long ago": now - 300 * DAY, "a month ago": now - 30 * DAY, "to come": now + 5 * MINUTE}
    queries = []
    for place, (fields, query) in enumerate(CALLS):
        given = {name: moments.get(value, value) if isinstance(value, str) else value for name, value in fields.items()}
        ordinary = {"created_at": now - HOUR, "ended_at": now - HOUR // 2, "buyer_answered_at": now - HOUR}
        await shown.decide(call(first + place, company=company.id, **{**ordinary, **given}))
        moment = {"long ago": _said(now - 200 * DAY), "to come": _said(now + MINUTE), "this one": str(first + place)}
        moment["a month ago"] = _said(now - 20 * DAY)
        moment["this person"] = str(CONTACT_IDS.id_of(f"{company.id}|+1305555{first + place:04}"))
        queries.append({name: moment.get(value, value) for name, value in query.items()})
    return queries


async def test_each_filter_of_calls_finds_the_one_call_that_it_means(company: Any, shown: Shown) -> None:
    first = company.id * 10_000
    for place, query in enumerate(await _calls(company, shown)):
        answer = await company.send("GET", "/api/v1/calls", params=query)
        assert [found["id"] - first for found in answer.json()["calls"]] == [place], (query, answer.text[:300])
    either = await company.send("GET", "/api/v1/calls", params={"either_converted": "true", "root": "false"})
    assert len(either.json()) == 2
    now = company.town.context.clock.now()
    in_utc = _said(now - 2 * HOUR)[:19]
    many = {"cursor": "-1", "per_page": "100", "root": "0"}
    recent = len(CALLS) - OLD_CALLS
    for query, count in [
        ({**many, "created_at_from": in_utc, "time_zone": "UTC"}, recent),
        # Ten hours later there: nothing is that new.
        ({**many, "created_at_from": in_utc, "time_zone": "Hawaii"}, 0),
        ({**many, "created_at_label": "Last Day"}, recent),
        ({"created_at_label": "Last Day", "root": "0", "order": "created_at", "order_dir": "asc"}, 10),
    ]:
        answer = await company.send("GET", "/api/v1/calls", params=query)
        assert len(answer.json()) == count, (query, answer.text[:300])


async def test_every_filter_of_calls_narrows_reports_and_statistics_as_it_does_the_list(company: Any, shown: Shown) -> None:
    now = company.town.context.clock.now()
    span = {"created_at_from": _said(now - 365 * DAY), "created_at_to": _said(now + DAY)}
    queries = [*(await _calls(company, shown)), {"either_converted": "true"}, {"no_buyer": "false"}]
    queries += [{"created_at_label": "Last Day"}, {"ring_pool_id": "1"}]
    for query in queries:
        both = (
            span
            if not {"created_at_to", "created_at_label"} & query.keys()
            else {"created_at_from": span["created_at_from"]}
        )
        listed = await company.send("GET", "/api/v1/calls", params={"cursor": "-1", "per_page": "1000", **both, **query})
        count = len(listed.json()["calls"])
        report = await company.send("GET", "/api/v1/calls/reports", params={"category": "status", **both, **query})
        assert report.json()["totals"]["calls_count"] == count, (query, report.text[:300])
        asked = {"group_by": "status", "stat": "count", "page": "1", **span, **query}
        stats = await company.send("GET", "/api/v1/calls/stats/", params=asked)
        assert sum(found["value"] for found in stats.json()["stats"]) == count, (query, stats.text[:300])


async def test_rows_of_reports_and_statistics_stand_in_the_order_asked_for(company: Any, shown: Shown) -> None:
    now = company.town.context.clock.now()
    first = company.id * 10_000
    for place, status in enumerate(["busy", "busy", "busy", "failed", "no-answer", "no-answer"]):
        fields = {"created_at": now - HOUR, "status": status, "revenue": {"failed": 9.0}.get(status, 1.0)}
        await shown.decide(call(first + place, company=company.id, **fields))
    span = {"created_at_from": _said(now - DAY), "created_at_to": _said(now + DAY)}
    for query, expected in [
        ({"order": "calls_count"}, ["busy", "no-answer", "failed"]),
        ({"order": "calls_count", "order_dir": "asc"}, ["failed", "no-answer", "busy"]),
        ({"order": "revenue", "order_dir": "desc"}, ["failed", "busy", "no-answer"]),
        # Their own order: the largest group first where they are no spans of time.
        ({"order": "category", "order_dir": "asc"}, ["busy", "no-answer", "failed"]),
        ({"order_dir": "desc"}, ["failed", "no-answer", "busy"]),
        # Nobody was connected: what is unknown of a row keeps it from its place, not from the list.
        ({"order": "avg_talk_duration"}, ["busy", "no-answer", "failed"]),
        ({}, ["busy", "no-answer", "failed"]),
    ]:
        answer = await company.send("GET", "/api/v1/calls/reports", params={"category": "status", **span, **query})
        assert [row["category"] for row in answer.json()["reports"]] == expected, (query, answer.text[:400])
    grouped = {"group_by": "status", "stat": "count", **span}
    for query, expected in [
        ({"order": "value"}, ["busy", "no-answer", "failed"]),
        ({"order": "key", "order_dir": "asc"}, ["busy", "no-answer", "failed"]),
    ]:
        answer = await company.send("GET", "/api/v1/calls/stats/", params={**grouped, **query})
        assert [row["key"] for row in answer.json()["stats"]] == expected, query
    for path in ("/api/v1/calls/reports?category=status&order=shoe_size", "/api/v1/leads/reports?order=shoe_size"):
        refused = await company.send("GET", path)
        assert (refused.status_code, list(refused.json()["errors"])) == (422, ["order"])
