"""Does a key stand twice in an object of a body? Which of the two is meant is not known: the wrong person may be called.

RFC 8259, section 4: names within an object should be unique. The decoder takes the last one and says nothing.
"""

import json
import re
from typing import Any

from engine.partition.draft import RefusedError

CHECKED_BYTES_MAX = 256 * 1024
"""Of a submission, over Kafka and HTTP. Larger bodies are uploads of files, whose fields are few."""

SHOWN_CHARACTERS = 100

_KEY_ENDS = re.compile(rb'"\s*:')


def check_keys(body: bytes, value: object) -> None:
    """Check that no object of a body, which was decoded to `value`, has a key twice. Raises `RefusedError` malformed_json.

    As many ends of keys as there are keys: then none stands twice. Texts with a quote and a colon are read once more.
    """
    if len(body) > CHECKED_BYTES_MAX or len(_KEY_ENDS.findall(body)) == _count(value):
        return
    json.loads(body, object_pairs_hook=_unique)


def _count(value: object) -> int:
    """Return how many keys the objects of a value have."""
    if isinstance(value, dict):
        return len(value) + sum(_count(one) for one in value.values() if isinstance(one, (dict, list)))
    if isinstance(value, list):
        return sum(_count(one) for one in value if isinstance(one, (dict, list)))
    return 0


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise RefusedError("malformed_json", f"The key {key[:SHOWN_CHARACTERS]!r} stands twice: send it once.")
        found[key] = value
    return found
