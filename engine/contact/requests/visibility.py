"""May the sender of a request still see what it is about? Checked once more when it is decided: the lead may have moved on.

The same rule chooses rows in `adapters/postgres/conditions.py`.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from engine.contact.facts.person import Person
from engine.partition.draft import RefusedError
from schemas.contact import Call, Lead
from schemas.records import LeadFilters
from schemas.requests import (
    CallDeleteRequested,
    CallKeysRequested,
    CallUpdateRequested,
    ContactRequest,
    KeptSubmissionDecided,
    LeadDeleteRequested,
    LeadUpdateRequested,
)

CHANGES_OF_RECORDS = frozenset(
    {
        LeadUpdateRequested,
        LeadDeleteRequested,
        CallUpdateRequested,
        CallDeleteRequested,
        CallKeysRequested,
        KeptSubmissionDecided,
    }
)
"""The requests that are about a lead or call which teams may not see."""


def refuse_invisible(person: Person, request: ContactRequest) -> None:
    """Raise `RefusedError` not_found where the teams of the sender do not show the lead or call of a request."""
    if type(request) not in CHANGES_OF_RECORDS:  # so for a submission: the look-up is a third of the cost of `getattr`
        return
    visible: tuple[LeadFilters, ...] | None = getattr(request, "visible", None)
    if visible is None:
        return
    found: Lead | Call | None = None
    match request:
        case LeadUpdateRequested() | LeadDeleteRequested() | KeptSubmissionDecided():
            found, what = person.lead(request.lead_id), "lead"
        case CallUpdateRequested() | CallDeleteRequested() | CallKeysRequested():
            found, what = person.call(request.call_id), "call"
    if found is not None and not any(fits(found, one) for one in visible):
        raise RefusedError("not_found", f"There is no such {what}.")


def fits(subject: Lead | Call, wanted: LeadFilters) -> bool:
    """Return whether a lead or call fits every list of a team's filters that is not empty."""
    source_id, tokens = _source_and_tokens(subject)
    listed = (
        (subject.offer_id, wanted.offer_ids),
        (subject.schedule_id, wanted.schedule_ids),
        (subject.buyer_id, wanted.buyer_ids),
        (source_id, wanted.traffic_source_ids),
    )
    return all(not ids or one in ids for one, ids in listed) and all(
        token.key in tokens and _text(tokens[token.key]) == token.value for token in wanted.token_filters
    )


def _source_and_tokens(subject: Lead | Call) -> tuple[int | None, Mapping[str, Any]]:
    if isinstance(subject, Lead):
        return subject.columns.get("traffic_source_id"), subject.data
    return subject.traffic_source_id, subject.token_values


def _text(value: Any) -> str:
    """Return a token as its JSON, text without quotes. Lists also find a number written without its exponent."""
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
