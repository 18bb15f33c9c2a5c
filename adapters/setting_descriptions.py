"""What does each setting mean, who reads it, and what may it look like? One row each, in the order of the reference page.

`deploy/docs/settings.md` is generated from these rows and from `Settings` (deploy/write_settings.py).
"""

from collections.abc import Mapping

from msgspec import Struct

from adapters.roles.table import NEEDS_DATABASE, NEEDS_SECRET, ROLES

EVERY = tuple(ROLES)
IN_GROUPS = tuple(role for role in ROLES if role != "api")
DATABASE = tuple(role for role in ROLES if role in NEEDS_DATABASE)
SECRET = tuple(role for role in ROLES if role in NEEDS_SECRET)
WRITERS = ("accounts", "scheduler", "intake", "gateway", "api")
"""The projector and the deliverer write nothing to Kafka."""


class SettingDescription(Struct, frozen=True):
    """A row: the roles that read a setting, a value that it takes, and what it means.

    `commands` are those beside the roles; `needed` says that these roles do not start without the setting.
    """

    roles: tuple[str, ...]
    example: str
    meaning: str
    commands: tuple[str, ...] = ()
    needed: bool = False


KAFKA: Mapping[str, SettingDescription] = {
    "kafka_bootstrap": SettingDescription(
        EVERY, "k1:9092,k2:9092,k3:9092", "Brokers of the first contact. Name every broker, or at least two.", needed=True
    ),
    "kafka_security": SettingDescription(
        EVERY, "SASL_SSL", "How connections to the brokers are protected: TLS where `SSL` is in it, a login where `SASL` is."
    ),
    "kafka_mechanism": SettingDescription(
        EVERY, "SCRAM-SHA-256", "How a process logs in, where `kafka_security` has a login."
    ),
    "kafka_username": SettingDescription(
        EVERY, "leadclock-scheduler", "User of that login; with `kafka_token_url` the id of the OAuth client."
    ),
    "kafka_password": SettingDescription(
        EVERY, "correct horse battery staple", "Password of that login; with `kafka_token_url` the secret of the client."
    ),
    "kafka_ca_file": SettingDescription(
        EVERY,
        "/etc/leadclock/kafka-ca.pem",
        "Certificates (PEM) that sign those of the brokers. Unset: those of the system.",
    ),
    "kafka_certificate_file": SettingDescription(
        EVERY, "/etc/leadclock/kafka-client.pem", "Client certificate (PEM), for brokers that ask for one (mTLS)."
    ),
    "kafka_key_file": SettingDescription(
        EVERY, "/etc/leadclock/kafka-client.key", "Its key (PEM, without a password). Unset: it is in the same file."
    ),
    "kafka_token_url": SettingDescription(
        EVERY,
        "https://login.example.com/oauth2/token",
        "Where the mechanism `OAUTHBEARER` gets its tokens, by the grant `client_credentials`.",
    ),
    "kafka_token_scope": SettingDescription(EVERY, "kafka", "Scope that is asked for there."),
    "kafka_token_ca_file": SettingDescription(
        EVERY, "/etc/leadclock/login-ca.pem", "Certificates (PEM) that sign that server's. Unset: those of the system."
    ),
    "kafka_token_file": SettingDescription(
        EVERY,
        "/var/run/secrets/tokens/kafka",
        "In place of `kafka_token_url`: a file with a token, which another program keeps fresh. Read for each connection.",
    ),
    "kafka_session_seconds": SettingDescription(
        IN_GROUPS, "20", "Seconds without a sign of life after which the partitions of a process go to others."
    ),
    "kafka_compression": SettingDescription(
        WRITERS,
        "zstd",
        "Compression of the records that we write. `snappy` costs least; `none` is for a broker without its native library.",
    ),
    "topic_prefix": SettingDescription(
        EVERY, "prod.", "What every topic name begins with. Part of the deployment's identity: it never changes."
    ),
    "app": SettingDescription(
        EVERY,
        "leadclock-eu",
        "First part of consumer groups and transactional ids. Two deployments on one cluster need different ones. Part of "
        "the deployment's identity: it never changes.",
    ),
    "site": SettingDescription(
        ("gateway",),
        "frankfurt",
        "A word of yours for the place where the deployment contacts people; a copy elsewhere gets another one. Recorded "
        "when the topics are made: where it differs, gateways contact nobody until it is "
        "[accepted](operators.md#the-recorded-site).",
        ("topics", "doctor", "site"),
    ),
    "partitions": SettingDescription(
        (), "24", "Number of partitions of each topic when it is created; it never changes afterwards.", ("topics", "doctor")
    ),
    "replicas": SettingDescription(
        (),
        "3",
        "Number of copies of each topic when it is created. Unset: 3, or as many as there are brokers.",
        ("topics", "doctor"),
    ),
}

