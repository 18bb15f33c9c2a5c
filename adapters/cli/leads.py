"""What is happening to the leads? Their state and history, decisions as they are made, and a way to send one."""

import sys
from collections.abc import Mapping
from datetime import datetime
from operator import attrgetter
from pathlib import Path
from typing import Any

import click
import msgspec
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn

from adapters.cli.call_in import call_in, text_in
from adapters.cli.database import open_database
from adapters.cli.deployment import ID, open_checked, option, run, settings_of
from adapters.cli.failures import told
from adapters.cli.progress import bars
from adapters.http.parameters import read_id
from adapters.http.ports import LeadFilter, Page, Paging, Row
from adapters.partitions.routing import partition_of
from adapters.postgres.reads import PostgresReads
from adapters.roles.context import Context, open_context
from adapters.settings import Settings, require
from adapters.why.outlook import outlook_of
from engine.partition.ports import LogError, Outgoing, Record
from engine.submission.numbers import read_number
from engine.views.lead import CSS_STATUSES
from engine.why.outlook import HOURS_MAX
from engine.why.words import waiting_words
from schemas.decisions import Decision
from schemas.envelope import Envelope, to_headers
from schemas.instant import to_rfc3339
from schemas.topics import CONTACTS_DECISIONS, LEADS_INBOX
from schemas.wire import digest

FORECAST_MAX = 1_000_000
"""Leads of one forecast: a quarter of an hour's work."""

LIST_MAX = 1_000
"""Leads of one list; --cursor goes on."""

TAIL_LIMIT = 500
TAIL_SECONDS = 0.5

_APPENDED_AT = attrgetter("appended_at")


@click.group()
def leads() -> None:
    """List, watch, show and send leads."""


leads.add_command(call_in)
leads.add_command(text_in)


@leads.command()
@click.option("--company", "company_id", type=ID, default=1, show_default=True)
@click.option("--from-start", is_flag=True, help="Begin with the oldest decision that the topic holds.")
@click.option("--once", is_flag=True, help="Stop at the present end instead of waiting for more.")
@option
@told
def tail(company_id: int, from_start: bool, once: bool, data_dir: Path, as_json: bool) -> None:
    """Show what is decided about leads, as it is decided."""
    try:
        run(_tail(settings_of(data_dir), company_id, from_start=from_start, once=once, as_json=as_json))
    except KeyboardInterrupt:
        return


@leads.command(name="list")
@click.option("--status", type=click.Choice(list(CSS_STATUSES)), help="Only leads with this status.")
@click.option("--number", help="Only leads with this telephone number.")
@click.option(
    "--limit", type=click.IntRange(1, LIST_MAX), default=20, show_default=True, help="The newest so many, newest first."
)
@click.option("--cursor", type=ID, help="Only leads with a lower id: next_cursor of the list before.")
@click.option("--company", "company_id", type=ID, default=1, show_default=True)
@option
@told
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
    settings = settings_of(data_dir)
    require(settings, "postgres_dsn")
    wanted = LeadFilter(status=status, caller_id=None if number is None else _e164(number))
    page = run(_listed(settings, company_id, wanted, Paging(cursor=cursor or -1, per_page=limit, counted=False)))
    if as_json:
        rows = [_plain(row) for row in page.rows]
        click.echo(msgspec.json.encode({"leads": rows, "next_cursor": page.next_cursor or 0}))
        return
    if not page.rows:
        click.echo("no lead")
    for row in page.rows:
        reached_at = row["caller_id"] or row["email"]
        due = _text(row["next_action_at"])
        click.echo(f"{row['id']:>8}  {reached_at:24} {row['status']:20} {row['status_wait'] or '':24} {due}".rstrip())


