"""Does a copy of a deployment contact nobody, until an operator accepts the site? On a real Kafka and PostgreSQL."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from click.testing import CliRunner, Result
from msgspec.structs import replace

from adapters.cli.main import cli
from adapters.clock import wall_now
from adapters.observability.metrics import Metrics
from adapters.operator.contact_holds import HoldRequests
from adapters.postgres.identity import read_identity
from adapters.postgres.pool import Pool, open_pool
from adapters.roles.context import Context, open_context
from adapters.roles.deciders import accounts
from adapters.roles.gateway import GatewayRole
from adapters.roles.site import Site, SiteHolds, compare_site, hold_elsewhere
from adapters.settings import load
from schemas.deployment import Deployment
from schemas.instant import DAY, EPOCH
from schemas.records import EVERY_COMPANY, Record
from tests.adapters.gateway.world import Town, command_of, until
from tests.contact_ids import SECRET
from tests.pace import bound

DEPLOYMENT = Deployment(
    id="d", topic_prefix="", app="a", contact_id_secret=SECRET, created_at=EPOCH, cluster_id="north", site="prod"
)


@pytest.mark.parametrize(
    ("site", "named"),
    [
        (Site("north", "prod"), None),
        (Site("south", "prod"), "Kafka's cluster id is 'south', recorded is 'north'"),
        (Site("north", "drill"), "LEADCLOCK_SITE is 'drill', recorded is 'prod'"),
        (Site("north", ""), "LEADCLOCK_SITE is '', recorded is 'prod'"),
    ],
)
def test_a_site_that_is_not_the_recorded_one_is_named_with_both_words(site: Site, named: str | None) -> None:
    problem = compare_site(DEPLOYMENT, site)
    assert problem == (None if named is None else f"not the recorded site: {named}")
    assert compare_site(None, site) is None


@pytest.fixture(autouse=True)
def settings(kafka_bootstrap: str, database: str, topic_prefix: str, monkeypatch: pytest.MonkeyPatch) -> None:
    values = {
        "KAFKA_BOOTSTRAP": kafka_bootstrap,
        "POSTGRES_DSN": database,
        "TOPIC_PREFIX": topic_prefix,
        "PARTITIONS": "1",
        "SECRET_KEY": "a secret of the tests, 32 characters long",
        "SITE": "prod",
    }
    for name, value in values.items():
        monkeypatch.setenv(f"LEADCLOCK_{name}", value)


class Drill:
    """A gateway and an accounts role at one site, and the texts that are emitted there."""

    def __init__(self, context: Context, pool: Pool) -> None:
        self.context, self._pool = context, pool
        self.gateway = GatewayRole(context, Metrics())
        self.place = Town(context.log, "sms", 1, context.names)

    async def text(self, number: int) -> str:
        """Emit a text, and return its outcome."""
        await self.place.append(command_of("sms", number, decided_at=wall_now() + DAY, not_before=EPOCH))
        return dict(await self.place.outcome(number))[f"command-{number}"]

    async def given(self) -> int:
        """Return how many orders the sandbox was given: it writes each down before it carries it out."""
        return int(await self._pool.fetchval("SELECT count(*) FROM work.sandbox_orders"))

    async def hold(self) -> Record:
        """Return the hold on everybody that the gateway asked for, once it is there."""
        found = await until(lambda: list(self.context.rules.rules.of_type("contact_hold")))
        assert isinstance(found[-1], Record)
        return found[-1]

    async def released(self) -> None:
        """Return once the gateway has read that no hold is left: it may be a second behind the operator."""
        left = await until(lambda: list(self.context.rules.rules.of_type("contact_hold")), lambda found: not found)
        assert left == []


class AcceptedMeanwhile(SiteHolds):
    """Holds of a gateway whose site is accepted while it asks for its hold: after so many looks at the site."""

    def __init__(self, context: Context, site: Site, *, looks: int) -> None:
        super().__init__(context, site)
        self._looks = looks

    @property
    def problem(self) -> str | None:
        self._looks -= 1
        return "not the recorded site" if self._looks >= 0 else None


@asynccontextmanager
async def running() -> AsyncIterator[Drill]:
    stop, settings = asyncio.Event(), load()
    pool = await open_pool(settings.postgres_dsn, size=1)
    async with open_context(replace(settings, channels=("sms",), sandbox=("sms",))) as context:
        await context.rules.refresh()
        drill = Drill(context, pool)
        roles = [asyncio.create_task(role.run(stop)) for role in (accounts(context, Metrics()), drill.gateway)]
        try:
            async with asyncio.timeout(bound(120.0)):
                yield drill
        finally:
            stop.set()
            await asyncio.gather(*roles)
            await pool.close()


async def ran(*arguments: str, status: int = 0) -> Result:
    result = await asyncio.to_thread(CliRunner().invoke, cli, arguments)
    assert result.exit_code == status, result.output
    return result


async def test_elsewhere_nobody_is_contacted_until_an_operator_accepts_the_site(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    await ran("topics", "create")
    await ran("db", "migrate")
    await ran("site")
    monkeypatch.setenv("LEADCLOCK_SITE", "drill")
    named = "not the recorded site: LEADCLOCK_SITE is 'drill', recorded is 'prod'"
    async with running() as drill:
        assert (await drill.text(1), await drill.given()) == ("held", 0)
        hold = await drill.hold()
        assert hold.company_id == EVERY_COMPANY
        assert hold.body["reason"] == f"{named}. Once it is meant: leadclock site --accept"
        assert named in drill.gateway.problems()["site"]
        assert named in (await ran("doctor", status=1)).output
        assert named in (await ran("site", status=1)).output

        await ran("release", str(hold.id))
        assert (await drill.text(2), await drill.given()) == ("held", 0), "a release alone changes nothing"
        assert (await drill.hold()).id != hold.id

        accepted = await ran("site", "--accept")
        assert "LEADCLOCK_SITE 'drill'; released: " in accepted.output
        await drill.released()
        assert (await drill.text(3), await drill.given()) == ("delivered", 1)
        assert "site" not in drill.gateway.problems()
    await ran("site")
    stored = await read_identity(database)
    assert stored is not None
    assert stored.site == "drill"


@pytest.mark.parametrize(
    ("looks", "is_made"), [(1, False), (3, True)], ids=["accepted before it is asked for", "accepted while it is decided"]
)
async def test_a_site_that_is_accepted_while_a_gateway_asks_for_its_hold_is_not_held(looks: int, *, is_made: bool) -> None:
    await ran("topics", "create")
    await ran("db", "migrate")
    async with running() as drill:
        context = drill.context
        holds = AcceptedMeanwhile(context, Site("here", "drill"), looks=looks)
        await context.rules.refresh()
        _, before = context.rules.seen(EVERY_COMPANY)
        await hold_elsewhere(context, holds, HoldRequests(context))
        _, after = context.rules.seen(EVERY_COMPANY)
        assert (after > before) is is_made
        assert not any(context.rules.rules.of_type("contact_hold"))


async def test_the_cluster_id_is_that_of_the_broker_and_recorded_when_the_topics_are_made() -> None:
    await ran("topics", "create")
    async with open_context(load()) as context:
        await context.rules.refresh()
        assert context.rules.deployment is not None
        assert context.rules.deployment.cluster_id == await context.cluster_id() != ""
