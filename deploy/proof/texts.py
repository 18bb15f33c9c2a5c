"""`python -m deploy.proof.texts`: how long do ten texts wait beside the 33,000 of another company, and what is dropped?

It runs a broker, a database and every process of a deployment in a temporary folder. Exit status 1 where one of the ten did
not go out, or anything was dropped.
"""

import asyncio
import contextlib
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import click
import msgspec
from msgspec import Struct
from msgspec.structs import replace

from adapters.clock import wall_now
from adapters.roles.context import Context, open_context
from adapters.roles.record_client import RecordClient
from adapters.up.demo_time_zone import zone_at_daytime
from deploy.proof.evidence import committed
from deploy.proof.load import post
from deploy.proof.processes import ProcessGroup
from deploy.proof.progress import Say, since_now
from deploy.proof.rest import until_at_rest
from deploy.proof.servers import own_servers
from deploy.proof.submissions import TEXT_ENDINGS, SentSubmission, number
from engine.partition.ports import Outgoing
from schemas.envelope import Envelope, to_headers
from schemas.instant import Instant
from schemas.outcomes import GATE_OUTCOMES
from schemas.requests import OutcomeRecorded
from schemas.topics import COMMANDS_SMS, CONTACTS_REQUESTS, LEADS_INBOX, LEADS_INBOX_BULK
from schemas.wire import to_json

BURSTING_COMPANY_ID = 1
QUIET_COMPANY_ID = 2
PARTITIONS = 4
OUTCOME = b"outcome.recorded"


class Text(Struct):
    """What became of the text of one person; instants in milliseconds of the brokers' clock."""

    commanded_at: list[Instant] = []
    outcomes: list[tuple[Instant, str]] = []


@click.command()
@click.option(
    "--burst", type=click.IntRange(10, 200_000), default=33_000, show_default=True, help="Texts of the one company."
)
@click.option("--texts", type=click.IntRange(1, 1_000), default=10, show_default=True, help="Texts of the other one.")
@click.option(
    "--speed", type=float, default=1.0, show_default=True, help="Of the clock: a text of the sandbox takes 2 s of it."
)
@click.option("--one-inbox", is_flag=True, help="Put the burst on leads.inbox as well, instead of leads.inbox.bulk.")
@click.option("--seconds", type=float, default=3_600.0, show_default=True, help="Bound of the way to rest.")
def main(*, burst: int, texts: int, speed: float, one_inbox: bool, seconds: float) -> None:
    """Post a burst and, behind it, some texts of another company; say what became of both."""
    say = since_now()
    holds = asyncio.run(_run(burst, texts, speed, one_inbox=one_inbox, seconds=seconds, say=say))
    click.echo("every text went out once" if holds else "NOT every text went out once")
    sys.exit(0 if holds else 1)


async def _run(burst: int, texts: int, speed: float, *, one_inbox: bool, seconds: float, say: Say) -> bool:
    async with contextlib.AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="leadclock-texts-")))
        settings = await stack.enter_async_context(own_servers(folder, say, partitions=PARTITIONS))
        now = wall_now()
        settings = replace(settings, clock_wall_at=now, clock_domain_at=now, clock_speed=speed, channels=("sms",))
        deployment = ProcessGroup(folder, replace(settings, sandbox=("sms",)))
        stack.callback(deployment.kill)
        context = await stack.enter_async_context(open_context(deployment.settings))
        await deployment.prepare()
        for role in ("accounts", "scheduler", "intake", "projector", "gateway"):
            deployment.add(role)
        await deployment.until_ready()
        tokens = await _companies(context)
        say("everything is ready")

        inbox = LEADS_INBOX if one_inbox else LEADS_INBOX_BULK
        await post(context, _leads(burst, tokens[BURSTING_COMPANY_ID], context.names.of(inbox.name)))
        posted_at = wall_now()
        await post(context, _leads(texts, tokens[QUIET_COMPANY_ID], context.names.of(LEADS_INBOX.name)))
        say(f"{burst:,} and {texts} leads are posted")
        await until_at_rest(context, settings.postgres_dsn, leads=burst + texts, seconds=seconds)
        say("everything is decided, carried out and shown")
        found = await _texts(context)
        deployment.stop()
    bursting = [text for (company_id, _), text in found.items() if company_id == BURSTING_COMPANY_ID]
    quiet = [text for (company_id, _), text in found.items() if company_id == QUIET_COMPANY_ID]
    _say_what_became("burst", bursting, posted_at, say)
    _say_what_became("other", quiet, posted_at, say)
    return len(bursting) == burst and len(quiet) == texts and all(_went_out_once(text) for text in (*bursting, *quiet))


