"""Which lead map may a schedule or a traffic source have? One whose every field and path can be followed."""

from collections.abc import Mapping
from typing import Any

from engine.submission.fields import is_blank
from engine.submission.lead_maps import read_map
from engine.submission.normalise import NAMED_FIELDS

LEAD_MAP = "lead_map"


def read_lead_map(given: Mapping[str, Any], values: dict[str, Any], errors: dict[str, list[str]]) -> None:
    """Read the map that a request gives; a faulty one is refused under the names of its fields."""
    if LEAD_MAP not in given:
        return
    if is_blank(given[LEAD_MAP]):
        values.pop(LEAD_MAP, None)
        return
    found = read_map(given[LEAD_MAP], NAMED_FIELDS, errors)
    if found is not None:
        values[LEAD_MAP] = found
