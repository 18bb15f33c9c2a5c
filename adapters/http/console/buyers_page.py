"""Which buyers can take a call now, why not the others, and how much of their caps is used? With buttons to pause them.

A buyer or group has a page of its own. The part of each page that changes renews itself; what one chooses stays.
"""

import asyncio
from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import Any, Literal

from adapters.http.console.buyer_reasons import OBSTACLES, Standing, find_named_by, hours_of, standing_of
from adapters.http.console.cap_bars import name_of
from adapters.http.console.held_leads import HELD_BY, count_held
from adapters.http.console.visits import ConsolePage, Visit, company_changes, filled, rows_of
from adapters.http.exchange.exchange import Reply
from adapters.http.exchange.problems import ProblemError
from engine.calendar.zones import day_start, local_datetime
from engine.views.record import record_columns
from engine.why.answer_builder import duration_text
from engine.why.reason_texts import describe_wait, hours_text
from schemas.instant import DAY, HOUR, MINUTE, Instant, to_rfc3339

PATH = "/console/buyers"
GROUPS = "/console/buyer_groups"

PER_PAGE = 100

MEMBERS_READ = 500
"""Buyers of the groups of one page that are read; of a group with others it is not said that none takes calls."""
"""Buyers of one page; groups, offers and schedules that are read for names. The API lists the others."""

RecordType = Literal["buyer", "buyer_group"]

PLACES: Mapping[RecordType, str] = {"buyer": PATH, "buyer_group": GROUPS}

PAUSES: Mapping[str, tuple[str, int | None]] = {
    "resumed": ("until somebody resumes it", None),
    "30": ("for 30 minutes", 30 * MINUTE),
    "60": ("for an hour", HOUR),
    "240": ("for 4 hours", 4 * HOUR),
    "day": ("until its next day begins", None),
    "1440": ("for 24 hours", DAY),
}
"""Choice of a pause -> how it reads, and how long it lasts."""

NOBODY_FREE = "no_buyer_available"
"""The code of leads that wait because no buyer of theirs can take a call."""


async def show(visit: Visit) -> Reply:
    """Show the buyers and groups."""
    found = await _list(visit)
    lead = None if found["oldest"] is None else found["oldest"]["id"]
    return visit.page("buyers.html", title="Buyers and caps", asked_lead=lead, **found)


async def show_part(visit: Visit) -> Reply:
    """Show the part of the list that changes."""
    visit.renew(visit.company_source)
    return visit.page("buyers_part.html", **await _list(visit))


async def show_for_lead(visit: Visit) -> Reply:
    """Show which buyers could take a call of a lead now."""
    lead = str(visit.query.get("lead", "")).strip()
    if not lead:
        return visit.page("buyers_for_lead.html", answer=None)
    answer = await visit.fetch("buyer_is_available", path={"id": lead})
    buyers = await visit.look("list_buyers", {"ids": ",".join(map(str, _buyer_ids(answer)))}) if _buyer_ids(answer) else None
    names = {row["id"]: name_of(row) for row in ([] if buyers is None else rows_of(buyers))}
    return visit.page("buyers_for_lead.html", answer=answer, lead=lead, names=names, obstacles=OBSTACLES)


async def show_buyer(visit: Visit) -> Reply:
    """Show one buyer."""
    return await _show(visit, "buyer")


async def show_group(visit: Visit) -> Reply:
    """Show one group."""
    return await _show(visit, "buyer_group")


async def show_buyer_part(visit: Visit) -> Reply:
    """Show the part of a buyer that changes."""
    visit.renew(visit.company_source)
    return visit.page("buyer_part.html", **await _found(visit, "buyer"))


async def show_group_part(visit: Visit) -> Reply:
    """Show the part of a group that changes."""
    visit.renew(visit.company_source)
    return visit.page("buyer_part.html", **await _found(visit, "buyer_group"))


async def change_buyer(visit: Visit) -> Reply:
    """Pause or resume a buyer."""
    return await _change(visit, "buyer")


async def change_group(visit: Visit) -> Reply:
    """Pause or resume a group."""
    return await _change(visit, "buyer_group")


