"""What is the state of a company beside its records? Slots and their queues, unique values, references, request ids.

Each entity has its own key and is small, so that one change rewrites little.
"""

from decimal import Decimal
from typing import Any

from msgspec import Struct

from schemas.instant import EPOCH, HOUR, Instant
from schemas.money import NOTHING
from schemas.schedule import RouteBy
from schemas.wire import Entity


class Hold(Struct, array_like=True, frozen=True):
    """One resource that a slot takes, and the number of the grant there (0: its caps count nothing)."""

    resource: str
    number: int = 0


class CapUsage(Struct, omit_defaults=True):
    """The use of one record's caps in one period, by metric: confirmed by outcomes, or reserved by open calls.

    Grants up to the number `after` are older than the period: their ends do not change it.
    """

    began_at: Instant = EPOCH
    ends_at: Instant | None = None
    after: int = 0
    used: dict[str, Decimal] = {}
    open: dict[str, int] = {}


class EarnedDay(Struct, array_like=True, frozen=True):
    """The connected calls of one day (in UTC, counted from 1970) that were routed by EPC, and what they have earned."""

    day: int
    calls: int = 0
    revenue: Decimal = NOTHING


class AgentState(Entity, kw_only=True):
    """The status of an agent, the page where it was set, and the messages acknowledged last.

    `status_timestamp_id` is the change that set the status, `key` what it says to programs. A status that no record of the
    company has (`offline` by silence, `on_call`, `wrap_up`) has no `agent_status_id`.

    From the grant of a slot until its release the agent is reserved for it: `slot_id` names it, `former_status_id` is the
    status to go back to where no person was reached, or once `wrap_up` ends by itself at `wake_at`. `former_key` is what
    that says to programs, None for `available`: who places a call by hand may have had any status.
    """

    company_id: int
    agent_status_id: int | None = None
    agent_widget_id: int | None = None
    acknowledged: tuple[int, ...] = ()
    status_timestamp_id: int | None = None
    key: str | None = None
    slot_id: str | None = None
    former_status_id: int | None = None
    wake_at: Instant | None = None
    former_key: str | None = None


class UnblockTally(Entity, kw_only=True):
    """How many partitions of contacts are done with an unblock contact job, until all are."""

    company_id: int
    ended: int = 0
    unblock_count: int = 0
    failed_count: int = 0


class Claim(Entity, kw_only=True):
    """A contact's slot, held since `granted_at` on what `holds` names, or its request for one while that is None.

    `call_id` is the inbound call that it was requested for. While several buyers are rung at once, `buyer_ids` are they, and
    `buyer_id` is None until one of them answers. With `is_by_epc`, the call counts in what its buyer earns by each call.
    `number_id` is the number with caps that the call is placed from. A slot that was released as `unknown` is kept until
    `wake_at`: a known end may still correct what it has used. `queued_as` is its key in the queue while it waits.
    """

    company_id: int
    request_id: str
    contact_key: str
    lead_id: int
    resource: str
    buyer_group_id: int | None = None
    buyer_id: int | None = None
    requested_at: Instant
    granted_at: Instant | None = None
    holds: tuple[Hold, ...] = ()
    call_id: int | None = None
    buyer_ids: tuple[int, ...] = ()
    agent_id: int | None = None
    is_by_epc: bool = False
    number_id: int | None = None
    wake_at: Instant | None = None
    queued_as: str | None = None


class QueuedRequest(Entity, kw_only=True):
    """A request in the queue of a resource. Its key holds the queue and the order in it (`engine.account.slot_queue`).

    `aging` is by how much it gets more urgent with every hour that it is overdue.
    """

    company_id: int
    request_id: str
    urgency_class: int
    priority: float
    due_at: Instant
    arrival: int
    aging: float = 0.0

    def rank(self, now: Instant) -> tuple[int, float, Instant, int]:
        """Return how urgent it has become: less goes first."""
        overdue = max(0, now - self.due_at) if self.aging else 0
        return self.urgency_class, self.priority - self.aging * overdue / HOUR, self.due_at, self.arrival


