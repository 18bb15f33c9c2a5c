"""Into which parts does a text message go? One function counts and cuts, so that what is charged is what is sent.

A character that takes two septets, and an emoji, which takes two units of UTF-16, is never split: a part before one may have
a unit to spare (3GPP TS 23.040, 9.2.3.24.1).
"""

import re
from collections.abc import Iterable

GSM_ALPHABET = (
    "@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ !\"#¤%&'()*+,-./0123456789:;<=>?¡ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÑÜ§¿"
    "abcdefghijklmnopqrstuvwxyzäöñüà"
)
GSM_ESCAPED = "^{}\\[~]|€\f"
"""Characters of 3GPP TS 23.038: a text of these takes seven bits each (the second kind counts twice), any other sixteen."""

_IS_GSM = re.compile(f"[{re.escape(GSM_ALPHABET + GSM_ESCAPED)}]*")

GSM_SEGMENT, GSM_PART = 160, 153
WIDE_SEGMENT, WIDE_PART = 70, 67
"""Units of a single message, and of each part of a longer one, which has a concatenation header."""

_WIDE_UNITS_FROM = 0x10000
"""From here on a character takes two units of UTF-16."""


def is_gsm(text: str) -> bool:
    """Return whether a text is written in the GSM alphabet; any other is written in UTF-16."""
    return _IS_GSM.fullmatch(text) is not None


def sms_parts(text: str) -> list[str]:
    """Cut a text into the parts that carriers send, and charge for. An empty text is one part."""
    if is_gsm(text):
        sizes = [2 if character in GSM_ESCAPED else 1 for character in text]
        segment, part = GSM_SEGMENT, GSM_PART
    else:
        sizes = [2 if ord(character) >= _WIDE_UNITS_FROM else 1 for character in text]
        segment, part = WIDE_SEGMENT, WIDE_PART
    return [text] if sum(sizes) <= segment else _cut(text, sizes, part)


def _cut(text: str, sizes: Iterable[int], most: int) -> list[str]:
    parts, start, length = [], 0, 0
    for place, size in enumerate(sizes):
        if length + size > most:
            parts.append(text[start:place])
            start, length = place, 0
        length += size
    return [*parts, text[start:]]


def segments(text: str) -> int:
    """Return the number of parts of a text."""
    return len(sms_parts(text))
