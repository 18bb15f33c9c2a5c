"""How does a schedule flow? A diagram of its steps, waits, branches and triggers, with the leads that are at each step."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest

from msgspec import Struct

from adapters.pictures.flow_layout import Box, Jump, goes_on, lay_out_jumps, share_of
from adapters.pictures.heat_map import short_count
from adapters.pictures.markup import clip_text, element, text_width, title_line
from adapters.pictures.picture import NARROW_BELOW, Picture
from adapters.pictures.step_texts import detail_of, fill_of, title_of, trigger_text, ways_out
from engine.why.reason_texts import hours_text
from schemas.records import Schedule
from schemas.schedule import ExitStep, Step, WaitStep

BOX_MAX = 560.0
TRACK = 14.0
"""Between two lines beside the boxes: they can be distinguished, also on a telephone."""

TRACKS_MAX, TRACKS_NARROW_MAX = 10, 4
"""Lines on one side. More would cross the picture; the box names the target of the others."""

TALL, COMPACT, WAY, GAP = 48.0, 32.0, 18.0, 22.0

START, ANY_TIME, DONE, ENDING = "\0start", "\0any", "\0done", "\0ending"
"""Keys of boxes that are no steps: no step has an id with a control character."""

HEADING_MIN = 420.0
"""The name and the hours of a schedule need so much, where the boxes need less."""

CHANNELS = {"call": "Calls", "sms": "Texts", "email": "E-mails"}


Shares = Mapping[str, Mapping[str, int]]
"""Step -> the steps that leads went on to -> how many per cent of the leads that left it."""


class _PlacedBox(Struct, frozen=True):
    box: Box
    y: float
    height: float


def draw_flow(
    schedule: Schedule,
    *,
    counts: Mapping[str, int] | None = None,
    shares: Shares | None = None,
    width: float = 960,
    name: str = "flow",
) -> Picture:
    """Return the diagram of a schedule; `counts` are the leads at each step by its id.

    `shares` are of the leads at the steps where they are counted, which is behind a wait; a step that none left has none.
    """
    boxes = [*_boxes(schedule, counts, shares or {})]
    tracks_max = TRACKS_MAX if width >= NARROW_BELOW else TRACKS_NARROW_MAX
    jumps = lay_out_jumps(boxes, tracks_max)
    left, right = (_side(jumps, is_back=is_back) for is_back in (True, False))
    wide = min(BOX_MAX, width - left - right)
    heading = [*_heading(schedule, width)]
    y = 30.0 + 18 * (len(heading) - 1)
    placed: list[_PlacedBox] = []
    for place, box in enumerate(boxes):
        height = _height(box)
        placed.append(_PlacedBox(box, y, height))
        y += height + (GAP if goes_on(box, place, boxes) or place + 1 == len(boxes) else GAP / 2)
    most = max((box.count or 0 for box in boxes), default=0)
    body = [*heading, _arrowhead(name)]
    for place, one in enumerate(placed):
        body += _box(one, jumps, place, placed, left=left, wide=wide, most=most)
        if goes_on(one.box, place, boxes) and place + 1 < len(boxes):
            body += _down(one, placed[place + 1], left + 30, name)
    body += (_line(jump, placed, left, wide, name) for jump in jumps if jump.track is not None)
    return Picture(
        name=name,
        title=f"Schedule {schedule.name}",
        description=_description(schedule, counts, shares),
        width=max(min(width, left + wide + right), min(width, HEADING_MIN)),
        height=y,
        body=tuple(body),
        columns=("Step", "What", "Detail", "Goes on at", "Leads"),
        rows=tuple(_table(boxes, schedule)),
    )


def _boxes(schedule: Schedule, counts: Mapping[str, int] | None, shares: Shares) -> Iterator[Box]:
    enters = [trigger for trigger in schedule.triggers if trigger.on == "enter"]
    exits = [trigger for trigger in schedule.triggers if trigger.on == "exit"]
    if exits:
        texts = tuple((trigger_text(trigger), trigger.goto or ENDING) for trigger in exits)
        yield Box(key=ANY_TIME, title="At any time", fill="choice", ways=texts)
    ways = (*((trigger_text(trigger), trigger.goto) for trigger in enters), ("", None))
    yield Box(key=START, title="A lead enters", fill="good", ways=ways)
    yield from _step_boxes(schedule.steps, counts, shares)
    yield Box(
        key=DONE,
        title="Completed" if not schedule.end_steps else "Completed, then the end steps",
        fill="ink",
        is_compact=True,
    )
    yield from _step_boxes(schedule.end_steps, counts, shares)


def _step_boxes(steps: Sequence[Step], counts: Mapping[str, int] | None, shares: Shares) -> Iterator[Box]:
    counted = _steps_behind_waits(steps)
    seen = dict.fromkeys((step.id for step in steps if not isinstance(step, ExitStep)), 0)
    for step, following in zip_longest(steps, [step.id for step in steps[1:]]):
        ways = tuple((way.label, way.goto) for way in ways_out(step))
        of_ways: tuple[int | None, ...] = ()
        if step.id in shares:
            targets = [counted.get(goto or following or "") for _, goto in ways]
            of_ways = tuple(_share({**seen, **shares[step.id]}, target, targets) for target in targets)
        yield _box_of(step, counts, ways, of_ways)


def _share(shares: Mapping[str, int], target: str | None, targets: Sequence[str | None]) -> int | None:
    """Return the share of a way; None where another way leads to the same step, and where nobody was seen at it.

    An exit is such a step: a lead that need not wait for it leaves by it at once.
    """
    return None if target is None or targets.count(target) > 1 else shares.get(target)


def _steps_behind_waits(steps: Sequence[Step]) -> Mapping[str, str]:
    """Return the step at which the leads of each step are counted: of a wait, the one behind it."""
    found: dict[str, str] = {}
    behind: str | None = None
    for step in reversed(steps):
        if behind is None or not isinstance(step, WaitStep):
            behind = step.id
        found[step.id] = behind
    return found


def _box_of(
    step: Step, counts: Mapping[str, int] | None, ways: tuple[tuple[str, str | None], ...], shares: tuple[int | None, ...]
) -> Box:
    detail = detail_of(step)
    return Box(
        key=step.id,
        title=title_of(step),
        detail=detail,
        fill=fill_of(step),
        mark=step.id,
        count=None if counts is None else counts.get(step.id, 0),
        ways=ways,
        shares=shares,
        is_compact=not detail and isinstance(step, WaitStep | ExitStep),
    )


def _side(jumps: Sequence[Jump], *, is_back: bool) -> float:
    """Return the room beside the boxes for the lines on one side."""
    tracks = [jump.track for jump in jumps if jump.is_back is is_back and jump.track is not None]
    return 22 + TRACK * max(tracks) if tracks else 0.0


def _height(box: Box) -> float:
    labelled = sum(bool(label) for label, _ in box.ways)
    base = COMPACT if box.is_compact or not box.detail else TALL
    return base + WAY * labelled


def _way_y(one: _PlacedBox, way: int) -> float:
    """Return at which height a way leaves its box."""
    before = sum(bool(label) for label, _ in one.box.ways[:way])
    if not one.box.ways[way][0]:
        return one.y + 16
    return one.y + one.height - WAY * (sum(bool(label) for label, _ in one.box.ways) - before) + 6


def _heading(schedule: Schedule, width: float) -> Iterator[str]:
    yield title_line(schedule.name, width)
    lines = [
        f"{CHANNELS[channel]}: {hours_text(schedule.windows[channel])}"
        for channel in CHANNELS
        if channel in schedule.windows
    ]
    lines = lines or ["Contacts at every hour that the law allows"]
    for place, text in enumerate(lines):
        y = 40 + 18 * place
        yield element("text", text=clip_text(text, width, 13), x=0, y=y, class_="pic-soft pic-size-m")


def _arrowhead(name: str) -> str:
    path = element("path", d="M0 0L8 4L0 8z", class_="pic-soft")
    return element(
        "defs",
        element(
            "marker",
            path,
            id=f"{name}-arrow",
            viewBox="0 0 8 8",
            refX=7,
            refY=4,
            markerWidth=8,
            markerHeight=8,
            orient="auto",
        ),
    )


def _box(
    one: _PlacedBox, jumps: Sequence[Jump], place: int, placed: Sequence[_PlacedBox], *, left: float, wide: float, most: int
) -> Iterator[str]:
    box, y = one.box, one.y
    said = ". ".join(part for part in (box.title, box.detail, box.mark) if part)
    label = element("title", text=said if box.count is None else f"{said}. {box.count} leads are at this step")
    frame = element("rect", x=left, y=y, width=wide, height=one.height, rx=6, class_="pic-panel pic-frame")
    strip = element("rect", x=left, y=y + 5, width=4, height=one.height - 10, rx=2, class_=f"pic-{box.fill}")
    yield element("g", label, frame, strip, *_words(one, left, wide), *_count(one, left, wide, most))
    for way, (text, _) in enumerate(box.ways):
        if text:
            jump = next((jump for jump in jumps if jump.source == place and jump.way == way), None)
            target = _target_text(box, way, None if jump is None else placed[jump.target].box)
            yield from _way(one, way, f"{text}{target}", left, wide)


def _words(one: _PlacedBox, left: float, wide: float) -> Iterator[str]:
    box, y = one.box, one.y + 20
    room = wide - 30 - (0 if box.count is None else 74)
    mark = clip_text(box.mark, room * 0.4, 11)
    taken = text_width(mark, 11 * 1.12) + 10 if mark else 0
    if taken and text_width(box.title, 13) > room - taken:  # what it does matters more than its id, which is said on hover
        mark, taken = "", 0
    title = clip_text(box.title, room - taken, 13)
    yield element("text", text=title, x=left + 16, y=y, class_=f"pic-{_title_fill(box)} pic-size-m pic-strong")
    if mark:
        end = left + 16 + room
        yield element("text", text=mark, x=end, y=y, class_="pic-soft pic-size-s pic-code pic-right")
    if box.detail:
        yield element("text", text=clip_text(box.detail, room, 13), x=left + 16, y=y + 18, class_="pic-soft pic-size-m")


def _title_fill(box: Box) -> str:
    return "ink" if box.fill in {"wait", "effect"} else box.fill


def _count(one: _PlacedBox, left: float, wide: float, most: int) -> Iterator[str]:
    """Yield the number of leads at a step, and a bar that compares it with the others."""
    count = one.box.count
    if count is None:
        return
    end = left + wide - 12
    look = "pic-ink pic-strong" if count else "pic-soft"
    yield element("text", text=short_count(count), x=end, y=one.y + 20, class_=f"{look} pic-size-m pic-right pic-tabular")
    if count and most:
        bar = max(2.0, 52 * count / most)
        yield element("rect", x=end - bar, y=one.y + 25, width=bar, height=3, rx=1, class_="pic-heat-4")


def _target_text(box: Box, way: int, target: Box | None) -> str:
    """Return where a way leads, in words: also where no track is left for its line."""
    if target is not None:
        return f" → {target.mark or target.title}"
    return "" if box.ways[way][1] == ENDING else " ↓"


def _way(one: _PlacedBox, way: int, text: str, left: float, wide: float) -> Iterator[str]:
    share = share_of(one.box, way)
    y = _way_y(one, way) + 4
    label = element("title", text=text if share is None else f"{text}. {share} % of the leads that left")
    shown = clip_text(text, wide - 30 - (0 if share is None else 44), 11)
    yield element("text", label, text=shown, x=left + 16, y=y, class_="pic-soft pic-size-s")
    if share is not None:
        look = "pic-ink pic-size-s pic-right pic-tabular"
        yield element("text", text=f"{share} %", x=left + wide - 12, y=y, class_=look)


def _down(one: _PlacedBox, below: _PlacedBox, x: float, name: str) -> Iterator[str]:
    """Yield the line to the next box, with the share of its way where no row of the box has it."""
    top = one.y + one.height
    path = f"M{x:.1f} {top:.1f}V{below.y - 1:.1f}"
    yield element("path", d=path, class_="pic-line pic-edge", marker_end=f"url(#{name}-arrow)")
    shares = [share_of(one.box, way) for way, (label, _) in enumerate(one.box.ways) if not label]
    if shares and shares[0] is not None:
        yield element("text", text=f"{shares[0]} %", x=x + 10, y=top + 15, class_="pic-ink pic-size-s pic-tabular")


def _line(jump: Jump, placed: Sequence[_PlacedBox], left: float, wide: float, name: str) -> str:
    """Return a jump as a line with round corners, beside the boxes."""
    begins, ends = _way_y(placed[jump.source], jump.way), placed[jump.target].y + 16
    side, sign = (left, -1) if jump.is_back else (left + wide, 1)
    x = side + sign * (14 + TRACK * (jump.track or 0))
    turn = 6 if begins < ends else -6
    path = (
        f"M{side:.1f} {begins:.1f}H{x - sign * 6:.1f}q{sign * 6} 0 {sign * 6} {turn}"
        f"V{ends - turn:.1f}q0 {turn} {-sign * 6} {turn}H{side + sign:.1f}"
    )
    look = "pic-edge-trigger" if placed[jump.source].box.key in {START, ANY_TIME} else "pic-edge"
    return element("path", d=path, class_=f"pic-line {look}", marker_end=f"url(#{name}-arrow)")


def _description(schedule: Schedule, counts: Mapping[str, int] | None, shares: Shares | None) -> str:
    sums = f"{len(schedule.steps)} steps, {len(schedule.end_steps)} end steps and {len(schedule.triggers)} triggers"
    held = "" if counts is None else f"; {sum(counts.values())} leads are at its steps"
    shared = "; at a line, the share of the leads that left its step" if shares else ""
    return f"{sums}, from the first step to the last{held}{shared}."


def _table(boxes: Sequence[Box], schedule: Schedule) -> Iterator[tuple[str, ...]]:
    for box in boxes:
        if box.mark:
            ways = "; ".join(_way_text(box, way) for way in range(len(box.ways)))
            yield box.mark, box.title, box.detail, ways, "" if box.count is None else str(box.count)
    for trigger in schedule.triggers:
        yield "", "On entering" if trigger.on == "enter" else "At any time", trigger_text(trigger), trigger.goto or "", ""


def _way_text(box: Box, way: int) -> str:
    label, goto = box.ways[way]
    share = share_of(box, way)
    return " ".join(part for part in (label, f"→ {goto or 'next'}", "" if share is None else f"{share} %") if part)
