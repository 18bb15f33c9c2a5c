"""How does a company manage its records? List, show, build, create, update and delete, the same for every type.

Tokens, keys and secrets are generated here, and shown once if only their hash is stored: a private key is in the answer
that creates it and nowhere else, so a repeat under the same Idempotency-Key cannot show it again. Secrets are added when
an answer is sent: the copy that is stored for such a repeat holds none.
"""

from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from hmac import compare_digest
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

import msgspec
from msgspec import NODEFAULT, Struct, structs
from msgspec.structs import fields as struct_fields

from adapters.gateway.signing import SIGNED_TYPES, shown_secret, signing_key
from adapters.gateway.targets import refusal_of
from adapters.http.exchange.answers import (
    COLUMNS_SHOWN,
    PAGING_PARAMETERS,
    add_etag,
    read_columns,
    read_paging,
    reply_with_list,
    reply_with_record,
)
from adapters.http.exchange.exchange import Exchange, Operation, Reply
from adapters.http.exchange.form_secrets import new_form_secret, seal_form_secret, unseal_form_secret
from adapters.http.exchange.identity import hash_private_key, new_lead_token, new_private_key, new_public_key
from adapters.http.exchange.parameters import Parameters, read_id
from adapters.http.exchange.problems import ProblemError, not_found, require_row
from adapters.http.exchange.references import is_known
from adapters.http.exchange.sent_data import refuse_unseen_steps
from adapters.http.exchange.writes import read_if_match, submit_change
from adapters.http.records import live_leads
from adapters.http.records.carrier_numbers import refuse_number_of_another
from adapters.http.records.counted_columns import GROUP, Counted, read_in_order
from adapters.http.records.live_leads import Effect
from adapters.http.records.provider_fields import (
    PROVIDER_CONFIGURATION,
    callback_url_of,
    next_generation,
    read_provider_fields,
)
from adapters.http.records.record_fields import ACTIONS, read_record_fields, settable
from adapters.http.records.record_warnings import record_warnings
from adapters.http.records.served_channels import refuse_unserved
from adapters.http.schema.inputs import choice, record_inputs
from adapters.http.schema.record_descriptions import sentence_of
from adapters.http.schema.shapes import many_of, record_answer, view_name
from adapters.providers.sealing import UnreadableSecretError
from adapters.reads.ports import Page, Paging, RecordFilter, Result, Row
from engine.account.bodies import parser_of
from engine.account.group_team import TEAM_INPUTS
from engine.account.teams import TEAM
from engine.account.users import is_of_superusers
from engine.identity import uuid_of
from engine.submission.fields import is_blank
from engine.views.caps import LIST_ORDERS
from engine.views.cells import spelled_out
from engine.views.hidden_fields import HIDEABLE
from engine.views.record import FLEET_TYPE, TYPE_NAMES, record_columns, record_view, shown_fields
from schemas.instant import to_rfc3339
from schemas.records import CAPPED_TYPES, RECORD_BODIES, Body, Company, ProviderConfiguration, User, called
from schemas.requests import RecordChangeRequested
from schemas.topics import CONTACTS_REQUESTS

UNSORTABLE = frozenset(
    {
        *("body_template", "private_key_sha256", "password_hash", "second_factor_salt", "identity_sha256"),
        "sealed_signing_secret",
    }
)
"""Text that no list is sorted by: long text, and text whose rank would reveal a secret."""

PLAIN = (str, int, float, bool, NoneType)
"""Types that can be sorted by; a list, an object or a part of a schedule cannot."""

SORTABLE_BASE = ("id", "created_at", "updated_at", "user_updated_at")

ACCEPTED = 202

NO_KEYS: Mapping[str, str] = {}
NO_FIELDS: Mapping[str, Any] = {}

SHOW_PARAMETERS = {"columns": PAGING_PARAMETERS["columns"], "root": "false: the bare record"}


class Kind(Struct, frozen=True):
    """A record type: its path, its name in answers, and whether its records can be changed once they are made."""

    type: str
    collection: str
    root: str
    is_changed: bool = True

    @property
    def path(self) -> str:
        """Path of its records."""
        return f"/api/v1/{self.collection}"

    @property
    def words(self) -> str:
        """Name in sentences."""
        return called(self.type).partition(" ")[2]

    @property
    def plural(self) -> str:
        """Name of several in sentences."""
        return f"{self.words}{'es' if self.words.endswith('s') else 's'}"


