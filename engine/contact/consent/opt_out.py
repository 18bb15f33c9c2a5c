"""Does a text end the consent to be contacted? In any reasonable words (47 CFR 64.1200(a)(10)); people review unclear ones.

A carrier's filter knows single words only; people write `STOP PLEASE`, `ya no me llamen`, `take me off your
list`. A sentence that only holds such a word (`Stop by tomorrow?`), or ends some contact and not all of it (`don't call
before 5`), is unclear: neither an opt-out nor ignored. Each clause is read by itself, in English and in Spanish, which
people mix, and in French, Portuguese, German, Italian and Dutch; one clause that is a plain opt-out decides. What a text
quotes of ours is not the person's (`quotations`).
"""

import re
from collections.abc import Iterable, Sequence
from types import ModuleType
from typing import Literal

from engine.contact.consent import (
    opt_out_dutch,
    opt_out_english,
    opt_out_french,
    opt_out_german,
    opt_out_italian,
    opt_out_portuguese,
    opt_out_spanish,
)
from engine.contact.consent.quotations import own_words
from engine.contact.consent.reactions import likely_reaction_of, reaction_of
from engine.contact.consent.text_normalisation import NOT_TYPOS, Clause, clauses_of, nearest
from schemas.contact import SentText

Meaning = Literal["opt_out", "opt_in", "help", "unclear", "reply"]

TEXT_READ_MAX = 1_600
"""Characters that are read: ten segments, the most that carriers join."""

_AROUND = re.compile(
    r"^(?:(?:please|pls|plz|hi|hello|hey|ok|okay|sorry|por favor|porfavor|hola|gracias|then|well|fine|alright|yes|yeah"
    r"|yep|liked|loved|laughed at|emphasi[sz]ed|questioned|disliked) )+"
    r"|(?: (?:please|pls|plz|thanks|thank you|thx|ok|okay|now|already|asap|immediately|por favor|porfavor|porfa"
    r"|gracias|ya))+$"
)
"""Politeness and urgency before and after the words that count, and reactions that quote nothing."""

_MISTYPED_WORDS_MAX = 4
"""Typos in other languages are read in short clauses only: in long ones a rare word may be one letter away."""

_TWICE = re.compile(r"([a-z])\1")

_TAKEN_OUT = " - "
"""Replaces a harmless phrase, so that the words around it do not join into another one."""

_LIMIT_ALONE = re.compile(r"(?:until|till|til|unless|before|not until|after|hasta|antes|despues|a menos)\b")

_BANS = re.compile(r"\b(?:do not|dont|dnt|not|no)\b")

_OPT_IN = frozenset({"start", "unstop", "optin", "opt in", "subscribe", "resubscribe"})

_OPT_IN_ABROAD = frozenset(
    {
        "empezar",
        "comenzar",
        "iniciar",
        "inicio",
        "commencer",
        "debut",
        "reprendre",
        "comecar",
        "starten",
        "anfang",
        "inizia",
        "iniziare",
    }
)
"""Words for START in other languages count as the whole text alone: each is a word of everyday sentences."""

_HELP = re.compile(
    r"(?:please |pls |por favor |svp |bitte )?(?:help|info|ayuda|aide|ajuda|hilfe|aiuto|hulp)"
    r"(?: please| pls| me| por favor| svp| bitte| aub)?"
)
"""Carriers demand an answer to HELP and INFO (CTIA Messaging Principles, 5.1.3), in Canada to AIDE."""


