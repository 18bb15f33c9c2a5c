"""Which Dutch words end consent, which limit or deny that, and which only look like it?

Patterns are matched against clauses of `text_normalisation`: lower-case words without accents, one space between words.
"""

import re

_CONTACT = (
    r"(?:bellen|telefoneren|sms\w*|appen|mailen|contact\w*|benaderen|lastig ?vallen|storen|sturen|spam\w*|schrijven"
    r"|berichten|berichtjes|telefoontjes|oproepen|mails?|reclame)"
)
_REACHED = r"(?:gebeld|benaderd|gecontacteerd|lastig ?gevallen|gestoord|gemaild|geappt|gesms\w*)"
_OURS = r"(?:mijn|dit|ons) (?:nummer|number|naam|gegevens|telefoonnummer|mobiel\w*|adres|contact\w*)"
_LIST = r"(?:(?:bel|mail|verzend|contact)?lijst\w*|bestand\w*|database|systeem|contacten)"

WORDS = frozenset(
    re.findall(
        r"\w+",
        "stoppen stopt afmelden afmelding uitschrijven uitschrijving opzeggen opzegging verwijder verwijderen ophouden "
        "beeindigen einde afgemeld genoeg",
    )
)
"""Each is an opt-out by itself: `STOP` and `AFMELDEN` are what senders offer."""

POLITE = frozenset(
    re.findall(
        r"\w+",
        "aub svp alstublieft alsjeblieft graag dank u je bedankt dankjewel dankuwel hallo hoi goedemorgen goedemiddag "
        "goedenavond nu meteen direct onmiddellijk eens even toch dit alles ok oke sorry",
    )
)
"""Words around such a word that do not change its meaning."""

OBJECTS = frozenset(
    re.findall(r"\w+", "bericht berichten sms smsjes telefoontjes oproepen mail mails nieuwsbrief abonnement")
)
"""What such a word may refer to: `berichten stoppen`."""

ENDS = re.compile(
    r"\b(?:"
    # stop met bellen; hou op met die berichten
    r"(?:stop(?:pen|t)?|hou(?:d|dt|den)?(?: (?:eens|even|nu|toch))?(?: op)|ophouden)(?: (?:jullie|nu|eens|aub|toch))*"
    rf" met (?:(?:mij|me|ons|het|al|die|deze|dit|te|zo) ){{0,3}}{_CONTACT}"
    r"|^hou(?:d|dt|den)?(?: (?:eens|even|nu|toch))? op$"
    # niet meer bellen; bel mij niet meer; geen sms meer
    rf"|(?:niet|nooit) (?:meer|weer|langer|opnieuw)(?: (?:te|mij|me|ons|willen|worden))* (?:{_CONTACT}|{_REACHED})"
    r"|(?:bel|sms|app|mail|stuur|contacteer|benader|stoor|schrijf)t?(?: (?:mij|me|ons|hier|aub|dit nummer|u|jullie))*"
    r" (?:niet meer|nooit meer|nooit weer|niet langer)\b"
    r"|geen (?:enkele? |verdere? |nieuwe )?(?:berichten|berichtjes|sms\w*|telefoontjes|oproepen|mails?|reclame|contact)"
    r"(?: (?:meer|aub|alstublieft|alsjeblieft|svp))+"
    rf"|(?:wil|wens|wensen|willen|hoef|zou graag)(?: \w+){{0,2}} (?:geen|niets? meer|niet meer|nooit meer)(?: \w+){{0,3}}"
    rf" (?:ontvangen|horen|krijgen|{_CONTACT}|{_REACHED})"
    # haal mij van de lijst; meld mij af
    r"|(?:haal|verwijder|schrap|wis|streep|gooi|neem)(?:t|en)?(?: (?:aub|alstublieft|graag|u|jullie))*"
    rf" (?:mij|me|ons|{_OURS})(?=$| (?:van|uit|aub|af|door|svp|graag|alstublieft|alsjeblieft|meteen|direct|nu)\b)"
    r"|(?:meld|schrijf)t? (?:mij|me|ons)(?: (?:aub|graag|nu|direct|meteen))? (?:af|uit)(?! voor\b)"
    rf"|(?:mij|me|ons|{_OURS})(?: (?:aub|graag|alstublieft|alsjeblieft|direct|te|willen|laten))*"
    r" (?:uit ?schrijven|afmelden|verwijderen|wissen|schrappen)"
    rf"|van (?:de|jullie|uw|deze|die)(?: \w+)? {_LIST} (?:af|halen|verwijderen|schrappen)"
    r"|(?:trek|herroep)(?: ik)?(?: hierbij)? (?:mijn|de) toestemming|toestemming (?:is )?(?:in ?getrokken|intrekken)"
    # ik wil niet gebeld worden; gebruik mijn nummer niet meer; stop ermee
    rf"|(?:wil|wens|willen)(?: \w+)? niet(?: meer| langer)? {_REACHED}|^niet(?: meer)? {_REACHED} worden$"
    rf"|(?:gebruik|bewaar)t? {_OURS} niet (?:meer|langer)|^(?:stop|kap|hou(?:d)? op) (?:er ?mee|daarmee)$|^(?:ga weg"
    rf"|opzouten"
    r"|wegwezen)$"
    # laat me met rust
    r"|laat (?:mij|me|ons)(?: \w+)? met rust|(?:rot|sodemieter|flikker|donder|tief) op"
    # verkeerd nummer
    r"|verkeerde? (?:nummer|number|persoon)$|niet (?:meer )?(?:mijn|zijn|haar) (?:nummer|number))"
)
"""Ends contact, unless the clause limits or denies it, or is a question."""

