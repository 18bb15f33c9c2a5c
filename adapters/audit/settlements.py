"""Which decisions of a partition settled a loss? Each says which topics, and which requests, are decided from there on."""

from collections.abc import AsyncIterator, Mapping

import msgspec
from msgspec import Struct

from adapters.audit.recorded import batches
from engine.partition.ports import Reader
from schemas.decisions import Cause
from schemas.wire import UNREADABLE


class Settlement(Struct, frozen=True):
    """A decision that settled a loss: where it stands, the topics from there on, and where lost requests begin."""

    offset: int
    sequence: int
    topics: Mapping[str, str]
    lost_from: int


class _Settling(Struct, frozen=True):
    sequence: int
    cause: Cause


_SETTLING = msgspec.json.Decoder(_Settling)


async def read_settlements(reader: Reader, partition: int) -> AsyncIterator[Settlement]:
    """Yield the settlements from the reader's position to the present end. Raises `LogError`."""
    async for batch in batches(reader, partition):
        for record in batch:
            found = _settlement(record.offset, record.value or b"")
            if found is not None:
                yield found


def _settlement(offset: int, value: bytes) -> Settlement | None:
    if b'"recovery"' not in value:  # nearly all: not worth decoding
        return None
    try:
        recorded = _SETTLING.decode(value)
    except UNREADABLE:
        return None
    cause = recorded.cause
    if cause.recovery is None:
        return None
    recovery = cause.recovery
    lost_from = recovery.input_offset if recovery.lost_from is None else recovery.lost_from
    return Settlement(offset, recorded.sequence, cause.topics, lost_from)
