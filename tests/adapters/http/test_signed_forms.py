"""Does a signed form count as sent with a key for exactly what it signed, once, for an hour, and otherwise as any form?"""

import asyncio
import json
import re
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import httpx
import pytest
from msgspec import structs

from adapters.http.app import Api
from adapters.http.exchange.request_metrics import RequestMetrics
from adapters.http.exchange.requests import LogRequests
from adapters.http.exchange.writes import NONCE_SPACE
from adapters.http.leads.signed_forms import AHEAD_MAX, GOOD_FOR, VERSION, signature_of, signed_bytes
from adapters.observability.metrics import Metrics
from adapters.postgres.idempotency import KEY_RETENTION, PostgresIdempotencyKeys
from adapters.postgres.pool import Pool, open_pool
from adapters.postgres.reads import PostgresReads
from adapters.postgres.results import ResultWaiter
from adapters.reads.ports import IdempotencyClaim
from schemas.instant import SECOND, Instant
from tests.adapters.http.conftest import DAYTIME_ZONE, Company, Town
from tests.adapters.http.test_public_rights import NUMBER, STEPS, kept_of, lead_of
from tests.api.clients import found

pytestmark = pytest.mark.asyncio(loop_scope="session")

PAGE = Path(__file__).parents[3] / "deploy" / "docs" / "producers.md"
VECTORS = json.loads((Path(__file__).parent / "signed_forms.json").read_text())
ACCEPTED: dict[str, Any] = {"status": "accepted", "svc_number_plain": None, "sms_number_plain": None, "warnings": []}


def seconds_of(town: Town) -> int:
    return town.context.clock.now() // SECOND


def value_of(fields: dict[str, Any], name: str) -> str:
    return str(fields["data"][name[5:-1]] if name.startswith("data[") else fields[name])


def parts_of(fields: dict[str, Any], path: str = "/api/v1/leads") -> list[str]:
    """Return what a form signs, as the page for producers says it."""
    names = [name for name in fields["form_signed_fields"].split(",") if name]
    always = (fields["lead_token"], fields.get("caller_id", ""), fields["form_signed_at"], fields["form_nonce"])
    return [VERSION, path, *always, *(part for name in names for part in (name, value_of(fields, name)))]


class Form:
    """Signs forms of one lead token, with a nonce of its own each."""

    def __init__(self, town: Town, secret: str, token: str) -> None:
        self.town, self.secret, self.token, self.signed = town, secret, token, 0

    def sign(self, fields: dict[str, Any], *names: str, **proof: str) -> dict[str, Any]:
        """Return signed fields; `proof` replaces the time, nonce or names."""
        self.signed += 1
        whole = {
            "lead_token": self.token,
            "caller_id": NUMBER,
            **fields,
            "form_signed_at": str(seconds_of(self.town)),
            "form_nonce": f"nonce-of-this-form-{self.signed}",
            "form_signed_fields": ",".join(names),
            **proof,
        }
        return {**whole, "form_signature": signature_of(self.secret, parts_of(whole))}

    async def post(self, body: dict[str, Any], **more: Any) -> Any:
        return await self.town.client.post("/api/v1/leads", json=body, **more)


async def secret_of(company: Company, collection: str, record: dict[str, Any]) -> str:
    """Give a lead token a signing secret, and return it."""
    root = collection[:-1]
    path = f"/api/v1/{collection}/{record['id']}"
    answer = await company.send("PUT", path, json={"rotate_signing_secret": True})
    assert (answer.status_code, answer.headers["cache-control"]) == (200, "no-store"), answer.text
    secret: str = answer.json()[root]["signing_secret"]
    assert answer.json()[root]["has_form_secret"] is True
    return secret


async def form_of(town: Town, company: Company, **more: Any) -> Form:
    schedule = await company.schedule(steps=STEPS, **more)
    return Form(town, await secret_of(company, "schedules", schedule), schedule["lead_token"])


