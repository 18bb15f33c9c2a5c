"""Which roles are there? One row each: the name on the command line, and what builds it."""

from collections.abc import Callable

from adapters.observability.metrics import Metrics
from adapters.roles.api import ApiRole
from adapters.roles.context import Context
from adapters.roles.deciders import accounts, scheduler
from adapters.roles.gateway import GatewayRole
from adapters.roles.intake import intake
from adapters.roles.projector import ProjectorRole
from adapters.roles.role import Role

ROLES: dict[str, Callable[[Context, Metrics], Role]] = {
    "accounts": accounts,
    "scheduler": scheduler,
    "intake": intake,
    "projector": ProjectorRole,
    "gateway": GatewayRole,
    "api": ApiRole,
}

NEEDS_DATABASE = frozenset({"projector", "gateway", "api"})
NEEDS_SECRET = frozenset({"gateway", "api"})
