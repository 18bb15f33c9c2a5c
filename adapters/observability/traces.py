"""What becomes of a lead, as spans of OpenTelemetry? By its official SDK, which only a process with an endpoint loads.

A process without `LEADCLOCK_OTLP_ENDPOINT` has no `Traces`. Spans leave in batches from a thread of the SDK; where the
receiver is away, the oldest are dropped. No attribute holds a name, number, address or text of a person.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from importlib import import_module
from threading import Thread
from typing import TYPE_CHECKING, Any

import msgspec
import structlog
from msgspec import Struct, structs

from adapters.observability.trace_ids import HEADER, SpanPlace, command_span_id, lead_place, parent_in, traceparent
from adapters.settings import Settings, SettingsError
from engine.partition.decider import Sealed
from engine.partition.ports import LogRecord
from engine.partition.runner import CycleReport
from schemas.commands import Command
from schemas.contact import Lead
from schemas.decisions import Cause, Decision
from schemas.requests import ACCOUNT_REQUESTS

if TYPE_CHECKING:  # of the extra `tracing`
    from opentelemetry.context import Context
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.trace import Link, Span

logger = structlog.get_logger(__name__)

INSTALL = "LEADCLOCK_OTLP_ENDPOINT is set, and the extra `tracing` is not installed: pip install 'leadclock[tracing]'"

LEADS_MAX = 20
"""Leads of one decision that get a span: an opt-out ends all leads of a person, who has one or two of them."""

ASKED_FOR_A_LEAD = frozenset(name for name, kind in ACCOUNT_REQUESTS.items() if "lead_id" in kind.__struct_fields__)
"""What a contact asks of its account for one lead: the facts of the answer name the company's records, not the lead."""

CLOSE_SECONDS = 5.0
"""To send the last spans when a process ends: its partitions wait for nothing of it."""

LAST_SPANS = "last spans"
"""The thread that sends them."""

PATH = "/v1/traces"
NAME = "leadclock"


