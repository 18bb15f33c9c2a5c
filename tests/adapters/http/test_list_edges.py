"""What is true at the edges of lists and reports: the last page, the next link, the ends of the calendar, and no value?"""

import csv
import io
from typing import Any

import pytest

from adapters.http.exchange import answers, exports
from adapters.http.leads.leads import STATUSES
from adapters.http.reports.report_rows import status_label
from adapters.postgres import lists
from tests.adapters.http.conftest import unquoted

pytestmark = pytest.mark.asyncio(loop_scope="session")

DATA: tuple[dict[str, Any], ...] = ({"roof": "flat", "floors": 2}, {"roof": "flat"}, {})


async def _submit(company: Any, *fields: dict[str, Any]) -> list[dict[str, Any]]:
    """Submit leads to a schedule of the company and return them."""
    token, made = (await company.schedule())["lead_token"], []
    for place, more in enumerate(fields):
        lead = {"lead_token": token, "caller_id": f"+1305555010{place}", **more}
        answer = await company.send("POST", "/api/v1/leads", json=lead)
        assert answer.status_code == 201, answer.text
        made.append(answer.json()["lead"])
    return made


@pytest.mark.parametrize("name", ["ids[]", "ids"])
@pytest.mark.parametrize("begin", ["page=1", "cursor=-1"])
async def test_the_next_page_is_one_of_the_same_list(company: Any, name: str, begin: str) -> None:
    ids = [lead["id"] for lead in await _submit(company, {}, {}, {}, {})][1:]
    query = "&".join([f"{name}={lead_id}" for lead_id in ids])
    path, seen = f"/api/v1/leads?{query}&columns[]=id&columns[]=status&root=false&per_page=2&{begin}", []
    while path:
        answer = await company.send("GET", path)
        assert all(list(row) == ["id", "status"] for row in answer.json())
        seen += [row["id"] for row in answer.json()]
        path = answer.headers.get("link", "").partition("<")[2].partition(">")[0]
    assert seen == (ids[::-1] if begin == "page=1" else sorted(ids, reverse=True))


async def test_no_key_stands_in_the_address_of_the_next_page(company: Any) -> None:
    await _submit(company, {}, {})
    key = f"{company.public_key}.{company.private_key}"
    for query in (f"auth_token={key}", f"auth_token[]={key}&auth_token[a]={key}"):
        answer = await company.send("GET", f"/api/v1/leads?{query}&root=false&per_page=1")
        assert 'page=2>; rel="next"' in answer.headers["link"]
        assert company.private_key not in answer.headers["link"]


