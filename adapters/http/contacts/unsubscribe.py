"""How does a person unsubscribe from e-mails? Their mail program posts to the link of the e-mail, or they do on its page.

The token in the path is all the proof that is needed (RFC 8058, 3.1): who can read the e-mail may unsubscribe. GET shows a
page with one button and changes nothing, because programs that scan mail follow each link. What is posted is not read.

The contact of the address decides; so does that of the lead's number, where the lead still has the address. How far the
opt-out reaches is the company's choice, but all e-mails at least.
"""

from contextlib import suppress
from html import escape

import structlog

from adapters.gateway.unsubscribe_links import ONE_CLICK, PATH, UnsubscribeTarget, read_token
from adapters.http.exchange.exchange import Exchange, Operation, Reply
from adapters.http.exchange.problems import ProblemError
from adapters.http.exchange.public_page import PAGE_HEADERS, public_page
from adapters.http.exchange.writes import raise_refusal, remaining_wait_seconds
from adapters.reads.ports import ReadsUnavailableError
from engine.identity import contact_key
from schemas.records import Company
from schemas.requests import UnsubscribeRequested
from schemas.topics import CONTACTS_REQUESTS

BODY_BYTES_MAX = 4_096
"""Of what is posted: 26 bytes as a form, some 200 as multipart."""

logger = structlog.get_logger(__name__)


async def show_page(exchange: Exchange) -> Reply:
    """Answer with a page that asks whether to unsubscribe; nothing is changed."""
    found = _target(exchange)
    name, _, value = ONE_CLICK.partition("=")
    return public_page(
        "Unsubscribe",
        f"<p>No more e-mails from {_sender(exchange, found)} to the address that got this link?</p>\n"
        f'<form method="post"><input type="hidden" name="{name}" value="{value}">'
        '<button type="submit">Unsubscribe</button></form>',
    )


async def unsubscribe(exchange: Exchange) -> Reply:
    """Ask the contacts to opt the person out; answer once that is stored, and say so where it is not decided yet."""
    found = _target(exchange)
    services = exchange.services
    request_id = exchange.request_id
    for key in await _contacts(exchange, found):
        message = UnsubscribeRequested(company_id=found.company_id, contact_key=key, channel=found.channel)
        await services.requests.submit(
            CONTACTS_REQUESTS.name, key, message, request_id=request_id, company_id=found.company_id
        )
        request_id = services.ids.new(exchange.now)
    result = None
    with suppress(ReadsUnavailableError):  # it is stored
        result = await services.requests.wait(exchange.request_id, remaining_wait_seconds(exchange))
    if result is not None:
        raise_refusal(result)
    sender = _sender(exchange, found)
    if result is None:
        return public_page("Your request is stored", f"<p>E-mails from {sender} end as soon as it is carried out.</p>")
    return public_page("You are unsubscribed", f"<p>{sender} sends no more e-mails to your address.</p>")


def _target(exchange: Exchange) -> UnsubscribeTarget:
    """Return what the link names. Raises `ProblemError`: not_found for a made-up one, rate_limited."""
    exchange.headers.update(PAGE_HEADERS)  # a refusal is not stored either
    exchange.enforce_address_limit()
    found = read_token(exchange.services.settings.secret_key, exchange.path["token"])
    if found is None:
        raise ProblemError("not_found", "This link unsubscribes nobody. Copy the whole link of the e-mail.")
    return found


async def _contacts(exchange: Exchange, found: UnsubscribeTarget) -> tuple[str, ...]:
    """Return whom to opt out: the contact of the address first, then that of the lead's number.

    The latter is left out where the lead has another address by now, or cannot be read: the e-mails must end all the same.
    """
    try:
        lead = await exchange.services.reads.lead(found.company_id, found.lead_id)
    except ReadsUnavailableError as error:
        logger.warning("unsubscribe.lead_unread", company_id=found.company_id, lead_id=found.lead_id, error=str(error))
        lead = None
    if lead is None or contact_key(found.company_id, None, lead["email"]) != found.contact_key:
        return (found.contact_key,)
    return tuple(dict.fromkeys((found.contact_key, str(lead["contact_key"]))))


def _sender(exchange: Exchange, found: UnsubscribeTarget) -> str:
    company = exchange.services.source.rules.body(Company, "company", found.company_id)
    return escape("this sender" if company is None else company.name)


_ONE = f"{PATH}/{{token}}"

OPERATIONS: tuple[Operation, ...] = (
    Operation(
        name="unsubscribe_page",
        methods=("GET",),
        path=_ONE,
        summary="The page of an unsubscribe link",
        handler=show_page,
        access="open",
        rate="unknown_key",
        extra="ignored",
        problems=("not_found",),
    ),
    Operation(
        name="unsubscribe",
        methods=("POST",),
        path=_ONE,
        summary="Unsubscribe from e-mails",
        handler=unsubscribe,
        access="open",
        rate="unknown_key",
        safe=False,
        extra="ignored",
        parameters={"List-Unsubscribe": "One-Click, as mail programs send it"},
        body_bytes_max=BODY_BYTES_MAX,
        has_result=False,
        problems=("not_found",),
    ),
)
