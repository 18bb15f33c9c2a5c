"""Which rows does an XLSX file hold? Those of its first sheet, as text, in the way that people write it."""

import zipfile
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from msgspec import Struct
from openpyxl import load_workbook
from openpyxl.utils.exceptions import InvalidFileException

from adapters.csv_cells import parse_csv_cell
from schemas.errors import SenderError

SMALL_BYTES = 1 << 20
"""What unpacks to this is small, however well it was packed."""


class SheetLimits(Struct, frozen=True):
    """What a sheet may hold at most. `unpacked_share`: of the unpacked bytes, so many times the packed ones."""

    unpacked_bytes: int = 1 << 30
    unpacked_share: int = 1_100
    rows: int = 1 << 20
    cells: int = 1 << 34


OWN_FILES = SheetLimits()
"""For files on the own machine: a million rows of ten columns unpack to half of 1 GiB. Nothing unpacks to more than 1,032
times its size (zlib), and no sheet has more rows and cells."""


class SheetError(SenderError):
    """The file holds no sheet that can be read; `str(error)` completes a sentence that begins with its name."""


def sheet_rows(path: Path, limits: SheetLimits = OWN_FILES) -> Iterator[tuple[int, tuple[str, ...]]]:
    """Yield each row that is not blank with its number, without blank cells at its end. Raises `SheetError`, `OSError`."""
    cells_left = limits.cells
    try:
        _refuse_bomb(path, limits)
        with path.open("rb") as source:  # opened here: of a name, only one with an ending of its own would be taken
            book = load_workbook(source, read_only=True, data_only=True)
            try:
                for number, cells in enumerate(book.worksheets[0].iter_rows(values_only=True), start=1):
                    cells_left -= len(cells)
                    if number > limits.rows or cells_left < 0:
                        raise SheetError(f"has more than {limits.rows} rows or {limits.cells} cells: split it")
                    texts = _without_blank_end([_text(cell) for cell in cells])
                    if texts:
                        yield number, texts
            finally:
                book.close()
    except (zipfile.BadZipFile, InvalidFileException, KeyError, IndexError, EOFError, ValueError, SyntaxError) as error:
        raise SheetError(f"is no XLSX file, or was cut off ({type(error).__name__}): save it again, or as CSV") from error


def _refuse_bomb(path: Path, limits: SheetLimits) -> None:
    with zipfile.ZipFile(path) as packed:
        size = sum(entry.file_size for entry in packed.infolist())
    most = min(limits.unpacked_bytes, max(SMALL_BYTES, limits.unpacked_share * path.stat().st_size))
    if size > most:
        raise SheetError(f"unpacks to {size} bytes; {most} is the most: save it as CSV")


def _without_blank_end(texts: Sequence[str]) -> tuple[str, ...]:
    last = max((place for place, text in enumerate(texts, start=1) if text.strip()), default=0)
    return tuple(texts[:last])


def _text(cell: Any) -> str:
    """Return a cell as text: a telephone number that a spreadsheet stored as 13055550123.0 has no fraction."""
    if cell is None:
        return ""
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))
    if isinstance(cell, datetime):
        return cell.isoformat(sep=" ")
    return parse_csv_cell(cell) if isinstance(cell, str) else str(cell)
