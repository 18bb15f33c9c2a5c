"""Which steps are tested? Each value of each field of a call, a text and an e-mail, in scenes where it has an effect."""

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import product
from typing import Any

from schemas.commands import Command, PlaceCall, SendEmail, SendSms
from schemas.contact import LIVE_STATUSES
from schemas.instant import from_datetime, to_datetime
from schemas.records import Buyer, Number
from schemas.wire import to_json
from tests.engine.contact.world import World
from tests.engine.pairs.step_model import AWAITED, HERE, OURS, Scene, Walk

NUMBER, KEY = "+12125550123", "1|+12125550123"

FRIDAY_NOON = datetime(2026, 7, 17, 12, tzinfo=HERE).astimezone(UTC)
SATURDAY = datetime(2026, 7, 18, 13, tzinfo=HERE).astimezone(UTC)
MONDAY_NOON = datetime(2026, 7, 13, 12, tzinfo=HERE).astimezone(UTC)
FIVE_HOURS, LONG = timedelta(hours=5), timedelta(days=5, hours=5)
NAMED = {"name": "Ann", "opt_in": "yes"}

SCENES: Mapping[str, Scene] = {
    "on time": Scene(MONDAY_NOON, data=NAMED),
    "a name is missing": Scene(MONDAY_NOON, data={"opt_in": "yes"}),
    "consent is missing": Scene(MONDAY_NOON, data={"name": "Ann"}),
    "consents within the hour": Scene(MONDAY_NOON, data={"name": "Ann"}, consents_at=MONDAY_NOON + timedelta(minutes=50)),
    "consents within the hour, first bad": Scene(
        MONDAY_NOON, ("bad",), data={"name": "Ann"}, consents_at=MONDAY_NOON + timedelta(minutes=50)
    ),
    "consents after hours": Scene(MONDAY_NOON, data={"name": "Ann"}, consents_at=MONDAY_NOON + timedelta(hours=9)),
    "consents within the hour, a name is missing": Scene(MONDAY_NOON, consents_at=MONDAY_NOON + timedelta(minutes=50)),
    "consents within the hour, then silent": Scene(
        MONDAY_NOON, ("silent",), data={"name": "Ann"}, consents_at=MONDAY_NOON + timedelta(minutes=50)
    ),
    "on a Saturday, consents on Monday": Scene(SATURDAY, data={"name": "Ann"}, consents_at=SATURDAY + timedelta(days=2)),
    "on a Saturday, consents on Monday evening": Scene(
        SATURDAY, data={"name": "Ann"}, consents_at=SATURDAY + timedelta(days=2, hours=3)
    ),
    "first bad": Scene(MONDAY_NOON, ("bad",), data=NAMED),
    "first bad, then silent": Scene(MONDAY_NOON, ("bad", "silent"), data=NAMED),
    "first bad, a name is missing": Scene(MONDAY_NOON, ("bad",), data={"opt_in": "yes"}),
    "first silent": Scene(MONDAY_NOON, ("silent",), data=NAMED),
    "one hour late": Scene(MONDAY_NOON, stands_still={0: timedelta(hours=1)}, data=NAMED),
    "five hours late": Scene(MONDAY_NOON, stands_still={0: FIVE_HOURS}, data=NAMED),
    "five hours late, then bad": Scene(MONDAY_NOON, ("bad",), {0: FIVE_HOURS}, NAMED),
    "five hours late, then silent": Scene(MONDAY_NOON, ("silent",), {0: FIVE_HOURS}, NAMED),
    "five hours late, a name is missing": Scene(MONDAY_NOON, (), {0: FIVE_HOURS}, {"opt_in": "yes"}),
    "five hours late, consent is missing": Scene(MONDAY_NOON, (), {0: FIVE_HOURS}, {"name": "Ann"}),
    "second five hours late": Scene(MONDAY_NOON, ("bad",), {1: FIVE_HOURS}, NAMED),
    "first silent, second five hours late": Scene(MONDAY_NOON, ("silent",), {1: FIVE_HOURS}, NAMED),
    "two days late": Scene(MONDAY_NOON, (), {0: timedelta(days=2)}, NAMED),
    "two days late, then bad": Scene(MONDAY_NOON, ("bad",), {0: timedelta(days=2)}, NAMED),
    "two days late, then silent": Scene(MONDAY_NOON, ("silent",), {0: timedelta(days=2)}, NAMED),
    "two days late, a name is missing": Scene(MONDAY_NOON, (), {0: timedelta(days=2)}, {"opt_in": "yes"}),
    "second two days late": Scene(MONDAY_NOON, ("bad",), {1: timedelta(days=2)}, NAMED),
    "first silent, second two days late": Scene(MONDAY_NOON, ("silent",), {1: timedelta(days=2)}, NAMED),
    "second two days late, then silent": Scene(MONDAY_NOON, ("bad", "silent"), {1: timedelta(days=2)}, NAMED),
    "second two days late, then good, a name is missing": Scene(MONDAY_NOON, ("bad",), {1: timedelta(days=2)}, {}),
    "on a Saturday": Scene(SATURDAY, data=NAMED),
    "on a Saturday, a name is missing": Scene(SATURDAY, data={"opt_in": "yes"}),
    "on a Saturday, consent is missing": Scene(SATURDAY, data={"name": "Ann"}),
    "on a Saturday, first bad": Scene(SATURDAY, ("bad",), data=NAMED),
    "on a Saturday, first silent": Scene(SATURDAY, ("silent",), data=NAMED),
    "on a Saturday, five days late": Scene(SATURDAY, (), {0: LONG}, NAMED),
    "on a Saturday, second two days late": Scene(SATURDAY, ("bad",), {1: timedelta(days=2)}, NAMED),
}


