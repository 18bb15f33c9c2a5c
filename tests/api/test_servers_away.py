"""What does each route answer while PostgreSQL or Kafka is down? 503 with `Retry-After`, or what it can do without."""

from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from msgspec import structs

from adapters.http.app import Api
from adapters.http.document.examples import EXAMPLES
from adapters.http.exchange.exchange import Services
from adapters.http.exchange.impression_log import LogImpressions
from adapters.http.exchange.requests import LogRequests
from adapters.http.operations import documented_operations
from adapters.kafka.log import KafkaLog
from adapters.local.process import LOCALHOST, free_port
from adapters.partitions.feed import RulesTopic
from adapters.postgres.circuits import PostgresCircuits
from adapters.postgres.heartbeats import PostgresHeartbeats
from adapters.postgres.idempotency import PostgresIdempotencyKeys
from adapters.postgres.lead_bulk_jobs import PostgresLeadBulkJobs
from adapters.postgres.lead_imports import PostgresLeadImports
from adapters.postgres.lead_views import PostgresLeadViews
from adapters.postgres.pool import open_pool
from adapters.postgres.reads import PostgresReads
from adapters.postgres.results import ResultWaiter
from adapters.postgres.sign_ins import PostgresSignIns
from adapters.postgres.webhook_logs import PostgresWebhookLogReads
from engine.rules import Rules
from tests.adapters.http.conftest import UNLIMITED, Company, Town, deployed
from tests.api.world import Places, make_invitation, make_own_key, make_own_view, make_places, placed, send, sign_in

SERVICE_UNAVAILABLE = 503

WITHOUT_DATABASE = (
    "list_time_zones",
    "preview_schedule",
    "preview_lead_map",
    "show_calling_hours",
    "new_lead",
    "build_",
    "record_impressions",
)
"""How the names of operations begin that need no database."""


@pytest.fixture
async def town(migrated_database: str) -> AsyncIterator[Town]:
    """A deployment that a test may take apart."""
    async with deployed(migrated_database, UNLIMITED) as place:
        yield place


def served_by(town: Town, services: Services) -> None:
    """Let the client speak with an application that has other services."""
    app: Any = Api(services, town.app._watch)
    town.client._transport = httpx.ASGITransport(app=app, raise_app_exceptions=False)


async def answers(town: Town, company: Company, places: Places) -> dict[str, httpx.Response]:
    """Return the answer of every route and method to its documented example."""
    return {
        f"{operation.name} {method}": await send(town, company, operation, method, placed(EXAMPLES[operation.name], places))
        for operation in documented_operations()
        for method in operation.methods
        if method != "HEAD"  # a look at a link, which is answered 204 and does nothing
    }


def assert_tells_an_outage(name: str, answer: httpx.Response, code: str) -> None:
    assert answer.status_code == SERVICE_UNAVAILABLE, (name, answer.status_code, answer.text)
    assert answer.json()["code"] == code, (name, answer.text)
    assert int(answer.headers["retry-after"]) > 0, name
    assert answer.json()["retryable"] is True, name
    assert "is stored" not in answer.text, (name, answer.text)
    for leak in ("Traceback", "Errno", "asyncpg", "Kafka", LOCALHOST):
        assert leak not in answer.text, (name, answer.text)


async def test_every_route_without_the_database_is_503_or_stores_what_was_sent(town: Town) -> None:
    company = await town.company()
    places = await make_places(town, company, *EXAMPLES.values())
    own = (await sign_in(town, company))[1]
    await make_own_key(town, own)
    await make_own_view(town, own)
    await make_invitation(town, company)
    services: Services = town.app._services
    away = await open_pool(f"postgresql://leadclock:word@{LOCALHOST}:{free_port()}/leadclock")
    reads = PostgresReads(away)
    requests = LogRequests(
        town.context.log,
        names=town.context.names,
        appender=town.requests._appender,
        rules=town.context.rules,
        now=town.context.clock.now,
        wait=ResultWaiter(away, reads).wait,
    )
    settings = structs.replace(services.settings, wait_seconds=0.1)
    served_by(
        town,
        structs.replace(
            services,
            reads=reads,
            claims=PostgresIdempotencyKeys(away),
            heartbeats=PostgresHeartbeats(away),
            sign_ins=PostgresSignIns(away),
            webhook_logs=PostgresWebhookLogReads(away),
            circuits=PostgresCircuits(away),
            bulk_jobs=PostgresLeadBulkJobs(away),
            imports=PostgresLeadImports(away),
            lead_views=PostgresLeadViews(away),
            requests=requests,
            settings=settings,
        ),
    )
    safe = {operation.name for operation in documented_operations() if operation.safe}
    for name, answer in (await answers(town, company, places)).items():
        operation = name.partition(" ")[0]
        if operation.startswith(WITHOUT_DATABASE):
            assert answer.is_success, (name, answer.text)
        elif operation in safe or answer.status_code != 202:
            assert_tells_an_outage(name, answer, "reads_unavailable")
    keyed = await company.send("POST", "/api/v1/offers", json={"name": "O"}, headers={"Idempotency-Key": "k"})
    assert_tells_an_outage("a claim of an Idempotency-Key", keyed, "reads_unavailable")
    await away.close()


class Unreachable:
    """The rules as they were read while the broker was up."""

    def __init__(self, former: RulesTopic, log: KafkaLog, topic: str) -> None:
        self._former = former
        self._log = log
        self._topic = topic

    @property
    def rules(self) -> Rules:
        return self._former.rules

    def seen(self, company_id: int) -> tuple[int, int]:
        return self._former.seen(company_id)

    async def refresh(self) -> None:
        await self._log.partition_count(self._topic)


WITHOUT_THE_BROKER = {
    *("replay_subscription", "enable_subscription", "send_agent_heartbeat"),
    *("create_lead_bulk_job", "cancel_lead_bulk_job", "create_lead_import", "cancel_lead_import"),
    *("save_lead_view", "delete_lead_view"),
    *("create_session", "delete_session", "begin_second_factor"),
}
"""They change what is stored beside the log: events to send again, open pages, saved views, and who is signed in."""


async def test_every_route_that_writes_is_503_without_the_broker_and_reads_go_on(town: Town) -> None:
    company = await town.company()
    places = await make_places(town, company, *EXAMPLES.values())
    own = (await sign_in(town, company))[1]
    await make_own_key(town, own)
    await make_own_view(town, own)
    await make_invitation(town, company)
    services: Services = town.app._services
    log = KafkaLog(f"{LOCALHOST}:{free_port()}", deadline_seconds=1.0)
    rules = Unreachable(town.context.rules, log, town.context.names.of("accounts.rules"))
    appender = await log.appender()
    requests = LogRequests(
        log,
        names=town.context.names,
        appender=appender,
        rules=rules,
        now=town.context.clock.now,
        wait=town.results.wait,
    )
    impressions = LogImpressions(log, names=town.context.names, appender=appender)
    served_by(town, structs.replace(services, source=rules, requests=requests, impressions=impressions))
    safe = {operation.name for operation in documented_operations() if operation.safe}
    for name, answer in (await answers(town, company, places)).items():
        if name.partition(" ")[0] in safe | WITHOUT_THE_BROKER:
            assert answer.is_success, (name, answer.text)
        else:
            assert_tells_an_outage(name, answer, "events_unavailable")
    await requests.close()
    await impressions.close()
    await appender.close()
    await log.close()
