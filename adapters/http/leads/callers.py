"""How does a person opt out over HTTP? By lead token and number: opt out, remove the lead, or skip to the end steps.

GET is allowed because links in messages use it; HEAD and prefetch change nothing. The contact decides. What a mail
tracker appends to such a link (utm_source, fbclid), or a one-click unsubscribe posts, is ignored and logged. With
`confirm_links` of the company a browser that follows such a link gets a page with one button: programs that scan messages
follow every link, and press none.
"""

from collections.abc import Mapping
from functools import partial
from html import escape

from adapters.http.exchange.access import TokenTarget, unauthenticated
from adapters.http.exchange.exchange import Exchange, Operation, Reply
from adapters.http.exchange.parameters import Parameters
from adapters.http.exchange.people import find_contact_key, find_opting_out
from adapters.http.exchange.public_page import public_page
from adapters.http.exchange.writes import submit_change
from adapters.http.leads.submissions import accepted_by_token, render
from adapters.http.schema.shapes import TOKEN_ANSWER
from adapters.reads.ports import Result
from engine.submission.public_rights import CALLER_ACTIONS, CallerAction, CallerProof, public_actions_of
from schemas.records import Company, Offer, Schedule
from schemas.requests import CallerActed

CALLER_PARAMETERS = {
    "lead_token": "lead token of an offer or a schedule",
    "update_all_matching_leads": "true: every live lead of the token and number",
}


MOVE_PARAMETERS = {**CALLER_PARAMETERS, "keep_callback": "true: a callback that was promised is still made"}


CONFIRMED = "confirmed"
"""The field that the button of the page sends."""

QUESTIONS: Mapping[CallerAction, tuple[str, str]] = {
    "opt_out": ("Opt out", "No more calls, texts and e-mails to you?"),
    "remove": ("Remove me", "No more contact about this request?"),
    "move_to_end": ("Skip ahead", "No more steps of this schedule but its last ones?"),
}


async def act(exchange: Exchange, *, action: CallerAction) -> Reply:
    """Ask the contact to act on the newest live lead of a token and number, else on the newest one."""
    # A refusal is not stored either: the next request of the link may be the person's own.
    exchange.headers["Cache-Control"] = "no-store"
    target = await exchange.target(exchange.fields.get("lead_token"), is_opt_out=action == "opt_out")
    _check_proof(exchange, target, action)
    if _must_confirm(exchange, target.company_id):
        return _ask(exchange, action)
    parameters = Parameters(exchange.fields)
    matching = parameters.flag("update_all_matching_leads")
    keeps_callback = action == "move_to_end" and parameters.flag("keep_callback")
    parameters.finish()
    text = exchange.path["id"]
    if action == "opt_out":
        key, unread = await find_opting_out(exchange, text, target)
    else:
        key, unread = await find_contact_key(exchange, text, target), None
    message = CallerActed(
        company_id=target.company_id,
        contact_key=key,
        action=action,
        offer_id=target.offer_id,
        schedule_id=target.schedule_id,
        update_all_matching_leads=bool(matching),
        keep_callback=bool(keeps_callback),
        unread=unread,
    )
    if exchange.access is not None:
        return await submit_change(exchange, message, render)
    exchange.watch_public(target, message.contact_key)
    return await submit_change(exchange, message, _render_accepted, hides_refusals=True)


def _check_proof(exchange: Exchange, target: TokenTarget, action: CallerAction) -> None:
    """Refuse what a lead token alone does not prove here. Raises `ProblemError` unauthenticated."""
    if exchange.access is not None:
        return
    rules = exchange.services.source.rules
    schedule = rules.body(Schedule, "schedule", target.schedule_id)
    offer = rules.body(Offer, "offer", target.offer_id if schedule is None else schedule.offer_id)
    company = rules.body(Company, "company", target.company_id)
    if action not in CALLER_ACTIONS[CallerProof.TOKEN, public_actions_of(offer, company)]:
        raise unauthenticated("This lead token does that only together with a key: send both, or use the link of an e-mail.")


def _must_confirm(exchange: Exchange, company_id: int) -> bool:
    """Return whether a page must ask first: a browser follows a link of a company that wants that."""
    company = exchange.services.source.rules.body(Company, "company", company_id)
    return (
        exchange.access is None
        and exchange.request.method == "GET"
        and company is not None
        and company.confirm_links
        and "text/html" in exchange.request.headers.get("accept", "")
        and CONFIRMED not in exchange.request.query_params
    )


def _ask(exchange: Exchange, action: CallerAction) -> Reply:
    """Answer with a page that asks whether to do it; nothing is changed."""
    fields = {name: str(exchange.fields[name]) for name in (*CALLER_PARAMETERS, "keep_callback") if name in exchange.fields}
    hidden = "".join(
        f'<input type="hidden" name="{escape(name)}" value="{escape(value)}">'
        for name, value in {**fields, CONFIRMED: "yes"}.items()
    )
    title, question = QUESTIONS[action]
    button = f'<button type="submit">{title}</button>'
    return public_page(title, f'<p>{question}</p>\n<form method="get">{hidden}{button}</form>')


async def _render_accepted(exchange: Exchange, result: Result) -> Reply:
    """Answer a sender without a key: who is a lead is not theirs to learn."""
    del exchange, result
    return accepted_by_token(200)


def _operation(name: str, methods: tuple[str, ...], action: CallerAction, summary: str) -> Operation:
    return Operation(
        name=name,
        methods=methods,
        path=f"/api/v1/leads/{{id}}/{name}",
        summary=summary,
        handler=partial(act, action=action),
        access="token",
        scope="lead:update",
        rate="write",
        safe=False,
        extra="ignored",
        parameters=CALLER_PARAMETERS if action != "move_to_end" else MOVE_PARAMETERS,
        required=("lead_token",),
        answer=TOKEN_ANSWER,
        problems=("unknown_lead_token", *(("lead_not_live",) if action == "move_to_end" else ())),
    )


OPERATIONS: tuple[Operation, ...] = (
    _operation("caller_opt_out", ("PUT", "GET"), "opt_out", "Opt a person out"),
    _operation("caller_remove", ("POST", "DELETE", "GET"), "remove", "Remove a lead from its schedule or offer"),
    _operation(
        "caller_move_to_end_of_schedule", ("PUT", "POST", "HEAD"), "move_to_end", "Move a lead to its schedule's end"
    ),
)
