"""How does an operator stop all contacting, and let it go on? By a record that gateways obey themselves; each one confirms.

The record is that of a company, or of no company (`EVERY_COMPANY`): then it holds all of them.
"""

import uuid
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from msgspec import Struct

from adapters.http.exchange.ports import HoldRefusedError
from adapters.partitions.routing import partition_of
from adapters.postgres.gateways import RunningGateway, running_gateways
from adapters.postgres.pool import Pool
from adapters.roles.context import Context
from engine.account.contact_holds import held_channels, hold_reason
from engine.partition.ports import Outgoing
from engine.submission.fields import FieldError
from schemas.envelope import Envelope, to_headers
from schemas.errors import SenderError
from schemas.instant import to_rfc3339
from schemas.records import EVERY_COMPANY, HELD_BY_DEFAULT, Record
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

    def __init__(self, context: Context, *, source: str = "/cli", actor: str = "cli;;") -> None:
        self._context = context
        self._source = source
        self._actor = actor

    async def create(self, company_id: int, fields: dict[str, Any]) -> Record:
        """Hold a company, or all. Raises `HoldRefusedError`, `HoldNotDecidedError`, `LogError`.

        What the account would refuse is refused here: its answer is a decision, which this process does not read.
        """
        rules = self._context.rules
        await rules.refresh()
        self._check(company_id, fields)
        asked = RecordChangeRequested(company_id=company_id, type=TYPE, operation="create", fields=fields)
        request_id = await self._ask(asked)
        async for _ in self._looks():
            for record in rules.rules.records(TYPE, company_id):
                if record.body.get("request_id") == request_id:  # another operator may have made one meanwhile
                    return record
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

    def _check(self, company_id: int, fields: dict[str, Any]) -> None:
        errors: dict[str, list[str]] = {}
        for name, parse in (("reason", hold_reason), ("channels", held_channels)):
            try:
                parse(fields.get(name))
            except FieldError as error:
                errors[name] = [str(error)]
        if company_id != EVERY_COMPANY and not self._context.rules.rules.records("company", company_id):
            errors["company_id"] = ["is not a company of this deployment"]
        if errors:
            raise HoldRefusedError(errors)

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

    async def _ask(self, request: RecordChangeRequested) -> str:
        """Append a request, and return its id."""
        context = self._context
        key, topic = str(request.company_id).encode(), context.names.of(ACCOUNTS_REQUESTS.name)
        name = f"{TYPE}/{request.operation}/{uuid.uuid4()}"
        envelope = Envelope(id=name, type="record.change_requested", source=self._source, actor=self._actor)
        outgoing = Outgoing(topic, key, to_json(request), to_headers(envelope))
        async with _appender(context) as appender:
            await appender.append(partition_of(key, await context.log.partition_count(topic)), [outgoing])
        return name


@asynccontextmanager
async def _appender(context: Context) -> AsyncIterator[Any]:
    appender = await context.appender()
    try:
        yield appender
    finally:
        await appender.close()


def _undecided(what: str) -> str:
    return f"{what} within {DECIDED_WITHIN_SECONDS:.0f} s: no `leadclock accounts` decides for it"


def hold_row(record: Record) -> dict[str, Any]:
    """Return a hold as operators see it; without a company it holds every one."""
    body = record.body
    return {
        "id": record.id,
        "company_id": None if record.company_id == EVERY_COMPANY else record.company_id,
        "channels": list(body.get("channels", HELD_BY_DEFAULT)),
        "hang_up": body.get("hang_up", False),
        "reason": body["reason"],
        "created_at": to_rfc3339(record.created_at),
    }


def gateway_name(gateway: RunningGateway) -> str:
    """Return how a person finds a gateway: its process (with host and process id), and what it serves."""
    return f"{gateway.process} ({', '.join(gateway.channels)})"


async def to_stop_by_hand(pool: Pool) -> str:
    """Return the gateways that run, for a person who stops them. Raises `ReadsUnavailableError`."""
    running = await running_gateways(pool)
    return ", ".join(gateway_name(one) for one in running) or "none is registered; look at your machines"


def find_hold(holds: Sequence[Record], hold_id: int) -> Record | None:
    """Return one of the holds by its id."""
    return next((record for record in holds if record.id == hold_id), None)


def company_of_hold(record: Record) -> str:
    """Return whom a hold holds, in words."""
    return "every company" if record.company_id == EVERY_COMPANY else f"company {record.company_id}"


async def holds_in_force(context: Context) -> list[Record]:
    """Read the rules, and return every hold, the oldest first. Raises `LogError`."""
    await context.rules.refresh()
    return sorted(context.rules.rules.of_type(TYPE), key=lambda record: record.created_at)


async def confirm(pool: Pool, context: Context, place: RulesPlace, known: Sequence[RunningGateway] = ()) -> Confirmation:
    """Wait until every running gateway obeys the rules up to a place, at most `CONFIRMED_WITHIN_SECONDS`.

    `known` ran when the decision was asked for: one that hangs since is silent however long that took.
    Raises `ReadsUnavailableError`.
    """
    clock = context.clock
    ends_at = clock.monotonic() + CONFIRMED_WITHIN_SECONDS
    while True:
        running = await running_gateways(pool, [gateway.process for gateway in known])
        silent = tuple(gateway for gateway in running if not gateway.obeys(place))
        if not silent or clock.monotonic() > ends_at:
            return Confirmation(tuple(gateway for gateway in running if gateway not in silent), silent)
        await clock.sleep(POLL_SECONDS)
