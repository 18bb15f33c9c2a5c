"""How is the quiet company measured beside the hostile one? In phases, on one deployment of separate processes."""

import asyncio
import time
from collections.abc import Callable, Sequence
from itertools import chain

from msgspec import Struct

from adapters.roles.context import open_context
from deploy.proof.neighbours.attacker import AttackPlan, misbehaving
from deploy.proof.neighbours.companies import make_parties, stock
from deploy.proof.neighbours.hostility import ATTACK, WAYS, exports
from deploy.proof.neighbours.probe import Arrivals, Probe
from deploy.proof.neighbours.receivers import good_receiver, hanging_receiver
from deploy.proof.neighbours.report import ALL_AT_ONCE, ALONE, WARM_UP, Phase, words
from deploy.proof.processes import DeploymentError, ProcessGroup

ROLES = ("api", "accounts", "scheduler", "projector", "intake", "gateway")
ATTACK_AT_ONCE = "five at once"

WARM_UP_WAY = "bursts"
WARM_UP_SECONDS = 90.0
"""Under bursts, shown and not judged. A broker that has just started compiles its code while it works: beside bursts the
slowest texts then took 2.4 times as long as alone, a minute later 1.2 times."""

SWING_SECONDS = 5.0
"""Before a phase: until the hostile company is in full swing."""

WORK = {
    "intake": "leadclock_lag_records",
    "scheduler": "leadclock_lag_records",
    "projector": "leadclock_projector_lag_records",
}
"""Role -> its metric of records that wait. After a phase all must be done, so that the next phase alone is alone."""

IDLE_LOOKS = 3
LOOK_SECONDS = 1.0
IDLE_SECONDS_MAX = 300.0


class PlannedPhase(Struct, frozen=True, kw_only=True):
    """A phase to come: `ways` are those of the hostile company, none where the quiet one is alone."""

    name: str
    ways: Sequence[str]
    seconds: float


Plan = Sequence[PlannedPhase]


def plan_of(ways: Sequence[str], *, seconds: float) -> Plan:
    """Return the phases: a warm-up, then alone before and after each way, the attack's at once, and all of them at once."""
    warm_up = PlannedPhase(name=WARM_UP, ways=(WARM_UP_WAY,), seconds=WARM_UP_SECONDS)
    alone = PlannedPhase(name=ALONE, ways=(), seconds=seconds)
    judged = [PlannedPhase(name=way, ways=(way,), seconds=seconds) for way in ways]
    if set(ATTACK) < set(ways):
        judged.append(PlannedPhase(name=ATTACK_AT_ONCE, ways=ATTACK, seconds=seconds))
    if len(ways) > 1:
        judged.append(PlannedPhase(name=ALL_AT_ONCE, ways=ways, seconds=seconds))
    return [warm_up, alone, *chain.from_iterable((phase, alone) for phase in judged)]


async def measure(deployment: ProcessGroup, plan: Plan, *, say: Callable[[str], None]) -> list[Phase]:
    """Run the roles and measure each phase. Raises `DeploymentError`, `RecordNotCreatedError`, `LogError`."""
    arrivals = Arrivals()
    async with (
        open_context(deployment.settings) as context,
        good_receiver(arrivals.note) as good_port,
        hanging_receiver() as hanging_port,
    ):
        await deployment.prepare()
        for role in ROLES:
            deployment.add(role)
        await deployment.until_ready()
        quiet, hostile_party = await make_parties(context, good_port=good_port, hanging_port=hanging_port)
        api_url = deployment["api"].url
        if any(WAYS.get(way) is exports for planned in plan for way in planned.ways):
            await stock(api_url, deployment.settings.postgres_dsn, hostile_party)
        api_port = int(api_url.rpartition(":")[2])
        probe = Probe(context, api_url, quiet, arrivals)
        phases: list[Phase] = []
        async with probe.running():
            for planned in plan:
                attack = AttackPlan(ways=planned.ways, api_port=api_port, party=hostile_party)
                async with misbehaving(attack, deployment.environment) as sent:
                    await asyncio.sleep(SWING_SECONDS if planned.ways else 0)
                    samples = await probe.measure(planned.seconds)
                if planned.ways:
                    await _until_idle(deployment)
                phases.append(Phase(name=planned.name, samples=samples, sent=sent.total()))
                say(words(phases[-1]))
    return phases


async def _until_idle(deployment: ProcessGroup) -> None:
    """Wait until no record waited for intake, scheduler or projector in a few looks. Raises `DeploymentError`."""
    looks, deadline = 0, time.monotonic() + IDLE_SECONDS_MAX
    while looks < IDLE_LOOKS:
        await asyncio.sleep(LOOK_SECONDS)
        waiting = {role: (await deployment[role].figures())[series] for role, series in WORK.items()}
        looks = 0 if any(waiting.values()) else looks + 1
        if time.monotonic() > deadline:
            raise DeploymentError(f"not idle {IDLE_SECONDS_MAX:.0f} s after a phase; records that wait: {waiting}")
