"""Who may remove a lead, or move it to its end? Each sender of the table, with each setting of company and offer."""

from pathlib import Path
from typing import Any

import pytest

from engine.submission.public_rights import CALLER_ACTIONS, CallerAction, CallerProof
from schemas.records import PublicActions
from tests.adapters.http.conftest import Company, Town
from tests.adapters.http.test_unsubscribe import ADA, lead_of, link

pytestmark = pytest.mark.asyncio(loop_scope="session")

PAGE = Path(__file__).parents[3] / "deploy" / "docs" / "producers.md"
NUMBER = "+13055550142"
PATHS: dict[CallerAction, str] = {
    "opt_out": "caller_opt_out",
    "remove": "caller_remove",
    "move_to_end": "caller_move_to_end_of_schedule",
}
METHODS: dict[CallerAction, str] = {"opt_out": "PUT", "remove": "POST", "move_to_end": "PUT"}
STATUSES: dict[CallerAction, str] = {"opt_out": "opt_out", "remove": "removed", "move_to_end": "completed"}

WALKED = [
    (proof, setting, action, action in allowed) for (proof, setting), allowed in CALLER_ACTIONS.items() for action in PATHS
]


async def lead_by_number(company: Company) -> tuple[str, dict[str, Any]]:
    """Return the token and lead of a person with a number and an address."""
    lead = await lead_of(company, caller_id=NUMBER)
    schedule = (await company.send("GET", f"/api/v1/schedules/{lead['schedule_id']}")).json()["schedule"]
    return schedule["lead_token"], lead


async def act(
    where: tuple[Town, Company], proof: CallerProof, action: CallerAction, token: str, lead: dict[str, Any]
) -> int:
    """Act with a proof; return the status of the answer."""
    town, company = where
    path, query = f"/api/v1/leads/{NUMBER}/{PATHS[action]}", {"lead_token": token}
    match proof:
        case CallerProof.KEY:
            return (await company.send(METHODS[action], path, params=query)).status_code
        case CallerProof.TOKEN:
            return (await town.client.request(METHODS[action], path, params=query)).status_code
        case CallerProof.LINK:
            form = {"List-Unsubscribe": "One-Click"} if action == "opt_out" else {"action": action}
            return (await town.client.post(link(company.id, lead["id"]), data=form)).status_code


async def status_of(company: Company, lead: dict[str, Any]) -> str:
    return str((await company.send("GET", f"/api/v1/leads/{lead['id']}")).json()["lead"]["status"])


@pytest.mark.parametrize("record", ["company", "offer"])
@pytest.mark.parametrize(("proof", "setting", "action", "is_allowed"), WALKED)
async def test_each_sender_may_do_what_the_table_says(  # noqa: PLR0917 - a row of the table
    town: Town,
    company: Company,
    proof: CallerProof,
    setting: PublicActions,
    action: CallerAction,
    is_allowed: bool,
    record: str,
) -> None:
    token, lead = await lead_by_number(company)
    if record == "company":
        await company.send("PUT", "/api/v1/company", json={"public_actions": setting})
    else:
        other: PublicActions = "link" if setting == "token" else "token"
        await company.send("PUT", "/api/v1/company", json={"public_actions": other})
        offer = await company.record("offers", {"name": "Solar", "public_actions": setting})
        schedule = await company.schedule(name="Of the offer", offer_id=offer["id"])
        token = schedule["lead_token"]
        fields = {"lead_token": token, "email": ADA, "caller_id": NUMBER}
        lead = (await company.send("POST", "/api/v1/leads", json=fields)).json()["lead"]
    status = await act((town, company), proof, action, token, lead)
    refused = 403 if proof is CallerProof.LINK else 401
    assert status == (200 if is_allowed else refused)
    if is_allowed and (proof is not CallerProof.LINK or action != "opt_out"):
        assert await status_of(company, lead) == STATUSES[action]
    if not is_allowed:
        assert await status_of(company, lead) == lead["status"]


