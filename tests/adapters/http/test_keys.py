"""Is a key only good where it was made for, in whatever way it is sent, and is it never kept or shown again?"""

import asyncio
from ipaddress import ip_network
from typing import Any

import pytest
import structlog

from adapters.http.app import OPERATIONS
from adapters.http.exchange.access import Authenticator
from adapters.http.exchange.exchange import PLACEHOLDER
from adapters.http.exchange.settings import RATES, HttpSettings, Rate, read_rate
from adapters.roles.api import _http_settings
from adapters.settings import Settings as Deployment
from adapters.settings import SettingsError, load, to_environment
from tests.adapters.http.conftest import SECRET_KEY, basic, deployed

pytestmark = pytest.mark.asyncio(loop_scope="session")

NUMBER = "+13055550142"


def _in_one_word(company: Any) -> str:
    return f"{company.public_key}.{company.private_key}"


async def test_senders_that_cannot_set_headers_send_the_key_as_a_field_on_the_routes_of_leads(
    town: Any, company: Any
) -> None:
    schedule = await company.schedule()
    key = {"auth_token": _in_one_word(company)}
    made = await company.send("POST", "/api/v1/leads", json={"lead_token": schedule["lead_token"], "caller_id": NUMBER})
    path = f"/api/v1/leads/{made.json()['lead']['id']}"
    forms: list[dict[str, Any]] = [
        {"params": {**key, "email": "a@example.com"}},
        {"data": {**key, "email": "b@example.com"}},
        {"json": {**key, "email": "c@example.com"}},
        {"files": {name: (None, value) for name, value in {**key, "email": "d@example.com"}.items()}},
    ]
    for form, email in zip(forms, "abcd", strict=True):
        answer = await town.client.put(path, **form)
        assert answer.status_code == 200, answer.text
        assert answer.json()["lead"]["email"] == f"{email}@example.com"
        assert answer.json()["lead"]["data"] == {}
    assert (await town.client.get(path, params=key)).status_code == 200
    with_colon = f"{company.public_key}:{company.private_key}"
    assert (await town.client.get(path, params={"auth_token": with_colon})).status_code == 200
    assert (await town.client.get(path, headers={"Authorization": f"Token {with_colon}"})).status_code == 200
    wrong = await town.client.put(path, json={"auth_token": f"{company.public_key}.wrong", "email": "e@example.com"})
    assert wrong.json()["code"] == "unauthenticated"
    assert (await company.send("GET", path)).json()["lead"]["email"] == "d@example.com"


async def test_a_company_can_turn_keys_in_fields_off(town: Any, company: Any) -> None:
    key = {"auth_token": _in_one_word(company)}
    assert (await town.client.get("/api/v1/leads", params=key)).status_code == 200
    off = await company.send("PUT", "/api/v1/company", json={"allow_auth_token": "off"})
    assert (off.status_code, off.json()["company"]["allow_auth_token"]) == (200, False)
    refused = await town.client.get("/api/v1/leads", params=key)
    assert (refused.status_code, refused.json()["code"]) == (401, "unauthenticated")
    assert "Authorization header only" in refused.json()["detail"]
    assert (await company.send("GET", "/api/v1/leads")).status_code == 200


async def test_elsewhere_a_key_in_a_field_opens_nothing(town: Any, company: Any) -> None:
    key = {"auth_token": _in_one_word(company)}
    for operation in OPERATIONS:
        if operation.access != "key" or operation.auth_token:
            continue
        path = PLACEHOLDER.sub("1", operation.path)
        for method in operation.methods:
            answer = await town.client.request(method, path, params=key)
            assert answer.status_code == 401, operation.name


