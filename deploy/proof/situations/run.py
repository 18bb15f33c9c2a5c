"""How are the situations brought about? One after the other, on real processes; both people look before it is set right."""

import contextlib
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from adapters.clock import wall_now
from adapters.roles.context import open_context
from adapters.settings import Settings
from deploy.proof.clocks import faked
from deploy.proof.mail import deployment_with_mailbox
from deploy.proof.progress import Say
from deploy.proof.situations.company import make_company
from deploy.proof.situations.situations import Scene, Situation
from deploy.proof.situations.viewer import PAGES, TODAY, Viewer, viewers

SPEED = 10.0
"""A call of the sandbox takes 34 s of domain time, and a lead is late after five minutes: the run does not wait for them.
The hours of the day in which people may be called pass in half an hour."""

NAMED_SECONDS = 180.0
"""Until a page names the cause: a lead is late after 30 s at this speed, and two busy cores do the rest."""

GONE_SECONDS = 240.0
"""Until no page names it any more; where calls failed, as many must succeed first."""

CALM_SECONDS = 180.0
ROLES = ("accounts", "intake", "projector", "gateway", "api")


class Look(Struct, frozen=True, kw_only=True):
    """What one person read first on one page in one situation, whether it names the cause, and whether that ended."""

    situation: str
    viewer: str
    page: str
    said: str
    is_named: bool
    is_gone: bool = False

    @property
    def holds(self) -> bool:
        """Whether the page said what was wrong, and no longer than it was."""
        return self.is_named and self.is_gone

    @property
    def verdict(self) -> str:
        """Return in a few words whether it holds, and if not, why."""
        if not self.is_named:
            return "NO: the cause is not named first"
        return "yes" if self.is_gone else "NO: the cause is still named once it is set right"


async def prove(
    situations: Sequence[Situation],
    settings: Settings,
    folder: Path,
    say: Say,
    *,
    pictures: Path,
    library: str | None,
) -> list[Look]:
    """Run a deployment in `folder`, write the pictures, and return what was read.

    `library` is libfaketime; without it, the clock of the scheduler is right. Raises `DeploymentError`, `LogError`,
    `RecordNotCreatedError`.
    """
    now = wall_now()
    fast = replace(settings, clock_wall_at=now, clock_domain_at=now, clock_speed=SPEED)
    looks: list[Look] = []
    async with contextlib.AsyncExitStack() as stack:
        scene = await stack.enter_async_context(_deployed(fast, library, folder))
        people = await stack.enter_async_context(viewers(scene.deployment["api"].url, scene.company.manager))
        say("everything is ready")
        for viewer in people:
            await _until_calm(viewer, pictures)
        for situation in situations:
            await situation.bring_about(scene)
            say(f"{situation.name}: it has come about")
            seen = [await _look(situation, viewer, page, pictures) for page in situation.says for viewer in people]
            for look in seen:
                say(f"{look.situation}, {look.viewer}, {look.page}: {'' if look.is_named else 'NOT NAMED: '}{look.said}")
            await situation.set_right(scene)
            looks += [await _look_again(situation, look, people) for look in seen]
            say(f"{situation.name}: it is set right")
    return looks


async def _until_calm(viewer: Viewer, pictures: Path) -> None:
    """Wait until Today says that nothing needs anybody. At the end it does not: opt-outs stay those of the day."""
    await viewer.until_first(TODAY, ["Nothing needs you"], CALM_SECONDS)
    await viewer.photograph(pictures / f"calm-{viewer.name}-today.png")


async def _look(situation: Situation, viewer: Viewer, page: str, pictures: Path) -> Look:
    words = situation.says[page]
    said = await viewer.until_first(page, words, NAMED_SECONDS)
    await viewer.photograph(pictures / f"{situation.name}-{viewer.name}-{PAGES[page]}.png")
    is_named = all(one in said for one in words)
    return Look(situation=situation.name, viewer=viewer.name, page=page, said=" ".join(said.split()), is_named=is_named)


async def _look_again(situation: Situation, look: Look, people: Sequence[Viewer]) -> Look:
    viewer = next(one for one in people if one.name == look.viewer)
    return replace(look, is_gone=await viewer.until_gone(look.page, situation.says[look.page][0], GONE_SECONDS))


@contextlib.asynccontextmanager
async def _deployed(settings: Settings, library: str | None, folder: Path) -> AsyncIterator[Scene]:
    async with contextlib.AsyncExitStack() as stack:
        deployment = await stack.enter_async_context(deployment_with_mailbox(folder, settings))
        context = await stack.enter_async_context(open_context(settings))
        await deployment.prepare()
        if library is None:
            deployment.add("scheduler")
        else:
            faked(deployment, "scheduler", library)
        for role in ROLES:
            deployment.add(role)
        await deployment.until_ready()
        company = await make_company(context, deployment["api"].url)
        yield Scene(deployment, company)
        deployment.stop()
