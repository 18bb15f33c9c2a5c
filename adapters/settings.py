"""How is a process told what to do? Flags, then `LEADCLOCK_*` variables, then a TOML file; one typed object, checked once.

A secret may also be given as the path of a file: `LEADCLOCK_SECRET_KEY_FILE` is read where `LEADCLOCK_SECRET_KEY` is unset.
"""

import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

PREFIX = "LEADCLOCK_"
FILE_SUFFIX = "_FILE"
SECRETS = frozenset({"secret_key", "kafka_password", "smtp_password", "postgres_dsn"})
"""Never shown: `show` prints stars in their place."""


Port = Annotated[int, Meta(ge=0, le=65_535)]


class SettingsError(Exception):
    """A setting is missing or wrong; `str(error)` names it and says how to give it."""


class Settings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Everything that can be set. Times are wall seconds."""

    kafka_bootstrap: str = ""
    kafka_security: Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"] = "PLAINTEXT"
    kafka_mechanism: str = "SCRAM-SHA-512"
    kafka_username: str | None = None
    kafka_password: str | None = None
    kafka_ca_file: str | None = None
    kafka_session_seconds: float = 10.0
    kafka_compression: Literal["none", "snappy", "lz4", "zstd"] = "snappy"
    """Of what we write. snappy costs the least here; a broker without its native library needs none."""
    topic_prefix: str = ""
    app: str = "leadclock"
    """First part of transactional ids and consumer groups: two installations on one cluster need different ones."""
    partitions: int = 12
    """Of every aligned topic when it is created; never changed afterwards."""
    replicas: int | None = None
    postgres_dsn: str = ""
    postgres_pool: int = 10
    secret_key: str = ""
    """Signing secrets of webhooks are derived from it; 32 characters or more."""
    state_dir: str | None = None
    """Where snapshots are kept; none are where it is not set."""
    http_host: str = "127.0.0.1"
    http_port: Port = 8080
    health_host: str = "127.0.0.1"
    health_port: Port = 0
    """Of the roles without an HTTP interface; 0 takes a free port and logs it."""
    rate_limits: Literal["on", "off", "call_starts"] = "on"
    rate_reads: str = "100:500"
    """A second, and saved up at most, for each company; `off` for no limit. So are the next four."""
    rate_writes: str = "50:500"
    rate_submissions: str = "1000:5000"
    rate_reports: str = "5:5"
    rate_call_starts: str = "5:5"
    trusted_proxies: tuple[str, ...] = ()
    """Networks (CIDR) whose X-Forwarded-For says who is asking; list here every proxy in front of the API."""
    call_provider: Literal["sandbox"] = "sandbox"
    sms_provider: Literal["sandbox"] = "sandbox"
    smtp_host: str = "127.0.0.1"
    smtp_port: Port = 25
    smtp_username: str | None = None
    smtp_password: str | None = None
    smtp_starttls: bool | None = None
    """None: where the server offers it."""
    email_from: str = "leads@localhost.localdomain"
    webhook_private_networks: tuple[str, ...] = ()
    """Networks (CIDR) that outgoing webhooks may reach although they are private."""
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    log_format: Literal["json", "console"] = "json"
    clock_wall_at: int = 0
    clock_domain_at: int = 0
    clock_speed: float = 1.0
    """Domain time for demonstrations: all roles share the origin that `leadclock up --speed` recorded."""


LISTS = frozenset({"webhook_private_networks", "trusted_proxies"})
"""In a variable, with commas."""

SECRET_KEY_LENGTH_MIN = 32


def load(
    flags: Mapping[str, Any] | None = None, *, file: Path | None = None, environ: Mapping[str, str] = os.environ
) -> Settings:
    """Return the settings. Raises `SettingsError` naming the first that is wrong."""
    given: dict[str, Any] = {}
    config = file or (Path(environ["LEADCLOCK_CONFIG"]) if "LEADCLOCK_CONFIG" in environ else None)
    if config is not None:
        given |= _from_file(config)
    given |= _from_environment(environ)
    given |= {name: value for name, value in (flags or {}).items() if value is not None}
    try:
        return msgspec.convert(given, Settings, strict=False)
    except msgspec.ValidationError as error:
        raise SettingsError(f"a setting is wrong: {error} (flag, {PREFIX}… variable or TOML key)") from error


def require(settings: Settings, *names: str) -> None:
    """Raise `SettingsError` naming every setting of these that is empty, and how to give it."""
    missing = [name for name in names if not getattr(settings, name)]
    if missing:
        raise SettingsError("not set: " + ", ".join(f"{PREFIX}{name.upper()}" for name in missing))


def shown(settings: Settings) -> dict[str, Any]:
    """Return the settings with stars for secrets; what a process logs once at its start."""
    return {name: "***" if name in SECRETS and value else value for name, value in msgspec.to_builtins(settings).items()}


def to_environment(settings: Settings) -> dict[str, str]:
    """Return the variables that give another process the same settings."""
    found = {}
    for name, value in msgspec.to_builtins(settings).items():
        if value is not None and value != getattr(Settings(), name):
            found[PREFIX + name.upper()] = ",".join(value) if isinstance(value, list | tuple) else str(value)
    return found


def _from_file(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text())
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise SettingsError(f"the settings file {path} cannot be read: {error}") from error


def _from_environment(environ: Mapping[str, str]) -> dict[str, Any]:
    given: dict[str, Any] = {}
    for field in msgspec.structs.fields(Settings):
        variable = PREFIX + field.name.upper()
        text = environ.get(variable)
        if text is None and field.name in SECRETS and variable + FILE_SUFFIX in environ:
            text = _secret(Path(environ[variable + FILE_SUFFIX]))
        if text is not None:
            given[field.name] = text.split(",") if field.name in LISTS else text
    return given


def _secret(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError as error:
        raise SettingsError(f"the secret file {path} cannot be read: {error}") from error
