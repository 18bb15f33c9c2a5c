"""Which events does a decision hold for subscriptions? Each fact of `OF_FACT` is one, with what is needed to filter it.

An event is a function of one recorded decision: read again, the decision gives the same events in the same order.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, get_args

from msgspec import Struct

EventName = Literal[
    "lead_created",
    "lead_scheduled",
    "lead_waiting",
    "lead_changed",
    "lead_converted",
    "lead_ended",
    "lead_deleted",
    "submission_kept",
    "lead_opted_out",
    "lead_action_started",
    "lead_action_finished",
    "lead_action_corrected",
    "callback_scheduled",
    "callback_cancelled",
    "call_created",
    "call_ringing",
    "call_answered",
    "call_changed",
    "disposition_changed",
    "call_ended",
    "call_corrected",
    "call_deleted",
    "incoming_text_message",
    "contact_opted_out",
    "contact_opted_in",
    "contact_blocked",
    "contact_unblocked",
    "agent_status_changed",
    "record_created",
    "record_changed",
    "record_deleted",
    "cap_reached",
    "unblock_job_finished",
]

EVENTS: Mapping[str, str] = {
    "lead_created": "a lead was made: by a submission, a call that was started, or an inbound call",
    "lead_scheduled": "the next action of a lead was planned",
    "lead_waiting": "a lead that is due is held back; `details.reason` says why",
    "lead_changed": "somebody changed a lead, or a submission was merged into it",
    "lead_converted": "a conversion was recorded for a lead; `details.converted` names it",
    "lead_ended": "a lead came to its end; `details.status` says how",
    "lead_deleted": "a lead was deleted",
    "submission_kept": "a submission without a key waits beside a stored lead; `details.submission_id` names it",
    "lead_opted_out": "a lead ended because its person opted out",
    "lead_action_started": "a call, text, e-mail or webhook was ordered for a lead",
    "lead_action_finished": "the outcome of such an order is known",
    "lead_action_corrected": "another outcome takes the place of one that was reported; `details.corrects` is that one",
    "callback_scheduled": "a call was promised",
    "callback_cancelled": "a promised call was cancelled",
    "call_created": "a call was ordered, or came in",
    "call_ringing": "a call rings",
    "call_answered": "the person answered",
    "call_changed": "somebody changed a call; `details.fields` names what",
    "disposition_changed": "the disposition of a call was set",
    "call_ended": "a call ended",
    "call_corrected": "a call that had ended has another outcome; `details.corrects` is the one of its `call_ended`",
    "call_deleted": "a call was deleted",
    "incoming_text_message": "a text of the person arrived",
    "contact_opted_out": "a person opted out, with or without a lead",
    "contact_opted_in": "a person opted in, or an opt-out was lifted",
    "contact_blocked": "a person was blocked",
    "contact_unblocked": "a block was lifted",
    "agent_status_changed": "the status of an agent was set",
    "record_created": "an account record was made; `details` names its type and id",
    "record_changed": "an account record was changed; `details.fields` names what",
    "record_deleted": "an account record was deleted",
    "cap_reached": "a cap of a buyer, group, traffic source or number was used up; `details` names it, and when it is reset",
    "unblock_job_finished": "an unblock contact job has lifted its blocks; `details` says how many, and how many failed",
}
"""Event -> when it happens."""

OF_FACT: Mapping[str, EventName] = {
    "lead.created": "lead_created",
    "lead.scheduled": "lead_scheduled",
    "lead.waiting": "lead_waiting",
    "lead.updated": "lead_changed",
    "lead.converted": "lead_converted",
    "lead.ended": "lead_ended",
    "lead.deleted": "lead_deleted",
    "submission.kept": "submission_kept",
    "command.emitted": "lead_action_started",
    "outcome.recorded": "lead_action_finished",
    "callback.scheduled": "callback_scheduled",
    "callback.cancelled": "callback_cancelled",
    "call.initiated": "call_created",
    "call.inbound_received": "call_created",
    "call.ringing": "call_ringing",
    "call.answered": "call_answered",
    "call.updated": "call_changed",
    "call.dispositioned": "disposition_changed",
    "call.ended": "call_ended",
    "call.corrected": "call_corrected",
    "call.deleted": "call_deleted",
    "sms.received": "incoming_text_message",
    "contact.opted_out": "contact_opted_out",
    "contact.opted_in": "contact_opted_in",
    "contact.blocked": "contact_blocked",
    "contact.unblocked": "contact_unblocked",
    "agent.status_changed": "agent_status_changed",
    "record.created": "record_created",
    "record.updated": "record_changed",
    "record.deleted": "record_deleted",
    "cap.reached": "cap_reached",
    "unblock_job.finished": "unblock_job_finished",
}
"""Type of a recorded fact -> its event; `lead_opted_out` is a `lead.ended` besides, and an outcome may correct one."""

EVENT_NAMES: tuple[str, ...] = get_args(EventName)

LOOKUP = "suppression_lookup"

HOOKS: Mapping[str, str] = {
    "before_call": "a call of a step is due and allowed: its answer allows or denies it",
    "before_sms": "the same of a text",
    LOOKUP: "a call, text or e-mail of a step is due, and a suppression list names this subscription: is the person on it?",
}
"""What a subscription is asked, beside the events that are posted to it -> when."""

HOOK_OF_CHANNEL: Mapping[str, str] = {"call": "before_call", "sms": "before_sms"}

OPTED_OUT = "opt_out"


class Event(Struct, frozen=True, kw_only=True):
    """One event. `ordinal` is its place among the events of its decision; `details` is the data of the fact."""

    name: str
    ordinal: int
    lead_id: int | None
    call_id: int | None
    details: Mapping[str, Any]


class StatedFact(Struct, frozen=True):
    """A fact, as far as an event needs it."""

    type: str
    lead_id: int | None = None
    call_id: int | None = None
    data: dict[str, Any] = {}


def events_of(facts: Sequence[StatedFact]) -> Iterator[Event]:
    """Yield the events of a decision, in the order of its facts."""
    ordinal = 0
    for fact in facts:
        for name in _names_of(fact):
            yield Event(name=name, ordinal=ordinal, lead_id=fact.lead_id, call_id=fact.call_id, details=fact.data)
            ordinal += 1


def _names_of(fact: StatedFact) -> tuple[str, ...]:
    name = OF_FACT.get(fact.type)
    if name is None or "standing" in fact.data:  # an outcome that repeats or changes nothing
        return ()
    if name == "lead_action_finished" and "corrects" in fact.data:
        return ("lead_action_corrected",)
    return (name, "lead_opted_out") if name == "lead_ended" and fact.data.get("status") == OPTED_OUT else (name,)
