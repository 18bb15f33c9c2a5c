"""Is every bad request answered in one form, with a stable code, and never as a fault of ours?"""

import re
from typing import Any

import pytest

from adapters.http.app import OPERATIONS
from adapters.http.exchange.settings import HttpSettings, Rate
from schemas.problems import PROBLEMS
from tests.adapters.http.conftest import SECRET_KEY, basic, deployed

pytestmark = pytest.mark.asyncio(loop_scope="session")


NUMBER = "+13055550142"
JSON = {"Content-Type": "application/json"}
FORM = {"Content-Type": "application/x-www-form-urlencoded"}
UTF_8_FORM = {"Content-Type": "application/x-www-form-urlencoded; charset=utf-8"}
MULTIPART = {"Content-Type": "multipart/form-data; boundary=xx"}
UTF_8_PARTS = {"Content-Type": "multipart/form-data; boundary=xx; charset=utf-8"}


def _is_problem(answer: Any) -> dict[str, Any]:
    assert 400 <= answer.status_code < 500, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    body: dict[str, Any] = answer.json()
    assert set(body) >= {"type", "title", "status", "detail", "code", "errors", "request_id", "retryable"}
    assert body["status"] == answer.status_code == PROBLEMS[body["code"]].status
    assert body["type"] == f"/api/docs/1.0#{body['code']}"
    assert body["request_id"] == answer.headers["x-request-id"]
    assert body["detail"]
    return body


BODIES: list[tuple[dict[str, Any], bytes, str]] = [
    (JSON, b"{", "malformed_json"),
    (JSON, b"\xff\xfe", "malformed_json"),
    (JSON, b'{"a": 1e999}', "malformed_json"),
    (JSON, b'{"a": "\\ud800"}', "malformed_json"),
    (JSON, b"[" * 100_000, "malformed_body"),
    (JSON, b'{"a":' * 20 + b"1" + b"}" * 20, "malformed_body"),
    (JSON, b"[]", "malformed_body"),
    (JSON, b"null", "malformed_body"),
    (JSON, b'"lead"', "malformed_body"),
    (JSON, b'{"data": {"a": "' + b"x" * 300_000 + b'"}}', "too_large"),
    (JSON, b'{"caller_id": "a\\u0000b"}', "validation_failed"),
    (JSON, b'{"a\\u0000": 1}', "validation_failed"),
    (JSON, b'{"a": 123456789012345678901234567890}', "validation_failed"),
    (JSON, b'{"lead_token": {"$ne": null}}', "validation_failed"),
    (JSON, b'{"lead_token": 17}', "validation_failed"),
    (JSON, b'{"lead_token": "' + b"x" * 5_000 + b'"}', "unknown_lead_token"),
    (UTF_8_FORM, b"a=%ff", "malformed_body"),
    (UTF_8_FORM, b"\xff=1", "malformed_body"),
    (FORM, b"&".join(b"a%d=1" % place for place in range(1_001)), "malformed_body"),
    (FORM, b"a" + b"[b]" * 40 + b"=1", "malformed_body"),
    (FORM, b"a[][b]=1&a[][c]=2", "malformed_body"),
    (FORM, b"lead_token=%00", "validation_failed"),
    (MULTIPART, b"nonsense", "malformed_body"),
    (MULTIPART, b'--xx\r\nContent-Disposition: form-data; name="a"; filename="f"\r\n\r\nx\r\n--xx--\r\n', "malformed_body"),
    (UTF_8_PARTS, b'--xx\r\nContent-Disposition: form-data; name="a"\r\n\r\n\xff\r\n--xx--\r\n', "malformed_body"),
    ({"Content-Type": "multipart/form-data"}, b"x", "malformed_body"),
    ({"Content-Type": "text/xml"}, b"<lead>", "malformed_body"),
    ({"Content-Type": "text/csv"}, b"caller_id", "unsupported_media_type"),
    ({"Content-Type": "application/json; charset=utf-16"}, b"{}", "unsupported_media_type"),
    ({"Content-Type": "application/x-www-form-urlencoded; charset=utf-16"}, b"a=1", "unsupported_media_type"),
    ({**JSON, "Content-Encoding": "gzip"}, b"{}", "unsupported_media_type"),
    (FORM, b'{"lead_token": "lt_1"}', "malformed_body"),
    ({}, b"lead_token=1", "unsupported_media_type"),
    ({"Content-Type": b"\xff"}, b"x", "unsupported_media_type"),
]


