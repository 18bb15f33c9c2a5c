"""What does the code of a page see? A `Visit`: who is signed in, what the browser sent, the API's operations, and templates.

A `ConsolePage` is one row of the console: its path, its name in the navigation, and the operations that it needs. Who may
not call one of these does not see the page, and its path answers as if it were not there.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from functools import partial
from hashlib import sha256
from typing import Any, Literal, TypeVar, cast

from msgspec import Struct

from adapters.http.agents.events import EVENT_STREAM
from adapters.http.console.api_calls import REFUSED, ApiAnswer, ApiCalls, decode, is_granted_to
from adapters.http.console.origins import CSRF_HEADER, csrf_token, mask_token
from adapters.http.console.rendering import HEADERS, HTML, render
from adapters.http.console.shared_answers import SharedAnswers, sharing_key
from adapters.http.console.staleness import explain_unshown
from adapters.http.exchange.access import Access, forwarded_for
from adapters.http.exchange.exchange import HttpRequest, Reply, Services, zone_of
from adapters.http.exchange.operator_access import OperatorAccess
from adapters.http.exchange.page_changes import ChangeSource
from adapters.http.exchange.ports import Unshown
from adapters.http.exchange.problems import ProblemError
from schemas.errors import SenderError
from schemas.records import EVERY_COMPANY, Company

SEE_OTHER = 303

RECORDS_READ = 100
"""Rows of a list that are read for a menu, for names, or to find what is paused or full. The page of these records, or the
API, shows the others."""

OVER_RATE = 429

RATE_WAITS_MAX = 3
RATE_WAIT_SECONDS_MAX = 2
"""A page waits so often, and so long each time, for the rates of its company. Today asks for four reports, and a company has
five a second: without a wait two teams that open it together would see it without some of its parts."""

FIRST = "/console"
"""The path of the first page, with which every other begins."""

WHOLE = b"<!doctype html>"
"""How a page begins, and no part of one."""

CHANGES = "/changes"
"""Ending of the path at which a page follows the changes of its part."""

Fields = Mapping[str, Any]

WHO_LENGTH = 16
"""Digits of what tells users apart."""

T = TypeVar("T")


class ConsolePage(Struct, frozen=True, kw_only=True):
    """One route of the console.

    - `label`: its name in the navigation; empty: it is a part of a page, or is reached by a link.
    - `needs`: operations that the visitor must be granted, and of `needs_any`, where it names some, at least one.
    - `access`: who must be signed in: a user, an operator, either, or no one.
    - `changes`: what a part is about, of which the open page follows the changes, at the path of the part with `CHANGES`.
    """

    path: str
    handler: "PageHandler"
    label: str = ""
    needs: tuple[str, ...] = ()
    needs_any: tuple[str, ...] = ()
    access: Literal["user", "operator", "either", "open"] = "user"
    method: Literal["GET", "POST"] = "GET"
    changes: "Changes | None" = None

    def is_shown_to(self, access: Access | None, operator: OperatorAccess | None) -> bool:
        """Return whether somebody with these rights may open the page."""
        has_one = not self.needs_any or any(is_granted_to(name, access, operator) for name in self.needs_any)
        return has_one and all(is_granted_to(name, access, operator) for name in self.needs)


class ApiRefusedError(SenderError):
    """An operation that a page rests on was refused; the page shows the problem instead."""

    def __init__(self, reply: Reply) -> None:
        super().__init__(f"status {reply.status}")
        self.reply = reply


class Visit:
    """One request of a browser to the console."""

    def __init__(
        self,
        services: Services,
        request: HttpRequest,
        request_id: str,
        *,
        pages: Sequence[ConsolePage],
        shared: SharedAnswers,
    ) -> None:
        self.services = services
        self.request = request
        self.request_id = request_id
        self.access: Access | None = None
        self.operator: OperatorAccess | None = None
        self.credential = ""
        """The cookie that the visitor is known by."""
        self.query: Fields = {}
        self.form: Fields = {}
        self.headers: dict[str, str] = {}
        self.cookies: list[str] = []
        self.now = services.now()
        self.unshown: Unshown | None = None
        """Decisions that no page shows yet, because the projector does not run or is behind."""
        self.fresh_since = float("-inf")
        """Monotonic second before which no shared answer was begun that this visit may use."""
        self._calls = ApiCalls(services, request, request_id)
        self._pages = pages
        self._shared = shared

    @property
    def token(self) -> bytes:
        """Return the token that every change from a page of this visitor carries, masked."""
        return csrf_token(self.services.settings.secret_key, self.credential)

    @property
    def address(self) -> str:
        """Return the visitor's network address."""
        client = self.request.scope["client"]
        forwarded = forwarded_for(self.request.scope["headers"])
        return self.services.authenticator.address(client[0] if client else "", forwarded)

    @property
    def is_part(self) -> bool:
        """Return whether an open page asks: htmx, which puts the answer into it, or its stream."""
        headers = self.request.headers
        return headers.get("hx-request") == "true" or headers.get("accept") == EVENT_STREAM

    @property
    def zone(self) -> str:
        """Return the time zone in which instants are shown."""
        return "UTC" if self.access is None else zone_of(self.services.source.rules, self.access)

    def may(self, name: str) -> bool:
        """Return whether the visitor may call an operation: what it may not is not shown."""
        return is_granted_to(name, self.access, self.operator)

    def has_page(self, beginning: str) -> bool:
        """Return whether a page that the visitor may open has a path that begins so: what is not built is not linked."""
        return any(page.path.startswith(beginning) and self._is_reachable(page) for page in self._pages)

    async def call(
        self,
        name: str,
        fields: Fields | None = None,
        *,
        path: Fields | None = None,
        method: str = "",
        if_version: int | None = None,
    ) -> ApiAnswer:
        """Return what an operation answers, also where it refuses; its name is that of the OpenAPI document."""
        return decode(await self._run(name, fields, path, method, if_version))

    async def fetch(
        self, name: str, fields: Fields | None = None, *, path: Fields | None = None, method: str = ""
    ) -> Mapping[str, Any]:
        """Return what an operation answers. Raises `ApiRefusedError`, which becomes a page that says so."""
        reply = await self._run(name, fields, path, method)
        answer = decode(reply)
        if answer.is_refused:
            raise ApiRefusedError(reply)
        return answer.content

    async def ask(self, name: str, fields: Fields | None = None, *, path: Fields | None = None) -> Mapping[str, Any] | None:
        """Return what an operation answers to this visitor now; None where it refuses or is not granted."""
        if not self.may(name):
            return None
        answer = await self.call(name, fields, path=path)
        return None if answer.is_refused else answer.content

    async def look(self, name: str, fields: Fields | None = None, *, path: Fields | None = None) -> Mapping[str, Any] | None:
        """Return what an operation that changes nothing answered a moment ago; None where it refuses or is not granted.

        For pages that ask again and again: visitors with the same rights share the answer.
        """
        if not self.may(name):
            return None
        answer = await self._share(name, fields or {}, path)
        return None if answer.is_refused else answer.content

    async def fetch_shown(self, name: str, fields: Fields | None = None, *, path: Fields | None = None) -> Mapping[str, Any]:
        """Return what a page that renews itself rests on: as `fetch` for the page, a moment old for its renewal.

        So a page that follows a button shows its effect, and open pages share what they read.
        """
        if not self.is_part:
            return await self.fetch(name, fields, path=path)
        answer = await self._share(name, fields or {}, path)
        if answer.is_refused:
            raise ApiRefusedError(Reply(status=answer.status, content=answer.content))
        return answer.content

    async def _share(self, name: str, fields: Fields, path: Fields | None) -> ApiAnswer:
        host = self.request.headers.get("host", "")
        key = sharing_key(name, {**fields, **(path or {})}, self._sender_of(name), host=host, zone=self.zone)
        self._calls.note(name, path or {}, fields)
        return await self._shared.get(key, partial(self._ask, name, fields, path), since=self.fresh_since)

    @property
    def company_source(self) -> ChangeSource:
        """Return the source of pages about the whole company. Only pages of users use this."""
        return ChangeSource("company", 0 if self.access is None else self.access.company_id)

    def renew(self, source: ChangeSource) -> None:
        """Use no shared answer of before the last change that pages of a source were notified of."""
        self.fresh_since = self.services.page_changes.fresh_since(source)

    async def hold_until_answered(self, block: AbstractAsyncContextManager[T]) -> T:
        """Enter a context that is left when the answer ends, whether sent or aborted. Raises what entering raises."""
        held: AsyncExitStack = self.request.scope["state"].setdefault("held", AsyncExitStack())
        return await held.enter_async_context(block)

    async def _ask(self, name: str, fields: Fields, path: Fields | None) -> ApiAnswer:
        quiet = ApiCalls(self.services, self.request, self.request_id)
        ask = partial(quiet.run, name, sender=self._sender_of(name), path=path or {}, fields=fields)
        reply = await ask()
        for _ in range(RATE_WAITS_MAX):
            seconds = int(reply.headers.get("Retry-After", 0))
            if reply.status != OVER_RATE or not 0 < seconds <= RATE_WAIT_SECONDS_MAX:
                break
            await asyncio.sleep(seconds)
            reply = await ask()
        return decode(reply)

    async def pass_on(self, name: str, fields: Fields | None = None, *, path: Fields | None = None, suffix: str) -> Reply:
        """Return the answer of an operation as it is, such as a list as CSV."""
        return await self._calls.run(name, sender=self._sender_of(name), path=path or {}, fields=fields or {}, suffix=suffix)

    @staticmethod
    def raise_if_refused(reply: Reply) -> None:
        """Raise `ApiRefusedError` for the answer of an operation that was passed on and is a problem."""
        if reply.status >= REFUSED:
            raise ApiRefusedError(reply)

    @property
    def staleness(self) -> str:
        """Return of when the pages are, and why; empty where they are of now."""
        return explain_unshown(self.unshown, self.now, self.zone)

    def page(self, template: str, *, status: int = 200, **values: Any) -> Reply:
        """Return a page, or a part of one, made by a template. A part renews what its page says about its age."""
        csrf = mask_token(self.token)
        filled_in = {**self._common(), "csrf": csrf, **values}
        content = render(template, filled_in)
        if self.is_part and not content.startswith(WHOLE):
            content += render("staleness_part.html", {**filled_in, "is_renewed": True})
        headers = {**HEADERS, CSRF_HEADER: csrf, **self.headers}  # an open page goes on after a new sign-in by it
        return Reply(status=status, content=content, media_type=HTML, headers=headers)

    def go_to(self, path: str) -> Reply:
        """Return the answer that makes the browser load a page of the console."""
        if self.is_part:
            return Reply(content=b"", media_type=HTML, headers={**HEADERS, **self.headers, "HX-Redirect": path})
        return Reply(status=SEE_OTHER, headers={**HEADERS, **self.headers, "Location": path})

    async def _run(
        self, name: str, fields: Fields | None, path: Fields | None, method: str, if_version: int | None = None
    ) -> Reply:
        return await self._calls.run(
            name,
            sender=self._sender_of(name),
            path=path or {},
            fields=fields or {},
            method=method,
            if_version=if_version,
        )

    def _sender_of(self, name: str) -> Access | OperatorAccess | None:
        return self.operator if name.startswith("operator_") else self.access

    def _common(self) -> dict[str, Any]:
        """Return what every template may use."""
        services = self.services
        company_id = EVERY_COMPANY if self.access is None else self.access.company_id
        company = services.source.rules.body(Company, "company", company_id)
        path = self.request.scope["path"]
        return {
            "visit": self,
            "may": self.may,
            "now": self.now,
            "zone": self.zone,
            "speed": services.settings.speed,
            "company": company,
            "who": self._who,
            "user_email": None if self.access is None else self.access.user_email,
            "operator_name": None if self.operator is None else self.operator.name,
            "staleness": self.staleness,
            "api_calls": self._calls.made,
            "sandbox": services.served.last.sandbox,
            "contact_holds": services.source.rules.contact_holds(company_id),
            "navigation": [
                {
                    "label": page.label,
                    "path": page.path,
                    "is_current": path == page.path or (page.path != FIRST and path.startswith(f"{page.path}/")),
                }
                for page in self._pages
                if page.label and self._is_reachable(page)
            ],
        }

    @property
    def _who(self) -> str:
        """Return what tells one user from another to a browser, which holds what one has typed; empty for no user."""
        if self.access is None:
            return ""
        return sha256(f"{self.access.company_id} {self.access.user_email}".encode()).hexdigest()[:WHO_LENGTH]

    def _is_reachable(self, page: ConsolePage) -> bool:
        signed_in = {"user": self.access, "operator": self.operator, "either": self.access or self.operator, "open": True}
        return bool(signed_in[page.access]) and page.is_shown_to(self.access, self.operator)


def count_of(answer: Mapping[str, Any] | None) -> int | None:
    """Return how many rows a list has; None where that is not known, or there is no answer."""
    if answer is None:
        return None
    count: int | None = answer["metadata"].get("total_count")
    return count


def filled(shown: Fields, names: Iterable[str]) -> dict[str, Any]:
    """Return a record with None for each field that the visitor's teams hide."""
    return {**dict.fromkeys(names), **shown}


PageHandler = Callable[[Visit], Awaitable[Reply]]

Changes = Callable[[Visit], Awaitable[ChangeSource]]
"""Returns what a part is about, where the visitor may see that. Raises `ApiRefusedError`, `ProblemError`."""


async def company_changes(visit: Visit) -> ChangeSource:
    """Return the source of a part about the whole company."""
    return visit.company_source


def require_page(page: ConsolePage, visit: Visit) -> None:
    """Raise `ProblemError` not_found where the visitor's teams do not grant what a page needs."""
    if not page.is_shown_to(visit.access, visit.operator):
        raise ProblemError("not_found", "There is no such page, or no team of yours grants what it shows.")


def rows_of(content: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the rows of a list as an operation answers with it."""
    return cast("list[dict[str, Any]]", content[content["metadata"]["root"]])