class Traces:
    """The spans of one process."""

    def __init__(self, provider: "TracerProvider", ids: "GivenIds", deployment_id: Callable[[], str]) -> None:
        self._provider = provider
        self._tracer = provider.get_tracer(NAME)
        self._ids = ids
        self._deployment_id = deployment_id
        self._api = import_module("opentelemetry.trace")
        self._recorded = import_module("opentelemetry.sdk.trace.sampling").Decision.RECORD_AND_SAMPLE

    @contextmanager
    def passing_on(self, name: str, parent: SpanPlace | None, topic: str) -> Iterator[str]:
        """Span the work on a submission whose lead is not known yet, as a child of its sender's; yield the `traceparent`."""
        producer = self._api.SpanKind.PRODUCER
        span = self._tracer.start_span(name, self._context(parent), producer, attributes=_messaging(topic))
        with self._recording(span):
            yield traceparent(_place(span))

    @contextmanager
    def delivery(self, command: Command, kind: str, provider: str) -> Iterator["DeliverySpan"]:
        """Span the request to a provider, below the span of the command; yield what gets its outcome."""
        attributes: dict[str, Any] = {
            "leadclock.company_id": command.company_id,
            "leadclock.command_id": command.command_id,
            "leadclock.channel": kind,
            "leadclock.provider": provider,
        }
        parent = None
        if command.lead_id:
            attributes["leadclock.lead_id"] = command.lead_id
            root = self._root(command.lead_id)
            parent = SpanPlace(root.trace_id, command_span_id(command.command_id), is_sampled=root.is_sampled)
        context = self._context(parent)
        span = self._tracer.start_span(f"deliver {kind}", context, self._api.SpanKind.CLIENT, attributes=attributes)
        with self._recording(span):
            yield DeliverySpan(span)

    @contextmanager
    def event_post(
        self, event: str, lead_id: int | None, *, company_id: int, subscription_id: int
    ) -> Iterator["OutcomeSpan"]:
        """Span one attempt to post an event to a subscription, below the root of its lead; yield what gets the result."""
        about = {"leadclock.company_id": company_id, "leadclock.subscription_id": subscription_id}
        attributes = about if lead_id is None else {**about, "leadclock.lead_id": lead_id}
        context = self._context(None if lead_id is None else self._root(lead_id))
        span = self._tracer.start_span(f"post {event}", context, self._api.SpanKind.CLIENT, attributes=attributes)
        with self._recording(span):
            yield OutcomeSpan(span)

    def projected(self, topic: str, partition: int, sequences: Mapping[int, int], began_at: int) -> None:
        """Span the write of a batch in the trace of each lead in it: lead -> its last decision that is now in the database.

        `began_at` is in nanoseconds of the machine's clock. Nothing raises: the rows are written already.
        """
        try:
            about = _messaging(topic) | {"messaging.destination.partition.id": str(partition)}
            for lead_id, sequence in sequences.items():
                root = self._root(lead_id)
                if not root.is_sampled:
                    continue
                attributes = about | {"leadclock.lead_id": lead_id, "leadclock.sequence": sequence}
                consumer = self._api.SpanKind.CONSUMER
                self._tracer.start_span(
                    "project lead", self._context(root), consumer, attributes=attributes, start_time=began_at
                ).end()
        except Exception:
            logger.exception("traces.failed", topic=topic, partition=partition)

    def decided(self, topic: str, partition: int, report: CycleReport) -> None:
        """Span each decision of a transaction in the trace of each lead that it is about, with its commands.

        Nothing raises: what is decided already must not wait for a fault in what only shows it.
        """
        try:
            self._decided(topic, partition, report)
        except Exception:
            logger.exception("traces.failed", topic=topic, partition=partition)

    def _decided(self, topic: str, partition: int, report: CycleReport) -> None:
        ended_at = time.time_ns()
        span = _Interval(ended_at - int(report.commit_seconds * 1e9), ended_at)
        read = {record.offset: record for record in report.records}
        about = _messaging(topic) | {"messaging.destination.partition.id": str(partition)}
        for sealed in report.decisions:
            offset = sealed.decision.cause.offset
            record = None if offset is None else read.get(offset)
            sender = None if record is None else parent_in(record.headers)
            for lead_id in _leads_of(sealed.decision) or _asked_for(sealed.decision.cause, record):
                self._decision(sealed, lead_id, span, sender, about)

    async def close(self) -> None:
        """Send what is left, for a bounded time: a receiver that is away must not hold up the end of the process."""
        ending = Thread(target=self._provider.shutdown, name=LAST_SPANS, daemon=True)
        ending.start()
        await asyncio.to_thread(ending.join, CLOSE_SECONDS)

    def _decision(
        self, sealed: Sealed, lead_id: int, interval: "_Interval", sender: SpanPlace | None, about: Mapping[str, Any]
    ) -> None:
        decision, root = sealed.decision, self._root(lead_id)
        is_ours = sender is not None and sender.trace_id == root.trace_id
        links = [] if sender is None or is_ours else [self._link(sender)]
        context = None
        if any(fact.type == "lead.created" and fact.lead_id == lead_id for fact in decision.facts):
            self._ids.next_trace_id, self._ids.next_span_id = root.trace_id, root.span_id
        else:
            context = self._context(sender if is_ours else root)
        cause = decision.cause.type or ("timer" if decision.cause.kind == "tick" else decision.cause.kind)
        attributes = {**about, **_of_decision(decision), **_of_lead(sealed, lead_id)}
        consumer = self._api.SpanKind.CONSUMER
        span = self._tracer.start_span(
            f"decide {cause}", context, consumer, attributes=attributes, links=links, start_time=interval.began_at
        )
        for fact in decision.facts:
            if fact.type == "command.emitted" and fact.lead_id == lead_id and fact.data.get("command_id"):
                self._command(span, fact.data, interval)
        span.end(interval.ended_at)

    def _command(self, parent: "Span", data: Mapping[str, Any], interval: "_Interval") -> None:
        """Span a command, under the id that its gateway works out."""
        self._ids.next_span_id = command_span_id(data["command_id"])
        names = {"leadclock.command_id": "command_id", "leadclock.channel": "kind", "leadclock.step_id": "step_id"}
        attributes = {name: data[field] for name, field in names.items() if data.get(field) is not None}
        context, producer = self._api.set_span_in_context(parent), self._api.SpanKind.PRODUCER
        name = f"send {data.get('kind')}"
        span = self._tracer.start_span(name, context, producer, attributes=attributes, start_time=interval.began_at)
        span.end(interval.ended_at)

    def _root(self, lead_id: int) -> SpanPlace:
        """Return the root span of a lead, recorded where the sampler takes its trace: every process decides alike."""
        root = lead_place(self._deployment_id(), lead_id)
        decision = self._provider.sampler.should_sample(None, root.trace_id, NAME).decision
        return SpanPlace(root.trace_id, root.span_id, is_sampled=decision == self._recorded)

    def _context(self, parent: SpanPlace | None) -> "Context":
        place = self._api.INVALID_SPAN_CONTEXT if parent is None else self._remote(parent)
        return self._api.set_span_in_context(self._api.NonRecordingSpan(place), {})  # type: ignore[no-any-return]

    def _link(self, place: SpanPlace) -> "Link":
        return self._api.Link(self._remote(place))  # type: ignore[no-any-return]

    def _remote(self, place: SpanPlace) -> Any:
        flags = self._api.TraceFlags(int(place.is_sampled))
        return self._api.SpanContext(place.trace_id, place.span_id, is_remote=True, trace_flags=flags)

    @contextmanager
    def _recording(self, span: "Span") -> Iterator[None]:
        """End a span, and note the type of an error: its text may be about a person."""
        try:
            yield
        except BaseException as error:
            span.set_attribute("error.type", type(error).__name__)
            span.set_status(self._api.StatusCode.ERROR)
            raise
        finally:
            span.end()


class _Interval(Struct, frozen=True):
    """From when to when a span lasts, in nanoseconds of the machine's clock."""

    began_at: int
    ended_at: int


