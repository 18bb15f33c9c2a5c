"""Can a company group its buyers, change who belongs to a group, and list groups by every order of the interface?"""

import asyncio
import csv
import io
import json
from typing import Any

import pytest

from engine.account.groups import PERIODS
from tests.adapters.http.creation_filters import check_creation_filters
from tests.adapters.http.test_inbound_routing import offered, report, shown_group

pytestmark = pytest.mark.asyncio(loop_scope="session")

PATH = "/api/v1/buyer_groups"

METRICS = ("attempt", "buyer_conversion", "connection", "earned_revenue", "revenue")
CAPS = [f"{metric}_{period}" for metric in METRICS for period in PERIODS]

COLUMNS = """
id legacy_id type uuid created_at updated_at deleted_at user_updated_at routes_show_path routes_edit_path external_record_id
concurrency_cap_limit concurrency_cap_used buyer_ids buyers_count company_id name maxed_out weight tier time_zone paused
paused_at paused_by_user_id unpaused_at dial_buyers_type
"""

ORDERS = """
name maxed_out weight tier cap_reset_at time_zone created_at updated_at paused paused_at paused_by_user_id unpaused_at
user_updated_at dial_buyers_type call_limits.in_progress_count call_limits.in_progress_used
"""


async def three_buyers(company: Any) -> list[int]:
    fields = ({"name": name, "number": "+12125550140", "user_buyer_id": name} for name in ("ann", "bob", "cy"))
    return [(await company.record("buyers", one))["id"] for one in fields]


async def test_a_group_is_made_shown_changed_and_deleted(company: Any, other: Any) -> None:
    ann, bob, cy = await three_buyers(company)
    fields = {"name": "East", "paused": True, "dial_buyers_type": "simultaneously", "tier": -1}
    members = {"buyer_ids": [ann], "add_buyer_ids": [bob], "add_user_buyer_ids": ["cy"]}
    made = await company.record("buyer_groups", {**fields, **members})
    assert made.keys() >= {*COLUMNS.split(), *(f"{cap}_{end}" for cap in CAPS for end in ("used", "limit"))}
    assert made.items() >= {**fields, "type": "BuyerGroup", "buyer_ids": [ann, bob, cy], "buyers_count": 3}.items()
    without = {"remove_buyer_ids": [ann], "remove_user_buyer_ids": ["cy"]}
    assert (await company.record("buyer_groups", {**fields, **members, **without}))["buyer_ids"] == [bob]

    for reference in (made["id"], made["uuid"]):
        assert (await company.send("GET", f"{PATH}/{reference}")).json()["buyer_group"] == made
        assert (await other.send("GET", f"{PATH}/{reference}")).status_code == 404
    changes = {"name": "West", "paused": False, "dial_buyers_type": "sequentially", "tier": 3}
    for name, value in changes.items():
        answer = await company.send("PUT", f"{PATH}/{made['id']}", json={name: value})
        assert (answer.status_code, answer.json()["buyer_group"][name]) == (200, value)
    for change, expected in (
        (without, [bob]),
        ({"add_user_buyer_ids": ["cy"]}, [bob, cy]),
        ({"add_buyer_ids": [ann, cy]}, [bob, cy, ann]),
        ({"buyer_ids": [cy]}, [cy]),
    ):
        answer = await company.send("PUT", f"{PATH}/{made['id']}", json=change)
        assert (answer.json()["buyer_group"]["buyer_ids"], answer.json()["buyer_group"]["buyers_count"]) == (
            expected,
            len(expected),
        )
    assert (await company.send("DELETE", f"{PATH}/{made['id']}")).status_code == 200
    assert (await company.send("GET", f"{PATH}/{made['id']}")).json()["code"] == "deleted"


async def test_buyers_that_are_added_at_the_same_time_are_all_in_the_group(company: Any) -> None:
    made = await company.record("buyer_groups", {"name": "East"})
    ids = await three_buyers(company)
    answers = await asyncio.gather(
        *(company.send("PUT", f"{PATH}/{made['id']}", json={"add_buyer_ids": [one]}) for one in ids)
    )
    assert [answer.status_code for answer in answers] == [200] * 3
    assert sorted((await shown_group(company, made["id"]))["buyer_ids"]) == sorted(ids)


async def test_the_total_of_a_group_is_counted_from_its_reset_on(company: Any) -> None:
    _, group_id = await offered(company, group={"attempt_total_limit": 1, "reset_total_caps": True})
    assert (await shown_group(company, group_id))["total_caps_reset_at"] is not None
    assert (await report(company, 1))["route"]["action"] == "connect"
    await report(company, 1, "ended", hung_up_by="caller")
    assert (await report(company, 2))["route"]["reason"] == "buyer_cap"
    full = await shown_group(company, group_id)
    assert (full["attempt_total_used"], full["maxed_out"]) == (1, True)

    assert (await company.send("PUT", f"{PATH}/{group_id}", json={"reset_total_caps": "1"})).status_code == 200

    assert (await shown_group(company, group_id))["attempt_total_used"] == 0
    assert (await report(company, 3))["route"]["action"] == "connect"


async def test_every_parameter_of_the_list_of_groups_takes_effect(company: Any) -> None:
    ids = await three_buyers(company)
    more: list[dict[str, Any]] = [{}, {"paused": True}, {"buyer_ids": ids[:2]}]
    names = ("one", "two", "three")
    first, second, third = [
        await company.record("buyer_groups", {"name": f"Group {name}", "weight": weight, **fields})
        for name, weight, fields in zip(names, (2, 3, 1), more, strict=True)
    ]

    async def listed(**params: str) -> list[str]:
        answer = await company.send("GET", PATH, params=params)
        assert answer.status_code == 200, answer.text
        return [row["name"].removeprefix("Group ") for row in answer.json()["buyer_groups"]]

    assert await listed() == ["three", "two", "one"]
    assert await listed(order="weight", order_dir="asc") == ["three", "one", "two"]
    assert await listed(order="weight", order_dir="desc") == ["two", "one", "three"]
    assert (await listed(paused="yes"), await listed(paused="off")) == (["two"], ["three", "one"])
    assert await listed(page="2", per_page="2") == ["one"]
    await check_creation_filters(listed, second, third)
    assert await listed(fulltext="group tw") == ["two"]
    bare = await company.send("GET", PATH, params={"root": "false", "columns": "buyers_count,id"})
    assert bare.json() == [
        {"buyers_count": 2, "id": third["id"]},
        {"buyers_count": 0, "id": second["id"]},
        {"buyers_count": 0, "id": first["id"]},
    ]
    exported = await company.send("GET", f"{PATH}.csv", params={"order": "name", "order_dir": "desc"})
    assert exported.headers["content-type"].startswith("text/csv")
    rows = list(csv.DictReader(io.StringIO(exported.text)))
    assert [(row["name"], json.loads(row["buyer_ids"])) for row in rows] == [
        ("Group two", []),
        ("Group three", ids[:2]),
        ("Group one", []),
    ]


async def test_groups_are_listed_by_every_order_of_the_interface(company: Any) -> None:
    for weight in (1, 2):
        await company.record("buyer_groups", {"name": f"Group {weight}", "weight": weight, "attempt_daily_limit": weight})
    for order in (*ORDERS.split(), *(f"call_limits.{cap}_used" for cap in CAPS)):
        for order_dir in ("asc", "desc"):
            answer = await company.send("GET", PATH, params={"order": order, "order_dir": order_dir, "columns": "weight"})
            assert answer.status_code == 200, f"{order}: {answer.text}"
            assert sorted(row["weight"] for row in answer.json()["buyer_groups"]) == [1, 2], order
