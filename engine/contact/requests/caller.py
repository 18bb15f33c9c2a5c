"""What may a person request for themselves by token and number? Opt out, be removed, or move to the end."""

from typing import assert_never

from engine.contact.facts.person import Person, bounded_batch
from engine.contact.facts.result import COMPLETED
from engine.contact.lifecycle.ending import begin_end
from engine.contact.lifecycle.removal import remove
from engine.contact.lifecycle.stop import mark, opt_out, stop
from engine.contact.lifecycle.walk import advance
from engine.contact.requests.submission import matching
from engine.partition.draft import RefusedError
from schemas.contact import LIVE_STATUSES, Lead
from schemas.decisions import Answer
from schemas.requests import CallerActed


def act(person: Person, request: CallerActed) -> None:
    """Carry out the action and answer with the lead, also an ended one. Raises `RefusedError` for no lead or no live one."""
    leads = _matching_leads(person, request)
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
    """Return the newest live lead of the token, else the newest; or all of them, if requested."""
    found = matching(person, request)
    if not found:
        raise RefusedError("not_found", "There is no lead of this token and number.")
    if request.update_all_matching_leads:
        return list(bounded_batch(person.whole(found)))
    return list(person.whole([next((outline for outline in found if outline.status in LIVE_STATUSES), found[0])]))


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