POSTGRES: Mapping[str, SettingDescription] = {
    "postgres_dsn": SettingDescription(
        DATABASE,
        "postgresql://leadclock@db:5432/leadclock?sslmode=verify-full",
        "The database. `sslmode`, `sslrootcert`, `sslcert` and `sslkey` are those of libpq; so are the next four settings.",
        ("db", "projection", "leads"),
        needed=True,
    ),
    "postgres_sslmode": SettingDescription(
        DATABASE,
        "verify-full",
        "`verify-full` checks the server's certificate and name, `verify-ca` the certificate alone. Unset: what the DSN "
        "says, else `verify-full` where `postgres_ca_file` is set, else encrypted where the server offers it, unchecked.",
        ("db", "projection", "leads"),
    ),
    "postgres_ca_file": SettingDescription(
        DATABASE,
        "/etc/leadclock/postgres-ca.pem",
        "Certificates (PEM) that sign the server's.",
        ("db", "projection", "leads"),
    ),
    "postgres_certificate_file": SettingDescription(
        DATABASE,
        "/etc/leadclock/postgres-client.pem",
        "Client certificate (PEM), for a server that logs in by it (`cert` in its pg_hba.conf).",
        ("db", "projection", "leads"),
    ),
    "postgres_key_file": SettingDescription(
        DATABASE,
        "/etc/leadclock/postgres-client.key",
        "Its key (PEM, without a password). Unset: it is in the same file.",
        ("db", "projection", "leads"),
    ),
    "postgres_pool": SettingDescription(
        DATABASE,
        "20",
        "Connections of one process at most, beside one that shows that it runs and, in the API, four for its jobs."
        " A fifth of the API's serves reports.",
    ),
}

SECRET_AND_STATE: Mapping[str, SettingDescription] = {
    "secret_key": SettingDescription(
        SECRET,
        "0123456789abcdef0123456789abcdef",
        "Webhooks and subscriptions are signed by keys derived from it. 32 characters or more, the same for every process.",
        needed=True,
    ),
    "recordings_dir": SettingDescription(
        ("api", "gateway"),
        "/var/lib/leadclock/recordings",
        "Folder of the recordings of calls, which every API and gateway must share. Unset, and no bucket either: none are "
        "fetched from vendors. It cannot be rebuilt: back it up, for as long as companies keep recordings.",
    ),
    "recordings_bucket": SettingDescription(
        ("api", "gateway"),
        "s3://acme-recordings/leadclock",
        "Bucket of the recordings instead of a folder, of S3 or of a server that speaks its API, with a prefix. Needs the "
        "extra `s3`, which the image has.",
    ),
    "recordings_endpoint": SettingDescription(
        ("api", "gateway"),
        "https://minio.example.com:9000",
        "Address of such a server; it may be a private one. Unset: that of AWS in the region.",
    ),
    "recordings_region": SettingDescription(
        ("api", "gateway"), "eu-central-1", "Region of the bucket. Unset: `AWS_REGION`, or else `us-east-1`."
    ),
    "recordings_access_key": SettingDescription(
        ("api", "gateway"),
        "AKIAIOSFODNN7EXAMPLE",
        "Access key of the bucket. Unset: as programs of AWS find theirs, see [recordings](providers.md#a-bucket).",
    ),
    "recordings_secret_key": SettingDescription(
        ("api", "gateway"), "correct horse battery staple", "Its secret, where an access key is set."
    ),
    "transcriber_url": SettingDescription(
        ("api", "gateway"),
        "https://api.openai.com/v1/audio/transcriptions",
        "Service that [transcribes](providers.md#transcription) recordings when somebody asks for it: OpenAI's interface, "
        "which local servers offer too. A private address must be among `LEADCLOCK_WEBHOOK_PRIVATE_NETWORKS`. Unset: none "
        "are.",
    ),
    "transcriber_key": SettingDescription(
        ("gateway",), "correct horse battery staple", "Its key. Unset: requests name none."
    ),
    "transcriber_model": SettingDescription(("gateway",), "gpt-4o-transcribe", "Its model."),
    "state_dir": SettingDescription(
        ("accounts", "scheduler"),
        "/var/lib/leadclock",
        "Folder of the snapshots. Unset: none are written, and a partition is restored from its changelog alone, which "
        "takes longer. It may be lost at any time.",
    ),
}

