"""What does a test of the console in a browser run on? A deployment that is served on loopback, and the system's Chromium.

A page that runs a script of another, logs an error or is refused something fails its test, unless the test expects that.
"""

import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Dialog,
    Page,
    Response,
    ViewportSize,
    async_playwright,
    expect,
)

from adapters.http.server import serving
from tests.adapters.http.conftest import WAIT_SECONDS, Company, Town
from tests.adapters.http.console_browser import PASSWORD, invite
from tests.adapters.http.test_console_changes import all_closed
from tests.adapters.http.test_operator import PRIVATE, operator_of

ROOT = Path(__file__).parents[4]
AXE = (Path(__file__).parent / "axe/axe-4.14.1.min.js").read_text("utf-8")
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]

WAIT_MILLISECONDS = WAIT_SECONDS * 1_000

DESK = ViewportSize(width=1280, height=900)
TELEPHONE = ViewportSize(width=390, height=844)

WATCH = """
window.violations = [];
document.addEventListener("securitypolicyviolation", (event) =>
  window.violations.push(`${event.violatedDirective} ${event.blockedURI} ${event.sourceFile}:${event.lineNumber}`));
"""
"""Runs before any script of a page."""

LEFT_OUT = "-m 'not browser'"
NO_BROWSER = f"Run `make browser`, which installs the Chromium that this test needs, or leave such tests out by {LEFT_OUT}."

ARGUMENTS = [
    "--no-sandbox",  # Chromium has none where it runs as root, as CI does
    "--disable-dev-shm-usage",  # a container's shared memory is too small for it
    "--disable-gpu",
]


def find_browser() -> str:
    """Return the path of the system's Chromium, or fail the test in one sentence."""
    found = subprocess.run([ROOT / "deploy/browser.sh", "--find"], capture_output=True, text=True, check=False)
    if found.returncode != 0:
        pytest.fail(NO_BROWSER, pytrace=False)
    return found.stdout.strip()


class Window:
    """One browser window of one person, and what went wrong in it."""

    def __init__(self, context: BrowserContext, page: Page, base: str, faults: list[str] | None = None) -> None:
        self.context = context
        self.page = page
        self.base = base
        self.faults: list[str] = [] if faults is None else faults
        """Errors of all tabs. A test that expects some reads and clears them."""
        self.dialogs: list[str] = []
        """What the page asked. A test says in `agrees` whether the person agrees."""
        self.agrees = True
        self._watch(page)

    async def tab(self) -> "Window":
        """Return another tab of the same person."""
        return Window(self.context, await self.context.new_page(), self.base, self.faults)

    async def open(self, path: str) -> Page:
        """Open a page of the console, and wait until its scripts have run."""
        await self.page.goto(self.base + path, wait_until="load")
        return self.page

    async def sign_in(self, company: Company, email: str) -> None:
        """Sign in as a person does; a page that was wanted is opened then."""
        page = self.page
        if "/console/sign-in" not in page.url:
            await self.open("/console/sign-in")
        await page.get_by_label("Company number").fill(str(company.id))
        await page.get_by_label("E-mail address").fill(email)
        await page.get_by_label("Password").fill(PASSWORD)
        await page.get_by_role("button", name="Sign in").click()
        await expect(page.get_by_role("button", name="Sign out")).to_be_visible()

    async def sign_in_as_operator(self, town: Town) -> str:
        """Let the person in as an operator as well; return the public half of the key."""
        operator = await operator_of(town)
        await self.open("/console/sign-in?for=operator")
        await self.page.get_by_label("Operator key").fill(f"{operator.public_key}.{PRIVATE}")
        await self.page.get_by_role("button", name="Use this key").click()
        await expect(self.page.get_by_role("button", name="Sign out")).to_be_visible()
        return operator.public_key

    async def axe(self) -> list[str]:
        """Return the violations of WCAG 2.2 AA that axe finds on the open page."""
        await self.page.evaluate(AXE)
        found = await self.page.evaluate(
            "(rules) => axe.run(document, {runOnly: rules, resultTypes: ['violations']})", RULES
        )
        return [
            f"{one['id']}: {one['help']}: {node['html'][:160]} {node['failureSummary'][:200]}"
            for one in found["violations"]
            for node in one["nodes"][:3]
        ]

    async def violations(self) -> list[str]:
        """Return what the content security policy of the open page has blocked."""
        found: list[str] = await self.page.evaluate("window.violations")
        return found

    def _watch(self, page: Page) -> None:
        page.set_default_timeout(WAIT_MILLISECONDS)
        page.on("console", self._log)
        page.on("pageerror", lambda error: self.faults.append(f"script: {error}"))
        page.on("response", self._answered)
        page.on("dialog", self._dialog)

    def expected(self, text: str) -> None:
        """Clear the errors, of which one must have a text."""
        assert any(text in fault for fault in self.faults), self.faults
        self.faults.clear()

    def _log(self, message: ConsoleMessage) -> None:
        if message.type == "error":
            self.faults.append(f"console: {message.text} {message.location.get('url', '')}")

    def _answered(self, response: Response) -> None:
        if response.status >= 400:
            self.faults.append(f"{response.status} {response.url}")

    async def _dialog(self, dialog: Dialog) -> None:
        self.dialogs.append(dialog.message)
        await (dialog.accept() if self.agrees else dialog.dismiss())


class Windows:
    """Opens windows of the one browser."""

    def __init__(self, browser: Browser, base: str) -> None:
        self._browser = browser
        self.base = base

    @asynccontextmanager
    async def new(self, **settings: Any) -> AsyncIterator[Window]:
        """A window without cookies; nothing is signed in."""
        context = await self._browser.new_context(viewport=DESK, **settings)
        try:
            await context.add_init_script(WATCH)
            context.set_default_timeout(WAIT_MILLISECONDS)
            window = Window(context, await context.new_page(), self.base)
            yield window
            assert window.faults == []
        finally:
            await context.close()

    @asynccontextmanager
    async def of(self, company: Company, email: str = "ada@example.com", **team: Any) -> AsyncIterator[Window]:
        """A window in which a new user of a company is signed in, in a team of its own."""
        await invite(company, email, **team)
        async with self.new() as window:
            await window.sign_in(company, email)
            yield window


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def chromium() -> AsyncIterator[Browser]:
    """The system's Chromium, one process for the files of a worker."""
    path = find_browser()
    expect.set_options(timeout=WAIT_MILLISECONDS)
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=path, args=ARGUMENTS)
        yield browser
        await browser.close()


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def town(own_town: Town) -> Town:
    """Alone: open pages hold streams, which a deployment that stands still between files would break."""
    return own_town


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def windows(town: Town, chromium: Browser) -> AsyncIterator[Windows]:
    """The console of a deployment on a port of loopback, for the tests of a file."""
    async with serving(town.app, host="127.0.0.1", port=0) as port:
        yield Windows(chromium, f"http://127.0.0.1:{port}")
        await all_closed(town)
