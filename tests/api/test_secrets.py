"""Does a secret stand anywhere but in the answer that gives it? Looked for in the log, on every topic, in every table."""

import io
from base64 import b64encode
from typing import Any

import pytest
import pytest_asyncio

from adapters.gateway.signing import shown_secret, signing_key
from adapters.http.document.examples import EXAMPLES, OFFER_TOKEN, SCHEDULE_TOKEN
from adapters.http.operations import documented_operations
from adapters.observability.logs import configure_logs
from schemas.topics import TOPICS
from tests.adapters.http.conftest import SECRET_KEY, Town, basic
from tests.adapters.log_contract import everything
from tests.api.world import make_places, placed, send

pytestmark = pytest.mark.asyncio(loop_scope="session")


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def town(own_town: Town) -> Town:
    """Alone: it looks for secrets in all tables, figures and logs."""
    return own_town


async def _kept(town: Any) -> dict[str, str]:
    """Return everything that the deployment keeps: place -> text."""
    found = {}
    for topic in TOPICS:
        name = town.context.names.of(topic.name)
        partitions = range(await town.context.log.partition_count(name))
        reader = await town.context.log.reader(name, list(partitions))
        records = await everything(reader, *partitions)
        await reader.close()
        found[name] = str([(record.key, record.value, record.headers) for record in records])
    tables = "SELECT table_schema, table_name FROM information_schema.tables WHERE table_type = 'BASE TABLE'"
    for table in await town.pool.fetch(f"{tables} AND table_schema NOT IN ('pg_catalog', 'information_schema')"):
        name = f'"{table["table_schema"]}"."{table["table_name"]}"'
        rows = [list(row.values()) for row in await town.pool.fetch(f"SELECT * FROM {name}")]  # noqa: S608 - our own names
        found[name] = str(rows)
    return found


async def test_no_secret_is_logged_or_kept_whatever_is_asked(town: Any, company: Any, out: io.StringIO) -> None:
    configure_logs("debug", form="json", stream=out)
    made = await company.send("POST", "/api/v1/keys", json={"name": "K"}, headers={"Idempotency-Key": "k"})
    webhook = {"name": "W", "url": "https://crm.example.com/x"}
    hook = await company.send("POST", "/api/v1/outgoing_webhooks", json=webhook, headers={"Idempotency-Key": "w"})
    key = made.json()["key"]
    places = await make_places(town, company, *EXAMPLES.values())
    for operation in documented_operations():
        for method in operation.methods:
            await send(town, company, operation, method, placed(EXAMPLES[operation.name], places))
    word = f"{key['public_key']}.{key['private_key']}"
    for query in ({"auth_token": word}, {"auth_token": f"{word}x"}, {"auth_token": word, "per_page": "0"}):
        await town.client.get("/api/v1/leads", params=query)
    for path in ("/api/v1/leads/1", "/api/v1/leads/1/caller_opt_out", "/api/v1/buyers", "/api/v1/leads.csv", "/nowhere"):
        for sent in (f"auth_token={word}", f"auth_token[]={word}", f"Auth_Token={word}", f"auth_token={word}&auth_token=x"):
            await town.client.get(f"{path}?{sent}")
            await town.client.post(f"{path}?{sent}&lead_token=none", json={"caller_id": "+13055550142"})
    await town.client.put("/api/v1/leads/1", json={"auth_token": word, "blocked": "perhaps"})
    await town.client.get("/api/v1/leads", headers=basic(key["public_key"], f"{key['private_key']}x"))
    for path in (f"/api/v1/{word}", f"/api/v1/leads/{places[OFFER_TOKEN]}", f"/{places[SCHEDULE_TOKEN]}/x"):
        await company.send("GET", path)
    town.outage.topics.add("contacts.requests")
    fields = {"lead_token": places[SCHEDULE_TOKEN], "caller_id": "+13055550142", "auth_token": word}
    assert (await town.client.post("/api/v1/leads", json=fields)).status_code == 503
    town.outage.topics.clear()
    logged = out.getvalue()
    assert logged.count("request.answered") > len(documented_operations())
    assert '"level":"debug"' in logged

    secret = hook.json()["outgoing_webhook"]["secret"]
    hook_id = hook.json()["outgoing_webhook"]["id"]
    assert secret == shown_secret(signing_key(SECRET_KEY, "outgoing_webhook", company.id, hook_id, 1))
    credentials = b64encode(f"{key['public_key']}:{key['private_key']}".encode()).decode()
    secrets = {key["private_key"], company.private_key, secret, secret.removeprefix("whsec_"), credentials, SECRET_KEY}
    for text in (*secrets, places[OFFER_TOKEN], places[SCHEDULE_TOKEN]):
        assert text not in logged
    figures = town.metrics.text().decode()
    for place, kept in {**await _kept(town), "metrics": figures}.items():
        for text in secrets:
            assert text not in kept, (place, text[:6])