HTTP: Mapping[str, SettingDescription] = {
    "http_host": SettingDescription(("api",), "192.0.2.10", "Address that the API listens on; `0.0.0.0` for all."),
    "http_port": SettingDescription(("api",), "80", "Port that the API listens on."),
    "http_connections_per_address": SettingDescription(
        ("api",),
        "100",
        "Connections of one client address at most (an IPv6 /64 counts as one). 1000, the limit of all together, lifts it.",
    ),
    "trusted_proxies": SettingDescription(
        ("api",),
        "10.0.0.0/8,192.0.2.1/32",
        "Networks of the proxies in front of the API, whose `X-Forwarded-For` is believed.",
    ),
    "inbox_trusted": SettingDescription(
        ("intake",),
        "no",
        "Whether a record of `leads.inbox` or `leads.inbox.bulk` counts as one with a key of the token's company. `no`: it "
        "may do what [a submission without a key](producers.md#without-a-key) may; imports keep the right of their starter.",
    ),
    "hosts": SettingDescription(
        ("api",),
        "acme.example.com=7,beta.example.com=8",
        "Host names that serve one company each. Where any is set, no other host name answers.",
    ),
    "health_host": SettingDescription(
        EVERY,
        "10.0.0.10",
        "Address of `/livez`, `/readyz`, `/startupz`, `/metrics`; `0.0.0.0` for all. Never open it to the outside.",
    ),
    "health_port": SettingDescription(EVERY, "9090", "Port of the same. 0: a free one, which the process logs."),
}

RATES: Mapping[str, SettingDescription] = {
    "rate_limits": SettingDescription(
        ("api",),
        "off",
        "`off` lifts all limits below; `call_starts` lifts all but `rate_call_starts` and `rate_unknown_keys`.",
    ),
    "rate_reads": SettingDescription(
        ("api",), "200:1000", "Reads of one company: requests a second, and how many may be saved up. So are those below."
    ),
    "rate_writes": SettingDescription(("api",), "100:1000", "Changes of one company."),
    "rate_submissions": SettingDescription(("api",), "2000:10000", "Leads that one company submits."),
    "rate_impressions": SettingDescription(("api",), "2000:10000", "Impressions (not requests) of one company."),
    "rate_reports": SettingDescription(
        ("api",), "10:10", "Reports, statistics, forecasts, `/why` and previews of one company."
    ),
    "rate_call_starts": SettingDescription(("api",), "10:10", "Calls that one company starts by hand."),
    "rate_unknown_keys": SettingDescription(
        ("api",), "10:100", "Requests without a good key or lead token, of one network address (IPv6: of a /64)."
    ),
}

