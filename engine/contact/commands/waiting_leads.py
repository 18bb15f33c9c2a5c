"""Which leads that wait for a slot are known to the account? Of each queue the most urgent, at most as many as it has lines.

A queue is of one company, partition and choice of buyers or agents. Its other leads wait at its gate
(`engine.partition.timers`), in the order of their urgency, and cost nothing: the end of a request admits the next one. A
more urgent lead pre-empts the least urgent, whose request is withdrawn.

A refusal closes the queue. Until the cap resets or a record changes that the choice rests on, no lead sends a request but
one that tries in between; its grant opens the queue. The leads that wait decide nothing of that: the projection shows with
each of them what its queue waits for (`adapters.projector.postgres`).
"""

from hashlib import blake2b

from engine.contact.commands import buyers
from engine.contact.commands.buyers import BuyerChoice
from engine.contact.facts.person import Person
from engine.contact.timing.plan import RECHECK_LATEST, RECHECK_SOONEST
from engine.partition.draft import Draft
from schemas.contact import HEADS_MAX, Lead, OpenSlotRequest, OpenSlotRequests
from schemas.instant import HOUR, Instant
from schemas.state import ASKING_PREFIX, asking_key
from schemas.wire import to_json

NAME_BYTES = 8
"""Of the hash that names a queue in a partition: two of a million choices have the same with a chance of 10^-8."""

OPENED_AT_ONCE_MAX = 500
"""Queues that one adoption opens, some 100 bytes each. Where a company has more closed ones, their own timers open them."""

REMEMBERED_FOR = HOUR
"""How long a closed queue that nobody tries remembers that it was closed."""


def queue_of(person: Person, lead: Lead, choice: BuyerChoice) -> str:
    """Return the name of the queue of a lead: leads of one queue could be given the same slots."""
    excluded = buyers.excluded_buyers(person, lead, choice)
    return blake2b(to_json((choice, excluded)), digest_size=NAME_BYTES).hexdigest()


def load(draft: Draft, company_id: int, queue: str) -> OpenSlotRequests:
    """Return what is known of a queue."""
    found = draft.get(asking_key(company_id, queue), OpenSlotRequests)
    return OpenSlotRequests(company_id=company_id, queue=queue) if found is None else found


def store(draft: Draft, asking: OpenSlotRequests) -> None:
    """Store a queue, or delete one that is open and has no open requests."""
    key = asking_key(asking.company_id, asking.queue)
    if asking.open or asking.closed_at is not None:
        draft.put(key, asking)
    else:
        draft.remove(key)


def add(person: Person, asking: OpenSlotRequests, choice: BuyerChoice, own: OpenSlotRequest) -> None:
    """Add an open request to its queue."""
    asking.open = (*asking.open, own)
    asking.heads_max = min(HEADS_MAX, buyers.count_lines(person, choice, HEADS_MAX))
    store(person.draft, asking)


def remove(draft: Draft, company_id: int, queue: str | None, lead_id: int) -> None:
    """Remove an open request from its queue."""
    if queue is None or draft.get(asking_key(company_id, queue), OpenSlotRequests) is None:
        return
    asking = load(draft, company_id, queue)
    asking.open = tuple(asked for asked in asking.open if asked.lead_id != lead_id)
    if asking.is_tried and not asking.open:
        asking.opens_at = draft.now + REMEMBERED_FOR
    store(draft, asking)


def close(draft: Draft, company_id: int, queue: str, reason: str, until: Instant | None) -> None:
    """Close a queue after a refusal: until its cap resets, but one lead tries before, ever less often.

    The refusal may be older than a change of a record that has opened the queue.
    """
    asking, now = load(draft, company_id, queue), draft.now
    asking.closed_at = now if asking.closed_at is None else asking.closed_at
    tries_at = now + max(RECHECK_SOONEST, now - asking.closed_at)
    asking.opens_at = min(tries_at, now + RECHECK_LATEST) if until is None else max(now, min(tries_at, until))
    asking.closed_reason, asking.resets_at, asking.is_tried = reason, until, False
    store(draft, asking)


def open_wide(draft: Draft, company_id: int, queue: str) -> None:
    """Open a queue for all its leads: one of them got a slot."""
    if draft.get(asking_key(company_id, queue), OpenSlotRequests) is not None:
        asking = load(draft, company_id, queue)
        _open(asking)
        store(draft, asking)


def _open(asking: OpenSlotRequests) -> None:
    asking.closed_at = asking.closed_reason = asking.opens_at = asking.resets_at = None
    asking.is_tried = False


def open_for_one(draft: Draft, asking: OpenSlotRequests) -> None:
    """Let one lead of a closed queue try; its grant opens it for all. Open a queue that nobody has tried for long."""
    if asking.is_tried and not asking.open:
        _open(asking)
    else:
        asking.is_tried = True
        asking.opens_at = None if asking.open else draft.now + REMEMBERED_FOR
    store(draft, asking)


def end_walk(draft: Draft) -> None:
    """Drop the sorted keys of all queues; `wake_closed` is done."""
    draft.end_key_walk(ASKING_PREFIX)


def wake_closed(draft: Draft, company_id: int) -> None:
    """Open the closed queues of a company for one lead each: a record has changed that may have closed them."""
    prefix = last = asking_key(company_id, "")
    opened = 0
    while opened < OPENED_AT_ONCE_MAX and (key := draft.key_after(ASKING_PREFIX, last, prefix)) is not None:
        last = key
        asking = draft.get(key, OpenSlotRequests)
        if asking is not None and asking.is_shut:
            asking.opens_at = draft.now
            store(draft, asking)
            opened += 1
