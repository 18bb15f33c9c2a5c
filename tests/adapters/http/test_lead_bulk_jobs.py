"""Does a bulk job change the leads of its filter, each once, as its maker may, and nobody else's?"""

from typing import Any

import httpx
import pytest

from adapters.http.exchange.access import Authenticator
from adapters.http.exchange.makers import MakerAccess
from adapters.http.leads import bulk_runner
from adapters.http.leads.bulk_runner import LeadBulkRunner
from adapters.postgres.lead_bulk_jobs import OPEN_JOBS_MAX, PostgresLeadBulkJobs
from adapters.postgres.reads import PostgresReads
from adapters.reads.ports import Result
from schemas.instant import DAY
from schemas.wire import Message
from tests.adapters.http import test_lead_imports
from tests.adapters.http.conftest import Company, Town, basic, unquoted
from tests.adapters.http.test_teams import person, team

PATH = "/api/v1/lead_bulk_jobs"
LEADS = "/api/v1/leads"

pytestmark = pytest.mark.asyncio(loop_scope="session")


class Died(Exception):  # noqa: N818 - a process that is killed, which no code expects
    """A process is killed."""


class Requests:
    """Passes requests on; kills its process after some of them, before or after one is on the log, or loses every answer."""

    def __init__(
        self, town: Town, *, dies_at: int | None = None, has_answers: bool = True, is_appended: bool = True
    ) -> None:
        self._town = town
        self._dies_at, self._has_answers, self._is_appended = dies_at, has_answers, is_appended
        self.sent: list[str] = []

    async def submit(self, topic: str, key: str, message: Message, **more: Any) -> None:
        self.sent.append(more["request_id"])
        is_last = len(self.sent) == self._dies_at
        if self._is_appended or not is_last:
            await self._town.requests.submit(topic, key, message, **more)
        if is_last:
            raise Died

    async def wait(self, request_id: str, timeout_seconds: float) -> Result | None:
        return await self._town.requests.wait(request_id, timeout_seconds) if self._has_answers else None


def runner(town: Town, requests: Any = None, *, later: int = 0) -> LeadBulkRunner:
    context = town.context
    return LeadBulkRunner(
        PostgresLeadBulkJobs(town.pool),
        PostgresReads(town.pool),
        requests or town.requests,
        MakerAccess(context.rules, Authenticator(context.rules)),
        lambda: context.clock.now() + later,
    )


async def run(town: Town, **more: Any) -> None:
    """Advance all jobs until nothing is left to do."""
    process = runner(town, **more)
    while await process.advance_once():
        pass


async def leads_of(town: Town, company: Company, count: int, schedule: dict[str, Any], **fields: Any) -> list[int]:
    ids = []
    for _ in range(count):
        town.numbers += 1
        given = {"lead_token": schedule["lead_token"], "caller_id": f"+1917556{town.numbers:04d}", **fields}
        made = await company.send("POST", LEADS, json=given)
        assert made.status_code == 201, made.text
        ids.append(made.json()["lead"]["id"])
    return sorted(ids)


async def lead(company: Company, lead_id: int) -> dict[str, Any]:
    found: dict[str, Any] = (await company.send("GET", f"{LEADS}/{lead_id}")).json()["lead"]
    return found


async def statuses(company: Company, ids: list[int]) -> list[str]:
    return [(await lead(company, one))["status"] for one in ids]


async def made(company: Company, action: str = "stop", **fields: Any) -> dict[str, Any]:
    answer = await company.send("POST", PATH, json={"action": action, "leads_max": 100, **fields})
    assert answer.status_code == 201, answer.text
    found: dict[str, Any] = answer.json()["lead_bulk_job"]
    return found


async def job(company: Company, job_id: int) -> dict[str, Any]:
    found: dict[str, Any] = (await company.send("GET", f"{PATH}/{job_id}")).json()["lead_bulk_job"]
    return found


async def results(company: Company, job_id: int, **query: str) -> list[dict[str, Any]]:
    answer = await company.send("GET", f"{PATH}/{job_id}/results", params={"cursor": "-1", **query})
    assert answer.status_code == 200, answer.text
    found: list[dict[str, Any]] = answer.json()["lead_bulk_results"]
    return found


