"""Does one company's giant record stop another's opt-out? On a real broker, with real compression and real limits."""

from collections.abc import AsyncIterator, Awaitable, Callable
from random import Random
from string import ascii_letters
from typing import Any

import msgspec
import pytest
from aiokafka import AIOKafkaProducer

from adapters.audit.verify import verify
from adapters.clock import SystemClock
from adapters.embedded.assignment import StaticAssignment
from adapters.intake.backpressure import Backpressure
from adapters.intake.intake import IntakePartition
from adapters.intake.rights import InboxRights
from adapters.kafka.log import KafkaLog
from adapters.kafka.topics import TopicSpec, prepare_topics
from adapters.partitions.feed import RulesTopic
from adapters.partitions.outbox import OutboxSender
from adapters.roles.context import DEADLETTER_BYTES_MAX
from adapters.up.demo_time_zone import zone_at_daytime
from engine.contact.aggregate import ContactAggregate
from engine.partition.ports import LogError, LogRecord, Outgoing, RecordRefusedError
from engine.partition.runner import Runner, TopicNames
from schemas.contact import Head, Lead
from schemas.decisions import Decision
from schemas.envelope import Envelope, to_headers
from schemas.instant import EPOCH
from schemas.records import Body, Company, Offer, Schedule, plain, rules_key
from schemas.records import Record as RuleRecord
from schemas.requests import REQUEST_TYPES, CallerActed, ContactRequest, LeadSubmitted
from schemas.state import head_key
from schemas.topics import ACCOUNTS_RULES, COMMANDS_SMS, CONTACTS_REQUESTS, DEADLETTER, LEADS_INBOX, TOPICS
from schemas.wire import from_builtins, to_json
from tests.adapters.kafka_world import APPEND_TIME, KafkaWorld
from tests.adapters.log_contract import everything

HOSTILE, OTHER = "1|+13055550123", "2|+13055550124"
CYCLES_MAX = 15
BLANKS = b" " * 5_000_000
NOISE = "".join(Random(1).choices(ascii_letters, k=1_500))
"""No compression makes it small."""


