"""Which fields does a record of each type have, and which of them may a request set?

The given fields replace the stored ones. All bad fields are reported at once. Unknown fields are refused, so that a
misspelt name is not silently ignored.
"""

from collections.abc import Mapping
from functools import partial
from typing import Any, get_args

from msgspec import Struct
from msgspec.structs import asdict
from msgspec.structs import fields as fields_of

from engine.account.action_groups import GROUP_STEPS_MAX, GroupOf, led_triggers, no_group, relocate, splice
from engine.account.contact_fields import SCRIPT_LENGTH_MAX, contact_fields
from engine.account.contact_holds import held_channels, hold_reason
from engine.account.did_you_mean import did_you_mean
from engine.account.fleets import FleetNamed
from engine.account.groups import (
    CAP_FIELDS,
    CAP_INPUTS_OF,
    GROUP_INPUTS,
    BuyerLookup,
    change_caps,
    change_group,
    no_buyer_named,
)
from engine.account.holidays import check_dates, holiday_date
from engine.account.issuers import check_issuer, client_id, email_domain, issuer, issuer_name, sealed_secret
from engine.account.law import LAW_FIELDS, read_rule_pack
from engine.account.lead_maps import read_lead_map
from engine.account.offer_agents import AGENT_FIELDS, check_agents
from engine.account.pausing import change_unpause
from engine.account.plans import Errors, Exists, check_margin, check_steps, read_steps, read_triggers, read_windows
from engine.account.provider_configurations import (
    FALLBACK_ORDER_MAX,
    merge_secrets,
    provider_name,
    provider_settings,
)
from engine.account.public_fields import consent_url, dial_countries, public_parameters, public_updates
from engine.account.publishing import PUBLISH_INPUTS, WRITTEN_BY_PUBLISHING
from engine.account.ring_pools import GRACE_SECONDS_MAX, HOLD_SECONDS, NUMBERS_MAX, check_numbers
from engine.account.subscriptions import check_triggers, events, hook_timeout, trigger_fields
from engine.account.teams import TEAM, lead_filters, permissions, user_email, users_emails
from engine.account.teams import check_references as check_team_references
from engine.account.unblock_jobs import check_bounds
from engine.account.users import check_user, identity_sha256, invitation_sha256, password_hash, second_factor_salt
from engine.account.values import (
    GENERATION_MAX,
    PARSERS,
    Parser,
    agent_message_content,
    choice,
    ids,
    moment,
    number_or_sip,
    optional,
    origins,
)
from engine.partition.draft import RefusedError
from engine.submission.consents import TEXT_LENGTH_MAX as CONSENT_LENGTH_MAX
from engine.submission.fields import FieldError, is_blank, parse_boolean, parse_id, parse_integer, parse_text, parse_zone
from schemas.instant import EPOCH, Instant
from schemas.law import SECTORS
from schemas.records import (
    PUBLIC_CONTACTS_MAX,
    RECORD_BODIES,
    AccessControlList,
    ActionGroup,
    AgentMessage,
    AgentStatusKey,
    Body,
    Buyer,
    BuyerGroup,
    Company,
    ContactHold,
    Holiday,
    InboundPause,
    Offer,
    ProviderChannel,
    ProviderConfiguration,
    PublicActions,
    RingPool,
    RulePack,
    Schedule,
    Subscription,
    TrafficSource,
    UnblockContactJob,
    User,
    UserState,
    called,
)
from schemas.schedule import ActionGroupStep

FIELDS_SHOWN_MAX = 50
"""Fields named in one answer."""

_PLAN_FIELDS = frozenset({"steps", "end_steps", "triggers", "windows"})

_READ_TOGETHER: dict[str, frozenset[str]] = {
    "schedule": _PLAN_FIELDS | {"lead_map"},
    "action_group": frozenset({"steps"}),
    "rule_pack": LAW_FIELDS,
    "provider_configuration": frozenset({"sealed_secrets"}),
    "traffic_source": frozenset({"lead_map"}),
}

