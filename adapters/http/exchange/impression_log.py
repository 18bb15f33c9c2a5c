"""How are impressions appended? By visitor, in a queue of their own, so that no flood of them delays a request."""

import asyncio
from collections import Counter
from collections.abc import Sequence

from adapters.http.exchange.append_queue import AppendQueue, PendingAppend
from adapters.http.exchange.ports import EventsUnavailableError, TooManyAppendsError
from adapters.http.exchange.requests import SOURCE
from adapters.partitions.routing import partition_of
from engine.partition.ports import Appender, Log, LogError, Outgoing
from engine.partition.runner import TopicNames
from schemas.envelope import Envelope, to_headers
from schemas.impressions import IMPRESSION_TYPE, Impression, impression_key
from schemas.topics import IMPRESSIONS
from schemas.wire import to_json

WAITING_MAX = 20_000
"""Impressions that wait for the log in this process: some 20 MB."""

COMPANY_WAITING_MAX = 5_000
"""Of one company, as many as its burst: while the log is slow, three others still find room."""

APPEND_SECONDS = 10.0
"""As long as a request waits for its append."""


class LogImpressions(AppendQueue):
    """Implements `adapters.http.exchange.ports.Impressions` over a log."""

    def __init__(self, log: Log, *, names: TopicNames, appender: Appender) -> None:
        super().__init__(log, appender)
        self._topic = names.of(IMPRESSIONS.name)
        self._unanswered: Counter[int] = Counter()

    async def append(self, impressions: Sequence[Impression]) -> None:
        """Append impressions of one company; see the port."""
        company_id, count = impressions[0].company_id, len(impressions)
        if self._unanswered[company_id] + count > COMPANY_WAITING_MAX:
            raise TooManyAppendsError(f"{self._unanswered[company_id]} impressions of this company wait for the log")
        if self._unanswered.total() + count > WAITING_MAX:
            raise EventsUnavailableError(f"{self._unanswered.total()} impressions wait for the log")
        self._unanswered[company_id] += count
        try:
            await self._append_all(impressions)
        finally:
            self._unanswered[company_id] -= count
            if not self._unanswered[company_id]:
                del self._unanswered[company_id]

    async def _append_all(self, impressions: Sequence[Impression]) -> None:
        waiting: list[PendingAppend] = []
        try:
            async with asyncio.timeout(APPEND_SECONDS):
                partitions = await self._count(self._topic)
                for impression in impressions:
                    key = impression_key(impression).encode()
                    waiting.append(self._enqueue(partition_of(key, partitions), self._record(key, impression)))
                await asyncio.gather(*(pending.done for pending in waiting))
        except (LogError, TimeoutError) as error:
            for pending in waiting:
                pending.done.cancel()  # what is not on its way yet is not appended: the sender repeats it
            raise EventsUnavailableError(str(error) or "the log did not answer in time") from error

    def _record(self, key: bytes, impression: Impression) -> Outgoing:
        envelope = Envelope(id=impression.uuid, type=IMPRESSION_TYPE, source=SOURCE, time=impression.created_at)
        return Outgoing(self._topic, key, to_json(impression), to_headers(envelope))
