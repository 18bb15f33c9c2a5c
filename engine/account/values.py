"""How is one field of an account record parsed? By one parser per field; each raises `FieldError` with the cure."""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from ipaddress import ip_address, ip_network
from typing import Any
from urllib.parse import SplitResult, urlsplit

import msgspec

from engine.account.reactions import on_conversion, on_inbound_connected, on_reply
from engine.calendar.waits import parse_duration
from engine.calendar.wall import CalendarError, parse_date
from engine.calendar.windows import WINDOW_ROWS_MAX, window_errors
from engine.contact.schedule.filters import NOT_OF_THE_LEAD_ALONE, FilterError, parse_filter
from engine.contact.schedule.templates import template_faults
from engine.submission.columns import parse_country
from engine.submission.fields import (
    FieldError,
    is_blank,
    parse_amount,
    parse_boolean,
    parse_decimal,
    parse_id,
    parse_integer,
    parse_moment,
    parse_text,
    parse_zone,
    sound_text,
)
from engine.submission.normalise import CONTACT_ATTEMPTS_MAX, HOURS_TO_EXPIRE_MAX
from engine.submission.numbers import read_number
from schemas.instant import DAY, SECOND, Instant
from schemas.law import PURPOSES
from schemas.schedule import Pause, Window

DESCRIPTION_LENGTH_MAX = 2_000
"""A screen of prose."""

REFERENCES_MAX = 500
"""Records that one record may name in a list: a group of more buyers is several groups."""

FLEETS_MAX = 50
"""Fleets that one buyer belongs to: each is looked up where a filter names a fleet."""

SUPPRESSION_LISTS_MAX = 20
"""Lists of one company, offer, schedule or buyer: each is compared with those of a person at every step."""

DTMF_TONES_MAX = 64
"""As many as one request may press on a call."""

BUYER_FILTERS_MAX = 50
"""Filters of one buyer, as of one rule of a branch; a longer table belongs into a token."""

HEADERS_MAX = 20
HEADER_LENGTH_MAX = 1_024
URL_LENGTH_MAX = 2_048
BODY_TEMPLATE_LENGTH_MAX = 64 * 1024
"""Of an outgoing webhook: servers accept this much by default."""

CLOSE_MARGIN_SECONDS_MAX = 3_600
JITTER_SECONDS_MAX = 3_600
"""More than an hour is no spreading but a wait."""

AGING_MAX = 10_000
"""An hour of waiting is then worth more than any priority that people give."""

SPACING_KEYS = ("call", "sms", "email", "any")
SPACING_MAX = 31 * DAY
"""As long as the ledger of a number remembers its contacts."""

PAUSES_MAX = 50
PAUSE_DAYS_MAX = 366
"""A year of holidays; more is a schedule that is switched off."""

TIMEOUT_SECONDS = (12, 120)
"""How long a buyer's telephone may ring: the range that dialers offer."""

WEIGHT_MAX = 1_000
TIER_MAX = 1_000_000
CONCURRENCY_MAX = 100_000
"""More calls at once than one company's numbers carry."""

BID_PRICE_MAX = 1_000_000
"""In the company's currency, for one call: more is a mistake of the decimal point."""

GRACE_MINUTES_MAX = 24 * 60
"""Of a callback: after a day the promise is broken."""

WRAP_UP_SECONDS_MAX = 3_600
"""An hour: an agent who needs longer sets a status, such as training."""

RECORDING_RETENTION_DAYS_MAX = 3_653
"""Ten years: no rule that asks for recordings of calls asks for longer."""

SPACING_SECONDS_MAX = DAY // SECOND
"""A buyer that takes less than a call a day has a daily cap."""

RETRY_SECONDS_MAX = 366 * DAY // SECOND
"""As far ahead as anything may be planned: a leap year."""

DISPOSITION_CATEGORIES = ("contact", "no_contact", "final_positive", "final_negative", "dnc", "callback", "wrong_number")

NO_BUYER_MESSAGE_LENGTH_MAX = 1_000
"""A minute of speech: nobody listens to more."""

CONFIRMATION_LENGTH_MAX = 320
"""Of the text that confirms an opt-out: two segments."""

