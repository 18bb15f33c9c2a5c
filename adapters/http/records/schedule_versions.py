"""Which versions does a schedule have? Publish its draft, and read every published version.

Versions are read where schedulers read them, in the log of account records, so they are the ones that leads are pinned to.
"""

from collections.abc import Iterator
from contextlib import suppress
from functools import partial

from msgspec import to_builtins

from adapters.http.exchange.answers import PAGING_PARAMETERS, read_columns, read_paging, reply_with_page
from adapters.http.exchange.exchange import Exchange, Operation, Reply
from adapters.http.exchange.parameters import Parameters
from adapters.http.exchange.sent_data import refuse_unseen_steps
from adapters.http.exchange.writes import read_if_match, submit_change
from adapters.http.records import live_leads
from adapters.http.records.records import KINDS_BY_TYPE, live_row, render
from adapters.http.records.served_channels import refuse_unserved
from adapters.http.schema.inputs import record_inputs
from adapters.http.schema.shapes import many_of, record_answer, view_name
from adapters.reads.ports import Page, Paging, Row
from engine.partition.ports import LogError
from engine.rules import Rules
from engine.views.record import record_columns, record_view
from schemas.instant import to_datetime
from schemas.requests import RecordChangeRequested

KIND = KINDS_BY_TYPE["schedule"]
ROOT = "versions"

PUBLISH_FIELDS = ("migrate",)
"""Fields of a publish request."""


async def publish(exchange: Exchange) -> Reply:
    """Publish the draft as the present version of the schedule."""
    row = await live_row(exchange, KIND)
    await refuse_unserved(exchange, KIND.type, row["body"].get("draft_fields", {}), row)
    refuse_unseen_steps(exchange, {}, row["body"], publishes=True)
    fields = {name: exchange.fields[name] for name in PUBLISH_FIELDS if name in exchange.fields}
    message = RecordChangeRequested(
        company_id=exchange.company_id,
        type=KIND.type,
        operation="publish",
        id=row["id"],
        fields=fields,
        if_versions=read_if_match(exchange),
    )
    effect = await live_leads.of_change(exchange, KIND.type, row, fields)
    return await submit_change(exchange, message, partial(render, effect=effect))


async def versions(exchange: Exchange) -> Reply:
    """Answer with every published version, the newest first."""
    row = await live_row(exchange, KIND)
    parameters = Parameters(exchange.query)
    known = record_columns(KIND.type)
    paging = read_paging(parameters, ())
    columns = read_columns(parameters, known)
    parameters.finish()
    source = exchange.services.source
    with suppress(LogError):  # while the log is unavailable nothing is published: what was read is complete
        await source.refresh()  # a version that was just published arrives here when it arrives at the schedulers
    found = _published(source.rules, row)
    if paging.cursor is not None and paging.cursor >= 0:
        found = [version for version in found if version["version"] < paging.cursor]
    return reply_with_page(
        exchange,
        ROOT,
        _cut(found, paging),
        paging=paging,
        columns=columns or known,
        view=lambda version: record_view(KIND.type, version, KIND.path, columns),
    )


def _published(rules: Rules, row: Row) -> list[Row]:
    """Return the published versions, newest first; saving a draft makes none."""
    found: list[Row] = []
    published_at = None
    for version, made_at in rules.versions(row["id"]):
        body = rules.schedule(row["id"], version)
        if body is None or body.unpublished or (found and body.published_at == published_at):
            continue
        published_at = body.published_at
        at = to_datetime(made_at)
        found.append({**row, "version": version, "updated_at": at, "user_updated_at": at, "body": to_builtins(body)})
    return found[::-1]


def _cut(found: list[Row], paging: Paging) -> Page:
    """Return the page; a cursor is the number of the last version that was shown."""
    start = 0 if paging.cursor is not None else (paging.page - 1) * paging.per_page
    rows = tuple(found[start : start + paging.per_page])
    more = rows[-1]["version"] if rows and len(found) > start + len(rows) else 0
    return Page(rows=rows, total_count=len(found), next_cursor=None if paging.cursor is None else more)


def _operations() -> Iterator[Operation]:
    path = f"{KIND.path}/{{id}}"
    yield Operation(
        name="publish_schedule",
        leads="none",
        records="visible",
        methods=("POST",),
        path=f"{path}/publish",
        summary="Publish the draft of a schedule",
        handler=publish,
        scope="schedule:update",
        rate="write",
        safe=False,
        body={
            "type": "object",
            "properties": record_inputs(KIND.type, PUBLISH_FIELDS),
        },
        answer=record_answer(KIND.type, KIND.root),
        problems=("invalid_schedule", "duplicate_value", "version_conflict"),
    )
    wanted = ("page", "per_page", "cursor", "columns", "root")
    yield Operation(
        name="list_schedule_versions",
        leads="none",
        records="visible",
        methods=("GET",),
        path=f"{path}/versions",
        summary="List the published versions of a schedule, newest first",
        handler=versions,
        scope="schedule:read",
        parameters={name: PAGING_PARAMETERS[name] for name in wanted},
        suffixes=("", ".csv", ".json"),
        answer=many_of(ROOT, view_name(KIND.type)),
    )


OPERATIONS: tuple[Operation, ...] = tuple(_operations())
