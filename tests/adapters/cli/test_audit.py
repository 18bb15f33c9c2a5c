"""What does `leadclock audit verify` say of what it verified?"""

import msgspec
import pytest

from adapters.audit.difference import Checked, Difference
from adapters.audit.replay import NO_ANCHOR, Folded
from adapters.audit.verify import Verified
from adapters.cli.audit import report
from engine.decision_rules import VERSION, VERSIONS
from tests.engine.other_rules import make_up_version

NOTHING = "looked at: 0 values of state, 0 rules, 0 commands, 0 outcomes"


def verified(
    decided_again: int, *folded: Folded, gone: int = 0, difference: Difference | None = None, begins_at: int = 1
) -> Verified:
    return Verified(
        topic="contacts.decisions",
        partition=0,
        decisions=decided_again + sum(one.decisions for one in folded),
        decided_again=decided_again,
        folded=folded,
        inputs_gone=gone,
        chain="abc",
        keys=7,
        difference=difference,
        begins_at=begins_at,
    )


def of_first_rules(decisions: int) -> Folded:
    return Folded(reason="other_rules", decision_rules=1, decided_by=VERSIONS[1].decided_by, decisions=decisions)


def test_what_this_code_decided_is_one_line_a_partition_and_a_total() -> None:
    assert list(report([verified(5)])) == [
        "contacts.decisions[0]  5 decisions, 7 values: verified",
        "all 5 decisions are what this code decides on the recorded inputs",
        NOTHING,
    ]


def test_both_counts_and_the_release_that_can_decide_the_rest_are_said(monkeypatch: pytest.MonkeyPatch) -> None:
    version = make_up_version(monkeypatch)
    assert list(report([verified(5, of_first_rules(3)), verified(0, of_first_rules(2), gone=1)])) == [
        "contacts.decisions[0]  8 decisions, 7 values: verified (5 decided again, 3 folded)",
        "contacts.decisions[0]  2 decisions, 7 values: not wholly proved (0 decided again, 2 folded)",
        f"5 folded: made by decision rules 1, this is {version}; leadclock 0.1.0 decides them again",
        (
            "1 of the folded decisions have no request in the log any more: its digest was not compared, and they cannot be "
            "decided again"
        ),
        (
            "no difference in the 10 decisions that the log still holds: 5 decided again by this code, 5 folded along the "
            "hash chain. What the log has deleted is not proved."
        ),
        NOTHING,
    ]


def test_data_of_another_version_is_named() -> None:
    folded = Folded(
        reason="other_data",
        decision_rules=VERSION,
        decided_by="leadclock 0.1.0",
        data="tzdata 2026a (here 2026b)",
        decisions=4,
    )

    assert list(report([verified(1, folded)]))[1] == (
        f"4 folded: made by decision rules {VERSION}, which decide otherwise here, with other data: "
        "tzdata 2026a (here 2026b); leadclock 0.1.0 decides them again"
    )


def test_a_difference_is_shown_and_nothing_is_said_to_hold() -> None:
    found = Difference(
        cause="decision", topic="contacts.decisions", partition=0, offset=9, sequence=4, what="decisions are missing"
    )

    lines = list(report([verified(3, difference=found)]))

    assert lines[0].endswith("DIFFERS")
    assert lines[1] == "  offset 9, decision 4: decisions are missing"
    assert not any("hold" in line or "are what this code decides" in line for line in lines)


def test_a_log_without_its_first_decisions_is_not_called_verified() -> None:
    lines = list(report([verified(0, msgspec.structs.replace(NO_ANCHOR, decisions=9), begins_at=801)]))

    assert lines == [
        "contacts.decisions[0]  9 decisions, 7 values: not wholly proved (0 decided again, 9 folded)",
        (
            "  the log has deleted decisions 1 to 800: from there on the hash chain and the recorded changes are checked, "
            "and nothing can be decided again"
        ),
        (
            "no difference in the 9 decisions that the log still holds: 0 decided again by this code, 9 folded along the "
            "hash chain. What the log has deleted is not proved."
        ),
        NOTHING,
    ]


def test_the_first_cause_is_named_and_what_was_looked_at_is_counted() -> None:
    late = Difference(cause="decision", topic="contacts.decisions", partition=0, offset=9, sequence=4, what="it differs")
    early = Difference(
        cause="rule", topic="accounts.rules", partition=1, offset=3, sequence=0, what="nobody decided it", key="offer/7@2"
    )
    results = [
        msgspec.structs.replace(verified(3, difference=late), acts=Checked(looked_at=2, not_looked_at=1)),
        msgspec.structs.replace(
            verified(2, difference=early), topic="accounts.decisions", acts=Checked(looked_at=1_200, foreign=1)
        ),
    ]

    lines = list(report(results, Checked(looked_at=5)))

    assert lines[-4:] == [
        (
            "first cause, the rule: accounts.rules[1] offset 3, offer/7@2: nobody decided it. What follows from it may "
            "differ too."
        ),
        "looked at: 0 values of state, 1,200 rules, 2 commands, 5 outcomes",
        "no process acts on 1 of the records beside the rules: they cannot be read as such",
        "not looked at: 1 of the commands, whose decisions or records the log has deleted",
    ]
