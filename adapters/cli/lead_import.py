"""How are the leads of a file imported? `leadclock leads import FILE`: with a preview, a check of each line, and resume."""

import sys
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any

import click
import msgspec
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

from adapters.cli.deployment import option, resolve_settings, run
from adapters.cli.failures import report_errors
from adapters.cli.identity_check import open_checked
from adapters.cli.progress import bars
from adapters.imports.importing import ImportPlan, check_file, import_file, map_columns, sample
from adapters.imports.mapping import ColumnUse, read_typed
from adapters.imports.progress import ImportProgress, ProgressFile, import_id
from adapters.imports.rows import FORMATS, FileFacts, ImportFile, ImportFileError, examine, format_of, header
from adapters.roles.context import Context, open_context
from adapters.settings import Settings
from engine.rules import Rules
from engine.submission.near_names import field_of

SOME_REFUSED = 1
"""Exit status where rows were refused; the others were sent."""


@click.command(name="import")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--lead-token", required=True, help="Of the schedule or offer that the leads are for.")
@click.option("--map", "pairs", multiple=True, metavar="COLUMN=FIELD", help="May be repeated; COLUMN=- leaves one out.")
@click.option("--consent-text", help="Words of the form by which all leads of the file consented that state no consent.")
@click.option("--consent-url", help="Where that form is.")
@click.option("--dry-run", is_flag=True, help="Show the mapping and check every line; send nothing.")
@click.option("--again", is_flag=True, help="Import a file that was imported already once more, on purpose.")
@click.option("--format", "form", type=click.Choice(sorted({*FORMATS.values()})), help="[by the end of the name]")
@click.option(
    "--encoding",
    default="utf-8",
    show_default=True,
    help="Of a CSV file: such as cp1252, or mixed.",
)
@click.option("--delimiter", help="Of a CSV file.  [comma, semicolon, tab or bar: what its first line has most]")
@click.option("--errors", type=click.Path(path_type=Path, dir_okay=False), help="[FILE.errors.csv]")
@click.option("--warnings", type=click.Path(path_type=Path, dir_okay=False), help="[FILE.warnings.csv]")
@option
@report_errors
def import_(  # noqa: PLR0917 - one parameter per option, given by name
    file: Path,
    lead_token: str,
    pairs: tuple[str, ...],
    consent_text: str | None,
    consent_url: str | None,
    dry_run: bool,
    again: bool,
    form: Any,
    encoding: str,
    delimiter: str | None,
    errors: Path | None,
    warnings: Path | None,
    data_dir: Path,
    as_json: bool,
) -> None:
    """Put the leads of a CSV, XLSX, NDJSON or XML file on leads.inbox.bulk, each line once.

    An import that was interrupted continues where it stopped: run the same command again. Lines that are wrong are not sent;
    the file of errors says which, and what to correct. The file of warnings says what was changed or left out of lines that
    were sent.

    Exit status: 0 where every line was sent (or is right, with --dry-run), 1 where some were refused or the file cannot be
    read, 2 for wrong arguments.
    """
    typed = read_typed(pairs)
    source = ImportFile(file, form or format_of(file), encoding, delimiter)
    facts = examine(source)
    errors = errors or file.with_name(f"{file.name}.errors.csv")
    warnings = warnings or file.with_name(f"{file.name}.warnings.csv")
    stated = {name: value for name, value in (("text", consent_text), ("url", consent_url)) if value}
    header(source)  # a file without columns is refused before anything is opened

    def plan_by(rules: Rules) -> ImportPlan:
        mapping = map_columns(source, typed, rules, lead_token, stated)
        return ImportPlan(file=source, mapping=mapping, lead_token=lead_token, errors=errors, warnings=warnings)

    settings = resolve_settings(data_dir)
    stored = ProgressFile(data_dir, import_id(source, facts, typed, lead_token, stated))
    progress = ImportProgress(id="") if dry_run else _begun(stored.load(), again=again)
    was_imported = progress.is_finished
    if was_imported:
        click.echo("this file was imported already: nothing is sent; type --again to import it once more", err=True)
    else:
        work = _check if dry_run else partial(_import, stored)
        run(_with_rules(settings, plan_by, lead_token, partial(work, facts, progress), is_quiet=as_json, writes=not dry_run))
    _report((errors, warnings), progress, dry_run=dry_run, was_imported=was_imported, as_json=as_json)
    if progress.refused:
        raise click.exceptions.Exit(SOME_REFUSED)


