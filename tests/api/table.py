"""Is every parameter of the interface exercised? `python -m tests.api.table` prints parameter, test, and what is missing."""

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from tests.api.seed_table import INTERFACE, TESTS

ROOT = Path(__file__).parents[2]


def rows() -> Iterator[tuple[str, str, str]]:
    """Yield endpoint, parameter and test; an empty test where there is none."""
    for endpoint, names in INTERFACE.items():
        for parameter in dict.fromkeys(names.split()) or [""]:
            tests = [
                test for test, covered in TESTS.get(endpoint, {}).items() if parameter in covered.split() or not parameter
            ]
            for test in tests or [""]:
                yield endpoint, parameter, test


def faults() -> list[str]:
    """Return what is wrong with the table: parameters without a test, tests that are not there or do not send them."""
    found = [f"{endpoint} {parameter}: no test" for endpoint, parameter, test in rows() if not test]
    for endpoint, tests in TESTS.items():
        known = set(INTERFACE.get(endpoint, "").split())
        for test, covered in tests.items():
            found += [
                f"{endpoint}: {test} covers {name}, which is no parameter" for name in covered.split() if name not in known
            ]
            found += _of_test(endpoint, test, covered)
    return found


def _of_test(endpoint: str, test: str, covered: str) -> Iterator[str]:
    path, _, name = test.partition("::")
    text = _text_of((ROOT / path).read_text(), name) if (ROOT / path).is_file() else None
    if text is None:
        yield f"{endpoint}: there is no test {test}"
        return
    # A test that never writes a parameter's name, itself, in the tables of its file or in a check that it calls, does
    # not send it.
    in_path = {word.strip("{}") for word in endpoint.split("/")}
    for word in covered.split():
        if word not in in_path and re.search(rf"\b{word}\b", text) is None:
            yield f"{endpoint}: {test} does not send {word}"


def _text_of(text: str, name: str) -> str | None:
    """Return a test, all of its file but the other tests, and the shared checks it calls; None where it is not there."""
    module = ast.parse(text)
    tests = {
        node.name: node
        for node in module.body
        if isinstance(node, ast.AsyncFunctionDef | ast.FunctionDef) and node.name.startswith("test_")
    }
    if name not in tests:
        return None
    lines = text.splitlines()
    for other, node in tests.items():
        if other != name and node.end_lineno is not None:
            lines[node.lineno - 1 : node.end_lineno] = [""] * (node.end_lineno - node.lineno + 1)
    return "\n".join([*lines, *_shared_checks(module, tests[name])])


def _shared_checks(module: ast.Module, test: ast.AST) -> Iterator[str]:
    """Yield the source of each `check_…` function that a test calls from another file of the tests."""
    called = {node.func.id for node in ast.walk(test) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}
    for imported in module.body:
        if not (isinstance(imported, ast.ImportFrom) and (imported.module or "").startswith("tests.")):
            continue
        names = {alias.name for alias in imported.names if alias.name.startswith("check_")} & called
        if not names:
            continue
        source = (ROOT / f"{str(imported.module).replace('.', '/')}.py").read_text()
        for node in ast.parse(source).body:
            if isinstance(node, ast.AsyncFunctionDef | ast.FunctionDef) and node.name in names:
                yield ast.get_source_segment(source, node) or ""


def table() -> str:
    """Return the table, a line for each parameter and test."""
    return "\n".join(f"{endpoint:<68} {parameter or '-':<34} {test or 'MISSING'}" for endpoint, parameter, test in rows())


def main() -> int:
    """Print the table and what is wrong with it."""
    wrong = faults()
    sys.stdout.write(table() + "\n" + "".join(f"{fault}\n" for fault in wrong))
    parameters = len({(endpoint, parameter) for endpoint, parameter, _ in rows()})
    sys.stdout.write(f"{parameters} parameters of {len(INTERFACE)} endpoints, {len(wrong)} faults\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
