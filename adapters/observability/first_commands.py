"""How long after its submission does the first command of a lead come? Observed as a transaction commits, in domain time.

Only leads whose first step was due at once count: hours, waits and pauses of a schedule move the plan. What a lead then
waits for counts: its slot, commands in front of it, a partition that is behind. It begins as the API or intake reads the
submission, by the clock of that machine, and ends as the command is on its topic.
"""

from collections.abc import Callable, Iterator, Mapping

import msgspec
from msgspec import Struct

from engine.partition.decider import Sealed
from engine.partition.runner import CycleReport
from schemas.contact import Lead
from schemas.instant import EPOCH, SECOND, Instant

SUBMITTED = "lead.submitted"

WAITING_MAX = 10_000
"""Leads that are due and have no command yet; the oldest is forgotten. Some 2 MB."""


class _Received(Struct, frozen=True):
    """Of a submission, when it was read."""

    received_at: Instant = EPOCH


class _DueAtOnce(Struct, frozen=True):
    """Since when a lead waits for its first command, and for which instant that was planned."""

    received_at: Instant
    planned_at: Instant


_RECEIVED = msgspec.json.Decoder(_Received)


class FirstCommands:
    """Observes first commands of one role's partitions. `observe` gets the channel and the seconds."""

    def __init__(self, observe: Callable[[str, float], None]) -> None:
        self._observe = observe
        self._waiting: dict[int, _DueAtOnce] = {}

    def committed(self, report: CycleReport) -> None:
        """Note the decisions of one transaction that is committed."""
        read = {record.offset: record.value for record in report.records}
        for sealed in report.decisions:
            if sealed.decision.cause.type == SUBMITTED:
                self._note_created(sealed, read)
            if self._waiting:
                for lead in _leads(sealed):
                    self._note_changed(sealed, lead, report.commit_seconds)

    def _note_created(self, sealed: Sealed, read: Mapping[int, bytes | None]) -> None:
        decision = sealed.decision
        created = {fact.lead_id for fact in decision.facts if fact.type == "lead.created"}
        for lead in _leads(sealed):
            if lead.id in created and lead.planned_at is not None and lead.planned_at <= decision.decided_at:
                received_at = _received_at(read, decision.cause.offset)
                if received_at > EPOCH:
                    self._waiting[lead.id] = _DueAtOnce(received_at, lead.planned_at)
        while len(self._waiting) > WAITING_MAX:
            del self._waiting[next(iter(self._waiting))]

    def _note_changed(self, sealed: Sealed, lead: Lead, commit_seconds: float) -> None:
        due = self._waiting.get(lead.id)
        if due is None:
            return
        if lead.planned_at != due.planned_at:
            del self._waiting[lead.id]
            return
        kind = _kind_of_command(sealed, lead)
        if kind is not None:
            del self._waiting[lead.id]
            domain_seconds = (sealed.decision.decided_at - due.received_at) / SECOND
            self._observe(kind, max(0.0, domain_seconds) + commit_seconds)


def _leads(sealed: Sealed) -> Iterator[Lead]:
    for _, entity in sealed.changes:
        if isinstance(entity, Lead):
            yield entity


def _kind_of_command(sealed: Sealed, lead: Lead) -> str | None:
    """Return the channel of the step's command that a decision emitted for a lead; asking a veto hook is none."""
    flight = lead.flight
    if flight is None or flight.asks is not None:
        return None
    topics = (emitted.topic for emitted in sealed.decision.commands if emitted.id == flight.command_id)
    return next((topic.rpartition(".")[2] for topic in topics), None)


def _received_at(read: Mapping[int, bytes | None], offset: int | None) -> Instant:
    value = None if offset is None else read.get(offset)
    return EPOCH if value is None else _RECEIVED.decode(value).received_at
