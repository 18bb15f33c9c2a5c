"""Which leads must be planned again after a rule has changed? A sweep by ticks, a bounded number at a time; nothing polls.

The adoption itself changes no lead: a due one is checked against the newest rules anyway. The sweep covers the rest: a lead
that may be contacted earlier now, one that waits for the end of a pause, and the `next_action_at` that people see.

The ticks go by id, and emit no command. A lead that is due by its new plan waits until the sweep is done; then due leads go
by priority. So no lead goes before one of higher priority that a later tick finds.
"""

from collections.abc import Iterator, Mapping
from functools import partial

from msgspec import structs

from engine.contact.commands import slots, waiting_leads
from engine.contact.commands.buyers import choice_for
from engine.contact.commands.hanging_up import hang_up
from engine.contact.facts.person import BYTES_AT_ONCE_MAX, LEADS_AT_ONCE_MAX, ON_HOLD, Person
from engine.contact.lifecycle.walk import advance, deleted_home
from engine.contact.schedule.cadence import cadence_for, cadence_of
from engine.contact.timing.holding import BUYER_CAP, CAPS_USED_UP
from engine.decision_rules import VERSION_NAME
from engine.partition.aggregate import Adoption, RuleChange
from engine.partition.draft import Draft
from engine.rules import Rules
from engine.submission.place import Location, located_again
from schemas.contact import LIVE_STATUSES, Lead, Replan
from schemas.instant import Instant
from schemas.records import CAPPED_TYPES, EVERY_COMPANY, Company, ContactHold, Offer, Record, Schedule, body_of
from schemas.schedule import CallStep
from schemas.state import lead_key, replan_key
from schemas.wire import to_json, to_pack

LEADS_SCANNED_MAX = 500
"""Leads scanned in one tick: some 3 ms where none is concerned, 15 ms where all are and none changes."""

HOURS_OF_TYPE: Mapping[str, tuple[str, ...]] = {
    "rule_pack": ("rules", "holiday_sets"),
    "holiday": ("first_date", "last_date", "schedule_ids"),
}
"""Type of a record that closes hours -> the fields that say which."""

WAITS_FOR_BUYER = (*CAPS_USED_UP, slots.NO_BUYER)
"""Waits that a change of a buyer, its group, a number, a traffic source or an offer may end."""

PLANNED_BY = (VERSION_NAME, "leadclock", "tzdata", "law", "holidays", "phonenumbers", "places", "cldr")
"""Versions that every plan depends on; the last three say where a person may be."""

_VERSIONS = replan_key("versions")


def adopt(draft: Draft, adoption: Adoption) -> None:
    """Store which leads a sweep must visit because of newer rules or versions."""
    for change in adoption.rule_changes:
        for replan in _replans_of(change, draft.now):
            key = replan_key(f"{change.after.type}/{change.after.id}")
            draft.put(key, _merged(draft.get(key, Replan), replan))
            if replan.company_id is not None and BUYER_CAP in replan.waits:
                waiting_leads.wake_closed(draft, replan.company_id)
    waiting_leads.end_walk(draft)
    before, after = adoption.versions_before, adoption.versions
    changed = [name for name in PLANNED_BY if before and before.get(name) != after.get(name)]
    if changed:
        changes = ", ".join(f"{name} {before.get(name)} -> {after.get(name)}" for name in changed)
        draft.put(_VERSIONS, Replan(cause=f"versions {changes}", due_at=draft.now))


def sweep(draft: Draft, key: str, replan: Replan) -> None:
    """Plan the next batch of leads again; the timer of the entity continues."""
    found = draft.lead_ids_after(replan.after, LEADS_SCANNED_MAX)
    changed = size = 0
    for lead_id in found:
        if changed >= LEADS_AT_ONCE_MAX or size > BYTES_AT_ONCE_MAX:
            break
        replan.after = lead_id
        lead = draft.get(lead_key(lead_id), Lead)
        if lead is None or not _is_concerned(draft.rules, lead, replan):
            continue
        done = draft.run_isolated(partial(_replan_lead, draft, key, lead, replan))
        if isinstance(done, str):  # one lead that fails must not stop the others
            draft.fact("lead.replan_failed", lead_id=lead_id, cause=replan.cause, error=done)
        elif done:
            changed += 1
            size += len(to_json(lead))
    if not found or (len(found) < LEADS_SCANNED_MAX and replan.after == found[-1]):
        draft.remove(key)
        draft.end_lead_sweep()
        return
    replan.due_at = draft.now + 1  # a tick must leave a later timer: one at the same instant counts as stuck
    draft.put(key, replan)


