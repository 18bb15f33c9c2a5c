"""How is a value written to a cell of CSV, and read back? Safe from CSV injection, and without loss of text.

A spreadsheet runs text that begins with `=`, `+`, `-`, `@`, a tab or a line break as a formula. Such text gets an apostrophe
in front (https://owasp.org/www-community/attacks/CSV_Injection), and so does text that looks as if it had got one: then
reading takes away exactly what writing added. Numbers and telephone numbers stay as they are.
"""

import re
from typing import Any

import msgspec

_FORMULA = re.compile(r"'*[=+\-@\t\r\n]")
_NUMBER = re.compile(r"[+-]?[0-9]+(?:\.[0-9]+)?", re.ASCII)


def format_csv_cell(value: Any) -> Any:
    """Return a value as it is written to CSV; text that looks like a formula gets an apostrophe."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict | list | tuple):
        return msgspec.json.encode(value).decode()
    if isinstance(value, str) and _FORMULA.match(value) and not _NUMBER.fullmatch(value):
        return f"'{value}"
    return value


def parse_csv_cell(text: str) -> str:
    """Return the text of a cell without the apostrophe that `format_csv_cell` added."""
    return text[1:] if text.startswith("'") and _FORMULA.match(text) else text
