"""Does the form of a schedule send back what it shows, for every kind of step, and what is typed as it is typed?"""

from typing import Any

import msgspec
import pytest

from adapters.http.console.schedule_edits import Edit, act, begin, digests, merge, read_json
from adapters.http.console.schedule_form import EDITED, fold_schedule, normalise, places_of, unfold_step
from schemas.records import Schedule
from schemas.schedule import STEP_KINDS

STEPS: list[dict[str, Any]] = [
    {
        "id": "call-1", "kind": "call", "connect": {"buyer_ids": [7, 8], "route_by_type": "epc"},
        "from_number": "+12125550150",
        "ring_timeout_seconds": 25, "machine": "continue", "retry": {"busy": {}, "no_answer": {"delay": "2h", "max": 2}},
        "await_disposition": "30m", "on_late": "exit",
    },
    {"id": "call-2", "kind": "call", "connect": {"agents": {"agent_ids": [1], "call_center_ids": [2, 3]}}},
    {"id": "text-1", "kind": "sms", "template": "Hi {{first_name}},\n\nstill there?", "require_opt_in": True},
    {"id": "mail-1", "kind": "email", "subject": "Still interested?", "template": " Hello"},
    {"id": "post-1", "kind": "webhook", "outgoing_webhook_id": 3, "retry": {"failed": {"max": 5}}},
    {"id": "wait-1", "kind": "wait", "duration": "1d", "mode": "calendar"},
    {"id": "wait-2", "kind": "wait", "until": {"time": "10:00", "days": ["mon", "fri"], "if_passed": "now"}},
    {"id": "for-1", "kind": "wait_for", "event": "tokens_match", "timeout": "2d", "filters": ["plan:gold", "state:CA|NY"]},
    {"id": "where", "kind": "branch", "else": "call-2",
     "rules": [{"if": ["state:CA"], "goto": "mail-1"}, {"if": ["a:b", "c:d"], "goto": "bye"}]},
    {"id": "half", "kind": "split", "paths": [{"goto": "call-1", "weight": 3}, {"goto": "bye"}]},
    {"id": "set-1", "kind": "update_lead", "set": {"tier": "gold", "n": 1}, "unset": ["x"], "lead_priority": 1.5},
    {"id": "tag-1", "kind": "tag", "add": ["hot"], "remove": ["cold", "old"]},
    {"id": "move-1", "kind": "move_to_schedule", "schedule_id": 9, "keep_expiry": False, "keep_attempts": True},
    {"id": "again", "kind": "restart", "max_restarts": 2},
    {"id": "back-1", "kind": "schedule_callback", "in": "2h", "buyer_id": 4, "grace_minutes": 0},
    {"id": "out-1", "kind": "opt_out", "scope": "channel", "channel": "sms"},
    {"id": "block-1", "kind": "block"},
    {"id": "never", "kind": "suppress"},
    {"id": "group-1", "kind": "action_group", "action_group_id": 5},
    {"id": "bye", "kind": "exit", "result": "failure"},
]  # fmt: skip

PLAN: dict[str, Any] = {
    "name": "Winter",
    "time_zone": "America/New_York",
    "hours_to_expire": 120,
    "windows": {
        "call": [{"days": ["mon", "tue"], "open": "09:00", "close": "20:00"}],
        "sms": [{"days": ["sun"], "open": "10:00", "close": "24:00"}],
    },
    "steps": STEPS,
    "end_steps": [{"id": "tell", "kind": "webhook", "outgoing_webhook_id": 3}],
    "triggers": [
        {"on": "enter", "type": "none", "add_tokens": {"seen": "yes"}, "expire_minutes": 90},
        {"on": "exit", "type": "replied", "goto": "bye"},
    ],
}


def stored(fields: dict[str, Any]) -> Schedule:
    return msgspec.convert({"lead_token": "x" * 20, **fields}, Schedule)


def test_every_kind_of_step_is_in_this_test() -> None:
    assert {step["kind"] for step in STEPS} == set(STEP_KINDS)


def test_a_schedule_that_nobody_touches_is_sent_back_as_it_was() -> None:
    sent = normalise(PLAN)
    assert stored(sent) == stored(PLAN)
    assert normalise(sent) == sent
    spelled_out = msgspec.json.decode(msgspec.json.encode(msgspec.to_builtins(stored(PLAN))))
    assert normalise(spelled_out) == sent, "what is as its default is, is left out"


def test_what_cannot_be_read_is_sent_as_it_was_typed_for_the_api_to_judge() -> None:
    posted = {
        "hours_to_expire": "soon", "steps.0.kind": "call", "steps.0.id": "call-1", "steps.0.ring_timeout_seconds": "long",
        "steps.0.connect.buyer_ids": "7, x", "steps.1.json": "{", "steps.2.kind": "explode", "steps.2.id": "z",
        "triggers.0.on": "exit", "triggers.0.add_tokens": "{bad", "windows.call.0.open": "nine",
    }  # fmt: skip
    found = fold_schedule(posted)
    assert found["hours_to_expire"] == "soon"
    assert found["steps"] == [
        {"id": "call-1", "kind": "call", "connect": {"buyer_ids": [7, "x"]}, "ring_timeout_seconds": "long"},
        {},
        {"id": "", "kind": "explode"},
    ]
    assert found["triggers"] == [{"on": "exit", "add_tokens": "{bad"}]
    assert found["windows"] == {"call": [{"days": [], "open": "nine"}]}


