"""How does a user sign in? With e-mail address, password and, once it is set up, a code; the answer has a token.

An unknown user, a wrong password, a wrong code and a user who may not sign in get one answer after the same work, so that
none of them differs from another. Attempts are counted before they are checked, for each user and each address. A company
may have an issuer that users sign in with instead (`issuer_sign_in`).
"""

import hmac
import time
from typing import Any

from adapters.http.exchange.access import NO_VALID_KEY, unauthenticated
from adapters.http.exchange.addresses import client_of
from adapters.http.exchange.answers import reply_with_record, wants_bare
from adapters.http.exchange.exchange import Exchange, Operation, Reply, Services
from adapters.http.exchange.parameters import Parameters
from adapters.http.exchange.passwords import BODY_ONLY, PASSWORD_LENGTH_MAX, parse_password
from adapters.http.exchange.problems import ProblemError
from adapters.http.exchange.second_factor import new_salt, seed_of, step_of, uri_of
from adapters.http.exchange.session_tokens import new_session
from adapters.http.exchange.writes import submit_change
from adapters.http.records.records import render
from adapters.http.schema.inputs import EMAIL, GIVEN_PASSWORD, ID, PASSWORD, TEXT
from adapters.http.schema.shapes import ID_SHOWN, MOMENT_SHOWN, one_of, record_answer
from adapters.reads.ports import SESSION_IDLE, SESSION_LONGEST, StoredSession
from engine.account.teams import user_email
from engine.submission.fields import FieldError, parse_text
from schemas.instant import SECOND, to_rfc3339
from schemas.records import Company, Record, User
from schemas.requests import RecordChangeRequested

PATH = "/api/v1/sessions"
CURRENT = f"{PATH}/current"
CREATED = 201

NOT_SIGNED_IN = "The company, e-mail address, password or code is wrong, or the user may not sign in."


async def sign_in(exchange: Exchange) -> Reply:
    """Open a session for a user."""
    exchange.enforce_address_limit()
    wants_bare(exchange)  # refuse a bad `root` before anything is done
    parameters = Parameters(exchange.fields)
    refuse_in_query(exchange, parameters, "password", "code")
    email = parameters.read("email", user_email)
    password = parameters.read("password", _given_password)
    code = parameters.read("code", _code)
    company_id = parameters.id("company_id")
    parameters.require("email", "password")
    if exchange.host_company_id is None:
        parameters.require("company_id", sentence="must be given: this host serves several companies")
    parameters.finish()
    host_id = exchange.host_company_id
    is_other = host_id is not None and company_id not in {None, host_id}
    asked_id = 0 if is_other else host_id or company_id or 0
    subjects = await _count_attempts(exchange, asked_id, email or "")
    record, user = await _user_named(exchange, asked_id, email or "")
    if not await _is_right(exchange, record, user, password or "", code or ""):
        raise unauthenticated(NOT_SIGNED_IN)
    sign_ins = exchange.services.sign_ins
    await sign_ins.forget_attempts(subjects["user"])
    await sign_ins.take_attempt_back(subjects["address"])
    assert record is not None  # noqa: S101 - a right password is some user's
    assert user is not None  # noqa: S101 - as above
    session, token = new_session(record, user)
    stored = await sign_ins.open(session)
    shown = {**_shown(stored, user), "token": token}
    exchange.headers["Cache-Control"] = "no-store"
    return reply_with_record(exchange, "session", shown, status=CREATED)


async def show(exchange: Exchange) -> Reply:
    """Answer with the session of the request."""
    Parameters(exchange.query).finish()
    stored, _, user = await current(exchange)
    return reply_with_record(exchange, "session", _shown(stored, user))


async def sign_out(exchange: Exchange) -> Reply:
    """End the session of the request."""
    wants_bare(exchange)
    stored, _, user = await current(exchange)
    await exchange.services.sign_ins.end(stored.session.id)
    exchange.services.authenticator.forget_session(stored.session.id)
    return reply_with_record(exchange, "session", _shown(stored, user))


