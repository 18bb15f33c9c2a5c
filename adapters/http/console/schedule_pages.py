"""What does a schedule do, how many leads are at each step, and what would it do to a lead? A diagram, and a plan."""

import asyncio
from collections.abc import Mapping
from functools import partial
from typing import Any

from msgspec import Struct, ValidationError, convert

from adapters.http.console.rendering import instant_of
from adapters.http.console.shown_pictures import show_picture
from adapters.http.console.shown_preview import FIRST_TRIED, OUTCOMES, show_preview_picture, trial_request, typed_trial
from adapters.http.console.step_table import StepTable, make_step_table, shares_of
from adapters.http.console.visits import ConsolePage, Visit, filled, rows_of
from adapters.http.exchange.exchange import Reply
from adapters.http.exchange.problems import ProblemError
from adapters.pictures.flow import draw_flow
from adapters.pictures.picture import Picture
from engine.views.record import record_columns
from engine.why.reason_texts import hours_text
from schemas.contact import LIVE_STATUSES
from schemas.records import Schedule

LIST = "/console/schedules"
PATH = f"{LIST}/{{schedule:str}}"

LISTED_MAX = 100

GROUPS_MAX = 100
"""Steps or schedules that are counted: as many as the API answers at once."""

CHANNELS = {"call": "Calls", "sms": "Texts", "email": "E-mails"}

CHANGES: dict[str, tuple[str, str, dict[str, Any]]] = {
    "pause": ("Pause", "update_schedule", {"paused": True}),
    "resume": ("Resume", "update_schedule", {"paused": False}),
    "publish": ("Publish the draft", "publish_schedule", {}),
    "migrate": ("Publish, and take its leads along", "publish_schedule", {"migrate": "by_step_id"}),
}
"""Button -> its label, its operation, and what it sends."""


EDITED = {
    "edit-publish": "Published. Leads that enter from now on are on this version.",
    "edit-draft": "The draft is saved. Leads do not see it before it is published.",
    "accepted": "Accepted, and not decided yet: load this page again in a moment.",
}
"""What the editor did before it led here."""


async def show_list(visit: Visit) -> Reply:
    """Show the schedules of the company."""
    answer = await visit.fetch("list_schedules", {"per_page": LISTED_MAX})
    counts = await _live_counts(visit, "schedule_id", {})
    schedules = [filled(row, record_columns("schedule")) for row in rows_of(answer)]
    return visit.page("schedules.html", title="Schedules", schedules=schedules, counts=counts, most=LISTED_MAX)


async def show(visit: Visit) -> Reply:
    """Show a schedule."""
    reference = visit.request.path_params["schedule"]
    answer = await visit.fetch("show_schedule", path={"id": reference})
    shown = answer["schedule"]
    schedule = filled(shown, record_columns("schedule"))
    of_schedule = {"schedule_id": schedule["id"]}
    counts, conversions, endings, report = await asyncio.gather(
        _live_counts(visit, "schedule_action_id", of_schedule),
        _conversions(visit, of_schedule),
        _endings(visit, of_schedule),
        visit.look("report_steps", of_schedule),
    )
    body = read_schedule(schedule)
    steps = None if report is None else make_step_table(report["step_report"], body)
    picture = None if body is None else show_picture(partial(_flow, body, counts, steps), "flow")
    changes = {
        key: label for key, (label, operation, _) in CHANGES.items() if visit.may(operation) and _applies(key, schedule)
    }
    hours = {CHANNELS.get(channel, channel): hours_text(rows) for channel, rows in (body.windows if body else {}).items()}
    return visit.page(
        "schedule.html",
        title=str(schedule["name"] or schedule["id"]),
        schedule=schedule,
        shown=shown,
        picture=picture,
        counts=counts,
        step_outcomes=_step_outcomes(counts, conversions, body),
        steps=steps,
        endings=endings,
        changes=changes,
        hours=hours,
        outcomes=OUTCOMES,
        trial=FIRST_TRIED,
        editor=f"{LIST}/{schedule['id']}/edit" if visit.has_page(f"{PATH}/edit") else "",
        versions=f"{LIST}/{schedule['id']}/versions" if visit.has_page(f"{PATH}/versions") else "",
        done=_done(str(visit.query.get("done", "")), str(visit.query.get("staying", ""))),
        warnings=answer.get("warnings", ()),
    )


async def show_preview(visit: Visit) -> Reply:
    """Show what the published schedule does to a lead, as a picture of its days."""
    typed = typed_trial(visit.query)
    fields = {**trial_request(typed), "schedule_id": visit.request.path_params["schedule"]}
    found = (await visit.fetch("preview_schedule", fields))["preview"]
    return visit.page("preview_part.html", picture=show_preview_picture(visit, found, typed["at"]))


