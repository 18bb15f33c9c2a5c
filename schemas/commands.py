"""What must a gateway do? Commands on `commands.*`: everything needed to act, and when it is too late to act.

`command_id` is a hash of lead, enrolment, step and attempt: a repeated command has the same id, and a gateway that claimed
the id does not act twice. A fence cancels the queued commands of a contact.
"""

from typing import Any

from msgspec import Struct

from schemas.instant import Instant
from schemas.wire import Message


class Command(Message, frozen=True, kw_only=True, tag_field="type"):
    """A command about one lead. The gateway drops it when now > `not_after` or a later fence covers it.

    Where commands of a company wait, the lowest `urgency_class` goes first, then the lowest `priority`, then the longest
    due: since `due_at`, else since `not_before`.
    """

    command_id: str
    company_id: int
    contact_key: str
    lead_id: int
    lead_uuid: str
    step_id: str
    enrolment: int
    attempt: int
    decided_at: Instant
    not_before: Instant
    not_after: Instant | None = None
    urgency_class: int = 3
    priority: float = 100.0
    due_at: Instant | None = None


BUYER_LEGS_MAX = 10
"""Buyers that are rung at once for one call: each takes a line of its own, and a person waits for one answer."""


class BuyerLeg(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One of several buyers that are rung at once, for `timeout_seconds` at most."""

    buyer_id: int
    number: str
    timeout_seconds: int = 30
    dtmf_tones: str | None = None


class PlaceCall(Command, frozen=True, kw_only=True, tag="call.place"):
    """Call `to`; when answered, connect to the buyer (an E.164 number or sip: address) if there is one.

    `to` rings for `ring_timeout_seconds` at most, the buyer for `buyer_timeout_seconds`. `buyer_dtmf_tones` (0-9, *, #, A-D,
    w for a pause) are sent to the buyer's telephone as soon as it answers: an extension, or a choice of a menu.

    `buyer_legs`, where there are any, are 2 to `BUYER_LEGS_MAX` buyers to ring at once: the first that answers gets the
    call, and the gateway ends the legs of the others. It reports the id of the one that answered as soon as it has, and
    with the outcome. `buyer_id`, `buyer_number`, `buyer_timeout_seconds` and `buyer_dtmf_tones` repeat the first of them.

    `machine` says what is done where an answering machine is heard: `hangup`, `continue` as with a person, or
    `voicemail_drop`: wait until it takes a message, say `voicemail_message`, and hang up. A gateway that cannot do it
    refuses the command.

    `whisper` is said to the buyer or agent who answers, before they are connected; `to` does not hear it. A gateway that
    cannot do it refuses the command.

    With `stream` the answered call is for a voice bot at that address (wss://…), by a media stream; no buyer is rung. A
    gateway without media streams refuses the command.

    `to_dtmf_tones` are sent to `to` as soon as it answers: the extension of the person. What answers is a switchboard then,
    so `machine` is `continue`. A gateway that cannot press keys refuses the command.

    With `agent_id` the call is for that agent, who is reserved for it: `buyer_number` is then the agent's telephone, None
    where the gateway itself knows how to reach its agents.
    """

    to: str
    from_number: str | None = None
    call_id: int
    buyer_id: int | None = None
    buyer_group_id: int | None = None
    buyer_number: str | None = None
    buyer_timeout_seconds: int | None = None
    ring_timeout_seconds: int = 30
    machine: str = "hangup"
    buyer_dtmf_tones: str | None = None
    buyer_legs: tuple[BuyerLeg, ...] = ()
    agent_id: int | None = None
    voicemail_message: str | None = None
    whisper: str | None = None
    stream: str | None = None
    to_dtmf_tones: str | None = None


class PressKeys(Command, frozen=True, kw_only=True, tag="call.press_keys"):
    """Send `digits` (0-9, *, #, A-D, w for a pause) to the person of a call, if it still lasts.

    It is the call of an earlier command; without one the person called us, by an account (`provider_configuration_id`) whose
    carrier knows the call as `provider_ref`.
    """

    call_id: int
    call_command_id: str | None = None
    digits: str
    provider_configuration_id: int | None = None
    provider_ref: str | None = None


class HangUp(Command, frozen=True, kw_only=True, tag="call.hang_up"):
    """End the call of an earlier command, if it still lasts; `only_unanswered`: if the person has not answered it yet.

    A gateway whose provider cannot tell lets such a call ring.
    """

    call_id: int
    call_command_id: str
    only_unanswered: bool = False


class SendSms(Command, frozen=True, kw_only=True, tag="sms.send"):
    """Text `body` to `to`; `segments` is how many messages the carriers make of it."""

    to: str
    from_number: str | None = None
    body: str
    segments: int = 1


UNSUBSCRIBE_URL = "{{unsubscribe_url}}"


class SendEmail(Command, frozen=True, kw_only=True, tag="email.send"):
    """Mail `body` (plain text) to `to`; a gateway puts the recipient's link in place of each `UNSUBSCRIBE_URL` in it."""

    to: str
    from_address: str | None = None
    subject: str
    body: str


class PostWebhook(Command, frozen=True, kw_only=True, tag="webhook.post"):
    """Post `payload` to the outgoing webhook as it stands in `accounts.rules` at `webhook_version`.

    `call_id` is the call that it reports, where no step of a schedule caused it; `fire_id` is that of a firing by hand.
    With `subscription_id` it is no outgoing webhook, but the question of the veto hook of that subscription, at its
    `webhook_version`.
    """

    outgoing_webhook_id: int
    webhook_version: int
    payload: dict[str, Any]
    call_id: int | None = None
    fire_id: int | None = None
    subscription_id: int | None = None


class Fence(Message, frozen=True, kw_only=True, tag_field="type", tag="fence"):
    """Cancels the earlier commands of this contact; only those of `lead_ids`, or `command_ids`, where any are named."""

    company_id: int
    contact_key: str
    reason: str
    decided_at: Instant
    lead_ids: tuple[int, ...] = ()
    command_ids: tuple[str, ...] = ()


CommandRecord = PlaceCall | PressKeys | HangUp | SendSms | SendEmail | PostWebhook | Fence

COMMAND_KINDS: dict[type[Message], str] = {
    PlaceCall: "call",
    PressKeys: "call",
    HangUp: "call",
    SendSms: "sms",
    SendEmail: "email",
    PostWebhook: "webhook",
}
