"""Who must not be contacted, and what waits for a person to decide? Opt-outs, texts to review, holds by law, lists.

The queue of doubtful texts is worked by keyboard: j and k go to the next and the one before, y and n decide the one that
has the focus. Nothing is sent to the sender of a text that waits.
"""

import asyncio
from collections import Counter
from collections.abc import Mapping
from datetime import date
from typing import Any

from markupsafe import Markup

from adapters.http.console.held_leads import HELD_BY, count_held
from adapters.http.console.shown_pictures import show_picture
from adapters.http.console.visits import ApiRefusedError, ConsolePage, Visit, count_of, filled, rows_of
from adapters.http.contacts.calling_hours import CHANNELS
from adapters.http.contacts.suppressions import ENTRIES_MAX
from adapters.http.exchange.exchange import Reply
from adapters.http.exchange.problems import ProblemError
from adapters.pictures.state_map import draw_state_map, read_state_map
from engine.calendar import local_datetime
from engine.identity import contact_uuid
from engine.law.pack import YEARS
from engine.views.contact import REVIEW_COLUMNS, SUPPRESSION_COLUMNS
from engine.views.record import record_columns
from schemas.instant import DAY, MINUTE, Instant, to_rfc3339
from schemas.law import PURPOSES

PATH = "/console/compliance"
REVIEWS = f"{PATH}/reviews"
LIST = f"{PATH}/lists/{{record:str}}"

NEWEST_READ = 100
"""Contacts whose opt-outs are counted by source: the API counts them all, but not by source."""

REVIEWS_SHOWN = 50
"""Texts of one page: as many as somebody decides before looking again."""

ENTRIES_SHOWN = 50
LISTS_READ = 100
LISTS_COUNTED = 20
"""Lists whose entries are counted: a question for each."""

GROUPS_SHOWN = 12
REPORTED = 30 * DAY
"""Opt-outs are reported for the leads of this span."""

NOT_FOUND = 404

DECIDED = {
    "yes": "Decided: it is an opt-out. The person is not contacted any more.",
    "no": "Decided: it is no opt-out. Contact goes on.",
    "gone": "Somebody else has decided that text, or its time has passed.",
}
CHANGED = {"add": "The entries are on the list.", "remove": "The entry is off the list."}

SOURCES = {"traffic_source_id": "Traffic source", "schedule_id": "Schedule"}
"""What opt-outs are reported by, as the leads came."""


