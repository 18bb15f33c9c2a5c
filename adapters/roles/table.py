"""Which roles exist? One row each: the name on the command line, and what builds it, imported on demand."""

from importlib import import_module

from adapters.observability.metrics import Metrics
from adapters.roles.context import Context
from adapters.roles.role import Role

ROLES: dict[str, tuple[str, str]] = {
    "accounts": ("adapters.roles.deciders", "accounts"),
    "scheduler": ("adapters.roles.deciders", "scheduler"),
    "intake": ("adapters.roles.intake", "IntakeRole"),
    "projector": ("adapters.roles.projector", "ProjectorRole"),
    "gateway": ("adapters.roles.gateway", "GatewayRole"),
    "deliverer": ("adapters.roles.deliverer", "DelivererRole"),
    "api": ("adapters.roles.api", "ApiRole"),
}
"""Name -> (module, builder). Loaded on demand: the HTTP interface takes a second of CPU that a scheduler need not spend."""

NEEDS_DATABASE = frozenset({"projector", "gateway", "deliverer", "api"})
NEEDS_SECRET = frozenset({"gateway", "deliverer", "api"})
KEEPS_RECORDINGS = frozenset({"gateway", "api"})


def build_role(name: str, context: Context, metrics: Metrics) -> Role:
    """Build a role of this process. Raises `KeyError` for an unknown name."""
    module, builder = ROLES[name]
    role: Role = getattr(import_module(module), builder)(context, metrics)
    return role
