"""Is a package pinned that has a known vulnerability? By a dated file in the repository: nothing is asked of a network."""

import json
import runpy
from datetime import datetime
from typing import Any

import pytest
from packaging.version import Version

from tests.test_architecture import ROOT

SCRIPT = runpy.run_path(str(ROOT / "deploy" / "write_advisories.py"))
KNOWN: dict[str, Any] = json.loads((ROOT / "deploy" / "advisories.json").read_text("utf-8"))

ACCEPTED: dict[str, str] = {}
"""Advisory -> why a pinned version that it is about does no harm here, and until when."""


def is_affected(version: str, advisory: dict[str, Any]) -> bool:
    """Return whether an advisory is about a version: it lists it, or the version lies in one of its ranges."""
    if version in advisory["versions"]:
        return True
    return any(_is_in(Version(version), events) for events in advisory["ranges"])


def _is_in(version: Version, events: list[dict[str, str]]) -> bool:
    within = False
    for event in events:
        if "introduced" in event and (event["introduced"] == "0" or version >= Version(event["introduced"])):
            within = True
        if "fixed" in event and version >= Version(event["fixed"]):
            within = False
        if "last_affected" in event and version > Version(event["last_affected"]):
            within = False
    return within


def test_no_pinned_version_has_a_known_vulnerability() -> None:
    found = {
        advisory["id"]: f"{name} {version}"
        for name, version in SCRIPT["pins"]()
        for advisory in KNOWN["advisories"].get(name, ())
        if is_affected(version, advisory)
    }
    assert {name: pin for name, pin in found.items() if name not in ACCEPTED} == {}
    assert ACCEPTED.keys() <= found.keys(), "an advisory that is accepted is about no pinned version any more: take it out"


def test_every_pinned_package_was_looked_up() -> None:
    pinned = {name for name, _ in SCRIPT["pins"]()}
    assert len(pinned) > 100
    assert pinned <= set(KNOWN["packages"]), "run deploy/write_advisories.py: see its first lines"


def test_the_file_says_up_to_when_it_was_read() -> None:
    assert datetime.fromisoformat(KNOWN["read_to"]).year >= 2024
    assert len(KNOWN["commit"]) == 40
    assert sum(map(len, KNOWN["advisories"].values())) > 50


CASES = [
    ("2.6", [{"introduced": "0"}, {"fixed": "2.7.2"}], [], True),
    ("2.7.2", [{"introduced": "0"}, {"fixed": "2.7.2"}], [], False),
    ("3.1", [{"introduced": "0"}, {"fixed": "2.7"}, {"introduced": "3.0"}, {"fixed": "3.2"}], [], True),
    ("2.8", [{"introduced": "0"}, {"fixed": "2.7"}, {"introduced": "3.0"}, {"fixed": "3.2"}], [], False),
    ("1.0", [{"introduced": "0.5"}, {"last_affected": "1.0"}], [], True),
    ("1.1", [{"introduced": "0.5"}, {"last_affected": "1.0"}], [], False),
    ("1.10", [{"introduced": "1.9"}], [], True),
    ("5", [], ["5"], True),
]


@pytest.mark.parametrize(("version", "events", "versions", "expected"), CASES)
def test_a_version_is_compared_with_the_ranges_and_the_list_of_an_advisory(
    version: str, events: list[dict[str, str]], versions: list[str], *, expected: bool
) -> None:
    assert is_affected(version, {"ranges": [events], "versions": versions}) is expected
