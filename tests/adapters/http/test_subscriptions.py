"""Does a subscription get what it asks for? From a submission over HTTP to a signed post, and what the API says of it."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from msgspec import structs
from standardwebhooks.webhooks import Webhook

from adapters.gateway.addresses import networks
from adapters.observability.metrics import Metrics
from adapters.roles.deliverer import DelivererRole
from adapters.subscriptions.sender import LEASE_SECONDS
from tests.adapters.gateway.receiver import Received, Receiver
from tests.adapters.http.conftest import UNLIMITED, WAIT_SECONDS, Company, Town, basic, deployed, unquoted
from tests.databases import migrated

pytestmark = pytest.mark.asyncio(loop_scope="session")

LOOPBACK = "127.0.0.0/8"
PATH = "/api/v1/subscriptions"


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def town(postgres_dsn: str) -> AsyncIterator[Town]:
    """A deployment with a deliverer, which may post to this machine."""
    settings = structs.replace(UNLIMITED, webhook_networks=networks([LOOPBACK]))
    async with migrated(postgres_dsn) as dsn, deployed(dsn, settings) as place:
        place.context.settings = structs.replace(place.context.settings, webhook_private_networks=(LOOPBACK,))
        stop = asyncio.Event()
        role = DelivererRole(place.context, Metrics())
        running = asyncio.create_task(role.run(stop))
        async with asyncio.timeout(WAIT_SECONDS):
            while role.problems():
                await asyncio.sleep(0.02)
        yield place
        stop.set()
        await running


@pytest_asyncio.fixture(loop_scope="session")
async def company(town: Town) -> Company:
    return await town.company()


@pytest_asyncio.fixture(loop_scope="session")
async def receiver() -> AsyncIterator[Receiver]:
    opened = Receiver("whsec_c2VjcmV0")
    await opened.start()
    yield opened
    await opened.stop()


async def subscribe(company: Company, receiver: Receiver, *events: str, **more: Any) -> dict[str, Any]:
    url = f"http://127.0.0.1:{receiver.port}/events"
    return await company.record("subscriptions", {"name": "CRM", "url": url, "events": list(events), **more})


async def lead_of(town: Town, company: Company, token: str = "", **more: Any) -> int:
    town.numbers += 1
    token = token or (await company.schedule())["lead_token"]
    fields = {"lead_token": token, "caller_id": f"+1917555{town.numbers:04d}", "full_name": "Ada", **more}
    return int((await company.send("POST", "/api/v1/leads", json=fields)).json()["lead"]["id"])


async def received(receiver: Receiver, count: int) -> list[Received]:
    async with asyncio.timeout(WAIT_SECONDS):
        while len(receiver.received) < count:
            await asyncio.sleep(0.02)
    return receiver.received


async def delivered(company: Company, subscription: dict[str, Any], count: int, state: str = "delivered") -> list[Any]:
    async with asyncio.timeout(WAIT_SECONDS):
        while True:
            found = await company.send("GET", f"{PATH}/{subscription['id']}/deliveries", params={"state": state})
            if len(found.json()["deliveries"]) >= count:
                return list(found.json()["deliveries"])
            await asyncio.sleep(0.02)


def types_of(got: list[Received]) -> list[str]:
    return [one.json()["type"] for one in got]


async def test_a_lead_that_ends_is_posted_signed_with_what_the_api_shows_of_it(
    town: Town, company: Company, receiver: Receiver
) -> None:
    made = await subscribe(company, receiver, "lead_ended")
    lead_id = await lead_of(town, company, data={"roof": "flat"})

    stopped = await company.send("PUT", f"/api/v1/leads/{lead_id}", json={"schedule_stop": True})
    assert stopped.status_code == 200, stopped.text

    [got] = await received(receiver, 1)
    message = Webhook(made["secret"]).verify(got.body, got.headers)
    assert message == got.json()
    assert (message["type"], message["id"]) == ("lead_ended", got.headers["webhook-id"])
    data = message["data"]
    assert (data["company_id"], data["lead_id"], data["details"]["status"]) == (company.id, lead_id, "removed")
    shown = (await company.send("GET", f"/api/v1/leads/{lead_id}")).json()["lead"]
    assert data["lead"] == {name: shown[name] for name in data["lead"]}
    assert data["lead"]["data"] == {"roof": "flat"}


async def test_each_event_of_a_life_arrives_once_and_in_order(town: Town, company: Company, receiver: Receiver) -> None:
    events = ["lead_created", "lead_scheduled", "lead_changed", "lead_converted", "contact_opted_out", "lead_opted_out"]
    await subscribe(company, receiver, *events)
    lead_id = await lead_of(town, company)
    for fields in ({"offer_converted": True}, {"offer_converted": True, "full_name": "Grace"}, {"opt_out": True}):
        answer = await company.send("PUT", f"/api/v1/leads/{lead_id}", json=fields)
        assert answer.status_code == 200, answer.text

    got = await received(receiver, 7)
    await asyncio.sleep(0.3)

    of_the_lead = [name for name in types_of(got) if name.startswith("lead_")]  # what is of no lead waits for none
    assert of_the_lead[:2] == ["lead_created", "lead_scheduled"]
    assert types_of(got).count("lead_converted") == 1, types_of(got)
    assert {"contact_opted_out", "lead_opted_out"} <= set(types_of(got))
    assert len({one.headers["webhook-id"] for one in got}) == len(got)
    of_lead = [one.json()["data"]["sequence"] for one in got if one.json()["data"]["sequence"] is not None]
    assert of_lead == sorted(set(of_lead))
    converted = next(one.json()["data"] for one in got if one.json()["type"] == "lead_converted")
    assert converted["details"]["converted"] == ["offer_converted"]


async def test_two_deliverers_that_read_the_same_partitions_send_each_event_once_though_one_is_cut_off(
    town: Town, company: Company, receiver: Receiver
) -> None:
    await subscribe(company, receiver, "lead_created", "lead_ended")
    token = (await company.schedule())["lead_token"]
    second = asyncio.create_task(DelivererRole(town.context, Metrics()).run(asyncio.Event()))
    leads = []
    for number in range(40):
        leads.append(await lead_of(town, company, token))
        await company.send("PUT", f"/api/v1/leads/{leads[-1]}", json={"schedule_stop": True})
        if number == 20:
            second.cancel()
            await asyncio.gather(second, return_exceptions=True)

    def first_arrivals() -> dict[str, tuple[int, str]]:
        """Return what each id named when it came first: what was under way at the cut may come twice, under its id."""
        arrived: dict[str, tuple[int, str]] = {}
        for one in receiver.received:
            arrived.setdefault(one.headers["webhook-id"], (one.json()["data"]["lead_id"], one.json()["type"]))
        return arrived

    async with asyncio.timeout(WAIT_SECONDS + LEASE_SECONDS):
        while len(first_arrivals()) < 2 * len(leads):
            await asyncio.sleep(0.1)
    got = list(first_arrivals().values())
    assert len(got) == len(set(got)) == 2 * len(leads)
    for lead_id in leads:
        assert [name for number, name in got if number == lead_id] == ["lead_created", "lead_ended"]


async def test_a_subscription_gets_nothing_of_other_offers_or_companies(
    town: Town, company: Company, receiver: Receiver
) -> None:
    other = await town.company()
    offers = [await company.record("offers", {"name": name}) for name in ("Ours", "Not ours")]
    tokens = [(await company.schedule(offer_id=offer["id"]))["lead_token"] for offer in offers]
    made = await subscribe(company, receiver, "lead_created", trigger_fields={"offer_id": offers[0]["id"]})
    theirs = await subscribe(other, receiver, "lead_created", trigger_fields={})
    wanted = [await lead_of(town, company, tokens[0]), await lead_of(town, other)]
    await lead_of(town, company, tokens[1])

    await delivered(company, made, 1)
    await delivered(other, theirs, 1)

    assert sorted(one.json()["data"]["lead_id"] for one in receiver.received) == sorted(wanted)
    [theirs_delivered] = await delivered(other, theirs, 1)
    foreign = await company.send("GET", f"{PATH}/{made['id']}/deliveries/{theirs_delivered['id']}")
    assert foreign.status_code == 404
    for path in ("", "/deliveries", "/replay", "/enable"):
        method = "GET" if path in {"", "/deliveries"} else "POST"
        answer = await other.send(method, f"{PATH}/{made['id']}{path}", json={} if method == "POST" else None)
        assert answer.status_code == 404, (path, answer.text)


async def test_a_block_and_its_lifting_by_a_job_name_the_person(town: Town, company: Company, receiver: Receiver) -> None:
    await subscribe(company, receiver, "contact_blocked", "contact_unblocked")
    lead_id = await lead_of(town, company)
    shown = (await company.send("PUT", f"/api/v1/leads/{lead_id}", json={"blocked": True})).json()["lead"]
    await company.record("unblock_contact_jobs", {"confirm_all": True})

    got = await received(receiver, 2)

    assert [(one.json()["type"], one.json()["data"]["contact"]) for one in got] == [
        ("contact_blocked", shown["caller_id"]),
        ("contact_unblocked", shown["caller_id"]),
    ]


async def test_changes_of_account_records_are_posted_without_their_values(company: Company, receiver: Receiver) -> None:
    await subscribe(company, receiver, "record_created", "record_changed", "record_deleted")
    buyer = await company.record("buyers", {"name": "Roofs", "number": "+12125550140"})
    await company.send("PUT", f"/api/v1/buyers/{buyer['id']}", json={"name": "Other roofs"})
    await company.send("DELETE", f"/api/v1/buyers/{buyer['id']}")

    async def of_buyer() -> dict[str, Any]:
        await received(receiver, 3)
        messages = [one.json() for one in receiver.received]
        return {one["type"]: one["data"]["details"] for one in messages if one["data"]["details"]["record_type"] == "buyer"}

    async with asyncio.timeout(WAIT_SECONDS):
        while len(found := await of_buyer()) < 3:
            await asyncio.sleep(0.02)
    assert found.keys() == {"record_created", "record_changed", "record_deleted"}
    assert {details["record_id"] for details in found.values()} == {buyer["id"]}
    assert found["record_changed"]["fields"] == ["name"]
    assert "oofs" not in str(found)


async def test_a_delivery_is_shown_with_its_body_and_attempts_and_listed_by_each_filter(
    town: Town, company: Company, receiver: Receiver
) -> None:
    receiver.answers = [503, 200]
    made = await subscribe(company, receiver, "lead_created", "lead_scheduled")
    lead_id = await lead_of(town, company)
    [first, *_] = await delivered(company, made, 1)

    path = f"{PATH}/{made['id']}/deliveries"
    shown = (await company.send("GET", f"{path}/{first['id']}")).json()["delivery"]
    assert shown["body"].startswith('{"id":"msg_')
    assert {attempt["number"] for attempt in shown["attempts_log"]} == set(range(1, shown["attempts"] + 1))

    async def listed(**query: Any) -> set[str]:
        answer = await company.send("GET", path, params=query)
        assert answer.status_code == 200, answer.text
        return {row["event"] for row in answer.json()["deliveries"]}

    both = {"lead_created", "lead_scheduled"}
    async with asyncio.timeout(WAIT_SECONDS):
        while await listed() != both:
            await asyncio.sleep(0.02)
    assert await listed(event="lead_created") == {"lead_created"}
    assert await listed(lead_id=lead_id) == both
    assert await listed(lead_id=lead_id + 1) == set()
    assert await listed(ids=shown["id"]) == {shown["event"]}
    assert await listed(created_at_from="2999-01-01T00:00:00Z") == set()
    assert await listed(created_at_to="2020-01-01T00:00:00Z") == set()
    assert await listed(page=2, per_page=100) == set()
    assert await listed(state="failed") == set()
    for query, field in ({"state": "lost"}, "state"), ({"event": "x"}, "event"), ({"order": "id"}, "order"):
        answer = await company.send("GET", path, params=query)
        assert (answer.status_code, list(answer.json()["errors"])) == (422, [field])
    assert (await company.send("GET", f"{path}/999999")).status_code == 404
    table = await company.send("GET", f"{path}.csv", params={"columns": "event,lead_id"})
    assert unquoted(table.text).splitlines()[0] == "event,lead_id"


async def test_a_replay_sends_again_under_the_same_ids(town: Town, company: Company, receiver: Receiver) -> None:
    made = await subscribe(company, receiver, "lead_created")
    await lead_of(town, company)
    [first] = await received(receiver, 1)
    await delivered(company, made, 1)

    answer = await company.send("POST", f"{PATH}/{made['id']}/replay", json={"occurred_at_from": "2026-01-01T00:00:00Z"})

    assert (answer.status_code, answer.json()["replay"]["replayed_count"]) == (200, 1), answer.text
    again = (await received(receiver, 2))[1]
    assert (again.headers["webhook-id"], again.body) == (first.headers["webhook-id"], first.body)
    for given, count in (
        ({"occurred_at_from": "2026-01-01T00:00:00Z", "only_failed": "true"}, 0),
        ({"occurred_at_from": "2020-01-01T00:00:00Z", "occurred_at_to": "2020-02-01T00:00:00Z"}, 0),
    ):
        answer = await company.send("POST", f"{PATH}/{made['id']}/replay", json=given)
        assert answer.json()["replay"]["replayed_count"] == count
    refused = await company.send("POST", f"{PATH}/{made['id']}/replay", json={})
    assert (refused.status_code, list(refused.json()["errors"])) == (422, ["occurred_at_from"])


async def test_a_receiver_that_is_gone_is_disabled_with_notice_and_enabled_again(
    town: Town, company: Company, receiver: Receiver
) -> None:
    receiver.answers = [410, 200]
    made = await subscribe(company, receiver, "lead_created")
    token = (await company.schedule())["lead_token"]
    await lead_of(town, company, token)
    await delivered(company, made, 1, "failed")
    async with asyncio.timeout(WAIT_SECONDS):
        while (shown := (await company.send("GET", f"{PATH}/{made['id']}")).json()["subscription"])["disabled_at"] is None:
            await asyncio.sleep(0.02)
    assert (shown["failed_count"], shown["disabled_reason"]) == (1, "the receiver answered 410 Gone")
    await lead_of(town, company, token)
    await delivered(company, made, 1, "waiting")

    enabled = await company.send("POST", f"{PATH}/{made['id']}/enable")

    assert (enabled.status_code, enabled.json()["subscription"]["disabled_at"]) == (200, None), enabled.text
    await delivered(company, made, 1)
    [listed] = (await company.send("GET", PATH)).json()["subscriptions"]
    assert (listed["waiting_count"], listed["failed_count"]) == (0, 1)


async def test_the_secret_is_shown_to_keys_that_may_see_it_and_rotated(company: Company, receiver: Receiver) -> None:
    made = await subscribe(company, receiver, "lead_created")
    rotated = await company.send("PUT", f"{PATH}/{made['id']}", json={"rotate_secret": True})
    shown = rotated.json()["subscription"]
    assert (shown["secret_generation"], shown["secret_rotated_at"] is None) == (2, False), rotated.text
    assert shown["secret"] not in {made["secret"], ""}
    key = await company.record("keys", {"name": "reader", "scopes": ["subscription:read"]})
    reader = Company(company.town, company.id)
    reader.headers = basic(key["public_key"], key["private_key"])
    seen = await reader.send("GET", f"{PATH}/{made['id']}")
    assert "secret" not in seen.json()["subscription"], seen.text


async def test_a_url_to_a_private_network_is_refused_when_it_is_saved(company: Company) -> None:
    fields = {"name": "x", "url": "http://10.0.0.7/x", "events": ["lead_created"]}
    answer = await company.send("POST", PATH, json=fields)
    assert (answer.status_code, list(answer.json()["errors"])) == (422, ["url"])


async def test_a_job_that_has_lifted_its_blocks_is_posted_once(town: Town, company: Company, receiver: Receiver) -> None:
    await subscribe(company, receiver, "unblock_job_finished")
    await lead_of(town, company, blocked=True)

    made = await company.record("unblock_contact_jobs", {"confirm_all": True})
    [got] = await received(receiver, 1)

    details = got.json()["data"]["details"]
    assert (details["record_id"], details["unblock_count"], details["failed_count"]) == (made["id"], 1, 0)
