"""Does a preview give the answers that were worked out by hand, row by row?"""

from typing import Any

import pytest

from engine.preview import preview, read_trial, shown
from schemas.instant import EPOCH
from tests.engine.preview.table import hours, law, limits, outcomes, steps, waits
from tests.engine.preview.table.rows import PreviewRow, lines

TABLES = (hours, law, limits, outcomes, steps, waits)
ROWS = {f"{table.__name__.rpartition('.')[2]}: {row.case}": row for table in TABLES for row in table.ROWS}


@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS)
def test_a_preview_gives_what_was_worked_out_by_hand(row: PreviewRow) -> None:
    found: dict[str, Any] = shown(preview(read_trial(row.request(), now=EPOCH)))

    assert lines(found, row.answer) == list(row.answer)


def test_every_case_of_a_table_has_a_name_of_its_own() -> None:
    assert len(ROWS) == sum(len(table.ROWS) for table in TABLES)
