"""How is all contacting stopped, and let go on? `leadclock hold`, and `leadclock release` of one hold."""

from pathlib import Path
from typing import Any

import click
import msgspec

from adapters.cli.database import open_database
from adapters.cli.deployment import ID, option, resolve_settings, run
from adapters.cli.failures import report_errors
from adapters.cli.identity_check import open_checked
from adapters.cli.tables import write_table
from adapters.operator.contact_holds import (
    Confirmation,
    HoldNotDecidedError,
    HoldRequests,
    company_of_hold,
    confirm,
    find_hold,
    gateway_name,
    hold_row,
    holds_in_force,
    to_stop_by_hand,
)
from adapters.postgres.gateways import count_held, running_gateways
from adapters.roles.broker import LogUnavailableError
from adapters.settings import Settings, require
from engine.account.contact_holds import CHANNELS
from schemas.instant import to_rfc3339
from schemas.records import EVERY_COMPANY, HELD_BY_DEFAULT, Record


@click.command()
@click.option("--all", "every_company", is_flag=True, help="Of every company, those made meanwhile included.")
@click.option("--company", "company_id", type=ID, help="Of this company alone.")
@click.option(
    "--channel",
    "channels",
    multiple=True,
    type=click.Choice(CHANNELS),
    help="Of these alone; may be repeated.  [default: call, sms, email]",
)
@click.option("--reason", help="Why: everybody whose leads wait reads it.")
@click.option("--hang-up", is_flag=True, help="End the calls under way as well.")
@option
@report_errors
def hold(  # noqa: PLR0917 - one parameter per option, given by name
    every_company: bool,
    company_id: int | None,
    channels: tuple[str, ...],
    reason: str | None,
    hang_up: bool,
    data_dir: Path,
    as_json: bool,
) -> None:
    """Stop all contacting: gateways give nothing to a provider from now on. Without --all and --company, list the holds.

    Returns once each running gateway has confirmed; those that have not are named: stop these by hand.
    """
    settings = resolve_settings(data_dir)
    if not every_company and company_id is None:
        if reason is not None or channels or hang_up:
            raise click.UsageError("type either --all or --company N")
        _show(run(_list(settings)), as_json=as_json)
        return
    if every_company and company_id is not None:
        raise click.UsageError("type either --all or --company N")
    if reason is None or not reason.strip():
        raise click.UsageError("type --reason: everybody whose leads wait reads it")
    require(settings, "postgres_dsn")
    fields: dict[str, Any] = {"reason": reason.strip(), "channels": list(channels), "hang_up": hang_up}
    made, said = run(_hold(settings, company_id or EVERY_COMPANY, fields))
    _report(
        {"hold": hold_row(made)},
        f"hold {made.id} is in force: {company_of_hold(made)}, {_what(made)}",
        said,
        as_json=as_json,
    )


@click.command()
@click.argument("hold_id", type=ID)
@click.option("--dry-run", is_flag=True, help="Say what the release would do, and do nothing.")
@option
@report_errors
def release(hold_id: int, dry_run: bool, data_dir: Path, as_json: bool) -> None:
    """Release one hold. Other holds and pauses stay; leads that waited for it go on, the most urgent first."""
    settings = resolve_settings(data_dir)
    require(settings, "postgres_dsn")
    if dry_run:
        counts = run(_count(settings, hold_id))
        words = f"{counts['waiting_count']} leads wait for a hold, {counts['expired_count']} have expired since"
        click.echo(msgspec.json.encode(counts) if as_json else words)
        return
    released, said = run(_release(settings, hold_id))
    _report(
        {"released": hold_row(released)},
        f"hold {released.id} is released: {company_of_hold(released)}",
        said,
        as_json=as_json,
    )


async def _hold(settings: Settings, company_id: int, fields: dict[str, Any]) -> tuple[Record, Confirmation]:
    try:
        async with open_checked(settings, with_database=True) as context, open_database(settings) as pool:
            requests, known = HoldRequests(context), await running_gateways(pool)
            made = await requests.create(company_id, fields)
            return made, await confirm(pool, context, requests.place_of(made), known)
    except (LogUnavailableError, HoldNotDecidedError) as error:
        raise type(error)(f"{error}. Stop these gateways by hand: {await _to_stop(settings)}") from error


async def _release(settings: Settings, hold_id: int) -> tuple[Record, Confirmation]:
    async with open_checked(settings, with_database=True) as context, open_database(settings) as pool:
        requests, known = HoldRequests(context), await running_gateways(pool)
        released = await requests.release(_found(await holds_in_force(context), hold_id))
        return released, await confirm(pool, context, requests.place_of(released), known)


async def _list(settings: Settings) -> list[Record]:
    async with open_checked(settings) as context:
        return await holds_in_force(context)


async def _count(settings: Settings, hold_id: int) -> dict[str, int]:
    async with open_checked(settings) as context, open_database(settings) as pool:
        held = _found(await holds_in_force(context), hold_id)
        company_id = None if held.company_id == EVERY_COMPANY else held.company_id
        return await count_held(pool, company_id, held.created_at)


async def _to_stop(settings: Settings) -> str:
    async with open_database(settings) as pool:
        return await to_stop_by_hand(pool)


def _found(holds: list[Record], hold_id: int) -> Record:
    found = find_hold(holds, hold_id)
    if found is None:
        raise click.UsageError(f"there is no hold {hold_id} in force; `leadclock hold` lists those that are")
    return found


def _report(shown: dict[str, Any], sentence: str, said: Confirmation, *, as_json: bool) -> None:
    names = [one.process for one in said.silent]
    if as_json:
        click.echo(msgspec.json.encode({**shown, "obeying": [one.process for one in said.obeying], "silent": names}))
    else:
        click.echo(f"{sentence}; {len(said.obeying)} gateways have confirmed")
    if said.silent:
        where = ", ".join(gateway_name(one) for one in said.silent)
        raise click.ClickException(f"{len(said.silent)} gateways have not confirmed; stop them by hand: {where}")


def _show(holds: list[Record], *, as_json: bool) -> None:
    if as_json:
        click.echo(msgspec.json.encode([hold_row(one) for one in holds]))
    elif not holds:
        click.echo("nothing is on hold")
    else:
        rows = [
            (str(one.id), company_of_hold(one), _what(one), to_rfc3339(one.created_at), one.body["reason"]) for one in holds
        ]
        write_table(("hold", "of", "what", "since (UTC)", "reason"), rows)


def _what(record: Record) -> str:
    return ", ".join(record.body.get("channels", HELD_BY_DEFAULT))
