"""Who is asked whether a person is on a suppression list that another system keeps? Each subscription with a look-up of it.

It is asked before each call, text and e-mail of a step for which the list holds, and before a call that a buyer may get who
names the list. One that is paused is asked too: its gateway reports that there is no answer, and nobody is contacted.
"""

from collections.abc import Iterator

from engine.contact.commands import buyers
from engine.contact.commands.questions import Question, show
from engine.contact.facts.person import Person
from engine.contact.timing.suppression import lists_of
from engine.subscriptions.bodies import is_wanted
from engine.subscriptions.events import LOOKUP
from schemas.contact import Lead
from schemas.records import Subscription
from schemas.schedule import CallStep, EmailStep, SmsStep, Step

ContactStep = CallStep | SmsStep | EmailStep


def next_lookup(person: Person, lead: Lead, step: Step, channel: str) -> Question | None:
    """Return the first look-up that must still be answered before a step, or None.

    A list is not looked up that has the person already.
    """
    if not isinstance(step, ContactStep) or not person.rules.has_any(person.company_id, "subscription"):
        return None
    lookups = list(_lookups(person, lead))
    if not lookups:  # so in almost every company
        return None
    held = set(_lists(person, lead, step)).difference(person.head.suppressed_by)
    shown = show(person, lead, LOOKUP, channel)
    return next((one for one in lookups if one.list_id in held and is_wanted(one.body, shown)), None)


def _lookups(person: Person, lead: Lead) -> Iterator[Question]:
    """Yield the look-ups of a company that have not yet let this attempt of the lead pass."""
    for record in person.rules.records("subscription", person.company_id):
        body = person.rules.body(Subscription, "subscription", record.id)
        if body is not None and LOOKUP in body.events and record.id not in lead.allowed_by:
            yield Question(LOOKUP, record, body, body.suppression_list_id)


def _lists(person: Person, lead: Lead, step: ContactStep) -> Iterator[int]:
    """Yield the lists that hold for a step: of the company, of the lead's offer and schedule, of buyers of the call."""
    yield from lists_of(person, lead.offer_id, lead.schedule_id)
    if isinstance(step, CallStep):
        yield from buyers.lists_of(person, buyers.choice_for(person, lead, step))
