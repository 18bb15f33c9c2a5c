"""May a record of `leads.inbox` do what the table of rights says where inboxes are not trusted? By a real intake."""

import asyncio
from collections.abc import AsyncIterator
from copy import copy
from typing import Any
from uuid import uuid4

import pytest
import pytest_asyncio
from msgspec import structs

from adapters.clock import SystemClock
from adapters.observability.metrics import Metrics
from adapters.roles.intake import IntakeRole
from engine.partition.ports import Outgoing
from engine.submission import reading
from engine.submission.public_rights import FIELDS, New, Stored
from schemas.instant import DAY
from schemas.topics import LEADS_INBOX, LEADS_INBOX_BULK, Topic
from schemas.wire import to_json
from tests.adapters.http.conftest import DAYTIME_ZONE, START_SECONDS, WAIT_SECONDS, Company, Town
from tests.adapters.http.test_public_rights import APPLIED, NUMBER, SAMPLES, STEPS, WALKED, kept_of, lead_of

pytestmark = pytest.mark.asyncio(loop_scope="session")


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def town(own_town: Town) -> AsyncIterator[Town]:
    """Alone: its intake trusts no inbox, and reads those of all companies."""
    context = copy(own_town.context)
    context.settings = structs.replace(context.settings, inbox_trusted="no")
    context.clock = SystemClock()  # that of the broker: an intake whose clock is behind it holds what comes
    monkeypatch = pytest.MonkeyPatch()
    monkeypatch.setattr(reading, "CALLBACK_PAST_MAX", 100 * 365 * DAY)  # the scheduler's clock is in June 2026
    role, stop = IntakeRole(context, Metrics()), asyncio.Event()
    task = asyncio.create_task(role.run(stop))
    async with asyncio.timeout(START_SECONDS):
        while role.problems():
            await asyncio.sleep(0.02)
    yield own_town
    stop.set()
    await task
    monkeypatch.undo()


async def put(town: Town, company: Company, body: dict[str, Any], inbox: Topic = LEADS_INBOX) -> None:
    """Put a record on an inbox, and wait until it is decided."""
    name = str(uuid4())
    context = town.context
    appender = await context.log.appender()
    record = Outgoing(context.names.of(inbox.name), None, to_json(body), (("ce_id", name.encode()),))
    await appender.append(0, [record])
    await appender.close()
    async with asyncio.timeout(WAIT_SECONDS):
        while (answer := await company.send("GET", f"/api/v1/requests/{name}")).status_code in {202, 404}:
            await asyncio.sleep(0.02)
    assert answer.status_code in {200, 201}, answer.text


@pytest.mark.parametrize(("row", "name"), WALKED)
async def test_what_a_field_of_a_record_does_to_the_lead_that_it_makes(
    town: Town, company: Company, row: str, name: str
) -> None:
    schedule = await company.schedule(steps=STEPS)
    value, column, shown = SAMPLES[row]
    await put(town, company, {"lead_token": schedule["lead_token"], "caller_id": NUMBER, name: value})
    lead = await lead_of(company)
    if not column:
        assert lead["is_live"] is True
    elif FIELDS[row].new in APPLIED:
        assert lead[column] == shown if shown is not None else lead[column] is not None
    elif shown is not None:
        assert lead[column] != shown
    assert FIELDS[row].new is not New.KEY or lead["is_live"] is True


@pytest.mark.parametrize("inbox", [LEADS_INBOX, LEADS_INBOX_BULK], ids=lambda inbox: inbox.name)
@pytest.mark.parametrize(("row", "name"), WALKED)
async def test_no_field_of_a_record_changes_a_stored_lead(
    town: Town, company: Company, row: str, name: str, inbox: Topic
) -> None:
    schedule = await company.schedule(steps=STEPS)
    known = {"lead_token": schedule["lead_token"], "caller_id": NUMBER}
    await company.send("POST", "/api/v1/leads", json={**known, "time_zone": DAYTIME_ZONE, "full_name": "Ann"})
    before = await lead_of(company)
    await put(town, company, {**known, name: SAMPLES[row][0]}, inbox)
    assert await lead_of(company) == before
    is_kept = FIELDS[row].stored in {Stored.KEPT, Stored.FILLS}
    assert [one["lead_id"] for one in await kept_of(company)] == ([before["id"]] if is_kept else [])


async def test_a_signature_of_a_form_proves_nothing_on_an_inbox_and_is_no_token(town: Town, company: Company) -> None:
    schedule = await company.schedule(steps=STEPS)
    path = f"/api/v1/schedules/{schedule['id']}"
    await company.send("PUT", path, json={"rotate_signing_secret": True})
    proof = {
        "form_signature": "0" * 64,
        "form_signed_at": "1",
        "form_nonce": "x" * 16,
        "form_signed_fields": "lead_priority",
    }
    known = {"lead_token": schedule["lead_token"], "caller_id": NUMBER, "lead_priority": "-7", "roof": "flat"}
    await put(town, company, {**known, **proof})
    lead = await lead_of(company)
    assert (lead["lead_priority"], lead["data"]) == (100.0, {"roof": "flat"})  # its default
