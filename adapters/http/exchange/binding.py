"""Which fields did the client send? Those of the query, then of the JSON, form, multipart or XML body, in one raw mapping.

Nothing is interpreted here: text stays text, and the reader of a field parses it. `data[first_name]=Ann` and
`ids[]=1&ids[]=2` nest as in Rails. If a name is sent several times, the last value counts; a list takes all values. What
cannot be stored (NUL, numbers over 64 bits) is refused by field.
"""

import asyncio
import contextlib
import io
from collections.abc import AsyncIterator, Collection, Iterable, Mapping
from itertools import pairwise
from typing import Any
from urllib.parse import parse_qsl

import msgspec
from litestar import Request
from litestar.exceptions import HTTPException
from multipart import MultipartError, MultipartParser, parse_options_header  # type: ignore[import-untyped]

from adapters.http.exchange.problems import ProblemError
from adapters.http.exchange.xml_body import XmlBodyError, read_xml

BODY_BYTES_MAX = 256 * 1024
"""As much as the tokens of one lead may take (`engine.tokens.LEAD_BYTES_MAX`). An operation may take more."""

DEPTH_MAX = 16
"""Nested objects and lists in one body: deeper than any CRM nests, and far below any parser's limit."""

FIELDS_MAX = 1_000
"""Names in one form or query; a submission may have 200 tokens (engine/submission)."""

FIELDS_SHOWN_MAX = 50
PATH_LENGTH_MAX = 300
"""Fields listed in one problem, and characters of each path: a long name with thousands of bad values must not give an
answer a thousand times as large as its request."""

BODY_SECONDS = 10.0
"""Time for a body to arrive, plus a second for each BODY_BYTES_PER_SECOND_MIN of it: a slow body occupies a connection."""

BODY_BYTES_PER_SECOND_MIN = 10_000
"""A tenth of a slow mobile connection. The largest body may take 36 s; one that stops or trickles is refused after 10 s."""

DISCARD_SECONDS = 2.0
DISCARD_BYTES_MAX = 8 * 1024 * 1024
"""How much of a body that is too large is read and thrown away, so that its sender reads the answer. Above that, the sender
only sees a closed connection."""

INTEGER_BITS_MAX = 63
"""PostgreSQL's bigint has a sign and 63 bits."""

FORM, MULTIPART = "application/x-www-form-urlencoded", "multipart/form-data"
FORM_KINDS = frozenset({FORM, MULTIPART})
XML_KINDS = frozenset({"application/xml", "text/xml"})

LATIN = "cp1252"
LATIN_CHARSETS = frozenset({"iso-8859-1", "iso8859-1", "latin-1", "latin1", "windows-1252", "cp1252"})
"""Old forms are in one of these, which browsers read as the last (WHATWG Encoding Standard, 4.2)."""

LIST_FIELDS = frozenset(
    {
        "ids", "columns", "states", "scopes", "ip_allow_list", "buyer_ids", "add_buyer_ids", "remove_buyer_ids",
        "add_user_buyer_ids",
        "remove_user_buyer_ids", "buyer_group_ids", "buyer_fleet_ids", "filters", "fire_outgoing_webhook_ids",
        "users_emails", "agent_ids", "call_center_ids", "events", "number_ids", "origins",
        "team_users_emails", "team_offer_ids", "suppression_list_ids", "schedule_ids",
        "public_parameters", "public_updates", "dial_countries", "channels",
    }
)  # fmt: skip
"""Fields that take a list of plain values: most clients send a list as `ids=1&ids=2`."""

CLOSE_CONNECTION: Mapping[str, str] = {"Connection": "close"}
"""Sent if the rest of a body was not read: the connection cannot be used again."""

Fields = dict[str, Any]


def read_query(query: bytes) -> Fields:
    """Return the fields of a query string. Raises `ProblemError` malformed_body."""
    return _nest(_pairs(query)) if query else {}


def read_known_query(query: bytes, known: Collection[str]) -> tuple[Fields, list[str]]:
    """Return the known fields of a query string, and the names of all others, whose values are not checked.

    Raises `ProblemError` malformed_body if known fields contradict each other.
    """
    pairs, others = [], []
    for name, value in parse_qsl(query.decode(errors="replace"), keep_blank_values=True, errors="replace"):
        if name.partition("[")[0] in known:
            pairs.append((name, value))
        else:
            others.append(name)
    return _nest(pairs), others