CONTACT_ID_LENGTH_MAX = 64
"""Ours have 16 digits at most; a sender's own may be a uuid."""

GENERATION_MAX = 1_000_000
"""Of secrets and callback URLs: a new one each minute for two years."""

SCOPES_MAX = 50
NETWORKS_MAX = 100

_DTMF_TONES = re.compile(rf"[0-9*#A-Da-dwW]{{1,{DTMF_TONES_MAX}}}", re.ASCII)
_DISPOSITION_CODE = re.compile(r"[A-Za-z0-9_]{1,16}", re.ASCII)
_FLEET_ID = re.compile(r"[a-z0-9_]{1,64}", re.ASCII)
_LEAD_TOKEN = re.compile(r"[A-Za-z0-9_-]{16,64}", re.ASCII)
_SIP = re.compile(r"sips?:[^\s@<>]{1,100}@[A-Za-z0-9.:\[\]-]{1,150}(?:;[^\s<>]{0,100})?", re.ASCII)
_HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}", re.ASCII)
_SHA256 = re.compile(r"[0-9a-f]{64}", re.ASCII)
_SCOPE = re.compile(r"\*|[a-z_]{1,40}(?::[a-z_*]{1,40})?", re.ASCII)
_KEY = re.compile(r"[A-Za-z0-9_.-]{8,100}", re.ASCII)
# These belong to the connection, or say who signed.
_OUR_HEADERS = frozenset({"host", "content-length", "transfer-encoding", "connection", "content-type"})

Parser = Callable[[Any], Any]


ORIGINS_MAX = 20
"""Origins of one key: the sites of one campaign; more sites have keys of their own, which can be revoked alone."""

ORIGIN_PATTERN = r"(?:https://[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?|http://(?:localhost|127[.]0[.]0[.]1))(?::[0-9]{1,5})?"
_ORIGIN = re.compile(ORIGIN_PATTERN)


def required_text(value: Any) -> str:
    """Return text with something in it."""
    if is_blank(value):
        raise FieldError("must not be blank")
    return parse_text(value)


def optional(parse: Parser) -> Parser:
    """Return a parser that takes null and blank as None."""
    return lambda value: None if is_blank(value) else parse(value)


def choice(*known: str) -> Parser:
    """Return a parser that takes one of these words."""

    def read(value: Any) -> str:
        if value in known:
            return str(value)
        raise FieldError(f"must be one of {', '.join(known)}")

    return read


def buyer_filters(value: Any) -> tuple[str, ...]:
    """Return the filters of a buyer; each asks for what a lead alone tells."""
    found = texts(value)
    if len(found) > BUYER_FILTERS_MAX:
        raise FieldError(f"must have at most {BUYER_FILTERS_MAX} filters")
    for text in found:
        try:
            key = parse_filter(text).key
        except FilterError as error:
            raise FieldError(str(error)) from None
        if key in NOT_OF_THE_LEAD_ALONE:
            raise FieldError(f"cannot ask for {key}: a buyer's filters look at the lead alone; hours go into business_hours")
    return found


def agent_message_content(value: Any) -> str:
    """Return the text of a message; blank empties it, and then it reaches nobody."""
    return "" if is_blank(value) else parse_text(value, most=DESCRIPTION_LENGTH_MAX)


def dtmf_tones(value: Any) -> str:
    """Return the tones that are sent to a buyer's telephone."""
    text = parse_text(value).strip()
    if _DTMF_TONES.fullmatch(text) is None:
        raise FieldError(f"must be 1 to {DTMF_TONES_MAX} of 0-9, *, #, A-D, and w for a pause")
    return text


def disposition_code(value: Any) -> str:
    """Return the code of a disposition, by which filters name it; two codes differ in more than capital letters."""
    text = parse_text(value).strip()
    if _DISPOSITION_CODE.fullmatch(text) is None:
        raise FieldError("must be 1 to 16 letters, digits or _")
    return text


def user_fleet_id(value: Any) -> str:
    """Return the identifier of a buyer fleet, by which filters name it."""
    text = required_text(value)
    if _FLEET_ID.fullmatch(text) is None:
        raise FieldError("must be 1 to 64 lowercase letters, digits or _")
    return text