async def test_no_body_that_can_be_sent_is_more_than_a_refusal(town: Any, company: Any) -> None:
    for headers, body, code in BODIES:
        answer = await town.client.post("/api/v1/leads", content=body, headers=headers)
        assert _is_problem(answer)["code"] == code, (body[:60], answer.text)
    others = [("POST", "/api/v1/buyers"), ("PUT", "/api/v1/buyers/1"), ("PUT", f"/api/v1/leads/{NUMBER}/caller_opt_out")]
    for headers, body, _ in BODIES:
        for method, path in others:
            _is_problem(await company.send(method, path, content=body, headers=headers))
    assert (await company.send("GET", "/api/v1/leads")).json()["leads"] == []


FIELDS: list[tuple[dict[str, Any], set[str]]] = [
    ({}, {"caller_id"}),
    ({"caller_id": "123"}, {"caller_id"}),
    ({"caller_id": ["+13055550142"]}, {"caller_id"}),
    ({"email": "ann"}, {"email"}),
    ({"caller_id": NUMBER, "blocked": "perhaps", "update_only": 3}, {"blocked", "update_only"}),
    (
        {"caller_id": NUMBER, "hours_to_expire": 0, "max_contact_attempts": "many"},
        {"hours_to_expire", "max_contact_attempts"},
    ),
    ({"caller_id": NUMBER, "lead_priority": "high"}, {"lead_priority"}),
    ({"caller_id": NUMBER, "next_action_at": "2099-01-01 00:00:00 +0000"}, {"next_action_at"}),
    ({"caller_id": NUMBER, "schedule_callback_at": "noon"}, {"schedule_callback_at"}),
    ({"email": "ada@example.com", "schedule_callback_at": "2020-01-01 00:00:00 +0000"}, {"schedule_callback_at"}),
    (
        {"email": "ada@example.com", "schedule_callback_in_seconds": "60", "country": "XX"},
        {"schedule_callback_in_seconds", "country"},
    ),
    ({"caller_id": NUMBER, "data": [1, 2]}, {"data"}),
    ({"caller_id": NUMBER, "data": {"uuid": "x"}}, {"data.uuid"}),
    ({"caller_id": NUMBER, "data": {f"k{place}": 1 for place in range(201)}}, {"data"}),
    ({"caller_id": NUMBER, "data": {"k": "x" * 5_000}}, {"data.k"}),
    ({"caller_id": NUMBER, "time_zone": "Mars", "country": "XX", "remote_ip": "1"}, {"time_zone", "country", "remote_ip"}),
    ({"caller_id": NUMBER, "traffic_source_id": 77}, {"traffic_source_id"}),
]


async def test_every_bad_field_of_a_lead_is_named_at_once(town: Any, company: Any) -> None:
    schedule = await company.schedule()
    for fields, bad in FIELDS:
        for path in ("/api/v1/leads", "/api/v1/leads/create_or_update"):
            answer = await town.client.post(path, json={"lead_token": schedule["lead_token"], **fields})
            body = _is_problem(answer)
            assert (body["code"], set(body["errors"])) == ("validation_failed", bad), answer.text
            assert all(sentences for sentences in body["errors"].values())
    assert (await company.send("GET", "/api/v1/leads")).json()["leads"] == []


async def test_unblocking_needs_a_key_and_the_lead_of_a_sender_without_one_is_stored(town: Any, company: Any) -> None:
    schedule = await company.schedule()
    fields = {"lead_token": schedule["lead_token"], "caller_id": NUMBER, "unblock_contact": True}
    assert (await company.send("POST", f"/api/v1/contacts/{NUMBER}/caller_block")).status_code == 200
    stranger = await town.client.post("/api/v1/leads", json=fields)
    assert (stranger.status_code, stranger.json()["status"]) == (201, "accepted"), stranger.text
    assert "unblock_contact" in stranger.json()["warnings"][0]
    (lead,) = (await company.send("GET", "/api/v1/leads")).json()["leads"]
    assert lead["status"] == "blocked"
    keyed = await company.send("POST", "/api/v1/leads", json=fields)
    assert (keyed.status_code, keyed.json()["lead"]["status"]) == (201, "scheduled"), keyed.text


async def test_a_token_of_another_company_is_as_unknown_as_one_that_nobody_has(company: Any, other: Any) -> None:
    schedule = await company.schedule()
    for token in (schedule["lead_token"], "lt_nobody_has_this_token"):
        body = _is_problem(await other.send("POST", "/api/v1/leads", json={"lead_token": token, "caller_id": NUMBER}))
        assert body["code"] == "unknown_lead_token"
        assert set(body["errors"]) <= {"lead_token"}


