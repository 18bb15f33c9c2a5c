"""Under which key does a value of state live? The key says the type; keys starting with `__` are the runner's own."""

from schemas.account import Slots, Tokens
from schemas.contact import Call, Head, Lead, Relay
from schemas.instant import Instant
from schemas.records import Record
from schemas.wire import Entity

POSITION_KEY = "__position__"
OUTBOX_PREFIX = "__outbox__/"


class Stream(Entity, kw_only=True):
    """How far a numbered stream of requests was decided: a number at or below `number` is a repeat."""

    number: int
    updated_at: Instant = 0


ENTITIES: dict[str, type[Entity]] = {
    "head": Head,
    "lead": Lead,
    "call": Call,
    "relay": Relay,
    "record": Record,
    "slots": Slots,
    "tokens": Tokens,
    "stream": Stream,
}


def head_key(contact_key: str) -> str:
    """Return the key of a contact's head."""
    return f"head/{contact_key}"


def lead_key(lead_id: int) -> str:
    """Return the key of a lead."""
    return f"lead/{lead_id}"


def call_key(call_id: int) -> str:
    """Return the key of a call."""
    return f"call/{call_id}"


def relay_key(command_id: str) -> str:
    """Return the key of a relayed command."""
    return f"relay/{command_id}"


def record_key(record_type: str, record_id: int) -> str:
    """Return the key of an account record."""
    return f"record/{record_type}/{record_id}"


def slots_key(company_id: int, resource: str) -> str:
    """Return the key of the slots of one resource."""
    return f"slots/{company_id}/{resource}"


def tokens_key(company_id: int) -> str:
    """Return the key of the values that a company has taken."""
    return f"tokens/{company_id}"


def stream_key(stream: str) -> str:
    """Return the key of a numbered stream's high-water mark."""
    return f"stream/{stream}"


def kind_of(key: str) -> type[Entity]:
    """Return the struct that lives under a key. Raises `KeyError` for a key of no known kind."""
    return ENTITIES[key.partition("/")[0]]
