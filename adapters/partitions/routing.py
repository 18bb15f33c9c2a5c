"""Which partition does a key belong to? Kafka's own default rule, so that any producer of any language agrees."""

from aiokafka.partitioner import murmur2

_POSITIVE = 0x7FFFFFFF
"""Kafka drops the sign of murmur2 this way."""


def partition_of(key: bytes, count: int) -> int:
    """Return the partition of a key among `count`."""
    return int((murmur2(key) & _POSITIVE) % count)
