"""How does a person change many leads at once? The leads of a view are counted, the number is typed, and a job changes them.

A job is that of `POST /api/v1/lead_bulk_jobs`: its page shows how far it is, and can stop it.
"""

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from adapters.http.console.api_calls import ApiAnswer
from adapters.http.console.lead_list_page import BULK, NO_FILTER, names_of
from adapters.http.console.lead_list_page import PATH as LEADS
from adapters.http.console.visits import ConsolePage, Visit, rows_of
from adapters.http.exchange.exchange import Reply
from adapters.http.leads.bulk_jobs import CHANGED_BY_JOB, KNOWN, SCHEDULE

LIST = "/console/bulk-jobs"
PATH = f"{LIST}/{{job:str}}"

JOBS_SHOWN = 50
PROBLEMS_SHOWN = 50
"""Rows of a page; the API lists the rest."""

LABELS: Mapping[str, str] = {
    "stop": "Stop: end their schedule",
    "restart": "Restart: begin their schedule again",
    "move": "Move to another schedule",
    "opt_out": "Opt out: never contact these people again",
}
"""Action -> what a person reads."""

REFUSED_STATUS = 422

_ANSWERS = ("action", SCHEDULE)
"""What the address of the form may answer beforehand."""

NOT_UNDONE: Mapping[str, str] = {
    "opt_out": "An opt-out is not undone here: these people are not contacted again.",
    "restart": "A restart is not undone at once: it cannot be seen which leads ran before.",
    "move": "This move is not undone at once: its filter names no schedule, so its leads may have come from several.",
}
"""Action -> why there is no undo."""

OPEN = frozenset({"pending", "running"})


async def show_list(visit: Visit) -> Reply:
    """Show the newest jobs."""
    found = await visit.fetch("list_lead_bulk_jobs", {"per_page": JOBS_SHOWN})
    return visit.page("bulk_jobs.html", title="Bulk jobs", jobs=rows_of(found), labels=LABELS)


async def show_new(visit: Visit) -> Reply:
    """Count the leads of a view, and ask what to do to them."""
    asked = {name: value for name, value in visit.query.items() if name not in NO_FILTER and value != ""}
    typed = {name: asked.pop(name) for name in _ANSWERS if name in asked}
    return await _form(visit, asked, typed=typed)


async def create(visit: Visit) -> Reply:
    """Make a job, or show the form again with what is wrong."""
    wanted = {name: value for name, value in visit.form.items() if name in KNOWN}
    given = {name: visit.form[name] for name in ("action", "leads_max", SCHEDULE, "description") if visit.form.get(name)}
    answer = await visit.call("create_lead_bulk_job", {**given, "filter": wanted})
    if answer.is_refused:
        return await _form(visit, wanted, typed=given, problem=answer.content)
    return visit.go_to(f"{LIST}/{answer.content['lead_bulk_job']['id']}")


async def show(visit: Visit) -> Reply:
    """Show one job."""
    return visit.page("bulk_job.html", **await _job(visit))


async def show_part(visit: Visit) -> Reply:
    """Show what changes on the page of a job."""
    return visit.page("bulk_job_part.html", **await _job(visit))


async def cancel(visit: Visit) -> Reply:
    """Cancel a job."""
    reference = visit.request.path_params["job"]
    await visit.fetch("cancel_lead_bulk_job", path={"id": reference})
    return visit.go_to(f"{LIST}/{reference}")


async def _form(
    visit: Visit,
    wanted: Mapping[str, Any],
    *,
    typed: Mapping[str, Any] | None = None,
    problem: Mapping[str, Any] | None = None,
) -> Reply:
    counted = await _count(visit, wanted) if wanted else None
    return visit.page(
        "bulk_new.html",
        status=200 if problem is None else REFUSED_STATUS,
        title="Change these leads",
        wanted=wanted,
        count=None if counted is None or counted.is_refused else _count_of(counted),
        awaits_import=counted is not None and not counted.is_refused and _count_of(counted) is None,
        labels=LABELS,
        schedules=await names_of(visit, "list_schedules"),
        typed={"action": "", "leads_max": "", SCHEDULE: "", "description": "", **(typed or {})},
        problem=problem or (counted.content if counted is not None and counted.is_refused else None),
        is_away=False,
        back=_view_of(wanted),
    )


