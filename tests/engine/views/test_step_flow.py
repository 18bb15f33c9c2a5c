"""How many leads went on from each step, and where to? By tables of what leads did, in words of a small language."""

from collections.abc import Sequence
from typing import Any

import pytest

from engine.rules import Rules
from engine.views.step_flow import LeadPath, StepFlow, count_step_flow
from schemas.instant import EPOCH
from schemas.records import Record

COMPANY, OURS, THEIRS = 7, 1, 2
STEPS = ("call", "text", "mail", "again")


def rules(*versions: Sequence[str], company_id: int = COMPANY) -> Rules:
    """Return rules with versions of the schedule, each with texts of these ids; the last one is an end step."""
    found = Rules()
    for number, ids in enumerate(versions, 1):
        steps = [{"id": step, "kind": "sms", "template": "Hi"} for step in ids]
        body: dict[str, Any] = {"name": "Solar", "lead_token": "solar", "steps": steps[:-1], "end_steps": steps[-1:]}
        about: dict[str, Any] = {"created_at": EPOCH, "updated_at": EPOCH, "uuid": "u", "sequence": number}
        record = Record(type="schedule", id=OURS, company_id=company_id, version=number, body=body, **about)
        found.apply(0, record)
    return found


def path(words: str, *, is_at: str | None = None) -> LeadPath:
    """Return a lead of `words`: a step is a visit, `>1` an entry of schedule 1; a status as the last one is its end."""
    *before, last = words.split()
    is_live = last == "live"
    steps = [None if word.startswith(">") else word for word in before]
    entries = [int(word.removeprefix(">")) if word.startswith(">") else None for word in before]
    return LeadPath("scheduled" if is_live else last, is_live, is_at, steps, entries)


def flow(*paths: LeadPath, known: Rules | None = None, company_id: int = COMPANY) -> StepFlow:
    return count_step_flow(known or rules(STEPS), company_id, OURS, paths)


def said(found: StepFlow) -> dict[str, str]:
    """Return what became of the leads at each step, in words: `2→text 1 there 1 expired`."""
    return {step: " ".join(_said(counts.next, counts.still_there, counts.endings)) for step, counts in found.steps.items()}


def _said(onward: Any, there: int, endings: Any) -> list[str]:
    parts = [f"{count}→{step}" for step, count in onward.most_common()]
    parts += [f"{there} there"] if there else []
    return parts + [f"{count} {status}" for status, count in endings.most_common()]


TABLE: tuple[tuple[str, str, dict[str, str]], ...] = (
    ("a lead that is at its first step", ">1 call live", {"call": "1 there"}),
    ("a lead that went on", ">1 call text live", {"call": "1→text", "text": "1 there"}),
    ("a lead that ended", ">1 call text expired", {"call": "1→text", "text": "1 expired"}),
    ("a branch that passes a step over", ">1 call mail completed", {"call": "1→mail", "mail": "1 completed"}),
    ("a retry is one visit", ">1 call call call text live", {"call": "1→text", "text": "1 there"}),
    ("a restart counts by the last visit", ">1 call text >1 call live", {"call": "1 there", "text": "1→call"}),
    (
        "a restart that went further than before",
        ">1 call text >1 call text mail live",
        {"call": "1→text", "text": "1→mail", "mail": "1 there"},
    ),
    ("a loop back", ">1 call text call mail dnc", {"call": "1→mail", "text": "1→call", "mail": "1 dnc"}),
    ("a move from another schedule with the same step", ">2 call text >1 call live", {"call": "1 there"}),
    ("a move away and back", ">1 call text >2 call >1 mail live", {"mail": "1 there"}),
    ("a lead whose older facts are not known", "call text live", {"call": "1→text", "text": "1 there"}),
    ("older facts that may be of another schedule", "call text >1 mail live", {"mail": "1 there"}),
    ("a step that no version has", ">1 call tag-it text live", {"call": "1→text", "text": "1 there"}),
    ("a lead that ended before its first step", ">1 opt_out", {}),
)


@pytest.mark.parametrize(("what", "words", "expected"), TABLE, ids=[row[0] for row in TABLE])
def test_a_lead_counts_where_it_went(what: str, words: str, expected: dict[str, str]) -> None:
    found = flow(path(words))
    assert said(found) == expected, what
    assert found.nowhere == (not expected)


def test_a_live_lead_is_at_the_step_that_its_row_names() -> None:
    found = flow(path(">1 call live", is_at="text"), path(">1 call live", is_at="call"), path(">1 call live", is_at=None))
    assert said(found) == {"call": "1→text 2 there", "text": "1 there"}


def test_who_went_on_is_there_and_ended_are_all_that_reached_a_step() -> None:
    ends = ("live", "expired", "expired", "dnc")
    found = flow(*(path(f">1 call {end}") for end in ends), path(">1 call text live"), path(">1 call mail live"))
    call = found.steps["call"]
    assert (call.reached, call.went_on, call.still_there, call.ended) == (6, 2, 1, 3)
    assert call.reached == call.went_on + call.still_there + call.ended
    assert said(found)["call"] == "1→text 1→mail 1 there 2 expired 1 dnc"


def test_steps_come_in_the_order_of_the_newest_version_and_then_those_of_earlier_ones() -> None:
    known = rules(("gone", "call", "end"), ("mail", "call", "text", "end"))
    leads = (path(">1 gone call text live"), path(">1 mail call end completed"))
    assert list(flow(*leads, known=known).steps) == ["mail", "call", "text", "end", "gone"]


def test_a_step_that_no_lead_reached_has_no_row() -> None:
    assert list(flow(path(">1 call live")).steps) == ["call"]


def test_the_steps_of_another_company_are_not_known() -> None:
    found = flow(path(">1 call live"), known=rules(STEPS, company_id=8))
    assert (found.steps, found.nowhere) == ({}, 1)


def test_a_lead_whose_entry_is_not_known_lacks_its_first_steps() -> None:
    assert flow(path(">1 call live"), path("call live"), path("opt_out"), path(">2 call live")).cut == 3
