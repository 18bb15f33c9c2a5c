"""Does every exception of the repository say whose fault it is?"""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

FAULTS = frozenset({"SenderError", "DependencyError", "InternalError"})

OTHER_BASES = {
    "InvalidRecordError": "it is an answer of the broker to aiokafka, which looks for it by its number",
}
"""Exceptions that derive from no fault, each with the reason."""


def definitions() -> list[tuple[str, str, frozenset[str]]]:
    """Return each exception class: its file, its name, and the names of its bases."""
    return [
        (
            path.relative_to(ROOT).as_posix(),
            node.name,
            frozenset(ast.unparse(base).rpartition(".")[2] for base in node.bases),
        )
        for folder in ("schemas", "engine", "adapters")
        for path in sorted((ROOT / folder).rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.ClassDef) and node.name.endswith(("Error", "Exception"))
    ]


DEFINITIONS = definitions()


def faults_of(bases: frozenset[str]) -> frozenset[str]:
    """Return the faults that these bases have, over all classes of their names."""
    above = (faults_of(found) for _, name, found in DEFINITIONS if name in bases - FAULTS)
    return (bases & FAULTS).union(*above)


@pytest.mark.parametrize(("file", "name", "bases"), DEFINITIONS, ids=lambda value: value if isinstance(value, str) else "")
def test_every_exception_has_one_fault(file: str, name: str, bases: frozenset[str]) -> None:
    if file == "schemas/errors.py":
        assert bases == ({"Exception"} if name == "LeadclockError" else {"LeadclockError"})
    elif name in OTHER_BASES:
        assert not faults_of(bases)
    else:
        assert len(faults_of(bases)) == 1
