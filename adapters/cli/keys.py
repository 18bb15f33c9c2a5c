"""Who may use the HTTP interface? A company's API keys, and the keys of operators, which belong to no company.

The private key is shown once, and only its hash is stored: of a company's key in the log, of an operator's in the database.
"""

import hashlib
from pathlib import Path
from typing import Any

import click
import msgspec

from adapters.cli.database import open_database
from adapters.cli.deployment import ID, option, resolve_settings, run
from adapters.cli.failures import report_errors
from adapters.cli.identity_check import open_checked
from adapters.cli.tables import write_table
from adapters.http.exchange.identity import hash_private_key, new_operator_key, new_private_key, new_public_key
from adapters.postgres.operators import PostgresOperators
from adapters.roles.context import open_context
from adapters.roles.record_client import RecordClient
from adapters.settings import Settings, require
from engine.views.cells import cell, moment

NAME_LENGTH_MAX = 200
"""As of the name of a record."""


@click.group()
def keys() -> None:
    """Create companies and API keys, or list them."""


@keys.command()
@click.option("--company", "company_id", type=ID, help="Created where it does not exist.")
@click.option("--operator", is_flag=True, help="Of the whole deployment, under /api/v1/operator; of no company.")
@click.option("--company-name", help="Name of a new company.  [default: Company N]")
@click.option("--name", default="Key", show_default=True, help="What the key is for; of an operator: who has it.")
@option
@report_errors
def create(  # noqa: PLR0917 - one parameter per option, given by name
    company_id: int | None, operator: bool, company_name: str | None, name: str, data_dir: Path, as_json: bool
) -> None:
    """Create an API key, and its company where there is none; prints the private key once."""
    _check_whose(company_id, is_operator=operator)
    if operator and company_name is not None:
        raise click.UsageError("--company-name has no effect with --operator: the key is of no company")
    public_key, private_key = new_operator_key() if operator else new_public_key(), new_private_key()
    settings = resolve_settings(data_dir)
    if company_id is None:
        require(settings, "postgres_dsn")
        run(_create_operator(settings, public_key, private_key, _named(name)))
    else:
        company = company_name or f"Company {company_id}"
        run(_create(settings, company_id, company, name, public_key, private_key))
    whose = {"company_id": company_id} if company_id else {"operator": True}
    made = {**whose, "public_key": public_key, "private_key": private_key}
    if as_json:
        click.echo(msgspec.json.encode(made))
    else:
        click.echo(f"public key:  {public_key}\nprivate key: {private_key}\nThe private key is not stored; keep it now.")


@keys.command(name="list")
@click.option("--company", "company_id", type=ID)
@click.option("--operator", is_flag=True, help="Those of no company.")
@option
@report_errors
def list_(company_id: int | None, operator: bool, data_dir: Path, as_json: bool) -> None:
    """List the API keys of a company, or those of operators."""
    _check_whose(company_id, is_operator=operator)
    settings = resolve_settings(data_dir)
    if company_id is None:
        require(settings, "postgres_dsn")
    rows = run(_list_operators(settings) if company_id is None else _list(settings, company_id))
    if as_json:
        click.echo(msgspec.json.encode(rows))
        return
    if not rows:
        click.echo("there is no operator key" if company_id is None else f"company {company_id} has no key")
        return
    shown = [(row["public_key"], row["name"], str(row.get("revoked_at") or "")) for row in rows]
    write_table(("public key", "name", "revoked"), shown)


@keys.command()
@click.option("--operator", "public_key", required=True, metavar="PUBLIC_KEY", help="As `keys list --operator` shows it.")
@option
@report_errors
def revoke(public_key: str, data_dir: Path, as_json: bool) -> None:
    """Revoke the key of an operator; it ends at once. A company revokes its own keys over the API."""
    settings = resolve_settings(data_dir)
    require(settings, "postgres_dsn")
    revoked_at = run(_revoke_operator(settings, public_key))
    if as_json:
        click.echo(msgspec.json.encode({"public_key": public_key, "revoked_at": revoked_at}))
    else:
        click.echo(f"{public_key} is revoked since {revoked_at}")


def _check_whose(company_id: int | None, *, is_operator: bool) -> None:
    if (company_id is None) != is_operator:
        raise click.UsageError("type either --company N or --operator")


def _named(name: str) -> str:
    if not 0 < len(name.strip()) <= NAME_LENGTH_MAX or not name.isprintable():
        raise click.UsageError(f"--name must be a text of 1 to {NAME_LENGTH_MAX} characters")
    return name.strip()


async def _create_operator(settings: Settings, public_key: str, private_key: str, name: str) -> None:
    async with open_database(settings) as pool:
        await PostgresOperators(pool).create(public_key, hash_private_key(private_key), name)


async def _list_operators(settings: Settings) -> list[dict[str, Any]]:
    async with open_database(settings) as pool:
        rows = await PostgresOperators(pool).keys()
    return [{name: cell(value) for name, value in dict(row).items()} for row in rows]


async def _revoke_operator(settings: Settings, public_key: str) -> str | None:
    async with open_database(settings) as pool:
        return moment((await PostgresOperators(pool).revoke(public_key))["revoked_at"])


async def _create(  # noqa: PLR0917 - each one named at the call
    settings: Settings, company_id: int, company_name: str, name: str, public_key: str, private_key: str
) -> None:
    async with open_checked(settings) as context:
        appender = await context.appender()
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


async def _list(settings: Settings, company_id: int) -> list[dict[str, Any]]:
    async with open_context(settings) as context:
        await context.rules.refresh()
        return [
            {"public_key": record.body["public_key"], "name": record.body["name"]}
            for record in context.rules.rules.records("api_key", company_id)
        ]
