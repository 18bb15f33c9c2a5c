"""What does a submitted lead ask for? The body of `POST /api/v1/leads` or a record of `leads.inbox`, as a `LeadSubmitted`.

All faults are reported at once, with the field and the cure; a submission is taken whole or not at all.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

import msgspec

from engine.identity import contact_key
from engine.law.company import law_of
from engine.law.pack import default_pack
from engine.partition.draft import RefusedError
from engine.rules import LeadTokenTarget, Rules
from engine.submission.calling_codes import countries_of_number
from engine.submission.columns import ALIASES, COLUMNS, SHOWN_COLUMNS
from engine.submission.consents import CONSENT, has_consent, stated_consent
from engine.submission.dialling import listed_countries
from engine.submission.fields import (
    FieldError,
    is_blank,
    parse_boolean,
    parse_decimal,
    parse_email,
    parse_id,
    parse_integer,
    parse_text,
)
from engine.submission.lead_maps import Mapped, map_fields, names_read
from engine.submission.nested import lifted
from engine.submission.numbers import ParsedNumber, dialled_countries
from engine.submission.place import Location
from engine.submission.public_rights import CONSENTS, SIGNING_FIELDS, STEERING, steering_warning
from engine.submission.reading import AHEAD_MAX, INVALID_FIELDS, Reading
from engine.submission.unread_numbers import is_unread, known_countries, raw_key, spellings_of, unread_number
from schemas.instant import SECOND, Instant, Millis
from schemas.records import Company, LeadMap, Offer, Schedule, TrafficSource
from schemas.requests import LeadSubmitted, UnreadNumber, UnsignedFields

HOURS_TO_EXPIRE_MAX = 87_600
"""Ten years: more is a typing error."""

CONTACT_ATTEMPTS_MAX = 1_000
"""No law allows more; it bounds the ledger of a number."""

_FLAGS = (
    "update_only",
    "update_all_matching_leads",
    "expire_existing",
    "delete_existing",
    "restart_schedule",
    "unblock_contact",
    "assign_svc_number",
    "assign_sms_number",
)
ASSIGN_ALIASES = ("svc_assign_number", "assign_trackdrive_number")
"""What the interface and older senders also call assign_svc_number."""

_CONTRADICTIONS = (
    ("update_only", "expire_existing"),
    ("update_only", "delete_existing"),
    ("unblock_contact", "blocked"),
)
"""Flags that cannot both be followed: one makes a new lead or blocks, the other says not to."""

NAMED_FIELDS = frozenset(
    {
        *_FLAGS,
        *COLUMNS,
        *ALIASES,
        "lead_token",
        "caller_id",
        "email",
        "contact_field_type",
        "schedule_callback_at",
        "schedule_callback_in_seconds",
        "apply_to",
        "blocked",
        "opt_out",
        "lead_priority",
        "auto_format_nested_fields",
        *ASSIGN_ALIASES,
        "next_action_at",
        "hours_to_expire",
        "max_contact_attempts",
        "lead_import_id",
        "data",
        *SIGNING_FIELDS,
        "auth_token",  # a credential: never stored
    }
)

_hours: Callable[[Any], int] = partial(parse_integer, least=1, most=HOURS_TO_EXPIRE_MAX)
_attempts: Callable[[Any], int] = partial(parse_integer, least=1, most=CONTACT_ATTEMPTS_MAX)
_seconds: Callable[[Any], int] = partial(parse_integer, least=0, most=AHEAD_MAX // SECOND)


class Normalised(NamedTuple):
    """The request, and what its sender may want to know although nothing is wrong."""

    request: LeadSubmitted
    warnings: tuple[str, ...]


class NamedMap(NamedTuple):
    """A lead map and whose it is: two vendors may use one id."""

    name: str
    lead_map: LeadMap


IS_TEST = "is_test"
TEST_IS_CONTACTED = (
    "is_test is only a token: this lead is contacted. Say where it is in the lead_map of the schedule or traffic source."
)


def normalise(
    raw: Mapping[str, Any],
    rules: Rules,
    *,
    received_at: Instant,
    api_company_id: int | None = None,
    may_update: bool = False,
    is_trusted: bool = False,
    create_or_update: bool = False,
    idempotency_key: str | None = None,
    signed: frozenset[str] | None = None,
    lead_map: LeadMap | None = None,
    waited_ms: Millis = 0,
) -> Normalised:
    """Return the request of one submission, read by the lead map of its traffic source, else of its schedule.

    `lead_map` takes the place of theirs. `waited_ms` is how long a record waited on its topic before it is read.

    `api_company_id` is the company of the API key that came with it, None where there was none (so from `leads.inbox`);
    `may_update` says that the key may update leads. A sender that `is_trusted` counts as one with a key, but for what
    needs `may_update` or `require_auth`. Any other is a stranger, who may do what `public_rights` says. `signed` are the
    fields that a form signed, None where no signature was verified.

    Raises `RefusedError`: `malformed_body`, `unknown_lead_token`, `unauthenticated`, `forbidden`, `schedule_inactive`, or
    `validation_failed` with every bad field.
    """
    if not isinstance(raw, Mapping):
        raise RefusedError("malformed_body", "A lead is an object of fields.")
    reading = Reading(raw, received_at, waited_ms)
    if is_blank(raw.get("lead_token")):
        _refuse_without_token(reading)
    target = _target(raw["lead_token"], rules, api_company_id)
    named_map = _lead_map(raw, rules, target) if lead_map is None else NamedMap("map", lead_map)
    mapped = None if named_map is None else _take_map(reading, named_map.lead_map)
    if reading.flag("auto_format_nested_fields", parse_boolean):
        reading.raw = lifted(reading.raw)
    with_key = is_trusted or api_company_id is not None
    company = rules.body(Company, "company", target.company_id)
    reading.is_lenient = company is not None and company.on_invalid == "warn"
    request = _request(
        reading, rules, target, create_or_update=create_or_update, idempotency_key=idempotency_key, with_key=with_key
    )
    request = _mark_post(reading, request, named_map, mapped)
    if reading.dropped:
        request = msgspec.structs.replace(request, data=request.data | {INVALID_FIELDS: reading.dropped})
    if signed is None:
        _warn_of_signature(reading)
    reading.close()
    _warn_of_country(reading, rules, request)
    if not with_key:
        request = _without_steering(reading, request, _offer(rules, target), signed or frozenset())
    if signed is None or not with_key:  # what an offer states is signed by no form
        request = _with_consent(request, _offer(rules, target), rules)
    if request.unblock_contact and not may_update:
        raise RefusedError("forbidden", "unblock_contact needs keys that may update leads; nothing was stored.")
    _warn(reading, request)
    return Normalised(request, tuple(reading.warnings))


def normalise_signed(
    raw: Mapping[str, Any],
    signed: Mapping[str, Any],
    rules: Rules,
    *,
    received_at: Instant,
    create_or_update: bool = False,
    idempotency_key: str | None = None,
) -> Normalised:
    """Return the request of a form whose signature was verified: `signed` are the fields that it signed, of `raw`.

    Those count as sent with a key, all others as without one. Raises `RefusedError` as `normalise`.
    """
    names = frozenset(signed) | frozenset(signed.get("data") or () if isinstance(signed.get("data"), Mapping) else ())
    whole = normalise(raw, rules, received_at=received_at, create_or_update=create_or_update, signed=names)
    proved = normalise(
        signed,
        rules,
        received_at=received_at,
        is_trusted=True,
        create_or_update=create_or_update,
        idempotency_key=idempotency_key,
        signed=names,
    ).request
    return Normalised(msgspec.structs.replace(proved, unsigned=_unsigned(whole.request, proved)), whole.warnings)


def _unsigned(whole: LeadSubmitted, proved: LeadSubmitted) -> UnsignedFields:
    """Return what a form brought beside what it signed. A signed zone is trusted alone."""
    place = proved if proved.zone_source == "stated" else whole
    return UnsignedFields(
        email=None if proved.email is not None else whole.email,
        columns={name: value for name, value in whole.columns.items() if name not in proved.columns},
        data={name: value for name, value in whole.data.items() if name not in proved.data},
        zones=place.zones,
        zone_source=place.zone_source,
        states=place.states,
        **{name: getattr(whole, name) for name in UNSIGNED_FIELDS if getattr(proved, name) is None},
    )


UNSIGNED_FIELDS = (
    *("lead_priority", "hours_to_expire", "max_contact_attempts", "next_action_at", "schedule_callback_at"),
    "lead_import_id",
)
"""Fields that an offer may allow without a key (`public_parameters`), or that need none."""


def _warn_of_signature(reading: Reading) -> None:
    """Warn of a signature that was not verified: of a sender with a key, or on a topic."""
    sent = [name for name in SIGNING_FIELDS if not is_blank(reading.raw.get(name))]
    for name in sent:
        if not isinstance(reading.raw[name], str):
            reading.fault(name, "must be text")
    if sent:
        reading.warnings.append(f"Not read: {', '.join(sent)}. A signature is read over HTTP, of a sender without a key.")


def _lead_map(raw: Mapping[str, Any], rules: Rules, target: LeadTokenTarget) -> NamedMap | None:
    """Return the map of the traffic source that a submission names, else that of the schedule of its token."""
    source_id = _source_id(raw.get("traffic_source_id"))
    if source_id is not None and rules.owns(target.company_id, "traffic_source", source_id):
        source = rules.body(TrafficSource, "traffic_source", source_id)
        if source is not None and source.lead_map is not None:
            return NamedMap(f"traffic_source/{source_id}", source.lead_map)
    body = _body(rules, target)
    if isinstance(body, Schedule) and body.lead_map is not None:
        return NamedMap(f"schedule/{target.id}", body.lead_map)
    return None


def find_map(raw: Mapping[str, Any], rules: Rules, company_id: int) -> LeadMap | None:
    """Return the map by which a submission is read. Raises `RefusedError` for a token that is none of the company."""
    found = _lead_map(raw, rules, _target(raw.get("lead_token"), rules, company_id))
    return None if found is None else found.lead_map


def names_read_by_maps(rules: Rules, lead_token: str, *, by_source: bool) -> frozenset[str]:
    """Return what the map of a token's schedule reads at the top of a post; `by_source`, those of traffic sources, too."""
    target = rules.target(lead_token)
    if target is None:
        return frozenset()
    maps = [] if target.kind != "schedule" else [rules.body(Schedule, "schedule", target.id)]
    sources = rules.records("traffic_source", target.company_id) if by_source else []
    bodies = (*maps, *(rules.body(TrafficSource, "traffic_source", record.id) for record in sources))
    return frozenset().union(*(names_read(one.lead_map) for one in bodies if one is not None and one.lead_map is not None))


