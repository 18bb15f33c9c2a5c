"""Does `up.log` stay small, whole and private?"""

import stat
from pathlib import Path

import pytest

from adapters.up import log_file
from adapters.up.log_file import LOG_FILES_KEPT, LogFile


def test_the_log_of_up_starts_a_new_file_when_it_is_full_and_keeps_two(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_file, "LOG_BYTES_MAX", 1_000)
    log = LogFile(tmp_path)
    for number in range(200):
        log.write(f"line {number:03d} of a log\n")
    log.close()

    files = [tmp_path / "up.log", *(tmp_path / f"up.log.{age}" for age in range(1, LOG_FILES_KEPT + 1))]
    assert sorted(tmp_path.iterdir()) == sorted(files)
    assert all(file.stat().st_size <= 1_000 for file in files)
    assert [stat.S_IMODE(file.stat().st_mode) for file in files] == [0o600] * len(files)
    lines = "".join(file.read_text() for file in reversed(files)).splitlines()
    assert lines == [f"line {number:03d} of a log" for number in range(200 - len(lines), 200)]


def test_the_log_of_up_goes_on_behind_what_it_holds(tmp_path: Path) -> None:
    for line in ("first\n", "second\n"):
        log = LogFile(tmp_path)
        log.write(line)
        log.close()
    assert (tmp_path / "up.log").read_text() == "first\nsecond\n"


def test_a_line_that_cannot_be_written_is_the_callers_to_drop(tmp_path: Path) -> None:
    (tmp_path / "up.log").symlink_to("/dev/full")
    log = LogFile(tmp_path)
    with pytest.raises(OSError, match="No space left"):
        log.write("line\n")
