"""Which records of internal topics were skipped, and why? Counted, logged, and shown in `/readyz` until the restart.

Only leadclock writes to its internal topics. A record that it cannot read, or that does not belong there, must not stop a
process, but an operator must see it.
"""

import structlog
from msgspec import Struct

from adapters.observability.metrics import Metrics

REASON_LENGTH_MAX = 300

logger = structlog.get_logger(__name__)


class _Skipped(Struct):
    count: int
    last: str


class SkippedRecords:
    """What one process skipped: a metric, a log line, and one note for each topic."""

    def __init__(self) -> None:
        self._topics: dict[str, _Skipped] = {}
        self._metrics: Metrics | None = None

    def count_in(self, metrics: Metrics) -> None:
        """Count in the metrics of the process, including what was skipped before."""
        self._metrics = metrics
        for topic, found in self._topics.items():
            metrics.skipped.labels(topic).inc(found.count)

    def skip(self, topic: str, partition: int, offset: int, reason: str) -> None:
        """Count and log that the record at an offset is skipped."""
        reason = reason[:REASON_LENGTH_MAX]
        found = self._topics.setdefault(topic, _Skipped(0, ""))
        found.count += 1
        found.last = f"{topic}[{partition}] offset {offset}: {reason}"
        if self._metrics is not None:
            self._metrics.skipped.labels(topic).inc()
        logger.error("record.skipped", topic=topic, partition=partition, offset=offset, reason=reason)

    def notes(self) -> dict[str, str]:
        """Return one sentence for each topic: how many records were skipped, and the last one."""
        return {
            topic: f"{found.count} {'record was' if found.count == 1 else 'records were'} skipped, the last at {found.last}"
            for topic, found in self._topics.items()
        }
