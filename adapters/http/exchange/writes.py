"""How does the API change something? It appends a request to a topic and answers from the projection, or with 202.

An Idempotency-Key names the request. A repeat with the same fields changes nothing and gets the first answer.
"""

from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import TypeVar

import msgspec
from msgspec import Struct, structs

from adapters.http.exchange.answers import wants_bare
from adapters.http.exchange.exchange import JSON, Exchange, Reply
from adapters.http.exchange.ports import EventsUnavailableError
from adapters.http.exchange.problems import ProblemError
from adapters.reads.ports import IdempotencyClaim, ReadsUnavailableError, Result
from engine.partition.ports import LogError
from schemas.requests import AccountRequest, ContactRequest, LeadSubmitted
from schemas.topics import ACCOUNTS_REQUESTS, CONTACTS_REQUESTS
from schemas.wire import digest

IDEMPOTENCY_KEY_LENGTH_MAX = 255
"""Longer than the examples of the draft standard (draft-ietf-httpapi-idempotency-key-header) and the keys of client
libraries."""

VERSION_DIGITS = 15
"""Digits of a version in If-Match; no record has that many versions."""

Render = Callable[[Exchange, Result], Awaitable[Reply]]
R = TypeVar("R", bound=ContactRequest | AccountRequest)


class StoredAnswer(Struct, frozen=True, kw_only=True):
    """The first answer to a request. `with_key` is stored too, because a sender with only a lead token sees less."""

    with_key: bool
    status: int
    content: msgspec.Raw
    headers: Mapping[str, str]


async def submit_change(
    exchange: Exchange,
    message: ContactRequest | AccountRequest,
    render: Render,
    *,
    hides_refusals: bool = False,
    nonce: str = "",
) -> Reply:
    """Submit a request and return its answer, or 202 if there is none in time.

    With `hides_refusals` the answer says nothing of what was decided: the sender must not learn who is stored. A `nonce` is
    that of a signed form, which is good for one request.

    Raises `ProblemError` for a refusal, `EventsUnavailableError` if the log did not take it.
    """
    wants_bare(exchange)  # refuse a bad `root` before anything is changed
    company_id = message.company_id
    message = _with_visibility(exchange, message)
    claim = await _claim(exchange, company_id, nonce)
    topic, key = _destination(message)
    services = exchange.services
    request_id, result = exchange.request_id, None
    if claim is not None and claim.request_id != request_id:
        first_reply = _read_answer(exchange, claim.answer)
        if first_reply is not None:
            return first_reply
        request_id, result = claim.request_id, await services.requests.wait(claim.request_id, 0)
    if result is None:
        # A repeat without an answer is submitted too: the first try may not have reached the log.
        actor = None if isinstance(message, LeadSubmitted) else exchange.actor
        await services.requests.submit(topic, key, message, request_id=request_id, company_id=company_id, actor=actor)
    is_async = "respond-async" in _preferences(exchange)
    if result is None and not is_async:
        with suppress(ReadsUnavailableError):  # it is stored: a problem here would make the client send it twice
            result = await services.requests.wait(request_id, remaining_wait_seconds(exchange))
    if result is None:
        reply = accepted_reply(request_id)
        if is_async:
            return structs.replace(reply, headers={**reply.headers, "Preference-Applied": "respond-async"})
        return reply
    if not hides_refusals:
        raise_refusal(result)
    if isinstance(message, AccountRequest):
        await _refresh_rules(exchange)
    try:
        reply = await render(exchange, result)
        return reply if claim is None else await _store_answer(exchange, result, reply)
    except ReadsUnavailableError:
        return accepted_reply(request_id)  # it is decided, and shown when the database is back


def _with_visibility(exchange: Exchange, message: R) -> R:
    """Return a request with the filters of the sender's teams, for those that are checked again when they are decided."""
    access = exchange.access
    visible = None if access is None else access.visibility(exchange.operation.scope).leads
    return (
        message
        if visible is None or "visible" not in message.__struct_fields__
        else structs.replace(message, visible=visible)
    )


async def _refresh_rules(exchange: Exchange) -> None:
    """Read the rules to their current end, so that the next request of this client sees the changed record."""
    with suppress(LogError, EventsUnavailableError):
        await exchange.services.source.refresh()


def read_if_match(exchange: Exchange) -> tuple[int, ...] | None:
    """Return the versions in If-Match, as an ETag gave them; None for any version."""
    header = exchange.request.headers.get("if-match", "").strip()
    if not header or header == "*":
        return None
    tags = (tag.strip().removeprefix("W/").strip('"') for tag in header.split(","))
    return tuple(int(tag) for tag in tags if tag.isascii() and tag.isdigit() and len(tag) <= VERSION_DIGITS)


def accepted_reply(request_id: str) -> Reply:
    """Return the 202 for a request that is stored and not yet decided, or not yet in the projection."""
    path = f"/api/v1/requests/{request_id}"
    content = {"status": 202, "errors": {}, "request": {"id": request_id, "path": path}, "metadata": {"root": "request"}}
    return Reply(status=202, content=content, headers={"Location": path, "Retry-After": "1"})


def raise_refusal(result: Result) -> None:
    """Raise `ProblemError` if a request was refused or its decision failed."""
    answer = result.answer
    if answer is None or (result.verdict == "failed" and answer.code is None):
        raise ProblemError("decision_failed", "The decision of this request failed; nothing was changed.")
    if answer.code is not None:
        seconds = answer.extra.get("retry_after_seconds")
        headers = {} if seconds is None else {"Retry-After": str(seconds)}
        raise ProblemError(answer.code, answer.detail or "", answer.errors, headers=headers, extra=answer.extra)


