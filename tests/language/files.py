"""Which files does the language of the project show in? Those that git knows and a person reads."""

import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
READ = (".py", ".md", ".sql", ".sh", ".toml", ".yaml", ".properties", ".xml", ".css", ".js")
OWN = "tests/language/"
"""These tests name what they look for."""


@cache
def tracked() -> tuple[str, ...]:
    """Return the paths of all files that are in the work tree, below the root."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True)
    return tuple(name for name in listed.stdout.split("\0") if name and (ROOT / name).is_file())


def texts(*endings: str) -> Iterator[tuple[str, str]]:
    """Yield path and text of the files with one of these endings, without these tests."""
    for name in tracked():
        if name.endswith(endings) and not name.startswith(OWN):
            yield name, (ROOT / name).read_text("utf-8")
