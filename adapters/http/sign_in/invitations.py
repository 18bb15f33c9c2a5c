"""How does somebody become a user without telling anybody a password? By a link that is good once, and for some days.

Who may make users invites an address. The link is e-mailed where the deployment has a mail server and a public address; else
its sender passes it on. Of its token only the hash is stored, with the user. A password that is set uses the link up, and so
does an identity at the company's issuer, which is linked to the user by it and by nothing else.
"""

import hmac
import re
import secrets
from typing import Any

from msgspec import structs

from adapters.gateway.ports import MailError
from adapters.http.exchange.access import Access, actor_of
from adapters.http.exchange.addresses import client_of
from adapters.http.exchange.answers import reply_with_record, wants_bare
from adapters.http.exchange.exchange import Exchange, Operation, Reply, Services
from adapters.http.exchange.hosts import base_of_company
from adapters.http.exchange.identity import hash_private_key
from adapters.http.exchange.parameters import Parameters
from adapters.http.exchange.passwords import parse_password
from adapters.http.exchange.problems import ProblemError
from adapters.http.exchange.writes import raise_refusal, submit_change
from adapters.http.records.records import render
from adapters.http.schema.inputs import EMAIL, PASSWORD, TEXT, whole
from adapters.http.schema.shapes import ID_SHOWN, MOMENT_SHOWN, nullable, one_of, record_answer
from adapters.http.sign_in.id_tokens import Identity
from adapters.http.sign_in.invitation_page import PAGE_PATH
from adapters.http.sign_in.sessions import count_attempt, known_of, needs_issuer, refuse_in_query
from adapters.reads.ports import Result
from engine.account.teams import user_email
from engine.submission.fields import parse_text
from schemas.instant import HOUR, Instant, to_rfc3339
from schemas.records import Company, Record, User
from schemas.requests import RecordChangeRequested
from schemas.topics import ACCOUNTS_REQUESTS

PATH = "/api/v1/invitations"
ACCEPT_PATH = f"{PATH}/accept"
ROOT = "invitation"
CREATED, ACCEPTED = 201, 202

HOURS_DEFAULT, HOURS_MAX = 72, 720
"""How long a link is good: a long weekend, and a month at most."""

NO_INVITATION = "This invitation is not valid: it was used or replaced, or it has expired. Ask for another one."

NO_PASSWORDS = "Users of this company sign in by its identity provider, without a password: use the button of the page."

_TOKEN = re.compile(r"iv_([1-9][0-9]{0,15})\.([A-Za-z0-9_-]{43})", re.ASCII)
"""The id of the user, and 256 random bits."""


async def create(exchange: Exchange) -> Reply:
    """Invite a new user, or one who is there to set another password."""
    wants_bare(exchange)  # refuse a bad `root` before anything is done
    parameters = Parameters(exchange.fields)
    email = parameters.read("email", user_email)
    name = parameters.read("name", parse_text)
    hours = parameters.whole("expires_in_hours", least=1, most=HOURS_MAX) or HOURS_DEFAULT
    parameters.require("email")
    await exchange.services.authenticator.refresh()
    found = exchange.services.source.rules.user_named(exchange.company_id, email or "")
    if found is not None and found[1].state == "disabled":
        parameters.refuse("email", "is of a user who is disabled; enable the user first")
    parameters.finish()
    secret, expires_at = secrets.token_urlsafe(32), exchange.now + hours * HOUR
    fields: dict[str, Any] = {
        "invitation_sha256": hash_private_key(secret),
        "invitation_expires_at": to_rfc3339(expires_at),
        **({} if name is None else {"name": name}),
    }
    if found is None:
        fields = {"name": email, **fields, "email": email}
    message = RecordChangeRequested(
        company_id=exchange.company_id,
        type="user",
        operation="create" if found is None else "update",
        id=None if found is None else found[0].id,
        fields=fields,
    )
    exchange.headers["Cache-Control"] = "no-store"
    return await _invite(exchange, message, email or "", secret, expires_at)