def counts(shown: dict[str, Any]) -> tuple[Any, ...]:
    return shown["state"], *(shown[f"{name}_count"] for name in ("leads", "waiting", "done", "refused", "unknown"))


async def test_a_dry_run_counts_the_leads_of_a_filter_and_changes_none(town: Town, company: Company) -> None:
    schedule = await company.schedule()
    ids = await leads_of(town, company, 3, schedule, data={"tags": "old"})
    await leads_of(town, company, 1, schedule)
    given = {"action": "stop", "filter": {"schedule_id": schedule["id"], "tag": "old"}, "dry_run": True}
    counted = await company.send("POST", PATH, json=given)
    assert counted.status_code == 200, counted.text
    shown = counted.json()["lead_bulk_job"]
    assert (shown["id"], shown["leads_count"], shown["filter"], shown["created_at"]) == (None, 3, given["filter"], None)
    assert (await company.send("GET", PATH)).json()["lead_bulk_jobs"] == []
    await run(town)
    assert set(await statuses(company, ids)) == {"scheduled"}


@pytest.mark.parametrize(
    ("action", "status"),
    [("stop", "removed"), ("opt_out", "opt_out"), ("move", "scheduled"), ("restart", "scheduled")],
)
async def test_each_action_does_to_every_lead_what_an_update_of_one_does(
    town: Town, company: Company, action: str, status: str
) -> None:
    schedule, target = await company.schedule(), await company.schedule()
    ids = await leads_of(town, company, 3, schedule)
    (spared,) = await leads_of(town, company, 1, target)
    if action == "restart":
        for one in ids:
            await company.send("PUT", f"{LEADS}/{one}", json={"schedule_stop": True})
    to = {"move_to_another_schedule_id": target["id"]} if action == "move" else {}
    begun = await made(company, action, filter={"schedule_id": schedule["id"]}, **to)
    assert counts(begun) == ("pending", 3, 3, 0, 0, 0)
    await run(town)
    done = await job(company, begun["id"])
    assert counts(done) == ("succeeded", 3, 0, 3, 0, 0)
    assert None not in {done["started_at"], done["ended_at"]}
    assert {(one["id"], one["state"]) for one in await results(company, begun["id"])} == {(one, "done") for one in ids}
    leads = [await lead(company, one) for one in ids]
    assert [one["status"] for one in leads] == [status] * 3
    assert {one["schedule_id"] for one in leads} == {target["id"] if action == "move" else schedule["id"]}
    assert (await lead(company, spared))["status"] == "scheduled"


async def test_a_lead_that_refuses_is_listed_with_its_reason_and_the_others_go_on(town: Town, company: Company) -> None:
    schedule = await company.schedule()
    ids = await leads_of(town, company, 3, schedule)
    await company.send("PUT", f"{LEADS}/{ids[0]}", json={"opt_out": True})
    begun = await made(company, "restart", filter={"schedule_id": schedule["id"]})
    await company.send("DELETE", f"{LEADS}/{ids[1]}/id")
    await run(town)
    assert counts(await job(company, begun["id"])) == ("succeeded", 3, 0, 1, 2, 0)
    refused = await results(company, begun["id"], state="refused", columns="id,code")
    assert refused == [{"id": ids[1], "code": "not_found"}, {"id": ids[0], "code": "suppressed_contact"}]
    table = await company.send("GET", f"{PATH}/{begun['id']}/results.csv", params={"columns": "id,state"})
    assert unquoted(table.text).splitlines() == ["id,state", f"{ids[2]},done", f"{ids[1]},refused", f"{ids[0]},refused"]


