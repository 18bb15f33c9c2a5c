"""What does a test send as a browser does? Cookies, the Origin of the page, and the token that the page holds."""

import re
from typing import Any

import httpx

from tests.adapters.http.conftest import WAIT_SECONDS, Company, Town

ORIGIN = "https://leadclock.test"
PASSWORD = "correct horse battery staple"
TOKEN = re.compile(r'X-CSRF-Token": "([0-9a-f]+)"')

READER = {"lead": {"actions": ["read"]}}


class Browser:
    """A browser at the console: its cookies live as long as it does."""

    def __init__(self, town: Town) -> None:
        self.client = httpx.AsyncClient(
            timeout=WAIT_SECONDS,
            transport=httpx.ASGITransport(app=town.app, raise_app_exceptions=False),  # type: ignore[arg-type]
            base_url=ORIGIN,
            follow_redirects=False,
        )
        self.csrf = ""

    async def get(self, path: str, **more: Any) -> httpx.Response:
        answer = await self.client.get(path, **more)
        found = TOKEN.search(answer.text)
        self.csrf = found[1] if found else self.csrf
        return answer

    async def post(
        self, path: str, fields: dict[str, Any] | None = None, *, headers: dict[str, str] | None = None
    ) -> httpx.Response:
        given = {"Origin": ORIGIN, "X-CSRF-Token": self.csrf, **(headers or {})}
        return await self.client.post(path, data=fields or {}, headers={key: value for key, value in given.items() if value})

    async def sign_in(self, company: Company, email: str, **fields: Any) -> httpx.Response:
        given = {"company_id": company.id, "email": email, "password": PASSWORD, **fields}
        return await self.post("/console/sign-in", given)


async def invite(company: Company, email: str, **team: Any) -> None:
    """Make a user with a password, in a team of its own; without arguments the team is of superusers."""
    await company.record("users", {"name": email.partition("@")[0], "email": email, "password": PASSWORD})
    given = team or {"superuser": True}
    await company.record("access_control_lists", {"name": f"Team of {email}", "users_emails": [email], **given})


async def visitor(town: Town, company: Company, email: str = "ada@example.com", **team: Any) -> Browser:
    """Return a browser in which a new user of a company is signed in."""
    await invite(company, email, **team)
    browser = Browser(town)
    answer = await browser.sign_in(company, email)
    assert answer.status_code == 303, answer.text
    await browser.get("/console")
    return browser
