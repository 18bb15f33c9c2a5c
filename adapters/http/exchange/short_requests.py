"""Which requests wait for the event loop now? While there are any, the thread that computes pauses between its slices.

A request is short until it waits for a slot of reports, reads a batch of an export, or its answer is streamed. A pause
costs as much as a slice, and more on a busy machine, so a thread that computes for nobody's delay must not pause.
"""


class ShortRequests:
    """The short requests of this process. The event loop writes it; the thread that computes reads `are_waiting`."""

    def __init__(self) -> None:
        self._ids: set[str] = set()

    def begin(self, request_id: str) -> None:
        """Count a request as short."""
        self._ids.add(request_id)

    def end(self, request_id: str) -> None:
        """Count a request as answered or as long; a second time changes nothing."""
        self._ids.discard(request_id)

    def are_waiting(self) -> bool:
        """Return whether any short request has no answer yet."""
        return bool(self._ids)
