"""Does the database show what was decided? Show its status, verify it, or rebuild it beside the old one and swap."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
import msgspec
from rich.progress import BarColumn, MofNCompleteColumn, TaskID, TextColumn, TimeRemainingColumn

from adapters.cli.database import open_database
from adapters.cli.deployment import option, resolve_settings, run
from adapters.cli.failures import report_errors
from adapters.cli.identity_check import open_checked
from adapters.cli.progress import bars
from adapters.cli.unproved import UNPROVED
from adapters.projector.checksums import CHECKSUMMED_TABLES
from adapters.projector.rebuild import Rebuild, RebuildResult
from adapters.projector.rebuild import rebuild as rebuild_it
from adapters.projector.rebuild import verify as verify_it
from adapters.projector.status import ProjectionStatus, status_of
from adapters.roles.context import open_context
from adapters.settings import Settings, require
from schemas.instant import to_rfc3339

POOL_SIZE = 8
WRITE_SECONDS = 120.0
"""Limit for one batch of a rebuild while the database also serves other work."""


@click.group()
def projection() -> None:
    """Look at the read schema, verify it, or build it again."""


@projection.command()
@click.option("--quick", is_flag=True, help="Skip the checksums, which read every row.")
@option
@report_errors
def status(quick: bool, data_dir: Path, as_json: bool) -> None:
    """Show how far each partition is, and what it holds; exit 1 where a rebuild or a migration is needed."""
    found = run(_status(_settings(data_dir), with_checksums=not quick))
    if as_json:
        click.echo(msgspec.json.encode(found))
    else:
        _show_status(found)
    if found.missing or any(not partition.is_current for partition in found.partitions):
        raise click.exceptions.Exit(1)


@projection.command()
@option
@report_errors
def verify(data_dir: Path, as_json: bool) -> None:
    """Compare the projection with the fold of all decisions, at the same position; exit 1 where they differ.

    A second projection is built beside it for that, and dropped. Where they differ it stays, and `rebuild` goes on with it.
    Exit 3 where nothing differs, but the log has deleted the first decisions: rows that only these show are not judged.
    """
    outcome = run(_work(_settings(data_dir), verify_it, afresh=True))
    _show(outcome, as_json=as_json)
    if outcome.differences != []:
        raise click.exceptions.Exit(1)
    if outcome.begins:
        raise click.exceptions.Exit(UNPROVED)


@projection.command()
@click.option("--accept", is_flag=True, help="Swap although rows differ: what the decisions give is right.")
@click.option("--afresh", is_flag=True, help="Start again; do not resume an interrupted rebuild.")
@option
@report_errors
def rebuild(accept: bool, afresh: bool, data_dir: Path, as_json: bool) -> None:
    """Build the projection again from the first decision, beside the one that is read, compare, and swap.

    Reads go on all the time. Interrupted, it goes on where it was when it is started again. Exit 1 where rows differ and
    nothing was swapped, 3 where it was swapped with rows that only deleted decisions show: they are kept as they were.
    """

    async def build(work: Rebuild) -> RebuildResult:
        return await rebuild_it(work, accept=accept)

    outcome = run(_work(_settings(data_dir), build, afresh=afresh))
    _show(outcome, as_json=as_json)
    if not outcome.swapped:
        raise click.exceptions.Exit(1)
    if outcome.begins:
        raise click.exceptions.Exit(UNPROVED)


def _settings(data_dir: Path) -> Settings:
    settings = resolve_settings(data_dir)
    require(settings, "postgres_dsn")
    return settings


async def _status(settings: Settings, *, with_checksums: bool) -> ProjectionStatus:
    async with open_context(settings) as context, open_database(settings, size=2) as pool:
        with _bars() as progress:
            done = 0

            def summed(_table: str) -> None:
                nonlocal done
                done += 1
                progress("checksums", done, len(CHECKSUMMED_TABLES))

            return await status_of(
                context.log,
                pool,
                context.clock,
                settings.postgres_dsn,
                names=context.names,
                with_checksums=with_checksums,
                progress=summed,
            )


async def _work(settings: Settings, do: Callable[[Rebuild], Any], *, afresh: bool) -> RebuildResult:
    async with open_checked(settings, with_database=True) as context:
        connected = open_database(settings, size=POOL_SIZE, command_seconds=WRITE_SECONDS, name="leadclock rebuild")
        async with connected as pool:
            with _bars() as progress:
                work = Rebuild(
                    context.log,
                    pool,
                    context.clock,
                    settings.postgres_dsn,
                    contact_ids=context.contact_ids(),
                    names=context.names,
                    progress=progress,
                    afresh=afresh,
                )
                outcome: RebuildResult = await do(work)
                return outcome


@contextmanager
def _bars() -> Iterator[Callable[[str, int, int], None]]:
    """Show a bar for each stage on standard error."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with bars(*columns) as shown:
        tasks: dict[str, TaskID] = {}

        def progress(stage: str, done: int, total: int) -> None:
            if stage not in tasks:
                tasks[stage] = shown.add_task(stage)
            shown.update(tasks[stage], completed=done, total=total)

        yield progress


