"""What is the proof? Calls and texts are under way with four vendors, two gateways restart in turn, and all is counted."""

import asyncio
import contextlib
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from adapters.roles.context import Context, open_context
from adapters.settings import Settings
from deploy.proof.carriers.address import PublicAddress
from deploy.proof.carriers.company import leads, make_companies
from deploy.proof.carriers.judgement import judge_carriers, read_log
from deploy.proof.carriers.vendors import Pace, Vendors
from deploy.proof.load import post
from deploy.proof.processes import ProcessGroup, RoleProcess
from deploy.proof.progress import Say, lap, sparingly
from deploy.proof.rest import stop_and_show, until_at_rest
from deploy.proof.run import audit, recount
from deploy.proof.verdict import Accepted, VerdictRow, none
from schemas.errors import DependencyError
from schemas.records import ProviderChannel

PROVIDERS = ("twilio", "telnyx", "smpp", "asterisk")
LOOK_SECONDS = 0.1

BEGIN_SECONDS = 180.0
"""The longest until orders of a part of the load have come to their vendors."""

SHARE_PLACED = 0.5
"""A gateway restarts once so much of a part of the load is with the vendors: the rest is still to come."""


class NotUnderWayError(DependencyError):
    """The load did not come to the vendors."""


class RestartPlan(Struct, frozen=True, kw_only=True):
    """How much, and what happens meanwhile; half of the load comes before each gateway's restart.

    `kills`: the first gateway is killed instead of stopped. `away_seconds`: between both restarts no API takes reports for
    so long. `seconds` bounds the way to rest.
    """

    calls: int = 50
    texts: int = 500
    kills: bool = False
    apis: int = 2
    away_seconds: float = 8.0
    pace: Pace = Pace()
    seconds: float = 1_200.0
    seed: int = 1


class RestartProof(Struct, frozen=True, kw_only=True):
    """What came of it: rows of promises, and in words what was under way at each restart and came out."""

    rows: list[VerdictRow]
    words: list[str]

    @property
    def holds(self) -> bool:
        """Whether every promise is kept."""
        return all(row.holds for row in self.rows)


async def prove_restarts(plan: RestartPlan, settings: Settings, folder: Path, say: Say) -> RestartProof:
    """Run a whole deployment in `folder` against broker and database of the settings, and judge it.

    Raises `DeploymentError`, `NoRestError`, `NotUnderWayError`, `LogError`.
    """
    apis: list[RoleProcess] = []
    async with contextlib.AsyncExitStack() as stack:
        address = await stack.enter_async_context(PublicAddress(lambda: [api.url for api in apis]))
        vendors = await stack.enter_async_context(Vendors(plan.pace, seed=plan.seed))
        deployment = ProcessGroup(
            folder,
            replace(
                settings,
                sandbox=(),
                channels=("call", "sms"),
                providers=PROVIDERS,
                public_url=address.url,
                webhook_private_networks=("127.0.0.1/32",),
            ),
        )
        stack.callback(deployment.kill)
        context = await stack.enter_async_context(open_context(deployment.settings))
        return await _Restarts(plan, deployment, context, vendors=vendors, apis=apis, say=say).prove()


