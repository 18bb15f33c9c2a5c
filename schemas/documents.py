"""Which schemas are published? JSON Schema of each message, and an AsyncAPI document of all topics.

Generated from the structs and the table of topics, and committed under `deploy/schemas` (a test keeps them in step). There
`asyncapi.json` refers to the schemas beside it; the one that the API serves holds them all, for who has nothing else.
"""

from collections.abc import Iterable, Mapping
from inspect import cleandoc
from typing import Any

import msgspec

from schemas.commands import COMMAND_KINDS, Fence
from schemas.decisions import Decision, OutboxEntry, Position
from schemas.deployment import AcceptedSite, AddedTopics, Deployment, ReplacedTopics
from schemas.impressions import Impression
from schemas.inbox import Submission
from schemas.problems import PROBLEMS
from schemas.records import RECORD_BODIES
from schemas.requests import ACCOUNT_REQUESTS, CONTACT_REQUESTS
from schemas.short import SHORT_NAMES
from schemas.state import ENTITIES
from schemas.topics import (
    ACCOUNTS_DECISIONS,
    ACCOUNTS_REQUESTS,
    ACCOUNTS_RULES,
    ACCOUNTS_STATE,
    COMMAND_TOPICS,
    CONTACTS_DECISIONS,
    CONTACTS_REQUESTS,
    CONTACTS_STATE,
    DEADLETTER,
    IMPRESSIONS,
    INBOXES,
    TOPICS,
    Topic,
)
from schemas.wire import Message

DIALECT = "https://json-schema.org/draft/2020-12/schema"

MESSAGES_VERSION = "1.0.0"
"""Rises with the messages: a major version only adds fields."""

_ORDERS: tuple[type[Message], ...] = (*COMMAND_KINDS, Fence)
_ACCOUNT_ENTITIES = frozenset({"record", "slots", "claim", "queued", "taken", "referrers", "seen"})
_SHARED_ENTITIES = frozenset({"stream"})

Schema = dict[str, Any]


def families() -> dict[str, dict[str, type]]:
    """Return every struct that is written anywhere: family -> name -> struct."""
    return {
        "inbox": {"lead.submitted": Submission},
        "request": {**CONTACT_REQUESTS, **ACCOUNT_REQUESTS},
        "command": {_tag(kind): kind for kind in _ORDERS},
        "decision": {"decision": Decision},
        "state": {**ENTITIES, "outbox": OutboxEntry, "position": Position},
        "record": dict(RECORD_BODIES),
        "deployment": {
            "identity": Deployment,
            "topics": AddedTopics,
            "replaced": ReplacedTopics,
            "site": AcceptedSite,
        },
        "impression": {"recorded": Impression},
    }


def json_schemas() -> dict[str, Schema]:
    """Return a self-contained JSON Schema for each struct, by `family.name`."""
    return {f"{family}.{name}": _document(f"{family}.{name}", kind) for family, name, kind in _all()}


def asyncapi() -> Schema:
    """Return the AsyncAPI 3.0 document with all schemas in it: every topic as a channel, every struct on it as a message."""
    references, components = schema_components([kind for _, _, kind in _all()], "#/components/schemas/{name}")
    payloads = {f"{family}.{name}": reference for (family, name, _), reference in zip(_all(), references, strict=True)}
    return _asyncapi(payloads, components)


def asyncapi_of_files() -> Schema:
    """Return the same document for the folder of the schemas: each payload refers to the file of its message."""
    return _asyncapi({name: {"$ref": schema_file(name)} for name in json_schemas()}, {})


def schema_components(kinds: Iterable[Any], ref_template: str) -> tuple[tuple[Schema, ...], Schema]:
    """Return a reference to the schema of each type, and the schemas by name; amounts are numbers, as they are written."""
    references, components = msgspec.json.schema_components(kinds, ref_template=ref_template)
    return references, _with_amounts(components)


def _with_amounts(value: Any) -> Any:
    if isinstance(value, list):
        return [_with_amounts(part) for part in value]
    if not isinstance(value, dict):
        return value
    if value.get("format") == "decimal":
        default = {"default": int(value["default"])} if "default" in value else {}
        more = {name: part for name, part in value.items() if name not in {"type", "format", "default"}}
        return {**more, "type": "number", **default}
    return {name: _with_amounts(part) for name, part in value.items()}


def schema_file(name: str) -> str:
    """Return the file of a message's JSON Schema, by its `family.name`."""
    return f"{name}.schema.json"


def _asyncapi(payloads: Mapping[str, Schema], components: Schema) -> Schema:
    document: Schema = {
        "asyncapi": "3.0.0",
        "info": {
            "title": "leadclock",
            "version": MESSAGES_VERSION,
            "description": "Lead submissions and caller actions in; scheduled calls, texts, e-mails and webhooks out.",
        },
        "defaultContentType": "application/json",
        "channels": {topic.name: _channel(topic) for topic in TOPICS},
        "operations": {
            f"{action}.{topic.name}": _operation(action, topic) for topic in TOPICS for action in _actions(topic)
        },
        "components": {
            "messages": {name: _message(name, payload) for name, payload in payloads.items()} | {"dead": _DEAD},
            "schemas": {**components, "CloudEvent": _ATTRIBUTES, "InboxHeaders": _INBOX_HEADERS},
        },
    }
    tidy: Schema = _tidy(document)
    return tidy


