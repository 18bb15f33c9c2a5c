"""What may a person request for themselves by token and number? Opt out, be removed, or move to the end."""

from typing import assert_never

from engine.contact.facts.person import Person, bounded_batch
from engine.contact.facts.result import COMPLETED
from engine.contact.lifecycle.ending import begin_end
from engine.contact.lifecycle.moving import forward
from engine.contact.lifecycle.removal import remove
from engine.contact.lifecycle.stop import mark, opt_out, stop
from engine.contact.lifecycle.walk import advance
from engine.contact.requests.submission import matching
from engine.partition.draft import RefusedError
from schemas.contact import LIVE_STATUSES, Lead
from schemas.decisions import Answer
from schemas.records import Schedule
from schemas.requests import CallerActed


def act(person: Person, request: CallerActed) -> None:
    """Carry out the action and answer with the lead, also an ended one. Raises `RefusedError` for no lead or no live one.

    An opt-out of a person without a lead of the token is stored all the same.
    """
    leads = _matching_leads(person, request)
    if not leads:
        if request.lead_id is None or not forward(person, request, request.lead_id):
            _answer_without_lead(person, request)
        return
    match request.action:
        case "opt_out":
            _opt_out(person, leads)
        case "remove":
            for lead in leads:
                remove(person, lead, "caller_remove")
        case "move_to_end":
            _move_to_end(person, leads, keeps_callback=request.keep_callback)
        case _:
            assert_never(request.action)
    ids = tuple(lead.id for lead in leads)
    person.draft.answer = Answer(status=200, record_type="lead", record_id=ids[0], record_ids=ids)


def _matching_leads(person: Person, request: CallerActed) -> list[Lead]:
    """Return the newest live lead of the token, else the newest; or all of them, if requested; or that of the link."""
    if request.lead_id is not None:
        return [lead for lead in (person.lead(request.lead_id),) if lead is not None]
    found = matching(person, request)
    if not found:
        return []
    if request.update_all_matching_leads:
        return list(bounded_batch(person.whole(found)))
    return list(person.whole([next((outline for outline in found if outline.status in LIVE_STATUSES), found[0])]))


def _answer_without_lead(person: Person, request: CallerActed) -> None:
    """Answer where no lead matches; an opt-out is stored. Raises `RefusedError` where nothing was asked that holds."""
    detail = "There is no lead of this token and number."
    if request.action != "opt_out":
        raise RefusedError("not_found", detail)
    opt_out(person, "caller_opt_out", offer_id=offer_of_token(person, request))
    person.draft.answer = Answer(status=404, code="not_found", detail=f"{detail} The opt-out is stored all the same.")


def offer_of_token(person: Person, request: CallerActed) -> int | None:
    """Return the offer that a lead token speaks of: its own, or that of its schedule."""
    schedule = person.rules.body(Schedule, "schedule", request.schedule_id)
    return request.offer_id if schedule is None else schedule.offer_id


def _opt_out(person: Person, leads: list[Lead]) -> None:
    for offer_id in dict.fromkeys(lead.offer_id for lead in leads):
        opt_out(person, "caller_opt_out", offer_id=offer_id)
    for lead in leads:
        if lead.status != "opt_out":
            stop(person, lead, "opt_out")
        mark(person, lead, "opt_out")  # also where an earlier one was lifted


def _move_to_end(person: Person, leads: list[Lead], *, keeps_callback: bool) -> None:
    live = [lead for lead in leads if lead.status in LIVE_STATUSES]
    if not live:
        raise RefusedError("lead_not_live", "The lead has ended; there is no schedule to move to the end of.")
    for lead in live:
        if not lead.ending:
            begin_end(person, lead, COMPLETED, keeps_callback=keeps_callback)
            advance(person, lead)