async def _list(visit: Visit) -> dict[str, Any]:
    page = str(visit.query.get("page", "")) or "1"
    lists, held, queues, oldest = await asyncio.gather(
        asyncio.gather(
            visit.look("list_buyers", {"per_page": PER_PAGE, "page": page}),
            visit.look("list_buyer_groups", {"per_page": PER_PAGE, "page": page}),
        ),
        count_held(visit, HELD_BY["buyers"]),
        _queues(visit),
        visit.look(
            "list_leads", {"status_wait": NOBODY_FREE, "order": "created_at", "order_dir": "asc", "page": 1, "per_page": 1}
        ),
    )
    members = None if lists[1] is None else await _members_of(visit, rows_of(lists[1]))
    buyers, groups = (None if one is None else _standings(rows_of(one), visit.now, members) for one in lists)
    numbers = [one["metadata"]["page"] or 1 for one in lists if one is not None]
    return {
        "buyers": buyers,
        "groups": groups,
        "free": sum(not one.holdings for one in buyers or ()),
        "waiting": [one for one in held.values() if one.count != 0],
        "queues": queues,
        "oldest": next(iter(rows_of(oldest)), None) if oldest is not None else None,
        "page_number": max(numbers, default=1),
        "has_more": any(len(rows or ()) == PER_PAGE for rows in (buyers, groups)),
    }


async def _queues(visit: Visit) -> list[Mapping[str, Any]]:
    """Return the steps whose leads wait for a line, with the names of their schedules."""
    answer = await visit.look("report_queues")
    found: list[Mapping[str, Any]] = [] if answer is None else answer["queue_report"]["queues"]
    ids = sorted({one["schedule_id"] for one in found})
    schedules = await visit.look("list_schedules", {"ids": ",".join(map(str, ids)), "per_page": PER_PAGE}) if ids else None
    names = {row["id"]: name_of(row) for row in ([] if schedules is None else rows_of(schedules))}
    return [
        {
            **one,
            "name": names.get(one["schedule_id"], f"Schedule {one['schedule_id']}"),
            "sentence": describe_wait(one["status_wait"]),
            "left": None if one["minutes_left"] is None else duration_text(one["minutes_left"]),
        }
        for one in found
    ]


async def _members_of(visit: Visit, groups: Iterable[Mapping[str, Any]]) -> dict[int, Standing] | None:
    """Return the buyers of groups, the first ones of very many; None where no team of the visitor shows buyers."""
    ids = sorted({buyer_id for row in groups for buyer_id in row.get("buyer_ids") or ()})[:MEMBERS_READ]
    found: dict[int, Standing] = {}
    for first in range(0, len(ids), PER_PAGE):
        part = ",".join(map(str, ids[first : first + PER_PAGE]))
        answer = await visit.look("list_buyers", {"ids": part, "per_page": PER_PAGE})
        if answer is None:
            return None
        found |= {row["id"]: standing_of(row, visit.now) for row in rows_of(answer)}
    return found


def _standings(
    rows: Iterable[Mapping[str, Any]], now: Instant, members: Mapping[int, Standing] | None = None
) -> list[Standing]:
    """Return the worst first, and within that the fullest."""
    order = {"bad": 0, "warn": 1, "good": 2, "": 3}
    found = [standing_of(row, now, members) for row in rows]
    return sorted(found, key=lambda one: (order[one.level], -(one.fullest.share if one.fullest else 0.0)))


async def _show(visit: Visit, kind: RecordType) -> Reply:
    found = await _found(visit, kind)
    one: Standing = found["one"]
    can_change = visit.may(f"update_{kind}") and "paused" in one.row
    done = {"pause": "It is paused.", "resume": "It takes calls again."}.get(str(visit.query.get("done", "")))
    pauses = {key: label for key, (label, _) in PAUSES.items() if key != "day" or one.row.get("time_zone")}
    more: dict[str, Any] = {
        "title": one.name,
        "can_change": can_change,
        "done": done,
        "pauses": pauses,
        "place": PLACES[kind],
    }
    return visit.page("buyer.html", **found, **more)


async def _found(visit: Visit, kind: RecordType) -> dict[str, Any]:
    """Return what the page of a buyer or group shows. Raises `ApiRefusedError` where there is none."""
    reference = visit.request.path_params["record"]
    row = (await visit.fetch_shown(f"show_{kind}", path={"id": reference}))[kind]
    members = await _members_of(visit, [row]) if kind == "buyer_group" else None
    one = standing_of(row, visit.now, members)
    return {
        "kind": kind,
        "one": one,
        "shown": filled(row, record_columns(kind)),
        "hours": hours_text(hours_of(row)),
        "named_by": await _named_by(visit, row["id"]) if kind == "buyer" else None,
        "members": await _members(visit, row) if kind == "buyer_group" else None,
    }


