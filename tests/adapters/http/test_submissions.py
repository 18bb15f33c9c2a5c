"""Does a lead come in over HTTP, whatever the form it is sent in, and is its answer the one that was promised?"""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

pytestmark = pytest.mark.asyncio(loop_scope="session")


NUMBER = "+13055550142"


async def test_a_lead_with_a_token_alone_is_created_and_answered_with_nothing_about_it(town: Any, company: Any) -> None:
    schedule = await company.schedule()
    answer = await town.client.post(
        "/api/v1/leads", json={"lead_token": schedule["lead_token"], "caller_id": NUMBER, "first_name": "Ann"}
    )
    assert answer.status_code == 201, answer.text
    assert answer.json() == {"status": "accepted", "svc_number_plain": None, "sms_number_plain": None, "warnings": []}
    (lead,) = (await company.send("GET", "/api/v1/leads")).json()["leads"]
    assert (lead["schedule_id"], lead["data"]) == (schedule["id"], {"first_name": "Ann"})


async def test_a_lead_can_be_sent_in_any_form(company: Any) -> None:
    schedule = await company.schedule()
    plain = {"lead_token": schedule["lead_token"], "first_name": "Ann", "zip": "33130"}
    forms: list[Callable[[dict[str, str]], dict[str, Any]]] = [
        lambda fields: {"json": {**fields, "data": {"roof": "flat"}}},
        lambda fields: {"data": {**fields, "data[roof]": "flat"}},
        lambda fields: {"files": {name: (None, value) for name, value in {**fields, "data[roof]": "flat"}.items()}},
        lambda fields: {"params": {**fields, "data[roof]": "flat"}},
    ]
    for place, form in enumerate(forms):
        number = f"+1305555014{place}"
        answer = await company.send("POST", "/api/v1/leads", **form({**plain, "caller_id": number}))
        assert answer.status_code == 201, answer.text
        lead = answer.json()["lead"]
        assert lead["data"] == {"first_name": "Ann", "roof": "flat"}
        assert lead["zip_postal_code"] == "33130"
        assert lead["caller_id"] == number
        read = (await company.send("GET", f"/api/v1/leads/{lead['uuid']}")).json()["lead"]
        assert read["id"] == lead["id"]


async def test_what_the_body_says_of_a_field_counts_more_than_what_the_query_says(company: Any) -> None:
    token = (await company.schedule())["lead_token"]
    query = {"lead_token": "lt_of_nobody", "caller_id": "+13055550149", "roof": "by query", "color": "by query"}
    for place, form in enumerate(("json", "data")):
        body = {"lead_token": token, "caller_id": f"+1305555015{place}", "roof": "by body"}
        answer = await company.send("POST", "/api/v1/leads", params=query, **{form: body})
        assert answer.status_code == 201, answer.text
        lead = answer.json()["lead"]
        assert (lead["caller_id"], lead["data"]) == (body["caller_id"], {"roof": "by body", "color": "by query"})


async def test_the_same_person_again_updates_the_live_lead(company: Any) -> None:
    schedule = await company.schedule()
    fields = {"lead_token": schedule["lead_token"], "caller_id": NUMBER}
    first = await company.send("POST", "/api/v1/leads", json={**fields, "roof": "flat"})
    second = await company.send("POST", "/api/v1/leads", json={**fields, "color": "red"})
    assert (first.status_code, second.status_code) == (201, 200)
    assert second.json()["lead"]["id"] == first.json()["lead"]["id"]
    assert second.json()["lead"]["data"] == {"roof": "flat", "color": "red"}
    assert second.json()["created"] is False
    listed = (await company.send("GET", "/api/v1/leads")).json()
    assert listed["metadata"]["total_count"] == 1


