"""What does somebody see who opens the console? Pages in the system's Chromium: the first sentence, and the window."""

import asyncio
import subprocess
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from playwright.async_api import Browser, BrowserContext, Page, ViewportSize, async_playwright

from deploy.proof.processes import DeploymentError
from deploy.proof.situations.company import COMPANY_ID, Manager

ROOT = Path(__file__).parents[3]
WINDOW = ViewportSize(width=1280, height=800)
"""What a manager sees without scrolling, on a small laptop."""

ARGUMENTS = ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"]
"""Chromium has no sandbox where it runs as root, and needs neither a graphics card nor much shared memory."""

PAGE_MILLISECONDS = 30_000
LOOK_SECONDS = 1.0
FIRST = "main .says"
"""The first box of a page with a sentence in it, whatever it says."""

TODAY, DIALLING = "/console", "/console/dialling"
PAGES = {TODAY: "today", DIALLING: "dialling"}
"""What a page is called in the names of pictures."""


class Viewer:
    """Somebody who is signed in, with one tab."""

    def __init__(self, name: str, url: str, page: Page) -> None:
        self.name = name
        self._url = url
        self._page = page

    async def first_sentence(self, path: str) -> str:
        """Open a page, and return what it says first."""
        await self._page.goto(self._url + path, wait_until="load")
        first = self._page.locator(FIRST).first
        return (await first.inner_text()).strip() if await first.count() else ""

    async def until_first(self, path: str, words: Sequence[str], seconds: float) -> str:
        """Look at a page again and again until it says these words first; return what it said at the end."""
        deadline = time.monotonic() + seconds
        while True:
            said = await self.first_sentence(path)
            if all(one in said for one in words) or time.monotonic() > deadline:
                return said
            await asyncio.sleep(LOOK_SECONDS)

    async def until_gone(self, path: str, words: str, seconds: float) -> bool:
        """Look at a page again and again until it does not say these words at all; return whether it came to that."""
        deadline = time.monotonic() + seconds
        while True:
            await self._page.goto(self._url + path, wait_until="load")
            if words not in await self._page.locator("main").inner_text():
                return True
            if time.monotonic() > deadline:
                return False
            await asyncio.sleep(LOOK_SECONDS)

    async def photograph(self, path: Path) -> None:
        """Write a picture of the window as it is, without scrolling."""
        await self._page.screenshot(path=path)


@asynccontextmanager
async def viewers(url: str, manager: Manager) -> AsyncIterator[list[Viewer]]:
    """Yield a manager, and a manager who is an operator too. Raises `DeploymentError` where there is no Chromium."""
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=_chromium(), args=ARGUMENTS)
        try:
            yield [await _sign_in(browser, url, manager, is_operator=is_operator) for is_operator in (False, True)]
        finally:
            await browser.close()


async def _sign_in(browser: Browser, url: str, manager: Manager, *, is_operator: bool) -> Viewer:
    context: BrowserContext = await browser.new_context(viewport=WINDOW)
    context.set_default_timeout(PAGE_MILLISECONDS)
    page = await context.new_page()
    await page.goto(f"{url}/console/sign-in")
    await page.get_by_label("Company number").fill(str(COMPANY_ID))
    await page.get_by_label("E-mail address").fill(manager.email)
    await page.get_by_label("Password").fill(manager.password)
    await page.get_by_role("button", name="Sign in").click()
    await page.get_by_role("button", name="Sign out").wait_for()
    if is_operator:
        await page.goto(f"{url}/console/sign-in?for=operator")
        await page.get_by_label("Operator key").fill(manager.operator_key)
        await page.get_by_role("button", name="Use this key").click()
        await page.get_by_role("button", name="Sign out").wait_for()
    return Viewer("operator" if is_operator else "manager", url, page)


def _chromium() -> str:
    found = subprocess.run([ROOT / "deploy/browser.sh", "--find"], capture_output=True, text=True, check=False)  # noqa: S603
    if found.returncode != 0:
        raise DeploymentError("no Chromium is on the PATH: run `make browser`")
    return found.stdout.strip()
