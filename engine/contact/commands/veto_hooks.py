"""Who is asked before a call or text of a step goes out? Each subscription with a hook for it, one after the other.

A slot is requested once every hook has allowed the action, and everything is checked again then.
"""

from collections.abc import Iterator

from engine.contact.commands.questions import Question, show
from engine.contact.facts.person import Person
from engine.subscriptions.bodies import is_wanted
from engine.subscriptions.events import HOOK_OF_CHANNEL
from schemas.contact import Lead
from schemas.records import Subscription


def next_hook(person: Person, lead: Lead, channel: str) -> Question | None:
    """Return the question to the first hook that must still allow a call or text of the lead, or None."""
    name = HOOK_OF_CHANNEL.get(channel)
    if name is None or not person.rules.has_any(person.company_id, "subscription"):
        return None
    hooks = [hook for hook in _hooks(person, name) if hook.record.id not in lead.allowed_by]
    if not hooks:  # so in companies that subscribe to other events only
        return None
    shown = show(person, lead, name, channel)
    return next((hook for hook in hooks if is_wanted(hook.body, shown)), None)


def _hooks(person: Person, name: str) -> Iterator[Question]:
    """Yield the hooks of a company that take questions of this name."""
    for record in person.rules.records("subscription", person.company_id):
        body = person.rules.body(Subscription, "subscription", record.id)
        if body is not None and not body.paused and name in body.events:
            yield Question(name, record, body)
