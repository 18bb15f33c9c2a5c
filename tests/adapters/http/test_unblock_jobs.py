"""How does a company lift its blocks? By a job that is made, watched and deleted, and that touches nobody else's."""

import asyncio
from typing import Any

import pytest

from engine.submission.fields import parse_moment
from tests.adapters.http.conftest import WAIT_SECONDS, Company, Town

PATH = "/api/v1/unblock_contact_jobs"
LEADS = "/api/v1/leads"

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def blocked_leads(town: Town, company: Company, count: int) -> list[str]:
    """Return the paths of leads of as many contacts, each of them blocked."""
    schedule = await company.schedule()
    paths = []
    for _ in range(count):
        town.numbers += 1
        fields = {"lead_token": schedule["lead_token"], "caller_id": f"+1917555{town.numbers:04d}", "blocked": True}
        made = await company.send("POST", LEADS, json=fields)
        assert made.json()["lead"]["blocked"], made.text
        paths.append(f"{LEADS}/{made.json()['lead']['id']}")
    return paths


async def finished(company: Company, job: dict[str, Any]) -> dict[str, Any]:
    """Return the job once it is over."""
    async with asyncio.timeout(WAIT_SECONDS):
        while True:
            answer = await company.send("GET", f"{PATH}/{job['id']}")
            found: dict[str, Any] = answer.json()["unblock_contact_job"]
            if found["state"] not in {"pending", "running"}:
                return found
            await asyncio.sleep(0.05)


async def is_blocked(company: Company, path: str) -> bool:
    return bool((await company.send("GET", path)).json()["lead"]["blocked"])


async def test_a_job_lifts_every_block_of_its_company_and_says_when_it_is_done(
    town: Town, company: Company, other: Company
) -> None:
    ours, theirs = await blocked_leads(town, company, 4), await blocked_leads(town, other, 1)
    await company.send("PUT", ours[0], json={"opt_out": True})

    made = await company.record(PATH.rpartition("/")[2], {"confirm_all": True, "request_ip": "192.0.2.7"})
    assert (made["type"], made["request_ip"], made["user_id"]) == ("UnblockContactJob", "192.0.2.7", None)
    done = await finished(company, made)

    assert (done["state"], done["unblock_count"], done["failed_count"]) == ("succeeded", 4, 0)
    assert parse_moment(done["succeeded_at"]) >= parse_moment(done["created_at"])
    leads = [(await company.send("GET", path)).json()["lead"] for path in ours]
    assert [lead["blocked"] for lead in leads] == [False] * 4
    assert [lead["status"] for lead in leads] == ["opt_out", "blocked", "blocked", "blocked"]  # nothing resumes
    assert leads[0]["opt_out"]
    assert done["last_contact_id"] in {str(company.contact_id(lead["caller_id"])) for lead in leads}
    assert await is_blocked(other, theirs[0])


async def test_a_job_lifts_only_the_blocks_of_its_span(town: Town, company: Company) -> None:
    (first,) = await blocked_leads(town, company, 1)
    created_at = (await company.send("GET", first)).json()["lead"]["created_at"]

    made = await company.record("unblock_contact_jobs", {"blocked_at_to": created_at})
    assert (await finished(company, made))["unblock_count"] == 0
    assert await is_blocked(company, first)

    made = await company.record("unblock_contact_jobs", {"blocked_at_from": created_at})
    done = await finished(company, made)
    assert (done["blocked_at_from"], done["blocked_at_to"]) == (created_at, None)
    assert done["unblock_count"] == 1
    assert not await is_blocked(company, first)


async def test_a_company_without_contacts_has_its_jobs_done_as_well(company: Company) -> None:
    made = await company.record("unblock_contact_jobs", {"confirm_all": True, "last_contact_id": "none-yet"})

    done = await finished(company, made)

    assert (done["state"], done["unblock_count"], done["last_contact_id"]) == ("succeeded", 0, "none-yet")


