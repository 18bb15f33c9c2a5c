"""Why is this lead contacted, or not? A sentence and its proof, for now or any other instant."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
import msgspec
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn

from adapters.cli.database import open_database
from adapters.cli.deployment import ID, option, resolve_settings, run
from adapters.cli.failures import report_errors
from adapters.cli.progress import bars
from adapters.cli.unproved import UNPROVED
from adapters.http.exchange.parameters import parse_local_moment, read_id
from adapters.http.exchange.people import country_of
from adapters.observability.trace_ids import trace_id_of
from adapters.partitions.routing import partition_of
from adapters.postgres.reads import PostgresReads
from adapters.reads.ports import LeadFilter, Paging, Row
from adapters.roles.context import Context, open_context
from adapters.settings import Settings, require
from adapters.why.lead_history import read_lead_history
from adapters.why.proof import NoProofError, prove
from engine.submission.fields import FieldError
from engine.submission.numbers import find_number
from engine.why.answer import explain as answer_of
from engine.why.answer import out_of_range
from engine.why.model import shown
from schemas.contact import LIVE_STATUSES
from schemas.instant import Instant, to_rfc3339
from schemas.topics import CONTACTS_DECISIONS

UNPROVED_VERDICT = "unproved"
"""The verdict where the log no longer holds what `--from-log` needs."""

CANDIDATES = 100
"""How many leads of a number are searched for the newest live one."""


@click.command()
@click.argument("lead")
@click.option("--at", help="The instant that is asked about, with its UTC offset; now.")
@click.option("--company", "company_id", type=ID, default=1, show_default=True)
@click.option(
    "--from-log", is_flag=True, help="Fold the decisions of the contact's partition instead of reading the database."
)
@option
@report_errors
def explain(lead: str, *, at: str | None, company_id: int, from_log: bool, data_dir: Path, as_json: bool) -> None:
    """Say why a lead (id, uuid or number) is contacted when it is, and not sooner.

    With --from-log what has happened is proved: every decision is read from the first one on, the hash chain is checked, and
    the whole record of the decision is shown. What is still to come is foreseen by the same rules, and not proved. Where the
    log no longer holds the first decisions, what the rest cannot prove is said.

    Exit status: 0 with an answer, 1 where there is none or the log was changed, 2 for wrong arguments, 3 where the log no
    longer holds everything that a proof needs.
    """
    asked = _moment(at)
    settings = resolve_settings(data_dir)
    require(settings, "postgres_dsn")
    try:
        found = run(_explain(settings, company_id, lead, asked, from_log=from_log))
    except NoProofError as error:
        raise click.ClickException(str(error)) from error
    if as_json:
        click.echo(msgspec.json.encode({"why": found}))
    else:
        _show(found)
    if from_log and (found["proof"]["begins_at"] != 1 or found["proof"]["missing"]):
        raise click.exceptions.Exit(UNPROVED)


def _moment(text: str | None) -> Instant | None:
    if text is None:
        return None
    try:
        return parse_local_moment(text, "UTC")
    except FieldError as error:
        raise click.BadParameter(str(error), param_hint="--at") from error


async def _explain(settings: Settings, company_id: int, lead: str, at: Instant | None, *, from_log: bool) -> dict[str, Any]:
    async with open_context(settings) as context:
        await context.rules.refresh()
        async with open_database(settings) as pool:
            return await explained(context, PostgresReads(pool), company_id, lead, at=at, from_log=from_log)


async def explained(
    context: Context, reads: PostgresReads, company_id: int, lead: str, *, at: Instant | None, from_log: bool = False
) -> dict[str, Any]:
    """Return the answer as `--json` shows it. Raises `click.ClickException` and `NoProofError`."""
    row = await _find(context, reads, company_id, lead)
    return await _answered(context, reads, row, at, from_log=from_log) | _trace(context, row)


async def _answered(
    context: Context, reads: PostgresReads, row: Row, at: Instant | None, *, from_log: bool
) -> dict[str, Any]:
    now = context.clock.now()
    asked = now if at is None else at
    fault = out_of_range(asked, now)
    if fault is not None:
        raise click.BadParameter(fault, param_hint="--at")
    if from_log:
        return await _proved(context, row, asked, now)
    history = await read_lead_history(reads, context.rules.rules, row, at=asked, now=now)
    return shown(answer_of(history, asked, now), history.known.lead)


def _trace(context: Context, row: Row) -> dict[str, Any]:
    """Return the id of the lead's trace, where the settings say that there are traces."""
    if not context.settings.otlp_endpoint:
        return {}
    return {"trace_id": trace_id_of(context.deployment_id(), row["id"])}


