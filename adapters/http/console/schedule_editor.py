"""How is a schedule edited by hand? In a form that the API judges while one types; it sends only what was changed.

The change names the version that the edit began from. Where somebody else has changed the schedule since, nothing is
written: the form then holds both, and shows what differs.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec
from msgspec import Struct, convert

from adapters.http.console.api_calls import ApiAnswer
from adapters.http.console.json_diff import diff_of
from adapters.http.console.lead_list_page import names_of
from adapters.http.console.schedule_edits import (
    LISTS,
    Edit,
    act,
    begin,
    fields_of,
    merge,
    published_fields_of,
    read_edit,
    read_json,
)
from adapters.http.console.schedule_form import (
    CHANNELS,
    EDITED,
    STEP_LISTS,
    FieldGroup,
    places_of,
    settings_group,
    unfold,
    unfold_step,
)
from adapters.http.console.schedule_pages import LIST, PATH, staying_query
from adapters.http.console.shown_preview import (
    FIRST_TRIED,
    LEAD_FIELDS,
    OUTCOMES,
    show_preview_picture,
    trial_request,
    typed_trial,
)
from adapters.http.console.visits import ConsolePage, Visit
from adapters.http.exchange.exchange import Reply
from adapters.pictures.step_texts import detail_of, title_of
from schemas.schedule import STEP_KINDS, Step, Trigger, Window

EDITOR = f"{PATH}/edit"
CHECK = f"{EDITOR}/check"

REFUSED_STATUS, CONFLICT_STATUS, ACCEPTED = 422, 409, 202

SUGGESTIONS = {
    "buyers": "list_buyers",
    "buyer_groups": "list_buyer_groups",
    "outgoing_webhooks": "list_outgoing_webhooks",
    "action_groups": "list_action_groups",
    "schedules": "list_schedules",
    "traffic_sources": "list_traffic_sources",
}
"""List of what a field may name -> the operation that lists it."""

Faults = Mapping[str, list[str]]
NO_FAULTS: Faults = {}


class StepRow(Struct, frozen=True, kw_only=True):
    """A step as the form shows it: closed in one line, or open with its fields."""

    path: str
    step_id: str
    kind: str
    about: str
    title: str
    json: str
    group: FieldGroup | None


async def show(visit: Visit) -> Reply:
    """Show the form of a schedule; of its draft where one waits."""
    shown = await _shown(visit)
    return await _page(visit, begin(shown), shown, trial=FIRST_TRIED)


async def check(visit: Visit) -> Reply:
    """Show what the API says of what is typed, what it would do to a lead, and what differs from what is published."""
    edit, trial = read_edit(visit.form), typed_trial(visit.form)
    shown = await _shown(visit)
    answer = await visit.call("preview_schedule", {**trial_request(trial), "schedule": edit.fields})
    errors = answer.content.get("errors") or {} if answer.is_refused else {}
    faults = _placed(errors, edit)
    found = None if answer.is_refused else answer.content["preview"]
    return visit.page(
        "schedule_check_part.html",
        schedule=shown,
        edit=edit,
        faults=faults,
        problem=answer.content if answer.is_refused and not errors else None,
        is_away=False,
        picture=None if found is None else show_preview_picture(visit, found, trial["at"]),
        changed=list(edit.changed),
        diff=diff_of(published_fields_of(shown), edit.fields),
        json=msgspec.json.format(msgspec.json.encode(edit.fields), indent=2).decode(),
    )


async def change(visit: Visit) -> Reply:
    """Do what a button of the form says: change the form alone, save a draft, or publish."""
    verb, _, path = str(visit.form.get("do", "")).partition(":")
    edit, trial = read_edit(visit.form), typed_trial({**FIRST_TRIED, **visit.form})
    shown = await _shown(visit)
    if verb == "json":
        return await _take_json(visit, edit, shown, trial)
    if verb not in {"publish", "draft"}:
        act(edit, verb, path, visit.form)
        return await _page(visit, edit, shown, trial=trial)
    answer = await _write(visit, edit, shown, publishes=verb == "publish")
    if answer is None:
        problem = _problem("Nothing was saved", "Nothing is changed yet, so there is nothing to save.")
        return await _page(visit, edit, shown, trial=trial, problem=problem, status=REFUSED_STATUS)
    if not answer.is_refused:
        done = "accepted" if answer.status == ACCEPTED else f"edit-{verb}"
        return visit.go_to(f"{LIST}/{visit.request.path_params['schedule']}?done={done}{staying_query(answer.content)}")
    now = await _shown(visit)
    if answer.content.get("code") == "version_conflict":
        return await _conflict(visit, edit, now, trial)
    errors = answer.content.get("errors") or {}
    places = dict(_placed_names(errors, edit))
    return await _page(
        visit,
        edit,
        now,
        trial=trial,
        faults=_placed(errors, edit),
        problem=answer.content,
        places=places,
        status=answer.status,
    )


async def _take_json(visit: Visit, edit: Edit, shown: Mapping[str, Any], trial: Mapping[str, str]) -> Reply:
    """Show the form with the JSON that was typed in it, or the JSON with what is wrong."""
    typed = str(visit.form.get("json", ""))
    wrong = read_json(typed, edit)
    if not wrong:
        return await _page(visit, edit, shown, trial=trial)
    faults = {"json": [wrong]}
    problem = _problem("The form is as it was", "Correct the JSON.", faults)
    more: dict[str, Any] = {"problem": problem, "typed_json": typed, "status": REFUSED_STATUS}
    return await _page(visit, edit, shown, trial=trial, faults=faults, **more)


async def _write(visit: Visit, edit: Edit, shown: Mapping[str, Any], *, publishes: bool) -> ApiAnswer | None:
    """Send what was changed, and publish it or not; None where nothing was changed and no draft waits."""
    path, changed = {"id": visit.request.path_params["schedule"]}, edit.changed
    migrate = {"migrate": "by_step_id"} if visit.form.get("migrate") else {}
    has_draft = bool(shown.get("draft_fields")) or bool(shown.get("unpublished"))
    if not changed and not (publishes and has_draft):
        return None
    if publishes and not has_draft:
        return await visit.call("update_schedule", {**changed, **migrate}, path=path, if_version=edit.version)
    version = edit.version
    if changed or not publishes:
        answer = await visit.call("update_schedule", {**changed, "draft": True}, path=path, if_version=version)
        if answer.is_refused or not publishes or answer.status == ACCEPTED:
            return answer
        version = answer.content["schedule"]["version"]
        edit.continue_from(version)
    return await visit.call("publish_schedule", migrate, path=path, if_version=version)


async def _conflict(visit: Visit, edit: Edit, now: Mapping[str, Any], trial: Mapping[str, str]) -> Reply:
    """Show the form with what was changed here and there; nothing was written."""
    merged, moved = merge(edit, now)
    theirs = fields_of(now)
    diffs = {name: diff_of(theirs.get(name), edit.fields.get(name)) for name in moved}
    conflict = {"moved": moved, "diffs": diffs, "who": await _last_editor(visit, now)}
    return await _page(visit, merged, now, trial=trial, conflict=conflict, status=CONFLICT_STATUS, is_redrawn=True)


async def _last_editor(visit: Visit, shown: Mapping[str, Any]) -> str:
    """Return who changed the schedule last; empty where the visitor may not read that."""
    found = await visit.ask("list_audit_logs", {"record_type": "schedule", "record_id": shown["id"], "per_page": 1})
    rows = [] if found is None else found["audit_logs"]
    return str(rows[0].get("user_email") or rows[0].get("actor") or "") if rows else ""


async def _shown(visit: Visit) -> Mapping[str, Any]:
    found = await visit.fetch("show_schedule", path={"id": visit.request.path_params["schedule"]})
    shown: Mapping[str, Any] = found["schedule"]
    return shown


async def _page(
    visit: Visit,
    edit: Edit,
    shown: Mapping[str, Any],
    *,
    trial: Mapping[str, str],
    faults: Faults = NO_FAULTS,
    status: int = 200,
    **more: Any,
) -> Reply:
    suggestions = {name: await names_of(visit, operation) for name, operation in SUGGESTIONS.items()}
    steps = {name: list(_step_rows(edit, name)) for name in STEP_LISTS}
    return visit.page(
        "schedule_edit.html",
        status=status,
        title=f"Edit {shown.get('name') or shown['id']}",
        schedule=shown,
        edit=edit,
        settings=settings_group(edit.fields, list(edit.began)),
        windows=_windows(edit),
        steps=steps,
        triggers=[unfold(Trigger, row, f"triggers.{place}") for place, row in enumerate(edit.fields["triggers"])],
        kinds={kind: _about(kind) for kind in STEP_KINDS},
        step_ids=[row.step_id for rows in steps.values() for row in rows],
        suggestions=suggestions,
        faults=faults,
        trial=trial,
        outcomes=OUTCOMES,
        **{"problem": None, "is_away": False, "conflict": None, "typed_json": "", **more},
    )


def _windows(edit: Edit) -> dict[str, list[FieldGroup]]:
    windows = edit.fields["windows"]
    return {
        channel: [unfold(Window, row, f"windows.{channel}.{place}") for place, row in enumerate(windows.get(channel, ()))]
        for channel in CHANNELS
    }


def _step_rows(edit: Edit, name: str) -> Iterator[StepRow]:
    for place, step in enumerate(edit.fields[name]):
        path = f"{name}.{place}"
        yield StepRow(
            path=path,
            step_id=str(step.get("id", "")),
            kind=str(step.get("kind", "")),
            about=_about(str(step.get("kind", ""))),
            title=_title(step),
            json=msgspec.json.encode(step).decode(),
            group=unfold_step(step, path) if path in edit.opened else None,
        )


def _title(step: Mapping[str, Any]) -> str:
    """Return what a step does in a line; where it is not right yet, its kind."""
    try:
        read = convert(step, Step)
    except msgspec.ValidationError:
        return str(step.get("kind", "")).replace("_", " ").capitalize()
    detail = detail_of(read)
    return f"{title_of(read)}: {detail}" if detail else title_of(read)


def _about(kind: str) -> str:
    """Return what a kind of step is for, as its type says."""
    return (STEP_KINDS[kind].__doc__ or "").partition("\n")[0] if kind in STEP_KINDS else ""


def _placed(errors: Mapping[str, Any], edit: Edit) -> dict[str, list[str]]:
    """Return the faults of an answer by the place of the form where each is shown: its field, or what the field is in."""
    placed: dict[str, list[str]] = {}
    for name, place in _placed_names(errors, edit):
        shown = errors[name] if place == _path_of(name) else [f"{name}: {sentence}" for sentence in errors[name]]
        placed.setdefault(place, []).extend(shown)
    return placed


def _placed_names(errors: Mapping[str, Any], edit: Edit) -> Iterator[tuple[str, str]]:
    """Yield the name of each fault with its place; empty where the form shows nothing of it."""
    places = set(_places(edit))
    for name in errors:
        place = _path_of(name)
        while place and place not in places:
            place = place.rpartition(".")[0]
        yield name, place


def _path_of(name: str) -> str:
    """Return the name of a fault as the form names its fields."""
    path = name.removeprefix("schedule.").replace("[", ".").replace("]", "")
    return path.removeprefix("lead.") if path.removeprefix("lead.") in LEAD_FIELDS else path


def _problem(title: str, detail: str, errors: Faults = NO_FAULTS) -> dict[str, Any]:
    """Return why the form itself refuses something, as the API would."""
    return {"code": "validation_failed", "title": title, "detail": detail, "status": REFUSED_STATUS, "errors": errors}


def _places(edit: Edit) -> Iterator[str]:
    """Yield every place beside which the form shows a fault."""
    yield from (*LISTS, *LEAD_FIELDS, "at", "windows")
    yield from places_of(settings_group(edit.fields, EDITED))
    yield from _all(group for rows in _windows(edit).values() for group in rows)
    for name in STEP_LISTS:
        for row in _step_rows(edit, name):
            yield row.path
            yield from _all([row.group] if row.group is not None else ())
    yield from _all(unfold(Trigger, row, f"triggers.{place}") for place, row in enumerate(edit.fields["triggers"]))


def _all(groups: Iterable[FieldGroup]) -> Iterator[str]:
    for group in groups:
        yield from places_of(group)


_NEEDS = ("show_schedule", "update_schedule", "publish_schedule", "preview_schedule")

PAGES: tuple[ConsolePage, ...] = (
    ConsolePage(path=EDITOR, handler=show, needs=_NEEDS),
    ConsolePage(path=EDITOR, handler=change, needs=_NEEDS, method="POST"),
    ConsolePage(path=CHECK, handler=check, needs=_NEEDS, method="POST"),
)
