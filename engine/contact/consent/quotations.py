"""Which words of a text are not the person's own? Reactions to a text of ours, quotations of one, answers of a machine.

A telephone that reacts to a text sends it back (`Liked "... Reply STOP to end"`), and a mail program quotes it (`> ...`).
What only looks like that stays the person's: a quotation that repeats no text of ours, and words behind one.
"""

import hashlib
import re
from collections.abc import Sequence

from engine.contact.consent.reactions import CLOSE, OPEN, QUOTE, plain
from schemas.contact import SentText

LETTERS_KEPT_MAX = 160
"""Letters and digits of a text that are kept to know its beginning again: a text of one part has no more."""

SENT_TEXTS_MAX = 2
"""Texts of ours that are kept: people react to the newest."""

DIGEST_LENGTH = 12
"""Hexadecimal digits: two texts of one person do not share them by chance."""

LETTERS_CUT_MIN = 12
"""A shorter beginning of a text of ours may as well be the person's own words."""

_SPAN = re.compile(QUOTE)
_MARKS_OPEN, _MARKS_CLOSE = f"{OPEN}\u2018\u201a'", f"{CLOSE}\u2019'"
MARKS_TRIED_MAX = 8
"""Opening marks that a quotation of ours may begin at, so that a text of nothing but marks costs no time."""

_OPEN_SPAN = re.compile(rf"[{OPEN}][^{CLOSE}]*\Z")
_LINE = re.compile(r"(?m)^[^\n]+$")
_CUT = "\n\ue000\n"
"""Stands for a quotation of ours: a new line, so that the words around it do not join, and a sign of no alphabet."""

_BEHIND = re.compile(
    r"(?i)\n\ue000\n ?(?:(?:niet )?(?:leuk(?: gevonden)?|geweldig|mooi|grappig)"
    r"|ein (?:herz|lachen|ausrufezeichen|fragezeichen) hinzugef.{1,2}gt"
    r"|(?:mit .{1,30} )?markiert|reagiert|entfernt|gereageerd|verwijderd)?"
)
"""The words of a reaction behind its quotation, in German and Dutch: what follows them is the person's own sentence."""

_QUOTED_LINES = re.compile(r"(?m)^(?:[ \t]*>[^\n]*(?:\n|$))+")
_WROTE = re.compile(
    r"(?mi)^[ \t]*(?:on|el|le|am|em|il)\b[^\n]{0,120}"
    r"\b(?:wrote|escribi[o\u00f3]|a [e\u00e9]crit|schrieb|escreveu|ha scritto) ?:[ \t]*$"
)

_MACHINE = re.compile(
    r"\b(?:auto(?:matic(?:ally)?|mated)?[ -]?(?:reply|response|generated|message|text)"
    r"|out of (?:the )?office|away message|i.?m driving|driving focus"
    r"|thank(?:s| you) for (?:contacting|texting|messaging|reaching out|your (?:message|text))"
    r"|(?:msg|message)s?(?: ?& ?| and )data rates|not monitored|unmonitored"
    r"|sorry we missed (?:you|your)|your message (?:was|has been) received|msg freq|not a condition of purchase"
    r"|autoresponder|not receiving notifications|with (?:focus|do not disturb) turned on|notifications (?:are )?silenced"
    r"|recibimos su mensaje|gracias por (?:escribir\w*|contactar\w*|su mensaje)|votre message a (?:bien )?.t. re.u"
    r"|vous remercie"
    r"|respuesta autom.tica|r.ponse automatique|automatische antwort|resposta autom.tica|risposta automatica)\b"
)
_WORD = r"(?:stop|stopall|end|quit|cancel|cancelar|unsubscribe|opt[ -]?out|alto|baja|parar|sair|stopp|arr.t)"
_ASK = r"(?:reply|text|txt|send|type|respond(?: with)?|responda|env.e|r.pondez|antworten sie(?: mit)?)"
_INSTRUCTION = re.compile(
    rf"(?:\b{_ASK} )?[\"\u201c\u2018']?\b{_WORD}[\"\u201d\u2019']?(?: au [0-9]+)?"
    r" (?:to|2|para|pour|um) (?:(?:se|me|vous|darse|de) )*(?:opt[ -]?out|be removed|\w+)\b(?: (?:de|our|nos|nuestras"
    r"|my) \w+)?"
    rf"|\bto (?:stop|end|cancel|quit|opt[ -]?out|unsubscribe)\b[^.!?]{{0,60}}?,? ?\b{_ASK} [\"\u201c\u2018']?{_WORD}\b"
    rf"|\b{_ASK} {_WORD} if you\b[^.!?]*"
    r"|\bto (?:stop|end|cancel|quit|opt[ -]?out|unsubscribe)\b[^.!?]{0,60}?,? ?\b(?:click|tap|visit|go to|use|follow|open)\b"
    r"[^.!?]*"
)
"""How a machine says what ends its own texts: `STOP to end`."""