async def change_password(exchange: Exchange) -> Reply:
    """Give the user of the session another password."""
    _, record, user = await current(exchange)
    parameters = Parameters(exchange.fields)
    refuse_in_query(exchange, parameters, "password", "current_password")
    given = parameters.read("current_password", _given_password)
    password = parameters.read("password", parse_password)
    parameters.require("current_password", "password")
    parameters.finish()
    await _require_password(exchange, record, user, given or "")
    hashed = await exchange.services.passwords.hash(password or "", known_of(exchange.services, record, user))
    return await _change_own(exchange, record, {"password_hash": hashed})


async def begin_second_factor(exchange: Exchange) -> Reply:
    """Show the seed of a second factor, once; nothing changes until a code of it is sent."""
    wants_bare(exchange)
    stored, record, user = await current(exchange)
    parameters = Parameters(exchange.fields)
    refuse_in_query(exchange, parameters, "current_password")
    given = parameters.read("current_password", _given_password)
    parameters.require("current_password")
    parameters.finish()
    await _require_password(exchange, record, user, given or "")
    salt = new_salt()
    await exchange.services.sign_ins.begin_second_factor(stored.session.id, salt)
    seed = seed_of(exchange.services.settings.secret_key, record.company_id, record.id, salt)
    exchange.headers["Cache-Control"] = "no-store"
    return reply_with_record(exchange, "second_factor", {"seed": seed, "uri": uri_of(seed, user.email)})


async def finish_second_factor(exchange: Exchange) -> Reply:
    """Turn the second factor on with its first code."""
    stored, record, _ = await current(exchange)
    parameters = Parameters(exchange.fields)
    refuse_in_query(exchange, parameters, "code")
    code = parameters.read("code", _code)
    parameters.require("code")
    if stored.pending_salt is None:
        parameters.refuse("code", f"is of no second factor: begin with POST {CURRENT}/second_factor")
    parameters.finish()
    salt = stored.pending_salt or ""
    await _count_attempts(exchange, record.company_id, f"second factor of {record.id}")
    if not await _is_code(exchange, record, salt, code or ""):
        raise ProblemError("validation_failed", "Correct code and resend.", {"code": ["is not the code that the app shows"]})
    return await _change_own(exchange, record, {"second_factor_salt": salt})


async def current(exchange: Exchange) -> tuple[StoredSession, Record, User]:
    """Return the session of the request, with its user. Raises `ProblemError` forbidden to a key."""
    access = exchange.key
    stored = None if access.session is None else await exchange.services.sign_ins.find(access.session.id)
    rules = exchange.services.source.rules
    if access.session is None or access.user_email is None:
        raise ProblemError("forbidden", "A key is no session; sign in, and send the token of the session.")
    found = rules.user_named(access.company_id, access.user_email)
    if stored is None or found is None:
        raise unauthenticated(NO_VALID_KEY)  # ended since it was looked up
    return stored, *found


def known_of(services: Services, record: Record, user: User) -> tuple[str, str]:
    """Return what anybody may know of a user: the address and the name of the company. No password is made of them."""
    company = services.source.rules.body(Company, "company", record.company_id)
    return user.email, "" if company is None else company.name


def refuse_in_query(exchange: Exchange, parameters: Parameters, *names: str) -> None:
    """Refuse secrets in the address of a request."""
    for name in names:
        if name in exchange.query:
            parameters.refuse(name, BODY_ONLY)


async def _count_attempts(exchange: Exchange, company_id: int, email: str) -> dict[str, str]:
    """Count an attempt of a user from an address; return what it is counted under. Raises `ProblemError` rate_limited.

    A user is counted apart for each address: else a stranger who errs on purpose would keep the user out.
    """
    address = client_of(exchange.address)
    named = {"user": f"user/{company_id}/{email}/{address}", "address": f"address/{address}"}
    return {kind: await count_attempt(exchange.services, kind, text) for kind, text in named.items()}


