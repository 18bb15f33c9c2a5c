"""How is a process configured? By flags, then `LEADCLOCK_*` variables, then a TOML file; one typed object, validated once.

A secret may also come from a file: `LEADCLOCK_SECRET_KEY_FILE` is read where `LEADCLOCK_SECRET_KEY` is unset.
An unknown name is an error that suggests the nearest known one: a mistyped setting must not silently keep its default.
"""

import os
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from ipaddress import ip_network
from pathlib import Path
from types import NoneType
from typing import Annotated, Any, Literal, get_args, get_origin
from urllib.parse import urlsplit

import msgspec
from msgspec import Meta, Struct

from adapters.database_tls import PARAMETERS, add_tls_parameters, find_contradictions
from engine.account.did_you_mean import ALIKE, did_you_mean
from schemas.errors import SenderError
from schemas.instant import EPOCH, Instant

PREFIX = "LEADCLOCK_"
FILE_SUFFIX = "_FILE"
SECRETS = frozenset(
    {"secret_key", "kafka_password", "smtp_password", "postgres_dsn", "recordings_secret_key", "transcriber_key"}
)
"""Never logged: `redact_settings` returns stars in their place."""

CONFIG_VARIABLE = "LEADCLOCK_CONFIG"

OTHER_VARIABLES = frozenset(
    {
        CONFIG_VARIABLE,
        "LEADCLOCK_API_EXAMPLES",  # tests/api: how many examples schemathesis tries
        "LEADCLOCK_ASKING_KEYS",  # tests/api: the keys of its requests
        "LEADCLOCK_DONE",  # the provider asterisk: a variable of a channel, never of a process
        "LEADCLOCK_FIND",  # the same
        "LEADCLOCK_FOUND",  # the same
        "LEADCLOCK_SEED",  # tests/simulation: one seed
        "LEADCLOCK_SEEDS",  # tests/simulation: how many
        "LEADCLOCK_TEST_FOLDER",  # tests: where the run's servers are
        "LEADCLOCK_TEST_RUN",  # tests: the process id of the run
    }
)
"""Names with the prefix that are no settings."""

Port = Annotated[int, Meta(ge=0, le=65_535, description="a whole number from 0 to 65535")]
Ports = Annotated[tuple[Port, ...], Meta(description="ports from 0 to 65535, with commas")]
Bootstrap = Annotated[
    str,
    Meta(
        pattern=r"^(|embedded:\d+|([^\s,:/]+|\[[0-9A-Fa-f:.]+\]):\d{1,5}(\s*,\s*([^\s,:/]+|\[[0-9A-Fa-f:.]+\]):\d{1,5})*)$",
        description="host:port of a broker, several with commas",
    ),
]
Dsn = Annotated[str, Meta(pattern=r"^(|postgres(ql)?://.*)$", description="postgresql://user@host:port/database")]
RateText = Annotated[
    str,
    Meta(
        pattern=r"^([oO][fF][fF]|(?!0+(\.0*)?(:|$))\d+(\.\d+)?(:[1-9]\d{0,8})?)$",
        description="such as 100:500 (a second, and saved up at most), or off",
    ),
]
Count = Annotated[int, Meta(ge=1, le=1_024, description="a whole number from 1 to 1024")]
Connections = Annotated[int, Meta(ge=1, le=1_000, description="a whole number from 1 to 1000")]
Seconds = Annotated[float, Meta(gt=0, le=86_400, description="a number of seconds above 0, at most 86400")]
Speed = Annotated[float, Meta(gt=0, le=100_000, description="a number above 0, at most 100000")]
ClockInstant = Annotated[Instant, Meta(ge=0, description="milliseconds since 1970, 0 or more")]
TopicPrefix = Annotated[
    str, Meta(pattern=r"^[A-Za-z0-9._-]{0,100}$", description="up to 100 of A-Z a-z 0-9 . _ -, or nothing")
]
Site = Annotated[str, Meta(pattern=r"^[A-Za-z0-9._-]{0,100}$", description="up to 100 of A-Z a-z 0-9 . _ -, or nothing")]
PublicUrl = Annotated[
    str, Meta(pattern=r"^(|https?://[^\s/?#@]+)$", description="https://host, or https://host:port, without a path")
]
TokenUrl = Annotated[
    str,
    Meta(
        pattern=r"^(https://[^\s#@]+|http://(localhost|127\.0\.0\.1|\[::1\])(:\d{1,5})?(/[^\s#@]*)?)$",
        description="https://host/path (http only of this machine), without a user",
    ),
]
ServiceUrl = Annotated[
    str, Meta(pattern=r"^(|https?://[^\s?#@]+)$", description="https://host/path, without a user or a query")
]
ModelName = Annotated[str, Meta(pattern=r"^[A-Za-z0-9._:/-]{1,200}$", description="1 to 200 of A-Z a-z 0-9 . _ : / -")]
Bucket = Annotated[
    str,
    Meta(
        pattern=r"^(|s3://[a-z0-9][a-z0-9.-]{1,61}[a-z0-9](/[A-Za-z0-9_-][A-Za-z0-9._-]{0,100}){0,5}/?)$",
        description="s3://bucket, or s3://bucket/prefix",
    ),
]
Region = Annotated[str, Meta(pattern=r"^[a-z0-9-]{0,64}$", description="up to 64 of a-z 0-9 -, or nothing")]
App = Annotated[str, Meta(pattern=r"^[A-Za-z0-9._-]{1,100}$", description="1 to 100 of A-Z a-z 0-9 . _ -")]
ChannelName = Literal["call", "sms", "email", "webhook"]
SandboxChannel = Literal["call", "sms"]
CHANNELS: tuple[ChannelName, ...] = get_args(ChannelName)
SANDBOX_CHANNELS: tuple[SandboxChannel, ...] = get_args(SandboxChannel)

