"""Which OpenAPI document do programs get? One that client generators turn into a small client without a warning.

It has one way for each thing: bodies and answers are JSON in their envelope, numbers are numbers. Everything else that is
accepted, and an example of everything, is on the reference page (`adapters.http.document.openapi`). Parameters, answers and
types are described once and have nouns for names.
"""

from collections import Counter
from collections.abc import Mapping
from functools import cache
from typing import Any

import msgspec

from adapters.http.document.areas import AREAS, area_of
from adapters.http.document.client_schemas import OBJECT, ClientSchemas, camel, drop_unused, singular, unite
from adapters.http.document.descriptions import describe
from adapters.http.document.openapi import (
    INFO,
    PATH_SENTENCES,
    PATH_SENTENCES_OF,
    SCHEMES,
    has_etag,
    input_name,
    input_schema,
    kept_components,
    names_of,
    parameter_schema,
    record_schema,
    security_of,
    tag_of,
    takes_body,
)
from adapters.http.document.refusals import PROBLEM
from adapters.http.exchange.exchange import BODY_METHODS, PLACEHOLDER, ROOT, Operation
from adapters.http.exchange.headers import ETAG, HEADERS, IF_MATCH, REQUEST_HEADERS
from adapters.http.exchange.problems import MEDIA_TYPE
from adapters.http.operations import documented_operations
from adapters.http.schema.inputs import Schema, ref
from adapters.http.schema.shapes import view_name
from schemas.records import RECORD_BODIES

_SECURITY: list[dict[str, Any]] = [{"keys": []}, {"auth_token": []}]

_NOUNS: Mapping[str, Schema] = {
    "NoErrors": {"type": "object", "description": "empty: nothing was refused"},
    "Metadata": {"type": "object", "properties": {"root": {"type": "string", "description": "the name of the record"}}},
    "Data": OBJECT,
    "RecordDraft": {
        **OBJECT,
        "description": "a record that does not exist yet: its fields with their defaults, null where creation sets them",
    },
}

_BASES: Mapping[str, tuple[str, ...]] = {
    "CappedFields": ("BuyerFields", "BuyerGroupFields", "TrafficSourceFields"),
    "CappedGroupFields": ("BuyerFields", "BuyerGroupFields"),
    "CappedRecord": ("Buyer", "BuyerGroup", "TrafficSource"),
    "CappedGroupRecord": ("Buyer", "BuyerGroup"),
    "ImpressionFields": (
        *("RecordImpressionsFields", "RecordImpressionsOfPageFields"),
        *("ImpressionsImpression", "ImpressionsOfPageImpression"),
    ),
}
"""Name -> types that have many fields in common, which are described under the name."""

_SAME_AS: Mapping[tuple[str, str], str] = {("preview_schedule", "schedule"): "ScheduleFields"}
"""Operation and field -> the type that it has, where the reference describes it again."""

_DETAILED: Mapping[str, str] = {"Contact": "ContactWithHistory", "Delivery": "DeliveryWithAttempts"}
"""Record -> itself as it is shown alone, with fields that a list leaves out."""

_SUBJECTS: Mapping[str, str] = {
    "buyer_is_available": "BuyerAvailability",
    "list_lead_events": "LeadTimeline",
    "list_call_events": "CallTimeline",
    "report_leads": "LeadReport",
    "report_calls": "CallReport",
    "report_scheduled_callbacks": "CallbackReport",
    "report_channels": "ChannelReport",
    "report_outcomes": "OutcomeReport",
    "report_steps": "StepReport",
    "report_queues": "QueueReport",
    "stats_of_calls": "CallStats",
    "list_time_zones": "Zone",
    "record_impressions": "RecordedImpression",
    "record_impressions_of_page": "RecordedImpression",
    "why_lead": "LeadPlan",
    "forecast_leads": "LeadForecast",
    "forecast_schedule_change": "ScheduleChangeForecast",
    "list_messages_of_agent": "AgentMessage",
}
"""Operation -> the noun of its answer, where the name of the operation holds none."""

FILE, FILE_TYPE = "File", "application/octet-stream"
"""The answer that is a file: generators know this type, and not a range such as audio/*."""

_PROSE = """
This is the interface as a program uses it: one way for each thing. Each path of a list or report also answers as CSV with
`.csv` at its end (`x-suffixes`); `root=false` on any operation answers without the envelope; a body may be a form; numbers
may be text. An operation's own problem codes are in `x-problems`; any operation may answer with the others.
The reference at `/api/docs/1.0` has every form, each code, and an example of every request and answer.
""".strip()


