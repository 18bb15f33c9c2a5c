"""Which Italian words end consent, which limit or deny that, and which only look like it?

Patterns are matched against clauses of `text_normalisation`: lower-case words without accents, one space between words.
"""

import re

_CONTACT = (
    r"(?:(?:di |a )?(?:chiam\w*|telefon\w*|scriv\w*|mand\w*|invi\w*|contatt\w*|disturb\w*|messaggi\w*|importun\w*"
    r"|tempest\w*)"
    r"|(?:i |le |gli |questi |queste |vostri |vostre |di )*(?:messaggi\w*|sms|chiamat[ae]|telefonat[ae]|e ?mail"
    r"|pubblicita|spam|notifiche))"
)
_OURS = r"(?:il |i |la )?(?:mio|questo|nostro|miei|mia) (?:numero|nome|telefono|cellulare|dati|contatto|mail)"
_LIST = r"(?:list\w*|elenc\w*|database|sistema|contatti|archivio|rubrica)"

WORDS = frozenset(
    re.findall(
        r"\w+",
        "ferma fermati fermatevi fermare smettila smettetela smetti smettere cancellami cancellatemi cancellazione "
        "disiscrivi "
        "disiscrivimi disiscrivetemi disiscrizione rimuovimi rimuovetemi annulla cancella",
    )
)
"""Each is an opt-out by itself."""

POLITE = frozenset(
    re.findall(
        r"\w+", "per favore grazie ciao salve buongiorno buonasera subito ora adesso tutto prego scusi scusate cortesia"
    )
)
"""Words around such a word that do not change its meaning."""

OBJECTS = frozenset(
    re.findall(r"\w+", "messaggio messaggi chiamata chiamate telefonate i le questi queste iscrizione lista mail")
)
"""What such a word may refer to: `ferma messaggi`."""

ENDS = re.compile(
    r"\b(?:"
    r"(?:chiedo|richiedo|vorrei|esigo) (?:la |una )?cancellazione|"
    r"non ne voglio piu|"
    # smettetela di chiamarmi; basta messaggi
    r"(?:smett(?:i|ete|ila|etela|ere|a|ano)|basta|fermate|ferma|piantatela|piantala|finitela|finiscila)(?: (?:di|con"
    rf"|subito|ora))* {_CONTACT}"
    # non chiamatemi piu
    r"|non (?:mi |ci )?(?:chiam|telefon|scriv|mand|invi|contatt|disturb|importun)\w* (?:mai )?piu\b"
    r"|non (?:voglio|vogliamo|desidero|intendo|vorrei) (?:piu )?(?:ricevere|essere (?:contatt|chiam|disturb)\w*"
    r"|sentir\w*|nulla|niente|(?:che )?mi (?:chiam|scriv|contatt|disturb)\w*|messaggi|chiamate|telefonate)"
    r"|(?:niente|nessun[ao]?) (?:piu (?:messaggi\w*|chiamat[ae]|telefonat[ae]|sms)|(?:messaggi\w*|chiamat[ae]"
    r"|telefonat[ae]|sms) (?:piu|per favore|grazie))"
    # cancellatemi dalla lista
    r"|(?:cancell|rimuov|toglie|togli|elimin|disiscriv)\w*(?:mi|temi|ci)(?=$| (?:da|dal|dalla|dalle|dai|per|subito"
    r"|grazie)\b)"
    rf"|(?:cancell|rimuov|togli|elimin)\w* {_OURS}(?=$| (?:da|dal|dalla|dalle|dai|per|subito|grazie)\b)"
    r"|(?:revoco|ritiro) (?:il |la )?(?:mio |mia )?(?:consenso|autorizzazione)"
    r"|lascia(?:te)?(?:mi|ci) (?:in pace|stare)|(?:va|vai|andate) (?:a quel paese|affanculo|a fanculo)|vaffanculo"
    # numero sbagliato
    r"|(?:^|ha |hai |avete |e |il )(?:il )?numero (?:e )?(?:sbagliato|errato)$|sbagliato (?:numero|persona)$)"
)
"""Ends contact, unless the clause limits or denies it, or is a question."""

