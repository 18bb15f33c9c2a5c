"""What may the members of a team do, and which leads do they see? Several teams of one person unite.

A team is an account record (`access_control_list`). A key with a `user_email` acts for the person with that address: it may
do what its scopes say and one of the person's teams grants. A key without a `user_email` is the company's own.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from itertools import chain
from typing import Any, Literal

from msgspec import Struct

from engine.account.plans import Errors, Exists
from engine.account.values import REFERENCES_MAX, ids
from engine.submission.fields import FieldError, is_blank, parse_email, parse_text
from schemas.records import RECORD_BODIES, AccessControlList, LeadFilters, Permission, TokenFilter, called

MEMBERS_MAX = 500
"""People of one team: a larger one is several teams, which unite."""

TOKEN_FILTERS_MAX = 20
"""Token filters of one team: each is compared with every lead that is listed."""

TEAM = "access_control_list"

_EVERY_RECORD = ("read", "create", "update", "delete")

PERMISSIONS: Mapping[str, tuple[str, ...]] = {
    "lead": ("read", "create", "update", "delete"),
    "lead_bulk_job": ("read", "create", "cancel"),
    "lead_import": ("read", "create", "cancel"),
    "call": ("read", "start", "update", "delete", "key_press", "override_window", "override_legal"),
    "contact": ("read", "block", "review"),
    "conversion": ("read",),
    "impression": ("read", "create"),
    "company": ("read", "update"),
    **{record_type: _EVERY_RECORD for record_type in RECORD_BODIES if record_type not in {"company", TEAM}},
    "outgoing_webhook": (*_EVERY_RECORD, "secret", "fire"),
    "subscription": (*_EVERY_RECORD, "secret", "replay", "enable"),
    "provider_configuration": (*_EVERY_RECORD, "secret"),
    **dict.fromkeys(("unblock_contact_job", "contact_hold"), ("read", "create", "delete")),
    "agent_status": (*_EVERY_RECORD, "set"),
    "agent_message": (*_EVERY_RECORD, "acknowledge"),
    "suppression_list": (*_EVERY_RECORD, "add", "remove"),
    TEAM: ("read",),
    "user": ("read",),
    "audit_log": ("read",),
}
"""Model -> what a team may grant. Who may change teams or users could become anybody: that takes a superuser."""

FIELDS_MAX = 100
"""Restricted fields of one model in a team: more than any model has columns that can be hidden."""

FIELD_MODES = ("none", "read", "update")
"""Not seen; seen and not changed; no restriction, which is not stored."""

_FIELD = re.compile(r"[a-z][a-z0-9_]{0,62}", re.ASCII)

_FILTERED = {"offer_ids": "offer", "schedule_ids": "schedule", "buyer_ids": "buyer", "traffic_source_ids": "traffic_source"}


class Visibility(Struct, frozen=True):
    """What a person may reach by one operation.

    `leads`: leads and their calls that fit any of these (None: all). `record_ids`: these records of the type (None: all).
    """

    leads: tuple[LeadFilters, ...] | None = None
    record_ids: tuple[int, ...] | None = None


def is_granted(teams: Sequence[AccessControlList], scope: str) -> bool:
    """Return whether one of the teams grants a scope such as `lead:update`."""
    return any(_grants(team, scope) for team in teams)


def visibility_of(teams: Sequence[AccessControlList], scope: str) -> Visibility:
    """Return what the teams that grant a scope reach together."""
    granting = [team for team in teams if _grants(team, scope)]
    if any(team.superuser for team in granting):
        return Visibility()
    filters = [team.lead_filters for team in granting if team.lead_filters is not None]
    listed = [ids for team in granting if isinstance(ids := team.permissions[_model(scope)].scope, tuple)]
    return Visibility(
        leads=None if len(filters) < len(granting) else tuple(filters),
        record_ids=None if len(listed) < len(granting) else tuple(dict.fromkeys(chain.from_iterable(listed))),
    )


def restricted_fields(teams: Sequence[AccessControlList], model: str, modes: Collection[str]) -> frozenset[str]:
    """Return the fields of a model that every team which grants anything of it restricts in one of the modes."""
    if any(team.superuser for team in teams):
        return frozenset()
    granting = [team.permissions[model].fields for team in teams if model in team.permissions]
    restricted = [{name for name, mode in fields.items() if mode in modes} for fields in granting]
    return frozenset(set.intersection(*restricted)) if restricted else frozenset()


def _grants(team: AccessControlList, scope: str) -> bool:
    permission = team.permissions.get(_model(scope))
    return team.superuser or (permission is not None and scope.partition(":")[2] in permission.actions)


def _model(scope: str) -> str:
    return scope.partition(":")[0]


# -- fields --------------------------------------------------------------------------------------------------------------


def users_emails(value: Any) -> tuple[str, ...]:
    """Return the addresses of a team's members, in lower case, each once."""
    if is_blank(value):
        return ()
    if not isinstance(value, list | tuple) or len(value) > MEMBERS_MAX:
        raise FieldError(f"must be a list of at most {MEMBERS_MAX} e-mail addresses")
    return tuple(dict.fromkeys(user_email(one) for one in value))


