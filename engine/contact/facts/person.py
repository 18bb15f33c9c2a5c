"""What does one decision read and change of one contact? Its head, leads and calls; changes are written once, at the end."""

from collections.abc import Callable, Iterable, Iterator
from hashlib import blake2b
from itertools import islice
from typing import TypeVar

from engine.law.company import law_of
from engine.law.pack import CompiledRulePack
from engine.limits import RECORD_BYTES_MAX
from engine.partition.draft import Draft, RefusedError, RepeatedError
from schemas.account import Seen
from schemas.contact import LIVE_STATUSES, Call, Head, Lead, LeadOutline
from schemas.envelope import Envelope
from schemas.instant import DAY, SECOND, Instant
from schemas.state import call_key, head_key, lead_key, seen_of_contact_key
from schemas.wire import to_json

E = TypeVar("E", Lead, Call)

Outline = Lead | LeadOutline
"""What is only read: of a lead that this decision has not read whole, some fields."""

SEEN_FOR = DAY
"""How long the id of a request is remembered: a repeat within this time changes nothing."""

SEEN_INLINE_MAX = 32
"""Request ids in a head, which is written with almost every decision. Further ones are stored in 16 values of their own."""

SEEN_APART_MAX = 64
"""Ids in one of these values, some 1,000 a contact: more requests about one person in a day come from a fault. The oldest
is dropped first."""

LEADS_LISTED_MAX = 200
"""Leads that a head lists. One more drops the oldest ended one from the list; its own key still finds it. Where all are live
it is refused (`too_many_leads`): each listed lead adds to the size of every decision."""

LEADS_AT_ONCE_MAX = 100
BYTES_AT_ONCE_MAX = RECORD_BYTES_MAX // 4
"""Leads of one contact that one decision changes, so that its record stays within the size limit of a message. Later ticks
change the others."""