def _show(outcome: RebuildResult, *, as_json: bool) -> None:
    if as_json:
        click.echo(msgspec.json.encode(outcome))
        return
    resumed = ", the rest of an interrupted one" if outcome.resumed else ""
    click.echo(f"{outcome.decisions} decisions read{resumed}, {outcome.rows} rows written")
    if outcome.gaps:
        click.echo(
            f"decisions are missing within what the log holds: {outcome.gaps} gaps, rows from before them may be missing"
        )
    for one in outcome.begins:
        left = "holds no decision any more" if one.sequence is None else f"begins at decision {one.sequence}"
        click.echo(f"the log of {one.topic}[{one.partition}] {left}: rows that only earlier ones show are not judged")
    if outcome.carried:
        click.echo(f"{outcome.carried} rows were carried over as they were shown, because only deleted decisions show them")
    if outcome.faults:
        click.echo(f"{outcome.faults} decisions could not be shown; the table `faults` says why")
    _show_differences(outcome)
    if outcome.swapped:
        click.echo("the new projection is the one that is read now")
    if outcome.former_kept:
        click.echo("the former one (schema read_former) is still being read; the next rebuild drops it")


def _show_differences(outcome: RebuildResult) -> None:
    if outcome.differences is None:
        click.echo("the topics were created again since the projection was written: there is nothing to compare it with")
    elif not outcome.differences:
        click.echo(
            "every row that the log still shows is what the decisions say"
            if outcome.begins
            else "every row is what the decisions say"
        )
    for one in outcome.differences or ():
        click.echo(f"{one.table}, from {one.place}: {one.rows_shown} rows shown, {one.rows_decided} decided")
        for what, keys in (("missing", one.missing), ("too much", one.extra), ("different", one.changed)):
            if keys:
                click.echo(f"  {what}: {', '.join(keys)}")
    if outcome.differences != [] and not outcome.swapped:
        click.echo("nothing was swapped; `leadclock projection rebuild --accept` swaps, and goes on from here")


def _show_status(found: ProjectionStatus) -> None:
    if found.version is None:
        click.echo("there is no projection; `leadclock db migrate` makes its tables")
        return
    click.echo(f"version {found.version}, {found.lag} decisions behind, checksum {found.checksum or 'not asked for'}")
    for name in found.missing:
        click.echo(f"missing: {name} (`leadclock db migrate`)")
    if found.rebuild_begun:
        click.echo(
            "a rebuild or verification is under way, or was interrupted: `leadclock projection rebuild` goes on with it"
        )
    click.echo(f"{'partition':24} {'next offset':>12} {'lag':>8} {'sequence':>10} {'owners':>7}  {'decided at':24} checksum")
    for one in found.partitions:
        decided = "-" if one.decided_at is None else to_rfc3339(one.decided_at)
        click.echo(
            f"{f'{one.topic}[{one.partition}]':24} {one.next_offset:12} {one.lag:8} {one.sequence:10} {one.epoch:7}"
            f"  {decided:24} {one.checksum or '-'}{'' if one.is_current else '  of another topic: rebuild'}"
        )
