"""Does what a hostile sender makes up end as a refusal or as plain text, and never as a fault of ours or as code?"""

import csv
import io
from typing import Any

import pytest

pytestmark = pytest.mark.asyncio(loop_scope="session")

FORMULA = "=HYPERLINK(1)"

DIGITS = "1" * 5_000
"""More than Python reads as a number."""

NUL = rb'"\u0000"'


@pytest.mark.parametrize(
    ("collection", "field"),
    [
        ("buyer_groups", "buyer_ids"),
        ("buyer_groups", "add_buyer_ids"),
        ("buyer_groups", "remove_user_buyer_ids"),
        ("offers", "buyer_group_ids"),
        ("keys", "scopes"),
        ("keys", "ip_allow_list"),
    ],
)
async def test_a_list_of_far_too_many_digits_is_refused_by_its_name(company: Any, collection: str, field: str) -> None:
    for value in (DIGITS, f"1,{DIGITS}"):
        for sent in ({"json": {"name": "x", field: value}}, {"data": {"name": "x", field: value}}):
            answer = await company.send("POST", f"/api/v1/{collection}", **sent)
            assert (answer.status_code, [*answer.json()["errors"]]) == (422, [field]), answer.text


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("leads", b'{"%s": [%s]}' % (b"k" * 60_000, b",".join([NUL] * 10_000))),
        ("leads", b'{"%s": [%s]}' % (b"k" * 60_000, b",".join([b"9" * 20] * 8_000))),
        ("leads", b'{"a": {%s}}' % b",".join(b"%s: 1" % NUL.replace(b"0000", b"0000%d" % place) for place in range(10_000))),
        ("leads", b'{"data": {%s}}' % b",".join(b'"%s%d": %s' % (b"k" * 200, place, NUL) for place in range(900))),
        ("buyers", b"{%s}" % b",".join(b'"number%d": 1' % place for place in range(15_000))),
    ],
)
async def test_thousands_of_faults_make_a_short_answer(company: Any, path: str, body: bytes) -> None:
    answer = await company.send("POST", f"/api/v1/{path}", content=body, headers={"Content-Type": "application/json"})
    assert (answer.status_code, answer.json()["code"]) == (422, "validation_failed"), answer.text[:300]
    assert len(answer.content) < 60_000


async def test_no_cell_of_a_file_is_a_formula_those_of_the_first_line_included(company: Any) -> None:
    schedule = await company.schedule()
    lead = {"lead_token": schedule["lead_token"], "caller_id": "+13055550142", "full_name": FORMULA, "sub_id": FORMULA}
    assert (await company.send("POST", "/api/v1/leads", json={**lead, FORMULA: FORMULA})).status_code == 201
    for path, column in [
        ("leads.csv", "sub_id"),
        ("leads/reports.csv?category=sub_id", "category"),
        ("leads/reports.csv?category=status&pivot=sub_id&columns=leads_count", f"'{FORMULA}.leads_count"),
        (
            "leads/reports.csv?category=status&pivot=token_values_map&columns=leads_count",
            f"'{FORMULA}:{FORMULA}.leads_count",
        ),
    ]:
        answer = await company.send("GET", f"/api/v1/{path}")
        rows = list(csv.reader(io.StringIO(answer.text)))
        assert column in rows[0], answer.text
        assert not any(cell.startswith(("=", "@")) for row in rows for cell in row), answer.text
