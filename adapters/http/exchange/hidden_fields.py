"""Which fields does the sender of a request not see, of leads, calls and records? This place alone asks the teams.

A request that names such a field is refused; an answer, file or event is cut to what is left. What cannot be cut is refused
as a whole. A field is restricted where every team that grants its model restricts it.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import structs

from adapters.http.exchange.access import Access
from adapters.http.exchange.exchange import JSON, Exchange, Operation, Reply
from adapters.http.exchange.parameters import read_id
from adapters.http.exchange.problems import ProblemError
from adapters.reads.ports import Row
from engine.views.hidden_fields import ACROSS, HIDEABLE, MONEY_OF_ALL_CALLS, is_named, with_following
from engine.views.lead_bulk_job import CHANGED_BY

NAMING = ("columns", "order", "category", "pivot", "group_by", "stat")
"""Parameters whose values are names of fields."""

_MODELS: Mapping[str, tuple[str, ...]] = {
    "list_contacts": ("contact", "lead"),
    **dict.fromkeys(
        (
            *("list_suppression_entries", "add_suppression_entries", "remove_suppression_entries"),
            "import_suppression_entries",
        ),
        ("suppression_list", "contact"),
    ),
    "forecast_schedule_change": ("lead", "schedule"),
    "report_outcomes": ("lead", "call"),
    **dict.fromkeys(("list_scheduled_callbacks", "show_scheduled_callback", "report_scheduled_callbacks"), ("lead", "call")),
    "list_messages_of_agent": ("agent_message", "agent", "agent_status"),
    "set_agent_status": ("agent", "agent_status"),
    "change_own_password": ("user",),
    "finish_second_factor": ("user",),
    "show_request": tuple(HIDEABLE),
}
"""Operation -> models of what it shows, where that is not the model of its scope alone."""

_FILTER_READS: Mapping[str, tuple[str, ...]] = {
    "contact_id": ("caller_id", "email", "caller_number", "number_called"),
}
"""Filter -> fields without which it may not be used: it finds all of one person, whom the sender may not know."""

_OF_THE_LEAD = frozenset({"tag", "lead_import_id"})
"""Filters and categories of calls that read the lead of a call."""

_PATH_READS: Mapping[str, str] = {
    "update_calls_by_caller_id": "caller_number",
    **dict.fromkeys(("caller_opt_out", "caller_remove", "caller_move_to_end_of_schedule"), "number"),
    **dict.fromkeys(("show_contact", "caller_block", "caller_unblock", "decide_opt_out_review"), "number"),
}
"""Operation -> what the `id` of its path names, where that is no internal id."""

_WITH_WHOLE_LEADS = frozenset(
    {
        *("forecast_leads", "forecast_schedule_change", "report_queues"),
        *("list_subscription_deliveries", "show_subscription_delivery", "replay_subscription"),
        *("create_subscription", "update_subscription", "create_outgoing_webhook", "update_outgoing_webhook"),
        *("list_webhook_logs", "show_webhook_log"),
        *("create_lead_bulk_job", "list_lead_bulk_jobs", "show_lead_bulk_job", "list_lead_bulk_results"),
        *("cancel_lead_bulk_job", "list_lead_import_errors"),
        *("list_kept_submissions", "accept_kept_submission", "discard_kept_submission"),
    }
)
"""Operations that show leads and calls as a whole, find them by anything, or say to whom they are posted."""

_EXPLAINED_BY = (
    "status",
    "status_wait",
    "next_action_at",
    "time_zone",
    "state_province",
    "opt_out",
    "blocked",
    "expires_at",
)
"""Fields of a lead that the sentences of an explanation are made of."""

_NESTED = frozenset(
    {"report_leads", "report_calls", "report_channels", "report_outcomes", "report_steps", "report_scheduled_callbacks"}
)
"""Operations whose rows hold the same names at any depth."""

JSON_TYPE = Reply().media_type

_ENVELOPE = frozenset({"status", "errors", "metadata"})

_WEBHOOK_MODELS = ("lead", "call", "conversion")


def refuse_restricted(exchange: Exchange) -> None:
    """Raise `ProblemError` forbidden where a request names, or would change, a field that the teams keep from its sender."""
    access, operation = exchange.access, exchange.operation
    if access is None or access.user_email is None:
        return
    if operation.name in _WITH_WHOLE_LEADS and _sees_less_of_leads(access):
        detail = f"The teams of {access.user_email} hide fields of leads or calls; this operation cannot leave them out."
        raise ProblemError("forbidden", detail)
    if operation.name == "create_lead_bulk_job":
        _refuse_unchangeable(exchange, access)
    modes = ("none",) if operation.safe else ("none", "read")
    kept = _kept_back(access, operation, *modes)
    if operation.scope == "call:read":
        kept |= _restricted(access, "lead", *modes) & _OF_THE_LEAD
    if not kept or operation.scope.endswith(":create"):  # a new record may have any field
        return
    faults = {name: words for name, words in _named(exchange).items() if any(is_named(word, kept) for word in words)}
    if faults:
        what = "hide" if operation.safe else "do not let that person see or change"
        errors = {
            name: [f"names what the teams of {access.user_email} {what}: {_listed(words, kept)}"]
            for name, words in faults.items()
        }
        raise ProblemError("forbidden", f"Leave {', '.join(faults)} out and resend.", errors)


def _refuse_unchangeable(exchange: Exchange, access: Access) -> None:
    """Raise `ProblemError` forbidden where a bulk job would change what its maker may not change of one lead."""
    action = exchange.fields.get("action")
    word = CHANGED_BY.get(action, "") if isinstance(action, str) else ""
    if is_named(word, _restricted(access, "lead", "none", "read")):
        detail = f"The teams of {access.user_email} do not let that person change this."
        raise ProblemError("forbidden", detail, {"action": [f"changes leads by {word}"]})


def find_hidden(access: Access, model: str, query: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return what a query, which may be sent later, names that the sender does not see: parameter -> a sentence."""
    if access.user_email is None:
        return {}
    kept = _restricted(access, model, "none")
    named = {name: _listed(_words_of(name, value), kept) for name, value in query.items()}
    return {name: [f"names what the teams of {access.user_email} hide: {words}"] for name, words in named.items() if words}


