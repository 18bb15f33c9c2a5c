"""Is what the pages show of now? Where the projector stands still or is behind, each page says first of when it is.

All visitors share one question for a few seconds: it is about the deployment, and holds nothing of a company.
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress

from adapters.http.console.rendering import short_zone, show_span
from adapters.http.console.shared_answers import SHARED_SECONDS
from adapters.http.exchange.ports import DeploymentReads, Unshown
from adapters.reads.ports import ReadsUnavailableError
from engine.calendar import local_datetime
from engine.partition.ports import LogError
from schemas.instant import DAY, Instant

WAIT_SECONDS = 0.2
"""A page does not wait longer for it: it says what was known before, and learns the rest with its next part. A busy log may
take a second to answer, in which a page must be painted; where the log is away, leads can still be read."""


class Staleness:
    """Asks which decisions the pages lack, at most once in `SHARED_SECONDS`."""

    def __init__(self, deployment: DeploymentReads, monotonic: Callable[[], float]) -> None:
        self._deployment = deployment
        self._monotonic = monotonic
        self._asked_at = float("-inf")
        self._asking: asyncio.Task[None] | None = None
        self._known: Unshown | None = None

    async def look(self) -> Unshown | None:
        """Return which decisions the pages lack, as far as that is known."""
        now = self._monotonic()
        if self._asking is None and now - self._asked_at >= SHARED_SECONDS:
            self._asked_at = now
            self._asking = asyncio.create_task(self._renew(), name="ask how old the projection is")
        if (asking := self._asking) is not None:
            await asyncio.wait({asking}, timeout=max(0.0, self._asked_at + WAIT_SECONDS - now))
            if asking.done():
                asking.result()  # an error that is our own is not hidden
        return self._known

    async def _renew(self) -> None:
        try:
            with suppress(LogError, ReadsUnavailableError):  # `/readyz` and the page itself say so
                self._known = await self._deployment.unshown()
        finally:
            self._asking = None


def explain_unshown(unshown: Unshown | None, now: Instant, zone: str) -> str:
    """Return of when the pages are, and why; empty where they are of now."""
    if unshown is None:
        return ""
    age = max(0, now - unshown.decided_at)
    local = local_datetime(unshown.decided_at, zone)
    at = f"{local:{'%-d %b, %H:%M' if age > DAY else '%H:%M'}} {short_zone(local)}"
    begins = f"What you see is as of {at} ({show_span(age)} ago): the projector"
    if unshown.is_standing:
        return (
            f"{begins} stands still: it does not run, or hangs. Leads are decided, called and texted as ever; the pages "
            "show it once `leadclock projector` runs again."
        )
    return f"{begins} is behind. Leads are decided, called and texted as ever; the pages catch up by themselves."
