"""Which refusals and acceptances of schemathesis's two data checks are no faults? schemathesis loads this module.

The checks hold that whatever fits the document is taken and whatever does not is refused. What no schema can say stands
below, each with its reason; everything else is a fault of the product or of the document.
"""

import json
import os
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import jsonschema_rs
import schemathesis
from schemathesis.core.failures import AcceptedNegativeData
from schemathesis.openapi.checks import RejectedPositiveData

ASKING_KEYS = frozenset(os.environ.get("LEADCLOCK_ASKING_KEYS", "").split(","))
"""Id and uuid of the key that asks: were it changed, the rest of the run would be 401 throughout."""

STATES: Mapping[str, str] = {
    "deleted": "somebody deleted it before: the same as not found, which the check lets pass",
    "suppressed_contact": "the person opted out",
    "quiet_hours": "the law of the hour",
    "outside_hours": "the schedule's hours",
    "frequency_cap": "how often the person was called",
    "schedule_inactive": "the schedule is paused, or has no steps",
    "lead_not_live": "the lead has ended",
    "invalid_schedule": "steps are a small language: what a step needs, leads to and never reaches is checked by publishing",
    "per_page_requires_cursor": "two parameters together",
}
"""Code -> why a request that fits the document may be answered with it: it is about what is there, not what was sent."""

LANGUAGES = frozenset(
    {
        "steps", "end_steps", "triggers", "windows", "on_reply", "on_inbound_connected", "on_conversion", "min_spacing",
        "pauses", "rules", "holiday_sets", "id", "schedule", "outcomes", "history", "lead",
        "filters", "settings", "secrets", "provider", "filter", "content", "content_base64", "encoding", "mapping",
    }
)  # fmt: skip
"""Fields whose parts are a language of their own, of schedules or of rules of law: the document tells their types, the
account what they may say together. Settings and secrets are those of an installed provider. A filter is that of a list,
whose own parameters are asked there; a file, its encoding and its mapping must fit each other."""

SENTENCES: Mapping[str, str] = {
    r"a (valid )?telephone number|must be a number such as": "which numbers exist is no pattern",
    r"names no |is no \w+( \w+)? of this company|no buyer has|must name": "whether it exists is no pattern",
    r"names a paused": "whether it is paused is no pattern",
    r"cannot be combined with cursor|must be left out where|together|must (not be before|come after)":
        "two parameters together",
    r"is not the (offer|schedule|buyer) of|must be given where|must be given, or a lead_token": "two parameters together",
    r"must be given, or schedule_callback_in_seconds": "two parameters together",
    r"must be after|is before|must be between 1970|minutes in the past":
        "which moments count is no pattern",
    r"must be a list of addresses or networks": "what a network is, no pattern says",
    r"must lead to a public address": "which addresses are public is no pattern",
    r"must end within the first": "how many rows there are",
    r"an address that begins with https": "what an address is, no pattern says",
    r"fields with a path each": "how many fields a map has",
    r"must be an e-mail address": "which names have at most 64 characters before the @ is no pattern",
    r"must differ from open": "two fields together",
    r"must be from 1 to 100$|must be at most 10 with": "two parameters together: more rows a page need a cursor",
    r"must be token:value": "two parameters together: with token_key the value stands alone",
    r"must be given, or an email|must be given: (the|an) object": "one of two fields is enough",
    r"must be given, or its counterpart": "one of three fields is enough",
    r"names no valid key that has the Origin": "which origin the page has, and which keys are for it",
    r"must be given, or impressions|cannot stand beside": "one impression by its fields, or several",
    r"is that of impressions": "two impressions together",
    r"bytes as JSON": "how long it is when written out",
    r"needs a caller_id to call": "two fields together",
    r"cannot be emptied where the lead has no": "what the lead has beside it",
    r"needs a transcription service": "not configured here",
    r"needs a recording that is kept here": "what the call has been recorded with",
    r"goes with |must be given: the list that|needs a subscription of its own": "two fields together",
    r"is for a new group": "a change is of a group that is there",
    r"needs buyers of the group": "two fields together",
    r"must not stand beside (buyers|agents): the calls of an offer": "two fields together",
    r"has no effect without sign_in_issuer|must be given: the client as which": "two fields together",
    r"must be given: this host serves several": "which companies the host serves",
    r"a key can only give": "what this key may give",
    r"more than \d+ buckets": "how many spans lie between two moments",
    r"choose one of both|cannot limit": "two parts of one permission together",
    r"at most 4 decimals": "how many decimals a number has, no schema says without rounding",
    r"NUL character": "NUL bytes are refused everywhere, as the description says",
    r"at most 64 bits": "longer numbers are refused everywhere, as the description says",
    r"leads match; nothing was changed": "how many leads there are",
    r"must be given: the most leads": "two fields together: a dry run needs none",
    r"does nothing in a dry run": "two fields together",
    r"cannot be while import": "how far an earlier import is",
    r"or left out where schedule is given": "two parameters together",
}  # fmt: skip
"""Sentence -> why a value that fits its schema may be refused with it."""

HARMLESS = frozenset({("query", "number"), ("query", "email")})
"""Filters by what cannot be there find nothing, and are no fault: a number or address that is none matches no lead."""

FORMS = frozenset({"application/x-www-form-urlencoded", "multipart/form-data"})

_LATER = 202
_BLANK: tuple[Any, ...] = (None, "", [], {})


@schemathesis.hook
def filter_case(context: Any, case: Any) -> bool:  # noqa: ARG001 - the hook's own names
    """Leave the key that asks alone."""
    path = (case.path_parameters or {}).get("id")
    return not (case.operation.path == "/api/v1/keys/{id}" and str(path) in ASKING_KEYS)


