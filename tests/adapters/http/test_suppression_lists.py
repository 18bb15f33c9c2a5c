"""How are suppression lists kept over HTTP? Batches of entries go in and out; a list has what its own company put there."""

from typing import Any

import pytest

from engine.submission.fields import parse_moment
from tests.adapters.http.conftest import Company, Town, basic, unquoted

LISTS = "/api/v1/suppression_lists"
FUTURE = "2099-01-01T00:00:00Z"
ADA = "ada@example.com"

pytestmark = pytest.mark.asyncio(loop_scope="session")


def number_of(town: Town) -> str:
    town.numbers += 1
    return f"+1917555{town.numbers:04d}"


async def list_of(company: Company, **fields: Any) -> int:
    return int((await company.record("suppression_lists", {"name": "Complained", **fields}))["id"])


async def changed(company: Company, list_id: int, *entries: dict[str, Any], way: str = "") -> dict[str, Any]:
    answer = await company.send("POST", f"{LISTS}/{list_id}/entries{way}", json={"entries": list(entries)})
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()["suppression_batch"]
    return found


async def listed(company: Company, list_id: int, **query: Any) -> list[dict[str, Any]]:
    answer = await company.send("GET", f"{LISTS}/{list_id}/entries", params=query)
    assert answer.status_code == 200, answer.text
    found: list[dict[str, Any]] = answer.json()["suppression_entries"]
    return found


async def submitted(company: Company, number: str) -> dict[str, Any]:
    schedule = await company.schedule()
    body = {"lead_token": schedule["lead_token"], "caller_id": number}
    found: dict[str, Any] = (await company.send("POST", "/api/v1/leads", json=body)).json()["lead"]
    return found


def counts(accepted: int, decided: int, not_found: int = 0) -> dict[str, int]:
    return {"accepted_count": accepted, "decided_count": decided, "not_found_count": not_found, "refused_count": 0}


async def test_a_batch_goes_in_is_listed_and_goes_out(town: Town, company: Company) -> None:
    list_id, numbers = await list_of(company), [number_of(town) for _ in range(3)]
    made = await changed(
        company,
        list_id,
        {"caller_id": numbers[0], "source": "regulator", "expires_at": FUTURE},
        {"caller_id": numbers[1][2:]},
        {"caller_id": numbers[1]},
        {"email": "Grace@Example.com"},
    )
    assert made == counts(3, 3)
    rows = {row["caller_id"] or row["email"]: row for row in await listed(company, list_id)}
    assert rows.keys() == {numbers[0], numbers[1], "grace@example.com"}
    assert (rows[numbers[0]]["source"], rows[numbers[0]]["expires_at"]) == ("regulator", FUTURE)
    assert (rows[numbers[1]]["source"], rows[numbers[1]]["expires_at"]) == (None, None)
    shown = (await company.send("GET", f"/api/v1/contacts/{numbers[0]}")).json()["contact"]
    assert (shown["id"], shown["suppression_list_ids"]) == (rows[numbers[0]]["id"], [list_id])
    assert [fact["type"] for fact in shown["history"]] == ["contact.suppression_added"]
    assert shown["history"][0]["data"]["by"].startswith("key/")
    gone = await changed(company, list_id, {"caller_id": numbers[0]}, {"caller_id": numbers[2]}, way="/remove")
    assert gone == counts(2, 1, 1)
    assert {row["caller_id"] for row in await listed(company, list_id)} == {numbers[1], None}


async def test_five_hundred_entries_go_in_at_once_and_a_repeat_changes_nothing(company: Company) -> None:
    list_id = await list_of(company)
    entries = [{"caller_id": f"+1917556{number:04d}"} for number in range(500)]
    for _ in range(2):
        made = await changed(company, list_id, *entries)
        assert made["accepted_count"] == 500
    assert len(await listed(company, list_id, cursor="-1", per_page=1000)) == 500
    table = await company.send("GET", f"{LISTS}/{list_id}/entries.csv", params={"columns": "caller_id"})
    assert sorted(unquoted(table.text).split()[1:]) == [entry["caller_id"] for entry in entries]


