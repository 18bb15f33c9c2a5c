"""Is every command still emitted once, and every lead brought to its end, where few may be open at once?"""

import pytest

from engine import limits
from tests.simulation.run import simulate

SEEDS = range(40, 52)


@pytest.mark.parametrize("seed", SEEDS)
def test_leads_that_wait_for_places_come_to_their_end(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "OPEN_COMMANDS_MAX", 3)

    assert simulate(seed).findings == ()
