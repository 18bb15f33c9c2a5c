"""Why is a lead late that nothing holds? Then the scheduler stands still. Pages that are old say so before (`staleness`)."""

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from adapters.http.console.held_leads import HELD_BY
from adapters.http.console.rendering import instant_of
from adapters.http.console.visits import rows_of
from engine.views.channels import LATE
from schemas.instant import Instant

LAG_MAX = 1_000
"""Records behind which a role is reported: some ten seconds of work at full load."""

OWNERLESS = frozenset({"gateway", "deliverer"})
"""Roles whose processes share no group of the broker, or of which a deployment may have none."""

PROJECTOR, SCHEDULER = "projector", "scheduler"

HOLDING = frozenset(code for link, codes in HELD_BY.items() if link not in {"hours", "law"} for code in codes)
"""Reasons that hold a lead beyond its instant. Hours and law end at it: a lead that is late no longer waits for them."""

LATE_LEADS: Mapping[str, Any] = {
    "has_next_action": "true",
    "order": "next_action_at",
    "order_dir": "asc",
    "per_page": 1,
    "serializer": "lead_grid",
}
"""The question for the lead that is late longest, beside `next_action_at_to`."""

NEWEST_ACTION: Mapping[str, Any] = {"order": "last_action_at", "page": 1, "per_page": 1, "serializer": "lead_grid"}
"""The question for the lead that was acted on last."""


def find_faults(lags: Mapping[str, Any] | None, *, without: Collection[str] = ()) -> Iterator[str]:
    """Yield which roles, but for some, do not run or are far behind; known to operators alone."""
    if lags is None:
        return
    has_owners = "owner" not in lags.get("not_known_here", {})
    for row in lags["lags"]:
        lag, role = row.get("lag") or 0, row["role"].partition(".")[0]  # `intake.bulk` is a part of intake
        if role in without:
            continue
        if has_owners and lag and not row["members"] and role not in OWNERLESS:
            waits = f"{lag:,} records of {row['topic']} wait"
            old = "what these pages show is old, " if role == PROJECTOR else ""
            yield f"No {role} runs: {old}{waits}. Start `leadclock {role}`."
        elif lag > LAG_MAX:
            yield f"The {row['role']} role is {lag:,} records behind on {row['topic']}."


def explain_late(
    late: Mapping[str, Any] | None, acted: Mapping[str, Any] | None, lags: Mapping[str, Any] | None, now: Instant
) -> str:
    """Return what is wrong where nothing holds the lead that is late longest; empty where something does.

    `late` and `acted` answer `LATE_LEADS` and `NEWEST_ACTION`, of pages that are of now. A company whose leads are acted on
    has only many of them. Who sees no roles reads both causes, and who may not see why leads wait reads none.
    """
    oldest, newest = _first(late), _first(acted)
    if acted is None or oldest is None or any(find_faults(lags)):
        return ""
    if "status_wait" not in oldest or oldest["status_wait"] in HOLDING:
        return ""
    last_action_at = None if newest is None else instant_of(newest.get("last_action_at"))
    if last_action_at is not None and last_action_at > now - LATE:
        return ""
    if lags is None:
        return (
            "Leads wait that nothing holds: either the clock of a machine has jumped, and what is due waits until clocks "
            "agree, or no scheduler runs. An operator sees here which."
        )
    if _is_stopped(lags):
        return "No scheduler runs: nothing that is due is carried out. Start `leadclock scheduler`."
    return (
        "The clock of a machine has probably jumped: nothing holds the lead that waits longest, and no scheduler acts on "
        "it. Compare the clocks of the machines; what is due is carried out once they agree."
    )


def _is_stopped(lags: Mapping[str, Any]) -> bool:
    members = [row["members"] for row in lags["lags"] if row["role"] == SCHEDULER]
    return "owner" not in lags.get("not_known_here", {}) and bool(members) and not any(members)


def _first(answer: Mapping[str, Any] | None) -> dict[str, Any] | None:
    return None if answer is None else next(iter(rows_of(answer)), None)
