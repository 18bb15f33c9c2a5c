"""What does a company have whose pages are opened in a test? Something of everything that a page can show."""

import re
from collections.abc import AsyncIterator, Callable
from typing import Any

from msgspec import Struct

from adapters.gateway.circuit import CircuitReport, OpenCircuit
from adapters.gateway.ports import WebhookAttempt
from adapters.postgres.gateways import PostgresGateways
from adapters.postgres.webhook_logs import PostgresWebhookLog
from tests.adapters.gateway.world import command_of
from tests.adapters.http.conftest import DAYTIME_ZONE, Company, Town
from tests.adapters.http.test_operator import dead_letter

NUMBER = "+12125550187"
OURS = "+12125550150"

STEPS: list[dict[str, Any]] = [
    {"id": "call-1", "kind": "call", "retry": {"no_answer": {"delay": "2h", "max": 2}}},
    {"id": "pause", "kind": "wait", "duration": "1d"},
    {"id": "text-1", "kind": "sms", "template": "Hi {{first_name}}"},
    {"id": "where", "kind": "branch", "rules": [{"if": ["state:CA"], "goto": "mail-1"}], "else": "mail-1"},
    {"id": "mail-1", "kind": "email", "subject": "Still interested?", "template": "Hello"},
]
HOURS = {"call": [{"days": ["mon", "tue", "wed", "thu", "fri"], "open": "09:00", "close": "20:00"}]}

_PLACEHOLDER = re.compile(r"([\w-]+)/\{\w+:\w+\}")


class Furnished(Struct, frozen=True):
    """What was made, by the part of a path that comes before its id."""

    ids: dict[str, str]

    def path(self, pattern: str) -> str:
        """Return the path of a page, with the id of a record that there is."""
        for before in _PLACEHOLDER.findall(pattern):
            assert before in self.ids, f"Name in `{__name__}` the record with which {pattern} is opened."
        return _PLACEHOLDER.sub(lambda found: f"{found[1]}/{self.ids[found[1]]}", pattern)


async def furnish(town: Town, company: Company, words: Callable[[str], str] = str) -> Furnished:
    """Give a company a lead that was called and has written, records of each kind, and a dead letter.

    Whatever a person writes is what `words` makes of it.
    """
    group = await company.record("buyer_groups", {"name": words("Closers"), "concurrency_cap_limit": 3})
    limits = {"attempt_daily_limit": 5, "concurrency_cap_limit": 2}
    buyer = await company.record("buyers", {"name": words("Bright Roofs"), "number": "+12125550160", **limits})
    await company.record("buyers", {"name": words("Full Roofs"), "number": "+12125550161", "attempt_daily_limit": 0})
    offer = await company.record("offers", {"name": words("Solar")})
    await company.record("numbers", {"number": OURS, "offer_id": offer["id"]})
    agent = await company.record("agents", {"name": words("Grace")})
    suppression_list = await company.record("suppression_lists", {"name": words("Complained")})
    schedule = await company.schedule(name=words("Winter"), steps=STEPS, windows=HOURS)
    await _send(company, "PUT", f"schedules/{schedule['id']}", steps=STEPS[:3], draft=True)
    await company.schedule(name=words("Summer"), paused=True)
    lead = await submit(company, schedule, NUMBER, full_name=words("Ada Lovelace"), data={words("roof"): words("slate")})
    await submit(company, schedule, "+12125550124", full_name=words("Grace Hopper"), state_province="CA")
    stopped = await submit(company, schedule, "+12125550125", email="ada@example.org")
    await _send(company, "PATCH", f"leads/{stopped['id']}", schedule_stop=True)
    call = {"from": NUMBER, "to": OURS, "call_ref": f"furnished-{company.id}"}
    received = (await _send(company, "POST", "calls/received", **call, state="ringing"))["call"]
    text = {
        "from": NUMBER,
        "to": OURS,
        "text_ref": f"furnished-{company.id}",
        "body": words("Stop by tomorrow?"),
    }
    await _send(company, "POST", "texts/received", **text)
    webhook = await company.record("outgoing_webhooks", {"name": words("CRM"), "url": "https://crm.example.com/x"})
    await post_webhook(town, company, webhook["id"], lead["id"], words("no such customer"))
    await spare_endpoints(town, company, words("crm.example.com"))
    url, events = "https://crm.example.com/events", ["lead_created"]
    subscription = await company.record("subscriptions", {"name": words("Warehouse"), "url": url, "events": events})
    wanted = {"filter": {"schedule_id": schedule["id"]}, "description": words("Stop them")}
    job = (await _send(company, "POST", "lead_bulk_jobs", action="stop", leads_max=10, **wanted))["lead_bulk_job"]
    letter = await dead_letter(town, words("{").encode())
    return Furnished(
        {
            "leads": str(lead["id"]),
            "schedules": str(schedule["id"]),
            "calls": str(received["id"]),
            "buyers": str(buyer["id"]),
            "buyer_groups": str(group["id"]),
            "agents": str(agent["id"]),
            "lists": str(suppression_list["id"]),
            "bulk-jobs": str(job["id"]),
            "dead_letters": str(letter["id"]),
            "deliveries": str(subscription["id"]),
        }
    )


