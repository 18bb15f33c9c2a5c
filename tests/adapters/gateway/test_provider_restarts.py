"""Is nobody reached twice, and nothing unknown that the provider knows, when gateways are killed or restarted?

Gateways are processes of their own, on a real Kafka and PostgreSQL; the vendor is a fake that remembers. It, and locks on
rows of the database, hold a gateway at a point of its way from order to answer until it is dead.
"""

import asyncio
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import asyncpg
import httpx
import pytest

from adapters.clock import wall_now
from adapters.local.process import free_port
from adapters.observability.metrics import Metrics
from adapters.partitions.routing import partition_of
from adapters.providers.sealing import seal
from adapters.roles.api import ApiRole
from adapters.roles.context import Context, open_context, prepare
from adapters.roles.identity import establish, establish_database
from adapters.settings import Settings
from deploy.proof.processes import ProcessGroup, RoleProcess
from engine.partition.ports import Outgoing
from schemas.instant import DAY, EPOCH
from schemas.records import ProviderConfiguration, Record, plain, rules_key
from schemas.requests import REQUEST_TYPES, OutcomeRecorded
from schemas.topics import ACCOUNTS_RULES
from schemas.wire import from_json, to_json
from tests.adapters.gateway.world import Town, command_of
from tests.adapters.providers.fake_twilio import ACCOUNT, TOKEN, FakeTwilio
from tests.pace import bound

pytestmark = pytest.mark.system

PARTITIONS = 3
SECRET_KEY = "a secret of the tests, 32 characters long"
OURS, BUYER = "+12125550188", "+12125550177"

WAIT_SECONDS = bound(150.0)
"""Two cores that also run a broker, a database and other tests start a gateway in half a minute at worst."""

LOOK_SECONDS = 0.1
SESSION_SECONDS = 6.0
"""The shortest that a broker allows by default: so long a dead gateway keeps its partitions."""

POINTS = (
    "before the vendor has read it",
    "before the vendor has acted",
    "before any report",
    "after a report that it rings",
    "after the report of its end",
    "within the answer",
    "after everything is stored",
    "before the order is written down",
    "before the reference is stored",
    "before the gateway notes that it is with the vendor",
)
"""The last three wait for a lock, in a statement that the gateway does not let wait for long."""

UNPLACED = {"before the vendor has read it", "before the vendor has acted"}
"""Where Twilio knows of no order; and a search that finds nothing proves nothing."""


