"""Is a schedule that cannot run refused, with the place of every fault and its cure?"""

from typing import Any

import pytest

from engine.account.bodies import read_schedule
from engine.partition.draft import RefusedError
from schemas.schedule import CallStep, Retry, Until, WaitStep, Window

ROWS = [{"days": ["mon", "tue"], "open": "09:00", "close": "24:00"}, {"days": ["fri"], "open": "22:00", "close": "02:00"}]


def faults(*steps: Any, **fields: Any) -> dict[str, list[str]]:
    with pytest.raises(RefusedError) as caught:
        read_schedule({"steps": list(steps), **fields})
    assert caught.value.code == "invalid_schedule"
    return caught.value.errors


def call(**fields: Any) -> dict[str, Any]:
    return {"id": "a", "kind": "call", **fields}


def sms(template: str = "Hi", **fields: Any) -> dict[str, Any]:
    return {"id": "a", "kind": "sms", "template": template, **fields}


def wait(**fields: Any) -> dict[str, Any]:
    return {"id": "a", "kind": "wait", **fields}


def email(**fields: Any) -> dict[str, Any]:
    return {"id": "a", "kind": "email", "subject": "Hi", "template": "Hello", **fields}


def test_a_whole_schedule_is_read() -> None:
    schedule = read_schedule(
        {
            "name": "Solar five days",
            "time_zone": "America/New_York",
            "hours_to_expire": 120,
            "max_contact_attempts": 6,
            "windows": {"call": ROWS},
            "steps": [
                call(retry={"busy": {"delay": "15m", "max": 3}}),
                sms("Hi {{first_name}}, from {{ svc_number }}.", id="b"),
                wait(id="c", duration="1d"),
                wait(id="d", until={"time": "10:00", "days": ["mon"]}),
                email(id="e"),
                {"id": "f", "kind": "exit", "result": "success"},
            ],
            "end_steps": [{"id": "tell", "kind": "webhook", "outgoing_webhook_id": 3}],
        }
    )
    assert schedule.steps[0] == CallStep(id="a", retry={"busy": Retry(delay="15m", max=3)})
    assert schedule.steps[3] == WaitStep(id="d", until=Until(time="10:00", days=("mon",)))
    assert schedule.windows["call"][1] == Window(days=("fri",), open="22:00", close="02:00")


@pytest.mark.parametrize(
    ("step", "place", "cure"),
    [
        ({"id": "a", "kind": "branch"}, "steps[0].kind", "the kinds are call, sms, email, webhook, wait, exit"),
        ({"id": "a"}, "steps[0].kind", "the kinds are"),
        ({"id": "a", "kind": ["call"]}, "steps[0].kind", "the kinds are"),
        ("call", "steps[0]", "an object with an id and a kind"),
        ({"kind": "call"}, "steps[0].id", "must be given"),
        ({"id": " ", "kind": "call"}, "steps[0].id", "1 to 64"),
        ({"id": "x" * 65, "kind": "call"}, "steps[0].id", "1 to 64"),
        ({"id": 7, "kind": "call"}, "steps[0].id", "must be text"),
        (call(colour="red"), "steps[0].colour", "those are id, connect"),
        (call(machine="sing"), "steps[0].machine", "must be one of hangup, voicemail_drop, continue"),
        (call(ring_timeout_seconds="30"), "steps[0].ring_timeout_seconds", "a whole number"),
        (call(ring_timeout_seconds=2), "steps[0].ring_timeout_seconds", "from 5 to 120"),
        (call(from_number="305"), "steps[0].from_number", "+13055550123"),
        (call(retry={"busy": {"delay": "soon"}}), "steps[0].retry.busy.delay", "15m"),
        (call(retry={"busy": {"max": 0}}), "steps[0].retry.busy.max", "from 1 to 20"),
        (call(retry={"busy": {"often": 1}}), "steps[0].retry.often", "not a field"),
        (call(retry={"delivered": {}}), "steps[0].retry.delivered", "try again after connected_human"),
        (call(retry={"opted_out": {}}), "steps[0].retry.opted_out", "never tried again"),
        (call(retry={"invalid_number": {}}), "steps[0].retry.invalid_number", "never tried again"),
        (sms(retry={"busy": {}}), "steps[0].retry.busy", "no outcome of a sms"),
        (call(await_disposition="x"), "steps[0].await_disposition", "15m"),
        (call(max_lateness="1y"), "steps[0].max_lateness", "15m"),
        (call(outcome_timeout=""), "steps[0].outcome_timeout", "15m"),
        (call(on_late="later"), "steps[0].on_late", "run, skip, exit"),
        (call(connect={"buyer_group_id": 1, "buyer_ids": [2]}), "steps[0].connect", "either"),
        (sms(""), "steps[0].template", "blank"),
        (sms("x" * 1601), "steps[0].template", "1600"),
        (sms("Hi {{first_name}"), "steps[0].template", "braces"),
        (sms("Hi {{first name}}"), "steps[0].template", "braces"),
        (sms("Hi }}"), "steps[0].template", "braces"),
        (sms("a\x00b"), "steps[0].template", "NUL"),
        (email(subject="a\nb"), "steps[0].subject", "one line"),
        (email(subject=""), "steps[0].subject", "blank"),
        (email(from_address="nobody"), "steps[0].from_address", "e-mail address"),
        (wait(), "steps[0]", "either duration or until"),
        (wait(duration="1d", until={"time": "10:00"}), "steps[0]", "either duration or until"),
        (wait(duration="1.5h"), "steps[0].duration", "15m"),
        (wait(duration="400d"), "steps[0].duration", "366d"),
        (wait(until={"time": "25:00"}), "steps[0].until.time", "HH:MM"),
        (wait(until={"time": "10:00", "days": ["monday"]}), "steps[0].until.days[0]", "mon, tue"),
        (wait(until={"time": "10:00", "date": "2026-02-30"}), "steps[0].until.date", "YYYY-MM-DD"),
        (wait(until={"time": "10:00", "zone": "Mars"}), "steps[0].until.zone", "America/New_York"),
        (wait(until={"time": "10:00"}, mode="elapsed"), "steps[0].mode", "duration only"),
    ],
)
def test_a_fault_has_its_place_and_its_cure(step: Any, place: str, cure: str) -> None:
    errors = faults(step)
    assert list(errors) == [place]
    assert cure in errors[place][0]


