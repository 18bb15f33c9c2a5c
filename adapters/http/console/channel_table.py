"""What is due, under way, done and failed on each channel? A row for each, of figures that the API answers.

A figure that the API has not is left out: it counts no outcomes of texts and e-mails.
"""

from collections import Counter
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from msgspec import Struct

from adapters.http.console.visits import count_of
from engine.views.channels import COUNTED_MAX, FIGURES

LABELS: Mapping[str | None, str] = {
    "call": "Calls",
    "sms": "Texts",
    "email": "E-mails",
    "webhook": "Webhooks",
    None: "Other steps",
}

CALLS_FAILED = frozenset({"not_placed", "congestion", "invalid_number"})
"""Outcomes of calls by which no telephone rang."""

CALLS_OPEN = frozenset({"canceled", "unknown"})
"""Outcomes of calls that were ended before, or whose end was not reported: neither done nor failed."""


class Figure(Struct, frozen=True):
    """A figure, as text, and the page that lists what it counts, where there is one. Of `level` it needs somebody."""

    text: str
    path: str = ""
    level: str = ""


class ChannelRow(Struct, frozen=True):
    """The figures of a channel; None stands for what the API does not count, or does not answer to this visitor."""

    label: str
    due: Figure
    late: Figure
    in_progress: Figure
    done: Figure | None
    failed: Figure | None


class ChannelTable(Struct, frozen=True):
    """A row for each channel, and one of all leads."""

    rows: list[ChannelRow]
    totals: ChannelRow


def make_table(found: Mapping[str, Any], paths: Mapping[str, str]) -> ChannelTable | None:
    """Return the table of answers by their names on the page; None where no team shows leads.

    `paths`: name of a figure -> the page that lists what it counts, where the visitor may open that.
    """
    if found["channels"] is None:
        return None
    report = found["channels"]["channel_report"]
    accepted, refused = found["accepted"], found["not_accepted"]
    ended = {
        "call": _calls(found["recent"], paths.get("calls", "")),
        "webhook": (_listed(accepted, paths.get("accepted", "")), _listed(refused, paths.get("not_accepted", ""), "bad")),
    }
    rows = [
        _row(LABELS[one["channel"]], one, report["at_least"], ended=ended.get(one["channel"], (None, None)))
        for one in report["channels"]
    ]
    return ChannelTable(rows, _row("All", report["totals"], report["at_least"], paths=paths))


def _row(
    label: str,
    counts: Mapping[str, int],
    at_least: list[str],
    *,
    ended: tuple[Figure | None, Figure | None] = (None, None),
    paths: Mapping[str, str] | None = None,
) -> ChannelRow:
    levels = {"due_count": "warn", "late_count": "bad"}
    due, late, in_progress = (
        Figure(
            f"{counts[figure]:,}{'+' if figure in at_least else ''}",
            (paths or {}).get(figure, ""),
            levels.get(figure, "") if counts[figure] else "",
        )
        for figure in FIGURES
    )
    return ChannelRow(label, due, late, in_progress, *ended)


def _calls(report: Mapping[str, Any] | None, path: str) -> tuple[Figure | None, Figure | None]:
    """Return how many calls ended, by a report by outcome, and how many of them with no telephone reached."""
    if report is None:
        return None, None
    calls = Counter({row["category"]: row["calls_count"] for row in report["reports"]})
    failed = sum(calls[outcome] for outcome in CALLS_FAILED)
    done = calls.total() - failed - sum(calls[outcome] for outcome in (*CALLS_OPEN, None))
    return Figure(f"{done:,}", path), Figure(f"{failed:,}", path, "bad" if failed else "")


def _listed(answer: Mapping[str, Any] | None, path: str = "", level: str = "") -> Figure | None:
    """Return how many rows a list has; it counts no further than `COUNTED_MAX`."""
    if answer is None:
        return None
    count = count_of(answer)
    return Figure(f"{COUNTED_MAX:,}+" if count is None else f"{count:,}", path, level if count != 0 else "")


def paths_of(*, now: str, late: str, hour_ago: str, day_ago: str, has_page: Mapping[str, bool]) -> dict[str, str]:
    """Return the page that lists what a figure counts, by the name of the figure; all instants are RFC 3339."""
    of_calls = urlencode({"of": "calls", "category": "outcome", "ended_at_from": hour_ago, "created_at_from": day_ago})
    found = {
        "due_count": ("leads", f"/console/leads?{urlencode({'has_next_action': 'true', 'next_action_at_to': now})}"),
        "late_count": ("leads", f"/console/leads?{urlencode({'has_next_action': 'true', 'next_action_at_to': late})}"),
        "in_progress_count": ("leads", "/console/leads?status=running"),
        "calls": ("reports", f"/console/reports?{of_calls}"),
        "accepted": ("deliveries", "/console/deliveries?accepted=true"),
        "not_accepted": ("deliveries", "/console/deliveries?accepted=false"),
    }
    return {name: path for name, (page, path) in found.items() if has_page[page]}
