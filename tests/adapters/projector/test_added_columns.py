"""Is a column that a later migration adds to leads read from the field of its name? The upsert is held by `test_upserts`."""

from types import SimpleNamespace

import msgspec
import pytest

from adapters.postgres.tables import LEAD_ADDED, LEADS
from adapters.projector.rows import fields_getter
from schemas.contact import Lead

ENTITY = SimpleNamespace(shade=7, notes="n")


@pytest.mark.parametrize(
    ("names", "values"), [((), ()), (("shade",), (7,)), (("shade", "notes"), (7, "n")), (("notes", "shade"), ("n", 7))]
)
def test_fields_are_read_as_a_tuple_however_many_there_are(names: tuple[str, ...], values: tuple[object, ...]) -> None:
    assert fields_getter(names)(ENTITY) == values


def test_added_columns_are_fields_of_a_lead_and_the_last_ones_of_its_table() -> None:
    assert set(LEAD_ADDED) <= {field.name for field in msgspec.structs.fields(Lead)}
    assert LEADS.columns[len(LEADS.columns) - len(LEAD_ADDED) :] == LEAD_ADDED