async def read_body(request: Request[Any, Any, Any], bytes_max: int = BODY_BYTES_MAX) -> bytes:
    """Return the body. Raises `ProblemError`: too_large as soon as that is known, malformed_body if it ends early."""
    declared = request.headers.get("content-length", "")
    stream = request.stream()
    if declared.isascii() and declared.isdigit() and int(declared[:19]) > bytes_max:
        await _discard(stream)
        raise _too_large(bytes_max)
    chunks, size = [], 0
    try:
        async with asyncio.timeout(BODY_SECONDS) as deadline:
            latest = deadline.when() or 0.0
            async for chunk in stream:
                size += len(chunk)
                if size > bytes_max:
                    break
                chunks.append(chunk)
                deadline.reschedule(latest + size / BODY_BYTES_PER_SECOND_MIN)
    except TimeoutError:
        sentence = (
            f"The body arrived too slowly: send it within {BODY_SECONDS:g} s, "
            f"plus a second for each {BODY_BYTES_PER_SECOND_MIN} bytes."
        )
        raise ProblemError("malformed_body", sentence, headers=CLOSE_CONNECTION) from None
    except HTTPException:
        # The framework raises this only if the sender is gone. No client reads the answer, but it is logged.
        raise ProblemError("malformed_body", "The body ended early.") from None
    if size > bytes_max:
        await _discard(stream)
        raise _too_large(bytes_max)
    return b"".join(chunks)


async def _discard(stream: AsyncIterator[bytes]) -> None:
    """Read the rest of a body that is too large, up to a limit: a sender that is cut off while sending reads no answer."""
    size = 0
    with contextlib.suppress(TimeoutError, HTTPException):
        async with asyncio.timeout(DISCARD_SECONDS):
            async for chunk in stream:
                size += len(chunk)
                if size > DISCARD_BYTES_MAX:
                    return


def check_encoding(content_encoding: str) -> None:
    """Refuse a compressed body. Raises `ProblemError` unsupported_media_type."""
    if content_encoding.strip().lower() not in {"", "identity"}:
        raise ProblemError("unsupported_media_type", "Send the body uncompressed, without Content-Encoding.")


def read_fields(body: bytes, content_type: str) -> Fields:
    """Return the fields of a body, or none if the body is empty.

    Raises `ProblemError`: malformed_json, malformed_body, unsupported_media_type, validation_failed.
    """
    if not body:
        return {}
    kind, options = parse_options_header(content_type)
    charset = options.get("charset", "utf-8").lower()
    if kind in XML_KINDS:
        return _xml(body)
    if charset in LATIN_CHARSETS and kind in FORM_KINDS:
        return _nest(_parts(body, options.get("boundary", ""), LATIN) if kind == MULTIPART else _pairs(body, LATIN))
    if charset not in {"utf-8", "utf8", "us-ascii"}:
        raise ProblemError("unsupported_media_type", "Send the body as UTF-8.")
    if kind == "application/json" or (kind.startswith("application/") and kind.endswith("+json")):
        return _json(body)
    if kind == FORM:
        if body.startswith(b"{") and body.rstrip().endswith(b"}"):
            raise ProblemError("malformed_body", "The body is JSON, but Content-Type says a form: send application/json.")
        return _nest(_pairs(body))
    if kind == MULTIPART:
        return _nest(_parts(body, options.get("boundary", "")))
    raise ProblemError(
        "unsupported_media_type",
        "Set Content-Type to application/json, application/x-www-form-urlencoded, multipart/form-data or application/xml.",
    )


def check_storable(fields: Mapping[str, Any]) -> None:
    """Refuse what cannot be stored. Raises `ProblemError` with every such field, up to FIELDS_SHOWN_MAX."""
    errors: dict[str, list[str]] = {}
    _check_value(fields, "", 1, errors)
    if errors:
        raise ProblemError("validation_failed", "Some fields cannot be stored. Correct those listed in errors.", errors)


def _json(body: bytes) -> Fields:
    try:
        value = msgspec.json.decode(body)
    except RecursionError:
        raise _too_deep() from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ProblemError("malformed_json", f"{error}.") from None
    if not isinstance(value, dict):
        raise ProblemError("malformed_body", "The JSON body must be an object with the fields as its members.")
    return value


def _xml(body: bytes) -> Fields:
    try:
        return read_xml(body)
    except XmlBodyError as error:
        raise ProblemError("malformed_body", str(error)) from None


