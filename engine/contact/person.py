"""What does one decision know and touch of one contact? Its head, leads and calls; what was kept is put once, at the end."""

from collections.abc import Iterable, Iterator
from hashlib import blake2b
from typing import TypeVar

from engine.law.company import law_of
from engine.law.pack import RulePack
from engine.partition.draft import Draft, RepeatedError
from schemas.contact import LIVE_STATUSES, Call, Head, Lead
from schemas.envelope import Envelope
from schemas.instant import DAY, SECOND, Instant
from schemas.requests import SlotAnswered
from schemas.state import call_key, head_key, lead_key
from schemas.topics import RECORD_BYTES_MAX
from schemas.wire import to_pack

E = TypeVar("E", Lead, Call)

SEEN_FOR = DAY
"""How long the id of a request is remembered (design.md section 4)."""

SEEN_MAX = 1_000
"""Ids remembered per contact: more requests about one person in a day come from a fault; the oldest is forgotten first."""

LEADS_LISTED_MAX = 2_000
"""Leads that a head lists: beyond them, ended ones are left out, oldest first, and are found by their own key alone."""

LEADS_AT_ONCE_MAX = 100
BYTES_AT_ONCE_MAX = RECORD_BYTES_MAX // 4
"""Leads of one contact that one decision changes, so that its record stays small enough to be written, as JSON with all
the data of each; more are left to later ticks (design.md section 3)."""


class Person:
    """The contact of one decision.

    `grant` is the slot that was just given, to be used or given back; `source` where the base of the last plan came from.
    """

    grant: SlotAnswered | None = None
    source: str | None = None
    _law: RulePack | None = None

    def __init__(self, draft: Draft, company_id: int, contact_key: str) -> None:
        self.draft = draft
        self.now = draft.now
        self.rules = draft.rules
        self.company_id = company_id
        self.key = contact_key
        self._head_key = head_key(contact_key)
        self.head = draft.get(self._head_key, Head) or Head(company_id=company_id, contact_key=contact_key)
        self._kept: dict[str, Head | Lead | Call] = {}

    @property
    def law(self) -> RulePack:
        """The rules of the law that hold for this company now."""
        law = self._law
        if law is None:
            law = self._law = law_of(self.rules, self.company_id)
        return law

    def lead(self, lead_id: int) -> Lead | None:
        """Return a lead of this contact, or None."""
        key = lead_key(lead_id)
        kept = self._kept.get(key)
        lead = kept if isinstance(kept, Lead) else self.draft.get(key, Lead)
        return lead if lead is not None and lead.contact_key == self.key else None

    def leads(self) -> Iterator[Lead]:
        """Iterate over the leads of the contact, newest first."""
        for lead_id in reversed(self.head.lead_ids):
            lead = self.lead(lead_id)
            if lead is not None:
                yield lead

    def live_leads(self) -> Iterator[Lead]:
        """Iterate over the leads that are still on their way, newest first."""
        return (lead for lead in self.leads() if lead.status in LIVE_STATUSES)

    def call(self, call_id: int | None) -> Call | None:
        """Return a call of this contact, or None."""
        if call_id is None:
            return None
        key = call_key(call_id)
        kept = self._kept.get(key)
        call = kept if isinstance(kept, Call) else self.draft.get(key, Call)
        return call if call is not None and call.contact_key == self.key else None

    def add(self, lead: Lead) -> None:
        """Take a lead in: one that was made or one that moved here."""
        head = self.head
        if len(head.lead_ids) >= LEADS_LISTED_MAX:
            oldest = self.lead(head.lead_ids[0])
            if oldest is not None and oldest.status not in LIVE_STATUSES:
                head.lead_ids = head.lead_ids[1:]
                head.sweep_from = max(0, head.sweep_from - 1)
        head.lead_ids = (*head.lead_ids, lead.id)
        self.keep_head()
        self.keep(lead)

    def drop(self, lead: Lead) -> None:
        """Let a lead go: it was deleted, or it moved to another contact."""
        self.head.lead_ids = tuple(lead_id for lead_id in self.head.lead_ids if lead_id != lead.id)
        self.head.sweep_from = max(0, self.head.sweep_from - 1)
        self.keep_head()
        self._kept.pop(lead_key(lead.id), None)
        self.draft.remove(lead_key(lead.id))

    def keep(self, lead: Lead) -> None:
        """Remember that a lead was changed."""
        self._kept[lead_key(lead.id)] = lead

    def keep_call(self, call: Call) -> None:
        """Remember that a call was made or changed."""
        self._kept[call_key(call.id)] = call

    def drop_call(self, call: Call) -> None:
        """Let a call go: it was deleted."""
        self._kept.pop(call_key(call.id), None)
        self.draft.remove(call_key(call.id))

    def keep_head(self) -> None:
        """Remember that the head was changed."""
        self._kept[self._head_key] = self.head

    def put(self) -> None:
        """Write what was kept into the draft: one rise of the version per entity and decision."""
        for entity in self._kept.values():
            entity.version += 1
            if isinstance(entity, Lead):
                entity.updated_at = self.now
                entity.wake_at = wake_at(entity)
            elif isinstance(entity, Call):
                entity.updated_at = self.now
        self.draft.put_all(self._kept)

    def see(self, envelope: Envelope) -> None:
        """Refuse a request that came before. Raises `RepeatedError`.

        Numbered streams are the runner's to refuse; a producer's own id within one is remembered here all the same.
        """
        if envelope.stream is not None and envelope.id == f"{envelope.stream}/{envelope.number}":
            return
        self.see_id(envelope.source, envelope.id)

    def see_id(self, source: str, name: str) -> None:
        """Refuse what came before under this name. Raises `RepeatedError`."""
        seen = self.head.seen
        mark = blake2b(f"{source}\n{name}".encode(), digest_size=8).hexdigest()
        at = seen.get(mark)
        if at is not None and at > self.now - SEEN_FOR:
            raise RepeatedError
        forgotten = [old for old, at in seen.items() if at <= self.now - SEEN_FOR]
        forgotten += list(seen)[len(forgotten) : max(0, len(seen) - SEEN_MAX + 1)]
        for old in forgotten:
            seen.pop(old, None)
        seen[mark] = self.now
        self.keep_head()


