"""What does a submission do? It creates a lead, or finds an existing one and updates or restarts it."""

from collections.abc import Sequence
from typing import Any, NoReturn

import msgspec
from msgspec import Struct

from engine.contact.commands.numbers import dialing_number, public_number, texting_number
from engine.contact.facts.call_record import copy_data_to_calls
from engine.contact.facts.invalid_fields import take_off_corrected
from engine.contact.facts.person import Outline, Person, bounded_batch
from engine.contact.facts.public_contacts import mark_public, withhold
from engine.contact.lifecycle import callbacks
from engine.contact.lifecycle.ending import begin_end, end
from engine.contact.lifecycle.enrolment import enrol, expiry, new_lead, schedule_of
from engine.contact.lifecycle.promises import Promiser
from engine.contact.lifecycle.removal import delete
from engine.contact.lifecycle.stop import block, end_reason, mark, opt_out, stop, unblock
from engine.contact.lifecycle.walk import IS_TEST, advance, plan_inputs, replan_lead
from engine.partition.draft import RefusedError
from engine.submission.normalise import UNSIGNED_FIELDS
from engine.tokens import FEW_TOKENS, LEAD_BYTES_MAX, check_tokens
from schemas.contact import LIVE_STATUSES, Lead
from schemas.decisions import Answer
from schemas.instant import DAY, EPOCH, Instant
from schemas.records import Record, Schedule
from schemas.requests import CallerActed, LeadSubmitted
from schemas.wire import to_json

AHEAD_MAX = 366 * DAY
"""Requested instants may not be later than this."""

WEAK_SOURCES = frozenset({"number", "default"})
"""Zones from these sources are replaced by any later ones."""


class ExistingLeads(Struct, frozen=True):
    """Existing leads of a token and number, newest first: all that the data is for, and the live ones."""

    meant: list[Outline]
    live: list[Outline]


def submit(person: Person, request: LeadSubmitted) -> None:
    """Decide a submission that came with a key and answer it. Raises `RefusedError`."""
    if request.next_action_at is not None or request.schedule_callback_at is not None:
        check_ahead("next_action_at", request.next_action_at, person.now)
        check_callback(request.schedule_callback_at, request.caller_id, person.now)
    target = target_of(person, request)
    if request.unblock_contact:
        unblock(person)
    if request.blocked is False and person.head.blocked_at is not None:
        _refuse_unblocking()
    found, live = _find_existing(person, request, target) if person.head.lead_ids else ([], [])
    if request.update_only and not live:
        raise RefusedError("lead_not_live", "No live lead of this token and number is there to update.")
    if request.blocked:
        block(person, "submission")
    # `create_or_update` without a live lead creates a new one; it never restarts an ended one.
    candidates = live if live or request.create_or_update else found
    meant = _additional_leads(request, found, live) if request.update_all_matching_leads else []
    if request.delete_existing or request.expire_existing:
        action = _clear(person, found, request)
        create(person, request, target, action, others=() if request.delete_existing else meant)
    elif not found:
        create(person, request, target, "created")
    elif (again := _schedule_to_restart(person, request, target, candidates)) is not None:
        _restart(person, request, again, _chosen(person, request, candidates), others=meant)
    elif not live:
        create(person, request, target, "created", others=meant)
    else:
        _decide_duplicate(person, request, target, ExistingLeads(meant, live))


def opt_out_live(person: Person, request: LeadSubmitted) -> bool:
    """Opt the person out; return whether a live lead of the token ended by it, which has the data then."""
    live = [lead for lead in matching(person, request) if lead.status in LIVE_STATUSES]
    opt_out(person, "submission", offer_id=request.offer_id)
    if not live:
        return False
    leads = list(
        bounded_batch(person.whole(live if request.update_all_matching_leads else live[:1]), growth=_growth(request))
    )
    for lead in leads:
        if lead.status != "opt_out":
            stop(person, lead, "opt_out")
        mark(person, lead, "opt_out")
        _update(person, request, lead)
    _answer(person, leads, 200, "updated")
    return True


