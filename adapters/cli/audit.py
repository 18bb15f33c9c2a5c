"""Was everything decided by the rules? `leadclock audit verify` decides the recorded inputs again.

Decisions of another version of the rules are folded and checked along the hash chain; both counts are shown. Where retention
has deleted the first decisions, the check starts at the first one that the log holds.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import click
import msgspec
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from adapters.audit.replay import Folded
from adapters.audit.verify import Verified
from adapters.audit.verify import verify as verify_partition
from adapters.cli.deployment import option, resolve_settings, run
from adapters.cli.failures import report_errors
from adapters.cli.progress import bars
from adapters.cli.unproved import UNPROVED
from adapters.roles.context import Context, open_context
from adapters.settings import Settings
from engine import decision_rules
from engine.account.aggregate import AccountAggregate
from engine.contact.aggregate import ContactAggregate
from engine.partition.aggregate import Aggregate


@click.group()
def audit() -> None:
    """Prove what was decided."""


@audit.command()
@click.option("--partition", type=click.IntRange(0), multiple=True, help="Only this one; may be repeated.")
@option
@report_errors
def verify(partition: tuple[int, ...], data_dir: Path, as_json: bool) -> None:
    """Decide the recorded inputs again and compare the bytes and the hash chain.

    Decisions that this release cannot decide again, because other decision rules made them, are folded and checked along the
    hash chain; the release that can is named.

    Exit status: 0 where every decision was decided again or folded, 1 with the first difference, 2 for wrong arguments, 3
    where nothing differs in what the log still holds, but it has deleted decisions or requests that a proof needs.
    """
    results = run(_verify(resolve_settings(data_dir), partition))
    if as_json:
        click.echo(msgspec.json.encode(results))
    else:
        click.echo("\n".join(report(results)))
    if any(result.difference is not None for result in results):
        raise click.exceptions.Exit(1)
    if not all(result.is_whole for result in results):
        raise click.exceptions.Exit(UNPROVED)


async def _verify(settings: Settings, wanted: tuple[int, ...]) -> list[Verified]:
    async with open_context(settings) as context:
        await context.rules.refresh()
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
        with bars(*columns) as progress:
            aggregates: list[Aggregate] = [AccountAggregate(), ContactAggregate()]
            places = [
                (aggregate, partition) for aggregate in aggregates for partition in await _partitions_of(context, aggregate)
            ]
            unknown = sorted({*wanted} - {partition for _, partition in places})
            if unknown:
                raise click.BadParameter(f"there is no partition {unknown[0]}", param_hint="--partition")
            return [
                await _partition(context, aggregate, partition, progress)
                for aggregate, partition in places
                if not wanted or partition in wanted
            ]


async def _partitions_of(context: Context, aggregate: Aggregate) -> range:
    return range(await context.log.partition_count(context.names.of(aggregate.decisions_topic.name)))


async def _partition(context: Context, aggregate: Aggregate, partition: int, progress: Progress) -> Verified:
    task = progress.add_task(f"{aggregate.decisions_topic.name}[{partition}]", total=None)
    rules = context.rules if isinstance(aggregate, ContactAggregate) else None
    return await verify_partition(
        context.log,
        context.names,
        aggregate,
        partition,
        rules,
        versions=context.versions,
        progress=lambda count: progress.advance(task, count),
    )


def report(results: Sequence[Verified]) -> Iterator[str]:
    """Yield the report: one line per partition, then the counts of decisions decided again and folded."""
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
    if all(result.difference is None for result in results):
        yield _total(results)


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
