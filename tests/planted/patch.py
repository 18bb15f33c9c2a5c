"""What does a planted defect say of itself? A patch whose first lines name the defect, the tests that find it, and by what.

Defect: <a sentence: what the code does now, and whom it hurts>
Found by: <a pytest node id>
Shown as: <words that the failure of this test contains: a failure for another reason proves nothing>
Found by: <another one; each must find it alone>
Shown as: <its words>

diff --git a/… b/…
"""

import re
import subprocess
from pathlib import Path

from msgspec import Struct

FOLDER = Path(__file__).parent
ROOT = FOLDER.parent.parent


class Finder(Struct, frozen=True):
    """A test, by its pytest node id relative to the root, and the words by which its failure shows the defect."""

    test: str
    words: str


class Patch(Struct, frozen=True):
    """One defect."""

    path: Path
    defect: str
    finders: tuple[Finder, ...]

    @property
    def name(self) -> str:
        return self.path.stem


def patches(names: list[str] | None = None) -> list[Patch]:
    """Return the patches of these names, or all. Raises `SystemExit` with a sentence for a name that there is not."""
    found = {path.stem: path for path in sorted(FOLDER.glob("*.patch"))}
    unknown = [name for name in names or [] if name not in found]
    if unknown:
        raise SystemExit(f"There is no tests/planted/{unknown[0]}.patch.")
    return [read(found[name]) for name in names or found]


def read(path: Path) -> Patch:
    """Read the header of a patch; a test without words has empty ones."""
    header = path.read_text("utf-8").partition("\ndiff --git ")[0]
    defect = re.search(r"^Defect: (.+(?:\n .+)*)", header, re.MULTILINE)
    finders = re.findall(r"^Found by: (\S+)(?:\nShown as: (.+))?$", header, re.MULTILINE)
    return Patch(
        path=path,
        defect="" if defect is None else " ".join(defect[1].split()),
        finders=tuple(Finder(test, words.strip()) for test, words in finders),
    )


def apply(patch: Patch, folder: Path, *options: str) -> str:
    """Apply a patch in a folder (`--check`, `--reverse`); return what git says against it, nothing where it applies."""
    command = ["git", "apply", "--whitespace=nowarn", *options, str(patch.path)]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    return "" if done.returncode == 0 else done.stderr.strip() or "git apply failed"


def places(patch: Patch, folder: Path) -> list[int]:
    """Return for each hunk how often the lines that it looks for are in its file: git would plant it at any of them."""
    counts = []
    for part in re.split(r"^diff --git ", patch.path.read_text("utf-8"), flags=re.MULTILINE)[1:]:
        lines = (folder / part.partition("\n+++ b/")[2].partition("\n")[0]).read_text("utf-8").splitlines()
        for hunk in re.split(r"^@@ .*\n", part, flags=re.MULTILINE)[1:]:
            wanted = [line[1:] for line in hunk.splitlines() if not line.startswith("+")]
            counts.append(sum(lines[start : start + len(wanted)] == wanted for start in range(len(lines))))
    return counts
