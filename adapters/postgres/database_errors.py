"""How are errors of the database reported? As one sentence that says what is wrong and what to do."""

from collections.abc import AsyncIterator, Awaitable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from ssl import SSLCertVerificationError, SSLError
from typing import TypeVar

import asyncpg

from adapters.database_tls import FILES, PARAMETERS, is_checked, read_tls_parameters
from adapters.errors import StoreError
from adapters.postgres.pool import FAILURES
from adapters.reads.ports import ReadsTooSlowError, ReadsUnavailableError
from adapters.settings import database_location
from schemas.errors import DependencyError

T = TypeVar("T")

VARIABLE = "LEADCLOCK_POSTGRES_DSN"

AWAY = ("does not answer", f"start it, or correct {VARIABLE}")
NO_TABLES = ("lacks tables of this release", "run `leadclock db migrate`")

UNTRUSTED = (
    "shows a certificate that is not trusted",
    "give LEADCLOCK_POSTGRES_CA_FILE the certificate that signs it, and name the server as its certificate does",
)
NO_TLS = (
    "makes no TLS connection with us",
    "correct LEADCLOCK_POSTGRES_SSLMODE, LEADCLOCK_POSTGRES_CA_FILE and the client certificate",
)

REMEDIES: tuple[tuple[type[BaseException], tuple[str, str]], ...] = (
    (SSLCertVerificationError, UNTRUSTED),
    (SSLError, NO_TLS),
    (asyncpg.InvalidAuthorizationSpecificationError, ("refuses the user or password", f"correct {VARIABLE}")),
    (asyncpg.InvalidCatalogNameError, ("has no such database", f"create it, or correct {VARIABLE}")),
    (asyncpg.UndefinedTableError, NO_TABLES),
    (asyncpg.InvalidSchemaNameError, NO_TABLES),
    (asyncpg.QueryCanceledError, ("gave up a statement that took too long", "ask for less, or when less is going on")),
    (asyncpg.InsufficientResourcesError, ("has no room for more", "free some, or raise its limit")),
    (asyncpg.ClientConfigurationError, ("cannot be found", f"{VARIABLE} is postgresql://USER:PASSWORD@HOST:PORT/DATABASE")),
    (asyncpg.PostgresConnectionError, AWAY),
    (asyncpg.OperatorInterventionError, AWAY),  # it is starting, or being stopped
)
"""Error -> what is wrong, and what to do; the first match counts."""

FAULT = ("refuses a statement", "this is a fault of leadclock; tell us")
"""For every other error that the server reports."""


class DatabaseAwayError(DependencyError):
    """PostgreSQL does not answer or refuses us; `str(error)` names the server, the reason and the remedy."""


def describe_database_error(dsn: str, error: BaseException) -> str:
    """Return one sentence about an error: which database, what is wrong, and what to do."""
    if isinstance(error, ReadsUnavailableError):
        return str(error) if error.__cause__ is None else describe_database_error(dsn, error.__cause__)
    if missing := _find_missing_file(dsn, error):
        return f"PostgreSQL at {database_location(dsn)} cannot be asked: {missing}"
    reason = " ".join((str(error) or type(error).__name__).split())
    wrong, remedy = _find_remedy(error)
    return f"PostgreSQL at {database_location(dsn)} {wrong} ({reason}); {remedy}"


def _find_missing_file(dsn: str, error: BaseException) -> str | None:
    """Return a sentence about the first file of the TLS settings that is not set or cannot be read, if there is one."""
    given = read_tls_parameters(dsn)
    if isinstance(error, asyncpg.ClientConfigurationError) and is_checked(dsn) and not given.get("sslrootcert"):
        return "its certificate shall be checked, and nothing says by which; set LEADCLOCK_POSTGRES_CA_FILE"
    settings = {parameter: setting for setting, parameter in PARAMETERS.items()}
    for parameter in FILES:
        if not given.get(parameter):
            continue
        try:
            Path(given[parameter]).read_bytes()
        except OSError as unreadable:
            cure = f"correct LEADCLOCK_{settings[parameter].upper()}, or {parameter} of {VARIABLE}"
            return f"{given[parameter]} cannot be read ({unreadable.strerror}); {cure}"
    return None


def _find_remedy(error: BaseException) -> tuple[str, str]:
    if isinstance(error, ConnectionError) and "rejected SSL upgrade" in str(error):  # asyncpg has no type for it
        return NO_TLS
    known = next((words for kind, words in REMEDIES if isinstance(error, kind)), None)
    return known or (FAULT if isinstance(error, asyncpg.PostgresError) else AWAY)


@contextmanager
def convert_connection_errors(dsn: str) -> Iterator[None]:
    """Convert errors of the database to `DatabaseAwayError`, except bugs of ours."""
    try:
        yield
    except (*FAILURES, ReadsUnavailableError) as error:
        if _find_remedy(error.__cause__ or error) is FAULT:
            raise
        raise DatabaseAwayError(describe_database_error(dsn, error)) from error


@asynccontextmanager
async def convert_read_errors() -> AsyncIterator[None]:
    """Convert errors of the database to `ReadsUnavailableError`."""
    try:
        yield
    except asyncpg.QueryCanceledError as error:
        raise ReadsTooSlowError(str(error)) from error
    except FAILURES as error:
        raise ReadsUnavailableError(f"{type(error).__name__}: {error}") from error


async def run_statement(statement: Awaitable[T]) -> T:
    """Await a statement; convert errors of the database to `StoreError`."""
    try:
        return await statement
    except FAILURES as error:
        raise StoreError(f"{type(error).__name__}: {error}") from error
