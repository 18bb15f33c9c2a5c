"""Do any two fields of a call, a text or an e-mail do together what the documents say, on time, late and in silence?"""

from itertools import combinations
from typing import Any

import pytest
from msgspec.structs import fields

from schemas.schedule import STEP_KINDS
from tests.engine.pairs.covering import Case, Choices, covering_array, pairs_in, pairs_of
from tests.engine.pairs.steps import (
    FIELDS,
    GROUNDS,
    NEVER_TOGETHER,
    NOT_HERE,
    PLAIN,
    SCENES,
    acting,
    decided,
    differences,
    without,
)

LEFT_OUT = "(left out)"
CHOICES: dict[str, Choices] = {
    kind: {"scene": list(SCENES), **{name: [LEFT_OUT, *values] for name, values in found.items()}}
    for kind, found in FIELDS.items()
}
TOGETHER = [
    (kind, one, other)
    for kind, found in FIELDS.items()
    for one, other in combinations(found, 2)
    if (kind, frozenset({one, other})) not in NEVER_TOGETHER
]


def step_of(kind: str, case: Case) -> tuple[str, dict[str, Any]]:
    values = {name: CHOICES[kind][name][place] for name, place in case.items()}
    scene = values.pop("scene")
    return scene, PLAIN[kind] | {name: value for name, value in values.items() if value is not LEFT_OUT}


@pytest.mark.parametrize("kind", FIELDS)
def test_every_two_values_of_fields_and_scenes_meet_and_do_what_the_documents_say(kind: str) -> None:
    cases = covering_array(CHOICES[kind])
    assert set[Any]().union(*map(pairs_in, cases)) == pairs_of(CHOICES[kind])
    wrong = {}
    for case in cases:
        scene, step = step_of(kind, case)
        wrong[scene, str(step)] = differences(scene, step, decided(scene, step))
    assert not {case: found for case, found in wrong.items() if found}


@pytest.mark.parametrize(("kind", "one", "other"), TOGETHER)
def test_of_every_two_fields_both_act_in_some_case_as_the_documents_say(kind: str, one: str, other: str) -> None:
    found = next(acting(kind, one, other, GROUNDS), None)
    assert found is not None, "no case shows that both act: give the fields other values, or say why none can"
    scene, step = found
    for tried in (step, without(kind, step, one), without(kind, step, other)):
        assert differences(scene, tried, decided(scene, tried)) == []


def test_of_the_fields_that_are_said_never_to_act_together_none_do() -> None:
    for kind, (one, other) in ((kind, sorted(pair)) for kind, pair in NEVER_TOGETHER):
        assert next(acting(kind, one, other, GROUNDS[:1]), None) is None, (kind, one, other)


def test_no_field_of_a_step_and_no_kind_is_left_out() -> None:
    assert set(FIELDS) | set(NOT_HERE) == set(STEP_KINDS)
    assert not set(FIELDS) & set(NOT_HERE)
    for kind, found in FIELDS.items():
        assert {field.name for field in fields(STEP_KINDS[kind])} - {"id"} == set(found)