@pytest.mark.parametrize("is_appended", [True, False])
async def test_a_job_whose_process_is_killed_loses_no_lead_and_restarts_none_twice(
    town: Town, company: Company, monkeypatch: pytest.MonkeyPatch, is_appended: bool
) -> None:
    monkeypatch.setattr(bulk_runner, "BATCH_LEADS", 4)
    schedule = await company.schedule()
    ids = await leads_of(town, company, 6, schedule)
    for one in ids:
        await company.send("PUT", f"{LEADS}/{one}", json={"schedule_stop": True})
    begun = await made(company, "restart", filter={"schedule_id": schedule["id"]})
    dying = Requests(town, dies_at=3, is_appended=is_appended)
    with pytest.raises(Died):
        await runner(town, dying).advance_once()
    await run(town)
    assert counts(await job(company, begun["id"])) == ("succeeded", 6, 0, 6, 0, 0)
    assert await statuses(company, ids) == ["scheduled"] * 6
    # If a repeat acted, a lead that was stopped meanwhile would run again.
    await company.send("PUT", f"{LEADS}/{ids[0]}", json={"schedule_stop": True})
    await town.pool.execute(
        "UPDATE work.lead_bulk_results SET state = 'sent' WHERE job_id = $1 AND lead_id = $2", begun["id"], ids[0]
    )
    await town.pool.execute("UPDATE work.lead_bulk_jobs SET ended_at = NULL WHERE id = $1", begun["id"])
    repeating = Requests(town, has_answers=False)
    await runner(town, repeating).advance_once()
    assert len(repeating.sent) == 1
    await company.send("PUT", f"{LEADS}/{ids[0]}", json={"data": {"seen": "behind the repeat"}})
    assert await statuses(company, ids[:1]) == ["removed"]
    await run(town)


async def test_a_request_of_which_nobody_hears_for_a_day_is_not_sent_again_and_its_lead_is_unknown(
    town: Town, company: Company
) -> None:
    schedule = await company.schedule()
    await leads_of(town, company, 2, schedule)
    begun = await made(company, filter={"schedule_id": schedule["id"]})
    await runner(town, Requests(town, has_answers=False)).advance_once()
    later = Requests(town, has_answers=False)
    await run(town, requests=later, later=DAY)
    assert later.sent == []
    assert counts(await job(company, begun["id"])) == ("succeeded", 2, 0, 0, 0, 2)


async def test_a_canceled_job_sends_nothing_more_and_keeps_what_it_changed(
    town: Town, company: Company, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bulk_runner, "BATCH_LEADS", 2)
    schedule = await company.schedule()
    ids = await leads_of(town, company, 5, schedule)
    begun = await made(company, filter={"schedule_id": schedule["id"]})
    assert await runner(town).advance_once()
    canceled = await company.send("POST", f"{PATH}/{begun['id']}/cancel")
    assert (canceled.status_code, counts(canceled.json()["lead_bulk_job"])) == (200, ("canceled", 5, 3, 2, 0, 0))
    await run(town)
    ended = await job(company, begun["id"])
    assert counts(ended) == ("canceled", 5, 3, 2, 0, 0)
    assert ended["ended_at"]
    assert await statuses(company, ids) == ["removed"] * 2 + ["scheduled"] * 3
    again = await company.send("POST", f"{PATH}/{begun['id']}/cancel")
    assert again.json()["lead_bulk_job"] == ended


async def test_a_job_runs_by_what_its_maker_may_do_now(town: Town, company: Company) -> None:
    schedule = await company.schedule()
    ids = await leads_of(town, company, 2, schedule)
    key = await company.record("keys", {"name": "bulk", "scopes": ["lead_bulk_job:create", "lead:read"]})
    headers = basic(key["public_key"], key["private_key"])
    given = {"action": "stop", "filter": {"schedule_id": schedule["id"]}, "leads_max": 2}
    begun = (await town.client.post(PATH, headers=headers, json=given)).json()["lead_bulk_job"]
    assert begun["key_id"] == key["id"]
    assert (await company.send("DELETE", f"/api/v1/keys/{key['id']}")).status_code == 200
    await run(town)
    ended = await job(company, begun["id"])
    assert counts(ended) == ("failed", 2, 2, 0, 0, 0)
    assert "may not do this any more" in ended["failure"]
    assert await statuses(company, ids) == ["scheduled"] * 2


async def test_who_may_change_one_lead_may_not_change_all_at_once(town: Town, company: Company) -> None:
    key = await company.record("keys", {"name": "one by one", "scopes": ["lead:update"]})
    given = {"action": "stop", "filter": {"tag": "x"}, "dry_run": True}
    answer = await town.client.post(PATH, headers=basic(key["public_key"], key["private_key"]), json=given)
    assert (answer.status_code, answer.json()["code"]) == (403, "forbidden")
    assert "lead_bulk_job:create" in answer.json()["detail"]