def _source_id(value: Any) -> int | None:
    try:
        return None if is_blank(value) else parse_id(value)
    except FieldError:
        return None  # a fault of the column, which is read later


def _mark_post(reading: Reading, request: LeadSubmitted, named: NamedMap | None, mapped: Mapped | None) -> LeadSubmitted:
    """Return the request with the sender's own id of the post, and its mark of a test, where a map has read them."""
    if named is None or mapped is None:
        if _says_test(request.data.get(IS_TEST)):
            reading.warnings.append(TEST_IS_CONTACTED)
        return request
    vendor_key = None if mapped.vendor_id is None else f"{named.name}/{mapped.vendor_id}"
    return msgspec.structs.replace(request, vendor_key=vendor_key, is_test=mapped.is_test)


def _take_map(reading: Reading, lead_map: LeadMap) -> Mapped:
    """Read the body by a map, and take over what is wrong with it."""
    mapped = map_fields(lead_map, reading.raw)
    reading.raw = mapped.raw
    for name, sentence in mapped.faults.items():
        reading.fault(name, sentence)
    return mapped


def _refuse_without_token(reading: Reading) -> None:
    """Raise `RefusedError` with what else is wrong, as far as that is known without an offer or schedule."""
    reading.fault("lead_token", "must be the lead token of an offer or a schedule")
    reading.take_data()
    reading.take_columns()
    reading.take_tokens(NAMED_FIELDS)
    reading.optional("email", parse_email)
    if is_blank(reading.raw.get("caller_id")):
        if is_blank(reading.raw.get("email")):
            reading.fault("caller_id", "must be given, or an email")
        reading.refuse_callback()
    _given(reading)
    reading.close()