def at_once(entities: Iterable[E], *, growth: int = 0) -> Iterator[E]:
    """Iterate over as many of the leads or calls as one decision may change, each by `growth` bytes more; at least one."""
    size = 0
    for number, entity in enumerate(entities):
        size += len(to_pack(entity)) + growth
        if number and (number >= LEADS_AT_ONCE_MAX or size > BYTES_AT_ONCE_MAX):
            return
        yield entity


def wake_at(lead: Lead) -> Instant | None:
    """Return when a lead must be looked at again: an outcome that stays out, a slot, an action, its expiry; or never."""
    if lead.flight is not None:
        return lead.flight.due_at
    if lead.status not in LIVE_STATUSES:
        return None
    # Asked for every lead that is put: plain comparisons cost a fifth of a list and its least.
    due_at = _next_look(lead) if lead.slot_id is None else lead.slot_due_at
    expires_at, disposition_due_at = lead.expires_at, lead.disposition_due_at
    if expires_at is not None and not lead.ending and (due_at is None or expires_at < due_at):
        due_at = expires_at
    if disposition_due_at is not None and (due_at is None or disposition_due_at < due_at):
        due_at = disposition_due_at
    return due_at


def _next_look(lead: Lead) -> Instant | None:
    if lead.recheck_at is None and lead.held_at is not None and lead.status_wait in PAUSES:
        return None
    return lead.next_action_at if lead.recheck_at is None else lead.recheck_at


PAUSES = frozenset({"company_paused", "offer_paused", "schedule_paused"})
"""What a due lead waits for without a time: the adoption of the rule that lifts the pause."""

RECHECK_AFTER = SECOND
"""How soon a lead is looked at again that may not be contacted because requests are unread."""
