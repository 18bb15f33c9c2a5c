"""What can a schedule say? The steps a lead walks through, when they may happen, and what ends them.

Unknown fields are refused, so that a misspelt one is not silently ignored. Durations are text (`90s 15m 2h 1d 1w`): s, m, h
elapse; d and w keep the wall clock in the lead's zone. Filters are texts `key:value`, `key:!=x`, `key:>=10`; all of a list
must hold, `|` inside a value means either.
Publishing replaces an `action_group` step by the steps of the group, with the ids `step-id/id`.
"""

from typing import Any, Literal

from msgspec import Struct, field

Day = Literal["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
Channel = Literal["call", "sms", "email"]
OnLate = Literal["run", "skip", "exit"]
MissingToken = Literal["empty", "skip_step", "fail"]
WindowMiss = Literal["next_open", "same_time_next_allowed_day", "skip_step"]
UnknownZone = Literal["intersect", "default_zone", "hold"]
OptOutScope = Literal["company", "offer", "channel"]


class SchedulePart(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """A piece of a schedule."""


class Window(SchedulePart, frozen=True, kw_only=True):
    """One row of opening hours, `HH:MM` local time; `close` may be `24:00`, or before `open` (overnight)."""

    days: tuple[Day, ...]
    open: str
    close: str


class Pause(SchedulePart, frozen=True, kw_only=True):
    """Dates without contacts, the first and the last included, in the zones of the person."""

    first: str = field(name="from")
    last: str = field(name="to")
    name: str | None = None


class Retry(SchedulePart, frozen=True, kw_only=True):
    """Retry after an outcome: `delay` defaults to that of the outcome; `max` defaults to 1, for busy to 3."""

    delay: str | None = None
    max: int | None = None


RouteBy = Literal["tier", "revenue", "epc"]
"""How buyers of one tier compete: by weight, by what they pay for a call, or by what they paid for each connected call."""


class ConnectAgents(SchedulePart, frozen=True, kw_only=True):
    """Agents of the company: these, and those of these call centers. One who is available is reserved for each dial."""

    agent_ids: tuple[int, ...] = ()
    call_center_ids: tuple[int, ...] = ()


class Connect(SchedulePart, frozen=True, kw_only=True):
    """Whom an answered call is connected to; without names, whom the gateway has.

    `route_by_type` None is that of the offer. Of several `buyer_group_ids` those of the lowest tier that take calls compete;
    where none of them does, `buyer_ids` beside them are called.

    `whisper`: what they hear first, a template as of a text. `stream` (wss://…): a voice bot in their place.
    """

    buyer_group_id: int | None = None
    buyer_ids: tuple[int, ...] = ()
    agents: ConnectAgents | None = None
    route_by_type: RouteBy | None = None
    buyer_group_ids: tuple[int, ...] = ()
    whisper: str | None = None
    stream: str | None = None

    @property
    def group_ids(self) -> tuple[int, ...]:
        """The groups, however many are named."""
        return (*(() if self.buyer_group_id is None else (self.buyer_group_id,)), *self.buyer_group_ids)


class Until(SchedulePart, frozen=True, kw_only=True):
    """A local time to wait for; `zone` is the lead's by default."""

    time: str
    days: tuple[Day, ...] = ()
    date: str | None = None
    zone: str = "lead"
    if_passed: Literal["next_day", "now"] = "next_day"


class CallStep(SchedulePart, frozen=True, kw_only=True, tag_field="kind", tag="call"):
    """Place a call; counts as a contact attempt.

    `machine`: hang up on an answering machine, leave it `voicemail_message`, or treat it like a person.
    `ring_timeout_seconds` is for the person's telephone; a buyer has its own `timeout_seconds`.

    `await_disposition`: how long to wait for the agent's disposition of an answered call.
    """

    id: str
    connect: Connect = Connect()
    from_number: str | None = None
    ring_timeout_seconds: int = 30
    machine: Literal["hangup", "voicemail_drop", "continue"] = "hangup"
    retry: dict[str, Retry] = {}
    outcome_timeout: str | None = None
    await_disposition: str | None = None
    max_lateness: str | None = None
    on_late: OnLate | None = None
    window_miss: WindowMiss | None = None
    jitter_seconds: int | None = None
    voicemail_message: str | None = None


class SmsStep(SchedulePart, frozen=True, kw_only=True, tag_field="kind", tag="sms"):
    """Send a text; counts as a contact attempt. `missing_token`: what is done where a token of the template has no value.

    With `require_opt_in` the lead waits before the step until the person has consented: its token `opt_in` says so, or they
    texted START.
    """

    id: str
    template: str
    from_number: str | None = None
    missing_token: MissingToken = "empty"  # noqa: S105 - no secret
    require_opt_in: bool = False
    retry: dict[str, Retry] = {}
    outcome_timeout: str | None = None
    max_lateness: str | None = None
    on_late: OnLate | None = None
    window_miss: WindowMiss | None = None
    jitter_seconds: int | None = None


class EmailStep(SchedulePart, frozen=True, kw_only=True, tag_field="kind", tag="email"):
    """Send an e-mail; not a contact attempt."""

    id: str
    subject: str
    template: str
    from_address: str | None = None
    missing_token: MissingToken = "empty"  # noqa: S105 - no secret
    retry: dict[str, Retry] = {}
    outcome_timeout: str | None = None
    max_lateness: str | None = None
    on_late: OnLate | None = None
    window_miss: WindowMiss | None = None
    jitter_seconds: int | None = None


class WebhookStep(SchedulePart, frozen=True, kw_only=True, tag_field="kind", tag="webhook"):
    """Post the lead to an outgoing webhook."""

    id: str
    outgoing_webhook_id: int
    retry: dict[str, Retry] = {}
    outcome_timeout: str | None = None


class WaitStep(SchedulePart, frozen=True, kw_only=True, tag_field="kind", tag="wait"):
    """Wait for a duration or until a local time; exactly one of both."""

    id: str
    duration: str | None = None
    until: Until | None = None
    mode: Literal["elapsed", "calendar"] | None = None


class ExitStep(SchedulePart, frozen=True, kw_only=True, tag_field="kind", tag="exit"):
    """Leave the schedule with a result."""

    id: str
    result: Literal["success", "failure", "completed"] = "completed"


class Rule(SchedulePart, frozen=True, kw_only=True):
    """The next step if all filters hold."""

    when: tuple[str, ...] = field(name="if")
    goto: str


class BranchStep(SchedulePart, frozen=True, kw_only=True, tag_field="kind", tag="branch"):
    """Go on by the first rule that holds, or where `else` says; without it, at the step that follows."""

    id: str
    rules: tuple[Rule, ...]
    otherwise: str | None = field(name="else", default=None)


class Path(SchedulePart, frozen=True, kw_only=True):
    """One way out of a split, taken by `weight` of all leads."""

    goto: str
    weight: int = 1


class SplitStep(SchedulePart, frozen=True, kw_only=True, tag_field="kind", tag="split"):
    """Split the leads by weight; one lead always takes the same path."""

    id: str
    paths: tuple[Path, ...]


class WaitForStep(SchedulePart, frozen=True, kw_only=True, tag_field="kind", tag="wait_for"):
    """Wait until something is true of the lead, `timeout` at the longest; goes on at the next step where none is named.

    `tokens_match`: all of `filters` hold. `converted` and its like: the lead converted, for the buyer, the offer or either.
    The others have happened since the last action of the lead: a text came from the person, they called us, an agent said
    how a call went.
    """

    id: str
    event: Literal[
        "tokens_match",
        "converted",
        "buyer_converted",
        "offer_converted",
        "sms.received",
        "call.inbound_received",
        "disposition",
    ]
    timeout: str
    filters: tuple[str, ...] = ()
    on_match: str | None = None
    on_timeout: str | None = None


class UpdateLeadStep(SchedulePart, frozen=True, kw_only=True, tag_field="kind", tag="update_lead"):
    """Set and take away tokens of the lead, or set its priority, its source, or which of its numbers is used."""

    id: str
    set: dict[str, Any] = {}
    unset: tuple[str, ...] = ()
    lead_priority: float | None = None
    traffic_source_id: int | None = None
    contact_field_type: str | None = None


class TagStep(SchedulePart, frozen=True, kw_only=True, tag_field="kind", tag="tag"):
    """Add words to, or take them out of, the token `tags`."""

    id: str
    add: tuple[str, ...] = ()
    remove: tuple[str, ...] = ()


class MoveStep(SchedulePart, frozen=True, kw_only=True, tag_field="kind", tag="move_to_schedule"):
    """Move to another schedule, at its present version."""

    id: str
    schedule_id: int
    keep_expiry: bool = True
    keep_attempts: bool = False


class RestartStep(SchedulePart, frozen=True, kw_only=True, tag_field="kind", tag="restart"):
    """Restart this schedule, at most `max_restarts` times; then go on at the next step."""

    id: str
    max_restarts: int = 1


class CallbackStep(SchedulePart, frozen=True, kw_only=True, tag_field="kind", tag="schedule_callback"):
    """Schedule a callback: after a duration (`in`) or at a local time (`at`); exactly one of both.

    It is connected to a buyer or a group where one is named, and to others only `grace_minutes` later (0: never).
    """

    id: str
    after: str | None = field(name="in", default=None)
    at: Until | None = None
    buyer_id: int | None = None
    buyer_group_id: int | None = None
    grace_minutes: int = 15


class OptOutStep(SchedulePart, frozen=True, kw_only=True, tag_field="kind", tag="opt_out"):
    """Never contact this person again: of the whole company, about the lead's offer, or on one channel.

    Without a `scope` it reaches as far as the company's other opt-outs. After that of a `channel` the schedule goes on.
    """

    id: str
    scope: OptOutScope | None = None
    channel: Channel | None = None


class BlockStep(SchedulePart, frozen=True, kw_only=True, tag_field="kind", tag="block"):
    """Keep this person away from the company's numbers."""

    id: str


class SuppressStep(SchedulePart, frozen=True, kw_only=True, tag_field="kind", tag="suppress"):
    """Put this person on the do-not-call list."""

    id: str


class ActionGroupStep(SchedulePart, frozen=True, kw_only=True, tag_field="kind", tag="action_group"):
    """Stands for the steps of an action group, as the group is when the schedule is published."""

    id: str
    action_group_id: int


class OnReply(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a text from the person does that is no opt-out: `pause` holds contacts for `duration`, `exit` leaves."""

    action: Literal["pause", "continue", "exit"] = "pause"
    duration: str = "24h"


class OnInboundConnected(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What it does that the person called and was connected: `continue` after `delay`, `exit`, or `move` to a schedule."""

    action: Literal["continue", "exit", "move"] = "continue"
    delay: str = "4h"
    schedule_id: int | None = None


class OnConversion(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where a lead goes that has converted."""

    schedule_id: int
    action: Literal["move"] = "move"


class Trigger(SchedulePart, frozen=True, kw_only=True):
    """What happens to a lead that enters the schedule (`enter`), or of which something becomes true on the way (`exit`).

    The first row that fits is taken: its tokens are set, its `expire_minutes` run from then on, and the lead goes on at
    `goto`, or leaves with `end_result`. Without either, `exit` leaves as completed and `enter` begins at the first step.
    Types of `enter`: none (always), tokens_match. Of `exit`: tokens_match (once in a run), expired, buyer_connected,
    buyer_converted, dial (a call was placed), inbound_connected (the person called and was connected), replied (the person
    sent a text that is no opt-out), disposition (an agent said how a call went).
    """

    on: Literal["enter", "exit"]
    type: Literal[
        "none",
        "tokens_match",
        "expired",
        "buyer_connected",
        "buyer_converted",
        "dial",
        "inbound_connected",
        "replied",
        "disposition",
    ]
    filters: tuple[str, ...] = ()
    add_tokens: dict[str, Any] = {}
    expire_minutes: int | None = None
    goto: str | None = None
    end_result: Literal["success", "failure", "completed"] | None = None


TRIGGER_TYPES: dict[str, tuple[str, ...]] = {
    "enter": ("none", "tokens_match"),
    "exit": (
        "tokens_match",
        "expired",
        "buyer_connected",
        "buyer_converted",
        "dial",
        "inbound_connected",
        "replied",
        "disposition",
    ),
}

ActingStep = CallStep | SmsStep | EmailStep | WebhookStep
"""Steps that emit a command and await its outcome."""

EffectStep = UpdateLeadStep | TagStep | MoveStep | RestartStep | CallbackStep | OptOutStep | BlockStep | SuppressStep
"""Steps that change the lead, at once."""

Step = ActingStep | WaitStep | WaitForStep | BranchStep | SplitStep | EffectStep | ExitStep | ActionGroupStep
STEP_KINDS: dict[str, type[Struct]] = {
    "call": CallStep,
    "sms": SmsStep,
    "email": EmailStep,
    "webhook": WebhookStep,
    "wait": WaitStep,
    "wait_for": WaitForStep,
    "branch": BranchStep,
    "split": SplitStep,
    "update_lead": UpdateLeadStep,
    "tag": TagStep,
    "move_to_schedule": MoveStep,
    "restart": RestartStep,
    "schedule_callback": CallbackStep,
    "opt_out": OptOutStep,
    "block": BlockStep,
    "suppress": SuppressStep,
    "action_group": ActionGroupStep,
    "exit": ExitStep,
}
KIND_OF_STEP: dict[type[Struct], str] = {kind: name for name, kind in STEP_KINDS.items()}