def _target(token: Any, rules: Rules, api_company_id: int | None) -> LeadTokenTarget:
    target = rules.target(token.strip()) if isinstance(token, str) else None
    # Another company's token looks like one that does not exist.
    if target is None or rules.body(Company, "company", target.company_id) is None:
        raise _unknown_token()
    if api_company_id is None:
        if _body(rules, target).require_auth:
            raise RefusedError("unauthenticated", "This lead token is only taken together with API keys.")
    elif api_company_id != target.company_id:
        raise _unknown_token()
    return target


def _unknown_token() -> RefusedError:
    return RefusedError("unknown_lead_token", "No offer and no schedule has this lead_token; copy it from their settings.")


def _body(rules: Rules, target: LeadTokenTarget) -> Offer | Schedule:
    kind: type[Offer | Schedule] = Offer if target.kind == "offer" else Schedule
    body = rules.body(kind, target.kind, target.id)
    if body is None:
        raise _unknown_token()
    if isinstance(body, Schedule) and not body.steps:
        raise RefusedError("schedule_inactive", "The schedule has no steps yet; add some and resend the lead.")
    return body


def _request(
    reading: Reading,
    rules: Rules,
    target: LeadTokenTarget,
    *,
    create_or_update: bool,
    idempotency_key: str | None,
    with_key: bool,
) -> LeadSubmitted:
    body = _body(rules, target)
    reading.take_data()
    reading.take_columns()
    reading.take_tokens(NAMED_FIELDS)
    reading.take_near_names(NAMED_FIELDS)
    reading.check_traffic_source(rules, target.company_id, is_sender=True)
    country = reading.columns.get("country") or _country(rules, target, body)
    reading.restore_zip(country)
    opts_out = bool(reading.raw.get("opt_out")) and reading.flag("opt_out", parse_boolean)
    email = reading.optional("email", parse_email)
    unread = _unread(reading, rules, target, email) if opts_out else None
    number = None if unread is not None else reading.number(country, is_dialled=not opts_out)
    if number is not None and not opts_out:
        _check_dialling(reading, number, rules, target, with_key=with_key)
    place = reading.place(country, number, trusts_stated=with_key)
    if reading.dropped.keys() & {"time_zone", "data.time_zone"}:  # unknown, and not as if none had been sent
        place = Location((), "default", place.states)
    if number is None:
        reading.refuse_callback()
    return LeadSubmitted(
        company_id=target.company_id,
        contact_key=(
            _contact_key(reading, target.company_id, number, email)
            if unread is None
            else raw_key(target.company_id, unread.text)
        ),
        offer_id=target.id if isinstance(body, Offer) else body.offer_id,
        schedule_id=target.id if isinstance(body, Schedule) else None,
        caller_id=None if number is None else number.e164,
        email=email,
        columns=_columns(reading),
        data=reading.data,
        zones=place.zones,
        zone_source=place.source,
        states=place.states,
        create_or_update=create_or_update,
        idempotency_key=idempotency_key,
        received_at=reading.received_at,
        with_key=with_key,
        unread=unread,
        **_given(reading),
    )


