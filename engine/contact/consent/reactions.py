"""In which words does a telephone send a reaction to a text, where it cannot show one? One row a form and language.

Apple's Messages writes them in the language of the telephone, Google Messages a sign and the text. A form that was read in a
public source is exact: where the whole text has it, the words in its quotation are not the person's, whatever they are. A
form that is `UNVERIFIED` is trusted only as far as the text that it quotes is known to be ours; of any other, people review
what would have been an opt-out.
"""

import re
import unicodedata
from typing import Literal, NamedTuple

Reaction = Literal["reply", "unclear"]

_QUIK = "https://github.com/quik-sms/quik: data/src/main/assets/emojis/"
_COVALENCE = "https://github.com/melvincouwez-alt/covalence: tests of covalenced.reactions"
_PEAR = "https://github.com/dragosol/omarchy-pear-messages: backend/pearmsg/tapback.py"
_GOOGLE = "https://github.com/quik-sms/quik/issues/152 (Google Messages)"
UNVERIFIED = "unverified"


class Form(NamedTuple):
    """The words of a reaction, lower-case and without accents, around `{what}` is quoted and the `{sign}` of a reaction."""

    language: str
    words: str
    meaning: Reaction
    source: str


_NAMED = r"[\u00ab\u201c\u201e\"] ?(?:[\w\u2019' !?]{{1,20}}|{sign}) ?[\u00bb\u201d\u201c\"]"
"""How a telephone names a reaction in quotation marks of its own."""

FORMS = (
    Form("en", r"(?:liked|loved|laughed at|emphasi[sz]ed|questioned) {what}", "reply", f"{_QUIK}en.json"),
    Form("en", r"disliked {what}", "unclear", f"{_QUIK}en.json"),
    Form(
        "en",
        r"removed (?:an? (?:heart|like|dislike|laugh|exclamation|question mark|reaction|sticker)"
        r"|(?:an? )?{sign}) from {what}",
        "reply",
        f"{_QUIK}en.json",
    ),
    Form("en", r"reacted (?:with )?(?:{sign}|a sticker) to {what}", "reply", f"{_QUIK}en.json"),
    Form("en", r"{sign} to {what}", "reply", _GOOGLE),
    Form("es", r"le (?:gusta|encanta) {what}", "reply", f"{_QUIK}es.json"),
    Form("es", r"le (?:gusto|encanto) {what}", "reply", _PEAR),
    Form("es", r"no le gust[ao] {what}", "unclear", _PEAR),
    Form("es", r"(?:se rio (?:de|con)|enfatizo|reacciono con {sign} a) {what}", "reply", _PEAR),
    Form("es", r"(?:elimino|quito) (?:(?:un|una|el|la) [\w ]{{1,30}}|{sign}) de {what}", "reply", _PEAR),
    # the repository of a parser of exported messages is not named by the index that it was read in
    Form("es", r"(?:le dio risa|exclamo por|dudo sobre) {what}", "reply", UNVERIFIED),
    Form(
        "es",
        r"(?:le ha (?:gustado|encantado)|se ha reido de|ha enfatizado|(?:destaco|cuestiono|pregunto)(?: sobre)?"
        r"|(?:ha )?reaccion(?:o|ado) (?:con )?{sign} a|ha reaccionado con {sign} a|{sign} a) {what}",
        "reply",
        UNVERIFIED,
    ),
    Form("fr", r"(?:a )?(?:aime|adore) {what}", "reply", f"{_QUIK}fr.json; {_COVALENCE}"),
    Form("fr", r"n[\u2019']?(?:a pas aime|aime pas) {what}", "unclear", f"{_QUIK}fr.json; {_COVALENCE}"),
    Form("fr", r"(?:a ri (?:de|a)|a mis en evidence|a souligne|a pose une question sur) {what}", "reply", _COVALENCE),
    Form("fr", r"s[\u2019']est interroge(?:\(e\)|e)? sur {what}", "reply", _COVALENCE),
    Form("fr", r"a reagi (?:(?:avec|par) )?{sign} a {what}", "reply", _COVALENCE),
    Form("fr", rf"a (?:attribue la mention|ajoute un) {_NAMED} a {{what}}", "reply", f"{_PEAR}; {_COVALENCE}"),
    Form(
        "fr",
        rf"a (?:retire|supprime|enleve) (?:(?:la mention|un) {_NAMED}|(?:la reaction )?{{sign}}"
        r"|(?:une?|le|la) [\w\u2019' ]{{1,30}}) (?:de|du|a|depuis) {what}",
        "reply",
        f"{_QUIK}fr.json; {_COVALENCE}",
    ),
    Form(
        "fr",
        r"(?:a mis (?:en avant|l[\u2019']accent sur|en exergue)|a insiste sur|a (?:demande|questionne|interroge)"
        r"|j[\u2019']aime|{sign} a) {what}",
        "reply",
        UNVERIFIED,
    ),
    Form("de", r"gefallt: {what}", "reply", f"{_QUIK}de.json"),
    Form("de", r"gefallt nicht: {what}", "unclear", f"{_QUIK}de.json"),
    Form("de", r"{what} ein (?:herz|lachen|ausrufezeichen|fragezeichen) hinzugefugt", "reply", f"{_QUIK}de.json"),
    Form("de", r"hat mit {sign} auf {what} reagiert", "reply", f"{_QUIK}de.json"),
    Form(
        "de",
        rf"(?:(?:herz|lachen|ausrufezeichen|fragezeichen|{_NAMED}) von|{{sign}} aus) {{what}} entfernt",
        "reply",
        f"{_QUIK}de.json",
    ),
    Form(
        "de",
        r"(?:gefallt|gefiel|liebt(?:e)?|mag|lach(?:t|te) uber|beton(?:t|te)|hebt hervor|hinterfragt(?:e)?"
        r"|{sign} (?:zu|auf)) {what}",
        "reply",
        UNVERIFIED,
    ),
    Form("de", rf"hat {{what}} mit {_NAMED} markiert", "reply", UNVERIFIED),
    Form("de", r"hat ein(?:e|en)? \w{{1,20}} (?:von|aus) {what} entfernt", "reply", UNVERIFIED),
    Form("de", r"(?:missfallt {what}|gefallt {what} nicht)", "unclear", UNVERIFIED),
    Form(
        "it",
        rf"(?:ha (?:amato|adorato|apprezzato|riso (?:per|di|a)|enfatizzato|evidenziato|messo in dubbio)|adora|piace"
        rf"|ride (?:per|di)|ha (?:messo|aggiunto) {_NAMED} a|ha reagito (?:con )?{{sign}} a|{{sign}} a) {{what}}",
        "reply",
        UNVERIFIED,
    ),
    Form("it", r"ha (?:rimosso|tolto) (?:un[ao]? [\w\u2019' ]{{1,30}}|{sign}) da {what}", "reply", UNVERIFIED),
    Form("it", r"non (?:piace|ha apprezzato) {what}", "unclear", UNVERIFIED),
    Form(
        "pt",
        r"(?:gostou de|adorou|amou|curtiu|riu (?:de|com)|achou graca (?:de|em)|enfatizou|destacou|questionou"
        r"|reagiu (?:com )?{sign} a|{sign} (?:a|para|em)) {what}",
        "reply",
        UNVERIFIED,
    ),
    Form("pt", r"(?:removeu|retirou) (?:um|uma|o|a) [\w ]{{1,30}} de {what}", "reply", UNVERIFIED),
    Form("pt", r"(?:removeu|retirou) {sign} de {what}", "reply", UNVERIFIED),
    Form("pt", r"(?:nao gostou de|nao curtiu) {what}", "unclear", UNVERIFIED),
    Form(
        "nl",
        r"(?:vind(?:t)?|vond) {what} (?:leuk|geweldig|mooi|grappig)|(?:lachte om|benadrukte|plaatste een vraagteken bij"
        r"|heeft gelachen om|reageerde met {sign} op|{sign} op) {what}|heeft {what} leuk gevonden"
        r"|heeft met {sign} op {what} gereageerd",
        "reply",
        UNVERIFIED,
    ),
    Form("nl", r"(?:vind(?:t)?|vond) {what} niet leuk", "unclear", UNVERIFIED),
    Form("nl", r"heeft (?:een )?[\w ]{{1,30}} (?:van|bij) {what} verwijderd", "reply", UNVERIFIED),
)

