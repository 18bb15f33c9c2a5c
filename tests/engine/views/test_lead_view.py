"""What does a person read about a lead, and is every column there?"""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from engine.views.lead import CSS_STATUSES, expires_in, human_status, lead_view
from engine.views.lead_columns import LEAD_COLUMNS
from schemas.contact import LeadStatus
from schemas.instant import from_datetime

NOW = datetime(2026, 3, 12, 16, 30, tzinfo=UTC)
NOW_INSTANT = from_datetime(NOW)
STATUSES: tuple[str, ...] = LeadStatus.__args__  # type: ignore[attr-defined]


class LeadRow(dict[str, Any]):
    """A row in which every column that is not given is empty."""

    def __missing__(self, key: str) -> Any:
        return [] if key == "zones" else None


@pytest.mark.parametrize(
    ("row", "sentence"),
    [
        ({"status": "scheduled", "next_action_at": NOW + timedelta(hours=20)}, "Scheduled, next action Fri 8:30"),
        (
            {"status": "scheduled", "next_action_at": NOW + timedelta(hours=20), "time_zone": "America/Los_Angeles"},
            "Scheduled, next action Fri 5:30",
        ),
        ({"status": "scheduled", "next_action_at": NOW}, "Scheduled, due now"),
        (
            {"status": "scheduled", "next_action_at": NOW + timedelta(hours=2), "expires_at": NOW + timedelta(hours=2)},
            "Scheduled, and will expire before the next allowed time",
        ),
        (
            {
                "status": "scheduled",
                "next_action_at": NOW + timedelta(hours=2),
                "expires_at": NOW + timedelta(hours=2, seconds=1),
            },
            "Scheduled, next action Thu 14:30",
        ),
        (
            {"status": "waiting", "status_wait": "schedule_paused", "next_action_at": NOW},
            "Waiting: the schedule is paused, due when that ends",
        ),
        (
            {"status": "waiting", "status_wait": "quiet_hours_state", "next_action_at": NOW + timedelta(hours=20)},
            "Waiting: the law of the state allows no contact at this hour, next try Fri 8:30",
        ),
        (
            {
                "status": "waiting",
                "status_wait": "quiet_hours_state",
                "next_action_at": NOW + timedelta(hours=20),
                "rest": {"rule_deciding": "us-fl"},
            },
            "Waiting: Florida allows calls from 8:00 to 20:00, next try Fri 8:30",
        ),
        (
            {
                "status": "waiting",
                "status_wait": "frequency_cap",
                "next_action_at": NOW + timedelta(days=8),
                "urgency_class": 4,
                "rest": {"rule_deciding": "us-fl"},
            },
            "Waiting: Florida allows 3 calls and texts in 24h to one number, and they were made, next try Fri 20 Mar 12:30",
        ),
        (
            {"status": "waiting", "status_wait": "quiet_hours_federal", "expires_at": NOW + timedelta(hours=1)},
            "Waiting: the law allows no contact at this hour, and will expire before the next allowed time",
        ),
        (
            {"status": "waiting", "status_wait": "holiday", "next_action_at": NOW + timedelta(2), "expires_at": NOW},
            "Waiting: a holiday, and will expire before the next allowed time",
        ),
        ({"status": "waiting", "status_wait": "a_new_code"}, "Waiting: a_new_code"),
        ({"status": "waiting"}, "Waiting: held"),
        ({"status": "running", "flight": {"kind": "sms"}}, "Running: a text is on its way"),
        ({"status": "running"}, "Running: an action is on its way"),
        ({"status": "exceeded_max_calls"}, "Attempt limit reached"),
    ],
)
def test_a_sentence_says_where_a_lead_stands(row: dict[str, Any], sentence: str) -> None:
    status_shown = human_status(LeadRow({"zone_deciding": None, "zones": ["Etc/GMT+4"], **row}), NOW_INSTANT)
    assert status_shown.removesuffix(" (lead's time)") == sentence


@pytest.mark.parametrize("status", STATUSES)
def test_every_status_has_its_words_and_every_column_its_value(status: str) -> None:
    lead = lead_view(LeadRow(status=status, id=1), NOW_INSTANT)
    assert tuple(lead) == LEAD_COLUMNS
    assert lead["css_status"] == CSS_STATUSES[status]
    assert lead["human_status"]


def test_colours_tell_good_ends_from_bad_ones() -> None:
    status_shown: dict[str, set[str]] = {}
    for status, colour in CSS_STATUSES.items():
        status_shown.setdefault(colour, set()).add(status)
    assert status_shown == {
        "info": {"queue", "scheduled"},
        "warning": {"waiting"},
        "active": {"running"},
        "success": {"success", "completed_converted", "completed_connected"},
        "danger": {"opt_out", "dnc", "blocked", "failure"},
        "muted": {
            *("captured", "completed_attempted", "completed", "expired", "exceeded_max_calls", "exceeded_short_calls"),
            *("removed", "disabled"),
        },
    }


@pytest.mark.parametrize("status", STATUSES)
def test_only_a_lead_that_is_scheduled_or_waits_for_an_instant_has_a_next_action(status: str) -> None:
    has_next_action = [
        lead_view(LeadRow(status=status, id=1, next_action_at=at), NOW_INSTANT)["has_next_action"] for at in (NOW, None)
    ]
    assert has_next_action == [status in {"scheduled", "waiting"}, False]


def test_expiry_is_given_in_seconds() -> None:
    later = NOW + timedelta(seconds=90, milliseconds=500)
    assert expires_in(LeadRow(status="scheduled", expires_at=later), NOW_INSTANT) == 90
    assert expires_in(LeadRow(status="scheduled", expires_at=NOW - timedelta(1)), NOW_INSTANT) == 0
    assert expires_in(LeadRow(status="scheduled"), NOW_INSTANT) is None
    assert expires_in(LeadRow(status="expired", expires_at=later), NOW_INSTANT) == 0


def test_the_companys_numbers_are_known_by_their_ids_calls_and_texts_apart() -> None:
    row = LeadRow(status="scheduled", id=1, svc_number="+12125550150", sms_number="+12125550151")
    ids = {"+12125550150": 5, "+12125550151": 6}
    shown = lead_view(row, NOW_INSTANT, None, ids.get)
    assert (shown["dial_number_id"], shown["sms_number_id"]) == (5, 6)
    assert (shown["svc_number_plain"], shown["sms_number_plain"]) == ("+12125550150", "+12125550151")
    assert lead_view(row, NOW_INSTANT, ("sms_number_id",), ids.get) == {"sms_number_id": 6}
