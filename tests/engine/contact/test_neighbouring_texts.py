"""Are the neighbours of the texts in the other tables read as a reasonable person would: reactions, machines, STOP, HELP?

Reactions in languages whose exact form is not known are a reply where they quote one of our newest texts, and are read by
somebody else; they never stop anybody.
"""

import pytest

from engine.contact.consent.opt_out import meaning_of
from engine.contact.consent.quotations import sent_text

OURS = "Hi Ada, your roof quote is ready. Call us at 212-555-0100. Reply STOP to end"
SENT = (sent_text(OURS),)
QUOTE = f"\u201c{OURS}\u201d"
LOW = f"\u201e{OURS}\u201c"

ABROAD = (
    f"Gef\u00e4llt {LOW}",
    f"Hat {LOW} mit \u201eGef\u00e4llt mir\u201c markiert",
    f"Hat mit \U0001f44d auf {LOW} reagiert",
    f"Liebt {LOW}",
    f"Lacht \u00fcber {LOW}",
    f"Piace {QUOTE}",
    f'Ha messo "Mi piace" a {QUOTE}',
    f"Ha reagito con \U0001f44d a {QUOTE}",
    f"Adora {QUOTE}",
    f"Curtiu {QUOTE}",
    f"Gostou de {QUOTE}",
    f"Amou {QUOTE}",
    f"Reagiu com \U0001f44d a {QUOTE}",
    f"Vindt {QUOTE} leuk",
    f"Heeft {QUOTE} leuk gevonden",
    f"Reageerde met \U0001f44d op {QUOTE}",
)


@pytest.mark.parametrize("body", ABROAD)
def test_a_reaction_in_another_language_stops_nobody(body: str) -> None:
    assert meaning_of(body, SENT) == "reply"
    assert meaning_of(body) in {"reply", "unclear"}


@pytest.mark.parametrize(
    "body",
    [
        "I'm driving right now and will reply later. Sent automatically.",
        "I\u2019m driving with Do Not Disturb turned on. Reply STOP to end.",
        "I\u2019m driving with Focus turned on. I\u2019ll see your message when I get where I\u2019m going.",
        "(I\u2019m not receiving notifications. If this is urgent, reply \u201curgent\u201d to notify me.)",
        "I have notifications silenced.",
        "Ich fahre gerade Auto und melde mich sp\u00e4ter.",
        "Sto guidando, ti rispondo dopo.",
        "Estou dirigindo agora, respondo depois.",
        "Je conduis, je vous r\u00e9pondrai plus tard.",
        "Estoy conduciendo, te respondo luego.",
        "This number is not monitored. Text STOP to opt out.",
        "Auto-reply: Thanks for texting Bob's. Msg&data rates may apply. Reply HELP for help, STOP to cancel.",
    ],
)
def test_the_answer_of_a_machine_is_a_reply(body: str) -> None:
    assert meaning_of(body) == "reply"


@pytest.mark.parametrize(
    "body",
    [
        "STOP!!!",
        "'STOP'",
        '"STOP"',
        "\u201cSTOP\u201d",
        "\u00abSTOP\u00bb",
        "*STOP*",
        "[stop]",
        "S T O P",
        "stop \U0001f6d1",
        "\U0001f6d1\U0001f6d1\U0001f6d1",
        "STOP\U0001f64f",
        "$top",
        "st0p",
        "Stp",
        "stopp",
        "STIP",
        "SROP",
        "\uff33\uff34\uff2f\uff30",
        "\U0001d5e6\U0001d5e7\U0001d5e2\U0001d5e3",
        "STOP.STOP.STOP",
        "stop\nstop\nstop",
        "STOP all",
        "no more texts",
        "Sent from my iPhone\nSTOP",
        "STOP\nSent from my iPhone",
        "Stop\n--\nJohn Smith",
        "Loved it but stop",
        "Liked your text, now STOP",
    ],
)
def test_a_stop_is_one_however_it_is_written(body: str) -> None:
    assert meaning_of(body) == "opt_out"


@pytest.mark.parametrize(
    "body",
    [
        f"> {OURS}\nSTOP",
        f"> {OURS}\n> \nstop texting",
        f"On Mon, Nov 30 John wrote:\n> {OURS}\nunsubscribe",
        f"{QUOTE}\nSTOP",
        f"STOP\n\n> {OURS}",
    ],
)
def test_a_stop_beside_a_quotation_is_one(body: str) -> None:
    assert meaning_of(body, SENT) == "opt_out"


@pytest.mark.parametrize(
    "body",
    [
        "HELP!",
        "help?",
        "'HELP'",
        '"HELP"',
        "HELP \U0001f64f",
        "help me",
        "INFO?",
        "Info please",
        "HELP\n",
        "\uff28\uff25\uff2c\uff30",
        "ayuda!",
        "\u00bfayuda?",
        "Aide svp",
        "Ajuda por favor",
        "Hilfe bitte",
        "aiuto",
    ],
)
def test_help_is_asked_for_however_it_is_written(body: str) -> None:
    assert meaning_of(body) == "help"
