"""Are calls listed by page and by cursor, with every filter, and only to their own company?"""

from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from adapters.http.calls.call_lists import SERIALIZERS
from engine.views.call import CALL_COLUMNS
from schemas.instant import DAY, HOUR
from tests.adapters.http.conftest import unquoted
from tests.adapters.postgres.projected_rows import Shown, call

pytestmark = pytest.mark.asyncio(loop_scope="session")


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def shown(town: Any) -> AsyncIterator[Shown]:
    """Calls are shown through the projection's own writer, beside what the projector of the deployment writes."""
    shown = Shown(town.pool, topic="calls.of.this.test")
    yield shown
    await shown.store.close()


async def _calls(company: Any, shown: Shown, count: int, **fields: Any) -> list[int]:
    first = company.id * 1000
    made = [call(first + place, company=company.id, **fields) for place in range(count)]
    await shown.decide(*made)
    return [one.id for one in made][::-1]


async def _list(company: Any, path: str = "/api/v1/calls", **query: Any) -> dict[str, Any]:
    answer = await company.send("GET", path, params=query)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


async def test_calls_go_by_cursor_unless_a_page_or_an_order_is_asked_for(company: Any, shown: Shown) -> None:
    ids = await _calls(company, shown, 27)
    first = await _list(company)
    assert [found["id"] for found in first["calls"]] == ids[:25]
    assert first["metadata"] == {"root": "calls", "per_page": 25, "next_cursor": ids[24]}
    rest = await _list(company, cursor=first["metadata"]["next_cursor"])
    assert ([found["id"] for found in rest["calls"]], rest["metadata"]["next_cursor"]) == (ids[25:], 0)
    assert len((await _list(company, per_page=1000))["calls"]) == 27
    assert len((await _list(company, cursor=-1, per_page=1000))["calls"]) == 27
    assert [found["id"] for found in (await _list(company, page=2, per_page=10))["calls"]] == ids[10:20]
    page = await _list(company, page=3)
    assert [found["id"] for found in page["calls"]] == ids[20:27]
    assert page["metadata"] == {
        "root": "calls", "page": 3, "per_page": 10, "total_count": 27, "total_pages": 3, "next_cursor": None,
    }  # fmt: skip
    ordered = await _list(company, order="created_at", order_dir="asc")
    assert [found["id"] for found in ordered["calls"]] == ids[::-1][:10]


@pytest.mark.parametrize(
    ("query", "status", "code", "bad"),
    [
        ({"page": "1", "per_page": "11"}, 422, "per_page_requires_cursor", {"per_page"}),
        ({"order": "revenue", "per_page": "100"}, 422, "per_page_requires_cursor", {"per_page"}),
        ({"page": "1", "per_page": "11", "no_buyer": "x"}, 422, "validation_failed", {"per_page", "no_buyer"}),
        ({"per_page": "1001"}, 422, "validation_failed", {"per_page"}),
        ({"cursor": "-1", "order": "revenue"}, 422, "validation_failed", {"order"}),
        ({"cursor": "-2"}, 400, "bad_cursor", {"cursor"}),
        ({"order": "hangup_cause"}, 422, "validation_failed", {"order"}),
        ({"status": "sleepy"}, 422, "validation_failed", {"status"}),
        ({"token_value": "roof"}, 422, "validation_failed", {"token_value"}),
        ({"buyer_group_ids": "1,x"}, 422, "validation_failed", {"buyer_group_ids"}),
        ({"columns": "id,shoe"}, 422, "validation_failed", {"columns"}),
        ({"serializer": "lead"}, 422, "validation_failed", {"serializer"}),
        ({"created_at_label": "Tomorrow"}, 422, "validation_failed", {"created_at_label"}),
    ],
)
async def test_what_a_list_of_calls_cannot_do_is_refused(
    company: Any, query: dict[str, str], status: int, code: str, bad: set[str]
) -> None:
    answer = await company.send("GET", "/api/v1/calls", params=query)
    assert (answer.status_code, answer.json()["code"], set(answer.json()["errors"])) == (status, code, bad)


