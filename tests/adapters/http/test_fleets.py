"""Can a company group its buyers into fleets, see who belongs to them, and filter by them?"""

import csv
import io
import json
from typing import Any

import pytest

from tests.adapters.http.conftest import STEPS
from tests.adapters.http.creation_filters import check_creation_filters

pytestmark = pytest.mark.asyncio(loop_scope="session")

PATH = "/api/v1/buyer_fleets"

COLUMNS = """
id legacy_id type uuid created_at updated_at deleted_at user_updated_at routes_show_path routes_edit_path external_record_id
company_id name description user_fleet_id buyers_count buyer_ids
"""


async def fleet(company: Any, name: str = "vip", **more: Any) -> dict[str, Any]:
    made: dict[str, Any] = await company.record("buyer_fleets", {"name": f"Fleet {name}", "user_fleet_id": name, **more})
    return made


async def buyer(company: Any, *fleets: dict[str, Any], **more: Any) -> dict[str, Any]:
    fields = {"name": "B", "number": "+12125550140", "buyer_fleet_ids": [one["id"] for one in fleets], **more}
    made: dict[str, Any] = await company.record("buyers", fields)
    return made


async def shown(company: Any, made: dict[str, Any]) -> tuple[list[int], int]:
    found = (await company.send("GET", f"{PATH}/{made['id']}")).json()["buyer_fleet"]
    return found["buyer_ids"], found["buyers_count"]


async def test_a_fleet_is_made_shown_changed_and_deleted(company: Any, other: Any) -> None:
    fields = {"name": "Best", "description": "Who answers at once", "user_fleet_id": "vip_1"}
    made = await company.record("buyer_fleets", fields)
    assert made.keys() >= set(COLUMNS.split())
    assert made.items() >= {**fields, "type": "BuyerFleet", "buyers_count": 0, "buyer_ids": []}.items()
    for reference in (made["id"], made["uuid"]):
        assert (await company.send("GET", f"{PATH}/{reference}")).json()["buyer_fleet"] == made
        assert (await other.send("GET", f"{PATH}/{reference}")).status_code == 404
    changed = {"name": "Better", "description": None, "user_fleet_id": "vip_2"}
    for name, value in changed.items():
        answer = await company.send("PUT", f"{PATH}/{made['id']}", json={name: value})
        assert (answer.status_code, answer.json()["buyer_fleet"][name]) == (200, value)
    taken = await company.send("POST", PATH, json={"name": "Other", "user_fleet_id": "vip_2"})
    assert (taken.status_code, taken.json()["code"], list(taken.json()["errors"])) == (
        409,
        "duplicate_value",
        ["user_fleet_id"],
    )
    assert (await fleet(other, "vip_2"))["user_fleet_id"] == "vip_2"
    for bad in ({"name": "x"}, {"name": "x", "user_fleet_id": "V I P"}):
        refused = await company.send("POST", PATH, json=bad)
        assert (refused.status_code, list(refused.json()["errors"])) == (422, ["user_fleet_id"])
    assert (await company.send("DELETE", f"{PATH}/{made['id']}")).status_code == 200
    assert (await company.send("GET", f"{PATH}/{made['id']}")).json()["code"] == "deleted"
    built = (await company.send("GET", f"{PATH}/new")).json()["buyer_fleet"]
    assert (built["id"], built["user_fleet_id"]) == (None, None)


async def test_a_fleet_shows_its_live_buyers_as_soon_as_a_buyer_has_changed(company: Any, other: Any) -> None:
    vip, gold = await fleet(company), await fleet(company, "gold")
    theirs = await fleet(other)
    await buyer(other, theirs)
    first, second = await buyer(company, vip), await buyer(company, vip, gold)
    assert (await shown(company, vip), await shown(company, gold)) == (
        ([first["id"], second["id"]], 2),
        ([second["id"]], 1),
    )
    path = f"/api/v1/buyers/{first['id']}"
    answer = await company.send("PUT", path, data={"buyer_fleet_ids": f"{gold['id']}"})
    assert answer.json()["buyer"]["buyer_fleet_ids"] == [gold["id"]]
    assert (await shown(company, vip), await shown(company, gold)) == (
        ([second["id"]], 1),
        ([first["id"], second["id"]], 2),
    )
    await company.send("DELETE", path)
    assert await shown(company, gold) == ([second["id"]], 1)
    listed = (await company.send("GET", PATH, params={"columns": "user_fleet_id,buyer_ids,buyers_count"})).json()
    assert listed["buyer_fleets"] == [
        {"user_fleet_id": "gold", "buyer_ids": [second["id"]], "buyers_count": 1},
        {"user_fleet_id": "vip", "buyer_ids": [second["id"]], "buyers_count": 1},
    ]
    changed = await company.send("PUT", f"{PATH}/{vip['id']}", json={"description": "x"})
    assert changed.json()["buyer_fleet"]["buyer_ids"] == [second["id"]]