LIMITS = re.compile(
    r"\b(?:prima|dopo|oggi|domani|stasera|fino|finche|durante|mentre|lunedi|martedi|mercoledi|giovedi|venerdi|sabato"
    r"|domenica"
    r"|mattina|pomeriggio|sera|notte|settimana|mese|solo|soltanto|tranne|meglio|piuttosto|quando|al lavoro|in ufficio"
    r"|a casa|ore)\b|\b\d{1,4}\b"
)
"""Limits to a time, place or way: `not now` is not `never`."""

IMMEDIATELY = re.compile(r"\b(?:da (?:oggi|ora|subito)|immediatamente|24 7)\b")
"""Says how soon, and limits nothing."""

DENIES = re.compile(
    r"\bnon (?:mi )?(?:cancell|rimuov|togli|elimin|disiscriv|smett|ferm)\w*\b(?! piu)|\b(?:per (?:sbaglio|errore)"
    r"|ignor\w+|mi sono sbagliat[oa])\b"
)
"""Says the opposite, or takes the opt-out back."""

ASKS_FOR_IT = re.compile(
    r"\b(?:puoi|potete|potreste|potresti|puo|potrebbe)\b.*\b(?:smett|cancell|rimuov|togli|elimin|lasci)\w*"
    r"|^come .*\b(?:cancell|disiscriv|rimuov|togli)\w*|quante volte|\bper favore\b"
)
"""A question that is a request all the same."""

INVITES = re.compile(
    r"\b(?:meglio|solo|soltanto|piuttosto) (?:per |via |con )?(?:sms|mail|e ?mail|telefono|messaggi\w*|scriv\w*|chiam\w*)"
    r"|^(?:chiama(?:mi|temi)|scrivi(?:mi)|scrivetemi|manda(?:mi|temi)|richiama\w*)\b|\b(?:vi|ti) (?:richiamo|chiamo"
    r"|scrivo)\b"
)
"""Asks for contact in another way or from somebody else, so not all contact is ended."""

HARMLESS = re.compile(
    r"\b(?:ferma (?:qui|in|a|al|alla|davanti)|(?:la|una|alla|prossima) fermata|si (?:e )?ferma\w*|(?:la|e|mia|auto"
    r"|macchina) (?:e )?ferma"
    r"|basta (?:che|un|una|poco|cosi grazie)|non (?:ha|ho) smesso di (?:lavorare|fumare|piovere))\b"
)
"""Words of an opt-out in another sense; they are removed before anything else is matched."""

OFTEN_MISTYPED: frozenset[str] = frozenset(
    re.findall(r"\w+", "disiscrivi disiscrivimi disiscrivetemi disiscrizione smettetela cancellatemi rimuovetemi")
)
"""Words whose typos are read in short clauses: none of them is a typo away from a word of everyday sentences."""

SPELLINGS = (
    (re.compile(r"\bnn\b"), "non"),
    (re.compile(r"\bbast\b"), "basta"),
)
"""What people type instead of a word."""

SUSPECT = re.compile(
    r"\b(?:e spam|pubblicita|no grazie|niente (?:chiamate|messaggi|telefonate)|non ricevere)\b|"
    r"\b(?:non (?:\w+ )?interess\w*|nessun interesse|disiscri\w*|numero sbagliato|truffa|denuncia\w*|avvocato|deceduto"
    r"|morto"
    r"|non (?:mi |ci )?(?:chiam(?:are|ate|atemi|armi)|scriv(?:ere|ete|etemi|ermi)|contatt(?:are|ate|atemi)"
    r"|disturb(?:are|ate|atemi))|non conosco|troppi messaggi|troppe (?:chiamate|telefonate))\b|^(?:ferma\w*|smett(?:i|ete"
    r"|ila|etela|ere))\b"
)
"""What a person has to review."""