async def test_every_parameter_of_the_list_takes_effect(town: Town, company: Company) -> None:
    list_id, numbers = await list_of(company), [number_of(town) for _ in range(3)]
    await changed(
        company,
        list_id,
        {"caller_id": numbers[0], "source": "court", "expires_at": "2098-01-01 00:00:00"},
        {"caller_id": numbers[1], "source": "regulator", "expires_at": "2099-01-01 00:00:00"},
        {"caller_id": numbers[2]},
    )
    every = [row["caller_id"] for row in await listed(company, list_id)]
    assert [row["id"] for row in await listed(company, list_id)] == sorted(
        (row["id"] for row in await listed(company, list_id)), reverse=True
    )
    for query, expected in [
        ({"per_page": "2"}, every[:2]),
        ({"per_page": "2", "page": "2"}, every[2:]),
        ({"number": numbers[0]}, [numbers[0]]),
        ({"number": "x"}, []),
        ({"source": "regulator"}, [numbers[1]]),
        ({"expires_at_from": "2098-06-01", "time_zone": "UTC"}, [numbers[1]]),
        ({"expires_at_to": "2098-06-01"}, [numbers[0]]),
    ]:
        assert [row["caller_id"] for row in await listed(company, list_id, **query)] == expected, query
    first = await listed(company, list_id, cursor="-1", per_page="1")
    rest = await listed(company, list_id, cursor=str(first[0]["id"]))
    assert [row["caller_id"] for row in [*first, *rest]] == every


async def test_a_bad_batch_is_refused_with_every_bad_entry_and_nothing_is_stored(town: Town, company: Company) -> None:
    list_id, good = await list_of(company), {"caller_id": number_of(town)}
    bad = [
        good,
        {"caller_id": "12"},
        {"email": "nobody"},
        {},
        {**good, "email": ADA},
        {**good, "expires_at": "2020-01-01"},
        {**good, "expires_at": "noon"},
        {**good, "sauce": "court"},
        "text",
    ]
    answer = await company.send("POST", f"{LISTS}/{list_id}/entries", json={"entries": bad})
    assert (answer.status_code, answer.json()["code"]) == (422, "validation_failed")
    assert answer.json()["errors"].keys() == {
        *("entries[1].caller_id", "entries[2].email", "entries[3].caller_id", "entries[4].caller_id"),
        *("entries[5].expires_at", "entries[6].expires_at", "entries[7].sauce", "entries[8]"),
    }
    for entries in ([], "text", [good] * 501, None):
        answer = await company.send("POST", f"{LISTS}/{list_id}/entries", json={"entries": entries})
        assert (answer.status_code, set(answer.json()["errors"])) == (422, {"entries"})
    terms = {"entries": [{**good, "source": "court"}]}
    answer = await company.send("POST", f"{LISTS}/{list_id}/entries/remove", json=terms)
    assert set(answer.json()["errors"]) == {"entries[0].source"}
    assert await listed(company, list_id) == []


async def test_a_listed_person_is_not_contacted_for_who_names_the_list(town: Town, company: Company) -> None:
    list_id, number = await list_of(company), number_of(town)
    live = await submitted(company, number)
    await changed(company, list_id, {"caller_id": number})
    shown = (await company.send("GET", f"/api/v1/leads/{live['id']}")).json()["lead"]
    assert shown["status"] != "dnc"
    named = await company.send("PUT", "/api/v1/company", json={"suppression_list_ids": [list_id]})
    assert named.json()["company"]["suppression_list_ids"] == [list_id]
    await town.context.rules.refresh()
    assert (await submitted(company, number))["status"] == "dnc"
    in_use = await company.send("DELETE", f"{LISTS}/{list_id}")
    assert (in_use.status_code, in_use.json()["code"]) == (409, "record_in_use")
    assert (await company.send("PUT", "/api/v1/company", json={"suppression_list_ids": []})).status_code == 200
    assert (await company.send("DELETE", f"{LISTS}/{list_id}")).status_code == 200
    gone = await company.send("GET", f"{LISTS}/{list_id}/entries")
    assert (gone.status_code, gone.json()["code"]) == (410, "deleted")


