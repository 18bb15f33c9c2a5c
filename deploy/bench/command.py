"""How fast is it here? `leadclock bench` measures each row of `deploy/bench/table.py` and keeps the figures."""

import asyncio
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import click
import msgspec
from rich.console import Console
from rich.table import Table

from adapters.cli.failures import report_errors
from adapters.observability.logs import configure_logs
from adapters.up.folder import DEFAULT
from deploy.bench.large import LEADS_DEFAULT, LEADS_LARGE
from deploy.bench.row import Row
from deploy.bench.stage import open_stage
from deploy.bench.table import LARGE, MEASURES, Failure, run, write


@click.command()
@click.option("--only", "only", multiple=True, type=click.Choice(list(MEASURES)), help="Measure this row; may be repeated.")
@click.option("--data-dir", type=click.Path(path_type=Path, file_okay=False), default=DEFAULT, help="Where bench.json goes.")
@click.option(
    "--leads",
    default=LEADS_DEFAULT,
    show_default=True,
    help="Size of the company that lists, reports and pages are measured on.",
)
@click.option("--large", is_flag=True, help=f"Of {LEADS_LARGE:,} leads; the data set is kept in the data folder.")
@click.option("--json", "as_json", is_flag=True, help="Machine-readable output.")
@report_errors
def bench(only: tuple[str, ...], data_dir: Path, leads: int, large: bool, as_json: bool) -> None:
    """Measure against bare baselines on a broker and a database of this machine; a row that misses its goal exits 1."""
    size, dataset_folder = (LEADS_LARGE, data_dir.absolute() / "bench-large") if large else (leads, None)
    names = only or (LARGE if large else tuple(MEASURES))
    rows, failures = asyncio.run(_bench(names, data_dir.absolute() / "peers", size, dataset_folder))
    write(data_dir / "bench.json", rows)
    if as_json:
        click.echo(msgspec.json.encode(rows))
    else:
        Console().print(table(rows))
    for failure in failures:
        click.echo(f"{failure.name} was not measured: {failure.reason}", err=True)
    if failures or not all(row.is_met for row in rows):
        raise click.exceptions.Exit(1)


def table(rows: list[Row]) -> Table:
    """Return the rows as a table."""
    drawn = Table("row", "goal", "ratio", "ours", "baseline", "unit", title="leadclock bench: medians, taking turns")
    for row in rows:
        style = "green" if row.is_met else "red"
        baseline = "-" if row.baseline is None else _figure(row.baseline)
        drawn.add_row(row.name, row.goal, f"[{style}]{_figure(row.ratio)}[/]", _figure(row.ours), baseline, row.unit)
    return drawn


def _figure(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"  # noqa: PLR2004 - three digits say enough


async def _bench(
    names: Sequence[str], peers: Path, leads: int, dataset_folder: Path | None
) -> tuple[list[Row], list[Failure]]:
    with _folder() as folder, Console(stderr=True).status("Starting the servers …") as status:
        async with open_stage(folder, peers, leads, dataset_folder) as stage:
            return await run(stage, names, status.update)


@contextmanager
def _folder() -> Iterator[Path]:
    """Yield a folder for the servers and the log, deleted at the end."""
    with tempfile.TemporaryDirectory(prefix="leadclock-bench-") as folder:
        Path(folder).chmod(0o755)  # the database may run as another user, who must be able to reach its own folder
        with (Path(folder) / "bench.log").open("w") as log:
            configure_logs("info", form="json", stream=log)  # as a role that is deployed: logging is part of the work
            yield Path(folder)
