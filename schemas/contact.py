"""What is the state of one contact? Its head, its leads and its calls.

Each entity has its own key (`schemas.state`) and is replaced whole: a decision holds the values after it, so that a fold of
decisions needs no old rules. `version` rises with every change of an entity, also through moves.
"""

from decimal import Decimal
from typing import Any, Literal

from msgspec import Struct

from schemas.instant import HOUR, Instant, Millis
from schemas.money import NOTHING
from schemas.wire import Entity

LeadStatus = Literal[
    "captured",
    "queue",
    "scheduled",
    "waiting",
    "running",
    "success",
    "completed",
    "completed_attempted",
    "completed_connected",
    "completed_converted",
    "expired",
    "exceeded_max_calls",
    "exceeded_short_calls",
    "removed",
    "opt_out",
    "dnc",
    "blocked",
    "failure",
    "disabled",
]
LIVE_STATUSES = frozenset({"captured", "queue", "scheduled", "waiting", "running"})
"""A lead with one of these statuses is live; every other status is terminal."""

PRIORITY_DEFAULT = 100.0
"""Lower goes first; negatives are allowed."""


class Attempt(Struct, array_like=True, frozen=True):
    """One entry of the legal ledger of a number: counted from the moment its command was emitted."""

    at: Instant
    kind: str
    command_id: str


class ContactPause(Struct, frozen=True):
    """Steps that would contact the person wait until then; `code` says why (a `status_wait`)."""

    until: Instant
    code: str


GRACE_MINUTES = 15
"""How long only the owner of a callback may make it, and then only their team, where nobody says otherwise."""


class CallbackOwner(Struct, frozen=True, omit_defaults=True):
    """Who makes a callback: an agent, then the agents of their call center; or a buyer, then a group; then anyone.

    The agent or buyer has `grace_minutes` alone, then their team has `team_grace_minutes` (None: as many). With 0 minutes
    nobody else takes over.
    """

    buyer_id: int | None = None
    buyer_group_id: int | None = None
    grace_minutes: int = GRACE_MINUTES
    agent_id: int | None = None
    team_grace_minutes: int | None = None


CallbackPromiser = Literal["agent", "api", "caller", "form", "schedule"]
"""Who promised a call: an agent, a request of a key, a caller for whom nobody was free, a form without a key, a step."""

CallbackState = Literal["pending", "kept", "late", "missed", "cancelled"]
"""How a promise stands. `kept`: its call was placed on time, `late`: after that. Without a call: `missed` once its time was
over, `cancelled` before."""


class CallbackPromise(Struct, frozen=True, omit_defaults=True):
    """A promised call, as far as its record is not in the history: who promised it, and the call that was placed for it.

    `agent_id` is the agent who promised it. `revision` rises with each change of the record. `called_at` is when the first
    call for it was placed, by `called_agent_id` or `called_buyer_id`; with `is_reached` one of its calls reached somebody.
    """

    id: int
    made_at: Instant
    promised_at: Instant
    state: CallbackState = "pending"
    promised_by: CallbackPromiser = "api"
    agent_id: int | None = None
    owner: CallbackOwner | None = None
    revision: int = 1
    call_id: int | None = None
    called_at: Instant | None = None
    called_agent_id: int | None = None
    called_buyer_id: int | None = None
    is_reached: bool = False


class SentText(Struct, array_like=True, frozen=True):
    """A text of ours, as far as a quotation of it is known again: its first letters, and a digest of all of them."""

    beginning: str
    digest: str


