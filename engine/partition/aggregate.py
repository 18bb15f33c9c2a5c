"""What must an aggregate offer so that a partition of it can be run, restored, replayed and simulated?"""

from collections.abc import Mapping, Sequence
from typing import Protocol

from msgspec import Struct

from engine.partition.draft import Draft
from engine.partition.places import PlaceClaim
from schemas.envelope import Envelope
from schemas.instant import Instant
from schemas.records import Record
from schemas.topics import Topic
from schemas.wire import Entity, Message


class Timer(Struct, frozen=True, order=True, gc=False):
    """When an entity wants to be woken. Companies take turns; company 0 stands for what belongs to none.

    Due ones of one company are fired in the order of these fields behind `due_at`. `aging` is taken off the priority for
    every hour that it is overdue. One with a `gate` rests, due, until the entity of that key lets it through, or until
    `opens_at` (0: for good).
    """

    due_at: Instant
    urgency_class: int
    priority: float
    id: int
    key: str
    aging: float = 0.0
    gate: str = ""
    opens_at: Instant = 0
    company_id: int = 0


class RuleChange(Struct, frozen=True):
    """A record as it was known (None: not at all) and as it is adopted now."""

    before: Record | None
    after: Record


class Adoption(Struct, frozen=True, kw_only=True):
    """What a partition takes over at once: records, oldest first, and the versions of code and data."""

    news: Sequence[RuleChange] = ()
    versions_before: Mapping[str, str] = {}
    versions: Mapping[str, str] = {}


class Aggregate(Protocol):
    """Pure rules over drafts: no clock, no I/O, no randomness; the same draft and input always give the same result."""

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
        """Decide a request. Raises `RefusedError` or `RepeatedError`; anything else that it raises is our fault."""
        ...

    def stop_at_least(self, draft: Draft, request: Message, envelope: Envelope) -> bool:
        """Decide only what of a request must not fail, where it could not be decided whole: that somebody is stopped.

        Return False where it asks for no such thing. What this changes is small whatever the state holds. `draft.answer` is
        set where nothing else was asked for; else the sender is told that the rest was not done.
        """
        ...

    def wake(self, draft: Draft, key: str, due_at: Instant) -> None:
        """Decide a timer that is due. Must leave the entity with a later timer, with one behind a gate, or none."""
        ...

    def give_up(self, draft: Draft, key: str, reason: str) -> None:
        """Leave an entity on whose timer deciding failed with a later timer, or with none, and say why: a small change.

        `reason` is `too_large` (a record could not be written) or `decision_failed`. Where it changes nothing or raises, the
        timer is tried again much later.
        """
        ...

    def adopt(self, draft: Draft, adoption: Adoption) -> None:
        """Decide what follows from newer rules, which `draft.rules` hold already; what takes long is left to timers."""
        ...

    @property
    def claim_fields(self) -> Mapping[str, Sequence[str]]:
        """The fields of a kind of entity without all of which it claims no place."""
        ...

    def claim(self, entity: Entity) -> PlaceClaim | None:
        """Return what an entity claims of the places for open commands. One that claims any must have a timer."""
        ...

    def timer(self, key: str, entity: Entity) -> Timer | None:
        """Return the one timer of an entity, derived from its value, or None."""
        ...
