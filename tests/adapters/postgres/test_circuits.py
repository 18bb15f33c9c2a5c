"""Are the circuits of live gateways read as they were reported, each company's alone, and by the database's clock?"""

from collections.abc import AsyncIterator, Mapping
from typing import Any

import pytest

from adapters.gateway.circuit import CircuitReport, OpenCircuit
from adapters.gateway.ports import Kind
from adapters.postgres import circuits as circuits_module
from adapters.postgres.circuits import PostgresCircuits
from adapters.postgres.gateways import LIVE_SECONDS, RENEW_SECONDS, PostgresGateways
from adapters.postgres.pool import open_pool

PROVIDERS: Mapping[Kind, str] = {"call": "twilio", "webhook": "webhook"}


class Gateways:
    """The gateways of a deployment, and what is read of them."""

    def __init__(self, pool: Any) -> None:
        self.pool = pool
        self.register = PostgresGateways(pool)
        self.circuits = PostgresCircuits(pool)

    async def say(self, process: str, *circuits: OpenCircuit, kind: Kind = "webhook", left_out: int = 0) -> None:
        """Let a gateway renew its registration, with the circuits of one channel."""
        await self.register.renew(process, PROVIDERS, {kind: CircuitReport(circuits, left_out)})

    async def of(self, company_id: int) -> set[str]:
        """Return the endpoints that a company sees."""
        return {row["endpoint"] for row in (await self.circuits.of_company(company_id)).rows}

    async def pass_by(self, seconds: float) -> None:
        await self.pool.execute("UPDATE work.gateways SET renewed_at = renewed_at - $1 * interval '1 second'", seconds)


@pytest.fixture
async def gateways(migrated_database: str) -> AsyncIterator[Gateways]:
    pool = await open_pool(migrated_database)
    try:
        yield Gateways(pool)
    finally:
        await pool.close()


def circuit(company_id: int = 1, endpoint: str = "crm.example.com", **given: Any) -> OpenCircuit:
    plain = {"failures": 5, "open_seconds": 2.0, "probe_in_seconds": 30.0, "waiting": 3}
    return OpenCircuit(company_id=company_id, endpoint=endpoint, **{**plain, **given})


async def test_where_no_circuit_is_open_nothing_is_stored_and_nothing_is_left_out(gateways: Gateways) -> None:
    await gateways.register.renew("a", PROVIDERS)
    await gateways.say("b")

    assert await gateways.pool.fetchval("SELECT count(*) FROM work.gateways WHERE circuits IS NULL") == 4
    for page in (await gateways.circuits.of_all(), await gateways.circuits.of_company(1)):
        assert (list(page.rows), page.left_out) == ([], 0)


async def test_an_open_circuit_is_read_with_its_instants_by_the_clock_of_the_database(gateways: Gateways) -> None:
    await gateways.say("a", circuit())

    (row,) = (await gateways.circuits.of_all()).rows
    shown = {name: row[name] for name in ("company_id", "channel", "endpoint", "state", "failure_count", "waiting_count")}
    assert shown == {
        "company_id": 1,
        "channel": "webhook",
        "endpoint": "crm.example.com",
        "state": "open",
        "failure_count": 5,
        "waiting_count": 3,
    }
    assert (row["reported_at"] - row["opened_at"]).total_seconds() == 2.0
    assert (row["half_open_at"] - row["reported_at"]).total_seconds() == 30.0
    assert row["process"] == "a"


async def test_a_circuit_whose_pause_is_over_is_half_open(gateways: Gateways) -> None:
    await gateways.say("a", circuit(probe_in_seconds=5.0), circuit(endpoint="probed.example.com", probe_in_seconds=0.0))
    states = {row["endpoint"]: row["state"] for row in (await gateways.circuits.of_all()).rows}
    assert states == {"crm.example.com": "open", "probed.example.com": "half_open"}

    await gateways.pass_by(RENEW_SECONDS)
    assert {row["state"] for row in (await gateways.circuits.of_all()).rows} == {"half_open"}


async def test_a_circuit_that_closed_is_gone_with_the_next_heartbeat(gateways: Gateways) -> None:
    await gateways.say("a", circuit(), circuit(endpoint="erp.example.com"))
    await gateways.say("a", circuit(endpoint="erp.example.com"))
    assert await gateways.of(1) == {"erp.example.com"}

    await gateways.say("a")
    assert await gateways.of(1) == set()


async def test_a_company_sees_its_own_circuits_alone(gateways: Gateways) -> None:
    await gateways.say("a", circuit(1), circuit(2, "erp.example.com"))

    assert await gateways.of(1) == {"crm.example.com"}
    assert await gateways.of(2) == {"erp.example.com"}
    assert await gateways.of(3) == set()
    assert "process" not in dict((await gateways.circuits.of_company(1)).rows[0])


async def test_a_gateway_that_stopped_or_died_spares_nothing_any_more(gateways: Gateways) -> None:
    await gateways.say("stopped", circuit(endpoint="a.example.com"))
    await gateways.say("killed", circuit(endpoint="b.example.com"))
    await gateways.register.stop("stopped")
    assert await gateways.of(1) == {"b.example.com"}

    await gateways.pass_by(LIVE_SECONDS)
    assert await gateways.of(1) == set()
    assert list((await gateways.circuits.of_all()).rows) == []


async def test_gateways_that_spare_the_same_endpoint_are_one_row_for_its_company(gateways: Gateways) -> None:
    await gateways.say("a", circuit(failures=5, waiting=3, probe_in_seconds=0.0, open_seconds=90.0))
    await gateways.say("b", circuit(failures=9, waiting=4, probe_in_seconds=20.0))
    await gateways.say("b", circuit(failures=9, waiting=4, probe_in_seconds=20.0))

    (row,) = (await gateways.circuits.of_company(1)).rows
    assert (row["gateway_count"], row["failure_count"], row["waiting_count"], row["state"]) == (2, 9, 7, "open")
    assert (row["half_open_at"] - row["opened_at"]).total_seconds() > 100
    assert [row["process"] for row in (await gateways.circuits.of_all()).rows] == ["b", "a"]


async def test_what_gateways_and_lists_leave_out_is_counted(gateways: Gateways, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(circuits_module, "CIRCUITS_SHOWN_MAX", 2)
    rows = [circuit(1, f"{number}.example.com", failures=5 + number) for number in range(3)]
    await gateways.say("a", *rows, left_out=40)

    page = await gateways.circuits.of_all()
    assert [row["failure_count"] for row in page.rows] == [7, 6]
    assert page.left_out == 41
    assert (await gateways.circuits.of_company(1)).left_out == 41
    other = await gateways.circuits.of_company(2)
    assert (list(other.rows), other.left_out) == ([], 40), "its own may be among them"


async def test_accounts_with_providers_are_reported_by_their_channel(gateways: Gateways) -> None:
    await gateways.say("a", circuit(7, "provider_configuration 12"), kind="call")
    assert await gateways.of(7) == {"provider_configuration 12"}
    await gateways.register.renew("a", PROVIDERS)
    assert await gateways.of(7) == set()
