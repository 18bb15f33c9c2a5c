"""When is most due? A heat map of hours by day, or by state: the darker a cell, the more.

Shades are steps of the greatest count, so that a map of 10 and one of 10,000 both show their peaks. Rows are bounded: the
last one sums what does not fit.
"""

from collections.abc import Iterator, Sequence
from math import ceil

from msgspec import Struct

from adapters.pictures.markup import clip_text, element, sentence_line, text_width, title_line
from adapters.pictures.picture import NARROW_BELOW, Picture

ROWS_MAX = 24
"""Rows that are drawn: the largest states, and more days than a forecast has. The others are one row."""

SHADES = 5
"""Shades above that of zero: more cannot be distinguished at a glance (ColorBrewer shows five to seven at most)."""

NUMBERS_FROM = 26.0
"""The width of a cell from which on its number is written in it."""

LABEL_MAX = 64.0
"""Room that the label of a column gets by leaving out those beside it; a longer one is cut."""

HOURS_OF_DAY: tuple[str, ...] = tuple(f"{hour:02}" for hour in range(24))
"""Columns of a map of the hours of a day."""

HEAD, ROW, FOOT = 84.0, 28.0, 44.0


class HeatRow(Struct, frozen=True):
    """A row: its label, and a count for each column; None where there is none, as an hour that the clock does not show.

    `total` is shown at its end instead of the sum, which rates do not have.
    """

    label: str
    counts: Sequence[int | None]
    total: str | None = None


class HeatMap(Struct, frozen=True, kw_only=True):
    """Counts by row and column; `unit` says of what, in the plural, and `each` in what a cell is counted.

    At most `rows_max` are drawn. `nothing` is said where there are no rows, `absent` of a cell without a count; `end`
    stands above the totals.
    """

    title: str
    sentence: str
    unit: str
    columns: Sequence[str]
    rows: Sequence[HeatRow]
    row_heading: str
    each: str = " in an hour"
    nothing: str | None = None
    absent: str = "the clock does not show this hour"
    end: str = "sum"
    rows_max: int = ROWS_MAX


def draw_heat_map(data: HeatMap, *, width: float = 960, name: str = "heat") -> Picture:
    """Return the picture of a heat map."""
    left = 96.0 if width >= NARROW_BELOW else 82.0
    total = 52.0 if width >= NARROW_BELOW else 38.0
    cell = (width - left - total) / max(1, len(data.columns))
    rows = _bounded(data.rows, data.rows_max)
    most = max((count for row in rows for count in row.counts if count is not None), default=0)
    body = [*_heading(data, width, left, cell)]
    y = HEAD
    for row in rows:
        body += _row(data, row, most, left=left, cell=cell, y=y, end=width)
        y += ROW
    if not rows:
        body.append(element("text", text=_nothing(data), x=0, y=y + 16, class_="pic-soft pic-size-m"))
        y += ROW
    body += _legend(data, most, left if width >= NARROW_BELOW else 0.0, y + 18, width=width)
    return Picture(
        name=name,
        title=data.title,
        description=_description(data, rows),
        width=width,
        height=y + FOOT,
        body=tuple(body),
        columns=(data.row_heading, *data.columns, data.end.capitalize()),
        rows=tuple(
            (row.label, *("" if n is None else str(n) for n in row.counts), row.total or str(_sum(row))) for row in rows
        ),
    )


def _bounded(rows: Sequence[HeatRow], most: int) -> list[HeatRow]:
    """Return the rows, those beyond the bound summed as one."""
    if len(rows) <= most:
        return list(rows)
    rest = rows[most - 1 :]
    places = range(len(rest[0].counts))
    summed = [sum(row.counts[place] or 0 for row in rest) for place in places]
    return [*rows[: most - 1], HeatRow(f"{len(rest)} others", summed)]


