"""Do the topics exist with the right settings? Missing ones are created, others compared, none altered."""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path

import click
import msgspec

from adapters.cli.deployment import option, resolve_settings, run
from adapters.cli.failures import report_errors
from adapters.cli.identity_check import open_checked
from adapters.cli.tables import write_table
from adapters.kafka.acls import ACCESS, Acl, acls, apply, commands
from adapters.kafka.topics import Drift
from adapters.postgres.database_errors import DatabaseAwayError
from adapters.roles.broker import connection_of, describing_log_errors
from adapters.roles.context import compare, open_context
from adapters.roles.identity import (
    IdentityError,
    MadeTopics,
    NotPreparedError,
    check_before_creating,
    establish,
    establish_database,
    find_identity,
    make_topics,
)
from adapters.roles.intake import GROUPS
from adapters.settings import Settings, require
from schemas.deployment import Deployment
from schemas.topics import TOPICS, Topic, inbox_of


@click.group()
def topics() -> None:
    """Create the topics, compare them, or list what they hold."""


@topics.command()
@click.option("--partitions", type=click.IntRange(1, 1024), help="Of every topic; fixed for good. [LEADCLOCK_PARTITIONS]")
@option
@report_errors
def create(partitions: int | None, data_dir: Path, as_json: bool) -> None:
    """Create what a new deployment or a release needs, record it in the identity, compare the rest; exit 1 where it differs.

    Nothing is made in the place of a topic that is lost: that is refused, and the topic named.
    """
    settings = resolve_settings(data_dir)
    if partitions is not None:
        settings = msgspec.structs.replace(settings, partitions=partitions)
    made = run(_create(settings, partitions))
    _show(list(made.created), list(made.drifts), as_json=as_json)


@topics.command()
@option
@report_errors
def check(data_dir: Path, as_json: bool) -> None:
    """Compare the topics with what is needed and print how to correct a difference; exit 1 where there is one."""
    _show([], run(_compare(resolve_settings(data_dir))), as_json=as_json)


@topics.command()
@option
@report_errors
def adopt(data_dir: Path, as_json: bool) -> None:
    """Record the identity of the topics in a database that was used before it had one. Only where both belong together."""
    identity = run(_adopt(resolve_settings(data_dir)))
    if as_json:
        click.echo(msgspec.json.encode(identity))
    else:
        click.echo(f"deployment {identity.id}: recorded in the database")


@topics.command(name="acls")
@click.option("--principal", "principals", multiple=True, metavar="ROLE=User:NAME", help="Instead of User:leadclock-ROLE.")
@click.option("--apply", "is_applied", is_flag=True, help="Add them now, as the user of the settings.")
@click.argument("kinds", nargs=-1, type=click.Choice(list(ACCESS)), metavar="[ROLE]...")
@option
@report_errors
def acls_(kinds: tuple[str, ...], principals: tuple[str, ...], *, is_applied: bool, data_dir: Path, as_json: bool) -> None:
    """Print the ACLs that each role (or only those named) needs, as commands of kafka-acls.sh.

    Roles are those of `leadclock`, and `producer`, `bulk-producer`, `auditor` and `operator`.
    """
    settings = resolve_settings(data_dir)
    found = acls_of(kinds or tuple(ACCESS), _principals(principals), settings)
    if is_applied:
        with describing_log_errors(settings):
            run(apply(connection_of(settings), found))
        click.echo(f"{len(found)} ACLs are there", err=True)
    elif as_json:
        click.echo(msgspec.json.encode(found))
    else:
        click.echo("\n".join(commands(found, settings.kafka_bootstrap)))


def acls_of(kinds: Iterable[str], principals: Mapping[str, str], settings: Settings) -> list[Acl]:
    """Return the ACLs of kinds of processes, by their principals, in the deployment of the settings."""
    return [
        acl
        for kind in kinds
        for acl in acls(
            kind,
            principals.get(kind, f"User:leadclock-{kind}"),
            app=settings.app,
            prefix=settings.topic_prefix,
        )
    ]


