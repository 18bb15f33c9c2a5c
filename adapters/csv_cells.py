"""How is a value written to a cell of CSV, and read back? Safe from CSV injection, and without loss of text.

A spreadsheet runs text that begins with a sign such as `=` as a formula. Such text gets an apostrophe in front
(https://owasp.org/www-community/attacks/CSV_Injection), and so does text that looks as if it had got one: then reading takes
away exactly what writing added. Numbers and telephone numbers stay as they are.

A cell ends where the program that opens the file thinks it does: at a semicolon in half of Europe, at a tab where text is
pasted. So each part behind one of these is treated as a cell of its own, and every text is quoted. Signs of full width are
read as the usual ones by some programs, and marks that nobody sees are left out before the first sign.
"""

import csv
import re
from typing import Any, Protocol

from schemas.wire import to_json

_SIGNS = r"=+\-@" + "\uff1d\uff0b\uff0d\uff20\ufe66\ufe62\ufe63\ufe6b\u2212\u207a\u207b\u207c"
"""What begins a formula: the usual signs, and those of full width, small, raised, and the minus sign."""

_UNSEEN = (
    r" \x00-\x08\x0b\x0c\x0e-\x1f\x7f-\xa0\xad\u034f\u061c\u115f\u1160\u1680\u17b4\u17b5\u180b-\u180f\u2000-\u200f"
    r"\u2028-\u202f\u205f-\u206f\u2800\u3000\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb\U000e0000-\U000e0fff"
)
"""Spaces, control characters and marks of no width (Unicode: Zs, Cc, Cf, and what is drawn blank)."""

_FORMULA = rf"(?=[{_UNSEEN}']*[{_SIGNS}])"
_BEHIND = r"(?:\A|(?<=[;\t\r\n|]))"
_BROKEN = r"\A(?='*[\t\r\n])"
"""A tab or line break at the start is left out by some programs, so that the next cell or line begins there."""

_WRITTEN = re.compile(f"{_BROKEN}|{_BEHIND}{_FORMULA}")
_READ = re.compile(f"\\A'(?='*[\t\r\n])|{_BEHIND}'{_FORMULA}")
_NUMBER = re.compile(r"[+-]?[0-9]+(?:\.[0-9]+)?", re.ASCII)


class CsvWriter(Protocol):
    """What `csv.writer` returns, as far as it is used.

    No contract suite: the standard library implements it, and does not name it.
    """

    def writerow(self, row: Any, /) -> Any:
        """Write a row."""

    def writerows(self, rows: Any, /) -> None:
        """Write rows."""


def csv_writer(target: Any) -> CsvWriter:
    """Return what writes rows of formatted cells (RFC 4180); every text is quoted, numbers are not."""
    return csv.writer(target, lineterminator="\r\n", quoting=csv.QUOTE_NONNUMERIC)


def format_csv_cell(value: Any) -> Any:
    """Return a value as it is written to CSV; text that looks like a formula, at any part of it, gets apostrophes."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict | list | tuple):
        value = to_json(value).decode()
    if isinstance(value, str) and not _NUMBER.fullmatch(value):
        return _WRITTEN.sub("'", value)
    return value


def parse_csv_cell(text: str) -> str:
    """Return the text of a cell without the apostrophes that `format_csv_cell` added."""
    return _READ.sub("", text)
