"""What is a webhook's body? The payload as JSON, or the webhook's template with the payload's values."""

import json
from collections.abc import Callable
from typing import Any
from urllib.parse import quote_plus
from xml.sax.saxutils import escape

from engine.contact.schedule.templates import render_body
from schemas.records import OutgoingWebhook
from schemas.wire import to_json

JSON_TYPE = "application/json"


def body_of(webhook: OutgoingWebhook, payload: dict[str, Any]) -> bytes:
    """Return the bytes to post. Values are escaped for JSON, forms or XML: what a person typed stays a value.

    Raises `TextTooLongError` as soon as a template says more than 500,000 bytes.
    """
    if webhook.body_template is None:
        return to_json(payload)
    escaped = _escape(content_type(webhook).lower())
    text, _ = render_body(webhook.body_template, lambda token: escaped(_value(payload, token)), is_recorded=False)
    return text.encode()


def content_type(webhook: OutgoingWebhook) -> str:
    """Return the content type that the record sets, JSON by default."""
    return next((value for name, value in webhook.headers.items() if name.lower() == "content-type"), JSON_TYPE)


def _escape(kind: str) -> Callable[[Any], Any]:
    """Return how values are written in a body of a content type; text of any other kind stays as it is."""
    if "json" in kind:
        # Only texts: an object or a list is inserted as JSON.
        return lambda value: json.dumps(value, ensure_ascii=False)[1:-1] if isinstance(value, str) else value
    if "x-www-form-urlencoded" in kind:
        return lambda value: quote_plus(_text(value)) if isinstance(value, str | list | dict) else value
    if "xml" in kind or "html" in kind:
        return lambda value: escape(_text(value), _QUOTES) if isinstance(value, str | list | dict) else value
    return lambda value: value


_QUOTES = {'"': "&quot;", "'": "&apos;"}


def _text(value: Any) -> str:
    return value if isinstance(value, str) else to_json(value).decode()


def _value(payload: dict[str, Any], token: str) -> Any:
    """Return a token's value from the lead's own tokens, else its columns, else a path (`lead.id`), else the payload."""
    data = payload.get("data") or {}
    lead = data.get("lead") or {}
    for place in (lead.get("data") or {}, lead, data, payload):
        value = _at(place, token)
        if value is not None:
            return value
    return None


def _at(place: Any, path: str) -> Any:
    if isinstance(place, dict) and path in place:
        return place[path]
    for name in path.split("."):
        place = place.get(name) if isinstance(place, dict) else None
    return place