Channels = Annotated[
    tuple[ChannelName, ...], Meta(min_length=1, description=f"one or more of {','.join(CHANNELS)}, with commas")
]
Sandboxed = Annotated[tuple[SandboxChannel, ...], Meta(description=f"some of {','.join(SANDBOX_CHANNELS)}, with commas")]
ProviderNames = Annotated[
    tuple[Annotated[str, Meta(pattern=r"^[a-z][a-z0-9_]{0,63}$")], ...],
    Meta(description="names of installed providers such as twilio, with commas"),
]
Networks = Annotated[
    tuple[str, ...], Meta(description="networks such as 10.0.0.0/8,fd12::/32 (no bit set behind the prefix)")
]

HostEntry = Annotated[str, Meta(pattern=r"^\s*[A-Za-z0-9.-]+=[1-9][0-9]{0,15}\s*$")]
Hosts = Annotated[
    tuple[HostEntry, ...], Meta(description="host names with the id of their company, such as acme.example.com=7")
]


class SettingsError(SenderError):
    """A setting is missing or wrong; `str(error)` names it and how to set it."""


class Settings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All settings. Times are wall seconds."""

    kafka_bootstrap: Bootstrap = ""
    kafka_security: Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"] = "PLAINTEXT"
    kafka_mechanism: Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER"] = "SCRAM-SHA-512"
    kafka_username: str | None = None
    kafka_password: str | None = None
    kafka_ca_file: str | None = None
    kafka_certificate_file: str | None = None
    kafka_key_file: str | None = None
    kafka_token_url: TokenUrl | None = None
    """Of the mechanism OAUTHBEARER, with user and password as id and secret of the client; or else the file."""
    kafka_token_scope: str | None = None
    kafka_token_ca_file: str | None = None
    kafka_token_file: str | None = None
    kafka_session_seconds: Seconds = 10.0
    kafka_compression: Literal["none", "snappy", "lz4", "zstd"] = "snappy"
    """Of records that we write. snappy costs least; use `none` for a broker without its native library."""
    topic_prefix: TopicPrefix = ""
    site: Site = ""
    app: App = "leadclock"
    """First part of transactional ids and consumer groups: two installations on one cluster need different ones."""
    partitions: Count = 12
    """Of every aligned topic when it is created; it cannot change afterwards."""
    replicas: Count | None = None
    postgres_dsn: Dsn = ""
    """With the next four in it, once it is loaded: see `adapters.database_tls`."""
    postgres_sslmode: Literal["disable", "allow", "prefer", "require", "verify-ca", "verify-full"] | None = None
    """None: what the DSN says; `verify-full` where there is a CA file."""
    postgres_ca_file: str | None = None
    postgres_certificate_file: str | None = None
    postgres_key_file: str | None = None
    postgres_pool: Count = 10
    secret_key: str = ""
    """Signing secrets of webhooks are derived from it; 32 characters or more."""
    recordings_dir: str | None = None
    """Folder of the recordings of calls, the same of every API and gateway; or else a bucket. Without either none are
    fetched from vendors."""
    recordings_bucket: Bucket = ""
    recordings_endpoint: PublicUrl = ""
    """Of a server that speaks the API of S3; it may be private, since the operator names it. Empty: that of AWS."""
    recordings_region: Region = ""
    recordings_access_key: str = ""
    """With its secret; without both, what the process finds as every program of AWS does."""
    recordings_secret_key: str = ""
    transcriber_url: ServiceUrl = ""
    """Where recordings are transcribed, with the interface of OpenAI's `POST /v1/audio/transcriptions`. Empty: nowhere."""
    transcriber_key: str = ""
    """Sent as a bearer token; a service of one's own may need none."""
    transcriber_model: ModelName = "whisper-1"
    state_dir: str | None = None
    """Folder of the snapshots; without it no snapshots are written."""
    http_host: str = "127.0.0.1"
    http_port: Port = 8080
    health_host: str = "127.0.0.1"
    health_port: Port = 0
    """Of /livez, /readyz, /startupz and /metrics of every role; 0 takes a free port and logs it."""
    http_connections_per_address: Connections = 500
    """Of one client address (an IPv6 /64 counts as one); 1000, the limit of all addresses together, lifts it."""
    rate_limits: Literal["on", "off", "call_starts"] = "on"
    rate_reads: RateText = "100:500"
    """Requests a second and burst, of each company; `off` for no limit. The next five are alike."""
    rate_writes: RateText = "50:500"
    rate_submissions: RateText = "1000:5000"
    rate_impressions: RateText = "1000:5000"
    """Impressions, not requests."""
    rate_reports: RateText = "5:5"
    rate_call_starts: RateText = "5:5"
    rate_unknown_keys: RateText = "50:500"
    trusted_proxies: Networks = ()
    """Networks (CIDR) whose X-Forwarded-For names the client; list here every proxy in front of the API."""
    inbox_trusted: Literal["yes", "no"] = "yes"
    """Whether who may write to an inbox counts as a sender with a key of the token's company."""
    hosts: Hosts = ()
    """Host names of companies (`acme.example.com=7`): a host then serves its company alone, and no other host answers."""
    public_url: PublicUrl = ""
    """Where vendors and recipients of e-mails reach this deployment's API: https://leads.example.com, nothing behind it. The
    signatures of vendors are checked against it, never against what a request says."""
    providers: ProviderNames = ()
    """Installed providers that a gateway may use, such as `twilio`; companies configure accounts with them."""
    channels: Channels = CHANNELS
    """Channels that a gateway serves; each needs a provider."""
    sandbox: Sandboxed = ()
    """Channels that a gateway serves by the sandbox, which reaches no real person."""
    drain_seconds: Seconds = 900.0
    """How long a stopped gateway waits for its providers: longer than nearly every call."""
    smtp_host: str | None = None
    """The mail server of the channel email."""
    smtp_port: Port = 25
    smtp_username: str | None = None
    smtp_password: str | None = None
    smtp_starttls: bool | None = None
    """None: where the server offers it."""
    email_from: str = "leads@localhost.localdomain"
    webhook_private_networks: Networks = ()
    """Networks (CIDR) that outgoing webhooks may reach although they are private."""
    webhook_forbidden_ports: Ports = ()
    """Ports in those networks that webhooks may not reach."""
    webhook_own_ports: Literal["refuse", "allow"] = "refuse"
    """Whether webhooks may reach forbidden ports and those that our own process listens on."""
    otlp_endpoint: PublicUrl = ""
    """Where a process sends its spans by OTLP over HTTP; empty: it makes none, and loads nothing for them."""
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    log_format: Literal["json", "console"] = "json"
    clock_wall_at: ClockInstant = EPOCH
    clock_domain_at: ClockInstant = EPOCH
    clock_speed: Speed = 1.0
    """Domain time for demonstrations: all roles share the origin that `leadclock up --speed` sets."""