async def test_a_person_changes_the_leads_that_a_team_shows_and_sees_no_job_of_others(town: Town, company: Company) -> None:
    schedule, hidden = await company.schedule(), await company.schedule()
    (shown,), (unseen,) = await leads_of(town, company, 1, schedule), await leads_of(town, company, 1, hidden)
    actions = {"lead": {"actions": ["read"]}, "lead_bulk_job": {"actions": ["read", "create", "cancel"]}}
    await team(company, permissions=actions, lead_filters={"schedule_ids": [schedule["id"]]})
    ada = await person(town, company)
    theirs = await made(company, filter={"schedule_id": hidden["id"]})
    given = {"action": "stop", "filter": {"ids": [shown, unseen]}, "leads_max": 9}
    begun = (await ada.send("POST", PATH, json=given)).json()["lead_bulk_job"]
    assert (begun["leads_count"], begun["user_email"]) == (1, "ada@example.com")
    listed = (await ada.get(PATH)).json()["lead_bulk_jobs"]
    assert [one["id"] for one in listed] == [begun["id"]]
    for path in (f"{PATH}/{theirs['id']}", f"{PATH}/{theirs['id']}/results"):
        assert (await ada.get(path)).status_code == 404
    assert (await ada.send("POST", f"{PATH}/{theirs['id']}/cancel")).status_code == 404
    await company.send("POST", f"{PATH}/{theirs['id']}/cancel")
    # The lead leaves what the team shows between the count and the change.
    await company.send("PUT", f"{LEADS}/{shown}", json={"move_to_another_schedule_id": hidden["id"]})
    await run(town)
    assert counts(await job(company, begun["id"])) == ("succeeded", 1, 0, 0, 1, 0)
    assert await statuses(company, [shown, unseen]) == ["scheduled"] * 2


async def test_leads_and_jobs_of_another_company_are_those_of_nobody(town: Town, company: Company, other: Company) -> None:
    theirs = await other.schedule()
    (lead_id,) = await leads_of(town, other, 1, theirs)
    for wanted in ({"ids": [lead_id]}, {"schedule_id": theirs["id"]}):
        given = {"action": "stop", "filter": wanted, "dry_run": True}
        answer = await company.send("POST", PATH, json=given)
        assert answer.json()["lead_bulk_job"]["leads_count"] == 0
    begun = await made(other, filter={"ids": [lead_id]})
    for path in (f"{PATH}/{begun['id']}", f"{PATH}/{begun['id']}/results"):
        assert (await company.send("GET", path)).status_code == 404
    assert (await company.send("POST", f"{PATH}/{begun['id']}/cancel")).status_code == 404
    assert (await company.send("GET", PATH)).json()["lead_bulk_jobs"] == []
    await run(town)
    assert counts(await job(other, begun["id"])) == ("succeeded", 1, 0, 1, 0, 0)


BAD: list[tuple[dict[str, Any], str, str]] = [
    ({"action": "delete"}, "action", "must be one of"),
    ({"action": None}, "action", "must be given"),
    ({"filter": None}, "filter", "must be an object"),
    ({"filter": {}}, "filter", "must be an object"),
    ({"filter": "tag=old"}, "filter", "must be an object"),
    ({"filter": {"tag": ""}}, "filter", "names no leads"),
    ({"filter": {"tags": "old"}}, "filter", "tags, by which leads are not listed (did you mean tag?)"),
    ({"filter": {"page": 2}}, "filter", "page, by which leads are not listed"),
    ({"filter": {"status": "asleep"}}, "filter", "status, which must be one of"),
    ({"filter": {"created_at_to": "yesterday"}}, "filter", "created_at_to, which must be"),
    ({"filter": {"opt_out": "perhaps"}}, "filter", "opt_out, which must be"),
    ({"leads_max": None}, "leads_max", "must be given"),
    ({"leads_max": 0}, "leads_max", "must be"),
    ({"leads_max": 100_001}, "leads_max", "must be"),
    ({"move_to_another_schedule_id": 1}, "move_to_another_schedule_id", "goes with action move"),
    ({"action": "move"}, "move_to_another_schedule_id", "must be given"),
    ({"action": "move", "move_to_another_schedule_id": 987_654_321}, "move_to_another_schedule_id", "names no schedule"),
    ({"dry_run": "perhaps"}, "dry_run", "must be"),
    ({"serializer": "lead"}, "serializer", "is not a parameter"),
]


