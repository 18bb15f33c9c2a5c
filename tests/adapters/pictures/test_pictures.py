"""Do pictures stay as they were looked at, can each be read as XML, and does no text of a stranger become markup?"""

import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from html.parser import HTMLParser
from itertools import chain, pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import convert, structs

from adapters.pictures.call_hours import draw_connect_rates
from adapters.pictures.flow import draw_flow
from adapters.pictures.flow_layout import Box, lay_out_jumps
from adapters.pictures.forecast import describe_forecast, draw_forecast
from adapters.pictures.heat_map import HeatMap, HeatRow, draw_heat_map
from adapters.pictures.markup import clip_text, element, text_width
from adapters.pictures.picture import Picture, stacked, to_inline_svg, to_page, to_svg, to_table
from adapters.pictures.preview import draw_preview
from adapters.pictures.state_map import PLACES, draw_state_map, read_state_map
from adapters.pictures.style import FILLS, HEAT_TEXT, LINES, PAPER, file_stylesheet, stylesheet
from adapters.pictures.week import ClosedSpan, PlannedContact, PlannedWeek, draw_week
from engine.law.state_hours import MAPPED
from schemas.instant import DAY, EPOCH, HOUR, MINUTE, Instant
from schemas.records import Schedule
from tests.adapters.pictures.plans import FORECAST, QUESTION, SCHEDULE, STEPS, answer, read

GOLDEN = Path(__file__).with_name("golden")
"""Looked at, in light and dark, wide and narrow. To renew: delete a file, run this test twice, and look at the picture."""

WIDTHS = {"wide": 960.0, "narrow": 358.0}

XSS = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "' onload='alert(1)",
    "</title></svg><svg onload=alert(1)>",
    "]]><!--",
    "&lt;b&gt;",
    "\u202eevil\u202c",
    "\x00\x08\ud800",
    "👩‍👩‍👧 שלום 你好",
)

CALLING_HOURS: dict[str, Any] = {
    "time_zone": "America/New_York",
    "at": "2026-03-08T16:30:00Z",
    "from": "2026-03-08T05:00:00Z",
    "to": "2026-03-09T04:00:00Z",
    "states": [
        {"state": state, "name": name, "open": spans, "is_open": is_open, "rules": ["us-federal"]}
        for state, name, is_open, spans in (
            ("NY", "New York", True, [{"from": "2026-03-08T12:00:00Z", "to": "2026-03-09T01:00:00Z"}]),
            ("HI", "Hawaii", False, [
                {"from": "2026-03-08T05:00:00Z", "to": "2026-03-08T07:00:00Z"},
                {"from": "2026-03-08T18:00:00Z", "to": "2026-03-09T04:00:00Z"},
            ]),
            ("AL", "Alabama", False, []),
        )
    ],
}  # fmt: skip
"""The day of 23 hours: a state that is open, one of two spans, and one that is closed."""

CALLS_OF_WEEK = {(day, hour): 10 + 3 * day + hour for day in range(5) for hour in range(8, 21)}
CONNECTED_OF_WEEK = {(day, hour): (day * 5 + hour * 7) % (count + 1) for (day, hour), count in CALLS_OF_WEEK.items()}
"""Five days of thirteen hours, of which one hour has none connected and another all; nothing at the weekend."""

SHARES = {
    "call-1": {"hello": 97},
    "hello": {"which": 100},
    "which": {"mail": 8, "ab": 31, "call-2": 60},
    "call-2": {"ab": 74, "call-3": 9},
    "ab": {"reply": 70, "mail": 22},
    "reply": {"call-3": 13, "mail": 85},
    "mail": {"again": 100},
    "again": {"call-2": 64, "tags": 36},
}
"""Of the leads that left each step: some ended there, or left it by a trigger. Nobody waits behind the last wait."""

ANY_TEXT = st.text(alphabet=st.characters(exclude_categories=()), max_size=80)


def parsed(svg: str) -> ET.Element:
    """Return the root of a picture."""
    return ET.fromstring(svg)  # noqa: S314 - what we drew ourselves


def pictures(width: float) -> Iterator[Picture]:
    """Yield every picture of the fixed data."""
    trial = read()
    yield draw_preview(answer(), title="What “Solar” does", begins_at=trial.at, end="Completed", width=width)
    yield draw_flow(trial.schedule, counts={"call-1": 120, "wait-1": 1310, "week": 900}, width=width)
    yield draw_flow(trial.schedule, counts={"reply": 40}, shares=SHARES, width=width, name="flow-shares")
    yield from draw_forecast(FORECAST, zone="America/New_York", width=width)
    yield draw_state_map(read_state_map(CALLING_HOURS, title="Calls allowed by law"), width=width)
    yield draw_connect_rates(CALLS_OF_WEEK, CONNECTED_OF_WEEK, "America/New_York", width, "connect-rate")


