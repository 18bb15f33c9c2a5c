"""What do providers answer, when, and how is it reported? The same for real gateways and for an actor that stands in."""

import asyncio
from collections import Counter
from random import Random
from typing import Any, Literal

import msgspec

from adapters.embedded.log import EmbeddedLog
from adapters.gateway.ports import Kind
from adapters.partitions.routing import partition_of
from engine.partition.ports import Appender, LogRecord, Outgoing
from schemas.commands import COMMAND_KINDS, Command, CommandRecord, Fence, HangUp, PlaceCall, PressKeys
from schemas.envelope import Envelope, to_headers
from schemas.instant import Instant
from schemas.outcomes import OUTCOMES
from schemas.requests import REQUEST_TYPES, ContactRequest, OutcomeRecorded, RulesPlace
from schemas.topics import CONTACTS_REQUESTS
from schemas.wire import to_json
from tests.simulation.virtual import Era

COMMAND_RECORDS: msgspec.json.Decoder[CommandRecord] = msgspec.json.Decoder(CommandRecord)

COMMON: dict[Kind, str] = {"call": "no_answer", "sms": "delivered", "email": "accepted", "webhook": "accepted"}
COMMON_SHARE = 0.5
NEVER_SHARE = 0.06
AGAIN_SHARE = 0.2
UNKNOWN_SHARE = 0.15
"""Of outcomes that are reported as `unknown` too, before or after: as by a gateway that waited for its provider in vain."""

UNKNOWN_CALLS_SHARE = 0.5
"""Of calls with a buyer, or one to choose: few have a slot that a cap counts, and what it used must be corrected."""

LATE_SECONDS = (0, 100, 100, 1_000, 20_000)
"""Of domain time, at most, between two reports of a command: so late that what the first one planned is over."""

PROGRESS_SHARE = 0.3
PROGRESS_STATES: tuple[Literal["initiated", "ringing", "established"], ...] = ("initiated", "ringing", "established")

LOOK_SECONDS = 0.5
"""Of the loop: how soon it is noticed that the domain time skipped."""


class Providers:
    """All providers of the deployment: the outcome of each command, and what is still to be reported."""

    def __init__(self, log: EmbeddedLog, chance: Random, era: Era, partitions: int) -> None:
        self.carried_out: dict[str, tuple[Command, str]] = {}
        self.due: dict[asyncio.Task[Any], Instant] = {}
        self._log = log
        self._chance = chance
        self._era = era
        self._partitions = partitions
        self._appender: Appender | None = None
        self._posted: Counter[str] = Counter()
        self._busy: set[asyncio.Task[None]] = set()

    @property
    def is_idle(self) -> bool:
        """Whether nothing is under way."""
        return not self._busy

    @property
    def is_waited_for(self) -> bool:
        """Whether all that is under way is with a provider: then nothing happens before the first of `due`."""
        return True

    async def run(self) -> None:
        """Answer until cancelled."""
        raise NotImplementedError

    def _begin(self, task: "asyncio.Task[None]") -> None:
        self._busy.add(task)
        task.add_done_callback(self._busy.discard)

    def _drawn(self, kind: Kind) -> str:
        return COMMON[kind] if self._chance.random() < COMMON_SHARE else self._chance.choice(list(OUTCOMES[kind]))

    def _reports(self, order: Command, kind: Kind, outcome: str) -> list[str]:
        """Return what is reported of a command, in order: what came of it, at times late, again, or contradicted."""
        reports = [outcome]
        has_buyer = isinstance(order, PlaceCall) and (order.buyer_id is not None or bool(order.buyer_legs))
        if self._chance.random() < (UNKNOWN_CALLS_SHARE if has_buyer else UNKNOWN_SHARE):
            reports.insert(self._chance.choice([0, 0, 1]), "unknown")
        while self._chance.random() < AGAIN_SHARE:
            reports.append(outcome if self._chance.random() < 0.5 else self._drawn(kind))
        return reports

    def _outcome(self, kind: Kind, command: Command, outcome: str, *, hold: RulesPlace | None = None) -> OutcomeRecorded:
        return OutcomeRecorded(
            company_id=command.company_id,
            contact_key=command.contact_key,
            lead_id=command.lead_id,
            command_id=command.command_id,
            kind=kind,
            outcome=outcome,
            occurred_at=self._era.now(),
            rang=self._chance.random() < 0.5,
            call_id=command.call_id if isinstance(command, PlaceCall) and self._chance.random() < 0.5 else None,
            hold=hold,
        )

    async def _post(self, command: Command, request: ContactRequest) -> None:
        if self._appender is None:
            self._appender = await self._log.appender()
        what = request.outcome if isinstance(request, OutcomeRecorded) else "progress"
        name = f"{command.command_id}/{what}"
        self._posted[name] += 1
        if self._posted[name] > 1 and self._chance.random() < 0.5:
            name = f"{name}/{self._posted[name]}"  # a report of its own, rather than a record appended again
        envelope = Envelope(id=name, type=REQUEST_TYPES[type(request)], source="/provider")
        key = command.contact_key.encode()
        outgoing = Outgoing(CONTACTS_REQUESTS.name, key, to_json(request), to_headers(envelope))
        await self._appender.append(partition_of(key, self._partitions), [outgoing])

    async def _wait(self, domain_seconds: float) -> None:
        me = asyncio.current_task()
        assert me is not None
        self.due[me] = self._era.now() + int(self._chance.random() * domain_seconds * 1000)
        try:
            while (left_ms := self.due[me] - self._era.now()) > 0:
                await asyncio.sleep(min(LOOK_SECONDS, left_ms / 1000 / self._era.speed))
        finally:
            del self.due[me]


def order_in(record: LogRecord) -> Command | None:
    """Return the order of a record; None for a fence, keys, and the end of a call."""
    command = COMMAND_RECORDS.decode(record.value or b"")
    return None if isinstance(command, Fence | PressKeys | HangUp) else command


def kind_of_command(command: Command) -> str:
    """Return call, sms, email or webhook."""
    return COMMAND_KINDS[type(command)]
