"""Is a view of leads saved for one user alone, and is what it names checked when it is saved and when it is shown?"""

import asyncio
from typing import Any

import pytest

from adapters.http.leads.lead_views import NAME_LENGTH_MAX, QUERY_LENGTH_MAX
from adapters.postgres.lead_views import VIEWS_MAX
from tests.adapters.http.test_sign_in import ADA, get, session, user

pytestmark = pytest.mark.asyncio(loop_scope="session")

PATH = "/api/v1/lead_views"
GRACE = "grace@example.com"
READER = {"lead": {"actions": ["read"]}}


async def reader(town: Any, company: Any, email: str = ADA, **team: Any) -> dict[str, str]:
    """Return the headers of a new user who may read leads."""
    await user(company, email)
    await company.record("access_control_lists", {"name": f"Team of {email}", "users_emails": [email], **team})
    return await session(town, company, email=email)


async def save(town: Any, headers: dict[str, str], name: Any, **query: Any) -> Any:
    return await town.client.post(PATH, headers=headers, json={"name": name, "query": query})


async def listed(town: Any, headers: dict[str, str]) -> dict[str, dict[str, Any]]:
    answer = await get(town, headers, PATH)
    assert answer.status_code == 200, answer.text
    return {row["name"]: row for row in answer.json()["lead_views"]}


async def faults(town: Any, headers: dict[str, str], name: Any = "Due", **query: Any) -> dict[str, list[str]]:
    answer = await save(town, headers, name, **query)
    assert answer.status_code == 422, answer.text
    found: dict[str, list[str]] = answer.json()["errors"]
    return found


async def test_a_view_is_saved_replaced_listed_and_deleted(town: Any, company: Any) -> None:
    ada = await reader(town, company, permissions=READER)
    made = await save(town, ada, " Due ", states=["NY", "CA"], opt_out=False, schedule_id=7, order="caller_id", tag="")
    assert made.status_code == 201, made.text
    view = made.json()["lead_view"]
    query = {"states": "NY,CA", "opt_out": "false", "schedule_id": "7", "order": "caller_id"}
    assert (view["name"], view["query"], view["refused"]) == ("Due", query, {})
    assert (await town.client.get("/api/v1/leads", headers=ada, params=view["query"])).status_code == 200
    again = await save(town, ada, "Due", status="scheduled")
    assert (again.status_code, again.json()["lead_view"]["id"]) == (200, view["id"])
    assert (await listed(town, ada))["Due"]["query"] == {"status": "scheduled"}
    assert (await get(town, ada, f"{PATH}?root=false")).json()[0]["name"] == "Due"
    deleted = await town.client.delete(f"{PATH}/{view['id']}", headers=ada)
    assert (deleted.status_code, deleted.json()["lead_view"]["name"]) == (200, "Due")
    assert await listed(town, ada) == {}
    assert (await town.client.delete(f"{PATH}/{view['id']}", headers=ada)).status_code == 404


async def test_a_view_is_of_its_user_alone_and_stays_in_its_company(town: Any, company: Any, other: Any) -> None:
    ada = await reader(town, company, permissions=READER)
    strangers = [
        await reader(town, company, GRACE, superuser=True),
        await reader(town, other, superuser=True),  # with the same address
    ]
    view = (await save(town, ada, "Due", status="scheduled")).json()["lead_view"]
    for stranger in strangers:
        assert await listed(town, stranger) == {}
        assert (await town.client.delete(f"{PATH}/{view['id']}", headers=stranger)).status_code == 404
        assert (await save(town, stranger, "Due", status="opt_out")).status_code == 201, "a name is of its user"
    assert (await listed(town, ada))["Due"]["query"] == {"status": "scheduled"}


async def test_a_key_has_no_views(company: Any) -> None:
    answers = [await company.send("GET", PATH), await company.send("POST", PATH, json={"name": "A", "query": {"tag": "a"}})]
    assert [(answer.status_code, answer.json()["code"]) for answer in answers] == [(403, "forbidden")] * 2


async def test_a_deleted_users_views_are_not_those_of_a_new_one_with_the_address(town: Any, company: Any) -> None:
    ada = await reader(town, company, permissions=READER)
    await save(town, ada, "Due", status="scheduled")
    (found,) = (await company.send("GET", "/api/v1/users")).json()["users"]
    assert (await company.send("DELETE", f"/api/v1/users/{found['id']}")).status_code == 200
    await user(company)
    assert await listed(town, await session(town, company)) == {}


async def test_what_the_list_would_refuse_is_refused_with_all_faults_at_once(town: Any, company: Any) -> None:
    ada = await reader(town, company, permissions=READER)
    found = await faults(town, ada, "", status="nowhere", columns="id,caler_id", page=2, stattus="x", order={"a": 1})
    assert found["name"] == ["must be given"]
    said = " ".join(found["query"])
    for part in (
        "has status, which must be one of",
        "has columns, which names no column of this record: caler_id (did you mean caller_id?)",
        "has page, by which leads are not listed",
        "has stattus, by which leads are not listed",
        "has order, which must be text",
    ):
        assert part in said, (part, said)
    assert await faults(town, ada, "n" * (NAME_LENGTH_MAX + 1), tag="a") == {
        "name": [f"must have at most {NAME_LENGTH_MAX} characters"]
    }
    assert "characters as an address" in str(await faults(town, ada, ids=list(range(1, QUERY_LENGTH_MAX))))
    assert await faults(town, ada, tag=" ") == {"query": ["names nothing: filter, sort, or choose columns first"]}
    wrong = await town.client.post(PATH, headers=ada, json={"name": "Due", "query": "status"})
    assert wrong.json()["errors"]["query"][0].startswith("must be an object of parameters")
    assert (await town.client.get(f"{PATH}?page=1", headers=ada)).status_code == 422
    assert await listed(town, ada) == {}


async def test_a_field_that_a_team_has_hidden_since_is_said_beside_the_view(town: Any, company: Any) -> None:
    await user(company)
    given = {"name": "Team", "users_emails": [ADA], "permissions": READER}
    team = await company.record("access_control_lists", given)
    ada = await session(town, company)
    await save(town, ada, "By mail", email="bob@example.org", columns="email,status")
    await save(town, ada, "Due", status="scheduled")
    hides = {"permissions": {"lead": {"actions": ["read"], "fields": {"email": "none"}}}}
    assert (await company.send("PUT", f"/api/v1/access_control_lists/{team['id']}", json=hides)).status_code == 200
    views = await listed(town, ada)
    sentence = [f"names what the teams of {ADA} hide: email"]
    assert views["By mail"]["refused"] == {"email": sentence, "columns": sentence}
    assert views["Due"]["refused"] == {}
    refused = await town.client.get("/api/v1/leads", headers=ada, params=views["By mail"]["query"])
    assert refused.json()["errors"] == views["By mail"]["refused"], "the list says the same"
    assert await faults(town, ada, email="bob@example.org") == {"query": [f"has email, which {sentence[0]}"]}


async def test_fifty_views_and_no_more_however_many_are_saved_at_once(town: Any, company: Any) -> None:
    ada = await reader(town, company, permissions=READER)
    answers = await asyncio.gather(*(save(town, ada, f"View {number}", tag="a") for number in range(VIEWS_MAX + 2)))
    assert sorted(answer.status_code for answer in answers) == [201] * VIEWS_MAX + [422] * 2
    assert len(await listed(town, ada)) == VIEWS_MAX
    assert all("view too many" in answer.text for answer in answers if answer.status_code == 422)
    assert (await save(town, ada, next(iter(await listed(town, ada))), tag="b")).status_code == 200
