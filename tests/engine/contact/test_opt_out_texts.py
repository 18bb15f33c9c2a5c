"""How often is a text of `texts/` misread? Opt-outs that are missed and replies that stop somebody are counted apart.

Each file holds texts of one language and one label, a text a line: `opt_out` (a reasonable person reads that no more contact
is wanted), `reply` (nothing of the kind), `doubtful` (somebody has to read it). A third, chosen by a hash, is held back: the
rules were written beside the other two thirds.
"""

import hashlib
from pathlib import Path
from typing import NamedTuple

TEXTS = Path(__file__).parent / "texts"
LABELS = ("opt_out", "reply", "doubtful")
LANGUAGES = ("en", "es")


class Labelled(NamedTuple):
    """A text and what it means to a reasonable person."""

    text: str
    language: str
    label: str

    @property
    def held_back(self) -> bool:
        """Tell whether the text is of the third that no rule was written beside."""
        return hashlib.sha256(self.text.encode()).digest()[0] % 3 == 0


def corpus() -> list[Labelled]:
    """Return every labelled text."""
    return [
        Labelled(line, language, label)
        for language in LANGUAGES
        for label in LABELS
        for line in (TEXTS / f"{language}.{label}.txt").read_text().splitlines()
    ]


def test_at_least_four_hundred_different_texts_are_labelled_and_a_third_is_held_back() -> None:
    texts = corpus()
    held_back = [one for one in texts if one.held_back]

    assert len({one.text for one in texts}) == len(texts) >= 400
    assert 0.28 < len(held_back) / len(texts) < 0.38
    assert {(one.language, one.label) for one in held_back} == {(a, b) for a in LANGUAGES for b in LABELS}
