"""Does a company that misbehaves in every way slow another one? The measurement of `make prove-fair`, without its times."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from adapters.settings import Settings
from deploy.proof.neighbours.attacker import AttackPlan, misbehaving
from deploy.proof.neighbours.companies import Party
from deploy.proof.neighbours.hostility import TRAFFIC, WAYS
from deploy.proof.neighbours.measure import ALL_AT_ONCE, measure
from deploy.proof.neighbours.probe import Samples
from deploy.proof.neighbours.report import Phase, is_fair, table
from deploy.proof.processes import DeploymentError, ProcessGroup

pytestmark = pytest.mark.system

TOGETHER = tuple(way for way in WAYS if way != "exports")
"""That way needs tens of thousands of leads; what it finds is held by tests/adapters/http/test_exports.py."""


async def test_every_text_and_webhook_of_a_company_arrives_beside_one_that_misbehaves_in_every_way(
    settings: Settings, folder: Path
) -> None:
    real_time = replace(settings, clock_speed=1.0, webhook_private_networks=("127.0.0.0/8",))
    deployment = ProcessGroup(folder, real_time)
    try:
        plan = [(ALL_AT_ONCE, TOGETHER), ("impressions", tuple(TRAFFIC))]
        phases = await measure(deployment, plan, seconds=15.0, say=print)
    finally:
        deployment.kill()
    for phase in phases:
        assert phase.samples.texts
        assert phase.samples.hooks
        assert (phase.samples.refused, phase.samples.missing) == (0, 0), "\n" + table(phases)
        assert phase.sent >= 1_000  # at least one burst: else the company was beside nobody


async def test_a_hostile_company_that_ends_early_spoils_the_measurement(settings: Settings, folder: Path) -> None:
    environment = ProcessGroup(folder, settings).environment
    orders = AttackPlan(ways=["no way of ours"], api_port=1, party=Party(tokens={}, public_key="", private_key=""))
    with pytest.raises(DeploymentError, match="ended early"):
        async with misbehaving(orders, environment):
            pass


@pytest.mark.parametrize(
    ("texts", "refused", "missing", "fair"),
    [
        ([0.02] * 100, 0, 0, True),
        ([0.0201] * 100, 0, 0, False),
        ([0.02] * 100, 1, 0, False),
        ([0.02] * 100, 0, 1, False),
        ([], 0, 0, False),
    ],
)
def test_a_phase_is_fair_while_the_p99_at_most_doubles_and_nothing_is_refused_or_missing(
    texts: list[float], refused: int, missing: int, fair: bool
) -> None:
    alone = Phase(name="alone", samples=Samples([0.01] * 100, [], [], []))
    beside = Phase(name="beside", samples=Samples(texts, [], [], [], refused, missing))
    assert is_fair([alone, beside]) is fair
    assert ("NO" in table([alone, beside])) is not fair


@pytest.mark.parametrize(
    ("submissions", "reads", "fair"),
    [([0.015] * 100, [0.015] * 100, True), ([0.0151] * 100, [0.01] * 100, False), ([0.01] * 100, [0.0151] * 100, False)],
)
def test_the_phase_of_exports_is_fair_while_the_p95_of_submissions_and_reads_holds(
    submissions: list[float], reads: list[float], fair: bool
) -> None:
    alone = Phase(name="alone", samples=Samples([0.01] * 100, [], [0.01] * 100, [0.01] * 100))
    beside = Phase(name="exports", samples=Samples([0.01] * 100, [], submissions, reads))
    assert is_fair([alone, beside]) is fair
