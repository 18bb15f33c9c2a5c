"""Does the digest of the decision rules follow from the history that they recorded?"""

import lzma
from pathlib import Path

import pytest

from engine.rules_digest import RECORDED_HISTORY_SHA256
from tests.histories.rules_digest import MODULE, digest_of, write_digest

FOLDER = Path(__file__).parent


def test_the_digest_is_that_of_the_recorded_history() -> None:
    history = b"".join(lzma.decompress(path.read_bytes()) for path in sorted(FOLDER.glob("*.jsonl.xz")))
    assert history
    assert digest_of(history) == RECORDED_HISTORY_SHA256, "record the history again: python -m tests.histories.record"


def test_the_recording_command_writes_the_digest_and_nothing_else(tmp_path: Path) -> None:
    module = tmp_path / "rules_digest.py"
    module.write_text(MODULE.read_text())
    write_digest(b"another history", module)
    assert module.read_text() == MODULE.read_text().replace(RECORDED_HISTORY_SHA256, digest_of(b"another history"))
    module.write_text("")
    with pytest.raises(AssertionError, match="has no RECORDED_HISTORY_SHA256"):
        write_digest(b"another history", module)
