"""What happened to one lead, what comes next, and why? Its timeline, the reason at any instant, consent and decisions."""

import asyncio
from collections.abc import Mapping
from functools import partial
from typing import Any

from msgspec import Struct

from adapters.http.console.recording_player import recordings_of
from adapters.http.console.rendering import instant_of
from adapters.http.console.shown_pictures import show_picture
from adapters.http.console.visits import ConsolePage, Visit, filled, rows_of
from adapters.http.exchange.exchange import Reply
from adapters.http.exchange.page_changes import ChangeSource
from adapters.http.exchange.parameters import read_id
from adapters.http.exchange.problems import ProblemError
from adapters.pictures.lead import detail_of_event, draw_lead, label_of
from adapters.pictures.picture import Picture
from engine.submission.consents import CONSENT
from engine.views.contact import CONTACT_COLUMNS
from engine.views.lead_columns import LEAD_COLUMNS
from schemas.instant import DAY, MINUTE, Instant, to_rfc3339

PATH = "/console/leads/{lead:str}"

EVENTS_SHOWN = 100
"""Decisions in the list; the timeline has those that the API gives."""

CALLS_SHOWN = 50
AHEAD = 7 * DAY
"""How far beyond now, and beyond the next action, one can ask: what comes later rests on outcomes that nobody knows."""

ASK_STEPS = 400
"""Places of the slider: one is at least a minute."""

FURTHER_NUMBERS = ("phone2", "alternate_numbers")
"""Tokens of a lead with numbers that are never dialled: each would be a person of its own, with caps and stops."""

SHOWN_APART = frozenset({CONSENT, *FURTHER_NUMBERS})

TOO_FAR = 10**15
"""No instant of a slider has more digits."""


class LeadAction(Struct, frozen=True):
    """A button: its operation and what it sends; `ask` is the question before it, where it cannot be taken back."""

    label: str
    operation: str
    fields: Mapping[str, Any]
    done: str
    ask: str = ""
    needs_live: bool | None = None


ACTIONS: dict[str, LeadAction] = {
    "call": LeadAction("Call now", "make_call", {}, "The call is ordered."),
    "stop": LeadAction("Stop", "update_lead", {"schedule_stop": True}, "The lead is stopped.", needs_live=True),
    "restart": LeadAction("Restart", "update_lead", {"schedule_start": True}, "The lead starts again.", needs_live=False),
    "opt-out": LeadAction(
        "Opt out",
        "update_lead",
        {"opt_out": True},
        "The person is opted out.",
        ask="Opt this person out? Every lead of the number is stopped.",
    ),
}


