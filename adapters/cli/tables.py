"""How does a command show rows? In columns under headings, bold on a terminal; the heading of a time names its zone."""

from collections.abc import Sequence
from datetime import UTC, datetime

import click

BETWEEN = "  "


def write_table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Write rows to standard output, each column as wide as its longest value; scripts read `--json` instead."""
    widths = [max(len(row[place]) for row in (headings, *rows)) for place in range(len(headings))]
    click.echo(click.style(_line(headings, widths), bold=True))
    for row in rows:
        click.echo(_line(row, widths))


def show_utc(at: datetime | None) -> str:
    """Return an instant for a column whose heading says UTC."""
    return "" if at is None else at.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S")


def _line(row: Sequence[str], widths: Sequence[int]) -> str:
    return BETWEEN.join(f"{value:{width}}" for value, width in zip(row, widths, strict=True)).rstrip()
