"""What would other hours or limits of a schedule change for its leads that wait? A form, and the answer of the API."""

import re
from collections.abc import Mapping
from typing import Any

from adapters.http.console.schedule_form import fold, unfold
from adapters.http.console.visits import RECORDS_READ, ConsolePage, Visit, filled, rows_of
from adapters.http.exchange.exchange import Reply
from engine.views.lead import SENTENCES
from engine.views.record import record_columns
from engine.why.reason_texts import describe_wait, hours_text
from engine.why.what_if import NOT_DUE
from schemas.schedule import Window
from schemas.wire import from_builtins

PATH = "/console/forecast/what-if"

CHANNELS = {"call": "calls", "sms": "texts", "email": "e-mails"}

WINDOWS, SPACING, ATTEMPTS, SCHEDULE = "windows", "min_spacing", "max_contact_attempts", "schedule_id"
ROWS = f"{WINDOWS}.any"
WINDOW = f"{ROWS}.0"
"""Places of the hours in the form, whichever channel is chosen."""

FIRST_TRIED = {
    "channel": "call",
    **{f"{WINDOW}.days.{day}": "1" for day in ("mon", "tue", "wed", "thu", "fri", "sat", "sun")},
}
"""What the form has before somebody chooses: what is typed alone is changed."""

_CHANNEL = re.compile(rf"^{WINDOWS}\.\w+")

NEEDS = ("forecast_leads", "forecast_schedule_change", "list_schedules")


async def form_of(visit: Visit, posted: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the template of the form shows of what was chosen."""
    answer = await visit.fetch("list_schedules", {"per_page": RECORDS_READ})
    schedules = {str(row["id"]): filled(row, record_columns("schedule")) for row in rows_of(answer)}
    channel = str(posted.get("channel", ""))
    return {
        "schedules": schedules,
        "schedules_max": RECORDS_READ,
        "chosen": str(posted.get(SCHEDULE, "")).strip(),
        "channel": channel if channel in CHANNELS else "call",
        "channels": CHANNELS,
        "window": unfold(Window, fold(Window, posted, WINDOW), WINDOW),
        "spacing": str(posted.get(SPACING, "")).strip(),
        "attempts": str(posted.get(ATTEMPTS, "")).strip(),
        "faults": {},
        "edit": {"focus": ""},
    }


async def show(visit: Visit) -> Reply:
    """Show the form, and below it what the chosen change would change."""
    is_asked = SCHEDULE in visit.query
    form = await form_of(visit, visit.query if is_asked else FIRST_TRIED)
    title = "What would change?"
    if not is_asked:
        return visit.page("what_if.html", title=title, **form)
    answer = await visit.call("forecast_schedule_change", _asked(visit.query, form))
    if answer.is_refused:
        errors = answer.content.get("errors") or {}
        places = {name: _place_of(name) for name in errors}
        faults = {place: errors[name] for name, place in places.items()}
        more = {**form, "faults": faults, "places": places, "problem": answer.content, "is_away": False}
        return visit.page("what_if.html", title=title, status=answer.status, **more)
    found = answer.content["what_if"]
    return visit.page(
        "what_if.html",
        title=title,
        **form,
        found=found,
        sentence=describe_change(found),
        left_out=_describe_left_out(found),
        hours_now=_hours_now(form["schedules"].get(form["chosen"], {}), form["channel"]),
        describe=_describe_hold,
    )


def _asked(posted: Mapping[str, Any], form: Mapping[str, Any]) -> dict[str, Any]:
    """Return the request of what was chosen; what is empty stays as it is."""
    channel = form["channel"]
    window, fields = fold(Window, posted, WINDOW), {SCHEDULE: form["chosen"]}
    if "open" in window or "close" in window:
        fields["windows"] = {channel: [{"open": "", "close": "", **window}]}
    if form["spacing"]:
        known = form["schedules"].get(form["chosen"], {}).get(SPACING) or {}
        fields[SPACING] = {**known, channel: form["spacing"]}
    if form["attempts"]:
        fields[ATTEMPTS] = form["attempts"]
    return fields


def _place_of(name: str) -> str:
    """Return the place of the form where a fault of the API is shown: `windows.call[0].open` at `windows.any.0.open`."""
    place = _CHANNEL.sub(ROWS, name.replace("[", ".").replace("]", ""))
    return ROWS if place == WINDOWS else re.sub(r"(\.days)\.\d+$", r"\1", place)


def describe_change(found: Mapping[str, Any]) -> str:
    """Return in words who gains and who loses."""
    judged, earlier, later = found["judged"], found["earlier"], found["later"]
    if not judged:
        return "No lead of this schedule waits now" if found["waiting"] == 0 else "No waiting lead could be judged in time"
    said = f"{earlier['leads']:,} of {judged:,} waiting leads would be contacted earlier"
    if earlier["hours_max"] is not None:
        said += f", by {_describe_hours(earlier['hours_median'], earlier['hours_max'])}"
    parts = [said]
    if later["leads"]:
        parts.append(f"{later['leads']:,} later, or not within a week")
    if found["expiring"]["no_longer"]:
        parts.append(f"{found['expiring']['no_longer']:,} would no longer expire")
    return "; ".join(parts)


def _describe_hours(median: float, most: float) -> str:
    return f"{most:,g} hours" if median == most else f"{median:,g} hours in the median and {most:,g} at most"


def _describe_left_out(found: Mapping[str, Any]) -> str:
    """Return how many waiting leads were not judged; empty where all were."""
    parts = []
    judged, left_out = found["judged"], found["left_out"]
    if left_out != 0:
        total = "more than 10,000" if left_out is None else f"{judged + left_out:,}"
        parts.append(f"Judged: {judged:,} of {total} waiting leads, the soonest first.")
    if found["cut"]:
        parts.append(f"{found['cut']:,} could not be simulated to the end, and count nowhere.")
    return " ".join(parts)


def _hours_now(schedule: Mapping[str, Any], channel: str) -> str:
    """Return the present hours of a channel as a person reads them; empty where they are not known here."""
    windows = schedule.get("windows")
    if not isinstance(windows, Mapping):
        return ""
    rows = windows.get(channel)
    return hours_text(from_builtins(row, Window) for row in rows) if rows else "whenever the law allows it"


def _describe_hold(code: str) -> str:
    if code == NOT_DUE:
        return "no rule: the next step is not due yet"
    return SENTENCES.get(code) or describe_wait(code)


PAGES: tuple[ConsolePage, ...] = (ConsolePage(path=PATH, handler=show, needs=NEEDS),)
