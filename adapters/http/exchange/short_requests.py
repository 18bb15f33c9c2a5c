"""Do short requests come now? While they do, the thread that computes pauses between its slices.

A request is short until it waits for a slot of reports, reads a batch of an export, or its answer is streamed. A pause
costs as much as a slice, and more on a busy machine, so a thread that computes while nobody else asks must not pause.
"""

from collections.abc import Callable

RECENT_SECONDS = 0.25
"""How long after an answer the next short request is expected. It would find the thread in the middle of a slice, and the
database at work for the slices before: pauses that begin with the request come too late for it."""


class ShortRequests:
    """The short requests of this process. The event loop writes it; the thread that computes reads `are_expected`."""

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._monotonic = monotonic
        self._ids: set[str] = set()
        self._expected_until = float("-inf")

    def begin(self, request_id: str) -> None:
        """Count a request as short."""
        self._ids.add(request_id)

    def answer(self, request_id: str) -> None:
        """Record that a request was answered. One that turned out to be long announces no short one."""
        if request_id in self._ids:
            self._ids.remove(request_id)
            self._expected_until = self._monotonic() + RECENT_SECONDS

    def exclude(self, request_id: str) -> None:
        """Count a request as long from now on; a second time changes nothing."""
        self._ids.discard(request_id)

    @property
    def are_in_progress(self) -> bool:
        """Return whether any short request has no answer yet."""
        return bool(self._ids)

    def are_expected(self) -> bool:
        """Return whether any short request has no answer yet, or the last answer was a moment ago."""
        return bool(self._ids) or self._monotonic() < self._expected_until
