"""How does the digest of the recorded history get into the engine? The recording command writes it there."""

import re
from hashlib import sha256
from pathlib import Path

from engine import rules_digest

MODULE = Path(rules_digest.__file__)

_CONSTANT = re.compile(r'^RECORDED_HISTORY_SHA256 = "[0-9a-f]*"$', re.MULTILINE)


def digest_of(history: bytes) -> str:
    """Return the digest of a history, uncompressed."""
    return sha256(history).hexdigest()


def write_digest(history: bytes, module: Path = MODULE) -> None:
    """Write the digest of a history, uncompressed, into the module of the engine."""
    text, count = _CONSTANT.subn(f'RECORDED_HISTORY_SHA256 = "{digest_of(history)}"', module.read_text())
    assert count == 1, f"{module} has no RECORDED_HISTORY_SHA256"
    module.write_text(text)