def hide(exchange: Exchange, reply: Reply) -> Reply:
    """Return an answer without what the sender does not see. Files and streams are cut where they are written."""
    access = exchange.access
    if access is None or access.user_email is None or reply.content is None:
        return reply
    hidden = _kept_back(access, exchange.operation, "none")
    if not hidden:
        return reply
    content = reply.content
    if isinstance(content, bytes):
        if reply.media_type != JSON_TYPE:
            return reply
        content = msgspec.json.decode(content)
    elif isinstance(content, Mapping | list):
        content = msgspec.json.decode(JSON.encode(content))  # rows may be encoded beforehand
    return structs.replace(reply, content=_cut_answer(content, hidden, is_nested=exchange.operation.name in _NESTED))


def shown_columns(exchange: Exchange, columns: Sequence[str]) -> tuple[str, ...]:
    """Return the columns that the sender sees, for a file; those of a pivot end in the column's name."""
    access = exchange.access
    hidden = frozenset[str]() if access is None else _kept_back(access, exchange.operation, "none")
    return tuple(name for name in columns if name.rpartition(".")[2] not in hidden)


def without_hidden(access: Access, models: Iterable[str], shown: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is shown of a record without the fields of any of these models that the sender does not see."""
    hidden = frozenset[str]().union(*(_restricted(access, model, "none") for model in models))
    return {name: value for name, value in shown.items() if name not in hidden}


def hidden_for_webhooks(exchange: Exchange) -> dict[str, tuple[str, ...]]:
    """Return what a webhook that the sender fires leaves out: model -> fields."""
    found = {model: _restricted(exchange.key, model, "none") for model in _WEBHOOK_MODELS}
    return {model: tuple(sorted(fields)) for model, fields in found.items() if fields}


def cut_explanation(exchange: Exchange, shown: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return an explanation of a lead without what its decision recorded, if the sender sees no whole leads.

    Raises `ProblemError` forbidden where its sentences would say what is hidden.
    """
    hidden = _restricted(exchange.key, "lead", "none")
    said = [name for name in _EXPLAINED_BY if name in hidden]
    if said:
        detail = f"An explanation says {', '.join(said)}, which the teams of {exchange.key.user_email} hide."
        raise ProblemError("forbidden", detail)
    decision = shown.get("decision")
    return shown if not hidden or decision is None else {**shown, "decision": {**decision, "data": {}}}


def cut_facts(exchange: Exchange, model: str, facts: Sequence[Row], kept: Sequence[str]) -> list[dict[str, Any]]:
    """Return facts as they are, or cut to some names where the sender does not see all of a lead, call or the model.

    A fact may record any value of these, under names of its own.
    """
    access = exchange.access
    is_whole = access is None or not (_sees_less_of_leads(access) or _restricted(access, model, "none"))
    return [dict(fact) if is_whole else {name: fact[name] for name in kept if name in fact} for fact in facts]


def is_hidden(access: Access, model: str, field: str) -> bool:
    """Return whether the teams hide a field of a model."""
    return field in _restricted(access, model, "none")


def sees_whole_leads(exchange: Exchange) -> bool:
    """Return whether no team hides a field of leads or calls from the sender."""
    return exchange.access is None or not _sees_less_of_leads(exchange.access)


def _sees_less_of_leads(access: Access) -> bool:
    return any(_restricted(access, model, "none") for model in ("lead", "call"))


def _kept_back(access: Access, operation: Operation, *modes: str) -> frozenset[str]:
    """Return the words for what the teams restrict of all that an operation shows."""
    models = _MODELS.get(operation.name, (operation.scope.partition(":")[0],))
    return frozenset[str]().union(*(_restricted(access, model, *modes) for model in models))


def _restricted(access: Access, model: str, *modes: str) -> frozenset[str]:
    return with_following(model, access.restricted(model, *modes) | _made_of_hidden(access, model))


def _made_of_hidden(access: Access, model: str) -> frozenset[str]:
    """Return the words of a model for what fields of other models say that the sender does not see."""
    across = ACROSS.get(model)
    if across is None or access.is_superuser:
        return frozenset()
    sources = {source for fields in across.values() for source, _ in fields}
    hidden = {source: with_following(source, access.restricted(source, "none")) for source in sources}
    found = {word for word, fields in across.items() if any(field in hidden[source] for source, field in fields)}
    return frozenset(found if _sees_all_calls(access) else found | set(MONEY_OF_ALL_CALLS.get(model, ())))


def _sees_all_calls(access: Access) -> bool:
    return access.has_scope("call:read") and access.visibility("call:read").leads is None


def _named(exchange: Exchange) -> dict[str, tuple[str, ...]]:
    """Return parameter -> the words for fields that it names: its own name, or its values."""
    found: dict[str, tuple[str, ...]] = {}
    known = exchange.operation.known() if exchange.operation.extra == "tokens" else None
    for name, value in exchange.fields.items():
        words = _words_of(name, value)
        found[name] = words if name in NAMING or known is None or name in known else (*words, "data")
    read = _PATH_READS.get(exchange.operation.name)
    if read is not None and read_id(exchange.path.get("id", "")) is None:
        found["id"] = (read,)
    return {**found, **{name: (name,) for name in exchange.path if name != "id"}}


def _words_of(name: str, value: Any) -> tuple[str, ...]:
    """Return the words for fields that a parameter names: its own name, or its values."""
    return _words(value) if name in NAMING else (name, *_FILTER_READS.get(name, ()))


def _words(value: Any) -> tuple[str, ...]:
    parts = value if isinstance(value, list) else str(value).split(",")
    return tuple(str(part).strip() for part in parts)


def _listed(words: Iterable[str], kept: frozenset[str]) -> str:
    return ", ".join(word for word in words if is_named(word, kept))


def _cut_answer(content: Any, hidden: frozenset[str], *, is_nested: bool) -> Any:
    if not isinstance(content, Mapping) or "metadata" not in content:
        return _cut(content, hidden, is_nested=is_nested)  # a bare record or list
    kept = _ENVELOPE | {content["metadata"].get("root")}
    return {
        name: value if name in _ENVELOPE else _cut(value, hidden, is_nested=is_nested)
        for name, value in content.items()
        if name in kept or name not in hidden
    }


def _cut(value: Any, hidden: frozenset[str], *, is_nested: bool) -> Any:
    if isinstance(value, list):
        return [_cut(one, hidden, is_nested=is_nested) for one in value]
    if not isinstance(value, Mapping):
        return value
    shown = {name: one for name, one in value.items() if name not in hidden}
    return {name: _cut(one, hidden, is_nested=True) for name, one in shown.items()} if is_nested else shown