async def test_a_buyer_that_names_the_list_of_the_person_is_not_available(town: Town, company: Company) -> None:
    list_id, number = await list_of(company), number_of(town)
    buyer = await company.record("buyers", {"name": "B", "number": "+12125550141", "suppression_list_ids": [list_id]})
    offer = await company.record("offers", {"name": "O", "buyer_ids": [buyer["id"]]})
    schedule = await company.schedule(offer_id=offer["id"])
    body = {"lead_token": schedule["lead_token"], "caller_id": number}
    lead = (await company.send("POST", "/api/v1/leads", json=body)).json()["lead"]
    path = f"/api/v1/leads/{lead['id']}/buyer_is_available"
    assert (await company.send("GET", path)).json()["available"]
    await changed(company, list_id, {"caller_id": number})
    assert (await company.send("GET", path)).json()["reasons"] == {str(buyer["id"]): "suppressed"}


async def test_another_companys_list_is_that_of_nobody(town: Town, company: Company, other: Company) -> None:
    theirs, number = await list_of(other), number_of(town)
    await changed(other, theirs, {"caller_id": number})
    for method, path in [("GET", "entries"), ("POST", "entries"), ("POST", "entries/remove")]:
        more = {"json": {"entries": [{"caller_id": number}]}} if method == "POST" else {}
        assert (await company.send(method, f"{LISTS}/{theirs}/{path}", **more)).status_code == 404
    refused = await company.send("PUT", "/api/v1/company", json={"suppression_list_ids": [theirs]})
    assert set(refused.json()["errors"]) == {"suppression_list_ids"}
    assert len(await listed(other, theirs)) == 1


async def test_a_person_reaches_the_lists_of_their_team_and_none_where_it_shows_some_leads(
    town: Town, company: Company
) -> None:
    ours, others = await list_of(company), await list_of(company)
    grants = {"suppression_list": {"actions": ["read", "add"], "scope": [ours]}}
    team = await company.record("access_control_lists", {"name": "T", "users_emails": [ADA], "permissions": grants})
    key = await company.record("keys", {"name": ADA, "user_email": ADA})
    await town.context.rules.refresh()
    headers, body = basic(key["public_key"], key["private_key"]), {"entries": [{"caller_id": number_of(town)}]}
    statuses = {
        (list_id, way): (await town.client.post(f"{LISTS}/{list_id}/entries{way}", headers=headers, json=body)).status_code
        for list_id in (ours, others)
        for way in ("", "/remove")
    }
    assert statuses == {(ours, ""): 200, (others, ""): 404, (ours, "/remove"): 403, (others, "/remove"): 403}
    filters = {"lead_filters": {"token_filters": [{"key": "roof", "value": "flat"}]}}
    assert (await company.send("PUT", f"/api/v1/access_control_lists/{team['id']}", json=filters)).status_code == 200
    await town.context.rules.refresh()
    assert (await town.client.get(f"{LISTS}/{ours}/entries", headers=headers)).status_code == 403


async def test_a_repeat_under_one_idempotency_key_has_the_same_outcome(town: Town, company: Company) -> None:
    list_id, body = await list_of(company), {"entries": [{"caller_id": number_of(town)}]}
    headers = {"Idempotency-Key": f"once-{list_id}"}
    answers = [await company.send("POST", f"{LISTS}/{list_id}/entries", json=body, headers=headers) for _ in range(2)]
    assert [answer.json()["suppression_batch"] for answer in answers] == [counts(1, 1)] * 2
    (row,) = await listed(company, list_id)
    assert parse_moment(row["created_at"]) == parse_moment(row["updated_at"])
