"""Does a preview agree with the running engine, and give the reasons?"""

from typing import Any

import pytest

from engine.partition.draft import RefusedError
from engine.preview import preview, read_trial, shown
from engine.submission.normalise import normalise
from schemas.commands import COMMAND_KINDS
from schemas.contact import LIVE_STATUSES
from schemas.instant import DAY, EPOCH, to_rfc3339
from schemas.records import Buyer, BuyerGroup, Company, OutgoingWebhook, RulePack
from schemas.wire import from_builtins
from tests.engine.contact.world import NEW_YORK, World, at

NUMBER = "+13055550123"
WEEKDAYS = ["mon", "tue", "wed", "thu", "fri"]
OFFICE = {"call": [{"days": WEEKDAYS, "open": "09:00", "close": "20:00"}]}

CALL: dict[str, Any] = {"id": "call-1", "kind": "call"}
TEXT: dict[str, Any] = {"id": "text-1", "kind": "sms", "template": "Hi {{first_name}}"}
MAIL: dict[str, Any] = {"id": "mail-1", "kind": "email", "subject": "Still there?", "template": "Hello"}
HOOK: dict[str, Any] = {"id": "tell-crm", "kind": "webhook", "outgoing_webhook_id": 3}
BUSY: dict[str, Any] = {"busy": {"delay": "15m", "max": 3}, "no_answer": {"delay": "2h", "max": 2}}

SATURDAY_NIGHT = "2026-03-07 21:30:00 -0500"
"""The night in which New York goes over to summer time."""


NUMBER_UNDER_NO_CAP = "+12125550100"
"""New York has no cap of its own in the rule pack; Florida stops a loop of texts at three a day."""


def seen(*steps: dict[str, Any], **asked: Any) -> dict[str, Any]:
    """The preview of a schedule of these steps, as it is shown."""
    fields = asked.pop("fields", {})
    lead = asked.pop("lead", {"caller_id": NUMBER})
    schedule = {"time_zone": NEW_YORK, "steps": list(steps), **fields}
    raw = {"schedule": schedule, "lead": lead, "at": SATURDAY_NIGHT, **asked}
    return shown(preview(read_trial(raw, now=EPOCH)))


def moments(found: dict[str, Any]) -> list[tuple[Any, ...]]:
    """Which step is carried out when, on the wall clock."""
    return [(action["step_id"], action["local_at"]) for action in found["actions"]]


def wait(duration: str, name: str = "pause") -> dict[str, Any]:
    return {"id": name, "kind": "wait", "duration": duration}


# -- the same as the running engine ------------------------------------------------------------------------------------

