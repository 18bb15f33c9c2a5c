"""Which rows does a file hold? Files as spreadsheets, scripts and exports write them, and damaged ones."""

import codecs
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from openpyxl import Workbook

from adapters.imports.rows import COLUMNS_MAX, FileRow, ImportFile, ImportFileError, examine, format_of, header, rows
from adapters.imports.sheets import SheetError, SheetLimits, sheet_rows


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "leads.csv"


def csv_of(path: Path, content: bytes, **how: Any) -> ImportFile:
    path.write_bytes(content)
    return ImportFile(path, "csv", **how)


def read(file: ImportFile) -> list[FileRow]:
    examine(file)
    return list(rows(file))


@pytest.mark.parametrize(
    "content",
    [
        b"phone,name\n+13055550123,Ann\n",
        b"\xef\xbb\xbfphone,name\r\n+13055550123,Ann\r\n",
        b"phone;name\n+13055550123;Ann",
        b"phone\tname\n+13055550123\tAnn\n",
        b' phone ,"name"\n"+13055550123",Ann\n\n',
        "phone\tname\r\n+13055550123\tAnn\r\n".encode("utf-16"),
        codecs.BOM_UTF16_BE + "phone\tname\r\n+13055550123\tAnn\r\n".encode("utf-16-be"),
        b'phone,name\n="+13055550123",Ann\n',
        b'phone,name\n"=""+13055550123""",Ann\n',
        b"phone,name\n+13055550123,Ann,,\n,,,\n",
    ],
    ids=[
        *("plain", "byte order mark", "semicolons", "tabs", "quotes and blank lines", "Unicode text", "big-endian"),
        *("a formula", "a quoted formula", "blank cells behind"),
    ],
)
def test_a_csv_file_is_read_however_a_spreadsheet_wrote_it(path: Path, content: bytes) -> None:
    file = csv_of(path, content)

    assert header(file) == ("phone", "name")
    assert read(file) == [FileRow(2, {"phone": "+13055550123", "name": "Ann"})]


@pytest.mark.parametrize("first", [b"sep=;\r\n", b'"sep=;"\n', b"SEP=;\n"])
def test_a_first_line_may_name_the_delimiter(path: Path, first: bytes) -> None:
    file = csv_of(path, first + b"phone;name,first\n+13055550123;Ann\n")

    assert header(file) == ("phone", "name,first")
    assert read(file) == [FileRow(3, {"phone": "+13055550123", "name,first": "Ann"})]


def test_blank_cells_may_be_missing_at_the_end_of_a_row(path: Path) -> None:
    found = read(csv_of(path, b"phone,name,note\n1\n2,Ann\n3,Ada,x\n"))

    assert [row.cells for row in found] == [
        {"phone": "1", "name": "", "note": ""},
        {"phone": "2", "name": "Ann", "note": ""},
        {"phone": "3", "name": "Ada", "note": "x"},
    ]


def test_a_row_is_named_by_its_first_line_though_cells_have_line_breaks(path: Path) -> None:
    file = csv_of(path, b'phone,note\n1,"a\nb\nc"\n2,d\n')

    assert [(row.line, row.cells["note"]) for row in read(file)] == [(2, "a\nb\nc"), (5, "d")]


def test_a_formula_that_an_export_disarmed_is_the_text_again(path: Path) -> None:
    assert read(csv_of(path, b"phone,note\n1,'=SUM(A1)\n"))[0].cells["note"] == "=SUM(A1)"


def test_a_row_with_too_many_cells_is_a_problem_and_the_next_one_is_read(path: Path) -> None:
    found = read(csv_of(path, b"phone,name\n2,Ann,Lee\n3,Ada\n"))

    assert (found[0].line, found[0].problem) == (2, "has 3 cells, and the first line has 2")
    assert found[1] == FileRow(3, {"phone": "3", "name": "Ada"})


