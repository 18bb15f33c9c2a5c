"""Which trace is a lead's? One for its whole life, whose id follows from the deployment and the lead.

So no record, row or decision carries it, and the lead's id alone leads to the trace. Ids are of W3C Trace Context.
"""

import re
from contextvars import ContextVar
from hashlib import blake2b

from msgspec import Struct

from engine.partition.ports import Headers

HEADER = "traceparent"

HTTP_PARENT: ContextVar["SpanPlace | None"] = ContextVar("HTTP_PARENT", default=None)
"""The span of the client whose HTTP request is answered; only set by an API that traces."""

TRACE_BYTES, SPAN_BYTES = 16, 8

SHAPE = re.compile(rb"00-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-[0-9a-f]([0-9a-f])")
"""Version 00: what others hold is not known. The lowest bit of the flags says that the sender records its span."""


class SpanPlace(Struct, frozen=True):
    """A span of some process: its trace, its own id, and whether it is recorded."""

    trace_id: int
    span_id: int
    is_sampled: bool = True


def lead_place(deployment_id: str, lead_id: int) -> SpanPlace:
    """Return the root span of a lead: that of the decision that made it."""
    name = f"{deployment_id}/lead/{lead_id}"
    return SpanPlace(_id(name, TRACE_BYTES), _id(name, SPAN_BYTES))


def command_span_id(command_id: str) -> int:
    """Return the id of the span in which a command was decided on: the gateway that reads it knows nothing else of it."""
    return _id(f"command/{command_id}", SPAN_BYTES)


def trace_id_of(deployment_id: str, lead_id: int) -> str:
    """Return the trace id of a lead as tools show it."""
    return f"{lead_place(deployment_id, lead_id).trace_id:032x}"


def traceparent(place: SpanPlace) -> str:
    """Return the header that makes a span the parent of what follows."""
    return f"00-{place.trace_id:032x}-{place.span_id:016x}-{int(place.is_sampled):02x}"


def read_traceparent(value: bytes | None) -> SpanPlace | None:
    """Return the span that a header names; None where there is none or it is malformed."""
    found = None if value is None else SHAPE.fullmatch(value)
    if found is None:
        return None
    return SpanPlace(int(found[1], 16), int(found[2], 16), is_sampled=bool(int(found[3], 16) & 1))


def parent_in(headers: Headers) -> SpanPlace | None:
    """Return the span that the headers of a record name."""
    return read_traceparent(next((value for name, value in headers if name == HEADER), None))


def _id(name: str, size: int) -> int:
    """Return an id that is not 0, which is none."""
    return int.from_bytes(blake2b(name.encode(), digest_size=size, person=b"leadclock trace").digest(), "big") or 1