def _refuse_unblocking() -> NoReturn:
    """Refuse `blocked=false` for a blocked person: a lead token does not permit lifting a block."""
    problem = "the person is blocked; unblock_contact=true lifts that, with a key that may update leads"
    raise RefusedError("validation_failed", "Correct blocked and resend; nothing was stored.", {"blocked": [problem]})


def _additional_leads(request: LeadSubmitted, found: list[Outline], live: list[Outline]) -> list[Outline]:
    """Return the other leads that get the data as well; with `update_only` no ended ones."""
    return live if request.update_only else found


def matching(person: Person, request: LeadSubmitted | CallerActed) -> list[Outline]:
    """Return the leads that the token of a request matches, newest first."""
    return [lead for lead in person.outlines() if _matches(person, lead, request.offer_id, request.schedule_id)]


def _matches(person: Person, lead: Outline, offer_id: int | None, schedule_id: int | None) -> bool:
    """Return whether a token matches this lead: its schedule's, its offer's, or that of the offer whose schedule it is on.

    The last two differ where a lead was moved to another offer's schedule: then either offer's token finds it. No token
    finds a test: it must not take the place of a person's lead.
    """
    if lead.is_test:
        return False
    if schedule_id is not None:
        return lead.schedule_id == schedule_id
    if lead.offer_id == offer_id or (offer_id is not None and lead.first_offer_id == offer_id):
        return True
    if lead.schedule_id is None:
        return False
    schedule = person.rules.body(Schedule, "schedule", lead.schedule_id)
    return schedule is not None and schedule.offer_id == offer_id


def check_ahead(field: str, moment: Instant | None, now: Instant) -> None:
    """Refuse an instant that is too far ahead. Raises `RefusedError`."""
    if moment is not None and moment > now + AHEAD_MAX:
        problem = "is more than 366 days ahead"
        raise RefusedError("validation_failed", f"{field} {problem}", {field: [problem]})


def check_callback(moment: Instant | None, caller_id: str | None, now: Instant) -> None:
    """Refuse a callback that is too far ahead, or has no number to call. Raises `RefusedError`."""
    check_ahead("schedule_callback_at", moment, now)
    if moment is not None and not caller_id:
        problem = "needs a caller_id to call"
        raise RefusedError("validation_failed", f"schedule_callback_at {problem}", {"schedule_callback_at": [problem]})


Target = tuple[Record, Schedule] | tuple[None, None]
"""The schedule of a lead token; none where it is an offer's."""


def target_of(person: Person, request: LeadSubmitted) -> Target:
    """Return the schedule of the token. Raises `RefusedError` where its schedule or offer was deleted."""
    if request.schedule_id is not None:
        found = schedule_of(person, request.schedule_id)
        if found is None:
            raise RefusedError("unknown_lead_token", "The schedule of this lead token is no longer there.")
        return found
    record = person.rules.record("offer", request.offer_id or 0)
    if record is None or record.deleted_at is not None or record.company_id != person.company_id:
        raise RefusedError("unknown_lead_token", "The offer of this lead token is no longer there.")
    return None, None


def _find_existing(person: Person, request: LeadSubmitted, target: Target) -> tuple[list[Outline], list[Outline]]:
    """Return the existing leads, newest first, and of them the live ones.

    `create_or_update` means one live lead for an offer: if the schedule has none, one on another schedule of the offer.
    """
    found = matching(person, request)
    live = [lead for lead in found if lead.status in LIVE_STATUSES]
    if not live and request.create_or_update and not request.delete_existing and not request.expire_existing:
        elsewhere = live_on_the_offer(person, target)
        return elsewhere or found, elsewhere
    return found, live


def live_on_the_offer(person: Person, target: Target) -> list[Outline]:
    """Return the live leads of the schedule's offer, newest first, captured ones last."""
    _, schedule = target
    if schedule is None or schedule.offer_id is None:
        return []
    found = [
        lead
        for lead in person.outlines()
        if _matches(person, lead, schedule.offer_id, None) and _is_on_its_way(person, lead)
    ]
    return sorted(found, key=lambda lead: lead.schedule_id is None)