KINDS: tuple[Kind, ...] = (
    Kind("schedule", "schedules", "schedule"),
    Kind("offer", "offers", "offer"),
    Kind("buyer", "buyers", "buyer"),
    Kind("buyer_group", "buyer_groups", "buyer_group"),
    Kind("traffic_source", "traffic_sources", "traffic_source"),
    Kind("number", "numbers", "number"),
    Kind("outgoing_webhook", "outgoing_webhooks", "outgoing_webhook"),
    Kind("api_key", "keys", "key"),
    Kind("call_disposition", "call_dispositions", "call_disposition"),
    Kind("rule_pack", "rule_packs", "rule_pack"),
    Kind("action_group", "action_groups", "action_group"),
    Kind("buyer_fleet", "buyer_fleets", "buyer_fleet"),
    Kind("unblock_contact_job", "unblock_contact_jobs", "unblock_contact_job", is_changed=False),
    Kind("access_control_list", "access_control_lists", "access_control_list"),
    Kind("call_center", "call_centers", "call_center"),
    Kind("agent_status", "agent_statuses", "agent_status"),
    Kind("agent", "agents", "agent"),
    Kind("agent_message", "agent_messages", "agent_message"),
    Kind("subscription", "subscriptions", "subscription"),
    Kind("user", "users", "user"),
    Kind(PROVIDER_CONFIGURATION, "provider_configurations", "provider_configuration"),
    Kind("suppression_list", "suppression_lists", "suppression_list"),
    Kind("holiday", "holidays", "holiday"),
    Kind("contact_field_type", "contact_field_types", "contact_field_type"),
    Kind("ring_pool", "ring_pools", "ring_pool"),
    Kind("contact_hold", "contact_holds", "contact_hold", is_changed=False),
)
KINDS_BY_TYPE: Mapping[str, Kind] = {kind.type: kind for kind in KINDS}


async def index(exchange: Exchange, *, kind: Kind) -> Reply:
    """Answer with a list of records."""
    parameters = Parameters(exchange.query)
    known = record_columns(kind.type)
    paging = read_paging(parameters, _sortable(kind))
    columns = read_columns(parameters, known)
    zone_name = parameters.zone("time_zone", exchange.time_zone)
    wanted = RecordFilter(
        ids=parameters.ids("ids"),
        created_from=parameters.instant("created_at_from", zone_name),
        created_to=parameters.instant("created_at_to", zone_name),
        paused=parameters.flag("paused") if _can_pause(kind) else None,
        fulltext=parameters.text("fulltext"),
    )
    parameters.finish()
    counted = Counted()

    async def read(paging: Paging) -> Page:
        if kind.type == GROUP and paging.order in LIST_ORDERS:
            return await read_in_order(exchange, wanted, paging, counted)
        page = await exchange.reads.records(exchange.company_id, kind.type, wanted, paging)
        await counted.add(exchange, kind.type, page.rows, columns)
        return page

    return await reply_with_list(
        exchange,
        kind.collection,
        parameters,
        paging=paging,
        columns=columns or known,
        read=read,
        view=lambda row: record_view(kind.type, row, kind.path, columns, **counted.of(row)),
    )


async def show(exchange: Exchange, *, kind: Kind) -> Reply:
    """Answer with one record."""
    row = await live_row(exchange, kind)
    parameters = Parameters(exchange.query)
    columns = read_columns(parameters, record_columns(kind.type))
    parameters.finish()
    reply = await show_row(exchange, kind, row, columns)
    return reply if columns else _revealed(exchange, kind, reply)


