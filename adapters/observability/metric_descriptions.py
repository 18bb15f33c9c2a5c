"""What does each metric mean, who has it, and which values are healthy? One row each.

`deploy/docs/metrics.md` is generated from these rows and from the registered series (deploy/write_metrics.py).
"""

from collections.abc import Mapping

from msgspec import Struct


class MetricDescription(Struct, frozen=True):
    """A row: the roles that fill a series, its unit, what it means, and which values are healthy."""

    roles: tuple[str, ...]
    unit: str
    meaning: str
    healthy: str


DECIDERS = ("scheduler", "accounts")

METRICS: Mapping[str, MetricDescription] = {
    "leadclock_lag_records": MetricDescription(
        ("intake", *DECIDERS, "gateway"),
        "records",
        "Records of a topic that are appended and not handled yet, also while intake is held back. A scheduler, accounts or "
        "intake process that lost a partition keeps its last value until it ends.",
        "0 to a few hundred; 0 within a minute after a burst. An import waits in `leads.inbox.bulk` for its whole time",
    ),
    "leadclock_decisions": MetricDescription(
        DECIDERS,
        "decisions",
        "Inputs decided, by verdict: `done`, `refused` (the sender's fault), `repeated` (decided before) or `failed`.",
        "`failed` 0",
    ),
    "leadclock_commands_emitted": MetricDescription(
        ("scheduler",), "commands", "Calls, texts, e-mails and webhooks handed to gateways.", "follows your schedules"
    ),
    "leadclock_commit_seconds": MetricDescription(
        DECIDERS, "seconds", "Duration of one transaction on the brokers.", "p99 below 0.2 (a broker nearby: 0.01 to 0.05)"
    ),
    "leadclock_lateness_seconds": MetricDescription(
        ("scheduler",),
        "seconds of domain time",
        "From the instant at which a step was due to its command. Quiet hours, caps and pauses move the instant, so they "
        "are no lateness.",
        "p99 below 5; minutes after an outage",
    ),
    "leadclock_submit_to_command_seconds": MetricDescription(
        ("scheduler",),
        "seconds of domain time",
        "From the instant at which the API or intake read a submission to the commit of its lead's first command. Leads "
        "whose first step is not due at once (hours, a wait, a pause) do not count; a wait for a slot does.",
        "p99 below 5; with buyers, as long as they are busy",
    ),
    "leadclock_timers_pending": MetricDescription(
        DECIDERS,
        "timers",
        "Leads and records that wait for an instant. One that moved or ended counts until its former instant.",
        "follows the number of live leads",
    ),
    "leadclock_outbox_pending": MetricDescription(
        DECIDERS, "messages", "Messages to other partitions that are committed and not sent yet.", "below 500; 0 at rest"
    ),
    "leadclock_partitions_fenced": MetricDescription(
        DECIDERS,
        "partitions",
        "Partitions taken by a newer owner while this process still held them.",
        "a few when processes change",
    ),
    "leadclock_restores": MetricDescription(
        DECIDERS,
        "restores",
        "Partitions restored when they were assigned, by source: a snapshot, or the changelog alone.",
        "one for each partition when processes come and go; mostly from snapshots where there is a state folder",
    ),
    "leadclock_restore_seconds": MetricDescription(DECIDERS, "seconds", "Duration of one restore.", "below 30"),
    "leadclock_skipped_records": MetricDescription(
        (*DECIDERS, "intake", "projector", "gateway", "deliverer", "api"),
        "records",
        "Records of internal topics that could not be read, and were skipped.",
        "0",
    ),
    "leadclock_dead_letters": MetricDescription(
        ("intake", *DECIDERS, "gateway"), "records", "Records put on `deadletter`, by the topic that they came from.", "0"
    ),
    "leadclock_commands_received": MetricDescription(
        ("gateway",), "commands", "Commands that a gateway read and queued.", "as `leadclock_commands_emitted_total`"
    ),
    "leadclock_outcomes": MetricDescription(
        ("gateway",),
        "outcomes",
        "What came of commands, by channel and outcome. `unknown`: nobody can say; `failed`: the provider or its settings.",
        "`unknown` below 1 %, `failed` below 5 %",
    ),
    "leadclock_dispatch_lateness_seconds": MetricDescription(
        ("gateway",),
        "seconds of domain time",
        "From the instant before which a command must not be carried out to the call of its provider.",
        "p99 below 5",
    ),
    "leadclock_commands_out_of_order": MetricDescription(
        ("gateway",),
        "commands",
        "Commands that were not carried out, because something was decided again: a state was lost, or is old.",
        "0",
    ),
    "leadclock_contact_holds": MetricDescription(
        ("gateway",), "holds", "Holds in force, of companies and of all: nobody is contacted whom one covers.", "0"
    ),
    "leadclock_projector_lag_records": MetricDescription(
        ("projector",), "records", "Decisions and impressions that are not in the database yet.", "below 1,000; 0 at rest"
    ),
    "leadclock_projected_rows": MetricDescription(
        ("projector",), "rows", "Rows written to the read schema.", "follows the decisions"
    ),
    "leadclock_opt_out_reviews": MetricDescription(
        ("projector",),
        "contacts",
        "Opt-outs of all companies that wait for somebody who says what was meant, counted each minute, by reason: "
        "`unread_number` (its number could not be read, so nobody is stopped by it) or `unclear_text`. Every projector "
        "counts all of them: take the maximum, not the sum.",
        "`unread_number` 0 at the end of each day",
    ),
    "leadclock_deliverer_lag_records": MetricDescription(
        ("deliverer",),
        "records",
        "Decisions not looked at for events of subscriptions yet.",
        "below 1,000; 0 at rest",
    ),
    "leadclock_subscription_attempts": MetricDescription(
        ("deliverer",),
        "attempts",
        "Attempts to post an event: `delivered`, `retried` (it will be posted again) or `failed` (given up).",
        "`failed` 0; `retried` while a receiver is away",
    ),
    "leadclock_http_requests": MetricDescription(
        ("api",), "requests", "Requests answered, by method, operation and status.", "5xx below 0.1 %"
    ),
    "leadclock_http_request_duration_seconds": MetricDescription(
        ("api",), "seconds", "From a request to its answer, without event streams.", "p99 below 1 (reports: below 5)"
    ),
    "leadclock_http_event_streams": MetricDescription(
        ("api",), "streams", "Event streams of pages of agents that are open.", "below 400, the most of one process"
    ),
    "leadclock_http_page_streams": MetricDescription(
        ("api",), "streams", "Pages of the console that follow changes.", "below 300, the most of one process"
    ),
    "leadclock_public_floods": MetricDescription(
        ("api",),
        "floods",
        "Requests without a key about a hundred persons or more in a minute, by one token; each doubling counts again. "
        "The log names token, addresses and form (`public_requests.flood`).",
        "0",
    ),
}
"""Series, without the suffix of counters -> its description."""
