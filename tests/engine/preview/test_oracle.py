"""Does a preview of any schedule agree with a plain model that steps through time?"""

from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from engine.preview import preview, read_trial, shown
from schemas.instant import EPOCH
from tests.engine.preview.oracle import DAYS, Oracle

PLACES = [
    ({"caller_id": "+12125550100"}, ("America/New_York",), ("NY",)),
    ({"caller_id": "+13055550100"}, ("America/New_York",), ("FL",)),
    ({"caller_id": "+14055550100"}, ("America/Chicago",), ("OK",)),
    ({"caller_id": "+12075550100"}, ("America/New_York",), ("ME",)),
    ({"caller_id": "+16015550100"}, ("America/Chicago",), ("MS",)),
    ({"caller_id": "+17135550100"}, ("America/Chicago",), ("TX",)),
    ({"caller_id": "+12035550100"}, ("America/New_York",), ("CT",)),
    ({"caller_id": "+12125550100", "zip_postal_code": "80202"}, ("America/Denver", "America/New_York"), ("NY", "CO")),
    ({"caller_id": "+17135550100", "zip_postal_code": "33101"}, ("America/New_York", "America/Chicago"), ("TX", "FL")),
    ({"caller_id": "+15025550100", "time_zone": "America/Phoenix"}, ("America/Phoenix",), ("KY",)),
    ({"caller_id": "+13055550100", "time_zone": "Australia/Lord_Howe"}, ("Australia/Lord_Howe",), ("FL",)),
    ({"caller_id": "+442071838750"}, ("Europe/London",), ("GB",)),
    ({"caller_id": "+97714412345"}, ("Asia/Kathmandu",), ()),
]
DURATIONS = st.sampled_from(["30s", "10m", "90m", "5h", "26h", "1d", "3d", "1w"])
DELAYS = st.sampled_from(["1m", "15m", "2h", "10h", "1d", "2d"])


@st.composite
def retries(draw: st.DrawFn, outcomes: tuple[str, ...]) -> dict[str, Any]:
    rows = {}
    for name in draw(st.sets(st.sampled_from(outcomes))):
        rows[name] = draw(st.fixed_dictionaries({}, optional={"delay": DELAYS, "max": st.integers(1, 3)}))
    return rows


@st.composite
def steps(draw: st.DrawFn) -> list[dict[str, Any]]:
    calls = retries(("no_answer", "busy", "voicemail", "congestion"))
    kinds = st.one_of(
        st.fixed_dictionaries({"kind": st.just("call")}, optional={"retry": calls}),
        st.fixed_dictionaries(
            {"kind": st.just("sms"), "template": st.just("Hi")}, optional={"retry": retries(("undelivered",))}
        ),
        st.just({"kind": "email", "subject": "Hi", "template": "Hi"}),
        st.just({"kind": "webhook", "outgoing_webhook_id": 3}),
        st.fixed_dictionaries({"kind": st.just("wait"), "duration": DURATIONS}),
    )
    return [{"id": f"step-{number}", **step} for number, step in enumerate(draw(st.lists(kinds, min_size=1, max_size=7)))]


@st.composite
def windows(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Hours by day that meet wherever the lead may be."""
    opens, closes = draw(st.integers(7, 12)), draw(st.integers(16, 23))
    days = draw(st.sets(st.sampled_from(DAYS), min_size=1).filter(lambda days: days != {"sun"}))  # Mississippi's are closed
    return [{"days": sorted(days, key=DAYS.index), "open": f"{opens:02}:00", "close": f"{closes:02}:30"}]


@st.composite
def schedules(draw: st.DrawFn) -> dict[str, Any]:
    channels = st.dictionaries(st.sampled_from(["call", "sms", "email"]), windows())
    more: dict[str, st.SearchStrategy[Any]] = {
        "hours_to_expire": st.integers(1, 400),
        "max_contact_attempts": st.integers(1, 5),
        "windows": channels,
        "min_spacing": st.sampled_from([{"call": "4h"}, {"sms": "90m"}, {"any": "50m"}, {"call": "2h", "any": "30m"}]),
    }
    closed: st.SearchStrategy[dict[str, Any]] = st.sampled_from(
        [{}, {"close_margin_seconds": 1800}, {"pauses": [{"from": "2026-03-09", "to": "2026-03-10"}]}]
    )
    return {"steps": draw(steps()), **draw(st.fixed_dictionaries({}, optional=more)), **draw(closed)}


SHIFTS = [datetime(2026, 3, 6, tzinfo=UTC), datetime(2026, 10, 30, tzinfo=UTC), datetime(2026, 10, 2, tzinfo=UTC)]
"""Before the clock is changed in America, there again, in Australia: three days in which most of it is lived through."""

OUTCOMES = st.fixed_dictionaries(
    {},
    optional={
        "call": st.sampled_from(["no_answer", "busy", "voicemail", "congestion"]),
        "sms": st.just("undelivered"),
    },
)


@settings(deadline=None)
@given(
    schedule=schedules(),
    place=st.sampled_from(PLACES),
    begun=st.sampled_from(SHIFTS),
    half_minutes=st.integers(0, 3 * 2880),
    outcomes=OUTCOMES,
)
def test_a_preview_is_what_a_reader_of_the_papers_says(
    schedule: dict[str, Any], place: Any, begun: datetime, half_minutes: int, outcomes: dict[str, str]
) -> None:
    lead, zones, states = place
    at = begun + timedelta(seconds=30 * half_minutes)
    asked = {"schedule": schedule, "lead": {**lead, "email": "ada@example.com"}, "at": at.isoformat(), "outcomes": outcomes}

    found = shown(preview(read_trial({**asked, "limit": 100}, now=EPOCH)))

    done, end, ended_at = Oracle(at, zones, states, schedule, outcomes).run()
    forecast_actions = [(one["step_id"], datetime.fromisoformat(one["at"])) for one in found["actions"]]
    assert forecast_actions == done
    assert (found["end_status"], datetime.fromisoformat(found["ended_at"])) == (end, ended_at)