LONG_CHOICES = ("ZoneInput", "CountryInput")
"""Choices of hundreds of words: the coverage phase would ask each in each operation. test_conventions.py asks every zone."""

WORDS_ASKED = 8


@schemathesis.hook
def before_load_schema(context: Any, raw_schema: Any) -> None:  # noqa: ARG001 - the hook's own names
    """Leave a few words of each long choice, first and last among them."""
    for name in LONG_CHOICES:
        schema = raw_schema["components"]["schemas"][name]
        words = schema["enum"]
        schema["enum"] = [*words[:: len(words) // WORDS_ASKED], words[-1]]


_WRITTEN: set[str] = set()
"""Cases whose form was rewritten: schemathesis holds them to a schema of the values as they were."""


@schemathesis.hook
def before_call(context: Any, case: Any, kwargs: Any) -> None:  # noqa: ARG001 - the hook's own names
    """Write what is nested in a form as the interface has it: OpenAPI leaves open how, and schemathesis takes it apart."""
    if case.media_type in FORMS and isinstance(case.body, dict) and any(map(_needs_words, case.body.values())):
        case.body = {name: _in_words(value) for name, value in case.body.items() if value is not None}
        _WRITTEN.add(case.id)


def _needs_words(value: Any) -> bool:
    return value is None or isinstance(value, dict | list | float)


def _in_words(value: Any) -> Any:
    if isinstance(value, float):
        return f"{value:f}".removesuffix(".000000")
    if isinstance(value, list) and not any(isinstance(part, dict | list) for part in value):
        return ",".join(map(str, value))
    return json.dumps(value) if isinstance(value, dict | list) else value


@schemathesis.hook
def filter_failure(context: Any, failure: Any, case: Any, response: Any) -> bool:  # noqa: ARG001 - the hook's own names
    """Return whether a failure is one."""
    if isinstance(failure, RejectedPositiveData):
        return not _refused_for_a_reason(response)
    if isinstance(failure, AcceptedNegativeData):
        return not _taken_for_a_reason(case, response)
    return True


def _refused_for_a_reason(response: Any) -> bool:
    problem = response.json()
    if problem["code"] in STATES:
        return True
    said = [
        sentence
        for field, sentences in problem["errors"].items()
        for sentence in sentences
        if re.split(r"[.\[]", field)[0] not in LANGUAGES
    ]
    return bool(problem["errors"]) and all(any(re.search(known, sentence) for known in SENTENCES) for sentence in said)


def _taken_for_a_reason(case: Any, response: Any) -> bool:
    if response.status_code == _LATER:
        return True  # stored and not judged yet: the answer at Location refuses it
    if case.id in _WRITTEN:
        return True  # JSON bodies hold the same, as they are
    if case.method == "HEAD":
        return True  # nothing is read: a client that only looks changes nothing
    if response.status_code >= 400:
        return bool(response.json()["code"] == "deleted")
    return _is_right_without_blanks(case, _asked(response))


def _asked(response: Any) -> dict[str, str]:
    """Return the query as it went out, where of several values of a name the last one counts.

    What schemathesis drew may look otherwise: half a surrogate pair does not go out at all.
    """
    return dict(parse_qsl(urlsplit(response.request.url).query, keep_blank_values=True))


def _is_right_without_blanks(case: Any, asked: Mapping[str, str]) -> bool:
    """Return whether all that is wrong was left blank, which leaves it out, or is the key, which is replaced on the way."""
    if case.method == "GET" and case.query and not any(value.strip() for value in asked.values()):
        return True
    wrong = _wrong(case)
    return bool(wrong) and all(_is_no_fault(case, asked, place, name) for place, name in wrong)


def _wrong(case: Any) -> set[tuple[str, str]]:
    """Return where schemathesis put something wrong, and in which parameter."""
    described = case.meta.phase.data
    if described.mutations:
        return {(mutation.parameter_location.name.lower(), mutation.parameter) for mutation in described.mutations}
    return {(described.parameter_location.name.lower(), described.parameter)} if described.parameter_location else set()


def _is_no_fault(case: Any, asked: Mapping[str, str], place: str, name: str) -> bool:
    if place == "header":
        return name == "Authorization" or not (case.headers or {}).get(name, "").strip()
    if (place, name) in HARMLESS:
        return True
    if place == "query":
        return _is_left_out_or_fits(case, name, asked.get(name, "").strip())
    return place == "body" and _fits(case)


def _is_left_out_or_fits(case: Any, name: str, text: str) -> bool:
    """Return whether a parameter of the query may be this text; one that may be left out may be blank."""
    document = case.operation.schema.raw_schema
    parameters = document["paths"][case.operation.path][case.method.lower()]["parameters"]
    known = [parameter for parameter in parameters if parameter.get("name") == name and parameter["in"] == "query"]
    if not text:
        return not any(parameter["required"] for parameter in known)
    schemas = ({"components": document["components"], **parameter["schema"]} for parameter in known)
    return any(jsonschema_rs.is_valid(schema, text) for schema in schemas)


def _is_blank(value: Any) -> bool:
    return value in _BLANK or (isinstance(value, str) and not value.strip())


def _fits(case: Any) -> bool:
    """Return whether a body fits the document once blank fields are taken out of it."""
    if not isinstance(case.body, dict):
        return False
    body = {name: value for name, value in case.body.items() if not _is_blank(value)}
    document = case.operation.schema.raw_schema
    content = document["paths"][case.operation.path][case.method.lower()]["requestBody"]["content"]
    schema = {"components": document["components"], **content[case.media_type]["schema"]}
    return bool(jsonschema_rs.is_valid(schema, body))