def _retry(kind: str) -> dict[str, Any]:
    return {AWAITED[kind]: {"delay": "20m", "max": 2}, "unknown": {"delay": "10m"}}


_TIMED: dict[str, list[Any]] = {
    "outcome_timeout": ["7m"],
    "max_lateness": ["30m", "80h"],
    "window_miss": ["same_time_next_allowed_day", "skip_step"],
    "jitter_seconds": [600],
}
_SAYING: dict[str, list[Any]] = {"template": ["Dear {{name}}"], "missing_token": ["skip_step", "fail"]}

FIELDS: Mapping[str, Mapping[str, list[Any]]] = {
    "call": {
        "connect": [{"buyer_ids": [2]}, {"whisper": "{{name}} is waiting"}, {"stream": "wss://bot.example.com"}],
        "from_number": ["+12125550111"],
        "ring_timeout_seconds": [45],
        "machine": ["voicemail_drop"],
        "voicemail_message": ["We call again tomorrow."],
        "await_disposition": ["40m"],
        "retry": [_retry("call")],
        "on_late": ["skip", "exit"],
        **_TIMED,
    },
    "sms": {
        "from_number": ["+12125550111"],
        "require_opt_in": [True],
        "retry": [_retry("sms")],
        "on_late": ["run", "exit"],
        **_SAYING,
        **_TIMED,
    },
    "email": {
        "subject": ["About {{name}}"],
        "from_address": ["we@example.com"],
        "retry": [_retry("email")],
        "on_late": ["skip", "exit"],
        **_SAYING,
        **_TIMED,
    },
}
"""Kind -> its fields, with the values that each is given beside being left out."""

PLAIN: Mapping[str, dict[str, Any]] = {
    "call": {"id": "it", "kind": "call"},
    "sms": {"id": "it", "kind": "sms", "template": "Hi {{name}}"},
    "email": {"id": "it", "kind": "email", "subject": "Hello", "template": "Hi {{name}}"},
}

NOT_HERE: Mapping[str, str] = {
    "webhook": "reaches no one and has no hours; tests/engine/contact/test_steps.py has its three fields",
    "wait": "duration or until, never both (refused by publishing); tests/engine/calendar/test_waits.py has mode and until",
    "wait_for": "tests/engine/contact/test_steps.py has each event with its ways out",
    "branch": "two fields that share one choice: tests/engine/contact/test_branching.py",
    "split": "one field",
    "update_lead": "each field sets a value of its own, nothing meets: tests/engine/contact/test_steps.py",
    "tag": "two lists of words: tests/engine/contact/test_steps.py",
    "move_to_schedule": "tests/engine/contact/test_branching.py tests what a move keeps",
    "restart": "one field",
    "schedule_callback": "tests/engine/contact/test_callback_owners.py has owners and grace",
    "opt_out": "a channel goes with the scope `channel` alone: tests/engine/contact/test_opt_out_scopes.py",
    "block": "no field",
    "suppress": "no field",
    "action_group": "one field; its steps take its place before anything is decided",
    "exit": "one field",
}
"""Kinds of steps that have no pairs here, and why."""

_UNSENT = "a message that is not sent shows no text, sender or outcome"
_CONSENTED = "lateness is measured from the consent, which is only asked for of a step that is not late"

NEVER_TOGETHER: Mapping[tuple[str, frozenset[str]], str] = {
    ("call", frozenset({"await_disposition", "on_late"})): "a skipped call is not answered",
    ("sms", frozenset({"require_opt_in", "on_late"})): _CONSENTED,
    ("sms", frozenset({"require_opt_in", "max_lateness"})): _CONSENTED,
    ("email", frozenset({"on_late", "missing_token"})): "who is late is passed over before any words are looked for",
    **{
        (kind, frozenset({"missing_token", name})): _UNSENT
        for kind, names in {
            "sms": ("template", "from_number", "retry", "outcome_timeout"),
            "email": ("template", "subject", "from_address", "retry", "outcome_timeout"),
        }.items()
        for name in names
    },
}
"""Fields of which no case can show that both act, and why."""

Log = tuple[list[tuple[datetime, str, dict[str, Any]]], str]
"""What went out: when, by which step, what it said; and how the lead ended."""


def decided(scene_name: str, step: Mapping[str, Any]) -> Log:
    """Let the real engine carry out the step, and an e-mail after it."""
    return _decided(scene_name, to_json(step))