LIMITS = re.compile(
    r"\b(?:voor|na|tot|vandaag|morgen|vanavond|savonds|smorgens|overdag|maandags?|dinsdags?|woensdags?|donderdags?|vrijdags?"
    r"|zaterdags?|zondags?|weekend|week|maand|alleen|liever|behalve|als|tenzij|wanneer|op (?:het |mijn )?werk|thuis|uur)\b"
    r"|\b\d{1,4}\b"
)
"""Limits to a time, place or way: `not now` is not `never`."""

IMMEDIATELY = re.compile(r"\b(?:per direct|vanaf (?:nu|vandaag|heden)|met onmiddellijke ingang|24 7)\b")
"""Says how soon, and limits nothing."""

DENIES = re.compile(
    r"\bniet (?:stoppen|afmelden|uitschrijven|verwijderen|ophouden)\b|\b(?:per ongeluk|negeer|vergissing|vergist)\b"
)
"""Says the opposite, or takes the opt-out back."""

ASKS_FOR_IT = re.compile(
    r"\b(?:kunt|kan|kun|kunnen|zou|zouden|wilt|wil|willen) (?:u|je|jij|jullie)\b.*\b(?:stop\w*|verwijder\w*|uitschrijven"
    r"|afmelden|halen|schrappen|laten|niet)\b"
    r"|^hoe .*\b(?:afmeld|uitschrij|stop|opzeg)\w*|hoe vaak|\b(?:aub|svp|alstublieft|alsjeblieft)\b"
)
"""A question that is a request all the same."""

INVITES = re.compile(
    r"\b(?:liever|alleen|enkel|beter) (?:per|via|met)? ?(?:sms|mail|e ?mail|app|whatsapp|telefoon|bellen)"
    r"|^(?:bel|sms|app|mail|stuur)t? (?:mij|me|ons) (?!niet|nooit|geen)|\bik (?:bel|sms|app|mail) (?:u|je|jullie)\b"
)
"""Asks for contact in another way or from somebody else, so not all contact is ended."""

HARMLESS = re.compile(
    r"\b(?:stopt? niet met (?!(?:bellen|sms|appen|mailen|berichten))\w+|stop(?:contact|licht|bord|trein)\w*|bushalte"
    r"|(?:einde|eind) van (?:de|het)|(?:kan|wil|ga|moet|moeten) (?:\w+ ){0,2}(?:stoppen|opzeggen) met (?:roken|werken"
    r"|drinken)"
    r"|(?:contract|abonnement|verzekering|huur|baan) (?:\w+ ){0,2}(?:opzeggen|opgezegd)|gestopt met (?:roken|werken|regenen)"
    r"|goed genoeg|genoeg (?:om|voor|tijd|geld|ruimte|informatie))\b"
)
"""Words of an opt-out in another sense; they are removed before anything else is matched."""

OFTEN_MISTYPED: frozenset[str] = frozenset(re.findall(r"\w+", "afmelden afmelding uitschrijven uitschrijving verwijderen"))
"""Words whose typos are read in short clauses: none of them is a typo away from a word of everyday sentences."""

SPELLINGS = (
    (re.compile(r"\b(?:nie|nit|neit)\b"), "niet"),
    (re.compile(r"\ba u b\b"), "aub"),
    (re.compile(r"\b(?:asjeblieft|astublieft|alsjeblief|pls|please)\b"), "aub"),
)
"""What people type instead of a word."""

SUSPECT = re.compile(
    r"\b(?:geen (?:\w+ )?(?:interesse|belangstelling)|niet geinteresseerd|verkeerde? (?:nummer|number)|oplichting"
    r"|oplichters?"
    r"|advocaat|aangifte|klacht indienen|geen (?:berichten|telefoontjes|sms\w*)"
    r"|niet (?:\w+ ){0,3}(?:bellen|sms\w*|appen|contact\w*|storen|benaderen)|afmeld\w*|uitschrijv\w*|overleden|ken ik niet"
    r"|te veel (?:berichten|telefoontjes|sms\w*)|nee (?:bedankt|dank))\b"
)
"""What a person has to review."""
