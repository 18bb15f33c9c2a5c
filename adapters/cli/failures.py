"""What does a person see when a command fails? One sentence that says what to do, and an exit status; never a traceback."""

import functools
from collections.abc import Callable
from typing import ParamSpec, TypeVar

import click

from adapters.gateway.ports import StoreError
from adapters.http.server import ServerError
from adapters.local.process import LocalServerError
from adapters.observability.health import HealthPortError
from adapters.postgres.migrate import MigrationError
from adapters.projector.shadow import RebuildError
from adapters.projector.store import StoreError as ProjectionStoreError
from adapters.roles.asking import NotMadeError
from adapters.settings import SettingsError
from adapters.up.folder import InUseError
from adapters.up.house import PlaceError, PortTakenError, RoleEndedError
from engine.partition.ports import LogError

EXPECTED = (
    SettingsError,
    LogError,
    StoreError,
    LocalServerError,
    MigrationError,
    InUseError,
    NotMadeError,
    RebuildError,
    ProjectionStoreError,
    RoleEndedError,
    PortTakenError,
    PlaceError,
    ServerError,
    HealthPortError,
)
"""Errors whose text is written for a person; anything else is a fault of ours and shows where it happened."""

P = ParamSpec("P")
R = TypeVar("R")


def told(command: Callable[P, R]) -> Callable[P, R]:
    """Turn expected errors of a command into one line and exit status 1."""

    @functools.wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return command(*args, **kwargs)
        except EXPECTED as error:
            raise click.ClickException(str(error)) from error

    return run