async def show(visit: Visit) -> Reply:
    """Show the page."""
    reference = visit.request.path_params["lead"]
    found = await _found(visit, reference)
    lead, events = found["lead"], found["events"]
    begun = [at for at in (instant_of(one.get("created_at")) for one in (lead, *events["events"])) if at is not None]
    first = min(begun, default=visit.now)
    last = max(visit.now, instant_of(lead["next_action_at"]) or visit.now) + AHEAD
    done = ACTIONS.get(str(visit.query.get("done", "")))
    actions = {
        key: action
        for key, action in ACTIONS.items()
        if visit.may(action.operation) and action.needs_live in {None, lead["is_live"]}
    }
    step = max(MINUTE, (last - first) // ASK_STEPS // MINUTE * MINUTE)
    # A browser moves a slider to the nearest place: only where `now` is one, it is found unmoved when the page asks.
    slider = {"first": int(first), "last": int(last), "step": step, "now": first + (visit.now - first) // step * step}
    title = str(lead["name"] or lead["caller_id"] or lead["email"] or lead["id"])
    return visit.page("lead.html", title=title, done=done, actions=actions, slider=slider, **found)


async def show_part(visit: Visit) -> Reply:
    """Show what changes on the page: as it is now, or at the instant that is asked about."""
    reference = visit.request.path_params["lead"]
    if visit.access is not None and isinstance(lead_id := read_id(reference), int):
        visit.renew(ChangeSource("lead", visit.access.company_id, lead_id))
    return visit.page("lead_part.html", **await _found(visit, reference))


async def find_change_source(visit: Visit) -> ChangeSource:
    """Return the lead whose changes its page follows."""
    lead = (await visit.fetch("show_lead", path={"id": visit.request.path_params["lead"]}))["lead"]
    return ChangeSource("lead", visit.company_source.company_id, lead["id"])


async def act(visit: Visit) -> Reply:
    """Do what a button says."""
    reference = visit.request.path_params["lead"]
    key = str(visit.form.get("action", ""))
    action = ACTIONS.get(key)
    if action is None or not visit.may(action.operation):
        raise ProblemError("not_found", "There is no such button, or no team of yours grants it.")
    if action.operation == "make_call":
        lead = (await visit.fetch("show_lead", path={"id": reference}))["lead"]
        await visit.fetch(action.operation, {"lead_id": lead["id"]})
    else:
        await visit.fetch(action.operation, dict(action.fields), path={"id": reference}, method="PATCH")
    return visit.go_to(f"/console/leads/{reference}?done={key}")


async def _found(visit: Visit, reference: str) -> dict[str, Any]:
    """Return what the page shows. Raises `ApiRefusedError` where there is no such lead."""
    lead = filled((await visit.fetch_shown("show_lead", path={"id": reference}))["lead"], LEAD_COLUMNS)
    asked_at = _asked_at(visit)
    at = None if asked_at is None else to_rfc3339(asked_at)
    number = lead["caller_id"] or lead["email"]
    ask = visit.look if visit.is_part else visit.ask  # a page that follows a button shows its effect
    questions: tuple[Any, ...] = (
        visit.fetch_shown("list_lead_events", path={"id": reference}),
        ask("why_lead", {"at": at} if at else {}, path={"id": reference}),
        ask("list_calls", {"lead_id": lead["id"], "per_page": CALLS_SHOWN}),
        ask("show_contact", path={"id": number}) if number else _nothing(),
    )
    events, why, calls, contact = await asyncio.gather(*questions)
    found = {**events["lead"], "time_zone": events["lead"].get("time_zone") or visit.zone}
    rows = [] if calls is None else rows_of(calls)
    draw = partial(_draw, found, lead, list(reversed(rows)), visit.now, asked_at)
    newest = list(reversed(found["events"]))[:EVENTS_SHOWN]
    return {
        "lead": lead,
        "events": found,
        "why": None if why is None else why["why"],
        "asked_at": at,
        "contact": None if contact is None else filled(contact["contact"], CONTACT_COLUMNS),
        "picture": show_picture(draw, "lead"),
        "recordings": recordings_of(visit, rows),
        "decisions": [
            {**event, "label": label_of(event), "detail": detail_of_event(event, found["time_zone"])} for event in newest
        ],
        "more": len(found["events"]) - len(newest),
        "links": ("https://", "http://"),
        "consents": _consents(lead["data"]),
        "further_numbers": _further_numbers(lead["data"]),
        "tokens": {name: value for name, value in (lead["data"] or {}).items() if name not in SHOWN_APART},
    }


def _consents(data: Mapping[str, Any] | None) -> list[Mapping[str, Any]]:
    """Return what the person consented to, as the senders stated it."""
    stated = (data or {}).get(CONSENT)
    return [one for one in stated if isinstance(one, Mapping)] if isinstance(stated, list) else []


def _further_numbers(data: Mapping[str, Any] | None) -> list[str]:
    """Return the numbers of the person that are kept and never dialled."""
    given = [(data or {}).get(name) for name in FURTHER_NUMBERS]
    listed = [number for value in given for number in (value if isinstance(value, list) else [value])]
    return [str(number) for number in listed if number not in {None, ""}]


def _draw(  # noqa: PLR0917 - bound once, called for each width
    found: Mapping[str, Any],
    lead: Mapping[str, Any],
    calls: list[dict[str, Any]],
    now: Instant,
    asked_at: Instant | None,
    width: float,
    name: str,
) -> Picture:
    return draw_lead(found, lead=lead, calls=calls, now=now, asked_at=asked_at, width=width, name=name)


def _asked_at(visit: Visit) -> Instant | None:
    """Return the instant of the slider; None where it still is where the page put it."""
    text, begun = str(visit.query.get("at", "")), str(visit.query.get("at_first", ""))
    if not text or text == begun or not text.isascii() or not text.isdigit() or int(text) > TOO_FAR:
        return None
    return Instant(int(text))


async def _nothing() -> None:
    return None


_NEEDS = ("show_lead", "list_lead_events")

PAGES: tuple[ConsolePage, ...] = (
    ConsolePage(path=PATH, handler=show, needs=_NEEDS),
    ConsolePage(path=f"{PATH}/part", handler=show_part, needs=_NEEDS, changes=find_change_source),
    ConsolePage(path=f"{PATH}/actions", handler=act, needs=_NEEDS, method="POST"),
)
