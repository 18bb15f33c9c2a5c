"""Which German words end consent, which limit or deny that, and which only look like it?

Patterns are matched against clauses of `text_normalisation`: lower-case words without accents, so `u` for an umlaut of it.
"""

import re

_CONTACT = (
    r"(?:(?:mich |mir |uns )?(?:anzurufen|anrufen|anruf\w*|schreiben|zu schreiben|kontaktieren|zu kontaktieren"
    r"|belastigen|zu belastigen"
    r"|storen|zu storen|texten|simsen|zu nerven|nerven|zu senden|zuzusenden|zu schicken)"
    r"|(?:die |diese |ihre |eure |weitere |den )*(?:nachrichten?|sms|anrufe?n?|mails?|e ?mails?|werbung|werbeanrufe"
    r"|benachrichtigungen|spam))"
)
_OURS = r"(?:meine|diese|unsere) (?:nummer|number|rufnummer|telefonnummer|handynummer|daten|kontaktdaten|adresse)"
_LIST = r"(?:liste\w*|verteiler|datenbank|system|kontakte\w*|kartei)"

WORDS = frozenset(
    re.findall(
        r"\w+",
        "stopp stoppen abmelden abmeldung abbestellen abbestellung austragen aufhoren beenden schluss widerruf "
        "widerrufe kundigen "
        "loschen ende",
    )
)
"""Each is an opt-out by itself: `STOPP` and `ABMELDEN` are what senders offer."""

POLITE = frozenset(
    re.findall(r"\w+", "bitte danke hallo guten tag sofort endlich jetzt damit das alles mal doch nun ok entschuldigung")
)
"""Words around such a word that do not change its meaning."""

OBJECTS = frozenset(
    re.findall(r"\w+", "nachricht nachrichten sms anruf anrufe mail mails werbung newsletter die ihre eure abo")
)
"""What such a word may refer to: `sms abbestellen`."""

ENDS = re.compile(
    r"\b(?:"
    r"hor\w* (?:\w+ )?auf (?:mir |mich |uns )?(?:\w+ )?zu \w+|"
    r"(?:losch|streich|entfern)\w* (?:sie |bitte )*die (?:nummer|number|rufnummer)|"
    r"(?:nie|nicht) (?:mehr|wieder) anschreiben|"
    r"unterlass\w* (?:sie |bitte )*(?:jede|jegliche) (?:weitere )?(?:kontaktaufnahmen?|werbung|anrufe)|"
    r"nichts mehr von (?:ihnen|euch|dir) (?:horen|wissen|lesen)|"
    # horen Sie auf anzurufen; schluss mit den anrufen; keine SMS mehr
    r"(?:hor(?:en|t|e)?(?: (?:sie|ihr|endlich|bitte|sofort|mal|doch))* auf|aufhoren|stopp?(?:en sie|t)?|schluss"
    rf"|unterlass\w*(?: (?:sie|es))*)(?: (?:mit|damit|den|es|bitte|sofort))* {_CONTACT}"
    r"|hor(?:en sie|t|) (?:endlich |bitte |sofort )*auf(?: damit)?$"
    r"|kein(?:e|en|erlei)? (?:weitere[nr]? )?(?:nachrichten?|sms|anrufe?|werbung|mails?|e ?mails?|kontakte?)(?: (?:mehr"
    r"|bitte|erwunscht))+"
    # rufen Sie mich nicht mehr an
    r"|(?:ruf|schreib|kontaktier|belastig|nerv|stor|text|schick|send)\w*(?: (?:sie|ihr|mich|mir|uns|bitte|hier"
    r"|diese nummer))* (?:nie mehr|nie wieder|nicht mehr|nicht wieder)\b"
    r"|(?:nicht|nie) (?:mehr|wieder)(?: (?:von ihnen|von euch))? (?:anrufen|schreiben|kontaktieren|melden|belastigen"
    r"|storen|angerufen|kontaktiert|belastigt)"
    r"|(?:will|mochte|wunsche|wollen) (?:\w+ ){0,3}(?:kein(?:e|en)?|nicht(?:s)? mehr"
    r"|nie mehr) (?:\w+ ){0,3}(?:nachrichten?|sms|anrufe?|werbung|mails?|horen|kontakt\w*|angerufen|erhalten)"
    # loschen Sie meine Nummer; aus dem Verteiler
    rf"|(?:losch|streich|entfern|nehm|trag)\w*(?: (?:sie|bitte|sofort))* (?:mich|{_OURS})(?=$| (?:aus|von|bitte|sofort"
    r"|raus|heraus)\b)"
    rf"|{_OURS} (?:bitte |sofort )*(?:loschen|streichen|entfernen)|(?:aus|von) (?:\w+ )?{_LIST} (?:streichen|loschen"
    r"|entfernen|nehmen|austragen)"
    r"|(?:ich )?(?:widerrufe|ziehe) (?:hiermit )?(?:meine |die )?(?:einwilligung|zustimmung)|abmeld\w* (?:mich|bitte)"
    r"|meld\w* (?:sie )?mich ab"
    r"|lass\w*(?: (?:sie|ihr))? (?:mich|uns) (?:bitte |endlich )?in (?:ruhe|frieden)|verpiss\w*|leck(?:t)? mich"
    r"|hau(?:t)? ab"
    r"|^(?:ich )?(?:widerspruch|widerspreche)(?: (?:der|hiermit|gegen)\b.*)?$"
    # falsche nummer
    r"|falsche? (?:nummer|number|rufnummer)$|falsch verbunden$|nicht mehr (?:meine|seine|ihre) (?:nummer|number))"
)
"""Ends contact, unless the clause limits or denies it, or is a question."""

