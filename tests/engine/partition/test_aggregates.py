"""What does every aggregate promise its partition? One suite for both; `test_timer_fields` has the timers."""

import pytest

from engine.account.aggregate import AccountAggregate
from engine.contact.aggregate import ContactAggregate
from engine.partition.aggregate import Adoption, Aggregate
from engine.partition.draft import Draft
from engine.partition.state import State
from engine.rules import Rules
from schemas.instant import Instant
from schemas.state import ENTITIES
from schemas.topics import TOPICS
from schemas.wire import Entity, packed_name, to_pack
from tests.schemas.corpus import sample

NOW = Instant(1_781_715_600_000)

AGGREGATES = [pytest.param(aggregate, id=type(aggregate).__name__) for aggregate in (ContactAggregate(), AccountAggregate())]
EVERY = pytest.mark.parametrize("aggregate", AGGREGATES)


def draft_of() -> Draft:
    return Draft(State(), now=NOW, rules=Rules(), partition=0, ids=0)


@EVERY
def test_it_reads_decides_and_stores_on_three_topics_of_its_own(aggregate: Aggregate) -> None:
    topics = [aggregate.requests_topic, aggregate.decisions_topic, aggregate.state_topic]
    assert len({topic.name for topic in topics}) == 3
    assert all(topic in TOPICS for topic in topics)
    assert aggregate.state_topic.cleanup == "compact"


@EVERY
def test_every_request_that_it_understands_belongs_to_a_key(aggregate: Aggregate) -> None:
    assert all(aggregate.key_of(sample(kind)) for kind in aggregate.request_types.values())  # type: ignore[arg-type]


@EVERY
def test_giving_up_an_entity_that_is_gone_changes_nothing(aggregate: Aggregate) -> None:
    for kind in ENTITIES:
        draft = draft_of()
        aggregate.give_up(draft, f"{kind}/77", "decision_failed")
        assert draft.changed == {}


@EVERY
def test_an_adoption_of_nothing_changes_nothing(aggregate: Aggregate) -> None:
    draft = draft_of()
    aggregate.adopt(draft, Adoption())
    assert draft.changed == {}


@EVERY
def test_an_entity_with_a_claim_has_its_claim_fields_and_a_timer(aggregate: Aggregate) -> None:
    for kind, fields in aggregate.claim_fields.items():
        entity = sample(ENTITIES[kind])
        assert isinstance(entity, Entity)
        if aggregate.claim(entity) is not None:
            assert all(packed_name(field) in to_pack(entity) for field in fields)
            assert aggregate.timer(f"{kind}/1", entity) is not None
