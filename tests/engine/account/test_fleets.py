"""Which buyers belong to a fleet, and what keeps a fleet that a filter names?"""

from typing import Any

import pytest

from schemas.records import Buyer, Schedule
from tests.engine.account.conftest import TOKEN, AccountWorld

TEXT = {"id": "text", "kind": "sms", "template": "Hi"}


def fleet(account: AccountWorld, name: str = "vip", **more: Any) -> int:
    return account.create("buyer_fleet", name="Fleet", user_fleet_id=name, **more)


def branch(*filters: str) -> dict[str, Any]:
    return {"id": "where", "kind": "branch", "rules": [{"if": list(filters), "goto": "text"}]}


def wait(*filters: str) -> dict[str, Any]:
    return {"id": "rest", "kind": "wait_for", "event": "tokens_match", "filters": list(filters), "timeout": "1d"}


def trigger(*filters: str) -> dict[str, Any]:
    return {"on": "exit", "type": "tokens_match", "filters": list(filters), "end_result": "completed"}


def schedule(account: AccountWorld, *steps: dict[str, Any], **more: Any) -> int:
    return account.create("schedule", name="Days", lead_token=TOKEN, steps=[*steps, TEXT], **more)


@pytest.mark.parametrize("name", [None, "", "VIP", "v-i-p", "v i p", "a" * 65, "ünal", "v\np"])
def test_a_fleet_has_an_identifier_of_lowercase_letters_digits_and_underscores(account: AccountWorld, name: Any) -> None:
    answer = account.change("create", "buyer_fleet", name="Fleet", user_fleet_id=name)
    assert (answer.code, list(answer.errors)) == ("validation_failed", ["user_fleet_id"])
    assert fleet(account, "a" * 64)
    assert fleet(account, "_9")


def test_an_identifier_is_of_one_live_fleet_of_a_company(account: AccountWorld) -> None:
    account.create("company", company_id=2, name="Windy")
    first, second = fleet(account), fleet(account, "gold")
    assert account.create("buyer_fleet", company_id=2, name="Fleet", user_fleet_id="vip")
    for answer in (
        account.change("create", "buyer_fleet", name="Other", user_fleet_id="vip"),
        account.update("buyer_fleet", second, user_fleet_id="vip"),
    ):
        assert (answer.code, list(answer.errors)) == ("duplicate_value", ["user_fleet_id"])
    assert account.update("buyer_fleet", first, user_fleet_id="silver").status == 200
    assert account.update("buyer_fleet", second, user_fleet_id="vip").status == 200
    assert account.delete("buyer_fleet", first).status == 200
    assert fleet(account, "silver")


def test_a_buyer_belongs_to_fleets_that_are_there_each_once_and_to_no_more_than_fifty(account: AccountWorld) -> None:
    account.create("company", company_id=2, name="Windy")
    theirs = account.create("buyer_fleet", company_id=2, name="Fleet", user_fleet_id="vip")
    gone, vip = fleet(account, "gone"), fleet(account)
    account.delete("buyer_fleet", gone)
    buyer_id = account.buyer(buyer_fleet_ids=[vip, vip])
    body = account.body("buyer", buyer_id)
    assert isinstance(body, Buyer)
    assert body.buyer_fleet_ids == (vip,)
    for unknown in (theirs, gone, buyer_id, 4711):
        answer = account.update("buyer", buyer_id, buyer_fleet_ids=[vip, unknown])
        assert answer.errors == {"buyer_fleet_ids": [f"{unknown} is no buyer fleet of this company"]}
    assert account.update("buyer", buyer_id, buyer_fleet_ids=[fleet(account, f"f{n}") for n in range(50)]).status == 200
    assert list(account.update("buyer", buyer_id, buyer_fleet_ids=list(range(1, 52))).errors) == ["buyer_fleet_ids"]


def test_a_fleet_stays_while_a_buyer_belongs_to_it(account: AccountWorld) -> None:
    vip = fleet(account)
    leaves, dies = account.buyer(0, buyer_fleet_ids=[vip]), account.buyer(1, buyer_fleet_ids=[vip])
    answer = account.delete("buyer_fleet", vip)
    assert (answer.code, f"buyer {leaves}" in (answer.detail or "")) == ("record_in_use", True)
    account.update("buyer", leaves, buyer_fleet_ids=[])
    assert account.delete("buyer_fleet", vip).code == "record_in_use"
    account.delete("buyer", dies)
    assert account.delete("buyer_fleet", vip).status == 200


