"""How is a person stopped if a request cannot be decided completely? Only the head changes, and commands are fenced.

An opt-out, a block and the deletion of a lead must not fail because the state of the person is too large for a decision, or
because deciding raises. This decision is a few hundred bytes beside the head. The head's own timer ends the leads, a bounded
number at a time, and each is checked against the head before any command anyway.
"""

from collections.abc import Callable, Mapping
from typing import Any

from msgspec import UNSET, structs

from engine.contact.facts.call_record import CALLS_LISTED_MAX
from engine.contact.facts.ledger import compact, row_of
from engine.contact.facts.person import Person
from engine.contact.lifecycle.removal import delete
from engine.contact.lifecycle.stop import block, opt_out
from engine.contact.requests.caller import offer_of_token
from engine.contact.requests.contact_changes import change_block, change_suppression, unsubscribe
from engine.contact.requests.dispositions import apply_group_stops, apply_stops
from engine.contact.requests.replies import answer_repeat, decide_review, read_text, receive
from engine.contact.requests.submission import matching
from engine.limits import RECORD_BYTES_MAX
from schemas.contact import LIVE_STATUSES
from schemas.decisions import Answer
from schemas.records import CallDisposition
from schemas.requests import (
    CallerActed,
    CallUpdateRequested,
    ContactBlockRequested,
    ContactRequest,
    LeadDeleteRequested,
    LeadMoved,
    LeadSubmitted,
    LeadUpdateRequested,
    OptOutReviewed,
    OutcomeRecorded,
    SmsReceived,
    SuppressionChangeRequested,
    UnsubscribeRequested,
)
from schemas.wire import to_json

HEAD_BYTES_MAX = RECORD_BYTES_MAX // 2
"""Of a head as JSON: a larger one was written before its lists had limits, and is shortened to fit."""

LEADS_KEPT_MAX = 10_000
"""Newest leads that a shortened head lists. The others end when they are due."""


def stop_only(person: Person, request: ContactRequest) -> bool:
    """Decide only the stop that a request contains; return False where it contains none.

    `person.draft.answer` is set where the request contains nothing else.
    """
    rule = _RULES.get(type(request))
    if rule is None:
        return False
    person.ends_leads_later = True
    if not rule(person, request):
        return False
    if len(to_json(person.head)) > HEAD_BYTES_MAX:
        _shorten(person)
    return True


def _shorten(person: Person) -> None:
    head = person.head
    head.lead_ids, head.sweep_from = head.lead_ids[-LEADS_KEPT_MAX:], 0
    head.call_ids = head.call_ids[-CALLS_LISTED_MAX:]
    head.seen, head.moved, head.deleted_refs = {}, {}, ()
    compact(head)
    person.draft.fact("contact.shortened", leads=len(head.lead_ids))


def _of_caller(person: Person, request: CallerActed) -> bool:
    if request.action != "opt_out":
        return False
    leads = matching(person, request)
    if not leads:
        opt_out(person, "caller_opt_out", offer_id=offer_of_token(person, request))
        return True
    if not request.update_all_matching_leads:
        leads = [next((lead for lead in leads if lead.status in LIVE_STATUSES), leads[0])]
    for offer_id in dict.fromkeys(lead.offer_id for lead in leads):
        opt_out(person, "caller_opt_out", offer_id=offer_id)
    _answer(person, leads[0].id)
    return True


def _of_update(person: Person, request: LeadUpdateRequested) -> bool:
    lead = person.lead(request.lead_id)
    if lead is None or (request.opt_out is not True and request.blocked is not True):
        return False
    if request.blocked is True:
        block(person, "lead_update")
    if request.opt_out is True:
        opt_out(person, "lead_update", offer_id=lead.offer_id)
    rest = structs.replace(request, opt_out=UNSET, blocked=UNSET, if_versions=None)
    if rest == LeadUpdateRequested(company_id=rest.company_id, contact_key=rest.contact_key, lead_id=rest.lead_id):
        _answer(person, lead.id)
    return True


def _of_submission(person: Person, request: LeadSubmitted) -> bool:
    if request.blocked:
        block(person, "submission")
    if request.opt_out:
        opt_out(person, "submission", offer_id=request.offer_id)
    return bool(request.blocked) or request.opt_out


def _of_move(person: Person, request: LeadMoved) -> bool:
    if request.blocked:
        block(person, "lead_update")
    if request.opt_out:
        opt_out(person, "lead_update")
    return request.blocked or request.opt_out


def _of_text(person: Person, request: SmsReceived) -> bool:
    if read_text(person, request) != "opt_out":
        return False
    if not answer_repeat(person, request):
        receive(person, request)
    return True


def _of_outcome(person: Person, request: OutcomeRecorded) -> bool:
    row = row_of(request.kind, request.outcome)
    if row is None or not row.opts_out:
        return False
    lead = person.lead(request.lead_id)
    opt_out(person, f"outcome {request.outcome}", offer_id=None if lead is None else lead.offer_id, channel=request.kind)
    return True


def _of_disposition(person: Person, request: CallUpdateRequested) -> bool:
    call = person.call(request.call_id)
    if call is None or request.call_disposition_id in {UNSET, None}:
        return False
    disposition = person.rules.body(CallDisposition, "call_disposition", request.call_disposition_id)
    if disposition is None:
        return False
    lead = None if call.lead_id is None else person.lead(call.lead_id)
    facts = len(person.draft.facts)
    apply_stops(person, lead, disposition)
    if lead is not None:
        apply_group_stops(person, lead, disposition)
    return len(person.draft.facts) > facts


def _of_deletion(person: Person, request: LeadDeleteRequested) -> bool:
    lead = person.lead(request.lead_id)
    if lead is None:
        return False
    delete(person, lead, calls_too=False)
    _answer(person, lead.id)
    return True


def _of_block(person: Person, request: ContactBlockRequested) -> bool:
    if request.blocked:
        change_block(person, structs.replace(request, hangup_live=False))
    return request.blocked


def _of_suppression(person: Person, request: SuppressionChangeRequested) -> bool:
    if request.listed:
        change_suppression(person, request)
    return request.listed


def _of_review(person: Person, request: OptOutReviewed) -> bool:
    if request.opt_out:
        decide_review(person, request)
    return request.opt_out


def _of_unsubscribe(person: Person, request: UnsubscribeRequested) -> bool:
    unsubscribe(person, request)
    return True


def _answer(person: Person, lead_id: int) -> None:
    person.draft.answer = Answer(status=200, record_type="lead", record_id=lead_id, record_ids=(lead_id,))


_RULES: Mapping[type[ContactRequest], Callable[[Person, Any], bool]] = {
    CallerActed: _of_caller,
    LeadUpdateRequested: _of_update,
    LeadSubmitted: _of_submission,
    LeadMoved: _of_move,
    SmsReceived: _of_text,
    OutcomeRecorded: _of_outcome,
    CallUpdateRequested: _of_disposition,
    LeadDeleteRequested: _of_deletion,
    ContactBlockRequested: _of_block,
    SuppressionChangeRequested: _of_suppression,
    OptOutReviewed: _of_review,
    UnsubscribeRequested: _of_unsubscribe,
}