def _unread(reading: Reading, rules: Rules, target: LeadTokenTarget, email: str | None) -> UnreadNumber | None:
    """Return what was sent as the number of an opt-out and cannot be read, None where it can; it is never refused.

    One number that it can mean alone is read in its place.
    """
    text, offer = reading.number_text(), _offer(rules, target)
    stated = reading.columns.get("country")
    known = known_countries(rules, target.company_id, None if offer is None else _offer_id(rules, target))
    countries = known if stated is None else (stated, *known)
    if text is None or not is_unread(text, countries[0]):
        return None
    spelled = spellings_of(text, countries)
    if len(spelled) == 1:
        reading.raw = {**reading.raw, "caller_id": spelled[0]}
        return None
    reading.warnings.append(
        "caller_id cannot be read as one number: the opt-out "
        + ("holds for each that it may be." if spelled else "is kept as it was sent and waits in opt_out_reviews.")
    )
    return unread_number(target.company_id, text, countries, email=email)


def _offer_id(rules: Rules, target: LeadTokenTarget) -> int | None:
    """Return the offer that a lead token speaks of: its own, or that of its schedule."""
    body = _body(rules, target)
    return target.id if isinstance(body, Offer) else body.offer_id


def _without_steering(
    reading: Reading, request: LeadSubmitted, offer: Offer | None, signed: frozenset[str]
) -> LeadSubmitted:
    """Return the request without what needs a key, and name that in the warnings, but for what was signed."""
    allowed = () if offer is None else offer.public_parameters
    steering = (reading.raw.keys() | request.columns.keys()) & STEERING | request.data.keys() & CONSENTS
    sent = {field for field in steering if _is_meant(reading, request, field)}
    dropped = sorted(sent.difference(allowed))
    if request.opt_out is False and not is_blank(reading.raw.get("opt_out")):
        dropped.append("opt_out")
    if not dropped:
        return request
    named = [name for name in dropped if name not in signed]
    if named:
        reading.warnings.append(steering_warning(named))
    columns = {name: value for name, value in request.columns.items() if name not in dropped}
    data = {name: value for name, value in request.data.items() if name not in dropped}
    defaults = {
        field.name: field.default
        for field in msgspec.structs.fields(request)
        if field.name in dropped and field.name in STEERING
    }
    return msgspec.structs.replace(request, columns=columns, data=data, **defaults)