class _Restarts:
    """One proof on its way."""

    def __init__(
        self,
        plan: RestartPlan,
        deployment: ProcessGroup,
        context: Context,
        *,
        vendors: Vendors,
        apis: list[RoleProcess],
        say: Say,
    ) -> None:
        self._plan = plan
        self._deployment = deployment
        self._context = context
        self._vendors = vendors
        self._apis = apis
        self._say = say
        self._accepted = Accepted(ids=set(), bad={}, records=0)
        self._words: list[str] = []
        self._rows: list[VerdictRow] = []
        self._statuses: dict[str, int] = {}

    async def prove(self) -> RestartProof:
        plan, context, started = self._plan, self._context, time.monotonic()
        tokens = await self._start()
        lap(self._say, "everything is ready", started)
        for half, name in enumerate(("gateway-1", "gateway-2")):
            await self._load(tokens, half)
            await self._restart(self._deployment[name], is_killed=plan.kills and half == 0)
            if half == 0 and plan.away_seconds:
                await self._take_apis_away()
        await self._vendors.finish()
        lap(self._say, f"every vendor has reported; not taken were {dict(self._vendors.refused)}", started)
        await until_at_rest(
            context,
            context.settings.postgres_dsn,
            leads=plan.calls + plan.texts,
            seconds=plan.seconds,
            say=sparingly(self._say),
        )
        lap(self._say, "everything is decided, carried out and shown", started)
        return await self._judge()

    async def _start(self) -> Sequence[Mapping[ProviderChannel, str]]:
        """Start every role and make the companies; return their lead tokens."""
        deployment = self._deployment
        await deployment.prepare()
        for role in ("accounts", "scheduler", "intake", "projector"):
            deployment.add(role)
        self._apis += [deployment.add("api", f"api-{number}") for number in range(1, self._plan.apis + 1)]
        for number in (1, 2):
            deployment.add("gateway", f"gateway-{number}")
        await deployment.until_ready()
        return await make_companies(self._context, self._vendors)

    async def _load(self, tokens: Sequence[Mapping[ProviderChannel, str]], half: int) -> None:
        """Post one half of the load, and wait until much of it is with the vendors."""
        plan, before = self._plan, self._placed()
        wanted = Counter(before)
        loads: Sequence[tuple[ProviderChannel, range]] = (
            ("call", range(plan.calls)),
            ("sms", range(plan.calls, plan.calls + plan.texts)),
        )
        for channel, indexes in loads:
            part = _half(indexes, half)
            posted = await post(self._context, leads(tokens, channel, part, self._context))
            self._accepted.ids |= posted.ids
            self._accepted.records += posted.records
            wanted[channel] += int(SHARE_PLACED * len(part))
        await _until(lambda: self._placed() >= wanted, "orders at the vendors")

    def _placed(self) -> Counter[str]:
        """Return how many calls and texts the vendors were asked for."""
        return Counter(kind for kind, _ in self._vendors.orders().elements())

    async def _restart(self, gateway: RoleProcess, *, is_killed: bool) -> None:
        under_way = self._vendors.under_way()
        words = (
            f"{gateway.name} is {'killed' if is_killed else 'stopped'} with {under_way['call']} calls and "
            f"{under_way['sms']} texts under way, {self._placed().total()} placed"
        )
        self._say(words)
        self._words.append(words)
        self._rows.append(
            VerdictRow(promise=f"{gateway.name}: calls were under way", expected=1, found=int(under_way["call"] > 0))
        )
        started = time.monotonic()
        if is_killed:
            gateway.kill()
        else:
            self._statuses[f"{gateway.name} (first)"] = await asyncio.to_thread(gateway.stop)
        lap(self._say, f"{gateway.name} has ended", started)
        gateway.start()
        await gateway.until_ready()
        lap(self._say, f"{gateway.name} is ready again", started)

    async def _take_apis_away(self) -> None:
        """Stop every API for a while, so that vendors have nobody to report to."""
        for api in self._apis:
            api.ask_to_stop()
        for api in self._apis:
            self._statuses[f"{api.name} (first)"] = await asyncio.to_thread(api.wait)
        await asyncio.sleep(self._plan.away_seconds)
        for api in self._apis:
            api.start()
        await asyncio.gather(*(api.until_ready() for api in self._apis))
        self._say(f"every API was away, for {self._vendors.refused.total()} reports")

    async def _judge(self) -> RestartProof:
        plan = self._plan
        statuses = self._statuses | await stop_and_show(self._deployment, self._context, seconds=plan.seconds)
        log = await read_log(self._context)
        self._words.append(", ".join(f"{count} {outcome}" for outcome, count in sorted(log.counted().items())))
        rows = [
            *self._rows,
            *judge_carriers(
                log,
                self._vendors.orders(),
                people=plan.calls + plan.texts,
                nameless=self._vendors.texts_without_name() if plan.kills else None,
            ),
        ]
        counted, found = await recount(self._context, self._accepted, statuses)
        counted.append(
            none("dead letters", (f"{topic}, partition {at}, offset {place}" for topic, at, place, _ in found.dead))
        )
        audited, words = await audit(self._deployment)
        self._say(words)
        return RestartProof(rows=[*rows, *counted, *audited], words=self._words)


def _half(numbers: range, half: int) -> range:
    middle = numbers.start + len(numbers) // 2
    return range(numbers.start, middle) if half == 0 else range(middle, numbers.stop)


async def _until(is_so: Callable[[], bool], what: str) -> None:
    try:
        async with asyncio.timeout(BEGIN_SECONDS):
            while not is_so():  # noqa: ASYNC110 - other processes work
                await asyncio.sleep(LOOK_SECONDS)
    except TimeoutError:
        raise NotUnderWayError(f"missing after {BEGIN_SECONDS:.0f} s: {what}") from None
