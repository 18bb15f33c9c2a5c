"""How does a deployment go on after a topic lost records? `leadclock recover` looks; with --settle it makes them good."""

from pathlib import Path
from typing import Any

import click
import msgspec
from msgspec import Struct

from adapters.cli.database import open_database
from adapters.cli.deployment import option, resolve_settings, run
from adapters.cli.failures import report_errors
from adapters.postgres.operators import PostgresOperators, typed_change
from adapters.postgres.recovery import PostgresReadMarks
from adapters.recovery.folding import NotRecoverableError
from adapters.recovery.losses import PartitionLosses, find_losses
from adapters.recovery.older_copy import Touched, block_touched, find_touched
from adapters.recovery.readers import ReaderLoss, find_reader_losses, settle_readers
from adapters.recovery.settling import Settled, settle
from adapters.recovery.topics import find_missing, record_replaced, restore_topics
from adapters.roles.context import Context, open_context
from adapters.roles.identity import check
from adapters.settings import Settings, require

OLDER_COPY = "the log is an older copy: what was decided after it is not known"
"""The loss that each partition records where an operator says so."""

ROLES = ("scheduler", "accounts", "projector")
"""Roles that a recovery takes partitions or positions from."""

TYPED = "settle"
"""What is typed to change a deployment."""


class FoundLosses(Struct, frozen=True, kw_only=True):
    """What was lost, by partition and by reader. While topics are `missing`, nothing else can be compared."""

    missing: list[str] = []
    partitions: list[PartitionLosses]
    readers: list[ReaderLoss]


class Recovered(Struct, frozen=True, kw_only=True):
    """What was settled; `replaced` are the topics that were made again, with their new ids."""

    replaced: dict[str, str]
    blocked: list[Touched] = []
    partitions: list[Settled]
    readers: list[ReaderLoss]


@click.command()
@click.option("--settle", "typed", metavar=TYPED, help=f"Type '{TYPED}' to make good what was lost and go on.")
@click.option("--reason", help="With --settle: what happened. It is recorded in the decisions for ever.")
@click.option(
    "--from-copy",
    is_flag=True,
    help="With --settle: an older copy of the log was laid back. Block whom the database knows decisions of since.",
)
@option
@report_errors
def recover(typed: str | None, reason: str | None, from_copy: bool, data_dir: Path, as_json: bool) -> None:
    """Say which topics lost records, were made again, or are not those that were read so far; settle it.

    A partition whose topic is another one stays stopped, and contacts nobody, until this is settled. The state is made again
    from the decisions, rules from those of the accounts, and messages that nobody has decided are sent again. Requests that
    were accepted and not decided are gone with their topic: their senders send them once more.

    Exit status: 0 where nothing was lost or all is settled, 1 where something is lost.
    """
    settings = resolve_settings(data_dir)
    require(settings, "postgres_dsn")
    if typed is None and from_copy:
        raise click.UsageError(f"--from-copy changes the deployment: type --settle {TYPED} with it")
    if typed is None:
        found = run(_look(settings))
        _show_found(found, as_json=as_json)
        if found.missing or any(one.losses for one in found.partitions) or found.readers:
            raise click.exceptions.Exit(1)
        return
    if typed != TYPED:
        raise click.UsageError(f"type --settle {TYPED}")
    if reason is None or not reason.strip():
        raise click.UsageError("type --reason: auditors read what happened")
    _show_settled(run(_settle(settings, reason.strip(), from_copy=from_copy)), as_json=as_json)


async def _look(settings: Settings) -> FoundLosses:
    async with open_context(settings) as context, open_database(settings) as pool:
        missing = await find_missing(context)
        if missing:
            return FoundLosses(missing=missing, partitions=[], readers=[])
        await check(context, with_database=True)
        return FoundLosses(
            partitions=await find_losses(context), readers=await find_reader_losses(context, PostgresReadMarks(pool))
        )


async def _settle(settings: Settings, reason: str, *, from_copy: bool) -> Recovered:
    async with open_context(settings) as context, open_database(settings) as pool:
        await _refuse_running(context)
        change = typed_change("topics.recovered", settings.topic_prefix, reason)
        async with PostgresOperators(pool).audited(change):
            await restore_topics(context)
            await check(context, with_database=True)
            marks = PostgresReadMarks(pool)
            people = await find_touched(context, marks) if from_copy else []
            await block_touched(context, people, change.actor)
            losses = (OLDER_COPY,) if from_copy else ()
            settled = await settle(context, by=change.actor, reason=reason, done=_say, losses=losses)
            readers = await settle_readers(context, marks)
            replaced = await record_replaced(context)
            return Recovered(replaced=replaced, blocked=people, partitions=settled, readers=readers)


async def _refuse_running(context: Context) -> None:
    """Raise `NotRecoverableError` while roles run: each would take its partitions back from the recovery."""
    running = await context.members(ROLES)
    if running:
        named = ", ".join(f"{count} of `leadclock {role}`" for role, count in sorted(running.items()))
        raise NotRecoverableError(f"{named} run: stop every process first")


def _say(one: Settled) -> None:
    click.echo(f"{one.topic}[{one.partition}] goes on", err=True)


def _show_found(found: FoundLosses, *, as_json: bool) -> None:
    if as_json:
        click.echo(msgspec.json.encode(found))
        return
    lines = [f"{one} does not exist, or holds no identity" for one in found.missing]
    lines += [words for one in found.partitions for words in one.sentences]
    lines += [one.sentence for one in found.readers]
    click.echo("\n".join(lines) or "every topic is the one that was read so far")
    if lines:
        click.echo(f"Settle it: leadclock recover --settle {TYPED} --reason '…'")


def _show_settled(done: Recovered, *, as_json: bool) -> None:
    if as_json:
        click.echo(msgspec.json.encode(done))
        return
    for one in done.partitions:
        for loss in one.losses:
            click.echo(f"{one.topic}[{one.partition}]: {loss}")
        click.echo(f"{one.topic}[{one.partition}]: {_what(one)}")
    for person in done.blocked:
        click.echo(f"{person.contact_key} is blocked until somebody has looked: the database knows decisions after the copy")
    for reader in done.readers:
        click.echo(f"{reader.reader} {reader.topic}[{reader.partition}] goes on: it {reader.loss}")
    for topic, topic_id in done.replaced.items():
        click.echo(f"{topic} was made again: its id is {topic_id}")
    if not done.partitions and not done.readers and not done.replaced:
        click.echo("nothing was lost")


def _what(one: Settled) -> str:
    counts: dict[str, Any] = {
        "values made again": one.values_written,
        "rules published again": one.rules_published,
        "messages sent again": one.messages_offered,
    }
    made = ", ".join(f"{count} {what}" for what, count in counts.items() if count)
    return f"{made or 'nothing had to be made again'}; requests are decided from {one.input_offset} on"
