"""Which provider carries out the commands of each channel? What the operator set; a channel without one is an error.

Calls and texts go by the provider configurations of each company, with the installed providers that the operator names.
So do the e-mails of a company that has one; those of the others go by the deployment's mail server.

The sandbox is never a default: in a deployment that should call, it would report conversations that never took place.
"""

from collections.abc import Iterable, Mapping
from typing import Literal

from adapters.gateway.ports import Kind
from adapters.providers.registry import UnknownProviderError, find_provider
from adapters.settings import SANDBOX_CHANNELS, Settings, SettingsError

SANDBOX = "sandbox"

CONFIGURED: tuple[Literal["call", "sms", "email"], ...] = ("call", "sms", "email")
"""Channels that can go by the provider configurations of each company."""

MAIL_SERVER = "smtp"
"""The deployment's own mail server, as gateways register it; a company's account may be with a provider of the same name."""

ACCOUNTS = "accounts"
"""What gateways register before the names of providers, where e-mails go by accounts of companies and by nothing else."""


def providers(settings: Settings) -> Mapping[Kind, str]:
    """Return the name of the provider of each channel that a gateway serves by these settings.

    Raises `SettingsError`: one sentence that names every channel without a provider, its setting and the alternatives.
    """
    idle = [channel for channel in settings.sandbox if channel not in settings.channels]
    if idle:
        raise SettingsError(
            f"the sandbox names {_and(idle)}, which this gateway does not serve: "
            "add it to --channels (LEADCLOCK_CHANNELS), or leave it out of --sandbox (LEADCLOCK_SANDBOX)"
        )
    _check_names(settings)
    found = {channel: provider for channel in settings.channels if (provider := _provider(settings, channel))}
    missing = [channel for channel in settings.channels if channel not in found]
    if missing:
        raise SettingsError(_unserved(missing, list(found)))
    return found


def provider_names(settings: Settings, channel: str) -> tuple[str, ...]:
    """Return the providers that the operator names and that serve a channel."""
    return tuple(name for name in settings.providers if channel in find_provider(name).channels)


def _check_names(settings: Settings) -> None:
    """Raise `SettingsError` for a provider that cannot be used, or that a vendor could not report to."""
    for name in settings.providers:
        try:
            find_provider(name)
        except UnknownProviderError as error:
            raise SettingsError(f"--providers (LEADCLOCK_PROVIDERS): {name} {error}") from error
    if settings.providers and not settings.public_url:
        raise SettingsError(
            "providers report to this deployment's API: set LEADCLOCK_PUBLIC_URL to where vendors reach it, "
            "such as https://leads.example.com"
        )


def _provider(settings: Settings, channel: Kind) -> str | None:
    if channel in settings.sandbox:
        return SANDBOX
    if channel == "email":
        return _mail_provider(settings)
    if channel in CONFIGURED and (names := provider_names(settings, channel)):
        return ",".join(names)
    return "webhook" if channel == "webhook" else None


def _mail_provider(settings: Settings) -> str | None:
    names = provider_names(settings, "email")
    if settings.smtp_host:
        return ",".join(dict.fromkeys((MAIL_SERVER, *names)))
    return ",".join((ACCOUNTS, *names)) if names else None


def _unserved(missing: list[Kind], others: Iterable[Kind]) -> str:
    """Return the sentence about channels that have no provider."""
    parts = []
    voiceless = [channel for channel in missing if channel in SANDBOX_CHANNELS]
    if voiceless:
        verb = "needs" if len(voiceless) == 1 else "need"
        parts.append(
            f"{_and(voiceless)} {verb} an installed provider (--providers twilio, or LEADCLOCK_PROVIDERS), or the sandbox, "
            f"which reaches no real person and must be named (--sandbox {','.join(voiceless)}, or LEADCLOCK_SANDBOX)"
        )
    if "email" in missing:
        parts.append(
            "email needs LEADCLOCK_SMTP_HOST, the host of your mail server, or accounts of companies (--providers smtp)"
        )
    if others:
        parts.append(f"or serve only the others (--channels {','.join(others)}, or LEADCLOCK_CHANNELS)")
    return f"no provider for {_and(missing)}: {'; '.join(parts)}"


def _and(names: Iterable[str]) -> str:
    *some, last = names
    return f"{', '.join(some)} and {last}" if some else last
