"""How does `up --attach` run on an existing deployment? Alone, unless `--attach=shared` was typed."""

from pathlib import Path

from msgspec import structs

from adapters.postgres.identity import Presence
from adapters.roles.context import Context
from adapters.settings import SECRET_KEY_LENGTH_MIN, Settings, SettingsError, require
from adapters.up.folder import Keys
from schemas.errors import DependencyError
from schemas.topics import COMMAND_TOPICS

GROUPS = ("scheduler", "accounts", "intake", "projector", "deliverer", *(f"gateway.{kind}" for kind in COMMAND_TOPICS))
"""Every role that has consumer groups; an API holds a lock in the database instead."""


class OthersRunError(DependencyError):
    """Other processes run the deployment that `up --attach` was given."""


def check_settings(settings: Settings, *, is_shared: bool) -> None:
    """Raise `SettingsError` where the settings of the shell do not name a whole deployment."""
    require(settings, "kafka_bootstrap", "postgres_dsn")
    if settings.secret_key and len(settings.secret_key) < SECRET_KEY_LENGTH_MIN:
        raise SettingsError(f"LEADCLOCK_SECRET_KEY needs at least {SECRET_KEY_LENGTH_MIN} characters")
    if is_shared:
        require(settings, "secret_key")  # another one would sign webhooks that their receivers refuse


def attached_settings(given: Settings, folder: Path, keys: Keys, *, port: int) -> Settings:
    """Return the settings of the shell as the roles of an `up` take them."""
    return structs.replace(
        given,
        secret_key=given.secret_key or keys.secret_key,
        state_dir=given.state_dir or str(folder / "attached-state"),
        http_host="127.0.0.1",
        http_port=port,
    )


async def refuse_others(context: Context, presence: Presence) -> None:
    """Raise `OthersRunError` where another process runs the deployment; raises `LogError`, `DatabaseAwayError`.

    Kafka lists the members of every group, the database the holders of its lock: together they show every role. A process
    that was killed counts until its session ends.
    """
    members = await context.members(GROUPS)
    found = [f"{role} ({count})" for role, count in sorted(members.items())]
    found += sorted(set(await presence.take_alone()))
    if found:
        presence.leave()
        raise OthersRunError(
            f"other processes run this deployment: {', '.join(found)}. Stop them (one that was killed counts for "
            f"{context.settings.kafka_session_seconds:g} s), or type --attach=shared to run beside them"
        )