OPEN, CLOSE = '\u201c\u201e\u201f\u00ab"', '\u201d\u201c\u201f\u00bb"'
QUOTE = rf"[{OPEN}]\s*[^{OPEN}{CLOSE}]*\s*[{CLOSE}]"
_ATTACHMENT = (
    r"(?:an?|un|una|une) (?:\w+ )?(?:image|photo|movie|video|attachment|gif|audio message|imagen|foto|piece jointe)"
)
_WHAT = rf"(?:{QUOTE}|{_ATTACHMENT})"
_SIGN = r"(?:[^\w\s.,;:\"'<>\u00ab\u00bb\u201c-\u201f]|[0-9](?=\ufe0f?\u20e3)){1,12}"

_AGAINST = frozenset(
    "\U0001f44e\U0001f595\U0001f6d1\U0001f6ab\u26d4\u274c\U0001f621\U0001f620\U0001f92c\U0001f92e\U0001f4a9\u270b"
)
"""Signs against a text: somebody reads what was meant."""


def _compiled(form: Form) -> re.Pattern[str]:
    return re.compile(form.words.format(what=_WHAT, sign=_SIGN))


_EXACT = tuple((_compiled(form), form) for form in FORMS if form.source != UNVERIFIED)
_LIKELY = tuple((_compiled(form), form) for form in FORMS if form.source == UNVERIFIED)


def reaction_of(text: str) -> Reaction | None:
    """Return what a reaction means where the whole text has the exact form of one: a negative one is read by somebody."""
    return _meaning_by(_EXACT, text)


def likely_reaction_of(text: str) -> Reaction | None:
    """Return what a reaction means where the whole text has a form that no source confirms."""
    return _meaning_by(_LIKELY, text)


def _meaning_by(forms: tuple[tuple[re.Pattern[str], Form], ...], text: str) -> Reaction | None:
    whole = " ".join(plain(text).split())
    for pattern, form in forms:
        if pattern.fullmatch(whole):
            return form.meaning if _AGAINST.isdisjoint(re.sub(QUOTE, "", whole)) else "unclear"
    return None


def plain(text: str) -> str:
    """Return a text in lower case without accents and invisible marks."""
    letters = unicodedata.normalize("NFD", unicodedata.normalize("NFKC", text).casefold())
    return "".join(letter for letter in letters if unicodedata.category(letter) not in {"Mn", "Cf"})
