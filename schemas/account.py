"""What is remembered about a company beside its records? Who holds a slot of a limited resource, and who waits for one."""

from msgspec import Struct

from schemas.instant import Instant
from schemas.wire import Entity


class Claim(Struct, array_like=True, frozen=True):
    """A contact's request for a slot; ordered as it is declared (class, priority, due, arrival)."""

    urgency_class: int
    priority: float
    due_at: Instant
    arrival: int
    request_id: str
    contact_key: str
    lead_id: int
    buyer_id: int | None = None


class Slots(Entity, kw_only=True):
    """The slots of one resource (`buyer_group/7`, `buyers/3+4`): who holds one and who waits, most urgent first."""

    resource: str
    company_id: int
    version: int = 0
    arrivals: int = 0
    held: tuple[Claim, ...] = ()
    waiting: tuple[Claim, ...] = ()


class Tokens(Entity, kw_only=True):
    """Which values are taken, so that none is given twice: lead tokens, public keys (`kind` -> value -> record id).

    `seen` remembers the ids of requests for 24 h (hash -> instant), as a contact's head does.
    """

    company_id: int
    taken: dict[str, dict[str, int]] = {}
    seen: dict[str, Instant] = {}
