"""Which defects were found before, in files that have not changed since? A run that was cut off goes on from there."""

import hashlib
import subprocess
from pathlib import Path

import msgspec

from tests.planted.patch import Patch

KEPT = ".leadclock/planted.json"


class FoundDefects:
    """The digests of what was found: of each patch, together with every file of the clone that is no patch.

    A defect that survived is never kept, so that it is tried again.
    """

    def __init__(self, path: Path, clone: Path) -> None:
        self._path = path
        self._files = _digest_of_files(clone)
        self._digests = set(msgspec.json.decode(path.read_bytes(), type=list[str])) if path.exists() else set()

    def has(self, patch: Patch) -> bool:
        """Return whether this defect was found in these files."""
        return self._digest(patch) in self._digests

    def keep(self, patch: Patch) -> None:
        """Note that it was found, at once: the run may be cut off."""
        self._digests.add(self._digest(patch))
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._path.write_bytes(msgspec.json.encode(sorted(self._digests)))

    def _digest(self, patch: Patch) -> str:
        return hashlib.sha256(self._files + patch.name.encode() + patch.path.read_bytes()).hexdigest()


def _digest_of_files(clone: Path) -> bytes:
    """Return one digest of all names, modes and contents that git has in the clone, other patches left out."""
    done = subprocess.run(["git", "ls-files", "-s"], cwd=clone, capture_output=True, text=True, check=True)
    lines = [line for line in done.stdout.splitlines() if not line.endswith(".patch")]
    return hashlib.sha256("\n".join(lines).encode()).digest()