SCOPES: dict[str, str] = {
    "lead:create": "submit_lead create_or_update_lead",
    "lead:read": "list_leads new_lead show_lead buyer_is_available show_lead_by_caller_number report_leads why_lead"
    " forecast_leads forecast_schedule_change list_lead_events report_channels report_outcomes report_steps report_queues"
    " report_scheduled_callbacks list_scheduled_callbacks show_scheduled_callback list_kept_submissions",
    "lead_bulk_job:cancel": "cancel_lead_bulk_job",
    "lead_import:cancel": "cancel_lead_import",
    "lead:update": "update_lead caller_opt_out caller_remove caller_move_to_end_of_schedule"
    " create_scheduled_callback move_scheduled_callback delete_scheduled_callback"
    " accept_kept_submission discard_kept_submission",
    "lead:delete": "delete_lead",
    "call:read": "list_calls list_live_calls list_calls_by_caller_number show_call list_call_events report_calls"
    " stats_of_calls play_recording show_recording_link show_transcription",
    "call:update": "update_call update_calls_by_caller_id",
    "call:delete": "delete_call delete_recording",
    "call:start": "start_call make_call",
    "contact:block": "caller_block caller_unblock",
    "conversion:read": "list_buyer_conversions show_buyer_conversion list_offer_conversions show_offer_conversion",
    "call:receive": "receive_call",
    "call:key_press": "send_key_press",
    "sms:receive": "receive_text",
    "company:read": "show_company",
    "company:update": "update_company",
    "schedule:read": "preview_schedule preview_lead_map list_schedule_versions",
    "schedule:update": "publish_schedule",
    "audit_log:read": "list_audit_logs",
    "rule_pack:read": "show_calling_hours",
    "agent_status:read": "list_agent_status_timestamps",
    "agent_status:set": "set_agent_status send_agent_heartbeat",
    "agent_message:read": "list_messages_of_agent follow_agent",
    "agent_message:acknowledge": "acknowledge_agent_message",
    "impression:create": "record_impressions",
    "outgoing_webhook:read": "list_webhook_manual_fires build_webhook_manual_fire show_webhook_manual_fire"
    " list_webhook_logs show_webhook_log list_circuits",
    "outgoing_webhook:fire": "create_webhook_manual_fire",
    "subscription:read": "list_subscription_deliveries show_subscription_delivery",
    "subscription:replay": "replay_subscription",
    "subscription:enable": "enable_subscription",
    "contact:review": "decide_opt_out_review",
    "suppression_list:add": "add_suppression_entries import_suppression_entries",
    "suppression_list:remove": "remove_suppression_entries",
}
"""Which keys may do what: who gave one out relies on it, so it is said here once more, word by word."""

ALSO = {"forecast_schedule_change": "schedule:read"}
"""Operation about two models -> the scope that it needs beside that of the first."""

VERBS = {"list": "read", "show": "read", "build": "read", "create": "create", "update": "update", "delete": "delete"}


async def test_an_operation_needs_the_scope_that_is_named_for_it_and_one_of_records_that_of_its_verb() -> None:
    known = {name: scope for scope, names in SCOPES.items() for name in names.split()}
    for operation in OPERATIONS:
        if operation.name in known:
            assert operation.scope == known.pop(operation.name), operation.name
        elif operation.access == "key":
            verb = operation.name.partition("_")[0]
            assert operation.scope.partition(":")[2] == VERBS[verb], operation.name
        assert operation.also == ALSO.get(operation.name, ""), operation.name
    assert known == {}


async def test_of_many_who_ask_for_one_key_at_once_one_gets_a_private_half_and_it_is_the_right_one(
    town: Any, company: Any
) -> None:
    headers = {"Prefer": "respond-async", "Idempotency-Key": "one key for many"}
    answers = await asyncio.gather(
        *(company.send("POST", "/api/v1/keys", json={"name": "CRM"}, headers=headers) for _ in range(5))
    )
    (made,) = [key for answer in answers if "private_key" in (key := answer.json().get("key", {}))]
    await town.results.wait(next(answer.json()["request"]["id"] for answer in answers if answer.status_code == 202), 10)
    await town.context.rules.refresh()
    access = basic(made["public_key"], made["private_key"])
    assert (await town.client.get("/api/v1/leads", headers=access)).status_code == 200


async def test_a_key_that_was_sent_is_neither_logged_nor_handed_out_again(town: Any, company: Any) -> None:
    schedule = await company.schedule()
    key = _in_one_word(company)
    with structlog.testing.capture_logs() as lines:
        for place in range(2):
            fields = {"lead_token": schedule["lead_token"], "caller_id": f"+1305555012{place}", "auth_token": key}
            made = await town.client.post("/api/v1/leads", params=fields)
            assert made.status_code == 201, made.text
        bare = await town.client.get("/api/v1/leads", params={"auth_token": key, "root": "false", "per_page": "1"})
    assert "page=2" in bare.headers["link"]
    for written in (str(lines), made.text, bare.text, str(bare.headers)):
        assert company.private_key not in written


