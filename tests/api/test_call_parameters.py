"""Has each parameter of a change by number, and each serializer, its effect on calls?"""

from typing import Any

import pytest

from adapters.http.calls.call_lists import SERIALIZERS
from tests.adapters.http.conftest import Company

pytestmark = pytest.mark.asyncio(loop_scope="session")

NUMBER = "+12125550123"
OURS = "+12125550150"


async def _received(company: Company, reference: str) -> dict[str, Any]:
    given = {"from": NUMBER, "to": OURS, "call_ref": reference, "state": "ringing"}
    answer = await company.send("POST", "/api/v1/calls/received", json=given)
    assert answer.status_code == 200, answer.text
    call: dict[str, Any] = answer.json()["call"]
    return call


async def test_every_parameter_of_a_change_by_number_takes_effect(company: Any) -> None:
    offer = await company.record("offers", {"name": "Solar"})
    await company.record("numbers", {"number": OURS, "offer_id": offer["id"]})
    sold = await company.record("call_dispositions", {"name": "Sold", "code": "SOLD"})
    call = await _received(company, "x-1")
    path = f"/api/v1/calls/update_by_caller_id/{NUMBER}"
    fields = {
        "offer_token": offer["lead_token"], "call_timeframe": "60", "revenue": "40", "add_revenue": "2.5", "add_payout": 1,
        "call_disposition_id": str(sold["id"]), "agent_call_disposition_notes": "nice person", "buyer_converted": "yes",
    }  # fmt: skip
    answer = await company.send("POST", path, data=fields)
    assert answer.status_code == 200, answer.text
    shown = (await company.send("GET", f"/api/v1/calls/{call['id']}")).json()["call"]
    assert (shown["revenue"], shown["payout"], shown["buyer_converted"]) == (42.5, 1.0, True)
    assert (shown["call_disposition_id"], shown["agent_call_disposition_notes"]) == (sold["id"], "nice person")
    blank = {"offer_token": offer["lead_token"], "call_disposition_id": "", "agent_call_disposition_notes": ""}
    assert (await company.send("POST", path, data=blank)).status_code == 200
    for field, value in [
        ("call_timeframe", "0"),
        ("revenue", "much"),
        ("add_payout", "x"),
        ("call_disposition_id", "999999999"),
    ]:
        refused = await company.send("POST", path, json={"offer_token": offer["lead_token"], field: value})
        assert (refused.status_code, list(refused.json()["errors"])) == (422, [field]), refused.text


async def test_a_serializer_chooses_the_columns_of_every_answer_with_a_call(company: Any) -> None:
    offer = await company.record("offers", {"name": "Solar"})
    await company.record("numbers", {"number": OURS, "offer_id": offer["id"]})
    call = await _received(company, "x-2")
    for method, path in [
        ("GET", f"/api/v1/calls/{call['id']}"),
        ("POST", f"/api/v1/calls/{call['id']}"),
        ("DELETE", f"/api/v1/calls/{call['id']}"),
    ]:
        answer = await company.send(method, path, params={"serializer": "call_grid"})
        assert answer.status_code == 200, answer.text
        assert tuple(answer.json()["call"]) == SERIALIZERS["call_grid"], (method, path)