@leads.command()
@click.argument("lead")
@click.option("--company", "company_id", type=ID, default=1, show_default=True)
@option
@told
def show(lead: str, company_id: int, data_dir: Path, as_json: bool) -> None:
    """Show a lead (id or uuid) and its history."""
    settings = settings_of(data_dir)
    require(settings, "postgres_dsn")
    row, history = run(_show(settings, company_id, lead))
    if row is None:
        raise click.ClickException(f"company {company_id} has no lead {lead} (an id or a uuid)")
    if as_json:
        click.echo(msgspec.json.encode({"lead": _plain(row), "history": [_plain(fact) for fact in history]}))
        return
    for name in ("id", "uuid", "status", "status_wait", "caller_id", "email", "step", "attempts", "next_action_at"):
        click.echo(f"{name:16} {_text(row.get(name))}")
    click.echo()
    for fact in history:
        click.echo(f"{_text(fact['at'])}  {fact['type']:24} {_data(fact['data'])}")


@leads.command()
@click.option("--hours", type=click.IntRange(1, HOURS_MAX), default=24, show_default=True)
@click.option(
    "--limit", type=click.IntRange(1, FORECAST_MAX), default=10_000, show_default=True, help="Leads, soonest first."
)
@click.option("--company", "company_id", type=ID, default=1, show_default=True)
@option
@told
def forecast(*, hours: int, limit: int, company_id: int, data_dir: Path, as_json: bool) -> None:
    """Show per hour what will be due, which leads will expire before they may be contacted, and where caps keep leads back.

    Every lead is run on by the code that decides, on a clock of its own; nothing is stored.
    """
    settings = settings_of(data_dir)
    require(settings, "postgres_dsn")
    found = run(_forecast(settings, company_id, hours=hours, limit=limit))
    if as_json:
        click.echo(msgspec.json.encode({"forecast": found}))
    else:
        _show_forecast(found)


@leads.command()
@click.argument("submission")
@option
@told
def send(submission: str, data_dir: Path, as_json: bool) -> None:
    """Put a submission (a JSON object, or - for standard input) on leads.inbox."""
    text = sys.stdin.read() if submission == "-" else submission
    try:
        msgspec.json.decode(text, type=dict[str, Any])
    except msgspec.DecodeError as error:
        raise click.BadParameter(f"not a JSON object: {error}") from error
    partition, offset = run(_send(settings_of(data_dir), text.encode()))
    if as_json:
        click.echo(msgspec.json.encode({"topic": LEADS_INBOX.name, "partition": partition, "offset": offset}))
    else:
        click.echo(f"{LEADS_INBOX.name}[{partition}] at offset {offset}; `leadclock leads tail` shows what comes of it")


async def _forecast(settings: Settings, company_id: int, *, hours: int, limit: int) -> dict[str, Any]:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    async with open_context(settings) as context:
        await context.rules.refresh()
        async with open_database(settings) as pool:
            with bars(*columns) as progress:
                task = progress.add_task("leads", total=limit)
                return await outlook_of(
                    PostgresReads(pool),
                    context.rules.rules,
                    company_id,
                    now=context.clock.now(),
                    hours=hours,
                    limit=limit,
                    progress=lambda count: progress.advance(task, count),
                )


def _show_forecast(found: Mapping[str, Any]) -> None:
    click.echo(f"{'hour (UTC)':20} {'calls':>7} {'texts':>7} {'e-mails':>7} {'webhooks':>8}")
    for hour in found["hours"]:
        click.echo(f"{hour['from']:20} {hour['call']:7} {hour['sms']:7} {hour['email']:7} {hour['webhook']:8}")
    click.echo()
    click.echo(f"{found['leads']} leads were run on, {_left_out(found['left_out'])} left out (limit {found['limit']})")
    click.echo(f"{found['expiring']['count']} will expire before they may be contacted")
    for cap in found["caps"]:
        click.echo(f"{cap['leads']} are kept back by the cap of {cap['rule']}")
    for held in found["held"]:
        click.echo(f"{held['leads']} are held: {waiting_words(held['status_wait'])}")
    click.echo(f"assumed: {'; '.join(found['assumed'])}")


def _left_out(count: int | None) -> str:
    return "more than 10,000" if count is None else str(count)


