"""How does one role run as a process? It logs its settings, serves health and metrics, and works until SIGTERM or SIGINT."""

import asyncio
import signal

import structlog

from adapters.gateway.providers import providers
from adapters.observability.health import HealthServer
from adapters.observability.logs import configure_logs
from adapters.observability.metrics import Metrics
from adapters.observability.traces import opened_traces
from adapters.roles.context import open_context
from adapters.roles.garbage_collection import configure_garbage_collection
from adapters.roles.identity import IdentifiedRole
from adapters.roles.recordings import is_transcribed, recording_files
from adapters.roles.table import KEEPS_RECORDINGS, NEEDS_DATABASE, NEEDS_SECRET, build_role
from adapters.settings import SECRET_KEY_LENGTH_MIN, Settings, SettingsError, redact_settings, require

logger = structlog.get_logger(__name__)


async def run_role(name: str, settings: Settings) -> None:
    """Run a role until SIGTERM or SIGINT. Raises `SettingsError` before it starts anything."""
    check(name, settings)
    configure_logs(settings.log_level, form=settings.log_format)
    metrics = Metrics()
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    async with open_context(settings) as context, opened_traces(settings, name, context.deployment_id) as context.traces:
        context.skipped.count_in(metrics)
        role = IdentifiedRole(build_role(name, context, metrics), context, with_database=name in NEEDS_DATABASE)
        configure_garbage_collection()
        await logger.ainfo("role.started", role=name, settings=redact_settings(settings))
        health = HealthServer(role.problems, metrics, facts(name, settings), context.skipped.notes)
        await health.start(settings.health_host, settings.health_port)
        context.own(health.port)
        await logger.ainfo("health.started", role=name, port=health.port)
        try:
            await role.run(stop)
        finally:
            await health.stop()
        await logger.ainfo("role.stopped", role=name)


def facts(name: str, settings: Settings) -> dict[str, object]:
    """Return what `/readyz` reports of a process beside its problems."""
    return {"channels": settings.channels, "sandbox": settings.sandbox} if name == "gateway" else {}


def check(name: str, settings: Settings) -> None:
    """Raise `SettingsError` naming what the role needs and does not have."""
    if name == "gateway":
        providers(settings)
    if name in KEEPS_RECORDINGS:
        recording_files(settings)
        is_transcribed(settings)
    require(settings, "kafka_bootstrap")
    if name in NEEDS_DATABASE:
        require(settings, "postgres_dsn")
    if name in NEEDS_SECRET:
        require(settings, "secret_key")
        if len(settings.secret_key) < SECRET_KEY_LENGTH_MIN:
            raise SettingsError(f"LEADCLOCK_SECRET_KEY needs at least {SECRET_KEY_LENGTH_MIN} characters")