@cache
def client_document() -> dict[str, Any]:
    """Return the OpenAPI document for programs."""
    return _Writer().document()


class _Writer:
    """Writes the document: operations refer to parameters, answers and types that are described once."""

    def __init__(self) -> None:
        self._operations = documented_operations()
        self._views = {view_name(kind): view_name(kind).removesuffix("Record") for kind in RECORD_BODIES}
        bodies = {noun: f"{noun}Body" for noun in self._views.values()}
        # A sender with a lead token and no key sees some fields of a lead: it is a lead.
        names = {**{full: name for name, full in _DETAILED.items()}, **bodies, **self._views}
        kept = kept_components()
        detailed = {name: kept[full] for name, full in _DETAILED.items()}
        self._schemas = ClientSchemas({**kept, **detailed, "Problem": PROBLEM}, names)
        self._schemas.found |= {name: dict(schema) for name, schema in _NOUNS.items()}
        for name, members in _ENVELOPES.items():
            self._schemas.found[name] = {"type": "object", "required": list(members), "properties": dict(members)}
        self._responses: dict[str, Any] = {}
        self._parameters: dict[str, Any] = {}
        self._uses = Counter(
            _identity(written) for operation in self._operations for written in self._fields(operation, operation.methods[0])
        )

    def document(self) -> dict[str, Any]:
        paths: dict[str, dict[str, Any]] = {}
        for name in ("Problem", "Lead"):
            self._schemas.named(name)
        for operation in self._operations:
            method = operation.methods[0]
            paths.setdefault(operation.path, {})[method.lower()] = self._operation(operation, method)
        for entry in paths.values():
            _share_parameters(entry)
        document = {
            "openapi": "3.1.0",
            "info": {**INFO, "description": f"{INFO['description']}\n\n{_PROSE}"},
            "servers": [{"url": "/"}],
            "security": _SECURITY,
            "tags": [{"name": area, "description": sentence} for area, (sentence, _) in AREAS.items()],
            "paths": paths,
            "components": {
                "securitySchemes": SCHEMES,
                "parameters": self._parameters,
                "responses": {**_COMMON_RESPONSES, **self._responses},
                "headers": {
                    **{name: HEADERS[name] for name in ("ETag", "Location", "Retry-After")},
                    "WWW-Authenticate": {**HEADERS["WWW-Authenticate"], "required": False},  # of the problem 401 alone
                },
                "schemas": self._schemas.found,
            },
        }
        self._split()
        unite(document)
        drop_unused(document)
        return document

    def _split(self) -> None:
        """Describe once what several types have, and what can be sent of a record where it is sent."""
        found = self._schemas.found
        views = tuple(view for view in self._views.values() if view in found)
        self._share_fields("AccountRecord", views)
        for view in views:
            sent = found.get(f"{view}Fields", {}).get("properties", {})
            own = found[view]["allOf"][-1]["properties"]
            own |= {name: _without_sentence(part, sent.get(name, {})) for name, part in own.items()}
        for base, members in _BASES.items():
            self._share_fields(base, tuple(name for name in members if name in found))

    def _share_fields(self, base: str, members: tuple[str, ...]) -> None:
        """Move the fields that types have in common to a type on which they build."""
        found = self._schemas.found
        parts = [found[name]["allOf"][-1] if "allOf" in found[name] else found[name] for name in members]
        agreed = {name: _agreed([part["properties"].get(name) for part in parts]) for name in parts[0]["properties"]}
        shared = {name: field for name, field in agreed.items() if field is not None}
        found[base] = {"type": "object", "properties": shared}
        for name, part in zip(members, parts, strict=True):
            own = {**part, "properties": {name: field for name, field in part["properties"].items() if name not in shared}}
            found[name] = {"allOf": [*found[name].get("allOf", ())[:-1], ref(base), own]}

    def _operation(self, operation: Operation, method: str) -> dict[str, Any]:
        suffixes = [suffix for suffix in operation.suffixes if suffix]
        security = security_of(operation)
        described: dict[str, Any] = {
            "operationId": operation.name,
            "summary": operation.summary,
            "description": describe(operation),
            "tags": [area_of(tag_of(operation))],
            "parameters": [self._shared(operation, written) for written in self._fields(operation, method)],
            "responses": self._answers(operation),
            **({} if security == _SECURITY else {"security": security}),
            **({"x-methods": list(operation.methods)} if len(operation.methods) > 1 else {}),
            **({"x-suffixes": suffixes} if suffixes else {}),
            **({"x-problems": list(operation.problems)} if operation.problems else {}),
        }
        if method in BODY_METHODS and takes_body(operation):
            described["requestBody"] = self._body(operation)
        if not described["parameters"]:
            del described["parameters"]
        return described

    def _fields(self, operation: Operation, method: str) -> list[dict[str, Any]]:
        """Return the parameters of an operation in its path, query and headers."""
        has_body = method in BODY_METHODS and takes_body(operation)
        # `Prefer` is in the prose: a client waits for the result.
        headers = [] if operation.safe else [one for one in REQUEST_HEADERS if one["name"] != "Prefer"]
        return [
            *(_in_path(operation, name) for name in PLACEHOLDER.findall(operation.path)),
            *(self._in_query(operation, name) for name in (() if has_body else names_of(operation)) if name != ROOT),
            *headers,
            *([IF_MATCH] if not operation.safe and "version_conflict" in operation.problems else ()),
        ]

    def _in_query(self, operation: Operation, name: str) -> dict[str, Any]:
        if name in ("columns", "order"):
            schema: Schema = {"type": "array", "items": {"type": "string"}} if name == "columns" else {"type": "string"}
        else:
            schema = self._schemas.write(parameter_schema(operation, name), name, camel(singular(tag_of(operation))))
            schema = {key: value for key, value in schema.items() if key != "description"}
        listed = {"explode": False} if schema.get("type") == "array" else {}
        must = {"required": True} if name in operation.required else {}
        sentence = operation.parameters.get(name, "")
        return {"name": name, "in": "query", **must, "description": sentence, "schema": schema, **listed}

    def _shared(self, operation: Operation, written: dict[str, Any]) -> dict[str, Any]:
        """Return a reference to a parameter that several operations have, or the parameter itself."""
        if self._uses[_identity(written)] == 1:
            return written
        name = camel(written["name"])
        for noun in (name, camel(singular(tag_of(operation))) + name, camel(operation.name) + name):
            if self._parameters.setdefault(noun, written) == written:
                return {"$ref": f"#/components/parameters/{noun}"}
        return written

    def _body(self, operation: Operation) -> dict[str, Any]:
        schema = _without_root(input_schema(operation))
        content = {"application/json": {"schema": self._input(operation, schema)}}
        return {**({"required": True} if schema["required"] else {}), "content": content}

    def _input(self, operation: Operation, schema: dict[str, Any]) -> Schema:
        """Return the fields of a body. A record is created and changed by the same ones; to create it needs some of them.

        What it needs is said at the operation: as a type of its own it would be a file of each client.
        """
        verb, _, root = operation.name.partition("_")
        noun = self._record_of(operation) or camel(root)
        twin = next((one for one in self._operations if one.name == f"update_{root}"), None) if verb == "create" else None
        if verb == "update" and any(one.name == f"create_{root}" for one in self._operations):
            return self._changes(operation, noun, root)
        if twin is None:
            same = {field: ref(name) for (named, field), name in _SAME_AS.items() if named == operation.name}
            own = {name: part for name, part in schema["properties"].items() if name not in same}
            plain = self._schemas.plain({**schema, "properties": own}, noun)
            plain["properties"] |= same
            known = (name for name, kept in self._schemas.found.items() if name.endswith("Fields") and kept == plain)
            return self._schemas.share(plain, next(known, input_name(operation)))
        fields = self._fields_of(operation, noun)
        return {"allOf": [fields], "required": schema["required"]}

    def _record_of(self, operation: Operation) -> str:
        """Return the name of the account record that an operation answers with, empty if it is none."""
        kept = kept_components()
        shown = record_schema(operation.answer or {})
        return next((noun for view, noun in self._views.items() if kept[view] is shown), "")

    def _changes(self, operation: Operation, noun: str, root: str) -> Schema:
        creating = next(one for one in self._operations if one.name == f"create_{root}")
        fields = self._fields_of(creating, noun)
        only = set(names_of(operation)) - set(names_of(creating))
        if not only:
            return fields
        schema = input_schema(operation)
        more = {name: self._schemas.write(schema["properties"][name], name, noun) for name in sorted(only)}
        return self._schemas.share({"allOf": [fields, {"type": "object", "properties": more}]}, f"{noun}Changes")

    def _fields_of(self, creating: Operation, noun: str) -> Schema:
        schema = {**_without_root(input_schema(creating)), "required": []}
        return self._schemas.share(self._schemas.plain(schema, noun), f"{noun}Fields")

    def _answers(self, operation: Operation) -> dict[str, Any]:
        good = self._answer(operation)
        found = {"200": good}
        if operation.created:
            found["201"] = good
        if operation.has_result and (not operation.safe or operation.created):
            self._schemas.named("Accepted")
            found["202"] = _response("Accepted")
        return {**found, "default": _response("Problem")}

    def _answer(self, operation: Operation) -> dict[str, Any]:
        if operation.file:
            file = {"schema": {"type": "string", "format": "binary"}}
            self._responses.setdefault(FILE, {"description": "A file", "content": {FILE_TYPE: file}})
            return _response(FILE)
        answer = operation.answer or {"type": "object"}
        envelope = answer["anyOf"][0] if "anyOf" in answer else answer
        schema, names = self._schema_of_answer(operation, envelope)
        etag = {"headers": ETAG} if has_etag(operation) else {}
        described = {"description": "Done", **etag, "content": {"application/json": {"schema": schema}}}
        name = next(name for name in names if self._responses.get(name, described)["content"] == described["content"])
        self._responses.setdefault(name, described)
        return _response(name)

    def _schema_of_answer(self, operation: Operation, envelope: Schema) -> tuple[Schema, tuple[str, ...]]:
        """Return the schema of an answer, and nouns for its name: BuyerAnswer, BuyerList."""
        if operation.name.startswith(("build_", "new_")):
            return self._named(_DRAFT_ANSWER, "RecordDraftAnswer")
        subject = _SUBJECTS.get(operation.name) or camel(operation.name.partition("_")[2])
        written = {
            name: _MEMBERS[name] if name in _MEMBERS and "$ref" not in part else self._schemas.write(part, name, subject)
            for name, part in envelope.get("properties", {}).items()
        }
        names = self._names_of_answer(operation, written, subject)
        shared = self._in_envelope_of_area(area_of(tag_of(operation)), written, envelope)
        return (shared, names) if shared is not None else self._named(_enveloped(written, envelope), *names)

    def _names_of_answer(self, operation: Operation, written: Mapping[str, Schema], subject: str) -> tuple[str, ...]:
        root, *more = [name for name in written if name not in _MEMBERS] or [""]
        is_list = written.get(root, {}).get("type") == "array"
        suffix = "List" if is_list else "Result" if more else "Answer"
        if operation.name in _SUBJECTS:
            return (subject + suffix,)
        one = singular(subject) if is_list else subject
        noun = _noun_of(written.get(root, {})) or camel(singular(root) if is_list else root) or one
        # The versions of a schedule are no list of schedules.
        names_record = is_list and noun in self._views.values() and root != tag_of(operation)
        subjects = (one, noun, camel(operation.name)) if names_record else (noun, one, camel(operation.name))
        return tuple(name + suffix for name in subjects)

    def _in_envelope_of_area(self, area: str, written: Mapping[str, Schema], answer: Schema) -> Schema | None:
        """Return an answer of one member as the envelope that its area shares, with that member required.

        An envelope of its own would be a file of each client. None where the area has another member of that name.
        """
        found = _envelope_of(written)
        own = [name for name in written if name not in _MEMBERS]
        if found is None or len(own) != 1 or own[0] not in answer.get("required", ()):
            return None
        [root] = own
        name = camel(area) + _SUFFIXES[found]
        fresh = {"type": "object", "required": list(_MEMBERS), "properties": dict(_ENVELOPES[found])}
        members = self._schemas.found.setdefault(name, fresh)["properties"]
        if members.setdefault(root, written[root]) != written[root]:
            return None
        return {"allOf": [ref(name)], "required": [root]}

    def _named(self, schema: Schema, *names: str) -> tuple[Schema, tuple[str, ...]]:
        """Share the schema of an answer; the answer has its name."""
        shared = self._schemas.share(schema, *names)
        return shared, (str(shared["$ref"]).rpartition("/")[2],)