async def _invite(exchange: Exchange, message: RecordChangeRequested, email: str, secret: str, expires_at: Instant) -> Reply:
    """Submit an invitation; once it is decided, send its link or show it. A repeat of the request shows none."""
    decided: list[int] = []

    async def shown(exchange: Exchange, result: Result) -> Reply:
        user_id = 0 if result.answer is None else result.answer.record_id or 0
        if result.request_id == exchange.request_id:
            decided.append(user_id)
        answer = {"user_id": user_id, "email": email, "expires_at": to_rfc3339(expires_at)}
        return reply_with_record(exchange, ROOT, {**answer, "sent": False, "token": None, "url": None}, status=CREATED)

    reply = await submit_change(exchange, message, shown)
    if reply.status == ACCEPTED and message.id is not None and reply.content["request"]["id"] == exchange.request_id:
        # No later answer can show it.
        return structs.replace(reply, content={**reply.content, ROOT: {"token": f"iv_{message.id}.{secret}"}})
    if reply.status == ACCEPTED or not decided:
        return reply
    (user_id,) = decided
    token = f"iv_{user_id}.{secret}"
    url = _url(exchange, token)
    sent = url is not None and await _send(exchange, email, url, expires_at)
    answer = {"user_id": user_id, "email": email, "expires_at": to_rfc3339(expires_at), "sent": sent}
    link = {"token": None, "url": None} if sent else {"token": token, "url": url}
    return reply_with_record(exchange, ROOT, {**answer, **link}, status=CREATED)


def _url(exchange: Exchange, token: str) -> str | None:
    """Return the link of a token, at the host of the company where it has one; None where there is no public address.

    The token is behind the #, which browsers send to nobody and no proxy logs.
    """
    base = base_of_company(exchange.services.settings, exchange.company_id)
    return f"{base}{PAGE_PATH}#{token}" if base else None


async def _send(exchange: Exchange, email: str, url: str, expires_at: Instant) -> bool:
    """Send a link by e-mail; return whether the mail server took it."""
    mail = exchange.services.mail
    if not mail.is_set_up:
        return False
    company = exchange.services.source.rules.body(Company, "company", exchange.company_id)
    name = "leadclock" if company is None else company.name
    way = "Set your password" if company is None or company.sign_in_issuer is None else "Sign in for the first time"
    body = (
        f"You are invited to sign in for {name}.\n\n{way} here, until {to_rfc3339(expires_at)}:\n\n{url}\n\n"
        "The link is good once. If you do not know what this is about, you need not do anything.\n"
    )
    try:
        await mail.send(email, f"Invitation to {name}", body)
    except MailError:
        return False
    return True


async def accept(exchange: Exchange) -> Reply:
    """Set the password of the user of a token."""
    exchange.enforce_address_limit()
    wants_bare(exchange)
    parameters = Parameters(exchange.fields)
    refuse_in_query(exchange, parameters, "token", "password")
    token = parameters.read("token", parse_text)
    password = parameters.read("password", parse_password)
    parameters.require("token", "password")
    parameters.finish()
    record, user = await find_invited(
        exchange.services, token or "", address=exchange.address, host_company_id=exchange.host_company_id
    )
    if needs_issuer(exchange.services, record.company_id, user):
        raise ProblemError("forbidden", NO_PASSWORDS)
    hashed = await exchange.services.passwords.hash(password or "", known_of(exchange.services, record, user))
    exchange.access = _acting(record, user)
    return await submit_change(exchange, _use_up(record, {"password_hash": hashed}), render)


async def link(
    services: Services, record: Record, user: User, identity: Identity, *, request_id: str, address: str
) -> tuple[Record, User] | None:
    """Link an identity to the user of an invitation; return the user as it is then, or None where it is not decided in time.

    Raises `ProblemError` where the invitation was used meanwhile, or the identity is another user's.
    """
    message = _use_up(record, {"identity_issuer": identity.issuer, "identity_sha256": identity.sha256})
    topic, company_id = ACCOUNTS_REQUESTS.name, record.company_id
    actor = actor_of(_acting(record, user), address)
    await services.requests.submit(
        topic, message.partition_key, message, request_id=request_id, company_id=company_id, actor=actor
    )
    result = await services.requests.wait(request_id, services.settings.wait_seconds)
    if result is None:
        return None
    raise_refusal(result)
    await services.authenticator.refresh()
    return services.source.rules.user_of_identity(company_id, identity.sha256)


