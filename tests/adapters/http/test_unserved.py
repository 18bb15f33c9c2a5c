"""Is a step that nobody would carry out refused, and the sandbox shown? On a deployment whose gateways come and go."""

from typing import Any

import httpx
import pytest
import pytest_asyncio

from adapters.gateway.ports import Kind
from adapters.postgres.gateways import PostgresGateways, PostgresServing
from adapters.reads.ports import ReadsUnavailableError, Serving
from schemas.instant import from_datetime
from tests.adapters.http.conftest import STEPS, Company, Town

pytestmark = pytest.mark.asyncio(loop_scope="session")

TEXT = {"id": "text-1", "kind": "sms", "template": "Hello {{first_name}}"}
MAIL = {"id": "mail-1", "kind": "email", "subject": "Hello", "template": "Hello {{first_name}}"}
CALL_BACK = {"id": "later", "kind": "schedule_callback", "in": "1h"}
WAIT = {"id": "pause", "kind": "wait", "duration": "1h"}
HOOK = {"id": "hook", "kind": "webhook", "outgoing_webhook_id": 1}


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def town(own_town: Town) -> Town:
    """Alone: gateways come and go."""
    return own_town


async def gateways(town: Town, **providers: dict[Kind, str]) -> PostgresGateways:
    """Let these gateways be all that ever were: process -> channel -> provider."""
    await town.pool.execute("DELETE FROM work.gateways")
    register = PostgresGateways(town.pool)
    for process, served in providers.items():
        await register.renew(process, served)
    return register


async def pass_by(town: Town, interval: str) -> None:
    """Let time pass since the gateways were heard of."""
    await town.pool.execute(f"UPDATE work.gateways SET renewed_at = renewed_at - interval '{interval}'")  # noqa: S608


async def post(company: Company, collection: str, **fields: Any) -> httpx.Response:
    return await company.send("POST", f"/api/v1/{collection}", json={"name": "Solar", **fields})


async def test_a_step_on_a_channel_that_nobody_serves_is_refused_with_the_step_and_the_channel(
    town: Town, company: Company
) -> None:
    await gateways(town, mail={"email": "smtp"})

    answer = await post(company, "schedules", steps=[WAIT, MAIL, TEXT, CALL_BACK])

    problem = answer.json()
    assert (answer.status_code, problem["code"]) == (422, "invalid_schedule")
    assert problem["errors"] == {
        "steps[2].kind": ["needs a gateway that serves sms, and none has within a day"],
        "steps[3].kind": ["needs a gateway that serves call, and none has within a day"],
    }
    assert "No gateway serves sms,call, so nothing would come of step text-1, step later." in problem["detail"]
    assert "--channels sms,call" in problem["detail"]


async def test_a_gateway_that_registers_learns_the_time_of_the_database(town: Town) -> None:
    before = from_datetime(await town.pool.fetchval("SELECT clock_timestamp()"))
    time = await PostgresGateways(town.pool).renew("timed", {"email": "smtp"})
    after = from_datetime(await town.pool.fetchval("SELECT clock_timestamp()"))

    assert before <= time <= after


async def test_what_asks_for_served_channels_or_for_none_is_published(town: Town, company: Company) -> None:
    await gateways(town, mail={"email": "smtp"})

    assert (await post(company, "schedules", steps=[WAIT, MAIL])).status_code == 201


async def test_where_no_gateway_ever_was_the_refusal_says_how_to_start_one(town: Town, company: Company) -> None:
    await gateways(town)

    answer = await post(company, "schedules", steps=[MAIL])

    assert answer.status_code == 422
    assert (
        "Start one (leadclock gateway --channels email), or keep the change aside with draft: true."
        in (answer.json()["detail"])
    )


async def test_end_steps_are_looked_at_as_well(town: Town, company: Company) -> None:
    await gateways(town, mail={"email": "smtp"})

    answer = await post(company, "schedules", steps=[MAIL], end_steps=[HOOK])

    assert list(answer.json()["errors"]) == ["end_steps[0].kind"]


