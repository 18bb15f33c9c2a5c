"""Which rows does a file of leads hold? CSV, XLSX, NDJSON, or posts of vendors, one row at a time, however large it is.

A file of posts is XML, whose outermost element holds an element for each lead (ADF 1.0), or forms: a line for each, as
`application/x-www-form-urlencoded`.
"""

import codecs
import csv
import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice, zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Literal, NoReturn, TextIO
from xml.etree.ElementTree import Element, ParseError

import msgspec
from defusedxml import DefusedXmlException
from defusedxml.ElementTree import iterparse
from msgspec import Struct

from adapters.body_fields import FORM, read_fields
from adapters.csv_cells import parse_csv_cell
from adapters.imports.sheets import SheetError, sheet_rows
from adapters.intake.intake import BODY_BYTES_MAX
from adapters.xml_body import XmlBodyError, fields_of
from engine.partition.draft import RefusedError
from schemas.errors import SenderError

if TYPE_CHECKING:
    from _csv import Reader as CsvReader

Format = Literal["csv", "xlsx", "ndjson", "xml", "forms"]

FORMATS: Mapping[str, Format] = {
    ".csv": "csv",
    ".tsv": "csv",
    ".xlsx": "xlsx",
    ".ndjson": "ndjson",
    ".jsonl": "ndjson",
    ".xml": "xml",
    ".forms": "forms",
}
"""By the end of the file's name."""

POSTS: frozenset[Format] = frozenset({"xml", "forms"})
"""Formats whose rows are bodies as vendors post them: the contact's fields are somewhere inside."""

COLUMNS_MAX = 500
"""A lead takes 200 tokens; a file with more columns than this was separated at the wrong character."""

MIXED = "mixed"
"""Given as the encoding of a CSV file whose lines are in UTF-8, and where they are not, in Windows' Latin-1."""

_LATIN_FALLBACK = "leadclock-latin-fallback"


def _decode_latin(error: UnicodeError) -> tuple[str, int]:
    """Decode bytes that are no UTF-8 as Windows' Latin-1."""
    assert isinstance(error, UnicodeDecodeError)  # noqa: S101 - it is registered for decoding alone
    return error.object[error.start : error.end].decode("cp1252", "replace"), error.end


codecs.register_error(_LATIN_FALLBACK, _decode_latin)

DELIMITERS = ",;\t|"
_TEXT_FORMULA = re.compile(r'="([^"]*)"')
_NAMED_DELIMITER = re.compile(r'"?sep=(.)"?\s*', re.IGNORECASE)
CHUNK_BYTES = 1 << 20

UNPACKED = msgspec.json.Decoder(tuple[int, tuple[str, ...]])
"""A row of a sheet: its number and its cells."""


class ImportFileError(SenderError):
    """The file as a whole cannot be read; `str(error)` says what to do."""


class FileFacts(Struct, frozen=True):
    """What is known of a file that was read once: SHA-256 (hex), and the number of its last row's first line."""

    digest: str
    last_line: int


class FileRow(Struct, frozen=True):
    """One row: the number of its first line (from 1), and its cells by column; `problem` says why there are none."""

    line: int
    cells: Mapping[str, Any] = {}
    problem: str | None = None


class ImportFile(Struct, frozen=True):
    """A file and how it is read; `delimiter` None: the one that its first line has most.

    `unpacked`: the rows of a sheet as lines of JSON, where they were unpacked before (`adapters/imports/unpacking.py`).
    """

    path: Path
    format: Format
    encoding: str = "utf-8"
    delimiter: str | None = None
    unpacked: Path | None = None


def format_of(path: Path) -> Format:
    """Return the format by the end of the name. Raises `ImportFileError`."""
    found = FORMATS.get(path.suffix.lower())
    if found is None:
        known = ", ".join(FORMATS)
        raise ImportFileError(f"{path.name} has no known ending ({known}): save it as one of these, or type --format")
    return found


