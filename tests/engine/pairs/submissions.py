"""Which submissions are tested? Each value of each parameter, with each existing lead."""

from collections.abc import Iterator, Mapping
from itertools import combinations, product
from typing import Any

from schemas.instant import DAY, HOUR, MINUTE, to_rfc3339
from tests.engine.contact.world import NOON
from tests.engine.pairs.covering import Case, Choices, Excluded, Value
from tests.engine.pairs.submission_model import POLICIES, SCHEDULE_HOURS, STEPS, Model, ModelLead, faults
from tests.engine.pairs.town import PairsTown

NUMBER = "+12125550123"
"""Of New York, whose law has no hours of its own; all that happens lies between noon and evening."""

COMES_AT = NOON + 10 * MINUTE
"""When the submission comes that is tried out."""

ENDS_AT = NOON + 2 * DAY

FORM = {"Last Name": "Lee"}
"""A form inside the body: a token as it is, and a name where nested fields are looked for."""

LEFT_OUT = "(left out)"

OLD: dict[str, Any] = {
    "lead_token": "schedule-1", "caller_id": NUMBER, "email": "old@example.com", "data": {"first_name": "Old"},
    "form": {"Last Name": "Oldham"},
}  # fmt: skip

SCENES: Mapping[str, tuple[tuple[int, Any], ...]] = {
    "nobody": (),
    "on a schedule": ((0, OLD),),
    "on two schedules": ((0, OLD), (3, {**OLD, "lead_token": "schedule-2"})),
    "off one schedule, on it again and on another": (
        (0, OLD),
        (2, "stop"),
        (3, OLD),
        (5, {**OLD, "lead_token": "schedule-2"}),
    ),
    "begins later": ((0, {**OLD, "lead_token": "schedule-2", "next_action_at": NOON + 2 * HOUR}),),
    "waits for a call": ((0, {**OLD, "lead_token": "offer"}),),
    "taken off": ((0, OLD), (5, "stop")),
    "blocked": ((0, OLD), (5, {**OLD, "blocked": True})),
    "opted out": ((0, OLD), (5, "opt_out")),
    "promised a call": ((0, {**OLD, "schedule_callback_in_seconds": 3 * 3600}),),
}
"""What happened before, in minutes from noon on."""

PARAMETERS: Choices = {
    "lead_token": ["schedule-1", "schedule-2", "offer", LEFT_OUT],
    "caller_id": [NUMBER, LEFT_OUT],
    "email": [LEFT_OUT, "ann@example.com"],
    "contact_field_type": [LEFT_OUT, "17"],
    "schedule_callback_at": [LEFT_OUT, NOON + 100 * MINUTE],
    "schedule_callback_in_seconds": [LEFT_OUT, 45 * 60],
    "update_all_matching_leads": [LEFT_OUT, True],
    "apply_to": [LEFT_OUT, "calls"],
    "unblock_contact": [LEFT_OUT, True],
    "blocked": [LEFT_OUT, True, False],
    "assign_svc_number": [LEFT_OUT, True],
    "svc_assign_number": [LEFT_OUT, True],
    "assign_trackdrive_number": [LEFT_OUT, True],
    "assign_sms_number": [LEFT_OUT, True],
    "expire_existing": [LEFT_OUT, True],
    "delete_existing": [LEFT_OUT, True],
    "update_only": [LEFT_OUT, True],
    "lead_priority": [LEFT_OUT, 5.5],
    "restart_schedule": [LEFT_OUT, True],
    "auto_format_nested_fields": [LEFT_OUT, True],
    "next_action_at": [LEFT_OUT, NOON + 3 * HOUR + 5 * MINUTE, NOON + 20 * MINUTE],
    "hours_to_expire": [LEFT_OUT, 2, 30],
    "max_contact_attempts": [LEFT_OUT, 1, 3],
    "data": [LEFT_OUT, {"first_name": "Ann", "roof": "flat"}, {"first_name": None}],
}
"""Parameter of `POST /leads` -> its values here; the first is that of a case that is not about it."""

SCENE = "scene"

CHOICES: Choices = {SCENE: list(SCENES), **PARAMETERS}

BY_MAIL: Choices = {
    **CHOICES, SCENE: ["nobody"], "caller_id": [LEFT_OUT], "email": ["ann@example.com"],
}  # fmt: skip
"""Of somebody who has no number."""

MOMENTS = ("schedule_callback_at", "next_action_at")

GROUNDS: tuple[dict[str, Any], ...] = (
    {},
    {"lead_token": "offer"},
    {"lead_token": "schedule-2"},
    {"email": "ann@example.com"},
    {"update_all_matching_leads": True},
    {"lead_token": "offer", "update_all_matching_leads": True},
)
"""What else a case about two parameters may say."""

_ALIASES = ("assign_svc_number", "svc_assign_number", "assign_trackdrive_number")
_STOPPED = "a blocked person is not contacted, whatever the plan"

