"""What does a submission without a key do? It makes leads, and changes none: the rest is kept beside the lead.

What a field may do is `engine.submission.public_rights`. Everybody has a lead token, so a stranger can send anything about
anybody: it changes a stored lead only once a user has accepted it, or where the offer lets forms fill a blank.
"""

from typing import Any

import msgspec

from engine.contact.facts.kept_submissions import drop, keep, kept_of, kept_submission
from engine.contact.facts.person import Outline, Person
from engine.contact.facts.public_contacts import withhold
from engine.contact.lifecycle.stop import mark, opt_out, stop
from engine.contact.lifecycle.unblocking import lift_pending
from engine.contact.lifecycle.walk import plan_inputs, replan_lead
from engine.contact.requests import submission
from engine.contact.requests.update import update
from engine.partition.draft import RefusedError
from engine.submission.fields import is_blank
from engine.submission.public_rights import FILLABLE_COLUMNS, is_fillable
from schemas.contact import LIVE_STATUSES, KeptSubmission, Lead
from schemas.decisions import Answer
from schemas.instant import MINUTE
from schemas.records import Offer
from schemas.requests import KeptSubmissionDecided, LeadSubmitted, LeadUpdateRequested
from schemas.wire import digest, to_json

PUBLIC_LEADS_MAX = 10
"""Live leads of one token and person that a schedule with `duplicate_policy: create` makes without a key. A stranger who
filled the list of the person would keep the company's own leads out."""

DOUBLE_CLICK_WITHIN = MINUTE
"""Two callbacks "in 300 seconds" that are this close are one."""


def submit(person: Person, request: LeadSubmitted) -> None:
    """Decide a submission and answer it. Raises `RefusedError`, and `RepeatedError` for a post that came before."""
    lift_pending(person)
    is_stop = request.opt_out or bool(request.blocked)
    if request.vendor_key is not None and not is_stop:
        person.refuse_repeated_id("lead_map", _name_of_post(request, request.vendor_key))
    if request.is_test and not is_stop:
        submission.create(person, request, submission.target_of(person, request), "created")
        return
    if request.with_key:
        if not (request.opt_out and submission.opt_out_live(person, request)):
            submission.submit(person, request)
        _keep_unsigned(person, request)
        return
    target = submission.target_of(person, request)
    if request.opt_out:
        _opt_out(person, request)
        return
    _, schedule = target
    live = _live_leads(person, request, target)
    policy = "update" if schedule is None else schedule.duplicate_policy
    if not live or (policy == "create" and len(live) < PUBLIC_LEADS_MAX):
        submission.create(person, request, target, "created")
    elif policy == "reject":
        _answer(person, live[0].id, "rejected")
    else:
        lead = next(person.whole([live[0]]))
        _fill_blanks(person, request, lead)
        _answer(person, lead.id, "kept" if _keep(person, request, lead) else "unchanged")


def _keep_unsigned(person: Person, request: LeadSubmitted) -> None:
    """Keep what a signed form brought unsigned beside a lead that it did not make, as what comes without a key."""
    unsigned, answer = request.unsigned, person.draft.answer
    if unsigned is None or answer is None or answer.status == CREATED or answer.record_id is None:
        return
    lead = person.lead(answer.record_id)
    if lead is None or lead.status not in LIVE_STATUSES:
        return
    rest = msgspec.structs.replace(
        request,
        with_key=False,
        unsigned=None,
        **{name: getattr(unsigned, name) for name in KEPT_FIELDS},
    )
    _fill_blanks(person, rest, lead)
    _keep(person, rest, lead)


CREATED = 201

KEPT_FIELDS = ("email", "columns", "data", "zones", "zone_source", "states", "schedule_callback_at")
"""Fields of a submission that are kept beside a lead."""


def _name_of_post(request: LeadSubmitted, vendor_key: str) -> str:
    """Return under which name a post is remembered. Without a key a stranger may have guessed the id: all of it counts."""
    if request.with_key:
        return vendor_key
    return f"{vendor_key}/{digest(to_json([request.email, request.columns, request.data]))}"


def _live_leads(person: Person, request: LeadSubmitted, target: submission.Target) -> list[Outline]:
    """Return the live leads of the token, newest first; with `create_or_update` else those of the whole offer."""
    live = [lead for lead in submission.matching(person, request) if lead.status in LIVE_STATUSES]
    return live if live or not request.create_or_update else submission.live_on_the_offer(person, target)


def _opt_out(person: Person, request: LeadSubmitted) -> None:
    """Opt the person out, as `caller_opt_out` does; no lead is made for that."""
    found = submission.matching(person, request)
    opt_out(person, "submission", offer_id=request.offer_id)
    for lead in person.whole(found[:1]):
        if lead.status != "opt_out":
            stop(person, lead, "opt_out")
        mark(person, lead, "opt_out")
    _answer(person, found[0].id if found else None, "opted_out")


