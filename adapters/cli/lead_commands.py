"""What happens to the leads? Their state, their history and a forecast."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import click
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn

from adapters.cli.database import open_database
from adapters.cli.deployment import ID, option, resolve_settings, run
from adapters.cli.failures import report_errors
from adapters.cli.picture_files import write_picture
from adapters.cli.preview import SVG_FILE
from adapters.cli.progress import bars
from adapters.cli.tables import show_utc, write_table
from adapters.http.exchange.parameters import read_id
from adapters.pictures.forecast import draw_forecast
from adapters.pictures.lead import detail_of_event, label_of
from adapters.pictures.picture import stacked, to_page, to_svg
from adapters.postgres.reads import PostgresReads
from adapters.reads.ports import LeadFilter, Page, Paging, Row
from adapters.roles.context import open_context
from adapters.settings import Settings, require
from adapters.why.outlook import outlook_of
from engine.calendar import is_zone
from engine.submission.numbers import find_number
from engine.views.lead import CSS_STATUSES
from engine.why.outlook import HOURS_MAX
from engine.why.reason_texts import describe_wait
from schemas.records import Company
from schemas.wire import to_json

FORECAST_MAX = 1_000_000
"""Leads of one forecast; so many take a quarter of an hour."""

LISTED = ("id", "number or address", "status", "waits for", "next action (UTC)", "submitted (UTC)")

LIST_MAX = 1_000
"""Leads of one list; --cursor continues it."""


@click.command(name="list")
@click.option("--status", type=click.Choice(list(CSS_STATUSES)), help="Only leads with this status.")
@click.option("--number", help="Only leads with this telephone number.")
@click.option(
    "--limit", type=click.IntRange(1, LIST_MAX), default=20, show_default=True, help="The newest so many, newest first."
)
@click.option("--cursor", type=ID, help="Only leads with a lower id: next_cursor of the list before.")
@click.option("--company", "company_id", type=ID, default=1, show_default=True)
@option
@report_errors
def list_(  # noqa: PLR0917 - one parameter per option, given by name
    status: str | None,
    number: str | None,
    limit: int,
    cursor: int | None,
    company_id: int,
    data_dir: Path,
    as_json: bool,
) -> None:
    """List leads, the newest first."""
    settings = resolve_settings(data_dir)
    require(settings, "postgres_dsn")
    wanted = LeadFilter(status=status, caller_id=None if number is None else _e164(number))
    page = run(_listed(settings, company_id, wanted, Paging(cursor=cursor or -1, per_page=limit, counted=False)))
    if as_json:
        rows = [_plain(row) for row in page.rows]
        click.echo(to_json({"leads": rows, "next_cursor": page.next_cursor or 0}))
        return
    if not page.rows:
        click.echo("no lead")
        return
    write_table(LISTED, [_list_row(row) for row in page.rows])


@click.command()
@click.argument("lead")
@click.option("--company", "company_id", type=ID, default=1, show_default=True)
@option
@report_errors
def show(lead: str, company_id: int, data_dir: Path, as_json: bool) -> None:
    """Show a lead (id or uuid) and its history."""
    settings = resolve_settings(data_dir)
    require(settings, "postgres_dsn")
    row, history = run(_show(settings, company_id, lead))
    if row is None:
        raise click.ClickException(f"company {company_id} has no lead {lead} (an id or a uuid)")
    if as_json:
        click.echo(to_json({"lead": _plain(row), "history": [_plain(fact) for fact in history]}))
        return
    _show_lead(row, history)


@click.command()
@click.option("--hours", type=click.IntRange(1, HOURS_MAX), default=24, show_default=True)
@click.option(
    "--limit", type=click.IntRange(1, FORECAST_MAX), default=10_000, show_default=True, help="Leads, soonest first."
)
@click.option(
    "--svg", "svg_file", type=SVG_FILE, help="Also draw heat maps of the hours, by day and by state, into this file."
)
@click.option("--html", "html_file", type=SVG_FILE, help="Also write them as a page, with tables of the numbers.")
@click.option("--zone", "zone_name", help="Whose clock the heat maps show.  [default: that of the company]")
@click.option("--company", "company_id", type=ID, default=1, show_default=True)
@option
@report_errors
def forecast(
    *,
    hours: int,
    limit: int,
    svg_file: Path | None,
    html_file: Path | None,
    zone_name: str | None,
    company_id: int,
    data_dir: Path,
    as_json: bool,
) -> None:
    """Show per hour what will be due, which leads will expire before they may be contacted, and which caps delay leads.

    The code that decides simulates every lead; nothing is stored.
    """
    settings = resolve_settings(data_dir)
    require(settings, "postgres_dsn")
    if zone_name is not None and svg_file is None and html_file is None:
        raise click.UsageError("--zone is for the heat maps; add --svg or --html")
    zone = None if zone_name is None else _zone(zone_name)
    company_zone, found = run(_forecast(settings, company_id, hours=hours, limit=limit))
    _write_heat_maps(found, zone or company_zone, svg_file, html_file)
    if as_json:
        click.echo(to_json({"forecast": found}))
    else:
        _show_forecast(found)


async def _forecast(settings: Settings, company_id: int, *, hours: int, limit: int) -> tuple[str, dict[str, Any]]:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    async with open_context(settings) as context:
        await context.rules.refresh()
        async with open_database(settings) as pool:
            with bars(*columns) as progress:
                task = progress.add_task("leads", total=limit)
                found = await outlook_of(
                    PostgresReads(pool),
                    context.rules.rules,
                    company_id,
                    now=context.clock.now(),
                    hours=hours,
                    limit=limit,
                    progress=lambda count: progress.advance(task, count),
                )
    company = context.rules.rules.body(Company, "company", company_id)
    return ("UTC" if company is None else company.time_zone), found


def _zone(name: str) -> str:
    if not is_zone(name):
        raise click.BadParameter("must be an IANA name such as America/New_York", param_hint="--zone")
    return name


def _write_heat_maps(found: Mapping[str, Any], zone: str, svg_file: Path | None, html_file: Path | None) -> None:
    if svg_file is None and html_file is None:
        return
    pictures, title = draw_forecast(found, zone=zone), "Forecast"
    if svg_file is not None:
        write_picture(svg_file, to_svg(stacked(title, pictures)))
    if html_file is not None:
        assumed = f"From {found['from']} to {found['to']}. Assumed: {'; '.join(found['assumed'])}."
        write_picture(html_file, to_page(title, assumed, pictures))


def _show_forecast(found: Mapping[str, Any]) -> None:
    click.echo(f"{'hour (UTC)':20} {'calls':>7} {'texts':>7} {'e-mails':>7} {'webhooks':>8}")
    for hour in found["hours"]:
        click.echo(f"{hour['from']:20} {hour['call']:7} {hour['sms']:7} {hour['email']:7} {hour['webhook']:8}")
    click.echo()
    click.echo(f"Simulated {found['leads']} leads; {_count_skipped(found['left_out'])} skipped (limit {found['limit']})")
    click.echo(f"{found['expiring']['count']} will expire before they may be contacted")
    for cap in found["caps"]:
        click.echo(f"{cap['leads']} are delayed by the cap of {cap['rule']}")
    for held in found["held"]:
        click.echo(f"{held['leads']} are held: {describe_wait(held['status_wait'])}")
    click.echo(f"assumed: {'; '.join(found['assumed'])}")


def _count_skipped(count: int | None) -> str:
    return "more than 10,000" if count is None else str(count or "none")


async def _show(settings: Settings, company_id: int, lead: str) -> tuple[Mapping[str, Any] | None, list[Mapping[str, Any]]]:
    async with open_database(settings) as pool:
        reads = PostgresReads(pool)
        reference = read_id(lead)
        row = None if reference is None else await reads.lead(company_id, reference)
        return row, [] if row is None else list(await reads.lead_history(company_id, row["id"]))


def _list_row(row: Row) -> tuple[str, ...]:
    reached_at, waits_for = row["caller_id"] or row["email"] or "", row["status_wait"] or ""
    times = (show_utc(row[name]) for name in ("next_action_at", "created_at"))
    return str(row["id"]), reached_at, row["status"], waits_for, *times


def _show_lead(row: Row, history: Sequence[Row]) -> None:
    """Write a lead and its history, newest first, on the clock of the lead."""
    zone = ZoneInfo(row.get("time_zone") or "UTC")
    for name in ("id", "uuid", "status", "status_wait", "caller_id", "email", "step", "attempts", "next_action_at"):
        click.echo(f"{name:16} {_text(row.get(name), zone)}".rstrip())
    click.echo()
    events = [{"event": fact["type"], "data": fact["data"], "at": fact["at"]} for fact in history]
    rows = [(_text(one["at"], zone), label_of(one), detail_of_event(one, zone.key)) for one in events]
    write_table((f"when ({zone.key})", "what", "details"), rows)


async def _listed(settings: Settings, company_id: int, wanted: LeadFilter, paging: Paging) -> Page:
    async with open_database(settings) as pool:
        return await PostgresReads(pool).leads(company_id, wanted, paging)


def _e164(number: str) -> str:
    found = find_number(number, "US")
    if found is None:
        raise click.BadParameter("is not a telephone number such as +13055550123", param_hint="--number")
    return found.e164


def _plain(row: Row) -> dict[str, Any]:
    """Return a row as JSON takes it."""
    return dict(row.items())


def _text(value: object, zone: ZoneInfo) -> str:
    if isinstance(value, datetime):
        return value.astimezone(zone).strftime("%Y-%m-%d %H:%M:%S %z")
    return "" if value is None else str(value)
