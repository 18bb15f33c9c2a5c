"""Is one value rendered right: instants in UTC from any zone, structs with every field?"""

from datetime import UTC, datetime, timedelta, timezone
from typing import Any
from uuid import UUID

import pytest

from engine.views.cells import cell, spelled_out
from schemas.schedule import SmsStep

NOON = datetime(2026, 3, 8, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (NOON, "2026-03-08T12:00:00Z"),
        (NOON + timedelta(milliseconds=7), "2026-03-08T12:00:00.007Z"),
        (NOON.astimezone(timezone(timedelta(hours=-5))), "2026-03-08T12:00:00Z"),
        (NOON.astimezone(timezone(timedelta(0))), "2026-03-08T12:00:00Z"),
        (UUID(int=7), "00000000-0000-0000-0000-000000000007"),
        ("text", "text"),
        (None, None),
        (2.5, 2.5),
    ],
)
def test_a_value_looks_outside_as_json_has_it(value: Any, shown: Any) -> None:
    assert cell(value) == shown


def test_a_struct_shows_its_kind_first_and_every_field_also_where_nothing_was_said() -> None:
    (shown,) = spelled_out([SmsStep(id="text-1", template="Hi")])
    assert next(iter(shown)) == "kind"
    assert set(shown) == {"kind", *SmsStep.__struct_fields__}
    assert (shown["kind"], shown["id"], shown["template"]) == ("sms", "text-1", "Hi")
