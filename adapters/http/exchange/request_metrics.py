"""What do metrics and log show of each request? Counts and durations; a log line if it failed or was slow.

All other requests share a log line every 10 s. No line has a secret or a whole telephone number.
"""

import re
from http import HTTPStatus

import structlog
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from adapters.observability.event_counter import EventCounter

logger = structlog.get_logger(__name__)

SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)
"""Histogram buckets, from one indexed read to more than a submission waits."""

PATH_LENGTH_MAX = 300
"""Characters of a path that are logged: longer than any path of ours, and enough to recognise an invented one."""

SLOW_SECONDS = 1.0
"""A request that takes longer gets its own log line, like one that failed."""

FLOODS = frozenset({401, 429})
"""Statuses that a client without a valid key can cause at any rate: counted, without a log line for each."""

METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
"""Methods that are counted by name. A client can invent others, and each would stay as a metric series for good."""

_NUMBER = re.compile(r"(?:%2B|\+)?[0-9]{7,15}(?![0-9a-fA-F-])")
_EMAIL = re.compile(r"[^/@]+(?:@|%40)", re.IGNORECASE)
# Three paths have a token, and a reader of the log must not be able to use it. In other paths one is a mistake.
_TOKEN = re.compile(
    r"(?<=/leads/)[^/]+(?=/[^/]+/by_caller_number)|(?<=/unsubscribe/)[^/]+|(?<=/recordings/)[^/]+|\b(?:lt|sk)_[\w-]+"
)


def mask_path(path: str) -> str:
    """Return a path with tokens, e-mail names, and all but the last two digits of numbers masked."""
    # Cut first: the patterns take seconds on 60,000 characters, and no other request is answered meanwhile.
    path = _TOKEN.sub("***", path[:PATH_LENGTH_MAX])
    path = _EMAIL.sub("***@", path)
    return _NUMBER.sub(lambda found: "***" + found[0][-2:], path)


class RequestMetrics:
    """Metrics and log lines of the HTTP requests of one process."""

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
        self.event_streams = Gauge("leadclock_http_event_streams", "Event streams that are open", registry=registry)
        self.page_streams = Gauge(
            "leadclock_http_page_streams", "Pages of the console that follow changes", registry=registry
        )
        self.public_floods = Counter(
            "leadclock_public_floods", "Floods of requests without a key, by many persons of one token", registry=registry
        )
        self._series: dict[tuple[str, str, int], tuple[Counter, Histogram]] = {}
        self._tally = EventCounter("requests.answered")

    def _find_series(self, method: str, operation: str, status: int) -> tuple[Counter, Histogram]:
        """Return the metric series of a kind of answer, cached: the library takes longer to find one than to count."""
        kind = (method, operation, status)
        found = self._series.get(kind)
        if found is None:
            new = self._requests.labels(method, operation, str(status)), self._seconds.labels(method, operation)
            found = self._series[kind] = new
        return found

    def close(self) -> None:
        """Log the counts that are not logged yet."""
        self._tally.flush()

    def record_answer(
        self,
        *,
        operation: str,
        method: str,
        path: str,
        status: int,
        seconds: float,
        request_id: str,
        company_id: int | None,
        is_stream: bool = False,
    ) -> None:
        """Count an answer, and log it if it failed or was slow. A stream of events lasts as long as its page is open."""
        method = method if method in METHODS else "other"
        counter, histogram = self._find_series(method, operation, status)
        counter.inc()
        if not is_stream:
            histogram.observe(seconds)
        self._tally.note(f"{operation} {status}")
        is_slow = seconds >= SLOW_SECONDS and not is_stream
        is_remarkable = (status >= HTTPStatus.BAD_REQUEST and status not in FLOODS) or is_slow
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
