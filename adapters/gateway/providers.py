"""Which provider carries out the commands of each channel? The one that the operator set; a channel without one is an error.

The sandbox is never a default: in a deployment that should call, it would report conversations that never took place.
"""

from collections.abc import Iterable, Mapping

from adapters.gateway.ports import Kind
from adapters.settings import SANDBOX_CHANNELS, Settings, SettingsError

SANDBOX = "sandbox"


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
    found = {channel: provider for channel in settings.channels if (provider := _provider(settings, channel))}
    missing = [channel for channel in settings.channels if channel not in found]
    if missing:
        raise SettingsError(_unserved(missing, list(found)))
    return found


def _provider(settings: Settings, channel: Kind) -> str | None:
    if channel in settings.sandbox:
        return SANDBOX
    if channel == "email":
        return "smtp" if settings.smtp_host else None
    return "webhook" if channel == "webhook" else None


def _unserved(missing: list[Kind], others: Iterable[Kind]) -> str:
    """Return the sentence about channels that have no provider."""
    parts = []
    voiceless = [channel for channel in missing if channel in SANDBOX_CHANNELS]
    if voiceless:
        parts.append(
            f"this release has only the sandbox for {_and(voiceless)}, which reaches no real person and must be named "
            f"(--sandbox {','.join(voiceless)}, or LEADCLOCK_SANDBOX)"
        )
    if "email" in missing:
        parts.append("email needs LEADCLOCK_SMTP_HOST, the host of your mail server")
    if others:
        parts.append(f"or serve only the others (--channels {','.join(others)}, or LEADCLOCK_CHANNELS)")
    return f"no provider for {_and(missing)}: {'; '.join(parts)}"


def _and(names: Iterable[str]) -> str:
    *some, last = names
    return f"{', '.join(some)} and {last}" if some else last
