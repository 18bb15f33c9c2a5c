"""How is SVG written? As text, of which every value is escaped here and nowhere else.

A document of XML 1.0 may not hold most control characters, nor half a pair of surrogates, not even escaped: they become
U+FFFD, so that what a stranger typed cannot make a picture unreadable.
"""

import re
import unicodedata
from html import escape

_NOT_IN_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What `Char` of XML 1.0 leaves out (https://www.w3.org/TR/xml/#charsets)."""

WIDE = frozenset("WF")
"""East Asian widths that take a whole em; emoji are among them."""

NARROW_EM, WIDE_EM = 0.56, 1.05
"""Mean width of a letter in a sans-serif font, and of a wide one, rounded up: a label may end early, but not run over."""


def escaped(value: object) -> str:
    """Return a value as text of XML, in an element or in a quoted attribute."""
    return escape(_NOT_IN_XML.sub("\ufffd", str(value)), quote=True)


def number(value: float) -> str:
    """Return a length with at most one decimal place, without a trailing zero."""
    text = f"{value:.1f}".removesuffix(".0")
    return "0" if text == "-0" else text


def element(tag: str, *children: str, text: object = None, **attributes: object) -> str:
    """Return an element. `text` is escaped; `children` are elements already; `class_` is the attribute class.

    An underscore in the name of an attribute stands for a hyphen. What is None is left out.
    """
    named = "".join(
        f' {name.rstrip("_").replace("_", "-")}="{number(value) if isinstance(value, float) else escaped(value)}"'
        for name, value in attributes.items()
        if value is not None
    )
    inner = "".join(children) + ("" if text is None else escaped(text))
    return f"<{tag}{named}>{inner}</{tag}>" if inner else f"<{tag}{named}/>"


def text_width(text: str, size: float) -> float:
    """Return how wide a text is at most, in the unit of the font's size."""
    return size * sum(_em(letter) for letter in text)


def clip_text(text: object, width: float, size: float) -> str:
    """Return as much of a text as fits into a width, on one line; what is cut ends in an ellipsis."""
    line = " ".join(str(text).split())
    if text_width(line, size) <= width:
        return line
    left = width - size * WIDE_EM
    found = []
    for letter in line:
        left -= size * _em(letter)
        if left < 0:
            break
        found.append(letter)
    return "".join(found).rstrip() + "…"


def _em(letter: str) -> float:
    if unicodedata.combining(letter):
        return 0.0
    return WIDE_EM if unicodedata.east_asian_width(letter) in WIDE else NARROW_EM


def title_line(text: str, width: float) -> str:
    """Return the first line of a picture."""
    return element("text", text=clip_text(text, width, 17), x=0, y=18, class_="pic-ink pic-size-l")


def sentence_line(text: str, width: float) -> str:
    """Return the line below the title, where it says what is counted."""
    return element("text", text=clip_text(text, width, 13), x=0, y=42, class_="pic-soft pic-size-m")


def zone_line(text: str, width: float) -> str:
    """Return the line below the title, where it says whose clock is shown; the legend stands at its end."""
    return element("text", text=clip_text(text, width - 236, 11), x=0, y=42, class_="pic-soft pic-size-s")