# Written by the account itself, or only ever read one way.
_NOT_GIVEN: dict[str, frozenset[str]] = {
    "call_disposition": frozenset({"system"}),
    "buyer": CAP_FIELDS,
    "buyer_group": frozenset({*CAP_FIELDS, "paused_at", "unpaused_at", "paused_by_user_id"}),
    "traffic_source": CAP_FIELDS,
    "number": CAP_FIELDS,
    "unblock_contact_job": frozenset({"user_id", "contact_partitions"}),
    "agent_message": frozenset({"user_id"}),
    "contact_hold": frozenset({"user_id", "request_id"}),
    "schedule": WRITTEN_BY_PUBLISHING,
}
_FIXED: dict[str, frozenset[str]] = {
    "api_key": frozenset({"public_key"}),
    "unblock_contact_job": frozenset(UnblockContactJob.__struct_fields__),
    "contact_hold": frozenset(ContactHold.__struct_fields__),
    "provider_configuration": frozenset({"channel", "provider"}),
}
_EXTRA: dict[str, frozenset[str]] = {
    "company": frozenset({"id"}),
    **CAP_INPUTS_OF,
    "buyer_group": GROUP_INPUTS,
    "schedule": PUBLISH_INPUTS,
}
_PARSERS: dict[tuple[str, str], Any] = {
    ("buyer", "number"): number_or_sip,
    (TEAM, "users_emails"): users_emails,
    (TEAM, "superuser"): parse_boolean,
    (TEAM, "permissions"): permissions,
    (TEAM, "lead_filters"): optional(lead_filters),
    ("api_key", "origins"): origins,
    **dict.fromkeys((("api_key", "user_email"), ("agent", "user_email")), optional(user_email)),
    ("agent_status", "key"): choice(*get_args(AgentStatusKey)),
    ("agent", "call_center_id"): optional(parse_id),
    **dict.fromkeys((("offer", name) for name in AGENT_FIELDS), ids),
    ("offer", "public_parameters"): public_parameters,
    ("offer", "public_updates"): public_updates,
    **dict.fromkeys((("offer", "dial_countries"), ("company", "dial_countries")), dial_countries),
    **dict.fromkeys(
        (("offer", "consent_text"), ("traffic_source", "consent_text")),
        optional(partial(parse_text, most=CONSENT_LENGTH_MAX)),
    ),
    **dict.fromkeys((("offer", "consent_url"), ("traffic_source", "consent_url")), optional(consent_url)),
    ("offer", "sector"): optional(choice(*SECTORS)),
    ("company", "unreviewed_countries"): choice("floor", "hold"),
    ("company", "on_invalid"): choice("refuse", "warn"),
    **dict.fromkeys(((name, "inbound") for name in ("company", "offer", "number")), choice(*get_args(InboundPause))),
    ("company", "public_actions"): choice(*get_args(PublicActions)),
    **dict.fromkeys((("offer", "sealed_signing_secret"), ("schedule", "sealed_signing_secret")), optional(sealed_secret)),
    ("offer", "public_actions"): optional(choice(*get_args(PublicActions))),
    ("company", "public_contacts"): partial(parse_integer, least=0, most=PUBLIC_CONTACTS_MAX),
    ("agent", "number"): optional(number_or_sip),
    ("contact_field_type", "script"): optional(partial(parse_text, most=SCRIPT_LENGTH_MAX)),
    ("contact_field_type", "fields"): contact_fields,
    ("holiday", "first_date"): holiday_date,
    ("holiday", "last_date"): optional(holiday_date),
    ("holiday", "schedule_ids"): ids,
    ("ring_pool", "number_ids"): partial(ids, most=NUMBERS_MAX),
    ("ring_pool", "hold_seconds"): partial(parse_integer, least=HOLD_SECONDS[0], most=HOLD_SECONDS[1]),
    ("ring_pool", "grace_seconds"): partial(parse_integer, least=0, most=GRACE_SECONDS_MAX),
    ("ring_pool", "default_number_id"): optional(parse_id),
    ("contact_hold", "reason"): hold_reason,
    ("contact_hold", "channels"): held_channels,
    ("contact_hold", "hang_up"): parse_boolean,
    ("agent_message", "content"): agent_message_content,
    ("agent_message", "agent_status_id"): optional(parse_id),
    ("agent_message", "call_center_ids"): ids,
    ("subscription", "events"): events,
    ("subscription", "suppression_list_id"): optional(parse_id),
    ("subscription", "trigger_fields"): trigger_fields,
    ("user", "email"): user_email,
    ("user", "state"): choice(*get_args(UserState)),
    ("user", "time_zone"): optional(parse_zone),
    ("user", "password_hash"): optional(password_hash),
    ("user", "second_factor_salt"): optional(second_factor_salt),
    ("user", "invitation_sha256"): optional(invitation_sha256),
    ("user", "invitation_expires_at"): optional(moment),
    ("user", "identity_issuer"): optional(issuer),
    ("user", "identity_sha256"): optional(identity_sha256),
    ("company", "sign_in_issuer"): optional(issuer),
    ("company", "sign_in_client_id"): optional(client_id),
    ("company", "sealed_sign_in_secret"): optional(sealed_secret),
    ("company", "sign_in_name"): optional(issuer_name),
    ("company", "sign_in_email_domain"): optional(email_domain),
    ("company", "sign_in_required"): parse_boolean,
    ("subscription", "on_error"): choice("deny", "allow"),
    ("subscription", "timeout_seconds"): hook_timeout,
    ("provider_configuration", "channel"): choice(*get_args(ProviderChannel)),
    ("provider_configuration", "provider"): provider_name,
    ("provider_configuration", "settings"): provider_settings,
    ("provider_configuration", "number_ids"): ids,
    ("provider_configuration", "fallback_order"): partial(parse_integer, least=0, most=FALLBACK_ORDER_MAX),
    ("provider_configuration", "callback_generation"): partial(parse_integer, least=1, most=GENERATION_MAX),
}