async def change(visit: Visit) -> Reply:
    """Do what a button says."""
    reference = visit.request.path_params["schedule"]
    key = str(visit.form.get("action", ""))
    if key not in CHANGES or not visit.may(CHANGES[key][1]):
        raise ProblemError("not_found", "There is no such button, or no team of yours grants it.")
    _, operation, fields = CHANGES[key]
    answer = await visit.fetch(operation, fields, path={"id": reference})
    return visit.go_to(f"{LIST}/{reference}?done={key}{staying_query(answer)}")


def staying_query(answer: Mapping[str, Any]) -> str:
    """Return the rest of a query that says how many leads stay behind as a schedule is published."""
    staying = (answer.get("migration") or {}).get("staying_count")
    return f"&staying={staying}" if staying else ""


def _done(key: str, staying: str) -> str:
    """Return what was done before the page was opened."""
    said = f"Done: {CHANGES[key][0]}." if key in CHANGES else EDITED.get(key, "")
    if not (said and staying.isascii() and staying.isdigit()):
        return said
    return (
        f"{said} Live leads that stay on an earlier version, because this one has no step of their id: {int(staying[:9]):,}."
    )


def _applies(key: str, schedule: Mapping[str, Any]) -> bool:
    """Return whether a button does anything to a schedule as it is."""
    if key in {"pause", "resume"}:
        return bool(schedule["paused"]) is (key == "resume")
    return bool(schedule["draft_fields"] or schedule["unpublished"])


async def _live_counts(visit: Visit, category: str, filters: Mapping[str, Any]) -> dict[str, int] | None:
    """Return the live leads of each group, by its name, which is empty for those in none.

    None where no team of the visitor counts those.
    """
    answer = await visit.look("report_leads", {"category": category, "per_page": GROUPS_MAX, **filters})
    if answer is None or "live_count" not in answer["totals"]:
        return None
    return {str(row["category"] or ""): int(row["live_count"]) for row in answer["reports"]}


class StepOutcomes(Struct):
    """What became of the leads of a schedule at one step; `step` is empty for live leads at none.

    - `live`: leads that are at the step now.
    - `converted`: leads whose buyer converted a call of the step.

    Where a lead was when it ended is not in its row: `adapters.http.console.step_table` says it of the newest leads.
    """

    step: str
    live: int = 0
    converted: int = 0


async def _conversions(visit: Visit, of_schedule: Mapping[str, Any]) -> dict[str, int] | None:
    """Return how many leads converted by a call of each step, by its id; None where no team of the visitor counts that."""
    category = "buyer_converted_schedule_action_id"
    answer = await visit.look("report_leads", {"category": category, "per_page": GROUPS_MAX, **of_schedule})
    if answer is None:
        return None
    # Those without a step have not converted.
    return {str(row["category"]): int(row.get("leads_count") or 0) for row in answer["reports"] if row["category"]}


async def _endings(visit: Visit, of_schedule: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the statuses with which leads of the schedule ended, the most frequent first, as rows of a report."""
    answer = await visit.look("report_leads", {"category": "status", **of_schedule})
    rows = [] if answer is None else answer["reports"]
    return [row for row in rows if row["category"] not in LIVE_STATUSES and row.get("leads_count")]


def _step_outcomes(
    counts: Mapping[str, int] | None, conversions: Mapping[str, int] | None, body: Schedule | None
) -> list[StepOutcomes]:
    """Return what became of the leads at each step, in the order of the schedule, then those of earlier versions.

    The live leads at no step come last. Empty where no team of the visitor counts both, and where there is nothing to count.
    """
    if counts is None or conversions is None:
        return []
    found = {step for step, live in counts.items() if step or live} | conversions.keys()
    if not found:
        return []
    known = [] if body is None else [step.id for step in (*body.steps, *body.end_steps)]
    steps = [*known, *sorted(found - {*known, ""}), *found.intersection({""})]
    return [StepOutcomes(step, counts.get(step, 0), conversions.get(step, 0)) for step in steps]


def read_schedule(schedule: Mapping[str, Any]) -> Schedule | None:
    """Return the schedule as the engine knows it, or None where this version cannot read it."""
    given = {name: schedule[name] for name in Schedule.__struct_fields__ if schedule.get(name) is not None}
    given["published_at"] = instant_of(schedule.get("published_at"))
    try:
        return convert(given, Schedule)
    except ValidationError:
        return None


def _flow(body: Schedule, counts: Mapping[str, int] | None, steps: StepTable | None, width: float, name: str) -> Picture:
    shares = None if steps is None else shares_of(steps)
    return draw_flow(body, counts=counts, shares=shares, width=width, name=name)


_NEEDS = ("show_schedule",)

PAGES: tuple[ConsolePage, ...] = (
    ConsolePage(path=LIST, handler=show_list, label="Schedules", needs=("list_schedules",)),
    ConsolePage(path=PATH, handler=show, needs=_NEEDS),
    ConsolePage(path=f"{PATH}/preview", handler=show_preview, needs=("show_schedule", "preview_schedule")),
    ConsolePage(path=f"{PATH}/actions", handler=change, needs=_NEEDS, method="POST"),
)
