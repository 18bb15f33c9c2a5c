"""How is a preview shown? As a picture of its days; what somebody types of the lead is the preview's own request."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from markupsafe import Markup

from adapters.http.console.rendering import instant_of
from adapters.http.console.shown_pictures import show_picture
from adapters.http.console.visits import Visit
from adapters.pictures.picture import Picture
from adapters.pictures.preview import draw_preview
from engine.views.lead import SENTENCES
from engine.why.reason_texts import describe_wait
from schemas.instant import Instant

ACTIONS_MAX = 60
"""Contacts of one preview: three weeks of a busy schedule."""

OUTCOMES = ("no_answer", "busy", "voicemail", "connected_buyer")
"""What may come of each call in the preview, the usual one first."""

LEAD_FIELDS = ("caller_id", "email", "zip")
TYPED = (*LEAD_FIELDS, "at", "outcome")
"""Fields of the form above a preview."""

FIRST_TRIED = {"caller_id": "+12125550123", "email": "ada@example.com", "zip": "", "at": "", "outcome": OUTCOMES[0]}
"""What the form has before somebody types: a number that nobody has (555-01xx)."""


def typed_trial(given: Mapping[str, Any]) -> dict[str, str]:
    """Return what was typed of the lead."""
    return {name: str(given.get(name, "")).strip() for name in TYPED}


def trial_request(typed: Mapping[str, str]) -> dict[str, Any]:
    """Return the fields of a preview's request, without its schedule."""
    lead = {name: typed[name] for name in LEAD_FIELDS if typed[name]}
    fields: dict[str, Any] = {"lead": lead, "closed_hours": True, "limit": ACTIONS_MAX}
    if typed["at"]:
        fields["at"] = typed["at"]
    if typed["outcome"] in OUTCOMES:
        fields["outcomes"] = {"call": typed["outcome"]}
    return fields


def show_preview_picture(visit: Visit, found: Mapping[str, Any], at: str) -> Markup:
    """Return the picture of an answer, below what it warns of."""
    warnings = (Markup('<p class="says warn">{}</p>\n').format(warning) for warning in found.get("warnings", ()))
    return Markup("").join((*warnings, show_picture(partial(_week, found, _begins_at(visit, at, found)), "plan")))


def _week(found: Mapping[str, Any], begins_at: Instant, width: float, name: str) -> Picture:
    return draw_preview(
        found, title="What it does to this lead", begins_at=begins_at, end=_end(found), width=width, name=name
    )


def _begins_at(visit: Visit, at: str, found: Mapping[str, Any]) -> Instant:
    first = instant_of(found["actions"][0]["at"]) if found["actions"] else None
    return visit.now if not at else first or visit.now


def _end(found: Mapping[str, Any]) -> str:
    if found["end_status"] is not None:
        return str(SENTENCES.get(found["end_status"], found["end_status"]))
    if found["status_wait"] == "limit":
        return f"More follows after these {len(found['actions'])} actions"
    return f"Held: {describe_wait(found['status_wait'])}"