class Head(Entity, kw_only=True):
    """What holds for the number or address itself, across all its leads.

    It is small whatever happened to the person: `engine.contact` bounds each of its lists. `seen` remembers the ids of
    requests for 24 h (hash -> instant), the first ones of a day; the rest has values of its own (`schemas.account.Seen`).
    `ledger` holds the newest attempts, `attempts_before` by kind the instants of those before: the first instant, then
    the distances, in milliseconds. `relays` counts the open commands that were emitted for leads of other contacts.
    `disabled_until` closes a channel
    (an invalid number, a hard bounce); the ledger is never reset by restart, move or delete. `moved` tells where a lead
    went whose number changed (lead id -> contact key). `sweep_at` is the head's timer while more of its leads are to be
    ended than one decision may end; `sweep_from` is how many of `lead_ids` are done. `call_ids` are the calls of the person,
    oldest first. Nothing is sent while the person is calling us (`inbound_call_id`, at most until `inbound_until`), nor
    before `review_until`, when one of their texts may be an opt-out. `suppressed_at`: on the do-not-call list.
    `opt_outs` are those with less than the whole company as their scope: `offer/7`, `channel/sms`. `opted_in_at`: they
    texted a word that carriers accept as consent. `opted_out_by_text`: the scope of an opt-out by text alone, `company` or
    `channel/sms`. `deleted_refs` are hashes of the gateways' names of deleted calls: later reports about them make no call.
    `suppressed_by` are the suppression lists that the person is on (`Suppression`).
    `kept_ids` are the submissions that are kept beside their leads (`KeptSubmission`), oldest first; `kept_dropped` counts
    those that made room. `public_lead_at` is when the first lead of a day was made without a key, `public_contacts` are the
    newest contacts of the further ones: deleting and restarting leads change neither. `sent_texts` are the newest texts of
    ours, which people quote. `helped_at` is when they last got the answer to HELP. `refused_at` is when they last refused an
    offer: some laws have a pause from then on. `unread_number` is what was sent for a number that cannot be read, while its
    opt-out waits for a review. `incomplete_until`: parts of a text of theirs are missing (`IncompleteTexts`), and nothing is
    sent before.
    """

    company_id: int
    contact_key: str
    version: int = 0
    lead_ids: tuple[int, ...] = ()
    opted_out_at: Instant | None = None
    blocked_at: Instant | None = None
    ledger: tuple[Attempt, ...] = ()
    seen: dict[str, Instant] = {}
    disabled_until: dict[str, Instant] = {}
    last_call_at: Instant | None = None
    moved: dict[str, str] = {}
    sweep_at: Instant | None = None
    sweep_from: int = 0
    call_ids: tuple[int, ...] = ()
    suppressed_at: Instant | None = None
    inbound_call_id: int | None = None
    inbound_until: Instant | None = None
    review_until: Instant | None = None
    opt_outs: dict[str, Instant] = {}
    opted_in_at: Instant | None = None
    deleted_refs: tuple[str, ...] = ()
    attempts_before: dict[str, tuple[Millis, ...]] = {}
    relays: int = 0
    opted_out_by_text: str | None = None
    suppressed_by: tuple[int, ...] = ()
    kept_ids: tuple[int, ...] = ()
    kept_dropped: int = 0
    public_lead_at: Instant | None = None
    public_contacts: tuple[Instant, ...] = ()
    sent_texts: tuple[SentText, ...] = ()
    helped_at: Instant | None = None
    refused_at: Instant | None = None
    unread_number: str | None = None
    incomplete_until: Instant | None = None