async def _count(visit: Visit, wanted: Mapping[str, Any]) -> ApiAnswer:
    """Count the leads by a dry run: which action it names changes nothing of the count."""
    return await visit.call("create_lead_bulk_job", {"action": "stop", "filter": dict(wanted), "dry_run": True})


def _count_of(counted: ApiAnswer) -> int | None:
    """Return how many leads a dry run has counted; None: the import that the filter names has not ended."""
    count: int | None = counted.content["lead_bulk_job"]["leads_count"]
    return count


async def _job(visit: Visit) -> dict[str, Any]:
    reference = visit.request.path_params["job"]
    job = (await visit.fetch("show_lead_bulk_job", path={"id": reference}))["lead_bulk_job"]
    problems: list[Any] = []
    for state, count in (("refused", job["refused_count"]), ("unknown", job["unknown_count"])):
        if count:
            wanted = {"state": state, "per_page": PROBLEMS_SHOWN}
            problems += rows_of(await visit.fetch("list_lead_bulk_results", wanted, path={"id": reference}))
    return {
        "title": f"Bulk job {job['id']}",
        "job": job,
        "label": LABELS.get(job["action"], job["action"]),
        "is_open": job["state"] in OPEN,
        "problems": problems[:PROBLEMS_SHOWN],
        "view": _view_of(job["filter"]),
        **_undo(job),
    }


def _view_of(wanted: Mapping[str, Any]) -> str:
    """Return the address at which leads of a filter are listed, or the page of the job that changed them."""
    if CHANGED_BY_JOB in wanted:
        return f"{LIST}/{wanted[CHANGED_BY_JOB]}"
    return f"{LEADS}?{urlencode(wanted, doseq=True)}"


def _undo(job: Mapping[str, Any]) -> dict[str, str]:
    """Return the form that undoes a job that has ended, or why there is none; both empty where it changed nothing."""
    if job["ended_at"] is None or not job["done_count"]:
        return {"undo": "", "not_undone": ""}
    wanted: dict[str, Any] = {CHANGED_BY_JOB: job["id"]}
    origin = str(job["filter"].get("schedule_id") or "")
    if job["action"] == "stop":
        wanted |= {"status": "removed", "action": "restart"}
    elif job["action"] == "move" and origin not in {"", str(job[SCHEDULE])}:
        wanted |= {"schedule_id": job[SCHEDULE], "action": "move", SCHEDULE: origin}
    else:
        return {"undo": "", "not_undone": NOT_UNDONE[job["action"]]}
    return {"undo": f"{BULK}?{urlencode(wanted)}", "not_undone": ""}


_LISTED = ("list_lead_bulk_jobs",)
_SHOWN = ("show_lead_bulk_job", "list_lead_bulk_results")
_MADE = ("create_lead_bulk_job", *_SHOWN)

PAGES: tuple[ConsolePage, ...] = (
    ConsolePage(path=LIST, handler=show_list, label="Bulk jobs", needs=_LISTED),
    ConsolePage(path=BULK, handler=show_new, needs=_MADE),
    ConsolePage(path=LIST, handler=create, needs=_MADE, method="POST"),
    ConsolePage(path=PATH, handler=show, needs=_SHOWN),
    ConsolePage(path=f"{PATH}/part", handler=show_part, needs=_SHOWN),
    ConsolePage(path=f"{PATH}/cancel", handler=cancel, needs=("cancel_lead_bulk_job", *_SHOWN), method="POST"),
)
