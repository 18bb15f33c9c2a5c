"""When does what was written about a schedule hold? At once, unless it is a draft: then with the next publishing.

A draft is checked like everything that is published, against the schedule as it is, and again when it is published: what
it refers to may have gone in between. Leads never see it.
"""

from collections.abc import Callable, Mapping
from typing import Any

from msgspec.structs import replace

from engine.partition.draft import RefusedError
from engine.submission.fields import FieldError, is_blank, parse_boolean
from schemas.instant import Instant
from schemas.records import Schedule

DRAFT = "draft"
PUBLISH_INPUTS = frozenset({DRAFT})
"""What is said about a change of a schedule, and is no field of it."""

WRITTEN_BY_PUBLISHING = frozenset({"draft_fields", "unpublished", "published_at"})

NO_SCHEDULE = Schedule(name="", lead_token="")

Read = Callable[[Mapping[str, Any]], Schedule]
"""Reads fields over the schedule as it is. Raises `RefusedError`."""


def change(given: Mapping[str, Any], before: Schedule | None, read: Read, *, publishes: bool, now: Instant) -> Schedule:
    """Return a schedule after a change; `before` is None where it is made. Raises `RefusedError`."""
    fields = {name: value for name, value in given.items() if name not in PUBLISH_INPUTS}
    if publishes:
        return _published({**(before or NO_SCHEDULE).draft_fields, **fields}, before, read, now=now, draft_fields={})
    if not _is_draft(given):
        return _published(fields, before, read, now=now, draft_fields=(before or NO_SCHEDULE).draft_fields)
    if before is None or before.unpublished:
        return replace(read(fields), unpublished=True, migrate="none")
    waiting = {**before.draft_fields, **fields}
    read(waiting)
    return replace(before, draft_fields=waiting, migrate="none")


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
        raise RefusedError("validation_failed", "Mend draft and send it again.", {DRAFT: [str(error)]}) from None
