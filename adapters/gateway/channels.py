"""What differs between channels? How many commands run at once, and whether one may be repeated after a crash."""

from collections.abc import Awaitable, Callable
from typing import TypeVar

from msgspec import Struct, structs

from adapters.gateway.circuit import CircuitReport, Endpoint
from adapters.gateway.configured import ConfiguredProviders
from adapters.gateway.mail_by_company import MailByCompany
from adapters.gateway.ports import (
    DeliveryResult,
    EmailProvider,
    Kind,
    NotPlacedError,
    Report,
    SmsProvider,
    VoiceProvider,
    WebhookSender,
)
from adapters.gateway.sandbox import SandboxSms, SandboxVoice
from schemas.commands import Command, Fence, HangUp, PlaceCall, PostWebhook, PressKeys, SendEmail, SendSms

C = TypeVar("C", bound=Command)

Act = Callable[[Command, Report], Awaitable[DeliveryResult | None]]
Press = Callable[[PressKeys | HangUp], Awaitable[bool]]

COMMAND_TYPES: dict[Kind, type[Command]] = {"call": PlaceCall, "sms": SendSms, "email": SendEmail, "webhook": PostWebhook}

CONCURRENT_MAX: dict[Kind, int] = {
    "call": 1_000,  # a call lasts minutes and takes a few kilobytes
    "sms": 200,
    "email": 40,  # each one is an SMTP connection: mail servers refuse hundreds from one address
    "webhook": 200,
}
"""Of all companies together; one company alone gets half of them (`engine.fair_share.Shares`)."""


class Channel(Struct, frozen=True, kw_only=True):
    """One channel with its provider. `never_twice`: a command whose outcome is unknown is not repeated.

    `press` presses keys or hangs up: it acts on a call in progress and overtakes the commands behind that call.
    `was_given` says whether a command that an earlier gateway left may have reached a provider, `resume` what became of it;
    without them nobody can say.
    `endpoint_of` names the receiver where companies choose it, so that one endpoint can fail alone.
    `report_circuits` says which are spared now, of receivers or of accounts with providers.
    """

    kind: Kind
    provider: str
    act: Act
    concurrent_max: int
    never_twice: bool
    press: Press | None = None
    was_given: Callable[[Command], Awaitable[bool]] | None = None
    resume: Callable[[Command], Awaitable[DeliveryResult | None]] | None = None
    endpoint_of: Callable[[Command], Endpoint] | None = None
    report_circuits: Callable[[], CircuitReport] = CircuitReport

    @property
    def record_type(self) -> object:
        """Return the type to decode a record of the channel's topic as."""
        return (
            COMMAND_TYPES[self.kind] | Fence if self.press is None else COMMAND_TYPES[self.kind] | PressKeys | HangUp | Fence
        )


def sandbox_call_channel(provider: SandboxVoice) -> Channel:
    """Return the channel of calls that reach no one."""

    async def resume(command: Command) -> DeliveryResult | None:
        return await provider.resume(_as(PlaceCall, command))

    return structs.replace(call_channel(provider), was_given=provider.was_given, resume=resume)


def sandbox_sms_channel(provider: SandboxSms) -> Channel:
    """Return the channel of texts that reach no one."""

    async def resume(command: Command) -> DeliveryResult | None:
        return await provider.resume(_as(SendSms, command))

    return structs.replace(sms_channel(provider), was_given=provider.was_given, resume=resume)


def configured_call_channel(provider: ConfiguredProviders) -> Channel:
    """Return the channel of calls by the companies' own provider configurations."""
    return _configured(call_channel(provider), provider)


def configured_sms_channel(provider: ConfiguredProviders) -> Channel:
    """Return the channel of texts by the companies' own provider configurations."""
    return _configured(sms_channel(provider), provider)


def configured_email_channel(provider: MailByCompany) -> Channel:
    """Return the channel of e-mails by the companies' own accounts and the deployment's mail server."""
    return structs.replace(email_channel(provider), report_circuits=provider.report_circuits)


def _configured(channel: Channel, provider: ConfiguredProviders) -> Channel:
    return structs.replace(
        channel,
        was_given=_was_given(provider),
        resume=_resume(provider),
        report_circuits=provider.report_circuits,
    )


def _was_given(provider: ConfiguredProviders) -> Callable[[Command], Awaitable[bool]]:
    return lambda command: provider.was_given(_as_order(command))


def _resume(provider: ConfiguredProviders) -> Callable[[Command], Awaitable[DeliveryResult | None]]:
    return lambda command: provider.resume(_as_order(command))


def _as_order(command: Command) -> PlaceCall | SendSms | SendEmail:
    if not isinstance(command, PlaceCall | SendSms | SendEmail):
        raise NotPlacedError(f"{type(command).__name__} is no command to reach a person")
    return command


def call_channel(provider: VoiceProvider, *, concurrent_max: int = CONCURRENT_MAX["call"]) -> Channel:
    """Return the channel of calls: a phone that rings twice is worse than one that does not ring."""

    async def act(command: Command, report: Report) -> DeliveryResult | None:
        return await provider.place(_as(PlaceCall, command), report)

    async def press(command: PressKeys | HangUp) -> bool:
        return await (provider.hang_up(command) if isinstance(command, HangUp) else provider.press(command))

    return Channel(
        kind="call", provider=provider.name, act=act, concurrent_max=concurrent_max, never_twice=True, press=press
    )


def sms_channel(provider: SmsProvider, *, concurrent_max: int = CONCURRENT_MAX["sms"]) -> Channel:
    """Return the channel of texts."""

    async def act(command: Command, _: Report) -> DeliveryResult | None:
        return await provider.send(_as(SendSms, command))

    return Channel(kind="sms", provider=provider.name, act=act, concurrent_max=concurrent_max, never_twice=True)


def email_channel(provider: EmailProvider, *, concurrent_max: int = CONCURRENT_MAX["email"]) -> Channel:
    """Return the channel of e-mails: one that is sent again has the same Message-ID."""

    async def act(command: Command, _: Report) -> DeliveryResult | None:
        return await provider.send(_as(SendEmail, command))

    return Channel(kind="email", provider=provider.name, act=act, concurrent_max=concurrent_max, never_twice=False)


def webhook_channel(sender: WebhookSender, *, concurrent_max: int = CONCURRENT_MAX["webhook"]) -> Channel:
    """Return the channel of webhooks: one posted again has the same `webhook-id`."""

    async def act(command: Command, _: Report) -> DeliveryResult | None:
        return await sender.post(_as(PostWebhook, command))

    def endpoint_of(command: Command) -> Endpoint:
        return sender.endpoint_of(_as(PostWebhook, command))

    return Channel(
        kind="webhook",
        provider=sender.name,
        act=act,
        concurrent_max=concurrent_max,
        never_twice=False,
        endpoint_of=endpoint_of,
        report_circuits=sender.report_circuits,
    )


def _as(kind: type[C], command: Command) -> C:
    if not isinstance(command, kind):
        raise NotPlacedError(f"{type(command).__name__} is not a command for this channel")
    return command
