"""How is a text read that comes in parts? Together, once all are there, or after two minutes what is there.

A carrier may deliver the parts of one text singly, in any sequence, twice, or not all (3GPP TS 23.040, 9.2.3.24.1). They are
stored with the contact, so that it does not matter which gateway hears which part. Each part is judged for a stop at once;
nothing is sent to the person while parts are missing. A telephone uses a reference again after some texts: a part that
differs from the one in its place begins another text.
"""

from collections.abc import Iterator

from msgspec import structs

from engine.contact.consent.opt_out import meaning_of, quotes_ours
from engine.contact.facts.person import Person, bounded_batch, has_no_flight
from engine.contact.lifecycle.stop import TEXTED, opt_out
from engine.contact.lifecycle.walk import advance
from engine.contact.requests import replies
from engine.contact.requests.reactions import cancel_pending
from engine.contact.schedule.text_codings import decode_joined
from engine.contact.timing.earliest import TEXT_INCOMPLETE
from schemas.contact import IncompleteText, IncompleteTexts, StoredPart
from schemas.instant import MINUTE, Instant
from schemas.requests import SmsReceived, TextPart
from schemas.state import incomplete_key

WAIT_FOR_PARTS = 2 * MINUTE
"""How long missing parts are waited for: carriers deliver them within seconds, or with their next try after a minute."""

TEXTS_MAX = 4
"""Texts of one person of which parts are missing at once; a further one lets the oldest be read."""

PARTS_MAX = 16
"""Parts of a text that are waited for: six more than are stored of a text. Those of a longer one are read singly."""

PART_OCTETS_MAX = 320
"""Of one part: a message has 140, written as 160 septets or, by some carriers, in twice as many."""

GAP = " \u2026 "
"""Stands for missing parts: no word goes on behind it."""


def receive(person: Person, request: SmsReceived) -> None:
    """Decide a text, or a part of one; a repeated one changes nothing, and the answer says so."""
    if replies.answer_repeat(person, request):
        return
    part = request.part
    if part is None or not _is_joinable(part):
        replies.receive(person, request)
    else:
        _take(person, request, part)


def _is_joinable(part: TextPart) -> bool:
    return 1 < part.count <= PARTS_MAX and 1 <= part.number <= part.count and len(part.octets) <= PART_OCTETS_MAX


def _take(person: Person, request: SmsReceived, part: TextPart) -> None:
    """Store a part, judge it for a stop, and read its text if it is the last one that was missing."""
    reference = f"{request.to_number or ''}|{part.reference}|{part.count}"
    stored = StoredPart(part.number, part.data_coding, part.octets)
    texts = list(_texts_of(person))
    text = next((one for one in texts if one.reference == reference), None)
    if text is not None:
        texts.remove(text)
        if any(one.number == part.number and one != stored for one in text.parts):
            _read(person, text)
            text = None
    if text is None:
        text = IncompleteText(
            reference=reference,
            count=part.count,
            due_at=person.now + WAIT_FOR_PARTS,
            received_at=min(request.received_at, person.now),
            to_number=request.to_number,
            provider=request.provider,
            parts=(),
        )
    parts = {one.number: one for one in (*text.parts, stored)}
    text = structs.replace(text, parts=tuple(parts[number] for number in sorted(parts)))
    text = _judge(person, request, text, part.number)
    if len(text.parts) == text.count:
        _store(person, texts)
        _read(person, text)
    else:
        _wait(person, [*texts, text])


def _wait(person: Person, texts: list[IncompleteText]) -> None:
    """Hold all contact until the missing parts are there, and read the oldest text where there are too many."""
    first, rest = (texts[0], texts[1:]) if len(texts) > TEXTS_MAX else (None, texts)
    _store(person, rest)
    if first is not None:
        _read(person, first)
    cancel_pending(person, TEXT_INCOMPLETE)
    for lead in bounded_batch(person.live_leads(has_no_flight)):
        advance(person, lead)


