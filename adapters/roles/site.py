"""Is this the Kafka cluster and the site that the deployment is recorded for? Elsewhere nobody is contacted.

A copy of a deployment (a drill, a staging machine, a restored backup) has real people in it. So where Kafka's cluster id or
`LEADCLOCK_SITE` is not the recorded one, gateways return every command for a hold, and ask for one that everybody sees. A
release alone changes nothing: an operator accepts the site by `leadclock site --accept`. Addresses and ports are not
compared, nor for how long nothing ran.
"""

import asyncio

import structlog
from msgspec import Struct

from adapters.gateway.contact_holds import CoveringHold, HoldsOfRules
from adapters.operator.contact_holds import TYPE, HoldNotDecidedError, HoldRequests
from adapters.roles.context import Context
from adapters.roles.identity import append_identity, establish_database, read_identity
from engine.partition.ports import LogError
from schemas.deployment import AcceptedSite, Deployment, site_key
from schemas.errors import SenderError
from schemas.records import EVERY_COMPANY, HELD_BY_DEFAULT, ContactHold, Record, body_of
from schemas.requests import RulesPlace
from schemas.wire import to_json

ACCEPT = "leadclock site --accept"

REASON = "not the recorded site"
"""How the reason of a hold begins that gateways asked for."""

CHECK_SECONDS = 5.0
"""How often a gateway looks whether the hold is in force: somebody may have released it."""

logger = structlog.get_logger(__name__)


class Site(Struct, frozen=True):
    """Where a process runs: Kafka's id of the cluster, empty without Kafka, and the operator's word."""

    cluster_id: str
    word: str


async def find_site(context: Context) -> Site:
    """Return where this process runs. Raises `LogError`."""
    return Site(await context.cluster_id(), context.settings.site)


def compare_site(recorded: Deployment | None, site: Site) -> str | None:
    """Return how a site differs from the recorded one; None where it does not, or nothing is recorded yet."""
    if recorded is None:
        return None
    table = (
        ("Kafka's cluster id", site.cluster_id, recorded.cluster_id),
        ("LEADCLOCK_SITE", site.word, recorded.site),
    )
    wrong = [f"{name} is {here!r}, recorded is {there!r}" for name, here, there in table if here != there]
    return f"{REASON}: {'; '.join(wrong)}" if wrong else None


class SiteHolds(HoldsOfRules):
    """The holds of the rules, and one on everything while this is not the recorded site."""

    def __init__(self, context: Context, site: Site) -> None:
        super().__init__(context.rules)
        self._context = context
        self._site = site

    @property
    def problem(self) -> str | None:
        """Return how the site differs now: it may be accepted at any time."""
        return compare_site(self._context.rules.deployment, self._site)

    def find(self, company_id: int, channel: str) -> CoveringHold | None:
        """Return the oldest hold that covers a channel of a company, or else that the site is not the recorded one."""
        found = super().find(company_id, channel)
        if found is not None or (problem := self.problem) is None:
            return found
        # What is asked for comes next on the partition of all companies: until then a lead looks again, and is not dropped.
        partition, sequence = self._context.rules.seen(EVERY_COMPANY)
        return CoveringHold(problem, RulesPlace(partition, sequence + 1))


async def keep_held(context: Context, holds: SiteHolds) -> None:
    """Look now and then whether a hold is to be asked for; until cancelled."""
    requests = HoldRequests(context, source="/gateway", actor="gateway;;")
    while True:
        try:
            await hold_elsewhere(context, holds, requests)
        except (HoldNotDecidedError, SenderError, LogError) as error:
            logger.warning("site.hold_not_made", reason=str(error))
        await asyncio.sleep(CHECK_SECONDS)


async def hold_elsewhere(context: Context, holds: SiteHolds, requests: HoldRequests) -> None:
    """Ask for a hold, where none is in force and this is not the recorded site.

    An operator may accept the site at the same time, and releases the holds that are there by then. So the rules are read
    before a hold is asked for, and one that was decided behind the acceptance is released here.

    Raises `HoldNotDecidedError`, `SenderError`, `LogError`.
    """
    if not _is_asked_for(context, holds):
        return
    await context.rules.refresh()
    if not _is_asked_for(context, holds):
        return
    reason = f"{holds.problem}. Once it is meant: {ACCEPT}"
    made = await requests.create(EVERY_COMPANY, {"reason": reason, "channels": list(HELD_BY_DEFAULT)})
    logger.error("site.held", reason=reason, hold=made.id)
    await context.rules.refresh()
    if holds.problem is None:
        await requests.release(made)


def _is_asked_for(context: Context, holds: SiteHolds) -> bool:
    return holds.problem is not None and not any(covers_everybody(one) for one in context.rules.rules.of_type(TYPE))


def covers_everybody(record: Record) -> bool:
    """Return whether a hold covers every company, on every channel that reaches people."""
    body = body_of(record)
    return record.company_id == EVERY_COMPANY and isinstance(body, ContactHold) and all(map(body.covers, HELD_BY_DEFAULT))


async def accept_site(context: Context, *, with_database: bool) -> list[Record]:
    """Record this site as that of the deployment, and release the holds that gateways asked for; return those.

    Raises `HoldNotDecidedError` where no accounts role decides the release, `LogError`, `DatabaseAwayError`.
    """
    site, recorded = await find_site(context), await read_identity(context)
    if recorded is not None and compare_site(recorded, site) is not None:
        accepted = AcceptedSite(cluster_id=site.cluster_id, site=site.word, accepted_at=context.clock.wall())
        await append_identity(context, site_key(recorded.id), to_json(accepted))
        recorded = await read_identity(context)
    if with_database and recorded is not None:
        await establish_database(context, recorded)
    asked = [one for one in context.rules.rules.of_type(TYPE) if str(one.body["reason"]).startswith(REASON)]
    return [await HoldRequests(context).release(one) for one in asked]
