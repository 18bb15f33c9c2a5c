"""Where does the hostile company act? In a process of its own, so that its work delays neither probe nor clock.

`misbehaving` starts `python -m deploy.proof.neighbours.attacker`, writes its plan to standard input and ends it by
closing that. The process then prints how much it sent: a deployment that shares well must have had something to share.
"""

import asyncio
import contextlib
import signal
import sys
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence

import msgspec
from msgspec import Struct

from adapters.local.process import tied_to_parent
from adapters.roles.context import open_context
from adapters.settings import load
from deploy.proof.neighbours.companies import Party
from deploy.proof.neighbours.hostility import TRAFFIC, WAYS, Hostile
from deploy.proof.processes import DeploymentError, give_way

START_SECONDS = 120.0
"""Until each way has sent something: a first burst of a thousand leads, on a machine that has other work."""

ATTACKER_NICENESS = 10
"""In reality its clients have machines of their own. Here they give way to the deployment; how much was sent is reported."""

LOOK_SECONDS = 0.05
STOP_SECONDS = 30.0
READY = b"ready\n"


class AttackPlan(Struct, frozen=True, kw_only=True):
    """The input of the process: one line of JSON."""

    ways: Sequence[str]
    api_port: int
    party: Party


@contextlib.asynccontextmanager
async def misbehaving(plan: AttackPlan, environment: Mapping[str, str]) -> AsyncIterator[Counter[str]]:
    """Misbehave until the block ends; the yielded counts are filled then.

    Raises `DeploymentError` where the process ended before: nothing was measured beside it.
    """
    sent: Counter[str] = Counter()
    if not plan.ways:
        yield sent
        return
    command = tied_to_parent([sys.executable, "-m", "deploy.proof.neighbours.attacker"], signal.SIGKILL)
    pipe = asyncio.subprocess.PIPE
    child = await asyncio.create_subprocess_exec(*command, stdin=pipe, stdout=pipe, env=environment, start_new_session=True)
    give_way(child.pid, ATTACKER_NICENESS)
    assert child.stdin is not None  # noqa: S101 - asked for above
    assert child.stdout is not None  # noqa: S101 - asked for above
    try:
        child.stdin.write(msgspec.json.encode(plan) + b"\n")
        if await asyncio.wait_for(child.stdout.readline(), START_SECONDS) != READY:
            raise DeploymentError("the hostile company did not start; its process said why on standard error")
        yield sent
        child.stdin.close()
        output, _ = await asyncio.wait_for(child.communicate(), STOP_SECONDS)
        if child.returncode != 0:
            raise DeploymentError("the hostile company ended early; its process said why on standard error")
        sent.update(msgspec.json.decode(output, type=dict[str, int]))
    finally:
        if child.returncode is None:
            child.kill()
            await child.wait()


async def _act(plan: AttackPlan) -> Counter[str]:
    """Go on in every way until standard input ends. Raises what a way raised, and where one ended by itself."""
    async with open_context(load()) as context:
        hostile = Hostile(context=context, api_port=plan.api_port, party=plan.party)
        ended = asyncio.get_running_loop().run_in_executor(None, sys.stdin.buffer.read)
        acts = [asyncio.create_task(_go_on(way, hostile), name=way) for way in plan.ways]
        await _begun(hostile, acts)
        sys.stdout.buffer.write(READY)
        sys.stdout.buffer.flush()
        await asyncio.wait([ended, *acts], return_when=asyncio.FIRST_COMPLETED)
        early = [act for act in acts if act.done()]
        for act in acts:
            act.cancel()
        await asyncio.gather(*acts, return_exceptions=True)
        for act in early:
            await act
        return hostile.sent


async def _begun(hostile: Hostile, acts: Sequence[asyncio.Task[None]]) -> None:
    """Return once each way has sent something, or one has ended: before that, the other company is beside nobody."""
    while not all(hostile.sent[act.get_name()] for act in acts) and not any(act.done() for act in acts):  # noqa: ASYNC110 - the ways only count
        await asyncio.sleep(LOOK_SECONDS)


async def _go_on(way: str, hostile: Hostile) -> None:
    await (WAYS | TRAFFIC)[way](hostile)
    raise RuntimeError(f"{way} ended before its phase was over")


def main() -> None:
    """Read the plan, act on it, and print what was sent."""
    plan = msgspec.json.decode(sys.stdin.buffer.readline(), type=AttackPlan)
    sys.stdout.buffer.write(msgspec.json.encode(asyncio.run(_act(plan))))


if __name__ == "__main__":
    main()