class HoldingTwilio(FakeTwilio):
    """Holds the order that comes next at a point, until the gateway that gave it is dead."""

    def __init__(self, post: Any, dsn: str) -> None:
        super().__init__(post)
        self.point = ""
        self.reached = asyncio.Event()
        self.dead = asyncio.Event()
        self.locks: list[asyncpg.Connection] = []
        self._dsn = dsn

    async def accept(self) -> bool:
        if self.point == "before the vendor has read it":
            await self._hold()
            return False
        return True

    async def write(self, writer: asyncio.StreamWriter, answer: bytes) -> None:
        if self.point == "within the answer":
            await super().write(writer, answer[: len(answer) // 2])
            await self._hold()
            return
        await super().write(writer, answer)

    async def _answer(
        self, method: str, target: str, headers: Mapping[str, str], body: str
    ) -> tuple[int, dict[str, Any]] | None:
        point = self.point
        if point == "before the vendor has acted":
            await self._hold()
            return None
        answer = await super()._answer(method, target, headers, body)
        if answer is None or method != "POST":
            return answer
        sid, command_id = answer[1]["sid"], dict(parse_qsl(urlsplit(answer[1]["url"]).query))["command_id"]
        match point:
            case "before any report":
                await self._hold()
                return None
            case "after a report that it rings" | "after the report of its end":
                assert (await self.status(sid, "busy" if "end" in point else "ringing")).status_code == 200
                await self._hold()
                return None
            case "before the reference is stored":
                await self.lock("SELECT 1 FROM work.provider_orders WHERE command_id = $1 FOR UPDATE", command_id)
            case "before the gateway notes that it is with the vendor":
                await self.lock("SELECT 1 FROM work.deliveries WHERE command_id = $1 FOR UPDATE", command_id)
        return answer

    async def _hold(self) -> None:
        self.reached.set()
        await self.dead.wait()

    async def lock(self, statement: str, command_id: str) -> None:
        """Lock the row of a command."""
        connection = await asyncpg.connect(self._dsn)
        self.locks.append(connection)
        await connection.execute("BEGIN")
        await connection.execute(statement, command_id)

    async def unlock(self) -> None:
        """Roll back every lock."""
        while self.locks:
            await self.locks.pop().close()


class RestartWorld:
    """A deployment with a company, the vendor that carries for it, and gateways that are started by the test."""

    def __init__(self, context: Context, processes: ProcessGroup, twilio: FakeTwilio) -> None:
        self.context, self.processes, self.twilio = context, processes, twilio
        self.places = {kind: Town(context.log, kind, PARTITIONS, context.names) for kind in ("call", "sms")}

    async def gateway(self, name: str) -> RoleProcess:
        """Start a gateway and wait until it is ready."""
        process = self.processes.add("gateway", name)
        await process.until_ready(seconds=WAIT_SECONDS)
        return process

    async def append(self, kind: str, numbers: range) -> None:
        """Write commands as schedulers do, each to the partition of its contact."""
        about = {"decided_at": wall_now() + DAY, "not_before": 0, "from_number": OURS}
        by_partition = defaultdict(list)
        for number in numbers:
            more = {"buyer_number": BUYER} if kind == "call" else {}
            command = command_of(kind, number, **about, **more)  # type: ignore[arg-type]
            by_partition[partition_of(command.contact_key.encode(), PARTITIONS)].append(command)
        for partition, commands in by_partition.items():
            await self.places[kind].append(*commands, partition=partition)

    async def outcomes(self) -> dict[str, set[str]]:
        """Return the outcomes of each command; the contact takes one that is appended twice once, by its id."""
        found: dict[str, set[str]] = defaultdict(set)
        for record in await self.places["call"].records():
            if dict(record.headers)["ce_type"].decode() == REQUEST_TYPES[OutcomeRecorded]:
                said = from_json(record.value or b"", OutcomeRecorded)
                found[said.command_id].add(said.outcome)
        return found


async def eventually(look: Callable[[], Awaitable[Any]], is_good: Callable[[Any], bool] = bool) -> Any:
    """Return what is seen once it is good. Fails after a while with what was seen last."""
    deadline = asyncio.get_running_loop().time() + WAIT_SECONDS
    while not is_good(seen := await look()):
        assert asyncio.get_running_loop().time() < deadline, seen
        await asyncio.sleep(LOOK_SECONDS)
    return seen


@asynccontextmanager
async def restart_world(
    kafka_bootstrap: str, topic_prefix: str, database: str, folder: Path, twilio_of: Callable[[Any], FakeTwilio]
) -> AsyncIterator[RestartWorld]:
    """A deployment whose API takes the vendor's reports in this process."""
    port = free_port()
    settings = Settings(
        kafka_bootstrap=kafka_bootstrap,
        kafka_session_seconds=SESSION_SECONDS,
        topic_prefix=topic_prefix,
        partitions=PARTITIONS,
        postgres_dsn=database,
        secret_key=SECRET_KEY,
        channels=("call", "sms"),
        providers=("twilio",),
        public_url=f"http://127.0.0.1:{port}",
        http_port=port,
        webhook_private_networks=("127.0.0.1/32",),
        recordings_dir=str(folder / "recordings"),
    )
    async with AsyncExitStack() as stack:
        client = await stack.enter_async_context(httpx.AsyncClient(timeout=WAIT_SECONDS))

        async def post(url: str, content: bytes, headers: Mapping[str, str]) -> httpx.Response:
            return await client.post(url, content=content, headers=dict(headers))

        twilio = await stack.enter_async_context(twilio_of(post))
        context = await stack.enter_async_context(open_context(settings))
        await prepare(context)
        await establish_database(context, await establish(context))
        await _write_configurations(context, twilio.url)
        stop, api = asyncio.Event(), ApiRole(context, Metrics())
        serving = asyncio.create_task(api.run(stop))

        async def end_api() -> None:
            stop.set()
            await serving

        stack.push_async_callback(end_api)
        await eventually(_no_problems(api), lambda problems: not problems)
        processes = ProcessGroup(folder, settings)
        stack.callback(processes.kill)
        yield RestartWorld(context, processes, twilio)


def _no_problems(api: ApiRole) -> Callable[[], Awaitable[dict[str, str]]]:
    async def look() -> dict[str, str]:
        return api.problems()

    return look


async def _write_configurations(context: Context, url: str) -> None:
    """Write the company's accounts to where the accounts role would have put them."""
    appender = await context.log.appender()
    for record_id, channel in ((7, "call"), (8, "sms")):
        sealed = seal(SECRET_KEY, TOKEN, company_id=1, provider="twilio", name="auth_token")
        body = ProviderConfiguration(
            name=channel,
            channel=channel,  # type: ignore[arg-type]
            provider="twilio",
            settings={"account_sid": ACCOUNT, "base_url": url},
            sealed_secrets={"auth_token": sealed},
        )
        about: dict[str, Any] = {"uuid": channel, "company_id": 1, "version": 1, "sequence": record_id}
        record = Record(
            type="provider_configuration", id=record_id, created_at=EPOCH, updated_at=EPOCH, body=plain(body), **about
        )
        outgoing = Outgoing(context.names.of(ACCOUNTS_RULES.name), rules_key(record).encode(), to_json(record))
        await appender.append(partition_of(b"1", PARTITIONS), [outgoing])
    await appender.close()
    await context.rules.refresh()


async def test_a_gateway_that_is_killed_at_ten_points_calls_nobody_twice_and_leaves_unknown_what_nobody_knows(
    kafka_bootstrap: str, topic_prefix: str, migrated_database: str, tmp_path: Path
) -> None:
    held: list[HoldingTwilio] = []

    def twilio_of(post: Any) -> FakeTwilio:
        held.append(HoldingTwilio(post, migrated_database))
        return held[0]

    async with restart_world(kafka_bootstrap, topic_prefix, migrated_database, tmp_path, twilio_of) as world:
        twilio, watch = held[0], await asyncpg.connect(migrated_database)
        dying = await world.gateway("dying")
        for number, point in enumerate(POINTS, start=1):
            await _reach(world, twilio, watch, number, point)
        dying.kill()
        twilio.point = ""
        twilio.dead.set()
        await _die(watch)
        await twilio.unlock()
        await watch.execute("UPDATE work.deliveries SET leased_until = clock_timestamp() - interval '1 second'")

        await world.gateway("taking over")
        command_of_point = {point: f"command-{number}" for number, point in enumerate(POINTS, start=1)}
        unplaced = {command_of_point[point] for point in UNPLACED}
        await eventually(world.outcomes, lambda found: unplaced <= found.keys())
        placed = "SELECT count(*) FROM work.provider_orders WHERE provider_ref IS NOT NULL"
        await eventually(lambda: watch.fetchval(placed), lambda count: count == len(POINTS) - len(unplaced))
        for sid in list(twilio.calls):
            assert (await twilio.status(sid, "busy")).status_code == 200
        found = await eventually(world.outcomes, lambda found: len(found) == len(POINTS))
        await watch.close()

    calls = Counter(call["to"] for call in twilio.calls.values())
    assert set(calls.values()) == {1}
    assert len(calls) == len(POINTS) - len(UNPLACED)
    expected = {point: {"unknown"} if point in UNPLACED else {"busy"} for point in POINTS}
    assert {point: found[command_id] for point, command_id in command_of_point.items()} == expected


async def _reach(world: RestartWorld, twilio: HoldingTwilio, watch: asyncpg.Connection, number: int, point: str) -> None:
    """Give one order, and wait until the gateway is at the point."""
    twilio.point = point
    twilio.reached.clear()
    if point == "before the order is written down":
        await twilio.lock(
            "INSERT INTO work.provider_orders"
            " (command_id, company_id, provider_configuration_id, channel, command, check_at)"
            " VALUES ($1, 1, 7, 'call', '', now())",
            f"command-{number}",
        )
    await world.append("call", range(number, number + 1))
    statement = {
        "before the order is written down": "INSERT INTO work.provider_orders",
        "before the reference is stored": "SET provider_ref",
        "before the gateway notes that it is with the vendor": "SET state = said.state",
    }.get(point)
    if statement is not None:
        await eventually(lambda: watch.fetchval(f"SELECT count(*) {WAITING} AND query LIKE $1", f"%{statement}%"))
    elif point == "after everything is stored":
        state = "SELECT state FROM work.deliveries WHERE command_id = $1"
        await eventually(lambda: watch.fetchval(state, f"command-{number}"), lambda found: found not in {None, "claimed"})
    else:
        async with asyncio.timeout(WAIT_SECONDS):
            await twilio.reached.wait()


WAITING = "FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"


async def _die(watch: asyncpg.Connection) -> None:
    """End the statements that a dead gateway left waiting: else they would be carried out once their locks are free."""
    await watch.execute(f"SELECT pg_terminate_backend(pid) {WAITING}")
    await eventually(lambda: watch.fetchval(f"SELECT count(*) {WAITING}"), lambda count: count == 0)


CALLS, TEXTS = 50, 500
"""In two halves: one for each gateway that is stopped."""

UNDER_WAY = 50
"""Orders of each half that the vendor has and has not answered when the gateway is stopped. One company has at most 100
texts and 500 calls under way in a gateway, so that others are still to come."""

REPORTS_AT_ONCE = 20
"""As a vendor does: so many of its reports are on the way to us at once."""


class ReportingTwilio(FakeTwilio):
    """Answers when it is let, and reports what becomes of each order as Twilio does, in its own time."""

    def __init__(self, post: Any) -> None:
        super().__init__(post)
        self.reporting: list[asyncio.Task[None]] = []
        self.refused: list[int] = []
        self.answers = asyncio.Event()
        self._at_once = asyncio.Semaphore(REPORTS_AT_ONCE)

    async def _answer(
        self, method: str, target: str, headers: Mapping[str, str], body: str
    ) -> tuple[int, dict[str, Any]] | None:
        answer = await super()._answer(method, target, headers, body)
        if method == "POST" and answer is not None:
            self.reporting.append(asyncio.create_task(self._report(answer[1]["sid"])))
            await self.answers.wait()
        return answer

    async def _report(self, sid: str) -> None:
        steps = ("initiated", "ringing", "busy") if sid in self.calls else ("sent", "delivered")
        for step in steps:
            async with self._at_once:
                said = await (self.status if sid in self.calls else self.receipt)(sid, step)
            self.refused += [said.status_code] if said.status_code != 200 else []


async def test_a_rolling_restart_of_two_gateways_loses_nothing_and_reaches_nobody_twice(
    kafka_bootstrap: str, topic_prefix: str, migrated_database: str, tmp_path: Path
) -> None:
    async with restart_world(kafka_bootstrap, topic_prefix, migrated_database, tmp_path, ReportingTwilio) as world:
        twilio = world.twilio
        assert isinstance(twilio, ReportingTwilio)
        gateways = await asyncio.gather(world.gateway("first"), world.gateway("second"))
        asked = []
        for half, gateway in enumerate(gateways):
            twilio.answers.clear()
            before = len(twilio.reporting)
            await world.append("call", range(half * CALLS // 2 + 1, (half + 1) * CALLS // 2 + 1))
            await world.append("sms", range(CALLS + half * TEXTS // 2 + 1, CALLS + (half + 1) * TEXTS // 2 + 1))
            asked.append(await eventually(_asked(twilio), lambda count: count >= before + UNDER_WAY))  # noqa: B023
            gateway.ask_to_stop()
            twilio.answers.set()
            await eventually(_has_ended(gateway))
            assert gateway.wait() == 0
            gateway.start()
            await gateway.until_ready(seconds=WAIT_SECONDS)

        found = await eventually(world.outcomes, lambda found: len(found) == CALLS + TEXTS)
        await asyncio.gather(*twilio.reporting)

    assert asked[0] < (CALLS + TEXTS) // 2  # others were still to come
    assert asked[1] < CALLS + TEXTS
    reached = Counter(one["to"] for one in (*twilio.calls.values(), *twilio.messages.values()))
    assert (len(twilio.calls), len(twilio.messages)) == (CALLS, TEXTS)
    assert set(reached.values()) == {1}
    assert Counter(outcome for outcomes in found.values() for outcome in outcomes) == {"busy": CALLS, "delivered": TEXTS}
    assert twilio.refused == []


def _has_ended(gateway: RoleProcess) -> Callable[[], Awaitable[bool]]:
    async def look() -> bool:
        return not gateway.is_running

    return look


def _asked(twilio: FakeTwilio) -> Callable[[], Awaitable[int]]:
    async def look() -> int:
        return len(twilio.calls) + len(twilio.messages)

    return look
