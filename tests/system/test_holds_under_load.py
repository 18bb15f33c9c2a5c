"""Is it silent on hold while a gateway hangs, and is nothing lost or doubled after it? `make prove-holds`, in small."""

from pathlib import Path

import pytest

from adapters.settings import Settings
from deploy.proof.holds.load import count_calls
from deploy.proof.holds.run import HoldPlan, prove_holds
from deploy.proof.verdict import table

pytestmark = pytest.mark.system

COMMANDS = 200
PLAN = HoldPlan(commands=COMMANDS, lines=count_calls(COMMANDS) // 2, strike="gateway", seconds=300.0)


async def test_a_hold_is_obeyed_while_a_gateway_hangs_and_everything_goes_on_once_after_it(
    settings: Settings, folder: Path
) -> None:
    proof = await prove_holds(PLAN, settings, folder, print)

    assert proof.holds, "\n" + table(proof.rows)
