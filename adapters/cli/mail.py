"""Which e-mails were sent? Those that the local mail server of `up` kept."""

from pathlib import Path

import click
import msgspec

from adapters.cli.deployment import find_running, option
from adapters.cli.failures import report_errors
from adapters.gateway.mailbox import read_mail


@click.command()
@click.option("--limit", type=click.IntRange(1, 1000), default=20, show_default=True, help="The newest so many.")
@option
@report_errors
def mail(limit: int, data_dir: Path, as_json: bool) -> None:
    """Show the e-mails that the local mail server kept, oldest first."""
    kept = read_mail(Path(find_running(data_dir).mail_folder), limit=limit)
    if as_json:
        click.echo(msgspec.json.encode(kept))
        return
    if not kept:
        click.echo("no e-mail yet")
    for one in kept:
        click.echo(f"{one.date}  {', '.join(one.recipients)}  {one.subject}\n\n{one.body.rstrip()}\n")