SECRET_KEY_LENGTH_MIN = 32

_FIELDS = {field.name: field.type for field in msgspec.structs.fields(Settings)}
VARIABLES = {PREFIX + name.upper(): name for name in _FIELDS} | {
    PREFIX + name.upper() + FILE_SUFFIX: name for name in SECRETS
}
"""Variable -> setting."""


class GivenValue(Struct, frozen=True):
    """A raw value, and how an error names its source."""

    value: Any
    source: str


def load(
    flags: Mapping[str, Any] | None = None, *, file: Path | None = None, environ: Mapping[str, str] = os.environ
) -> Settings:
    """Return the settings. Raises `SettingsError` naming every name that is not known and every value that is wrong."""
    given, faults = _read(file, environ)
    given |= {
        name: GivenValue(value, f"--{name.replace('_', '-')}") for name, value in (flags or {}).items() if value is not None
    }
    _refuse(faults)
    settings = _with_database_tls(Settings(**_converted(given)))
    _check_clock(settings)
    return settings


def _with_database_tls(settings: Settings) -> Settings:
    """Return the settings with those of TLS in the DSN. Raises `SettingsError` for each that contradicts it."""
    given = {name: value for name in PARAMETERS if (value := getattr(settings, name)) is not None}
    if not given or not settings.postgres_dsn:
        return settings
    if faults := list(find_contradictions(settings.postgres_dsn, given)):
        raise SettingsError("; ".join(faults))
    return msgspec.structs.replace(settings, postgres_dsn=add_tls_parameters(settings.postgres_dsn, given))