async def build(exchange: Exchange, *, kind: Kind) -> Reply:
    """Answer with an unsaved record, filled with the defaults."""
    parameters = Parameters(exchange.query)
    columns = read_columns(parameters, record_columns(kind.type))
    sent = [name for name in _buildable(kind) if not is_blank(exchange.query.get(name))]
    given = {name: parameters.read(name, parser_of(kind.type, name)) for name in sent}
    status_id = given.get("agent_status_id")
    if status_id is not None and not await is_known(exchange, "agent_status", status_id):
        parameters.refuse("agent_status_id", f"names no agent status: {status_id}")
    parameters.finish()
    shown = _unborn(exchange, kind) | shown_fields(given)
    return reply_with_record(exchange, kind.root, {name: shown[name] for name in columns or shown})


def _buildable(kind: Kind) -> tuple[str, ...]:
    """Return the fields that a built record may be given: those of a record that is made once, to be looked at first."""
    return _BUILT_WITH.get(kind.type, ()) if kind.is_changed else settable(kind.type)


_BUILT_WITH: Mapping[str, tuple[str, ...]] = {"agent_message": ("content", "agent_status_id")}


def _unborn(exchange: Exchange, kind: Kind) -> dict[str, Any]:
    """Return an unsaved record as it is shown."""
    shown: dict[str, Any] = dict.fromkeys(record_columns(kind.type))
    shown |= {"type": TYPE_NAMES[kind.type], "company_id": exchange.company_id}
    for field in struct_fields(RECORD_BODIES[kind.type]):
        default = field.default if field.default is not NODEFAULT else None
        if field.default_factory is not NODEFAULT:
            default = field.default_factory()
        if field.name in shown:
            shown[field.name] = spelled_out(default)
    company = exchange.services.source.rules.body(Company, "company", exchange.company_id)
    if kind.type in CAPPED_TYPES and company is not None:
        shown["time_zone"] = company.time_zone
    return shown


async def create(exchange: Exchange, *, kind: Kind) -> Reply:
    """Create a record."""
    fields = read_record_fields(exchange, kind.type, await _copied(exchange, kind), None)
    await refuse_unserved(exchange, kind.type, fields)
    refuse_unseen_steps(exchange, fields, NO_FIELDS)
    _check_target(exchange, kind, fields)
    if kind.type == PROVIDER_CONFIGURATION:
        fields = read_provider_fields(exchange, fields, None)
    private_key = ""
    await _hash_password(exchange, fields, None)
    if kind.type in {"offer", "schedule"}:
        fields["lead_token"] = new_lead_token()
    if kind.type == GROUP:
        _check_team(exchange, fields)
    if kind.type == TEAM:
        _check_columns(fields)
    if kind.type == "api_key":
        _check_scopes(exchange, fields)
        _check_person(exchange, fields)
        private_key = new_private_key()
        fields |= {"public_key": new_public_key(), "private_key_sha256": hash_private_key(private_key)}
    message = RecordChangeRequested(
        company_id=exchange.company_id,
        type=kind.type,
        operation="create",
        fields=fields,
        contact_partitions=await _sweeping_partitions(exchange, kind),
    )
    exchange.headers["Cache-Control"] = "no-store"
    reply = await submit_change(exchange, message, render)
    if private_key and reply.status == ACCEPTED and reply.content["request"]["id"] == exchange.request_id:
        # No later answer can show it.
        shown = {"public_key": fields["public_key"], "private_key": private_key}
        return structs.replace(reply, content={**reply.content, kind.root: shown})
    return _revealed(exchange, kind, reply, {fields["public_key"]: private_key} if private_key else {})


async def _sweeping_partitions(exchange: Exchange, kind: Kind) -> int | None:
    """Return how many partitions of contacts work on a new record of this type, None where none does."""
    if kind.type != "unblock_contact_job":
        return None
    return await exchange.services.requests.partition_count(CONTACTS_REQUESTS.name)


