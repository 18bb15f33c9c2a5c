"""What is due, under way, done and failed on each channel? A row for each, of figures that the API answers.

Calls and webhooks are counted as the pages do that their figures lead to, texts and e-mails by what contacts came to.
"""

from collections import Counter
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from msgspec import Struct

from adapters.http.console.visits import count_of
from engine.views.channels import COUNTED_MAX, FIGURES
from engine.views.outcomes import Judgement, judge

LABELS: Mapping[str | None, str] = {
    "call": "Calls",
    "sms": "Texts",
    "email": "E-mails",
    "webhook": "Webhooks",
    None: "Other steps",
}

WRITTEN = frozenset({"sms", "email"})
"""Channels whose contacts no page lists: how many there were, and what they came to, is counted by their outcomes."""


class Figure(Struct, frozen=True):
    """A figure, as text, and the page that lists what it counts, where there is one. Of `level` it needs somebody."""

    text: str
    path: str = ""
    level: str = ""


class ChannelRow(Struct, frozen=True):
    """The figures of a channel; None stands for what nothing is counted of, or the API does not answer to this visitor."""

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
        **{channel: _contacts(found["contacts"], channel) for channel in WRITTEN},
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
    """Return how many calls are done and have failed, of a report by outcome; those without one have not ended."""
    if report is None:
        return None, None
    judged: Counter[Judgement] = Counter()
    for row in report["reports"]:
        judged[judge("call", row["category"])] += row["calls_count"]
    return Figure(f"{judged['done']:,}", path), Figure(f"{judged['failed']:,}", path, "bad" if judged["failed"] else "")


def _contacts(answer: Mapping[str, Any] | None, channel: str) -> tuple[Figure | None, Figure | None]:
    """Return how many contacts of a channel are done and have failed; no page lists them."""
    if answer is None:
        return None, None
    report = answer["outcome_report"]
    counts = next(one for one in report["channels"] if one["channel"] == channel)
    done, failed, more = counts["done_count"], counts["failed_count"], "+" if channel in report["at_least"] else ""
    return Figure(f"{done:,}{more}"), Figure(f"{failed:,}{more}", level="bad" if failed else "")


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
