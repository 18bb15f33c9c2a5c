"""How are contacts read, blocked and unblocked over HTTP? By number, e-mail address, uuid or id; the contact decides.

A contact stands for all leads of a person: an operation on it reaches more than a team that sees some leads may reach, so
it is refused to the members of such a team.
"""

from functools import partial

from adapters.http.exchange.answers import (
    PAGING_PARAMETERS,
    read_columns,
    read_paging,
    reply_with_list,
    reply_with_record,
)
from adapters.http.exchange.exchange import Exchange, Operation, Reply
from adapters.http.exchange.hidden_fields import cut_facts
from adapters.http.exchange.parameters import Parameters, read_id
from adapters.http.exchange.people import NEWEST_LOOKED_AT, country_of
from adapters.http.exchange.problems import ProblemError, not_found
from adapters.http.exchange.writes import submit_change
from adapters.http.schema.inputs import PHONE, TEXT
from adapters.http.schema.shapes import many_of, one_of
from adapters.reads.ports import ContactFilter, LeadFilter, Paging, Result, Row
from engine.identity import contact_key, contact_of_uuid
from engine.submission.fields import FieldError, parse_email
from engine.submission.numbers import find_number
from engine.submission.unread_numbers import SPELLINGS_MAX, unread_text
from engine.views.contact import CONTACT_COLUMNS, REVIEW_COLUMNS, contact_view, history_view, review_view
from schemas.contact import LIVE_STATUSES
from schemas.requests import ContactBlockRequested, OptOutReviewed

_ONE_ROW = Paging(per_page=1, counted=False)


async def index(exchange: Exchange) -> Reply:
    """Answer with a list of contacts."""
    parameters = Parameters(exchange.query)
    paging = read_paging(parameters, ())
    columns = read_columns(parameters, CONTACT_COLUMNS)
    wanted = ContactFilter(
        ids=parameters.ids("ids"),
        keys=keys_of_number(exchange, parameters),
        email=parameters.text("email"),
        opted_out=parameters.flag("opted_out"),
        blocked=parameters.flag("blocked"),
        suppressed=parameters.flag("suppressed"),
    )
    parameters.finish()
    return await reply_with_list(
        exchange,
        "contacts",
        parameters,
        paging=paging,
        columns=columns or CONTACT_COLUMNS,
        read=partial(exchange.services.reads.listed_contacts, exchange.company_id, wanted),
        view=lambda row: contact_view(row, columns),
    )


def keys_of_number(exchange: Exchange, parameters: Parameters) -> tuple[str, ...] | None:
    """Return the key of a number to filter by; an invalid one matches no contact rather than all."""
    text = parameters.text("number")
    if text is None:
        return None
    number = find_number(text, country_of(exchange.services.source.rules, exchange.company_id))
    return () if number is None else (contact_key(exchange.company_id, number.e164, None) or "",)


async def show(exchange: Exchange) -> Reply:
    """Answer with one contact and its history."""
    return await _shown(exchange, await find_key(exchange))


async def change_block(exchange: Exchange, *, blocked: bool) -> Reply:
    """Block a person, or lift the block."""
    parameters = Parameters(exchange.fields)
    hangs_up = blocked and parameters.flag("hangup_live")
    parameters.finish()
    key = await find_key(exchange)
    message = ContactBlockRequested(
        company_id=exchange.company_id, contact_key=key, blocked=blocked, hangup_live=bool(hangs_up)
    )
    return await submit_change(exchange, message, partial(_render, contact_key=key))


async def reviews(exchange: Exchange) -> Reply:
    """Answer with the texts that wait for somebody to read them."""
    parameters = Parameters(exchange.query)
    paging = read_paging(parameters, ())
    columns = read_columns(parameters, _REVIEW_COLUMNS)
    parameters.finish()
    return await reply_with_list(
        exchange,
        "opt_out_reviews",
        parameters,
        paging=paging,
        columns=columns or _REVIEW_COLUMNS,
        read=partial(exchange.services.reads.reviews, exchange.company_id),
        view=lambda row: review_view(row, columns),
    )


async def decide_review(exchange: Exchange) -> Reply:
    """Say whether the text of a person is an opt-out."""
    parameters = Parameters(exchange.fields)
    is_opt_out = parameters.flag("opt_out")
    parameters.require("opt_out")
    keys = _keys_of_numbers(exchange, parameters)
    if keys and not is_opt_out:
        parameters.refuse("numbers", "go with opt_out=true")
    parameters.finish()
    key = await find_key(exchange)
    if keys and unread_text(key) is None:
        parameters.refuse("numbers", "go with an opt-out whose number could not be read")
        parameters.finish()
    message = OptOutReviewed(company_id=exchange.company_id, contact_key=key, opt_out=bool(is_opt_out), keys=keys)
    return await submit_change(exchange, message, partial(_render, contact_key=key))


def _keys_of_numbers(exchange: Exchange, parameters: Parameters) -> tuple[str, ...]:
    """Return the contact keys of the numbers that an unread one stands for; an invalid number is a fault."""
    country = country_of(exchange.services.source.rules, exchange.company_id)
    found: list[str] = []
    words = parameters.words("numbers") or ()
    if len(words) > SPELLINGS_MAX:
        parameters.refuse("numbers", f"must be at most {SPELLINGS_MAX} numbers")
    for text in words[:SPELLINGS_MAX]:
        number = find_number(text, country)
        if number is None:
            parameters.refuse("numbers", f"has no telephone number in {text[:50]!r}; write it as +13055550123")
        else:
            found.append(contact_key(exchange.company_id, number.e164, None) or "")
    return tuple(dict.fromkeys(found))


