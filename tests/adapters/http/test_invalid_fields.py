"""Can the leads that were stored without a wrong field be listed, corrected and accepted over HTTP?"""

from typing import Any

import pytest

pytestmark = pytest.mark.asyncio(loop_scope="session")

LIST = "/api/v1/leads?has_invalid_fields=true&columns=id"


async def _listed(company: Any) -> list[int]:
    answer = await company.send("GET", LIST)
    assert answer.status_code == 200, answer.text
    return sorted(lead["id"] for lead in answer.json()["leads"])


async def test_leads_with_wrong_fields_are_a_list_to_work_off(company: Any) -> None:
    await company.send("PUT", "/api/v1/company", json={"on_invalid": "warn"})
    token = (await company.schedule())["lead_token"]
    ids = []
    for number, fields in (
        ("+13055550123", {"email": "jos\u00e9@"}),
        ("+13055550124", {"country": "Narnia"}),
        ("+13055550125", {}),
    ):
        answer = await company.send("POST", "/api/v1/leads", json={"lead_token": token, "caller_id": number, **fields})
        assert answer.status_code == 201, answer.text
        ids.append(answer.json()["lead"]["id"])
    assert await _listed(company) == sorted(ids[:2])
    others = (await company.send("GET", "/api/v1/leads?has_invalid_fields=false&columns=id")).json()["leads"]
    assert [lead["id"] for lead in others] == ids[2:]

    corrected = await company.send("PUT", f"/api/v1/leads/{ids[0]}", json={"email": "jose@example.com"})
    assert corrected.status_code == 200, corrected.text
    assert await _listed(company) == ids[1:2]
    accepted = await company.send("PUT", f"/api/v1/leads/{ids[1]}", json={"data": {"invalid_fields": None}})
    assert accepted.status_code == 200, accepted.text
    assert await _listed(company) == []