async def update(exchange: Exchange, *, kind: Kind) -> Reply:
    """Change a record."""
    row = await live_row(exchange, kind)
    body = msgspec.convert(row["body"], RECORD_BODIES[kind.type])
    fields = read_record_fields(exchange, kind.type, await _sent_back(exchange, kind, row), body)
    await refuse_unserved(exchange, kind.type, fields, row)
    refuse_unseen_steps(exchange, fields, row["body"])
    _check_target(exchange, kind, fields)
    if isinstance(body, ProviderConfiguration):
        fields = read_provider_fields(exchange, fields, body)
    if kind.type == TEAM:
        _check_columns(fields)
    if kind.type == "api_key":
        _refuse_stronger(exchange, row["body"])
        _check_scopes(exchange, fields)
        _check_person(exchange, fields)
    await _hash_password(exchange, fields, body)
    actions = _actions(exchange, kind)
    if "remove_second_factor" in actions:
        fields["second_factor_salt"] = None
    if "remove_identity" in actions:
        _unlink(fields, body)
    if "rotate_lead_token" in actions:
        fields["lead_token"] = new_lead_token()
    signing_secret = _sign_forms(exchange, kind, fields, actions)
    if "rotate_callback_url" in actions:
        fields["callback_generation"] = next_generation(row)
    if "rotate_secret" in actions:
        fields["secret_generation"] = row["body"].get("secret_generation", 1) + 1
        if kind.type == "subscription":
            fields["secret_rotated_at"] = to_rfc3339(exchange.now)
    message = RecordChangeRequested(
        company_id=exchange.company_id,
        type=kind.type,
        operation="update",
        id=row["id"],
        fields=fields,
        if_versions=read_if_match(exchange),
    )
    effect = await live_leads.of_change(exchange, kind.type, row, fields)
    reply = _revealed(exchange, kind, await submit_change(exchange, message, partial(render, effect=effect)))
    return _with_signing_secret(exchange, kind, row["id"], fields, reply, signing_secret) if signing_secret else reply


def _sign_forms(exchange: Exchange, kind: Kind, fields: dict[str, Any], actions: list[str]) -> str:
    """Set or remove the secret that signs forms of a lead token, if that is requested; return a new one.

    Raises `ProblemError`: validation_failed, forbidden to who may not submit with a key, as a signed form does.
    """
    asked = [action for action in ("rotate_signing_secret", "remove_signing_secret") if action in actions]
    if not asked:
        return ""
    parameters = Parameters(exchange.fields)
    if len(asked) > 1:
        parameters.refuse(asked[1], f"cannot be sent together with {asked[0]}")
    if kind.type == "schedule" and parameters.flag("draft"):
        parameters.refuse(asked[0], "takes effect at once: leave out draft")
    parameters.finish()
    if asked == ["remove_signing_secret"]:
        fields["sealed_signing_secret"] = None
        return ""
    access = exchange.key
    if not (access.is_superuser and access.has_scope("lead:create") and access.has_scope("lead:update")):
        fault = "takes a key with lead:create and lead:update that no team limits: a signed form counts as one with a key"
        raise ProblemError("forbidden", "This key cannot make signing secrets.", {asked[0]: [fault]})
    secret, key = new_form_secret(), exchange.services.settings.secret_key
    fields["sealed_signing_secret"] = seal_form_secret(key, exchange.company_id, kind.type, secret)
    return secret


def _with_signing_secret(  # noqa: PLR0917 - what was stored, and what is shown of it
    exchange: Exchange, kind: Kind, record_id: int, fields: Mapping[str, Any], reply: Reply, secret: str
) -> Reply:
    """Return an answer with the signing secret that it made; that of a repeat under an Idempotency-Key shows none."""
    if reply.status == ACCEPTED:
        is_own = reply.content["request"]["id"] == exchange.request_id
    else:
        body = exchange.services.source.rules.body(RECORD_BODIES[kind.type], kind.type, record_id)
        is_own = getattr(body, "sealed_signing_secret", None) == fields["sealed_signing_secret"]
    if not is_own:
        return reply
    content = msgspec.json.decode(reply.content) if isinstance(reply.content, bytes) else dict(reply.content)
    shown = {"signing_secret": secret}
    is_bare = kind.root not in content and reply.status != ACCEPTED
    content = {**content, **shown} if is_bare else {**content, kind.root: {**content.get(kind.root, {}), **shown}}
    return structs.replace(reply, content=content, headers={**reply.headers, "Cache-Control": "no-store"})


def _unlink(fields: dict[str, Any], body: Body) -> None:
    """Take the identity of a user away; a user without a password needs another invitation then."""
    fields |= {"identity_issuer": None, "identity_sha256": None}
    if isinstance(body, User) and body.password_hash is None and body.state == "active":
        fields.setdefault("state", "invited")


