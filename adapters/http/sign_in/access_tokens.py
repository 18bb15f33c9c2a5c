"""How does a user let a program act for the user? By a token of the user's own: a key with the user's address.

It has the user's teams and nothing beyond them, and ends with the user. It is made, listed and deleted over a session: a
token that leaks can make no other here.
"""

from typing import Any

import msgspec
from msgspec import structs

from adapters.http.exchange.answers import reply_with_record, wants_bare
from adapters.http.exchange.exchange import Exchange, Operation, Reply
from adapters.http.exchange.identity import hash_private_key, new_private_key, new_public_key
from adapters.http.exchange.parameters import Parameters
from adapters.http.exchange.problems import ProblemError, not_found
from adapters.http.exchange.writes import submit_change
from adapters.http.schema.inputs import MOMENT, TEXT
from adapters.http.schema.shapes import ID_SHOWN, MOMENT_SHOWN, UUID_SHOWN, one_of
from adapters.http.sign_in.sessions import current
from adapters.reads.ports import ReadsUnavailableError, Result
from engine.submission.fields import parse_moment, parse_text
from schemas.instant import DAY, Instant, to_rfc3339
from schemas.records import ApiKey, Record, body_of
from schemas.requests import RecordChangeRequested

PATH = "/api/v1/access_tokens"
ROOT = "access_token"
ACCEPTED = 202

TOKENS_MAX = 50
"""Tokens of one user: a program each, and few users have ten."""

LIFETIME_MAX = 366 * DAY
"""A token must be made again each year: one that is forgotten ends by itself."""


async def index(exchange: Exchange) -> Reply:
    """Answer with the tokens of the user, newest first."""
    Parameters(exchange.query).finish()
    _, _, user = await current(exchange)
    owned = _owned(exchange, user.email)
    uses = await exchange.services.sign_ins.uses(exchange.company_id, [record.id for record, _ in owned])
    shown = [_shown(record, key, uses.get(record.id)) for record, key in owned]
    if wants_bare(exchange):
        return Reply(content=shown)
    return Reply(content={"status": 200, "errors": {}, "access_tokens": shown, "metadata": {"root": "access_tokens"}})


async def create(exchange: Exchange) -> Reply:
    """Make a token for the user and show it, once."""
    _, _, user = await current(exchange)
    parameters = Parameters(exchange.fields)
    name = parameters.read("name", parse_text)
    expires_at = parameters.read("expires_at", parse_moment)
    parameters.require("name", "expires_at")
    if expires_at is not None and not exchange.now < expires_at <= exchange.now + LIFETIME_MAX:
        parameters.refuse("expires_at", "must be in the future, by a year at most")
    parameters.finish()
    if len(_owned(exchange, user.email)) >= TOKENS_MAX:
        fault = {"name": [f"is of one too many: a user has {TOKENS_MAX} tokens at most; delete one that is not used"]}
        raise ProblemError("validation_failed", "Delete a token first.", fault)
    public_key, private_key = new_public_key(), new_private_key()
    fields = {
        "name": name,
        "public_key": public_key,
        "private_key_sha256": hash_private_key(private_key),
        "expires_at": to_rfc3339(expires_at or exchange.now),
        "user_email": user.email,
    }
    exchange.headers["Cache-Control"] = "no-store"
    message = RecordChangeRequested(company_id=exchange.company_id, type="api_key", operation="create", fields=fields)
    reply = await submit_change(exchange, message, _render)
    return _with_token(exchange, reply, public_key, private_key)


async def delete(exchange: Exchange) -> Reply:
    """Delete a token of the user; programs that have it are kept out at once."""
    Parameters(exchange.query).finish()
    _, _, user = await current(exchange)
    wanted = exchange.path_id("access token")
    found = next((record for record, _ in _owned(exchange, user.email) if wanted in {record.id, record.uuid}), None)
    if found is None:
        raise not_found("access token")
    message = RecordChangeRequested(company_id=exchange.company_id, type="api_key", operation="delete", id=found.id)
    return await submit_change(exchange, message, _render)


def _owned(exchange: Exchange, email: str) -> list[tuple[Record, ApiKey]]:
    """Return the keys that act for a user, newest first: those that others made, too."""
    rules = exchange.services.source.rules
    found = ((record, rules.body(ApiKey, "api_key", record.id)) for record in rules.records("api_key", exchange.company_id))
    return [(record, key) for record, key in reversed(list(found)) if key is not None and key.user_email == email]


