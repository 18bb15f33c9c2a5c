"""Does each recorded outcome name a command that was emitted?

The command may be of another partition: that of the contact that was reached. Where decisions are gone, commands may be
unknown: their outcomes are not looked at.
"""

import msgspec
from msgspec import Struct

from adapters.audit.acts import DecidedActs
from adapters.audit.difference import Checked, Difference
from engine.partition.ports import LogRecord
from schemas.requests import REQUEST_TYPES, OutcomeRecorded

_TYPE = REQUEST_TYPES[OutcomeRecorded].encode()


class _Outcome(Struct, frozen=True):
    command_id: str | None = None


class _Noted(Struct, frozen=True):
    topic: str
    partition: int
    offset: int
    sequence: int
    command_id: str


_OUTCOME = msgspec.json.Decoder(_Outcome)


class SeenOutcomes:
    """The commands and outcomes of the partitions that were verified so far."""

    def __init__(self) -> None:
        self._commands: set[str] = set()
        self._outcomes: list[_Noted] = []
        self._is_whole = True

    def note(self, request: LogRecord, sequence: int) -> None:
        """Note a request that was decided, if it records an outcome."""
        if next((value for name, value in request.headers if name == "ce_type"), b"") != _TYPE:
            return
        command_id = _OUTCOME.decode(request.value or b"").command_id
        if command_id is not None:
            self._outcomes.append(_Noted(request.topic, request.partition, request.offset, sequence, command_id))

    def take(self, acts: DecidedActs, *, is_whole: bool) -> None:
        """Note what a partition has emitted, and whether all of it is known."""
        self._commands.update(name for of_topic in acts.commands.values() for name, _ in of_topic)
        self._is_whole = self._is_whole and is_whole

    def check(self) -> Checked:
        """Hold the outcomes against the commands; the first that names no command is the difference."""
        foreign = [one for one in self._outcomes if one.command_id not in self._commands]
        if not self._is_whole:
            return Checked(looked_at=len(self._outcomes) - len(foreign), not_looked_at=len(foreign))
        return Checked(looked_at=len(self._outcomes), difference=_difference(foreign[0]) if foreign else None)


def _difference(one: _Noted) -> Difference:
    return Difference(
        cause="outcome",
        topic=one.topic,
        partition=one.partition,
        offset=one.offset,
        sequence=one.sequence,
        what="no decision has emitted the command of this outcome",
        key=one.command_id,
    )