SCHEDULES: dict[str, dict[str, Any]] = {
    "one call": {"steps": [CALL]},
    "all kinds": {"steps": [CALL, TEXT, MAIL, HOOK], "end_steps": [{**HOOK, "id": "end"}]},
    "office hours and retries": {
        "steps": [{**CALL, "retry": BUSY}, wait("1d"), {**CALL, "id": "call-2"}],
        "windows": OFFICE,
    },
    "a buyer group": {"steps": [{**CALL, "connect": {"buyer_group_id": 7}}, TEXT]},
    "a disposition that nobody gives": {"steps": [{**CALL, "await_disposition": "30m", "retry": BUSY}, TEXT]},
    "an answer that nobody gives": {
        "steps": [TEXT, {"id": "ask", "kind": "wait_for", "event": "sms.received", "timeout": "1d"}, CALL],
        "on_reply": {"action": "exit"},
    },
    "the do-not-call list": {"steps": [TEXT, {"id": "never", "kind": "suppress"}], "end_steps": [HOOK]},
    "an attempt limit": {"steps": [CALL, TEXT, wait("2d"), {**CALL, "id": "call-2"}], "max_contact_attempts": 2},
    "an early expiry": {"steps": [CALL, wait("3d"), TEXT], "hours_to_expire": 30, "end_steps": [HOOK]},
    "an exit": {"steps": [TEXT, {"id": "out", "kind": "exit", "result": "success"}], "end_steps": [MAIL]},
    "Monday mornings": {
        "steps": [{"id": "m", "kind": "wait", "until": {"time": "10:00", "days": ["mon"]}}, TEXT, wait("1w"), CALL],
    },
    "a branch, a tag and a restart": {
        "steps": [
            {**CALL, "retry": BUSY},
            {"id": "again", "kind": "restart", "max_restarts": 2},
            {"id": "where", "kind": "branch", "rules": [{"if": ["state:FL"], "goto": "text-1"}], "else": "mail-1"},
            TEXT,
            {"id": "mark", "kind": "tag", "add": ["tried"]},
            wait("3h"),
            MAIL,
        ],
        "windows": OFFICE,
    },
    "a promise made by the schedule": {
        "steps": [TEXT, {"id": "promise", "kind": "schedule_callback", "in": "5h"}, wait("1h"), {**TEXT, "id": "text-2"}],
    },
    "something that does not happen": {
        "steps": [{"id": "hope", "kind": "wait_for", "event": "converted", "timeout": "2d"}, CALL],
    },
    "a last word": {"steps": [TEXT, wait("1d"), {"id": "stop", "kind": "opt_out"}], "end_steps": [HOOK]},
}
ORDERS_MAX = 60
LOOKS_MAX = 500
LOOKED_ENOUGH = "looked enough"
EFFECTS = {"update_lead", "tag", "move_to_schedule", "restart", "schedule_callback", "opt_out", "block", "suppress"}
LEADS: dict[str, dict[str, Any]] = {
    "number": {"caller_id": NUMBER},
    "both": {"caller_id": NUMBER, "email": "ada@example.com", "time_zone": "America/Denver"},
    "address": {"email": "ada@example.com"},
    "callback": {"caller_id": NUMBER, "email": "ada@example.com", "schedule_callback_at": "2026-03-09 15:00:00 -0400"},
}
OUTCOMES: dict[str, dict[str, str]] = {
    "good": {},
    "nobody": {"call": "no_answer", "sms": "undelivered", "email": "bounced_soft", "webhook": "failed"},
    "busy": {"call": "busy"},
    "wrong number": {"call": "invalid_number", "sms": "invalid_number"},
    "stop": {"sms": "opted_out", "email": "unsubscribed"},
    "no line": {"call": "congestion"},
}


def run(schedule: dict[str, Any], lead: dict[str, Any], outcomes: dict[str, str]) -> tuple[Any, ...]:
    """What an ordinary world does with the schedule where every outcome comes at once: orders, end, end time.

    No end where nothing wakes the lead any more or the commands are enough; LOOKED_ENOUGH where the schedule goes round for
    longer than this function looks. A preview may then have seen more.
    """
    world = World(now=at("2026-03-07 21:30"))
    world.add("outgoing_webhook", 3, OutgoingWebhook(name="CRM", url="https://example.com"))
    world.add("buyer", 9, Buyer(name="Ann", number="+13055550199"))
    world.add("buyer_group", 7, BuyerGroup(name="East", buyer_ids=(9,)))
    fields = {name: value for name, value in schedule.items() if name != "steps"}
    world.schedule(*schedule["steps"], **fields)
    token = {"lead_token": "schedule-1"}
    world.ask(normalise({**lead, **token}, world.rules, received_at=world.now, is_trusted=True).request)
    good = {"call": "connected_human", "sms": "delivered", "email": "delivered", "webhook": "accepted"}
    done: list[tuple[str, str, str]] = []
    for _ in range(LOOKS_MAX):
        while len(done) < min(len(world.commands), ORDERS_MAX):
            command = world.commands[len(done)]
            kind = COMMAND_KINDS[type(command)]
            done.append((command.step_id, kind, to_rfc3339(world.now)))
            world.outcome({**good, **outcomes}[kind], command)
        found = world.lead()
        if found.status not in LIVE_STATUSES:
            assert found.schedule_ended_at is not None
            return done, found.status, to_rfc3339(found.schedule_ended_at)
        if found.wake_at is None or len(done) >= ORDERS_MAX:
            return done, None, None
        world.wait_until(found.wake_at)
    return done, LOOKED_ENOUGH, None


@pytest.mark.parametrize("outcomes", OUTCOMES)
@pytest.mark.parametrize("lead", LEADS)
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_preview_is_what_the_running_engine_does(schedule: str, lead: str, outcomes: str) -> None:
    compare(SCHEDULES[schedule], LEADS[lead], OUTCOMES[outcomes])


