"""Do two releases run side by side while each process is replaced? The proof of `make prove-upgrade`, in small."""

from pathlib import Path

import pytest

from adapters.settings import Settings
from deploy.proof.processes import DeploymentError
from deploy.proof.upgrade import UpgradePlan, export, former_commit, prove_upgrade
from deploy.proof.verdict import table

pytestmark = pytest.mark.system


@pytest.fixture
def former(tmp_path: Path) -> Path:
    """The code of the last commit that decided by the former rules; a copy without history has none."""
    try:
        return export(former_commit(), tmp_path / "former")
    except DeploymentError as error:
        pytest.skip(str(error))


async def test_each_process_of_a_former_release_is_replaced_under_load_and_every_promise_is_kept(
    settings: Settings, folder: Path, former: Path
) -> None:
    plan = UpgradePlan(former=former, submissions=400, strikes=False, seconds=180.0)
    rows = await prove_upgrade(plan, settings, folder, print)
    assert all(row.holds for row in rows), "\n" + table(rows)


def test_a_commit_that_is_not_here_is_named(tmp_path: Path) -> None:
    with pytest.raises(DeploymentError, match="commit 0000000 cannot be read here"):
        export("0000000", tmp_path / "former")
