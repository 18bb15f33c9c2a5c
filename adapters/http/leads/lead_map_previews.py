"""What would a post become by a lead map, saved or not? A dry run: nothing is stored, and nobody contacted."""

from collections.abc import Mapping
from typing import Any

from adapters.body_fields import read_fields
from adapters.http.exchange.answers import reply_with_record
from adapters.http.exchange.exchange import Exchange, Operation, Reply
from adapters.http.exchange.parameters import Parameters
from adapters.http.schema.inputs import LEAD_MAP, PARAMETERS, TEXT, text
from adapters.http.schema.shapes import nullable, one_of
from engine.partition.draft import RefusedError
from engine.submission.fields import FieldError, is_blank
from engine.submission.map_preview import preview_map, read_given_map
from engine.submission.reading import json_object

SAMPLE_LENGTH_MAX = 256 * 1024
"""As a submission."""


async def preview(exchange: Exchange) -> Reply:
    """Answer what a post would become."""
    parameters = Parameters(exchange.fields)
    parameters.require("lead_token", "sample")
    sample = parameters.fields.get("sample")
    given = parameters.read("lead_map", _object)
    source_id = parameters.id("traffic_source_id")
    rules = exchange.services.source.rules
    if source_id is not None and not rules.owns(exchange.company_id, "traffic_source", source_id):
        parameters.refuse("traffic_source_id", "names no traffic source of this company")
    fields = _sample(parameters, sample)
    parameters.finish()
    token = str(exchange.fields["lead_token"]).strip()
    stated = {"lead_token": token} | ({} if source_id is None else {"traffic_source_id": source_id})
    shown = preview_map(
        {**fields, **stated},
        rules,
        company_id=exchange.company_id,
        received_at=exchange.now,
        lead_map=None if given is None else read_given_map(given),
    )
    return reply_with_record(exchange, "lead_map_preview", shown)


def _sample(parameters: Parameters, sample: Any) -> Mapping[str, Any]:
    """Return the fields of a sample; what is wrong with it is a fault of its field."""
    kind = parameters.text("sample_type")
    if isinstance(sample, Mapping):
        if kind is not None:
            parameters.refuse("sample_type", "goes with a sample that is text")
        return sample
    if is_blank(sample):
        return {}
    try:
        return read_fields(str(sample).encode(), kind or "application/json")
    except RefusedError as refusal:
        field = "sample_type" if kind is not None and refusal.code == "unsupported_media_type" else "sample"
        parameters.refuse(field, refusal.detail)
        return {}


def _object(value: Any) -> Any:
    if is_blank(value):
        return None
    found = json_object(value) if isinstance(value, str) else value
    if not isinstance(found, Mapping):
        raise FieldError("must be an object")
    return found


_SAMPLE = {
    "anyOf": [
        {"type": "object", "additionalProperties": True},
        {"type": "string", "minLength": 1, "maxLength": SAMPLE_LENGTH_MAX},
    ]
}

_BODY = {
    "type": "object",
    "required": ["lead_token", "sample"],
    "properties": {
        "lead_token": {**TEXT, "description": "lead token of the schedule or offer that the post is for"},
        "traffic_source_id": {**PARAMETERS["traffic_source_id"], "description": "whose map reads the post, by internal id"},
        "lead_map": {**LEAD_MAP, "description": "a map to try before it is saved, in the place of theirs"},
        "sample": {**_SAMPLE, "description": "a post: an object, or its text"},
        "sample_type": {
            **text(200, least=1),
            "description": "content type of a sample that is text; default: application/json",
        },
    },
}

_OBJECT = {"type": ["object", "null"], "additionalProperties": True}

_ANSWER = {
    "title": "A post by a lead map",
    "type": "object",
    "required": ["is_mapped", "not_found", "warnings", "errors", "caller_id", "email", "columns", "data", "is_test"],
    "properties": {
        "is_mapped": {"type": "boolean", "description": "false: there is no map"},
        "not_found": {
            "type": "array",
            "description": "fields of the map whose paths found nothing",
            "items": {"type": "string"},
        },
        "caller_id": nullable("string"),
        "email": nullable("string"),
        "columns": _OBJECT,
        "data": {**_OBJECT, "description": "its tokens"},
        "is_test": nullable("boolean"),
        "idempotency_key": {**nullable("string"), "description": "of the sender"},
        "warnings": {"type": "array", "items": {"type": "string"}},
        "errors": {
            "type": "object",
            "description": "why it would be refused, by field",
            "additionalProperties": {"type": "array", "items": {"type": "string"}},
        },
    },
}

OPERATIONS: tuple[Operation, ...] = (
    Operation(
        name="preview_lead_map",
        leads="none",
        records="all",
        methods=("POST",),
        path="/api/v1/lead_maps/preview",
        summary="Try a lead map: show what a post would become",
        handler=preview,
        scope="schedule:read",
        rate="write",
        safe=True,
        body=_BODY,
        answer=one_of("lead_map_preview", _ANSWER),
        problems=("unknown_lead_token", "schedule_inactive", "malformed_json", "malformed_body"),
    ),
)
