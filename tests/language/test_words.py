"""Which private words are banned, and where do they still stand? CONTRIBUTING.md says what to write in their place.

`allowed_words.toml` names the folders that still hold one. Add to it only what must stay (recorded texts, public
names), with the reason; `python -m tests.language.test_words` prints what is found, to take out what is gone.
"""

import re
import sys
import tomllib
from collections import defaultdict
from pathlib import PurePath

import pytest

from tests.language.files import READ, ROOT, texts

ALLOWED = ROOT / "tests/language/allowed_words.toml"

GLOSSARY = "CONTRIBUTING.md"
"""It names a banned word beside the usual one."""

BANNED = {
    "anew": r"anew",
    "chair": r"chairs?",
    "courier": r"couriers?",
    "door": r"doors?",
    "heed": r"heed(s|ed|ing)?",
    "house": r"houses?",
    "lane": r"lanes?",
    "leash": r"leash(es)?",
    "mend": r"mend(s|ed|ing)?",
    "news": r"news",
    "overcome": r"overcomes?",
    "send it again": r"send it again",
    "stand before": r"(stand|stands|stood|standing) before",
    "told": r"told",
    "trouble": r"troubles?",
    "whoever": r"whoever",
}
"""Word -> its forms. Names are split at `_` and at capitals before they are compared."""


def words_of(text: str) -> str:
    """Return a text in small letters, with names split into words; the address of a source is no word of ours."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|_", " ", re.sub(r"https?://[^\s)\"]+", "", text)).lower()


def find_banned() -> dict[str, set[str]]:
    """Return the folders in which each banned word is."""
    forms = {word: re.compile(rf"\b{form}\b") for word, form in BANNED.items()}
    found: dict[str, set[str]] = defaultdict(set)
    for path, text in texts(*READ):
        if path == GLOSSARY:
            continue
        plain = words_of(f"{path}\n{text}")
        for word, form in forms.items():
            if form.search(plain):
                found[word].add(str(PurePath(path).parent))
    return dict(found)


def as_toml(found: dict[str, set[str]]) -> str:
    """Return what was found as the file of what is allowed."""
    return "".join(f'"{word}" = {sorted(folders)}\n' for word, folders in sorted(found.items()))


def test_no_banned_word_is_in_a_folder_that_was_free_of_it() -> None:
    allowed = tomllib.loads(ALLOWED.read_text("utf-8"))
    found = {word: folders - set(allowed.get(word, ())) for word, folders in find_banned().items()}
    assert {word: folders for word, folders in found.items() if folders} == {}


def test_only_banned_words_are_listed() -> None:
    assert set(tomllib.loads(ALLOWED.read_text("utf-8"))) <= set(BANNED)


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("def heed_rules", "heed"),
        ("class HouseRules", "house"),
        ("it is told", "told"),
        ("Correct `from` and send it again.", "send it again"),
        ("a lead stands before it", "stand before"),
    ],
)
def test_a_banned_word_is_found_in_names_and_sentences(text: str, word: str) -> None:
    assert re.search(rf"\b{BANNED[word]}\b", words_of(text))


@pytest.mark.parametrize("text", ["a household", "amend it", "newsletter", "planed", "outdoors"])
def test_a_word_that_only_holds_a_banned_one_is_free(text: str) -> None:
    assert not any(re.search(rf"\b{form}\b", words_of(text)) for form in BANNED.values())


if __name__ == "__main__":
    sys.stdout.write(as_toml(find_banned()))
