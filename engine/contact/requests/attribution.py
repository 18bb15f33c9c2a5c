"""Whose call is this? The ring pool of the number called says for which visitor it was held, and by which impression.

A call that is to be routed waits for the answer: whether a buyer takes it may rest on its tokens and its traffic source.
"""

from engine.contact.facts.call_record import mark_repeat_caller
from engine.contact.facts.person import Person
from engine.contact.requests import inbound_routing
from engine.tokens import CALL_BYTES_MAX, LEAD_BYTES_MAX, fits
from schemas.contact import Attribution, Call, Lead
from schemas.requests import AttributionAnswered, AttributionRequested
from schemas.topics import ACCOUNTS_REQUESTS

SOURCE = "traffic_source_id"


def ask(person: Person, call: Call) -> None:
    """Ask the ring pool of the number called for whom it was held; the default number of a pool is held for nobody."""
    found = person.rules.ring_pool_of(person.company_id, call.number_id)
    if found is None or call.number_id is None:
        return
    call.ring_pool_id, pool = found
    call.attribution = Attribution(is_awaited=call.number_id != pool.default_number_id)
    if not call.attribution.is_awaited:
        return
    request = AttributionRequested(
        company_id=person.company_id,
        ring_pool_id=call.ring_pool_id,
        contact_key=person.key,
        call_id=call.id,
        number_id=call.number_id,
        at=call.initiated_at or person.now,
    )
    person.draft.send(ACCOUNTS_REQUESTS.name, request.partition_key, request)


def take_answer(person: Person, answer: AttributionAnswered) -> None:
    """Attribute a call to the impression of the visitor, if there was any, and route it if it waited for that."""
    call = person.call(answer.call_id)
    if call is None or call.attribution is None or not call.attribution.is_awaited:
        return
    call.attribution = Attribution(answer.impression_uuid, answer.visitor_id)
    if answer.impression_uuid is not None:
        _attribute(person, call, answer)
    person.save_call(call)
    inbound_routing.route_attributed(person, call)


def _attribute(person: Person, call: Call, answer: AttributionAnswered) -> None:
    """Give a call and its lead what the impression says. What they say themselves stays: anybody can post impressions."""
    if call.traffic_source_id is None and answer.traffic_source_id is not None:
        call.traffic_source_id = answer.traffic_source_id
        mark_repeat_caller(person, call)
    tokens = {**answer.tokens, **call.token_values}
    if fits(tokens, CALL_BYTES_MAX):
        call.token_values = tokens
    lead = None if call.lead_id is None else person.lead(call.lead_id)
    if lead is not None:
        _attribute_lead(lead, answer)
        person.save(lead)
    person.draft.fact(
        "call.attributed",
        lead_id=call.lead_id,
        call_id=call.id,
        impression_uuid=answer.impression_uuid,
        visitor_id=answer.visitor_id,
        ring_pool_id=call.ring_pool_id,
        traffic_source_id=call.traffic_source_id,
    )


def _attribute_lead(lead: Lead, answer: AttributionAnswered) -> None:
    lead.impression_uuid = answer.impression_uuid
    if lead.columns.get(SOURCE) is None and answer.traffic_source_id is not None:
        lead.columns = {**lead.columns, SOURCE: answer.traffic_source_id}
    data = {**answer.tokens, **lead.data}
    if fits(data, LEAD_BYTES_MAX):
        lead.data = data
