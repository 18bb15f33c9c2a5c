"""When does a change of a schedule take effect? At once, unless it is a draft: then when it is published.

A draft is checked against the present schedule when it is written, and again when it is published: its references may be
gone by then. Leads never see a draft. A draft names its action groups; publishing replaces each by the steps that the
group has then.
"""

from collections.abc import Callable, Mapping
from typing import Any

from msgspec.structs import replace

from engine.partition.draft import RefusedError
from engine.submission.fields import FieldError, is_blank, parse_boolean
from schemas.instant import Instant
from schemas.records import Schedule
from schemas.schedule import KIND_OF_STEP, ActionGroupStep

DRAFT = "draft"
PUBLISH_INPUTS = frozenset({DRAFT})
"""Inputs of a change that are no fields of the schedule."""

BY_STEP_ID = "by_step_id"
"""What `migrate` says to take leads along, each at the step of the same id."""

WRITTEN_BY_PUBLISHING = frozenset({"draft_fields", "unpublished", "published_at"})

NO_SCHEDULE = Schedule(name="", lead_token="")

Read = Callable[[Mapping[str, Any]], Schedule]
"""Reads fields over the schedule as it is. Raises `RefusedError`."""


def change(given: Mapping[str, Any], before: Schedule | None, read: Read, *, publishes: bool, now: Instant) -> Schedule:
    """Return a schedule after a change; `before` is None where it is made. Raises `RefusedError`."""
    fields = {name: value for name, value in given.items() if name not in PUBLISH_INPUTS}
    if publishes:
        return _published({**(before or NO_SCHEDULE).draft_fields, **fields}, before, read, now=now, draft_fields={})
    waiting = {**(before or NO_SCHEDULE).draft_fields, **fields}
    if not _is_draft(given):
        if before is not None and before.unpublished:
            return _published(waiting, before, read, now=now, draft_fields={})
        return _published(fields, before, read, now=now, draft_fields=(before or NO_SCHEDULE).draft_fields)
    _refuse_migration(given, before)
    if before is None or before.unpublished:
        return replace(read(waiting), unpublished=True, migrate="none", draft_fields=_to_splice(waiting))
    read(waiting)
    return replace(before, draft_fields=waiting, migrate="none")


def _refuse_migration(given: Mapping[str, Any], before: Schedule | None) -> None:
    """Refuse to take leads along to a draft, on which no lead is; one may be sent back with what it was published with."""
    if given.get("migrate") != (None if before is None else before.migrate) and given.get("migrate") == BY_STEP_ID:
        fault = "takes effect when the draft is published: leave it out here, and send it with POST .../publish"
        raise RefusedError("validation_failed", "Correct migrate and resend.", {"migrate": [fault]})


def _to_splice(waiting: Mapping[str, Any]) -> dict[str, Any]:
    """Return the plan as written where it names action groups; any other draft is stored in the schedule itself."""
    plan = {name: waiting[name] for name in ("steps", "end_steps", "triggers") if name in waiting}
    named = [step for name in ("steps", "end_steps") for step in plan.get(name) or ()]
    has_groups = any(isinstance(step, Mapping) and step.get("kind") == KIND_OF_STEP[ActionGroupStep] for step in named)
    return plan if has_groups else {}


def _published(
    fields: Mapping[str, Any], before: Schedule | None, read: Read, *, now: Instant, draft_fields: dict[str, Any]
) -> Schedule:
    after = replace(read(fields), unpublished=False, draft_fields=draft_fields)
    is_new = before is None or replace(after, published_at=before.published_at) != replace(before, migrate="none")
    return replace(after, published_at=now) if is_new or before is None else before


def _is_draft(given: Mapping[str, Any]) -> bool:
    value = given.get(DRAFT)
    try:
        return not is_blank(value) and parse_boolean(value)
    except FieldError as error:
        raise RefusedError("validation_failed", "Correct draft and resend.", {DRAFT: [str(error)]}) from None
