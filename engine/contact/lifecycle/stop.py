"""What stops contact with a person? An opt-out, a block, the do-not-call list: at once, leads end, gates are told.

An opt-out reaches as far as the company has chosen (research/domain.md 2.20): all of it, what is about one offer, or one
channel. A block and the do-not-call list reach the whole company.
"""

from collections.abc import Iterator
from functools import partial
from typing import Any

from engine.contact.facts.person import Person, bounded_batch
from engine.contact.lifecycle.ending import emit_end_webhooks, end, remove_excess_tokens
from schemas.commands import Fence
from schemas.contact import LIVE_STATUSES, Head, Lead, LeadStatus
from schemas.records import Company
from schemas.requests import ReachWithdrawn
from schemas.schedule import OptOutScope
from schemas.topics import CONTACTS_REQUESTS

AT_ITS_END = "(end)"
"""Where a lead stood that had left its steps already; in brackets, so that it is no step's id."""

TEXTED = "sms"
"""The source of an opt-out that a text made."""

COMPANY = "company"
"""The reach of an opt-out of everything, where its reach is named."""

OPT_OUTS_MAX = 50
"""Offers that one person may have opted out of one by one; the next opt-out reaches the whole company."""


def stop_reason(head: Head, offer_id: int | None = None) -> LeadStatus | None:
    """Return the status that every live lead of the contact about this offer must take, or None."""
    if head.opted_out_at is not None or (head.opt_outs and _offer_scope(offer_id) in head.opt_outs):
        return "opt_out"
    if head.blocked_at is not None:
        return "blocked"
    return "dnc" if head.suppressed_at is not None else None


def is_opted_out_of(head: Head, channel: str) -> bool:
    """Tell whether the person opted out of a channel alone."""
    return bool(head.opt_outs) and _channel_scope(channel) in head.opt_outs


def is_closed(person: Person, lead: Lead, channel: str) -> bool:
    """Tell whether a channel is not to be used for this lead: an invalid number, an address that bounced, an opt-out."""
    head = person.head
    if not (head.disabled_until or head.opt_outs or lead.failed_channels):  # of almost everybody nothing is known
        return False
    until = head.disabled_until.get(channel)
    is_disabled = channel in lead.failed_channels or (until is not None and until > person.now)
    return is_disabled or is_opted_out_of(head, channel)


def opt_out(
    person: Person,
    source: str,
    *,
    offer_id: int | None = None,
    channel: str | None = None,
    scope: OptOutScope | None = None,
) -> bool:
    """Never contact this person again, as far as `scope` or the company says; False where they had opted out before.

    `offer_id` and `channel` are what the opt-out is about and what it was said on, where that is known. Whatever was ordered
    is fenced, whatever is planned ends.
    """
    reached = _scope_reached(person, scope or _company_scope(person), offer_id, channel)
    head = person.head
    if head.opted_out_at is not None or reached in head.opt_outs:
        if source != TEXTED and head.opted_out_by_text is not None:
            head.opted_out_by_text = None  # said in another way as well, so START does not lift it
            person.save_head()
        return False
    head.opted_in_at = None
    head.opted_out_by_text = (reached or COMPANY) if source == TEXTED else None
    if reached is None:
        head.opted_out_at = person.now
        person.draft.fact("contact.opted_out", source=source)
        _stop_all(person, "opt_out")
        return True
    head.opt_outs = {**head.opt_outs, reached: person.now}
    person.draft.fact("contact.opted_out", source=source, scope=reached)
    if reached == _offer_scope(offer_id):
        _stop_some(person, [lead for lead in person.leads() if lead.offer_id == offer_id])
    else:
        _close(person, channel or "")
    return True


def _company_scope(person: Person) -> OptOutScope:
    company = person.rules.body(Company, "company", person.company_id)
    return "company" if company is None else company.optout_scope