async def known_lead(company: Company, form: Form) -> dict[str, Any]:
    """Make a lead with a key; return it."""
    known = {"lead_token": form.token, "caller_id": NUMBER, "time_zone": DAYTIME_ZONE, "full_name": "Ann"}
    await company.send("POST", "/api/v1/leads", json=known)
    return await lead_of(company)


@pytest.mark.parametrize("vector", VECTORS, ids=[vector["title"] for vector in VECTORS])
async def test_what_is_signed_is_framed_as_the_vectors_say(vector: dict[str, Any]) -> None:
    parts = parts_of(vector["fields"])
    assert signed_bytes(parts).decode() == vector["message"]
    assert signature_of(vector["secret"], parts) == vector["form_signature"]


async def test_signed_steering_is_applied_to_a_new_lead_and_unsigned_is_not(town: Town, company: Company) -> None:
    form = await form_of(town, company)
    fields = {"lead_priority": "-7", "external_record_id": "crm-7", "remote_ip": "192.0.2.7", "roof": "flat"}
    answer = await form.post(form.sign(fields, "lead_priority", "external_record_id"))
    (warning,) = answer.json()["warnings"]
    assert (answer.status_code, {**answer.json(), "warnings": []}) == (201, ACCEPTED), answer.text
    assert "remote_ip" in warning
    assert "lead_priority" not in warning
    lead = await lead_of(company)
    shown = (lead["lead_priority"], lead["external_record_id"], lead["remote_ip"], lead["data"])
    assert shown == (-7.0, "crm-7", None, {"roof": "flat"})


async def test_signed_fields_update_a_stored_lead_and_unsigned_ones_are_kept_beside_it(town: Town, company: Company) -> None:
    form = await form_of(town, company)
    before = await known_lead(company, form)
    fields = {"email": "ann@example.com", "full_name": "Eve", "data": {"roof": "flat", "floor": "wood"}}
    answer = await form.post(form.sign(fields, "email", "data[roof]"))
    assert (answer.status_code, answer.json()) == (201, ACCEPTED), answer.text
    lead = await lead_of(company)
    assert (lead["id"], lead["email"], lead["full_name"], lead["data"]) == (
        before["id"], "ann@example.com", "Ann", {"roof": "flat"},
    )  # fmt: skip
    (kept,) = await kept_of(company)
    assert (kept["email"], kept["columns"], kept["data"]) == (None, {"full_name": "Eve"}, {"floor": "wood"})


@pytest.mark.parametrize(("names", "restarts"), [(("restart_schedule",), True), ((), False)])
async def test_a_schedule_restarts_by_a_form_that_signs_that(
    town: Town, company: Company, names: tuple[str, ...], restarts: bool
) -> None:
    form = await form_of(town, company)
    lead = await known_lead(company, form)
    await company.send("PUT", f"/api/v1/leads/{lead['id']}", json={"schedule_stop": True})
    answer = await form.post(form.sign({"restart_schedule": "true", "update_only": "false"}, *names, "update_only"))
    assert answer.status_code == 201, answer.text
    stopped = (await company.send("GET", f"/api/v1/leads/{lead['id']}")).json()["lead"]
    assert stopped["is_live"] is restarts


@pytest.mark.parametrize("names", [("time_zone",), ()])
async def test_a_signed_zone_is_trusted_alone_and_an_unsigned_one_is_a_candidate_more(
    town: Town, company: Company, names: tuple[str, ...]
) -> None:
    form = await form_of(town, company)
    known = {"lead_token": form.token, "time_zone": "Europe/Kyiv", "caller_id": "+12125550143"}
    await company.send("POST", "/api/v1/leads", json=known)
    keyed = await lead_of(company, number="+12125550143")
    await form.post(form.sign({"time_zone": "Europe/Kyiv"}, *names))
    lead = await lead_of(company, number=NUMBER)
    assert (lead["next_action_at"] == keyed["next_action_at"]) is bool(names)  # 8:00 in Kyiv is 1:00 in New York


