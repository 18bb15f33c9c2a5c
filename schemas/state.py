"""Under which key is a value of state stored? The key names the type; keys with `__` belong to the runner."""

from schemas.account import (
    AgentState,
    Claim,
    NumberHold,
    QueuedRequest,
    Referrers,
    RingPoolState,
    Seen,
    Slots,
    Taken,
    UnblockTally,
)
from schemas.contact import (
    Call,
    Head,
    IncompleteTexts,
    KeptSubmission,
    Lead,
    OpenSlotRequests,
    Part,
    Relay,
    Replan,
    Suppression,
    UnblockSweep,
)
from schemas.instant import EPOCH, Instant
from schemas.records import Record
from schemas.wire import Entity

OWN_PREFIX = "__"
POSITION_KEY = "__position__"
OUTBOX_PREFIX = "__outbox__/"
QUEUED_PREFIX = "queued/"
ASKING_PREFIX = "asking/"

SEEN_PREFIX = 3
"""Hex digits: 4,096 buckets a company, so that one holds few of a day's requests."""


class Stream(Entity, kw_only=True):
    """The high-water mark of a numbered stream: a number at or below `number` is a repeat."""

    number: int
    updated_at: Instant = EPOCH


ENTITIES: dict[str, type[Entity]] = {
    "head": Head,
    "lead": Lead,
    "call": Call,
    "part": Part,
    "relay": Relay,
    "replan": Replan,
    "unblock": UnblockSweep,
    "suppression": Suppression,
    "incomplete": IncompleteTexts,
    "kept": KeptSubmission,
    "asking": OpenSlotRequests,
    "record": Record,
    "slots": Slots,
    "claim": Claim,
    "queued": QueuedRequest,
    "taken": Taken,
    "referrers": Referrers,
    "seen": Seen,
    "agent": AgentState,
    "unblocked": UnblockTally,
    "stream": Stream,
    "ring_pool": RingPoolState,
    "number_hold": NumberHold,
}
ENTITY_PREFIXES: tuple[str, ...] = tuple(f"{kind}/" for kind in ENTITIES)
"""How a key of an entity begins; heads and leads, which most keys are, first."""


def head_key(contact_key: str) -> str:
    """Return the key of a contact's head."""
    return f"head/{contact_key}"


def lead_key(lead_id: int) -> str:
    """Return the key of a lead."""
    return f"lead/{lead_id}"


def call_key(call_id: int) -> str:
    """Return the key of a call."""
    return f"call/{call_id}"


def part_key(key: str, number: int) -> str:
    """Return the key of a part of the tokens of a lead or call, which lives under `key`."""
    return f"part/{number}/{key}"


def relay_key(command_id: str) -> str:
    """Return the key of a relayed command."""
    return f"relay/{command_id}"


def replan_key(subject: str) -> str:
    """Return the key of a replan."""
    return f"replan/{subject}"


def unblock_key(job_id: int) -> str:
    """Return the key of a partition's sweep for an unblock contact job."""
    return f"unblock/{job_id}"


def suppression_key(list_id: int, contact_key: str) -> str:
    """Return the key of a contact on a suppression list."""
    return f"suppression/{list_id}/{contact_key}"


def incomplete_key(contact_key: str) -> str:
    """Return the key of a contact's texts of which parts are missing."""
    return f"incomplete/{contact_key}"


def kept_key(submission_id: int) -> str:
    """Return the key of a submission that is kept beside its lead."""
    return f"kept/{submission_id}"


def asking_key(company_id: int, queue: str) -> str:
    """Return the key of the open requests for slots of one queue of a company."""
    return f"{ASKING_PREFIX}{company_id}/{queue}"


def record_key(record_type: str, record_id: int) -> str:
    """Return the key of an account record."""
    return f"record/{record_type}/{record_id}"


def slots_key(company_id: int, resource: str) -> str:
    """Return the key of the slots of one resource."""
    return f"slots/{company_id}/{resource}"


def claim_key(company_id: int, request_id: str) -> str:
    """Return the key of a contact's slot, or of its request for one."""
    return f"claim/{company_id}/{request_id}"


def queued_key(company_id: int, queue: str, order: str) -> str:
    """Return the key of a request in the queue of a resource; keys of one queue sort as `order` does."""
    return f"{QUEUED_PREFIX}{company_id}/{queue}/{order}"


def agent_key(agent_id: int) -> str:
    """Return the key of the status of an agent."""
    return f"agent/{agent_id}"


def unblocked_key(job_id: int) -> str:
    """Return the key of what partitions have reported of an unblock contact job."""
    return f"unblocked/{job_id}"


def ring_pool_key(company_id: int, ring_pool_id: int) -> str:
    """Return the key of what is held of a company's ring pool."""
    return f"ring_pool/{company_id}/{ring_pool_id}"


def number_hold_key(company_id: int, ring_pool_id: int, number_id: int) -> str:
    """Return the key of the hold of a number of a company's ring pool."""
    return f"number_hold/{company_id}/{ring_pool_id}/{number_id}"


def taken_key(company_id: int, kind: str, value: str) -> str:
    """Return the key of a unique value of a company."""
    return f"taken/{company_id}/{kind}/{value}"


def referrers_key(record_type: str, record_id: int) -> str:
    """Return the key of what refers to an account record."""
    return f"referrers/{record_type}/{record_id}"


def seen_key(company_id: int, request_hash: str) -> str:
    """Return the key of the requests of a company whose hash begins like this one."""
    return f"seen/{company_id}/{request_hash[:SEEN_PREFIX]}"


def seen_of_contact_key(contact_key: str, request_hash: str) -> str:
    """Return the key of the requests about a contact, beyond those in its head, whose hash begins like this one."""
    return f"seen/{contact_key}/{request_hash[:1]}"


def stream_key(stream: str) -> str:
    """Return the key of a numbered stream's high-water mark."""
    return f"stream/{stream}"


def kind_of(key: str) -> type[Entity]:
    """Return the struct that is stored under a key. Raises `KeyError` for a key of no known kind."""
    return ENTITIES[key.partition("/")[0]]
