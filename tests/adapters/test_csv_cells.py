"""Does reading a cell take away exactly what writing it added? Whatever the text is."""

import csv
import io
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.csv_cells import csv_writer, format_csv_cell, parse_csv_cell

SEPARATORS = ";\t\r\n|"
SIGNS = "=+-@\uff1d\uff0b\uff0d\uff20\u2212"
UNSEEN = " \u00a0\u200b\u2060\ufeff\u202e\x01\u00ad"
ODD = st.text(alphabet=f"'1.a{SIGNS}{SEPARATORS}{UNSEEN}", max_size=10)


@given(st.text() | ODD)
def test_text_that_was_written_is_read_as_it_was(text: str) -> None:
    assert parse_csv_cell(format_csv_cell(text)) == text


@given(ODD)
def test_no_written_text_begins_as_a_formula_unless_it_is_a_number(text: str) -> None:
    written = format_csv_cell(text)

    assert not written.startswith(("\t", "\r", "\n"))
    for part in [written, *re.split(f"[{SEPARATORS}]", written)]:
        seen = part.lstrip(UNSEEN)
        assert not seen.startswith(tuple(SIGNS)) or (written == text and float(text) == float(seen))


@pytest.mark.parametrize(
    ("cell", "text"),
    [("'=1", "=1"), ("''=1", "'=1"), ("'Ann", "'Ann"), ("+13055550123", "+13055550123"), ("'", "'"), ("", "")],
)
def test_only_an_apostrophe_before_a_formula_is_taken_away(cell: str, text: str) -> None:
    assert parse_csv_cell(cell) == text


@pytest.mark.parametrize(
    "text",
    [
        "=1+1",
        "x;=1+1",
        "x\t@SUM(A1)",
        "x\n-1+1",
        "\uff1d1+1",
        "\u200b=1+1",
        "\ufeff=1",
        " =1",
        "'=1",
        "x;\u200b+1+1",
        "x|=1",
    ],
)
def test_no_formula_is_left_wherever_a_program_ends_the_cell(text: str) -> None:
    """In half of Europe spreadsheets split at the semicolon, within quotes that do not begin a cell, too."""
    target = io.StringIO()
    csv_writer(target).writerow([1, format_csv_cell(text), format_csv_cell("Ann")])
    line = target.getvalue()
    for separator in ",;\t|":
        for row in csv.reader(io.StringIO(line), delimiter=separator):
            assert not [cell for cell in row if cell.lstrip(UNSEEN).startswith(tuple(SIGNS))], (separator, row)
    (read,) = csv.reader(io.StringIO(line, newline=""))
    assert parse_csv_cell(read[1]) == text


def test_each_text_is_quoted_and_no_number() -> None:
    target = io.StringIO()
    csv_writer(target).writerow([7, 0.5, "Ann", format_csv_cell("+13055550123"), None, format_csv_cell(value=True)])
    assert target.getvalue() == '7,0.5,"Ann","+13055550123","","true"\r\n'
