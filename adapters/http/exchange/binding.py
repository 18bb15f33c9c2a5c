"""Which fields did the client send? Those of the query, then of the JSON, form, multipart or XML body, in one raw mapping.

How a body is read is in `adapters.body_fields`. What cannot be stored (NUL, numbers over 64 bits) is refused by field.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Collection, Iterator, Mapping
from typing import Any
from urllib.parse import parse_qsl

from litestar import Request
from litestar.exceptions import HTTPException

from adapters import body_fields
from adapters.body_fields import DEPTH_MAX, PATH_LENGTH_MAX, Fields
from adapters.http.exchange.problems import ProblemError
from engine.partition.draft import RefusedError

BODY_BYTES_MAX = 256 * 1024
"""As much as the tokens of one lead may take (`engine.tokens.LEAD_BYTES_MAX`). An operation may take more."""

FIELDS_SHOWN_MAX = 50
"""Fields listed in one problem, each path cut: a long name with thousands of bad values must not give an answer a thousand
times as large as its request."""

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

CLOSE_CONNECTION: Mapping[str, str] = {"Connection": "close"}
"""Sent if the rest of a body was not read: the connection cannot be used again."""


def read_query(query: bytes) -> Fields:
    """Return the fields of a query string. Raises `ProblemError` malformed_body."""
    with _as_problems():
        return body_fields.nest(body_fields.read_pairs(query)) if query else {}


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
    with _as_problems():
        return body_fields.nest(pairs), others


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
    """Return the fields of a body, or none if the body is empty. Raises `ProblemError`."""
    with _as_problems():
        return body_fields.read_fields(body, content_type)


@contextlib.contextmanager
def _as_problems() -> Iterator[None]:
    """Raise refusals as problems of this request."""
    try:
        yield
    except RefusedError as refusal:
        raise ProblemError(refusal.code, refusal.detail, refusal.errors) from None


def check_storable(fields: Mapping[str, Any]) -> None:
    """Refuse what cannot be stored. Raises `ProblemError` with every such field, up to FIELDS_SHOWN_MAX."""
    errors: dict[str, list[str]] = {}
    _check_value(fields, "", 1, errors)
    if errors:
        raise ProblemError("validation_failed", "Some fields cannot be stored. Correct those listed in errors.", errors)


def _check_value(value: Any, path: str, depth: int, errors: dict[str, list[str]]) -> None:
    if depth > DEPTH_MAX:
        raise ProblemError("malformed_body", body_fields.too_deep().detail)
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
