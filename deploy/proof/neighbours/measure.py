"""How is the quiet company measured beside the hostile one? In phases, on one deployment of separate processes."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Sequence

from adapters.roles.context import open_context
from deploy.proof.neighbours.companies import make_parties, stock
from deploy.proof.neighbours.hostility import WAYS, Hostile, exports
from deploy.proof.neighbours.probe import Arrivals, Probe
from deploy.proof.neighbours.receivers import good_receiver, hanging_receiver
from deploy.proof.neighbours.report import Phase, words
from deploy.proof.processes import Deployment, DeploymentError

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


async def measure(deployment: Deployment, plan: Plan, *, seconds: float, say: Callable[[str], None]) -> list[Phase]:
    """Run the roles and measure so many seconds in each phase. Raises `DeploymentError`, `NotMadeError`, `LogError`."""
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
        if any(WAYS[way] is exports for _, together in plan for way in together):
            await stock(api_url, deployment.settings.postgres_dsn, hostile_party)
        hostile = Hostile(context=context, api_port=int(api_url.rpartition(":")[2]), party=hostile_party)
        probe = Probe(context, api_url, quiet, arrivals)
        phases: list[Phase] = []
        async with probe.running():
            await probe.measure(WARM_UP_SECONDS)
            for name, together in plan:
                async with _misbehaving(together, hostile):
                    phases.append(Phase(name=name, samples=await probe.measure(seconds)))
                say(words(phases[-1]))
    return phases


@contextlib.asynccontextmanager
async def _misbehaving(ways: Sequence[str], hostile: Hostile) -> AsyncIterator[None]:
    """Misbehave in these ways until the block ends. Raises `DeploymentError` where one ended before: it measured nothing."""
    tasks = [asyncio.create_task(_until_cancelled(way, hostile), name=way) for way in ways]
    try:
        await asyncio.sleep(WARM_UP_SECONDS if tasks else 0)  # the hostile company is in full swing
        yield
        for task in tasks:
            if task.done():
                await task
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _until_cancelled(way: str, hostile: Hostile) -> None:
    await WAYS[way](hostile)
    raise DeploymentError(f"{way} ended before its phase was over")
