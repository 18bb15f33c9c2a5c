"""What happened to a lead, and what will? One line of time with a row for each channel, the closed hours shaded behind.

Marks that would cover each other become one with a count, so that a lead of 10,000 events is drawn as fast as one of ten.
Calls last seconds on a line of days: their ring and talk have a chart of their own below.
"""

from collections.abc import Callable, Iterator, Sequence

from msgspec import Struct

from adapters.pictures.hours_grid import hatching, shade_legend
from adapters.pictures.markup import clip_text, element, title_line, zone_line
from adapters.pictures.picture import NARROW_BELOW, Picture
from adapters.pictures.time_axis import ticks
from adapters.pictures.week import ClosedSpan
from engine.calendar import local_datetime
from schemas.instant import DAY, MINUTE, Instant

TRACKS = {"lead": "Lead", "plan": "Plan", "call": "Calls", "sms": "Texts", "email": "E-mails", "other": "Other"}
"""Rows, from the top down. One without a mark is left out, but the first two."""

ALWAYS = ("lead", "plan")

CALLS_MAX, CALLS_NARROW_MAX = 12, 6
"""Calls in the chart of ring and talk: the newest."""

LISTED_MAX = 1_000
"""Events in the table: the newest, as many as the API gives."""

SHADED_FROM = 4.0
"""A day must be so wide for its closed hours to be seen."""

MARK = 7.0
HEAD, ROW, CALL_ROW = 72.0, 34.0, 24.0
SPAN_MIN = 10 * MINUTE


class TimelineMark(Struct, frozen=True, kw_only=True):
    """Something that happened: on which row, with which colour, in which words."""

    at: Instant
    track: str
    fill: str
    label: str
    detail: str = ""
    until: Instant | None = None


class TalkedCall(Struct, frozen=True, kw_only=True):
    """A call: how long it rang and how long it lasted from the answer on."""

    at: Instant
    ring_seconds: int
    talk_seconds: int
    label: str


class LeadTimeline(Struct, frozen=True, kw_only=True):
    """A lead: marks in the order of time, its calls, the closed hours, and what is to come at `next_at`.

    `note` says what is not shown; `asked_at` is an instant that somebody asks about.
    """

    title: str
    zone: str
    now: Instant
    marks: Sequence[TimelineMark]
    calls: Sequence[TalkedCall] = ()
    closed: Sequence[ClosedSpan] = ()
    next_at: Instant | None = None
    next_label: str = ""
    asked_at: Instant | None = None
    note: str = ""


class _Scale(Struct, frozen=True):
    begins_at: Instant
    ends_at: Instant
    left: float
    width: float

    def x(self, at: Instant) -> float:
        share = (at - self.begins_at) / (self.ends_at - self.begins_at)
        return self.left + self.width * min(1.0, max(0.0, share))

    @property
    def a_day(self) -> float:
        return self.width * DAY / (self.ends_at - self.begins_at)


class _Cluster(Struct):
    """Marks that are drawn as one."""

    x: float
    marks: list[TimelineMark]


def draw_timeline(lead: LeadTimeline, *, width: float = 960, name: str = "timeline") -> Picture:
    """Return the picture of a lead."""
    is_wide = width >= NARROW_BELOW
    left = 76.0 if is_wide else 58.0
    scale = _Scale(*shown_span(lead), left, width - left - MARK - 2)
    tracks = [track for track in TRACKS if track in ALWAYS or any(mark.track == track for mark in lead.marks)]
    bottom = HEAD + ROW * len(tracks)
    body = [hatching(name), *_heading(lead, width, name), *_ground(lead, scale, tracks, bottom, name)]
    for place, track in enumerate(tracks):
        body += _track(lead, scale, track, HEAD + ROW * place)
    body += _lines(lead, scale, bottom)
    y = bottom + 34
    if lead.calls:
        body += _calls(lead, width, y, CALLS_MAX if is_wide else CALLS_NARROW_MAX)
        y += 26 + CALL_ROW * min(len(lead.calls), CALLS_MAX if is_wide else CALLS_NARROW_MAX) + 6
    notes = [text for text in (lead.note, _not_shaded(lead, scale)) if text]
    for text in notes:
        body.append(element("text", text=clip_text(text, width, 11), x=0, y=y + 10, class_="pic-soft pic-size-s"))
        y += 16
    return Picture(
        name=name,
        title=lead.title,
        description=_description(lead),
        width=width,
        height=y + 4,
        body=tuple(body),
        columns=("When", "What", "Detail"),
        rows=tuple((show_instant(mark.at, lead.zone), mark.label, mark.detail) for mark in list(lead.marks)[-LISTED_MAX:]),
    )