async def _hash_password(exchange: Exchange, fields: dict[str, Any], body: Body | None) -> None:
    """Replace a password by its hash, and let an invited user sign in with it."""
    password = fields.pop("password", None)
    if is_blank(password):
        return
    email = fields.get("email") or (body.email if isinstance(body, User) else "")
    company = exchange.services.source.rules.body(Company, "company", exchange.company_id)
    known = str(email), "" if company is None else company.name
    fields["password_hash"] = await exchange.services.passwords.hash(password, known)
    if body is None or (isinstance(body, User) and body.state == "invited"):
        fields.setdefault("state", "active")


async def _copied(exchange: Exchange, kind: Kind) -> Mapping[str, Any]:
    """Return the record with which sent read-only fields are compared at creation: another record, or a built one.

    A copy of a record of this company must have that record's read-only fields. A copy from another company is recognised
    by its id and uuid, which belong together, and taken as it is.
    """
    named = exchange.fields.get("id")
    reference = None if is_blank(named) else read_id(str(named))
    if reference is None:
        return _unborn(exchange, kind)
    row = await exchange.reads.record(exchange.company_id, kind.type, reference)
    if row is not None:
        return await _sent_back(exchange, kind, row)
    is_exported = isinstance(reference, int) and exchange.fields.get("uuid") == uuid_of(kind.type, reference)
    sent = exchange.fields if is_exported else NO_FIELDS
    return {name: sent.get(name, value) for name, value in _unborn(exchange, kind).items()}


async def _sent_back(exchange: Exchange, kind: Kind, row: Row) -> Mapping[str, Any]:
    """Return a record as its owner may have seen it, with what is shown once or to some keys only."""
    counted = Counted()
    if kind.type == FLEET_TYPE:
        await counted.add(exchange, kind.type, [row], None)
    shown = record_view(kind.type, row, kind.path, **counted.of(row))
    if kind.type in SIGNED_TYPES:
        shown["secret"] = _secret_of(exchange, kind, shown)
    if kind.type == PROVIDER_CONFIGURATION:
        shown["callback_url"] = callback_url_of(exchange, shown)
    signing_secret = exchange.fields.get("signing_secret")
    if kind.type in {"offer", "schedule"} and isinstance(signing_secret, str):
        shown["signing_secret"] = signing_secret if _is_signing_secret(exchange, kind, row, signing_secret) else None
    private_key = exchange.fields.get("private_key")
    if kind.type == "api_key" and isinstance(private_key, str):
        is_it = compare_digest(hash_private_key(private_key), row["body"]["private_key_sha256"])
        shown["private_key"] = private_key if is_it else None
    return shown


def _is_signing_secret(exchange: Exchange, kind: Kind, row: Row, text: str) -> bool:
    sealed = row["body"].get("sealed_signing_secret")
    if sealed is None:
        return False
    with suppress(UnreadableSecretError):
        key = exchange.services.settings.secret_key
        return compare_digest(unseal_form_secret(key, exchange.company_id, kind.type, sealed).encode(), text.encode())
    return False


async def delete(exchange: Exchange, *, kind: Kind) -> Reply:
    """Delete a record."""
    row = await live_row(exchange, kind)
    if kind.type == "api_key":
        _refuse_stronger(exchange, row["body"])
    message = RecordChangeRequested(
        company_id=exchange.company_id, type=kind.type, operation="delete", id=row["id"], if_versions=read_if_match(exchange)
    )
    effect = await live_leads.of_deletion(exchange, kind.type, row)
    return _revealed(exchange, kind, await submit_change(exchange, message, partial(render, effect=effect)))


async def render(exchange: Exchange, result: Result, *, effect: Effect | None = None) -> Reply:
    """Answer with the record of a request, without its secrets, and with what came of leads by it."""
    answer = result.answer
    kind = KINDS_BY_TYPE.get(answer.record_type or "") if answer is not None else None
    if answer is None or answer.record_id is None or kind is None:
        raise not_found("record")
    row = await exchange.services.reads.record(result.company_id, kind.type, answer.record_id)
    if row is None:
        raise not_found(kind.words)
    said = {} if effect is None else effect(row)
    return await show_row(exchange, kind, row, None, status=answer.status, said=said)


