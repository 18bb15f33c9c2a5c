"""Does every exception of the repository say whose fault it is?"""

import ast
from pathlib import Path

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
        for folder in ("schemas", "engine", "adapters", "deploy")
        for path in sorted((ROOT / folder).rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.ClassDef) and node.name.endswith(("Error", "Exception"))
    ]


def faults_of(bases: frozenset[str], classes: list[tuple[str, str, frozenset[str]]]) -> frozenset[str]:
    """Return the faults that these bases have, over all classes of their names."""
    above = (faults_of(its_bases, classes) for _, name, its_bases in classes if name in bases - FAULTS)
    return (bases & FAULTS).union(*above)


def test_every_exception_has_one_fault() -> None:
    classes = definitions()
    wrong = []
    for file, name, bases in classes:
        if file == "schemas/errors.py":
            is_right = bases == ({"Exception"} if name == "LeadclockError" else {"LeadclockError"})
        else:
            is_right = len(faults_of(bases, classes)) == (0 if name in OTHER_BASES else 1)
        if not is_right:
            wrong.append(f"{file}: {name}")

    assert len(classes) > 50
    assert wrong == []
