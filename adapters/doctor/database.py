"""Is the database fit? It answers, over TLS where it is elsewhere, with the right time and the tables of this release."""

from urllib.parse import parse_qs, urlsplit

from adapters.clock import SystemClock, wall_now
from adapters.data_digest import OtherDataError
from adapters.database_tls import read_tls_parameters
from adapters.doctor.certificates import check_certificate_end, check_client_certificate
from adapters.doctor.findings import Finding, failure, is_on_this_machine, ok, warning
from adapters.postgres import migrate
from adapters.postgres.migrate import MigrationError
from adapters.postgres.server_facts import ServerFacts, read_server_facts
from adapters.settings import database_location
from engine.partition.broker_clock import BrokerTime, ahead_seconds, clocks_disagree

CHECK_IT = "set LEADCLOCK_POSTGRES_CA_FILE to the certificate that signs the server's: then it is checked, with its name"


async def check_database(dsn: str) -> list[Finding]:
    """Look at the server and its clock. Raises `DatabaseAwayError`."""
    clock = SystemClock()
    asked = clock.elapsed()
    facts = await read_server_facts(dsn)
    answered = clock.elapsed()
    skew = ahead_seconds(wall_now(), clock.elapsed(), BrokerTime(facts.now, asked, answered), None)
    where = database_location(dsn)
    findings = [ok("database", f"PostgreSQL {facts.version} at {where}"), *check_protection(dsn, facts)]
    if own := read_tls_parameters(dsn).get("sslcert"):
        findings.append(check_client_certificate("database client certificate", own))
    if clocks_disagree(skew):
        found = f"this machine's clock is {abs(skew):.0f} s {'ahead of' if skew > 0 else 'behind'} the database's"
        findings.append(
            failure("clock and database", found, "compare both machines with a time server, and set the wrong one")
        )
    else:
        findings.append(ok("clock and database", f"within {max(1.0, abs(skew)):.0f} s"))
    return findings


def check_protection(dsn: str, facts: ServerFacts) -> list[Finding]:
    """Look at the TLS of the connection; what stays on this machine needs none."""
    where, is_local = database_location(dsn), is_on_this_machine(_host(dsn))
    if facts.certificate is not None:
        return [check_certificate_end("database TLS", f"{where}: {facts.tls_version}", facts.certificate)]
    if facts.tls_version is not None:
        found = f"{where}: {facts.tls_version}, and nothing checks that it is your server"
        return [ok("database TLS", found) if is_local else warning("database TLS", found, CHECK_IT)]
    if is_local:
        return []
    return [warning("database TLS", f"leads and the password travel to {where} in clear text", CHECK_IT)]


def _host(dsn: str) -> str:
    """Return `host:port` of a DSN; a folder of a socket counts as this machine."""
    parts = urlsplit(dsn)
    (host,) = parse_qs(parts.query).get("host", [parts.netloc.rpartition("@")[2]])
    return "localhost" if host.startswith("/") or not host else host


async def check_migrations(dsn: str) -> list[Finding]:
    """Compare the tables with those of this release. Raises `DatabaseAwayError`."""
    try:
        rows = await migrate.status(dsn)
    except OtherDataError as error:
        return [failure("migrations", str(error), "do what it says, or run the version that the database is of")]
    except MigrationError as error:
        return [failure("migrations", str(error), "run the release that the database is of, or a newer one")]
    missing = [f"{row.schema}/{row.name}" for row in rows if not row.applied]
    if missing:
        return [
            failure("migrations", f"{len(missing)} of {len(rows)} are missing, first {missing[0]}", "leadclock db migrate")
        ]
    return [ok("migrations", f"all {len(rows)} are applied")]