def _with_consent(request: LeadSubmitted, offer: Offer | None, rules: Rules) -> LeadSubmitted:
    """Return the request with the consent that its source or offer states for its forms, where it states none of its own."""
    source_id = request.columns.get("traffic_source_id")
    source = None if source_id is None else rules.body(TrafficSource, "traffic_source", source_id)
    stated = stated_consent(source, "form of the source") or stated_consent(offer, "form of the offer")
    if not stated or has_consent(request.data.get(CONSENT)):
        return request
    return msgspec.structs.replace(request, data={**request.data, CONSENT: stated})


def _says_test(value: Any) -> bool:
    """Return whether a token says that its lead is a test."""
    try:
        return not is_blank(value) and parse_boolean(value)
    except FieldError:
        return False


def _is_meant(reading: Reading, request: LeadSubmitted, field: str) -> bool:
    """Return whether a steering field asks for something: a flag that is false does not, but `blocked=false` unblocks."""
    if field in _FLAGS:
        return bool(getattr(request, field))
    return field in request.columns or field in request.data or not is_blank(reading.raw.get(field))


def _offer(rules: Rules, target: LeadTokenTarget) -> Offer | None:
    body = _body(rules, target)
    return body if isinstance(body, Offer) else rules.body(Offer, "offer", body.offer_id)


def _check_dialling(
    reading: Reading, number: ParsedNumber, rules: Rules, target: LeadTokenTarget, *, with_key: bool
) -> None:
    """Check that a number may be dialled; a stranger's list is the offer's own country where neither record names any."""
    listed = listed_countries(_offer(rules, target), rules.body(Company, "company", target.company_id))
    if with_key:
        reading.check_dialling(number, listed)
    else:
        reading.check_dialled(number, listed, dialled_countries(_country(rules, target, _body(rules, target))))


def _country(rules: Rules, target: LeadTokenTarget, body: Offer | Schedule) -> str:
    offer = body if isinstance(body, Offer) else rules.body(Offer, "offer", body.offer_id)
    if offer is not None:
        return offer.country
    company = rules.body(Company, "company", target.company_id)
    return "US" if company is None else company.country


