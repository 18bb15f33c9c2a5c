"""How is a text normalised before it is matched? Accents, emoji, full width, s.t.o.p., looong letters, small typos.

Correct typing errors in the few key words of an opt-out only, at most one error per word: every other word stays
as it was written, so that `shop` is not read as `stop`.
"""

import re
import unicodedata
from collections.abc import Collection, Iterator
from functools import lru_cache

from msgspec import Struct

CLAUSE_WORDS_MAX = 40
"""A longer part is read in pieces: an opt-out takes fewer words, and patterns take longer on longer parts."""

CLAUSE_WORDS_SHARED = 10
"""Words that two such pieces share, so that no phrase is cut in two."""


class Clause(Struct, frozen=True):
    """A part of a sentence in plain lower-case words, one space between them; `asks` where its sentence is a question."""

    words: str
    asks: bool


# A stop sign between letters stands for an o.
_SIGN_IN_WORD = re.compile("(?<=[A-Za-z])\U0001f6d1(?=[A-Za-z])")

_SIGNS = {
    "\U0001f602": " lol ",
    "\U0001f923": " lol ",
    "\U0001f6d1": " stop ",
    "\U0001f595": " fuck you ",
    "\U0001f6ab": " no entry ",
    "\u26d4": " no entry ",
}

_SPELT_OUT = re.compile(r"(?<!\w)(?:[a-z][ .\-_*]{1,3}){2,14}[a-z](?!\w)")
_APOSTROPHES = re.compile(r"['\u2019\u2018`\u00b4]")
_LONG = re.compile(r"([a-z])\1{2,}")
_SENTENCES = re.compile(r"[^.!?;\n]+[.!?;\n]*")
_QUOTED_SENTENCE = re.compile(
    r"[\"\u201c\u201e\u00ab]([^\"\u201c\u201d\u00bb\n]*? [^\"\u201c\u201d\u00bb\n]*?)[\"\u201c\u201d\u00bb]"
)
"""More than one word between quotation marks is a sentence of its own: `"Reply STOP to end" ok then STOP`."""


_SPELLINGS: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"\bf[*#@_.\-]{1,3}c?k"), "fuck"),
    (re.compile(r"\bfu(?:k|ck?)\b"), "fuck"),
    (re.compile(r"\bwrong ?#"), "wrong number"),
    (re.compile(r"\bst0p"), "stop"),
    (re.compile(r"\$top\b"), "stop"),
    (re.compile(r"\bst(?:ahp|ahpp|awp|aph|op0|oph)\b|\bshtop\b"), "stop"),
    (re.compile(r"\bcancell\b"), "cancel"),
    (re.compile(r"\bform (?=(?:your|ur|the|this|all|ya) )"), "from "),
    (re.compile(r"\bst(?:p|o|oop|op+|ip|ap)\b(?= (?:t?e?xt|call|messag|msg|contact|send)|$)"), "stop"),
    (re.compile(r"\bun[ -]subscrib"), "unsubscrib"),
    (re.compile(r"\bopt(ed|ing)?[ -]?out\b"), r"opt\1out"),
    (re.compile(r"\bno[ -]?mas\b"), "no mas"),
    (re.compile(r"\bmensages?\b"), "mensajes"),
)
"""Spellings that are replaced, and by what."""

KEY_WORDS = (
    "stop", "cancel", "unsubscribe", "suscribe", "unsuscribe", "remove", "wrong", "number", "texting", "calling",
    "messages", "messaging", "contact", "contacting", "revoke", "consent", "delete", "subscription", "subscribe",
    "alone", "anymore", "harassing",
    "parar", "cancelar", "detener", "equivocado", "suscripcion", "desuscribir", "mensajes", "llamadas", "numero",
    "eliminar", "molesten", "escriban", "contacten", "dejenme", "borrenme", "quitenme",
)  # fmt: skip
"""Words whose typos are corrected, English and Spanish."""

NOT_TYPOS = frozenset(
    re.findall(
        r"\w+",
        "shop step stow atop slop swop stoop strop stomp stops setup sop top cancer cancels remote removed "
        "remover removes wring prong wrongs numbed numbers taxing testing tasting texting falling calling "
        "balling galling walling message messages contact contacts contract contrast revoked evoke consents "
        "deleted depleted alones clone atone pagar pasar parir paran para parat parada parear parras cancelas "
        "cancela cancele cancelan detenerme obtener numeros eliminan escriben escribian contactan molestan "
        "contesten contestan llamada mensaje equivocada equivocados limar unsubscribed subscribed subscriber "
        "subscribes describe subscriptions content contend convent resent number along massages "
        "stopt stopte stoppt stoppte anmelden anmeldung aanmelden aanmelding",
    )
)
"""Correct words that are one typo away from a key word."""

