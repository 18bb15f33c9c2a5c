"""Are the brokers fit? They answer, their certificates are good, every partition has a leader and its copies."""

import asyncio
import ssl
from collections.abc import Iterable, Sequence

from adapters.clock import wall_now
from adapters.doctor.certificates import check_certificate_end, check_client_certificate
from adapters.doctor.findings import Finding, failure, is_on_this_machine, ok, warning
from adapters.kafka.access_tokens import TokenError, TokenFile
from adapters.kafka.cluster_metadata import ClusterMetadata, TopicDescription
from adapters.kafka.topics import CREATE_TOPICS, HIDDEN_FIX, PAGE, Drift
from adapters.partitions.newest import newest_append
from adapters.roles.broker import connection_of
from adapters.roles.context import Context, compare, specs
from adapters.roles.identity import USED
from adapters.roles.kafka_security import find_security_faults, tls_of, tokens_of
from adapters.roles.made_topics import (
    PresentTopics,
    describe_losses,
    find_other_prefixes,
    find_present,
    find_written,
    name_prefixes,
)
from adapters.settings import Settings, SettingsError
from engine.partition.broker_clock import ahead_seconds, clocks_disagree
from schemas.deployment import Deployment
from schemas.instant import to_datetime
from schemas.topics import TOPICS

CONNECT_SECONDS = 5.0

REFUSAL_SECONDS = 1.0
"""For how long a refusal of our certificate is waited for: a round trip and some."""

BROKERS_WANTED = 3

MISSING = ("partitions", "0")
"""How a topic differs that does not exist."""


async def check_brokers(context: Context) -> list[Finding]:
    """Look at the brokers and at the copies of each topic. Raises `LogError` where no broker answers."""
    if not context.has_groups:
        await context.rules.refresh()
        return [ok("broker", "the embedded log of a `leadclock up`, for trials only")]
    metadata = ClusterMetadata(connection_of(context.settings))
    try:
        brokers = await metadata.brokers()
        topics = await metadata.find([spec.name for spec in specs(context.settings)])
    finally:
        await metadata.close()
    return [_brokers(brokers), *_copies(topics.values())]


def _brokers(brokers: Sequence[int]) -> Finding:
    ids = ", ".join(map(str, brokers))
    found = f"{len(brokers)} answer: {ids}"
    if len(brokers) >= BROKERS_WANTED:
        return ok("broker", found)
    cure = f"run {BROKERS_WANTED} brokers, then create the topics: what was acknowledged survives the loss of one"
    return warning("broker", f"{found}. Fewer than {BROKERS_WANTED} do not outlive the loss of one", cure)


def _copies(topics: Iterable[TopicDescription]) -> list[Finding]:
    """Return whether each partition has a leader and all of its copies in step."""
    headless, behind = [], []
    for topic in topics:
        for partition, leader in topic.leaders.items():
            name = f"{topic.name}[{partition}]"
            if leader < 0:
                headless.append(name)
            elif len(topic.insync[partition]) < len(topic.replicas[partition]):
                behind.append(name)
    findings = []
    if headless:
        findings.append(failure("replication", f"no leader: {_listed(headless)}", "start the brokers that hold them"))
    if behind:
        findings.append(
            warning("replication", f"a copy is missing or behind: {_listed(behind)}", "start the missing broker; else wait")
        )
    return findings or [ok("replication", "every partition has a leader and all of its copies")]


def _listed(names: Sequence[str], *, shown: int = 5) -> str:
    more = len(names) - shown
    return ", ".join(names[:shown]) + (f" and {more} more" if more > 0 else "")


async def check_topics(context: Context, known: Deployment | None) -> list[Finding]:
    """Compare the topics and brokers with what this release needs; `known` is the identity, of topics or database.

    A topic that is lost gets no command: made again, it would be empty. Raises `LogError`.
    """
    drifts = await compare(context)
    missing = [drift.topic for drift in drifts if (drift.setting, drift.found) == MISSING]
    present = await find_present(context)
    losses = [] if known is None else describe_losses(known.topics, present, context.settings.topic_prefix)
    lost = [failure("topics", loss, PAGE) for loss in losses]
    if not lost and known is None and (written := await _find_written(context, present)):
        found = f"{_listed(written)} hold records of a deployment, and the topics have no identity: it is lost"
        lost = [failure("topics", found, PAGE)]
    absent = [] if lost or not missing else [await _absent(context, missing, present)]
    different = [_drift(drift) for drift in drifts if drift.topic not in missing]
    return [*lost, *absent, *different] or [ok("topics", "as this release needs them")]


async def _find_written(context: Context, present: PresentTopics) -> list[str]:
    return await find_written(context, (topic for topic in TOPICS if topic.name in present.ids))


async def _absent(context: Context, missing: Sequence[str], present: PresentTopics) -> Finding:
    """Return that topics have to be created, and where there is none, which other prefix may be meant."""
    found = f"missing: {_listed(missing)}"
    others = name_prefixes(await find_other_prefixes(context)) if not present.ids else ""
    return failure("topics", f"{found}. {others}" if others else found, CREATE_TOPICS)


def is_incomplete(findings: Sequence[Finding]) -> bool:
    """Return whether a topic is missing or lost: then what is read from them cannot be looked at."""
    return any(one.cure in {PAGE, CREATE_TOPICS} for one in findings)


