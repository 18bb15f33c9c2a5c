"""How is another system asked before a contact goes out? By a command to the webhook gateway, whose outcome is the answer.

Both are recorded, so that a replay asks nobody. Meanwhile the lead awaits the answer as it awaits that of any command.
"""

from typing import Any

from msgspec import Struct, json

from engine.contact.commands import backpressure
from engine.contact.facts.person import Person
from engine.identity import command_id
from engine.subscriptions.bodies import ShownEvent, body_of, show_event
from engine.subscriptions.events import Event
from schemas.commands import PostWebhook
from schemas.contact import Flight, Lead
from schemas.instant import SECOND
from schemas.records import Record, Subscription

QUESTION = "(veto hook)"
"""In place of a step in the id of a question: no step's command has the same."""

REPORTED_WITHIN = 30 * SECOND
"""For the gateway to take the question up and report, beside the time that the other system has; then there is no answer."""

ASKED = "veto_asked"


class Question(Struct, frozen=True):
    """What is asked, and by which subscription. `list_id`: whether the person is on that suppression list."""

    name: str
    record: Record
    body: Subscription
    list_id: int | None = None


def show(person: Person, lead: Lead, name: str, channel: str, list_id: int | None = None) -> ShownEvent:
    """Return what the other system is shown."""
    about: dict[str, Any] = {} if list_id is None else {"suppression_list_id": list_id}
    details = {"step_id": lead.step, "channel": channel, **about}
    event = Event(name=name, ordinal=0, lead_id=lead.id, call_id=None, details=details)
    return show_event(event, person.key.partition("|")[2], lead, None)


def ask(person: Person, lead: Lead, step_id: str, channel: str, question: Question) -> None:
    """Order the question, and let the lead await its answer; where too many commands are open, wait to ask."""
    if not backpressure.has_place(person, lead, "webhook", None):
        backpressure.wait_for_place(person, lead, "webhook")
        return
    record, body, list_id = question.record, question.body, question.list_id
    # The version rises with every decision about the lead: no two questions share an id.
    identity = command_id(lead.uuid, record.id, lead.version + 1, QUESTION, 1)
    shown = show(person, lead, question.name, channel, list_id)
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
    about: dict[str, Any] = {} if list_id is None else {"suppression_list_id": list_id}
    about |= {"subscription_id": record.id, "command_id": identity, "kind": channel}
    person.draft.fact("veto.asked", lead_id=lead.id, step_id=step_id, **about)
    lead.flight = Flight(
        command_id=identity,
        kind="webhook",
        step_id=step_id,
        emitted_at=person.now,
        due_at=due_at,
        enrolment=lead.enrolment,
        asks=record.id,
        asks_list=list_id,
    )
    person.draft.take_place("webhook")
    lead.status, lead.status_wait = "running", ASKED
    lead.recheck_at = None
    person.save(lead)