async def _named_by(visit: Visit, buyer_id: int) -> Any:
    names = ("groups", "offers", "schedules")
    operations = ("list_buyer_groups", "list_offers", "list_schedules")
    answers = await asyncio.gather(*(visit.look(name, {"per_page": PER_PAGE}) for name in operations))
    lists = {name: None if one is None else rows_of(one) for name, one in zip(names, answers, strict=True)}
    return find_named_by(buyer_id, lists, visit.now, most=PER_PAGE)


async def _members(visit: Visit, row: Mapping[str, Any]) -> list[Standing] | None:
    """Return the buyers of a group, None where no team of the visitor shows them."""
    ids = (row.get("buyer_ids") or ())[:PER_PAGE]
    if not ids:
        return [] if "buyer_ids" in row else None
    found = await visit.look("list_buyers", {"ids": ",".join(map(str, ids)), "per_page": PER_PAGE})
    return None if found is None else _standings(rows_of(found), visit.now)


async def _change(visit: Visit, kind: RecordType) -> Reply:
    reference, action = visit.request.path_params["record"], str(visit.form.get("action", ""))
    if action not in {"pause", "resume"} or not visit.may(f"update_{kind}"):
        raise ProblemError("not_found", "There is no such button, or no team of yours grants it.")
    fields: dict[str, Any] = {"paused": action == "pause"}
    if action == "pause":
        row = (await visit.fetch(f"show_{kind}", path={"id": reference}))[kind]
        until = _until(str(visit.form.get("until", "")), row, visit.now)
        fields["unpause_at"] = None if until is None else to_rfc3339(until)
    await visit.fetch(f"update_{kind}", fields, path={"id": reference}, method="PATCH")
    return visit.go_to(f"{PLACES[kind]}/{reference}?done={action}")


def _until(choice: str, row: Mapping[str, Any], now: Instant) -> Instant | None:
    """Return when a pause ends by itself, None where it does not. Raises `ProblemError` for a choice that is not offered."""
    if choice not in PAUSES:
        raise ProblemError(
            "validation_failed", "Choose how long the pause lasts.", {"until": ["must be one of the choices"]}
        )
    if choice == "day" and row.get("time_zone"):
        zone = row["time_zone"]
        return day_start(local_datetime(now, zone).date() + timedelta(days=1), zone)
    span = PAUSES[choice][1]
    return None if span is None else now + span


def _buyer_ids(answer: Mapping[str, Any]) -> list[int]:
    """Return every buyer that an answer about a lead names."""
    return [*answer["buyer_ids"], *map(int, answer["reasons"])][:PER_PAGE]


_NEEDS, _GROUP_NEEDS = ("list_buyers", "show_buyer"), ("show_buyer_group",)

PAGES: tuple[ConsolePage, ...] = (
    ConsolePage(path=PATH, handler=show, label="Buyers and caps", needs=_NEEDS),
    ConsolePage(path=f"{PATH}/part", handler=show_part, needs=_NEEDS, changes=company_changes),
    ConsolePage(path=f"{PATH}/for_lead", handler=show_for_lead, needs=(*_NEEDS, "buyer_is_available")),
    ConsolePage(path=f"{PATH}/{{record:str}}", handler=show_buyer, needs=_NEEDS),
    ConsolePage(path=f"{PATH}/{{record:str}}/part", handler=show_buyer_part, needs=_NEEDS, changes=company_changes),
    ConsolePage(path=f"{PATH}/{{record:str}}/actions", handler=change_buyer, needs=(*_NEEDS, "update_buyer"), method="POST"),
    ConsolePage(path=f"{GROUPS}/{{record:str}}", handler=show_group, needs=_GROUP_NEEDS),
    ConsolePage(path=f"{GROUPS}/{{record:str}}/part", handler=show_group_part, needs=_GROUP_NEEDS, changes=company_changes),
    ConsolePage(
        path=f"{GROUPS}/{{record:str}}/actions",
        handler=change_group,
        needs=(*_GROUP_NEEDS, "update_buyer_group"),
        method="POST",
    ),
)