def compare(schedule: dict[str, Any], lead: dict[str, Any], outcomes: dict[str, str]) -> None:
    """Hold the preview of a schedule against what is done with it."""
    expected = run(schedule, lead, outcomes)

    found = seen(*schedule["steps"], lead=lead, outcomes=outcomes, fields=schedule, limit=ORDERS_MAX)

    names = {"callback": ("(callback)", "call")}
    orders = [
        (*names.get(one["kind"], (one["step_id"], one["kind"])), one["at"])
        for one in found["actions"]
        if one["kind"] not in EFFECTS
    ]
    seen_by_both = min(len(orders), len(expected[0]))
    if expected[1] == LOOKED_ENOUGH:
        assert orders[:seen_by_both] == expected[0][:seen_by_both]
        return
    assert (found["end_status"], found["ended_at"]) == expected[1:]
    if expected[1] is None:  # the one may have looked longer than the other
        assert orders[:seen_by_both] == expected[0][:seen_by_both]
        assert found["status_wait"] is not None
    else:
        assert orders == expected[0]
        assert found["status_wait"] is None


# -- when, where and why -----------------------------------------------------------------------------------------------


def test_the_night_of_a_clock_change_is_waited_for_by_the_clock_that_rules_then() -> None:
    [call] = seen(CALL)["actions"]

    assert call == {
        "step_id": "call-1",
        "kind": "call",
        "at": "2026-03-08T12:00:00Z",
        "local_at": "2026-03-08T08:00:00-04:00",
        "time_zone": NEW_YORK,
        "attempt": 1,
        "reasons": ["quiet_hours_federal"],
        "rule": "us-federal",
    }


def test_the_hours_of_the_schedule_are_named_behind_those_of_the_law_that_moved_it_first() -> None:
    found = seen(CALL, fields={"windows": OFFICE})

    assert moments(found) == [("call-1", "2026-03-09T09:00:00-04:00")]
    assert found["actions"][0]["reasons"] == ["quiet_hours_federal", "preferred_window"]


def test_the_zone_whose_edge_decided_is_shown_where_a_lead_may_be_in_two() -> None:
    found = seen(CALL, lead={"caller_id": NUMBER, "zip_postal_code": "80202"})

    assert found["actions"][0]["time_zone"] == "America/Denver"
    assert moments(found) == [("call-1", "2026-03-08T08:00:00-06:00")]


def test_calls_and_texts_are_counted_and_nothing_else() -> None:
    lead = {"caller_id": NUMBER, "email": "ada@example.com"}

    found = seen({**CALL, "retry": BUSY}, TEXT, MAIL, HOOK, lead=lead, outcomes={"call": "busy"})

    counted = [(action["kind"], action["attempt"]) for action in found["actions"]]
    assert counted == [*(("call", number) for number in range(1, 5)), ("sms", 5), ("email", None), ("webhook", None)]


def test_a_promised_call_is_shown_and_holds_the_steps_until_it_is_made() -> None:
    found = seen(CALL, lead={"caller_id": NUMBER, "schedule_callback_at": "2026-03-09 15:00:00 -0400"})

    callback, call = found["actions"]
    assert (callback["kind"], callback["step_id"], callback["local_at"]) == ("callback", None, "2026-03-09T15:00:00-04:00")
    assert call["local_at"] == "2026-03-09T15:00:30-04:00"
    assert call["reasons"] == ["callback_pending", "min_spacing"]


def test_what_a_step_changes_about_the_lead_is_shown_in_its_place() -> None:
    found = seen(
        TEXT,
        wait("1h"),
        {"id": "promise", "kind": "schedule_callback", "in": "2h"},
        {"id": "mark", "kind": "tag", "add": ["tried"]},
        {**TEXT, "id": "text-2"},
        {"id": "stop", "kind": "opt_out"},
        fields={"end_steps": [HOOK]},
    )

    assert [(action["kind"], action["at"][11:16], action["attempt"]) for action in found["actions"]] == [
        ("sms", "12:00", 1),
        ("schedule_callback", "13:00", None),
        ("tag", "13:00", None),
        ("callback", "15:00", 2),
        ("sms", "15:00", 3),
        ("opt_out", "15:00", None),
        ("webhook", "15:00", None),
    ]
    assert found["actions"][4]["reasons"] == ["callback_pending"]
    assert found["end_status"] == "opt_out"


def test_a_schedule_that_restarts_counts_its_attempts_from_zero() -> None:
    found = seen(CALL, {"id": "again", "kind": "restart"})

    assert [(action["kind"], action["attempt"]) for action in found["actions"]] == [
        ("call", 1),
        ("restart", None),
        ("call", 1),
    ]


