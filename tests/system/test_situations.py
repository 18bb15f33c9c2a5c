"""Does `make prove-situations` fail where a page does not name the cause, or names it for good?"""

import pytest

from deploy.proof.situations.run import Look
from deploy.proof.situations.situations import SITUATIONS


def look(*, is_named: bool, is_gone: bool) -> Look:
    return Look(situation="pause", viewer="manager", page="/console", said="", is_named=is_named, is_gone=is_gone)


@pytest.mark.parametrize(
    ("is_named", "is_gone", "holds"), [(True, True, True), (False, True, False), (True, False, False), (False, False, False)]
)
def test_a_look_holds_where_the_cause_was_named_and_is_no_more(is_named: bool, is_gone: bool, holds: bool) -> None:
    assert look(is_named=is_named, is_gone=is_gone).holds is holds


def test_each_situation_is_looked_for_by_words_of_its_own() -> None:
    assert len({one.name for one in SITUATIONS}) == len(SITUATIONS) >= 6
    assert all(words and all(words) for one in SITUATIONS for words in one.says.values())
