"""What does the result of a line of an import say? Decided, or rejected with the reason."""

import pytest

from adapters.http.leads.import_decisions import read_result
from adapters.reads.ports import Result
from schemas.decisions import Answer
from schemas.instant import EPOCH


@pytest.mark.parametrize(
    ("answer", "verdict", "state", "problem"),
    [
        (Answer(status=201, record_id=7), "ok", "decided", None),
        (
            Answer(status=409, code="duplicate_lead", detail="There is one."),
            "refused",
            "rejected",
            "The lead exists and its schedule refuses duplicates. There is one.",
        ),
        (Answer(status=422, code="validation", errors={"email": ["is blank"]}), "refused", "rejected", "is blank"),
        (None, "failed", "rejected", "Something failed on our side. The decision failed."),
    ],
)
def test_the_result_of_a_line_says_what_was_decided(
    answer: Answer | None, verdict: str, state: str, problem: str | None
) -> None:
    result = Result(request_id="r", company_id=1, verdict=verdict, answer=answer, decided_at=EPOCH)
    found = read_result(2, result)
    assert (found.line, found.state) == (2, state)
    assert [one.problem for one in found.problems] == ([] if problem is None else [problem])