async def test_a_signed_lead_has_no_cap_of_strangers_and_an_unsigned_one_has(town: Town, company: Company) -> None:
    await company.send("PUT", "/api/v1/company", json={"public_contacts": 0})
    form = await form_of(town, company, duplicate_policy="create")
    for body in ({"lead_token": form.token, "caller_id": NUMBER, "x": "1"}, {"lead_token": form.token, "caller_id": NUMBER}):
        await form.post(body)
    await form.post(form.sign({"x": "3"}))
    leads = (await company.send("GET", "/api/v1/leads")).json()["leads"]
    assert [lead["status_wait"] for lead in leads] == [None, "public_cap", None]


@pytest.mark.parametrize(
    "altered", ["caller_id", "email", "form_signed_at", "form_nonce", "form_signed_fields", "form_signature"]
)
async def test_a_form_that_was_altered_is_refused_and_stores_nothing(town: Town, company: Company, altered: str) -> None:
    form = await form_of(town, company)
    signed = form.sign({"email": "ann@example.com", "roof": "flat"}, "email")
    other = {
        "caller_id": "+12125550143",
        "email": "eve@example.com",
        "form_signed_at": str(seconds_of(town) - 1),
        "form_nonce": "another-nonce-of-this",
        "form_signed_fields": "email,roof",
        "form_signature": "0" * 64,
    }
    refused = await form.post({**signed, altered: other[altered]})
    assert (refused.status_code, refused.json().get("code")) == (401, "invalid_signature"), refused.text
    assert (await company.send("GET", "/api/v1/leads")).json()["leads"] == []
    assert (await form.post(signed)).status_code == 201


async def test_the_signature_of_one_path_is_none_of_another(town: Town, company: Company) -> None:
    form = await form_of(town, company, duplicate_policy="create")
    signed = form.sign({})
    refused = await town.client.post("/api/v1/leads/create_or_update", json=signed)
    assert refused.json()["code"] == "invalid_signature"
    proof = signature_of(form.secret, parts_of(signed, "/api/v1/leads/create_or_update"))
    taken = await town.client.post("/api/v1/leads/create_or_update", json={**signed, "form_signature": proof})
    assert taken.status_code == 201, taken.text


async def test_the_signature_of_one_token_is_none_of_another(town: Town, company: Company) -> None:
    form, other = await form_of(town, company), await form_of(town, company, name="Other")
    refused = await form.post({**form.sign({}), "lead_token": other.token})
    assert refused.json()["code"] == "invalid_signature"


@pytest.mark.parametrize(
    ("seconds", "code"), [(-3_601, "stale_signature"), (-3_540, None), (240, None), (420, "stale_signature")]
)
async def test_a_signature_is_good_for_an_hour(town: Town, company: Company, seconds: int, code: str | None) -> None:
    form = await form_of(town, company)
    answer = await form.post(form.sign({}, form_signed_at=str(seconds_of(town) + seconds)))
    assert (answer.status_code, answer.json().get("code")) == ((401, code) if code else (201, None)), answer.text
    if code:
        assert " here. Nothing was stored." in answer.json()["detail"]
        assert (await company.send("GET", "/api/v1/leads")).json()["leads"] == []


async def test_a_nonce_is_held_for_longer_than_its_signature_is_good() -> None:
    assert GOOD_FOR + AHEAD_MAX < KEY_RETENTION


async def test_a_signature_is_good_once_also_for_many_requests_at_a_time(town: Town, company: Company) -> None:
    form = await form_of(town, company, duplicate_policy="create")
    signed = form.sign({"roof": "flat"}, "roof")
    answers = await asyncio.gather(*(form.post({**signed, "x": place}) for place in range(8)))
    assert sorted(answer.status_code for answer in answers) == [201, *[409] * 7]
    assert {answer.json().get("code") for answer in answers} == {None, "replayed_signature"}
    assert len((await company.send("GET", "/api/v1/leads")).json()["leads"]) == 1
    held = await town.pool.fetchval(
        "SELECT count(*) FROM work.idempotency_keys WHERE company_id = $1 AND key LIKE 'signed form%'", company.id
    )
    assert held == 1


