"""Is anything lost or doubled? One row per promise: what it says, what was expected, what was found."""

from collections.abc import Iterable, Sequence

from msgspec import Struct

from deploy.proof.evidence import Evidence, stuck
from schemas.contact import LIVE_STATUSES
from schemas.instant import Instant
from schemas.topics import LEADS_INBOX

SHOWN_MAX = 3
"""Examples of what is wrong: the first few suffice."""

FENCE = "fence/"
"""Fences are no commands to act: one may be written several times, under the same id."""


class VerdictRow(Struct, frozen=True, kw_only=True):
    """One promise; `examples` are of what breaks it."""

    promise: str
    expected: int
    found: int
    examples: tuple[str, ...] = ()

    @property
    def holds(self) -> bool:
        """Whether it is kept."""
        return self.expected == self.found


class Accepted(Struct, kw_only=True):
    """What the log acknowledged: ids of good submissions, and bad records by place."""

    ids: set[str]
    bad: dict[tuple[int, int], bytes | None]
    records: int


def judge(accepted: Accepted, found: Evidence, prefix: str, now: Instant, *, over_http: int = 0) -> list[VerdictRow]:
    """Compare what was accepted with what was decided; `over_http` more leads came another way."""
    contacts = found.contacts
    leads = contacts.leads()
    once = {id_ for id_, count in contacts.submissions.items() if count == 1}
    inbox = prefix + LEADS_INBOX.name
    dead = [(partition, offset, value) for topic, partition, offset, value in found.dead if topic == inbox]
    dead_letters = {(partition, offset): value for partition, offset, value in dead}
    return [
        VerdictRow(promise="records on the inboxes", expected=accepted.records, found=found.inbox_end),
        row("submissions decided exactly once", accepted.ids, once & accepted.ids),
        VerdictRow(promise="other submissions", expected=over_http, found=len(once - accepted.ids)),
        VerdictRow(promise="leads", expected=len(accepted.ids) + over_http, found=len(leads)),
        VerdictRow(
            promise="people with a lead", expected=len(leads), found=len({one.contact_key for one in leads.values()})
        ),
        *judge_log(found, now),
        row("bad records dead-lettered", accepted.bad.keys(), dead_letters.keys()),
        none(
            "dead letters with other bytes",
            (str(place) for place, value in dead_letters.items() if accepted.bad.get(place) != value),
        ),
    ]


def judge_log(found: Evidence, now: Instant) -> list[VerdictRow]:
    """Return what holds of a log at rest whatever was put on it."""
    contacts = found.contacts
    leads = contacts.leads()
    undecided = {p: end for p, end in found.requests_end.items() if end and contacts.inputs.get(p, -1) + 1 != end}
    ordered = {id_: named[-1].digest for id_, named in contacts.emitted.items() if not id_.startswith(FENCE)}
    return [
        none("requests without a decision", (f"partition {p} before {end}" for p, end in undecided.items())),
        none("submissions decided twice", (id_ for id_, count in contacts.submissions.items() if count > 1)),
        none(
            "decisions that failed",
            ["failed"] * contacts.verdicts["failed"] + ["failed"] * found.accounts.verdicts["failed"],
        ),
        row("commands, as decided", ordered, found.commands),
        none("decisions that do not follow the one before", contacts.broken + found.accounts.broken),
        none("command ids on the log twice", (_doubled(found, id_) for id_, at in found.commands.items() if len(at) > 1)),
        none(
            "commands with other bytes",
            (id_ for id_, places in found.commands.items() if ordered.get(id_) != places[-1].digest),
        ),
        none("leads that nothing will move", (str(one.id) for one in leads.values() if stuck(one, now))),
        none("leads that wait for a command", (str(one.id) for one in leads.values() if one.flight is not None)),
        none("slots that are held", (one.resource for one in found.accounts.slots().values() if one.in_use or one.waiting)),
    ]


def _doubled(found: Evidence, id_: str) -> str:
    """Return what the log holds of a command that the log has twice."""
    return f"{id_}: records {found.commands[id_]}, decided in {found.contacts.emitted.get(id_)}"


def live_count(found: Evidence) -> int:
    """Return how many leads are still on their way."""
    return sum(lead.status in LIVE_STATUSES for lead in found.contacts.leads().values())


def row(promise: str, expected: Iterable[object], found: Iterable[object]) -> VerdictRow:
    """Compare two sets."""
    wanted, had = set(expected), set(found)
    examples = [f"missing {one}" for one in wanted - had] + [f"unexpected {one}" for one in had - wanted]
    count = len(had) if len(had) != len(wanted) or not examples else len(wanted & had)
    return VerdictRow(promise=promise, expected=len(wanted), found=count, examples=tuple(examples[:SHOWN_MAX]))


def none(promise: str, offenders: Iterable[str]) -> VerdictRow:
    """Promise that there are none of these."""
    found = list(offenders)
    return VerdictRow(promise=promise, expected=0, found=len(found), examples=tuple(found[:SHOWN_MAX]))


def table(rows: Sequence[VerdictRow]) -> str:
    """Return the rows as text, with examples below what is broken."""
    width = max(len(one.promise) for one in rows)
    lines = [f"{'':{width}}  {'expected':>10} {'found':>10}"]
    for one in rows:
        lines.append(f"{one.promise:{width}}  {one.expected:>10,} {one.found:>10,}  {'yes' if one.holds else 'NO'}")
        lines += [f"    {example}" for example in one.examples if not one.holds]
    return "\n".join(lines)
