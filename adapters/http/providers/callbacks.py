"""How does a vendor report calls and texts? By a POST to the callback URL of a provider configuration.

The token in the path names company and configuration; the vendor's signature is checked against the deployment's public
URL, whatever Host the request has. A callback is answered once what it says is appended: a vendor that repeats what failed
loses nothing. An order is found by our command id, which the URL carries: a callback may come to any process, and before the
answer to the order itself.
"""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import parse_qsl

import msgspec
import structlog
from msgspec import structs

from adapters.errors import StoreError
from adapters.gateway.bounces import MailReport
from adapters.gateway.ports import NotPlacedError
from adapters.http.exchange.exchange import Exchange, Operation, Reply
from adapters.http.exchange.people import location_fields
from adapters.http.exchange.ports import UnconfirmedError
from adapters.http.exchange.problems import ProblemError, not_found
from adapters.providers.callback_tokens import NamedConfiguration, callback_url, find_configuration
from adapters.providers.connections import Opened, UnusableConfigurationError
from adapters.providers.ports import (
    WITHHELD,
    Callback,
    FetchesKeys,
    ForgedCallbackError,
    InboundCallReport,
    InboundRoute,
    MailReports,
    OrderReport,
    ProviderFailedError,
    ProviderReply,
    Reading,
    TextReport,
)
from adapters.providers.reports import is_taken
from engine.submission.callers import caller_of, said_by_carrier
from engine.submission.unread_numbers import known_countries
from engine.views.call_route import route_of
from schemas.commands import BuyerLeg

PATH = "/providers/{name}/callback/{token}"

BODY_BYTES_MAX = 1024 * 1024
"""Of a callback: most vendors send some kilobytes, SendGrid the events of many e-mails in up to 768."""

MAIL_AT_ONCE = 50
"""Reports about e-mails of one callback that are appended at once: one write of the log takes many of them."""

ASKED_MAX = 5
"""How often an inbound call asks for its route, once a second; then it gets what is said when no buyer takes it."""

ROUTE_WAIT_SECONDS = 5.0
"""How long a call whose vendor cannot ask again waits for its route: so long others ask, once a second."""

ROUTE_POLL_SECONDS = 0.05

ANSWER_SECONDS = 10.0
"""Vendors wait 15 s for an answer."""

logger = structlog.get_logger(__name__)


async def receive(exchange: Exchange) -> Reply:
    """Take what a vendor reports."""
    name, token = exchange.path["name"], exchange.path["token"]
    exchange.headers["Cache-Control"] = "no-store"
    configuration = await _configuration(exchange, name, token)
    try:
        opened = exchange.services.providers.connections.open(configuration)
    except UnusableConfigurationError as error:
        raise ProblemError("unavailable", str(error)) from error
    callback = _callback(exchange, name, token)
    try:
        async with asyncio.timeout(ANSWER_SECONDS):
            reading = await _read(opened, callback)
            return await _take(exchange, opened, callback, reading)
    except ForgedCallbackError as error:
        exchange.enforce_address_limit()
        logger.warning("callback.forged", provider=name, configuration_id=opened.id, address=exchange.address)
        raise ProblemError("forbidden", str(error)) from error
    except (StoreError, NotPlacedError, ProviderFailedError, TimeoutError) as error:
        raise UnconfirmedError(str(error) or "not stored in time") from error


async def _read(opened: Opened, callback: Callback) -> Reading | None:
    """Return what a callback says. Raises `ForgedCallbackError`, and where a key cannot be fetched."""
    if isinstance(opened.connection, FetchesKeys):
        await opened.connection.fetch_keys(callback)
    return opened.connection.read_callback(callback)


async def _take(exchange: Exchange, opened: Opened, callback: Callback, reading: Reading | None) -> Reply:
    match reading:
        case MailReports(reports=reports):
            await _take_mail(exchange, reports)
        case OrderReport():
            return await _take_order(exchange, opened, callback, reading)
        case TextReport():
            await _take_text(exchange, opened, reading)
        case InboundCallReport():
            if opened.configuration.is_deleted:
                raise not_found("callback")  # a deleted account takes no calls; a text to it may be a STOP
            return await _take_call(exchange, opened, callback, reading)
        case None:
            logger.info("callback.ignored", provider=opened.provider.name, configuration_id=opened.id)
    return _reply(await opened.connection.reply_to(callback, None))


async def _take_order(exchange: Exchange, opened: Opened, callback: Callback, report: OrderReport) -> Reply:
    """Add what a report says to its order, and report what follows. Raises `ProblemError` not_found for another's order."""
    providers = exchange.services.providers
    order = await providers.orders.add_facts(
        opened.configuration.record.company_id,
        opened.id,
        report.command_id,
        facts=report.facts,
        provider_ref=report.provider_ref,
        check_after_seconds=report.check_after_seconds,
    )
    if order is None:
        exchange.enforce_address_limit()
        raise not_found("order")
    await providers.reports.progress(opened, order, report)
    await providers.reports.settle(opened, order)
    return _reply(await opened.connection.reply_to(callback, order.order()))


async def _take_mail(exchange: Exchange, reports: Sequence[MailReport]) -> None:
    """Report what became of e-mails; where one cannot be, the vendor posts all again, and those before are repeats."""
    said = [report for report in reports if report.outcome is not None]
    for first in range(0, len(said), MAIL_AT_ONCE):
        part = said[first : first + MAIL_AT_ONCE]
        await asyncio.gather(*(exchange.services.providers.reports.mail(report) for report in part))


