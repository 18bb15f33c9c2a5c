"""How does the API show an account record? Its base columns and every field of its body, defaults included.

Hashes of private keys and passwords are never shown. Caps appear as `<metric>_<period>_limit`.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from engine.account.caps import Capped
from engine.account.groups import CAPS_OF
from engine.views.caps import EARNED_COLUMNS, Used, earned_columns, is_maxed_out
from engine.views.cells import cell, spelled_out
from engine.views.report import Sums
from engine.views.unblock_job import JOB_COLUMNS, NOT_BEGUN, UnblockProgress, job_columns
from schemas.instant import to_rfc3339
from schemas.records import (
    RECORD_BODIES,
    Body,
    BuyerFleet,
    BuyerGroup,
    Company,
    Offer,
    ProviderConfiguration,
    Schedule,
    UnblockContactJob,
    User,
)

Row = Mapping[str, Any]

_NOT_COUNTED: Used = {}
_NOTHING: Row = {}

FLEET_TYPE = "buyer_fleet"
"""The type whose buyers are shown with it, and set on the buyers."""

HIDDEN_FIELDS: dict[str, frozenset[str]] = {
    "api_key": frozenset({"private_key_sha256"}),
    "company": frozenset({"sealed_sign_in_secret"}),
    "user": frozenset({"password_hash", "second_factor_salt", "invitation_sha256", "identity_sha256"}),
    "provider_configuration": frozenset({"sealed_secrets"}),
    **dict.fromkeys(("offer", "schedule"), frozenset({"sealed_signing_secret"})),
    "unblock_contact_job": frozenset({"contact_partitions"}),
    "contact_hold": frozenset({"request_id"}),
    **dict.fromkeys(CAPS_OF, frozenset({"caps"})),
}

TYPE_NAMES: dict[str, str] = {
    "company": "Company",
    "offer": "Offer",
    "schedule": "Schedule",
    "buyer": "Buyer",
    "buyer_group": "BuyerGroup",
    "traffic_source": "TrafficSource",
    "number": "Number",
    "outgoing_webhook": "OutgoingWebhook",
    "api_key": "ApiKey",
    "call_disposition": "CallDisposition",
    "action_group": "ActionGroup",
    "rule_pack": "RulePack",
    "buyer_fleet": "BuyerFleet",
    "unblock_contact_job": "UnblockContactJob",
    "access_control_list": "AccessControlList",
    "call_center": "CallCenter",
    "agent_status": "AgentStatus",
    "agent": "Agent",
    "agent_message": "AgentMessage",
    "subscription": "Subscription",
    "user": "User",
    "provider_configuration": "ProviderConfiguration",
    "suppression_list": "SuppressionList",
    "holiday": "Holiday",
    "contact_field_type": "ContactFieldType",
    "ring_pool": "RingPool",
    "contact_hold": "ContactHold",
}

PROJECTED_COLUMNS: dict[str, dict[str, Any]] = {
    "agent": {"agent_status_id": None, "agent_status_key": None, "agent_widget_id": None, "status_changed_at": None},
    "agent_message": {"agent_widget_count": 0},
    "ring_pool": {"held_count": 0, "overflow_count": 0, "last_overflow_at": None, "holds": []},
    "subscription": {
        "waiting_count": 0,
        "failed_count": 0,
        "last_delivered_at": None,
        "failing_since": None,
        "disabled_at": None,
        "disabled_reason": None,
        "dropped_count": 0,
        "dropped_since": None,
    },
}
"""Type -> column -> its value until something has happened that fills it; what happened is read beside the record."""

EARNING_TYPES = frozenset({"buyer", "buyer_group"})
"""Types of which is shown what they earn by each call."""

MADE_ONCE = frozenset({"unblock_contact_job", "contact_hold"})
"""Types whose records are never changed."""

BASE_COLUMNS = (
    "id", "legacy_id", "type", "uuid", "created_at", "updated_at", "deleted_at", "user_updated_at", "routes_show_path",
    "routes_edit_path", "external_record_id", "company_id", "version",
)  # fmt: skip

RECORD_INSTANTS = frozenset(
    {
        *("paused_at", "unpaused_at", "total_caps_reset_at", "expires_at", "revoked_at", "published_at"),
        *("unpause_at", "secret_rotated_at", "invitation_expires_at"),
        *("blocked_at_from", "blocked_at_to"),
    }
)


def record_columns(record_type: str) -> tuple[str, ...]:
    """Return every column of a type, in order."""
    hidden = HIDDEN_FIELDS.get(record_type, frozenset())
    names = [field for field in RECORD_BODIES[record_type].__struct_fields__ if field not in hidden]
    return tuple(dict.fromkeys((*BASE_COLUMNS, *names, *_derived_names(record_type))))


def record_view(
    record_type: str,
    row: Row,
    path: str,
    columns: Sequence[str] | None = None,
    *,
    slots_held: int = 0,
    used: Used = _NOT_COUNTED,
    members: Sequence[int] = (),
    earned: Sums | None = None,
    progress: UnblockProgress = NOT_BEGUN,
    projected: Row = _NOTHING,
) -> dict[str, Any]:
    """Return a record as the API shows it; `path` is the collection of its type.

    `used` holds the counts of a record with caps; missing ones are null. `members` are the buyers of a fleet, `earned` the
    sums of the latest calls of a buyer or group (None: there were none), `progress` is that of an unblock contact job,
    `projected` what has filled `PROJECTED_COLUMNS`.
    """
    body = msgspec.convert(row["body"], RECORD_BODIES[record_type])
    shown = {
        **_base(record_type, row, f"{path}/{row['id']}"),
        **_fields(body),
        **_derived(record_type, body, slots_held, used, members, earned),
        **PROJECTED_COLUMNS.get(record_type, {}),
        **projected,
    }
    if isinstance(body, UnblockContactJob):
        shown |= job_columns(body, progress, is_deleted=row["deleted_at"] is not None)
    return {name: shown.get(name) for name in (columns or record_columns(record_type))}


def _base(record_type: str, row: Row, path: str) -> dict[str, Any]:
    moments = {name: cell(row[name]) for name in ("created_at", "updated_at", "deleted_at", "user_updated_at")}
    return {
        "id": row["id"],
        "legacy_id": None,
        "type": TYPE_NAMES[record_type],
        "uuid": cell(row["uuid"]),
        **moments,
        "routes_show_path": path,
        "routes_edit_path": None if record_type in MADE_ONCE else path,
        "company_id": row["company_id"],
        "version": row["version"],
    }


def _fields(body: Body) -> dict[str, Any]:
    return shown_fields({name: value for name, value in spelled_out(body).items() if name != "caps"})


def shown_fields(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return fields of a record as they are shown: instants as text."""
    return {
        name: to_rfc3339(value) if name in RECORD_INSTANTS and value is not None else value for name, value in fields.items()
    }