async def show_row(
    exchange: Exchange,
    kind: Kind,
    row: Row,
    columns: tuple[str, ...] | None,
    *,
    status: int = 200,
    said: Mapping[str, Any] = NO_FIELDS,
) -> Reply:
    """Answer with a row, cut to columns (None: all), without its secrets, and what is `said` beside it."""
    counted = Counted()
    await counted.add(exchange, kind.type, [row], columns)
    shown = record_view(kind.type, row, kind.path, columns, **counted.of(row))
    known = record_warnings(exchange, kind.type, row).get("warnings", ())
    warnings = [*said.get("warnings", ()), *known]
    more = {**said, **({"warnings": warnings} if warnings else {})}
    return add_etag(reply_with_record(exchange, kind.root, shown, status=status, **more), row["version"])


async def render_later(exchange: Exchange, result: Result) -> Reply:
    """Answer like `render` to a later read of the request, with the secrets that may be seen at any time."""
    reply = await render(exchange, result)
    kind = None if result.answer is None else KINDS_BY_TYPE.get(result.answer.record_type or "")
    return reply if kind is None else _revealed(exchange, kind, reply)


def _revealed(exchange: Exchange, kind: Kind, reply: Reply, private_keys: Mapping[str, str] = NO_KEYS) -> Reply:
    """Return an answer with the secrets that its reader may see.

    `private_keys` are what was made for this request, by public key. Of a repeat under an Idempotency-Key another one was
    made, whose hash nobody stored: it is not shown.
    """
    if kind.type not in _REVEALING or reply.status == ACCEPTED:
        return reply
    content = msgspec.json.decode(reply.content) if isinstance(reply.content, bytes) else dict(reply.content)
    shown = content.get(kind.root, content)
    if kind.type == "api_key":
        found = _private(shown, private_keys)
    elif kind.type == PROVIDER_CONFIGURATION:
        found = _callback(exchange, shown)
    else:
        found = _secret(exchange, kind, shown)
    content = {**content, kind.root: {**shown, **found}} if kind.root in content else {**content, **found}
    unkept = {"Cache-Control": "no-store"} if found else {}
    return structs.replace(reply, content=content, headers={**reply.headers, **unkept})


_REVEALING = frozenset({"api_key", PROVIDER_CONFIGURATION, *SIGNED_TYPES})
"""Types of which an answer shows to some keys what is not stored for repeats."""


def _callback(exchange: Exchange, shown: Mapping[str, Any]) -> dict[str, Any]:
    """Return the callback URL of a provider configuration for a key that may see it: it lets the vendor report to us."""
    access = exchange.access
    if access is None or not access.has_scope(f"{PROVIDER_CONFIGURATION}:secret"):
        return {}
    return {"callback_url": callback_url_of(exchange, shown)}


def _private(shown: Mapping[str, Any], private_keys: Mapping[str, str]) -> dict[str, str]:
    private_key = private_keys.get(shown["public_key"])
    return {} if private_key is None else {"private_key": private_key}


async def live_row(exchange: Exchange, kind: Kind) -> Row:
    """Return the row of the record in the path. Raises `ProblemError` not_found or deleted."""
    row = await exchange.reads.record(exchange.company_id, kind.type, exchange.path_id(kind.words))
    return require_row(row, kind.words)


def _can_pause(kind: Kind) -> bool:
    return "paused" in RECORD_BODIES[kind.type].__struct_fields__


def _sortable(kind: Kind) -> tuple[str, ...]:
    body = struct_fields(RECORD_BODIES[kind.type])
    counted = LIST_ORDERS if kind.type == GROUP else ()
    return (
        *SORTABLE_BASE,
        *(field.name for field in body if field.name not in UNSORTABLE and _has_order(field.type)),
        *counted,
    )


def _has_order(type_: Any) -> bool:
    if get_origin(type_) in {Union, UnionType}:
        return all(_has_order(one) for one in get_args(type_))
    return get_origin(type_) is Literal or type_ in PLAIN


