"""Do any two parameters of `POST /leads` together do what the documents say, with any existing lead?"""

from collections import Counter
from itertools import combinations
from typing import Any

import pytest

from schemas.instant import HOUR
from tests.api.seed_table import INTERFACE
from tests.engine.pairs.covering import Case, covering_array, nothing, pairs_in, pairs_of
from tests.engine.pairs.submissions import (
    BY_MAIL,
    CHOICES,
    COMES_AT,
    LEFT_OUT,
    NEVER_TOGETHER,
    PARAMETERS,
    acting,
    body_of,
    decided,
    expected,
    refusing,
    values_of,
)

TOGETHER = [pair for pair in combinations(PARAMETERS, 2) if frozenset(pair) not in NEVER_TOGETHER]


def test_every_two_values_of_two_parameters_meet_also_among_those_that_are_accepted() -> None:
    for choices, excluded in ((CHOICES, nothing), (CHOICES, refusing(CHOICES)), (BY_MAIL, refusing(BY_MAIL))):
        cases = covering_array(choices, excluded)
        assert set[Any]().union(*map(pairs_in, cases)) >= pairs_of(choices, excluded)
        assert cases == covering_array(choices, excluded)
        if excluded is not nothing:
            statuses = Counter(expected(*values_of(case, choices))[0][0] for case in cases)
            assert statuses[200] + statuses[201] > 3 * statuses[422], statuses


@pytest.mark.parametrize("case", covering_array(CHOICES), ids=lambda _: "")
def test_a_submission_does_what_the_documents_say_or_is_refused_with_all_that_is_wrong(case: Case) -> None:
    scene, body = values_of(case, CHOICES)
    assert decided(scene, body) == expected(scene, body)


@pytest.mark.parametrize("case", covering_array(CHOICES, refusing(CHOICES)), ids=lambda _: "")
def test_a_submission_that_is_accepted_does_what_the_documents_say(case: Case) -> None:
    scene, body = values_of(case, CHOICES)
    assert decided(scene, body) == expected(scene, body)


@pytest.mark.parametrize("case", covering_array(BY_MAIL, refusing(BY_MAIL)), ids=lambda _: "")
def test_a_submission_without_a_number_does_what_the_documents_say(case: Case) -> None:
    scene, body = values_of(case, BY_MAIL)
    assert decided(scene, body) == expected(scene, body)


def test_a_step_without_an_address_that_was_asked_for_at_a_time_is_passed_over_then_and_the_waits_follow() -> None:
    values = {"lead_token": "schedule-1", "email": "ann@example.com", "next_action_at": COMES_AT + 3 * HOUR}
    assert decided("nobody", body_of(values)) == expected("nobody", body_of(values))


@pytest.mark.parametrize(("one", "other"), TOGETHER, ids="-".join)
def test_of_every_two_parameters_both_act_in_some_case_as_the_documents_say(one: str, other: str) -> None:
    found = next(acting(one, other), None)
    assert found is not None, "no case shows that both act: give the parameters other values, or say why none can"
    scene, values = found
    whole = decided(scene, body_of(values))
    assert whole == expected(scene, body_of(values))
    for name in (one, other):
        without = body_of(values | {name: LEFT_OUT})
        assert decided(scene, without) == expected(scene, without) != whole, f"{name} does nothing"


def test_of_the_pairs_that_are_said_never_to_act_together_none_does() -> None:
    for pair in NEVER_TOGETHER:
        assert next(acting(*sorted(pair)), None) is None, pair


def test_no_parameter_of_the_interface_is_left_out() -> None:
    assert set(PARAMETERS) == set(INTERFACE["POST /api/v1/leads"].split())