def _is_on_its_way(person: Person, lead: Outline) -> bool:
    """Return whether a lead is live and its schedule exists: without it the lead ends at its next timer."""
    return lead.status in LIVE_STATUSES and (lead.schedule_id is None or schedule_of(person, lead.schedule_id) is not None)


def _clear(person: Person, found: list[Outline], request: LeadSubmitted) -> str:
    """Delete or expire the matching leads; deleting wins where both are requested."""
    if request.delete_existing:
        for lead in person.whole(found):
            delete(person, lead)
        return "deleted_existing" if found else "created"
    ids = {lead.id for lead in found}
    # Asked again: a block has ended some.
    live = person.live_outlines(lambda lead: lead.id in ids)
    for lead in bounded_batch(person.whole(live)):
        begin_end(person, lead, "expired", keeps_callback=False)
        advance(person, lead)
    return "expired_existing" if live else "created"


def _schedule_to_restart(person: Person, request: LeadSubmitted, target: Target, leads: list[Outline]) -> Record | None:
    """Return the schedule to restart for an existing lead: the token's, or the one that the lead is on."""
    if not request.restart_schedule or not leads:
        return None
    chosen = _outline_of_chosen(request, leads)
    if end_reason(person, chosen.offer_id, chosen.schedule_id) is not None:
        return None
    record, _ = target
    schedule_id = chosen.schedule_id
    if schedule_id is not None and (record is None or record.id != schedule_id):
        found = schedule_of(person, schedule_id)
        return None if found is None else found[0]
    return record


def _decide_duplicate(person: Person, request: LeadSubmitted, target: Target, leads: ExistingLeads) -> None:
    """Apply the schedule's `duplicate_policy` to an existing live lead, unless the sender requests an update."""
    record, schedule = target
    policy = "update" if schedule is None or _asks_for_update(request) else schedule.duplicate_policy
    if policy in {"create", "reject"} and _by_external_id(request, leads.live) is not None:
        policy = "update"  # a submission with the id of this lead is no duplicate
    match policy:
        case "reject":
            detail = "A live lead of this token and number exists; its schedule refuses duplicates."
            raise RefusedError("duplicate_lead", detail)
        case "create":
            create(person, request, target, "created")
        case "restart" if record is not None:
            _restart(person, request, record, _chosen(person, request, leads.live))
        case _ if record is not None and _outline_of_chosen(request, leads.live).schedule_id is None:
            _restart(person, request, record, _chosen(person, request, leads.live), others=leads.meant, action="updated")
        case _:
            lead = _chosen(person, request, leads.live)
            _answer(person, _update_each(person, request, [lead, *_without(lead, leads.meant)]), 200, "updated")


def _asks_for_update(request: LeadSubmitted) -> bool:
    return bool(request.create_or_update or request.update_only or request.update_all_matching_leads or request.blocked)


def _chosen(person: Person, request: LeadSubmitted, leads: list[Outline]) -> Lead:
    """Return the lead with the sender's `external_record_id`, else the newest."""
    return next(person.whole([_outline_of_chosen(request, leads)]))


def _outline_of_chosen(request: LeadSubmitted, leads: list[Outline]) -> Outline:
    return _by_external_id(request, leads) or leads[0]


def _by_external_id(request: LeadSubmitted, leads: list[Outline]) -> Outline | None:
    wanted = request.columns.get("external_record_id")
    named = (lead for lead in leads if wanted is not None and lead.columns.get("external_record_id") == wanted)
    return next(named, None)


def _growth(request: LeadSubmitted) -> int:
    """Return by how many bytes a submission may enlarge each lead."""
    return len(to_json(request.data)) if request.data else 0


