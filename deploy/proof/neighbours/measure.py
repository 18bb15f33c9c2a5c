"""How is the quiet company measured beside the hostile one? In phases, on one deployment of separate processes."""

import asyncio
from collections.abc import Callable, Sequence

from adapters.roles.context import open_context
from deploy.proof.neighbours.attacker import AttackPlan, misbehaving
from deploy.proof.neighbours.companies import make_parties, stock
from deploy.proof.neighbours.hostility import WAYS, exports
from deploy.proof.neighbours.probe import Arrivals, Probe
from deploy.proof.neighbours.receivers import good_receiver, hanging_receiver
from deploy.proof.neighbours.report import Phase, words
from deploy.proof.processes import ProcessGroup

ROLES = ("api", "accounts", "scheduler", "projector", "intake", "gateway")
WARM_UP_SECONDS = 5.0
ALONE = "alone"
ALL_AT_ONCE = "all at once"

Plan = Sequence[tuple[str, Sequence[str]]]
"""Each phase's name, and the ways of misbehaving beside it."""


def plan_of(ways: Sequence[str]) -> Plan:
    """Return the phases: alone, beside each way, beside all of them."""
    together = [(ALL_AT_ONCE, ways)] if len(ways) > 1 else []
    return [(ALONE, ()), *((way, (way,)) for way in ways), *together]


async def measure(deployment: ProcessGroup, plan: Plan, *, seconds: float, say: Callable[[str], None]) -> list[Phase]:
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
        if any(WAYS.get(way) is exports for _, together in plan for way in together):
            await stock(api_url, deployment.settings.postgres_dsn, hostile_party)
        api_port = int(api_url.rpartition(":")[2])
        probe = Probe(context, api_url, quiet, arrivals)
        phases: list[Phase] = []
        async with probe.running():
            await probe.measure(WARM_UP_SECONDS)
            for name, together in plan:
                attack = AttackPlan(ways=together, api_port=api_port, party=hostile_party)
                async with misbehaving(attack, deployment.environment) as sent:
                    await asyncio.sleep(WARM_UP_SECONDS if together else 0)  # the hostile company is in full swing
                    samples = await probe.measure(seconds)
                phases.append(Phase(name=name, samples=samples, sent=sent.total()))
                say(words(phases[-1]))
    return phases
