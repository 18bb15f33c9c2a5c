"""How is a file applied to a company? Record by record; what was stopped in the middle is repaired by applying it again.

Schedules and action groups may name each other, so missing schedules are made first, as drafts without steps.
"""

from collections.abc import Callable
from typing import Any

from adapters.company_file.api import CompanyApi, Row
from adapters.company_file.changes import FileChange, FileDifference, with_ids
from adapters.company_file.document import COMPANY, Fields
from adapters.company_file.export import DRAFT, EXTERNAL_ID, Known

SCHEDULE = "schedule"

Report = Callable[[str], None]
"""Is given the place of each record that has been written."""


async def apply(api: CompanyApi, found: FileDifference, company: Row, known: Known, report: Report) -> None:
    """Write every change. Raises `CompanyFileError` at the first that is refused; those before it stay."""
    ids = {record_type: dict(names) for record_type, names in known.ids.items()}
    bare: dict[str, Row] = {}
    for change in found.changes:
        if change.record_type == SCHEDULE and change.before is None:
            ids[SCHEDULE][change.name] = schedule_id = await api.create(SCHEDULE, _bare(change))
            bare[change.name] = {"id": schedule_id, "version": 1, EXTERNAL_ID: change.name}
    for change in found.changes:
        of_type = change.record_type
        if of_type == COMPANY:
            await api.update_company(company, with_ids(_emptied(change), ids))
        elif of_type == SCHEDULE and change.name in bare:
            await _update(api, change, bare[change.name], ids)
        elif change.before is None:
            ids[of_type][change.name] = await api.create(of_type, {**with_ids(change.after, ids), EXTERNAL_ID: change.name})
        else:
            await _update(api, change, known.rows[of_type][ids[of_type][change.name]], ids)
        report(change.place)


def _bare(change: FileChange) -> Fields:
    """Return a schedule with but its name, as a draft that no token finds."""
    name = change.after.get("name") or change.after.get(DRAFT, {}).get("name")
    return {"name": name, EXTERNAL_ID: change.name, DRAFT: True}


async def _update(api: CompanyApi, change: FileChange, row: Row, ids: dict[str, dict[str, int]]) -> None:
    fields = with_ids(_emptied(change), ids)
    waiting = fields.pop(DRAFT, None) if change.record_type == SCHEDULE else None
    version = row["version"]
    if fields:
        version = await api.update(change.record_type, row, fields)
    if waiting:
        await api.update(change.record_type, {**row, "version": version}, {**waiting, DRAFT: True})


def _emptied(change: FileChange) -> dict[str, Any]:
    """Return the fields to send: those of the file, and null for each that is to have its default again."""
    gone = {name: None for name in change.before or {} if name not in change.after and name != DRAFT}
    return {**gone, **change.after}