class Deployment:
    """Two companies in one partition of one broker; company 1 texts its leads with the template that it is given."""

    def __init__(self, bootstrap: str, prefix: str) -> None:
        self.bootstrap = bootstrap
        self.world = KafkaWorld(bootstrap, prefix)
        self.log: KafkaLog = self.world.log
        self.names = TopicNames(prefix)
        self.clock = SystemClock()
        self.number = 0

    async def build(self, template: str) -> "Deployment":
        specs = [TopicSpec(self.names.of(topic.name), 1, APPEND_TIME) for topic in TOPICS if topic != DEADLETTER]
        large = {**APPEND_TIME, "max.message.bytes": str(DEADLETTER_BYTES_MAX)}
        await prepare_topics(self.world.connection, [*specs, TopicSpec(self.names.of(DEADLETTER.name), 1, large)])
        self.appender = await self.log.appender()
        step = {"id": "it", "kind": "sms", "template": template}
        schedule = {"name": "S", "lead_token": "schedule-token-001", "offer_id": 1, "steps": [step], "windows": {}}
        bodies: list[tuple[int, Body]] = [(1, Company(name="A")), (1, Offer(name="O", lead_token="offer-token-00001"))]
        bodies += [(1, from_builtins(schedule, Schedule)), (2, Offer(name="P", lead_token="offer-token-00002"))]
        for number, (company_id, body) in enumerate(bodies, start=1):
            await self._rule(number, company_id, body)
        self.rules = RulesTopic(self.log, self.names)
        await self.rules.refresh()
        self.runner = Runner(
            ContactAggregate(),
            0,
            log=self.log,
            clock=self.clock,
            outbox=lambda stream: OutboxSender(stream, log=self.log, names=self.names, appender=self.appender),
            versions={},
            rules_feed=self.rules,
            names=self.names,
        )
        await self.runner.open()
        return self

    async def _rule(self, number: int, company_id: int, body: Body) -> None:
        kind = type(body).__name__.lower()
        record = RuleRecord(
            type=kind,
            id=company_id,
            uuid=f"{kind}-{company_id}",
            company_id=company_id,
            version=1,
            sequence=number,
            created_at=EPOCH,
            updated_at=EPOCH,
            body=plain(body),
        )
        topic = self.names.of(ACCOUNTS_RULES.name)
        await self.appender.append(0, [Outgoing(topic, rules_key(record).encode(), to_json(record))])

    async def ask(self, request: ContactRequest) -> None:
        self.number += 1
        headers = to_headers(Envelope(id=f"r{self.number}", type=REQUEST_TYPES[type(request)], source="/test"))
        topic = self.names.of(CONTACTS_REQUESTS.name)
        await self.appender.append(0, [Outgoing(topic, request.contact_key.encode(), to_json(request), headers)])

    async def submit(self, key: str = HOSTILE, **data: Any) -> None:
        given = {"company_id": 1, "contact_key": key, "caller_id": key[2:], "schedule_id": 1, "zones": (zone_at_daytime(),)}
        await self.ask(LeadSubmitted(received_at=self.clock.now(), data=data, **given))  # type: ignore[arg-type]

    async def opt_out(self) -> None:
        """Let a person opt out who is known to company 2."""
        known = LeadSubmitted(
            company_id=2, contact_key=OTHER, caller_id=OTHER[2:], offer_id=2, received_at=self.clock.now(), with_key=True
        )
        await self.ask(known)
        await self.ask(CallerActed(company_id=2, contact_key=OTHER, action="opt_out", offer_id=2))

    async def compressed(self, topic: str, value: bytes, *headers: tuple[str, bytes]) -> None:
        """Write a record as a producer does that compresses and knows no bound."""
        most = 16 * 1024 * 1024
        producer = AIOKafkaProducer(
            bootstrap_servers=self.bootstrap, compression_type="gzip", max_request_size=most, max_batch_size=most
        )
        await producer.start()
        try:
            await producer.send_and_wait(self.names.of(topic), value, key=HOSTILE.encode(), headers=[*headers], partition=0)
        finally:
            await producer.stop()

    async def run(self, is_done: Callable[[], bool]) -> list[str]:
        """Run the partition as a host does, until something is so; return why it was opened again."""
        found: list[str] = []
        for _ in range(CYCLES_MAX):
            if is_done():
                return found
            try:
                await self.runner.cycle()
            except LogError as error:
                found.append(str(error))
                await self.runner.open()
        raise AssertionError(f"still not so after {CYCLES_MAX} cycles: {found[-3:]}")

    def has_opted_out(self) -> bool:
        head = self.runner.state.get(head_key(OTHER), Head)
        return head is not None and head.opted_out_at is not None

    def lead(self) -> Lead | None:
        return next(
            (self.runner.state.get(key, Lead) for key, _ in self.runner.state.items() if key.startswith("lead/")), None
        )

    async def records(self, topic: str) -> list[LogRecord]:
        reader = await self.log.reader(self.names.of(topic), [0])
        try:
            return await everything(reader, 0)
        finally:
            await reader.close()

    async def decisions(self) -> list[Decision]:
        return [msgspec.json.decode(one.value or b"", type=Decision) for one in await self.records("contacts.decisions")]

    async def letters(self) -> list[dict[str, bytes]]:
        return [dict(one.headers) for one in await self.records(DEADLETTER.name)]

    async def differs(self) -> object:
        return (await verify(self.log, self.names, ContactAggregate(), 0, self.rules)).difference

    async def close(self) -> None:
        await self.runner.close()
        await self.rules.close()
        await self.appender.close()
        await self.world.close()


Found = Callable[[str], Awaitable[Deployment]]


@pytest.fixture
async def founded(kafka_bootstrap: str, topic_prefix: str) -> AsyncIterator[Found]:
    made: list[Deployment] = []

    async def build(template: str) -> Deployment:
        made.append(await Deployment(kafka_bootstrap, topic_prefix).build(template))
        return made[0]

    yield build
    for one in made:
        await one.close()


async def test_a_giant_text_of_one_company_does_not_stop_the_opt_out_of_another(founded: Found) -> None:
    deployment = await founded("{{a}}" * 320)
    await deployment.submit(a="x" * 4_000)
    await deployment.opt_out()

    refused = await deployment.run(deployment.has_opted_out)

    lead = deployment.lead()
    facts = [(fact.type, fact.data.get("reason")) for one in await deployment.decisions() for fact in one.facts]
    assert refused == []
    assert ("step.failed", "too_large") in facts
    assert lead is not None
    assert (lead.status, lead.wake_at) == ("failure", None)
    assert await deployment.differs() is None