_PROBLEMS_HEAD = """# Problem codes

Branch on `code`: it is stable. It is the `code` of `application/problem+json` over HTTP, the `dl_code` of a dead letter, and
the code of a recorded answer. Where `retry` is yes, the same request may succeed later without change.

| HTTP status | what to do |
| --- | --- |
| 400, 413, 415, 422 | Correct the fields listed in `errors` and resend. `next_allowed_at` says when a call is allowed |
| 401, 403 | Check the key, its scopes and its `ip_allow_list` |
| 404, 405, 410 | Check the path, the id and the lead token |
| 409 | Read the record again, then decide |
| 429 | Wait for `Retry-After` |
| 500 | `internal_error`: retry. `decision_failed`: the request is a dead letter; report it |
| 503 | Retry after `Retry-After`, with the same `Idempotency-Key` if you used one |

`deploy/write_schemas.py` writes this page from `schemas/problems.py`.
"""


def problem_catalogue() -> str:
    """Return the table of problem codes, as Markdown."""
    rows = "\n".join(
        f"| `{code}` | {row.status} | {row.title} | {'yes' if row.retryable else ''} |"
        for code, row in sorted(PROBLEMS.items(), key=lambda item: item[1].status)
    )
    return f"{_PROBLEMS_HEAD}\n| code | HTTP status | meaning | retry |\n| --- | --- | --- | --- |\n{rows}\n"


def _all() -> list[tuple[str, str, type]]:
    return [(family, name, kind) for family, kinds in families().items() for name, kind in kinds.items()]


def _tag(kind: type) -> str:
    return str(kind.__struct_config__.tag)  # type: ignore[attr-defined]  # every command has one


def _document(name: str, kind: type) -> Schema:
    (reference,), components = schema_components([kind], "#/$defs/{name}")
    document = {"$schema": DIALECT, "$id": f"urn:leadclock:{name}:{MESSAGES_VERSION}", **reference, "$defs": components}
    tidy: Schema = _tidy(document)
    return tidy


def _tidy(value: Any) -> Any:
    """Take out what differs between versions of Python (the indentation of docstrings) and dialects (`discriminator`)."""
    if isinstance(value, list):
        return [_tidy(part) for part in value]
    if not isinstance(value, dict):
        return value
    return {name: _tidied(name, part) for name, part in value.items()}


def _tidied(name: str, part: Any) -> Any:
    if name == "description" and isinstance(part, str):
        return cleandoc(part)
    # OpenAPI has an object here, AsyncAPI the name of the property, JSON Schema passes over both.
    if name == "discriminator" and isinstance(part, dict) and "propertyName" in part:
        return part["propertyName"]
    return _tidy(part)


def messages_of(topic: Topic) -> list[str]:
    """Return the `family.name` of what is written to a topic; nothing for the raw bytes of the dead letters."""
    kinds = families()
    own = _ACCOUNT_ENTITIES if topic is ACCOUNTS_STATE else kinds["state"].keys() - _ACCOUNT_ENTITIES
    tables: Mapping[str, Iterable[str]] = {
        **{inbox.name: ["inbox.lead.submitted"] for inbox in INBOXES},
        CONTACTS_REQUESTS.name: [f"request.{name}" for name in CONTACT_REQUESTS],
        ACCOUNTS_REQUESTS.name: [f"request.{name}" for name in ACCOUNT_REQUESTS],
        CONTACTS_DECISIONS.name: ["decision.decision"],
        ACCOUNTS_DECISIONS.name: ["decision.decision"],
        ACCOUNTS_RULES.name: [
            "state.record",
            "deployment.identity",
            "deployment.topics",
            "deployment.replaced",
            "deployment.site",
        ],
        CONTACTS_STATE.name: _states(kinds["state"], own),
        ACCOUNTS_STATE.name: _states(kinds["state"], own | _SHARED_ENTITIES | {"outbox", "position"}),
        DEADLETTER.name: [],
        IMPRESSIONS.name: ["impression.recorded"],
        **{
            COMMAND_TOPICS[name].name: [
                *(f"command.{_tag(kind)}" for kind, its in COMMAND_KINDS.items() if its == name),
                f"command.{_tag(Fence)}",
            ]
            for name in COMMAND_TOPICS
        },
    }
    return list(tables[topic.name])


def _states(kinds: Iterable[str], own: Iterable[str]) -> list[str]:
    chosen = set(own)
    return [f"state.{name}" for name in kinds if name in chosen]


