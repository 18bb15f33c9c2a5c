"""Does the recount of a proof find who was contacted again, and counts that are wrong?"""

from typing import Any

from msgspec import structs

from deploy.proof.attempts import Attempts
from schemas.contact import Lead
from schemas.decisions import Cause, Decision, Fact
from schemas.instant import EPOCH, Instant
from tests.schemas.corpus import sample


def decision(at: int, *facts: tuple[str, dict[str, Any]]) -> Decision:
    made = tuple(Fact(type=type_, lead_id=7, data=data) for type_, data in facts)
    whole = sample(Decision)
    assert isinstance(whole, Decision)
    assert isinstance(whole.cause, Cause)
    return structs.replace(whole, facts=made, decided_at=Instant(at))


def emitted(command_id: str, kind: str = "call", step_id: str = "first") -> tuple[str, dict[str, Any]]:
    return "command.emitted", {"command_id": command_id, "kind": kind, "step_id": step_id}


def recorded(command_id: str, outcome: str) -> tuple[str, dict[str, Any]]:
    return "outcome.recorded", {"command_id": command_id, "kind": "call", "outcome": outcome}


def taken(*facts: tuple[str, dict[str, Any]]) -> Attempts:
    found = Attempts()
    for at, fact in enumerate(facts):
        found.take(decision(at, fact))
    return found


def lead(**counts: Any) -> dict[int, Lead]:
    about: dict[str, Any] = {"company_id": 1, "contact_key": "1|+1", "created_at": EPOCH, "updated_at": EPOCH}
    return {7: Lead(id=7, uuid="u", **about, **counts)}


def test_who_was_reached_and_is_contacted_at_the_same_step_is_named() -> None:
    again = taken(emitted("a"), recorded("a", "unknown"), recorded("a", "connected_buyer"), emitted("b"))
    assert list(again.again()) == ["b of lead 7, at step first"]
    before = taken(emitted("a"), recorded("a", "unknown"), emitted("b"), recorded("a", "connected_buyer"))
    assert list(before.again()) == []
    next_step = taken(emitted("a"), recorded("a", "connected_buyer"), emitted("b", "sms", "next"))
    assert list(next_step.again()) == []


def test_a_command_without_an_outcome_is_named() -> None:
    assert list(taken(emitted("a"), emitted("b"), recorded("a", "busy")).without_outcome()) == ["b"]


def test_partitions_may_be_read_in_any_order() -> None:
    found = Attempts()
    found.take(decision(20, recorded("a", "connected_buyer")))
    found.take(decision(10, emitted("a")))
    found.take(decision(15, emitted("b")))
    found.take(decision(25, emitted("c")))

    assert list(found.again()) == ["c of lead 7, at step first"]
    assert list(found.without_outcome()) == ["b", "c"]


def test_counts_are_those_of_the_outcomes_that_stand() -> None:
    found = taken(
        *(emitted(name) for name in "abc"),
        recorded("a", "unknown"),
        recorded("a", "expired"),
        recorded("b", "congestion"),
        recorded("c", "connected_human"),
        recorded("c", "unknown"),
    )
    assert list(found.differences(lead(attempts=1, outbound_calls_count=2))) == []
    assert list(found.differences(lead(attempts=2, outbound_calls_count=2))) == [
        "lead 7 has {'attempts': 2, 'call': 2, 'sms': 0}, its commands say {'attempts': 1, 'call': 2, 'sms': 0}"
    ]
