"""Is the database at the version that this code needs?"""

from pathlib import Path

import click
import msgspec

from adapters.cli.deployment import option, run, settings_of
from adapters.cli.failures import told
from adapters.postgres import migrate as migrations
from adapters.settings import require


@click.group()
def db() -> None:
    """Migrate the database, or show its state."""


@db.command()
@click.option(
    "--phase", type=click.Choice(["pre", "post"]), help="Only what comes before (or after) the new code is deployed."
)
@option
@told
def migrate(phase: migrations.Phase | None, data_dir: Path, as_json: bool) -> None:
    """Apply what is missing, one transaction each."""
    settings = settings_of(data_dir)
    require(settings, "postgres_dsn")
    applied = run(migrations.migrate(settings.postgres_dsn, phase=phase))
    if as_json:
        click.echo(msgspec.json.encode({"applied": applied}))
    else:
        click.echo("\n".join(f"applied {name}" for name in applied) or "the database is up to date")


@db.command()
@option
@told
def status(data_dir: Path, as_json: bool) -> None:
    """List every migration and whether it was applied; exit 1 where one is missing."""
    settings = settings_of(data_dir)
    require(settings, "postgres_dsn")
    rows = run(migrations.status(settings.postgres_dsn))
    if as_json:
        click.echo(msgspec.json.encode(rows))
    else:
        for row in rows:
            click.echo(f"{'applied' if row.applied else 'missing':8} {row.schema}/{row.name}")
    if any(not row.applied for row in rows):
        raise click.exceptions.Exit(1)