async def test_the_last_page_within_the_counted_rows_is_shown_though_a_full_one_would_pass_them(
    company: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = [lead["id"] for lead in await _submit(company, {}, {}, {}, {})]
    monkeypatch.setattr(answers, "ROWS_BY_PAGE_MAX", 4)
    monkeypatch.setattr(lists, "COUNT_MAX", 4)
    for page, expected in [("1", ids[:0:-1]), ("2", ids[:1]), ("3", [])]:
        found = (await company.send("GET", "/api/v1/leads", params={"per_page": "3", "page": page})).json()
        assert [lead["id"] for lead in found["leads"]] == expected
        assert found["metadata"]["total_count"] == len(ids)
    monkeypatch.setattr(lists, "COUNT_MAX", 3)
    refused = await company.send("GET", "/api/v1/leads", params={"per_page": "3", "page": "2"})
    assert (refused.status_code, [*refused.json()["errors"]]) == (422, ["page"])


@pytest.mark.parametrize("path", ["/api/v1/leads", "/api/v1/calls", "/api/v1/buyer_groups", "/api/v1/leads/reports"])
@pytest.mark.parametrize(
    ("name", "moment", "zone"),
    [
        ("created_at_from", "0001-01-01", "Asia/Kolkata"),
        ("created_at_from", "0001-01-01 00:00:00", "Asia/Tokyo"),
        ("created_at_to", "9999-12-31 23:59:59", "America/New_York"),
    ],
)
async def test_a_date_that_has_no_year_in_utc_is_refused(company: Any, path: str, name: str, moment: str, zone: str) -> None:
    refused = await company.send("GET", path, params={name: moment, "time_zone": zone})
    assert (refused.status_code, refused.json()["code"]) == (400, "bad_date"), refused.text
    assert refused.json()["errors"] == {name: ["must be a date and time that exists"]}
    assert (await company.send("GET", path, params={name: moment})).status_code == 200


@pytest.mark.parametrize("unit", ["day", "week", "month", "hour", "five_minutes"])
@pytest.mark.parametrize(
    ("since", "until"),
    [
        ("0001-01-01 00:00:00 +0000", "0001-01-01 12:00:00 +0000"),
        ("9999-12-31 23:59:59 +0000", "9999-12-31 23:59:59 +0000"),
    ],
)
@pytest.mark.parametrize("zone", ["UTC", "Pacific/Apia", "America/New_York", "Pacific/Kiritimati"])
async def test_a_report_that_would_leave_the_calendar_is_refused_or_made(
    company: Any, unit: str, since: str, until: str, zone: str
) -> None:
    span = {"created_at_from": since, "created_at_to": until, "time_zone": zone}
    for place in ("category", "pivot"):
        answer = await company.send("GET", "/api/v1/leads/reports", params={place: f"created_at_{unit}", **span})
        assert answer.status_code == 200 or [*answer.json()["errors"]] == [place], answer.text


async def test_groups_without_a_value_come_last_either_way(company: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exports, "BATCH_ROWS", 1)
    names = ("North", "East", "South", "West")
    ids = [(await company.record("buyer_groups", {"name": name}))["id"] for name in names]
    for group in (ids[2], ids[1]):
        assert (await company.send("PUT", f"/api/v1/buyer_groups/{group}", json={"paused": True})).status_code == 200
    asked = {"order": "paused_at", "columns": "name"}
    for direction, expected in [("asc", ["South", "East", "North", "West"]), ("desc", ["East", "South", "West", "North"])]:
        query = {**asked, "order_dir": direction}
        found = (await company.send("GET", "/api/v1/buyer_groups", params=query)).json()["buyer_groups"]
        assert [group["name"] for group in found] == expected
        table = await company.send("GET", "/api/v1/buyer_groups.csv", params=query)
        assert unquoted(table.text).split() == ["name", *expected]


async def test_a_lead_of_two_tokens_is_in_two_pivots_and_once_in_its_row(company: Any) -> None:
    await _submit(company, *({"data": data} for data in DATA))
    query = {"pivot": "token_values_map", "columns": "leads_count"}
    for category in ("status", "", "created_at_month"):
        found = (await company.send("GET", "/api/v1/leads/reports", params={"category": category, **query})).json()
        (row,) = found["reports"]
        counts = {pivot: cell["leads_count"] for pivot, cell in row["pivots"].items()}
        assert counts == {"roof:flat": 2, "floors:2": 1, "(none)": 1}
        assert row["total"] == {"leads_count": 3}
        assert found["totals"]["leads_count"] == 3
    both = {"category": "token_values_map", **query}
    rows = (await company.send("GET", "/api/v1/leads/reports", params=both)).json()["reports"]
    assert {row["category"]: row["total"]["leads_count"] for row in rows} == {"roof:flat": 2, "floors:2": 1, None: 1}


async def test_a_pivot_that_is_called_total_has_its_own_columns_in_a_file(company: Any) -> None:
    await _submit(company, {"sub_id": "total"}, {"sub_id": "b"}, {"sub_id": "b"})
    query = {"category": "status", "pivot": "sub_id", "columns": "leads_count"}
    table = await company.send("GET", "/api/v1/leads/reports.csv", params=query)
    (row,) = csv.DictReader(io.StringIO(table.text))
    counts = {name: count for name, count in row.items() if name.endswith(".leads_count")}
    assert counts == {"b.leads_count": "2", "total.leads_count": "1", "(total).leads_count": "3"}


async def test_each_name_of_a_zone_is_listed_once_with_the_one_that_is_shown_for_it(company: Any) -> None:
    zones = (await company.send("GET", "/api/v1/collections/time_zone")).json()["time_zones"]
    assert len({zone["name"] for zone in zones}) == len(zones)
    for zone in [zone for zone in zones if zone["name"] in {"UTC", "Singapore", "Eastern Time (US & Canada)"}]:
        query = {"time_zone": zone["name"]}
        answer = await company.send("GET", "/api/v1/leads/reports", params=query)
        assert answer.json()["metadata"]["time_zone"] == zone["iana"]


async def test_a_page_of_a_report_as_a_file_says_how_many_rows_there_are_and_where_the_next_is(company: Any) -> None:
    await _submit(company, *({"sub_id": name} for name in "abc"))
    path = "/api/v1/leads/reports.csv?category=sub_id&columns=category&per_page=2"
    first = await company.send("GET", path)
    assert (unquoted(first.text).split(), first.headers["x-total-count"]) == (["category", "a", "b"], "3")
    second = await company.send("GET", first.headers["link"].partition("<")[2].partition(">")[0])
    assert (unquoted(second.text).split(), "link" in second.headers) == (["category", "c"], False)


async def test_rows_of_two_statuses_have_two_labels() -> None:
    labels = {status: status_label(status) for status in (*STATUSES, "no-answer")}
    assert len({*labels.values()}) == len(labels)
    expected = {
        "completed": "Completed",
        "completed_connected": "Completed connected",
        "opt_out": "Opted out",
        "exceeded_max_calls": "Attempt limit reached",
        "scheduled": "Scheduled",
        "no-answer": "No answer",
    }
    assert {status: labels[status] for status in expected} == expected