async def show(visit: Visit) -> Reply:
    """Show the page."""
    day = Instant(visit.now // DAY * DAY)  # by the day, so that visitors ask the same
    since = to_rfc3339(day - REPORTED)
    one = {"page": 1, "per_page": 1}
    questions: dict[str, tuple[str, dict[str, Any]]] = {
        "opted_out": ("list_contacts", {"opted_out": "true", "page": 1, "per_page": NEWEST_READ}),
        "blocked": ("list_contacts", {"blocked": "true", **one}),
        "suppressed": ("list_contacts", {"suppressed": "true", **one}),
        "reviews": ("list_opt_out_reviews", one),
        "lists": ("list_suppression_lists", {"per_page": LISTS_READ}),
        "own_company": ("show_company", {}),
        "hours": ("show_calling_hours", _hours_asked(visit)),
        **{name: ("report_leads", {"category": name, "created_at_from": since}) for name in SOURCES},
    }
    answers, held = await asyncio.gather(
        asyncio.gather(*(visit.look(*question) for question in questions.values())), count_held(visit, HELD_BY["law"])
    )
    found: dict[str, Mapping[str, Any] | None] = dict(zip(questions, answers, strict=True))
    lists = (
        None
        if found["lists"] is None
        else [filled(row, record_columns("suppression_list")) for row in rows_of(found["lists"])]
    )
    return visit.page(
        "compliance.html",
        title="Compliance",
        counts={name: count_of(found[name]) for name in ("opted_out", "blocked", "suppressed", "reviews")},
        shown={name for name, answer in found.items() if answer is not None},
        by_source=_by_source(found["opted_out"]),
        reported={label: rows for name, label in SOURCES.items() if (rows := _opt_outs(found[name]))},
        reported_days=REPORTED // DAY,
        held=[one for one in held.values() if one.count != 0],
        lists=lists,
        sizes=await _sizes(visit, lists or []),
        hours_map=_hours_map(found["hours"]),
        hours_asked=_hours_asked(visit),
        day=_day(visit),
        channels=CHANNELS,
        purposes=PURPOSES,
        own_company=None if found["own_company"] is None else found["own_company"]["company"],
    )


def _hours_asked(visit: Visit) -> dict[str, str]:
    """Return which hours are shown: of calls today, or of what the visitor has chosen; at this time of the day."""
    channel, purpose = str(visit.query.get("channel", "")), str(visit.query.get("purpose", ""))
    now = local_datetime(Instant(visit.now // MINUTE * MINUTE), visit.zone)  # by the minute, so that visitors ask the same
    return {
        "channel": channel if channel in CHANNELS else CHANNELS[0],
        "purpose": purpose if purpose in PURPOSES else PURPOSES[0],
        "at": f"{_day(visit)} {now:%H:%M}:00",
        "time_zone": visit.zone,
    }


def _day(visit: Visit) -> str:
    """Return the day whose hours are shown; today where none is chosen, or what was typed is none."""
    try:
        day = date.fromisoformat(str(visit.query.get("day", "")))
    except ValueError:
        day = local_datetime(visit.now, visit.zone).date()
    return day.isoformat() if day.year in YEARS else local_datetime(visit.now, visit.zone).date().isoformat()


def _hours_map(found: Mapping[str, Any] | None) -> Markup | None:
    if found is None:
        return None
    hours = found["calling_hours"]
    what = {"call": "Calls", "sms": "Texts"}[hours["channel"]]
    data = read_state_map(hours, title=f"{what} allowed by law")
    return show_picture(lambda width, name: draw_state_map(data, width=width, name=name), "hours")


async def show_reviews(visit: Visit) -> Reply:
    """Show the texts that wait, the one that waits longest first."""
    answer = await visit.fetch("list_opt_out_reviews", {"page": 1, "per_page": REVIEWS_SHOWN})
    rows = [filled(row, [column.name for column in REVIEW_COLUMNS]) for row in rows_of(answer)]
    return visit.page(
        "reviews.html",
        title="Texts to review",
        reviews=[
            {**row, "uuid": contact_uuid(row["id"])}  # an id could be read as a telephone number
            for row in sorted(rows, key=lambda row: (row["review_until"] or "", row["id"]))
        ],
        total=answer["metadata"].get("total_count"),
        done=DECIDED.get(str(visit.query.get("done", ""))),
        can_decide=visit.may("decide_opt_out_review"),
    )


async def decide(visit: Visit) -> Reply:
    """Say whether a text is an opt-out, and go to the next one."""
    decision = str(visit.form.get("opt_out", ""))
    if decision not in {"yes", "no"}:
        raise ProblemError("validation_failed", "Say whether it is an opt-out.", {"opt_out": ["must be yes or no"]})
    contact = visit.request.path_params["contact"]
    try:
        numbers = str(visit.form.get("numbers", "")).strip()
        named = {"numbers": numbers} if numbers and decision == "yes" else {}
        await visit.fetch("decide_opt_out_review", {"opt_out": decision == "yes", **named}, path={"id": contact})
    except ApiRefusedError as error:
        if error.reply.status != NOT_FOUND:
            raise
        return visit.go_to(f"{REVIEWS}?done=gone")
    return visit.go_to(f"{REVIEWS}?done={decision}")


async def show_list(visit: Visit) -> Reply:
    """Show a suppression list and who is on it."""
    return await _show_list(visit, {})


async def change_list(visit: Visit) -> Reply:
    """Put people on a list, or take one off it."""
    reference, action = visit.request.path_params["record"], str(visit.form.get("action", ""))
    if action not in CHANGED or not visit.may(f"{action}_suppression_entries"):
        raise ProblemError("not_found", "There is no such button, or no team of yours grants it.")
    typed, source = str(visit.form.get("people", "")), str(visit.form.get("source", "")).strip()
    terms = {"source": source} if source and action == "add" else {}
    people = [line.strip() for line in typed.splitlines() if line.strip()]
    entries = [{"email" if "@" in one else "caller_id": one, **terms} for one in people]
    answer = await visit.call(f"{action}_suppression_entries", {"entries": entries}, path={"id": reference})
    if answer.is_refused:
        places = {name: "source" if name.endswith(".source") else "people" for name in answer.content.get("errors") or {}}
        shown = {"problem": answer.content, "places": places, "typed": typed, "source": source}
        return await _show_list(visit, shown, status=answer.status)
    return visit.go_to(f"{PATH}/lists/{reference}?done={action}")


async def _show_list(visit: Visit, more: Mapping[str, Any], *, status: int = 200) -> Reply:
    reference = visit.request.path_params["record"]
    shown = (await visit.fetch("show_suppression_list", path={"id": reference}))["suppression_list"]
    filters = {name: str(visit.query.get(name, "")).strip() for name in ("number", "source")}
    page = str(visit.query.get("page", "")) or "1"
    asked = {"per_page": ENTRIES_SHOWN, "page": page, **{name: text for name, text in filters.items() if text}}
    answer = await visit.fetch("list_suppression_entries", asked, path={"id": reference})
    metadata = answer["metadata"]
    return visit.page(
        "suppression_list.html",
        status=status,
        **{
            "title": str(shown.get("name") or shown["id"]),
            "shown": filled(shown, record_columns("suppression_list")),
            "entries": [filled(row, [column.name for column in SUPPRESSION_COLUMNS]) for row in rows_of(answer)],
            "total": metadata.get("total_count"),
            "page_number": metadata.get("page") or 1,
            "pages": metadata.get("total_pages"),
            "filters": filters,
            "most": ENTRIES_MAX,
            "done": CHANGED.get(str(visit.query.get("done", ""))),
            "problem": None,
            "is_away": False,
            "typed": "",
            "source": "",
            **more,
        },
    )


def _by_source(answer: Mapping[str, Any] | None) -> list[tuple[str, int]]:
    """Return how the newest contacts opted out, the commonest way first; none where a team hides it."""
    rows = [] if answer is None else rows_of(answer)
    known = [row["opted_out_source"] or "not said" for row in rows if "opted_out_source" in row]
    return Counter(known).most_common()


def _opt_outs(answer: Mapping[str, Any] | None) -> list[dict[str, Any]]:
    """Return the rows of a report with opt-outs, most first; none where a team hides them."""
    rows = [] if answer is None else [row for row in answer["reports"] if row.get("opt_out_count")]
    return sorted(rows, key=lambda row: -row["opt_out_count"])[:GROUPS_SHOWN]


async def _sizes(visit: Visit, lists: list[dict[str, Any]]) -> dict[int, int | None]:
    """Return how many are on each of the first lists; None: more than 10,000, or not known."""
    ids = [row["id"] for row in lists[:LISTS_COUNTED]]
    answers = await asyncio.gather(
        *(visit.look("list_suppression_entries", {"page": 1, "per_page": 1}, path={"id": number}) for number in ids)
    )
    return {number: count_of(answer) for number, answer in zip(ids, answers, strict=True) if answer is not None}


_NEEDS = ("list_contacts", "list_opt_out_reviews")
_LIST_NEEDS = ("show_suppression_list", "list_suppression_entries")

PAGES: tuple[ConsolePage, ...] = (
    ConsolePage(path=PATH, handler=show, label="Compliance", needs=_NEEDS),
    ConsolePage(path=REVIEWS, handler=show_reviews, needs=_NEEDS),
    ConsolePage(path=f"{REVIEWS}/{{contact:str}}", handler=decide, needs=(*_NEEDS, "decide_opt_out_review"), method="POST"),
    ConsolePage(path=LIST, handler=show_list, needs=_LIST_NEEDS),
    ConsolePage(path=f"{LIST}/entries", handler=change_list, needs=_LIST_NEEDS, method="POST"),
)