_OWN_READERS: Mapping[type[Body], Any] = {
    Offer: check_agents,
    RulePack: read_rule_pack,
    Company: check_issuer,
    ProviderConfiguration: merge_secrets,
    Holiday: check_dates,
    RingPool: check_numbers,
    TrafficSource: read_lead_map,
    Schedule: read_lead_map,
}
"""What reads the fields of a type that are read together."""

_OWN_REFERENCES: Mapping[type[Body], Any] = {AccessControlList: check_team_references, Subscription: check_triggers}
"""What looks up the references that a type has in fields of its own."""


class BodyChange(Struct):
    """A changed body, and the facts that follow from the change."""

    body: Body
    facts: tuple[str, ...] = ()


def read_body(
    record_type: str,
    given: Mapping[str, Any],
    current: Body | None,
    *,
    now: Instant,
    exists: Exists | None,
    buyer_named: BuyerLookup = no_buyer_named,
    group_of: GroupOf = no_group,
    fleet_named: FleetNamed | None = None,
) -> BodyChange:
    """Return the body after the change.

    `exists` tells whether a live record of this company is there (None: references are not looked up), `buyer_named`
    gives the id of a buyer by `user_buyer_id`, `group_of` an action group, `fleet_named` the id of a buyer fleet by
    `user_fleet_id` (None: fleets are not looked up). Raises `RefusedError` (`validation_failed`, or `invalid_schedule`
    where only steps and windows are at fault) with every bad field.
    """
    errors: Errors = {}
    kind = RECORD_BODIES[record_type]
    values = _read_fields(record_type, given, current, errors)
    if isinstance(current, Schedule) or kind is Schedule:
        _read_plan(given, values, errors, exists, group_of, fleet_named=fleet_named)
    if kind is ActionGroup:
        _read_group(given, values, errors, exists, fleet_named)
    if kind in _OWN_READERS:
        _OWN_READERS[kind](given, values, errors)
    if current is None:
        _check_new(kind, given, values, errors, now=now)
    _check_required(kind, values, errors)
    facts: tuple[str, ...] = ()
    if kind is BuyerGroup:
        facts = change_group(given, values, current, errors, now=now, exists=exists, buyer_named=buyer_named)
    elif record_type in CAP_INPUTS_OF:
        facts = change_caps(record_type, given, values, errors, now=now)
    if kind in {Buyer, BuyerGroup}:
        change_unpause(given, values, errors, now=now)
    if exists is not None:
        _check_references(values, given, errors, exists)
        if kind in _OWN_REFERENCES:
            _OWN_REFERENCES[kind](values, given, errors, exists)
    _refuse(errors)
    return BodyChange(kind(**values), facts)


