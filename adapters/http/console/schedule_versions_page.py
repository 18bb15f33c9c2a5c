"""Which versions does a schedule have, and what differs between two of them, or the draft?"""

from collections.abc import Mapping
from typing import Any

from msgspec import to_builtins

from adapters.http.console.json_diff import diff_of
from adapters.http.console.schedule_pages import PATH, read_schedule
from adapters.http.console.visits import RECORDS_READ, ConsolePage, Visit, filled, rows_of
from adapters.http.exchange.exchange import Reply
from engine.views.record import record_columns

DRAFT = "draft"

NOT_COMPARED = ("lead_token", "sealed_signing_secret", "has_form_secret", "draft_fields", "unpublished", "published_at")
"""Fields that say when a version was published, or are a secret."""


async def show(visit: Visit) -> Reply:
    """Show the published versions, and what differs between the two that are asked for."""
    path = {"id": visit.request.path_params["schedule"]}
    schedule = filled((await visit.fetch("show_schedule", path=path))["schedule"], record_columns("schedule"))
    versions = rows_of(await visit.fetch("list_schedule_versions", {"per_page": RECORDS_READ}, path=path))
    bodies = {str(row["version"]): _compared(row) for row in versions}
    if schedule["draft_fields"]:
        bodies = {DRAFT: {**_compared(schedule), **schedule["draft_fields"]}, **bodies}
    names = list(bodies)
    before = _choice(visit, "before", names, 1)
    after = _choice(visit, "after", names, 0)
    return visit.page(
        "schedule_versions.html",
        title=f"Versions of {schedule['name'] or schedule['id']}",
        schedule=schedule,
        versions=[filled(row, record_columns("schedule")) for row in versions],
        names=names,
        before=before,
        after=after,
        diff=diff_of(bodies[before], bodies[after]) if before and after else [],
        most=RECORDS_READ,
    )


def _choice(visit: Visit, name: str, names: list[str], place: int) -> str:
    asked = str(visit.query.get(name, ""))
    if asked in names:
        return asked
    return names[min(place, len(names) - 1)] if names else ""


def _compared(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a version without what is as its default is; where this release cannot read it, as the API shows it."""
    body = read_schedule(filled(row, record_columns("schedule")))
    found = dict(row) if body is None else to_builtins(body)
    return {name: value for name, value in found.items() if name not in NOT_COMPARED}


PAGES: tuple[ConsolePage, ...] = (
    ConsolePage(path=f"{PATH}/versions", handler=show, needs=("show_schedule", "list_schedule_versions")),
)