async def _take_text(exchange: Exchange, opened: Opened, report: TextReport) -> None:
    """Report a text, whichever number it went to: it may be a STOP, and the account is the company's."""
    countries = known_countries(exchange.services.source.rules, opened.configuration.record.company_id)
    if not is_taken(report, countries):
        logger.info("callback.ignored", provider=opened.provider.name, configuration_id=opened.id)
        return
    if not _is_ours(exchange, opened, report.to_number):
        logger.warning("text.number_unknown", provider=opened.provider.name, configuration_id=opened.id)
    await exchange.services.providers.reports.text(opened, report, countries)


async def _take_call(exchange: Exchange, opened: Opened, callback: Callback, report: InboundCallReport) -> Reply:
    """Report an inbound call; where the vendor asks what to do with it, say so, or let it ask again in a second."""
    company_id = opened.configuration.record.company_id
    caller = caller_of(said_by_carrier(report.from_number), "US")
    is_known = report.state == "connected" or _is_ours(exchange, opened, report.to_number)
    if not is_known:
        return _reply(await opened.connection.reply_with_route(callback, report, InboundRoute(action="reject")))
    if report.asked_before:
        request_id = f"{opened.id}/{report.event_id}"
    else:
        place = {} if caller is None else location_fields(exchange, caller, company_id=company_id)
        request_id = await exchange.services.providers.reports.inbound(opened, report, caller, place)
    if not report.asks:
        return _reply(await opened.connection.reply_to(callback, None))
    route = await _route(exchange, company_id, request_id, report)
    about = structs.replace(report, from_number=WITHHELD) if caller is None else report
    return _reply(await opened.connection.reply_with_route(callback, about, route))


async def _route(exchange: Exchange, company_id: int, request_id: str, report: InboundCallReport) -> InboundRoute:
    """Return where a call goes, as far as it is decided; wait for that where the vendor cannot ask again."""
    monotonic = exchange.services.monotonic
    ends_at = monotonic() + (0 if report.asks_again else ROUTE_WAIT_SECONDS)
    while True:
        found = await _decided(exchange, company_id, request_id)
        if found is not None:
            return found
        if monotonic() >= ends_at:
            break
        await asyncio.sleep(ROUTE_POLL_SECONDS)
    return InboundRoute(action="wait" if report.asks_again and report.asked_before < ASKED_MAX else "voicemail")


async def _decided(exchange: Exchange, company_id: int, request_id: str) -> InboundRoute | None:
    """Return where a call goes, None while that is not decided."""
    result = await exchange.services.requests.wait(request_id, 0)
    call_id = None if result is None or result.answer is None or result.company_id != company_id else result.answer.record_id
    found = None
    if call_id is not None:
        found = route_of(await exchange.services.reads.call_history(company_id, call_id))
        if found is None:
            return InboundRoute(action="voicemail")  # a call that nobody routes
    if found is None or found["action"] == "pending":
        return None
    return InboundRoute(
        action=found["action"],
        **{
            name: found[name]
            for name in ("buyer_id", "buyer_number", "buyer_timeout_seconds", "buyer_dtmf_tones", "message", "agent_id")
        },
        buyer_legs=msgspec.convert(found["buyer_legs"], tuple[BuyerLeg, ...]),
    )


def _is_ours(exchange: Exchange, opened: Opened, number: str) -> bool:
    company_id = opened.configuration.record.company_id
    return exchange.services.source.rules.number(company_id, number) is not None


async def _configuration(exchange: Exchange, name: str, token: str) -> NamedConfiguration:
    """Return the configuration that a token names. Raises `ProblemError` not_found."""
    settings, source = exchange.services.settings, exchange.services.source
    found = find_configuration(source.rules, settings.secret_key, name, token)
    if found is None:
        exchange.enforce_address_limit()
        await source.refresh()  # it may just have been made
        found = find_configuration(source.rules, settings.secret_key, name, token)
    if found is None:
        raise not_found("callback")
    return found


def _callback(exchange: Exchange, name: str, token: str) -> Callback:
    """Return the request as the vendor sent it to the public URL."""
    request = exchange.request
    query_text = request.scope["query_string"].decode("ascii", "replace")
    url = callback_url(exchange.services.settings.public_url, name, token)
    is_form = request.headers.get("content-type", "").startswith("application/x-www-form-urlencoded")
    return Callback(
        url=f"{url}?{query_text}" if query_text else url,
        headers={header.lower(): value for header, value in request.headers.items()},
        query=_fields(query_text),
        form=_fields(exchange.body.decode("utf-8", "replace")) if is_form else {},
        body=exchange.body,
    )


def _fields(text: str) -> Mapping[str, str]:
    return dict(parse_qsl(text, keep_blank_values=True))


def _reply(reply: ProviderReply) -> Reply:
    return Reply(content=reply.body, media_type=reply.content_type)


_ANSWER: dict[str, Any] = {"type": "string"}

OPERATIONS: tuple[Operation, ...] = (
    Operation(
        name="receive_provider_callback",
        methods=("POST",),
        path=PATH,
        summary="Take what a vendor reports",
        handler=receive,
        access="open",
        rate="unknown_key",
        safe=False,
        extra="tokens",
        body_bytes_max=BODY_BYTES_MAX,
        raw_body=True,
        has_result=False,
        problems=("not_found", "forbidden"),
    ),
)