def _heading(data: HeatMap, width: float, left: float, cell: float) -> Iterator[str]:
    yield title_line(data.title, width)
    yield sentence_line(data.sentence, width)
    every = 1 if cell >= NUMBERS_FROM else 6 if cell < 16 else 3  # noqa: PLR2004 - as labels have room
    widest = max((text_width(column, 11) for column in data.columns), default=0.0)
    every = max(every, ceil((min(widest, LABEL_MAX) + 6) / cell))
    for place in range(0, len(data.columns), every):
        x, text = left + (place + 0.5) * cell, clip_text(data.columns[place], every * cell - 4, 11)
        yield element("text", text=text, x=x, y=HEAD - 8, class_="pic-soft pic-size-s pic-middle pic-tabular")
    yield element("text", text=data.end, x=width, y=HEAD - 8, class_="pic-soft pic-size-s pic-right")


def _row(data: HeatMap, row: HeatRow, most: int, *, left: float, cell: float, y: float, end: float) -> Iterator[str]:
    label = element("title", text=row.label)
    yield element("text", label, text=clip_text(row.label, left - 8, 13), x=0, y=y + 18, class_="pic-ink pic-size-m")
    for place, count in enumerate(row.counts):
        x, said = left + place * cell, f"{row.label}, {data.columns[place]}: "
        if count is None:
            note = element("title", text=f"{said}{data.absent}")
            yield element("rect", note, x=x + 1, y=y + 1, width=cell - 2, height=ROW - 2, rx=3, class_="pic-line pic-grid")
            continue
        shade = _shade(count, most)
        note = element("title", text=f"{said}{count} {data.unit}")
        yield element("rect", note, x=x + 1, y=y + 1, width=cell - 2, height=ROW - 2, rx=3, class_=f"pic-heat-{shade}")
        if count and cell >= NUMBERS_FROM:
            look = f"pic-on-heat-{shade} pic-size-s pic-middle pic-tabular"
            yield element("text", text=short_count(count), x=x + cell / 2, y=y + 18, class_=look)
    total = row.total or short_count(_sum(row))
    yield element("text", text=total, x=end, y=y + 18, class_="pic-ink pic-size-m pic-right pic-tabular")


def _legend(data: HeatMap, most: int, left: float, y: float, *, width: float) -> Iterator[str]:
    """Yield the shades and their counts."""
    yield element("text", text="0", x=left, y=y + 10, class_="pic-soft pic-size-s")
    for shade in range(SHADES + 1):
        yield element("rect", x=left + 14 + shade * 24, y=y, width=22, height=12, rx=3, class_=f"pic-heat-{shade}")
    text = f"{short_count(most)} {data.unit}{data.each}"
    x = left + 20 + (SHADES + 1) * 24
    yield element("text", text=clip_text(text, width - x, 11), x=x, y=y + 10, class_="pic-soft pic-size-s")


def _shade(count: int, most: int) -> int:
    """Return the shade of a count: 0 for none, so that one thing that is due is seen beside thousands."""
    return 0 if count <= 0 else max(1, -(-count * SHADES // most))


def short_count(count: int) -> str:
    """Return a count in at most four letters: 950, 1.2k, 34k, 5.1M."""
    for size, letter in ((1_000_000, "M"), (1_000, "k")):
        if count >= size:
            value = count / size
            return f"{value:.1f}{letter}" if value < 9.95 else f"{value:.0f}{letter}"  # noqa: PLR2004 - two digits
    return str(count)


def _sum(row: HeatRow) -> int:
    return sum(count or 0 for count in row.counts)


def _description(data: HeatMap, rows: Sequence[HeatRow]) -> str:
    if not rows:
        return f"{_nothing(data)}. {data.sentence}"
    peaks = ((count or 0, row.label, data.columns[place]) for row in rows for place, count in enumerate(row.counts))
    count, label, column = max(peaks, key=lambda peak: peak[0])
    most = f"most in one cell: {count} ({label}, {column}). {data.sentence}"
    if any(row.total is not None for row in rows):
        return f"{data.unit}; {most}"
    return f"{sum(_sum(row) for row in rows)} {data.unit} in all; {most}"


def _nothing(data: HeatMap) -> str:
    return f"No {data.unit} are due" if data.nothing is None else data.nothing
