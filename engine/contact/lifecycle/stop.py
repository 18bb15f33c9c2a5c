"""What stops contact with a person (suppression)? An opt-out, a block, the do-not-call list: leads end, commands are fenced.

The company chooses the scope of an opt-out: the company, one offer, or one channel. A block and the do-not-call list hold
for the whole company.
"""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from engine.contact.commands.hanging_up import hang_up_ringing
from engine.contact.facts.person import Outline, Person, bounded_batch, has_no_flight, is_on_schedule
from engine.contact.lifecycle.ending import emit_end_webhooks, end, remove_excess_tokens
from engine.contact.timing.suppression import is_suppressed
from schemas.commands import Fence
from schemas.contact import LIVE_STATUSES, Flight, Head, Lead, LeadStatus, StoppedPlan
from schemas.records import Company
from schemas.requests import ReachWithdrawn
from schemas.schedule import OptOutScope
from schemas.topics import CONTACTS_REQUESTS

TEXTED = "sms"
"""The source of an opt-out by text."""

COMPANY = "company"
"""The name of the widest scope of an opt-out."""

OPT_OUTS_MAX = 50
"""Scopes that one person may have opted out of one by one; the next opt-out holds for the whole company."""


def stop_reason(head: Head, offer_id: int | None = None) -> LeadStatus | None:
    """Return the status in which every live lead of this offer must end, or None."""
    if head.opted_out_at is not None or (head.opt_outs and _offer_scope(offer_id) in head.opt_outs):
        return "opt_out"
    if head.blocked_at is not None:
        return "blocked"
    return "dnc" if head.suppressed_at is not None else None


def end_reason(person: Person, offer_id: int | None, schedule_id: int | None) -> LeadStatus | None:
    """Return the status in which every live lead of this offer and schedule must end, by suppression lists too, or None."""
    head = person.head
    is_stopped = head.opted_out_at is not None or head.blocked_at is not None or head.suppressed_at is not None
    if not is_stopped and not head.opt_outs and not head.suppressed_by:  # so for almost every contact
        return None
    reason = stop_reason(head, offer_id)
    if reason is None and is_suppressed(person, offer_id, schedule_id):
        return "dnc"
    return reason


def is_opted_out_of(head: Head, channel: str) -> bool:
    """Return whether the person opted out of a channel alone."""
    return bool(head.opt_outs) and _channel_scope(channel) in head.opt_outs


def is_closed(person: Person, lead: Lead, channel: str) -> bool:
    """Return whether a channel is closed for this lead: an invalid number, an address that bounced, an opt-out."""
    head = person.head
    if not (head.disabled_until or head.opt_outs or lead.failed_channels):  # so for almost every contact
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
    """Opt the person out, in `scope` or the company's default; False where they had opted out before.

    `offer_id` and `channel`: what the opt-out is about, and where it was given, if known. Open commands are fenced, plans
    end.
    """
    reached = _scope_reached(person, scope or company_scope(person), offer_id, channel)
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
        stop_some(person, [lead for lead in person.outlines() if lead.offer_id == offer_id], "opt_out")
    else:
        _close(person, channel or "")
    return True


def company_scope(person: Person) -> OptOutScope:
    """Return how far an opt-out reaches where nothing else is said."""
    company = person.rules.body(Company, "company", person.company_id)
    return "company" if company is None else company.optout_scope


def _scope_reached(person: Person, scope: OptOutScope, offer_id: int | None, channel: str | None) -> str | None:
    """Return the scope of an opt-out as the head stores it; None for the whole company."""
    if len(person.head.opt_outs) >= OPT_OUTS_MAX:
        return None
    if scope == "offer" and offer_id is not None:
        return _offer_scope(offer_id)
    return _channel_scope(channel) if scope == "channel" and channel is not None else None


def _offer_scope(offer_id: int | None) -> str:
    return f"offer/{offer_id}"


def _channel_scope(channel: str) -> str:
    return f"channel/{channel}"


def stop_some(person: Person, leads: Sequence[Outline], reason: LeadStatus) -> None:
    """Fence the open commands of these leads, and end the live ones."""
    flown = [lead.id for lead in leads if lead.flight is not None]
    if flown:
        fence_and_hang_up(person, reason, *flown)
    _end_leads(person)


def _close(person: Person, channel: str) -> None:
    """Fence the open commands on a channel. Its steps are skipped from now on: wake the leads."""
    person.save_head()
    flown = [lead for lead in person.outlines() if lead.flight is not None and lead.flight.kind == channel]
    if person.head.relays:  # which leads of other contacts have open commands here, the head does not know
        fence_channel(person, "opt_out", channel)
    elif flown:
        fence(person, "opt_out", *(lead.id for lead in flown))
    if flown:
        hang_up_ringing(person, [lead.id for lead in flown])
    for lead in person.whole(flown):
        recall(person, lead, "opt_out")
    if person.ends_leads_later:
        return
    for lead in bounded_batch(person.live_leads(lambda lead: has_no_flight(lead) and is_on_schedule(lead))):
        lead.recheck_at = person.now + 1
        person.save(lead)