LIMITS = re.compile(
    r"\b(?:vor|nach|bis|heute|morgen|abends?|morgens|nachts?|mittags?|wahrend|solange|montags?|dienstags?|mittwochs?"
    r"|donnerstags?"
    r"|freitags?|samstags?|sonntags?|woche|monat|erst|nur|lieber|ausser|wenn|sondern|auf (?:der )?arbeit|im buro"
    r"|zu hause|uhr)\b|\b\d{1,4}\b"
)
"""Limits to a time, place or way: `not now` is not `never`."""

IMMEDIATELY = re.compile(r"\b(?:ab (?:heute|sofort|jetzt)|mit sofortiger wirkung|24 7)\b")
"""Says how soon, and limits nothing."""

DENIES = re.compile(
    r"\bnicht (?:aufhoren|abmelden|abbestellen|loschen|streichen|stoppen|kundigen|beenden)\b|\b(?:aus versehen"
    r"|versehentlich|ignorier\w*|irrtum\w*)\b"
)
"""Says the opposite, or takes the opt-out back."""

ASKS_FOR_IT = re.compile(
    r"\b(?:konnen|konnten|kannst|konntet|wurden|wollen) (?:sie|du|ihr)\b.*\b(?:auf|loschen|streichen|entfernen|lassen"
    r"|abmelden)\b"
    r"|^wie .*\b(?:abmeld|abbestell|losch|austrag|kundig)\w*|wie oft|\bbitte\b"
)
"""A question that is a request all the same."""

INVITES = re.compile(
    r"\b(?:lieber|nur|besser) (?:per|mit|am)? ?(?:sms|mail|e ?mail|telefon|schreib\w*|anruf\w*)"
    r"|^(?:ruf|schreib|meld)\w*(?: sie)? (?:mich|mir|sich) (?!nicht|nie)|\bich (?:rufe|melde|schreibe)\b"
)
"""Asks for contact in another way or from somebody else, so not all contact is ended."""

HARMLESS = re.compile(
    r"\b(?:(?:kann|konnte|werde|will|muss) (?:\w+ ){0,2}(?:aufhoren|kundigen|loschen)|schluss (?:machen|gemacht"
    r"|mit meinem|um)"
    r"|(?:vertrag|job|versicherung|wohnung|arbeit|stelle) (?:\w+ ){0,2}(?:kundigen|beenden)|zum schluss|am schluss"
    r"|melde mich ab (?:montag|dienstag|mittwoch|donnerstag|freitag|samstag|sonntag|morgen|nachste[rn]?|anfang|mitte|ende"
    r"|\d+)\w*"
    r"|(?:es|er|sie|das|die) hor(?:t|en) (?:einfach )?nicht auf zu (?!(?:nerven|schreiben|stor\w*|belastig\w*)\b)\w+"
    r"|am ende|ende (?:des|der|januar|februar|marz|april|mai|juni|juli|august|september|oktober|november|dezember|nachster)"
    r"|nicht (?:aufgehort|aufhoren) (?:zu )?(?:arbeiten|rauchen))\b"
)
"""Words of an opt-out in another sense; they are removed before anything else is matched."""

OFTEN_MISTYPED: frozenset[str] = frozenset(
    re.findall(r"\w+", "abmelden abmeldung abbestellen abbestellung austragen aufhoren widerrufe")
)
"""Words whose typos are read in short clauses: none of them is a typo away from a word of everyday sentences."""

SPELLINGS = (
    (re.compile(r"\b(?:mer|meher)\b"), "mehr"),
    (re.compile(r"\b(?:bite|bitt)\b"), "bitte"),
    (re.compile(r"([oua])e(?=[a-z])"), r"\1"),
    (re.compile(r"\bnich\b"), "nicht"),
    (re.compile(r"\bnix\b"), "nichts"),
    (re.compile(r"\babbestelen\b"), "abbestellen"),
)
"""Umlauts that were written out, and what people type instead of a word."""

SUSPECT = re.compile(
    r"\b(?:keine (?:nachrichten|anrufe|sms)|nein danke|(?:ist|doch) (?:\w+ )?spam|werbung|abstellen)\b|"
    r"\b(?:kein (?:\w+ )?interesse|nicht interessiert|abmeld\w*|abbestell\w*|belastigung|anwalt|anzeige|betrug"
    r"|unseriose?|falsche nummer"
    r"|nicht (?:\w+ ){0,3}(?:anrufen|schreiben|kontaktieren|storen|melden)|(?:ruf|schreib|kontaktier|stor"
    r"|text)\w* (?:sie )?(?:mich|mir|uns|bitte) (?:bitte )?nicht|verstorben|gestorben|kenne sie nicht"
    r"|zu viele (?:nachrichten|anrufe|sms))\b|^stopp\b"
)
"""What a person has to review."""
