"""What does somebody need who talks to leads? Their status, the call that they speak in and its lead, callbacks, messages.

The page follows the call: who is on the line stands first, and the forms of calls before stay below it until they are saved.

The page is that of the agent who has the visitor's e-mail address. Who may change agents opens any agent's page. An open
page of one's own sends the heartbeats of the agent: half a minute after it was closed the agent is offline.

Answers about one agent are not shared between visitors, whose teams may be the same: each is asked for by who reads it.
"""

import asyncio
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from adapters.http.console.rendering import instant_of
from adapters.http.console.visits import RECORDS_READ, ConsolePage, Visit, filled, rows_of
from adapters.http.exchange.exchange import Reply
from adapters.http.exchange.page_changes import ChangeSource
from adapters.http.exchange.problems import ProblemError
from adapters.http.schema.inputs import NOTES_LENGTH_MAX
from engine.account.contact_fields import SCRIPT_LENGTH_MAX
from engine.calendar.zones import is_zone, resolve_local
from engine.contact.schedule.templates import TextTooLongError, render
from engine.views.call import CALL_COLUMNS
from engine.views.lead_columns import LEAD_COLUMNS
from engine.views.record import record_columns
from schemas.instant import MINUTE, Instant, to_rfc3339

PATH = "/console/agent"

AGENTS_READ = 100
"""Agents that a search by e-mail address may find, and that are listed for who may open their pages."""

CALLS_READ = 50
"""Newest calls of the agent: the one on the line, and those whose leads may have a callback."""

WRAP_UP = 30 * MINUTE
"""How long after its end a call without a disposition stays on the page."""

CALLS_SHOWN = 8

BEFORE_SHOWN = 3
"""Ended calls without a disposition that are listed below the one on the line."""

TYPED_MAX = 8
"""Calls whose forms a page may say that it has something typed in: more than somebody leaves open."""

ID_DIGITS_MAX = 16
"""Of an id, which is below 2^53."""

SCRIPT_SHOWN_MAX = 2 * SCRIPT_LENGTH_MAX
"""Characters of a script with its tokens put in."""

CALLBACK = "schedule_callback_at"
"""The API's name of the time to call back, which a disposition may need."""

TOKENS = "post_call_tokens."
TOKEN, TOKEN_BEFORE = "token.", "token_before."
"""How the form names a field that the agent fills in, and what it said before."""

NOTHING: Mapping[str, Any] = {}

DONE = {
    "status": "Your status is set.",
    "call": "What you said of the call is stored.",
    "message": "The message is acknowledged.",
}


class OpenedCalls(Struct, frozen=True):
    """Which calls an open page has, by id: the one that it shows, the one of its address, and those with something typed.

    What was typed is known here only of a form that was sent and refused; it is empty where the open page holds it.
    """

    shown: str = ""
    asked: str = ""
    typed: Mapping[str, Mapping[str, Any]] = {}


async def show(visit: Visit) -> Reply:
    """Show the page of an agent, or the agents, where the visitor is none."""
    agent_id = await _agent_id(visit)
    if agent_id is None:
        return await _choose(visit)
    return await _page(visit, agent_id, 200, {})


async def show_part(visit: Visit) -> Reply:
    """Show what changes: the call on the line, and the forms of the calls before it."""
    agent_id = await _agent_id(visit)
    if agent_id is None:
        raise ProblemError("not_found", "There is no such agent any more.")
    return visit.page("agent_part.html", **await _found(visit, agent_id, _opened(visit)))


async def find_change_source(visit: Visit) -> ChangeSource:
    """Return the agent whose changes the page follows."""
    agent_id = await _required_id(visit)
    await visit.fetch("show_agent", path={"id": agent_id})
    return ChangeSource("agent", visit.company_source.company_id, agent_id)


