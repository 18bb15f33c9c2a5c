"""What does an operator see and do over HTTP, and who is refused? Every route with every kind of key, on a real database."""

import asyncio
import re
from pathlib import Path
from typing import Any

import httpx
import pytest
import pytest_asyncio
from msgspec.structs import replace

from adapters.http.app import OPERATIONS
from adapters.http.exchange.exchange import PLACEHOLDER
from adapters.http.exchange.identity import hash_private_key, new_operator_key
from adapters.http.exchange.operator_access import OperatorAuthenticator
from adapters.http.exchange.problems import ProblemError
from adapters.http.exchange.rates import Limiter
from adapters.http.exchange.session_reads import SHARED_SECONDS
from adapters.http.exchange.settings import Rate
from adapters.http.exchange.unknown_keys import UnknownKeyLimiter
from adapters.operator import contact_holds
from adapters.postgres.gateways import PostgresGateways
from adapters.postgres.operators import PostgresOperators
from adapters.settings import CHANNELS
from engine.partition.ports import Outgoing
from tests.adapters.http.conftest import (
    GATEWAY,
    PARTITIONS,
    UNLIMITED,
    WAIT_SECONDS,
    Town,
    basic,
    deployed,
    serve_every_channel,
)

pytestmark = pytest.mark.asyncio(loop_scope="session")

PRIVATE = "sk_of_an_operator"
OURS = tuple(operation for operation in OPERATIONS if operation.access == "operator")
PAGE = Path(__file__).parents[3] / "deploy/docs/operators.md"


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def town(own_town: Town) -> Town:
    """Alone: an operator reads over all companies."""
    return own_town


class Operator:
    """Somebody with an operator key."""

    def __init__(self, town: Any, public_key: str) -> None:
        self.town = town
        self.public_key = public_key
        self.headers = basic(public_key, PRIVATE)

    async def send(self, method: str, path: str, **more: Any) -> httpx.Response:
        answer: httpx.Response = await self.town.client.request(
            method, f"/api/v1/operator/{path}", headers=self.headers, **more
        )
        return answer

    async def get(self, path: str, **parameters: Any) -> dict[str, Any]:
        answer = await self.send("GET", path, params=parameters)
        assert answer.status_code == 200, answer.text
        found: dict[str, Any] = answer.json()
        return found


async def operator_of(town: Any, name: str = "Ada") -> Operator:
    public_key = new_operator_key()
    await PostgresOperators(town.pool).create(public_key, hash_private_key(PRIVATE), name)
    return Operator(town, public_key)


async def dead_letter(town: Any, value: bytes = b"{", key: bytes = b"1/+13055550142") -> dict[str, Any]:
    """Write what cannot be read to the scheduler, and return its dead letter as it is listed."""
    operator = await operator_of(town)
    appender = await town.context.log.appender()
    [offset] = await appender.append(0, [Outgoing("contacts.requests", key, value, (("ce_id", b"broken"),))])
    await appender.close()
    async with asyncio.timeout(WAIT_SECONDS):
        while True:
            for row in (await operator.get("dead_letters"))["dead_letters"]:
                if (row["topic"], row["offset"]) == ("contacts.requests", str(offset)):
                    found: dict[str, Any] = row
                    return found
            await asyncio.sleep(0.02)


async def test_an_operator_route_takes_operator_keys_alone(town: Any, company: Any) -> None:
    operator = await operator_of(town)
    assert len(OURS) > 8
    for operation in OURS:
        path = PLACEHOLDER.sub("0:999999", operation.path)
        method = operation.methods[0]
        assert (await town.client.request(method, path)).status_code == 401, operation.name
        wrong = await town.client.request(method, path, headers=basic(operator.public_key, "wrong"))
        unknown = await town.client.request(method, path, headers=basic("op_unknown", PRIVATE))
        assert (wrong.status_code, unknown.status_code) == (401, 401), operation.name
        assert wrong.json()["detail"] == unknown.json()["detail"], "no answer says which public halves there are"
        theirs = await company.send(method, path)
        assert (theirs.status_code, theirs.json()["code"]) == (403, "forbidden"), operation.name
        ours = await town.client.request(method, path, headers=operator.headers)
        assert ours.status_code in {200, 404, 422}, (operation.name, ours.text)