async def _find(context: Context, reads: PostgresReads, company_id: int, lead: str) -> Row:
    """Return the row of a lead: by id or uuid, else the newest live one of a number, else the newest."""
    reference = read_id(lead)
    row = None if reference is None else await reads.lead(company_id, reference)
    if row is not None:
        return row
    number = find_number(lead, country_of(context.rules.rules, company_id))
    if number is not None:
        page = await reads.leads(company_id, LeadFilter(caller_id=number.e164), Paging(per_page=CANDIDATES, counted=False))
        newest = next((one for one in page.rows if one["status"] in LIVE_STATUSES), page.rows[0] if page.rows else None)
        # A row of a list holds only what lists show.
        row = None if newest is None else await reads.lead(company_id, newest["id"])
    if row is None:
        raise click.ClickException(f"company {company_id} has no lead {lead} (an id, a uuid or a telephone number)")
    return row


async def _proved(context: Context, row: Row, at: Instant, now: Instant) -> dict[str, Any]:
    """Return the answer from the log alone; the database is only used to locate the lead."""
    topic = context.names.of(CONTACTS_DECISIONS.name)
    contact_key = row["contact_key"]
    partition = partition_of(contact_key.encode(), await context.log.partition_count(topic))
    with _counting(f"{topic}[{partition}]") as progress:
        proof = await prove(
            context.log,
            topic,
            partition,
            context.rules.entries,
            lead_id=row["id"],
            contact_key=contact_key,
            at=at,
            progress=progress,
        )
    facts = [
        {"at": fact.at, "type": fact.type, "sequence": fact.sequence, "offset": fact.offset, "data": fact.data}
        for fact in proof.facts
        if fact.at <= at
    ]
    checked: dict[str, Any] = {
        "topic": topic,
        "partition": partition,
        "decisions": proof.decisions,
        "chain": "unbroken",
        "begins_at": proof.begins_at,
        "missing": list(proof.gaps),
        "until": to_rfc3339(min(at, now)),
    }
    if proof.gaps:
        return {**_unproved(row, at, proof.gaps), "facts": facts, "proof": checked}
    history = proof.lead_history()
    answer = answer_of(history, at, now)
    return {**shown(answer, history.known.lead), "record": proof.record(answer), "facts": facts, "proof": checked}


def _unproved(row: Row, at: Instant, gaps: Sequence[str]) -> dict[str, Any]:
    """Return the answer for a lead whose history the log cannot prove."""
    sentence = f"The log cannot show why the lead was, or was not, contacted then: it does not hold {' or '.join(gaps)}."
    about = {"lead_id": row["id"], "uuid": str(row["uuid"]), "at": to_rfc3339(at), "verdict": UNPROVED_VERDICT}
    return {**about, "sentence": sentence, "reasons": [], "assumed": [], "decision": None, "record": None}


@contextmanager
def _counting(name: str) -> Iterator[Callable[[int], None]]:
    """Show on standard error how many decisions were read."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with bars(*columns) as progress:
        task = progress.add_task(name, total=None)
        yield lambda count: progress.advance(task, count)


def _show(found: Mapping[str, Any]) -> None:
    click.echo(found["sentence"])
    for reason in found["reasons"]:
        source = "" if reason["rule"] is None else f"  rule {reason['rule']}: {reason['source_url']}"
        until = "" if reason["until"] is None else f" until {reason['until']}"
        click.echo(f"  {reason['code']}{until}{source}")
    if found["assumed"]:
        click.echo(f"  foreseen: {'; '.join(found['assumed'])}")
    decision = found["decision"]
    if decision is not None:
        offset = "" if decision["offset"] is None else f" at offset {decision['offset']}"
        place = f"{decision['topic']}[{decision['partition']}]"
        click.echo(f"  decision {decision['sequence']} of {place}{offset}, {decision['decided_at']}: {decision['fact']}")
    if "trace_id" in found:
        click.echo(f"  trace {found['trace_id']}")
    proof = found.get("proof")
    if proof is not None:
        _show_proof(found, proof)
        if found["record"] is not None:  # before the lead was there nothing was decided of it
            click.echo(msgspec.json.format(msgspec.json.encode(found["record"]), indent=2))


def _show_proof(found: Mapping[str, Any], proof: Mapping[str, Any]) -> None:
    first, count = proof["begins_at"], proof["decisions"]
    missing = found["verdict"] == UNPROVED_VERDICT
    for fact in found["facts"] if missing else ():
        click.echo(f"  decision {fact['sequence']} at offset {fact['offset']}, {to_rfc3339(fact['at'])}: {fact['type']}")
    if first == 0:
        click.echo("  the log has deleted every decision of this partition: nothing is proved")
    elif first > 1:
        click.echo(f"  read from decisions {first} to {first + count - 1}, the hash chain unbroken between them")
        click.echo(f"  the log has deleted decisions 1 to {first - 1}: nothing shows what they were")
    elif missing:
        click.echo(f"  read from {count} decisions, the hash chain unbroken")
    elif found["assumed"] or proof["until"] != found["at"]:
        click.echo(
            f"  proved until {proof['until']} from {count} decisions, the hash chain unbroken; what follows is foreseen"
        )
    else:
        click.echo(f"  proved from {count} decisions, the hash chain unbroken")
