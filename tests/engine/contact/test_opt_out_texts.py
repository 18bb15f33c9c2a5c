"""How often is a text of `texts/` misread? Opt-outs that pass for replies and replies that stop somebody are counted apart.

Each file holds texts of one language and one label, a text a line: `opt_out` (a reasonable person reads that no more contact
is wanted), `reply` (nothing of the kind), `doubtful` (somebody has to read it). All were written by hand. Of the `first`
ones a third, chosen by a hash, was held back: the rules were written beside the other two thirds. What went wrong in it was
then repaired, and `fresh` texts were written before that repair; likewise the `last` ones. As each was first measured:

| not used before  | opt-outs | pass for replies | held for review | replies | stop somebody | held for review |
| ---------------- | -------- | ---------------- | --------------- | ------- | ------------- | --------------- |
| third of `first` |      134 |                0 |               2 |     127 |             1 |               2 |
| `fresh`          |      136 |               16 |               8 |     168 |             0 |               6 |
| `last`           |       97 |                3 |               7 |      88 |             0 |               3 |

The texts `abroad` (French, Portuguese, German, Italian) were written beside their rules; `abroad_fresh` and `quotes`
(reactions, quotations and machines, in three languages) by somebody who did not know them:

| not used before  | opt-outs | pass for replies | held for review | replies | stop somebody | held for review |
| ---------------- | -------- | ---------------- | --------------- | ------- | ------------- | --------------- |
| `abroad_fresh`   |      120 |               25 |               1 |     100 |             0 |               5 |
| `quotes`         |       60 |                3 |               4 |     110 |             4 |               8 |

The rules were then repaired beside a half of both, chosen by a hash. In the other half two opt-outs of some 90 still passed
for replies, and two replies of some 105 stopped somebody; those were repaired last.

Today none of them passes for a reply or stops somebody: see `KNOWN` for what is left. The rules before this table missed 76
opt-outs of the held-back third.
"""

import hashlib
from pathlib import Path
from typing import NamedTuple

import pytest

from engine.contact.consent.opt_out import TEXT_READ_MAX, Meaning, meaning_of
from engine.contact.consent.quotations import sent_text
from engine.contact.consent.text_normalisation import clauses_of, corrected, is_within_edits

TEXTS = Path(__file__).parent / "texts"
LABELS = ("opt_out", "reply", "doubtful")
LANGUAGES = ("en", "es")
DRAWS = {
    **dict.fromkeys(("first", "fresh", "last"), LANGUAGES),
    **dict.fromkeys(("abroad", "abroad_fresh"), ("fr", "pt", "de", "it")),
    "quotes": ("mixed",),
}
"""Draws of texts, and the languages of each."""


SENT = tuple(
    map(
        sent_text,
        (
            "Hi Ada, your roof quote is ready. Call us at 212-555-0100. Reply STOP to end",
            "Hola Ada, su cotizaci\u00f3n est\u00e1 lista. Responda ALTO para cancelar",
            "Bonjour Ada, votre devis est pr\u00eat. R\u00e9pondez ARRET pour arr\u00eater",
        ),
    )
)
"""What the people of `quotes` were sent."""


class Labelled(NamedTuple):
    """A text and what it means to a reasonable person."""

    text: str
    language: str
    label: str
    draw: str

    @property
    def held_back(self) -> bool:
        """Return whether the text is of the third that no rule was written beside."""
        return self.draw == "first" and hashlib.sha256(self.text.encode()).digest()[0] % 3 == 0


def corpus() -> list[Labelled]:
    """Return every labelled text."""
    return [
        Labelled(line.replace("\\n", "\n"), language, label, draw)
        for draw, languages in DRAWS.items()
        for language in languages
        for label in LABELS
        for line in (TEXTS / draw / f"{language}.{label}.txt").read_text().splitlines()
    ]


def test_at_least_four_hundred_different_texts_are_labelled_and_a_third_is_held_back() -> None:
    texts = corpus()
    first = [one for one in texts if one.draw == "first"]
    held_back = [one for one in texts if one.held_back]

    assert len({one.text for one in texts}) == len(texts) >= 400
    assert 0.28 < len(held_back) / len(first) < 0.38
    assert {(one.language, one.label) for one in held_back} == {(a, b) for a in LANGUAGES for b in LABELS}


MEANT: dict[str, Meaning] = {"opt_out": "opt_out", "reply": "reply", "doubtful": "unclear"}

