"""How are contacts listed, shown, blocked and unblocked over HTTP? By any name that they have, within one company."""

from hashlib import blake2b
from typing import Any

import pytest

from engine.identity import ContactIds, contact_of_uuid, contact_uuid
from engine.submission.fields import parse_moment
from engine.views.contact import CONTACT_COLUMNS
from tests.adapters.http.conftest import Company, Town, basic, unquoted

PATH = "/api/v1/contacts"
ADA = "ada@example.com"

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def lead_of(town: Town, company: Company, **fields: Any) -> dict[str, Any]:
    town.numbers += 1
    schedule = await company.schedule()
    body = {"lead_token": schedule["lead_token"], "caller_id": f"+1917555{town.numbers:04d}", **fields}
    answer = await company.send("POST", "/api/v1/leads", json=body)
    assert answer.status_code == 201, answer.text
    found: dict[str, Any] = answer.json()["lead"]
    return found


async def contact(company: Company, name: str) -> dict[str, Any]:
    answer = await company.send("GET", f"{PATH}/{name}")
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()["contact"]
    return found


async def listed(company: Company, **query: Any) -> list[dict[str, Any]]:
    answer = await company.send("GET", PATH, params=query)
    assert answer.status_code == 200, answer.text
    found: list[dict[str, Any]] = answer.json()["contacts"]
    return found


async def test_a_contact_is_shown_by_every_name_that_it_has(town: Town, company: Company) -> None:
    lead = await lead_of(town, company, email=f"ada{town.numbers}@example.com", time_zone="America/Denver")
    number = lead["caller_id"]
    shown = await contact(company, number)
    known_as = company.contact_id(number)
    assert (shown["id"], shown["caller_id"], shown["email"]) == (known_as, number, None)
    assert (shown["lead_ids"], shown["time_zones"]) == ([lead["id"]], ["America/Denver"])
    assert (shown["opted_out"], shown["blocked"], shown["history"]) == (False, False, [])
    for name in (number.replace("+", "%2B"), number[1:], number[2:], str(known_as), shown["uuid"], lead["email"].upper()):
        assert await contact(company, name) == shown, name
    bare = await company.send("GET", f"{PATH}/{number}", params={"root": "false"})
    assert bare.json() == shown


async def test_a_contact_of_an_address_is_shown_by_it(town: Town, company: Company) -> None:
    lead = await lead_of(town, company, caller_id="", email="Grace@Example.com")
    shown = await contact(company, "grace@example.com")
    assert (shown["caller_id"], shown["email"], shown["lead_ids"]) == (None, "grace@example.com", [lead["id"]])


async def test_nobody_and_what_names_nobody_are_refused(town: Town, company: Company) -> None:
    del town
    unknown = ("+12125550999", "nobody@example.com", "987654321987654", contact_uuid(12345))
    for name in unknown:
        answer = await company.send("GET", f"{PATH}/{name}")
        assert (answer.status_code, answer.json()["code"]) == (404, "not_found"), name
        answer = await company.send("POST", f"{PATH}/{name}/caller_unblock")
        assert (answer.status_code, answer.json()["code"]) == (404, "not_found"), name
    for name in ("noon", "a@b@c", "01934b1e-0000-8000-8000-00000000000a"):
        answer = await company.send("GET", f"{PATH}/{name}")
        assert (answer.status_code, set(answer.json()["errors"])) == (422, {"caller_id"}), name


async def test_another_companys_contact_is_that_of_nobody(town: Town, company: Company, other: Company) -> None:
    theirs = await lead_of(town, other)
    shown = await contact(other, theirs["caller_id"])
    for name in (theirs["caller_id"], shown["uuid"], str(shown["id"])):
        assert (await company.send("GET", f"{PATH}/{name}")).status_code == 404
    assert await listed(company, ids=str(shown["id"])) == []
    blocked = await company.send("POST", f"{PATH}/{theirs['caller_id']}/caller_block")
    assert blocked.json()["contact"]["id"] != shown["id"]
    assert (await contact(other, theirs["caller_id"])) == shown