def _agreed(fields: list[Schema | None]) -> Schema | None:
    """Return the type that a field has in several types, None if they differ; where it is always null in one, it may be."""
    distinct = [field for place, field in enumerate(fields) if field not in fields[:place]]
    values = [field for field in distinct if field is not None and field.get("type") != "null"]
    if None in distinct or len(values) > 1:
        return None
    if not values:
        return {**(distinct[0] or {}), "type": ["integer", "null"]}  # generators take no type that is null alone
    if len(distinct) == 1:
        return distinct[0]
    return {**values[0], "type": [values[0]["type"], "null"]} if isinstance(values[0].get("type"), str) else None


def _without_sentence(shown: Schema, sent: Schema) -> Schema:
    """Return a field of a record without the sentence that stands at the field which is sent."""
    if shown.get("description") != sent.get("description"):
        return shown
    return {name: part for name, part in shown.items() if name != "description"}


def _noun_of(written: Schema) -> str:
    """Return the name of the record that an answer holds, one or several; empty if the record has none."""
    return str(written.get("items", written).get("$ref", "")).rpartition("/")[2]


_MEMBERS: Mapping[str, Schema] = {
    "status": {"type": "integer"},
    "errors": ref("NoErrors"),
    "metadata": ref("Metadata"),
}
"""Members of every envelope."""