def ids(value: Any, most: int = REFERENCES_MAX) -> tuple[int, ...]:
    """Return a list of internal ids, each once, in the order given; null and blank are the empty list."""
    if is_blank(value):
        return ()
    listed = _listed(value, "internal ids", most)
    return tuple(dict.fromkeys(parse_id(part) for part in listed))


def texts(value: Any) -> tuple[str, ...]:
    """Return a list of texts, each once."""
    if is_blank(value):
        return ()
    return tuple(dict.fromkeys(required_text(part) for part in _listed(value, "texts", REFERENCES_MAX)))


def _listed(value: Any, what: str, most: int) -> Sequence[Any]:
    if isinstance(value, str | bytes) or not isinstance(value, Sequence):
        raise FieldError(f"must be a list of {what}")
    if len(value) > most:
        raise FieldError(f"must have at most {most} entries")
    return value


def lead_token(value: Any) -> str:
    """Return a lead token: it is a credential, so the creator of the record makes it at random."""
    if is_blank(value):
        raise FieldError("must be given: make one at random, 16 to 64 letters, digits, _ or -")
    if not isinstance(value, str) or _LEAD_TOKEN.fullmatch(value) is None:
        raise FieldError("must be 16 to 64 letters, digits, _ or -, made at random")
    return value


def number(value: Any) -> str:
    """Return a telephone number as E.164; it must say its country."""
    text = required_text(value)
    found = read_number(text, "US") if text.startswith("+") else None
    if found is None:
        raise FieldError("must be a telephone number such as +13055550123")
    return found.e164


def number_or_sip(value: Any) -> str:
    """Return an E.164 number or a SIP address."""
    text = required_text(value)
    if text.lower().startswith(("sip:", "sips:")):
        if _SIP.fullmatch(text) is None:
            raise FieldError("must be a SIP address such as sip:sales@example.com")
        return text
    try:
        return number(text)
    except FieldError:
        raise FieldError("must be a number such as +13055550123 or an address such as sip:sales@example.com") from None


_HOST = re.compile(r"[A-Za-z0-9._-]+|[0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*")
"""A name, an IPv4 address, or an IPv6 address without brackets. The gateway checks at each request whether it is allowed."""


_PUBLIC_NAME = re.compile(r"([A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?\.)+[A-Za-z]{2,63}")
_PRIVATE_SUFFIXES = (".localhost", ".local", ".internal", ".lan", ".home.arpa", ".test", ".invalid", ".onion")
"""Top-level names that no public DNS has (RFC 6761, RFC 6762, RFC 8375, and ICANN's reservation of .internal)."""


def url(value: Any) -> str:
    """Return an http or https address without credentials."""
    text, parts = _address(value, schemes=("http", "https"), example="https://example.com/leads")
    if "@" in parts.netloc:
        raise FieldError("must not hold a user name or password; send them in headers")
    return text


def stream_url(value: Any) -> str:
    """Return the address of a voice bot: wss, at a public name. A provider connects to it, from the internet.

    Twilio passes no query on.
    """
    text, parts = _address(value, schemes=("wss",), example="wss://bot.example.com/calls")
    host = (parts.hostname or "").lower()
    if _PUBLIC_NAME.fullmatch(host) is None or host.endswith(_PRIVATE_SUFFIXES):
        raise FieldError("must name a public host, such as bot.example.com: the provider connects to it")
    if "@" in parts.netloc or "?" in text or "#" in text:
        raise FieldError("must hold no user name, password, query or fragment: providers do not pass them on")
    return text


def _address(value: Any, *, schemes: Sequence[str], example: str) -> tuple[str, SplitResult]:
    """Return an address of one of these schemes, and its parts."""
    if is_blank(value):
        raise FieldError("must not be blank")
    text = parse_text(value, most=URL_LENGTH_MAX)
    try:
        parts = urlsplit(text)
        sound = parts.scheme in schemes and bool(_HOST.fullmatch(parts.hostname or "")) and (parts.port or 1) > 0
    except ValueError:
        sound = False
    if not sound or any(character <= " " for character in text) or not text.isascii():
        raise FieldError(f"must be an address such as {example}")
    return text, parts


