"""Does every parameter and column of the interface have a test that exercises it, and does the document know it?"""

from adapters.http.exchange.exchange import PLACEHOLDER
from adapters.http.operations import documented_operations
from adapters.http.schema.shapes import LEAD_TYPES
from engine.views.call import CALL_COLUMNS
from engine.views.lead_columns import LEAD_COLUMNS
from tests.api.seed_table import CALL_COLUMNS_GIVEN, INTERFACE, LEAD_COLUMNS_GIVEN
from tests.api.table import faults


def test_every_parameter_has_a_test_that_sends_it() -> None:
    assert faults() == []


def test_every_endpoint_and_parameter_is_in_the_document() -> None:
    known = {
        f"{method} {operation.path}": {
            *operation.parameters,
            *(operation.body or {}).get("properties", ()),
            *PLACEHOLDER.findall(operation.path),
        }
        for operation in documented_operations()
        for method in operation.methods
    }
    for endpoint, names in INTERFACE.items():
        # The framework takes a slash at the end for the same path.
        assert set(names.split()) <= known[endpoint.rstrip("/")], endpoint


def test_every_column_of_a_lead_and_a_call_is_shown_and_has_a_type() -> None:
    assert set(LEAD_COLUMNS_GIVEN.split()) <= set(LEAD_COLUMNS)
    assert set(LEAD_COLUMNS) <= LEAD_TYPES.keys()
    assert set(CALL_COLUMNS_GIVEN.split()) <= set(CALL_COLUMNS)
