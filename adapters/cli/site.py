"""Where is the deployment recorded to run, and is it here? `leadclock site`; `--accept` records that it is."""

from pathlib import Path

import click
import msgspec

from adapters.cli.deployment import option, resolve_settings, run
from adapters.cli.failures import report_errors
from adapters.cli.identity_check import open_checked
from adapters.roles.site import ACCEPT, Site, accept_site, compare_site, find_site
from adapters.settings import Settings
from schemas.records import Record


@click.command()
@click.option("--accept", "is_accepted", is_flag=True, help="Record this site, and release the holds that were made for it.")
@option
@report_errors
def site(*, is_accepted: bool, data_dir: Path, as_json: bool) -> None:
    """Compare Kafka's cluster id and LEADCLOCK_SITE with those recorded; exit 1 where they differ.

    Where they differ, gateways contact nobody: a copy of a deployment has real people in it. Type --accept once people are
    to be contacted from here, and nowhere else.
    """
    settings = resolve_settings(data_dir)
    if is_accepted:
        found, released = run(_accept(settings))
        words = f"accepted: {_name(found)}; released: {', '.join(str(one.id) for one in released) or 'no hold'}"
        shown = {"cluster_id": found.cluster_id, "site": found.word, "released": [one.id for one in released]}
        click.echo(msgspec.json.encode(shown) if as_json else words)
        return
    found, problem = run(_compare(settings))
    if as_json:
        click.echo(msgspec.json.encode({"cluster_id": found.cluster_id, "site": found.word, "problem": problem}))
    else:
        click.echo(f"the recorded site: {_name(found)}" if problem is None else f"{problem}\n  {ACCEPT}")
    if problem is not None:
        raise click.exceptions.Exit(1)


def _name(found: Site) -> str:
    return f"Kafka's cluster id {found.cluster_id!r}, LEADCLOCK_SITE {found.word!r}"


async def _compare(settings: Settings) -> tuple[Site, str | None]:
    async with open_checked(settings) as context:
        found = await find_site(context)
        return found, compare_site(context.rules.deployment, found)


async def _accept(settings: Settings) -> tuple[Site, list[Record]]:
    has_database = bool(settings.postgres_dsn)
    async with open_checked(settings, with_database=has_database) as context:
        return await find_site(context), await accept_site(context, with_database=has_database)
