"""How does a test let this code decide by other rules than a history names? By a version that is made up."""

import pytest

from engine import decision_rules
from engine.decision_rules import VERSIONS, Version

MADE_UP = Version(changed="made up by a test", decided_by="leadclock 0.2.0")


def make_up_version(monkeypatch: pytest.MonkeyPatch) -> int:
    """Let this code decide by a version after the last one of its table, and return the number."""
    version = decision_rules.VERSION + 1
    monkeypatch.setattr(decision_rules, "VERSIONS", {**VERSIONS, version: MADE_UP})
    monkeypatch.setattr(decision_rules, "VERSION", version)
    return version