async def test_a_key_may_only_do_what_its_scopes_say(town: Any, company: Any) -> None:
    reader = await company.record("keys", {"name": "reader", "scopes": ["lead:read", "api_key:create"]})
    headers = basic(reader["public_key"], reader["private_key"])
    assert (await town.client.get("/api/v1/leads", headers=headers)).status_code == 200
    assert (await town.client.get("/api/v1/buyers", headers=headers)).json()["code"] == "forbidden"
    for scopes in (["*"], "*", None, ["lead:update"], ["lead:*"], "lead:read,lead:update"):
        wider = await town.client.post("/api/v1/keys", headers=headers, json={"name": "x", "scopes": scopes})
        assert wider.json()["code"] == "forbidden", scopes
    assert (await town.client.post("/api/v1/keys", headers=headers, json={"name": "x"})).json()["code"] == "forbidden"
    for odd_scopes in (7, True, {"a": 1}, [7], [None], [["*"]]):
        odd = await company.send("POST", "/api/v1/keys", json={"name": "x", "scopes": odd_scopes})
        assert (odd.status_code, list(odd.json()["errors"])) == (422, ["scopes"]), odd.text
    same = await town.client.post("/api/v1/keys", headers=headers, json={"name": "x", "scopes": ["lead:read"]})
    assert same.status_code == 201


async def test_the_address_that_counts_is_the_last_one_that_no_trusted_proxy_has() -> None:
    networks = _http_settings(_context(trusted_proxies=("10.0.0.0/8", "::1/128"))).trusted_proxies
    authenticator = Authenticator(None, trusted_proxies=networks)  # type: ignore[arg-type]  # no key is looked up
    for peer, forwarded, address in [
        ("203.0.113.7", "", "203.0.113.7"),
        ("203.0.113.7", "192.0.2.1", "203.0.113.7"),
        ("10.1.1.1", "192.0.2.1", "192.0.2.1"),
        ("10.1.1.1", "198.51.100.9, 192.0.2.1, 10.2.2.2", "192.0.2.1"),
        ("::1", "10.9.9.9", "10.9.9.9"),
    ]:
        assert authenticator.address(peer, forwarded) == address


async def test_an_allow_list_looks_behind_a_trusted_proxy(migrated_database: str) -> None:
    trusting = _http_settings(_context(trusted_proxies=("127.0.0.0/8",)))
    async with deployed(
        migrated_database, HttpSettings(secret_key=SECRET_KEY, rates={}, trusted_proxies=trusting.trusted_proxies)
    ) as town:
        company = await town.company()
        made = await company.record("keys", {"name": "office", "ip_allow_list": "192.0.2.0/24"})
        headers = basic(made["public_key"], made["private_key"])
        for forwarded, status in [("192.0.2.44", 200), ("198.51.100.1", 401), ("192.0.2.44, 198.51.100.1", 401), ("", 401)]:
            answer = await town.client.get("/api/v1/leads/new", headers={**headers, "X-Forwarded-For": forwarded})
            assert answer.status_code == status, forwarded


async def test_a_company_has_one_allowance_however_many_keys_and_tokens_it_uses(migrated_database: str) -> None:
    rates = {"read": Rate(0.01, 2), "submission": Rate(0.01, 3), "write": Rate(0.01, 50)}
    async with deployed(migrated_database, HttpSettings(secret_key=SECRET_KEY, wait_seconds=10.0, rates=rates)) as town:
        company, other = await town.company(), await town.company()
        second = await company.record("keys", {"name": "second"})
        offer = await company.record("offers", {"name": "O"})
        schedule = await company.schedule()
        first = await company.send("GET", "/api/v1/leads/new")
        assert [first.headers[f"ratelimit-{name}"] for name in ("limit", "remaining", "reset")] == ["1", "1", "100"]
        headers = basic(second["public_key"], second["private_key"])
        assert (await town.client.get("/api/v1/leads/new", headers=headers)).status_code == 200
        over = await company.send("GET", "/api/v1/leads/new")
        assert (over.status_code, over.json()["code"], over.json()["retryable"]) == (429, "rate_limited", True)
        assert int(over.headers["retry-after"]) > 0
        assert (await other.send("GET", "/api/v1/leads/new")).status_code == 200
        for place, token in enumerate((offer["lead_token"], schedule["lead_token"], schedule["lead_token"])):
            fields = {"lead_token": token, "caller_id": f"+1305555012{place}"}
            assert (await town.client.post("/api/v1/leads", json=fields)).status_code == 201
        fields = {"lead_token": offer["lead_token"], "caller_id": NUMBER}
        assert (await town.client.post("/api/v1/leads", json=fields)).status_code == 429
        assert (await company.send("POST", "/api/v1/leads", json=fields)).status_code == 429


