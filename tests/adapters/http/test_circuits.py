"""Do the API and the pages show the endpoints that a gateway spares, to operators all and to a company its own?"""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from adapters.gateway import circuit as circuit_module
from adapters.gateway.addresses import networks
from adapters.gateway.circuit import FAILURES_MAX, CircuitReport, OpenCircuit
from adapters.gateway.ports import Kind
from adapters.gateway.resolver import Resolver
from adapters.gateway.webhook import SignedWebhooks
from adapters.postgres.gateways import LIVE_SECONDS, PostgresGateways
from tests.adapters.gateway.receiver import Receiver
from tests.adapters.gateway.world import command_of, until
from tests.adapters.http.conftest import SECRET_KEY, Company, Town
from tests.adapters.http.console_browser import Browser, visitor
from tests.adapters.http.test_console_pages import operator_browser
from tests.adapters.http.test_operator import operator_of

pytestmark = pytest.mark.asyncio(loop_scope="session")

HOST = "crm.example.com"
NONE = "No endpoint is spared."
WEBHOOKS = {model: {"actions": ["read"]} for model in ("outgoing_webhook", "lead", "call")}
MAIL = {"host": "mail.example.com", "port": 587, "username": "ada", "from_address": "ada@example.com"}
ACCOUNTS = {"provider_configuration": {"actions": ["read"]}}


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def town(own_town: Town) -> Town:
    """Alone: gateways come and go."""
    return own_town