def create(person: Person, request: LeadSubmitted, target: Target, action: str, *, others: Sequence[Outline] = ()) -> None:
    """Create the lead of a submission and answer with it; the other leads get its data as well."""
    lead = _new_lead(person, _with_unsigned(request), target)
    if not request.with_key and not lead.is_test:
        mark_public(person, lead)
    elif request.unsigned is not None:
        withhold(lead, request.unsigned.columns, request.unsigned.data)
    person.add(lead)
    person.draft.fact("lead.submitted", lead_id=lead.id, dedupe_action=action)
    person.draft.fact("lead.created", lead_id=lead.id, offer_id=lead.offer_id, schedule_id=lead.schedule_id)
    if request.assign_svc_number or request.assign_sms_number:
        _assign_numbers(person, request, lead)
    reason = end_reason(person, lead.offer_id, lead.schedule_id)
    if lead.is_test:
        end(person, lead, "disabled", IS_TEST)
    elif reason is not None:
        mark(person, lead, reason)
        end(person, lead, reason)
    else:
        advance(person, lead)
    updated = [lead, *_update_each(person, request, others)] if others else [lead]
    _answer(person, updated, 201, action)


def _with_unsigned(request: LeadSubmitted) -> LeadSubmitted:
    """Return a request with what its form brought unsigned: a new lead has that too, and what was signed wins."""
    unsigned = request.unsigned
    if unsigned is None:
        return request
    return msgspec.structs.replace(
        request,
        email=request.email or unsigned.email,
        columns={**unsigned.columns, **request.columns},
        data={**unsigned.data, **request.data},
        zones=unsigned.zones,
        zone_source=unsigned.zone_source,
        states=unsigned.states,
        **{name: getattr(unsigned, name) for name in UNSIGNED_FIELDS if getattr(request, name) is None},
    )


def _without(lead: Lead, leads: Sequence[Outline]) -> list[Outline]:
    return [other for other in leads if other.id != lead.id]


def _update_each(person: Person, request: LeadSubmitted, leads: Sequence[Outline]) -> list[Lead]:
    updated = list(bounded_batch(person.whole(leads), growth=_growth(request)))
    for lead in updated:
        _update(person, request, lead)
    return updated


def _new_lead(person: Person, request: LeadSubmitted, target: Target) -> Lead:
    # Set only what differs from the defaults: the constructor of a struct with so many fields is slow with keywords.
    record, schedule = target
    lead = new_lead(person)
    if record is None or schedule is None:
        lead.status, lead.offer_id = "captured", request.offer_id
    else:
        lead.schedule_id, lead.schedule_version = record.id, record.version
        lead.offer_id = schedule.offer_id if request.offer_id is None else request.offer_id
        lead.first_queued_at = person.now
    lead.caller_id, lead.email = request.caller_id, request.email
    lead.columns, lead.data = _without_nulls(request.columns), _without_nulls(request.data)
    if len(lead.data) > FEW_TOKENS:
        check_tokens(lead.data, "lead", LEAD_BYTES_MAX)
    lead.zones, lead.zone_source, lead.states = request.zones, request.zone_source, request.states
    lead.attempts_max = request.max_contact_attempts
    lead.requested_next_action_at = request.next_action_at
    lead.lead_import_id = request.lead_import_id
    lead.is_test = request.is_test
    if request.schedule_callback_at is not None:
        callbacks.set_callback(person, lead, request.schedule_callback_at, promiser=_promiser(request))
    if request.lead_priority is not None:
        lead.lead_priority = request.lead_priority
    hours = request.hours_to_expire
    if hours is None and schedule is not None:
        hours = schedule.hours_to_expire
    if hours is not None or schedule is None:
        lead.expires_at = expiry(person, lead, _received_at(person, request), hours)
    return lead


def _without_nulls(values: dict[str, Any]) -> dict[str, Any]:
    """Return a copy without None values: a new lead has nothing to delete."""
    return {name: value for name, value in values.items() if value is not None} if None in values.values() else values.copy()


def _received_at(person: Person, request: LeadSubmitted) -> Instant:
    return min(request.received_at, person.now) if request.received_at > EPOCH else person.now


