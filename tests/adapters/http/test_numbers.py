"""Does a number keep its value and its type, from the request through PostgreSQL to every answer that shows it?

Its spelling is nobody's promise: 1e2 may come back as 100.0. A float never comes back as a whole number, nor the reverse.
"""

import csv
import io
import json
import math
from typing import Any

import pytest
import pytest_asyncio
from hypothesis import given, settings
from hypothesis import strategies as st

pytestmark = pytest.mark.asyncio(loop_scope="session")

EDGES = [
    *("0", "-0", "-0.0", "1", "-1", "1.0", "-1.0", "0.1", "1e0", "1e2", "1E+2", "1.5e1", "1e14", "1e15", "1e16", "1.5e16"),
    *("12345678901234567e2", "1e17", "1e18", "9.2e18", "1e19", "-1e19", "1e20", "123456789012345678901234567890.0"),
    *("1e21", "-1e21", "1e22", "1e100", "1.7976931348623157e308", "-1.7976931348623157e308", "5e-324", "1e-7"),
    *("2.2250738585072014e-308", "9007199254740993", "9223372036854775807", "-9223372036854775808"),
    *("9223372036854775808.0", "18446744073709551615.0", "18446744073709551616.0", "1000000000000000000"),
    "1000000000000000000.0",
]

SPELLINGS = st.one_of(
    st.integers(-(2**63), 2**63 - 1).map(str),
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.builds("{}e{}".format, st.integers(-999, 999), st.integers(-320, 305)),
    st.builds("{}.{}E+{}".format, st.integers(-9, 9), st.integers(0, 10**9), st.integers(0, 305)),
    st.sampled_from(EDGES),
)


def same(first: Any, second: Any) -> bool:
    """Return whether two values of JSON are equal, a whole number and a float never being so."""
    if isinstance(first, list) and isinstance(second, list):
        return len(first) == len(second) and all(map(same, first, second))
    if isinstance(first, dict) and isinstance(second, dict):
        return first.keys() == second.keys() and all(same(first[name], second[name]) for name in first)
    return type(first) is type(second) and bool(first == second)


async def submitted(company: Any, numbers: list[str]) -> tuple[int, dict[str, Any]]:
    """Send numbers as they are spelled, as tokens of a lead; return its id and what the tokens are."""
    company.town.numbers += 1
    tokens = {f"n{place}": number for place, number in enumerate(numbers)}
    tokens |= {"list": f"[{','.join(numbers)}]", "inner": f'{{"a": [{numbers[0]}], "1e20": "say 1e20, \\" or 5e17"}}'}
    data = "{" + ",".join(f'"{name}": {text}' for name, text in tokens.items()) + "}"
    number = f"+1305555{company.town.numbers % 10_000:04d}"
    body = f'{{"lead_token": "{company.token}", "caller_id": "{number}", "data": {data}}}'
    made = await company.send("POST", "/api/v1/leads", content=body, headers={"Content-Type": "application/json"})
    assert made.status_code in {200, 201}, made.text
    sent = json.loads(data)
    assert same(json.loads(made.text)["lead"]["data"], sent), (numbers, made.text)
    return made.json()["lead"]["id"], sent


@pytest_asyncio.fixture(loop_scope="session")
async def lender(company: Any) -> Any:
    """A company with a schedule on which every submission is a lead of its own."""
    company.token = (await company.schedule(duplicate_policy="create"))["lead_token"]
    return company


async def test_a_number_keeps_value_and_type_in_every_answer(lender: Any) -> None:
    sound = (await submitted(lender, ["1"]))[0]
    lead_id, sent = await submitted(lender, EDGES)
    for path in (f"/api/v1/leads/{lead_id}", f"/api/v1/leads/{lead_id}?columns=data"):
        assert same(json.loads((await lender.send("GET", path)).text)["lead"]["data"], sent), path
    for path in ("/api/v1/leads", "/api/v1/leads.json", "/api/v1/leads?cursor=-1", "/api/v1/leads?order=caller_id"):
        listed = json.loads((await lender.send("GET", path)).text)["leads"]
        assert {lead["id"] for lead in listed} == {lead_id, sound}
        assert same(next(lead["data"] for lead in listed if lead["id"] == lead_id), sent), path
    rows = list(csv.DictReader(io.StringIO((await lender.send("GET", "/api/v1/leads.csv?columns=id,data")).text)))
    assert same(next(json.loads(row["data"]) for row in rows if row["id"] == str(lead_id)), sent)
    # What is put beside them later leaves them as they are.
    changed = await lender.send("PUT", f"/api/v1/leads/{lead_id}", json={"roof": 2.0})
    assert same(json.loads(changed.text)["lead"]["data"], {**sent, "roof": 2.0})


async def test_a_lead_with_any_number_breaks_no_forecast_report_or_reason(lender: Any) -> None:
    lead_id, _ = await submitted(lender, EDGES)
    forecast = await lender.send("GET", "/api/v1/leads/forecast")
    assert forecast.status_code == 200, forecast.text
    assert (forecast.json()["forecast"]["leads"], forecast.json()["forecast"]["cut"]) == (1, 0)
    for path in (
        f"/api/v1/leads/{lead_id}/why",
        f"/api/v1/leads/{lead_id}/buyer_is_available",
        "/api/v1/leads/reports?category=token_values_map",
        "/api/v1/leads/reports.csv?category=status&pivot=token_values_map",
        "/api/v1/leads?fulltext=1e20",
    ):
        answer = await lender.send("GET", path)
        assert answer.status_code == 200, (path, answer.text)


@settings(max_examples=25, deadline=None)
@given(numbers=st.lists(SPELLINGS, min_size=1, max_size=25))
async def test_any_number_keeps_value_and_type_from_the_request_to_the_answer(town: Any, numbers: list[str]) -> None:
    finite = [number for number in numbers if math.isfinite(float(number))] or ["1e20"]
    if not hasattr(town, "lender"):
        town.lender = await town.company()
        town.lender.token = (await town.lender.schedule(duplicate_policy="create"))["lead_token"]
    lead_id, sent = await submitted(town.lender, finite)
    shown = await town.lender.send("GET", f"/api/v1/leads/{lead_id}")
    assert same(json.loads(shown.text)["lead"]["data"], sent)


async def test_numbers_that_a_database_writes_out_at_length_are_bounded_by_what_it_writes(lender: Any) -> None:
    tokens = {f"n{place}": [1e300] * 500 for place in range(10)}
    lender.town.numbers += 1
    fields = {"lead_token": lender.token, "caller_id": f"+1305555{lender.town.numbers % 10_000:04d}", "data": tokens}
    refused = await lender.send("POST", "/api/v1/leads", json=fields)
    assert (refused.status_code, refused.json()["code"]) == (413, "too_large"), refused.text
    fields["data"] = {f"n{place}": ["1e300"] * 500 for place in range(10)}
    assert (await lender.send("POST", "/api/v1/leads", json=fields)).status_code == 201, "text is as long as it is"
