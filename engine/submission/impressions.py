"""What does a posted impression mean? Its fields, each bounded by name; the faults of all impressions are found at once.

An IP address is cut to its network, so that no record of ours holds whole addresses of visitors.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from ipaddress import IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import Any

import msgspec

from engine.account.did_you_mean import did_you_mean
from engine.identity import impression_uuid
from engine.rules import Rules
from engine.submission.columns import parse_country
from engine.submission.fields import FieldError, check_token, is_blank, parse_id, parse_text, sound_text
from engine.submission.reading import FIELDS_SHOWN_MAX, TOKEN_NAME_LENGTH_MAX, json_object
from engine.submission.states import state_code
from engine.tokens import fits
from schemas.impressions import Impression
from schemas.instant import Instant
from schemas.wire import UNREADABLE

BATCH_MAX = 500
"""Impressions in one request."""

VISITOR_LENGTH_MAX = 100
"""Of an id of a visitor or session: those of browsers and analytics tools have at most 64 characters."""

URL_LENGTH_MAX = 2_048
"""The longest address that every browser, proxy and ad server passes on."""

CLICK_ID_LENGTH_MAX = 500
"""Of a click id of an ad network; today's have up to 250 characters."""

USER_AGENT_LENGTH_MAX = 512
"""Characters that are stored; the rest is cut off, because a sender cannot shorten what a browser says."""

DEVICE_LENGTH_MAX = 50
PLACE_LENGTH_MAX = 100

TOKENS_MAX = 50
TOKENS_BYTES_MAX = 4 * 1024
"""Tokens of one impression, and their bytes as JSON: a thousand impressions a second are stored."""

IPV4_PREFIX, IPV6_PREFIX = 24, 48
"""What is stored of an address: the network of a neighbourhood or a company, not the line of a household."""

GIVEN_BY_US: Mapping[str, str] = {
    **dict.fromkeys(
        ("number_id", "number_shown", "held_until"), "is decided here; give ring_pool_id, and the answer says which number"
    ),
    "converted_call_id": "is decided here, by calls to a number that is held for the visitor; leave it out",
}
"""Fields that impressions have and no sender sets -> why they are refused."""

POSTED_ALONE = "asks for a number that one page shows: post this impression by itself, not in a batch"

_UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}", re.ASCII)
_URL = re.compile(r"(?:https?|android-app|ios-app)://[^\s/?#]\S*", re.IGNORECASE)

Faults = dict[str, list[str]]


def _text(most: int) -> Callable[[Any], str]:
    return lambda value: parse_text(value, most=most)


def _uuid(value: Any) -> str:
    if not isinstance(value, str) or _UUID.fullmatch(value.strip()) is None:
        raise FieldError("must be a UUID such as 0190a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b")
    return value.strip().lower()


def _url(value: Any) -> str:
    text = parse_text(value, most=URL_LENGTH_MAX)
    if _URL.fullmatch(text) is None:
        raise FieldError("must be an address that begins with https:// or http:// (of an app: android-app://, ios-app://)")
    return text


def _user_agent(value: Any) -> str:
    return parse_text(value, most=len(value) if isinstance(value, str) else USER_AGENT_LENGTH_MAX)[:USER_AGENT_LENGTH_MAX]


def _network(value: Any) -> str:
    try:
        address = ip_address(parse_text(value))
    except ValueError:
        raise FieldError("must be an IP address such as 192.0.2.1") from None
    if isinstance(address, IPv6Address):
        if address.ipv4_mapped is None:
            return str(IPv6Network((int(address), IPV6_PREFIX), strict=False))
        address = address.ipv4_mapped
    return str(IPv4Network((int(address), IPV4_PREFIX), strict=False))


def _state(value: Any) -> str:
    text = parse_text(value, most=PLACE_LENGTH_MAX)
    return state_code(text) or text


def _tokens(value: Any) -> dict[str, Any]:
    tokens = json_object(value) if isinstance(value, str) else value
    if not isinstance(tokens, Mapping):
        raise FieldError("must be an object of tokens")
    if len(tokens) > TOKENS_MAX:
        raise FieldError(f"must have at most {TOKENS_MAX} names")
    for name, token in tokens.items():
        if not isinstance(name, str) or not name.strip() or len(name) > TOKEN_NAME_LENGTH_MAX:
            raise FieldError(f"has a token whose name is not text of 1 to {TOKEN_NAME_LENGTH_MAX} characters")
        sound_text(name)
        check_token(token)
    if not fits(tokens, TOKENS_BYTES_MAX):
        raise FieldError(f"must have at most {TOKENS_BYTES_MAX} bytes as JSON, with numbers written out")
    return dict(tokens)


