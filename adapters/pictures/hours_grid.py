"""How are days drawn as rows of 24 hours, with the closed hours shaded and what happens marked?"""

from collections.abc import Iterable, Iterator, Mapping
from datetime import date

from msgspec import Struct

from adapters.pictures.markup import element
from adapters.pictures.wall_clock import MINUTES_A_DAY, WallPiece, skipped_minutes

NARROW = 560
"""Below this width there is a label at every sixth hour, not at every third."""


class HoursGrid(Struct, frozen=True):
    """The place of a grid: its left edge, the width of 24 hours, and the name that its ids begin with."""

    left: float
    width: float
    name: str

    def x(self, minute: float) -> float:
        """Return where a minute of the day is."""
        return self.left + self.width * minute / MINUTES_A_DAY


def hatching(name: str) -> str:
    """Return the pattern of hours that the law closes."""
    line = element("path", d="M0 6L6 0", class_="pic-hatch")
    ground = element("rect", width=6, height=6, class_="pic-by-law")
    return element(
        "defs", element("pattern", ground, line, id=f"{name}-law", width=6, height=6, patternUnits="userSpaceOnUse")
    )


def shade_legend(name: str, x: float, y: float) -> Iterator[str]:
    """Yield what the shades mean, on 232 units."""
    shades: tuple[tuple[str, Mapping[str, str]], ...] = (
        ("closed by law", {"fill": f"url(#{name}-law)"}),
        ("by the schedule", {"class_": "pic-by-schedule"}),
    )
    for text, look in shades:
        yield element("rect", x=x, y=y, width=14, height=11, **look)
        yield element("rect", x=x, y=y, width=14, height=11, class_="pic-line pic-frame")
        yield element("text", text=text, x=x + 20, y=y + 9, class_="pic-soft pic-size-s")
        x += 114


def hour_labels(grid: HoursGrid, y: float) -> Iterator[str]:
    """Yield the hours above a grid."""
    every = 6 if grid.width < NARROW else 3
    for hour in range(0, 25, every):
        anchor = "" if hour == 0 else " pic-right" if hour == 24 else " pic-middle"  # noqa: PLR2004 - the end of the day
        yield element(
            "text", text=f"{hour:02}:00", x=grid.x(hour * 60), y=y, class_=f"pic-soft pic-size-s pic-tabular{anchor}"
        )


def hour_lines(grid: HoursGrid, top: float, bottom: float) -> Iterator[str]:
    """Yield a line at every third hour."""
    path = "".join(f"M{grid.x(hour * 60):.1f} {top:.1f}V{bottom:.1f}" for hour in range(0, 25, 3))
    yield element("path", d=path, class_="pic-line pic-grid")


def shaded(grid: HoursGrid, pieces: Iterable[WallPiece], y: float, height: float, by: str) -> Iterator[str]:
    """Yield rectangles over closed hours: hatched where the law closes them, plain where the schedule does."""
    for piece in pieces:
        left, right = grid.x(piece.begins), grid.x(piece.ends)
        if right - left < 0.05:  # noqa: PLR2004 - less than the rounding of a length
            continue
        look: Mapping[str, str] = {"fill": f"url(#{grid.name}-law)"} if by == "law" else {"class_": "pic-by-schedule"}
        yield element("rect", x=left, y=y, width=right - left, height=height, **look)


def skipped_hours(grid: HoursGrid, day: date, zone: str, y: float, height: float) -> Iterator[str]:
    """Yield a frame over the hour that the clock skips, if the day has one."""
    skipped = skipped_minutes(day, zone)
    if skipped is not None:
        left, right = (grid.x(minute) for minute in skipped)
        note = element("title", text="The clock skips this time")
        yield element("rect", note, x=left, y=y, width=right - left, height=height, class_="pic-paper pic-frame pic-dash")