def _scope_reached(person: Person, scope: OptOutScope, offer_id: int | None, channel: str | None) -> str | None:
    """Return the part of the company that an opt-out reaches, None for all of it."""
    if len(person.head.opt_outs) >= OPT_OUTS_MAX:
        return None
    if scope == "offer" and offer_id is not None:
        return _offer_scope(offer_id)
    return _channel_scope(channel) if scope == "channel" and channel is not None else None


def _offer_scope(offer_id: int | None) -> str:
    return f"offer/{offer_id}"


def _channel_scope(channel: str) -> str:
    return f"channel/{channel}"


def _stop_some(person: Person, leads: list[Lead]) -> None:
    """Fence what is on its way for these leads, and end those that are live."""
    flown = [lead.id for lead in leads if lead.flight is not None]
    if flown:
        fence(person, "opt_out", *flown)
    _end_leads(person)


def _close(person: Person, channel: str) -> None:
    """Fence what is on its way on a channel. Its steps are passed over from now on: whoever stands there is woken."""
    person.save_head()
    flown = [lead for lead in person.leads() if lead.flight is not None and lead.flight.kind == channel]
    if flown:
        fence(person, "opt_out", *(lead.id for lead in flown))
    for lead in flown:
        recall(person, lead, "opt_out")
    if person.ends_leads_later:
        return
    for lead in bounded_batch(
        [lead for lead in person.live_leads() if lead.flight is None and lead.schedule_id is not None]
    ):
        lead.recheck_at = person.now + 1
        person.save(lead)


def block(person: Person, source: str) -> None:
    """Keep this person away from the company's numbers: no outbound contact, as after an opt-out. Idempotent."""
    if person.head.blocked_at is not None:
        return
    person.head.blocked_at = person.now
    person.draft.fact("contact.blocked", source=source)
    _stop_all(person, "blocked")


def suppress(person: Person, source: str) -> None:
    """Put this person on the do-not-call list: no contact, as after an opt-out, until they opt in. Idempotent."""
    if person.head.suppressed_at is not None:
        return
    person.head.suppressed_at = person.now
    person.draft.fact("contact.suppressed", source=source)
    _stop_all(person, "dnc")


def opt_in(person: Person, offer_id: int | None) -> None:
    """Lift every opt-out that holds for leads of an offer, a suppression, a doubt about one; nothing resumes by itself."""
    if person.head.suppressed_at is not None:
        person.head.suppressed_at = None
        person.save_head()
        person.draft.fact("contact.unsuppressed")
    if person.head.review_until is not None:
        person.head.review_until = None
        person.save_head()
        person.draft.fact("contact.optout_reviewed", opted_out=False)
    lifted = [scope for scope in person.head.opt_outs if scope == _offer_scope(offer_id) or scope.startswith("channel/")]
    if person.head.opted_out_at is None and not lifted:
        return
    person.head.opted_out_at = person.head.opted_out_by_text = None
    person.head.opt_outs = {scope: at for scope, at in person.head.opt_outs.items() if scope not in lifted}
    person.save_head()
    about: dict[str, Any] = {"scopes": lifted} if lifted else {}
    person.draft.fact("contact.opted_in", **about)
    free = (lead for lead in person.leads() if lead.opt_out and stop_reason(person.head, lead.offer_id) != "opt_out")
    for lead in bounded_batch(free):
        lead.opt_out = False
        person.save(lead)


def opt_in_by_text(person: Person) -> None:
    """Lift the opt-out of texts that a text made, and no other: calls and e-mails that it ended stay ended. Nothing resumes.

    START is consent to texts from this sender (CTIA, Messaging Principles 5.1). An opt-out of one offer stays as it is.
    """
    head, reached = person.head, person.head.opted_out_by_text
    texts = _channel_scope("sms")
    if reached == COMPANY and head.opted_out_at is not None:
        head.opt_outs = {
            _channel_scope("call"): head.opted_out_at,
            _channel_scope("email"): head.opted_out_at,
            **head.opt_outs,
        }
        head.opted_out_at = None
    elif reached == texts and texts in head.opt_outs:
        head.opt_outs = {scope: at for scope, at in head.opt_outs.items() if scope != texts}
    else:
        return
    head.opted_out_by_text = None
    person.save_head()
    person.draft.fact("contact.opted_in", source=TEXTED, scopes=[texts])
    free = (lead for lead in person.leads() if lead.opt_out and stop_reason(head, lead.offer_id) != "opt_out")
    for lead in bounded_batch(free):
        lead.opt_out = False
        person.save(lead)


