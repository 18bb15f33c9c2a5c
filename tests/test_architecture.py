"""What keeps the project's shape? Checks of what no single module can promise about itself."""

import ast
import re
import subprocess
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
TOP_LEVEL = ("adapters", "engine", "schemas")

# Written in pieces, so that this file does not hold what it looks for.
REGISTRIES = ("pypi." + "org", "pythonhosted." + "org", "repo.maven." + "apache", "repo1." + "maven", "registry.npm" + "js")
MACHINE_PATHS = ("/wo" + "rk/main", "/wo" + "rk/shared", "/ro" + "ot/", "/opt/" + "wheels", ".py" + "env/")

MODULES = sorted(
    path
    for top in (*TOP_LEVEL, "deploy", "tests")
    for path in (ROOT / top).rglob("*.py")
    if path.name != "__init__.py" or path.stat().st_size > 0
)


def tracked_files() -> list[Path]:
    """The project's files as git knows them, or all of them where this is no checkout."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert listed.returncode == 0, listed.stderr
    return [ROOT / name for name in listed.stdout.split("\0") if name and (ROOT / name).is_file()]


@pytest.mark.parametrize("name", TOP_LEVEL)
def test_no_other_distribution_ships_our_names(name: str) -> None:
    assert set(packages_distributions().get(name, [])) <= {"leadclock"}


def test_no_file_names_a_registry_or_a_folder_of_somebodys_machine() -> None:
    forbidden = re.compile("|".join(re.escape(text) for text in (*REGISTRIES, *MACHINE_PATHS)))

    found = [
        f"{path.relative_to(ROOT)}: {match.group()}"
        for path in tracked_files()
        if (match := forbidden.search(path.read_text("utf-8", errors="replace")))
    ]

    assert found == []


def test_every_module_opens_with_a_docstring() -> None:
    silent = [str(path.relative_to(ROOT)) for path in MODULES if not ast.get_docstring(ast.parse(path.read_text("utf-8")))]

    assert silent == []


@pytest.mark.parametrize("path", sorted(ROOT.glob("deploy/*.lock")), ids=lambda path: path.name)
def test_every_dependency_is_pinned_by_version_and_hash(path: Path) -> None:
    requirements = re.split(r"\n(?=\S)", path.read_text("utf-8").strip())

    assert [line for line in requirements if not re.match(r"[\w.\[\],-]+==\S+( ; .*?)? \\\n +--hash=sha256:", line)] == []