async def test_who_does_not_want_to_wait_gets_a_location(town: Any, company: Any) -> None:
    schedule = await company.schedule()
    fields = {"lead_token": schedule["lead_token"], "caller_id": NUMBER}
    answer = await town.client.post("/api/v1/leads", json=fields, headers={"Prefer": "respond-async"})
    assert answer.status_code == 202, answer.text
    path = answer.headers["location"]
    assert path == f"/api/v1/requests/{answer.headers['x-request-id']}"
    await town.results.wait(answer.headers["x-request-id"], 10)
    later = await town.client.get(path)
    assert (later.status_code, later.json()) == (201, {"status": "accepted"}), later.text
    with_key = await company.send("GET", path)
    assert with_key.json()["lead"]["caller_id"] == NUMBER


async def test_a_request_that_nobody_made_is_unknown(town: Any, company: Any) -> None:
    for name in ("00000000-0000-4000-8000-000000000000", "nonsense", "%00"):
        answer = await company.send("GET", f"/api/v1/requests/{name}")
        assert answer.status_code in {404, 422}, answer.text
    ours = town.app._services.ids.new(town.context.clock.now())
    assert (await company.send("GET", f"/api/v1/requests/{ours}")).status_code == 202


async def test_an_idempotency_key_gives_the_first_answer_again_and_refuses_another_body(company: Any) -> None:
    schedule = await company.schedule(duplicate_policy="create")
    fields = {"lead_token": schedule["lead_token"], "caller_id": NUMBER}
    headers = {"Idempotency-Key": "order-1"}
    first = await company.send("POST", "/api/v1/leads", json=fields, headers=headers)
    again = await company.send("POST", "/api/v1/leads", json=fields, headers=headers)
    other = await company.send("POST", "/api/v1/leads", json={**fields, "x": "1"}, headers=headers)
    assert (first.status_code, again.status_code, other.status_code) == (201, 201, 409), again.text
    assert again.content == first.content
    assert other.json()["code"] == "idempotency_conflict"
    assert (await company.send("GET", "/api/v1/leads")).json()["metadata"]["total_count"] == 1


async def test_an_idempotency_key_holds_what_was_said_not_how(company: Any) -> None:
    schedule = await company.schedule(duplicate_policy="create")
    fields = {"lead_token": schedule["lead_token"], "caller_id": NUMBER, "data[roof]": "flat"}
    headers = {"Idempotency-Key": "form-1"}
    form = {name: (None, value) for name, value in fields.items()}
    answers = [
        await company.send("POST", "/api/v1/leads", files=form, headers=headers),
        await company.send("POST", "/api/v1/leads", files=form, headers=headers),  # another boundary
        await company.send("POST", "/api/v1/leads", files=dict(reversed(form.items())), headers=headers),
        await company.send("POST", "/api/v1/leads", data=fields, headers=headers),
        await company.send("POST", "/api/v1/leads", json={**fields, "data": {"roof": "flat"}}, headers=headers),
    ]
    assert [answer.status_code for answer in answers[:4]] == [201] * 4
    assert len({answer.content for answer in answers[:4]}) == 1
    assert answers[4].status_code == 409, "a further field was said"


async def test_an_idempotency_key_has_at_most_255_printable_characters(company: Any) -> None:
    schedule = await company.schedule()
    fields = {"lead_token": schedule["lead_token"], "caller_id": NUMBER}
    for key, status in (("x" * 255, 201), ("x" * 256, 422), ("a\tb", 422)):
        answer = await company.send("POST", "/api/v1/leads", json=fields, headers={"Idempotency-Key": key})
        assert answer.status_code == status, answer.text


async def test_the_first_answer_is_repeated_also_when_the_lead_has_changed_since(town: Any, company: Any) -> None:
    schedule = await company.schedule()
    fields = {"lead_token": schedule["lead_token"], "caller_id": NUMBER}
    headers = {"Idempotency-Key": "order-2"}
    first = await company.send("POST", "/api/v1/leads", json=fields, headers=headers)
    lead_id = first.json()["lead"]["id"]
    assert (await company.send("PUT", f"/api/v1/leads/{lead_id}", json={"email": "ann@example.com"})).status_code == 200
    again = await company.send("POST", "/api/v1/leads", json=fields, headers=headers)
    assert (again.status_code, again.content) == (201, first.content)
    assert again.headers["etag"] == first.headers["etag"]
    little = await town.client.post("/api/v1/leads", json=fields, headers=headers)
    assert (little.status_code, little.json()["status"]) == (201, "accepted"), "a stranger's keys are a space of their own"


