"""Which part of a full name is the first one? Its first word; the last word, with particles before it, is the last name.

`Last, First` is read the other way round. A title in front and a suffix behind belong to neither. One word alone is the
first name.
"""

import re

_TITLES = frozenset({"mr", "mrs", "ms", "miss", "mx", "dr", "prof", "sr", "sra", "herr", "frau"})
_SUFFIXES = frozenset({"jr", "sr", "ii", "iii", "iv", "phd", "md", "esq"})
_PARTICLES = frozenset({"de", "del", "della", "di", "da", "dos", "van", "von", "der", "den", "la", "le", "st", "bin", "al"})
"""Words that a last name begins with."""


def split_name(full: str) -> tuple[str, str]:
    """Return first and last name; either is empty where there is none."""
    last, comma, first = full.partition(",")
    if comma and _bare(first.strip()) not in _SUFFIXES:
        return " ".join(_without_titles(first.split())), " ".join(last.split())
    words = _without_titles((last if comma else full).split())
    if len(words) > 1 and _bare(words[-1]) in _SUFFIXES:
        words = words[:-1]
    if len(words) <= 1:
        return " ".join(words), ""
    begins = next((place for place, word in enumerate(words[1:-1], start=1) if word.lower() in _PARTICLES), len(words) - 1)
    return words[0], " ".join(words[begins:])


def _without_titles(words: list[str]) -> list[str]:
    return words[1:] if len(words) > 1 and _bare(words[0]) in _TITLES else words


def _bare(word: str) -> str:
    return re.sub(r"[^a-z]", "", word.lower())
