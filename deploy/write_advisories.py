"""Which advisories are there about the packages that we pin? Read from a copy of the PyPA advisory database (CC-BY 4.0).

    git clone --depth 1 https://github.com/pypa/advisory-database
    .venv/bin/python deploy/write_advisories.py advisory-database

`advisories.json` says up to when it was read. `tests/test_advisories.py` compares it with the locks, offline, and asks for
another run where a package was pinned since. Run it before a release, and once a month.
"""

# ruff: noqa: INP001 - a command, not a package

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

FOLDER = Path(__file__).parent
WRITTEN = FOLDER / "advisories.json"

PINNED = re.compile(r"^([A-Za-z0-9._-]+)==([^\s;]+)", re.MULTILINE)


def pins() -> set[tuple[str, str]]:
    """Return name and version of every package that a lock pins."""
    locks = (path.read_text("utf-8") for path in sorted(FOLDER.glob("*.lock")))
    return {(normal(name), version) for lock in locks for name, version in PINNED.findall(lock)}


def normal(name: str) -> str:
    """Return the name of a package as registries compare it (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name).lower()


def main(database: str) -> None:
    """Write every advisory about a pinned package, of whatever version."""
    names = sorted({name for name, _ in pins()})
    commit, read_to = _git(database, "log", "-1", "--format=%H %cI").split()
    advisories = {name: sorted(_of(database, name), key=lambda one: one["id"]) for name in names}
    found = {"source": "https://github.com/pypa/advisory-database", "commit": commit, "read_to": read_to}
    content = {**found, "packages": names, "advisories": {name: some for name, some in advisories.items() if some}}
    WRITTEN.write_text(json.dumps(content, indent=1) + "\n", "utf-8")


def _of(database: str, name: str) -> Iterator[dict[str, Any]]:
    for path in _git(database, "ls-tree", "--name-only", "HEAD", f"vulns/{name}/").splitlines():
        advisory = yaml.safe_load(_git(database, "show", f"HEAD:{path}"))
        if advisory.get("withdrawn"):
            continue
        for one in advisory["affected"]:
            if normal(one["package"]["name"]) == name:
                ranges = [[*each["events"]] for each in one.get("ranges", ()) if each["type"] == "ECOSYSTEM"]
                about = {"id": advisory["id"], "aliases": advisory.get("aliases", [])}
                yield {**about, "ranges": ranges, "versions": one.get("versions", [])}


def _git(database: str, *command: str) -> str:
    asked = ["git", "-C", database, *command]
    return subprocess.run(asked, check=True, capture_output=True, text=True).stdout.strip()  # noqa: S603 - our own words


if __name__ == "__main__":
    main(sys.argv[1])
