"""How does a provider configuration come in over HTTP? Settings are checked by the installed provider, secrets encrypted.

A secret is in the request and nowhere else: what is appended holds it encrypted. No answer shows it.
"""

from collections.abc import Mapping
from typing import Any

from adapters.gateway.targets import refusal_of, refusal_of_host
from adapters.http.exchange.exchange import Exchange
from adapters.http.exchange.problems import ProblemError
from adapters.http.records.record_fields import NAMED_MAX, Faults, other_faults
from adapters.providers.callback_tokens import callback_token, callback_url
from adapters.providers.ports import Provider
from adapters.providers.registry import UnknownProviderError, find_provider, secret_faults, settings_faults
from adapters.providers.sealing import seal
from adapters.reads.ports import Row
from engine.submission.fields import FieldError, is_blank, parse_text
from schemas.records import ProviderConfiguration

PROVIDER_CONFIGURATION = "provider_configuration"

SECRET_LENGTH_MAX = 8_000
"""In characters: a private key with its certificates."""


HOST = "host"
"""The setting that names a server without a URL: of a mail server, and of a session of texts."""


def read_provider_fields(exchange: Exchange, fields: dict[str, Any], body: ProviderConfiguration | None) -> dict[str, Any]:
    """Return the fields for the account, secrets encrypted. Raises `ProblemError` with every bad field."""
    found = dict(fields)
    secrets = found.pop("secrets", None)
    faults: Faults = {}
    provider = _provider(found, body, faults)
    sent = _secrets(secrets, faults)
    if provider is not None:
        _check(exchange, provider, found, body, sent, faults)
    if faults:
        others = other_faults(exchange, PROVIDER_CONFIGURATION, found, body)
        detail = f"Correct {', '.join(list(faults)[:NAMED_MAX])} and resend; nothing was changed."
        raise ProblemError("validation_failed", detail, {**others, **faults})
    if sent and provider is not None:
        found["sealed_secrets"] = {name: _sealed(exchange, provider.name, name, text) for name, text in sent.items()}
    return found


def _sealed(exchange: Exchange, provider: str, name: str, text: str | None) -> str | None:
    if text is None:
        return None
    key = exchange.services.settings.secret_key
    return seal(key, text, company_id=exchange.company_id, provider=provider, name=name)


def _provider(fields: Mapping[str, Any], body: ProviderConfiguration | None, faults: Faults) -> Provider | None:
    """Return the installed provider, or None where it is not named; then the account refuses that."""
    name = fields.get("provider", None if body is None else body.provider)
    if not isinstance(name, str) or is_blank(name):
        return None
    try:
        return find_provider(name.strip())
    except UnknownProviderError as error:
        faults["provider"] = [str(error)]
        return None


def _secrets(value: Any, faults: Faults) -> dict[str, str | None]:
    if is_blank(value):
        return {}
    if not isinstance(value, Mapping):
        faults["secrets"] = ["must be an object of names and secrets"]
        return {}
    found: dict[str, str | None] = {}
    for name, secret in value.items():
        try:
            found[str(name)] = None if is_blank(secret) else parse_text(secret, most=SECRET_LENGTH_MAX)
        except FieldError as error:
            faults[f"secrets.{str(name)[:64]}"] = [str(error)]
    return found


def _private_hosts(exchange: Exchange, settings: Mapping[str, Any]) -> Faults:
    """Return what leads to a private address: any setting that is a URL, and a `host`."""
    own = exchange.services.settings
    faults: Faults = {}
    for name, value in settings.items():
        if not isinstance(value, str):
            continue
        if "://" in value:
            fault = refusal_of(value, own.webhook_networks, own.own_ports)
        elif name == HOST:
            port = settings.get("port")
            fault = refusal_of_host(value, port if isinstance(port, int) else 0, own.webhook_networks, own.own_ports)
        else:
            continue
        if fault is not None:
            faults[f"settings.{name}"] = [fault]
    return faults


def _check(  # noqa: PLR0917 - what is checked together
    exchange: Exchange,
    provider: Provider,
    fields: Mapping[str, Any],
    body: ProviderConfiguration | None,
    secrets: Mapping[str, str | None],
    faults: Faults,
) -> None:
    channel = fields.get("channel", None if body is None else body.channel)
    if isinstance(channel, str) and channel in {"call", "sms", "email"} and channel not in provider.channels:
        served = ", ".join(sorted(provider.channels))
        faults["channel"] = [f"is not served by {provider.name}; it serves {served}"]
    settings = fields.get("settings", {} if body is None else body.settings)
    if isinstance(settings, Mapping) or is_blank(settings):
        faults |= settings_faults(provider, settings or {})
        faults |= _private_hosts(exchange, settings or {})
    faults |= secret_faults(provider, list(secrets))
    numbers = fields.get("number_ids", () if body is None else body.number_ids)
    if channel == "email" and not is_blank(numbers) and numbers:
        faults["number_ids"] = ["has no effect: e-mails come from no number. Leave it out"]


def callback_url_of(exchange: Exchange, shown: Mapping[str, Any]) -> str | None:
    """Return where the vendor calls us, for a configuration as it is shown; None where the deployment has no public URL."""
    settings = exchange.services.settings
    if not settings.public_url:
        return None
    token = callback_token(settings.secret_key, shown["company_id"], shown["id"], shown["callback_generation"])
    return callback_url(settings.public_url, shown["provider"], token)


def next_generation(row: Row) -> int:
    """Return the generation of the next callback URL."""
    generation: int = row["body"].get("callback_generation", 1)
    return generation + 1
