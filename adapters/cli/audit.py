"""Was everything decided by the rules, and does nothing else act? `leadclock audit verify` decides the inputs again.

`audit heads` prints what anchors the chain outside the broker. Decisions of another version of the rules are folded and
checked along the hash chain; both counts are shown. Where retention has deleted the first decisions, the check starts at the
first one that the log holds.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import click
import msgspec
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from adapters.audit.difference import Checked, Difference, first_cause
from adapters.audit.heads import Heads, HeadsFileError, load_heads, read_heads
from adapters.audit.outcomes import SeenOutcomes
from adapters.audit.replay import Folded
from adapters.audit.verify import Verified
from adapters.audit.verify import verify as verify_partition
from adapters.cli.deployment import option, resolve_settings, run
from adapters.cli.failures import report_errors
from adapters.cli.progress import bars
from adapters.cli.unproved import FOLDED, UNPROVED
from adapters.roles.context import Context, open_context
from adapters.settings import Settings
from engine import decision_rules
from engine.account.aggregate import AccountAggregate
from engine.contact.aggregate import ContactAggregate
from engine.partition.aggregate import Aggregate
from schemas.instant import to_rfc3339
from schemas.topics import ACCOUNTS_DECISIONS


@click.group()
def audit() -> None:
    """Prove what was decided."""


@audit.command()
@click.option("--partition", type=click.IntRange(0), multiple=True, help="Only this one; may be repeated.")
@click.option(
    "--since",
    type=click.Path(path_type=Path, dir_okay=False),
    multiple=True,
    help="A file of `audit heads` that was kept: each head must lie on the chain. May be repeated.",
)
@click.option("--accept-folded", is_flag=True, help="Exit 0 also where decisions were folded, not decided again.")
@option
@report_errors
def verify(
    partition: tuple[int, ...], since: tuple[Path, ...], *, accept_folded: bool, data_dir: Path, as_json: bool
) -> None:
    """Decide the recorded inputs again, compare the bytes and the hash chain, and look for what acts undecided.

    Rules on accounts.rules, commands on commands.* and the values of *.state are held against the decisions, both ways, and
    recorded outcomes against the commands.

    Decisions that this release cannot decide again, because other decision rules or other data made them, are folded and
    checked along the hash chain; the release that can is named.

    Exit status: 0 where every decision was decided again, 1 with the first cause of a difference, 2 for wrong arguments, 3
    where nothing differs in what the log still holds, but it lacks decisions, requests or commands that a proof needs, 4
    where decisions were folded (0 with --accept-folded).
    """
    kept = [load_heads(path) for path in since]
    results, outcomes = run(_verify(resolve_settings(data_dir), partition, kept))
    first = first_cause(*(result.difference for result in results), outcomes.difference)
    if as_json:
        click.echo(msgspec.json.encode({"partitions": results, "outcomes": outcomes, "first_cause": first}))
    else:
        click.echo("\n".join(report(results, outcomes)))
    if first is not None:
        raise click.exceptions.Exit(1)
    if not all(result.is_whole for result in results):
        raise click.exceptions.Exit(UNPROVED)
    if not accept_folded and any(result.folded for result in results):
        raise click.exceptions.Exit(FOLDED)


@audit.command()
@option
@report_errors
def heads(data_dir: Path, *, as_json: bool) -> None:
    """Print the newest decision of each partition: number, digest and instant, as JSON.

    Keep the file where nobody with a login of the broker can change it. `audit verify --since FILE` shows later whether each
    head still lies on the chain.
    """
    found = run(_heads(resolve_settings(data_dir)))
    text = msgspec.json.encode(found)
    click.echo(text if as_json else msgspec.json.format(text, indent=2))


async def _heads(settings: Settings) -> Heads:
    async with open_context(settings) as context:
        await context.rules.refresh()
        found = await read_heads(context.log, context.names, AGGREGATES)
        read_at = to_rfc3339(context.clock.wall())
        return Heads(deployment=context.deployment_id(), read_at=read_at, heads=found)


AGGREGATES: tuple[Aggregate, ...] = (AccountAggregate(), ContactAggregate())


async def _verify(settings: Settings, wanted: tuple[int, ...], kept: Sequence[Heads]) -> tuple[list[Verified], Checked]:
    async with open_context(settings) as context:
        await context.rules.refresh()
        for file in kept:
            if file.deployment != context.deployment_id():
                raise HeadsFileError(f"heads of deployment {file.deployment}; this is {context.deployment_id()}")
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
        seen = SeenOutcomes()
        with bars(*columns) as progress:
            places = [
                (aggregate, partition) for aggregate in AGGREGATES for partition in await _partitions_of(context, aggregate)
            ]
            unknown = sorted({*wanted} - {partition for _, partition in places})
            if unknown:
                raise click.BadParameter(f"there is no partition {unknown[0]}", param_hint="--partition")
            results = [
                await _partition(context, aggregate, partition, progress, seen, kept)
                for aggregate, partition in places
                if not wanted or partition in wanted
            ]
            return results, Checked() if wanted else seen.check()


async def _partitions_of(context: Context, aggregate: Aggregate) -> range:
    return range(await context.log.partition_count(context.names.of(aggregate.decisions_topic.name)))


async def _partition(  # noqa: PLR0917 - what is verified, and what is noted beside it
    context: Context,
    aggregate: Aggregate,
    partition: int,
    progress: Progress,
    seen: SeenOutcomes,
    kept: Sequence[Heads],
) -> Verified:
    topic = aggregate.decisions_topic.name
    task = progress.add_task(f"{topic}[{partition}]", total=None)
    is_contact = isinstance(aggregate, ContactAggregate)
    return await verify_partition(
        context.log,
        context.names,
        aggregate,
        partition,
        context.rules if is_contact else None,
        versions=context.versions,
        seen=seen if is_contact else None,
        heads=[one for file in kept for one in file.heads if (one.topic, one.partition) == (topic, partition)],
        progress=lambda count: progress.advance(task, count),
    )


def report(results: Sequence[Verified], outcomes: Checked = Checked()) -> Iterator[str]:  # noqa: B008 - frozen
    """Yield the report: a line a partition, the first cause or the counts of decisions, and what was looked at."""
    for result in results:
        verdict = "DIFFERS" if result.difference is not None else "verified" if result.is_whole else "not wholly proved"
        folded = sum(one.decisions for one in result.folded)
        counts = f" ({result.decided_again} decided again, {folded} folded)" if folded else ""
        yield f"{result.topic}[{result.partition}]  {result.decisions} decisions, {result.keys} values: {verdict}{counts}"
        for first, last in result.gaps:
            yield (
                f"  decisions {first} to {last} were lost, as an operator has settled: what they decided is not known, and "
                "nothing after them can be decided again"
            )
        if result.begins_at > 1 and not result.gaps:
            yield (
                f"  the log has deleted decisions 1 to {result.begins_at - 1}: from there on the hash chain and the "
                "recorded changes are checked, and nothing can be decided again"
            )
        if result.difference is not None:
            found = result.difference
            yield f"  offset {found.offset}, decision {found.sequence}: {found.what}"
            yield f"  recorded: {found.recorded!r}"
            yield f"  decided:  {found.decided!r}"
    yield from _folded(results)
    cause = first_cause(*(result.difference for result in results), outcomes.difference)
    yield _total(results) if cause is None else _first_cause(cause)
    yield from _looked_at(results, outcomes)


def _first_cause(first: Difference) -> str:
    where = f"{first.topic}[{first.partition}] offset {first.offset}"
    key = f", {first.key}" if first.key else ""
    return f"first cause, the {first.cause}: {where}{key}: {first.what}. What follows from it may differ too."


def _looked_at(results: Sequence[Verified], outcomes: Checked) -> Iterator[str]:
    """Yield what was held against decisions and what was not, in counts."""
    counted = (
        ("values of state", [result.state for result in results]),
        ("rules", [result.acts for result in results if result.topic.endswith(ACCOUNTS_DECISIONS.name)]),
        ("commands", [result.acts for result in results if not result.topic.endswith(ACCOUNTS_DECISIONS.name)]),
        ("outcomes", [outcomes]),
        ("kept heads", [result.heads for result in results]),
    )
    looked_at = {name: sum(one.looked_at for one in some) for name, some in counted}
    yield "looked at: " + ", ".join(
        f"{count:,} {name}" for name, count in looked_at.items() if count or name != "kept heads"
    )
    for name, some in counted:
        if left := sum(one.not_looked_at for one in some):
            yield f"not looked at: {left:,} of the {name}, whose decisions or records the log has deleted"
        if missing := sum(one.missing for one in some):
            first = next(one.first_missing for one in some if one.first_missing)
            yield f"missing, lost with their topics or dropped: {missing:,} of the {name}, the first {first}"
        if foreign := sum(one.foreign for one in some):
            yield f"no process acts on {foreign:,} of the records beside the {name}: they cannot be read as such"


def _folded(results: Sequence[Verified]) -> Iterator[str]:
    kinds: Counter[Folded] = Counter()
    for result in results:
        kinds.update({msgspec.structs.replace(one, decisions=0): one.decisions for one in result.folded})
    for kind, count in sorted(kinds.items(), key=lambda item: (item[0].decision_rules, item[0].data)):
        if not kind.decided_by:
            continue  # reported with the partition, and below with the requests that are gone
        why = (
            f"which decide otherwise here, with other data: {kind.data}"
            if kind.data
            else f"this is {decision_rules.VERSION}"
        )
        yield f"{count} folded: made by decision rules {kind.decision_rules}, {why}; {kind.decided_by} decides them again"
    gone = sum(result.inputs_gone for result in results)
    if gone:
        yield (
            f"{gone} of the folded decisions have no request in the log any more: its digest was not compared, and they "
            "cannot be decided again"
        )


def _total(results: Sequence[Verified]) -> str:
    total, again = sum(result.decisions for result in results), sum(result.decided_again for result in results)
    if again == total and all(result.is_whole for result in results):
        return f"all {total} decisions are what this code decides on the recorded inputs"
    if not all(result.is_whole for result in results):
        return (
            f"no difference in the {total} decisions that the log still holds: {again} decided again by this code, "
            f"{total - again} folded along the hash chain. What the log has deleted is not proved."
        )
    return f"all {total} decisions hold: {again} decided again by this code, {total - again} folded along the hash chain"
