"""Does every rule of scheduling have a test that is there, or a reason why it is left out?"""

from tests.engine.rules_table import faults, rows


def test_every_rule_has_a_test_or_a_reason() -> None:
    assert faults() == []


def test_every_edge_case_has_a_test() -> None:
    named = {name.strip() for row in rows() if row.section == "3.10 cases" and row.tests for name in row.rule.split(",")}
    assert {f"E{number}" for number in range(1, 41)} <= named
