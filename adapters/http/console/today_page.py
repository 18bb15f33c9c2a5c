"""What is happening now, what is wrong, and since when? The first page, which goes on by itself.

First the sentences that need somebody, then the counts, then what waits longest and why. Everything is what the API answers.

A large company is not counted in a second. The page is there with what was answered by then, says that more is counted, and
asks for the whole of it.
"""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Iterator, Mapping
from typing import Any

from msgspec import Struct

from adapters.http.console.cap_bars import CapBar, bars_of
from adapters.http.console.channel_table import WRITTEN, make_table, paths_of
from adapters.http.console.late_leads import LATE_LEADS, NEWEST_ACTION, PROJECTOR, explain_late, find_faults
from adapters.http.console.money_alarms import find_costly
from adapters.http.console.money_alarms import questions as questions_of_money
from adapters.http.console.opt_out_flood import NEWEST_OPT_OUTS, find_flood
from adapters.http.console.rendering import instant_of, show_span
from adapters.http.console.visits import RECORDS_READ, ConsolePage, Visit, company_changes, count_of, rows_of
from adapters.http.exchange.exchange import Reply
from engine.contact.timing.places import UNREVIEWED_COUNTRY
from engine.law.pack import default_pack
from engine.partition.broker_clock import clocks_disagree
from engine.views.channels import COUNTED_MAX, LATE
from schemas.instant import DAY, HOUR, MINUTE, SECOND, Instant, Millis, to_rfc3339

PATH = "/console"
PART = f"{PATH}/today"

NOT_CARRIED = frozenset({"not_placed", "congestion"})
"""Outcomes that say that no telephone rang: the provider, the account with it or its network is at fault."""

NOT_CARRIED_SHARE, NOT_CARRIED_LEAST = 0.5, 5
"""Of the calls of an hour, half, and five at least: single calls fail on good days."""

OPT_OUT_SHARE, OPT_OUTS_LEAST = 0.1, 10
"""Of the leads of a day, a tenth, and ten at least. Carriers look at senders whose texts a few per cent answer with STOP."""

LOAD_SECONDS = 0.7
"""How long the page waits for answers before it is sent: with the rest of a request, it is there within a second."""

LATELY = 5 * MINUTE
"""Of which "now" is a mean: a minute alone says little where few leads come."""

CAPS_SHOWN = 6
CHANGES_SHOWN = 8
NAMES_SHOWN = 3


class MinuteMean(Struct, frozen=True):
    """How many of something there were in a minute, on average of the last minutes and of the hour; as text."""

    label: str
    lately: str
    hour: str


class Alarm(Struct, frozen=True):
    """A sentence about something that needs somebody."""

    level: str
    sentence: str
    path: str = ""
    link: str = ""


async def show(visit: Visit) -> Reply:
    """Show the page."""
    return visit.page("today.html", title="Today", **await _found(visit, seconds=LOAD_SECONDS))


async def show_part(visit: Visit) -> Reply:
    """Show the part that changes, for the open page."""
    visit.renew(visit.company_source)
    return visit.page("today_part.html", **await _found(visit))


async def find_answers(
    questions: Mapping[str, Awaitable[Any]], ends_at: float | None
) -> tuple[dict[str, Any], frozenset[str]]:
    """Return the answers by name, None for those that did not come until a second of the loop's clock, and their names.

    Raises what a question raises.
    """
    tasks = {name: asyncio.ensure_future(question) for name, question in questions.items()}
    seconds = None if ends_at is None else max(0.0, ends_at - asyncio.get_running_loop().time())
    done, late = await asyncio.wait(tasks.values(), timeout=seconds, return_when=asyncio.FIRST_EXCEPTION)
    for task in late:
        task.cancel()  # an answer that visitors share goes on, and is there when the page asks for all of it
    await asyncio.gather(*late, return_exceptions=True)
    answers = {name: task.result() if task in done else None for name, task in tasks.items()}
    return answers, frozenset(name for name, task in tasks.items() if task in late)


