"""How does a person get into the console by the company's identity provider? Out to it by a form, back by a redirect.

The form is sent from our own pages. The page that follows leads out, since the policy of our pages lets no form go to
another site. The page that a sign-in ends with leads on, since a browser sends the session's cookie only where our own page
asks.
"""

from urllib.parse import urlsplit

from adapters.http.console.cookies import FLOW, SESSION, read_cookie, write_cookie, write_flow_cookie
from adapters.http.console.origins import check_encrypted
from adapters.http.console.rendering import HEADERS
from adapters.http.console.sign_in_pages import HOME, SIGN_IN, safe_path, show_form
from adapters.http.console.visits import ConsolePage, Visit
from adapters.http.exchange.addresses import client_of
from adapters.http.exchange.exchange import Reply
from adapters.http.exchange.hosts import base_of_company, company_of_host
from adapters.http.exchange.problems import ProblemError
from adapters.http.exchange.session_tokens import new_session
from adapters.http.sign_in.id_tokens import Identity
from adapters.http.sign_in.invitations import find_invited, link
from adapters.http.sign_in.issuer_sign_in import (
    CALLBACK_PATH,
    FLOW_SECONDS,
    Flow,
    IssuerSignInError,
    begin,
    company_with_issuer,
    finish,
    issuer_name_of,
    read_flow,
    use_flow,
)
from adapters.http.sign_in.sessions import count_attempt, needs_issuer
from schemas.records import Record, User

BEGIN = f"{SIGN_IN}/issuer"
INVITATION = f"{HOME}/invitation"

NEXT_LENGTH_MAX = 500
"""Of the path that a sign-in leads on to: a longer one would make a cookie that browsers drop."""

UNKNOWN = "No user of this company signs in with this identity. Ask a superuser for an invitation, and follow its link."
DISABLED = "This user is disabled. Ask a superuser of your company."
OTHER_USER = "Another user of this company signs in with this identity. Use another account of the identity provider."
USED = "This invitation was used meanwhile. Sign in, or ask for another one."
NOT_YET = "The identity is being linked. Sign in with it in a moment."

Found = tuple[Record, User]


async def begin_sign_in(visit: Visit) -> Reply:
    """Send a browser to the identity provider of a company: that of the host, of an invitation, or the one that is named."""
    check_encrypted(visit.request)
    _limit_rate(visit)
    invitation = visit.form.get("invitation", "")
    try:
        company_id = (await _invited(visit, invitation))[0].company_id if invitation else _company_id(visit)
        _check_address(visit, company_id)
        path = safe_path(visit.form.get("next", ""))
        next_path = path if len(path) <= NEXT_LENGTH_MAX else HOME
        begun = await begin(visit.services, company_id, next_path=next_path, invitation=invitation)
    except IssuerSignInError as error:
        return _refused(visit, error)
    visit.cookies.append(write_flow_cookie(visit.request, begun.cookie, FLOW_SECONDS))
    return visit.page("to_issuer.html", url=begun.url, issuer_name=begun.issuer_name)


async def come_back(visit: Visit) -> Reply:
    """Sign in who comes back from the identity provider; by an invitation, link the identity first."""
    if not visit.query:
        return visit.go_to(SIGN_IN)  # a person who opens the address by hand
    _limit_rate(visit)
    services = visit.services
    visit.cookies.append(write_flow_cookie(visit.request, "", 0))
    counted = await count_attempt(services, "address", f"address/{client_of(visit.address)}")
    try:
        sealed, state = read_cookie(visit.request, FLOW), str(visit.query.get("state", ""))
        flow = read_flow(services.settings.secret_key, sealed, state)
        await use_flow(services, flow, visit.request_id)
        identity = await finish(services, flow, visit.query)
        found = await (_linked(visit, flow, identity) if flow.invitation else _known(visit, flow, identity))
    except IssuerSignInError as error:
        return _refused(visit, error)
    session, token = new_session(*found)
    await services.sign_ins.open(session)
    await services.sign_ins.take_attempt_back(counted)
    visit.cookies.append(write_cookie(visit.request, SESSION, token))
    return visit.page("from_issuer.html", next=flow.next_path)


