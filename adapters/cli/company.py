"""How is a company set up from a file, and how does it become one? `leadclock company export|diff|apply`, over the API."""

from functools import partial
from pathlib import Path
from typing import Any

import click
import httpx

from adapters.cli.api_client import api_option, ask_api
from adapters.cli.deployment import BY_ADDRESS, option
from adapters.cli.failures import report_errors
from adapters.company_file.api import CompanyApi
from adapters.company_file.apply import apply as write_changes
from adapters.company_file.changes import FileChange, FileDifference, difference
from adapters.company_file.document import Document, read_document, write_document
from adapters.company_file.export import EXTERNAL_ID, Known, assigned_name, read_company, unnamed
from adapters.company_file.export import export as document_of
from schemas.wire import to_json

SHOWN_LENGTH_MAX = 100
"""Characters of a value in a difference; --json shows all."""

FILE = click.argument("file", type=click.Path(path_type=Path, dir_okay=False))


@click.group()
def company() -> None:
    """Write a company's account records to a file, compare them with one, or apply one."""


@company.command()
@click.option(
    "--output", "-o", type=click.Path(path_type=Path, dir_okay=False), help="Where to write.  [default: standard output]"
)
@click.option("--assign", is_flag=True, help="Give each record without an external_record_id one, in the company itself.")
@api_option
@option
@report_errors
def export(  # noqa: PLR0917 - one parameter per option, given by name
    output: Path | None, assign: bool, api_url: str | None, key_file: Path | None, data_dir: Path, as_json: bool
) -> None:
    """Write the company's records as YAML, or JSON with --json: no ids, tokens, keys, secrets, usage or times."""
    document, left_out = ask_api(
        partial(_exported, assign=assign), api_url=api_url, key_file=key_file, data_dir=data_dir, elsewhere=BY_ADDRESS
    )
    text = write_document(document, as_json=as_json)
    if output is None:
        click.echo(text, nl=False)
    else:
        output.write_text(text)
    for name in left_out:
        click.echo(f"outgoing_webhooks/{name}: its headers are not in the file, they may hold secrets", err=True)


async def _exported(client: httpx.AsyncClient, *, assign: bool) -> tuple[Document, list[str]]:
    api = CompanyApi(client, _show_warning)
    known = await read_company(api)
    if assign:
        for record_type, row in unnamed(known):
            taken = known.ids[record_type]
            name = assigned_name(row, taken.__contains__)
            taken[name] = row["id"]
            await api.update(record_type, row, {EXTERNAL_ID: name})
        known = await read_company(api)
    webhooks = known.rows["outgoing_webhook"].values()
    return document_of(await api.company(), known), [str(row[EXTERNAL_ID]) for row in webhooks if row["headers"]]


@company.command()
@FILE
@api_option
@option
@report_errors
def diff(file: Path, api_url: str | None, key_file: Path | None, data_dir: Path, as_json: bool) -> None:
    """Show what applying FILE would change, and change nothing. Exit status 1 where it would change something."""
    document = read_document(file)

    async def compared(client: httpx.AsyncClient) -> FileDifference:
        return (await _compared(CompanyApi(client), document))[0]

    found = ask_api(compared, api_url=api_url, key_file=key_file, data_dir=data_dir, elsewhere=BY_ADDRESS)
    _show(found, as_json=as_json)
    if found.changes:
        raise click.exceptions.Exit(1)


@company.command()
@FILE
@click.option("--yes", is_flag=True, help="Do not ask before the changes are made.")
@api_option
@option
@report_errors
def apply(  # noqa: PLR0917 - one parameter per option, given by name
    file: Path, yes: bool, api_url: str | None, key_file: Path | None, data_dir: Path, as_json: bool
) -> None:
    """Make the company's records those of FILE. Records that the file does not have stay as they are.

    What is warned of a record that is published is printed beside its name, and changes nothing else.
    """
    document = read_document(file)

    async def applied(client: httpx.AsyncClient) -> int:
        api = CompanyApi(client, _show_warning)
        found, row, known = await _compared(api, document)
        _show(found, as_json=as_json)
        if found.changes and not yes:
            click.confirm(f"Make these {len(found.changes)} changes?", abort=True, err=True)
        await write_changes(api, found, row, known, lambda place: click.echo(f"written: {place}", err=True))
        return len(found.changes)

    count = ask_api(applied, api_url=api_url, key_file=key_file, data_dir=data_dir, elsewhere=BY_ADDRESS)
    click.echo(f"{count} changes made" if count else "nothing to change", err=True)


async def _compared(api: CompanyApi, document: Document) -> tuple[FileDifference, Any, Known]:
    known = await read_company(api)
    row = await api.company()
    return difference(document, row, known), row, known


def _show_warning(place: str, sentence: str) -> None:
    click.echo(f"warning: {place}: {sentence}", err=True)


def _show(found: FileDifference, *, as_json: bool) -> None:
    if as_json:
        changes = [{"record": change.place, "before": change.before, "after": change.after} for change in found.changes]
        click.echo(to_json({"changes": changes, "alike": found.alike, "beside": found.beside}))
        return
    for change in found.changes:
        _show_change(change)
    for place in found.beside:
        click.echo(f"  {place} is not in the file; it stays")
    click.echo(f"{len(found.changes)} to change, {found.alike} alike, {len(found.beside)} not in the file")


def _show_change(change: FileChange) -> None:
    click.echo(f"{'+' if change.before is None else '~'} {change.place}")
    for name in change.fields:
        before, after = (change.before or {}).get(name), change.after.get(name)
        click.echo(
            f"    {name}: {_value(after)}" if change.before is None else f"    {name}: {_value(before)} -> {_value(after)}"
        )


def _value(value: Any) -> str:
    text = to_json(value).decode()
    return text if len(text) <= SHOWN_LENGTH_MAX else f"{text[:SHOWN_LENGTH_MAX]}…"


__all__ = ["company"]
