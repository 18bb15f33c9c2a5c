"""Do far more people opt out than usual, and what had they been sent? By the leads whose people opted out last.

A list of leads knows no instant of an opt-out, only of the last change. So the events of some are read: they say when the
lead ended, whether its person had texted STOP, and which text came before.
"""

import asyncio
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import Struct

from adapters.http.console.rendering import instant_of
from adapters.http.console.visits import RECORDS_READ, Visit, rows_of
from engine.contact.requests.replies import CONFIRMATION
from schemas.instant import DAY, EPOCH, HOUR, Instant

LEAST = 10
"""People of an hour: a few opt out on any day."""

FAR_ABOVE_USUAL = 5
"""Times the usual rate: a campaign of texts may double or treble it."""

PAGES_MAX = 5
"""Pages of leads that are read for the usual rate; what they do not reach is left out of it."""

READ_BESIDE = 10
"""Leads whose events are read: enough to see what most of them had been sent."""

EVENTS_READ = 50
MOST = 0.5
"""From this share on, what people have in common is named."""

TEXT_SHOWN = 80
"""Characters of a text: enough to know it again."""

NEWEST_OPT_OUTS: Mapping[str, Any] = {
    "opt_out": "true",
    "order": "updated_at",
    "page": 1,
    "per_page": RECORDS_READ,
    "columns": "id,caller_id,email,schedule_id,traffic_source_id,updated_at",
}
"""The question for the leads whose people opted out last."""

Row = Mapping[str, Any]


class _Sample(Struct, frozen=True):
    """What the events of some leads say: of how many the person opted out in the hour or texted STOP, after which step."""

    read: int
    opted_out: int
    texted: int
    steps: Counter[tuple[Any, str]]


async def find_flood(visit: Visit, newest: Mapping[str, Any] | None, now: Instant) -> str:
    """Return that far more people opt out than usual, and what they have in common; empty where they do not.

    `newest` answers `NEWEST_OPT_OUTS`; None where the visitor sees no leads.
    """
    rows = [] if newest is None else rows_of(newest)
    since = now - HOUR
    if len(_people(_from(rows, since))) < LEAST:
        return ""
    rows, is_whole_day = await _read_on(visit, rows, now - DAY)
    recent = _from(rows, since)
    count = len(_people(recent))
    usual = _usual(rows, now, is_whole_day=is_whole_day)
    if usual is not None and count < FAR_ABOVE_USUAL * usual:
        return ""
    sample = await _read_events(visit, recent, since)
    if sample.opted_out < MOST * sample.read:  # most leads were changed in the hour, and their people had opted out before
        return ""
    return " ".join(
        [
            f"{'At least ' if usual is None else ''}{count:,} people have opted out in the last hour{_compared(usual)}.",
            *await _in_common(visit, recent, sample),
            "Pause what contacts them, and look at its texts and where its leads come from.",
        ]
    )


async def _read_on(visit: Visit, rows: list[dict[str, Any]], since: Instant) -> tuple[list[dict[str, Any]], bool]:
    """Return the rows with those of further pages, and whether they reach back to an instant."""
    found = list(rows)
    for page in range(2, PAGES_MAX + 1):
        if len(_from(found, since)) < (page - 1) * RECORDS_READ:
            return found, True
        more = await visit.look("list_leads", {**NEWEST_OPT_OUTS, "page": page})
        found += [] if more is None else rows_of(more)
    return found, len(_from(found, since)) < len(found)


def _usual(rows: list[dict[str, Any]], now: Instant, *, is_whole_day: bool) -> float | None:
    """Return how many people opted out in an hour of the day before the last one; None where the rows do not reach there."""
    before = [row for row in _from(rows, now - DAY) if _changed_at(row) < now - HOUR]
    if is_whole_day:
        return len(_people(before)) / ((DAY - HOUR) / HOUR)
    if not before:
        return None
    return len(_people(before)) / max(1.0, (now - HOUR - _changed_at(before[-1])) / HOUR)


def _compared(usual: float | None) -> str:
    if usual is None:
        return ""
    if usual == 0:
        return "; none did in the day before"
    return f"; {'less than one' if usual < 1 else format(usual, ',.0f')} an hour is usual"


