"""When does a browser show something of a page? The first contentful paint, as Chromium itself reports it.

Run as a program. Arguments: path of Chromium, address of the server, cookie, runs, paths of pages. Each page is opened by a
browser that has none of its files, and so long after the one before that no answer of that is used again. Prints a list of
milliseconds.
"""

import asyncio
import json
import sys

from playwright.async_api import Browser, async_playwright

from adapters.http.console.shared_answers import SHARED_SECONDS

ARGUMENTS = [
    "--no-sandbox",  # Chromium has none where it runs as root
    "--disable-dev-shm-usage",  # a container's shared memory is too small for it
    "--disable-gpu",
]

PAINTED = """
() => new Promise((resolve) => new PerformanceObserver((list) => {
  for (const entry of list.getEntries()) if (entry.name === "first-contentful-paint") resolve(entry.startTime);
}).observe({type: "paint", buffered: true}))
"""


async def paint(browser: Browser, address: str, cookie: str, path: str) -> float:
    """Return the milliseconds from the request of a page to its first contentful paint."""
    name, _, value = cookie.partition("=")
    context = await browser.new_context()
    try:
        await context.add_cookies([{"name": name, "value": value, "url": address}])
        page = await context.new_page()
        answer = await page.goto(address + path, wait_until="load")
        if answer is None or not answer.ok or not page.url.endswith(path):
            raise SystemExit(f"{path} was not shown: {page.url}")
        return float(await page.evaluate(PAINTED))
    finally:
        await context.close()


async def main(executable: str, address: str, cookie: str, runs: str, *paths: str) -> None:
    """Run as a program."""
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=executable, args=ARGUMENTS)
        await paint(browser, address, cookie, paths[0])  # not counted: the browser itself is loaded from the disk
        taken = []
        for _ in range(int(runs)):
            await asyncio.sleep(SHARED_SECONDS)
            taken += [await paint(browser, address, cookie, path) for path in paths]
        await browser.close()
    sys.stdout.write(json.dumps(taken) + "\n")


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
