"""Which settings does this shell give a process, and where does each come from? Secrets are shown as stars."""

import click
import msgspec
from msgspec import Struct

from adapters.cli.failures import report_errors
from adapters.cli.tables import write_table
from adapters.settings import PREFIX, Settings, database_location, load, read_sources, redact_settings

DEFAULT = "default"


class ShownSetting(Struct, frozen=True):
    """A setting as it applies, and where it is set: a variable, a name in a file, or `default`."""

    variable: str
    value: object
    source: str


@click.group()
def config() -> None:
    """Show the settings that apply."""


@config.command()
@click.option("--all", "with_defaults", is_flag=True, help="Also those that have their default.")
@click.option("--json", "as_json", is_flag=True, help="Machine-readable output.")
@report_errors
def show(*, with_defaults: bool, as_json: bool) -> None:
    """Show each setting of this shell, its value and where it is set; a wrong one is refused by name.

    It does not look for an `up` that runs here: `leadclock doctor` does.
    """
    found = [one for one in shown_settings() if with_defaults or one.source != DEFAULT]
    if as_json:
        click.echo(msgspec.json.encode(found))
    elif found:
        write_table(("setting", "value", "set by"), [(one.variable, _text(one.value), one.source) for one in found])
    else:
        click.echo("every setting has its default; --all shows them")


def shown_settings() -> list[ShownSetting]:
    """Return every setting. Raises `SettingsError` for a wrong one."""
    settings = load()
    values, sources = redact_settings(settings), read_sources()
    if settings.postgres_dsn:  # which database a command will change is what people look for here
        values["postgres_dsn"] = f"postgresql://***@{database_location(settings.postgres_dsn)}"
    return [
        ShownSetting(PREFIX + name.upper(), values[name], sources.get(name, DEFAULT)) for name in Settings.__struct_fields__
    ]


def _text(value: object) -> str:
    if value is None or value == "":
        return "-"
    return ",".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
