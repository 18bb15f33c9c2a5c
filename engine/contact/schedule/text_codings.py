"""In which alphabet is a text that a carrier delivers as octets? As its `data_coding` says (SMPP 3.4, section 5.2.19).

Carriers also deliver what is in no table: Latin-1 or UTF-8 under coding 0, and texts as octets of no alphabet (2 and 4).
A text of a person may be a STOP, so each is read as well as it can be; only octets that hold no text give None.
"""

import unicodedata
from collections.abc import Iterable, Mapping

from engine.contact.schedule.sms_parts import GSM_ALPHABET, GSM_ESCAPED

GSM, ASCII, LATIN_1, UCS_2 = 0, 1, 3, 8
OCTETS = frozenset({2, 4})
"""Octets without an alphabet."""

_NAMED: Mapping[int, str] = {
    5: "shift_jis",
    6: "iso8859_5",
    7: "iso8859_8",
    10: "iso2022_jp",
    13: "euc_jp",
    14: "euc_kr",
}
"""Other alphabets of the table: JIS, Cyrillic, Hebrew, ISO-2022-JP, extended Kanji JIS, KS C 5601."""

_CLASS_GROUPS = frozenset({0x10, 0xF0})
"""Groups with a message class (3GPP TS 23.038, section 4): bits 3 and 2 name the alphabet."""

_STORED_GSM, _STORED_UCS_2 = frozenset({0xC0, 0xD0}), 0xE0
"""Groups of a voicemail's sign, which may hold a text."""

_GROUP, _ALPHABET, _EIGHT_BITS, _WIDE = 0xF0, 0x0C, 0x04, 0x08

_ESCAPE = 0x1B
_GSM_TOP = 0x80
"""From here on an octet is no septet."""

_ESCAPED_CODES = (0x14, 0x28, 0x29, 0x2F, 0x3C, 0x3D, 0x3E, 0x40, 0x65, 0x0A)
GSM_CODES: Mapping[str, bytes] = {
    **{character: bytes([code + (code >= _ESCAPE)]) for code, character in enumerate(GSM_ALPHABET)},
    **{character: bytes([_ESCAPE, code]) for code, character in zip(_ESCAPED_CODES, GSM_ESCAPED, strict=True)},
}
_CHARACTERS: Mapping[bytes, str] = {code: character for character, code in GSM_CODES.items()}

_SPACING = frozenset("\t\n\r\f")


def decode_text(octets: bytes, data_coding: int) -> str | None:
    """Return the text of octets, None where they hold no text."""
    text = _decode(octets, data_coding)
    return None if text is None else text.replace("\x00", "")


def decode_joined(parts: Iterable[tuple[bytes, int]]) -> str:
    """Return the text of parts that follow each other: octets of one coding are joined before they are decoded."""
    runs: list[tuple[bytearray, int]] = []
    for octets, data_coding in parts:
        if runs and runs[-1][1] == data_coding:
            runs[-1][0].extend(octets)
        else:
            runs.append((bytearray(octets), data_coding))
    return "".join(decode_text(bytes(octets), data_coding) or "" for octets, data_coding in runs)


def _decode(octets: bytes, data_coding: int) -> str | None:
    group, alphabet = data_coding & _GROUP, data_coding & _ALPHABET
    if data_coding in _NAMED:
        return octets.decode(_NAMED[data_coding], "replace")
    if data_coding == UCS_2 or (group in _CLASS_GROUPS and alphabet == _WIDE) or group == _STORED_UCS_2:
        return _from_ucs_2(octets)
    if data_coding in OCTETS or (group in _CLASS_GROUPS and alphabet == _EIGHT_BITS):
        return _from_octets(octets)
    if data_coding == GSM or group in _CLASS_GROUPS or group in _STORED_GSM:
        return _from_gsm(octets)
    # ASCII, Latin-1, and codings that carriers made up
    return _from_eight_bits(octets)


def _from_octets(octets: bytes) -> str | None:
    """Return octets without an alphabet as a text, where nothing in them belongs to no text."""
    text = _from_eight_bits(octets)
    is_text = all(letter in _SPACING or unicodedata.category(letter) != "Cc" for letter in text.rstrip("\x00"))
    return text if is_text else None


def _from_eight_bits(octets: bytes) -> str:
    """Return a text in UTF-8 where it is that, else in Windows' Latin-1, whose quotes telephones write."""
    try:
        return octets.decode()
    except UnicodeDecodeError:
        return "".join(_from_windows(octet) for octet in octets)


def _from_windows(octet: int) -> str:
    """Return the character of an octet; Latin-1 has those that Windows leaves out."""
    try:
        return bytes([octet]).decode("cp1252")
    except UnicodeDecodeError:
        return chr(octet)


def _from_ucs_2(octets: bytes) -> str:
    """Return a text of 16 bits a character, the high ones first unless a mark says otherwise."""
    if octets.startswith(b"\xff\xfe"):
        return octets[2:].decode("utf-16-le", "replace")
    return octets.removeprefix(b"\xfe\xff").decode("utf-16-be", "replace")


def _from_gsm(octets: bytes) -> str:
    """Return a text of the GSM alphabet, an octet each; octets that are no septets show another alphabet."""
    if any(octet >= _GSM_TOP for octet in octets):
        return _from_eight_bits(octets)
    found: list[str] = []
    position = 0
    while position < len(octets):
        width = 2 if octets[position] == _ESCAPE else 1
        code = octets[position : position + width]
        # An escape that means nothing is shown as the character behind it would be without it (3GPP TS 23.038, 6.2.1.1).
        found.append(_CHARACTERS.get(code) or _CHARACTERS.get(code[-1:], "\N{REPLACEMENT CHARACTER}"))
        position += width
    return "".join(found)
