"""How do settings lead to TLS and a login at the brokers? What is missing or without effect is refused by name."""

import ssl
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from adapters.kafka.connection import Security
from adapters.settings import PREFIX, Settings, SettingsError

if TYPE_CHECKING:
    from adapters.kafka.access_tokens import TokenEndpoint, TokenFile

OAUTHBEARER = "OAUTHBEARER"

TLS_SETTINGS = ("kafka_ca_file", "kafka_certificate_file", "kafka_key_file")
LOGIN_SETTINGS = ("kafka_username", "kafka_password", "kafka_token_url", "kafka_token_file")
TOKEN_SETTINGS = ("kafka_token_url", "kafka_token_file")
ENDPOINT_SETTINGS = ("kafka_token_scope", "kafka_token_ca_file")


def security_of(settings: Settings) -> Security:
    """Return how the brokers are reached. Raises `SettingsError` with a sentence for everything that is wrong."""
    if faults := list(find_security_faults(settings)):
        raise SettingsError("; ".join(faults))
    return Security(
        protocol=settings.kafka_security,
        mechanism=settings.kafka_mechanism,
        username=settings.kafka_username,
        password=settings.kafka_password,
        tls=tls_of(settings) if "SSL" in settings.kafka_security else None,
        tokens=tokens_of(settings) if _uses_tokens(settings) else None,
    )


def find_security_faults(settings: Settings) -> Iterator[str]:
    """Yield a sentence for each setting of Kafka's security that is missing, or that would have no effect."""
    if "SSL" not in settings.kafka_security:
        yield from _without_effect(settings, TLS_SETTINGS, f"with {PREFIX}KAFKA_SECURITY {settings.kafka_security}")
    if settings.kafka_key_file and not settings.kafka_certificate_file:
        yield f"{PREFIX}KAFKA_KEY_FILE has no effect without {PREFIX}KAFKA_CERTIFICATE_FILE"
    if "SASL" not in settings.kafka_security:
        yield from _without_effect(settings, LOGIN_SETTINGS, f"with {PREFIX}KAFKA_SECURITY {settings.kafka_security}")
    elif _uses_tokens(settings):
        yield from _token_faults(settings)
    else:
        yield from _without_effect(settings, TOKEN_SETTINGS, f"with {PREFIX}KAFKA_MECHANISM {settings.kafka_mechanism}")
        yield from _missing(settings, "kafka_username", "kafka_password")
    if not settings.kafka_token_url:
        yield from _without_effect(settings, ENDPOINT_SETTINGS, f"without {PREFIX}KAFKA_TOKEN_URL")


def _token_faults(settings: Settings) -> Iterator[str]:
    if bool(settings.kafka_token_url) == bool(settings.kafka_token_file):
        yield f"{OAUTHBEARER} needs {PREFIX}KAFKA_TOKEN_URL or {PREFIX}KAFKA_TOKEN_FILE: one of them"
    if settings.kafka_token_url:
        yield from _missing(settings, "kafka_username", "kafka_password")


def _missing(settings: Settings, *names: str) -> Iterator[str]:
    if missing := [f"{PREFIX}{name.upper()}" for name in names if not getattr(settings, name)]:
        yield f"{settings.kafka_security} with {settings.kafka_mechanism} needs {' and '.join(missing)}"


def _without_effect(settings: Settings, names: tuple[str, ...], why: str) -> Iterator[str]:
    for name in names:
        if getattr(settings, name):
            yield f"{PREFIX}{name.upper()} has no effect {why}"


def tls_of(settings: Settings) -> ssl.SSLContext:
    """Return the TLS of the brokers. Raises `SettingsError` naming a file that cannot be used."""
    tls = _trusting("kafka_ca_file", settings.kafka_ca_file)
    if settings.kafka_certificate_file:
        try:
            # Without a password of ours, OpenSSL would ask for one on the terminal.
            tls.load_cert_chain(settings.kafka_certificate_file, settings.kafka_key_file, password=lambda: "")
        except OSError as error:
            files = f"{settings.kafka_certificate_file} and {settings.kafka_key_file or 'its key in the same file'}"
            names = f"{PREFIX}KAFKA_CERTIFICATE_FILE and {PREFIX}KAFKA_KEY_FILE"
            raise SettingsError(
                f"{files} cannot be used ({_reason(error)}); correct {names}: PEM files, the key without a password"
            ) from error
    return tls


def tokens_of(settings: Settings) -> "TokenEndpoint | TokenFile":
    """Return where tokens come from. Raises `SettingsError` naming a file that cannot be used."""
    from adapters.kafka.access_tokens import TokenEndpoint, TokenFile  # noqa: PLC0415 - roles without tokens need no httpx

    if settings.kafka_token_file:
        return TokenFile(Path(settings.kafka_token_file))
    return TokenEndpoint(
        settings.kafka_token_url or "",
        settings.kafka_username or "",
        settings.kafka_password or "",
        scope=settings.kafka_token_scope,
        tls=_trusting("kafka_token_ca_file", settings.kafka_token_ca_file),
    )


def _uses_tokens(settings: Settings) -> bool:
    return "SASL" in settings.kafka_security and settings.kafka_mechanism == OAUTHBEARER


def _trusting(name: str, path: str | None) -> ssl.SSLContext:
    """Return TLS that trusts the authorities of a file, or those of the system."""
    try:
        return ssl.create_default_context(cafile=path)
    except OSError as error:
        cure = f"correct {PREFIX}{name.upper()}: a PEM file that this user may read"
        raise SettingsError(f"{path} cannot be read ({_reason(error)}); {cure}") from error


def _reason(error: OSError) -> str:
    return error.strerror or str(error)
