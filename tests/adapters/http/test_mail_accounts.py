"""Do a company's e-mails go by its own mail account, by the next one where that refuses, and by no other company's?"""

import uuid
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from msgspec.structs import replace

from adapters.clock import wall_now
from adapters.doctor.deployment import check_mail_accounts
from adapters.gateway.addresses import networks
from adapters.gateway.configured import ConfiguredProviders
from adapters.gateway.mail_by_company import MailByCompany
from adapters.gateway.ports import DeliveryResult, NotPlacedError
from adapters.postgres.provider_orders import PostgresOrders
from adapters.providers.connections import Connections
from adapters.providers.provider_sockets import GuardedProviderSockets
from adapters.providers.testing import ScriptedHttp
from schemas.commands import SendEmail
from tests.adapters.gateway.world import command_of
from tests.adapters.http.conftest import SECRET_KEY, Company, Town
from tests.adapters.providers.mail_host import CERTIFICATE, PASSWORD, USER, MailHost, trusting

pytestmark = pytest.mark.asyncio(loop_scope="session")

PATH = "/api/v1/provider_configurations"


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def town(own_town: Town) -> Town:
    """Alone: doctor tries the accounts of all companies, up to a bound."""
    return own_town


class DeploymentServer:
    """The deployment's own mail server."""

    name = "smtp"

    def __init__(self) -> None:
        self.sent: list[SendEmail] = []

    async def send(self, command: SendEmail) -> DeliveryResult:
        self.sent.append(command)
        return DeliveryResult(outcome="accepted")


class Office:
    """The gateway's side of e-mails."""

    def __init__(self, town: Town) -> None:
        self.server = DeploymentServer()
        self.orders = PostgresOrders(town.pool)
        self.accounts = ConfiguredProviders(
            "email",
            ("smtp",),
            rules=town.context.rules,
            orders=self.orders,
            connections=Connections(
                http=ScriptedHttp(),
                deployment_secret=SECRET_KEY,
                public_url="https://leads.example.com",
                now=wall_now,
                sockets=GuardedProviderSockets(allowed=networks(["127.0.0.1"]), tls=trusting()),
            ),
            clock=town.context.clock,
            find_delays_seconds=(0.0,),
        )

    async def send(self, command: SendEmail, *, has_server: bool = True) -> DeliveryResult | None:
        return await MailByCompany(self.accounts, self.server, has_server=has_server).send(command)


@pytest.fixture
def office(town: Town) -> Office:
    return Office(town)


@pytest_asyncio.fixture(loop_scope="session")
async def host() -> AsyncIterator[MailHost]:
    async with MailHost() as served:
        yield served


async def configure(company: Company, host: MailHost, **more: Any) -> dict[str, Any]:
    settings = {
        "host": "localhost",
        "port": host.port,
        "username": USER,
        "from_address": f"leads@company{company.id}.example",
        **more.pop("settings", {}),
    }
    fields = {"name": "Mail", "channel": "email", "provider": "smtp", "secrets": {"password": PASSWORD}, **more}
    return await company.record("provider_configurations", {**fields, "settings": settings})


def mail_of(company: Company, **fields: Any) -> SendEmail:
    made = command_of("email", company_id=company.id, to="ada@example.org", **fields)
    assert isinstance(made, SendEmail)
    return replace(made, command_id=str(uuid.uuid4()))


async def test_a_company_with_an_account_sends_by_it_and_the_others_by_the_deployment(
    office: Office, company: Company, other: Company, host: MailHost
) -> None:
    account = await configure(company, host)
    ours = await office.send(mail_of(company))
    await office.send(mail_of(other))

    assert ours is not None
    assert (ours.outcome, ours.provider, ours.provider_configuration_id) == ("accepted", "smtp", account["id"])
    assert [message["From"] for _, message in host.sent] == [f"leads@company{company.id}.example"]
    assert [command.company_id for command in office.server.sent] == [other.id]


async def test_the_next_account_is_asked_where_the_first_refuses_us(
    office: Office, company: Company, host: MailHost
) -> None:
    await configure(company, host, name="Wrong", secrets={"password": "wrong"})
    second = await configure(company, host, name="Right", fallback_order=200)
    result = await office.send(mail_of(company))

    assert result is not None
    assert (result.outcome, result.provider_configuration_id) == ("accepted", second["id"])
    assert len(host.sent) == 1


async def test_a_paused_or_wrong_account_is_not_replaced_by_the_deployments_server(
    office: Office, company: Company, host: MailHost
) -> None:
    account = await configure(company, host, secrets={"password": "wrong"})
    with pytest.raises(NotPlacedError, match="Mail: 535"):
        await office.send(mail_of(company))
    await company.send("PUT", f"{PATH}/{account['id']}", json={"paused": True})
    with pytest.raises(NotPlacedError, match="no provider configuration for this email"):
        await office.send(mail_of(company))

    assert (office.server.sent, host.sent) == ([], [])


async def test_a_deleted_account_leaves_the_deployments_server(office: Office, company: Company, host: MailHost) -> None:
    account = await configure(company, host)
    await company.send("DELETE", f"{PATH}/{account['id']}")
    await office.send(mail_of(company))

    assert (len(office.server.sent), host.sent) == (1, [])


async def test_without_a_server_of_the_deployment_a_company_needs_an_account(office: Office, company: Company) -> None:
    with pytest.raises(NotPlacedError, match="no provider configuration"):
        await office.send(mail_of(company), has_server=False)

    assert office.server.sent == []


async def test_an_account_that_fails_again_and_again_is_spared(office: Office, company: Company) -> None:
    async with MailHost() as gone:
        pass
    await configure(company, gone)
    said = ""
    for _ in range(7):
        with pytest.raises(NotPlacedError) as refused:
            await office.send(mail_of(company))
        said = str(refused.value)

    assert "cannot be reached" not in said
    assert "Mail: " in said


async def test_an_order_is_over_once_the_host_has_answered(office: Office, company: Company, host: MailHost) -> None:
    await configure(company, host)
    command = mail_of(company)
    await office.send(command)
    order = await office.orders.find(company.id, command.command_id)

    assert order is not None
    assert (order.has_ended, order.channel) == (True, "email")


async def test_a_number_beside_an_account_for_e_mails_is_refused_by_name(company: Company, host: MailHost) -> None:
    number = await company.record("numbers", {"number": "+12125550150"})
    fields = {"host": "localhost", "port": host.port, "username": USER, "from_address": "a@b.example"}
    body = {"name": "M", "channel": "email", "provider": "smtp", "settings": fields, "number_ids": [number["id"]]}
    answer = await company.send("POST", PATH, json=body)

    assert (answer.status_code, list(answer.json()["errors"])) == (422, ["number_ids"])


async def test_doctor_logs_in_to_the_accounts_of_companies(
    town: Town, company: Company, host: MailHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(CERTIFICATE))
    settings = replace(town.context.settings, webhook_private_networks=("127.0.0.1",))
    monkeypatch.setattr(town.context, "settings", settings)
    await configure(company, host)
    bad = await configure(company, host, secrets={"password": "wrong"})
    paused = await configure(company, host, paused=True, secrets={"password": "wrong"})
    found = await check_mail_accounts(town.context)

    said = {level: " ".join(one.found for one in found if one.level == level) for level in ("ok", "warning")}
    assert f"configuration {bad['id']} of company {company.id} cannot be used: 535" in said["warning"]
    assert f"configuration {paused['id']} " not in said["warning"]
    assert "take the login" in said["ok"]
    assert host.sent == []
