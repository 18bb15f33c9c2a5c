"""Is a lead's way one trace, from its sender to provider, database and subscription? On real processes and a real Kafka."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import httpx
import pytest
from msgspec.structs import replace

from adapters.observability.trace_ids import SpanPlace, traceparent
from adapters.roles.context import open_context
from adapters.settings import Settings
from adapters.up.demo_time_zone import zone_at_daytime
from deploy.proof.company import make_company
from deploy.proof.processes import ProcessGroup
from engine.partition.ports import Outgoing
from schemas.envelope import Envelope, to_headers
from schemas.topics import LEADS_INBOX
from schemas.wire import to_json
from tests.adapters.gateway.receiver import Receiver
from tests.adapters.observability.otlp_receiver import OtlpReceiver, ReceivedSpan, otlp_receiver
from tests.pace import bound
from tests.system.test_subscriptions import LOOPBACK, subscribe

pytestmark = pytest.mark.system

ROLES = ("accounts", "scheduler", "intake", "projector", "gateway", "deliverer", "api")
CLIENT = SpanPlace(0x4BF92F3577B34DA6A3CE929D0E0E4736, 0x00F067AA0BA902B7)
PRODUCER = SpanPlace(0x5BF92F3577B34DA6A3CE929D0E0E4737, 0x10F067AA0BA902B8)
CALLER = SpanPlace(0x6BF92F3577B34DA6A3CE929D0E0E4738, 0x20F067AA0BA902B9)
NUMBERS = {CLIENT: "+12125550100", PRODUCER: "+13235550100", CALLER: "+17185550100"}
ARRIVAL_SECONDS = bound(120.0)
LOOK_SECONDS = 0.2


@pytest.fixture
def receiver() -> Iterator[OtlpReceiver]:
    with otlp_receiver() as running:
        yield running


def of_lead(receiver: OtlpReceiver, sender: SpanPlace) -> dict[str, ReceivedSpan]:
    """Return the spans of the lead whose first decision links to what its sender began, by name."""
    passed = [span for span in receiver.spans if span.trace_id == f"{sender.trace_id:032x}"]
    linked = {(span.trace_id, span.span_id) for span in passed}
    roots = [span for span in receiver.spans if span.name == "decide lead.submitted" and linked & set(span.links)]
    return {span.name: span for root in roots for span in receiver.spans if span.trace_id == root.trace_id}


@pytest.fixture
async def hook() -> AsyncIterator[Receiver]:
    running = Receiver("")
    await running.start()
    yield running
    await running.stop()


async def until(receiver: OtlpReceiver, holds: Callable[[], bool]) -> None:
    """Wait until the spans that came say so."""
    try:
        async with asyncio.timeout(ARRIVAL_SECONDS):
            while not holds():
                await asyncio.sleep(LOOK_SECONDS)
    except TimeoutError:
        pytest.fail(str([(span.service, span.name, span.links) for span in receiver.spans]))


async def test_a_leads_way_is_one_trace_and_explain_names_it(
    settings: Settings, folder: Path, receiver: OtlpReceiver, hook: Receiver
) -> None:
    settings = replace(settings, otlp_endpoint=receiver.endpoint, webhook_private_networks=(LOOPBACK,))
    deployment = ProcessGroup(folder, settings)
    deployment.environment["OTEL_BSP_SCHEDULE_DELAY"] = "200"
    try:
        await deployment.prepare()
        for role in ROLES:
            deployment.add(role)
        await deployment.until_ready()
        company = await make_company(settings)
        lead = {"lead_token": company.tokens["text"], "time_zone": zone_at_daytime(), "first_name": "Ada"}
        async with open_context(settings) as context:
            await subscribe(context, hook)
        async with httpx.AsyncClient(base_url=deployment["api"].url, timeout=30.0, auth=company.auth()) as client:
            for sender, kind in ((CLIENT, "text"), (CALLER, "call")):
                given = lead | {"caller_id": NUMBERS[sender], "lead_token": company.tokens[kind]}
                answer = await client.post("/api/v1/leads", json=given, headers={"traceparent": traceparent(sender)})
                assert answer.is_success, answer.text
        async with open_context(settings) as context:
            appender = await context.log.appender()
            envelope = Envelope(id="traced", type="lead.submitted", source="/test", traceparent=traceparent(PRODUCER))
            body = to_json(lead | {"caller_id": NUMBERS[PRODUCER]})
            inbox = context.names.of(LEADS_INBOX.name)
            await appender.append(0, [Outgoing(inbox, b"k", body, to_headers(envelope))])
            await appender.close()

        every = {"decide lead.submitted", "decide outcome.recorded", "project lead", "post lead_created"}
        texts, calls = every | {"send sms", "deliver sms"}, every | {"decide slot.requested", "send call", "deliver call"}
        wanted = {CLIENT: texts, PRODUCER: texts, CALLER: calls}
        await until(receiver, lambda: all(names <= of_lead(receiver, sender).keys() for sender, names in wanted.items()))

        called = of_lead(receiver, CALLER)
        services = {"decide slot.requested": "accounts", "project lead": "projector", "post lead_created": "deliverer"}
        for name, service in services.items():
            assert (called[name].service, called[name].parent_id) == (
                f"leadclock-{service}",
                called["decide lead.submitted"].span_id,
            )
        assert called["post lead_created"].attributes["leadclock.outcome"] == "delivered"

        for sender, first in ((CLIENT, "append lead.submitted"), (PRODUCER, "pass on lead.submitted")):
            found = of_lead(receiver, sender)
            [passed] = [span for span in receiver.spans if span.name == first and span.parent_id == f"{sender.span_id:016x}"]
            assert passed.service == ("leadclock-api" if sender is CLIENT else "leadclock-intake")
            root, sent, carried_out = (found[name] for name in ("decide lead.submitted", "send sms", "deliver sms"))
            assert root.links == ((passed.trace_id, passed.span_id),)
            assert (sent.parent_id, carried_out.parent_id) == (root.span_id, sent.span_id)
            assert found["decide outcome.recorded"].parent_id == carried_out.span_id
            assert (carried_out.service, root.service) == ("leadclock-gateway", "leadclock-scheduler")
            assert carried_out.attributes["leadclock.outcome"] == "delivered"
            status, said = await deployment.command("explain", NUMBERS[sender])
            assert status == 0, said
            assert f"  trace {root.trace_id}\n" in said
        assert not any(number[2:] in str(receiver.spans) for number in NUMBERS.values())
        # What is traced is beside the records: the audit decides the same bytes again.
        status, said = await deployment.command("audit", "verify")
        assert status == 0, said
        assert set(deployment.stop().values()) == {0}
    finally:
        deployment.kill()
