"""How does the contact learn the outcome of a command? By requests with derived ids, so that a repeat is refused.

They go to the partition of the command: all topics keyed by contact are aligned.
"""

from typing import Literal

from adapters.gateway.channels import Channel
from adapters.gateway.outages import Outages
from adapters.gateway.outcome_requests import outcome_of
from adapters.gateway.ports import CallProgress, DeliveryResult
from engine.partition.ports import Appender, LogRecord, Outgoing
from engine.partition.runner import TopicNames
from schemas.commands import Command, PlaceCall, SendSms
from schemas.envelope import Envelope, to_headers
from schemas.instant import Instant
from schemas.requests import REQUEST_TYPES, CallProgressed, CallReceived, ContactRequest, OutcomeRecorded, SmsReceived
from schemas.topics import CONTACTS_REQUESTS
from schemas.wire import to_json

PROGRESS_ATTEMPTS = 5
"""Progress is of use only while the call lasts; the outcome alone must arrive."""

LOG = "log"

CallBackState = Literal["ringing", "connected", "ended"]


class OutcomeReports:
    """Posts what happened on one channel to `contacts.requests`."""

    def __init__(self, channel: Channel, appender: Appender, outages: Outages, names: TopicNames) -> None:
        self._channel = channel
        self._appender = appender
        self._outages = outages
        self._topic = names.of(CONTACTS_REQUESTS.name)
        self._source = f"/gateway/{channel.kind}"

    def outcome(self, command: Command, result: DeliveryResult, *, occurred_at: Instant) -> OutcomeRecorded:
        """Return the request that reports the outcome of a command."""
        return outcome_of(command, self._channel.kind, result, provider=self._channel.provider, occurred_at=occurred_at)

    async def post(self, record: LogRecord, outcome: OutcomeRecorded) -> None:
        """Post an outcome; returns when the log has it, however long that takes."""
        request = self._request(record, outcome, outcome.outcome, outcome.occurred_at)
        await self._outages.retry(LOG, lambda: self._appender.append(record.partition, [request]))

    async def post_progress(
        self, record: LogRecord, command: Command, progress: CallProgress, *, occurred_at: Instant
    ) -> None:
        """Post that a call moved on. Raises `LogError` where the log is away for long."""
        message = CallProgressed(
            company_id=command.company_id,
            contact_key=command.contact_key,
            lead_id=command.lead_id,
            command_id=command.command_id,
            state=progress.state,
            occurred_at=occurred_at,
            call_id=command.call_id if isinstance(command, PlaceCall) else None,
            provider=progress.provider or self._channel.provider,
            provider_ref=progress.provider_ref,
            buyer_id=progress.buyer_id,
        )
        what = progress.state if progress.buyer_id is None else f"{progress.state}/{progress.buyer_id}"
        request = self._request(record, message, what, occurred_at)
        append = self._appender.append
        await self._outages.retry(LOG, lambda: append(record.partition, [request]), attempts=PROGRESS_ATTEMPTS)

    async def post_reply(self, record: LogRecord, command: SendSms, result: DeliveryResult, *, received_at: Instant) -> None:
        """Post what the person wrote back to a text; returns when the log has it."""
        message = SmsReceived(
            company_id=command.company_id,
            contact_key=command.contact_key,
            body=result.reply or "",
            received_at=received_at,
            to_number=command.from_number,
            provider=self._channel.provider,
            provider_ref=f"{result.provider_ref}/reply",
        )
        request = self._outgoing(record, message, f"{command.command_id}/reply", received_at)
        await self._outages.retry(LOG, lambda: self._appender.append(record.partition, [request]))

    async def post_call_back(
        self, record: LogRecord, command: PlaceCall, result: DeliveryResult, *, state: CallBackState, at: Instant
    ) -> None:
        """Post how far the person's own call is, to the number that they were called from; nothing where there was none."""
        if command.from_number is None or result.calls_back is None:
            return
        has_ended = state == "ended"
        message = CallReceived(
            company_id=command.company_id,
            contact_key=command.contact_key,
            gateway_ref=f"{result.provider_ref}/back",
            state=state,
            from_number=command.to,
            number_called=command.from_number,
            occurred_at=at,
            provider=self._channel.provider,
            provider_ref=f"{result.provider_ref}/back",
            talk_seconds=result.calls_back.talks_seconds if has_ended else 0,
            hung_up_by="caller" if has_ended else None,
        )
        request = self._outgoing(record, message, f"{command.command_id}/back/{state}", at)
        await self._outages.retry(LOG, lambda: self._appender.append(record.partition, [request]))

    def _request(self, record: LogRecord, message: OutcomeRecorded | CallProgressed, what: str, at: Instant) -> Outgoing:
        return self._outgoing(record, message, f"{message.command_id}/{what}", at)

    def _outgoing(self, record: LogRecord, message: ContactRequest, name: str, at: Instant) -> Outgoing:
        envelope = Envelope(
            id=name,
            type=REQUEST_TYPES[type(message)],
            source=self._source,
            time=at,
            traceparent=_traceparent(record),
        )
        return Outgoing(self._topic, message.contact_key.encode(), to_json(message), to_headers(envelope))


def _traceparent(record: LogRecord) -> str | None:
    return next((value.decode("ascii", "replace") for name, value in record.headers if name == "traceparent"), None)