def _pairs(text: bytes, encoding: str = "utf-8") -> list[tuple[str, str]]:
    try:
        return parse_qsl(
            text.decode("ascii") if text.isascii() else text.decode(encoding),
            keep_blank_values=True,
            encoding=encoding,
            errors="strict",
            max_num_fields=FIELDS_MAX,
        )
    except UnicodeDecodeError:
        raise ProblemError("malformed_body", f"The query or form has bytes that are not {encoding.upper()}.") from None
    except ValueError:
        raise ProblemError("malformed_body", f"The query or form has more than {FIELDS_MAX} fields.") from None


def _parts(body: bytes, boundary: str, encoding: str = "utf-8") -> list[tuple[str, str]]:
    if not boundary:
        raise ProblemError("malformed_body", "Name the boundary of the multipart body in Content-Type.")
    try:
        # The body is in memory already, and bounded. With these limits the parser opens no temporary file.
        memory = len(body) + 1
        parser = MultipartParser(
            io.BytesIO(body), boundary, part_limit=FIELDS_MAX, strict=True, spool_limit=memory, memory_limit=memory
        )
        parts = list(parser)
        file = next((part for part in parts if part.filename), None)
        if file is not None:
            raise ProblemError(
                "malformed_body",
                f"{file.name[:PATH_LENGTH_MAX]} is a file. Send its text as a field: in curl, -F 'name=<FILE', not @FILE.",
            )
        return [(part.name, part.raw.decode(encoding)) for part in parts]
    except (MultipartError, UnicodeDecodeError, ValueError) as error:
        raise ProblemError("malformed_body", f"The multipart body cannot be read: {error}.") from None


def _nest(pairs: Iterable[tuple[str, str]]) -> Fields:
    fields: Fields = {}
    for name, value in pairs:
        _assign(fields, name, value)
    return fields


def _assign(fields: Fields, name: str, value: str) -> None:
    """Store a value under a name such as `a`, `a[b]`, `a[]`, `a[b][]`; it replaces an earlier name that contradicts it."""
    head, *inner = name.replace("]", "").split("[") if name.endswith("]") and "[" in name else [name]
    if head in LIST_FIELDS and len(inner) == 1 and inner[0].isdigit():  # `ids[0]=1&ids[1]=2`, as PHP writes a list
        inner = [""]
    if len(inner) >= DEPTH_MAX:
        raise _too_deep()
    parent: Any = fields
    path = [head, *inner]
    for key, following in pairwise(path):
        if isinstance(parent, list):
            raise ProblemError("malformed_body", f"The field {name[:100]!r} nests objects in a list; send JSON for that.")
        empty: Any = [] if following == "" else {}
        if not isinstance(parent.get(key), type(empty)):
            parent[key] = empty
        parent = parent[key]
    if isinstance(parent, list):
        parent.append(value)
    elif name in LIST_FIELDS and name in fields:
        fields[name] = [*(fields[name] if isinstance(fields[name], list) else [fields[name]]), value]
    else:
        parent[path[-1]] = value


def _check_value(value: Any, path: str, depth: int, errors: dict[str, list[str]]) -> None:
    if depth > DEPTH_MAX:
        raise _too_deep()
    if isinstance(value, str):
        if "\x00" in value:
            _add_error(errors, path, "must not contain the NUL character")
    elif isinstance(value, Mapping):
        for name, inner in value.items():
            if "\x00" in name:
                _add_error(errors, path, "must not have a name with the NUL character")
            _check_value(inner, (f"{path}.{name}" if path else name)[:PATH_LENGTH_MAX], depth + 1, errors)
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            _check_value(inner, f"{path}[{index}]"[:PATH_LENGTH_MAX], depth + 1, errors)
    elif isinstance(value, int) and (value if value >= 0 else ~value).bit_length() > INTEGER_BITS_MAX:
        _add_error(errors, path, "must be a number of at most 64 bits; send longer ones as text")


def _add_error(errors: dict[str, list[str]], path: str, sentence: str) -> None:
    if path not in errors and len(errors) == FIELDS_SHOWN_MAX:
        return
    sentences = errors.setdefault(path, [])
    if sentence not in sentences:
        sentences.append(sentence)


def _too_large(bytes_max: int) -> ProblemError:
    return ProblemError("too_large", f"Send a body of at most {bytes_max} bytes.", headers=CLOSE_CONNECTION)


def _too_deep() -> ProblemError:
    return ProblemError("malformed_body", f"Nest objects and lists at most {DEPTH_MAX} deep.")
