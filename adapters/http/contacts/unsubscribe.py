"""How does a person unsubscribe from e-mails? Their mail program posts to the link of the e-mail, or they do on its page.

The token in the path is all the proof that is needed (RFC 8058, 3.1): who can read the e-mail may unsubscribe. GET shows a
page with a button and changes nothing, because programs that scan mail follow each link. Of what is posted only `action` is
read, which the further buttons send: with `public_actions: link` they remove the lead of the e-mail, or move it to its end.

The contact of the address decides; so does that of the lead's number, where the lead still has the address. How far the
opt-out reaches is the company's choice, but all e-mails at least.
"""

from collections.abc import Mapping
from contextlib import suppress
from html import escape
from typing import Any

import structlog

from adapters.gateway.unsubscribe_links import ONE_CLICK, PATH, UnsubscribeTarget, read_token
from adapters.http.exchange.exchange import Exchange, Operation, Reply
from adapters.http.exchange.problems import ProblemError
from adapters.http.exchange.public_page import PAGE_HEADERS, public_page
from adapters.http.exchange.writes import raise_refusal, remaining_wait_seconds, submit_change
from adapters.reads.ports import ReadsUnavailableError, Result, Row
from engine.identity import contact_key
from engine.submission.public_rights import CALLER_ACTIONS, CallerAction, CallerProof, public_actions_of
from schemas.records import Company, Offer
from schemas.requests import CallerActed, UnsubscribeRequested
from schemas.topics import CONTACTS_REQUESTS

BODY_BYTES_MAX = 4_096
"""Of what is posted: 26 bytes as a form, some 200 as multipart."""

logger = structlog.get_logger(__name__)


async def show_page(exchange: Exchange) -> Reply:
    """Answer with a page that asks whether to unsubscribe; nothing is changed."""
    found = _target(exchange)
    name, _, value = ONE_CLICK.partition("=")
    lead = await _lead_of(exchange, found)
    further = "".join(
        f'<p>{question}</p>\n<form method="post"><input type="hidden" name="action" value="{action}">'
        f'<button type="submit">{title}</button></form>'
        for action, (title, question) in FURTHER_ACTIONS.items()
        if lead is not None and action in _allowed(exchange, lead)
    )
    return public_page(
        "Unsubscribe",
        f"<p>No more e-mails from {_sender(exchange, found)} to the address that got this link?</p>\n"
        f'<form method="post"><input type="hidden" name="{name}" value="{value}">'
        f'<button type="submit">Unsubscribe</button></form>{further}',
    )


FURTHER_ACTIONS: Mapping[Any, tuple[str, str]] = {
    "remove": ("Remove me", "No more contact about this request?"),
    "move_to_end": ("Skip ahead", "No more steps but the last ones?"),
}
"""Action -> its button and question."""


def _allowed(exchange: Exchange, lead: Row) -> frozenset[CallerAction]:
    """Return what the link of an e-mail about a lead may do."""
    rules = exchange.services.source.rules
    company = rules.body(Company, "company", lead["company_id"])
    return CALLER_ACTIONS[CallerProof.LINK, public_actions_of(rules.body(Offer, "offer", lead["offer_id"]), company)]


async def unsubscribe(exchange: Exchange) -> Reply:
    """Ask the contacts to opt the person out; answer once that is stored, and say so where it is not decided yet."""
    found = _target(exchange)
    if exchange.fields.get("action") in FURTHER_ACTIONS:
        return await _act(exchange, found, exchange.fields["action"])
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


async def _act(exchange: Exchange, found: UnsubscribeTarget, action: CallerAction) -> Reply:
    """Have the contact of the lead remove it, or move it to its end.

    Raises `ProblemError`: forbidden where the link may not do that, reads_unavailable where the lead cannot be read.
    """
    lead = await _lead_of(exchange, found, is_needed=True)
    if lead is None:
        return public_page("Nothing to do", "<p>This request does not reach your address any more.</p>")
    if action not in _allowed(exchange, lead):
        raise ProblemError("forbidden", "The link of this e-mail unsubscribes, and does nothing else.")
    message = CallerActed(
        company_id=found.company_id, contact_key=str(lead["contact_key"]), action=action, lead_id=found.lead_id
    )
    return await submit_change(exchange, message, _render_done, hides_refusals=True)


async def _render_done(exchange: Exchange, result: Result) -> Reply:
    del exchange, result
    return public_page("It is done", "<p>You hear no more about this request, but for what ends it.</p>")


async def _lead_of(exchange: Exchange, found: UnsubscribeTarget, *, is_needed: bool = False) -> Row | None:
    """Return the lead of an e-mail, if it still has the address; None where it is not read, unless that `is_needed`."""
    try:
        lead = await exchange.services.reads.lead(found.company_id, found.lead_id)
    except ReadsUnavailableError as error:
        if is_needed:
            raise
        logger.warning("unsubscribe.lead_unread", company_id=found.company_id, lead_id=found.lead_id, error=str(error))
        return None
    if lead is None or contact_key(found.company_id, None, lead["email"]) != found.contact_key:
        return None
    return lead


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
    lead = await _lead_of(exchange, found)
    if lead is None:
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
        parameters={
            "List-Unsubscribe": "One-Click, as mail programs send it",
            "action": "remove or move_to_end: what the further buttons of the page do, with `public_actions: link`",
        },
        body_bytes_max=BODY_BYTES_MAX,
        has_result=False,
        problems=("not_found", "forbidden"),
    ),
)