def _derived(  # noqa: PLR0917 - what is known of a row
    record_type: str, body: Body, slots_held: int, used: Used, members: Sequence[int], earned: Sums | None
) -> dict[str, Any]:
    shown: dict[str, Any] = {}
    if isinstance(body, BuyerFleet):
        shown |= {"buyers_count": len(members), "buyer_ids": list(members)}
    if isinstance(body, Company):
        shown["has_sign_in_client_secret"] = body.sealed_sign_in_secret is not None
    if isinstance(body, Offer | Schedule):
        shown["has_form_secret"] = body.sealed_signing_secret is not None
    if isinstance(body, User):
        shown |= {"has_password": body.password_hash is not None, "has_second_factor": body.second_factor_salt is not None}
    if isinstance(body, ProviderConfiguration):
        shown["secret_names"] = sorted(body.sealed_secrets)
    if isinstance(body, Offer | BuyerGroup):
        shown["buyers_count"] = len(body.buyer_ids)
    if isinstance(body, Capped):
        shown["concurrency_cap_used"] = slots_held
        shown["maxed_out"] = is_maxed_out(body, used, slots_held)
        shown |= earned_columns(earned) if record_type in EARNING_TYPES else {}
        shown |= {name: body.caps.get(cap) for name, cap in CAPS_OF[record_type].items()}
        shown |= {f"{cap}_used": used.get(cap) for cap in CAPS_OF[record_type].values()}
    return shown


def counted_columns(record_type: str) -> frozenset[str]:
    """Return the columns that calls, conversions and changes of other records change, not a change of the record."""
    derived = frozenset(_derived_names(record_type))
    return derived if record_type == FLEET_TYPE else derived - {"buyers_count", *CAPS_OF.get(record_type, ())}


_OF_SECRETS: Mapping[str, tuple[str, ...]] = {
    "company": ("has_sign_in_client_secret",),
    "user": ("has_password", "has_second_factor"),
    "provider_configuration": ("secret_names",),
    **dict.fromkeys(("offer", "schedule"), ("has_form_secret",)),
}
"""Columns that say which secrets are set."""


def _derived_names(record_type: str) -> tuple[str, ...]:
    """Return the columns that follow from others."""
    if record_type == "unblock_contact_job":
        return JOB_COLUMNS
    if record_type in PROJECTED_COLUMNS:
        return tuple(PROJECTED_COLUMNS[record_type])
    counted = ("buyers_count",) if record_type in {"offer", "buyer_group", FLEET_TYPE} else ()
    if record_type == FLEET_TYPE:
        return (*counted, "buyer_ids")
    caps = CAPS_OF.get(record_type)
    if caps is None:
        return (*counted, *_OF_SECRETS.get(record_type, ()))
    earned = EARNED_COLUMNS if record_type in EARNING_TYPES else ()
    return (*counted, "concurrency_cap_used", "maxed_out", *earned, *caps, *(f"{cap}_used" for cap in caps.values()))
