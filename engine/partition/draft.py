"""What does one decision change? A draft collects it; nothing holds before the decider seals it and the runner commits it.

Aggregates read and write entities through the draft only. Reading an entity twice returns the same object, so rules can
pass it around and `put` it once.
"""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from msgspec import Struct

from engine.identity import numbered
from engine.partition.parts import SPLIT, join
from engine.partition.state import State
from engine.rules import Rules
from schemas.commands import COMMAND_KINDS, Command, Fence
from schemas.decisions import Answer, Fact
from schemas.errors import SenderError
from schemas.instant import Instant
from schemas.requests import REQUEST_TYPES
from schemas.state import head_key
from schemas.topics import COMMAND_TOPICS
from schemas.wire import Entity, Message, from_pack, to_json

E = TypeVar("E", bound=Entity)


class RefusedError(SenderError):
    """The sender's fault: the input changes nothing and is answered with a code of `schemas.problems`.

    `extra` are further members of the answer, such as `next_allowed_at`.
    """

    def __init__(
        self,
        code: str,
        detail: str,
        errors: Mapping[str, list[str]] | None = None,
        *,
        extra: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(detail)
        self.code = code
        self.detail = detail
        self.errors = dict(errors or {})
        self.extra = dict(extra or {})


class RepeatedError(SenderError):
    """The input was decided before; it changes nothing and the first answer stands."""


class OutgoingCommand(Struct, frozen=True):
    """A command or fence to write to a topic of the same partition."""

    topic: str
    key: str
    id: str
    value: Message


class OutboxMessage(Struct, frozen=True):
    """A message to the partition that owns `key` on a requests topic: delivered once, in order, through the outbox."""

    topic: str
    key: str
    type: str
    body: bytes


class Draft:
    """The changes of one decision at one instant."""

    answer: Answer | None = None

    def __init__(self, state: State, *, now: Instant, rules: Rules, partition: int, ids: int, behind: bool = False) -> None:
        self.now = now
        self.rules = rules
        self.behind = behind
        self.ids = ids
        self.facts: list[Fact] = []
        self.commands: list[OutgoingCommand] = []
        self.messages: list[OutboxMessage] = []
        self.changed: dict[str, Entity | None] = {}
        self._taken: dict[str, int] = {}
        self._state = state
        self._partition = partition
        self._read: dict[str, Entity | None] = {}

    def get(self, key: str, kind: type[E]) -> E | None:
        """Return the entity under a key as this draft knows it, or None."""
        if key in self._read:
            return self._read[key]  # type: ignore[return-value]
        packed = self._state.packed(key)
        entity = None if packed is None else from_pack(packed, kind)
        if entity is not None and (split := SPLIT.get(kind)) is not None and getattr(entity, split.count):
            join(key, entity, split, self._state)
        self._read[key] = entity
        return entity

    def has_read(self, key: str) -> bool:
        """Return whether this draft has read, written or removed the entity under a key."""
        return key in self._read

    def stored_outline(self, key: str, kind: type[E]) -> E | None:
        """Return what is stored under a key, as a type with some of its fields: no parts, none of this draft's changes."""
        return self._state.get(key, kind)

    def put(self, key: str, entity: Entity) -> None:
        """Replace the entity under a key."""
        self._read[key] = entity
        self.changed[key] = entity

    def put_all(self, entities: Mapping[str, Entity]) -> None:
        """Replace the entities under their keys, in their order."""
        self._read.update(entities)
        self.changed.update(entities)

    def remove(self, key: str) -> None:
        """Remove the entity under a key."""
        self._read[key] = None
        self.changed[key] = None

    def lead_ids_after(self, last: int, limit: int) -> list[int]:
        """Return the ids of the next leads of the partition after `last`, in order: a sweep visits all leads with it."""
        return self._state.sorted_ids_after("lead", last, limit)

    def end_lead_sweep(self) -> None:
        """Drop the sorted id index; the sweep is done."""
        self._state.drop_sorted_ids("lead")

    def contact_keys_after(self, company_id: int, last: str, limit: int) -> list[str]:
        """Return the next contacts of a company in the partition after `last`, in order: a sweep visits all with it."""
        heads = self._state.sorted_keys_after(head_key(f"{company_id}|"), head_key(last), limit)
        return [key.removeprefix(head_key("")) for key in heads]

    def end_contact_sweep(self, company_id: int) -> None:
        """Drop the sorted index of a company's contacts; the sweep is done."""
        self._state.drop_sorted_keys(head_key(f"{company_id}|"))

    def key_after(self, index: str, last: str, prefix: str) -> str | None:
        """Return the first key after `last` that begins with a prefix, as this draft knows it.

        `index` is a shorter prefix of few different ones: the state keeps the keys of each sorted.
        """
        added = [key for key, entity in self.changed.items() if entity is not None and last < key and key.startswith(prefix)]
        while (key := self._state.key_after(index, last)) is not None and key.startswith(prefix):
            if self.changed.get(key, self) is not None:
                added.append(key)
                break
            last = key
        return min(added, default=None)

    def end_key_walk(self, index: str) -> None:
        """Drop the sorted keys of an index: `key_after` is not asked for a while."""
        self._state.drop_sorted_keys(index)

    def run_isolated(self, rule: Callable[[], bool]) -> bool | str:
        """Run a part of a decision as a savepoint: its error must not fail the rest.

        Return what the rule returns, or the name of the error that it raised: then none of its changes remain.
        """
        facts, commands, messages = len(self.facts), len(self.commands), len(self.messages)
        changed, read, ids, taken = dict(self.changed), dict(self._read), self.ids, dict(self._taken)
        try:
            return rule()
        except Exception as error:  # noqa: BLE001 - our own fault, whatever it is: the caller reports it, and the rest goes on
            del self.facts[facts:], self.commands[commands:], self.messages[messages:]
            self.changed, self._read, self.ids, self._taken = changed, read, ids, taken
            return type(error).__name__

    def has_place(self, channel: str, company_id: int, *, is_in_turn: bool) -> bool:
        """Return whether one more command of a channel may be open; out of turn, only where no lead of the company waits."""
        places = self._state.places
        if not is_in_turn and places.are_awaited(channel, company_id):
            return False
        return places.may_take(channel, company_id, self._taken.get(channel, 0))

    def take_place(self, channel: str) -> None:
        """Count a command of this decision. A place that the decision frees is available to the next one."""
        self._taken[channel] = self._taken.get(channel, 0) + 1

    def next_id(self) -> int:
        """Give out the next internal id of this partition."""
        self.ids += 1
        return numbered(self.ids, self._partition)

    def fact(self, kind: str, /, *, lead_id: int | None = None, call_id: int | None = None, **data: Any) -> None:
        """Record something that is now true, in the past tense."""
        self.facts.append(Fact(type=kind, lead_id=lead_id, call_id=call_id, data=data))

    def emit(self, command: Command) -> None:
        """Add a command for a gateway."""
        topic = COMMAND_TOPICS[COMMAND_KINDS[type(command)]].name
        self.commands.append(OutgoingCommand(topic, command.contact_key, command.command_id, command))

    def fence(self, fence: Fence, channel: str | None = None) -> None:
        """Fence the contact: stop the earlier commands on every channel, or on one."""
        kinds = COMMAND_TOPICS if channel is None else (channel,)
        for kind, topic in ((kind, COMMAND_TOPICS[kind]) for kind in kinds):
            self.commands.append(OutgoingCommand(topic.name, fence.contact_key, f"fence/{kind}", fence))

    def send(self, topic: str, key: str, message: Message) -> None:
        """Send a request to the aggregate that owns `key`, after the commit."""
        self.messages.append(OutboxMessage(topic, key, REQUEST_TYPES[type(message)], to_json(message)))