def _judge(person: Person, request: SmsReceived, text: IncompleteText, number: int) -> IncompleteText:
    """Record a part, and stop at once where it is an opt-out, alone or with the parts before it.

    In a quotation of a text of ours that began in the parts before, no word is the person's.
    """
    beginning = _joined(list(_beginning_of(text)))
    is_quoted = any(one.number == number for one in _beginning_of(text)) and quotes_ours(beginning, person.head.sent_texts)
    alone = [one for one in text.parts if one.number == number]
    judged = [beginning] if is_quoted else [beginning, _joined(alone)]
    sent = person.head.sent_texts
    stops = text.stopped is None and any(meaning_of(words, sent, is_cut=True) == "opt_out" for words in judged)
    lead = person.newest_lead()
    person.draft.fact(
        "sms.part_received",
        lead_id=None if lead is None else lead.id,
        body=_joined(alone).replace("\0", "")[: replies.BODY_LENGTH_MAX],
        meaning="opt_out" if stops else None,
        number=number,
        count=text.count,
        to_number=request.to_number,
        received_at=min(request.received_at, person.now),
    )
    person.draft.answer = replies.answer_to_sender(person, request, lead, "opt_out" if stops else None, repeated=False)
    if not stops:
        return text
    offer_id = replies.offer_of(person, request, lead)
    is_new = opt_out(person, TEXTED, offer_id=offer_id, channel="sms")
    return structs.replace(text, stopped="new" if is_new else "before")


def _beginning_of(text: IncompleteText) -> Iterator[StoredPart]:
    """Iterate over the parts from the first one on up to the first that is missing."""
    for number, part in enumerate(text.parts, start=1):
        if part.number != number:
            return
        yield part


def _joined(parts: list[StoredPart]) -> str:
    """Return the text of some parts, with a mark where others are missing between them."""
    runs: list[list[StoredPart]] = []
    for part in parts:
        if runs and runs[-1][-1].number == part.number - 1:
            runs[-1].append(part)
        else:
            runs.append([part])
    return GAP.join(decode_joined((part.octets, part.data_coding) for part in run) for run in runs)


def _read(person: Person, text: IncompleteText) -> None:
    """Read what is there of a text as a text."""
    request = SmsReceived(
        company_id=person.company_id,
        contact_key=person.key,
        body=_joined(list(text.parts)),
        received_at=text.received_at,
        to_number=text.to_number,
        provider=text.provider,
    )
    missing = text.count - len(text.parts)
    meaning = replies.receive(person, request, stopped=text.stopped, missing_parts=missing)
    if meaning not in {"reply", "unclear"}:  # those let the leads go on themselves
        for lead in bounded_batch(person.live_leads(has_no_flight)):
            advance(person, lead)


def read_due(person: Person, entity: IncompleteTexts) -> None:
    """Read the texts whose missing parts were waited for long enough."""
    due = [text for text in entity.texts if text.due_at <= person.now]
    _store(person, [text for text in entity.texts if text.due_at > person.now])
    for text in due:
        _read(person, text)


def _texts_of(person: Person) -> tuple[IncompleteText, ...]:
    entity = person.draft.get(incomplete_key(person.key), IncompleteTexts) if person.head.incomplete_until else None
    return () if entity is None else entity.texts


def _store(person: Person, texts: list[IncompleteText]) -> None:
    """Store the texts of which parts are missing, and until when nothing is sent."""
    until: Instant | None = max((text.due_at for text in texts), default=None)
    key = incomplete_key(person.key)
    if until is not None:
        due_at = min(text.due_at for text in texts)
        entity = IncompleteTexts(company_id=person.company_id, contact_key=person.key, texts=tuple(texts), due_at=due_at)
        person.draft.put(key, entity)
    elif person.head.incomplete_until is not None:
        person.draft.remove(key)
    person.head.incomplete_until = until
    person.save_head()