@pytest.mark.parametrize("wide", WIDTHS)
def test_pictures_are_those_that_were_looked_at(wide: str) -> None:
    for picture in pictures(WIDTHS[wide]):
        assert_golden(picture, wide)


def assert_golden(picture: Picture, wide: str) -> None:
    """Compare a picture with the file of the one that was looked at."""
    path, drawn = GOLDEN / f"{picture.name}-{wide}.svg", to_svg(picture)
    if not path.exists():
        path.parent.mkdir(exist_ok=True)
        path.write_text(drawn, "utf-8")
        pytest.fail(f"{path} is new: look at it, and run the test again")
    assert drawn == path.read_text("utf-8"), path.name


def test_every_state_has_a_tile_of_its_own_on_the_map() -> None:
    assert set(PLACES) == set(MAPPED)
    assert len(set(PLACES.values())) == len(PLACES)


@pytest.mark.parametrize("wide", WIDTHS)
def test_each_picture_says_in_words_what_it_shows(wide: str) -> None:
    for picture in pictures(WIDTHS[wide]):
        root = parsed(to_svg(picture))
        assert root.get("role") == "img"
        labels = {node.get("id"): node.text for node in root if node.get("id")}
        named = (root.get("aria-labelledby") or "").split()
        assert [labels[name] for name in named] == [picture.title, picture.description]
        assert picture.title
        assert picture.description
        assert picture.rows
        assert all(len(row) == len(picture.columns) for row in picture.rows)


@pytest.mark.parametrize("wide", WIDTHS)
def test_pictures_fit_a_strict_content_security_policy(wide: str) -> None:
    for picture in pictures(WIDTHS[wide]):
        inline = to_inline_svg(picture)
        assert "<style" not in inline
        assert " style=" not in inline
        assert "<script" not in inline
        assert not re.search(r"\son\w+=", inline)
        classes = {name for node in parsed(inline).iter() for name in (node.get("class") or "").split()}
        assert [name for name in classes if f".{name}" not in stylesheet()] == []


@pytest.mark.parametrize("wide", WIDTHS)
def test_no_shape_is_drawn_outside_of_a_picture(wide: str) -> None:
    for picture in pictures(WIDTHS[wide]):
        for node in parsed(to_inline_svg(picture)).iter():
            if node.tag.endswith("}rect"):
                x, y, width, height = (float(node.get(name) or 0) for name in ("x", "y", "width", "height"))
                assert width >= 0
                assert -0.1 <= x <= x + width <= picture.width + 0.1
                assert -0.1 <= y <= y + height <= picture.height + 0.1


@pytest.mark.parametrize("text", XSS)
def test_no_text_of_a_stranger_becomes_markup(text: str) -> None:
    schedule = convert({**SCHEDULE, "name": text, "lead_token": "token-of-it"}, Schedule)
    step = structs.replace(schedule.steps[1], template=text, id=text)
    flow = draw_flow(structs.replace(schedule, steps=(schedule.steps[0], step, *schedule.steps[2:])))
    contact = PlannedContact(EPOCH + DAY, text, text, text)
    week = draw_week(
        PlannedWeek(title=text, zone="UTC", begins_at=EPOCH, contacts=[contact], closed=[], end=text),
    )
    heat = draw_heat_map(
        HeatMap(title=text, sentence=text, unit=text, columns=[text], rows=[HeatRow(text, [1])], row_heading=text)
    )
    for picture in (flow, week, heat):
        root = parsed(to_svg(picture))
        tags = {node.tag.partition("}")[2] for node in root.iter()}
        assert tags <= {"svg", "style", "title", "desc", "g", "rect", "text", "circle", "path", "defs", "pattern", "marker"}
        page = _Tags()
        page.feed(to_page(text, text, (picture,)))
        assert not page.tags & {"script", "img", "b"}
        assert not [name for name in page.attributes if name.startswith("on")]


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}


@given(ANY_TEXT)
@settings(deadline=None)
def test_any_text_can_be_read_back_from_an_element(text: str) -> None:
    read_back = parsed(element("text", text=text, x=text))
    assert "".join(read_back.itertext()).replace("\r", "\n") == _as_xml(text).replace("\r\n", "\n").replace("\r", "\n")


def _as_xml(text: str) -> str:
    allowed = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
    return allowed.sub("\ufffd", text)


@given(ANY_TEXT, st.floats(20, 400))
@settings(deadline=None)
def test_a_clipped_text_is_no_wider_than_asked(text: str, width: float) -> None:
    assert text_width(clip_text(text, width, 13), 13) <= width + 13 * 1.05


