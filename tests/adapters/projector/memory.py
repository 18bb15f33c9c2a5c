"""What if there is no database? The promises of `ProjectionStore` in dictionaries, for the simulator and for laws."""

from collections.abc import Sequence

import msgspec

from adapters.postgres.jsonb_numbers import encode_for_jsonb
from adapters.postgres.tables import CALLS, LEADS, SLOT_QUEUES, TABLES, Table
from adapters.projector.batch import OffsetRange, ProjectionBatch
from adapters.projector.rows import Row
from adapters.projector.store import (
    OwnedPartition,
    OwnershipLostError,
    PartitionPosition,
    PositionMovedError,
    TopicChangedError,
)
from schemas.instant import Instant


class MemoryStore:
    """Tables as dictionaries by primary key; nothing ever waits, so every method is one atomic step."""

    def __init__(self) -> None:
        self.tables: dict[str, dict[tuple[int | str, ...], Row]] = {table.name: {} for table in TABLES}
        self.deleted_at: dict[str, dict[tuple[int | str, ...], Instant]] = {table.name: {} for table in (LEADS, CALLS)}
        self.history: dict[tuple[str, int, int, int], Row] = {}
        self.results: dict[str, Row] = {}
        self.faults: dict[tuple[str, int, int], Row] = {}
        self.parts: dict[tuple[str, int], Row] = {}
        self.impressions: dict[tuple[int, int], Row] = {}
        self.announcements = 0
        self._positions: dict[tuple[str, int], PartitionPosition] = {}
        self._digests: dict[tuple[str, int], str] = {}

    async def take(self, topic: str, topic_id: str, partition: int) -> OwnedPartition:
        """Become the owner of a partition."""
        known = self._positions.get((topic, partition))
        if known is not None and known.topic_id != topic_id:
            raise TopicChangedError(f"{topic} was created again since it was projected")
        owned = (
            OwnedPartition(1, 0, 0)
            if known is None
            else OwnedPartition(known.epoch + 1, known.next_offset, known.sequence, self._digests[topic, partition])
        )
        stood = OffsetRange(topic, partition, owned.epoch, 0, owned.next_offset, owned.last_digest)
        self._stand(stood, topic_id, owned.sequence, known)
        return owned

    async def write(self, batch: ProjectionBatch) -> None:
        """Write rows and position, all or nothing."""
        offset_range = batch.offset_range
        known = self._positions.get((offset_range.topic, offset_range.partition))
        if known is None or known.epoch != offset_range.epoch:
            raise OwnershipLostError(f"another owner took {offset_range.topic}[{offset_range.partition}]")
        if known.next_offset == offset_range.offset_after:
            return
        if known.next_offset != offset_range.offset:
            raise PositionMovedError(f"{offset_range.topic}[{offset_range.partition}] was moved to {known.next_offset}")
        self._put_parts(batch)
        for table in TABLES:
            for row in batch.rows.get(table.name, {}).values():
                self._put(table, row)
            self._join(table, batch)
            for removal in batch.removals.get(table.name, {}).values():
                self._remove(table, removal.key, offset_range.partition, removal.sequence, removal.at)
        self._remove_parts(batch)
        for row in batch.history:
            self.history.setdefault(row[:4], row)
        for request_id, row in batch.results.items():
            self.results.setdefault(request_id, row)
        self._insert_impressions(batch.impressions)
        for row in batch.faults:
            self.faults.setdefault(row[:3], row)
        self._stand(offset_range, known.topic_id, batch.sequence, known, batch.decided_at)

    async def announce(self) -> None:
        """Count, for nobody waits here."""
        self.announcements += 1

    async def positions(self) -> list[PartitionPosition]:
        """Return every position, by topic and partition."""
        return [self._positions[key] for key in sorted(self._positions)]

    async def close(self) -> None:
        """Keep everything: the store outlives its projector."""

    async def rewind(self, topic: str, partition: int, offset: int) -> None:
        """Let a partition be read again from an earlier offset."""
        known = self._positions[topic, partition]
        offset_range = OffsetRange(topic, partition, known.epoch, 0, min(offset, known.next_offset))
        self._stand(offset_range, known.topic_id, known.sequence, known)

    def go_on(self, topic: str, partition: int, topic_id: str, offset: int) -> None:
        """Let the projection go on at an offset of the topic that is there now, as an operator does after a loss."""
        known = self._positions[topic, partition]
        self._positions[topic, partition] = msgspec.structs.replace(
            known, topic_id=topic_id, next_offset=offset, epoch=known.epoch + 1
        )
        self._digests[topic, partition] = ""

    def _stand(
        self,
        offset_range: OffsetRange,
        topic_id: str,
        sequence: int,
        known: PartitionPosition | None,
        decided_at: Instant | None = None,
    ) -> None:
        if decided_at is None and known is not None:
            decided_at = known.decided_at
        self._digests[offset_range.topic, offset_range.partition] = offset_range.last_digest
        self._positions[offset_range.topic, offset_range.partition] = PartitionPosition(
            topic=offset_range.topic,
            partition=offset_range.partition,
            topic_id=topic_id,
            epoch=offset_range.epoch,
            next_offset=offset_range.offset_after,
            sequence=sequence,
            decided_at=decided_at,
        )

    def _put(self, table: Table, row: Row) -> None:
        key = row[: table.key]
        old = self.tables[table.name].get(key)
        if old is not None and not _follows(table, row, old):
            return
        self.tables[table.name][key] = row
        if table.marks:
            self.deleted_at[table.name].pop(key, None)

    def _insert_impressions(self, rows: Sequence[Row]) -> None:
        for row in rows:
            company_id, _, uuid, partition = row[:4]
            known = self.impressions.values()
            if not any((old[0], old[2], old[3]) == (company_id, uuid, partition) for old in known):
                self.impressions.setdefault(row[:2], row)

    def _put_parts(self, batch: ProjectionBatch) -> None:
        for place, part in batch.parts.items():
            old = self.parts.get(place)
            if old is None or (part[4] > old[4] if part[3] == old[3] else part[2] > old[2]):
                self.parts[place] = part

    def _join(self, table: Table, batch: ProjectionBatch) -> None:
        at, kind = table.version_at, table.name.removesuffix("s")
        for key, split in batch.split.get(table.name, {}).items():
            row = self.tables[table.name].get(key)
            if row is not None and row[at + 1 : at + 3] == (batch.offset_range.partition, split.sequence):
                column_at = table.columns.index("data" if table is LEADS else "token_values")
                joined = self._joined(f"{kind}/{key[1]}", split.count)
                self.tables[table.name][key] = (*row[:column_at], joined, *row[column_at + 1 :])

    def _remove_parts(self, batch: ProjectionBatch) -> None:
        for owner, sequence in batch.part_removals.items():
            for place, part in list(self.parts.items()):
                if place[0] == owner and part[3] == batch.offset_range.partition and part[4] < sequence:
                    del self.parts[place]

    def _joined(self, owner: str, count: int) -> str:
        joined: dict[str, object] = {}
        for number in range(count):
            joined |= msgspec.json.decode(self.parts[owner, number][5]) if (owner, number) in self.parts else {}
        return encode_for_jsonb(msgspec.json.encode(joined)).decode()

    def _remove(self, table: Table, key: tuple[int | str, ...], partition: int, sequence: int, at: Instant) -> None:
        at_version = table.version_at
        key = (*key, partition) if table is SLOT_QUEUES else key
        row = self.tables[table.name].get(key)
        if row is None or row[at_version + 1] != partition or row[at_version + 2] >= sequence:
            return
        if table.marks:
            left = (*row[: at_version + 2], sequence, *row[at_version + 3 :])
            self.tables[table.name][key] = _out_of_its_queue(left) if table is LEADS else left
            self.deleted_at[table.name][key] = at
        else:
            del self.tables[table.name][key]


def _out_of_its_queue(row: Row) -> Row:
    """Return the row of a removed lead, which waits in no queue for slots any more."""
    found = dict(zip(LEADS.columns, row, strict=True))
    if found["slot_queue"] is not None:
        found |= {"slot_queue": None, "status_wait": None, "next_action_at": None, "reasons": ""}
    return tuple(found.values())


def _follows(table: Table, row: Row, old: Row) -> bool:
    """Return whether a row replaces another: a later decision of its partition, or a higher version from another one."""
    at = table.version_at
    version, partition, sequence = row[at : at + 3]
    return bool(sequence > old[at + 2] if partition == old[at + 1] else version > old[at])