async def test_the_buyers_of_a_fleet_are_set_on_the_buyers(company: Any) -> None:
    vip = await fleet(company)
    member, outsider = await buyer(company, vip), await buyer(company)
    path = f"{PATH}/{vip['id']}"
    refused = await company.send("PUT", path, json={"buyer_ids": [outsider["id"]]})
    assert (refused.status_code, list(refused.json()["errors"])) == (422, ["buyer_ids"])
    assert await shown(company, vip) == ([member["id"]], 1)
    as_read = (await company.send("GET", path)).json()["buyer_fleet"]
    assert (await company.send("PUT", path, json={"buyer_ids": [member["id"]], "buyers_count": 1})).status_code == 200
    await company.send("PUT", f"/api/v1/buyers/{outsider['id']}", json={"buyer_fleet_ids": [vip["id"]]})
    assert (await company.send("PUT", path, json=as_read)).status_code == 200, "it was read before another buyer joined"
    assert (await shown(company, vip))[1] == 2


async def test_a_buyer_names_fleets_of_its_company_alone(company: Any, other: Any) -> None:
    theirs, made = await fleet(other), await buyer(company)
    for unknown in (theirs["id"], 999_999):
        for answer in (
            await company.send("PUT", f"/api/v1/buyers/{made['id']}", json={"buyer_fleet_ids": [unknown]}),
            await company.send(
                "POST", "/api/v1/buyers", json={"name": "B", "number": "+12125550140", "buyer_fleet_ids": [unknown]}
            ),
        ):
            assert answer.status_code == 422
            assert answer.json()["errors"] == {"buyer_fleet_ids": [f"{unknown} is no buyer fleet of this company"]}
    assert await shown(other, theirs) == ([], 0)


async def test_every_parameter_of_the_list_of_fleets_takes_effect(company: Any) -> None:
    first, second, third = [await fleet(company, name) for name in ("one", "two", "three")]
    member = await buyer(company, second)

    async def listed(**params: str) -> list[str]:
        answer = await company.send("GET", PATH, params=params)
        assert answer.status_code == 200, answer.text
        return [row["user_fleet_id"] for row in answer.json()["buyer_fleets"]]

    assert await listed() == await listed(order_dir="desc") == ["three", "two", "one"]
    assert await listed(order_dir="asc") == ["one", "two", "three"]
    assert await listed(page="2", per_page="2") == ["one"]
    await check_creation_filters(listed, second, third)
    assert await listed(fulltext="fleet tw") == ["two"]
    bare = await company.send("GET", PATH, params={"root": "false", "columns": "buyers_count,id"})
    assert bare.json() == [
        {"buyers_count": 0, "id": third["id"]},
        {"buyers_count": 1, "id": second["id"]},
        {"buyers_count": 0, "id": first["id"]},
    ]
    exported = await company.send("GET", f"{PATH}.csv", params={"order_dir": "asc"})
    assert exported.headers["content-type"].startswith("text/csv")
    rows = list(csv.DictReader(io.StringIO(exported.text)))
    assert [(row["user_fleet_id"], row["buyers_count"], json.loads(row["buyer_ids"])) for row in rows] == [
        ("one", "0", []),
        ("two", "1", [member["id"]]),
        ("three", "0", []),
    ]
    assert (await company.send("GET", f"{PATH}.json")).json()["buyer_fleets"][1]["buyer_ids"] == [member["id"]]
    assert (await company.send("GET", PATH, params={"paused": "true"})).status_code == 422
    for row in rows:  # what was exported is imported again, without its buyers
        again = await company.record("buyer_fleets", {**row, "user_fleet_id": f"{row['user_fleet_id']}_again"})
        assert again["buyer_ids"] == []


async def test_a_fleet_in_use_is_neither_deleted_nor_renamed(company: Any) -> None:
    vip = await fleet(company)
    path = f"{PATH}/{vip['id']}"
    member = await buyer(company, vip)
    refused = await company.send("DELETE", path)
    assert (refused.status_code, refused.json()["code"]) == (409, "record_in_use")
    await company.send("PUT", f"/api/v1/buyers/{member['id']}", json={"buyer_fleet_ids": []})

    branch = {"id": "where", "kind": "branch", "rules": [{"if": ["fleet:vip"], "goto": STEPS[0]["id"]}]}
    schedule = await company.schedule(steps=[branch, *STEPS])
    for refused in (
        await company.send("DELETE", path),
        await company.send("PUT", path, json={"user_fleet_id": "gold"}),
    ):
        assert (refused.status_code, refused.json()["code"]) == (409, "record_in_use"), refused.text
        assert f"schedule {schedule['id']}" in refused.json()["detail"]
    assert (await company.send("PUT", path, json={"name": "Other"})).status_code == 200
    await company.send("DELETE", f"/api/v1/schedules/{schedule['id']}")
    assert (await company.send("PUT", path, json={"user_fleet_id": "gold"})).status_code == 200
    assert (await company.send("DELETE", path)).status_code == 200


async def test_a_schedule_that_names_an_unknown_fleet_is_not_published(company: Any, other: Any) -> None:
    await fleet(other)
    branch = {"id": "where", "kind": "branch", "rules": [{"if": ["fleet:vip"], "goto": STEPS[0]["id"]}]}
    fields = {"name": "Solar", "steps": [branch, *STEPS]}
    refused = await company.send("POST", "/api/v1/schedules", json=fields)
    assert (refused.status_code, refused.json()["code"]) == (422, "invalid_schedule"), refused.text
    assert list(refused.json()["errors"]) == ["steps[0].rules[0].if"]
    assert "fleet:vip names no buyer fleet of this company" in refused.text
    await fleet(company)
    assert (await company.send("POST", "/api/v1/schedules", json=fields)).status_code == 201
