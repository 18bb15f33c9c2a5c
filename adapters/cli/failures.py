"""What does a person see when a command fails? One sentence that says what to do, and an exit status; never a traceback."""

import functools
from collections.abc import Callable
from typing import ParamSpec, TypeVar

import click

from schemas.errors import DependencyError

EXPECTED = frozenset(
    {
        "adapters.audit.heads.HeadsFileError",
        "adapters.cli.lead_map.MapError",
        "adapters.company_file.document.CompanyFileError",
        "adapters.data_digest.OtherDataError",
        "adapters.errors.StoreError",
        "adapters.http.exchange.ports.HoldRefusedError",
        "adapters.http.server.ServerError",
        "adapters.imports.rows.ImportFileError",
        "adapters.local.process.LocalServerError",
        "adapters.observability.health.HealthPortError",
        "adapters.operator.contact_holds.HoldNotDecidedError",
        "adapters.operator.dead_letters.RedriveError",
        "adapters.postgres.identity.NotMigratedError",
        "adapters.postgres.migrate.MigrationError",
        "adapters.postgres.operators.OperatorKeyError",
        "adapters.projector.rebuild_schema.RebuildError",
        "adapters.roles.record_client.RecordNotCreatedError",
        "adapters.roles.identity.IdentityError",
        "adapters.roles.identity.NotPreparedError",
        "adapters.settings.SettingsError",
        "adapters.up.attach.OthersRunError",
        "adapters.up.folder.InUseError",
        "adapters.up.stack.UnwritablePathError",
        "adapters.up.stack.PortTakenError",
        "adapters.up.stack.RoleEndedError",
        "engine.partition.ports.LogError",
    }
)
"""Errors whose text is written for a person; any other is a fault of ours and shows its traceback.

By name: importing them would load every adapter in each command and role (a second of a core).
"""

AWAY = frozenset({"adapters.postgres.database_errors.DatabaseAwayError", "adapters.roles.broker.LogUnavailableError"})
"""Errors that say that Kafka or PostgreSQL does not answer: the same command may succeed later."""

UNAVAILABLE = 69
"""Exit status for these errors: EX_UNAVAILABLE of sysexits.h."""

P = ParamSpec("P")
R = TypeVar("R")


class ServersAwayError(DependencyError, click.ClickException):
    """Kafka or PostgreSQL does not answer."""

    exit_code = UNAVAILABLE


def is_expected(error: BaseException) -> bool:
    """Return whether an error, or one that it is a kind of, is in the table."""
    return _is_one_of(error, EXPECTED | AWAY)


def report_errors(command: Callable[P, R]) -> Callable[P, R]:
    """Turn expected errors of a command into one line and exit status 1, or 69 where Kafka or PostgreSQL is away."""

    @functools.wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return command(*args, **kwargs)
        except Exception as error:
            if not is_expected(error):
                raise
            kind = ServersAwayError if _is_one_of(error, AWAY) else click.ClickException
            raise kind(str(error)) from error

    return run


def _is_one_of(error: BaseException, names: frozenset[str]) -> bool:
    return any(f"{kind.__module__}.{kind.__qualname__}" in names for kind in type(error).__mro__)
