"""Which known word was probably meant by an unknown one? Errors suggest it."""

from collections.abc import Iterable

WORDS_MAX = 200
LENGTH_MAX = 64
"""Words that are compared, and their length: a hint is not worth more time."""

ALIKE = 0.7
"""Two wrong letters in a word of eight; below this the hint is mostly wrong."""


def did_you_mean(word: object, known: Iterable[str]) -> str:
    """Return ` (did you mean no_answer?)` for the end of a clause, or nothing where no known word is alike."""
    if not isinstance(word, str) or len(word) > LENGTH_MAX:
        return ""
    from difflib import get_close_matches  # noqa: PLC0415 - needed only where something is wrong

    alike = get_close_matches(word.casefold(), list(known)[:WORDS_MAX], n=1, cutoff=ALIKE)
    return f" (did you mean {alike[0]}?)" if alike else ""
