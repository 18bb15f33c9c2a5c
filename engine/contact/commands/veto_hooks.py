"""Who is asked before a call or text of a step goes out? Each subscription with a hook for it, one after the other.

The question is a command to the webhook gateway, and its answer an outcome: both are recorded, so that a replay asks nobody.
Meanwhile the lead awaits it as it awaits the outcome of any command. A slot is requested once every hook has allowed the
action, and everything is checked again then.
"""

from collections.abc import Iterator
from typing import Any

from msgspec import json

from engine.contact.commands import backpressure
from engine.contact.facts.person import Person
from engine.identity import command_id
from engine.subscriptions.bodies import ShownEvent, body_of, is_wanted, show_event
from engine.subscriptions.events import HOOK_OF_CHANNEL, Event
from schemas.commands import PostWebhook
from schemas.contact import Flight, Lead
from schemas.instant import SECOND
from schemas.records import Record, Subscription

QUESTION = "(veto hook)"
"""In place of a step in the id of a question: no step's command has the same."""

REPORTED_WITHIN = 30 * SECOND
"""For the gateway to take the question up and report, beside the time that the hook has; after it there is no answer."""

ASKED = "veto_asked"

HookRecord = tuple[Record, Subscription]


def next_hook(person: Person, lead: Lead, channel: str) -> HookRecord | None:
    """Return the first hook that must still allow a call or text of the lead, or None."""
    name = HOOK_OF_CHANNEL.get(channel)
    if name is None or not person.rules.has_any(person.company_id, "subscription"):
        return None
    hooks = [hook for hook in _hooks(person, name) if hook[0].id not in lead.allowed_by]
    if not hooks:  # so in companies that subscribe to other events only
        return None
    shown = _shown(person, lead, name, channel)
    return next((hook for hook in hooks if is_wanted(hook[1], shown)), None)


def _hooks(person: Person, name: str) -> Iterator[HookRecord]:
    """Yield the hooks of a company that take questions of this name."""
    for record in person.rules.records("subscription", person.company_id):
        body = person.rules.body(Subscription, "subscription", record.id)
        if body is not None and not body.paused and name in body.events:
            yield record, body


def ask(person: Person, lead: Lead, step_id: str, channel: str, hook: HookRecord) -> None:
    """Order the question, and let the lead await its answer; where too many commands are open, wait to ask."""
    if not backpressure.has_place(person, lead, "webhook", None):
        backpressure.wait_for_place(person, lead, "webhook")
        return
    record, body = hook
    # The version rises with every decision about the lead: no two questions share an id.
    identity = command_id(lead.uuid, record.id, lead.version + 1, QUESTION, 1)
    shown = _shown(person, lead, HOOK_OF_CHANNEL[channel], channel)
    text = body_of(shown, delivery_id=identity, company_id=lead.company_id, decided_at=person.now)
    due_at = person.now + body.timeout_seconds * SECOND + REPORTED_WITHIN
    command = PostWebhook(
        command_id=identity,
        company_id=lead.company_id,
        contact_key=person.key,
        lead_id=lead.id,
        lead_uuid=lead.uuid,
        step_id=step_id,
        enrolment=lead.enrolment,
        attempt=1,
        urgency_class=lead.urgency_class,
        priority=lead.lead_priority,
        decided_at=person.now,
        not_before=person.now,
        not_after=due_at,
        outgoing_webhook_id=0,
        webhook_version=record.version,
        payload=json.decode(text, type=dict[str, Any]),
        subscription_id=record.id,
    )
    person.draft.emit(command)
    person.draft.fact(
        "veto.asked", lead_id=lead.id, step_id=step_id, subscription_id=record.id, command_id=identity, kind=channel
    )
    lead.flight = Flight(
        command_id=identity,
        kind="webhook",
        step_id=step_id,
        emitted_at=person.now,
        due_at=due_at,
        enrolment=lead.enrolment,
        asks=record.id,
    )
    person.draft.take_place("webhook")
    lead.status, lead.status_wait = "running", ASKED
    lead.recheck_at = None
    person.save(lead)


def _shown(person: Person, lead: Lead, name: str, channel: str) -> ShownEvent:
    details = {"step_id": lead.step, "channel": channel}
    event = Event(name=name, ordinal=0, lead_id=lead.id, call_id=None, details=details)
    return show_event(event, person.key.partition("|")[2], lead, None)
