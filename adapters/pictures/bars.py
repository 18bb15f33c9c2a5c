"""Which is the largest? Bars from one edge, each with its label and its figure: a report by one category, or a funnel.

Bars are bounded: a report has thousands of rows, a picture those that a reader compares. A negative figure has a bar of
another colour, as long as it would be above zero; its sign is in the text.
"""

from collections.abc import Iterator, Sequence

from msgspec import Struct

from adapters.pictures.markup import clip_text, element, sentence_line, text_width, title_line
from adapters.pictures.picture import Picture

BARS_MAX = 31
"""Bars that are drawn: the days of a month. The table of the report has the others."""

HEAD, ROW, FOOT = 58.0, 28.0, 6.0

LABEL_SHARE = 0.3
"""Of the width, for labels: names of buyers fit on a desk, and are cut on a telephone."""


class Bar(Struct, frozen=True):
    """A label, a figure (None: there is none), and how the figure is written."""

    label: str
    value: float | None
    shown: str


class Bars(Struct, frozen=True, kw_only=True):
    """Figures by label; `nothing` is said where there are none."""

    title: str
    sentence: str
    heading: str
    figure: str
    bars: Sequence[Bar]
    nothing: str


def draw_bars(data: Bars, *, width: float = 960, name: str = "bars") -> Picture:
    """Return the picture of bars."""
    drawn = data.bars[:BARS_MAX]
    most = max((abs(bar.value) for bar in drawn if bar.value is not None), default=0.0)
    label = width * LABEL_SHARE
    shown = max((text_width(bar.shown, 13) for bar in drawn), default=0.0) + 8
    body = [title_line(data.title, width), sentence_line(data.sentence, width)]
    y = HEAD
    for bar in drawn:
        body += _bar(data, bar, most, left=label, room=max(8.0, width - label - shown), y=y)
        y += ROW
    if not drawn:
        body.append(element("text", text=clip_text(data.nothing, width, 13), x=0, y=y + 16, class_="pic-soft pic-size-m"))
        y += ROW
    return Picture(
        name=name,
        title=data.title,
        description=_description(data, drawn),
        width=width,
        height=y + FOOT,
        body=tuple(body),
        columns=(data.heading, data.figure),
        rows=tuple((bar.label, bar.shown) for bar in drawn),
    )


def _bar(data: Bars, bar: Bar, most: float, *, left: float, room: float, y: float) -> Iterator[str]:
    note = element("title", text=f"{bar.label}: {bar.shown} {data.figure}")
    yield element("text", note, text=clip_text(bar.label, left - 10, 13), x=0, y=y + 18, class_="pic-ink pic-size-m")
    length = 0.0 if bar.value is None or not most else abs(bar.value) / most * room
    look = "pic-bad" if bar.value is not None and bar.value < 0 else "pic-call"
    if length:
        yield element("rect", note, x=left, y=y + 4, width=max(2.0, length), height=ROW - 8, rx=3, class_=look)
    yield element("text", text=bar.shown, x=left + length + 6, y=y + 18, class_="pic-ink pic-size-m pic-tabular")


def _description(data: Bars, drawn: Sequence[Bar]) -> str:
    known = [bar for bar in drawn if bar.value is not None]
    if not known:
        return f"{data.nothing}. {data.sentence}"
    most = max(known, key=lambda bar: bar.value or 0)
    return f"{data.figure} by {data.heading.lower()}; most: {most.label}, {most.shown}. {data.sentence}"