async def test_an_operator_key_opens_no_route_of_a_company(town: Any) -> None:
    operator = await operator_of(town)
    tried = 0
    for operation in OPERATIONS:
        if operation.access not in {"key", "token"}:
            continue
        path = PLACEHOLDER.sub("1", operation.path)
        for method in (method for method in operation.methods if method != "HEAD"):
            answer = await town.client.request(method, path, headers=operator.headers)
            assert (answer.status_code, answer.json()["code"]) == (403, "forbidden"), operation.name
            tried += 1
    assert tried > 100
    field = {"auth_token": f"{operator.public_key}.{PRIVATE}", "lead_token": "x"}
    assert (await town.client.post("/api/v1/leads", json=field)).status_code == 403


async def test_a_revoked_key_ends_at_once(town: Any) -> None:
    operator = await operator_of(town)
    await operator.get("gateways")
    await PostgresOperators(town.pool).revoke(operator.public_key)
    assert (await operator.send("GET", "gateways")).status_code == 401


async def test_operators_are_limited_by_key_and_by_address(migrated_database: str) -> None:
    slow = replace(UNLIMITED, rates={"read": Rate(0.01, 3)})
    async with deployed(migrated_database, slow) as town:
        operator = await operator_of(town)
        statuses = [(await operator.send("GET", "gateways")).status_code for _ in range(4)]
        assert statuses == [200, 200, 200, 429]


async def test_the_host_of_a_company_does_not_serve_the_operator(migrated_database: str) -> None:
    async with deployed(migrated_database, replace(UNLIMITED, hosts={"acme.example.com": 1})) as town:
        operator = await operator_of(town)
        path = "/api/v1/operator/gateways"
        at = {"Host": "acme.example.com:8080", **operator.headers}
        refused = await town.client.get(path, headers=at)
        assert (refused.status_code, refused.json()["code"]) == (421, "unknown_host"), refused.text
        assert (await town.client.get(path, headers={"Host": "10.0.0.7", **operator.headers})).status_code == 200


async def test_each_partition_is_listed_with_what_is_known_of_it(town: Any, company: Any) -> None:
    await company.schedule()
    operator = await operator_of(town)
    answer = await operator.get("partitions")
    rows = {(row["role"], row["topic"], row["partition"]): row for row in answer["partitions"]}
    assert {key[0] for key in rows} >= {"intake", "intake.bulk", "scheduler", "accounts", "projector", "deliverer"}
    assert {key[2] for key in rows} == set(range(PARTITIONS))
    projected = [row for (role, topic, _), row in rows.items() if (role, topic) == ("projector", "accounts.decisions")]
    assert any(row["sequence"] > 0 and row["decided_at"] and row["epoch"] > 0 for row in projected)
    assert all(row["lag"] == row["end"] - row["next_offset"] for row in projected)
    assert sum(row["end"] for (role, *_), row in rows.items() if role == "accounts") > 0
    assert set(answer["not_known_here"]) == {"restore", "owner"}
    lags = {(row["role"], row["topic"]): row for row in (await operator.get("lags"))["lags"]}
    assert lags["accounts", "accounts.requests"]["partitions"] == PARTITIONS
    assert lags["accounts", "accounts.requests"]["lag"] is None, "the embedded log has no groups, so it is not known"
    assert lags["projector", "contacts.decisions"]["lag"] is not None


async def test_the_projection_shows_its_position_and_its_checksum_where_that_is_asked_for(town: Any) -> None:
    operator = await operator_of(town)
    plain = (await operator.get("projection"))["projection"]
    assert (plain["missing"], plain["rebuild_begun"], plain["checksum"]) == ([], False, None)
    assert len(plain["partitions"]) == 3 * PARTITIONS
    summed = (await operator.get("projection", checksums="true"))["projection"]
    assert re.fullmatch("[0-9a-f]{16,}", summed["checksum"])
    assert (await operator.send("GET", "projection", params={"checksums": "x"})).status_code == 422