async def show_invitation(visit: Visit) -> Reply:
    """Say how the user of an invitation may sign in: by an identity provider, a password, or either."""
    _limit_rate(visit)
    record, user = await _invited(visit, visit.form.get("token", ""))
    company = company_with_issuer(visit.services, record.company_id)
    content = {
        "issuer_name": None if company is None else issuer_name_of(company),
        "takes_password": not needs_issuer(visit.services, record.company_id, user),
    }
    return Reply(content=content, headers=HEADERS)


async def _known(visit: Visit, flow: Flow, identity: Identity) -> Found:
    """Return the active user who is linked to an identity. Raises `IssuerSignInError`."""
    await visit.services.authenticator.refresh()
    found = visit.services.source.rules.user_of_identity(flow.company_id, identity.sha256)
    if found is None:
        raise IssuerSignInError(UNKNOWN)
    if found[1].state != "active":
        raise IssuerSignInError(DISABLED)
    return found


async def _linked(visit: Visit, flow: Flow, identity: Identity) -> Found:
    """Link an identity to the user of an invitation, and return that user. Raises `IssuerSignInError`, `ProblemError`."""
    record, user = await _invited(visit, flow.invitation)
    if record.company_id != flow.company_id:
        raise IssuerSignInError(UNKNOWN)
    try:
        found = await link(visit.services, record, user, identity, request_id=visit.request_id, address=visit.address)
    except ProblemError as error:
        sentence = {"duplicate_value": OTHER_USER, "version_conflict": USED}.get(error.code)
        if sentence is None:
            raise
        raise IssuerSignInError(sentence) from error
    if found is None:
        raise IssuerSignInError(NOT_YET)
    return found


async def _invited(visit: Visit, token: str) -> Found:
    """Return the user of an invitation, at this host. Raises `ProblemError`."""
    return await find_invited(visit.services, token, address=visit.address, host_company_id=_host_company_id(visit))


def _host_company_id(visit: Visit) -> int | None:
    return company_of_host(visit.request.headers.get("host", ""), visit.services.settings.hosts)


def _company_id(visit: Visit) -> int:
    """Return the company of the host, or the one that the form names; 0 where that is no number."""
    host_id, named = _host_company_id(visit), visit.form.get("company_id", "").strip()
    is_number = named.isascii() and named.isdigit() and len(named) <= 16  # noqa: PLR2004 - digits of an id
    return host_id or (int(named) if is_number else 0)


def _check_address(visit: Visit, company_id: int) -> None:
    """Refuse to begin at another address than the provider sends browsers back to: the cookie would not be there."""
    base = base_of_company(visit.services.settings, company_id)
    if base and urlsplit(visit.request.headers.get("origin", "")).netloc.lower() != urlsplit(base).netloc.lower():
        raise IssuerSignInError(f"Open {base}{SIGN_IN} and sign in there: the identity provider leads back to that address.")


def _limit_rate(visit: Visit) -> None:
    allowance = visit.services.addresses.take("write", client_of(visit.address), visit.services.monotonic())
    if allowance is not None and not allowance.allowed:
        raise ProblemError("rate_limited", f"Try again in {allowance.retry_after_seconds} s.")


def _refused(visit: Visit, error: IssuerSignInError) -> Reply:
    return show_form(visit, 401, {"issuer_problem": str(error)})


PAGES: tuple[ConsolePage, ...] = (
    ConsolePage(path=BEGIN, handler=begin_sign_in, access="open", method="POST"),
    ConsolePage(path=CALLBACK_PATH, handler=come_back, access="open"),
    ConsolePage(path=INVITATION, handler=show_invitation, access="open", method="POST"),
)
