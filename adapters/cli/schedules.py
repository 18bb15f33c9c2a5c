"""What would a schedule of the company do to a lead, and how does its draft go live? `leadclock schedules preview|publish`.

A preview reads `accounts.rules` as `list` and `show` do, and asks nobody. Publishing goes over the API, which checks what a
browser's request is checked for.
"""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import click
import httpx
import msgspec

from adapters.cli.api_client import api_option, ask_api
from adapters.cli.deployment import BY_ADDRESS, ID, option, resolve_settings, run
from adapters.cli.failures import report_errors
from adapters.cli.preview import SVG_FILE, RefusedPreview, read_question, show_forecast, with_hours, write_preview_picture
from adapters.cli.records import find_record, missing, schedules, shown_record
from adapters.http.exchange.parameters import read_id
from adapters.problem_sentence import refusal_sentence
from adapters.roles.context import open_context
from adapters.settings import Settings
from engine.partition.draft import RefusedError
from engine.preview import US_COMPANY, Trial, read_trial, shown
from engine.preview import preview as foresee
from engine.rules import Rules
from schemas.records import ActionGroup, Company, Record, Schedule, body_of

PATH = "/api/v1/schedules"


@click.command()
@click.argument("reference", metavar="ID")
@click.argument("file", type=click.File("rb"))
@click.option("--draft", "of_draft", is_flag=True, help="As it would be once its draft is published.")
@click.option("--svg", "svg_file", type=SVG_FILE, help="Also draw the plan on the days of its weeks, into this file.")
@click.option("--company", "company_id", type=ID, default=1, show_default=True)
@option
@report_errors
def preview(  # noqa: PLR0917 - one parameter per option, given by name
    reference: str, file: Any, of_draft: bool, svg_file: Path | None, company_id: int, data_dir: Path, as_json: bool
) -> None:
    """Show what the schedule ID (or uuid) does to a lead: every action, when, and why then.

    FILE (- is standard input) holds one JSON object: lead, and if wanted at, outcomes, history and limit.
    """
    question = read_question(file)
    if isinstance(question, Mapping) and "schedule" in question:
        raise click.BadParameter("names a schedule itself; leave it out, or use `leadclock preview`", param_hint="FILE")
    question = with_hours(question, is_drawn=svg_file is not None)
    try:
        trial, found = run(_foreseen(resolve_settings(data_dir), company_id, reference, question, of_draft=of_draft))
    except RefusedError as refusal:
        raise RefusedPreview(refusal, as_json=as_json) from refusal
    if svg_file is not None:
        write_preview_picture(svg_file, found, title=f"What {trial.schedule.name} does to a lead", begins_at=trial.at)
    if as_json:
        click.echo(msgspec.json.encode({"preview": found}))
    else:
        show_forecast(found)


async def _foreseen(
    settings: Settings, company_id: int, reference: str, question: Any, *, of_draft: bool
) -> tuple[Trial, dict[str, Any]]:
    async with open_context(settings) as context:
        await context.rules.refresh()
        rules = context.rules.rules
        record = find_record(rules.records("schedule", company_id), reference)
        if record is None:
            raise click.ClickException(missing("schedule", company_id, reference))
        published = None if of_draft else _published(record)
        if of_draft and isinstance(question, Mapping):
            question = {**question, "schedule": _with_draft(record)}
        group_of = partial(_group, rules, company_id)
        trial = read_trial(question, now=context.clock.now(), published=published, group_of=group_of)
        company, packs = rules.body(Company, "company", company_id) or US_COMPANY, rules.own_law(company_id)[0]
        return trial, shown(foresee(trial, company=company, rule_packs=packs))


def _published(record: Record) -> tuple[int, Schedule]:
    body = body_of(record)
    assert isinstance(body, Schedule)  # noqa: S101 - of the type that was asked for
    return record.id, body


def _with_draft(record: Record) -> dict[str, Any]:
    """Return the schedule with what waits laid over it. Raises `click.ClickException` where nothing waits."""
    draft = record.body.get("draft_fields", {})
    if not draft and not record.body.get("unpublished", False):
        raise click.ClickException(f"schedule {record.id} has no draft; leave --draft out")
    return {**shown_record(record, "schedules"), **draft}


def _group(rules: Rules, company_id: int, group_id: int) -> ActionGroup | None:
    is_own = rules.owns(company_id, "action_group", group_id)
    return rules.body(ActionGroup, "action_group", group_id) if is_own else None


@click.command()
@click.argument("reference", metavar="ID")
@click.option(
    "--migrate",
    type=click.Choice(["none", "by_step_id"]),
    help="by_step_id: leads on earlier versions go over to this one, at the step of the same id.",
)
@api_option
@option
@report_errors
def publish(  # noqa: PLR0917 - one parameter per option, given by name
    reference: str, migrate: str | None, api_url: str | None, key_file: Path | None, data_dir: Path, as_json: bool
) -> None:
    """Publish the draft of the schedule ID (or uuid): leads that enter from now on take it."""
    if read_id(reference) is None:
        raise click.BadParameter(f"{reference} is neither an id nor a uuid", param_hint="ID")
    ask = partial(publish_draft, reference=reference, migrate=migrate)
    before, after, warnings = ask_api(ask, api_url=api_url, key_file=key_file, data_dir=data_dir, elsewhere=BY_ADDRESS)
    if as_json:
        click.echo(msgspec.json.encode({"schedule": after, "warnings": warnings}))
        return
    if before["version"] == after["version"]:
        click.echo(f"schedule {after['id']} has no draft: version {after['version']} stays as it is")
    else:
        click.echo(f"schedule {after['id']} is published: version {after['version']}, since {after['published_at']}")
    for warning in warnings:
        click.echo(f"Warning: {warning}", err=True)


async def publish_draft(
    client: httpx.AsyncClient, *, reference: str, migrate: str | None
) -> tuple[dict[str, Any], dict[str, Any], list[str]]:
    """Publish the draft of a schedule; return it as it was and as it is, and what to know about it.

    Raises `click.ClickException` for a refusal.
    """
    before = _answered(await client.get(f"{PATH}/{reference}"))["schedule"]
    fields = {} if migrate is None else {"migrate": migrate}
    # Nobody else's change, which came since, is published with it.
    headers = {"If-Match": f'"{before["version"]}"'}
    after = _answered(await client.post(f"{PATH}/{reference}/publish", json=fields, headers=headers))
    return before, after["schedule"], after.get("warnings", [])


def _answered(answer: httpx.Response) -> dict[str, Any]:
    if answer.status_code == httpx.codes.ACCEPTED:
        path = answer.headers["location"]
        raise click.ClickException(f"it is requested and not yet decided: ask the API again at {path}")
    if answer.is_error:
        raise click.ClickException(refusal_sentence(answer))
    found: dict[str, Any] = answer.json()
    return found


schedules.help = "List, show, preview and publish the schedules of a company."
schedules.add_command(preview)
schedules.add_command(publish)

__all__ = ["schedules"]
