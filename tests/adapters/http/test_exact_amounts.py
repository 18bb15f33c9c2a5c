"""Is an amount of money exact in every place that shows one? What floats would make of it shows in its digits."""

import re
from typing import Any

import pytest

from tests.adapters.http.conftest import Company

pytestmark = pytest.mark.asyncio(loop_scope="session")

ADDED = 3
"""So often 0.1 is added: floats make 0.30000000000000004 of it."""

CALLS = 4
"""Calls of the company; each earns the same."""


async def earned(company: Company) -> dict[str, Any]:
    """Let calls earn 0.3 each, less a payout of 0.15 and a cost of 0.0125; return the buyer and the calls."""
    buyer = await company.record(
        "buyers", {"name": "B", "number": "+12125550155", "revenue_daily_limit": "900.25", "bid_price": 12.3456}
    )
    group = await company.record("buyer_groups", {"name": "G", "buyer_ids": [buyer["id"]]})
    offer = await company.record("offers", {"name": "O", "buyer_group_ids": [group["id"]]})
    await company.record("numbers", {"number": "+12125550188", "offer_id": offer["id"]})
    for number in range(CALLS):
        call = {"from": f"+1305555{number + 6000}", "to": "+12125550188", "call_ref": f"exact-{number}", "talk_seconds": 30}
        for state in ("ringing", "connected", "ended"):
            more = {"cost": "0.0125"} if state == "ended" else {}
            given = {**call, "state": state, "buyer_id": buyer["id"], **more}
            answer = await company.send("POST", "/api/v1/calls/received", json=given)
            assert answer.status_code < 300, answer.text
    calls = (await company.send("GET", "/api/v1/calls")).json()["calls"]
    for call in calls:
        changes = [{"add_revenue": 0.1, "add_payout": "0.05"}] * ADDED + [{"buyer_converted": True, "offer_converted": True}]
        for change in changes:
            changed = await company.send("POST", f"/api/v1/calls/{call['id']}", json=change)
            assert changed.status_code == 200, changed.text
    return {"buyer": buyer["id"], "group": group["id"], "call": calls[0]["id"], "lead": calls[0]["lead_id"]}


PLACES: list[tuple[str, dict[str, str]]] = [
    ("/api/v1/calls/{call}", {"revenue": "0.3", "payout": "0.15", "cost": "0.0125", "profit": "0.1375"}),
    ("/api/v1/leads/{lead}", {"revenue": "0.3", "payout": "0.15", "cost": "0.0125"}),
    ("/api/v1/calls.json", {"revenue": "0.3", "payout": "0.15", "cost": "0.0125", "profit": "0.1375"}),
    ("/api/v1/leads.json", {"revenue": "0.3", "payout": "0.15", "cost": "0.0125"}),
    ("/api/v1/buyer_conversions", {"amount": "0.3"}),
    ("/api/v1/offer_conversions", {"amount": "0.15"}),
    ("/api/v1/buyers/{buyer}", {"revenue_daily_used": "1.2", "revenue_daily_limit": "900.25", "bid_price": "12.3456"}),
    ("/api/v1/calls/reports?category=buyer_id", {"revenue": "1.2", "payout": "0.6", "cost": "0.05", "profit": "0.55"}),
    ("/api/v1/leads/reports?category=offer_id", {"revenue": "1.2", "payout": "0.6", "cost": "0.05", "profit": "0.55"}),
]
"""Path -> field -> its digits, wherever the answer has it."""

FILES = {
    "/api/v1/calls.csv?columns=revenue,payout,cost,profit": "0.3,0.15,0.0125,0.1375",
    "/api/v1/leads.csv?columns=revenue,payout,cost": "0.3,0.15,0.0125",
    "/api/v1/calls/reports.csv?category=status&columns=revenue,payout,cost,profit": "1.2,0.6,0.05,0.55",
    "/api/v1/leads/reports.csv?category=status&columns=revenue,payout,cost,profit": "1.2,0.6,0.05,0.55",
}


async def test_every_place_shows_the_digits_of_an_amount(company: Company) -> None:
    ids = await earned(company)
    for path, fields in PLACES:
        answer = await company.send("GET", path.format(**ids))
        assert answer.status_code == 200, answer.text
        for name, digits in fields.items():
            shown = set(re.findall(rf'"{name}":([^,}}\]]+)', answer.text))
            assert shown == {digits}, (path, name, shown)
    for path, row in FILES.items():
        table = await company.send("GET", path)
        assert table.status_code == 200, table.text
        assert any(line.endswith(row) for line in table.text.splitlines()), (path, table.text)


@pytest.mark.parametrize(
    ("method", "path", "fields"),
    [
        ("POST", "/api/v1/calls/{call}", ("revenue", "payout", "add_revenue", "add_payout")),
        ("PUT", "/api/v1/buyers/{buyer}", ("bid_price", "revenue_daily_limit", "earned_revenue_total_limit")),
    ],
)
@pytest.mark.parametrize("sent", [0.00001, "12.34567", 0.1 + 0.2, 1e16])
async def test_an_amount_of_more_places_or_beyond_its_bounds_is_refused_by_its_name(
    company: Company, method: str, path: str, fields: tuple[str, ...], sent: Any
) -> None:
    ids = await earned(company)
    refused = await company.send(method, path.format(**ids), json=dict.fromkeys(fields, sent))
    assert (refused.status_code, set(refused.json()["errors"])) == (422, set(fields)), refused.text


async def test_a_buyer_that_is_sent_back_as_it_was_read_is_taken(company: Company) -> None:
    ids = await earned(company)
    path = f"/api/v1/buyers/{ids['buyer']}"
    read = (await company.send("GET", path)).json()["buyer"]
    answer = await company.send("PUT", path, json=read)
    assert answer.status_code == 200, answer.text
    assert answer.json()["buyer"]["bid_price"] == read["bid_price"]