def _principals(given: Iterable[str]) -> dict[str, str]:
    found = {}
    for text in given:
        kind, equals, principal = text.partition("=")
        if kind not in ACCESS or not equals or ":" not in principal:
            raise click.BadParameter(
                f"{text!r} is not ROLE=User:NAME with a role of {', '.join(ACCESS)}", param_hint="--principal"
            )
        found[kind] = principal
    return found


@topics.command(name="set-offset")
@click.option("--bulk", "is_bulk", is_flag=True, help="Of leads.inbox.bulk, instead of leads.inbox.")
@click.option("--partition", type=click.IntRange(0, 1023), required=True, help="Of the inbox.")
@click.option("--offset", type=click.IntRange(0), required=True, help="Of the next record that intake reads.")
@option
@report_errors
def set_offset(*, is_bulk: bool, partition: int, offset: int, data_dir: Path, as_json: bool) -> None:
    """Let intake resume at an offset of an inbox, where its own was lost. No `leadclock intake` may run.

    The role logs the offset that it needs. From an earlier offset, decided records are refused as repeats; records before a
    later offset are not read.
    """
    inbox = inbox_of(is_bulk=is_bulk)
    run(_set_offset(resolve_settings(data_dir), inbox, partition, offset))
    if as_json:
        click.echo(msgspec.json.encode({"topic": inbox.name, "partition": partition, "offset": offset}))
    else:
        click.echo(f"intake goes on at {offset} of {inbox.name}[{partition}]")


@topics.command(name="list")
@option
@report_errors
def list_(data_dir: Path, as_json: bool) -> None:  # noqa: ARG001 - the options of every command
    """List every topic, its key, and what it holds."""
    if as_json:
        click.echo(msgspec.json.encode(TOPICS))
        return
    write_table(
        ("topic", "cleanup", "key", "content"), [(topic.name, topic.cleanup, topic.key, topic.content) for topic in TOPICS]
    )


async def _create(settings: Settings, partitions: int | None) -> MadeTopics:
    async with open_context(settings) as context:
        try:
            known = await check_before_creating(context, with_database=bool(settings.postgres_dsn))
        except DatabaseAwayError:  # the topics do not need the database
            known = await check_before_creating(context, with_database=False)
        if known is not None and partitions not in {None, known.partitions}:
            raise IdentityError(f"this deployment has {known.partitions} partitions, fixed for good: leave out --partitions")
        made = await make_topics(context, known)
        if settings.postgres_dsn and made.identity is not None:
            with suppress(NotPreparedError, DatabaseAwayError):  # then `leadclock db migrate` records it
                await establish_database(context, made.identity)
        return made


async def _adopt(settings: Settings) -> Deployment:
    require(settings, "kafka_bootstrap", "postgres_dsn")
    async with open_context(settings) as context:
        identity = await establish(context)
        await establish_database(context, identity, adopt=True)
        return identity


async def _set_offset(settings: Settings, inbox: Topic, partition: int, offset: int) -> None:
    async with open_checked(settings) as context:
        await context.set_offset(GROUPS[inbox.name], inbox, partition, offset)


async def _compare(settings: Settings) -> list[Drift]:
    async with open_context(settings) as context:
        await find_identity(context)  # refuses the topics of another development version
        return list(await compare(context))


def _show(created: list[str], drifts: list[Drift], *, as_json: bool) -> None:
    if as_json:
        click.echo(msgspec.json.encode({"created": created, "drifts": drifts}))
    else:
        for name in created:
            click.echo(f"created {name}")
        for drift in drifts:
            click.echo(f"{drift.topic}: {drift.setting} is {drift.found}, needed is {drift.wanted}\n  {drift.fix}")
        if not created and not drifts:
            click.echo("every topic is as it should be")
    if drifts:
        raise click.exceptions.Exit(1)
