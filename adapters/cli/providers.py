"""Which providers are installed, and do the companies' accounts with one of them work? A real, harmless request says so."""

from pathlib import Path
from typing import Any

import click
import msgspec
from msgspec.structs import fields

from adapters.cli.deployment import ID, option, resolve_settings, run
from adapters.cli.failures import report_errors
from adapters.providers.account_trials import accounts_with, try_account
from adapters.providers.ports import Provider
from adapters.providers.registry import UnknownProviderError, Unusable, find_provider, installed
from adapters.roles.context import open_context
from adapters.roles.provider_connections import provider_connections, provider_http
from adapters.settings import Settings


@click.group()
def providers() -> None:
    """List installed providers, or test the accounts with one."""


@providers.command(name="list")
@click.option("--json", "as_json", is_flag=True, help="Machine-readable output.")
@report_errors
def list_(as_json: bool) -> None:
    """List the installed providers, with the settings and secrets of each."""
    rows = [_row(name, found) for name, found in installed().items()]
    if as_json:
        click.echo(msgspec.json.encode(rows))
        return
    for row in rows:
        if row["problem"] is not None:
            click.echo(f"{row['name']}: {row['problem']}")
            continue
        click.echo(f"{row['name']}: {', '.join(row['channels'])}; says what became of an order: {row['resume']}")
        click.echo(f"  settings: {', '.join(row['settings'])}; secrets: {', '.join(row['secrets']) or 'none'}")


def _row(name: str, found: Provider | Unusable) -> dict[str, Any]:
    if isinstance(found, Unusable):
        return {"name": name, "channels": [], "settings": [], "secrets": [], "resume": None, "problem": found.reason}
    return {
        "name": name,
        "channels": sorted(found.channels),
        "settings": [f"{field.encode_name}{'' if field.required else ' (optional)'}" for field in fields(found.settings)],
        "secrets": list(found.secrets),
        "resume": found.resume,
        "problem": None,
    }


@providers.command()
@click.argument("name")
@click.option("--company", "company_id", type=ID, help="Only the accounts of this company.")
@option
@report_errors
def test(name: str, company_id: int | None, data_dir: Path, as_json: bool) -> None:
    """Send a harmless request by each account with the provider NAME; exit 1 where one does not work, or there is none."""
    try:
        find_provider(name)
    except UnknownProviderError as error:
        raise click.ClickException(f"{name} {error}") from error
    rows = run(_test(resolve_settings(data_dir), name, company_id))
    if as_json:
        click.echo(msgspec.json.encode(rows))
    else:
        for row in rows:
            state = "works" if row["works"] else "does not work"
            click.echo(f"provider configuration {row['id']} ({row['name']}, {row['channel']}): {state}: {row['said']}")
    if not rows:
        raise click.ClickException(f"no company has a provider configuration with {name}")
    if not all(row["works"] for row in rows):
        raise SystemExit(1)


async def _test(settings: Settings, name: str, company_id: int | None) -> list[dict[str, Any]]:
    async with open_context(settings) as context:
        await context.rules.refresh()
        http = provider_http(context)
        connections = provider_connections(context, http)
        found = accounts_with(context.rules.rules, name)
        try:
            return [await try_account(connections, one) for one in found if company_id in {None, one.record.company_id}]
        finally:
            await http.close()
