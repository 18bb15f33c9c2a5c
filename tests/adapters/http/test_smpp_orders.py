"""Do texts go by SMPP from the command to the outcome, whichever gateway gets the receipt, and does a STOP opt out?"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
import pytest_asyncio

from adapters.clock import wall_now
from adapters.gateway.addresses import networks
from adapters.providers import sessions as sessions_module
from adapters.providers.connections import Connections
from adapters.providers.provider_http import GuardedProviderHttp
from adapters.providers.provider_sockets import GuardedProviderSockets
from adapters.providers.reports import ProviderReports
from adapters.providers.sessions import ProviderSessions
from tests.adapters.http.carrier import NUMBER, PUBLIC, Carrier, delete_accounts
from tests.adapters.http.conftest import SECRET_KEY, WAIT_SECONDS
from tests.adapters.providers.smpp_server import DROPS, PASSWORD, SYSTEM_ID, CarrierSession, SmppServer

pytestmark = pytest.mark.asyncio(loop_scope="session")


class SmppGateway(Carrier):
    """One gateway of a company whose texts go by SMPP."""

    provider_name = "smpp"

    def __init__(self, town: Any, company: Any, server: SmppServer, http: GuardedProviderHttp) -> None:
        super().__init__(town, company, None, http)  # type: ignore[arg-type]
        self.server = server
        self.connections = Connections(
            http=http,
            deployment_secret=SECRET_KEY,
            public_url=PUBLIC,
            now=wall_now,
            sockets=GuardedProviderSockets(allowed=networks(["127.0.0.1"])),
        )

    async def configure(self, channel: str = "sms", **more: Any) -> dict[str, Any]:
        settings = {"host": "localhost", "port": self.server.port, "system_id": SYSTEM_ID, "security": "none"}
        fields = {"name": "Our carrier", "channel": channel, "provider": "smpp", "settings": settings, **more}
        found: dict[str, Any] = await self.company.record(
            "provider_configurations", {"secrets": {"password": PASSWORD}, **fields}
        )
        return found

    @asynccontextmanager
    async def listening(self) -> AsyncIterator[CarrierSession]:
        """Keep the sessions of the gateway; yield the carrier's side of this one."""
        known = len(self.server.sessions)
        reports = ProviderReports(self.town.requests, self.orders, self.town.context.clock.now)
        sessions = ProviderSessions(
            "sms",
            ("smpp",),
            rules=self.town.context.rules,
            orders=self.orders,
            connections=self.connections,
            reports=reports,
        )
        task = asyncio.create_task(sessions.run())
        await until(lambda: any(session.is_bound for session in self.server.sessions[known:]))
        try:
            yield self.server.session
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def result(self, command: Any, outcome: str) -> Any:
        """The outcome of a text, once it is that."""
        found: list[Any] = []

        async def look() -> bool:
            found[:] = [await self.orders.find(self.company.id, command.command_id)]
            return found[0].result is not None and found[0].result.outcome == outcome

        await until_true(look)
        return found[0].result


async def until(is_so: Callable[[], bool]) -> None:
    async def look() -> bool:
        return is_so()

    await until_true(look)


async def until_true(look: Callable[[], Any]) -> None:
    async with asyncio.timeout(WAIT_SECONDS):
        while not await look():
            await asyncio.sleep(0.02)


@pytest_asyncio.fixture(loop_scope="session")
async def gateways(town: Any, company: Any) -> AsyncIterator[tuple[SmppGateway, SmppGateway]]:
    http = GuardedProviderHttp(allowed=networks(["127.0.0.1"]))
    async with SmppServer() as server:
        yield SmppGateway(town, company, server, http), SmppGateway(town, company, server, http)
    await delete_accounts(company)
    await http.close()


async def test_a_receipt_is_taken_by_whichever_gateway_it_comes_to(gateways: tuple[SmppGateway, SmppGateway]) -> None:
    sender, other = gateways
    await sender.configure()
    command = await sender.command("sms")
    async with sender.listening(), other.listening() as beside:
        assert await sender.providers("sms").send(command) is None
        message_id = sender.server.text_to(command.to)
        assert sender.server.session is beside
        assert await sender.server.receipt(message_id) == 0
        found = await sender.result(command, "delivered")

    assert (found.provider, found.provider_ref, found.detail) == ("smpp", message_id, "SMPP: DELIVRD")


async def test_a_receipt_before_the_answer_to_its_text_waits_for_it(gateways: tuple[SmppGateway, SmppGateway]) -> None:
    sender, other = gateways
    await sender.configure()
    command = await sender.command("sms")
    server = sender.server
    async with sender.listening(), other.listening():
        server.holds = asyncio.Event()
        sending = asyncio.create_task(sender.providers("sms").send(command))
        await until(lambda: server.requests.count("submit_sm") == 1)
        early = asyncio.create_task(server.receipt("1A", "UNDELIV", "034"))
        await asyncio.sleep(0)
        server.holds.set()
        assert (await sending, await early) == (None, 0)
        assert server.text_to(command.to) == "1A"
        found = await sender.result(command, "undelivered")

    assert found.detail == "SMPP: UNDELIV, error 034"


