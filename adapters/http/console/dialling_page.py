"""Is nothing being dialled, and which link holds? The page walks from processes to law, and names the first that holds.

Each link is shown with the leads that wait for it, by the code that the leads themselves carry (`status_wait`).
"""

import asyncio
from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct

from adapters.http.console.held_leads import HELD_BY, HeldLeads, count_held
from adapters.http.console.late_leads import LATE_LEADS, NEWEST_ACTION, PROJECTOR, explain_late, find_faults
from adapters.http.console.today_page import calls_of_last_hour, find_not_carried
from adapters.http.console.visits import RECORDS_READ, ConsolePage, Visit, rows_of
from adapters.http.exchange.exchange import Reply
from engine.views.channels import LATE
from schemas.instant import MINUTE, Instant, to_rfc3339

PATH = "/console/dialling"

RECENT = 10 * MINUTE
"""If a call began within this, dialling goes on."""


class Link(Struct, frozen=True, kw_only=True):
    """One link of the way from the processes to a call."""

    name: str
    level: str
    sentence: str
    held: tuple[HeldLeads, ...] = ()
    next_at: str | None = None

    @property
    def word(self) -> str:
        """Return the state in a word."""
        if self.next_at is not None:
            return "none is due"
        return {"good": "fine", "warn": "holds some", "bad": "holds", "unknown": "not shown"}[self.level]