class Person:
    """The contact of one decision.

    `ends_leads_later`: a stop changes the head alone (`requests/fallback_stop.py`). `sweep_key`: due leads wait until this
    sweep has visited every lead (`lifecycle/replan.py`). `has_turn`: the queue of due timers chose this lead.
    `hold_is_unread`: a gateway returned a command for a hold that this partition has not adopted yet.
    """

    ends_leads_later: bool = False
    sweep_key: str | None = None
    has_turn: bool = False
    hold_is_unread: bool = False
    _law: CompiledRulePack | None = None

    def __init__(self, draft: Draft, company_id: int, contact_key: str) -> None:
        self.draft = draft
        self.now = draft.now
        self.rules = draft.rules
        self.company_id = company_id
        self.key = contact_key
        self._head_key = head_key(contact_key)
        self.head = draft.get(self._head_key, Head) or Head(company_id=company_id, contact_key=contact_key)
        self._saved: dict[str, Head | Lead | Call] = {}
        self._outlines: dict[str, LeadOutline | None] = {}
        self.hung_up: set[int] = set()
        """Calls whose end this decision has ordered."""

    @property
    def law(self) -> CompiledRulePack:
        """The rules of the law that hold for this company now."""
        law = self._law
        if law is None:
            law = self._law = law_of(self.rules, self.company_id)
        return law

    def lead(self, lead_id: int) -> Lead | None:
        """Return a lead of this contact, or None."""
        key = lead_key(lead_id)
        saved = self._saved.get(key)
        lead = saved if isinstance(saved, Lead) else self.draft.get(key, Lead)
        return lead if lead is not None and lead.contact_key == self.key else None

    def outlines(self) -> Iterator[Outline]:
        """Iterate over the leads of the contact, newest first, without reading their data: 200 leads may have 50 MB."""
        for lead_id in reversed(self.head.lead_ids):
            outline = self._outline(lead_id)
            if outline is not None:
                yield outline

    def whole(self, outlines: Iterable[Outline]) -> Iterator[Lead]:
        """Iterate over the leads of which these are outlines; each is read when it is asked for."""
        return (lead for outline in outlines if (lead := self.lead(outline.id)) is not None)

    def leads(self, where: Callable[[Outline], bool]) -> Iterator[Lead]:
        """Iterate over the leads of the contact that fit now, newest first."""
        return self.whole([outline for outline in self.outlines() if where(outline)])

    def live_leads(self, where: Callable[[Outline], bool] = lambda _: True) -> Iterator[Lead]:
        """Iterate over the live leads that fit now, newest first."""
        return self.whole(self.live_outlines(where))

    def live_outlines(self, where: Callable[[Outline], bool] = lambda _: True) -> list[Outline]:
        """Return the live leads that fit now, newest first, without reading their data."""
        return [outline for outline in self.outlines() if outline.status in LIVE_STATUSES and where(outline)]

    def newest_lead(self) -> Lead | None:
        """Return the newest live lead, else the newest."""
        return next(self.live_leads(), None) or next(self.leads(lambda _: True), None)

    def _outline(self, lead_id: int) -> Outline | None:
        key = lead_key(lead_id)
        if key in self._saved or self.draft.has_read(key):
            return self.lead(lead_id)
        if key not in self._outlines:
            self._outlines[key] = self.draft.stored_outline(key, LeadOutline)
        outline = self._outlines[key]
        return outline if outline is not None and outline.contact_key == self.key else None

    def call(self, call_id: int | None) -> Call | None:
        """Return a call of this contact, or None."""
        if call_id is None:
            return None
        key = call_key(call_id)
        saved = self._saved.get(key)
        call = saved if isinstance(saved, Call) else self.draft.get(key, Call)
        return call if call is not None and call.contact_key == self.key else None

    def add(self, lead: Lead) -> None:
        """List a new lead. Raises `RefusedError` too_many_leads where the list is full of live ones."""
        if len(self.head.lead_ids) >= LEADS_LISTED_MAX and not self.make_room():
            detail = f"This person has {LEADS_LISTED_MAX} live leads, which is the most."
            raise RefusedError("too_many_leads", f"{detail} End or delete some and resend.")
        self.head.lead_ids = (*self.head.lead_ids, lead.id)
        self.save_head()
        self.save(lead)

    def make_room(self) -> bool:
        """Drop the oldest ended leads from the list until one more fits; return False where there are not enough."""
        head = self.head
        excess = len(head.lead_ids) - LEADS_LISTED_MAX + 1
        if excess <= 0:
            return True
        left_out = set(islice(self._ended_ids(), excess))
        head.sweep_from -= sum(lead_id in left_out for lead_id in head.lead_ids[: head.sweep_from])
        head.lead_ids = tuple(lead_id for lead_id in head.lead_ids if lead_id not in left_out)
        self.save_head()
        return len(left_out) == excess

    def _ended_ids(self) -> Iterator[int]:
        """Iterate over the listed leads that have ended and await no outcome, oldest first."""
        for lead_id in self.head.lead_ids:
            lead = self._outline(lead_id)
            if lead is None or (lead.status not in LIVE_STATUSES and lead.flight is None):
                yield lead_id

    def remove_lead(self, lead: Lead) -> None:
        """Remove a lead that was deleted or moved to another contact."""
        self.head.lead_ids = tuple(lead_id for lead_id in self.head.lead_ids if lead_id != lead.id)
        self.head.sweep_from = max(0, self.head.sweep_from - 1)
        self.save_head()
        self._saved.pop(lead_key(lead.id), None)
        self.draft.remove(lead_key(lead.id))

    def save(self, lead: Lead) -> None:
        """Note that a lead was changed; `put` writes it."""
        self._saved[lead_key(lead.id)] = lead

    def save_call(self, call: Call) -> None:
        """Note that a call was made or changed; `put` writes it."""
        self._saved[call_key(call.id)] = call

    def remove_call(self, call: Call) -> None:
        """Remove a deleted call."""
        self._saved.pop(call_key(call.id), None)
        self.draft.remove(call_key(call.id))

    def changes_others_than(self, lead: Lead) -> bool:
        """Return whether this decision changes other leads, or calls."""
        return any(entity is not lead and entity is not self.head for entity in self._saved.values())

    def save_head(self) -> None:
        """Note that the head was changed; `put` writes it."""
        self._saved[self._head_key] = self.head

    def put(self) -> None:
        """Write the changes into the draft: the version of an entity rises once a decision."""
        for entity in self._saved.values():
            entity.version += 1
            if isinstance(entity, Lead):
                entity.updated_at = self.now
                entity.wake_at = wake_at(entity)
            elif isinstance(entity, Call):
                entity.updated_at = self.now
        self.draft.put_all(self._saved)

    def refuse_repeated(self, envelope: Envelope) -> None:
        """Refuse a repeated request (deduplication by id). Raises `RepeatedError`.

        The runner deduplicates numbered streams; a producer's own id within one is remembered here as well.
        """
        if envelope.stream is not None and envelope.id == f"{envelope.stream}/{envelope.number}":
            return
        self.refuse_repeated_id(envelope.source, envelope.id)

    def refuse_repeated_id(self, source: str, name: str) -> None:
        """Refuse what came before under this name, and remember the name. Raises `RepeatedError`."""
        seen = self.head.seen
        mark = blake2b(f"{source}\n{name}".encode(), digest_size=8).hexdigest()
        key = seen_of_contact_key(self.key, mark)
        apart = self.draft.get(key, Seen) if self.head.version else None  # a new contact has no stored ids
        at = seen.get(mark) or (None if apart is None else apart.ids.get(mark))
        since = self.now - SEEN_FOR
        if at is not None and at > since:
            raise RepeatedError
        _forget(seen, since)
        if len(seen) < SEEN_INLINE_MAX:
            seen[mark] = self.now
            self.save_head()
            return
        apart = apart or Seen(company_id=self.company_id)
        _forget(apart.ids, since, most=SEEN_APART_MAX - 1)
        apart.ids[mark] = self.now
        self.draft.put(key, apart)