async def beat(visit: Visit) -> Reply:
    """Say that the page of the visitor's own agent is open."""
    own = await _own_id(visit)
    if own is None:
        raise ProblemError("not_found", "You are no agent.")
    await visit.fetch("send_agent_heartbeat", path={"id": own})
    return visit.page("nothing.html")


async def set_status(visit: Visit) -> Reply:
    """Set the status that a button names."""
    agent_id = await _required_id(visit)
    fields = {"collaborator_id": agent_id, "agent_status_id": str(visit.form.get("agent_status_id", ""))}
    await visit.fetch("set_agent_status", fields)
    return visit.go_to(_url(visit, "status"))


async def acknowledge(visit: Visit) -> Reply:
    """Say that the agent has read a message."""
    agent_id = await _required_id(visit)
    message = visit.request.path_params["message"]
    await visit.fetch("acknowledge_agent_message", {"collaborator_id": agent_id}, path={"id": message})
    return visit.go_to(_url(visit, "message"))


async def judge(visit: Visit) -> Reply:
    """Store how a call went."""
    agent_id, call_id = await _required_id(visit), str(visit.request.path_params["call"])
    typed = {name: str(visit.form.get(name, "")).strip() for name in ("call_disposition_id", "notes", "callback")}
    fields: dict[str, Any] = {}
    if _lines(typed["notes"]) != _lines(str(visit.form.get("notes_before", ""))):
        fields["agent_call_disposition_notes"] = typed["notes"]
    if typed["call_disposition_id"]:
        fields["call_disposition_id"] = typed["call_disposition_id"]
    tokens = _filled_in(visit.form)
    if tokens:
        fields["post_call_tokens"] = tokens
    if typed["callback"]:
        stated = str(visit.form.get("callback_zone", ""))
        fields[CALLBACK] = _read_local(typed["callback"], stated if is_zone(stated) else visit.zone)
    answer = await visit.call("update_call", fields, path={"id": call_id})
    if answer.is_refused:
        return await _page(
            visit,
            agent_id,
            answer.status,
            {"problem": answer.content, "places": _places(answer.content.get("errors") or {})},
            opened=replace(_opened(visit), asked=call_id, typed={call_id: {**typed, "tokens": tokens}}),
        )
    return visit.go_to(_url(visit, "call"))


def _places(errors: Mapping[str, Iterable[str]]) -> dict[str, str]:
    """Return the field of the form at which each fault is shown: the one that it names, or that it says to send."""
    names = {CALLBACK: "callback", "agent_call_disposition_notes": "notes"}
    found = {name: names.get(name) or name.replace(TOKENS, TOKEN, 1) for name in errors}
    missing = {name: "callback" for name, sentences in errors.items() if any(CALLBACK in one for one in sentences)}
    return {**found, **missing}


async def _page(
    visit: Visit, agent_id: int, status: int, more: Mapping[str, Any], *, opened: OpenedCalls | None = None
) -> Reply:
    found = await _found(visit, agent_id, opened or _opened(visit))
    shown = {
        "problem": None,
        "is_away": False,
        "title": str(found["agent"]["name"] or found["agent"]["id"]),
        "own": await _own_id(visit) == agent_id,
        "done": DONE.get(str(visit.query.get("done", ""))),
        **more,
    }
    return visit.page("agent.html", status=status, **{**found, **shown})


async def _choose(visit: Visit) -> Reply:
    answer = await visit.fetch("list_agents", {"per_page": AGENTS_READ})
    agents = [filled(row, record_columns("agent")) for row in rows_of(answer)]
    return visit.page("agents.html", title="Agent", agents=agents, can_open=visit.may("update_agent"), most=AGENTS_READ)


