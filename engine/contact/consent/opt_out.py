"""Does a text end the consent to be contacted? In any reasonable words (47 CFR 64.1200(a)(10)); people review unclear ones.

A carrier's filter knows single words only; people write `STOP PLEASE`, `ya no me llamen`, `take me off your
list`. A sentence that only holds such a word (`Stop by tomorrow?`), or ends some contact and not all of it (`don't call
before 5`), is unclear: neither an opt-out nor ignored. Each clause is read by itself, in English and in Spanish; one
clause that is a plain opt-out decides.
"""

import re
from collections.abc import Iterable
from typing import Literal

from engine.contact.consent import opt_out_english, opt_out_spanish
from engine.contact.consent.text_normalisation import Clause, clauses_of

Meaning = Literal["opt_out", "opt_in", "unclear", "reply"]

TEXT_READ_MAX = 1_600
"""Characters that are read: ten segments, the most that carriers join."""

_LANGUAGES = (opt_out_english, opt_out_spanish)
_ENDS = tuple(language.ENDS for language in _LANGUAGES)
_LIMITS = tuple((language.LIMITS, language.IMMEDIATELY) for language in _LANGUAGES)
_DENIES = tuple(language.DENIES for language in _LANGUAGES)
_ASKS_FOR_IT = tuple(language.ASKS_FOR_IT for language in _LANGUAGES)
_INVITES = tuple(language.INVITES for language in _LANGUAGES)
_HARMLESS = tuple(language.HARMLESS for language in _LANGUAGES)
_SUSPECT = tuple(language.SUSPECT for language in _LANGUAGES)

_WORDS = opt_out_english.WORDS | opt_out_spanish.WORDS
_POLITE = opt_out_english.POLITE | opt_out_spanish.POLITE
_OBJECTS = opt_out_english.OBJECTS | opt_out_spanish.OBJECTS

_AROUND = re.compile(
    r"^(?:(?:please|pls|plz|hi|hello|hey|ok|okay|sorry|por favor|porfavor|hola|gracias) )+"
    r"|(?: (?:please|pls|plz|thanks|thank you|thx|ok|okay|now|already|asap|immediately|por favor|porfavor|porfa"
    r"|gracias|ya))+$"
)
"""Politeness and urgency before and after the words that count."""

_TAKEN_OUT = " - "
"""Replaces a harmless phrase, so that the words around it do not join into another one."""

_LIMIT_ALONE = re.compile(r"(?:until|till|til|unless|before|not until|after|hasta|antes|despues|a menos)\b")

_BANS = re.compile(r"\b(?:do not|dont|dnt|not|no)\b")

_OPT_IN = frozenset({"start", "unstop", "optin", "opt in", "subscribe", "resubscribe"})


def meaning_of(text: str) -> Meaning:
    """Return what a text means for consent: `opt_out`, `opt_in` (a word that carriers take for one), `unclear`, `reply`."""
    clauses = clauses_of(text[:TEXT_READ_MAX])
    if " ".join(word for clause in clauses for word in clause.words.split() if word not in _POLITE) in _OPT_IN:
        return "opt_in"
    read = [_read(clause) for clause in clauses]
    if "opt_out" not in read:
        return "unclear" if "unclear" in read else "reply"
    invites = any(
        _finds(_INVITES, clause.words) for clause, meaning in zip(clauses, read, strict=True) if meaning != "opt_out"
    )
    limited = any(_is_limit_alone(clause) for clause in clauses)
    return "unclear" if invites or limited or _is_taken_back(clauses) else "opt_out"


def _read(clause: Clause) -> Meaning:
    """Return what one clause means by itself."""
    words = clause.words
    for harmless in _HARMLESS:
        words = harmless.sub(_TAKEN_OUT, words)
    whole = " ".join(words.split())
    words = _AROUND.sub("", whole)
    if _is_only_words(words) or _finds(_ENDS, words):
        is_asked = clause.asks and not _finds(_ASKS_FOR_IT, whole)
        return "unclear" if is_asked or _finds(_DENIES, whole) or _is_limited(whole) else "opt_out"
    return "unclear" if _finds(_SUSPECT, words) else "reply"


def _is_only_words(words: str) -> bool:
    """Return whether only revoking words and their objects are left: `stop stop`, `cancel texts please`."""
    core = [word for word in words.split() if word not in _POLITE or word in _WORDS]
    return any(word in _WORDS for word in core) and all(word in _WORDS or word in _OBJECTS for word in core)


def _is_limited(words: str) -> bool:
    """Return whether a clause is about some time, place or way only: `don't call right now`, not `stop right now`."""
    bans = _BANS.search(words)
    return any(limits.search(words if bans else immediately.sub(" ", words)) for limits, immediately in _LIMITS)


def _is_limit_alone(clause: Clause) -> bool:
    """Return whether a clause is nothing but the limit of another one: `Stop, until Monday`."""
    return _LIMIT_ALONE.match(clause.words) is not None


def _is_taken_back(clauses: list[Clause]) -> bool:
    return any(_finds(_DENIES, clause.words) for clause in clauses)


def _finds(patterns: Iterable[re.Pattern[str]], words: str) -> bool:
    return any(pattern.search(words) for pattern in patterns)