async def test_filters_of_calls_choose(company: Any, other: Any, shown: Shown) -> None:
    now = company.town.context.clock.now()
    first = company.id * 1000
    await shown.decide(
        call(first, company=company.id, created_at=now - HOUR // 2, token_values={"roof": "flat"}, buyer_group_id=7),
        call(first + 1, company=company.id, created_at=now - 3 * DAY, ended_at=None, status="ringing", revenue=5.0),
    )
    await _calls(other, shown, 1)
    cases: list[tuple[dict[str, Any], list[int]]] = [
        ({}, [1, 0]),
        ({"created_at_label": "Last Hour"}, [0]),
        ({"created_at_label": "Lifetime"}, [1, 0]),
        ({"token_key": "roof", "token_value": "flat"}, [0]),
        ({"token_value": "roof:flat"}, [0]),
        ({"token_key": "roof", "token_value": "roof:flat"}, [0]),
        ({"buyer_group_ids": "6,7"}, [0]),
        ({"buyer_group_ids[]": ["6", "7"]}, [0]),
        ({"id": str(first)}, [0]),
        ({"id": str(first), "ids": str(first + 1)}, []),
        ({"in_progress": "yes"}, [1]),
        ({"status": "ringing"}, [1]),
        ({"fulltext": "flat"}, [0]),
        ({"order": "revenue"}, [1, 0]),
        ({"order": "ended_at", "order_dir": "asc"}, [0, 1]),
        ({"ended_at_from": "2020-01-01 00:00:00 +0000"}, [0]),
        ({"status": "", "serializer": ""}, [1, 0]),
    ]
    for query, expected in cases:
        found = (await _list(company, **query))["calls"]
        assert [one["id"] - first for one in found] == expected, query


async def test_live_calls_and_the_calls_of_a_person(company: Any, shown: Shown) -> None:
    first = company.id * 1000
    number = "+13055550123"
    await shown.decide(
        call(first, company=company.id, number_called=number),
        call(first + 1, company=company.id, direction="inbound", from_number=number, ended_at=None, status="established"),
        call(first + 2, company=company.id),
    )
    live = await _list(company, "/api/v1/calls/live_calls", serializer="call_grid")
    assert [found["id"] for found in live["calls"]] == [first + 1]
    assert tuple(live["calls"][0]) == SERIALIZERS["call_grid"]
    for spelled in (number, "%2B13055550123", "13055550123", "(305) 555-0123"):
        found = await _list(company, f"/api/v1/calls/{spelled}/by_caller_number")
        assert [one["id"] for one in found["calls"]] == [first + 1, first]
    assert len((await _list(company, f"/api/v1/calls/{number}/by_caller_number", per_page=1))["calls"]) == 1
    refused = await company.send("GET", "/api/v1/calls/nobody/by_caller_number")
    assert (refused.status_code, set(refused.json()["errors"])) == (422, {"caller_number"})


@pytest.mark.parametrize("path", ["/api/v1/calls/live_calls", "/api/v1/calls/+13055550123/by_caller_number"])
async def test_live_calls_and_the_calls_of_a_person_are_listed_whole_by_page_and_by_cursor(
    company: Any, shown: Shown, path: str
) -> None:
    going_on: dict[str, Any] = {"direction": "inbound", "from_number": "+13055550123", "ended_at": None}
    ids = await _calls(company, shown, 5, **going_on, status="established")
    pages = [await _list(company, path, page=page, per_page=2) for page in (1, 2, 3, 4)]
    assert [[found["id"] for found in page["calls"]] for page in pages] == [ids[:2], ids[2:4], ids[4:], []]
    assert {page["metadata"]["total_pages"] for page in pages} == {3}
    bare = await company.send("GET", path, params={"per_page": 2, "root": "false"})
    following = await company.send("GET", bare.links["next"]["url"])
    assert [found["id"] for found in following.json()] == ids[2:4]
    listed, cursor = [], -1
    while cursor:
        page = await _list(company, path, cursor=cursor, per_page=2)
        listed += [found["id"] for found in page["calls"]]
        cursor = page["metadata"]["next_cursor"]
    assert listed == ids
    for name, value, status in (("cursor", "-2", 400), ("page", "0", 422), ("per_page", "1001", 422)):
        refused = await company.send("GET", path, params={name: value})
        assert (refused.status_code, list(refused.json()["errors"])) == (status, [name])


async def test_calls_are_shown_in_the_form_asked_for_and_as_a_file(company: Any, shown: Shown) -> None:
    ids = await _calls(company, shown, 3, token_values={"note": "=1+1"})
    assert tuple((await _list(company))["calls"][0]) == CALL_COLUMNS
    outside = (await _list(company, serializer="call_external"))["calls"][0]
    assert not {"id", "lead_id", "revenue", "cost", "routes_show_path"} & set(outside)
    assert {"uuid", "external_record_id", "caller_number", "status"} <= set(outside)
    assert list((await _list(company, columns="status,id"))["calls"][0]) == ["status", "id"]
    text = (await company.send("GET", "/api/v1/calls.csv", params={"columns": "id,caller_number"})).text
    assert unquoted(text).split("\r\n")[0] == "id,caller_number"
    assert [int(line.split(",")[0]) for line in text.split("\r\n")[1:-1]] == ids
    bare = await company.send("GET", "/api/v1/calls", params={"root": "false", "per_page": 2})
    assert (len(bare.json()), bare.headers["x-next-cursor"]) == (2, str(ids[1]))