async def _read_events(visit: Visit, recent: list[dict[str, Any]], since: Instant) -> _Sample:
    """Read the events of some leads, spread over all."""
    chosen = recent[:: max(1, len(recent) // READ_BESIDE)][:READ_BESIDE]
    asked = [visit.look("list_lead_events", {"limit": EVENTS_READ}, path={"id": row["id"]}) for row in chosen]
    answers = await asyncio.gather(*asked)
    read, opted_out, texted = 0, 0, 0
    steps: Counter[tuple[Any, str]] = Counter()
    for row, answer in zip(chosen, answers, strict=True):
        if answer is None:
            continue
        read += 1
        events = answer["lead"]["events"]
        ended = [one for one in events if one["event"] == "lead.ended" and (instant_of(one["created_at"]) or EPOCH) >= since]
        opted_out += bool(ended)
        stops = [one for one in events if one["event"] == "sms.received" and one["data"].get("meaning") == "opt_out"]
        texted += bool(stops)
        if ended and (step := _last_text(events, before=(stops or ended)[-1])):
            steps[row.get("schedule_id"), step] += 1
    return _Sample(read, opted_out, texted, steps)


def _last_text(events: list[dict[str, Any]], *, before: dict[str, Any]) -> str:
    """Return the step whose text was sent last before an event; empty where there was none, or it is not shown."""
    steps = [
        str(one["data"].get("step_id", ""))
        for one in events[: events.index(before)]
        if one["event"] == "command.emitted" and one["data"].get("kind") == "sms"
    ]
    return next((step for step in reversed(steps) if step != CONFIRMATION), "")


async def _in_common(visit: Visit, recent: list[dict[str, Any]], sample: _Sample) -> list[str]:
    """Return which schedule, traffic source and text most of them have in common, each as a sentence."""
    said = []
    for field, operation, root, words in (
        ("schedule_id", "show_schedule", "schedule", "are on the schedule"),
        ("traffic_source_id", "show_traffic_source", "traffic_source", "came from the traffic source"),
    ):
        found = _most(Counter(row.get(field) for row in recent), len(recent))
        if found is not None:
            record = await visit.look(operation, path={"id": found[0]})
            name = found[0] if record is None else record[root].get("name") or found[0]
            said.append(f"{_share(found[1], len(recent))} {words} {name}.")
    step = _most(sample.steps, sample.read)
    if step is not None:
        answered = "answered STOP to" if sample.texted >= MOST * sample.read else "had last been sent"
        said.append(f"Most {answered} the text `{step[0][1]}`{await _reads(visit, *step[0])}.")
    return said


def _most(counts: Counter[Any], of: int) -> tuple[Any, int] | None:
    """Return what most have, and how many; None where it is too few."""
    counts = Counter({value: count for value, count in counts.items() if value is not None})
    top = next(iter(counts.most_common(1)), None)
    return top if top is not None and top[1] >= MOST * of else None


def _share(count: int, of: int) -> str:
    return "All" if count == of else f"{count:,} of their {of:,} leads"


async def _reads(visit: Visit, schedule_id: Any, step_id: str) -> str:
    """Return how the text of a step reads today; empty where the schedule has it no more, or is not shown."""
    answer = None if schedule_id is None else await visit.look("show_schedule", path={"id": schedule_id})
    steps: Iterable[Mapping[str, Any]] = () if answer is None else answer["schedule"].get("steps") or ()
    text = next((str(step.get("template") or "") for step in steps if step.get("id") == step_id), "")
    if not text:
        return ""
    return f", which reads “{text if len(text) <= TEXT_SHOWN else text[: TEXT_SHOWN - 1] + '…'}”"


def _from(rows: Iterable[dict[str, Any]], since: Instant) -> list[dict[str, Any]]:
    return [row for row in rows if _changed_at(row) >= since]


def _changed_at(row: Row) -> Instant:
    return instant_of(row.get("updated_at")) or EPOCH


def _people(rows: Iterable[Row]) -> set[Any]:
    """Return who the leads are of; a team that hides numbers and addresses sees leads."""
    return {row.get("caller_id") or row.get("email") or row["id"] for row in rows}
