"""How are the events of a lead read into its timeline? From the API's answers about its events, its calls and itself."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from adapters.pictures.picture import Picture
from adapters.pictures.timeline import LeadTimeline, TalkedCall, TimelineMark, draw_timeline, show_instant
from adapters.pictures.week import ClosedSpan
from engine.views.lead import SENTENCES
from engine.why.reason_texts import describe_wait
from schemas.instant import Instant, from_datetime

KINDS = {"call": "Call", "sms": "Text", "email": "E-mail", "webhook": "Webhook"}

LABELS = {
    "lead.created": "Created",
    "lead.enrolled": "Enters the schedule",
    "lead.taken_in": "Taken over from another contact",
    "lead.sent_away": "Moved to another contact",
    "lead.updated": "Changed",
    "lead.resumed": "Resumed",
    "lead.revived": "Goes on for a callback",
    "lead.replanned": "Planned again: a rule changed",
    "lead.converted": "Converted",
    "lead.ending": "Goes on with the end steps",
    "lead.ended": "Ended",
    "lead.deleted": "Deleted",
    "lead.picked_up": "Picked up",
    "step.skipped": "Step skipped",
    "step.applied": "Step applied",
    "step.retried": "Step will be tried again",
    "step.failed": "Step failed",
    "step.chose": "Branch taken",
    "trigger.fired": "Trigger fired",
    "callback.scheduled": "Callback scheduled",
    "callback.cancelled": "Callback cancelled",
    "callback.fulfilled": "Callback kept",
    "callback.retried": "Callback will be tried again",
    "callback.recorded": "Record of the callback",
    "callback.refused": "No callback: the lead has ended",
    "veto.asked": "Veto hook asked",
    "slot.requested": "A line is asked for",
    "slot.awaited": "Waits for a line",
    "slot.answered": "Answer about a line",
    "slot.released": "Line given back",
    "reach.requested": "Consent of the address is asked for",
    "call.initiated": "Call placed",
    "call.ringing": "Rings",
    "call.established": "Answered",
    "call.ended": "Call ended",
}
"""Fact type -> what a person reads; any other is shown by its name."""

SUBMISSIONS = {"updated": "Submitted again: changed", "restarted": "Submitted again: restarted"}
"""`dedupe_action` -> what a submission did to a lead that was there; by any other it was made."""

MAIN = frozenset(
    {"lead.created", "lead.enrolled", "lead.ended", "lead.converted", "lead.deleted", "lead.ending", "lead.resumed"}
)
STOPS = frozenset({"opt_out", "dnc", "blocked", "failure"})
PLANS = ("lead.scheduled", "lead.waiting", "lead.replanned", "step.retried", "callback.")
PEOPLE = ("contact.", "lead.")

TEXT_MAX = 200
"""Letters of a detail: what a stranger wrote may be long."""

GOOD = frozenset({"connected_buyer", "connected_agent", "connected", "delivered", "accepted", "sent", "answered"})


def draw_lead(
    found: Mapping[str, Any],
    *,
    lead: Mapping[str, Any],
    calls: Sequence[Mapping[str, Any]],
    now: Instant,
    asked_at: Instant | None = None,
    width: float = 960,
    name: str = "lead",
) -> Picture:
    """Return the timeline of a lead: `found` lists its events, as `GET /api/v1/leads/:id/events` does."""
    closed = [one for one in found["closed_hours"] if one["channel"] == "call"]
    next_at = _instant(lead.get("next_action_at"))
    timeline = LeadTimeline(
        title=str(lead.get("name") or lead.get("caller_id") or lead.get("email") or f"Lead {found['id']}"),
        zone=found["time_zone"],
        now=now,
        marks=[_mark_of(event, found["time_zone"]) for event in found["events"]],
        calls=[one for one in map(_call_of, calls) if one is not None],
        closed=[ClosedSpan(_at(one["from"]), _at(one["to"]), one["by"]) for one in closed],
        next_at=next_at,
        next_label=f"next action, step {lead['step']}" if lead.get("step") else "next action",
        asked_at=asked_at,
        note="Earlier events are not shown: these are the newest" if found["has_earlier"] else "",
    )
    return draw_timeline(timeline, width=width, name=name)


def label_of(event: Mapping[str, Any]) -> str:
    """Return what an event is, in a few words."""
    kind, data = event["event"], event["data"]
    if kind == "command.emitted":
        return f"{KINDS.get(data.get('kind'), 'Action')} goes out"
    if kind == "outcome.recorded":
        return f"{KINDS.get(data.get('kind'), 'Action')}: {_words(data.get('outcome'))}"
    if kind == "lead.submitted":
        return SUBMISSIONS.get(data.get("dedupe_action", ""), "Submitted")
    if kind == "lead.scheduled":
        return "Planned"
    if kind == "lead.waiting":
        return "Waits"
    return LABELS.get(kind) or _words(kind.replace(".", " ")).capitalize()


def detail_of_event(event: Mapping[str, Any], zone: str) -> str:
    """Return what else a reader wants to know of an event: its step, why, until when."""
    return "; ".join(_details(event, zone))[:TEXT_MAX]


def _details(event: Mapping[str, Any], zone: str) -> Iterator[str]:
    data = event["data"]
    if data.get("step_id"):
        yield f"step {data['step_id']}"
    if event["event"] in {"lead.scheduled", "lead.waiting"} and isinstance(data.get("at"), int):
        yield f"for {show_instant(Instant(data['at']), zone)} ({zone})"
    codes = data.get("reasons") or ([data["reason"]] if data.get("reason") else [])
    for code in codes:
        yield describe_wait(code)
    if event["event"] in {"lead.ended", "lead.ending"}:
        yield SENTENCES.get(data.get("status", ""), _words(data.get("status")))
    if data.get("source"):
        yield f"by {_words(data['source'])}"


def _mark_of(event: Mapping[str, Any], zone: str) -> TimelineMark:
    kind, data = event["event"], event["data"]
    at = _at(event["created_at"])
    until = Instant(data["at"]) if kind in {"lead.scheduled", "lead.waiting"} and isinstance(data.get("at"), int) else None
    track, fill = _track_of(kind, data)
    return TimelineMark(
        at=at, track=track, fill=fill, label=label_of(event), detail=detail_of_event(event, zone), until=until
    )


def _track_of(kind: str, data: Mapping[str, Any]) -> tuple[str, str]:
    """Return the row and the colour of an event."""
    channel = data.get("kind")
    if kind in {"command.emitted", "outcome.recorded", "reach.requested"} and channel in KINDS:
        is_good = kind == "outcome.recorded" and data.get("outcome") in GOOD
        return ("other", "webhook") if channel == "webhook" else (channel, "good" if is_good else channel)
    if kind.startswith("call."):
        return "call", "call"
    if kind.startswith(PLANS):
        return "plan", "wait"
    if kind.startswith(PEOPLE):
        is_stop = data.get("status") in STOPS or kind in {"contact.opted_out", "contact.blocked", "contact.suppressed"}
        return "lead", "bad" if is_stop else "good" if kind == "lead.converted" else "ink" if kind in MAIN else "effect"
    return "plan", "effect"


def _call_of(call: Mapping[str, Any]) -> TalkedCall | None:
    at = _instant(call.get("ringing_at") or call.get("initiated_at") or call.get("created_at"))
    if at is None:
        return None
    label = _words(call.get("outcome") or call.get("status"))
    return TalkedCall(
        at=at,
        ring_seconds=max(0, int(call.get("ring_duration") or 0)),
        talk_seconds=max(0, int(call.get("talk_duration") or 0)),
        label="in progress" if call.get("in_progress") else label,
    )


def _words(value: object) -> str:
    return str(value or "not known").replace("_", " ")


def _instant(text: Any) -> Instant | None:
    return _at(text) if isinstance(text, str) and text else None


def _at(text: str) -> Instant:
    return from_datetime(datetime.fromisoformat(text))
