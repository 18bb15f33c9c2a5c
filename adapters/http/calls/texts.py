"""How does an inbound text arrive over HTTP? A gateway reports it, as it does inbound calls."""

from functools import partial
from typing import cast

from adapters.http.calls.call_reports import REFERENCE_LENGTH_MAX, read_occurred
from adapters.http.exchange.answers import reply_with_record
from adapters.http.exchange.exchange import Exchange, Operation, Reply
from adapters.http.exchange.parameters import Parameters
from adapters.http.exchange.people import read_number_field
from adapters.http.exchange.problems import not_found
from adapters.http.exchange.writes import submit_change
from adapters.http.schema.inputs import MOMENT, PHONE, TEXT, text
from adapters.http.schema.shapes import nullable, one_of
from adapters.reads.ports import Result
from engine.contact.consent.opt_out import may_opt_out
from engine.contact.schedule.text_codings import UCS_2
from engine.submission.fields import parse_text
from engine.submission.unread_numbers import key_of_number, known_countries
from schemas.requests import CarrierMeaning, SmsReceived, TextPart

BODY_LENGTH_MAX = 10_000
"""Longest text in characters: more than carriers join from its parts."""

PART_REFERENCE_LENGTH_MAX, PARTS_COUNT_MAX = 64, 255
"""Carriers name the parts of a text by a number of one or two octets, and count them in one."""

MEANINGS = ("opt_out", "opt_in", "help", "unclear", "reply")

PARAMETERS = {
    "from": "number of the person who texts; one that cannot be read is taken as it is, for it may opt out",
    "to": "number of the company that was texted",
    "body": "what the person wrote; an empty text is one, too",
    "text_ref": "the gateway's own id of the text: a repeat within 24 h changes nothing",
    "received_at": "when it arrived; default: now",
    "provider": "name of the gateway's provider",
    "part_reference": "of a part of a longer text: what its parts have in common",
    "part_number": "number of the part, from 1",
    "part_count": "how many parts the text has",
    "carrier_meaning": "what the carrier took the text for, and has answered itself: it goes before the words",
}

CARRIER_MEANINGS = ("opt_out", "opt_in", "help")


async def receive(exchange: Exchange) -> Reply:
    """Accept a report of an inbound text."""
    parameters = Parameters(exchange.fields)
    parameters.require("from", "to", "text_ref")
    sender = parameters.text("from")
    texted = read_number_field(exchange, parameters, "to")
    reference = parameters.read("text_ref", partial(parse_text, most=REFERENCE_LENGTH_MAX))
    body = _body(parameters)
    received_at = read_occurred(exchange, parameters, "received_at")
    provider = parameters.text("provider")
    carrier_meaning = parameters.choice("carrier_meaning", CARRIER_MEANINGS)
    countries = known_countries(exchange.services.source.rules, exchange.company_id)
    key, unread = key_of_number(exchange.company_id, sender or "", countries)
    if sender is not None and unread is not None and not may_opt_out(body, carrier_meaning):
        parameters.refuse("from", "must be a valid telephone number such as +13055550123", code="invalid_number")
    part = _part(parameters, body)
    parameters.finish()
    message = SmsReceived(
        company_id=exchange.company_id,
        contact_key=key,
        body=body,
        received_at=received_at,
        to_number=None if texted is None else texted.e164,
        provider=provider,
        provider_ref=reference,
        carrier_meaning=cast("CarrierMeaning | None", carrier_meaning),
        unread=unread,
        part=part,
    )
    return await submit_change(exchange, message, render)


def _part(parameters: Parameters, body: str) -> TextPart | None:
    """Return which part of a longer text this is, None for a whole one; all three fields are given, or none."""
    reference = parameters.read("part_reference", partial(parse_text, most=PART_REFERENCE_LENGTH_MAX))
    number = parameters.whole("part_number", least=1, most=PARTS_COUNT_MAX)
    count = parameters.whole("part_count", least=1, most=PARTS_COUNT_MAX)
    given = {"part_reference": reference, "part_number": number, "part_count": count}
    if all(value is None for value in given.values()):
        return None
    for name, value in given.items():
        if value is None:
            parameters.refuse(name, "must be given with the other fields of a part")
    if reference is None or number is None or count is None:
        return None
    if number > count:
        parameters.refuse("part_number", "must be at most part_count")
    octets = body.encode("utf-16-be")
    return TextPart(reference=f"http-{reference}", number=number, count=count, octets=octets, data_coding=UCS_2)


def _body(parameters: Parameters) -> str:
    body = parameters.fields.get("body")
    if body is None:
        parameters.refuse("body", "must be given")
    elif not isinstance(body, str):
        parameters.refuse("body", "must be text")
    elif len(body) > BODY_LENGTH_MAX:
        parameters.refuse("body", f"must have at most {BODY_LENGTH_MAX} characters")
    return body if isinstance(body, str) else ""


async def render(exchange: Exchange, result: Result) -> Reply:
    """Answer how a text was understood."""
    answer = result.answer
    if answer is None:
        raise not_found("text")
    text = {"lead_id": answer.record_id, **{name: answer.extra[name] for name in ("contact_id", "meaning", "repeated")}}
    return reply_with_record(exchange, "text", text)


_SHOWN = {
    "type": "object",
    "required": ["lead_id", "contact_id", "meaning", "repeated"],
    "properties": {
        "lead_id": nullable("integer", description="the newest live lead of the person, else the newest"),
        "contact_id": {"type": "integer"},
        "meaning": {
            "description": "how it was understood; null for a repeat, and for a part while others are missing",
            "enum": [*MEANINGS, None],
        },
        "repeated": {"type": "boolean", "description": "it was reported before; nothing was done again"},
    },
}

OPERATIONS: tuple[Operation, ...] = (
    Operation(
        name="receive_text",
        methods=("POST",),
        path="/api/v1/texts/received",
        summary="Report an inbound text to one of the company's numbers",
        handler=receive,
        scope="sms:receive",
        rate="write",
        safe=False,
        parameters=PARAMETERS,
        types={
            "from": TEXT,
            "to": PHONE,
            "body": {"type": "string", "maxLength": BODY_LENGTH_MAX},
            "received_at": MOMENT,
            "text_ref": text(REFERENCE_LENGTH_MAX, least=1),
            "provider": TEXT,
            "part_reference": text(PART_REFERENCE_LENGTH_MAX, least=1),
            "part_number": {"type": "integer", "minimum": 1, "maximum": PARTS_COUNT_MAX},
            "part_count": {"type": "integer", "minimum": 1, "maximum": PARTS_COUNT_MAX},
            "carrier_meaning": {"type": "string", "enum": list(CARRIER_MEANINGS)},
        },
        required=("from", "to", "body", "text_ref"),
        answer=one_of("text", _SHOWN),
        problems=("invalid_number", "bad_date"),
    ),
)