def headers(value: Any) -> dict[str, str]:
    """Return the extra headers of a webhook."""
    if is_blank(value):
        return {}
    if not isinstance(value, Mapping):
        raise FieldError("must be an object of header names and their values")
    if len(value) > HEADERS_MAX:
        raise FieldError(f"must have at most {HEADERS_MAX} headers")
    return {_header_name(name): _header_value(text) for name, text in value.items()}


def _header_name(name: Any) -> str:
    if not isinstance(name, str) or _HEADER_NAME.fullmatch(name) is None:
        raise FieldError("must have header names of letters, digits and dashes")
    if name.lower() in _OUR_HEADERS or name.lower().startswith("webhook-"):
        raise FieldError(f"must not set {name}: it is set on the way")
    return name


def _header_value(value: Any) -> str:
    text = parse_text(value, most=HEADER_LENGTH_MAX)
    if not text.isascii() or not text.isprintable():
        raise FieldError("must have values of printable ASCII characters")
    return text


def body_template(value: Any) -> str:
    """Return the template of a webhook's body."""
    if not isinstance(value, str):
        raise FieldError("must be text")
    if len(value) > BODY_TEMPLATE_LENGTH_MAX:
        raise FieldError(f"must have at most {BODY_TEMPLATE_LENGTH_MAX} characters")
    for fault in template_faults(value):
        raise FieldError(fault)
    return sound_text(value)


def spacing(value: Any) -> dict[str, str]:
    """Return the distances between contacts to one number: between two calls, two texts, any two of them."""
    if is_blank(value):
        return {}
    if not isinstance(value, Mapping) or any(name not in SPACING_KEYS for name in value):
        raise FieldError(f"must be an object of {', '.join(SPACING_KEYS)}, each with a duration such as 4h")
    return {name: _distance(name, text) for name, text in value.items()}


def _distance(name: str, text: Any) -> str:
    try:
        found = parse_duration(text) if isinstance(text, str) else None
    except CalendarError:
        found = None
    if found is None or found.mode == "calendar" or not 0 < found.elapsed <= SPACING_MAX:
        raise FieldError(f"must have under {name} a number of hours, minutes or seconds up to {SPACING_MAX // DAY * 24}h")
    return str(text)


def date_text(text: str) -> str:
    """Return a text that is a date, `YYYY-MM-DD`."""
    try:
        parse_date(text)
    except CalendarError as error:
        raise FieldError(str(error)) from None
    return text


def pauses(value: Any) -> tuple[Pause, ...]:
    """Return the dates on which a schedule rests."""
    if is_blank(value):
        return ()
    listed = _listed(value, "pauses with from and to", PAUSES_MAX)
    found = tuple(_pause(place, raw) for place, raw in enumerate(listed))
    days = sum((parse_date(pause.last) - parse_date(pause.first)).days + 1 for pause in found)
    if days > PAUSE_DAYS_MAX:
        raise FieldError(f"must take {PAUSE_DAYS_MAX} days at most together; set paused to hold all leads")
    return found


def _pause(place: int, raw: Any) -> Pause:
    try:
        pause = raw if isinstance(raw, Pause) else msgspec.convert(raw, Pause)
        first, last = parse_date(pause.first), parse_date(pause.last)
    except (msgspec.ValidationError, CalendarError):
        raise FieldError(f"must have in [{place}] from and to as dates such as 2026-12-24, and perhaps a name") from None
    if last < first:
        raise FieldError(f"must have in [{place}] a to that is not before its from")
    return pause


def business_hours(value: Any) -> tuple[Window, ...]:
    """Return when calls are taken; none is always."""
    if is_blank(value):
        return ()
    listed = _listed(value, "windows with days, open and close", WINDOW_ROWS_MAX)
    try:
        rows = tuple(raw if isinstance(raw, Window) else msgspec.convert(raw, Window) for raw in listed)
        faults = window_errors(rows) if rows else {}
    except msgspec.ValidationError as error:
        raise FieldError(f"must be windows with days, open and close: {error}") from None
    for place, sentences in faults.items():
        raise FieldError(f"in [{place}] {sentences[0]}")
    return rows


