"""How is a text written for a carrier? In the GSM alphabet where it fits, else in UCS-2; a long one in parts with a header.

One octet for each character of the GSM alphabet, as carriers expect for data coding 0. No part ends within an escape
sequence or a surrogate pair. A person's telephone joins the parts by the reference in their
headers (3GPP TS 23.040, 9.2.3.24.1).
"""

from collections.abc import Mapping, Sequence
from hashlib import blake2b

from msgspec import Struct

from engine.contact.schedule.sms_parts import GSM_ALPHABET, GSM_ESCAPED, is_gsm, sms_parts

GSM, LATIN_1, UCS_2 = 0, 3, 8
"""`data_coding` (SMPP 3.4, section 5.2.19); 1 is ASCII, which Latin-1 holds."""

_ESCAPE = 0x1B
_ESCAPED_CODES = (0x14, 0x28, 0x29, 0x2F, 0x3C, 0x3D, 0x3E, 0x40, 0x65, 0x0A)
_CODES: Mapping[str, bytes] = {
    **{character: bytes([code + (code >= _ESCAPE)]) for code, character in enumerate(GSM_ALPHABET)},
    **{character: bytes([_ESCAPE, code]) for code, character in zip(_ESCAPED_CODES, GSM_ESCAPED, strict=True)},
}
_CHARACTERS: Mapping[bytes, str] = {code: character for character, code in _CODES.items()}

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


def decoded(octets: bytes, data_coding: int, *, has_header: bool) -> str | None:
    """Return the text of a message without its header; None for one that holds no text."""
    if has_header and octets:
        octets = octets[1 + octets[0] :]
    match data_coding:
        case 1 | 3:
            text = octets.decode("latin-1")
        case 0:
            text = _from_gsm(octets)
        case 8:
            text = octets.decode("utf-16-be", "replace")
        case _ if data_coding & 0xF0 in {0x10, 0xF0} and not data_coding & 0x04:  # with a message class
            text = octets.decode("utf-16-be", "replace") if data_coding & 0x0C == UCS_2 else _from_gsm(octets)
        case _:
            return None
    return text.replace("\x00", "")


def _coding(text: str) -> int:
    return GSM if is_gsm(text) else UCS_2


def _octets(text: str, data_coding: int) -> bytes:
    """Return the octets of a text: all its parts are written as the whole needs."""
    if data_coding == GSM:
        return b"".join(map(_CODES.__getitem__, text))
    return text.encode("utf-16-be", "replace")


def _from_gsm(octets: bytes) -> str:
    found: list[str] = []
    position = 0
    while position < len(octets):
        width = 2 if octets[position] == _ESCAPE else 1
        code = octets[position : position + width]
        # An escape that means nothing is shown as the character behind it would be without it (3GPP TS 23.038, 6.2.1.1).
        found.append(_CHARACTERS.get(code) or _CHARACTERS.get(code[-1:], "\N{REPLACEMENT CHARACTER}"))
        position += width
    return "".join(found)
