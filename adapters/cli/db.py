"""Is the database at the version that this code needs?"""

from pathlib import Path

import click
import msgspec

from adapters.cli.deployment import option, resolve_settings, run
from adapters.cli.failures import report_errors
from adapters.cli.tables import write_table
from adapters.postgres import migrate as migrations
from adapters.roles.context import open_context
from adapters.roles.identity import check_before_creating, establish_database, read_database_identity
from adapters.settings import Settings, require
from schemas.deployment import Deployment


@click.group()
def db() -> None:
    """Migrate the database, or show its state."""


@db.command()
@click.option(
    "--phase", type=click.Choice(["pre", "post"]), help="Only what comes before (or after) the new code is deployed."
)
@option
@report_errors
def migrate(phase: migrations.Phase | None, data_dir: Path, as_json: bool) -> None:
    """Apply what is missing, one transaction each."""
    settings = resolve_settings(data_dir)
    require(settings, "postgres_dsn")
    applied, identity = run(_migrate(settings, phase))
    if as_json:
        click.echo(msgspec.json.encode({"applied": applied, "deployment": None if identity is None else identity.id}))
        return
    click.echo("\n".join(f"applied {name}" for name in applied) or "the database is up to date")
    if identity is None:
        click.echo(
            "no identity is recorded in the database yet: `leadclock topics create` does it, with LEADCLOCK_KAFKA_BOOTSTRAP "
            "set",
            err=True,
        )


async def _migrate(settings: Settings, phase: migrations.Phase | None) -> tuple[list[str], Deployment | None]:
    """Migrate the database of the topics' deployment; without a broker, whatever the database is of."""
    dsn = settings.postgres_dsn
    if not settings.kafka_bootstrap:
        return await migrations.migrate(dsn, phase=phase), await read_database_identity(dsn)
    async with open_context(settings) as context:
        found = await check_before_creating(context, with_database=True)
        applied = await migrations.migrate(dsn, phase=phase)
        if found is not None:
            await establish_database(context, found)
        return applied, found


@db.command()
@option
@report_errors
def status(data_dir: Path, as_json: bool) -> None:
    """List every migration and whether it was applied; exit 1 where one is missing."""
    settings = resolve_settings(data_dir)
    require(settings, "postgres_dsn")
    rows = run(migrations.status(settings.postgres_dsn))
    if as_json:
        click.echo(msgspec.json.encode(rows))
    else:
        shown = [("applied" if row.applied else "missing", f"{row.schema}/{row.name}") for row in rows]
        write_table(("state", "migration"), shown)
    if any(not row.applied for row in rows):
        raise click.exceptions.Exit(1)
