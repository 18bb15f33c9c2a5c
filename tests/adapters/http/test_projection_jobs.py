"""Can an operator verify and rebuild the projection over HTTP, and nobody else?

On a whole deployment: its projector carries the jobs out.
"""

import asyncio
from typing import Any

import pytest
import pytest_asyncio

from tests.adapters.http.conftest import WAIT_SECONDS, Town
from tests.adapters.http.console_browser import visitor
from tests.adapters.http.test_console_pages import lead
from tests.adapters.http.test_operator import Operator, operator_of

pytestmark = pytest.mark.asyncio(loop_scope="session")

CONFLICT, UNPROCESSABLE = 409, 422


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def town(own_town: Town) -> Town:
    """Alone: the projection is verified and rebuilt as a whole."""
    return own_town


async def ask(operator: Operator, kind: str, **fields: Any) -> dict[str, Any]:
    answer = await operator.send("POST", f"projection/{kind}", json={"confirm": kind, **fields})
    assert answer.status_code == 200, answer.text
    job: dict[str, Any] = answer.json()["job"]
    return job


async def ended(operator: Operator) -> dict[str, Any]:
    """Wait until the newest job has ended, and return it."""
    async with asyncio.timeout(WAIT_SECONDS):
        while True:
            job: dict[str, Any] = (await operator.get("projection/jobs", limit=1))["jobs"][0]
            if job["ended_at"]:
                return job
            await asyncio.sleep(0.05)


async def test_a_verification_is_typed_audited_and_carried_out(town: Any, company: Any) -> None:
    await lead(company, await company.schedule(), 1)
    operator = await operator_of(town, "Grace")
    for fields in ({}, {"confirm": "yes"}, {"confirm": "rebuild"}, {"confirm": "verify", "accept": "true"}):
        refused = await operator.send("POST", "projection/verify", json=fields)
        assert refused.status_code == UNPROCESSABLE, refused.text
    job = await ask(operator, "verify")
    assert (job["kind"], job["state"], job["asked_by"], job["result"]) == ("verify", "pending", "Grace", None)
    change = (await operator.get("audits", limit=1))["audits"][0]
    assert (change["action"], change["actor"]) == ("projection.verification_requested", "Grace")
    assert change["outcome"] == f"job {job['id']}"
    done = await ended(operator)
    assert (done["id"], done["state"], done["failure"]) == (job["id"], "done", None)
    assert (done["result"]["differences"], done["result"]["swapped"]) == ([], False)
    assert done["result"]["decisions"] > 0
    shown = await operator.get("projection")
    assert shown["job"] == done
    assert shown["projection"]["rebuild_begun"] is False
    for limit in (0, 101, "x"):
        assert (await operator.send("GET", "projection/jobs", params={"limit": limit})).status_code == UNPROCESSABLE


async def test_a_second_job_is_refused_with_who_asked_for_the_first_and_since_when(town: Any) -> None:
    ada, grace = await operator_of(town, "Ada"), await operator_of(town, "Grace")
    first = await ask(ada, "verify")
    for kind in ("verify", "rebuild"):
        refused = await grace.send("POST", f"projection/{kind}", json={"confirm": kind})
        problem = refused.json()
        assert (refused.status_code, problem["code"]) == (CONFLICT, "projection_job_open"), refused.text
        assert f"Job {first['id']}, a verification that Ada asked for at {first['asked_at']}" in problem["detail"]
        assert problem["job"]["id"] == first["id"]
        change = (await grace.get("audits", limit=1))["audits"][0]
        assert change["outcome"].startswith("ProblemError: Job")
    assert (await ended(ada))["id"] == first["id"]


async def test_a_job_is_canceled_once_and_one_that_has_ended_stays_as_it_is(town: Any) -> None:
    operator = await operator_of(town, "Grace")
    job = await ask(operator, "rebuild")
    canceled = await operator.send("POST", f"projection/jobs/{job['id']}/cancel")
    assert canceled.json()["job"]["state"] in {"canceled", "canceling"}, canceled.text
    change = (await operator.get("audits", limit=1))["audits"][0]
    assert (change["action"], change["subject"]) == ("projection.job_canceled", f"job {job['id']}")
    done = await ended(operator)
    assert (done["state"], done["result"]) == ("canceled", None)
    again = await operator.send("POST", f"projection/jobs/{job['id']}/cancel")
    assert again.json()["job"] == done
    for reference in ("0", "999999", "x", "1.5"):
        assert (await operator.send("POST", f"projection/jobs/{reference}/cancel")).status_code == 404, reference


async def test_neither_a_key_nor_a_user_of_a_company_may_ask(town: Any, company: Any) -> None:
    user = await visitor(town, company)
    requests = (("GET", "jobs"), ("POST", "verify"), ("POST", "rebuild"), ("POST", "jobs/1/cancel"))
    for method, path in requests:
        body: dict[str, Any] = {"json": {"confirm": path}} if method == "POST" else {}
        refused = await company.send(method, f"/api/v1/operator/projection/{path}", **body)
        assert (refused.status_code, refused.json()["code"]) == (403, "forbidden"), path
        assert (await user.client.request(method, f"/api/v1/operator/projection/{path}", **body)).status_code == 401