def _destination(message: ContactRequest | AccountRequest) -> tuple[str, str]:
    if isinstance(message, ContactRequest):
        return CONTACTS_REQUESTS.name, message.contact_key
    return ACCOUNTS_REQUESTS.name, message.partition_key


def _idempotency_key(exchange: Exchange) -> str:
    return exchange.request.headers.get("idempotency-key", "").strip() or exchange.vendor_key


def _name_of_claim(exchange: Exchange) -> str:
    """Return under which name the Idempotency-Key is stored: without an API key its space is that of the lead token.

    Else a stranger who guesses a key of the company would have its request refused for a day. No key holds a line break.
    """
    key = _idempotency_key(exchange)
    return key if exchange.access is not None else f"{str(exchange.fields.get('lead_token', '')).strip()}\n{key}"


async def claim_key(exchange: Exchange, company_id: int) -> IdempotencyClaim | None:
    """Claim the Idempotency-Key; return the new claim, or an earlier one with the same fields. None without a key."""
    key = _idempotency_key(exchange)
    if not key:
        return None
    name = _name_of_claim(exchange)
    if len(key) > IDEMPOTENCY_KEY_LENGTH_MAX or not key.isprintable():
        raise ProblemError(
            "validation_failed", f"Send an Idempotency-Key of at most {IDEMPOTENCY_KEY_LENGTH_MAX} printable characters."
        )
    has_password = any("password" in name for name in exchange.fields)
    sent_digest = digest(
        # Keyed where the body has a password: a plain hash, which is stored, would let its reader try passwords.
        *((exchange.services.settings.secret_key.encode(),) if has_password else ()),
        exchange.request.method.encode(),
        exchange.request.scope["path"].encode(),
        # What was said, not how: a client that sends a form again draws another boundary, or another order.
        msgspec.json.encode(exchange.fields, order="deterministic"),
    )
    services = exchange.services
    claim = await services.claims.claim(company_id, name, sent_digest, exchange.request_id, now=exchange.now)
    if claim.digest != sent_digest:
        raise ProblemError("idempotency_conflict", "Use a new Idempotency-Key for another request.")
    return claim


async def _claim(exchange: Exchange, company_id: int, nonce: str) -> IdempotencyClaim | None:
    """Claim the Idempotency-Key of a request, if it has one, and the nonce of a signed form."""
    claim = await claim_key(exchange, company_id)
    if nonce:
        await _use_nonce(exchange, company_id, nonce, exchange.request_id if claim is None else claim.request_id)
    return claim


async def _use_nonce(exchange: Exchange, company_id: int, nonce: str, request_id: str) -> None:
    """Use the nonce of a signed form for a request; a repeat under the Idempotency-Key of its first use is that request.

    The row stands beside those of Idempotency-Keys, so that of two processes one has it, and is held as long. A key has no
    line break, and a lead token neither, so no sender can name this row. Raises `ProblemError` replayed_signature.
    """
    token = str(exchange.fields.get("lead_token", "")).strip()
    name = f"{NONCE_SPACE}\n{token}\n{nonce}"
    claim = await exchange.services.claims.claim(company_id, name, digest(nonce.encode()), request_id, now=exchange.now)
    if claim.request_id != request_id:
        detail = "This signature was used: sign the form again. A repeat of one request has its Idempotency-Key."
        raise ProblemError("replayed_signature", detail)


NONCE_SPACE = "signed form"
"""The first line under which nonces are stored, in the place of a lead token: a token has no blank."""


async def _store_answer(exchange: Exchange, result: Result, reply: Reply) -> Reply:
    """Store an answer for repeats of the request; return the stored one, which may come from a concurrent repeat."""
    answer = StoredAnswer(
        with_key=exchange.access is not None,
        status=reply.status,
        content=msgspec.Raw(JSON.encode(reply.content)),
        headers=dict(reply.headers),
    )
    name = _name_of_claim(exchange)
    stored = await exchange.services.claims.keep(result.company_id, name, result.request_id, JSON.encode(answer))
    return _read_answer(exchange, stored) or reply


def _read_answer(exchange: Exchange, answer: bytes | None) -> Reply | None:
    """Return a stored answer, or None if there is none for this kind of sender (with or without a key)."""
    stored = None if answer is None else msgspec.json.decode(answer, type=StoredAnswer)
    if stored is None or stored.with_key is not (exchange.access is not None):
        return None
    return Reply(status=stored.status, content=bytes(stored.content), headers=stored.headers)


def _preferences(exchange: Exchange) -> dict[str, str]:
    """Return the preferences of RFC 7240 by name."""
    found: dict[str, str] = {}
    for preference in exchange.request.headers.get("prefer", "").split(","):
        name, _, value = preference.partition(";")[0].partition("=")
        found[name.strip().lower()] = value.strip()
    return found


def remaining_wait_seconds(exchange: Exchange) -> float:
    """Return how much longer the client waits for an answer; negative if the time is over."""
    services, wait = exchange.services, _preferences(exchange).get("wait", "")
    most = services.settings.wait_seconds
    wanted = min(most, int(wait[:6])) if wait.isascii() and wait.isdigit() else most
    return wanted - (services.monotonic() - exchange.wait_started)