async def test_a_block_stops_the_person_and_says_who_made_it(town: Town, company: Company) -> None:
    lead = await lead_of(town, company)
    path = f"{PATH}/{lead['caller_id']}"
    answer = await company.send("POST", f"{path}/caller_block", json={"hangup_live": True})
    assert answer.status_code == 200, answer.text
    made = answer.json()["contact"]
    assert made["blocked"]
    assert parse_moment(made["blocked_at"]) >= parse_moment(lead["created_at"])
    (fact,) = made["history"]
    assert (fact["type"], fact["data"]["source"]) == ("contact.blocked", "contact_block")
    assert fact["data"]["by"].startswith("key/")
    assert (await company.send("GET", f"/api/v1/leads/{lead['id']}")).json()["lead"]["status"] == "blocked"
    assert (await company.send("POST", f"{path}/caller_block")).json()["contact"]["blocked_at"] == made["blocked_at"]
    lifted = (await company.send("POST", f"{path}/caller_unblock")).json()["contact"]
    assert (lifted["blocked"], lifted["blocked_at"]) == (False, None)
    assert [fact["type"] for fact in lifted["history"]] == ["contact.unblocked", "contact.blocked"]
    assert (await company.send("GET", f"/api/v1/leads/{lead['id']}")).json()["lead"]["status"] == "blocked"


async def test_a_number_without_leads_is_blocked(town: Town, company: Company) -> None:
    town.numbers += 1
    number = f"+1917556{town.numbers:04d}"
    made = (await company.send("POST", f"{PATH}/{number}/caller_block")).json()["contact"]
    assert (made["blocked"], made["lead_ids"]) == (True, [])
    assert (await lead_of(town, company, caller_id=number))["status"] == "blocked"


async def test_an_opt_out_is_shown_with_its_source_and_its_scope(town: Town, company: Company) -> None:
    lead = await lead_of(town, company)
    await company.send("PUT", f"/api/v1/leads/{lead['id']}", json={"opt_out": True})
    shown = await contact(company, lead["caller_id"])
    assert (shown["opted_out"], shown["opted_out_source"], shown["opt_outs"]) == (True, "lead_update", {})
    assert shown["opted_out_at"] is not None
    await company.send("PUT", "/api/v1/company", json={"optout_scope": "offer"})
    await town.context.rules.refresh()
    offer = await company.record("offers", {"name": "O"})
    town.numbers += 1
    body = {"lead_token": offer["lead_token"], "caller_id": f"+1917555{town.numbers:04d}"}
    lead = (await company.send("POST", "/api/v1/leads", json=body)).json()["lead"]
    await company.send("PUT", f"/api/v1/leads/{lead['id']}", json={"opt_out": True})
    shown = await contact(company, lead["caller_id"])
    assert (shown["opted_out"], shown["opted_out_at"], list(shown["opt_outs"])) == (True, None, [f"offer/{offer['id']}"])