def read_schedule(given: Mapping[str, Any], group_of: GroupOf = no_group) -> Schedule:
    """Return a schedule for a preview: references are not looked up; name and token are optional.

    Raises `RefusedError` as `read_body`.
    """
    fields = {"name": "preview", "lead_token": "preview-preview-"} | dict(given)
    body = read_body("schedule", fields, None, now=EPOCH, exists=None, group_of=group_of)
    assert isinstance(body.body, Schedule)  # noqa: S101 - the type was just named
    return body.body


def _read_fields(record_type: str, given: Mapping[str, Any], current: Body | None, errors: Errors) -> dict[str, Any]:
    kind = RECORD_BODIES[record_type]
    known = {field.name: field for field in fields_of(kind) if field.name not in _NOT_GIVEN.get(record_type, ())}
    values: dict[str, Any] = {} if current is None else asdict(current)
    values.pop("migrate", None)  # holds for one version only
    for name, value in given.items():
        if name in _EXTRA.get(record_type, ()) or name in _READ_TOGETHER.get(record_type, ()):
            continue
        if name not in known:
            # Hints only for the fields that are shown: ten thousand comparisons would block the partition for a second.
            hint = did_you_mean(name, known) if len(errors) < FIELDS_SHOWN_MAX else ""
            errors.setdefault(name[:100], []).append(f"is no field of {called(record_type)}{hint}; {_listed(known)}")
        elif is_blank(value) and not known[name].required:
            values.pop(name, None)  # emptied: its default applies
        else:
            _read_field(record_type, name, value, values, errors)
    if current is not None:
        for name in _FIXED.get(record_type, frozenset()):
            if values.get(name) != getattr(current, name):
                errors.setdefault(name, []).append("cannot be changed; create another record")
    return values


def _read_field(record_type: str, name: str, value: Any, values: dict[str, Any], errors: Errors) -> None:
    try:
        values[name] = parser_of(record_type, name)(value)
    except FieldError as error:
        errors.setdefault(name, []).append(str(error))


def parser_of(record_type: str, name: str) -> Parser:
    """Return what parses a field of a type."""
    return _PARSERS.get((record_type, name)) or PARSERS[name]


def _listed(known: Mapping[str, Any]) -> str:
    return f"those are {', '.join(known)}"


def _check_new(kind: type[Body], given: Mapping[str, Any], values: dict[str, Any], errors: Errors, *, now: Instant) -> None:
    """Check and fill what holds only for a record that is created."""
    if kind is Company:
        careful = {"dial_countries": (values.get("country", Company(name="").country),), "unreviewed_countries": "hold"}
        values |= {name: value for name, value in careful.items() if name not in given}
    if kind is UnblockContactJob:
        check_bounds(values, errors, now=now)
    if kind is AgentMessage and values.get("content") == "":
        errors.setdefault("content", []).append("must not be blank")


def _check_required(kind: type[Body], values: Mapping[str, Any], errors: Errors) -> None:
    if kind is User:
        check_user(values, errors)
    for field in fields_of(kind):
        if field.required and field.name not in values and field.name not in errors:
            sentence = "must be given: make one at random, 16 to 64 letters, digits, _ or -"
            errors[field.name] = [sentence if field.name == "lead_token" else "must be given"]