def _answer(person: Person, lead_id: int | None, action: str) -> None:
    ids = () if lead_id is None else (lead_id,)
    person.draft.answer = Answer(status=201, record_type="lead", record_id=lead_id, record_ids=ids, dedupe_action=action)


def _fill_blanks(person: Person, request: LeadSubmitted, lead: Lead) -> None:
    """Fill the blank fields of a stored lead that its offer lets forms fill."""
    offer = person.rules.body(Offer, "offer", lead.offer_id)
    names = () if offer is None else tuple(filter(is_fillable, offer.public_updates))
    columns = _blanks_among(names, request.columns, lead.columns) if names else {}
    data = _blanks_among(names, request.data, lead.data) if names else {}
    columns = {name: value for name, value in columns.items() if name in FILLABLE_COLUMNS}
    if not columns and not data:
        return
    before = plan_inputs(lead)
    submission.merge_fields(lead, columns, data)
    withhold(lead, columns, data)
    person.draft.fact("lead.updated", lead_id=lead.id, public_fields=sorted({*columns, *data}))
    person.save(lead)
    replan_lead(person, lead, before)


def _blanks_among(names: tuple[str, ...], given: dict[str, Any], stored: dict[str, Any]) -> dict[str, Any]:
    return {name: given[name] for name in names if not is_blank(given.get(name)) and is_blank(stored.get(name))}


def _keep(person: Person, request: LeadSubmitted, lead: Lead) -> bool:
    """Keep what a submission brings beside its lead; False where the lead or a kept submission has it already.

    What the lead has already is left out: who accepts it later would take back what was corrected in between.
    """
    request = _what_is_new(lead, request)
    if _brings_nothing(request) or any(_is_same(kept, request) for kept in kept_of(person)):
        return False
    kept = KeptSubmission(
        id=person.draft.next_id(),
        company_id=person.company_id,
        contact_key=person.key,
        lead_id=lead.id,
        created_at=person.now,
        email=request.email,
        columns=request.columns,
        data=request.data,
        zones=request.zones,
        zone_source=request.zone_source,
        states=request.states,
        schedule_callback_at=request.schedule_callback_at,
        by_offer_token=request.schedule_id is None,
    )
    keep(person, kept)
    person.draft.fact("submission.kept", lead_id=lead.id, submission_id=kept.id)
    return True


def _what_is_new(lead: Lead, request: LeadSubmitted) -> LeadSubmitted:
    """Return a submission without the values that the lead has."""
    return msgspec.structs.replace(
        request,
        email=None if request.email == lead.email else request.email,
        columns={name: value for name, value in request.columns.items() if lead.columns.get(name) != value},
        data={name: value for name, value in request.data.items() if lead.data.get(name) != value},
    )


def _brings_nothing(request: LeadSubmitted) -> bool:
    return request.schedule_callback_at is None and not (request.email or request.columns or request.data)


def _is_same(kept: KeptSubmission, request: LeadSubmitted) -> bool:
    if (kept.email, kept.columns, kept.data) != (request.email, request.columns, request.data):
        return False
    callback, asked = kept.schedule_callback_at, request.schedule_callback_at
    if callback is None or asked is None:
        return callback is asked
    return abs(callback - asked) <= DOUBLE_CLICK_WITHIN


def decide_kept(person: Person, request: KeptSubmissionDecided) -> None:
    """Accept a kept submission as an update of its lead by the user, or discard it. Raises `RefusedError`."""
    kept = kept_submission(person, request.submission_id)
    if kept is None:
        raise RefusedError("not_found", "There is no such kept submission: it was accepted, discarded or dropped.")
    if request.accept:
        update(person, _as_update(person, kept))
    drop(person, kept.id)
    person.draft.fact(
        "submission.accepted" if request.accept else "submission.discarded", lead_id=kept.lead_id, submission_id=kept.id
    )
    if not request.accept:
        person.draft.answer = Answer(status=200, record_type="lead", record_id=kept.lead_id, record_ids=(kept.lead_id,))


def _as_update(person: Person, kept: KeptSubmission) -> LeadUpdateRequested:
    """Return the update that a user makes by accepting a submission."""
    lead = person.lead(kept.lead_id)
    request = LeadUpdateRequested(
        company_id=kept.company_id,
        contact_key=kept.contact_key,
        lead_id=kept.lead_id,
        columns=kept.columns,
        data=kept.data,
    )
    changes: dict[str, Any] = {}
    if kept.email is not None:
        changes["email"] = kept.email
    stated = kept.columns.get("time_zone")
    if stated is not None:  # a user who accepts it states it
        changes |= {"zones": (stated,), "zone_source": "stated", "states": kept.states}
    elif kept.zones and kept.zone_source not in submission.WEAK_SOURCES:
        changes |= {"zones": kept.zones, "zone_source": kept.zone_source, "states": kept.states}
    callback_at = kept.schedule_callback_at
    if callback_at is not None and callback_at > person.now and lead is not None and lead.status in LIVE_STATUSES:
        changes |= {"schedule_callback_at": callback_at, "promised_by": "form"}
    return msgspec.structs.replace(request, **changes)