async def test_a_receipt_that_spells_the_id_in_another_way_is_its_texts(gateways: tuple[SmppGateway, SmppGateway]) -> None:
    sender, _ = gateways
    await sender.configure()
    command = await sender.command("sms")
    async with sender.listening():
        await sender.providers("sms").send(command)
        message_id = sender.server.text_to(command.to)
        assert await sender.server.receipt(f"0000{message_id.lower()}") == 0
        await sender.result(command, "delivered")


async def test_a_status_behind_its_time_takes_no_delivery_back(gateways: tuple[SmppGateway, SmppGateway]) -> None:
    sender, _ = gateways
    await sender.configure()
    command = await sender.command("sms")
    async with sender.listening():
        await sender.providers("sms").send(command)
        message_id = sender.server.text_to(command.to)
        for state in ("DELIVRD", "UNDELIV", "ENROUTE", "EXPIRED"):
            assert await sender.server.receipt(message_id, state) == 0
        order = await sender.orders.find(sender.company.id, command.command_id)
    assert order is not None
    assert order.result is not None
    assert order.result.outcome == "delivered"


async def test_parts_of_a_text_that_come_to_two_gateways_are_one(gateways: tuple[SmppGateway, SmppGateway]) -> None:
    first, second = gateways
    await first.configure()
    command = await first.command("sms")
    said = {"source_addr": command.to[1:], "source_addr_ton": 1, "destination_addr": NUMBER[1:], "esm_class": 0x40}
    async with first.listening() as one:  # it ends before the other part comes
        assert await one.deliver(**said, short_message=b"\x05\x00\x03\x2a\x02\x02OP it") == 0
    async with second.listening() as other:
        assert await other.deliver(**said, short_message=b"\x05\x00\x03\x2a\x02\x01Please ST") == 0
        await first.lead(opt_out=True)


async def test_a_receipt_of_somebody_elses_text_is_confirmed_and_changes_nothing(
    gateways: tuple[SmppGateway, SmppGateway], other: Any, town: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sessions_module, "UNKNOWN_WAIT_SECONDS", 0.1)
    sender, _ = gateways
    await sender.configure()
    command = await sender.command("sms")
    async with sender.listening():
        await sender.providers("sms").send(command)
    theirs = SmppGateway(town, other, sender.server, sender.connections._http)  # type: ignore[arg-type]
    await sender.company.send("DELETE", f"/api/v1/provider_configurations/{(await sender.configurations())[0]['id']}")
    await theirs.configure()
    async with theirs.listening():
        assert await sender.server.receipt(sender.server.text_to(command.to)) == 0
        assert await sender.server.receipt("nobody's") == 0

    order = await sender.orders.find(sender.company.id, command.command_id)
    assert order is not None
    assert order.facts == {}


async def test_a_text_of_a_person_opts_out_also_by_a_paused_account(gateways: tuple[SmppGateway, SmppGateway]) -> None:
    gateway, _ = gateways
    command = await gateway.command("sms")
    await gateway.configure(paused=True)
    async with gateway.listening() as session:
        said = {"source_addr": command.to[1:], "source_addr_ton": 1, "destination_addr": NUMBER[1:]}
        assert await session.deliver(**said, short_message=b"STOP") == 0
        await gateway.lead(opt_out=True)


async def test_a_lost_answer_leaves_unknown_and_no_other_account_is_asked(gateways: tuple[SmppGateway, SmppGateway]) -> None:
    gateway, _ = gateways
    await gateway.configure()
    await gateway.configure(name="Fallback", fallback_order=200)
    command = await gateway.command("sms")
    async with gateway.listening():
        await until(lambda: sum(session.is_bound for session in gateway.server.sessions) == 2)
        gateway.server.statuses.append(DROPS)
        result = await gateway.providers("sms").send(command)

    assert result is not None
    assert (result.outcome, gateway.server.requests.count("submit_sm")) == ("unknown", 1)


async def test_a_refusal_lets_the_next_account_send(gateways: tuple[SmppGateway, SmppGateway]) -> None:
    gateway, _ = gateways
    await gateway.configure()
    second = await gateway.configure(name="Fallback", fallback_order=200)
    command = await gateway.command("sms")
    async with gateway.listening():
        await until(lambda: sum(session.is_bound for session in gateway.server.sessions) == 2)
        gateway.server.statuses.append(0x45)
        assert await gateway.providers("sms").send(command) is None

    order = await gateway.orders.find(gateway.company.id, command.command_id)
    assert order is not None
    assert (order.configuration_id, len(gateway.server.texts)) == (second["id"], 1)


async def test_a_deleted_account_is_unbound_and_a_changed_one_bound_again(gateways: tuple[SmppGateway, SmppGateway]) -> None:
    gateway, _ = gateways
    made = await gateway.configure()
    path = f"/api/v1/provider_configurations/{made['id']}"
    async with gateway.listening() as first:
        answer = await gateway.company.send("PUT", path, json={"name": "Renamed"})
        assert answer.status_code == 200, answer.text
        await until(lambda: first.unbound.is_set() and gateway.server.session is not first)
        second = gateway.server.session
        await gateway.company.send("DELETE", path)
        await until(second.unbound.is_set)