async def _found(visit: Visit, agent_id: int, opened: OpenedCalls) -> dict[str, Any]:
    """Return what the page of an agent shows. Raises `ApiRefusedError` where it is not the visitor's."""
    questions: tuple[Any, ...] = (
        visit.fetch("show_agent", path={"id": agent_id}),
        visit.look("list_agent_statuses", {"per_page": RECORDS_READ}),
        visit.ask("list_messages_of_agent", path={"id": agent_id}),
        visit.ask("list_calls", {"agent_id": agent_id, "per_page": CALLS_READ}),
    )
    agent, statuses, messages, calls = await asyncio.gather(*questions)
    rows = [] if calls is None else [filled(row, CALL_COLUMNS) for row in rows_of(calls)]
    works = await _works(visit, rows, opened)
    return {
        "agent": filled(agent["agent"], record_columns("agent")),
        "statuses": None if statuses is None else _sorted(rows_of(statuses), "agent_status"),
        "messages": None
        if messages is None
        else [filled(row, record_columns("agent_message")) for row in rows_of(messages)],
        "calls": None if calls is None else rows[:CALLS_SHOWN],
        "work": next(iter(works), None),
        "before": works[1:],
        "asked": opened.asked,
        "callbacks": await _callbacks(visit, rows),
        "agent_query": _agent_query(visit),
    }


async def _works(visit: Visit, rows: Iterable[Mapping[str, Any]], opened: OpenedCalls) -> list[dict[str, Any]]:
    """Return the panels of the page: of the call that it shows first, then of the calls before it."""
    known = {str(row["id"]): row for row in rows}
    ids = order_calls(known.values(), visit.now, opened)
    calls = [known.get(one) or await _call(visit, one) for one in ids]
    works = (_work(visit, call, opened) for call in calls if call is not None)
    return list(await asyncio.gather(*works))


def order_calls(calls: Iterable[Mapping[str, Any]], now: Instant, opened: OpenedCalls) -> list[str]:
    """Return the ids of the calls whose forms the page has: first the call on the line, which a page of another one leaves.

    While none is on the line, the page stays at the call that it shows: what is typed after a call stays where it is.
    """
    newest = list(calls)
    on_line = [str(call["id"]) for call in newest if call["in_progress"]]
    unsaved = [str(call["id"]) for call in newest if _waits(call, now)][:BEFORE_SHOWN]
    named = [one for one in (opened.shown, opened.asked) if one]
    first = [*on_line[:1], *named, *unsaved][:1]
    return list(dict.fromkeys([*first, *on_line, *filter(None, [opened.asked]), *opened.typed, *unsaved]))


def _waits(call: Mapping[str, Any], now: Instant) -> bool:
    """Return whether a call has just ended, and nothing was said of it yet."""
    ended_at = instant_of(call["ended_at"])
    return ended_at is not None and ended_at > now - WRAP_UP and call["call_disposition_id"] is None


def _zone_of(call: Mapping[str, Any], lead: Mapping[str, Any] | None) -> str:
    """Return the zone of the person of a call: as stated of the lead, else the first candidate; empty: it is not known."""
    candidates = ((lead or {}).get("time_zone"), call["time_zone"])
    return next((str(zone) for zone in candidates if zone and is_zone(str(zone))), "")


async def _callbacks(visit: Visit, calls: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]] | None:
    """Return the leads of these calls that were promised a callback, the next one first, with the zone of each person."""
    newest = {call["lead_id"]: call for call in reversed(list(calls))}
    ids = sorted(number for number in newest if number is not None)
    if not ids:
        return [] if visit.may("list_leads") else None
    answer = await visit.ask("list_leads", {"ids": ",".join(map(str, ids)), "page": 1, "per_page": CALLS_READ})
    rows = None if answer is None else [filled(row, LEAD_COLUMNS) for row in rows_of(answer)]
    promised = [{**row, "zone": _zone_of(newest[row["id"]], row)} for row in rows or () if row["callback_at"]]
    return None if rows is None else sorted(promised, key=lambda row: row["callback_at"])