def examine(file: ImportFile) -> FileFacts:
    """Read a file to its end, so that nothing is sent of one that was cut off. Raises `ImportFileError`."""
    _check_options(file)
    try:
        digest = _digest(file)
    except OSError as error:
        raise ImportFileError(f"{file.path} cannot be read: {error.strerror}") from error
    last_line = 0
    for row in rows(file):
        last_line = row.line
    if last_line == 0:
        raise ImportFileError(f"{file.path.name} has no rows")
    return FileFacts(digest, last_line)


def _check_options(file: ImportFile) -> None:
    if file.encoding == MIXED and file.format == "csv":
        return
    try:
        codecs.lookup(file.encoding)
    except LookupError:
        raise ImportFileError(
            f"--encoding {file.encoding} is not known; type one such as utf-8, latin-1 or cp1252"
        ) from None
    if file.delimiter is not None and (len(file.delimiter) != 1 or file.delimiter in '"\r\n'):
        raise ImportFileError(f"--delimiter {file.delimiter!r} must be one character, such as a semicolon")


def _digest(file: ImportFile) -> str:
    """Return the SHA-256 of a file whose every byte is of its encoding."""
    # XML says its encoding itself, and a form may be in one of two.
    if file.format in {"xlsx", "xml", "forms"} or file.encoding == MIXED:
        with file.path.open("rb") as source:
            return hashlib.file_digest(source, "sha256").hexdigest()
    sha256, lines = hashlib.sha256(), 0
    decoder = codecs.getincrementaldecoder(_encoding(file) if file.format == "csv" else file.encoding)()
    with file.path.open("rb") as source:
        while chunk := source.read(CHUNK_BYTES):
            try:
                decoder.decode(chunk)
            except UnicodeDecodeError as error:
                _refuse_encoding(file, lines + chunk[: error.start].count(b"\n") + 1, error)
            sha256.update(chunk)
            lines += chunk.count(b"\n")
    try:
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        raise ImportFileError(f"{file.path.name} ends in the middle of a character: it was cut off") from None
    return sha256.hexdigest()


def _refuse_encoding(file: ImportFile, line: int, error: UnicodeDecodeError) -> NoReturn:
    byte = error.object[error.start]
    raise ImportFileError(
        f"line {line} of {file.path.name} is not {file.encoding.upper()} (byte 0x{byte:02x}): "
        "save the file as UTF-8, or type its --encoding, such as cp1252, or mixed where its lines are of both"
    ) from None


def rows(file: ImportFile) -> Iterator[FileRow]:
    """Yield the rows in the order of the file; a row that cannot be read has a `problem`. Raises `ImportFileError`."""
    return _READERS[file.format](file)


def header(file: ImportFile) -> tuple[str, ...]:
    """Return the columns: of NDJSON the names in its first object, else its first line. Raises `ImportFileError`."""
    if file.format == "csv":
        with file.path.open(encoding=_encoding(file), errors=_errors(file), newline="") as source:
            return _header(file, _reader(file, _BoundedLines(file, source)))
    if file.format == "xlsx":
        return _header(file, (cells for _, cells in _sheet(file)))
    first = next((row for row in rows(file) if row.problem is None), None)
    if first is None:
        what = {"xml": "element with a lead", "forms": "form in any line"}.get(file.format, "JSON object in any line")
        raise ImportFileError(f"{file.path.name} has no {what}")
    return tuple(first.cells)


def _encoding(file: ImportFile) -> str:
    """Return the codec: what a byte order mark says goes before the default; that of UTF-8 takes one."""
    if file.encoding == MIXED:
        return "utf-8-sig"
    if codecs.lookup(file.encoding).name != "utf-8":
        return file.encoding
    with file.path.open("rb") as source:
        first = source.read(len(codecs.BOM_UTF16_LE))
    return "utf-16" if first in {codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE} else "utf-8-sig"


def _errors(file: ImportFile) -> str:
    return _LATIN_FALLBACK if file.encoding == MIXED else "strict"


def _reader(file: ImportFile, lines: "_BoundedLines") -> "CsvReader":
    """Return the rows of a file behind the line `sep=;`, by which a spreadsheet names the delimiter."""
    delimiter, is_named = _delimiter(file)
    reader = csv.reader(lines, strict=True, delimiter=delimiter)
    if is_named:
        next(reader)
    return reader


