"""Which French words end consent, which limit or deny that, and which only look like it? Carriers in Canada demand ARRET.

Patterns are matched against clauses of `text_normalisation`: lower-case words without accents, apostrophes dropped.
"""

import re

_CONTACT = (
    r"(?:m?(?:d)?(?:appel(?:er|ez|le|les)?|appels?|ecri(?:re|vez|s)|envo(?:yer|yez|ie|ies)|contact(?:er|ez|e|es)"
    r"|text(?:er|ez|e|es)"
    r"|derang(?:er|ez|e|es)|harcel(?:er|ez|e)|sollicit(?:er|ez|e)|telephon(?:er|ez|e)|embet(?:er|ez|e)|joindre"
    r"|relanc(?:er|ez|e))"
    r"|(?:des |les |vos |tes |de |ces )*(?:messages?|textos?|sms|appels?|courriels?|e ?mails?|pub(?:licites?)?|spam"
    r"|notifications?|relances?))"
)
_LIST = r"(?:liste\w*|fichiers?|base(?: de donnees)?|systeme|contacts|repertoire|envois|diffusion)"
_OURS = r"(?:mon|ce|notre|mes|nos) (?:numero|nom|telephone|cell\w*|portable|coordonnees|contact|adresse|donnees)"

WORDS = frozenset(
    re.findall(
        r"\w+",
        "arret arrete arretes arretez arreter stopper desabonner desabonnez desabonnement desabonne desinscrire "
        "desinscription desinscrivez resilier retirez fin",
    )
)
"""Each is an opt-out by itself: `ARRET` is required by the rules of the Canadian carriers (CWTA short codes)."""

POLITE = frozenset(
    re.findall(
        r"\w+", "svp sil vous te plait merci bonjour bonsoir salut maintenant de suite tout ca cela desole ok alors donc"
    )
)
"""Words around such a word that do not change its meaning."""

OBJECTS = frozenset(
    re.findall(r"\w+", "les vos ces message messages texto textos appel appels courriel courriels envois abonnement des")
)
"""What such a word may refer to: `arretez les messages`."""

ENDS = re.compile(
    r"\b(?:"
    r"(?:criss|fich|fout|sacr)\w* moi (?:la paix|patience)|"
    r"plus aucune? (?:messages?|textos?|appels?|sms)|"
    r"veu plus (?:de |d|vos |tes )|"
    # arretez de m'appeler, cessez vos messages, plus de textos
    r"(?:arret(?:e|es|ez|er)|cess(?:e|es|ez|er)|stop(?:pez)?|fini(?:r|ssez)?(?: en)?)(?: (?:svp|immediatement"
    rf"|tout de suite|avec|de|d))* {_CONTACT}"
    rf"|plus (?:de |d)(?:messages?|textos?|sms|appels?|courriels?|pub)\b|^(?:ca suffit|c est assez|assez|ca va faire)$"
    # ne m'appelez plus
    r"|(?:ne )?(?:m|me |nous )?(?:n|ne )?(?:m|me |nous )?(?:appel|ecri|envo|contact|text|derang|harcel|sollicit"
    r"|telephon|embet|relanc)\w* (?:plus|jamais)\b"
    r"|ne (?:plus|jamais) (?:m|me |nous )?(?:appel|ecri|envo|contact|text|derang|sollicit|telephon)\w*"
    r"|(?:je )?(?:ne )?(?:veux|voudrais|souhaite|desire) (?:plus|pas) (?:\w+ ){0,2}(?:recevoir|etre (?:contact|appel"
    r"|derang|sollicit)\w*|de vos|vos|d ?appels?|de messages?|de textos?)"
    # enlevez-moi de votre liste
    rf"|(?:enlev|retir|supprim|effac|ray|desabonn|desinscri|otez|ote)\w* (?:moi|nous|{_OURS})(?=$| (?:svp|merci|de|du"
    r"|des|maintenant)\b)"
    rf"|(?:enlev|retir|supprim|effac|ray)\w* {_OURS}|me (?:desabonner|desinscrire|retirer|supprimer)"
    r"|(?:je )?(?:retire|revoque|annule) mon (?:consentement|accord|autorisation)"
    r"|(?:laiss\w+ (?:moi|nous)|fich\w+ moi|fout\w+ moi) (?:tranquille|la paix)|foutez (?:moi )?le camp|allez vous faire"
    # mauvais numero
    r"|(?:mauvais|faux) numero$|trompe\w* (?:de|d) (?:numero|personne)|erreur de numero$)"
)
"""Ends contact, unless the clause limits or denies it, or is a question."""

