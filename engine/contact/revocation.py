"""Does a text end the consent to be contacted? In any reasonable words (47 CFR 64.1200(a)(10)); the unclear is for people.

A carrier's own filter knows single words only; what people write is `STOP PLEASE`, `no mas`, `take me off your list`. A
sentence that only holds such a word (`Stop by tomorrow?`) is neither taken for an opt-out nor passed over.
"""

import re
from typing import Literal

Meaning = Literal["opt_out", "opt_in", "unclear", "reply"]

TEXT_READ_MAX = 1_600
"""Characters that are read: ten segments, the most that carriers join."""

# Per se revocation (research/domain.md 2.20), and what carriers add to it, in the languages that they do.
_WORDS = frozenset(
    {"stop", "stopall", "quit", "end", "revoke", "optout", "opt out", "cancel", "unsubscribe", "alto", "arret", "no mas"}
)
_POLITE = frozenset(
    re.findall(
        r"\w+",
        "please pls plz now all this it thanks thank you thx ok okay hey hi hello me us your the these those any more"
        " por favor immediately sir madam already just at once",
    )
)
"""What people put around the word without changing it."""

_OBJECTS = frozenset(re.findall(r"\w+", "text texts texting message messages messaging msg call calls calling contact sms"))

_PHRASES = re.compile(
    r"\b(?:"
    r"(?:do not|dont|don t|never|stop|quit|no more) (?:\w+ )?(?:call|calls|calling|text\w*|messag\w*|contact\w*|sms)"
    r"|(?:take|get|remove|delete|drop) (?:me|my number|this number|my name) (?:off|from|out)"
    r"|remove me|unsubscribe me|opt me out|opt(?:ing)? out|no mas|leave me alone|lose (?:my|this) number"
    r"|do not (?:disturb|bother) me|revoke (?:my )?consent|withdraw (?:my )?consent"
    r")\b"
)
_SUSPECT = re.compile(r"\b(?:stop\w*|quit|revoke\w*|unsubscrib\w*|cancel\w*|optout|opt out|no mas|remove|harass\w*)\b")
_LIMITED = re.compile(r"\b(?:before|after|until|till|today|tomorrow|tonight|unless|if|when|while)\b|\d")
"""Not now is not never: somebody has to read it."""

_OPT_IN = frozenset({"start", "unstop", "optin", "opt in", "subscribe", "resubscribe"})

_ACCENTS = str.maketrans("áàâéèêíìîóòôúùûñç", "aaaeeeiiiooouuunc")


def meaning_of(text: str) -> Meaning:
    """Return what a text means for consent: `opt_out`, `opt_in` (a word that carriers take for one), `unclear`, `reply`."""
    read = text[:TEXT_READ_MAX].casefold().translate(_ACCENTS)
    # An apostrophe joins (don't -> dont), everything else that is no letter or digit parts.
    words = re.findall(r"[a-z0-9]+", re.sub(r"['\u2019]", "", read))
    plain = " ".join(words).replace("opt out", "optout").replace("opt in", "optin").replace("no mas", "nomas")
    core = [word for word in plain.split() if word not in _POLITE]
    said = " ".join(core).replace("nomas", "no mas")
    if said in _OPT_IN:
        return "opt_in"
    if _is_only(core):
        return "opt_out"
    spaced = plain.replace("optout", "opt out").replace("nomas", "no mas")
    if _PHRASES.search(spaced):
        return "unclear" if "?" in read or _LIMITED.search(spaced) or _is_denied(spaced) else "opt_out"
    return "unclear" if _SUSPECT.search(spaced) else "reply"


def _is_only(core: list[str]) -> bool:
    """Tell whether nothing is left but words that revoke, and what they are to end: `stop texting`, `stop stop`."""
    revoking = [word for word in core if word.replace("nomas", "no mas") in _WORDS]
    return bool(revoking) and all(word in _OBJECTS or word.replace("nomas", "no mas") in _WORDS for word in core)


def _is_denied(spaced: str) -> bool:
    """Tell whether the sentence says the opposite: `do not stop texting me`."""
    return re.search(r"\b(?:do not|dont|don t|never) (?:stop|quit|remove|opt|unsubscribe|cancel)", spaced) is not None