def read_sources(environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Return where each setting that is set is set: its variable, or its name in the settings file."""
    given, faults = _read(None, environ)
    _refuse(faults)
    return {name: one.source for name, one in given.items()}


def _read(file: Path | None, environ: Mapping[str, str]) -> tuple[dict[str, GivenValue], list[str]]:
    """Return what the settings file and the variables give, and the names that are not known."""
    given: dict[str, GivenValue] = {}
    config = file or (Path(environ[CONFIG_VARIABLE]) if CONFIG_VARIABLE in environ else None)
    faults = find_unknown_variables(environ)
    if config is not None:
        content = read_settings_file(config)
        faults += [f"{config} has {name!r}{did_you_mean(name, _FIELDS)}" for name in content if name not in _FIELDS]
        given |= {name: GivenValue(value, f"{name} in {config}") for name, value in content.items() if name in _FIELDS}
    return given | _from_environment(environ), faults


def _check_clock(settings: Settings) -> None:
    """Raise `SettingsError` for a faster clock without an origin."""
    if settings.clock_speed != 1.0 and not (settings.clock_wall_at and settings.clock_domain_at):
        raise SettingsError(
            f"LEADCLOCK_CLOCK_SPEED {settings.clock_speed:g} needs LEADCLOCK_CLOCK_WALL_AT and LEADCLOCK_CLOCK_DOMAIN_AT: "
            "when that clock began, in milliseconds since 1970; `leadclock up --speed` sets all three"
        )


def check_variables(environ: Mapping[str, str] = os.environ) -> None:
    """Raise `SettingsError` for an unknown `LEADCLOCK_…` variable in the environment."""
    _refuse(find_unknown_variables(environ))


def _refuse(unknown: Sequence[str]) -> None:
    if unknown:
        raise SettingsError("these settings are not known: " + "; ".join(unknown))


def find_unknown_variables(environ: Mapping[str, str]) -> list[str]:
    """Return every unknown `LEADCLOCK_…` variable, with the nearest known name."""
    known = [*VARIABLES, *OTHER_VARIABLES]
    unknown = sorted(name for name in environ if name.startswith(PREFIX) and name not in known)
    return [f"{name}{nearest(name, known)}" for name in unknown]


def inherited_variables(environ: Mapping[str, str] = os.environ) -> list[str]:
    """Return the variables of the environment that set something."""
    return [variable for variable in (CONFIG_VARIABLE, *VARIABLES) if environ.get(variable)]


def nearest(variable: str, known: Iterable[str]) -> str:
    """Return ` (did you mean LEADCLOCK_HTTP_PORT?)` for a name near a known one, else an empty text."""
    from difflib import get_close_matches  # noqa: PLC0415 - needed only where something is wrong

    names = [name.removeprefix(PREFIX) for name in known]
    near = get_close_matches(variable.removeprefix(PREFIX).upper(), names, n=1, cutoff=ALIKE)
    return f" (did you mean {PREFIX}{near[0]}?)" if near else ""


def _converted(given: Mapping[str, GivenValue]) -> dict[str, Any]:
    """Return the values in the types of their fields. Raises `SettingsError` naming every one that is wrong."""
    values, faults = {}, []
    for name, one in given.items():
        kind = _FIELDS[name]
        try:
            values[name] = msgspec.convert(_parts(one.value) if kind in _LISTS else one.value, kind, strict=False)
            if kind == Networks:
                _check_networks(values[name])
        except (msgspec.ValidationError, ValueError):
            given_value = "" if name in SECRETS else f" is {one.value!r}; it"
            faults.append(f"{one.source}{given_value} must be {' or '.join(allowed_values(kind))}")
    if faults:
        raise SettingsError("; ".join(faults))
    return values


def _parts(value: Any) -> Any:
    """Split a text at its commas; return any other value unchanged."""
    return [part.strip() for part in value.split(",") if part.strip()] if isinstance(value, str) else value


def _check_networks(networks: Iterable[str]) -> None:
    for network in networks:
        ip_network(network)


def allowed_values(kind: Any) -> Iterator[str]:
    """Yield the allowed values of a type, in words."""
    if get_origin(kind) is Annotated:
        _, meta = get_args(kind)
        yield str(meta.description)
    elif get_origin(kind) is Literal:
        yield "one of " + ", ".join(map(str, get_args(kind)))
    elif kind in _WORDS:
        yield _WORDS[kind]
    else:
        for part in get_args(kind):
            yield from () if part is NoneType else allowed_values(part)


_LISTS = (Networks, Hosts, Ports, Channels, Sandboxed, ProviderNames)
"""Lists; a variable separates their values by commas."""

_WORDS: dict[Any, str] = {str: "text", bool: "true or false", int: "a whole number", float: "a number"}


def require(settings: Settings, *names: str) -> None:
    """Raise `SettingsError` naming the variable of every one of these settings that is empty."""
    missing = [name for name in names if not getattr(settings, name)]
    if missing:
        raise SettingsError("not set: " + ", ".join(f"{PREFIX}{name.upper()}" for name in missing))


def redact_settings(settings: Settings) -> dict[str, Any]:
    """Return the settings with stars for secrets; a process logs them once at its start."""
    return {name: "***" if name in SECRETS and value else value for name, value in msgspec.to_builtins(settings).items()}


def database_location(dsn: str) -> str:
    """Return `host:port/database` of a DSN, without user and password."""
    parts = urlsplit(dsn)
    host = parts.netloc.rpartition("@")[2]
    return f"{host}{parts.path}" if host else "that LEADCLOCK_POSTGRES_DSN names"


def to_environment(settings: Settings) -> dict[str, str]:
    """Return the variables that give another process the same settings."""
    found = {}
    for name, value in msgspec.to_builtins(settings).items():
        if value is not None and value != getattr(Settings(), name):
            found[PREFIX + name.upper()] = ",".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
    return found


def read_settings_file(path: Path) -> dict[str, Any]:
    """Return what a settings file sets. Raises `SettingsError` where it cannot be read."""
    try:
        return tomllib.loads(path.read_text())
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise SettingsError(f"the settings file {path} cannot be read: {error}") from error


def _from_environment(environ: Mapping[str, str]) -> dict[str, GivenValue]:
    """Return the settings of the environment; a secret's own variable goes before that of its file."""
    given: dict[str, GivenValue] = {}
    for variable, name in VARIABLES.items():
        if variable not in environ or name in given:
            continue
        text = environ[variable]
        if name in SECRETS and variable.endswith(FILE_SUFFIX):
            text = _secret(Path(text))
        given[name] = GivenValue(text, variable)
    return given


def _secret(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError as error:
        raise SettingsError(f"the secret file {path} cannot be read: {error}") from error