async def test_gateways_and_event_deliveries_of_all_companies_are_listed(town: Any, company: Any) -> None:
    operator = await operator_of(town)
    answer = await operator.get("gateways")
    assert {row["channel"] for row in answer["gateways"] if row["is_live"]} >= {"call", "sms"}
    assert "not_known_here" not in answer, "circuits are known as well"
    assert (await operator.get("circuits"))["left_out_count"] == 0
    hook = {"name": "S", "url": "https://crm.example.com/x", "events": ["lead_created"]}
    subscription = await company.record("subscriptions", hook)
    await town.pool.execute(
        "INSERT INTO work.subscription_deliveries (webhook_id, company_id, subscription_id, event, occurred_at, body)"
        " VALUES ($1, $2, $3, 'lead_created', now(), '{}')",
        f"wh-{subscription['id']}",
        company.id,
        subscription["id"],
    )
    rows = {row["subscription_id"]: row for row in (await operator.get("event_deliveries"))["event_deliveries"]}
    row = rows[subscription["id"]]
    assert (row["company_id"], row["waiting_count"], row["failed_count"]) == (company.id, 1, 0)


async def test_dead_letters_are_listed_newest_first_and_shown_whole(town: Any) -> None:
    first, second = await dead_letter(town, b"{" + b"x" * 300), await dead_letter(town, b"[")
    operator = await operator_of(town)
    listed = [row["id"] for row in (await operator.get("dead_letters"))["dead_letters"]]
    assert listed.index(second["id"]) < listed.index(first["id"])
    shown = (await operator.get(f"dead_letters/{first['id']}"))["dead_letter"]
    assert (shown["key"], shown["value"]) == ("1/+13055550142", "{" + "x" * 300)
    assert shown["code"] == first["code"] != ""
    partition, _, offset = second["id"].partition(":")
    before = await operator.get("dead_letters", partition=partition, before=offset, limit=1)
    assert [row["id"].partition(":")[0] for row in before["dead_letters"]] == [partition]
    assert before["dead_letters"][0]["id"] != second["id"]
    for place in ("0:99999999", "99:0", "x", "0:x", "1", "0:" + "9" * 40):
        assert (await operator.send("GET", f"dead_letters/{place}")).status_code == 404, place
    assert (await operator.send("GET", "dead_letters", params={"before": 1})).json()["errors"].keys() == {"partition"}


async def test_a_redrive_is_typed_linked_and_audited(town: Any) -> None:
    letter = await dead_letter(town)
    operator = await operator_of(town, "Grace")
    path = f"dead_letters/{letter['id']}/redrive"
    for confirm in ({}, {"confirm": "yes"}, {"confirm": "0:0:0"}):
        refused = await operator.send("POST", path, json=confirm)
        assert (refused.status_code, refused.json()["errors"].keys()) == (422, {"confirm"}), refused.text
    sent = await operator.send("POST", path, json={"confirm": letter["id"]})
    assert sent.status_code == 200, sent.text
    redriven = sent.json()["redrive"]
    records = town.context.log.partition("contacts.requests", 0).records
    record = next(one for one in records if one.offset == redriven["offset"])
    headers = dict(record.headers)
    assert (record.value, headers["dl_origin"]) == (b"{", letter["id"].encode())
    assert headers["ce_id"] == f"redrive/{letter['id'].replace(':', '/')}".encode()
    newest = (await operator.get("audits", limit=1))["audits"][0]
    assert (newest["action"], newest["subject"], newest["detail"]) == ("dead_letter.redriven", letter["id"], "as it was")
    assert (newest["actor"], newest["address"]) == ("Grace", "127.0.0.1")
    assert newest["request_id"] == sent.headers["x-request-id"]
    assert newest["outcome"] == f"sent to contacts.requests at offset {redriven['offset']}"
    older = await operator.get("audits", before=newest["id"], limit=1)
    assert older["audits"][0]["id"] < newest["id"]