def test_a_token_stands_for_the_buyer_fleets_which_are_not_looked_up() -> None:
    branch = {"id": "where", "kind": "branch", "rules": [{"if": ["fleet:vip"], "goto": "text-1"}], "else": "mail-1"}
    lead = {"caller_id": NUMBER, "email": "ada@example.com"}
    for data, kind in (({"fleet": "vip"}, "sms"), ({}, "email")):
        found = seen(branch, {**TEXT, "id": "text-1"}, {**MAIL, "id": "mail-1"}, lead={**lead, "data": data})
        assert found["actions"][0]["kind"] == kind


def test_the_outcome_of_a_step_goes_before_that_of_its_kind() -> None:
    again = {**CALL, "id": "call-2", "retry": BUSY}

    found = seen({**CALL, "retry": BUSY}, again, outcomes={"call": "no_answer", "call-2": "connected_human"})

    assert [action["step_id"] for action in found["actions"]] == ["call-1", "call-1", "call-1", "call-2"]
    assert found["end_status"] == "completed_connected"


def test_a_call_that_was_made_a_moment_ago_keeps_the_next_one_waiting() -> None:
    noon = "2026-03-09 12:00:00 -0400"

    found = seen(CALL, at=noon, history=[{"kind": "call", "at": "2026-03-09 11:59:50 -0400", "outcome": "no_answer"}])

    assert moments(found) == [("call-1", "2026-03-09T12:00:20-04:00")]
    assert found["actions"][0]["reasons"] == ["min_spacing"]
    assert found["actions"][0]["attempt"] == 1, "the history is of the number, not of this run"


def test_a_number_that_was_said_to_be_wrong_is_not_called() -> None:
    history = [{"kind": "call", "at": "2026-03-06 12:00:00 -0500", "outcome": "invalid_number"}]

    assert [action["kind"] for action in seen(CALL, TEXT, history=history)["actions"]] == ["sms"]


def test_who_opted_out_before_is_not_contacted() -> None:
    found = seen(CALL, history=[{"kind": "sms", "at": "2026-03-06 12:00:00 -0500", "outcome": "opted_out"}])

    assert (found["actions"], found["end_status"]) == ([], "opt_out")


# -- where it stops ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("limit", "count", "end", "wait_code"), [(1, 1, None, "limit"), (2, 2, "completed_connected", None)]
)
def test_a_preview_ends_at_its_limit(limit: int, count: int, end: str | None, wait_code: str | None) -> None:
    found = seen(CALL, TEXT, limit=limit)

    assert len(found["actions"]) == count
    assert (found["end_status"], found["status_wait"]) == (end, wait_code)
    assert (found["ended_at"] is None) == (end is None)


def test_a_paused_schedule_holds_its_leads() -> None:
    found = seen(CALL, fields={"paused": True})

    assert found == {"actions": [], "end_status": None, "ended_at": None, "status_wait": "schedule_paused"}


def test_hours_that_never_open_in_both_places_of_a_lead_are_named() -> None:
    mornings = {"call": [{"days": WEEKDAYS, "open": "09:00", "close": "10:00"}]}

    found = seen(CALL, lead={"caller_id": NUMBER, "zip_postal_code": "96813"}, fields={"windows": mornings})

    assert (found["end_status"], found["status_wait"]) == (None, "window_never_open")


def test_a_preview_stops_where_another_schedule_takes_over() -> None:
    found = seen(TEXT, {"id": "on", "kind": "move_to_schedule", "schedule_id": 7})

    assert [action["kind"] for action in found["actions"]] == ["sms", "move_to_schedule"]
    assert (found["end_status"], found["status_wait"]) == (None, "moved_to_schedule")


def test_a_schedule_that_goes_round_for_ever_is_cut() -> None:
    back = {"id": "back", "kind": "branch", "rules": [{"if": ["state:FL"], "goto": "pause"}]}

    idle = seen(wait("1m"), back, CALL, limit=1)
    mailing = seen(wait("52w"), MAIL, back, CALL, limit=1000, lead={"caller_id": NUMBER, "email": "ada@example.com"})

    assert (idle["actions"], idle["status_wait"]) == ([], "limit")
    assert (len(mailing["actions"]), mailing["status_wait"]) == (100, "limit")