def block(person: Person, source: str) -> None:
    """Block this person: no outbound contact, and inbound calls are refused. Idempotent."""
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
    """Lift every opt-out that holds for leads of an offer, a suppression, a pending review; nothing resumes by itself."""
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
    free = person.leads(lambda lead: lead.opt_out and stop_reason(person.head, lead.offer_id) != "opt_out")
    for lead in bounded_batch(free):
        lead.opt_out = False
        person.save(lead)


def opt_in_by_text(person: Person) -> None:
    """Lift only the opt-out of texts that a text made: calls and e-mails that it ended stay ended. Nothing resumes.

    START is consent to texts from this sender (CTIA, Messaging Principles and Best Practices, 5.1.2). An opt-out of one
    offer stays as it is.
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
    free = person.leads(lambda lead: lead.opt_out and stop_reason(head, lead.offer_id) != "opt_out")
    for lead in bounded_batch(free):
        lead.opt_out = False
        person.save(lead)


def unblock(person: Person, **about: Any) -> None:
    """Lift a block; nothing resumes by itself. `about` is what the fact says of its cause."""
    if person.head.blocked_at is None:
        return
    person.head.blocked_at = None
    person.save_head()
    person.draft.fact("contact.unblocked", **about)
    for lead in bounded_batch(person.leads(lambda lead: lead.blocked)):
        lead.blocked = False
        person.save(lead)


def stop(person: Person, lead: Lead, reason: LeadStatus) -> None:
    """End one lead of a person who must not be contacted; only its webhooks are emitted."""
    was_live = lead.status in LIVE_STATUSES
    if was_live:
        lead.stopped = StoppedPlan(
            step=lead.step,
            step_attempts=lead.step_attempts,
            at_its_end=lead.ending,
            base_at=lead.base_at,
            requested_next_action_at=lead.requested_next_action_at,
            callback_at=lead.callback_at,
            disposition_due_at=lead.disposition_due_at,
            pause=lead.pause,
        )
    mark(person, lead, reason)
    recall(person, lead, reason)
    end(person, lead, reason)
    if was_live and isinstance(error := person.draft.run_isolated(partial(emit_end_webhooks, person, lead)), str):
        person.draft.fact("lead.webhooks_failed", lead_id=lead.id, error=error)  # no webhook may prevent a stop
    remove_excess_tokens(person, lead, reason)


def mark(person: Person, lead: Lead, reason: LeadStatus) -> None:
    """Set the opt-out and block flags of a lead; both may be true."""
    lead.opt_out = lead.opt_out or reason == "opt_out"
    lead.blocked = lead.blocked or reason == "blocked" or person.head.blocked_at is not None
    person.save(lead)


def sweep(person: Person) -> None:
    """End the next batch of a stopped person's leads; the head's timer continues."""
    head = person.head
    last = None
    for lead in bounded_batch(_stopped_from(person, head.sweep_from)):
        stop(person, lead, end_reason(person, lead.offer_id, lead.schedule_id) or "opt_out")
        last = lead.id
    left = None if last is None else next(_stopped_from(person, head.lead_ids.index(last) + 1), None)
    head.sweep_from = 0 if left is None else head.lead_ids.index(left.id)
    # A tick must leave a later timer: one at the same instant counts as stuck.
    head.sweep_at = None if left is None else person.now + 1
    person.save_head()


def _stopped_from(person: Person, index: int) -> Iterator[Lead]:
    """Iterate over the live leads, from an index of the list on, that must end."""
    found = (person.lead(lead_id) for lead_id in person.head.lead_ids[index:])
    live = (lead for lead in found if lead is not None and lead.status in LIVE_STATUSES)
    return (lead for lead in live if end_reason(person, lead.offer_id, lead.schedule_id) is not None)


def fence_and_hang_up(person: Person, reason: str, *lead_ids: int) -> None:
    """Fence the earlier commands of these leads, or of the whole contact, and end calls before they are answered."""
    fence(person, reason, *lead_ids)
    hang_up_ringing(person, lead_ids)


def fence(person: Person, reason: str, *lead_ids: int) -> None:
    """Fence the earlier commands of these leads, or of the whole contact: gateways drop them."""
    command_fence = Fence(
        company_id=person.company_id,
        contact_key=person.key,
        reason=reason,
        decided_at=person.now,
        lead_ids=lead_ids,
    )
    person.draft.fence(command_fence)


def fence_channel(person: Person, reason: str, channel: str) -> None:
    """Fence the earlier commands of the contact on one channel, also those for leads of other contacts."""
    command_fence = Fence(company_id=person.company_id, contact_key=person.key, reason=reason, decided_at=person.now)
    person.draft.fence(command_fence, channel)


def fence_command(person: Person, reason: str, flight: Flight) -> None:
    """Fence one command of this contact."""
    command_fence = Fence(
        company_id=person.company_id,
        contact_key=person.key,
        reason=reason,
        decided_at=person.now,
        command_ids=(flight.command_id,),
    )
    person.draft.fence(command_fence, flight.kind)


def recall(person: Person, lead: Lead, reason: str) -> None:
    """Withdraw the command that another contact emitted for this lead: fences of this contact do not cover it."""
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
    fence_and_hang_up(person, reason)
    _end_leads(person)


def _end_leads(person: Person) -> None:
    """End the leads of a stopped person: the first ones now, unless only the head may change."""
    person.head.sweep_from = 0
    if person.ends_leads_later:
        person.head.sweep_at = person.now + 1
        person.save_head()
    else:
        sweep(person)
