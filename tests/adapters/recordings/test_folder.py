"""Does a folder keep recordings as every store must, and to itself?"""

import os
import stat
from pathlib import Path

import pytest

from adapters.recordings.folder import UNFINISHED_SECONDS, FolderRecordings
from adapters.recordings.ports import RecordingsUnavailableError
from tests.adapters.recordings.files_contract import NAME, FilesContract, parts_of


@pytest.fixture
def files(tmp_path: Path) -> FolderRecordings:
    return FolderRecordings(tmp_path / "recordings")


class TestFolder(FilesContract):
    """The contract."""


async def test_only_its_owner_reads_a_recording(files: FolderRecordings, tmp_path: Path) -> None:
    await files.put(NAME, parts_of(b"voices"))

    path = tmp_path / "recordings" / NAME
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert stat.S_IMODE((tmp_path / "recordings").stat().st_mode) == 0o700


async def test_a_folder_that_cannot_be_written_is_unavailable(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("a file")

    with pytest.raises(RecordingsUnavailableError):
        await FolderRecordings(tmp_path / "taken").put(NAME, parts_of(b"x"))


async def test_what_a_killed_process_left_is_deleted_once_nobody_writes_it(files: FolderRecordings, tmp_path: Path) -> None:
    await files.put(NAME, parts_of(b"x"))
    left, fresh = (tmp_path / "recordings" / ".unfinished" / name for name in ("left", "fresh"))
    for path in (left, fresh):
        path.write_bytes(b"half")
    old = fresh.stat().st_mtime - 2 * UNFINISHED_SECONDS
    os.utime(left, (old, old))

    await files.delete(NAME)

    assert (left.exists(), fresh.exists()) == (False, True)