class Slots(Entity, kw_only=True):
    """One resource: how many of its slots are held, and how many requests wait in its queue (`QueuedRequest`).

    `buyer_group/7`, `buyers/3+4` and what is named by both, by a traffic source or by a number are asked for; `buyer/3`,
    `traffic_source/5` and `number/9` only count what one record has in use through all of them. Each names in
    `wanted_by` the resources whose queue may go on when it is free; those name it in `wants` (a number is a buyer's id).
    `tallies` hold, by period, what is used of the record's caps, `grants` how many were counted there. At `wake_at` a cap
    is reset that the queue waits for, or the next slice of it is answered. Requests that exclude buyers or agents have a
    queue for each set of excluded ids, so that none holds up another; those that are routed otherwise than by tier have one
    for each `route_by_type`.
    `last_granted_at` is kept for a record with a spacing, `earned_days` for a buyer that calls are routed to by EPC.
    """

    resource: str
    company_id: int
    version: int = 0
    in_use: int = 0
    arrivals: int = 0
    waiting: int = 0
    wanted_by: tuple[str, ...] = ()
    wants: tuple[int | str, ...] = ()
    buyer_group_id: int | None = None
    buyer_ids: tuple[int, ...] = ()
    buyer_group_ids: tuple[int, ...] = ()
    traffic_source_id: int | None = None
    grants: int = 0
    tallies: dict[str, CapUsage] = {}
    wake_at: Instant | None = None
    excluded_buyer_ids: tuple[int, ...] = ()
    agent_ids: tuple[int, ...] = ()
    call_center_ids: tuple[int, ...] = ()
    route_by_type: RouteBy = "tier"
    last_granted_at: Instant | None = None
    earned_days: tuple[EarnedDay, ...] = ()
    number_id: int | None = None
    excluded_agent_ids: tuple[int, ...] = ()


class PoolNumber(Struct, array_like=True, frozen=True):
    """One number of a ring pool: for whom it was held last (a hash), and from when on it may go to another visitor."""

    number_id: int
    visitor: str = ""
    free_at: Instant = EPOCH


class RingPoolState(Entity, kw_only=True):
    """Which numbers of a ring pool are held, by the pool's settings in its version `pool_version`.

    `overflow_count` visitors found all of them held, the last one at `last_overflow_at`.
    """

    company_id: int
    ring_pool_id: int
    version: int = 0
    pool_version: int = 0
    numbers: tuple[PoolNumber, ...] = ()
    hold_seconds: int = 0
    grace_seconds: int = 0
    default_number_id: int | None = None
    overflow_count: int = 0
    last_overflow_at: Instant | None = None


class HeldFor(Struct, frozen=True, omit_defaults=True):
    """For whom a number was held, and the latest impression that asked for it; the grace ends at `ends_at`."""

    visitor_id: str
    impression_uuid: str
    began_at: Instant
    held_until: Instant
    ends_at: Instant
    offer_id: int | None = None
    traffic_source_id: int | None = None
    tokens: dict[str, Any] = {}


class NumberHold(Entity, kw_only=True):
    """For whom a number of a ring pool is held, and for whom it was before: a call may be reported late."""

    company_id: int
    ring_pool_id: int
    number_id: int
    present: HeldFor
    former: HeldFor | None = None


class Taken(Entity, kw_only=True):
    """A value that one record of a company has and no other may have."""

    company_id: int
    record_type: str
    record_id: int


class Referrers(Entity, kw_only=True):
    """The live records that refer to one, as `type/id`: it cannot be deleted before them."""

    company_id: int
    by: tuple[str, ...] = ()


class Seen(Entity, kw_only=True):
    """The requests of 24 h whose hash begins alike (hash -> instant): of a company, or of a person with many."""

    company_id: int
    ids: dict[str, Instant] = {}