async def post_webhook(town: Town, company: Company, webhook_id: int, lead_id: int, answer: str) -> None:
    """Let a webhook about a lead have been posted, and have been refused."""
    command = command_of("webhook", company_id=company.id, outgoing_webhook_id=webhook_id, lead_id=lead_id)
    attempt = WebhookAttempt(
        command=command, number=1, at=town.context.clock.now(), milliseconds=7, method="POST",
        host="crm.example.com", status=400, is_accepted=False, detail=answer,
    )  # fmt: skip
    await PostgresWebhookLog(town.pool).add(attempt)


async def spare_endpoints(town: Town, company: Company, host: str) -> None:
    """Let a gateway spare a host of the company, and let its probe of another one be due."""
    about = {"company_id": company.id, "failures": 7, "open_seconds": 95.0, "waiting": 3}
    circuits = (
        OpenCircuit(endpoint=host, probe_in_seconds=86_400.0, **about),  # type: ignore[arg-type]
        OpenCircuit(endpoint="erp.example.com:8443", probe_in_seconds=0.0, **about),  # type: ignore[arg-type]
    )
    register = PostgresGateways(town.pool)
    await register.renew(f"furnished-{company.id}", {"webhook": "webhook"}, {"webhook": CircuitReport(circuits, 4)})


async def record_call(town: Town, company: Company, person: str, number: str = OURS) -> dict[str, Any]:
    """Let a person's call to a number of the company have been recorded at a vendor; return the call."""
    town.numbers += 1
    url = f"https://vendor.example.com/{town.numbers}"
    given = {"from": person, "to": number, "call_ref": f"r-{town.numbers}", "state": "ended", "recording_url": url}
    made: dict[str, Any] = (await _send(company, "POST", "calls/received", **given))["call"]
    key = f"{company.id}|{person}"
    await town.recordings.recordings.owe(
        company_id=company.id, configuration_id=1, contact_key=key, call_id=made["id"], recording_url=url
    )
    return made


async def keep_recording(town: Town, company: Company, call: dict[str, Any], audio: bytes) -> None:
    """Let the recording of a call have been fetched."""
    rows, files = town.recordings.recordings, town.recordings.files
    found = await rows.find(company.id, call["recording_url"])

    async def parts() -> AsyncIterator[bytes]:
        yield audio

    await rows.stored(found.id, await files.put(found.name, parts()), "audio/wav")


async def keep_transcription(town: Town, company: Company, call: dict[str, Any], text: str) -> None:
    """Let the recording of a call have been transcribed."""
    rows = town.recordings.transcriptions
    found = await town.recordings.recordings.find(company.id, call["recording_url"])
    await rows.ask(found.id)
    await rows.add_text(found.id, text)
    await rows.complete(found.id)


async def submit(company: Company, schedule: dict[str, Any], number: str, **fields: Any) -> dict[str, Any]:
    """Submit a lead, and return it."""
    given = {"lead_token": schedule["lead_token"], "caller_id": number, "time_zone": DAYTIME_ZONE, **fields}
    made: dict[str, Any] = (await _send(company, "POST", "leads", **given))["lead"]
    return made


async def _send(company: Company, method: str, path: str, **fields: Any) -> dict[str, Any]:
    answer = await company.send(method, f"/api/v1/{path}", json=fields)
    assert answer.status_code < 300, answer.text
    found: dict[str, Any] = answer.json()
    return found
