"""What does a planted defect say of itself? A patch whose first lines name the defect and the tests that find it.

Defect: <a sentence: what the code does now, and whom it hurts>
Found by: <a pytest node id>
Found by: <another one; each must find it alone>

diff --git a/… b/…
"""

import re
import subprocess
from pathlib import Path

from msgspec import Struct

FOLDER = Path(__file__).parent
ROOT = FOLDER.parent.parent


class Patch(Struct, frozen=True):
    """One defect; `tests` are pytest node ids, relative to the root of the checkout."""

    path: Path
    defect: str
    tests: tuple[str, ...]

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
    """Read the header of a patch."""
    header = path.read_text("utf-8").partition("\ndiff --git ")[0]
    defect = re.search(r"^Defect: (.+(?:\n .+)*)", header, re.MULTILINE)
    tests = re.findall(r"^Found by: (\S+)$", header, re.MULTILINE)
    return Patch(path=path, defect="" if defect is None else " ".join(defect[1].split()), tests=tuple(tests))


def apply(patch: Patch, folder: Path, *options: str) -> str:
    """Apply a patch in a folder (`--check`, `--reverse`); return what git says against it, nothing where it applies."""
    command = ["git", "apply", "--whitespace=nowarn", *options, str(patch.path)]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    return "" if done.returncode == 0 else done.stderr.strip() or "git apply failed"
