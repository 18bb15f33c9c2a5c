"""What would a post become by a lead map? `leadclock leads map FILE`: nothing is stored, and nobody contacted."""

from pathlib import Path
from typing import Any

import click
import msgspec

from adapters.body_fields import read_fields
from adapters.cli.deployment import option, resolve_settings, run
from adapters.cli.failures import report_errors
from adapters.roles.context import open_context
from adapters.settings import Settings
from engine.partition.draft import RefusedError
from engine.submission.map_preview import preview_map, read_given_map
from schemas.errors import SenderError
from schemas.records import LeadMap

TYPES = {".json": "application/json", ".xml": "application/xml", ".form": "application/x-www-form-urlencoded"}
"""By the end of the file's name."""

FILE = click.Path(path_type=Path, dir_okay=False)


class MapError(SenderError):
    """The sample or the map cannot be used; `str(error)` says why."""


@click.command(name="map")
@click.argument("file", type=FILE)
@click.option("--lead-token", required=True, help="Of the schedule or offer that the post is for.")
@click.option("--traffic-source-id", type=int, help="Whose map reads the post.  [that of the schedule]")
@click.option("--map", "map_file", type=FILE, help="A map (JSON) that is not saved yet.")
@click.option("--type", "kind", help="Content type of the post.  [by the end of the name]")
@option
@report_errors
def map_(  # noqa: PLR0917 - one parameter per option, given by name
    file: Path,
    lead_token: str,
    traffic_source_id: int | None,
    map_file: Path | None,
    kind: str | None,
    data_dir: Path,
    as_json: bool,
) -> None:
    """Show what a post (a file of JSON, XML or a form) would become by the lead map of its source or schedule.

    Exit status: 0 where it would be taken, 1 where it would be refused.
    """
    fields = _read_sample(file, kind)
    stated: dict[str, Any] = {"lead_token": lead_token}
    if traffic_source_id is not None:
        stated["traffic_source_id"] = traffic_source_id
    lead_map = None if map_file is None else _read_map(map_file)
    shown = run(_preview(resolve_settings(data_dir), {**fields, **stated}, lead_map))
    click.echo(msgspec.json.encode(shown) if as_json else describe(shown))
    if shown["errors"]:
        raise click.exceptions.Exit(1)


def _read_sample(file: Path, kind: str | None) -> dict[str, Any]:
    content_type = kind or TYPES.get(file.suffix.lower())
    if content_type is None:
        raise MapError(f"{file.name} has no known ending ({', '.join(TYPES)}): type --type, such as application/json")
    try:
        return read_fields(_bytes_of(file).strip(), content_type)
    except RefusedError as refusal:
        raise MapError(f"{file.name}: {refusal.detail}") from None


def _bytes_of(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise MapError(f"{file} cannot be read: {error.strerror}") from error


def _read_map(file: Path) -> LeadMap:
    try:
        return read_given_map(msgspec.json.decode(_bytes_of(file)))
    except msgspec.DecodeError as error:
        raise MapError(f"--map holds no JSON: {error}") from None
    except RefusedError as refusal:
        raise _in_words(refusal) from None


def _in_words(refusal: RefusedError) -> MapError:
    faults = [f"{field} {sentence}" for field, sentences in refusal.errors.items() for sentence in sentences]
    return MapError("; ".join([refusal.detail, *faults]))


async def _preview(settings: Settings, raw: dict[str, Any], lead_map: LeadMap | None) -> dict[str, Any]:
    """Return what a post would become. Raises `MapError`."""
    async with open_context(settings) as context:
        await context.rules.refresh()
        rules = context.rules.rules
        target = rules.target(raw["lead_token"])
        if target is None:
            raise MapError("no offer and no schedule has this --lead-token; copy it from their settings")
        try:
            now = context.clock.now()
            return preview_map(raw, rules, company_id=target.company_id, received_at=now, lead_map=lead_map)
        except RefusedError as refusal:
            raise _in_words(refusal) from None


def describe(shown: dict[str, Any]) -> str:
    """Return what a person reads of a preview: a line for each field, then what is missing, warned of and wrong."""
    found = {name: shown[name] for name in ("caller_id", "email") if shown[name] is not None}
    lines = [f"{name} = {value}" for name, value in (found | (shown["columns"] or {})).items()]
    lines += [f"token {name} = {value}" for name, value in (shown["data"] or {}).items()]
    lines += [f"idempotency_key = {shown['idempotency_key']}"] if shown["idempotency_key"] else []
    lines += ["a test: stored, and nobody is contacted"] if shown["is_test"] else []
    lines += [] if shown["is_mapped"] else ["there is no map: the post was read without one"]
    lines += [f"not found: {name}" for name in shown["not_found"]]
    lines += [f"warning: {sentence}" for sentence in shown["warnings"]]
    lines += [f"refused: {field} {sentence}" for field, faults in shown["errors"].items() for sentence in faults]
    return "\n".join(lines)
