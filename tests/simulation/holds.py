"""Is nothing contacted while a hold covers it, by its gateway or by a decision that knows of it?"""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from adapters.embedded.log import EmbeddedLog
from engine.rules import ForeignRuleError, read_rule
from schemas.decisions import Decision
from schemas.instant import Instant
from schemas.records import EVERY_COMPANY, ContactHold, Record, body_of
from schemas.topics import ACCOUNTS_RULES, COMMAND_TOPICS
from tests.simulation.decided import Decided, all_records_of
from tests.simulation.providers import kind_of_command, order_in

if TYPE_CHECKING:
    from tests.simulation.run import World


class RecordedHolds:
    """The holds of `accounts.rules`, with the instant of each record: what a gateway may know of them, and when."""

    def __init__(self, log: EmbeddedLog, partitions: int) -> None:
        self._log = log
        self._partitions = partitions
        self._read: dict[int, int] = {}
        self._made: dict[int, tuple[Instant, Record]] = {}

    def covering(self, company_id: int, channel: str, since: Instant) -> Record | None:
        """Return a hold that covers a channel of a company, was recorded before an instant, and is not released."""
        self._read_on()
        return next(
            (record for at, record in self._made.values() if at < since and covers(record, company_id, channel)), None
        )

    def forget_read(self) -> None:
        """Read the rules from the beginning again, and forget no hold meanwhile."""
        self._read.clear()

    def _read_on(self) -> None:
        for partition in range(self._partitions):
            records = self._log.partition(ACCOUNTS_RULES.name, partition).records
            for record in records[self._read.get(partition, 0) :]:
                found = _hold(record.key, record.value)
                if found is not None and found.deleted_at is None:
                    self._made[found.id] = record.appended_at, found
                elif found is not None:
                    self._made.pop(found.id, None)
            self._read[partition] = len(records)


def covers(record: Record, company_id: int, channel: str) -> bool:
    """Return whether a hold covers a channel of a company."""
    body = body_of(record)
    return record.company_id in {EVERY_COMPANY, company_id} and isinstance(body, ContactHold) and body.covers(channel)


def _hold(key: bytes | None, value: bytes | None) -> Record | None:
    try:
        found = read_rule(key, value)
    except ForeignRuleError:
        return None  # junk
    return found if found.type == "contact_hold" else None


def holds_in(world: "World", contacts: list[Decided]) -> Iterator[str]:
    """No decision emits a contact that a hold covers, from the adoption of the hold to that of its release."""
    channels = {
        order.command_id: (order.company_id, kind_of_command(order))
        for name, topic in COMMAND_TOPICS.items()
        if name != "webhook"  # a step of one waits; what else emits one is no contact
        for order in filter(None, map(order_in, all_records_of(world, topic.name)))
    }
    versions = list(_versions(world))
    for decided in contacts:
        positions: dict[int, int] = {}
        holds: dict[int, Record] = {}
        for decision in decided.decisions:
            if decision.cause.kind == "adoption":
                positions |= {int(partition): sequence for partition, sequence in decision.cause.rules.items()}
                holds = _in_force(versions, positions)
            for company_id, channel in _contacts_of(decision, channels):
                yield from (
                    f"{decided.name} #{decision.sequence} emits a contact by {channel} although hold {hold.id} covers it"
                    for hold in holds.values()
                    if covers(hold, company_id, channel)
                )


def _versions(world: "World") -> Iterator[tuple[int, Record]]:
    for record in all_records_of(world, ACCOUNTS_RULES.name):
        found = _hold(record.key, record.value)
        if found is not None:
            yield record.partition, found


def _in_force(versions: list[tuple[int, Record]], positions: Mapping[int, int]) -> dict[int, Record]:
    """Return the holds at a position."""
    holds: dict[int, Record] = {}
    for partition, record in versions:
        if record.sequence <= positions.get(partition, 0):
            holds[record.id] = record
    return {record.id: record for record in holds.values() if record.deleted_at is None}


def _contacts_of(decision: Decision, channels: Mapping[str, tuple[int, str]]) -> Iterator[tuple[int, str]]:
    """Yield what a decision has planned itself: a command that another contact asks for is returned by its gateway."""
    if decision.cause.type == "reach.requested":
        return
    yield from (channels[one.id] for one in decision.commands if one.id in channels)