def _actions(exchange: Exchange, kind: Kind) -> list[str]:
    """Return the requested actions beside changes of fields. Raises `ProblemError` if one is no boolean."""
    parameters = Parameters(exchange.fields)
    asked = [action for action in ACTIONS.get(kind.type, ()) if parameters.flag(action)]
    parameters.finish()
    return asked


def _check_scopes(exchange: Exchange, fields: Mapping[str, Any]) -> None:
    """Refuse scopes that the caller's key does not have; left out of a new key, or empty, they mean all scopes."""
    wanted = fields.get("scopes", ["*"] if exchange.request.method == "POST" else [])
    wanted = ["*"] if is_blank(wanted) else wanted
    if not isinstance(wanted, list) or not all(isinstance(scope, str) for scope in wanted):
        return  # not a list of scopes: the account refuses it, with any other fault
    if not all(exchange.key.has_scope(scope) for scope in wanted):
        raise ProblemError("forbidden", "A key can only give scopes that it has itself.", {"scopes": ["are too wide"]})


def _refuse_stronger(exchange: Exchange, body: Mapping[str, Any]) -> None:
    """Refuse to change or delete a key that the caller could not make: who may do less must not shut out who may do more."""
    _check_scopes(exchange, {"scopes": body.get("scopes", ["*"])})
    access = exchange.key
    if not access.is_superuser and body.get("user_email") != access.user_email:
        raise ProblemError("forbidden", "A person can change and delete keys for that person alone.")


def _check_person(exchange: Exchange, fields: Mapping[str, Any]) -> None:
    """Refuse a key for somebody else, or for the company, to a person whose teams limit what the person may do."""
    access = exchange.key
    is_given = "user_email" in fields or exchange.request.method == "POST"
    if access.is_superuser or not is_given:
        return
    email = fields.get("user_email")
    if not isinstance(email, str) or email.strip().lower() != access.user_email:
        fault = {"user_email": [f"must be {access.user_email}"]}
        raise ProblemError("forbidden", "A person can make keys for that person alone.", fault)


def _check_columns(fields: Mapping[str, Any]) -> None:
    """Refuse a team that hides what no record of the model shows. The account has read the rest of it."""
    given = fields.get("permissions")
    permissions = given if isinstance(given, Mapping) else {}
    named = {model: one.get("fields") for model, one in permissions.items() if isinstance(one, Mapping)}
    unknown = [
        f"{model}.{name}"
        for model, names in named.items()
        for name in (names if isinstance(names, Mapping) else ())
        if name not in HIDEABLE.get(model, ())
    ]
    if unknown:
        fault = f"has fields that are no columns, or cannot be hidden: {', '.join(unknown[:COLUMNS_SHOWN])}"
        raise ProblemError("validation_failed", "Correct permissions and resend.", {"permissions": [fault]})


def _check_team(exchange: Exchange, fields: Mapping[str, Any]) -> None:
    """Refuse to make a team along with a group to who may not make teams."""
    access = exchange.key
    asked = [name for name in TEAM_INPUTS if not is_blank(fields.get(name))]
    if asked and not (access.is_superuser and access.has_scope("access_control_list:create")):
        fault = "takes a key with access_control_list:create that no team limits"
        raise ProblemError("forbidden", "This key cannot make teams.", {name: [fault] for name in asked})


def _check_target(exchange: Exchange, kind: Kind, fields: Mapping[str, Any]) -> None:
    """Refuse to save a webhook to a private address, or a number of another company. Raises `ProblemError`."""
    url = fields.get("url")
    if kind.type == "number":
        refuse_number_of_another(exchange, fields)
    if kind.type not in SIGNED_TYPES or not isinstance(url, str):
        return
    settings = exchange.services.settings
    fault = refusal_of(url, settings.webhook_networks, settings.own_ports)
    if fault is not None:
        raise ProblemError("validation_failed", "Correct url and resend.", {"url": [fault]})


def _secret(exchange: Exchange, kind: Kind, shown: Mapping[str, Any]) -> dict[str, str]:
    """Return the signing secret of a webhook for a key that may see it: receivers verify signatures with it."""
    access = exchange.access
    if access is None or not access.has_scope(f"{kind.type}:secret"):
        return {}
    return {"secret": _secret_of(exchange, kind, shown)}