class _Reading:
    """Reads clauses by the words and patterns of languages that people mix in one sentence."""

    def __init__(self, *languages: ModuleType) -> None:
        self._ends = [one.ENDS for one in languages]
        self._limits = [(one.LIMITS, one.IMMEDIATELY) for one in languages]
        self._denies = [one.DENIES for one in languages]
        self._asks_for_it = [one.ASKS_FOR_IT for one in languages]
        self._invites = [one.INVITES for one in languages]
        self._harmless = [one.HARMLESS for one in languages]
        self._suspect = [one.SUSPECT for one in languages]
        self._spellings = [pair for one in languages for pair in one.SPELLINGS]
        self._words = frozenset().union(*(one.WORDS for one in languages))
        self._typed = tuple(sorted(frozenset[str]().union(*(one.OFTEN_MISTYPED for one in languages))))
        # in one order, so that every process reads a typo as the same word
        self._objects = frozenset().union(*(one.OBJECTS for one in languages))
        self.polite = frozenset().union(*(one.POLITE for one in languages))

    def meaning_of(self, clauses: Sequence[Clause]) -> Meaning:
        """Return `opt_out`, `unclear` or `reply`."""
        clauses = [self._spelt(clause) for clause in clauses]
        read = [self._read(clause) for clause in clauses]
        if "opt_out" not in read:
            return "unclear" if "unclear" in read else "reply"
        invites = any(
            _finds(self._invites, clause.words)
            for clause, meaning in zip(clauses, read, strict=True)
            if meaning != "opt_out"
        )
        limited = any(_is_limit_alone(clause) for clause in clauses)
        taken_back = any(_finds(self._denies, clause.words) for clause in clauses)
        return "unclear" if invites or limited or taken_back else "opt_out"

    def _spelt(self, clause: Clause) -> Clause:
        """Return a clause in the spellings that the patterns have."""
        words = clause.words
        for pattern, word in self._spellings:
            words = pattern.sub(word, words)
        if len(words.split()) <= _MISTYPED_WORDS_MAX:
            words = " ".join(self._as_meant(word) for word in words.split())
        return Clause(words, clause.asks)

    def _as_meant(self, word: str) -> str:
        """Return the word of an opt-out that was typed with a letter twice or with a typo, else the word."""
        if word in self._words or word in NOT_TYPOS:
            return word
        single = _TWICE.sub(r"\1", word)
        if single in self._words:
            return single
        return nearest(word, self._typed) or word

    def _read(self, clause: Clause) -> Meaning:
        """Return what one clause means by itself."""
        words = clause.words
        for harmless in self._harmless:
            words = harmless.sub(_TAKEN_OUT, words)
        whole = " ".join(words.split())
        words = _AROUND.sub("", whole)
        if not clause.asks and _STOP_AND_COURTESY.issuperset(whole.split()) and not _STOP.isdisjoint(whole.split()):
            return "opt_out"
        if self._is_only_words(words) or _finds(self._ends, words):
            is_asked = clause.asks and not _finds(self._asks_for_it, whole)
            is_unclear = is_asked or _finds(self._denies, whole) or self._is_limited(whole)
            return "unclear" if is_unclear else "opt_out"
        return "unclear" if _finds(self._suspect, words) else "reply"

    def _is_only_words(self, words: str) -> bool:
        """Return whether only revoking words and their objects are left: `stop stop`, `cancel texts please`."""
        core = [word for word in words.split() if word not in self.polite or word in self._words]
        return any(word in self._words for word in core) and all(
            word in self._words or word in self._objects for word in core
        )

    def _is_limited(self, words: str) -> bool:
        """Return whether a clause is about some time, place or way only: `don't call right now`, not `stop right now`."""
        bans = _BANS.search(words)
        return any(limits.search(words if bans else immediately.sub(" ", words)) for limits, immediately in self._limits)


_STOP = frozenset({"stop", "stopp"})
_STOP_AND_COURTESY = _STOP.union(
    *(
        one.POLITE
        for one in (
            opt_out_english, opt_out_spanish, opt_out_french, opt_out_portuguese, opt_out_german, opt_out_italian,
            opt_out_dutch,
        )
    )
)  # fmt: skip
"""STOP is a word of every language, with the courtesy of any: `stop svp merci`."""

_MIXED = _Reading(opt_out_english, opt_out_spanish)
_READINGS = (
    _MIXED,
    *(_Reading(one) for one in (opt_out_french, opt_out_portuguese, opt_out_german, opt_out_italian, opt_out_dutch)),
)
"""One language's limits are words of another (`so`, `mas`), so only those that people mix are read together."""


def may_opt_out(text: str, carrier_meaning: str | None = None) -> bool:
    """Return whether a text is an opt-out or may be one: then it is taken from a sender of any form."""
    return (carrier_meaning or meaning_of(text)) in {"opt_out", "unclear"}


def quotes_ours(text: str, sent: Sequence[SentText]) -> bool:
    """Return whether a text, whose end may be missing, is a reaction or quotes a text of ours."""
    text = text[:TEXT_READ_MAX]
    return reaction_of(text) is not None or own_words(text, sent, is_cut=True) != own_words(text, ())


def meaning_of(text: str, sent: Sequence[SentText] = (), *, is_cut: bool = False) -> Meaning:
    """Return what a text means for consent; `sent` are texts of ours that it may quote. With `is_cut` its end is missing.

    `opt_in` and `help` are words that carriers take for that, alone; every doubt about an opt-out is `opt_out` or `unclear`.
    """
    reaction = reaction_of(text[:TEXT_READ_MAX])
    if reaction is not None:
        return reaction
    clauses = clauses_of(own_words(text[:TEXT_READ_MAX], sent, is_cut=is_cut))
    whole = " ".join(clause.words for clause in clauses)
    core = " ".join(word for word in whole.split() if word not in _MIXED.polite)
    if core in _OPT_IN or whole in _OPT_IN_ABROAD:
        return "opt_in"
    if _HELP.fullmatch(whole):
        return "help"
    likely = likely_reaction_of(text[:TEXT_READ_MAX])
    if likely is not None and quotes_ours(text, sent):
        return likely
    read = {reading.meaning_of(clauses) for reading in _READINGS}
    if "opt_out" in read:
        return "opt_out" if likely is None else "unclear"
    return "unclear" if "unclear" in read else "reply"


def _is_limit_alone(clause: Clause) -> bool:
    """Return whether a clause is nothing but the limit of another one: `Stop, until Monday`."""
    return _LIMIT_ALONE.match(clause.words) is not None


def _finds(patterns: Iterable[re.Pattern[str]], words: str) -> bool:
    return any(pattern.search(words) for pattern in patterns)
