"""Do spans leave by OTLP with the ids that other processes work out, and is nothing of it there where it is off?"""

import asyncio
import subprocess
import sys
import threading
import time
from typing import Any

import pytest

from adapters.local.process import free_port
from adapters.observability.trace_ids import (
    SpanPlace,
    command_span_id,
    lead_place,
    read_traceparent,
    trace_id_of,
    traceparent,
)
from adapters.observability.traces import INSTALL, LAST_SPANS, open_traces, opened_traces, with_parent
from adapters.settings import Settings, SettingsError
from engine.partition.decider import Sealed
from engine.partition.ports import LogRecord
from engine.partition.runner import CycleReport
from schemas.commands import SendSms
from schemas.decisions import Cause, Decision, Fact
from schemas.instant import EPOCH
from tests.adapters.observability.otlp_receiver import OtlpReceiver, ReceivedSpan, otlp_receiver

DEPLOYMENT = "4f1f5b43-7f2f-4f1e-9d4e-000000000001"
SENDER = SpanPlace(0x4BF92F3577B34DA6A3CE929D0E0E4736, 0x00F067AA0BA902B7)
COMMAND = "0b6f3f52-1111-8222-9333-444444444444"


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is asserted behind `close` must have come, however busy the machine is."""
    monkeypatch.setattr("adapters.observability.traces.CLOSE_SECONDS", 60.0)


def opened(receiver: OtlpReceiver) -> Any:
    return open_traces(receiver.endpoint, "test", lambda: DEPLOYMENT)


def of(receiver: OtlpReceiver) -> dict[str, ReceivedSpan]:
    found = {span.name: span for span in receiver.spans}
    assert len(found) == len(receiver.spans)
    return found


def decided(cause: Cause, *facts: Fact, records: tuple[LogRecord, ...] = ()) -> CycleReport:
    decision = Decision(sequence=7, decided_at=EPOCH, prev="", cause=cause, facts=facts)
    sealed = Sealed(decision=decision, value=b"", records=(), entries=(), changes=(), size_bytes=0)
    return CycleReport(decisions=[sealed], records=records, commit_seconds=0.01)


def record(offset: int, *headers: tuple[str, bytes]) -> LogRecord:
    return LogRecord("contacts.requests", 0, offset, b"k", b"{}", headers, EPOCH)


def emitted(lead_id: int) -> Fact:
    return Fact(type="command.emitted", lead_id=lead_id, data={"command_id": COMMAND, "kind": "sms", "step_id": "text-1"})


def text(lead_id: int) -> SendSms:
    return SendSms(
        command_id=COMMAND, company_id=3, contact_key="3|+12125550100", lead_id=lead_id, lead_uuid="u", step_id="text-1",
        enrolment=1, attempt=1, decided_at=EPOCH, not_before=EPOCH, to="+12125550100", body="Hello Ada",
    )  # fmt: skip


async def test_a_lead_has_one_trace_from_its_first_decision_to_the_outcome_and_links_to_its_sender() -> None:
    headers = ("traceparent", traceparent(SENDER).encode())
    with otlp_receiver() as receiver:
        traces = opened(receiver)
        created = Cause(kind="request", offset=12, type="lead.submitted")
        facts = (Fact(type="lead.created", lead_id=9), emitted(9))
        traces.decided("contacts.requests", 0, decided(created, *facts, records=(record(11), record(12, headers))))
        with traces.delivery(text(9), "sms", "sandbox") as span:
            carried = with_parent(record(3, ("ce_id", b"1")), span)
            span.end_as("delivered")
        outcome = Cause(kind="request", offset=20, type="outcome.recorded")
        report = record(20, *carried.headers)
        traces.decided("contacts.requests", 0, decided(outcome, Fact(type="outcome.recorded", lead_id=9), records=(report,)))
        traces.decided("contacts.requests", 0, decided(Cause(kind="tick"), Fact(type="lead.ended", lead_id=9)))
        await traces.close()
        found = of(receiver)

    root, sent = found["decide lead.submitted"], found["send sms"]
    carried_out, reported, ended = found["deliver sms"], found["decide outcome.recorded"], found["decide timer"]
    assert {span.trace_id for span in found.values()} == {trace_id_of(DEPLOYMENT, 9)}
    assert {span.service for span in found.values()} == {"leadclock-test"}
    assert (root.span_id, root.parent_id) == (f"{lead_place(DEPLOYMENT, 9).span_id:016x}", "")
    assert root.links == ((f"{SENDER.trace_id:032x}", f"{SENDER.span_id:016x}"),)
    assert (sent.span_id, sent.parent_id) == (f"{command_span_id(COMMAND):016x}", root.span_id)
    assert (carried_out.parent_id, reported.parent_id, ended.parent_id) == (sent.span_id, carried_out.span_id, root.span_id)
    assert (reported.links, ended.links) == ((), ())
    assert carried_out.attributes == {
        "leadclock.company_id": 3,
        "leadclock.lead_id": 9,
        "leadclock.command_id": COMMAND,
        "leadclock.channel": "sms",
        "leadclock.provider": "sandbox",
        "leadclock.outcome": "delivered",
    }
    assert root.attributes["leadclock.facts"] == ["lead.created", "command.emitted"]
    assert root.attributes["messaging.kafka.offset"] == 12


async def test_slots_rows_and_events_are_in_the_trace_of_their_lead() -> None:
    with otlp_receiver() as receiver:
        traces = opened(receiver)
        asked = LogRecord("accounts.requests", 0, 5, b"3", b'{"company_id":3,"lead_id":9}', (), EPOCH)
        without_lead = LogRecord("accounts.requests", 0, 6, b"3", b'{"company_id":3,"lead_id":0}', (), EPOCH)
        for type, offset in (("slot.requested", 5), ("slot.released", 6), ("record.change_requested", 5)):  # noqa: A001 - its name
            cause = Cause(kind="request", offset=offset, type=type)
            traces.decided("accounts.requests", 0, decided(cause, records=(asked, without_lead)))
        traces.projected("contacts.decisions", 2, {9: 71}, time.time_ns())
        with traces.event_post("lead_created", 9, company_id=3, subscription_id=4) as span:
            span.end_as("delivered")
        with traces.event_post("record_changed", None, company_id=3, subscription_id=4) as span:
            span.end_as("retried")
        await traces.close()
        found = of(receiver)

    root = lead_place(DEPLOYMENT, 9)
    alone = found.pop("post record_changed")
    assert (alone.parent_id, alone.attributes["leadclock.outcome"]) == ("", "retried")
    assert found.keys() == {"decide slot.requested", "project lead", "post lead_created"}
    assert {(one.trace_id, one.parent_id) for one in found.values()} == {
        (trace_id_of(DEPLOYMENT, 9), f"{root.span_id:016x}")
    }
    assert {one.attributes["leadclock.lead_id"] for one in found.values()} == {9}
    assert found["project lead"].attributes["leadclock.sequence"] == 71
    assert found["post lead_created"].attributes["leadclock.outcome"] == "delivered"


async def test_a_submission_goes_on_the_trace_of_its_sender() -> None:
    with otlp_receiver() as receiver:
        traces = opened(receiver)
        with traces.passing_on("append lead.submitted", SENDER, "contacts.requests") as header:
            place = read_traceparent(header.encode())
        with traces.passing_on("append call.earned", None, "contacts.requests"):
            pass
        await traces.close()
        found = of(receiver)
    passed, alone = found["append lead.submitted"], found["append call.earned"]
    assert (passed.trace_id, passed.parent_id) == (f"{SENDER.trace_id:032x}", f"{SENDER.span_id:016x}")
    assert place == SpanPlace(SENDER.trace_id, int(passed.span_id, 16))
    assert (alone.parent_id, alone.trace_id != passed.trace_id) == ("", True)


async def test_nothing_of_a_person_is_in_a_span_and_an_error_is_named_by_its_type_alone() -> None:
    with otlp_receiver() as receiver:
        traces = opened(receiver)
        with pytest.raises(ValueError, match="Ada"), traces.delivery(text(9), "sms", "sandbox"):
            raise ValueError("no such number: Ada, +12125550100")
        await traces.close()
        [span] = receiver.spans
    assert span.attributes["error.type"] == "ValueError"
    assert not any(part in str(span) for part in ("Ada", "2125550100", "Hello"))


async def test_every_process_leaves_out_the_same_leads_where_only_a_share_is_sampled(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OTEL_TRACES_SAMPLER", "parentbased_traceidratio")
    monkeypatch.setenv("OTEL_TRACES_SAMPLER_ARG", "0.5")
    with otlp_receiver() as receiver:
        scheduler, gateway = opened(receiver), opened(receiver)
        created = Cause(kind="request", offset=12, type="lead.submitted")
        for lead_id in range(1, 101):
            scheduler.decided("contacts.requests", 0, decided(created, Fact(type="lead.created", lead_id=lead_id)))
            with gateway.delivery(text(lead_id), "sms", "sandbox") as span:
                span.end_as("delivered")
            gateway.projected("contacts.decisions", 0, {lead_id: 1}, time.time_ns())
        await scheduler.close()
        await gateway.close()
        leads = {
            name: {s.trace_id for s in receiver.spans if s.name == name}
            for name in ("decide lead.submitted", "deliver sms", "project lead")
        }
    assert leads["decide lead.submitted"] == leads["deliver sms"] == leads["project lead"]
    assert 20 < len(leads["deliver sms"]) < 80


async def test_a_receiver_that_is_away_holds_up_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("adapters.observability.traces.CLOSE_SECONDS", 0.01)
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "0.5")
    traces = open_traces(f"http://127.0.0.1:{free_port()}", "test", lambda: DEPLOYMENT)
    with traces.delivery(text(9), "sms", "sandbox") as span:
        span.end_as("delivered")
    await traces.close()
    # What the SDK still tries and logs must be over before another test begins.
    for thread in threading.enumerate():
        if thread.name == LAST_SPANS:
            await asyncio.to_thread(thread.join, 60)
            assert not thread.is_alive()


async def test_a_fault_in_what_is_shown_stops_no_partition(monkeypatch: pytest.MonkeyPatch) -> None:
    with otlp_receiver() as receiver:
        traces = opened(receiver)
        monkeypatch.setattr(traces, "_root", None)
        traces.decided("contacts.requests", 0, decided(Cause(kind="tick"), Fact(type="lead.ended", lead_id=9)))
        traces.projected("contacts.decisions", 0, {9: 1}, time.time_ns())
        await traces.close()
        assert receiver.spans == []


async def test_without_an_endpoint_there_are_no_traces_and_the_sdk_is_not_loaded() -> None:
    async with opened_traces(Settings(), "scheduler", lambda: DEPLOYMENT) as traces:
        assert traces is None
    loaded = "import adapters.roles.process, sys; sys.exit(any(name.startswith('opentelemetry') for name in sys.modules))"
    assert subprocess.run([sys.executable, "-c", loaded], check=False).returncode == 0


def test_a_missing_sdk_is_named_with_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk.trace", None)
    with pytest.raises(SettingsError) as raised:
        open_traces("http://127.0.0.1:9", "test", lambda: DEPLOYMENT)
    assert str(raised.value) == INSTALL


@pytest.mark.parametrize(
    "value",
    [
        None,
        b"",
        b"00-" + b"0" * 32 + b"-00f067aa0ba902b7-01",
        b"00-4bf92f3577b34da6a3ce929d0e0e4736-" + b"0" * 16 + b"-01",
        b"01-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
        b"00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
        b"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01\n",
    ],
)
def test_a_malformed_traceparent_is_none(value: bytes | None) -> None:
    assert read_traceparent(value) is None


def test_traces_of_leads_differ_by_deployment_and_lead() -> None:
    assert len({trace_id_of(d, n) for d in ("a", "b") for n in (1, 2)}) == 4
    assert read_traceparent(traceparent(lead_place("a", 1)).encode()) == lead_place("a", 1)
    off = SpanPlace(1, 2, is_sampled=False)
    assert read_traceparent(traceparent(off).encode()) == off
