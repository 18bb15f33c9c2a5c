"""How does a person get into the console, and out? By password and code as a user, or by an operator key.

A session that has ended brings the person here, and back to the page that was asked for. `issuer_pages` has the way by an
identity provider.
"""

import re
from urllib.parse import unquote

from adapters.http.console.cookies import OPERATOR, SESSION, seal_operator, write_cookie
from adapters.http.console.origins import check_encrypted, is_loopback
from adapters.http.console.visits import ConsolePage, Visit
from adapters.http.exchange.access import read_credentials
from adapters.http.exchange.exchange import Reply
from adapters.http.exchange.hosts import company_of_host
from adapters.http.exchange.problems import ProblemError
from adapters.http.exchange.session_tokens import new_session
from adapters.http.sign_in.issuer_sign_in import company_with_issuer, issuer_name_of

HOME = "/console"
SIGN_IN = f"{HOME}/sign-in"

_PLAIN_PATH = re.compile(r"(?:/\w[\w.\- @+,:]*)+", re.ASCII)
"""A path after decoding: no segment of dots, by which a browser would leave it, and no further sign of encoding."""

_OWN_PATH = re.compile(r"/console(?:/[\w.%-]+)*(?:\?[\w.%&=+:,\[\]-]*)?", re.ASCII)
"""Where a sign-in may lead back to: nowhere but to our own pages."""

OPERATOR_KEY_WRONG = "This is no operator key of this deployment, or it was revoked."
FIELDS = ("email", "company_id")
"""What is shown again after a sign-in that failed."""


def safe_path(text: str) -> str:
    """Return a path of the console, or the first page for anything else."""
    path = unquote(text.partition("?")[0])
    is_own = _OWN_PATH.fullmatch(text) and _PLAIN_PATH.fullmatch(path)
    return text if is_own and not path.startswith(SIGN_IN) else HOME


async def show(visit: Visit) -> Reply:
    """Show the form."""
    return show_form(visit, 200, {})


async def sign_in(visit: Visit) -> Reply:
    """Sign a user in; wrong ones see the form again with what they typed, but for the secrets."""
    check_encrypted(visit.request)
    given = {name: visit.form.get(name, "") for name in (*FIELDS, "password", "code")}
    fields = {name: value for name, value in given.items() if value != ""}
    answer = await visit.call("create_session", fields)
    if answer.is_refused:
        visit.headers |= {"Retry-After": "30"} if answer.status == 429 else {}  # noqa: PLR2004 - a status by its number
        return show_form(visit, answer.status, {"problem": answer.content})
    visit.cookies.append(write_cookie(visit.request, SESSION, answer.content["session"]["token"]))
    return visit.go_to(safe_path(visit.form.get("next", "")))


async def sign_in_as_operator(visit: Visit) -> Reply:
    """Let an operator in by a key, which the browser holds encrypted."""
    check_encrypted(visit.request)
    public, private = read_credentials("", visit.form.get("operator_key", "").strip())
    services, address = visit.services, visit.address
    try:
        await services.operator_authenticator.authenticate(public, private, address=address)
    except ProblemError as error:
        if error.code != "unauthenticated":
            raise
        return show_form(visit, 401, {"operator_problem": OPERATOR_KEY_WRONG})
    sealed = seal_operator(services.settings.secret_key, public, private)
    visit.cookies.append(write_cookie(visit.request, OPERATOR, sealed))
    return visit.go_to(safe_path(visit.form.get("next", "")))


async def sign_in_with_one_click(visit: Visit) -> Reply:
    """Sign in to the demo company of `leadclock up`, from the machine that it runs on. Raises `ProblemError` elsewhere."""
    demo = visit.services.settings.demo
    if demo is None or not is_loopback(visit.request):
        raise ProblemError("not_found", "There is no such page.")
    await visit.services.authenticator.refresh()
    found = visit.services.source.rules.user_named(demo.company_id, demo.email)
    if found is None:
        raise ProblemError("not_found", "The demo company has no demo user any more.")
    session, token = new_session(*found)
    await visit.services.sign_ins.open(session)
    visit.cookies.append(write_cookie(visit.request, SESSION, token))
    if demo.operator_key:
        public, private = read_credentials("", demo.operator_key)
        sealed = seal_operator(visit.services.settings.secret_key, public, private)
        visit.cookies.append(write_cookie(visit.request, OPERATOR, sealed))
    return visit.go_to(safe_path(visit.form.get("next", "")))


async def sign_out(visit: Visit) -> Reply:
    """End the session, and forget the operator key."""
    if visit.access is not None:
        await visit.call("delete_session")
    visit.cookies += [write_cookie(visit.request, name, "") for name in (SESSION, OPERATOR)]
    return visit.go_to(SIGN_IN)


def show_form(visit: Visit, status: int, more: dict[str, object]) -> Reply:
    """Return the page to sign in on, with what was typed but for the secrets, and what was wrong."""
    settings = visit.services.settings
    given = visit.form or visit.query
    values = {
        "next": safe_path(given.get("next", "")),
        "typed": {name: given.get(name, "") for name in FIELDS},
        "is_demo": settings.demo is not None and is_loopback(visit.request),
        "needs_company": not settings.hosts,
        "problem": None,
        "issuer_name": _issuer_name(visit, str(given.get("company_id", ""))),
        "issuer_problem": "",
        "operator_problem": "",
        "wants_operator": "operator" in given.get("for", ""),
    }
    return visit.page("sign_in.html", status=status, **{**values, **more})


def _issuer_name(visit: Visit, company_id: str) -> str:
    """Return what the button to the identity provider says: its name where the company is known; empty: no button."""
    services = visit.services
    known_id = company_of_host(visit.request.headers.get("host", ""), services.settings.hosts)
    if known_id is None and company_id.isascii() and company_id.isdigit():
        known_id = int(company_id[:16])
    if known_id is not None:
        company = company_with_issuer(services, known_id)
        return "" if company is None else issuer_name_of(company)
    records = services.source.rules.of_type("company")
    return "it" if any(company_with_issuer(services, record.id) is not None for record in records) else ""


PAGES: tuple[ConsolePage, ...] = (
    ConsolePage(path=SIGN_IN, handler=show, access="open"),
    ConsolePage(path=SIGN_IN, handler=sign_in, access="open", method="POST"),
    ConsolePage(path=f"{SIGN_IN}/operator", handler=sign_in_as_operator, access="open", method="POST"),
    ConsolePage(path=f"{SIGN_IN}/demo", handler=sign_in_with_one_click, access="open", method="POST"),
    ConsolePage(path=f"{HOME}/sign-out", handler=sign_out, access="either", method="POST"),
)