def _enveloped(written: Mapping[str, Schema], answer: Schema) -> Schema:
    """Return the schema of an answer; what every envelope has stands in one place."""
    required = list(answer.get("required", ()))
    envelope = _envelope_of(written)
    if envelope is None:
        return {"type": "object", "required": required, "properties": dict(written)}
    own = {name: part for name, part in written.items() if name not in _MEMBERS}
    named = [name for name in required if name in own]
    return {"allOf": [ref(envelope), {"type": "object", "required": named, "properties": own}]}


_ENVELOPES: Mapping[str, Mapping[str, Schema]] = {
    "Envelope": _MEMBERS,
    "ListEnvelope": {**_MEMBERS, "metadata": ref("Paging")},
}

_SUFFIXES: Mapping[str, str] = {"Envelope": "Answer", "ListEnvelope": "List"}
"""Envelope -> how the one that an area shares is called: LeadsAnswer, LeadsList."""


def _envelope_of(written: Mapping[str, Schema]) -> str | None:
    """Return the name of the envelope whose members an answer has."""
    return next((name for name, kept in _ENVELOPES.items() if kept.items() <= written.items()), None)


_DRAFT_ANSWER: Schema = {
    "type": "object",
    "required": list(_MEMBERS),
    "properties": _MEMBERS,
    "additionalProperties": ref("RecordDraft"),
}


