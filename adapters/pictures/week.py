"""What does a plan look like on the days of a week? One row a day, its contacts numbered, the closed hours shaded.

Days without a contact are left out where there are more than two in a row. Rows and lines are bounded; the picture says what
it leaves out.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import date, timedelta

from msgspec import Struct

from adapters.pictures.hours_grid import HoursGrid, hatching, hour_labels, hour_lines, shade_legend, shaded, skipped_hours
from adapters.pictures.markup import clip_text, element, text_width, title_line, zone_line
from adapters.pictures.picture import NARROW_BELOW, Picture
from adapters.pictures.wall_clock import WallPiece, clock_note, minute_of, wall_pieces
from schemas.instant import Instant

DAYS_MAX = 21
"""Rows of days: three weeks fit on a page, and most schedules end within."""

LISTED_MAX = 30
"""Contacts in the list below; the table has all."""

STACKED_MAX = 5
"""Contacts of one hour that are drawn above each other; more become a count."""

EMPTY_DAYS_MAX = 2
ROW, GAP_ROW, MARK, LINE = 34.0, 20.0, 9.0, 22.0
HEAD = 78.0

CLOSED_BY = ("schedule", "law")

KINDS = {
    "call": "Call",
    "sms": "Text",
    "email": "E-mail",
    "webhook": "Webhook",
    "callback": "Promised call",
}
FILL_OF_KIND = {"call": "call", "callback": "call", "sms": "sms", "email": "email", "webhook": "webhook"}


class PlannedContact(Struct, frozen=True):
    """A contact of a plan: its kind (a channel, or callback), and why it is not sooner."""

    at: Instant
    kind: str
    step_id: str | None
    reason: str


class ClosedSpan(Struct, frozen=True):
    """Time in which no contact is allowed, by the law or by the schedule."""

    begins_at: Instant
    ends_at: Instant
    by: str


class PlannedWeek(Struct, frozen=True, kw_only=True):
    """A plan: its contacts in order of time, the closed spans, and in words how it ends. `zone` is the clock of the rows."""

    title: str
    zone: str
    begins_at: Instant
    contacts: Sequence[PlannedContact]
    closed: Sequence[ClosedSpan]
    end: str


class _Row(Struct, frozen=True):
    """A row of the grid: a day, or so many days left out."""

    day: date | None
    skipped: int = 0
    height: float = ROW


class _Placed(Struct, frozen=True):
    number: int
    contact: PlannedContact
    day: date
    minute: float
    level: int


def draw_week(plan: PlannedWeek, *, width: float = 960, name: str = "week") -> Picture:
    """Return the picture of a plan."""
    left = 96.0 if width >= NARROW_BELOW else 82.0
    grid = HoursGrid(left, width - left, name)
    placed = _placed(plan, grid)
    rows, left_out = _rows(plan, placed)
    pieces = {by: [piece for span in plan.closed if span.by == by for piece in _pieces(span, plan.zone)] for by in CLOSED_BY}
    body, y = [hatching(name), *_heading(plan, width, name), *hour_labels(grid, HEAD - 8)], HEAD
    for row in rows:
        if row.day is None:
            body += _gap(row, width, y)
        else:
            body += _day(grid, row, row.day, plan.zone, pieces, y=y)
            body += _marks(plan, grid, row.day, [one for one in placed if one.day == row.day], y)
        y += row.height
    shown = {row.day for row in rows}
    body += _list(plan, [one for one in placed if one.day in shown], left_out, width, y + 26)
    listed = min(len([one for one in placed if one.day in shown]), LISTED_MAX)
    lines = listed + (1 if left_out or len(placed) > listed else 0) + 1
    return Picture(
        name=name,
        title=plan.title,
        description=_description(plan),
        width=width,
        height=y + 26 + lines * LINE,
        body=tuple(body),
        columns=("#", "When", "What", "Step", "Why not sooner"),
        rows=tuple(_table(plan)),
    )


def _pieces(span: ClosedSpan, zone: str) -> Iterator[WallPiece]:
    return wall_pieces(span.begins_at, span.ends_at, zone)


def _placed(plan: PlannedWeek, grid: HoursGrid) -> list[_Placed]:
    """Return the contacts on their days; one that would cover another goes a level lower."""
    found: list[_Placed] = []
    ends: dict[date, list[float]] = {}
    for number, contact in enumerate(plan.contacts, 1):
        day, minute = minute_of(contact.at, plan.zone)
        x, levels = grid.x(minute), ends.setdefault(day, [])
        level = next((place for place, end in enumerate(levels) if x >= end), len(levels))
        level = min(level, STACKED_MAX)
        levels[level : level + 1] = [x + 2 * MARK + 2]
        found.append(_Placed(number, contact, day, minute, level))
    return found


def _rows(plan: PlannedWeek, placed: Sequence[_Placed]) -> tuple[list[_Row], int]:
    """Return the rows, and how many contacts are on days beyond the last one."""
    first = minute_of(plan.begins_at, plan.zone)[0]
    days = sorted({first, *(one.day for one in placed)})
    rows: list[_Row] = []
    for day in days:
        empty = (day - before).days - 1 if (before := _last_day(rows)) is not None else 0
        between = [_Row(day - timedelta(days=left)) for left in range(empty, 0, -1)] if empty <= EMPTY_DAYS_MAX else []
        rows += between if empty <= EMPTY_DAYS_MAX else [_Row(None, empty, GAP_ROW)]
        levels = max((min(one.level, STACKED_MAX) for one in placed if one.day == day), default=0)
        rows.append(_Row(day, height=ROW + levels * (2 * MARK + 2)))
        if len(rows) >= DAYS_MAX:
            break
    last = _last_day(rows) or first
    return rows, sum(one.day > last for one in placed)


def _last_day(rows: Sequence[_Row]) -> date | None:
    return next((row.day for row in reversed(rows) if row.day is not None), None)


def _heading(plan: PlannedWeek, width: float, name: str) -> Iterator[str]:
    """Yield the title, the zone of the clock, and what the shades mean."""
    yield title_line(plan.title, width)
    yield zone_line(plan.zone, width)
    yield from shade_legend(name, max(0.0, width - 232), 33)


def _day(
    grid: HoursGrid, row: _Row, day: date, zone: str, pieces: Mapping[str, Sequence[WallPiece]], *, y: float
) -> Iterator[str]:
    """Yield the ground of a day: the closed hours, lines, and a change of the clock."""
    height = row.height - 4
    yield element("rect", x=grid.left, y=y, width=grid.width, height=height, class_="pic-panel")
    for by in ("schedule", "law"):
        yield from shaded(grid, (piece for piece in pieces[by] if piece.day == day), y, height, by)
    yield from hour_lines(grid, y, y + height)
    yield from skipped_hours(grid, day, zone, y, height)
    note = clock_note(day, zone)
    yield element("text", text=f"{day:%a} {day.day} {day:%b}", x=0, y=y + (14 if note else 20), class_="pic-ink pic-size-m")
    if note is not None:
        label = element("title", text=f"On this day {note}")
        yield element("text", label, text="clock changes", x=0, y=y + 28, class_="pic-soft pic-size-s")


def _marks(plan: PlannedWeek, grid: HoursGrid, day: date, on_day: Sequence[_Placed], y: float) -> Iterator[str]:
    begins, minute = minute_of(plan.begins_at, plan.zone)
    if day == begins:
        label = element("title", text=f"{_when(plan.begins_at, plan.zone)}: the lead is submitted")
        yield element("path", label, d=f"M{grid.x(minute):.1f} {y:.1f}v30", class_="pic-line pic-now")
    hidden = [one for one in on_day if one.level >= STACKED_MAX]
    for one in on_day:
        if one.level < STACKED_MAX:
            yield from _mark(plan, grid, one, y + 15 + one.level * (2 * MARK + 2))
    if hidden:
        x, lower = grid.x(hidden[0].minute), y + 19 + STACKED_MAX * (2 * MARK + 2)
        yield element("text", text=f"+{len(hidden)}", x=x, y=lower, class_="pic-ink pic-size-s pic-strong pic-middle")


def _mark(plan: PlannedWeek, grid: HoursGrid, one: _Placed, y: float) -> Iterator[str]:
    x = min(max(grid.x(one.minute), grid.left + MARK), grid.left + grid.width - MARK)
    label = element("title", text=f"{one.number}. {_sentence(plan, one.contact)}")
    dot = element("circle", cx=x, cy=y, r=MARK, class_=f"pic-{FILL_OF_KIND.get(one.contact.kind, 'effect')}")
    digits = element("text", text=one.number, x=x, y=y + 4, class_="pic-on-mark pic-size-s pic-strong pic-middle")
    yield element("g", label, dot, digits)


def _gap(row: _Row, width: float, y: float) -> Iterator[str]:
    text = f"{row.skipped} days without a contact"
    half = text_width(text, 11) / 2 + 8
    yield element("path", d=f"M0 {y + 8:.1f}H{width / 2 - half:.1f}", class_="pic-line pic-grid pic-dash")
    yield element("path", d=f"M{width / 2 + half:.1f} {y + 8:.1f}H{width:.1f}", class_="pic-line pic-grid pic-dash")
    yield element("text", text=text, x=width / 2, y=y + 12, class_="pic-soft pic-size-s pic-middle")


def _list(plan: PlannedWeek, placed: Sequence[_Placed], left_out: int, width: float, y: float) -> Iterator[str]:
    for one in placed[:LISTED_MAX]:
        kind = FILL_OF_KIND.get(one.contact.kind, "effect")
        yield element("circle", cx=MARK, cy=y - 4, r=MARK, class_=f"pic-{kind}")
        number_class = "pic-on-mark pic-size-s pic-strong pic-middle"
        yield element("text", text=one.number, x=MARK, y=y, class_=number_class)
        text = clip_text(_sentence(plan, one.contact), width - 28, 13)
        yield element("text", text=text, x=28, y=y, class_="pic-ink pic-size-m")
        y += LINE
    more = left_out + max(0, len(placed) - LISTED_MAX)
    if more:
        text = f"{more} more contacts are in the table, not in the drawing"
        yield element("text", text=text, x=28, y=y, class_="pic-soft pic-size-m")
        y += LINE
    yield element("text", text=clip_text(plan.end, width - 28, 13), x=28, y=y, class_="pic-soft pic-size-m")


def _sentence(plan: PlannedWeek, contact: PlannedContact) -> str:
    step = f" · {contact.step_id}" if contact.step_id else ""
    why = f" · {contact.reason}" if contact.reason else ""
    return f"{_when(contact.at, plan.zone)} · {KINDS.get(contact.kind, contact.kind)}{step}{why}"


def _when(at: Instant, zone: str) -> str:
    day, minute = minute_of(at, zone)
    return f"{day:%a} {day.day} {day:%b} {int(minute) // 60:02}:{int(minute) % 60:02}"


def _description(plan: PlannedWeek) -> str:
    if not plan.contacts:
        return f"No contact is planned. {plan.end}"
    first, last = (_when(plan.contacts[place].at, plan.zone) for place in (0, -1))
    count = len(plan.contacts)
    return f"{count} contacts, from {first} to {last} on the clock of {plan.zone}. {plan.end}"


def _table(plan: PlannedWeek) -> Iterator[tuple[str, ...]]:
    for place, contact in enumerate(plan.contacts, 1):
        kind = KINDS.get(contact.kind, contact.kind)
        yield str(place), _when(contact.at, plan.zone), kind, contact.step_id or "", contact.reason
