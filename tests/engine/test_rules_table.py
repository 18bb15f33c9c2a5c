"""Does every rule of scheduling have a test that is there, or a reason why it is left out?"""

from tests.engine.rules_table import faults, rows


def test_every_rule_has_a_test_or_a_reason() -> None:
    assert faults() == []


def test_every_edge_case_has_a_test() -> None:
    cases = [row.rule.partition(":")[0] for row in rows() if row.section == "Edge cases" and row.tests]
    named = {name.strip() for case in cases for name in case.split(",")}
    assert {f"E{number}" for number in range(1, 41)} <= named
