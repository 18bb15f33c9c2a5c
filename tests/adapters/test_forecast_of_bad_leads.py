"""Can one lead keep a company from its forecast? Its numbers are as they were sent, and what fails is counted."""

import re
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import msgspec
import pytest

from adapters.postgres.jsonb_numbers import decode_jsonb
from adapters.postgres.tables import LEADS
from adapters.projector.rows import RawLead, lead_row
from adapters.why.lead_history import lead_of
from adapters.why.outlook import outlook_of
from schemas.contact import Lead
from schemas.instant import HOUR, to_datetime
from schemas.wire import to_json, to_pack
from tests.engine.contact.world import NOON, World

MOMENTS = {"created_at", "updated_at", "next_action_at", "planned_at", "expires_at", "requested_next_action_at"}
TEXT = {"id": "text", "kind": "sms", "template": "{{x}}"}
REST = {"id": "rest", "kind": "wait", "duration": "1h"}


def row_of(lead: Lead) -> dict[str, Any]:
    """Return the row of a lead as PostgreSQL gives it back: jsonb writes numbers out without an exponent."""
    raw = msgspec.json.decode(to_json(lead), type=RawLead)
    row = dict(zip(LEADS.columns, lead_row(raw, 0, 1), strict=True))
    row["data"] = decode_jsonb(_as_jsonb(row["data"]))
    for name in ("columns", "flight", "rest"):
        row[name] = None if row[name] is None else msgspec.json.decode(row[name])
    for name in ("zones", "states", "reasons", "failed_channels"):
        row[name] = [part for part in row[name].split(",") if part]
    for name in LEADS.columns:
        if (name.endswith("_at") or name in MOMENTS) and row[name] is not None:
            row[name] = to_datetime(row[name])
    return row


def _as_jsonb(text: str) -> str:
    return re.sub(r"-?[0-9.]+e-?[0-9]+", lambda number: format(Decimal(number[0]), "f"), text)


class Reads:
    """The reads of a forecast, over rows in memory."""

    def __init__(self, rows: list[dict[str, Any]]) -> None:
        self.rows = rows

    async def due_leads(self, *_: Any, after: Any, **__: Any) -> Sequence[dict[str, Any]]:
        return [] if after else self.rows

    async def due_leads_count(self, *_: Any, **__: Any) -> int:
        return len(self.rows)

    async def expiring_leads(self, *_: Any, **__: Any) -> Sequence[dict[str, Any]]:
        return []

    async def contacts(self, *_: Any) -> Sequence[dict[str, Any]]:
        return []


@pytest.fixture
def world() -> World:
    made = World()
    made.schedule(REST, TEXT)
    return made


def submitted(world: World, number: int, **data: Any) -> Lead:
    caller_id = f"+1305555{number:04}"
    return world.submit(caller_id=caller_id, contact_key=f"1|{caller_id}", data=data)


def test_a_number_is_the_same_after_it_came_back_from_the_database(world: World) -> None:
    lead = submitted(world, 1, x=1e20, deep={"list": [-1e25, 7, 2**63 - 1, 1.5, True]})
    back = lead_of(row_of(lead))
    assert back.data == lead.data
    assert [type(back.data["x"]), type(back.data["deep"]["list"][0])] == [float, float]
    assert to_pack(back)


async def test_a_lead_with_a_huge_number_is_part_of_the_forecast(world: World) -> None:
    rows = [row_of(submitted(world, number, x=value)) for number, value in enumerate([1e20, "plain", 1e300])]
    found = await outlook_of(Reads(rows), world.rules, 1, now=NOON, hours=2, limit=10)
    assert (found["leads"], found["cut"]) == (3, 0)
    assert [hour["sms"] for hour in found["hours"]] == [3]


async def test_one_lead_on_which_reading_fails_is_counted_and_the_others_are_foreseen(world: World) -> None:
    rows = [row_of(submitted(world, number)) for number in range(3)]
    rows[1]["status"] = "no status"
    found = await outlook_of(Reads(rows), world.rules, 1, now=NOON, hours=2, limit=10)
    assert (found["leads"], found["cut"]) == (3, 1)
    assert [hour["sms"] for hour in found["hours"]] == [2]
    assert rows[0]["next_action_at"] == to_datetime(NOON + HOUR)
