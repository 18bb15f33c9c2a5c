"""Does each class of the program have a name of its own? Where two share one, a reader finds the wrong one first."""

import ast
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).parents[2]

SHARED: dict[str, str] = {}
"""Names that two classes have -> what each of them is. `test_names` uses this table too."""


def test_no_two_classes_share_a_name() -> None:
    found: dict[str, list[str]] = defaultdict(list)
    for tree in ("schemas", "engine", "adapters"):
        for path in sorted((ROOT / tree).rglob("*.py")):
            for node in ast.parse(path.read_text("utf-8")).body:
                if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                    found[node.name].append(path.relative_to(ROOT).as_posix())

    assert {name: paths for name, paths in found.items() if len(paths) > 1 and name not in SHARED} == {}