async def show(visit: Visit) -> Reply:
    """Show the page."""
    held = await count_held(visit, [code for some in HELD_BY.values() for code in some])
    due = {"order": "next_action_at", "order_dir": "asc", "page": 1, "per_page": 1, "serializer": "lead_grid"}
    now = Instant(visit.now // MINUTE * MINUTE)
    asked: dict[str, tuple[str, dict[str, Any]]] = {
        "ready": ("readyz", {}),
        "calls": ("list_calls", {"created_at_from": to_rfc3339(visit.now - RECENT), "page": 1, "per_page": 1}),
        "recent": ("report_calls", calls_of_last_hour(now)),
        "waiting": ("list_leads", {**due, "has_next_action": "true"}),
        "due": ("list_leads", {**due, "has_next_action": "true", "next_action_at_to": to_rfc3339(now)}),
        "late": ("list_leads", {**LATE_LEADS, "next_action_at_to": to_rfc3339(now - LATE)}),
        "acted": ("list_leads", {**NEWEST_ACTION}),
        "company": ("show_company", {}),
        "schedules": ("list_schedules", {"per_page": RECORDS_READ, "columns": "id,name,paused"}),
        "buyers": ("list_buyers", {"per_page": RECORDS_READ}),
        "numbers": ("list_numbers", {"per_page": RECORDS_READ}),
        "lags": ("operator_lags", {}),
        "gateways": ("operator_gateways", {}),
    }
    answers = await asyncio.gather(*(visit.look(*question) for question in asked.values()))
    found = dict(zip(asked, answers, strict=True))
    links = list(find_links(found, held, visit.now, is_old=bool(visit.unshown)))
    return visit.page(
        "dialling.html",
        title="Nothing is dialling",
        links=links,
        verdict=find_verdict(found, links, is_old=bool(visit.unshown)),
        asked_at=now,
        recent_minutes=RECENT // MINUTE,
    )


def find_links(
    found: Mapping[str, Any], held: Mapping[str, HeldLeads], now: Instant, *, is_old: bool = False
) -> Iterator[Link]:
    """Yield the links from the processes to a call, in their order. `is_old`: the page has said of when it is."""
    idle = "" if is_old else explain_late(found["late"], found["acted"], found["lags"], now)
    yield _processes(found["ready"])
    yield _roles(found["lags"], is_old=is_old)
    yield _gateways(found["gateways"], find_not_carried(found["recent"]), _of("provider", held))
    yield _leads(found["waiting"], found["due"], idle)
    yield _pauses(found, _of("pauses", held))
    yield _buyers(found["buyers"], _of("buyers", held))
    yield _numbers(found["numbers"], _of("numbers", held))
    yield _codes("Checks before a call", "No lead waits for a check of another system.", _of("checks", held))
    yield _codes("Hours of the schedules", "No lead waits for the hours of its schedule.", _of("hours", held))
    yield _codes("Law", "No lead waits because of the law.", _of("law", held))
    yield _codes("Single leads", "No lead is held by itself.", _of("leads", held))


def _of(link: str, held: Mapping[str, HeldLeads]) -> tuple[HeldLeads, ...]:
    """Return the reasons of a link that some lead waits for."""
    return tuple(held[code] for code in HELD_BY[link] if held[code].count != 0)


def _processes(ready: Mapping[str, Any] | None) -> Link:
    if ready is None:
        sentence = "This API process cannot reach the broker or the database. `leadclock doctor` says which and why."
        return Link(name="Broker and database", level="bad", sentence=sentence)
    return Link(name="Broker and database", level="good", sentence="This API process reaches both.")


def _roles(lags: Mapping[str, Any] | None, *, is_old: bool) -> Link:
    name, behind = "Processes that decide and project", "The projector stands still or is behind." if is_old else ""
    if lags is None:
        return Link(name=name, level="bad" if is_old else "unknown", sentence=behind or "Shown to operators.")
    faults = " ".join([behind, *find_faults(lags, without={PROJECTOR} if is_old else ())]).strip()
    return Link(name=name, level="bad" if faults else "good", sentence=faults or "None is far behind.")


def _gateways(gateways: Mapping[str, Any] | None, not_carried: str, held: tuple[HeldLeads, ...]) -> Link:
    name = "Gateway and provider of calls"
    if not_carried:
        return Link(name=name, level="bad", sentence=not_carried, held=held)
    if gateways is None:
        level = "warn" if held else "unknown"
        return Link(name=name, level=level, sentence="Which gateways run is shown to operators.", held=held)
    live = [row for row in gateways["gateways"] if row["channel"] == "call" and row["is_live"]]
    if not live:
        return Link(name=name, level="bad", sentence="No gateway for calls runs. Start `leadclock gateway`.", held=held)
    sentence = f"Calls are served by {', '.join(sorted({str(row['provider']) for row in live}))}."
    return Link(name=name, level="warn" if held else "good", sentence=sentence, held=held)


def _leads(waiting: Mapping[str, Any] | None, due: Mapping[str, Any] | None, idle: str) -> Link:
    name = "Leads that are due"
    if waiting is None or due is None:
        return Link(name=name, level="unknown", sentence="No team of yours shows leads.")
    count, first = due["metadata"].get("total_count"), next(iter(rows_of(waiting)), None)
    if first is None:
        return Link(
            name=name,
            level="bad",
            sentence="No lead has a next action: there is no one to call. Send leads, or restart some.",
        )
    if idle:
        return Link(name=name, level="bad", sentence=idle)
    if count == 0:
        return Link(name=name, level="warn", sentence="No lead is due now.", next_at=first.get("next_action_at"))
    return Link(name=name, level="good", sentence=f"{'Over 10,000' if count is None else format(count, ',')} leads are due.")


def _pauses(found: Mapping[str, Any], held: tuple[HeldLeads, ...]) -> Link:
    company, schedules = found["company"], found["schedules"]
    if company is not None and company["company"].get("paused"):
        return Link(name="Pauses", level="bad", sentence="The company is paused: none of its leads goes on.", held=held)
    rows = [] if schedules is None else rows_of(schedules)
    paused = [row["name"] for row in rows if row.get("paused")]
    if rows and len(paused) == len(rows):
        return Link(name="Pauses", level="bad", sentence="Every schedule is paused.", held=held)
    if paused:
        return Link(name="Pauses", level="warn", sentence=f"Paused schedules: {', '.join(paused[:5])}.", held=held)
    return Link(name="Pauses", level="warn" if held else "good", sentence="No schedule is paused.", held=held)


def _buyers(buyers: Mapping[str, Any] | None, held: tuple[HeldLeads, ...]) -> Link:
    if buyers is None:
        return Link(name="Buyers and caps", level="unknown", sentence="No team of yours shows buyers.", held=held)
    rows = rows_of(buyers)
    free = [row for row in rows if not row.get("paused") and not row.get("maxed_out")]
    if not rows:
        sentence = "There is no buyer. Schedules whose calls are for a buyer group reach none."
        return Link(name="Buyers and caps", level="warn" if not held else "bad", sentence=sentence, held=held)
    if not free:
        return Link(name="Buyers and caps", level="bad", sentence="Each buyer is paused or has used up a cap.", held=held)
    sentence = f"{len(free)} of {len(rows)} buyers can take a call."
    return Link(name="Buyers and caps", level="warn" if held else "good", sentence=sentence, held=held)


def _numbers(numbers: Mapping[str, Any] | None, held: tuple[HeldLeads, ...]) -> Link:
    if numbers is None:
        return Link(name="Numbers to call from", level="unknown", sentence="No team of yours shows numbers.", held=held)
    able = [row for row in rows_of(numbers) if not row.get("paused") and row.get("voice", True)]
    if not able:
        sentence = "No number can place calls. Add one under Numbers of the API, or resume one."
        return Link(name="Numbers to call from", level="bad", sentence=sentence, held=held)
    sentence = "One number can place calls." if len(able) == 1 else f"{len(able)} numbers can place calls."
    return Link(name="Numbers to call from", level="warn" if held else "good", sentence=sentence, held=held)


def _codes(name: str, fine: str, held: tuple[HeldLeads, ...]) -> Link:
    if not held:
        return Link(name=name, level="good", sentence=fine)
    most = max(held, key=lambda one: float("inf") if one.count is None else one.count)
    return Link(name=name, level="warn", sentence=f"{most.sentence}.", held=held)


def find_verdict(found: Mapping[str, Any], links: list[Link], *, is_old: bool = False) -> tuple[str, str]:
    """Return in one sentence which link holds, and how bad that is. `is_old`: the page has said why it may not know."""
    if is_old and links[0].level != "bad":
        return "bad", "What holds calls now is not known here: the leads, calls and buyers below are as of then."
    holding = next((link for link in links if link.level == "bad"), None)
    calls = found["calls"]
    is_placing = calls is not None and calls["metadata"].get("total_count") != 0
    is_dialling = is_placing and not find_not_carried(found["recent"])
    if holding is not None:
        also = " Calls still began in the last minutes." if is_dialling else ""
        return "bad", f"{holding.name}: {holding.sentence}{also}"
    if is_dialling:
        return "good", "Dialling goes on: calls began in the last minutes."
    most = max(links, key=lambda link: sum(10_001 if one.count is None else one.count for one in link.held))
    if most.held:
        return "warn", f"{most.name}: {most.sentence} Most leads that wait, wait for this."
    return "warn", "No link holds anything. Leads are called when they are due."


PAGES: tuple[ConsolePage, ...] = (
    ConsolePage(path=PATH, handler=show, label="Nothing is dialling", needs=("list_leads", "list_calls")),
)
