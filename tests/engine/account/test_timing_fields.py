"""What of a schedule's timing is refused when it is published? Each bad field with the cure."""

from typing import Any

import pytest

from engine.account.bodies import read_schedule
from engine.partition.draft import RefusedError

CALL = {"id": "call-1", "kind": "call"}


@pytest.mark.parametrize(
    ("fields", "place", "word"),
    [
        ({"purpose": "sales"}, "purpose", "telemarketing, informational"),
        ({"min_spacing": {"fax": "1h"}}, "min_spacing", "call, sms, email, any"),
        ({"min_spacing": {"call": "1d"}}, "min_spacing", "hours, minutes or seconds"),
        ({"min_spacing": {"call": "800h"}}, "min_spacing", "744h"),
        ({"min_spacing": "4h"}, "min_spacing", "object"),
        ({"jitter_seconds": 3601}, "jitter_seconds", "3600"),
        ({"jitter_seconds": -1}, "jitter_seconds", "0"),
        ({"window_miss": "drop"}, "window_miss", "next_open"),
        ({"unknown_zone": "utc"}, "unknown_zone", "intersect"),
        ({"pauses": [{"from": "2026-12-24"}]}, "pauses", "from and to"),
        ({"pauses": [{"from": "2026-02-30", "to": "2026-03-01"}]}, "pauses", "dates such as"),
        ({"pauses": [{"from": "2026-12-31", "to": "2026-12-24"}]}, "pauses", "not before its from"),
        ({"pauses": [{"from": "2026-01-01", "to": "2027-12-31"}]}, "pauses", "366 days"),
        ({"pauses": "Christmas"}, "pauses", "list"),
        ({"real_time_priority": "maybe"}, "real_time_priority", ""),
        ({"steps": [{**CALL, "jitter_seconds": 9999}]}, "steps[0].jitter_seconds", "0 to 3600"),
        ({"steps": [{**CALL, "window_miss": "drop"}]}, "steps[0].window_miss", "skip_step"),
    ],
)
def test_bad_timing_is_refused_with_the_cure(fields: dict[str, Any], place: str, word: str) -> None:
    with pytest.raises(RefusedError) as refused:
        read_schedule({"steps": [CALL], **fields})

    assert list(refused.value.errors) == [place]
    assert word in refused.value.errors[place][0]


def test_a_schedule_keeps_what_it_says_about_time() -> None:
    given = {
        "purpose": "informational",
        "min_spacing": {"call": "4h", "any": "30m"},
        "jitter_seconds": 300,
        "window_miss": "skip_step",
        "pauses": [{"from": "2026-12-24", "to": "2026-12-26", "name": "Christmas"}],
        "unknown_zone": "hold",
        "real_time_priority": True,
    }

    schedule = read_schedule({"steps": [CALL], **given})

    assert schedule.min_spacing == given["min_spacing"]
    assert schedule.pauses[0].last == "2026-12-26"
    assert (schedule.purpose, schedule.jitter_seconds, schedule.unknown_zone) == ("informational", 300, "hold")