def _drift(drift: Drift) -> Finding:
    found = f"{drift.topic}: {drift.setting} is {drift.found}, needed is {drift.wanted}"
    return warning("topics", found, drift.fix) if drift.fix == HIDDEN_FIX else failure("topics", found, drift.fix)


async def check_broker_clock(context: Context) -> list[Finding]:
    """Compare this machine's clock with the newest record's append time. Raises `LogError`."""
    newest = await newest_append(context.log, [context.names.of(topic.name) for topic in USED])
    if newest is None:
        return [ok("clock and broker", "nothing was appended yet; a scheduler compares them from its first partition on")]
    skew = ahead_seconds(wall_now(), context.clock.elapsed(), None, newest)
    if clocks_disagree(skew):
        found = f"this machine's clock is {-skew:.0f} s behind a record that the broker has appended"
        return [failure("clock and broker", found, "compare both machines with a time server, and set the wrong one")]
    when = to_datetime(newest).isoformat(timespec="seconds")
    return [
        ok("clock and broker", f"not behind the newest record ({when}); only a scheduler's /readyz tells of a clock ahead")
    ]


def check_kafka_settings(settings: Settings) -> list[Finding]:
    """Look at how the brokers are reached, without asking them."""
    local = all(is_on_this_machine(address) for address in settings.kafka_bootstrap.split(","))
    if "SSL" not in settings.kafka_security and not local:
        found = f"LEADCLOCK_KAFKA_SECURITY is {settings.kafka_security}: leads"
        found += " and the password" if settings.kafka_password else ""
        cure = "give the brokers a TLS listener, and set SASL_SSL (SSL without a login)"
        return [warning("Kafka TLS", f"{found} travel in clear text", cure)]
    cure = "see deploy/docs/tls.md"
    return [failure("Kafka TLS", fault, cure) for fault in find_security_faults(settings)]


async def check_login(settings: Settings) -> list[Finding]:
    """Get a token where the login needs one, and look at how long it holds."""
    if not (settings.kafka_token_url or settings.kafka_token_file):
        return []
    try:
        tokens = tokens_of(settings)
        if isinstance(tokens, TokenFile):
            await tokens.token()
            return [ok("Kafka token", f"{settings.kafka_token_file} holds one")]
        answer = await tokens.ask()
    except (SettingsError, TokenError) as error:
        cure = "correct LEADCLOCK_KAFKA_TOKEN_URL, LEADCLOCK_KAFKA_USERNAME and LEADCLOCK_KAFKA_PASSWORD_FILE"
        return [failure("Kafka token", str(error), cure)]
    held = "does not say how long it holds" if answer.expires_in is None else f"holds for {answer.expires_in:.0f} s"
    return [ok("Kafka token", f"{settings.kafka_token_url} gives one to {settings.kafka_username}, which {held}")]


async def check_certificates(settings: Settings) -> list[Finding]:
    """Connect to each named broker by TLS, and look at how long its certificate holds."""
    if "SSL" not in settings.kafka_security:
        return []
    try:
        tls = tls_of(settings)
    except SettingsError as error:
        return [failure("Kafka TLS", str(error), "correct it, then run this again")]
    addresses = [address.strip() for address in settings.kafka_bootstrap.split(",")]
    own = settings.kafka_certificate_file
    mine = [check_client_certificate("Kafka client certificate", own)] if own else []
    return [*mine, *[await _certificate(address, tls) for address in addresses]]


async def _certificate(address: str, tls: ssl.SSLContext) -> Finding:
    host, _, port = address.rpartition(":")
    host = host.strip("[]")
    try:
        async with asyncio.timeout(CONNECT_SECONDS):
            reader, writer = await asyncio.open_connection(host, int(port), ssl=tls, server_hostname=host)
    except ssl.SSLCertVerificationError as error:
        cure = (
            "give LEADCLOCK_KAFKA_CA_FILE the certificate that signs the brokers', and name brokers as their certificates do"
        )
        return failure("Kafka TLS", f"{address}: {error.verify_message}", cure)
    except (OSError, TimeoutError) as error:
        cure = "start it, or correct LEADCLOCK_KAFKA_BOOTSTRAP and LEADCLOCK_KAFKA_SECURITY"
        return failure("Kafka TLS", f"{address}: no TLS connection ({error or type(error).__name__})", cure)
    certificate, version = writer.get_extra_info("peercert"), writer.get_extra_info("ssl_object").version()
    try:
        refusal = await _refusal(reader)
    finally:
        writer.close()
    if refusal:
        cure = "give LEADCLOCK_KAFKA_CERTIFICATE_FILE and LEADCLOCK_KAFKA_KEY_FILE a certificate that the brokers trust"
        return failure("Kafka TLS", f"{address} refuses our certificate, or that there is none ({refusal})", cure)
    return check_certificate_end("Kafka TLS", f"{address}: {version}", certificate)


async def _refusal(reader: asyncio.StreamReader) -> str | None:
    """Return why the server ends the connection; None where it waits for us, as a broker does.

    By TLS 1.3 a server refuses a client's certificate only after the handshake is over for the client.
    """
    try:
        async with asyncio.timeout(REFUSAL_SECONDS):
            await reader.read(1)
    except TimeoutError:
        return None
    except OSError as error:
        return str(error)
    return None
