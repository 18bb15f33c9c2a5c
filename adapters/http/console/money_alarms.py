"""What costs money while everything runs? Buyers who never answer, abandoned calls, deliveries and imports that fail.

A campaign is a schedule. Each rule has a least count: single failures happen on good days.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct

from adapters.http.console.rendering import instant_of, show_span
from adapters.http.console.visits import RECORDS_READ, rows_of
from schemas.instant import DAY, HOUR, Instant, to_rfc3339

UNANSWERED_LEAST = 20
"""Calls of a day to one buyer of which none was connected. Of buyers who answer a fifth, one in 87 has such a day."""

ABANDONED_SHARE, ABANDONED_SPAN = 0.03, 30 * DAY
"""The most that may be abandoned of the calls of a campaign that a person answered (16 CFR 310.4(b)(4)(i))."""

ABANDONED_LEAST = 3
"""The rule has no least count, but one call of thirty is no alarm."""

NUMBER_CALLS_LEAST, NUMBER_SPAN = 100, 7 * DAY
"""Outbound calls of a number before it is compared."""

ANSWERED_FAR_LESS = 0.5
"""A number whose calls are answered half as often as those of the others is probably marked as spam somewhere."""

FAILING_LEAST = HOUR
"""How long a subscription delivers nothing before it is said: retries make up for less."""

REFUSED_LEAST, REFUSED_SHARE = 10, 0.2
"""Lines of an import that became no lead: ten, and a fifth of them all."""

NAMES_SHOWN = 3

Row = Mapping[str, Any]


class Costly(Struct, frozen=True):
    """What costs money, in a sentence, how bad it is, and the page of the console that shows it."""

    level: str
    sentence: str
    path: str = ""


def questions(now: Instant) -> dict[str, tuple[str, dict[str, Any]]]:
    """Return what is to be asked of the API, by name."""
    day_ago, figures = to_rfc3339(now - DAY), "category,category_label,calls_count,inbound_count"
    return {
        "by_buyer": (
            "report_calls",
            {"category": "buyer_id", "created_at_from": day_ago, "columns": f"{figures},connected_count"},
        ),
        "by_schedule": (
            "report_calls",
            {
                "category": "schedule_id",
                "created_at_from": to_rfc3339(now - ABANDONED_SPAN),
                "columns": "category,category_label,answered_count,abandoned_count",
            },
        ),
        "by_number": (
            "report_calls",
            {
                "category": "number_id",
                "created_at_from": to_rfc3339(now - NUMBER_SPAN),
                "columns": f"{figures},answered_count",
            },
        ),
        "subscriptions": ("list_subscriptions", {"per_page": RECORDS_READ}),
        "circuits": ("list_circuits", {}),
        "imports": ("list_lead_imports", {"created_at_from": day_ago, "dry_run": "false", "per_page": RECORDS_READ}),
    }


def find_costly(found: Mapping[str, Any], now: Instant) -> Iterator[Costly]:
    """Yield what costs money, by the answers to `questions`; None stands for what is not granted."""
    yield from _buyers(_reported(found["by_buyer"]))
    yield from _abandoned(_reported(found["by_schedule"]))
    yield from _numbers(_reported(found["by_number"]))
    yield from _subscriptions(_listed(found["subscriptions"]), now)
    yield from _webhooks([] if found["circuits"] is None else found["circuits"]["circuits"])
    yield from _imports(_listed(found["imports"]))


def _buyers(rows: list[Row]) -> Iterator[Costly]:
    for row in rows:
        if row.get("calls_count", 0) >= UNANSWERED_LEAST and row.get("connected_count") == 0:
            sentence = (
                f"The buyer {row['category_label']} answers no call: {row['calls_count']:,} of the last 24 hours, none was "
                "connected. Pause the buyer, or correct the number."
            )
            yield Costly("bad", sentence, f"buyers/{row['category']}")


def _abandoned(rows: list[Row]) -> Iterator[Costly]:
    for row in rows:
        answered, abandoned = row.get("answered_count") or 0, row.get("abandoned_count") or 0
        if abandoned >= ABANDONED_LEAST and abandoned > ABANDONED_SHARE * answered:
            sentence = (
                f"The schedule {row['category_label']} has abandoned {abandoned / answered:.1%} of the {answered:,} calls "
                f"that a person answered in 30 days: at most {ABANDONED_SHARE:.0%} may be. Call slower, or have more people "
                "free."
            )
            yield Costly("bad", sentence, f"schedules/{row['category']}")


def _numbers(rows: list[Row]) -> Iterator[Costly]:
    """Yield the numbers whose calls are answered far less than those of the others, each beside the others together."""
    figures = [(row, row["calls_count"] - row["inbound_count"], row["answered_count"]) for row in rows if _is_counted(row)]
    calls, answered = sum(figure[1] for figure in figures), sum(figure[2] for figure in figures)
    for row, own_calls, own_answered in figures:
        others = calls - own_calls
        if min(own_calls, others) < NUMBER_CALLS_LEAST:
            continue
        share, usual = own_answered / own_calls, (answered - own_answered) / others
        if share < ANSWERED_FAR_LESS * usual:
            sentence = (
                f"Calls from {row['category_label']} are answered far less than others: {share:.0%} of {own_calls:,} in 7 "
                f"days, {usual:.0%} from the other numbers. Look whether the number is marked as spam, or use another."
            )
            yield Costly("warn", sentence)


def _is_counted(row: Row) -> bool:
    return row.get("category") is not None and None not in {row.get("answered_count"), row.get("inbound_count")}


def _subscriptions(rows: list[Row], now: Instant) -> Iterator[Costly]:
    for row in rows:
        failing_since, waiting = instant_of(row.get("failing_since")), row.get("waiting_count") or 0
        path = f"deliveries/{row['id']}"
        if row.get("disabled_at"):
            yield Costly("bad", f"The subscription {_name(row)} is disabled: {row.get('disabled_reason')}.", path)
        elif failing_since is not None and now - failing_since >= FAILING_LEAST and waiting:
            since = show_span(now - failing_since)
            yield Costly(
                "bad", f"The subscription {_name(row)} has delivered nothing for {since}: {waiting:,} events wait.", path
            )


def _webhooks(rows: list[Row]) -> Iterator[Costly]:
    for row in rows:
        if row["channel"] == "webhook" and row.get("waiting_count"):
            sentence = f"Webhooks to {row['endpoint']} fail: {row['waiting_count']:,} wait for it."
            yield Costly("bad", sentence, "deliveries")


def _imports(rows: list[Row]) -> Iterator[Costly]:
    for row in rows:
        refused = row["refused_count"] + row["rejected_count"]
        lines = row["good_count"] + row["refused_count"]
        if refused >= REFUSED_LEAST and refused >= REFUSED_SHARE * lines:
            yield Costly(
                "warn",
                f"Of the import {row['id']}, {refused:,} of {lines:,} lines became no lead: `GET "
                f"/api/v1/lead_imports/{row['id']}/errors` says why.",
            )


def _name(row: Row) -> str:
    return str(row.get("name") or row["id"])


def _reported(answer: Mapping[str, Any] | None) -> list[Row]:
    return [] if answer is None else [row for row in answer["reports"] if row["category"] is not None]


def _listed(answer: Mapping[str, Any] | None) -> list[Row]:
    return [] if answer is None else [*rows_of(answer)]