def _begun(progress: ImportProgress, *, again: bool) -> ImportProgress:
    """Return the progress to go on from; with `again`, that of a further import of a finished one."""
    if not again or progress.offset is None:
        return progress
    if not progress.is_finished:
        raise ImportFileError("this import is not over: run it without --again to continue it")
    return ImportProgress(id=progress.id, number=progress.number + 1)


async def _with_rules(
    settings: Settings,
    plan_by: Callable[[Rules], ImportPlan],
    lead_token: str,
    work: Callable[[ImportPlan, Context], Awaitable[None]],
    *,
    is_quiet: bool,
    writes: bool,
) -> None:
    """Work with the rules that lines are checked by. Raises `ImportFileError` where no schedule or offer has the token."""
    async with (open_checked if writes else open_context)(settings) as context:
        await context.rules.refresh()
        if context.rules.rules.target(lead_token) is None:
            raise ImportFileError("no offer and no schedule has this --lead-token; copy it from their settings")
        plan = plan_by(context.rules.rules)
        if not is_quiet:
            _show_mapping(plan)
        await work(plan, context)


async def _check(facts: FileFacts, progress: ImportProgress, plan: ImportPlan, context: Context) -> None:
    with _bar() as bar:
        task = bar.add_task("checked", total=facts.last_line)
        check_file(plan, context, progress, lambda line: bar.update(task, completed=line))


async def _import(
    stored: ProgressFile, facts: FileFacts, progress: ImportProgress, plan: ImportPlan, context: Context
) -> None:
    with _bar() as bar:
        task = bar.add_task("sent", total=facts.last_line, completed=progress.line)
        await import_file(plan, context, stored, progress, lambda line: bar.update(task, completed=line))


def _bar() -> Progress:
    return bars(TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())


def _show_mapping(plan: ImportPlan) -> None:
    width = max(len(use.column) for use in plan.mapping.uses)
    for use in plan.mapping.uses:
        click.echo(f"  {use.column:{width}}  ->  {_becomes(use)}", err=True)
    shown = {name: value for name, value in sample(plan).items() if name != "lead_token"}
    click.echo(f"  first lead: {msgspec.json.encode(shown).decode()}", err=True)


def _becomes(use: ColumnUse) -> str:
    """Return what a column becomes, in words; a token may be understood as a field by its name."""
    if use.use == "map":
        return "read as a post"
    if use.field is None or use.use != "token":
        return use.field or "not imported"
    meant = field_of(use.field)
    return f"token {use.field}" if meant in {None, use.field} else f"token {use.field}, and {meant} where it can be read"


def _report(files: tuple[Path, Path], progress: ImportProgress, *, dry_run: bool, was_imported: bool, as_json: bool) -> None:
    errors, warnings = (
        str(file) if count else None for file, count in zip(files, (progress.refused, progress.warned), strict=True)
    )
    if as_json:
        counts = {"sent": 0 if dry_run else progress.sent, "good": progress.sent, "refused": progress.refused}
        counts |= {"warned": progress.warned}
        written = {"errors": errors, "warnings": warnings}
        named = {"import": progress.id or None, "lead_import_id": None if dry_run else progress.lead_import_id}
        click.echo(msgspec.json.encode({**named, **counts, **written, "dry_run": dry_run, "was_imported": was_imported}))
        return
    sent = "were sent then" if was_imported else "were sent"
    done = "are right; nothing was sent" if dry_run else sent
    click.echo(f"{progress.sent:,} leads {done}, {_refused(progress.refused)}" + (f": see {errors}" * bool(errors)))
    if warnings:
        click.echo(f"{progress.warned:,} of them have a warning: see {warnings}")
    if not dry_run:
        click.echo(f"their lead_import_id is {progress.lead_import_id}")
    if not dry_run and sys.stderr.isatty():
        click.echo("`leadclock leads tail` shows what comes of them", err=True)


def _refused(count: int) -> str:
    return "1 line was refused" if count == 1 else f"{count:,} lines were refused"
