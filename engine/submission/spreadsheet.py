"""What did a spreadsheet make of a telephone number or postal code? It writes `12125550100.0`, `="+1..."`, `1.21255E+10`.

What only looks different is put right. Digits that were rounded away cannot be, so such a number is refused.
"""

import re
import unicodedata

_FORMULA = re.compile(r'="([^"]*)"')
_FRACTION = re.compile(r"(\+?[0-9]{3,15})\.0+", re.ASCII)
_ROUNDED = re.compile(r"[0-9](?:[.,][0-9]+)?[eE]\+?[0-9]{1,2}", re.ASCII)

DIGITS_LOST = "has lost its digits in a spreadsheet; format the column as text there, and export the file of origin again"


def read_cell(text: str) -> str:
    """Return the text that was meant: without invisible marks, full width, a formula around it, and a fraction of zeros."""
    plain = "".join(mark for mark in unicodedata.normalize("NFKC", text) if unicodedata.category(mark) != "Cf").strip()
    if formula := _FORMULA.fullmatch(plain):
        plain = formula[1].strip()
    fraction = _FRACTION.fullmatch(plain)
    return plain if fraction is None else fraction[1]


def has_lost_digits(text: str) -> bool:
    """Return whether a number was rounded: `1.21255E+10` may be any of 100,000 numbers."""
    return _ROUNDED.fullmatch(text.strip()) is not None