def _restart(
    person: Person,
    request: LeadSubmitted,
    record: Record,
    lead: Lead,
    *,
    others: Sequence[Outline] = (),
    action: str = "restarted",
) -> None:
    person.draft.fact("lead.submitted", lead_id=lead.id, dedupe_action=action)
    enrol(person, lead, record, hours=request.hours_to_expire)
    _merge(person, request, lead)
    advance(person, lead)
    _answer(person, [lead, *_update_each(person, request, _without(lead, others))], 200, action)


def _update(person: Person, request: LeadSubmitted, lead: Lead) -> None:
    person.draft.fact("lead.submitted", lead_id=lead.id, dedupe_action="updated")
    before = plan_inputs(lead)
    _merge(person, request, lead)
    if lead.status in LIVE_STATUSES:
        replan_lead(person, lead, before)


def _merge(person: Person, request: LeadSubmitted, lead: Lead) -> None:
    """Merge a submission with a key into a lead, shallowly; fields that it does not contain stay."""
    merge_fields(lead, request.columns, request.data)
    if request.apply_to == "calls":
        copy_data_to_calls(person, lead, request.data)
    lead.email = request.email or lead.email
    bounds = ("email", "lead_priority", "max_contact_attempts", "hours_to_expire")
    take_off_corrected(lead, [name for name in bounds if getattr(request, name) is not None])
    if request.zones and (request.zone_source not in WEAK_SOURCES or lead.zone_source in WEAK_SOURCES):
        lead.zones, lead.zone_source, lead.states = request.zones, request.zone_source, request.states
    if request.lead_priority is not None:
        lead.lead_priority = request.lead_priority
    if request.max_contact_attempts is not None:
        lead.attempts_max = request.max_contact_attempts
    if lead.status in LIVE_STATUSES:
        _merge_moments(person, request, lead)
    if request.unsigned is None:  # the answer to a form names numbers without looking at a lead, which keeps its own
        _assign_numbers(person, request, lead)
    person.draft.fact("lead.updated", lead_id=lead.id)
    person.save(lead)


def _merge_moments(person: Person, request: LeadSubmitted, lead: Lead) -> None:
    if request.hours_to_expire is not None:
        lead.expires_at = expiry(person, lead, _received_at(person, request), request.hours_to_expire)
    if request.next_action_at is not None:
        lead.requested_next_action_at, lead.planned_at = request.next_action_at, None
        lead.pause = None
    if request.schedule_callback_at is not None:
        callbacks.schedule_callback(person, lead, request.schedule_callback_at, promiser=_promiser(request))


def _promiser(request: LeadSubmitted) -> Promiser:
    return Promiser("api" if request.with_key else "form")


def merge_fields(lead: Lead, columns: dict[str, Any], data: dict[str, Any]) -> None:
    """Merge columns and tokens into a lead, shallowly; None deletes. Raises `RefusedError` where the tokens are too many.

    What a stranger sent under these names is replaced, so it is withheld from messages no longer.
    """
    if lead.withheld:
        lead.withheld = tuple([name for name in lead.withheld if name not in columns and name not in data])
    for values, given in ((lead.columns, columns), (lead.data, data)):
        values.update(given)
        for name in [name for name, value in given.items() if value is None]:
            del values[name]
    take_off_corrected(lead, (*columns, *data))
    if data:
        check_tokens(lead.data, "lead", LEAD_BYTES_MAX)


def _assign_numbers(person: Person, request: LeadSubmitted, lead: Lead) -> None:
    if not request.with_key or request.unsigned is not None:  # those that the answer names, which knows no lead
        offered = [public_number(person.rules, request, kind) for kind in ("voice", "sms")]
        lead.svc_number, lead.sms_number = offered[0], offered[1]
        return
    if request.assign_svc_number:
        dialing_number(person, lead)
    if request.assign_sms_number:
        texting_number(person, lead)


def _answer(person: Person, leads: list[Lead], status: int, action: str) -> None:
    person.draft.answer = Answer(
        status=status,
        record_type="lead",
        record_id=leads[0].id,
        record_ids=tuple([lead.id for lead in leads]),
        dedupe_action=action,
    )