KNOWN: dict[str, Meaning] = {
    "stop this nonsense": "unclear",
    "stop stop stop omg": "unclear",
    "end this conversation and don't text back": "unclear",
    "text me instead of calling me at work, ok? Either is fine really": "unclear",
    "we should stop wasting money on the old AC": "unclear",
    "alto costo": "unclear",
    "dej\u00e9 de fumar": "unclear",
    "Karen moved away, don't know her new number": "reply",
    "I'm not Steve": "reply",
    "Muss ich mich bei der Gemeinde abmelden bevor Sie anfangen?": "unclear",
    "La maison est juste apr\u00e8s le stop, \u00e0 gauche": "unclear",
    "Faut-il que je me d\u00e9sabonne de mon fournisseur avant ?": "unclear",
    "La casa \u00e8 subito dopo lo stop a destra": "unclear",
}
"""Texts that are misread today, and as what."""


def misread(label: str) -> dict[str, Meaning]:
    """Return the texts of a label that get another meaning, and which; an opt-in word stops no contact either."""
    read = {one.text: meaning_of(one.text, SENT) for one in corpus() if one.label == label}
    return {text: meaning for text, meaning in read.items() if meaning not in {MEANT[label], "opt_in"}}


def test_no_plain_opt_out_passes_for_a_reply() -> None:
    assert [text for text, meaning in misread("opt_out").items() if meaning != "unclear"] == []


def test_no_plain_reply_stops_anybody() -> None:
    assert [text for text, meaning in misread("reply").items() if meaning == "opt_out"] == []


def test_every_text_but_the_known_ones_is_read_as_it_is_labelled() -> None:
    assert misread("opt_out") | misread("reply") | misread("doubtful") == KNOWN


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        *((text, "opt_out") for text in ("ya no me llamen", "no me escriban mas", "b\u00f3rrame de su lista", "parar")),
        *(
            (text, "opt_out")
            for text in ("basta ya", "fuck off", "wrong number", "STOP\u200b", "\uff33\uff34\uff2f\uff30", "\U0001f6d1")
        ),
        *((text, "reply") for text in ("can we stop by tomorrow", "I can't stop thinking about it")),
        *((text, "unclear") for text in ("Stop by tomorrow?", "don't call before 5", "not interested")),
    ],
)
def test_a_text_that_was_reported_is_read_as_a_person_reads_it(text: str, meaning: str) -> None:
    assert meaning_of(text) == meaning


def test_a_sentence_is_read_wherever_it_stands_in_a_long_text() -> None:
    chatter = "the roof is old and the gutters leak since the storm and my neighbour says so too "
    for before in range(12):
        assert meaning_of(chatter * before + "stop texting me") == "opt_out"
    assert len((chatter * 12).strip()) < TEXT_READ_MAX


@pytest.mark.parametrize(
    "text", ["no " * 800, "if you call " * 200, "s.t.o.p. " * 200, "stop all the " * 200, "\u0301" * 1_600]
)
def test_a_text_of_any_shape_is_read(text: str) -> None:
    assert meaning_of(text) in {"opt_out", "unclear", "reply"}


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("S.T.O.P.", ["stop"]),
        ("s t o p", ["stop"]),
        ("stooooop!!", ["stop"]),
        ("St\U0001f6d1p", ["stop"]),
        ("No m\u00e1s", ["no mas"]),
        ("un-subscribe", ["unsubscribe"]),
        ("Hi, who's this?", ["hi", "whos this"]),
        ("a b c", ["a b c"]),
    ],
)
def test_spelling_does_not_matter(written: str, read: list[str]) -> None:
    assert [clause.words for clause in clauses_of(written)] == read


def test_only_key_words_are_corrected_and_words_of_their_own_are_left() -> None:
    assert [corrected(word) for word in ("sotp", "unsubcribe", "nubmer", "callng", "ekivocado")] == [
        "stop", "unsubscribe", "number", "calling", "equivocado",
    ]  # fmt: skip
    for word in ("shop", "step", "cancer", "remote", "quite", "falling", "contract", "pasar", "llaman", "numbers"):
        assert corrected(word) == word


@pytest.mark.parametrize(
    ("word", "other", "slips", "within"),
    [
        ("stop", "stop", 0, True),
        ("stpo", "stop", 1, True),
        ("stopp", "stop", 1, True),
        ("sto", "stop", 1, True),
        ("slip", "stop", 1, False),
        ("unsubcrbe", "unsubscribe", 2, True),
        ("subscriber", "unsubscribe", 2, False),
        ("", "stop", 3, False),
    ],
)
def test_slips_are_counted_as_keys_that_were_added_dropped_changed_or_swapped(
    word: str, other: str, slips: int, within: bool
) -> None:
    assert is_within_edits(word, other, slips) == within