async def _call(visit: Visit, reference: str) -> Mapping[str, Any] | None:
    answer = await visit.call("show_call", path={"id": reference}) if visit.may("show_call") else None
    return None if answer is None or answer.is_refused else filled(answer.content["call"], CALL_COLUMNS)


def _filled_in(form: Mapping[str, Any]) -> dict[str, Any]:
    """Return the tokens that the agent has changed; one that was emptied is null."""
    found: dict[str, Any] = {}
    for name, value in form.items():
        key = name.removeprefix(TOKEN)
        if name.startswith(TOKEN) and str(value).strip() != str(form.get(f"{TOKEN_BEFORE}{key}", "")):
            found[key] = str(value).strip() or None
    return found


async def _field_type(visit: Visit, call: Mapping[str, Any], lead: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Return the script and the fields of a call, with what is known of them; None where it names no contact field type."""
    named = str(call["contact_field_type"] or (lead or {}).get("contact_field_type") or "")
    if not (named.isascii() and named.isdigit() and len(named) <= ID_DIGITS_MAX):
        return None
    answer = await visit.look("show_contact_field_type", path={"id": named})
    if answer is None:
        return None
    shown = filled(answer["contact_field_type"], record_columns("contact_field_type"))
    tokens = _known(call, lead, [one["key"] for one in shown["fields"] or ()])
    script = _with_tokens(shown["script"] or "", tokens)
    return {
        "name": shown["name"],
        "known": tokens,
        "script": script,
        "fields": [_shown_field(one, tokens.get(one["key"])) for one in shown["fields"] or ()],
    }


def _known(call: Mapping[str, Any], lead: Mapping[str, Any] | None, filled_in: Iterable[str] = ()) -> dict[str, Any]:
    """Return the tokens of a call: of its lead as it is now, and of the call what the agent fills in, or the lead lacks."""
    of_call, of_lead = call["token_values"] or {}, (lead or {}).get("data") or {}
    return {**of_call, **of_lead, **{key: of_call[key] for key in filled_in if key in of_call}}


def _with_tokens(script: str, tokens: Mapping[str, Any]) -> str:
    """Return a script with its tokens put in; as it was written where they would make it too long to read out."""
    try:
        return render(script, tokens.get, length_max=SCRIPT_SHOWN_MAX)[0]
    except TextTooLongError:
        return script


def _shown_field(field: Mapping[str, Any], known: Any) -> dict[str, Any]:
    """Return a field as the form has it: what is known of it as text, and what may be chosen."""
    kind = field.get("kind") or "text"
    text = "" if known is None else str(known)
    return {
        "key": field["key"],
        "label": field.get("label") or field["key"],
        "kind": kind,
        "options": ("true", "false") if kind == "boolean" else field.get("options") or (),
        "known": text.lower() if kind == "boolean" else text,
    }


async def _work(visit: Visit, call: Mapping[str, Any], opened: OpenedCalls) -> dict[str, Any]:
    """Return what the panel of a call shows: its lead, the script of it, and what can be said of it."""
    typed = opened.typed.get(str(call["id"]))
    lead = await visit.ask("show_lead", path={"id": call["lead_id"]}) if call["lead_id"] is not None else None
    shown_lead = None if lead is None else filled(lead["lead"], LEAD_COLUMNS)
    zone, field_type = _zone_of(call, shown_lead), await _field_type(visit, call, shown_lead)
    dispositions = await visit.look("list_call_dispositions", {"per_page": RECORDS_READ})
    return {
        "call": call,
        "lead": shown_lead,
        "zone": zone or visit.zone,
        "is_zone_known": bool(zone),
        "field_type": field_type,
        "known": _known(call, shown_lead) if field_type is None else field_type["known"],
        "dispositions": [] if dispositions is None else _sorted(rows_of(dispositions), "call_disposition"),
        "notes_max": NOTES_LENGTH_MAX,
        "is_typed": str(call["id"]) in opened.typed,
        "typed": typed
        or {
            "call_disposition_id": str(call["call_disposition_id"] or ""),
            "notes": call["agent_call_disposition_notes"] or "",
            "callback": "",
            "tokens": {},
        },
    }


async def _agent_id(visit: Visit) -> int | None:
    """Return whose page is asked for: an agent of the address, else the visitor's own. Whether it may be is the API's."""
    named = _agent_query(visit)
    return int(named) if named else await _own_id(visit)


async def _required_id(visit: Visit) -> int:
    """Return the agent that a button is about. Raises `ProblemError` where there is none."""
    found = await _agent_id(visit)
    if found is None:
        raise ProblemError("not_found", "You are no agent: none has your e-mail address.")
    return found


async def _own_id(visit: Visit) -> int | None:
    """Return the agent with the visitor's e-mail address."""
    email = None if visit.access is None else visit.access.user_email
    if email is None:
        return None
    answer = await visit.look("list_agents", {"fulltext": email, "per_page": AGENTS_READ})
    rows = [] if answer is None else rows_of(answer)
    return next((row["id"] for row in rows if row.get("user_email") == email), None)


def _opened(visit: Visit) -> OpenedCalls:
    """Return which calls an open page has, as it says."""
    typed = [digits for text in str(visit.query.get("typed", "")).split(",") if (digits := _digits(text))]
    shown = _digits(str(visit.query.get("open_call", "")))
    asked = _digits(str(visit.query.get("call", "")))
    return OpenedCalls(shown=shown, asked=asked, typed=dict.fromkeys(typed[:TYPED_MAX], NOTHING))


def _agent_query(visit: Visit) -> str:
    """Return the agent that the address names, as digits; empty for one's own."""
    return _digits(str(visit.query.get("agent", "") or visit.form.get("agent", "")))


def _digits(text: str) -> str:
    """Return an id as it was sent; empty for what is none."""
    return text if text.isascii() and text.isdigit() and len(text) <= ID_DIGITS_MAX else ""


def _url(visit: Visit, done: str) -> str:
    named = _agent_query(visit)
    return f"{PATH}?done={done}" + (f"&agent={named}" if named else "")


def _lines(text: str) -> list[str]:
    """Return a text as its lines: browsers end them in another way than it was stored."""
    return text.strip().splitlines()


def _read_local(text: str, zone: str) -> str:
    """Return a time on the clock of a zone, as a browser sends it; what is no time is left to the API to refuse."""
    try:
        return to_rfc3339(resolve_local(datetime.fromisoformat(text).replace(tzinfo=None), zone))
    except (ValueError, OverflowError):
        return text


def _sorted(rows: Iterable[Mapping[str, Any]], record_type: str) -> list[dict[str, Any]]:
    """Return records in the order that the company gave them."""
    records = [filled(row, record_columns(record_type)) for row in rows]
    return sorted(records, key=lambda row: (row["sortable_order"] is None, row["sortable_order"] or 0, str(row["name"])))


_NEEDS = ("list_agents", "show_agent")

PAGES: tuple[ConsolePage, ...] = (
    ConsolePage(path=PATH, handler=show, label="Agent", needs=_NEEDS),
    ConsolePage(path=f"{PATH}/part", handler=show_part, needs=_NEEDS, changes=find_change_source),
    ConsolePage(path=f"{PATH}/heartbeat", handler=beat, needs=(*_NEEDS, "send_agent_heartbeat"), method="POST"),
    ConsolePage(path=f"{PATH}/status", handler=set_status, needs=(*_NEEDS, "set_agent_status"), method="POST"),
    ConsolePage(
        path=f"{PATH}/messages/{{message:str}}",
        handler=acknowledge,
        needs=(*_NEEDS, "acknowledge_agent_message"),
        method="POST",
    ),
    ConsolePage(path=f"{PATH}/calls/{{call:str}}", handler=judge, needs=(*_NEEDS, "update_call"), method="POST"),
)