def _response(name: str) -> dict[str, Any]:
    return {"$ref": f"#/components/responses/{name}"}


def _header(name: str) -> dict[str, Any]:
    return {name: {"$ref": f"#/components/headers/{name}"}}


_COMMON_RESPONSES: Mapping[str, Any] = {
    "Problem": {
        "description": "Refused or failed: `code` says why, `errors` which fields, `retryable` whether to try again",
        "headers": {**_header("Retry-After"), **_header("WWW-Authenticate")},
        "content": {MEDIA_TYPE: {"schema": ref("Problem")}},
    },
    "Accepted": {
        "description": "Stored; read the answer at Location",
        "headers": {**_header("Location"), **_header("Retry-After")},
        "content": {"application/json": {"schema": ref("Accepted")}},
    },
}


def _share_parameters(entry: dict[str, Any]) -> None:
    """Move the parameters that all operations of a path have to the path."""
    operations = list(entry.values())
    shared = [
        field
        for field in operations[0].get("parameters", ())
        if all(field in one.get("parameters", ()) for one in operations)
    ]
    if len(operations) == 1 or not shared:
        return
    for one in operations:
        own = [field for field in one["parameters"] if field not in shared]
        one |= {"parameters": own}
        if not own:
            del one["parameters"]
    entry["parameters"] = shared


def _without_root(schema: dict[str, Any]) -> dict[str, Any]:
    return {**schema, "properties": {name: part for name, part in schema["properties"].items() if name != ROOT}}


def _in_path(operation: Operation, name: str) -> dict[str, Any]:
    sentence = PATH_SENTENCES_OF.get(operation.name) or PATH_SENTENCES[name]
    return {"name": name, "in": "path", "required": True, "description": sentence, "schema": {"type": "string"}}


def _identity(written: Mapping[str, Any]) -> str:
    return msgspec.json.encode(written, order="sorted").decode()
