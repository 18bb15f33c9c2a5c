"""What would a schedule do to a lead? A simulation: it uses no deployment and contacts no one.

Imports are few and late, so that the command answers at once.
"""

import sys
import time
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from schemas.instant import Instant
from schemas.problems import PROBLEMS

if TYPE_CHECKING:
    from engine.partition.draft import RefusedError

INPUT_BYTES_MAX = 256 * 1024
"""As much as the HTTP interface takes in one body."""

SVG_FILE = click.Path(path_type=Path, dir_okay=False)

WIDTH_MIN = 100
"""Columns that the table needs where the output is no terminal."""

KINDS = {"call": "call", "sms": "text", "email": "e-mail", "webhook": "webhook", "callback": "promised call"}


class RefusedPreview(click.ClickException):
    """The preview is refused; reported on standard error, exit status 2."""

    exit_code = 2

    def __init__(self, refusal: "RefusedError", *, as_json: bool) -> None:
        super().__init__(refusal.detail)
        self._refusal = refusal
        self._as_json = as_json

    def show(self, file: Any = None) -> None:
        """Write the problem: one JSON object with `--json`, else a line for every fault."""
        refusal, title = self._refusal, PROBLEMS[self._refusal.code].title
        if self._as_json:
            problem = {"code": refusal.code, "title": title, "detail": self.message, "errors": refusal.errors}
            click.echo(msgspec.json.encode(problem), file=file, err=True)
            return
        click.echo(f"Error: {title}. {self.message}", file=file, err=True)
        for field, sentences in refusal.errors.items():
            for sentence in sentences:
                click.echo(f"  {field} {sentence}", file=file, err=True)


@click.command()
@click.argument("file", type=click.File("rb"))
@click.option("--svg", "svg_file", type=SVG_FILE, help="Also draw the plan on the days of its weeks, into this file.")
@click.option("--json", "as_json", is_flag=True, help="Machine-readable output.")
def preview(file: Any, svg_file: Path | None, as_json: bool) -> None:
    """Show what a schedule does to a lead: every action, when, and why then.

    FILE (- is standard input) holds one JSON object: schedule and lead, and if wanted at, outcomes, history and limit.
    """
    from engine.partition.draft import RefusedError  # noqa: PLC0415 - `--help` needs none of it
    from engine.preview import preview as foresee  # noqa: PLC0415
    from engine.preview import read_trial, shown  # noqa: PLC0415

    try:
        question = with_hours(read_question(file), is_drawn=svg_file is not None)
        trial = read_trial(question, now=Instant(time.time_ns() // 1_000_000))
        found = shown(foresee(trial))
    except RefusedError as refusal:
        raise RefusedPreview(refusal, as_json=as_json) from refusal
    if svg_file is not None:
        write_preview_picture(svg_file, found, title="What the schedule does to a lead", begins_at=trial.at)
    if as_json:
        click.echo(msgspec.json.encode({"preview": found}))
    else:
        show_forecast(found)


def read_question(file: Any) -> Any:
    """Return the JSON of a file. Raises `click.BadParameter`."""
    text = file.read(INPUT_BYTES_MAX + 1)
    if len(text) > INPUT_BYTES_MAX:
        raise click.BadParameter(f"has more than {INPUT_BYTES_MAX} bytes", param_hint="FILE")
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise click.BadParameter(f"holds no JSON: {error}", param_hint="FILE") from error


def with_hours(question: Any, *, is_drawn: bool) -> Any:
    """Return the question, so that its answer has the closed hours which a picture shades."""
    return {**question, "closed_hours": True} if is_drawn and isinstance(question, Mapping) else question


def write_preview_picture(path: Path, found: Mapping[str, Any], *, title: str, begins_at: Instant) -> None:
    """Write the picture of a preview. Raises `click.ClickException`."""
    from adapters.cli.picture_files import write_picture  # noqa: PLC0415 - only who asks for a picture waits for it
    from adapters.pictures.picture import to_svg  # noqa: PLC0415
    from adapters.pictures.preview import draw_preview  # noqa: PLC0415

    write_picture(path, to_svg(draw_preview(found, title=title, begins_at=begins_at, end=_end(found))))


def show_forecast(found: Mapping[str, Any]) -> None:
    """Print a preview as a table, and how it ends."""
    from rich.console import Console  # noqa: PLC0415 - only people see a table
    from rich.table import Table  # noqa: PLC0415

    console = Console(file=sys.stdout, markup=False, highlight=False)  # step ids are free text
    if not console.is_terminal:
        console.width = max(console.width, WIDTH_MIN)
    table = Table("when", "zone", "what", "step", "attempt", "why not sooner", box=None, pad_edge=False)
    for action in found["actions"]:
        attempt = "" if action["attempt"] is None else str(action["attempt"])
        what = KINDS.get(action["kind"], action["kind"])
        table.add_row(_when(action["local_at"]), action["time_zone"], what, action["step_id"] or "", attempt, _why(action))
    if found["actions"]:
        console.print(table)
        console.print()
    console.print(_end(found))
    for warning in found.get("warnings", ()):
        console.print(f"Warning: {warning}")


def _when(local_at: str) -> str:
    moment = datetime.fromisoformat(local_at)
    seconds = f":{moment:%S}" if moment.second else ""
    return f"{moment:%a} {moment.day} {moment:%b %Y %H:%M}{seconds}"


def _why(action: Mapping[str, Any]) -> str:
    from engine.why.reason_texts import describe_wait  # noqa: PLC0415

    said = "; ".join(describe_wait(code) for code in action["reasons"])
    return f"{said} ({action['rule']})" if action["rule"] else said


def _end(found: Mapping[str, Any]) -> str:
    from engine.views.lead import SENTENCES  # noqa: PLC0415
    from engine.why.reason_texts import describe_wait  # noqa: PLC0415

    if found["end_status"] is not None:
        return f"{SENTENCES.get(found['end_status'], found['end_status'])} ({_ended(found)})"
    if found["status_wait"] == "limit":
        return f"More follows: these are the first {len(found['actions'])} actions; raise limit to see more"
    if found["status_wait"] == "moved_to_schedule":
        return "From here the lead continues on another schedule, which is not simulated"
    return f"Held: {describe_wait(found['status_wait'])}"


def _ended(found: Mapping[str, Any]) -> str:
    """Return when it ended on the clock of the last action, else in UTC."""
    from engine.calendar.zones import local_datetime  # noqa: PLC0415
    from schemas.instant import from_datetime  # noqa: PLC0415

    zone = found["actions"][-1]["time_zone"] if found["actions"] else "UTC"
    ended_at = from_datetime(datetime.fromisoformat(found["ended_at"]))
    return f"{_when(local_datetime(ended_at, zone).isoformat())} {zone}"