async def _tail(settings: Settings, company_id: int, *, from_start: bool, once: bool, as_json: bool) -> None:
    async with open_context(settings) as context:
        topic = context.names.of(CONTACTS_DECISIONS.name)
        partitions = range(await context.log.partition_count(topic))
        reader = await context.log.reader(topic, partitions, start=0 if from_start else None)
        ends = {partition: await reader.end(partition) for partition in partitions}
        try:
            while not once or any(reader.position(partition) < end for partition, end in ends.items()):
                found = await reader.poll(limit=TAIL_LIMIT, timeout_seconds=TAIL_SECONDS)
                for record in sorted(found, key=_APPENDED_AT):
                    _tell(record, company_id, as_json=as_json)
        finally:
            await reader.close()


def _tell(record: Record, company_id: int, *, as_json: bool) -> None:
    """Print the facts of one decision, one line each."""
    decision = msgspec.json.decode(record.value or b"", type=Decision)
    if decision.cause.kind == "adoption" or not _is_of(decision, company_id):
        return
    if as_json:
        click.echo(record.value or b"")
        return
    at = to_rfc3339(decision.decided_at)
    if decision.verdict != "done" and decision.answer is not None:
        click.echo(f"{at}  {decision.verdict}: {decision.answer.code} {decision.answer.detail}")
    for fact in decision.facts:
        click.echo(f"{at}  {'' if fact.lead_id is None else f'lead {fact.lead_id}':14} {fact.type:24} {_data(fact.data)}")


def _is_of(decision: Decision, company_id: int) -> bool:
    """Tell whether a decision is about a company, by the contact key that every change or cause carries."""
    keys = [decision.cause.key or "", *(change.key for change in decision.changes)]
    heads = [key.removeprefix("head/").partition("|")[0] for key in keys if "|" in key]
    return not heads or str(company_id) in heads


async def _show(settings: Settings, company_id: int, lead: str) -> tuple[Mapping[str, Any] | None, list[Mapping[str, Any]]]:
    async with open_database(settings) as pool:
        reads = PostgresReads(pool)
        reference = read_id(lead)
        row = None if reference is None else await reads.lead(company_id, reference)
        return row, [] if row is None else list(await reads.lead_history(company_id, row["id"]))


async def _listed(settings: Settings, company_id: int, wanted: LeadFilter, paging: Paging) -> Page:
    async with open_database(settings) as pool:
        return await PostgresReads(pool).leads(company_id, wanted, paging)


async def _send(settings: Settings, body: bytes) -> tuple[int, int]:
    async with open_checked(settings) as context:
        appender = await context.log.appender()
        try:
            return await _append(context, appender, body)
        finally:
            await appender.close()


async def _append(context: Context, appender: Any, body: bytes) -> tuple[int, int]:
    topic = context.names.of(LEADS_INBOX.name)
    partition = partition_of(body, await context.log.partition_count(topic))
    envelope = Envelope(id=f"cli/{context.clock.now()}/{digest(body)}", type="lead.submitted", source="/cli")
    offsets = await appender.append(partition, [Outgoing(topic, None, body, to_headers(envelope))])
    if not offsets:
        raise LogError("the log did not say where the record went")
    return partition, offsets[0]


def _e164(number: str) -> str:
    found = read_number(number, "US")
    if found is None:
        raise click.BadParameter("is not a telephone number such as +13055550123", param_hint="--number")
    return found.e164


def _plain(row: Row) -> dict[str, Any]:
    """Return a row as JSON takes it."""
    return dict(row.items())


def _text(value: object) -> str:
    return value.isoformat(timespec="seconds") if isinstance(value, datetime) else "" if value is None else str(value)


def _data(data: Mapping[str, Any]) -> str:
    return "  ".join(f"{name}={_told(name, value)}" for name, value in data.items() if value not in (None, "", [], {}))


def _told(name: str, value: object) -> str:
    is_instant = (name == "at" or name.endswith("_at")) and isinstance(value, int)
    return to_rfc3339(value) if is_instant and isinstance(value, int) else str(value)
