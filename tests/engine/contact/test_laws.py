"""What holds for a contact under any sequence of requests and outcomes, however late?"""

from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import Any

import msgspec
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine.contact.facts.person import PAUSES, Person
from engine.contact.requests import reactions
from engine.partition.draft import RefusedError, RepeatedError
from schemas.commands import Command, HangUp, PlaceCall, PostWebhook, SendSms
from schemas.contact import LIVE_STATUSES, Call, Head, Lead
from schemas.instant import EPOCH, HOUR, MINUTE, to_datetime
from schemas.outcomes import GATE_OUTCOMES, OUTCOMES
from schemas.records import Buyer, BuyerGroup, CallDisposition, Number, OutgoingWebhook
from schemas.requests import LeadDeleteRequested, SlotAnswered, SlotReleased, SmsReceived
from schemas.state import head_key
from tests.engine.contact.world import KEY, NOON, World, at

LIMIT = 3
OTHER = "+13055550199"
EMAIL = "ann@example.com"
DAYTIME = {"days": ["mon", "tue", "wed", "thu", "fri", "sat"], "open": "09:00", "close": "17:30"}
HELD_FOR_GOOD = {"window_never_open", "expires_first", "timezone_unknown", *PAUSES}

LAST, NEXT = "(last)", "(next)"
"""Stand for the ids that they become in a list, where the last step is a wait."""

steps = st.lists(
    st.sampled_from(
        [
            {"kind": "call"},
            {"kind": "call", "retry": {"no_answer": {"delay": "20m", "max": 2}, "busy": {}, "unknown": {"delay": "1h"}}},
            {"kind": "call", "connect": {"buyer_group_id": 7}},
            {"kind": "call", "await_disposition": "2h", "retry": {"caller_hung_up": {"delay": "20m"}}},
            {"kind": "sms", "template": "Hi {{first_name}}"},
            {"kind": "sms", "template": "Hi", "on_late": "exit", "retry": {"undelivered": {}}},
            {"kind": "email", "subject": "S", "template": "B"},
            {"kind": "webhook", "outgoing_webhook_id": 3},
            {"kind": "webhook", "outgoing_webhook_id": 4},
            {"kind": "wait", "duration": "45m"},
            {"kind": "wait", "duration": "1d"},
            {"kind": "wait", "until": {"time": "09:30", "days": ["mon", "thu"]}},
            {"kind": "exit", "result": "success"},
            {"kind": "branch", "rules": [{"if": ["outcome:no_answer|unknown"], "goto": LAST}]},
            {"kind": "branch", "rules": [{"if": ["attempts:>=2", "plan:!=gold"], "goto": LAST}]},
            {"kind": "split", "paths": [{"goto": LAST}, {"goto": NEXT}]},
            {"kind": "wait_for", "event": "tokens_match", "filters": ["plan:gold"], "timeout": "3h", "on_match": LAST},
            {"kind": "wait_for", "event": "converted", "timeout": "2d"},
            {"kind": "wait_for", "event": "sms.received", "timeout": "1d", "on_match": LAST},
            {"kind": "wait_for", "event": "call.inbound_received", "timeout": "90m"},
            {"kind": "wait_for", "event": "disposition", "timeout": "90m"},
            {"kind": "update_lead", "set": {"plan": "gold"}, "lead_priority": 7},
            {"kind": "tag", "add": ["warm"]},
            {"kind": "schedule_callback", "in": "90m"},
            {"kind": "move_to_schedule", "schedule_id": 2},
            {"kind": "restart"},
            {"kind": "opt_out"},
            {"kind": "block"},
            {"kind": "suppress"},
        ]
    ),
    max_size=7,
)
triggers = st.sampled_from(
    [
        {"on": "enter", "type": "none", "add_tokens": {"way": 1}, "expire_minutes": 600},
        {"on": "exit", "type": "tokens_match", "filters": ["plan:gold"]},
        {"on": "exit", "type": "tokens_match", "filters": ["plan:gold"], "goto": "step-0"},
        {"on": "exit", "type": "dial", "filters": ["attempts:>=2"], "end_result": "failure"},
        {"on": "exit", "type": "buyer_connected"},
        {"on": "exit", "type": "buyer_converted", "goto": "step-0"},
        {"on": "exit", "type": "expired", "add_tokens": {"cold": True}},
        {"on": "exit", "type": "replied", "goto": "step-0"},
        {"on": "exit", "type": "inbound_connected", "goto": "step-0"},
        {"on": "exit", "type": "disposition", "filters": ["disposition:SAID"], "goto": "step-0"},
    ]
)
schedules = st.fixed_dictionaries(
    {
        "steps": steps,
        "end_steps": steps,
        "windows": st.sampled_from([{}, {"call": [DAYTIME]}, {"sms": [DAYTIME], "email": [DAYTIME]}]),
        "max_contact_attempts": st.sampled_from([None, LIMIT]),
        "hours_to_expire": st.sampled_from([None, 5, 60]),
        "duplicate_policy": st.sampled_from(["update", "create", "restart"]),
        "paused": st.booleans(),
        "triggers": st.lists(triggers, max_size=2),
        "on_reply": st.sampled_from([{}, {"action": "continue"}, {"action": "exit"}, {"duration": "2h"}]),
        "on_inbound_connected": st.sampled_from([{}, {"action": "exit"}, {"action": "move", "schedule_id": 2}]),
        "on_conversion": st.sampled_from(["exit", "continue", {"action": "move", "schedule_id": 1}]),
    }
)
flags = st.sampled_from(
    [
        {},
        {},
        {"restart_schedule": True},
        {"expire_existing": True},
        {"delete_existing": True},
        {"next_action_at": NOON + 3 * HOUR},
        {"schedule_callback_at": NOON + 5 * HOUR},
        {"offer_id": 1},
        {"schedule_id": 2},
        {"blocked": True},
        {"unblock_contact": True},
    ]
)
updates = st.sampled_from(
    [
        {"opt_out": True},
        {"opt_out": False},
        {"blocked": True},
        {"blocked": False},
        {"schedule_stop": True},
        {"schedule_start": True},
        {"move_to_another_schedule_id": 2},
        {"next_action_at": NOON},
        {"lead_priority": -3.0},
        {"zones": ("America/Los_Angeles", "America/New_York")},
        {"buyer_converted": True},
        {"data": {"plan": "gold"}},
        {"caller_id": OTHER},
        {"email": "eve@example.com"},
        {"schedule_callback_at": NOON + 9 * HOUR},
    ]
)
dispositions = st.sampled_from(
    [
        {},
        {"code": "SAID"},
        {"retry_delay_seconds": 900, "retry_max": 2},
        {"category": "no_contact"},
        {"category": "callback", "retry_delay_seconds": 3600},
        {"category": "wrong_number"},
        {"category": "dnc"},
        {"is_final": True},
        {"sets_opt_out": True},
    ]
)
minutes = st.sampled_from([0, 1, 10, 30, 120, 300, 700, 3000])
events = st.lists(
    st.one_of(
        st.tuples(st.just("submit"), flags),
        st.tuples(st.just("update"), updates),
        st.tuples(st.just("act"), st.sampled_from(["opt_out", "remove", "move_to_end"])),
        st.tuples(st.just("delete"), st.none()),
        st.tuples(st.just("outcome"), st.tuples(st.integers(0, 20), st.integers(0, 3))),
        st.tuples(st.just("outcome"), st.tuples(st.integers(0, 20), st.just(0))),
        st.tuples(st.just("slot"), st.booleans()),
        st.tuples(st.just("text"), st.sampled_from(["yes", "STOP", "Stop by tomorrow?", "START"])),
        st.tuples(st.just("ring"), st.none()),
        st.tuples(st.just("hang_up"), st.booleans()),
        st.tuples(st.just("judge"), dispositions),
        st.tuples(st.just("wait"), minutes),
        st.tuples(st.just("pause"), st.booleans()),
        st.tuples(st.just("behind"), st.booleans()),
    ),
    max_size=25,
)


