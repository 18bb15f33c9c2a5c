"""Was each command given to its vendor once, and does it have one outcome that is known? Counted on both sides."""

from collections import Counter
from collections.abc import Collection, Mapping

import msgspec
from msgspec import Struct

from adapters.roles.context import Context
from deploy.proof.carriers.company import CHANNELS
from deploy.proof.carriers.vendors import Number
from deploy.proof.evidence import committed
from deploy.proof.verdict import VerdictRow, none
from schemas.commands import CommandRecord, PlaceCall, SendSms
from schemas.requests import OutcomeRecorded
from schemas.topics import COMMAND_TOPICS, CONTACTS_REQUESTS

UNKNOWN = "unknown"
OUTCOME = b"outcome.recorded"

Reached = tuple[str, Number]
"""Kind of the command, and the person."""


class CarrierLog(Struct, frozen=True, kw_only=True):
    """What the log says: whom each command reaches, and its outcomes."""

    commands: Mapping[str, Reached]
    outcomes: Mapping[str, set[str]]
    details: Mapping[str, str]
    """What was said with the newest outcome of each command."""

    def unknown(self) -> set[str]:
        """Return the commands of which nobody says what became of them."""
        return {id_ for id_, found in self.outcomes.items() if UNKNOWN in found}

    def counted(self) -> Counter[str]:
        """Return how many commands have each outcome."""
        return Counter(f"{self.commands[id_][0]} {outcome}" for id_, found in self.outcomes.items() for outcome in found)


async def read_log(context: Context) -> CarrierLog:
    """Read commands and outcomes from their topics. Raises `LogError`."""
    commands: dict[str, Reached] = {}
    decoder = msgspec.json.Decoder(CommandRecord)
    for kind in CHANNELS:
        async for record in committed(context.log, context.names.of(COMMAND_TOPICS[kind].name)):
            command = decoder.decode(record.value or b"")
            if isinstance(command, PlaceCall | SendSms):
                commands[command.command_id] = kind, command.to
    outcomes: dict[str, set[str]] = {id_: set() for id_ in commands}
    details: dict[str, str] = {}
    async for record in committed(context.log, context.names.of(CONTACTS_REQUESTS.name)):
        if dict(record.headers)["ce_type"] == OUTCOME:
            said = msgspec.json.decode(record.value or b"", type=OutcomeRecorded)
            outcomes.setdefault(said.command_id, set()).add(said.outcome)
            details[said.command_id] = said.detail or ""
    return CarrierLog(commands=commands, outcomes=outcomes, details=details)


def judge_carriers(
    log: CarrierLog, orders: Mapping[Reached, int], *, people: int, nameless: Collection[Number] | None = None
) -> list[VerdictRow]:
    """Return the promises of a restart; `orders` are how often the vendors were asked to reach each person.

    Where a gateway was killed, `nameless` are those texted by a vendor that knows no command ids: what it cannot tell us,
    and what no vendor was asked, may stay unknown.
    """
    unknowable = set() if nameless is None else _unknowable(log, orders, nameless)
    given = {id_ for id_, reached in log.commands.items() if orders.get(reached)}
    ordered = set(log.commands.values())
    return [
        VerdictRow(promise="commands to people", expected=people, found=len(log.commands)),
        VerdictRow(promise="people with a command", expected=people, found=len(ordered)),
        none("commands that no vendor was given", (_words(log, id_) for id_ in log.commands.keys() - given - unknowable)),
        none("people reached twice", (f"{kind} {number}" for (kind, number), count in orders.items() if count > 1)),
        none("people reached without a command", (f"{kind} {number}" for kind, number in orders.keys() - ordered)),
        none("commands without one outcome", (_words(log, id_) for id_, found in log.outcomes.items() if len(found) != 1)),
        none("commands that stay unknown", (_words(log, id_) for id_ in log.unknown() - unknowable)),
    ]


def _unknowable(log: CarrierLog, orders: Mapping[Reached, int], nameless: Collection[Number]) -> set[str]:
    """Return the unknown commands of which no vendor can say anything."""
    reached = {id_: log.commands[id_] for id_ in log.unknown()}
    return {
        id_
        for id_, (kind, number) in reached.items()
        if not orders.get((kind, number)) or (kind == "sms" and number in nameless)
    }


def _words(log: CarrierLog, command_id: str) -> str:
    kind, number = log.commands[command_id]
    return f"{kind} {number} ({command_id}): {sorted(log.outcomes[command_id])}, {log.details.get(command_id)}"