PARSERS: Mapping[str, Callable[[Any], Any]] = {
    "visitor_id": _text(VISITOR_LENGTH_MAX),
    "uuid": _uuid,
    "session_id": _text(VISITOR_LENGTH_MAX),
    "offer_id": parse_id,
    "traffic_source_id": parse_id,
    "ring_pool_id": parse_id,
    **dict.fromkeys(("page_url", "referrer", "landing_url"), _url),
    **dict.fromkeys(("utm_source", "utm_medium", "utm_campaign", "utm_term", "utm_content", "sub_id"), parse_text),
    **dict.fromkeys(("gclid", "fbclid"), _text(CLICK_ID_LENGTH_MAX)),
    "ip": _network,
    "user_agent": _user_agent,
    "device": _text(DEVICE_LENGTH_MAX),
    "country": parse_country,
    "state": _state,
    "city": _text(PLACE_LENGTH_MAX),
    "tokens": _tokens,
}
"""Field of an impression -> its parser."""

_OWNED = {
    "offer_id": ("offer", "offer"),
    "traffic_source_id": ("traffic_source", "traffic source"),
    "ring_pool_id": ("ring_pool", "ring pool"),
}


class ImpressionReading:
    """Reads the impressions of one request; `faults` are those of all of them by field and index, as many as are shown."""

    def __init__(self, rules: Rules, company_id: int, request_id: str, now: Instant, *, ignores_unknown: bool) -> None:
        self.faults: Faults = {}
        self._rules = rules
        self._company_id = company_id
        self._request_id = request_id
        self._now = now
        self._ignores_unknown = ignores_unknown
        self._uuids: dict[str, str] = {}

    def read(self, raw: Any, index: int, prefix: str = "") -> Impression | None:
        """Return the n-th impression, or None and its faults; fields are named with `prefix` (`impressions[3].`)."""
        if not isinstance(raw, Mapping):
            self._fault(prefix.removesuffix("."), "must be an object with the fields of one impression")
            return None
        before = len(self.faults)
        if before == FIELDS_SHOWN_MAX:
            return None  # one bad impression is enough to refuse them all
        for name, sentence in self._unknown(raw):
            self._fault(f"{prefix}{name}", sentence)
            if len(self.faults) == FIELDS_SHOWN_MAX:
                return None
        found = {name: self._parsed(prefix, name, raw[name]) for name in PARSERS if not is_blank(raw.get(name))}
        if is_blank(raw.get("visitor_id")):
            instead = "" if prefix else ", or impressions"
            self._fault(f"{prefix}visitor_id", f"must be given{instead}: the id by which your site knows the visitor")
        for name, (record_type, noun) in _OWNED.items():
            if found.get(name) is not None and not self._rules.owns(self._company_id, record_type, found[name]):
                self._fault(f"{prefix}{name}", f"names no {noun}: {found[name]}")
        if prefix and found.get("ring_pool_id") is not None:
            self._fault(f"{prefix}ring_pool_id", POSTED_ALONE)
        self._check_repeated(prefix, found.get("uuid"))
        if len(self.faults) > before:
            return None
        found.setdefault("uuid", impression_uuid(self._request_id, index))
        return Impression(company_id=self._company_id, created_at=self._now, **found)

    def _unknown(self, raw: Mapping[Any, Any]) -> Iterator[tuple[str, str]]:
        for name in raw:
            if name in GIVEN_BY_US:
                yield name, GIVEN_BY_US[name]
            elif name not in PARSERS and not self._ignores_unknown:
                yield str(name)[:TOKEN_NAME_LENGTH_MAX], f"is no field of an impression{did_you_mean(str(name), PARSERS)}"

    def _parsed(self, prefix: str, name: str, value: Any) -> Any:
        try:
            return PARSERS[name](value)
        except FieldError as error:
            self._fault(f"{prefix}{name}", str(error))
            return None

    def _check_repeated(self, prefix: str, uuid: str | None) -> None:
        if uuid is None:
            return
        first = self._uuids.setdefault(uuid, prefix)
        if first != prefix:
            self._fault(f"{prefix}uuid", f"is that of {first.removesuffix('.')} too: give each impression its own")

    def _fault(self, field: str, sentence: str) -> None:
        if field in self.faults or len(self.faults) < FIELDS_SHOWN_MAX:
            self.faults.setdefault(field, []).append(sentence)


def _json(text: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except (*UNREADABLE, UnicodeEncodeError):
        return None


def batch_of(fields: Mapping[str, Any]) -> Sequence[Any] | None:
    """Return the raw impressions of a batch, or None where the fields are those of one impression. Raises `FieldError`."""
    batch = fields.get("impressions")
    if batch is None:
        return None
    if isinstance(batch, str):  # of a form
        batch = _json(batch)
    if not isinstance(batch, list):
        raise FieldError("must be a JSON array of impressions")
    if not 1 <= len(batch) <= BATCH_MAX:
        raise FieldError(f"must have 1 to {BATCH_MAX} impressions")
    if len(fields) > 1:
        beside = next(name for name in fields if name != "impressions")
        raise FieldError(f"cannot stand beside {beside[:TOKEN_NAME_LENGTH_MAX]}: put every field into the impressions")
    return batch