@pytest.mark.parametrize(
    "plan",
    [
        {"steps": [branch("state:CA", "fleet:!=gold|vip"), TEXT]},
        {"steps": [wait("fleet:vip"), TEXT]},
        {"steps": [TEXT], "triggers": [trigger("fleet:vip")]},
        {
            "steps": [TEXT],
            "end_steps": [branch("fleet:vip"), {"id": "text", "kind": "tag", "add": ["x"]}],
        },
    ],
)
def test_a_fleet_that_a_filter_names_can_be_neither_deleted_nor_renamed(account: AccountWorld, plan: dict[str, Any]) -> None:
    vip, gold = fleet(account), fleet(account, "gold")
    steps = plan["steps"] if "end_steps" not in plan else [{**TEXT, "id": "first"}]
    schedule_id = account.create("schedule", name="Days", lead_token=TOKEN, **{**plan, "steps": steps})
    for answer in (account.delete("buyer_fleet", vip), account.update("buyer_fleet", vip, user_fleet_id="silver")):
        assert (answer.code, f"schedule {schedule_id}" in (answer.detail or "")) == ("record_in_use", True)
    assert account.update("buyer_fleet", vip, name="Best", description="Notes", user_fleet_id="vip").status == 200
    assert account.update("schedule", schedule_id, description="as it was").status == 200
    assert account.delete("buyer_fleet", vip).code == "record_in_use", "another change of the schedule lost the reference"
    account.update("schedule", schedule_id, steps=[TEXT], end_steps=[], triggers=[])
    assert account.update("buyer_fleet", vip, user_fleet_id="silver").status == 200
    assert account.delete("buyer_fleet", vip).status == 200
    assert account.delete("buyer_fleet", gold).status == 200


def test_a_fleet_of_buyers_alone_can_be_renamed(account: AccountWorld) -> None:
    vip = fleet(account)
    account.buyer(buyer_fleet_ids=[vip])
    assert account.update("buyer_fleet", vip, user_fleet_id="gold").status == 200
    assert schedule(account, branch("fleet:gold"))


def test_a_deleted_schedule_keeps_no_fleet(account: AccountWorld) -> None:
    vip = fleet(account)
    schedule_id = schedule(account, branch("fleet:vip"))
    assert account.delete("schedule", schedule_id).status == 200
    assert account.delete("buyer_fleet", vip).status == 200


@pytest.mark.parametrize("name", ["gold", "VIP", "", "vip:true", "vip,gold", "vip|gold"])
def test_a_filter_that_names_an_unknown_fleet_is_refused_where_it_is_published(account: AccountWorld, name: str) -> None:
    account.create("company", company_id=2, name="Windy")
    account.create("buyer_fleet", company_id=2, name="Fleet", user_fleet_id="gold")
    fleet(account)
    filters = f"fleet:{name}"
    cases: list[tuple[dict[str, Any], str]] = [
        ({"steps": [branch("state:CA", filters), TEXT]}, "steps[0].rules[0].if"),
        ({"steps": [TEXT, wait(filters)]}, "steps[1].filters"),
        ({"steps": [TEXT], "triggers": [trigger("plan:x"), trigger(filters)]}, "triggers[1].filters"),
    ]
    for plan, place in cases:
        answer = account.change("create", "schedule", name="Days", lead_token=TOKEN, **plan)
        assert (answer.code, list(answer.errors)) == ("invalid_schedule", [place])
        assert "names no buyer fleet of this company" in answer.errors[place][0]
        draft = account.change("create", "schedule", name="Days", lead_token=TOKEN, draft=True, **plan)
        assert list(draft.errors) == [place]


def test_fleets_are_not_compared_by_their_order(account: AccountWorld) -> None:
    fleet(account)
    answer = account.change("create", "schedule", name="Days", lead_token=TOKEN, steps=[branch("fleet:>=vip"), TEXT])
    assert answer.errors == {
        "steps[0].rules[0].if": ["(step 'where') must name a buyer fleet, such as fleet:vip or fleet:!=vip"]
    }


def test_a_draft_whose_fleet_has_gone_is_not_published(account: AccountWorld) -> None:
    vip = fleet(account)
    schedule_id = schedule(account)
    assert account.update("schedule", schedule_id, draft=True, steps=[branch("fleet:vip"), TEXT]).status == 200
    assert account.delete("buyer_fleet", vip).status == 200
    answer = account.change("publish", "schedule", schedule_id)
    assert list(answer.errors) == ["steps[0].rules[0].if"]
    body = account.body("schedule", schedule_id)
    assert isinstance(body, Schedule)
    assert len(body.steps) == 1


def test_an_action_group_keeps_the_fleet_that_it_names_and_brings_it_into_a_schedule(account: AccountWorld) -> None:
    vip = fleet(account)
    steps = [branch("fleet:vip"), TEXT]
    group_id = account.create("action_group", name="Who", steps=steps)
    answer = account.delete("buyer_fleet", vip)
    assert (answer.code, f"action group {group_id}" in (answer.detail or "")) == ("record_in_use", True)
    who = {"id": "who", "kind": "action_group", "action_group_id": group_id}
    schedule_id = account.create("schedule", name="Days", lead_token=TOKEN, steps=[who])
    account.update("action_group", group_id, steps=[TEXT])
    answer = account.delete("buyer_fleet", vip)
    assert (answer.code, f"schedule {schedule_id}" in (answer.detail or "")) == ("record_in_use", True)
    refused = account.update("action_group", group_id, steps=[branch("fleet:gold"), TEXT])
    assert list(refused.errors) == ["steps[0].rules[0].if"]
