"""Does a new buyer group bring its team with it, in one decision, and never one that sees too much?"""

from typing import Any

import pytest

from engine.account.teams import visibility_of
from schemas.records import AccessControlList, LeadFilters
from schemas.requests import RecordChangeRequested
from tests.engine.account.conftest import AccountWorld

PEOPLE = ["Ada@Example.com", "grace@example.com"]


def made(account: AccountWorld, **fields: Any) -> tuple[int, AccessControlList]:
    """Create a group with its team; return the group's id, and the team."""
    asked = {"name": "Roofers", "generate_team": True, "team_users_emails": PEOPLE, **fields}
    request = RecordChangeRequested(company_id=1, type="buyer_group", operation="create", fields=asked)
    decision = account.ask(request).decision
    assert decision.verdict == "done", decision
    created = [fact.data for fact in decision.facts if fact.type == "record.created"]
    assert [fact["record_type"] for fact in created] == ["buyer_group", "access_control_list"]
    group_id, team_id = (fact["record_id"] for fact in created)
    assert (decision.answer.record_id if decision.answer else None, created[1]["generated_by"]) == (
        group_id,
        f"buyer_group/{group_id}",
    )
    team = account.body("access_control_list", team_id)
    assert isinstance(team, AccessControlList)
    return group_id, team


def test_its_team_reads_the_group_its_buyers_and_their_leads_alone(account: AccountWorld) -> None:
    buyer_id, offer_id = account.buyer(), account.create("offer", name="Solar", lead_token="0123456789abcdef")
    group_id, team = made(account, buyer_ids=[buyer_id], team_offer_ids=[offer_id])
    assert (team.name, team.users_emails) == ("Roofers", ("ada@example.com", "grace@example.com"))
    seen = LeadFilters(buyer_ids=(buyer_id,), offer_ids=(offer_id,))
    for scope in ("lead:read", "call:read"):
        assert visibility_of([team], scope).leads == (seen,)
    assert visibility_of([team], "buyer_group:read").record_ids == (group_id,)
    assert visibility_of([team], "buyer:read").record_ids == (buyer_id,)
    assert {permission.actions for permission in team.permissions.values()} == {("read",)}
    assert not team.superuser


def test_buyers_that_are_added_at_once_count(account: AccountWorld) -> None:
    buyer_id = account.buyer(user_buyer_id="b1")
    _, team = made(account, add_user_buyer_ids=["b1"])
    assert team.lead_filters == LeadFilters(buyer_ids=(buyer_id,))


@pytest.mark.parametrize(
    ("fields", "bad"),
    [
        ({}, {"team_users_emails", "generate_team"}),
        ({"team_users_emails": PEOPLE}, {"generate_team"}),
        ({"team_users_emails": ["nobody"], "team_offer_ids": [4711]}, {"team_users_emails", "team_offer_ids"}),
        ({"generate_team": False, "team_users_emails": PEOPLE}, {"team_users_emails"}),
        ({"generate_team": "perhaps"}, {"generate_team"}),
    ],
)
def test_a_team_that_could_not_work_or_would_see_all_leads_is_refused_with_its_group(
    account: AccountWorld, fields: dict[str, Any], bad: set[str]
) -> None:
    answer = account.change("create", "buyer_group", name="Roofers", **{"generate_team": True, **fields})
    assert (answer.code, set(answer.errors)) == ("validation_failed", bad)


def test_a_group_that_is_there_makes_no_team(account: AccountWorld) -> None:
    group_id = account.group(account.buyer())
    answer = account.update("buyer_group", group_id, generate_team=True, team_users_emails=PEOPLE)
    assert set(answer.errors) == {"generate_team", "team_users_emails"}


def test_without_generate_team_there_is_none(account: AccountWorld) -> None:
    request = RecordChangeRequested(company_id=1, type="buyer_group", operation="create", fields={"name": "x"})
    facts = account.ask(request).decision.facts
    assert [fact.type for fact in facts] == ["record.created"]