class WatchedWorld(World):
    """A world that looks at every command when it is emitted, and at every lead after each decision."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.granted: set[str] = set()

    def _apply(self, draft: Any) -> None:
        before = len(self.commands)
        super()._apply(draft)
        for command in self.commands[before:]:
            self._check_command(command)

    def _check_command(self, command: Command) -> None:
        head = self.state.get(head_key(command.contact_key), Head)
        if isinstance(command, PostWebhook | HangUp):
            return
        assert head is None or head.opted_out_at is None, "a person who opted out is never contacted"
        assert head is None or head.blocked_at is None, "a person who is blocked is never contacted"
        assert head is None or head.suppressed_at is None, "a person on the do-not-call list is never contacted"
        assert head is None or (head.inbound_until or EPOCH) <= self.now, "a person who is calling us is not contacted"
        assert head is None or (head.review_until or EPOCH) <= self.now, "no contact while an opt-out text is under review"
        assert not self.behind, "no contact while requests are unread"
        assert command.not_after is None or command.not_after > self.now
        if isinstance(command, PlaceCall | SendSms):
            _check_telephone(self, command)

    def check(self) -> None:
        identities = [command.command_id for command in self.commands]
        assert len(identities) == len(set(identities)), "every command has an id of its own"
        for lead_id in self.lead_ids():
            _check_lead(self.lead(lead_id))
            self._check_reach(self.lead(lead_id))
        self._check_slots()

    def _check_reach(self, lead: Lead) -> None:
        if lead.status not in {"opt_out", "blocked", "removed"} or lead.flight is None or lead.flight.reached_by is None:
            return
        fences = [fence for fence in self.fences if fence.contact_key == lead.flight.reached_by]
        assert any(lead.id in fence.lead_ids for fence in fences), "what another contact emits is fenced there"

    def _check_slots(self) -> None:
        released = {
            msgspec.json.decode(letter.body, type=SlotReleased).request_id
            for letter in self.messages
            if letter.type == "slot.released"
        }
        flights = [self.lead(lead_id).flight for lead_id in self.lead_ids()]
        used = {flight.slot_id for flight in flights if flight is not None and flight.slot_id is not None}
        assert self.granted - released == used, "a slot that was granted is in use, or was given back"


def _check_telephone(world: World, command: PlaceCall | SendSms) -> None:
    lead = world.lead(command.lead_id)
    for zone in lead.zones:
        hour = to_datetime(world.now + (at("2026-07-15 00:00", "UTC") - at("2026-07-15 00:00", zone))).hour
        assert 8 <= hour < 21, f"a telephone rings at {hour} in {zone}"
    calls = [entry.at for entry in world.head(command.contact_key).ledger if entry.kind == "call"]
    assert all(later - earlier >= 30_000 for earlier, later in pairwise(calls))


def _check_lead(lead: Lead) -> None:
    if lead.schedule_id == 1:
        # A callback may exceed the limit by one.
        assert lead.attempts <= LIMIT + (lead.callbacks > 0), "attempts never pass the limit"
    if lead.status not in LIVE_STATUSES:
        assert lead.next_action_at is None
        assert lead.slot_id is None
        assert (lead.wake_at is None) == (lead.flight is None)
        return
    is_waiting_for_nothing = lead.status == "captured" or lead.status_wait in HELD_FOR_GOOD
    assert lead.wake_at is not None or is_waiting_for_nothing, f"a live lead is stuck: {lead}"
    assert (lead.status == "running") == (lead.flight is not None)


def _world(schedule: dict[str, Any], other: dict[str, Any]) -> WatchedWorld:
    world = WatchedWorld()
    world.add("number", 5, Number(number="+12125550100"))
    world.add("outgoing_webhook", 3, OutgoingWebhook(name="crm", url="https://example.com"))
    world.add("buyer", 70, Buyer(name="Bob", number="+12125550170"))
    world.add("buyer_group", 7, BuyerGroup(name="Solar", buyer_ids=(70,), concurrency_cap_limit=2))
    for record_id, fields in ((1, schedule), (2, other)):
        rest = {name: value for name, value in fields.items() if name not in {"steps", "end_steps"}}
        ends = _named("end", fields["end_steps"])
        world.schedule(*_named("step", fields["steps"]), record_id=record_id, end_steps=ends, **rest)
    return world


def _named(kind: str, unnamed: list[dict[str, Any]]) -> list[dict[str, Any]]:
    named = []
    for index, step in enumerate(unnamed):
        text = msgspec.json.encode({"id": f"{kind}-{index}", **step}).decode()
        text = text.replace(LAST, f"{kind}-{len(unnamed)}").replace(NEXT, f"{kind}-{index + 1}")
        named.append(msgspec.json.decode(text))
    return [*named, {"id": f"{kind}-{len(unnamed)}", "kind": "wait", "duration": "1m"}]


def _submit(world: WatchedWorld, fields: dict[str, Any]) -> None:
    world.submit(email=EMAIL, **fields)


def _update(world: WatchedWorld, fields: dict[str, Any]) -> None:
    if world.lead_ids():
        world.update(None, **fields)


def _act(world: WatchedWorld, action: str) -> None:
    world.act(action)


def _delete(world: WatchedWorld, _: None) -> None:
    if world.lead_ids():
        lead = world.lead()
        world.ask(LeadDeleteRequested(company_id=1, contact_key=lead.contact_key, lead_id=lead.id))


def _outcome(world: WatchedWorld, choice: tuple[int, int]) -> None:
    number, back = choice
    if back >= len(world.commands):
        return
    command = world.commands[-1 - back]
    kind = str(command.__struct_config__.tag).partition(".")[0]
    known = [*OUTCOMES[kind], *sorted(GATE_OUTCOMES)]
    world.outcome(known[number % len(known)], command)


def _text(world: WatchedWorld, body: str) -> None:
    world.ask(SmsReceived(company_id=1, contact_key=KEY, body=body, received_at=world.now))


def _ring(world: WatchedWorld, _: None) -> None:
    _tell(world, reactions.start_inbound)


def _hang_up(world: WatchedWorld, connected: bool) -> None:
    _tell(world, partial(reactions.end_inbound, connected=connected))


def _tell(world: WatchedWorld, what: Callable[[Person, Call], None]) -> None:
    """Let what the keeper of the calls says of a call of the person be decided."""
    draft = world._draft()
    person = Person(draft, 1, KEY)
    what(person, Call(id=7, uuid="c", company_id=1, contact_key=KEY, created_at=EPOCH, updated_at=EPOCH, number_called="+1"))
    person.put()
    world._apply(draft)


def _judge(world: WatchedWorld, fields: dict[str, Any]) -> None:
    """Give the last call of the last lead a disposition, on its way or over."""
    lead = world.lead() if world.lead_ids() else None
    if lead is None or lead.attempted_call_id is None or lead.contact_key != KEY:
        return
    body = msgspec.convert({"name": "Said", **fields}, CallDisposition)
    world.add("call_disposition", 9, body, version=int(world.now) + len(world.facts))
    draft = world._draft()
    person = Person(draft, 1, KEY)
    call = person.call(lead.attempted_call_id)
    if call is None:
        return
    call.call_disposition_id = 9
    person.save_call(call)
    reactions.apply_disposition(person, person.lead(lead.id), call, body)
    person.put()
    world._apply(draft)


def _slot(world: WatchedWorld, granted: bool) -> None:
    for lead_id in world.lead_ids():
        lead = world.lead(lead_id)
        if lead.slot_id is not None:
            answer = SlotAnswered(
                company_id=1,
                contact_key=lead.contact_key,
                lead_id=lead.id,
                request_id=lead.slot_id,
                granted=granted,
                buyer_id=70,
                buyer_group_id=7,
            )
            if granted:
                world.granted.add(lead.slot_id)
            world.ask(answer, stream="accounts/0")


def _wait(world: WatchedWorld, length: int) -> None:
    if not world.behind:  # the runner fires no timer while requests are unread
        world.wait(length * MINUTE / 1000)


def _pause(world: WatchedWorld, paused: bool) -> None:
    record = world.rules.record("buyer_group", 7)
    assert record is not None
    group = BuyerGroup(name="Solar", buyer_ids=(70,), concurrency_cap_limit=2, paused=paused)
    world.add("buyer_group", 7, group, version=record.version + 1)


def _behind(world: WatchedWorld, behind: bool) -> None:
    world.behind = behind


DO: dict[str, Callable[[WatchedWorld, Any], None]] = {
    "submit": _submit,
    "update": _update,
    "act": _act,
    "delete": _delete,
    "outcome": _outcome,
    "slot": _slot,
    "text": _text,
    "ring": _ring,
    "hang_up": _hang_up,
    "judge": _judge,
    "wait": _wait,
    "pause": _pause,
    "behind": _behind,
}


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(schedule=schedules, other=schedules, happenings=events)
def test_no_law_is_broken(schedule: dict[str, Any], other: dict[str, Any], happenings: list[tuple[str, Any]]) -> None:
    world = _world({**schedule, "max_contact_attempts": LIMIT}, other)
    _submit(world, {})
    for name, detail in happenings:
        try:
            DO[name](world, detail)
        except (RefusedError, RepeatedError):
            continue
        finally:
            world.check()


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(schedule=schedules, happenings=events)
def test_the_same_happenings_give_the_same_commands(schedule: dict[str, Any], happenings: list[tuple[str, Any]]) -> None:
    assert _run(schedule, happenings) == _run(schedule, happenings)


def _run(schedule: dict[str, Any], happenings: list[tuple[str, Any]]) -> tuple[list[Command], list[Any]]:
    world = _world(schedule, schedule)
    for name, detail in happenings:
        try:
            DO[name](world, detail)
        except (RefusedError, RepeatedError):
            continue
    return world.commands, world.facts


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(schedule=schedules, choice=st.integers(0, 20))
def test_every_lead_comes_to_an_end_once_its_outcomes_come(schedule: dict[str, Any], choice: int) -> None:
    # A schedule that moves its leads to itself keeps them, ten times a day.
    last = {name: [step for step in schedule[name] if step["kind"] != "move_to_schedule"] for name in ("steps", "end_steps")}
    lasts = {"paused": False, "hours_to_expire": schedule["hours_to_expire"] or 24 * 60}
    world = _world({**schedule, **lasts}, {**schedule, **lasts, **last})
    _submit(world, {})
    for _ in range(400):
        lead = world.lead()
        if lead.status not in LIVE_STATUSES:
            return
        if lead.flight is not None:
            _outcome(world, (choice, 0))
        _slot(world, granted=True)
        world.wait_until(max(world.now, world.lead().wake_at or world.now))
    raise AssertionError(f"never ended: {world.lead()}")