def test_all_faults_are_told_at_once_each_with_its_step() -> None:
    errors = faults(
        call(retry={"busy": {"delay": "x"}}),
        {"id": "b", "kind": "nap"},
        wait(id="pause"),
        sms("{{", id="a"),
        end_steps=[{"id": "x", "kind": "exit"}, email(id="pause")],
        windows={"fax": [], "call": [{"days": [], "open": "9", "close": "24:00"}]},
    )
    assert set(errors) == {
        "steps[0].retry.busy.delay",
        "steps[1].kind",
        "steps[2]",
        "steps[3].id",
        "steps[3].template",
        "end_steps[0].kind",
        "end_steps[1].id",
        "windows.fax",
        "windows.call[0].days",
        "windows.call[0].open",
    }
    assert errors["steps[2]"][0].startswith("(step 'pause') ")


def test_steps_behind_an_exit_are_never_reached() -> None:
    assert list(faults({"id": "x", "kind": "exit"}, call())) == ["steps[1]"]


def test_at_most_200_steps() -> None:
    many = [call(id=f"c{number}") for number in range(201)]
    assert list(faults(*many)) == ["steps"]
    assert list(faults(*many[:150], end_steps=[call(id=f"e{number}") for number in range(51)])) == ["end_steps"]
    assert (
        len(read_schedule({"steps": many[:150], "end_steps": [call(id=f"e{number}") for number in range(50)]}).steps) == 150
    )


@pytest.mark.parametrize(
    ("windows", "place"),
    [
        ([], "windows"),
        ({"call": {}}, "windows.call"),
        ({"call": []}, "windows.call"),
        ({"call": ["mon"]}, "windows.call[0]"),
        ({"call": [{"days": ["mon"], "open": "09:00"}]}, "windows.call[0].close"),
        ({"call": [{"dow": ["mon"], "days": ["mon"], "open": "09:00", "close": "10:00"}]}, "windows.call[0].dow"),
        ({"call": [{"days": ["mo"], "open": "09:00", "close": "10:00"}]}, "windows.call[0].days[0]"),
        ({"call": [{"days": ["mon"], "open": "24:00", "close": "10:00"}]}, "windows.call[0].open"),
        ({"sms": [{"days": ["mon"], "open": "09:00", "close": "09:00"}]}, "windows.sms[0].close"),
    ],
)
def test_windows_that_are_none_are_refused(windows: Any, place: str) -> None:
    assert list(faults(windows=windows)) == [place]


@pytest.mark.parametrize("steps", ["call", {"a": 1}, 7])
def test_steps_are_a_list(steps: Any) -> None:
    with pytest.raises(RefusedError) as caught:
        read_schedule({"steps": steps})
    assert list(caught.value.errors) == ["steps"]
