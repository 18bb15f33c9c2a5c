"""Is every rule of scheduling implemented? `python -m tests.engine.rules_table` prints rule, tests, and what is left out.

The table itself is `tests/engine/rules.md`.
"""

import ast
import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from msgspec import Struct

ROOT = Path(__file__).parents[2]
TABLE = Path(__file__).with_name("rules.md")
HERE = "tests/engine"


class RuleTableRow(Struct, frozen=True):
    """One rule of a section: the tests that hold us to it, and why it is left out, in whole or in part."""

    section: str
    rule: str
    tests: tuple[str, ...]
    left_out: str


def rows() -> list[RuleTableRow]:
    """Return the table, in its order."""
    found: list[RuleTableRow] = []
    section = ""
    for line in TABLE.read_text().splitlines():
        if line.startswith("## "):
            section = line.removeprefix("## ")
        elif section and line.startswith("| ") and not line.startswith(("| rule |", "| --- |")):
            rule, tests, left_out = (cell.strip() for cell in line.strip("|").split("|"))
            found.append(RuleTableRow(section, rule, tuple(re.findall(r"`([^`]+)`", tests)), left_out))
    return found


def faults() -> list[str]:
    """Return what is wrong with the table: rules without a test or a reason, and tests that are not there."""
    return [fault for row in rows() for fault in _faults(row)]


def _faults(row: RuleTableRow) -> Iterator[str]:
    if not row.tests and not row.left_out:
        yield f"{row.section}: {row.rule}: neither a test nor a reason"
    for test in row.tests:
        path, _, name = test.partition("::")
        if f"test_{name}" not in _names(path):
            yield f"{row.section}: {row.rule}: there is no test {name} in {HERE}/{path}"


@cache
def _names(path: str) -> frozenset[str]:
    file = ROOT / HERE / path
    body = ast.parse(file.read_text()).body if file.is_file() else []
    return frozenset(node.name for node in body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


def main() -> int:
    """Print every rule with its tests, then what is left out and what is wrong; 1 where anything is wrong."""
    listed, wrong = rows(), faults()
    for row in listed:
        sys.stdout.write(f"{row.section:<16} {row.rule:<64} {' '.join(row.tests) or 'LEFT OUT'}\n")
    sys.stdout.write("\nLeft out, in whole or in part:\n")
    for row in listed:
        if row.left_out:
            sys.stdout.write(f"{row.section:<16} {row.rule}: {row.left_out}\n")
    whole = sum(not row.tests for row in listed)
    sys.stdout.write("".join(f"{fault}\n" for fault in wrong))
    sys.stdout.write(f"{len(listed)} rules, {whole} left out whole, {len(wrong)} faults\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
