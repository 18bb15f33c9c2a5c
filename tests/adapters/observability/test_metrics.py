"""Are the series there under names that stay, with labels that take few values?"""

from typing import Any

from prometheus_client.parser import text_string_to_metric_families

from adapters.observability.metrics import Metrics

SERIES = {
    "leadclock_lag_records": {"topic", "partition"},
    "leadclock_decisions": {"aggregate", "verdict"},
    "leadclock_commands_emitted": {"kind"},
    "leadclock_commit_seconds": {"aggregate"},
    "leadclock_lateness_seconds": {"kind"},
    "leadclock_submit_to_command_seconds": {"kind"},
    "leadclock_timers_pending": {"aggregate", "partition"},
    "leadclock_outbox_pending": {"aggregate", "partition"},
    "leadclock_partitions_fenced": {"aggregate"},
    "leadclock_restores": {"aggregate", "source"},
    "leadclock_restore_seconds": {"aggregate"},
    "leadclock_dead_letters": {"topic"},
    "leadclock_skipped_records": {"topic"},
    "leadclock_commands_received": {"kind"},
    "leadclock_outcomes": {"kind", "outcome"},
    "leadclock_dispatch_lateness_seconds": {"kind"},
    "leadclock_commands_out_of_order": {"kind"},
    "leadclock_contact_holds": set(),
    "leadclock_projector_lag_records": {"topic", "partition"},
    "leadclock_projected_rows": set(),
    "leadclock_opt_out_reviews": {"reason"},
    "leadclock_deliverer_lag_records": {"topic", "partition"},
    "leadclock_subscription_attempts": {"result"},
}
"""Dashboards and alerts name these: a change here is a change for every operator."""


def test_every_series_has_its_name_and_its_labels() -> None:
    registered: list[Any] = list(Metrics().registry._collector_to_names)

    assert {metric._name: set(metric._labelnames) for metric in registered} == SERIES


def test_what_is_counted_can_be_scraped() -> None:
    metrics = Metrics()
    metrics.outcomes.labels("call", "busy").inc()
    metrics.lag.labels("contacts.requests", "3").set(17)
    metrics.commit_seconds.labels("contacts").observe(0.007)

    families = {family.name: family for family in text_string_to_metric_families(metrics.text().decode())}

    assert families["leadclock_outcomes"].samples[0].labels == {"kind": "call", "outcome": "busy"}
    assert families["leadclock_lag_records"].samples[0].value == 17
    assert {
        sample.value for sample in families["leadclock_commit_seconds"].samples if sample.labels.get("le") == "0.01"
    } == {1}


def test_two_processes_in_one_do_not_meet() -> None:
    one, other = Metrics(), Metrics()
    one.received.labels("call").inc()

    assert b'leadclock_commands_received_total{kind="call"} 1.0' in one.text()
    assert b'kind="call"' not in other.text()