def _channel(topic: Topic) -> Schema:
    settings: Schema = {"cleanup.policy": [topic.cleanup]}
    if topic.retention_ms is not None:
        settings["retention.ms"] = topic.retention_ms
    names = messages_of(topic) or ["dead"]
    return {
        "address": topic.name,
        "description": f"{topic.content} (key: {topic.key})",
        "messages": {name: {"$ref": f"#/components/messages/{name}"} for name in names},
        "bindings": {"kafka": {"topicConfiguration": settings, "bindingVersion": "0.5.0"}},
    }


def _actions(topic: Topic) -> tuple[str, ...]:
    """Say what this application does with a topic; what it both writes and reads has two operations."""
    if topic in INBOXES:
        return ("receive",)
    return ("send",) if topic is DEADLETTER else ("send", "receive")


def _operation(action: str, topic: Topic) -> Schema:
    channel = f"#/channels/{topic.name}"
    names = messages_of(topic) or ["dead"]
    messages = [{"$ref": f"{channel}/messages/{name}"} for name in names]
    return {"action": action, "channel": {"$ref": channel}, "messages": messages}


def _message(name: str, payload: Schema) -> Schema:
    family, _, kind = name.partition(".")
    message: Schema = {"name": kind, "title": name, "payload": payload}
    if family == "state":
        # The changelogs are packed, the rules are not: both hold the same struct.
        message["contentType"] = "application/json" if kind == "record" else "application/msgpack"
        if short := {name: SHORT_NAMES[name] for name in _names(kind) if name in SHORT_NAMES}:
            message["x-names-in-the-changelog"] = short
    elif family == "inbox":
        message |= {"headers": {"$ref": "#/components/schemas/InboxHeaders"}, "examples": [_EXAMPLE]}
    elif family in {"request", "command", "impression"}:
        message["headers"] = {"$ref": "#/components/schemas/CloudEvent"}
    return message


def _names(kind: str) -> tuple[str, ...]:
    return ENTITIES[kind].__struct_fields__ if kind in ENTITIES else ()


_ATTRIBUTES: Schema = {
    "title": "CloudEvent",
    "description": "CloudEvents 1.0 in binary mode: attributes as headers, the body alone in the value.",
    "type": "object",
    "properties": {
        "ce_specversion": {"type": "string", "const": "1.0"},
        "ce_id": {"type": "string", "minLength": 1, "maxLength": 200},
        "ce_type": {"type": "string", "minLength": 1},
        "ce_source": {"type": "string", "minLength": 1},
        "ce_time": {"type": "string", "format": "date-time"},
        "ce_subject": {"type": "string"},
        "ce_stream": {"type": "string", "description": "the numbered stream that this record is part of"},
        "ce_number": {"type": "string", "pattern": "^[0-9]{1,18}$", "description": "its number there"},
        "ce_actor": {
            "type": "string",
            "pattern": "^[^;]*;[^;]*;[^;]*$",
            "description": "who asks: a key or cli; the person's e-mail address; the network address; parts may be empty",
        },
        "ce_rules": {"type": "string", "pattern": "^[0-9]+:[0-9]+$", "description": "account decisions that were seen"},
        "ce_decision": {
            "type": "string",
            "pattern": "^[0-9]+:[0-9]+$",
            "description": "of a command: epoch and sequence of the decision that emitted it",
        },
        "content-type": {"type": "string", "const": "application/json"},
        "traceparent": {"type": "string"},
    },
    "required": ["ce_id", "ce_type", "ce_source"],
}

_INBOX_HEADERS: Schema = {
    "title": "InboxHeaders",
    "description": "Headers of a record on leads.inbox or leads.inbox.bulk: each may be left out.",
    "type": "object",
    "properties": {
        "ce_id": {
            "type": "string",
            "maxLength": 200,
            "description": "a name of your own for the record: for one person it is taken once within 24 h",
        },
        "ce_type": {"type": "string", "const": "lead.submitted"},
        "ce_source": {"type": "string", "description": "who sends it; /intake where it is left out"},
        "traceparent": {"type": "string", "description": "of the trace that it belongs to (W3C)"},
    },
}

_EXAMPLE: Schema = {
    "name": "lead",
    "summary": "A lead for a schedule; first_name becomes a token.",
    "headers": {"ce_id": "order-4711", "ce_type": "lead.submitted"},
    "payload": {
        "lead_token": "lt_exampleOfOneSchedule",
        "caller_id": "+13055550123",
        "email": "ada@example.com",
        "time_zone": "America/New_York",
        "hours_to_expire": 72,
        "data": {"first_name": "Ada"},
    },
}

_DEAD: Schema = {
    "name": "dead",
    "title": "dead letter",
    "contentType": "application/octet-stream",
    "summary": "The bytes as they were; the headers say where they came from and why they are here.",
    "payload": {},
    "headers": {
        "type": "object",
        "properties": {
            "dl_code": {"type": "string", "description": "a code of the problem catalogue"},
            "dl_detail": {"type": "string"},
            "dl_topic": {"type": "string"},
            "dl_partition": {"type": "string", "pattern": "^[0-9]+$"},
            "dl_offset": {"type": "string", "pattern": "^[0-9]+$"},
        },
        "required": ["dl_code", "dl_topic", "dl_partition", "dl_offset"],
    },
}
