"""What does a `deliver_sm` bring? A receipt about a text of ours, or a text of a person.

A receipt names its text by the carrier's id: in optional parameters where the carrier sends them, else in its words, in the
form that most carriers use (SMPP 3.4, appendix B). Some write the id of an answer in hexadecimal and that of a receipt in
decimal, or the other way round: the account's setting `receipt_ids` says so, and both are compared as one number.

Of a long text each part comes by itself, with a header or the parameters `sar_*`: the contact joins them
(`engine.contact.requests.text_parts`), for another part may come to another gateway.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeVar

import smpp34

from adapters.providers.ports import ReceiptReport, TextReport
from adapters.providers.smpp import pdus
from adapters.providers.smpp.errors import STATE_NUMBERS
from engine.contact.schedule.text_codings import decode_text
from engine.submission.numbers import read_number
from schemas.instant import MINUTE, Instant
from schemas.requests import TextPart
from schemas.wire import digest

T = TypeVar("T")

ReceiptIds = Literal["same", "decimal", "hexadecimal"]

RECEIPT_TYPES = frozenset({0x04, 0x20})
"""`esm_class` without mode and features: a receipt, and a note about a text that is still on its way."""

_TYPE_BITS, HAS_HEADER = 0x3C, 0x40

INTERNATIONAL = 1
"""Type of number."""

REPEATED_WITHIN = 10 * MINUTE
"""A carrier that did not get our answer sends a text of a person again, and names it by nothing."""

WORDS_MAX = 1_024
"""Octets of a receipt that are read: a usual one has some 120."""

_WORDS = {name: re.compile(rf"\b{name}:\s*([^\s]+)", re.IGNORECASE) for name in ("id", "stat", "err")}

_NETWORK_ERROR_OCTETS = 3

_CONCATENATIONS = ((0x00, 1), (0x08, 2))
"""Elements of a header that say which part a text is, with the octets of their reference (3GPP TS 23.040, 9.2.3.24)."""

_APPLICATION_ELEMENTS = frozenset({0x04, 0x05})
"""Elements that name the port of a program: what follows is for it, and nobody's words (9.2.3.24.3 and .4)."""


def name_of_answer(message_id: str, ids: ReceiptIds) -> str:
    """Return the name under which a text is known, by the id in the answer to it."""
    return _as_number(message_id, {"same": None, "decimal": 16, "hexadecimal": 10}[ids])


def name_of_receipt(message_id: str, ids: ReceiptIds) -> str:
    """Return that name by the id in a receipt."""
    return _as_number(message_id, {"same": None, "decimal": 10, "hexadecimal": 16}[ids])


def read_delivery(pdu: smpp34.DeliverSm, *, ids: ReceiptIds, now: Instant) -> ReceiptReport | TextReport | None:
    """Return what it brings; None for what is of no use."""
    if pdu.esm_class & _TYPE_BITS in RECEIPT_TYPES:
        return _receipt(pdu, ids)
    if pdu.esm_class & _TYPE_BITS:
        return None
    return _text(pdu, now)


def _receipt(pdu: smpp34.DeliverSm, ids: ReceiptIds) -> ReceiptReport | None:
    words = _octets(pdu)[:WORDS_MAX].decode("latin-1")
    named = _parameter(pdu, pdus.RECEIPTED_MESSAGE_ID, lambda value: value.rstrip(b"\x00").decode("latin-1"))
    state = _parameter(pdu, pdus.MESSAGE_STATE, lambda value: STATE_NUMBERS.get(int.from_bytes(value), ""))
    error = _parameter(pdu, pdus.NETWORK_ERROR_CODE, _network_error)
    message_id, state = named or _word(words, "id"), state or _word(words, "stat")[:7].upper()
    if not message_id or not state:
        return None
    return ReceiptReport(reference=name_of_receipt(message_id, ids), state=state, error=error or _word(words, "err"))


def _text(pdu: smpp34.DeliverSm, now: Instant) -> TextReport | None:
    header, octets = _split(_octets(pdu), has_header=bool(pdu.esm_class & HAS_HEADER))
    body = None if _APPLICATION_ELEMENTS & header.keys() else decode_text(octets, pdu.data_coding)
    if body is None:
        return None
    named = _part_in_header(header) or _part_in_parameters(pdu)
    part = None if named is None else TextPart(**named, octets=octets, data_coding=pdu.data_coding)
    about = "" if part is None else f"{part.reference}/{part.number}/{part.count}"
    content = b"\x00".join((pdu.source_addr.encode(), pdu.destination_addr.encode(), about.encode(), octets))
    return TextReport(
        event_id=f"{digest(content)}.{now // REPEATED_WITHIN}",
        from_number=_number(pdu.source_addr, pdu.source_addr_ton),
        to_number=_number(pdu.destination_addr, pdu.dest_addr_ton),
        body=body,
        part=part,
    )


def _split(octets: bytes, *, has_header: bool) -> tuple[Mapping[int, bytes], bytes]:
    """Return the elements of the header of a text, and what is behind it (3GPP TS 23.040, 9.2.3.24)."""
    if not has_header or not octets:
        return {}, octets
    end = 1 + octets[0]
    elements: dict[int, bytes] = {}
    place = 1
    while place + 2 <= min(end, len(octets)):
        value = place + 2
        elements[octets[place]] = octets[value : value + octets[place + 1]]
        place = value + octets[place + 1]
    return elements, octets[end:]


def _part_in_header(header: Mapping[int, bytes]) -> dict[str, Any] | None:
    """Return which part this is by its header, None for a whole text."""
    for element, width in _CONCATENATIONS:
        value = header.get(element, b"")
        if len(value) == width + 2:
            reference, count, number = int.from_bytes(value[:width]), value[width], value[width + 1]
            return _part(f"udh{width}-{reference}", number, count)
    return None


def _part_in_parameters(pdu: smpp34.DeliverSm) -> dict[str, Any] | None:
    """Return which part this is by the parameters `sar_*`, None for a whole text."""
    reference, count, number = (_parameter(pdu, tag, int.from_bytes) for tag in pdus.SAR)
    if reference is None or count is None or number is None:
        return None
    return _part(f"sar-{reference}", number, count)


def _part(reference: str, number: int, count: int) -> dict[str, Any] | None:
    is_part = count > 1 and 1 <= number <= count
    return {"reference": reference, "number": number, "count": count} if is_part else None


def _octets(pdu: smpp34.DeliverSm) -> bytes:
    return pdu.short_message or _parameter(pdu, pdus.MESSAGE_PAYLOAD, bytes) or b""


def _number(address: str, kind: int) -> str:
    """Return an address with its plus, which carriers leave out."""
    if address.isascii() and address.isdigit():
        found = read_number(f"+{address}", "US")
        if found is not None or kind == INTERNATIONAL:
            return f"+{address}"
    return address


def _network_error(value: bytes) -> str:
    """Return the code behind the octet that names the kind of network."""
    return str(int.from_bytes(value[1:])) if len(value) == _NETWORK_ERROR_OCTETS else ""


def _parameter(pdu: smpp34.DeliverSm, tag: int, read: Callable[[bytes], T]) -> T | None:
    return next((read(one.value) for one in pdu.tlvs if one.tag == tag), None)


def _word(words: str, name: str) -> str:
    found = _WORDS[name].search(words)
    return found[1] if found else ""


def _as_number(message_id: str, base: int | None) -> str:
    if base is None:
        return message_id
    try:
        return str(int(message_id, base))
    except ValueError:  # it is no number after all
        return message_id
