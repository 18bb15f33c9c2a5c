"""Which deliveries does a decision cause? One for each subscription of its company that asks for one of its events."""

from collections.abc import Iterable, Iterator, Mapping
from hashlib import sha256
from typing import TypeVar

import msgspec

from adapters.projector.batch import DECISIONS, UNREADABLE, ReadDecision, find_subject
from adapters.subscriptions.ports import NewDelivery
from engine.partition.ports import LogRecord
from engine.rules import Rules
from engine.subscriptions.bodies import ShownEvent, body_of, is_wanted, show_event
from engine.subscriptions.events import OF_FACT, Event, StatedFact, events_of
from schemas.contact import Call, Lead
from schemas.decisions import REMOVED
from schemas.errors import SenderError
from schemas.records import Record, Subscription

E = TypeVar("E", Lead, Call)

ID_HEX_DIGITS = 32
"""128 bits of a SHA-256: no two events share an id."""

LEADS = msgspec.json.Decoder(Lead)
CALLS = msgspec.json.Decoder(Call)
DATA = msgspec.json.Decoder(dict[str, object])


class UnreadableDecisionError(SenderError):
    """A record of a decisions topic that is no decision; the text says why."""


def deliveries_of(record: LogRecord, topic: str, rules: Rules) -> list[NewDelivery]:
    """Return what one decision causes, in the order of its facts. Raises `UnreadableDecisionError`.

    A subscription gets what is decided from its creation on. `topic` is the name without a prefix.
    """
    try:
        decision = DECISIONS.decode(record.value or b"")
        company_id, contact_key = find_subject(decision)
        if company_id is None or not rules.has_any(company_id, "subscription"):
            return []
        return list(_deliveries(decision, company_id, contact_key, _place(record, topic, decision), rules))
    except UNREADABLE as error:
        raise UnreadableDecisionError(f"{type(error).__name__}: {error}") from error


def delivery_id(subscription_id: int, place: str, event: Event) -> str:
    """Return the `webhook-id` of an event for a subscription: a hash, so that a repeat has the same."""
    text = f"{subscription_id}/{place}/{event.ordinal}/{event.name}"
    return f"msg_{sha256(text.encode()).hexdigest()[:ID_HEX_DIGITS]}"


def _place(record: LogRecord, topic: str, decision: ReadDecision) -> str:
    return f"{topic}/{record.partition}/{decision.sequence}"


def _deliveries(
    decision: ReadDecision, company_id: int, contact_key: str | None, place: str, rules: Rules
) -> Iterator[NewDelivery]:
    stated = [fact for fact in decision.facts if fact.type in OF_FACT]
    facts = [StatedFact(fact.type, fact.lead_id, fact.call_id, DATA.decode(fact.data)) for fact in stated]
    if not facts:
        return
    asking = [one for one in _subscriptions(rules, company_id) if one[0].created_at <= decision.decided_at]
    changed = _ChangedEntities(decision)
    for event in events_of(facts):
        if not any(event.name in body.events for _, body in asking):
            continue
        lead, call = changed.get("lead", LEADS, event.lead_id), changed.get("call", CALLS, event.call_id)
        shown = show_event(event, _contact(event, contact_key), lead, call)
        for subscription, body in asking:
            if is_wanted(body, shown):
                yield _delivery(subscription, shown, decision, place)


def _contact(event: Event, contact_key: str | None) -> str | None:
    """Return the number or address of the person; in a sweep over many, each fact names its own."""
    key = event.details.get("contact_key", contact_key)
    return key.partition("|")[2] if isinstance(key, str) else None


def _delivery(subscription: Record, shown: ShownEvent, decision: ReadDecision, place: str) -> NewDelivery:
    webhook_id = delivery_id(subscription.id, place, shown.event)
    return NewDelivery(
        webhook_id=webhook_id,
        company_id=subscription.company_id,
        subscription_id=subscription.id,
        event=shown.event.name,
        lead_id=shown.event.lead_id,
        call_id=shown.event.call_id,
        occurred_at=decision.decided_at,
        body=body_of(shown, delivery_id=webhook_id, company_id=subscription.company_id, decided_at=decision.decided_at),
    )


def _subscriptions(rules: Rules, company_id: int) -> Iterable[tuple[Record, Subscription]]:
    for record in rules.records("subscription", company_id):
        body = rules.body(Subscription, "subscription", record.id)
        if body is not None:
            yield record, body


class _ChangedEntities:
    """The leads and calls that a decision changed, decoded when they are asked for."""

    def __init__(self, decision: ReadDecision) -> None:
        self._values: Mapping[str, msgspec.Raw] = {change.key: change.value for change in decision.changes}

    def get(self, kind: str, decoder: msgspec.json.Decoder[E], entity_id: int | None) -> E | None:
        """Return an entity as the decision left it; None where it did not change it, or removed it."""
        value = self._values.get(f"{kind}/{entity_id}", REMOVED)
        return None if value == REMOVED else decoder.decode(value)