@pytest.mark.parametrize("action", ["remove", "move_to_end"])
async def test_the_refusal_says_nothing_of_who_is_a_lead(town: Town, company: Company, action: CallerAction) -> None:
    token, _ = await lead_by_number(company)
    await company.send("PUT", "/api/v1/company", json={"public_actions": "link"})
    query = {"lead_token": token}
    answers = [
        await town.client.request(METHODS[action], f"/api/v1/leads/{number}/{PATHS[action]}", params=query)
        for number in (NUMBER, "+13055550143")
    ]
    assert [answer.status_code for answer in answers] == [401, 401]
    bodies = [{name: value for name, value in answer.json().items() if name != "request_id"} for answer in answers]
    assert bodies[0] == bodies[1]


async def test_a_link_acts_on_its_own_lead_alone_and_only_while_the_lead_has_the_address(
    town: Town, company: Company
) -> None:
    await company.send("PUT", "/api/v1/company", json={"public_actions": "link"})
    first, second = await lead_of(company, caller_id=NUMBER), await lead_of(company, caller_id=NUMBER)
    answer = await town.client.post(link(company.id, first["id"]), data={"action": "remove"})
    assert (answer.status_code, "It is done" in answer.text) == (200, True), answer.text
    assert [await status_of(company, lead) for lead in (first, second)] == ["removed", second["status"]]

    await company.send("PUT", f"/api/v1/leads/{second['id']}", json={"email": "right@example.org"})
    former = await town.client.post(link(company.id, second["id"]), data={"action": "remove"})
    assert (former.status_code, "does not reach your address" in former.text) == (200, True), former.text
    assert await status_of(company, second) == second["status"]


async def test_a_link_follows_its_lead_to_another_number(town: Town, company: Company) -> None:
    await company.send("PUT", "/api/v1/company", json={"public_actions": "link"})
    lead = await lead_of(company, caller_id=NUMBER)
    moved = await company.send("PUT", f"/api/v1/leads/{lead['id']}", json={"caller_id": "+13055550147"})
    assert moved.status_code == 200, moved.text
    assert (await town.client.post(link(company.id, lead["id"]), data={"action": "remove"})).status_code == 200
    assert await status_of(company, lead) == "removed"


@pytest.mark.parametrize(("setting", "buttons"), [("token", 1), ("link", 3)])
async def test_the_page_of_a_link_has_a_button_for_each_thing_that_it_does(
    town: Town, company: Company, setting: str, buttons: int
) -> None:
    await company.send("PUT", "/api/v1/company", json={"public_actions": setting})
    lead = await lead_of(company)
    page = await town.client.get(link(company.id, lead["id"]))
    assert page.text.count("<button") == buttons
    assert await status_of(company, lead) == lead["status"]


async def test_what_else_is_posted_to_a_link_unsubscribes(town: Town, company: Company) -> None:
    await company.send("PUT", "/api/v1/company", json={"public_actions": "link"})
    lead = await lead_of(company)
    answer = await town.client.post(link(company.id, lead["id"]), data={"action": "delete"})
    assert "You are unsubscribed" in answer.text
    assert await status_of(company, lead) == "opt_out"


@pytest.mark.parametrize(("path", "method"), [("/api/v1/company", "PUT"), ("/api/v1/offers", "POST")])
async def test_a_word_that_is_no_setting_is_refused_by_name(company: Company, path: str, method: str) -> None:
    fields = {"name": "Solar", "public_actions": "nobody"}
    refused = await company.send(method, path, json=fields)
    assert (refused.status_code, list(refused.json()["errors"])) == (422, ["public_actions"]), refused.text


async def test_the_page_shows_the_table_of_the_code() -> None:
    section = PAGE.read_text().partition("### Who removes and moves a lead\n")[2].partition("\n### ")[0]
    shown = [line for line in section.splitlines() if line.startswith("| ")]

    def words(proof: CallerProof, setting: PublicActions) -> str:
        return ", ".join(action.replace("_", " ") for action in PATHS if action in CALLER_ACTIONS[proof, setting])

    rows = [f"| {proof.value} | {words(proof, 'token')} | {words(proof, 'link')} |" for proof in CallerProof]
    assert shown[-3:] == rows
