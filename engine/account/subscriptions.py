"""What may a subscription ask for? Events by name, and values that the call or lead of an event must have."""

from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import structs

from engine.account.did_you_mean import did_you_mean
from engine.account.plans import Errors, Exists
from engine.submission.fields import FieldError, is_blank, parse_boolean, parse_id, parse_integer
from engine.subscriptions.events import EVENT_NAMES, HOOKS, LOOKUP
from schemas.records import Subscription, TriggerFields

ASKED_FOR: tuple[str, ...] = (*EVENT_NAMES, *HOOKS)

HOOK_FIELDS: Mapping[str, tuple[str, ...]] = {
    "on_error": tuple(name for name in HOOKS if name != LOOKUP),
    "timeout_seconds": tuple(HOOKS),
}
"""Fields that say something about some hooks alone; a record that is sent back as it was read has their defaults.

No answer to a look-up always holds the lead.
"""

_DEFAULTS: Mapping[str, Any] = {field.name: field.default for field in structs.fields(Subscription)}

TIMEOUT_SECONDS_MAX = 10
"""As an outgoing webhook has: a lead that is due waits meanwhile."""


def hook_timeout(value: Any) -> int:
    """Return how many seconds a hook has for its answer."""
    return parse_integer(value, least=1, most=TIMEOUT_SECONDS_MAX)


def events(value: Any) -> tuple[str, ...]:
    """Return the names of events, each once."""
    if isinstance(value, str | bytes) or not isinstance(value, list | tuple) or not value:
        raise FieldError(f"must be a list of events; those are {', '.join(ASKED_FOR)}")
    for name in value:
        if name not in ASKED_FOR:
            shown = str(name)[:100]
            raise FieldError(f"names {shown!r}{did_you_mean(shown, ASKED_FOR)}; the events are {', '.join(ASKED_FOR)}")
    return tuple(dict.fromkeys(value))


def trigger_fields(value: Any) -> TriggerFields:
    """Return the values that events must have."""
    if isinstance(value, TriggerFields):
        return value
    if is_blank(value):
        return TriggerFields()
    if not isinstance(value, Mapping):
        raise FieldError('must be an object such as {"offer_id": 7}')
    unknown = [name for name in value if name not in TriggerFields.__struct_fields__]
    if unknown:
        raise FieldError(f"names {str(unknown[0])[:100]!r}; the fields are {', '.join(TriggerFields.__struct_fields__)}")
    wanted: dict[str, Any] = {name: _wanted(name, value[name]) for name in value}
    return TriggerFields(**wanted)


def _wanted(name: str, value: Any) -> int | bool | None:
    if is_blank(value):
        return None
    try:
        return parse_id(value) if name in _NAMES else parse_boolean(value)
    except FieldError as error:
        raise FieldError(f"{name} {error}") from None


_NAMES = {
    "offer_id": "offer",
    "schedule_id": "schedule",
    "traffic_source_id": "traffic_source",
    "buyer_id": "buyer",
    "number_id": "number",
}
"""Field -> the type of record that it names."""


def named_by_triggers(fields: TriggerFields) -> Iterator[tuple[str, int]]:
    """Yield the type and id of each record that the fields name."""
    for name, record_type in _NAMES.items():
        record_id = getattr(fields, name)
        if record_id is not None:
            yield record_type, record_id


def check_triggers(values: Mapping[str, Any], given: Mapping[str, Any], errors: Errors, exists: Exists) -> None:
    """Check that given trigger fields name records of the company, and that what is said of hooks has a hook."""
    _check_hooks(values, given, errors)
    if "trigger_fields" not in given:
        return
    for record_type, record_id in named_by_triggers(values.get("trigger_fields", TriggerFields())):
        if not exists(record_type, record_id):
            sentence = f"{record_id} is no {record_type.replace('_', ' ')} of this company"
            errors.setdefault(f"trigger_fields.{record_type}_id", []).append(sentence)


def _check_hooks(values: Mapping[str, Any], given: Mapping[str, Any], errors: Errors) -> None:
    asked = [name for name in HOOKS if name in values.get("events", ())]
    for name, hooks in HOOK_FIELDS.items():
        if name in given and values.get(name) != _DEFAULTS[name] and set(hooks).isdisjoint(asked):
            errors.setdefault(name, []).append(f"goes with {' or '.join(hooks)} among the events")
    if LOOKUP in asked and len(asked) > 1:
        errors.setdefault("events", []).append(f"hold {LOOKUP}, which needs a subscription of its own beside {asked[0]}")
    if LOOKUP in asked and values.get("suppression_list_id") is None:
        errors.setdefault("suppression_list_id", []).append(f"must be given: the list that {LOOKUP} is about")
    elif LOOKUP not in asked and values.get("suppression_list_id") is not None:
        errors.setdefault("suppression_list_id", []).append(f"goes with {LOOKUP} among the events")
