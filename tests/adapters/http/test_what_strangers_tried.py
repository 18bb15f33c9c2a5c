"""Does what a stranger once got with a lead token and a number fail now? The attempts of the first attack, over HTTP."""

import asyncio
from typing import Any

import pytest

from schemas.commands import PlaceCall, SendEmail, SendSms
from schemas.wire import from_json
from tests.adapters.http.conftest import WAIT_SECONDS, Company, Town

pytestmark = pytest.mark.asyncio(loop_scope="session")

ANN = "+12125550142"
HONOLULU = "+18085550142"
"""It is 7:00 there as a deployment of these tests begins, and 13:00 in New York."""

TEXT = {"id": "text", "kind": "sms", "template": "Hello {{full_name}}"}
SOON = {"id": "soon", "kind": "wait", "duration": "3s"}
MAIL = {"id": "mail", "kind": "email", "subject": "Yours", "template": "Dear {{full_name}}, {{address}}, policy {{policy}}"}
KINDS: dict[str, Any] = {"sms": SendSms, "email": SendEmail, "call": PlaceCall}


async def commands(town: Town, company: Company, kind: str) -> list[Any]:
    log, topic = town.context.log, f"commands.{kind}"
    reader = await log.reader(topic, range(await log.partition_count(topic)))
    records = await reader.poll(limit=100_000, timeout_seconds=0.1)
    await reader.close()
    ours = [record.value or b"" for record in records if (record.key or b"").startswith(f"{company.id}|".encode())]
    return [from_json(value, KINDS[kind]) for value in ours if b'"type":"fence"' not in value]


async def commanded(town: Town, company: Company, kind: str) -> list[Any]:
    """Return the commands of a kind, once there are some."""
    async with asyncio.timeout(WAIT_SECONDS):
        while not (found := await commands(town, company, kind)):
            await asyncio.sleep(0.05)
    return found


async def leads_of(company: Company) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = (await company.send("GET", "/api/v1/leads")).json()["leads"]
    return found


async def test_the_next_email_of_a_stored_lead_goes_to_its_own_address(town: Town, company: Company) -> None:
    token = (await company.schedule(steps=[SOON, MAIL]))["lead_token"]
    own = {"email": "ann@example.com", "full_name": "Ann", "address": "1 Elm Street", "policy": "A-1"}
    await company.send("POST", "/api/v1/leads", json={"lead_token": token, "caller_id": ANN, **own})
    for path in ("/api/v1/leads", "/api/v1/leads/create_or_update"):
        await town.client.post(path, json={"lead_token": token, "caller_id": ANN, "email": "eve@example.com"})
    (mail,) = await commanded(town, company, "email")
    assert (mail.to, "1 Elm Street" in mail.body) == ("ann@example.com", True)


async def test_nobody_is_texted_or_called_before_the_hours_of_the_number_by_a_made_up_zone(
    town: Town, company: Company
) -> None:
    token = (await company.schedule(steps=[TEXT, {"id": "call", "kind": "call"}]))["lead_token"]
    made_up = {"lead_token": token, "time_zone": "America/New_York"}
    waiting = "+18085550143"
    await company.send("POST", "/api/v1/leads", json={"lead_token": token, "caller_id": waiting})
    for number in (HONOLULU, waiting):
        answer = await town.client.post("/api/v1/leads", json={**made_up, "caller_id": number})
        assert answer.status_code == 201, answer.text
    later = await company.send("POST", "/api/v1/leads", json={**made_up, "caller_id": ANN})
    texts = await commanded(town, company, "sms")
    assert (later.status_code, {text.to for text in texts}) == (201, {ANN})
    due = {lead["caller_id"]: lead["next_action_at"] for lead in await leads_of(company)}
    assert {due[number][:13] for number in (HONOLULU, waiting)} == {"2026-06-17T18"}  # 8:00 in Honolulu
    assert await commands(town, company, "call") == [] or {call.to for call in await commands(town, company, "call")} == {
        ANN
    }


async def test_twelve_restarts_and_eight_deletions_send_one_text_and_delete_nothing(town: Town, company: Company) -> None:
    token = (await company.schedule(steps=[TEXT]))["lead_token"]
    known = {"lead_token": token, "caller_id": ANN}
    await company.send("POST", "/api/v1/leads", json={**known, "full_name": "Ann"})
    assert len(await commanded(town, company, "sms")) == 1
    before = [lead["id"] for lead in await leads_of(company)]
    for flag, times in (("restart_schedule", 12), ("delete_existing", 8), ("expire_existing", 8)):
        for _ in range(times):
            answer = await town.client.post("/api/v1/leads", json={**known, flag: True})
            assert flag in answer.json()["warnings"][0]
    assert [lead["id"] for lead in await leads_of(company)] == before
    assert len(await commands(town, company, "sms")) == 1


async def test_a_list_of_numbers_tells_nobody_who_is_a_lead(town: Town, company: Company) -> None:
    token = (await company.schedule(steps=[SOON, TEXT]))["lead_token"]
    numbers = [f"+1212555{place:04d}" for place in range(100, 140)]
    for number in numbers[::4]:
        await company.send("POST", "/api/v1/leads", json={"lead_token": token, "caller_id": number})
    for action, method in (("caller_move_to_end_of_schedule", "PUT"), ("caller_remove", "POST"), ("caller_opt_out", "PUT")):
        answers = [
            await town.client.request(method, f"/api/v1/leads/{number}/{action}", params={"lead_token": token})
            for number in numbers
        ]
        shown = {
            (answer.status_code, answer.content, tuple(name for name in answer.headers if name != "x-request-id"))
            for answer in answers
        }
        assert len(shown) == 1, shown


@pytest.mark.parametrize("duplicate_policy", ["update", "create", "restart"])
async def test_many_submissions_about_one_person_are_few_contacts(
    town: Town, company: Company, duplicate_policy: str
) -> None:
    token = (await company.schedule(steps=[TEXT], duplicate_policy=duplicate_policy))["lead_token"]
    for place in range(9):
        body = {"lead_token": token, "caller_id": ANN, "full_name": f"Ann {place}", "time_zone": "America/New_York"}
        assert (await town.client.post("/api/v1/leads", json=body)).status_code == 201
    await commanded(town, company, "sms")
    marker = {"lead_token": token, "caller_id": "+12125550149", "time_zone": "America/New_York"}
    await company.send("POST", "/api/v1/leads", json=marker)
    async with asyncio.timeout(WAIT_SECONDS):
        while not any(text.to == marker["caller_id"] for text in await commands(town, company, "sms")):
            await asyncio.sleep(0.05)
    mine = [text for text in await commands(town, company, "sms") if text.to == ANN]
    assert len(mine) <= 4  # the first lead's, and three of all further ones
