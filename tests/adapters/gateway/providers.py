"""Which providers do the tests of the gateway hire? Ones that remember what they were asked, and follow a script."""

import asyncio
from collections.abc import Callable

from adapters.gateway.circuit import CircuitReport, Endpoint, Endpoints
from adapters.gateway.ports import CallProgress, DeliveryResult, Report
from schemas.commands import Command, HangUp, PlaceCall, PostWebhook, PressKeys, SendEmail, SendSms

Answer = Callable[[Command], DeliveryResult | None]


def good(outcome: str) -> Answer:
    return lambda _: DeliveryResult(outcome=outcome, provider_ref="ref")


class Voice:
    """Answers at once, or when its contact's gate is opened."""

    name = "test voice"

    def __init__(self, answer: Answer = good("connected_human")) -> None:  # noqa: B008 - a constant answer
        self.asked: list[str] = []
        self.gates: dict[str, asyncio.Event] = {}
        self.pressed: list[tuple[str | None, str]] = []
        self.hung_up: list[str] = []
        self._answer = answer

    async def press(self, command: PressKeys) -> bool:
        self.pressed.append((command.call_command_id, command.digits))
        return command.call_command_id in self.asked

    async def hang_up(self, command: HangUp) -> bool:
        self.hung_up.append(command.call_command_id)
        return command.call_command_id in self.asked

    async def place(self, command: PlaceCall, report: Report) -> DeliveryResult | None:
        self.asked.append(command.command_id)
        await report(CallProgress(state="initiated", provider_ref="ref"))
        if command.command_id in self.gates:
            await self.gates[command.command_id].wait()
        return self._answer(command)


class Sms:
    name = "test sms"

    def __init__(self, answer: Answer = good("delivered")) -> None:  # noqa: B008 - as above
        self.asked: list[str] = []
        self._answer = answer

    async def send(self, command: SendSms) -> DeliveryResult | None:
        self.asked.append(command.command_id)
        return self._answer(command)


class Email:
    name = "test email"

    def __init__(self, answer: Answer = good("accepted")) -> None:  # noqa: B008 - as above
        self.asked: list[str] = []
        self._answer = answer

    async def send(self, command: SendEmail) -> DeliveryResult | None:
        self.asked.append(command.command_id)
        return self._answer(command)


class Webhook:
    name = "test webhook"

    def __init__(self, answer: Answer = good("accepted")) -> None:  # noqa: B008 - as above
        self.asked: list[str] = []
        self._answer = answer
        self._endpoints = Endpoints()

    def endpoint_of(self, command: PostWebhook) -> Endpoint:
        return self._endpoints.of(command.company_id, f"{command.outgoing_webhook_id}.example.org")

    def report_circuits(self) -> CircuitReport:
        return self._endpoints.report()

    async def post(self, command: PostWebhook) -> DeliveryResult | None:
        self.asked.append(command.command_id)
        return self._answer(command)
