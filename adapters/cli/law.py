"""Which rows of law hold for a person at an instant, and which will change? Offline, from the pack of this release."""

import time
from typing import TYPE_CHECKING, Any, cast

import click
import msgspec

from schemas.instant import Instant, to_rfc3339
from schemas.law import PURPOSES, Purpose

if TYPE_CHECKING:
    from engine.law.lookup import LawLookup, LawWarning

CHANNELS = ("call", "sms")
WIDTH_MIN = 100
"""Columns that the table needs where the output is no terminal."""


@click.group(invoke_without_command=True)
@click.option("--number", help="The telephone number: where it is, if nothing else says so.")
@click.option("--zip", "zip_code", help="The zip code of the person, of the United States.")
@click.option("--state", help="The state or province of the person, such as OR.")
@click.option("--country", help="The country, such as FR; else that of the number, else US.")
@click.option("--time-zone", "zone", help="The time zone of the person, where it is known.")
@click.option("--at", help="The instant, such as 2026-12-25T20:30:00-05:00; else now.")
@click.option("--channel", type=click.Choice(CHANNELS), default="call", show_default=True)
@click.option("--purpose", type=click.Choice(PURPOSES), default=PURPOSES[0], show_default=True)
@click.option("--json", "as_json", is_flag=True, help="Machine-readable output.")
@click.pass_context
def law(context: click.Context, /, *, as_json: bool, **asked: Any) -> None:
    """Show which rows of law hold for a person, until when, and whether a contact is allowed.

    It reads the rows of this release and uses no deployment, so a company's own rule packs are not among them.
    """
    if context.invoked_subcommand is not None:
        return
    at = _instant(asked["at"])
    found = _find(at, asked)
    if as_json:
        click.echo(msgspec.json.encode(_shown(found, at)))
    else:
        _print(found, at)


@law.command()
@click.option("--at", help="The instant; else now.")
@click.option("--json", "as_json", is_flag=True, help="Machine-readable output.")
def check(*, at: str | None, as_json: bool) -> None:
    """Warn of rows that begin or end within 30 days, and of sources read more than 180 days ago; exit 1 where there are."""
    from engine.law.lookup import find_warnings  # noqa: PLC0415 - `--help` needs none of it
    from engine.law.pack import default_pack  # noqa: PLC0415

    pack = default_pack()
    warnings = find_warnings(pack, _instant(at))
    if as_json:
        click.echo(msgspec.json.encode({"law": pack.stamp, "warnings": [msgspec.to_builtins(one) for one in warnings]}))
    else:
        click.echo(_warnings_text(pack.version, warnings))
    if warnings:
        raise click.exceptions.Exit(1)


def _warnings_text(version: str, warnings: "list[LawWarning]") -> str:
    if not warnings:
        return f"The rows of {version} neither begin nor end within 30 days, and their sources were read within 180."
    return "\n".join(f"{one.row_id} {one.sentence}." for one in warnings)


def _instant(text: str | None) -> Instant:
    from engine.submission.fields import FieldError, parse_moment  # noqa: PLC0415 - `--help` needs none of it

    if text is None:
        return Instant(time.time_ns() // 1_000_000)
    try:
        return parse_moment(text)
    except FieldError as error:
        raise click.BadParameter(str(error), param_hint="--at") from None


def _find(at: Instant, asked: dict[str, Any]) -> "LawLookup":
    from engine.law.lookup import look_up  # noqa: PLC0415 - `--help` needs none of it
    from engine.law.pack import default_pack  # noqa: PLC0415
    from engine.submission.columns import parse_country  # noqa: PLC0415
    from engine.submission.fields import parse_person_zone  # noqa: PLC0415
    from engine.submission.numbers import read_number  # noqa: PLC0415
    from engine.submission.states import state_code  # noqa: PLC0415

    country = _read("--country", parse_country, asked["country"])
    number = None if asked["number"] is None else read_number(asked["number"], country or "US")
    if asked["number"] is not None and number is None:
        raise click.BadParameter("must be a telephone number such as +13055550123", param_hint="--number")
    if asked["state"] is not None and state_code(asked["state"]) is None:
        raise click.BadParameter("must be a state or province such as OR", param_hint="--state")
    return look_up(
        default_pack(),
        at=at,
        country=country or (number.country if number else None) or "US",
        is_country_stated=country is not None,
        number=number,
        zip_code=asked["zip_code"],
        state=asked["state"],
        stated_zone=_read("--time-zone", parse_person_zone, asked["zone"]),
        channel=asked["channel"],
        purpose=cast("Purpose", asked["purpose"]),
    )


def _read(option: str, parse: Any, value: str | None) -> str | None:
    from engine.submission.fields import FieldError  # noqa: PLC0415 - `--help` needs none of it

    try:
        return None if value is None else str(parse(value))
    except FieldError as error:
        raise click.BadParameter(str(error), param_hint=option) from None


def _shown(found: "LawLookup", at: Instant) -> dict[str, Any]:
    from engine.law.wording import limits_text, scope_text  # noqa: PLC0415 - `--help` needs none of it

    return {
        "at": to_rfc3339(at),
        "countries": found.countries,
        "states": found.states,
        "time_zones": found.zones,
        "is_allowed": found.is_allowed,
        "opens_at": None if found.opens is None else to_rfc3339(found.opens.at),
        "closes_at": None if found.closes_at is None else to_rfc3339(found.closes_at),
        "reasons": [] if found.opens is None else list(found.opens.codes),
        "changes_at": None if found.changes_at is None else to_rfc3339(found.changes_at),
        "rows": [
            {
                "id": row.id,
                "limits": limits_text(row),
                "for": scope_text(row),
                "until": None if ends is None else to_rfc3339(ends),
                "source_url": row.source_url,
                "reviewed_at": row.reviewed_at,
                "conflict": row.conflict,
                "unverified": row.unverified,
            }
            for row, ends in found.rows
        ],
        "reviews": [msgspec.to_builtins(review) for review in found.reviews],
    }


def _print(found: "LawLookup", at: Instant) -> None:
    from rich.console import Console  # noqa: PLC0415 - `--help` needs none of it
    from rich.table import Table  # noqa: PLC0415

    from engine.law.wording import limits_text  # noqa: PLC0415

    console = Console()
    console = console if console.width >= WIDTH_MIN else Console(width=WIDTH_MIN)
    where = ", ".join((*found.countries, *found.states)) or "no country"
    console.print(f"{where}; on the clocks of {', '.join(found.zones)}", highlight=False)
    table = Table("row", "limits", "until", "source")
    for row, ends in found.rows:
        table.add_row(row.id, limits_text(row), "" if ends is None else _local(ends, found), row.source_url)
    for review in found.reviews:
        table.add_row("", f"{review.state} reviewed: the hours of its country hold", "", review.source_url)
    console.print(table)
    console.print(_verdict(found, at), highlight=False)


def _verdict(found: "LawLookup", at: Instant) -> str:
    when = _local(at, found)
    if found.is_allowed:
        closes = "" if found.closes_at is None else f", until {_local(found.closes_at, found)}"
        return f"Allowed at {when}{closes}."
    if found.opens is None:
        return f"Not allowed at {when}, nor at any time within 400 days."
    return f"Not allowed at {when} ({', '.join(found.opens.codes)}); first at {_local(found.opens.at, found)}."


def _local(at: Instant, found: "LawLookup") -> str:
    from engine.calendar import local_datetime  # noqa: PLC0415 - `--help` needs none of it

    return f"{local_datetime(at, found.zones[0]):%a %Y-%m-%d %H:%M %z} ({found.zones[0]})"
