"""Which records refer to each other, and which values are unique? Indexed beside the records: no decision searches them."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from engine.account.fleets import fleets_named
from engine.account.subscriptions import named_by_triggers
from engine.partition.draft import Draft, RefusedError
from schemas.account import Referrers, Taken
from schemas.records import (
    RECORD_BODIES,
    ActionGroup,
    Agent,
    AgentMessage,
    ApiKey,
    Body,
    Buyer,
    BuyerFleet,
    BuyerGroup,
    CallDisposition,
    Company,
    Holiday,
    Number,
    Offer,
    ProviderConfiguration,
    Record,
    RingPool,
    Schedule,
    Subscription,
    User,
    ring_pool_numbers,
)
from schemas.schedule import (
    CallbackStep,
    CallStep,
    MoveStep,
    OnConversion,
    OnInboundConnected,
    Step,
    UpdateLeadStep,
    WebhookStep,
)
from schemas.state import record_key, referrers_key, taken_key

REFERRERS_MAX = 10_000
"""Referrers of one record: their list is rewritten with each change, and must fit into a decision."""

RULE_PACKS_MAX = 10
"""Of one company: all rows are merged with the law, and cached by every deciding process."""

SHOWN_MAX = 5
"""Referring records named in one answer."""

EXTERNAL_ID = "external_record_id"
"""The field with a record's id in a system of the company's."""

_TYPE_OF = {kind: record_type for record_type, kind in RECORD_BODIES.items()}

Reference = tuple[str, int]


def live_record(draft: Draft, company_id: int, record_type: str, record_id: int) -> Record | None:
    """Return a record of the company that was not deleted."""
    record = draft.get(record_key(record_type, record_id), Record)
    if record is None or record.company_id != company_id or record.deleted_at is not None:
        return None
    return record


def references_of(body: Body) -> set[Reference]:
    """Return the records that a body names."""
    lists = body.suppression_list_ids if isinstance(body, Company | Offer | Schedule | Buyer) else ()
    closed = body.schedule_ids if isinstance(body, Holiday) else ()
    shown = ring_pool_numbers(body) if isinstance(body, RingPool) else ()
    return {
        *_references(body),
        *(("suppression_list", list_id) for list_id in lists),
        *(("schedule", schedule_id) for schedule_id in closed),
        *(("number", number_id) for number_id in shown),
    }


def _references(body: Body) -> Iterator[Reference]:
    if isinstance(body, Schedule | Number) and body.offer_id is not None:
        yield "offer", body.offer_id
    if isinstance(body, ProviderConfiguration):
        yield from (("number", number_id) for number_id in body.number_ids)
    if isinstance(body, Offer | BuyerGroup | Agent | AgentMessage):
        yield from (("buyer", buyer_id) for buyer_id in body.buyer_ids)
    if isinstance(body, Buyer):
        yield from (("buyer_fleet", fleet_id) for fleet_id in body.buyer_fleet_ids)
    if isinstance(body, Agent | AgentMessage | Offer):
        yield from _agent_references(body)
    if isinstance(body, Offer | AgentMessage):
        yield from (("buyer_group", group_id) for group_id in body.buyer_group_ids)
    if isinstance(body, Schedule | ActionGroup):
        yield from _plan_references(body)
    elif isinstance(body, Subscription):
        yield from named_by_triggers(body.trigger_fields)
        yield from _lookup_references(body)
    elif isinstance(body, CallDisposition) and body.action_group_id is not None:
        yield "action_group", body.action_group_id


def _lookup_references(body: Subscription) -> Iterator[Reference]:
    if body.suppression_list_id is not None:
        yield "suppression_list", body.suppression_list_id


def _plan_references(body: Schedule | ActionGroup) -> Iterator[Reference]:
    if isinstance(body, Schedule):
        yield from _reaction_references(body)
        yield from _step_references((*body.steps, *body.end_steps))
    else:
        yield from _step_references(body.steps)


def _reaction_references(body: Schedule) -> Iterator[Reference]:
    for reaction in (body.on_inbound_connected, body.on_conversion):
        if isinstance(reaction, OnInboundConnected | OnConversion) and reaction.schedule_id is not None:
            yield "schedule", reaction.schedule_id


def _agent_references(body: Agent | AgentMessage | Offer) -> Iterator[Reference]:
    call_center_ids = (body.call_center_id,) if isinstance(body, Agent) else body.call_center_ids
    yield from (("call_center", call_center_id) for call_center_id in call_center_ids if call_center_id is not None)
    if isinstance(body, AgentMessage) and body.agent_status_id is not None:
        yield "agent_status", body.agent_status_id
    if isinstance(body, Offer):
        yield from (("agent", agent_id) for agent_id in body.agent_ids)


def _step_references(steps: Iterable[Step]) -> Iterator[Reference]:
    for step in steps:
        if isinstance(step, WebhookStep):
            yield "outgoing_webhook", step.outgoing_webhook_id
        elif isinstance(step, MoveStep):
            yield "schedule", step.schedule_id
        elif isinstance(step, UpdateLeadStep) and step.traffic_source_id is not None:
            yield "traffic_source", step.traffic_source_id
        elif isinstance(step, CallbackStep):
            yield from (("buyer", buyer_id) for buyer_id in (step.buyer_id,) if buyer_id is not None)
            if step.buyer_group_id is not None:
                yield "buyer_group", step.buyer_group_id
        elif isinstance(step, CallStep):
            yield from (("buyer", buyer_id) for buyer_id in step.connect.buyer_ids)
            yield from (("buyer_group", group_id) for group_id in step.connect.group_ids)
            if step.connect.agents is not None:
                yield from (("agent", agent_id) for agent_id in step.connect.agents.agent_ids)
                yield from (("call_center", center_id) for center_id in step.connect.agents.call_center_ids)


def index_references(draft: Draft, record: Record, before: Body | None, after: Body | None) -> None:
    """Update the index of references for a changed record."""
    name = f"{record.type}/{record.id}"
    old, new = _all_references(draft, record.company_id, before), _all_references(draft, record.company_id, after)
    for record_type, record_id in sorted(old ^ new):
        key = referrers_key(record_type, record_id)
        known = draft.get(key, Referrers) or Referrers(company_id=record.company_id)
        by = {*known.by, name} if (record_type, record_id) in new else {*known.by} - {name}
        if len(by) > REFERRERS_MAX:
            holder = f"{record_type.replace('_', ' ')} {record_id}"
            raise RefusedError(
                "record_in_use", f"{REFERRERS_MAX} records use {holder} already; make another one of its kind."
            )
        known.by = tuple(sorted(by))
        if by:
            draft.put(key, known)
        else:
            draft.remove(key)


def _all_references(draft: Draft, company_id: int, body: Body | None) -> set[Reference]:
    """Return the records that a body names by id, and the buyer fleets that its filters name."""
    if body is None:
        return set()
    names: set[str] = set()
    if isinstance(body, Schedule):
        names = fleets_named((*body.steps, *body.end_steps), body.triggers)
    elif isinstance(body, ActionGroup):
        names = fleets_named(body.steps)
    fleet_ids = {fleet_named(draft, company_id, name) for name in names}
    return references_of(body) | {("buyer_fleet", fleet_id) for fleet_id in fleet_ids if fleet_id is not None}


def refuse_in_use(draft: Draft, record: Record) -> None:
    """Raise `RefusedError` where live records refer to this one."""
    # A schedule may move leads to itself.
    by = [name for name in _referrers(draft, record) if name != f"{record.type}/{record.id}"]
    if by:
        raise RefusedError("record_in_use", f"It is used by {_listed(by)}; take it out of them, then delete it.")


def refuse_renaming_in_use(draft: Draft, record: Record, before: Body | None, after: Body) -> None:
    """Raise `RefusedError` where a buyer fleet gets another `user_fleet_id` while filters name it by the present one."""
    if (
        not isinstance(before, BuyerFleet)
        or not isinstance(after, BuyerFleet)
        or before.user_fleet_id == after.user_fleet_id
    ):
        return
    by = [name for name in _referrers(draft, record) if not name.startswith("buyer/")]  # buyers name it by its id
    if by:
        sentence = f"fleet:{before.user_fleet_id} is used by {_listed(by)}; take it out of them, then rename it."
        raise RefusedError("record_in_use", sentence, {"user_fleet_id": [f"is named by filters of {_listed(by)}"]})


def agents_of(draft: Draft, call_center_id: int) -> list[int]:
    """Return the agents of a call center."""
    known = draft.get(referrers_key("call_center", call_center_id), Referrers)
    names = () if known is None else known.by
    return [int(name.removeprefix("agent/")) for name in names if name.startswith("agent/")]


def _referrers(draft: Draft, record: Record) -> tuple[str, ...]:
    known = draft.get(referrers_key(record.type, record.id), Referrers)
    return () if known is None else known.by


def _listed(by: Sequence[str]) -> str:
    named = ", ".join(name.replace("_", " ").replace("/", " ") for name in by[:SHOWN_MAX])
    return f"{named} and {len(by) - SHOWN_MAX} more" if len(by) > SHOWN_MAX else named


def unique_values(body: Body) -> dict[str, tuple[str, str]]:
    """Return the values of a body that no other record of the company may have: field -> (kind, value)."""
    external_id = getattr(body, EXTERNAL_ID, None)
    if external_id is None:
        return _unique_values(body)
    # Systems number their records by type: an offer and a buyer may have the same one.
    return {**_unique_values(body), EXTERNAL_ID: (f"{EXTERNAL_ID}/{_TYPE_OF[type(body)]}", external_id)}


def _unique_values(body: Body) -> dict[str, tuple[str, str]]:  # noqa: PLR0911 - one line per type
    match body:
        case Offer() | Schedule():
            return {"lead_token": ("lead_token", body.lead_token)}
        case ApiKey():
            return {"public_key": ("public_key", body.public_key)}
        case Buyer() if body.user_buyer_id is not None:
            return {"user_buyer_id": ("user_buyer_id", body.user_buyer_id)}
        case BuyerFleet():
            return {"user_fleet_id": ("user_fleet_id", body.user_fleet_id)}
        case Agent() if body.user_email is not None:
            return {"user_email": ("agent_email", body.user_email)}
        case User():
            return _of_user(body)
        case Number():
            return {"number": ("number", body.number)}
        case CallDisposition() if body.code is not None:
            return {"code": ("call_disposition_code", body.code.upper())}
        case RingPool():
            return {field: ("ring_pool_number", str(number_id)) for field, number_id in _numbers_of(body).items()}
        case _:
            return {}


def _of_user(user: User) -> dict[str, tuple[str, str]]:
    """Return the address of a user, and the identity: who signs in with it is one user of the company."""
    found = {"email": ("user_email", user.email)}
    if user.identity_sha256 is None:
        return found
    return {**found, "identity": ("user_identity", user.identity_sha256)}


def _numbers_of(pool: RingPool) -> dict[str, int]:
    """Return the numbers of a ring pool by field: each belongs to one pool, so that a call to it says to which."""
    named = {f"number_ids[{place}]": number_id for place, number_id in enumerate(pool.number_ids)}
    return named if pool.default_number_id is None else {**named, "default_number_id": pool.default_number_id}


def claim_unique_values(draft: Draft, record: Record, before: Body | None, after: Body | None) -> None:
    """Claim the unique values of a body and release those of its predecessor. Raises `RefusedError` where one is taken."""
    old, new = unique_values(before) if before else {}, unique_values(after) if after else {}
    _refuse_taken(draft, record, new)
    for kind, value in old.values():
        _release(draft, record, taken_key(record.company_id, kind, value))
    for kind, value in new.values():
        taken = Taken(company_id=record.company_id, record_type=record.type, record_id=record.id)
        draft.put(taken_key(record.company_id, kind, value), taken)
    if record.type == "rule_pack" and (before is None or after is None):
        _claim_rule_pack_slot(draft, record, is_new=before is None)


def _release(draft: Draft, record: Record, key: str) -> None:
    """Release a value, unless another record has it: earlier rules let several have one `external_record_id`."""
    taken = draft.get(key, Taken)
    if taken is None or (taken.record_type, taken.record_id) == (record.type, record.id):
        draft.remove(key)


def _claim_rule_pack_slot(draft: Draft, record: Record, *, is_new: bool) -> None:
    """Claim one of the company's rule pack slots, or release it. Raises `RefusedError` where none is free."""
    for number in range(RULE_PACKS_MAX):
        key = taken_key(record.company_id, "rule_pack", str(number))
        taken = draft.get(key, Taken)
        if is_new and taken is None:
            draft.put(key, Taken(company_id=record.company_id, record_type=record.type, record_id=record.id))
            return
        if not is_new and taken is not None and taken.record_id == record.id:
            draft.remove(key)
            return
    if is_new:
        sentence = f"are in {RULE_PACKS_MAX} packs already, the most of one company; add the rows to one of those"
        raise RefusedError("validation_failed", f"The rules {sentence}.", {"rules": [sentence]})


def _refuse_taken(draft: Draft, record: Record, values: Mapping[str, tuple[str, str]]) -> None:
    errors: dict[str, list[str]] = {}
    for field, (kind, value) in values.items():
        taken = draft.get(taken_key(record.company_id, kind, value), Taken)
        if taken is not None and (taken.record_type, taken.record_id) != (record.type, record.id):
            holder = f"{taken.record_type.replace('_', ' ')} {taken.record_id}"
            errors[field] = [f"is taken by {holder}; choose another"]
    if errors:
        raise RefusedError("duplicate_value", f"Another record has this {', '.join(errors)}; nothing was changed.", errors)


def buyer_named(draft: Draft, company_id: int, user_buyer_id: str) -> int | None:
    """Return the id of the live buyer with a `user_buyer_id`."""
    taken = draft.get(taken_key(company_id, "user_buyer_id", user_buyer_id), Taken)
    return None if taken is None else taken.record_id


def fleet_named(draft: Draft, company_id: int, user_fleet_id: str) -> int | None:
    """Return the id of the live buyer fleet with a `user_fleet_id`."""
    taken = draft.get(taken_key(company_id, "user_fleet_id", user_fleet_id), Taken)
    return None if taken is None else taken.record_id
