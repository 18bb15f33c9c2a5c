"""How does an operator stop all contacting, and let it go on? By a record that gateways obey themselves; each one confirms.

The record is that of a company, or of no company (`EVERY_COMPANY`): then it holds all of them.
"""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from msgspec import Struct

from adapters.partitions.routing import partition_of
from adapters.postgres.gateways import RunningGateway, running_gateways
from adapters.postgres.pool import Pool
from adapters.roles.context import Context
from engine.partition.ports import Outgoing
from schemas.envelope import Envelope, to_headers
from schemas.errors import SenderError
from schemas.records import EVERY_COMPANY, Record
from schemas.requests import RecordChangeRequested, RulesPlace
from schemas.topics import ACCOUNTS_REQUESTS
from schemas.wire import to_json

DECIDED_WITHIN_SECONDS = 10.0
CONFIRMED_WITHIN_SECONDS = 10.0
POLL_SECONDS = 0.1

TYPE = "contact_hold"


class HoldNotDecidedError(SenderError):
    """A hold or its release was not decided in time: no accounts role does."""


class Confirmation(Struct, frozen=True):
    """Which running gateways obey the newest rules, and which have not said so."""

    obeying: tuple[RunningGateway, ...]
    silent: tuple[RunningGateway, ...]


class HoldRequests:
    """Asks the account for holds and releases, and waits until they are decided."""

    def __init__(self, context: Context) -> None:
        self._context = context

    async def create(self, company_id: int, fields: dict[str, Any]) -> Record:
        """Hold a company, or all. Raises `HoldNotDecidedError`, `LogError`."""
        rules = self._context.rules
        await rules.refresh()
        known = {record.id for record in rules.rules.records(TYPE, company_id)}
        await self._ask(RecordChangeRequested(company_id=company_id, type=TYPE, operation="create", fields=fields))
        async for _ in self._looks():
            made = [one for one in rules.rules.records(TYPE, company_id) if one.id not in known]
            if made:
                return made[-1]
        raise HoldNotDecidedError(_undecided("the hold was not made"))

    async def release(self, record: Record) -> Record:
        """Release a hold and return its last version. Raises `HoldNotDecidedError`, `LogError`."""
        rules = self._context.rules
        await self._ask(RecordChangeRequested(company_id=record.company_id, type=TYPE, operation="delete", id=record.id))
        async for _ in self._looks():
            found = rules.rules.record(TYPE, record.id)
            if found is not None and found.deleted_at is not None:
                return found
        raise HoldNotDecidedError(_undecided(f"the hold {record.id} was not released"))

    def place_of(self, record: Record) -> RulesPlace:
        """Return where a record is recorded."""
        return RulesPlace(self._context.rules.seen(record.company_id)[0], record.sequence)

    async def _looks(self) -> AsyncIterator[None]:
        clock = self._context.clock
        ends_at = clock.monotonic() + DECIDED_WITHIN_SECONDS
        while clock.monotonic() < ends_at:
            await self._context.rules.refresh()
            yield
            await clock.sleep(POLL_SECONDS)

    async def _ask(self, request: RecordChangeRequested) -> None:
        context = self._context
        key, topic = str(request.company_id).encode(), context.names.of(ACCOUNTS_REQUESTS.name)
        name = f"{TYPE}/{request.operation}/{context.clock.now()}"
        envelope = Envelope(id=name, type="record.change_requested", source="/cli", actor="cli;;")
        outgoing = Outgoing(topic, key, to_json(request), to_headers(envelope))
        async with _appender(context) as appender:
            await appender.append(partition_of(key, await context.log.partition_count(topic)), [outgoing])


@asynccontextmanager
async def _appender(context: Context) -> AsyncIterator[Any]:
    appender = await context.log.appender()
    try:
        yield appender
    finally:
        await appender.close()


def _undecided(what: str) -> str:
    return f"{what} within {DECIDED_WITHIN_SECONDS:.0f} s: no `leadclock accounts` decides for it"


def holds_in_force(context: Context, company_id: int | None) -> list[Record]:
    """Return the holds of a company and those of all, or (None) every one there is, the oldest first."""
    rules = context.rules.rules
    found = rules.of_type(TYPE) if company_id is None else _of(rules.records, company_id)
    return sorted(found, key=lambda record: record.created_at)


def _of(records: Any, company_id: int) -> Sequence[Record]:
    return [*records(TYPE, EVERY_COMPANY), *(records(TYPE, company_id) if company_id != EVERY_COMPANY else ())]


async def confirm(pool: Pool, context: Context, place: RulesPlace) -> Confirmation:
    """Wait until every running gateway obeys the rules up to a place, at most `CONFIRMED_WITHIN_SECONDS`.

    Raises `ReadsUnavailableError`.
    """
    clock = context.clock
    ends_at = clock.monotonic() + CONFIRMED_WITHIN_SECONDS
    while True:
        running = await running_gateways(pool)
        silent = tuple(gateway for gateway in running if not gateway.obeys(place))
        if not silent or clock.monotonic() > ends_at:
            return Confirmation(tuple(gateway for gateway in running if gateway not in silent), silent)
        await clock.sleep(POLL_SECONDS)