FORMS_LETTERS_MIN = 6
"""A longer word that begins with a key word of at least so many letters is a form of it, not a typo."""

_INFLECTED = tuple(key for key in KEY_WORDS if len(key) >= FORMS_LETTERS_MIN)

TYPO_LETTERS_MIN = 4
"""Shorter words are too close to too many others."""

TWO_TYPOS_LETTERS_MIN = 9
"""In so long a word two typos still lead to no other word."""


def clauses_of(text: str) -> list[Clause]:
    """Return the parts of a text, split at the marks that end or part sentences."""
    plain = _QUOTED_SENTENCE.sub(r"\n\1\n", _plain(text))
    found: list[Clause] = []
    for sentence in _SENTENCES.findall(plain):
        asks = "?" in sentence or "\u00bf" in sentence
        for part in re.split(r"[,:()]| - ", sentence):
            words = [corrected(word) for word in re.findall(r"[a-z0-9]+", part)]
            found += [Clause(" ".join(piece), asks) for piece in _pieces(words)]
    return found


def _pieces(words: list[str]) -> Iterator[list[str]]:
    yield from [words[:CLAUSE_WORDS_MAX]] if words else []
    for start in range(
        CLAUSE_WORDS_MAX - CLAUSE_WORDS_SHARED, len(words) - CLAUSE_WORDS_SHARED, CLAUSE_WORDS_MAX - CLAUSE_WORDS_SHARED
    ):
        yield words[start : start + CLAUSE_WORDS_MAX]


def _plain(text: str) -> str:
    """Return a text in lower case without accents, full width and emoji."""
    text = _SIGN_IN_WORD.sub("o", text)
    for sign, word in _SIGNS.items():
        text = text.replace(sign, word)
    wide = unicodedata.normalize("NFKC", text).casefold()
    bare = "".join(letter for letter in unicodedata.normalize("NFD", wide) if _is_read(letter))
    joined = _SPELT_OUT.sub(_join, _APOSTROPHES.sub("", bare))
    short = _LONG.sub(r"\1", joined)
    for pattern, word in _SPELLINGS:
        short = pattern.sub(word, short)
    return short


def _is_read(letter: str) -> bool:
    """Return whether a character is neither an accent nor invisible."""
    return letter == "\n" or unicodedata.category(letter) not in {"Mn", "Cf", "Cc"}


def _join(match: re.Match[str]) -> str:
    """Join letters that were written apart, where they make a key word: `s.t.o.p.`."""
    letters = re.sub(r"[^a-z]", "", match[0])
    return letters if letters in KEY_WORDS or letters in {"quit", "end", "alto"} else match[0]


@lru_cache(maxsize=4096)
def corrected(word: str) -> str:
    """Return the key word that is one or two typos away from a word, else the word."""
    if len(word) < TYPO_LETTERS_MIN or word in KEY_WORDS or word in NOT_TYPOS or word.startswith(_INFLECTED):
        return word
    return nearest(word, KEY_WORDS) or word


@lru_cache(maxsize=4096)
def nearest(word: str, keys: Collection[str]) -> str | None:
    """Return the first of some words that is one typo away, or two where it is long."""
    for key in keys:
        allowed = 2 if len(key) >= TWO_TYPOS_LETTERS_MIN else 1
        if abs(len(word) - len(key)) <= allowed and is_within_edits(word, key, allowed):
            return key
    return None


def is_within_edits(word: str, other: str, edits_max: int) -> bool:
    """Return whether at most so many edits (add, drop, change or swap letters) turn one word into the other."""
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, letter in enumerate(word, 1):
        last, before, row = before, row, [i]
        for j, wanted in enumerate(other, 1):
            least = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (letter != wanted))
            if i > 1 and j > 1 and letter == other[j - 2] and word[i - 2] == wanted:
                least = min(least, last[j - 2] + 1)
            row.append(least)
        if min(row) > edits_max and (not before or min(before) > edits_max):
            return False
    return row[-1] <= edits_max