async def count_attempt(services: Services, kind: str, text: str) -> str:
    """Count an attempt; return what it is counted under. Raises `ProblemError` rate_limited where it is too early."""
    subject = hmac.digest(services.settings.secret_key.encode(), text.encode(), "sha256").hex()
    seconds = await services.sign_ins.begin_attempt(kind, subject)
    if seconds is not None:
        detail = f"Too many attempts in a row. Try again in {seconds} s."
        raise ProblemError("rate_limited", detail, headers={"Retry-After": str(seconds)})
    return subject


async def _user_named(exchange: Exchange, company_id: int, email: str) -> tuple[Record | None, User | None]:
    """Return the user with an address, by the newest rules: one who was just made, or disabled, is seen as such."""
    await exchange.services.authenticator.refresh()
    found = exchange.services.source.rules.user_named(company_id, email)
    return (None, None) if found is None else found


async def _is_right(exchange: Exchange, record: Record | None, user: User | None, password: str, code: str) -> bool:
    """Return whether this is an active user with the right password and code; the same work is done for each."""
    is_active = record is not None and user is not None and user.state == "active"
    known = user.password_hash if user is not None and is_active else None
    if not await exchange.services.passwords.is_right(password, known) or record is None or user is None:
        return False
    if needs_issuer(exchange.services, record.company_id, user):
        return False
    return user.second_factor_salt is None or await _is_code(exchange, record, user.second_factor_salt, code)


def needs_issuer(services: Services, company_id: int, user: User) -> bool:
    """Return whether the company takes no password of a user. Superusers keep theirs: an issuer may be out of reach."""
    rules = services.source.rules
    company = rules.body(Company, "company", company_id)
    if company is None or not company.sign_in_required:
        return False
    return not any(team.superuser for team in rules.teams_of(company_id, user.email))


async def _is_code(exchange: Exchange, record: Record, salt: str, code: str) -> bool:
    """Return whether a code is one of now, and use it up."""
    seed = seed_of(exchange.services.settings.secret_key, record.company_id, record.id, salt)
    step = step_of(seed, code, time.time())
    return step is not None and await exchange.services.sign_ins.use_code(record.company_id, record.id, step)


async def _require_password(exchange: Exchange, record: Record, user: User, password: str) -> None:
    """Raise `ProblemError` unless this is the user's password: an open session is not enough to take the user over."""
    subjects = await _count_attempts(exchange, record.company_id, user.email)
    if not await exchange.services.passwords.is_right(password, user.password_hash):
        fault = {"current_password": ["is not the password of the user"]}
        raise ProblemError("validation_failed", "Correct current_password and resend.", fault)
    await exchange.services.sign_ins.forget_attempts(subjects["user"])
    await exchange.services.sign_ins.take_attempt_back(subjects["address"])


async def _change_own(exchange: Exchange, record: Record, fields: dict[str, Any]) -> Reply:
    message = RecordChangeRequested(
        company_id=record.company_id, type="user", operation="update", id=record.id, fields=fields
    )
    return await submit_change(exchange, message, render)


def _shown(stored: StoredSession, user: User) -> dict[str, Any]:
    session = stored.session
    return {
        "user_id": session.user_id,
        "company_id": session.company_id,
        "email": user.email,
        "created_at": to_rfc3339(stored.created_at),
        "expires_at": to_rfc3339(stored.created_at + SESSION_LONGEST),
        "idle_seconds": SESSION_IDLE // SECOND,
    }


def _given_password(value: Any) -> str:
    if not isinstance(value, str) or len(value) > PASSWORD_LENGTH_MAX:
        raise FieldError(f"must be text of at most {PASSWORD_LENGTH_MAX} characters")
    return value


