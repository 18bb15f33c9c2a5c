"""Does the garbage collector leave alone what a partition decides? Examining it took a tenth of the time of deciding."""

import gc
from typing import Any

import pytest
from msgspec import Struct

from engine.partition.decider import Sealed
from schemas.decisions import Decision, DecisionPart
from schemas.requests import REQUEST_TYPES
from schemas.state import ENTITIES, Stream
from schemas.wire import from_pack, to_pack

DECIDED = (*ENTITIES.values(), *REQUEST_TYPES, Decision, *DecisionPart.__subclasses__(), Sealed)


@pytest.mark.parametrize("kind", DECIDED, ids=lambda kind: kind.__name__)
def test_no_value_of_a_decision_is_examined_by_the_garbage_collector(kind: type[Struct]) -> None:
    assert not kind.__struct_config__.gc


def test_a_value_that_was_packed_and_read_again_is_not_examined_either() -> None:
    stream = Stream(number=7)
    found: list[Any] = [stream, from_pack(to_pack(stream), Stream)]
    assert found[0] == found[1]
    assert not any(gc.is_tracked(one) for one in found)