def _forget(seen: dict[str, Instant], since: Instant, *, most: int | None = None) -> None:
    """Drop expired request ids, and the oldest beyond `most`."""
    for old in [mark for mark, at in seen.items() if at <= since]:
        del seen[old]
    for old in list(seen)[: 0 if most is None else max(0, len(seen) - most)]:
        del seen[old]


def is_on_schedule(outline: Outline) -> bool:
    """Return whether a lead is on a schedule."""
    return outline.schedule_id is not None


def has_no_flight(outline: Outline) -> bool:
    """Return whether no command of a lead is open."""
    return outline.flight is None


def bounded_batch(entities: Iterable[E], *, growth: int = 0) -> Iterator[E]:
    """Yield as many leads or calls as one decision may change, each `growth` bytes larger; at least one."""
    size = 0
    for number, entity in enumerate(entities):
        size += len(to_json(entity)) + growth
        if number and (number >= LEADS_AT_ONCE_MAX or size > BYTES_AT_ONCE_MAX):
            return
        yield entity


def wake_at(lead: Lead) -> Instant | None:
    """Return when the timer of a lead fires: timeout of an outcome or slot, next action, or expiry; None for never."""
    if lead.flight is not None:
        return lead.flight.due_at
    if lead.status not in LIVE_STATUSES:
        return None
    # Asked for every lead that is put: plain comparisons cost a fifth of a list and its least.
    due_at = _next_look_at(lead) if lead.slot_id is None else lead.slot_due_at
    expires_at, disposition_due_at = lead.expires_at, lead.disposition_due_at
    if expires_at is not None and not lead.ending and (due_at is None or expires_at < due_at):
        due_at = expires_at
    if disposition_due_at is not None and (due_at is None or disposition_due_at < due_at):
        due_at = disposition_due_at
    return due_at


def _next_look_at(lead: Lead) -> Instant | None:
    if lead.recheck_at is None and lead.held_at is not None and lead.status_wait in PAUSES:
        return None
    return lead.next_action_at if lead.recheck_at is None else lead.recheck_at


ON_HOLD = "on_hold"
"""The wait of a due lead whose contact a hold forbids (`schemas.records.ContactHold`)."""

PAUSES = frozenset({"company_paused", "offer_paused", "schedule_paused", ON_HOLD})
"""Waits of a due lead that have no timer: the adoption of the rule that lifts the pause wakes it."""

RECHECK_AFTER = SECOND
"""After this a due lead is checked again that was held because requests are unread."""
