"""Where does `up` log, and how large does that grow? A file that only its owner reads, and the two before it."""

import io
import logging
import os
import sys
from logging.handlers import RotatingFileHandler
from pathlib import Path

LOG_FILE = "up.log"

LOG_BYTES_MAX = 20_000_000
"""Of one file: a day of a busy laptop."""

LOG_FILES_KEPT = 2
"""Beside the one that is written, as `up.log.1` and `up.log.2`."""


class _PrivateRotatingFile(RotatingFileHandler):
    """The standard library's rotation; each file is readable for its owner alone: a log may quote what people typed."""

    def _open(self) -> io.TextIOWrapper:
        descriptor = os.open(self.baseFilename, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        return io.TextIOWrapper(os.fdopen(descriptor, "ab"), encoding=self.encoding)

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: ARG002, N802 - the library's
        """Leave a failure to the caller, which drops the line; the library would print a traceback at the terminal."""
        error = sys.exception()
        if error is not None:
            raise error


class LogFile(io.TextIOBase):
    """A text stream of whole lines that starts a new file at `LOG_BYTES_MAX`."""

    def __init__(self, folder: Path) -> None:
        """Open `up.log` in a folder, behind what it holds already. Raises `OSError`."""
        self._file = _PrivateRotatingFile(
            folder / LOG_FILE, maxBytes=LOG_BYTES_MAX, backupCount=LOG_FILES_KEPT, encoding="utf-8"
        )

    def write(self, text: str) -> int:
        """Write one line."""
        self._file.emit(logging.makeLogRecord({"msg": text.removesuffix("\n")}))
        return len(text)

    def flush(self) -> None:
        """Write out what is buffered."""
        if not self.closed:
            self._file.flush()

    def close(self) -> None:
        """Close the file."""
        self._file.close()
        super().close()
