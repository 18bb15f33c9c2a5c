"""What do steps do that change the lead itself? Its tokens, callback or schedule, or whether it goes on."""

from typing import Any, assert_never

from engine.contact.facts.person import Person
from engine.contact.lifecycle import callbacks
from engine.contact.lifecycle.enrolment import enrol, expiry, schedule_of
from engine.contact.lifecycle.promises import Promiser
from engine.contact.lifecycle.step_position import set_tokens
from engine.contact.lifecycle.stop import block, opt_out, stop, suppress
from engine.contact.schedule.cadence import Cadence, duration
from engine.contact.timing.contact_hours import after, local_time
from schemas.contact import LIVE_STATUSES, CallbackOwner, Lead
from schemas.instant import DAY
from schemas.schedule import (
    KIND_OF_STEP,
    BlockStep,
    CallbackStep,
    MoveStep,
    OptOutStep,
    RestartStep,
    SuppressStep,
    TagStep,
    UpdateLeadStep,
)

LOOP_GUARD = "move_loop_guard"

MOVES_PER_DAY_MAX = 10
"""Moves and restarts of one lead by steps: the eleventh within 24 h is a loop and waits."""

TAGS = "tags"
"""The token that holds the words of tag steps."""

TAGS_MAX = 100
"""Tags of one lead: they are in memory and in every decision about it."""


def apply(
    person: Person,
    lead: Lead,
    cadence: Cadence,
    step: UpdateLeadStep | TagStep | CallbackStep | OptOutStep | BlockStep | SuppressStep,
) -> None:
    """Carry out a step that leaves the lead where it is, or ends it."""
    person.draft.fact("step.applied", lead_id=lead.id, step_id=step.id, kind=KIND_OF_STEP[type(step)])
    match step:
        case UpdateLeadStep():
            _update(person, lead, step)
        case TagStep():
            _tag(person, lead, step)
        case CallbackStep():
            _schedule_callback(person, lead, cadence, step)
        case OptOutStep():
            opt_out(person, f"step {step.id}", offer_id=lead.offer_id, channel=step.channel, scope=step.scope)
            if lead.status in LIVE_STATUSES and step.scope != "channel":  # the person has more leads than one decision ends
                stop(person, lead, "opt_out")
        case BlockStep():
            block(person, f"step {step.id}")
            if lead.status in LIVE_STATUSES:
                stop(person, lead, "blocked")
        case SuppressStep():
            suppress(person, f"step {step.id}")
            if lead.status in LIVE_STATUSES:
                stop(person, lead, "dnc")
        case _:
            assert_never(step)


def reason_to_stay(person: Person, lead: Lead, step: MoveStep | RestartStep) -> str | None:
    """Return why the lead cannot start a new run, or None."""
    if schedule_of(person, _target(lead, step)) is None:
        return "no_schedule"
    return "restarts_used" if isinstance(step, RestartStep) and lead.restarts >= step.max_restarts else None


def moves_too_often(person: Person, lead: Lead) -> bool:
    """Return whether steps have moved the lead as often today as the limit allows."""
    return sum(moved_at > person.now - DAY for moved_at in lead.moves) >= MOVES_PER_DAY_MAX


def start_new_run(person: Person, lead: Lead, step: MoveStep | RestartStep) -> None:
    """Start a new run of this schedule or another one. An expired lead always gets the expiry of the new schedule."""
    found = schedule_of(person, _target(lead, step))
    assert found is not None  # noqa: S101 - the caller has asked for reasons to stay
    person.draft.fact("step.applied", lead_id=lead.id, step_id=step.id, kind=KIND_OF_STEP[type(step)])
    attempts, connected, restarts, pause = lead.attempts, lead.connected, lead.restarts + 1, lead.pause
    enrol(person, lead, found[0])
    lead.pause = pause
    lead.moves = (*(moved_at for moved_at in lead.moves if moved_at > person.now - DAY), person.now)
    has_expired = lead.expires_at is not None and lead.expires_at <= person.now
    if isinstance(step, RestartStep):
        lead.restarts = restarts
    elif step.keep_attempts:
        lead.attempts, lead.connected = attempts, connected
    if has_expired or (isinstance(step, MoveStep) and not step.keep_expiry):
        lead.expires_at = expiry(person, lead, person.now, None)


def _target(lead: Lead, step: MoveStep | RestartStep) -> int:
    return step.schedule_id if isinstance(step, MoveStep) else lead.schedule_id or 0


def _update(person: Person, lead: Lead, step: UpdateLeadStep) -> None:
    set_tokens(person, lead, step.set, step.unset, step_id=step.id)
    if step.lead_priority is not None:
        lead.lead_priority = step.lead_priority
    for name in ("traffic_source_id", "contact_field_type"):
        value = getattr(step, name)
        if value is not None:
            lead.columns[name] = value
    person.draft.fact("lead.updated", lead_id=lead.id)
    person.save(lead)


def _tag(person: Person, lead: Lead, step: TagStep) -> None:
    remaining = [tag for tag in _tags(lead.data.get(TAGS)) if tag not in step.remove]
    tags = list(dict.fromkeys((*remaining, *step.add)))[-TAGS_MAX:]
    set_tokens(person, lead, {TAGS: tags}, step_id=step.id)
    person.draft.fact("lead.updated", lead_id=lead.id)
    person.save(lead)


def _tags(value: Any) -> list[Any]:
    """Return the tags of a token; also of one that the sender submitted as text."""
    if isinstance(value, str):
        return [word.strip() for word in value.split(",") if word.strip()]
    return list(value) if isinstance(value, list) else []


def _schedule_callback(person: Person, lead: Lead, cadence: Cadence, step: CallbackStep) -> None:
    if step.at is not None:
        at = local_time(lead, cadence, step.at, person.now)
    else:
        at = after(person.now, duration(step.after or "0s"), lead, cadence)
    is_owned = step.buyer_id is not None or step.buyer_group_id is not None
    owner = CallbackOwner(step.buyer_id, step.buyer_group_id, step.grace_minutes) if is_owned else None
    callbacks.schedule_callback(person, lead, at, owner, promiser=Promiser("schedule"))
    person.save(lead)