async def test_a_job_without_bounds_must_say_that_it_means_all(company: Company) -> None:
    for fields in ({}, {"confirm_all": "0"}, {"blocked_at_from": "", "blocked_at_to": ""}):
        refused = await company.send("POST", PATH, json=fields)
        assert (refused.status_code, refused.json()["code"]) == (422, "validation_failed")
        assert refused.json()["errors"].keys() == {"blocked_at_from", "blocked_at_to"}
    wrong = {"blocked_at_from": "soon", "request_ip": "office", "unblock_count": 4, "shape": "round"}
    refused = await company.send("POST", PATH, json=wrong)
    assert (refused.status_code, refused.json()["errors"].keys()) == (422, wrong.keys())


async def test_a_built_job_has_the_defaults_and_what_is_given(company: Company) -> None:
    built = (await company.send("GET", f"{PATH}/new")).json()["unblock_contact_job"]
    assert (built["id"], built["confirm_all"], built["description"]) == (None, False, None)
    given = {
        "description": "By mistake",
        "blocked_at_from": "2026-01-01 00:00:00 +0000",
        "blocked_at_to": "2026-01-02T00:00:00Z",
        "request_ip": "2001:DB8::7",
        "last_contact_id": "17",
        "confirm_all": "",
    }
    built = (await company.send("GET", f"{PATH}/new", params=given)).json()["unblock_contact_job"]
    shown = {name: built[name] for name in given}
    assert shown == {
        "description": "By mistake",
        "blocked_at_from": "2026-01-01T00:00:00Z",
        "blocked_at_to": "2026-01-02T00:00:00Z",
        "request_ip": "2001:db8::7",
        "last_contact_id": "17",
        "confirm_all": False,
    }
    made = await company.send("POST", PATH, json=built)
    assert made.status_code == 201, made.text
    refused = await company.send("GET", f"{PATH}/new", params={"request_ip": "office", "blocked_at_to": "soon"})
    assert (refused.status_code, refused.json()["errors"].keys()) == (422, {"request_ip", "blocked_at_to"})
    listed = (await company.send("GET", PATH)).json()["unblock_contact_jobs"]
    assert [job["description"] for job in listed] == ["By mistake"]


async def test_jobs_are_listed_by_page_filter_and_column(company: Company) -> None:
    names = ("january", "february", "march")
    jobs = [await company.record("unblock_contact_jobs", {"confirm_all": True, "description": name}) for name in names]
    await finished(company, jobs[-1])

    async def listed(**params: Any) -> list[str]:
        answer = await company.send("GET", PATH, params=params)
        assert answer.status_code == 200, answer.text
        return [job["description"] for job in answer.json()["unblock_contact_jobs"]]

    assert await listed() == ["march", "february", "january"]
    assert await listed(per_page=2) == ["march", "february"]
    assert await listed(per_page=2, page=2) == ["january"]
    assert await listed(ids=f"{jobs[0]['id']},{jobs[2]['id']}") == ["march", "january"]
    assert await listed(fulltext="febru") == ["february"]
    day = jobs[0]["created_at"][:10]
    assert len(await listed(created_at_from=f"{day} 00:00:00", time_zone="UTC")) == 3
    assert await listed(created_at_to=f"{day} 00:00:00", time_zone="UTC") == []
    bare = await company.send("GET", PATH, params={"root": "false", "columns": "state,description", "per_page": 1})
    assert bare.json() == [{"state": "succeeded", "description": "march"}]


async def test_a_deleted_job_is_gone_and_blocks_nobody_again(town: Town, company: Company, other: Company) -> None:
    (path,) = await blocked_leads(town, company, 1)
    made = await company.record("unblock_contact_jobs", {"confirm_all": True})
    job = f"{PATH}/{made['id']}"
    await finished(company, made)
    assert (await other.send("GET", job)).status_code == (await other.send("DELETE", job)).status_code == 404

    gone = await company.send("DELETE", job)

    assert (gone.status_code, gone.json()["unblock_contact_job"]["state"]) == (200, "succeeded")
    assert (await company.send("GET", job)).status_code == 410
    assert (await company.send("DELETE", job)).status_code == 410
    assert (await company.send("GET", PATH)).json()["unblock_contact_jobs"] == []
    assert not await is_blocked(company, path)


async def test_a_job_cannot_be_changed(company: Company) -> None:
    made = await company.record("unblock_contact_jobs", {"confirm_all": True})

    changed = await company.send("PUT", f"{PATH}/{made['id']}", json={"description": "x"})

    assert changed.status_code == 405
    assert made["routes_edit_path"] is None
