"""What is decided about leads, as it is decided? A tail that loads the client of the log, and little else."""

from collections.abc import Mapping
from operator import attrgetter
from pathlib import Path
from typing import Any

import click
import msgspec
from msgspec import Struct, structs

from adapters.cli.deployment import ID, option, resolve_settings, run
from adapters.cli.failures import report_errors
from adapters.roles.broker import open_log
from adapters.settings import Settings
from engine.partition.ports import LogRecord
from schemas.decisions import REMOVED, Change, Decision
from schemas.instant import Instant, to_rfc3339
from schemas.topics import CONTACTS_DECISIONS
from schemas.wire import to_json

TAIL_LIMIT = 500
TAIL_SECONDS = 0.5

NAMED_BY_COMPANY = frozenset({"asking", "seen"})
"""Kinds of keys whose first part after the kind is the company."""

_APPENDED_AT = attrgetter("appended_at")


@click.command()
@click.option("--company", "company_id", type=ID, default=1, show_default=True)
@click.option("--from-start", is_flag=True, help="Begin with the oldest decision that the topic holds.")
@click.option("--once", is_flag=True, help="Stop at the present end instead of waiting for more.")
@option
@report_errors
def tail(company_id: int, from_start: bool, once: bool, data_dir: Path, as_json: bool) -> None:
    """Show what is decided about leads, as it is decided."""
    try:
        run(_tail(resolve_settings(data_dir), company_id, from_start=from_start, once=once, as_json=as_json))
    except KeyboardInterrupt:
        return


async def _tail(settings: Settings, company_id: int, *, from_start: bool, once: bool, as_json: bool) -> None:
    async with open_log(settings) as log:
        topic = settings.topic_prefix + CONTACTS_DECISIONS.name
        partitions = range(await log.partition_count(topic))
        reader = await log.reader(topic, partitions, start=0 if from_start else None)
        ends = {partition: await reader.end(partition) for partition in partitions}
        try:
            while not once or any(reader.position(partition) < end for partition, end in ends.items()):
                found = await reader.poll(limit=TAIL_LIMIT, timeout_seconds=TAIL_SECONDS)
                for record in sorted(found, key=_APPENDED_AT):
                    _print_facts(record, company_id, as_json=as_json)
        finally:
            await reader.close()


def _print_facts(record: LogRecord, company_id: int, *, as_json: bool) -> None:
    """Print the facts of one decision, one line each."""
    decision = of_company(msgspec.json.decode(record.value or b"", type=Decision), company_id)
    if decision is None:
        return
    if as_json:
        click.echo(to_json(decision))
        return
    at = to_rfc3339(decision.decided_at)
    if decision.verdict != "done" and decision.answer is not None:
        click.echo(f"{at}  {decision.verdict}: {decision.answer.code} {decision.answer.detail}")
    for fact in decision.facts:
        click.echo(
            f"{at}  {'' if fact.lead_id is None else f'lead {fact.lead_id}':14} {fact.type:24} {describe_data(fact.data)}"
        )


def of_company(decision: Decision, company_id: int) -> Decision | None:
    """Return what a decision says of a company, None where that is nothing: a sweep may change leads of several.

    A change says whose it is by its key or its value, a fact by its lead. What is of no company, such as the adoption of
    rules, is of none of them.
    """
    companies = {change.key: _company_of(change) for change in decision.changes}
    known = {_company_of_key(decision.cause.key or ""), *companies.values()} - {None}
    if decision.cause.kind == "adoption" or company_id not in known:
        return None
    if known == {company_id}:
        return decision
    return structs.replace(
        decision,
        facts=tuple(fact for fact in decision.facts if companies.get(f"lead/{fact.lead_id}") == company_id),
        changes=tuple(change for change in decision.changes if companies[change.key] == company_id),
        commands=(),
        messages=(),
    )


class _Owned(Struct):
    company_id: int | None = None


_OWNED = msgspec.json.Decoder(_Owned)


def _company_of(change: Change) -> int | None:
    """Return the company of a changed entity, or None where neither key nor value names one."""
    named = None if change.value == REMOVED else _OWNED.decode(change.value).company_id
    return _company_of_key(change.key) if named is None else named


def _company_of_key(key: str) -> int | None:
    """Return the company that a key names: `7|+1305…` of a contact, `asking/7/…` of a queue."""
    kind, _, rest = key.partition("/")
    parts = (part.partition("|")[0] for part in key.split("/") if "|" in part)
    number = next(parts, rest.partition("/")[0] if kind in NAMED_BY_COMPANY else "")
    return int(number) if number.isascii() and number.isdigit() else None


def describe_data(data: Mapping[str, Any]) -> str:
    """Return the fields of a fact as text."""
    return "  ".join(
        f"{name}={_describe_value(name, value)}" for name, value in data.items() if value not in (None, "", [], {})
    )


def _describe_value(name: str, value: object) -> str:
    is_instant = (name == "at" or name.endswith("_at")) and isinstance(value, int)
    return to_rfc3339(Instant(value)) if is_instant and isinstance(value, int) else str(value)
