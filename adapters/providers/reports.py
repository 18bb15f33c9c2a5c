"""How does a contact learn what a provider reports by itself? By the requests that a gateway would send, under the same ids.

A recording that is reported is owed from then on, where this deployment keeps recordings.

An outcome has the id that the gateway gives it. So it arrives once, from the gateway that placed the order, a callback or a
look-up, in any process. Texts and inbound calls are known by the vendor's own id of the event.
"""

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from adapters.gateway.bounces import MailReport
from adapters.gateway.outcome_requests import outcome_of
from adapters.gateway.ports import DeliveryResult
from adapters.providers.connections import Opened
from adapters.providers.orders import Orders, StoredOrder
from adapters.providers.ports import InboundCallReport, KeepsRecordings, OrderReport, TextReport
from adapters.recordings.ports import Recordings
from engine.contact.consent.opt_out import may_opt_out
from engine.submission.callers import caller_key, said_by_carrier
from engine.submission.numbers import ParsedNumber
from engine.submission.unread_numbers import is_unread, key_of_number
from schemas.commands import PlaceCall
from schemas.instant import Instant
from schemas.requests import CallProgressed, CallReceived, ContactRequest, SmsReceived
from schemas.topics import CONTACTS_REQUESTS
from schemas.wire import Message, digest

ID_LENGTH_MAX = 200
"""In characters, of a request's id; a longer one of a vendor is hashed."""


def is_taken(report: TextReport, countries: Sequence[str]) -> bool:
    """Return whether a text is taken: from a number, and from a sender of any form where it may be an opt-out."""
    text = report.from_number
    if not text.strip():
        return False
    return not is_unread(text, countries[0]) or may_opt_out(report.body, report.carrier_meaning)


class Submits(Protocol):
    """Appends requests to the log.

    No contract suite: one adapter (`adapters.http.exchange.requests.LogRequests`); the tests of callbacks run it.
    """

    async def submit(self, topic: str, key: str, message: Message, *, request_id: str, company_id: int, source: str) -> None:
        """Append a request and return when it is durable; a repeat with the same id and source changes nothing."""
        ...


class ProviderReports:
    """Appends what providers report to `contacts.requests`; each method returns once that is durable."""

    def __init__(
        self, requests: Submits, orders: Orders, now: Callable[[], Instant], recordings: Recordings | None = None
    ) -> None:
        self._requests = requests
        self._orders = orders
        self._now = now
        self._recordings = recordings

    async def settle(self, opened: Opened, order: StoredOrder) -> DeliveryResult | None:
        """Report the outcome of an order, if what is known says one; then store that it has ended."""
        result = opened.connection.conclude(order.order())
        if result is None:
            return None
        result = opened.named(result)
        if isinstance(order.command, PlaceCall):
            command = order.command
            await self._owe(opened, command.contact_key, command.call_id, result.recording_url)
        if order.result != result:
            message = outcome_of(
                order.command, order.channel, result, provider=opened.provider.name, occurred_at=self._now()
            )
            # What a call costs, and its recording, are known some minutes after its outcome, which they must not hold up.
            known = (result.outcome, result.cost, None if result.recording_url is None else "recorded")
            name = "/".join(str(part) for part in known if part is not None)
            await self._submit(message, f"{order.command.command_id}/{name}", order.channel)
        await self._orders.end(order.company_id, order.command.command_id, result)
        return result

    async def progress(self, opened: Opened, order: StoredOrder, report: OrderReport) -> None:
        """Report how far a call is."""
        command = order.command
        if report.state is None or not isinstance(command, PlaceCall):
            return
        message = CallProgressed(
            company_id=command.company_id,
            contact_key=command.contact_key,
            lead_id=command.lead_id,
            command_id=command.command_id,
            state=report.state,
            occurred_at=self._now(),
            call_id=command.call_id,
            provider=opened.provider.name,
            provider_ref=report.provider_ref,
            buyer_id=report.buyer_id,
        )
        what = report.state if report.buyer_id is None else f"{report.state}/{report.buyer_id}"
        await self._submit(message, f"{command.command_id}/{what}", order.channel)

    async def text(self, opened: Opened, report: TextReport, countries: Sequence[str]) -> None:
        """Report a text of a person; `countries` are those in which the company knows people.

        A sender that is no number is one all the same: the text may be an opt-out.
        """
        company_id = opened.configuration.record.company_id
        key, unread = key_of_number(company_id, report.from_number, countries)
        message = SmsReceived(
            company_id=company_id,
            contact_key=key,
            body=report.body,
            received_at=self._now(),
            to_number=report.to_number,
            provider=opened.provider.name,
            provider_ref=report.event_id,
            carrier_meaning=report.carrier_meaning,
            unread=unread,
            part=report.part,
        )
        await self._submit(message, f"{opened.id}/{report.event_id}", "sms")

    async def mail(self, report: MailReport) -> None:
        """Report what became of an e-mail, under the id that the pipe `leadclock mail bounce` gives it, too."""
        await self._submit(report.request(occurred_at=self._now()), report.request_id, "email")

    async def inbound(
        self, opened: Opened, report: InboundCallReport, caller: ParsedNumber | None, place: dict[str, Any]
    ) -> str:
        """Report a call; return the id of the request. `place` is where its `caller`, if there is a number, may be."""
        company_id = opened.configuration.record.company_id
        key = caller_key(company_id, caller, report.call_ref)
        await self._owe(opened, key, None, report.report.get("recording_url"))
        message = CallReceived(
            company_id=company_id,
            contact_key=key,
            gateway_ref=report.call_ref,
            state=report.state,
            from_number=said_by_carrier(report.from_number) if caller is None else caller.e164,
            number_called=report.to_number,
            occurred_at=self._now(),
            provider=opened.provider.name,
            provider_ref=report.call_ref,
            provider_configuration_id=opened.id,
            wants_route=report.asks,
            **report.report,
            **place,
        )
        return await self._submit(message, f"{opened.id}/{report.event_id}", "call")

    async def _owe(self, opened: Opened, key: str, call_id: int | None, recording_url: str | None) -> None:
        """Store that a recording is to be fetched, before the report that names it is appended. Raises `StoreError`."""
        keeps = isinstance(opened.connection, KeepsRecordings)
        if self._recordings is not None and keeps and recording_url is not None:
            await self._recordings.owe(
                company_id=opened.configuration.record.company_id,
                configuration_id=opened.id,
                contact_key=key,
                call_id=call_id,
                recording_url=recording_url,
            )

    async def _submit(self, message: ContactRequest, name: str, channel: str) -> str:
        request_id = name if len(name) <= ID_LENGTH_MAX else digest(name.encode())
        await self._requests.submit(
            CONTACTS_REQUESTS.name,
            message.contact_key,
            message,
            request_id=request_id,
            company_id=message.company_id,
            source=f"/gateway/{channel}",
        )
        return request_id