async def _companies(context: Context) -> dict[int, str]:
    """Make both companies, and return the lead token of each."""
    appender = await context.log.appender()
    tokens = {}
    try:
        await context.rules.refresh()
        for company_id in (BURSTING_COMPANY_ID, QUIET_COMPANY_ID):
            records = RecordClient(context.log, context.names, context.rules, appender, context.clock, company_id=company_id)
            name = f"company-{company_id}"
            await records.ensure("company", "name", {"name": name, "country": "US"})
            offer = {"name": name, "lead_token": f"lt_{name}_offer_0123456789abcdef"}
            offer_id = await records.ensure("offer", "name", offer)
            await records.ensure("number", "number", {"number": f"+1212555015{company_id}", "offer_id": offer_id})
            tokens[company_id] = f"lt_{name}_text_0123456789abcdef"
            steps = [{"id": "first", "kind": "sms", "template": "Hello {{first_name}}"}]
            schedule = {"name": name, "offer_id": offer_id, "lead_token": tokens[company_id], "steps": steps}
            await records.ensure("schedule", "name", schedule)
    finally:
        await appender.close()
    return tokens


def _leads(count: int, token: str, topic: str) -> Iterator[SentSubmission]:
    zone = zone_at_daytime()
    for index in range(count):
        caller_id = number(index, 1, TEXT_ENDINGS)  # of those that are reached
        id_ = f"{token}-{index}"
        body = {"lead_token": token, "caller_id": caller_id, "first_name": f"Lead {index}", "time_zone": zone}
        headers = to_headers(Envelope(id=id_, type="lead.submitted", source="/proof"))
        yield SentSubmission(id=id_, record=Outgoing(topic, caller_id.encode(), to_json(body), headers))


async def _texts(context: Context) -> dict[tuple[int, str], Text]:
    """Return what the topics say of each person's text, by company and contact."""
    found: dict[tuple[int, str], Text] = {}

    def of(key: bytes | None) -> Text:
        contact = (key or b"").decode()
        return found.setdefault((int(contact.partition("|")[0]), contact), Text())

    async for record in committed(context.log, context.names.of(COMMANDS_SMS.name)):
        if dict(record.headers)["ce_type"] != b"fence":
            of(record.key).commanded_at.append(record.appended_at)
    async for record in committed(context.log, context.names.of(CONTACTS_REQUESTS.name)):
        if dict(record.headers)["ce_type"] == OUTCOME:
            outcome = msgspec.json.decode(record.value or b"", type=OutcomeRecorded).outcome
            of(record.key).outcomes.append((record.appended_at, outcome))
    return found


def _went_out_once(text: Text) -> bool:
    return len(text.commanded_at) == 1 and all(outcome not in GATE_OUTCOMES for _, outcome in text.outcomes)


def _say_what_became(name: str, texts: list[Text], posted_at: Instant, say: Say) -> None:
    ended = sorted(at - posted_at for text in texts for at, _ in text.outcomes)
    counts = Counter(outcome for text in texts for _, outcome in text.outcomes)
    commands = sum(len(text.commanded_at) for text in texts)
    seconds = f"outcomes after {ended[0] / 1000:.1f} to {ended[-1] / 1000:.1f} s" if ended else "no outcome"
    say(f"{name}: {len(texts):,} people, {commands:,} commands, {seconds}, {dict(counts)}")


if __name__ == "__main__":
    main()