def _secret_of(exchange: Exchange, kind: Kind, shown: Mapping[str, Any]) -> str:
    secret_key, generation = exchange.services.settings.secret_key, shown["secret_generation"]
    return shown_secret(signing_key(secret_key, kind.type, shown["company_id"], shown["id"], generation))


def _body_schema(kind: Kind) -> dict[str, Any]:
    """Return the JSON Schema of what a sender may set; the fields are those of the struct, described once."""
    own = {field.name: field for field in struct_fields(RECORD_BODIES[kind.type])}
    names = settable(kind.type)
    required = [name for name in names if name in own and own[name].required]
    return {
        "type": "object",
        "required": [*required, "steps"] if kind.type == "action_group" else required,  # a group of none stands for nothing
        "properties": record_inputs(kind.type, names),
    }


_VERBS: Mapping[str, tuple[tuple[str, ...], str]] = {
    "list": (("GET",), ""),
    "build": (("GET",), "/new"),
    "create": (("POST",), ""),
    "show": (("GET",), "/{id}"),
    "update": (("PUT", "PATCH"), "/{id}"),
    "delete": (("DELETE",), "/{id}"),
}
"""Verb -> its methods, and its path below that of the type."""


def _operations(kind: Kind) -> tuple[Operation, ...]:
    """Return the operations that every type has."""
    row = partial(_operation, kind)
    body = _body_schema(kind)
    actions = {name: sentence_of(kind.type, name) for name in ACTIONS.get(kind.type, ())}
    plans = ("invalid_schedule",) if kind.type in {"schedule", "action_group"} else ()
    changes = ("duplicate_value", *plans)
    built = {name: sentence_of(kind.type, name) for name in _buildable(kind)}
    defaults = {
        "summary": f"Build {called(kind.type)} with the defaults",
        "parameters": {**SHOW_PARAMETERS, **built},
        "types": {name: record_inputs(kind.type, (name,))[name] for name in built},
    }
    renamed = ("record_in_use",) if kind.type == FLEET_TYPE else ()
    superusers = ("last_superuser",) if is_of_superusers(kind.type) else ()
    moved_on = ("version_conflict", *changes, *renamed, *superusers)
    change = {"parameters": actions, "body": {**body, "required": []}, "problems": moved_on}
    return (
        row("list", index, **_of_list(kind)),
        row("build", build, answer=record_answer(kind.type, kind.root, unborn=True), **defaults),
        row("create", create, body=body, problems=changes),
        row("show", show, parameters=SHOW_PARAMETERS),
        *((row("update", update, **change),) * kind.is_changed),
        row("delete", delete, problems=("record_in_use", "version_conflict", *superusers)),
    )


def _of_list(kind: Kind) -> dict[str, Any]:
    paused = {"paused": "true: what is paused; false: the rest"} if _can_pause(kind) else {}
    return {
        "name": f"list_{kind.collection}",
        "summary": f"List {kind.plural}",
        "parameters": {**PAGING_PARAMETERS, **paused},
        "types": {"order": choice(_sortable(kind))},
        "suffixes": ("", ".csv", ".json"),
        "answer": many_of(kind.collection, view_name(kind.type)),
    }


def _operation(kind: Kind, verb: str, handler: Any, **more: Any) -> Operation:
    """Return an operation with the fields that most operations of a type have; `more` overrides or adds fields."""
    methods, below = _VERBS[verb]
    reads = methods == ("GET",)
    usual = {
        "name": f"{verb}_{kind.root}",
        "summary": f"{verb.capitalize()} {called(kind.type)}",
        "scope": f"{kind.type}:{'read' if reads else verb}",
        "rate": "read" if reads else "write",
        "safe": reads,
        "answer": record_answer(kind.type, kind.root),
        "created": verb == "create",
        "leads": "all" if kind.type in {"unblock_contact_job", "subscription", "contact_hold"} else "none",
        "records": "visible",
        "extra": "checked_by_handler" if verb in {"create", "update"} else "refused",
    }
    return Operation(methods=methods, path=kind.path + below, handler=partial(handler, kind=kind), **{**usual, **more})


OPERATIONS: tuple[Operation, ...] = tuple(operation for kind in KINDS for operation in _operations(kind))
