"""Do a contact field type's script and fields reach the agent, and do only values go in that fit?"""

from typing import Any

import pytest

from tests.adapters.http.conftest import Company, Town
from tests.adapters.http.console_browser import visitor
from tests.adapters.http.test_agents import agent
from tests.adapters.http.test_console_agent import ADA, AGENT

FIELDS = [
    {"key": "roof", "label": "Kind of roof", "kind": "choice", "options": ["flat", "steep"]},
    {"key": "built", "kind": "number"},
]

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def called(company: Company, town: Town, field_type: Any, **more: Any) -> int:
    """Return a call of a lead that names a contact field type."""
    schedule = await company.schedule()
    town.numbers += 1
    lead = {"lead_token": schedule["lead_token"], "caller_id": f"+1917555{town.numbers:04d}", **more}
    made = await company.send("POST", "/api/v1/leads", json={**lead, "contact_field_type": str(field_type)})
    assert made.status_code == 201, made.text
    started = await company.send("POST", "/api/v1/schedules/make_call", json={"lead_id": made.json()["lead"]["id"]})
    assert started.status_code == 201, started.text
    return int(started.json()["call"]["id"])


async def filled_in(company: Company, call_id: int, **tokens: Any) -> Any:
    return await company.send("POST", f"/api/v1/calls/{call_id}", json={"post_call_tokens": tokens})


async def test_only_values_that_fit_go_into_the_fields_of_a_call(town: Town, company: Company) -> None:
    roofs = (await company.record("contact_field_types", {"name": "Roofs", "fields": FIELDS}))["id"]
    await company.record("numbers", {"number": "+12125550171"})
    call_id = await called(company, town, roofs)

    wrong = await filled_in(company, call_id, roof="round", built="old", floors=2)
    assert wrong.status_code == 422, wrong.text
    assert set(wrong.json()["errors"]) == {"post_call_tokens.roof", "post_call_tokens.built"}
    right = await filled_in(company, call_id, roof="flat", built="1990", floors=2)
    assert right.status_code == 200, right.text
    assert right.json()["call"]["token_values"] == {"roof": "flat", "built": "1990", "floors": 2}
    assert (await filled_in(company, call_id, roof=None)).json()["call"]["token_values"] == {"built": "1990", "floors": 2}


async def test_a_name_that_is_no_id_and_the_id_of_another_company_declare_nothing(
    town: Town, company: Company, other: Company
) -> None:
    theirs = (await other.record("contact_field_types", {"name": "Secret name", "fields": FIELDS}))["id"]
    await company.record("numbers", {"number": "+12125550172"})
    for named in (theirs, "roofs"):
        assert (await filled_in(company, await called(company, town, named), roof="round")).status_code == 200
    assert (await company.send("GET", f"/api/v1/contact_field_types/{theirs}")).status_code == 404
    report = await company.send("GET", "/api/v1/leads/reports", params={"category": "contact_field_type"})
    assert {row["category_label"] for row in report.json()["reports"]} == {str(theirs), "roofs"}


async def test_reports_name_the_type(town: Town, company: Company) -> None:
    roofs = (await company.record("contact_field_types", {"name": "Roofs"}))["id"]
    await company.record("numbers", {"number": "+12125550173"})
    await called(company, town, roofs)

    report = await company.send("GET", "/api/v1/leads/reports", params={"category": "contact_field_type"})

    assert [(row["category"], row["category_label"]) for row in report.json()["reports"]] == [(str(roofs), "Roofs")]


async def test_an_agent_reads_the_script_and_fills_in_the_fields(town: Town, company: Company) -> None:
    script = "Hello {{first_name}}, <b>welcome</b>."
    roofs = (await company.record("contact_field_types", {"name": "Roofs", "script": script, "fields": FIELDS}))["id"]
    await company.record("numbers", {"number": "+12125550174"})
    await agent(company, user_email=ADA)
    call_id = await called(company, town, roofs, data={"first_name": "Grace"})
    granted = {name: {"actions": ["read", "update"]} for name in ("agent", "call", "lead")}
    shown = {name: {"actions": ["read"]} for name in ("contact_field_type", "call_disposition")}
    browser = await visitor(town, company, permissions={**granted, **shown})

    page = await browser.get(AGENT, params={"call": call_id})

    assert "Hello Grace, &lt;b&gt;welcome&lt;/b&gt;." in page.text
    assert 'name="token.roof"' in page.text
    assert "Kind of roof" in page.text
    typed = {"token.roof": "steep", "token_before.roof": "", "token.built": "x", "token_before.built": "", "notes": ""}
    refused = await browser.post(f"{AGENT}/calls/{call_id}", typed)
    assert refused.status_code == 422
    assert "<option selected>steep</option>" in refused.text
    done = await browser.post(f"{AGENT}/calls/{call_id}", {**typed, "token.built": "1990"})
    assert done.status_code == 303, done.text
    tokens = (await company.send("GET", f"/api/v1/calls/{call_id}")).json()["call"]["token_values"]
    assert tokens == {"first_name": "Grace", "roof": "steep", "built": "1990"}
