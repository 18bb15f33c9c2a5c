"""Is a lead's timeline right at changes of the clock, sensible with one event and with 10,000, and safe with any text?"""

import re
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adapters.pictures.lead import draw_lead
from adapters.pictures.picture import Picture, to_inline_svg, to_svg
from adapters.pictures.time_axis import ticks
from adapters.pictures.timeline import LeadTimeline, TimelineMark, clusters, draw_timeline
from schemas.instant import DAY, HOUR, MINUTE, Instant
from tests.adapters.pictures.leads import CALLS, EVENTS, FOUND, LEAD, NOW, at, event
from tests.adapters.pictures.test_pictures import ANY_TEXT, WIDTHS, XSS, assert_golden, parsed


def timeline(width: float = 960) -> Picture:
    """Return the picture of the fixed lead."""
    asked_at = at("2026-03-08T20:00:00-04:00")
    return draw_lead(FOUND, lead=LEAD, calls=CALLS, now=NOW, asked_at=asked_at, width=width)


@pytest.mark.parametrize("wide", WIDTHS)
def test_a_timeline_is_the_one_that_was_looked_at(wide: str) -> None:
    assert_golden(timeline(WIDTHS[wide]), wide)


def test_every_event_is_in_the_table_with_its_reason() -> None:
    picture = timeline()
    assert len(picture.rows) == len(EVENTS)
    planned = next(row for row in picture.rows if row[1] == "Planned")
    assert planned == (
        "Fri 6 Mar 2026 18:30:31",
        "Planned",
        "step call-1; for Sat 7 Mar 2026 10:00 (America/New_York); the law of the state allows no contact at this hour",
    )
    assert "Next: next action, step call-3, Thu 12 Mar 2026 15:06." in picture.description


def test_rings_and_talks_are_drawn_on_one_scale() -> None:
    svg = to_inline_svg(timeline())
    rings = [float(width) for width in re.findall(r'width="([\d.]+)" height="12" rx="2" class="pic-ring"', svg)]
    talks = [float(width) for width in re.findall(r'width="([\d.]+)" height="12" rx="2" class="pic-talk"', svg)]
    assert rings[0] / rings[2] == pytest.approx(31 / 12, rel=0.02)
    assert talks[0] / rings[2] == pytest.approx(285 / 12, rel=0.02)
    assert len(talks) == 1


def test_one_event_is_shown_on_ten_minutes() -> None:
    alone = {**FOUND, "events": EVENTS[:1], "closed_hours": []}
    picture = draw_lead(alone, lead={}, calls=[], now=at("2026-03-06T18:30:00-05:00"))
    assert len(picture.rows) == 1
    assert "18:30" in to_svg(picture)
    assert "Ring and talk" not in to_svg(picture)


def test_no_event_at_all_is_said() -> None:
    picture = draw_lead({**FOUND, "events": []}, lead={}, calls=[], now=NOW)
    assert picture.description.startswith("no events")
    parsed(to_svg(picture))


@pytest.mark.parametrize("width", WIDTHS.values())
def test_ten_thousand_events_become_marks_with_counts(width: float) -> None:
    marks = [
        TimelineMark(at=NOW + place * 7 * MINUTE, track="call", fill="call", label=f"call {place}")
        for place in range(10_000)
    ]
    picture = draw_timeline(LeadTimeline(title="t", zone="UTC", now=NOW, marks=marks), width=width)
    svg = to_inline_svg(picture)
    assert len(svg) < 120_000
    shown = [int(count) for count in re.findall(r'pic-middle">(\d+)</text></g>', svg)]
    alone = svg.count('r="6" class="pic-call"')
    assert sum(shown) + alone == 10_000
    assert len(picture.rows) == 1_000


def test_a_line_of_years_says_that_hours_are_not_shaded() -> None:
    old = {**FOUND, "events": [event("2016-03-06T18:30:00-05:00", "lead.created"), *EVENTS]}
    svg = to_inline_svg(draw_lead(old, lead={}, calls=[], now=NOW))
    assert "Closed hours are not shaded on so long a line" in svg
    assert 'class="pic-by-schedule"' not in svg.partition("pic-panel")[2]


def test_an_end_against_the_will_of_the_person_is_marked() -> None:
    ended = {**FOUND, "events": [*EVENTS, event("2026-03-10T16:00:00-04:00", "lead.ended", status="opt_out")]}
    picture = draw_lead(ended, lead={}, calls=[], now=NOW)
    assert any(row[1] == "Ended" for row in picture.rows)
    assert "pic-bad" in to_inline_svg(picture)


@pytest.mark.parametrize("text", XSS)
def test_no_text_of_a_stranger_becomes_markup_in_a_timeline(text: str) -> None:
    hostile = event(
        "2026-03-06T18:30:00-05:00", "outcome.recorded", kind=text, outcome=text, step_id=text, reason=text, source=text
    )
    found = {**FOUND, "events": [hostile, {**hostile, "event": text}]}
    calls = [{**CALLS[0], "outcome": text}]
    picture = draw_lead(found, lead={"name": text, "step": text, "next_action_at": None}, calls=calls, now=NOW)
    tags = {node.tag.partition("}")[2] for node in parsed(to_svg(picture)).iter()}
    assert tags <= {"svg", "style", "title", "desc", "g", "rect", "text", "circle", "path", "defs", "pattern"}


@given(st.lists(st.tuples(st.floats(0, 1_000), ANY_TEXT), max_size=80))
@settings(deadline=None)
def test_two_marks_of_a_row_never_cover_each_other(places: list[tuple[float, str]]) -> None:
    marks = [TimelineMark(at=Instant(int(x * 1_000)), track="call", fill="call", label=label) for x, label in sorted(places)]
    found = clusters(marks, lambda instant: int(instant) / 1_000)
    assert sum(len(group.marks) for group in found) == len(marks)
    assert all(second.x - first.x >= 15 for first, second in pairwise(found))


ZONES = ("UTC", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu", "Pacific/Apia", "Africa/Cairo")


@given(st.integers(0, 4_000), st.integers(1, 2 * 365 * 24 * 60), st.sampled_from(ZONES), st.integers(2, 14))
@settings(deadline=None, max_examples=80)
def test_labels_of_an_axis_are_within_it_in_order_and_as_many_as_have_room(
    day: int, minutes: int, zone: str, room: int
) -> None:
    begins_at = Instant(1_200_000_000_000) + day * DAY
    ends_at = begins_at + minutes * MINUTE
    found = ticks(begins_at, ends_at, zone, room=room)
    assert len(found) <= room + 1
    assert all(begins_at <= tick.at <= ends_at for tick in found)
    assert all(first.at < second.at for first, second in pairwise(found))


def test_labels_follow_the_clock_where_it_changes() -> None:
    spring = ticks(at("2026-03-08T00:00:00-05:00"), at("2026-03-08T12:00:00-04:00"), "America/New_York", room=6)
    assert [tick.label for tick in spring] == ["Sun 8 Mar", "03:00", "06:00", "09:00", "12:00"]
    assert spring[1].at - spring[0].at == 2 * HOUR
    autumn = ticks(at("2026-11-01T00:00:00-04:00"), at("2026-11-01T12:00:00-05:00"), "America/New_York", room=6)
    assert [tick.label for tick in autumn] == ["Sun 1 Nov", "03:00", "06:00", "09:00", "12:00"]
    assert autumn[1].at - autumn[0].at == 4 * HOUR
