"""Which metrics are there? The series of every role in one table; a process creates one `Metrics` and passes it on.

The HTTP interface adds its own to the same registry (adapters/http/exchange/request_metrics.py).

Labels take few values (kinds, verdicts, routes, partitions), never an id, a number or an address.
"""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4

COMMIT_SECONDS = (0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
"""Buckets around 7 ms (a small transaction on a broker nearby) up to the deadline of a commit."""

LATENESS_SECONDS = (0.1, 0.25, 0.5, 1.0, 2.0, 5.0, 15.0, 60.0, 300.0, 900.0, 3600.0, 14_400.0, 86_400.0)
"""From "at once" to a day: after an outage, late is measured in hours."""

FIRST_COMMAND_SECONDS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.0, 5.0, 15.0, 30.0, 60.0, 300.0, 900.0, 3600.0)
"""From a decision at once, to an hour of an outage."""

RESTORE_SECONDS = (0.1, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 300.0)

CONTENT_TYPE = CONTENT_TYPE_PLAIN_0_0_4


class Metrics:
    """The series of one process, in a registry of its own, so that tests and roles in one process do not share counters."""

    def __init__(self, registry: CollectorRegistry | None = None) -> None:
        self.registry = registry or CollectorRegistry()
        self._partitions()
        self._gateways()
        self._reads()
        self._subscriptions()

    def text(self) -> bytes:
        """Return the exposition format, to be served as `CONTENT_TYPE`."""
        return generate_latest(self.registry)

    def _partitions(self) -> None:
        self.lag = self._gauge("lag_records", "Records appended and not yet handled", "topic", "partition")
        self.decisions = self._counter("decisions", "Decisions committed", "aggregate", "verdict")
        self.emitted = self._counter("commands_emitted", "Commands committed by the scheduler", "kind")
        self.commit_seconds = self._histogram("commit_seconds", "One transaction", COMMIT_SECONDS, "aggregate")
        self.lateness = self._histogram(
            "lateness_seconds", "Domain time from next_action_at to the command", LATENESS_SECONDS, "kind"
        )
        self.first_command = self._histogram(
            "submit_to_command_seconds",
            "Domain time from a submission to the first command of its lead, if it was due at once",
            FIRST_COMMAND_SECONDS,
            "kind",
        )
        self.timers_pending = self._gauge(
            "timers_pending", "Timers set; one that moved or ended counts until its former instant", "aggregate", "partition"
        )
        self.outbox_pending = self._gauge("outbox_pending", "Messages not yet acknowledged", "aggregate", "partition")
        self.fenced = self._counter("partitions_fenced", "Partitions lost to a newer owner", "aggregate")
        self.restores = self._counter("restores", "Partitions restored, by source", "aggregate", "source")
        self.restore_seconds = self._histogram("restore_seconds", "One restore", RESTORE_SECONDS, "aggregate")
        self.skipped = self._counter("skipped_records", "Records of internal topics skipped as unreadable", "topic")
        self.dead_letters = self._counter("dead_letters", "Records sent to the dead-letter topic", "topic")

    def _gateways(self) -> None:
        self.received = self._counter("commands_received", "Commands that a gateway read and queued", "kind")
        self.outcomes = self._counter("outcomes", "Outcomes recorded by a gateway", "kind", "outcome")
        self.dispatch_lateness = self._histogram(
            "dispatch_lateness_seconds", "Domain time from not_before to the call of the provider", LATENESS_SECONDS, "kind"
        )

        self.out_of_order = self._counter(
            "commands_out_of_order", "Commands whose decision is lower than that of one before them", "kind"
        )
        self.contact_holds = self._gauge("contact_holds", "Holds in force that a gateway obeys")

    def _reads(self) -> None:
        self.projector_lag = self._gauge(
            "projector_lag_records", "Decisions and impressions not yet projected", "topic", "partition"
        )
        self.projected = self._counter("projected_rows", "Rows written to the read schema")
        self.opt_out_reviews = self._gauge("opt_out_reviews", "Opt-outs that wait for a review", "reason")

    def _subscriptions(self) -> None:
        self.deliverer_lag = self._gauge("deliverer_lag_records", "Decisions not yet read for events", "topic", "partition")
        self.events_sent = self._counter("subscription_attempts", "Attempts to post an event", "result")

    def _gauge(self, name: str, meaning: str, *labels: str) -> Gauge:
        return Gauge(f"leadclock_{name}", meaning, labels, registry=self.registry)

    def _counter(self, name: str, meaning: str, *labels: str) -> Counter:
        return Counter(f"leadclock_{name}", meaning, labels, registry=self.registry)

    def _histogram(self, name: str, meaning: str, buckets: tuple[float, ...], *labels: str) -> Histogram:
        return Histogram(f"leadclock_{name}", meaning, labels, registry=self.registry, buckets=buckets)
