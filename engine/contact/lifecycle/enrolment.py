"""How is a lead created, and how does it start on a schedule? At the first step, pinned to the current version."""

from engine.contact.commands import slots
from engine.contact.facts.person import Person
from engine.identity import uuid_of
from schemas.contact import LIVE_STATUSES, Lead
from schemas.instant import HOUR, Instant
from schemas.records import Offer, Record, Schedule


def new_lead(person: Person) -> Lead:
    """Return a new lead with default fields."""
    now, lead_id = person.now, person.draft.next_id()
    return Lead(
        id=lead_id,
        uuid=uuid_of("lead", lead_id),
        company_id=person.company_id,
        contact_key=person.key,
        version=0,
        created_at=now,
        updated_at=now,
        base_at=now,
    )


def schedule_of(person: Person, schedule_id: int) -> tuple[Record, Schedule] | None:
    """Return a current schedule of the company; None where it does not exist, was deleted, or is a draft."""
    record = person.rules.record("schedule", schedule_id)
    body = person.rules.body(Schedule, "schedule", schedule_id)
    if record is None or body is None or record.company_id != person.company_id or body.unpublished:
        return None
    return record, body


def expiry(person: Person, lead: Lead, since: Instant, hours: int | None) -> Instant | None:
    """Return when a lead expires: by the hours given, else its schedule's, else its offer's, else never."""
    if hours is None and lead.schedule_id is not None:
        schedule = person.rules.body(Schedule, "schedule", lead.schedule_id)
        hours = None if schedule is None else schedule.hours_to_expire
    elif hours is None:
        offer = person.rules.body(Offer, "offer", lead.offer_id)
        hours = None if offer is None else offer.hours_to_expire
    return None if hours is None else since + hours * HOUR


def enrol(person: Person, lead: Lead, record: Record, *, hours: int | None = None) -> None:
    """Start a lead on a schedule: the run has its own attempts and expiry, the ledger of the number stays.

    A lead that moves to the schedule of another offer belongs to that offer from then on; the token of the first still finds
    it. A live lead keeps its expiry unless hours are given, or it had none before its first schedule. An open command is
    waited for; its outcome moves the old run only.
    """
    slots.withdraw(person, lead)
    was_live = lead.status in LIVE_STATUSES
    has_no_expiry = lead.schedule_id is None and lead.expires_at is None
    if lead.schedule_id != record.id:
        _switch_offer(person, lead, record.id)
    lead.schedule_id, lead.schedule_version = record.id, record.version
    if hours is not None or not was_live or has_no_expiry:
        lead.expires_at = expiry(person, lead, person.now, hours)
    lead.enrolment += 1
    lead.status, lead.status_wait = ("queue", None) if lead.flight is None else ("running", "awaiting_outcome")
    lead.step, lead.step_entered, lead.step_attempts, lead.retries = None, 0, 0, {}
    lead.attempts, lead.connected, lead.failed_channels = 0, False, ()
    lead.ending, lead.is_revived, lead.end_status, lead.schedule_ended_at = False, False, None, None
    lead.opt_out = lead.blocked = False
    lead.base_at, lead.planned_at = person.now, None
    lead.next_action_at = lead.requested_next_action_at = lead.recheck_at = lead.held_at = None
    lead.reasons, lead.zone_deciding, lead.last_outcome = (), None, None
    lead.restarts, lead.fired, lead.schedule_trigger_type = 0, (), None
    lead.disposition_due_at, lead.disposition, lead.heard, lead.pause, lead.judged = None, None, (), None, {}
    lead.first_queued_at = lead.first_queued_at or person.now
    person.draft.fact("lead.enrolled", lead_id=lead.id, schedule_id=record.id, enrolment=lead.enrolment)
    person.save(lead)


def _switch_offer(person: Person, lead: Lead, schedule_id: int) -> None:
    schedule = person.rules.body(Schedule, "schedule", schedule_id)
    if schedule is None or schedule.offer_id is None or schedule.offer_id == lead.offer_id:
        return
    lead.first_offer_id = lead.first_offer_id or lead.offer_id
    lead.offer_id = schedule.offer_id