def test_latin_1_is_refused_with_its_line_and_taken_where_it_is_typed(path: Path) -> None:
    content = "phone,name\n1,Ann\n2,José\n".encode("latin-1")

    with pytest.raises(ImportFileError, match=r"line 3 of leads.csv is not UTF-8 \(byte 0xe9\).*--encoding"):
        read(csv_of(path, content))
    assert read(csv_of(path, content, encoding="latin-1"))[1].cells["name"] == "José"


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b'phone,name\n1,Ann\n2,"Ad', r"cannot be read from line 3 on .* nothing was sent"),
        ("phone,name\n1,José".encode()[:-1], r"ends in the middle of a character"),
        (b"", r"has no columns"),
        (b"phone,name\n", r"has no rows"),
        (b"phone,phone\n1,2\n", r"two columns of one name \(phone\)"),
        (",".join(f"c{n}" for n in range(3_000)).encode(), rf"has 3000 columns; {COLUMNS_MAX} is the most"),
    ],
    ids=["cut off in a cell", "cut off in a character", "empty", "no rows", "one name twice", "3,000 columns"],
)
def test_a_file_that_cannot_be_meant_is_refused_as_a_whole(path: Path, content: bytes, sentence: str) -> None:
    file = csv_of(path, content)

    with pytest.raises(ImportFileError, match=sentence):
        examine(file)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    for path in (tmp_path / "no.csv", tmp_path):
        with pytest.raises(ImportFileError, match=rf"{path} cannot be read: "):
            examine(ImportFile(path, "csv"))


@pytest.mark.parametrize(
    ("how", "sentence"),
    [
        ({"encoding": "latin-99"}, "--encoding latin-99 is not known"),
        ({"delimiter": ";;"}, "--delimiter ';;' must be one character"),
        ({"delimiter": ""}, "--delimiter '' must be one character"),
        ({"delimiter": "\n"}, "must be one character"),
    ],
)
def test_an_option_that_cannot_be_meant_is_named(path: Path, how: dict[str, str], sentence: str) -> None:
    with pytest.raises(ImportFileError, match=sentence):
        examine(csv_of(path, b"phone\n1\n", **how))


def test_each_line_of_ndjson_is_read_alone(path: Path) -> None:
    path.write_bytes(
        b'\xef\xbb\xbf{"phone": 1}\n\n{"phone": 2\n[3]\n{"n": "' + b"x" * 300_000 + b'"}\n{"phone": {"a": [4]}}'
    )
    found = read(ImportFile(path, "ndjson"))

    assert [row.line for row in found] == [1, 3, 4, 5, 6]
    assert [row.problem is None for row in found] == [True, False, False, False, True]
    assert found[3].problem == "has more than 262144 bytes"
    assert found[4].cells == {"phone": {"a": [4]}}


def test_a_sheet_is_read_as_people_see_it(tmp_path: Path) -> None:
    path = tmp_path / "leads.xlsx"
    book = Workbook()
    sheet = book.active
    assert sheet is not None
    for cells in (
        ["phone", "name", "since", None],
        [13055550123.0, "'=Ann", datetime(2026, 3, 8, 12, 30), None],  # noqa: DTZ001 - a sheet has no zones
        [None, None, None, None],
        ["+13055550124", True, 2.5, None],
        [1, "Ada", None, "more"],
        [2],
    ):
        sheet.append(cells)
    book.save(path)

    assert read(ImportFile(path, "xlsx")) == [
        FileRow(2, {"phone": "13055550123", "name": "=Ann", "since": "2026-03-08 12:30:00"}),
        FileRow(4, {"phone": "+13055550124", "name": "true", "since": "2.5"}),
        FileRow(5, problem="has 4 cells, and the first line has 3"),
        FileRow(6, {"phone": "2", "name": "", "since": ""}),
    ]


