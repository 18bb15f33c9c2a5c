"""Is anything lost or doubled when schedulers are killed under load? The proof of `make prove`, in small."""

from pathlib import Path

import pytest

from adapters.settings import Settings
from deploy.proof.run import KillPlan, prove
from deploy.proof.verdict import table

pytestmark = pytest.mark.system


async def test_two_schedulers_are_killed_three_times_under_load_and_every_promise_is_kept(
    settings: Settings, folder: Path
) -> None:
    plan = KillPlan(submissions=2_000, kills=3, gateways=1, seconds=180.0)
    proof = await prove(plan, settings, folder, print)
    assert proof.holds, "\n" + table(proof.rows)