def _code(value: Any) -> str:
    return parse_text(value).replace(" ", "")


_SESSION: dict[str, Any] = {
    "type": "object",
    "required": ["user_id", "company_id", "email", "created_at", "expires_at", "idle_seconds"],
    "properties": {
        **dict.fromkeys(("user_id", "company_id"), ID_SHOWN),
        "email": {"type": "string"},
        **dict.fromkeys(("created_at", "expires_at"), MOMENT_SHOWN),
        "idle_seconds": {"type": "integer", "description": "a session that is not used for so long ends"},
        "token": {"type": "string", "description": "send it as Authorization: Bearer; shown once"},
    },
}
_SECOND_FACTOR: dict[str, Any] = {
    "type": "object",
    "required": ["seed", "uri"],
    "properties": {
        "seed": {"type": "string", "description": "for an authenticator app, typed in; shown once"},
        "uri": {"type": "string", "description": "the same for an authenticator app, as a link or QR code"},
    },
}
_ROOT = {"root": "false: the bare record"}
_WRITES: dict[str, Any] = {"rate": "write", "safe": False, "leads": "none", "records": "visible"}
_OWN_PASSWORD = "password that the user signs in with now"  # noqa: S105 - a sentence

OPERATIONS: tuple[Operation, ...] = (
    Operation(
        name="create_session",
        methods=("POST",),
        path=PATH,
        summary="Sign in",
        handler=sign_in,
        access="open",
        parameters={
            "email": "address of the user",
            "password": "password of the user",
            "code": "code that the user's authenticator app shows, where the user has set one up",
            "company_id": "the company; may be left out where the host serves one company",
            **_ROOT,
        },
        types={"email": EMAIL, "password": GIVEN_PASSWORD, "code": TEXT, "company_id": ID},
        required=("email", "password"),
        answer=one_of("session", _SESSION),
        created=True,
        has_result=False,
        problems=("unauthenticated",),
        **_WRITES,
    ),
    Operation(
        name="show_session",
        access="session",
        methods=("GET",),
        path=CURRENT,
        summary="Show the session that the request is sent with",
        handler=show,
        leads="none",
        records="visible",
        parameters=_ROOT,
        answer=one_of("session", _SESSION),
    ),
    Operation(
        name="delete_session",
        access="session",
        methods=("DELETE",),
        path=CURRENT,
        summary="Sign out",
        handler=sign_out,
        parameters=_ROOT,
        answer=one_of("session", _SESSION),
        has_result=False,
        **_WRITES,
    ),
    Operation(
        name="change_own_password",
        access="session",
        methods=("PUT",),
        path=f"{CURRENT}/password",
        summary="Change the password of the user who is signed in",
        handler=change_password,
        parameters={"current_password": _OWN_PASSWORD, "password": "the new one, of at least 12 characters"},
        types={"current_password": GIVEN_PASSWORD, "password": PASSWORD},
        required=("current_password", "password"),
        answer=record_answer("user", "user"),
        **_WRITES,
    ),
    Operation(
        name="begin_second_factor",
        access="session",
        methods=("POST",),
        path=f"{CURRENT}/second_factor",
        summary="Begin to set up an authenticator app for the user who is signed in",
        handler=begin_second_factor,
        parameters={"current_password": _OWN_PASSWORD, **_ROOT},
        types={"current_password": GIVEN_PASSWORD},
        required=("current_password",),
        answer=one_of("second_factor", _SECOND_FACTOR),
        has_result=False,
        **_WRITES,
    ),
    Operation(
        name="finish_second_factor",
        access="session",
        methods=("PUT",),
        path=f"{CURRENT}/second_factor",
        summary="Ask for a code at each sign-in from now on",
        handler=finish_second_factor,
        parameters={"code": "code that the app shows now"},
        types={"code": TEXT},
        required=("code",),
        answer=record_answer("user", "user"),
        **_WRITES,
    ),
)