class Flight(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A command in flight: its outcome is awaited until `due_at`.

    `enrolment` is the run that it belongs to: an outcome of an earlier run is recorded and moves nothing. `slot_id` is
    the slot to release, `reached_by` the contact that was asked to emit it, `callback` says that it is no step. `buyer_ids`
    are several buyers that are rung at once, until one of them answers. `agent_id` is the agent who is reserved for it.
    `asks` is the subscription that is asked: about the suppression list `asks_list`, else by its veto hook. `outcome` is the
    one that counts of a command whose outcome may yet be another, where that is not `unknown`.
    """

    command_id: str
    kind: str
    step_id: str
    emitted_at: Instant
    due_at: Instant
    call_id: int | None = None
    slot_id: str | None = None
    counted: bool = False
    reached_by: str | None = None
    enrolment: int = 1
    callback: bool = False
    buyer_ids: tuple[int, ...] = ()
    agent_id: int | None = None
    asks: int | None = None
    asks_list: int | None = None
    outcome: str | None = None


class UnknownAttempt(Struct, frozen=True, omit_defaults=True):
    """A contact of a step whose outcome is unknown, while what the lead does since was planned by that.

    `step_entered`, `retries` and `ending` are those of the lead before; `has_fired`: a trigger took the attempt for made.
    `outcome` is the known one that came at `occurred_at` while a later command was open: it decides once that has ended.
    """

    flight: Flight
    step_entered: int
    retries: dict[str, int] = {}
    ending: bool = False
    has_fired: bool = False
    outcome: str | None = None
    occurred_at: Instant | None = None


class StoppedPlan(Struct, frozen=True, omit_defaults=True):
    """What a lead had planned when a stop of its person ended it, by the names of its fields; `step` None: nothing yet."""

    step: str | None = None
    step_attempts: int = 0
    at_its_end: bool = False
    base_at: Instant | None = None
    requested_next_action_at: Instant | None = None
    callback_at: Instant | None = None
    disposition_due_at: Instant | None = None
    pause: ContactPause | None = None


class Conversion(Struct, frozen=True, omit_defaults=True):
    """A conversion of a lead or call that holds: its record is in the history; `revision` rises with each change of that."""

    id: int
    at: Instant
    source: str
    revision: int = 1


class LeadOutline(Entity, kw_only=True):
    """What a decision asks of every lead of a person: some fields of `Lead`, read from the same bytes without its data."""

    id: int
    contact_key: str
    status: LeadStatus = "queue"
    status_wait: str | None = None
    offer_id: int | None = None
    schedule_id: int | None = None
    columns: dict[str, Any] = {}
    flight: Flight | None = None
    opt_out: bool = False
    blocked: bool = False
    last_email_at: Instant | None = None
    first_offer_id: int | None = None
    is_test: bool = False


class Lead(Entity, kw_only=True):
    """One submission's run of a schedule for one person.

    `step` is the id of the step to come or in flight (None: before the first plan or after the last), `ending` says that
    it is an end step; `base_at` is the instant from which the step was planned and `planned_at` the `next_action_at` that
    lateness is measured from; `wake_at` is the one timer of the lead: the earliest of next action, expiry, outcome
    timeout, callback. `reasons` are the codes that moved `next_action_at` later, in order; `zone_deciding` and
    `rule_deciding` are the zone and the row of the rule pack of the last of them. A due lead that is held (paused schedule,
    no buyer to connect to) is checked again at `recheck_at`, with a backoff since `held_at`. While `slot_id` is requested,
    an answer is awaited until `slot_due_at`. `slot_queue` names the queue (`OpenSlotRequests`) that it asks from or, without
    a request, waits in, due, until one of the open requests ends. `first_offer_id` is the offer that it was sent to, where
    it has moved to the schedule of another one since. `sweep_key` names the `Replan` that made it due: it waits until the
    sweep is done. `restarts` counts the restarts by its own schedule; `moves` are the instants at which steps moved or
    restarted it, within the last day; `fired` are the indices of the triggers that fired in this enrolment. After a call
    whose step says so, the lead stays at the step until the call has a disposition or `disposition_due_at` has come;
    `disposition` is the code of the last one. `judged` are, by step, the calls of this enrolment after which a disposition
    caused a retry. `heard` are the events since the last action that a step may wait for; `pause` delays contacts after a
    reply. `stopped` is what a stop of the person took from the lead. `aging` is subtracted from its
    priority for every overdue hour. `awaits_place` is the channel with the most open commands allowed: the lead waits, due,
    for one to end. `unheard` are the last commands whose outcome is unknown, or of a text `undelivered`: where another one
    is known later, it counts as that says. `unknown` is the newest contact of a step among them, until another one has been
    made. With `data_parts` the data of the lead is stored in as many values of its own, and `data` is empty. Of a callback:
    `callback_promised_at` is the promised instant, `callback_due_at` when it could first be made, `callback_tries` how
    often nobody answered; `callback_asks` says that the open slot request is for it; `promise` is its record, or that of the
    last one, and `called_promise` of one that was replaced while its call was on its way. `buyer_conversion` and
    `offer_conversion` are those of the lead itself, without a call; `buyer_conversion_id` and `offer_conversion_id` name
    the conversions that it has, which may be those of `call_buyer_conversion_id` and `call_offer_conversion_id`, its calls.
    `allowed_by` are the subscriptions that have allowed the attempt of the step that is to come. `impression_uuid` is that
    of the impression to which its latest attributed call is attributed. `is_capped`: made without a key, and not the first
    such lead of its person that day. `is_test`: nobody is contacted for it. `withheld` are the columns and tokens that came
    without a key and hold a link or a telephone number. `left_command_id` is the call to an earlier number of the lead that
    may not have ended yet; no other is made before its outcome has come, or before `left_until`.
    """

    id: int
    uuid: str
    company_id: int
    contact_key: str
    version: int = 1
    created_at: Instant
    updated_at: Instant
    left_command_id: str | None = None
    left_until: Instant | None = None
    status: LeadStatus = "queue"
    status_wait: str | None = None
    end_status: LeadStatus | None = None
    ending: bool = False
    offer_id: int | None = None
    schedule_id: int | None = None
    schedule_version: int | None = None
    caller_id: str | None = None
    email: str | None = None
    columns: dict[str, Any] = {}
    data: dict[str, Any] = {}
    zones: tuple[str, ...] = ()
    zone_source: str = "default"
    states: tuple[str, ...] = ()
    lead_priority: float = PRIORITY_DEFAULT
    enrolment: int = 1
    step: str | None = None
    step_entered: int = 0
    retries: dict[str, int] = {}
    step_attempts: int = 0
    attempts: int = 0
    attempts_max: int | None = None
    flight: Flight | None = None
    slot_id: str | None = None
    slot_due_at: Instant | None = None
    base_at: Instant | None = None
    next_action_at: Instant | None = None
    planned_at: Instant | None = None
    requested_next_action_at: Instant | None = None
    reasons: tuple[str, ...] = ()
    zone_deciding: str | None = None
    rule_deciding: str | None = None
    expires_at: Instant | None = None
    callback_at: Instant | None = None
    callbacks: int = 0
    held_at: Instant | None = None
    recheck_at: Instant | None = None
    wake_at: Instant | None = None
    urgency_class: int = 2
    opt_out: bool = False
    blocked: bool = False
    buyer_converted: bool = False
    offer_converted: bool = False
    connected: bool = False
    revenue: Decimal = NOTHING
    payout: Decimal = NOTHING
    cost: Decimal = NOTHING
    buyer_id: int | None = None
    svc_number: str | None = None
    sms_number: str | None = None
    outbound_calls_count: int = 0
    inbound_calls_count: int = 0
    sms_count: int = 0
    emails_count: int = 0
    attempted_call_id: int | None = None
    connected_call_id: int | None = None
    call_buyer_conversion_id: int | None = None
    call_offer_conversion_id: int | None = None
    user_updated_at: Instant | None = None
    first_queued_at: Instant | None = None
    first_action_at: Instant | None = None
    last_action_at: Instant | None = None
    last_call_at: Instant | None = None
    is_revived: bool = False
    """It had ended as completed, and lives on for a callback: its end steps have run."""

    schedule_ended_at: Instant | None = None
    schedule_trigger_type: str | None = None
    failed_channels: tuple[str, ...] = ()
    last_outcome: str | None = None
    restarts: int = 0
    moves: tuple[Instant, ...] = ()
    fired: tuple[int, ...] = ()
    disposition_due_at: Instant | None = None
    disposition: str | None = None
    heard: tuple[str, ...] = ()
    pause: ContactPause | None = None
    scheduled_callback_id: int | None = None
    dial_tier: int | None = None
    judged: dict[str, tuple[int, ...]] = {}
    callback_owner: CallbackOwner | None = None
    callback_promised_at: Instant | None = None
    callback_due_at: Instant | None = None
    callback_tries: int = 0
    callback_asks: bool = False
    promise: CallbackPromise | None = None
    called_promise: CallbackPromise | None = None
    stopped: StoppedPlan | None = None
    aging: float = 0.0
    last_email_at: Instant | None = None
    slot_queue: str | None = None
    data_parts: int = 0
    sweep_key: str | None = None
    unheard: tuple[Flight, ...] = ()
    unknown: UnknownAttempt | None = None
    first_offer_id: int | None = None
    awaits_place: str | None = None
    lead_import_id: int | None = None
    buyer_conversion: Conversion | None = None
    offer_conversion: Conversion | None = None
    buyer_conversion_id: int | None = None
    offer_conversion_id: int | None = None
    allowed_by: tuple[int, ...] = ()
    impression_uuid: str | None = None
    is_capped: bool = False
    withheld: tuple[str, ...] = ()
    is_test: bool = False


class CallRoute(Struct, frozen=True, omit_defaults=True):
    """Where an inbound call was routed last.

    `action` is `pending` while its slot is requested, or whose call it is, `connect` (to `buyer_id` or `agent_id`), or what
    happens instead. `slot_id` names its slot, or the request for one, until it is released. `tried` are the buyers or agents
    that were rung before and did not answer, or were gone when they were granted. `is_connected`: the gateway reported that
    the buyer or agent of the route has the call. `buyer_ids` are several buyers that ring at once, because the gateway
    `rings_several`; `buyer_id` is the one of them that has the call, None until a report names it.
    """

    action: Literal["pending", "connect", "voicemail", "message", "callback", "hang_up", "reject"]
    buyer_id: int | None = None
    buyer_group_id: int | None = None
    slot_id: str | None = None
    tried: tuple[int, ...] = ()
    is_connected: bool = False
    agent_id: int | None = None
    buyer_ids: tuple[int, ...] = ()
    rings_several: bool = False


class Attribution(Struct, frozen=True, omit_defaults=True):
    """For whom the called number of a ring pool was held: for a visitor, who asked for it by an impression.

    Both are None where it was held for nobody, and while the answer of the pool `is_awaited`.
    """

    impression_uuid: str | None = None
    visitor_id: str | None = None
    is_awaited: bool = False


class Call(Entity, kw_only=True):
    """One telephone call, placed for a person or made by them.

    The projection derives other fields (profit, durations, `in_progress`, ...). `from_number` is the caller, `number_called`
    the called one: of an inbound call the person's number and ours. `token_values` are the lead's data at the start of the
    call, and what was written to the call since. `held_at` is set while the call is on hold; `gateway_ref` is the gateway's
    own name of a call without a command. At `give_up_at` a call without a reported end counts as ended, where no lead waits
    for it. `token_parts` are as `data_parts` of a lead. `route` is set where a gateway wanted a buyer for an inbound call.
    With `routed_by_epc` the call counts in what its buyer earns by each call. `attribution` is set where the number called
    is of a ring pool.
    """

    id: int
    uuid: str
    company_id: int
    contact_key: str
    version: int = 1
    created_at: Instant
    updated_at: Instant
    user_updated_at: Instant | None = None
    lead_id: int | None = None
    offer_id: int | None = None
    schedule_id: int | None = None
    schedule_action_id: str | None = None
    traffic_source_id: int | None = None
    number_id: int | None = None
    command_id: str | None = None
    direction: str = "outbound"
    origin: str = "schedule"
    status: str = "initiated"
    sub_status: str | None = None
    outcome: str | None = None
    answered_by: str = "unknown"
    number_called: str
    from_number: str | None = None
    buyer_id: int | None = None
    buyer_group_id: int | None = None
    attempt_number: int = 1
    provider: str | None = None
    provider_ref: str | None = None
    gateway_ref: str | None = None
    country: str | None = None
    state: str | None = None
    city: str | None = None
    zip: str | None = None
    time_zone: str | None = None
    contact_field_type: str | None = None
    token_values: dict[str, Any] = {}
    initiated_at: Instant | None = None
    ringing_at: Instant | None = None
    answered_at: Instant | None = None
    buyer_answered_at: Instant | None = None
    held_at: Instant | None = None
    ended_at: Instant | None = None
    talk_seconds: int = 0
    hold_seconds: int = 0
    placed_on_hold: bool = False
    hangup_cause: str | None = None
    hung_up_by: str | None = None
    recording_url: str | None = None
    detail: str | None = None
    revenue: Decimal = NOTHING
    payout: Decimal = NOTHING
    cost: Decimal = NOTHING
    buyer_converted: bool = False
    offer_converted: bool = False
    buyer_conversion_duplicated_call: bool = False
    offer_conversion_duplicated_call: bool = False
    buyer_repeat_caller: bool = False
    offer_repeat_caller: bool = False
    call_disposition_id: int | None = None
    agent_call_disposition_notes: str | None = None
    agent_id: int | None = None
    ring_pool_id: int | None = None
    provider_configuration_id: int | None = None
    transcription_status: str | None = None
    scheduled_callback_id: int | None = None
    dial_tier: int | None = None
    give_up_at: Instant | None = None
    token_parts: int = 0
    route: CallRoute | None = None
    buyer_conversion: Conversion | None = None
    offer_conversion: Conversion | None = None
    routed_by_epc: bool = False
    attribution: Attribution | None = None


PROMISED_CLASS = -1
"""The class of a callback. It asks whatever is closed or full, and nobody pre-empts it: its request has one id for good, so
that an answer to the first request would pass for one to the second."""

HEADS_MAX = 50
"""Requests for slots that one queue has open from one partition, however many lines it has: each decision about one carries
them all (some 2 KB)."""


class Part(Entity, kw_only=True):
    """Some of the tokens of a large lead or call (`engine.partition.parts`)."""

    tokens: dict[str, Any] = {}


class OpenSlotRequest(Struct, array_like=True, frozen=True, order=True):
    """An open request for a slot, in the order of timers that are due; `aging` is taken off the priority as they are."""

    urgency_class: int
    priority: float
    due_at: Instant
    lead_id: int
    aging: float = 0.0

    def rank(self, now: Instant) -> tuple[int, float, Instant, int]:
        """Return how urgent it has become: less goes first."""
        overdue = max(0, now - self.due_at) if self.aging else 0
        return self.urgency_class, self.priority - self.aging * overdue / HOUR, self.due_at, self.lead_id


class OpenSlotRequests(Entity, kw_only=True):
    """The open requests for slots of one queue in one partition: at most `heads_max`; further leads wait, due.

    A queue is of leads that could be given the same slots (`engine.contact.commands.waiting_leads`). Callbacks ask beyond
    that. A refusal closes it: from `closed_at`, for `closed_reason`, until a lead gets a slot; the cap resets at
    `resets_at`. At `opens_at` one lead tries; while it `is_tried`, one request at a time is open.

    It is the gate of the waiting leads (`engine.partition.timers`).
    """

    company_id: int
    queue: str = ""
    heads_max: int = 1
    open: tuple[OpenSlotRequest, ...] = ()
    closed_at: Instant | None = None
    closed_reason: str | None = None
    opens_at: Instant | None = None
    resets_at: Instant | None = None
    is_tried: bool = False

    @property
    def is_shut(self) -> bool:
        """Whether it is closed and no lead may try yet."""
        return self.closed_at is not None and not self.is_tried

    @property
    def room(self) -> int:
        """How many more requests may be opened."""
        if self.is_shut:
            return 0
        most = self.heads_max if self.closed_at is None else 1
        return max(0, most - len(self._replaceable()))

    def least_urgent(self, now: Instant) -> list[OpenSlotRequest]:
        """Return the open requests that a more urgent lead may pre-empt, the least urgent first."""
        if self.is_shut:
            return []
        return sorted(self._replaceable(), key=lambda asked: asked.rank(now), reverse=True)

    def _replaceable(self) -> list[OpenSlotRequest]:
        return [asked for asked in self.open if asked.urgency_class != PROMISED_CLASS]


def waits_in_queue(lead: Lead) -> bool:
    """Return whether a lead waits in a queue for slots without an open request."""
    return lead.slot_queue is not None and lead.slot_id is None


class Relay(Entity, kw_only=True):
    """A command that this contact emitted for a lead of another contact; its outcome is passed on to `reply_to`."""

    command_id: str
    company_id: int
    contact_key: str
    reply_to: str
    lead_id: int
    kind: str
    emitted_at: Instant
    expires_at: Instant
    offer_id: int | None = None


class Replan(Entity, kw_only=True):
    """A sweep over leads whose plans rest on changed rules, by id; `after` is the last one done.

    `cause` names what changed (`rule_pack/5@3`, `schedule/1@2`, `versions tzdata 2026a -> 2026b`). Without `company_id` all
    leads are meant, with `offer_id` or `schedule_id` those of it; with `waits` only those that wait for such a reason.
    Leads of the schedule on an earlier version than `version` go over to it. With `hangs_up` it ends the calls under way.

    It is the gate of the leads that it makes due (`engine.partition.timers`), and shut until it is removed.
    """

    cause: str
    due_at: Instant
    company_id: int | None = None
    offer_id: int | None = None
    schedule_id: int | None = None
    version: int | None = None
    waits: tuple[str, ...] = ()
    after: int = 0
    hangs_up: bool = False

    @property
    def room(self) -> int:
        """How many leads it admits before the sweep is done: none."""
        return 0

    def least_urgent(self, _now: Instant) -> tuple[OpenSlotRequest, ...]:
        """Return nothing: no lead holds a place that a more urgent one could take."""
        return ()


class UnblockSweep(Entity, kw_only=True):
    """The sweep of an unblock contact job over the contacts of one partition, by key; `after` is the last one done.

    It lifts blocks set from `blocked_from` (None: from the beginning) until before `blocked_until`. It stays when it has
    ended: the projection shows its counts. `failed_count` are contacts whose block could not be lifted. `due_at` is None
    once it has ended or was canceled, which the deletion of the job does. `contact_partitions` sweep for the job; where it
    is known, the end is reported to the account. Leads that were submitted since `made_at` begin once their block is lifted.
    """

    company_id: int
    job_id: int
    version: int = 1
    blocked_from: Instant | None = None
    blocked_until: Instant
    made_at: Instant
    due_at: Instant | None = None
    after: str = ""
    unblock_count: int = 0
    failed_count: int = 0
    last_contact_key: str | None = None
    last_unblocked_at: Instant | None = None
    ended_at: Instant | None = None
    canceled_at: Instant | None = None
    contact_partitions: int | None = None


class KeptSubmission(Entity, kw_only=True):
    """What a sender without a key brought for a stored live lead: it changes nothing until a user accepts it.

    The fields are those of `schemas.requests.LeadSubmitted`. What came `by_offer_token` goes to a call that follows soon.
    """

    id: int
    company_id: int
    contact_key: str
    lead_id: int
    version: int = 1
    created_at: Instant
    email: str | None = None
    columns: dict[str, Any] = {}
    data: dict[str, Any] = {}
    zones: tuple[str, ...] = ()
    zone_source: str = "default"
    states: tuple[str, ...] = ()
    schedule_callback_at: Instant | None = None
    by_offer_token: bool = False


class StoredPart(Struct, array_like=True, frozen=True):
    """One part of a text of a person: its octets in the alphabet of `data_coding`."""

    number: int
    data_coding: int
    octets: bytes


class IncompleteText(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A text of a person of which parts are missing: what is there at `due_at` is read.

    `reference` names it among the texts of the person, `parts` are in the sequence of their numbers. `stopped`: one of them
    was an opt-out, the first that holds (`new`) or not.
    """

    reference: str
    count: int
    due_at: Instant
    received_at: Instant
    parts: tuple[StoredPart, ...]
    to_number: str | None = None
    provider: str | None = None
    stopped: Literal["new", "before"] | None = None


class IncompleteTexts(Entity, kw_only=True):
    """The texts of a contact of which parts are missing, oldest first; `due_at` is when the first of them is read."""

    company_id: int
    contact_key: str
    texts: tuple[IncompleteText, ...]
    due_at: Instant | None = None


class Suppression(Entity, kw_only=True):
    """A contact on a suppression list: who says so (`source`), and until when; without `expires_at` for good."""

    company_id: int
    list_id: int
    contact_key: str
    version: int = 1
    created_at: Instant
    updated_at: Instant
    source: str | None = None
    expires_at: Instant | None = None
