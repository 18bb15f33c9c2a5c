"""How do impressions become rows? Each record one row, with an id of its place in the log; no decision is read.

A batch that is split anywhere, or applied again, leaves the same table (tests/adapters/projector/test_impressions.py).
"""

from collections.abc import Sequence
from operator import attrgetter

import msgspec

from adapters.postgres.jsonb_numbers import encode_for_jsonb
from adapters.postgres.tables import IMPRESSION_FIELDS, IMPRESSION_NUMBER
from adapters.projector.batch import UNREADABLE, OffsetRange, ProjectionBatch, fault_row
from adapters.projector.rows import Row, without_nul
from engine.identity import numbered
from engine.partition.ports import LogRecord
from schemas.impressions import Impression


class RawImpression(Impression, frozen=True, kw_only=True):
    """An impression whose tokens stay JSON."""

    tokens: msgspec.Raw = msgspec.Raw(b"{}")  # type: ignore[assignment]


DECODER = msgspec.json.Decoder(RawImpression)

_fields = attrgetter(*IMPRESSION_FIELDS)
_number = attrgetter(*IMPRESSION_NUMBER)


def impression_row(impression: RawImpression, partition: int, offset: int) -> Row:
    """Return the row of an impression. Its id rises with the offset, so that a cursor is stable."""
    return (
        *(impression.company_id, numbered(offset + 1, partition), impression.uuid, partition, offset),
        impression.created_at,
        *_fields(impression),
        encode_for_jsonb(bytes(impression.tokens)).decode(),
        *_number(impression),
    )


def build_impression_batch(
    records: Sequence[LogRecord], offset_range: OffsetRange, sequence: int, *, topic: str
) -> ProjectionBatch:
    """Return the rows of impressions; a record that cannot be read becomes a fault. `sequence` stays as it is."""
    batch = ProjectionBatch(offset_range=offset_range, sequence=sequence)
    for record in records:
        try:
            impression = DECODER.decode(without_nul(record.value or b""))
            batch.impressions.append(impression_row(impression, record.partition, record.offset))
        except UNREADABLE as error:
            batch.faults.append(fault_row(record, None, error, topic))
        else:
            batch.decided_at = impression.created_at
    return batch
