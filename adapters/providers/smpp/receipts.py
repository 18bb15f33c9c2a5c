"""What does a `deliver_sm` bring? A receipt about a text of ours, or a text of a person.

A receipt names its text by the carrier's id: in optional parameters where the carrier sends them, else in its words, in the
form that most carriers use (SMPP 3.4, appendix B). Some write the id of an answer in hexadecimal and that of a receipt in
decimal, or the other way round: the account's setting `receipt_ids` says so, and both are compared as one number.
"""

import re
from collections.abc import Callable
from typing import Literal, TypeVar

import smpp34

from adapters.providers.ports import ReceiptReport, TextReport
from adapters.providers.smpp import pdus
from adapters.providers.smpp.errors import STATE_NUMBERS
from adapters.providers.smpp.texts import decoded
from engine.submission.numbers import read_number
from schemas.instant import MINUTE, Instant
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
    octets = _octets(pdu)
    body = decoded(octets, pdu.data_coding, has_header=bool(pdu.esm_class & HAS_HEADER))
    if body is None:
        return None
    content = b"\x00".join((pdu.source_addr.encode(), pdu.destination_addr.encode(), octets))
    return TextReport(
        event_id=f"{digest(content)}.{now // REPEATED_WITHIN}",
        from_number=_number(pdu.source_addr, pdu.source_addr_ton),
        to_number=_number(pdu.destination_addr, pdu.dest_addr_ton),
        body=body,
    )


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
