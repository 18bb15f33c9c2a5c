"""What are the channels of a call named? By its command, so that no order is dialled twice and each event says whose it is.

| name | is |
| --- | --- |
| `lc.<command>` | the lead's leg of an order; the announcement and the recording of its talk have the same name |
| `lct.<command>` | its bridge: Asterisk reports nothing of a bridge with the name of a channel |
| `lc.<command>.b<buyer>` | the leg of a buyer, 0 where it has no record; the sound that it hears first has the same name |
| `lci.<person>.<number>.<what>.<call>` | of a person's call: `b<buyer>`, `a<agent>` a leg, `sorry`, `voicemail` a sound |
| `lcm.<sealed>` | the recording of a person's message, which stays as a file: number and call are sealed in its name |

Asterisk refuses a second channel of a name that is in use (409). The call of a person has the name that Asterisk gave it.
"""

import re
from collections.abc import Mapping

from msgspec import Struct

from adapters.gateway.sealed_tokens import SealedTokens

NO_RECORD = 0
"""The buyer of a leg to a telephone without a record, as an agent's."""

MESSAGE = "lcm."
"""What the name of the recording of a message begins with."""

MESSAGE_NAME_LENGTH_MAX = 200
"""In characters, sealed: a file name may have 255."""

COMMAND = re.compile(r"[A-Za-z0-9_-]{1,64}")

_ORDER = re.compile(r"lc\.([A-Za-z0-9_-]{1,64})(?:\.b([0-9]{1,18}))?")
_INBOUND = re.compile(r"lci\.([0-9]{1,15})\.([0-9]{1,15})\.([ab][0-9]{1,18}|sorry|voicemail)\.(.{1,64})")


class OrderLeg(Struct, frozen=True):
    """A leg of an order; `buyer` is None for that of the lead."""

    command_id: str
    buyer: int | None = None

    @property
    def name(self) -> str:
        """Return the name of its channel."""
        return f"lc.{self.command_id}" if self.buyer is None else f"lc.{self.command_id}.b{self.buyer}"

    @property
    def bridge(self) -> str:
        """Return the name of the bridge of its call."""
        return f"lct.{self.command_id}"


class InboundThing(Struct, frozen=True):
    """A leg or a sound of the call of a person; `what` is `b<buyer>`, `a<agent>`, `sorry` or `voicemail`."""

    person: str
    number: str
    what: str
    call_ref: str

    @property
    def name(self) -> str:
        """Return the name of its channel or playback."""
        return f"lci.{self.person.lstrip('+')}.{self.number.lstrip('+')}.{self.what}.{self.call_ref}"

    @property
    def taker(self) -> Mapping[str, int] | None:
        """Return the buyer or agent of a leg, by field; empty where it has no record, None of a sound."""
        field = {"a": "agent_id", "b": "buyer_id"}.get(self.what[0])
        if field is None:
            return None
        record_id = int(self.what[1:])
        return {} if record_id == NO_RECORD else {field: record_id}


class MessageNames:
    """The names of recordings of messages: they say to us alone whose they are. `key` is that of the account's events."""

    def __init__(self, key: bytes) -> None:
        self._tokens = SealedTokens(key.hex(), b"names of messages/v1", length_max=MESSAGE_NAME_LENGTH_MAX)

    def name(self, thing: InboundThing) -> str:
        """Return the name of the recording of a message."""
        return f"{MESSAGE}{self._tokens.seal(thing.name.encode())}"

    def read(self, name: str) -> InboundThing | None:
        """Return what a name of a recording says, None for one that is not of ours."""
        content = self._tokens.open(name.removeprefix(MESSAGE)) if name.startswith(MESSAGE) else None
        found = None if content is None else read_name(content.decode())
        return found if isinstance(found, InboundThing) else None


def read_name(name: str) -> OrderLeg | InboundThing | None:
    """Return what a name says, None for one that is not of ours."""
    order = _ORDER.fullmatch(name)
    if order is not None:
        return OrderLeg(order[1], None if order[2] is None else int(order[2]))
    inbound = _INBOUND.fullmatch(name)
    if inbound is not None:
        return InboundThing(f"+{inbound[1]}", f"+{inbound[2]}", inbound[3], inbound[4])
    return None