def _use_up(record: Record, fields: dict[str, Any]) -> RecordChangeRequested:
    """Return the change that gives a user what it signs in with, and uses the invitation up.

    It is of the version that was looked at: the request that is decided first uses the link up.
    """
    return RecordChangeRequested(
        company_id=record.company_id,
        type="user",
        operation="update",
        id=record.id,
        fields={**fields, "state": "active"},
        if_versions=(record.version,),
    )


def _acting(record: Record, user: User) -> Access:
    return Access(record.company_id, None, (), user.email, invited=True)


async def find_invited(services: Services, token: str, *, address: str, host_company_id: int | None) -> tuple[Record, User]:
    """Return the user of a token, and count an attempt where there is none.

    Raises `ProblemError` with one text for whatever is wrong with the token.
    """
    subject = await count_attempt(services, "address", f"address/{client_of(address)}")
    await services.authenticator.refresh()
    rules, match = services.source.rules, _TOKEN.fullmatch(token)
    user_id = 0 if match is None else int(match[1])
    record, user = rules.record("user", user_id), rules.body(User, "user", user_id)
    known = "" if user is None or user.invitation_sha256 is None else user.invitation_sha256
    is_same = hmac.compare_digest(hash_private_key("" if match is None else match[2]), known)
    is_here = record is not None and host_company_id in {None, record.company_id}
    if record is None or user is None or not is_same or not is_here or not _is_open(user, services.now()):
        raise ProblemError("forbidden", NO_INVITATION)
    await services.sign_ins.take_attempt_back(subject)
    return record, user


def _is_open(user: User, now: Instant) -> bool:
    """Return whether an invitation may be used now."""
    is_early = user.invitation_expires_at is not None and now < user.invitation_expires_at
    return is_early and user.state != "disabled"


_INVITATION: dict[str, Any] = {
    "type": "object",
    "required": ["user_id", "email", "expires_at", "sent", "token", "url"],
    "properties": {
        "user_id": ID_SHOWN,
        "email": {"type": "string"},
        "expires_at": MOMENT_SHOWN,
        "sent": {"type": "boolean", "description": "true: the mail server has taken the link, which is not shown then"},
        "token": nullable("string", description="what sets the password; shown once, where it was not sent"),
        "url": nullable("string", description="link to a page that asks for the password; null: no public address is set"),
    },
}

OPERATIONS: tuple[Operation, ...] = (
    Operation(
        name="create_invitation",
        methods=("POST",),
        path=PATH,
        summary="Invite somebody to become a user, or a user to set another password",
        handler=create,
        scope="user:create",
        rate="write",
        safe=False,
        leads="none",
        records="visible",
        parameters={
            "email": "address of the person",
            "name": "name of a new user; left out: the address",
            "expires_in_hours": f"how long the link is good: {HOURS_DEFAULT}, at most {HOURS_MAX}",
            "root": "false: the bare record",
        },
        types={"email": EMAIL, "name": TEXT, "expires_in_hours": whole(1, HOURS_MAX)},
        required=("email",),
        answer=one_of(ROOT, _INVITATION),
        created=True,
        problems=("duplicate_value",),
    ),
    Operation(
        name="accept_invitation",
        methods=("POST",),
        path=ACCEPT_PATH,
        summary="Set the password of the user of an invitation",
        handler=accept,
        access="open",
        rate="write",
        safe=False,
        leads="none",
        records="visible",
        parameters={"token": "what the link has behind its #", "password": "the password, of at least 12 characters"},
        types={"token": TEXT, "password": PASSWORD},
        required=("token", "password"),
        answer=record_answer("user", "user"),
        problems=("forbidden", "version_conflict", "duplicate_value"),
    ),
)
"""Links lead to a page (`invitation_page`), which sends the token and the password here."""
