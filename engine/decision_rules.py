"""Which version of the decision rules decides? One number for everything that two releases may decide differently.

A change of what is decided, of a text that is recorded, or of a limit raises it. Each partition adopts the version that its
process has and records it with the adoption, so an auditor knows which release can decide an old input again.

Until 0.1.0 is tagged, such a change does not raise it, as nobody has a history to verify: the one history of the tests is
recorded again (`python -m tests.histories.record`). This ends with the tag.
"""

from collections.abc import Mapping

from msgspec import Struct

VERSION_NAME = "decision_rules"
"""The name of the version among those that an adoption records."""


class Version(Struct, frozen=True):
    """One row of the table: what it changed, and which release decides by it."""

    changed: str
    decided_by: str


VERSIONS: Mapping[int, Version] = {
    1: Version(changed="the first rules", decided_by="leadclock 0.1.0"),
}

VERSION = max(VERSIONS)
"""The version that this code decides by."""


def with_version(versions: Mapping[str, str]) -> dict[str, str]:
    """Return the versions that a process adopts: those of its code and data, and that of the decision rules."""
    return {**versions, VERSION_NAME: str(VERSION)}


def version_of(versions: Mapping[str, str]) -> int | None:
    """Return the version of the decision rules among recorded versions, None where no adoption is known.

    Raises `ValueError` for one that is no number.
    """
    version = versions.get(VERSION_NAME)
    return None if version is None else int(version)


def release_of(version: int, versions: Mapping[str, str]) -> str:
    """Name the release that decides by a version of the rules; a newer one than this by the versions recorded with it."""
    row = VERSIONS.get(version)
    return f"leadclock {versions.get('leadclock', 'of a newer release')}" if row is None else row.decided_by