def _replans_of(change: RuleChange, now: Instant) -> Iterator[Replan]:  # noqa: C901 - a branch for each type
    """Yield the sweeps that a newer version of a record requires."""
    before, after = change.before, change.after
    cause = f"{after.type}/{after.id}@{after.version}"
    company_id = after.company_id
    if before is not None and before.version >= after.version:
        return
    if after.type == "contact_hold":
        yield from _replans_of_hold(before, after, now)
        return
    if after.type in HOURS_OF_TYPE and _hours(before) != _hours(after):
        yield Replan(cause=cause, due_at=now, company_id=company_id)
    elif after.type in {"company", "offer", "schedule"} and before is not None:
        kind = {"company": None, "offer": "offer_id", "schedule": "schedule_id"}[after.type]
        replan = Replan(cause=cause, due_at=now, company_id=company_id)
        if kind is not None:
            setattr(replan, kind, after.id)
        body = body_of(after)
        if isinstance(body, Schedule) and body.migrate == "by_step_id" and after.deleted_at is None:
            replan.version = after.version
            yield replan
        elif _may_end_leads(before, after) or _dialled(before) != _dialled(after):
            yield replan
        elif _is_paused(before) and not _is_paused(after):
            replan.waits = (f"{after.type}_paused",)
            yield replan
        elif isinstance(body, Offer) and _buyers(before) != _buyers(after):
            replan.waits = WAITS_FOR_BUYER
            yield replan
    elif after.type in CAPPED_TYPES and before is not None and before.body != after.body:
        yield Replan(cause=cause, due_at=now, company_id=company_id, waits=WAITS_FOR_BUYER)


def _replans_of_hold(before: Record | None, after: Record, now: Instant) -> Iterator[Replan]:
    """Yield the sweep that wakes what a released hold held, or ends the calls under way of a new one that says so."""
    company_id = None if after.company_id == EVERY_COMPANY else after.company_id
    cause = f"{after.type}/{after.id}@{after.version}"
    body = body_of(after)
    if after.deleted_at is not None:
        yield Replan(cause=cause, due_at=now, company_id=company_id, waits=(ON_HOLD,))
    elif before is None and isinstance(body, ContactHold) and body.hang_up and body.covers("call"):
        yield Replan(cause=cause, due_at=now, company_id=company_id, hangs_up=True)


def _may_end_leads(before: Record, after: Record) -> bool:
    """Return whether leads may have to end: their schedule or offer was deleted, or other suppression lists hold."""
    is_gone = after.type in {"schedule", "offer"} and after.deleted_at is not None
    return is_gone or before.body.get("suppression_list_ids") != after.body.get("suppression_list_ids")


def _dialled(record: Record) -> object:
    """Return what a company or offer says about the countries that it dials, and about what it sells, where laws ask."""
    return [record.body.get(name) for name in ("dial_countries", "unreviewed_countries", "sector")]


def _buyers(offer: Record) -> object:
    return [offer.body.get(name) for name in ("buyer_group_ids", "buyer_ids", "agent_ids", "call_center_ids")]


def _hours(record: Record | None) -> object:
    """Return what a record says about hours: renaming it replans no lead."""
    if record is None or record.deleted_at is not None:
        return None
    return [record.body.get(name) for name in HOURS_OF_TYPE[record.type]]


def _is_paused(record: Record) -> bool:
    body = body_of(record)
    return record.deleted_at is None and isinstance(body, Company | Offer | Schedule) and body.paused