class SimultaneousClaims(PostgresIdempotencyKeys):
    """The claims of one process, which asks the database for a nonce once the other process is about to as well."""

    def __init__(self, pool: Pool, both: asyncio.Barrier) -> None:
        super().__init__(pool)
        self.both = both

    async def claim(self, company_id: int, key: str, digest: str, request_id: str, *, now: Instant) -> IdempotencyClaim:
        if key.startswith(NONCE_SPACE):
            await self.both.wait()
        return await super().claim(company_id, key, digest, request_id, now=now)


@asynccontextmanager
async def another_process(town: Town, claims: type[PostgresIdempotencyKeys], *given: Any) -> AsyncIterator[Any]:
    """Yield a client of an API of its own: with its connections to the database, its writer to the log, its counts."""
    context = town.context
    dsn = town.pool._connect_args[0]
    async with AsyncExitStack() as stack:
        pool = await open_pool(dsn)
        stack.push_async_callback(pool.close)
        results = ResultWaiter(pool, PostgresReads(pool))
        results.start()
        stack.push_async_callback(results.close)
        requests = LogRequests(
            context.log,
            names=context.names,
            appender=await context.log.appender(),
            rules=context.rules,
            now=context.clock.now,
            wait=results.wait,
        )
        stack.push_async_callback(requests.close)
        own = {"requests": requests, "reads": PostgresReads(pool), "claims": claims(pool, *given)}
        app = Api(structs.replace(town.app._services, **own), RequestMetrics(Metrics().registry))
        stack.callback(app._watch.close)
        client = httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://leadclock.test")  # type: ignore[arg-type]
        yield await stack.enter_async_context(client)


async def test_of_two_processes_that_get_a_signed_form_at_the_same_instant_one_counts_it_as_keyed(
    town: Town, company: Company
) -> None:
    form = await form_of(town, company, duplicate_policy="create")
    both = asyncio.Barrier(2)
    async with (
        another_process(town, SimultaneousClaims, both) as first,
        another_process(town, SimultaneousClaims, both) as second,
    ):
        for place in range(12):
            signed = form.sign({"lead_priority": "-7", "data": {"place": str(place)}}, "lead_priority")
            answers = await asyncio.gather(*(client.post("/api/v1/leads", json=signed) for client in (first, second)))
            codes = {answer.status_code: answer.json().get("code") for answer in answers}
            assert codes == {201: None, 409: "replayed_signature"}, [answer.text for answer in answers]
    leads = (await company.send("GET", "/api/v1/leads")).json()["leads"]
    assert sorted(int(lead["data"]["place"]) for lead in leads) == list(range(12))
    assert {lead["lead_priority"] for lead in leads} == {-7.0}


async def test_a_repeat_under_its_idempotency_key_gets_the_first_answer_and_a_replay_under_another_does_not(
    town: Town, company: Company
) -> None:
    form = await form_of(town, company)
    signed, first = form.sign({"roof": "flat"}, "roof"), {"Idempotency-Key": "order-1"}
    answers = [await form.post(signed, headers=first) for _ in range(2)]
    assert [answer.status_code for answer in answers] == [201, 201]
    assert answers[0].content == answers[1].content
    for headers in ({"Idempotency-Key": "order-2"}, {"Idempotency-Key": "order-2"}, {}):
        replayed = await form.post(signed, headers=headers)
        assert (replayed.status_code, replayed.json()["code"]) == (409, "replayed_signature")
    altered = await form.post({**signed, "x": "1"}, headers=first)
    assert (altered.status_code, altered.json()["code"]) == (409, "idempotency_conflict")


