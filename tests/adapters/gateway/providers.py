"""Which providers do the tests of the gateway hire? Ones that remember what they were asked, and do as they are told."""

import asyncio
from collections.abc import Callable

from adapters.gateway.circuit import Endpoint, Endpoints
from adapters.gateway.ports import Progress, Report, Result
from schemas.commands import Command, HangUp, PlaceCall, PostWebhook, PressKeys, SendEmail, SendSms

Answer = Callable[[Command], Result | None]


def good(outcome: str) -> Answer:
    return lambda _: Result(outcome=outcome, provider_ref="ref")


class Voice:
    """Answers at once, or when its contact's gate is opened."""

    name = "test voice"

    def __init__(self, answer: Answer = good("connected_human")) -> None:  # noqa: B008 - a constant answer
        self.asked: list[str] = []
        self.gates: dict[str, asyncio.Event] = {}
        self.pressed: list[tuple[str, str]] = []
        self.hung_up: list[str] = []
        self._answer = answer

    async def press(self, order: PressKeys) -> bool:
        self.pressed.append((order.call_command_id, order.digits))
        return order.call_command_id in self.asked

    async def hang_up(self, order: HangUp) -> bool:
        self.hung_up.append(order.call_command_id)
        return order.call_command_id in self.asked

    async def place(self, order: PlaceCall, report: Report) -> Result | None:
        self.asked.append(order.command_id)
        await report(Progress(state="initiated", provider_ref="ref"))
        if order.command_id in self.gates:
            await self.gates[order.command_id].wait()
        return self._answer(order)


class Sms:
    name = "test sms"

    def __init__(self, answer: Answer = good("delivered")) -> None:  # noqa: B008 - as above
        self.asked: list[str] = []
        self._answer = answer

    async def send(self, order: SendSms) -> Result | None:
        self.asked.append(order.command_id)
        return self._answer(order)


class Email:
    name = "test email"

    def __init__(self, answer: Answer = good("accepted")) -> None:  # noqa: B008 - as above
        self.asked: list[str] = []
        self._answer = answer

    async def send(self, order: SendEmail) -> Result | None:
        self.asked.append(order.command_id)
        return self._answer(order)


class Webhook:
    name = "test webhook"

    def __init__(self, answer: Answer = good("accepted")) -> None:  # noqa: B008 - as above
        self.asked: list[str] = []
        self._answer = answer
        self._endpoints = Endpoints()

    def endpoint_of(self, order: PostWebhook) -> Endpoint:
        return self._endpoints.of(order.company_id, f"{order.outgoing_webhook_id}.example.org")

    async def post(self, order: PostWebhook) -> Result | None:
        self.asked.append(order.command_id)
        return self._answer(order)