def user_email(value: Any) -> str:
    """Return the address by which teams know a person: in lower case."""
    return parse_email(value).lower()


def permissions(value: Any) -> dict[str, Permission]:
    """Return model -> what the team may do with it, such as `{"lead": {"actions": ["read"]}}`."""
    if is_blank(value):
        return {}
    if not isinstance(value, Mapping):
        raise FieldError('must be an object such as {"lead": {"actions": ["read", "update"]}}')
    return {_known_model(model): _permission(str(model), given) for model, given in value.items()}


def _known_model(model: Any) -> str:
    if model not in PERMISSIONS:
        raise FieldError(f"names {str(model)[:100]!r}; the models are {', '.join(PERMISSIONS)}")
    return str(model)


def _permission(model: str, given: Any) -> Permission:
    if isinstance(given, Permission):
        return given
    if not isinstance(given, Mapping) or not given.keys() <= {"actions", "scope", "fields"}:
        raise FieldError(f"must give {model} as an object with actions and, if it is limited, scope and fields")
    fields = _fields(model, given.get("fields"))
    actions = given.get("actions")
    known = PERMISSIONS[model]
    if not isinstance(actions, list | tuple) or not actions or any(action not in known for action in actions):
        raise FieldError(f"must give {model} a list of actions; those are {', '.join(known)}")
    scope = given.get("scope", "all")
    if scope == "all":
        return Permission(actions=tuple(dict.fromkeys(actions)), fields=fields)
    if model not in RECORD_BODIES or model == "company":
        raise FieldError(f"cannot limit {model} by ids; lead_filters limit leads and calls")
    found = ids(scope)
    if not found:
        raise FieldError(f'must give the scope of {model} as "all" or as a list of ids')
    if "create" in actions:
        raise FieldError(f"cannot let a team create {called(model)} and limit it to some ids; choose one of both")
    return Permission(actions=tuple(dict.fromkeys(actions)), scope=found, fields=fields)


def _fields(model: str, given: Any) -> dict[str, Literal["none", "read"]]:
    """Return the restricted fields of a model. Which columns it has is checked where they are shown."""
    if is_blank(given):
        return {}
    if not isinstance(given, Mapping) or len(given) > FIELDS_MAX:
        raise FieldError(
            f'must give the fields of {model} as an object such as {{"email": "none"}}, of at most {FIELDS_MAX}'
        )
    for name, mode in given.items():
        if not isinstance(name, str) or _FIELD.fullmatch(name) is None or mode not in FIELD_MODES:
            raise FieldError(f"must give each of the fields of {model} one of {', '.join(FIELD_MODES)}")
    return {name: mode for name, mode in sorted(given.items()) if mode != "update"}


def lead_filters(value: Any) -> LeadFilters:
    """Return which leads the team sees: those that fit every list that is given."""
    if isinstance(value, LeadFilters):
        return value
    known = (*_FILTERED, "token_filters")
    if not isinstance(value, Mapping) or not value.keys() <= set(known):
        raise FieldError(f"must be an object; its fields are {', '.join(known)}")
    listed = {name: ids(value.get(name)) for name in _FILTERED}
    found = LeadFilters(**listed, token_filters=_token_filters(value.get("token_filters")))
    if found == LeadFilters():
        raise FieldError("must have a list that is not empty; leave lead_filters out for all leads")
    return found


def _token_filters(value: Any) -> tuple[TokenFilter, ...]:
    if is_blank(value):
        return ()
    if not isinstance(value, list | tuple) or len(value) > TOKEN_FILTERS_MAX:
        raise FieldError(f"must have at most {TOKEN_FILTERS_MAX} token_filters, in a list")
    found = []
    for one in value:
        pair = (one.get("key"), one.get("value")) if isinstance(one, Mapping) and one.keys() <= {"key", "value"} else (None,)
        if any(is_blank(part) for part in pair):
            raise FieldError("must give each of token_filters as an object with a key and a value")
        found.append(TokenFilter(*(parse_text(part) for part in pair)))
    return tuple(dict.fromkeys(found))


def check_references(values: Mapping[str, Any], given: Mapping[str, Any], errors: Errors, exists: Exists) -> None:
    """Refuse ids that are no live record of the company. They may be deleted later: their old leads stay visible."""
    filters = values.get("lead_filters")
    if "lead_filters" in given and isinstance(filters, LeadFilters):
        for field, record_type in _FILTERED.items():
            _require(f"lead_filters.{field}", record_type, getattr(filters, field), errors, exists)
    if "permissions" in given:
        for model, permission in values.get("permissions", {}).items():
            if permission.scope != "all":
                _require(f"permissions.{model}.scope", model, permission.scope, errors, exists)


def _require(field: str, record_type: str, record_ids: Sequence[int], errors: Errors, exists: Exists) -> None:
    missing = [record_id for record_id in record_ids[:REFERENCES_MAX] if not exists(record_type, record_id)]
    if missing:
        words = record_type.replace("_", " ")
        errors.setdefault(field, []).extend(f"{record_id} is no {words} of this company" for record_id in missing)
