"""Which passwords are guessed first? Frequent ones, with what people put around them, and what is known of the user.

NIST SP 800-63B (5.1.1.2) asks to compare a new password with those: from breaches, repetitions and sequences, and words of
the context, such as the name of the service or of the user. The list is kept beside this file as digests, so that a search
through the code finds no words of it; `deploy/write_frequent_passwords.py` writes it.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from functools import cache
from hashlib import blake2b
from pathlib import Path

LIST = Path(__file__).with_name("frequent_passwords.bin")

DIGEST_BYTES = 5
"""Of one password: 1 in 10^8 other passwords has one of 10,000 digests."""

FREQUENT = "is among the most frequent passwords, or made of one; choose several words that nobody puts together"
OWN = "is made of the e-mail address or the company; choose words that have nothing to do with either"

UNIT_LENGTH_MAX = 6
"""A password that repeats so few characters is as quickly guessed as these."""

REST_LENGTH_MIN = 8
"""Letters and digits that must be left of a password without the words that are known of its user: NIST asks for as many."""

WORD_LENGTH_MIN = 4
"""A shorter part of an address or a name is in many passwords by chance."""

_ROWS = (
    *("qwertyuiopasdfghjklzxcvbnm", "qwertzuiopasdfghjklyxcvbnm", "azertyuiopqsdfghjklmwxcvbn", "qwertyuiop", "asdfghjkl"),
    *("zxcvbnm", "1234567890", "abcdefghijklmnopqrstuvwxyz", "1qaz2wsx3edc4rfv5tgb6yhn7ujm"),
)
_LOOKS = str.maketrans("@4831!05$7", "aabeiiosst")
"""Digits and signs that people write for letters."""


def fault_of(password: str, known: Iterable[str] = ()) -> str | None:
    """Return why a password is guessed soon; `known` are the address of its user and the name of the company."""
    text = fold(password)
    if any(digest_of(one) in _frequent() for one in _cores(text)) or is_regular(text):
        return FREQUENT
    rest = text
    for word in sorted(_words(known), key=len, reverse=True):
        rest = rest.replace(word, "")
    is_own = rest != text and len(re.sub(r"[\W_]+", "", rest)) < REST_LENGTH_MIN
    return OWN if is_own else None


def fold(text: str) -> str:
    """Return one spelling of a password."""
    return unicodedata.normalize("NFKC", text).casefold()


def digest_of(folded: str) -> bytes:
    """Return the digest of a folded password."""
    return blake2b(folded.encode("utf-8", "replace"), digest_size=DIGEST_BYTES).digest()


def is_regular(text: str) -> bool:
    """Return whether a password repeats a few characters, or runs along the keyboard, the digits or the alphabet."""
    if any(
        text == (text[:length] * len(text))[: len(text)] for length in range(1, min(UNIT_LENGTH_MAX, len(text) // 2) + 1)
    ):
        return True
    return any(text in line * (2 + len(text) // len(line)) for row in _ROWS for line in (row, row[::-1]))


def _cores(text: str) -> Iterator[str]:
    """Yield what a password is when digits and signs around it, and in place of letters, are taken away."""
    for one in (text, text.translate(_LOOKS)):
        stripped = re.sub(r"^[\W\d_]+|[\W\d_]+$", "", one)
        halves = (one[: len(one) // 2],) if one[: len(one) // 2] == one[len(one) // 2 :] else ()
        yield from (one, one[::-1], *halves)
        if len(stripped) >= WORD_LENGTH_MIN:
            yield stripped


def _words(known: Iterable[str]) -> set[str]:
    """Return what is known of a user, as a whole and in parts, that is long enough to count."""
    found = set()
    for one in map(fold, known):
        found |= {one, re.sub(r"[\W_]+", "", one), *re.split(r"[\W_]+", one)}
    return {word for word in found if len(word) >= WORD_LENGTH_MIN}


@cache
def _frequent() -> frozenset[bytes]:
    content = LIST.read_bytes()
    return frozenset(content[start : start + DIGEST_BYTES] for start in range(0, len(content), DIGEST_BYTES))