@pytest_asyncio.fixture(loop_scope="session")
async def receiver(town: Town) -> AsyncIterator[Receiver]:
    """A receiver that fails; what gateways said of others in earlier tests is gone."""
    await town.pool.execute("UPDATE work.gateways SET circuits = NULL")
    receiver = Receiver("whsec_" + "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
    receiver.answers = [503]
    await receiver.start()
    yield receiver
    await receiver.stop()


class OnThisMachine(Resolver):
    """Every host is on this machine."""

    async def addresses(self, host: str) -> list[str]:
        assert host == HOST
        return ["127.0.0.1"]


class Gateway:
    """A gateway's side of webhooks, with one webhook of a company, and its heartbeat."""

    def __init__(self, town: Town, company: Company, webhook_id: int) -> None:
        self._register = PostgresGateways(town.pool)
        self.process = f"gateway-{company.id}"
        self._command = command_of("webhook", company_id=company.id, outgoing_webhook_id=webhook_id)
        self.sender = SignedWebhooks(
            town.context.rules,
            town.context.clock,
            deployment_secret=SECRET_KEY,
            allowed=networks(["127.0.0.0/8"]),
            retry_delays_seconds=(),
            resolver=OnThisMachine(),
        )

    async def post(self, times: int = 1) -> None:
        """Post as a delivery does, once its circuit lets it pass."""
        endpoint = self.sender.endpoint_of(self._command)
        for _ in range(times):
            assert await endpoint.wait(30.0) > 0
            assert endpoint.begin(self._command.command_id)
            await self.sender.post(self._command)
            endpoint.end(self._command.command_id)

    async def renew(self) -> None:
        """Send a heartbeat, as the role does."""
        await self._register.renew(self.process, {"webhook": "webhook"}, {"webhook": self.sender.report_circuits()})


async def gateway_of(town: Town, company: Company, receiver: Receiver) -> Gateway:
    url = f"http://{HOST}:{receiver.port}/hooks/s3cret-path?key=s3cret-key"
    webhook = await company.record("outgoing_webhooks", {"name": "CRM", "url": url})
    return Gateway(town, company, webhook["id"])


async def report(town: Town, company: Company, kind: Kind, *endpoints: str, left_out: int = 0) -> None:
    """Let a gateway report that it spares these endpoints of a company."""
    about = {"company_id": company.id, "failures": 6, "open_seconds": 60.0, "probe_in_seconds": 3_600.0, "waiting": 2}
    circuits = tuple(OpenCircuit(endpoint=endpoint, **about) for endpoint in endpoints)  # type: ignore[arg-type]
    reported = {kind: CircuitReport(circuits, left_out)}
    await PostgresGateways(town.pool).renew(f"{kind}-{company.id}", {kind: "twilio"}, reported)


async def section(browser: Browser, path: str, expected: str) -> str:
    """Return what a page says of spared endpoints, once it says what is expected: operators share answers for seconds."""
    page = await until(lambda: browser.get(path), lambda answer: expected in answer.text)
    found: str = page.text.partition("<h2>Endpoints that are spared</h2>")[2].partition("</section>")[0]
    assert expected in found
    return found


async def listed(company: Company, **query: str) -> Any:
    answer = await company.send("GET", "/api/v1/circuits", params=query)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def test_an_endpoint_that_fails_is_shown_with_the_next_heartbeat_and_gone_once_it_answers(
    town: Town, company: Company, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(circuit_module, "PAUSE_SECONDS_MIN", 0.5)
    other, operator, operators = await town.company(), await operator_of(town), await operator_browser(town)
    manager, stranger = await visitor(town, company), await visitor(town, other)
    gateway = await gateway_of(town, company, receiver)
    await gateway.renew()
    assert (await operator.get("circuits"))["circuits"] == []
    for browser, path in ((operators, "/console/operations"), (manager, "/console/deliveries")):
        await section(browser, path, NONE)

    await gateway.post(FAILURES_MAX)
    await gateway.renew()

    host = f"{HOST}:{receiver.port}"
    (row,) = (await operator.get("circuits"))["circuits"]
    assert (row["company_id"], row["channel"], row["endpoint"]) == (company.id, "webhook", host)
    assert (row["failure_count"], row["waiting_count"], row["process"]) == (FAILURES_MAX, 0, gateway.process)
    (own,) = (await listed(company))["circuits"]
    assert (own["endpoint"], own["failure_count"], own["gateway_count"]) == (host, FAILURES_MAX, 1)
    assert own["opened_at"] < own["half_open_at"]
    for browser, path in ((operators, "/console/operations"), (manager, "/console/deliveries")):
        page = await section(browser, path, host)
        assert NONE not in page
        assert "s3cret" not in page
    assert (await listed(other))["circuits"] == []
    assert host not in (await stranger.get("/console/deliveries")).text

    receiver.answers = [200]
    await gateway.post()
    await gateway.renew()

    assert (await operator.get("circuits"))["circuits"] == []
    assert (await listed(company)) == {
        "status": 200,
        "errors": {},
        "circuits": [],
        "is_complete": True,
        "metadata": {"root": "circuits"},
    }
    for browser, path in ((operators, "/console/operations"), (manager, "/console/deliveries")):
        assert host not in await section(browser, path, NONE)
    await gateway.sender.close()


async def test_a_gateway_that_was_killed_spares_nothing_once_it_is_not_live(
    town: Town, company: Company, receiver: Receiver
) -> None:
    operator, operators = await operator_of(town), await operator_browser(town)
    gateway = await gateway_of(town, company, receiver)
    await gateway.post(FAILURES_MAX)
    await gateway.renew()
    assert len((await operator.get("circuits"))["circuits"]) == 1

    late = "UPDATE work.gateways SET renewed_at = renewed_at - $1 * interval '1 second' WHERE process = $2"
    await town.pool.execute(late, LIVE_SECONDS, gateway.process)

    rows = (await operator.get("gateways"))["gateways"]
    assert [row["is_live"] for row in rows if row["process"] == gateway.process] == [False]
    assert (await operator.get("circuits"))["circuits"] == []
    assert (await listed(company))["circuits"] == []
    await section(operators, "/console/operations", NONE)
    await gateway.sender.close()


async def test_deliveries_that_wait_for_a_probe_are_counted(town: Town, company: Company, receiver: Receiver) -> None:
    gateway = await gateway_of(town, company, receiver)
    await gateway.post(FAILURES_MAX)
    waiting = [asyncio.create_task(gateway.post()) for _ in range(3)]
    await asyncio.sleep(0.05)
    await gateway.renew()

    assert [row["waiting_count"] for row in (await listed(company))["circuits"]] == [3]
    for task in waiting:
        task.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)
    await gateway.sender.close()


@pytest.mark.usefixtures("receiver")
async def test_accounts_with_providers_are_shown_to_who_may_read_them(town: Town, company: Company) -> None:
    given = {"channel": "email", "provider": "smtp", "settings": MAIL}
    account = await company.record("provider_configurations", {"name": "Our mail", **given})
    await report(town, company, "webhook", "crm.example.com")
    await report(town, company, "email", f"provider_configuration {account['id']}")
    some = await visitor(town, company, "some@example.com", permissions=WEBHOOKS)
    more = await visitor(town, company, "more@example.com", permissions={**WEBHOOKS, **ACCOUNTS})
    none = await visitor(town, company, "none@example.com", permissions=ACCOUNTS)

    assert {row["channel"] for row in (await listed(company))["circuits"]} == {"webhook", "email"}
    page = (await some.get("/console/deliveries")).text
    assert "crm.example.com" in page
    assert "provider_configuration" not in page
    page = (await more.get("/console/deliveries")).text
    assert "crm.example.com" in page
    assert "Our mail" in page
    assert (await none.get("/console/deliveries")).status_code in {303, 403, 404}


@pytest.mark.usefixtures("receiver")
async def test_a_key_without_the_scope_is_refused_and_root_false_gives_the_bare_list(town: Town, company: Company) -> None:
    await report(town, company, "webhook", "crm.example.com", left_out=3)

    answer = await listed(company)
    assert answer["is_complete"] is False, "one of its own may be among those left out"
    assert await listed(company, root="false") == answer["circuits"]
    assert (await (await operator_of(town)).get("circuits"))["left_out_count"] == 3
    assert "Some may be missing here." in (await (await visitor(town, company)).get("/console/deliveries")).text
    await section(await operator_browser(town), "/console/operations", "3 more are not listed.")
    narrow = await company.record("keys", {"name": "narrow", "scopes": ["lead:read"]})
    auth = (narrow["public_key"], narrow["private_key"])
    assert (await town.client.get("/api/v1/circuits", auth=auth)).status_code == 403
    assert (await company.send("GET", "/api/v1/operator/circuits")).status_code == 403


async def test_operations_shows_what_serves_each_channel_and_the_sandbox_loudly(town: Town) -> None:
    register = PostgresGateways(town.pool)
    before = await town.pool.fetch("SELECT * FROM work.gateways")
    await town.pool.execute("DELETE FROM work.gateways")
    try:
        await register.renew("one", {"call": "sandbox", "sms": "twilio,telnyx", "email": "accounts,smtp"})
        await register.renew("two", {"call": "twilio", "webhook": "webhook"})
        await register.stop("two")
        browser, sandbox = await operator_browser(town), "Sandbox: reaches no one"
        page = (await until(lambda: browser.get("/console/operations"), lambda answer: sandbox in answer.text)).text
    finally:
        await town.pool.execute("DELETE FROM work.gateways")
        for row in before:
            await register.renew(row["process"], {row["channel"]: row["provider"]})

    assert sandbox in page
    assert "accounts of companies with twilio, telnyx" in page
    assert "accounts of companies with smtp" in page
    assert "no gateway runs: nothing is sent" in page
