"""What did the sender say? Query, then the JSON, form or multipart body on top, merged into one raw mapping.

Nothing is interpreted here: text stays text, and whoever reads a field says what it may be. `data[first_name]=Ann` and
`ids[]=1&ids[]=2` nest as Rails does it; of a name that is given several times the last value counts, but a list has them
all. What cannot be carried on (NUL, numbers over 64 bits) is refused by field.
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

BODY_BYTES_MAX = 256 * 1024
"""research/domain.md 2.5: no honest lead is larger."""

DEPTH_MAX = 16
"""Nested objects and lists in one body: deeper than any CRM nests, and far from any parser's limit."""

FIELDS_MAX = 1_000
"""Names in one form or query; a lead may carry 200 of its own (engine/submission), the rest is room."""

FIELDS_SHOWN_MAX = 50
PATH_LENGTH_MAX = 300
"""Fields named in one answer, and characters of where one is: a body of a long name over thousands of bad values must not
become an answer of a thousand times its size."""

BODY_SECONDS = 10.0
"""For a body to arrive, and a second more for each BODY_BYTES_PER_SECOND_MIN of it: a trickle keeps a place from others."""

BODY_BYTES_PER_SECOND_MIN = 10_000
"""A tenth of a slow mobile connection: the largest body may take 36 s, one that stops or trickles is given up after 10 s."""

DISCARD_SECONDS = 2.0
DISCARD_BYTES_MAX = 8 * 1024 * 1024
"""Of a body that is too large, read and thrown away so that its sender sees the answer; beyond that it sees a closed
connection."""

INTEGER_BITS_MAX = 63
"""What PostgreSQL's bigint holds and every JSON reader keeps exact or refuses."""

LIST_FIELDS = frozenset(
    {
        "ids", "columns", "scopes", "ip_allow_list", "buyer_ids", "add_buyer_ids", "remove_buyer_ids", "add_user_buyer_ids",
        "remove_user_buyer_ids", "buyer_group_ids", "fire_outgoing_webhook_ids",
    }
)  # fmt: skip
"""Fields of plain values that may be several: most clients send a list as `ids=1&ids=2`."""

CLOSE_CONNECTION: Mapping[str, str] = {"Connection": "close"}
"""Said where the rest of a body was not read: the connection cannot be used again."""

Fields = dict[str, Any]


def read_query(query: bytes) -> Fields:
    """Return the fields of a query string. Raises `ProblemError` malformed_body."""
    return _nested(_pairs(query)) if query else {}


def read_known_query(query: bytes, known: Collection[str]) -> tuple[Fields, list[str]]:
    """Return the known fields of a query string, and the names of all others: whatever these hold, it is no fault.

    Raises `ProblemError` malformed_body where known ones contradict each other.
    """
    kept, others = [], []
    for name, value in parse_qsl(query.decode(errors="replace"), keep_blank_values=True, errors="replace"):
        if name.partition("[")[0] in known:
            kept.append((name, value))
        else:
            others.append(name)
    return _nested(kept), others


async def read_body(request: Request[Any, Any, Any]) -> bytes:
    """Return the body. Raises `ProblemError`: too_large as soon as it is known to be so, malformed_body for half of one."""
    declared = request.headers.get("content-length", "")
    stream = request.stream()
    if declared.isascii() and declared.isdigit() and int(declared[:19]) > BODY_BYTES_MAX:
        await _discard(stream)
        raise _too_large()
    chunks, size = [], 0
    try:
        async with asyncio.timeout(BODY_SECONDS) as patience:
            latest = patience.when() or 0.0
            async for chunk in stream:
                size += len(chunk)
                if size > BODY_BYTES_MAX:
                    break
                chunks.append(chunk)
                patience.reschedule(latest + size / BODY_BYTES_PER_SECOND_MIN)
    except TimeoutError:
        sentence = (
            f"The body came too slowly: send it within {BODY_SECONDS:g} s, "
            f"and {BODY_BYTES_PER_SECOND_MIN} bytes in each second beyond."
        )
        raise ProblemError("malformed_body", sentence, headers=CLOSE_CONNECTION) from None
    except HTTPException:
        # The one thing that the framework tells here: the sender is gone. Nobody reads the answer, but the log does.
        raise ProblemError("malformed_body", "The body ended early.") from None
    if size > BODY_BYTES_MAX:
        await _discard(stream)
        raise _too_large()
    return b"".join(chunks)


async def _discard(stream: AsyncIterator[bytes]) -> None:
    """Read the rest of a body that is too large, within bounds: a sender that is cut off while it sends sees no answer."""
    size = 0
    with contextlib.suppress(TimeoutError, HTTPException):
        async with asyncio.timeout(DISCARD_SECONDS):
            async for chunk in stream:
                size += len(chunk)
                if size > DISCARD_BYTES_MAX:
                    return


def check_encoding(content_encoding: str) -> None:
    """Refuse a body that is packed. Raises `ProblemError` unsupported_media_type."""
    if content_encoding.strip().lower() not in {"", "identity"}:
        raise ProblemError("unsupported_media_type", "Send the body as it is, without Content-Encoding.")