def _read_plan(
    given: Mapping[str, Any],
    values: dict[str, Any],
    errors: Errors,
    exists: Exists | None,
    group_of: GroupOf,
    *,
    fleet_named: FleetNamed | None,
) -> None:
    """Read and check the given plan; referenced records cannot be deleted."""
    lists = {
        field: read_steps(given[field], field, errors) if field in given else values.get(field, ())
        for field in ("steps", "end_steps")
    }
    triggers = read_triggers(given["triggers"], errors) if "triggers" in given else values.get("triggers", ())
    spliced = {field: splice(steps, field, group_of, errors) for field, steps in lists.items()}
    lists = {field: found.steps for field, found in spliced.items()}
    triggers = led_triggers(triggers, spliced["steps"].firsts)
    if {"triggers", *lists} & given.keys():
        known = {name: list(faults) for name, faults in errors.items()}
        check_steps(lists["steps"], lists["end_steps"], errors, exists, triggers, fleet_named=fleet_named)
        relocate(errors, known, spliced)
    values |= lists | {"triggers": triggers}
    if "windows" in given:
        values["windows"] = read_windows(given["windows"], errors)
    if {"windows", "close_margin_seconds"} & given.keys():
        check_margin(values.get("windows", {}), values.get("close_margin_seconds", 0), errors)


def _read_group(
    given: Mapping[str, Any],
    values: dict[str, Any],
    errors: Errors,
    exists: Exists | None,
    fleet_named: FleetNamed | None,
) -> None:
    """Read and check the steps of an action group as if they were a schedule."""
    if "steps" not in given:
        if not values.get("steps"):
            errors.setdefault("steps", []).append("must be given: the steps that the group stands for")
        return
    steps = read_steps(given["steps"], "steps", errors)
    if not 1 <= len(steps) <= GROUP_STEPS_MAX and "steps" not in errors:
        errors.setdefault("steps", []).append(f"must have 1 to {GROUP_STEPS_MAX} steps")
    for place, step in enumerate(steps):
        if isinstance(step, ActionGroupStep):
            fault = f"(step {step.id[:64]!r}) has no place in an action group: groups hold no groups"
            errors.setdefault(f"steps[{place}].kind", []).append(fault)
    check_steps(steps, (), errors, exists, fleet_named=fleet_named)
    values["steps"] = steps


_LIST_REFERENCES = {
    "buyer_ids": "buyer",
    "buyer_group_ids": "buyer_group",
    "buyer_fleet_ids": "buyer_fleet",
    "call_center_ids": "call_center",
    "agent_ids": "agent",
    "number_ids": "number",
    "suppression_list_ids": "suppression_list",
    "schedule_ids": "schedule",
}
_REFERENCES = {
    "offer_id": "offer",
    "action_group_id": "action_group",
    "call_center_id": "call_center",
    "agent_status_id": "agent_status",
    "default_number_id": "number",
    "suppression_list_id": "suppression_list",
}


def _check_references(values: Mapping[str, Any], given: Mapping[str, Any], errors: Errors, exists: Exists) -> None:
    """Check the references of the given fields; stored ones were checked before and cannot have been deleted."""
    for field, record_type in _REFERENCES.items():
        record_id = values.get(field)
        if field in given and record_id is not None and not exists(record_type, record_id):
            errors.setdefault(field, []).append(f"{record_id} is no {record_type.replace('_', ' ')} of this company")
    for field in ("on_inbound_connected", "on_conversion"):
        schedule_id = getattr(values.get(field), "schedule_id", None)
        if field in given and schedule_id is not None and not exists("schedule", schedule_id):
            errors.setdefault(f"{field}.schedule_id", []).append(f"{schedule_id} is no schedule of this company")
    for field, record_type in _LIST_REFERENCES.items():
        if field in given:
            missing = [record_id for record_id in values.get(field, ()) if not exists(record_type, record_id)]
            sentences = (f"{record_id} is no {record_type.replace('_', ' ')} of this company" for record_id in missing)
            reported = errors.get(f"add_{field}", ())  # those that came in by that field
            unknown = [sentence for sentence in sentences if sentence not in reported]
            if unknown:
                errors.setdefault(field, []).extend(unknown)


def _refuse(errors: Errors) -> None:
    if not errors:
        return
    shown = dict(list(errors.items())[:FIELDS_SHOWN_MAX])
    planned = all(name.partition("[")[0].partition(".")[0] in _PLAN_FIELDS for name in errors)
    code = "invalid_schedule" if planned else "validation_failed"
    first = ", ".join(list(shown)[:5])
    more = f" and {len(errors) - 5} more" if len(errors) > 5 else ""  # noqa: PLR2004
    raise RefusedError(code, f"Correct {first}{more} and resend; nothing was changed.", shown)