def shown_span(lead: LeadTimeline) -> tuple[Instant, Instant]:
    """Return from when to when a lead is shown: from its first mark until what comes next, with some room on both sides."""
    instants = [lead.now, *(mark.at for mark in lead.marks), *(mark.until for mark in lead.marks if mark.until is not None)]
    instants += [at for at in (lead.next_at, lead.asked_at) if at is not None]
    begins, ends = min(instants), max(instants)
    room = max(SPAN_MIN - (ends - begins), (ends - begins) // 25, MINUTE) // 2
    return begins - room, ends + room


def _heading(lead: LeadTimeline, width: float, name: str) -> Iterator[str]:
    yield title_line(lead.title, width)
    yield zone_line(lead.zone, width)
    if lead.closed:
        yield from shade_legend(name, max(0.0, width - 232), 33)


def _ground(lead: LeadTimeline, scale: _Scale, tracks: Sequence[str], bottom: float, name: str) -> Iterator[str]:
    """Yield the closed hours, the lines between rows, and the labels of the axis."""
    height = bottom - HEAD
    yield element("rect", x=scale.left, y=HEAD, width=scale.width, height=height, class_="pic-panel")
    if scale.a_day >= SHADED_FROM:
        for by in ("schedule", "law"):
            for span in lead.closed:
                if span.by == by and span.ends_at > scale.begins_at and span.begins_at < scale.ends_at:
                    x, right = scale.x(span.begins_at), scale.x(span.ends_at)
                    look = {"fill": f"url(#{name}-law)"} if by == "law" else {"class_": "pic-by-schedule"}
                    yield element("rect", x=x, y=HEAD, width=right - x, height=height, **look)
    rows = "".join(f"M0 {HEAD + ROW * place:.1f}H{scale.left + scale.width:.1f}" for place in range(len(tracks) + 1))
    yield element("path", d=rows, class_="pic-line pic-grid")
    room = max(2, int(scale.width / (84 if scale.width >= NARROW_BELOW else 56)))
    for tick in ticks(scale.begins_at, scale.ends_at, lead.zone, room=room):
        x = scale.x(tick.at)
        yield element(
            "path",
            d=f"M{x:.1f} {HEAD:.1f}V{bottom + 4:.1f}",
            class_="pic-line pic-axis" if tick.is_day else "pic-line pic-grid",
        )
        edge = 32.0
        anchor = "" if x < scale.left + edge else " pic-right" if x > scale.left + scale.width - edge else " pic-middle"
        yield element("text", text=tick.label, x=x, y=bottom + 16, class_=f"pic-soft pic-size-s pic-tabular{anchor}")


def _track(lead: LeadTimeline, scale: _Scale, track: str, y: float) -> Iterator[str]:
    middle = y + ROW / 2
    yield element("text", text=TRACKS[track], x=0, y=middle + 4, class_="pic-ink pic-size-m")
    marks = [mark for mark in lead.marks if mark.track == track]
    for mark in marks[-LISTED_MAX:]:
        if mark.until is not None:
            x, right = scale.x(mark.at), scale.x(mark.until)
            if right - x > 2 * MARK:
                yield element("path", d=f"M{x:.1f} {middle:.1f}H{right:.1f}", class_="pic-line pic-edge")
    for cluster in clusters(marks, scale.x):
        yield _mark(lead, cluster, middle)
    if track == "plan" and lead.next_at is not None:
        label = element("title", text=f"{show_instant(lead.next_at, lead.zone)}: {lead.next_label}")
        yield element("circle", label, cx=scale.x(lead.next_at), cy=middle, r=MARK - 1, class_="pic-paper pic-frame-now")


def clusters(marks: Sequence[TimelineMark], x_of: Callable[[Instant], float]) -> list[_Cluster]:
    """Return marks in groups: one that would cover the group before it joins that."""
    found: list[_Cluster] = []
    for mark in marks:
        x = x_of(mark.at)
        if found and x - found[-1].x < 2 * MARK + 1:
            found[-1].marks.append(mark)
        else:
            found.append(_Cluster(x, [mark]))
    return found


def _mark(lead: LeadTimeline, cluster: _Cluster, y: float) -> str:
    """Return the mark of one event, or of several with their count."""
    marks = cluster.marks
    fills = {mark.fill for mark in marks}
    fill = next((fill for fill in ("bad", "good") if fill in fills), marks[-1].fill)
    shown = [f"{show_instant(mark.at, lead.zone)}: {mark.label}" for mark in marks[:5]]
    more = [f"and {len(marks) - 5} more"] if len(marks) > 5 else []  # noqa: PLR2004 - as many as are named
    label = element("title", text="\n".join([*shown, *more]))
    if len(marks) == 1:
        return element("circle", label, cx=cluster.x, cy=y, r=MARK - 1, class_=f"pic-{fill}")
    count = str(len(marks)) if len(marks) < 1_000 else f"{len(marks) // 1_000}k"  # noqa: PLR2004 - three digits have room
    half = MARK if len(count) == 1 else MARK + 3.5 * (len(count) - 1)
    pill = element("rect", x=cluster.x - MARK, y=y - MARK, width=2 * half, height=2 * MARK, rx=MARK, class_=f"pic-{fill}")
    digits = element(
        "text", text=count, x=cluster.x - MARK + half, y=y + 4, class_="pic-on-mark pic-size-s pic-strong pic-middle"
    )
    return element("g", label, pill, digits)


def _lines(lead: LeadTimeline, scale: _Scale, bottom: float) -> Iterator[str]:
    """Yield the lines of now and of the instant that is asked about."""
    for at, text, look in ((lead.now, "now", "pic-now"), (lead.asked_at, "asked", "pic-edge-trigger")):
        if at is not None:
            x = scale.x(at)
            label = element("title", text=f"{text}: {show_instant(at, lead.zone)}")
            yield element("path", label, d=f"M{x:.1f} {HEAD - 4:.1f}V{bottom:.1f}", class_=f"pic-line {look}")
            anchor = "pic-middle" if x < scale.left + scale.width - 20 else "pic-right"
            yield element("text", text=text, x=x, y=HEAD - 7, class_=f"pic-ink pic-size-s {anchor}")


def _calls(lead: LeadTimeline, width: float, y: float, most: int) -> Iterator[str]:
    """Yield the newest calls as bars of ring and talk on one scale of seconds."""
    shown = list(lead.calls)[-most:]
    longest = max(1, *(call.ring_seconds + call.talk_seconds for call in shown))
    left_out = len(lead.calls) - len(shown)
    heading = "Ring and talk of calls" + (f", the newest {len(shown)} of {len(lead.calls)}" if left_out else "")
    yield element("text", text=clip_text(heading, width - 130, 13), x=0, y=y + 12, class_="pic-ink pic-size-m pic-strong")
    for text, fill, x in (("ring", "ring", width - 108), ("talk", "talk", width - 54)):
        yield element("rect", x=x, y=y + 3, width=14, height=10, rx=2, class_=f"pic-{fill}")
        yield element("text", text=text, x=x + 19, y=y + 12, class_="pic-soft pic-size-s")
    label_width = 250.0 if width >= NARROW_BELOW else 132.0
    room = width - label_width - 60
    for place, call in enumerate(shown):
        middle = y + 26 + CALL_ROW * place + CALL_ROW / 2
        label = f"{show_instant(call.at, lead.zone)} · {call.label}"
        short = label if width >= NARROW_BELOW else f"{_short(call.at, lead.zone)} {call.label}"
        yield element(
            "text", text=clip_text(short, label_width - 8, 11), x=0, y=middle + 4, class_="pic-ink pic-size-s pic-tabular"
        )
        ring, talk = (room * seconds / longest for seconds in (call.ring_seconds, call.talk_seconds))
        said = element("title", text=f"{label}: rang {call.ring_seconds} s, talked {call.talk_seconds} s")
        bars = element("rect", x=label_width, y=middle - 6, width=max(ring, 1.0), height=12, rx=2, class_="pic-ring")
        bars += (
            element("rect", x=label_width + ring, y=middle - 6, width=talk, height=12, rx=2, class_="pic-talk")
            if talk
            else ""
        )
        text = show_seconds(call.ring_seconds + call.talk_seconds)
        bars += element(
            "text", text=text, x=label_width + ring + talk + 6, y=middle + 4, class_="pic-soft pic-size-s pic-tabular"
        )
        yield element("g", said, bars)


def _short(at: Instant, zone: str) -> str:
    local = local_datetime(at, zone)
    return f"{local.day} {local:%b %H:%M}"


def show_seconds(seconds: int) -> str:
    """Return a duration of a call: `0:24`, `12:05`."""
    return f"{seconds // 60}:{seconds % 60:02}"


def _not_shaded(lead: LeadTimeline, scale: _Scale) -> str:
    if lead.closed and scale.a_day < SHADED_FROM:
        return "Closed hours are not shaded on so long a line: a day is too narrow"
    if lead.closed and min(span.begins_at for span in lead.closed) > scale.begins_at + DAY:
        return "Closed hours are shaded for the newest two months only"
    return ""


def show_instant(at: Instant, zone: str) -> str:
    """Return an instant on the clock of a zone, with seconds where it has any."""
    local = local_datetime(at, zone)
    return f"{local:%a} {local.day} {local:%b %Y %H:%M:%S}" if at % MINUTE else f"{local:%a} {local.day} {local:%b %Y %H:%M}"


def _description(lead: LeadTimeline) -> str:
    counts = [(TRACKS[track], sum(mark.track == track for mark in lead.marks)) for track in TRACKS]
    sums = ", ".join(f"{count} on row {label}" for label, count in counts if count) or "no events"
    to_come = f" Next: {lead.next_label}, {show_instant(lead.next_at, lead.zone)}." if lead.next_at is not None else ""
    return f"{sums}, on the clock of {lead.zone}.{to_come} {lead.note}".strip()