async def test_an_edited_redrive_is_another_request_and_what_is_no_object_is_refused(town: Any) -> None:
    letter = await dead_letter(town)
    operator = await operator_of(town)
    path = f"dead_letters/{letter['id']}/redrive"
    for value in ("{", [1], "text", 7):
        refused = await operator.send("POST", path, json={"confirm": letter["id"], "value": value})
        assert (refused.status_code, refused.json()["errors"].keys()) == (422, {"value"}), refused.text
    ids = set()
    for edited, content in (({"a": 1}, b'{"a":1}'), ({"a": 2}, b'{"a":2}')):
        sent = await operator.send("POST", path, json={"confirm": letter["id"], "value": edited})
        assert (sent.status_code, sent.json()["redrive"]["edited"]) == (200, True), sent.text
        records = town.context.log.partition("contacts.requests", 0).records
        record = next(one for one in records if one.offset == sent.json()["redrive"]["offset"])
        assert record.value == content
        ids.add(dict(record.headers)["ce_id"])
    assert len(ids) == 2, "of two edits neither is taken for a repeat of the other"


async def test_the_api_sends_no_command_again_and_the_refusal_is_audited(town: Any) -> None:
    appender = await town.context.log.appender()
    headers = (("dl_topic", b"commands.call"), ("dl_partition", b"0"), ("dl_offset", b"0"), ("dl_code", b"x"))
    [offset] = await appender.append(0, [Outgoing("deadletter", b"1/+1", b"{}", headers)])
    await appender.close()
    operator = await operator_of(town)
    place = f"0:{offset}"
    refused = await operator.send("POST", f"dead_letters/{place}/redrive", json={"confirm": place})
    assert refused.status_code == 422
    assert f"leadclock deadletter redrive {place}" in refused.json()["errors"]["id"][0]
    newest = (await operator.get("audits", limit=1))["audits"][0]
    assert newest["outcome"].startswith("RedriveRefusedError: this process may not write to commands.call")


async def obey_all_rules(town: Any) -> None:
    """Let the gateway of the tests say that it has read whatever there will be."""
    read = dict.fromkeys(range(PARTITIONS), 1 << 40)
    await PostgresGateways(town.pool).renew(GATEWAY, dict.fromkeys(CHANNELS, "test"), rules_read=read)


async def test_an_operator_holds_a_company_by_a_typed_word_and_lets_it_go_on(town: Any, company: Any) -> None:
    await obey_all_rules(town)
    operator = await operator_of(town, "Grace")
    wanted = {"reason": "wrong prices", "company_id": company.id, "channels": ["sms"]}
    for confirm in ({}, {"confirm": "yes"}, {"confirm": "release"}):
        refused = await operator.send("POST", "contact_holds", json={**wanted, **confirm})
        assert (refused.status_code, refused.json()["errors"].keys()) == (422, {"confirm"}), refused.text
    sent = await operator.send("POST", "contact_holds", json={**wanted, "confirm": "hold"})
    assert sent.status_code == 200, sent.text
    made = sent.json()["contact_hold"]
    assert (made["company_id"], made["channels"], made["reason"]) == (company.id, ["sms"], "wrong prices")
    assert ([GATEWAY in name for name in sent.json()["obeying"]], sent.json()["silent"]) == ([True], [])
    shown = await company.send("GET", f"/api/v1/contact_holds/{made['id']}")
    assert shown.json()["contact_hold"]["reason"] == "wrong prices"
    newest = (await operator.get("audits", limit=1))["audits"][0]
    assert (newest["action"], newest["actor"], newest["subject"]) == (
        "contact_hold.created",
        "Grace",
        f"company {company.id}",
    )
    assert newest["outcome"] == f"hold {made['id']}; 1 gateways obey, 0 have not confirmed"

    assert made in (await operator.get("contact_holds"))["contact_holds"]
    path = f"contact_holds/{made['id']}/release"
    assert (await operator.send("POST", path, json={"confirm": "hold"})).status_code == 422
    released = await operator.send("POST", path, json={"confirm": "release"})
    assert released.json()["contact_hold"]["id"] == made["id"]
    assert (await operator.get("contact_holds"))["contact_holds"] == []
    for place in (made["id"], "999999", "x"):
        gone = await operator.send("POST", f"contact_holds/{place}/release", json={"confirm": "release"})
        assert gone.status_code == 404, place