GATEWAYS: Mapping[str, SettingDescription] = {
    "public_url": SettingDescription(
        ("api", "gateway"),
        "https://leads.example.com",
        "Where vendors of calls and texts reach the API, and where the unsubscribe links of e-mails lead: those need https. "
        "Identity providers lead back to it. Signatures of vendors are checked against it, not against the request.",
    ),
    "providers": SettingDescription(
        ("gateway",),
        "twilio",
        "Installed [providers](providers.md) for calls, texts and e-mails; each company configures accounts with them.",
    ),
    "channels": SettingDescription(
        ("gateway",), "email,webhook", "Channels that this process serves; each needs a provider."
    ),
    "sandbox": SettingDescription(
        ("gateway",), "call,sms", "Channels that it serves by the sandbox, which reaches no real person."
    ),
    "drain_seconds": SettingDescription(
        ("gateway",),
        "600",
        "Seconds that a stopped process waits for what its providers work on. Give it 30 s more before it is killed.",
    ),
    "smtp_host": SettingDescription(
        ("gateway", "api"),
        "mail.example.com",
        "Mail server for e-mails: the channel `email` needs it, and the API sends invitations.",
    ),
    "smtp_port": SettingDescription(("gateway", "api"), "587", "Its port."),
    "smtp_username": SettingDescription(("gateway", "api"), "leadclock", "User of the login there; unset: no login."),
    "smtp_password": SettingDescription(("gateway", "api"), "correct horse battery staple", "Password of that login."),
    "smtp_starttls": SettingDescription(
        ("gateway", "api"), "true", "`true` demands TLS, `false` forbids it. Unset: where the server offers it."
    ),
    "email_from": SettingDescription(
        ("gateway", "api"), "leads@example.com", "Sender where a step names none: an address that your server may send for."
    ),
}

WEBHOOKS: Mapping[str, SettingDescription] = {
    "webhook_private_networks": SettingDescription(
        SECRET,
        "10.20.0.0/16,fd12::/32",
        "Private networks that webhooks, subscriptions and identity providers may be in; else public addresses only.",
    ),
    "webhook_forbidden_ports": SettingDescription(SECRET, "5432,9092", "Ports of those networks that they may not reach."),
    "webhook_own_ports": SettingDescription(
        SECRET, "allow", "`allow` lifts `webhook_forbidden_ports`, and opens the ports that our own process listens on."
    ),
}

LOGS_AND_CLOCK: Mapping[str, SettingDescription] = {
    "log_level": SettingDescription(EVERY, "warning", "Log events below this level are left out."),
    "otlp_endpoint": SettingDescription(
        EVERY,
        "http://collector:4318",
        "Where [traces](traces.md) are sent, by OTLP over HTTP. It needs the extra `tracing`. Unset: none are made.",
        commands=("explain",),
    ),
    "log_format": SettingDescription(EVERY, "console", "`json` writes an object a line, `console` text for a person."),
    "clock_wall_at": SettingDescription(
        EVERY,
        "1767225600000",
        "Demonstrations only: when the faster clock began, by the wall clock, in milliseconds since 1970. 0: real time.",
    ),
    "clock_domain_at": SettingDescription(
        EVERY, "1767225600000", "Demonstrations only: what that clock showed then, in milliseconds since 1970."
    ),
    "clock_speed": SettingDescription(
        EVERY,
        "1",
        "Demonstrations only: how many times faster it goes. Part of the deployment's identity, with its origins.",
    ),
}

SECTIONS: Mapping[str, Mapping[str, SettingDescription]] = {
    "Kafka": KAFKA,
    "PostgreSQL": POSTGRES,
    "Secret key and snapshots": SECRET_AND_STATE,
    "HTTP": HTTP,
    "Rate limits": RATES,
    "Gateways": GATEWAYS,
    "Webhooks and subscriptions": WEBHOOKS,
    "Logs and clock": LOGS_AND_CLOCK,
}

DESCRIPTIONS: Mapping[str, SettingDescription] = {
    name: row for section in SECTIONS.values() for name, row in section.items()
}
"""Setting -> its description."""