NEVER_TOGETHER: Mapping[frozenset[str], str] = {
    **{frozenset(pair): "names of one parameter: either says all" for pair in combinations(_ALIASES, 2)},
    frozenset({"blocked", "schedule_callback_at"}): _STOPPED,
    frozenset({"blocked", "schedule_callback_in_seconds"}): _STOPPED,
    frozenset({"blocked", "next_action_at"}): _STOPPED,
    frozenset({"blocked", "max_contact_attempts"}): _STOPPED,
    frozenset({"blocked", "restart_schedule"}): "a blocked person starts nothing again",
    frozenset({"unblock_contact", "update_only"}): "a blocked person has no live lead: refused, and the block stays",
    frozenset({"unblock_contact", "expire_existing"}): "a blocked person has no live lead that could expire",
    frozenset({"expire_existing", "delete_existing"}): "deleting wins where both are asked for",
    frozenset({"update_all_matching_leads", "delete_existing"}): "no matching lead is left that could be updated",
    frozenset({"apply_to", "delete_existing"}): "no matching lead is left whose calls could take the data",
    frozenset({"expire_existing", "restart_schedule"}): "a new lead is made, which begins at the first step anyway",
    frozenset({"delete_existing", "restart_schedule"}): "a new lead is made, which begins at the first step anyway",
}
"""Pairs of which no case can show that both act, and why."""

Seen = tuple[Any, ...]
"""The answer, the leads then, what went out, and the leads in the end."""


def body_of(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return a body from the values that are not left out."""
    return {"form": FORM} | {name: value for name, value in values.items() if value is not LEFT_OUT}


def decided(scene: str, body: Mapping[str, Any]) -> Seen:
    """Let the real engine decide it."""
    town = PairsTown()
    for record_id in (1, 2):
        policy = POLICIES[f"schedule-{record_id}"]
        town.schedule(*map(_step, STEPS), record_id=record_id, hours_to_expire=SCHEDULE_HOURS, duplicate_policy=policy)
    return _seen(town, town.send, scene, body)


def expected(scene: str, body: Mapping[str, Any]) -> Seen:
    """Say what the documents say."""
    return _seen(Model(), None, scene, body)


def _seen(world: Any, send: Any, scene: str, body: Mapping[str, Any]) -> Seen:
    for minutes, what in (*SCENES[scene], (10, body)):
        world.run(NOON + minutes * MINUTE)
        if isinstance(what, str):
            getattr(world, what)()
        else:
            answer = world.submit(what) if send is None else send(_written(what))
    if send is None:
        world.run(COMES_AT)  # what is due at once
    then = _leads(world)
    world.run(ENDS_AT)
    contacts = world.contacts if send is None else world.contacts()
    return answer, then, sorted(contacts, key=str), _leads(world)


def _leads(world: Any) -> list[dict[str, Any]]:
    if not isinstance(world, Model):
        return world.leads()  # type: ignore[no-any-return]
    leads = [lead for person in world.people.values() for lead in person.leads]
    return [_summary(lead) for lead in sorted(leads, key=lambda lead: lead.number)]


def _summary(lead: ModelLead) -> dict[str, Any]:
    names = (
        "number", "status", "data", "contact_field_type", "email", "priority", "expires_at", "has_voice", "has_text",
        "calls",
    )  # fmt: skip
    values = {name: getattr(lead, name) for name in names}
    return {**values, "data": dict(lead.data), "calls": [dict(call) for call in lead.calls]}


def _written(body: Mapping[str, Any]) -> dict[str, Any]:
    """Return a body as it is sent: moments as text."""
    return {name: to_rfc3339(value) if name in MOMENTS else value for name, value in body.items()}


def _step(step: tuple[str, str]) -> dict[str, Any]:
    name, kind = step
    template = "Hi {{first_name}} {{last_name}}"
    more: dict[str, dict[str, Any]] = {
        "wait": {"duration": "1h"},
        "sms": {"template": template},
        "email": {"subject": "Hello", "template": template},
    }
    return {"id": name, "kind": kind, **more.get(kind, {})}


def values_of(case: Case, choices: Choices) -> tuple[str, dict[str, Any]]:
    """Return the scene and the body of a case."""
    values = {name: choices[name][place] for name, place in case.items()}
    return values.pop(SCENE), body_of(values)


def refusing(choices: Choices) -> Excluded:
    """Return what tells whether a submission that says both is refused by its body."""
    plain = {name: values[0] for name, values in choices.items() if name != SCENE}

    def is_refused(one: Value, other: Value) -> bool:
        chosen = {name: choices[name][place] for name, place in (one, other)}
        values = plain | {name: value for name, value in chosen.items() if name != SCENE}
        return bool(faults(body_of(values)))

    return is_refused


def acting(one: str, other: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the scenes and values in which, by the documents, leaving out either of two parameters makes a difference."""
    mine, theirs = ([value for value in PARAMETERS[name] if value is not LEFT_OUT] for name in (one, other))
    for ground, scene, first, second in product(GROUNDS, SCENES, mine, theirs):
        plain = {name: values[0] for name, values in PARAMETERS.items()}
        values = plain | ground | {one: first, other: second}
        whole = expected(scene, body_of(values))
        if all(expected(scene, body_of(values | {name: LEFT_OUT})) != whole for name in (one, other)):
            yield scene, values