async def find_key(exchange: Exchange) -> str:
    """Return the key of the contact in the path: of a number or address also where there is no contact yet.

    Digits that are a telephone number are one. Raises `ProblemError` for anything else, and for an unknown id or uuid.
    """
    text, company_id = exchange.path["id"], exchange.company_id
    if "@" in text:
        return await _by_email(exchange, text)
    reference = read_id(text)
    number = None
    if not isinstance(reference, str):  # the letters of a uuid could be read as those of a telephone's keys
        number = find_number(text, country_of(exchange.services.source.rules, company_id))
    if number is not None:
        return contact_key(company_id, number.e164, None) or ""
    known_as = contact_of_uuid(reference) if isinstance(reference, str) else reference
    if reference is None or known_as is None:
        sentence = "must be a telephone number such as +13055550123, an e-mail address, or the uuid or id of a contact"
        raise ProblemError("validation_failed", "This names no contact.", {"caller_id": [sentence]})
    page = await exchange.services.reads.listed_contacts(company_id, ContactFilter(ids=(known_as,)), _ONE_ROW)
    if not page.rows:
        raise not_found("contact")
    return str(page.rows[0]["contact_key"])


async def _by_email(exchange: Exchange, text: str) -> str:
    """Return the key for an address. A lead with a number has the number's key: the newest live lead decides."""
    try:
        email = parse_email(text)
    except FieldError as error:
        raise ProblemError("validation_failed", "This is not an e-mail address.", {"caller_id": [str(error)]}) from None
    paging = Paging(per_page=NEWEST_LOOKED_AT, counted=False)
    page = await exchange.services.reads.leads(exchange.company_id, LeadFilter(email=email), paging)
    found = next((row for row in page.rows if row["status"] in LIVE_STATUSES), next(iter(page.rows), None))
    return contact_key(exchange.company_id, None, email) or "" if found is None else str(found["contact_key"])


async def _render(exchange: Exchange, result: Result, *, contact_key: str) -> Reply:
    del result
    return await _shown(exchange, contact_key)


async def _shown(exchange: Exchange, key: str) -> Reply:
    reads, company_id = exchange.services.reads, exchange.company_id
    page = await reads.listed_contacts(company_id, ContactFilter(keys=(key,)), _ONE_ROW)
    if not page.rows:
        raise not_found("contact")
    row: Row = page.rows[0]
    history = [history_view(fact) for fact in await reads.contact_history(company_id, key)]
    shown = cut_facts(exchange, "contact", history, ("at", "type", "lead_id"))
    return reply_with_record(exchange, "contact", {**contact_view(row), "history": shown})


_PATH = "/api/v1/contacts"
_REVIEW_COLUMNS = tuple(column.name for column in REVIEW_COLUMNS)
_ONE = one_of("contact", "ContactWithHistory")
_SHARED = ("page", "per_page", "cursor", "ids", "columns", "root")


HANGUP_LIVE = "true: a call that is answered is hung up too; one that rings ends in any case"


def _change(name: str, blocked: bool, summary: str) -> Operation:
    return Operation(
        name=name,
        methods=("POST",),
        path=f"{_PATH}/{{id}}/{name}",
        summary=summary,
        handler=partial(change_block, blocked=blocked),
        scope="contact:block",
        rate="write",
        safe=False,
        parameters={"hangup_live": "true: a call that is answered is hung up too; one that rings ends in any case"}
        if blocked
        else {},
        answer=_ONE,
    )


OPERATIONS: tuple[Operation, ...] = (
    Operation(
        name="list_contacts",
        methods=("GET",),
        path=_PATH,
        summary="List contacts",
        handler=index,
        scope="contact:read",
        parameters={
            **{name: PAGING_PARAMETERS[name] for name in _SHARED},
            "number": "contact of this telephone number",
            "email": "contact of this e-mail address, and those whose leads have it",
            "opted_out": "true: contacts that opted out of anything; false: the others",
            "blocked": "true: contacts that the company blocked; false: the others",
            "suppressed": "true: contacts on the do-not-call list; false: the others",
        },
        answer=many_of("contacts", "Contact"),
        suffixes=("", ".csv", ".json"),
    ),
    Operation(
        name="show_contact",
        methods=("GET",),
        path=f"{_PATH}/{{id}}",
        summary="Show a contact with its history",
        handler=show,
        scope="contact:read",
        parameters={"root": "false: the bare record"},
        answer=_ONE,
    ),
    Operation(
        name="list_opt_out_reviews",
        methods=("GET",),
        path="/api/v1/opt_out_reviews",
        summary="List texts that may be opt-outs and wait for a review",
        handler=reviews,
        scope="contact:read",
        parameters={name: PAGING_PARAMETERS[name] for name in ("page", "per_page", "cursor", "columns", "root")},
        answer=many_of("opt_out_reviews", "OptOutReview"),
        suffixes=("", ".csv", ".json"),
    ),
    Operation(
        name="decide_opt_out_review",
        methods=("POST",),
        path=f"{_PATH}/{{id}}/opt_out_review",
        summary="Say whether a person's text is an opt-out",
        handler=decide_review,
        scope="contact:review",
        rate="write",
        safe=False,
        parameters={
            "opt_out": "true: it is an opt-out; false: it is not, and contact goes on",
            "numbers": "of an opt-out whose number could not be read: the numbers that were meant, separated by commas",
        },
        types={"numbers": {"anyOf": [TEXT, {"type": "array", "items": PHONE, "maxItems": SPELLINGS_MAX}]}},
        required=("opt_out",),
        answer=_ONE,
    ),
    _change("caller_block", True, "Block a person"),
    _change("caller_unblock", False, "Lift the block of a person"),
)
