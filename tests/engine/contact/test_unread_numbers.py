"""Does an opt-out whose number cannot be read hold for each contact that it may mean, and is it reviewed where none is?"""

from typing import Any

import pytest

from engine.contact.lifecycle.unread_numbers import UNREAD_FOR
from engine.partition.draft import RefusedError
from schemas.contact import Head
from schemas.requests import (
    CallerActed,
    LeadSubmitted,
    OptOutReviewed,
    SmsReceived,
    SuppressionChangeRequested,
    UnreadNumber,
)
from schemas.state import head_key
from tests.engine.contact.world import KEY, World

RAW, OTHER = "1|raw:3055550123 / 3055550124", "1|+13055550124"
REST = {"id": "rest", "kind": "wait", "duration": "1d"}
CALL = {"id": "call", "kind": "call"}
KNOWN = UnreadNumber("3055550123 / 3055550124", (KEY, OTHER))
UNKNOWN = UnreadNumber("305-555-XXXX")


def world() -> World:
    made = World()
    made.schedule(REST, CALL)
    made.submit()
    return made


def caller(unread: UnreadNumber) -> CallerActed:
    return CallerActed(company_id=1, contact_key=RAW, action="opt_out", schedule_id=1, unread=unread)


def text(unread: UnreadNumber, body: str = "STOP") -> SmsReceived:
    return SmsReceived(company_id=1, contact_key=RAW, body=body, received_at=World().now, unread=unread)


def listed(unread: UnreadNumber) -> SuppressionChangeRequested:
    return SuppressionChangeRequested(company_id=1, contact_key=RAW, list_id=7, listed=True, source="import", unread=unread)


@pytest.mark.parametrize("request_of", [caller, text], ids=["caller", "text"])
def test_an_opt_out_holds_for_each_contact_that_its_number_may_mean(request_of: Any) -> None:
    made = world()

    made.ask(request_of(KNOWN))

    assert made.head(KEY).opted_out_at == made.head(OTHER).opted_out_at == made.head(RAW).opted_out_at == made.now
    assert made.lead().status == "opt_out"
    assert (made.head(RAW).unread_number, made.head(RAW).review_until) == (None, None)


def test_a_submission_that_opts_out_does_so_for_each_as_well() -> None:
    made = world()

    made.submit(contact_key=RAW, caller_id=None, opt_out=True, unread=KNOWN)

    assert made.head(KEY).opted_out_at == made.head(OTHER).opted_out_at == made.now


def test_a_submission_without_a_key_makes_no_lead_of_it() -> None:
    made = world()
    before = made.lead_ids()

    made.ask(LeadSubmitted(company_id=1, contact_key=RAW, schedule_id=1, opt_out=True, unread=KNOWN))

    assert made.lead_ids() == before
    assert made.head(KEY).opted_out_at == made.now


def test_an_entry_of_a_suppression_list_is_one_of_each() -> None:
    made = world()

    made.ask(listed(KNOWN))

    assert made.head(KEY).suppressed_by == made.head(OTHER).suppressed_by == made.head(RAW).suppressed_by == (7,)
    assert made.head(RAW).unread_number is None


@pytest.mark.parametrize("request_of", [caller, text, listed], ids=["caller", "text", "list"])
def test_one_of_which_no_contact_is_known_waits_for_a_review(request_of: Any) -> None:
    made = world()

    made.ask(request_of(UNKNOWN))

    head = made.head(RAW)
    assert (head.unread_number, head.review_until) == (UNKNOWN.text, made.now + UNREAD_FOR)
    (fact,) = [fact for fact in made.facts if fact.type == "contact.optout_review"]
    assert fact.data["unread_number"] == UNKNOWN.text
    assert made.lead().status != "opt_out"


@pytest.mark.parametrize("body", ["Who is this?", "Yes please", ""])
def test_a_text_that_is_no_opt_out_waits_for_none(body: str) -> None:
    made = world()

    made.ask(text(UNKNOWN, body))

    assert made.state.get(head_key(RAW), Head) is None
    assert [fact.type for fact in made.facts if fact.type.startswith("contact.")] == []


def review(*keys: str, opt_out: bool = True) -> OptOutReviewed:
    return OptOutReviewed(company_id=1, contact_key=RAW, opt_out=opt_out, keys=keys)


@pytest.mark.parametrize("request_of", [caller, text, listed], ids=["caller", "text", "list"])
def test_whose_it_is_somebody_says_and_then_it_holds_for_them(request_of: Any) -> None:
    made = world()
    made.ask(request_of(UNKNOWN))

    made.ask(review(KEY, OTHER))

    assert (made.head(RAW).unread_number, made.head(RAW).review_until) == (None, None)
    assert made.head(KEY).opted_out_at == made.head(OTHER).opted_out_at == made.now
    assert made.head(KEY).suppressed_by == made.head(RAW).suppressed_by
    assert made.lead().status == "opt_out"
    with pytest.raises(RefusedError):
        made.ask(review(KEY))


@pytest.mark.parametrize("decision", [review(), review(opt_out=False)], ids=["nobody's", "no opt-out"])
def test_one_that_is_nobodys_is_settled_without_a_number(decision: OptOutReviewed) -> None:
    made = world()
    made.ask(caller(UNKNOWN))

    made.ask(decision)

    assert made.head(RAW).review_until is None
    assert made.head(KEY).opted_out_at is None


def test_a_second_one_of_the_same_text_waits_once() -> None:
    made = world()
    made.ask(caller(UNKNOWN))
    until = made.head(RAW).review_until
    made.wait(60)

    made.ask(caller(UNKNOWN))

    assert made.head(RAW).review_until == until
    assert len([fact for fact in made.facts if fact.type == "contact.optout_review"]) == 1
