"""Which fields does a body hold: JSON, a form, or XML? The same over HTTP, on `leads.inbox` and in a file of posts.

Nothing is interpreted here: text stays text, and the reader of a field parses it. `data[first_name]=Ann` and
`ids[]=1&ids[]=2` nest as in Rails. If a name of a form is sent several times, the last value counts, as browsers send a box
and its default; a list takes all values. A key that stands twice in JSON is refused.
"""

import codecs
import io
from collections.abc import Iterable
from itertools import pairwise
from typing import Any
from urllib.parse import parse_qsl, unquote_to_bytes

import msgspec
from multipart import MultipartError, MultipartParser, parse_options_header  # type: ignore[import-untyped]

from adapters.json_keys import check_keys
from adapters.xml_body import XmlBodyError, read_xml
from engine.partition.draft import RefusedError

DEPTH_MAX = 16
"""Nested objects and lists in one body: deeper than any CRM nests, and far below any parser's limit."""

FIELDS_MAX = 1_000
"""Names in one form or query; a submission may have 200 tokens (engine/submission)."""

PATH_LENGTH_MAX = 300
"""Characters of a name that an answer repeats."""

FORM, MULTIPART = "application/x-www-form-urlencoded", "multipart/form-data"
XML_KINDS = frozenset({"application/xml", "text/xml"})

LATIN = "cp1252"
LATIN_CHARSETS = frozenset({"iso-8859-1", "iso8859-1", "latin-1", "latin1", "windows-1252", "cp1252"})
"""Old forms are in one of these, which browsers read as the last (WHATWG Encoding Standard, 4.2)."""

UTF_8_CHARSETS = frozenset({"utf-8", "utf8", "us-ascii"})

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

Fields = dict[str, Any]


def read_fields(body: bytes, content_type: str) -> Fields:
    """Return the fields of a body, or none if the body is empty.

    Raises `RefusedError`: malformed_json, malformed_body, unsupported_media_type.
    """
    if not body:
        return {}
    kind, options = parse_options_header(content_type)
    if kind in XML_KINDS or kind.endswith("+xml"):
        return _xml(body)
    encoding = _encoding(body, kind, options.get("charset", "").lower())
    match kind:
        case _ if kind == "application/json" or (kind.startswith("application/") and kind.endswith("+json")):
            if encoding == LATIN:
                raise RefusedError("unsupported_media_type", "Send JSON as UTF-8.")
            return _json(body)
        case "application/x-www-form-urlencoded":
            if body.startswith(b"{") and body.rstrip().endswith(b"}"):
                raise RefusedError(
                    "malformed_body", "The body is JSON, but Content-Type says a form: send application/json."
                )
            return nest(read_pairs(body, encoding))
        case "multipart/form-data":
            return nest(_parts(body, options.get("boundary", ""), encoding))
        case _:
            raise RefusedError(
                "unsupported_media_type",
                "Set Content-Type to application/json, application/x-www-form-urlencoded, multipart/form-data or "
                "application/xml.",
            )


def _encoding(body: bytes, kind: str, charset: str) -> str:
    """Return the encoding of a body. A form that says nothing, as forms of browsers do, may be in Latin-1."""
    if charset in LATIN_CHARSETS:
        return LATIN
    if charset in UTF_8_CHARSETS:
        return "utf-8"
    if charset:
        raise RefusedError("unsupported_media_type", "Send the body as UTF-8.")
    return LATIN if kind in {FORM, MULTIPART} and not _is_utf_8(body, kind) else "utf-8"


def _is_utf_8(body: bytes, kind: str) -> bool:
    try:
        (unquote_to_bytes(body) if kind == FORM else body).decode()
    except UnicodeDecodeError:
        return False
    return True


def _json(body: bytes) -> Fields:
    body = body.removeprefix(codecs.BOM_UTF8)
    try:
        value = msgspec.json.decode(body)
    except RecursionError:
        raise too_deep() from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise RefusedError("malformed_json", f"{error}.") from None
    if not isinstance(value, dict):
        raise RefusedError("malformed_body", "The JSON body must be an object with the fields as its members.")
    check_keys(body, value)
    return value


def _xml(body: bytes) -> Fields:
    try:
        return read_xml(body)
    except XmlBodyError as error:
        raise RefusedError("malformed_body", str(error)) from None


def read_pairs(text: bytes, encoding: str = "utf-8") -> list[tuple[str, str]]:
    """Return the names and values of a form or query. Raises `RefusedError` malformed_body."""
    try:
        return parse_qsl(
            text.decode("ascii") if text.isascii() else text.decode(encoding),
            keep_blank_values=True,
            encoding=encoding,
            errors="strict",
            max_num_fields=FIELDS_MAX,
        )
    except UnicodeDecodeError:
        raise RefusedError("malformed_body", f"The query or form has bytes that are not {encoding.upper()}.") from None
    except ValueError:
        raise RefusedError("malformed_body", f"The query or form has more than {FIELDS_MAX} fields.") from None


def _parts(body: bytes, boundary: str, encoding: str) -> list[tuple[str, str]]:
    if not boundary:
        raise RefusedError("malformed_body", "Name the boundary of the multipart body in Content-Type.")
    try:
        # The body is in memory already, and bounded. With these limits the parser opens no temporary file.
        memory = len(body) + 1
        parser = MultipartParser(
            io.BytesIO(body), boundary, part_limit=FIELDS_MAX, strict=True, spool_limit=memory, memory_limit=memory
        )
        parts = list(parser)
        file = next((part for part in parts if part.filename), None)
        if file is not None:
            raise RefusedError(
                "malformed_body",
                f"{file.name[:PATH_LENGTH_MAX]} is a file. Send its text as a field: in curl, -F 'name=<FILE', not @FILE.",
            )
        return [(part.name, part.raw.decode(encoding)) for part in parts]
    except (MultipartError, UnicodeDecodeError, ValueError) as error:
        raise RefusedError("malformed_body", f"The multipart body cannot be read: {error}.") from None


def nest(pairs: Iterable[tuple[str, str]]) -> Fields:
    """Return the fields of names and values. Raises `RefusedError` malformed_body."""
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
        raise too_deep()
    parent: Any = fields
    path = [head, *inner]
    for key, following in pairwise(path):
        if isinstance(parent, list):
            raise RefusedError("malformed_body", f"The field {name[:100]!r} nests objects in a list; send JSON for that.")
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


def too_deep() -> RefusedError:
    """Return the refusal of a body that nests too deep."""
    return RefusedError("malformed_body", f"Nest objects and lists at most {DEPTH_MAX} deep.")
