"""Whose words are in a text? Reactions, quotations of our texts and answers of machines are not the person's.

The forms are those that telephones send where they cannot show a reaction: Apple's Messages and Google Messages write the
name of the reaction and the whole text; mail programs and relays quote by `>`.
"""

import pytest

from engine.contact.consent.opt_out import meaning_of
from engine.contact.consent.quotations import LETTERS_KEPT_MAX, letters_of, sent_text

OURS = "Hi Ada, your roof quote is ready. Call us at 212-555-0100. Reply STOP to end"
SPANISH = "Hola Ada, su cotización está lista. Responda ALTO para cancelar"
FRENCH = "Bonjour Ada, votre devis est prêt. Répondez ARRET pour arrêter"
LONG = f"{OURS}. " * 5
SENT = tuple(map(sent_text, (OURS, SPANISH, FRENCH, LONG)))

REACTIONS = (
    *(f"{word} “{OURS}”" for word in ("Liked", "Loved", "Laughed at", "Emphasized", "Emphasised", "Questioned")),
    *(f'{word} "{OURS}"' for word in ("Liked", "loved")),
    *(f"Reacted {sign} to “{OURS}”" for sign in ("👍", "❤️", "😂", "🙏🏽", "‼️")),
    f"👍 to “ {OURS} ”",
    # any emoji of iOS 18: sequences, flags, keycaps; a sticker taken back
    *(f"Reacted {sign} to “{OURS}”" for sign in ("🔥", "🫶🏽", "👨‍👩‍👧", "🇺🇸", "1️⃣", "#️⃣", "❤️‍🔥")),
    *(f"Removed {what} from “{OURS}”" for what in ("🔥", "1️⃣", "a sticker")),
    f"\u200e😂 to “\u200a{OURS}\u200a”",
    "Reacted with a sticker to “Reply STOP to end”",
    *("Liked an image", "Loved a movie", "Laughed at an audio message"),
    *(f"Removed {what} from “{OURS}”" for what in ("a heart", "a like", "a dislike", "a laugh", "an exclamation")),
    f"Removed a question mark from “{OURS}”",
    f"Removed 👍 from “{OURS}”",
    *(f"{word} “{SPANISH}”" for word in ("Le gustó", "Le encantó", "Se rió de", "Enfatizó", "Destacó", "Le dio risa")),
    f"Reaccionó con 👍 a “{SPANISH}”",
    f"Eliminó un corazón de “{SPANISH}”",
    *(f"{word} « {FRENCH} »" for word in ("A aimé", "A adoré", "A ri de", "A souligné", "A mis en évidence")),
    f"A réagi avec 👍 à « {FRENCH} »",
    "Liked “a text of somebody else. Reply STOP”",
)

NEGATIVE = (
    f"Disliked “{OURS}”",
    f"No le gustó “{SPANISH}”",
    f"N\u2019a pas aimé « {FRENCH} »",
    f"Reacted 👎 to “{OURS}”",
    f"🖕 to “{OURS}”",
    f"Reacted 🛑 to “{OURS}”",
)


@pytest.mark.parametrize("body", REACTIONS)
def test_a_reaction_to_a_text_is_no_opt_out(body: str) -> None:
    assert meaning_of(body) == "reply", "also without knowing what was sent: the whole text has the form of a reaction"


@pytest.mark.parametrize("body", NEGATIVE)
def test_a_reaction_against_a_text_is_read_by_somebody(body: str) -> None:
    assert meaning_of(body, SENT) == "unclear"


@pytest.mark.parametrize(
    ("body", "meaning"),
    [
        (f"> {OURS}\nok call me", "reply"),
        (f"> {OURS}\n\nSTOP", "opt_out"),
        ("> Hi Ada, your roof quote is\n> ready. Call us at 212-555-0100.\n> Reply STOP to end\nSounds good", "reply"),
        (f"“{OURS}” sounds good, call me", "reply"),
        (f'You wrote "{OURS}". Stop it', "opt_out"),
        (f"« {FRENCH} » oui, appelez-moi", "reply"),
        ("On Tue, Nov 3, 2026 at 9:00 Sunny wrote:\n> Hi Ada, your roof quote is ready. Call\nYes please", "reply"),
        (f"El mar, 3 nov 2026, Sunny escribió:\n> {SPANISH}\nSí, gracias", "reply"),
        (f"Le mar. 3 nov. 2026, Sunny a écrit :\n> {FRENCH}\nOui", "reply"),
        (f"> {LONG}\nyes", "reply"),
    ],
)
def test_what_a_text_quotes_of_ours_is_not_the_persons(body: str, meaning: str) -> None:
    assert meaning_of(body, SENT) == meaning, "our own words were read as the person's"


@pytest.mark.parametrize(
    "body",
    [
        '"STOP"',
        "“Stop”",
        "Loved it but stop",
        "Loved “it” but “stop texting me”",
        "Liked “it”. Stop texting me",
        "“stop texting me” is what I said",
        "> stop",
        "> stop texting me\nlast time",
        "> Hi\nstop",
        "Reacted badly to “this”, stop texting me",
    ],
)
def test_what_quotes_nothing_of_ours_stays_an_opt_out(body: str) -> None:
    assert meaning_of(body, SENT) == "opt_out"


@pytest.mark.parametrize("body", [f"> {LONG[: LETTERS_KEPT_MAX + 60]} stop texting me\n", f"{OURS} - stop texting me"])
def test_what_may_be_the_persons_is_never_ignored(body: str) -> None:
    assert meaning_of(body, SENT) == "unclear"


@pytest.mark.parametrize(
    ("body", "meaning"),
    [
        ("Auto-reply: I'm out of office until Monday. Reply STOP to unsubscribe.", "reply"),
        ("Thanks for texting Bob's Pizza! Msg & data rates may apply. Reply HELP for help, STOP to cancel", "reply"),
        ("Thank you for contacting us. This is an automated message, text STOP to opt out", "reply"),
        ("I'm driving with Focus turned on. I'll see your message when I get where I'm going.", "reply"),
        ("Respuesta automática: estoy fuera. Envíe ALTO para cancelar", "reply"),
        ("I'm driving. Stop texting me", "opt_out"),
        ("Automatic reply: wrong number", "opt_out"),
        ("Text STOP to end", "opt_out"),
        ("It says text STOP to unsubscribe so STOP", "opt_out"),
    ],
)
def test_a_machine_that_names_its_own_words_stops_nobody(body: str, meaning: str) -> None:
    assert meaning_of(body, SENT) == meaning


def test_a_text_is_known_again_whatever_its_case_accents_and_marks() -> None:
    assert letters_of("Ça va? 50 %") == letters_of("ca VA 50") == "cava50"
    assert len(sent_text("x" * 10_000).beginning) == LETTERS_KEPT_MAX