@pytest.mark.parametrize(("fields", "field", "sentence"), BAD)
async def test_a_bad_field_is_named_and_nothing_is_made(
    company: Company, fields: dict[str, Any], field: str, sentence: str
) -> None:
    answer = await company.send("POST", PATH, json={"action": "stop", "filter": {"tag": "x"}, "leads_max": 1, **fields})
    assert answer.status_code == 422, answer.text
    assert any(sentence in one for one in answer.json()["errors"][field]), answer.text
    assert (await company.send("GET", PATH)).json()["lead_bulk_jobs"] == []


async def test_a_job_for_more_leads_than_its_sender_means_is_refused(town: Town, company: Company) -> None:
    schedule = await company.schedule()
    await leads_of(town, company, 2, schedule)
    given = {"action": "stop", "filter": {"schedule_id": schedule["id"]}, "leads_max": 1}
    answer = await company.send("POST", PATH, json=given)
    assert (answer.status_code, answer.json()["errors"]) == (
        422,
        {"leads_max": ["is 1, but 2 leads match; nothing was changed"]},
    )


async def test_a_repeat_under_an_idempotency_key_makes_no_second_job(company: Company) -> None:
    given = {"action": "stop", "filter": {"tag": "nobody's"}, "leads_max": 1}
    headers = {"Idempotency-Key": "bulk-1"}
    answers: list[httpx.Response] = [await company.send("POST", PATH, json=given, headers=headers) for _ in range(2)]
    assert [answer.status_code for answer in answers] == [201, 201]
    assert len({answer.json()["lead_bulk_job"]["id"] for answer in answers}) == 1
    another = await company.send("POST", PATH, json={**given, "action": "restart"}, headers=headers)
    assert (another.status_code, another.json()["code"]) == (409, "idempotency_conflict")


async def test_a_company_has_only_so_many_jobs_that_have_not_ended(town: Town, company: Company) -> None:
    given = {"action": "stop", "filter": {"tag": "nobody's"}, "leads_max": 1}
    for _ in range(OPEN_JOBS_MAX):
        assert (await company.send("POST", PATH, json=given)).status_code == 201
    refused = await company.send("POST", PATH, json=given)
    assert (refused.status_code, refused.json()["code"]) == (429, "rate_limited")
    assert refused.headers["retry-after"]
    await run(town)
    assert (await company.send("POST", PATH, json=given)).status_code == 201
    await run(town)


async def test_every_parameter_of_the_lists_takes_effect(town: Town, company: Company) -> None:
    schedule = await company.schedule()
    ids = await leads_of(town, company, 2, schedule)
    first = await made(company, "stop", filter={"ids": ids}, description="The first")
    second = await made(company, "opt_out", filter={"ids": ids[:1]})
    assert first["description"] == "The first"
    for query, expected in [
        ({"ids": str(first["id"])}, [first]),
        ({"action": "opt_out"}, [second]),
        ({"created_at_from": "2999-01-01"}, []),
        ({"created_at_to": "2999-01-01 00:00", "time_zone": "UTC"}, [second, first]),
        ({"page": "2", "per_page": "1"}, [first]),
        ({"cursor": str(second["id"])}, [first]),
    ]:
        answer = await company.send("GET", PATH, params={"columns": "id", **query})
        assert answer.json()["lead_bulk_jobs"] == [{"id": one["id"]} for one in expected], query
    bare = await company.send("GET", PATH, params={"root": "false"})
    assert bare.json() == [second, first]
    table = await company.send("GET", f"{PATH}.csv", params={"columns": "id,action"})
    assert unquoted(table.text).splitlines() == ["id,action", f"{second['id']},opt_out", f"{first['id']},stop"]
    path = f"{PATH}/{first['id']}/results"
    for query, rows in [
        ({"ids": str(ids[0])}, ids[:1]),
        ({"state": "waiting"}, ids[::-1]),
        ({"state": "done"}, []),
        ({"page": "2", "per_page": "1"}, ids[:1]),
        ({"cursor": str(ids[1])}, ids[:1]),
    ]:
        answer = await company.send("GET", path, params={"columns": "id", **query})
        assert answer.json()["lead_bulk_results"] == [{"id": one} for one in rows], query
    bare = await company.send("GET", path, params={"root": "false", "columns": "id,state"})
    assert bare.json() == [{"id": one, "state": "waiting"} for one in ids[::-1]]
    for one in (first, second):
        await company.send("POST", f"{PATH}/{one['id']}/cancel", params={"root": "false"})
    await run(town)


