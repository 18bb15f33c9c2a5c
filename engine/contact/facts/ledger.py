"""How often was this number contacted? An attempt is reserved with its command and given back if it reached no one.

Two counts: the lead's own (`max_contact_attempts`, reset by a restart) and the legal ledger of the number (never reset).
"""

from collections.abc import Mapping
from itertools import accumulate, pairwise
from operator import attrgetter

from engine.contact.facts.person import Person
from schemas.contact import Attempt, Flight, Head, Lead
from schemas.instant import DAY, EPOCH, SECOND, Instant, Millis
from schemas.law import CHANNELS
from schemas.outcomes import GATE_OUTCOMES, NOT_REACHED, OUTCOMES, Outcome

SAME_NUMBER_GUARD = 30 * SECOND
"""Between two calls to one number, whatever else allows one: a guard against duplicate dialling."""

LEDGER_FOR = 31 * DAY
"""How long an attempt stays in the state: as long as a cap may look back (`engine.law.caps.CAP_PERIOD_MAX`). The longest
period of the rule pack is 7 days (12 CFR 1006.14(b)(2)(i)(A)). The log keeps every attempt."""

LEDGER_MAX = 1_000
"""Attempts kept per number; no cap allows this many within a month."""

LEDGER_WHOLE_MAX = 32
"""Newest attempts that are kept with the id of their command: only these can be released or moved to their placement.
Of older ones the head keeps the instants alone (`Head.attempts_before`), some 9 bytes each."""


_at = attrgetter("at")


def attempts_of(head: Head) -> tuple[Attempt, ...]:
    """Return every attempt of a ledger, oldest first; the older ones have no command id."""
    if not head.attempts_before:
        return head.ledger
    before = [
        Attempt(at=EPOCH + since, kind=kind, command_id="")
        for kind, gaps in head.attempts_before.items()
        for since in accumulate(gaps)
    ]
    return (*sorted(before, key=_at), *head.ledger)


def reserve(person: Person, kind: str, command_id: str) -> None:
    """Add a call or text to the ledger of this number, as of its command."""
    head = person.head
    recent = [entry for entry in attempts_of(head)[-LEDGER_MAX + 1 :] if entry.at > person.now - LEDGER_FOR]
    _write(head, (*recent, Attempt(at=person.now, kind=kind, command_id=command_id)))
    if kind == "call":
        head.last_call_at = person.now
    person.save_head()


def release(person: Person, command_id: str) -> None:
    """Remove an attempt that reached no one from the ledger."""
    head = person.head
    if any(entry.command_id == command_id for entry in head.ledger):
        _write(head, tuple(entry for entry in attempts_of(head) if entry.command_id != command_id))
        person.save_head()


def compact(head: Head) -> None:
    """Store a ledger in as few bytes as possible."""
    _write(head, attempts_of(head)[-LEDGER_MAX:])


def _write(head: Head, attempts: tuple[Attempt, ...]) -> None:
    """Store the newest attempts whole, and of the others the instants by kind, delta-encoded."""
    head.ledger = attempts[-LEDGER_WHOLE_MAX:]
    before: dict[str, list[Instant]] = {}
    for entry in attempts[:-LEDGER_WHOLE_MAX]:
        before.setdefault(entry.kind, []).append(entry.at)
    head.attempts_before = {
        kind: (instants[0] - EPOCH, *(at - last for last, at in pairwise(instants))) for kind, instants in before.items()
    }


def give_back(lead: Lead, flight: Flight) -> None:
    """Subtract an attempt that does not count, unless it was made in an earlier run."""
    if flight.counted and flight.enrolment == lead.enrolment and lead.attempts > 0:
        lead.attempts -= 1


def is_at_limit(lead: Lead, limit: int | None) -> bool:
    """Return whether the lead has used all its attempts; its own maximum replaces `limit`, its schedule's."""
    most = lead.attempts_max if lead.attempts_max is not None else limit
    return most is not None and lead.attempts >= most


def guard_ends_at(head: Head, kind: str) -> Instant | None:
    """Return until when the number may not be called again, or None."""
    if kind != "call" or head.last_call_at is None:
        return None
    return head.last_call_at + SAME_NUMBER_GUARD


def spacing_ends_at(person: Person, kind: str, spacing: Mapping[str, Millis]) -> Instant | None:
    """Return until when the minimum spacing of a schedule forbids a contact, or None.

    `spacing` (`call`, `sms`, `email`, `any`: milliseconds) is between two of a kind, and between any two. No law counts
    e-mails, so no ledger holds them: each lead has the instant of its last.
    """
    if kind not in CHANNELS:
        return None
    made = [(entry.at, entry.kind) for entry in attempts_of(person.head)]
    if "email" in spacing or "any" in spacing:
        made += [(lead.last_email_at, "email") for lead in person.outlines() if lead.last_email_at is not None]
    alike = [at + spacing[kind] for at, made_kind in made if made_kind == kind] if kind in spacing else []
    others = [at + spacing["any"] for at, _ in made] if "any" in spacing else []
    return max((*alike, *others), default=None)


def move_to_placement(person: Person, command_id: str, at: Instant) -> None:
    """Move an attempt to the instant at which its call was placed: the law counts calls, not commands.

    Never earlier than its command, and never later than now.
    """
    head = person.head
    for place, entry in enumerate(head.ledger):
        if entry.command_id == command_id and entry.at < at <= person.now:
            moved = Attempt(at=at, kind=entry.kind, command_id=command_id)
            head.ledger = (*head.ledger[:place], moved, *head.ledger[place + 1 :])
            person.save_head()
            return


def row_of(kind: str, outcome: str) -> Outcome | None:
    """Return what an outcome counts for, or None where there is no such outcome of that kind."""
    return NOT_REACHED if outcome in GATE_OUTCOMES else OUTCOMES[kind].get(outcome)


def counts_legally(row: Outcome, *, rang: bool) -> bool:
    """Return whether the outcome stays in the ledger of the number."""
    return rang if row.counts_legal is None else row.counts_legal