async def _found(visit: Visit, *, seconds: float | None = None) -> dict[str, Any]:
    """Return all that the page shows; None stands for what the visitor's teams do not grant.

    Within `seconds` it also stands for what is not answered yet: then `is_partial`.
    """
    ends_at = None if seconds is None else asyncio.get_running_loop().time() + seconds
    now = Instant(visit.now // MINUTE * MINUTE)  # by the minute, so that open pages ask the same
    due = LATE_LEADS
    one = {"page": 1, "per_page": 1}
    hour_ago, day_ago = to_rfc3339(now - HOUR), to_rfc3339(now - DAY)
    questions: dict[str, tuple[str, dict[str, Any]]] = {
        "due": ("list_leads", {**due, "next_action_at_to": to_rfc3339(now)}),
        "late": ("list_leads", {**due, "next_action_at_to": to_rfc3339(now - LATE)}),
        "waiting": ("list_leads", {**due}),
        "acted": ("list_leads", {**NEWEST_ACTION}),
        "submitted": ("list_leads", {**one, "created_at_from": hour_ago, "serializer": "lead_grid"}),
        "live": ("list_live_calls", {"per_page": 1, "page": 1}),
        "submitted_lately": ("list_leads", {**one, "created_at_from": to_rfc3339(now - LATELY), "columns": "id"}),
        "calls": ("list_calls", {**one, "created_at_from": hour_ago}),
        "calls_lately": ("list_calls", {**one, "created_at_from": to_rfc3339(now - LATELY), "columns": "id"}),
        "channels": ("report_channels", {"due_before": to_rfc3339(now)}),
        "contacts": ("report_outcomes", {"recorded_at_from": hour_ago}),
        "contacts_lately": ("report_outcomes", {"recorded_at_from": to_rfc3339(now - LATELY)}),
        "accepted": ("list_webhook_logs", {**one, "created_at_from": hour_ago, "accepted": "true"}),
        "not_accepted": ("list_webhook_logs", {**one, "created_at_from": hour_ago, "accepted": "false"}),
        "outcomes": ("report_calls", {"category": "outcome", "created_at_from": day_ago}),
        "recent": ("report_calls", calls_of_last_hour(now)),
        "opted_out": ("list_leads", {**NEWEST_OPT_OUTS}),
        "statuses": ("report_leads", {"category": "status", "created_at_from": day_ago}),
        "buyers": ("list_buyers", {"per_page": RECORDS_READ}),
        "groups": ("list_buyer_groups", {"per_page": RECORDS_READ}),
        "schedules": ("list_schedules", {"per_page": RECORDS_READ, "columns": "id,name,paused"}),
        "own_company": ("show_company", {}),
        "unreviewed": ("list_leads", {**one, "status_wait": UNREVIEWED_COUNTRY}),
        "changes": ("list_audit_logs", {"created_at_from": hour_ago, "per_page": CHANGES_SHOWN}),
        "reviews": ("list_opt_out_reviews", {**one}),
        "kept": ("list_kept_submissions", {**one}),
        "lags": ("operator_lags", {}),
        "gateways": ("operator_gateways", {}),
        **questions_of_money(now),
    }
    asked = {name: visit.look(*question) for name, question in questions.items()}
    found, late = await find_answers(asked, ends_at)
    caps = sorted((*_bars(found, "buyers", now), *_bars(found, "groups", now)), key=lambda bar: -bar.share)[:CAPS_SHOWN]
    oldest = _first(found["late"]) or _first(found["due"])
    further: dict[str, Awaitable[Any]] = {"flood": find_flood(visit, found["opted_out"], now)}
    if oldest is not None:
        further["why"] = visit.look("why_lead", path={"id": oldest["id"]})
    known, later = await find_answers(further, ends_at)
    why = known.get("why")
    return {
        **found,
        "counts": {
            name: count_of(found[name])
            for name in ("due", "late", "waiting", "submitted", "live", "calls", "reviews", "kept")
        },
        "caps": caps,
        "table": make_table(found, _paths(visit, now)),
        "rates": list(_rates(visit, found, now)),
        "lately_minutes": LATELY // MINUTE,
        "oldest": oldest,
        "why": None if why is None else why["why"],
        "next": _first(found["waiting"]),
        "alarms": list(find_alarms({**found, "flood": known["flood"]}, caps, visit.now, is_old=bool(visit.unshown))),
        "behind": [row for row in ([] if found["lags"] is None else found["lags"]["lags"]) if row["lag"]],
        "is_partial": bool(late or later),
        "is_new": not late and _is_new(found),
        "is_granted_nothing": not late and all(answer is None for answer in found.values()),
        "hour_ago": hour_ago,
        "now_text": to_rfc3339(now),
        "late_text": to_rfc3339(now - LATE),
        "late_minutes": LATE // MINUTE,
    }


def _paths(visit: Visit, now: Instant) -> dict[str, str]:
    """Return the pages that list what the figures of channels count."""
    return paths_of(
        now=to_rfc3339(now),
        late=to_rfc3339(now - LATE),
        hour_ago=to_rfc3339(now - HOUR),
        day_ago=to_rfc3339(now - DAY),
        has_page={name: visit.has_page(f"{PATH}/{name}") for name in ("leads", "reports", "deliveries")},
    )


def _rates(visit: Visit, found: Mapping[str, Any], now: Instant) -> Iterator[MinuteMean]:
    """Yield what comes and goes in a minute, of lists and counts that begin at a whole minute and end now."""
    spans = {"": visit.now - now + HOUR, "_lately": visit.now - now + LATELY}
    for name, label, count in (
        ("submitted", "Leads submitted", _rows_counted),
        ("calls", "Calls placed or received", _rows_counted),
        ("contacts", "Texts and e-mails sent", _sent),
    ):
        if found[name] is not None and found[f"{name}_lately"] is not None:
            hour, lately = (_a_minute(*count(found[f"{name}{end}"]), span) for end, span in spans.items())
            yield MinuteMean(label, lately, hour)


def _rows_counted(answer: Mapping[str, Any]) -> tuple[int, bool]:
    """Return how many rows a list has, and whether it may have more: it counts no further than `COUNTED_MAX`."""
    count = count_of(answer)
    return (COUNTED_MAX, True) if count is None else (count, False)


def _sent(answer: Mapping[str, Any]) -> tuple[int, bool]:
    """Return how many texts and e-mails were sent, by their outcomes, and whether there may be more."""
    report = answer["outcome_report"]
    sent = sum(one["sent_count"] for one in report["channels"] if one["channel"] in WRITTEN)
    return sent, not WRITTEN.isdisjoint(report["at_least"])


def _a_minute(count: int, is_least: bool, span: Millis) -> str:
    """Return a count of a span by the minute, as text; with a plus where it may be more."""
    return f"{count * MINUTE / span:,.1f}{'+' if is_least else ''}"


def _bars(found: Mapping[str, Any], name: str, now: Instant) -> Iterator[CapBar]:
    for row in () if found[name] is None else rows_of(found[name]):
        yield from bars_of(row, now)


def find_alarms(found: Mapping[str, Any], caps: list[CapBar], now: Instant, *, is_old: bool = False) -> Iterator[Alarm]:
    """Yield what needs somebody, the worst first. Where the page `is_old`, leads that seem late may have been acted on."""
    company = found["own_company"]
    if company is not None and company["company"].get("paused"):
        yield Alarm("bad", "The company is paused: no lead of it is called, texted or mailed.")
    if company is not None:
        yield from _of_countries(company["company"], found["unreviewed"])
    sentence = "" if is_old else explain_late(found["late"], found["acted"], found["lags"], now)
    if sentence:
        yield Alarm("bad", sentence)
    late = count_of(found["late"])
    if late:
        minutes = LATE // MINUTE
        yield Alarm(
            "bad", f"{late:,} leads are late: due for more than {minutes} minutes and not acted on.", "late", "See them"
        )
    if late is None and found["late"] is not None:
        yield Alarm("bad", "More than 10,000 leads are late.", "late", "See them")
    yield from _of_clocks(found, now)
    yield from _of_records(found, caps)
    yield from _of_outcomes(found)
    for costly in find_costly(found, now):
        yield Alarm(costly.level, costly.sentence, costly.path, "See it")
    if reviews := count_of(found["reviews"]):
        yield Alarm(
            "warn",
            f"{reviews:,} texts, or opt-outs of numbers that cannot be read, wait for a decision: is it an opt-out, and "
            "whose? The senders of texts are not contacted meanwhile.",
        )
    if kept := count_of(found["kept"]):
        yield Alarm(
            "warn",
            f"{kept:,} submissions without a key wait beside stored leads: accept or discard them.",
            "submissions",
            "See them",
        )
    yield from _of_processes(found, is_old=is_old)


def _of_countries(company: Mapping[str, Any], held: Mapping[str, Any] | None) -> Iterator[Alarm]:
    """Yield whether the company dials every country, or leads are held where no law is kept, or none is kept at all."""
    listed = company.get("dial_countries")
    if listed == []:
        yield Alarm(
            "warn", "The company dials every country: a lead token lets anybody have any of them called. Set dial_countries."
        )
    unreviewed = sorted(country for country in set(listed or ()) if not default_pack().is_reviewed(country))
    if unreviewed and company.get("unreviewed_countries") == "floor":
        yield Alarm(
            "warn",
            f"No law of {', '.join(unreviewed[:NAMES_SHOWN])} is kept: telemarketing there has 08:00-21:00. "
            "Add a rule pack, or set unreviewed_countries to hold.",
        )
    if waiting := count_of(held):
        yield Alarm("warn", f"{waiting:,} leads wait in countries whose law is not kept: add a rule pack for them.")


def _of_clocks(found: Mapping[str, Any], now: Instant) -> Iterator[Alarm]:
    """Yield whether the newest lead is dated in the future: whose clock jumped, decides nothing that is due."""
    newest = _first(found["submitted"])
    created_at = None if newest is None else instant_of(newest.get("created_at"))
    if created_at is not None and created_at > now and clocks_disagree((created_at - now) / SECOND):
        yield Alarm(
            "bad",
            f"The newest lead is dated {show_span(created_at - now)} in the future: the clock of a machine has jumped. "
            "Nothing that is due is carried out there until clocks agree: compare the clocks of the machines.",
        )


def _of_records(found: Mapping[str, Any], caps: list[CapBar]) -> Iterator[Alarm]:
    """Yield which schedules are paused, and which buyers are full."""
    schedules = [] if found["schedules"] is None else rows_of(found["schedules"])
    paused = [row["name"] for row in schedules if row.get("paused")]
    if paused:
        yield Alarm("warn", f"Paused: {_names(paused)}. Leads on {_it(paused)} wait until somebody resumes {_it(paused)}.")
    buyers = [] if found["buyers"] is None else rows_of(found["buyers"])
    free = [row for row in buyers if not row.get("paused") and not row.get("maxed_out")]
    if buyers and not free:
        yield Alarm("bad", "No buyer can take a call: each is paused or has used up a cap.")
    full = [bar.owner for bar in caps if bar.share >= 1 and not bar.is_of_lines]
    if full and free:
        yield Alarm("warn", f"Full: {_names(list(dict.fromkeys(full)))}. Calls go to the others until the cap resets.")


def _of_outcomes(found: Mapping[str, Any]) -> Iterator[Alarm]:
    """Yield whether calls reach no telephone, and whether many people opt out."""
    if sentence := find_not_carried(found["recent"]):
        yield Alarm("bad", sentence)
    if found["flood"]:
        yield Alarm("bad", found["flood"])
        return
    leads = _counts_of(found["statuses"], "leads_count")
    if leads["opt_out"] >= OPT_OUTS_LEAST and leads["opt_out"] >= OPT_OUT_SHARE * leads.total():
        yield Alarm(
            "bad",
            f"{leads['opt_out']:,} of {leads.total():,} leads of the last 24 hours have opted out. "
            "Pause what contacts them, and look at its texts and where they come from.",
        )


def calls_of_last_hour(now: Instant) -> dict[str, Any]:
    """Return the filters of a report by outcome of the calls that ended in the last hour; they began within a day."""
    return {"category": "outcome", "ended_at_from": to_rfc3339(now - HOUR), "created_at_from": to_rfc3339(now - DAY)}


def find_not_carried(recent: Mapping[str, Any] | None) -> str:
    """Return that calls reach no telephone, by the report of the last hour; empty where most do."""
    calls = _counts_of(recent, "calls_count")
    failed = sum(calls[outcome] for outcome in NOT_CARRIED)
    if failed < NOT_CARRIED_LEAST or failed < NOT_CARRIED_SHARE * calls.total():
        return ""
    return (
        f"{failed:,} of {calls.total():,} calls of the last hour reached no telephone: "
        "the provider, or the account with it, does not carry them."
    )


def _of_processes(found: Mapping[str, Any], *, is_old: bool) -> Iterator[Alarm]:
    """Yield which roles are far behind or do not run; known to operators alone. What makes a page old was said before."""
    gateways = () if found["gateways"] is None else found["gateways"]["gateways"]
    live = {row["channel"] for row in gateways if row["is_live"]}
    for channel in sorted({row["channel"] for row in gateways} - live):
        yield Alarm(
            "bad", f"No gateway for the channel {channel} runs any more: nothing is sent there. Start `leadclock gateway`."
        )
    for sentence in find_faults(found["lags"], without={PROJECTOR} if is_old else ()):
        yield Alarm("bad", sentence)


def _counts_of(report: Mapping[str, Any] | None, count: str) -> Counter[str]:
    """Return the counts of a report by its category; those without one are not finished."""
    rows = [] if report is None else report["reports"]
    return Counter({str(row["category"]): int(row.get(count) or 0) for row in rows if row["category"] is not None})


def _names(names: list[str]) -> str:
    more = len(names) - NAMES_SHOWN
    return ", ".join(names[:NAMES_SHOWN]) + (f" and {more} more" if more > 0 else "")


def _it(names: list[str]) -> str:
    return "it" if len(names) == 1 else "them"


def _first(answer: Mapping[str, Any] | None) -> dict[str, Any] | None:
    return next(iter(rows_of(answer)), None) if answer is not None else None


def _is_new(found: Mapping[str, Any]) -> bool:
    """Return whether there is nothing to show yet: no schedule, and no lead."""
    schedules = found["schedules"]
    return schedules is not None and not rows_of(schedules) and not count_of(found["waiting"])


PAGES: tuple[ConsolePage, ...] = (
    ConsolePage(path=PATH, handler=show, label="Today", access="user"),
    ConsolePage(path=PART, handler=show_part, changes=company_changes),
)
