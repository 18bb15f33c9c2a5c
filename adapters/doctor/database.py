"""Is the database fit? It answers, over TLS where it is elsewhere, with the right time and the tables of this release."""

from urllib.parse import parse_qs, urlsplit

from adapters.clock import SystemClock, wall_now
from adapters.doctor.findings import Finding, failure, is_on_this_machine, ok, warning
from adapters.postgres import migrate
from adapters.postgres.migrate import MigrationError
from adapters.postgres.server_facts import read_server_facts
from adapters.settings import database_location
from engine.partition.broker_clock import BrokerTime, ahead_seconds, clocks_disagree


async def check_database(dsn: str) -> list[Finding]:
    """Look at the server and its clock. Raises `DatabaseAwayError`."""
    clock = SystemClock()
    asked = clock.elapsed()
    facts = await read_server_facts(dsn)
    answered = clock.elapsed()
    skew = ahead_seconds(wall_now(), clock.elapsed(), BrokerTime(facts.now, asked, answered), None)
    where = database_location(dsn)
    findings = [ok("database", f"PostgreSQL {facts.version} at {where}{' by TLS' if facts.is_encrypted else ''}")]
    if not facts.is_encrypted and not is_on_this_machine(_host(dsn)):
        cure = "add ?sslmode=verify-full&sslrootcert=FILE to LEADCLOCK_POSTGRES_DSN"
        findings.append(warning("database TLS", f"leads and the password travel to {where} in clear text", cure))
    if clocks_disagree(skew):
        found = f"this machine's clock is {abs(skew):.0f} s {'ahead of' if skew > 0 else 'behind'} the database's"
        findings.append(
            failure("clock and database", found, "compare both machines with a time server, and set the wrong one")
        )
    else:
        findings.append(ok("clock and database", f"within {max(1.0, abs(skew)):.0f} s"))
    return findings


def _host(dsn: str) -> str:
    """Return `host:port` of a DSN; a folder of a socket counts as this machine."""
    parts = urlsplit(dsn)
    (host,) = parse_qs(parts.query).get("host", [parts.netloc.rpartition("@")[2]])
    return "localhost" if host.startswith("/") or not host else host


async def check_migrations(dsn: str) -> list[Finding]:
    """Compare the tables with those of this release. Raises `DatabaseAwayError`."""
    try:
        rows = await migrate.status(dsn)
    except MigrationError as error:
        return [failure("migrations", str(error), "run the release that the database is of, or a newer one")]
    missing = [f"{row.schema}/{row.name}" for row in rows if not row.applied]
    if missing:
        return [
            failure("migrations", f"{len(missing)} of {len(rows)} are missing, first {missing[0]}", "leadclock db migrate")
        ]
    return [ok("migrations", f"all {len(rows)} are applied")]
