"""Is every series described, by a page that is not stale?"""

import runpy
from pathlib import Path
from typing import Any

import pytest

from adapters.observability.metric_descriptions import METRICS
from adapters.roles.table import ROLES

WRITER = runpy.run_path(str(Path(__file__).parents[3] / "deploy" / "write_metrics.py"))
REGISTERED: dict[str, Any] = WRITER["registered"]()


def test_the_committed_page_is_in_step() -> None:
    for path, text in WRITER["written"]():
        assert path.read_text() == text, "run python deploy/write_metrics.py and commit deploy/docs/metrics.md"


def test_every_series_is_described_and_nothing_else_is() -> None:
    assert METRICS.keys() == REGISTERED.keys(), "describe it in adapters/observability/metric_descriptions.py"


@pytest.mark.parametrize("name", sorted(METRICS))
def test_a_series_says_who_has_it_what_it_means_and_what_is_healthy(name: str) -> None:
    row = METRICS[name]
    assert row.roles
    assert set(row.roles) <= ROLES.keys()
    assert row.meaning.endswith(".")
    assert row.unit
    assert row.healthy