async def test_a_request_that_was_not_stored_is_sent_again_under_its_idempotency_key(town: Town, company: Company) -> None:
    form = await form_of(town, company)
    signed, headers = form.sign({"roof": "flat"}, "roof"), {"Idempotency-Key": "order-1"}
    town.outage.topics.add("contacts.requests")
    try:
        refused = await form.post(signed, headers=headers)
    finally:
        town.outage.topics.clear()
    assert refused.status_code == 503
    assert (await form.post(signed, headers=headers)).status_code == 201
    assert (await lead_of(company))["data"] == {"roof": "flat"}


FAULTS: list[tuple[dict[str, Any], str]] = [
    ({"form_signed_at": "yesterday"}, "form_signed_at"),
    ({"form_signed_at": 1781715600}, "form_signed_at"),
    ({"form_signed_at": None}, "form_signed_at"),
    ({"form_nonce": "short"}, "form_nonce"),
    ({"form_nonce": "x" * 101}, "form_nonce"),
    ({"form_nonce": "a nonce with blanks in it"}, "form_nonce"),
    ({"form_signature": None}, "form_signature"),
    ({"form_signature": "\u00e9"}, "form_signature"),
    ({"form_signed_fields": "roof"}, "roof"),
    ({"form_signed_fields": "data[roof]"}, "data[roof]"),
    ({"form_signed_fields": "caller_id"}, "form_signed_fields"),
    ({"form_signed_fields": "form_nonce"}, "form_signed_fields"),
    ({"form_signed_fields": "auth_token"}, "form_signed_fields"),
    ({"form_signed_fields": "a[b]"}, "form_signed_fields"),
    ({"form_signed_fields": "sub_id,sub_id"}, "form_signed_fields"),
    ({"form_signed_fields": ["sub_id"]}, "form_signed_fields"),
    ({"form_signed_fields": ",".join(f"f{place}" for place in range(101))}, "form_signed_fields"),
    ({"form_signed_fields": "sub_id", "sub_id": 7}, "sub_id"),
    ({"caller_id": 12125550142}, "caller_id"),
]


@pytest.mark.parametrize(("changes", "field"), FAULTS, ids=lambda value: str(value)[:40])
async def test_a_signature_that_cannot_be_read_is_refused_by_field(
    town: Town, company: Company, changes: dict[str, Any], field: str
) -> None:
    form = await form_of(town, company)
    body = {name: value for name, value in {**form.sign({}), **changes}.items() if value is not None}
    refused = await form.post(body)
    assert (refused.status_code, list(refused.json()["errors"])) == (422, [field]), refused.text


async def test_a_number_under_another_name_is_not_the_number_that_was_signed(town: Town, company: Company) -> None:
    form = await form_of(town, company)
    unsigned = form.sign({"caller_id": "", "phone": NUMBER})
    refused = await form.post(unsigned)
    assert (refused.status_code, list(refused.json()["errors"])) == (422, ["caller_id"]), refused.text
    by_email = form.sign({"caller_id": "", "phone": NUMBER, "email": "ann@example.com"}, "email")
    assert (await form.post(by_email)).status_code == 201
    lead = await lead_of(company)
    assert (lead["email"], lead["caller_id"]) == ("ann@example.com", None)


async def test_an_opt_out_needs_no_signature_that_fits(town: Town, company: Company) -> None:
    form = await form_of(town, company)
    await known_lead(company, form)
    answer = await form.post({**form.sign({}, form_signed_at="1"), "opt_out": "true", "form_signature": "0"})
    assert answer.status_code == 201, answer.text
    assert (await lead_of(company))["status"] == "opt_out"