LIMITS = re.compile(
    r"\b(?:avant|apres|jusqu\w*|aujourdhui|demain|ce soir|cet apres midi|pendant|lundi|mardi|mercredi|jeudi|vendredi"
    r"|samedi|dimanche"
    r"|matin|soir|semaine|mois|sauf|seulement|plutot|quand|si vous|au travail|au bureau|a la maison|heures?)\b|\b\d{1,4}\b"
)
"""Limits to a time, place or way: `not now` is not `never`."""

IMMEDIATELY = re.compile(r"\b(?:des maintenant|des aujourdhui|a partir de (?:maintenant|ce jour)|24 7)\b")
"""Says how soon, and limits nothing."""

DENIES = re.compile(
    r"\b(?:n|ne |narret|nenlev)\w* (?:pas|jamais) (?:arret|enlev|retir|desabonn|supprim)\w*"
    r"|\b(?:narret\w*|nenlev\w*|ne (?:me )?(?:retir|desabonn|supprim)\w*) pas\b|\bpar erreur\b|\bignor\w+\b"
)
"""Says the opposite, or takes the opt-out back."""

ASKS_FOR_IT = re.compile(
    r"\b(?:pouvez|pourriez|peux|pourrais|voulez|voudriez) (?:vous|tu)\b.*\b(?:arret|cess|enlev|retir|supprim|desabonn)\w*"
    r"|^comment .*\b(?:desabonn|desinscri|arret|enlev|retir)\w*|combien de fois|\bsvp\b|\bsil (?:vous|te) plait\b"
)
"""A question that is a request all the same."""

INVITES = re.compile(
    r"\b(?:plutot|seulement|mieux) (?:par )?(?:texto|courriel|telephone|appel|ecri\w*)"
    r"|^(?:appel|ecri|text|envo|rappel)\w* moi\b|\bje (?:vous|te) (?:rappelle|appelle|ecris)"
)
"""Asks for contact in another way or from somebody else, so not all contact is ended."""

HARMLESS = re.compile(
    r"\b(?:arret (?:de bus|dautobus|maladie|de travail|du bus)|sans arret|a larret|un arret|prochain arret|arrete pas de"
    r"|jai arrete (?:de|le|la)|(?:il|elle|on|ca) arrete)\b"
)
"""Words of an opt-out in another sense; they are removed before anything else is matched."""

OFTEN_MISTYPED: frozenset[str] = frozenset(
    re.findall(r"\w+", "arreter arretez desabonner desabonnez desinscrire desinscrivez desinscription desabonnement")
)
"""Words whose typos are read in short clauses: none of them is a typo away from a word of everyday sentences."""

SPELLINGS = ()
"""This language has no spellings of its own to replace."""

SUSPECT = re.compile(
    r"\b(?:du spam|pub|publicites?|non merci|pas (?:de |d)(?:appels?|messages?|textos?))\b|"
    r"\b(?:pas (?:\w+ )?interesse\w*|desabonn\w*|desinscri\w*|harcelement|arnaque\w*|fraude|plainte|avocat|signaler"
    r"|mauvais numero"
    r"|(?:ne )?m?(?:e )?n?m?(?:appel|ecri|text|envo|contact|derang)\w* (?:moi )?pas|ne me connais\w* pas|decede\w*"
    r"|trop de (?:messages|textos|appels))\b|^(?:arret\w*|cessez)\b"
)
"""What a person has to review."""