async def test_a_command_that_the_broker_refuses_is_recorded_and_the_partition_goes_on(founded: Found) -> None:
    deployment = await founded("{{a}}")
    await deployment.submit(a="x")  # what the topic takes is known from here on
    await deployment.run(lambda: deployment.lead() is not None)
    await deployment.world.limit(deployment.names.of(COMMANDS_SMS.name), 1_500)
    await deployment.submit(key="1|+13055550125", a=NOISE)
    await deployment.submit(key="1|+13055550126", a="y")
    await deployment.opt_out()

    refused = await deployment.run(deployment.has_opted_out)

    decisions = await deployment.decisions()
    [failed] = [one for one in decisions if one.verdict == "failed"]
    assert len(refused) == 2
    assert failed.cause.refusal is not None
    assert failed.answer is not None
    assert failed.answer.code == "too_large"
    assert [letter["dl_code"] for letter in await deployment.letters()] == [b"too_large"]
    texts = [one.key for one in await deployment.records(COMMANDS_SMS.name) if dict(one.headers)["ce_type"] == b"sms.send"]
    assert texts == [HOSTILE.encode(), b"1|+13055550126"]
    assert deployment.runner.problem is None
    assert await deployment.differs() is None


@pytest.mark.parametrize("what", ["value", "header"])
async def test_a_compressed_record_does_not_stop_a_partition(founded: Found, what: str) -> None:
    deployment = await founded("Hello")
    if what == "value":
        await deployment.compressed(CONTACTS_REQUESTS.name, BLANKS)
    else:
        await deployment.compressed(CONTACTS_REQUESTS.name, b"{", ("ce_note", BLANKS))
    await deployment.opt_out()

    assert await deployment.run(deployment.has_opted_out) == []

    [letter] = await deployment.letters()
    assert (letter["dl_partition"], letter["dl_offset"]) == (b"0", b"0")
    assert letter["dl_size"] == str(len(BLANKS) if what == "value" else 1).encode()
    assert letter["dl_digest"].decode() == (await deployment.decisions())[1].cause.digest
    assert await deployment.differs() is None


async def test_a_compressed_record_does_not_stop_the_inbox(founded: Found) -> None:
    deployment = await founded("Hello")
    await deployment.compressed(LEADS_INBOX.name, BLANKS)
    good = to_json({"lead_token": "schedule-token-001", "caller_id": "+13055550199"})
    await deployment.appender.append(0, [Outgoing(deployment.names.of(LEADS_INBOX.name), None, good)])

    async def nothing_decided() -> dict[int, int]:
        return {}

    intake = IntakePartition(
        LEADS_INBOX,
        0,
        log=deployment.log,
        names=deployment.names,
        rules=deployment.rules,
        appender=deployment.appender,
        clock=deployment.clock,
        checkpoints=StaticAssignment(1),
        backpressure=Backpressure(nothing_decided, deployment.clock),
        observe=lambda *_: None,
        rights=InboxRights("", trusts_inboxes=True),
    )
    await intake.open()
    while await intake.cycle() < 2:
        pass
    await intake.close()

    [letter] = await deployment.letters()
    assert (letter["dl_code"], letter["dl_size"]) == (b"too_large", str(len(BLANKS)).encode())
    assert len(await deployment.records(CONTACTS_REQUESTS.name)) == 1


async def test_a_record_that_the_broker_finds_invalid_is_refused_for_good(kafka_bootstrap: str, topic_prefix: str) -> None:
    world = KafkaWorld(kafka_bootstrap, topic_prefix)
    compacted = TopicSpec(f"{topic_prefix}compacted", 1, {**APPEND_TIME, "cleanup.policy": "compact"})
    await prepare_topics(world.connection, [compacted, TopicSpec(f"{topic_prefix}requests", 1, APPEND_TIME)])
    owner = await world.log.own(f"{topic_prefix}requests", 0)
    with pytest.raises(RecordRefusedError):
        await owner.commit([Outgoing(compacted.name, None, b"a value without a key")])
    await owner.close()
    await world.close()
