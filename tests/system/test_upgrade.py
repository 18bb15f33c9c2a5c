"""Do two releases run side by side while each process is replaced? The proof of `make prove-upgrade`, in small."""

import subprocess
import sys
from pathlib import Path

import pytest

from adapters.settings import Settings
from deploy.proof.processes import DeploymentError
from deploy.proof.upgrade import UpgradePlan, copy_with_newer_rules, export, prove_upgrade
from deploy.proof.verdict import table
from engine.decision_rules import VERSION

pytestmark = pytest.mark.system


async def test_each_process_of_a_former_release_is_replaced_under_load_and_every_promise_is_kept(
    settings: Settings, folder: Path, tmp_path: Path
) -> None:
    newer = copy_with_newer_rules(tmp_path / "newer")
    plan = UpgradePlan(newer=newer, are_rules_newer=True, submissions=400, strikes=False, seconds=180.0)
    rows = await prove_upgrade(plan, settings, folder, print)
    assert all(row.holds for row in rows), "\n" + table(rows)


def test_a_copy_with_newer_rules_decides_by_the_next_version(tmp_path: Path) -> None:
    asked = (
        "import engine.decision_rules as r; print(r.__file__, r.VERSION, r.with_version({}), r.release_of(r.VERSION, {}))"
    )
    copy = copy_with_newer_rules(tmp_path / "newer")

    said = subprocess.run(
        [sys.executable, "-c", asked], env={"PYTHONPATH": str(copy)}, cwd=copy, capture_output=True, text=True, check=True
    )

    number = VERSION + 1
    path = copy / "engine/decision_rules.py"
    assert said.stdout == f"{path} {number} {{'decision_rules': '{number}'}} the next release\n"


def test_a_commit_that_is_not_here_is_named(tmp_path: Path) -> None:
    with pytest.raises(DeploymentError, match="commit 0000000 cannot be read here"):
        export("0000000", tmp_path / "former")
