"""How is a text written for a carrier? In the GSM alphabet where it fits, else in UCS-2; a long one in parts with a header.

One octet for each character of the GSM alphabet, as carriers expect for data coding 0. No part ends within an escape
sequence or a surrogate pair. A person's telephone joins the parts by the reference in their
headers (3GPP TS 23.040, 9.2.3.24.1).
"""

from collections.abc import Sequence
from hashlib import blake2b

from msgspec import Struct

from engine.contact.schedule.sms_parts import is_gsm, sms_parts
from engine.contact.schedule.text_codings import GSM, GSM_CODES, UCS_2

PARTS_MAX = 255
"""The header counts the parts in one octet."""


class EncodedText(Struct, frozen=True):
    """A text as octets: of a whole, or of one part with its header."""

    octets: bytes
    data_coding: int
    has_header: bool = False


def encoded(text: str) -> EncodedText:
    """Return a text in one piece."""
    data_coding = _coding(text)
    return EncodedText(_octets(text, data_coding), data_coding)


def in_parts(text: str, name: str) -> Sequence[EncodedText]:
    """Return a text as what fits into messages. `name` gives their reference. Raises `ValueError` for too long a one."""
    parts, data_coding = sms_parts(text), _coding(text)
    if len(parts) == 1:
        return [encoded(text)]
    if len(parts) > PARTS_MAX:
        raise ValueError(f"the text has {len(parts)} parts; {PARTS_MAX} at most can be joined again")
    reference = blake2b(name.encode(), digest_size=1).digest()
    return [
        EncodedText(
            b"\x05\x00\x03" + reference + bytes([len(parts), number]) + _octets(part, data_coding),
            data_coding,
            has_header=True,
        )
        for number, part in enumerate(parts, start=1)
    ]


def is_long(text: str) -> bool:
    """Return whether a text takes more than one message."""
    return len(in_parts(text, "")) > 1


def _coding(text: str) -> int:
    return GSM if is_gsm(text) else UCS_2


def _octets(text: str, data_coding: int) -> bytes:
    """Return the octets of a text: all its parts are written as the whole needs."""
    if data_coding == GSM:
        return b"".join(map(GSM_CODES.__getitem__, text))
    return text.encode("utf-16-be", "replace")
