"""Does the contact aggregate keep the promises of `Aggregate`: its keys, its timers, the same bytes on replay?"""

from typing import Any

import pytest

from engine.contact.aggregate import ContactAggregate
from engine.partition.aggregate import Aggregate
from engine.partition.decider import Decider
from engine.partition.draft import Draft, RefusedError
from engine.partition.ports import LogRecord
from engine.partition.state import State
from schemas.contact import Head, Relay
from schemas.decisions import Decision, Position
from schemas.envelope import Envelope, to_headers
from schemas.instant import HOUR, Instant
from schemas.requests import CONTACT_REQUESTS, CallerActed, ContactRequest, LeadSubmitted
from schemas.state import head_key, relay_key
from schemas.wire import from_json, to_json
from tests.engine.contact.world import KEY, NEW_YORK, NOON, NUMBER, World

AGGREGATE: Aggregate = ContactAggregate()


def test_it_understands_every_request_of_a_contact() -> None:
    assert AGGREGATE.request_types == CONTACT_REQUESTS
    assert AGGREGATE.requests_topic.name == "contacts.requests"


def test_a_request_belongs_to_the_key_of_its_contact() -> None:
    assert AGGREGATE.key_of(CallerActed(company_id=1, contact_key=KEY, action="remove")) == KEY


def test_what_is_due_is_ordered_by_class_and_priority() -> None:
    world = World()
    world.schedule({"id": "rest", "kind": "wait", "duration": "1h"}, {"id": "call", "kind": "call"})
    lead = world.submit(lead_priority=5.0)
    timer = AGGREGATE.timer("lead/1", lead)
    assert timer is not None
    assert (timer.due_at, timer.urgency_class, timer.priority, timer.id) == (NOON + HOUR, 2, 5.0, lead.id)


@pytest.mark.parametrize(
    ("key", "entity", "due_at"),
    [
        (head_key(KEY), Head(company_id=1, contact_key=KEY), None),
        (head_key(KEY), Head(company_id=1, contact_key=KEY, sweep_at=Instant(7)), 7),
        (
            relay_key("c"),
            Relay(
                command_id="c",
                company_id=1,
                contact_key=KEY,
                reply_to="1|x",
                lead_id=1,
                kind="email",
                emitted_at=Instant(1),
                expires_at=Instant(9),
            ),
            9,
        ),
    ],
)
def test_heads_and_relays_have_timers_of_their_own(key: str, entity: Any, due_at: Instant | None) -> None:
    timer = AGGREGATE.timer(key, entity)
    assert (None if timer is None else timer.due_at) == due_at


def test_a_timer_of_something_that_is_gone_does_nothing() -> None:
    world = World()
    draft = Draft(world.state, now=NOON, rules=world.rules, partition=0, ids=0)
    AGGREGATE.wake(draft, "lead/77", NOON)
    assert draft.changed == {}


def _records() -> list[LogRecord]:
    submitted = LeadSubmitted(
        company_id=1, contact_key=KEY, caller_id=NUMBER, schedule_id=1, zones=(NEW_YORK,), with_key=True
    )
    left = CallerActed(company_id=1, contact_key=KEY, action="opt_out", schedule_id=1)
    requests: list[tuple[str, ContactRequest]] = [
        ("lead.submitted", submitted),
        ("lead.submitted", submitted),
        ("caller.acted", left),
    ]
    return [
        LogRecord(
            topic="contacts.requests",
            partition=0,
            offset=offset,
            key=KEY.encode(),
            value=to_json(request),
            headers=to_headers(Envelope(id=f"r{offset}", type=name, source="/api")),
            appended_at=NOON,
        )
        for offset, (name, request) in enumerate(requests)
    ]


def _decided() -> list[bytes]:
    world = World()
    world.schedule({"id": "call", "kind": "call"}, {"id": "text", "kind": "sms", "template": "Hi"})
    decider = Decider(AGGREGATE, 0, State(), world.rules, Position())
    return [decider.request(record, NOON + record.offset).value for record in _records()]


def test_the_same_inputs_give_the_same_bytes() -> None:
    first, second = _decided(), _decided()
    assert first == second
    decisions = [from_json(value, Decision) for value in first]
    assert [decision.verdict for decision in decisions] == ["done"] * 3
    answers = [decision.answer for decision in decisions]
    assert [(answer.status, answer.dedupe_action) for answer in answers if answer is not None] == [
        (201, "created"),
        (200, "updated"),
        (200, None),
    ]


def test_a_request_about_another_companys_contact_is_refused() -> None:
    world = World()
    with pytest.raises(RefusedError) as refused:
        world.ask(CallerActed(company_id=2, contact_key=KEY, action="opt_out", schedule_id=1))
    assert refused.value.code == "validation_failed"
