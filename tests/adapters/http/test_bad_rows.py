"""Does one row that cannot be shown keep its company from the others? Rows are damaged in PostgreSQL itself."""

import csv
import io
from typing import Any

import pytest
from structlog.testing import capture_logs

pytestmark = pytest.mark.asyncio(loop_scope="session")

DAMAGES = (
    "next_action_at = 'infinity'",
    """data = '{"a": 1e400}'""",
    """rest = '[]'""",
    """flight = '"x"'""",
    "status = 'no status'",
)


async def leads_of_one_person(company: Any) -> tuple[int, int]:
    """Return two live leads of one person."""
    token = (await company.schedule(duplicate_policy="create"))["lead_token"]
    fields = {"lead_token": token, "caller_id": "+13055550123", "data": {"a": 1}}
    first, second = [(await company.send("POST", "/api/v1/leads", json=fields)).json()["lead"]["id"] for _ in range(2)]
    return first, second


@pytest.mark.parametrize("damage", DAMAGES)
async def test_one_bad_row_breaks_no_list_export_report_forecast_or_reason(town: Any, company: Any, damage: str) -> None:
    sound, bad = await leads_of_one_person(company)
    await town.pool.execute(f"UPDATE read.leads SET {damage} WHERE id = $1", bad)  # noqa: S608 - a row of the table above
    for path in ("/api/v1/leads", "/api/v1/leads.json", "/api/v1/leads?cursor=-1"):
        listed = await company.send("GET", path)
        assert listed.status_code == 200, (path, listed.text)
        found = {lead["id"]: lead for lead in listed.json()["leads"]}
        assert found.keys() == {sound, bad}, "a row that cannot be shown is not left out in silence"
        assert found[sound]["caller_id"] == "+13055550123"
    exported = await company.send("GET", "/api/v1/leads.csv?columns=id,caller_id,human_status")
    assert [row["id"] for row in csv.DictReader(io.StringIO(exported.text))] == [str(bad), str(sound)]
    for path in (
        f"/api/v1/leads/{sound}",
        f"/api/v1/leads/{sound}/why",
        "/api/v1/leads/forecast",
        "/api/v1/leads/reports?category=status",
        "/api/v1/leads/reports?category=token_values_map",
    ):
        answer = await company.send("GET", path)
        assert answer.status_code == 200, (path, answer.text)


async def test_a_row_that_cannot_be_shown_has_its_id_and_is_logged(town: Any, company: Any) -> None:
    _, bad = await leads_of_one_person(company)
    await town.pool.execute("UPDATE read.leads SET next_action_at = 'infinity' WHERE id = $1", bad)
    with capture_logs() as logged:
        listed = await company.send("GET", "/api/v1/leads?columns=id,human_status&ids=" + str(bad))
    assert listed.json()["leads"] == [{"id": bad, "human_status": None}]
    (line,) = [line for line in logged if line["event"] == "row.skipped"]
    assert (line["id"], line["log_level"]) == (bad, "error")
