"""Which schedules, offers and buyers has a company? `leadclock schedules|offers|buyers list|show`, as the log holds them.

Read from `accounts.rules`, so that it needs neither a key nor the database. The API alone shows what calls count up.
"""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import click

from adapters.cli.deployment import ID, option, resolve_settings, run
from adapters.cli.failures import report_errors
from adapters.cli.picture_files import write_picture
from adapters.cli.tables import write_table
from adapters.http.exchange.parameters import read_id
from adapters.pictures.picture import to_svg
from adapters.roles.context import open_context
from adapters.settings import Settings
from engine.account.references import unique_values
from engine.views.record import counted_columns, record_columns, record_view
from schemas.instant import Instant, to_datetime
from schemas.records import Record, RecordType, Schedule, body_of, called
from schemas.wire import to_json

LISTED = ("id", "name", "token or other key", "state")

INSTANTS = ("created_at", "updated_at", "user_updated_at", "deleted_at")


def _group(record_type: RecordType, collection: str) -> click.Group:
    """Return the commands for the records of one type."""
    a_record = called(record_type)
    words = a_record.partition(" ")[2]

    @click.command(name="list", help=f"List the {collection} of a company, by id.")
    @click.option("--company", "company_id", type=ID, default=1, show_default=True)
    @option
    @report_errors
    def list_(company_id: int, data_dir: Path, as_json: bool) -> None:
        records = sorted(run(_read(resolve_settings(data_dir), company_id, record_type)), key=lambda record: record.id)
        if as_json:
            click.echo(to_json({collection: [shown_record(record, collection) for record in records]}))
            return
        if not records:
            click.echo(f"company {company_id} has no {words}")
            return
        write_table(LISTED, [_list_row(record) for record in records])

    @click.command(help=f"Show {a_record} (id or uuid) with every field.")
    @_drawing_option(record_type)
    @click.argument("reference")
    @click.option("--company", "company_id", type=ID, default=1, show_default=True)
    @option
    @report_errors
    def show(reference: str, company_id: int, data_dir: Path, as_json: bool, svg_file: Path | None = None) -> None:
        found = find_record(run(_read(resolve_settings(data_dir), company_id, record_type)), reference)
        if found is None:
            raise click.ClickException(missing(record_type, company_id, reference))
        if svg_file is not None:
            _draw_schedule(svg_file, found)
        shown = shown_record(found, collection)
        if as_json:
            click.echo(to_json({record_type: shown}))
            return
        for name, value in shown.items():
            click.echo(f"{name:24} {_text(value)}".rstrip())

    return click.Group(collection, commands=[list_, show], help=f"List and show the {collection} of a company.")


def _drawing_option(record_type: RecordType) -> Callable[[Any], Any]:
    """Return the option that draws a record, for schedules: no other record flows."""
    if record_type != "schedule":
        return lambda command: command
    is_file = click.Path(path_type=Path, dir_okay=False)
    return click.option("--svg", "svg_file", type=is_file, help="Also draw its steps as a flow diagram, into this file.")


def _draw_schedule(path: Path, record: Record) -> None:
    from adapters.pictures.flow import draw_flow  # noqa: PLC0415 - lists of records do without

    body = body_of(record)
    assert isinstance(body, Schedule)  # noqa: S101 - only schedules have the option
    write_picture(path, to_svg(draw_flow(body)))


def find_record(records: Iterable[Record], reference: str) -> Record | None:
    """Return the record with an id or a uuid."""
    wanted = read_id(reference)
    return next((record for record in records if wanted in {record.id, record.uuid}), None)


def missing(record_type: RecordType, company_id: int, reference: str) -> str:
    """Return the sentence about a record that is not there."""
    words = called(record_type).partition(" ")[2]
    return f"company {company_id} has no {words} {reference} (an id or a uuid)"


async def _read(settings: Settings, company_id: int, record_type: RecordType) -> list[Record]:
    """Return the live records of a type."""
    async with open_context(settings) as context:
        await context.rules.refresh()
        return context.rules.rules.records(record_type, company_id)


def shown_record(record: Record, collection: str) -> dict[str, Any]:
    """Return a record as the API shows it, without the columns that calls count up."""
    row: dict[str, Any] = {
        **{name: getattr(record, name) for name in ("id", "uuid", "company_id", "version", "body")},
        **{name: _datetime(getattr(record, name)) for name in INSTANTS},
    }
    counted = counted_columns(record.type)
    columns = [name for name in record_columns(record.type) if name not in counted]
    return record_view(record.type, row, f"/api/v1/{collection}", columns)


def _datetime(at: Instant | None) -> Any:
    return None if at is None else to_datetime(at)


def _list_row(record: Record) -> tuple[str, ...]:
    keys = ", ".join(value for _, value in unique_values(body_of(record)).values())
    return str(record.id), record.body["name"], keys, _state(record.body)


def _state(body: Mapping[str, Any]) -> str:
    """Return what keeps a record from acting as its fields say."""
    marks = {
        "unpublished": body.get("unpublished", False),
        "draft waits": bool(body.get("draft_fields")) and not body.get("unpublished", False),
        "paused": body.get("paused", False),
    }
    return ", ".join(mark for mark, is_so in marks.items() if is_so)


def _text(value: Any) -> str:
    """Return a value on one line: text as it is, lists and objects as JSON."""
    if value is None:
        return ""
    return value if isinstance(value, str) else to_json(value).decode()


schedules = _group("schedule", "schedules")
offers = _group("offer", "offers")
buyers = _group("buyer", "buyers")
