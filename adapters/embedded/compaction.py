"""What does the embedded log no longer need? What Kafka would delete or compact, by the settings of each topic.

Each turn goes through every topic once and lets other tasks run. It rewrites the files only where that frees as much as it
costs: at most half of their bytes are garbage, and a restart reads at most twice the live data.
"""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from adapters.embedded.log import EmbeddedLog

REWRITE_BYTES_MIN = 16 * 1024 * 1024
"""Smaller files are not rewritten: reading them takes a tenth of a second."""


class Policy(Struct, frozen=True, kw_only=True):
    """What a topic keeps: what is not older than `retention_ms`, or of each key the last record, tombstones for a while."""

    topic: str
    retention_ms: int | None = None
    compacted: bool = False
    tombstones_ms: int = 0


def policy(topic: str, configs: Mapping[str, str]) -> Policy:
    """Read the settings that a topic has on Kafka."""
    retention = configs.get("retention.ms")
    return Policy(
        topic=topic,
        retention_ms=None if retention is None else int(retention),
        compacted=configs.get("cleanup.policy") == "compact",
        tombstones_ms=int(configs.get("delete.retention.ms", "0")),
    )


class Compaction:
    """Keeps one log small: call `turn` periodically, one call at a time."""

    def __init__(self, log: EmbeddedLog, policies: Sequence[Policy], *, rewrite_bytes_min: int = REWRITE_BYTES_MIN) -> None:
        self._log = log
        self._policies = policies
        self._rewrite_bytes_min = rewrite_bytes_min
        self._rewritten_bytes = 0

    async def turn(self) -> bool:
        """Delete and compact; return whether the files were rewritten. Raises `LogError`, and `OSError` (a full disk)."""
        for one in self._policies:
            if one.retention_ms is not None:
                await self._log.expire(one.topic, one.retention_ms)
            if one.compacted:
                await self._log.compact(one.topic, one.tombstones_ms)
        if self._log.size_bytes < max(self._rewrite_bytes_min, 2 * self._rewritten_bytes):
            return False
        await self._log.rewrite()
        self._rewritten_bytes = self._log.size_bytes
        return True
