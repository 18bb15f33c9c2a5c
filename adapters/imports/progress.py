"""How far did an import get? One small file per import in the data folder, replaced after every acknowledged batch.

An import is a file's bytes, how its columns are used, and the token that its leads go to. The same import under the same
number continues where it stopped, and never starts again once it is over; `--again` gives it the next number.
"""

import hashlib
from collections.abc import Mapping
from pathlib import Path

import msgspec
from msgspec import Struct

from adapters.imports.rows import FileFacts, ImportFile
from adapters.up.folder import write_private
from engine.submission.fields import INTEGER_MAX

FOLDER = "imports"


class ImportProgress(Struct, kw_only=True):
    """How far one import is: the last line that is done, and how many rows were sent, refused, and sent with a warning.

    `offset` is that of the inbox from which on its next row may be; None before it began. `errors_size` is the size in bytes
    of the file of errors at that line, and `warnings_size` that of warnings; what is behind is of no acknowledged batch.
    """

    id: str
    number: int = 1
    line: int = 0
    sent: int = 0
    refused: int = 0
    warned: int = 0
    offset: int | None = None
    errors_size: int = 0
    warnings_size: int = 0
    is_finished: bool = False

    @property
    def lead_import_id(self) -> int:
        """Return the number by which its leads name this import: positive, below 2^53, of no other import but by chance."""
        name = hashlib.blake2b(f"{self.id}/{self.number}".encode(), digest_size=8).digest()
        return int.from_bytes(name) % (INTEGER_MAX - 1) + 1


class ProgressFile:
    """Loads and saves the progress of one import."""

    def __init__(self, data_folder: Path, import_id: str) -> None:
        self._path = data_folder / FOLDER / f"{import_id}.json"
        self._id = import_id

    def load(self) -> ImportProgress:
        """Return the stored progress, or that of an import which has not begun."""
        try:
            return msgspec.json.decode(self._path.read_bytes(), type=ImportProgress)
        except FileNotFoundError:
            return ImportProgress(id=self._id)

    def save(self, progress: ImportProgress) -> None:
        """Store the progress: a crash leaves the former or the new one, never a part."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        write_private(self._path, msgspec.json.encode(progress))


def import_id(
    file: ImportFile, facts: FileFacts, typed: Mapping[str, str], lead_token: str, stated: Mapping[str, str] | None = None
) -> str:
    """Return the name of an import (32 hex digits): of its bytes, how they are read, the mapping, the token and consent."""
    read_as = (file.format, file.encoding, file.delimiter)
    consent = [sorted(stated.items())] if stated else []
    named = msgspec.json.encode([facts.digest, read_as, sorted(typed.items()), lead_token, *consent])
    return hashlib.blake2b(named, digest_size=16).hexdigest()