def letters_of(text: str) -> str:
    """Return the letters and digits of a text, in one case and without accents: how two texts are compared."""
    return "".join(letter for letter in plain(text) if letter.isalnum())


def own_words(text: str, sent: Sequence[SentText], *, is_cut: bool = False) -> str:
    """Return a text without what it quotes of ours, and without how a machine says that its own texts are ended.

    Where the end of the text `is_cut`, a quotation may be open there.
    """
    text = _QUOTED_LINES.sub(lambda found: _unless_ours(found[0], sent), text)
    text = _LINE.sub(lambda found: "" if _is_whole_of_ours(found[0], sent) else found[0], text)
    text = _without_widest_quotation(text, sent)
    text = _SPAN.sub(lambda found: _unless_ours(found[0], sent), text)
    if is_cut:
        text = _OPEN_SPAN.sub(lambda found: _unless_ours(found[0], sent), text)
    text = _WROTE.sub(" ", _BEHIND.sub("\n", text))
    return _INSTRUCTION.sub(" . ", text.casefold()) if _MACHINE.search(text.casefold()) else text


def _without_widest_quotation(text: str, sent: Sequence[SentText]) -> str:
    """Return a text without what it quotes of ours up to its last closing mark: a text of ours may hold marks itself."""
    last = max(map(text.rfind, _MARKS_CLOSE))
    openings = [at for at, letter in enumerate(text[: last + 1]) if letter in _MARKS_OPEN]
    for first in openings[:MARKS_TRIED_MAX]:
        if _is_ours(letters_of(text[first : last + 1]), sent):
            return f"{text[:first]}{_CUT}{text[last + 1 :]}"
    return text


def _unless_ours(quotation: str, sent: Sequence[SentText]) -> str:
    return _CUT if _is_ours(letters_of(quotation), sent) else quotation


def _is_whole_of_ours(line: str, sent: Sequence[SentText]) -> bool:
    """Return whether a line without any mark is a whole text of ours, as some mail programs quote it."""
    letters = letters_of(line)
    return len(letters) >= LETTERS_CUT_MIN and any(one.digest == _digest(letters) for one in sent)


def _is_ours(letters: str, sent: Sequence[SentText]) -> bool:
    """Return whether letters are those of a text of ours, or of a beginning that is long enough."""
    return any(one.digest == _digest(letters) for one in sent) or any(
        len(letters) >= LETTERS_CUT_MIN and one.beginning.startswith(letters) for one in sent
    )


def sent_text(text: str) -> SentText:
    """Return what is stored of a text that we sent: its beginning as `letters_of`, and a digest of the whole text."""
    letters = letters_of(text)
    return SentText(letters[:LETTERS_KEPT_MAX], _digest(letters))


def _digest(letters: str) -> str:
    return hashlib.sha256(letters.encode()).hexdigest()[:DIGEST_LENGTH]