def _contact_key(reading: Reading, company_id: int, number: ParsedNumber | None, email: str | None) -> str:
    faulty = {"caller_id", "email", reading.number_name} & reading.errors.keys()
    if number is None and email is None and not faulty:
        for name, sentence in reading.misread.items() or (("caller_id", "must be given, or an email"),):
            reading.fault(name, sentence)
    return contact_key(company_id, None if number is None else number.e164, email) or ""


def _columns(reading: Reading) -> dict[str, Any]:
    field_type = reading.optional("contact_field_type", parse_text)
    return reading.columns if field_type is None else reading.columns | {"contact_field_type": field_type}


def _given(reading: Reading) -> dict[str, Any]:
    """Return the fields that most submissions leave out."""
    raw = reading.raw
    found: dict[str, Any] = {flag: reading.flag(flag, parse_boolean) for flag in _FLAGS if flag in raw}
    for alias in ASSIGN_ALIASES:
        if reading.flag(alias, parse_boolean):
            found["assign_svc_number"] = True
    for field, parse in _OPTIONAL.items():
        if field in raw:
            found[field] = reading.optional(field, parse)
    if "opt_out" in raw:
        found["opt_out"] = reading.flag("opt_out", parse_boolean)
    for flag, other in _CONTRADICTIONS:
        if found.get(flag) and found.get(other):
            reading.fault(other, f"cannot be sent together with {flag}")
    if "next_action_at" in raw:
        found["next_action_at"] = reading.moment_ahead("next_action_at")
    if "schedule_callback_at" in raw or "schedule_callback_in_seconds" in raw:
        found["schedule_callback_at"] = reading.callback(_seconds)
    return found


def _apply_to(value: Any) -> str:
    if value != "calls":
        raise FieldError("must be calls, or left out")
    return "calls"


_OPTIONAL: dict[str, Callable[[Any], Any]] = {
    "blocked": parse_boolean,
    "lead_priority": parse_decimal,
    "hours_to_expire": _hours,
    "max_contact_attempts": _attempts,
    "apply_to": _apply_to,
    "lead_import_id": parse_id,
}


def _warn_of_country(reading: Reading, rules: Rules, request: LeadSubmitted) -> None:
    """Warn of telemarketing to a country whose law no row of the pack holds."""
    if request.caller_id is None or request.opt_out:
        return
    country = request.columns.get("country")
    countries = (country,) if country else countries_of_number(request.caller_id)
    if all(map(default_pack().is_reviewed, countries)):  # a company's own rows only add
        return
    schedule = None if request.schedule_id is None else rules.body(Schedule, "schedule", request.schedule_id)
    if schedule is not None and schedule.purpose != "telemarketing":
        return
    company = rules.body(Company, "company", request.company_id)
    is_held = company is not None and company.unreviewed_countries == "hold"
    law = law_of(rules, request.company_id)
    for unknown in sorted(country for country in set(countries) if not law.is_reviewed(country)):
        what = "telemarketing there waits (unreviewed_countries: hold)" if is_held else "it has 08:00-21:00 there"
        reading.warnings.append(f"No law of {unknown} is kept: {what}. Add rows of your own with a rule pack.")


def _warn(reading: Reading, request: LeadSubmitted) -> None:
    if request.caller_id is not None and not request.zones:
        reading.warnings.append(
            "No zone follows from time_zone, zip, state or number: calls wait for an hour that is allowed in every zone."
        )
    for name in sorted((SHOWN_COLUMNS - {IS_TEST}) & reading.raw.keys() & request.data.keys()):
        reading.warnings.append(f"{name} is set by leadclock: what was sent is the token token.{name} alone.")
    if request.expire_existing and request.delete_existing:
        reading.warnings.append("delete_existing was followed; expire_existing has no effect beside it.")
    if request.create_or_update and request.update_only:
        reading.warnings.append("update_only was followed; no lead is created.")
