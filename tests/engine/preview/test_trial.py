"""Is a request for a preview refused where it is at fault, with every bad field named at once?"""

from typing import Any

import pytest

from engine.account.bodies import read_schedule
from engine.partition.draft import RefusedError
from engine.preview import Past, preview, read_trial
from schemas.instant import EPOCH
from tests.engine.contact.world import at

NOW = at("2026-03-07 21:30")
CALL: dict[str, Any] = {"id": "call-1", "kind": "call"}
PAUSE: dict[str, Any] = {"id": "pause", "kind": "wait", "duration": "1h"}
GOOD: dict[str, Any] = {"schedule": {"steps": [CALL, PAUSE]}, "lead": {"caller_id": "+13055550123"}}


def refused(raw: Any) -> RefusedError:
    with pytest.raises(RefusedError) as caught:
        preview(read_trial(raw, now=NOW))
    return caught.value


@pytest.mark.parametrize(
    ("bad", "field"),
    [
        ({"leed": {}}, "leed"),
        ({"schedule_id": 7}, "schedule_id"),
        ({"schedule": None}, "schedule"),
        ({"schedule": []}, "schedule"),
        ({"lead": None}, "lead"),
        ({"lead": "+13055550123"}, "lead"),
        ({"lead": {}}, "lead.caller_id"),
        ({"lead": {"caller_id": "12"}}, "lead.caller_id"),
        ({"lead": {"caller_id": "+13055550123", "time_zone": "Mars"}}, "lead.time_zone"),
        ({"at": "2026-03-07 21:30:00"}, "at"),
        ({"at": 5}, "at"),
        ({"at": "9999-12-31 23:59:59 -0500"}, "at"),
        ({"limit": 0}, "limit"),
        ({"limit": 1001}, "limit"),
        ({"limit": True}, "limit"),
        ({"outcomes": []}, "outcomes"),
        ({"outcomes": {"call-9": "busy"}}, "outcomes.call-9"),
        ({"outcomes": {"pause": "busy"}}, "outcomes.pause"),
        ({"outcomes": {"call": "delivered"}}, "outcomes.call"),
        ({"outcomes": {"call": None}}, "outcomes.call"),
        ({"history": {}}, "history"),
        ({"history": [7]}, "history[0]"),
        ({"history": [{"kind": "call"}]}, "history[0].at"),
        ({"history": [{"kind": "email", "at": "2026-03-07T00:00:00Z"}]}, "history[0].kind"),
        ({"history": [{"kind": [], "at": "2026-03-07T00:00:00Z"}]}, "history[0].kind"),
        ({"history": [{"kind": "sms", "at": "2026-03-07T00:00:00Z", "outcome": "busy"}]}, "history[0].outcome"),
        ({"history": [{"kind": "sms", "at": "2027-03-07T00:00:00Z"}]}, "history[0].at"),
        ({"history": [{"kind": "sms", "at": "2026-03-07T00:00:00Z", "when": 1}]}, "history[0].when"),
    ],
)
def test_a_bad_field_is_named(bad: dict[str, Any], field: str) -> None:
    refusal = refused({**GOOD, **bad})

    assert refusal.code == "validation_failed"
    assert list(refusal.errors) == [field]


def test_every_fault_is_reported_at_once() -> None:
    refusal = refused({"schedule": {"steps": [{"id": "x", "kind": "sing"}]}, "at": "soon", "limit": "many", "who": 1})

    assert set(refusal.errors) == {"who", "lead", "at", "limit", "steps[0].kind"}


def test_a_bad_schedule_gives_the_problem_of_publishing_it() -> None:
    bad = {"name": "Solar", "lead_token": "preview-preview-", "steps": [{"id": "pause", "kind": "wait", "duration": "soon"}]}
    with pytest.raises(RefusedError) as published:
        read_schedule(bad)

    refusal = refused({**GOOD, "schedule": bad})

    assert (refusal.code, refusal.detail, refusal.errors) == (
        published.value.code,
        published.value.detail,
        published.value.errors,
    )


@pytest.mark.parametrize("raw", [None, [], "preview", 7])
def test_what_is_no_object_is_refused(raw: Any) -> None:
    assert refused(raw).code == "malformed_body"


def test_a_schedule_without_steps_is_refused_as_its_leads_would_be() -> None:
    assert refused({**GOOD, "schedule": {}}).code == "schedule_inactive"


def test_what_is_left_out_has_its_default() -> None:
    trial = read_trial(GOOD, now=NOW)

    assert (trial.at, trial.limit, trial.outcomes, trial.history) == (NOW, 20, {}, ())


def test_the_date_form_of_the_interface_is_read_and_history_is_put_in_order() -> None:
    history = [
        {"kind": "sms", "at": "2026-03-07T12:00:00Z"},
        {"kind": "call", "at": "2026-03-06 12:00:00 -0500", "outcome": "busy"},
    ]

    trial = read_trial({**GOOD, "at": "2026-03-07 21:30:00 -0500", "history": history}, now=EPOCH)

    assert trial.at == NOW
    assert trial.history == (
        Past("call", at("2026-03-06 12:00"), "busy"),
        Past("sms", at("2026-03-07 12:00", "UTC"), "accepted"),
    )


def test_a_schedule_that_was_read_back_can_be_tried_as_it_is() -> None:
    shown = {"id": 1024, "uuid": "…", "created_at": "2026-01-01T00:00:00Z", "version": 3, **GOOD["schedule"]}

    assert read_trial({**GOOD, "schedule": shown}, now=NOW).schedule == read_trial(GOOD, now=NOW).schedule
