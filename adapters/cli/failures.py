"""What does a person see when a command fails? One sentence that says what to do, and an exit status; never a traceback."""

import functools
from collections.abc import Callable
from typing import ParamSpec, TypeVar

import click

EXPECTED = frozenset(
    {
        "adapters.gateway.ports.StoreError",
        "adapters.http.server.ServerError",
        "adapters.local.process.LocalServerError",
        "adapters.observability.health.HealthPortError",
        "adapters.postgres.migrate.MigrationError",
        "adapters.projector.shadow.RebuildError",
        "adapters.projector.store.StoreError",
        "adapters.roles.asking.NotMadeError",
        "adapters.settings.SettingsError",
        "adapters.up.folder.InUseError",
        "adapters.up.house.PlaceError",
        "adapters.up.house.PortTakenError",
        "adapters.up.house.RoleEndedError",
        "engine.partition.ports.LogError",
    }
)
"""Errors whose text is written for a person; anything else is a fault of ours and shows where it happened.

By name: importing them all would have every command, and every role, load the whole house (a second of a core).
"""

P = ParamSpec("P")
R = TypeVar("R")


def is_expected(error: BaseException) -> bool:
    """Tell whether an error, or one that it is a kind of, is in the table."""
    return any(f"{kind.__module__}.{kind.__qualname__}" in EXPECTED for kind in type(error).__mro__)


def told(command: Callable[P, R]) -> Callable[P, R]:
    """Turn expected errors of a command into one line and exit status 1."""

    @functools.wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return command(*args, **kwargs)
        except Exception as error:
            if not is_expected(error):
                raise
            raise click.ClickException(str(error)) from error

    return run