def read_fields(body: bytes, content_type: str) -> Fields:
    """Return the fields of a body, none where there is no body.

    Raises `ProblemError`: malformed_json, malformed_body, unsupported_media_type, validation_failed.
    """
    if not body:
        return {}
    kind, options = parse_options_header(content_type)
    if options.get("charset", "utf-8").lower() not in {"utf-8", "utf8", "us-ascii"}:
        raise ProblemError("unsupported_media_type", "Send the body as UTF-8.")
    if kind == "application/json" or (kind.startswith("application/") and kind.endswith("+json")):
        return _json(body)
    if kind == "application/x-www-form-urlencoded":
        if body.startswith(b"{") and body.rstrip().endswith(b"}"):
            raise ProblemError("malformed_body", "The body is JSON, but Content-Type says a form: send application/json.")
        return _nested(_pairs(body))
    if kind == "multipart/form-data":
        return _nested(_parts(body, options.get("boundary", "")))
    raise ProblemError(
        "unsupported_media_type",
        "Send application/json, application/x-www-form-urlencoded or multipart/form-data, and say so in Content-Type.",
    )


def check_storable(fields: Mapping[str, Any]) -> None:
    """Refuse what no store behind us could keep. Raises `ProblemError` naming every such field, up to FIELDS_SHOWN_MAX."""
    errors: dict[str, list[str]] = {}
    _screen(fields, "", 1, errors)
    if errors:
        raise ProblemError("validation_failed", "Some fields hold what cannot be stored.", errors)


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


def _pairs(text: bytes) -> list[tuple[str, str]]:
    try:
        return parse_qsl(
            text.decode("ascii") if text.isascii() else text.decode(),
            keep_blank_values=True,
            errors="strict",
            max_num_fields=FIELDS_MAX,
        )
    except UnicodeDecodeError:
        raise ProblemError("malformed_body", "The query or form holds bytes that are not UTF-8.") from None
    except ValueError:
        raise ProblemError("malformed_body", f"The query or form holds more than {FIELDS_MAX} fields.") from None


def _parts(body: bytes, boundary: str) -> list[tuple[str, str]]:
    if not boundary:
        raise ProblemError("malformed_body", "The Content-Type of a multipart body names its boundary.")
    try:
        # The body lies in memory already, and is bounded: no part is to be laid down in a file, which nobody would close.
        room = len(body) + 1
        parser = MultipartParser(
            io.BytesIO(body), boundary, part_limit=FIELDS_MAX, strict=True, spool_limit=room, memory_limit=room
        )
        parts = list(parser)
        if any(part.filename for part in parts):
            raise ProblemError("malformed_body", "Files are not taken here; send fields only.")
        return [(part.name, part.raw.decode()) for part in parts]
    except (MultipartError, UnicodeDecodeError, ValueError) as error:
        raise ProblemError("malformed_body", f"The multipart body cannot be read: {error}.") from None


def _nested(pairs: Iterable[tuple[str, str]]) -> Fields:
    fields: Fields = {}
    for name, value in pairs:
        _place(fields, name, value)
    return fields


def _place(fields: Fields, name: str, value: str) -> None:
    """Put a value where its name says: `a`, `a[b]`, `a[]`, `a[b][]`. A name that contradicts an earlier one replaces it."""
    head, *inner = name.replace("]", "").split("[") if name.endswith("]") and "[" in name else [name]
    if head in LIST_FIELDS and len(inner) == 1 and inner[0].isdigit():  # `ids[0]=1&ids[1]=2`, as PHP writes a list
        inner = [""]
    if len(inner) >= DEPTH_MAX:
        raise _too_deep()
    place: Any = fields
    path = [head, *inner]
    for step, following in pairwise(path):
        if isinstance(place, list):
            raise ProblemError("malformed_body", f"The field {name[:100]!r} nests objects in a list; send JSON for that.")
        empty: Any = [] if following == "" else {}
        if not isinstance(place.get(step), type(empty)):
            place[step] = empty
        place = place[step]
    if isinstance(place, list):
        place.append(value)
    elif name in LIST_FIELDS and name in fields:
        fields[name] = [*(fields[name] if isinstance(fields[name], list) else [fields[name]]), value]
    else:
        place[path[-1]] = value


def _screen(value: Any, path: str, depth: int, errors: dict[str, list[str]]) -> None:
    if depth > DEPTH_MAX:
        raise _too_deep()
    if isinstance(value, str):
        if "\x00" in value:
            _fault(errors, path, "must not contain the NUL character")
    elif isinstance(value, Mapping):
        for name, inner in value.items():
            if "\x00" in name:
                _fault(errors, path, "must not have a name with the NUL character")
            _screen(inner, (f"{path}.{name}" if path else name)[:PATH_LENGTH_MAX], depth + 1, errors)
    elif isinstance(value, list):
        for place, inner in enumerate(value):
            _screen(inner, f"{path}[{place}]"[:PATH_LENGTH_MAX], depth + 1, errors)
    elif isinstance(value, int) and (value if value >= 0 else ~value).bit_length() > INTEGER_BITS_MAX:
        _fault(errors, path, "must be a number of at most 64 bits; send longer ones as text")


def _fault(errors: dict[str, list[str]], path: str, sentence: str) -> None:
    if path not in errors and len(errors) == FIELDS_SHOWN_MAX:
        return
    said = errors.setdefault(path, [])
    if sentence not in said:
        said.append(sentence)


def _too_large() -> ProblemError:
    return ProblemError("too_large", f"A body has at most {BODY_BYTES_MAX} bytes.", headers=CLOSE_CONNECTION)


def _too_deep() -> ProblemError:
    return ProblemError("malformed_body", f"Objects and lists nest at most {DEPTH_MAX} deep.")