@cache
def _decided(scene_name: str, step: bytes) -> Log:
    scene, world = SCENES[scene_name], World(now=from_datetime(SCENES[scene_name].comes_at))
    world.add("number", 9, Number(number=OURS))
    world.add("buyer", 2, Buyer(name="Bob", number="+12125550102"))
    hours = [{"days": ["mon", "tue", "wed", "thu", "fri"], "open": "09:00", "close": "20:00"}]
    after = {"id": "after", "kind": "email", "subject": "Hello", "template": "Bye"}
    world.schedule(json.loads(step), after, windows={"call": hours, "sms": hours, "email": hours}, hours_to_expire=400)
    _submit(world, scene)
    attempts, reported, waited = 0, 0, {0}
    while world.lead().status in LIVE_STATUSES:
        while reported < len(world.commands):
            command = world.commands[reported]
            reported += 1
            outcome = scene.outcome(attempts) if command.step_id == "it" else "good"
            attempts += command.step_id == "it"
            if outcome != "silent":
                world.outcome(_outcome(command, outcome), command)
        if world.lead().flight is None and attempts in scene.stands_still.keys() - waited:
            waited.add(attempts)
            world.now += _milliseconds(scene.stands_still[attempts])
        if world.lead().status in LIVE_STATUSES:
            _go_on(world, scene)
    seen = [(to_datetime(command.decided_at), command.step_id, _said(command)) for command in world.commands]
    return seen, str(world.lead().status)


def _submit(world: World, scene: Scene) -> None:
    """Submit the lead; where everything stands still, it is planned, and nothing is carried out before it goes on."""
    world.behind = 0 in scene.stands_still
    world.submit(
        contact_key=KEY,
        caller_id=NUMBER,
        email="ann@example.com",
        data=dict(scene.data),
        states=("NY",),
        zone_source="stated",
    )
    world.behind = False
    world.now += _milliseconds(scene.stands_still.get(0, timedelta()))


def _go_on(world: World, scene: Scene) -> None:
    """Let the next timer be due, or the consent that is given before it."""
    timers = (world._timer(key) for key in list(world.timers))
    due_at = max(world.now, min(timer.due_at for timer in timers if timer is not None))
    if scene.consents_at is not None and world.now < from_datetime(scene.consents_at) <= due_at:
        world.wait_until(from_datetime(scene.consents_at))
        world.update(data={"opt_in": "yes"})
    else:
        world.wait_until(due_at)


def _milliseconds(length: timedelta) -> int:
    return int(length.total_seconds() * 1000)


def _outcome(command: Command, outcome: str) -> str:
    kind = str(command.__struct_config__.tag).partition(".")[0]
    good = {"call": "connected_human", "sms": "delivered", "email": "delivered"}
    return good[kind] if outcome == "good" else AWAITED[kind]


def _said(command: Command) -> dict[str, Any]:
    """Return what a command of the step under test says."""
    names = {
        PlaceCall: ("buyer_id", "from_number", "ring_timeout_seconds", "machine", "voicemail_message", "whisper", "stream"),
        SendSms: ("body", "from_number"),
        SendEmail: ("subject", "body", "from_address"),
    }
    return {} if command.step_id != "it" else {name: getattr(command, name) for name in names[type(command)]}


def differences(scene_name: str, step: Mapping[str, Any], log: Log) -> list[str]:
    """Return where the engine did something else than the documents say."""
    seen, status = log
    walk = Walk(SCENES[scene_name], step)
    found = []
    contacts = walk.contacts([at for at, _, _ in seen])
    for number, (at, step_id, said) in enumerate(seen):
        wanted = next(contacts, None)
        if wanted is None:
            found.append(f"{step_id} goes out at {at}, and should not")
            return found
        if wanted.step_id != step_id or not wanted.first <= at <= wanted.last or wanted.said != said:
            found.append(f"contact {number} is {step_id} at {at} {said}, not {wanted}")
            return found
    found += [f"{wanted} never goes out" for wanted in contacts]
    return found + [f"it ends {status}, not {walk.status}"] * (status != walk.status)


def acting(kind: str, one: str, other: str, grounds: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the scenes and steps in which leaving out either of two fields makes a difference; a ground says what else."""
    free = [ground for ground in grounds if not ground.keys() & {one, other}]
    for ground, scene_name, first, second in product(free, SCENES, FIELDS[kind][one], FIELDS[kind][other]):
        step = PLAIN[kind] | ground | {one: first, other: second}
        if "retry" in step:
            step["retry"] = FIELDS[kind]["retry"][0]
        whole = decided(scene_name, step)
        if all(decided(scene_name, without(kind, step, name)) != whole for name in (one, other)):
            yield scene_name, step


def without(kind: str, step: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Return a step that does not say one field, or says what the plain one says."""
    return {field: value for field, value in step.items() if field != name} | (
        {name: PLAIN[kind][name]} if name in PLAIN[kind] else {}
    )


GROUNDS: tuple[Mapping[str, Any], ...] = ({}, {"retry": True}, {"on_late": "skip"}, {"retry": True, "on_late": "skip"},
    {"on_late": "run"}, {"retry": True, "on_late": "run"})  # fmt: skip
"""What else a step about two fields may say."""
