"""A company whose calls and texts go through a fake of Twilio: the gateway's side, the vendor's, and the API between."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any, TypeVar

from adapters.clock import wall_now
from adapters.gateway.addresses import networks
from adapters.gateway.configured import ConfiguredProviders
from adapters.gateway.ports import CallProgress
from adapters.postgres.provider_orders import PostgresOrders
from adapters.providers.connections import Connections
from adapters.providers.provider_http import GuardedProviderHttp
from schemas.commands import PlaceCall, PressKeys, SendSms
from schemas.wire import from_json
from tests.adapters.http.conftest import SECRET_KEY, WAIT_SECONDS
from tests.adapters.providers.fake_twilio import ACCOUNT, TOKEN, FakeTwilio

PUBLIC = "https://leads.example.com"
NUMBER = "+12125550199"
LOOK_SECONDS = 0.01

T = TypeVar("T")


class Carrier:
    """One company with a fake carrier, and the gateway's side of it."""

    provider_name = "twilio"

    def __init__(self, town: Any, company: Any, twilio: FakeTwilio, http: GuardedProviderHttp) -> None:
        self.town, self.company, self.twilio = town, company, twilio
        self.orders = PostgresOrders(town.pool)
        self.connections = Connections(http=http, deployment_secret=SECRET_KEY, public_url=PUBLIC, now=wall_now)
        self.reported: list[CallProgress] = []

    async def configure(self, channel: str = "call", **more: Any) -> dict[str, Any]:
        fields = {
            "name": f"Twilio {channel}",
            "channel": channel,
            "provider": "twilio",
            "settings": {"account_sid": ACCOUNT, "base_url": self.twilio.url, "agent_number": "+12125550177"},
            "secrets": {"auth_token": TOKEN},
            **more,
        }
        found: dict[str, Any] = await self.company.record("provider_configurations", fields)
        return found

    async def configurations(self) -> list[dict[str, Any]]:
        """The configurations of the company, the oldest first."""
        found: list[dict[str, Any]] = (await self.company.send("GET", "/api/v1/provider_configurations")).json()[
            "provider_configurations"
        ]
        return found[::-1]

    def providers(self, channel: Any) -> ConfiguredProviders:
        context = self.town.context
        return ConfiguredProviders(
            channel,
            (self.provider_name,),
            rules=context.rules,
            orders=self.orders,
            connections=self.connections,
            clock=context.clock,
            find_delays_seconds=(0.0, 0.0),
        )

    async def command(self, kind: str, **fields: Any) -> Any:
        """A command that the engine has emitted for a new lead of this company."""
        steps: dict[str, Any] = {
            "call": [{"id": "call", "kind": "call", **fields}],
            "sms": [{"id": "text", "kind": "sms", "template": "Hello"}],
        }
        await self.company.send("POST", "/api/v1/numbers", json={"number": NUMBER})
        schedule = await self.company.schedule(steps=steps[kind])
        self.town.numbers += 1
        person = f"+1305555{self.town.numbers:04d}"
        answer = await self.company.send(
            "POST",
            "/api/v1/leads",
            json={"lead_token": schedule["lead_token"], "caller_id": person, "time_zone": "America/New_York"},
        )
        assert answer.status_code == 201, answer.text
        self.lead_id = answer.json()["lead"]["id"]
        command_type: Any = PlaceCall if kind == "call" else SendSms

        async def look() -> Any:
            async for command in self._commands(f"commands.{kind}", command_type):
                if command.lead_id == self.lead_id:
                    return command
            return None

        return await seen_in_time(look, lambda command: command is not None)

    async def press(self, call_id: int, digits: str) -> Any:
        """Ask for keys of a call; where that is granted, have the gateway press them: None where it could not."""
        answer = await self.company.send("POST", "/api/v1/calls/send_key_press", json={"id": call_id, "digits": digits})
        if answer.status_code != 200:
            return answer
        log = self.town.context.log
        reader = await log.reader("commands.call", range(await log.partition_count("commands.call")))
        records = await reader.poll(limit=100_000, timeout_seconds=0.1)
        await reader.close()
        (command,) = (
            from_json(record.value, PressKeys)
            for record in records
            if b'"call.press_keys"' in record.value and f'"call_id":{call_id},'.encode() in record.value
        )
        return answer if await self.providers("call").press(command) else None

    async def _commands(self, topic: str, command_type: Any) -> AsyncIterator[Any]:
        log = self.town.context.log
        reader = await log.reader(topic, range(await log.partition_count(topic)))
        ours = f"{self.company.id}|".encode()
        for record in await reader.poll(limit=100_000, timeout_seconds=0.1):
            is_order = b'"type":"fence"' not in record.value and b'"type":"call.press_keys"' not in record.value
            if record.key.startswith(ours) and is_order:
                yield from_json(record.value, command_type)
        await reader.close()

    async def report(self, progress: CallProgress) -> None:
        self.reported.append(progress)

    async def place(self) -> Any:
        """Have a call placed; return its command and what the carrier knows."""
        await self.configure()
        command = await self.command("call")
        assert await self.providers("call").place(command, self.report) is None
        return command, next(iter(self.twilio.calls.values()))

    async def lead(self, **until: Any) -> dict[str, Any]:
        return await self._shown(f"/api/v1/leads/{self.lead_id}", "lead", until)

    async def inbound(self, reference: str, **until: Any) -> dict[str, Any]:
        async def look() -> dict[str, Any]:
            calls = (await self.company.send("GET", "/api/v1/calls")).json()["calls"]
            return next((call for call in calls if call["provider_sid"] == reference), {})

        return await seen_in_time(look, lambda found: bool(found) and has(found, until))

    async def call(self, command: PlaceCall, **until: Any) -> dict[str, Any]:
        return await self._shown(f"/api/v1/calls/{command.call_id}", "call", until)

    async def _shown(self, path: str, root: str, until: Mapping[str, Any]) -> dict[str, Any]:
        async def look() -> dict[str, Any]:
            found: dict[str, Any] = (await self.company.send("GET", path)).json()[root]
            return found

        return await seen_in_time(look, lambda found: has(found, until))


def has(found: Mapping[str, Any], until: Mapping[str, Any]) -> bool:
    return all(found[name] == value for name, value in until.items())


async def seen_in_time(look: Callable[[], Awaitable[T]], is_good: Callable[[T], bool]) -> T:
    """Return what is seen once it is good. Fails after a while with what was seen last."""
    deadline = asyncio.get_running_loop().time() + WAIT_SECONDS
    while not is_good(seen := await look()):
        assert asyncio.get_running_loop().time() < deadline, seen
        await asyncio.sleep(LOOK_SECONDS)
    return seen


@asynccontextmanager
async def carried(town: Any, company: Any) -> AsyncIterator[Carrier]:
    """A company with a carrier of its own."""

    async def post(url: str, content: bytes, headers: Mapping[str, str]) -> Any:
        # As a proxy passes it on: another host than the one that was signed.
        return await town.client.post(url.replace(PUBLIC, "http://10.0.0.7:8080"), content=content, headers=headers)

    http = GuardedProviderHttp(allowed=networks(["127.0.0.1"]))
    async with FakeTwilio(post) as twilio:
        yield Carrier(town, company, twilio, http)
    await delete_accounts(company)
    await http.close()


async def delete_accounts(company: Any) -> None:
    """Let the next company of a module have the account, and with it the number: a number belongs to one company."""
    path = "/api/v1/provider_configurations"
    for made in (await company.send("GET", path)).json()["provider_configurations"]:
        await company.send("DELETE", f"{path}/{made['id']}")
