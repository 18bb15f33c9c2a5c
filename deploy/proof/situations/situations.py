"""Which situations are prepared? Each with how it comes about, what the pages must say first, and how it is set right."""

import asyncio
import os
import signal
import time
from collections.abc import Awaitable, Callable

from msgspec import Struct

from adapters.up.demo import BUYERS
from deploy.proof.clocks import RIGHT, clock_file
from deploy.proof.processes import DeploymentError, ProcessGroup
from deploy.proof.situations.company import CALLS, REFUSED, SOURCE, TEXTS, DemoCompany
from deploy.proof.situations.viewer import DIALLING, TODAY

AHEAD = "+2h"
CLOCK_JUMPED = "clock-jumped"
LEADS = 4
FAILING = 12
FLOOD, OTHERS = 24, 6
"""People who text STOP, and leads of the same schedule whose people do not."""

COMES_SECONDS = 120.0
"""A text or a call of the sandbox is over in seconds; two busy cores need more."""

LOOK_SECONDS = 0.5


class Scene:
    """A deployment and its company, in which situations come about."""

    def __init__(self, deployment: ProcessGroup, company: DemoCompany) -> None:
        self.deployment = deployment
        self.company = company
        self.people: list[str] = []
        """Who texted STOP."""


Act = Callable[[Scene], Awaitable[None]]


class Situation(Struct, frozen=True, kw_only=True):
    """One situation; `says` are the words that a page has in its first sentence, the first of them only while it lasts."""

    name: str
    bring_about: Act
    set_right: Act
    says: dict[str, tuple[str, ...]]


async def _fill_buyers(scene: Scene) -> None:
    for buyer in BUYERS:
        await scene.company.change("buyer", buyer["name"], attempt_daily_limit=0)
    await scene.company.submit(CALLS, LEADS)


async def _empty_buyers(scene: Scene) -> None:
    for buyer in BUYERS:
        await scene.company.change("buyer", buyer["name"], attempt_daily_limit=None)


async def _lose_provider(scene: Scene) -> None:
    await scene.company.submit(CALLS, FAILING, ending=REFUSED)


async def _regain_provider(scene: Scene) -> None:
    await scene.company.submit(CALLS, 2 * FAILING)


async def _pause(scene: Scene) -> None:
    await scene.company.change("schedule", CALLS, paused=True)
    await scene.company.submit(CALLS, LEADS)


async def _resume(scene: Scene) -> None:
    await scene.company.change("schedule", CALLS, paused=False)


async def _jump(scene: Scene) -> None:
    clock_file(scene.deployment, "scheduler").write_text(AHEAD)
    await scene.company.submit(CALLS, LEADS)


async def _set_clock(scene: Scene) -> None:
    clock_file(scene.deployment, "scheduler").write_text(RIGHT)
    await scene.deployment["scheduler"].until_ready()


async def _opt_out(scene: Scene) -> None:
    scene.people = await scene.company.submit(TEXTS, FLOOD, source=SOURCE)
    await scene.company.submit(TEXTS, OTHERS)
    await _until_texted(scene.company, FLOOD + OTHERS)
    for person in scene.people:
        await scene.company.receive_text(person, "STOP")


async def _until_texted(company: DemoCompany, number: int) -> None:
    deadline = time.monotonic() + COMES_SECONDS
    while (texted := await company.count_texted(TEXTS)) < number:
        if time.monotonic() > deadline:
            raise DeploymentError(f"{texted} of {number} people were texted within {COMES_SECONDS:.0f} s")
        await asyncio.sleep(LOOK_SECONDS)


async def _opt_in(scene: Scene) -> None:
    for person in scene.people:
        await scene.company.receive_text(person, "START")


async def _stop_projector(scene: Scene) -> None:
    await asyncio.to_thread(scene.deployment["projector"].stop)
    await scene.company.submit(TEXTS, LEADS)


async def _start_projector(scene: Scene) -> None:
    scene.deployment["projector"].start()
    await scene.deployment["projector"].until_ready()


async def _freeze_projector(scene: Scene) -> None:
    os.kill(scene.deployment["projector"].pid, signal.SIGSTOP)
    await scene.company.submit(TEXTS, LEADS)


async def _thaw_projector(scene: Scene) -> None:
    os.kill(scene.deployment["projector"].pid, signal.SIGCONT)
    await scene.deployment["projector"].until_ready()


SITUATIONS: tuple[Situation, ...] = (
    Situation(
        name="schedule-paused",
        bring_about=_pause,
        set_right=_resume,
        says={TODAY: (f"Paused: {CALLS}",), DIALLING: ("Pauses: ", CALLS)},
    ),
    Situation(
        name="buyers-full",
        bring_about=_fill_buyers,
        set_right=_empty_buyers,
        says={TODAY: ("No buyer can take a call",), DIALLING: ("Each buyer is paused or has used up a cap",)},
    ),
    Situation(
        name="projector-stopped",
        bring_about=_stop_projector,
        set_right=_start_projector,
        says=dict.fromkeys((TODAY, DIALLING), ("the projector stands still", "What you see is as of ")),
    ),
    Situation(
        name="projector-frozen",
        bring_about=_freeze_projector,
        set_right=_thaw_projector,
        says=dict.fromkeys((TODAY, DIALLING), ("the projector stands still", "What you see is as of ")),
    ),
    Situation(
        name="opt-out-flood",
        bring_about=_opt_out,
        set_right=_opt_in,
        says={TODAY: (f"{FLOOD} people have opted out in the last hour", TEXTS, SOURCE, "text-1")},
    ),
    Situation(
        name=CLOCK_JUMPED,
        bring_about=_jump,
        set_right=_set_clock,
        says=dict.fromkeys((TODAY, DIALLING), ("clock of a machine has",)),
    ),
    Situation(
        name="provider-down",
        bring_about=_lose_provider,
        set_right=_regain_provider,
        says=dict.fromkeys((TODAY, DIALLING), ("reached no telephone: the provider",)),
    ),
)
"""In an order in which what one leaves behind, such as calls of the last hour, does not cover the next."""