def public_key(value: Any) -> str:
    """Return the public half of an API key."""
    if not isinstance(value, str) or _KEY.fullmatch(value) is None:
        raise FieldError("must be 8 to 100 letters, digits, _, . or -, made at random")
    return value


def sha256(value: Any) -> str:
    """Return the hash of the private half of an API key."""
    if not isinstance(value, str) or _SHA256.fullmatch(value) is None:
        raise FieldError("must be the SHA-256 of the private key in 64 hexadecimal digits; the key itself is never sent")
    return value


def scopes(value: Any) -> tuple[str, ...]:
    """Return what an API key may do."""
    listed = _listed(value, "scopes", SCOPES_MAX)
    if not listed or any(not isinstance(scope, str) or _SCOPE.fullmatch(scope) is None for scope in listed):
        raise FieldError("must be a list of scopes such as * or lead:update")
    return tuple(dict.fromkeys(listed))


def networks(value: Any) -> tuple[str, ...]:
    """Return addresses and networks from which an API key is taken."""
    if is_blank(value):
        return ()
    try:
        return tuple(
            dict.fromkeys(str(ip_network(required_text(part))) for part in _listed(value, "networks", NETWORKS_MAX))
        )
    except FieldError:
        raise
    except ValueError:
        raise FieldError("must be a list of addresses or networks such as 192.0.2.0/24") from None


def moment(value: Any) -> Instant:
    """Return an instant: whole milliseconds as they are, or a date and time with its offset."""
    if isinstance(value, int) and not isinstance(value, bool):
        return Instant(parse_integer(value, least=0))
    return parse_moment(value)


def ip_address_text(value: Any) -> str:
    """Return an IPv4 or IPv6 address as it is usually written."""
    try:
        return str(ip_address(required_text(value).strip()))
    except FieldError:
        raise
    except ValueError:
        raise FieldError("must be an address such as 192.0.2.7 or 2001:db8::7") from None


_seconds_of_margin = partial(parse_integer, least=0, most=CLOSE_MARGIN_SECONDS_MAX)