def _delimiter(file: ImportFile) -> tuple[str, bool]:
    """Return the delimiter, and whether a first line of its own names it."""
    with file.path.open(encoding=_encoding(file), errors=_errors(file)) as source:
        first = source.readline(BODY_BYTES_MAX)
    named = _NAMED_DELIMITER.fullmatch(first)
    if file.delimiter is not None:
        return file.delimiter, named is not None
    if named is not None:
        return named[1], True
    return max(DELIMITERS, key=first.count), False


class _BoundedLines:
    """The lines of a CSV file. A record may go over several, and all of them may have as many characters as a lead."""

    def __init__(self, file: ImportFile, source: TextIO) -> None:
        self._file = file
        self._source = source
        self._left = BODY_BYTES_MAX

    def begin_record(self) -> None:
        """Count again from here on."""
        self._left = BODY_BYTES_MAX

    def __iter__(self) -> Iterator[str]:
        """Return the lines."""
        return self

    def __next__(self) -> str:
        """Return the next line. Raises `ImportFileError` where its record is too long."""
        line = self._source.readline(self._left + 1)
        self._left -= len(line)
        if self._left < 0:
            raise ImportFileError(f"{self._file.path.name} has a line of more than {BODY_BYTES_MAX} characters: correct it")
        if not line:
            raise StopIteration
        return line


def _csv_rows(file: ImportFile) -> Iterator[FileRow]:
    with file.path.open(encoding=_encoding(file), errors=_errors(file), newline="") as source:
        lines = _BoundedLines(file, source)
        reader = _reader(file, lines)
        columns = _header(file, reader)
        while True:
            line = reader.line_num + 1
            lines.begin_record()
            try:
                cells = next(reader, None)
            except csv.Error as error:
                raise ImportFileError(
                    f"{file.path.name} cannot be read from line {line} on ({error}): "
                    "it was cut off there, or a quote is not closed; nothing was sent"
                ) from None
            if cells is None:
                return
            if not any(cells):  # a blank line
                continue
            if any(cells[len(columns) :]):
                yield FileRow(line, problem=f"has {len(cells)} cells, and the first line has {len(columns)}")
                continue
            yield FileRow(line, _cells(columns, map(_cell, cells)))


def _cell(text: str) -> str:
    """Return a cell of CSV; `="0123"` is how a spreadsheet keeps text from becoming a number."""
    formula = _TEXT_FORMULA.fullmatch(text)
    return parse_csv_cell(text) if formula is None else formula[1]


def _cells(columns: Sequence[str], texts: Iterable[str]) -> Mapping[str, str]:
    """Return cells by column: spreadsheets leave blank cells at the end of a row out, or add some."""
    return dict(islice(zip_longest(columns, texts, fillvalue=""), len(columns)))


def _sheet_rows(file: ImportFile) -> Iterator[FileRow]:
    sheet = _sheet(file)
    columns = _header(file, (cells for _, cells in sheet))
    for line, cells in sheet:
        if len(cells) > len(columns):
            yield FileRow(line, problem=f"has {len(cells)} cells, and the first line has {len(columns)}")
        else:
            yield FileRow(line, _cells(columns, cells))


def _sheet(file: ImportFile) -> Iterator[tuple[int, tuple[str, ...]]]:
    if file.unpacked is not None:
        with file.unpacked.open("rb") as lines:
            yield from map(UNPACKED.decode, lines)
        return
    try:
        yield from sheet_rows(file.path)
    except SheetError as error:
        raise ImportFileError(f"{file.path.name} {error}") from error


def _header(file: ImportFile, reader: Iterator[Sequence[str]]) -> tuple[str, ...]:
    try:
        columns = tuple(name.strip() for name in next(reader, []))
    except csv.Error as error:
        raise ImportFileError(f"the first line of {file.path.name} cannot be read: {error}") from None
    if not any(columns):
        raise ImportFileError(f"{file.path.name} has no columns: its first line must name them")
    if len(columns) > COLUMNS_MAX:
        raise ImportFileError(f"{file.path.name} has {len(columns)} columns; {COLUMNS_MAX} is the most")
    named = [name for name in columns if name]
    twice = sorted({name for name in named if named.count(name) > 1})
    if twice:
        raise ImportFileError(f"{file.path.name} has two columns of one name ({', '.join(twice)}): rename one of each")
    return columns


