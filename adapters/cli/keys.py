"""Who may use the HTTP interface? A company's API keys; the private key is shown once, and only its hash is stored."""

import hashlib
from pathlib import Path

import click
import msgspec

from adapters.cli.deployment import ID, option, resolve_settings, run
from adapters.cli.failures import report_errors
from adapters.cli.identity_check import open_checked
from adapters.http.exchange.identity import new_private_key, new_public_key
from adapters.roles.context import open_context
from adapters.roles.record_client import RecordClient
from adapters.settings import Settings


@click.group()
def keys() -> None:
    """Create companies and API keys, or list them."""


@keys.command()
@click.option("--company", "company_id", type=ID, required=True, help="Created where it does not exist.")
@click.option("--company-name", help="Name of a new company.  [default: Company N]")
@click.option("--name", default="Key", show_default=True, help="What the key is for.")
@option
@report_errors
def create(company_id: int, company_name: str | None, name: str, data_dir: Path, as_json: bool) -> None:
    """Create an API key, and its company where there is none; prints the private key once."""
    public_key, private_key = new_public_key(), new_private_key()
    company = company_name or f"Company {company_id}"
    run(_create(resolve_settings(data_dir), company_id, company, name, public_key, private_key))
    made = {"company_id": company_id, "public_key": public_key, "private_key": private_key}
    if as_json:
        click.echo(msgspec.json.encode(made))
    else:
        click.echo(f"public key:  {public_key}\nprivate key: {private_key}\nThe private key is not stored; keep it now.")


@keys.command(name="list")
@click.option("--company", "company_id", type=ID, required=True)
@option
@report_errors
def list_(company_id: int, data_dir: Path, as_json: bool) -> None:
    """List the API keys of a company."""
    rows = run(_list(resolve_settings(data_dir), company_id))
    if as_json:
        click.echo(msgspec.json.encode(rows))
        return
    if not rows:
        click.echo(f"company {company_id} has no key")
    for row in rows:
        click.echo(f"{row['public_key']}  {row['name']}")


async def _create(  # noqa: PLR0917 - each one named at the call
    settings: Settings, company_id: int, company_name: str, name: str, public_key: str, private_key: str
) -> None:
    async with open_checked(settings) as context:
        appender = await context.log.appender()
        try:
            await context.rules.refresh()
            records = RecordClient(context.log, context.names, context.rules, appender, context.clock, company_id=company_id)
            if not context.rules.rules.records("company", company_id):
                await records.ensure("company", "name", {"name": company_name})
            digest = hashlib.sha256(private_key.encode()).hexdigest()
            key = {"name": name, "public_key": public_key, "private_key_sha256": digest}
            await records.ensure("api_key", "public_key", key)
        finally:
            await appender.close()


async def _list(settings: Settings, company_id: int) -> list[dict[str, str]]:
    async with open_context(settings) as context:
        await context.rules.refresh()
        return [
            {"public_key": record.body["public_key"], "name": record.body["name"]}
            for record in context.rules.rules.records("api_key", company_id)
        ]