async def test_a_signature_does_not_unblock_and_is_no_key_where_one_is_required(town: Town, company: Company) -> None:
    form = await form_of(town, company)
    refused = await form.post(form.sign({"unblock_contact": "true"}, "unblock_contact"))
    assert (refused.status_code, refused.json()["code"]) == (403, "forbidden"), refused.text
    strict = await form_of(town, company, name="Strict", require_auth=True)
    assert (await strict.post(strict.sign({}))).json()["code"] == "unauthenticated"


async def test_the_answer_says_nothing_of_who_is_stored(town: Town, company: Company) -> None:
    await company.record("numbers", {"number": "+16465550100", "voice": True, "sms": True})
    form = await form_of(town, company)
    await known_lead(company, form)
    asks = {"assign_svc_number": "true", "assign_sms_number": "true"}
    answers = [
        await form.post(form.sign({**asks, "caller_id": number, "full_name": "Eve"}, *asks, "full_name"))
        for number in (NUMBER, "+12125550143")
    ]
    shown = {
        (answer.status_code, answer.content, tuple(name for name in answer.headers if name != "x-request-id"))
        for answer in answers
    }
    assert len(shown) == 1, shown
    assert answers[0].json()["svc_number_plain"] == "+16465550100"


@pytest.mark.parametrize("collection", ["offers", "schedules"])
async def test_a_secret_is_made_replaced_and_removed_and_shown_once(town: Town, company: Company, collection: str) -> None:
    fields = {"name": "Solar"} if collection == "offers" else {"name": "Solar", "steps": STEPS}
    record = await company.record(collection, fields)
    path, root = f"/api/v1/{collection}/{record['id']}", collection[:-1]
    assert record["has_form_secret"] is False
    form = Form(town, await secret_of(company, collection, record), record["lead_token"])
    shown = (await company.send("GET", path)).json()[root]
    assert (shown["has_form_secret"], form.secret in json.dumps(shown)) == (True, False)
    assert "sealed_signing_secret" not in shown
    assert (await form.post(form.sign({}))).status_code == 201

    former, form.secret = form.secret, await secret_of(company, collection, record)
    assert former != form.secret
    assert (await form.post(form.sign({}))).status_code == 201
    form.secret = former
    assert (await form.post(form.sign({}))).json()["code"] == "invalid_signature"

    removed = await company.send("PUT", path, json={"remove_signing_secret": True})
    assert removed.json()[root]["has_form_secret"] is False
    refused = await form.post(form.sign({}))
    assert (refused.status_code, "no signing secret" in refused.json()["detail"]) == (401, True)


async def test_a_secret_is_not_shown_to_a_repeat_and_not_stored_readably(town: Town, company: Company) -> None:
    record = await company.record("offers", {"name": "Solar"})
    path, headers = f"/api/v1/offers/{record['id']}", {"Idempotency-Key": "rotate-1"}
    first = await company.send("PUT", path, json={"rotate_signing_secret": True}, headers=headers)
    again = await company.send("PUT", path, json={"rotate_signing_secret": True}, headers=headers)
    secret = first.json()["offer"]["signing_secret"]
    assert "signing_secret" not in again.json()["offer"]
    assert (again.status_code, again.json()["offer"]["has_form_secret"]) == (200, True)
    for table in ("work.idempotency_keys", "read.records"):
        rows = await town.pool.fetch(f"SELECT t::text AS row FROM {table} AS t")  # noqa: S608 - our own names
        assert not [row for row in rows if secret in row["row"] or secret.encode().hex() in row["row"]]
    sent_back = await company.send("PUT", path, json=first.json()["offer"])
    assert sent_back.status_code == 200, sent_back.text
    forged = await company.send("PUT", path, json={"signing_secret": "fs_mine"})
    assert (forged.status_code, list(forged.json()["errors"])) == (422, ["signing_secret"])


@pytest.mark.parametrize("field", ["sealed_signing_secret", "has_form_secret", "signing_secret"])
async def test_no_secret_is_given_from_outside(company: Company, field: str) -> None:
    refused = await company.send("POST", "/api/v1/offers", json={"name": "Solar", field: "fs_mine"})
    assert (refused.status_code, list(refused.json()["errors"])) == (422, [field]), refused.text