def _json_rows(file: ImportFile) -> Iterator[FileRow]:
    decoder = msgspec.json.Decoder(dict[str, Any])
    with file.path.open("rb") as source:
        line = 0
        while text := source.readline(BODY_BYTES_MAX + 1):
            line += 1
            if len(text) > BODY_BYTES_MAX:
                while text and not text.endswith(b"\n"):
                    text = source.readline(BODY_BYTES_MAX)
                yield FileRow(line, problem=f"has more than {BODY_BYTES_MAX} bytes")
                continue
            text = text.removeprefix(codecs.BOM_UTF8).strip()
            if not text:
                continue
            try:
                yield FileRow(line, decoder.decode(text))
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
                yield FileRow(line, problem=f"is not a JSON object: {error}")


def _xml_rows(file: ImportFile) -> Iterator[FileRow]:
    """Yield the leads of a file of XML; the number of a row is that of its lead."""
    try:
        for number, element in enumerate(_leads_of(file), start=1):
            yield _xml_row(number, element)
    except DefusedXmlException:
        raise ImportFileError(f"{file.path.name} declares a document type or an entity: save it without") from None
    except ParseError as error:
        raise ImportFileError(f"{file.path.name} is no XML that can be read: {error}") from None


def _leads_of(file: ImportFile) -> Iterator[Element]:
    """Yield the elements of the outermost one that have parts; that itself where it has plain values, and no list."""
    waiting: list[Element] = []
    is_list = False
    root: Element | None = None
    with file.path.open("rb") as source:
        for child, root in _children(source):
            waiting.append(child)
            is_list = is_list or _begins_list(waiting)
            if is_list:
                yield from filter(len, waiting)
                waiting.clear()
                root.clear()
    if root is not None and not is_list:
        yield from [root] if any(not len(child) for child in waiting) else waiting


def _children(source: BinaryIO) -> Iterator[tuple[Element, Element]]:
    """Yield each child of the outermost element, once it is read, with that."""
    depth, root = 0, None
    for event, element in iterparse(source, events=("start", "end"), forbid_dtd=True):
        if event == "start":
            depth += 1
            root = element if root is None else root
            continue
        depth -= 1
        if depth == 1 and root is not None:
            yield element, root


def _begins_list(children: Sequence[Element]) -> bool:
    """Return whether an element with parts of its own comes for the second time: then each is a lead."""
    names = [child.tag for child in children if len(child)]
    return len(names) > len(set(names))


def _xml_row(number: int, element: Element) -> FileRow:
    try:
        return FileRow(number, fields_of(element))
    except XmlBodyError as error:
        return FileRow(number, problem=str(error))


def _form_rows(file: ImportFile) -> Iterator[FileRow]:
    charset = "" if codecs.lookup(file.encoding).name == "utf-8" else f"; charset={file.encoding}"
    with file.path.open("rb") as source:
        line = 0
        while text := source.readline(BODY_BYTES_MAX + 1):
            line += 1
            if len(text) > BODY_BYTES_MAX:
                while text and not text.endswith(b"\n"):
                    text = source.readline(BODY_BYTES_MAX)
                yield FileRow(line, problem=f"has more than {BODY_BYTES_MAX} bytes")
                continue
            if not text.strip():
                continue
            try:
                yield FileRow(line, read_fields(text.strip(), f"{FORM}{charset}"))
            except RefusedError as refusal:
                yield FileRow(line, problem=refusal.detail)


_READERS: Mapping[Format, Callable[[ImportFile], Iterator[FileRow]]] = {
    "csv": _csv_rows,
    "xlsx": _sheet_rows,
    "ndjson": _json_rows,
    "xml": _xml_rows,
    "forms": _form_rows,
}
