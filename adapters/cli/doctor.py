"""Is this deployment fit to be run? `leadclock doctor` looks at all of it, leaves it as it was, and says what to do."""

from pathlib import Path

import click
import msgspec

from adapters.cli.deployment import option, resolve_settings, run
from adapters.cli.failures import report_errors
from adapters.doctor.examination import examine
from adapters.doctor.findings import Finding
from adapters.settings import Settings

COLOURS = {"ok": "green", "warning": "yellow", "failure": "red"}


@click.command()
@option
@report_errors
def doctor(data_dir: Path, as_json: bool) -> None:
    """Look at brokers, topics, database, clocks, keys, channels, disk and recordings; exit 1 where something fails.

    Run it with the settings of a role: what that role needs is looked at. No message is sent, and nothing is changed: a
    small file is stored where recordings are kept, and deleted.
    """
    findings = run(_examine(resolve_settings(data_dir), shown=not as_json))
    failed = [finding for finding in findings if finding.level == "failure"]
    if as_json:
        click.echo(msgspec.json.encode({"healthy": not failed, "findings": findings}))
    else:
        warned = sum(finding.level == "warning" for finding in findings)
        click.echo(f"{_counted(len(failed), 'failure')}, {_counted(warned, 'warning')}")
    if failed:
        raise click.exceptions.Exit(1)


async def _examine(settings: Settings, *, shown: bool) -> list[Finding]:
    findings = []
    async for finding in examine(settings):
        findings.append(finding)
        if shown:
            _show(finding)
    return findings


def _show(finding: Finding) -> None:
    level = click.style(f"{finding.level:8}", fg=COLOURS[finding.level])
    click.echo(f"{level} {finding.check}: {finding.found}")
    if finding.cure:
        click.echo(f"{'':8}   -> {finding.cure}")


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"