async def test_who_may_not_submit_with_a_key_makes_no_secret(town: Town, company: Company) -> None:
    record = await company.record("offers", {"name": "Solar"})
    path = f"/api/v1/offers/{record['id']}"
    weak = (await company.send("POST", "/api/v1/keys", json={"name": "w", "scopes": ["offer:*"]})).json()["key"]
    login = (weak["public_key"], weak["private_key"])
    refused = await town.client.put(path, auth=login, json={"rotate_signing_secret": True})
    assert (refused.status_code, refused.json()["code"]) == (403, "forbidden"), refused.text
    assert (await town.client.put(path, auth=login, json={"remove_signing_secret": True})).status_code == 200
    both = await company.send("PUT", path, json={"rotate_signing_secret": True, "remove_signing_secret": True})
    assert both.status_code == 422


async def test_a_secret_is_made_at_once_and_not_by_a_draft(company: Company) -> None:
    schedule = await company.schedule(steps=STEPS)
    path = f"/api/v1/schedules/{schedule['id']}"
    refused = await company.send("PUT", path, json={"rotate_signing_secret": True, "draft": True})
    assert (refused.status_code, list(refused.json()["errors"])) == (422, ["rotate_signing_secret"]), refused.text
    await secret_of(company, "schedules", schedule)
    listed = await company.send("GET", f"{path}/versions")
    assert "v1." not in listed.text


async def test_a_request_with_a_key_reads_no_signature_and_says_so(town: Town, company: Company) -> None:
    form = await form_of(town, company)
    answer = await company.send("POST", "/api/v1/leads", json={**form.sign({}), "form_signature": "0"})
    (warning,) = answer.json()["warnings"]
    assert (answer.status_code, "form_signature" in warning) == (201, True), answer.text
    assert (await lead_of(company))["data"] == {}


def _block(language: str, beginning: str) -> str:
    blocks = re.findall(rf"^```{language}\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    (block,) = (block for block in blocks if block.startswith(beginning))
    return str(block)


FIELDS = {"lead_token": "", "caller_id": NUMBER, "full_name": "Zo\u00eb", "lead_priority": "-7", "roof": "flat"}
NAMES = ["full_name", "lead_priority"]


async def _run(*command: str) -> dict[str, str]:
    process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
    out, _ = await process.communicate()
    assert process.returncode == 0
    signed: dict[str, str] = json.loads(out)
    return signed


@pytest.mark.parametrize("language", ["python", "js"])
async def test_the_examples_of_the_page_sign_a_form_that_is_taken(town: Town, company: Company, language: str) -> None:
    form = await form_of(town, company)
    fields = json.dumps({**FIELDS, "lead_token": form.token})
    if language == "python":
        call = f"print(json.dumps(sign({fields}, {form.secret!r}, tuple({NAMES!r}))))"
        script = f"import json\n{_block('python', 'import hashlib')}\ntime.time = lambda: {seconds_of(town)}\n{call}"
        signed = await _run(sys.executable, "-c", script)
    else:
        call = f"console.log(JSON.stringify(sign({fields}, {json.dumps(form.secret)}, {json.dumps(NAMES)})));"
        script = f"{_block('js', 'import {')}\nDate.now = () => {seconds_of(town)}000;\n{call}"
        signed = await _run(found("node"), "--input-type=module", "-e", script)
    answer = await town.client.post(
        "/api/v1/leads", content=urlencode(signed), headers={"Content-Type": "application/x-www-form-urlencoded"}
    )
    assert (answer.status_code, answer.json()) == (201, ACCEPTED), answer.text
    lead = await lead_of(company)
    assert (lead["full_name"], lead["lead_priority"], lead["data"]) == ("Zo\u00eb", -7.0, {"roof": "flat"})