def test_a_schedule_that_moves_its_leads_to_itself_goes_round_until_somebody_is_asked() -> None:
    on = {"id": "on", "kind": "move_to_schedule", "schedule_id": 7}
    found = seen(TEXT, wait("2m"), on, fields={"id": 7}, limit=100, lead={"caller_id": NUMBER_UNDER_NO_CAP})

    assert sum(action["kind"] == "move_to_schedule" for action in found["actions"]) == 10
    assert (found["end_status"], found["status_wait"]) == (None, "move_loop_guard")


def test_what_a_schedule_refers_to_need_not_be_there() -> None:
    group, buyer = {**CALL, "connect": {"buyer_group_id": 41}}, {**CALL, "id": "call-2", "connect": {"buyer_ids": [42]}}

    found = seen(group, buyer, {**HOOK, "outgoing_webhook_id": 43}, lead={"caller_id": NUMBER, "traffic_source_id": 44})

    assert [action["kind"] for action in found["actions"]] == ["call", "call", "webhook"]


def test_a_year_of_fifty_steps_is_previewed_to_its_end() -> None:
    steps = [part for week in range(25) for part in ({**CALL, "id": f"call-{week}"}, wait("2w", f"wait-{week}"))]

    found = seen(*steps, limit=100)

    assert len(found["actions"]) == 25
    assert found["end_status"] == "completed_connected"
    last = read_trial({"schedule": {"steps": [CALL]}, "lead": {}, "at": found["ended_at"]}, now=EPOCH).at
    assert 349 * DAY < last - at("2026-03-07 21:30") < 352 * DAY


def test_previews_of_many_leads_go_the_ways_of_a_split_in_its_shares_and_each_always_the_same() -> None:
    split = {"id": "which", "kind": "split", "paths": [{"goto": "call-1", "weight": 3}, {"goto": "text-1", "weight": 1}]}
    people = [{"caller_id": f"+1212555{number:04}"} for number in range(2000, 2200)]

    def taken(lead: dict[str, Any]) -> str:
        return str(seen(split, CALL, {"id": "out", "kind": "exit"}, TEXT, lead=lead)["actions"][0]["step_id"])

    ways = [taken(lead) for lead in people]

    assert 130 < ways.count("call-1") < 170
    assert [taken(lead) for lead in people[:10]] == ways[:10]


def test_a_preview_keeps_to_the_companys_own_rules() -> None:
    row = {
        "id": "own",
        "country": "US",
        "purposes": ["telemarketing"],
        "channels": ["call"],
        "windows": [{"days": ["thu"], "open": "10:00", "close": "18:00"}],
        "source_url": "https://example.com/memo",
        "reviewed_at": "2026-11-01",
    }
    packs = [from_builtins({"name": "Counsel", "rules": [row]}, RulePack)]
    lead = {"caller_id": "+13055550123", "time_zone": "America/New_York"}
    asked = {"schedule": {"steps": [{"id": "call-1", "kind": "call"}]}, "lead": lead, "at": "2026-07-15 12:00:00 -0400"}

    (action,) = preview(read_trial(asked, now=EPOCH), rule_packs=packs).actions

    assert action.at == at("2026-07-16 10:00")


@pytest.mark.parametrize(
    ("country", "number", "is_held"),
    [
        ("GB", "+442071838750", True),
        ("CA", "+14165550123", True),
        ("US", "+14165550123", False),
        ("US", "+12125550123", True),
        ("GB", "+35315550123", False),
    ],
)
def test_a_rule_of_a_country_holds_for_its_numbers_where_no_country_is_stated(
    country: str, number: str, is_held: bool
) -> None:
    row = {
        "id": "own",
        "country": country,
        "purposes": ["telemarketing"],
        "channels": ["call"],
        "windows": [{"days": ["thu"], "open": "10:00", "close": "18:00"}],
        "source_url": "https://example.com/memo",
        "reviewed_at": "2026-11-01",
    }
    packs = [from_builtins({"name": "Counsel", "rules": [row]}, RulePack)]
    asked = {"schedule": {"steps": [CALL]}, "lead": {"caller_id": number}, "at": "2026-07-15 12:00:00 -0400"}

    (action,) = preview(read_trial(asked, now=EPOCH), rule_packs=packs).actions

    assert (action.at > at("2026-07-16 00:00")) == is_held