@given(
    st.lists(st.integers(0, 400 * 24 * 60), max_size=120),
    st.sampled_from(["UTC", "America/New_York", "Australia/Lord_Howe", "Pacific/Apia", "Asia/Kathmandu"]),
    st.sampled_from(list(WIDTHS.values())),
)
@settings(deadline=None, max_examples=60)
def test_a_week_of_any_contacts_is_bounded(minutes: list[int], zone: str, width: float) -> None:
    begins_at = Instant(1_767_225_600_000)  # 2026
    contacts = [PlannedContact(begins_at + minute * MINUTE, "call", None, "") for minute in sorted(minutes)]
    closed = [ClosedSpan(begins_at + day * DAY, begins_at + day * DAY + 9 * HOUR, "law") for day in range(60)]
    plan = PlannedWeek(title="t", zone=zone, begins_at=begins_at, contacts=contacts, closed=closed, end="e")

    picture = draw_week(plan, width=width)

    assert picture.height < 4_000
    assert len(to_svg(picture)) < 200_000
    assert len(picture.rows) == len(contacts)
    if len(contacts) > 30:
        assert "more contacts are in the table, not in the drawing" in to_svg(picture)


def test_the_hour_that_a_clock_skips_is_framed_and_the_one_that_it_repeats_is_summed() -> None:
    week = to_svg(next(pictures(960)))
    assert "The clock skips this time" in week
    assert "the clock skips 02:00 to 03:00" in week

    by_day = draw_forecast(FORECAST, zone="America/New_York")[0]
    night = next(row for row in by_day.rows if row[0] == "Sun 1 Nov")
    assert night[2] == "18", "05:00 and 06:00 of UTC are both 01:00"


def test_a_skipped_hour_of_a_forecast_has_no_count() -> None:
    spring = {**FORECAST, "from": "2026-03-07T14:00:00Z", "to": "2026-03-09T14:00:00Z", "hours": []}
    by_day = draw_forecast(spring, zone="America/New_York")[0]
    assert next(row for row in by_day.rows if row[0] == "Sun 8 Mar")[3] == ""


@pytest.mark.parametrize(
    ("left_out", "said"),
    [
        (0, "of 42 leads"),
        (3_309, "Judged: 1,000 of 4,309 due leads, the soonest first"),
        (None, "Judged: 1,000 of more than 10,000 due leads, the soonest first"),
    ],
)
def test_a_forecast_says_of_how_many_leads_it_is(left_out: int | None, said: str) -> None:
    assert describe_forecast({**FORECAST, "left_out": left_out}).endswith(said)


def test_a_forecast_of_nothing_says_so() -> None:
    by_day, by_state = draw_forecast({**FORECAST, "hours": [], "left_out": 0}, zone="UTC")
    assert "Nothing is due of 42 leads" in by_day.description
    assert by_state.description.startswith("No actions are due.")


def test_states_beyond_the_bound_are_one_row() -> None:
    rows = [HeatRow(f"S{number}", [number, 1]) for number in range(60)]
    picture = draw_heat_map(HeatMap(title="t", sentence="s", unit="calls", columns="ab", rows=rows, row_heading="State"))
    assert len(picture.rows) == 24
    assert picture.rows[-1] == ("37 others", str(sum(range(23, 60))), "37", str(sum(range(23, 60)) + 37))


def test_a_flow_of_200_steps_is_linear_and_names_the_targets_without_a_line() -> None:
    steps = [
        {"id": f"s{place}", "kind": "branch", "rules": [{"if": ["a:1"], "goto": f"s{(place * 37) % 200}"}]}
        for place in range(200)
    ]
    schedule = convert({**SCHEDULE, "lead_token": "token-of-it", "steps": steps, "triggers": []}, Schedule)

    picture = draw_flow(schedule, width=358)

    assert len(to_svg(picture)) < 600_000
    assert picture.width <= 358
    assert len(picture.rows) == 200
    assert "if a:1 → s37" in to_svg(picture)


@given(st.lists(st.tuples(st.integers(0, 29), st.integers(0, 29)), max_size=60))
@settings(deadline=None)
def test_two_lines_on_one_track_never_run_beside_each_other(goes: list[tuple[int, int]]) -> None:
    boxes = [
        Box(
            key=str(place),
            title="",
            fill="call",
            ways=tuple(("", str(target)) for source, target in goes if source == place),
        )
        for place in range(30)
    ]
    jumps = [jump for jump in lay_out_jumps(boxes, 10) if jump.track is not None]
    for is_back in (True, False):
        for track in range(10):
            held = [jump for jump in jumps if jump.is_back is is_back and jump.track == track]
            spans: dict[int, tuple[int, int]] = {}
            for jump in held:
                low, high = spans.get(jump.target, (jump.target, jump.target))
                spans[jump.target] = min(low, jump.source), max(high, jump.source)
            assert all(first[1] < second[0] for first, second in pairwise(sorted(spans.values())))