async def test_a_draft_may_be_kept_and_is_published_once_somebody_serves_it(town: Town, company: Company) -> None:
    register = await gateways(town)
    made = await post(company, "schedules", steps=[MAIL], draft=True)
    assert made.status_code == 201, made.text
    path = f"/api/v1/schedules/{made.json()['schedule']['id']}"

    for method, where, body in (("POST", f"{path}/publish", {}), ("PUT", path, {"name": "Now"})):
        assert (await company.send(method, where, json=body)).json()["code"] == "invalid_schedule"
    await register.renew("mail", {"email": "smtp"})
    assert (await company.send("POST", f"{path}/publish", json={})).status_code == 200
    await gateways(town)
    assert (await company.send("PUT", path, json={"steps": [MAIL, TEXT], "draft": True})).status_code == 200
    refused = await company.send("POST", f"{path}/publish", json={})
    assert list(refused.json()["errors"]) == ["steps[0].kind", "steps[1].kind"]


async def test_a_change_that_touches_no_steps_needs_no_gateway(town: Town, company: Company) -> None:
    await gateways(town, mail={"email": "smtp"})
    made = (await post(company, "schedules", steps=[MAIL])).json()["schedule"]
    await gateways(town)

    for body in ({"paused": True}, {"name": "Another"}, {"paused": False}):
        assert (await company.send("PUT", f"/api/v1/schedules/{made['id']}", json=body)).status_code == 200
    assert (await company.send("PUT", f"/api/v1/schedules/{made['id']}", json={"steps": [MAIL]})).status_code == 422


async def test_an_action_group_is_looked_at_when_it_is_made_and_when_a_schedule_takes_it(
    town: Town, company: Company
) -> None:
    await gateways(town, mail={"email": "smtp"})
    assert (await post(company, "action_groups", steps=[TEXT])).json()["errors"].keys() == {"steps[0].kind"}
    made = await post(company, "action_groups", steps=[MAIL])
    assert made.status_code == 201, made.text
    steps = [WAIT, {"id": "all", "kind": "action_group", "action_group_id": made.json()["action_group"]["id"]}]
    await town.context.rules.refresh()
    await gateways(town)

    answer = await post(company, "schedules", steps=steps)

    assert answer.json()["errors"].keys() == {"steps[1].action_group_id"}
    assert "step all" in answer.json()["detail"]


async def test_a_gateway_that_stopped_within_a_day_still_counts(town: Town, company: Company) -> None:
    register = await gateways(town, mail={"email": "smtp"})
    await register.stop("mail")
    await pass_by(town, "23 hours")
    assert (await post(company, "schedules", steps=[MAIL])).status_code == 201

    await pass_by(town, "2 hours")
    assert (await post(company, "schedules", steps=[MAIL])).status_code == 422