PARSERS: dict[str, Parser] = {
    "name": required_text,
    "time_zone": parse_zone,
    "country": parse_country,
    "paused": parse_boolean,
    "require_auth": parse_boolean,
    "voice": parse_boolean,
    "sms": parse_boolean,
    "hours_to_expire": optional(partial(parse_integer, least=1, most=HOURS_TO_EXPIRE_MAX)),
    "max_contact_attempts": optional(partial(parse_integer, least=1, most=CONTACT_ATTEMPTS_MAX)),
    "description": optional(partial(parse_text, most=DESCRIPTION_LENGTH_MAX)),
    "lead_token": lead_token,
    "offer_id": optional(parse_id),
    "buyer_group_ids": ids,
    "buyer_ids": ids,
    "duplicate_policy": choice("update", "create", "reject", "restart"),
    "on_conversion": on_conversion,
    "action_group_id": optional(parse_id),
    "end_steps_may_contact": parse_boolean,
    "on_reply": on_reply,
    "on_inbound_connected": on_inbound_connected,
    "allow_auth_token": parse_boolean,
    "confirm_links": parse_boolean,
    "unknown_parameters": choice("refuse", "ignore"),
    "no_buyer_action": choice("voicemail", "message", "callback", "hang_up"),
    "no_buyer_message": optional(partial(parse_text, most=NO_BUYER_MESSAGE_LENGTH_MAX)),
    "optout_scope": choice("company", "offer", "channel"),
    "optout_confirmation": optional(partial(parse_text, most=CONFIRMATION_LENGTH_MAX)),
    "help_answer": optional(partial(parse_text, most=CONFIRMATION_LENGTH_MAX)),
    "close_margin_seconds": _seconds_of_margin,
    "purpose": choice(*PURPOSES),
    "min_spacing": spacing,
    "jitter_seconds": partial(parse_integer, least=0, most=JITTER_SECONDS_MAX),
    "window_miss": choice("next_open", "same_time_next_allowed_day", "skip_step"),
    "pauses": pauses,
    "unknown_zone": choice("intersect", "default_zone", "hold"),
    "real_time_priority": parse_boolean,
    "priority_aging": partial(parse_decimal, least=0, most=AGING_MAX),
    "migrate": choice("none", "by_step_id"),
    "number": number,
    "user_buyer_id": optional(parse_text),
    "user_fleet_id": user_fleet_id,
    "buyer_fleet_ids": partial(ids, most=FLEETS_MAX),
    "suppression_list_ids": partial(ids, most=SUPPRESSION_LISTS_MAX),
    "filters": buyer_filters,
    "dtmf_tones": optional(dtmf_tones),
    "user_traffic_source_id": optional(parse_text),
    "external_record_id": optional(parse_text),
    "first_name": optional(parse_text),
    "last_name": optional(parse_text),
    "company_name": optional(parse_text),
    "timeout_seconds": partial(parse_integer, least=TIMEOUT_SECONDS[0], most=TIMEOUT_SECONDS[1]),
    "tier": partial(parse_integer, least=-TIER_MAX, most=TIER_MAX),
    "weight": partial(parse_integer, least=0, most=WEIGHT_MAX),
    "concurrency_cap_limit": optional(partial(parse_integer, least=0, most=CONCURRENCY_MAX)),
    "business_hours": business_hours,
    "dial_buyers_type": choice("sequentially", "simultaneously"),
    "route_by_type": choice("tier", "revenue", "epc"),
    "bid_price": optional(partial(parse_amount, least=0, most=BID_PRICE_MAX)),
    "recording_retention_days": partial(parse_integer, least=1, most=RECORDING_RETENTION_DAYS_MAX),
    "wrap_up_seconds": optional(partial(parse_integer, least=1, most=WRAP_UP_SECONDS_MAX)),
    "callback_grace_minutes": partial(parse_integer, least=0, most=GRACE_MINUTES_MAX),
    "callback_team_grace_minutes": partial(parse_integer, least=0, most=GRACE_MINUTES_MAX),
    "spacing_seconds": partial(parse_integer, least=0, most=SPACING_SECONDS_MAX),
    "url": url,
    "method": choice("POST", "PUT"),
    "headers": headers,
    "body_template": optional(body_template),
    "secret_generation": partial(parse_integer, least=1, most=GENERATION_MAX),
    "secret_rotated_at": optional(moment),
    "public_key": public_key,
    "private_key_sha256": sha256,
    "scopes": scopes,
    "ip_allow_list": networks,
    "expires_at": optional(moment),
    "revoked_at": optional(moment),
    "unpause_at": optional(moment),
    "code": optional(disposition_code),
    "sortable_order": optional(partial(parse_integer, least=0, most=TIER_MAX)),
    "category": choice(*DISPOSITION_CATEGORIES),
    "is_final": parse_boolean,
    "counts_as_contact": parse_boolean,
    "retry_delay_seconds": optional(partial(parse_integer, least=0, most=RETRY_SECONDS_MAX)),
    "retry_max": optional(partial(parse_integer, least=0, most=CONTACT_ATTEMPTS_MAX)),
    "sets_opt_out": parse_boolean,
    "sets_suppression": parse_boolean,
    "is_refusal": parse_boolean,
    "requires_callback_time": parse_boolean,
    "blocked_at_from": optional(moment),
    "blocked_at_to": optional(moment),
    "confirm_all": parse_boolean,
    "request_ip": optional(ip_address_text),
    "last_contact_id": optional(partial(parse_text, most=CONTACT_ID_LENGTH_MAX)),
}
"""By field; exceptions of single types are in `engine.account.bodies`."""


def origins(value: Any) -> tuple[str, ...]:
    """Return the origins of pages as browsers send them: scheme, host and port, in lower case, without the usual port."""
    if is_blank(value):
        return ()
    if not isinstance(value, list | tuple) or len(value) > ORIGINS_MAX:
        raise FieldError(f"must be a list of at most {ORIGINS_MAX} origins")
    found = []
    for one in value:
        text = parse_text(one).lower().removesuffix("/")
        match = _ORIGIN.fullmatch(text)
        if match is None:
            raise FieldError(
                "must have origins such as https://www.example.com, without a path (http:// for localhost alone)"
            )
        found.append(text.removesuffix(":443" if text.startswith("https:") else ":80"))
    return tuple(dict.fromkeys(found))