def unblock(person: Person) -> None:
    """Lift a block; nothing resumes by itself."""
    if person.head.blocked_at is None:
        return
    person.head.blocked_at = None
    person.save_head()
    person.draft.fact("contact.unblocked")
    for lead in bounded_batch(lead for lead in person.leads() if lead.blocked):
        lead.blocked = False
        person.save(lead)


def stop(person: Person, lead: Lead, reason: LeadStatus) -> None:
    """End one lead of a person who must not be contacted; its webhooks are told, nobody else."""
    was_live = lead.status in LIVE_STATUSES
    if was_live:
        lead.stopped_before = AT_ITS_END if lead.ending else lead.step
    mark(person, lead, reason)
    recall(person, lead, reason)
    end(person, lead, reason)
    if was_live and isinstance(error := person.draft.run_isolated(partial(emit_end_webhooks, person, lead)), str):
        person.draft.fact("lead.webhooks_failed", lead_id=lead.id, error=error)  # no webhook may hold up a stop
    remove_excess_tokens(person, lead, reason)


def mark(person: Person, lead: Lead, reason: LeadStatus) -> None:
    """Let the lead read what holds for its contact: who opted out may be blocked as well."""
    lead.opt_out = lead.opt_out or reason == "opt_out"
    lead.blocked = lead.blocked or reason == "blocked" or person.head.blocked_at is not None
    person.save(lead)


def sweep(person: Person) -> None:
    """End the next of the leads of a stopped person, a bounded number at a time; the head's timer brings the others."""
    head = person.head
    last = None
    for lead in bounded_batch(_stopped_from(person, head.sweep_from)):
        stop(person, lead, stop_reason(head, lead.offer_id) or "opt_out")
        last = lead.id
    left = None if last is None else next(_stopped_from(person, head.lead_ids.index(last) + 1), None)
    head.sweep_from = 0 if left is None else head.lead_ids.index(left.id)
    # A tick must leave a later timer: at the same instant it would pass for stuck.
    head.sweep_at = None if left is None else person.now + 1
    person.save_head()


def _stopped_from(person: Person, index: int) -> Iterator[Lead]:
    """Iterate over the leads, from a place of the list on, that are live and must not be."""
    found = (person.lead(lead_id) for lead_id in person.head.lead_ids[index:])
    live = (lead for lead in found if lead is not None and lead.status in LIVE_STATUSES)
    return (lead for lead in live if stop_reason(person.head, lead.offer_id) is not None)


def fence(person: Person, reason: str, *lead_ids: int) -> None:
    """Tell the gates that what was ordered before must not be carried out: for these leads, or all of the contact."""
    order = Fence(
        company_id=person.company_id,
        contact_key=person.key,
        reason=reason,
        decided_at=person.now,
        lead_ids=lead_ids,
    )
    person.draft.fence(order)


def recall(person: Person, lead: Lead, reason: str) -> None:
    """Withdraw what another contact was asked to emit for this lead: the fences of this one do not reach it."""
    flight = lead.flight
    if flight is None or flight.reached_by is None:
        return
    message = ReachWithdrawn(
        company_id=lead.company_id,
        contact_key=flight.reached_by,
        lead_id=lead.id,
        command_id=flight.command_id,
        reason=reason,
    )
    person.draft.send(CONTACTS_REQUESTS.name, flight.reached_by, message)


def _stop_all(person: Person, reason: LeadStatus) -> None:
    fence(person, reason)
    _end_leads(person)


def _end_leads(person: Person) -> None:
    """End the leads of a stopped person: the first ones now, unless only the head may change."""
    person.head.sweep_from = 0
    if person.ends_leads_later:
        person.head.sweep_at = person.now + 1
        person.save_head()
    else:
        sweep(person)
