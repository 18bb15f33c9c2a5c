"""Which blocks does an unblock contact job lift? Those of its span, contact by contact, a bounded number in each tick.

The job is an account record, which every partition adopts. Each sweeps its own contacts by key, from a cursor of its own,
and keeps what it has counted. An opt-out, the do-not-call list and the leads that have ended stay as they are. What is
submitted once the job is made is decided as if the job had come to its contact.
"""

from functools import partial

from engine.contact.facts.person import BYTES_AT_ONCE_MAX, LEADS_AT_ONCE_MAX, Person, bounded_batch
from engine.contact.lifecycle import stop
from engine.contact.lifecycle.resuming import resume
from engine.contact.lifecycle.walk import advance
from engine.partition.aggregate import Adoption, RuleChange
from engine.partition.draft import Draft
from schemas.contact import Head, UnblockSweep
from schemas.instant import Instant
from schemas.records import UnblockContactJob, body_of
from schemas.requests import UnblockSweepEnded
from schemas.state import head_key, unblock_key
from schemas.topics import ACCOUNTS_REQUESTS
from schemas.wire import to_json

CONTACTS_SCANNED_MAX = 500
"""Contacts scanned in one tick: some 5 ms where none is blocked."""

JOB = "unblock_contact_job"


def adopt(draft: Draft, adoption: Adoption) -> None:
    """Begin the sweep of a new job; cancel that of a deleted one."""
    for change in adoption.rule_changes:
        if change.after.type != JOB:
            continue
        key = unblock_key(change.after.id)
        known = draft.get(key, UnblockSweep)
        if change.after.deleted_at is not None:
            _cancel(draft, key, known)
        elif known is None and change.before is None:
            draft.put(key, _sweep_of(change, draft.now))


def sweep(draft: Draft, key: str, job: UnblockSweep) -> None:
    """Lift the blocks of the next batch of contacts; the timer of the entity continues."""
    found = draft.contact_keys_after(job.company_id, job.after, CONTACTS_SCANNED_MAX)
    changed = size = 0
    for contact_key in found:
        if changed >= LEADS_AT_ONCE_MAX or size > BYTES_AT_ONCE_MAX:
            break
        job.after = contact_key
        head = draft.get(head_key(contact_key), Head)
        if head is None or not _is_within(head.blocked_at, job):
            continue
        before = set(draft.changed)
        done = draft.run_isolated(partial(_unblock, draft, job, contact_key))
        if isinstance(done, str):  # one contact that fails must not stop the others
            job.failed_count += 1
            draft.fact("contact.unblock_failed", cause=_cause(job), contact_key=contact_key, error=done)
            continue
        job.unblock_count += 1
        job.last_contact_key, job.last_unblocked_at = contact_key, draft.now
        added = [draft.changed[name] for name in draft.changed.keys() - before]
        changed += len(added)
        size += sum(len(to_json(entity)) for entity in added)
    job.version += 1
    job.due_at = draft.now + 1  # a tick must leave a later timer: one at the same instant counts as stuck
    if not found or (len(found) < CONTACTS_SCANNED_MAX and job.after == found[-1]):
        job.due_at, job.ended_at = None, draft.now
        draft.end_contact_sweep(job.company_id)
        draft.fact("unblock_sweep.ended", cause=_cause(job), unblock_count=job.unblock_count, failed_count=job.failed_count)
        _report_end(draft, job)
    draft.put(key, job)


def _sweep_of(change: RuleChange, now: Instant) -> UnblockSweep:
    record = change.after
    body = body_of(record)
    assert isinstance(body, UnblockContactJob)  # noqa: S101 - of that type
    made_at = record.created_at
    until = made_at if body.blocked_at_to is None else min(body.blocked_at_to, made_at)
    return UnblockSweep(
        company_id=record.company_id,
        job_id=record.id,
        blocked_from=body.blocked_at_from,
        blocked_until=until,
        made_at=made_at,
        due_at=now,
        contact_partitions=body.contact_partitions,
    )


def _cancel(draft: Draft, key: str, known: UnblockSweep | None) -> None:
    if known is None or known.due_at is None:
        return
    known.version += 1
    known.due_at, known.canceled_at = None, draft.now
    draft.end_contact_sweep(known.company_id)
    draft.put(key, known)
    draft.fact("unblock_sweep.canceled", cause=_cause(known), unblock_count=known.unblock_count)


def _report_end(draft: Draft, job: UnblockSweep) -> None:
    """Tell the account that this partition is done, where the request for the job said how many partitions there are."""
    if job.contact_partitions is None:
        return
    message = UnblockSweepEnded(
        company_id=job.company_id,
        job_id=job.job_id,
        contact_partitions=job.contact_partitions,
        unblock_count=job.unblock_count,
        failed_count=job.failed_count,
    )
    draft.send(ACCOUNTS_REQUESTS.name, str(job.company_id), message)


def _is_within(blocked_at: Instant | None, job: UnblockSweep) -> bool:
    if blocked_at is None or blocked_at >= job.blocked_until:
        return False
    return job.blocked_from is None or blocked_at >= job.blocked_from


def _unblock(draft: Draft, job: UnblockSweep, contact_key: str) -> bool:
    person = Person(draft, job.company_id, contact_key)
    _lift(person, job)
    person.put()
    return True


def lift_pending(person: Person) -> None:
    """Lift the block of a person whom a job covers that has not come to them yet: a submission is decided after the job."""
    if person.head.blocked_at is None:
        return
    for record in person.rules.records(JOB, person.company_id):
        key = unblock_key(record.id)
        job = person.draft.get(key, UnblockSweep)
        if job is None or job.due_at is None or not _is_within(person.head.blocked_at, job):
            continue
        _lift(person, job)
        job.unblock_count += 1
        job.last_contact_key, job.last_unblocked_at = person.key, person.now
        job.version += 1
        person.draft.put(key, job)
        return


def _lift(person: Person, job: UnblockSweep) -> None:
    """Lift the block, and begin what was submitted since the job was made, and ended as blocked before it came here."""
    stop.unblock(person, cause=_cause(job), contact_key=person.key)
    for lead in bounded_batch(person.leads(lambda one: one.status == "blocked")):
        was_born_blocked = lead.stopped is None and lead.created_at >= job.made_at
        if was_born_blocked and stop.end_reason(person, lead.offer_id, lead.schedule_id) is None:
            resume(person, lead)
            advance(person, lead)


def _cause(job: UnblockSweep) -> str:
    return f"{JOB}/{job.job_id}"
