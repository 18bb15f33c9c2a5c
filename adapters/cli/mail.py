"""Which e-mails were sent? Those that the local mail server of `up` kept. And what does a mail server report of one?"""

import sys
from pathlib import Path
from typing import NoReturn

import click
import msgspec

from adapters.cli.deployment import find_running, option, resolve_settings, run
from adapters.cli.failures import is_expected, report_errors
from adapters.cli.identity_check import open_checked
from adapters.gateway.bounce_tokens import BounceTokens
from adapters.gateway.bounces import REPORT_BYTES_MAX, ForeignMailError, MailReport, read_report
from adapters.gateway.mailbox import read_mail
from adapters.http.exchange.requests import LogRequests
from adapters.settings import Settings, require
from schemas.errors import DependencyError
from schemas.topics import CONTACTS_REQUESTS

REFUSED, LATER = 65, 75
"""EX_DATAERR and EX_TEMPFAIL of sysexits.h: a mail server gives up what a pipe refuses, and repeats what it defers."""

SOURCE = "/gateway/email"
"""As of the outcomes that a gateway reports."""


@click.group(invoke_without_command=True)
@click.option("--limit", type=click.IntRange(1, 1000), default=20, show_default=True, help="The newest so many.")
@option
@click.pass_context
def mail(context: click.Context, limit: int, data_dir: Path, *, as_json: bool) -> None:
    """Show the e-mails that the local mail server kept, oldest first; or take a bounce."""
    if context.invoked_subcommand is None:
        _show(limit, data_dir, as_json=as_json)


@report_errors
def _show(limit: int, data_dir: Path, *, as_json: bool) -> None:
    kept = read_mail(Path(find_running(data_dir).mail_folder), limit=limit)
    if as_json:
        click.echo(msgspec.json.encode(kept))
        return
    if not kept:
        click.echo("no e-mail yet")
    for one in kept:
        click.echo(f"{one.date}  {', '.join(one.recipients)}  {one.subject}\n\n{one.body.rstrip()}\n")


@mail.command()
@option
def bounce(data_dir: Path, *, as_json: bool) -> None:
    """Record the outcome that a mail server's report (RFC 3464, RFC 5965) on standard input says.

    For the pipe of a mail server. Exit 65 for what is no report about an e-mail of this deployment, 75 where it cannot be
    stored at present.
    """
    content = sys.stdin.buffer.read(REPORT_BYTES_MAX + 1)
    try:
        settings = resolve_settings(data_dir)
        require(settings, "secret_key")
        report = read_report(content, BounceTokens(settings.secret_key))
        if report.outcome is not None:
            run(_record(settings, report))
    except ForeignMailError as error:
        _leave(str(error), REFUSED)
    except Exception as error:
        if not (isinstance(error, DependencyError) or is_expected(error)):
            raise
        _leave(str(error), LATER)
    about = {"company_id": report.sent.company_id, "lead_id": report.sent.lead_id, "command_id": report.sent.command_id}
    if as_json:
        click.echo(msgspec.json.encode({**about, "outcome": report.outcome, "detail": report.detail}))
        return
    done = "nothing is recorded yet" if report.outcome is None else f"recorded as {report.outcome}"
    click.echo(f"lead {report.sent.lead_id} of company {report.sent.company_id}: {done} ({report.detail})")


def _leave(why: str, status: int) -> NoReturn:
    click.echo(f"Error: {why}", err=True)
    raise click.exceptions.Exit(status)


async def _record(settings: Settings, report: MailReport) -> None:
    """Append the outcome, and return once it is durable. Raises `DependencyError`."""
    async with open_checked(settings) as context:
        appender = await context.appender()
        requests = LogRequests(
            context.log, names=context.names, appender=appender, rules=context.rules, now=context.clock.now, wait=_no_result
        )
        message = report.request(occurred_at=context.clock.now())
        try:
            await requests.submit(
                CONTACTS_REQUESTS.name,
                message.contact_key,
                message,
                request_id=report.request_id,
                company_id=message.company_id,
                source=SOURCE,
            )
        finally:
            await requests.close()
            await appender.close()


async def _no_result(_request_id: str, _timeout_seconds: float) -> None:
    """Return at once: the report is recorded, and not waited for."""