def _merged(known: Replan | None, replan: Replan) -> Replan:
    """Return a sweep that starts again and covers both."""
    if known is None:
        return replan
    waits = (*known.waits, *replan.waits) if known.waits and replan.waits else ()
    return structs.replace(replan, version=replan.version or known.version, waits=tuple(dict.fromkeys(waits)))


def _is_concerned(rules: Rules, lead: Lead, replan: Replan) -> bool:
    if replan.company_id is not None and lead.company_id != replan.company_id:
        return False
    if replan.hangs_up:
        return lead.flight is not None and lead.flight.kind == "call"
    if lead.status not in LIVE_STATUSES or (replan.offer_id is not None and lead.offer_id != replan.offer_id):
        return False
    if lead.status == "captured":  # it has no plan, but ends with its offer
        return replan.offer_id is not None and deleted_home(rules, lead) is not None
    if replan.schedule_id is not None:
        return lead.schedule_id == replan.schedule_id and (not replan.waits or lead.status_wait in replan.waits)
    # A held lead is due already: no rule of hours holds it, and its own timer checks it.
    waits_for_slot = lead.slot_queue is not None and BUYER_CAP in replan.waits
    return waits_for_slot or lead.status_wait in replan.waits if replan.waits else lead.held_at is None


def _replan_lead(draft: Draft, key: str, lead: Lead, replan: Replan) -> bool:
    """Plan a lead again; False where that changed nothing."""
    person = Person(draft, lead.company_id, lead.contact_key)
    if replan.hangs_up:
        hang_up(person, lead.flight)  # each lead has its own turn in the sweep
        person.put()
        return True
    person.sweep_key = key
    before, fact_count = to_pack(lead), len(draft.facts)
    _migrate(person, lead, replan.version)
    if key == _VERSIONS:
        _locate(person, lead)
    if ON_HOLD in replan.waits and lead.status_wait == ON_HOLD:
        lead.planned_at = None  # what waited for a hold is not late for that
    if not _is_due_already(person, lead):
        advance(person, lead)
    if lead.slot_queue is not None and lead.status in LIVE_STATUSES:
        _move_to_queue(person, lead)
    if to_pack(lead) == before and len(draft.facts) == fact_count:
        return False
    draft.fact("lead.replanned", lead_id=lead.id, cause=replan.cause, law=person.law.stamp)
    person.put()
    return True


def _locate(person: Person, lead: Lead) -> None:
    """Find again where a person may be: newer tables may know a place, or the clock that it keeps, better."""
    known = Location(lead.zones, lead.zone_source, lead.states)
    found = located_again(lead.columns, lead.caller_id, known)
    if found != known:
        lead.zones, lead.zone_source, lead.states = found.zones, found.source, found.states
        person.save(lead)


def _move_to_queue(person: Person, lead: Lead) -> None:
    """Let a lead that waits for a slot wait for the one that newer rules give it: its place there is by its urgency."""
    step = cadence_for(person, lead).step(lead.step or "")
    if isinstance(step, CallStep):
        slots.move_to_queue(person, lead, choice_for(person, lead, step))


def _is_due_already(person: Person, lead: Lead) -> bool:
    """Return whether a lead is due already: it keeps its place, and is planned by the newest rules at its turn."""
    if lead.wake_at is None or lead.wake_at > person.now:
        return False
    return lead.schedule_id is None or person.rules.body(Schedule, "schedule", lead.schedule_id) is not None


def _migrate(person: Person, lead: Lead, version: int | None) -> None:
    """Pin a lead to a newer version that has its step too; the progress in that step stays."""
    if version is None or lead.schedule_id is None or (lead.schedule_version or 0) >= version:
        return
    schedule = person.rules.schedule(lead.schedule_id, version)
    if schedule is None or (lead.step is not None and not cadence_of(schedule).has(lead.step)):
        person.draft.fact("lead.not_migrated", lead_id=lead.id, step_id=lead.step, version=version)
        return
    lead.schedule_version = version
    person.save(lead)
