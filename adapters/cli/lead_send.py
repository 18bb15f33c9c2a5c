"""What becomes of one submission on an inbox? It is put there, and its decision or its dead letter is awaited."""

import asyncio
import sys
from pathlib import Path
from typing import Any

import click
import msgspec
from msgspec import Struct

from adapters.cli.deployment import option, resolve_settings, run
from adapters.cli.failures import report_errors
from adapters.cli.identity_check import open_checked
from adapters.partitions.routing import partition_of
from adapters.roles.context import Context
from adapters.settings import Settings
from engine.partition.ports import Appender, LogError, LogRecord, Outgoing, Reader
from schemas.decisions import Decision
from schemas.envelope import Envelope, to_headers
from schemas.topics import CONTACTS_DECISIONS, DEADLETTER, Topic, inbox_of
from schemas.wire import digest

WAIT_SECONDS = 10.0
"""A decision takes less than a second where the schedulers are not behind."""

WAIT_SECONDS_MAX = 3_600.0
POLL_LIMIT = 500
POLL_SECONDS = 0.2


class InboxSubmission(Struct, frozen=True):
    """Where a submission stands, and what came of it: nothing yet, a lead with what it did, or a refusal."""

    topic: str
    partition: int
    offset: int
    lead_id: int | None = None
    dedupe_action: str | None = None
    code: str | None = None
    detail: str | None = None


@click.command()
@click.argument("submission")
@click.option("--bulk", "is_bulk", is_flag=True, help="On leads.inbox.bulk, where it may wait, instead of leads.inbox.")
@click.option(
    "--wait",
    "seconds",
    type=click.FloatRange(0, WAIT_SECONDS_MAX),
    default=WAIT_SECONDS,
    show_default=True,
    metavar="SECONDS",
    help="How long to wait for what comes of it; 0 does not.",
)
@option
@report_errors
def send(submission: str, *, is_bulk: bool, seconds: float, data_dir: Path, as_json: bool) -> None:
    """Put a submission (a JSON object, or - for standard input) on an inbox, and say what came of it.

    Exit 1 where it was refused. What is not decided in time was stored, and will be.
    """
    text = sys.stdin.read() if submission == "-" else submission
    try:
        msgspec.json.decode(text, type=dict[str, Any])
    except msgspec.DecodeError as error:
        raise click.BadParameter(f"not a JSON object: {error}") from error
    sent = run(_send(resolve_settings(data_dir), inbox_of(is_bulk=is_bulk), text.encode(), seconds))
    click.echo(msgspec.json.encode(sent) if as_json else describe(sent))
    if sent.code is not None:
        raise click.exceptions.Exit(1)


def describe(sent: InboxSubmission) -> str:
    """Return what a person reads of a submission."""
    place = f"{sent.topic}[{sent.partition}] at offset {sent.offset}"
    if sent.code is not None:
        return f"refused: {sent.code}. {sent.detail}\n{place}"
    if sent.lead_id is not None:
        done = (sent.dedupe_action or "decided").replace("_", " ")
        return f"lead {sent.lead_id}: {done}; `leadclock leads show {sent.lead_id}` shows it\n{place}"
    return f"not decided yet; `leadclock leads tail` shows what comes of it\n{place}"


async def _send(settings: Settings, inbox: Topic, body: bytes, seconds: float) -> InboxSubmission:
    async with open_checked(settings) as context:
        decided, refused = await _reader(context, CONTACTS_DECISIONS), await _reader(context, DEADLETTER)
        appender = await context.appender()
        try:
            sent, request_id = await _append(context, inbox, appender, body)
            return await _outcome(sent, request_id, decided, refused, seconds)
        finally:
            for opened in (appender, decided, refused):
                await opened.close()


async def _reader(context: Context, topic: Topic) -> Reader:
    """Return a reader at the end of a topic, from before the submission is sent."""
    name = context.names.of(topic.name)
    partitions = range(await context.log.partition_count(name))
    return await context.log.reader(name, partitions, start=None)


async def _append(context: Context, inbox: Topic, appender: Appender, body: bytes) -> tuple[InboxSubmission, str]:
    topic = context.names.of(inbox.name)
    partition = partition_of(body, await context.log.partition_count(topic))
    envelope = Envelope(id=f"cli/{context.clock.now()}/{digest(body)}", type="lead.submitted", source="/cli")
    offsets = await appender.append(partition, [Outgoing(topic, None, body, to_headers(envelope))])
    if not offsets:
        raise LogError("the log did not say where the record went")
    return InboxSubmission(topic, partition, offsets[0]), envelope.id


async def _outcome(
    sent: InboxSubmission, request_id: str, decided: Reader, refused: Reader, seconds: float
) -> InboxSubmission:
    """Return what came of a submission, or the submission as it is when the time is over."""
    loop = asyncio.get_running_loop()
    until = loop.time() + seconds
    while loop.time() < until:
        for record in await decided.poll(limit=POLL_LIMIT, timeout_seconds=POLL_SECONDS):
            found = _decision(sent, request_id, record)
            if found is not None:
                return found
        for record in await refused.poll(limit=POLL_LIMIT, timeout_seconds=POLL_SECONDS):
            found = _dead_letter(sent, record)
            if found is not None:
                return found
    return sent


def _decision(sent: InboxSubmission, request_id: str, record: LogRecord) -> InboxSubmission | None:
    if request_id.encode() not in (record.value or b""):
        return None
    decision = msgspec.json.decode(record.value or b"", type=Decision)
    if decision.cause.id != request_id:
        return None
    if decision.verdict != "done":
        answer = decision.answer
        return msgspec.structs.replace(
            sent, code=(answer and answer.code) or decision.verdict, detail=(answer and answer.detail) or ""
        )
    submitted = next((fact for fact in decision.facts if fact.type == "lead.submitted"), None)
    if submitted is None:
        return None
    return msgspec.structs.replace(sent, lead_id=submitted.lead_id, dedupe_action=submitted.data.get("dedupe_action"))


def _dead_letter(sent: InboxSubmission, record: LogRecord) -> InboxSubmission | None:
    found = dict(record.headers)
    place = (sent.topic.encode(), b"%d" % sent.partition, b"%d" % sent.offset)
    if (found.get("dl_topic"), found.get("dl_partition"), found.get("dl_offset")) != place:
        return None
    code, detail = (found.get(name, b"").decode(errors="replace") for name in ("dl_code", "dl_detail"))
    return msgspec.structs.replace(sent, code=code, detail=detail)
