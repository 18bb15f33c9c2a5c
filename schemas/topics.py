"""Which topics are there, with which key and retention? One table; everything else reads it.

Every topic uses LogAppendTime. The partition count is fixed when topics are created: all topics marked `aligned` have the
same count, because the decisions of partition N are written to partitions N.
"""

from typing import Literal

from msgspec import Struct

DAY_MS = 24 * 60 * 60 * 1000

AUDIT_RETENTION_MS = 400 * DAY_MS
"""A little over a year, for complaints about the last year. An operator may keep more."""

TOMBSTONE_RETENTION_MS = 7 * DAY_MS
"""`delete.retention.ms` of the changelogs: a snapshot older than half of it may miss a tombstone and is not used."""


IMPRESSION_RETENTION_MS = 30 * DAY_MS
"""As long as a row of an impression is shown: a month of a campaign. They are the most records of all, and hold visitors."""


class Topic(Struct, frozen=True, kw_only=True):
    """One row: `retention_ms` is None where compaction decides."""

    name: str
    key: str
    content: str
    cleanup: Literal["delete", "compact"] = "delete"
    retention_ms: int | None = None
    aligned: bool = True


LEADS_INBOX = Topic(
    name="leads.inbox",
    key="any",
    content="what producers send; intake resolves the token, normalises and re-keys",
    retention_ms=30 * DAY_MS,
    aligned=False,
)
LEADS_INBOX_BULK = Topic(
    name="leads.inbox.bulk",
    key="any",
    content="the same of imports, whose leads may wait: intake takes it behind leads.inbox",
    retention_ms=30 * DAY_MS,
    aligned=False,
)
CONTACTS_REQUESTS = Topic(
    name="contacts.requests",
    key="contact",
    content="everything asked of the contact aggregate, outcomes and messages included",
    retention_ms=AUDIT_RETENTION_MS,
)
CONTACTS_DECISIONS = Topic(
    name="contacts.decisions",
    key="contact",
    content="one record per input: cause, facts, every change to state, reasons, hash chain",
    retention_ms=AUDIT_RETENTION_MS,
)
CONTACTS_STATE = Topic(
    name="contacts.state", key="entity", content="the changelog: the value after, and `__position__`", cleanup="compact"
)
ACCOUNTS_REQUESTS = Topic(
    name="accounts.requests",
    key="company",
    content="everything asked of the account aggregate",
    retention_ms=AUDIT_RETENTION_MS,
)
ACCOUNTS_DECISIONS = Topic(
    name="accounts.decisions",
    key="company",
    content="one record per input, as contacts.decisions",
    retention_ms=AUDIT_RETENTION_MS,
)
ACCOUNTS_STATE = Topic(name="accounts.state", key="entity", content="the changelog of the accounts", cleanup="compact")
ACCOUNTS_RULES = Topic(
    name="accounts.rules",
    key="record id + version",
    content="each version of each record that schedulers and intake need, with its account sequence number",
    cleanup="compact",
)
COMMANDS_CALL = Topic(name="commands.call", key="contact", content="calls to place, and fences", retention_ms=7 * DAY_MS)
COMMANDS_SMS = Topic(name="commands.sms", key="contact", content="texts to send, and fences", retention_ms=7 * DAY_MS)
COMMANDS_EMAIL = Topic(name="commands.email", key="contact", content="e-mails to send, and fences", retention_ms=7 * DAY_MS)
COMMANDS_WEBHOOK = Topic(
    name="commands.webhook", key="contact", content="webhooks to post, and fences", retention_ms=7 * DAY_MS
)
DEADLETTER = Topic(
    name="deadletter",
    key="original key",
    content="raw bytes, where they came from, and why",
    retention_ms=90 * DAY_MS,
)

IMPRESSIONS = Topic(
    name="impressions",
    key="company and visitor",
    content="pages that visitors saw; the projector shows them, and no aggregate decides them",
    retention_ms=IMPRESSION_RETENTION_MS + 5 * DAY_MS,
)
"""Held longer than its rows, so that a rebuild finds every row that is still shown."""

TOPICS: tuple[Topic, ...] = (
    LEADS_INBOX,
    LEADS_INBOX_BULK,
    CONTACTS_REQUESTS,
    CONTACTS_DECISIONS,
    CONTACTS_STATE,
    ACCOUNTS_REQUESTS,
    ACCOUNTS_DECISIONS,
    ACCOUNTS_STATE,
    ACCOUNTS_RULES,
    COMMANDS_CALL,
    COMMANDS_SMS,
    COMMANDS_EMAIL,
    COMMANDS_WEBHOOK,
    DEADLETTER,
    IMPRESSIONS,
)

INBOXES: tuple[Topic, ...] = (LEADS_INBOX, LEADS_INBOX_BULK)
"""The topics that producers write to; each of their partitions is a stream of its own."""


def inbox_of(*, is_bulk: bool) -> Topic:
    """Return the inbox that leads go to: that of imports, or the other one."""
    return LEADS_INBOX_BULK if is_bulk else LEADS_INBOX


COMMAND_TOPICS: dict[str, Topic] = {
    "call": COMMANDS_CALL,
    "sms": COMMANDS_SMS,
    "email": COMMANDS_EMAIL,
    "webhook": COMMANDS_WEBHOOK,
}

WRITTEN_WITH: dict[str, tuple[Topic, ...]] = {
    CONTACTS_REQUESTS.name: (CONTACTS_DECISIONS, CONTACTS_STATE, *COMMAND_TOPICS.values(), DEADLETTER),
    ACCOUNTS_REQUESTS.name: (ACCOUNTS_DECISIONS, ACCOUNTS_STATE, ACCOUNTS_RULES, DEADLETTER),
}
"""Requests topic -> all topics that its decisions may be written to, in partitions of the same number."""
