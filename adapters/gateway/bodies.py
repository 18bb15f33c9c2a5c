"""What does a webhook's body say? The payload as JSON, or the webhook's own template with the payload's values in it."""

import json
from typing import Any

from engine.contact.text import render
from schemas.records import OutgoingWebhook
from schemas.wire import to_json

JSON_TYPE = "application/json"


def body_of(webhook: OutgoingWebhook, payload: dict[str, Any]) -> bytes:
    """Return the bytes to post. In a JSON body, values are escaped: a quote in a name breaks nothing."""
    if webhook.body_template is None:
        return to_json(payload)
    is_json = "json" in content_type(webhook)
    text, _ = render(webhook.body_template, lambda token: _value(payload, token, is_json=is_json))
    return text.encode()


def content_type(webhook: OutgoingWebhook) -> str:
    """Return the content type that the record sets, JSON by default."""
    return next((value for name, value in webhook.headers.items() if name.lower() == "content-type"), JSON_TYPE)


def _value(payload: dict[str, Any], token: str, *, is_json: bool) -> Any:
    """Look a token up: the lead's own tokens first, then its columns, then a path (`lead.id`), then the payload itself."""
    data = payload.get("data") or {}
    lead = data.get("lead") or {}
    for place in (lead.get("data") or {}, lead, data, payload):
        value = _at(place, token)
        if value is not None:
            return json.dumps(value, ensure_ascii=False)[1:-1] if is_json and isinstance(value, str) else value
    return None


def _at(place: Any, path: str) -> Any:
    if isinstance(place, dict) and path in place:
        return place[path]
    for name in path.split("."):
        place = place.get(name) if isinstance(place, dict) else None
    return place