async def test_a_hold_says_which_gateways_do_not_obey_it_yet(
    town: Any, company: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(contact_holds, "CONFIRMED_WITHIN_SECONDS", 0.0)
    await serve_every_channel(town.pool)
    operator = await operator_of(town)
    fields = {"reason": "wrong prices", "company_id": company.id, "confirm": "hold"}
    made = (await operator.send("POST", "contact_holds", json=fields)).json()
    assert ([GATEWAY in name for name in made["silent"]], made["obeying"]) == ([True], [])

    monkeypatch.setattr(contact_holds, "DECIDED_WITHIN_SECONDS", 0.0)
    path = f"contact_holds/{made['contact_hold']['id']}/release"
    undecided = await operator.send("POST", path, json={"confirm": "release"})
    assert (undecided.status_code, undecided.json()["contact_hold"]) == (202, None), undecided.text
    assert "no `leadclock accounts` decides for it. Stop these gateways by hand: " in undecided.json()["detail"]
    assert GATEWAY in undecided.json()["detail"]
    async with asyncio.timeout(WAIT_SECONDS):
        while (await operator.get("contact_holds"))["contact_holds"]:
            await asyncio.sleep(0.02)


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"reason": " "}, "reason"),
        ({"reason": "x" * 501}, "reason"),
        ({"channels": ["fax"]}, "channels"),
        ({"company_id": 99_999}, "company_id"),
        ({"company_id": 0}, "company_id"),
        ({"hang_up": "perhaps"}, "hang_up"),
    ],
)
async def test_what_a_hold_cannot_be_is_refused_by_name(town: Any, wrong: dict[str, Any], field: str) -> None:
    operator = await operator_of(town)
    refused = await operator.send("POST", "contact_holds", json={"reason": "why", "confirm": "hold", **wrong})
    assert (refused.status_code, refused.json()["errors"].keys()) == (422, {field}), refused.text
    assert (await operator.get("contact_holds"))["contact_holds"] == []


async def test_a_log_that_does_not_answer_is_said_and_a_database_too(town: Any) -> None:
    letter = await dead_letter(town)
    operator = await operator_of(town)
    town.outage.topics.add("contacts.requests")
    try:
        answer = await operator.send("POST", f"dead_letters/{letter['id']}/redrive", json={"confirm": letter["id"]})
    finally:
        town.outage.topics.clear()
    assert (answer.status_code, answer.json()["code"]) == (503, "events_unavailable"), answer.text
    assert "LogError" in (await operator.get("audits", limit=1))["audits"][0]["outcome"]


async def test_the_operators_page_names_every_route() -> None:
    page = PAGE.read_text()
    assert [operation.path for operation in OURS if f"{operation.methods[0]} {operation.path}" not in page] == []


async def test_pages_that_renew_themselves_share_the_read_of_a_key_which_ends_within_seconds(town: Any) -> None:
    operator, operators, now = await operator_of(town), PostgresOperators(town.pool), [0.0]
    authenticator = OperatorAuthenticator(operators, UnknownKeyLimiter(Limiter({}), lambda: now[0]), lambda: now[0])

    async def is_let_in(*, private: str = PRIVATE, is_renewal: bool = True) -> bool:
        try:
            await authenticator.authenticate(operator.public_key, private, address="", is_renewal=is_renewal)
        except ProblemError:
            return False
        return True

    assert await is_let_in()
    await operators.revoke(operator.public_key)
    now[0] = SHARED_SECONDS - 0.1
    assert await is_let_in(), "as it was read for another page"
    assert not await is_let_in(private="wrong")
    now[0] = SHARED_SECONDS
    assert not await is_let_in()


async def test_a_page_that_is_opened_with_a_revoked_key_ends_its_open_pages(town: Any) -> None:
    operator, operators = await operator_of(town), PostgresOperators(town.pool)
    authenticator = OperatorAuthenticator(operators, UnknownKeyLimiter(Limiter({}), lambda: 0.0), lambda: 0.0)
    await authenticator.authenticate(operator.public_key, PRIVATE, address="", is_renewal=True)
    await operators.revoke(operator.public_key)
    for is_renewal in (False, True):
        with pytest.raises(ProblemError):
            await authenticator.authenticate(operator.public_key, PRIVATE, address="", is_renewal=is_renewal)
