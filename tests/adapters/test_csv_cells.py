"""Does reading a cell take away exactly what writing it added? Whatever the text is."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.csv_cells import format_csv_cell, parse_csv_cell

ODD = st.text(alphabet="'=+-@\t\r\n1.a", max_size=8)


@given(st.text() | ODD)
def test_text_that_was_written_is_read_as_it_was(text: str) -> None:
    assert parse_csv_cell(format_csv_cell(text)) == text


@given(ODD)
def test_no_written_text_begins_as_a_formula_unless_it_is_a_number(text: str) -> None:
    written = format_csv_cell(text)

    assert not written.startswith(("=", "@", "\t", "\r", "\n"))
    assert not written.startswith(("+", "-")) or float(written) == float(text)


@pytest.mark.parametrize(
    ("cell", "text"),
    [("'=1", "=1"), ("''=1", "'=1"), ("'Ann", "'Ann"), ("+13055550123", "+13055550123"), ("'", "'"), ("", "")],
)
def test_only_an_apostrophe_before_a_formula_is_taken_away(cell: str, text: str) -> None:
    assert parse_csv_cell(cell) == text
