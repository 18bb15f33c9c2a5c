"""Where do the boxes and lines of a flow diagram go? One column in the order of the steps, jumps beside it.

A schedule is a list: most steps go on at the next one. So its order stays. Forward jumps run on the right, backward ones on
the left, and jumps to one target share a line. This takes linear time for the 200 steps that a schedule may have, fits on a
telephone, and moves nothing when a step is added at the end. A general layered layout does none of these.
"""

from collections.abc import Iterable, Sequence

from msgspec import Struct


class Box(Struct, frozen=True, kw_only=True):
    """A box before it has a place; `ways` are its ways out, a label and a target (None: the next box).

    `shares` are how many per cent of what left it went each way, None where that is not known; empty where no share is.
    """

    key: str
    title: str
    detail: str = ""
    fill: str
    mark: str = ""
    count: int | None = None
    ways: tuple[tuple[str, str | None], ...] = ()
    shares: tuple[int | None, ...] = ()
    is_compact: bool = False


class Jump(Struct, frozen=True):
    """A line from a way out of a box to another box, on a track; `track` None where all tracks are taken."""

    source: int
    way: int
    target: int
    is_back: bool
    track: int | None


def share_of(box: Box, way: int) -> int | None:
    """Return how many per cent of what left a box went a way, or None."""
    return box.shares[way] if box.shares else None


def goes_on(box: Box, place: int, boxes: Sequence[Box]) -> bool:
    """Return whether a box leads to the one below it."""
    following = boxes[place + 1].key if place + 1 < len(boxes) else None
    return any(goto is None or goto == following for _, goto in box.ways)


def lay_out_jumps(boxes: Sequence[Box], tracks_max: int) -> list[Jump]:
    """Return every line that does not go to the next box, with its track: near ones inside, the others around them."""
    places = {box.key: place for place, box in reversed(list(enumerate(boxes)))}
    found = [
        (place, way, places[goto])
        for place, box in enumerate(boxes)
        for way, (_, goto) in enumerate(box.ways)
        if goto is not None and goto in places and places[goto] != place + 1
    ]
    tracks = {is_back: _tracks([jump for jump in found if (jump[2] <= jump[0]) is is_back]) for is_back in (False, True)}
    jumps = []
    for source, way, target in found:
        is_back = target <= source
        track = tracks[is_back][target]
        jumps.append(Jump(source, way, target, is_back, track if track < tracks_max else None))
    return jumps


def _tracks(jumps: Iterable[tuple[int, int, int]]) -> dict[int, int]:
    """Return the track of every target: the innermost on which no other line is between its first box and its last."""
    spans: dict[int, tuple[int, int]] = {}
    for source, _, target in jumps:
        low, high = spans.get(target, (target, target))
        spans[target] = min(low, source), max(high, source)
    taken: list[list[tuple[int, int]]] = []
    tracks = {}
    for target, span in sorted(spans.items(), key=lambda row: (row[1][1] - row[1][0], row[0])):
        track = next((number for number, held in enumerate(taken) if not _overlaps(span, held)), len(taken))
        taken[track:] = taken[track:] or [[]]
        taken[track].append(span)
        tracks[target] = track
    return tracks


def _overlaps(span: tuple[int, int], held: Iterable[tuple[int, int]]) -> bool:
    return any(span[0] <= high and low <= span[1] for low, high in held)
