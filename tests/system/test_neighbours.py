"""Does a company that misbehaves in every way slow another one? The measurement of `make prove-fair`, without its times."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from adapters.settings import Settings
from deploy.proof.neighbours.attacker import AttackPlan, misbehaving
from deploy.proof.neighbours.companies import Party
from deploy.proof.neighbours.hostility import ATTACK, TRAFFIC, WAYS
from deploy.proof.neighbours.measure import ATTACK_AT_ONCE, PlannedPhase, measure, plan_of
from deploy.proof.neighbours.probe import Samples
from deploy.proof.neighbours.report import ALL_AT_ONCE, ALONE, WARM_UP, Phase, is_fair, table
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
        plan = [
            PlannedPhase(name=ALL_AT_ONCE, ways=TOGETHER, seconds=15.0),
            PlannedPhase(name="impressions", ways=tuple(TRAFFIC), seconds=15.0),
        ]
        phases = await measure(deployment, plan, say=print)
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
    alone = Phase(name=ALONE, samples=Samples([0.01] * 100, [], [], []))
    beside = Phase(name="beside", samples=Samples(texts, [], [], [], refused, missing))
    assert is_fair([alone, beside]) is fair
    assert ("NO" in table([alone, beside])) is not fair


@pytest.mark.parametrize(("name", "most"), [("bursts", 0.02), (ATTACK_AT_ONCE, 0.02), (ALL_AT_ONCE, 0.04)])
def test_the_p99_may_double_beside_an_attack_and_be_four_times_as_long_beside_everything(name: str, most: float) -> None:
    alone = Phase(name=ALONE, samples=Samples([0.01] * 100, [], [], []))
    for seconds, fair in ((most, True), (most + 0.0001, False)):
        assert is_fair([alone, Phase(name=name, samples=Samples([seconds] * 100, [], [], []))]) is fair


@pytest.mark.parametrize(
    ("submissions", "reads", "fair"),
    [([0.015] * 100, [0.015] * 100, True), ([0.0151] * 100, [0.01] * 100, False), ([0.01] * 100, [0.0151] * 100, False)],
)
def test_the_phase_of_exports_is_fair_while_the_p95_of_submissions_and_reads_holds(
    submissions: list[float], reads: list[float], fair: bool
) -> None:
    alone = Phase(name=ALONE, samples=Samples([0.01] * 100, [], [0.01] * 100, [0.01] * 100))
    beside = Phase(name="exports", samples=Samples([0.01] * 100, [], submissions, reads))
    assert is_fair([alone, beside]) is fair


def test_a_phase_is_compared_with_the_phases_alone_before_and_after_it() -> None:
    def phase(name: str, seconds: float) -> Phase:
        return Phase(name=name, samples=Samples([seconds] * 100, [], [seconds] * 100, [seconds] * 100))

    slow_machine = [phase(ALONE, 0.03), phase("beside", 0.06), phase(ALONE, 0.03)]
    fast_machine = [phase(ALONE, 0.01), phase("beside", 0.06), phase(ALONE, 0.01)]
    assert is_fair([*slow_machine, phase("beside", 0.06), phase(ALONE, 0.02)])
    assert not is_fair([*slow_machine, *fast_machine])
    assert not is_fair([phase("beside", 0.01), phase("beside", 0.01), phase(ALONE, 1.0)])  # one is beside no phase alone


def test_what_is_measured_while_the_processes_warm_up_is_shown_and_not_judged() -> None:
    warm_up = Phase(name=WARM_UP, samples=Samples([0.9] * 100, [], [], []))
    alone = Phase(name=ALONE, samples=Samples([0.01] * 100, [], [], []))
    assert is_fair([warm_up, alone])
    assert "900.0" in table([warm_up, alone])


def test_a_plan_warms_up_and_measures_alone_before_and_after_each_way_and_all_at_once() -> None:
    names = [planned.name for planned in plan_of(("bursts", "exports"), seconds=20.0)]
    assert names == [WARM_UP, ALONE, "bursts", ALONE, "exports", ALONE, ALL_AT_ONCE, ALONE]
    assert [planned.name for planned in plan_of(("bursts",), seconds=20.0)] == [WARM_UP, ALONE, "bursts", ALONE]


def test_the_whole_plan_has_a_phase_of_the_five_ways_of_an_attack_at_once() -> None:
    whole = plan_of(tuple(WAYS), seconds=20.0)
    assert [planned.name for planned in whole[-4:]] == [ATTACK_AT_ONCE, ALONE, ALL_AT_ONCE, ALONE]
    assert [set(planned.ways) for planned in whole[-4::2]] == [set(ATTACK), set(WAYS)]
