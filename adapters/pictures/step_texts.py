"""What is said of a step, in a box of a diagram? A title and a detail; and what each way out of it is called."""

from collections.abc import Iterator

from msgspec import Struct

from engine.contact.schedule.step_graph import edges_of
from schemas.schedule import (
    KIND_OF_STEP,
    ActionGroupStep,
    BlockStep,
    BranchStep,
    CallbackStep,
    CallStep,
    EmailStep,
    ExitStep,
    MoveStep,
    OptOutStep,
    RestartStep,
    SmsStep,
    SplitStep,
    Step,
    SuppressStep,
    TagStep,
    Trigger,
    Until,
    UpdateLeadStep,
    WaitForStep,
    WaitStep,
    WebhookStep,
)

EVENTS = {
    "tokens_match": "its tokens match",
    "converted": "it converts",
    "buyer_converted": "it converts for the buyer",
    "offer_converted": "it converts for the offer",
    "sms.received": "the person sends a text",
    "call.inbound_received": "the person calls",
    "disposition": "an agent says how a call went",
}

TRIGGERS = {
    "none": "always",
    "tokens_match": "its tokens match",
    "expired": "it expires",
    "buyer_connected": "it is connected to a buyer",
    "buyer_converted": "it converts for the buyer",
    "dial": "a call is placed",
    "inbound_connected": "the person calls and is connected",
    "replied": "the person sends a text that is no opt-out",
    "disposition": "an agent says how a call went",
}

FILLS = {
    "call": "call",
    "sms": "sms",
    "email": "email",
    "webhook": "webhook",
    "wait": "wait",
    "wait_for": "wait",
    "branch": "choice",
    "split": "choice",
    "exit": "ink",
    "move_to_schedule": "ink",
}
"""Kind of step -> the class of its colour; the others change the lead."""


class WayOut(Struct, frozen=True):
    """A way out of a step: what it is called, and the id of the step where it leads; None is the next one."""

    label: str
    goto: str | None


def fill_of(step: Step) -> str:
    """Return the class of a step's colour."""
    return FILLS.get(KIND_OF_STEP[type(step)], "effect")


def title_of(step: Step) -> str:  # noqa: C901, PLR0911, PLR0912 - one line for each kind of step
    """Return what a step does, in a few words."""
    match step:
        case CallStep():
            return "Call"
        case SmsStep():
            return "Text"
        case EmailStep():
            return "E-mail"
        case WebhookStep():
            return f"Post to outgoing webhook {step.outgoing_webhook_id}"
        case WaitStep(duration=str(duration)):
            return f"Wait {duration}"
        case WaitStep():
            return f"Wait until {_until(step.until)}"
        case WaitForStep():
            return f"Wait until {EVENTS[step.event]}, {step.timeout} at most"
        case BranchStep():
            return "Branch"
        case SplitStep():
            return "Split by weight"
        case ExitStep():
            return f"Leave: {step.result}"
        case MoveStep():
            return f"Move to schedule {step.schedule_id}"
        case RestartStep():
            return f"Restart, {step.max_restarts} times at most"
        case CallbackStep():
            return f"Schedule a callback {_callback_time(step)}"
        case OptOutStep():
            return "Opt out" if step.channel is None else f"Opt out of {step.channel}"
        case BlockStep():
            return "Block the number"
        case SuppressStep():
            return "Put on the do-not-call list"
        case UpdateLeadStep():
            return "Change the lead"
        case TagStep():
            return "Change tags"
        case ActionGroupStep():
            return f"Steps of action group {step.action_group_id}"


def detail_of(step: Step) -> str:  # noqa: PLR0911 - as title_of
    """Return what a reader wants to know besides: whom a call reaches, what a text says."""
    match step:
        case CallStep():
            return _connects(step)
        case SmsStep():
            return step.template
        case EmailStep():
            return step.subject
        case UpdateLeadStep():
            changed = [*(f"{name} = {value}" for name, value in step.set.items()), *(f"without {one}" for one in step.unset)]
            return ", ".join(changed)
        case TagStep():
            return ", ".join([*(f"+{word}" for word in step.add), *(f"-{word}" for word in step.remove)])
        case WaitForStep():
            return ", ".join(step.filters)
        case _:
            return ""


def ways_out(step: Step) -> Iterator[WayOut]:
    """Yield every way out of a step, in the order of `edges_of`."""
    labels = list(_labels(step))
    for place, edge in enumerate(edges_of(step)):
        yield WayOut(labels[place] if place < len(labels) else "", edge.goto)


def trigger_text(trigger: Trigger) -> str:
    """Return when a trigger acts and what it does, without where it leads."""
    filters = f" ({', '.join(trigger.filters)})" if trigger.filters else ""
    tokens = f"; sets {', '.join(trigger.add_tokens)}" if trigger.add_tokens else ""
    expires = f"; expires after {trigger.expire_minutes} minutes" if trigger.expire_minutes is not None else ""
    leaves = f" → leaves: {trigger.end_result or 'completed'}" if trigger.goto is None and trigger.on == "exit" else ""
    return f"{'when' if trigger.type != 'none' else ''} {TRIGGERS[trigger.type]}{filters}{tokens}{expires}{leaves}".strip()


def _labels(step: Step) -> Iterator[str]:
    match step:
        case BranchStep():
            yield from (f"if {' and '.join(rule.when)}" for rule in step.rules)
            yield "else"
        case SplitStep():
            total = sum(path.weight for path in step.paths) or 1
            yield from (f"{100 * path.weight / total:.0f} %" for path in step.paths)
        case WaitForStep():
            yield from ("when it happens", f"after {step.timeout}")


def _until(until: Until | None) -> str:
    if until is None:
        return ""
    days = f" {'/'.join(until.days)}" if until.days else ""
    return f"{until.date or ''}{days} {until.time}".strip()


def _callback_time(step: CallbackStep) -> str:
    return f"in {step.after}" if step.after is not None else f"at {_until(step.at)}"


def _connects(step: CallStep) -> str:
    connect = step.connect
    if connect.group_ids:
        return f"connects to buyer group {' or '.join(map(str, connect.group_ids))}"
    if connect.buyer_ids:
        return f"connects to buyer {', '.join(map(str, connect.buyer_ids))}"
    if connect.agents is not None:
        return "connects to an agent"
    if connect.stream is not None:
        return "connects to a voice bot"
    return ""