@pytest.mark.parametrize(
    ("number", "unreviewed", "acts", "says"),
    [
        ("+13055550123", "floor", True, None),
        ("+442071838750", "hold", True, None),
        ("+3545551234", "floor", True, "it has 08:00-21:00 there"),
        ("+3545551234", "hold", False, "telemarketing there waits"),
        ("+8225551234", "floor", True, "it has 08:00-21:00 there"),
    ],
)
def test_a_preview_warns_of_a_country_whose_law_is_not_kept(
    number: str, unreviewed: Any, acts: bool, says: str | None
) -> None:
    asked = {"schedule": {"steps": [CALL]}, "lead": {"caller_id": number}, "at": "2026-07-15 12:00:00 -0400"}

    found = shown(preview(read_trial(asked, now=EPOCH), company=Company(name="Solar", unreviewed_countries=unreviewed)))

    assert bool(found["actions"]) == acts
    assert found["status_wait"] == (None if acts else "unreviewed_country")
    assert [warning for warning in found.get("warnings", ()) if says and says in warning] == found.get("warnings", [])
    assert ("warnings" in found) == (says is not None)


# -- the closed hours ---------------------------------------------------------------------------------------------------


def test_closed_hours_are_shown_where_they_are_asked_for_and_say_who_closes_them() -> None:
    assert "closed_hours" not in seen(CALL, fields={"windows": OFFICE})

    found = seen(CALL, TEXT, fields={"windows": OFFICE}, closed_hours=True)["closed_hours"]

    assert {"channel": "call", "from": "2026-03-08T01:00:00Z", "to": "2026-03-08T12:00:00Z", "by": "law"} in found
    # The office opens again on Monday; on that night the clock goes forward.
    assert {"channel": "call", "from": "2026-03-07T05:00:00Z", "to": "2026-03-09T13:00:00Z", "by": "schedule"} in found
    assert {row["channel"] for row in found} == {"call", "sms"}
    assert {row["by"] for row in found if row["channel"] == "sms"} == {"law"}


def test_closed_hours_must_be_asked_for_with_yes_or_no() -> None:
    with pytest.raises(RefusedError) as refused:
        seen(CALL, closed_hours="perhaps")
    assert list(refused.value.errors) == ["closed_hours"]


# Twelve people and more on a holiday, a Sunday, at 20:30 and at a clock change: where, when asked, when called, and by which
# row of the law (each with its source, in engine/law/pack.toml).
PEOPLE = """
+15035550100  2026-12-01T20:30-08:00  2026-12-02T08:00-08:00  us-or
+12065550100  2026-11-01T20:30-08:00  2026-11-02T08:00-08:00  us-wa
+12125550100  2026-12-01T20:30-05:00  2026-12-01T20:30-05:00  -
+13055550100  2026-11-01T07:30-05:00  2026-11-01T08:00-05:00  us-federal
+12155550100  2026-12-25T12:00-05:00  2026-12-26T09:00-05:00  us-pa-2026
+14015550100  2026-11-03T12:00-05:00  2026-11-04T09:00-05:00  us-ri
+12145550100  2026-12-06T09:00-06:00  2026-12-06T12:00-06:00  us-tx
+18015550100  2026-12-06T12:00-07:00  2026-12-07T08:00-07:00  us-ut
+12055550100  2027-02-09T12:00-06:00  2027-02-10T08:00-06:00  us-federal
+33142685300  2026-12-04T13:30+01:00  2026-12-04T14:00+01:00  fr
+49301234567  2026-10-25T10:00+01:00  2026-10-26T08:00+01:00  de
+442079460958 2026-10-25T08:30+00:00  2026-10-25T09:00+00:00  gb
+61298765432  2026-01-26T12:00+11:00  2026-01-27T09:00+11:00  au
+390669812345 2026-12-24T12:00+01:00  2026-12-28T09:00+01:00  it
+262262123456 2026-12-05T12:00+04:00  2026-12-07T10:00+04:00  fr
+46812345678  2026-12-06T20:30+01:00  2026-12-06T20:30+01:00  -
"""


@pytest.mark.parametrize("line", PEOPLE.strip().splitlines())
def test_the_row_of_the_law_that_decided_is_named(line: str) -> None:
    number, asked_at, called_at, rule = line.split()
    lead = {"caller_id": number, "consent": {"kind": "form", "url": "https://example.com/form"}}
    asked = {"schedule": {"steps": [CALL]}, "lead": lead, "at": asked_at}

    [call] = shown(preview(read_trial(asked, now=EPOCH)))["actions"]

    assert (call["local_at"][:16], call["local_at"][-6:]) == (called_at[:16], called_at[-6:])
    assert call["rule"] == (None if rule == "-" else rule)
