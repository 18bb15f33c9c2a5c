"""Is a reaction of a telephone in any language the words of nobody, and is what stands beside it read all the same?

A row quotes the source of its wording; `unverified` are wordings for which no public source was found: German, Italian,
Portuguese and Dutch ones of Google Messages, and all of Apple's Messages but the German ones.
"""

import pytest

from engine.contact.consent.opt_out import meaning_of
from engine.contact.consent.quotations import sent_text
from engine.contact.consent.reactions import FORMS, UNVERIFIED, likely_reaction_of, reaction_of

OURS = "Dachbau Nord, Toits, Roofs: (212) 555-0100. STOP to end, ALTO, ARRET, STOPP, BASTA, SAIR, AFMELDEN"
SENT = (sent_text(OURS),)
NESTED = 'Roofs: your quote is ready. Reply "STOP" to end, “HELP” for help'

EXACT = (
    ("en", f"Loved “{OURS}”", "reply"),
    ("en", f"Disliked “{OURS}”", "unclear"),
    ("en", f"Removed a question mark from “{OURS}”", "reply"),
    ("en", f"Removed a 😂 from “{OURS}”", "reply"),
    ("en", f"Reacted 🔥 to “{OURS}”", "reply"),
    ("en", f"😍 to “{OURS}”", "reply"),
    ("es", f"Le gusta “{OURS}”", "reply"),
    ("es", f"Le encanta “{OURS}”", "reply"),
    ("es", f"Reaccionó con 👍 a “{OURS}”", "reply"),
    ("fr", f"A adoré « {OURS} »", "reply"),
    ("fr", f"Aimé “{OURS}”", "reply"),
    ("fr", f"N\u2019a pas aimé « {OURS} »", "unclear"),
    ("fr", f"A mis en évidence « {OURS} »", "reply"),
    ("fr", f"S'est interrogé(e) sur « {OURS} »", "reply"),
    ("fr", f"A réagi 😂 à « {OURS} »", "reply"),
    ("fr", f"a attribué la mention « Adore » à « {OURS} »", "reply"),
    ("fr", f"A attribué la mention « J\u2019aime » à « {OURS} »", "reply"),
    ("fr", f"A retiré la mention « Adore » de « {OURS} »", "reply"),
    ("fr", f"A retiré la réaction 😂 à « {OURS} »", "reply"),
    ("fr", f"A supprimé un point d'interrogation depuis “{OURS}”", "reply"),
    ("de", f"Gefällt: „{OURS}“", "reply"),
    ("de", f"Gefällt nicht: „{OURS}“", "unclear"),
    ("de", f"„{OURS}“ ein Herz hinzugefügt", "reply"),
    ("de", f"„{OURS}“ ein Ausrufezeichen hinzugefügt", "reply"),
    ("de", f"Hat mit 🎉 auf „{OURS}“ reagiert", "reply"),
    ("de", f"Hat mit 👎 auf „{OURS}“ reagiert", "unclear"),
    ("de", f"Herz von „{OURS}“ entfernt", "reply"),
    ("de", f"„Gefällt mir nicht“ von „{OURS}“ entfernt", "reply"),
    ("de", f"🎉 aus „{OURS}“ entfernt", "reply"),
)

LIKELY = (
    ("es", f"Exclamó por “{OURS}”", "reply"),
    ("es", f"Dudó sobre “{OURS}”", "reply"),
    ("es", f"Le ha gustado «{OURS}»", "reply"),
    ("fr", f"👍 à « {OURS} »", "reply"),
    ("de", f"Gefällt „{OURS}“", "reply"),
    ("de", f"Lachte über „{OURS}“", "reply"),
    ("de", f"Hat „{OURS}“ mit „Gefällt mir“ markiert", "reply"),
    ("de", f"👍 zu „{OURS}“", "reply"),
    ("de", f"👎 auf „{OURS}“", "unclear"),
    ("it", f"Ha messo “Mi piace” a “{OURS}”", "reply"),
    ("it", f"Ha amato “{OURS}”", "reply"),
    ("it", f"Non piace “{OURS}”", "unclear"),
    ("it", f"Ha rimosso un cuore da “{OURS}”", "reply"),
    ("it", f"👍 a «{OURS}»", "reply"),
    ("pt", f"Gostou de “{OURS}”", "reply"),
    ("pt", f"Não gostou de “{OURS}”", "unclear"),
    ("pt", f"Removeu um coração de “{OURS}”", "reply"),
    ("pt", f"👍 para “{OURS}”", "reply"),
    ("nl", f"Vindt „{OURS}” leuk", "reply"),
    ("nl", f"Vindt „{OURS}” niet leuk", "unclear"),
    ("nl", f"Reageerde met 🎉 op “{OURS}”", "reply"),
    ("nl", f"👍 op “{OURS}”", "reply"),
)


@pytest.mark.parametrize(("body", "meaning"), [row[1:] for row in EXACT])
def test_a_reaction_of_a_known_form_is_one_whatever_it_quotes(body: str, meaning: str) -> None:
    assert reaction_of(body) == meaning
    assert meaning_of(body) == meaning_of(body, SENT) == meaning


@pytest.mark.parametrize(("body", "meaning"), [row[1:] for row in LIKELY])
def test_a_reaction_of_an_unverified_form_is_one_where_it_quotes_ours_and_is_read_by_a_person_elsewhere(
    body: str, meaning: str
) -> None:
    assert reaction_of(body) is None
    assert likely_reaction_of(body) == meaning
    assert meaning_of(body, SENT) == meaning
    assert meaning_of(body) in {"unclear", "reply"}, "an unknown form of a reaction is no opt-out"


@pytest.mark.parametrize("body", [row[1] for row in EXACT + LIKELY])
def test_a_stop_behind_a_reaction_still_counts(body: str) -> None:
    assert meaning_of(f"{body} STOP", SENT) == "opt_out"


def test_every_language_has_a_row_and_every_row_says_whether_its_wording_was_read() -> None:
    languages = {form.language for form in FORMS}

    assert languages == {"en", "es", "fr", "de", "it", "pt", "nl"} == {row[0] for row in EXACT + LIKELY}
    assert all(form.source == UNVERIFIED or form.source.startswith("https://github.com/") for form in FORMS)


@pytest.mark.parametrize(
    "body",
    [
        f"Liked “{NESTED}”",
        f"Liked '{NESTED}'",
        f"“{NESTED}” ok call me",
        f"that's fine: “{NESTED}” yes",
        f"> {NESTED}\nok",
        f"Gefällt „{NESTED}“",
        f"-----Original Message-----\n{NESTED}\n\nCall me at 6",
    ],
)
def test_a_text_of_ours_may_hold_quotation_marks_itself(body: str) -> None:
    assert meaning_of(body, (sent_text(NESTED),)) == "reply", "a reaction to a text with marks was read as the person's"


@pytest.mark.parametrize(
    ("body", "meaning"),
    [
        (f"Liked “{NESTED}”. STOP", "opt_out"),
        (f"“{NESTED}” so “STOP”", "opt_out"),
        (f"{NESTED}\nSTOP", "opt_out"),
        ("“it” but “stop texting me”", "opt_out"),
        ("Loved “it” but “stop texting me”", "opt_out"),
        ("It says “Reply STOP to end” ok then STOP", "opt_out"),
        ('"' * 1_500 + "stop", "opt_out"),
    ],
)
def test_what_is_not_ours_is_the_persons(body: str, meaning: str) -> None:
    assert meaning_of(body, (sent_text(NESTED),)) == meaning
