"""What must an aggregate offer, so that the runner, the auditor and the simulator can drive it?"""

from collections.abc import Mapping, Sequence
from typing import Protocol

from msgspec import Struct

from engine.partition.draft import Draft
from engine.partition.places import PlaceClaim
from schemas.envelope import Envelope
from schemas.instant import EPOCH, Instant
from schemas.records import Record
from schemas.topics import Topic
from schemas.wire import Entity, Message


class Timer(Struct, frozen=True, order=True, gc=False):
    """When an entity is due. Companies take turns; company 0 stands for entities of no company.

    Due timers of one company fire in the order of the fields behind `due_at`. `aging` is subtracted from the priority for
    every overdue hour. A timer with a `gate` waits, due, until the entity of that key admits it, or until `opens_at` (0:
    without end).
    """

    due_at: Instant
    urgency_class: int
    priority: float
    id: int
    key: str
    aging: float = 0.0
    gate: str = ""
    opens_at: Instant = EPOCH
    company_id: int = 0


class RuleChange(Struct, frozen=True):
    """A record before (None: unknown) and after the adoption."""

    before: Record | None
    after: Record


class Adoption(Struct, frozen=True, kw_only=True):
    """What a partition adopts at once: records, oldest first, and the versions of code and data."""

    rule_changes: Sequence[RuleChange] = ()
    versions_before: Mapping[str, str] = {}
    versions: Mapping[str, str] = {}


class Aggregate(Protocol):
    """Pure rules over drafts: no clock, no I/O, no randomness; the same draft and input always give the same result.

    Contract: tests/engine/partition/test_aggregates.py.
    """

    @property
    def requests_topic(self) -> Topic:
        """Where its inputs come from."""
        ...

    @property
    def decisions_topic(self) -> Topic:
        """Where its decisions go."""
        ...

    @property
    def state_topic(self) -> Topic:
        """Its changelog."""
        ...

    @property
    def request_types(self) -> Mapping[str, type[Message]]:
        """The struct of each `ce_type` that it understands."""
        ...

    @property
    def timer_fields(self) -> Mapping[str, str | None]:
        """The field without which a kind of entity has no timer; None: it never has one. Kinds that may are left out."""
        ...

    def key_of(self, request: Message) -> str:
        """Return the record key that a request must have come under."""
        ...

    def decide(self, draft: Draft, request: Message, envelope: Envelope) -> None:
        """Decide a request. Raises `RefusedError` or `RepeatedError`; any other error is our fault."""
        ...

    def stop_at_least(self, draft: Draft, request: Message, envelope: Envelope) -> bool:
        """Decide only the opt-out of a request that could not be decided whole: it must not fail.

        Return False where the request asks for none. The change is small whatever the state holds. Set `draft.answer` where
        nothing else was asked for; else the answer says that the rest was not done.
        """
        ...

    def wake(self, draft: Draft, key: str, due_at: Instant) -> None:
        """Decide a timer that is due. Leave the entity with a later timer, one behind a gate, or none."""
        ...

    def give_up(self, draft: Draft, key: str, reason: str) -> None:
        """Give an entity whose timer could not be decided a later timer, or none, and record why: a small change.

        `reason` is `too_large` (a record could not be written) or `decision_failed`. Where this changes nothing or raises,
        the runner parks the timer and retries much later.
        """
        ...

    def adopt(self, draft: Draft, adoption: Adoption) -> None:
        """Decide what follows from newer rules, which `draft.rules` hold already. Leave long work to timers."""
        ...

    @property
    def claim_fields(self) -> Mapping[str, Sequence[str]]:
        """The fields of a kind of entity without all of which it claims no place."""
        ...

    def claim(self, entity: Entity) -> PlaceClaim | None:
        """Return the place for open commands that an entity claims. An entity with a claim must have a timer."""
        ...

    def timer(self, key: str, entity: Entity) -> Timer | None:
        """Return the one timer of an entity, derived from its value, or None."""
        ...
