"""When may people be contacted in each state today? A map with a tile for each state, and in it the day as a bar.

Tiles have one size, so that Rhode Island is seen as well as Texas. A bar begins and ends with the day of the reader; what is
filled is open. The table and the notes say in words what the colours show.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from msgspec import Struct

from adapters.pictures.markup import element, sentence_line, title_line
from adapters.pictures.picture import NARROW_BELOW, Picture
from engine.calendar import local_datetime
from schemas.instant import Instant, from_datetime

PLACES: Mapping[str, tuple[int, int]] = {
    state: (column, row)
    for row, line in enumerate(
        (
            "AK .. .. .. .. .. .. .. .. .. .. ME",
            ".. .. .. .. .. .. .. .. .. .. VT NH",
            ".. WA ID MT ND MN IL WI MI NY RI MA",
            ".. OR NV WY SD IA IN OH PA NJ CT ..",
            ".. CA UT CO NE MO KY WV VA MD DE ..",
            ".. .. AZ NM KS AR TN NC SC DC .. ..",
            ".. .. .. .. OK LA MS AL GA .. .. ..",
            "HI .. .. .. TX .. .. .. .. FL .. ..",
        )
    )
    for column, state in enumerate(line.split())
    if state != ".."
}
"""State -> column and row of its tile: neighbours on the map are neighbours here, as far as a grid allows."""

COLUMNS, ROWS = 12, 8
HEAD, FOOT = 64.0, 28.0
TILE_WIDE, TILE_NARROW = 52.0, 34.0


class StateTile(Struct, frozen=True, kw_only=True):
    """A state: the spans of the day in which contacts are allowed, and whether they are at the instant of the map."""

    state: str
    name: str
    open_spans: Sequence[tuple[Instant, Instant]]
    is_open: bool
    rules: Sequence[str]
    rules_until: Instant | None = None


class StateMap(Struct, frozen=True, kw_only=True):
    """The states on one day, which begins and ends on the clock of a zone, and at one instant, `now` or another."""

    title: str
    zone: str
    begins_at: Instant
    ends_at: Instant
    now: Instant
    tiles: Sequence[StateTile]


def read_state_map(found: Mapping[str, Any], *, title: str) -> StateMap:
    """Return the map of an answer of the API."""
    return StateMap(
        title=title,
        zone=found["time_zone"],
        begins_at=_instant(found["from"]),
        ends_at=_instant(found["to"]),
        now=_instant(found["at"]),
        tiles=[
            StateTile(
                state=one["state"],
                name=one["name"],
                open_spans=[(_instant(span["from"]), _instant(span["to"])) for span in one["open"]],
                is_open=one["is_open"],
                rules=one["rules"],
                rules_until=None if one.get("rules_until") is None else _instant(one["rules_until"]),
            )
            for one in found["states"]
        ],
    )


def draw_state_map(data: StateMap, *, width: float = 960, name: str = "states") -> Picture:
    """Return the picture of the map."""
    size = width / COLUMNS
    tall = TILE_WIDE if width >= NARROW_BELOW else TILE_NARROW
    said = _sentence(data)
    body = [title_line(data.title, width), sentence_line(said, width)]
    for tile in data.tiles:
        if tile.state in PLACES:
            column, row = PLACES[tile.state]
            body += _tile(data, tile, (column * size + 1, HEAD + row * tall + 1), (size - 2, tall - 2))
    bottom = HEAD + ROWS * tall
    body += _legend(_clock(data, data.now), bottom + 8)
    return Picture(
        name=name,
        title=data.title,
        description=said,
        width=width,
        height=bottom + FOOT,
        body=tuple(body),
        columns=("State", f"At {_clock(data, data.now)}", f"Open on the clock of {data.zone}", "Rules", "Until"),
        rows=tuple(
            (f"{one.name} ({one.state})", _word(one), hours_text(data, one), ", ".join(one.rules), until_text(data, one))
            for one in data.tiles
        ),
    )


def hours_text(data: StateMap, tile: StateTile) -> str:
    """Return the open spans of a state as text, on the clock of the reader."""
    if not tile.open_spans:
        return "closed all day"
    return ", ".join(f"{_clock(data, begins)}-{_clock(data, ends)}" for begins, ends in tile.open_spans)


def until_text(data: StateMap, tile: StateTile) -> str:
    """Return until when the rules of a state hold, on the clock of the reader."""
    if tile.rules_until is None:
        return "no change is known"
    return f"{local_datetime(tile.rules_until, data.zone):%-d %b %Y, %H:%M}"


def _tile(data: StateMap, tile: StateTile, corner: tuple[float, float], size: tuple[float, float]) -> Iterator[str]:
    (x, y), (width, height) = corner, size
    until = "" if tile.rules_until is None else f"; by these rules until {until_text(data, tile)}"
    said = f"{tile.name}: {_word(tile)} at {_clock(data, data.now)}; {hours_text(data, tile)}{until}"
    note = element("title", text=said)
    ground = "heat-1" if tile.is_open else "none"
    yield element("rect", note, x=x, y=y, width=width, height=height, rx=4, class_=f"pic-{ground}")
    look = "pic-strong " if tile.is_open else ""
    letters = "pic-size-m" if width >= NARROW_BELOW / COLUMNS else "pic-size-s"
    yield element("text", text=tile.state, x=x + width / 2, y=y + height / 2, class_=f"{look}pic-ink {letters} pic-middle")
    if tile.is_open:
        yield element("rect", x=x, y=y, width=width, height=height, rx=4, class_="pic-line pic-axis")
    left, room, top = x + 3, width - 6, y + height - 9
    yield element("rect", x=left, y=top, width=room, height=5, class_="pic-by-law")
    for begins, ends in tile.open_spans:
        start, end = (_share(data, at) for at in (begins, ends))
        yield element("rect", x=left + start * room, y=top, width=(end - start) * room, height=5, class_="pic-call")
    if data.begins_at <= data.now < data.ends_at:
        now = left + _share(data, data.now) * room
        yield element("path", d=f"M{now:.1f} {top - 2:.1f}V{top + 7:.1f}", class_="pic-line pic-now")


def _legend(now: str, y: float) -> Iterator[str]:
    """Yield what the marks mean."""
    yield element("rect", x=0, y=y, width=14, height=5, class_="pic-call")
    yield element("text", text="open", x=20, y=y + 7, class_="pic-soft pic-size-s")
    yield element("rect", x=66, y=y, width=14, height=5, class_="pic-by-law")
    yield element("text", text="closed by law", x=86, y=y + 7, class_="pic-soft pic-size-s")
    yield element("path", d=f"M174 {y - 3:.1f}V{y + 8:.1f}", class_="pic-line pic-now")
    yield element("text", text=now, x=182, y=y + 7, class_="pic-soft pic-size-s")
    yield element("rect", x=224, y=y - 3, width=14, height=11, rx=2, class_="pic-line pic-axis")
    yield element("text", text="open then", x=244, y=y + 7, class_="pic-soft pic-size-s")


def _sentence(data: StateMap) -> str:
    count = sum(tile.is_open for tile in data.tiles)
    at = f"{local_datetime(data.now, data.zone):%-d %b, %H:%M}"
    closed = [tile.state for tile in data.tiles if not tile.open_spans]
    shut = f"; closed all day: {', '.join(closed)}" if closed else ""
    return f"{count} of {len(data.tiles)} states are open at {at}, clock of {data.zone}{shut}"


def _word(tile: StateTile) -> str:
    return "open" if tile.is_open else "closed"


def _share(data: StateMap, at: Instant) -> float:
    return (at - data.begins_at) / (data.ends_at - data.begins_at)


def _clock(data: StateMap, at: Instant) -> str:
    return "24:00" if at == data.ends_at else f"{local_datetime(at, data.zone):%H:%M}"


def _instant(text: str) -> Instant:
    return from_datetime(datetime.fromisoformat(text))
