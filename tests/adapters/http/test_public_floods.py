"""Is somebody noticed who tries one number after another by a lead token, and is no honest form?"""

from typing import Any

import pytest
import structlog

from adapters.http.exchange.public_floods import PERSONS_LEAST, TARGETS_MAX, WINDOW_SECONDS, PublicFloods


def lines_of(floods: PublicFloods, persons: range, *, at: float, gap: float, target: str = "schedule/1") -> list[Any]:
    with structlog.testing.capture_logs() as lines:
        for place, person in enumerate(persons):
            floods.record(1, target, f"1|+1{person}", address="192.0.2.7", form="caller_opt_out", at=at + place * gap)
    return list(lines)


def test_three_hundred_numbers_in_twelve_seconds_are_said_with_token_address_and_form() -> None:
    lines = lines_of(PublicFloods(), range(300), at=0.0, gap=0.04)
    assert [line["what"] for line in lines] == ["100 numbers in 4 s", "200 numbers in 8 s"]
    for line in lines:
        assert (line["event"], line["target"], line["company_id"]) == ("public_requests.flood", "schedule/1", 1)
        assert (line["addresses"], line["forms"]) == (["192.0.2.7"], ["caller_opt_out"])


@pytest.mark.parametrize("gap", [1.0, 0.1])
def test_a_form_that_many_people_use_or_one_person_uses_often_is_no_flood(gap: float) -> None:
    slow = lines_of(PublicFloods(), range(500), at=0.0, gap=1.0)
    same = lines_of(PublicFloods(), range(7, 8), at=0.0, gap=gap) * 500
    assert (slow, same) == ([], [])


def test_a_window_ends_and_the_tokens_that_are_watched_are_bounded() -> None:
    floods = PublicFloods()
    assert lines_of(floods, range(PERSONS_LEAST - 1), at=0.0, gap=0.0) == []
    assert lines_of(floods, range(500, 501), at=WINDOW_SECONDS + 1, gap=0.0) == []
    for number in range(TARGETS_MAX + 10):
        lines_of(floods, range(1), at=0.0, gap=0.0, target=f"schedule/{number}")
    assert len(floods._windows) == TARGETS_MAX


def test_each_line_is_counted_for_the_alert() -> None:
    counted: list[int] = []
    floods = PublicFloods(lambda: counted.append(1))
    for number in range(250):
        floods.record(1, "offer/1", f"1|+1305555{number:04}", address="198.51.100.7", form="create_lead", at=number / 10)
    assert len(counted) == 2
