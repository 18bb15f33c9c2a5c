"""Does each host serve its company alone? Key, lead token and host must agree; no answer tells of other companies."""

from typing import Any

import pytest
from msgspec.structs import replace

from adapters.http.exchange.hosts import company_of_host, read_hosts
from adapters.http.exchange.problems import ProblemError
from tests.adapters.http.conftest import UNLIMITED, Company, deployed

OURS, THEIRS = "acme.example.com", "beta.example.com"


@pytest.mark.parametrize(
    ("header", "company_id"),
    [(OURS, 7), (f"{OURS}:8080", 7), (OURS.upper(), 7), (f"{OURS}.", 7), (f"{OURS}.:443", 7), (THEIRS, 8)],
)
def test_a_host_is_known_in_any_spelling(header: str, company_id: int) -> None:
    assert company_of_host(header, {OURS: 7, THEIRS: 8}) == company_id


@pytest.mark.parametrize("header", ["", "example.com", f"x.{OURS}", f"{OURS}.evil.com", "127.0.0.1:8080", "[::1]:8080", ":"])
def test_a_host_of_no_company_is_refused_where_hosts_are_set(header: str) -> None:
    with pytest.raises(ProblemError, match="No company is served under this host name"):
        company_of_host(header, {OURS: 7})
    assert company_of_host(header, {}) is None


def test_hosts_are_read_from_the_setting() -> None:
    assert read_hosts([f"{OURS}=7", f" {THEIRS.upper()}=8 ", f"{OURS}=7"]) == {OURS: 7, THEIRS: 8}


@pytest.mark.parametrize(
    "entry", [OURS, f"{OURS}=", f"{OURS}=0", f"{OURS}=x", "=7", "a b=7", f"https://{OURS}=7", f"{OURS}:80=7"]
)
def test_an_entry_that_cannot_be_meant_is_named(entry: str) -> None:
    with pytest.raises(ValueError, match="must be a host name and the id of its company"):
        read_hosts([entry])


def test_one_host_of_two_companies_is_refused() -> None:
    with pytest.raises(ValueError, match=f"{OURS} is there twice"):
        read_hosts([f"{OURS}=7", f"{OURS}=8"])


async def test_key_lead_token_and_host_must_agree(migrated_database: str) -> None:
    hosts = {"leadclock.test": 1, OURS: 1, THEIRS: 2}
    async with deployed(migrated_database, replace(UNLIMITED, hosts=hosts)) as town:
        ours, theirs = await town.company(), await town.company()
        assert (ours.id, theirs.id) == (1, 2)
        token = (await ours.schedule())["lead_token"]

        async def status(host: str, method: str, path: str, company: Company | None = None, **how: Any) -> tuple[int, str]:
            keys = {} if company is None else company.headers
            answer = await town.client.request(method, path, headers={"Host": host, **keys}, **how)
            return answer.status_code, answer.json().get("code", "")

        lead = {"lead_token": token, "caller_id": "+13055550123"}
        for company, host, expected in [
            (ours, OURS, (200, "")),
            (ours, THEIRS, (401, "unauthenticated")),
            (theirs, THEIRS, (200, "")),
            (ours, "other.example.com", (421, "unknown_host")),
            (None, "other.example.com", (421, "unknown_host")),
        ]:
            assert await status(host, "GET", "/api/v1/leads", company) == expected
        assert await status(THEIRS, "POST", "/api/v1/leads", json=lead) == (404, "unknown_lead_token")
        assert await status(OURS, "POST", "/api/v1/leads", json=lead) == (201, "")
        assert await status("other.example.com", "GET", "/livez") == (200, "")
        assert await status("other.example.com", "GET", "/api/v1/collections/time_zone") == (421, "unknown_host")


async def test_the_answer_to_a_request_is_shown_under_its_company_s_host_alone(migrated_database: str) -> None:
    async with deployed(migrated_database, replace(UNLIMITED, hosts={"leadclock.test": 1, THEIRS: 2})) as town:
        ours = await town.company()
        await town.company()
        body = {"lead_token": (await ours.schedule())["lead_token"], "caller_id": "+13055550123"}
        created = await town.client.post("/api/v1/leads", json=body)
        path = f"/api/v1/requests/{created.headers['x-request-id']}"

        assert (await town.client.get(path)).status_code == 201
        assert (await town.client.get(path, headers={"Host": THEIRS})).status_code == 404
