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


def drop(**fields: Any) -> dict[str, Any]:
    return call(machine="voicemail_drop", **fields)


def stream(url: str, **connect: Any) -> dict[str, Any]:
    return call(connect={"stream": url, **connect})


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


def branch(goto: str, **fields: Any) -> dict[str, Any]:
    return {"id": "where", "kind": "branch", "rules": [{"if": ["state:CA"], "goto": goto}]} | fields


@pytest.mark.parametrize(
    ("step", "place", "hint"),
    [
        ({"id": "a", "kind": "brench"}, "steps[0].kind", " (did you mean branch?)"),
        ({"id": "a", "kind": "xyz"}, "steps[0].kind", ""),
        (call(retrys={}), "steps[0].retrys", " (did you mean retry?)"),
        (call(retry={"noanswer": {}}), "steps[0].retry.noanswer", " (did you mean no_answer?)"),
        (call(x={}), "steps[0].x", ""),
        ({"id": "a", "kind": "x" * 100_000}, "steps[0].kind", ""),
    ],
)
def test_a_mistyped_word_is_answered_with_the_right_one(step: Any, place: str, hint: str) -> None:
    (fault,) = faults(step)[place]
    assert hint in fault
    assert ("did you mean" in fault) == bool(hint)


@pytest.mark.parametrize(
    ("step", "place", "cure"),
    [
        ({"id": "a", "kind": "nap"}, "steps[0].kind", "the kinds are call, sms, email, webhook, wait, wait_for, branch"),
        ({"id": "a"}, "steps[0].kind", "the kinds are"),
        ({"id": "a", "kind": ["call"]}, "steps[0].kind", "the kinds are"),
        ("call", "steps[0]", "an object with an id and a kind"),
        ({"kind": "call"}, "steps[0].id", "must be given"),
        ({"id": " ", "kind": "call"}, "steps[0].id", "1 to 64"),
        ({"id": "x" * 65, "kind": "call"}, "steps[0].id", "1 to 64"),
        ({"id": 7, "kind": "call"}, "steps[0].id", "must be text"),
        (call(colour="red"), "steps[0].colour", "those are id, connect"),
        (call(machine="sing"), "steps[0].machine", "must be one of hangup, voicemail_drop, continue"),
        (call(machine="voicemail_drop"), "steps[0].voicemail_message", "must be given where machine is voicemail_drop"),
        (call(voicemail_message="Hello"), "steps[0].voicemail_message", "has no effect unless machine is voicemail_drop"),
        (drop(voicemail_message=" "), "steps[0].voicemail_message", "must not be blank"),
        (drop(voicemail_message="Hi {{first_name}}"), "steps[0].voicemail_message", "takes no tokens"),
        (drop(voicemail_message="x" * 1_001), "steps[0].voicemail_message", "at most 1000 characters"),
        (call(ring_timeout_seconds="30"), "steps[0].ring_timeout_seconds", "a whole number"),
        (call(ring_timeout_seconds=2), "steps[0].ring_timeout_seconds", "from 5 to 120"),
        (call(from_number="305"), "steps[0].from_number", "+13055550123"),
        (call(retry={"busy": {"delay": "soon"}}), "steps[0].retry.busy.delay", "15m"),
        (call(retry={"busy": {"max": 0}}), "steps[0].retry.busy.max", "from 1 to 20"),
        (call(retry={"busy": {"often": 1}}), "steps[0].retry.often", "is no field here; those are delay, max"),
        (call(retry=["busy"]), "steps[0].retry", 'an object, such as {"busy":'),
        (call(connect=7), "steps[0].connect", 'such as {"buyer_group_id": 7}'),
        (wait(duration=15), "steps[0].duration", 'text, such as "15m"'),
        (wait(until="10:00"), "steps[0].until", 'an object, such as {"time": "10:00"}'),
        (branch("a", rules=[{"if": "state:CA", "goto": "a"}]), "steps[0].rules[0].if", 'a list, such as ["state:CA"]'),
        (call(retry={"delivered": {}}), "steps[0].retry.delivered", "try again after connected_human"),
        (call(retry={"opted_out": {}}), "steps[0].retry.opted_out", "never tried again"),
        (call(retry={"invalid_number": {}}), "steps[0].retry.invalid_number", "never tried again"),
        (sms(retry={"busy": {}}), "steps[0].retry.busy", "no outcome of a sms"),
        (call(await_disposition="x"), "steps[0].await_disposition", "15m"),
        (call(max_lateness="1y"), "steps[0].max_lateness", "15m"),
        (call(outcome_timeout=""), "steps[0].outcome_timeout", "15m"),
        (call(on_late="later"), "steps[0].on_late", "run, skip, exit"),
        (call(connect={"buyer_group_id": 1, "buyer_ids": [2]}), "steps[0].connect", "either"),
        (call(connect={"buyer_group_id": 1, "buyer_group_ids": [2]}), "steps[0].connect", "either"),
        (call(connect={"buyer_group_ids": list(range(1, 52))}), "steps[0].connect.buyer_group_ids", "at most 50"),
        (call(connect={"buyer_group_ids": [1], "agents": {"agent_ids": [2]}}), "steps[0].connect.agents", "or for buyers"),
        (call(connect={"whisper": " "}), "steps[0].connect.whisper", "blank"),
        (call(connect={"whisper": "x" * 501}), "steps[0].connect.whisper", "at most 500"),
        (call(connect={"whisper": "From {{city}"}), "steps[0].connect.whisper", "braces"),
        (stream("https://bot.example.com"), "steps[0].connect.stream", "wss://bot.example.com/calls"),
        (stream("wss://10.0.0.7/calls"), "steps[0].connect.stream", "public host"),
        (stream("wss://8.8.8.8/calls"), "steps[0].connect.stream", "public host"),
        (stream("wss://[::1]/calls"), "steps[0].connect.stream", "public host"),
        (stream("wss://0x7f.1/calls"), "steps[0].connect.stream", "public host"),
        (stream("wss://localhost/calls"), "steps[0].connect.stream", "public host"),
        (stream("wss://bot/calls"), "steps[0].connect.stream", "public host"),
        (stream("wss://bot.internal/calls"), "steps[0].connect.stream", "public host"),
        (stream("wss://bot.Local/calls"), "steps[0].connect.stream", "public host"),
        (stream("wss://me:secret@bot.example.com"), "steps[0].connect.stream", "no user name"),
        (stream("wss://bot.example.com/?key=1"), "steps[0].connect.stream", "query"),
        (stream("wss://bot.example.com/#1"), "steps[0].connect.stream", "fragment"),
        (stream(f"wss://bot.example.com/{'x' * 2_048}"), "steps[0].connect.stream", "at most"),
        (stream("wss://bot.example.com", buyer_ids=[2]), "steps[0].connect.stream", "must not stand beside buyers"),
        (stream("wss://bot.example.com", whisper="Ann"), "steps[0].connect.whisper", "no effect beside stream"),
        (stream("wss://bot.example.com", route_by_type="epc"), "steps[0].connect.route_by_type", "no effect beside stream"),
        (sms(""), "steps[0].template", "blank"),
        (sms("x" * 1601), "steps[0].template", "1600"),
        (sms("Hi {{first_name}"), "steps[0].template", "braces"),
        (sms("Hi {{first name}}"), "steps[0].template", "braces"),
        (sms("Hi }}"), "steps[0].template", "braces"),
        (sms("Hi {{first_name|shout}}"), "steps[0].template", "the filter shout, which is none of default, capitalize"),
        (sms("Hi {{first_name|default}}"), "steps[0].template", "the default in quotes, such as default:'there'"),
        (sms("Hi {{first_name|upper:'x'}}"), "steps[0].template", "words behind the filter upper, which takes none"),
        (sms("Hi {{first_name|default:'a}}"), "steps[0].template", "braces"),
        (sms("a" * 1_531 + "{{first_name}}"), "steps[0].template", "has 11 segments without its tokens"),
        (sms("ж" * 671), "steps[0].template", "has 11 segments without its tokens"),
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


def test_all_faults_are_reported_at_once_each_with_its_step() -> None:
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
    ("channel", "opens", "closes", "margin", "is_refused"),
    [
        ("call", "10:00", "10:10", 600, True),
        ("call", "10:00", "10:10", 599, False),
        ("sms", "20:55", "23:00", 300, True),
        ("sms", "20:55", "23:00", 299, False),
        ("email", "22:00", "22:10", 600, True),
        ("email", "22:00", "22:10", 0, False),
    ],
)
def test_hours_of_which_a_close_margin_leaves_nothing_are_refused(
    channel: str, opens: str, closes: str, margin: int, is_refused: bool
) -> None:
    rows = [{"days": ["mon"], "open": opens, "close": closes}]
    given = {"steps": [call()], "close_margin_seconds": margin, "windows": {channel: rows}}
    if not is_refused:
        read_schedule(given)
        return
    with pytest.raises(RefusedError) as refused:
        read_schedule(given)
    assert "open it longer" in refused.value.errors[f"windows.{channel}"][0]


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


@pytest.mark.parametrize(
    ("step", "place", "cure"),
    [
        ({"id": "a", "kind": "branch", "rules": []}, "rules", "1 to 50 rules"),
        ({"id": "a", "kind": "branch", "rules": [{"if": [], "goto": "b"}]}, "rules[0].if", "said by else"),
        ({"id": "a", "kind": "branch", "rules": [{"if": ["CA"], "goto": "b"}]}, "rules[0].if", "state:CA|NY"),
        ({"id": "a", "kind": "branch", "rules": [{"if": ["n:>1|<0"], "goto": "b"}]}, "rules[0].if", "two rules"),
        ({"id": "a", "kind": "branch", "rules": [{"goto": "b"}]}, "rules[0].if", "must be given"),
        ({"id": "a", "kind": "split", "paths": [{"goto": "b"}]}, "paths", "2 to 20"),
        ({"id": "a", "kind": "split", "paths": [{"goto": "b", "weight": 0}, {"goto": "b"}]}, "paths[0].weight", "from 1"),
        ({"id": "a", "kind": "wait_for", "event": "replied", "timeout": "1d"}, "event", "tokens_match, converted"),
        ({"id": "a", "kind": "wait_for", "event": "tokens_match", "timeout": "1d"}, "filters", "plan:gold"),
        ({"id": "a", "kind": "wait_for", "event": "converted"}, "timeout", "must be given"),
        ({"id": "a", "kind": "wait_for", "event": "converted", "timeout": "1d", "filters": ["a:b"]}, "filters", "only"),
        ({"id": "a", "kind": "update_lead"}, "", "must change something"),
        ({"id": "a", "kind": "update_lead", "set": {"status": "x"}}, "set", "a field of the lead"),
        ({"id": "a", "kind": "update_lead", "set": {"a": "x" * 5000}}, "set.a", "4096"),
        ({"id": "a", "kind": "update_lead", "lead_priority": 1e9}, "lead_priority", "to 1000000"),
        ({"id": "a", "kind": "tag"}, "", "add or remove"),
        ({"id": "a", "kind": "tag", "add": ["a,b"]}, "add", "without commas"),
        ({"id": "a", "kind": "restart", "max_restarts": 0}, "max_restarts", "from 1"),
        ({"id": "a", "kind": "schedule_callback"}, "", "either in or at"),
        ({"id": "a", "kind": "schedule_callback", "in": "soon"}, "in", "15m"),
        ({"id": "a", "kind": "schedule_callback", "at": {"time": "9"}}, "at.time", "HH:MM"),
    ],
)
def test_a_fault_of_a_step_that_decides_or_changes_has_its_place_and_its_cure(step: Any, place: str, cure: str) -> None:
    errors = faults(step, wait(id="b", duration="1h"))
    assert list(errors) == [f"steps[0].{place}" if place else "steps[0]"]
    assert cure in errors[next(iter(errors))][0]


@pytest.mark.parametrize(
    ("steps", "place", "cure"),
    [
        (
            [branch("nowhere"), call()],
            "steps[0].rules[0].goto",
            "of this list: 'nowhere' (did you mean where?); those are where, a",
        ),
        ([branch("a", **{"else": "end"}), call()], "steps[0].else", "names no step"),
        (
            [branch("a", **{"else": "a"}), wait(id="b", duration="1h"), sms(id="c"), call()],
            "steps[1]",
            "'where' goes elsewhere",
        ),
        ([branch("where")], "steps[0]", "where -> where; put a wait of at least 60s into it"),
        ([call(), branch("a")], "steps[0]", "a -> where -> a"),
        ([wait(duration="59s"), branch("a")], "steps[0]", "at least 60s"),
        (
            [wait(until={"time": "10:00"}), branch("a")],
            "steps[0]",
            "at least 60s into it (until a time of day may be over at once)",
        ),
        (
            [{"id": "a", "kind": "wait_for", "event": "converted", "timeout": "1d", "on_match": "a"}],
            "steps[0]",
            "a -> a; put a wait",
        ),
        ([{"id": "x", "kind": "move_to_schedule", "schedule_id": 2}, call()], "steps[1]", "never reached"),
        ([{"id": "x", "kind": "opt_out"}, call()], "steps[1]", "never reached"),
    ],
)
def test_ways_that_lead_nowhere_or_round_without_a_wait_are_refused(steps: list[Any], place: str, cure: str) -> None:
    errors = faults(*steps)
    assert list(errors) == [place]
    assert cure in errors[place][0]
    assert errors[place][0].startswith("(step ")


def test_ways_round_that_take_time_and_steps_that_are_met_by_one_way_alone_are_taken() -> None:
    waits = {"id": "w", "kind": "wait_for", "event": "converted", "timeout": "1d", "on_timeout": "w", "on_match": "a"}
    read_schedule({"steps": [call(), wait(id="b", duration="60s"), branch("a", **{"else": "c"}), sms(id="c")]})
    read_schedule({"steps": [waits, call()]})
    read_schedule(
        {
            "steps": [branch("c"), {"id": "x", "kind": "exit"}, sms(id="c")],
            "end_steps": [branch("e", id="to"), email(id="e")],
        }
    )


@pytest.mark.parametrize("kind", ["restart", "schedule_callback"])
def test_end_steps_neither_begin_again_nor_promise(kind: str) -> None:
    fields = {"in": "1h"} if kind == "schedule_callback" else {}
    assert list(faults(end_steps=[{"id": "x", "kind": kind, **fields}])) == ["end_steps[0].kind"]


def test_hours_that_never_meet_those_of_the_law_are_refused() -> None:
    night = [{"days": ["mon"], "open": "21:00", "close": "08:00"}]
    errors = faults(windows={"call": night, "sms": night})
    assert list(errors) == ["windows.call", "windows.sms"]
    assert "between 08:00 and 21:00" in errors["windows.call"][0]
    read_schedule({"windows": {"email": night, "call": [{"days": ["mon"], "open": "20:59", "close": "23:00"}]}})


@pytest.mark.parametrize(
    ("row", "place", "cure"),
    [
        ("exit", "", "object"),
        ({"on": "leave", "type": "dial"}, ".on", "enter, exit"),
        ({"on": "exit", "type": "texted"}, ".type", "buyer_converted, dial, inbound_connected, replied, disposition"),
        ({"on": "enter", "type": "dial"}, ".type", "none, tokens_match"),
        ({"on": "exit"}, ".type", "the types are"),
        ({"on": "exit", "type": "dial", "then": "a"}, ".then", "is no field here; those are"),
        ({"on": "exit", "type": "tokens_match"}, ".filters", "must have a filter"),
        ({"on": "exit", "type": "dial", "filters": ["x"]}, ".filters", "key:value"),
        ({"on": "exit", "type": "dial", "goto": "b"}, ".goto", "none of the steps"),
        ({"on": "exit", "type": "dial", "goto": "c", "end_result": "success"}, ".goto", "either goes on or leaves"),
        ({"on": "exit", "type": "expired", "goto": "c"}, ".goto", "end steps"),
        ({"on": "exit", "type": "expired", "end_result": "success"}, ".end_result", "reads expired"),
        ({"on": "exit", "type": "dial", "expire_minutes": 5}, ".expire_minutes", "goes with goto"),
        ({"on": "enter", "type": "none", "expire_minutes": 0}, ".expire_minutes", "from 1"),
        ({"on": "enter", "type": "none", "add_tokens": {"status": 1}}, ".add_tokens", "a field of the lead"),
    ],
)
def test_a_fault_of_a_trigger_has_its_place_and_its_cure(row: Any, place: str, cure: str) -> None:
    errors = faults(call(), sms(id="c"), triggers=[row])
    assert list(errors) == [f"triggers[0]{place}"]
    assert cure in errors[f"triggers[0]{place}"][0]


def test_a_trigger_reaches_steps_and_may_not_lead_round_without_a_wait() -> None:
    row = {"on": "exit", "type": "buyer_converted", "goto": "c"}
    steps = [call(), {"id": "x", "kind": "exit"}, sms(id="c")]
    assert list(faults(*steps)) == ["steps[2]"]
    assert read_schedule({"steps": steps, "triggers": [row]}).triggers[0].goto == "c"
    assert "a -> a" in faults(*steps[:1], triggers=[{"on": "exit", "type": "dial", "goto": "a"}])["steps[0]"][0]
    elsewhere = faults(*steps, triggers=[{"on": "enter", "type": "none", "goto": "c"}])
    assert "a trigger sends every lead elsewhere" in elsewhere["steps[0]"][0]