@pytest.mark.parametrize("size", [0, 100, -30], ids=["empty", "cut off early", "cut off late"])
def test_a_damaged_sheet_is_refused_as_a_whole(tmp_path: Path, size: int) -> None:
    path = tmp_path / "leads.xlsx"
    Workbook().save(path)
    path.write_bytes(path.read_bytes()[:size])

    with pytest.raises(ImportFileError, match=r"leads.xlsx is no XLSX file, or was cut off"):
        examine(ImportFile(path, "xlsx"))


def test_a_sheet_that_unpacks_to_too_much_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "leads.xlsx"
    Workbook().save(path)
    with pytest.raises(SheetError, match=r"unpacks to [0-9]+ bytes; 1000 is the most: save it as CSV"):
        list(sheet_rows(path, SheetLimits(unpacked_bytes=1_000)))


def test_the_digest_changes_with_every_byte(path: Path) -> None:
    first = examine(csv_of(path, b"phone\n1\n"))

    assert examine(csv_of(path, b"phone\n1\n")) == first
    assert examine(csv_of(path, b"phone\n2\n")).digest != first.digest


def test_the_end_of_the_name_says_the_format() -> None:
    assert [format_of(Path(name)) for name in ("a.CSV", "a.tsv", "a.jsonl")] == ["csv", "csv", "ndjson"]
    with pytest.raises(ImportFileError, match=r"leads.ods has no known ending \(.csv, .*type --format"):
        format_of(Path("leads.ods"))


@pytest.mark.parametrize("content", [b"a," * 3_000_000, b"phone\n" + b"1," * 3_000_000, b'phone\n"' + b'\n","' * 3_000_000])
def test_a_record_that_is_larger_than_any_lead_is_refused_before_it_is_split(path: Path, content: bytes) -> None:
    file = csv_of(path, content)

    with pytest.raises(ImportFileError, match="has a line of more than"):
        [*header(file), *rows(file)]


@pytest.mark.parametrize(
    ("content", "encoding"),
    [
        ("Telefon;Vorname\r\n3055550123;J\u00f6rg\r\n".encode("cp1252"), "cp1252"),  # Excel in German
        ("Telefon,Vorname\r3055550123,J\u00f6rg\r".encode("mac_roman"), "mac_roman"),
        ("\ufeffTelefon\tVorname\r\n3055550123\tJ\u00f6rg\r\n".encode("utf-16-le"), "utf-8"),  # "Unicode text"
        ("\ufeffTelefon,Vorname\n3055550123,J\u00f6rg\n".encode("utf-16-be"), "utf-8"),
        ("Telefon,Vorname\n3055550123,J\u00f6rg\n".encode(), "utf-8"),  # Google Sheets, LibreOffice
        ('"Telefon","Vorname"\n"3055550123","J\u00f6rg"\n'.encode("utf-8-sig"), "utf-8"),  # Salesforce, HubSpot
        ("sep=;\r\nTelefon;Vorname\r\n3055550123;J\u00f6rg".encode("cp1252"), "cp1252"),
        ("Telefon,Vorname,\n3055550123,J\u00f6rg,\n".encode(), "mixed"),  # a column without a name
        ("Telefon|Vorname\n3055550123|J\u00f6rg\n".encode("cp1252"), "mixed"),
    ],
)
def test_a_file_is_read_as_the_programs_of_offices_write_it(path: Path, content: bytes, encoding: str) -> None:
    (row,) = read(csv_of(path, content, encoding=encoding))
    assert (row.cells["Telefon"], row.cells["Vorname"]) == ("3055550123", "J\u00f6rg")


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"phone,phone\n1,2\n", "two columns of one name"),
        (b"\n\n", "has no columns"),
        (b'phone,name\n1,"Ann\n2,Bob\n', "a quote is not closed"),
        (b"\xff\xfep\x00", "has no rows"),
    ],
)
def test_a_file_whose_rows_would_be_guessed_is_refused_whole(path: Path, content: bytes, sentence: str) -> None:
    file = csv_of(path, content)
    with pytest.raises(ImportFileError, match=sentence):
        read(file)