async def test_without_valid_keys_nothing_is_disclosed(town: Any, company: Any) -> None:
    good = basic(company.public_key, company.private_key)["Authorization"]
    for header in [
        None,
        "",
        "Basic",
        "Basic ###",
        "Basic " + "A" * 2_000,
        "Digest x",
        basic(company.public_key, "wrong")["Authorization"],
        basic("pk_nobody", company.private_key)["Authorization"],
        basic("", "")["Authorization"],
        basic("pk\x00", "\x00")["Authorization"],
        "Bearer " + company.public_key,
        good[:-4],
    ]:
        for path in ("/api/v1/leads", "/api/v1/leads/1", "/api/v1/offers", "/api/v1/keys/1"):
            headers = {} if header is None else {"Authorization": header}
            answer = await town.client.get(path, headers=headers)
            assert _is_problem(answer)["code"] == "unauthenticated"
            assert answer.headers["www-authenticate"].startswith("Basic ")
    headers = {**basic(company.public_key, "wrong"), **JSON}
    for method, path in (("POST", "/api/v1/leads"), ("PUT", "/api/v1/leads/1"), ("POST", "/api/v1/buyers")):
        wrong = await town.client.request(method, path, content=b"{}", headers=headers)
        assert wrong.status_code == 401
    for path in ("/api/v1/leads/1", "/api/v1/buyers/1"):
        unread = await town.client.put(path, content=b"{", headers=headers)
        assert unread.status_code == 401, "nothing is read of a body whose sender is known to be nobody"


async def test_a_key_is_only_good_in_its_time_and_from_its_networks(town: Any, company: Any) -> None:
    for fields, status in [
        ({"expires_at": "2020-01-01 00:00:00 +0000"}, 401),
        ({"expires_at": "2099-01-01 00:00:00 +0000"}, 200),
        ({"ip_allow_list": "192.0.2.0/24"}, 401),
        ({"ip_allow_list": "127.0.0.0/8, 192.0.2.0/24"}, 200),
    ]:
        made = await company.record("keys", {"name": "x", **fields})
        answer = await town.client.get("/api/v1/leads", headers=basic(made["public_key"], made["private_key"]))
        assert answer.status_code == status, answer.text


async def test_unknown_paths_and_methods_are_problems_too(town: Any) -> None:
    for path in ("/unicorns", "/api/v1/unicorns", "/api/v1/leads/1/2/3/4", "/api/v1/leads/%2e%2e/x/y/z"):
        assert _is_problem(await town.client.get(path))["code"] == "not_found"
    answer = await town.client.delete("/api/v1/leads")
    assert _is_problem(answer)["code"] == "method_not_allowed"
    assert {"GET", "POST"} <= set(re.split(r",\s*", answer.headers["allow"]))
    for path, methods in [
        ("/api/v1/calls/live_calls", {"GET", "HEAD", "OPTIONS"}),  # also reads as the id of a call
        ("/api/v1/calls/7", {"GET", "HEAD", "POST", "DELETE", "OPTIONS"}),
        ("/api/v1/leads/new", {"GET", "HEAD", "OPTIONS"}),
    ]:
        allowed = await town.client.options(path)
        assert (allowed.status_code, set(re.split(r",\s*", allowed.headers["allow"]))) == (204, methods), path


async def test_every_operation_refuses_who_has_no_key_or_token(town: Any) -> None:
    for operation in OPERATIONS:
        path = operation.path.replace("{id}", "1").replace("{lead_token}", "x").replace("{caller_number}", NUMBER)
        for method in (method for method in operation.methods if method != "HEAD"):
            answer = await town.client.request(method, path)
            if operation.access == "key":
                assert answer.status_code == 401, operation.name
            else:
                assert answer.status_code < 500, (operation.name, answer.text)


async def test_a_rate_limited_client_learns_when_to_retry(migrated_database: str) -> None:
    async with deployed(
        migrated_database, HttpSettings(secret_key=SECRET_KEY, rates={"read": Rate(0.01, 3)}, speed=60.0)
    ) as town:
        company, other = await town.company(), await town.company()
        answers = [await company.send("GET", "/api/v1/leads/new") for _ in range(4)]
        assert [answer.status_code for answer in answers] == [200, 200, 200, 429]
        assert [answer.headers["ratelimit-remaining"] for answer in answers] == ["2", "1", "0", "0"]
        body = _is_problem(answers[-1])
        assert body["retryable"] is True
        assert int(answers[-1].headers["retry-after"]) >= 1
        assert {answer.headers["leadclock-speed"] for answer in answers} == {"60"}, "whose clock runs faster says so"
        assert (await other.send("GET", "/api/v1/leads/new")).status_code == 200
        assert (await company.send("GET", "/livez")).status_code == 200