class OutcomeSpan:
    """A span that ends with an outcome."""

    def __init__(self, span: "Span") -> None:
        self._span = span

    def end_as(self, outcome: str | None) -> None:
        """Note the outcome; None where the provider reports it later."""
        self._span.set_attribute("leadclock.outcome", outcome or "reported later")


class DeliverySpan(OutcomeSpan):
    """The span of one request to a provider."""

    @property
    def header(self) -> tuple[str, bytes]:
        """The header by which the report of the outcome names it."""
        return HEADER, traceparent(_place(self._span)).encode()


class GivenIds:
    """The ids that the next trace and span get: those that other processes can work out. Without one, ids are random."""

    def __init__(self, random: Any) -> None:
        self.next_trace_id: int | None = None
        self.next_span_id: int | None = None
        self._random = random

    def generate_trace_id(self) -> int:
        """Return the given id of a trace, once, or a random one."""
        given, self.next_trace_id = self.next_trace_id, None
        return int(self._random.generate_trace_id()) if given is None else given

    def generate_span_id(self) -> int:
        """Return the given id of a span, once, or a random one."""
        given, self.next_span_id = self.next_span_id, None
        return int(self._random.generate_span_id()) if given is None else given

    def is_trace_id_random(self) -> bool:
        """Return whether the lower bits of trace ids are random, as those of a digest are."""
        return True


@asynccontextmanager
async def opened_traces(settings: Settings, role: str, deployment_id: Callable[[], str]) -> AsyncIterator[Traces | None]:
    """Yield the traces of a process; None where no endpoint is set. Raises `SettingsError` where the SDK is missing."""
    if not settings.otlp_endpoint:
        yield None
        return
    traces = open_traces(settings.otlp_endpoint, role, deployment_id)
    try:
        yield traces
    finally:
        await traces.close()


def open_traces(endpoint: str, role: str, deployment_id: Callable[[], str]) -> Traces:
    """Load the SDK and begin to send spans to an endpoint. Raises `SettingsError` where it is not installed."""
    try:
        sdk = import_module("opentelemetry.sdk.trace")
        export = import_module("opentelemetry.sdk.trace.export")
        resources = import_module("opentelemetry.sdk.resources")
        ids = import_module("opentelemetry.sdk.trace.id_generator")
        otlp = import_module("opentelemetry.exporter.otlp.proto.http.trace_exporter")
    except ImportError as error:
        raise SettingsError(INSTALL) from error

    generator = GivenIds(ids.RandomIdGenerator())
    resource = resources.Resource.create({"service.name": f"{NAME}-{role}", "service.namespace": NAME})
    provider = sdk.TracerProvider(id_generator=generator, resource=resource, shutdown_on_exit=False)
    exporter = otlp.OTLPSpanExporter(endpoint=endpoint.rstrip("/") + PATH)
    provider.add_span_processor(export.BatchSpanProcessor(exporter))
    return Traces(provider, generator, deployment_id)


def _place(span: "Span") -> SpanPlace:
    own = span.get_span_context()
    return SpanPlace(own.trace_id, own.span_id, is_sampled=own.trace_flags.sampled)


def _messaging(topic: str) -> dict[str, Any]:
    return {"messaging.system": "kafka", "messaging.destination.name": topic}


def _of_decision(decision: Decision) -> dict[str, Any]:
    found: dict[str, Any] = {"leadclock.sequence": decision.sequence, "leadclock.verdict": decision.verdict}
    if decision.cause.offset is not None:
        found["messaging.kafka.offset"] = decision.cause.offset
    return found


def _leads_of(decision: Decision) -> Sequence[int]:
    found = dict.fromkeys(fact.lead_id for fact in decision.facts if fact.lead_id is not None)
    return list(found)[:LEADS_MAX]


class _Asked(Struct, frozen=True):
    """Of a request, the lead that it is about; a call without a lead has 0."""

    lead_id: int = 0


_ASKED = msgspec.json.Decoder(_Asked)


def _asked_for(cause: Cause, record: LogRecord | None) -> Sequence[int]:
    """Return the lead for which a contact asked its account."""
    if cause.type not in ASKED_FOR_A_LEAD or record is None or record.value is None:
        return ()
    lead_id = _ASKED.decode(record.value).lead_id
    return (lead_id,) if lead_id else ()


def _of_lead(sealed: Sealed, lead_id: int) -> dict[str, Any]:
    found: dict[str, Any] = {"leadclock.lead_id": lead_id}
    for fact in sealed.decision.facts:
        if fact.lead_id == lead_id:
            found.setdefault("leadclock.facts", []).append(fact.type)
    for _, entity in sealed.changes:
        if isinstance(entity, Lead) and entity.id == lead_id:
            found |= {"leadclock.company_id": entity.company_id, "leadclock.status": entity.status}
    return found


def with_parent(record: LogRecord, span: DeliverySpan) -> LogRecord:
    """Return the record of a command as one whose report names the span that carried it out."""
    headers = (*(header for header in record.headers if header[0] != HEADER), span.header)
    return structs.replace(record, headers=headers)
