"""Which words of a text are not the person's own? Reactions to a text of ours, quotations of one, answers of a machine.

A telephone that reacts to a text sends it back (`Liked "... Reply STOP to end"`), and a mail program quotes it (`> ...`).
What only looks like that stays the person's: a quotation that repeats no text of ours, and words behind one.
"""

import hashlib
import re
import unicodedata
from collections.abc import Sequence
from typing import Literal

from schemas.contact import SentText

Reaction = Literal["reply", "unclear"]

LETTERS_KEPT_MAX = 160
"""Letters and digits of a text that are kept to know its beginning again: a text of one part has no more."""

SENT_TEXTS_MAX = 2
"""Texts of ours that are kept: people react to the newest."""

DIGEST_LENGTH = 12
"""Hexadecimal digits: two texts of one person do not share them by chance."""

LETTERS_CUT_MIN = 12
"""A shorter beginning of a text of ours may as well be the person's own words."""

_OPEN, _CLOSE = '\u201c\u201e\u201f\u00ab"', '\u201d\u201c\u201f\u00bb"'
_QUOTE = rf"[{_OPEN}]\s*[^{_OPEN}{_CLOSE}]*\s*[{_CLOSE}]"
_ATTACHMENT = (
    r"(?:an?|un|una|une) (?:\w+ )?(?:image|photo|movie|video|attachment|gif|audio message|imagen|foto|piece jointe)"
)
_WHAT = rf"(?:{_QUOTE}|{_ATTACHMENT})"
_SIGN = r"(?:[^\w\s.,;:\"'<>]|[0-9](?=\ufe0f?\u20e3)){1,12}"

_POSITIVE = re.compile(
    r"(?:liked|loved|laughed at|emphasi[sz]ed|questioned"
    r"|le (?:gusto|encanto|dio risa)|se rio de|(?:enfatizo|destaco|cuestiono|pregunto)(?: sobre)?"
    r"|a (?:aime|adore|ri (?:de|a)|mis en (?:evidence|avant)|souligne|insiste sur|demande|questionne|interroge))"
    rf"(?: (?:a|de|sobre|sur))? ?{_WHAT}"
)
_NEGATIVE = re.compile(rf"(?:disliked|no le gusto|n[\u2019']?a pas aime) {_WHAT}")
_REMOVED = re.compile(
    rf"(?:removed (?:an? (?:heart|like|dislike|laugh|exclamation|question mark|reaction|sticker)|{_SIGN}) from"
    rf"|(?:elimino|quito) (?:(?:un|una|el|la) [\w ]{{1,30}}|{_SIGN}) de"
    rf"|a (?:supprime|retire|enleve) (?:un|une|le|la) [\w\u2019' ]{{1,30}} (?:de|du|a)) {_WHAT}"
)
_BY_SIGN = re.compile(
    r"(?:(?:reacted (?:with )?|reacciono (?:con )?|a reagi (?:avec |par )?)?)"
    rf"(?P<sign>{_SIGN}|a sticker|un sticker|un autocollant) (?:to|a) {_WHAT}"
)
"""The exact forms of Apple's Messages and Google Messages, in English, Spanish and French, without accents."""

_AGAINST = frozenset(
    "\U0001f44e\U0001f595\U0001f6d1\U0001f6ab\u26d4\u274c\U0001f621\U0001f620\U0001f92c\U0001f92e\U0001f4a9\u270b"
)
"""Signs against a text: somebody reads what was meant."""

_SPAN = re.compile(_QUOTE)
_OPEN_SPAN = re.compile(rf"[{_OPEN}][^{_CLOSE}]*\Z")
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
)
"""How a machine says what ends its own texts: `STOP to end`."""


def letters_of(text: str) -> str:
    """Return the letters and digits of a text, in one case and without accents: how two texts are compared."""
    return "".join(letter for letter in _plain(text) if letter.isalnum())


def reaction_of(text: str) -> Reaction | None:
    """Return what a reaction means where the whole text has the exact form of one: a negative one is read by somebody."""
    whole = " ".join(_plain(text).split())
    if _POSITIVE.fullmatch(whole) or _REMOVED.fullmatch(whole):
        return "reply"
    if _NEGATIVE.fullmatch(whole):
        return "unclear"
    found = _BY_SIGN.fullmatch(whole)
    if found is None:
        return None
    return "reply" if _AGAINST.isdisjoint(found["sign"]) else "unclear"


def _plain(text: str) -> str:
    """Return a text in lower case without accents and invisible marks."""
    letters = unicodedata.normalize("NFD", unicodedata.normalize("NFKC", text).casefold())
    return "".join(letter for letter in letters if unicodedata.category(letter) not in {"Mn", "Cf"})


def own_words(text: str, sent: Sequence[SentText], *, is_cut: bool = False) -> str:
    """Return a text without what it quotes of ours, and without how a machine says that its own texts are ended.

    Where the end of the text `is_cut`, a quotation may be open there.
    """
    text = _QUOTED_LINES.sub(lambda found: _unless_ours(found[0], sent), text)
    text = _SPAN.sub(lambda found: _unless_ours(found[0], sent), text)
    if is_cut:
        text = _OPEN_SPAN.sub(lambda found: _unless_ours(found[0], sent), text)
    text = _WROTE.sub(" ", text)
    return _INSTRUCTION.sub(" . ", text.casefold()) if _MACHINE.search(text.casefold()) else text


def _unless_ours(quotation: str, sent: Sequence[SentText]) -> str:
    return "\n" if _is_ours(letters_of(quotation), sent) else quotation


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