async def test_wrong_keys_and_tokens_have_an_allowance_per_address_which_good_ones_do_not_touch(
    migrated_database: str,
) -> None:
    settings = HttpSettings(
        secret_key=SECRET_KEY,
        wait_seconds=10.0,
        rates={"unknown_key": Rate(0.01, 4)},
        trusted_proxies=(ip_network("127.0.0.0/8"),),
    )
    async with deployed(migrated_database, settings) as town:
        company = await town.company()
        schedule = await company.schedule()
        flood, office = {"X-Forwarded-For": "198.51.100.1"}, {"X-Forwarded-For": "192.0.2.44"}
        wrong = {"lead_token": "lt_nobodys", "caller_id": NUMBER}
        for ask, status in (
            (town.client.get("/api/v1/leads", headers=flood), 401),
            (town.client.get("/api/v1/leads", headers={**flood, **basic("pk_wrong", "sk")}), 401),
            (town.client.get("/api/v1/leads", headers={**flood, **basic(company.public_key, "sk")}), 401),
            (town.client.post("/api/v1/leads", headers=flood, json=wrong), 404),
            (town.client.get("/api/v1/leads", headers={**flood, **basic("pk_wrong", "sk")}), 429),
            (town.client.post("/api/v1/leads", headers=flood, json=wrong), 429),
            (town.client.post("/api/v1/leads", headers=office, json=wrong), 404),
        ):
            answer = await ask
            assert answer.status_code == status, answer.text
            assert (int(answer.headers.get("retry-after", 0)) > 0) == (status == 429)
        # Who has a good key or token is not locked out, though the flood comes from the same address; nor is a new key.
        assert (await company.send("GET", "/api/v1/leads", headers=flood)).status_code == 200
        made = await company.record("keys", {"name": "new"})
        new = {**flood, **basic(made["public_key"], made["private_key"])}
        assert (await town.client.get("/api/v1/leads", headers=new)).status_code == 200
        right = {**wrong, "lead_token": schedule["lead_token"]}
        assert (await town.client.post("/api/v1/leads", headers=flood, json=right)).status_code == 201
        assert (await company.send("POST", "/api/v1/leads", headers=flood, json=wrong)).status_code == 404


class _Context:
    def __init__(self, settings: Deployment) -> None:
        self.settings = settings
        self.own_ports: frozenset[int] = frozenset()


def _context(**settings: Any) -> Any:
    return _Context(Deployment(**settings))


async def test_an_operator_changes_each_rate_or_turns_it_off() -> None:
    assert _http_settings(_context()).rates == RATES
    assert _http_settings(_context(rate_limits="off")).rates == {}
    assert _http_settings(_context(rate_limits="call_starts")).rates == {
        name: RATES[name] for name in ("call_start", "unknown_key")
    }
    changed = _http_settings(_context(rate_reads="2.5", rate_writes="off", rate_reports="1:90")).rates
    assert changed == {
        **{name: RATES[name] for name in ("submission", "impression", "call_start", "unknown_key")},
        "read": Rate(2.5, 3),
        "report": Rate(1, 90),
    }
    for wrong in ("", "many", "-1", "0", "nan", "inf", "5:0", "5:x"):
        with pytest.raises(ValueError, match=r".+"):
            read_rate(wrong)
        with pytest.raises(SettingsError, match="LEADCLOCK_RATE_READS"):
            _http_settings(_context(rate_reads=wrong))
    with pytest.raises(SettingsError, match="LEADCLOCK_TRUSTED_PROXIES"):
        _http_settings(_context(trusted_proxies=("10.0.0.1/8",)))


async def test_networks_come_from_the_environment_and_go_on_to_other_processes() -> None:
    settings = load(environ={"LEADCLOCK_TRUSTED_PROXIES": "10.0.0.0/8,192.0.2.1/32", "LEADCLOCK_RATE_READS": "7:9"})
    assert settings.trusted_proxies == ("10.0.0.0/8", "192.0.2.1/32")
    assert load(environ=to_environment(settings)) == settings