async def test_of_many_repeats_at_once_all_get_one_answer(company: Any) -> None:
    schedule = await company.schedule()
    fields = {"lead_token": schedule["lead_token"], "caller_id": NUMBER}
    headers = {"Idempotency-Key": "order-3"}
    answers = await asyncio.gather(*(company.send("POST", "/api/v1/leads", json=fields, headers=headers) for _ in range(10)))
    assert {answer.status_code for answer in answers} == {201}
    assert len({answer.content for answer in answers}) == 1


async def test_a_token_that_was_made_a_moment_ago_is_known_at_once(town: Any, company: Any) -> None:
    for _ in range(3):
        schedule = await company.schedule()
        answer = await town.client.post("/api/v1/leads", json={"lead_token": schedule["lead_token"], "caller_id": NUMBER})
        assert answer.status_code == 201, answer.text


async def test_an_offer_that_asks_for_a_key_refuses_without_one(town: Any, company: Any) -> None:
    offer = await company.record("offers", {"name": "Closed", "require_auth": True})
    fields = {"lead_token": offer["lead_token"], "caller_id": NUMBER}
    refused = await town.client.post("/api/v1/leads", json=fields)
    assert refused.status_code == 401
    assert refused.headers["www-authenticate"].startswith("Basic ")
    taken = await company.send("POST", "/api/v1/leads", json=fields)
    assert taken.status_code == 201, taken.text
    assert taken.json()["lead"]["status"] == "captured"


async def test_a_key_can_be_sent_in_one_word_and_is_never_kept(town: Any, company: Any) -> None:
    schedule = await company.schedule()
    token = f"{company.public_key}.{company.private_key}"
    fields = {"lead_token": schedule["lead_token"], "caller_id": NUMBER, "auth_token": token}
    answer = await town.client.post("/api/v1/leads", json=fields)
    assert answer.status_code == 201, answer.text
    assert answer.json()["lead"]["data"] == {}
    for scheme in ("Bearer", "Token"):
        listed = await town.client.get("/api/v1/leads", headers={"Authorization": f"{scheme} {token}"})
        assert listed.status_code == 200


async def test_without_a_lead_token_the_other_faults_are_reported_too(town: Any) -> None:
    fields = {"blocked": "maybe", "email": "nobody", "data": {"status": "x"}}
    answer = await town.client.post("/api/v1/leads", json=fields)
    assert answer.status_code == 422, answer.text
    assert set(answer.json()["errors"]) == {"lead_token", "blocked", "email", "data.status"}
    assert set((await town.client.post("/api/v1/leads", json={})).json()["errors"]) == {"lead_token", "caller_id"}


async def test_a_lead_is_found_by_the_id_of_the_senders_system_alone(town: Any, company: Any, other: Any) -> None:
    schedule, elsewhere = await company.schedule(), await other.schedule()
    named = {"lead_token": schedule["lead_token"], "external_record_id": "crm-7"}
    made = await company.send("POST", "/api/v1/leads", json={**named, "caller_id": NUMBER})
    found = await company.send("POST", "/api/v1/leads", json={**named, "roof": "flat"})
    assert (found.status_code, found.json()["lead"]["id"]) == (200, made.json()["lead"]["id"]), found.text
    assert found.json()["lead"]["data"] == {"roof": "flat"}
    inside = {"lead_token": schedule["lead_token"], "data": {"external_record_id": "crm-7"}}
    assert (await company.send("POST", "/api/v1/leads", json=inside)).status_code == 200
    assert (await town.client.post("/api/v1/leads", json=inside)).status_code == 422, "without a key it finds nobody"
    for fields in ({**named, "external_record_id": "crm-8"}, {**named, "lead_token": elsewhere["lead_token"]}):
        refused = await town.client.post("/api/v1/leads", json=fields)
        assert (refused.status_code, list(refused.json()["errors"])) == (422, ["caller_id"])