async def _render(exchange: Exchange, result: Result) -> Reply:
    answer = result.answer
    record = None if answer is None else exchange.services.source.rules.record("api_key", answer.record_id or 0)
    if answer is None or record is None:
        raise ReadsUnavailableError("the rules of this process are behind")  # it is decided: the sender reads it later
    key = body_of(record)
    assert isinstance(key, ApiKey)  # noqa: S101 - the type was just named
    return reply_with_record(exchange, ROOT, _shown(record, key, None), status=answer.status)


def _with_token(exchange: Exchange, reply: Reply, public_key: str, private_key: str) -> Reply:
    """Return an answer with the token that was made for it: no later answer, and none to a repeat, can show it."""
    token = f"{public_key}.{private_key}"
    if reply.status == ACCEPTED:
        is_ours = reply.content["request"]["id"] == exchange.request_id
        return structs.replace(reply, content={**reply.content, ROOT: {"token": token}}) if is_ours else reply
    content = msgspec.json.decode(reply.content) if isinstance(reply.content, bytes) else dict(reply.content)
    shown = content.get(ROOT, content)
    if shown["public_key"] != public_key:
        return reply
    whole = {**shown, "token": token}
    return structs.replace(reply, content={**content, ROOT: whole} if ROOT in content else whole)


def _shown(record: Record, key: ApiKey, last_used_at: Instant | None) -> dict[str, Any]:
    return {
        "id": record.id,
        "uuid": record.uuid,
        "name": key.name,
        "public_key": key.public_key,
        "scopes": list(key.scopes),
        "created_at": to_rfc3339(record.created_at),
        "expires_at": None if key.expires_at is None else to_rfc3339(key.expires_at),
        "revoked_at": None if key.revoked_at is None else to_rfc3339(key.revoked_at),
        "last_used_at": None if last_used_at is None else to_rfc3339(last_used_at),
    }


_TOKEN: dict[str, Any] = {
    "type": "object",
    "required": ["id", "uuid", "name", "public_key", "scopes", "created_at", "expires_at", "revoked_at", "last_used_at"],
    "properties": {
        "id": ID_SHOWN,
        "uuid": UUID_SHOWN,
        "name": {"type": "string"},
        "public_key": {"type": "string", "description": "the half that names the token"},
        "scopes": {
            "type": "array",
            "items": {"type": "string"},
            "description": "what it may do, if the user's teams grant it",
        },
        **dict.fromkeys(("created_at", "expires_at", "revoked_at"), MOMENT_SHOWN),
        "last_used_at": {**MOMENT_SHOWN, "description": "to a minute; null: never"},
        "token": {"type": "string", "description": "send it as Authorization: Bearer; shown once"},
    },
}
_ENVELOPED = one_of("access_tokens", {"type": "array", "items": _TOKEN, "maxItems": TOKENS_MAX})
_OWN: dict[str, Any] = {"access": "session", "leads": "none", "records": "visible"}
_ROOT_PARAMETER = {"root": "false: the bare record"}

OPERATIONS: tuple[Operation, ...] = (
    Operation(
        name="list_access_tokens",
        methods=("GET",),
        path=PATH,
        summary="List the tokens of the user who is signed in",
        handler=index,
        parameters={"root": "false: the bare list"},
        answer=_ENVELOPED,
        **_OWN,
    ),
    Operation(
        name="create_access_token",
        methods=("POST",),
        path=PATH,
        summary="Make a token that acts for the user who is signed in",
        handler=create,
        rate="write",
        safe=False,
        parameters={"name": "name for people", "expires_at": "when it ends, in a year at most", **_ROOT_PARAMETER},
        types={"name": TEXT, "expires_at": MOMENT},
        required=("name", "expires_at"),
        answer=one_of(ROOT, _TOKEN),
        created=True,
        **_OWN,
    ),
    Operation(
        name="delete_access_token",
        methods=("DELETE",),
        path=f"{PATH}/{{id}}",
        summary="Delete a token of the user who is signed in",
        handler=delete,
        rate="write",
        safe=False,
        parameters=_ROOT_PARAMETER,
        answer=one_of(ROOT, _TOKEN),
        **_OWN,
    ),
)