async def test_every_parameter_of_the_list_takes_effect(town: Town, company: Company) -> None:
    leads = [await lead_of(town, company, email=f"{name}{town.numbers}@example.com") for name in ("a", "b", "c", "d")]
    plain, blocked, out, listed_one = [await contact(company, lead["caller_id"]) for lead in leads]
    await company.send("POST", f"{PATH}/{blocked['caller_id']}/caller_block")
    await company.send("PUT", f"/api/v1/leads/{leads[2]['id']}", json={"opt_out": True})
    every = sorted((plain["id"], blocked["id"], out["id"], listed_one["id"]), reverse=True)
    rest = sorted({*every} - {blocked["id"]}, reverse=True)
    for query, expected in [
        ({}, every),
        ({"page": "2", "per_page": "3"}, every[3:]),
        ({"cursor": str(every[1])}, every[2:]),
        ({"ids": f"{every[0]},{every[2]}"}, [every[0], every[2]]),
        ({"number": plain["caller_id"]}, [plain["id"]]),
        ({"email": leads[0]["email"].upper()}, [plain["id"]]),
        ({"blocked": "true"}, [blocked["id"]]),
        ({"blocked": "false"}, rest),
        ({"opted_out": "true"}, [out["id"]]),
        ({"opted_out": "false", "blocked": "0"}, [one for one in rest if one != out["id"]]),
        ({"suppressed": "true"}, []),
        ({"suppressed": "false"}, every),
    ]:
        assert [one["id"] for one in await listed(company, **query, columns="id")] == expected, query
    bare = await company.send("GET", PATH, params={"root": "0"})
    assert [one["id"] for one in bare.json()] == every
    table = await company.send("GET", f"{PATH}.csv", params={"columns": "id,caller_id", "blocked": "true"})
    assert unquoted(table.text).splitlines() == ["id,caller_id", f"{blocked['id']},{blocked['caller_id']}"]
    whole = await company.send("GET", f"{PATH}.csv")
    assert unquoted(whole.text).splitlines()[0].split(",") == list(CONTACT_COLUMNS)
    for query in ({"number": "x"}, {"email": "x"}):
        assert await listed(company, **query) == []
    for query, bad in [({"blocked": "maybe"}, "blocked"), ({"order": "id"}, "order"), ({"ids": "x"}, "ids")]:
        answer = await company.send("GET", PATH, params=query)
        assert (answer.status_code in {400, 422}, set(answer.json()["errors"])) == (True, {bad}), answer.text


async def test_a_person_whose_teams_show_some_leads_reaches_no_contact(town: Town, company: Company) -> None:
    lead = await lead_of(town, company)
    grants = {"contact": {"actions": ["read", "block"]}}
    team = await company.record("access_control_lists", {"name": "T", "users_emails": [ADA], "permissions": grants})
    key = await company.record("keys", {"name": ADA, "user_email": ADA})
    await town.context.rules.refresh()
    headers = basic(key["public_key"], key["private_key"])
    path = f"{PATH}/{lead['caller_id']}"
    assert (await town.client.get(path, headers=headers)).status_code == 200
    filters = {"lead_filters": {"token_filters": [{"key": "roof", "value": "flat"}]}}
    assert (await company.send("PUT", f"/api/v1/access_control_lists/{team['id']}", json=filters)).status_code == 200
    await town.context.rules.refresh()
    for answer in (
        await town.client.get(path, headers=headers),
        await town.client.get(PATH, headers=headers),
        await town.client.post(f"{path}/caller_block", headers=headers),
    ):
        assert (answer.status_code, answer.json()["code"]) == (403, "forbidden")


async def test_the_uuid_of_a_contact_says_its_id_and_no_other_does() -> None:
    for known_as in (1, 2**53 - 1):
        assert contact_of_uuid(contact_uuid(known_as)) == known_as
    assert contact_of_uuid("01934b1e-0000-8000-8000-00000000000a") is None


async def test_the_id_of_a_contact_is_no_hash_that_a_list_of_numbers_can_be_tried_on(town: Town, company: Company) -> None:
    """A member who may see ids and no numbers tries all numbers of an area: without the secret none of them fits."""
    lead = await lead_of(town, company)
    known_as = (await contact(company, lead["caller_id"]))["id"]
    keys = [f"contact/{company.id}|{lead['caller_id'][:-4]}{last:04}".encode() for last in range(10_000)]
    tried = {int.from_bytes(blake2b(key, digest_size=8).digest()) >> 11 for key in keys}
    assert known_as not in tried
    assert known_as == company.contact_id(lead["caller_id"])
    assert known_as != ContactIds(bytes(32)).id_of(f"{company.id}|{lead['caller_id']}")