async def test_a_job_is_for_the_leads_that_another_one_changed(town: Town, company: Company, other: Company) -> None:
    schedule = await company.schedule()
    first, _, _ = await leads_of(town, company, 3, schedule)
    stop = await made(company, filter={"ids": str(first)})
    count = {"action": "restart", "dry_run": True}
    early = await company.send("POST", PATH, json={**count, "filter": {"lead_bulk_job_id": stop["id"]}})
    assert "has not ended" in early.json()["errors"]["filter"][0]
    await run(town)
    for more, found in (({}, 1), ({"status": "removed"}, 1), ({"status": "scheduled"}, 0), ({"ids": str(first + 1)}, 0)):
        answer = await company.send("POST", PATH, json={**count, "filter": {"lead_bulk_job_id": stop["id"], **more}})
        assert answer.json()["lead_bulk_job"]["leads_count"] == found, more
    for sender, named in ((company, 77), (company, "x"), (other, stop["id"])):
        refused = await sender.send("POST", PATH, json={**count, "filter": {"lead_bulk_job_id": named}})
        assert (refused.status_code, list(refused.json()["errors"])) == (422, ["filter"]), named


async def test_a_job_that_names_an_import_reaches_what_is_still_on_the_inbox(town: Town, company: Company) -> None:
    token = (await company.schedule())["lead_token"]
    content = "caller_id\n" + "\n".join(f"+1212555{number:04d}" for number in range(200, 230))
    lead_import = (await test_lead_imports.upload(company, lead_token=token, content=content))["lead_import"]
    wanted = {"lead_import_id": lead_import["lead_import_id"]}
    counted = await company.send("POST", PATH, json={"action": "stop", "dry_run": True, "filter": wanted})
    assert counted.json()["lead_bulk_job"]["leads_count"] is None
    stopping, too_many = await made(company, filter=wanted), await made(company, "opt_out", filter=wanted, leads_max=29)
    assert counts(stopping) == ("pending", None, None, 0, 0, 0)
    await run(town)
    assert counts(await job(company, stopping["id"])) == ("pending", None, None, 0, 0, 0), "the import has not ended"

    await test_lead_imports.run(town)
    await run(town)

    assert counts(await job(company, stopping["id"])) == ("succeeded", 30, 0, 30, 0, 0)
    broken_off = await job(company, too_many["id"])
    assert (broken_off["state"], broken_off["leads_count"]) == ("failed", None)
    assert broken_off["failure"] == "more leads match than leads_max, which is 29; nothing was changed"
    leads = (await company.send("GET", LEADS, params={"per_page": "50", "schedule_id": lead_import["schedule_id"]})).json()
    assert [one["status"] for one in leads["leads"]] == ["removed"] * 30


async def test_a_job_that_awaits_an_import_can_be_canceled(town: Town, company: Company) -> None:
    token = (await company.schedule())["lead_token"]
    content = "caller_id\n+12125550231\n"
    lead_import = (await test_lead_imports.upload(company, lead_token=token, content=content))["lead_import"]
    waiting = await made(company, filter={"lead_import_id": lead_import["lead_import_id"]})
    await company.send("POST", f"{PATH}/{waiting['id']}/cancel")
    await run(town)
    assert (await job(company, waiting["id"]))["ended_at"] is not None
    await test_lead_imports.run(town)