async def test_a_database_that_is_away_is_not_taken_for_a_deployment_without_gateways(
    company: Company, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Away:
        last = Serving()

        async def read(self) -> Serving:
            raise ReadsUnavailableError("away")

    monkeypatch.setattr(PostgresServing, "read", Away.read)
    monkeypatch.setattr(PostgresServing, "last", Away.last)
    assert (await post(company, "schedules", steps=[MAIL])).status_code == 503

    monkeypatch.setattr(PostgresServing, "last", Serving(channels=frozenset({"email"})))
    assert (await post(company, "schedules", steps=[MAIL])).status_code == 201
    assert (await post(company, "schedules", steps=[TEXT])).status_code == 422


async def test_malformed_steps_are_refused_by_the_account_as_ever(town: Town, company: Company) -> None:
    await gateways(town)

    for steps in ("nonsense", [1], [None], [{"kind": ["sms"]}], {"kind": "sms"}, [{"id": 5, "kind": "walk"}]):
        answer = await post(company, "schedules", steps=steps)
        assert answer.status_code == 422, answer.text
        assert "gateway" not in answer.text


async def test_every_answer_and_readyz_say_which_channels_the_sandbox_serves(town: Town, company: Company) -> None:
    await gateways(town, one={"sms": "sandbox", "email": "smtp"}, two={"call": "sandbox", "webhook": "webhook"})
    await PostgresServing(town.pool).read()
    await post(company, "schedules", steps=STEPS)  # reads who serves what

    answers = [
        await company.send("GET", "/api/v1/leads"),
        await company.send("GET", "/api/v1/nothing"),
        await town.client.get("/api/v1/leads"),
        await town.client.options("/api/v1/leads"),
        await town.client.get("/livez"),
    ]

    assert [answer.headers["Leadclock-Sandbox"] for answer in answers] == ["call, sms"] * len(answers)
    assert (await town.client.get("/readyz")).json() == {"status": "ready", "waits_for": {}, "sandbox": ["call", "sms"]}


async def test_a_deployment_without_a_sandbox_says_nothing_of_one(town: Town, company: Company) -> None:
    await gateways(town, one={"sms": "carrier"})
    await post(company, "schedules", steps=STEPS)

    answer = await company.send("GET", "/api/v1/leads")

    assert "Leadclock-Sandbox" not in answer.headers
    assert (await town.client.get("/readyz")).json()["sandbox"] == []


@pytest.mark.parametrize(
    ("first", "second", "is_stopped", "sandbox"),
    [
        ("sandbox", "carrier", False, ("sms",)),
        ("sandbox", "carrier", True, ()),
        ("carrier", "sandbox", False, ("sms",)),
        ("carrier", "sandbox", True, ("sms",)),
    ],
)
async def test_a_channel_is_the_sandboxs_while_a_gateway_that_runs_serves_it_so(
    town: Town, first: str, second: str, is_stopped: bool, sandbox: tuple[str, ...]
) -> None:
    register = await gateways(town, first={"sms": first}, second={"sms": second})
    if is_stopped:
        await register.stop("first")

    assert (await PostgresServing(town.pool).read()).sandbox == sandbox


async def test_without_a_gateway_that_runs_the_last_one_counts(town: Town) -> None:
    register = await gateways(town, first={"sms": "sandbox"})
    await pass_by(town, "10 minutes")
    await register.renew("second", {"sms": "carrier"})
    await pass_by(town, "10 minutes")

    assert (await PostgresServing(town.pool).read()).sandbox == ()


async def test_a_channel_that_goes_by_accounts_needs_one_of_the_company(town: Town, company: Company) -> None:
    await gateways(town, carrier={"sms": "twilio"})
    account = {"name": "T", "channel": "sms", "provider": "twilio", "settings": {"account_sid": "AC0"}}

    refused = await post(company, "schedules", steps=[TEXT])
    made = await company.record("provider_configurations", account)
    taken = await post(company, "schedules", steps=[TEXT])
    await company.send("PUT", f"/api/v1/provider_configurations/{made['id']}", json={"paused": True})
    paused = await post(company, "schedules", steps=[TEXT])

    sentence = "needs a provider configuration for sms, and the company has none that is not paused"
    assert refused.json()["errors"] == paused.json()["errors"] == {"steps[0].kind": [sentence]}
    assert taken.status_code == 201


async def test_a_channel_that_the_sandbox_serves_as_well_needs_no_account(town: Town, company: Company) -> None:
    await gateways(town, carrier={"sms": "twilio"}, play={"sms": "sandbox"})

    assert (await post(company, "schedules", steps=[TEXT])).status_code == 201


async def test_e_mails_that_go_by_accounts_alone_need_one(town: Town, company: Company) -> None:
    await gateways(town, mail={"email": "accounts,smtp"})
    refused = await post(company, "schedules", steps=[WAIT, MAIL])
    assert (refused.status_code, list(refused.json()["errors"])) == (422, ["steps[1].kind"])

    await gateways(town, mail={"email": "accounts,smtp"}, server={"email": "smtp"})
    assert (await post(company, "schedules", steps=[WAIT, MAIL])).status_code == 201
