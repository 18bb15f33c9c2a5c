"""What is seen of each request? Figures, and a line of log where it failed or was slow; the rest share a line every 10 s.

Never a secret, never a whole telephone number.
"""

import re
from http import HTTPStatus

import structlog
from prometheus_client import CollectorRegistry, Counter, Histogram

from adapters.observability.event_counter import EventCounter

logger = structlog.get_logger(__name__)

SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)
"""Buckets from one indexed read to beyond the wait of a submission."""

PATH_LENGTH_MAX = 300
"""Characters of a path that are written down: all of any that we have, and of a made-up one as much as tells of it."""

SLOW_SECONDS = 1.0
"""A request that takes longer gets a line of its own, as one that failed does."""

FLOODS = frozenset({401, 429})
"""What a client without a valid key can cause as often as it likes: counted, and no line for each."""

METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
"""What is counted by its name. Anybody can make others up, and each would be kept as a figure of its own for good."""

_NUMBER = re.compile(r"(?:%2B|\+)?[0-9]{7,15}(?![0-9a-fA-F-])")
_EMAIL = re.compile(r"[^/@]+(?:@|%40)", re.IGNORECASE)
# Lead tokens stand in one path; whoever reads the log must not be able to submit with them. In others they are mistakes.
_TOKEN = re.compile(r"(?<=/leads/)[^/]+(?=/[^/]+/by_caller_number)|\b(?:lt|sk)_[\w-]+")


def mask_path(path: str) -> str:
    """Return a path without lead tokens, e-mail names, and all but the last two digits of numbers."""
    # Cut first: to look for names in 60,000 characters without an end takes seconds, in which nobody else is answered.
    path = _TOKEN.sub("***", path[:PATH_LENGTH_MAX])
    path = _EMAIL.sub("***@", path)
    return _NUMBER.sub(lambda found: "***" + found[0][-2:], path)


class RequestMetrics:
    """The log line and the figures of one process's HTTP interface."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._requests = Counter(
            "leadclock_http_requests",
            "HTTP requests answered",
            ("method", "operation", "status"),
            registry=registry,
        )
        self._seconds = Histogram(
            "leadclock_http_request_duration_seconds",
            "Wall time from request to answer",
            ("method", "operation"),
            buckets=SECONDS,
            registry=registry,
        )
        self._kinds: dict[tuple[str, str, int], tuple[Counter, Histogram]] = {}
        self._tally = EventCounter("requests.answered")

    def _series(self, method: str, operation: str, status: int) -> tuple[Counter, Histogram]:
        """Return where a kind of answer is counted; the library looks the labels up for longer than it counts."""
        kind = (method, operation, status)
        found = self._kinds.get(kind)
        if found is None:
            of_kind = self._requests.labels(method, operation, str(status)), self._seconds.labels(method, operation)
            found = self._kinds[kind] = of_kind
        return found

    def close(self) -> None:
        """Log what was not logged yet."""
        self._tally.flush()

    def record_answer(
        self, *, operation: str, method: str, path: str, status: int, seconds: float, request_id: str, company_id: int | None
    ) -> None:
        """Note an answer."""
        method = method if method in METHODS else "other"
        counter, histogram = self._series(method, operation, status)
        counter.inc()
        histogram.observe(seconds)
        self._tally.note(f"{operation} {status}")
        is_remarkable = (status >= HTTPStatus.BAD_REQUEST and status not in FLOODS) or seconds >= SLOW_SECONDS
        (logger.info if is_remarkable else logger.debug)(
            "request.answered",
            method=method,
            path=mask_path(path),
            status=status,
            ms=round(seconds * 1000, 1),
            operation=operation,
            request_id=request_id,
            company_id=company_id,
        )
