"""Which texts of ours may a person quote? The newest ones that were emitted to their number."""

from engine.contact.consent.quotations import SENT_TEXTS_MAX, sent_text
from engine.contact.facts.person import Person
from schemas.commands import Command, SendSms


def remember_text(person: Person, command: Command) -> None:
    """Keep what is needed to know a text of ours again; the head is saved with the attempt."""
    if isinstance(command, SendSms):
        person.head.sent_texts = (*person.head.sent_texts, sent_text(command.body))[-SENT_TEXTS_MAX:]
