"""What do the schedules of a simulated company say? Any kind of step, in any sequence that can be published."""

from collections.abc import Callable
from random import Random
from typing import Any

Ids = Callable[[str], list[int]]
"""The ids of the company's records of a type."""

Step = dict[str, Any]

ACTING = ("call", "call", "sms", "email", "webhook", "wait", "wait")
QUICK = ("branch", "split", "wait_for", "update_lead", "tag", "schedule_callback", "action_group", "opt_out")
CHANNELS = ("call", "sms", "email")
LAST = ("exit", "restart", "move_to_schedule", "opt_out", "suppress")

EVERY_DAY = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"]

QUICK_SHARE = 0.3
LAST_SHARE = 0.3


def plan(chance: Random, ids: Ids) -> dict[str, Any]:
    """Return steps, end steps, triggers, reactions and timing of a schedule."""
    names = [f"s{n}" for n in range(chance.randint(1, 6))]
    steps = [_step(chance, ids, name, names[place + 1 :]) for place, name in enumerate(names)]
    if chance.random() < LAST_SHARE:
        # The wait keeps what goes round from going round at once, which is refused.
        steps += [{"id": "rest", "kind": "wait", "duration": "2m"}, _last(chance, ids, "last")]
    ends = [_acting(chance, ids, f"e{n}") for n in range(chance.choice([0, 0, 1, 2]))]
    return {"steps": steps, "end_steps": ends, "triggers": _triggers(chance), **_reactions(chance), **_timing(chance)}


def rule_pack(chance: Random) -> dict[str, Any]:
    """Return a company's own rules: hours that meet in all zones of the country, or a cap that lets go within hours."""
    row: dict[str, Any] = {
        "id": "own",
        "country": "US",
        "purposes": ["telemarketing", "informational"],
        "channels": ["call", "sms"],
        "source_url": "https://example.com/memorandum",
        "reviewed_at": "2026-01-01",
    }
    if chance.random() < 0.5:
        row["windows"] = [{"days": EVERY_DAY, "open": chance.choice(["09:00", "11:00"]), "close": "20:00"}]
    else:
        row["cap"] = {"count": 1, "period": chance.choice(["10m", "3h"]), "unit": "number", "counts": ["call", "sms"]}
    return {"name": "own", "rules": chance.choice([[row], [row], []])}


def _timing(chance: Random) -> dict[str, Any]:
    if chance.random() < 0.5:
        return {}
    return {
        "min_spacing": chance.choice([{}, {"call": "5m", "any": "1m"}, {"email": "20m"}]),
        "priority_aging": chance.choice([0, 40]),
        "jitter_seconds": chance.choice([0, 120]),
        "window_miss": chance.choice(["next_open", "skip_step", "same_time_next_allowed_day"]),
        "unknown_zone": chance.choice(["intersect", "default_zone"]),
        "purpose": chance.choice(["telemarketing", "informational"]),
        "migrate": chance.choice(["none", "by_step_id"]),
    }


def group(chance: Random, ids: Ids) -> dict[str, Any]:
    """Return an action group."""
    return {"name": "group", "steps": [_acting(chance, ids, f"g{n}") for n in range(chance.randint(1, 2))]}


def _step(chance: Random, ids: Ids, step_id: str, later: list[str]) -> Step:
    return _quick(chance, ids, step_id, later) if chance.random() < QUICK_SHARE else _acting(chance, ids, step_id)


def _acting(chance: Random, ids: Ids, step_id: str) -> Step:
    kind = chance.choice(ACTING)
    step: Step = {"id": step_id, "kind": kind}
    match kind:
        case "call":
            step["connect"] = chance.choice([{}, {"buyer_group_id": ids("buyer_group")[0]}, {"buyer_ids": ids("buyer")[1:]}])
            step["retry"] = chance.choice(
                [{}, {"no_answer": {"delay": "10m", "max": 2}, "busy": {}, "unknown": {"delay": "10m"}}]
            )
            step["outcome_timeout"] = chance.choice(["10m", "4h"])
            if chance.random() < 0.3:
                step["await_disposition"] = chance.choice(["5m", "1h"])
        case "sms":
            step["template"] = chance.choice([*["Hello {{first_name}}"] * 5, "{{a}}" * 320])
            step["retry"] = chance.choice([{}, {"failed": {"delay": "5m"}, "unknown": {"delay": "20m"}}])
            step["require_opt_in"] = chance.random() < 0.2
        case "email":
            step |= {"subject": "Hello", "template": chance.choice([*["Hello {{first_name}}"] * 5, "{{a}}" * 600])}
        case "webhook":
            step["outgoing_webhook_id"] = ids("outgoing_webhook")[0]
        case _:
            step["duration"] = chance.choice(["0s", "1m", "30m", "3h"])
    return step


def _quick(chance: Random, ids: Ids, step_id: str, later: list[str]) -> Step:
    """Return a step that decides or changes something; it leads only forward, and the next step stays within reach."""
    kind = chance.choice(QUICK)
    step: Step = {"id": step_id, "kind": kind}
    match kind:
        case "branch" if later:
            step["rules"] = [{"if": [chance.choice(["first_name:Ada", "attempts:>=1"])], "goto": chance.choice(later)}]
        case "split" if len(later) > 1:
            step["paths"] = [{"goto": later[0], "weight": 2}, {"goto": later[-1], "weight": 1}]
        case "wait_for":
            event = chance.choice(["sms.received", "call.inbound_received", "disposition", "converted"])
            step |= {"event": event, "timeout": chance.choice(["5m", "1h"])}
        case "tag":
            step["add"] = ["seen"]
        case "schedule_callback":
            step["in"] = chance.choice(["1m", "40m"])
            owners = [{}, {"buyer_id": ids("buyer")[1]}, {"buyer_group_id": ids("buyer_group")[0], "grace_minutes": 2}]
            step |= chance.choice(owners)
        case "opt_out":
            step |= {"scope": "channel", "channel": chance.choice(CHANNELS)}
        case "action_group":
            step["action_group_id"] = ids("action_group")[0]
        case _:
            step |= {"kind": "update_lead", "set": {"first_name": "Cy"}}
    return step


def _last(chance: Random, ids: Ids, step_id: str) -> Step:
    kind = chance.choice(LAST)
    if kind == "move_to_schedule" and not ids("schedule"):
        kind = "exit"
    step: Step = {"id": step_id, "kind": kind}
    if kind == "move_to_schedule":
        step["schedule_id"] = ids("schedule")[0]
    return step


def _triggers(chance: Random) -> list[dict[str, Any]]:
    if chance.random() < 0.6:
        return []
    kind = chance.choice(["buyer_converted", "buyer_connected", "inbound_connected", "replied", "disposition"])
    return [{"on": "exit", "type": kind, "end_result": chance.choice(["success", "completed"])}]


def _reactions(chance: Random) -> dict[str, Any]:
    return {
        "on_reply": {"action": chance.choice(["pause", "pause", "continue", "exit"]), "duration": "1h"},
        "on_inbound_connected": {"action": chance.choice(["continue", "continue", "exit"]), "delay": "30m"},
        "min_spacing": chance.choice([{}, {}, {"any": "10m"}]),
        "jitter_seconds": chance.choice([0, 0, 60]),
    }
