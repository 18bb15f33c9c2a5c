"""Is what an aggregate declares about values without a timer true?"""

import msgspec
import pytest
from msgspec.structs import fields

from engine.account.aggregate import AccountAggregate
from engine.contact.aggregate import ContactAggregate
from engine.partition.aggregate import Aggregate
from schemas.state import ENTITIES
from schemas.wire import Entity, packed_name, to_pack
from tests.schemas.corpus import sample

CASES = [
    pytest.param(aggregate, kind, field, id=f"{type(aggregate).__name__} {kind}")
    for aggregate in (ContactAggregate(), AccountAggregate())
    for kind, field in aggregate.timer_fields.items()
]


@pytest.mark.parametrize(("aggregate", "kind", "field"), CASES)
def test_a_value_without_the_field_has_no_timer(aggregate: Aggregate, kind: str, field: str | None) -> None:
    whole = sample(ENTITIES[kind])
    assert isinstance(whole, Entity)
    if field is not None:
        assert packed_name(field) in to_pack(whole)
        default = next(one.default for one in fields(ENTITIES[kind]) if one.name == field)
        whole = msgspec.structs.replace(whole, **{field: default})
    assert aggregate.timer(f"{kind}/1", whole) is None


@pytest.mark.parametrize(("aggregate", "kind", "field"), CASES)
def test_a_value_that_has_a_timer_shows_the_field_in_its_bytes(aggregate: Aggregate, kind: str, field: str | None) -> None:
    whole = sample(ENTITIES[kind])
    assert isinstance(whole, Entity)
    timer = aggregate.timer(f"{kind}/1", whole)
    assert (timer is not None) == (field is not None)


@pytest.mark.parametrize("kind", [kind for kind, field in ContactAggregate().timer_fields.items() if field is not None])
def test_a_timer_takes_its_turn_with_the_company_of_its_value(kind: str) -> None:
    whole = sample(ENTITIES[kind])
    assert isinstance(whole, Entity)
    timer = ContactAggregate().timer(f"{kind}/1", whole)
    assert timer is not None
    assert timer.company_id == getattr(whole, "company_id", None) != 0
