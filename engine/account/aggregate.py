"""What is decided for one company? Changes of its records, and who gets a slot of what is limited."""

from collections.abc import Mapping, Sequence
from hashlib import blake2b

from engine.account.agent_calls import end_wrap_up
from engine.account.agents import acknowledge, forget_deleted, report_silence, set_status
from engine.account.changes import change_record, end_pause
from engine.account.number_holds import decide_ring_pool
from engine.account.slots import apply_record_change, count_earned, grant_to_agent, release_slot, request_slot, wake
from engine.account.unblock_jobs import count_ended, forget_tally
from engine.account.users import acting_user_id
from engine.partition.aggregate import Adoption, Timer
from engine.partition.draft import Draft, RepeatedError
from engine.partition.places import PlaceClaim
from schemas.account import AgentState, Claim, Seen, Slots
from schemas.envelope import Envelope
from schemas.instant import DAY, EPOCH, Instant
from schemas.records import Record
from schemas.requests import (
    ACCOUNT_REQUESTS,
    AccountRequest,
    AgentMessageAcknowledged,
    AgentSilenceReported,
    AgentStatusChangeRequested,
    CallEarned,
    RecordChangeRequested,
    RingPoolRequest,
    SlotReleased,
    SlotRequested,
    UnblockSweepEnded,
)
from schemas.state import ENTITIES, kind_of, seen_key
from schemas.topics import ACCOUNTS_DECISIONS, ACCOUNTS_REQUESTS, ACCOUNTS_STATE, Topic
from schemas.wire import Entity, Message

SEEN_FOR = DAY
"""How long the id of a request is remembered: a repeat within a day changes nothing."""


class AccountAggregate:
    """The rules of the account partitions; it implements `engine.partition.aggregate.Aggregate`."""

    @property
    def requests_topic(self) -> Topic:
        """Where its inputs come from."""
        return ACCOUNTS_REQUESTS

    @property
    def decisions_topic(self) -> Topic:
        """Where its decisions go."""
        return ACCOUNTS_DECISIONS

    @property
    def state_topic(self) -> Topic:
        """Its changelog."""
        return ACCOUNTS_STATE

    @property
    def request_types(self) -> Mapping[str, type[Message]]:
        """The struct of each `ce_type` that it understands."""
        return ACCOUNT_REQUESTS

    @property
    def timer_fields(self) -> Mapping[str, str | None]:
        """A queue for slots has a timer, a slot of unknown end, a record whose pause ends, an agent whose wrap-up ends."""
        return {**dict.fromkeys(ENTITIES), **dict.fromkeys(("slots", "claim", "record", "agent"), "wake_at")}

    @property
    def claim_fields(self) -> Mapping[str, Sequence[str]]:
        """No entity of an account claims a place: accounts emit no commands."""
        return {}

    def claim(self, entity: Entity) -> PlaceClaim | None:
        """Return None: accounts emit no commands."""
        del entity
        return None

    def key_of(self, request: Message) -> str:
        """Return the record key that a request must have come under: its company, or a ring pool of it."""
        assert isinstance(request, AccountRequest)  # noqa: S101 - the runner decodes nothing else
        return request.partition_key

    def decide(self, draft: Draft, request: Message, envelope: Envelope) -> None:
        """Decide a request. Raises `RefusedError` or `RepeatedError`."""
        match request:
            case RecordChangeRequested():
                self._change(draft, request, envelope)
            case SlotRequested():
                request_slot(draft, request)
            case SlotReleased():
                release_slot(draft, request)
            case CallEarned():
                count_earned(draft, request)
            case AgentStatusChangeRequested():
                set_status(draft, request, acting_user_id(draft, request.company_id, envelope.actor))
                grant_to_agent(draft, request.company_id, request.agent_id)
            case AgentMessageAcknowledged():
                acknowledge(draft, request)
            case AgentSilenceReported():
                report_silence(draft, request)
            case UnblockSweepEnded():
                count_ended(draft, request)
            case RingPoolRequest():
                decide_ring_pool(draft, request)
            case _:
                raise TypeError(f"{type(request).__name__} is not asked of an account")

    def stop_at_least(self, draft: Draft, request: Message, envelope: Envelope) -> bool:
        """Return False: no request to an account opts anybody out."""
        del draft, request, envelope
        return False

    def wake(self, draft: Draft, key: str, due_at: Instant) -> None:
        """End the pause of a record or the wrap-up of an agent, forget a slot, or grant what the reset of a cap allows."""
        match draft.get(key, kind_of(key)):
            case Record() as record:
                end_pause(draft, record)
                apply_record_change(draft, record)
            case Slots() as slots:
                wake(draft, slots)
            case Claim():
                draft.remove(key)
            case AgentState() as state:
                agent_id = int(key.rpartition("/")[2])
                end_wrap_up(draft, agent_id, state)
                grant_to_agent(draft, state.company_id, agent_id)
            case _:
                raise LookupError(f"{key} has no timer at {due_at} (nor at {draft.now})")

    def give_up(self, draft: Draft, key: str, reason: str) -> None:
        """Let a queue whose timer failed wait for the next slot, a record stay paused, and an agent in wrap-up."""
        del reason
        entity = draft.get(key, kind_of(key))
        if isinstance(entity, Claim):
            draft.remove(key)
        elif isinstance(entity, Slots | Record):
            entity.wake_at = None
            entity.version += 1
            draft.put(key, entity)
        elif isinstance(entity, AgentState):
            entity.wake_at = None
            draft.put(key, entity)

    def adopt(self, draft: Draft, adoption: Adoption) -> None:
        """Do nothing: accounts depend on no other rules."""
        del draft, adoption

    def timer(self, key: str, entity: Entity) -> Timer | None:
        """Return when a pause or wrap-up ends, a slot is forgotten, or a queue looked at again: when its cap is reset."""
        if not isinstance(entity, Slots | Claim | Record | AgentState) or entity.wake_at is None:
            return None
        return Timer(entity.wake_at, 0, 0.0, 0, key, company_id=entity.company_id)

    def _change(self, draft: Draft, request: RecordChangeRequested, envelope: Envelope) -> None:
        if envelope.stream is None:  # a numbered stream has its high-water mark against repeats
            _refuse_repeat(draft, request.company_id, envelope)
        user_id = acting_user_id(draft, request.company_id, envelope.actor)
        record = change_record(draft, request, user_id, request_id=envelope.id)
        apply_record_change(draft, record)
        forget_deleted(draft, record)
        forget_tally(draft, record)


def _refuse_repeat(draft: Draft, company_id: int, envelope: Envelope) -> None:
    mark = blake2b(f"{envelope.source}\0{envelope.id}".encode(), digest_size=12).hexdigest()
    key = seen_key(company_id, mark)
    seen = draft.get(key, Seen) or Seen(company_id=company_id)
    if seen.ids.get(mark, EPOCH - SEEN_FOR) > draft.now - SEEN_FOR:
        raise RepeatedError
    seen.ids = {known: at for known, at in seen.ids.items() if at > draft.now - SEEN_FOR}
    seen.ids[mark] = draft.now
    draft.put(key, seen)