@pytest.mark.parametrize("junk", [None, 7, "x", [], {"days": 7}, [["x"]]])
def test_no_value_of_another_shape_breaks_the_form(junk: Any) -> None:
    assert set(normalise(dict.fromkeys(EDITED, junk))) >= {"windows", "steps", "end_steps", "triggers"}
    for kind in STEP_KINDS:
        fields = {"kind": kind, **dict.fromkeys(("connect", "retry", "rules", "paths", "until", "filters", "set"), junk)}
        assert list(places_of(unfold_step(fields, "steps.0")))


def edit_of(fields: dict[str, Any]) -> Edit:
    return begin({"version": 4, **fields, "draft_fields": {}})


def test_an_edit_knows_what_was_changed_in_it() -> None:
    edit = edit_of(PLAN)
    assert edit.changed == {}
    act(edit, "remove", "triggers.1", {})
    del edit.fields["hours_to_expire"]
    assert edit.changed == {"triggers": normalise(PLAN)["triggers"][:1], "hours_to_expire": None}


def test_what_was_saved_as_a_draft_is_not_sent_again() -> None:
    edit = edit_of(PLAN)
    edit.fields["name"] = "Mine"
    edit.continue_from(5)
    assert (edit.changed, edit.version) == ({}, 5)
    del edit.fields["hours_to_expire"]
    assert edit.changed == {"hours_to_expire": None}


def test_an_edit_begins_from_the_draft_that_waits() -> None:
    edit = begin({"version": 4, **PLAN, "draft_fields": {"name": "Spring"}})
    assert (edit.fields["name"], edit.changed) == ("Spring", {})


def test_rows_are_added_moved_and_taken_away_and_open_steps_stay_open() -> None:
    edit = edit_of(PLAN)
    act(edit, "open", "steps.1", {})
    act(edit, "up", "steps.1", {})
    assert [step["id"] for step in edit.fields["steps"]][:3] == ["call-2", "call-1", "text-1"]
    assert edit.opened == {"steps.0"}
    act(edit, "add", "steps", {"add.steps.kind": "call", "add.steps.before": "0"})
    assert edit.fields["steps"][0] == {"id": "call-3", "kind": "call"}
    assert edit.opened == {"steps.0", "steps.1"}
    assert edit.focus == "steps.0.id"
    act(edit, "remove", "steps.0", {})
    assert edit.opened == {"steps.0"}
    act(edit, "add", "windows.email", {})
    assert edit.fields["windows"]["email"] == [{}]
    act(edit, "add", "steps.8.rules", {})
    assert edit.fields["steps"][8]["rules"][-1] == {}


@pytest.mark.parametrize(
    "verb", ["remove:steps.99", "up:steps.0", "down:steps.19", "add:steps", "add:name", "remove:name.0",
             "open:windows.call.0",
             "remove:steps.²", "add:steps.99.rules", "add:__class__", "explode:steps.0", "remove:", ":", "up:steps.-1"],
)  # fmt: skip
def test_a_button_that_no_form_has_changes_nothing(verb: str) -> None:
    edit = edit_of(PLAN)
    before = msgspec.json.encode(edit.fields)
    name, _, path = verb.partition(":")
    act(edit, name, path, {})
    assert msgspec.json.encode(edit.fields) == before


def test_what_two_people_changed_is_in_the_form_of_the_second() -> None:
    mine = edit_of(PLAN)
    act(mine, "remove", "triggers.1", {})
    mine.fields["name"] = "Mine"
    theirs = {**PLAN, "version": 5, "name": "Theirs", "hours_to_expire": 24, "draft_fields": {}}
    merged, moved = merge(mine, theirs)
    assert moved == {"name": "both", "hours_to_expire": "there"}
    assert (merged.fields["name"], merged.fields["hours_to_expire"], merged.version) == ("Mine", 24, 5)
    assert merged.changed.keys() == {"name", "triggers"}
    assert digests(merged.fields)["steps"] == digests(mine.fields)["steps"]


@pytest.mark.parametrize("text", ["{", "[]", '{"lead_token": "x"}', '{"steps": [{"kind": "explode"}]}', '{"steps": 7}'])
def test_json_that_is_no_schedule_is_refused_in_a_sentence(text: str) -> None:
    edit = edit_of(PLAN)
    assert read_json(text, edit).endswith(".")
    assert edit.changed == {}


def test_json_becomes_the_form() -> None:
    edit = edit_of(PLAN)
    assert not read_json(msgspec.json.encode({**normalise(PLAN), "name": "By hand"}).decode(), edit)
    assert edit.changed == {"name": "By hand"}