def test_the_numbers_of_a_picture_are_a_table_too() -> None:
    table = to_table(draw_flow(read().schedule, counts={"wait-1": 1310}))
    assert '<th scope="col">Leads</th>' in table
    assert "<td>wait-1</td><td>Wait 1d</td>" in table
    assert "<td>1310</td>" in table


def rows_of(picture: Picture) -> dict[str, str]:
    """Return where each step of a flow goes on, in words."""
    return {row[0]: row[3] for row in picture.rows if row[0]}


def test_a_way_out_has_the_share_of_the_leads_that_went_it() -> None:
    said = rows_of(draw_flow(read().schedule, shares=SHARES))
    assert said["call-1"] == "→ next 97 %"
    assert said["ab"] == "75 % → reply 70 %; 25 % → mail 22 %"
    assert said["which"].endswith("else → next 60 %"), "leads are counted behind the wait that comes next"
    assert said["wait-1"] == "→ next", "who waits is at the step behind it"
    assert said["tags"] == "→ next", "of a step that no lead left there is no share"


def test_a_way_that_nobody_went_has_a_share_of_zero() -> None:
    said = rows_of(draw_flow(read().schedule, shares={"ab": {"reply": 100}}))
    assert said["ab"] == "75 % → reply 100 %; 25 % → mail 0 %"


def test_a_way_to_an_exit_has_a_share_only_where_leads_were_seen_at_it() -> None:
    """They leave by it at once: the line said 0 % where all of them went that way."""
    steps = [STEPS[0], {"id": "out", "kind": "exit", "result": "completed"}]
    schedule = convert({**SCHEDULE, "lead_token": "token-of-it", "steps": steps, "triggers": []}, Schedule)
    first = STEPS[0]["id"]
    assert rows_of(draw_flow(schedule, shares={first: {}}))[first] == "→ next"
    assert rows_of(draw_flow(schedule, shares={first: {"out": 40}}))[first] == "→ next 40 %"


def test_two_ways_to_one_step_have_no_share() -> None:
    steps = [*STEPS[:2], {"id": "which", "kind": "branch", "rules": [{"if": ["state:FL"], "goto": "tags"}]}, *STEPS[-1:]]
    schedule = convert({**SCHEDULE, "lead_token": "token-of-it", "steps": steps, "triggers": []}, Schedule)
    assert rows_of(draw_flow(schedule, shares={"which": {"tags": 90}}))["which"] == "if state:FL → tags; else → next"


def test_pictures_below_each_other_do_not_overlap() -> None:
    first, second = draw_forecast(FORECAST, zone="UTC")
    both = stacked("Forecast", (first, second))
    assert both.height == pytest.approx(first.height + second.height + 16)
    parsed(to_svg(both))


@pytest.mark.parametrize("ground", [0, 1])
def test_texts_and_marks_have_the_contrast_of_wcag(ground: int) -> None:
    panel = FILLS["panel"][ground]
    for back in (PAPER[ground], panel):
        for name in ("ink", "soft", "call", "sms", "email", "webhook", "choice", "good", "bad"):
            assert _contrast(FILLS[name][ground], back) >= 4.5, (name, back)
        for name in ("wait", "effect", "talk"):
            assert _contrast(FILLS[name][ground], back) >= 3, (name, back)
        for name in ("edge", "edge-trigger", "now"):
            assert _contrast(LINES[name][ground], back) >= 3, (name, back)
    for name in ("call", "sms", "email", "webhook", "effect"):
        assert _contrast(FILLS["on-mark"][ground], FILLS[name][ground]) >= 4.5, name
    for name, colours in HEAT_TEXT.items():
        assert _contrast(colours[ground], FILLS[name][ground]) >= 4.5, name


def _contrast(one: str, other: str) -> float:
    """Return the contrast ratio of two colours (https://www.w3.org/TR/WCAG22/#dfn-contrast-ratio)."""
    first, second = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (first + 0.05) / (second + 0.05)


def _luminance(colour: str) -> float:
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def test_both_stylesheets_know_each_colour_in_light_and_dark() -> None:
    for name, colours in chain(FILLS.items(), ((name, row[:2]) for name, row in LINES.items())):
        for sheet in (stylesheet(), file_stylesheet()):
            assert all(f".pic-{name}{{{kind}:{colour}" in sheet for colour in colours for kind in _kinds(name))


def _kinds(name: str) -> tuple[str, ...]:
    return ("fill",) if name in FILLS else ("stroke",)


def test_the_question_of_the_fixed_preview_has_its_steps() -> None:
    assert QUESTION["schedule"]["steps"] is STEPS
