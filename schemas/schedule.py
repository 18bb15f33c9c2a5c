"""What can a schedule say? The steps a lead walks through, when they may happen, and what ends them.

The JSON is that of the contracts page (section 2); unknown fields are refused, so that a misspelt one is not silently
without effect. Durations are text (`90s 15m 2h 1d 1w`): s, m, h elapse; d and w keep the wall clock in the lead's zone.
Kinds still to come stand in research/domain.md 3.1; a schedule that names one is refused with the list of known kinds.
"""

from typing import Literal

from msgspec import Struct

Day = Literal["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
Channel = Literal["call", "sms", "email"]
OnLate = Literal["run", "skip", "exit"]


class Part(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """A piece of a schedule."""


class Window(Part, frozen=True, kw_only=True):
    """One row of opening hours, `HH:MM` local time; `close` may be `24:00`, or before `open` (overnight)."""

    days: tuple[Day, ...]
    open: str
    close: str


class Retry(Part, frozen=True, kw_only=True):
    """Again after an outcome: `delay` is the outcome's own default where left out; `max` is 1, for busy 3."""

    delay: str | None = None
    max: int | None = None


class Connect(Part, frozen=True, kw_only=True):
    """Whom an answered call is connected to; nobody named means whoever the gateway has."""

    buyer_group_id: int | None = None
    buyer_ids: tuple[int, ...] = ()


class Until(Part, frozen=True, kw_only=True):
    """A local time to wait for; `zone` is the lead's by default."""

    time: str
    days: tuple[Day, ...] = ()
    date: str | None = None
    zone: str = "lead"
    if_passed: Literal["next_day", "now"] = "next_day"


class CallStep(Part, frozen=True, kw_only=True, tag_field="kind", tag="call"):
    """Place a call; counts as a contact attempt."""

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


class SmsStep(Part, frozen=True, kw_only=True, tag_field="kind", tag="sms"):
    """Send a text; counts as a contact attempt."""

    id: str
    template: str
    from_number: str | None = None
    retry: dict[str, Retry] = {}
    outcome_timeout: str | None = None
    max_lateness: str | None = None
    on_late: OnLate | None = None


class EmailStep(Part, frozen=True, kw_only=True, tag_field="kind", tag="email"):
    """Send an e-mail; not a contact attempt."""

    id: str
    subject: str
    template: str
    from_address: str | None = None
    retry: dict[str, Retry] = {}
    outcome_timeout: str | None = None
    max_lateness: str | None = None
    on_late: OnLate | None = None


class WebhookStep(Part, frozen=True, kw_only=True, tag_field="kind", tag="webhook"):
    """Post the lead to an outgoing webhook."""

    id: str
    outgoing_webhook_id: int
    retry: dict[str, Retry] = {}
    outcome_timeout: str | None = None


class WaitStep(Part, frozen=True, kw_only=True, tag_field="kind", tag="wait"):
    """Wait for a duration or until a local time; exactly one of both."""

    id: str
    duration: str | None = None
    until: Until | None = None
    mode: Literal["elapsed", "calendar"] | None = None


class ExitStep(Part, frozen=True, kw_only=True, tag_field="kind", tag="exit"):
    """Leave the schedule with a result."""

    id: str
    result: Literal["success", "failure", "completed"] = "completed"


Step = CallStep | SmsStep | EmailStep | WebhookStep | WaitStep | ExitStep
STEP_KINDS: dict[str, type[Struct]] = {
    "call": CallStep,
    "sms": SmsStep,
    "email": EmailStep,
    "webhook": WebhookStep,
    "wait": WaitStep,
    "exit": ExitStep,
}
